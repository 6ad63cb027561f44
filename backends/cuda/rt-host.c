/* The runtime on the host: a queue that is worked off when somebody waits for it. */
#include "backends/cuda/rt.h"

#include "backends/cpu/memory.h"
#include "backends/cuda/shim.h"
#include "core/base/mem.h"

#include <inttypes.h>
#include <string.h>

enum kind { UPLOAD, DOWNLOAD, COPY, RUN, MULTIPLY };
struct product { /* what a library would be asked for */
    psc_address w, x, out;
    uint64_t x_step, out_step, in, rows, tokens;
};
struct command {
    enum kind kind;
    enum psc_cuda_kernel kernel;
    struct psc_cuda_shape shape;
    struct psc_lead lead;
    void *host; /* pinned */
    psc_address to, from;
    uint64_t n;
    _Alignas(8) unsigned char args[PSC_CUDA_ARGS_MAX];
};
struct list {
    struct command *items; /* owned */
    size_t n, cap;
};
struct recording {
    struct list list;
    bool used;
};
struct psc_cuda_dev {
    struct psc_host_memory memory;
    uint64_t held, limit;          /* bytes of it; 0: as many as there are */
    struct list queue;
    uint64_t done, queued;         /* commands that have run; that were ever queued */
    struct list window;            /* of the recording under way */
    bool recording, stuck, hang, backwards, library;
    uint64_t strays;
    struct recording *recordings;  /* owned; id is the index + 1 */
    size_t recording_n, recording_cap;
    void *shared;                  /* owned */
};

/* What a device does not record: memory, marks, waits, copies from and to the host. */
static void outside(struct psc_cuda_dev *d)
{
    d->strays += d->recording;
}

static const char *unavailable(void)
{
    return NULL;
}

static void close_dev(struct psc_cuda_dev *d)
{
    if (!d)
        return;
    for (size_t i = 0; i < d->recording_n; i++)
        psc_free(d->recordings[i].list.items);
    psc_free(d->recordings);
    psc_free(d->queue.items);
    psc_free(d->window.items);
    psc_free(d->shared);
    psc_host_memory_release(&d->memory);
    psc_free(d);
}

static enum psc_status open_dev(struct psc_cuda_dev **ret, struct psc_error *reterr)
{
    struct psc_cuda_dev *d = psc_alloc0(1, sizeof *d);
    if (d)
        d->shared = psc_alloc(PSC_CUDA_SHARED_MAX);
    if (!d || !d->shared) {
        close_dev(d);
        return psc_fail_nomem(reterr);
    }
    *ret = d;
    return PSC_OK;
}

static enum psc_query memory(struct psc_cuda_dev *d, uint64_t *ret_free, uint64_t *ret_total)
{
    outside(d);
    if (!d->limit)
        return psc_host_memory_query(ret_free, ret_total);
    *ret_total = d->limit;
    *ret_free = d->limit > d->held ? d->limit - d->held : 0;
    return PSC_QUERY_REPORTED;
}

/* As a device's allocator aligns; the word before a block says where the host's begins. */
#define ALIGNED 256u
static psc_address alloc(struct psc_cuda_dev *d, uint64_t bytes)
{
    psc_address base = 0;
    outside(d);
    if (d->limit && (d->held > d->limit || bytes > d->limit - d->held))
        return 0;
    if (bytes > UINT64_MAX - 2 * ALIGNED || psc_host_memory_alloc(&d->memory, bytes + 2 * ALIGNED, &base, NULL))
        return 0;
    psc_address at = (base + 2 * ALIGNED - 1) / ALIGNED * ALIGNED;
    memcpy(psc_host_pointer(at - sizeof base), &base, sizeof base);
    d->held += bytes;
    psc_host_fill(at, 0, bytes); /* as fresh memory of a device: not what another run left; peek() may see it */
    return at;
}

static void release(struct psc_cuda_dev *d, psc_address at, uint64_t bytes)
{
    outside(d);
    psc_address base;
    memcpy(&base, psc_host_pointer(at - sizeof base), sizeof base);
    d->held -= bytes;
    psc_host_memory_free(&d->memory, base);
}

static void *pin(struct psc_cuda_dev *d, uint64_t bytes)
{
    outside(d);
    return bytes <= SIZE_MAX ? psc_alloc((size_t)bytes) : NULL;
}

static void unpin(struct psc_cuda_dev *d, void *at)
{
    outside(d);
    psc_free(at);
}

/* ---- queueing ---------------------------------------------------------------------------------- */

static enum psc_status push(struct psc_cuda_dev *d, const struct command *c, struct psc_error *reterr)
{
    struct list *list = d->recording ? &d->window : &d->queue;
    if (!psc_grow(&list->items, list->n + 1, &list->cap, sizeof *list->items))
        return psc_fail_nomem(reterr);
    list->items[list->n++] = *c;
    d->queued += !d->recording;
    return PSC_OK;
}

static enum psc_status upload(struct psc_cuda_dev *d, psc_address to, const void *pinned, uint64_t n, struct psc_error *reterr)
{
    outside(d);
    return push(d, &(struct command){.kind = UPLOAD, .to = to, .host = (void *)(uintptr_t)pinned, .n = n}, reterr);
}

static enum psc_status download(struct psc_cuda_dev *d, void *pinned, psc_address from, uint64_t n, struct psc_error *reterr)
{
    outside(d);
    return push(d, &(struct command){.kind = DOWNLOAD, .from = from, .host = pinned, .n = n}, reterr);
}

static enum psc_status copy(struct psc_cuda_dev *d, psc_address to, psc_address from, uint64_t n, struct psc_error *reterr)
{
    return push(d, &(struct command){.kind = COPY, .to = to, .from = from, .n = n}, reterr);
}

static enum psc_status run(struct psc_cuda_dev *d, enum psc_cuda_kernel kernel, struct psc_cuda_shape shape,
                           struct psc_lead lead, const void *args, uint64_t args_n, struct psc_error *reterr)
{
    struct command c = {.kind = RUN, .kernel = kernel, .shape = shape, .lead = lead};
    memcpy(c.args, args, (size_t)args_n);
    return push(d, &c, reterr);
}

static bool multiplies(struct psc_cuda_dev *d)
{
    return d->library;
}

static enum psc_status multiply(struct psc_cuda_dev *d, psc_address w, psc_address x, uint64_t x_step, psc_address out,
                                uint64_t out_step, uint64_t in, uint64_t rows, uint64_t tokens, struct psc_error *reterr)
{
    const struct product p = {w, x, out, x_step, out_step, in, rows, tokens};
    struct command c = {.kind = MULTIPLY};
    d->strays += w % 256 || x % 256; /* of a library other bits may come then */
    memcpy(c.args, &p, sizeof p);
    return push(d, &c, reterr);
}

static enum psc_status peek(struct psc_cuda_dev *d, void *to, psc_address from, uint64_t n, struct psc_error *reterr)
{
    (void)reterr;
    outside(d);
    memcpy(to, psc_host_pointer(from), (size_t)n);
    return PSC_OK;
}

/* ---- working it off ---------------------------------------------------------------------------- */

/* Plain sums in the order of their terms: not the bits of our own kernels, nor of any library. */
static void do_product(const struct command *c)
{
    struct product p;
    memcpy(&p, c->args, sizeof p);
    const float *w = psc_host_pointer(p.w), *x = psc_host_pointer(p.x);
    float *out = psc_host_pointer(p.out);
    for (uint64_t t = 0; t < p.tokens; t++)
        for (uint64_t o = 0; o < p.rows; o++) {
            float sum = 0;
            for (uint64_t i = 0; i < p.in; i++)
                sum += w[o * p.in + i] * x[t * p.x_step + i];
            out[t * p.out_step + o] = sum;
        }
}

static void do_command(struct psc_cuda_dev *d, const struct command *c)
{
    switch (c->kind) {
    case UPLOAD:
        memcpy(psc_host_pointer(c->to), c->host, (size_t)c->n);
        break;
    case DOWNLOAD:
        memcpy(c->host, psc_host_pointer(c->from), (size_t)c->n);
        break;
    case COPY:
        memmove(psc_host_pointer(c->to), psc_host_pointer(c->from), (size_t)c->n);
        break;
    case MULTIPLY:
        do_product(c);
        break;
    case RUN:
        d->stuck = d->stuck || !psc_cuda_run_on_host(c->kernel, c->shape, c->lead, c->args, d->shared, d->backwards);
        break;
    }
}

static void work_until(struct psc_cuda_dev *d, uint64_t mark)
{
    size_t i = 0;
    while (d->done < mark && !d->stuck && !d->hang) {
        do_command(d, &d->queue.items[i]);
        if (d->stuck)
            break; /* this one never ends */
        d->done++;
        i++;
    }
    if (i < d->queue.n)
        memmove(d->queue.items, d->queue.items + i, (d->queue.n - i) * sizeof *d->queue.items);
    d->queue.n -= i;
}

static enum psc_status mark(struct psc_cuda_dev *d, uint64_t *ret, struct psc_error *reterr)
{
    (void)reterr;
    outside(d);
    *ret = d->queued;
    return PSC_OK;
}

static enum psc_status reached(struct psc_cuda_dev *d, uint64_t at, bool *ret, struct psc_error *reterr)
{
    (void)reterr;
    outside(d);
    work_until(d, at);
    *ret = d->done >= at;
    return PSC_OK;
}

static void forget(struct psc_cuda_dev *d, uint64_t at)
{
    (void)d;
    (void)at;
}

/* ---- recordings -------------------------------------------------------------------------------- */

static enum psc_status begin(struct psc_cuda_dev *d, struct psc_error *reterr)
{
    if (d->recording)
        return psc_fail(reterr, PSC_ERR_USAGE, "a capture window is open already");
    d->recording = true;
    d->window.n = 0;
    return PSC_OK;
}

static enum psc_status end(struct psc_cuda_dev *d, uint64_t *ret, struct psc_error *reterr)
{
    size_t at = 0;
    d->recording = false;
    while (at < d->recording_n && d->recordings[at].used)
        at++;
    if (at == d->recording_n && !psc_grow(&d->recordings, at + 1, &d->recording_cap, sizeof *d->recordings))
        return psc_fail_nomem(reterr);
    d->recording_n += at == d->recording_n;
    d->recordings[at] = (struct recording){d->window, true};
    d->window = (struct list){0};
    *ret = at + 1;
    return PSC_OK;
}

static void abort_window(struct psc_cuda_dev *d)
{
    d->recording = false;
    d->window.n = 0;
}

static enum psc_status play(struct psc_cuda_dev *d, uint64_t recording, struct psc_error *reterr)
{
    if (!recording || recording > d->recording_n || !d->recordings[recording - 1].used)
        return psc_fail(reterr, PSC_ERR_USAGE, "there is no recording %" PRIu64, recording);
    const struct list *list = &d->recordings[recording - 1].list;
    if (!psc_grow(&d->queue.items, d->queue.n + list->n, &d->queue.cap, sizeof *d->queue.items))
        return psc_fail_nomem(reterr);
    if (list->n)
        memcpy(d->queue.items + d->queue.n, list->items, list->n * sizeof *list->items);
    d->queue.n += list->n;
    d->queued += list->n;
    return PSC_OK;
}

static void drop(struct psc_cuda_dev *d, uint64_t recording)
{
    struct recording *r = &d->recordings[recording - 1];
    psc_free(r->list.items);
    *r = (struct recording){0};
}

void psc_cuda_dev_backwards(struct psc_cuda_dev *d, bool backwards)
{
    d->backwards = backwards;
}

uint64_t psc_cuda_dev_strays(const struct psc_cuda_dev *d)
{
    return d->strays;
}

void psc_cuda_dev_library(struct psc_cuda_dev *d, bool library)
{
    d->library = library;
}

void psc_cuda_dev_limit(struct psc_cuda_dev *d, uint64_t bytes)
{
    d->limit = bytes;
}

void psc_cuda_dev_hang(struct psc_cuda_dev *d, bool hang)
{
    d->hang = hang;
}

const struct psc_cuda_rt psc_cuda_rt_host = {
    .is_host = true, .segment_bytes = 65536, .capture_bytes = 1u << 20, .unavailable = unavailable, .open = open_dev,
    .close = close_dev, .memory = memory, .alloc = alloc, .release = release, .pin = pin, .unpin = unpin, .upload = upload,
    .download = download, .copy = copy, .run = run, .multiplies = multiplies, .multiply = multiply, .peek = peek, .mark = mark, .reached = reached,
    .forget = forget, .begin = begin, .end = end, .abort = abort_window, .play = play, .drop = drop,
};
