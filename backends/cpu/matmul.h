/* backends/cpu/matmul.h: activations times a weight matrix.
 *
 *     out[t][o] = dot(weight row o, x[t]) + bias[o]        t < tokens, o < weight->out, over weight->in values
 *
 * F32: f32 products. F16, BF16: the weight row is decoded, then the same. Quantised: each x[t] is quantised once a call
 * (or found in the memo, scratch.h), 32-value weights with psc_quantise_q8_0, 256-value ones with psc_quantise_q8_k; the
 * sums inside a block are exact integers, scales are folded once a block.
 *
 * One (row, token) is one sum in one fixed order: results are bit-identical at any number of threads, and for a token
 * alone or in a batch. `portable` asks for the path without AVX2, which gives the same bits for every type.
 *
 * Fault PSC_CALL_L20: an F32 product of several tokens is written as [o][t], tokens apart. Fault PSC_CALL_L33 is
 * not in here: it is a launch that does not tell the scratch what was written.
 */
#ifndef PSC_BACKENDS_CPU_MATMUL_H
#define PSC_BACKENDS_CPU_MATMUL_H

#include "backends/cpu/scratch.h"
#include "backends/cpu/threads.h"
#include "core/run/backend.h"

/* Scratch for one product. weight: has bytes of its own. False on overflow. */
bool psc_cpu_matmul_needs(const struct psc_weight *weight, uint64_t tokens, unsigned threads,
                          struct psc_cpu_needs *ret) PSC_MUST_CHECK;

/* w: one weight with bytes at w->at[0], no parts, of a type other than PSC_W_OTHER, `in` a whole number of blocks;
 * the caller has checked this. Strides count floats from token to token. bias: weight->out floats, or NULL. x and out do
 * not overlap. */
void psc_cpu_matmul(struct psc_cpu_pool *threads, const struct psc_bound_weight *w, const float *x, uint64_t x_stride,
                    uint64_t tokens, const float *bias, float *out, uint64_t out_stride,
                    struct psc_cpu_scratch *scratch, bool portable, unsigned faults);

#endif
