#include "tests/boxes.h"

#include "core/base/hash.h"

#include <glib.h>
#include <string.h>

/* ---- making ---------------------------------------------------------------------------------------------------- */

static void *room(struct psc_arena *arena, size_t n, size_t size)
{
    void *block = psc_arena_alloc0(arena, n, size);
    g_assert_nonnull(block);
    return block;
}

struct psc_offsets_problem boxes_text(struct psc_arena *arena, const char *text)
{
    char **items = g_strsplit(text, ",", -1);
    uint32_t n = *text ? g_strv_length(items) : 0;
    struct psc_box *boxes = room(arena, n, sizeof *boxes);
    uint64_t *fixed = room(arena, n, sizeof *fixed), *aligns = room(arena, n, sizeof *aligns);
    struct psc_offsets_problem p = {.boxes = boxes, .box_n = n};
    for (uint32_t i = 0; i < n; i++) {
        char **words = g_strsplit(g_strstrip(items[i]), " ", -1);
        boxes[i] = (struct psc_box){.begin = (uint32_t)g_ascii_strtoull(words[0], NULL, 10),
                                    .end = (uint32_t)g_ascii_strtoull(words[1], NULL, 10),
                                    .bytes = g_ascii_strtoull(words[2], NULL, 10)};
        fixed[i] = PSC_OFFSET_FREE;
        for (char **word = words + 3; *word; word++) {
            if (**word == '@')
                fixed[i] = g_ascii_strtoull(*word + 1, NULL, 10);
            else if (**word == '^')
                aligns[i] = g_ascii_strtoull(*word + 1, NULL, 10);
            else
                g_error("%s is no word for a box", *word);
        }
        p.fixed = fixed[i] != PSC_OFFSET_FREE ? fixed : p.fixed;
        p.aligns = aligns[i] ? aligns : p.aligns;
        p.step_n = MAX(p.step_n, boxes[i].end);
        g_strfreev(words);
    }
    g_strfreev(items);
    return p;
}

/* Fixed boxes are put on top of each other where they meet, so that they never clash. */
static void fix_some(struct psc_offsets_problem *p, uint64_t *fixed, uint64_t *state)
{
    for (uint32_t i = 0; i < p->box_n; i++) {
        uint64_t at = 0;
        fixed[i] = PSC_OFFSET_FREE;
        if (psc_random_next(state) % 6)
            continue;
        for (uint32_t k = 0; k < i; k++)
            if (fixed[k] != PSC_OFFSET_FREE && p->boxes[k].begin < p->boxes[i].end && p->boxes[i].begin < p->boxes[k].end)
                at = MAX(at, fixed[k] + p->boxes[k].bytes);
        fixed[i] = (at + psc_random_next(state) % 3 * 64 + 63) / 64 * 64;
    }
}

struct psc_offsets_problem boxes_random(struct psc_arena *arena, uint64_t seed, const struct boxes_shape *shape)
{
    uint64_t state = seed, unit = shape->unit ? shape->unit : 1;
    struct psc_box *boxes = room(arena, shape->n, sizeof *boxes);
    uint64_t *aligns = room(arena, shape->n, sizeof *aligns), *fixed = room(arena, shape->n, sizeof *fixed);
    uint8_t *space = room(arena, shape->n, 1);
    struct psc_offsets_problem p = {.boxes = boxes, .box_n = shape->n, .step_n = shape->steps, .align = shape->align};
    for (uint32_t i = 0; i < shape->n; i++) {
        uint32_t life = 1 + (uint32_t)(psc_random_next(&state) % MIN(shape->life_max, shape->steps));
        boxes[i].begin = (uint32_t)(psc_random_next(&state) % (shape->steps - life + 1));
        boxes[i].end = boxes[i].begin + life;
        boxes[i].bytes = (1 + psc_random_next(&state) % (shape->bytes_max / unit)) * unit;
        if (shape->zeros && psc_random_next(&state) % 9 == 0)
            boxes[i].bytes = 0;
        aligns[i] = UINT64_C(1) << psc_random_next(&state) % 7;
        space[i] = (uint8_t)(psc_random_next(&state) % MAX(shape->spaces, 1));
    }
    if (shape->fixed)
        fix_some(&p, fixed, &state);
    p.aligns = shape->aligns ? aligns : NULL;
    p.fixed = shape->fixed ? fixed : NULL;
    p.space = shape->spaces ? space : NULL;
    p.space_n = shape->spaces;
    return p;
}

/* ---- slow answers ------------------------------------------------------------------------------------------------- */

static bool is_fixed(const struct psc_offsets_problem *p, uint32_t i)
{
    return p->fixed && p->fixed[i] != PSC_OFFSET_FREE;
}

/* Where the box lies when the fixed ones and those in `order` before it lie where they lie: at the lowest place. */
static uint64_t lowest_place(const struct psc_offsets_problem *p, const uint32_t *order, uint32_t n, const uint64_t *offset)
{
    const struct psc_box *box = &p->boxes[order[n]];
    uint64_t at = 0, align = p->aligns ? MAX(MAX(p->align, 1), p->aligns[order[n]]) : MAX(p->align, 1);
    for (bool moved = true; moved;) {
        moved = false;
        for (uint32_t k = 0; k < p->box_n; k++) {
            const struct psc_box *other = &p->boxes[order[k]];
            uint64_t lo = offset[order[k]], hi = lo + psc_box_room(MAX(p->align, 1), other->bytes);
            if ((k < n || is_fixed(p, order[k])) && other->begin < box->end && box->begin < other->end && at < hi &&
                lo < at + psc_box_room(MAX(p->align, 1), box->bytes)) {
                at = psc_box_room(align, hi);
                moved = true;
            }
        }
    }
    return at;
}

static uint64_t height_in_order(const struct psc_offsets_problem *p, const uint32_t *order)
{
    uint64_t offset[8], height = 0;
    for (uint32_t i = 0; i < p->box_n; i++)
        offset[i] = is_fixed(p, i) ? p->fixed[i] : 0;
    for (uint32_t n = 0; n < p->box_n; n++) {
        uint32_t i = order[n];
        if (!is_fixed(p, i))
            offset[i] = lowest_place(p, order, n, offset);
        height = MAX(height, offset[i] + psc_box_room(MAX(p->align, 1), p->boxes[i].bytes));
    }
    return height;
}

/* Of a lowest packing the boxes by offset, each put at its lowest place, are nowhere higher: so some order gives it. */
uint64_t boxes_lowest(const struct psc_offsets_problem *p)
{
    uint32_t order[8] = {0, 1, 2, 3, 4, 5, 6, 7}, turn[8] = {0}, i = 0, swap;
    uint64_t best = height_in_order(p, order);
    g_assert_cmpuint(p->box_n, <=, 8);
    while (i < p->box_n) { /* Heap's permutations */
        if (turn[i] >= i) {
            turn[i++] = 0;
            continue;
        }
        uint32_t with = i % 2 ? turn[i] : 0;
        swap = order[with];
        order[with] = order[i];
        order[i] = swap;
        best = MIN(best, height_in_order(p, order));
        turn[i]++;
        i = 0;
    }
    return best;
}

uint64_t boxes_bound(const struct psc_offsets_problem *p, uint32_t space)
{
    uint64_t bound = 0;
    for (uint32_t s = 0; s < p->step_n; s++) {
        uint64_t live = 0;
        for (uint32_t i = 0; i < p->box_n; i++)
            if ((!p->space || p->space[i] == space) && p->boxes[i].begin <= s && s < p->boxes[i].end)
                live += psc_box_room(MAX(p->align, 1), p->boxes[i].bytes);
        bound = MAX(bound, live);
    }
    for (uint32_t i = 0; p->fixed && i < p->box_n; i++)
        if ((!p->space || p->space[i] == space) && p->fixed[i] != PSC_OFFSET_FREE)
            bound = MAX(bound, p->fixed[i] + psc_box_room(MAX(p->align, 1), p->boxes[i].bytes));
    return bound;
}

struct event { uint32_t step, box; bool begins; };

static int by_step(const void *a, const void *b)
{
    const struct event *x = a, *y = b;
    if (x->step != y->step)
        return x->step < y->step ? -1 : 1;
    return x->begins - y->begins; /* ends first */
}

struct live { uint64_t lo, hi; };

/* Spans that meet are equal: a tree finds the one that is in the way. */
static int by_bytes(gconstpointer a, gconstpointer b)
{
    const struct live *x = a, *y = b;
    return x->hi <= y->lo ? -1 : y->hi <= x->lo ? 1 : 0;
}

void boxes_assert_apart(const struct psc_offsets_problem *p, const uint64_t *offset)
{
    struct event *events = g_new(struct event, 2 * (size_t)p->box_n + 1);
    struct live *lives = g_new(struct live, p->box_n + (size_t)1);
    GTree *tree = g_tree_new(by_bytes);
    for (uint32_t i = 0; i < p->box_n; i++) {
        events[2 * i] = (struct event){p->boxes[i].begin, i, true};
        events[2 * i + 1] = (struct event){p->boxes[i].end, i, false};
        lives[i] = (struct live){offset[i], offset[i] + p->boxes[i].bytes};
    }
    qsort(events, 2 * (size_t)p->box_n, sizeof *events, by_step);
    for (size_t k = 0; k < 2 * (size_t)p->box_n; k++) {
        struct live *live = &lives[events[k].box];
        if (live->lo == live->hi)
            continue;
        if (!events[k].begins)
            g_assert_true(g_tree_remove(tree, live));
        else if (g_tree_lookup(tree, live))
            g_error("box %u lies on another", events[k].box);
        else
            g_tree_insert(tree, live, live);
    }
    g_tree_destroy(tree);
    g_free(lives);
    g_free(events);
}
