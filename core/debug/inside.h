/* core/debug/inside.h: what there is to look into in one phase, whoever planned it: the one door to the inside of candela's planner
 * (an expression, or a graph that it planned), of arenas at run time, and of every other planner of this house.
 *
 *     psc_inside_new(arena, analysis, &inside, &error);       once; NULL comes back when there is nothing
 *     psc_inside_at(arena, inside, 4, &view, &error);         one position: view.candela or view.arenas
 *
 *     psc_inside_compare(arena, inside, go_on, ctx, &rivals, &error);   of a large graph the generations, when inside->rivals_wait
 *
 * Cost: new is linear in nodes, edges and events; at is what core/debug/candela-view.h and arena-view.h say.
 * Ownership: an inside lives in the arena given and borrows the analysis and what that borrows.
 */
#ifndef PSC_CORE_DEBUG_INSIDE_H
#define PSC_CORE_DEBUG_INSIDE_H

#include "core/debug/analysis.h"
#include "core/debug/arena-view.h"
#include "core/debug/candela-view.h"
#include "core/debug/graph-rivals.h"

struct psc_inside {
    const struct psc_analysis *analysis;
    struct psc_candela_tale *tale;       /* of an expression; else NULL */
    struct psc_candela_tale *graph_tale; /* of a graph that candela planned; else NULL */
    struct psc_graph_rivals *rivals;     /* of such a graph: what other generations decide; NULL: not made yet */
    bool rivals_wait;                    /* it is so large that they are made when they are asked for */
    struct psc_arena_axis *axis;         /* of a story of arenas; else NULL */
};
struct psc_inside_view { /* one of both */
    struct psc_candela_view *candela;
    struct psc_arena_view *arenas;
};

enum psc_status psc_inside_new(struct psc_arena *arena, const struct psc_analysis *analysis, struct psc_inside **ret,
                               struct psc_error *reterr) PSC_MUST_CHECK;
enum psc_status psc_inside_at(struct psc_arena *arena, const struct psc_inside *inside, int32_t position,
                              struct psc_inside_view *ret, struct psc_error *reterr) PSC_MUST_CHECK;
/* The generations of a graph that candela planned. Nothing of the inside is changed: another thread may look at it meanwhile; a copy
 * of it with `rivals` set shows them. */
enum psc_status psc_inside_compare(struct psc_arena *arena, const struct psc_inside *inside, psc_rivals_go_on go_on, void *ctx,
                                   struct psc_graph_rivals **ret, struct psc_error *reterr) PSC_MUST_CHECK;
/* All of a view in words. */
void psc_explain_inside(struct psc_text *out, const struct psc_inside_view *view);

#endif
