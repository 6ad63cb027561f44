/* core/plan/offsets/sections.h: boxes cut into parts that never meet, and each part into sections of time.
 *
 *     step       0   1   2   3   4   5         sections 0 {a, b}  1 {b, c}  2 {d}
 *      a         |aaaaaaa|                     parts    [0, 2) and [2, 3)
 *      b         |bbbbbbbbbbb|
 *      c                 |ccccccc|             a lives in the sections [0, 1), b in [0, 2), c in [1, 2), d in [2, 3)
 *      d                         |ddd|
 *
 * A section is a largest set of boxes that are all alive at one step: two boxes meet exactly when they share a section.
 * Where no box is alive in two neighbouring sections one part ends and the next begins; parts are packed apart.
 *
 * Boxes without bytes are in no section. Ownership: all in the arena passed in. Cost: O(boxes).
 */
#ifndef PSC_CORE_PLAN_OFFSETS_SECTIONS_H
#define PSC_CORE_PLAN_OFFSETS_SECTIONS_H

#include "core/plan/offsets/strategies.h"

struct psc_sections {
    uint32_t *from, *to;   /* [box_n]: the sections [from, to) of a box; from == to: it has no bytes */
    uint32_t section_n;
    uint32_t *part_at;     /* [part_n + 1]: first section of each part */
    uint32_t part_n;
};

/* The problem is sorted and has one space. false: out of memory. */
bool psc_sections_build(struct psc_sections *ret, const struct psc_offsets_problem *p, struct psc_arena *arena);

#endif
