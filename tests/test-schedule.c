/* The scheduler: splits, staged copies, waits, errors, capture and replay, on doubles of backends. */
#include "core/run/staging.h"
#include "tests/runs.h"
#include "tests/text-graph.h"
#include "tests/util.h"

#include <string.h>

#define WORDS(...) (const char *const[]){__VA_ARGS__, NULL}
#define F(...) (const float[]){__VA_ARGS__}

struct bench { struct psc_arena arena; struct psc_graph *g; struct psc_session *s; struct run_heard heard; };

static void bench_begin(struct bench *b, const char *text, const struct psc_session_options *options)
{
    *b = (struct bench){0};
    double_reset();
    run_listen(&b->heard, false);
    b->g = text_graph(&b->arena, text);
    b->s = run_session(options);
    run_use(b->s, b->g, 1);
}

static void bench_end(struct bench *b)
{
    run_heard_release(&b->heard);
    psc_session_free(b->s);
    g_assert_cmpuint(double_control.allocs, ==, double_control.frees);
    psc_arena_release(&b->arena);
}

static struct psc_session_counters counters(const struct bench *b)
{
    struct psc_session_counters c;
    psc_session_counters(b->s, &c);
    return c;
}

static struct psc_pool_figures figures(const struct bench *b, uint32_t backend)
{
    struct psc_pool_figures f;
    psc_session_figures(b->s, backend, &f);
    return f;
}

/* cpu, metal, cpu: x crosses to metal, s crosses back */
static const char there_and_back[] = "x: input 4\ns: silu 4 x @metal\no: add 4 s x\nout o\n";
static const float back_again[] = {1.7311f, 3.7616f, 5.8577f, 7.9281f};

/* Two values of metal, of which cpu needs the second only after a node of its own. */
static const char two_values[] =
    "x: input 4\np: scale 4 x scale=2 @metal\nq: scale 4 x scale=3 @metal\na: scale 4 x scale=5\nb: add 4 a p\no: add 4 b q\nout o\n";

/* ---- copies ------------------------------------------------------------------------------------------------------- */

static void test_one_backend_has_no_boundary(void)
{
    struct bench b;
    bench_begin(&b, "x: input 4\ns: silu 4 x\no: add 4 s x\nout o\n", NULL);
    run_fill_f32(b.s, "x", F(1, 2, 3, 4), 4);
    run_execute(b.s, NULL);
    run_expect(b.s, "o", back_again, 4, 0.0005);
    g_assert_cmpuint(counters(&b).launches, ==, 2);
    g_assert_cmpuint(counters(&b).copies, ==, 0);
    g_assert_cmpuint(counters(&b).waits, ==, 0);
    g_assert_cmpuint(figures(&b, 0).staging, ==, 0);
    g_assert_cmpuint(double_control.submits, ==, 0);
    bench_end(&b);
}

static void test_copies_cross_and_come_back(void)
{
    struct bench b;
    bench_begin(&b, there_and_back, NULL);
    run_fill_f32(b.s, "x", F(1, 2, 3, 4), 4);
    for (uint32_t times = 1; times <= 3; times++) { /* nothing is refilled: places of nodes never move */
        run_execute(b.s, NULL);
        run_expect(b.s, "o", back_again, 4, 0.0005);
        g_assert_cmpuint(counters(&b).copies, ==, 2 * times);
        g_assert_cmpuint(counters(&b).waits, ==, 2 * times);
        g_assert_cmpuint(counters(&b).deferred_waits, ==, 2 * times);
        g_assert_cmpuint(counters(&b).blocking_copies, ==, 0);
    }
    g_assert_cmpuint(figures(&b, 0).staging, ==, 1);
    g_assert_cmpuint(figures(&b, 1).staging, ==, 1);
    g_assert_cmpuint(figures(&b, 1).staging_bytes, ==, 16); /* exact, no class */
    bench_end(&b);
}

static uint32_t place_in(const struct bench *b, enum psc_event_kind kind, psc_node node, uint32_t value)
{
    for (uint32_t e = 0; e < b->heard.event_n; e++)
        if (b->heard.events[e].kind == kind && (b->heard.events[e].node == node || kind == PSC_EV_ENQUEUE) &&
            b->heard.events[e].value == value)
            return e;
    g_error("no such event");
    return 0;
}

/* Both copies are enqueued at the boundary, each is waited for where it is first read. */
static void test_waits_stand_at_the_first_use(void)
{
    struct bench b;
    bench_begin(&b, two_values, NULL);
    run_fill_f32(b.s, "x", F(1, 2, 3, 4), 4);
    run_execute(b.s, &b.heard.sink);
    run_expect(b.s, "o", F(10, 20, 30, 40), 4, 0);
    g_assert_cmpuint(counters(&b).most_in_flight, ==, 2);
    uint32_t first = b.g->n, x_to_metal = first, p_to_cpu = first + 1, q_to_cpu = first + 2;
    uint32_t enqueue_p = place_in(&b, PSC_EV_ENQUEUE, PSC_NONE, p_to_cpu), enqueue_q = place_in(&b, PSC_EV_ENQUEUE, PSC_NONE, q_to_cpu);
    uint32_t write_a = place_in(&b, PSC_EV_WRITE, 3, 3), wait_p = place_in(&b, PSC_EV_WAIT, 4, p_to_cpu);
    uint32_t wait_q = place_in(&b, PSC_EV_WAIT, 5, q_to_cpu), write_b = place_in(&b, PSC_EV_WRITE, 4, 4);
    g_assert_cmpuint(place_in(&b, PSC_EV_WAIT, 1, x_to_metal), <, enqueue_p);
    g_assert_cmpuint(enqueue_p, <, write_a);
    g_assert_cmpuint(enqueue_q, <, write_a);
    g_assert_cmpuint(write_a, <, wait_p);
    g_assert_cmpuint(wait_p, <, write_b);
    g_assert_cmpuint(write_b, <, wait_q);
    g_assert_cmpuint(b.heard.events[wait_p].peer, ==, enqueue_p);
    g_assert_cmpuint(b.heard.events[wait_q].peer, ==, enqueue_q);
    bench_end(&b);
}

static void test_blocking_copies(void)
{
    for (int declined = 0; declined < 2; declined++) {
        struct psc_session_options options = run_options();
        struct bench b;
        options.sync_copies = !declined;
        bench_begin(&b, two_values, &options);
        double_control.declines_copies = declined;
        run_fill_f32(b.s, "x", F(1, 2, 3, 4), 4);
        run_execute(b.s, NULL);
        run_expect(b.s, "o", F(10, 20, 30, 40), 4, 0);
        g_assert_cmpuint(counters(&b).copies, ==, 3);
        g_assert_cmpuint(counters(&b).waits, ==, 3);
        g_assert_cmpuint(counters(&b).blocking_copies, ==, 3);
        g_assert_cmpuint(counters(&b).most_in_flight, ==, 0);
        bench_end(&b);
    }
}

/* A value that two backends need has a copy on each; one that is needed where it was made has none. */
static void test_staging_is_keyed_by_its_destination(void)
{
    struct bench b;
    bench_begin(&b, "x: input 4\ns: scale 4 x scale=2\nm: silu 4 s @metal\nc: silu 4 s @cuda\nk: add 4 s s\no: add 4 m c\np: add 4 o k\nout p\n",
                NULL);
    run_fill_f32(b.s, "x", F(1, 2, 3, 4), 4);
    run_execute(b.s, NULL);
    run_expect(b.s, "p", F(4 + 3.5232f, 8 + 7.8561f, 12 + 11.9703f, 16 + 15.9946f), 4, 0.001);
    g_assert_cmpuint(counters(&b).copies, ==, 4);
    g_assert_cmpuint(figures(&b, 0).staging, ==, 2);
    g_assert_cmpuint(figures(&b, 1).staging, ==, 1);
    g_assert_cmpuint(figures(&b, 2).staging, ==, 1);
    bench_end(&b);
}

/* cpu, metal, cpu, metal: what metal made in its first split needs no copy in its second. */
static void test_an_older_split_of_the_same_backend_is_near(void)
{
    struct bench b;
    bench_begin(&b, "x: input 4 @metal\na: scale 4 x scale=2 @metal\nb: scale 4 a scale=3\nc: add 4 a b @metal\nout c\n", NULL);
    run_fill_f32(b.s, "x", F(1, 2, 3, 4), 4);
    run_execute(b.s, NULL);
    run_expect(b.s, "c", F(8, 16, 24, 32), 4, 0);
    g_assert_cmpuint(counters(&b).copies, ==, 2); /* a to cpu, b to metal */
    bench_end(&b);
}

static void test_staging_is_fresh_and_kept(void)
{
    struct bench b;
    struct psc_graph *other;
    bench_begin(&b, there_and_back, NULL);
    other = text_graph(&b.arena, "x: input 4\ns: silu 4 x @metal\no: mul 4 s x\nout o\n");
    run_use(b.s, other, 2); /* another graph has its own copies */
    g_assert_cmpuint(figures(&b, 0).staging, ==, 2);
    uint64_t allocs = double_control.allocs;
    for (uint32_t k = 0; k < 20; k++) {
        run_use(b.s, k % 2 ? other : b.g, 1 + k % 2);
        run_fill_f32(b.s, "x", F(1, 2, 3, 4), 4);
        run_execute(b.s, NULL);
    }
    g_assert_cmpuint(double_control.allocs, ==, allocs);
    for (uint32_t id = 0; id < psc_session_buffer_n(b.s, 0); id++) {
        struct psc_pool_buffer buffer;
        psc_session_buffer(b.s, 0, id, &buffer);
        if (buffer.role == PSC_ROLE_STAGING) {
            g_assert_cmpuint(buffer.generation, ==, 1);
            g_assert_cmpstr(buffer.name, ==, "stage.1.cpu");
        }
    }
    bench_end(&b);
}

/* Ever new graphs: a copy that was left by a graph that fell out of the cache serves the next one. */
static void test_staging_does_not_grow_for_ever(void)
{
    struct bench b;
    struct psc_pool_buffer buffer;
    struct psc_error error = {0};
    uint32_t grown = 0;
    bench_begin(&b, there_and_back, NULL);
    for (uint32_t k = 2; k < 40; k++) {
        if (k == 20) { /* a mapping that fails gives back what it took over */
            struct psc_graph_key key = run_key(k);
            double_control.fail_alloc = 0;
            struct psc_graph *large = text_graph(&b.arena, "x: input 4\ns: silu 4 x @metal\no: add 4 s x\ny: input 9000 @metal\nz: silu 9000 y @metal\nout o z\n");
            g_assert_cmpint(psc_session_use(b.s, &key, run_build_cb, large, &error), !=, PSC_OK);
            double_control.fail_alloc = -1;
        }
        run_use(b.s, b.g, k);
        run_fill_f32(b.s, "x", F(1, 2, 3, 4), 4);
        run_execute(b.s, &b.heard.sink);
        run_expect(b.s, "o", back_again, 4, 0.0005);
        char *difference = run_compare(&b.heard);
        g_assert_cmpstr(difference, ==, NULL);
        run_heard_clear(&b.heard);
        grown = figures(&b, 0).staging;
        g_assert_cmpuint(grown, <=, 9);
    }
    g_assert_cmpuint(grown, ==, 9); /* eight in the cache, and the one that was mapped before one fell out */
    for (uint32_t id = 0; id < psc_session_buffer_n(b.s, 0); id++) {
        psc_session_buffer(b.s, 0, id, &buffer);
        g_assert_cmpstr(buffer.role == PSC_ROLE_STAGING ? buffer.name : "stage.1.cpu", ==, "stage.1.cpu");
    }
    bench_end(&b);
}

/* The copies by themselves. */
static void test_copies_are_pending_until_awaited(void)
{
    struct psc_pool pools[2] = {{0}};
    struct psc_backend_config config = {0};
    struct psc_copy_counters counted = {0};
    uint32_t from, to[2];
    uint64_t bounce[2];
    double_reset();
    g_assert_cmpint(psc_pool_open(&pools[0], &double_cpu, &config, PSC_RECYCLED_KEPT, UINT64_MAX, NULL), ==, PSC_OK);
    g_assert_cmpint(psc_pool_open(&pools[1], &double_metal, &config, PSC_RECYCLED_KEPT, UINT64_MAX, NULL), ==, PSC_OK);
    g_assert_cmpint(psc_pool_make(&pools[1], 16, 0, PSC_ROLE_POOL, NULL, &from, NULL), ==, PSC_OK);
    for (int k = 0; k < 2; k++)
        g_assert_cmpint(psc_pool_make(&pools[0], 16, 0, PSC_ROLE_STAGING, "stage", &to[k], NULL), ==, PSC_OK);
    struct psc_transfer transfers[2];
    struct psc_flight flights[2] = {{0}};
    for (int k = 0; k < 2; k++)
        transfers[k] = (struct psc_transfer){.from_pool = 1, .to_pool = 0, .from = pools[1].slots[from].b.at, .to = pools[0].slots[to[k]].b.at, .bytes = 16};
    struct psc_copying c = {.pools = pools, .transfers = transfers, .flights = flights, .transfer_n = 2, .bounce = bounce, .counters = &counted};
    g_assert_cmpint(psc_copy_enqueue(&c, 0, NULL), ==, PSC_OK);
    g_assert_cmpint(psc_copy_enqueue(&c, 0, NULL), ==, PSC_OK); /* on its way already */
    g_assert_cmpint(psc_copy_enqueue(&c, 1, NULL), ==, PSC_OK);
    g_assert_cmpuint(counted.copies, ==, 2);
    g_assert_cmpint(psc_copy_await(&c, 1, true, NULL), ==, PSC_OK);
    g_assert_cmpint(psc_copy_await(&c, 1, true, NULL), ==, PSC_OK); /* arrived already */
    g_assert_true(flights[0].pending && !flights[1].pending);
    g_assert_cmpint(psc_copy_drain(&c, NULL), ==, PSC_OK);
    g_assert_cmpuint(counted.waits, ==, 2);
    g_assert_cmpuint(counted.deferred_waits, ==, 1);
    g_assert_cmpint(psc_copy_drain(&c, NULL), ==, PSC_OK);
    g_assert_cmpuint(counted.waits, ==, 2);
    g_assert_cmpuint(counted.most_in_flight, ==, 2);
    psc_pool_close(&pools[0]);
    psc_pool_close(&pools[1]);
    g_assert_cmpuint(double_control.allocs, ==, double_control.frees);
}

/* ---- errors ----------------------------------------------------------------------------------------------------------- */

static void expect_whole_afterwards(struct bench *b)
{
    g_assert_cmpuint(counters(b).copies, ==, counters(b).waits);
    for (uint32_t k = 0; k < 3; k++) {
        const struct psc_backend_api *api;
        struct psc_backend *backend = psc_session_backend(b->s, k, &api);
        g_assert_true(!backend || !api->copies_in_flight(backend));
    }
    run_fill_f32(b->s, "x", F(1, 2, 3, 4), 4);
    run_execute(b->s, NULL);
    run_expect(b->s, "o", F(10, 20, 30, 40), 4, 0);
    g_assert_cmpuint(counters(b).copies, ==, counters(b).waits);
}

struct failing { const char *path; long *countdown; long nth; const char *words[5]; };
static const struct failing failures[] = {
    {"a-kernel-on-the-host", &double_control.fail_launch, 2, {"node 3 (scale)", "on cpu", "told to fail"}},
    {"a-kernel-in-a-queue", &double_control.fail_launch, 1, {"node 2 (scale)", "deferred", "told to fail"}},
    {"handing-over", &double_control.fail_submit, 1, {"submit on deferred"}},
    {"a-copy-when-enqueued", &double_control.fail_enqueue, 2, {"copy of node 2 (scale)", "from deferred to cpu", "node 5 (add)"}},
    {"a-copy-when-awaited", &double_control.fail_await, 1, {"copy of node 1 (scale)", "from deferred to cpu", "node 4 (add)", "never"}},
};

static void test_a_failure_leaves_the_session_whole(gconstpointer data)
{
    const struct failing *f = data;
    struct psc_error error = {0};
    struct bench b;
    bench_begin(&b, two_values, NULL);
    run_fill_f32(b.s, "x", F(1, 2, 3, 4), 4);
    *f->countdown = f->nth;
    run_fails(psc_session_execute(b.s, &b.heard.sink, &error), &error, PSC_ERR_IO, f->words);
    g_assert_cmpuint(b.heard.ended, ==, 1);
    g_assert_cmpint(b.heard.status, ==, PSC_ERR_IO);
    *f->countdown = -1;
    expect_whole_afterwards(&b);
    bench_end(&b);
}

static enum psc_status refuse(void *ctx, struct psc_error *reterr)
{
    struct run_heard *h = ctx;
    if (h->begun && h->split_ends++ == 1)
        return psc_fail(reterr, PSC_ERR_CANCELLED, "enough");
    return PSC_OK;
}
static enum psc_status refuse_split(void *ctx, const struct psc_split *split, struct psc_error *reterr)
{
    (void)split;
    return refuse(ctx, reterr);
}
static enum psc_status refuse_call(void *ctx, const struct psc_backend_api *api, struct psc_backend *b, const struct psc_call *call,
                                   struct psc_error *reterr)
{
    (void)api;
    (void)b;
    (void)call;
    return refuse(ctx, reterr);
}
static enum psc_status refuse_begin(void *ctx, struct psc_session *s, uint32_t step, struct psc_error *reterr)
{
    (void)ctx;
    (void)s;
    (void)step;
    return psc_fail(reterr, PSC_ERR_CANCELLED, "not today");
}

static void test_a_listener_may_end_the_run(void)
{
    for (unsigned k = 0; k < 4; k++) {
        struct bench b;
        struct psc_error error = {0};
        bench_begin(&b, two_values, NULL);
        run_fill_f32(b.s, "x", F(1, 2, 3, 4), 4);
        if (k == 0)
            b.heard.sink.split_end = refuse_split;
        else if (k == 3)
            b.heard.sink.begin = refuse_begin;
        else
            *(k == 1 ? &b.heard.sink.before : &b.heard.sink.after) = refuse_call;
        g_assert_cmpint(psc_session_execute(b.s, &b.heard.sink, &error), ==, PSC_ERR_CANCELLED);
        g_assert_cmpuint(b.heard.ended, ==, k == 3 ? 0 : 1);
        expect_whole_afterwards(&b);
        bench_end(&b);
    }
}

/* Who times ops waits for each kernel by itself. */
struct stopwatch { uint32_t started[PSC_OP_N], stopped[PSC_OP_N]; psc_node running; bool runs; };

static enum psc_status start_watch(void *ctx, const struct psc_backend_api *api, struct psc_backend *b, const struct psc_call *call,
                                   struct psc_error *reterr)
{
    struct stopwatch *w = ctx;
    g_assert_false(w->runs);
    w->runs = true;
    w->running = call->node;
    w->started[call->op]++;
    return api->synchronise(b, reterr);
}

static enum psc_status stop_watch(void *ctx, const struct psc_backend_api *api, struct psc_backend *b, const struct psc_call *call,
                                  struct psc_error *reterr)
{
    struct stopwatch *w = ctx;
    g_assert_true(w->runs && w->running == call->node);
    w->runs = false;
    w->stopped[call->op]++;
    return api->synchronise(b, reterr);
}

static void test_timing_changes_nothing(void)
{
    struct bench b;
    struct stopwatch w = {0};
    const struct psc_sink sink = {.ctx = &w, .before = start_watch, .after = stop_watch};
    bench_begin(&b, two_values, NULL);
    run_fill_f32(b.s, "x", F(1, 2, 3, 4), 4);
    for (uint32_t times = 1; times <= 3; times++) {
        run_execute(b.s, &sink);
        run_expect(b.s, "o", F(10, 20, 30, 40), 4, 0);
        g_assert_false(w.runs);
        g_assert_cmpuint(w.started[PSC_OP_SCALE], ==, 3 * times);
        g_assert_cmpuint(w.stopped[PSC_OP_SCALE], ==, 3 * times);
        g_assert_cmpuint(w.started[PSC_OP_ADD], ==, 2 * times);
        g_assert_cmpuint(w.stopped[PSC_OP_ADD], ==, 2 * times);
        g_assert_cmpuint(counters(&b).launches, ==, 5 * times); /* what crosses is copied, by no kernel */
    }
    bench_end(&b);
}

/* ---- capture and replay ------------------------------------------------------------------------------------------------- */

static const char on_cuda[] = "x: input 4 @cuda\na: scale 4 x scale=2 @cuda\nb: add 4 a x @cuda\nout b\n";
static const char two_splits[] =
    "x: input 4\na: scale 4 x scale=2 @cuda\nb: scale 4 a scale=2\nc: scale 4 b scale=2 @cuda\no: add 4 c x\nout o\n";

static void replay_begin(struct bench *b, const char *text)
{
    struct psc_session_options options = run_options();
    options.replay = true;
    options.recycled = PSC_RECYCLED_POISONED;
    bench_begin(b, text, &options);
}

static void run_steps(struct bench *b, uint32_t n, const char *output, float factor, const struct psc_sink *sink)
{
    for (uint32_t k = 1; k <= n; k++) {
        float x = (float)(100 * n + k);
        run_fill_f32(b->s, "x", F(x, 2 * x, 3 * x, 4 * x), 4);
        run_execute(b->s, sink);
        run_expect(b->s, output, F(factor * x, factor * 2 * x, factor * 3 * x, factor * 4 * x), 4, 0);
    }
}

static void test_ops_are_timed_when_asked(void)
{
    for (int timed = 0; timed < 2; timed++) {
        struct bench b;
        struct psc_session_options options = run_options();
        options.replay = true;
        options.time_ops = timed;
        bench_begin(&b, two_splits, &options);
        uint64_t before = 0;
        for (uint32_t times = 1; times <= 5; times++) {
            run_steps(&b, 1, "o", 9, NULL);
            struct psc_op_time scale = psc_session_op_time(b.s, PSC_OP_SCALE), add = psc_session_op_time(b.s, PSC_OP_ADD);
            g_assert_cmpuint(scale.launches, ==, timed ? 3 * times : 0);
            g_assert_cmpuint(add.launches, ==, timed ? times : 0);
            g_assert_true(timed ? scale.ns + add.ns > before : scale.ns + add.ns == 0);
            before = scale.ns + add.ns;
        }
        g_assert_cmpuint(psc_session_op_time(b.s, PSC_OP_INPUT).launches, ==, 0);
        g_assert_cmpuint(counters(&b).captures, ==, timed ? 0 : 2); /* a recording has no single ops */
        bench_end(&b);
    }
}

static void test_the_third_run_records(void)
{
    struct bench b;
    replay_begin(&b, on_cuda);
    for (uint32_t step = 1; step <= 5; step++) {
        run_steps(&b, 1, "b", 3, NULL);
        g_assert_cmpuint(counters(&b).captures, ==, step >= 3);
        g_assert_cmpuint(counters(&b).replays, ==, step > 3 ? step - 3 : 0);
    }
    g_assert_cmpuint(double_control.replays, ==, 3); /* what was recorded is launched once at once */
    bench_end(&b);
    g_assert_cmpuint(double_control.dropped, ==, 1);
}

static void test_each_split_has_its_recording(void)
{
    struct bench b;
    replay_begin(&b, two_splits);
    run_steps(&b, 6, "o", 9, NULL);
    g_assert_cmpuint(counters(&b).captures, ==, 2);
    g_assert_cmpuint(counters(&b).replays, ==, 6);
    g_assert_cmpuint(counters(&b).copies, ==, 24);
    g_assert_cmpuint(counters(&b).waits, ==, 24);
    bench_end(&b);
}

static void test_new_buffers_drop_recordings(void)
{
    struct bench b;
    struct psc_graph *big;
    replay_begin(&b, on_cuda);
    run_steps(&b, 4, "b", 3, NULL);
    g_assert_cmpuint(counters(&b).captures, ==, 1);
    big = text_graph(&b.arena, "x: input 4 @cuda\na: scale 4 x scale=2 @cuda\nb: add 4 a x @cuda\nout b\n");
    run_use(b.s, big, 2); /* the same sizes: nothing new */
    run_use(b.s, b.g, 1);
    run_steps(&b, 1, "b", 3, NULL);
    g_assert_cmpuint(counters(&b).captures, ==, 1);
    g_assert_cmpuint(counters(&b).replays, ==, 2);
    run_use(b.s, text_graph(&b.arena, "x: input 4000 @cuda\ny: silu 4000 x @cuda\nout y\n"), 3); /* new buffers: generation */
    run_use(b.s, b.g, 1);
    run_steps(&b, 2, "b", 3, NULL); /* warm again */
    g_assert_cmpuint(double_control.dropped, ==, 1);
    g_assert_cmpuint(counters(&b).captures, ==, 1);
    run_steps(&b, 1, "b", 3, NULL);
    g_assert_cmpuint(counters(&b).captures, ==, 2);
    psc_session_swap_addresses(b.s, 2, 0, 1, 0); /* other addresses: layout */
    run_steps(&b, 2, "b", 3, NULL);
    g_assert_cmpuint(counters(&b).captures, ==, 2);
    run_steps(&b, 1, "b", 3, NULL);
    g_assert_cmpuint(counters(&b).captures, ==, 3);
    bench_end(&b);
}

static void test_probes_turn_replay_off(void)
{
    struct bench b;
    replay_begin(&b, on_cuda);
    run_heard_release(&b.heard);
    run_listen(&b.heard, true);
    run_steps(&b, 6, "b", 3, &b.heard.sink);
    g_assert_cmpuint(counters(&b).captures, ==, 0);
    bench_end(&b);
}

/* A listener of events alone hears of a replayed split what it would have heard of a direct one. */
static void test_events_of_a_replay(void)
{
    struct bench b;
    replay_begin(&b, two_splits);
    for (uint32_t step = 1; step <= 6; step++) {
        run_heard_clear(&b.heard);
        run_steps(&b, 1, "o", 9, &b.heard.sink);
        char *difference = run_compare(&b.heard);
        g_assert_cmpstr(difference, ==, NULL);
    }
    g_assert_cmpuint(counters(&b).replays, ==, 6);
    bench_end(&b);
}

static void test_an_error_in_a_window_ends_captures(void)
{
    struct bench b;
    struct psc_error error = {0};
    replay_begin(&b, two_splits);
    run_steps(&b, 2, "o", 9, NULL);
    run_fill_f32(b.s, "x", F(1, 2, 3, 4), 4);
    b.heard.sink.event = NULL;
    b.heard.sink.rows = NULL;
    double_control.fail_replay = -1;
    double_control.fail_capture_end = 0; /* the backend can make nothing of it: launched directly after all */
    run_execute(b.s, NULL);
    run_expect(b.s, "o", F(9, 18, 27, 36), 4, 0);
    g_assert_cmpuint(counters(&b).captures, ==, 0);
    run_steps(&b, 4, "o", 9, NULL);
    g_assert_cmpuint(counters(&b).captures, ==, 0);
    bench_end(&b);

    replay_begin(&b, on_cuda);
    run_steps(&b, 3, "b", 3, NULL);
    double_control.fail_replay = 0; /* a replay that cannot start: direct, and no more of it */
    run_steps(&b, 3, "b", 3, NULL);
    g_assert_cmpuint(counters(&b).replays, ==, 0);
    bench_end(&b);

    replay_begin(&b, "x: input 4 @cuda\ny: rms_norm 4 x @cuda\nout y\n"); /* not computable: fails when it runs */
    run_fill_f32(b.s, "x", F(1, 2, 3, 4), 4);
    for (int times = 0; times < 4; times++)
        run_fails(psc_session_execute(b.s, NULL, &error), &error, PSC_ERR_UNAVAILABLE, WORDS("rms_norm", "cuda"));
    g_assert_cmpuint(counters(&b).captures, ==, 0);
    bench_end(&b);
}

/* A kernel that is refused while the window is open. */
static void test_a_window_is_aborted(void)
{
    struct bench b;
    struct psc_error error = {0};
    replay_begin(&b, on_cuda);
    run_steps(&b, 2, "b", 3, NULL);
    run_fill_f32(b.s, "x", F(1, 2, 3, 4), 4);
    double_control.fail_encode = 1;
    run_fails(psc_session_execute(b.s, NULL, &error), &error, PSC_ERR_IO, WORDS("node 2 (add)", "on cuda"));
    g_assert_cmpuint(double_control.aborted, ==, 1);
    run_steps(&b, 5, "b", 3, NULL);
    g_assert_cmpuint(counters(&b).captures, ==, 0);
    bench_end(&b);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/run/schedule/one-backend-never-copies", test_one_backend_has_no_boundary);
    g_test_add_func("/run/schedule/copies-cross-and-come-back-run-after-run", test_copies_cross_and_come_back);
    g_test_add_func("/run/schedule/a-staged-input-is-waited-for-at-its-first-use", test_waits_stand_at_the_first_use);
    g_test_add_func("/run/schedule/blocking-copies-are-counted-alike", test_blocking_copies);
    g_test_add_func("/run/schedule/staging-is-keyed-by-its-destination", test_staging_is_keyed_by_its_destination);
    g_test_add_func("/run/schedule/an-older-split-of-the-same-backend-needs-no-copy", test_an_older_split_of_the_same_backend_is_near);
    g_test_add_func("/run/schedule/staging-is-fresh-and-kept-across-rebuilds", test_staging_is_fresh_and_kept);
    g_test_add_func("/run/schedule/staging-does-not-grow-with-ever-new-graphs", test_staging_does_not_grow_for_ever);
    g_test_add_func("/run/schedule/copies-are-pending-until-awaited-and-drained-once", test_copies_are_pending_until_awaited);
    for (size_t k = 0; k < G_N_ELEMENTS(failures); k++) {
        char *path = g_strdup_printf("/run/schedule/a-failure-leaves-the-session-whole/%s", failures[k].path);
        g_test_add_data_func(path, &failures[k], test_a_failure_leaves_the_session_whole);
        g_free(path);
    }
    g_test_add_func("/run/schedule/waiting-for-each-kernel-changes-nothing", test_timing_changes_nothing);
    g_test_add_func("/run/schedule/ops-are-timed-when-asked", test_ops_are_timed_when_asked);
    g_test_add_func("/run/schedule/a-listener-may-end-the-run", test_a_listener_may_end_the_run);
    g_test_add_func("/run/replay/the-third-run-records", test_the_third_run_records);
    g_test_add_func("/run/replay/each-split-has-its-recording", test_each_split_has_its_recording);
    g_test_add_func("/run/replay/new-buffers-and-addresses-drop-recordings", test_new_buffers_drop_recordings);
    g_test_add_func("/run/replay/probes-turn-it-off", test_probes_turn_replay_off);
    g_test_add_func("/run/replay/events-are-told-all-the-same", test_events_of_a_replay);
    g_test_add_func("/run/replay/what-cannot-be-recorded-is-launched", test_an_error_in_a_window_ends_captures);
    g_test_add_func("/run/replay/an-error-inside-a-window-aborts-it", test_a_window_is_aborted);
    return g_test_run();
}
