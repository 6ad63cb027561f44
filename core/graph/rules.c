#include "core/graph/rules.h"

#include "core/base/mem.h"

#include <string.h>

static const struct psc_params no_params;

/* The first dimension of what the op makes, from its payload; 0 when the payload lacks a number. */
static uint64_t width_made(enum psc_op op, const struct psc_params *p)
{
    uint64_t twice, sum = 0;
    switch (op) {
    case PSC_OP_MATMUL:
        return p->out_dim;
    case PSC_OP_ATTN:
        return psc_mul_u64(p->n_head, p->hd, &sum) ? sum : 0;
    case PSC_OP_FUSED_QKV:
    case PSC_OP_FUSED_QKV_NORM:
        return p->nqt && p->nkt && psc_mul_u64(p->nkt, 2, &twice) && psc_add_u64(p->nqt, twice, &sum) ? sum : 0;
    case PSC_OP_FUSED_FFN:
        return psc_mul_u64(p->nf, 2, &sum) ? sum : 0;
    default:
        return 0;
    }
}

static bool concat_shape(const struct psc_params *p, const uint64_t (*src)[4], uint32_t src_n, uint64_t ret[4])
{
    if (p->dim < -4 || p->dim > 3)
        return false;
    int axis = p->dim < 0 ? p->dim + 4 : p->dim;
    uint64_t sum = 0;
    for (uint32_t k = 0; k < src_n; k++) {
        for (int d = 0; d < 4; d++)
            if (d != axis && src[k][d] != src[0][d])
                return false;
        if (!psc_add_u64(sum, src[k][axis], &sum))
            return false;
    }
    memcpy(ret, src[0], 4 * sizeof *ret);
    ret[axis] = sum;
    return true;
}

bool psc_op_shape(enum psc_op op, const struct psc_params *params, const uint64_t (*src)[4], uint32_t src_n,
                  uint64_t ret[4])
{
    const struct psc_params *p = params ? params : &no_params;
    uint64_t rows;
    if (!src_n)
        return false;
    switch (op) {
    case PSC_OP_ADD:
    case PSC_OP_MUL:
    case PSC_OP_SCALE:
    case PSC_OP_SILU:
    case PSC_OP_SOFTMAX:
    case PSC_OP_RMS_NORM:
    case PSC_OP_QK_NORM:
    case PSC_OP_ROPE:
    case PSC_OP_SWIGLU:
    case PSC_OP_FUSED_BIAS_ROPE:
    case PSC_OP_QKV_BIAS_ROPE_STORE:
        memcpy(ret, src[0], 4 * sizeof *ret);
        return true;
    case PSC_OP_MATMUL:
    case PSC_OP_ATTN:
    case PSC_OP_FUSED_QKV:
    case PSC_OP_FUSED_QKV_NORM:
    case PSC_OP_FUSED_FFN:
        if (!width_made(op, p))
            return false;
        ret[0] = width_made(op, p);
        memcpy(ret + 1, src[0] + 1, 3 * sizeof *ret);
        return true;
    case PSC_OP_GET_ROWS:
        if (src_n != 2 || !psc_mul_u64(src[1][0], src[1][1], &rows))
            return false;
        ret[0] = src[0][0];
        ret[1] = rows;
        ret[2] = ret[3] = 1;
        return true;
    case PSC_OP_CONCAT:
        return concat_shape(p, src, src_n, ret);
    default:
        return false;
    }
}

/* The span of the first `width` features of every row of a tensor: less than all of it only when it has
 * one row, because rows lie one behind the other. */
static uint64_t front(const struct psc_node_info *from, uint64_t width)
{
    uint64_t bytes;
    if (!width || width >= from->shape[0] || from->elements != from->shape[0])
        return from->bytes;
    return psc_dtype_bytes(from->dtype, width, &bytes) && bytes < from->bytes ? bytes : from->bytes;
}

struct psc_reading psc_op_reading(const struct psc_graph *g, psc_node node, uint32_t operand)
{
    const struct psc_node_info *reader = &g->nodes[node];
    const struct psc_node_info *from = &g->nodes[psc_node_srcs(g, node)[operand]];
    struct psc_reading all = {PSC_ACCESS_FULL, 0, from->bytes};
    switch (reader->op) {
    case PSC_OP_KV_LOAD:
    case PSC_OP_VIEW:
    case PSC_OP_RESHAPE:
    case PSC_OP_PERMUTE:
        return (struct psc_reading){PSC_ACCESS_NONE, 0, 0};
    case PSC_OP_GET_ROWS:
        if (operand == 0 && reader->src_n == 2)
            all.access = PSC_ACCESS_ROWS;
        return all;
    case PSC_OP_ATTN:
        if (from->op == PSC_OP_KV_LOAD)
            all.access = PSC_ACCESS_ROWS;
        else if (operand == 0)
            all.hi = front(from, width_made(PSC_OP_ATTN, reader->params));
        return all;
    case PSC_OP_MATMUL:
        if (operand == 0)
            all.hi = front(from, reader->params->in_dim);
        return all;
    default:
        return all;
    }
}
