/* Weight types, blocks, half precision, activations. tests/golden/blocks.bin was made by the gguf package and numpy
 * (tests/golden/make-blocks.py); the rest is compared with the formulas of core/model/blocks.h written out again. */
#include "core/base/hash.h"
#include "core/model/weight.h"
#include "tests/steps.h"
#include "tests/util.h"

#include <math.h>
#include <string.h>

static char *golden; /* the file */
static gsize golden_n;

struct record {
    const char *name;
    uint32_t value_n, byte_n;
    const char *values, *bytes; /* not aligned */
};

/* The record of that name; *ret_n counts those before it. */
static struct record find_record(const char *name)
{
    for (gsize at = 0; at < golden_n;) {
        struct record r = {.name = golden + at};
        memcpy(&r.value_n, golden + at + 8, 4);
        memcpy(&r.byte_n, golden + at + 12, 4);
        r.values = golden + at + 16;
        r.bytes = r.values + 4 * r.value_n;
        if (!strcmp(r.name, name))
            return r;
        at += 16 + 4 * r.value_n + r.byte_n;
    }
    g_error("blocks.bin has no record %s", name);
}

static float *values_of(struct record r)
{
    return g_memdup2(r.values, 4 * (gsize)r.value_n);
}

static bool same_bits(float a, float b)
{
    return (isnan(a) && isnan(b)) || psc_f32_bits(a) == psc_f32_bits(b);
}

static void test_golden_decode(gconstpointer data)
{
    enum psc_wtype type = (enum psc_wtype)GPOINTER_TO_UINT(data);
    struct record r = find_record(psc_wtype_info(type)->name);
    uint64_t bytes = 0;
    g_assert_true(psc_wtype_bytes(type, r.value_n, &bytes));
    g_assert_cmpuint(bytes, ==, r.byte_n);
    float *expected = values_of(r), *got = g_new(float, r.value_n);
    void *blocks = g_memdup2(r.bytes, r.byte_n);
    psc_blocks_decode(type, blocks, got, r.value_n);
    unsigned finite = 0;
    for (uint32_t i = 0; i < r.value_n; i++) {
        if (!same_bits(got[i], expected[i]))
            g_error("value %u is %.9g, expected %.9g", i, (double)got[i], (double)expected[i]);
        finite += isfinite(got[i]) && got[i] != 0;
    }
    g_assert_cmpuint(finite, >, r.value_n / 3);
    g_free(expected);
    g_free(got);
    g_free(blocks);
}

static void test_golden_rounding(void)
{
    struct record half = find_record("to-f16"), top = find_record("to-bf16");
    float *values = values_of(half);
    g_assert_cmpuint(half.value_n, >, 200);
    g_assert_cmpuint(half.value_n, ==, top.value_n);
    for (uint32_t i = 0; i < half.value_n; i++) {
        uint16_t expected;
        memcpy(&expected, half.bytes + 2 * i, 2);
        g_assert_cmphex(psc_f32_to_f16(values[i]), ==, expected);
        memcpy(&expected, top.bytes + 2 * i, 2);
        g_assert_cmphex(psc_f32_to_bf16(values[i]), ==, expected);
    }
    g_free(values);
}

static void test_golden_activations(gconstpointer data)
{
    const char *name = data;
    struct record r = find_record(name);
    float *values = values_of(r);
    unsigned char *got = g_malloc0(r.byte_n);
    memset(got, 0xaa, r.byte_n);
    if (!strcmp(name, "act-32")) {
        g_assert_cmpuint(r.byte_n, ==, r.value_n / 32 * sizeof(struct psc_q8_0));
        psc_quantise_q8_0(values, got, r.value_n);
    } else {
        g_assert_cmpuint(r.byte_n, ==, r.value_n / 256 * sizeof(struct psc_q8_k));
        psc_quantise_q8_k(values, got, r.value_n);
    }
    g_assert_cmpmem(got, r.byte_n, r.bytes, r.byte_n);
    g_free(values);
    g_free(got);
}

/* ---- types ---- */

static void test_types(void)
{
    static const struct {
        const char *name;
        enum psc_wtype type;
        uint32_t id, block, bytes;
        enum psc_act act;
    } rows[] = {
        {"f32", PSC_W_F32, 0, 1, 4, PSC_ACT_F32},         {"f16", PSC_W_F16, 1, 1, 2, PSC_ACT_F32},
        {"bf16", PSC_W_BF16, 30, 1, 2, PSC_ACT_F32},      {"q8_0", PSC_W_Q8_0, 8, 32, 34, PSC_ACT_Q8_0},
        {"q4_0", PSC_W_Q4_0, 2, 32, 18, PSC_ACT_Q8_0},    {"q4_1", PSC_W_Q4_1, 3, 32, 20, PSC_ACT_Q8_0},
        {"q5_0", PSC_W_Q5_0, 6, 32, 22, PSC_ACT_Q8_0},    {"q5_1", PSC_W_Q5_1, 7, 32, 24, PSC_ACT_Q8_0},
        {"q4_K", PSC_W_Q4_K, 12, 256, 144, PSC_ACT_Q8_K}, {"q5_K", PSC_W_Q5_K, 13, 256, 176, PSC_ACT_Q8_K},
        {"q6_K", PSC_W_Q6_K, 14, 256, 210, PSC_ACT_Q8_K},
    };
    g_assert_cmpuint(G_N_ELEMENTS(rows), ==, PSC_W_OTHER);
    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        const struct psc_wtype_info *info = psc_wtype_info(rows[i].type);
        g_assert_cmpstr(info->name, ==, rows[i].name);
        g_assert_cmpuint(info->gguf_id, ==, rows[i].id);
        g_assert_cmpuint(info->block, ==, rows[i].block);
        g_assert_cmpuint(info->bytes, ==, rows[i].bytes);
        g_assert_cmpint(info->quantised, ==, rows[i].block > 1);
        g_assert_cmpint(info->act, ==, rows[i].act);
        g_assert_cmpint(psc_wtype_from_name(rows[i].name), ==, rows[i].type);
        g_assert_cmpint(psc_wtype_from_gguf(rows[i].id), ==, rows[i].type);
    }
    g_assert_cmpint(psc_wtype_from_name("Q4_k"), ==, PSC_W_Q4_K);
    static const char *const unknown[] = {"", "q4", "q4_0x", "raw", "i32", "q2_K", "f3"};
    for (unsigned i = 0; i < G_N_ELEMENTS(unknown); i++)
        g_assert_cmpint(psc_wtype_from_name(unknown[i]), ==, PSC_W_OTHER);
    g_assert_cmpint(psc_wtype_from_name(NULL), ==, PSC_W_OTHER);
    g_assert_cmpint(psc_wtype_from_gguf(10), ==, PSC_W_OTHER);
    g_assert_cmpint(psc_wtype_from_gguf(UINT32_MAX), ==, PSC_W_OTHER);
    g_assert_cmpstr(psc_wtype_info(PSC_W_OTHER)->name, ==, "raw");
    g_assert_cmpstr(psc_wtype_info((enum psc_wtype)99)->name, ==, "raw");
}

static void test_sizes(void)
{
    uint64_t bytes = 7;
    g_assert_true(psc_wtype_bytes(PSC_W_Q6_K, 4864 * 896, &bytes));
    g_assert_cmpuint(bytes, ==, UINT64_C(19) * 896 * 210);
    g_assert_true(psc_wtype_bytes(PSC_W_F32, UINT64_MAX / 4, &bytes));
    g_assert_cmpuint(bytes, ==, UINT64_MAX / 4 * 4);
    g_assert_true(psc_wtype_bytes(PSC_W_Q4_0, 0, &bytes));
    g_assert_cmpuint(bytes, ==, 0);
    bytes = 7;
    g_assert_false(psc_wtype_bytes(PSC_W_F32, UINT64_MAX / 4 + 1, &bytes));
    g_assert_false(psc_wtype_bytes(PSC_W_Q8_0, UINT64_MAX / 32 * 32, &bytes));
    g_assert_false(psc_wtype_bytes(PSC_W_Q8_0, 33, &bytes));
    g_assert_false(psc_wtype_bytes(PSC_W_Q4_K, 896, &bytes));
    g_assert_false(psc_wtype_bytes(PSC_W_OTHER, 32, &bytes));
    g_assert_cmpuint(bytes, ==, 7);
}

/* ---- half precision, all of it ---- */

static void test_every_half(void)
{
    unsigned nans = 0;
    for (uint32_t h = 0; h < 0x10000; h++) {
        int exponent = (int)(h >> 10 & 31), fraction = (int)(h & 0x3ff);
        double expected = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
        float got = psc_f16_to_f32((uint16_t)h);
        if (exponent == 31 && fraction) {
            nans++;
            g_assert_true(isnan(got));
            g_assert_true(psc_f32_bits(got) & 0x00400000); /* quiet */
            g_assert_cmphex(psc_f32_to_f16(got), ==, h | 0x200);
            continue;
        }
        if (exponent == 31)
            expected = INFINITY;
        g_assert_true((double)got == (h & 0x8000 ? -expected : expected));
        g_assert_cmpint(signbit(got) != 0, ==, h >> 15);
        g_assert_cmphex(psc_f32_to_f16(got), ==, h);
    }
    g_assert_cmpuint(nans, ==, 2 * 1023);
}

/* Between any two neighbours: the middle goes to the even one, anything beside it to the nearer one. */
static void test_every_middle(void)
{
    for (uint32_t h = 0; h < 0x7bff; h++) {
        float a = psc_f16_to_f32((uint16_t)h), b = psc_f16_to_f32((uint16_t)(h + 1));
        float middle = a + (b - a) / 2; /* exact: one bit more than a half has */
        uint32_t even = h & 1 ? h + 1 : h;
        g_assert_cmphex(psc_f32_to_f16(middle), ==, even);
        g_assert_cmphex(psc_f32_to_f16(-middle), ==, even | 0x8000);
        g_assert_cmphex(psc_f32_to_f16(nextafterf(middle, 0)), ==, h);
        g_assert_cmphex(psc_f32_to_f16(nextafterf(middle, INFINITY)), ==, h + 1);
    }
    g_assert_cmphex(psc_f32_to_f16(65519.996f), ==, 0x7bff);
    g_assert_cmphex(psc_f32_to_f16(65520.0f), ==, 0x7c00);
    g_assert_cmphex(psc_f32_to_f16(-3e38f), ==, 0xfc00);
    g_assert_cmphex(psc_f32_to_f16(1e-45f), ==, 0);
}

static void test_bf16(void)
{
    for (uint32_t h = 0; h < 0x10000; h++) {
        float x = psc_bf16_to_f32((uint16_t)h);
        g_assert_cmphex(psc_f32_bits(x), ==, h << 16);
        g_assert_cmphex(psc_f32_to_bf16(x), ==, isnan(x) ? h | 0x40 : h);
    }
    g_assert_cmphex(psc_f32_to_bf16(psc_f32_of_bits(0x7f800001)), ==,
                    0x7fc0); /* a NaN does not become infinity */
    g_assert_cmphex(psc_f32_to_bf16(psc_f32_of_bits(0x7fffffff)), ==, 0x7fff);
    g_assert_cmphex(psc_f32_to_bf16(psc_f32_of_bits(0xff800001)), ==, 0xffc0);
}

/* ---- the decoders that history got wrong ---- */

/* Sixteen values in a row share a scale: value i has scale i / 16. A stride of 8 instead of 1 reads past the block. */
static void test_q6_k_scales(void)
{
    struct psc_q6_k b = {.d = 0x3c00};
    float y[256];
    memset(b.ql, 0x11, sizeof b.ql); /* all q are 33: one above zero */
    memset(b.qh, 0xaa, sizeof b.qh);
    for (int g = 0; g < 16; g++)
        b.scales[g] = (int8_t)(g % 2 ? -g - 1 : g + 1);
    psc_blocks_decode(PSC_W_Q6_K, &b, y, 256);
    for (int i = 0; i < 256; i++)
        g_assert_cmpfloat(y[i], ==, i / 16 % 2 ? -(i / 16) - 1 : i / 16 + 1);
}

/* Every value of a block where it belongs: q of value i is i % 64. */
static void test_q6_k_places(void)
{
    struct psc_q6_k b = {.d = 0x3c00};
    float y[256];
    memset(b.scales, 1, sizeof b.scales);
    for (int half = 0; half < 2; half++)
        for (int l = 0; l < 32;
             l++) { /* values l, l + 32, l + 64, l + 96 of the half are l, l + 32, l, l + 32 */
            b.ql[64 * half + l] = (uint8_t)(l % 16 | l % 16 << 4);
            b.ql[64 * half + 32 + l] = (uint8_t)(l % 16 | l % 16 << 4);
            int low = l / 16, high = 2 + l / 16;
            b.qh[32 * half + l] = (uint8_t)(low | high << 2 | low << 4 | high << 6);
        }
    psc_blocks_decode(PSC_W_Q6_K, &b, y, 256);
    for (int i = 0; i < 256; i++)
        g_assert_cmpfloat(y[i], ==, i % 64 - 32);
}

/* Scales of six bits, the upper two of the later four in the upper bits of the first eight bytes; done by hand. */
static const uint8_t k_packed[12] = {0xc1, 0x42, 0x83, 0x04, 0x45, 0x86, 0xc7, 0x08, 0x21, 0x43, 0x65, 0x87};
static const uint8_t k_scale[8] = {1, 2, 3, 4, 49, 19, 37, 7};
static const uint8_t k_min[8] = {5, 6, 7, 8, 18, 36, 54, 8};

static void test_q4_k_scales(void)
{
    struct psc_q4_k b = {.d = 0x3c00, .dmin = 0x3c00};
    float y[256];
    memcpy(b.scales, k_packed, sizeof b.scales);
    memset(b.q, 0x21, sizeof b.q); /* even groups are 1, odd ones 2 */
    psc_blocks_decode(PSC_W_Q4_K, &b, y, 256);
    for (int i = 0; i < 256; i++) {
        int g = i / 32;
        g_assert_cmpfloat(y[i], ==, k_scale[g] * (1 + g % 2) - k_min[g]);
    }
}

/* The fifth bit of value l of group g is bit g of qh[l], and it adds: nothing is negative. */
static void test_q5_k_high_bits(void)
{
    struct psc_q5_k b = {.d = 0x3c00, .dmin = 0x3c00};
    float y[256];
    memcpy(b.scales, k_packed, sizeof b.scales);
    memset(b.q, 0xf3, sizeof b.q);
    for (int l = 0; l < 32; l++)
        b.qh[l] = (uint8_t)(8 * l + 5);
    psc_blocks_decode(PSC_W_Q5_K, &b, y, 256);
    for (int i = 0; i < 256; i++) {
        int g = i / 32, l = i % 32, q = (g % 2 ? 15 : 3) + 16 * ((8 * l + 5) >> g & 1);
        g_assert_cmpfloat(y[i], ==, k_scale[g] * q - k_min[g]);
    }
}

/* Low nibbles are the first half of a block, high nibbles the second; fifth bits in order. */
static void test_32_value_places(void)
{
    struct psc_q4_0 a = {.d = 0x3c00};
    struct psc_q5_1 b = {
        .d = 0x3c00, .m = 0x4900, .qh = {0x01, 0x00, 0x00, 0x80}}; /* m 10, fifth bits of 0 and 31 */
    float y[32];
    for (int j = 0; j < 16; j++)
        a.q[j] = b.q[j] = (uint8_t)(j | (15 - j) << 4);
    psc_blocks_decode(PSC_W_Q4_0, &a, y, 32);
    for (int i = 0; i < 32; i++)
        g_assert_cmpfloat(y[i], ==, (i < 16 ? i : 31 - i) - 8);
    psc_blocks_decode(PSC_W_Q5_1, &b, y, 32);
    for (int i = 0; i < 32; i++)
        g_assert_cmpfloat(y[i], ==, 10 + (i < 16 ? i : 31 - i) + (i == 0 || i == 31 ? 16 : 0));
}

/* ---- encoding ---- */

static float *random_values(uint64_t *state, unsigned n, int kind)
{
    float *x = g_new(float, n);
    for (unsigned i = 0; i < n; i++) {
        float u = (float)(psc_random_next(state) >> 40) / (float)(1 << 24), v = u * 2 - 1; /* [-1, 1) */
        switch (kind % 7) {
        case 0: x[i] = v; break;
        case 1: x[i] = v * v * v * 1000; break;
        case 2: x[i] = u + 100; break;
        case 3: x[i] = -u * 0.02f; break;
        case 4: x[i] = i % 40 == 3 ? 50 * v : v; break;
        case 5: x[i] = v * ldexpf(1, (int)(i / 32 % 8) - 4); break;
        default: x[i] = i % 3 ? 0 : v;
        }
    }
    return x;
}

static void test_encode(gconstpointer data)
{
    enum psc_wtype type = (enum psc_wtype)GPOINTER_TO_UINT(data);
    const unsigned n = 1024;
    guint64 seed = test_seed();
    uint64_t state = seed, bytes = 0;
    g_test_message("PSC_SEED=%" G_GUINT64_FORMAT, seed);
    g_assert_true(psc_wtype_bytes(type, n, &bytes));
    for (int round = 0; round < 70; round++) {
        float *x = random_values(&state, n, round), *y = g_new(float, n);
        double *longest = g_new(double, n);
        void *blocks = g_malloc(bytes);
        psc_blocks_encode(type, x, blocks, n);
        psc_blocks_decode(type, blocks, y, n);
        step_lengths(type, x, n, longest);
        for (unsigned i = 0; i < n; i++) {
            double error = fabs((double)y[i] - (double)x[i]), step = 0;
            if (psc_wtype_info(type)->quantised) {
                step = step_stored(type, blocks, i);
                g_assert_cmpfloat(step, <=, longest[i]);
                if (type == PSC_W_Q8_0)
                    step *= 0.57; /* half a step, and the rounding of d over 127 steps */
            } else {
                step = fabs((double)x[i]) * (type == PSC_W_F32   ? 0
                                             : type == PSC_W_F16 ? 1.0 / 2048
                                                                 : 1.0 / 256) +
                       6e-8;
            }
            if (error > step)
                g_error("round %d, value %u: %.9g came back as %.9g, a step is %.9g", round, i, (double)x[i],
                        (double)y[i], step);
        }
        g_free(x);
        g_free(y);
        g_free(longest);
        g_free(blocks);
    }
}

/* Zeros, equal values, values beyond the scales, values that are none: what comes back is finite, and right where it
 * can. */
static void test_encode_odd(gconstpointer data)
{
    enum psc_wtype type = (enum psc_wtype)GPOINTER_TO_UINT(data);
    static const float odd[] = {0.0f,      -0.0f, 1.0f,   -1.0f,    1e-8f,     -1e-8f, 65504.0f,
                                -65504.0f, 1e30f, -1e30f, INFINITY, -INFINITY, NAN};
    uint64_t bytes = 0;
    float x[256], y[256];
    g_assert_true(psc_wtype_bytes(type, 256, &bytes));
    void *blocks = g_malloc(bytes);
    for (unsigned k = 0; k < G_N_ELEMENTS(odd); k++) {
        for (int i = 0; i < 256; i++)
            x[i] = odd[k];
        psc_blocks_encode(type, x, blocks, 256);
        psc_blocks_decode(type, blocks, y, 256);
        for (int i = 0; i < 256; i++) {
            g_assert_true(isfinite(y[i]));
            if (k < 8)
                g_assert_cmpfloat(fabsf(y[i] - x[i]), <=, fabsf(x[i]) / 60 + 6e-8f);
            else if (k == 12)
                g_assert_cmpfloat(y[i], ==, 0);
            else
                g_assert_cmpfloat(y[i] * (odd[k] > 0 ? 1.0f : -1.0f), >=, 65504);
        }
    }
    g_free(blocks);
}

/* Activations that are not finite are seen in the result, not hidden. */
static void test_bad_activation(void)
{
    float x[32], y[32];
    struct psc_q8_0 b;
    for (int i = 0; i < 32; i++)
        x[i] = (float)i;
    x[7] = NAN;
    psc_quantise_q8_0(x, &b, 32);
    psc_blocks_decode(PSC_W_Q8_0, &b, y, 32);
    for (int i = 0; i < 32; i++)
        g_assert_true(isnan(y[i]));
}

static void test_concatenated_rows(void)
{
    char bytes[64];
    const struct psc_weight q = {
        .name = "q", .type = PSC_W_F16, .in = 4, .out = 3, .data = bytes, .bytes = 24};
    const struct psc_weight k = {
        .name = "k", .type = PSC_W_F16, .in = 4, .out = 1, .data = bytes + 24, .bytes = 8};
    const struct psc_weight v = {.name = "v", .type = PSC_W_F16, .in = 4, .out = 2};
    const struct psc_weight qkv = {
        .name = "qkv", .type = PSC_W_F16, .in = 4, .out = 6, .bytes = 48, .parts = {&q, &k, &v}, .part_n = 3};
    g_assert_true(psc_weight_row(&q, 2) == bytes + 16);
    g_assert_true(psc_weight_row(&qkv, 0) == bytes);
    g_assert_true(psc_weight_row(&qkv, 2) == bytes + 16);
    g_assert_true(psc_weight_row(&qkv, 3) == bytes + 24);
    g_assert_null(psc_weight_row(&qkv, 5)); /* only its shape is known */
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    char *path = test_source_path("tests/golden/blocks.bin");
    g_assert_true(g_file_get_contents(path, &golden, &golden_n, NULL));
    g_free(path);
    g_test_add_func("/core/blocks/types-have-the-names-and-ids-of-the-files", test_types);
    g_test_add_func("/core/blocks/sizes-are-whole-blocks-and-fit-64-bits", test_sizes);
    g_test_add_func("/core/blocks/every-half-is-itself-again", test_every_half);
    g_test_add_func("/core/blocks/the-middle-of-two-halves-goes-to-the-even-one", test_every_middle);
    g_test_add_func("/core/blocks/every-bf16-is-itself-again", test_bf16);
    g_test_add_func("/core/blocks/rounding-is-that-of-numpy", test_golden_rounding);
    for (unsigned t = PSC_W_F16; t < PSC_W_OTHER; t++) {
        const char *name = psc_wtype_info((enum psc_wtype)t)->name;
        char *at = g_strdup_printf("/core/blocks/%s/decodes-as-the-gguf-package-does", name);
        g_test_add_data_func(at, GUINT_TO_POINTER(t), test_golden_decode);
        g_free(at);
    }
    for (unsigned t = 0; t < PSC_W_OTHER; t++) {
        const char *name = psc_wtype_info((enum psc_wtype)t)->name;
        char *at = g_strdup_printf("/core/blocks/%s/values-come-back-within-a-step", name);
        g_test_add_data_func(at, GUINT_TO_POINTER(t), test_encode);
        g_free(at);
        if (!psc_wtype_info((enum psc_wtype)t)->quantised || t == PSC_W_Q8_0)
            continue;
        at = g_strdup_printf("/core/blocks/%s/odd-values-stay-finite", name);
        g_test_add_data_func(at, GUINT_TO_POINTER(t), test_encode_odd);
        g_free(at);
    }
    g_test_add_func("/core/blocks/q4_0/nibbles-are-halves-of-a-block", test_32_value_places);
    g_test_add_func("/core/blocks/q4_k/scales-and-minima-are-unpacked", test_q4_k_scales);
    g_test_add_func("/core/blocks/q5_k/the-fifth-bit-adds", test_q5_k_high_bits);
    g_test_add_func("/core/blocks/q6_k/sixteen-values-share-a-scale", test_q6_k_scales);
    g_test_add_func("/core/blocks/q6_k/every-value-has-its-place", test_q6_k_places);
    g_test_add_data_func("/core/blocks/activations/q8_0-blocks-are-those-of-the-definition", "act-32",
                         test_golden_activations);
    g_test_add_data_func("/core/blocks/activations/q8_k-blocks-are-those-of-the-definition", "act-256",
                         test_golden_activations);
    g_test_add_func("/core/blocks/activations/what-is-not-finite-is-seen", test_bad_activation);
    g_test_add_func("/core/weight/rows-of-a-concatenated-weight-are-those-of-its-parts",
                    test_concatenated_rows);
    int result = g_test_run();
    g_free(golden);
    return result;
}
