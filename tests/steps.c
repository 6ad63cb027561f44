#include "tests/steps.h"

#include "core/base/hash.h"

#include <glib.h>
#include <math.h>
#include <string.h>

enum range { OF_A_POWER, AROUND_ZERO, FROM_LEAST, FROM_ZERO };
static const struct {
    enum range range;
    unsigned group, steps; /* steps to a power of two, or in the range */
    double coarse;
    unsigned top;          /* the last level above zero, where it is nearer than the first below; else 0 */
} rows[PSC_W_OTHER] = {
    [PSC_W_F32] = {OF_A_POWER, 1, 1 << 23, 0, 0},      [PSC_W_F16] = {OF_A_POWER, 1, 1 << 10, 0, 0},
    [PSC_W_BF16] = {OF_A_POWER, 1, 1 << 7, 0, 0},      [PSC_W_Q8_0] = {AROUND_ZERO, 32, 254, 0, 0},
    [PSC_W_Q6_K] = {AROUND_ZERO, 16, 62, 1.0 / 127, 0}, [PSC_W_Q5_0] = {AROUND_ZERO, 32, 32, 0, 15},
    [PSC_W_Q5_1] = {FROM_LEAST, 32, 31, 0, 0},         [PSC_W_Q5_K] = {FROM_ZERO, 32, 31, 2.0 / 63, 0},
    [PSC_W_Q4_0] = {AROUND_ZERO, 32, 16, 0, 7},        [PSC_W_Q4_1] = {FROM_LEAST, 32, 15, 0, 0},
    [PSC_W_Q4_K] = {FROM_ZERO, 32, 15, 2.0 / 63, 0},
};
static const double crest[] = {[PSC_ACT_F32] = 0, [PSC_ACT_Q8_0] = 5.71, [PSC_ACT_Q8_K] = 9.46}; /* squared */
#define SCALE_OF_F16 1.002 /* scales and minima are f16, rounded up */

static double range_of(enum range range, const float *x, uint64_t n)
{
    double lo = range == FROM_LEAST ? (double)x[0] : 0, hi = lo;
    for (uint64_t k = 0; k < n; k++) {
        lo = fmin(lo, (double)x[k]);
        hi = fmax(hi, (double)x[k]);
    }
    return range == AROUND_ZERO ? 2 * fmax(-lo, hi) : hi - lo + (range == FROM_LEAST ? fabs(lo) / 1000 : 0);
}

static double last_place(enum psc_wtype type, float x)
{
    int least = type == PSC_W_F16 ? -14 : -126; /* no smaller steps below */
    return ldexp(1, x != 0 ? MAX(ilogb((double)x), least) : least) / rows[type].steps;
}

void step_lengths(enum psc_wtype type, const float *x, uint64_t n, double *ret)
{
    unsigned group = rows[type].group, block = psc_wtype_info(type)->block;
    double all = 0, own = 0;
    for (uint64_t i = 0; i < n; i++) {
        if (i % block == 0 && rows[type].coarse > 0)
            all = range_of(rows[type].range, x + i, block);
        if (i % group == 0)
            own = range_of(rows[type].range, x + i, group);
        ret[i] = rows[type].range == OF_A_POWER ? last_place(type, x[i])
                                                : (own + all * rows[type].coarse) / rows[type].steps * SCALE_OF_F16;
    }
}

/* The value of largest magnitude in a group has the level that the far end lacks. */
static float most_of(const float *x, uint64_t n)
{
    float most = 0;
    for (uint64_t k = 0; k < n; k++)
        most = fabsf(x[k]) > fabsf(most) ? x[k] : most;
    return most;
}

void step_variances(enum psc_wtype type, const float *x, uint64_t n, double *ret)
{
    float most = 0;
    step_lengths(type, x, n, ret);
    for (uint64_t i = 0; i < n; i++) {
        double beyond = fabs((double)x[i]) - rows[type].top * ret[i];
        if (rows[type].top && i % rows[type].group == 0)
            most = most_of(x + i, rows[type].group);
        bool clamped = rows[type].top && beyond > ret[i] / 2 && (most > 0) != (x[i] > 0);
        ret[i] = clamped ? beyond * beyond : ret[i] * ret[i] / 12;
    }
}

void step_act_variances(enum psc_wtype type, const float *x, uint64_t n, double *ret)
{
    enum psc_act act = psc_wtype_info(type)->act;
    unsigned group = act == PSC_ACT_Q8_0 ? 32 : 256;
    double step = 0;
    for (uint64_t i = 0; i < n; i++) {
        if (act != PSC_ACT_F32 && i % group == 0)
            step = range_of(AROUND_ZERO, x + i, group) / 254;
        ret[i] = step * step / 12;
    }
}

double step_stored(enum psc_wtype type, const void *blocks, uint64_t i)
{
    const struct psc_q4_k *k4 = blocks;
    const struct psc_q5_k *k5 = blocks;
    const struct psc_q6_k *k6 = blocks;
    uint8_t sc[8], mn[8];
    uint16_t d;
    float value;
    switch (type) {
    case PSC_W_F32:
    case PSC_W_F16:
    case PSC_W_BF16:
        psc_blocks_decode(type, (const char *)blocks + i * psc_wtype_info(type)->bytes, &value, 1);
        return last_place(type, value);
    case PSC_W_Q4_K:
        psc_k_scales(k4[i / 256].scales, sc, mn);
        return (double)psc_f16_to_f32(k4[i / 256].d) * sc[i % 256 / 32];
    case PSC_W_Q5_K:
        psc_k_scales(k5[i / 256].scales, sc, mn);
        return (double)psc_f16_to_f32(k5[i / 256].d) * sc[i % 256 / 32];
    case PSC_W_Q6_K: return (double)psc_f16_to_f32(k6[i / 256].d) * k6[i / 256].scales[i % 256 / 16];
    default:
        memcpy(&d, (const char *)blocks + i / 32 * psc_wtype_info(type)->bytes, 2);
        return fabs((double)psc_f16_to_f32(d));
    }
}

/* ---- products ----------------------------------------------------------------------------------------------- */

void step_product(struct step_sums *sums, const float *w, const double *s, const float *x, const double *t, uint64_t in,
                  double got)
{
    double exact = 0, variance = 0;
    for (uint64_t i = 0; i < in; i++) {
        double a = (double)w[i], b = (double)x[i];
        exact += a * b;
        variance += b * b * s[i] + a * a * t[i] + s[i] * t[i];
    }
    double off = (got - exact) * (got - exact) / variance;
    sums->squares += off;
    sums->most = fmax(sums->most, sqrt(off));
    sums->n++;
}

double step_rms(const struct step_sums *sums)
{
    return sqrt(sums->squares / (double)sums->n);
}

bool step_within(const struct step_sums *sums)
{
    return step_rms(sums) <= STEP_RMS && sums->most <= STEP_MOST;
}

/* ---- noise -------------------------------------------------------------------------------------------------- */

/* Mean 0, variance 1. */
static double even(uint64_t *state)
{
    return ((double)(psc_random_next(state) >> 11) * 0x1p-52 - 1) * sqrt(3);
}

void step_noise(enum psc_wtype type, bool weights, bool acts, const float *x, uint64_t n, uint64_t *state, float *ret)
{
    double part = acts ? sqrt(crest[psc_wtype_info(type)->act] / 12) / 127 : 0, *s = g_new(double, n);
    step_variances(type, x, n, s);
    for (uint64_t i = 0; i < n; i++)
        ret[i] = (float)((double)x[i] + (weights ? sqrt(s[i]) : 0) * even(state) + part * (double)x[i] * even(state));
    g_free(s);
}

/* ---- mistakes ----------------------------------------------------------------------------------------------- */

const char *const step_mutants[STEP_MUTANT_N] = {"half a step", "another minimum", "another scale", "nibbles exchanged"};

static bool is_k(enum psc_wtype type)
{
    return type == PSC_W_Q4_K || type == PSC_W_Q5_K;
}

static bool has_minimum(enum psc_wtype type)
{
    return type == PSC_W_Q4_1 || type == PSC_W_Q5_1;
}

static uint16_t half_at(enum psc_wtype type, const void *blocks, uint64_t block, unsigned at)
{
    uint16_t h;
    memcpy(&h, (const char *)blocks + block * psc_wtype_info(type)->bytes + at, 2);
    return h;
}

/* Minimum of the group of value i, and what its scale would be with the minimum's low nibble, over what it is. */
static double minimum(enum psc_wtype type, const void *blocks, uint64_t i)
{
    uint8_t sc[8], mn[8];
    if (has_minimum(type))
        return (double)psc_f16_to_f32(half_at(type, blocks, i / 32, 2));
    psc_k_scales((const uint8_t *)blocks + i / 256 * psc_wtype_info(type)->bytes + 4, sc, mn);
    return -(double)psc_f16_to_f32(half_at(type, blocks, i / 256, 2)) * mn[i % 256 / 32];
}

static double wrong_scale(enum psc_wtype type, const void *blocks, uint64_t i)
{
    uint8_t sc[8], mn[8];
    if (is_k(type)) {
        unsigned g = i % 256 / 32;
        psc_k_scales((const uint8_t *)blocks + i / 256 * psc_wtype_info(type)->bytes + 4, sc, mn);
        return g < 4 || !sc[g] ? 1 : (double)((sc[g] & 48) | (mn[g] & 15)) / sc[g];
    }
    uint64_t other = i ^ rows[type].group;
    double own = step_stored(type, blocks, i);
    return own > 0 ? step_stored(type, blocks, other) / own : 1;
}

static void exchange_nibbles(enum psc_wtype type, const void *blocks, uint64_t n, float *ret)
{
    static const unsigned at[PSC_W_OTHER] = {[PSC_W_Q4_0] = 2,  [PSC_W_Q4_1] = 4,  [PSC_W_Q5_0] = 6, [PSC_W_Q5_1] = 8,
                                             [PSC_W_Q4_K] = 16, [PSC_W_Q5_K] = 48, [PSC_W_Q6_K] = 0};
    const struct psc_wtype_info *info = psc_wtype_info(type);
    unsigned nibbles = info->block / 2;
    uint8_t *copy = g_memdup2(blocks, n / info->block * info->bytes);
    for (uint64_t b = 0; b < n / info->block; b++)
        for (unsigned k = 0; k < nibbles; k++) {
            uint8_t *q = copy + b * info->bytes + at[type] + k;
            *q = (uint8_t)(*q >> 4 | *q << 4);
        }
    psc_blocks_decode(type, copy, ret, n);
    g_free(copy);
}

static double mistaken(enum psc_wtype type, enum step_mutant mutant, const void *blocks, uint64_t i, double value)
{
    bool has = has_minimum(type) || is_k(type);
    double least = has ? minimum(type, blocks, i) : 0;
    switch (mutant) {
    case STEP_HALF: return value + step_stored(type, blocks, i) / 2;
    case STEP_MINIMUM: return value + (has ? minimum(type, blocks, i ^ 32) - least : step_stored(type, blocks, i));
    default: return (value - least) * wrong_scale(type, blocks, i) + least;
    }
}

bool step_mutate(enum psc_wtype type, enum step_mutant mutant, const void *blocks, uint64_t n, float *ret)
{
    bool quantised = psc_wtype_info(type)->quantised;
    if ((mutant == STEP_SCALE && !quantised) || (mutant == STEP_NIBBLES && (!quantised || type == PSC_W_Q8_0)))
        return false;
    if (mutant == STEP_NIBBLES) {
        exchange_nibbles(type, blocks, n, ret);
        return true;
    }
    psc_blocks_decode(type, blocks, ret, n);
    for (uint64_t i = 0; i < n; i++)
        ret[i] = (float)mistaken(type, mutant, blocks, i, (double)ret[i]);
    return true;
}
