/* app/cli/input.h: what every command does first: open the file, choose the phase, analyse it; and how it
 * complains when that fails. Complaints go to stderr, one a line:
 *
 *     planscope-cli: trace.json:3:17: node 4: src names 9, which is no node (byte 412)
 *
 * Ownership: cli_input owns the document and the foreign plan; analyses are the caller's.
 */
#ifndef PSC_APP_CLI_INPUT_H
#define PSC_APP_CLI_INPUT_H

#include "app/cli/options.h"
#include "core/debug/analysis.h"

struct cli_input {
    struct psc_doc *doc;
    struct psc_arena arena;     /* of the foreign plan */
    struct psc_foreign foreign; /* with options.plan_file */
};
/* {0} is a closed input. Opens options->file (and the plan file), a model or a preset as its two graphs; complains and returns CLI_BAD. `whole` scans
 * to the end of the file, else no further than the phase asked for. Settles what the options could not know alone: the
 * number of the phase that was asked for by kind, the weights that a budget counts. */
enum cli_exit cli_input_open(struct cli_input *in, struct cli_options *options, bool whole);
void cli_input_close(struct cli_input *in);

/* The phase of --phase (default 0), which must have a graph; complains and returns NULL. */
const struct psc_phase *cli_input_phase(const struct cli_input *in, const struct cli_options *options);
/* Plan or story, findings and history of one phase, as the options ask. Free with psc_analysis_free. */
enum cli_exit cli_analyse(const struct cli_input *in, const struct cli_options *options, uint32_t phase,
                          struct psc_analysis **ret);
/* The same of a phase that is not quite the document's: of a step that brings events of its own, say. */
enum cli_exit cli_analyse_phase(const struct cli_input *in, const struct cli_options *options, const struct psc_phase *phase,
                                struct psc_analysis **ret);

/* What can only be judged when it is known what FILE is: generations and faults of expressions belong to these and to
 * --planner candela, planner options to graphs. PSC_ERR_USAGE says what says nothing here. */
enum psc_status cli_words_fit(struct cli_options *options, struct psc_error *reterr) PSC_MUST_CHECK;
/* Of a graph: options of pools belong to pools, those of arenas to arenas. */
enum psc_status cli_planner_takes_options(const struct cli_options *options, struct psc_error *reterr) PSC_MUST_CHECK;

/* "planscope-cli: PATH:LINE:COLUMN: sentence"; path may be NULL. Returns CLI_BAD. */
enum cli_exit cli_complain(const char *path, const struct psc_error *error);
enum cli_exit cli_complain_nomem(void);
/* Warnings of the reader, on stderr. */
void cli_warn(const struct psc_doc *doc);
/* "line 3, column 17: sentence" for people who know the file already. */
void cli_add_message(struct psc_text *out, const struct psc_message *m);

/* Writes text to stdout and releases it; status, or CLI_BAD when memory ran out or stdout is closed. */
enum cli_exit cli_print(struct psc_text *text, enum cli_exit status);
/* What --max-peak and --max-buffers say of one phase: CLI_CLEAN, or CLI_BUDGET with a sentence on stderr. */
enum cli_exit cli_budget(const struct cli_options *options, const struct psc_analysis *analysis, uint32_t phase);
enum cli_exit cli_budget_of(const struct cli_options *options, uint64_t peak, uint64_t buffers, uint32_t phase);

#endif
