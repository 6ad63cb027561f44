#include "app/cli/option-table.h"

#include "core/base/mem.h"
#include "core/candela/plan.h"
#include "core/model/preset.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- values -------------------------------------------------------------------------------- */

bool cli_parse_whole(const char *s, uint64_t *ret)
{
    uint64_t n = 0;
    if (!*s)
        return false;
    for (; *s; s++) {
        if (*s < '0' || *s > '9' || !psc_mul_u64(n, 10, &n) || !psc_add_u64(n, (uint64_t)(*s - '0'), &n))
            return false;
    }
    *ret = n;
    return true;
}

bool cli_parse_bytes(const char *s, uint64_t *ret)
{
    static const struct { const char *unit; uint64_t bytes; } units[] = {
        {"", 1}, {"B", 1}, {"KiB", 1ull << 10}, {"MiB", 1ull << 20}, {"GiB", 1ull << 30}, {"TiB", 1ull << 40},
        {"kB", 1000}, {"KB", 1000}, {"MB", 1000000}, {"GB", 1000000000}, {"TB", 1000000000000},
    };
    uint64_t whole = 0, digits = 0, part = 0, scale = 1;
    for (; isdigit((unsigned char)*s) || (*s == ',' && digits && isdigit((unsigned char)s[1])); s++) {
        if (*s == ',')
            continue;
        if (!psc_mul_u64(whole, 10, &whole) || !psc_add_u64(whole, (uint64_t)(*s - '0'), &whole))
            return false;
        digits++;
    }
    if (*s == '.' && digits) {
        for (s++; isdigit((unsigned char)*s); s++) {
            if (scale < 1000000) {
                part = part * 10 + (uint64_t)(*s - '0');
                scale *= 10;
            }
        }
    }
    while (*s == ' ')
        s++;
    for (size_t i = 0; digits && i < sizeof units / sizeof *units; i++) {
        uint64_t n;
        if (strcmp(s, units[i].unit))
            continue;
        if (!psc_mul_u64(whole, units[i].bytes, &n))
            return false;
        /* the part is below 10^6 and the unit at most 2^40: no overflow */
        return psc_add_u64(n, part * units[i].bytes / scale, ret);
    }
    return false;
}

/* ---- setters: false when the value makes no sense ------------------------------------------- */

static bool set_json(struct cli_options *o, const char *v) { (void)v; return o->json = true; }
static bool set_pretty(struct cli_options *o, const char *v) { (void)v; return o->pretty = true; }
static bool set_log(struct cli_options *o, const char *v) { (void)v; return o->log = o->plan.log = true; }
static bool set_nodes(struct cli_options *o, const char *v) { (void)v; return o->nodes = true; }
static bool set_dark(struct cli_options *o, const char *v) { (void)v; return o->dark = true; }
static bool set_own(struct cli_options *o, const char *v) { (void)v; return o->require_own = true; }
static bool set_contents(struct cli_options *o, const char *v) { o->contents = v; return *v; }
static bool set_out(struct cli_options *o, const char *v) { o->out = v; return *v; }
static bool set_plan_file(struct cli_options *o, const char *v) { o->plan_file = v; return *v; }
static bool set_planners(struct cli_options *o, const char *v) { return *(o->planners = v); }
static bool set_from(struct cli_options *o, const char *v) { return *(o->from = v); }
static bool set_to(struct cli_options *o, const char *v) { return *(o->to = v); }
static bool set_graph_file(struct cli_options *o, const char *v) { return *(o->graph_file = v); }
static bool set_help(struct cli_options *o, const char *v) { (void)v; return o->help = true; }

static bool set_u32(const char *v, uint32_t *ret, bool *ret_has)
{
    uint64_t n;
    if (!cli_parse_whole(v, &n) || n >= UINT32_MAX)
        return false;
    *ret = (uint32_t)n;
    return *ret_has = true;
}
static bool set_phase(struct cli_options *o, const char *v)
{
    bool kind = !strcmp(v, "prefill") || !strcmp(v, "decode");
    o->phase_kind = kind ? v : NULL; /* the last one given counts */
    return kind ? (o->has_phase = true) : set_u32(v, &o->phase, &o->has_phase);
}
static bool set_step(struct cli_options *o, const char *v) { return set_u32(v, &o->step, &o->has_step); }

static bool set_at(struct cli_options *o, const char *v)
{
    uint64_t n = 1;
    if (strcmp(v, "-1") && (!cli_parse_whole(v, &n) || n > INT32_MAX))
        return false;
    o->at = *v == '-' ? -1 : (int32_t)n;
    return o->has_at = true;
}
static bool set_max_peak(struct cli_options *o, const char *v)
{
    return o->has_max_peak = cli_parse_bytes(v, &o->max_peak);
}
static bool set_max_buffers(struct cli_options *o, const char *v)
{
    return o->has_max_buffers = cli_parse_whole(v, &o->max_buffers);
}

static bool set_planner(struct cli_options *o, const char *v)
{
    o->planner = psc_planner_find(v);
    return o->planner && (o->replan = true);
}
static bool set_mode(struct cli_options *o, const char *v)
{
    o->run.has_mode = true;
    return psc_mode_parse(v, &o->plan.mode) && (o->replan = true);
}
static bool set_arena_fault(struct cli_options *o, const char *v)
{
    enum psc_arena_fault fault = psc_arena_fault_from_name(v);
    if (fault == PSC_ARENA_FAULT_N)
        return false;
    o->run.arenas.faults |= PSC_ARENA_BIT(fault);
    return true;
}
static bool set_slots(struct cli_options *o, const char *v)
{
    return psc_slots_parse(v, &o->plan.slots, &o->plan.seed) && (o->replan = true);
}
static bool set_order(struct cli_options *o, const char *v)
{
    return psc_order_parse(v, &o->plan.order) && (o->replan = true);
}
static bool set_align(struct cli_options *o, const char *v)
{
    return cli_parse_bytes(v, &o->plan.align) && o->plan.align && !(o->plan.align & (o->plan.align - 1)) &&
           (o->replan = true);
}
/* "metal=1GiB": the arena of one backend. One said earlier is replaced, but not of the same text, which begins at `fresh`. */
static bool add_capacity(struct cli_options *o, uint32_t fresh, const char *v, size_t name_n, const char *bytes)
{
    uint32_t k = 0, last = o->plan.capacity_n;
    if (!name_n || name_n >= sizeof *o->capacity_names)
        return false;
    while (k < last && (strncmp(o->capacity_names[k], v, name_n) || o->capacity_names[k][name_n]))
        k++;
    if (k == CLI_CAPACITIES_MAX || (k < last && k >= fresh))
        return false;
    memcpy(o->capacity_names[k], v, name_n);
    o->capacity_names[k][name_n] = '\0';
    o->capacities[k].backend = o->capacity_names[k];
    o->plan.capacities = o->capacities;
    o->plan.capacity_n += k == last;
    return cli_parse_bytes(bytes, &o->capacities[k].bytes) && o->capacities[k].bytes;
}

/* "40MiB", "metal=1GiB,cpu=64MiB", "40MiB,metal=1GiB". A comma ends an item where a name follows: "1,048,576" is one number. */
static bool set_capacity(struct cli_options *o, const char *v)
{
    char item[128];
    uint32_t fresh = o->plan.capacity_n;
    for (const char *p = v;; p++) {
        size_t n = strcspn(p, ",");
        while (p[n] && strcspn(p + n + 1, "=") >= strcspn(p + n + 1, ","))
            n += 1 + strcspn(p + n + 1, ",");
        if (n >= sizeof item)
            return false;
        memcpy(item, p, n);
        item[n] = '\0';
        const char *equals = strchr(item, '=');
        if (equals ? !add_capacity(o, fresh, item, (size_t)(equals - item), equals + 1)
                   : p > v || !cli_parse_bytes(item, &o->plan.capacity) || !o->plan.capacity)
            return false;
        p += n;
        if (!*p)
            return o->replan = true;
    }
}
static bool set_in_place(struct cli_options *o, const char *v)
{
    o->plan.apart = !strcmp(v, "no");
    return (o->plan.apart || !strcmp(v, "yes")) && (o->replan = true);
}
static bool set_work(struct cli_options *o, const char *v)
{
    return cli_parse_whole(v, &o->plan.budget.work) && o->plan.budget.work && (o->replan = true);
}
static bool set_time(struct cli_options *o, const char *v)
{
    bool has;
    return set_u32(v, &o->plan.budget.milliseconds, &has) && o->plan.budget.milliseconds && (o->replan = true);
}
static void drop_word(char *words, const char *word)
{
    size_t n = strlen(word);
    for (char *at = words; *at; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        if (length != n || strncmp(at, word, n)) {
            at += length;
            continue;
        }
        char *rest = at + n + strspn(at + n, " ");
        memmove(at, rest, strlen(rest) + 1);
        if (!*at && at > words)
            at[-1] = '\0'; /* it was the last one */
        return;
    }
}

/* Generations and defects of expressions are words of a script. One that is given again stands at the end only: the last
 * generation counts, and there is room for each word once. */
bool cli_add_lazy_word(struct cli_options *o, const char *v)
{
    drop_word(o->lazy_words, v);
    size_t n = strlen(o->lazy_words);
    if (n + strlen(v) + 2 > sizeof o->lazy_words)
        return false;
    snprintf(o->lazy_words + n, sizeof o->lazy_words - n, "%s%s", n ? " " : "", v);
    return true;
}
bool cli_add_candela_fault(struct cli_options *o, const char *v)
{
    enum psc_candela_fault fault = psc_candela_fault_from_name(v);
    if (fault == PSC_CANDELA_FAULT_N || !cli_add_lazy_word(o, v))
        return false;
    o->plan.candela_faults |= PSC_CANDELA_BIT(fault);
    return true;
}
static bool set_expr(struct cli_options *o, const char *v) { return *(o->expr = v); }
static bool set_generation(struct cli_options *o, const char *v)
{
    return psc_generation_parse(v, &o->plan.generation) && cli_add_lazy_word(o, v);
}
static bool set_level(struct cli_options *o, const char *v)
{
    (void)v;
    return cli_add_lazy_word(o, "level");
}

static bool set_fault(struct cli_options *o, const char *v)
{
    enum psc_fault fault = psc_fault_from_name(v);
    if (fault == PSC_FAULT_N)
        return cli_add_candela_fault(o, v);
    o->plan.faults |= PSC_FAULT_BIT(fault);
    return o->replan = true;
}

/* Weights count where they are known: cli_input_open adds those of a model. */
static bool set_budget(struct cli_options *o, const char *v)
{
    o->pool.budgets = &o->budget;
    o->pool.budget_n = 1;
    o->plan.pool = &o->pool;
    return cli_parse_bytes(v, &o->budget.bytes) && (o->replan = true);
}

/* ---- models ---- */

static bool for_model(struct cli_options *o, const char *option, bool fine)
{
    if (!o->model_option)
        o->model_option = option;
    return fine;
}
static bool set_preset(struct cli_options *o, const char *v) { o->preset = v; return *v; }
static bool set_weights(struct cli_options *o, const char *v)
{
    o->weights = v;
    return for_model(o, "--weights", psc_mix_known(v));
}
static bool set_backend(struct cli_options *o, const char *v)
{
    o->backend = v;
    return for_model(o, "--backend", *v);
}
static bool set_tokens(struct cli_options *o, const char *v)
{
    return for_model(o, "--tokens", cli_parse_whole(v, &o->tokens) && o->tokens && o->tokens <= UINT32_MAX);
}
static bool set_n_ctx(struct cli_options *o, const char *v)
{
    return for_model(o, "--n-ctx", cli_parse_whole(v, &o->n_ctx) && o->n_ctx && o->n_ctx <= UINT32_MAX);
}
static bool set_dump_rows(struct cli_options *o, const char *v)
{
    return cli_parse_whole(v, &o->n_ctx) && o->n_ctx && o->n_ctx <= UINT32_MAX;
}
static bool set_row_width(struct cli_options *o, const char *v)
{
    return cli_parse_whole(v, &o->row_width) && o->row_width && o->row_width <= UINT32_MAX;
}
static bool set_tag(struct cli_options *o, const char *v) { o->tag = v; return *v; }
static bool set_seed(struct cli_options *o, const char *v) { return for_model(o, "--seed", cli_parse_whole(v, &o->seed)); }
static bool set_no_fuse_qkv(struct cli_options *o, const char *v)
{
    (void)v;
    return for_model(o, "--no-fuse-qkv", o->no_fuse_qkv = true);
}
static bool set_no_fuse_ffn(struct cli_options *o, const char *v)
{
    (void)v;
    return for_model(o, "--no-fuse-ffn", o->no_fuse_ffn = true);
}

/* For a picture, 1600x900 is its size; everywhere `class` and `exact` are the planner's. */
static bool set_size(struct cli_options *o, const char *v)
{
    if (psc_size_parse(v, &o->plan.size))
        return o->replan = true;
    char *end;
    if (o->command != CLI_RENDER || !isdigit((unsigned char)*v))
        return false;
    unsigned long w = strtoul(v, &end, 10);
    if ((*end != 'x' && *end != 'X') || !isdigit((unsigned char)end[1]))
        return false;
    unsigned long h = strtoul(end + 1, &end, 10);
    if (*end || w < 100 || h < 100 || w > 16384 || h > 16384)
        return false;
    o->width = (unsigned)w;
    o->height = (unsigned)h;
    return true;
}

static const char *const format_names[] = {"minfer-graph", "minfer-trace", "plan", "csv", "minimalloc", "gguf"};
static const char *const view_names[] = {"rows", "map", "usage", "kv", "inside"};
static const char *const story_names[] = {"recorded", "planned", "both"};

static bool pick(const char *v, const char *const *names, unsigned n, unsigned *ret)
{
    for (*ret = 0; *ret < n; ++*ret) {
        if (!strcmp(v, names[*ret]))
            return true;
    }
    return false;
}
static bool set_format(struct cli_options *o, const char *v)
{
    unsigned i;
    if (!pick(v, format_names, CLI_FORMAT_N, &i))
        return false;
    o->format = (enum cli_format)i;
    return o->has_format = true;
}
static bool set_view(struct cli_options *o, const char *v)
{
    unsigned i;
    if (!pick(v, view_names, CLI_VIEW_N, &i))
        return false;
    o->view = (enum cli_view)i;
    return true;
}
static bool set_story(struct cli_options *o, const char *v)
{
    unsigned i;
    if (!pick(v, story_names, CLI_STORY_N, &i))
        return false;
    o->story = (enum cli_story)i;
    return o->has_story = true;
}

/* ---- the tables ----------------------------------------------------------------------------- */

const struct cli_command_info cli_commands[CLI_COMMAND_N] = {
    [CLI_INFO] = {"info", "FILE", "What the file holds: format, model, phases, warnings."},
    [CLI_MODEL] = {"model", "FILE", "What a model file holds: metadata, sizes, every tensor."},
    [CLI_PLAN] = {"plan", "FILE", "Where every tensor of a phase lives: buffers, figures, reasons."},
    [CLI_CHECK] = {"check", "FILE", "Is any read wrong, and whose values were recorded?"},
    [CLI_COMPARE] = {"compare", "FILE", "Every planner on one phase, side by side, each checked."},
    [CLI_DIFF] = {"diff", "A [B] [--from PLANNER] [--to PLANNER]", "What lies elsewhere in B than in A, and who explains the peak."},
    [CLI_EXPORT] = {"export", "FILE -o OUT --format FORMAT", "Write the file, or a plan of it, in another format."},
    [CLI_RUN] = {"run", "FILE [-p TEXT | --fill NAME=1,2,3 ...]", "Run a model or a graph here, and record what happens."},
    [CLI_BENCH] = {"bench", "FILE", "How fast a model reads a prompt (pp) and generates (tg)."},
    [CLI_RENDER] = {"render", "FILE -o OUT.png|svg|pdf", "Draw a phase as the window does; no display is needed."},
    [CLI_KV] = {"kv", "DUMP", "What is in a dumped KV cache: rows written, zeros, NaN, unwritten rows."},
    [CLI_PLAY] = {"play", "SCENARIO", "Play a scenario step by step and answer what it asks."},
};

#define IN(c) CLI_IN(c)
#define EVERY (IN(CLI_COMMAND_N) - 1)
#define PLANNING CLI_PLANNING
#define COMPARING (IN(CLI_COMPARE) | IN(CLI_DIFF))
#define RUNNING (IN(CLI_RUN) | IN(CLI_BENCH))

static const struct cli_option table[] = {
    {"--json", NULL, IN(CLI_INFO) | IN(CLI_PLAN) | IN(CLI_CHECK) | IN(CLI_MODEL) | IN(CLI_PLAY) | IN(CLI_KV) | COMPARING | RUNNING, set_json, NULL, "one JSON object for machines"},
    {"-o", "OUT", IN(CLI_EXPORT) | IN(CLI_RENDER), set_out, "a file name", "the file to write"},
    {"--format", "FORMAT", IN(CLI_EXPORT), set_format,
     "minfer-graph, minfer-trace, plan, csv, minimalloc or gguf",
     "minfer-graph, minfer-trace, plan, csv, minimalloc; of a preset also gguf"},
    {"--pretty", NULL, IN(CLI_EXPORT), set_pretty, NULL, "two blanks of indentation instead of one line"},
    {"--view", "VIEW", IN(CLI_RENDER), set_view, "rows, map, usage, kv or inside",
     "rows, map (addresses), usage, kv (cells), inside (decisions); default rows"},
    {"--story", "STORY", IN(CLI_RENDER), set_story, "recorded, planned or both",
     "of a run: what happened, what was planned, or both laid over; default recorded"},
    {"--at", "POSITION", IN(CLI_RENDER), set_at, "-1 or a position in the execution order", "where the cursor stands"},
    {"--step", "STEP", IN(CLI_RENDER), set_step, "a step number, from 0", "the step whose recorded values are marked"},
    {"--step", "STEP", IN(CLI_CHECK), set_step, "a step number, from 0", "with --contents: the step whose bytes are looked at; default 0"},
    {"--dark", NULL, IN(CLI_RENDER), set_dark, NULL, "on a dark ground"},
    {"--phase", "N", IN(CLI_PLAN) | IN(CLI_RENDER) | IN(CLI_RUN) | COMPARING, set_phase, "a phase number from 0, prefill or decode",
     "the phase, or prefill or decode; default 0"},
    {"--phase", "N", IN(CLI_CHECK), set_phase, "a phase number from 0, prefill or decode",
     "the phase, or prefill or decode; default all, with --plan 0"},
    {"--phase", "N", IN(CLI_EXPORT), set_phase, "a phase number from 0, prefill or decode",
     "the phase, or prefill or decode; else 0, of a trace all"},
    {"--planners", "LIST", IN(CLI_COMPARE), set_planners, "all, or names with commas between",
     "all, or names such as pool,pool+exact,optimal, see below; default all"},
    {"--from", "PLANNER", IN(CLI_DIFF), set_from, "a planner", "how A is planned: optimal, pool+hardened+exact ..., or file: as it says"},
    {"--to", "PLANNER", IN(CLI_DIFF), set_to, "a planner", "how B is planned"},
    {"--graph", "FILE", IN(CLI_DIFF), set_graph_file, "a file name", "of two plan files: the graph that they are plans of"},
    {"--plan", "PLAN.json", IN(CLI_CHECK) | IN(CLI_RENDER) | IN(CLI_RUN) | IN(CLI_COMPARE), set_plan_file, "a file name",
     "take the places from this file instead of planning"},
    {"--planner", "NAME", (PLANNING & ~IN(CLI_COMPARE)) | IN(CLI_RUN), set_planner,
     NULL, "who plans, see below; default pool"},
    {"--mode", "MODE", PLANNING | IN(CLI_RUN), set_mode, "upstream or hardened", "upstream or hardened; default upstream"},
    {"--mode", "MODE", IN(CLI_PLAY), set_mode, "upstream or hardened", "of arenas: instead of the scenario's own: upstream or hardened"},
    {"--fault", "NAME", IN(CLI_PLAY), set_arena_fault, "a1 to a20", "of arenas: play with a defect, a1 to a20; may be repeated"},
    {"--size", "SIZE", PLANNING | IN(CLI_RUN), set_size, "class or exact (a picture: WIDTHxHEIGHT, 100 to 16384)",
     "class or exact; default class"},
    {"--slots", "POLICY", PLANNING | IN(CLI_RUN), set_slots, "lowest, fifo, lifo or random:SEED",
     "lowest, fifo, lifo or random:SEED; default lowest"},
    {"--order", "ORDER", PLANNING | IN(CLI_RUN), set_order, "build or topological", "build or topological; default build"},
    {"--align", "BYTES", PLANNING | IN(CLI_RUN), set_align, "a power of two such as 64",
     "arenas: of every offset, default 4; with --memory arena of every block, default 64"},
    {"--capacity", "BYTES", PLANNING | IN(CLI_RUN), set_capacity, "a size such as 40MiB or 1048576, or one for each backend: cpu=40MiB,metal=1GiB",
     "arenas: refuse a plan that needs more of one backend; or cpu=40MiB,metal=1GiB"},
    {"--in-place", "WHETHER", PLANNING | IN(CLI_RUN), set_in_place, "yes or no", "arenas: write over dying operands; default yes"},
    {"--work", "N", PLANNING | IN(CLI_RUN), set_work, "a number of looks", "optimal: how long to search, the same everywhere"},
    {"--time", "MS", PLANNING | IN(CLI_RUN), set_time, "milliseconds", "optimal: stop searching after this processor time"},
    {"--fault", "NAME", PLANNING, set_fault, NULL, "plan with a historic defect; may be repeated"},
    {"--budget", "BYTES", PLANNING | IN(CLI_RUN), set_budget, "a size such as 40MiB or 31671296",
     "refuse when a pool and its weights need more"},
    {"--preset", "NAME", PLANNING | IN(CLI_INFO) | IN(CLI_MODEL) | RUNNING, set_preset, "the name of a preset",
     "a model without a file: see below"},
    {"--weights", "TYPE", PLANNING | IN(CLI_INFO) | IN(CLI_MODEL) | RUNNING, set_weights,
     "f32, f16, bf16, q8_0, q4_0, q4_1, q5_0, q5_1, q4_K, q5_K, q6_K or q4_k_m", "types of a preset's weights"},
    {"--tokens", "N", PLANNING | IN(CLI_INFO), set_tokens, "a number of tokens", "tokens of a model's prompt; default 16"},
    {"--n-ctx", "N", PLANNING | IN(CLI_INFO) | RUNNING, set_n_ctx, "a number of rows",
     "rows of a model's KV regions; default 4096"},
    {"--backend", "SPEC", PLANNING | IN(CLI_INFO), set_backend, "a backend",
     "of a model: cpu, deferred, cuda, auto, layers:N or mixed:0-11=deferred,12-99=cpu"},
    {"--backend", "SPEC", RUNNING, set_backend, "a backend",
     "cpu, deferred, cuda, cuda-shim, auto, layers:N or mixed:0-11=cuda,12-99=cpu"},
    {"--no-fuse-qkv", NULL, PLANNING | IN(CLI_INFO) | RUNNING, set_no_fuse_qkv, NULL, "of a model: q, k and v one by one in decode"},
    {"--no-fuse-ffn", NULL, PLANNING | IN(CLI_INFO) | RUNNING, set_no_fuse_ffn, NULL, "of a model: gate and up one by one in decode"},
    {"--seed", "S", IN(CLI_EXPORT), set_seed, "a number", "of a preset's weights, with --format gguf; default 0"},
    {"--nodes", NULL, IN(CLI_PLAN), set_nodes, NULL, "list every node with its place and the reason"},
    {"--log", NULL, IN(CLI_PLAN), set_log, NULL, "print the walk: sweep, release, reuse, new, alias, refused"},
    {"--contents", "FILE", IN(CLI_CHECK), set_contents, "a file name",
     "what run --contents recorded: which words a finding changes"},
    {"--require-own", NULL, IN(CLI_CHECK), set_own, NULL, "recorded values that are overwritten are findings"},
    {"--max-peak", "BYTES", IN(CLI_PLAN) | IN(CLI_CHECK), set_max_peak, "a size such as 40MiB or 31671296",
     "exit 3 when more bytes are live at once"},
    {"--max-buffers", "N", IN(CLI_PLAN) | IN(CLI_CHECK), set_max_buffers, "a number", "exit 3 when there are more buffers"},
    {"--width", "N", IN(CLI_KV), set_row_width, "a number of values",
     "values of a row, for dumps without a header; --n-ctx says as much"},
    {"--n-ctx", "N", IN(CLI_KV), set_dump_rows, "a number of rows", "rows of a region, for dumps without a header"},
    {"--tag", "TAG", IN(CLI_KV), set_tag, "a word", "which dump of a folder: prefill or decode"},
    {"--expr", "TEXT", IN(CLI_INFO) | IN(CLI_PLAN) | IN(CLI_CHECK) | IN(CLI_EXPORT) | IN(CLI_RENDER) | IN(CLI_RUN) | COMPARING, set_expr, "an expression",
     "instead of FILE: a lazy expression, '(a + b) * 2'"},
    {"--generation", "NAME", IN(CLI_INFO) | IN(CLI_PLAN) | IN(CLI_CHECK) | IN(CLI_EXPORT) | IN(CLI_RENDER) | IN(CLI_RUN), set_generation,
     "hardened, 0.1, 0.2 or arena", "of an expression: hardened, 0.1, 0.2 or arena; default hardened"},
    {"--level", NULL, IN(CLI_INFO) | IN(CLI_PLAN) | IN(CLI_CHECK) | IN(CLI_EXPORT) | IN(CLI_RENDER) | IN(CLI_RUN) | COMPARING, set_level, NULL,
     "of an expression: steps of one level run beside each other"},
    {"--help", NULL, EVERY, set_help, NULL, "this text"},
};
#define TABLE_N (sizeof table / sizeof *table)

const struct cli_option *cli_option_at(size_t i)
{
    return i < TABLE_N ? &table[i] : &cli_run_option_table[i - TABLE_N];
}

size_t cli_option_n(void)
{
    return TABLE_N + cli_run_option_n;
}
