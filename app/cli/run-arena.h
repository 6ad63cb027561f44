/* app/cli/run-arena.h: runs on arenas (`run --memory arena`): the request and the answer, and what `check` says of such runs and
 * scenarios. Nothing happens for others. */
#ifndef PSC_APP_CLI_RUN_ARENA_H
#define PSC_APP_CLI_RUN_ARENA_H

#include "app/cli/options.h"
#include "app/cli/run-files.h"
#include "traces/json-write.h"

/* Puts the settings into the request. PSC_ERR_USAGE when options do not go together. */
enum psc_status cli_arena_request(const struct cli_options *options, struct psc_arena_settings *settings,
                                  struct psc_run_request *request, struct psc_error *reterr) PSC_MUST_CHECK;
/* The one phase of the run, into its events file. */
void cli_arena_stream(struct cli_run_files *files, const struct psc_run_result *result);
void cli_arena_json(struct psc_json *j, const struct psc_run_result *result);     /* key "arena" */
void cli_arena_add(struct psc_text *out, const struct psc_run_result *result);     /* a table of runs */

/* Invariants that were seen broken, and where first: a line each, or elements of the open array. Returns how many. */
uint32_t cli_broken_add(struct psc_text *out, const struct psc_story *story);
uint32_t cli_broken_json(struct psc_json *j, const struct psc_story *story, uint32_t phase);

#endif
