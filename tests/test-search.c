#include "core/plan/offsets/descend.h"

#include "core/base/hash.h"
#include "tests/boxes.h"
#include "tests/util.h"

#include <string.h>

static struct psc_offsets pack(struct psc_arena *arena, const struct psc_offsets_problem *p,
                               const struct psc_offsets_budget *budget)
{
    struct psc_offsets packed;
    struct psc_error error = {0};
    if (psc_offsets_pack(arena, p, psc_packer_find("optimal"), budget, &packed, &error) ||
        psc_offsets_check(p, &packed, &error))
        g_error("%s", error.text);
    return packed;
}

static struct psc_offsets_problem sorted(struct psc_arena *arena, const struct psc_offsets_problem *problem)
{
    struct psc_offsets_problem p = *problem;
    p.align = MAX(p.align, 1);
    g_assert_true(psc_offsets_sort(&p, arena));
    return p;
}

/* ---- sections ---------------------------------------------------------------------------------------------------- */

static void test_drawing(void)
{
    struct psc_arena arena = {0};
    struct psc_offsets_problem text = boxes_text(&arena, "0 2 8, 0 3 8, 2 4 8, 4 5 8, 1 5 0"), p = sorted(&arena, &text);
    struct psc_sections s;
    g_assert_true(psc_sections_build(&s, &p, &arena));
    g_assert_cmpuint(s.section_n, ==, 3);
    g_assert_cmpuint(s.part_n, ==, 2);
    g_assert_cmpuint(s.part_at[0], ==, 0);
    g_assert_cmpuint(s.part_at[1], ==, 2);
    g_assert_cmpuint(s.part_at[2], ==, 3);
    g_assert_cmpmem(s.from, 5 * sizeof *s.from, ((uint32_t[]){0, 0, 1, 2, s.from[4]}), 5 * sizeof *s.from);
    g_assert_cmpmem(s.to, 5 * sizeof *s.to, ((uint32_t[]){1, 2, 2, 3, s.from[4]}), 5 * sizeof *s.to);
    psc_arena_release(&arena);
}

static uint32_t part_of(const struct psc_sections *s, uint32_t i)
{
    uint32_t part = 0;
    while (s->part_at[part + 1] <= s->from[i])
        part++;
    return part;
}

static unsigned assert_sections(const struct psc_offsets_problem *p, const struct psc_sections *s)
{
    unsigned apart = 0;
    for (uint32_t i = 0; i < p->box_n; i++)
        for (uint32_t k = 0; k < p->box_n; k++) {
            bool meet = p->boxes[i].begin < p->boxes[k].end && p->boxes[k].begin < p->boxes[i].end;
            if (!p->boxes[i].bytes || !p->boxes[k].bytes)
                continue;
            g_assert_cmpint(meet, ==, s->from[i] < s->to[k] && s->from[k] < s->to[i]);
            if (meet)
                g_assert_cmpuint(part_of(s, i), ==, part_of(s, k));
            apart += part_of(s, i) != part_of(s, k);
        }
    return apart;
}

static void test_sections(void)
{
    uint64_t seed = test_seed();
    unsigned apart = 0;
    for (unsigned round = 0; round < 200; round++) {
        struct psc_arena arena = {0};
        struct boxes_shape shape = {.n = 1 + round % 40, .steps = 30, .life_max = 1 + round % 9, .bytes_max = 9, .zeros = true};
        struct psc_offsets_problem random = boxes_random(&arena, seed + round, &shape), p = sorted(&arena, &random);
        struct psc_sections s;
        g_test_message("seed %" G_GUINT64_FORMAT " + %u", seed, round);
        g_assert_true(psc_sections_build(&s, &p, &arena));
        apart += assert_sections(&p, &s);
        psc_arena_release(&arena);
    }
    g_assert_cmpuint(apart, >, 1000);
}

/* ---- against every order -------------------------------------------------------------------------------------------- */

static const struct boxes_shape small[] = {
    {.n = 7, .steps = 6, .life_max = 4, .bytes_max = 9},
    {.n = 8, .steps = 7, .life_max = 3, .bytes_max = 6},
    {.n = 6, .steps = 5, .life_max = 4, .bytes_max = 40, .align = 4},
    {.n = 7, .steps = 6, .life_max = 4, .bytes_max = 40, .aligns = true},
    {.n = 7, .steps = 6, .life_max = 4, .bytes_max = 256, .unit = 64, .fixed = true},
    {.n = 7, .steps = 6, .life_max = 4, .bytes_max = 256, .unit = 64, .fixed = true, .aligns = true, .align = 4},
    {.n = 8, .steps = 20, .life_max = 5, .bytes_max = 9, .zeros = true},
};

/* `optimal` finds the lowest of all packings and says that it has. */
static void test_lowest(gconstpointer data)
{
    const struct boxes_shape *shape = data;
    uint64_t seed = test_seed();
    unsigned by_bound = 0, by_search = 0;
    for (unsigned round = 0; round < 100; round++) {
        struct psc_arena arena = {0};
        struct psc_offsets_problem p = boxes_random(&arena, seed + round, shape);
        struct psc_offsets packed = pack(&arena, &p, NULL);
        g_test_message("seed %" G_GUINT64_FORMAT " + %u", seed, round);
        g_assert_cmpuint(packed.spaces[0].height, ==, boxes_lowest(&p));
        by_bound += packed.spaces[0].proof == PSC_PROOF_BOUND;
        by_search += packed.spaces[0].proof == PSC_PROOF_SEARCH;
        psc_arena_release(&arena);
    }
    g_test_message("%u at the bound, %u by search", by_bound, by_search);
    g_assert_cmpuint(by_bound + by_search, ==, 100);
}

/* Problems whose lowest height is above the bound are rare: these and what is near them. */
static const char *const gaps[] = {
    "0 2 2, 0 1 2, 1 4 1, 1 3 1, 2 3 1, 2 4 1, 3 5 2, 4 5 2",
    "0 1 4, 0 2 2, 1 3 3, 1 4 1, 2 4 1, 2 3 1, 3 5 4, 4 5 2",
    "0 1 7, 0 3 5, 1 4 5, 1 2 2, 2 3 1, 2 5 1, 3 4 6, 4 5 11",
};

static void test_gap(gconstpointer data)
{
    uint64_t state = test_seed();
    unsigned above = 0;
    g_test_message("seed %" G_GUINT64_FORMAT, state);
    for (unsigned round = 0; round < 60; round++) {
        struct psc_arena arena = {0};
        struct psc_offsets_problem p = boxes_text(&arena, data);
        struct psc_box boxes[8];
        memcpy(boxes, p.boxes, sizeof boxes);
        for (uint32_t i = 0; i < 8; i++) /* the first is the problem itself, then sizes a little off */
            boxes[i].bytes = boxes[i].bytes * 40 + (round ? psc_random_next(&state) % (round % 12 + 1) : 0);
        p.boxes = boxes;
        struct psc_offsets packed = pack(&arena, &p, NULL);
        uint64_t lowest = boxes_lowest(&p);
        g_assert_cmpuint(packed.spaces[0].height, ==, lowest);
        g_assert_cmpint(packed.spaces[0].proof, ==, lowest > packed.spaces[0].bound ? PSC_PROOF_SEARCH : PSC_PROOF_BOUND);
        if (!round)
            g_assert_cmpuint(lowest, >, packed.spaces[0].bound);
        above += lowest > packed.spaces[0].bound;
        psc_arena_release(&arena);
    }
    g_test_message("%u above the bound", above);
    g_assert_cmpuint(above, >, 1);
}

/* Each setting answers rightly on either side of the lowest height. Parts are put together. */
static bool fits(const struct psc_offsets_problem *p, uint64_t capacity, const struct psc_search_setting *setting,
                 struct psc_arena *arena, uint64_t *offset)
{
    struct psc_sections s;
    bool all = true;
    g_assert_true(psc_sections_build(&s, p, arena));
    for (uint32_t part = 0; part < s.part_n; part++) {
        uint32_t boxes[8], n = 0;
        uint64_t work = 1000000;
        struct psc_search *search;
        enum psc_search_answer answer;
        for (uint32_t k = 0; k < p->box_n; k++)
            if (p->boxes[p->by_begin[k]].bytes && part_of(&s, p->by_begin[k]) == part)
                boxes[n++] = p->by_begin[k];
        g_assert_cmpint(psc_search_begin(p, &s, part, boxes, n, &search), ==, PSC_OK);
        answer = psc_search_run(search, capacity, setting, &(struct psc_search_limits){100000, &work, 0});
        g_assert_cmpuint(work, <, 1000000);
        g_assert_true(answer == PSC_SEARCH_FOUND || answer == PSC_SEARCH_NONE);
        if (answer == PSC_SEARCH_FOUND)
            g_assert_cmpuint(psc_search_get(search, offset), <=, capacity);
        all = all && answer == PSC_SEARCH_FOUND;
        psc_search_end(search);
    }
    return all;
}

static void test_settings(void)
{
    uint64_t seed = test_seed(), offset[8] = {0};
    unsigned tight = 0, n = 0;
    for (unsigned round = 0; round < 20 * G_N_ELEMENTS(small); round++) {
        struct psc_arena arena = {0};
        struct psc_offsets_problem random = boxes_random(&arena, seed + round, &small[round % G_N_ELEMENTS(small)]);
        struct psc_offsets_problem p = sorted(&arena, &random);
        uint64_t lowest = boxes_lowest(&p), bound = boxes_bound(&p, 0);
        g_test_message("seed %" G_GUINT64_FORMAT " + %u", seed, round);
        for (uint8_t k = 0; k < PSC_SEARCH_ORDER_N * PSC_SEARCH_VALLEY_N; k++, n++) {
            struct psc_search_setting setting = {k / PSC_SEARCH_VALLEY_N, k % PSC_SEARCH_VALLEY_N, round % 3 * 40, round};
            g_assert_true(fits(&p, lowest, &setting, &arena, offset));
            boxes_assert_apart(&p, offset);
            g_assert_false(fits(&p, lowest - 1, &setting, &arena, offset));
            tight += lowest > bound;
        }
        psc_arena_release(&arena);
    }
    g_assert_cmpuint(n, ==, 16 * 20 * G_N_ELEMENTS(small));
    g_assert_cmpuint(tight, >, 0);
}

/* ---- budgets --------------------------------------------------------------------------------------------------------- */

static const struct boxes_shape hard = {.n = 120, .steps = 60, .life_max = 30, .bytes_max = 1000};

/* More work is never worse, and what a budget gives is the same each time. */
static void test_work(void)
{
    uint64_t seed = test_seed();
    unsigned better = 0;
    for (unsigned round = 0; round < 10; round++) {
        struct psc_arena arena = {0};
        struct psc_offsets_problem p = boxes_random(&arena, seed + round, &hard);
        uint64_t before = UINT64_MAX;
        g_test_message("seed %" G_GUINT64_FORMAT " + %u", seed, round);
        for (uint64_t work = 1; work < 300000; work = work * 7 + 3) {
            struct psc_offsets packed = pack(&arena, &p, &(struct psc_offsets_budget){.work = work}),
                               again = pack(&arena, &p, &(struct psc_offsets_budget){.work = work});
            g_assert_cmpmem(packed.offset, p.box_n * sizeof *packed.offset, again.offset, p.box_n * sizeof *again.offset);
            g_assert_cmpuint(packed.spaces[0].height, <=, before);
            g_assert_cmpuint(packed.spaces[0].work, <=, work);
            g_assert_cmpuint(packed.spaces[0].work, ==, again.spaces[0].work);
            better += before != UINT64_MAX && packed.spaces[0].height < before;
            before = packed.spaces[0].height;
        }
        psc_arena_release(&arena);
    }
    g_assert_cmpuint(better, >, 0);
}

/* A limit of time alone ends it in time, not at the default work. */
static void test_time(void)
{
    unsigned by_time = 0;
    for (unsigned round = 0; round < 12; round++) {
        struct psc_arena arena = {0};
        struct psc_offsets_problem p = boxes_random(&arena, round, &(struct boxes_shape){.n = 300, .steps = 100, .life_max = 8 + 8 * round,
                                                                                          .bytes_max = 100000});
        uint64_t before = psc_search_clock(), spent;
        struct psc_offsets packed = pack(&arena, &p, &(struct psc_offsets_budget){.milliseconds = 1});
        spent = psc_search_clock() - before;
        g_assert_cmpuint(spent, <, 2000000000u); /* generous: a slow machine under a sanitizer */
        g_test_message("%s after %.1f ms", psc_proof_name(packed.spaces[0].proof), (double)spent / 1e6);
        if (packed.spaces[0].proof == PSC_PROOF_NONE)
            g_assert_cmpuint(spent, >=, 1000000u);
        by_time += packed.spaces[0].proof == PSC_PROOF_NONE;
        psc_arena_release(&arena);
    }
    g_assert_cmpuint(by_time, >, 0);
}

/* A capacity that is large enough ends the search; one that is proved to be too small does not. */
static void test_goal(void)
{
    struct psc_arena arena = {0};
    struct psc_offsets_problem p = boxes_random(&arena, 3, &hard);
    struct psc_offsets best = pack(&arena, &p, NULL), packed;
    uint64_t bound = best.spaces[0].bound;
    p.capacity = (const uint64_t[]){bound + bound / 10};
    packed = pack(&arena, &p, NULL);
    g_assert_true(packed.spaces[0].fits);
    g_assert_cmpuint(packed.spaces[0].work, <=, best.spaces[0].work);
    p.capacity = (const uint64_t[]){bound - 1};
    packed = pack(&arena, &p, NULL);
    g_assert_false(packed.spaces[0].fits);
    g_assert_cmpuint(packed.spaces[0].height, ==, best.spaces[0].height);
    psc_arena_release(&arena);
}

/* Two are alive at once, many times over, too many for heuristics that take long: the bound is reached in time that grows
 * with the length alone. */
static void test_long(void)
{
    enum { N = 40000 };
    struct psc_arena arena = {0};
    struct psc_box *boxes = psc_arena_alloc(&arena, N, sizeof *boxes);
    struct psc_offsets_problem p = {.boxes = boxes, .box_n = N, .step_n = N + 3};
    uint64_t state = test_seed();
    struct psc_offsets packed;
    struct psc_error error = {0};
    g_assert_nonnull(boxes);
    for (uint32_t i = 0; i < N; i++)
        boxes[i] = (struct psc_box){64 * (1 + psc_random_next(&state) % 256) << psc_random_next(&state) % 4, i, i + 2};
    if (psc_offsets_pack(&arena, &p, psc_packer_find("optimal"), NULL, &packed, &error) ||
        psc_offsets_verify(&p, &packed, &error))
        g_error("%s", error.text);
    g_test_message("%" G_GUINT64_FORMAT " looks", packed.spaces[0].work);
    g_assert_cmpint(packed.spaces[0].proof, ==, PSC_PROOF_BOUND);
    g_assert_cmpstr(packed.spaces[0].by, ==, "search");
    g_assert_cmpuint(packed.spaces[0].work, <, 20 * N);
    psc_arena_release(&arena);
}

/* ---- out of memory --------------------------------------------------------------------------------------------------- */

static enum psc_status pack_once(void *data)
{
    struct psc_arena arena = {0};
    struct psc_offsets packed;
    enum psc_status status = psc_offsets_pack(&arena, data, psc_packer_find("optimal"),
                                              &(struct psc_offsets_budget){.work = 20000}, &packed, NULL);
    psc_arena_release(&arena);
    return status;
}

/* The first of a kind for which the heuristics leave something to be searched. */
static struct psc_offsets_problem one_to_search(struct psc_arena *arena, const struct boxes_shape *shape)
{
    for (uint64_t seed = 11;; seed++) {
        struct psc_offsets_problem p = boxes_random(arena, seed, shape);
        struct psc_offsets packed;
        g_assert_cmpint(psc_offsets_pack(arena, &p, psc_packer_find("optimal"), NULL, &packed, NULL), ==, PSC_OK);
        if (packed.spaces[0].work)
            return p;
    }
}

static void test_oom(void)
{
    struct psc_arena arena = {0};
    struct psc_offsets_problem p = one_to_search(&arena, &hard);
    g_assert_cmpuint(test_oom_loop(pack_once, &p), >, 20);
    p = one_to_search(&arena, &(struct boxes_shape){.n = 700, .steps = 1400, .life_max = 12, .bytes_max = 100});
    g_assert_cmpuint(test_oom_loop(pack_once, &p), >, 20);
    psc_arena_release(&arena);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/core/plan/offsets/sections/as-in-the-drawing", test_drawing);
    g_test_add_func("/core/plan/offsets/sections/boxes-meet-where-they-share-one", test_sections);
    for (size_t k = 0; k < G_N_ELEMENTS(small); k++) {
        char *path = g_strdup_printf("/core/plan/offsets/optimal/is-the-lowest-of-all-orders/%zu", k);
        g_test_add_data_func(path, &small[k], test_lowest);
        g_free(path);
    }
    for (size_t k = 0; k < G_N_ELEMENTS(gaps); k++) {
        char *path = g_strdup_printf("/core/plan/offsets/optimal/is-above-the-bound-where-it-must/%zu", k);
        g_test_add_data_func(path, gaps[k], test_gap);
        g_free(path);
    }
    g_test_add_func("/core/plan/offsets/search/every-setting-answers-rightly", test_settings);
    g_test_add_func("/core/plan/offsets/optimal/more-work-is-never-worse-and-repeats", test_work);
    g_test_add_func("/core/plan/offsets/optimal/stops-in-time", test_time);
    g_test_add_func("/core/plan/offsets/optimal/a-capacity-ends-the-search", test_goal);
    g_test_add_func("/core/plan/offsets/optimal/long-chains-reach-the-bound", test_long);
    g_test_add_func("/core/plan/offsets/search/oom", test_oom);
    return g_test_run();
}
