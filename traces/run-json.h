/* traces/run-json.h: what only our own runs know, as JSON under our key (private to traces/).
 *
 *     document   "planscope": {"run": {"backend": "cpu", "fault": "h1"}}
 *     phase      "planscope": {"kv": {"format": "f32", "layers": 2, "row_bytes": 128, "rows": 64, "width": 32}}
 *     step       "planscope": {"breaks": [[reader, operand, value, expected, found]], "events": {..},
 *                              "hashed": true, "hashes": [[node, hash]], "kv": [[node, layer, "write", lo, hi],
 *                              [node, layer, "read", lo, hi, unwritten rows]]}
 *
 * Nodes go by ids, hashes are 16 hexadecimal digits. Members that have nothing to say are left out.
 */
#ifndef PSC_TRACES_RUN_JSON_H
#define PSC_TRACES_RUN_JSON_H

#include "core/doc/doc.h"
#include "traces/cursor.h"
#include "traces/graph-write.h"

/* Key and value; nothing when the step has nothing of ours. */
void psc_step_ours_write(struct psc_json *j, const struct psc_graph *graph, const struct psc_step *step,
                         psc_flush_fn flush, void *ctx);
/* Adds to a step whose records are there already, in execution order. PSC_ERR_PARSE names the row that is wrong. */
enum psc_status psc_step_ours_read(struct psc_arena *arena, struct psc_slice ours, const struct psc_graph *graph,
                                   struct psc_step *step, struct psc_error *reterr) PSC_MUST_CHECK;

void psc_kv_layout_write(struct psc_json *j, const struct psc_kv_layout *kv);
enum psc_status psc_kv_layout_read(struct psc_arena *arena, struct psc_slice text, const struct psc_kv_layout **ret,
                                   struct psc_error *reterr) PSC_MUST_CHECK;

void psc_facts_write(struct psc_json *j, const struct psc_fact *facts, uint32_t n);
/* run is an object; members that are no strings are passed over. */
enum psc_status psc_facts_read(struct psc_arena *arena, struct psc_slice run, const struct psc_fact **ret,
                               uint32_t *ret_n, struct psc_error *reterr) PSC_MUST_CHECK;

#endif
