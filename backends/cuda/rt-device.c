/* The runtime on a device: the CUDA runtime's own calls, and cuBLAS where its library is found when it is first needed. */
#include "backends/cuda/rt.h"

#include "core/base/mem.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define WORKSPACE (32u << 20) /* of cuBLAS, given before any window so that none is allocated inside */

/* The part of cublas_v2.h that is used, looked up by name: a program that needs the library to start would start nowhere else. */
typedef struct cublasContext *blas_handle;
struct blas {
    void *library;
    int (*create)(blas_handle *h);
    int (*destroy)(blas_handle h);
    int (*set_stream)(blas_handle h, cudaStream_t stream);
    int (*set_workspace)(blas_handle h, void *at, size_t bytes);
    int (*sgemm)(blas_handle h, int ta, int tb, int m, int n, int k, const float *alpha, const float *a, int lda, const float *b,
                 int ldb, const float *beta, float *c, int ldc);
};
struct psc_cuda_dev {
    cudaStream_t stream;
    struct blas blas;
    blas_handle handle;
    void *workspace;
    bool asked;               /* for cuBLAS */
    cudaEvent_t *idle;        /* owned; events that nobody waits for */
    size_t idle_n, idle_cap, event_n;
    cudaGraphExec_t *graphs;  /* owned; id is the index + 1, NULL: dropped */
    size_t graph_n, graph_cap;
};

static enum psc_status failed(cudaError_t error, const char *what, struct psc_error *reterr)
{
    if (error == cudaSuccess)
        return PSC_OK;
    (void)cudaGetLastError(); /* it would be reported again by the next launch */
    return psc_fail(reterr, error == cudaErrorMemoryAllocation ? PSC_ERR_NOMEM : PSC_ERR_UNAVAILABLE, "CUDA, %s: %s (%s)", what,
                    cudaGetErrorString(error), cudaGetErrorName(error));
}

/* NULL when the device can run what this program was compiled for. */
static const char *too_old(char *text, size_t size)
{
    int major = 0, minor = 0;
    if (cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0) != cudaSuccess ||
        cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0) != cudaSuccess) {
        (void)cudaGetLastError();
        return "the CUDA runtime finds no device that answers";
    }
    if (10 * major + minor >= PSC_CUDA_LEAST)
        return NULL;
    snprintf(text, size, "this machine has no CUDA device of compute capability %d.%d or later: its own has %d.%d", PSC_CUDA_LEAST / 10,
             PSC_CUDA_LEAST % 10, major, minor);
    return text;
}

static const char *unavailable(void)
{
    static char text[160];
    int n = 0;
    cudaError_t error = cudaGetDeviceCount(&n);
    if (error == cudaSuccess && n > 0)
        return too_old(text, sizeof text);
    (void)cudaGetLastError();
    if (error == cudaSuccess || error == cudaErrorNoDevice)
        return "this machine has no CUDA device";
    if (error == cudaErrorInsufficientDriver)
        return "this machine has no NVIDIA driver, or one older than this program's CUDA";
    snprintf(text, sizeof text, "the CUDA runtime finds no device: %s", cudaGetErrorString(error));
    return text;
}

static void close_dev(struct psc_cuda_dev *d)
{
    if (!d)
        return;
    for (size_t i = 0; i < d->graph_n; i++)
        if (d->graphs[i])
            cudaGraphExecDestroy(d->graphs[i]);
    for (size_t i = 0; i < d->idle_n; i++)
        cudaEventDestroy(d->idle[i]);
    if (d->handle)
        d->blas.destroy(d->handle);
    if (d->workspace)
        cudaFree(d->workspace);
    if (d->stream) /* the library stays: what it has registered at exit would be gone with it */
        cudaStreamDestroy(d->stream);
    psc_free(d->graphs);
    psc_free(d->idle);
    psc_free(d);
}

static enum psc_status open_dev(struct psc_cuda_dev **ret, struct psc_error *reterr)
{
    struct psc_cuda_dev *d = psc_alloc0(1, sizeof *d);
    if (!d)
        return psc_fail_nomem(reterr);
    enum psc_status status = failed(cudaSetDevice(0), "choosing the device", reterr);
    if (status == PSC_OK)
        status = failed(cudaStreamCreateWithFlags(&d->stream, cudaStreamNonBlocking), "making a stream", reterr);
    if (status) {
        close_dev(d);
        return status;
    }
    *ret = d;
    return PSC_OK;
}

/* ---- memory --------------------------------------------------------------------------------------- */

static enum psc_query memory(struct psc_cuda_dev *d, uint64_t *ret_free, uint64_t *ret_total)
{
    size_t left = 0, total = 0;
    (void)d;
    if (cudaMemGetInfo(&left, &total) != cudaSuccess) {
        (void)cudaGetLastError();
        return PSC_QUERY_FAILED;
    }
    *ret_free = left;
    *ret_total = total;
    return PSC_QUERY_REPORTED;
}

static psc_address alloc(struct psc_cuda_dev *d, uint64_t bytes)
{
    void *at = NULL;
    (void)d;
    if (bytes > SIZE_MAX || cudaMalloc(&at, (size_t)bytes) != cudaSuccess) {
        (void)cudaGetLastError();
        return 0;
    }
    return (psc_address)(uintptr_t)at;
}

static void release(struct psc_cuda_dev *d, psc_address at, uint64_t bytes)
{
    (void)d;
    (void)bytes;
    cudaFree((void *)(uintptr_t)at);
}

static void *pin(struct psc_cuda_dev *d, uint64_t bytes)
{
    void *at = NULL;
    (void)d;
    if (bytes > SIZE_MAX || cudaMallocHost(&at, (size_t)bytes) != cudaSuccess) {
        (void)cudaGetLastError();
        return NULL;
    }
    return at;
}

static void unpin(struct psc_cuda_dev *d, void *at)
{
    (void)d;
    cudaFreeHost(at);
}

/* ---- the stream ------------------------------------------------------------------------------------- */

static enum psc_status upload(struct psc_cuda_dev *d, psc_address to, const void *pinned, uint64_t n, struct psc_error *reterr)
{
    return failed(cudaMemcpyAsync((void *)(uintptr_t)to, pinned, (size_t)n, cudaMemcpyHostToDevice, d->stream), "a copy to the device",
                  reterr);
}

static enum psc_status download(struct psc_cuda_dev *d, void *pinned, psc_address from, uint64_t n, struct psc_error *reterr)
{
    return failed(cudaMemcpyAsync(pinned, (const void *)(uintptr_t)from, (size_t)n, cudaMemcpyDeviceToHost, d->stream),
                  "a copy from the device", reterr);
}

static enum psc_status copy(struct psc_cuda_dev *d, psc_address to, psc_address from, uint64_t n, struct psc_error *reterr)
{
    return failed(cudaMemcpyAsync((void *)(uintptr_t)to, (const void *)(uintptr_t)from, (size_t)n, cudaMemcpyDeviceToDevice, d->stream),
                  "a copy on the device", reterr);
}

static enum psc_status run(struct psc_cuda_dev *d, enum psc_cuda_kernel kernel, struct psc_cuda_shape shape, struct psc_lead lead,
                           const void *args, uint64_t args_n, struct psc_error *reterr)
{
    (void)args_n;
    return failed((cudaError_t)psc_cuda_launch_kernel(kernel, shape, lead, args, d->stream), "launching a kernel", reterr);
}

static enum psc_status peek(struct psc_cuda_dev *d, void *to, psc_address from, uint64_t n, struct psc_error *reterr)
{
    cudaStream_t other = NULL;
    (void)d;
    enum psc_status status = failed(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), "making a stream", reterr);
    if (status)
        return status;
    status = failed(cudaMemcpyAsync(to, (const void *)(uintptr_t)from, (size_t)n, cudaMemcpyDeviceToHost, other), "a copy past the queue",
                    reterr);
    if (status == PSC_OK)
        status = failed(cudaStreamSynchronize(other), "a copy past the queue", reterr);
    cudaStreamDestroy(other);
    return status;
}

/* ---- cuBLAS ------------------------------------------------------------------------------------------- */

static bool look_up(void *library, const char *name, void *ret)
{
    void *at = dlsym(library, name);
    memcpy(ret, &at, sizeof at);
    return at != NULL;
}

static void find_blas(struct psc_cuda_dev *d)
{
    struct blas *b = &d->blas;
    d->asked = true;
    b->library = dlopen("libcublas.so." PSC_CUDA_MAJOR, RTLD_NOW | RTLD_LOCAL);
    if (!b->library)
        b->library = dlopen("libcublas.so", RTLD_NOW | RTLD_LOCAL);
    if (!b->library || !look_up(b->library, "cublasCreate_v2", &b->create) || !look_up(b->library, "cublasDestroy_v2", &b->destroy) ||
        !look_up(b->library, "cublasSetStream_v2", &b->set_stream) ||
        !look_up(b->library, "cublasSetWorkspace_v2", &b->set_workspace) || !look_up(b->library, "cublasSgemm_v2", &b->sgemm))
        return;
    if (b->create(&d->handle)) {
        d->handle = NULL;
        return;
    }
    bool ready = cudaMalloc(&d->workspace, WORKSPACE) == cudaSuccess && !b->set_stream(d->handle, d->stream) &&
                 !b->set_workspace(d->handle, d->workspace, WORKSPACE);
    if (!ready) {
        (void)cudaGetLastError();
        b->destroy(d->handle);
        d->handle = NULL;
    }
}

static bool multiplies(struct psc_cuda_dev *d)
{
    if (!d->asked)
        find_blas(d); /* the warm runs before a window come here first */
    return d->handle != NULL;
}

static enum psc_status multiply(struct psc_cuda_dev *d, psc_address w, psc_address x, uint64_t x_step, psc_address out,
                                uint64_t out_step, uint64_t in, uint64_t rows, uint64_t tokens, struct psc_error *reterr)
{
    const float one = 1, none = 0;
    /* Rows that lie one behind the other are columns to cuBLAS: out (rows x tokens) = w transposed times x. */
    int error = d->blas.sgemm(d->handle, 1, 0, (int)rows, (int)tokens, (int)in, &one, (const float *)(uintptr_t)w, (int)in,
                              (const float *)(uintptr_t)x, (int)x_step, &none, (float *)(uintptr_t)out, (int)out_step);
    if (error)
        return psc_fail(reterr, PSC_ERR_RUN, "cuBLAS, a product of %" PRIu64 " x %" PRIu64 " and %" PRIu64 " tokens: status %d", rows,
                        in, tokens, error);
    return PSC_OK;
}

/* ---- marks ---------------------------------------------------------------------------------------------- */

static enum psc_status mark(struct psc_cuda_dev *d, uint64_t *ret, struct psc_error *reterr)
{
    cudaEvent_t event;
    enum psc_status status = PSC_OK;
    if (!psc_grow(&d->idle, d->event_n + 1, &d->idle_cap, sizeof *d->idle)) /* so that forget() cannot fail */
        return psc_fail_nomem(reterr);
    if (d->idle_n) {
        event = d->idle[--d->idle_n];
    } else {
        status = failed(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "making an event", reterr);
        d->event_n += status == PSC_OK;
    }
    if (status)
        return status;
    status = failed(cudaEventRecord(event, d->stream), "recording an event", reterr);
    if (status)
        d->idle[d->idle_n++] = event;
    else
        *ret = (uint64_t)(uintptr_t)event;
    return status;
}

static enum psc_status reached(struct psc_cuda_dev *d, uint64_t at, bool *ret, struct psc_error *reterr)
{
    cudaError_t error = cudaEventQuery((cudaEvent_t)(uintptr_t)at);
    (void)d;
    *ret = error == cudaSuccess;
    if (error == cudaErrorNotReady) {
        (void)cudaGetLastError();
        return PSC_OK;
    }
    return failed(error, "what was queued before", reterr);
}

static void forget(struct psc_cuda_dev *d, uint64_t at)
{
    d->idle[d->idle_n++] = (cudaEvent_t)(uintptr_t)at;
}

/* ---- recordings ----------------------------------------------------------------------------------------- */

static enum psc_status begin(struct psc_cuda_dev *d, struct psc_error *reterr)
{
    return failed(cudaStreamBeginCapture(d->stream, cudaStreamCaptureModeThreadLocal), "opening a capture window", reterr);
}

static enum psc_status end(struct psc_cuda_dev *d, uint64_t *ret, struct psc_error *reterr)
{
    cudaGraph_t graph = NULL;
    cudaGraphExec_t made = NULL;
    size_t at = 0;
    enum psc_status status = failed(cudaStreamEndCapture(d->stream, &graph), "closing a capture window", reterr);
    if (status)
        return status;
    while (at < d->graph_n && d->graphs[at])
        at++;
    if (at == d->graph_n && !psc_grow(&d->graphs, at + 1, &d->graph_cap, sizeof *d->graphs))
        status = psc_fail_nomem(reterr);
    if (status == PSC_OK)
        status = failed(cudaGraphInstantiate(&made, graph, 0), "making a graph of a window", reterr);
    cudaGraphDestroy(graph);
    if (status)
        return status;
    d->graph_n += at == d->graph_n;
    d->graphs[at] = made;
    *ret = at + 1;
    return PSC_OK;
}

static void abort_window(struct psc_cuda_dev *d)
{
    cudaGraph_t graph = NULL;
    cudaStreamEndCapture(d->stream, &graph);
    if (graph)
        cudaGraphDestroy(graph);
    (void)cudaGetLastError();
}

static enum psc_status play(struct psc_cuda_dev *d, uint64_t recording, struct psc_error *reterr)
{
    if (!recording || recording > d->graph_n || !d->graphs[recording - 1])
        return psc_fail(reterr, PSC_ERR_USAGE, "there is no recording %" PRIu64, recording);
    return failed(cudaGraphLaunch(d->graphs[recording - 1], d->stream), "launching a graph", reterr);
}

static void drop(struct psc_cuda_dev *d, uint64_t recording)
{
    cudaGraphExecDestroy(d->graphs[recording - 1]);
    d->graphs[recording - 1] = NULL;
}

const struct psc_cuda_rt psc_cuda_rt_device = {
    .is_host = false, .segment_bytes = 2u << 20, .capture_bytes = 128u << 20, .unavailable = unavailable, .open = open_dev,
    .close = close_dev, .memory = memory, .alloc = alloc, .release = release, .pin = pin, .unpin = unpin, .upload = upload,
    .download = download, .copy = copy, .run = run, .multiplies = multiplies, .multiply = multiply, .peek = peek, .mark = mark, .reached = reached,
    .forget = forget, .begin = begin, .end = end, .abort = abort_window, .play = play, .drop = drop,
};
