#include "backends/cuda/backend.h"

#include "backends/cuda/cuda.h"
#include "core/base/mem.h"
#include "core/base/text.h"

#include <inttypes.h>
#include <sched.h>
#include <string.h>
#include <time.h>

#define NOBODY UINT32_MAX
#define SPIN_NS 2000000 /* a wait that is longer naps between its looks */

/* CUDA as the engine under study has it: all but scale, softmax, batch_matmul and fused_qkv_norm, f32 only, and only the
 * usual rotation. launch computes every op all the same. */
static bool takes(enum psc_op op, enum psc_dtype dtype, const struct psc_params *params)
{
    switch (op) {
    case PSC_OP_OTHER:
    case PSC_OP_SCALE:
    case PSC_OP_SOFTMAX:
    case PSC_OP_BATCH_MATMUL:
    case PSC_OP_FUSED_QKV_NORM:
        return false;
    case PSC_OP_ROPE:
        return dtype == PSC_F32 && (!params || params->rope_style == PSC_ROPE_NON_INTERLEAVED);
    default:
        return (unsigned)op < PSC_OP_N && dtype == PSC_F32;
    }
}

/* ---- life ---------------------------------------------------------------------------------------- */

static void capture_abort(struct psc_backend *b);

static void close_cuda(struct psc_backend *b)
{
    if (!b)
        return;
    if (b->window)
        capture_abort(b);
    if (!b->rt->is_host && b->stop) /* nothing is given back while it may be written to, unless the device hangs */
        (void)!psc_cuda_wait_for_all(b, "the device", NULL);
    psc_cuda_stage_release(b);
    for (size_t i = 0; i < b->block_n; i++)
        b->rt->release(b->dev, b->blocks[i].at, b->blocks[i].bytes);
    psc_free(b->blocks);
    psc_free(b->weights);
    psc_free(b->calls);
    psc_free(b->parts);
    psc_map_release(&b->block_at);
    psc_map_release(&b->free_of_size);
    psc_map_release(&b->weight_of);
    psc_cpu_exec_close(&b->checks);
    if (b->stop_seen)
        b->rt->unpin(b->dev, b->stop_seen);
    b->rt->close(b->dev);
    psc_free(b);
}

static enum psc_status open_with(const struct psc_cuda_rt *rt, const struct psc_backend_config *config,
                                 struct psc_backend **ret, struct psc_error *reterr)
{
    const struct psc_backend_config checks = {.threads = 1, .portable = config->portable};
    const char *why = rt->unavailable();
    if (why)
        return psc_fail(reterr, PSC_ERR_UNAVAILABLE, "%s", why);
    struct psc_backend *b = psc_alloc0(1, sizeof *b);
    if (!b)
        return psc_fail_nomem(reterr);
    b->rt = rt;
    b->timeout_ms = config->timeout_ms ? config->timeout_ms : PSC_CUDA_TIMEOUT_MS;
    enum psc_status status = rt->open(&b->dev, reterr);
    if (status) {
        psc_free(b);
        return status;
    }
    status = psc_cpu_exec_open(&checks, &b->checks, reterr);
    if (status == PSC_OK) {
        b->stop_seen = rt->pin(b->dev, sizeof *b->stop_seen);
        status = b->stop_seen ? psc_cuda_own(b, sizeof *b->stop_seen, &b->stop, reterr) : psc_fail_nomem(reterr);
    }
    if (status == PSC_OK)
        status = psc_cuda_fill(b, b->stop, 0, sizeof *b->stop_seen, reterr);
    if (status) {
        close_cuda(b);
        return status;
    }
    *ret = b;
    return PSC_OK;
}

/* ---- memory --------------------------------------------------------------------------------------- */

enum psc_status psc_cuda_outside(struct psc_backend *b, const char *what, struct psc_error *reterr)
{
    if (!b->window)
        return PSC_OK;
    b->spoilt = true;
    return psc_fail(reterr, PSC_ERR_USAGE,
                    "%s inside a capture window: a recording holds no decision of the host, no allocation and no wait", what);
}

static enum psc_query query(struct psc_backend *b, uint64_t *ret_free, uint64_t *ret_total)
{
    if (psc_cuda_outside(b, "the device's memory is asked for", NULL))
        return PSC_QUERY_FAILED;
    return b->rt->memory(b->dev, ret_free, ret_total);
}

static enum psc_status no_room(struct psc_backend *b, uint64_t bytes, struct psc_error *reterr)
{
    char want[16], held[16], left[16], total[16];
    uint64_t free_bytes = 0, all = 0;
    psc_bytes_text(bytes, want, sizeof want);
    psc_bytes_text(b->figures.device_bytes, held, sizeof held);
    if (b->rt->memory(b->dev, &free_bytes, &all) != PSC_QUERY_REPORTED)
        return psc_fail(reterr, PSC_ERR_NOMEM, "the device has no room for a buffer of %s beside the %s that it holds already",
                        want, held);
    psc_bytes_text(free_bytes, left, sizeof left);
    psc_bytes_text(all, total, sizeof total);
    return psc_fail(reterr, PSC_ERR_NOMEM,
                    "the device has no room for a buffer of %s: it holds %s already, and %s of its %s are free", want, held,
                    left, total);
}

static enum psc_status new_block(struct psc_backend *b, uint64_t bytes, uint32_t *ret, struct psc_error *reterr)
{
    uint32_t old;
    if (b->block_n >= NOBODY || !psc_grow(&b->blocks, b->block_n + 1, &b->block_cap, sizeof *b->blocks))
        return psc_fail_nomem(reterr);
    psc_address at = b->rt->alloc(b->dev, bytes);
    if (!at)
        return no_room(b, bytes, reterr);
    if (!psc_map_put(&b->block_at, at, (uint32_t)b->block_n, &old)) {
        b->rt->release(b->dev, at, bytes);
        return psc_fail_nomem(reterr);
    }
    *ret = (uint32_t)b->block_n;
    b->blocks[b->block_n++] = (struct psc_cuda_block){.at = at, .bytes = bytes, .next = NOBODY};
    b->figures.device_bytes += bytes;
    return PSC_OK;
}

enum psc_status psc_cuda_own(struct psc_backend *b, uint64_t bytes, psc_address *ret, struct psc_error *reterr)
{
    uint32_t i = 0;
    enum psc_status status = psc_cuda_outside(b, "device memory is allocated", reterr);
    if (status == PSC_OK)
        status = new_block(b, bytes, &i, reterr);
    if (status == PSC_OK)
        *ret = b->blocks[i].at;
    return status;
}

static enum psc_status alloc(struct psc_backend *b, uint64_t bytes, psc_address *ret, struct psc_error *reterr)
{
    uint32_t i = NOBODY, old;
    enum psc_status status = psc_cuda_outside(b, "device memory is allocated", reterr);
    if (status)
        return status;
    if (!psc_map_get(&b->free_of_size, bytes, &i)) { /* room for its list, so that free() cannot fail */
        if (!psc_map_put(&b->free_of_size, bytes, NOBODY, &old))
            return psc_fail_nomem(reterr);
        i = NOBODY;
    }
    if (i != NOBODY)
        psc_map_set(&b->free_of_size, bytes, b->blocks[i].next);
    else
        status = new_block(b, bytes, &i, reterr);
    if (status)
        return status;
    b->blocks[i].free = false;
    b->figures.generation++;
    psc_cuda_wrote(b, b->blocks[i].at, bytes);
    *ret = b->blocks[i].at;
    return PSC_OK;
}

static void release(struct psc_backend *b, psc_address at)
{
    uint32_t i, first = NOBODY;
    if (!at || !psc_map_get(&b->block_at, at, &i) || b->blocks[i].free)
        return;
    psc_cuda_wrote(b, at, b->blocks[i].bytes);
    if (!psc_map_get(&b->free_of_size, b->blocks[i].bytes, &first))
        return; /* a block of the instance's own */
    b->blocks[i].next = first;
    b->blocks[i].free = true;
    psc_map_set(&b->free_of_size, b->blocks[i].bytes, i);
}

/* By the bytes that it has in the host's memory: there it lies as long as the backend is open. */
static enum psc_status load_weight(struct psc_backend *b, const struct psc_weight *weight, psc_address *ret,
                                   struct psc_error *reterr)
{
    uint32_t i, old;
    psc_address at = 0;
    uint64_t bytes = weight->bytes ? weight->bytes : 1;
    if (psc_map_get(&b->weight_of, (uint64_t)(uintptr_t)weight->data, &i)) {
        *ret = b->weights[i];
        return PSC_OK;
    }
    enum psc_status status = psc_cuda_outside(b, "a weight is loaded", reterr);
    if (status == PSC_OK && !psc_grow(&b->weights, b->weight_n + 1, &b->weight_cap, sizeof *b->weights))
        status = psc_fail_nomem(reterr);
    if (status == PSC_OK)
        status = psc_cuda_own(b, bytes, &at, reterr);
    if (status == PSC_OK)
        status = psc_cuda_write(b, at, weight->data, weight->bytes, reterr);
    if (status == PSC_OK && !psc_map_put(&b->weight_of, (uint64_t)(uintptr_t)weight->data, (uint32_t)b->weight_n, &old))
        status = psc_fail_nomem(reterr);
    if (status)
        return status;
    b->weights[b->weight_n++] = at;
    *ret = at;
    return PSC_OK;
}

/* ---- waiting ---------------------------------------------------------------------------------------- */

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

enum psc_status psc_cuda_wait(struct psc_backend *b, uint64_t mark, const char *what, struct psc_error *reterr)
{
    const struct timespec nap = {.tv_nsec = 50000};
    uint64_t begun = now_ns(), waited = 0;
    enum psc_status status = PSC_OK;
    bool there = false;
    b->figures.waits++;
    while (status == PSC_OK && !there) {
        status = b->rt->reached(b->dev, mark, &there, reterr);
        waited = now_ns() - begun;
        if (status == PSC_OK && !there && waited / 1000000 >= b->timeout_ms)
            status = psc_fail(reterr, PSC_ERR_UNAVAILABLE, "%s did not end within %" PRIu64 " ms", what, b->timeout_ms);
        if (status == PSC_OK && !there && waited > SPIN_NS)
            nanosleep(&nap, NULL);
        else if (!there)
            sched_yield();
    }
    b->rt->forget(b->dev, mark);
    return status;
}

enum psc_status psc_cuda_wait_for_all(struct psc_backend *b, const char *what, struct psc_error *reterr)
{
    uint64_t mark = 0, queued = b->queued;
    enum psc_status status = b->rt->mark(b->dev, &mark, reterr);
    if (status == PSC_OK)
        status = psc_cuda_wait(b, mark, what, reterr);
    if (status == PSC_OK)
        b->done = queued;
    return status;
}

/* Results of probes are fetched once a split. */
static enum psc_status submit(struct psc_backend *b, struct psc_error *reterr)
{
    enum psc_status status = psc_cuda_outside(b, "the queue is handed over", reterr);
    if (status || !b->look_n)
        return status;
    status = psc_cuda_wait_for_all(b, "the device", reterr);
    if (status == PSC_OK)
        psc_cuda_look(b);
    return status;
}

static enum psc_status synchronise(struct psc_backend *b, struct psc_error *reterr)
{
    enum psc_status status = psc_cuda_outside(b, "the host waits for the device", reterr);
    if (status)
        return status;
    *b->stop_seen = 0;
    if (b->guarded)
        status = b->rt->download(b->dev, b->stop_seen, b->stop, sizeof *b->stop_seen, reterr);
    if (status == PSC_OK)
        status = psc_cuda_wait_for_all(b, "the device", reterr);
    b->memo.group = 0;
    if (status) {
        psc_cuda_forget_looks(b);
        return status;
    }
    psc_cuda_look(b);
    b->guarded = false;
    if (*b->stop_seen)
        status = psc_cuda_tell_guard(b, *b->stop_seen, reterr);
    psc_cuda_forget_calls(b, 0);
    return status;
}

static bool idle(const struct psc_backend *b)
{
    return b->done == b->queued;
}

/* ---- windows ------------------------------------------------------------------------------------------ */

static enum psc_status capture_begin(struct psc_backend *b, struct psc_error *reterr)
{
    enum psc_status status = psc_cuda_outside(b, "a window is opened", reterr);
    if (status == PSC_OK)
        status = b->rt->begin(b->dev, reterr);
    if (status)
        return status;
    b->window = true;
    b->spoilt = false;
    b->memo.group = 0; /* a recording must make what it reads */
    return PSC_OK;
}

static void capture_abort(struct psc_backend *b)
{
    b->rt->abort(b->dev);
    psc_cuda_forget_calls(b, PSC_CUDA_OPEN_WINDOW);
    b->window = false;
    b->memo.group = 0;
}

static enum psc_status capture_end(struct psc_backend *b, uint64_t *ret_recording, struct psc_error *reterr)
{
    if (!b->window)
        return psc_fail(reterr, PSC_ERR_USAGE, "a capture window is closed, and none is open");
    if (b->spoilt) {
        capture_abort(b);
        b->figures.windows_spoilt++;
        return psc_fail(reterr, PSC_ERR_USAGE, "the capture window was spoilt: something in it was no command of the queue");
    }
    b->window = false;
    b->memo.group = 0;
    enum psc_status status = b->rt->end(b->dev, ret_recording, reterr);
    if (status) {
        psc_cuda_forget_calls(b, PSC_CUDA_OPEN_WINDOW);
        return status;
    }
    for (size_t i = 0; i < b->call_n; i++)
        if (b->calls[i].recording == PSC_CUDA_OPEN_WINDOW)
            b->calls[i].recording = *ret_recording;
    b->figures.recordings++;
    return PSC_OK;
}

static enum psc_status replay(struct psc_backend *b, uint64_t recording, struct psc_error *reterr)
{
    enum psc_status status = psc_cuda_outside(b, "a recording is played", reterr);
    if (status == PSC_OK)
        status = b->rt->play(b->dev, recording, reterr);
    b->figures.replays += status == PSC_OK;
    b->queued++;
    b->memo.group = 0;
    b->guarded = true; /* of its launches, perhaps */
    return status;
}

static void drop_recording(struct psc_backend *b, uint64_t recording)
{
    psc_cuda_forget_calls(b, recording);
    b->rt->drop(b->dev, recording);
}

/* ---- the tables ------------------------------------------------------------------------------------------ */

static uint32_t copies_in_flight(struct psc_backend *b)
{
    return (uint32_t)b->copy_n;
}

void psc_cuda_figures(const struct psc_backend *b, struct psc_cuda_figures *ret)
{
    *ret = b->figures;
    ret->strays = b->rt->is_host ? psc_cuda_dev_strays(b->dev) : 0;
}

void psc_cuda_library(struct psc_backend *b, bool library)
{
    psc_cuda_dev_library(b->dev, library);
}

void psc_cuda_limit(struct psc_backend *b, uint64_t bytes)
{
    psc_cuda_dev_limit(b->dev, bytes);
}

void psc_cuda_hang(struct psc_backend *b, bool hang)
{
    psc_cuda_dev_hang(b->dev, hang);
}

static enum psc_status open_shim(const struct psc_backend_config *config, struct psc_backend **ret, struct psc_error *reterr)
{
    enum psc_status status = open_with(&psc_cuda_rt_host, config, ret, reterr);
    if (status == PSC_OK) {
        psc_cuda_dev_backwards((*ret)->dev, config->portable);
        psc_cuda_dev_limit((*ret)->dev, config->device_bytes);
    }
    return status;
}

static const char *shim_unavailable(void)
{
    return psc_cuda_rt_host.unavailable();
}

#define COMMON                                                                                                        \
    .id = 2, .is_host = false, .fuses_decode = true, .fails_late = true, .takes = takes,            \
    .close = close_cuda, .memory = query, .alloc = alloc, .free = release, .write = psc_cuda_write,                   \
    .read = psc_cuda_read, .peek = psc_cuda_peek, .fill = psc_cuda_fill, .load_weight = load_weight,                  \
    .launch = psc_cuda_launch,                                                                                        \
    .probe = psc_cuda_probe, .move = psc_cuda_move, .submit = submit, .synchronise = synchronise, .idle = idle,       \
    .enqueue_copy = psc_cuda_enqueue_copy, .await_copy = psc_cuda_await_copy, .copies_in_flight = copies_in_flight,   \
    .capture_begin = capture_begin, .capture_end = capture_end, .capture_abort = capture_abort, .replay = replay,     \
    .drop_recording = drop_recording

const struct psc_backend_api psc_backend_cuda_shim = {
    .name = "cuda-shim", .file_name = "cuda-shim", .priority = 1, .text = "the CUDA backend with its kernels on the processor: for tests, its speed means nothing",
    .takes_blocks = true, .open = open_shim, .unavailable = shim_unavailable, COMMON,
};

#ifdef PSC_WITH_CUDA
static enum psc_status open_cuda(const struct psc_backend_config *config, struct psc_backend **ret, struct psc_error *reterr)
{
    return open_with(&psc_cuda_rt_device, config, ret, reterr);
}

static const char *cuda_unavailable(void)
{
    return psc_cuda_rt_device.unavailable();
}

const struct psc_backend_api psc_backend_cuda = {
    .name = "cuda", .file_name = "cuda", .priority = 200, .text = "an NVIDIA device", .open = open_cuda, .unavailable = cuda_unavailable, COMMON,
};
#endif
