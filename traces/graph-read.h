/* traces/graph-read.h: one minfer-graph document, from its text to a graph.
 *
 * The text has passed a scan, so it is well-formed JSON. What is wrong with its contents goes into the
 * report, everything in one pass: first what no graph can be made of (a node without id), then what
 * psc_graph_from_draft finds. Tolerated: any key order, null and missing name, backend, dtype, detail, meta,
 * src, inputs (then every node whose op is "input") and outputs; unknown keys are kept as text for writing
 * back.
 */
#ifndef PSC_TRACES_GRAPH_READ_H
#define PSC_TRACES_GRAPH_READ_H

#include "core/graph/graph.h"
#include "traces/cursor.h"

/* file: the whole file's text, for places in messages. where: "phases[1].graph", or "" for a graph document.
 * The graph lives in arena. */
enum psc_status psc_graph_read(struct psc_arena *arena, const char *file, struct psc_slice text,
                               const char *where, struct psc_report *report, struct psc_graph **ret,
                               struct psc_error *reterr) PSC_MUST_CHECK;

#endif
