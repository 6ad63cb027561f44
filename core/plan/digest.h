/* core/plan/digest.h: what planning needs of each node, packed, and the few lists that save passes over all.
 *
 * A graph's nodes are several cache lines each; the planner visits them many times. One pass packs what it
 * asks for into 32 bytes a node:
 *
 *     0 x   input  16 B   filled
 *     1 s   store  64 B   kv, asks for a region       -> kv[0]
 *     2 v   view    8 B   parent 0, root 0            -> has_views
 *
 * Nodes without a backend get the one of their split. Ownership: the arena passed in. Cost: O(nodes).
 */
#ifndef PSC_CORE_PLAN_DIGEST_H
#define PSC_CORE_PLAN_DIGEST_H

#include "core/graph/graph.h"

enum {
    PSC_DIGEST_FILLED = 1,  /* the host writes its bytes before position 0 */
    PSC_DIGEST_OUTPUT = 2,
    PSC_DIGEST_KV = 4,      /* lies in the region of its layer */
    PSC_DIGEST_STORES = 8,  /* writes the regions of its layer */
    PSC_DIGEST_IN_PLACE = 16, /* minfer's allocator may put it over operand 0 */
};

struct psc_digest_node {
    uint64_t bytes;
    uint32_t src_at, src_n;
    psc_node parent, root; /* as in the graph */
    uint32_t reader_n;
    uint8_t op, backend, flags, pad;
};
struct psc_digest {
    const struct psc_digest_node *nodes; /* [n] */
    uint32_t n;
    const psc_node *filled; /* nodes that the host fills: as the graph lists its inputs, then others */
    uint32_t filled_n;
    const psc_node *kv;     /* nodes that ask for regions, ascending */
    uint32_t kv_n;
    const struct psc_split *splits;
    uint32_t split_n;
    bool has_views;
};

/* PSC_ERR_NOMEM. splits lie in `arena`, the rest in `scratch`. */
enum psc_status psc_digest_build(struct psc_arena *arena, struct psc_arena *scratch, const struct psc_graph *graph,
                                 struct psc_digest *ret) PSC_MUST_CHECK;

/* The same question of a single node. */
static inline bool psc_node_is_filled(const struct psc_node_info *node)
{
    return node->is_input || node->op == PSC_OP_INPUT;
}

#endif
