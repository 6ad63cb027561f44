/* app/cli/run-files.h: the files that `run` writes, from before the run to after it.
 *
 *     check     may each be written? are they different ones, and none that the run reads? Nothing is made or changed
 *     open      streams (--events, --contents, --logits) begin; from here on they are cut
 *     close     streams end; --trace and --kv-dump are written of what the run left
 *
 * A long run is not made for nothing: what can be known of a file beforehand is said beforehand.
 */
#ifndef PSC_APP_CLI_RUN_FILES_H
#define PSC_APP_CLI_RUN_FILES_H

#include "app/cli/options.h"
#include "traces/traces.h"

#include <stdio.h>

struct cli_run_files { /* {0} is closed */
    const struct cli_options *options; /* borrowed */
    const char *model;                 /* borrowed: its name */
    struct psc_events_out *events, *contents;
    FILE *logits;
    int logits_failure;                /* errno of the first write that failed */
};

/* Each of these complains on stderr; CLI_BAD then. */
enum cli_exit cli_run_files_check(const struct cli_options *options);
enum cli_exit cli_run_files_open(struct cli_run_files *files, const struct cli_options *options, const char *model);
/* A further file that the run reads, known since it is open: none of the outputs may be it. */
enum cli_exit cli_run_files_apart(const struct cli_options *options, const char *path);
/* result: {0} when nothing ran. */
enum cli_exit cli_run_files_close(struct cli_run_files *files, const struct psc_run_result *result);
/* One row of logits; false when it cannot be written. */
bool cli_run_files_logits(struct cli_run_files *files, const float *logits, uint32_t n);

#endif
