/* core/graph/kv-map.h: how many runs of cells one token of a kv_map input may name: the graph builder, the policies of the
 * cache, the bounds of a step's rows and the kernels agree on it. A run is two words, cell and length; length 0 is padding. */
#ifndef PSC_CORE_GRAPH_KV_MAP_H
#define PSC_CORE_GRAPH_KV_MAP_H

#define PSC_KV_MAP_RUNS 4u

#endif
