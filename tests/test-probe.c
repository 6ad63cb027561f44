#include "core/run/probe.h"

#include "core/base/hash.h"
#include "tests/util.h"

#include <math.h>
#include <string.h>

static uint64_t seed;

/* ---- hash: the page of probe.h, byte by byte ------------------------------------------------- */

static uint64_t naive_hash(const unsigned char *bytes, uint64_t n)
{
    uint64_t sum = n * PSC_PROBE_MULTIPLIER;
    for (uint64_t chunk = 0; chunk * 1024 < n; chunk++) {
        uint64_t lane[4] = {PSC_PROBE_SEED * 1, PSC_PROBE_SEED * 2, PSC_PROBE_SEED * 3, PSC_PROBE_SEED * 4};
        uint64_t end = chunk * 1024 + 1024 < n ? chunk * 1024 + 1024 : n;
        for (uint64_t at = chunk * 1024; at < end; at += 8) {
            uint64_t word = 0;
            for (uint64_t i = 0; i < 8 && at + i < end; i++)
                word |= (uint64_t)bytes[at + i] << 8 * i;
            uint64_t *l = &lane[at / 8 % 4];
            *l = (*l ^ word) * PSC_PROBE_MULTIPLIER;
            *l ^= *l >> 32;
        }
        for (uint64_t words = (end - chunk * 1024 + 7) / 8; words % 4; words++) { /* zero words up to a whole block */
            uint64_t *l = &lane[words % 4];
            *l *= PSC_PROBE_MULTIPLIER;
            *l ^= *l >> 32;
        }
        uint64_t h = lane[0];
        for (int k = 1; k < 4; k++)
            h = h * PSC_PROBE_MULTIPLIER + lane[k];
        sum += psc_hash_mix(h + (chunk + 1) * PSC_PROBE_STEP);
    }
    return psc_hash_mix(sum);
}

static void test_hash(void)
{
    static unsigned char bytes[6000];
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)psc_random_next(&seed);
    for (uint64_t n = 0; n < 5900; n = n < 140 ? n + 1 : n + 61)
        for (uint64_t at = 0; at < 9; at += 4) /* wherever it lies */
            g_assert_cmphex(psc_probe_hash(bytes + at, n), ==, naive_hash(bytes + at, n));
}

/* Each bit, each place and the length count. */
static void test_hash_differs(void)
{
    unsigned char bytes[2100] = {0};
    g_autoptr(GHashTable) seen = g_hash_table_new(g_int64_hash, g_int64_equal);
    static uint64_t hashes[2100 * 3];
    unsigned n = 0;
    for (unsigned i = 0; i < sizeof bytes; i++) {
        bytes[i] = 1;
        hashes[n++] = psc_probe_hash(bytes, sizeof bytes);
        bytes[i] = 128;
        hashes[n++] = psc_probe_hash(bytes, sizeof bytes);
        bytes[i] = 0;
        hashes[n++] = psc_probe_hash(bytes, i);
    }
    for (unsigned i = 0; i < n; i++)
        g_assert_true(g_hash_table_add(seen, &hashes[i]));
    /* chunks that change places */
    memset(bytes, 1, 1024);
    uint64_t first = psc_probe_hash(bytes, 2048);
    memset(bytes, 0, 1024);
    memset(bytes + 1024, 1, 1024);
    g_assert_cmphex(psc_probe_hash(bytes, 2048), !=, first);
}

/* ---- statistics ------------------------------------------------------------------------------ */

static void naive_stats(const double *x, uint64_t n, struct psc_probe_stats *ret)
{
    double sum = 0, abs_sum = 0, min = INFINITY, max = -INFINITY;
    *ret = (struct psc_probe_stats){.n = n, .stride = n <= 64 ? 1 : (n + 63) / 64};
    for (uint64_t i = 0; i < n; i++) {
        sum += x[i];
        abs_sum += fabs(x[i]);
        if (x[i] < min)
            min = x[i];
        if (x[i] > max)
            max = x[i];
        ret->nonfinite += !isfinite(x[i]);
        if (i % ret->stride == 0)
            ret->samples[ret->sample_n++] = (float)x[i];
    }
    if (n)
        ret->min = min, ret->max = max, ret->mean = sum / (double)n, ret->absmean = abs_sum / (double)n;
}

static void same_double(double got, double want, const char *what, uint64_t n)
{
    if (memcmp(&got, &want, sizeof got) != 0 && !(isnan(got) && isnan(want)))
        g_error("%s of %" G_GUINT64_FORMAT " elements is %a, expected %a", what, n, got, want);
}

static void check_stats(const void *bytes, const double *x, uint64_t n, enum psc_dtype dtype)
{
    struct psc_probe_stats got, want;
    memset(&got, 0xff, sizeof got);
    psc_probe_stats_of(bytes, n, dtype, &got);
    naive_stats(x, n, &want);
    same_double(got.min, want.min, "min", n);
    same_double(got.max, want.max, "max", n);
    same_double(got.mean, want.mean, "mean", n);
    same_double(got.absmean, want.absmean, "absmean", n);
    g_assert_cmpuint(got.n, ==, n);
    g_assert_cmpuint(got.stride, ==, want.stride);
    g_assert_cmpuint(got.nonfinite, ==, want.nonfinite);
    g_assert_cmpuint(got.sample_n, ==, want.sample_n);
    for (uint32_t k = 0; k < got.sample_n; k++)
        same_double((double)got.samples[k], (double)want.samples[k], "a sample", n);
}

static const uint64_t sizes[] = {0, 1, 2, 3, 63, 64, 65, 100, 128, 511, 512, 513, 896, 1153, 4864, 151936};
#define MOST 151936u

static void test_float_stats(void)
{
    static float x[MOST + 1];
    static double wide[MOST];
    static const float odd[] = {NAN, INFINITY, -INFINITY, -0.0f, 0, 3e38f, 1e-42f};
    for (int special = 0; special < 3; special++)
        for (unsigned s = 0; s < G_N_ELEMENTS(sizes); s++) {
            for (uint64_t i = 0; i < sizes[s]; i++) {
                uint64_t r = psc_random_next(&seed);
                x[i + 1] = special && (special > 1 || r % 97 == 0) ? odd[r / 97 % G_N_ELEMENTS(odd)]
                                                                   : (float)(int64_t)r * 1e-18f;
                wide[i] = (double)x[i + 1];
            }
            check_stats(x + 1, wide, sizes[s], PSC_F32);
            unsigned char *crooked = g_malloc(4 * MOST + 8); /* at an odd address */
            memcpy(crooked + 1, x + 1, 4 * sizes[s]);
            check_stats(crooked + 1, wide, sizes[s], PSC_F32);
            g_free(crooked);
        }
}

/* Values on both sides of where sums begin to round: spread over many magnitudes, with zeros, and one small value that comes
 * late. */
static void test_sums_that_round(void)
{
    static float x[MOST];
    static double wide[MOST];
    for (int spread = 0; spread < 60; spread += 3)
        for (unsigned s = 0; s < G_N_ELEMENTS(sizes); s++) {
            for (uint64_t i = 0; i < sizes[s]; i++) {
                uint64_t r = psc_random_next(&seed);
                int exponent = spread ? (int)(r >> 32) % spread : 0;
                x[i] = r % 17 == 0 ? 0 : ldexpf((float)(int32_t)r, -31 - exponent);
            }
            if (sizes[s] > 2)
                x[sizes[s] - 2] = spread % 2 ? ldexpf(1, -140) : 1e30f;
            for (uint64_t i = 0; i < sizes[s]; i++)
                wide[i] = (double)x[i];
            check_stats(x, wide, sizes[s], PSC_F32);
        }
}

/* The strides that published traces show. */
static void test_strides(void)
{
    static const struct {
        uint64_t n, stride;
    } seen[] = {{896, 14},      {1152, 18}, {1792, 28}, {4864, 76}, {9728, 152},
                {151936, 2374}, {128, 2},   {256, 4},   {64, 1},    {65, 2}};
    static float x[MOST];
    for (unsigned i = 0; i < G_N_ELEMENTS(seen); i++) {
        struct psc_probe_stats stats;
        psc_probe_stats_of(x, seen[i].n, PSC_F32, &stats);
        g_assert_cmpuint(stats.stride, ==, seen[i].stride);
        g_assert_cmpuint(stats.sample_n, ==, seen[i].n == 65 ? 33 : 64);
    }
}

/* Of zeros of both signs the first is the least and the largest. */
static void test_signs_of_zero(void)
{
    for (unsigned first = 0; first < 20; first++) {
        float x[20];
        struct psc_probe_stats stats;
        for (unsigned i = 0; i < 20; i++)
            x[i] = i < first ? 0 : -0.0f;
        psc_probe_stats_of(x, 20, PSC_F32, &stats);
        g_assert_true(!signbit(stats.min) == (first > 0) && !signbit(stats.max) == (first > 0));
    }
}

static void test_int_stats(void)
{
    static int32_t words[MOST];
    static double wide[MOST];
    for (unsigned s = 0; s < G_N_ELEMENTS(sizes); s++) {
        for (uint64_t i = 0; i < sizes[s]; i++)
            wide[i] = words[i] = (int32_t)psc_random_next(&seed);
        if (sizes[s])
            wide[0] = words[0] = INT32_MIN;
        check_stats(words, wide, sizes[s], PSC_I32);
    }
}

static void test_other_dtypes(void)
{
    static float decoded[2048];
    static double wide[2048];
    static unsigned char bytes[4096];
    static const struct {
        enum psc_dtype dtype;
        enum psc_wtype type;
        uint64_t n;
    } cases[] = {
        {PSC_F16, PSC_W_F16, 1100}, {PSC_BF16, PSC_W_BF16, 513}, {PSC_Q8_0, PSC_W_Q8_0, 1024}, {PSC_F16, PSC_W_F16, 3}};
    for (unsigned c = 0; c < G_N_ELEMENTS(cases); c++) {
        for (uint64_t i = 0; i < cases[c].n; i++)
            decoded[i] = (float)(int64_t)psc_random_next(&seed) * 1e-17f;
        psc_blocks_encode(cases[c].type, decoded, bytes, cases[c].n);
        psc_blocks_decode(cases[c].type, bytes, decoded, cases[c].n);
        for (uint64_t i = 0; i < cases[c].n; i++)
            wide[i] = (double)decoded[i];
        check_stats(bytes, wide, cases[c].n, cases[c].dtype);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    seed = test_seed();
    g_test_add_func("/probe/hash/is-the-one-of-the-header", test_hash);
    g_test_add_func("/probe/hash/every-bit-place-and-length-counts", test_hash_differs);
    g_test_add_func("/probe/stats/of-floats-are-sequential", test_float_stats);
    g_test_add_func("/probe/stats/of-sums-that-round-are-sequential", test_sums_that_round);
    g_test_add_func("/probe/stats/strides-are-those-of-published-traces", test_strides);
    g_test_add_func("/probe/stats/the-first-zero-gives-its-sign", test_signs_of_zero);
    g_test_add_func("/probe/stats/of-words-are-of-integers", test_int_stats);
    g_test_add_func("/probe/stats/of-stored-types-are-of-what-they-decode-to", test_other_dtypes);
    return g_test_run();
}
