#include "core/base/hash.h"
#include "core/plan/kv-runs.h"
#include "tests/util.h"

#include <string.h>

#define OK(call) \
    do { \
        struct psc_error error_ = {0}, *err = &error_; \
        enum psc_status status_ = (call); \
        g_assert_cmpstr(error_.text, ==, ""); \
        g_assert_cmpint(status_, ==, PSC_OK); \
    } while (0)
#define REFUSED(words, call) \
    do { \
        struct psc_error error_ = {0}, *err = &error_; \
        uint64_t before_ = runs.cells.changes; \
        g_assert_cmpint((call), <, 0); \
        g_assert_true(has_words(error_.text, words)); \
        g_assert_true(psc_kv_runs_check(&runs)); \
        g_assert_cmpuint(before_, ==, runs.cells.changes); \
    } while (0)

static gboolean has_words(const char *text, const char *words)
{
    char **list = g_strsplit(words, "|", 0);
    gboolean all = TRUE;
    for (char **w = list; *w; w++)
        if (!strstr(text, *w)) {
            g_test_message("'%s' lacks '%s'", text, *w);
            all = FALSE;
        }
    g_strfreev(list);
    return all;
}

static enum psc_status forward(struct psc_kv_runs *runs, uint64_t seq, int32_t first, uint32_t n, struct psc_error *err)
{
    uint64_t seqs[64];
    int32_t positions[64], cells[64];
    enum psc_status status;
    struct psc_kv_batch batch = {seqs, positions, NULL, n};
    g_assert_cmpuint(n, <=, 64);
    for (uint32_t t = 0; t < n; t++) {
        seqs[t] = seq;
        positions[t] = first + (int32_t)t;
    }
    status = psc_kv_runs_cells(runs, &batch, cells, err);
    if (!status)
        psc_kv_runs_own(runs, &batch, cells);
    return status;
}

static void made(struct psc_kv_runs *runs, uint32_t cell_n)
{
    OK(psc_kv_runs_init(runs, cell_n, err));
}

/* "0-3 7-9": the cells with a sequence. */
static void assert_used(const struct psc_kv_runs *runs, const char *want)
{
    GString *text = g_string_new(NULL);
    for (uint32_t c = 0; c < runs->cells.n; c++)
        if (runs->cells.cell[c].seqs) {
            uint32_t end = c;
            while (end + 1 < runs->cells.n && runs->cells.cell[end + 1].seqs)
                end++;
            g_string_append_printf(text, end > c ? "%s%u-%u" : "%s%u", text->len ? " " : "", c, end);
            c = end;
        }
    g_assert_cmpstr(text->str, ==, want);
    g_string_free(text, TRUE);
    g_assert_true(psc_kv_runs_check(runs));
}

static void assert_run(const struct psc_kv_runs *runs, uint64_t seq, uint32_t start, uint32_t cap, uint32_t rows)
{
    const struct psc_kv_run *run = psc_kv_runs_find(runs, seq);
    g_assert_nonnull(run);
    g_assert_cmpuint(run->start, ==, start);
    g_assert_cmpuint(run->cap, ==, cap);
    g_assert_cmpuint(run->rows, ==, rows);
    g_assert_true(psc_kv_runs_check(runs));
}

static void assert_moves(const struct psc_kv_work *work, const char *want)
{
    GString *text = g_string_new(NULL);
    for (size_t i = 0; i < work->move_n; i++)
        g_string_append_printf(text, "%s%u>%u*%u", i ? " " : "", work->moves[i].from, work->moves[i].to,
                               work->moves[i].rows);
    g_assert_cmpstr(text->str, ==, want);
    g_string_free(text, TRUE);
}

static void test_identity(void)
{
    struct psc_kv_runs runs;
    int32_t position = 0, cell;
    struct psc_kv_batch batch = {NULL, &position, NULL, 1};
    made(&runs, 8);
    g_assert_true(psc_kv_runs_is_identity(&runs));
    g_assert_cmpuint(psc_kv_runs_longest_free(&runs), ==, 8);
    OK(psc_kv_runs_reserve_implicit(&runs, &batch, err));
    assert_run(&runs, 0, 0, 8, 0);
    for (position = 0; position < 8; position++) {
        OK(psc_kv_runs_cells(&runs, &batch, &cell, err));
        g_assert_cmpint(cell, ==, position);
    }
    g_assert_true(psc_kv_runs_is_identity(&runs));
    REFUSED("position 8|n_ctx 8", psc_kv_runs_cells(&runs, &batch, &cell, err)); /* position is 8 now */
    position = -1;
    REFUSED("position -1", psc_kv_runs_cells(&runs, &batch, &cell, err));
    OK(psc_kv_runs_release_seq(&runs, 0, err));
    OK(psc_kv_runs_reserve(&runs, 5, 2, err));
    OK(psc_kv_runs_reserve(&runs, 6, 2, err));
    g_assert_false(psc_kv_runs_is_identity(&runs));
    OK(psc_kv_runs_release_seq(&runs, 5, err));
    g_assert_false(psc_kv_runs_is_identity(&runs)); /* 6 lies at cell 2 */
    psc_kv_runs_release(&runs);
}

static void test_ownership(void)
{
    struct psc_kv_runs runs;
    made(&runs, 16);
    OK(psc_kv_runs_reserve(&runs, 3, 6, err));
    assert_used(&runs, "");
    OK(forward(&runs, 3, 0, 3, err));
    assert_used(&runs, "0-2");
    OK(forward(&runs, 3, 4, 1, err)); /* position 3 is left out: its cell stays free, the run counts to 5 */
    assert_used(&runs, "0-2 4");
    assert_run(&runs, 3, 0, 6, 5);
    g_assert_cmpuint(psc_kv_runs_length(&runs, 3), ==, 5);
    g_assert_false(runs.cells.cell[3].written);
    OK(forward(&runs, 3, 0, 5, err)); /* again, and the gap with them */
    assert_used(&runs, "0-4");
    g_assert_cmpuint(runs.cells.used_n, ==, 5);
    g_assert_cmpint(runs.cells.cell[4].position, ==, 4);
    OK(psc_kv_runs_release_seq(&runs, 3, err));
    assert_used(&runs, "");
    g_assert_true(runs.cells.cell[4].written); /* free, but its row is still there */
    psc_kv_runs_clear(&runs);
    g_assert_false(runs.cells.cell[4].written);
    psc_kv_runs_release(&runs);
}

static void test_reservations(void)
{
    struct psc_kv_runs runs;
    made(&runs, 16);
    OK(psc_kv_runs_reserve(&runs, 10, 4, err));
    OK(psc_kv_runs_reserve(&runs, 11, 4, err));
    OK(psc_kv_runs_reserve(&runs, UINT64_MAX, 4, err));
    assert_run(&runs, 11, 4, 4, 0);
    assert_run(&runs, UINT64_MAX, 8, 4, 0);
    OK(psc_kv_runs_release_seq(&runs, 11, err));
    OK(psc_kv_runs_reserve(&runs, 12, 3, err)); /* first fit, not the end */
    assert_run(&runs, 12, 4, 3, 0);
    OK(psc_kv_runs_reserve(&runs, 12, 2, err)); /* it fits what it has */
    assert_run(&runs, 12, 4, 3, 0);
    REFUSED("sequence 12|3 cells|4", psc_kv_runs_reserve(&runs, 12, 4, err));
    REFUSED("0 cells", psc_kv_runs_reserve(&runs, 13, 0, err));
    REFUSED("17 cells|16", psc_kv_runs_reserve(&runs, 13, 17, err));
    REFUSED("5 cells|5 of 16|4", psc_kv_runs_reserve(&runs, 13, 5, err)); /* fragmented: 1 + 4 */
    REFUSED("sequence 99", psc_kv_runs_release_seq(&runs, 99, err));
    OK(psc_kv_runs_reserve(&runs, 13, 4, err));
    assert_run(&runs, 13, 12, 4, 0);
    psc_kv_runs_release(&runs);
    made(&runs, 100);
    for (uint64_t s = 0; s < PSC_KV_SEQS_MAX; s++)
        OK(psc_kv_runs_reserve(&runs, s, 1, err));
    REFUSED("64", psc_kv_runs_reserve(&runs, 64, 1, err));
    psc_kv_runs_release(&runs);
    struct psc_error e = {0};
    g_assert_cmpint(psc_kv_runs_init(&runs, 0, &e), ==, PSC_ERR_TOO_BIG);
    g_assert_cmpint(psc_kv_runs_init(&runs, PSC_KV_CELLS_MAX + 1, &e), ==, PSC_ERR_TOO_BIG);
    psc_kv_runs_release(&runs);
}

/* Three runs of 4 in 16, the middle one leaves: 8 are free, in two pieces. */
static void fragmented(struct psc_kv_runs *runs)
{
    made(runs, 16);
    for (uint64_t s = 1; s <= 3; s++) {
        OK(psc_kv_runs_reserve(runs, s, 4, err));
        OK(forward(runs, s, 0, 4, err));
    }
    OK(psc_kv_runs_release_seq(runs, 2, err));
}

static void test_defrag(void)
{
    struct psc_kv_runs runs;
    struct psc_kv_work work = {0};
    fragmented(&runs);
    REFUSED("8 cells|8 of 16|4", psc_kv_runs_reserve_defrag(&runs, 4, 8, false, &work, err));
    OK(psc_kv_runs_reserve_defrag(&runs, 4, 8, true, &work, err));
    assert_moves(&work, "8>4*4");
    assert_run(&runs, 3, 4, 4, 4);
    assert_run(&runs, 4, 8, 8, 0);
    assert_used(&runs, "0-7");
    g_assert_cmpint(runs.cells.cell[6].position, ==, 2);
    psc_kv_work_clear(&work);
    REFUSED("1 cells|0 of 16", psc_kv_runs_reserve_defrag(&runs, 5, 1, true, &work, err));
    g_assert_cmpuint(work.move_n, ==, 0);
    psc_kv_work_release(&work);
    psc_kv_runs_release(&runs);
}

static void test_compaction_plan(void)
{
    struct psc_kv_runs runs;
    struct psc_kv_work work = {0};
    struct psc_kv_relocations plan = {0};
    made(&runs, 20);
    for (uint64_t s = 0; s < 10; s++)
        OK(psc_kv_runs_reserve(&runs, s, 2, err));
    for (uint64_t s = 0; s < 10; s += 2)
        OK(psc_kv_runs_release_seq(&runs, s, err));
    OK(forward(&runs, 1, 0, 2, err));
    OK(forward(&runs, 5, 0, 1, err));
    OK(psc_kv_runs_plan_compaction(&runs, 2, &plan, err)); /* there already */
    g_assert_cmpuint(plan.n, ==, 0);
    OK(psc_kv_runs_plan_compaction(&runs, 4, &plan, err)); /* one slide opens four cells behind it */
    g_assert_cmpuint(plan.n, ==, 1);
    g_assert_cmpuint(plan.items[0].from, ==, 2);
    g_assert_cmpuint(plan.items[0].to, ==, 0);
    psc_kv_relocations_release(&plan);
    OK(psc_kv_runs_plan_compaction(&runs, 5, &plan, err));
    g_assert_cmpuint(plan.n, ==, 2);
    g_assert_cmpuint(plan.items[1].rows, ==, 0); /* sequence 3 has written nothing: its reservation moves alone */
    psc_kv_relocations_release(&plan);
    OK(psc_kv_runs_plan_compaction(&runs, 0, &plan, err)); /* all of it */
    g_assert_cmpuint(plan.n, ==, 5);
    OK(psc_kv_runs_apply(&runs, plan.items, plan.n, &work, err));
    assert_moves(&work, "2>0*2 10>4*1");
    assert_run(&runs, 3, 2, 2, 0);
    assert_run(&runs, 9, 8, 2, 0);
    g_assert_cmpuint(psc_kv_runs_longest_free(&runs), ==, 10);
    REFUSED("cell 2|another state", psc_kv_runs_apply(&runs, plan.items, plan.n, &work, err)); /* stale now */
    psc_kv_relocations_release(&plan);
    OK(psc_kv_runs_plan_compaction(&runs, 20, &plan, err)); /* packed and still not enough: nothing to move */
    g_assert_cmpuint(plan.n, ==, 0);
    psc_kv_relocations_release(&plan);
    psc_kv_work_release(&work);
    psc_kv_runs_release(&runs);
}

static void test_wrong_plans(void)
{
    struct psc_kv_runs runs;
    struct psc_kv_work work = {0};
    static const struct { const char *words; struct psc_kv_relocation plan[2]; size_t n; } rows[] = {
        {"run|cell 8", {{0, 5, 4}}, 1},       /* onto the run at 8 */
        {"end of the cache|cell 16", {{8, 13, 4}}, 1},
        {"run|cell 0", {{8, 2, 4}}, 1},
        {"run", {{0, 8, 4}, {8, 0, 4}}, 2},   /* an exchange cannot be done by moves */
        {"cell 1|nothing begins", {{1, 5, 4}}, 1},
        {"4 of 4|5 rows", {{8, 4, 5}}, 1},
        {"3 rows|4 of 4", {{8, 4, 3}}, 1},
        {"moved already", {{8, 4, 4}, {8, 5, 4}}, 2},
        {"run|4294967295", {{8, UINT32_MAX, 4}}, 1},
    };
    fragmented(&runs);
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
        if (strstr(rows[i].words, "cell 0"))
            REFUSED("over the run", psc_kv_runs_apply(&runs, rows[i].plan, rows[i].n, &work, err));
        else if (strstr(rows[i].words, "4294967295"))
            REFUSED("4294967295", psc_kv_runs_apply(&runs, rows[i].plan, rows[i].n, &work, err));
        else
            REFUSED(rows[i].words, psc_kv_runs_apply(&runs, rows[i].plan, rows[i].n, &work, err));
    g_assert_cmpuint(work.move_n, ==, 0);
    OK(psc_kv_runs_apply(&runs, (struct psc_kv_relocation[]){{8, 9, 4}, {0, 3, 4}}, 2, &work, err)); /* up, from the top */
    assert_moves(&work, "8>9*4 0>3*4");
    assert_used(&runs, "3-6 9-12");
    psc_kv_work_release(&work);
    psc_kv_runs_release(&runs);
}

static void test_set_cap(void)
{
    struct psc_kv_runs runs;
    struct psc_kv_work work = {0};
    made(&runs, 16);
    for (uint64_t s = 1; s <= 3; s++) {
        OK(psc_kv_runs_reserve(&runs, s, 4, err));
        OK(forward(&runs, s, 0, 2, err));
    }
    OK(psc_kv_runs_set_cap(&runs, 1, 6, &work, err)); /* pushes both up */
    assert_moves(&work, "8>10*2 4>6*2");
    assert_run(&runs, 1, 0, 6, 2);
    assert_run(&runs, 2, 6, 4, 2);
    assert_run(&runs, 3, 10, 4, 2);
    psc_kv_work_clear(&work);
    REFUSED("2 rows", psc_kv_runs_set_cap(&runs, 1, 1, &work, err));
    REFUSED("9 cells|17|16", psc_kv_runs_set_cap(&runs, 1, 9, &work, err));
    REFUSED("sequence 7", psc_kv_runs_set_cap(&runs, 7, 9, &work, err));
    REFUSED("0 cells", psc_kv_runs_set_cap(&runs, 3, 0, &work, err));
    OK(psc_kv_runs_set_cap(&runs, 1, 2, &work, err)); /* shrinking moves nothing */
    g_assert_cmpuint(work.move_n, ==, 0);
    assert_run(&runs, 2, 6, 4, 2);
    OK(psc_kv_runs_set_cap(&runs, 3, 10, &work, err)); /* no room above: 2 and 3 move down */
    assert_moves(&work, "6>2*2 10>6*2");
    assert_run(&runs, 2, 2, 4, 2);
    assert_run(&runs, 3, 6, 10, 2);
    assert_used(&runs, "0-3 6-7");
    psc_kv_work_release(&work);
    psc_kv_runs_release(&runs);
}

static void test_remove(void)
{
    struct psc_kv_runs runs;
    struct psc_kv_work work = {0};
    made(&runs, 12);
    OK(psc_kv_runs_reserve(&runs, 4, 10, err));
    OK(forward(&runs, 4, 0, 8, err));
    OK(psc_kv_runs_remove(&runs, 4, 2, 3, PSC_KV_F32, &work, err)); /* 0 1 [2 3 4] 5 6 7 */
    assert_moves(&work, "5>2*3");
    g_assert_cmpuint(work.rotate_cell, ==, 2);
    g_assert_cmpuint(work.rotate_rows, ==, 3);
    g_assert_cmpint(work.rotate_delta, ==, -3);
    g_assert_cmpuint(work.zero_cell, ==, 5);
    g_assert_cmpuint(work.zero_rows, ==, 3);
    assert_used(&runs, "0-4");
    g_assert_cmpint(runs.cells.cell[2].pending, ==, -3);
    g_assert_cmpint(runs.cells.cell[1].pending, ==, 0);
    psc_kv_runs_rotated(&runs);
    g_assert_cmpint(runs.cells.cell[2].pending, ==, 0);
    g_assert_cmpint(runs.cells.cell[2].rotated, ==, -3);
    psc_kv_work_clear(&work);
    OK(psc_kv_runs_shift(&runs, 4, 1, PSC_KV_Q8_0, &work, err));
    assert_moves(&work, "1>0*4");
    assert_run(&runs, 4, 0, 10, 4);
    psc_kv_runs_rotated(&runs);
    g_assert_cmpint(runs.cells.cell[0].rotated, ==, -1); /* position 1 became 0 */
    g_assert_cmpint(runs.cells.cell[1].rotated, ==, -4);
    g_assert_false(runs.cells.cell[4].written); /* zeroed */
    psc_kv_work_clear(&work);
    OK(psc_kv_runs_remove(&runs, 4, 4, 100, PSC_KV_F32, &work, err)); /* beyond the end */
    g_assert_cmpuint(work.move_n + work.zero_rows + work.rotate_rows, ==, 0);
    OK(psc_kv_runs_remove(&runs, 4, 3, UINT32_MAX, PSC_KV_F16, &work, err)); /* only the end: no shift */
    g_assert_cmpuint(work.zero_cell, ==, 3);
    g_assert_cmpuint(work.zero_rows, ==, 1);
    g_assert_cmpuint(work.rotate_rows, ==, 0);
    REFUSED("f16|sequence 4", psc_kv_runs_remove(&runs, 4, 0, 1, PSC_KV_F16, &work, err));
    REFUSED("sequence 5", psc_kv_runs_remove(&runs, 5, 0, 1, PSC_KV_F32, &work, err));
    OK(psc_kv_runs_reserve(&runs, 5, 2, err));
    REFUSED("other sequences", psc_kv_runs_remove(&runs, 4, 0, 1, PSC_KV_F32, &work, err));
    psc_kv_work_release(&work);
    psc_kv_runs_release(&runs);
}

static void test_windows(void)
{
    struct psc_kv_runs runs;
    uint64_t seqs[5] = {1, 1, 2, 1, 2};
    int32_t positions[5] = {0, 1, 0, 2, 1}, cells[5], spans[10], map[5 * 4 * 2];
    struct psc_kv_batch batch = {seqs, positions, NULL, 5};
    static const int32_t want_cells[5] = {0, 1, 6, 2, 7}, want_spans[10] = {0, 0, 6, 0, 6, 1, 2, 7, 3, 8};
    made(&runs, 16);
    REFUSED("several sequences", psc_kv_runs_reserve_implicit(&runs, &batch, err));
    OK(psc_kv_runs_reserve(&runs, 1, 6, err));
    REFUSED("token 2|sequence 2", psc_kv_runs_cells(&runs, &batch, cells, err));
    OK(psc_kv_runs_reserve(&runs, 2, 6, err));
    REFUSED("token 0|position 0|never written", psc_kv_runs_spans(&runs, &batch, spans, err));
    OK(psc_kv_runs_cells(&runs, &batch, cells, err));
    psc_kv_runs_own(&runs, &batch, cells);
    OK(psc_kv_runs_spans(&runs, &batch, spans, err));
    OK(psc_kv_runs_map(&runs, &batch, 4, map, err));
    for (unsigned t = 0; t < 5; t++) {
        g_assert_cmpint(cells[t], ==, want_cells[t]);
        g_assert_cmpint(spans[t], ==, want_spans[t]);
        g_assert_cmpint(spans[5 + t], ==, want_spans[5 + t]);
        g_assert_cmpint(map[t * 8], ==, want_spans[t]); /* the same window */
        g_assert_cmpint(map[t * 8 + 1], ==, want_spans[5 + t] - want_spans[t]);
        for (unsigned k = 2; k < 8; k++)
            g_assert_cmpint(map[t * 8 + k], ==, 0);
    }
    OK(psc_kv_check_cells(cells, 5, 16, err));
    OK(psc_kv_check_spans(spans, 5, 16, err));
    OK(psc_kv_check_map(map, 5, 4, 16, err));
    REFUSED("token 4|cell 7|n_ctx", psc_kv_check_cells(cells, 5, 7, err));
    REFUSED("token 4|6..8", psc_kv_check_spans(spans, 5, 7, err));
    REFUSED("token 4", psc_kv_check_map(map, 5, 4, 7, err));
    memset(spans, 0, sizeof spans);
    memset(map, 0, sizeof map);
    REFUSED("never filled", psc_kv_check_spans(spans, 5, 16, err));
    REFUSED("never filled", psc_kv_check_map(map, 5, 4, 16, err));
    spans[0] = 2;
    REFUSED("2..0", psc_kv_check_spans(spans, 5, 16, err));
    positions[3] = 1;
    struct psc_error e = {0};
    g_assert_cmpint(psc_kv_runs_cells(&runs, &batch, cells, &e), ==, PSC_ERR_USAGE);
    g_assert_true(has_words(e.text, "token 3|position 1|sequence 1"));
    positions[3] = 6;
    g_assert_cmpint(psc_kv_runs_cells(&runs, &batch, cells, &e), ==, PSC_ERR_TOO_BIG);
    g_assert_true(has_words(e.text, "token 3|position 6|sequence 1|n_ctx 16"));
    psc_kv_runs_release(&runs);
}

/* Donor 1: run of 6 at 0, 4 rows. Sharer 2: run of 8 at 6. */
static void shared(struct psc_kv_runs *runs, uint32_t n)
{
    made(runs, 16);
    OK(psc_kv_runs_reserve(runs, 1, 6, err));
    OK(forward(runs, 1, 0, 4, err));
    OK(psc_kv_runs_reserve(runs, 2, 8, err));
    OK(psc_kv_runs_share_prefix(runs, 2, 1, n, err));
}

static void test_share(void)
{
    struct psc_kv_runs runs;
    uint64_t seqs[2] = {2, 2};
    int32_t positions[2] = {3, 4}, cells[2], map[2 * 4 * 2], spans[4];
    struct psc_kv_batch batch = {seqs, positions, NULL, 2};
    static const int32_t want[16] = {0, 3, 6, 1, 0, 0, 0, 0, 0, 3, 6, 2, 0, 0, 0, 0};
    shared(&runs, 3);
    g_assert_cmpuint(psc_kv_runs_length(&runs, 2), ==, 3);
    OK(psc_kv_runs_cells(&runs, &batch, cells, err)); /* written past the prefix, into its own run */
    g_assert_cmpint(cells[0], ==, 6);
    g_assert_cmpint(cells[1], ==, 7);
    psc_kv_runs_own(&runs, &batch, cells);
    OK(psc_kv_runs_map(&runs, &batch, 4, map, err)); /* and read in place */
    g_assert_cmpmem(map, sizeof map, want, sizeof want);
    REFUSED("2 runs|room for 1", psc_kv_runs_map(&runs, &batch, 1, map, err));
    REFUSED("two runs", psc_kv_runs_spans(&runs, &batch, spans, err));
    positions[0] = 1; /* a query inside the prefix sees only that */
    OK(psc_kv_runs_map(&runs, &batch, 4, map, err));
    g_assert_cmpint(map[0], ==, 0);
    g_assert_cmpint(map[1], ==, 2);
    g_assert_cmpint(map[3], ==, 0);
    g_assert_cmpint(psc_kv_runs_cells(&runs, &batch, cells, NULL), ==, PSC_ERR_USAGE); /* but may not write there */
    struct psc_error e = {0};
    g_assert_cmpint(forward(&runs, 1, 2, 1, &e), ==, PSC_ERR_USAGE); /* nor may the donor: 2 reads the row */
    g_assert_true(has_words(e.text, "position 2|sequence 1|cell 2|sequence 2"));
    OK(forward(&runs, 1, 3, 1, err)); /* position 3 is its own */
    assert_used(&runs, "0-3 6-7");
    psc_kv_runs_release(&runs);
}

static void test_share_refusals(void)
{
    struct psc_kv_runs runs;
    made(&runs, 32);
    for (uint64_t s = 1; s <= 5; s++)
        OK(psc_kv_runs_reserve(&runs, s, 6, err));
    OK(forward(&runs, 1, 0, 4, err));
    REFUSED("0 rows|holds 4", psc_kv_runs_share_prefix(&runs, 2, 1, 0, err));
    REFUSED("5 rows|holds 4", psc_kv_runs_share_prefix(&runs, 2, 1, 5, err));
    REFUSED("itself", psc_kv_runs_share_prefix(&runs, 1, 1, 2, err));
    REFUSED("sequence 9", psc_kv_runs_share_prefix(&runs, 9, 1, 2, err));
    REFUSED("sequence 9", psc_kv_runs_share_prefix(&runs, 2, 9, 2, err));
    OK(psc_kv_runs_share_prefix(&runs, 2, 1, 2, err));
    REFUSED("shares one already", psc_kv_runs_share_prefix(&runs, 2, 1, 3, err));
    OK(forward(&runs, 2, 2, 2, err));
    REFUSED("one run|2 are shared", psc_kv_runs_share_prefix(&runs, 3, 2, 3, err));
    OK(psc_kv_runs_share_prefix(&runs, 3, 2, 2, err)); /* what 2 shares itself lies in one run: of 1 */
    g_assert_cmpuint(psc_kv_runs_find(&runs, 3)->shared_cell, ==, 0);
    OK(forward(&runs, 4, 0, 1, err));
    REFUSED("rows of its own", psc_kv_runs_share_prefix(&runs, 4, 1, 1, err));
    OK(forward(&runs, 4, 2, 1, err));
    REFUSED("position 1|never written", psc_kv_runs_share_prefix(&runs, 5, 4, 3, err));
    assert_used(&runs, "0-3 6-7 18 20");
    psc_kv_runs_release(&runs);
}

static void test_copy(void)
{
    struct psc_kv_runs runs;
    struct psc_kv_work work = {0};
    made(&runs, 32);
    OK(psc_kv_runs_reserve(&runs, 1, 6, err));
    OK(psc_kv_runs_reserve(&runs, 2, 4, err));
    OK(psc_kv_runs_reserve(&runs, 3, 4, err));
    OK(forward(&runs, 1, 0, 5, err));
    REFUSED("5 rows|4 cells", psc_kv_runs_copy_prefix(&runs, 2, 1, 5, &work, err));
    REFUSED("6 rows|holds 5", psc_kv_runs_copy_prefix(&runs, 2, 1, 6, &work, err));
    REFUSED("itself", psc_kv_runs_copy_prefix(&runs, 1, 1, 1, &work, err));
    OK(psc_kv_runs_copy_prefix(&runs, 2, 1, 3, &work, err));
    assert_moves(&work, "0>6*3");
    assert_run(&runs, 2, 6, 4, 3);
    assert_used(&runs, "0-4 6-8");
    OK(forward(&runs, 1, 1, 1, err)); /* both own their rows: either may write */
    OK(forward(&runs, 2, 1, 1, err));
    OK(psc_kv_runs_share_prefix(&runs, 3, 2, 2, err));
    REFUSED("sequence 3|shared prefix", psc_kv_runs_copy_prefix(&runs, 1, 3, 1, &work, err));
    REFUSED("sequence 3|shared prefix", psc_kv_runs_copy_prefix(&runs, 3, 1, 1, &work, err));
    REFUSED("position 0|cell 6", psc_kv_runs_copy_prefix(&runs, 2, 1, 1, &work, err)); /* 3 reads it */
    psc_kv_work_release(&work);
    psc_kv_runs_release(&runs);
}

static void test_copy_on_write(void)
{
    struct psc_kv_runs runs;
    struct psc_kv_work work = {0};
    int32_t position = 1, cell;
    uint64_t seq = 2;
    struct psc_kv_batch batch = {&seq, &position, NULL, 1};
    made(&runs, 20);
    OK(psc_kv_runs_reserve(&runs, 1, 4, err));
    OK(forward(&runs, 1, 0, 4, err));
    OK(psc_kv_runs_reserve(&runs, 2, 10, err));
    OK(psc_kv_runs_share_prefix(&runs, 2, 1, 4, err));
    OK(forward(&runs, 2, 4, 3, err)); /* cells 4..7 */
    OK(psc_kv_runs_private_row(&runs, 2, 4, &work, err)); /* not shared: nothing to do */
    g_assert_cmpuint(work.move_n, ==, 0);
    OK(psc_kv_runs_unshare(&runs, &batch, &work, err));
    assert_moves(&work, "4>7*3 1>4*3"); /* own rows up, then copies of positions 1 to 3 */
    assert_run(&runs, 2, 4, 10, 6);
    assert_run(&runs, 1, 0, 4, 4);
    g_assert_cmpuint(psc_kv_runs_find(&runs, 2)->shared_rows, ==, 1);
    assert_used(&runs, "0-9");
    g_assert_cmphex(runs.cells.cell[0].seqs, ==, 3); /* position 0 is still shared, 1 is the donor's alone */
    g_assert_cmphex(runs.cells.cell[1].seqs, ==, 1);
    OK(psc_kv_runs_cells(&runs, &batch, &cell, err));
    g_assert_cmpint(cell, ==, 4);
    psc_kv_work_clear(&work);
    OK(psc_kv_runs_private_row(&runs, 2, 0, &work, err)); /* again, and the share is gone */
    assert_moves(&work, "4>5*6 0>4*1");
    g_assert_cmpuint(psc_kv_runs_find(&runs, 2)->shared_rows, ==, 0);
    assert_run(&runs, 2, 4, 10, 7);
    assert_used(&runs, "0-10");
    psc_kv_work_release(&work);
    psc_kv_runs_release(&runs);
}

static void test_copy_on_write_needs_room(void)
{
    struct psc_kv_runs runs;
    struct psc_kv_work work = {0};
    made(&runs, 20);
    OK(psc_kv_runs_reserve(&runs, 1, 6, err));
    OK(forward(&runs, 1, 0, 6, err));
    OK(psc_kv_runs_reserve(&runs, 2, 5, err));
    OK(psc_kv_runs_share_prefix(&runs, 2, 1, 6, err));
    OK(forward(&runs, 2, 6, 1, err));
    REFUSED("position 1|sequence 2|5 private rows|5 cells", psc_kv_runs_private_row(&runs, 2, 1, &work, err));
    OK(psc_kv_runs_private_row(&runs, 2, 2, &work, err)); /* 4 + 1 just fit */
    assert_run(&runs, 2, 6, 5, 5);
    psc_kv_work_release(&work);
    psc_kv_runs_release(&runs);
}

static void test_donor_leaves(void)
{
    struct psc_kv_runs runs;
    struct psc_kv_work work = {0};
    shared(&runs, 3);
    OK(psc_kv_runs_release_seq(&runs, 1, err));
    assert_used(&runs, "0-2"); /* read by 2 */
    OK(psc_kv_runs_reserve(&runs, 3, 3, err));
    assert_run(&runs, 3, 3, 3, 0);
    OK(psc_kv_runs_release_seq(&runs, 3, err));
    OK(psc_kv_runs_reserve(&runs, 4, 2, err));
    assert_run(&runs, 4, 3, 2, 0);
    OK(psc_kv_runs_release_seq(&runs, 2, err));
    assert_used(&runs, "");
    g_assert_cmpuint(psc_kv_runs_longest_free(&runs), ==, 11);
    psc_kv_work_release(&work);
    psc_kv_runs_release(&runs);
}

static void test_shares_follow(void)
{
    struct psc_kv_runs runs;
    struct psc_kv_work work = {0};
    made(&runs, 16);
    OK(psc_kv_runs_reserve(&runs, 9, 4, err));
    OK(psc_kv_runs_reserve(&runs, 1, 4, err)); /* donor at 4 */
    OK(forward(&runs, 1, 0, 4, err));
    OK(psc_kv_runs_reserve(&runs, 2, 4, err));
    OK(psc_kv_runs_share_prefix(&runs, 2, 1, 3, err));
    OK(psc_kv_runs_set_cap(&runs, 9, 6, &work, err));
    g_assert_cmpuint(psc_kv_runs_find(&runs, 2)->shared_cell, ==, 6);
    OK(psc_kv_runs_release_seq(&runs, 9, err));
    OK(psc_kv_runs_release_seq(&runs, 1, err)); /* the rows that outlived it move, too */
    psc_kv_work_clear(&work);
    OK(psc_kv_runs_reserve_defrag(&runs, 3, 9, true, &work, err));
    assert_moves(&work, "6>0*3");
    g_assert_cmpuint(psc_kv_runs_find(&runs, 2)->shared_cell, ==, 0);
    assert_run(&runs, 3, 7, 9, 0);
    assert_used(&runs, "0-2");
    psc_kv_work_release(&work);
    psc_kv_runs_release(&runs);
}

static void test_adopt(void)
{
    struct psc_kv_runs a, runs;
    shared(&a, 3);
    OK(forward(&a, 2, 3, 2, err));
    made(&runs, 16);
    a.run[1].shared_rows = 4; /* says that it reads a row that it does not */
    REFUSED("contradicts", psc_kv_runs_adopt(&runs, a.run, a.cells.cell, err));
    a.run[1].shared_rows = 3;
    a.cells.cell[12].seqs = 1; /* a cell that no run explains */
    REFUSED("contradicts", psc_kv_runs_adopt(&runs, a.run, a.cells.cell, err));
    a.cells.cell[12].seqs = 0;
    a.run[1].start = UINT32_MAX;
    REFUSED("contradicts", psc_kv_runs_adopt(&runs, a.run, a.cells.cell, err));
    a.run[1].start = 6;
    assert_used(&runs, "");
    OK(psc_kv_runs_adopt(&runs, a.run, a.cells.cell, err));
    assert_used(&runs, "0-3 6-7");
    assert_run(&runs, 2, 6, 8, 2);
    psc_kv_runs_release(&a);
    psc_kv_runs_release(&runs);
}

static enum psc_status life(void *data)
{
    struct psc_kv_runs runs = {0};
    struct psc_kv_work work = {0};
    struct psc_error e;
    enum psc_status status = psc_kv_runs_init(&runs, 16, &e);
    (void)data;
    for (uint64_t s = 1; s <= 3 && !status; s++) {
        status = psc_kv_runs_reserve(&runs, s, 4, &e);
        if (!status)
            status = forward(&runs, s, 0, 4, &e);
    }
    if (!status)
        status = psc_kv_runs_release_seq(&runs, 2, &e);
    if (!status)
        status = psc_kv_runs_reserve_defrag(&runs, 4, 8, true, &work, &e);
    if (!status)
        status = psc_kv_runs_share_prefix(&runs, 4, 1, 3, &e);
    if (!status)
        status = psc_kv_runs_private_row(&runs, 4, 1, &work, &e);
    if (!status)
        status = psc_kv_runs_adopt(&runs, runs.run, runs.cells.cell, &e);
    g_assert_true(!runs.cells.n || psc_kv_runs_check(&runs));
    psc_kv_work_release(&work);
    psc_kv_runs_release(&runs);
    return status;
}

static void test_oom(void)
{
    g_assert_cmpuint(test_oom_loop(life, NULL), >, 3);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define T(path, function) g_test_add_func("/core/plan/kv-runs/" path, function)
    T("starts-as-identity-and-says-when-it-is-none", test_identity);
    T("ownership-follows-the-written-cells", test_ownership);
    T("reservations-are-disjoint-first-fit-and-releasable", test_reservations);
    T("defrag-opens-the-run-that-fragmentation-refused", test_defrag);
    T("a-compaction-stops-as-soon-as-the-run-is-there", test_compaction_plan);
    T("a-stale-or-overlapping-plan-is-refused", test_wrong_plans);
    T("growing-a-run-pushes-the-runs-above-it-up", test_set_cap);
    T("removal-renumbers-turns-and-zeroes", test_remove);
    T("two-sequences-resolve-to-disjoint-windows", test_windows);
    T("a-shared-prefix-is-read-in-place-and-written-past", test_share);
    T("sharing-refuses-what-it-cannot-express", test_share_refusals);
    T("copying-a-prefix-refuses-what-it-cannot-copy", test_copy);
    T("a-store-inside-a-shared-prefix-takes-private-rows", test_copy_on_write);
    T("a-copy-on-write-refuses-a-run-without-room", test_copy_on_write_needs_room);
    T("rows-outlive-their-donor", test_donor_leaves);
    T("a-share-follows-the-rows-when-they-move", test_shares_follow);
    T("a-table-that-contradicts-itself-is-not-adopted", test_adopt);
    T("runs-out-of-memory-cleanly", test_oom);
    return g_test_run();
}
