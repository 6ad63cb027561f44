/* Memory, the order of the queue, probes, staged copies, and running out of memory. */
#include "tests/backend-suite.h"

#include "backends/cpu/cpu.h"

#include <math.h>
#include <string.h>

#define N 1000u

static const struct psc_backend_api *api;
static struct psc_backend *b;
static struct psc_error error;

static void must(enum psc_status status)
{
    if (status)
        g_error("%s", error.text);
}

static void begin(void)
{
    api = the_suite.api;
    b = the_suite.open[the_suite.variant_n - 1];
}

static psc_address room(uint64_t bytes)
{
    psc_address at = 0;
    must(api->alloc(b, bytes, &at, &error));
    return at;
}

/* N floats of its own, all `x`. */
static psc_address floats(float x)
{
    uint32_t bits;
    psc_address at = room(N * 4);
    memcpy(&bits, &x, sizeof bits);
    must(api->fill(b, at, bits, N * 4, &error));
    return at;
}

static float first_of(psc_address at)
{
    float x[N];
    must(api->read(b, at, x, sizeof x, &error));
    for (unsigned i = 1; i < N; i++)
        g_assert_cmpmem(&x[i], 4, &x[0], 4);
    return x[0];
}

/* out = a * by. Lives until the test ends, as a call must until it is synchronised. */
struct scaling {
    struct psc_params params;
    struct psc_window in;
    struct psc_call call;
};
static void scale(struct scaling *s, psc_address a, float by, psc_address out)
{
    *s = (struct scaling){.params = {.scale = by, .has_scale = true},
                          .in = {.at = a, .bytes = N * 4, .dtype = PSC_F32, .shape = {N, 1, 1, 1}}};
    s->call = (struct psc_call){.op = PSC_OP_SCALE, .params = &s->params, .in = &s->in, .in_n = 1, .out = s->in};
    s->call.out.at = out;
    must(api->launch(b, &s->call, &error));
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void test_memory(void)
{
    begin();
    for (uint64_t n = 1; n < 300; n += 37) {
        psc_address at = room(n), other = room(n);
        unsigned char in[300], out[300];
        g_assert_cmpuint(at % 64, ==, 0);
        g_assert_cmpuint(other % 64, ==, 0);
        for (uint64_t i = 0; i < n; i++)
            in[i] = (unsigned char)test_random_below(256);
        must(api->fill(b, other, 0x04030201, n, &error));
        must(api->write(b, at, in, n, &error));
        must(api->read(b, at, out, n, &error));
        g_assert_cmpmem(in, n, out, n);
        must(api->read(b, other, out, n, &error));
        for (uint64_t i = 0; i < n; i++)
            g_assert_cmpuint(out[i], ==, i % 4 + 1);
        api->free(b, at);
        must(api->read(b, other, out, n, &error));
        g_assert_cmpuint(out[0], ==, 1);
        api->free(b, other);
    }
}

static void test_memory_query(void)
{
    begin();
    uint64_t free_bytes = 0, total = 0;
    if (api->memory(b, &free_bytes, &total) == PSC_QUERY_REPORTED) {
        g_assert_cmpuint(total, >, 0);
        g_assert_cmpuint(free_bytes, <=, total);
    }
    psc_address at = 4711;
    error.text[0] = 0;
    g_assert_cmpint(api->alloc(b, UINT64_MAX - 64, &at, &error), !=, PSC_OK);
    g_assert_cmpuint(at, ==, 4711);
    g_assert_cmpstr(error.text, !=, "");
}

/* What a weight is loaded as does not change when it is loaded again. */
static void test_weights(void)
{
    begin();
    static const float values[64] = {1, 2, 3};
    struct psc_weight w = {.name = "w", .type = PSC_W_F32, .in = 64, .out = 1, .data = values, .bytes = sizeof values};
    psc_address first = 0, second = 0;
    must(api->load_weight(b, &w, &first, &error));
    must(api->load_weight(b, &w, &second, &error));
    g_assert_cmpuint(first, !=, 0);
    g_assert_cmpuint(first, ==, second);
}

/* ---- order ----------------------------------------------------------------------------------- */

static void test_read_before_submit(void)
{
    begin();
    struct scaling s;
    psc_address a = floats(3), out = floats(7);
    scale(&s, a, 2, out);
    g_assert_cmpfloat((double)first_of(out), ==, the_suite.promises & TEST_QUEUED ? 7 : 6);
    must(api->submit(b, &error));
    must(api->synchronise(b, &error));
    g_assert_cmpfloat((double)first_of(out), ==, 6);
    api->free(b, a);
    api->free(b, out);
}

/* A chain through one buffer and back: every command sees what those before it left. */
static void test_order(void)
{
    begin();
    enum { STEPS = 40 };
    static struct scaling s[STEPS];
    psc_address a = floats(1), other = floats(0);
    for (int i = 0; i < STEPS; i++)
        scale(&s[i], i % 2 ? other : a, i % 2 ? 0.5f : 4, i % 2 ? a : other);
    must(api->synchronise(b, &error));
    g_assert_cmpfloat((double)first_of(a), ==, (double)(1 << (STEPS / 2)));
    must(api->synchronise(b, &error));
    g_assert_cmpfloat((double)first_of(a), ==, (double)(1 << (STEPS / 2)));
    api->free(b, a);
    api->free(b, other);
}

static void test_probes_in_order(void)
{
    begin();
    struct scaling s[3];
    float copies[4][N];
    uint64_t hashes[4];
    struct psc_probe_stats stats[4];
    psc_address x = floats(5);
    for (int i = 0; i < 4; i++) {
        must(api->probe(b, &(struct psc_probe){PSC_PROBE_COPY, x, N * 4, PSC_F32, copies[i]}, &error));
        must(api->probe(b, &(struct psc_probe){PSC_PROBE_HASH, x, N * 4, PSC_F32, &hashes[i]}, &error));
        must(api->probe(b, &(struct psc_probe){PSC_PROBE_STATS, x, N * 4, PSC_F32, &stats[i]}, &error));
        if (i < 3)
            scale(&s[i], x, -2, x);
    }
    must(api->synchronise(b, &error));
    for (int i = 0; i < 4; i++) {
        float want = (float)(5 * pow(-2, i)), row[N];
        for (unsigned k = 0; k < N; k++)
            row[k] = want;
        g_assert_cmpmem(copies[i], sizeof row, row, sizeof row);
        g_assert_cmphex(hashes[i], ==, psc_probe_hash(row, sizeof row));
        g_assert_cmpfloat(stats[i].min, ==, (double)want);
        g_assert_cmpfloat(stats[i].absmean, ==, fabs((double)want));
        g_assert_cmpuint(stats[i].n, ==, N);
    }
    api->free(b, x);
}

/* Statistics and hashes are those of the bytes, whatever their type. */
static void test_probes_are_the_definition(void)
{
    begin();
    static const uint64_t sizes[] = {0, 4, 68, 128, 1024, 4000, 6800};
    static const enum psc_dtype dtypes[] = {PSC_F32, PSC_I32, PSC_F16, PSC_BF16, PSC_Q8_0};
    psc_address at = room(8000);
    uint32_t words[2000];
    for (unsigned i = 0; i < G_N_ELEMENTS(words); i++) {
        float x = test_random_float();
        memcpy(&words[i], &x, sizeof x);
    }
    must(api->write(b, at, words, sizeof words, &error));
    for (unsigned i = 0; i < G_N_ELEMENTS(sizes); i++)
        for (unsigned d = 0; d < G_N_ELEMENTS(dtypes); d++) {
            uint64_t hash = 1, bytes = dtypes[d] == PSC_Q8_0 ? sizes[i] / 34 * 34 : sizes[i];
            uint64_t n = d < 2 ? bytes / 4 : d < 4 ? bytes / 2 : bytes / 34 * 32;
            struct psc_probe_stats got, want;
            must(api->probe(b, &(struct psc_probe){PSC_PROBE_HASH, at, bytes, dtypes[d], &hash}, &error));
            must(api->probe(b, &(struct psc_probe){PSC_PROBE_STATS, at, bytes, dtypes[d], &got}, &error));
            must(api->synchronise(b, &error));
            psc_probe_stats_of(words, n, dtypes[d], &want);
            g_assert_cmphex(hash, ==, psc_probe_hash(words, bytes));
            g_assert_cmpmem(&got.min, 4 * sizeof got.min, &want.min, 4 * sizeof want.min);
            g_assert_cmpuint(got.n, ==, want.n);
            g_assert_cmpuint(got.sample_n, ==, want.sample_n);
            g_assert_cmpmem(got.samples, got.sample_n * sizeof *got.samples, want.samples,
                            got.sample_n * sizeof *got.samples);
        }
    api->free(b, at);
}

/* Moves inside the backend come in their turn, and ranges may overlap in both directions. */
static void test_moves(void)
{
    begin();
    struct scaling s;
    float x[2 * N], want[2 * N];
    psc_address at = room(sizeof x);
    for (unsigned i = 0; i < 2 * N; i++)
        x[i] = want[i] = (float)i;
    must(api->write(b, at, x, sizeof x, &error));
    must(api->move(b, at + 400, at, N * 4, &error));
    memmove(want + 100, want, N * 4);
    must(api->move(b, at + 40, at + 200, N * 4, &error));
    memmove(want + 10, want + 50, N * 4);
    scale(&s, at, 2, at);
    for (unsigned i = 0; i < N; i++)
        want[i] *= 2;
    must(api->move(b, at + 4 * N, at, N * 4, &error));
    memmove(want + N, want, N * 4);
    must(api->move(b, at, at, 0, &error));
    must(api->synchronise(b, &error));
    must(api->read(b, at, x, sizeof x, &error));
    g_assert_cmpmem(x, sizeof x, want, sizeof want);
    api->free(b, at);
}

/* ---- staged copies --------------------------------------------------------------------------- */

/* To the cpu, and to another instance of the same backend. */
static void copies_to(const struct psc_backend_api *dst_api)
{
    static const struct psc_backend_config config = {.threads = 1};
    struct psc_backend *dst = NULL;
    struct scaling s;
    psc_address x = floats(9), to[3];
    uint64_t tickets[3];
    float got[N];
    must(dst_api->open(&config, &dst, &error));
    g_assert_cmpuint(api->copies_in_flight(b), ==, 0);
    for (int i = 0; i < 3; i++) {
        bool issued = false;
        must(dst_api->alloc(dst, N * 4, &to[i], &error));
        must(dst_api->fill(dst, to[i], 0, N * 4, &error));
        must(api->enqueue_copy(b, x, N * 4, dst_api, dst, to[i], &tickets[i], &issued, &error));
        g_assert_true(issued);
        g_assert_cmpuint(api->copies_in_flight(b), ==, i + 1);
        if (i == 1)
            scale(&s, x, 2, x); /* between the second and the third */
    }
    static const int order[3] = {2, 0, 1};
    for (int k = 0; k < 3; k++) {
        int i = order[k];
        must(api->await_copy(b, tickets[i], &error));
        must(dst_api->read(dst, to[i], got, sizeof got, &error));
        for (unsigned e = 0; e < N; e++)
            g_assert_cmpfloat((double)got[e], ==, i == 2 ? 18 : 9);
        g_assert_cmpuint(api->copies_in_flight(b), ==, 2 - k);
    }
    error.text[0] = 0;
    g_assert_cmpint(api->await_copy(b, tickets[0], &error), !=, PSC_OK);
    g_assert_cmpstr(error.text, !=, "");
    must(api->synchronise(b, &error));
    g_assert_cmpfloat((double)first_of(x), ==, 18);
    api->free(b, x);
    dst_api->close(dst);
}

static void test_copies(void)
{
    begin();
    if (!api->enqueue_copy)
        return;
    copies_to(&psc_backend_cpu);
    copies_to(api);
}

/* ---- the memo of quantised activations (l33) ------------------------------------------------- */

enum how { BY_KERNEL, BY_WRITE, BY_FILL, BY_MOVE, HOW_N };

/* The product of what x holds now with w, after x was overwritten; is it the product of the new bytes? */
static void test_memo(void)
{
    begin();
    struct test_case c;
    const float *values;
    test_case_init(&c, PSC_OP_MATMUL, "memo");
    c.weight = test_case_weight(&c, "w", PSC_W_Q8_0, 64, 32, &values);
    struct psc_window x = {.at = room(256), .bytes = 256, .dtype = PSC_F32, .shape = {64, 1, 1, 1}};
    struct psc_window out = {.at = room(128), .bytes = 128, .dtype = PSC_F32, .shape = {32, 1, 1, 1}};
    struct psc_window other = {.at = room(256), .bytes = 256, .dtype = PSC_F32, .shape = {64, 1, 1, 1}};
    struct psc_params params = {.scale = 1, .has_scale = true};
    struct psc_call mm = {.op = PSC_OP_MATMUL, .params = &params, .in = &x, .in_n = 1, .out = out, .weight = c.weight};
    struct psc_call copy = {.op = PSC_OP_SCALE, .params = &params, .in = &other, .in_n = 1, .out = x};
    must(api->load_weight(b, c.weight.weight, &mm.weight.at[0], &error));
    for (unsigned fault = 0; fault < 2; fault++)
        for (enum how how = 0; how < HOW_N; how++) {
            float ones[64], twos[64], got[32];
            for (int i = 0; i < 64; i++)
                ones[i] = 1, twos[i] = 2;
            must(api->write(b, x.at, ones, sizeof ones, &error));
            must(api->write(b, other.at, twos, sizeof twos, &error));
            mm.faults = copy.faults = fault ? PSC_CALL_L33 : 0;
            must(api->launch(b, &mm, &error));
            if (how == BY_KERNEL)
                must(api->launch(b, &copy, &error));
            else if (how == BY_MOVE)
                must(api->move(b, x.at, other.at, 256, &error));
            else if (the_suite.promises & TEST_QUEUED)
                must(api->synchronise(b, &error)); /* the host writes when nothing is queued */
            if (how == BY_WRITE)
                must(api->write(b, x.at, twos, sizeof twos, &error));
            if (how == BY_FILL)
                must(api->fill(b, x.at, 0x40000000, 256, &error));
            must(api->launch(b, &mm, &error));
            must(api->synchronise(b, &error));
            must(api->read(b, out.at, got, sizeof got, &error));
            unsigned told_apart = 0;
            for (int o = 0; o < 32; o++) {
                double sum = 0;
                for (int i = 0; i < 64; i++)
                    sum += (double)values[o * 64 + i];
                g_assert_cmpfloat_with_epsilon((double)got[o], fault && how == BY_KERNEL ? sum : 2 * sum, 0.02);
                told_apart += fabs(sum) > 1;
            }
            g_assert_cmpuint(told_apart, >, 8);
        }
    api->free(b, x.at);
    api->free(b, out.at);
    api->free(b, other.at);
    test_case_clear(&c);
}

/* Copies of operands that lie over the output are made in the same scratch each time: what was quantised from the first
 * must not be taken for the second. */
static void test_snapshots_are_not_remembered(void)
{
    begin();
    struct test_case c;
    const float *values;
    test_case_init(&c, PSC_OP_MATMUL, "snapshots");
    c.weight = test_case_weight(&c, "w", PSC_W_Q8_0, 64, 64, &values);
    struct psc_window x = {.at = room(256), .bytes = 256, .dtype = PSC_F32, .shape = {64, 1, 1, 1}};
    struct psc_params params = {0};
    struct psc_call mm = {.op = PSC_OP_MATMUL, .params = &params, .in = &x, .in_n = 1, .out = x, .weight = c.weight,
                          .snapshot = true};
    must(api->load_weight(b, c.weight.weight, &mm.weight.at[0], &error));
    for (int round = 1; round < 4; round++) {
        float row[64], got[64];
        for (int i = 0; i < 64; i++)
            row[i] = (float)round;
        must(api->write(b, x.at, row, sizeof row, &error));
        must(api->launch(b, &mm, &error));
        must(api->read(b, x.at, got, sizeof got, &error));
        for (int o = 0; o < 64; o++) {
            double sum = 0;
            for (int i = 0; i < 64; i++)
                sum += (double)values[o * 64 + i] * round;
            g_assert_cmpfloat_with_epsilon((double)got[o], sum, 0.05);
        }
    }
    api->free(b, x.at);
    test_case_clear(&c);
}

/* ---- out of memory --------------------------------------------------------------------------- */

static void test_out_of_memory(void)
{
    static const enum psc_op ops[] = {PSC_OP_ADD, PSC_OP_ROPE, PSC_OP_MATMUL, PSC_OP_ATTN, PSC_OP_RMS_NORM};
    begin();
    for (unsigned i = 0; i < G_N_ELEMENTS(ops); i++) {
        struct test_case c;
        test_case_init(&c, ops[i], "%s without memory", psc_op_info(ops[i])->name);
        test_case_floats(&c, 64, 2, 1, 1);
        if (ops[i] == PSC_OP_ADD)
            test_case_floats(&c, 64, 2, 1, 1);
        if (ops[i] == PSC_OP_ATTN)
            test_case_floats(&c, 32, 0, 1, 1);
        if (ops[i] == PSC_OP_ROPE || ops[i] == PSC_OP_ATTN)
            test_case_words(&c, PSC_I32, 2);
        if (ops[i] == PSC_OP_MATMUL)
            c.weight = test_case_weight(&c, "w", PSC_W_Q8_0, 64, 64, NULL);
        if (ops[i] == PSC_OP_RMS_NORM)
            c.weight = test_case_weight(&c, "w", PSC_W_F16, 64, 1, NULL);
        if (ops[i] == PSC_OP_ATTN)
            test_case_kv(&c, PSC_KV_Q8_0, 8, 32);
        c.params = (struct psc_params){
            .hd = 32, .freq_base = 10000, .n_head = 2, .n_head_kv = 1, .scale = 1, .has_scale = true};
        test_case_out(&c, 64, 2, 1, 1);
        test_case_out_of_memory(&c);
    }
}

void test_backend_queue(void)
{
    test_suite_add("memory/blocks-are-aligned-and-apart", test_memory);
    test_suite_add("memory/what-cannot-be-had-is-an-error", test_memory_query);
    test_suite_add("memory/weights-are-loaded-once", test_weights);
    test_suite_add("queue/a-read-before-submit-sees-what-is-there", test_read_before_submit);
    test_suite_add("queue/commands-run-in-order", test_order);
    test_suite_add("queue/probes-look-in-their-turn", test_probes_in_order);
    test_suite_add("queue/probes-are-their-definition", test_probes_are_the_definition);
    test_suite_add("queue/moves-overlap-in-their-turn", test_moves);
    test_suite_add("queue/copies-arrive-with-their-wait", test_copies);
    test_suite_add("queue/a-memo-dies-with-its-bytes-but-for-fault-l33", test_memo);
    if (the_suite.promises & TEST_SNAPSHOTS)
        test_suite_add("queue/what-was-quantised-of-a-snapshot-dies-with-it", test_snapshots_are_not_remembered);
    test_suite_add("memory/every-allocation-may-fail", test_out_of_memory);
}
