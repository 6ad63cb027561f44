/* app/cli/options.h: the command line: one table of commands, one of options.
 *
 *     planscope-cli COMMAND FILE [--option VALUE | --option=VALUE]...
 *     planscope-cli COMMAND --preset NAME ...      a model that is known without a file
 *
 * Both tables are data: parsing, `--help` and the hints after a mistake all come from them.
 */
#ifndef PSC_APP_CLI_OPTIONS_H
#define PSC_APP_CLI_OPTIONS_H

#include "app/cli/run-options.h"
#include "core/plan/pool-state.h"

/* The exit statuses, for scripts. Findings win over budgets. */
enum cli_exit { CLI_CLEAN = 0, CLI_FINDINGS = 1, CLI_BAD = 2, CLI_BUDGET = 3 };

enum cli_command { CLI_INFO, CLI_PLAN, CLI_CHECK, CLI_EXPORT, CLI_RENDER, CLI_MODEL, CLI_RUN, CLI_BENCH, CLI_PLAY, CLI_KV, CLI_COMPARE, CLI_DIFF, CLI_COMMAND_N };
enum cli_format { CLI_AS_GRAPH, CLI_AS_TRACE, CLI_AS_PLAN, CLI_AS_CSV, CLI_AS_MINIMALLOC, CLI_AS_GGUF, CLI_FORMAT_N };
enum cli_view { CLI_ROWS, CLI_MAP, CLI_USAGE, CLI_KV_ROWS, CLI_INSIDE, CLI_VIEW_N };
enum cli_story { CLI_RECORDED, CLI_PLANNED, CLI_BOTH, CLI_STORY_N }; /* of a phase with a plan and recorded events */

#define CLI_CAPACITIES_MAX 16

struct cli_options { /* all strings are borrowed from argv */
    enum cli_command command;
    bool help, version;
    const char *given[128];       /* names of the options that were given, each once: there are fewer */
    unsigned given_n;
    const char *file;             /* with a preset: its name, for messages */

    /* A model: a GGUF file or a preset. model_option: the first option given that asks for one. */
    const char *preset, *weights, *backend, *model_option;
    uint64_t tokens, n_ctx, seed;
    bool no_fuse_qkv, no_fuse_ffn;

    /* An expression (core/candela/script.h): typed, or a file of its own kind. */
    const char *expr;
    char lazy_words[160];         /* generation and faults, as words of a script */

    bool json, pretty, log, nodes, dark, require_own;
    bool replan;                  /* a planner option was given: plan here whatever the file brings */
    const struct psc_planner *planner;
    struct psc_plan_options plan;
    const char *plan_file;
    const char *planners;         /* of compare: names with commas between, or all; NULL: all */
    const char *other;            /* of diff: the second FILE; NULL: the first one again */
    const char *from, *to;        /* of diff: a choice of planner each, or NULL */
    const char *graph_file;       /* of diff: whose graph two plans are of */
    struct psc_capacity capacities[CLI_CAPACITIES_MAX]; /* plan.capacities */
    char capacity_names[CLI_CAPACITIES_MAX][64];
    struct psc_pool_state pool;   /* plan.pool: with a budget */
    struct psc_budget budget;
    const char *phase_kind;       /* --phase decode: resolved when the document is open */
    const char *contents;         /* of check: a file of contents */
    bool has_phase, has_at, has_step, has_max_peak, has_max_buffers, has_format, has_story;
    uint32_t phase, step;
    int32_t at;
    uint64_t max_peak, max_buffers;
    const char *out;
    enum cli_format format;
    enum cli_view view;
    enum cli_story story;
    unsigned width, height;       /* of a picture, pixels */
    uint64_t row_width;           /* of kv: values of a row; 0: not given */
    const char *tag;              /* of kv: which dump of a folder */
    struct cli_run run;           /* of run and bench */
};

/* PSC_ERR_USAGE with a sentence and a hint. */
enum psc_status cli_options_parse(struct cli_options *ret, int argc, char **argv, struct psc_error *reterr) PSC_MUST_CHECK;

/* The first of the options (a list that ends in NULL) that was given, in the order in which they were; NULL: none. With
 * `others` the first that is not in the list. */
const char *cli_given(const struct cli_options *options, const char *const *names, bool others);

/* Help of the program, or of one command (CLI_COMMAND_N: of the program). */
void cli_add_help(struct psc_text *out, enum cli_command command);

/* "40MiB", "1.5 GiB", "40MB", "31671296", "31,671,296". */
bool cli_parse_bytes(const char *text, uint64_t *ret);
bool cli_parse_whole(const char *text, uint64_t *ret); /* digits only */

#endif
