/* core/plan/offsets/spans.h: byte spans that do not overlap, by address, with the largest below each node of the tree.
 *
 *     [0,16) [32,96) [128,144)        first of at least 20 bytes: [32,96)
 *
 * A treap whose priorities follow from the items' numbers: the same spans make the same tree on every machine. An item is
 * a number below n, in the tree at most once. insert, remove and first are O(log n), without recursion.
 */
#ifndef PSC_CORE_PLAN_OFFSETS_SPANS_H
#define PSC_CORE_PLAN_OFFSETS_SPANS_H

#include "core/base/arena.h"
#include "core/graph/graph.h"

#include <stdbool.h>

struct psc_span_node {
    uint64_t lo, hi, most; /* most: the largest hi - lo in the subtree */
    uint32_t left, right, up;
    bool in;
};
struct psc_spans {
    struct psc_span_node *nodes; /* [n] */
    uint32_t root;
};

bool psc_spans_init(struct psc_spans *spans, uint32_t n, struct psc_arena *arena); /* false: out of memory */
/* PSC_NONE, or an item whose span overlaps: then nothing was inserted. lo < hi. */
uint32_t psc_spans_insert(struct psc_spans *spans, uint32_t item, uint64_t lo, uint64_t hi);
void psc_spans_remove(struct psc_spans *spans, uint32_t item); /* fine when it is not in */
/* Changes the ends of an item that stays between its neighbours. */
void psc_spans_resize(struct psc_spans *spans, uint32_t item, uint64_t lo, uint64_t hi);
/* The item with the lowest address that has at least `bytes`, PSC_NONE. */
uint32_t psc_spans_first(const struct psc_spans *spans, uint64_t bytes);

#endif
