/* traces/step-read.h: one step of a trace, from its text to records. Called when the step is asked for. */
#ifndef PSC_TRACES_STEP_READ_H
#define PSC_TRACES_STEP_READ_H

#include "core/doc/doc.h"
#include "traces/source.h"

/* text is well-formed JSON of `source`. graph may be NULL (then records keep the file's order and have no
 * node). Everything in *ret lives in the arena. PSC_ERR_PARSE when the step is no step ("nodes is a string,
 * not an array"); missing and null fields are no error. Cost: linear in the text, plus a sort when records
 * are out of order. */
enum psc_status psc_step_read(struct psc_arena *arena, const struct psc_source *source, struct psc_slice text,
                              const struct psc_graph *graph, struct psc_step *ret,
                              struct psc_error *reterr) PSC_MUST_CHECK;

#endif
