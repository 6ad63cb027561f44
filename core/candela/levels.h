/* core/candela/levels.h: an order in which the steps of a plan run level by level.
 *
 *     (a + 1) * (b + 2)     listed     a  a+1  b  b+2  *
 *                           levels     0  1    0  1    2
 *                           by level   b a | b+2 a+1 | *
 *
 * Of one level the step that is listed last comes first: nothing orders steps of a level, and so they meet in another order than
 * the plan's, which shows a dependency that is missing.
 */
#ifndef PSC_CORE_CANDELA_LEVELS_H
#define PSC_CORE_CANDELA_LEVELS_H

#include "core/candela/plan.h"

/* ret[plan->n], positions, in the arena. O(steps). */
enum psc_status psc_candela_by_level(struct psc_arena *arena, const struct psc_candela_plan *plan, const uint32_t **ret,
                                     struct psc_error *reterr) PSC_MUST_CHECK;
/* Levels that have a step. */
uint32_t psc_candela_level_n(const struct psc_candela_plan *plan);

#endif
