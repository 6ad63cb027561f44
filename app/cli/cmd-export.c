#include "app/cli/commands.h"
#include "app/cli/input.h"
#include "app/cli/lazy.h"
#include "app/cli/out.h"
#include "app/cli/progress.h"
#include "app/model-write.h"
#include "app/model.h"
#include "core/base/mem.h"
#include "traces/minimalloc.h"
#include "traces/traces.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* ---- a trace of one phase ------------------------------------------------------------------- */

/* A step source that shows one phase of another document as phase 0. */
struct one_phase {
    const struct psc_doc *doc;
    uint32_t phase;
};

static uint32_t one_count(void *ctx, uint32_t phase)
{
    const struct one_phase *one = ctx;
    return psc_doc_step_n(one->doc, one->phase + phase);
}

static enum psc_status one_load(void *ctx, uint32_t phase, uint32_t step, struct psc_arena *arena,
                                struct psc_step *ret, struct psc_error *reterr)
{
    const struct one_phase *one = ctx;
    return psc_doc_load_step(one->doc, one->phase + phase, step, arena, ret, reterr);
}

/* Plans that were asked for go into the file with the events that they predict (what the planner believed of the
 * order stands in these); else the file keeps what it brought. */
static enum cli_exit write_trace(const struct cli_input *in, const struct cli_options *options)
{
    struct one_phase one = {in->doc, options->has_phase ? options->phase : 0};
    struct psc_doc doc = *in->doc;
    if (options->has_phase) {
        doc.phases += one.phase;
        doc.phase_n = 1;
        doc.steps = (struct psc_step_source){.count = one_count, .load = one_load, .ctx = &one};
    }
    enum cli_exit status = CLI_CLEAN;
    struct psc_analysis **analyses = psc_alloc0(doc.phase_n + (size_t)1, sizeof *analyses);
    struct psc_plan **plans = psc_alloc0(doc.phase_n + (size_t)1, sizeof *plans);
    struct psc_story **stories = psc_alloc0(doc.phase_n + (size_t)1, sizeof *stories);
    if (!analyses || !plans || !stories)
        status = cli_complain_nomem();
    for (uint32_t p = 0; p < doc.phase_n && !status; p++) {
        if (options->replan) {
            status = cli_analyse(in, options, one.phase + p, &analyses[p]);
            plans[p] = status ? NULL : analyses[p]->plan;
            stories[p] = status ? NULL : analyses[p]->story;
        } else {
            plans[p] = doc.phases[p].plan;
            stories[p] = doc.phases[p].story;
        }
    }
    struct psc_error error = {0};
    struct cli_out out;
    if (!status && !(status = cli_out_begin(&out, options->out))) {
        enum psc_status wrote = psc_trace_write(&doc, plans, stories, options->pretty, cli_out_add, &out, &error);
        status = cli_out_end(&out, wrote, &error);
    }
    for (uint32_t p = 0; analyses && p < doc.phase_n; p++)
        psc_analysis_free(analyses[p]);
    psc_free(analyses);
    psc_free(plans);
    psc_free(stories);
    return status;
}

/* ---- boxes ---------------------------------------------------------------------------------- */

/* Of a list of boxes: as the file has them, or packed when a planner option was given. */
static enum psc_status write_boxes(const struct cli_options *options, const struct psc_analysis *a, struct psc_text *text,
                                   struct psc_error *reterr)
{
    struct psc_plan_options plan = options->plan;
    plan.size = PSC_SIZE_EXACT; /* what planners of arenas say of themselves */
    plan.mode = PSC_MODE_HARDENED;
    if (options->format == CLI_AS_PLAN)
        return psc_box_set_write(a->phase->boxes, a->packed, a->packer, &plan, options->pretty, text, reterr);
    if (options->format == CLI_AS_MINIMALLOC)
        return psc_minimalloc_write(a->phase->boxes, options->replan ? a->packed : NULL, text, reterr);
    return psc_fail(reterr, PSC_ERR_USAGE, "phase %" PRIu32 " has no graph, it is a list of boxes: --format plan or minimalloc",
                    options->phase);
}

/* Of a graph: its boxes, with the offsets of a planner of arenas when one was asked for. */
static enum psc_status write_graph_boxes(const struct cli_options *options, const struct psc_analysis *a,
                                         struct psc_text *text, struct psc_error *reterr)
{
    struct psc_arena arena = {0};
    struct psc_box_set set;
    bool packed = options->replan && a->plan && a->plan->certificates;
    enum psc_status status = psc_box_set_of_graph(&arena, a->phase->graph, packed ? a->plan : NULL, &set, reterr);
    if (!status)
        status = psc_minimalloc_write(&set, packed ? &set.packed : NULL, text, reterr);
    psc_arena_release(&arena);
    return status;
}

/* ---- what is one text ----------------------------------------------------------------------- */

static enum cli_exit make_text(const struct cli_input *in, const struct cli_options *options, struct psc_text *text)
{
    struct psc_error error = {0};
    struct psc_analysis *a = NULL;
    const struct psc_phase *phase = cli_input_phase(in, options);
    if (!phase)
        return CLI_BAD;
    if (phase->expression && options->format == CLI_AS_PLAN)
        return cli_lazy_plan_text(options, text, &error) ? cli_complain(options->file, &error) : CLI_CLEAN;
    if (!phase->graph && !phase->boxes) {
        (void)psc_fail(&error, PSC_ERR_USAGE, "phase %" PRIu32 " has no graph%s", options->phase,
                       phase->expression ? ", it is an expression: --format plan, or minfer-trace for its events" : "");
        return cli_complain(options->file, &error);
    }
    enum cli_exit status = CLI_CLEAN;
    enum psc_status wrote = PSC_OK;
    cli_progress("writing %s", options->out);
    if (options->format == CLI_AS_GRAPH && phase->graph) {
        wrote = psc_graph_write(phase, options->pretty, text, &error);
    } else {
        status = cli_analyse(in, options, options->phase, &a);
        if (!status && phase->boxes)
            wrote = write_boxes(options, a, text, &error);
        else if (!status && options->format == CLI_AS_MINIMALLOC)
            wrote = write_graph_boxes(options, a, text, &error);
        else if (!status && !a->plan)
            wrote = psc_fail(&error, PSC_ERR_USAGE, "phase %" PRIu32 " brings its events, not a plan; --planner pool makes one",
                             options->phase);
        else if (!status && options->format == CLI_AS_PLAN)
            wrote = psc_plan_write(phase->graph, a->plan, options->pretty, text, &error);
        else if (!status)
            wrote = psc_plan_write_csv(phase->graph, a->plan, text, &error);
    }
    if (wrote)
        status = cli_complain(options->file, &error);
    else if (!status && text->failed)
        status = cli_complain_nomem();
    psc_analysis_free(a);
    return status;
}

static enum cli_exit write_text(const char *path, const struct psc_text *text)
{
    struct cli_out out;
    enum cli_exit status = cli_out_begin(&out, path);
    if (status)
        return status;
    return cli_out_end(&out, cli_out_add(&out, psc_text_str(text), text->n) ? PSC_OK : PSC_ERR_IO, NULL);
}

/* ---- a model ---------------------------------------------------------------------------------- */

static void tell(void *ctx, uint64_t done, uint64_t total)
{
    (void)ctx;
    cli_progress_part(done, total);
}

static enum cli_exit export_model(const struct cli_options *options)
{
    struct app_model_writing what = {.weights = options->weights, .seed = options->seed, .progress = tell};
    struct psc_error error = {0};
    enum psc_status status = app_find_preset(options->preset, &what.preset, &error);
    if (status)
        return cli_complain(NULL, &error);
    struct cli_out out;
    bool to_stdout = !strcmp(options->out, "-"); /* begins always */
    cli_progress("writing %s", options->out);
    if (to_stdout && !cli_out_begin(&out, options->out))
        status = app_model_write_to(&what, cli_out_add, &out, &error);
    else
        status = app_model_write(&what, options->out, &error);
    cli_progress_end();
    if (to_stdout)
        return cli_out_end(&out, status, &error);
    return status ? cli_complain(options->out, &error) : CLI_CLEAN;
}

/* A graph may be written over itself, in another format; weights would be gone. */
static bool is_over_model(const struct cli_options *o)
{
    struct stat in, out;
    return !o->preset && app_is_model_file(o->file) && !stat(o->file, &in) && !stat(o->out, &out) && in.st_dev == out.st_dev &&
           in.st_ino == out.st_ino;
}

/* What the format has no place for. */
static enum psc_status check_format(const struct cli_options *o, struct psc_error *reterr)
{
    static const char *const of_weights[] = {"--preset", "--weights", "--seed", "--format", "-o", NULL}, *const seed[] = {"--seed", NULL};
    const char *odd = o->format == CLI_AS_GGUF ? cli_given(o, of_weights, true) : NULL;
    if (odd)
        return psc_fail(reterr, PSC_ERR_USAGE, "--format gguf takes --preset, --weights and --seed, not %s", odd);
    if (o->format != CLI_AS_GGUF && cli_given(o, seed, false))
        return psc_fail(reterr, PSC_ERR_USAGE, "--seed is of a preset's weights: --format gguf");
    if (o->format == CLI_AS_GRAPH && o->replan)
        return psc_fail(reterr, PSC_ERR_USAGE, "planner options make a plan, and --format minfer-graph writes none");
    if (is_over_model(o))
        return psc_fail(reterr, PSC_ERR_USAGE, "-o would write over the model that is read");
    if (o->pretty && (o->format == CLI_AS_CSV || o->format == CLI_AS_MINIMALLOC))
        return psc_fail(reterr, PSC_ERR_USAGE, "--pretty is for JSON");
    return PSC_OK;
}

enum cli_exit cli_export(struct cli_options *options)
{
    struct psc_error error = {.byte = UINT64_MAX};
    if (check_format(options, &error))
        return cli_complain(NULL, &error);
    if (options->format == CLI_AS_GGUF)
        return export_model(options);
    struct cli_input in = {0};
    struct psc_text text = {0};
    bool trace = options->format == CLI_AS_TRACE;
    enum cli_exit status = cli_input_open(&in, options, trace);
    if (!status)
        cli_warn(in.doc);
    if (!status && trace && options->has_phase && options->phase >= in.doc->phase_n)
        status = cli_input_phase(&in, options) ? CLI_CLEAN : CLI_BAD;
    if (!status && trace)
        status = write_trace(&in, options);
    else if (!status && !(status = make_text(&in, options, &text)))
        status = write_text(options->out, &text);
    psc_text_release(&text);
    cli_input_close(&in);
    return status;
}
