/* core/plan/arena-tree.h: small ordered sets of slot numbers, by a key of two words.
 *
 *     key (capacity, how lately freed)      a search for (48, any) finds slot 0: the smallest that is enough,
 *     (64, -7) slot 0                       and of two of one size the one that was freed last
 *     (128, -4) slot 1
 *
 * A treap: a search tree on the key that is a heap on a hash of the slot's number, so its shape follows from its content
 * alone and its depth is O(log n) on average. A slot is in a tree at most once; its node is made beforehand
 * (psc_slot_tree_reserve), so putting in and taking out never fail: a lease can always be returned.
 */
#ifndef PSC_CORE_PLAN_ARENA_TREE_H
#define PSC_CORE_PLAN_ARENA_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PSC_TREE_NONE UINT32_MAX

struct psc_slot_tree_node {
    uint64_t a, b;
    uint32_t left, right;
};
struct psc_slot_tree {
    struct psc_slot_tree_node *nodes; /* owned; of each slot */
    size_t cap;
    uint32_t root, n;
};

void psc_slot_tree_init(struct psc_slot_tree *tree);
void psc_slot_tree_release(struct psc_slot_tree *tree);
/* Room for slots 0 .. n - 1; false when memory is exhausted, nothing changed. */
bool psc_slot_tree_reserve(struct psc_slot_tree *tree, size_t n);
void psc_slot_tree_put(struct psc_slot_tree *tree, uint32_t slot, uint64_t a, uint64_t b); /* it is not in the tree */
/* False when a slot with this key is not there. */
bool psc_slot_tree_take(struct psc_slot_tree *tree, uint32_t slot, uint64_t a, uint64_t b);
/* The slot with the smallest key >= (a, b), or the one with the largest key; PSC_TREE_NONE when there is none. */
uint32_t psc_slot_tree_at_least(const struct psc_slot_tree *tree, uint64_t a, uint64_t b);
/* The slot with the largest key <= (a, b): of several with one key the highest. */
uint32_t psc_slot_tree_at_most(const struct psc_slot_tree *tree, uint64_t a, uint64_t b);
uint32_t psc_slot_tree_last(const struct psc_slot_tree *tree);
/* The next one in order. */
uint32_t psc_slot_tree_next(const struct psc_slot_tree *tree, uint32_t slot);

#endif
