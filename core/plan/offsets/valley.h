/* core/plan/offsets/valley.h: boxes laid from the bottom up, the lowest valley first.
 *
 *     bytes                              how high the five sections are: 8 8 4 4 8. Of all boxes that are left some may
 *       8 |a a|. .|b b|                  begin at 4, none lower: those that live within 4 4. One of them is laid there,
 *       4 |a a|c c|b b|                  the others may begin on it at the lowest, or are laid at 4 beside it
 *       0 |a a|c c|b b|
 *
 * At a level the choice is made in the section where the fewest boxes may begin, of equals in that with the most bytes to
 * come, or the other way round; of its boxes the one with the most weight is laid. The search (search.h) makes the same
 * choices first; here none is taken back, and nothing is known but heights, so that a box costs a fraction of a microsecond.
 *
 * Cost: of a box, those beside it, twice; of a choice, the boxes that may begin at the level together, at most 512, and the
 * sections they live in.
 */
#ifndef PSC_CORE_PLAN_OFFSETS_VALLEY_H
#define PSC_CORE_PLAN_OFFSETS_VALLEY_H

#include "core/plan/offsets/place.h"
#include "core/plan/offsets/sections.h"

/* Bytes, sections, both multiplied, and the most bytes in one of its sections. */
enum psc_valley_weight { PSC_VALLEY_SIZE, PSC_VALLEY_LIFE, PSC_VALLEY_AREA, PSC_VALLEY_CROWD, PSC_VALLEY_WEIGHT_N };
struct psc_valley_setting {
    uint8_t weight;
    bool full; /* the section with the most bytes to come, of equals that with the fewest boxes */
};

struct psc_valleys;
/* For plain problems (psc_offsets_is_plain); beside has lists (psc_beside_list) and is borrowed. NULL: out of memory. */
struct psc_valleys *psc_valleys_new(const struct psc_beside *beside, struct psc_arena *arena);

/* Any number of times. false: a box ends at `below` or above, or the looks (at boxes and sections) are spent; then offset
 * and turn [box_n] are of no use. */
bool psc_valleys_fill(struct psc_valleys *valleys, const struct psc_valley_setting *setting, uint64_t below, uint64_t *looks,
                      uint64_t *offset, uint32_t *turn);

#endif
