/* Historic defects as real runs: the right numbers without the fault, the documented wrong ones with it, and the record
 * of the run says which read went wrong. On the cpu and deferred backends. */
#include "tests/runs.h"

#include "backends/cpu/cpu.h"
#include "backends/deferred/deferred.h"
#include "backends/registry.h"
#include "core/debug/check.h"
#include "core/run/faults.h"
#include "core/run/session-arena.h"
#include "tests/text-graph.h"
#include "tests/util.h"

#include <math.h>
#include <string.h>

#define WORDS(...) (const char *const[]){__VA_ARGS__, NULL}
#define F(...) (const float[]){__VA_ARGS__}

struct lab { struct psc_arena arena; struct psc_graph *g; struct psc_session *s; struct run_heard heard; };

static void lab_begin(struct lab *lab, const char *text, const char *fault, const char *slots)
{
    struct psc_session_options options = run_options();
    struct psc_named_fault named = {0};
    uint32_t n;
    const struct psc_backend_api *const *apis = psc_backend_apis(&n);
    *lab = (struct lab){0};
    if (fault && !psc_named_fault_find(fault, &named))
        g_error("no fault is called %s", fault);
    options.plan.faults = named.plan;
    options.run_faults = named.run;
    options.call_faults = named.call;
    options.config.threads = 1;
    if (slots)
        g_assert_true(psc_slots_parse(slots, &options.plan.slots, &options.plan.seed));
    run_listen(&lab->heard, false);
    lab->g = text_graph(&lab->arena, text);
    lab->s = run_session_on(&options, apis, n);
    run_use(lab->s, lab->g, 1);
}

static void lab_end(struct lab *lab)
{
    run_heard_release(&lab->heard);
    psc_session_free(lab->s);
    psc_arena_release(&lab->arena);
}

static const char *node_name(const struct lab *lab, psc_node i)
{
    return i == PSC_NONE ? "nobody" : lab->g->nodes[i].name;
}

/* "K1 s u o": what the checker says of the recorded events of the last execution; several joined by ", ". */
static char *findings(struct lab *lab)
{
    struct psc_arena arena = {0};
    struct psc_error error = {0};
    struct psc_check check = {0};
    GString *text = g_string_new(NULL);
    struct psc_story *story = run_story(&lab->heard, &arena);
    if (psc_story_check(story, &error) || psc_check_story(&arena, lab->g, story, &check, &error))
        g_error("%s", error.text);
    for (uint32_t k = 0; k < check.finding_n; k++) {
        const struct psc_finding *f = &check.findings[k];
        g_string_append_printf(text, "%s%s %s %s %s", k ? ", " : "", psc_kind_name(f->kind), node_name(lab, f->victim),
                               node_name(lab, f->writer),
                               f->reader_kind == PSC_READER_NODE ? node_name(lab, f->reader) : psc_reader_name(f->reader_kind));
    }
    psc_arena_release(&arena);
    return g_string_free(text, FALSE);
}

static void expect_findings(struct lab *lab, const char *expected)
{
    char *text = findings(lab);
    g_assert_cmpstr(text, ==, expected);
    g_free(text);
}

/* ---- defects of the planner ------------------------------------------------------------------------------------------ */

struct row {
    const char *fault, *slots, *graph;
    float x[8], w[8];            /* fills of x and w; y where there is one is x too */
    const char *output;
    uint32_t n;
    float right[8], wrong[8];
    const char *finding;
};
static const struct row planned[] = {
    {"l1", NULL, "x: input 4\nw: input 4\nh: add 4 x w\nn: mul 4 h w\na: add 4 n w\nlate: mul 4 h w\no: add 4 a late\nout o\n",
     {1, 2, 3, 4}, {2, 2, 2, 2}, "o", 4, {14, 18, 22, 26}, {24, 30, 36, 42}, "K2 h a late"},
    {"l3", NULL, "x: input 8\nw: input 8\nt: add 8 x w\nc: mul 8 t w\ny: input 8\no: mul 8 c y\nout o\n",
     {1, 2, 3, 4, 5, 6, 7, 8}, {1, 1, 1, 1, 1, 1, 1, 1}, "o", 8, {20, 60, 120, 200, 300, 420, 560, 720},
     {4, 9, 16, 25, 36, 49, 64, 81}, "K3 y t o"},
    {"l4", NULL, "x: input 4\nw: input 4\nt: add 4 x w\ns: silu 4 t\nu: mul 4 x w\no: add 4 s u\nout o\n",
     {1, 2, 3, 4}, {2, 2, 2, 2}, "o", 4, {4.858f, 7.928f, 10.967f, 13.985f}, {4, 8, 12, 16}, "K1 s u o"},
    {"l5", NULL, "x: input 8\nw: input 8\na: input 4\na4: input 4\nt: add 8 x w\np0: view 4 t\np1: view 4 t +4\ns: mul 4 a a4\n"
     "o: mul 4 p0 s\nout o\n",
     {0, 1, 2, 3, 4, 5, 6, 7}, {1, 1, 1, 1, 1, 1, 1, 1}, "o", 4, {1, 8, 27, 64}, {1, 16, 81, 256}, "K4 t s o"},
    {"h1", NULL, "x: input 4\nw: input 4\nt: add 4 x w\nv: view 4 t\ns: silu 4 v\no: add 4 s t\nout o\n",
     {1, 2, 3, 4}, {2, 2, 2, 2}, "o", 4, {5.858f, 7.928f, 9.967f, 11.985f}, {5.715f, 7.856f, 9.933f, 11.970f}, "K5 t s o"},
    {"h2", NULL, "x: input 4\nw: input 4\nh: add 4 x w\ns: silu 4 h\nout h s\n",
     {1, 2, 3, 4}, {2, 2, 2, 2}, "h", 4, {3, 4, 5, 6}, {2.8577f, 3.9281f, 4.9665f, 5.9852f}, "K5 h s export"},
    {"h7", NULL, "x: input 4\nw: input 4\nh: add 4 x w\nl: mul 4 h w\na: add 4 l w\nb: mul 4 a w\nc: add 4 b w\nd: add 4 c w\nout l\n",
     {1, 2, 3, 4}, {2, 2, 2, 2}, "l", 4, {6, 8, 10, 12}, {16, 20, 24, 28}, "K1 l b export"},
};

static void fill_row(struct lab *lab, const struct row *row)
{
    for (uint32_t k = 0; k < lab->g->input_n; k++) {
        const struct psc_node_info *node = &lab->g->nodes[lab->g->inputs[k]];
        static const float a[] = {1, 2, 3, 4}, y[] = {10, 20, 30, 40, 50, 60, 70, 80};
        const float *from = !strcmp(node->name, "x") ? row->x : !strcmp(node->name, "w") ? row->w
                            : !strcmp(node->name, "y") ? y : a;
        run_fill_f32(lab->s, node->name, from, node->elements);
    }
}

static void test_planner_fault(gconstpointer data)
{
    const struct row *row = data;
    for (int on = 0; on < 2; on++) {
        struct lab lab;
        lab_begin(&lab, row->graph, on ? row->fault : NULL, row->slots);
        fill_row(&lab, row);
        run_execute(lab.s, &lab.heard.sink);
        run_expect(lab.s, row->output, on ? row->wrong : row->right, row->n, 0.001);
        expect_findings(&lab, on ? row->finding : "");
        char *difference = run_compare(&lab.heard); /* the faulty plan is what was run */
        g_assert_cmpstr(difference, ==, NULL);
        lab_end(&lab);
    }
}

/* ids is filled, then positions takes its buffer: the fill of the second destroys the first. */
static void test_l2(void)
{
    static const char text[] = "ids: input 2 i32\ntable: input 2x4\ne: get_rows 2x2 table ids\npositions: input 2 i32\n"
                               "o: get_rows 2x2 e positions\nout o\n";
    for (int on = 0; on < 2; on++) {
        struct lab lab;
        lab_begin(&lab, text, on ? "l2" : NULL, NULL);
        run_fill_f32(lab.s, "table", F(0, 1, 10, 11, 20, 21, 30, 31), 8);
        run_fill_i32(lab.s, "ids", (int32_t[]){0, 2}, 2);
        run_fill_i32(lab.s, "positions", (int32_t[]){0, 1}, 2);
        run_execute(lab.s, &lab.heard.sink);
        run_expect(lab.s, "o", on ? F(0, 1, 10, 11) : F(0, 1, 20, 21), 4, 0);
        expect_findings(&lab, on ? "K3 ids positions e" : "");
        lab_end(&lab);
    }
}

static void test_h3(void)
{
    for (int on = 0; on < 2; on++) {
        struct lab lab;
        lab_begin(&lab, "x: input 4\ny: silu 4 x\nout y\n", on ? "h3" : NULL, NULL);
        run_fill_f32(lab.s, "x", F(1, 2, 3, 4), 4);
        run_execute(lab.s, NULL);
        run_expect(lab.s, "y", F(0.7311f, 1.7616f, 2.8577f, 3.9281f), 4, 0.0005);
        run_execute(lab.s, NULL);
        run_expect(lab.s, "y", on ? F(0.4935f, 1.5034f, 2.7026f, 3.8522f) : F(0.7311f, 1.7616f, 2.8577f, 3.9281f), 4, 0.0005);
        lab_end(&lab);
    }
}

/* ---- defects of queues and copies --------------------------------------------------------------------------------------- */

/* k is only queued when rope takes its copy: the KV gets zeros, everything else is right. */
static void test_l6(void)
{
    static const char text[] =
        "x: input 2x2 @metal\nw: input 2x2 @metal\npositions: input 2 i32 @metal\nk: add 2x2 x w @metal\nr: rope 2x2 k positions hd=2 @metal\n"
        "s: kvcache_store 2x4 r k positions #0 @metal\no: add 2x2 k k @metal\nout o\n";
    for (int on = 0; on < 2; on++) {
        struct lab lab;
        struct psc_error error = {0};
        float rows[4], one = cosf(1), sine = sinf(1);
        lab_begin(&lab, text, on ? "l6" : NULL, NULL);
        run_fill_f32(lab.s, "x", F(1, 2, 3, 4), 4);
        run_fill_f32(lab.s, "w", F(10, 10, 10, 10), 4);
        run_fill_i32(lab.s, "positions", (int32_t[]){0, 1}, 2);
        run_execute(lab.s, &lab.heard.sink);
        run_expect(lab.s, "o", F(22, 24, 26, 28), 4, 0);
        g_assert_cmpint(psc_session_read_rows(lab.s, 0, 0, 0, 2, rows, &error), ==, PSC_OK);
        float right[4] = {11, 12, 13 * one - 14 * sine, 13 * sine + 14 * one};
        for (int k = 0; k < 4; k++)
            g_assert_cmpfloat_with_epsilon(rows[k], on ? 0 : right[k], 1e-4);
        g_assert_cmpint(psc_session_read_rows(lab.s, 0, 1, 0, 2, rows, &error), ==, PSC_OK);
        g_assert_cmpmem(rows, sizeof rows, F(11, 12, 13, 14), sizeof rows); /* V does not go through rope */
        expect_findings(&lab, ""); /* no byte of the plan is wrong: the kernel read at the wrong time */
        lab_end(&lab);
    }
}

/* What the checker says of the plan, before anything runs. */
static uint32_t foreseen_findings(const struct lab *lab)
{
    struct psc_arena arena = {0};
    struct psc_story *story;
    struct psc_check check = {0};
    struct psc_error error = {0};
    if (psc_plan_lower(&arena, lab->g, psc_session_plan(lab->s), &story, &error) ||
        psc_check_story(&arena, lab->g, story, &check, &error))
        g_error("%s", error.text);
    psc_arena_release(&arena);
    return check.finding_n;
}

/* The copy of c sits in the buffer that g2 will take. */
static void test_l7(void)
{
    static const char text[] = "x: input 4\ny: input 4\ngx: input 4 @metal\nc: add 4 x y\ng1: mul 4 c gx @metal\ng2: add 4 gx gx @metal\n"
                               "g3: add 4 g1 g2 @metal\ng4: add 4 g3 c @metal\nout g4\n";
    for (int on = 0; on < 2; on++)
        for (int foreseen = 0; foreseen <= on; foreseen++) { /* whether the plan says so, or only the session does it */
            struct lab lab;
            lab_begin(&lab, text, NULL, NULL);
            psc_session_free(lab.s);
            struct psc_session_options options = run_options();
            uint32_t n;
            const struct psc_backend_api *const *apis = psc_backend_apis(&n);
            options.run_faults = (uint64_t)on << PSC_RUN_L7;
            options.plan.faults = foreseen ? PSC_FAULT_BIT(PSC_FAULT_L7) : 0;
            lab.s = run_session_on(&options, apis, n);
            run_use(lab.s, lab.g, 1);
            run_fill_f32(lab.s, "x", F(1, 2, 3, 4), 4);
            run_fill_f32(lab.s, "y", F(10, 10, 10, 10), 4);
            run_fill_f32(lab.s, "gx", F(2, 2, 2, 2), 4);
            run_execute(lab.s, &lab.heard.sink);
            run_expect(lab.s, "g4", on ? F(30, 32, 34, 36) : F(37, 40, 43, 46), 4, 0);
            expect_findings(&lab, on ? "K8 c g2 g4" : "");
            g_assert_cmpuint(foreseen_findings(&lab), ==, foreseen);
            lab_end(&lab);
        }
}

static const char there_and_back[] = "x: input 4\ns: silu 4 x @metal\no: add 4 s x\nout o\n";

static void test_l8(void)
{
    struct lab lab;
    struct psc_error error = {0};
    lab_begin(&lab, there_and_back, "l8", NULL);
    run_fill_f32(lab.s, "x", F(1, 2, 3, 4), 4);
    run_execute(lab.s, NULL);
    run_expect(lab.s, "o", F(1.7311f, 3.7616f, 5.8577f, 7.9281f), 4, 0.0005);
    run_fails(psc_session_execute(lab.s, NULL, &error), &error, PSC_ERR_PLAN,
              WORDS("node 1 (silu)", "buffer is on cpu", "split runs on deferred"));
    lab_end(&lab);
}

static void test_l9(void)
{
    for (int on = 0; on < 2; on++) {
        struct lab lab;
        lab_begin(&lab, there_and_back, on ? "l9" : NULL, NULL);
        run_fill_f32(lab.s, "x", F(1, 2, 3, 4), 4);
        run_execute(lab.s, &lab.heard.sink);
        run_expect(lab.s, "o", on ? F(0.7311f, 1.7616f, 2.8577f, 3.9281f) : F(1.7311f, 3.7616f, 5.8577f, 7.9281f), 4, 0.0005);
        char *text = findings(&lab);
        g_assert_true((*text != 0) == on); /* the add's x came from elsewhere */
        g_free(text);
        lab_end(&lab);
    }
}

/* p and q are needed on the cpu after a node of its own. Unawaited, they are poison. */
static void test_l10(void)
{
    static const char text[] = "x: input 4\np: add 4 x x @metal\nq: mul 4 x x @metal\na: add 4 x x\nb: add 4 a p\no: add 4 b q\nout o\n";
    for (int on = 0; on < 2; on++) {
        struct lab lab;
        struct psc_session_counters c;
        lab_begin(&lab, text, on ? "l10" : NULL, NULL);
        run_fill_f32(lab.s, "x", F(1, 2, 3, 4), 4);
        for (int times = 0; times < 2; times++) {
            run_execute(lab.s, NULL);
            if (!on)
                run_expect(lab.s, "o", F(5, 12, 21, 32), 4, 0);
            float *got = run_read(lab.s, "o");
            g_assert_true(isnan(got[0]) == on && isnan(got[3]) == on);
            g_free(got);
        }
        psc_session_counters(lab.s, &c);
        g_assert_cmpuint(c.copies, ==, c.waits); /* the drain waits for what nobody waited for */
        g_assert_cmpuint(c.deferred_waits, ==, on ? 0 : 6);
        g_assert_cmpuint(c.most_in_flight, ==, on ? 3 : 2);
        lab_end(&lab);
    }
}

static void test_l11(void)
{
    for (int on = 0; on < 2; on++) {
        struct lab lab;
        struct psc_pool_figures before, after;
        lab_begin(&lab, there_and_back, on ? "l11" : NULL, NULL);
        run_use(lab.s, lab.g, 2);
        psc_session_figures(lab.s, 0, &before);
        for (uint32_t k = 0; k < 10; k++)
            run_use(lab.s, NULL, 1 + k % 2);
        psc_session_figures(lab.s, 0, &after);
        g_assert_cmpuint(after.staging, ==, before.staging + (on ? 10 : 0));
        run_fill_f32(lab.s, "x", F(1, 2, 3, 4), 4);
        run_execute(lab.s, NULL);
        run_expect(lab.s, "o", F(1.7311f, 3.7616f, 5.8577f, 7.9281f), 4, 0.0005);
        lab_end(&lab);
    }
}

/* ---- defects around the KV ------------------------------------------------------------------------------------------------ */

static const char layer[] =
    "x: input 2x1\npositions: input 1 i32\nk: add 2x1 x x\ns: kvcache_store 2x%u k x positions #0\nl: kvcache_load 2x%u #0\n"
    "o: attn 2x1 x l positions hd=2 #0\nout o\n";

static void step(struct lab *lab, float x, int32_t position)
{
    run_fill_f32(lab->s, "x", F(x, x), 2);
    run_fill_i32(lab->s, "positions", &position, 1);
    run_heard_clear(&lab->heard);
    run_execute(lab->s, &lab->heard.sink);
}

static void test_l13(void)
{
    char *small = g_strdup_printf(layer, 1024, 1024), *large = g_strdup_printf(layer, 2048, 2048);
    for (int on = 0; on < 2; on++) {
        struct lab lab;
        struct psc_error error = {0};
        struct psc_graph_key key = run_key(2);
        struct psc_kv_info info;
        lab_begin(&lab, small, on ? "l13" : NULL, NULL);
        struct psc_graph *g = text_graph(&lab.arena, large);
        enum psc_status status = psc_session_use(lab.s, &key, run_build_cb, g, &error);
        if (!on) {
            run_fails(status, &error, PSC_ERR_PLAN, WORDS("layer 0", "8192", "16384"));
            g_assert_true(psc_session_graph(lab.s)->n == lab.g->n);
        } else {
            g_assert_cmpint(status, ==, PSC_OK);
            psc_session_kv(lab.s, &info);
            g_assert_cmpuint(info.rows, ==, 1024); /* the old one, too small for what the graph believes */
            step(&lab, 1, 7);
            char *text = findings(&lab);
            g_assert_nonnull(strstr(text, "K7"));
            g_free(text);
            run_fill_f32(lab.s, "x", F(1, 1), 2);
            run_fails(psc_session_fill(lab.s, "positions", (int32_t[]){1500}, 1, &error), &error, PSC_ERR_USAGE, WORDS("1500", "1024"));
        }
        lab_end(&lab);
    }
    g_free(small);
    g_free(large);
}

/* Position 4 of 4 rows lands in row 0 of V. */
static void test_l15(void)
{
    char *text = g_strdup_printf(layer, 4, 4);
    for (int on = 0; on < 2; on++) {
        struct lab lab;
        struct psc_error error = {0};
        float row[2];
        lab_begin(&lab, text, on ? "l15" : NULL, NULL);
        for (int32_t p = 0; p < 4; p++)
            step(&lab, (float)(p + 1), p);
        expect_findings(&lab, "");
        g_assert_cmpint(psc_session_read_rows(lab.s, 0, 1, 0, 1, row, &error), ==, PSC_OK);
        g_assert_cmpmem(row, sizeof row, F(1, 1), sizeof row);
        if (!on) {
            run_fails(psc_session_fill(lab.s, "positions", (int32_t[]){4}, 1, &error), &error, PSC_ERR_USAGE,
                      WORDS("positions[0]", "position 4", "n_ctx 4", "node 3 (kvcache_store)"));
        } else {
            step(&lab, 50, 4);
            g_assert_cmpint(psc_session_read_rows(lab.s, 0, 1, 0, 1, row, &error), ==, PSC_OK);
            g_assert_cmpmem(row, sizeof row, F(100, 100), sizeof row); /* K of the fifth token */
            char *found = findings(&lab);
            g_assert_nonnull(strstr(found, "K7"));
            g_free(found);
        }
        lab_end(&lab);
    }
    g_free(text);
}

/* tail_ids is never filled: row 0 instead of the last one. */
static void test_l17(void)
{
    static const char text[] = "x: input 2x3\ntail_ids: input 1 i32\nh: add 2x3 x x\no: get_rows 2x1 h tail_ids\nout o\n";
    struct lab lab;
    struct psc_error error = {0};
    lab_begin(&lab, text, NULL, NULL);
    run_fill_f32(lab.s, "x", F(1, 2, 3, 4, 5, 6), 6);
    run_fails(psc_session_execute(lab.s, NULL, &error), &error, PSC_ERR_USAGE, WORDS("'tail_ids'", "not been filled"));
    run_fill_i32(lab.s, "tail_ids", (int32_t[]){2}, 1);
    run_execute(lab.s, NULL);
    run_expect(lab.s, "o", F(10, 12), 2, 0);
    lab_end(&lab);
    lab_begin(&lab, text, "l17", NULL);
    run_fill_f32(lab.s, "x", F(1, 2, 3, 4, 5, 6), 6);
    run_execute(lab.s, &lab.heard.sink);
    run_expect(lab.s, "o", F(2, 4), 2, 0);
    char *found = findings(&lab);
    g_assert_nonnull(strstr(found, "tail_ids"));
    g_free(found);
    lab_end(&lab);
}

/* ---- a device that hangs --------------------------------------------------------------------------------------------------- */

static void test_a_device_that_hangs(void)
{
    struct lab lab = {0};
    struct psc_session_options options = run_options();
    struct psc_error error = {0};
    struct psc_graph_key key = run_key(2);
    const struct psc_backend_api *api;
    struct psc_session_counters c;
    uint32_t n, deferred = 0;
    const struct psc_backend_api *const *apis = psc_backend_apis(&n);
    while (strcmp(apis[deferred]->name, "deferred"))
        deferred++;
    options.config.timeout_ms = 20;
    lab.g = text_graph(&lab.arena, there_and_back);
    lab.s = run_session_on(&options, apis, n);
    run_use(lab.s, lab.g, 1);
    run_fill_f32(lab.s, "x", F(1, 2, 3, 4), 4);
    struct psc_backend *device = psc_session_backend(lab.s, deferred, &api);
    psc_deferred_hang(device, true);
    run_fails(psc_session_execute(lab.s, NULL, &error), &error, PSC_ERR_UNAVAILABLE, WORDS("node 1 (silu)", "from deferred to cpu", "20 ms"));
    run_fails(psc_session_execute(lab.s, NULL, &error), &error, PSC_ERR_UNAVAILABLE, WORDS("waiting for deferred", "20 ms"));
    run_fails(psc_session_use(lab.s, &key, run_build_cb, lab.g, &error), &error, PSC_ERR_UNAVAILABLE, WORDS("20 ms"));
    psc_deferred_hang(device, false);
    run_execute(lab.s, NULL);
    run_expect(lab.s, "o", F(1.7311f, 3.7616f, 5.8577f, 7.9281f), 4, 0.0005);
    psc_session_counters(lab.s, &c);
    g_assert_cmpuint(c.copies, ==, c.waits);
    psc_deferred_hang(device, true);
    g_assert_cmpint(psc_session_execute(lab.s, NULL, &error), ==, PSC_ERR_UNAVAILABLE);
    lab_end(&lab); /* while commands are still queued */
}

static uint32_t waited; /* for the device */

static enum psc_status counted_synchronise(struct psc_backend *b, struct psc_error *reterr)
{
    waited++;
    return psc_backend_deferred.synchronise(b, reterr);
}

/* On arenas, too, it is waited for once; until it could be waited for, no block that it may still use goes back. */
static void test_a_device_that_hangs_on_arenas(void)
{
    struct lab lab = {0};
    struct psc_session_options options = run_options();
    const struct psc_arena_settings settings = {.guards = PSC_ARENA_HARDENED, .check = true};
    struct psc_backend_api counted = psc_backend_deferred;
    struct psc_error error = {0};
    const struct psc_backend_api *api, *const apis[] = {&psc_backend_cpu, &counted};
    counted.synchronise = counted_synchronise;
    options.config.timeout_ms = 20;
    options.arenas = &settings;
    lab.g = text_graph(&lab.arena, there_and_back);
    lab.s = run_session_on(&options, apis, 2);
    run_use(lab.s, lab.g, 1);
    run_fill_f32(lab.s, "x", F(1, 2, 3, 4), 4);
    struct psc_backend *device = psc_session_backend(lab.s, 1, &api);
    psc_deferred_hang(device, true);
    waited = 0;
    run_fails(psc_session_execute(lab.s, NULL, &error), &error, PSC_ERR_UNAVAILABLE, WORDS("waiting for deferred", "20 ms"));
    g_assert_cmpuint(waited, ==, 1);
    g_assert_cmpuint(psc_session_depot(lab.s, PSC_DEPOT_EXEC).live, ==, 16);
    run_fails(psc_session_fill(lab.s, "x", F(1, 2, 3, 4), 4, &error), &error, PSC_ERR_UNAVAILABLE, WORDS("waiting for deferred", "20 ms"));
    g_assert_cmpuint(psc_session_depot(lab.s, PSC_DEPOT_EXEC).live, ==, 16);
    psc_deferred_hang(device, false);
    run_fill_f32(lab.s, "x", F(1, 2, 3, 4), 4);
    g_assert_cmpuint(psc_session_depot(lab.s, PSC_DEPOT_EXEC).live, ==, 0);
    run_execute(lab.s, NULL);
    run_expect(lab.s, "o", F(1.7311f, 3.7616f, 5.8577f, 7.9281f), 4, 0.0005);
    psc_deferred_hang(device, true);
    run_fill_f32(lab.s, "x", F(1, 2, 3, 4), 4);
    g_assert_cmpint(psc_session_execute(lab.s, NULL, &error), ==, PSC_ERR_UNAVAILABLE);
    lab_end(&lab); /* while commands are still queued */
}

/* ---- threads ------------------------------------------------------------------------------------------------------------------ */

/* A session, its listener and its record belong to one thread; others in other threads do not meet it. */
static gpointer run_many(gpointer data)
{
    float base = (float)GPOINTER_TO_INT(data);
    struct lab lab;
    lab_begin(&lab, there_and_back, NULL, NULL);
    for (int k = 0; k < 64; k++) {
        float x = base + (float)k;
        run_fill_f32(lab.s, "x", F(x, x, x, x), 4);
        run_heard_clear(&lab.heard);
        run_execute(lab.s, &lab.heard.sink);
        float o = x + x / (1 + expf(-x));
        run_expect(lab.s, "o", F(o, o, o, o), 4, 1e-3);
        char *difference = run_compare(&lab.heard);
        g_assert_cmpstr(difference, ==, NULL);
    }
    lab_end(&lab);
    return NULL;
}

static void test_sessions_in_threads(void)
{
    GThread *threads[4];
    for (int k = 0; k < 4; k++)
        threads[k] = g_thread_new("session", run_many, GINT_TO_POINTER(100 * k));
    for (int k = 0; k < 4; k++)
        g_thread_join(threads[k]);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (size_t k = 0; k < G_N_ELEMENTS(planned); k++) {
        char *path = g_strdup_printf("/run/faults/%s-gives-its-documented-wrong-numbers", planned[k].fault);
        g_test_add_data_func(path, &planned[k], test_planner_fault);
        g_free(path);
    }
    g_test_add_func("/run/faults/l2-overwrites-an-input-with-another", test_l2);
    g_test_add_func("/run/faults/h3-hurts-a-second-run", test_h3);
    g_test_add_func("/run/faults/l6-puts-zeros-into-the-kv", test_l6);
    g_test_add_func("/run/faults/l7-stages-into-a-buffer-that-has-a-future", test_l7);
    g_test_add_func("/run/faults/l8-fails-in-the-second-run", test_l8);
    g_test_add_func("/run/faults/l9-reads-the-other-backends-copy", test_l9);
    g_test_add_func("/run/faults/l10-reads-bytes-on-their-way", test_l10);
    g_test_add_func("/run/faults/l11-leaks-a-copy-with-each-switch", test_l11);
    g_test_add_func("/run/faults/l13-keeps-a-region-that-is-too-small", test_l13);
    g_test_add_func("/run/faults/l15-writes-behind-the-region", test_l15);
    g_test_add_func("/run/faults/l17-reads-an-input-that-nobody-filled", test_l17);
    g_test_add_func("/run/schedule/a-device-that-hangs-is-given-up-and-taken-up-again", test_a_device_that_hangs);
    g_test_add_func("/run/schedule/a-device-that-hangs-on-arenas", test_a_device_that_hangs_on_arenas);
    g_test_add_func("/run/session/sessions-in-four-threads-do-not-meet", test_sessions_in_threads);
    return g_test_run();
}
