/* core/candela/planner.h: an expression becomes a plan.
 *
 *     sort       core/candela/sort.h
 *     claims     one walk: alias, takeover or neither; inputs resolved where the node stands; lives     (claims.c)
 *     slots      a second walk: the first strategy whose preconditions hold, in this order              (planner.c)
 *                  only the layout changes   reference
 *                  as_contiguous             reference when packed already, else use slot, else allocate
 *                  scalar, + - * /           in place, use slot, allocate
 *                  matmul, sum               use slot, allocate
 *     deps       true and anti-dependencies, levels                                                    (deps.c)
 *
 * An idle slot is taken by exact length, the lowest index first: a heap of idle slots for each length, so O(log n).
 */
#ifndef PSC_CORE_CANDELA_PLANNER_H
#define PSC_CORE_CANDELA_PLANNER_H

#include "core/candela/plan.h"

/* The plan lies in the arena; it borrows data, scalars, names and cells from l. PSC_ERR_GRAPH: a cycle, or an earlier
 * error of l. */
enum psc_status psc_candela_plan(struct psc_arena *arena, const struct psc_lazy *l, uint32_t root,
                                 const struct psc_candela_options *options, struct psc_candela_plan **ret,
                                 struct psc_error *reterr) PSC_MUST_CHECK;

#endif
