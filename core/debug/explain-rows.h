/* core/debug/explain-rows.h: sentences about the KV regions in one step; plain UTF-8, as core/debug/explain.h. */
#ifndef PSC_CORE_DEBUG_EXPLAIN_ROWS_H
#define PSC_CORE_DEBUG_EXPLAIN_ROWS_H

#include "core/base/text.h"
#include "core/debug/kv-step.h"

/* "row 476", "rows 0–476" */
void psc_say_rows(struct psc_text *out, uint32_t lo, uint32_t hi);
/* The status line of a position: "#131 attn, layer 9: reads rows 0–476 of K and V (477 KiB); row 476 is written in
 * layers 0–9, not yet in 10–23". */
void psc_explain_kv_position(struct psc_text *out, const struct psc_kv_step *step, int32_t position);
/* "477 of 4,096 rows written (11.6 %)" */
void psc_explain_kv_occupancy(struct psc_text *out, const struct psc_kv_step *step, int32_t position);
/* "#131 attn reads rows 477–479 of layer 9, K and V: nobody wrote them." */
void psc_explain_kv_alarm(struct psc_text *out, const struct psc_kv_step *step, const struct psc_kv_alarm *alarm);
/* All alarms of the step in one sentence: "72 rows in 24 layers are read that nobody wrote; the first by #11 attn." */
void psc_explain_kv_alarms(struct psc_text *out, const struct psc_kv_step *step);
/* How reader comes after writer: "No edge of the graph joins #129 kv_store and #131 attn: a hidden order edge keeps the
 * store first." */
void psc_explain_kv_order(struct psc_text *out, const struct psc_kv_step *step, psc_node writer, psc_node reader);
/* Where the rows come from; a sentence also when they are not known. */
void psc_explain_kv_source(struct psc_text *out, const struct psc_kv_step *step);

#endif
