/* app/cli/out.h: what a command writes besides its answer: a file that takes its place when all of it is there, or
 * stdout ("-"), piece by piece.
 *
 *     begin -> add, add, ... -> end
 *
 * begin and end complain on stderr, with the reason of the first piece that could not be written; CLI_BAD then, and a
 * file that was there before is as it was. How much is written is told as app/cli/progress.h tells.
 */
#ifndef PSC_APP_CLI_OUT_H
#define PSC_APP_CLI_OUT_H

#include "app/cli/options.h"
#include "traces/file-out.h"

struct cli_out {
    const char *path; /* borrowed, for sentences */
    struct psc_file_out file;
    struct psc_error why;
    uint64_t bytes;
};
enum cli_exit cli_out_begin(struct cli_out *out, const char *path);
bool cli_out_add(void *out, const char *bytes, size_t n); /* a psc_write_fn */
/* status and error are those of what was to be written; not PSC_OK: nothing of it stays. */
enum cli_exit cli_out_end(struct cli_out *out, enum psc_status status, const struct psc_error *error);

#endif
