/* core/graph/fingerprint.h: is it the same graph? 128 bits for all that planning and execution depend on but sizes, and
 * 64 bits for the sizes.
 *
 *     the same nodes, another operand           shape differs
 *     an output mark added                      shape differs
 *     the same model for one token more         sizes differ, shape does not
 *
 * shape: ops, dtypes, backends by name, operands in order, hidden order edges, inputs and outputs as marked, which node a
 * view shows, layers. sizes: bytes of every node and offsets of views. Names, ids, texts of the file and parameters of ops
 * are in neither: they change what is computed, not where it lies.
 *
 * Not a secret hash: graphs that were made to collide may. Two graphs by chance: 2^-128. Who keeps the graph itself needs
 * no fingerprint: it is immutable, the same address is the same graph. Cost: O(nodes + edges), some ns a node, no memory.
 */
#ifndef PSC_CORE_GRAPH_FINGERPRINT_H
#define PSC_CORE_GRAPH_FINGERPRINT_H

#include "core/graph/graph.h"

struct psc_fingerprint {
    uint64_t shape[2], sizes;
};
struct psc_fingerprint psc_graph_fingerprint(const struct psc_graph *graph);

static inline bool psc_fingerprint_same_shape(const struct psc_fingerprint *a, const struct psc_fingerprint *b)
{
    return a->shape[0] == b->shape[0] && a->shape[1] == b->shape[1];
}
static inline bool psc_fingerprint_equal(const struct psc_fingerprint *a, const struct psc_fingerprint *b)
{
    return psc_fingerprint_same_shape(a, b) && a->sizes == b->sizes;
}

#endif
