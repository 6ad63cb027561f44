/* core/plan/planners/budget.h: whether a backend may hold one more buffer; for the planners only.
 *
 *     pool (buffers and staging copies) + weights + what is asked for <= budget
 *
 * Cost: O(1) a question, and nothing when there is no budget.
 */
#ifndef PSC_CORE_PLAN_PLANNERS_BUDGET_H
#define PSC_CORE_PLAN_PLANNERS_BUDGET_H

#include "core/plan/pool-state.h"

struct psc_plan_budget {
    const struct psc_graph *graph;
    const struct psc_pool_state *state;
    uint64_t pool[PSC_BACKEND_NONE + 1]; /* bytes by backend, with what this plan has added; set where `any` */
    bool any;
    psc_node refused; /* who asked for too much, PSC_NONE */
    uint8_t backend;
    uint64_t asked;
};

/* state may be NULL. */
void psc_budget_begin(struct psc_plan_budget *budget, const struct psc_graph *graph,
                      const struct psc_pool_state *state);
/* False when it does not fit; psc_budget_fail then says so. */
bool psc_budget_allows(struct psc_plan_budget *budget, psc_node node, uint8_t backend, uint64_t bytes);
void psc_budget_charge(struct psc_plan_budget *budget, uint8_t backend, uint64_t bytes);
/* PSC_ERR_TOO_BIG with all four numbers when a question was refused, else out of memory. */
enum psc_status psc_budget_fail(const struct psc_plan_budget *budget, struct psc_error *reterr);

#endif
