/* backends/cpu/vec.h: the inner loops of every op but the matrix product, once for any machine and once for AVX2.
 *
 * One source (vec.c) is compiled twice. It is written on vectors of eight floats that the compiler splits where the
 * machine has narrower ones, without contraction, and with every sum in one stated order, so both tables give the same
 * bits:
 *
 *     a sum over x[0..n)    lane k adds x[k], x[k + 8], x[k + 16] ... in that order; missing values count as 0
 *                           total = ((l0 + l4) + (l2 + l6)) + ((l1 + l5) + (l3 + l7))
 *
 * exp is our own polynomial (relative error below 2e-7, tests print it), with denormals, infinities and NaN as in
 * libm; silu and swiglu use it, so swiglu is silu then mul bit for bit.
 *
 * An output may lie exactly on an operand. n may be 0.
 */
#ifndef PSC_BACKENDS_CPU_VEC_H
#define PSC_BACKENDS_CPU_VEC_H

#include <stdbool.h>
#include <stdint.h>

struct psc_cpu_vec {
    const char *name; /* "portable", "avx2" */
    void (*add)(const float *a, const float *b, float *out, uint64_t n);
    void (*mul)(const float *a, const float *b, float *out, uint64_t n);
    void (*scale)(const float *a, float by, float *out, uint64_t n);
    void (*silu)(const float *x, float *out, uint64_t n);
    void (*swiglu)(const float *gate, const float *up, float *out, uint64_t n);

    double (*sum_squares)(const float *x, uint64_t n); /* lanes in double */
    /* x * by [* weight] [+ bias], one rounding each; weight and bias may be NULL */
    void (*norm)(const float *x, float by, const float *weight, const float *bias, float *out, uint64_t n);

    float (*largest)(const float *x, uint64_t n); /* NaN is skipped; -inf when there is nothing */
    float (*exp_minus)(const float *x, float minus, float *out, uint64_t n); /* out = exp(x - minus); returns their sum */
    void (*divide)(const float *x, float by, float *out, uint64_t n);
    /* Softmax down each of n columns; row r is at x + r * stride. normalise false: fault l21 */
    void (*softmax_columns)(const float *x, float *out, uint64_t rows, uint64_t stride, uint64_t n, bool normalise);

    /* One head. turn: the cosines of its hd / 2 pairs, then the sines. Pairs (i, i + hd / 2), or (2i, 2i + 1). */
    void (*rotate)(const float *x, const float *turn, float *out, uint64_t hd, bool interleaved);

    /* out[h * out_stride + r] = scale * dot(q + h * q_stride, row r), rows at k + r * stride */
    void (*scores)(const float *q, uint64_t q_stride, uint64_t heads, const float *k, uint64_t stride, uint64_t rows,
                   uint64_t n, float scale, float *out, uint64_t out_stride);
    /* acc[i] += p[r] * row r [i], r ascending */
    void (*weigh)(const float *p, const float *v, uint64_t stride, uint64_t rows, uint64_t n, float *acc);

    void (*from_f16)(const uint16_t *x, float *out, uint64_t n);
    void (*from_q8_0)(const void *blocks, float *out, uint64_t n); /* n: whole blocks of 32 */
};

extern const struct psc_cpu_vec psc_cpu_vec_portable;
/* The fastest table that this machine can run; the portable one when asked. */
const struct psc_cpu_vec *psc_cpu_vec_best(bool portable);
/* True when the machine has AVX2, FMA and F16C and the program was compiled for them. */
bool psc_cpu_has_avx2(void);

#endif
