/* planscope-cli: the same abilities as the window, without a display. Links no GTK. */
#include "app/cli/commands.h"
#include "app/cli/input.h"

#include <stdio.h>

int main(int argc, char **argv)
{
    static enum cli_exit (*const run[CLI_COMMAND_N])(const struct cli_options *) = {
        [CLI_INFO] = cli_info,     [CLI_PLAN] = cli_plan,     [CLI_CHECK] = cli_check,
        [CLI_EXPORT] = cli_export, [CLI_RENDER] = cli_render,
    };
    struct cli_options options;
    struct psc_error error = {0};
    if (cli_options_parse(&options, argc, argv, &error))
        return cli_complain(NULL, &error);
    struct psc_text text = {0};
    if (options.version) {
        psc_text_add(&text, "planscope-cli " PSC_VERSION "\n");
        return cli_print(&text, CLI_CLEAN);
    }
    if (options.help) {
        cli_add_help(&text, options.command);
        return cli_print(&text, CLI_CLEAN);
    }
    return run[options.command](&options);
}
