#include "core/debug/inside.h"

static enum psc_status fill(struct psc_arena *arena, struct psc_inside *in, struct psc_error *reterr)
{
    const struct psc_analysis *a = in->analysis;
    struct psc_arena_track *track = NULL;
    if (a->phase->expression)
        return psc_candela_tale_new(arena, a->phase->expression, &in->tale, reterr);
    if (psc_plan_tale_has(a)) {
        enum psc_status made = psc_plan_tale_new(arena, a, &in->graph_tale, reterr);
        in->rivals_wait = a->phase->graph->n > PSC_RIVALS_AT_ONCE;
        return made || in->rivals_wait ? made : psc_inside_compare(arena, in, NULL, NULL, &in->rivals, reterr);
    }
    enum psc_status status = a->story ? psc_arena_track_new(arena, a->story, &track, reterr) : PSC_OK;
    return status || !track ? status : psc_arena_axis_new(arena, track, &in->axis, reterr);
}

enum psc_status psc_inside_new(struct psc_arena *arena, const struct psc_analysis *a, struct psc_inside **ret,
                               struct psc_error *reterr)
{
    struct psc_inside *in = psc_arena_alloc0(arena, 1, sizeof *in);
    if (!in)
        return psc_fail_nomem(reterr);
    in->analysis = a;
    enum psc_status status = fill(arena, in, reterr);
    if (!status)
        *ret = in->tale || in->axis || psc_plan_view_has(a) ? in : NULL;
    return status;
}

enum psc_status psc_inside_compare(struct psc_arena *arena, const struct psc_inside *in, psc_rivals_go_on go_on, void *ctx,
                                   struct psc_graph_rivals **ret, struct psc_error *reterr)
{
    return psc_graph_rivals_new(arena, in->analysis, go_on, ctx, ret, reterr);
}

enum psc_status psc_inside_at(struct psc_arena *arena, const struct psc_inside *in, int32_t position,
                              struct psc_inside_view *ret, struct psc_error *reterr)
{
    *ret = (struct psc_inside_view){0};
    if (in->tale)
        return psc_candela_view_at(arena, in->tale, position, &ret->candela, reterr);
    if (in->axis)
        return psc_arena_view_at(arena, in->axis, position, &ret->arenas, reterr);
    return psc_plan_view_at(arena, in->analysis, in->graph_tale, in->rivals, position, &ret->candela, reterr);
}

void psc_explain_inside(struct psc_text *out, const struct psc_inside_view *view)
{
    if (view->arenas)
        psc_explain_arena_view(out, view->arenas);
    else
        psc_explain_candela_view(out, view->candela);
}
