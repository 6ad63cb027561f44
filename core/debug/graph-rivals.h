/* core/debug/graph-rivals.h: a graph planned by every generation of candela's planner, beside the plan that is shown.
 *
 *     silu 7      0.1  take an idle buffer      0.2, arena, hardened  in place over 6       differs at position 7
 *
 * Cost: planning, lowering and checking, once for each generation but the one that is shown; O(nodes + edges) beside that.
 * About 1 us and 1 KiB a node: what is made with other things is for graphs up to PSC_RIVALS_AT_ONCE nodes, larger ones wait for
 * psc_inside_compare.
 * Ownership: the arena given; borrows the analysis.
 */
#ifndef PSC_CORE_DEBUG_GRAPH_RIVALS_H
#define PSC_CORE_DEBUG_GRAPH_RIVALS_H

#include "core/debug/analysis.h"
#include "core/debug/candela-view.h"

#define PSC_RIVALS_AT_ONCE 16384u

struct psc_graph_rival {
    const struct psc_plan *plan; /* NULL: it cannot be planned so, as `why` says */
    const char *why;
    uint32_t finding_n;
    const char *finding;         /* the first, in words */
};
struct psc_graph_rivals {
    struct psc_graph_rival by[PSC_GEN_N];
    uint32_t differ_of[PSC_GEN_N]; /* nodes that are placed otherwise than in the plan that is shown */
    int32_t *differs;              /* positions that not all generations decide alike, ascending */
    uint32_t differ_n;
};

/* Asked before each generation: done of all are made. false: PSC_ERR_CANCELLED. */
typedef bool (*psc_rivals_go_on)(void *ctx, unsigned done, unsigned all);
/* go_on may be NULL. */
enum psc_status psc_graph_rivals_new(struct psc_arena *arena, const struct psc_analysis *analysis, psc_rivals_go_on go_on, void *ctx,
                                     struct psc_graph_rivals **ret, struct psc_error *reterr) PSC_MUST_CHECK;
bool psc_graph_put_rivals(struct psc_arena *arena, const struct psc_analysis *analysis, const struct psc_candela_tale *tale,
                          const struct psc_graph_rivals *rivals, struct psc_candela_view *v);

#endif
