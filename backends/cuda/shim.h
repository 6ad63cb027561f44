/* backends/cuda/shim.h: the same backend on the host, and what tests may ask of an instance of either.
 *
 * `cuda-shim` is the CUDA backend with another runtime below it (backends/cuda/rt.h): the same pool, queue, staging, windows
 * and recordings, the same kernels phase by phase, on this machine's processor. It is a test's device and says so; it is
 * never chosen by itself, and its speed means nothing.
 */
#ifndef PSC_BACKENDS_CUDA_SHIM_H
#define PSC_BACKENDS_CUDA_SHIM_H

#include "core/run/backend.h"

extern const struct psc_backend_api psc_backend_cuda_shim;

/* Of an instance of cuda or cuda-shim; all counted since it was opened. */
struct psc_cuda_figures {
    uint64_t generation;     /* allocations of the pool, reuse counted */
    uint64_t device_bytes;   /* held now */
    uint64_t recordings, replays, windows_spoilt;
    uint64_t library;        /* products that a library was asked for */
    uint64_t staged;         /* copies to another backend */
    uint64_t most_in_flight;
    uint64_t drains;         /* times results of probes were fetched */
    uint64_t fallbacks;      /* of those: because pinned memory had come to its ceiling */
    uint64_t waits;          /* times the host waited for the queue */
    uint64_t strays;         /* cuda-shim: what was asked of the runtime inside a window and is no command of the queue, or of a
                                library at addresses that are not aligned: a bug, or fault l31 */
};
void psc_cuda_figures(const struct psc_backend *b, struct psc_cuda_figures *ret);

/* cuda-shim only, for tests: while hanging, nothing queued runs and every wait runs into its bound. */
void psc_cuda_hang(struct psc_backend *b, bool hang);
struct psc_cuda_dev;
void psc_cuda_dev_hang(struct psc_cuda_dev *d, bool hang);
/* cuda-shim only, for tests: many tokens are multiplied by something that stands for a device's library. */
void psc_cuda_library(struct psc_backend *b, bool library);
void psc_cuda_dev_library(struct psc_cuda_dev *d, bool library);
/* Memory that the device has in all: config.device_bytes of a shim. Less than it holds: no more is to be had. 0: no limit. */
void psc_cuda_limit(struct psc_backend *b, uint64_t bytes);
void psc_cuda_dev_limit(struct psc_cuda_dev *d, uint64_t bytes);
uint64_t psc_cuda_dev_strays(const struct psc_cuda_dev *d);
/* Threads and blocks from the last to the first: how a shim opened with config.portable runs. */
void psc_cuda_dev_backwards(struct psc_cuda_dev *d, bool backwards);

#endif
