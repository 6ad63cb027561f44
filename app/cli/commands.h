/* app/cli/commands.h: the commands. Each opens, answers, closes, and returns the exit status. */
#ifndef PSC_APP_CLI_COMMANDS_H
#define PSC_APP_CLI_COMMANDS_H

#include "app/cli/options.h"

enum cli_exit cli_info(const struct cli_options *options);
enum cli_exit cli_plan(const struct cli_options *options);
enum cli_exit cli_check(const struct cli_options *options);
enum cli_exit cli_export(const struct cli_options *options);
enum cli_exit cli_render(const struct cli_options *options);
enum cli_exit cli_play(const struct cli_options *options);

#endif
