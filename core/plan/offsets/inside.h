/* core/plan/offsets/inside.h: boxes in the order of their begins, into an arena of so many bytes.
 *
 * A box goes to the end of a gap whose neighbour ends nearest to it in time, so that what is left free together is given
 * back together; of equals into the smaller gap. Bottom and top of the arena are neighbours that never end.
 */
#ifndef PSC_CORE_PLAN_OFFSETS_INSIDE_H
#define PSC_CORE_PLAN_OFFSETS_INSIDE_H

#include "core/plan/offsets/strategies.h"

/* For plain problems (psc_offsets_is_plain). false: a box fits nowhere, or the looks, one for each box that is alive when
 * another begins, are spent; then offset and turn [box_n] are of no use. live: [box_n], scratch. */
bool psc_place_inside(const struct psc_offsets_problem *p, uint64_t capacity, uint64_t *looks, uint32_t *live,
                      uint64_t *offset, uint32_t *turn);

#endif
