/* planscope-cli: the same abilities as the window, without a display. Links no GTK. */
#include "app/cli/commands.h"
#include "app/cli/input.h"
#include "backends/registry.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* A file that is opened must never become stdout or stderr of a program that was started without: what is printed would
 * go into it. Something that cannot be written takes their places. */
static void fill_standard_files(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)!open("/dev/null", O_RDONLY);
}

/* The version, and why no backend executes here. */
static void add_version(struct psc_text *out)
{
    size_t n;
    const struct psc_backend_entry *entries = psc_backend_entries(&n);
    psc_text_add(out, "planscope-cli " PSC_VERSION "\nBackends:\n");
    for (size_t i = 0; i < n; i++)
        psc_text_addf(out, "  %-9s %s\n", entries[i].name,
                      entries[i].unavailable ? entries[i].unavailable : "executes here");
}

int main(int argc, char **argv)
{
    static enum cli_exit (*const run[CLI_COMMAND_N])(struct cli_options *) = {
        [CLI_INFO] = cli_info,     [CLI_PLAN] = cli_plan,     [CLI_CHECK] = cli_check,
        [CLI_EXPORT] = cli_export, [CLI_RENDER] = cli_render, [CLI_MODEL] = cli_model,
        [CLI_RUN] = cli_run,       [CLI_BENCH] = cli_bench,   [CLI_PLAY] = cli_play,
        [CLI_KV] = cli_kv,         [CLI_COMPARE] = cli_compare, [CLI_DIFF] = cli_diff,
    };
    struct cli_options options;
    struct psc_error error = {0};
    fill_standard_files();
    if (cli_options_parse(&options, argc, argv, &error))
        return cli_complain(NULL, &error);
    struct psc_text text = {0};
    if (options.version) {
        add_version(&text);
        return cli_print(&text, CLI_CLEAN);
    }
    if (options.help) {
        cli_add_help(&text, options.command);
        return cli_print(&text, CLI_CLEAN);
    }
    return run[options.command](&options);
}
