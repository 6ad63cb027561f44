/* KV regions of a session: who gets them, who may not, which rows a step touches, and what is refused. */
#include "tests/runs.h"
#include "tests/text-graph.h"
#include "tests/util.h"

#include <string.h>

#define WORDS(...) (const char *const[]){__VA_ARGS__, NULL}
#define F(...) (const float[]){__VA_ARGS__}

struct bench { struct psc_arena arena; struct psc_graph *g; struct psc_session *s; struct run_heard heard; };

static struct bench bench(const char *text, const struct psc_session_options *options)
{
    struct bench b = {0};
    double_reset();
    b.g = text_graph(&b.arena, text);
    b.s = run_session(options);
    run_use(b.s, b.g, 1);
    return b;
}

static void execute(struct bench *b)
{
    run_heard_release(&b->heard);
    run_listen(&b->heard, false);
    run_execute(b->s, &b->heard.sink);
}

static void bench_end(struct bench *b)
{
    run_heard_release(&b->heard);
    psc_session_free(b->s);
    g_assert_cmpuint(double_control.allocs, ==, double_control.frees);
    psc_arena_release(&b->arena);
}

static enum psc_status use(struct psc_session *s, struct psc_graph *g, struct psc_graph_key key, struct psc_error *error)
{
    return psc_session_use(s, &key, run_build_cb, g, error);
}

static enum psc_status fill(struct psc_session *s, const char *name, const int32_t *words, uint64_t n, struct psc_error *error)
{
    return psc_session_fill(s, name, words, n, error);
}

/* Two tokens of width 2 into 8 rows of layer 0; attention sums K and V of what it may see. */
static const char layer[] =
    "x: input 2x2\npositions: input 2 i32\ncells: input 2 i32\n"
    "k: scale 2x2 x scale=2\nv: scale 2x2 x scale=3\nstore: kvcache_store 2x8 k v cells #0\nload: kvcache_load 2x8 #0\n"
    "o: attn 2x2 x load positions #0\nout o\n";

static void step(struct bench *b, int32_t p0, int32_t p1, int32_t c0, int32_t c1)
{
    run_fill_f32(b->s, "x", F(1, 10, 2, 20), 4);
    run_fill_i32(b->s, "positions", (int32_t[]){p0, p1}, 2);
    run_fill_i32(b->s, "cells", (int32_t[]){c0, c1}, 2);
    execute(b);
}

/* "w0[4,6) r0[0,6)" of what was heard */
static void expect_rows(const struct bench *b, const char *expected)
{
    GString *text = g_string_new(NULL);
    for (uint32_t k = 0; k < b->heard.row_n; k++) {
        const struct psc_kv_access *a = &b->heard.rows[k];
        g_string_append_printf(text, "%s%c%d[%u,%u)", k ? " " : "", a->is_write ? 'w' : 'r', a->layer, a->lo, a->hi);
    }
    g_assert_cmpstr(text->str, ==, expected);
    g_string_free(text, TRUE);
}

/* ---- regions ------------------------------------------------------------------------------------------------------- */

static void test_two_regions_a_layer(void)
{
    struct bench b = bench("x: input 4\na: kvcache_store 4x8 x x #0\nb: kvcache_load 4x8 #0\nc: kvcache_store 4x8 x x #3\n"
                           "y: scale 4 x scale=2\nout y\n", NULL);
    struct psc_pool_figures f;
    struct psc_pool_buffer buffer;
    struct psc_kv_info info;
    char names[4][32];
    uint32_t n = 0;
    psc_session_figures(b.s, 0, &f);
    g_assert_cmpuint(f.regions, ==, 4);
    g_assert_cmpuint(f.region_bytes, ==, 4 * 4 * 4 * 8);
    for (uint32_t id = 0; id < psc_session_buffer_n(b.s, 0); id++) {
        psc_session_buffer(b.s, 0, id, &buffer);
        if (buffer.role == PSC_ROLE_PERSISTENT)
            memcpy(names[n++], buffer.name, sizeof buffer.name);
    }
    g_assert_cmpuint(n, ==, 4);
    g_assert_cmpstr(names[0], ==, "kv.0.k");
    g_assert_cmpstr(names[1], ==, "kv.0.v");
    g_assert_cmpstr(names[2], ==, "kv.3.k");
    g_assert_cmpstr(names[3], ==, "kv.3.v");
    const struct psc_plan *plan = psc_session_plan(b.s);
    g_assert_cmpuint(plan->places[1].buffer, ==, plan->places[2].buffer);
    g_assert_cmpstr(plan->buffers[plan->places[1].buffer].name, ==, "kv.0.k");
    psc_session_kv(b.s, &info);
    g_assert_cmpuint(info.layers, ==, 2);
    g_assert_cmpuint(info.rows, ==, 8);
    g_assert_cmpuint(info.width, ==, 4);
    g_assert_cmpuint(info.row_bytes, ==, 16);
    bench_end(&b);
}

static void test_rows_are_stored_and_read(void)
{
    struct bench b = bench(layer, NULL);
    struct psc_error error = {0};
    float rows[6];
    step(&b, 0, 1, 0, 1);
    run_expect(b.s, "o", F(1 + 2 + 3, 10 + 20 + 30, 2 + 5 + 10, 20 + 50 + 100), 4, 0);
    g_assert_cmpint(psc_session_read_rows(b.s, 0, 0, 0, 3, rows, &error), ==, PSC_OK);
    g_assert_cmpmem(rows, sizeof rows, F(2, 20, 4, 40, 0, 0), sizeof rows); /* a row never written is zero */
    g_assert_cmpint(psc_session_read_rows(b.s, 0, 1, 1, 2, rows, &error), ==, PSC_OK);
    g_assert_cmpmem(rows, 8, F(6, 60), 8);
    g_assert_cmpint(psc_session_write_rows(b.s, 0, 1, 1, 2, F(100, 1000), &error), ==, PSC_OK);
    step(&b, 2, 2, 2, 3); /* the rows of before are still there */
    run_expect(b.s, "o", F(1 + 5 + (4 + 100) + 5, 10 + 50 + (40 + 1000) + 50), 2, 0);
    run_fails(psc_session_read_rows(b.s, 0, 0, 7, 9, rows, &error), &error, PSC_ERR_USAGE, WORDS("layer 0", "0 to 8", "7 to 9"));
    run_fails(psc_session_read_rows(b.s, 5, 0, 0, 1, rows, &error), &error, PSC_ERR_USAGE, WORDS("layer 5"));
    run_fails(psc_session_read_rows(b.s, 0, 2, 0, 1, rows, &error), &error, PSC_ERR_USAGE, WORDS("no V region"));
    bench_end(&b);
}

static void test_regions_outlive_graphs(void)
{
    struct bench b = bench(layer, NULL);
    struct psc_pool_buffer before, after;
    struct psc_graph *other = text_graph(&b.arena, layer), *none = text_graph(&b.arena, "x: input 4\ny: silu 4 x\nout y\n");
    uint32_t k = PSC_NONE;
    float rows[2];
    struct psc_error error = {0};
    step(&b, 0, 1, 0, 1);
    for (uint32_t id = 0; id < psc_session_buffer_n(b.s, 0); id++) {
        psc_session_buffer(b.s, 0, id, &before);
        if (!strcmp(before.name, "kv.0.k"))
            k = id;
    }
    psc_session_buffer(b.s, 0, k, &before);
    for (uint32_t n = 2; n < 14; n++) /* more graphs than the cache holds, with and without a KV */
        run_use(b.s, n % 2 ? none : other, n);
    run_use(b.s, other, 20);
    psc_session_buffer(b.s, 0, k, &after);
    g_assert_cmpuint(after.at, ==, before.at);
    g_assert_cmpuint(after.bytes, ==, before.bytes);
    g_assert_cmpuint(after.generation, ==, before.generation);
    g_assert_cmpint(psc_session_read_rows(b.s, 0, 0, 1, 2, rows, &error), ==, PSC_OK);
    g_assert_cmpmem(rows, sizeof rows, F(4, 40), sizeof rows);
    bench_end(&b);
}

static void test_a_layer_never_changes(void)
{
    struct bench b = bench("x: input 32\na: kvcache_store 32x8 x x #0\ny: scale 32 x scale=2\nout y\n", NULL);
    struct psc_error error = {0};
    struct psc_graph_key key = run_key(2);
    run_fails(use(b.s, text_graph(&b.arena, "x: input 32\na: kvcache_store 32x16 x x #0\ny: scale 32 x scale=2\nout y\n"), key, &error),
              &error, PSC_ERR_PLAN, WORDS("layer 0", "1024", "2048"));
    run_fails(use(b.s, text_graph(&b.arena, "x: input 32 @metal\na: kvcache_store 32x8 x x #0 @metal\ny: scale 32 x @metal\nout y\n"), key,
                  &error), &error, PSC_ERR_PLAN, WORDS("layer 0", "on cpu", "on deferred"));
    run_fails(use(b.s, text_graph(&b.arena, "x: input 16\na: kvcache_store 16x16 x x #0\ny: scale 16 x scale=2\nout y\n"), key, &error),
              &error, PSC_ERR_PLAN, WORDS("layer 0", "8 rows", "16 rows")); /* as many bytes, but other rows */
    key.kv_format = PSC_KV_F16;
    run_fails(use(b.s, b.g, key, &error), &error, PSC_ERR_PLAN, WORDS("layer 0", "f32", "f16"));
    g_assert_cmpuint(psc_session_graph(b.s)->n, ==, b.g->n);
    bench_end(&b);
}

static void test_packed_rows(void)
{
    struct bench b = bench("x: input 4\ny: scale 4 x scale=2\nout y\n", NULL);
    struct psc_error error = {0};
    struct psc_graph_key key = run_key(2);
    struct psc_kv_info info;
    key.kv_format = PSC_KV_Q8_0;
    g_assert_cmpint(use(b.s, text_graph(&b.arena, "x: input 64\na: kvcache_store 64x8 x x row=17 #0\ny: scale 64 x\nout y\n"), key, &error), ==,
                    PSC_OK);
    psc_session_kv(b.s, &info);
    g_assert_cmpint(info.format, ==, PSC_KV_Q8_0);
    g_assert_cmpuint(info.rows, ==, 8);
    g_assert_cmpuint(info.width, ==, 64);
    g_assert_cmpuint(info.row_bytes, ==, 68);
    key.n_tokens = 3;
    run_fails(use(b.s, text_graph(&b.arena, "x: input 64\na: kvcache_store 64x8 x x row=18 #1\ny: scale 64 x\nout y\n"), key, &error), &error,
              PSC_ERR_PLAN, WORDS("node 1 (kvcache_store)", "72 bytes", "q8_0", "68"));
    bench_end(&b);
}

static void test_the_sessions_n_ctx_rules(void)
{
    struct psc_session_options options = run_options();
    struct psc_arena arena = {0};
    struct psc_error error = {0};
    options.n_ctx = 16;
    double_reset();
    struct psc_session *s = run_session(&options);
    run_fails(use(s, text_graph(&arena, layer), run_key(1), &error), &error, PSC_ERR_PLAN,
              WORDS("node 5 (kvcache_store)", "8 KV rows", "n_ctx 16"));
    psc_session_free(s);
    options.n_ctx = 8;
    s = run_session(&options);
    g_assert_cmpint(use(s, text_graph(&arena, layer), run_key(1), &error), ==, PSC_OK);
    psc_session_free(s);
    psc_arena_release(&arena);
}

static void test_rows_on_another_backend_are_refused(void)
{
    struct psc_arena arena = {0};
    struct psc_error error = {0};
    double_reset();
    struct psc_session *s = run_session(NULL);
    run_fails(use(s, text_graph(&arena, "x: input 4\na: kvcache_store 4x8 x x #0\nl: kvcache_load 4x8 #0\no: attn 4 x l #0 @metal\nout o\n"),
                  run_key(1), &error), &error, PSC_ERR_PLAN, WORDS("node 3 (attn)", "deferred", "layer 0", "cpu"));
    psc_session_free(s);
    g_assert_cmpuint(double_control.allocs, ==, double_control.frees);
    psc_arena_release(&arena);
}

/* ---- bounds --------------------------------------------------------------------------------------------------------- */

static void test_positions_are_bounded_at_the_fill(void)
{
    struct bench b = bench(layer, NULL);
    struct psc_error error = {0};
    run_fails(fill(b.s, "positions", (int32_t[]){7, 8}, 2, &error), &error, PSC_ERR_USAGE,
              WORDS("positions[1]", "position 8", "n_ctx 8", "layer 0", "node 7 (attn)"));
    run_fails(fill(b.s, "positions", (int32_t[]){-1, 0}, 2, &error), &error, PSC_ERR_USAGE, WORDS("positions[0]", "-1"));
    run_fails(fill(b.s, "cells", (int32_t[]){8, 0}, 2, &error), &error, PSC_ERR_USAGE,
              WORDS("cells[0]", "8", "n_ctx 8", "node 5 (kvcache_store)"));
    g_assert_cmpint(fill(b.s, "positions", (int32_t[]){7, 7}, 2, &error), ==, PSC_OK);
    g_assert_cmpint(fill(b.s, "cells", (int32_t[]){7, 0}, 2, &error), ==, PSC_OK);
    bench_end(&b);
}

static void test_token_ids_are_not_bounded(void)
{
    struct bench b = bench("ids: input 2 i32\ntable: input 2x20\npositions: input 2 i32\nx: get_rows 2x2 table ids\n"
                           "store: kvcache_store 2x8 x x positions #0\nload: kvcache_load 2x8 #0\no: attn 2x2 x load positions #0\nout o\n", NULL);
    struct psc_error error = {0};
    float table[40] = {0};
    g_assert_cmpint(fill(b.s, "ids", (int32_t[]){19, 9}, 2, &error), ==, PSC_OK);
    g_assert_cmpint(fill(b.s, "positions", (int32_t[]){0, 1}, 2, &error), ==, PSC_OK);
    run_fill_f32(b.s, "table", table, 40);
    run_execute(b.s, NULL);
    g_assert_cmpint(fill(b.s, "ids", (int32_t[]){20, 9}, 2, &error), ==, PSC_OK); /* the kernel's to refuse */
    run_fails(psc_session_execute(b.s, NULL, &error), &error, PSC_ERR_USAGE, WORDS("node 3 (get_rows)", "row 20", "on cpu"));
    bench_end(&b);
}

static void test_bounds_reach_through_views(void)
{
    struct bench b = bench("x: input 2x2\nboth: input 4 i32\npositions: view 2 both +2\nstore: kvcache_store 2x8 x x positions #0\n"
                           "y: scale 4 x scale=2\nout y\n", NULL);
    struct psc_error error = {0};
    g_assert_cmpint(fill(b.s, "both", (int32_t[]){99, 99, 6, 7}, 4, &error), ==, PSC_OK);
    run_fails(fill(b.s, "both", (int32_t[]){0, 0, 0, 8}, 4, &error), &error, PSC_ERR_USAGE, WORDS("both[1]", "8"));
    run_fill_f32(b.s, "x", F(1, 2, 3, 4), 4);
    execute(&b);
    expect_rows(&b, "w0[6,8)"); /* what was refused changed nothing */
    bench_end(&b);
}

static void test_too_many_tokens_are_refused_before_the_run(void)
{
    struct psc_arena arena = {0};
    struct psc_error error = {0};
    double_reset();
    struct psc_session *s = run_session(NULL);
    run_fails(use(s, text_graph(&arena, "x: input 2x9\np: input 9 i32\na: kvcache_store 2x8 x x p #0\ny: scale 2x9 x\nout y\n"), run_key(1),
                  &error), &error, PSC_ERR_PLAN, WORDS("node 2 (kvcache_store)", "9 rows", "position 8", "n_ctx 8"));
    psc_session_free(s);
    psc_arena_release(&arena);
}

/* ---- spans, maps, rows -------------------------------------------------------------------------------------------------- */

static void test_rows_follow_the_cells_and_positions(void)
{
    struct bench b = bench(layer, NULL);
    step(&b, 4, 5, 4, 5);
    expect_rows(&b, "w0[4,6) r0[0,6)");
    step(&b, 0, 1, 7, 2);
    expect_rows(&b, "w0[7,8) w0[2,3) r0[0,2)");
    execute(&b); /* nothing refilled */
    expect_rows(&b, "w0[7,8) w0[2,3) r0[0,2)");
    bench_end(&b);
}

static const char spanned[] =
    "x: input 2x3\np: input 3 i32\nspan: input 6 i32\nmap: input 24 i32\nload: kvcache_load 2x20 #0\nstore: kvcache_store 2x20 x x p #0\n"
    "o: attn 2x3 x load p span #0\nq: attn 2x3 x load p map #0\nout o q\n";

static void test_spans_and_maps(void)
{
    struct bench b = bench(spanned, NULL);
    struct psc_error error = {0};
    int32_t map[24] = {0, 2, 8, 1, 0, 0, 0, 0, 9, 3, 0, 0, 0, 0, 0, 0, 1, 3, 0, 0, 0, 0, 0, 0}, zeros[24] = {0};
    run_fill_f32(b.s, "x", F(1, 2, 3, 4, 5, 6), 6);
    run_fill_i32(b.s, "p", (int32_t[]){0, 1, 2}, 3);
    run_fails(fill(b.s, "span", zeros, 6, &error), &error, PSC_ERR_USAGE, WORDS("span", "zeros", "node 6 (attn)"));
    run_fails(fill(b.s, "map", zeros, 24, &error), &error, PSC_ERR_USAGE, WORDS("map", "zeros", "node 7 (attn)"));
    run_fails(fill(b.s, "span", (int32_t[]){0, 0, 5, 1, 2, 4}, 6, &error), &error, PSC_ERR_USAGE, WORDS("token 2", "from 5 to 4"));
    run_fails(fill(b.s, "span", (int32_t[]){0, 0, 5, 1, 2, 21}, 6, &error), &error, PSC_ERR_USAGE, WORDS("span[5]", "21", "n_ctx 20"));
    g_assert_cmpint(fill(b.s, "span", (int32_t[]){10, 2, 4, 12, 4, 6}, 6, &error), ==, PSC_OK);
    map[8] = 18;
    run_fails(fill(b.s, "map", map, 24, &error), &error, PSC_ERR_USAGE, WORDS("map[8]", "21", "n_ctx 20"));
    map[8] = 9;
    g_assert_cmpint(fill(b.s, "map", map, 24, &error), ==, PSC_OK);
    execute(&b);
    expect_rows(&b, "w0[0,3) r0[2,6) r0[10,12) r0[0,4) r0[8,12)");
    bench_end(&b);
}

static void test_unknown_rows_are_all_rows(void)
{
    struct bench b = bench("x: input 2\na: kvcache_store 2x8 x x #0\nl: kvcache_load 2x8 #0\no: attn 2 x l #0\nout o\n", NULL);
    run_fill_f32(b.s, "x", F(1, 2), 2);
    execute(&b);
    expect_rows(&b, "w0[0,8) r0[0,8)");
    bench_end(&b);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/run/kv/a-layer-has-two-regions", test_two_regions_a_layer);
    g_test_add_func("/run/kv/rows-are-stored-and-read", test_rows_are_stored_and_read);
    g_test_add_func("/run/kv/regions-outlive-graphs", test_regions_outlive_graphs);
    g_test_add_func("/run/kv/size-backend-and-format-of-a-layer-never-change", test_a_layer_never_changes);
    g_test_add_func("/run/kv/packed-rows-have-their-own-size", test_packed_rows);
    g_test_add_func("/run/kv/the-sessions-n-ctx-rules", test_the_sessions_n_ctx_rules);
    g_test_add_func("/run/kv/rows-on-another-backend-are-refused", test_rows_on_another_backend_are_refused);
    g_test_add_func("/run/kv/positions-beyond-n-ctx-are-refused-at-the-fill", test_positions_are_bounded_at_the_fill);
    g_test_add_func("/run/kv/token-ids-are-not-bounded", test_token_ids_are_not_bounded);
    g_test_add_func("/run/kv/bounds-reach-through-views", test_bounds_reach_through_views);
    g_test_add_func("/run/kv/more-tokens-than-rows-are-refused-at-the-plan", test_too_many_tokens_are_refused_before_the_run);
    g_test_add_func("/run/kv/rows-follow-cells-and-positions", test_rows_follow_the_cells_and_positions);
    g_test_add_func("/run/kv/spans-and-maps-are-bounded-and-joined", test_spans_and_maps);
    g_test_add_func("/run/kv/rows-that-no-input-names-are-all-rows", test_unknown_rows_are_all_rows);
    return g_test_run();
}
