#include "app/cli/render-inside.h"

#include "app/cli/progress.h"
#include "core/debug/inside.h"
#include "ui/draw/inside-page.h"

static bool told_cb(void *ctx, unsigned done, unsigned all)
{
    (void)ctx;
    if (!done)
        cli_progress("planning by every generation");
    cli_progress_count(done, all, "generations");
    return true;
}

static enum psc_status draw(const struct cli_options *options, const struct psc_inside *inside, struct psc_arena *arena,
                            const struct psc_render_words *words, enum psc_render_format format, struct psc_error *reterr)
{
    struct psc_inside_view view;
    struct psc_panel panel = {0};
    struct psc_candela_look look = {.width = options->width, .swing = 1, .dark = options->dark};
    int32_t last = (int32_t)inside->analysis->story->position_n - 1;
    struct psc_type *type = psc_type_new();
    if (!type)
        return psc_fail_nomem(reterr);
    enum psc_status status = psc_inside_at(arena, inside, options->has_at ? options->at : last, &view, reterr);
    if (!status)
        status = psc_inside_page_build(&panel, &view, &look, type, reterr);
    if (!status)
        status = psc_render_panel(&panel, type, words, format, options->out, reterr);
    psc_panel_release(&panel);
    psc_type_free(type);
    return status;
}

enum psc_status cli_render_inside(const struct cli_options *options, const struct psc_analysis *a, const struct psc_render_words *words,
                                  enum psc_render_format format, struct psc_error *reterr)
{
    struct psc_arena arena = {0};
    struct psc_inside *inside = NULL;
    enum psc_status status = psc_inside_new(&arena, a, &inside, reterr);
    if (!status && !inside)
        status = psc_fail(reterr, PSC_ERR_USAGE, "there is nothing to look into: this phase is neither planned here, nor an expression that "
                          "candela plans, nor a story of arenas%s", a->predicted ? " (a planner's name plans it here)" : "");
    if (!status && inside->rivals_wait)
        status = psc_inside_compare(&arena, inside, told_cb, NULL, &inside->rivals, reterr);
    cli_progress("drawing %s", options->out);
    if (!status)
        status = draw(options, inside, &arena, words, format, reterr);
    psc_arena_release(&arena);
    return status;
}
