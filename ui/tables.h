/* ui/tables.h: what stands in each table of the window. See ui/table.h for how a table works.
 *
 * The tables are the accessible form of the drawing: the same ops, buffers, accesses and findings, bound to
 * the same selection.
 */
#ifndef PSC_UI_TABLES_H
#define PSC_UI_TABLES_H

#include "ui/table.h"

extern const PscTableKind psc_ops_table;      /* a row a node, by execution order */
extern const PscTableKind psc_steps_table;    /* a row a titled position, when there is no graph */
extern const PscTableKind psc_buffers_table;
extern const PscTableKind psc_problems_table; /* clobbers */
extern const PscTableKind psc_differences_table; /* where the run did otherwise than planned */
extern const PscTableKind psc_records_table;  /* recorded values of the step and whose they are */
extern const PscTableKind psc_accesses_table; /* of the selected buffer */
extern const PscTableKind psc_free_table;     /* free list at the cursor */
extern const PscTableKind psc_log_table;      /* the planner's walk */
extern const PscTableKind psc_passes_table;   /* all steps of the run: rows written, new ones, window */
extern const PscTableKind psc_kv_table;       /* rows of the KV regions that the step writes and reads */

/* "#124 ffn_up" */
void psc_add_node(struct psc_text *out, const PscStudy *study, psc_node node);
/* "fill", "end" or the position. */
void psc_add_position(struct psc_text *out, const PscStudy *study, int32_t position);
/* The node; without one the title of the position in a story that has titles, else "the host". */
void psc_add_actor(struct psc_text *out, const PscStudy *study, psc_node node, int32_t position);
/* "12–14", "fill–7", "3–end": from its write to its last access, or to the end where it is pinned. */
void psc_add_span(struct psc_text *out, const struct psc_history *h, const struct psc_tenancy *t);
/* "b4 · cpu" where there are several backends. */
void psc_add_buffer(struct psc_text *out, const PscStudy *study, uint32_t buffer);

#endif
