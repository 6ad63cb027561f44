#include "core/run/softmax.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#if defined(__clang__)
#pragma STDC FP_CONTRACT                                                                                     \
    OFF /* a fused multiplication and addition rounds once where the others round twice */
#endif

#define LOG2_E    0x1.71547652b82fep+0
#define LN2_HIGH  0x1.62e42feep-1 /* times a number of up to 21 bits: exact */
#define LN2_LOW   0x1.a39ef35793c76p-33
#define ROUND     0x1.8p52 /* added and taken off again, it leaves the nearest integer */
#define NORMAL    (-708.0) /* below this the result may be denormal */
#define UNDERFLOW (-746.0) /* below this the result is 0 */
#define BLOCK     256u
#define LANES     8u /* side by side in one step of a block */

/* A loop may run on wider vectors where the processor has them: the operations of each lane are the same, and so are
 * the bits. No fused multiply-add here: it would round differently. */
#if defined(__GNUC__) && defined(__x86_64__)
#define WIDE       __attribute__((target("avx2")))
#define HAS_WIDE() __builtin_cpu_supports("avx2")
#define INLINE     static inline __attribute__((always_inline))
#else
#define WIDE
#define HAS_WIDE() 0
#define INLINE     static inline
#endif

/* x = k ln 2 + r with |r| <= ln 2 / 2; e^x = 2^k e^r, and e^r by its series to r^13, whose rest is under 2^-57.
 * NORMAL <= x <= 0. No branch: a loop around it becomes vector code. */
INLINE double exp_normal(double x)
{
    double shifted = x * LOG2_E + ROUND;
    double k = shifted - ROUND;
    double r = (x - k * LN2_HIGH) - k * LN2_LOW;
    double r2 = r * r;
    double even = 1.0 / 479001600.0,
           odd = 1.0 / 6227020800.0; /* 1/12! and 1/13!; two chains wait less than one */
    even = even * r2 + 1.0 / 3628800.0;
    odd = odd * r2 + 1.0 / 39916800.0;
    even = even * r2 + 1.0 / 40320.0;
    odd = odd * r2 + 1.0 / 362880.0;
    even = even * r2 + 1.0 / 720.0;
    odd = odd * r2 + 1.0 / 5040.0;
    even = even * r2 + 1.0 / 24.0;
    odd = odd * r2 + 1.0 / 120.0;
    even = even * r2 + 0.5;
    odd = odd * r2 + 1.0 / 6.0;
    double near_one = 1.0 + (r + r2 * (even + r * odd));
    uint64_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits << 52) + 0x3ff0000000000000ull; /* 2^k: k stands in the low bits of `shifted` */
    double power;
    memcpy(&power, &bits, sizeof power);
    return near_one * power;
}

double psc_exp(double x)
{
    assert(x <= 0.0);
    if (x >= NORMAL)
        return exp_normal(x);
    if (x < UNDERFLOW)
        return 0.0;
    return exp_normal(x + 64.0) * 0x1.969d47321e4ccp-93; /* e^-64 */
}

/* x[i] = e^x[i], NORMAL <= x[i] <= 0 */
INLINE void exp_full(double x[BLOCK])
{
    for (uint32_t i = 0; i < BLOCK; i++)
        x[i] = exp_normal(x[i]);
}

static void exp_full_narrow(double x[BLOCK])
{
    exp_full(x);
}

WIDE static void exp_full_wide(double x[BLOCK])
{
    exp_full(x);
}

/* The same, while the block before is added up, in order: sums wait for each other, exponentials do not. */
INLINE double exp_full_adding(double x[BLOCK], const double before[BLOCK], double sum)
{
    for (uint32_t i = 0; i < BLOCK; i += LANES) {
        for (uint32_t k = 0; k < LANES; k++)
            x[i + k] = exp_normal(x[i + k]);
        for (uint32_t k = 0; k < LANES; k++)
            sum += before[i + k];
    }
    return sum;
}

static double exp_full_adding_narrow(double x[BLOCK], const double before[BLOCK], double sum)
{
    return exp_full_adding(x, before, sum);
}

WIDE static double exp_full_adding_wide(double x[BLOCK], const double before[BLOCK], double sum)
{
    return exp_full_adding(x, before, sum);
}

/* Adds e^x[i] for all i, in order. */
static double add_block(double sum, double x[BLOCK], uint32_t n)
{
    int low = n < BLOCK;
    for (uint32_t i = 0; i < n; i++)
        low |= x[i] < NORMAL;
    for (uint32_t i = 0; i < n && low; i++)
        x[i] = psc_exp(x[i]);
    if (!low)
        (HAS_WIDE() ? exp_full_wide : exp_full_narrow)(x);
    for (uint32_t i = 0; i < n; i++)
        sum += x[i];
    return sum;
}

static enum psc_status fail_first(const float *logits, uint32_t n, struct psc_error *reterr)
{
    for (uint32_t i = 0; i < n; i++)
        if (!(logits[i] <= FLT_MAX))
            return psc_fail(reterr, PSC_ERR_RUN, "logit %u of %u is %s; no token is chosen from such logits",
                            i, n, isnan(logits[i]) ? "NaN" : "+infinity");
    return psc_fail(reterr, PSC_ERR_RUN, "all %u logits are -infinity; no token can come", n);
}

enum psc_status psc_logits_highest(const float *logits, uint32_t n, float *ret, struct psc_error *reterr)
{
    assert(n > 0);
    float highest = -INFINITY;
    bool fine = true;
    for (uint32_t i = 0; i < n; i++) {
        fine &= logits[i] <= FLT_MAX;
        highest = logits[i] > highest ? logits[i] : highest;
    }
    if (!fine || highest == -INFINITY)
        return fail_first(logits, n, reterr);
    *ret = highest;
    return PSC_OK;
}

double psc_logits_weight(const float *logits, uint32_t n, float highest, double temperature)
{
    double x[BLOCK], sum = 0.0;
    for (uint32_t from = 0; from < n; from += BLOCK) {
        uint32_t m = n - from < BLOCK ? n - from : BLOCK;
        for (uint32_t i = 0; i < m; i++)
            x[i] = ((double)logits[from + i] - (double)highest) / temperature;
        sum = add_block(sum, x, m);
    }
    return sum;
}

uint32_t psc_logits_draw(const float *logits, uint32_t n, float highest, double temperature, double share)
{
    double target = share * psc_logits_weight(logits, n, highest, temperature), sum = 0.0;
    uint32_t last = 0;
    for (uint32_t i = 0; i < n; i++) {
        double weight = psc_exp(((double)logits[i] - (double)highest) / temperature);
        sum += weight;
        if (weight > 0.0)
            last = i;
        if (sum > target)
            break;
    }
    return last;
}

/* x[i] = logits[i] - highest, in f32; is any of them too low for exp_normal? */
INLINE int differences(const float *logits, float highest, double x[BLOCK])
{
    float d[BLOCK];
    int low = 0;
    for (uint32_t i = 0; i < BLOCK; i++)
        d[i] = logits[i] - highest;
    for (uint32_t i = 0; i < BLOCK; i++)
        low |= d[i] < (float)NORMAL;
    for (uint32_t i = 0; i < BLOCK; i++)
        x[i] = (double)d[i];
    return low;
}

static int differences_narrow(const float *logits, float highest, double x[BLOCK])
{
    return differences(logits, highest, x);
}

WIDE static int differences_wide(const float *logits, float highest, double x[BLOCK])
{
    return differences(logits, highest, x);
}

static double add_up(double sum, const double x[BLOCK])
{
    for (uint32_t i = 0; i < BLOCK; i++)
        sum += x[i];
    return sum;
}

static double trace_sum(const float *logits, uint32_t n, float highest)
{
    double rooms[2][BLOCK], sum = 0.0, *x = rooms[0], *before = NULL;
    uint32_t from = 0;
    for (; n - from >= BLOCK; from += BLOCK) {
        if ((HAS_WIDE() ? differences_wide : differences_narrow)(logits + from, highest, x)) {
            sum = before ? add_up(sum, before) : sum;
            before = NULL;
            sum = add_block(sum, x, BLOCK);
            continue;
        }
        if (before)
            sum = (HAS_WIDE() ? exp_full_adding_wide : exp_full_adding_narrow)(x, before, sum);
        else
            (HAS_WIDE() ? exp_full_wide : exp_full_narrow)(x);
        before = x;
        x = x == rooms[0] ? rooms[1] : rooms[0];
    }
    sum = before ? add_up(sum, before) : sum;
    for (uint32_t i = from; i < n; i++)
        x[i - from] = (double)(logits[i] - highest);
    return from < n ? add_block(sum, x, n - from) : sum;
}

#if defined(__GNUC__)
typedef float floats __attribute__((vector_size(4 * LANES)));
typedef int32_t words __attribute__((vector_size(4 * LANES))); /* comparisons give 0 or -1 */

/* The highest of a block; *ret_ok: none of it is a NaN or +infinity. */
INLINE float high_of(const float *logits, bool *ret_ok)
{
    floats high = {0};
    words ok = {0};
    high -= INFINITY;
    ok -= 1;
    for (uint32_t i = 0; i < BLOCK; i += LANES) {
        floats x;
        memcpy(&x, logits + i, sizeof x);
        words above = x > high;
        high = (floats)(((words)x & above) | ((words)high & ~above));
        ok &= x <= FLT_MAX;
    }
    *ret_ok = true;
    for (uint32_t k = 0; k < LANES; k++) {
        high[0] = high[k] > high[0] ? high[k] : high[0];
        *ret_ok = *ret_ok && ok[k];
    }
    return high[0];
}
#else
INLINE float high_of(const float *logits, bool *ret_ok)
{
    *ret_ok = false; /* look at each */
    return logits[0];
}
#endif

static float high_of_narrow(const float *logits, bool *ret_ok)
{
    return high_of(logits, ret_ok);
}

WIDE static float high_of_wide(const float *logits, bool *ret_ok)
{
    return high_of(logits, ret_ok);
}

/* Is there a logit above (or, with `equal`, at) `least` in the n at the start of a block? Whole blocks are looked at at once. */
static bool reaches(const float *logits, uint32_t n, float least, bool equal)
{
    bool ok;
    if (n < BLOCK)
        return true;
    float high = (HAS_WIDE() ? high_of_wide : high_of_narrow)(logits, &ok);
    return !ok || high > least || (equal && high == least);
}

/* The highest logit and the fifth highest (the lowest when there are fewer), in one pass: what is a NaN, or belongs among the
 * five, is rare. */
static enum psc_status find_five(const float *logits, uint32_t n, float *ret_first, float *ret_fifth,
                                 struct psc_error *reterr)
{
    float top[PSC_LOGITS_TOP_N];
    for (uint32_t k = 0; k < PSC_LOGITS_TOP_N; k++)
        top[k] = -INFINITY;
    for (uint32_t i = 0; i < n; i++) {
        if (i % BLOCK == 0 && !reaches(logits + i, n - i, top[PSC_LOGITS_TOP_N - 1], false)) {
            i += BLOCK - 1;
            continue;
        }
        if (logits[i] <= top[PSC_LOGITS_TOP_N - 1])
            continue;
        if (!(logits[i] <= FLT_MAX))
            return fail_first(logits, n, reterr);
        uint32_t k = PSC_LOGITS_TOP_N - 1;
        for (; k && top[k - 1] < logits[i]; k--)
            top[k] = top[k - 1];
        top[k] = logits[i];
    }
    if (top[0] == -INFINITY)
        return fail_first(logits, n, reterr);
    *ret_first = top[0];
    *ret_fifth = top[PSC_LOGITS_TOP_N - 1];
    return PSC_OK;
}

enum psc_status psc_logits_top(const float *logits, uint32_t n, struct psc_logit ret[PSC_LOGITS_TOP_N],
                               uint32_t *ret_n, struct psc_error *reterr)
{
    float highest = 0, cut = 0;
    assert(n > 0);
    enum psc_status status = find_five(logits, n, &highest, &cut, reterr);
    if (status != PSC_OK)
        return status;
    double sum = trace_sum(logits, n, highest);

    /* Whoever is among the first five by probability has about the fifth highest logit at least. "About": different
     * logits may have equal probabilities, by rounding or because both are 0, and then the lower id is first. */
    cut = cut - highest < -700.0f ? -INFINITY : cut - 1e-3f;
    uint32_t found = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (i % BLOCK == 0 && !reaches(logits + i, n - i, cut, true)) {
            i += BLOCK - 1;
            continue;
        }
        if (logits[i] < cut)
            continue;
        double p = psc_exp((double)(logits[i] - highest)) / sum;
        if (found == PSC_LOGITS_TOP_N && p <= ret[found - 1].p)
            continue;
        uint32_t k = found < PSC_LOGITS_TOP_N ? found++ : PSC_LOGITS_TOP_N - 1;
        for (; k && ret[k - 1].p < p; k--)
            ret[k] = ret[k - 1];
        ret[k] = (struct psc_logit){.id = i, .p = p};
    }
    for (uint32_t k = 0; k < found; k++)
        ret[k].p = (double)(float)ret[k].p;
    *ret_n = found;
    return PSC_OK;
}
