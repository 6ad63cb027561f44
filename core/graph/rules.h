/* core/graph/rules.h: what shape each op makes of its operands, and which bytes of them it reads.
 *
 *     op                        out shape                    reads
 *     add mul scale silu softmax, rms_norm qk_norm rope swiglu, fused_bias_rope
 *                               that of operand 0            all of each operand
 *     matmul                    [out_dim, rest of operand 0] all; of a wider operand the first in_dim features
 *     get_rows(ids)             (width of the weight)        all of the ids
 *     get_rows(x, ids)          [x.d0, ids]                  rows of x, all of the ids
 *     attn(q, kv, ...)          [n_head * hd, tokens]        the first n_head * hd features of q; rows of K and V
 *     kvcache_store             [n_embd, n_ctx]              all; writes rows of K and V
 *     kvcache_load              [n_embd, n_ctx]              nothing
 *     view, reshape, permute    as stated                    nothing: they name bytes
 *     fused_qkv(_norm)          [nqt + 2 nkt, tokens]        all; writes rows of K and V
 *     qkv_bias_rope_store       that of q                    all; writes rows of K and V
 *     fused_ffn                 [2 nf, tokens]               all
 *     concat                    sums along its axis          all
 *     batch_matmul, unknown     as stated                    all
 *
 * A file's own shape always wins; a rule that it breaks is a note (psc_graph_from_draft).
 */
#ifndef PSC_CORE_GRAPH_RULES_H
#define PSC_CORE_GRAPH_RULES_H

#include "core/graph/graph.h"

/* false when the op has no rule, or the rule needs a number that params does not have, or the shape
 * overflows: ret is then untouched. params may be NULL. */
bool psc_op_shape(enum psc_op op, const struct psc_params *params, const uint64_t (*src)[4], uint32_t src_n,
                  uint64_t ret[4]);

/* What `node` reads of one of its operands. lo, hi: bytes of the operand's own window, half-open; the least
 * span that holds all that is read. */
struct psc_reading {
    enum psc_access access;
    uint64_t lo, hi;
};
struct psc_reading psc_op_reading(const struct psc_graph *g, psc_node node, uint32_t operand);

#endif
