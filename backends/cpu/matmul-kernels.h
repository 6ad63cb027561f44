/* backends/cpu/matmul-kernels.h: the arithmetic of a matrix product, and the two ways to compute it.
 *
 * out(o, t) = fold of the lanes + bias[o]. What a lane is, and the order in it, is fixed; who computes it is not:
 *
 *     block            0   1   2   3   4   5 ...       quantised: term(b) goes to lane b % 4, lowest b first
 *     lane             0   1   2   3   0   1 ...       out = (lane0 + lane2) + (lane1 + lane3)
 *
 *     q8_0 q4_0 q5_0   term = S p                      S: exact sum of q x, q without its offset
 *     q4_1 q5_1        term = S p + X (m dx)           X: exact sum of x       p = d dx
 *     q4_K q5_K        term = S p - M (dmin dx)        S: exact sum of sc q x  M: exact sum of mn x
 *     q6_K             term = S p                      S: exact sum of sc (q - 32) x
 *
 *     f32 f16 bf16     w x of value i goes to lane i % 8, lowest i first
 *                      out = ((l0 + l4) + (l2 + l6)) + ((l1 + l5) + (l3 + l7))
 *
 * Each product and each sum of floats is rounded by itself: no fused multiply-add anywhere. On machines that have one the
 * gain would be small (the scales are folded once for 32 or 256 values), and without it a portable C program and every
 * vector width give the same bits.
 *
 * Bounds, with |x| <= 127 (psc_quantise_* never gives -128: |x| (127 / amax) (1 + 2^-24)^2 rounds to at most 127):
 *   |S| of 32 values <= 32 * 128 * 127 = 520,192 and d dx (11 bits each) are exact in f32; S of 256 values fits int32:
 *   256 * 63 * 31 * 127 = 63,495,936 for q4_K and q5_K, 256 * 128 * 32 * 127 = 133,169,152 for q6_K.
 *   Pairs of bytes summed in 16 bits (saturating!): 2 * 128 * 127 = 32,512 for q8_0 with the magnitude of the weight as the
 *   unsigned factor; 2 * 15 * 127 * 8 = 30,480: eight pairs of a 4-bit type; 2 * 31 * 127 * 4 = 31,496: four of a 5-bit
 *   type; 2 * 63 * 127 * 2 = 32,004: two of q6_K. None saturates.
 *
 * Activations come quantised in one of these forms:
 *   rows     a token after the other, for a few tokens
 *   panels   16 tokens side by side: 4 (PSC_MM_PANEL8) or 2 (PANEL16, widened to 16 bits) consecutive values of token
 *            0, then of token 1 ...; missing tokens of the last panel are 0
 */
#ifndef PSC_BACKENDS_CPU_MATMUL_KERNELS_H
#define PSC_BACKENDS_CPU_MATMUL_KERNELS_H

#include "core/model/blocks.h"

#include <stdbool.h>
#include <stdint.h>

#define PSC_MM_LANES 4u  /* of a quantised product */
#define PSC_MM_WIDE 8u   /* of a product of floats */
#define PSC_MM_PANEL 16u /* tokens */

enum psc_mm_form { PSC_MM_FLOATS, PSC_MM_ROWS, PSC_MM_PANEL8, PSC_MM_PANEL16 };

/* Quantised activations; b counts blocks of 32 (psc_quantise_q8_0) or 256 values (psc_quantise_q8_k). */
struct psc_mm_acts {
    enum psc_mm_form form;
    bool k;            /* blocks of 256 */
    uint64_t in, blocks, tokens;
    uint64_t lot;      /* rows: bytes from token to token; panels: from panel to panel */
    /* Offsets inside a lot:
     *   rows     q int8 [in] at 0, d f32 [blocks up to a multiple of 4, 0 there], sums int16 [b], k: [b][8] of 32 values each
     *            and [b][16] of 16 values each at sums16
     *   panels   q [in / 4][16][4] int8 or [in / 2][16][2] int16, d f32 [b][16], sums int32 [b][16],
     *            k: int16 [b][4][16][2], pairs of sums of 32 values */
    uint64_t d_at, sums_at, sums16_at;
    unsigned char *base; /* 64-byte aligned */
};
/* Sets all but `base` and returns false on overflow; *ret_bytes is the memory for it. */
bool psc_mm_acts_layout(enum psc_mm_form form, bool k, uint64_t in, uint64_t tokens, struct psc_mm_acts *ret,
                        uint64_t *ret_bytes) PSC_MUST_CHECK;

struct psc_mm_job {
    enum psc_wtype type;
    const unsigned char *w;         /* row o starts at w + o * row_bytes */
    uint64_t row_bytes, in, rows, tokens;
    const float *x;                 /* the floats */
    uint64_t x_stride;
    struct psc_mm_acts acts;        /* form FLOATS: not used */
    const float *bias;              /* or NULL */
    float *out;                     /* (o, t) is written at out + t * out_stride + o * out_step */
    uint64_t out_stride, out_step;
    unsigned char *work;            /* kernels->work_bytes for each worker, 64-byte aligned; NULL when that is 0 */
};

struct psc_mm_kernels {
    /* Quantises tokens or panels [lo, hi) of job->acts from job->x. */
    void (*quantise)(const struct psc_mm_job *job, uint64_t lo, uint64_t hi);
    /* Rows [lo, hi) of the product, all tokens. */
    void (*product)(const struct psc_mm_job *job, uint64_t lo, uint64_t hi, unsigned worker);
    /* The form that suits a product best. */
    enum psc_mm_form (*form)(enum psc_wtype type, uint64_t tokens);
    uint64_t work_bytes; /* of a worker, when the form is a panel or FLOATS */
};
const struct psc_mm_kernels *psc_mm_portable(void);
const struct psc_mm_kernels *psc_mm_avx2(void); /* only where the processor has AVX2 and F16C; defined on x86 only */

/* ---- for the kernels */
static inline void psc_mm_store(const struct psc_mm_job *job, uint64_t o, uint64_t t, float sum)
{
    job->out[t * job->out_stride + o * job->out_step] = job->bias ? sum + job->bias[o] : sum;
}
static inline int8_t *psc_mm_q(const struct psc_mm_acts *a, uint64_t lot)
{
    return (int8_t *)(a->base + lot * a->lot);
}
static inline float *psc_mm_d(const struct psc_mm_acts *a, uint64_t lot)
{
    return (float *)(void *)(a->base + lot * a->lot + a->d_at);
}
static inline int16_t *psc_mm_sums(const struct psc_mm_acts *a, uint64_t lot)
{
    return (int16_t *)(void *)(a->base + lot * a->lot + a->sums_at);
}
static inline int16_t *psc_mm_sums16(const struct psc_mm_acts *a, uint64_t lot)
{
    return (int16_t *)(void *)(a->base + lot * a->lot + a->sums16_at);
}

#endif
