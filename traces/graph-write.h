/* traces/graph-write.h: a graph as minfer writes it, into a document under construction (private to traces/).
 */
#ifndef PSC_TRACES_GRAPH_WRITE_H
#define PSC_TRACES_GRAPH_WRITE_H

#include "core/graph/graph.h"
#include "traces/json-write.h"

/* Called after each node with ctx; may empty j->out. NULL: never. */
typedef void (*psc_flush_fn)(void *ctx, struct psc_json *j);

/* kind and model are used when the graph has none. */
void psc_graph_write_json(struct psc_json *j, const struct psc_graph *g, const char *kind, const char *model,
                          psc_flush_fn flush, void *ctx);

/* Members kept from a file (`"k":v,"k2":v2`, NULL: none) whose keys stand between two known keys in
 * alphabetical order (NULL: before the first, after the last), in the order of the file. */
void psc_extra_write(struct psc_json *j, const char *extra, const char *after, const char *before);

#endif
