/* Ops without weights, and norms, rows and rotation: against a naive computation in double. */
#include "tests/backend-suite.h"

#include <math.h>
#include <string.h>

static const uint64_t sizes[] = {1, 2, 7, 8, 31, 33, 64, 257};
static const uint64_t token_counts[] = {1, 2, 5};

typedef double (*scalar_fn)(double a, double b);
static double plus(double a, double b) { return a + b; }
static double times(double a, double b) { return a * b; }
static double silu_of(double a, double b) { (void)b; return a / (1 + exp(-a)); }
static double swiglu_of(double a, double b) { return silu_of(a, 0) * b; }

static void elements(enum psc_op op, scalar_fn fn, unsigned operands)
{
    unsigned cases = 0;
    for (unsigned i = 0; i < G_N_ELEMENTS(sizes); i++)
        for (unsigned t = 0; t < G_N_ELEMENTS(token_counts); t++, cases++) {
            struct test_case c;
            test_case_init(&c, op, "%s of %u x %u", psc_op_info(op)->name, (unsigned)sizes[i],
                           (unsigned)token_counts[t]);
            const float *a = test_case_floats(&c, sizes[i], token_counts[t], 1, 1), *b = a;
            if (operands > 1)
                b = test_case_floats(&c, sizes[i], token_counts[t], 1, 1);
            test_case_out(&c, sizes[i], token_counts[t], 1, 1);
            for (uint64_t k = 0; k < c.out.n; k++)
                c.expect[k] = fn((double)a[k], (double)b[k]);
            test_case_run(&c);
        }
    g_assert_cmpuint(cases, ==, G_N_ELEMENTS(sizes) * G_N_ELEMENTS(token_counts));
}

static void test_add(void) { elements(PSC_OP_ADD, plus, 2); }
static void test_mul(void) { elements(PSC_OP_MUL, times, 2); }
static void test_silu(void) { elements(PSC_OP_SILU, silu_of, 1); }
static void test_swiglu(void) { elements(PSC_OP_SWIGLU, swiglu_of, 2); }

/* Long enough that several workers take part. */
static void test_long(void)
{
    static const enum psc_op ops[] = {PSC_OP_ADD, PSC_OP_SILU, PSC_OP_SWIGLU};
    static const scalar_fn fns[] = {plus, silu_of, swiglu_of};
    for (unsigned i = 0; i < G_N_ELEMENTS(ops); i++) {
        struct test_case c;
        test_case_init(&c, ops[i], "%s of 100,003", psc_op_info(ops[i])->name);
        const float *a = test_case_floats(&c, 100003, 1, 1, 1), *b = i == 1 ? a : test_case_floats(&c, 100003, 1, 1, 1);
        test_case_out(&c, 100003, 1, 1, 1);
        for (uint64_t k = 0; k < c.out.n; k++)
            c.expect[k] = fns[i]((double)a[k], (double)b[k]);
        test_case_run(&c);
    }
}

/* add(x, x): one buffer is read twice, and written when in place. */
static void test_scale(void)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(sizes); i++) {
        struct test_case c;
        test_case_init(&c, PSC_OP_SCALE, "scale of %u", (unsigned)sizes[i]);
        c.params.scale = -1.25f;
        c.params.has_scale = true;
        const float *a = test_case_floats(&c, sizes[i], 3, 1, 1);
        test_case_out(&c, sizes[i], 3, 1, 1);
        for (uint64_t k = 0; k < c.out.n; k++)
            c.expect[k] = -1.25 * (double)a[k];
        test_case_run(&c);
    }
}

/* exp far from zero, infinities and NaN, as libm has them; and silu then mul is swiglu, bit for bit. */
static void test_silu_ends(void)
{
    static const float values[] = {0,   -0.0f, 1e-30f, -1e-30f,  88,  -88,    88.8f,   -88.8f, 100, -100,
                                   104, -104,  3e38f,  INFINITY, NAN, -87.5f, -103.5f, 1,      -1,  20};
    struct test_case c;
    test_case_init(&c, PSC_OP_SILU, "silu of extreme numbers");
    float *a = test_case_floats(&c, G_N_ELEMENTS(values), 1, 1, 1);
    memcpy(a, values, sizeof values);
    test_case_out(&c, G_N_ELEMENTS(values), 1, 1, 1);
    for (uint64_t k = 0; k < c.out.n; k++)
        c.expect[k] = (double)a[k] / (1 + exp(-(double)a[k]));
    test_case_run(&c);
}

static void test_swiglu_is_silu_then_mul(void)
{
    struct test_case silu, mul, fused;
    struct psc_error error = {0};
    test_case_init(&silu, PSC_OP_SILU, "silu");
    test_case_init(&mul, PSC_OP_MUL, "mul");
    test_case_init(&fused, PSC_OP_SWIGLU, "swiglu");
    const float *gate = test_case_floats(&silu, 1003, 7, 1, 1), *up = test_case_floats(&fused, 1003, 7, 1, 1);
    test_case_floats(&fused, 1003, 7, 1, 1);
    test_case_floats(&mul, 1003, 7, 1, 1);
    test_case_floats(&mul, 1003, 7, 1, 1);
    memcpy(fused.in[1].words, up, fused.in[0].n * 4);
    memcpy(mul.in[1].words, up, fused.in[0].n * 4);
    memcpy(fused.in[0].words, gate, fused.in[0].n * 4);
    test_case_out(&silu, 1003, 7, 1, 1);
    test_case_out(&mul, 1003, 7, 1, 1);
    test_case_out(&fused, 1003, 7, 1, 1);
    g_assert_cmpint(test_case_try(&silu, 0, false, &error), ==, PSC_OK);
    memcpy(mul.in[0].words, silu.out.words, silu.out.n * 4);
    g_assert_cmpint(test_case_try(&mul, 0, false, &error), ==, PSC_OK);
    g_assert_cmpint(test_case_try(&fused, 0, false, &error), ==, PSC_OK);
    g_assert_cmpmem(fused.out.words, fused.out.n * 4, mul.out.words, mul.out.n * 4);
    test_case_clear(&silu);
    test_case_clear(&mul);
    test_case_clear(&fused);
}

static void softmax_case(uint64_t d0, uint64_t d1, uint64_t d2, int dim, unsigned faults)
{
    struct test_case c;
    test_case_init(&c, PSC_OP_SOFTMAX, "softmax of %u x %u x %u along %d%s", (unsigned)d0, (unsigned)d1, (unsigned)d2,
                   dim, faults ? " with fault l21" : "");
    c.params.dim = dim;
    c.faults = faults;
    const float *a = test_case_floats(&c, d0, d1, d2, 1);
    test_case_out(&c, d0, d1, d2, 1);
    uint64_t n = dim ? d1 : d0, stride = dim ? d0 : 1;
    for (uint64_t i = 0; i < c.out.n; i++) {
        uint64_t first = dim ? i / (d0 * d1) * d0 * d1 + i % d0 : i / d0 * d0;
        double most = -INFINITY, sum = 0;
        for (uint64_t k = 0; k < n; k++)
            most = fmax(most, (double)a[first + k * stride]);
        for (uint64_t k = 0; k < n; k++)
            sum += exp((double)a[first + k * stride] - most);
        c.expect[i] = exp((double)a[i] - most) / (faults ? 1 : sum);
    }
    test_case_run(&c);
}

static void test_softmax(void)
{
    for (int dim = 0; dim < 2; dim++) {
        for (unsigned i = 0; i < G_N_ELEMENTS(sizes); i++)
            softmax_case(sizes[i], 5, 1, dim, 0);
        softmax_case(33, 7, 3, dim, 0);
        softmax_case(1, 300, 2, dim, 0);
        softmax_case(4000, 9, 1, dim, 0);
    }
}

static void test_softmax_fault(void)
{
    softmax_case(33, 2, 1, 0, PSC_CALL_L21);
    softmax_case(9, 6, 1, 1, PSC_CALL_L21);
}

/* ---- norms ----------------------------------------------------------------------------------- */

static void norm_case(enum psc_op op, uint64_t width, uint64_t heads, uint64_t tokens, enum psc_wtype type, bool weight,
                      bool bias)
{
    struct test_case c;
    const float *w = NULL, *b = NULL;
    test_case_init(&c, op, "%s of %u x %u heads x %u tokens%s%s", psc_op_info(op)->name, (unsigned)width,
                   (unsigned)heads, (unsigned)tokens, weight ? " with weight" : "", bias ? " and bias" : "");
    c.params.eps = 1e-5f;
    c.params.hd = op == PSC_OP_QK_NORM ? width : 0;
    c.params.nh = heads;
    const float *x = test_case_floats(&c, width * heads, tokens, 1, 1);
    test_case_out(&c, width * heads, tokens, 1, 1);
    if (weight)
        c.weight = test_case_weight(&c, "norm.weight", type, width, 1, &w);
    if (bias)
        c.norm_bias = test_case_weight(&c, "norm.bias", PSC_W_F32, width, 1, &b);
    for (uint64_t row = 0; row < heads * tokens; row++) {
        double sum = 0;
        for (uint64_t i = 0; i < width; i++)
            sum += (double)x[row * width + i] * (double)x[row * width + i];
        for (uint64_t i = 0; i < width; i++)
            c.expect[row * width + i] = (double)x[row * width + i] / sqrt(sum / (double)width + (double)1e-5f) *
                                            (w ? (double)w[i] : 1) + (b ? (double)b[i] : 0);
    }
    test_case_run(&c);
}

static void test_rms_norm(void)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(sizes); i++)
        for (unsigned t = 0; t < G_N_ELEMENTS(token_counts); t++)
            norm_case(PSC_OP_RMS_NORM, sizes[i], 1, token_counts[t], PSC_W_F32, t != 1, t == 2);
    norm_case(PSC_OP_RMS_NORM, 4097, 1, 12, PSC_W_F16, true, false);
    norm_case(PSC_OP_RMS_NORM, 100, 1, 3, PSC_W_BF16, true, true);
    norm_case(PSC_OP_RMS_NORM, 100, 1, 3, PSC_W_F32, false, true);
}

static void test_qk_norm(void)
{
    norm_case(PSC_OP_QK_NORM, 64, 3, 5, PSC_W_F32, true, false);
    norm_case(PSC_OP_QK_NORM, 7, 2, 1, PSC_W_F32, true, false);
    norm_case(PSC_OP_QK_NORM, 128, 16, 9, PSC_W_F32, true, false);
    norm_case(PSC_OP_QK_NORM, 32, 1, 2, PSC_W_F32, false, false);
}

/* ---- rope ------------------------------------------------------------------------------------ */

static void rope_case(enum psc_op op, uint64_t hd, uint64_t heads, uint64_t tokens, bool interleaved,
                      enum psc_dtype dtype)
{
    struct test_case c;
    const float *bias = NULL;
    test_case_init(&c, op, "%s %s, %u x %u heads, %u tokens, positions as %s", psc_op_info(op)->name,
                   interleaved ? "interleaved" : "in halves", (unsigned)hd, (unsigned)heads, (unsigned)tokens,
                   psc_dtype_name(dtype));
    c.params.hd = hd;
    c.params.n_head = heads;
    c.params.freq_base = 1e6f;
    c.params.freq_scale = interleaved ? 0.5f : 1;
    c.params.rope_style = interleaved ? PSC_ROPE_INTERLEAVED : PSC_ROPE_NON_INTERLEAVED;
    const float *x = test_case_floats(&c, hd * heads, tokens, 1, 1);
    int32_t *positions = test_case_words(&c, dtype, tokens);
    for (uint64_t t = 0; t < tokens; t++)
        positions[t] = t ? (int32_t)test_random_below(40000) : 0;
    test_case_out(&c, hd * heads, tokens, 1, 1);
    if (op == PSC_OP_FUSED_BIAS_ROPE)
        c.bias[0] = test_case_weight(&c, "q.bias", PSC_W_F32, hd * heads, 1, &bias);
    for (uint64_t i = 0; i < c.out.n; i++) {
        uint64_t t = i / (hd * heads), in_head = i % hd, first = i - in_head;
        uint64_t pair = interleaved ? in_head / 2 : in_head % (hd / 2);
        uint64_t at = first + (interleaved ? 2 * pair : pair), other = at + (interleaved ? 1 : hd / 2);
        double angle = positions[t] * ((double)c.params.freq_scale / pow(1e6, 2.0 * (double)pair / (double)hd));
        double a = (double)x[at] + (bias ? (double)bias[at % (hd * heads)] : 0);
        double b = (double)x[other] + (bias ? (double)bias[other % (hd * heads)] : 0);
        c.expect[i] = i == at ? a * cos(angle) - b * sin(angle) : a * sin(angle) + b * cos(angle);
    }
    test_case_run(&c);
}

static void test_rope(void)
{
    for (int style = 0; style < 2; style++) {
        rope_case(PSC_OP_ROPE, 2, 1, 1, style, PSC_I32);
        rope_case(PSC_OP_ROPE, 64, 14, 1, style, PSC_I32);
        rope_case(PSC_OP_ROPE, 64, 2, 33, style, PSC_I32);
        rope_case(PSC_OP_ROPE, 128, 3, 7, style, PSC_F32);
        rope_case(PSC_OP_ROPE, 18, 2, 5, style, PSC_I32);
        rope_case(PSC_OP_FUSED_BIAS_ROPE, 64, 3, 5, style, PSC_I32);
    }
}

/* Shapes that stay and positions, base or scale that change, as from one step to the next: no angle is from yesterday. */
static void test_rope_follows_positions(void)
{
    static const int32_t positions[] = {5, 6, 5, 5, 5, 9};
    static const float bases[] = {1e4f, 1e4f, 1e4f, 1e6f, 1e6f, 1e6f}, scales[] = {1, 1, 1, 1, 0.25f, 0.25f};
    for (unsigned v = 0; v < the_suite.variant_n; v++)
        for (unsigned i = 0; i < G_N_ELEMENTS(positions); i++) {
            struct test_case c;
            struct psc_error error = {0};
            test_case_init(&c, PSC_OP_ROPE, "rope, step %u", i);
            c.params.hd = 32;
            c.params.freq_base = bases[i];
            c.params.freq_scale = scales[i];
            const float *x = test_case_floats(&c, 32, 1, 1, 1);
            test_case_words(&c, PSC_I32, 1)[0] = positions[i];
            test_case_out(&c, 32, 1, 1, 1);
            g_assert_cmpint(test_case_try(&c, v, false, &error), ==, PSC_OK);
            for (uint64_t k = 0; k < 16; k++) {
                double angle = positions[i] * (double)scales[i] / pow((double)bases[i], (double)k / 16);
                double want = (double)x[k] * cos(angle) - (double)x[k + 16] * sin(angle);
                g_assert_cmpfloat_with_epsilon((double)((float *)c.out.words)[k], want, 1e-6);
            }
            test_case_clear(&c);
        }
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void test_embedding(void)
{
    for (unsigned type = 0; type < PSC_W_OTHER; type++) {
        struct test_case c;
        const float *table;
        test_case_init(&c, PSC_OP_GET_ROWS, "embedding of %s", psc_wtype_info(type)->name);
        static const int32_t ids[] = {0, 9, 3, 9, 5};
        memcpy(test_case_words(&c, PSC_I32, 5), ids, sizeof ids);
        c.weight = test_case_weight(&c, "token_embd.weight", type, 256, 10, &table);
        test_case_out(&c, 256, 5, 1, 1);
        for (uint64_t i = 0; i < c.out.n; i++)
            c.expect[i] = (double)table[(uint64_t)ids[i / 256] * 256 + i % 256];
        c.tolerance = 0;
        test_case_run(&c);
    }
}

static void test_gather(void)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(sizes); i++) {
        struct test_case c;
        test_case_init(&c, PSC_OP_GET_ROWS, "rows of %u values", (unsigned)sizes[i]);
        const float *x = test_case_floats(&c, sizes[i], 4, 1, 1);
        static const int32_t ids[] = {3, 0};
        memcpy(test_case_words(&c, i % 2 ? PSC_I32 : PSC_F32, 2), ids, sizeof ids);
        test_case_out(&c, sizes[i], 2, 1, 1);
        for (uint64_t k = 0; k < c.out.n; k++)
            c.expect[k] = (double)x[(uint64_t)ids[k / sizes[i]] * sizes[i] + k % sizes[i]];
        c.tolerance = 0;
        test_case_run(&c);
    }
}

/* Patterns that are no numbers pass through every op that only moves. */
static void test_bit_patterns(void)
{
    static const uint32_t patterns[] = {151935, 0x7f800001, 0xffc00000, 1, 0x80000000, 0x7fc00000, 0xff800001, 0};
    static const int32_t ids[] = {1, 0};
    static const enum psc_op ops[] = {PSC_OP_GET_ROWS, PSC_OP_CONCAT, PSC_OP_VIEW, PSC_OP_RESHAPE, PSC_OP_PERMUTE};
    for (unsigned o = 0; o < G_N_ELEMENTS(ops); o++) {
        struct test_case c;
        test_case_init(&c, ops[o], "bit patterns through %s", psc_op_info(ops[o])->name);
        memcpy(test_case_floats(&c, 4, 2, 1, 1), patterns, sizeof patterns);
        if (ops[o] == PSC_OP_GET_ROWS)
            memcpy(test_case_words(&c, PSC_I32, 2), ids, sizeof ids);
        if (ops[o] == PSC_OP_PERMUTE)
            c.params.perm[0] = 1, c.params.perm[1] = 0;
        if (ops[o] == PSC_OP_RESHAPE)
            test_case_out(&c, 8, 1, 1, 1);
        else if (ops[o] == PSC_OP_PERMUTE)
            test_case_out(&c, 2, 4, 1, 1);
        else
            test_case_out(&c, 4, 2, 1, 1);
        c.bits = true;
        c.expect_bits = g_new(uint32_t, 8);
        for (unsigned i = 0; i < 8; i++)
            c.expect_bits[i] = patterns[ops[o] == PSC_OP_GET_ROWS  ? (i + 4) % 8
                                        : ops[o] == PSC_OP_PERMUTE ? i % 2 * 4 + i / 2
                                                                   : i];
        test_case_run(&c);
    }
}

static void concat_case(int axis, int given, unsigned operands)
{
    struct test_case c;
    uint64_t shape[4] = {3, 4, 2, 5}, along = 0;
    test_case_init(&c, PSC_OP_CONCAT, "concat of %u along %d", operands, given);
    c.params.dim = given;
    for (unsigned k = 0; k < operands; k++) {
        shape[axis] = k == 1 ? 0 : k + 1; /* one of them is empty */
        test_case_floats(&c, shape[0], shape[1], shape[2], shape[3]);
        along += shape[axis];
    }
    shape[axis] = along;
    test_case_out(&c, shape[0], shape[1], shape[2], shape[3]);
    uint64_t at[4];
    for (uint64_t i = 0; i < c.out.n; i++) {
        at[0] = i % shape[0], at[1] = i / shape[0] % shape[1], at[2] = i / shape[0] / shape[1] % shape[2];
        at[3] = i / shape[0] / shape[1] / shape[2];
        unsigned k = 0;
        for (; at[axis] >= c.in[k].shape[axis]; k++)
            at[axis] -= c.in[k].shape[axis];
        const uint64_t *s = c.in[k].shape;
        c.expect[i] = (double)((const float *)c.in[k].words)[((at[3] * s[2] + at[2]) * s[1] + at[1]) * s[0] + at[0]];
    }
    c.tolerance = 0;
    test_case_run(&c);
}

static void test_concat(void)
{
    for (int axis = 0; axis < 4; axis++)
        for (unsigned operands = 1; operands <= 4; operands++)
            concat_case(axis, operands == 3 ? axis - 4 : axis, operands);
}

static void test_views(void)
{
    struct test_case c;
    test_case_init(&c, PSC_OP_VIEW, "a view placed elsewhere");
    const float *x = test_case_floats(&c, 6, 3, 1, 1);
    c.params.view_offset = 5;
    test_case_out(&c, 7, 1, 1, 1);
    for (uint64_t i = 0; i < 7; i++)
        c.expect[i] = (double)x[5 + i];
    c.tolerance = 0;
    test_case_run(&c);
}

static void test_permute(void)
{
    static const int32_t perms[][4] = {{1, 0, 2, 3}, {2, 0, 1, 3}, {3, 2, 1, 0},
                                       {0, 2, 1, 3}, {0, 1, 2, 3}, {1, 3, 0, 2}};
    for (unsigned p = 0; p < G_N_ELEMENTS(perms); p++) {
        struct test_case c;
        uint64_t s[4] = {3, 5, 2, 4}, to[4], at[4], from[4];
        test_case_init(&c, PSC_OP_PERMUTE, "permute %d %d %d %d", perms[p][0], perms[p][1], perms[p][2], perms[p][3]);
        const float *x = test_case_floats(&c, s[0], s[1], s[2], s[3]);
        memcpy(c.params.perm, perms[p], sizeof c.params.perm);
        for (int d = 0; d < 4; d++)
            to[d] = s[perms[p][d]];
        test_case_out(&c, to[0], to[1], to[2], to[3]);
        for (uint64_t i = 0; i < c.out.n; i++) {
            at[0] = i % to[0], at[1] = i / to[0] % to[1], at[2] = i / to[0] / to[1] % to[2],
            at[3] = i / to[0] / to[1] / to[2];
            for (int d = 0; d < 4; d++)
                from[perms[p][d]] = at[d];
            c.expect[i] = (double)x[((from[3] * s[2] + from[2]) * s[1] + from[1]) * s[0] + from[0]];
        }
        c.tolerance = 0;
        test_case_run(&c);
    }
}

/* Nothing to do is no error: no rows are chosen, nothing is added. */
static void test_empty(void)
{
    static const enum psc_op ops[] = {PSC_OP_ADD, PSC_OP_GET_ROWS, PSC_OP_SILU, PSC_OP_RMS_NORM, PSC_OP_CONCAT};
    for (unsigned o = 0; o < G_N_ELEMENTS(ops); o++) {
        struct test_case c;
        test_case_init(&c, ops[o], "%s of nothing", psc_op_info(ops[o])->name);
        test_case_floats(&c, 4, 0, 1, 1);
        if (ops[o] == PSC_OP_ADD)
            test_case_floats(&c, 4, 0, 1, 1);
        if (ops[o] == PSC_OP_GET_ROWS)
            test_case_words(&c, PSC_I32, 0);
        test_case_out(&c, 4, 0, 1, 1);
        test_case_run(&c);
    }
}

void test_backend_ops(void)
{
    test_suite_add("op/add/near-a-sum-in-double", test_add);
    test_suite_add("op/mul/near-a-product-in-double", test_mul);
    test_suite_add("op/scale/near-a-product-in-double", test_scale);
    test_suite_add("op/silu/near-double", test_silu);
    test_suite_add("op/silu/extreme-numbers-end-as-in-libm", test_silu_ends);
    test_suite_add("op/swiglu/near-double", test_swiglu);
    test_suite_add("op/swiglu/is-silu-then-mul-bit-for-bit", test_swiglu_is_silu_then_mul);
    test_suite_add("op/elements/shared-by-workers", test_long);
    test_suite_add("op/softmax/rows-and-columns-sum-to-one", test_softmax);
    test_suite_add("op/softmax/fault-l21-forgets-the-sum", test_softmax_fault);
    test_suite_add("op/rms_norm/matches-the-reference", test_rms_norm);
    test_suite_add("op/qk_norm/every-head-by-itself", test_qk_norm);
    test_suite_add("op/rope/both-styles", test_rope);
    test_suite_add("op/rope/follows-positions-from-step-to-step", test_rope_follows_positions);
    test_suite_add("op/get_rows/embedding-decodes-every-type", test_embedding);
    test_suite_add("op/get_rows/rows-of-an-operand", test_gather);
    test_suite_add("op/moves/keep-bit-patterns", test_bit_patterns);
    test_suite_add("op/concat/along-every-axis", test_concat);
    test_suite_add("op/view/placed-elsewhere-is-a-copy", test_views);
    test_suite_add("op/permute/moves-elements", test_permute);
    test_suite_add("op/empty/is-no-error", test_empty);
}
