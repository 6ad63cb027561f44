/* traces/graph-settings.h: `detail` and `meta` of a node that no file gave: as minfer writes them for its op.
 *
 *     matmul    "detail":{"transpose_b":false}   "meta":{"bias":null,"in_dim":896,"out_dim":128,"weight":"...","wtype":"q5_0"}
 *     add       "detail":{}                      "meta":{}
 *
 * The table in graph-settings.c has each op's keys, in alphabetical order. Keys that only newer versions know
 * (explicit_span, row_elems) are written when they say something. What is written is read back as the same parameters.
 */
#ifndef PSC_TRACES_GRAPH_SETTINGS_H
#define PSC_TRACES_GRAPH_SETTINGS_H

#include "core/graph/graph.h"
#include "traces/json-write.h"

void psc_settings_write_detail(struct psc_json *j, const struct psc_node_info *node); /* the object, without its key */
void psc_settings_write_meta(struct psc_json *j, const struct psc_node_info *node);

#endif
