#include "backends/cpu/matmul-kernels.h"
#include "backends/cpu/matmul.h"
#include "tests/util.h"

#include <math.h>
#include <string.h>

/* One product with everything it needs. Memory is of exactly the size that is promised to the kernels. */
struct product {
    struct psc_weight weight;
    unsigned char *bytes; /* of the weight; aligned to 2 bytes and no more */
    void *block;
    uint64_t tokens, x_stride, out_stride;
    float *x, *bias, *out;
};

static const enum psc_wtype types[] = {PSC_W_F32,  PSC_W_F16,  PSC_W_BF16, PSC_W_Q8_0, PSC_W_Q4_0, PSC_W_Q4_1,
                                       PSC_W_Q5_0, PSC_W_Q5_1, PSC_W_Q4_K, PSC_W_Q5_K, PSC_W_Q6_K};

static float uniform(GRand *rand)
{
    return (float)g_rand_double_range(rand, -1, 1);
}

static void product_init(struct product *p, enum psc_wtype type, uint64_t in, uint64_t out, uint64_t tokens,
                         bool bias, GRand *rand)
{
    *p = (struct product){.tokens = tokens, .x_stride = in, .out_stride = out};
    p->weight = (struct psc_weight){.name = "w", .type = type, .in = in, .out = out};
    uint64_t row_bytes = 0;
    g_assert_true(psc_wtype_bytes(type, in, &row_bytes));
    p->weight.bytes = row_bytes * out;
    p->block = g_malloc(p->weight.bytes + 4);
    p->bytes = (unsigned char *)p->block + (type == PSC_W_F32 ? 4 : 2);
    p->weight.data = p->bytes;
    float *row = g_new(float, in);
    for (uint64_t o = 0; o < out; o++) {
        for (uint64_t i = 0; i < in; i++)
            row[i] = uniform(rand);
        psc_blocks_encode(type, row, p->bytes + o * row_bytes, in);
    }
    g_free(row);
    p->x = g_new(float, tokens * in);
    for (uint64_t i = 0; i < tokens * in; i++)
        p->x[i] = uniform(rand) * (i % 5 == 0 ? 4.0f : 1.0f);
    p->out = g_new0(float, tokens * out);
    if (bias) {
        p->bias = g_new(float, out);
        for (uint64_t o = 0; o < out; o++)
            p->bias[o] = uniform(rand);
    }
}

static void product_release(struct product *p)
{
    g_free(p->block);
    g_free(p->x);
    g_free(p->bias);
    g_free(p->out);
}

static void multiply_with(struct psc_cpu_scratch *scratch, struct psc_cpu_pool *pool, const struct product *p,
                          bool portable, unsigned faults)
{
    struct psc_error error;
    struct psc_cpu_needs needs = {0};
    g_assert_true(psc_cpu_matmul_needs(&p->weight, p->tokens, psc_cpu_pool_size(pool), &needs));
    g_assert_cmpint(psc_cpu_scratch_reserve(scratch, &needs, &error), ==, PSC_OK);
    psc_cpu_scratch_begin(scratch);
    struct psc_bound_weight w = {.weight = &p->weight, .at = {(psc_address)(uintptr_t)p->bytes}};
    psc_cpu_matmul(pool, &w, p->x, p->x_stride, p->tokens, p->bias, p->out, p->out_stride, scratch, portable, faults);
}

static void multiply(const struct product *p, unsigned threads, bool portable)
{
    struct psc_cpu_pool *pool = NULL;
    struct psc_cpu_scratch scratch = {0};
    g_assert_cmpint(psc_cpu_pool_new(threads, &pool, NULL), ==, PSC_OK);
    multiply_with(&scratch, pool, p, portable, 0);
    psc_cpu_scratch_release(&scratch);
    psc_cpu_pool_free(pool);
}

/* ---- the reference, in double */

/* The activation as the product sees it, and the largest magnitude of what stands in one block with it. */
static void seen(enum psc_wtype type, const float *x, uint64_t n, double *ret)
{
    enum psc_act act = psc_wtype_info(type)->act;
    for (uint64_t i = 0; act == PSC_ACT_F32 && i < n; i++)
        ret[i] = x[i];
    for (uint64_t b = 0; act == PSC_ACT_Q8_0 && b < n / 32; b++) {
        struct psc_q8_0 q;
        psc_quantise_q8_0(x + 32 * b, &q, 32);
        for (int i = 0; i < 32; i++)
            ret[32 * b + (uint64_t)i] = (double)psc_f16_to_f32(q.d) * q.q[i];
    }
    for (uint64_t b = 0; act == PSC_ACT_Q8_K && b < n / 256; b++) {
        struct psc_q8_k q;
        psc_quantise_q8_k(x + 256 * b, &q, 256);
        for (int i = 0; i < 256; i++)
            ret[256 * b + (uint64_t)i] = (double)psc_f16_to_f32(q.d) * q.q[i];
    }
}

/* Largest magnitude that adds up to weight i of a row: what its rounding is relative to. */
static double size_of(const struct product *p, const unsigned char *row, const float *w, uint64_t i)
{
    enum psc_wtype type = p->weight.type;
    const struct psc_wtype_info *info = psc_wtype_info(type);
    const unsigned char *at = row + i / info->block * info->bytes;
    double m = 0;
    if (type == PSC_W_Q4_1 || type == PSC_W_Q5_1)
        m = fabs((double)psc_f16_to_f32(((const struct psc_q4_1 *)(const void *)at)->m));
    if (type == PSC_W_Q4_K || type == PSC_W_Q5_K)
        m = 63 * fabs((double)psc_f16_to_f32(((const struct psc_q4_k *)(const void *)at)->dmin));
    return fabs((double)w[i]) + 2 * m;
}

/* Every output equals the sum of decoded weights times decoded activations, as far as f32 can tell: each term and
 * each addition is rounded once, and at most in / 32 + 8 (floats: in / 8 + 8) additions meet in one lane. */
static void assert_exact(const struct product *p)
{
    uint64_t in = p->weight.in, out = p->weight.out, row_bytes = p->weight.bytes / out, compared = 0;
    double *x = g_new(double, p->tokens * in), eps = ldexp(1, -24);
    float *w = g_new(float, in);
    for (uint64_t t = 0; t < p->tokens; t++)
        seen(p->weight.type, p->x + t * p->x_stride, in, x + t * in);
    for (uint64_t o = 0; o < out; o++) {
        const unsigned char *row = p->bytes + o * row_bytes;
        psc_blocks_decode(p->weight.type, row, w, in);
        for (uint64_t t = 0; t < p->tokens; t++, compared++) {
            double sum = p->bias ? p->bias[o] : 0, size = fabs(sum);
            for (uint64_t i = 0; i < in; i++) {
                sum += w[i] * x[t * in + i];
                size += size_of(p, row, w, i) * fabs(x[t * in + i]);
            }
            double roundings = 12 + (psc_wtype_info(p->weight.type)->quantised ? (double)in / 128 : (double)in / 8);
            double got = p->out[t * p->out_stride + o];
            if (!(fabs(got - sum) <= size * eps * roundings))
                g_error("%s in %d out %d token %d row %d: %.9g, should be %.9g (%.3g)", psc_wtype_info(p->weight.type)->name,
                        (int)in, (int)out, (int)t, (int)o, got, sum, size * eps * roundings);
        }
    }
    g_assert_cmpuint(compared, ==, out * p->tokens);
    g_free(w);
    g_free(x);
}

static bool same_bits(const float *a, const float *b, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        if (psc_f32_bits(a[i]) != psc_f32_bits(b[i]) && !(a[i] != a[i] && b[i] != b[i]))
            return false;
    return true;
}

/* Widths that end in every possible way: whole groups of blocks, pieces of 512, and rests of both. */
static const uint64_t widths_1[] = {1, 2, 7, 8, 9, 31, 64, 100, 1023, 1024, 1041};
static const uint64_t widths_32[] = {32, 64, 96, 128, 160, 256, 480, 512, 544, 896, 1056};
static const uint64_t widths_256[] = {256, 512, 768, 1024, 1280, 1536, 1792, 2304, 2560, 2816, 4864};

static uint64_t width(enum psc_wtype type, unsigned k)
{
    uint32_t block = psc_wtype_info(type)->block;
    return (block == 1 ? widths_1 : block == 32 ? widths_32 : widths_256)[k];
}

static const uint64_t counts[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 31, 64}; /* of tokens */

static void test_exact(gconstpointer data)
{
    enum psc_wtype type = *(const enum psc_wtype *)data;
    GRand *rand = g_rand_new_with_seed((guint32)test_seed());
    unsigned n = 0;
    for (unsigned k = 0; k < G_N_ELEMENTS(widths_1); k++)
        for (unsigned c = 0; c < G_N_ELEMENTS(counts); c++) {
            if (counts[c] > 9 && k % 4 != 1)
                continue;
            struct product p;
            product_init(&p, type, width(type, k), 1 + (k * 5 + c * 3) % 19, counts[c], c & 1, rand);
            multiply(&p, 1, true);
            assert_exact(&p);
            memset(p.out, 0xff, p.tokens * p.out_stride * sizeof *p.out);
            multiply(&p, 1, false);
            assert_exact(&p);
            product_release(&p);
            n++;
        }
    g_assert_cmpuint(n, >, 100);
    g_rand_free(rand);
}

/* Portable and fast, one thread and several, a token alone and in company: the same bits. */
static void test_same_bits(gconstpointer data)
{
    enum psc_wtype type = *(const enum psc_wtype *)data;
    static const unsigned threads[] = {1, 2, 3, 5};
    GRand *rand = g_rand_new_with_seed((guint32)test_seed() + 1);
    unsigned n = 0;
    for (unsigned k = 0; k < G_N_ELEMENTS(widths_1); k += 2) {
        struct product p;
        /* enough work for all five workers */
        product_init(&p, type, width(type, k), 37 + k + 400000 / width(type, k) / 64 / 4, 64, true, rand);
        uint64_t all = p.tokens * p.out_stride;
        multiply(&p, 1, true);
        float *expected = g_memdup2(p.out, all * sizeof *p.out), *whole = p.out;
        for (unsigned i = 0; i < G_N_ELEMENTS(threads); i++)
            for (int portable = 0; portable < 2; portable++, n++) {
                memset(p.out, 0xff, all * sizeof *p.out);
                multiply(&p, threads[i], portable);
                g_assert_true(same_bits(p.out, expected, all));
            }
        float *x = p.x;
        for (unsigned c = 0; c < G_N_ELEMENTS(counts); c++, n++) {
            memset(whole, 0xff, all * sizeof *p.out);
            for (uint64_t t = 0; t < 64; t += counts[c]) {
                p.x = x + t * p.x_stride, p.out = whole + t * p.out_stride;
                p.tokens = counts[c] < 64 - t ? counts[c] : 64 - t;
                multiply(&p, 1, false);
            }
            g_assert_true(same_bits(whole, expected, all));
        }
        p.x = x, p.out = whole, p.tokens = 64;
        product_release(&p);
        g_free(expected);
    }
    g_assert_cmpuint(n, ==, 6 * (8 + G_N_ELEMENTS(counts)));
    g_rand_free(rand);
}

/* ---- blocks at the edge of what sums of 16 bits hold */

/* All bytes the same; scales that leave the numbers finite. */
static void fill_blocks(struct product *p, uint8_t byte, uint16_t d, uint16_t m)
{
    const struct psc_wtype_info *info = psc_wtype_info(p->weight.type);
    memset(p->bytes, byte, p->weight.bytes);
    for (unsigned char *at = p->bytes; at < p->bytes + p->weight.bytes; at += info->bytes) {
        enum psc_wtype type = p->weight.type;
        memcpy(type == PSC_W_Q6_K ? at + 208 : at, &d, 2);
        if (type == PSC_W_Q4_1 || type == PSC_W_Q5_1 || type == PSC_W_Q4_K || type == PSC_W_Q5_K)
            memcpy(at + 2, &m, 2);
    }
}

static void test_extremes(gconstpointer data)
{
    enum psc_wtype type = *(const enum psc_wtype *)data;
    static const uint8_t bytes[] = {0x00, 0x7f, 0x80, 0x81, 0xff, 0xf0, 0x0f, 0x55};
    GRand *rand = g_rand_new_with_seed((guint32)test_seed() + 2);
    unsigned n = 0;
    for (unsigned k = 0; k < G_N_ELEMENTS(bytes); k++)
        for (int sign = 0; sign < 4; sign++)
            for (uint64_t tokens = 1; tokens <= 16; tokens += 15) {
                struct product p;
                product_init(&p, type, 1024, 5, tokens, false, rand);
                fill_blocks(&p, bytes[k], 0x3c00, 0xbc00); /* 1, -1 */
                for (uint64_t i = 0; i < tokens * 1024; i++) /* all +, all -, alternating, random signs */
                    p.x[i] = (sign == 0 || (sign == 2 && i % 2) || (sign == 3 && g_rand_boolean(rand))) ? 3.0f : -3.0f;
                multiply(&p, 1, true);
                assert_exact(&p);
                multiply(&p, 1, false);
                assert_exact(&p);
                product_release(&p);
                n++;
            }
    g_assert_cmpuint(n, ==, 8 * 4 * 2);
    g_rand_free(rand);
}

/* Any bytes are a block: random ones, with random finite scales. */
static void test_any_bytes(gconstpointer data)
{
    enum psc_wtype type = *(const enum psc_wtype *)data;
    const struct psc_wtype_info *info = psc_wtype_info(type);
    GRand *rand = g_rand_new_with_seed((guint32)test_seed() + 3);
    for (unsigned round = 0; round < 24; round++) {
        struct product p;
        product_init(&p, type, 1536, 9, round % 3 ? 1 + round : 2, round & 1, rand);
        for (uint64_t i = 0; i < p.weight.bytes; i++)
            p.bytes[i] = (unsigned char)g_rand_int(rand);
        for (unsigned char *at = p.bytes; at < p.bytes + p.weight.bytes; at += info->bytes) {
            uint16_t d = psc_f32_to_f16(uniform(rand)), m = psc_f32_to_f16(uniform(rand));
            memcpy(type == PSC_W_Q6_K ? at + 208 : at, &d, 2);
            if (type == PSC_W_Q4_1 || type == PSC_W_Q5_1 || type == PSC_W_Q4_K || type == PSC_W_Q5_K)
                memcpy(at + 2, &m, 2);
        }
        multiply(&p, 2, true);
        assert_exact(&p);
        float *expected = g_memdup2(p.out, p.tokens * p.out_stride * sizeof *p.out);
        multiply(&p, 2, false);
        g_assert_true(same_bits(p.out, expected, p.tokens * p.out_stride));
        g_free(expected);
        product_release(&p);
    }
    g_rand_free(rand);
}

/* ---- where things lie */

static void test_strides(gconstpointer data)
{
    enum psc_wtype type = *(const enum psc_wtype *)data;
    GRand *rand = g_rand_new_with_seed((guint32)test_seed() + 5);
    for (uint64_t tokens = 1; tokens <= 33; tokens += 8)
        for (int portable = 0; portable < 2; portable++) {
            struct product p;
            uint64_t in = 512, out = 7, wide = in + 70, far = out + 3;
            product_init(&p, type, in, out, tokens, true, rand);
            multiply(&p, 2, portable);
            float *dense = p.out, *x = p.x;
            p.x = g_new(float, (tokens - 1) * wide + in); /* nothing behind the last token's values */
            p.out = g_new(float, (tokens - 1) * far + out);
            for (uint64_t i = 0; i < (tokens - 1) * wide + in; i++)
                p.x[i] = NAN;
            for (uint64_t i = 0; i < (tokens - 1) * far + out; i++)
                p.out[i] = 77;
            for (uint64_t t = 0; t < tokens; t++)
                memcpy(p.x + t * wide, x + t * in, in * sizeof *x);
            p.x_stride = wide, p.out_stride = far;
            multiply(&p, 2, portable);
            for (uint64_t t = 0; t < tokens; t++) {
                g_assert_true(same_bits(p.out + t * far, dense + t * out, out));
                for (uint64_t o = out; o < far && t + 1 < tokens; o++)
                    g_assert_cmpfloat(p.out[t * far + o], ==, 77);
            }
            g_free(dense);
            g_free(x);
            product_release(&p);
        }
    g_rand_free(rand);
}

/* A bad activation is seen, in its token and nowhere else. */
static void test_nan(gconstpointer data)
{
    enum psc_wtype type = *(const enum psc_wtype *)data;
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    GRand *rand = g_rand_new_with_seed((guint32)test_seed() + 6);
    for (unsigned k = 0; k < 3; k++)
        for (uint64_t tokens = 2; tokens <= 20; tokens += 6)
            for (int portable = 0; portable < 2; portable++) {
                struct product p;
                product_init(&p, type, 512, 3, tokens, false, rand);
                p.x[1 * 512 + 300] = bad[k];
                multiply(&p, 1, portable);
                for (uint64_t t = 0; t < tokens; t++)
                    for (unsigned o = 0; o < 3; o++)
                        g_assert_true(isfinite(p.out[t * 3 + o]) == (t != 1));
                product_release(&p);
            }
    g_rand_free(rand);
}

/* Tiny and huge activations: scales that are subnormal, zero or infinite as f16 give the same on both paths. */
static void test_magnitudes(gconstpointer data)
{
    enum psc_wtype type = *(const enum psc_wtype *)data;
    static const float sizes[] = {0.0f, -0.0f, 1e-45f, 1e-38f, 4e-37f, 1e-7f, 1e-5f, 7e3f, 1e7f, 3e38f};
    GRand *rand = g_rand_new_with_seed((guint32)test_seed() + 7);
    for (unsigned k = 0; k < G_N_ELEMENTS(sizes); k++)
        for (uint64_t tokens = 1; tokens <= 17; tokens += 16) {
            struct product p;
            product_init(&p, type, 768, 5, tokens, false, rand);
            for (uint64_t i = 0; i < tokens * 768; i++)
                p.x[i] = sizes[k] * uniform(rand);
            multiply(&p, 1, true);
            float *expected = g_memdup2(p.out, tokens * 5 * sizeof *p.out);
            if (k < 6 && type != PSC_W_F32 && type != PSC_W_F16 && type != PSC_W_BF16)
                for (uint64_t i = 0; i < tokens * 5; i++)
                    g_assert_cmpfloat(fabsf(p.out[i]), <=, sizes[k] * 768);
            multiply(&p, 1, false);
            g_assert_true(same_bits(p.out, expected, tokens * 5));
            g_free(expected);
            product_release(&p);
        }
    g_rand_free(rand);
}

/* ---- defects, and the memo */

static void test_l20(void)
{
    GRand *rand = g_rand_new_with_seed((guint32)test_seed() + 8);
    for (uint64_t tokens = 1; tokens <= 5; tokens++)
        for (int portable = 0; portable < 2; portable++) {
            struct product p;
            struct psc_cpu_pool *pool = NULL;
            struct psc_cpu_scratch scratch = {0};
            g_assert_cmpint(psc_cpu_pool_new(2, &pool, NULL), ==, PSC_OK);
            product_init(&p, PSC_W_F32, 24, 6, tokens, true, rand);
            multiply_with(&scratch, pool, &p, portable, 0);
            float *right = g_memdup2(p.out, tokens * 6 * sizeof *p.out);
            multiply_with(&scratch, pool, &p, portable, PSC_CALL_L20);
            for (uint64_t t = 0; t < tokens; t++)
                for (uint64_t o = 0; o < 6; o++)
                    g_assert_cmpfloat(p.out[o * tokens + t], ==, right[t * 6 + o]);
            g_free(right);
            product_release(&p);
            psc_cpu_scratch_release(&scratch);
            psc_cpu_pool_free(pool);
        }
    g_rand_free(rand);
}

/* Three products of one operand: it is quantised once, as long as nobody writes there. */
static void test_memo(gconstpointer data)
{
    enum psc_wtype type = *(const enum psc_wtype *)data;
    GRand *rand = g_rand_new_with_seed((guint32)test_seed() + 9);
    for (uint64_t tokens = 1; tokens <= 17; tokens += 8)
        for (int portable = 0; portable < 2; portable++) {
            struct product p;
            struct psc_cpu_pool *pool = NULL;
            struct psc_cpu_scratch scratch = {0};
            g_assert_cmpint(psc_cpu_pool_new(2, &pool, NULL), ==, PSC_OK);
            product_init(&p, type, 256, 6, tokens, true, rand);
            uint64_t n = tokens * 6, x_n = tokens * 256;
            multiply_with(&scratch, pool, &p, portable, 0);
            float *old = g_memdup2(p.out, n * sizeof *p.out);
            for (uint64_t i = 0; i < x_n; i++)
                p.x[i] = -p.x[i] * 0.5f;
            /* nobody said so: the kept operand is multiplied again */
            multiply_with(&scratch, pool, &p, portable, 0);
            g_assert_true(same_bits(p.out, old, n));
            /* a neighbour's write leaves it alone, one over its last float does not */
            psc_cpu_scratch_wrote(&scratch, p.x + x_n, 64);
            multiply_with(&scratch, pool, &p, portable, 0);
            g_assert_true(same_bits(p.out, old, n));
            psc_cpu_scratch_wrote(&scratch, p.x + x_n - 1, 64);
            multiply_with(&scratch, pool, &p, portable, 0);
            g_assert_false(same_bits(p.out, old, n));
            assert_exact(&p);
            /* another operand, then a prefix of the first: never taken for it */
            uint64_t stride = p.x_stride;
            if (tokens > 1) {
                float *all = g_memdup2(p.out, n * sizeof *p.out);
                p.tokens = 1;
                multiply_with(&scratch, pool, &p, portable, 0);
                g_assert_true(same_bits(p.out, all, 6));
                p.tokens = tokens - 1, p.x += stride, p.out += 6;
                multiply_with(&scratch, pool, &p, portable, 0);
                g_assert_true(same_bits(p.out, all + 6, n - 6));
                p.x -= stride, p.out -= 6;
                g_free(all);
            }
            g_free(old);
            product_release(&p);
            psc_cpu_scratch_release(&scratch);
            psc_cpu_pool_free(pool);
        }
    g_rand_free(rand);
}

/* The same floats, read with another distance from token to token, are another operand. */
static void test_memo_stride(void)
{
    GRand *rand = g_rand_new_with_seed((guint32)test_seed() + 10);
    struct product p;
    struct psc_cpu_pool *pool = NULL;
    struct psc_cpu_scratch scratch = {0};
    g_assert_cmpint(psc_cpu_pool_new(1, &pool, NULL), ==, PSC_OK);
    product_init(&p, PSC_W_Q8_0, 64, 6, 3, false, rand);
    p.tokens = 2;
    multiply_with(&scratch, pool, &p, false, 0);
    assert_exact(&p);
    p.x_stride = 128; /* tokens 0 and 2 */
    multiply_with(&scratch, pool, &p, false, 0);
    assert_exact(&p);
    product_release(&p);
    psc_cpu_scratch_release(&scratch);
    psc_cpu_pool_free(pool);
    g_rand_free(rand);
}

/* Both paths quantise to the bytes of psc_quantise_q8_0 and psc_quantise_q8_k: values, scales, sums. */
static void rows_of(const struct psc_mm_kernels *kernels, bool k, const float *x, uint64_t in, struct psc_mm_acts *a)
{
    uint64_t bytes = 0;
    g_assert_true(psc_mm_acts_layout(PSC_MM_ROWS, k, in, 1, a, &bytes));
    a->base = g_aligned_alloc0(1, bytes, 64);
    struct psc_mm_job job = {.x = x, .x_stride = in, .tokens = 1, .in = in, .acts = *a};
    kernels->quantise(&job, 0, 1);
}

static void assert_rows(const struct psc_mm_kernels *kernels, bool k, const float *x, uint64_t in)
{
    struct psc_mm_acts a;
    rows_of(kernels, k, x, in, &a);
    for (uint64_t b = 0; b < a.blocks; b++) {
        struct psc_q8_0 q;
        struct psc_q8_k qk;
        psc_quantise_q8_0(x + b * 32, &q, 32);
        if (k)
            psc_quantise_q8_k(x + b * 256, &qk, 256);
        g_assert_cmpmem(psc_mm_q(&a, 0) + b * (k ? 256 : 32), k ? 256 : 32, k ? qk.q : q.q, k ? 256 : 32);
        float d = psc_f16_to_f32(k ? qk.d : q.d);
        g_assert_true(same_bits(&psc_mm_d(&a, 0)[b], &d, 1));
        int sum = 0;
        for (int i = 0; i < 32; i++)
            sum += q.q[i];
        for (unsigned g = 0; k && g < 8; g++)
            g_assert_cmpint(psc_mm_sums(&a, 0)[b * 8 + g], ==, qk.sums[2 * g] + qk.sums[2 * g + 1]);
        if (k)
            g_assert_cmpmem(psc_mm_sums16(&a, 0) + b * 16, 32, qk.sums, 32);
        else
            g_assert_cmpint(psc_mm_sums(&a, 0)[b], ==, sum);
    }
    g_aligned_free(a.base);
}

static void test_quantised_alike(void)
{
    static const float odd[] = {0.0f, -0.0f, 1e-45f, 1e-38f, 3.6e-37f, 3.8e-37f, 1e-7f, 65504.0f, 3e38f, NAN, INFINITY};
    GRand *rand = g_rand_new_with_seed((guint32)test_seed() + 11);
    float x[1024];
    unsigned n = 0;
    for (unsigned round = 0; round < 200; round++) {
        float size = powf(10, (float)g_rand_int_range(rand, -40, 38));
        for (unsigned i = 0; i < 1024; i++) /* many ties: multiples of a half step */
            x[i] = size * (round % 2 ? uniform(rand) : (float)g_rand_int_range(rand, -254, 255) / 254.0f);
        for (unsigned i = 0; i < 8; i++)
            x[g_rand_int_range(rand, 0, 1024)] = odd[g_rand_int_range(rand, 0, G_N_ELEMENTS(odd))];
        for (int k = 0; k < 2; k++, n++) {
            assert_rows(psc_mm_portable(), k, x, 1024);
#if defined(__x86_64__)
            if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c"))
                assert_rows(psc_mm_avx2(), k, x, 1024);
#endif
        }
    }
    g_assert_cmpuint(n, ==, 400);
    g_rand_free(rand);
}

static void test_needs(void)
{
    struct psc_cpu_needs needs = {.temp = 5, .kept = 6};
    struct psc_weight w = {.name = "w", .type = PSC_W_Q8_0, .in = UINT64_MAX / 32 * 32, .out = 4};
    g_assert_false(psc_cpu_matmul_needs(&w, 4, 2, &needs));
    w.in = 1ull << 40;
    g_assert_false(psc_cpu_matmul_needs(&w, 1ull << 30, 2, &needs));
    g_assert_cmpuint(needs.temp, ==, 5);
    g_assert_cmpuint(needs.kept, ==, 6);
    w.in = 896;
    g_assert_true(psc_cpu_matmul_needs(&w, 1, 2, &needs));
    g_assert_cmpuint(needs.kept, >=, 896 + 28 * 4);
    g_assert_cmpuint(needs.kept, <, 2048);
}

static void add(const char *name, void (*run)(gconstpointer data), bool quantised_only)
{
    for (unsigned k = 0; k < G_N_ELEMENTS(types); k++) {
        if (quantised_only && !psc_wtype_info(types[k])->quantised)
            continue;
        char *path = g_strdup_printf("/backends/cpu/matmul/%s/%s", psc_wtype_info(types[k])->name, name);
        g_test_add_data_func(path, &types[k], run);
        g_free(path);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_message("seed %llu", (unsigned long long)test_seed());
    add("is-the-sum-of-decoded-weights-and-activations", test_exact, false);
    add("has-the-same-bits-on-every-path-thread-count-and-batch", test_same_bits, false);
    add("does-not-saturate", test_extremes, true);
    add("takes-any-bytes-as-blocks", test_any_bytes, true);
    add("reads-and-writes-only-its-own-strided-values", test_strides, false);
    add("shows-a-bad-activation-in-its-token-only", test_nan, false);
    add("agrees-on-tiny-and-huge-activations", test_magnitudes, false);
    add("quantises-a-shared-operand-once-until-it-is-written", test_memo, true);
    g_test_add_func("/backends/cpu/matmul/l20-writes-tokens-apart", test_l20);
    g_test_add_func("/backends/cpu/matmul/a-kept-operand-has-its-stride", test_memo_stride);
    g_test_add_func("/backends/cpu/matmul/quantises-to-the-bytes-of-the-reference", test_quantised_alike);
    g_test_add_func("/backends/cpu/matmul/needs-are-refused-when-they-overflow", test_needs);
    return g_test_run();
}
