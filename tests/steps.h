/* tests/steps.h: how far off a weight of a type may be, and a product of it: derived from the type's step, in one table.
 *
 * A type keeps the nearest of its levels. The step, the distance of two levels, is the range of the values that share it
 * (a group) over the steps there are in that range; 256-value types keep the steps and minima of their groups in few bits,
 * rounded up, which makes a step longer by up to `coarse` of the block's. So a value is off by half a step at most, and as
 * any place between two levels is as likely as another, by step / sqrt(12) in the mean of squares: for numbers of range
 * 1 (an amax of 1/2 where levels lie around zero)
 *
 *     type        group  range from         steps  coarse   half a step   step / sqrt(12)
 *     f16, bf16   1      a power of two, 2^10 and 2^7 steps to the next   2^-11, 2^-8 of the value at most
 *     q8_0        32     -amax to amax      254             0.0020        0.0011
 *     q6_K        16     -amax to amax      62     1/127    0.0081        0.0047
 *     q5_0        32     -amax to amax      32              0.0156        0.0090   the far end has no level: clamped there
 *     q5_1        32     least to largest   31              0.0161        0.0093
 *     q5_K        32     0 or least, on     31     2/63     0.0166        0.0096
 *     q4_0        32     -amax to amax      16              0.0313        0.0180   the far end has no level: clamped there
 *     q4_1        32     least to largest   15              0.0333        0.0192
 *     q4_K        32     0 or least, on     15     2/63     0.0344        0.0199
 *
 * Activations beside them are rounded as q8_0 in groups of 32, beside K-types in groups of 256; beside f16 and bf16 not.
 *
 * A product: with weights w off by e (deviation s) and activations x off by f (deviation t), all independent,
 *
 *     sum (w + e)(x + f) - sum w x     has variance     V = sum x^2 s^2 + w^2 t^2 + s^2 t^2
 *
 * Over many products the root of the mean of error^2 / V is 1. A sum of many small errors is normal, so one product in
 * 500 million is off by more than 6 deviations. Errors of f32 are a thousand times smaller than those of bf16 and a
 * hundred times smaller than those of f16.
 *
 * Logits: what roundings of that size do to them is measured on the f32 model itself, with weights that are moved at
 * random by up to half a step (step_noise). The rounding of an activation is put into the weight that it meets: t is in
 * proportion to the length of x, so sum w^2 t^2 is what a deviation of |w| * crest / 127 / sqrt(12) in the weights makes,
 * crest being the largest of 32 (of 256) normal values over their deviation, sqrt(5.71) (sqrt(9.46)).
 */
#ifndef PSC_TESTS_STEPS_H
#define PSC_TESTS_STEPS_H

#include "core/model/blocks.h"

#define STEP_RMS 1.3  /* root of the mean of error^2 / V over a thousand products or more, that of sampling and `coarse` included */
#define STEP_MOST 6.0 /* one product's error over its deviation */

/* x: n values, whole blocks. The longest step that each may have; f32: its own last place. */
void step_lengths(enum psc_wtype type, const float *x, uint64_t n, double *ret);
/* Variance of the error of each: step^2 / 12, more where it is clamped. */
void step_variances(enum psc_wtype type, const float *x, uint64_t n, double *ret);
/* Of activations beside weights of the type. */
void step_act_variances(enum psc_wtype type, const float *x, uint64_t n, double *ret);
/* The step of value i as the encoded blocks have it. */
double step_stored(enum psc_wtype type, const void *blocks, uint64_t i);

/* How products lie beside exact ones. Sums to be made with step_product for each, then judged. */
struct step_sums {
    double squares, most; /* of error^2 / V; largest error / sqrt(V) */
    uint64_t n;
};
/* One product, beside that of the numbers that were encoded (s: their variances) and the activations before they were
 * rounded (t). */
void step_product(struct step_sums *sums, const float *w, const double *s, const float *x, const double *t, uint64_t in,
                  double got);
double step_rms(const struct step_sums *sums);
bool step_within(const struct step_sums *sums);

/* Values moved at random by what rounding to the type moves them; acts: by what the rounding of activations does, too. */
void step_noise(enum psc_wtype type, bool weights, bool acts, const float *x, uint64_t n, uint64_t *state, float *ret);

/* Dequantisations with a mistake in them. */
enum step_mutant {
    STEP_HALF,    /* half a step too high */
    STEP_MINIMUM, /* the minimum of the next group; where there is none, zero one level too high */
    STEP_SCALE,   /* K: the minimum's nibble in the scale; else the scale of the next group */
    STEP_NIBBLES, /* low and high nibbles exchanged */
    STEP_MUTANT_N
};
extern const char *const step_mutants[STEP_MUTANT_N];
/* False when the type has nothing that could be mistaken so. n: an even number of blocks. */
bool step_mutate(enum psc_wtype type, enum step_mutant mutant, const void *blocks, uint64_t n, float *ret);

#endif
