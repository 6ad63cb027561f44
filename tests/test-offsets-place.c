/* Placing one by one (place.h), inside an arena (inside.h) and into valleys (valley.h), against the same rules written down
 * plainly. */
#include "core/base/hash.h"
#include "core/plan/offsets/inside.h"
#include "core/plan/offsets/place.h"
#include "core/plan/offsets/shelf.h"
#include "core/plan/offsets/valley.h"
#include "tests/boxes.h"
#include "tests/util.h"

#include <string.h>

/* ---- one by one --------------------------------------------------------------------------------------------------------- */

static gint by_lo(gconstpointer a, gconstpointer b)
{
    const struct psc_span *x = a, *y = b;
    return (x->lo > y->lo) - (x->lo < y->lo);
}

/* Where a box goes among those that are placed: they are gathered and sorted. */
static uint64_t naive_place(const struct psc_offsets_problem *p, uint32_t i, const bool *placed, const uint64_t *offset,
                            enum psc_place_fit fit)
{
    GArray *spans = g_array_new(FALSE, FALSE, sizeof(struct psc_span));
    uint64_t bytes = psc_box_room(p->align, p->boxes[i].bytes), align = MAX(p->align, p->aligns ? p->aligns[i] : 1);
    uint64_t at = 0, best = 0, least = UINT64_MAX;
    for (uint32_t k = 0; k < p->box_n; k++) {
        struct psc_span span = {offset[k], offset[k] + psc_box_room(p->align, p->boxes[k].bytes)};
        if (placed[k] && p->boxes[k].bytes && p->boxes[k].begin < p->boxes[i].end && p->boxes[i].begin < p->boxes[k].end)
            g_array_append_val(spans, span);
    }
    g_array_sort(spans, by_lo);
    for (guint k = 0; k < spans->len && (fit == PSC_PLACE_BEST || least == UINT64_MAX); k++) {
        const struct psc_span *span = &g_array_index(spans, struct psc_span, k);
        if (span->lo >= at + bytes && span->lo - at < least) {
            least = span->lo - at;
            best = at;
        }
        at = MAX(at, psc_box_room(align, span->hi));
    }
    g_array_free(spans, TRUE);
    return p->boxes[i].bytes == 0 ? 0 : least == UINT64_MAX ? at : best;
}

static uint64_t naive_in_order(const struct psc_offsets_problem *p, const uint32_t *order, enum psc_place_fit fit,
                               uint64_t *offset)
{
    bool *placed = g_new0(bool, p->box_n);
    uint64_t height = 0;
    for (uint32_t i = 0; p->fixed && i < p->box_n; i++)
        if (p->fixed[i] != PSC_OFFSET_FREE) {
            offset[i] = p->fixed[i];
            placed[i] = true;
        }
    for (uint32_t k = 0; k < p->box_n; k++) {
        uint32_t i = order[k];
        if (placed[i])
            continue;
        offset[i] = naive_place(p, i, placed, offset, fit);
        placed[i] = true;
        height = MAX(height, offset[i] + psc_box_room(p->align, p->boxes[i].bytes));
    }
    g_free(placed);
    return height; /* of what is not fixed */
}

/* By lists and on the shelf, with fixed boxes and alignments or without; and what it gives up at. */
static void test_place(void)
{
    uint64_t seed = test_seed(), expected[400], offset[400], height;
    uint32_t turn[400];
    unsigned ways[3] = {0};
    bool below;
    for (unsigned round = 0; round < 240; round++) {
        struct psc_arena arena = {0};
        struct boxes_shape shape = {.n = 10 + round % 40 * 10, .steps = round % 3 ? 60 : 400, .life_max = round % 3 ? 30 : 5,
                                    .bytes_max = 4096, .unit = round % 2 ? 64 : 1, .align = round % 2 * 64,
                                    .zeros = round % 5 == 0, .fixed = round % 4 == 1, .aligns = round % 4 > 1};
        struct psc_offsets_problem p = boxes_random(&arena, seed + round, &shape);
        enum psc_place_fit fit = round % 7 % 2 ? PSC_PLACE_BEST : PSC_PLACE_FIRST;
        struct psc_beside beside;
        p.align = MAX(p.align, 1);
        g_test_message("seed %" G_GUINT64_FORMAT " + %u", seed, round);
        g_assert_true(psc_offsets_sort(&p, &arena) && psc_beside_build(&beside, &p, &arena));
        const uint32_t *order = psc_order_by_size(&p, &arena);
        g_assert_nonnull(order);
        height = naive_in_order(&p, order, fit, expected);
        g_assert_cmpint(psc_place_beside(&beside, order, fit, height + 1, &arena, offset, turn, &below), ==, PSC_OK);
        g_assert_true(below);
        g_assert_cmpmem(offset, p.box_n * sizeof *offset, expected, p.box_n * sizeof *expected);
        g_assert_cmpint(psc_place_beside(&beside, order, fit, height, &arena, offset, turn, &below), ==, PSC_OK);
        g_assert_false(below);
        ways[beside.way]++;
        psc_arena_release(&arena);
    }
    g_assert_cmpuint(ways[PSC_BESIDE_LISTED], >, 50);
    g_assert_cmpuint(ways[PSC_BESIDE_SHELVED], >, 50);
}

/* As many boxes as a shelf has, the last of them beside each other as well: it chooses what lists do. */
static void test_full_shelf(void)
{
    enum { N = PSC_SHELF_MAX, LIFE = 220 };
    struct psc_arena arena = {0};
    struct psc_box *boxes = g_new(struct psc_box, N);
    uint64_t seed = test_seed(), *shelved = g_new(uint64_t, N), *listed = g_new(uint64_t, N);
    uint32_t *turn = g_new(uint32_t, N);
    struct psc_beside beside;
    bool below;
    for (uint32_t i = 0; i < N; i++) {
        uint32_t end = i + 1 + LIFE / 2 + (uint32_t)(psc_random_next(&seed) % LIFE);
        boxes[i] = (struct psc_box){.bytes = 1 + psc_random_next(&seed) % 4096, .begin = i, .end = MIN(N + 1, end)};
    }
    struct psc_offsets_problem p = {.boxes = boxes, .box_n = N, .step_n = N + 1, .align = 64};
    g_assert_true(psc_offsets_sort(&p, &arena) && psc_beside_build(&beside, &p, &arena));
    const uint32_t *order = psc_order_by_size(&p, &arena);
    g_assert_nonnull(order);
    g_assert_cmpint(beside.way, ==, PSC_BESIDE_SHELVED);
    g_assert_cmpint(psc_place_beside(&beside, order, PSC_PLACE_BEST, UINT64_MAX, &arena, shelved, turn, &below), ==, PSC_OK);
    g_assert_true(psc_beside_list(&beside, &arena));
    beside.way = PSC_BESIDE_LISTED;
    g_assert_cmpint(psc_place_beside(&beside, order, PSC_PLACE_BEST, UINT64_MAX, &arena, listed, turn, &below), ==, PSC_OK);
    g_assert_cmpmem(shelved, N * sizeof *shelved, listed, N * sizeof *listed);
    psc_arena_release(&arena);
    g_free(boxes);
    g_free(shelved);
    g_free(listed);
    g_free(turn);
}

/* ---- fitting ends ------------------------------------------------------------------------------------------------- */

static bool place_inside(struct psc_arena *arena, struct psc_offsets_problem *p, uint64_t capacity, uint64_t looks,
                         struct psc_offsets *ret)
{
    struct psc_filling *filling;
    *ret = (struct psc_offsets){.offset = psc_arena_alloc(arena, p->box_n, sizeof *ret->offset),
                                .turn = psc_arena_alloc(arena, p->box_n, sizeof *ret->turn),
                                .spaces = psc_arena_alloc0(arena, 1, sizeof *ret->spaces), .space_n = 1};
    p->align = MAX(p->align, 1);
    g_assert_true(psc_offsets_sort(p, arena));
    filling = psc_filling_new(p, arena);
    g_assert_nonnull(filling);
    return psc_filling_run(filling, capacity, &looks, ret->offset, ret->turn);
}

/* The last box goes to the end of the gap 8..16 whose neighbour, 2, ends one step before it does; 0 ends four after. */
static void test_inside(void)
{
    static const uint64_t expected[] = {0, 8, 16, 24, 12};
    struct psc_arena arena = {0};
    struct psc_offsets packed;
    struct psc_offsets_problem p = boxes_text(&arena, "0 9 8, 0 2 8, 0 4 8, 1 5 8, 2 5 4");
    g_assert_true(place_inside(&arena, &p, 32, 1000, &packed));
    g_assert_cmpmem(packed.offset, sizeof expected, expected, sizeof expected);
    g_assert_false(place_inside(&arena, &p, 31, 1000, &packed));
    /* there is one gap for each box to look at */
    g_assert_true(place_inside(&arena, &p, 32, 5 * PSC_FILLING_LOOKS + 5, &packed));
    g_assert_false(place_inside(&arena, &p, 32, 5 * PSC_FILLING_LOOKS + 4, &packed));
    psc_arena_release(&arena);
}

/* The rule written down plainly: both ends of every gap between those alive by address. false: nowhere. */
static bool naive_inside(const struct psc_offsets_problem *p, uint64_t capacity, uint64_t *offset)
{
    GArray *live = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    bool fits = true;
    for (uint32_t k = 0; k < p->box_n && fits; k++) {
        uint32_t i = p->by_begin[k], best_apart = UINT32_MAX, end = p->boxes[i].end;
        uint64_t bytes = psc_box_room(p->align, p->boxes[i].bytes), lo = 0, best_gap = UINT64_MAX;
        guint place = 0;
        for (guint l = live->len; l-- > 0;)
            if (p->boxes[g_array_index(live, uint32_t, l)].end <= p->boxes[i].begin)
                g_array_remove_index(live, l);
        offset[i] = 0;
        for (guint l = 0; bytes && l <= live->len; l++) {
            uint32_t below = l ? g_array_index(live, uint32_t, l - 1) : PSC_NONE;
            uint32_t above = l < live->len ? g_array_index(live, uint32_t, l) : PSC_NONE;
            uint64_t hi = above == PSC_NONE ? capacity / p->align * p->align : offset[above];
            for (int high = 0; hi - lo >= bytes && high < 2; high++) {
                uint32_t beside = high ? above : below, other = beside == PSC_NONE ? UINT32_MAX : p->boxes[beside].end;
                uint32_t apart = MAX(other, end) - MIN(other, end);
                if (apart < best_apart || (apart == best_apart && hi - lo < best_gap)) {
                    best_apart = apart;
                    best_gap = hi - lo;
                    offset[i] = high ? hi - bytes : lo;
                    place = l;
                }
            }
            lo = above == PSC_NONE ? hi : hi + psc_box_room(p->align, p->boxes[above].bytes);
        }
        fits = !bytes || best_gap != UINT64_MAX;
        if (bytes && fits)
            g_array_insert_val(live, place, i);
    }
    g_array_free(live, TRUE);
    return fits;
}

/* What is placed lies inside, apart and aligned, and where the rule says; where there is room for all beside each other, everything is placed. */
static void test_inside_random(void)
{
    uint64_t seed = test_seed();
    unsigned placed = 0, refused = 0;
    g_test_message("seed %" G_GUINT64_FORMAT, seed);
    for (unsigned round = 0; round < 600; round++) {
        struct psc_arena arena = {0};
        struct boxes_shape shape = {.n = 40, .steps = 20, .life_max = 12, .bytes_max = 1000, .zeros = round % 2, .align = round % 3 * 16};
        struct psc_offsets_problem p = boxes_random(&arena, seed + round, &shape);
        struct psc_offsets packed;
        struct psc_error error = {0};
        uint64_t bound = boxes_bound(&p, 0), capacity = bound + bound * (round % 5) / 10, all = 0, expected[40];
        for (uint32_t i = 0; i < p.box_n; i++)
            all += psc_box_room(MAX(p.align, 1), p.boxes[i].bytes);
        g_assert_true(place_inside(&arena, &p, all, UINT64_MAX, &packed));
        g_assert_false(bound && place_inside(&arena, &p, bound - 1, UINT64_MAX, &packed));
        bool fits = place_inside(&arena, &p, capacity, UINT64_MAX, &packed);
        g_assert_cmpint(fits, ==, naive_inside(&p, capacity, expected));
        if (!fits) {
            refused++;
        } else {
            for (uint32_t i = 0; i < p.box_n; i++)
                packed.spaces[0].height = MAX(packed.spaces[0].height, packed.offset[i] + psc_box_room(p.align, p.boxes[i].bytes));
            g_assert_cmpuint(packed.spaces[0].height, <=, capacity);
            g_assert_cmpmem(packed.offset, p.box_n * sizeof *packed.offset, expected, p.box_n * sizeof *expected);
            if (psc_offsets_check(&p, &packed, &error))
                g_error("%s", error.text);
            placed++;
        }
        psc_arena_release(&arena);
    }
    g_assert_cmpuint(placed, >, 50);
    g_assert_cmpuint(refused, >, 50);
}

/* ---- valleys ----------------------------------------------------------------------------------------------------------- */

static uint64_t weight_of(const struct psc_offsets_problem *p, const struct psc_sections *s, const uint64_t *total, uint32_t i,
                          unsigned weight)
{
    uint64_t bytes = psc_box_room(p->align, p->boxes[i].bytes), life = s->to[i] - s->from[i], most = 0;
    for (uint32_t k = s->from[i]; k < s->to[i]; k++)
        most = MAX(most, total[k]);
    return weight == PSC_VALLEY_SIZE ? bytes : weight == PSC_VALLEY_LIFE ? life : weight == PSC_VALLEY_AREA ? bytes * life : most;
}

struct plain_valleys {
    const struct psc_offsets_problem *p;
    struct psc_sections sections;
    uint64_t *total, *left;
    uint64_t *key; /* UINT64_MAX: laid */
    uint64_t level;
};

/* Of all sections. */
static uint32_t naive_section(const struct plain_valleys *v, bool full)
{
    uint32_t best = PSC_NONE, best_count = 0;
    for (uint32_t k = 0; k < v->sections.section_n; k++) {
        uint32_t count = 0;
        for (uint32_t i = 0; i < v->p->box_n; i++)
            count += v->key[i] == v->level && v->sections.from[i] <= k && k < v->sections.to[i];
        if (!count)
            continue;
        bool fewer = best != PSC_NONE && count < best_count, same = best != PSC_NONE && count == best_count;
        bool more = best != PSC_NONE && v->left[k] > v->left[best], equal = best != PSC_NONE && v->left[k] == v->left[best];
        if (best == PSC_NONE || (full ? more || (equal && fewer) : fewer || (same && more))) {
            best = k;
            best_count = count;
        }
    }
    return best;
}

static uint64_t naive_valleys(struct plain_valleys *v, struct psc_valley_setting setting, uint64_t *offset)
{
    const struct psc_offsets_problem *p = v->p;
    uint64_t height = 0;
    for (;;) {
        uint32_t section, best = PSC_NONE;
        v->level = UINT64_MAX;
        for (uint32_t i = 0; i < p->box_n; i++)
            v->level = MIN(v->level, v->key[i]);
        if (v->level == UINT64_MAX)
            return height;
        section = naive_section(v, setting.full);
        for (uint32_t k = 0; k < p->box_n; k++) {
            uint32_t i = p->by_begin[k];
            if (v->key[i] == v->level && v->sections.from[i] <= section && section < v->sections.to[i] &&
                (best == PSC_NONE || weight_of(p, &v->sections, v->total, i, setting.weight) >
                                         weight_of(p, &v->sections, v->total, best, setting.weight)))
                best = i;
        }
        uint64_t bytes = psc_box_room(p->align, p->boxes[best].bytes);
        offset[best] = v->level;
        height = MAX(height, v->level + bytes);
        v->key[best] = UINT64_MAX;
        for (uint32_t k = v->sections.from[best]; k < v->sections.to[best]; k++)
            v->left[k] -= bytes;
        for (uint32_t i = 0; i < p->box_n; i++)
            if (v->key[i] != UINT64_MAX && p->boxes[i].begin < p->boxes[best].end && p->boxes[best].begin < p->boxes[i].end)
                v->key[i] = MAX(v->key[i], v->level + bytes);
    }
}

static struct plain_valleys begin_plainly(const struct psc_offsets_problem *p, struct psc_arena *arena, uint64_t *offset)
{
    struct plain_valleys v = {.p = p};
    g_assert_true(psc_sections_build(&v.sections, p, arena));
    v.total = psc_arena_alloc0(arena, v.sections.section_n, sizeof *v.total);
    v.left = psc_arena_alloc0(arena, v.sections.section_n, sizeof *v.left);
    v.key = psc_arena_alloc0(arena, p->box_n, sizeof *v.key);
    for (uint32_t i = 0; i < p->box_n; i++) {
        offset[i] = 0;
        v.key[i] = p->boxes[i].bytes ? 0 : UINT64_MAX;
        for (uint32_t k = v.sections.from[i]; k < v.sections.to[i]; k++)
            v.total[k] = v.left[k] += psc_box_room(p->align, p->boxes[i].bytes);
    }
    return v;
}

static void test_valleys(void)
{
    uint64_t seed = test_seed(), expected[90], offset[90];
    uint32_t turn[90];
    unsigned above = 0;
    for (unsigned round = 0; round < 320; round++) {
        struct psc_arena arena = {0};
        struct boxes_shape shape = {.n = 10 + round % 9 * 10, .steps = 40, .life_max = round % 3 ? 20 : 4, .unit = round % 2 ? 64 : 1,
                                    .bytes_max = round % 4 ? 4096 : 256, .align = round % 2 * 64, .zeros = round % 5 == 0};
        struct psc_offsets_problem p = boxes_random(&arena, seed + round, &shape);
        struct psc_valley_setting setting = {(uint8_t)(round / 2 % PSC_VALLEY_WEIGHT_N), round % 2};
        struct psc_beside beside;
        uint64_t looks = UINT64_MAX, few = 1;
        p.align = MAX(p.align, 1);
        g_test_message("seed %" G_GUINT64_FORMAT " + %u", seed, round);
        g_assert_true(psc_offsets_sort(&p, &arena) && psc_beside_build(&beside, &p, &arena) && psc_beside_list(&beside, &arena));
        struct plain_valleys plain = begin_plainly(&p, &arena, expected);
        uint64_t height = naive_valleys(&plain, setting, expected);
        struct psc_valleys *valleys = psc_valleys_new(&beside, &arena);
        g_assert_nonnull(valleys);
        g_assert_false(psc_valleys_fill(valleys, &setting, height, &looks, offset, turn));
        g_assert_false(psc_valleys_fill(valleys, &setting, UINT64_MAX, &few, offset, turn));
        g_assert_true(psc_valleys_fill(valleys, &setting, height + 1, &looks, offset, turn));
        g_assert_cmpmem(offset, p.box_n * sizeof *offset, expected, p.box_n * sizeof *expected);
        boxes_assert_apart(&p, offset);
        above += height > boxes_bound(&p, 0);
        psc_arena_release(&arena);
    }
    g_assert_cmpuint(above, >, 50);
}

/* More may begin at one level than are looked at together. */
static void test_many_valleys(void)
{
    enum { N = 3000 };
    struct psc_arena arena = {0};
    struct boxes_shape shape = {.n = N, .steps = 700, .life_max = 3, .bytes_max = 4096, .unit = 512};
    struct psc_offsets_problem p = boxes_random(&arena, test_seed(), &shape);
    struct psc_offsets packed = {.offset = psc_arena_alloc(&arena, N, sizeof *packed.offset),
                                 .turn = psc_arena_alloc(&arena, N, sizeof *packed.turn)};
    struct psc_beside beside;
    uint64_t looks = UINT64_MAX;
    p.align = 1;
    g_assert_true(psc_offsets_sort(&p, &arena) && psc_beside_build(&beside, &p, &arena) && psc_beside_list(&beside, &arena));
    struct psc_valleys *valleys = psc_valleys_new(&beside, &arena);
    for (unsigned k = 0; k < 2 * PSC_VALLEY_WEIGHT_N; k++) {
        struct psc_valley_setting setting = {(uint8_t)(k / 2), k % 2};
        bool *taken = g_new0(bool, N);
        g_assert_true(psc_valleys_fill(valleys, &setting, UINT64_MAX, &looks, packed.offset, packed.turn));
        boxes_assert_apart(&p, packed.offset);
        for (uint32_t i = 0; i < N; i++) {
            g_assert_cmpuint(packed.turn[i], <, N);
            g_assert_false(taken[packed.turn[i]]);
            taken[packed.turn[i]] = true;
        }
        g_free(taken);
    }
    psc_arena_release(&arena);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/core/plan/offsets/one-by-one/as-when-gathered-and-sorted", test_place);
    g_test_add_func("/core/plan/offsets/one-by-one/a-full-shelf", test_full_shelf);
    g_test_add_func("/core/plan/offsets/fitting-ends/beside-who-ends-nearest", test_inside);
    g_test_add_func("/core/plan/offsets/fitting-ends/as-written-down-plainly", test_inside_random);
    g_test_add_func("/core/plan/offsets/valleys/as-written-down-plainly", test_valleys);
    g_test_add_func("/core/plan/offsets/valleys/many-at-one-level", test_many_valleys);
    return g_test_run();
}
