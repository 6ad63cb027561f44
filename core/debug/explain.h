/* core/debug/explain.h: the only place that makes sentences about plans, findings, records and steps.
 *
 * Every function appends plain UTF-8 text (no markup) to `out` and never fails but for memory
 * (out->failed). graph and plan may be NULL where a story has none.
 */
#ifndef PSC_CORE_DEBUG_EXPLAIN_H
#define PSC_CORE_DEBUG_EXPLAIN_H

#include "core/debug/analysis.h"

/* "#425 attn writes 1.50 MiB over #416 add (b3), still needed by #429 get_rows." */
void psc_explain_finding(struct psc_text *out, const struct psc_analysis *a, const struct psc_finding *f);
/* What was believed against what is: "planner counted lives in topological order: last read of #416 at place
 * 420; executed order reads it at op 429", several sentences. */
void psc_explain_finding_more(struct psc_text *out, const struct psc_analysis *a, const struct psc_finding *f);
/* The nodes without which it would not happen: who owns the bytes, the views through which they are read, who writes, who
 * reads. Ascending; at most `max`, and PSC_FINDING_NODES are enough but for longer chains of views. A graph of these alone,
 * with all else that they read as inputs elsewhere, goes wrong in the same way at the same places. 0 without a graph. */
enum { PSC_FINDING_NODES = 12 };
uint32_t psc_finding_nodes(const struct psc_analysis *a, const struct psc_finding *f, psc_node *ret, uint32_t max);
/* A line of that graph: "#3 u: mul of #0 x, #1 w; b2 [0, 16)". */
void psc_explain_finding_node(struct psc_text *out, const struct psc_analysis *a, psc_node node);
/* Why a node lies where it lies: "Reused. b9 held #106 ffn_up, last needed by #108 mul. Lowest free slot of
 * the 48 KiB class; 1 more was free too." "No buffer: nothing reads it and it is not an output." */
void psc_explain_place(struct psc_text *out, const struct psc_analysis *a, psc_node node);
/* One refused alternative: "Not in place: a matmul reads its input to the end." */
void psc_explain_refused(struct psc_text *out, const struct psc_analysis *a, psc_node node, const struct psc_refused *r);
/* "#124 ffn_up: own" / "Not its own value. Holds #412 ffn_up, layer 22: Metal copies records at the end of the
 * split, after 16 more writes to b9." */
void psc_explain_record(struct psc_text *out, const struct psc_analysis *a, const struct psc_record_verdict *v);
/* The one status line of a position (-1 .. n): "#124 matmul -> ffn_up, layer 6: writes b9 [0x13400, +38.0 KiB]; frees
 * #122 ffn_norm (b4); live 115 KiB (+48.0), 19 % of peak". Also the accessible text of the timeline. */
void psc_explain_position(struct psc_text *out, const struct psc_analysis *a, int32_t position);
/* "Peak 615 KiB at #439: logits 594 KiB (97 %), ..." */
void psc_explain_peak(struct psc_text *out, const struct psc_analysis *a);
/* One line of the walk's log: "124  reuse   b9 for #124 ffn_up (idle since 109)". */
void psc_explain_walk(struct psc_text *out, const struct psc_graph *g, const struct psc_plan *plan, const struct psc_walk *w);

#endif
