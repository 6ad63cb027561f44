/* app/cli/run-values.h: numbers in and out of a graph that is run.
 *
 *     --fill x=1,-2.5,nan     f32: numbers, nan, inf, -inf
 *     --fill ids=3,0x7f800001 i32: whole numbers, or 32 bits in hexadecimal
 */
#ifndef PSC_APP_CLI_RUN_VALUES_H
#define PSC_APP_CLI_RUN_VALUES_H

#include "core/run/run.h"
#include "traces/json-write.h"

/* PSC_ERR_USAGE with a sentence: no such input (those there are, are listed), not a number, a wrong count, an input of
 * another type. Names and words lie in the arena. */
enum psc_status cli_parse_fill(struct psc_arena *arena, const struct psc_graph *graph, const char *text,
                               struct psc_run_fill *ret, struct psc_error *reterr) PSC_MUST_CHECK;
/* "5,77,130" */
enum psc_status cli_parse_ids(struct psc_arena *arena, const char *text, int32_t **ret, uint32_t *ret_n,
                              struct psc_error *reterr) PSC_MUST_CHECK;

/* The graph's outputs as they are after the run. As a value of a document, every number; non-finite ones are null. */
enum psc_status cli_outputs_json(struct psc_json *j, struct psc_session *session, struct psc_error *reterr) PSC_MUST_CHECK;
/* A line an output: "o [4]  12 24 36 48", the first numbers of a long one. */
enum psc_status cli_add_outputs(struct psc_text *out, struct psc_session *session, struct psc_error *reterr) PSC_MUST_CHECK;

#endif
