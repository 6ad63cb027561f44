/* The deferred backend through the suite, and what only it does. */
#include "backends/deferred/deferred.h"

#include "backends/cpu/cpu.h"
#include "tests/backend-suite.h"

#include <math.h>
#include <string.h>

static const struct test_variant variants[] = {
    {"two threads", {.threads = 2, .timeout_ms = 20}},
    {"portable, one thread", {.threads = 1, .portable = true, .timeout_ms = 20}},
};
static const struct psc_backend_api *const api = &psc_backend_deferred;
static struct psc_error error;

static void must(enum psc_status status)
{
    if (status)
        g_error("%s", error.text);
}

/* Two buffers of 64 floats and the call that scales one into the other. */
struct bench {
    struct psc_backend *b;
    struct psc_params params;
    struct psc_window x, y, words;
    struct psc_window in[3];
    struct psc_call call;
};

static struct psc_window buffer(struct psc_backend *b, uint32_t pattern)
{
    struct psc_window w = {.bytes = 256, .dtype = PSC_F32, .shape = {64, 1, 1, 1}};
    must(api->alloc(b, 256, &w.at, &error));
    must(api->fill(b, w.at, pattern, 256, &error));
    return w;
}

static void open_bench(struct bench *s)
{
    memset(s, 0, sizeof *s);
    must(api->open(&variants[0].config, &s->b, &error));
    s->params = (struct psc_params){.scale = 2, .has_scale = true, .hd = 64, .freq_base = 10000};
    s->x = buffer(s->b, 0x3f800000); /* 1 */
    s->y = buffer(s->b, 0);
    s->in[0] = s->x;
    s->call = (struct psc_call){.op = PSC_OP_SCALE, .params = &s->params, .in = s->in, .in_n = 1, .out = s->y};
}

static float value(const struct bench *s, psc_address at)
{
    float x;
    must(api->read(s->b, at, &x, sizeof x, &error));
    return x;
}

static void test_hang(void)
{
    struct bench s;
    open_bench(&s);
    psc_deferred_hang(s.b, true);
    uint64_t hash = 77;
    must(api->launch(s.b, &s.call, &error));
    must(api->probe(s.b, &(struct psc_probe){PSC_PROBE_HASH, s.y.at, 4, PSC_F32, &hash}, &error));
    must(api->submit(s.b, &error));
    gint64 start = g_get_monotonic_time();
    g_assert_cmpint(api->synchronise(s.b, &error), ==, PSC_ERR_UNAVAILABLE);
    g_assert_cmpint(g_get_monotonic_time() - start, >=, 20000);
    g_assert_nonnull(strstr(error.text, "20 ms"));
    g_assert_cmpuint(psc_deferred_pending(s.b), ==, 2);
    g_assert_cmpfloat((double)value(&s, s.y.at), ==, 0);
    psc_deferred_hang(s.b, false);
    must(api->synchronise(s.b, &error));
    g_assert_cmpuint(hash, ==, 77); /* who asked has gone when the wait failed */
    g_assert_cmpuint(psc_deferred_pending(s.b), ==, 0);
    g_assert_cmpfloat((double)value(&s, s.y.at), ==, 2);
    must(api->synchronise(s.b, &error)); /* nothing to wait for, hanging or not */
    psc_deferred_hang(s.b, true);
    must(api->synchronise(s.b, &error));
    api->close(s.b);
}

/* Fault l10 in the bytes: before its wait a copy's destination holds poison. */
static void test_poison(void)
{
    struct bench s;
    struct psc_backend *cpu = NULL;
    psc_address to;
    uint64_t ticket;
    bool issued = false;
    uint32_t words[64];
    open_bench(&s);
    must(psc_backend_cpu.open(&variants[0].config, &cpu, &error));
    must(psc_backend_cpu.alloc(cpu, 256, &to, &error));
    must(psc_backend_cpu.fill(cpu, to, 0, 256, &error));
    must(api->launch(s.b, &s.call, &error));
    must(api->enqueue_copy(s.b, s.y.at, 256, &psc_backend_cpu, cpu, to, &ticket, &issued, &error));
    for (int submitted = 0; submitted < 2; submitted++) {
        must(psc_backend_cpu.read(cpu, to, words, sizeof words, &error));
        for (int i = 0; i < 64; i++)
            g_assert_cmphex(words[i], ==, PSC_DEFERRED_POISON);
        must(api->submit(s.b, &error));
    }
    must(api->fill(s.b, s.y.at, 0, 256, &error)); /* the bytes have left already */
    must(api->await_copy(s.b, ticket, &error));
    must(psc_backend_cpu.read(cpu, to, words, sizeof words, &error));
    for (int i = 0; i < 64; i++)
        g_assert_cmphex(words[i], ==, 0x40000000);
    float nan;
    words[0] = PSC_DEFERRED_POISON;
    memcpy(&nan, words, sizeof nan);
    g_assert_true(isnan(nan));
    psc_backend_cpu.close(cpu);
    api->close(s.b);
}

/* A copy of a queue that hangs is waited for just as long, and comes when the queue does. */
static void test_hanging_copy(void)
{
    struct bench s;
    uint64_t ticket;
    bool issued = false;
    open_bench(&s);
    psc_deferred_hang(s.b, true);
    must(api->enqueue_copy(s.b, s.x.at, 256, api, s.b, s.y.at, &ticket, &issued, &error));
    g_assert_cmpint(api->await_copy(s.b, ticket, &error), ==, PSC_ERR_UNAVAILABLE);
    g_assert_nonnull(strstr(error.text, "20 ms"));
    g_assert_cmpuint(api->copies_in_flight(s.b), ==, 1);
    psc_deferred_hang(s.b, false);
    must(api->await_copy(s.b, ticket, &error));
    g_assert_cmpuint(api->copies_in_flight(s.b), ==, 0);
    g_assert_cmpfloat((double)value(&s, s.y.at), ==, 1);
    api->close(s.b);
}

/* After a command that fails the rest is dropped: launches, probes and copies. */
static void test_after_an_error(void)
{
    struct bench s;
    uint64_t ticket, hash = 4711;
    bool issued = false;
    open_bench(&s);
    struct psc_window ids = {.at = s.x.at, .bytes = 4, .dtype = PSC_I32, .shape = {1, 1, 1, 1}};
    struct psc_window in[2] = {s.x, ids}; /* id 0x3f800000: far behind */
    struct psc_call gather = {.op = PSC_OP_GET_ROWS, .params = &s.params, .in = in, .in_n = 2, .out = s.y};
    must(api->launch(s.b, &gather, &error));
    must(api->launch(s.b, &s.call, &error));
    must(api->probe(s.b, &(struct psc_probe){PSC_PROBE_HASH, s.x.at, 256, PSC_F32, &hash}, &error));
    must(api->enqueue_copy(s.b, s.x.at, 256, api, s.b, s.y.at, &ticket, &issued, &error));
    g_assert_cmpint(api->synchronise(s.b, &error), ==, PSC_ERR_USAGE);
    g_assert_nonnull(strstr(error.text, "get_rows"));
    g_assert_cmpuint(psc_deferred_pending(s.b), ==, 0);
    g_assert_cmpuint(hash, ==, 4711);
    g_assert_cmpint(api->await_copy(s.b, ticket, &error), ==, PSC_ERR_UNAVAILABLE);
    g_assert_cmpuint(api->copies_in_flight(s.b), ==, 0);
    must(api->fill(s.b, s.y.at, 0, 256, &error));
    must(api->launch(s.b, &s.call, &error));
    must(api->synchronise(s.b, &error));
    g_assert_cmpfloat((double)value(&s, s.y.at), ==, 2);
    api->close(s.b);
}

/* Commands that were never submitted leave no trace and no leak. */
static void test_close_with_commands(void)
{
    struct bench s;
    uint64_t ticket;
    bool issued = false;
    test_count_begin();
    open_bench(&s);
    s.call.op = PSC_OP_ROPE;
    s.call.faults = PSC_CALL_L6;
    s.call.in_n = 2;
    s.in[1] = (struct psc_window){.at = s.y.at, .bytes = 4, .dtype = PSC_I32, .shape = {1, 1, 1, 1}};
    must(api->launch(s.b, &s.call, &error));
    must(api->enqueue_copy(s.b, s.x.at, 256, api, s.b, s.y.at, &ticket, &issued, &error));
    g_assert_cmpuint(psc_deferred_pending(s.b), ==, 2);
    api->close(s.b);
    g_assert_cmpuint(test_count_end(), ==, 0);
    api->close(NULL);
}

/* k = 2 x; r = rope(k); store(r), in one submission. With fault l6 rope took k before it was computed: the region gets
 * zeros. */
static void rope_into_kv(unsigned faults, float expected)
{
    struct bench s;
    open_bench(&s);
    struct psc_window k = buffer(s.b, 0), r = buffer(s.b, 0x7fc00000),
                      region[2] = {buffer(s.b, 0x7fc00000), buffer(s.b, 0x7fc00000)};
    struct psc_window position = {.bytes = 4, .dtype = PSC_I32, .shape = {1, 1, 1, 1}};
    struct psc_params params = {.hd = 64, .freq_base = 10000};
    must(api->alloc(s.b, 4, &position.at, &error));
    must(api->fill(s.b, position.at, 0, 4, &error)); /* position 0: the rotation by nothing */
    struct psc_window rope_in[2] = {k, position}, store_in[3] = {r, k, position};
    struct psc_call rope = {.op = PSC_OP_ROPE, .params = &params, .in = rope_in, .in_n = 2, .out = r, .faults = faults};
    struct psc_call store = {.op = PSC_OP_KV_STORE, .params = &params, .in = store_in, .in_n = 3, .out = region[0],
                             .kv = {.k = region[0].at, .v = region[1].at, .rows = 1, .width = 64, .row_bytes = 256}};
    s.call.out = k;
    must(api->launch(s.b, &s.call, &error));
    must(api->launch(s.b, &rope, &error));
    must(api->launch(s.b, &store, &error));
    must(api->synchronise(s.b, &error));
    g_assert_cmpfloat((double)value(&s, region[0].at), ==, (double)expected);
    g_assert_cmpfloat((double)value(&s, region[1].at), ==, 2);
    api->close(s.b);
}

static void test_l6(void)
{
    rope_into_kv(0, 2);
    rope_into_kv(PSC_CALL_L6, 0);
}

/* What it says it takes is what Metal takes. */
static void test_takes(void)
{
    static const enum psc_op refused[] = {PSC_OP_OTHER, PSC_OP_SCALE, PSC_OP_SOFTMAX, PSC_OP_BATCH_MATMUL,
                                          PSC_OP_QKV_BIAS_ROPE_STORE};
    struct psc_params offset = {.view_offset = 1};
    for (unsigned op = 0; op < PSC_OP_N; op++) {
        bool expected = true;
        for (unsigned i = 0; i < G_N_ELEMENTS(refused); i++)
            expected &= refused[i] != op;
        g_assert_true(api->takes(op, PSC_F32, NULL) == expected);
        g_assert_true(api->takes(op, PSC_I32, NULL) == (op == PSC_OP_INPUT));
        g_assert_true(psc_backend_cpu.takes(op, PSC_F32, NULL) == (op != PSC_OP_OTHER));
        g_assert_false(psc_backend_cpu.takes(op, PSC_I32, NULL));
    }
    g_assert_false(api->takes(PSC_OP_VIEW, PSC_F32, &offset));
    g_assert_true(api->fuses_decode && !psc_backend_cpu.fuses_decode);
    g_assert_cmpstr(api->file_name, ==, "metal");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    test_backend_suite(api, variants, G_N_ELEMENTS(variants), TEST_QUEUED | TEST_BOUNDED);
    test_suite_add("waits/give-up-and-name-the-time", test_hang);
    test_suite_add("waits/a-copy-of-a-hanging-queue", test_hanging_copy);
    test_suite_add("copies/are-poison-before-their-wait", test_poison);
    test_suite_add("errors/drop-what-was-submitted-behind", test_after_an_error);
    test_suite_add("memory/commands-that-never-ran-leave-nothing", test_close_with_commands);
    test_suite_add("fault-l6/rope-takes-its-operand-too-early", test_l6);
    test_suite_add("takes/what-metal-takes", test_takes);
    int failed = g_test_run();
    test_backend_suite_end();
    return failed;
}
