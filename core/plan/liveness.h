/* core/plan/liveness.h: from which position to which a tensor needs its bytes.
 *
 * Given a graph and an order of its nodes, each tensor gets one closed interval of positions:
 *
 *     position  0     1     2     3     4=n
 *     x         |=======================>     an input: pinned to the end
 *     t               |=====|                 written at 1, last named by 2
 *     v                     |=====|           a view of t, last named by 3
 *     o                           |=====>     a graph output: pinned to the end
 *
 * psc_lives_build gives the lives that the nodes' own readers need (t ends at 2 above: what minfer calls
 * last_use). psc_lives_fold_views then lengthens every storage over the readers of its views (t ends at 3).
 *
 * Invariants (psc_lives_check verifies them)
 *   - 0 <= first <= last <= n; first is the node's own position, also for inputs
 *   - last is no earlier than the position of any reader; a node without reader ends where it begins
 *   - pinned nodes end at n
 * Ownership: both arrays lie in the arena given. Cost: O(nodes + edges).
 */
#ifndef PSC_CORE_PLAN_LIVENESS_H
#define PSC_CORE_PLAN_LIVENESS_H

#include "core/plan/digest.h"

enum { PSC_PIN_INPUTS = 1, PSC_PIN_OUTPUTS = 2, PSC_PIN_BOTH = 3 };

struct psc_lives {
    int32_t *first, *last; /* [n], positions, inclusive */
    uint32_t n;
};

/* order: a permutation of the nodes, NULL = build order. PSC_ERR_ORDER when it names a node twice or reads
 * one before it is written, PSC_ERR_NOMEM. */
enum psc_status psc_lives_build(struct psc_arena *arena, const struct psc_graph *graph, const psc_node *order,
                                unsigned pins, struct psc_lives *ret, struct psc_error *reterr) PSC_MUST_CHECK;
void psc_lives_pin(struct psc_lives *lives, const psc_node *nodes, uint32_t n);
void psc_lives_fold_views(struct psc_lives *lives, const struct psc_graph *graph, const psc_node *order);
bool psc_lives_check(const struct psc_lives *lives, const struct psc_graph *graph, unsigned pins);

#endif
