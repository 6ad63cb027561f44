/* tests/qwen.h: the graphs of a Qwen2 model as minfer builds them, made in code (core tests read no JSON).
 *
 *     qwen_prefill   440 nodes, 24 layers, 2 tokens, output rows reduced in the last layer
 *     qwen_decode    305 nodes, fused: QKV in 12 of 24 layers, FFN in all
 *     qwen_unfused   437 nodes, the same token without fused ops, on the CPU
 */
#ifndef PSC_TESTS_QWEN_H
#define PSC_TESTS_QWEN_H

#include "core/graph/graph.h"

struct qwen_options {
    const char *kind, *backend; /* "prefill" or "decode" */
    uint64_t tokens, width, heads, kv_heads, hd, ff, vocab, context;
    int32_t layers;
    bool fused;                 /* decode only */
};
extern const struct qwen_options qwen_prefill, qwen_decode, qwen_unfused;

/* In the arena; aborts when out of memory. */
struct psc_graph *qwen_graph(struct psc_arena *arena, const struct qwen_options *options);
/* True for the layers whose attn_v has another type than attn_q, so that QKV is not fused. */
bool qwen_mixed_layer(int32_t layer, int32_t layers);

#endif
