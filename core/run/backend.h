/* core/run/backend.h: what a backend does for the scheduler: memory, a queue, kernels, probes.
 *
 *     session      open ---- alloc alloc .... write(inputs) ............................... read(logits)
 *     scheduler                                     launch launch probe copy launch  submit synchronise
 *     cpu          every command takes effect at once
 *     deferred     commands are stored; bytes change in submit, in the order of the commands
 *     cuda         commands go into one stream
 *
 * Addresses are bytes of the backend's own memory (on host backends the pointer). A kernel gets addresses, never buffer
 * ids or a plan; it allocates nothing and overwrites the whole window of its output (rows-writes apart).
 *
 * What is queued has not happened: `read` sees the bytes as they are now. It is the scheduler that submits first;
 * a fault is a scheduler that does not.
 *
 * Lifetime: a psc_call and all it points to stays valid until the next synchronise after it was launched.
 * Threads: one thread drives a backend. Errors: every function that returns a status gives a sentence that names the
 * node's id and op where there is one. Optional members may be NULL; the comment says what then happens.
 */
#ifndef PSC_CORE_RUN_BACKEND_H
#define PSC_CORE_RUN_BACKEND_H

#include "core/graph/graph.h"
#include "core/model/weight.h"
#include "core/plan/kv-format.h"

typedef uint64_t psc_address; /* 0: nowhere */

/* Some elements of a tensor that lie in a row: what a kernel reads or writes. */
struct psc_window {
    psc_address at;
    uint64_t bytes;
    enum psc_dtype dtype;  /* i32 windows hold bit patterns in 4-byte words, never converted numbers */
    uint64_t shape[4];     /* of the node the window shows */
};

/* The two regions of a layer. Row r of K starts at k + r * row_bytes. */
struct psc_kv_pair {
    psc_address k, v;      /* 0, 0: the node has none */
    uint64_t rows;         /* n_ctx: a row >= rows is an error of the call, named with node, position and n_ctx */
    uint64_t width;        /* elements of a row: n_head_kv * hd */
    uint64_t row_bytes;    /* f32: 4 * width; f16: 4 * width too (the halves lie in the first half); q8_0: packed */
    enum psc_kv_format format;
};

struct psc_bound_weight {
    const struct psc_weight *weight; /* NULL: the node has none */
    psc_address at[3];               /* what load_weight gave for it, or for each of its parts */
};

/* Defects of kernels and executors, from the bug lab: a branch in the very rule each breaks. */
enum psc_call_fault {
    PSC_CALL_L6 = 1,   /* rope copies its operand on the host while the call is encoded, not when it runs */
    PSC_CALL_L20 = 2,  /* f32 matmul of several tokens writes [feature][token] */
    PSC_CALL_L21 = 4,  /* softmax writes exp and forgets to divide by the sum */
    PSC_CALL_L22 = 8,  /* attention's softmax sums over the longest window of the batch */
    PSC_CALL_L24 = 32, /* cuda: a norm's block goes on without waiting for what its threads share */
    PSC_CALL_L25 = 64, /* cuda: threads of a norm that have no work leave before the others' barrier */
    PSC_CALL_L31 = 128, /* cuda: the host reads the position and decides how far attention looks, in windows too */
    PSC_CALL_L33 = 16, /* a memo of quantised activations is kept by address and outlives its bytes */
    PSC_CALL_A19 = 512, /* cpu, deferred: the last word of the output stays as it was (the arenas' a19) */
    PSC_CALL_L35 = 256, /* cuda: a norm leaves quantised activations only, and its f32 output unwritten */
};

/* One node, ready to run. Bound once for a graph, launched once a step. */
struct psc_call {
    const struct psc_graph *graph;
    psc_node node;
    enum psc_op op;
    const struct psc_params *params;
    const struct psc_window *in; /* operands in src order; kv_load operands and zero-size operands have at == 0 */
    uint32_t in_n;
    struct psc_window out;
    struct psc_kv_pair kv;
    struct psc_bound_weight weight, bias[3], q_norm, k_norm, norm_bias; /* norm: `weight` is its scale */
    bool snapshot;   /* operands that overlap the output are copied before the kernel writes (minfer's CPU does so);
                        false: as a GPU, kernels run in place. Ops whose may_overwrite allows it give the same numbers */
    unsigned faults; /* of enum psc_call_fault */
    psc_address workspace;    /* scratch for this call, of at least as many bytes as `workspace` said; 0: the backend's own */
    uint64_t workspace_bytes;
};

/* Fault l6: the host takes operand k while the call is encoded, and sees what is there then. */
static inline bool psc_call_takes_early(const struct psc_call *call, uint32_t k)
{
    return call->faults & PSC_CALL_L6 && call->op == PSC_OP_ROPE && k == 0;
}

/* Something looked at without disturbing the run: takes effect in the order of the queue, like a kernel. The result
 * is there after the next synchronise; when that fails it never comes, and `ret` may go. */
enum psc_probe_kind { PSC_PROBE_HASH, PSC_PROBE_STATS, PSC_PROBE_COPY };
#define PSC_PROBE_SAMPLES 64
struct psc_probe_stats { /* as minfer-formats.md 1.4: sequential f64 sums, min and max ignore NaN, i32 by bit pattern */
    double min, max, mean, absmean;
    uint64_t n, stride, nonfinite;
    uint32_t sample_n;
    float samples[PSC_PROBE_SAMPLES]; /* not rounded: the writer rounds */
};
struct psc_probe {
    enum psc_probe_kind kind;
    psc_address at;
    uint64_t bytes;
    enum psc_dtype dtype;
    void *ret; /* HASH: uint64_t (psc_probe_hash of the bytes); STATS: struct psc_probe_stats; COPY: `bytes` bytes */
};
/* The hash and the statistics of bytes in host memory: the one definition for every backend. hash: fast, 64 bits, the
 * same on every machine; not FNV. Cost: hash at least 4 GB/s, stats at least 1 GB/s with AVX2 in the compiler's reach. */
uint64_t psc_probe_hash(const void *bytes, uint64_t n);
void psc_probe_stats_of(const void *bytes, uint64_t n_elements, enum psc_dtype dtype, struct psc_probe_stats *ret);

enum psc_query { PSC_QUERY_REPORTED, PSC_QUERY_FAILED, PSC_QUERY_NO_DEVICE };

struct psc_backend_config {
    unsigned threads;         /* host backends; 0: as many as the machine has cores */
    bool portable;            /* do not use AVX2 and friends */
    uint64_t timeout_ms;      /* longest wait for a queue; 0: 10,000 */
    uint64_t device_bytes;    /* how much memory a device has that is none (cuda-shim); 0: as much as the host */
};

struct psc_backend; /* an instance; each api has its own */

struct psc_backend_api {
    const char *name;         /* "cpu", "deferred", "cuda" */
    const char *file_name;    /* in minfer's files: "cpu", "metal", "cuda" */
    const char *text;         /* one line for people */
    unsigned id, priority;    /* registry order: cpu 0/100, metal (deferred) 1/300, cuda 2/200 */
    bool is_host;             /* addresses are host pointers */
    bool takes_blocks;        /* kernels, copies and probes take any memory of this process: blocks of arenas, too */
    bool fuses_decode;        /* models built for it use the fused decode ops by default */
    bool fails_late;          /* alloc found no room: the buffer stays without memory, and what uses it first fails. Else the
                                 mapping fails */
    /* NULL when it can execute here, else one sentence why not. */
    const char *(*unavailable)(void);
    /* Can it run the op as a node of that dtype? i32 inputs: false on cpu (the assignment puts them there all the same). */
    bool (*takes)(enum psc_op op, enum psc_dtype dtype, const struct psc_params *params);
    enum psc_status (*open)(const struct psc_backend_config *config, struct psc_backend **ret, struct psc_error *reterr);
    void (*close)(struct psc_backend *b); /* NULL is fine; frees all memory */

    /* ---- memory */
    enum psc_query (*memory)(struct psc_backend *b, uint64_t *ret_free, uint64_t *ret_total);
    /* At least 64-byte aligned, never moves, contents undefined. bytes > 0. */
    enum psc_status (*alloc)(struct psc_backend *b, uint64_t bytes, psc_address *ret, struct psc_error *reterr);
    void (*free)(struct psc_backend *b, psc_address at);
    /* From and to host memory, now: past the queue. */
    enum psc_status (*write)(struct psc_backend *b, psc_address at, const void *from, uint64_t bytes, struct psc_error *reterr);
    enum psc_status (*read)(struct psc_backend *b, psc_address at, void *to, uint64_t bytes, struct psc_error *reterr);
    /* The bytes as they are at this moment, whatever is queued: what a host sees that does not wait. NULL: as read does. */
    enum psc_status (*peek)(struct psc_backend *b, psc_address at, void *to, uint64_t bytes, struct psc_error *reterr);
    enum psc_status (*fill)(struct psc_backend *b, psc_address at, uint32_t pattern, uint64_t bytes, struct psc_error *reterr);
    /* Makes the weight readable by kernels. weight->data != NULL, no parts; idempotent by pointer. Host backends
     * borrow the bytes. */
    enum psc_status (*load_weight)(struct psc_backend *b, const struct psc_weight *weight, psc_address *ret, struct psc_error *reterr);

    /* ---- the queue */
    enum psc_status (*launch)(struct psc_backend *b, const struct psc_call *call, struct psc_error *reterr);
    /* Bytes of scratch that the kernel needs while it runs, for those who give it some: call.workspace. NULL: none. */
    uint64_t (*workspace)(struct psc_backend *b, const struct psc_call *call);
    enum psc_status (*probe)(struct psc_backend *b, const struct psc_probe *probe, struct psc_error *reterr);
    /* Moves bytes inside the backend, in queue order; ranges may overlap. */
    enum psc_status (*move)(struct psc_backend *b, psc_address to, psc_address from, uint64_t bytes, struct psc_error *reterr);
    /* Hands over what is queued; returns without waiting where the device allows that. */
    enum psc_status (*submit)(struct psc_backend *b, struct psc_error *reterr);
    /* submit, then wait for all of it, at most config.timeout_ms (an error that names the time). */
    enum psc_status (*synchronise)(struct psc_backend *b, struct psc_error *reterr);
    /* Whether the host has seen all that was launched and moved take effect. Asks nothing of the device. NULL: commands
     * take effect at once. */
    bool (*idle)(const struct psc_backend *b);

    /* ---- staged copies to another backend: enqueue, then wait at first use. The source backend does it. */
    /* Copies into `to` of backend `dst`. *ret_issued false: declined, nothing was done; the scheduler then makes a blocking
     * round trip over the host. NULL: always declined. The bytes at `to` are undefined until await_copy. */
    enum psc_status (*enqueue_copy)(struct psc_backend *b, psc_address from, uint64_t bytes,
                                    const struct psc_backend_api *dst_api, struct psc_backend *dst, psc_address to,
                                    uint64_t *ret_ticket, bool *ret_issued, struct psc_error *reterr);
    enum psc_status (*await_copy)(struct psc_backend *b, uint64_t ticket, struct psc_error *reterr);
    /* Copies enqueued and not yet awaited. */
    uint32_t (*copies_in_flight)(struct psc_backend *b);

    /* ---- capture and replay of a range of launches; all NULL: not supported, launches go direct */
    enum psc_status (*capture_begin)(struct psc_backend *b, struct psc_error *reterr);
    enum psc_status (*capture_end)(struct psc_backend *b, uint64_t *ret_recording, struct psc_error *reterr);
    void (*capture_abort)(struct psc_backend *b);
    enum psc_status (*replay)(struct psc_backend *b, uint64_t recording, struct psc_error *reterr);
    void (*drop_recording)(struct psc_backend *b, uint64_t recording);
};

#endif
