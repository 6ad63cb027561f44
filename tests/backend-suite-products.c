/* Products: with every type of weight, with its parts, of two activations. */
#include "tests/backend-suite.h"
#include "tests/steps.h"

#include <math.h>
#include <string.h>

/* A sum of n products of numbers below 2, rounded at each step: well above what is seen, well below a wrong factor. */
#define TOLERANCE 5e-5

/* What a kernel that follows core/model/blocks.h sees of an activation row: itself, or quantised and decoded. */
static void seen_by_kernel(enum psc_wtype type, const float *x, uint64_t n, double *ret)
{
    enum psc_act act = psc_wtype_info(type)->act;
    uint64_t step = act == PSC_ACT_Q8_K ? 256 : 32;
    for (uint64_t i = 0; i < n; i++)
        ret[i] = (double)x[i];
    for (uint64_t at = 0; at < n && act != PSC_ACT_F32; at += step) {
        struct psc_q8_0 small;
        struct psc_q8_k large;
        if (act == PSC_ACT_Q8_0)
            psc_quantise_q8_0(x + at, &small, 32);
        else
            psc_quantise_q8_k(x + at, &large, 256);
        for (uint64_t i = 0; i < step; i++)
            ret[at + i] = act == PSC_ACT_Q8_0 ? (double)psc_f16_to_f32(small.d) * small.q[i]
                                              : (double)psc_f16_to_f32(large.d) * large.q[i];
    }
}

/* expect[t * stride + o] for one weight of decoded values. */
static void expect_product(double *expect, uint64_t stride, enum psc_wtype type, const float *x, uint64_t x_stride,
                           uint64_t tokens, const float *w, uint64_t in, uint64_t out, const float *bias)
{
    double *row = g_new(double, in);
    for (uint64_t t = 0; t < tokens; t++) {
        seen_by_kernel(type, x + t * x_stride, in, row);
        for (uint64_t o = 0; o < out; o++) {
            double sum = 0;
            for (uint64_t i = 0; i < in; i++)
                sum += (double)w[o * in + i] * row[i];
            expect[t * stride + o] = sum + (bias ? (double)bias[o] : 0);
        }
    }
    g_free(row);
}

static bool plain(enum psc_wtype type)
{
    return !psc_wtype_info(type)->quantised;
}

static void product_case(enum psc_wtype type, uint64_t in, uint64_t out, uint64_t tokens, uint64_t wider, bool biased)
{
    struct test_case c;
    const float *w, *bias = NULL;
    test_case_init(&c, PSC_OP_MATMUL, "matmul %s, %u to %u, %u tokens%s%s", psc_wtype_info(type)->name, (unsigned)in,
                   (unsigned)out, (unsigned)tokens, wider ? " of a wider operand" : "", biased ? ", bias" : "");
    const float *x = test_case_floats(&c, in + wider, tokens, 1, 1);
    c.weight = test_case_weight(&c, "w", type, in, out, &w);
    if (biased)
        c.bias[0] = test_case_weight(&c, "b", PSC_W_F32, out, 1, &bias);
    test_case_out(&c, out, tokens, 1, 1);
    c.loose = plain(type);
    c.tolerance = TOLERANCE;
    expect_product(c.expect, out, type, x, in + wider, tokens, w, in, out, bias);
    test_case_run(&c);
}

static void test_types(void)
{
    unsigned cases = 0;
    for (unsigned type = 0; type < PSC_W_OTHER; type++) {
        uint64_t block = psc_wtype_info(type)->block;
        product_case(type, block, 1, 1, 0, false);
        product_case(type, 2 * block, 33, 1, 0, true);
        product_case(type, 512, 31, 5, 0, true);
        product_case(type, 256, 64, 9, 32, false);
        product_case(type, 768, 300, 2, 0, false);
        product_case(type, 8448, 3, 2, 0, true);    /* more than a device takes at once of a row */
        product_case(type, 512, 20, 40, 0, true);   /* more tokens than go one by one */
        cases += 7;
    }
    g_assert_cmpuint(cases, ==, 7 * PSC_W_OTHER);
}

/* Beside the numbers before they were encoded: off by the steps of type and activations (tests/steps.h), and no more. */
static void close_case(enum psc_wtype type)
{
    enum { IN = 1024, OUT = 64, TOKENS = 24 };
    struct test_case c;
    struct psc_error error = {0};
    test_case_init(&c, PSC_OP_MATMUL, "matmul %s beside what was encoded", psc_wtype_info(type)->name);
    const float *x = test_case_floats(&c, IN, TOKENS, 1, 1);
    c.weight = test_case_weight(&c, "w", type, IN, OUT, NULL);
    test_case_out(&c, OUT, TOKENS, 1, 1);
    float *w = g_new(float, IN * OUT);
    double *s = g_new(double, IN * OUT), *t = g_new(double, IN * TOKENS);
    for (unsigned i = 0; i < IN * OUT; i++)
        w[i] = test_random_float();
    psc_blocks_encode(type, w, (void *)(uintptr_t)c.weight.weight->data, IN * OUT);
    step_variances(type, w, IN * OUT, s);
    step_act_variances(type, x, IN * TOKENS, t);
    for (unsigned v = 0; v < the_suite.variant_n; v++) {
        struct step_sums sums = {0};
        if (test_case_try(&c, v, false, &error))
            g_error("%s: %s", c.name, error.text);
        for (unsigned k = 0; k < OUT * TOKENS; k++)
            step_product(&sums, w + k % OUT * IN, s + k % OUT * IN, x + k / OUT * IN, t + k / OUT * IN, IN,
                         (double)((const float *)c.out.words)[k]);
        if (!step_within(&sums))
            g_error("%s: %.3f deviations, at most %.2f", c.name, step_rms(&sums), sums.most);
    }
    g_free(t);
    g_free(s);
    g_free(w);
    test_case_clear(&c);
}

static void test_close(void)
{
    for (unsigned type = PSC_W_F16; type < PSC_W_OTHER; type++)
        close_case(type);
}

/* Plain numbers have rows of any length. */
static void test_odd_rows(void)
{
    static const uint64_t widths[] = {1, 3, 7, 9, 31, 33, 65, 257};
    for (unsigned i = 0; i < G_N_ELEMENTS(widths); i++)
        for (unsigned type = PSC_W_F32; type <= PSC_W_BF16; type++) {
            product_case(type, widths[i], 5, 1, 0, true);
            product_case(type, widths[i], 9, 6, 3, false);
        }
}

static void test_parts(void)
{
    static const enum psc_wtype types[] = {PSC_W_F32, PSC_W_Q8_0, PSC_W_Q4_K};
    for (unsigned i = 0; i < G_N_ELEMENTS(types); i++)
        for (uint64_t tokens = 1; tokens < 4; tokens += 2) {
            struct test_case c;
            const float *w[3], *bias;
            static const uint64_t outs[3] = {5, 33, 2};
            struct psc_bound_weight parts[3];
            test_case_init(&c, PSC_OP_MATMUL, "matmul with three parts of %s", psc_wtype_info(types[i])->name);
            const float *x = test_case_floats(&c, 256, tokens, 1, 1);
            for (int p = 0; p < 3; p++)
                parts[p] = test_case_weight(&c, "part", types[i], 256, outs[p], &w[p]);
            c.weight = test_case_parts(&c, "all", parts, 3);
            c.bias[0] = test_case_weight(&c, "b", PSC_W_F32, 40, 1, &bias);
            test_case_out(&c, 40, tokens, 1, 1);
            c.loose = plain(types[i]);
            c.tolerance = TOLERANCE;
            for (uint64_t p = 0, at = 0; p < 3; at += outs[p++])
                expect_product(c.expect + at, 40, types[i], x, 256, tokens, w[p], 256, outs[p], bias + at);
            test_case_run(&c);
        }
}

static void test_by_operand(void)
{
    struct test_case c;
    test_case_init(&c, PSC_OP_MATMUL, "matmul of two activations");
    const float *x = test_case_floats(&c, 37, 4, 1, 1), *w = test_case_floats(&c, 37, 11, 1, 1);
    test_case_out(&c, 11, 4, 1, 1);
    c.loose = true;
    c.tolerance = TOLERANCE;
    expect_product(c.expect, 11, PSC_W_F32, x, 37, 4, w, 37, 11, NULL);
    test_case_run(&c);
}

/* Two tokens: the fault writes [feature][token]. One token has no second place to go. */
static void test_transposed(void)
{
    for (uint64_t tokens = 1; tokens <= 3; tokens++) {
        struct test_case c;
        const float *w;
        test_case_init(&c, PSC_OP_MATMUL, "fault l20, %u tokens", (unsigned)tokens);
        const float *x = test_case_floats(&c, 16, tokens, 1, 1);
        c.weight = test_case_weight(&c, "w", PSC_W_F32, 16, 6, &w);
        test_case_out(&c, 6, tokens, 1, 1);
        c.faults = PSC_CALL_L20;
        c.loose = true;
        c.tolerance = TOLERANCE;
        double *right = g_new0(double, 6 * tokens);
        expect_product(right, 6, PSC_W_F32, x, 16, tokens, w, 16, 6, NULL);
        for (uint64_t i = 0; i < 6 * tokens; i++)
            c.expect[i % 6 * tokens + i / 6] = right[i];
        g_free(right);
        test_case_run(&c);
    }
}

static void batch_case(uint64_t k, uint64_t n, uint64_t m, uint64_t b2, uint64_t share, bool transposed)
{
    struct test_case c;
    test_case_init(&c, PSC_OP_BATCH_MATMUL, "batch_matmul %u x %u x %u, %u matrices, b shared by %u%s", (unsigned)m,
                   (unsigned)k, (unsigned)n, (unsigned)b2, (unsigned)share, transposed ? ", transposed" : "");
    c.params.transpose_b = transposed;
    const float *a = test_case_floats(&c, k, m, b2, 2);
    const float *b = test_case_floats(&c, transposed ? k : n, transposed ? n : k, b2 / share, 1);
    test_case_out(&c, n, m, b2, 2);
    c.tolerance = TOLERANCE;
    for (uint64_t i = 0; i < c.out.n; i++) {
        uint64_t col = i % n, row = i / n % m, d2 = i / n / m % b2;
        const float *bm = b + d2 / share * k * n;
        double sum = 0;
        for (uint64_t j = 0; j < k; j++)
            sum += (double)a[i / n * k + j] * (double)(transposed ? bm[col * k + j] : bm[j * n + col]);
        (void)row;
        c.expect[i] = sum;
    }
    test_case_run(&c);
}

static void test_batch(void)
{
    for (int transposed = 0; transposed < 2; transposed++) {
        batch_case(1, 1, 1, 1, 1, transposed);
        batch_case(33, 7, 5, 4, 2, transposed);
        batch_case(64, 65, 3, 2, 1, transposed);
        batch_case(5, 31, 2, 6, 6, transposed);
        batch_case(300, 100, 8, 2, 1, transposed);
    }
}

/* A token's row does not depend on who else is in the batch. */
static void test_alone_or_in_a_batch(void)
{
    for (unsigned type = 0; type < PSC_W_OTHER; type++) {
        struct test_case batch, alone;
        struct psc_error error = {0};
        test_case_init(&batch, PSC_OP_MATMUL, "batch");
        test_case_init(&alone, PSC_OP_MATMUL, "alone");
        const float *x = test_case_floats(&batch, 512, 11, 1, 1);
        float *one = test_case_floats(&alone, 512, 1, 1, 1);
        batch.weight = alone.weight = test_case_weight(&batch, "w", type, 512, 37, NULL);
        test_case_out(&batch, 37, 11, 1, 1);
        test_case_out(&alone, 37, 1, 1, 1);
        for (unsigned v = 0; v < the_suite.variant_n; v++) {
            g_assert_cmpint(test_case_try(&batch, v, false, &error), ==, PSC_OK);
            for (uint64_t t = 0; t < 11; t++) {
                memcpy(one, x + t * 512, 512 * sizeof *one);
                g_assert_cmpint(test_case_try(&alone, v, false, &error), ==, PSC_OK);
                g_assert_cmpmem(alone.out.words, 37 * 4, (float *)batch.out.words + t * 37, 37 * 4);
            }
        }
        test_case_clear(&alone);
        test_case_clear(&batch);
    }
}

/* One after another through one chain: (x W + y), silu, times a factor. */
static void test_chain(void)
{
    struct test_case mm, add, silu, scale;
    struct psc_error error = {0};
    const float *w;
    test_case_init(&mm, PSC_OP_MATMUL, "chain");
    test_case_init(&add, PSC_OP_ADD, "chain");
    test_case_init(&silu, PSC_OP_SILU, "chain");
    test_case_init(&scale, PSC_OP_SCALE, "chain");
    const float *x = test_case_floats(&mm, 12, 3, 1, 1), *y;
    mm.weight = test_case_weight(&mm, "w", PSC_W_F32, 12, 5, &w);
    test_case_floats(&add, 5, 3, 1, 1);
    y = test_case_floats(&add, 5, 3, 1, 1);
    test_case_floats(&silu, 5, 3, 1, 1);
    test_case_floats(&scale, 5, 3, 1, 1);
    scale.params.scale = 0.5f;
    scale.params.has_scale = true;
    struct test_case *const chain[] = {&mm, &add, &silu, &scale};
    for (unsigned i = 0; i < 4; i++) {
        test_case_out(chain[i], 5, 3, 1, 1);
        if (i)
            memcpy(chain[i]->in[0].words, chain[i - 1]->out.words, 15 * 4);
        g_assert_cmpint(test_case_try(chain[i], 0, false, &error), ==, PSC_OK);
    }
    expect_product(mm.expect, 5, PSC_W_F32, x, 12, 3, w, 12, 5, NULL);
    for (uint64_t i = 0; i < 15; i++) {
        double sum = mm.expect[i] + (double)y[i], got = (double)((float *)scale.out.words)[i];
        g_assert_cmpfloat_with_epsilon(got, 0.5 * sum / (1 + exp(-sum)), 1e-5);
    }
    for (unsigned i = 0; i < 4; i++)
        test_case_clear(chain[i]);
}

/* ---- fused_ffn ------------------------------------------------------------------------------- */

/* The rows [0, nf) are what matmul, matmul and swiglu make, bit for bit. */
static void ffn_case(enum psc_wtype type, uint64_t tokens, bool one_weight)
{
    struct test_case fused, gate, up, swiglu;
    struct psc_error error = {0};
    uint64_t nf = 70;
    test_case_init(&fused, PSC_OP_FUSED_FFN, "fused_ffn");
    test_case_init(&gate, PSC_OP_MATMUL, "gate");
    test_case_init(&up, PSC_OP_MATMUL, "up");
    test_case_init(&swiglu, PSC_OP_SWIGLU, "swiglu");
    const float *x = test_case_floats(&fused, 256, tokens, 1, 1);
    memcpy(test_case_floats(&gate, 256, tokens, 1, 1), x, fused.in[0].n * 4);
    memcpy(test_case_floats(&up, 256, tokens, 1, 1), x, fused.in[0].n * 4);
    struct psc_bound_weight parts[2];
    if (one_weight) { /* rows of one weight: the halves are named apart */
        uint64_t half;
        fused.weight = test_case_weight(&fused, "gu", type, 256, 2 * nf, NULL);
        g_assert_true(psc_wtype_bytes(type, 256 * nf, &half));
        for (int p = 0; p < 2; p++) {
            parts[p] = test_case_weight(&fused, "half", type, 256, nf, NULL);
            memcpy((void *)(uintptr_t)parts[p].weight->data,
                   (const char *)fused.weight.weight->data + (uint64_t)p * half, half);
        }
    } else {
        for (int p = 0; p < 2; p++)
            parts[p] = test_case_weight(&fused, "half", type, 256, nf, NULL);
        fused.weight = test_case_parts(&fused, "gu", parts, 2);
    }
    gate.weight = parts[0];
    up.weight = parts[1];
    fused.params.nf = nf;
    test_case_out(&fused, 2 * nf, tokens, 1, 1);
    test_case_out(&gate, nf, tokens, 1, 1);
    test_case_out(&up, nf, tokens, 1, 1);
    test_case_out(&swiglu, nf, tokens, 1, 1);
    test_case_floats(&swiglu, nf, tokens, 1, 1);
    test_case_floats(&swiglu, nf, tokens, 1, 1);
    for (unsigned v = 0; v < the_suite.variant_n; v++) {
        g_assert_cmpint(test_case_try(&gate, v, false, &error), ==, PSC_OK);
        g_assert_cmpint(test_case_try(&up, v, false, &error), ==, PSC_OK);
        memcpy(swiglu.in[0].words, gate.out.words, gate.out.n * 4);
        memcpy(swiglu.in[1].words, up.out.words, up.out.n * 4);
        g_assert_cmpint(test_case_try(&swiglu, v, false, &error), ==, PSC_OK);
        if (test_case_try(&fused, v, false, &error))
            g_error("fused_ffn: %s", error.text);
        for (uint64_t t = 0; t < tokens; t++)
            g_assert_cmpmem((float *)fused.out.words + 2 * t * nf, nf * 4, (float *)swiglu.out.words + t * nf, nf * 4);
    }
    test_case_clear(&gate);
    test_case_clear(&up);
    test_case_clear(&swiglu);
    test_case_clear(&fused);
}

static void test_ffn(void)
{
    static const enum psc_wtype types[] = {PSC_W_F32, PSC_W_F16, PSC_W_Q8_0, PSC_W_Q5_0, PSC_W_Q4_K, PSC_W_Q6_K};
    for (unsigned i = 0; i < G_N_ELEMENTS(types); i++)
        for (uint64_t tokens = 1; tokens < 6; tokens += 3) {
            ffn_case(types[i], tokens, false);
            ffn_case(types[i], tokens, true);
        }
}

void test_backend_products(void)
{
    test_suite_add("op/matmul/every-type-of-weight", test_types);
    test_suite_add("op/matmul/is-off-by-the-steps-of-its-type-and-no-more", test_close);
    test_suite_add("op/matmul/rows-of-any-length", test_odd_rows);
    test_suite_add("op/matmul/parts-lie-side-by-side", test_parts);
    test_suite_add("op/matmul/of-two-activations", test_by_operand);
    test_suite_add("op/matmul/fault-l20-turns-several-tokens", test_transposed);
    test_suite_add("op/matmul/a-token-is-the-same-alone-and-in-a-batch", test_alone_or_in_a_batch);
    test_suite_add("op/matmul/then-add-silu-scale", test_chain);
    test_suite_add("op/batch_matmul/near-double", test_batch);
    test_suite_add("op/fused_ffn/is-its-parts-bit-for-bit", test_ffn);
}
