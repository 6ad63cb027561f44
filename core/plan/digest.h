/* core/plan/digest.h: the nodes as the graph packs them, and the few lists that save passes over all.
 *
 *     0 x   input  16 B   filled
 *     1 s   store  64 B   kv, asks for a region       -> kv[0]
 *     2 v   view    8 B   parent 0, root 0            -> has_views
 *
 * Nodes without a backend get the one of their split, in a copy. Ownership: the arenas passed in, and the graph. Cost: O(1)
 * where no list is to be made, else O(nodes).
 */
#ifndef PSC_CORE_PLAN_DIGEST_H
#define PSC_CORE_PLAN_DIGEST_H

#include "core/graph/graph.h"

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

/* PSC_ERR_NOMEM. splits lie in `arena`, what else is made in `scratch`. */
enum psc_status psc_digest_build(struct psc_arena *arena, struct psc_arena *scratch, const struct psc_graph *graph,
                                 struct psc_digest *ret) PSC_MUST_CHECK;

/* The same question of a single node. */
static inline bool psc_node_is_filled(const struct psc_node_info *node)
{
    return node->is_input || node->op == PSC_OP_INPUT;
}

#endif
