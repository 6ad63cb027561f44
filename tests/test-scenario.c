/* Scenarios as scripts: what each operation does, and random scripts against naive models. */
#include "core/base/hash.h"
#include "core/debug/analysis.h"
#include "core/debug/scenario.h"
#include "tests/util.h"

#include <string.h>

#define ARRAY(...) (__VA_ARGS__), sizeof(__VA_ARGS__) / sizeof *(__VA_ARGS__)

struct played {
    struct psc_arena arena;
    struct psc_report report;
    struct psc_story *story;
    struct psc_kv_answer kv;
    struct psc_races races;
};

static void done(struct played *p)
{
    psc_report_release(&p->report);
    psc_arena_release(&p->arena);
}

static struct psc_check check_of(struct played *p)
{
    struct psc_check check;
    struct psc_error error = {0};
    struct psc_history *history;
    g_assert_cmpint(psc_story_check(p->story, &error), ==, PSC_OK);
    g_assert_cmpstr(error.text, ==, "");
    g_assert_cmpint(psc_check_story(&p->arena, NULL, p->story, &check, &error), ==, PSC_OK);
    g_assert_cmpint(psc_history_build(&p->arena, p->story, &history, &error), ==, PSC_OK);
    return check;
}

static gboolean said(const struct played *p, const char *words)
{
    for (size_t i = 0; i < p->report.n; i++)
        if (strstr(p->report.items[i].text, words))
            return TRUE;
    for (size_t i = 0; i < p->report.n; i++)
        g_test_message("said: %s", p->report.items[i].text);
    return FALSE;
}

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
    done(&p);
    play_kv(&p, 8, 0, ops, 6);
    assert_cells(&p, "3:d0-3 4:e1-3 5:f2-3");
    g_assert_cmpuint(check_of(&p).finding_n, ==, 0);
    g_assert_cmpuint(p.kv.error_n, ==, 0);
    done(&p);
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
    struct psc_check check = check_of(&p); /* no row is read after it was overwritten */
    g_assert_cmpuint(check.finding_n, ==, 0);
    g_assert_cmpuint(check.read_n, ==, 4);
    done(&p);
}

static void test_window(void)
{
    struct played p;
    static const int32_t late[] = {4, 5}, below[] = {-1};
    const struct psc_kv_op ops[] = {store(zero_to_seven, 4), store(late, 2), store(zero_to_seven, 6), store(below, 1)};
    play_kv(&p, 64, 4, ops, 2);
    assert_cells(&p, "0:a4 1:b5 2:c2 3:d3");
    g_assert_cmpuint(p.kv.overrun_n, ==, 0);
    done(&p);
    play_kv(&p, 64, 4, ops, 3);
    assert_cells(&p, "0:e4 1:f5 2:c2 3:d3");
    g_assert_cmpuint(p.kv.overrun_n, ==, 1);
    g_assert_cmpuint(p.kv.overruns[0], ==, 2);
    g_assert_cmpuint(p.kv.error_n, ==, 0); /* written all the same */
    g_assert_true(said(&p, "6 rows go into a window of 4 cells"));
    g_assert_cmpuint(p.kv.region_bytes, ==, 32);
    done(&p);
    play_kv(&p, 64, 4, ops, 4);
    g_assert_cmpint(p.kv.cells[3].position, ==, -1); /* -1 mod 4 */
    done(&p);
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
    g_assert_true(said(&p, "op 1 (store): position 8 has no cell: n_ctx is 4"));
    g_assert_true(said(&p, "op 3 (restore): the state counts 128 bytes of rows and holds 127"));
    g_assert_true(said(&p, "op 4 (restore): the state has 8 cells, the cache has 4"));
    g_assert_cmpuint(check_of(&p).finding_n, ==, 0);
    done(&p);
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
    g_assert_cmpuint(check_of(&p).finding_n, ==, 0);
    done(&p);
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
    g_assert_true(said(&p, "3 of rows 0..5 hold nothing, the first is row 1 (its row is gone)"));
    struct psc_check check = check_of(&p);
    g_assert_cmpuint(check.finding_n, ==, 3);
    for (uint32_t i = 0; i < 3; i++) {
        g_assert_cmpint(check.findings[i].kind, ==, PSC_K8);
        g_assert_cmpuint(p.story->buffers[check.findings[i].buffer].id, ==, rows[i]);
    }
    done(&p);
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
    g_assert_cmpuint(check_of(&p).finding_n, ==, 0);
    g_assert_cmpuint(p.kv.move_n, ==, N - 1);
    g_assert_cmpint(p.kv.cells[N - 2].rotated, ==, -1);
    done(&p);
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
        struct psc_check check = check_of(&p); /* only reads of rows that hold nothing go wrong */
        for (uint32_t i = 0; i < check.finding_n; i++)
            g_assert_cmpint(check.findings[i].kind, ==, PSC_K8);
        moves += m.moves, errors += m.errors, unwritten += m.unwritten;
        done(&p);
    }
    g_assert_cmpuint(moves, >, 500);
    g_assert_cmpuint(errors, >, 500);
    g_assert_cmpuint(unwritten, >, 500);
}

/* ---- sched ----------------------------------------------------------------------------------------------- */

static void play_sched(struct played *p, const struct psc_sched_script *script)
{
    struct psc_error error = {0};
    *p = (struct played){0};
    enum psc_status status = psc_sched_play(&p->arena, script, &p->report, &p->races, &p->story, &error);
    g_assert_cmpstr(error.text, ==, "");
    g_assert_cmpint(status, ==, PSC_OK);
}

static const struct psc_sched_queue host_and_gpu[] = {{"host", false}, {"gpu", false}};
static const struct psc_sched_buffer one_buffer[] = {{"H", "cpu", 64}};
static const struct psc_sched_access all_of_h = {0, 0, 64}, low_of_h = {0, 0, 32}, high_of_h = {0, 32, 64};

static void test_race(void)
{
    static const uint32_t c1 = 1;
    struct psc_sched_command commands[] = {
        {"c0", "write", "", 0, NULL, &all_of_h, 0, 1, NULL, 0},
        {"c1", "copy", "", 1, &all_of_h, NULL, 1, 0, NULL, 0},
        {"c2", "write", "batch 1", 0, NULL, &all_of_h, 0, 1, NULL, 0},
    };
    struct psc_sched_script script = {host_and_gpu, one_buffer, commands, 2, 1, 3};
    struct played p;
    play_sched(&p, &script);
    g_assert_cmpuint(p.races.n, ==, 1);
    g_assert_cmpuint(p.races.list[0].a, ==, 1);
    g_assert_cmpuint(p.races.list[0].b, ==, 2);
    g_assert_true(said(&p, "race on H, bytes 0..64: c1 (gpu) reads them, c2 (host) writes them"));
    struct psc_check check = check_of(&p);
    g_assert_cmpuint(check.finding_n, ==, 1);
    g_assert_cmpint(check.findings[0].kind, ==, PSC_K6);
    g_assert_cmpint(check.findings[0].confidence, ==, PSC_POSSIBLE);
    g_assert_cmpuint(check.findings[0].hi, ==, 64);
    done(&p);
    commands[2].after = &c1; /* the host waits */
    commands[2].after_n = 1;
    play_sched(&p, &script);
    g_assert_cmpuint(p.races.n, ==, 0);
    g_assert_cmpuint(check_of(&p).finding_n, ==, 0);
    done(&p);
    commands[2].after_n = 0;
    commands[1].reads = &low_of_h; /* other bytes */
    commands[2].writes = &high_of_h;
    play_sched(&p, &script);
    g_assert_cmpuint(p.races.n, ==, 0);
    done(&p);
}

static void test_free_races(void)
{
    const struct psc_sched_command commands[] = {
        {"c0", "kernel", "", 1, &low_of_h, &high_of_h, 1, 1, NULL, 0},
        {"c1", "free", "", 0, NULL, &all_of_h, 0, 1, NULL, 0},
    };
    struct psc_sched_script script = {host_and_gpu, one_buffer, commands, 2, 1, 2};
    struct played p;
    play_sched(&p, &script);
    g_assert_cmpuint(p.races.n, ==, 1); /* one for the pair and buffer, read and write together */
    g_assert_true(said(&p, "c1 (host) frees them"));
    g_assert_cmpuint(check_of(&p).finding_n, ==, 1);
    done(&p);
}

static void test_barrier(void)
{
    static const struct psc_sched_queue queue[] = {{"gpu", true}};
    struct psc_sched_command commands[] = {
        {"w", "kernel", "", 0, NULL, &all_of_h, 0, 1, NULL, 0},
        {"b", "barrier", "", 0, NULL, NULL, 0, 0, NULL, 0},
        {"r1", "kernel", "", 0, &all_of_h, NULL, 1, 0, NULL, 0},
        {"r2", "kernel", "", 0, &low_of_h, NULL, 1, 0, NULL, 0},
    };
    struct psc_sched_script script = {queue, one_buffer, commands, 1, 1, 4};
    struct played p;
    play_sched(&p, &script);
    g_assert_cmpuint(p.races.n, ==, 0); /* two reads do not race */
    done(&p);
    commands[1].kind = "kernel";
    play_sched(&p, &script);
    g_assert_cmpuint(p.races.n, ==, 2);
    g_assert_cmpuint(p.races.list[0].b, ==, 2);
    g_assert_cmpuint(p.races.list[1].b, ==, 3);
    done(&p);
}

static void test_circle(void)
{
    static const uint32_t c0 = 0, c1 = 1;
    const struct psc_sched_command commands[] = {
        {"c0", "kernel", "", 0, NULL, NULL, 0, 0, &c1, 1},
        {"c1", "kernel", "", 1, NULL, NULL, 0, 0, &c0, 1},
    };
    struct psc_sched_script script = {host_and_gpu, one_buffer, commands, 2, 1, 2};
    struct played p = {0};
    struct psc_error error = {0};
    g_assert_cmpint(psc_sched_play(&p.arena, &script, &p.report, &p.races, &p.story, &error), ==, PSC_ERR_ORDER);
    g_assert_nonnull(strstr(error.text, "c0"));
    g_assert_nonnull(strstr(error.text, "waits for itself"));
    done(&p);
}

/* Reachability by brute force, straight from the rules. */
enum { COMMANDS = 40, QUEUES = 4, BUFFERS = 3 };
struct naive_sched {
    struct psc_sched_queue queues[QUEUES];
    struct psc_sched_command commands[COMMANDS];
    struct psc_sched_access accesses[COMMANDS][4];
    uint32_t after[COMMANDS][3];
    bool before[COMMANDS][COMMANDS];
    uint32_t n;
};

static void order_naively(struct naive_sched *s)
{
    memset(s->before, 0, sizeof s->before);
    for (uint32_t k = 0; k < s->n; k++) {
        const struct psc_sched_command *c = &s->commands[k];
        for (uint32_t j = 0; j < k; j++) {
            const struct psc_sched_command *p = &s->commands[j];
            if (p->queue == c->queue)
                s->before[j][k] |= !s->queues[c->queue].concurrent || !strcmp(p->kind, "barrier") ||
                                   !strcmp(c->kind, "barrier");
            else
                s->before[j][k] |= p->queue == 0;
        }
        for (uint32_t a = 0; a < c->after_n; a++)
            s->before[c->after[a]][k] = true;
    }
    for (uint32_t m = 0; m < s->n; m++)
        for (uint32_t i = 0; i < s->n; i++)
            for (uint32_t j = 0; j < s->n && s->before[i][m]; j++)
                s->before[i][j] |= s->before[m][j];
}

static bool meet(const struct psc_sched_access *a, uint32_t a_n, const struct psc_sched_access *b, uint32_t b_n,
                 uint32_t buffer)
{
    for (uint32_t i = 0; i < a_n; i++)
        for (uint32_t j = 0; j < b_n; j++)
            if (a[i].buffer == buffer && b[j].buffer == buffer && a[i].lo < b[j].hi && b[j].lo < a[i].hi)
                return true;
    return false;
}

static void make_sched(struct naive_sched *s, uint64_t *state)
{
    static const char *const ids[] = {"host", "gpu", "copy", "other"}, *const kinds[] = {"kernel", "barrier", "free"};
    static char names[COMMANDS][8];
    s->n = 2 + (uint32_t)(psc_random_next(state) % (COMMANDS - 1));
    for (uint32_t q = 0; q < QUEUES; q++)
        s->queues[q] = (struct psc_sched_queue){ids[q], psc_random_next(state) % 2};
    for (uint32_t k = 0; k < s->n; k++) {
        struct psc_sched_command *c = &s->commands[k];
        uint64_t roll = psc_random_next(state) % 12;
        g_snprintf(names[k], sizeof names[k], "c%u", k);
        *c = (struct psc_sched_command){names[k], kinds[roll == 0 ? 1 : roll == 1 ? 2 : 0], "",
                                        (uint32_t)(psc_random_next(state) % QUEUES), s->accesses[k], s->accesses[k] + 2,
                                        (uint32_t)(psc_random_next(state) % 3), (uint32_t)(psc_random_next(state) % 3),
                                        s->after[k], 0};
        for (unsigned i = 0; i < 4; i++) {
            s->accesses[k][i].buffer = (uint32_t)(psc_random_next(state) % BUFFERS);
            s->accesses[k][i].lo = psc_random_next(state) % 60;
            s->accesses[k][i].hi = s->accesses[k][i].lo + 1 + psc_random_next(state) % (64 - s->accesses[k][i].lo);
        }
        if (c->write_n == 2 && meet(c->writes, 1, c->writes + 1, 1, c->writes[0].buffer))
            c->write_n = 1; /* whose bytes they are would depend on the order inside the command */
        while (k && c->after_n < 3 && psc_random_next(state) % 2)
            s->after[k][c->after_n++] = (uint32_t)(psc_random_next(state) % k);
    }
}

static void test_random_sched(void)
{
    static const struct psc_sched_buffer buffers[BUFFERS] = {{"A", "cpu", 64}, {"B", NULL, 64}, {"C", "cuda", 64}};
    uint64_t state = test_seed();
    unsigned races = 0, clean = 0;
    g_test_message("seed %" G_GUINT64_FORMAT, state);
    for (unsigned round = 0; round < 2000; round++) {
        struct naive_sched s;
        struct played p;
        uint32_t at = 0;
        make_sched(&s, &state);
        order_naively(&s);
        struct psc_sched_script script = {s.queues, buffers, s.commands, QUEUES, BUFFERS, s.n};
        play_sched(&p, &script);
        for (uint32_t i = 0; i < s.n; i++)
            for (uint32_t j = i + 1; j < s.n; j++) {
                const struct psc_sched_command *a = &s.commands[i], *b = &s.commands[j];
                bool hit[BUFFERS];
                unsigned want = 0;
                for (uint32_t k = 0; k < BUFFERS; k++) {
                    hit[k] = !s.before[i][j] && !s.before[j][i] &&
                             (meet(a->writes, a->write_n, b->writes, b->write_n, k) ||
                              meet(a->writes, a->write_n, b->reads, b->read_n, k) ||
                              meet(a->reads, a->read_n, b->writes, b->write_n, k));
                    want += hit[k];
                }
                for (; want; want--, at++) { /* in list order, each pair and buffer once */
                    g_assert_cmpuint(at, <, p.races.n);
                    g_assert_cmpuint(p.races.list[at].a, ==, i);
                    g_assert_cmpuint(p.races.list[at].b, ==, j);
                    g_assert_true(hit[p.races.list[at].buffer]);
                    hit[p.races.list[at].buffer] = false;
                }
            }
        g_assert_cmpuint(at, ==, p.races.n);
        struct psc_check check = check_of(&p);
        g_assert_cmpuint(check.finding_n, ==, p.races.n);
        races += p.races.n;
        clean += p.races.n == 0;
        done(&p);
    }
    g_test_message("%u races, %u scripts without", races, clean);
    g_assert_cmpuint(races, >, 5000);
    g_assert_cmpuint(clean, >, 50);
}

/* Many commands on few serial queues, all on one buffer, all ordered: nothing here may be quadratic. */
static void test_long_queue(void)
{
    enum { N = 200000 };
    struct psc_sched_command *commands = g_new0(struct psc_sched_command, N);
    uint32_t *after = g_new(uint32_t, N);
    char (*names)[12] = g_malloc(N * sizeof *names);
    for (uint32_t k = 0; k < N; k++) {
        g_snprintf(names[k], sizeof names[k], "c%u", k);
        after[k] = k - 1;
        commands[k] = (struct psc_sched_command){names[k], "kernel", "", k % 2, &all_of_h, &all_of_h, 1, 1, &after[k], k > 0};
    }
    struct psc_sched_script script = {host_and_gpu, one_buffer, commands, 2, 1, N};
    struct played p;
    gint64 start = g_get_monotonic_time();
    play_sched(&p, &script);
    g_test_message("%d commands: %.0f ms", N, (double)(g_get_monotonic_time() - start) / 1000);
    g_assert_cmpuint(p.races.n, ==, 0);
    done(&p);
    g_free(commands);
    g_free(after);
    g_free(names);
}

/* ---- capture ----------------------------------------------------------------------------------------------- */

static const uint64_t two_by_one[] = {2, 1}, two_by_two[] = {2, 2};
static const struct psc_capture_operand k_row = {"k", 0, 1, two_by_one, 2}, kv = {"kv", 0, 1, two_by_one, 2},
                                        w = {"w", 0, 1, two_by_one, 2};
static const struct psc_capture_node captured[] = {
    {2, "kvcache_store", "{}", two_by_one, 2, &k_row, 1, {"kv", 0, 1, two_by_one, 2}, true},
    {3, "cpy", "n=1", two_by_one, 2, &kv, 1, {"w", 0, 1, two_by_one, 2}, false},
};

/* Plays one replay; "reuse", or "3 src0.offset". */
static char *replayed(const struct psc_capture_node *nodes, uint32_t n)
{
    struct played p = {0};
    struct psc_capture_list list = {nodes, n};
    struct psc_capture_script script = {{captured, 2}, &list, 1};
    struct psc_capture_answer *answer;
    struct psc_story **stories;
    struct psc_error error = {0};
    g_assert_cmpint(psc_capture_play(&p.arena, &script, &p.report, &answer, &stories, &error), ==, PSC_OK);
    for (unsigned s = 0; s < 2; s++) {
        p.story = stories[s];
        g_assert_cmpuint(check_of(&p).finding_n, ==, 0);
    }
    g_assert_cmpuint(p.report.n, ==, !answer->reuse);
    char *text = answer->reuse ? g_strdup("reuse") : g_strdup_printf("%u %s", (unsigned)answer->node, answer->field);
    done(&p);
    return text;
}

static void test_capture(void)
{
    static const struct { unsigned at; const char *field, *want; } rows[] = {
        {0, "", "reuse"}, {0, "dst", "reuse"}, {1, "dst", "3 dst.offset"}, {1, "dst.gen", "3 dst.gen"}, {1, "op", "3 op"},
        {0, "op", "2 op"}, {1, "shape", "3 shape"}, {1, "params", "3 params"}, {1, "src.buf", "3 src0.buf"},
        {1, "src.offset", "3 src0.offset"}, {1, "src.shape", "3 src0.shape"}, {0, "src.gen", "2 src0.gen"},
        {1, "src_n", "3 src0.buf"}, {1, "shape+src", "3 shape"}, {1, "id", "9 op"}, {1, "missing", "3 op"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct psc_capture_node nodes[2] = {captured[0], captured[1]}, *node = &nodes[rows[i].at];
        struct psc_capture_operand src = *node->src;
        const char *field = rows[i].field;
        node->src = &src;
        node->dst.offset += !strcmp(field, "dst") ? 8 : 0;
        node->dst.generation += !strcmp(field, "dst.gen");
        node->op = !strcmp(field, "op") ? "add" : node->op;
        node->shape = strstr(field, "shape") == field ? two_by_two : node->shape;
        node->params = !strcmp(field, "params") ? "n=2" : node->params;
        src.buffer = !strcmp(field, "src.buf") ? "other" : src.buffer;
        src.offset += !strcmp(field, "src.offset") || !strcmp(field, "shape+src") ? 256 : 0;
        src.shape = !strcmp(field, "src.shape") ? two_by_two : src.shape;
        src.generation += !strcmp(field, "src.gen");
        node->src_n -= !strcmp(field, "src_n");
        node->id = !strcmp(field, "id") ? 9 : node->id;
        char *got = replayed(nodes, strcmp(field, "missing") ? 2 : 1);
        g_assert_cmpstr(got, ==, rows[i].want);
        g_free(got);
    }
    (void)w;
}

/* ---- memory ------------------------------------------------------------------------------------------------ */

static enum psc_status play_all(void *data)
{
    const struct psc_kv_op ops[] = {store(zero_to_seven, 4), {.kind = PSC_KV_OP_RM, .p0 = 1, .p1 = 2},
                                    {.kind = PSC_KV_OP_SHIFT, .p0 = 2, .p1 = 9, .delta = -1}, {.kind = PSC_KV_OP_APPLY_SHIFT},
                                    {.kind = PSC_KV_OP_DEFRAG}, {.kind = PSC_KV_OP_ATTEND, .n_kv = 5}, store(zero_to_seven, 8)};
    struct psc_kv_script kv_script = {.n_ctx = 6, .row_bytes = 8, .dtype = "f32", .tokens = letters, .token_n = 8, .ops = ops,
                                      .op_n = 7};
    const struct psc_sched_command commands[] = {
        {"c0", "kernel", "", 1, &low_of_h, &high_of_h, 1, 1, NULL, 0}, {"c1", "free", "x", 0, NULL, &all_of_h, 0, 1, NULL, 0}};
    struct psc_sched_script sched = {host_and_gpu, one_buffer, commands, 2, 1, 2};
    struct psc_capture_list list = {captured + 1, 1};
    struct psc_capture_script capture = {{captured, 2}, &list, 1};
    struct psc_capture_answer *answer;
    struct psc_story **stories;
    struct played p = {0};
    struct psc_check check;
    struct psc_error error;
    enum psc_status status = psc_kv_play(&p.arena, &kv_script, &p.report, &p.kv, &p.story, &error);
    (void)data;
    if (!status)
        status = psc_sched_play(&p.arena, &sched, &p.report, &p.races, &p.story, &error);
    if (!status)
        status = psc_check_story(&p.arena, NULL, p.story, &check, &error);
    if (!status)
        status = psc_capture_play(&p.arena, &capture, &p.report, &answer, &stories, &error);
    done(&p);
    return status;
}

static void test_oom(void)
{
    g_assert_cmpuint(test_oom_loop(play_all, NULL), >, 40);
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
    T("sched/a-write-over-a-pending-upload-races", test_race);
    T("sched/a-free-under-a-running-kernel-races", test_free_races);
    T("sched/a-barrier-orders-a-concurrent-queue", test_barrier);
    T("sched/commands-that-wait-in-a-circle-are-refused", test_circle);
    T("sched/random-scripts-as-brute-force-finds-them", test_random_sched);
    T("sched/a-long-ordered-queue-is-quick", test_long_queue);
    T("capture/the-first-differing-field-is-named", test_capture);
    T("runs-out-of-memory-cleanly", test_oom);
    return g_test_run();
}
