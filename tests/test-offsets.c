#include "core/plan/offsets/offsets.h"

#include "core/base/hash.h"
#include "core/plan/offsets/spans.h"
#include "core/plan/offsets/strategies.h"
#include "tests/boxes.h"
#include "tests/util.h"

#include <string.h>

static struct psc_offsets pack(struct psc_arena *arena, const struct psc_offsets_problem *p, const char *packer)
{
    struct psc_offsets packed;
    struct psc_error error = {0};
    struct psc_offsets_budget budget = {.work = 20000};
    if (psc_offsets_pack(arena, p, psc_packer_find(packer), &budget, &packed, &error) ||
        psc_offsets_check(p, &packed, &error))
        g_error("%s: %s", packer, error.text);
    return packed;
}

/* ---- small problems ---------------------------------------------------------------------------------------------- */

struct row {
    const char *path, *boxes, *packer, *offsets; /* then height / bound */
};
static const struct row rows[] = {
    {"the-drawing-of-the-header", "0 2 16, 0 2 16, 2 5 32, 3 5 16", "best-fit", "0 16 0 32 = 48/48 lower bound"},
    {"no-boxes-need-no-bytes", "", "optimal", "= 0/0 lower bound"},
    {"boxes-without-bytes-lie-at-the-bottom", "0 1 8, 0 1 0, 0 1 8", "best-fit", "0 0 8 = 16/16 lower bound"},
    {"best-fit-takes-the-smallest-hole", "0 2 32, 0 9 4, 0 2 16, 0 9 4, 2 9 16", "best-fit",
     "0 32 36 52 36 = 56/56 lower bound"},
    {"linear-scan-takes-the-lowest-hole", "0 2 32, 0 9 4, 0 2 16, 0 9 4, 2 9 16", "linear-scan",
     "0 32 36 52 0 = 56/56 lower bound"},
    {"best-fit-looks-into-larger-classes", "0 2 100, 0 9 4, 2 9 33", "best-fit", "0 100 0 = 104/104 lower bound"},
    {"neighbours-join-when-they-are-given-back", "0 2 8, 0 3 8, 0 1 8, 0 9 4, 3 9 24", "best-fit",
     "0 8 16 24 0 = 28/28 lower bound"},
    {"the-highest-block-grows", "0 9 8, 0 2 8, 2 9 24", "best-fit", "0 8 8 = 32/32 lower bound"},
    {"touching-lives-do-not-meet", "0 2 8, 2 4 8", "greedy-size", "0 0 = 8/8 lower bound"},
    {"the-largest-is-placed-first", "0 3 8, 2 5 16, 4 7 8", "greedy-size", "16 0 16 = 24/24 lower bound"},
    {"the-fullest-step-is-placed-first", "0 2 40, 3 6 8, 3 5 24, 4 6 20", "greedy-breadth", "0 44 0 24 = 52/52 lower bound"},
    {"a-fixed-box-stays", "0 3 8 @8, 0 3 8, 0 3 8", "best-fit", "8 0 16 = 24/24 lower bound"},
    {"a-fixed-box-raises-the-bound", "0 1 8 @100", "greedy-size", "100 = 108/108 lower bound"},
    {"a-box-is-aligned-as-it-asks", "0 2 4, 0 2 4 ^16", "best-fit", "0 16 = 20/8 best known"},
    {"a-gap-is-used-only-when-the-aligned-box-fits", "0 9 4 @0, 0 9 8 @20, 0 9 8 ^8, 0 9 4 ^16", "linear-scan",
     "0 20 8 16 = 28/28 lower bound"},
    {"chains-take-turns-at-both-ends", "0 2 8, 1 3 24, 2 4 16, 3 5 16, 4 6 8, 5 7 24", "optimal",
     NULL},
};

static char *text_of(const struct psc_offsets_problem *p, const struct psc_offsets *packed)
{
    GString *out = g_string_new(NULL);
    for (uint32_t i = 0; i < p->box_n; i++)
        g_string_append_printf(out, "%" G_GUINT64_FORMAT " ", packed->offset[i]);
    g_string_append_printf(out, "= %" G_GUINT64_FORMAT "/%" G_GUINT64_FORMAT " %s", packed->spaces[0].height,
                           packed->spaces[0].bound, psc_proof_name(packed->spaces[0].proof));
    return g_string_free(out, FALSE);
}

static void test_row(gconstpointer data)
{
    const struct row *row = data;
    struct psc_arena arena = {0};
    struct psc_offsets_problem p = boxes_text(&arena, row->boxes);
    struct psc_offsets packed = pack(&arena, &p, row->packer);
    char *text = text_of(&p, &packed);
    if (row->offsets)
        g_assert_cmpstr(text, ==, row->offsets);
    else
        g_assert_cmpuint(packed.spaces[0].height, ==, packed.spaces[0].bound);
    g_free(text);
    psc_arena_release(&arena);
}

/* ---- properties ---------------------------------------------------------------------------------------------------- */

static const struct boxes_shape shapes[] = {
    {.n = 12, .steps = 8, .life_max = 4, .bytes_max = 64},
    {.n = 40, .steps = 20, .life_max = 12, .bytes_max = 1000, .align = 16},
    {.n = 60, .steps = 60, .life_max = 5, .bytes_max = 300, .unit = 4, .zeros = true},
    {.n = 60, .steps = 30, .life_max = 30, .bytes_max = 4096, .unit = 64, .align = 64, .fixed = true},
    {.n = 50, .steps = 25, .life_max = 10, .bytes_max = 500, .aligns = true, .zeros = true},
    {.n = 50, .steps = 25, .life_max = 10, .bytes_max = 512, .unit = 64, .aligns = true, .fixed = true, .align = 4},
    {.n = 60, .steps = 25, .life_max = 10, .bytes_max = 512, .spaces = 3},
    {.n = 60, .steps = 25, .life_max = 10, .bytes_max = 512, .unit = 64, .spaces = 4, .fixed = true, .aligns = true},
    {.n = 90, .steps = 3, .life_max = 3, .bytes_max = 512},
};

static void assert_spaces(const struct psc_offsets_problem *p, const struct psc_offsets *packed)
{
    uint64_t all[8] = {0};
    for (uint32_t i = 0; i < p->box_n; i++)
        all[p->space ? p->space[i] : 0] += psc_box_room(MAX(p->align, 1), p->boxes[i].bytes) +
                                           (p->aligns ? p->aligns[i] : 0);
    g_assert_cmpuint(packed->space_n, ==, MAX(p->space_n, 1));
    for (uint32_t s = 0; s < packed->space_n; s++) {
        const struct psc_offsets_space *space = &packed->spaces[s];
        g_assert_cmpuint(space->bound, ==, boxes_bound(p, s));
        g_assert_cmpuint(space->height, >=, space->bound);
        g_assert_cmpint(space->proof == PSC_PROOF_BOUND, ==, space->height == space->bound);
        if (!p->fixed) /* never worse than a place for each */
            g_assert_cmpuint(space->height, <=, all[s]);
    }
}

static void assert_turns(const struct psc_offsets_problem *p, const struct psc_offsets *packed)
{
    for (uint32_t s = 0; s < packed->space_n; s++) {
        GHashTable *seen = g_hash_table_new(NULL, NULL);
        for (uint32_t i = 0; i < p->box_n; i++)
            if (!p->space || p->space[i] == s) {
                g_assert_true(g_hash_table_add(seen, GUINT_TO_POINTER(packed->turn[i])));
                g_assert_cmpuint(packed->turn[i], <, packed->spaces[s].box_n);
            }
        g_assert_cmpuint(g_hash_table_size(seen), ==, packed->spaces[s].box_n);
        g_hash_table_destroy(seen);
    }
}

static void test_random(gconstpointer data)
{
    const struct psc_packer *packer = data;
    uint64_t seed = test_seed();
    unsigned n = 0;
    for (unsigned round = 0; round < 40; round++)
        for (size_t k = 0; k < G_N_ELEMENTS(shapes); k++, n++) {
            struct psc_arena arena = {0};
            struct psc_offsets_problem p = boxes_random(&arena, seed + n, &shapes[k]);
            g_test_message("seed %" G_GUINT64_FORMAT " + %u", seed, n);
            struct psc_offsets packed = pack(&arena, &p, packer->name), again = pack(&arena, &p, packer->name);
            assert_spaces(&p, &packed);
            assert_turns(&p, &packed);
            g_assert_cmpmem(packed.offset, p.box_n * sizeof *packed.offset, again.offset, p.box_n * sizeof *again.offset);
            g_assert_cmpmem(packed.turn, p.box_n * sizeof *packed.turn, again.turn, p.box_n * sizeof *again.turn);
            psc_arena_release(&arena);
        }
    g_assert_cmpuint(n, ==, 40 * G_N_ELEMENTS(shapes));
}

/* No strategy is below the lowest height there is. */
static void test_exhaustive(void)
{
    uint64_t seed = test_seed();
    unsigned above = 0, rounds = 0;
    for (; rounds < 300; rounds++) {
        struct psc_arena arena = {0};
        struct boxes_shape shape = {.n = 3 + rounds % 5, .steps = 6, .life_max = 4, .bytes_max = 9, .align = rounds % 3 ? 0 : 4};
        struct psc_offsets_problem p = boxes_random(&arena, seed + rounds, &shape);
        uint64_t lowest = boxes_lowest(&p);
        g_test_message("seed %" G_GUINT64_FORMAT " + %u", seed, rounds);
        for (const struct psc_packer *packer = psc_packers; packer->name; packer++) {
            struct psc_offsets packed = pack(&arena, &p, packer->name);
            g_assert_cmpuint(packed.spaces[0].height, >=, lowest);
            above += packed.spaces[0].height > lowest;
        }
        psc_arena_release(&arena);
    }
    g_assert_cmpuint(above, >, 0); /* the comparison can tell */
}

/* ---- as gallocr -------------------------------------------------------------------------------------------------------- */

struct gap { uint64_t at, bytes; };

static void take_out(GArray *gaps, guint k, uint64_t bytes)
{
    struct gap *gap = &g_array_index(gaps, struct gap, k);
    gap->at += bytes;
    gap->bytes -= bytes;
    if (!gap->bytes)
        g_array_remove_index(gaps, k);
}

static void put_back(GArray *gaps, struct gap gap)
{
    guint k = 0;
    while (g_array_index(gaps, struct gap, k).at < gap.at)
        k++;
    g_array_insert_val(gaps, k, gap);
    for (guint i = k + 1; i > k - (k > 0); i--) { /* joins the one above, then the one below */
        struct gap *low = &g_array_index(gaps, struct gap, i - 1), *high = &g_array_index(gaps, struct gap, i);
        if (low->at + low->bytes == high->at) {
            low->bytes += high->bytes;
            g_array_remove_index(gaps, i);
        }
    }
}

/* ggml's rule, written down from its description: the last gap of a sorted array has no end and is taken when no other
 * is large enough; of the others the smallest, the last of equals. */
static void pack_as_gallocr(const struct psc_offsets_problem *p, uint64_t *offset)
{
    GArray *gaps = g_array_new(FALSE, FALSE, sizeof(struct gap));
    struct gap all = {0, PSC_BYTES_MAX};
    uint32_t e = 0;
    g_array_append_val(gaps, all);
    for (uint32_t k = 0; k < p->box_n; k++) {
        uint32_t i = p->by_begin[k];
        guint best;
        for (; p->boxes[p->by_end[e]].end <= p->boxes[i].begin; e++)
            put_back(gaps, (struct gap){offset[p->by_end[e]], p->boxes[p->by_end[e]].bytes});
        best = gaps->len - 1;
        for (guint g = 0; g + 1 < gaps->len; g++) {
            uint64_t bytes = g_array_index(gaps, struct gap, g).bytes;
            if (bytes >= p->boxes[i].bytes && bytes <= g_array_index(gaps, struct gap, best).bytes)
                best = g;
        }
        offset[i] = g_array_index(gaps, struct gap, best).at;
        take_out(gaps, best, p->boxes[i].bytes);
    }
    g_array_free(gaps, TRUE);
}

static void test_gallocr(void)
{
    uint64_t seed = test_seed(), offset[90];
    unsigned holes = 0;
    for (unsigned round = 0; round < 400; round++) {
        struct psc_arena arena = {0};
        struct boxes_shape shape = {.n = 90, .steps = 60, .life_max = 4 + round % 20, .bytes_max = 20 + round % 7 * 200};
        struct psc_offsets_problem p = boxes_random(&arena, seed + round, &shape);
        struct psc_offsets packed = pack(&arena, &p, "best-fit");
        g_test_message("seed %" G_GUINT64_FORMAT " + %u", seed, round);
        p.align = 1;
        g_assert_true(psc_offsets_sort(&p, &arena));
        pack_as_gallocr(&p, offset);
        g_assert_cmpmem(packed.offset, sizeof offset, offset, sizeof offset);
        holes += packed.spaces[0].height > packed.spaces[0].bound;
        psc_arena_release(&arena);
    }
    g_assert_cmpuint(holes, >, 100);
}

/* ---- spans ----------------------------------------------------------------------------------------------------------- */

static void test_spans(void)
{
    enum { N = 200 };
    struct psc_arena arena = {0};
    struct psc_spans spans;
    uint64_t state = test_seed(), lo[N], hi[N];
    bool in[N] = {false};
    unsigned met = 0, put = 0;
    g_assert_true(psc_spans_init(&spans, N, &arena));
    for (unsigned round = 0; round < 20000; round++) {
        uint32_t i = (uint32_t)(psc_random_next(&state) % N), first = PSC_NONE;
        uint64_t want = 1 + psc_random_next(&state) % 40;
        if (in[i]) {
            psc_spans_remove(&spans, i);
            in[i] = false;
        } else {
            uint64_t at = psc_random_next(&state) % 4000, end = at + 1 + psc_random_next(&state) % 40;
            bool free = true;
            for (uint32_t k = 0; k < N; k++)
                free = free && !(in[k] && lo[k] < end && at < hi[k]);
            uint32_t other = psc_spans_insert(&spans, i, at, end);
            g_assert_cmpint(other == PSC_NONE, ==, free);
            g_assert_true(free || (in[other] && lo[other] < end && at < hi[other]));
            met += !free;
            put += free;
            in[i] = free;
            lo[i] = at;
            hi[i] = end;
        }
        for (uint32_t k = 0; k < N; k++)
            if (in[k] && hi[k] - lo[k] >= want && (first == PSC_NONE || lo[k] < lo[first]))
                first = k;
        g_assert_cmpuint(psc_spans_first(&spans, want), ==, first);
    }
    g_assert_cmpuint(met, >, 100);
    g_assert_cmpuint(put, >, 1000);
    psc_arena_release(&arena);
}

/* ---- what is refused ---------------------------------------------------------------------------------------------------- */

static void assert_refused(const struct psc_offsets_problem *p, enum psc_status status, const char *words)
{
    struct psc_arena arena = {0};
    struct psc_offsets packed = {0};
    struct psc_error error = {0};
    g_assert_cmpint(psc_offsets_pack(&arena, p, psc_packer_find("best-fit"), NULL, &packed, &error), ==, status);
    g_test_message("%s", error.text);
    g_assert_nonnull(strstr(error.text, words));
    g_assert_null(packed.offset);
    psc_arena_release(&arena);
}

static void test_refused(void)
{
    struct psc_arena arena = {0};
    struct psc_offsets_problem p = boxes_text(&arena, "0 2 8, 3 3 8");
    assert_refused(&p, PSC_ERR_USAGE, "box 1 lives in the steps [3, 3)");
    p = boxes_text(&arena, "0 2 8, 1 3 8");
    p.step_n = 2;
    assert_refused(&p, PSC_ERR_USAGE, "box 1 lives in the steps [1, 3)");
    p = boxes_text(&arena, "0 2 8 ^3");
    assert_refused(&p, PSC_ERR_USAGE, "box 0 is aligned to 3 bytes");
    p = boxes_text(&arena, "0 2 8 @4 ^8");
    assert_refused(&p, PSC_ERR_USAGE, "no multiple of its alignment of 8 bytes");
    p = boxes_text(&arena, "0 2 8 @0, 2 3 8 @4, 1 3 8 @4");
    assert_refused(&p, PSC_ERR_PLAN, "boxes 0 and 2 are fixed on the same bytes at the same time");
    p = boxes_text(&arena, "0 2 8");
    p.align = 12;
    assert_refused(&p, PSC_ERR_USAGE, "an alignment of 12 bytes");
    p = boxes_text(&arena, "0 2 1152921504606846976, 0 2 8");
    assert_refused(&p, PSC_ERR_TOO_BIG, "box 1");
    p = boxes_text(&arena, "0 2 18446744073709551615");
    assert_refused(&p, PSC_ERR_TOO_BIG, "box 0");
    p = boxes_text(&arena, "0 2 8 @18446744073709551608");
    assert_refused(&p, PSC_ERR_TOO_BIG, "fixed at byte 18446744073709551608");
    p = boxes_text(&arena, "0 2 8");
    p.space = (const uint8_t[]){1};
    assert_refused(&p, PSC_ERR_USAGE, "box 0 is in space 1 of 1");
    psc_arena_release(&arena);
}

static void test_capacity(void)
{
    struct psc_arena arena = {0};
    struct psc_offsets_problem p = boxes_text(&arena, "0 2 8, 0 2 8, 0 2 8");
    struct psc_offsets packed;
    p.space = (const uint8_t[]){0, 1, 1};
    p.space_n = 2;
    p.capacity = (const uint64_t[]){8, 15};
    packed = pack(&arena, &p, "best-fit");
    g_assert_true(packed.spaces[0].fits);
    g_assert_false(packed.spaces[1].fits);
    psc_arena_release(&arena);
}

/* All boxes in the middle one of three spaces: the same offsets as without spaces, and nothing in the others. */
static void test_one_of_spaces(void)
{
    uint64_t seed = test_seed();
    unsigned n = 0;
    for (unsigned round = 0; round < 20; round++) {
        struct psc_arena arena = {0};
        struct psc_offsets_problem p = boxes_random(&arena, seed + round, &shapes[round % 5]), in = p;
        in.space = memset(g_alloca(p.box_n), 1, p.box_n);
        in.space_n = 3;
        for (const struct psc_packer *packer = psc_packers; packer->name; packer++, n++) {
            struct psc_offsets alone = pack(&arena, &p, packer->name), packed = pack(&arena, &in, packer->name);
            g_assert_cmpmem(alone.offset, p.box_n * sizeof *alone.offset, packed.offset, p.box_n * sizeof *packed.offset);
            g_assert_cmpmem(&alone.spaces[0], sizeof *alone.spaces, &packed.spaces[1], sizeof *packed.spaces);
            g_assert_cmpuint(packed.spaces[0].height + packed.spaces[2].height, ==, 0);
            g_assert_cmpuint(packed.spaces[0].box_n + packed.spaces[2].box_n, ==, 0);
            g_assert_true(packed.spaces[0].fits && packed.spaces[2].fits);
        }
        psc_arena_release(&arena);
    }
    g_assert_cmpuint(n, ==, 100);
}

/* The naive check sees what it is there to see. */
static void test_check(void)
{
    struct psc_arena arena = {0};
    struct psc_offsets_problem p = boxes_text(&arena, "0 2 8, 1 3 8, 2 4 8 ^8");
    struct psc_offsets packed = pack(&arena, &p, "best-fit");
    struct psc_error error;
    uint64_t good[3];
    memcpy(good, packed.offset, sizeof good);
    packed.offset[1] = packed.offset[0] + 7;
    g_assert_cmpint(psc_offsets_check(&p, &packed, &error), ==, PSC_ERR_PLAN);
    g_assert_nonnull(strstr(error.text, "boxes 0 and 1 share the bytes [7, 8) and live at the same time in the steps [1, 2)"));
    memcpy(packed.offset, good, sizeof good);
    packed.offset[2] = 4;
    g_assert_cmpint(psc_offsets_check(&p, &packed, &error), ==, PSC_ERR_PLAN);
    g_assert_nonnull(strstr(error.text, "box 2 lies at byte 4"));
    memcpy(packed.offset, good, sizeof good);
    packed.spaces[0].height--;
    g_assert_cmpint(psc_offsets_check(&p, &packed, &error), ==, PSC_ERR_PLAN);
    packed.spaces[0].height++;
    memcpy(packed.offset, good, sizeof good);
    g_assert_cmpint(psc_offsets_check(&p, &packed, &error), ==, PSC_OK);
    p.fixed = (const uint64_t[]){64, PSC_OFFSET_FREE, PSC_OFFSET_FREE};
    g_assert_cmpint(psc_offsets_check(&p, &packed, &error), ==, PSC_ERR_PLAN);
    p.fixed = NULL;
    p.align = 1;
    packed.offset[0] = UINT64_MAX; /* as of a box that was never placed: its end does not fit into 64 bits */
    g_assert_cmpint(psc_offsets_check(&p, &packed, &error), ==, PSC_ERR_PLAN);
    g_assert_cmpint(psc_offsets_verify(&p, &packed, &error), ==, PSC_ERR_PLAN);
    psc_arena_release(&arena);
}

/* The sweep and the naive check are of one mind about packings that were damaged, and about whole ones. */
static void test_verify(void)
{
    uint64_t seed = test_seed(), state = seed;
    unsigned good = 0, bad = 0;
    g_test_message("seed %" G_GUINT64_FORMAT, seed);
    for (unsigned round = 0; round < 600; round++) {
        struct psc_arena arena = {0};
        struct psc_offsets_problem p = boxes_random(&arena, seed + round, &shapes[round % G_N_ELEMENTS(shapes)]);
        struct psc_offsets packed = pack(&arena, &p, "greedy-size");
        struct psc_error naive = {0}, sweep = {0};
        uint32_t i = (uint32_t)(psc_random_next(&state) % p.box_n);
        switch (psc_random_next(&state) % 4) {
        case 0: packed.offset[i] += psc_random_next(&state) % 64; break;
        case 1: packed.offset[i] = packed.offset[psc_random_next(&state) % p.box_n]; break;
        case 2: packed.spaces[0].height -= packed.spaces[0].height > 0; break;
        default: break;
        }
        enum psc_status a = psc_offsets_check(&p, &packed, &naive), b = psc_offsets_verify(&p, &packed, &sweep);
        g_assert_cmpint(a, ==, b);
        if (a)
            g_assert_true(*sweep.text && *naive.text);
        *(a ? &bad : &good) += 1;
        psc_arena_release(&arena);
    }
    g_assert_cmpuint(MIN(good, bad), >, 100);
}

/* ---- a million ----------------------------------------------------------------------------------------------------------- */

/* Boxes that overlap a little, boxes that all live to the end, holes of a hundred thousand sizes. */
static void many(struct psc_box *boxes, uint32_t n, int shape, uint64_t *state)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t life = 1 + (uint32_t)(psc_random_next(state) % 12);
        boxes[i].begin = shape == 2 && i < n / 2 ? 0 : i;
        boxes[i].end = shape == 0 ? i + life : shape == 1 ? 2 * n : i < n / 2 ? n / 2 + i % 2 * n : n / 2 + i + 1;
        boxes[i].bytes = 1 + psc_random_next(state) % 100000;
    }
}

static void pack_many(const char *packer, uint32_t n, bool verify)
{
    struct psc_arena arena = {0};
    struct psc_box *boxes = psc_arena_alloc(&arena, n, sizeof *boxes);
    uint64_t state = test_seed();
    g_assert_nonnull(boxes);
    for (int shape = verify ? 0 : 2; shape < 3; shape++) {
        struct psc_offsets_problem p = {.boxes = boxes, .box_n = n, .step_n = 2 * n + 12};
        struct psc_offsets packed;
        struct psc_error error = {0};
        many(boxes, n, shape, &state);
        if (psc_offsets_pack(&arena, &p, psc_packer_find(packer), &(struct psc_offsets_budget){.work = 1000}, &packed, &error))
            g_error("%s", error.text);
        if (verify)
            boxes_assert_apart(&p, packed.offset);
        if (psc_offsets_verify(&p, &packed, &error))
            g_error("%s", error.text);
        g_assert_cmpuint(packed.spaces[0].height, >=, packed.spaces[0].bound);
    }
    psc_arena_release(&arena);
}

/* Anything quadratic would take hours. */
static void test_million(gconstpointer data)
{
    pack_many(data, 50000, true);
    pack_many(data, 1000000, false);
}

/* ---- out of memory --------------------------------------------------------------------------------------------------------- */

struct oom {
    const struct psc_offsets_problem *problem;
    const struct psc_packer *packer;
};

static enum psc_status pack_once(void *data)
{
    const struct oom *oom = data;
    struct psc_arena arena = {0};
    struct psc_offsets packed = {0};
    enum psc_status status = psc_offsets_pack(&arena, oom->problem, oom->packer,
                                              &(struct psc_offsets_budget){.work = 500}, &packed, NULL);
    if (!status)
        status = psc_offsets_verify(oom->problem, &packed, NULL);
    psc_arena_release(&arena);
    return status;
}

static void test_oom(void)
{
    struct psc_arena arena = {0};
    unsigned n = 0;
    for (size_t k = 0; k < G_N_ELEMENTS(shapes); k++) {
        struct psc_offsets_problem p = boxes_random(&arena, 5, &shapes[k]);
        for (const struct psc_packer *packer = psc_packers; packer->name; packer++, n++)
            g_assert_cmpuint(test_oom_loop(pack_once, &(struct oom){&p, packer}), >, 1);
    }
    g_assert_cmpuint(n, ==, 5 * G_N_ELEMENTS(shapes));
    psc_arena_release(&arena);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (size_t k = 0; k < G_N_ELEMENTS(rows); k++) {
        char *path = g_strdup_printf("/core/plan/offsets/%s", rows[k].path);
        g_test_add_data_func(path, &rows[k], test_row);
        g_free(path);
    }
    for (const struct psc_packer *packer = psc_packers; packer->name; packer++) {
        char *path = g_strdup_printf("/core/plan/offsets/%s/random-boxes-never-meet-and-repeat", packer->name);
        g_test_add_data_func(path, packer, test_random);
        g_free(path);
        path = g_strdup_printf("/core/plan/offsets/%s/packs-a-million-boxes", packer->name);
        g_test_add_data_func(path, packer->name, test_million);
        g_free(path);
    }
    g_test_add_func("/core/plan/offsets/never-below-the-lowest-of-all-orders", test_exhaustive);
    g_test_add_func("/core/plan/offsets/best-fit/places-as-gallocr-does", test_gallocr);
    g_test_add_func("/core/plan/offsets/spans-behave-as-a-plain-array", test_spans);
    g_test_add_func("/core/plan/offsets/what-makes-no-sense-is-refused", test_refused);
    g_test_add_func("/core/plan/offsets/each-space-has-its-capacity", test_capacity);
    g_test_add_func("/core/plan/offsets/one-space-of-several-is-packed-as-it-is", test_one_of_spaces);
    g_test_add_func("/core/plan/offsets/the-naive-check-sees-each-rule", test_check);
    g_test_add_func("/core/plan/offsets/the-sweep-sees-what-the-naive-check-sees", test_verify);
    g_test_add_func("/core/plan/offsets/oom", test_oom);
    return g_test_run();
}
