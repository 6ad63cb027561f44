#include "core/run/probe.h"

#include "core/base/hash.h"

#ifdef __SSE2__
#include <immintrin.h>
#endif
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#if defined(__GNUC__) && defined(__x86_64__)
#define HAS_WIDE() __builtin_cpu_supports("avx2")
#endif

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "words are read as they lie");

/* ---- hash ------------------------------------------------------------------------------------ */

struct lanes {
    uint64_t l[4];
};

static inline uint64_t step(uint64_t lane, const unsigned char *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    lane = (lane ^ word) * PSC_PROBE_MULTIPLIER;
    return lane ^ lane >> 32;
}

static inline struct lanes absorb(struct lanes s, const unsigned char *block)
{
    s.l[0] = step(s.l[0], block);
    s.l[1] = step(s.l[1], block + 8);
    s.l[2] = step(s.l[2], block + 16);
    s.l[3] = step(s.l[3], block + 24);
    return s;
}

static uint64_t chunk_hash(const unsigned char *at, uint64_t n, uint64_t index)
{
    struct lanes s = {{PSC_PROBE_SEED, PSC_PROBE_SEED * 2, PSC_PROBE_SEED * 3, PSC_PROBE_SEED * 4}};
    for (; n >= 32; at += 32, n -= 32)
        s = absorb(s, at);
    if (n) {
        unsigned char last[32] = {0};
        memcpy(last, at, (size_t)n);
        s = absorb(s, last);
    }
    uint64_t h =
        ((s.l[0] * PSC_PROBE_MULTIPLIER + s.l[1]) * PSC_PROBE_MULTIPLIER + s.l[2]) * PSC_PROBE_MULTIPLIER + s.l[3];
    return psc_hash_mix(h + (index + 1) * PSC_PROBE_STEP);
}

uint64_t psc_probe_hash(const void *bytes, uint64_t n)
{
    const unsigned char *at = bytes;
    uint64_t sum = n * PSC_PROBE_MULTIPLIER;
    for (uint64_t i = 0, left = n; left; i++) {
        uint64_t part = left < PSC_PROBE_CHUNK ? left : PSC_PROBE_CHUNK;
        sum += chunk_hash(at, part, i);
        at += part;
        left -= part;
    }
    return psc_hash_mix(sum);
}

/* ---- statistics ------------------------------------------------------------------------------ */

#define BLOCK 512u /* elements; a whole number of q8_0 blocks */

typedef float v4 __attribute__((vector_size(16)));
typedef int32_t i4 __attribute__((vector_size(16)));
typedef float v4_at __attribute__((vector_size(16), aligned(4), may_alias));
typedef double d2 __attribute__((vector_size(16)));
typedef int64_t l2 __attribute__((vector_size(16)));

/* Running totals. sums: of x and of |x|, side by side so that both chains of additions share one instruction.
 *
 * Every element is a multiple of the least bit of the smallest one. As long as that bit, `least`, fits a double that is as large as
 * the sum of all |x|, no addition so far rounded, and none of this block does: then the order does not matter, and a
 * block is summed in many chains at once. When it no longer fits, the rest is taken in order. */
struct totals {
    d2 sums;
    float min, max;
    uint64_t nonfinite;
    int32_t least; /* bits of the smallest |x| that is not 0, as an integer; INT32_MAX: none yet */
    bool exact;
};

/* The lesser and the larger of each lane, b where a is a NaN. */
static inline v4 lesser(v4 a, v4 b)
{
#ifdef __SSE2__
    return (v4)_mm_min_ps((__m128)a, (__m128)b);
#else
    i4 less = a < b;
    return (v4)(((i4)a & less) | ((i4)b & ~less));
#endif
}
static inline v4 larger(v4 a, v4 b)
{
#ifdef __SSE2__
    return (v4)_mm_max_ps((__m128)a, (__m128)b);
#else
    i4 more = a > b;
    return (v4)(((i4)a & more) | ((i4)b & ~more));
#endif
}

/* ---- a block in many chains ---- */

struct block {
    double sum, abs_sum; /* right when they are exact */
    float min, max;
    int32_t least;
};

#ifdef HAS_WIDE
/* n is a multiple of 8. Where a value is no number or infinite, so is abs_sum. */
__attribute__((target("avx2"))) static void sum_block(const float *x, uint64_t n, struct block *ret)
{
    const __m256d sign = _mm256_set1_pd(-0.0);
    const __m256i magnitude = _mm256_set1_epi32(INT32_MAX), one = _mm256_set1_epi32(1);
    __m256 min = _mm256_set1_ps(INFINITY), max = _mm256_set1_ps(-INFINITY);
    __m256i least = _mm256_set1_epi32(-1); /* bits of |x| less 1, unsigned: 0 becomes the largest */
    __m256d low = _mm256_setzero_pd(), high = low, abs_low = low, abs_high = low;
    for (uint64_t i = 0; i < n; i += 8) {
        __m256 a = _mm256_loadu_ps(x + i);
        __m256d x0 = _mm256_cvtps_pd(_mm_loadu_ps(x + i)), x1 = _mm256_cvtps_pd(_mm_loadu_ps(x + i + 4));
        low = _mm256_add_pd(low, x0);
        high = _mm256_add_pd(high, x1);
        abs_low = _mm256_add_pd(abs_low, _mm256_andnot_pd(sign, x0));
        abs_high = _mm256_add_pd(abs_high, _mm256_andnot_pd(sign, x1));
        min = _mm256_min_ps(a, min);
        max = _mm256_max_ps(a, max);
        least = _mm256_min_epu32(least, _mm256_sub_epi32(_mm256_and_si256(_mm256_castps_si256(a), magnitude), one));
    }
    double sums[4], abs_sums[4];
    float mins[8], maxs[8];
    uint32_t leasts[8];
    _mm256_storeu_pd(sums, _mm256_add_pd(low, high));
    _mm256_storeu_pd(abs_sums, _mm256_add_pd(abs_low, abs_high));
    _mm256_storeu_ps(mins, min);
    _mm256_storeu_ps(maxs, max);
    _mm256_storeu_si256((__m256i *)(void *)leasts, least);
    *ret = (struct block){.min = INFINITY, .max = -INFINITY, .least = INT32_MAX};
    for (int k = 0; k < 4; k++) {
        ret->sum += sums[k];
        ret->abs_sum += abs_sums[k];
    }
    for (int k = 0; k < 8; k++) {
        ret->min = mins[k] < ret->min ? mins[k] : ret->min;
        ret->max = maxs[k] > ret->max ? maxs[k] : ret->max;
        if (leasts[k] < INT32_MAX && (int32_t)(leasts[k] + 1) < ret->least)
            ret->least = (int32_t)(leasts[k] + 1);
    }
}

/* Does a sum of `size`, made of multiples of the least bit of `least`, need no rounding? */
static bool fits(double size, int32_t least)
{
    int exponent = least >> 23 ? least >> 23 : 1; /* the least bit is 2^(exponent - 150) */
    uint64_t bits;
    memcpy(&bits, &size, sizeof bits);
    return least == INT32_MAX || (int)(bits >> 52) - 1023 - 52 <= exponent - 150;
}

/* False: nothing was taken. */
static bool take_exact(struct totals *t, const float *x, uint64_t n)
{
    struct block b;
    if (!t->exact || n % 8 || !HAS_WIDE())
        return false;
    sum_block(x, n, &b);
    int32_t least = b.least < t->least ? b.least : t->least;
    t->exact = isfinite(b.abs_sum) && fits(t->sums[1] + b.abs_sum, least);
    if (!t->exact)
        return false;
    t->sums += (d2){b.sum, b.abs_sum};
    t->min = b.min < t->min ? b.min : t->min;
    t->max = b.max > t->max ? b.max : t->max;
    t->least = least;
    return true;
}
#else
static bool take_exact(struct totals *t, const float *x, uint64_t n)
{
    (void)t, (void)x, (void)n;
    return false;
}
#endif

/* ---- a block in order ---- */

/* The sums must be taken in order, so an element costs one addition's latency; the rest of the work hides behind it. */
static void take(struct totals *t, const float *x, uint64_t n)
{
    v4 min = {t->min, t->min, t->min, t->min}, max = {t->max, t->max, t->max, t->max};
    d2 sums = t->sums;
    i4 odd = {0};
    uint64_t i = 0;
    for (; i + 4 <= n; i += 4) {
        v4 a = *(const v4_at *)(x + i), m = (v4)((i4)a & 0x7fffffff);
        d2 x01 = __builtin_convertvector(__builtin_shufflevector(a, a, 0, 1), d2), m01 = (d2)((l2)x01 & INT64_MAX);
        d2 x23 = __builtin_convertvector(__builtin_shufflevector(a, a, 2, 3), d2), m23 = (d2)((l2)x23 & INT64_MAX);
        sums += __builtin_shufflevector(x01, m01, 0, 2);
        sums += __builtin_shufflevector(x01, m01, 1, 3);
        sums += __builtin_shufflevector(x23, m23, 0, 2);
        sums += __builtin_shufflevector(x23, m23, 1, 3);
        min = lesser(a, min);
        max = larger(a, max);
        odd += ~(m <= FLT_MAX);
    }
    t->nonfinite += (uint64_t)-(odd[0] + odd[1] + odd[2] + odd[3]);
    for (int k = 0; k < 4; k++) {
        t->min = min[k] < t->min ? min[k] : t->min;
        t->max = max[k] > t->max ? max[k] : t->max;
    }
    for (; i < n; i++) {
        sums += (d2){(double)x[i], fabs((double)x[i])};
        t->min = x[i] < t->min ? x[i] : t->min;
        t->max = x[i] > t->max ? x[i] : t->max;
        t->nonfinite += !isfinite(x[i]);
    }
    t->sums = sums;
}

static int32_t word_int(const void *bytes, uint64_t i)
{
    int32_t x;
    memcpy(&x, (const unsigned char *)bytes + 4 * i, sizeof x);
    return x;
}

/* Elements [at, at + n) as floats: where they lie, or decoded into `room`. at is a multiple of BLOCK. */
static const float *floats_of(const void *bytes, enum psc_dtype dtype, uint64_t at, uint64_t n, float *room)
{
    const unsigned char *from = bytes;
    if (dtype == PSC_F16)
        psc_blocks_decode(PSC_W_F16, from + 2 * at, room, n);
    else if (dtype == PSC_BF16)
        psc_blocks_decode(PSC_W_BF16, from + 2 * at, room, n);
    else if (dtype == PSC_Q8_0)
        psc_blocks_decode(PSC_W_Q8_0, from + at / 32 * 34, room, (n + 31) / 32 * 32);
    else if ((uintptr_t)from % sizeof(float) == 0)
        return (const float *)(const void *)(from + 4 * at);
    else
        memcpy(room, from + 4 * at, (size_t)n * sizeof *room);
    return room;
}

/* Vector lanes lose the order of zeros: the first one decides. */
static float first_zero(const void *bytes, uint64_t n, enum psc_dtype dtype)
{
    float room[BLOCK];
    for (uint64_t at = 0; at < n; at += BLOCK) {
        uint64_t part = n - at < BLOCK ? n - at : BLOCK;
        const float *x = floats_of(bytes, dtype, at, part, room);
        for (uint64_t i = 0; i < part; i++)
            if (x[i] == 0)
                return x[i];
    }
    return 0;
}

static void float_stats(const void *bytes, uint64_t n, enum psc_dtype dtype, struct psc_probe_stats *ret)
{
    struct totals t = {.min = INFINITY, .max = -INFINITY, .least = INT32_MAX, .exact = true};
    float room[BLOCK];
    for (uint64_t at = 0; at < n; at += BLOCK) {
        uint64_t part = n - at < BLOCK ? n - at : BLOCK;
        const float *x = floats_of(bytes, dtype, at, part, room);
        if (!take_exact(&t, x, part))
            take(&t, x, part);
        for (uint64_t k = (at + ret->stride - 1) / ret->stride; k * ret->stride < at + part; k++)
            ret->samples[k] = x[k * ret->stride - at];
    }
    ret->min = (double)(t.min == 0 ? first_zero(bytes, n, dtype) : t.min);
    ret->max = (double)(t.max == 0 ? first_zero(bytes, n, dtype) : t.max);
    ret->mean = t.sums[0] / (double)n;
    ret->absmean = t.sums[1] / (double)n;
    ret->nonfinite = t.nonfinite;
}

static void int_stats(const void *bytes, uint64_t n, struct psc_probe_stats *ret)
{
    int32_t min = INT32_MAX, max = INT32_MIN;
    double sum = 0, abs_sum = 0;
    for (uint64_t i = 0; i < n; i++) {
        int32_t x = word_int(bytes, i);
        min = x < min ? x : min;
        max = x > max ? x : max;
        sum += x;
        abs_sum += fabs((double)x);
    }
    ret->min = min, ret->max = max;
    ret->mean = sum / (double)n;
    ret->absmean = abs_sum / (double)n;
    for (uint32_t k = 0; k < ret->sample_n; k++)
        ret->samples[k] = (float)word_int(bytes, k * ret->stride);
}

void psc_probe_stats_of(const void *bytes, uint64_t n_elements, enum psc_dtype dtype, struct psc_probe_stats *ret)
{
    *ret = (struct psc_probe_stats){.n = n_elements, .stride = 1};
    if (!n_elements)
        return;
    if (n_elements > PSC_PROBE_SAMPLES)
        ret->stride = n_elements / PSC_PROBE_SAMPLES + (n_elements % PSC_PROBE_SAMPLES != 0);
    ret->sample_n = (uint32_t)((n_elements - 1) / ret->stride + 1);
    if (dtype == PSC_I32)
        int_stats(bytes, n_elements, ret);
    else
        float_stats(bytes, n_elements, dtype, ret);
}
