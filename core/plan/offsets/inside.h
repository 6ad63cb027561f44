/* core/plan/offsets/inside.h: boxes in the order of their begins, into an arena of so many bytes.
 *
 * A box goes to the end of a gap whose neighbour ends nearest to it in time, so that what is left free together is given
 * back together; of equals into the smaller gap, then the lower. Bottom and top of the arena are neighbours that never end.
 *
 *     address  |aaaa|....|bb|cc|......|     two gaps for each box to look at, however many boxes are alive: one on a, one
 *              0    4    8  10 12     18    on c. When b ends its bytes join the gap below; when c ends too, there is one
 *
 * Cost: a box looks at the gaps there are, all else is O(1).
 */
#ifndef PSC_CORE_PLAN_OFFSETS_INSIDE_H
#define PSC_CORE_PLAN_OFFSETS_INSIDE_H

#include "core/plan/offsets/strategies.h"

struct psc_filling;

/* For plain problems (psc_offsets_is_plain); the problem is borrowed. NULL: out of memory. */
struct psc_filling *psc_filling_new(const struct psc_offsets_problem *p, struct psc_arena *arena);

/* Any number of times. false: a box fits nowhere, or the looks, one for each gap and PSC_FILLING_LOOKS for each box, are
 * spent; then offset and turn [box_n] are of no use. */
#define PSC_FILLING_LOOKS 8
bool psc_filling_run(struct psc_filling *filling, uint64_t capacity, uint64_t *looks, uint64_t *offset, uint32_t *turn);

#endif
