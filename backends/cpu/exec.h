/* backends/cpu/exec.h: runs one call on host memory. The cpu backend does so at once, the deferred one at submit.
 *
 *     prepare   operands, shapes, payload and weights make sense; scratch is grown. Reads no data, writes nothing
 *     run       ids, positions and windows are inside their bounds; only then the kernel writes. Allocates nothing
 *
 * A call that fails in either step leaves memory as it was. But what was inside its bounds need not stay there: a kernel
 * whose result lies over its own ids (a wrong plan, no snapshots) overwrites them while it reads them. So every index is
 * bounded once more where it is used (psc_cpu_within); what has strayed is skipped, and the call fails when its kernel has
 * ended. Every sentence begins with the node:
 * "node 4 (kv_store.0, kvcache_store): row 8, but the region has 8 (n_ctx)".
 *
 * An op is a row of the table in exec.c: three functions. check and data come in that order and may be NULL.
 */
#ifndef PSC_BACKENDS_CPU_EXEC_H
#define PSC_BACKENDS_CPU_EXEC_H

#include "backends/cpu/scratch.h"
#include "backends/cpu/threads.h"
#include "backends/cpu/vec.h"
#include "core/run/backend.h"

/* Cosines and sines of the positions that were rotated last, kept because every layer rotates by the same ones. Known by
 * content: positions and payload are compared, so nothing can outlive its truth. */
struct psc_cpu_angles {
    float *turn;         /* [tokens][hd]: cosines of the pairs, then sines */
    int32_t *positions;  /* [tokens] */
    double *freq;        /* [hd / 2] */
    uint64_t turn_cap, token_cap, freq_cap; /* elements; the arrays are owned */
    uint64_t tokens, hd; /* what is there; 0: nothing */
    float base, scale;
};

struct psc_cpu_exec {
    struct psc_cpu_pool *threads, *one; /* owned; `one` has a single worker, for calls whose operands overlap */
    const struct psc_cpu_vec *vec;
    struct psc_cpu_scratch scratch;
    struct psc_cpu_angles angles;
    bool portable;
};

enum psc_status psc_cpu_exec_open(const struct psc_backend_config *config, struct psc_cpu_exec *ret,
                                  struct psc_error *reterr) PSC_MUST_CHECK;
void psc_cpu_exec_close(struct psc_cpu_exec *exec); /* {0} is fine */

enum psc_status psc_cpu_exec_prepare(struct psc_cpu_exec *exec, const struct psc_call *call,
                                     struct psc_error *reterr) PSC_MUST_CHECK;
/* Bytes of scratch that the call needs, room to align it included; 0: none, or the call is wrong. */
uint64_t psc_cpu_exec_workspace(const struct psc_cpu_exec *exec, const struct psc_call *call);
/* Prepared since the scratch was made, by this exec. */
enum psc_status psc_cpu_exec_run(struct psc_cpu_exec *exec, const struct psc_call *call,
                                 struct psc_error *reterr) PSC_MUST_CHECK;
/* For backends with memory of their own: the checks of prepare alone, without scratch; and those of run, for a checked call
 * whose operands were copied to the host. */
enum psc_status psc_cpu_exec_check(const struct psc_cpu_exec *exec, const struct psc_call *call, bool *ret_idle,
                                   struct psc_error *reterr) PSC_MUST_CHECK;
enum psc_status psc_cpu_exec_check_data(struct psc_cpu_exec *exec, const struct psc_call *call,
                                        struct psc_error *reterr) PSC_MUST_CHECK;
/* Fills a probe's result from host memory. */
void psc_cpu_exec_probe(const struct psc_probe *probe);

/* ---- for the ops ----------------------------------------------------------------------------- */

/* The first index that was no longer inside its bounds when a kernel used it. */
struct psc_cpu_strayed {
    bool any;
    int64_t at, n;          /* as they were found: n rows from row `at` on */
    uint64_t place, bound;  /* of which token; there are rows [0, bound) */
};
/* A call while it runs: operands possibly snapshotted, workers chosen. */
struct psc_cpu_run {
    struct psc_cpu_exec *exec;
    struct psc_cpu_pool *threads;
    const struct psc_cpu_vec *vec;
    const struct psc_call *call;
    const struct psc_window *in; /* use these, not call->in */
    struct psc_cpu_strayed *strayed;
};
/* What check finds out for prepare. */
struct psc_cpu_plan {
    const struct psc_cpu_exec *exec;
    struct psc_cpu_needs needs;
    uint64_t angle_tokens, angle_hd; /* room for angles */
};
struct psc_cpu_op {
    enum psc_status (*check)(const struct psc_call *call, struct psc_cpu_plan *plan, struct psc_error *reterr);
    enum psc_status (*data)(const struct psc_cpu_run *run, struct psc_error *reterr);
    void (*run)(const struct psc_cpu_run *run);
};
/* Are rows [at, at + n) of bound, which token `place` names, there? If not it is noted, and the kernel leaves them out. Words
 * change under a kernel only where its result lies over them, and then it has one worker: nobody else writes here. */
bool psc_cpu_within(const struct psc_cpu_run *run, int64_t at, int64_t n, uint64_t bound, uint64_t place);
extern const struct psc_cpu_op psc_cpu_add, psc_cpu_mul, psc_cpu_scale, psc_cpu_silu, psc_cpu_swiglu, psc_cpu_softmax,
    psc_cpu_rms_norm, psc_cpu_qk_norm, psc_cpu_rope, psc_cpu_bias_rope, psc_cpu_get_rows, psc_cpu_concat, psc_cpu_view,
    psc_cpu_reshape, psc_cpu_permute, psc_cpu_product, psc_cpu_batch_product, psc_cpu_store, psc_cpu_load, psc_cpu_attn,
    psc_cpu_fused_qkv, psc_cpu_bias_rope_store, psc_cpu_fused_ffn;

/* "node 4 (kv_store.0, kvcache_store): ..." */
enum psc_status psc_cpu_refuse(const struct psc_call *call, struct psc_error *reterr, enum psc_status status,
                               const char *fmt, ...) PSC_PRINTF(4, 5);

static inline float *psc_cpu_floats(const struct psc_window *w)
{
    return (float *)(uintptr_t)w->at;
}
static inline const int32_t *psc_cpu_words(const struct psc_window *w)
{
    return (const int32_t *)(uintptr_t)w->at;
}
/* Elements of a window: its bytes hold 4-byte words. */
static inline uint64_t psc_cpu_elements(const struct psc_window *w)
{
    return w->bytes / 4;
}
/* Rows of shape[0] elements. */
static inline uint64_t psc_cpu_rows(const struct psc_window *w)
{
    return w->shape[0] ? psc_cpu_elements(w) / w->shape[0] : 0;
}

/* At least n operands, of which the first n are there. */
enum psc_status psc_cpu_need_operands(const struct psc_call *call, uint32_t n, struct psc_error *reterr);
/* Operand k holds numbers (f32) / holds words (i32, or f32 whose words are bit patterns). */
enum psc_status psc_cpu_need_numbers(const struct psc_call *call, uint32_t k, struct psc_error *reterr);
enum psc_status psc_cpu_need_words(const struct psc_call *call, uint32_t k, uint64_t n, struct psc_error *reterr);
/* Operand k and the output have as many elements. */
enum psc_status psc_cpu_need_same_size(const struct psc_call *call, uint32_t k, struct psc_error *reterr);
/* The weight is bound, has bytes and a type that is computed with, and rows of whole blocks. name: what the graph
 * calls it, may be NULL; what: "weight", "bias", "q_norm". */
enum psc_status psc_cpu_need_weight(const struct psc_call *call, const struct psc_bound_weight *w, const char *what,
                                    const char *name, struct psc_error *reterr);
/* The same for a vector of n values that may be missing: nothing bound and no name in the graph. Adds the scratch that
 * psc_cpu_vector takes. */
enum psc_status psc_cpu_need_vector(const struct psc_call *call, const struct psc_bound_weight *w, const char *what,
                                    const char *name, uint64_t n, struct psc_cpu_plan *plan, struct psc_error *reterr);
/* Its floats: in place or decoded into scratch; NULL when it is missing. */
const float *psc_cpu_vector(const struct psc_cpu_run *run, const struct psc_bound_weight *w);

/* Rope, shared with the fused ops. Rows of `heads` heads of hd floats each. */
enum psc_status psc_cpu_need_rope(const struct psc_call *call, uint64_t tokens, struct psc_cpu_plan *plan,
                                  struct psc_error *reterr);
void psc_cpu_angles_of(const struct psc_cpu_run *run, const int32_t *positions, uint64_t tokens);
void psc_cpu_rope_rows(const struct psc_cpu_run *run, const float *x, uint64_t x_stride, const float *bias, float *out,
                       uint64_t out_stride, uint64_t width, uint64_t tokens); /* with the angles of the last call */
enum psc_status psc_cpu_angles_reserve(struct psc_cpu_angles *angles, uint64_t tokens, uint64_t hd,
                                       struct psc_error *reterr);
void psc_cpu_angles_release(struct psc_cpu_angles *angles);

/* Norm of rows of n floats, n <= 65,536 rows a grain; out may be x. */
void psc_cpu_norm_rows(const struct psc_cpu_run *run, const float *x, uint64_t x_stride, const float *weight,
                       const float *bias, float *out, uint64_t out_stride, uint64_t n, uint64_t rows);

/* KV rows. cells: words, one a token. */
enum psc_status psc_cpu_need_kv(const struct psc_call *call, uint64_t width, struct psc_error *reterr);
enum psc_status psc_cpu_check_cells(const struct psc_call *call, const int32_t *cells, uint64_t tokens,
                                    struct psc_error *reterr);
void psc_cpu_store_rows(const struct psc_cpu_run *run, psc_address region, const float *x, uint64_t x_stride,
                        const int32_t *cells, uint64_t tokens);

/* Product with a weight or with the parts of one, laid side by side in the output's row. bias: one a part, or NULL. */
enum psc_status psc_cpu_need_product(const struct psc_call *call, uint64_t in, uint64_t tokens,
                                     struct psc_cpu_plan *plan, struct psc_error *reterr);
uint64_t psc_cpu_product_width(const struct psc_weight *weight); /* rows of all parts */
void psc_cpu_multiply(const struct psc_cpu_run *run, const struct psc_window *x, const float *const *bias, float *out,
                      uint64_t out_stride, uint64_t tokens);

/* Rows worth a worker of their own when each costs `cost` element steps. */
static inline uint64_t psc_cpu_grain(uint64_t cost)
{
    return cost >= 8192 ? 1 : 8192 / (cost ? cost : 1);
}

#endif
