/* core/plan/copy.h: a plan of one's own, for who must outlive the arena that a plan lies in. */
#ifndef PSC_CORE_PLAN_COPY_H
#define PSC_CORE_PLAN_COPY_H

#include "core/plan/plan.h"

/* Copies the plan and all that it points to; what it says of the pool it was made for is left out. graph: the one it
 * is a plan of. Cost: O(nodes + buffers). */
enum psc_status psc_plan_copy(struct psc_arena *arena, const struct psc_graph *graph, const struct psc_plan *plan,
                              struct psc_plan **ret, struct psc_error *reterr) PSC_MUST_CHECK;

#endif
