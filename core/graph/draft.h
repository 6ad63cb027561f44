/* core/graph/draft.h: a draft with every reference resolved and every fault told; for core/graph only.
 *
 * psc_draft_resolve walks the draft once for each kind of fault, so that one pass over a file tells all
 * that is wrong with it. Indices here are places in draft->nodes; `order` says in which order they become
 * nodes of the graph.
 */
#ifndef PSC_CORE_GRAPH_DRAFT_H
#define PSC_CORE_GRAPH_DRAFT_H

#include "core/graph/edges.h"

#define PSC_DRAFT_NAME 64  /* bytes of a name that a message shows */
#define PSC_DRAFT_ALIKE 16 /* warnings of one kind that are spelled out; the rest are counted */

struct psc_draft_fact { /* what follows from one node alone */
    uint64_t elements, bytes;
    uint64_t offset; /* bytes into the parent, views only */
    enum psc_op op;
    enum psc_dtype dtype;
};
struct psc_resolved {
    const struct psc_draft *draft;
    struct psc_report *report;
    struct psc_arena *scratch;
    uint32_t *by_id;           /* places by ascending id; NULL when every id is its place */
    struct psc_edges src;
    struct psc_draft_fact *facts;
    psc_node *inputs, *outputs;
    uint32_t input_n, output_n;
    psc_node *order;           /* place of the node at each position; NULL: as listed */
};
/* draft, report and scratch are set, the rest is zero. PSC_ERR_GRAPH when the report has a fault. */
enum psc_status psc_draft_resolve(struct psc_resolved *r, struct psc_error *reterr) PSC_MUST_CHECK;
/* Place of the node with that id (the first one), or PSC_NONE. */
uint32_t psc_draft_find(const struct psc_resolved *r, uint64_t id);
/* A name or op of the file for a message: shortened between characters, control characters as '?';
 * "unnamed" when there is none. */
const char *psc_draft_text(const char *text, char buf[PSC_DRAFT_NAME]);
/* "N more WHAT" when n warnings are more than PSC_DRAFT_ALIKE. */
void psc_draft_more(const struct psc_resolved *r, uint32_t n, const char *what);

#endif
