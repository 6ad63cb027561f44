#include "app/cli/options.h"

#include "app/cli/option-table.h"
#include "core/candela/fault.h"
#include "core/model/preset.h"
#include "core/plan/arena-fault.h"
#include "core/plan/choice.h"
#include "core/run/faults.h"

#include <string.h>

/* ---- help ----------------------------------------------------------------------------------- */

/* `run` knows all faults, the others those of the planner. */
static bool knows_fault(enum cli_command command, const struct psc_named_fault *fault)
{
    return command == CLI_RUN || fault->plan;
}

static void add_arena_faults(struct psc_text *out, const char *title)
{
    psc_text_addf(out, "\n%s:\n", title);
    for (int f = 0; f < PSC_ARENA_FAULT_N; f++) {
        const struct psc_arena_fault_info *info = psc_arena_fault_info((enum psc_arena_fault)f);
        psc_text_addf(out, "  %-4s %s\n", info->name, info->text);
    }
}

static void add_faults(struct psc_text *out, enum cli_command command)
{
    psc_text_add(out, "\nFaults (--fault):\n");
    for (uint32_t i = 0; i < psc_named_fault_n(); i++) {
        struct psc_named_fault fault = psc_named_fault(i);
        if (knows_fault(command, &fault))
            psc_text_addf(out, "  %-4s %s\n", fault.name, fault.text);
    }
    if (command == CLI_RUN)
        add_arena_faults(out, "Faults of runs on arenas (--memory arena)");
    if (command == CLI_EXPORT)
        return;
    psc_text_add(out, "\nFaults of expressions (of graphs, too, with --planner candela: b6, b7, b11, b12, b15, b16, b18 to b21):\n");
    for (int f = 0; f < PSC_CANDELA_FAULT_N; f++)
        psc_text_addf(out, "  %-4s %s\n", psc_candela_fault_name((enum psc_candela_fault)f),
                      psc_candela_fault_text((enum psc_candela_fault)f));
}

static bool takes_presets(enum cli_command command)
{
    for (size_t i = 0; i < cli_option_n(); i++)
        if (!strcmp(cli_option_at(i)->name, "--preset") && cli_option_at(i)->in & CLI_IN(command))
            return true;
    return false;
}

static void add_planners(struct psc_text *out)
{
    psc_text_add(out, "\nPlanners:\n");
    for (const struct psc_planner *p = psc_planners; p->name; p++)
        psc_text_addf(out, "  %-14s %s\n", p->name, p->text);
}

static void add_presets(struct psc_text *out)
{
    psc_text_add(out, "\nPresets (--preset):\n");
    for (const struct psc_preset *p = psc_presets; p->name; p++)
        psc_text_addf(out, "  %-13s %s\n", p->name, p->text);
}

static void add_option(struct psc_text *out, const struct cli_option *o, enum cli_command command)
{
    psc_text_addf(out, "  %s%s%-*s %s\n", o->name, o->value ? " " : "",
                  (int)(23 - strlen(o->name) - (o->value ? 1 : 0)), o->value ? o->value : "", o->text);
    if (command == CLI_RENDER && !strcmp(o->name, "--size"))
        psc_text_addf(out, "  %-23s %s\n", "--size WIDTHxHEIGHT", "pixels of the picture; default 1600x900");
}

void cli_add_help(struct psc_text *out, enum cli_command command)
{
    if (command == CLI_COMMAND_N) {
        psc_text_add(out, "usage: planscope-cli COMMAND FILE [options]\n\nShows where every tensor of an inference"
                          " graph lives, steps included, and says what is wrong.\nFILE is a minfer-trace, a"
                          " minfer-graph or a model in GGUF; --preset NAME is a model without a file.\n\nCommands:\n");
        for (unsigned i = 0; i < CLI_COMMAND_N; i++)
            psc_text_addf(out, "  %-7s %s\n", cli_commands[i].name, cli_commands[i].text);
        psc_text_add(out, "\nplanscope-cli COMMAND --help lists the options; planscope-cli --version the version\n"
                          "and what each backend can do here.\n"
                          "Exit status: 0 clean, 1 findings, 2 bad input or usage, 3 over a budget.\n");
        return;
    }
    psc_text_addf(out, "usage: planscope-cli %s %s [options]\n\n%s\n\nOptions:\n", cli_commands[command].name,
                  cli_commands[command].arguments, cli_commands[command].text);
    for (size_t i = 0; i < cli_option_n(); i++) {
        if (cli_option_at(i)->in & CLI_IN(command))
            add_option(out, cli_option_at(i), command);
    }
    if (CLI_IN(command) & CLI_PLANNING || command == CLI_RUN) {
        add_planners(out);
        add_faults(out, command);
    }
    if (command == CLI_PLAY)
        add_arena_faults(out, "Faults of arenas (--fault)");
    if (takes_presets(command))
        add_presets(out);
    psc_text_add(out, command == CLI_DIFF ? "\nExit status: 0 the same, 1 they differ, 2 trouble.\n"
                                          : "\nExit status: 0 clean, 1 findings, 2 bad input or usage, 3 over a budget.\n");
}

/* ---- parsing -------------------------------------------------------------------------------- */

#define WORD_MAX 32u
/* Edit distance of two short words; anything long is far from everything. */
static unsigned distance(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b);
    unsigned row[WORD_MAX + 1];
    if (n > WORD_MAX || m > WORD_MAX)
        return UINT32_MAX;
    for (size_t j = 0; j <= m; j++)
        row[j] = (unsigned)j;
    for (size_t i = 1; i <= n; i++) {
        unsigned corner = row[0];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= m; j++) {
            unsigned best = corner + (a[i - 1] != b[j - 1]);
            corner = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[m];
}

static enum psc_status unknown_option(const char *word, enum cli_command command, struct psc_error *reterr)
{
    const char *near = NULL, *elsewhere = NULL;
    unsigned best = 4;
    for (size_t i = 0; i < cli_option_n(); i++) {
        unsigned d = distance(word, cli_option_at(i)->name);
        if (!d)
            elsewhere = cli_option_at(i)->name;
        else if (d < best && (cli_option_at(i)->in & CLI_IN(command)) && cli_option_at(i)->name[1] == '-') {
            best = d;
            near = cli_option_at(i)->name;
        }
    }
    if (elsewhere)
        return psc_fail(reterr, PSC_ERR_USAGE, "%s is no option of %s; planscope-cli %s --help lists them", elsewhere,
                        cli_commands[command].name, cli_commands[command].name);
    if (near)
        return psc_fail(reterr, PSC_ERR_USAGE, "unknown option %.60s; did you mean %s?", word, near);
    return psc_fail(reterr, PSC_ERR_USAGE, "unknown option %.60s; planscope-cli %s --help lists them", word,
                    cli_commands[command].name);
}

static enum psc_status bad_value(const struct cli_option *o, enum cli_command command, const char *value,
                                 struct psc_error *reterr)
{
    if (o->right)
        return psc_fail(reterr, PSC_ERR_USAGE, "%s: '%.60s' is not %s", o->name, value, o->right);
    if (!strcmp(o->name, "--planner")) {
        struct psc_text names = {0};
        psc_planner_names(&names, false, " or ");
        enum psc_status status = psc_fail(reterr, PSC_ERR_USAGE, "%s: '%.60s' is not %s", o->name, value, psc_text_str(&names));
        psc_text_release(&names);
        return status;
    }
    char known[240] = "";
    for (uint32_t i = 0; i < psc_named_fault_n(); i++) {
        struct psc_named_fault fault = psc_named_fault(i);
        if (!knows_fault(command, &fault))
            continue;
        strncat(known, *known ? ", " : "", sizeof known - strlen(known) - 1);
        strncat(known, fault.name, sizeof known - strlen(known) - 1);
    }
    return psc_fail(reterr, PSC_ERR_USAGE, "%s: unknown fault '%.60s'; known are %s%s%s", o->name, value, known,
                    command == CLI_RUN ? "; of arenas a1 to a20" : "",
                    command == CLI_EXPORT ? "" : "; of candela's rules b1 to b22 and cl1 to cl4");
}

/* One option and its value, which may stand behind '=' or be the next word. */
static enum psc_status parse_option(struct cli_options *ret, int argc, char **argv, int *at, struct psc_error *reterr)
{
    const char *word = argv[*at], *equals = strchr(word, '=');
    char name[WORD_MAX + 1];
    size_t n = equals ? (size_t)(equals - word) : strlen(word);
    if (n > WORD_MAX)
        n = WORD_MAX;
    memcpy(name, word, n);
    name[n] = '\0';
    if (!strcmp(name, "-h"))
        strcpy(name, "--help");
    else if (!strcmp(name, "--output"))
        strcpy(name, "-o");
    for (size_t i = 0; i < cli_option_n(); i++) {
        const struct cli_option *o = cli_option_at(i);
        if (strcmp(name, o->name) || !(o->in & CLI_IN(ret->command)))
            continue;
        if (!o->value && equals)
            return psc_fail(reterr, PSC_ERR_USAGE, "%s takes no value", o->name);
        const char *value = equals ? equals + 1 : "";
        if (o->value && !equals) {
            if (*at + 1 >= argc)
                return psc_fail(reterr, PSC_ERR_USAGE, "%s needs a value: %s", o->name, o->right ? o->right : o->value);
            value = argv[++*at];
        }
        if (!cli_given(ret, (const char *const[]){o->name, NULL}, false) && ret->given_n < sizeof ret->given / sizeof *ret->given)
            ret->given[ret->given_n++] = o->name;
        return o->set(ret, value) ? PSC_OK : bad_value(o, ret->command, value, reterr);
    }
    return unknown_option(name, ret->command, reterr);
}

const char *cli_given(const struct cli_options *options, const char *const *names, bool others)
{
    for (unsigned i = 0; i < options->given_n; i++) {
        bool listed = false;
        for (const char *const *name = names; *name; name++)
            listed = listed || !strcmp(*name, options->given[i]);
        if (listed != others)
            return options->given[i];
    }
    return NULL;
}

static enum psc_status parse_command(struct cli_options *ret, const char *word, struct psc_error *reterr)
{
    unsigned best = 3;
    const char *near = NULL;
    for (unsigned i = 0; i < CLI_COMMAND_N; i++) {
        unsigned d = distance(word, cli_commands[i].name);
        if (!d) {
            ret->command = (enum cli_command)i;
            return PSC_OK;
        }
        if (d < best) {
            best = d;
            near = cli_commands[i].name;
        }
    }
    if (near)
        return psc_fail(reterr, PSC_ERR_USAGE, "unknown command '%.60s'; did you mean %s?", word, near);
    char known[160] = "";
    for (unsigned i = 0; i < CLI_COMMAND_N; i++) {
        strncat(known, !i ? "" : i + 1 < CLI_COMMAND_N ? ", " : " and ", sizeof known - strlen(known) - 1);
        strncat(known, cli_commands[i].name, sizeof known - strlen(known) - 1);
    }
    return psc_fail(reterr, PSC_ERR_USAGE, "unknown command '%.60s'; there are %s", word, known);
}

/* What cannot be said one option at a time. */
static enum psc_status check_whole(struct cli_options *o, struct psc_error *reterr)
{
    const char *name = cli_commands[o->command].name;
    if ((o->file && !*o->file) || (o->other && !*o->other))
        return psc_fail(reterr, PSC_ERR_USAGE, "%s needs a FILE: its name is empty", name);
    if (o->preset && o->file)
        return psc_fail(reterr, PSC_ERR_USAGE, "%s takes a FILE or --preset, not both: '%.60s' is one too many", name, o->file);
    if (o->expr && (o->file || o->preset))
        return psc_fail(reterr, PSC_ERR_USAGE, "%s takes a FILE or --expr, not both", name);
    if (o->expr)
        o->file = "expression";
    if (!o->file && !o->preset)
        return psc_fail(reterr, PSC_ERR_USAGE, "%s needs a FILE; planscope-cli %s --help says more", name, name);
    if (o->command == CLI_DIFF && !o->other && !o->from && !o->to)
        return psc_fail(reterr, PSC_ERR_USAGE, "diff needs a second FILE, or --from and --to: two planners for the same graph");
    if ((o->no_fuse_qkv && o->run.fuse_qkv == PSC_YES) || (o->no_fuse_ffn && o->run.fuse_ffn == PSC_YES))
        return psc_fail(reterr, PSC_ERR_USAGE, "%s and its opposite: one of them", o->no_fuse_qkv ? "--no-fuse-qkv" : "--no-fuse-ffn");
    if (o->weights && !o->preset)
        return psc_fail(reterr, PSC_ERR_USAGE, "--weights is for presets: a file's weights have their types");
    if (o->command == CLI_CHECK && o->has_step && !o->contents)
        return psc_fail(reterr, PSC_ERR_USAGE, "--step is for --contents FILE: of which step the bytes of a finding are shown");
    if (o->preset)
        o->file = o->preset;
    if (o->plan_file && o->replan)
        return psc_fail(reterr, PSC_ERR_USAGE, "--plan takes the places from a file: it cannot be combined with planner options");
    if ((o->command == CLI_EXPORT || o->command == CLI_RENDER) && !o->out)
        return psc_fail(reterr, PSC_ERR_USAGE, "%s needs -o OUT", name);
    if (o->command == CLI_EXPORT && !o->has_format)
        return psc_fail(reterr, PSC_ERR_USAGE, "export needs --format: minfer-graph, minfer-trace, plan, csv, minimalloc or gguf");
    if (o->command == CLI_EXPORT && o->format == CLI_AS_GGUF && !o->preset)
        return psc_fail(reterr, PSC_ERR_USAGE, "--format gguf writes a preset with weights from a seed: it needs --preset");
    return PSC_OK;
}

enum psc_status cli_options_parse(struct cli_options *ret, int argc, char **argv, struct psc_error *reterr)
{
    *ret = (struct cli_options){.command = CLI_COMMAND_N, .plan = psc_plan_defaults, .width = 1600, .height = 900};
    cli_run_defaults(&ret->run);
    if (argc < 2)
        return psc_fail(reterr, PSC_ERR_USAGE, "a command is missing; planscope-cli --help lists them");
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
        ret->help = true;
        return argc > 2 ? parse_command(ret, argv[2], reterr) : PSC_OK;
    }
    if (!strcmp(argv[1], "--version")) {
        ret->version = true;
        return PSC_OK;
    }
    enum psc_status status = parse_command(ret, argv[1], reterr);
    bool only_files = false;
    for (int i = 2; i < argc && !status; i++) {
        const char *word = argv[i];
        if (!only_files && !strcmp(word, "--"))
            only_files = true;
        else if (!only_files && word[0] == '-' && word[1])
            status = parse_option(ret, argc, argv, &i, reterr);
        else if (ret->file && ret->command == CLI_DIFF && !ret->other)
            ret->other = word;
        else if (ret->file)
            status = psc_fail(reterr, PSC_ERR_USAGE, ret->command == CLI_DIFF ? "two files at most: '%.60s' is one too many"
                                                                                : "one FILE at a time: '%.60s' is one too many", word);
        else
            ret->file = word;
    }
    return status || ret->help ? status : check_whole(ret, reterr);
}
