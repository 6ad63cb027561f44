#include "core/plan/planners/budget.h"

#include "core/base/mem.h"

#include <string.h>

void psc_budget_begin(struct psc_plan_budget *budget, const struct psc_graph *graph,
                      const struct psc_pool_state *state)
{
    budget->graph = graph;
    budget->state = state;
    budget->refused = PSC_NONE;
    budget->any = state && state->budget_n;
    if (!budget->any)
        return;
    memset(budget->pool, 0, sizeof budget->pool);
    for (uint32_t i = 0; i < state->n; i++)
        if (state->items[i].role != PSC_ROLE_PERSISTENT)
            psc_budget_charge(budget, psc_pool_backend_of(graph, state->items[i].backend), state->items[i].bytes);
}

/* The entry of the backend, else the one for all others, else NULL. */
static const struct psc_budget *entry_of(const struct psc_plan_budget *budget, uint8_t backend)
{
    const char *name = psc_pool_backend_name(budget->graph, backend);
    const struct psc_budget *others = NULL;
    for (uint32_t i = 0; i < budget->state->budget_n; i++) {
        const struct psc_budget *entry = &budget->state->budgets[i];
        if (!entry->backend)
            others = entry;
        else if (!strcmp(entry->backend, name))
            return entry;
    }
    return others;
}

bool psc_budget_allows(struct psc_plan_budget *budget, psc_node node, uint8_t backend, uint64_t bytes)
{
    const struct psc_budget *entry = budget->any ? entry_of(budget, backend) : NULL;
    uint64_t sum;
    if (!entry || (psc_add_u64(budget->pool[backend], entry->weights, &sum) && psc_add_u64(sum, bytes, &sum) &&
                   sum <= entry->bytes))
        return true;
    budget->refused = node;
    budget->backend = backend;
    budget->asked = bytes;
    return false;
}

void psc_budget_charge(struct psc_plan_budget *budget, uint8_t backend, uint64_t bytes)
{
    if (budget->any && !psc_add_u64(budget->pool[backend], bytes, &budget->pool[backend]))
        budget->pool[backend] = UINT64_MAX;
}

enum psc_status psc_budget_fail(const struct psc_plan_budget *budget, struct psc_error *reterr)
{
    const struct psc_budget *entry;
    const struct psc_node_info *node;
    if (budget->refused == PSC_NONE)
        return psc_fail_nomem(reterr);
    entry = entry_of(budget, budget->backend);
    node = &budget->graph->nodes[budget->refused];
    return psc_fail(reterr, PSC_ERR_TOO_BIG,
                    "node %llu (%s) needs a buffer of %llu bytes on %s, where the pool has %llu bytes and the weights "
                    "%llu: more than the budget of %llu bytes", (unsigned long long)node->id, node->op_name,
                    (unsigned long long)budget->asked, psc_node_backend_name(budget->graph, budget->refused),
                    (unsigned long long)budget->pool[budget->backend], (unsigned long long)entry->weights,
                    (unsigned long long)entry->bytes);
}
