#include "app/cli/commands.h"
#include "app/cli/input.h"
#include "app/cli/progress.h"
#include "app/cli/render-inside.h"
#include "app/cli/render-kv.h"
#include "app/cli/words.h"
#include "core/debug/arena-track.h"
#include "core/debug/explain.h"
#include "ui/draw/render.h"

#include <inttypes.h>
#include <string.h>

/* What stands around the drawing. */
struct words {
    struct psc_text title, subtitle, verdict, status;
};

static void words_release(struct words *w)
{
    psc_text_release(&w->title);
    psc_text_release(&w->subtitle);
    psc_text_release(&w->verdict);
    psc_text_release(&w->status);
}

static void add_words(struct words *w, const struct cli_options *options, const struct psc_analysis *a,
                      const struct psc_record_check *records)
{
    const char *slash = strrchr(options->file, '/');
    cli_add_safe(&w->title, slash ? slash + 1 : options->file);
    if (a->phase->kind && *a->phase->kind) {
        cli_add_safe(&w->subtitle, a->phase->kind);
        psc_text_add(&w->subtitle, ", ");
    }
    cli_add_number(&w->subtitle, a->story->position_n);
    psc_text_addf(&w->subtitle, " ops \xc2\xb7 %s", a->origin);
    if (a->check.finding_n)
        psc_text_addf(&w->verdict, "%" PRIu32 " %s", a->check.finding_n, a->check.finding_n == 1 ? "finding" : "findings");
    else if (records && records->overwritten)
        psc_text_addf(&w->verdict, "%" PRIu32 " of %" PRIu32 " recorded values are overwritten", records->overwritten, records->n);
    else if (psc_arena_ever_broken(a->story))
        psc_text_add(&w->verdict, "invariants of the arenas broke");
    else
        psc_text_add(&w->verdict, "no problems");
    if (options->story == CLI_BOTH)
        psc_explain_comparison(&w->status, a->phase->graph, a->comparison);
    else if (options->has_at || options->view == CLI_INSIDE)
        psc_explain_position(&w->status, a, options->has_at ? options->at : (int32_t)a->story->position_n - 1);
    else if (a->check.finding_n)
        psc_explain_finding(&w->status, a, &a->check.findings[0]);
    else
        psc_explain_peak(&w->status, a);
}

static enum psc_status draw_timeline(const struct cli_options *options, const struct psc_analysis *a, const struct psc_record_check *records,
                                     const struct psc_render_words *words, enum psc_render_format format, struct psc_error *reterr)
{
    static const enum psc_view_mode modes[CLI_VIEW_N] = {PSC_VIEW_ROWS, PSC_VIEW_MAP, PSC_VIEW_USAGE};
    struct psc_arena arena = {0};
    struct psc_scene *scene = NULL;
    struct psc_scene_source source = {
        .story = a->story, .history = a->history, .graph = a->phase->graph, .check = &a->check, .records = records};
    if (options->story == CLI_BOTH)
        source.planned = a->predicted, source.comparison = a->comparison;
    enum psc_status status = psc_scene_build(&arena, &source, &scene, reterr);
    if (!status) {
        struct psc_view view;
        psc_view_init(&view, scene, options->width, options->height);
        view.mode = modes[options->view];
        view.dark = options->dark;
        view.ghosts = options->story == CLI_BOTH;
        view.fold = true; /* rows that are idle in the whole picture say so in one line */
        if (options->has_at) {
            view.position = options->at; /* near by; the overview above it shows the whole run */
            psc_view_set_range(&view, scene, options->at - 22, options->at + 18);
        } else if (a->check.finding_n) {
            psc_view_show_finding(&view, scene, 0);
        } else if (records && records->overwritten) {
            view.colour = PSC_BY_RECORD;
        }
        status = psc_render(scene, &view, words, format, options->out, reterr);
    }
    psc_arena_release(&arena);
    return status;
}

static enum psc_status draw(const struct cli_options *options, const struct psc_analysis *a,
                            const struct psc_record_check *records, enum psc_render_format format, struct psc_error *reterr)
{
    struct words w = {0};
    add_words(&w, options, a, records);
    struct psc_render_words words = {
        .title = psc_text_str(&w.title), .subtitle = psc_text_str(&w.subtitle), .verdict = psc_text_str(&w.verdict),
        .verdict_alarm = a->check.finding_n, .verdict_warns = records && records->overwritten, .status = psc_text_str(&w.status)};
    enum psc_status status = options->view == CLI_INSIDE ? cli_render_inside(options, a, &words, format, reterr)
                                                         : draw_timeline(options, a, records, &words, format, reterr);
    words_release(&w);
    return status;
}

/* Planned and both need two stories. */
static enum cli_exit has_story(const struct cli_options *options, const struct psc_analysis *a)
{
    struct psc_error error = {0};
    if (options->story == CLI_RECORDED || a->predicted)
        return CLI_CLEAN;
    (void)psc_fail(&error, PSC_ERR_USAGE, "phase %" PRIu32 " has one story only: --story is for recorded runs, which bring the plan and what happened, "
                   "as they are", options->phase);
    return cli_complain(options->file, &error);
}

/* The verdicts of --step (default: the first one); *ret_has says whether there is such a step. One that went otherwise brings its
 * own story, which takes the place of the phase's. */
static enum cli_exit judge_step(const struct cli_input *in, const struct cli_options *options, struct psc_arena *arena,
                                struct psc_phase *phase, struct psc_record_check *ret, bool *ret_has)
{
    struct psc_error error = {0};
    struct psc_step step = {0};
    uint32_t n = psc_doc_step_n(in->doc, options->phase);
    *ret_has = false;
    if (options->has_step && options->step >= n && !psc_doc_scan_all(in->doc, &error))
        n = psc_doc_step_n(in->doc, options->phase);
    if (options->has_step && options->step >= n) {
        (void)psc_fail(&error, PSC_ERR_USAGE, "there is no step %" PRIu32 ": phase %" PRIu32 " has %" PRIu32 ", counted from 0",
                       options->step, options->phase, n);
        return cli_complain(options->file, &error);
    }
    if (!n || !phase->graph)
        return CLI_CLEAN;
    enum psc_status status = psc_doc_load_step(in->doc, options->phase, options->step, arena, &step, &error);
    if (!status && step.unreadable)
        status = psc_fail(&error, PSC_ERR_PARSE, "step %" PRIu32 " cannot be read: %s", options->step, step.unreadable);
    if (!status)
        status = psc_records_check(arena, phase, &step, ret, &error);
    *ret_has = !status;
    if (!status && step.story && !options->replan && !options->plan_file)
        phase->story = (struct psc_story *)(uintptr_t)step.story; /* read only, as that of a phase */
    return status ? cli_complain(options->file, &error) : CLI_CLEAN;
}

enum cli_exit cli_render(struct cli_options *options)
{
    struct cli_input in = {0};
    struct psc_analysis *a = NULL;
    struct psc_arena arena = {0};
    struct psc_record_check records = {0};
    struct psc_error error = {0};
    enum psc_render_format format;
    struct psc_phase phase = {0};
    bool has_records = false;
    if (!psc_render_format_of(options->out, &format)) {
        (void)psc_fail(&error, PSC_ERR_USAGE, "pictures end in .png, .svg or .pdf");
        return cli_complain(options->out, &error);
    }
    enum cli_exit status = cli_input_open(&in, options, false);
    if (!status)
        cli_warn(in.doc);
    if (!status && !cli_input_phase(&in, options))
        status = CLI_BAD;
    if (!status) {
        phase = in.doc->phases[options->phase];
        status = judge_step(&in, options, &arena, &phase, &records, &has_records);
    }
    if (!status)
        status = cli_analyse_phase(&in, options, &phase, &a);
    if (!status)
        status = has_story(options, a);
    if (!status && options->has_at && options->at > (int32_t)a->story->position_n) {
        (void)psc_fail(&error, PSC_ERR_USAGE, "there is no position %" PRId32 ": they go from -1 to %" PRIu32, options->at,
                       a->story->position_n);
        status = cli_complain(options->file, &error);
    }
    cli_progress("drawing %s", options->out);
    if (!status && options->view == CLI_KV_ROWS)
        status = cli_render_kv(&in, options, a, format);
    else if (!status && draw(options, a, has_records ? &records : NULL, format, &error))
        status = cli_complain(options->out, &error);
    cli_progress_end();
    psc_analysis_free(a);
    psc_arena_release(&arena);
    cli_input_close(&in);
    return status;
}
