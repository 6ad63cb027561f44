/* Orders for greedy placing: by size, as TFLite's arena planner; by breadth, as Pisarchyk and Lee. */
#include "core/plan/offsets/place.h"

#include <string.h>

void psc_sort_keys(uint64_t *keys, uint32_t *items, uint64_t *other_keys, uint32_t *other, uint32_t n, bool descending)
{
    uint64_t flip = descending ? UINT64_MAX : 0, differ = 0;
    uint64_t *k1 = keys, *k2 = other_keys;
    uint32_t *i1 = items, *i2 = other;
    for (uint32_t i = 0; i < n; i++)
        differ |= keys[i] ^ keys[0];
    for (unsigned shift = 0; shift < 64; shift += 8) {
        uint32_t at[257] = {0};
        if (!(differ >> shift & 255))
            continue;
        for (uint32_t i = 0; i < n; i++)
            at[((k1[i] ^ flip) >> shift & 255) + 1]++;
        for (int d = 0; d < 256; d++)
            at[d + 1] += at[d];
        for (uint32_t i = 0; i < n; i++) {
            uint32_t to = at[(k1[i] ^ flip) >> shift & 255]++;
            k2[to] = k1[i];
            i2[to] = i1[i];
        }
        uint64_t *k = k1;
        k1 = k2;
        k2 = k;
        uint32_t *t = i1;
        i1 = i2;
        i2 = t;
    }
    if (i1 != items && n) {
        memcpy(keys, k1, n * sizeof *keys);
        memcpy(items, i1, n * sizeof *items);
    }
}

uint32_t *psc_order_by_size(const struct psc_offsets_problem *p, struct psc_arena *scratch)
{
    size_t n = p->box_n;
    uint32_t *order = psc_arena_alloc(scratch, n, sizeof *order);
    struct psc_arena_mark mark = psc_arena_mark(scratch);
    uint32_t *other = psc_arena_alloc(scratch, n, sizeof *other);
    uint64_t *keys = psc_arena_alloc(scratch, n, sizeof *keys), *other_keys = psc_arena_alloc(scratch, n, sizeof *keys);
    if (!order || !other || !keys || !other_keys)
        return NULL;
    for (uint32_t k = 0; k < p->box_n; k++) { /* ties in execution order */
        order[k] = p->by_begin[k];
        keys[k] = p->boxes[order[k]].bytes;
    }
    psc_sort_keys(keys, order, other_keys, other, p->box_n, true);
    psc_arena_rewind(scratch, mark);
    return order;
}

/* The smallest of values[lo, hi), n of them in a tree whose leaves begin at n. */
static uint64_t least(const uint64_t *tree, uint32_t n, uint32_t lo, uint32_t hi)
{
    uint64_t best = UINT64_MAX;
    for (size_t l = (size_t)lo + n, r = (size_t)hi + n; l < r; l /= 2, r /= 2) {
        if (l & 1 && tree[l++] < best)
            best = tree[l - 1];
        if (r & 1 && tree[--r] < best)
            best = tree[r];
    }
    return best;
}

/* live[k]: bytes alive when the box at place k has begun. */
static void measure_live(const struct psc_offsets_problem *p, uint64_t *live)
{
    uint64_t sum = 0;
    uint32_t e = 0;
    for (uint32_t k = 0; k < p->box_n; k++) {
        uint32_t i = p->by_begin[k];
        for (; p->boxes[p->by_end[e]].end <= p->boxes[i].begin; e++)
            sum -= psc_box_room(p->align, p->boxes[p->by_end[e]].bytes);
        live[k] = sum += psc_box_room(p->align, p->boxes[i].bytes);
    }
}

/* Steps are visited by falling live bytes, and a box is placed at the first step visited in which it lives: its turn is
 * the least rank of the steps of its life. Steps at which nothing begins never have more than the one before them. */
uint32_t *psc_order_by_breadth(const struct psc_beside *b, const uint32_t *by_size, struct psc_arena *scratch)
{
    const struct psc_offsets_problem *p = b->p;
    size_t n = p->box_n;
    uint32_t *order = psc_arena_alloc(scratch, n, sizeof *order);
    struct psc_arena_mark mark = psc_arena_mark(scratch);
    uint32_t *ranked = psc_arena_alloc(scratch, n, sizeof *ranked), *other = psc_arena_alloc(scratch, n, sizeof *other);
    uint64_t *keys = psc_arena_alloc(scratch, n, sizeof *keys), *other_keys = psc_arena_alloc(scratch, n, sizeof *keys);
    uint64_t *tree = psc_arena_alloc(scratch, 2 * n, sizeof *tree);
    if (!order || !ranked || !other || !keys || !other_keys || !tree)
        return NULL;
    for (uint32_t k = 0; k < p->box_n; k++)
        order[k] = by_size[k];
    measure_live(p, keys);
    for (uint32_t k = 0; k < p->box_n; k++)
        ranked[k] = k;
    psc_sort_keys(keys, ranked, other_keys, other, p->box_n, true);
    for (uint32_t k = 0; k < p->box_n; k++)
        tree[n + ranked[k]] = k;
    for (size_t k = n; k-- > 1;)
        tree[k] = tree[2 * k] < tree[2 * k + 1] ? tree[2 * k] : tree[2 * k + 1];
    for (uint32_t k = 0; k < p->box_n; k++)
        keys[k] = least(tree, p->box_n, b->place_of[order[k]], b->until[b->place_of[order[k]]]);
    psc_sort_keys(keys, order, other_keys, other, p->box_n, false);
    psc_arena_rewind(scratch, mark);
    return order;
}

enum psc_status psc_pack_greedy_size(const struct psc_offsets_problem *problem, uint64_t goal,
                                     const struct psc_offsets_budget *budget, struct psc_arena *scratch, uint64_t *offset,
                                     uint32_t *turn, struct psc_offsets_space *space)
{
    const uint32_t *order = psc_order_by_size(problem, scratch);
    (void)goal, (void)budget, (void)space;
    if (!order)
        return PSC_ERR_NOMEM;
    return psc_place_in_order(problem, order, PSC_PLACE_BEST, scratch, offset, turn);
}

enum psc_status psc_pack_greedy_breadth(const struct psc_offsets_problem *problem, uint64_t goal,
                                        const struct psc_offsets_budget *budget, struct psc_arena *scratch, uint64_t *offset,
                                        uint32_t *turn, struct psc_offsets_space *space)
{
    struct psc_beside beside;
    const uint32_t *by_size, *order;
    bool below;
    (void)goal, (void)budget, (void)space;
    if (!psc_beside_build(&beside, problem, scratch) || !(by_size = psc_order_by_size(problem, scratch)) ||
        !(order = psc_order_by_breadth(&beside, by_size, scratch)))
        return PSC_ERR_NOMEM;
    return psc_place_beside(&beside, order, PSC_PLACE_BEST, UINT64_MAX, scratch, offset, turn, &below);
}
