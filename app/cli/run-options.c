#include "app/cli/run-options.h"

#include "app/cli/option-table.h"
#include "core/candela/fault.h"
#include "core/run/faults.h"

#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void cli_run_defaults(struct cli_run *run)
{
    *run = (struct cli_run){.n = 32, .times = 1, .prompt_n = 512, .repeats = 5, .sampling = psc_sampling_default()};
    run->session.snapshot = true;
}

/* ---- setters: false when the value makes no sense ------------------------------------------- */

static bool whole(const char *v, uint32_t least, uint32_t *ret)
{
    uint64_t n;
    if (!cli_parse_whole(v, &n) || n < least || n >= UINT32_MAX)
        return false;
    *ret = (uint32_t)n;
    return true;
}

static bool real(const char *v, float *ret)
{
    char *end;
    errno = 0;
    float x = strtof(v, &end);
    if (end == v || *end || errno || !isfinite(x) || isspace((unsigned char)*v))
        return false;
    *ret = x;
    return true;
}

static bool set_prompt(struct cli_options *o, const char *v) { o->run.prompt = v; return true; }
static bool set_ids(struct cli_options *o, const char *v) { o->run.tokens = v; return *v; }
static bool set_chat(struct cli_options *o, const char *v) { (void)v; return o->run.chat = true; }
static bool set_n(struct cli_options *o, const char *v) { return o->run.has_n = whole(v, 0, &o->run.n); }
static bool set_chunk(struct cli_options *o, const char *v) { return whole(v, 1, &o->run.chunk); }
static bool set_times(struct cli_options *o, const char *v) { return whole(v, 1, &o->run.times); }
static bool set_refill(struct cli_options *o, const char *v) { (void)v; return o->run.refill = true; }
static bool set_ignore(struct cli_options *o, const char *v) { (void)v; return o->run.ignore_stop = true; }
static bool set_hashes(struct cli_options *o, const char *v) { (void)v; return o->run.hashes = true; }
static bool set_ops(struct cli_options *o, const char *v) { (void)v; return o->run.ops = true; }
static bool set_verify(struct cli_options *o, const char *v) { (void)v; return o->run.verify = true; }
static bool set_trace(struct cli_options *o, const char *v) { o->run.trace = v; return *v; }
static bool set_events(struct cli_options *o, const char *v) { o->run.events = v; return *v; }
static bool set_kv_dump(struct cli_options *o, const char *v) { o->run.kv_dump = v; return *v; }
static bool set_kv_load(struct cli_options *o, const char *v) { o->run.kv_load = v; return *v; }
static bool set_contents(struct cli_options *o, const char *v) { o->run.contents = v; return *v; }
static bool set_logits(struct cli_options *o, const char *v) { o->run.logits = v; return *v; }
static bool set_prompt_n(struct cli_options *o, const char *v) { return whole(v, 0, &o->run.prompt_n); }
static bool set_repeats(struct cli_options *o, const char *v) { return whole(v, 1, &o->run.repeats); }
static bool set_fuse_qkv(struct cli_options *o, const char *v) { (void)v; o->run.fuse_qkv = PSC_YES; return true; }
static bool set_fuse_ffn(struct cli_options *o, const char *v) { (void)v; o->run.fuse_ffn = PSC_YES; return true; }
static bool set_portable(struct cli_options *o, const char *v) { (void)v; return o->run.session.config.portable = true; }
static bool set_seed(struct cli_options *o, const char *v) { return cli_parse_whole(v, &o->run.sampling.seed); }
static bool set_temp(struct cli_options *o, const char *v) { return real(v, &o->run.sampling.temperature); }
static bool set_top_k(struct cli_options *o, const char *v) { return whole(v, 0, &o->run.sampling.top_k); }
/* {0} stands for "off" in a request; asked for, 0 leaves the most probable token only. */
static bool set_top_p(struct cli_options *o, const char *v)
{
    float *p = &o->run.sampling.top_p;
    bool fine = real(v, p);
    *p = fine && *p == 0 ? FLT_MIN : *p;
    return fine;
}
static bool set_min_p(struct cli_options *o, const char *v) { return real(v, &o->run.sampling.min_p); }
static bool set_penalty(struct cli_options *o, const char *v) { return real(v, &o->run.sampling.repeat_penalty) && o->run.sampling.repeat_penalty > 0; }
static bool set_window(struct cli_options *o, const char *v) { return whole(v, 0, &o->run.sampling.repeat_window); }
static bool set_kv_format(struct cli_options *o, const char *v) { return o->run.has_kv_format = psc_kv_format_parse(v, &o->run.kv_format); }

static bool set_device_memory(struct cli_options *o, const char *v)
{
    return cli_parse_bytes(v, &o->run.session.config.device_bytes) && o->run.session.config.device_bytes > 0;
}

static bool set_timeout(struct cli_options *o, const char *v)
{
    uint32_t ms = 0;
    bool good = whole(v, 1, &ms);
    o->run.session.config.timeout_ms = ms;
    return good;
}

static bool set_threads(struct cli_options *o, const char *v)
{
    uint32_t n;
    if (!whole(v, 1, &n) || n > 1024)
        return false;
    o->run.session.config.threads = n;
    return true;
}

static bool set_fill(struct cli_options *o, const char *v)
{
    if (!strchr(v, '=') || *v == '=' || o->run.fill_n >= CLI_FILLS_MAX)
        return false;
    o->run.fills[o->run.fill_n++] = v;
    return true;
}

static bool set_move(struct cli_options *o, const char *v) { return whole(v, 2, &o->run.move_at); }
static bool set_turn(struct cli_options *o, const char *v)
{
    if (!*v || o->run.turn_n >= CLI_TURNS_MAX)
        return false;
    o->run.turns[o->run.turn_n++] = v;
    return true;
}

static bool set_capture(struct cli_options *o, const char *v)
{
    o->run.has_capture = true;
    o->run.capture = !strcmp(v, "node") ? PSC_CAPTURE_NODE : !strcmp(v, "split") ? PSC_CAPTURE_SPLIT : PSC_CAPTURE_UNKNOWN;
    return o->run.capture != PSC_CAPTURE_UNKNOWN || !strcmp(v, "none");
}

static bool pick(const char *v, const char *const *names, unsigned n, unsigned *ret)
{
    for (*ret = 0; *ret < n; ++*ret)
        if (!strcmp(v, names[*ret]))
            return true;
    return false;
}

static bool set_recycled(struct cli_options *o, const char *v)
{
    static const char *const names[] = {"kept", "zeroed", "poisoned"};
    unsigned i;
    if (!pick(v, names, PSC_RECYCLED_N, &i))
        return false;
    o->run.session.recycled = (enum psc_recycled)i;
    return true;
}
static bool set_kv_inputs(struct cli_options *o, const char *v)
{
    static const char *const names[] = {"positions", "span", "map"};
    unsigned i;
    if (!pick(v, names, PSC_KV_INPUTS_N, &i))
        return false;
    o->run.kv_inputs = (enum psc_kv_inputs)i;
    return true;
}
static bool set_replay(struct cli_options *o, const char *v)
{
    o->run.session.replay = !strcmp(v, "on");
    o->run.has_replay = true;
    return o->run.session.replay || !strcmp(v, "off");
}
static bool set_snapshot(struct cli_options *o, const char *v)
{
    o->run.session.snapshot = !strcmp(v, "on");
    return o->run.session.snapshot || !strcmp(v, "off");
}

static bool set_fault(struct cli_options *o, const char *v)
{
    struct psc_named_fault fault;
    enum psc_arena_fault arena = psc_arena_fault_from_name(v);
    if (arena != PSC_ARENA_FAULT_N) {
        o->run.arenas.faults |= PSC_ARENA_BIT(arena);
        return o->run.for_arenas = true;
    }
    if (!psc_named_fault_find(v, &fault))
        return cli_add_candela_fault(o, v);
    o->plan.faults |= fault.plan;
    o->run.session.run_faults |= fault.run;
    o->run.session.call_faults |= fault.call;
    return true;
}

/* Runs on arenas. */
static bool set_memory(struct cli_options *o, const char *v)
{
    o->run.on_arenas = !strcmp(v, "arena");
    return o->run.on_arenas || !strcmp(v, "pool");
}
static bool set_trim(struct cli_options *o, const char *v)
{
    (void)v;
    return o->run.for_arenas = o->run.trim = true;
}

static bool set_hold(struct cli_options *o, const char *v)
{
    return (o->run.for_arenas = true) && whole(v, 0, &o->run.hold);
}
static bool set_inputs(struct cli_options *o, const char *v)
{
    o->run.for_arenas = true;
    o->run.borrow = !strcmp(v, "borrow");
    return o->run.borrow || !strcmp(v, "copy");
}
static bool slots_of(struct cli_options *o, const char *v, unsigned arena)
{
    return (o->run.for_arenas = true) && whole(v, 1, &o->run.arenas.slot_max[arena]) &&
           o->run.arenas.slot_max[arena] <= PSC_ARENA_SLOTS_MAX;
}
static bool cap_of(struct cli_options *o, const char *v, unsigned arena)
{
    o->run.for_arenas = o->run.arenas.has_cap[arena] = true;
    return cli_parse_bytes(v, &o->run.arenas.cap[arena]);
}
static bool set_exec_slots(struct cli_options *o, const char *v) { return slots_of(o, v, PSC_DEPOT_EXEC); }
static bool set_io_slots(struct cli_options *o, const char *v) { return slots_of(o, v, PSC_DEPOT_IO); }
static bool set_exec_cap(struct cli_options *o, const char *v) { return cap_of(o, v, PSC_DEPOT_EXEC); }
static bool set_io_cap(struct cli_options *o, const char *v) { return cap_of(o, v, PSC_DEPOT_IO); }

/* ---- the table ------------------------------------------------------------------------------ */

#define RUN CLI_IN(CLI_RUN)
#define BENCH CLI_IN(CLI_BENCH)

const struct cli_option cli_run_option_table[] = {
    {"-p", "TEXT", RUN, set_prompt, "a text", "the prompt of a model"},
    {"-p", "N", BENCH, set_prompt_n, "a number of tokens", "tokens of a prompt; default 512, 0: none"},
    {"--chat", NULL, RUN, set_chat, NULL, "the prompt is a message that the model is to answer"},
    {"--then", "TEXT", RUN, set_turn, "a text", "a further prompt when the answer has ended, in the same session; up to 64 times"},
    {"--tokens", "IDS", RUN, set_ids, "numbers of tokens", "the prompt as numbers: 5,77,130"},
    {"--fill", "NAME=VALUES", RUN, set_fill, "NAME=1,2,3", "an input of a graph; once for each"},
    {"-n", "N", RUN | BENCH, set_n, "a number of tokens", "tokens to generate; default 32, for bench 128"},
    {"-r", "N", BENCH, set_repeats, "a number from 1", "how often each is measured; default 5"},
    {"--chunk", "N", RUN, set_chunk, "a number of tokens", "tokens of the prompt in one forward; default all"},
    {"--times", "N", RUN, set_times, "a number from 1", "how often a graph runs; default 1"},
    {"--refill", NULL, RUN, set_refill, NULL, "fill the inputs of a graph before each time"},
    {"--memory", "WHERE", RUN, set_memory, "pool or arena",
     "where values live: in a pool by a plan, or on two arenas at run time; default pool"},
    {"--trim", NULL, RUN, set_trim, NULL, "arena: after each run free blocks go back to the heap"},
    {"--hold", "K", RUN, set_hold, "a number of runs", "arena: hold the outputs of so many runs; default 0"},
    {"--inputs", "HOW", RUN, set_inputs, "copy or borrow", "arena: copy inputs into the I/O arena or read them where they are; default copy"},
    {"--exec-slots", "N", RUN, set_exec_slots, "a number from 1", "arena: blocks of the execution arena in use at once; default any"},
    {"--io-slots", "N", RUN, set_io_slots, "a number from 1", "arena: the same of the I/O arena"},
    {"--exec-cap", "BYTES", RUN, set_exec_cap, "a size such as 40MiB or 1048576", "arena: free bytes that the execution arena keeps; default all"},
    {"--io-cap", "BYTES", RUN, set_io_cap, "a size such as 40MiB or 1048576", "arena: the same of the I/O arena"},
    {"--fault", "NAME", RUN, set_fault, NULL, "run with a historic defect; may be repeated"},
    {"--trace", "OUT.json", RUN, set_trace, "a file name", "write a minfer-trace of the run"},
    {"--events", "OUT", RUN, set_events, "a file name", "stream the run into an events file while it goes on"},
    {"--kv-dump", "DIR", RUN, set_kv_dump, "a folder's name", "write K and V rows at the end: DIR/kv.pskv and minfer's .f32 files"},
    {"--kv-load", "DUMP", RUN, set_kv_load, "a file name",
     "go on behind a saved cache, DIR or DIR/kv.pskv: n_ctx and format are its own"},
    {"--contents", "OUT", RUN, set_contents, "a file name", "stream every value in full into a file"},
    {"--logits", "OUT.f32", RUN, set_logits, "a file name", "write the logits of every forward, as they are"},
    {"--capture", "WHEN", RUN, set_capture, "node, split or none",
     "node, split (at its end) or none: when values are read; default with --trace: node"},
    {"--hashes", NULL, RUN, set_hashes, NULL, "hash every value when it is written and when it is read"},
    {"--verify", NULL, RUN, set_verify, NULL, "run once more, clean: which node differs first, memory, kernel or replay?"},
    {"--threads", "T", RUN | BENCH, set_threads, "a number from 1 to 1024", "threads of the cpu; default all cores"},
    {"--ops", NULL, BENCH, set_ops, NULL, "once more with a wait around each op: what each kind of op takes"},
    {"--portable", NULL, RUN | BENCH, set_portable, NULL, "no AVX2 and the like"},
    {"--device-memory", "BYTES", RUN | BENCH, set_device_memory, "a size such as 40MiB or 1048576",
     "how much memory cuda-shim has, which is no device; default as much as the host"},
    {"--timeout", "MS", RUN | BENCH, set_timeout, "milliseconds from 1", "longest wait for a device; default 10000"},
    {"--kv-format", "F", RUN | BENCH, set_kv_format, "f32, f16 or q8_0", "rows of K and V: f32, f16 or q8_0; default f32"},
    {"--kv-inputs", "HOW", RUN, set_kv_inputs, "positions, span or map",
     "how attention finds its rows: positions, span or map; default positions"},
    {"--recycled", "HOW", RUN, set_recycled, "kept, zeroed or poisoned",
     "what a buffer holds when it is given out again; default kept"},
    {"--snapshot", "on|off", RUN, set_snapshot, "on or off",
     "copy operands that an op overwrites, as the engine's cpu; off: as a GPU; default on"},
    {"--replay", "on|off", RUN | BENCH, set_replay, "on or off",
     "record splits in their third run, replay them after; default off, bench: on"},
    {"--move", "N", RUN, set_move, "a number from 2", "before the N-th forward the graph gets other buffers, made anew (--fault l32)"},
    {"--fuse-qkv", NULL, RUN | BENCH, set_fuse_qkv, NULL, "fuse q, k and v in decode, also where it is not the default"},
    {"--fuse-ffn", NULL, RUN | BENCH, set_fuse_ffn, NULL, "fuse gate and up in decode, also where it is not the default"},
    {"--seed", "S", RUN, set_seed, "a number", "of the sampler; default 0; needs --temp"},
    {"--temp", "X", RUN, set_temp, "a number", "temperature; 0, the default: always the most probable token"},
    {"--top-k", "K", RUN, set_top_k, "a number", "sample from the K most probable; 0: all; needs --temp"},
    {"--top-p", "P", RUN, set_top_p, "a number", "from the fewest that sum to P; 1: all; needs --temp"},
    {"--min-p", "P", RUN, set_min_p, "a number", "from those at least P times as probable as the first; 0: all; needs --temp"},
    {"--repeat-penalty", "X", RUN, set_penalty, "a number above 0", "makes tokens of the window less probable, at any --temp; 1: off"},
    {"--repeat-window", "N", RUN, set_window, "a number of tokens", "tokens looked back; default 64; needs --repeat-penalty"},
    {"--ignore-stop", NULL, RUN, set_ignore, NULL, "go on after a token that ends a text"},
};
const size_t cli_run_option_n = sizeof cli_run_option_table / sizeof *cli_run_option_table;
