/* Scripts of a cache: what each operation does, and random scripts against a dictionary. */
#include "core/base/hash.h"
#include "tests/played.h"
#include "tests/util.h"

#include <string.h>

#define ARRAY(...) (__VA_ARGS__), sizeof(__VA_ARGS__) / sizeof *(__VA_ARGS__)

/* ---- kv ------------------------------------------------------------------------------------------------ */

static const char *const letters[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
static const uint32_t token[] = {0, 1, 2, 3, 4, 5, 6, 7};
static const int32_t zero_to_seven[] = {0, 1, 2, 3, 4, 5, 6, 7};

static struct psc_kv_op store(const int32_t *position, uint32_t n)
{
    return (struct psc_kv_op){.kind = PSC_KV_OP_STORE, .position = position, .token = token, .n = n};
}

static void play_kv(struct played *p, uint32_t n_ctx, uint32_t window, const struct psc_kv_op *ops, uint32_t op_n)
{
    struct psc_kv_script script = {.n_ctx = n_ctx, .window = window, .row_bytes = 8, .dtype = "f32", .tokens = letters,
                                   .token_n = 8, .ops = ops, .op_n = op_n};
    struct psc_error error = {0};
    *p = (struct played){0};
    g_assert_cmpint(psc_kv_play(&p->arena, &script, &p->report, &p->kv, &p->story, &error), ==, PSC_OK);
}

/* "3:d0-3 4:e1-3": cell, token, position, rotation when there is any. */
static void assert_cells(const struct played *p, const char *want)
{
    GString *text = g_string_new(NULL);
    for (uint32_t c = 0; c < p->kv.cell_n; c++) {
        const struct psc_kv_cell *cell = &p->kv.cells[c];
        if (!cell->seqs)
            continue;
        g_string_append_printf(text, "%s%u:%s%d", text->len ? " " : "", c, letters[cell->token], cell->position);
        if (cell->rotated)
            g_string_append_printf(text, "%+d", cell->rotated);
    }
    g_assert_cmpstr(text->str, ==, want);
    g_string_free(text, TRUE);
}

static void test_shift(void)
{
    struct played p;
    const struct psc_kv_op ops[] = {
        store(zero_to_seven, 6),
        {.kind = PSC_KV_OP_RM, .p0 = 0, .p1 = 2},
        {.kind = PSC_KV_OP_SHIFT, .p0 = 2, .p1 = 6, .delta = -2},
        {.kind = PSC_KV_OP_RM, .p0 = 0, .p1 = 1},
        {.kind = PSC_KV_OP_SHIFT, .p0 = 1, .p1 = 4, .delta = -1},
        {.kind = PSC_KV_OP_APPLY_SHIFT},
    };
    play_kv(&p, 8, 0, ops, 5);
    assert_cells(&p, "3:d0 4:e1 5:f2"); /* what is owed is not applied yet */
    g_assert_cmpint(p.kv.cells[4].pending, ==, -3);
    played_done(&p);
    play_kv(&p, 8, 0, ops, 6);
    assert_cells(&p, "3:d0-3 4:e1-3 5:f2-3");
    g_assert_cmpuint(played_check(&p).finding_n, ==, 0);
    g_assert_cmpuint(p.kv.error_n, ==, 0);
    played_done(&p);
}

static void test_defrag(void)
{
    struct played p;
    const struct psc_kv_op ops[] = {store(zero_to_seven, 7), {.kind = PSC_KV_OP_RM, .p0 = 1, .p1 = 3},
                                    {.kind = PSC_KV_OP_DEFRAG}};
    play_kv(&p, 8, 0, ARRAY(ops));
    assert_cells(&p, "0:a0 1:d3 2:e4 3:f5 4:g6");
    g_assert_cmpuint(p.kv.move_n, ==, 4);
    g_assert_cmpuint(p.kv.moves[1].from, ==, 32); /* cell 4, rows of 8 bytes */
    g_assert_cmpuint(p.kv.moves[1].to, ==, 16);
    g_assert_cmpuint(p.kv.moves[1].bytes, ==, 8);
    g_assert_cmpuint(p.kv.region_bytes, ==, 64);
    struct psc_check check = played_check(&p); /* no row is read after it was overwritten */
    g_assert_cmpuint(check.finding_n, ==, 0);
    g_assert_cmpuint(check.read_n, ==, 4);
    played_done(&p);
}

static void test_window(void)
{
    struct played p;
    static const int32_t late[] = {4, 5}, below[] = {-1};
    const struct psc_kv_op ops[] = {store(zero_to_seven, 4), store(late, 2), store(zero_to_seven, 6), store(below, 1)};
    play_kv(&p, 64, 4, ops, 2);
    assert_cells(&p, "0:a4 1:b5 2:c2 3:d3");
    g_assert_cmpuint(p.kv.overrun_n, ==, 0);
    played_done(&p);
    play_kv(&p, 64, 4, ops, 3);
    assert_cells(&p, "0:e4 1:f5 2:c2 3:d3");
    g_assert_cmpuint(p.kv.overrun_n, ==, 1);
    g_assert_cmpuint(p.kv.overruns[0], ==, 2);
    g_assert_cmpuint(p.kv.error_n, ==, 0); /* written all the same */
    g_assert_true(played_said(&p, "6 rows go into a window of 4 cells"));
    g_assert_cmpuint(p.kv.region_bytes, ==, 32);
    played_done(&p);
    play_kv(&p, 64, 4, ops, 4);
    g_assert_cmpint(p.kv.cells[3].position, ==, -1); /* -1 mod 4 */
    played_done(&p);
}

static void test_refusals(void)
{
    struct played p;
    static const int32_t beyond[] = {1, 8}, below[] = {-1};
    const struct psc_kv_op ops[] = {
        store(zero_to_seven, 2),
        store(beyond, 2), /* all of it fails, position 1 too */
        store(below, 1),
        {.kind = PSC_KV_OP_RESTORE, .position = zero_to_seven, .token = token, .n = 2, .kv_bytes = 128, .bytes_present = 127},
        {.kind = PSC_KV_OP_RESTORE, .position = zero_to_seven, .token = token, .n = 8, .kv_bytes = 1, .bytes_present = 1},
        {.kind = PSC_KV_OP_SHIFT, .p0 = 0, .p1 = 9, .delta = PSC_KV_POSITION_MAX},
    };
    play_kv(&p, 4, 0, ARRAY(ops));
    assert_cells(&p, "0:a0 1:b1");
    static const uint32_t errors[] = {1, 2, 3, 4, 5};
    g_assert_cmpmem(p.kv.errors, p.kv.error_n * sizeof *errors, errors, sizeof errors);
    g_assert_cmpuint(p.report.fault_n, ==, 5);
    g_assert_true(played_said(&p, "op 1 (store): position 8 has no cell: n_ctx is 4"));
    g_assert_true(played_said(&p, "op 3 (restore): the state counts 128 bytes of rows and holds 127"));
    g_assert_true(played_said(&p, "op 4 (restore): the state has 8 cells, the cache has 4"));
    g_assert_cmpuint(played_check(&p).finding_n, ==, 0);
    played_done(&p);
}

static void test_restore(void)
{
    struct played p;
    static const int32_t far[] = {7, 5};
    const struct psc_kv_op ops[] = {
        store(zero_to_seven, 4),
        {.kind = PSC_KV_OP_RESTORE, .position = far, .token = token + 6, .n = 2, .kv_bytes = 16, .bytes_present = 16},
    };
    play_kv(&p, 4, 0, ARRAY(ops));
    assert_cells(&p, "0:g7 1:h5");
    g_assert_cmpuint(played_check(&p).finding_n, ==, 0);
    played_done(&p);
}

static void test_attend(void)
{
    struct played p;
    const struct psc_kv_op ops[] = {
        store(zero_to_seven, 4),
        {.kind = PSC_KV_OP_ATTEND, .query_pos = 3, .n_kv = 4},
        {.kind = PSC_KV_OP_RM, .p0 = 1, .p1 = 2},
        {.kind = PSC_KV_OP_ATTEND, .query_pos = 3, .n_kv = 6},
    };
    play_kv(&p, 8, 0, ARRAY(ops));
    static const uint32_t rows[] = {1, 4, 5};
    g_assert_cmpmem(p.kv.unwritten, p.kv.unwritten_n * sizeof *rows, rows, sizeof rows);
    g_assert_true(played_said(&p, "3 of rows 0..5 hold nothing, the first is row 1 (its row is gone)"));
    struct psc_check check = played_check(&p);
    g_assert_cmpuint(check.finding_n, ==, 3);
    for (uint32_t i = 0; i < 3; i++) {
        g_assert_cmpint(check.findings[i].kind, ==, PSC_K8);
        g_assert_cmpuint(p.story->buffers[check.findings[i].buffer].id, ==, rows[i]);
    }
    played_done(&p);
}

/* More rows than one position may write: the story goes on at the next. */
static void test_large(void)
{
    enum { N = 3000 };
    struct played p;
    int32_t *position = g_new(int32_t, N);
    uint32_t *tokens = g_new0(uint32_t, N);
    for (int32_t i = 0; i < N; i++)
        position[i] = i;
    const struct psc_kv_op ops[] = {
        {.kind = PSC_KV_OP_STORE, .position = position, .token = tokens, .n = N},
        {.kind = PSC_KV_OP_RM, .p0 = 0, .p1 = 1},
        {.kind = PSC_KV_OP_SHIFT, .p0 = 1, .p1 = N, .delta = -1},
        {.kind = PSC_KV_OP_APPLY_SHIFT},
        {.kind = PSC_KV_OP_DEFRAG},
        {.kind = PSC_KV_OP_ATTEND, .n_kv = N - 1},
    };
    play_kv(&p, N, 0, ARRAY(ops));
    g_assert_cmpuint(p.story->position_n, ==, 3 + 1 + 1 + 3 + (N - 1) + 1);
    g_assert_cmpuint(played_check(&p).finding_n, ==, 0);
    g_assert_cmpuint(p.kv.move_n, ==, N - 1);
    g_assert_cmpint(p.kv.cells[N - 2].rotated, ==, -1);
    played_done(&p);
    g_free(position);
    g_free(tokens);
}

/* A dictionary of cells, as plainly as the rules are written. */
struct naive {
    bool there[24];
    int token[24], position[24], applied[24], owed[24];
    unsigned errors, moves, unwritten, overruns;
};

static void naive_op(struct naive *m, const struct psc_kv_op *op, int n_ctx, int window)
{
    int cap = window ? window : n_ctx, to = 0;
    bool fits = true;
    switch (op->kind) {
    case PSC_KV_OP_STORE:
        for (uint32_t i = 0; i < op->n; i++)
            fits &= window || (op->position[i] >= 0 && op->position[i] < cap);
        m->errors += !fits;
        m->overruns += window && op->n > (uint32_t)cap;
        for (uint32_t i = 0; i < op->n && fits; i++) {
            int c = ((op->position[i] % cap) + cap) % cap;
            m->there[c] = true;
            m->token[c] = (int)op->token[i];
            m->position[c] = op->position[i];
            m->applied[c] = m->owed[c] = 0;
        }
        break;
    case PSC_KV_OP_RM:
        for (int c = 0; c < cap; c++)
            m->there[c] = m->there[c] && !(op->p0 <= m->position[c] && m->position[c] < op->p1);
        break;
    case PSC_KV_OP_SHIFT:
        for (int c = 0; c < cap; c++)
            if (m->there[c] && op->p0 <= m->position[c] && m->position[c] < op->p1) {
                m->position[c] += op->delta;
                m->owed[c] += op->delta;
            }
        break;
    case PSC_KV_OP_APPLY_SHIFT:
        for (int c = 0; c < cap; c++) {
            m->applied[c] += m->owed[c];
            m->owed[c] = 0;
        }
        break;
    case PSC_KV_OP_DEFRAG:
        for (int c = 0; c < cap; c++)
            if (m->there[c]) {
                m->there[c] = false;
                m->there[to] = true;
                m->token[to] = m->token[c];
                m->position[to] = m->position[c];
                m->applied[to] = m->applied[c];
                m->owed[to] = m->owed[c];
                m->moves += to != c;
                to++;
            }
        break;
    case PSC_KV_OP_RESTORE:
        fits = op->bytes_present >= op->kv_bytes && op->n <= (uint32_t)cap;
        m->errors += !fits;
        for (int c = 0; c < cap && fits; c++) {
            m->there[c] = c < (int)op->n;
            m->token[c] = m->there[c] ? (int)op->token[c] : 0;
            m->position[c] = m->there[c] ? op->position[c] : 0;
            m->applied[c] = m->owed[c] = 0;
        }
        break;
    default:
        for (uint32_t c = 0; c < op->n_kv; c++)
            m->unwritten += c >= (uint32_t)cap || !m->there[c];
        break;
    }
}

static void test_random_kv(void)
{
    uint64_t state = test_seed();
    unsigned moves = 0, errors = 0, unwritten = 0;
    g_test_message("seed %" G_GUINT64_FORMAT, state);
    for (unsigned round = 0; round < 2000; round++) {
        struct psc_kv_op ops[16];
        int32_t positions[16][6];
        uint32_t tokens[16][6];
        struct naive m = {0};
        struct played p;
        uint32_t n_ctx = 1 + (uint32_t)(psc_random_next(&state) % 24);
        uint32_t window = psc_random_next(&state) % 3 ? 0 : 1 + (uint32_t)(psc_random_next(&state) % n_ctx);
        for (unsigned k = 0; k < 16; k++) {
            ops[k] = (struct psc_kv_op){.kind = (enum psc_kv_op_kind)(psc_random_next(&state) % PSC_KV_OP_N),
                                        .position = positions[k], .token = tokens[k],
                                        .n = (uint32_t)(psc_random_next(&state) % 7),
                                        .p0 = (int32_t)(psc_random_next(&state) % 20) - 2,
                                        .delta = (int32_t)(psc_random_next(&state) % 7) - 3, .kv_bytes = 8,
                                        .bytes_present = 7 + psc_random_next(&state) % 3,
                                        .n_kv = (uint32_t)(psc_random_next(&state) % (n_ctx + 2))};
            ops[k].p1 = ops[k].p0 + (int32_t)(psc_random_next(&state) % 8);
            if (k % 3 == 0)
                ops[k].kind = PSC_KV_OP_STORE;
            for (unsigned i = 0; i < 6; i++) {
                positions[k][i] = (int32_t)(psc_random_next(&state) % (n_ctx + 1)) - !(psc_random_next(&state) % 32);
                tokens[k][i] = (uint32_t)(psc_random_next(&state) % 8);
            }
            naive_op(&m, &ops[k], (int)n_ctx, (int)window);
        }
        play_kv(&p, n_ctx, window, ops, 16);
        g_assert_cmpuint(p.kv.cell_n, ==, window ? window : n_ctx);
        for (uint32_t c = 0; c < p.kv.cell_n; c++) {
            g_assert_cmpint(p.kv.cells[c].seqs != 0, ==, m.there[c]);
            if (!m.there[c])
                continue;
            g_assert_cmpint((int)p.kv.cells[c].token, ==, m.token[c]);
            g_assert_cmpint(p.kv.cells[c].position, ==, m.position[c]);
            g_assert_cmpint(p.kv.cells[c].rotated, ==, m.applied[c]);
            g_assert_cmpint(p.kv.cells[c].pending, ==, m.owed[c]);
        }
        g_assert_cmpuint(p.kv.error_n, ==, m.errors);
        g_assert_cmpuint(p.kv.move_n, ==, m.moves);
        g_assert_cmpuint(p.kv.unwritten_n, ==, m.unwritten);
        g_assert_cmpuint(p.kv.overrun_n, ==, m.overruns);
        g_assert_cmpuint(p.report.fault_n, ==, m.errors);
        struct psc_check check = played_check(&p); /* only reads of rows that hold nothing go wrong */
        for (uint32_t i = 0; i < check.finding_n; i++)
            g_assert_cmpint(check.findings[i].kind, ==, PSC_K8);
        moves += m.moves, errors += m.errors, unwritten += m.unwritten;
        played_done(&p);
    }
    g_assert_cmpuint(moves, >, 500);
    g_assert_cmpuint(errors, >, 500);
    g_assert_cmpuint(unwritten, >, 500);
}

/* ---- memory ------------------------------------------------------------------------------------------------ */

static enum psc_status play_all(void *data)
{
    const struct psc_kv_op ops[] = {store(zero_to_seven, 4), {.kind = PSC_KV_OP_RM, .p0 = 1, .p1 = 2},
                                    {.kind = PSC_KV_OP_SHIFT, .p0 = 2, .p1 = 9, .delta = -1}, {.kind = PSC_KV_OP_APPLY_SHIFT},
                                    {.kind = PSC_KV_OP_DEFRAG}, {.kind = PSC_KV_OP_ATTEND, .n_kv = 5}, store(zero_to_seven, 8)};
    struct psc_kv_script script = {.n_ctx = 6, .row_bytes = 8, .dtype = "f32", .tokens = letters, .token_n = 8, .ops = ops,
                                   .op_n = 7};
    struct played p = {0};
    enum psc_status status = psc_kv_play(&p.arena, &script, &p.report, &p.kv, &p.story, NULL);
    (void)data;
    played_done(&p);
    return status;
}

static void test_oom(void)
{
    g_assert_cmpuint(test_oom_loop(play_all, NULL), >, 20);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define T(path, function) g_test_add_func("/core/debug/scenario/" path, function)
    T("kv/two-shifts-add-up-before-they-are-applied", test_shift);
    T("kv/defrag-reads-no-row-after-it-was-overwritten", test_defrag);
    T("kv/a-window-forgets-the-oldest", test_window);
    T("kv/an-op-that-fails-changes-nothing", test_refusals);
    T("kv/a-restored-state-replaces-the-table", test_restore);
    T("kv/an-attention-over-rows-that-hold-nothing-is-found", test_attend);
    T("kv/large-ops-take-several-positions", test_large);
    T("kv/random-scripts-as-a-dictionary-would-play-them", test_random_kv);
    T("kv/runs-out-of-memory-cleanly", test_oom);
    return g_test_run();
}
