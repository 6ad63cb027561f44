/* backends/cpu/cpu.h: the backend that runs on the host, at once.
 *
 * Every op of the vocabulary, decomposed and fused. A launch computes before it returns; submit and synchronise have
 * nothing to wait for. A staged copy is a memcpy when it is enqueued (a write, when the other side is no host), and its
 * wait is only counted.
 *
 * Numbers are the same bits at any number of threads, and with and without AVX2 for all but matmul with F32, F16 and BF16
 * weights (backends/cpu/matmul.h says what it promises).
 */
#ifndef PSC_BACKENDS_CPU_CPU_H
#define PSC_BACKENDS_CPU_CPU_H

#include "core/run/backend.h"

extern const struct psc_backend_api psc_backend_cpu;

#endif
