/* core/graph/edges.h: adjacency in compressed rows, for the files of core/graph only.
 *
 *     sources of node i: to[at[i]] .. to[at[i + 1] - 1]
 *
 * All results lie in the arena given. Cost: O(nodes + edges); no recursion.
 */
#ifndef PSC_CORE_GRAPH_EDGES_H
#define PSC_CORE_GRAPH_EDGES_H

#include "core/graph/graph.h"

struct psc_edges {
    uint32_t n;
    const uint32_t *at; /* [n + 1] */
    const psc_node *to;
};

/* Readers from sources: ascending, one entry for each entry of `src`. false when out of memory. */
bool psc_edges_reverse(struct psc_arena *arena, const struct psc_edges *src, struct psc_edges *ret);

/* Kahn: first in first out, seeded by ascending index, readers in their order. order_ret[n] gets *ret_n
 * nodes; fewer than n when there is a cycle. false when out of memory. */
bool psc_edges_kahn(struct psc_arena *arena, const struct psc_edges *src, const struct psc_edges *readers,
                    psc_node *order_ret, uint32_t *ret_n);

/* Reports cycles as faults, "cycle: 1 -> 2 -> 3 -> 1" (data flows along the arrows; ids of the draft): for
 * each strongly connected part the shortest cycle through its first node, then through the first node that
 * no cycle told so far goes through, at most eight. */
enum psc_status psc_edges_report_cycles(struct psc_arena *arena, const struct psc_edges *src,
                                        const struct psc_edges *readers, const struct psc_draft *draft,
                                        struct psc_report *report);

#endif
