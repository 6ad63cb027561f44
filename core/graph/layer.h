/* core/graph/layer.h: which transformer block a node belongs to; for the files of core/graph only.
 *
 * Files number few nodes themselves. The others get their block from the weight they read
 * ("blk.6.ffn_up.weight"), and those without a weight (rope, add, silu, a row gather) from their operands:
 * the largest block among them. A weight outside the blocks (embedding, last norm, logits) means no block.
 */
#ifndef PSC_CORE_GRAPH_LAYER_H
#define PSC_CORE_GRAPH_LAYER_H

#include "core/graph/graph.h"

/* N of the first "blk.N." or "layers.N." in text, -1 when there is none. text may be NULL. */
int32_t psc_layer_in_text(const char *text);

/* Fills nodes[i].layer; on entry it is the file's number or -1. Returns the first KV node for which no
 * block was found (it gets block 0), or PSC_NONE. */
psc_node psc_layers_assign(struct psc_node_info *nodes, uint32_t n, const psc_node *srcs);

#endif
