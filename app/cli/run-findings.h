/* app/cli/run-findings.h: what was found out about a run, when it is over: sentences on stderr, one a line, and JSON. */
#ifndef PSC_APP_CLI_RUN_FINDINGS_H
#define PSC_APP_CLI_RUN_FINDINGS_H

#include "core/run/run.h"
#include "core/run/verify.h"
#include "traces/json-write.h"

/* Wrong reads that its stories show, then those that only the plan has (of a run that ended early), and how many there are;
 * reads whose hashes differ, arenas that broke a rule, rows that nobody wrote; then the warnings of its document. contents: the file
 * that --contents wrote, whose words are laid beside, or NULL. */
void cli_tell_findings(const struct psc_run_result *result, const char *contents);

/* --verify: the first values that differ from a clean run's, and how many do. */
void cli_tell_verified(const struct psc_verified *verified);
void cli_verified_json(struct psc_json *j, const struct psc_verified *verified); /* key "verified" */

#endif
