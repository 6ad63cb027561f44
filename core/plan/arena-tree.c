#include "core/plan/arena-tree.h"

#include "core/base/hash.h"
#include "core/base/mem.h"

void psc_slot_tree_init(struct psc_slot_tree *tree)
{
    *tree = (struct psc_slot_tree){.root = PSC_TREE_NONE};
}

void psc_slot_tree_release(struct psc_slot_tree *tree)
{
    psc_free(tree->nodes);
    psc_slot_tree_init(tree);
}

bool psc_slot_tree_reserve(struct psc_slot_tree *tree, size_t n)
{
    return psc_grow(&tree->nodes, n, &tree->cap, sizeof *tree->nodes);
}

/* Is slot i before the key (a, b, slot)? Equal keys are in the order of their slots. */
static bool before(const struct psc_slot_tree *tree, uint32_t i, uint64_t a, uint64_t b, uint32_t slot)
{
    const struct psc_slot_tree_node *n = &tree->nodes[i];
    if (n->a != a)
        return n->a < a;
    return n->b != b ? n->b < b : i < slot;
}

/* Cuts the tree under `root` at a key; the two parts hang from *left and *right. */
static void split(struct psc_slot_tree *tree, uint32_t root, uint64_t a, uint64_t b, uint32_t slot, uint32_t *left, uint32_t *right)
{
    while (root != PSC_TREE_NONE)
        if (before(tree, root, a, b, slot)) {
            *left = root;
            left = &tree->nodes[root].right;
            root = *left;
        } else {
            *right = root;
            right = &tree->nodes[root].left;
            root = *right;
        }
    *left = *right = PSC_TREE_NONE;
}

void psc_slot_tree_put(struct psc_slot_tree *tree, uint32_t slot, uint64_t a, uint64_t b)
{
    struct psc_slot_tree_node *node = &tree->nodes[slot];
    uint32_t *at = &tree->root;
    uint64_t rank = psc_hash_mix(slot);
    *node = (struct psc_slot_tree_node){.a = a, .b = b};
    while (*at != PSC_TREE_NONE && psc_hash_mix(*at) > rank)
        at = before(tree, *at, a, b, slot) ? &tree->nodes[*at].right : &tree->nodes[*at].left;
    split(tree, *at, a, b, slot, &node->left, &node->right);
    *at = slot;
    tree->n++;
}

bool psc_slot_tree_take(struct psc_slot_tree *tree, uint32_t slot, uint64_t a, uint64_t b)
{
    uint32_t *at = &tree->root;
    while (*at != PSC_TREE_NONE && *at != slot)
        at = before(tree, *at, a, b, slot) ? &tree->nodes[*at].right : &tree->nodes[*at].left;
    if (*at == PSC_TREE_NONE)
        return false;
    uint32_t left = tree->nodes[slot].left, right = tree->nodes[slot].right;
    while (left != PSC_TREE_NONE && right != PSC_TREE_NONE)
        if (psc_hash_mix(left) > psc_hash_mix(right)) {
            *at = left;
            at = &tree->nodes[left].right;
            left = *at;
        } else {
            *at = right;
            at = &tree->nodes[right].left;
            right = *at;
        }
    *at = left != PSC_TREE_NONE ? left : right;
    tree->n--;
    return true;
}

static uint32_t first_from(const struct psc_slot_tree *tree, uint64_t a, uint64_t b, uint32_t slot)
{
    uint32_t found = PSC_TREE_NONE;
    for (uint32_t i = tree->root; i != PSC_TREE_NONE;)
        if (before(tree, i, a, b, slot)) {
            i = tree->nodes[i].right;
        } else {
            found = i;
            i = tree->nodes[i].left;
        }
    return found;
}

uint32_t psc_slot_tree_at_least(const struct psc_slot_tree *tree, uint64_t a, uint64_t b)
{
    return first_from(tree, a, b, 0);
}

uint32_t psc_slot_tree_at_most(const struct psc_slot_tree *tree, uint64_t a, uint64_t b)
{
    uint32_t found = PSC_TREE_NONE;
    for (uint32_t i = tree->root; i != PSC_TREE_NONE;)
        if (before(tree, i, a, b, PSC_TREE_NONE)) {
            found = i;
            i = tree->nodes[i].right;
        } else {
            i = tree->nodes[i].left;
        }
    return found;
}

uint32_t psc_slot_tree_last(const struct psc_slot_tree *tree)
{
    uint32_t i = tree->root;
    while (i != PSC_TREE_NONE && tree->nodes[i].right != PSC_TREE_NONE)
        i = tree->nodes[i].right;
    return i;
}

uint32_t psc_slot_tree_next(const struct psc_slot_tree *tree, uint32_t slot)
{
    const struct psc_slot_tree_node *n = &tree->nodes[slot];
    return first_from(tree, n->a, n->b, slot + 1);
}
