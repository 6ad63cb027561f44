/* core/plan/offsets/strategies.h: what the strategies behind psc_packers share; for this folder only.
 *
 * A strategy gets a problem of one space that was checked, with by_begin and by_end set, align >= 1 and fixed boxes that
 * do not overlap, and fills offset and turn. Memory from `scratch` is the caller's to release.
 */
#ifndef PSC_CORE_PLAN_OFFSETS_STRATEGIES_H
#define PSC_CORE_PLAN_OFFSETS_STRATEGIES_H

#include "core/plan/offsets/offsets.h"

typedef enum psc_status psc_pack_fn(const struct psc_offsets_problem *problem, uint64_t goal,
                                    const struct psc_offsets_budget *budget, struct psc_arena *scratch,
                                    uint64_t *offset, uint32_t *turn, struct psc_offsets_space *space);
psc_pack_fn psc_pack_best_fit, psc_pack_linear_scan, psc_pack_greedy_size, psc_pack_greedy_breadth, psc_pack_optimal;

struct psc_span { /* bytes of a placed box */
    uint64_t lo, hi;
};

/* Sets by_begin and by_end where they are missing. false when out of memory. */
bool psc_offsets_sort(struct psc_offsets_problem *p, struct psc_arena *scratch);
void psc_offsets_find_bound(const struct psc_offsets_problem *p, uint64_t *ret, uint32_t *ret_at);

/* In execution order, by another choice of hole, for boxes that are all free and have no alignment of their own. */
static inline bool psc_offsets_is_plain(const struct psc_offsets_problem *p)
{
    return !p->aligns && !p->fixed;
}

#endif
