/* run: executes a model or a graph here. Text appears as it comes; what is to be kept is written at the end, or
 * streamed. Ctrl-C ends the run, not the program: what was recorded is written all the same. */
#include "app/cli/commands.h"
#include "app/cli/input.h"
#include "app/cli/lazy.h"
#include "app/cli/progress.h"
#include "app/cli/run-arena.h"
#include "app/cli/run-files.h"
#include "app/cli/run-findings.h"
#include "app/cli/run-values.h"
#include "app/kv-files.h"
#include "app/subject.h"
#include "backends/registry.h"
#include "traces/traces.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct running {
    const struct cli_options *options;
    struct app_subject subject;
    struct psc_arena arena;
    struct psc_tokens tokens, turn_tokens[CLI_TURNS_MAX];
    struct psc_run_turn turns[CLI_TURNS_MAX];
    struct psc_run_request request;
    struct psc_run_fill fills[CLI_FILLS_MAX];
    struct psc_arena_settings arenas;
    struct psc_foreign foreign; /* --plan */
    struct psc_kv_dump *saved;  /* owned; --kv-load */
    struct psc_run_result result;
    struct cli_run_files files;
    struct psc_verify *verify;     /* owned; with --verify */
    struct psc_verified verified;
    bool prints;          /* text goes to stdout as it comes */
    const char *stage;    /* told as progress; borrowed */
};

static volatile sig_atomic_t interrupted;

static void interrupt(int number)
{
    interrupted = 1;
    signal(number, SIG_DFL); /* a second one ends the program */
}

/* For the time of a run: Ctrl-C ends it, and nobody reading the text any longer does not end the program. */
struct handlers { struct sigaction interrupt, pipe; };

static void catch_signals(struct handlers *before)
{
    struct sigaction action = {.sa_handler = interrupt}, ignore = {.sa_handler = SIG_IGN};
    sigaction(SIGINT, &action, &before->interrupt);
    sigaction(SIGPIPE, &ignore, &before->pipe);
}

static void leave_signals(const struct handlers *before)
{
    sigaction(SIGINT, &before->interrupt, NULL);
    sigaction(SIGPIPE, &before->pipe, NULL);
}

/* ---- while it runs -------------------------------------------------------------------------------- */

static void clear_progress(struct running *r)
{
    cli_progress_end();
    r->stage = NULL;
}

/* While text is printed to the terminal, that is progress enough. */
static void progress_cb(void *ctx, const char *stage, uint64_t done, uint64_t total)
{
    struct running *r = ctx;
    bool generates = !strcmp(stage, "decode");
    if (generates && r->prints && isatty(STDOUT_FILENO)) {
        clear_progress(r);
        return;
    }
    if (!r->stage || strcmp(r->stage, stage))
        cli_progress("%s", stage);
    r->stage = stage;
    if (generates)
        cli_progress_count(done, total, "tokens");
    else
        cli_progress_part(done, total);
}

static bool cancelled_cb(void *ctx)
{
    (void)ctx;
    return interrupted != 0;
}

/* On a terminal, nothing but text and its lines. A reader that has gone (head) ends the run as Ctrl-C does. */
static void print_text(const char *s, size_t n)
{
    struct psc_text line = {0}, safe = {0};
    psc_text_add_n(&line, s, n);
    for (const char *p = psc_text_str(&line); isatty(STDOUT_FILENO) && *p;) {
        uint32_t code;
        size_t m = psc_text_control(p, &code);
        if (m && code != '\n' && code != '\t')
            psc_text_addf(&safe, code < 0x100 ? "\\x%02" PRIx32 : "\\u%04" PRIx32, code);
        else
            psc_text_add_n(&safe, p, m ? m : 1);
        p += m ? m : 1;
    }
    if (isatty(STDOUT_FILENO))
        fwrite(psc_text_str(&safe), 1, safe.n, stdout);
    else
        fwrite(s, 1, n, stdout);
    if (fflush(stdout) && errno == EPIPE)
        interrupted = 1;
    psc_text_release(&safe);
    psc_text_release(&line);
}

static void token_cb(void *ctx, int32_t token, const char *text, size_t n)
{
    struct running *r = ctx;
    (void)token;
    if (!r->prints)
        return;
    clear_progress(r);
    print_text(text, n);
}

static bool logits_cb(void *ctx, uint32_t step, const float *logits, uint32_t n)
{
    struct running *r = ctx;
    (void)step;
    return cli_run_files_logits(&r->files, logits, n);
}

/* ---- a saved cache ------------------------------------------------------------------------------- */

static enum psc_status load_cb(void *ctx, struct psc_session *session, struct psc_kv_runs *kv, struct psc_error *reterr)
{
    struct running *r = ctx;
    struct psc_error why = {.byte = UINT64_MAX};
    enum psc_status status = app_load_kv(r->saved, session, kv, r->options->backend ? r->options->backend : "cpu", &why);
    return status ? psc_fail(reterr, status, "%s: %s", r->options->run.kv_load, why.text) : PSC_OK;
}

/* Its n_ctx and format are the run's when nothing else was asked for; its next token is the prompt when there is none. */
static enum psc_status take_saved(struct running *r, struct psc_error *reterr)
{
    const struct cli_run *c = &r->options->run;
    const struct psc_kv_dump_options plain = {0};
    struct psc_run_request *q = &r->request;
    struct psc_error why = {.byte = UINT64_MAX};
    if (!c->kv_load)
        return PSC_OK;
    if (!q->model)
        return psc_fail(reterr, PSC_ERR_USAGE, "--kv-load is for models: the rows of a graph are its own affair");
    enum psc_status status = psc_kv_dump_open(c->kv_load, &plain, &r->saved, &why);
    if (status == PSC_ERR_USAGE || (!status && strcmp(psc_kv_dump_format(r->saved), "planscope-kv")))
        status = psc_fail(&why, PSC_ERR_USAGE, "is a dump without a head: --kv-load takes the kv.pskv that --kv-dump writes");
    if (status)
        return psc_fail(reterr, status, "%s: %s", c->kv_load, why.text);
    const struct psc_kv_image *image = psc_kv_dump_image(r->saved);
    if (image->model && q->model->name && strcmp(image->model, q->model->name)) {
        clear_progress(r);
        fprintf(stderr, "planscope-cli: %s was saved of another model: its rows may mean nothing here\n", c->kv_load);
    }
    if (!r->options->n_ctx)
        q->n_ctx = image->rows;
    if (!c->has_kv_format)
        q->kv_format = image->format;
    q->load = load_cb;
    q->load_ctx = r;
    return PSC_OK;
}

/* ---- the request ------------------------------------------------------------------------------------ */

static enum psc_status no_prompt(const struct cli_run *c, struct psc_error *reterr)
{
    if (c->kv_load)
        return psc_fail(reterr, PSC_ERR_USAGE, "%s keeps no token that comes next: run needs -p TEXT, or --tokens IDS", c->kv_load);
    return psc_fail(reterr, PSC_ERR_USAGE, "run needs a prompt: -p TEXT, or --tokens IDS");
}

static bool making_cb(void *ctx, uint64_t bytes, uint64_t total)
{
    progress_cb(ctx, "making weights", bytes, total);
    return true;
}

static enum psc_status open_subject(struct running *r, struct psc_error *reterr)
{
    const struct cli_options *o = r->options;
    const struct psc_seed_watch watch = {making_cb, r};
    struct app_model_request request = {.path = o->file, .preset = o->preset, .weights = o->weights,
                                        .takes_text = (o->run.prompt && !o->run.tokens) || o->run.turn_n, .watch = &watch};
    if (o->preset && !o->run.prompt && !o->run.tokens && !o->run.kv_load)
        return no_prompt(&o->run, reterr);
    uint32_t phase = o->phase;
    cli_progress("reading %s", o->file);
    if (o->phase_kind)
        phase = !strcmp(o->phase_kind, "decode");
    enum psc_status status = app_subject_open(&r->subject, &request, phase, NULL, reterr);
    if (status == PSC_OK && r->subject.doc)
        cli_warn(r->subject.doc);
    return status;
}

/* Further prompts begin no text: they stand behind what was generated. */
static enum psc_status take_turns(struct running *r, struct psc_error *reterr)
{
    const struct cli_run *c = &r->options->run;
    enum psc_status status = PSC_OK;
    for (uint32_t i = 0; status == PSC_OK && i < c->turn_n; i++) {
        struct psc_tokens *to = &r->turn_tokens[i];
        if (c->chat || !r->subject.tokenizer)
            status = app_subject_encode(&r->subject, c->turns[i], c->chat, to, reterr);
        else
            status = psc_tokenizer_encode(r->subject.tokenizer, c->turns[i], strlen(c->turns[i]), PSC_ENCODE_CONTROL, to, reterr);
        r->turns[i] = (struct psc_run_turn){(const int32_t *)to->id, (uint32_t)to->n};
    }
    r->request.turns = r->turns;
    r->request.turn_n = c->turn_n;
    return status;
}

/* What says how to draw says nothing where nobody draws. --temp 0 in so many words is an answer; the default is none. */
static enum psc_status check_sampling(const struct cli_options *o, struct psc_error *reterr)
{
    const struct psc_sampling *s = &o->run.sampling;
    const char *drawn = cli_given(o, (const char *const[]){"--seed", "--top-k", "--top-p", "--min-p", NULL}, false);
    if (drawn && !cli_given(o, (const char *const[]){"--temp", NULL}, false))
        return psc_fail(reterr, PSC_ERR_USAGE, "%s is for sampling: give a --temp above 0 (at 0, the default, the most probable token is "
                        "taken; --temp 0 says that this is meant)", drawn);
    if (s->repeat_penalty == 1 && cli_given(o, (const char *const[]){"--repeat-window", NULL}, false))
        return psc_fail(reterr, PSC_ERR_USAGE, "--repeat-window says how far --repeat-penalty looks back: give one other than 1");
    return PSC_OK;
}

static enum psc_status take_prompt(struct running *r, struct psc_error *reterr)
{
    const struct cli_run *c = &r->options->run;
    struct psc_run_request *q = &r->request;
    int32_t *ids;
    if (c->prompt && c->tokens)
        return psc_fail(reterr, PSC_ERR_USAGE, "run takes -p or --tokens, not both");
    if (c->chat && !c->prompt)
        return psc_fail(reterr, PSC_ERR_USAGE, "--chat makes a message of -p TEXT: there is none");
    if (cli_given(r->options, (const char *const[]){"--fill", "--times", "--refill", NULL}, false))
        return psc_fail(reterr, PSC_ERR_USAGE, "--fill, --times and --refill are for graphs; a model takes -p TEXT or --tokens IDS");
    if (check_sampling(r->options, reterr))
        return PSC_ERR_USAGE;
    if (r->options->has_phase)
        return psc_fail(reterr, PSC_ERR_USAGE, "--phase is for files of graphs: a run of a model is its prefill, then decode");
    if (c->tokens) {
        enum psc_status status = cli_parse_ids(&r->arena, c->tokens, &ids, &q->prompt_n, reterr);
        q->prompt = ids;
        return status;
    }
    if (!c->prompt) {
        int32_t *next = psc_arena_alloc(&r->arena, 1, sizeof *next);
        if (!next)
            return psc_fail_nomem(reterr);
        if (!r->saved || !app_kv_next_token(r->saved, next))
            return no_prompt(c, reterr);
        q->prompt = next;
        q->prompt_n = 1;
        return PSC_OK;
    }
    enum psc_status status = app_subject_encode(&r->subject, c->prompt, c->chat, &r->tokens, reterr);
    q->prompt = (const int32_t *)r->tokens.id; /* ids are below 2^24 */
    q->prompt_n = (uint32_t)r->tokens.n;
    q->prompt_text = c->prompt;
    return status;
}

static enum psc_status take_fills(struct running *r, struct psc_error *reterr)
{
    const struct cli_run *c = &r->options->run;
    enum psc_status status = PSC_OK;
    static const char *const of_models[] = {
        "-p", "--then", "--tokens", "--chat", "-n", "--logits", "--chunk", "--seed", "--temp", "--top-k", "--top-p", "--min-p",
        "--repeat-penalty", "--repeat-window", "--ignore-stop", "--kv-inputs", "--fuse-qkv", "--fuse-ffn", "--no-fuse-qkv",
        "--no-fuse-ffn", NULL};
    const char *odd = cli_given(r->options, of_models, false);
    if (odd)
        return psc_fail(reterr, PSC_ERR_USAGE, "%s is for models; a graph takes --fill NAME=1,2,3", odd);
    for (uint32_t i = 0; !status && i < c->fill_n; i++)
        status = cli_parse_fill(&r->arena, r->subject.graph, c->fills[i], &r->fills[i], reterr);
    for (uint32_t i = 1; !status && i < c->fill_n; i++)
        for (uint32_t k = 0; !status && k < i; k++)
            if (!strcmp(r->fills[i].name, r->fills[k].name))
                status = psc_fail(reterr, PSC_ERR_USAGE, "%.60s is filled twice", r->fills[i].name);
    r->request.fills = r->fills;
    r->request.fill_n = c->fill_n;
    return status;
}

static enum psc_status make_request(struct running *r, struct psc_error *reterr)
{
    const struct cli_options *o = r->options;
    const struct cli_run *c = &o->run;
    bool records = c->trace || c->events;
    r->request = (struct psc_run_request){
        .model = r->subject.model.model, .tokenizer = r->subject.tokenizer, .graph = r->subject.graph, .times = c->times,
        .refill = c->refill, .move_at = c->move_at, .n_predict = c->n, .n_ctx = (uint32_t)o->n_ctx, .chunk = c->chunk, .sampling = c->sampling,
        .ignore_stop = c->ignore_stop, .backends = o->backend, .kv_inputs = c->kv_inputs, .kv_format = c->kv_format,
        .fuse_qkv = o->no_fuse_qkv ? PSC_NO : c->fuse_qkv, .fuse_ffn = o->no_fuse_ffn ? PSC_NO : c->fuse_ffn,
        .session = c->session, .ctx = r, .progress = progress_cb, .cancelled = cancelled_cb, .token = token_cb,
        .logits = c->logits ? logits_cb : NULL,
        .record = {.events = true, .values = c->has_capture ? c->capture != PSC_CAPTURE_UNKNOWN : records,
                   .hashes = c->hashes, .contents = c->contents != NULL, .capture = c->capture},
    };
    if (c->verify && psc_verify_new(&r->verify, reterr))
        return PSC_ERR_NOMEM;
    if (r->verify)
        psc_verify_watch(r->verify, &r->request);
    r->request.session.planner = o->planner;
    r->request.session.plan = o->plan;
    r->request.session.plan.pool = NULL;
    r->request.session.has_budget = o->plan.pool != NULL;
    r->request.session.budget = o->budget.bytes;
    if (o->plan_file) {
        enum psc_status status = psc_plan_read(&r->arena, o->plan_file, &r->foreign, reterr);
        if (!status && !r->subject.graph)
            status = psc_fail(reterr, PSC_ERR_USAGE, "--plan is the plan of one graph: a model runs more than one");
        if (status)
            return status;
        r->request.session.planner = &psc_foreign_planner;
        r->request.session.plan.foreign = &r->foreign;
    }
    enum psc_status status = cli_arena_request(o, &r->arenas, &r->request, reterr);
    if (!status)
        status = take_saved(r, reterr);
    if (status)
        return status;
    if (r->subject.graph)
        return take_fills(r, reterr);
    status = take_prompt(r, reterr);
    return status ? status : take_turns(r, reterr);
}

/* ---- files --------------------------------------------------------------------------------------------- */

static void stream(struct running *r)
{
    struct psc_recorder_options *o = &r->request.record;
    if (r->files.events) {
        o->phase = psc_events_phase;
        o->step = psc_events_step;
        o->stream_ctx = r->files.events;
        o->forget = !r->options->run.trace; /* the document is not needed then */
    }
    o->content = psc_contents_put;
    o->content_ctx = r->files.contents;
}

/* ---- the answer ------------------------------------------------------------------------------------------- */

static double rate(uint64_t tokens, double seconds)
{
    return seconds > 0 ? (double)tokens / seconds : 0;
}

static void result_json(struct psc_json *j, const struct running *r)
{
    const struct psc_run_result *a = &r->result;
    if (r->subject.model.model) {
        psc_json_key(j, "tokens");
        psc_json_array(j);
        for (uint32_t i = 0; i < a->token_n; i++)
            psc_json_i64(j, a->tokens[i]);
        psc_json_end_array(j);
        psc_json_put_string(j, "text", psc_text_str(&a->text));
        psc_json_put_u64(j, "prompt_tokens", a->prefill_tokens);
        psc_json_put_f64(j, "prefill_tps", rate(a->prefill_tokens, a->prefill_seconds));
        psc_json_put_f64(j, "decode_tps", rate(a->token_n > a->end_n ? a->token_n - a->end_n : 0, a->decode_seconds));
        psc_json_put_bool(j, "stopped", a->stopped);
    }
    psc_json_put_bool(j, "cancelled", a->cancelled);
    psc_json_put_u64(j, "planned_bytes", a->planned_bytes);
    psc_json_put_u64(j, "used_bytes", a->used_bytes);
    psc_json_put_u64(j, "kv_bytes", a->kv_bytes);
    psc_json_put_u64(j, "findings", a->finding_n);
    psc_json_put_u64(j, "planned_findings", a->planned_finding_n);
    if (r->request.record.hashes)
        psc_json_put_u64(j, "confirmed", a->confirmed_n);
    psc_json_put_u64(j, "unwritten_reads", a->unwritten_n);
    cli_arena_json(j, a);
    if (r->request.session.replay) {
        psc_json_put_u64(j, "captures", a->counters.captures);
        psc_json_put_u64(j, "replays", a->counters.replays);
    }
    if (r->verify)
        cli_verified_json(j, &r->verified);
}

/* ---- beside a clean run ------------------------------------------------------------------------------------- */

/* What a run that failed half-way did before is compared as well. */
static enum cli_exit verify(struct running *r)
{
    uint32_t api_n;
    struct psc_error error = {.byte = UINT64_MAX};
    const struct psc_backend_api *const *apis = psc_backend_known(&api_n);
    if (!r->verify || r->result.cancelled)
        return CLI_CLEAN;
    enum psc_status status = psc_verify_run(r->verify, apis, api_n, &r->request, &r->result, &r->verified, &error);
    clear_progress(r);
    return status ? cli_complain(r->options->file, &error) : CLI_CLEAN;
}

static enum cli_exit answer(struct running *r)
{
    struct psc_text text = {0};
    struct psc_error error = {.byte = UINT64_MAX};
    struct psc_json j;
    enum psc_status status = PSC_OK;
    bool graph = r->subject.graph != NULL && !r->result.cancelled;
    psc_json_init(&j, false);
    psc_json_object(&j);
    if (graph && r->options->json) {
        psc_json_key(&j, "outputs");
        status = cli_outputs_json(&j, r->result.session, &error);
    } else if (graph) {
        status = cli_add_outputs(&text, r->result.session, &error);
    }
    if (!r->options->json)
        cli_arena_add(&text, &r->result);
    result_json(&j, r);
    psc_json_end_object(&j);
    psc_text_add(&text, psc_text_str(&j.out));
    psc_text_add(&text, "\n");
    text.failed = text.failed || j.out.failed;
    psc_json_release(&j);
    if (!status)
        return cli_print(&text, CLI_CLEAN);
    psc_text_release(&text);
    return cli_complain(NULL, &error);
}

/* ---- the command ---------------------------------------------------------------------------------------------- */

static enum cli_exit execute(struct running *r)
{
    struct psc_error error = {.byte = UINT64_MAX};
    struct handlers before;
    uint32_t api_n;
    const struct psc_backend_api *const *apis = psc_backend_known(&api_n);
    catch_signals(&before);
    cli_progress("planning");
    enum psc_status status = psc_run(apis, api_n, &r->request, &r->result, &error);
    clear_progress(r);
    enum cli_exit exit = CLI_CLEAN;
    if (r->prints && (!status || r->result.text.n)) /* the text's last line ends before anything else is said */
        fputs("\n", stdout);
    fflush(stdout);
    bool ran = !status;
    if (!ran)
        exit = cli_complain(r->options->file, &error);
    cli_arena_stream(&r->files, &r->result);
    if (cli_run_files_close(&r->files, &r->result))
        exit = CLI_BAD;
    bool compared = !verify(r);
    if (!compared)
        exit = CLI_BAD;
    if (ran && r->request.move_at > r->result.executions)
        fprintf(stderr, "planscope-cli: --move %" PRIu32 ": nothing moved, the run ended after forward %" PRIu32 "\n", r->request.move_at,
                r->result.executions);
    cli_tell_findings(&r->result, r->options->run.contents);
    if (r->verify && !r->result.cancelled && compared && (ran || r->verified.steps || r->verified.cancelled)) /* else all is said */
        cli_tell_verified(&r->verified);
    if (ran) { /* a file that could not be written takes nothing from what was computed */
        enum cli_exit said = answer(r);
        exit = exit ? exit : said;
    }
    leave_signals(&before);
    if (!exit && (r->verified.computed_n || r->verified.memory_n || r->verified.replay_n || r->result.finding_n || r->result.confirmed_n || r->result.unwritten_n ||
                  r->result.arena_broken.ever))
        exit = CLI_FINDINGS;
    return exit;
}

enum cli_exit cli_run(struct cli_options *options)
{
    if (cli_lazy_is(options))
        return cli_lazy_run(options);
    struct running r = {.options = options};
    struct psc_error error = {.byte = UINT64_MAX};
    enum cli_exit exit = cli_run_files_check(options);
    if (exit)
        return exit;
    if (cli_words_fit(options, &error) || (!options->run.on_arenas && cli_planner_takes_options(options, &error)))
        return cli_complain(NULL, &error);
    if (open_subject(&r, &error)) {
        clear_progress(&r);
        exit = cli_complain(options->file, &error);
        goto out;
    }
    r.prints = !options->json && !r.subject.graph;
    if (make_request(&r, &error)) /* files are cut when it is known that there is a run */
        exit = cli_complain(NULL, &error);
    const struct psc_gguf_file *parts = r.subject.model.file;
    for (uint32_t i = 0; !exit && parts && i < psc_gguf_file_part_n(parts); i++)
        exit = cli_run_files_apart(options, psc_gguf_file_part(parts, i));
    if (!exit)
        exit = cli_run_files_open(&r.files, options, r.subject.graph ? r.subject.graph->model : r.subject.model.model->name);
    stream(&r);
    if (!exit)
        exit = execute(&r);
    else
        (void)cli_run_files_close(&r.files, &r.result);
out:
    psc_kv_dump_free(r.saved);
    psc_verify_free(r.verify);
    psc_run_result_release(&r.result);
    psc_tokens_release(&r.tokens);
    for (uint32_t i = 0; i < options->run.turn_n; i++)
        psc_tokens_release(&r.turn_tokens[i]);
    psc_arena_release(&r.arena);
    app_subject_close(&r.subject);
    return exit;
}
