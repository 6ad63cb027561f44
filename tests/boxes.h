/* tests/boxes.h: problems of boxes from text and from seeds, and slow answers to them, for tests of core/plan/offsets.
 *
 *     boxes_text(&arena, "0 2 16, 0 2 16, 2 5 32 @0, 3 5 16 ^64")     begin end bytes, fixed at @, aligned to ^
 */
#ifndef PSC_TESTS_BOXES_H
#define PSC_TESTS_BOXES_H

#include "core/plan/offsets/offsets.h"

struct psc_offsets_problem boxes_text(struct psc_arena *arena, const char *text);

struct boxes_shape {
    uint32_t n, steps, life_max;
    uint64_t bytes_max, unit; /* sizes are multiples of unit */
    bool aligns, fixed, zeros;
    uint32_t spaces;          /* 0: one, no array */
    uint64_t align;
};
struct psc_offsets_problem boxes_random(struct psc_arena *arena, uint64_t seed, const struct boxes_shape *shape);

/* The lowest height there is, by trying every order of placing; at most 8 boxes of one space. */
uint64_t boxes_lowest(const struct psc_offsets_problem *p);
/* The bound, step by step. */
uint64_t boxes_bound(const struct psc_offsets_problem *p, uint32_t space);
/* Asserts that no two boxes that share a step share a byte; O(n log n), for many boxes of one space. */
void boxes_assert_apart(const struct psc_offsets_problem *p, const uint64_t *offset);

#endif
