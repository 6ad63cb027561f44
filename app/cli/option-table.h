/* app/cli/option-table.h: the commands and the options of the command line, as data. A new option is a line in
 * option-table.c and a setter beside it; help, parsing and hints (options.c) follow from the line.
 */
#ifndef PSC_APP_CLI_OPTION_TABLE_H
#define PSC_APP_CLI_OPTION_TABLE_H

#include "app/cli/options.h"

struct cli_command_info {
    const char *name, *arguments, *text;
};
extern const struct cli_command_info cli_commands[CLI_COMMAND_N];

#define CLI_IN(c) (1u << (c))
/* Commands that plan; run knows their options too, but for --fault, of which it knows more. */
#define CLI_PLANNING (CLI_IN(CLI_PLAN) | CLI_IN(CLI_CHECK) | CLI_IN(CLI_EXPORT) | CLI_IN(CLI_RENDER) | \
                      CLI_IN(CLI_COMPARE) | CLI_IN(CLI_DIFF))

struct cli_option {
    const char *name, *value; /* value: what stands after the name, NULL for a switch */
    unsigned in;              /* commands that know it */
    bool (*set)(struct cli_options *o, const char *value); /* false when the value makes no sense */
    const char *right;        /* what a value should be; NULL: one of the faults */
    const char *text;
};
/* All options: those of option-table.c, then those of run-options.c. i < cli_option_n(). */
const struct cli_option *cli_option_at(size_t i);
size_t cli_option_n(void);
/* Generation, fault or `level` of an expression; false when there are too many. */
bool cli_add_lazy_word(struct cli_options *o, const char *word);
bool cli_add_candela_fault(struct cli_options *o, const char *name); /* false: unknown, or too many words */
extern const struct cli_option cli_run_option_table[];
extern const size_t cli_run_option_n;

#endif
