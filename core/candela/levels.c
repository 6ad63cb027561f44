#include "core/candela/levels.h"

#include "core/base/mem.h"

uint32_t psc_candela_level_n(const struct psc_candela_plan *plan)
{
    uint32_t n = 0;
    for (uint32_t p = 0; p < plan->n; p++)
        n = plan->steps[p].level >= n ? plan->steps[p].level + 1 : n;
    return n;
}

/* A level is at most the number of steps before: levels are counted, then filled from their ends. */
enum psc_status psc_candela_by_level(struct psc_arena *arena, const struct psc_candela_plan *plan, const uint32_t **ret,
                                     struct psc_error *reterr)
{
    uint32_t n = psc_candela_level_n(plan), *order = psc_arena_alloc(arena, plan->n, sizeof *order);
    uint32_t *end = psc_alloc0((size_t)n + 1, sizeof *end);
    for (uint32_t p = 0; order && end && p < plan->n; p++)
        end[plan->steps[p].level]++;
    for (uint32_t k = 1; end && k < n; k++)
        end[k] += end[k - 1];
    for (uint32_t p = 0; order && end && p < plan->n; p++)
        order[--end[plan->steps[p].level]] = p;
    psc_free(end);
    if (!order || !end)
        return psc_fail_nomem(reterr);
    *ret = order;
    return PSC_OK;
}
