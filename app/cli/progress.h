/* app/cli/progress.h: what a command is at, told on a terminal when it takes long.
 *
 *     cli_progress("reading %s", path);    from here on, until the next or the end
 *     cli_progress_part(done, total);      how far that is; without, the seconds are told
 *     cli_progress_end();                  the line goes
 *
 * A thread of its own tells, on stderr, after a second without an end and five times a second: so what calls nobody
 * back (a plan, a check, a picture) is told of, too. The line is cut to the terminal's width.
 * Nothing is told where stderr is no terminal. What prints ends it
 * first; cli_complain and cli_print do.
 */
#ifndef PSC_APP_CLI_PROGRESS_H
#define PSC_APP_CLI_PROGRESS_H

#include "core/base/status.h"

#include <stdbool.h>
#include <stdint.h>

void cli_progress(const char *fmt, ...) PSC_PRINTF(1, 2);
void cli_progress_part(uint64_t done, uint64_t total);                      /* "reading x.json: 42 %" */
void cli_progress_count(uint64_t done, uint64_t total, const char *unit);   /* "decode: 7 of 32 tokens"; unit is static */
void cli_progress_bytes(uint64_t done);                                     /* "writing x.json: 1.50 GiB" */
void cli_progress_end(void);
/* The answer is printed from here on, piece by piece: where it goes to the terminal nothing is told any more. */
void cli_progress_streams(void);
/* For open options and the like; ctx is not looked at. Never cancels. */
bool cli_progress_cb(void *ctx, uint64_t done, uint64_t total);

#endif
