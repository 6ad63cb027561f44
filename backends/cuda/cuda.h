/* backends/cuda/cuda.h: NVIDIA devices through the CUDA runtime.
 *
 *     launch a    launch b    enqueue copy of b    await copy         synchronise
 *     [stream: a, b, copy to pinned memory, mark]  waits for the mark  waits for the stream
 *
 * One non-blocking stream an instance; everything an instance does is ordered by it, writes and reads of the host too. The
 * pool's rules, staging, windows and recordings are in backends/cuda/backend.h, the kernels in kernels.h. Products of at
 * least PSC_CUDA_GEMM_TOKENS tokens go to cuBLAS when its library is found at run time (in plain f32, over decoded
 * weights), else to our own kernel, which serves all the others.
 *
 * Words that index (token ids, positions, cells, windows) are bit patterns in device memory: kernels read them there, and a
 * guard before each op that uses some looks whether they are in bounds. One that is not stops all that follows, and
 * synchronise says which node's it was; nothing is written outside.
 *
 * Where it is compiled without CUDA, or no device is there, unavailable() says so in one sentence.
 */
#ifndef PSC_BACKENDS_CUDA_CUDA_H
#define PSC_BACKENDS_CUDA_CUDA_H

#include "core/run/backend.h"

#define PSC_CUDA_TIMEOUT_MS 10000u /* when the config says 0 */
#define PSC_CUDA_GEMM_TOKENS 32u

extern const struct psc_backend_api psc_backend_cuda;

#endif
