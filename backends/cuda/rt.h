/* backends/cuda/rt.h: the few calls of a device's runtime that the backend makes, once for a device and once for the host.
 *
 *     one queue      upload, download, copy, run, multiply and play take effect in the order in which they are called
 *     marks          mark() puts a mark behind what was queued; reached() asks whether the queue has come that far
 *     recordings     between begin() and end() nothing runs: what is queued is kept, and play() queues all of it again
 *
 * The host's queue (rt-host.c) does nothing until somebody waits for a mark: an upload reads the pinned bytes then, a
 * download writes them then. So bytes that are used without their wait are wrong there every time, which on a device they
 * are only sometimes.
 *
 * Functions that return a status give a sentence; what is pinned is host memory that both sides can reach.
 */
#ifndef PSC_BACKENDS_CUDA_RT_H
#define PSC_BACKENDS_CUDA_RT_H

#include "backends/cuda/kernels.h"
#include "core/run/backend.h"

#define PSC_CUDA_ARGS_MAX 256u /* bytes of a kernel's arguments */

struct psc_cuda_dev;
struct psc_cuda_rt {
    bool is_host;
    uint64_t segment_bytes; /* of the staging ring */
    uint64_t capture_bytes; /* ceiling of what probes may keep in pinned memory at once */
    const char *(*unavailable)(void);
    enum psc_status (*open)(struct psc_cuda_dev **ret, struct psc_error *reterr);
    void (*close)(struct psc_cuda_dev *d); /* waits for nothing that hangs; frees what it owns itself */
    enum psc_query (*memory)(struct psc_cuda_dev *d, uint64_t *ret_free, uint64_t *ret_total);
    psc_address (*alloc)(struct psc_cuda_dev *d, uint64_t bytes); /* 0 when there is none; aligned to 256 */
    void (*release)(struct psc_cuda_dev *d, psc_address at, uint64_t bytes);
    void *(*pin)(struct psc_cuda_dev *d, uint64_t bytes);         /* NULL when there is none */
    void (*unpin)(struct psc_cuda_dev *d, void *at);

    enum psc_status (*upload)(struct psc_cuda_dev *d, psc_address to, const void *pinned, uint64_t n, struct psc_error *reterr);
    enum psc_status (*download)(struct psc_cuda_dev *d, void *pinned, psc_address from, uint64_t n, struct psc_error *reterr);
    enum psc_status (*copy)(struct psc_cuda_dev *d, psc_address to, psc_address from, uint64_t n, struct psc_error *reterr);
    enum psc_status (*run)(struct psc_cuda_dev *d, enum psc_cuda_kernel kernel, struct psc_cuda_shape shape,
                           struct psc_lead lead, const void *args, uint64_t args_n, struct psc_error *reterr);
    /* A library multiplies here; asked before the first window, for it may have to be found and made ready. */
    bool (*multiplies)(struct psc_cuda_dev *d);
    /* out[t][o] = sum of w[o][i] x[t][i], all floats, strides in floats; each at most INT32_MAX; w and x aligned to 256. */
    enum psc_status (*multiply)(struct psc_cuda_dev *d, psc_address w, psc_address x, uint64_t x_step, psc_address out,
                                uint64_t out_step, uint64_t in, uint64_t rows, uint64_t tokens, struct psc_error *reterr);
    /* As the bytes are now, past the queue (fault l6, l31). */
    enum psc_status (*peek)(struct psc_cuda_dev *d, void *to, psc_address from, uint64_t n, struct psc_error *reterr);

    /* *ret 0 .. : a mark, released by forget(). */
    enum psc_status (*mark)(struct psc_cuda_dev *d, uint64_t *ret, struct psc_error *reterr);
    enum psc_status (*reached)(struct psc_cuda_dev *d, uint64_t mark, bool *ret, struct psc_error *reterr);
    void (*forget)(struct psc_cuda_dev *d, uint64_t mark);

    enum psc_status (*begin)(struct psc_cuda_dev *d, struct psc_error *reterr);
    enum psc_status (*end)(struct psc_cuda_dev *d, uint64_t *ret, struct psc_error *reterr);
    void (*abort)(struct psc_cuda_dev *d);
    enum psc_status (*play)(struct psc_cuda_dev *d, uint64_t recording, struct psc_error *reterr);
    void (*drop)(struct psc_cuda_dev *d, uint64_t recording);
};
extern const struct psc_cuda_rt psc_cuda_rt_host;
extern const struct psc_cuda_rt psc_cuda_rt_device; /* only where the backend is compiled for devices */

/* kernels-host.c: all blocks of a launch, here and now. False when a block can never end: one of its threads has left
 * before a barrier at which the others wait (fault l25). shared: room for PSC_CUDA_SHARED_MAX bytes. backwards: blocks and
 * threads from the last to the first. */
#define PSC_CUDA_SHARED_MAX 49152u /* what a block has on every device without asking for more */
bool psc_cuda_run_on_host(enum psc_cuda_kernel kernel, struct psc_cuda_shape shape, struct psc_lead lead, const void *args,
                          void *shared, bool backwards);
/* kernels.cu: queues a launch on a stream (cudaStream_t); returns a cudaError_t. */
#ifdef __cplusplus
extern "C"
#endif
int psc_cuda_launch_kernel(enum psc_cuda_kernel kernel, struct psc_cuda_shape shape, struct psc_lead lead, const void *args,
                           void *stream);

/* skips_barrier of psc_lead */
enum { PSC_CUDA_RACES = 1 /* l24 */, PSC_CUDA_LEAVES = 2 /* l25: threads from PSC_CUDA_LEAVES_FROM on */ };
#define PSC_CUDA_LEAVES_FROM 32u

#endif
