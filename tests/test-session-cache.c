/* The session's graphs and memory: cache, re-mapping, budgets, failures in the middle, out of memory. */
#include "tests/runs.h"
#include "tests/text-graph.h"
#include "tests/util.h"

#include <string.h>

#define WORDS(...) (const char *const[]){__VA_ARGS__, NULL}
#define F(...) (const float[]){__VA_ARGS__}

static struct psc_pool_figures figures(const struct psc_session *s, uint32_t backend)
{
    struct psc_pool_figures f;
    psc_session_figures(s, backend, &f);
    return f;
}

static struct psc_session_counters counters(const struct psc_session *s)
{
    struct psc_session_counters c;
    psc_session_counters(s, &c);
    return c;
}

/* A chain of n rows of `width`; three buffers. */
static struct psc_graph *rows(struct psc_arena *arena, unsigned width, unsigned n)
{
    char *text = g_strdup_printf("x: input %ux%u\na: scale %ux%u x scale=2\nb: scale %ux%u a scale=2\nc: scale %ux%u b scale=2\nout c\n",
                                 width, n, width, n, width, n, width, n);
    struct psc_graph *g = text_graph(arena, text);
    g_free(text);
    return g;
}

static char *slots_of(const struct psc_session *s)
{
    const struct psc_plan *plan = psc_session_plan(s);
    GString *out = g_string_new(NULL);
    for (uint32_t i = 0; i < plan->node_n; i++)
        if (plan->places[i].buffer != PSC_NONE)
            g_string_append_printf(out, "%" G_GUINT64_FORMAT " ", plan->buffers[plan->places[i].buffer].id);
    return g_string_free(out, FALSE);
}

static void expect_slots(const struct psc_session *s, const char *slots)
{
    char *now = slots_of(s);
    g_assert_cmpstr(now, ==, slots);
    g_free(now);
}

static enum psc_status use(struct psc_session *s, const struct psc_graph *g, uint32_t number, struct psc_error *error)
{
    struct psc_graph_key key = run_key(number);
    return psc_session_use(s, &key, g ? run_build_cb : NULL, (void *)g, error);
}

/* ---- cache -------------------------------------------------------------------------------------------------------- */

static void test_switching_remaps(void)
{
    struct psc_arena arena = {0};
    double_reset();
    struct psc_session *s = run_session(NULL);
    struct psc_graph *g[2] = {rows(&arena, 64, 1), rows(&arena, 1000, 9)};
    run_use(s, g[0], 1);
    char *first = slots_of(s);
    run_use(s, g[1], 2);
    char *second = slots_of(s);
    g_assert_cmpuint(counters(s).builds, ==, 2);
    g_assert_cmpuint(counters(s).reuses, ==, 0);
    uint64_t allocs = double_control.allocs;
    for (int turn = 0; turn < 4; turn++) {
        run_use(s, g[turn % 2], 1 + (uint32_t)(turn % 2));
        expect_slots(s, turn % 2 ? second : first);
        g_assert_cmpuint(counters(s).uid, ==, 1 + turn % 2);
        float *x = g_new0(float, 9000);
        run_fill_f32(s, "x", x, turn % 2 ? 9000 : 64);
        run_execute(s, NULL);
        g_free(x);
    }
    g_assert_cmpuint(counters(s).builds, ==, 2);
    g_assert_cmpuint(counters(s).reuses, ==, 4);
    g_assert_cmpuint(double_control.allocs, ==, allocs);
    run_use(s, g[1], 2); /* current already: nothing is mapped, inputs stay filled */
    run_execute(s, NULL);
    g_assert_cmpuint(counters(s).reuses, ==, 5);
    g_free(first);
    g_free(second);
    psc_session_free(s);
    psc_arena_release(&arena);
}

static void test_the_ninth_falls_out(void)
{
    struct psc_arena arena = {0};
    struct psc_error error = {0};
    double_reset();
    struct psc_session *s = run_session(NULL);
    struct psc_graph *g = rows(&arena, 64, 1);
    for (uint32_t k = 1; k <= 9; k++)
        run_use(s, g, k);
    g_assert_cmpuint(counters(s).uid, ==, 9);
    run_fails(use(s, NULL, 1, &error), &error, PSC_ERR_USAGE, WORDS("has been built")); /* the oldest is gone */
    g_assert_cmpint(use(s, NULL, 2, &error), ==, PSC_OK);
    run_use(s, g, 10); /* now 3 is the oldest: 2 was used since */
    run_fails(use(s, NULL, 3, &error), &error, PSC_ERR_USAGE, WORDS("has been built"));
    g_assert_cmpint(use(s, NULL, 2, &error), ==, PSC_OK);
    g_assert_cmpuint(counters(s).uid, ==, 2);
    run_use(s, g, 1);
    g_assert_cmpuint(counters(s).uid, ==, 11); /* built anew, another graph */
    g_assert_cmpuint(figures(s, 0).buffers, ==, 3);
    psc_session_free(s);
    psc_arena_release(&arena);
}

/* Each field of the key tells graphs apart, and nothing else does. */
static void test_every_field_of_the_key_counts(void)
{
    struct psc_graph_key base = run_key(7), other[11];
    for (size_t k = 0; k < G_N_ELEMENTS(other); k++)
        other[k] = base;
    other[0].n_tokens = 8;
    other[1].n_out = 1;
    other[2].n_ctx = 1;
    other[3].decode = true;
    other[4].explicit_span = true;
    other[5].kv_map = true;
    other[6].fuse_qkv = true;
    other[7].fuse_ffn = true;
    other[8].kv_format = PSC_KV_F16;
    other[9].assignment = 1;
    other[10].weights_version = 2;
    g_assert_true(psc_graph_key_equal(&base, &(struct psc_graph_key){.n_tokens = 7, .weights_version = 1}));
    for (size_t k = 0; k < G_N_ELEMENTS(other); k++) {
        g_assert_false(psc_graph_key_equal(&base, &other[k]));
        g_assert_false(psc_graph_key_equal(&other[k], &base));
    }
}

static void test_one_class_reuses_the_pool(void)
{
    struct psc_arena arena = {0};
    double_reset();
    struct psc_session *s = run_session(NULL);
    run_use(s, rows(&arena, 896, 16), 16);
    char *slots = slots_of(s);
    struct psc_pool_figures before = figures(s, 0);
    run_use(s, rows(&arena, 896, 17), 17); /* both 16,384 elements */
    expect_slots(s, slots);
    for (uint32_t k = 0; k < 64; k++)
        run_use(s, NULL, 16 + k % 2);
    g_assert_cmpuint(figures(s, 0).pool_bytes, ==, before.pool_bytes);
    g_assert_cmpuint(figures(s, 0).allocs, ==, before.allocs);
    g_assert_cmpuint(figures(s, 0).generation, ==, before.generation);
    g_assert_cmpuint(figures(s, 0).live_bytes, ==, before.live_bytes);
    g_assert_cmpuint(figures(s, 0).idle, ==, before.idle);
    run_use(s, rows(&arena, 896, 20), 20); /* 20,480 */
    g_assert_cmpuint(figures(s, 0).pool_bytes, >, before.pool_bytes);
    g_free(slots);
    psc_session_free(s);
    psc_arena_release(&arena);
}

/* ---- budgets ----------------------------------------------------------------------------------------------------------- */

static void test_a_graph_that_cannot_fit_is_refused(void)
{
    struct psc_arena arena = {0};
    struct psc_error error = {0};
    struct psc_session_options options = run_options();
    struct psc_graph *g = text_graph(&arena, "x: input 1000\ny: silu 1000 x\nout y\n"); /* two buffers of 4,096 bytes */
    options.has_budget = true;
    options.budget = 4095;
    double_reset();
    struct psc_session *s = run_session(&options);
    run_fails(use(s, g, 1, &error), &error, PSC_ERR_TOO_BIG, WORDS("4096", "4095", " 0 "));
    g_assert_cmpuint(double_control.allocs, ==, 0);
    g_assert_null(psc_session_graph(s));
    psc_session_free(s);
    options.budget = 8191; /* the second does not fit: the first is not made either */
    s = run_session(&options);
    run_fails(use(s, g, 1, &error), &error, PSC_ERR_TOO_BIG, WORDS("4096", "8191"));
    g_assert_cmpuint(double_control.allocs, ==, 0);
    g_assert_cmpuint(figures(s, 0).buffers, ==, 0);
    psc_session_free(s);
    options.budget = 1 << 20;
    s = run_session(&options);
    g_assert_cmpint(use(s, g, 1, &error), ==, PSC_OK);
    g_assert_cmpuint(figures(s, 0).budget, ==, 1 << 20);
    psc_session_free(s);
    psc_arena_release(&arena);
}

static float the_bytes[64];
static const struct psc_weight the_weight = {.name = "w", .type = PSC_W_F32, .in = 64, .out = 1, .data = the_bytes, .bytes = 256};
static const struct psc_weight *weight_cb(void *ctx, const char *name)
{
    (void)ctx;
    (void)name;
    return &the_weight;
}

static void test_weights_and_pool_count_together(void)
{
    struct psc_arena arena = {0};
    struct psc_error error = {0};
    struct psc_session_options options = run_options();
    struct psc_graph *g = text_graph(&arena, "x: input 64\ny: rms_norm 64 x weight=w\nout y\n");
    options.has_budget = true;
    options.weight = weight_cb;
    options.budget = 256 + 2048 - 1;
    double_reset();
    struct psc_session *s = run_session(&options);
    run_fails(use(s, g, 1, &error), &error, PSC_ERR_TOO_BIG, WORDS("1024", "256", "2303"));
    psc_session_free(s);
    options.budget++;
    s = run_session(&options);
    g_assert_cmpint(use(s, g, 1, &error), ==, PSC_OK);
    g_assert_cmpuint(figures(s, 0).weight_bytes, ==, 256);
    psc_session_free(s);
    psc_arena_release(&arena);
}

static uint64_t budget_when(enum psc_query query, uint64_t reported, bool explicit, bool *ret_failed)
{
    struct psc_arena arena = {0};
    struct psc_session_options options = run_options();
    struct psc_error error = {0};
    options.has_budget = explicit;
    options.budget = 12345678;
    double_reset();
    double_control.query = query;
    double_control.free_bytes = reported;
    struct psc_session *s = run_session(&options);
    enum psc_status status = use(s, text_graph(&arena, "x: input 4 @cuda\ny: silu 4 x @cuda\nout y\n"), 1, &error);
    struct psc_pool_figures f = figures(s, 2);
    g_assert_cmpint(status, ==, f.budget ? PSC_OK : PSC_ERR_TOO_BIG);
    *ret_failed = f.query_failed;
    psc_session_free(s);
    psc_arena_release(&arena);
    return f.budget;
}

static void test_the_question_has_three_answers(void)
{
    bool failed;
    g_assert_cmpuint(budget_when(PSC_QUERY_REPORTED, 4194304, false, &failed), ==, 3145728);
    g_assert_cmpuint(budget_when(PSC_QUERY_REPORTED, 4000001, false, &failed), ==, 3000000);
    g_assert_false(failed);
    g_assert_cmpuint(budget_when(PSC_QUERY_FAILED, 0, false, &failed), ==, UINT64_MAX); /* no budget of nothing */
    g_assert_true(failed);
    g_assert_cmpuint(budget_when(PSC_QUERY_NO_DEVICE, 0, false, &failed), ==, UINT64_MAX);
    g_assert_false(failed);
    g_assert_cmpuint(budget_when(PSC_QUERY_REPORTED, 0, false, &failed), ==, 0); /* a measured zero is one */
    g_assert_cmpuint(budget_when(PSC_QUERY_FAILED, 0, true, &failed), ==, 12345678);
    g_assert_cmpuint(budget_when(PSC_QUERY_REPORTED, 99, true, &failed), ==, 12345678);
}

/* The budget is exactly what the graph needs: mapping it again takes idle buffers and needs nothing new. */
static struct psc_session *exact(struct psc_arena *arena, uint64_t run_faults, enum psc_mode mode, struct psc_graph **ret)
{
    struct psc_session_options options = run_options();
    options.plan.mode = mode;
    options.run_faults = run_faults;
    options.has_budget = true;
    options.budget = 3 * 4096;
    double_reset();
    *ret = text_graph(arena, "x: input 1000\na: scale 1000 x scale=2\nb: scale 1000 a scale=2\nout b\n");
    return run_session(&options);
}

static void test_an_exact_fit_is_mapped_again(void)
{
    struct psc_arena arena = {0};
    struct psc_graph *g;
    struct psc_error error = {0};
    struct psc_session *s = exact(&arena, 0, PSC_MODE_HARDENED, &g);
    run_use(s, g, 1);
    run_use(s, g, 2);
    g_assert_cmpint(use(s, NULL, 1, &error), ==, PSC_OK);
    g_assert_cmpuint(figures(s, 0).pool_bytes, ==, 3 * 4096);
    psc_session_free(s);
    psc_arena_release(&arena);
}

/* With h5 the same is refused; the graph that was current stays so, with its mapping and its contents, and the
 * other one stays in the cache: without h6, nothing is lost. */
static void test_a_failed_remap_leaves_all_whole(void)
{
    struct psc_arena arena = {0};
    struct psc_graph *g, *small;
    struct psc_error error = {0};
    struct psc_session *s = exact(&arena, 1u << PSC_RUN_H5, PSC_MODE_HARDENED, &g);
    float *x = g_new0(float, 1000);
    x[999] = 3;
    run_use(s, g, 1);
    small = text_graph(&arena, "e: input 0\nz: scale 0 e scale=2\nout z\n");
    run_use(s, small, 2);
    for (int times = 0; times < 2; times++) {
        run_fails(use(s, NULL, 1, &error), &error, PSC_ERR_TOO_BIG, WORDS("4096", "12288", " 0 "));
        g_assert_true(psc_session_graph(s)->n == small->n);
        run_execute(s, NULL);
        g_assert_cmpuint(figures(s, 0).pool_bytes, ==, 3 * 4096);
    }
    psc_session_free(s);
    s = exact(&arena, 1u << PSC_RUN_H5 | 1u << PSC_RUN_H6, PSC_MODE_HARDENED, &g);
    run_use(s, g, 1);
    run_use(s, small, 2);
    run_fails(use(s, NULL, 1, &error), &error, PSC_ERR_TOO_BIG, WORDS("4096"));
    run_fails(use(s, NULL, 1, &error), &error, PSC_ERR_USAGE, WORDS("has been built")); /* it is gone */
    psc_session_free(s);
    s = exact(&arena, 0, PSC_MODE_UPSTREAM, &g); /* the engine under study has both holes */
    run_use(s, g, 1);
    run_use(s, small, 2);
    run_fails(use(s, NULL, 1, &error), &error, PSC_ERR_TOO_BIG, WORDS("4096"));
    run_fails(use(s, NULL, 1, &error), &error, PSC_ERR_USAGE, WORDS("has been built"));
    psc_session_free(s);
    psc_arena_release(&arena);
    g_free(x);
}

/* ---- failures in the middle ------------------------------------------------------------------------------------------- */

static enum psc_status refuse_cb(void *ctx, struct psc_arena *arena, const struct psc_graph_key *key, struct psc_graph **ret,
                                 struct psc_error *reterr)
{
    (void)ctx;
    (void)arena;
    (void)key;
    (void)ret;
    return psc_fail(reterr, PSC_ERR_GRAPH, "the model has no such graph");
}

static const char mixed[] =
    "x: input 300\nw: input 300 @metal\na: add 300 x w @metal\nb: scale 300 a scale=2\nk: kvcache_store 4x8 b b #0\n"
    "l: kvcache_load 4x8 #0\nc: add 300 b a @metal\nout c\n";

static void test_a_failed_mapping_changes_nothing(void)
{
    struct psc_arena arena = {0};
    struct psc_error error = {0};
    double_reset();
    struct psc_session *s = run_session(NULL);
    struct psc_graph *small = rows(&arena, 64, 1), *big = text_graph(&arena, mixed);
    struct psc_graph_key key = run_key(9);
    float x[64] = {0};
    run_use(s, small, 1);
    run_fill_f32(s, "x", x, 64);
    run_fails(psc_session_use(s, &key, refuse_cb, NULL, &error), &error, PSC_ERR_GRAPH, WORDS("no such graph"));
    struct psc_pool_figures before = figures(s, 0);
    unsigned failures = 0;
    for (long nth = 0;; nth++, failures++) { /* every device allocation of the mapping fails once */
        double_control.fail_alloc = nth;
        if (!use(s, big, 2, &error))
            break;
        double_control.fail_alloc = -1;
        g_assert_true(psc_session_graph(s)->n == small->n);
        g_assert_cmpuint(figures(s, 0).buffers, ==, before.buffers);
        g_assert_cmpuint(figures(s, 0).regions, ==, 0);
        g_assert_cmpuint(figures(s, 0).staging + figures(s, 1).staging, ==, 0);
        g_assert_cmpuint(figures(s, 1).buffers, ==, 0);
        g_assert_cmpuint(figures(s, 0).pool_bytes, ==, before.pool_bytes);
        g_assert_cmpuint(double_control.allocs - double_control.frees, ==, before.buffers);
        run_execute(s, NULL); /* still mapped, still filled */
    }
    g_assert_cmpuint(failures, ==, double_control.allocs - double_control.frees - before.buffers);
    g_assert_cmpuint(failures, >, 6);
    g_assert_cmpuint(counters(s).uid, ==, 2);
    psc_session_free(s);
    g_assert_cmpuint(double_control.allocs, ==, double_control.frees);
    psc_arena_release(&arena);
}

/* ---- out of memory ------------------------------------------------------------------------------------------------------ */

static enum psc_status everything(void *data)
{
    struct psc_session *s = NULL;
    struct psc_session_options options = run_options();
    const struct psc_graph *const *g = data;
    float x[300] = {0};
    options.recycled = PSC_RECYCLED_POISONED;
    options.replay = true;
    double_reset();
    enum psc_status status = psc_session_new(double_apis, 3, &options, &s, NULL);
    if (!status)
        status = use(s, g[0], 1, NULL);
    if (!status)
        status = psc_session_fill(s, "x", x, 300, NULL);
    if (!status)
        status = psc_session_fill(s, "w", x, 300, NULL);
    if (!status)
        status = psc_session_execute(s, NULL, NULL);
    if (!status)
        status = use(s, g[1], 2, NULL);
    if (!status)
        status = use(s, g[0], 1, NULL);
    psc_session_free(s);
    return status;
}

static void test_oom(void)
{
    struct psc_arena arena = {0};
    struct psc_graph *g[2] = {text_graph(&arena, mixed), rows(&arena, 64, 1)};
    g_assert_cmpuint(test_oom_loop(everything, g), >, 40);
    psc_arena_release(&arena);
}

/* The same in one session that lives on: after each failure all is as before, and works. */
static void test_a_session_survives_running_out_of_memory(void)
{
    struct psc_arena arena = {0};
    struct psc_graph *g[2] = {text_graph(&arena, mixed), rows(&arena, 64, 1)};
    unsigned failures = 0;
    double_reset();
    struct psc_session *s = run_session(NULL);
    float x[300], expected[300];
    for (int k = 0; k < 300; k++)
        x[k] = (float)k, expected[k] = 6 * (float)k;
    run_use(s, g[1], 1);
    for (long nth = 0;; nth++) {
        test_fail_begin(nth);
        enum psc_status status = use(s, g[0], 2, NULL);
        if (!test_fail_end() && !status)
            break;
        g_assert_cmpint(status, ==, PSC_ERR_NOMEM);
        g_assert_true(psc_session_graph(s)->n == g[1]->n);
        run_fill_f32(s, "x", x, 64);
        run_execute(s, NULL);
        run_expect(s, "c", F(0, 8, 16), 3, 0);
        failures++;
    }
    g_assert_cmpuint(failures, >, 20);
    run_fill_f32(s, "x", x, 300);
    run_fill_f32(s, "w", x, 300);
    run_execute(s, NULL);
    run_expect(s, "c", expected, 300, 0);
    psc_session_free(s);
    psc_arena_release(&arena);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/run/cache/switching-between-graphs-maps-again-instead-of-building", test_switching_remaps);
    g_test_add_func("/run/cache/the-ninth-graph-takes-the-place-of-the-one-unused-longest", test_the_ninth_falls_out);
    g_test_add_func("/run/cache/every-field-of-the-key-tells-graphs-apart", test_every_field_of_the_key_counts);
    g_test_add_func("/run/cache/a-rebuild-inside-one-class-reuses-the-pool", test_one_class_reuses_the_pool);
    g_test_add_func("/run/budget/a-graph-that-cannot-fit-is-refused-with-its-numbers", test_a_graph_that_cannot_fit_is_refused);
    g_test_add_func("/run/budget/weights-and-pool-count-together", test_weights_and_pool_count_together);
    g_test_add_func("/run/budget/the-question-for-memory-has-three-answers", test_the_question_has_three_answers);
    g_test_add_func("/run/budget/an-exact-fit-is-mapped-again", test_an_exact_fit_is_mapped_again);
    g_test_add_func("/run/cache/a-failed-remap-leaves-everything-whole", test_a_failed_remap_leaves_all_whole);
    g_test_add_func("/run/cache/a-failed-mapping-changes-nothing", test_a_failed_mapping_changes_nothing);
    g_test_add_func("/run/session/oom/leaks-nothing", test_oom);
    g_test_add_func("/run/session/oom/a-session-survives-it", test_a_session_survives_running_out_of_memory);
    return g_test_run();
}
