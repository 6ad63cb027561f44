/* The session on small graphs with real numbers: what is filled, run and read, and what the pools hold. */
#include "core/debug/check.h"
#include "tests/runs.h"
#include "tests/text-graph.h"
#include "tests/util.h"

#include <string.h>

#define WORDS(...) (const char *const[]){__VA_ARGS__, NULL}
#define F(...) (const float[]){__VA_ARGS__}

struct bench { struct psc_arena arena; struct psc_graph *g; struct psc_session *s; };

static struct bench bench(const char *text, const struct psc_session_options *options)
{
    struct bench b = {0};
    double_reset();
    b.g = text_graph(&b.arena, text);
    b.s = run_session(options);
    run_use(b.s, b.g, 1);
    return b;
}

static void bench_end(struct bench *b)
{
    psc_session_free(b->s);
    g_assert_cmpuint(double_control.allocs, ==, double_control.frees);
    psc_arena_release(&b->arena);
}

static uint32_t buffer_of(const struct bench *b, const char *name)
{
    const struct psc_plan *plan = psc_session_plan(b->s);
    uint32_t buffer = plan->places[text_graph_node(b->g, name)].buffer;
    return buffer == PSC_NONE ? PSC_NONE : (uint32_t)plan->buffers[buffer].id;
}

static const struct psc_place *place_of(const struct bench *b, const char *name)
{
    return &psc_session_plan(b->s)->places[text_graph_node(b->g, name)];
}

static struct psc_pool_figures figures(const struct bench *b, uint32_t backend)
{
    struct psc_pool_figures f;
    psc_session_figures(b->s, backend, &f);
    return f;
}

static const char chain[] =
    "x: input 4\n"
    "w: input 4\n"
    "t: add 4 x w\n"
    "s: silu 4 t\n"
    "u: mul 4 x w\n"
    "o: add 4 s u\n"
    "out o\n";

static void fill_chain(struct psc_session *s)
{
    run_fill_f32(s, "x", F(1, 2, 3, 4), 4);
    run_fill_f32(s, "w", F(2, 2, 2, 2), 4);
}

/* ---- fill, run, read ----------------------------------------------------------------------------------------------- */

static void test_a_graph_runs(void)
{
    struct bench b = bench(chain, NULL);
    fill_chain(b.s);
    run_execute(b.s, NULL);
    run_expect(b.s, "o", F(4.858f, 7.928f, 10.967f, 13.985f), 4, 0.001);
    bench_end(&b);
}

static void test_inputs_read_back(void)
{
    struct bench b = bench(chain, NULL);
    fill_chain(b.s);
    run_expect(b.s, "x", F(1, 2, 3, 4), 4, 0);
    run_expect(b.s, "w", F(2, 2, 2, 2), 4, 0);
    bench_end(&b);
}

static void test_wrong_fills_are_refused(void)
{
    struct bench b = bench("x: input 3\nids: input 2 i32\ny: scale 3 x scale=2\nz: get_rows 3x2 y ids\nout z\n", NULL);
    struct psc_error error = {0};
    run_fails(psc_session_fill(b.s, "x", F(1, 2, 3, 4), 4, &error), &error, PSC_ERR_USAGE,
              WORDS("'x'", "3 elements", "4 were given", "ids (2)"));
    run_fails(psc_session_fill(b.s, "x", F(1, 2), 2, &error), &error, PSC_ERR_USAGE, WORDS("3 elements", "2 were given"));
    run_fails(psc_session_fill(b.s, "nope", F(1), 1, &error), &error, PSC_ERR_USAGE, WORDS("'nope'", "x (3)", "ids (2)"));
    run_fails(psc_session_fill(b.s, "y", F(1, 2, 3), 3, &error), &error, PSC_ERR_USAGE, WORDS("'y'", "x (3)"));
    run_fails(psc_session_fill_node(b.s, 2, F(1, 2, 3), 3, &error), &error, PSC_ERR_USAGE, WORDS("no input"));
    float word;
    run_fails(psc_session_read(b.s, 0, &word, 2, &error), &error, PSC_ERR_USAGE, WORDS("12 bytes", "2 words"));
    run_fails(psc_session_read(b.s, 9, &word, 1, &error), &error, PSC_ERR_USAGE, WORDS("no node 9"));
    bench_end(&b);
}

static void test_two_inputs_of_one_name(void)
{
    struct psc_builder *builder = psc_builder_new();
    struct psc_arena arena = {0};
    struct psc_graph *g = NULL;
    struct psc_error error = {0};
    psc_builder_set_backend(builder, "cpu");
    psc_node x = psc_builder_input(builder, "x", PSC_F32, 2, 1), y = psc_builder_input(builder, "x", PSC_F32, 2, 1);
    psc_builder_output(builder, psc_builder_binary(builder, "o", PSC_OP_ADD, x, y));
    g_assert_cmpint(psc_builder_finish(builder, &arena, &g, &error), ==, PSC_OK);
    psc_builder_free(builder);
    double_reset();
    struct psc_session *s = run_session(NULL);
    run_use(s, g, 1);
    run_fails(psc_session_fill(s, "x", F(1, 2), 2, &error), &error, PSC_ERR_USAGE, WORDS("2 inputs are called 'x'"));
    g_assert_cmpint(psc_session_fill_node(s, x, F(1, 2), 2, &error), ==, PSC_OK);
    g_assert_cmpint(psc_session_fill_node(s, y, F(10, 20), 2, &error), ==, PSC_OK);
    run_execute(s, NULL);
    run_expect(s, "o", F(11, 22), 2, 0);
    psc_session_free(s);
    psc_arena_release(&arena);
}

static void test_unfilled_inputs_are_refused(void)
{
    struct bench b = bench("x: input 4\nw: input 4\nidle: input 4\no: add 4 x w\nout o\n", NULL);
    struct psc_error error = {0};
    run_fill_f32(b.s, "x", F(1, 2, 3, 4), 4);
    run_fails(psc_session_execute(b.s, NULL, &error), &error, PSC_ERR_USAGE, WORDS("'w'", "node 1", "4 elements", "not been filled"));
    run_fill_f32(b.s, "w", F(1, 1, 1, 1), 4);
    run_execute(b.s, NULL); /* nobody reads `idle` */
    run_expect(b.s, "o", F(2, 3, 4, 5), 4, 0);
    run_use(b.s, b.g, 2); /* the same graph under another key is another graph */
    run_fill_f32(b.s, "x", F(1, 2, 3, 4), 4);
    run_fails(psc_session_execute(b.s, NULL, &error), &error, PSC_ERR_USAGE, WORDS("'w'"));
    bench_end(&b);
}

static void test_nothing_without_a_graph(void)
{
    struct psc_error error = {0};
    float word = 0;
    double_reset();
    struct psc_session *s = run_session(NULL);
    g_assert_null(psc_session_graph(s));
    g_assert_null(psc_session_plan(s));
    run_fails(psc_session_execute(s, NULL, &error), &error, PSC_ERR_USAGE, WORDS("no graph"));
    run_fails(psc_session_fill(s, "x", &word, 1, &error), &error, PSC_ERR_USAGE, WORDS("no graph"));
    run_fails(psc_session_read(s, 0, &word, 1, &error), &error, PSC_ERR_USAGE, WORDS("no graph"));
    struct psc_graph_key key = run_key(1);
    run_fails(psc_session_use(s, &key, NULL, NULL, &error), &error, PSC_ERR_USAGE, WORDS("has been built"));
    psc_session_free(s);
    g_assert_cmpuint(double_control.allocs, ==, 0);
}

/* ---- bit patterns ----------------------------------------------------------------------------------------------------- */

static const uint32_t odd_words[] = {151935, 0x7f800001u, 0xffffffffu, 0, 1, 0x80000000u};

static void expect_words_survive(gconstpointer backend)
{
    char *text = g_strdup_printf("ids: input 6 i32 @%s\nv: view 6 ids @%s\nout v\n", (const char *)backend, (const char *)backend);
    struct psc_arena arena = {0};
    struct psc_error error = {0};
    uint32_t words[6] = {0};
    double_reset();
    struct psc_session *s = run_session(NULL);
    run_use(s, text_graph(&arena, text), 1);
    g_assert_cmpint(psc_session_fill(s, "ids", odd_words, 6, &error), ==, PSC_OK);
    run_execute(s, NULL);
    g_assert_cmpint(psc_session_read(s, 1, words, 6, &error), ==, PSC_OK);
    g_assert_cmpmem(words, sizeof words, odd_words, sizeof odd_words);
    psc_session_free(s);
    psc_arena_release(&arena);
    g_free(text);
}

/* An index that is made on one backend and read on another goes through a staged copy. */
static void test_words_survive_a_copy(void)
{
    struct bench b = bench("x: input 2x4 @metal\nids: input 2 i32\ny: get_rows 2x2 x ids @metal\no: scale 2x2 y scale=2\nout o\n", NULL);
    struct psc_session_counters c;
    run_fill_f32(b.s, "x", F(1, 2, 3, 4, 5, 6, 7, 8), 8);
    run_fill_i32(b.s, "ids", (int32_t[]){3, 0}, 2);
    run_execute(b.s, NULL);
    run_expect(b.s, "o", F(14, 16, 2, 4), 4, 0);
    psc_session_counters(b.s, &c);
    g_assert_cmpuint(c.copies, ==, 2);
    bench_end(&b);
}

/* ---- windows ------------------------------------------------------------------------------------------------------------ */

static void test_a_window_is_shorter_than_its_buffer(void)
{
    struct psc_session_options options = run_options();
    options.recycled = PSC_RECYCLED_POISONED;
    struct bench b = bench("x: input 3\ny: scale 3 x scale=2\nout y\n", &options);
    struct psc_pool_buffer buffer;
    struct psc_error error = {0};
    struct run_heard heard;
    uint32_t words[256];
    const struct psc_backend_api *api;
    run_listen(&heard, false);
    run_fill_f32(b.s, "x", F(1, 2, 3), 3);
    run_execute(b.s, &heard.sink);
    run_expect(b.s, "y", F(2, 4, 6), 3, 0);
    for (uint32_t id = 0; id < 2; id++) {
        psc_session_buffer(b.s, 0, id, &buffer);
        g_assert_cmpuint(buffer.bytes, ==, 1024);
        g_assert_cmpint(psc_session_backend(b.s, 0, &api) != NULL, ==, TRUE);
        g_assert_cmpint(api->read(psc_session_backend(b.s, 0, &api), buffer.at, words, 1024, &error), ==, PSC_OK);
        for (uint32_t k = 3; k < 256; k++)
            g_assert_cmphex(words[k], ==, PSC_POISON);
    }
    for (uint32_t e = 0; e < heard.event_n; e++)
        if (heard.events[e].kind != PSC_EV_RELEASE)
            g_assert_cmpuint(heard.events[e].hi - heard.events[e].lo, ==, 12);
    g_assert_cmpuint(heard.event_n, >=, 4);
    run_heard_release(&heard);
    bench_end(&b);
}

static void test_views_are_windows(void)
{
    struct bench b = bench("x: input 8\nw: input 8\na: input 4\nt: add 8 x w\np0: view 4 t +0\np1: view 4 t +4\n"
                           "s: mul 4 a a\no0: mul 4 p0 s\no: add 4 o0 p1\nout o p1\n", NULL);
    run_fill_f32(b.s, "x", F(1, 2, 3, 4, 5, 6, 7, 8), 8);
    run_fill_f32(b.s, "w", F(1, 1, 1, 1, 1, 1, 1, 1), 8);
    run_fill_f32(b.s, "a", F(1, 2, 3, 4), 4);
    run_execute(b.s, NULL);
    run_expect(b.s, "p1", F(6, 7, 8, 9), 4, 0);
    run_expect(b.s, "o", F(2 + 6, 12 + 7, 36 + 8, 80 + 9), 4, 0);
    g_assert_cmpuint(buffer_of(&b, "p1"), ==, buffer_of(&b, "t"));
    g_assert_cmpuint(place_of(&b, "p1")->offset, ==, 16);
    bench_end(&b);
}

/* Parts of one tensor feed separate readers: one is an index into the other. */
static void test_parts_feed_separate_readers(void)
{
    struct bench b = bench("x: input 8\nids: input 2 i32\nw: input 8\nt: add 8 x w\nrows: view 2x4 t\ny: get_rows 2x2 rows ids\nout y\n", NULL);
    run_fill_f32(b.s, "x", F(1, 2, 3, 4, 5, 6, 7, 8), 8);
    run_fill_f32(b.s, "w", F(0, 0, 0, 0, 0, 0, 0, 0), 8);
    run_fill_i32(b.s, "ids", (int32_t[]){3, 0}, 2);
    run_execute(b.s, NULL);
    run_expect(b.s, "y", F(7, 8, 1, 2), 4, 0);
    bench_end(&b);
}

static void test_a_repeated_source_is_read_twice(void)
{
    struct bench b = bench("x: input 4\nd: add 4 x x\nq: mul 4 x x\nout d q\n", NULL);
    struct run_heard heard;
    uint32_t reads = 0;
    run_listen(&heard, false);
    run_fill_f32(b.s, "x", F(1, 2, 3, 4), 4);
    run_execute(b.s, &heard.sink);
    run_expect(b.s, "d", F(2, 4, 6, 8), 4, 0);
    run_expect(b.s, "q", F(1, 4, 9, 16), 4, 0);
    for (uint32_t e = 0; e < heard.event_n; e++)
        reads += heard.events[e].kind == PSC_EV_READ;
    g_assert_cmpuint(reads, ==, 4);
    run_heard_release(&heard);
    bench_end(&b);
}

static void test_an_empty_tensor_needs_nothing(void)
{
    struct bench b = bench("x: input 4\nnone: input 0\ny: scale 4 x scale=3\nz: scale 0 none scale=3\nout y z\n", NULL);
    struct psc_error error = {0};
    run_fill_f32(b.s, "x", F(1, 2, 3, 4), 4);
    run_execute(b.s, NULL);
    run_expect(b.s, "y", F(3, 6, 9, 12), 4, 0);
    g_assert_cmpint(psc_session_read(b.s, 3, NULL, 0, &error), ==, PSC_OK);
    g_assert_cmpint(psc_session_fill(b.s, "none", NULL, 0, &error), ==, PSC_OK);
    bench_end(&b);
}

static void test_dead_nodes_are_skipped(void)
{
    struct bench b = bench("x: input 4\ndead: scale 4 x scale=2\ny: scale 4 x scale=3\nout y\n", NULL);
    struct psc_session_counters c;
    struct psc_error error = {0};
    float words[4];
    run_fill_f32(b.s, "x", F(1, 2, 3, 4), 4);
    run_execute(b.s, NULL);
    psc_session_counters(b.s, &c);
    g_assert_cmpuint(c.launches, ==, 1);
    g_assert_cmpuint(c.skipped_dead, ==, 1);
    run_fails(psc_session_read(b.s, 1, words, 4, &error), &error, PSC_ERR_USAGE, WORDS("node 1", "no buffer"));
    bench_end(&b);
}

/* ---- running again ------------------------------------------------------------------------------------------------------- */

static const char eats_its_input[] = "x: input 4\ny: silu 4 x\nout y\n";

static void test_a_second_run_needs_no_refilling(void)
{
    struct bench b = bench(eats_its_input, NULL);
    run_fill_f32(b.s, "x", F(1, 2, 3, 4), 4);
    for (int times = 0; times < 3; times++) {
        run_execute(b.s, NULL);
        run_expect(b.s, "y", F(0.7311f, 1.7616f, 2.8577f, 3.9281f), 4, 0.0005);
    }
    bench_end(&b);
}

/* What the engine under study does (h3): the op runs in place over the input, so the second run sees silu(x). */
static void test_upstream_eats_its_input(void)
{
    struct psc_session_options options = run_options();
    options.plan.mode = PSC_MODE_UPSTREAM;
    struct bench b = bench(eats_its_input, &options);
    run_fill_f32(b.s, "x", F(1, 2, 3, 4), 4);
    run_execute(b.s, NULL);
    run_expect(b.s, "y", F(0.7311f, 1.7616f, 2.8577f, 3.9281f), 4, 0.0005);
    run_execute(b.s, NULL);
    run_expect(b.s, "y", F(0.4935f, 1.5034f, 2.7026f, 3.8522f), 4, 0.0005);
    run_fill_f32(b.s, "x", F(1, 2, 3, 4), 4);
    run_execute(b.s, NULL);
    run_expect(b.s, "y", F(0.7311f, 1.7616f, 2.8577f, 3.9281f), 4, 0.0005);
    bench_end(&b);
}

/* ---- pools ------------------------------------------------------------------------------------------------------------------ */

static void test_a_chain_shares_buffers(void)
{
    struct bench b = bench("x: input 4\na: scale 4 x scale=2\nb: scale 4 a scale=2\nc: scale 4 b scale=2\nd: scale 4 c scale=2\n"
                           "e: scale 4 d scale=2\nf: scale 4 e scale=2\nout f\n", NULL);
    run_fill_f32(b.s, "x", F(1, 2, 3, 4), 4);
    run_execute(b.s, NULL);
    run_expect(b.s, "f", F(64, 128, 192, 256), 4, 0);
    g_assert_cmpuint(figures(&b, 0).buffers, ==, 3);
    g_assert_cmpuint(figures(&b, 0).pool_bytes, ==, 3072);
    g_assert_cmpuint(figures(&b, 0).idle, ==, 1);
    g_assert_cmpuint(figures(&b, 0).live_bytes, ==, 2048);
    g_assert_cmpuint(figures(&b, 0).peak_live_bytes, ==, 3072);
    g_assert_cmpuint(figures(&b, 0).allocs, ==, 3);
    bench_end(&b);
}

static void test_generations_count_givings(void)
{
    struct bench b = bench("x: input 4\na: scale 4 x scale=2\nb: scale 4 a scale=2\nc: scale 4 b scale=2\nd: scale 4 c scale=2\nout d\n", NULL);
    struct psc_pool_buffer buffer;
    struct run_heard heard;
    run_listen(&heard, false);
    run_fill_f32(b.s, "x", F(1, 2, 3, 4), 4);
    run_execute(b.s, &heard.sink);
    psc_session_buffer(b.s, 0, buffer_of(&b, "x"), &buffer);
    g_assert_cmpuint(buffer.generation, ==, 1);
    psc_session_buffer(b.s, 0, buffer_of(&b, "a"), &buffer);
    g_assert_cmpuint(buffer.generation, ==, 2); /* a, then c */
    uint32_t told[2] = {0}, n = 0;
    for (uint32_t e = 0; e < heard.event_n; e++)
        if (heard.events[e].kind == PSC_EV_ALLOC && heard.events[e].buffer == buffer.id)
            told[n++] = heard.events[e].generation;
    g_assert_cmpuint(n, ==, 2);
    g_assert_cmpuint(told[0], ==, 1);
    g_assert_cmpuint(told[1], ==, 2);
    psc_address at = buffer.at;
    run_use(b.s, b.g, 2); /* another graph of the same sizes */
    psc_session_buffer(b.s, 0, buffer.id, &buffer);
    g_assert_cmpuint(buffer.generation, ==, 4);
    g_assert_cmpuint(buffer.at, ==, at);
    run_heard_release(&heard);
    bench_end(&b);
}

/* A short tenant follows a long one in its buffer: what stands behind the short one's window? */
static void test_recycled_bytes(void)
{
    static const char text[] = "x: input 200\nlong: scale 200 x scale=2\nb: scale 200 long scale=2\nv: view 4 b\n"
                               "short: scale 4 v scale=2\nc: add 4 short v\nout c\n";
    float ones[200];
    for (uint32_t k = 0; k < 200; k++)
        ones[k] = 1;
    for (unsigned mode = 0; mode < PSC_RECYCLED_N; mode++) {
        struct psc_session_options options = run_options();
        options.recycled = (enum psc_recycled)mode;
        struct bench b = bench(text, &options);
        struct psc_pool_buffer buffer;
        struct psc_error error = {0};
        const struct psc_backend_api *api;
        uint32_t words[256], expected[] = {0x40000000u /* 2: long's */, 0, PSC_POISON};
        g_assert_cmpuint(buffer_of(&b, "long"), ==, buffer_of(&b, "short"));
        psc_session_buffer(b.s, 0, buffer_of(&b, "short"), &buffer);
        run_fill_f32(b.s, "x", ones, 200);
        run_execute(b.s, NULL);
        run_expect(b.s, "c", F(12, 12, 12, 12), 4, 0);
        struct psc_backend *cpu = psc_session_backend(b.s, 0, &api);
        g_assert_cmpint(api->read(cpu, buffer.at, words, 1024, &error), ==, PSC_OK);
        for (uint32_t k = 4; k < 200; k++)
            g_assert_cmphex(words[k], ==, expected[mode]);
        bench_end(&b);
    }
}

static void test_names_of_modes(void)
{
    enum psc_recycled mode;
    for (unsigned k = 0; k < PSC_RECYCLED_N; k++) {
        g_assert_true(psc_recycled_parse(psc_recycled_name((enum psc_recycled)k), &mode));
        g_assert_cmpint(mode, ==, k);
    }
    g_assert_false(psc_recycled_parse("fresh", &mode));
}

/* ---- backends ----------------------------------------------------------------------------------------------------------------- */

static void test_unknown_backends(void)
{
    struct psc_arena arena = {0};
    struct psc_error error = {0};
    struct psc_graph_key key = run_key(1);
    double_reset();
    struct psc_session *s = run_session(NULL);
    run_fails(psc_session_use(s, &key, run_build_cb, text_graph(&arena, "x: input 4 @tpu\ny: silu 4 x @tpu\nout y\n"), &error), &error,
              PSC_ERR_UNAVAILABLE, WORDS("'tpu'"));
    double_control.unavailable = "the driver is too old: 1.0, at least 2.0 is needed";
    run_fails(psc_session_use(s, &key, run_build_cb, text_graph(&arena, "x: input 4 @cuda\ny: silu 4 x @cuda\nout y\n"), &error), &error,
              PSC_ERR_UNAVAILABLE, WORDS("cuda", "driver is too old"));
    run_use(s, text_graph(&arena, "x: input 4 @deferred\ny: silu 4 x @deferred\nout y\n"), 1); /* by its true name too */
    psc_session_free(s);
    psc_arena_release(&arena);
}

/* ---- the record --------------------------------------------------------------------------------------------------------------- */

/* Two buffers are exchanged behind the plan's back: the numbers stay, the record names the bytes that were used. */
static void test_the_record_shows_a_swap(void)
{
    struct bench b = bench(chain, NULL);
    struct run_heard heard;
    uint32_t t = buffer_of(&b, "t"), u = buffer_of(&b, "u"), seen = 0;
    run_listen(&heard, false);
    fill_chain(b.s);
    g_assert_cmpuint(t, !=, u);
    psc_session_swap_addresses(b.s, 0, t, u, 2);
    run_execute(b.s, &heard.sink);
    run_expect(b.s, "o", F(4.858f, 7.928f, 10.967f, 13.985f), 4, 0.001);
    for (uint32_t e = 0; e < heard.event_n; e++) {
        if (heard.events[e].kind != PSC_EV_WRITE)
            continue;
        if (heard.events[e].value == text_graph_node(b.g, "t"))
            seen += heard.events[e].buffer == u;
        if (heard.events[e].value == text_graph_node(b.g, "u"))
            seen += heard.events[e].buffer == t;
    }
    g_assert_cmpuint(seen, ==, 2);
    char *difference = run_compare(&heard);
    g_assert_nonnull(difference);
    g_free(difference);
    run_heard_release(&heard);
    bench_end(&b);
}

/* Exchanged in the middle of the run only, the same is damage: the plan knows nothing of it, the record finds it. */
static void test_the_record_shows_the_damage(void)
{
    struct bench b = bench(chain, NULL);
    struct run_heard heard;
    struct psc_arena arena = {0};
    struct psc_check check = {0};
    struct psc_error error = {0};
    run_listen(&heard, false);
    fill_chain(b.s);
    psc_session_swap_addresses(b.s, 0, buffer_of(&b, "t"), buffer_of(&b, "u"), 3); /* t has been written by then */
    run_execute(b.s, &heard.sink);
    g_assert_true(run_differs(b.s, "o", F(4.858f, 7.928f, 10.967f, 13.985f), 4));
    struct psc_story *story = run_story(&heard, &arena);
    g_assert_cmpint(psc_check_story(&arena, b.g, story, &check, &error), ==, PSC_OK);
    g_assert_cmpuint(check.finding_n, ==, 1);
    g_assert_cmpuint(check.findings[0].victim, ==, text_graph_node(b.g, "t"));
    g_assert_cmpuint(check.findings[0].reader, ==, text_graph_node(b.g, "s"));
    g_assert_cmpint(psc_plan_lower(&arena, b.g, psc_session_plan(b.s), &story, &error), ==, PSC_OK);
    g_assert_cmpint(psc_check_story(&arena, b.g, story, &check, &error), ==, PSC_OK);
    g_assert_cmpuint(check.finding_n, ==, 0);
    psc_arena_release(&arena);
    run_heard_release(&heard);
    bench_end(&b);
}

/* ---- weights ------------------------------------------------------------------------------------------------------------------ */

static const float the_bytes[4] = {1, 2, 3, 4};
static const struct psc_weight the_part = {.name = "part", .type = PSC_W_F32, .in = 4, .out = 1, .data = the_bytes, .bytes = 16};
static const struct psc_weight the_weights[] = {
    {.name = "w", .type = PSC_W_F32, .in = 4, .out = 1, .data = the_bytes, .bytes = 16},
    {.name = "shape", .type = PSC_W_F32, .in = 4, .out = 1},
    {.name = "both", .type = PSC_W_F32, .in = 4, .out = 2, .parts = {&the_part, &the_weights[0]}, .part_n = 2},
};

static const struct psc_weight *weight_cb(void *ctx, const char *name)
{
    (void)ctx;
    for (size_t k = 0; k < G_N_ELEMENTS(the_weights); k++)
        if (!strcmp(the_weights[k].name, name))
            return &the_weights[k];
    return NULL;
}

static void test_weights(void)
{
    struct psc_arena arena = {0};
    struct psc_error error = {0};
    struct psc_session_options options = run_options();
    struct psc_graph_key key = run_key(1);
    struct psc_pool_figures f;
    double_reset();
    struct psc_session *s = run_session(&options);
    run_fails(psc_session_use(s, &key, run_build_cb, text_graph(&arena, "x: input 4\ny: matmul 1 x weight=w\nout y\n"), &error), &error,
              PSC_ERR_USAGE, WORDS("node 1 (matmul)", "'w'", "no model"));
    psc_session_free(s);
    options.weight = weight_cb;
    s = run_session(&options);
    run_fails(psc_session_use(s, &key, run_build_cb, text_graph(&arena, "x: input 4\ny: matmul 1 x weight=other\nout y\n"), &error), &error,
              PSC_ERR_USAGE, WORDS("node 1 (matmul)", "'other'", "does not have"));
    run_fails(psc_session_use(s, &key, run_build_cb, text_graph(&arena, "x: input 4\ny: matmul 1 x weight=shape\nout y\n"), &error), &error,
              PSC_ERR_USAGE, WORDS("'shape'", "the shape only"));
    run_use(s, text_graph(&arena, "x: input 4\ndead: matmul 1 x weight=other\ny: matmul 1 x weight=w\nz: matmul 2 x weight=both bias=w\nout y z\n"), 1);
    psc_session_figures(s, 0, &f);
    g_assert_cmpuint(f.weight_bytes, ==, 32); /* w once, however many nodes read it, and the part */
    psc_session_free(s);
    psc_arena_release(&arena);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/run/session/a-graph-is-filled-run-and-read", test_a_graph_runs);
    g_test_add_func("/run/session/inputs-read-back-before-the-run", test_inputs_read_back);
    g_test_add_func("/run/session/wrong-lengths-and-unknown-names-are-refused-with-what-is-there", test_wrong_fills_are_refused);
    g_test_add_func("/run/session/inputs-of-one-name-are-filled-by-node", test_two_inputs_of_one_name);
    g_test_add_func("/run/session/an-input-that-was-not-filled-since-mapping-is-refused", test_unfilled_inputs_are_refused);
    g_test_add_func("/run/session/without-a-graph-there-is-nothing", test_nothing_without_a_graph);
    g_test_add_data_func("/run/session/bit-patterns-survive-on-cpu", "cpu", expect_words_survive);
    g_test_add_data_func("/run/session/bit-patterns-survive-on-metal", "metal", expect_words_survive);
    g_test_add_data_func("/run/session/bit-patterns-survive-on-cuda", "cuda", expect_words_survive);
    g_test_add_func("/run/session/an-index-survives-a-staged-copy", test_words_survive_a_copy);
    g_test_add_func("/run/session/a-window-is-shorter-than-its-buffer", test_a_window_is_shorter_than_its_buffer);
    g_test_add_func("/run/session/views-are-windows-of-their-owner", test_views_are_windows);
    g_test_add_func("/run/session/parts-feed-separate-readers", test_parts_feed_separate_readers);
    g_test_add_func("/run/session/a-repeated-source-is-read-twice", test_a_repeated_source_is_read_twice);
    g_test_add_func("/run/session/an-empty-tensor-needs-nothing", test_an_empty_tensor_needs_nothing);
    g_test_add_func("/run/session/dead-nodes-are-skipped", test_dead_nodes_are_skipped);
    g_test_add_func("/run/session/a-second-run-needs-no-refilling", test_a_second_run_needs_no_refilling);
    g_test_add_func("/run/session/upstream-runs-in-place-over-its-input", test_upstream_eats_its_input);
    g_test_add_func("/run/session/a-chain-shares-three-buffers", test_a_chain_shares_buffers);
    g_test_add_func("/run/session/generations-count-how-often-a-buffer-was-given-out", test_generations_count_givings);
    g_test_add_func("/run/session/recycled-bytes-are-kept-zeroed-or-poisoned", test_recycled_bytes);
    g_test_add_func("/run/session/recycling-modes-have-names", test_names_of_modes);
    g_test_add_func("/run/session/backends-that-are-not-there-get-a-sentence", test_unknown_backends);
    g_test_add_func("/run/session/the-record-shows-buffers-exchanged-behind-the-plan", test_the_record_shows_a_swap);
    g_test_add_func("/run/session/the-record-finds-damage-that-the-plan-knows-nothing-of", test_the_record_shows_the_damage);
    g_test_add_func("/run/session/weights-are-found-loaded-and-counted-once", test_weights);
    return g_test_run();
}
