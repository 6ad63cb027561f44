#include "core/graph/op.h"

#include "core/base/mem.h"

#include <stddef.h>
#include <string.h>

#define ONE 1u
#define BOTH 3u

/* Columns: name, short name, sentence, fewest and most operands, view, kv, stores, loads,
 * may_overwrite, upstream_alias. */
static const struct psc_op_info the_ops[PSC_OP_N] = {
    [PSC_OP_OTHER] = {"other", "other", "An operation this program does not know; planned by its shape.",
                      0, -1, false, false, false, false, 0, 0},
    [PSC_OP_INPUT] = {"input", "input", "Filled by the host before the first node runs.",
                      0, 0, false, false, false, false, 0, 0},
    [PSC_OP_GET_ROWS] = {"get_rows", "rows", "Copies the rows that its index operand chooses.",
                         1, 2, false, false, false, false, 0, 0},
    [PSC_OP_RMS_NORM] = {"rms_norm", "norm", "Divides each row by its root mean square and scales it by a weight.",
                         1, 1, false, false, false, false, ONE, 0},
    [PSC_OP_QK_NORM] = {"qk_norm", "qknrm", "Root-mean-square norm of each attention head's part of a row.",
                        1, 1, false, false, false, false, ONE, 0},
    [PSC_OP_MATMUL] = {"matmul", "mm", "Multiplies each row by a weight matrix and adds the bias, if there is one.",
                       1, 2, false, false, false, false, 0, 0},
    [PSC_OP_ROPE] = {"rope", "rope", "Rotates pairs of features by an angle that grows with the position.",
                     1, 2, false, false, false, false, ONE, ONE},
    [PSC_OP_KV_STORE] = {"kvcache_store", "store", "Writes this pass's rows into the layer's K and V regions.",
                         1, 3, false, true, true, false, 0, 0},
    [PSC_OP_KV_LOAD] = {"kvcache_load", "load", "Names the layer's K and V regions; moves nothing.",
                        0, 1, false, true, false, true, 0, 0},
    [PSC_OP_ATTN] = {"attn", "attn", "Attention: weighs the cached V rows by how well their K rows match q.",
                     1, 5, false, false, false, true, 0, 0},
    [PSC_OP_ADD] = {"add", "add", "Adds two tensors element by element.",
                    2, 2, false, false, false, false, BOTH, 0},
    [PSC_OP_MUL] = {"mul", "mul", "Multiplies two tensors element by element.",
                    2, 2, false, false, false, false, BOTH, 0},
    [PSC_OP_SCALE] = {"scale", "scale", "Multiplies every element by one number.",
                      1, 1, false, false, false, false, ONE, 0},
    [PSC_OP_SILU] = {"silu", "silu", "x times its own sigmoid, element by element.",
                     1, 1, false, false, false, false, ONE, ONE},
    [PSC_OP_SOFTMAX] = {"softmax", "smax", "Turns each row into weights that sum to one.",
                        1, 1, false, false, false, false, ONE, 0},
    [PSC_OP_SWIGLU] = {"swiglu", "swigl", "silu(gate) times up, element by element.",
                       2, 2, false, false, false, false, BOTH, ONE},
    [PSC_OP_VIEW] = {"view", "view", "Another name for a window of its parent's bytes; moves nothing.",
                     1, 1, true, false, false, false, 0, 0},
    [PSC_OP_RESHAPE] = {"reshape", "reshp", "Its parent's bytes under another shape; moves nothing.",
                        1, 1, true, false, false, false, 0, 0},
    [PSC_OP_PERMUTE] = {"permute", "perm", "Its parent's bytes with the dimensions in another order; moves nothing.",
                        1, 1, true, false, false, false, 0, 0},
    [PSC_OP_BATCH_MATMUL] = {"batch_matmul", "bmm", "Multiplies two activations, matrix by matrix.",
                             2, 2, false, false, false, false, 0, 0},
    [PSC_OP_FUSED_QKV] = {"fused_qkv", "qkv", "One kernel: q, k and v with bias and rotation; it stores K and V itself.",
                          1, 3, false, false, true, false, 0, 0},
    [PSC_OP_FUSED_QKV_NORM] = {"fused_qkv_norm", "qkvn",
                               "One kernel: q, k and v with head norms and rotation; it stores K and V itself.",
                               1, 3, false, false, true, false, 0, 0},
    [PSC_OP_QKV_BIAS_ROPE_STORE] = {"qkv_bias_rope_store", "qkvrs",
                                    "Adds the biases, rotates q and k, stores K and V; its output is q.",
                                    3, 5, false, false, true, false, ONE, ONE},
    [PSC_OP_FUSED_FFN] = {"fused_ffn", "ffn", "One kernel: gate and up projections and silu(gate) times up.",
                          1, 1, false, false, false, false, 0, 0},
    [PSC_OP_FUSED_BIAS_ROPE] = {"fused_bias_rope", "brope", "Adds a bias and rotates (older exporters only).",
                                1, 3, false, false, false, false, ONE, 0},
    [PSC_OP_CONCAT] = {"concat", "cat", "Puts its operands one behind the other along one axis.",
                       1, -1, false, false, false, false, 0, 0},
};

const struct psc_op_info *psc_op_info(enum psc_op op)
{
    return &the_ops[(unsigned)op < PSC_OP_N ? op : PSC_OP_OTHER];
}

enum psc_op psc_op_from_name(const char *name)
{
    if (!name)
        return PSC_OP_OTHER;
    for (unsigned i = PSC_OP_OTHER + 1; i < PSC_OP_N; i++)
        if (the_ops[i].name[0] == name[0] && !strcmp(the_ops[i].name, name))
            return (enum psc_op)i;
    return PSC_OP_OTHER;
}

static const char *const the_dtypes[PSC_DTYPE_N] = {"f32", "f16", "i32", "q8_0", "bf16", "other"};

const char *psc_dtype_name(enum psc_dtype dtype)
{
    return the_dtypes[(unsigned)dtype < PSC_DTYPE_N ? dtype : PSC_DTYPE_OTHER];
}

enum psc_dtype psc_dtype_from_name(const char *name)
{
    if (name)
        for (unsigned i = 0; i < PSC_DTYPE_OTHER; i++)
            if (!strcmp(the_dtypes[i], name))
                return (enum psc_dtype)i;
    return PSC_DTYPE_OTHER;
}

bool psc_dtype_bytes(enum psc_dtype dtype, uint64_t elements, uint64_t *ret)
{
    switch (dtype) {
    case PSC_F16:
    case PSC_BF16:
        return psc_mul_u64(elements, 2, ret);
    case PSC_Q8_0:
        return psc_mul_u64(elements / 32 + (elements % 32 != 0), 34, ret);
    default:
        return psc_mul_u64(elements, 4, ret);
    }
}
