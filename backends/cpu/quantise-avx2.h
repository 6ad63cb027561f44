/* backends/cpu/quantise-avx2.h: activations into rows or panels, the numbers of psc_quantise_q8_0 and psc_quantise_q8_k. */
#ifndef PSC_BACKENDS_CPU_QUANTISE_AVX2_H
#define PSC_BACKENDS_CPU_QUANTISE_AVX2_H

#include "backends/cpu/matmul-kernels.h"

/* Tokens (rows) or panels [lo, hi). */
void psc_quantise_avx2(const struct psc_mm_job *job, uint64_t lo, uint64_t hi);

#endif
