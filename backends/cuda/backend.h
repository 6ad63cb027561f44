/* backends/cuda/backend.h: the inside of an instance, for backends/cuda only.
 *
 *     pool       every block has an address and a size that never change; free() keeps it for the next of exactly its size;
 *                memory goes back to the device when the instance is closed. The generation counts allocations, reuse too
 *     scratch    `kept` holds quantised activations from one launch to the next, `temp` what one launch needs. When one
 *                grows, the old block stays: recordings may hold its address
 *     ring       pinned segments that writes and reads go through, each with a mark that says when it may be used again
 *     slabs      pinned, one a staged copy on its way
 *     capture    pinned, what probes have copied and nobody has looked at yet; at most rt->capture_bytes
 *     window     between capture_begin and capture_end: whatever would allocate, copy from or to the host, wait, or ask the
 *                device is refused and spoils the window
 */
#ifndef PSC_BACKENDS_CUDA_BACKEND_H
#define PSC_BACKENDS_CUDA_BACKEND_H

#include "backends/cpu/exec.h"
#include "backends/cuda/rt.h"
#include "backends/cuda/shim.h"
#include "core/base/hash.h"

#define PSC_CUDA_SEGMENTS 8u
#define PSC_CUDA_HASH_SLOTS 16384u /* chunks whose hashes may wait at once */

struct psc_cuda_block {
    psc_address at;
    uint64_t bytes;
    uint32_t next; /* free block of the same size, PSC_NONE-like UINT32_MAX */
    bool free;
};
struct psc_cuda_segment {
    void *at; /* pinned, owned; NULL until it is needed */
    uint64_t mark;
    bool waits;
};
struct psc_cuda_slab {
    void *at;
    uint64_t bytes;
};
struct psc_cuda_copy {
    uint64_t ticket, mark, after; /* after: `queued` when it was enqueued */
    struct psc_cuda_slab slab;
    uint64_t bytes;
    const struct psc_backend_api *dst_api;
    struct psc_backend *dst;
    psc_address to;
};
struct psc_cuda_look { /* a probe on its way */
    struct psc_probe probe;
    void *pinned;
    uint64_t chunks;   /* hashes of chunks; 0: the bytes themselves */
};
struct psc_cuda_pinned {
    unsigned char *at;
    uint64_t bytes, used;
};
struct psc_cuda_scratch {
    psc_address at;
    uint64_t bytes, used;
};
/* Which activations `kept` holds. */
struct psc_cuda_memo {
    psc_address x;
    uint64_t bytes, step, in, tokens;
    uint32_t group; /* 0: none */
};

/* A call whose words are guarded, kept by itself: a recording outlives the call that it was made of. */
#define PSC_CUDA_GUARD_OPERANDS 5u
#define PSC_CUDA_OPEN_WINDOW UINT64_MAX
struct psc_cuda_guarded {
    uint64_t mark, recording; /* recording 0: until the next synchronise; PSC_CUDA_OPEN_WINDOW: of the one being made */
    struct psc_call call;
    struct psc_window in[PSC_CUDA_GUARD_OPERANDS];
};

struct psc_backend {
    const struct psc_cuda_rt *rt;
    struct psc_cuda_dev *dev;
    uint64_t timeout_ms;
    struct psc_cpu_exec checks;    /* for its sentences */
    struct psc_cuda_figures figures;

    struct psc_cuda_block *blocks; /* owned */
    size_t block_n, block_cap;
    struct psc_map block_at, free_of_size, weight_of;
    psc_address *weights;          /* owned */
    size_t weight_n, weight_cap;

    struct psc_cuda_scratch kept, temp;
    struct psc_cuda_memo memo;
    psc_address *parts;            /* owned; where the operands of a concat lie while it is launched */
    size_t part_cap;
    psc_address stop;              /* a word on the device; see psc_lead */
    uint64_t *stop_seen;           /* pinned */
    struct psc_cuda_guarded *calls; /* owned; by ascending mark */
    size_t call_n, call_cap;
    uint64_t marks;                /* given so far */
    uint64_t mark;                 /* of the call being launched: what its kernels write to `stop` */
    bool guarded;                  /* a guard was queued since the last synchronise */
    bool window, spoilt;
    uint64_t queued, done;         /* launches, moves and plays so far, and how many of them the host has seen end */

    struct psc_cuda_segment ring[PSC_CUDA_SEGMENTS];
    uint32_t ring_at;
    struct psc_cuda_slab *slabs;   /* owned; idle ones */
    size_t slab_n, slab_cap;
    struct psc_cuda_copy *copies;  /* owned */
    size_t copy_n, copy_cap;
    uint64_t tickets;

    struct psc_cuda_look *looks;   /* owned */
    size_t look_n, look_cap;
    struct psc_cuda_pinned *pinned; /* owned */
    size_t pinned_n, pinned_cap, pinned_at;
    uint64_t pinned_bytes;
    psc_address hashes;            /* slots on the device */
    uint64_t hash_n;
};

/* ---- backend.c */
/* Refuses inside a window and spoils it. */
enum psc_status psc_cuda_outside(struct psc_backend *b, const char *what, struct psc_error *reterr) PSC_MUST_CHECK;
/* A block that stays until the instance is closed. */
enum psc_status psc_cuda_own(struct psc_backend *b, uint64_t bytes, psc_address *ret, struct psc_error *reterr) PSC_MUST_CHECK;
/* Waits until the queue has come to the mark, at most timeout_ms; forgets the mark. */
enum psc_status psc_cuda_wait(struct psc_backend *b, uint64_t mark, const char *what, struct psc_error *reterr) PSC_MUST_CHECK;
/* The same for all that is queued. */
enum psc_status psc_cuda_wait_for_all(struct psc_backend *b, const char *what, struct psc_error *reterr) PSC_MUST_CHECK;

/* ---- stage.c */
enum psc_status psc_cuda_write(struct psc_backend *b, psc_address at, const void *from, uint64_t bytes, struct psc_error *reterr);
enum psc_status psc_cuda_read(struct psc_backend *b, psc_address at, void *to, uint64_t bytes, struct psc_error *reterr);
/* Without a wait: what is there while commands are queued. */
enum psc_status psc_cuda_peek(struct psc_backend *b, psc_address at, void *to, uint64_t bytes, struct psc_error *reterr);
enum psc_status psc_cuda_enqueue_copy(struct psc_backend *b, psc_address from, uint64_t bytes,
                                      const struct psc_backend_api *dst_api, struct psc_backend *dst, psc_address to,
                                      uint64_t *ret_ticket, bool *ret_issued, struct psc_error *reterr);
enum psc_status psc_cuda_await_copy(struct psc_backend *b, uint64_t ticket, struct psc_error *reterr);
enum psc_status psc_cuda_probe(struct psc_backend *b, const struct psc_probe *probe, struct psc_error *reterr);
/* Results of all probes; the queue has run. */
void psc_cuda_look(struct psc_backend *b);
/* The queue could not be waited for: who asked has gone. */
void psc_cuda_forget_looks(struct psc_backend *b);
void psc_cuda_stage_release(struct psc_backend *b);

/* ---- launch.c */
enum psc_status psc_cuda_launch(struct psc_backend *b, const struct psc_call *call, struct psc_error *reterr);
enum psc_status psc_cuda_fill(struct psc_backend *b, psc_address at, uint32_t pattern, uint64_t bytes, struct psc_error *reterr);
enum psc_status psc_cuda_move(struct psc_backend *b, psc_address to, psc_address from, uint64_t bytes, struct psc_error *reterr);
/* Bytes have changed: a memo of them is none any more. */
void psc_cuda_wrote(struct psc_backend *b, psc_address at, uint64_t bytes);
/* Forgets the guarded calls of a recording, or those of direct launches (0). */
void psc_cuda_forget_calls(struct psc_backend *b, uint64_t recording);
/* What the guard's mark means: the sentence of the call whose words are out of their bounds. */
enum psc_status psc_cuda_tell_guard(struct psc_backend *b, uint64_t mark, struct psc_error *reterr);

/* ---- for launch.c and launch-products.c */
/* Scratch of this launch, aligned to 256 bytes. */
enum psc_status psc_cuda_temp(struct psc_backend *b, uint64_t bytes, psc_address *ret, struct psc_error *reterr) PSC_MUST_CHECK;
enum psc_status psc_cuda_keep(struct psc_backend *b, uint64_t bytes, struct psc_error *reterr) PSC_MUST_CHECK;
enum psc_status psc_cuda_run(struct psc_backend *b, enum psc_cuda_kernel kernel, struct psc_cuda_shape shape, uint32_t passes,
                             unsigned faults, const void *args, uint64_t args_n, struct psc_error *reterr) PSC_MUST_CHECK;
#define PSC_CUDA_RUN(b, name, shape, passes, faults, args, reterr)                                          \
    (sizeof(struct psc_k_##name) <= PSC_CUDA_ARGS_MAX                                                      \
         ? psc_cuda_run(b, PSC_CUDA_##name, shape, passes, faults, args, sizeof(struct psc_k_##name), reterr) \
         : PSC_ERR_USAGE)
/* Blocks of PSC_CUDA_THREADS for n threads. */
enum psc_status psc_cuda_blocks(const struct psc_call *call, uint64_t n, struct psc_cuda_shape *ret, struct psc_error *reterr) PSC_MUST_CHECK;
/* A norm or a bias as floats, decoded when it is stored otherwise; 0 when it is missing. */
enum psc_status psc_cuda_vector(struct psc_backend *b, const struct psc_bound_weight *w, psc_address *ret,
                                struct psc_error *reterr) PSC_MUST_CHECK;
/* Product with the call's weight, all parts. bias: one a part, or 0. */
enum psc_status psc_cuda_multiply(struct psc_backend *b, const struct psc_call *call, const struct psc_bound_weight *w,
                                  const struct psc_window *x, const psc_address bias[3], psc_address out, uint64_t out_step,
                                  uint64_t tokens, struct psc_error *reterr) PSC_MUST_CHECK;
/* Quantises rows of `in` values at x into `kept`, as what lies at `as`: products of that take them from there (group 1). */
enum psc_status psc_cuda_quantise_as(struct psc_backend *b, psc_address x, psc_address as, uint64_t in, uint64_t tokens,
                                     struct psc_error *reterr) PSC_MUST_CHECK;
enum psc_status psc_cuda_op_product(struct psc_backend *b, const struct psc_call *call, struct psc_error *reterr);
enum psc_status psc_cuda_op_batch(struct psc_backend *b, const struct psc_call *call, struct psc_error *reterr);
enum psc_status psc_cuda_op_attn(struct psc_backend *b, const struct psc_call *call, struct psc_error *reterr);
enum psc_status psc_cuda_op_store(struct psc_backend *b, const struct psc_call *call, struct psc_error *reterr);
enum psc_status psc_cuda_op_fused_qkv(struct psc_backend *b, const struct psc_call *call, struct psc_error *reterr);
enum psc_status psc_cuda_op_tail(struct psc_backend *b, const struct psc_call *call, struct psc_error *reterr);
enum psc_status psc_cuda_op_ffn(struct psc_backend *b, const struct psc_call *call, struct psc_error *reterr);
/* Queues a guard for words that must lie in [0, rows), or for windows. */
enum psc_status psc_cuda_guard(struct psc_backend *b, const struct psc_call *call, psc_address words, uint64_t tokens,
                               uint64_t rows, enum psc_k_window_form form, struct psc_error *reterr) PSC_MUST_CHECK;

#define PSC_CUDA_POINTER(type, at) ((type *)(uintptr_t)(at))
#define PSC_CUDA_TOKENS_MAX 32768u /* of one launch: a block index */

#endif
