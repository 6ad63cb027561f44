#include "app/cli/render-kv.h"

#include "app/cli/words.h"
#include "core/debug/explain-rows.h"

#include <inttypes.h>
#include <string.h>

/* The step as the page shows it; *ret is NULL when the phase has no KV regions. */
static enum psc_status make_step(const struct cli_input *in, const struct cli_options *options, const struct psc_analysis *a,
                                 struct psc_arena *arena, struct psc_kv_step **ret, struct psc_error *reterr)
{
    const struct psc_phase *phase = &in->doc->phases[options->phase];
    const struct psc_story *story = a->story;
    struct psc_kv_regions regions;
    struct psc_kv_history *history = NULL;
    struct psc_step loaded = {0};
    struct psc_kv_step_source source = {.regions = &regions, .graph = phase->graph, .is_prefill = psc_kv_is_prefill(phase), .story = story};
    if (!psc_kv_regions_of(phase, &regions))
        return psc_fail(reterr, PSC_ERR_USAGE, "phase %" PRIu32 " keeps no keys and values: no op stores into KV regions or loads from them",
                        options->phase);
    enum psc_status status = psc_doc_scan_all(in->doc, reterr);
    if (!status)
        status = psc_kv_history_of(arena, in->doc, &history, reterr);
    if (!status && options->step < psc_doc_step_n(in->doc, options->phase))
        status = psc_doc_load_step(in->doc, options->phase, options->step, arena, &loaded, reterr);
    if (!status)
        status = psc_kv_rows_of(arena, phase, &loaded, story ? story->order : NULL, &source.rows, &source.row_n, &source.source, reterr);
    if (!status && phase->graph && story && story->order) {
        int32_t *position_of = psc_arena_alloc0(arena, phase->graph->n, sizeof *position_of);
        if (!position_of)
            return psc_fail_nomem(reterr);
        for (uint32_t p = 0; p < story->position_n; p++)
            if (story->order[p] < phase->graph->n)
                position_of[story->order[p]] = (int32_t)p;
        source.position_of = position_of;
    }
    if (status)
        return status;
    source.history = history;
    for (uint32_t p = 0; p < options->phase; p++)
        source.ordinal += psc_doc_step_n(in->doc, p);
    source.ordinal += options->step;
    return psc_kv_step_build(arena, &source, ret, reterr);
}

static void add_subtitle(struct psc_text *out, const struct psc_kv_step *step, const struct psc_phase *phase, uint32_t number)
{
    if (phase->kind && *phase->kind) {
        cli_add_safe(out, phase->kind);
        psc_text_add(out, ", ");
    }
    psc_text_addf(out, "step %" PRIu32 " \xc2\xb7 %" PRIu32 " layers, ", number, step->regions.layers);
    cli_add_number(out, step->regions.rows);
    psc_text_addf(out, " rows each \xc2\xb7 %s", step->regions.format);
}

enum cli_exit cli_render_kv(struct cli_input *in, const struct cli_options *options, const struct psc_analysis *a,
                            enum psc_render_format format)
{
    struct psc_arena arena = {0};
    struct psc_error error = {0};
    struct psc_kv_step *step = NULL;
    const char *slash = strrchr(options->file, '/');
    enum psc_status status = make_step(in, options, a, &arena, &step, &error);
    enum cli_exit ret = CLI_CLEAN;
    if (status) {
        ret = cli_complain(options->file, &error);
    } else {
        struct psc_text title = {0}, subtitle = {0}, verdict = {0}, words = {0};
        struct psc_kv_view view;
        psc_kv_view_init(&view, step, options->width, options->height);
        view.dark = options->dark;
        view.position = options->has_at ? options->at : (int32_t)(a->story ? a->story->position_n : 0);
        cli_add_safe(&title, slash ? slash + 1 : options->file);
        add_subtitle(&subtitle, step, &in->doc->phases[options->phase], options->step);
        if (step->unwritten)
            psc_text_addf(&verdict, "%" PRIu64 " row%s read that nobody wrote", step->unwritten, step->unwritten == 1 ? "" : "s");
        else
            psc_explain_kv_occupancy(&verdict, step, view.position);
        if (step->unwritten && !options->has_at)
            psc_explain_kv_alarms(&words, step);
        else
            psc_explain_kv_position(&words, step, view.position);
        struct psc_render_words around = {.title = psc_text_str(&title), .subtitle = psc_text_str(&subtitle),
                                          .verdict = psc_text_str(&verdict), .verdict_alarm = step->unwritten > 0,
                                          .status = psc_text_str(&words)};
        if (psc_render_kv(step, &view, &around, format, options->out, &error))
            ret = cli_complain(options->out, &error);
        psc_text_release(&title);
        psc_text_release(&subtitle);
        psc_text_release(&verdict);
        psc_text_release(&words);
    }
    psc_arena_release(&arena);
    return ret;
}
