/* core/graph/op.h: the vocabulary of operations and what each does to memory.
 *
 * Source of the list: minfer's IR (op name in files, operands in src order). An op outside the
 * list is PSC_OP_OTHER: its text is kept and it is planned by its shape, as an op that reads
 * every operand to the end before it writes.
 */
#ifndef PSC_CORE_GRAPH_OP_H
#define PSC_CORE_GRAPH_OP_H

#include <stdbool.h>
#include <stdint.h>

enum psc_op {
    PSC_OP_OTHER = 0, /* unknown text: kept, planned by shape */
    PSC_OP_INPUT,
    PSC_OP_GET_ROWS, /* embedding form (1 src, meta.weight) or row gather (x, ids) */
    PSC_OP_RMS_NORM,
    PSC_OP_QK_NORM,
    PSC_OP_MATMUL,
    PSC_OP_ROPE,
    PSC_OP_KV_STORE, /* kvcache_store */
    PSC_OP_KV_LOAD,  /* kvcache_load: no src, executes as nothing */
    PSC_OP_ATTN,
    PSC_OP_ADD,
    PSC_OP_MUL,
    PSC_OP_SCALE,
    PSC_OP_SILU,
    PSC_OP_SOFTMAX,
    PSC_OP_SWIGLU,
    PSC_OP_VIEW,
    PSC_OP_RESHAPE,
    PSC_OP_PERMUTE,
    PSC_OP_BATCH_MATMUL,
    PSC_OP_FUSED_QKV,
    PSC_OP_FUSED_QKV_NORM,
    PSC_OP_QKV_BIAS_ROPE_STORE,
    PSC_OP_FUSED_FFN,
    PSC_OP_FUSED_BIAS_ROPE, /* older exporters only */
    PSC_OP_CONCAT,          /* along axis 0 unless detail.axis says otherwise */
    PSC_OP_N
};

/* How an op reads one operand. */
enum psc_access {
    PSC_ACCESS_NONE,
    PSC_ACCESS_FULL, /* every byte of the operand's window */
    PSC_ACCESS_ROWS, /* rows chosen by data (embedding gather, KV window) */
};

struct psc_op_info {
    const char *name;       /* as files spell it: "kvcache_store" */
    const char *short_name; /* at most 5 letters, for narrow rulers: "store" */
    const char *word;       /* one sentence for the inspector */
    int src_min, src_max;   /* operands; src_max -1 = any number */
    bool is_view;           /* view, reshape, permute: bytes are the parent's */
    bool is_kv;             /* its place is the layer's persistent K region, not a pool buffer */
    bool stores_kv;         /* writes rows of both regions of its layer */
    bool loads_kv;          /* reads rows of both regions of its layer */
    /* Operands (bit k = src k) that may lie on exactly the output's bytes: the result is right when
     * the op overwrites this operand. Element-wise and row-wise ops only. */
    uint32_t may_overwrite;
    /* Operands that minfer's allocator aliases: silu, rope, qkv_bias_rope_store: 1; swiglu: 1, but
     * only when that operand is a view. */
    uint32_t upstream_alias;
};

/* Never NULL; PSC_OP_OTHER for an unknown text. */
const struct psc_op_info *psc_op_info(enum psc_op op);
enum psc_op psc_op_from_name(const char *name);

enum psc_dtype { PSC_F32 = 0, PSC_F16, PSC_I32, PSC_Q8_0, PSC_BF16, PSC_DTYPE_OTHER, PSC_DTYPE_N };
const char *psc_dtype_name(enum psc_dtype dtype);
enum psc_dtype psc_dtype_from_name(const char *name); /* PSC_DTYPE_OTHER when unknown */
/* Bytes of n elements: f32, i32 4; f16, bf16 2; q8_0 34 for each 32, rounded up; other counts as 4.
 * false on overflow. */
bool psc_dtype_bytes(enum psc_dtype dtype, uint64_t elements, uint64_t *ret);

#endif
