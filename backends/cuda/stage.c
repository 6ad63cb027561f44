/* Bytes that cross between host and device: the ring, staged copies, and what probes look at. */
#include "backends/cuda/backend.h"

#include "core/base/mem.h"
#include "core/run/probe.h"

#include <inttypes.h>
#include <string.h>

#define POISON 0xffc5deadu       /* a NaN: what the shim leaves where a staged copy has not arrived */
#define PINNED_BLOCKS 4u         /* of the capture, as a rule: pinning takes a device's driver long */

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* ---- the ring ------------------------------------------------------------------------------------- */

static enum psc_status next_segment(struct psc_backend *b, struct psc_cuda_segment **ret, struct psc_error *reterr)
{
    struct psc_cuda_segment *s = &b->ring[b->ring_at % PSC_CUDA_SEGMENTS];
    enum psc_status status = PSC_OK;
    if (!s->at && !(s->at = b->rt->pin(b->dev, b->rt->segment_bytes)))
        return psc_fail_nomem(reterr);
    if (s->waits) {
        s->waits = false;
        status = psc_cuda_wait(b, s->mark, "a copy to the device", reterr);
    }
    b->ring_at++;
    *ret = s;
    return status;
}

enum psc_status psc_cuda_write(struct psc_backend *b, psc_address at, const void *from, uint64_t bytes, struct psc_error *reterr)
{
    enum psc_status status = psc_cuda_outside(b, "the host writes", reterr);
    const unsigned char *left = from;
    for (uint64_t n; status == PSC_OK && bytes; bytes -= n, left += n, at += n) {
        struct psc_cuda_segment *s = NULL;
        n = smaller(bytes, b->rt->segment_bytes);
        status = next_segment(b, &s, reterr);
        if (status)
            return status;
        memcpy(s->at, left, (size_t)n);
        psc_cuda_wrote(b, at, n);
        status = b->rt->upload(b->dev, at, s->at, n, reterr);
        if (status == PSC_OK)
            status = b->rt->mark(b->dev, &s->mark, reterr);
        s->waits = status == PSC_OK;
    }
    return status;
}

enum psc_status psc_cuda_read(struct psc_backend *b, psc_address at, void *to, uint64_t bytes, struct psc_error *reterr)
{
    enum psc_status status = psc_cuda_outside(b, "the host reads", reterr);
    unsigned char *left = to;
    for (uint64_t n; status == PSC_OK && bytes; bytes -= n, left += n, at += n) {
        struct psc_cuda_segment *s = NULL;
        n = smaller(bytes, b->rt->segment_bytes);
        status = next_segment(b, &s, reterr);
        if (status == PSC_OK)
            status = b->rt->download(b->dev, s->at, at, n, reterr);
        if (status == PSC_OK)
            status = psc_cuda_wait_for_all(b, "a copy from the device", reterr);
        if (status == PSC_OK)
            memcpy(left, s->at, (size_t)n);
    }
    return status;
}

enum psc_status psc_cuda_peek(struct psc_backend *b, psc_address at, void *to, uint64_t bytes, struct psc_error *reterr)
{
    return bytes ? b->rt->peek(b->dev, to, at, bytes, reterr) : PSC_OK;
}

/* ---- staged copies ---------------------------------------------------------------------------------- */

static bool take_slab(struct psc_backend *b, uint64_t bytes, struct psc_cuda_slab *ret)
{
    for (size_t i = 0; i < b->slab_n; i++)
        if (b->slabs[i].bytes >= bytes) {
            *ret = b->slabs[i];
            b->slabs[i] = b->slabs[--b->slab_n];
            return true;
        }
    ret->at = b->rt->pin(b->dev, bytes ? bytes : 1);
    ret->bytes = bytes;
    return ret->at != NULL;
}

/* The list has room for every slab that is out: enqueue sees to it. */
static void give_slab(struct psc_backend *b, struct psc_cuda_slab slab)
{
    b->slabs[b->slab_n++] = slab;
}

enum psc_status psc_cuda_enqueue_copy(struct psc_backend *b, psc_address from, uint64_t bytes,
                                      const struct psc_backend_api *dst_api, struct psc_backend *dst, psc_address to,
                                      uint64_t *ret_ticket, bool *ret_issued, struct psc_error *reterr)
{
    struct psc_cuda_copy copy = {.ticket = b->tickets + 1, .bytes = bytes, .dst_api = dst_api, .dst = dst, .to = to, .after = b->queued};
    enum psc_status status = psc_cuda_outside(b, "a copy to another backend is enqueued", reterr);
    if (status)
        return status;
    if (!psc_grow(&b->copies, b->copy_n + 1, &b->copy_cap, sizeof *b->copies) ||
        !psc_grow(&b->slabs, b->slab_n + b->copy_n + 2, &b->slab_cap, sizeof *b->slabs) || !take_slab(b, bytes, &copy.slab))
        return psc_fail_nomem(reterr);
    if (b->rt->is_host)
        status = dst_api->fill(dst, to, POISON, bytes, reterr);
    if (status == PSC_OK)
        status = b->rt->download(b->dev, copy.slab.at, from, bytes, reterr);
    if (status == PSC_OK)
        status = b->rt->mark(b->dev, &copy.mark, reterr);
    if (status) {
        give_slab(b, copy.slab);
        return status;
    }
    b->copies[b->copy_n++] = copy;
    b->figures.staged++;
    if (b->copy_n > b->figures.most_in_flight)
        b->figures.most_in_flight = b->copy_n;
    *ret_ticket = ++b->tickets;
    *ret_issued = true;
    return PSC_OK;
}

enum psc_status psc_cuda_await_copy(struct psc_backend *b, uint64_t ticket, struct psc_error *reterr)
{
    size_t i = 0;
    while (i < b->copy_n && b->copies[i].ticket != ticket)
        i++;
    if (i == b->copy_n)
        return psc_fail(reterr, PSC_ERR_USAGE, "copy %" PRIu64 " is awaited, and it is not on its way", ticket);
    enum psc_status status = psc_cuda_outside(b, "a copy is awaited", reterr);
    if (status)
        return status;
    struct psc_cuda_copy copy = b->copies[i];
    memmove(b->copies + i, b->copies + i + 1, (b->copy_n - i - 1) * sizeof *b->copies);
    b->copy_n--;
    status = psc_cuda_wait(b, copy.mark, "a staged copy", reterr);
    if (status == PSC_OK && copy.after > b->done)
        b->done = copy.after;
    if (status == PSC_OK)
        status = copy.dst_api->write(copy.dst, copy.to, copy.slab.at, copy.bytes, reterr);
    give_slab(b, copy.slab); /* also when it did not arrive: the queue may still write to it */
    return status;
}

/* ---- probes ------------------------------------------------------------------------------------------- */

/* From bytes that lie in host memory, or from the hashes of their chunks. */
static void answer(const struct psc_probe *p, const void *bytes, uint64_t chunks)
{
    if (!chunks) {
        struct psc_probe host = *p;
        host.at = (psc_address)(uintptr_t)bytes;
        psc_cpu_exec_probe(&host);
        return;
    }
    uint64_t hash = p->bytes * PSC_PROBE_MULTIPLIER;
    for (uint64_t i = 0; i < chunks; i++)
        hash += ((const uint64_t *)bytes)[i];
    hash = psc_hash_mix(hash);
    memcpy(p->ret, &hash, sizeof hash);
}

void psc_cuda_look(struct psc_backend *b)
{
    b->figures.drains += b->look_n > 0;
    for (size_t i = 0; i < b->look_n; i++)
        answer(&b->looks[i].probe, b->looks[i].pinned, b->looks[i].chunks);
    psc_cuda_forget_looks(b);
}

/* Pinned memory may be written to still: whatever is put there later comes later in the queue. */
void psc_cuda_forget_looks(struct psc_backend *b)
{
    b->look_n = 0;
    for (size_t i = 0; i < b->pinned_n; i++)
        b->pinned[i].used = 0;
    b->pinned_at = 0;
    b->hash_n = 0;
}

/* Pinned bytes of the capture; NULL when there is no room below the ceiling. */
static void *take_pinned(struct psc_backend *b, uint64_t n)
{
    n = (n + 15) / 16 * 16;
    for (; b->pinned_at < b->pinned_n; b->pinned_at++) {
        struct psc_cuda_pinned *p = &b->pinned[b->pinned_at];
        if (p->bytes - p->used >= n) {
            p->used += n;
            return p->at + p->used - n;
        }
    }
    uint64_t block = b->rt->capture_bytes / PINNED_BLOCKS, room = n > block ? n : block;
    if (n > b->rt->capture_bytes || b->pinned_bytes + room > b->rt->capture_bytes ||
        !psc_grow(&b->pinned, b->pinned_n + 1, &b->pinned_cap, sizeof *b->pinned))
        return NULL;
    struct psc_cuda_pinned fresh = {.at = b->rt->pin(b->dev, room), .bytes = room, .used = n};
    if (!fresh.at)
        return NULL;
    b->pinned_bytes += room;
    b->pinned[b->pinned_n++] = fresh;
    return fresh.at;
}

/* What was looked at so far is fetched now, which makes room. */
static enum psc_status fall_back(struct psc_backend *b, struct psc_error *reterr)
{
    b->figures.fallbacks++;
    enum psc_status status = psc_cuda_wait_for_all(b, "the device", reterr);
    if (status == PSC_OK)
        psc_cuda_look(b);
    return status;
}

/* More than the ceiling: through the ring, and the host waits. */
static enum psc_status look_now(struct psc_backend *b, const struct psc_probe *p, struct psc_error *reterr)
{
    void *bytes = psc_alloc((size_t)p->bytes);
    if (!bytes)
        return psc_fail_nomem(reterr);
    enum psc_status status = psc_cuda_read(b, p->at, bytes, p->bytes, reterr);
    if (status == PSC_OK)
        answer(p, bytes, 0);
    psc_free(bytes);
    return status;
}

static enum psc_status queue_hash(struct psc_backend *b, const struct psc_probe *p, uint64_t chunks, void *pinned,
                                  struct psc_error *reterr)
{
    psc_address slots = b->hashes + 8 * b->hash_n;
    struct psc_k_hash k = {.bytes = PSC_CUDA_POINTER(const unsigned char, p->at), .ret = PSC_CUDA_POINTER(uint64_t, slots),
                           .n = p->bytes};
    struct psc_cuda_shape shape = {(uint32_t)((chunks + 15) / 16), 1, 64};
    enum psc_status status = PSC_CUDA_RUN(b, hash, shape, 1, 0, &k, reterr);
    if (status == PSC_OK)
        status = b->rt->download(b->dev, pinned, slots, 8 * chunks, reterr);
    b->hash_n += chunks;
    return status;
}

enum psc_status psc_cuda_probe(struct psc_backend *b, const struct psc_probe *p, struct psc_error *reterr)
{
    uint64_t chunks = p->kind == PSC_PROBE_HASH ? p->bytes / PSC_PROBE_CHUNK + (p->bytes % PSC_PROBE_CHUNK != 0) : 0;
    enum psc_status status = psc_cuda_outside(b, "bytes are looked at", reterr);
    if (status)
        return status;
    if (chunks > PSC_CUDA_HASH_SLOTS)
        chunks = 0; /* the bytes go to the host */
    if (chunks && !b->hashes)
        status = psc_cuda_own(b, 8 * (uint64_t)PSC_CUDA_HASH_SLOTS, &b->hashes, reterr);
    if (status == PSC_OK && !psc_grow(&b->looks, b->look_n + 1, &b->look_cap, sizeof *b->looks))
        status = psc_fail_nomem(reterr);
    if (status == PSC_OK && b->hash_n + chunks > PSC_CUDA_HASH_SLOTS)
        status = fall_back(b, reterr);
    uint64_t n = chunks ? 8 * chunks : p->bytes;
    void *pinned = status == PSC_OK ? take_pinned(b, n) : NULL;
    if (status == PSC_OK && !pinned) {
        status = fall_back(b, reterr);
        pinned = status == PSC_OK ? take_pinned(b, n) : NULL;
        if (status == PSC_OK && !pinned)
            return look_now(b, p, reterr);
    }
    if (status == PSC_OK && chunks)
        status = queue_hash(b, p, chunks, pinned, reterr);
    else if (status == PSC_OK && n)
        status = b->rt->download(b->dev, pinned, p->at, n, reterr);
    if (status == PSC_OK)
        b->looks[b->look_n++] = (struct psc_cuda_look){*p, pinned, chunks};
    return status;
}

void psc_cuda_stage_release(struct psc_backend *b)
{
    for (uint32_t i = 0; i < PSC_CUDA_SEGMENTS; i++)
        if (b->ring[i].at)
            b->rt->unpin(b->dev, b->ring[i].at);
    for (size_t i = 0; i < b->slab_n; i++)
        b->rt->unpin(b->dev, b->slabs[i].at);
    for (size_t i = 0; i < b->copy_n; i++)
        b->rt->unpin(b->dev, b->copies[i].slab.at);
    for (size_t i = 0; i < b->pinned_n; i++)
        b->rt->unpin(b->dev, b->pinned[i].at);
    psc_free(b->slabs);
    psc_free(b->copies);
    psc_free(b->looks);
    psc_free(b->pinned);
}
