/* The kernels on a device. Contraction is off (--fmad=false): sums are rounded as on the host. */
#include "backends/cuda/kernels-attn.h"
#include "backends/cuda/kernels-product.h"
#include "backends/cuda/rt.h"

#include <cuda_runtime.h>

#define PHASE(name, n) name##_##n(&a, &at, &s);
#define BARRIER __syncthreads();
/* Fault l24 leaves out the first barrier. Fault l25 leaves before it: devices of today count those who left as arrived, so
 * that nothing hangs, but what they should have written is missing. */
#define FIRST_BARRIER                                                  \
    if (lead.skips_barrier & PSC_CUDA_LEAVES && threadIdx.x >= PSC_CUDA_LEAVES_FROM) \
        return;                                                        \
    if (!(lead.skips_barrier & PSC_CUDA_RACES))                         \
        __syncthreads();
#define BEGIN(name)                                                                                              \
    static __global__ void __launch_bounds__(PSC_CUDA_THREADS) run_##name(const struct psc_k_##name a,          \
                                                                          const struct psc_lead lead)            \
    {                                                                                                            \
        __shared__ struct psc_s_##name s;                                                                        \
        struct psc_at at = {blockIdx.x, blockIdx.y, threadIdx.x, blockDim.x, 0, lead.passes, lead.stop, lead.mark}; \
        if (lead.stop && *lead.stop)                                                                             \
            return;                                                                                              \
        for (; at.pass < at.passes; at.pass++) {
#define END                                                                                                      \
        if (at.pass + 1 < at.passes)                                                                            \
            __syncthreads();                                                                                     \
        }                                                                                                        \
    }
#define DEFINE1(name) BEGIN(name) PHASE(name, 0) END
#define DEFINE2(name) BEGIN(name) PHASE(name, 0) FIRST_BARRIER PHASE(name, 1) END
#define DEFINE3(name) BEGIN(name) PHASE(name, 0) FIRST_BARRIER PHASE(name, 1) BARRIER PHASE(name, 2) END
#define DEFINE4(name) \
    BEGIN(name) PHASE(name, 0) FIRST_BARRIER PHASE(name, 1) BARRIER PHASE(name, 2) BARRIER PHASE(name, 3) END
#define DEFINE5(name)                                                                                              \
    BEGIN(name) PHASE(name, 0) FIRST_BARRIER PHASE(name, 1) BARRIER PHASE(name, 2) BARRIER PHASE(name, 3) BARRIER \
        PHASE(name, 4) END
PSC_CUDA_KERNELS(DEFINE1, DEFINE2, DEFINE3, DEFINE4, DEFINE5)

#define LAUNCH(name)                                                                                            \
    case PSC_CUDA_##name: {                                                                                     \
        struct psc_k_##name a;                                                                                  \
        void *both[2] = {&a, &lead};                                                                            \
        memcpy(&a, args, sizeof a);                                                                             \
        return (int)cudaLaunchKernel((const void *)run_##name, dim3(shape.bx, shape.by), dim3(shape.threads), both, 0, \
                                     (cudaStream_t)stream);                                                     \
    }

int psc_cuda_launch_kernel(enum psc_cuda_kernel kernel, struct psc_cuda_shape shape, struct psc_lead lead, const void *args,
                           void *stream)
{
    switch (kernel) { /* what a launch returns is its own: the last error may be another instance's */
        PSC_CUDA_KERNELS(LAUNCH, LAUNCH, LAUNCH, LAUNCH, LAUNCH)
    default:
        return (int)cudaErrorInvalidValue;
    }
}
