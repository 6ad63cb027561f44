/* core/plan/offsets/shelf.h: placed boxes by address, and which of them a box meets.
 *
 *     place  0 a 0..2   1 b 0..3   2 c 2..5   3 d 3..5       in the order of begins, ties by index
 *     until  2          3          4          4              the first place that begins after the box has ended
 *
 *     c is at place 2, its until is 4: it meets b (1 < 4 and 2 < 3) and not a (2 < 2 is false)
 *
 * Two boxes meet when each one's place is before the other's until. That is asked of 64 boxes at once, and those that
 * meet come out by address: nothing is sorted.
 */
#ifndef PSC_CORE_PLAN_OFFSETS_SHELF_H
#define PSC_CORE_PLAN_OFFSETS_SHELF_H

#include "core/plan/offsets/strategies.h"

enum { PSC_SHELF_MAX = 65535 }; /* boxes: an until is at most so many */

struct psc_shelf {
    struct psc_span *spans;  /* [n] by lo */
    int16_t *place, *until;  /* [n], less 32,768, in the order of spans; room for whole words of 64 */
    uint32_t n;
};

bool psc_shelf_init(struct psc_shelf *shelf, uint32_t box_n, struct psc_arena *arena); /* false: out of memory */
void psc_shelf_put(struct psc_shelf *shelf, uint32_t place, uint32_t until, struct psc_span span);
/* Bit k: the box spans[first + k] is met; first is a multiple of 64 and less than n. */
uint64_t psc_shelf_met(const struct psc_shelf *shelf, uint32_t first, uint32_t place, uint32_t until);

#endif
