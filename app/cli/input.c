#include "app/cli/input.h"

#include "app/cli/lazy.h"
#include "app/cli/progress.h"
#include "app/cli/words.h"
#include "app/model.h"
#include "core/base/mem.h"
#include "core/debug/shootout.h"
#include "core/plan/capacity.h"
#include "core/plan/offsets/offsets.h"
#include "traces/traces.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- complaints ----------------------------------------------------------------------------- */

static const char *without(const char *name, const char *sentence)
{
    size_t n = strlen(name);
    return n && !strncmp(sentence, name, n) && !strncmp(sentence + n, ": ", 2) ? sentence + n + 2 : sentence;
}

/* Sentences begin with the file's name, for the window; here the path stands before it. */
static const char *without_name(const char *path, const char *sentence)
{
    const char *slash = strrchr(path, '/');
    return without(slash ? slash + 1 : path, without(path, sentence));
}

/* They say where in the file, too, and here `path:line:column` does. */
static void add_without_place(struct psc_text *out, const char *sentence, uint64_t line, uint64_t column, uint64_t byte)
{
    char place[96];
    snprintf(place, sizeof place, " at line %" PRIu64 ", column %" PRIu64 " (byte %" PRIu64 ")", line, column, byte);
    const char *at = line ? strstr(sentence, place) : NULL;
    if (!at || at == sentence || at[-1] == ':') {
        cli_add_safe(out, sentence);
        return;
    }
    struct psc_text head = {0};
    psc_text_add_n(&head, sentence, (size_t)(at - sentence));
    cli_add_safe(out, psc_text_str(&head));
    cli_add_safe(out, at + strlen(place));
    psc_text_addf(out, " (byte %" PRIu64 ")", byte);
    psc_text_release(&head);
}

static void complain(const char *path, uint64_t line, uint64_t column, uint64_t byte, const char *sentence)
{
    struct psc_text text = {0};
    if (path)
        sentence = without_name(path, sentence);
    psc_text_add(&text, "planscope-cli: ");
    if (path) {
        cli_add_safe(&text, path);
        if (line)
            psc_text_addf(&text, ":%" PRIu64, line);
        if (line && column)
            psc_text_addf(&text, ":%" PRIu64, column);
        psc_text_add(&text, ": ");
    }
    add_without_place(&text, sentence, line, column, byte);
    if (line && byte != UINT64_MAX && !strstr(sentence, "byte"))
        psc_text_addf(&text, " (byte %" PRIu64 ")", byte);
    psc_text_add(&text, "\n");
    cli_progress_end();
    fputs(psc_text_str(&text), stderr);
    psc_text_release(&text);
}

enum cli_exit cli_complain(const char *path, const struct psc_error *error)
{
    complain(path, error->line, error->column, error->line ? error->byte : UINT64_MAX, error->text);
    return CLI_BAD;
}

enum cli_exit cli_complain_nomem(void)
{
    cli_progress_end();
    fputs("planscope-cli: out of memory\n", stderr);
    return CLI_BAD;
}

/* Every fault of the file, one a line; the error itself when the report has none. */
static void complain_all(const char *path, const struct psc_report *report, const struct psc_error *error)
{
    if (!report->fault_n) {
        cli_complain(path, error);
        return;
    }
    for (size_t i = 0; i < report->n; i++) {
        const struct psc_message *m = &report->items[i];
        if (m->level == PSC_FAULT)
            complain(path, m->line, m->column, m->byte, m->text);
    }
    if (report->dropped) {
        char sentence[64];
        snprintf(sentence, sizeof sentence, "%zu further messages are not shown", report->dropped);
        complain(path, 0, 0, UINT64_MAX, sentence);
    }
}

void cli_add_message(struct psc_text *out, const struct psc_message *m)
{
    if (m->line)
        psc_text_addf(out, "line %" PRIu64 ", column %" PRIu64 ": ", m->line, m->column);
    cli_add_safe(out, m->text);
}

void cli_warn(const struct psc_doc *doc)
{
    for (size_t i = 0; i < doc->report.n; i++) {
        const struct psc_message *m = &doc->report.items[i];
        struct psc_text text = {0};
        if (m->level != PSC_WARNING)
            continue;
        psc_text_addf(&text, "warning: %s", m->text);
        complain(doc->path, m->line, m->column, m->byte, psc_text_str(&text));
        psc_text_release(&text);
    }
}

/* ---- opening -------------------------------------------------------------------------------- */

static enum psc_status open_model(struct cli_input *in, struct cli_options *options, struct psc_error *reterr)
{
    struct app_model model = {0};
    struct app_model_request request = {
        .path = options->file, .preset = options->preset, .weights = options->weights,
    };
    struct app_model_view view = {
        .tokens = options->tokens, .n_ctx = options->n_ctx, .backend = options->backend,
        .no_fuse_qkv = options->no_fuse_qkv, .no_fuse_ffn = options->no_fuse_ffn,
    };
    enum psc_status status = app_model_open(&model, &request, reterr);
    if (!status)
        status = app_model_doc(&model, &view, options->file, &in->doc, reterr);
    if (!status)
        options->budget.weights = model.model->weight_bytes;
    app_model_close(&model);
    return status;
}

/* --phase decode: the first phase of that kind. */
static enum psc_status find_phase(struct cli_input *in, struct cli_options *options, struct psc_error *reterr)
{
    if (!options->phase_kind)
        return PSC_OK;
    for (uint32_t p = 0; p < in->doc->phase_n; p++)
        if (!strcmp(in->doc->phases[p].kind, options->phase_kind)) {
            options->phase = p;
            return PSC_OK;
        }
    return psc_fail(reterr, PSC_ERR_USAGE, "there is no %s phase: the file has %" PRIu32 " %s", options->phase_kind,
                    in->doc->phase_n, in->doc->phase_n == 1 ? "phase" : "phases");
}

/* Of the words for expressions generations and some faults are for graphs, too, when candela plans them. */
static enum psc_status graph_takes_words(struct cli_options *o, struct psc_error *reterr)
{
    if (!*o->lazy_words)
        return PSC_OK;
    if (strstr(o->lazy_words, "level"))
        return psc_fail(reterr, PSC_ERR_USAGE, "'level' is for expressions: --expr TEXT or a .lazy file");
    if (!o->planner || strcmp(o->planner->name, "candela"))
        return psc_fail(reterr, PSC_ERR_USAGE, "'%s' is for expressions (--expr TEXT or a .lazy file) and for --planner candela",
                        o->lazy_words);
    if (o->plan.candela_faults & ~PSC_CANDELA_GRAPH_FAULTS)
        return psc_fail(reterr, PSC_ERR_USAGE, "of candela's faults b6, b7, b11, b12, b15, b16 and b18 to b21 are for graphs; the others "
                        "are for expressions");
    o->replan = true;
    return PSC_OK;
}

enum psc_status cli_words_fit(struct cli_options *o, struct psc_error *reterr)
{
    if (!cli_lazy_is(o))
        return graph_takes_words(o, reterr);
    if (o->command != CLI_COMPARE && (o->replan || o->plan_file || o->model_option)) /* it asks other planners, too */
        return psc_fail(reterr, PSC_ERR_USAGE, "an expression is planned as candela plans: it takes --generation, --fault and --level, no "
                        "other option of planners or models");
    return PSC_OK;
}

/* `compare` asks every planner, and `diff` may ask two: there an option is for whoever looks at it. */
enum psc_status cli_planner_takes_options(const struct cli_options *o, struct psc_error *reterr)
{
    static const char *const of_pools[] = {"--mode", "--slots", "--order", NULL};
    static const char *const of_arenas[] = {"--align", "--capacity", "--in-place", NULL};
    static const char *const of_search[] = {"--work", "--time", NULL};
    const char *name = o->planner ? o->planner->name : "pool", *odd;
    bool packs = psc_packer_find(name), pools = !packs && strcmp(name, "candela");
    if (o->command == CLI_COMPARE || o->command == CLI_DIFF)
        return PSC_OK;
    if (!pools && (odd = o->plan.faults ? "--fault" : cli_given(o, of_pools, false)))
        return psc_fail(reterr, PSC_ERR_USAGE, "%s is for --planner pool: %s does not look at it", odd, name);
    if (strcmp(name, "optimal") && (odd = cli_given(o, of_search, false)))
        return psc_fail(reterr, PSC_ERR_USAGE, "%s is for --planner optimal: %s does not search", odd, name);
    if (packs || !(odd = cli_given(o, of_arenas, false)))
        return PSC_OK;
    return psc_fail(reterr, PSC_ERR_USAGE, "%s is for planners of one arena (best-fit, linear-scan, greedy-size, greedy-breadth, "
                    "optimal): %s does not look at it", odd, name);
}

/* A name under --capacity is that of a backend of some phase. */
static enum psc_status capacities_fit(const struct cli_options *o, const struct psc_doc *doc, struct psc_error *reterr)
{
    const struct psc_capacity *unknown = NULL;
    const struct psc_graph **graphs = o->plan.capacity_n ? psc_alloc((doc->phase_n + (size_t)1) * sizeof *graphs) : NULL;
    if (!o->plan.capacity_n)
        return PSC_OK;
    if (!graphs)
        return psc_fail_nomem(reterr);
    for (uint32_t p = 0; p < doc->phase_n; p++)
        graphs[p] = doc->phases[p].graph;
    unknown = psc_capacity_unknown(&o->plan, graphs, doc->phase_n);
    enum psc_status status = unknown ? psc_capacity_refuse(unknown, graphs, doc->phase_n, reterr) : PSC_OK;
    psc_free(graphs);
    return status;
}

enum cli_exit cli_input_open(struct cli_input *in, struct cli_options *options, bool whole)
{
    struct psc_report report = {0};
    struct psc_error error = {0};
    struct psc_open_options open = {.whole = whole, .progress = cli_progress_cb};
    enum psc_status status;
    cli_progress("reading %s", options->file ? options->file : "an expression");
    if ((status = cli_words_fit(options, &error)))
        ; /* the sentence is there */
    else if (options->expr || (*options->lazy_words && cli_lazy_is(options)))
        status = cli_lazy_doc(options, &in->doc, &error);
    else if (options->preset || app_is_model_file(options->file))
        status = open_model(in, options, &error);
    else if (options->model_option)
        status = psc_fail(&error, PSC_ERR_USAGE, "%s is for models: a GGUF file or --preset NAME", options->model_option);
    else
        status = psc_trace_open(options->file, &open, &report, &in->doc, &error);
    if (status)
        complain_all(options->file, &report, &error);
    psc_report_release(&report);
    if (status)
        return CLI_BAD;
    if (!whole && options->has_phase && (options->phase_kind || options->phase >= in->doc->phase_n) &&
        psc_doc_scan_all(in->doc, &error))
        return cli_complain(options->file, &error);
    if (find_phase(in, options, &error) || capacities_fit(options, in->doc, &error))
        return cli_complain(options->file, &error);
    if (options->plan_file)
        cli_progress("reading %s", options->plan_file);
    if (options->plan_file &&
        psc_plan_read(&in->arena, options->plan_file, &in->foreign, &error))
        return cli_complain(options->plan_file, &error);
    return CLI_CLEAN;
}

void cli_input_close(struct cli_input *in)
{
    psc_doc_free(in->doc);
    psc_arena_release(&in->arena);
    *in = (struct cli_input){0};
}

const struct psc_phase *cli_input_phase(const struct cli_input *in, const struct cli_options *options)
{
    const struct psc_doc *doc = in->doc;
    struct psc_error error = {.byte = UINT64_MAX};
    if (options->phase >= doc->phase_n) {
        (void)psc_fail(&error, PSC_ERR_USAGE, "there is no phase %" PRIu32 ": the file has %" PRIu32 " %s, counted from 0",
                       options->phase, doc->phase_n, doc->phase_n == 1 ? "phase" : "phases");
        cli_complain(options->file, &error);
        return NULL;
    }
    if (!doc->phases[options->phase].graph && !doc->phases[options->phase].story) {
        (void)psc_fail(&error, PSC_ERR_USAGE, "phase %" PRIu32 " has no graph", options->phase);
        cli_complain(options->file, &error);
        return NULL;
    }
    return &doc->phases[options->phase];
}

enum cli_exit cli_analyse(const struct cli_input *in, const struct cli_options *options, uint32_t phase,
                          struct psc_analysis **ret)
{
    return cli_analyse_phase(in, options, &in->doc->phases[phase], ret);
}

enum cli_exit cli_analyse_phase(const struct cli_input *in, const struct cli_options *options, const struct psc_phase *phase,
                                struct psc_analysis **ret)
{
    struct psc_error error = {0};
    struct psc_analysis_options want = {
        .planner = options->planner,
        .plan = options->plan,
        /* the walk's log is only known to who makes the plan */
        .replan = options->replan || options->log,
        .foreign = options->plan_file ? &in->foreign : NULL,
        .as_planned = options->story == CLI_PLANNED,
    };
    enum psc_status status = phase->graph ? cli_planner_takes_options(options, &error) : PSC_OK;
    if (status)
        return cli_complain(NULL, &error);
    cli_progress("planning and checking %s", phase->kind && *phase->kind ? phase->kind : options->file);
    status = psc_analysis_new(phase, &want, ret, &error);
    if (!status)
        return CLI_CLEAN;
    return cli_complain(options->plan_file ? options->plan_file : options->file, &error);
}

/* ---- endings -------------------------------------------------------------------------------- */

enum cli_exit cli_print(struct psc_text *text, enum cli_exit status)
{
    bool failed = text->failed;
    cli_progress_end();
    if (!failed) {
        fwrite(psc_text_str(text), 1, text->n, stdout);
        if (fflush(stdout) || ferror(stdout)) {
            fprintf(stderr, "planscope-cli: stdout: %s\n", strerror(errno));
            status = CLI_BAD;
        }
    }
    psc_text_release(text);
    return failed ? cli_complain_nomem() : status;
}

enum cli_exit cli_budget(const struct cli_options *options, const struct psc_analysis *analysis, uint32_t phase)
{
    struct psc_cost cost = psc_cost_of(analysis);
    return cli_budget_of(options, cost.peak_live, cost.buffers, phase);
}

enum cli_exit cli_budget_of(const struct cli_options *options, uint64_t peak, uint64_t buffers, uint32_t phase)
{
    char a[32], b[32];
    enum cli_exit status = CLI_CLEAN;
    cli_progress_end();
    if (options->has_max_peak && peak > options->max_peak) {
        fprintf(stderr, "planscope-cli: phase %" PRIu32 ": %s bytes are live at the peak, the budget is %s\n", phase,
                psc_thousands(peak, a, sizeof a), psc_thousands(options->max_peak, b, sizeof b));
        status = CLI_BUDGET;
    }
    if (options->has_max_buffers && buffers > options->max_buffers) {
        fprintf(stderr, "planscope-cli: phase %" PRIu32 ": %s buffer%s, the budget is %s\n", phase,
                psc_thousands(buffers, a, sizeof a), buffers == 1 ? "" : "s", psc_thousands(options->max_buffers, b, sizeof b));
        status = CLI_BUDGET;
    }
    return status;
}
