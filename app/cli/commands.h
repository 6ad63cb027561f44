/* app/cli/commands.h: the commands. Each opens, answers, closes, and returns the exit status. */
#ifndef PSC_APP_CLI_COMMANDS_H
#define PSC_APP_CLI_COMMANDS_H

#include "app/cli/options.h"

enum cli_exit cli_info(struct cli_options *options);
enum cli_exit cli_plan(struct cli_options *options);
enum cli_exit cli_check(struct cli_options *options);
enum cli_exit cli_export(struct cli_options *options);
enum cli_exit cli_render(struct cli_options *options);
enum cli_exit cli_model(struct cli_options *options);
enum cli_exit cli_play(struct cli_options *options);
enum cli_exit cli_kv(struct cli_options *options);
enum cli_exit cli_run(struct cli_options *options);
enum cli_exit cli_compare(struct cli_options *options);
/* 0: the same, 1: they differ, 2: trouble. */
enum cli_exit cli_diff(struct cli_options *options);
enum cli_exit cli_bench(struct cli_options *options);

#endif
