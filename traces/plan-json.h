/* traces/plan-json.h: the plan format inside a document under construction, and out of a slice (private to
 * traces/). */
#ifndef PSC_TRACES_PLAN_JSON_H
#define PSC_TRACES_PLAN_JSON_H

#include "traces/cursor.h"
#include "traces/json-write.h"
#include "traces/traces.h"

void psc_plan_write_json(struct psc_json *j, const struct psc_graph *graph, const struct psc_plan *plan);
/* "options" as a member of the open object. */
void psc_plan_options_write_json(struct psc_json *j, const struct psc_plan_options *options);
/* Bytes, bound and proof of an arena, as fields of the open object. */
void psc_offsets_space_write_json(struct psc_json *j, const struct psc_offsets_space *space);
/* text is well-formed JSON. */
enum psc_status psc_plan_read_slice(struct psc_arena *arena, struct psc_slice text, struct psc_foreign *ret,
                                    struct psc_error *reterr) PSC_MUST_CHECK;

#endif
