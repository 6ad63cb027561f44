/* core/run/graph-key.h: which graph a step needs. */
#ifndef PSC_CORE_RUN_GRAPH_KEY_H
#define PSC_CORE_RUN_GRAPH_KEY_H

#include "core/plan/kv-format.h"

/* Identity of a graph: whatever selects topology, kernels or layout. Positions, token ids and the number of sequences
 * are data and stand nowhere here. Compared field by field. */
struct psc_graph_key {
    uint32_t n_tokens, n_out, n_ctx;
    bool decode, explicit_span, kv_map, fuse_qkv, fuse_ffn;
    enum psc_kv_format kv_format;
    uint64_t assignment;      /* hash of the backend spec */
    uint64_t weights_version; /* 1 */
};
bool psc_graph_key_equal(const struct psc_graph_key *a, const struct psc_graph_key *b);

#endif
