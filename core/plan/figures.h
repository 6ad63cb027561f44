/* core/plan/figures.h: what a plan costs, measured from its places alone.
 *
 *     peak_tensor_bytes   of graph and order: the largest sum of exact bytes of live tensors. A storage lives from
 *                         its own position to the last reader of itself or of a view of it, both included; inputs
 *                         and outputs (also through a view) to n; a node that nobody reads at its own position
 *                         only. Nothing is merged in place; KV nodes are apart.
 *     lower_bound_bytes   of this plan: the same, but a value placed in place shares its operand's bytes, inputs
 *                         count from the fill, and nodes without a place count nothing.
 *     peak_live_bytes     of this plan: bytes of the buffers in use, padding included, aliases once.
 *
 * The peak (first position and contributors in node order) is that of peak_tensor_bytes. Cost: O(nodes + edges).
 */
#ifndef PSC_CORE_PLAN_FIGURES_H
#define PSC_CORE_PLAN_FIGURES_H

#include "core/plan/digest.h"
#include "core/plan/liveness.h"
#include "core/plan/plan.h"

/* What the caller knows already, to save passes. */
struct psc_measured {
    const struct psc_digest *digest;
    const struct psc_lives *lives; /* in the plan's order, inputs and outputs pinned, views folded; or NULL */
    uint64_t peak_live_bytes;      /* as the planner's own walk saw it; UINT64_MAX: measure it from the places */
};
/* Fills plan->figures and plan->peak*. */
enum psc_status psc_figures_measure(struct psc_arena *arena, const struct psc_graph *graph, struct psc_plan *plan,
                                    const struct psc_measured *known, struct psc_error *reterr) PSC_MUST_CHECK;

#endif
