/* core/plan/offsets/place.h: boxes placed one after another in a given order, each into a gap among those beside it.
 *
 * Who is beside whom is known once for all orders: in the order of their begins, box k is beside the boxes that are alive
 * when it begins (a list) and beside those that begin while it lives (the run k+1 .. until[k]). Where many of the boxes are
 * beside each other, looking at all that are placed is cheaper than lists. Fixed boxes are placed before all others. When
 * more than PSC_PAIRS_MAX pairs are beside each other, each box is put on top of what is already placed in its steps (gaps
 * stay empty), so that nothing is quadratic.
 */
#ifndef PSC_CORE_PLAN_OFFSETS_PLACE_H
#define PSC_CORE_PLAN_OFFSETS_PLACE_H

#include "core/plan/offsets/strategies.h"

#define PSC_PAIRS_MAX UINT64_C(33554432)

enum psc_place_fit {
    PSC_PLACE_BEST,  /* the smallest gap that is large enough, the lowest of equals */
    PSC_PLACE_FIRST, /* the lowest gap */
};

enum psc_beside_way {
    PSC_BESIDE_LISTED,    /* each box has a list; what is placed of it is sorted by address */
    PSC_BESIDE_SHELVED,   /* all that is placed stands by address (shelf.h), of which a box looks at all */
    PSC_BESIDE_PILED,     /* there are too many pairs */
};

struct psc_beside {
    const struct psc_offsets_problem *p;
    uint32_t *place_of;   /* [box_n]: box -> place in by_begin */
    uint32_t *until;      /* [box_n], by place: end of the run of later ones */
    uint32_t *earlier_at; /* [box_n + 1], by place; NULL as `earlier`: not listed */
    uint32_t *earlier;    /* places */
    uint64_t pair_n;
    enum psc_beside_way way;
};
bool psc_beside_build(struct psc_beside *beside, const struct psc_offsets_problem *p, struct psc_arena *arena);
bool psc_beside_list(struct psc_beside *beside, struct psc_arena *arena); /* makes the lists, if they are not there */

/* Places all boxes; order has every box once. Gives up as soon as a box that is not fixed ends at `below` or above: then
 * *ret_below is false, and offset and turn are of no use. PSC_ERR_NOMEM. */
enum psc_status psc_place_beside(const struct psc_beside *beside, const uint32_t *order, enum psc_place_fit fit, uint64_t below,
                                 struct psc_arena *scratch, uint64_t *offset, uint32_t *turn, bool *ret_below);
/* The same for one order only, whatever height comes of it. */
enum psc_status psc_place_in_order(const struct psc_offsets_problem *p, const uint32_t *order, enum psc_place_fit fit,
                                   struct psc_arena *scratch, uint64_t *offset, uint32_t *turn);

/* Sorts items by key, ascending or descending; equal keys keep their order. `other` and `other_keys` are as large. */
void psc_sort_keys(uint64_t *keys, uint32_t *items, uint64_t *other_keys, uint32_t *other, uint32_t n, bool descending);

/* Orders of boxes for greedy placing, [box_n] in scratch; NULL when out of memory. */
uint32_t *psc_order_by_size(const struct psc_offsets_problem *p, struct psc_arena *scratch);
uint32_t *psc_order_by_breadth(const struct psc_beside *beside, const uint32_t *by_size, struct psc_arena *scratch);

#endif
