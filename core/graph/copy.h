/* core/graph/copy.h: a graph of one's own, for who must outlive the arena that a graph lies in. */
#ifndef PSC_CORE_GRAPH_COPY_H
#define PSC_CORE_GRAPH_COPY_H

#include "core/graph/graph.h"

/* Copies the graph and all that it points to, texts too. Cost: O(nodes + edges + texts). */
enum psc_status psc_graph_copy(struct psc_arena *arena, const struct psc_graph *graph, struct psc_graph **ret,
                               struct psc_error *reterr) PSC_MUST_CHECK;

#endif
