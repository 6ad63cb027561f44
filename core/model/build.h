/* core/model/build.h: the graph of one forward pass, every node and name as minfer builds it.
 *
 *     token_ids 0, positions 1, embed 2, then for each layer (18 nodes for Qwen2, 20 for Qwen3):
 *     rms, mm q k v [qk_norm q k], rope q k, kv_store, kv_load, attn, mm o, add, rms, mm gate up, silu, mul, mm down, add
 *     last layer, n_out < n_tokens: tail_ids, get_rows(o), get_rows(residual) before the first add
 *     rms, mm logits (the one output)
 *
 *     qwen2.5-0.5b   440 nodes prefill, 437 decode, 305 decode with both fusions (12 layers of mixed types keep q k v)
 *     qwen3-0.6b     568 nodes prefill, 565 decode, 285 fused
 *
 * The graph has no backends and mul instead of swiglu: psc_graph_assign and psc_graph_fuse follow (or
 * psc_model_graph_on, which does all three). Every node of a block carries its layer; inputs, embedding and tail do not.
 * Topology follows from the options and the weights alone: positions, ids and the number of sequences are data.
 *
 * How attention finds its rows:
 *     POSITIONS  kv_store(k, v, positions), attn(q, kv, positions): row = position, window 0 .. position. As published
 *     SPAN       kv_store(k, v, cells), attn(q, kv, positions, attn_span): i32 [2 n_tokens], first the begins, then the ends
 *     MAP        the same with kv_map: i32 [8 n_tokens], for each token 4 runs (first cell, length), zero padded
 * cells [n_tokens], attn_span or kv_map, and seq_ids [n_tokens] (which nobody reads) are made at their first use, in layer 0.
 *
 * Fused ops, decode (n_tokens 1) only; the flags ask, the weights decide:
 *     fuse_qkv         qwen2: fused_qkv where blk.N.attn_qkv exists (see model.h); qwen3: fused_qkv_norm likewise
 *     bias_rope_store  qwen2, with fuse_qkv: where it does not exist, q k v without bias and qkv_bias_rope_store
 *     fuse_ffn         fused_ffn where blk.N.ffn_gu exists and n_ff <= 16384
 * and, in psc_model_graph_on, the target of the block: it must take the op and fuse for decode at all, so that of a mixed
 * plan the blocks on the device are fused and those on the cpu are not.
 *
 * Ownership: the graph lies in the arena. Cost: O(nodes).
 */
#ifndef PSC_CORE_MODEL_BUILD_H
#define PSC_CORE_MODEL_BUILD_H

#include "core/graph/assign.h"
#include "core/graph/kv-map.h"
#include "core/model/model.h"

/* The second node of every graph: the input `positions`, one for each token. Said of a run that is refused before it has a graph. */
#define PSC_MODEL_POSITIONS 1u
#define PSC_FUSED_FFN_MAX 16384u /* widest n_ff that is fused */

enum { PSC_FUSE_QKV = 1, PSC_FUSE_QKV_NORM = 2, PSC_FUSE_BIAS_ROPE = 4, PSC_FUSE_FFN = 8, PSC_FUSE_ALL = 15 };
enum psc_kv_inputs { PSC_KV_POSITIONS, PSC_KV_SPAN, PSC_KV_MAP, PSC_KV_INPUTS_N };

struct psc_model_graph_options {
    uint64_t n_tokens;  /* > 0; 1 is a decode graph */
    uint64_t n_out;     /* 1 .. n_tokens: rows of the logits, the ones that tail_ids names when fewer than n_tokens; 0: 1 */
    uint64_t n_ctx;     /* rows of every KV region, see psc_model_n_ctx */
    enum psc_kv_inputs kv_inputs;
    uint64_t row_elems; /* 4-byte words of one stored cell (psc_kv_row_words); 0: n_kv, and files do not say it */
    bool fuse_qkv, fuse_ffn, bias_rope_store;
    const uint8_t *layer_fuse; /* [n_layer], bits PSC_FUSE_*: what each block may use. NULL: everything */
    bool head_inputs;   /* tail_ids stands third, as in newer versions; else where it is first read */
};

enum psc_status psc_model_graph(struct psc_arena *arena, const struct psc_model *model,
                                const struct psc_model_graph_options *options, struct psc_graph **ret,
                                struct psc_error *reterr) PSC_MUST_CHECK;
/* Built, assigned and fused. layer_fuse NULL: as the targets say. */
enum psc_status psc_model_graph_on(struct psc_arena *arena, const struct psc_model *model,
                                   const struct psc_model_graph_options *options, const struct psc_target *targets,
                                   uint32_t target_n, const struct psc_offload *offload, struct psc_graph **ret,
                                   struct psc_error *reterr) PSC_MUST_CHECK;

#endif
