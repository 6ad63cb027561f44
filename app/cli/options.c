#include "app/cli/options.h"

#include "core/base/mem.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- values -------------------------------------------------------------------------------- */

static bool parse_u64(const char *s, uint64_t *ret)
{
    uint64_t n = 0;
    if (!*s)
        return false;
    for (; *s; s++) {
        if (*s < '0' || *s > '9' || !psc_mul_u64(n, 10, &n) || !psc_add_u64(n, (uint64_t)(*s - '0'), &n))
            return false;
    }
    *ret = n;
    return true;
}

bool cli_parse_bytes(const char *s, uint64_t *ret)
{
    static const struct { const char *unit; uint64_t bytes; } units[] = {
        {"", 1}, {"B", 1}, {"KiB", 1ull << 10}, {"MiB", 1ull << 20}, {"GiB", 1ull << 30}, {"TiB", 1ull << 40},
        {"kB", 1000}, {"KB", 1000}, {"MB", 1000000}, {"GB", 1000000000}, {"TB", 1000000000000},
    };
    uint64_t whole = 0, digits = 0, part = 0, scale = 1;
    for (; isdigit((unsigned char)*s) || (*s == ',' && digits); s++) {
        if (*s == ',')
            continue;
        if (!psc_mul_u64(whole, 10, &whole) || !psc_add_u64(whole, (uint64_t)(*s - '0'), &whole))
            return false;
        digits++;
    }
    if (*s == '.' && digits) {
        for (s++; isdigit((unsigned char)*s); s++) {
            if (scale < 1000000) {
                part = part * 10 + (uint64_t)(*s - '0');
                scale *= 10;
            }
        }
    }
    while (*s == ' ')
        s++;
    for (size_t i = 0; digits && i < sizeof units / sizeof *units; i++) {
        uint64_t n;
        if (strcmp(s, units[i].unit))
            continue;
        if (!psc_mul_u64(whole, units[i].bytes, &n))
            return false;
        /* the part is below 10^6 and the unit at most 2^40: no overflow */
        return psc_add_u64(n, part * units[i].bytes / scale, ret);
    }
    return false;
}

/* ---- setters: false when the value makes no sense ------------------------------------------- */

typedef bool (*setter)(struct cli_options *o, const char *value);

static bool set_json(struct cli_options *o, const char *v) { (void)v; return o->json = true; }
static bool set_pretty(struct cli_options *o, const char *v) { (void)v; return o->pretty = true; }
static bool set_log(struct cli_options *o, const char *v) { (void)v; return o->log = o->plan.log = true; }
static bool set_nodes(struct cli_options *o, const char *v) { (void)v; return o->nodes = true; }
static bool set_dark(struct cli_options *o, const char *v) { (void)v; return o->dark = true; }
static bool set_own(struct cli_options *o, const char *v) { (void)v; return o->require_own = true; }
static bool set_out(struct cli_options *o, const char *v) { o->out = v; return *v; }
static bool set_plan_file(struct cli_options *o, const char *v) { o->plan_file = v; return *v; }
static bool set_help(struct cli_options *o, const char *v) { (void)v; return o->help = true; }

static bool set_u32(const char *v, uint32_t *ret, bool *ret_has)
{
    uint64_t n;
    if (!parse_u64(v, &n) || n >= UINT32_MAX)
        return false;
    *ret = (uint32_t)n;
    return *ret_has = true;
}
static bool set_phase(struct cli_options *o, const char *v) { return set_u32(v, &o->phase, &o->has_phase); }
static bool set_step(struct cli_options *o, const char *v) { return set_u32(v, &o->step, &o->has_step); }

static bool set_at(struct cli_options *o, const char *v)
{
    uint64_t n = 1;
    if (strcmp(v, "-1") && (!parse_u64(v, &n) || n > INT32_MAX))
        return false;
    o->at = *v == '-' ? -1 : (int32_t)n;
    return o->has_at = true;
}
static bool set_max_peak(struct cli_options *o, const char *v)
{
    return o->has_max_peak = cli_parse_bytes(v, &o->max_peak);
}
static bool set_max_buffers(struct cli_options *o, const char *v)
{
    return o->has_max_buffers = parse_u64(v, &o->max_buffers);
}

static bool set_planner(struct cli_options *o, const char *v)
{
    o->planner = psc_planner_find(v);
    return o->planner && (o->replan = true);
}
static bool set_mode(struct cli_options *o, const char *v)
{
    return psc_mode_parse(v, &o->plan.mode) && (o->replan = true);
}
static bool set_slots(struct cli_options *o, const char *v)
{
    return psc_slots_parse(v, &o->plan.slots, &o->plan.seed) && (o->replan = true);
}
static bool set_order(struct cli_options *o, const char *v)
{
    return psc_order_parse(v, &o->plan.order) && (o->replan = true);
}
static bool set_fault(struct cli_options *o, const char *v)
{
    enum psc_fault fault = psc_fault_from_name(v);
    if (fault == PSC_FAULT_N)
        return false;
    o->plan.faults |= PSC_FAULT_BIT(fault);
    return o->replan = true;
}

/* For a picture, 1600x900 is its size; everywhere `class` and `exact` are the planner's. */
static bool set_size(struct cli_options *o, const char *v)
{
    if (psc_size_parse(v, &o->plan.size))
        return o->replan = true;
    char *end;
    if (o->command != CLI_RENDER || !isdigit((unsigned char)*v))
        return false;
    unsigned long w = strtoul(v, &end, 10);
    if ((*end != 'x' && *end != 'X') || !isdigit((unsigned char)end[1]))
        return false;
    unsigned long h = strtoul(end + 1, &end, 10);
    if (*end || w < 100 || h < 100 || w > 16384 || h > 16384)
        return false;
    o->width = (unsigned)w;
    o->height = (unsigned)h;
    return true;
}

static const char *const format_names[] = {"minfer-graph", "minfer-trace", "plan", "csv"};
static const char *const view_names[] = {"rows", "map", "usage"};

static bool pick(const char *v, const char *const *names, unsigned n, unsigned *ret)
{
    for (*ret = 0; *ret < n; ++*ret) {
        if (!strcmp(v, names[*ret]))
            return true;
    }
    return false;
}
static bool set_format(struct cli_options *o, const char *v)
{
    unsigned i;
    if (!pick(v, format_names, CLI_FORMAT_N, &i))
        return false;
    o->format = (enum cli_format)i;
    return o->has_format = true;
}
static bool set_view(struct cli_options *o, const char *v)
{
    unsigned i;
    if (!pick(v, view_names, CLI_VIEW_N, &i))
        return false;
    o->view = (enum cli_view)i;
    return true;
}

/* ---- the tables ----------------------------------------------------------------------------- */

static const struct { const char *name, *arguments, *text; } commands[CLI_COMMAND_N] = {
    [CLI_INFO] = {"info", "FILE", "What the file holds: format, model, phases, warnings."},
    [CLI_PLAN] = {"plan", "FILE", "Where every tensor of a phase lives: buffers, figures, reasons."},
    [CLI_CHECK] = {"check", "FILE", "Is any read wrong, and whose values were recorded?"},
    [CLI_EXPORT] = {"export", "FILE -o OUT --format FORMAT", "Write the file, or a plan of it, in another format."},
    [CLI_RENDER] = {"render", "FILE -o OUT.png|svg|pdf", "Draw a phase as the window does; no display is needed."},
};

#define IN(c) (1u << (c))
#define EVERY (IN(CLI_COMMAND_N) - 1)
#define PLANNING (IN(CLI_PLAN) | IN(CLI_CHECK) | IN(CLI_EXPORT) | IN(CLI_RENDER))

static const struct option {
    const char *name, *value; /* value: what stands after the name, NULL for a switch */
    unsigned in;              /* commands that know it */
    setter set;
    const char *right;        /* what a value should be */
    const char *text;
} options[] = {
    {"--json", NULL, IN(CLI_INFO) | IN(CLI_PLAN) | IN(CLI_CHECK), set_json, NULL, "one JSON object for machines"},
    {"-o", "OUT", IN(CLI_EXPORT) | IN(CLI_RENDER), set_out, "a file name", "the file to write"},
    {"--format", "FORMAT", IN(CLI_EXPORT), set_format, "minfer-graph, minfer-trace, plan or csv",
     "minfer-graph, minfer-trace, plan or csv"},
    {"--pretty", NULL, IN(CLI_EXPORT), set_pretty, NULL, "two blanks of indentation instead of one line"},
    {"--view", "VIEW", IN(CLI_RENDER), set_view, "rows, map or usage",
     "rows (a row a buffer), map (by address) or usage (live bytes); default rows"},
    {"--at", "POSITION", IN(CLI_RENDER), set_at, "-1 or a position in the execution order", "where the cursor stands"},
    {"--step", "STEP", IN(CLI_RENDER), set_step, "a step number, from 0", "the step whose recorded values are marked"},
    {"--dark", NULL, IN(CLI_RENDER), set_dark, NULL, "on a dark ground"},
    {"--phase", "N", IN(CLI_PLAN) | IN(CLI_RENDER), set_phase, "a phase number, from 0", "the phase; default 0"},
    {"--phase", "N", IN(CLI_CHECK), set_phase, "a phase number, from 0", "the phase; default all, with --plan 0"},
    {"--phase", "N", IN(CLI_EXPORT), set_phase, "a phase number, from 0", "the phase; else 0, of a minfer-trace all"},
    {"--plan", "PLAN.json", IN(CLI_CHECK) | IN(CLI_RENDER), set_plan_file, "a file name",
     "take the places from this file instead of planning"},
    {"--planner", "NAME", PLANNING, set_planner, "pool or naive", "pool or naive; default pool"},
    {"--mode", "MODE", PLANNING, set_mode, "upstream or hardened", "upstream or hardened; default upstream"},
    {"--size", "SIZE", PLANNING, set_size, "class or exact (a picture: WIDTHxHEIGHT, 100 to 16384)",
     "class or exact; default class"},
    {"--slots", "POLICY", PLANNING, set_slots, "lowest, fifo, lifo or random:SEED",
     "lowest, fifo, lifo or random:SEED; default lowest"},
    {"--order", "ORDER", PLANNING, set_order, "build or topological", "build or topological; default build"},
    {"--fault", "NAME", PLANNING, set_fault, NULL, "plan with a historic defect; may be repeated"},
    {"--nodes", NULL, IN(CLI_PLAN), set_nodes, NULL, "list every node with its place and the reason"},
    {"--log", NULL, IN(CLI_PLAN), set_log, NULL, "print the walk: sweep, release, reuse, new, alias, refused"},
    {"--require-own", NULL, IN(CLI_CHECK), set_own, NULL, "recorded values that are overwritten are findings"},
    {"--max-peak", "BYTES", IN(CLI_PLAN) | IN(CLI_CHECK), set_max_peak, "a size such as 40MiB or 31671296",
     "exit 3 when more bytes are live at once"},
    {"--max-buffers", "N", IN(CLI_PLAN) | IN(CLI_CHECK), set_max_buffers, "a number", "exit 3 when there are more buffers"},
    {"--help", NULL, EVERY, set_help, NULL, "this text"},
};
#define OPTION_N (sizeof options / sizeof *options)

/* ---- help ----------------------------------------------------------------------------------- */

static void add_faults(struct psc_text *out)
{
    psc_text_add(out, "\nFaults (--fault):\n");
    for (unsigned f = 0; f < PSC_FAULT_N; f++) {
        const struct psc_fault_info *info = psc_fault_info((enum psc_fault)f);
        psc_text_addf(out, "  %-4s %s\n", info->name, info->text);
    }
}

static void add_option(struct psc_text *out, const struct option *o, enum cli_command command)
{
    psc_text_addf(out, "  %s%s%-*s %s\n", o->name, o->value ? " " : "",
                  (int)(23 - strlen(o->name) - (o->value ? 1 : 0)), o->value ? o->value : "", o->text);
    if (command == CLI_RENDER && o->set == set_size)
        psc_text_addf(out, "  %-23s %s\n", "--size WIDTHxHEIGHT", "pixels of the picture; default 1600x900");
}

void cli_add_help(struct psc_text *out, enum cli_command command)
{
    if (command == CLI_COMMAND_N) {
        psc_text_add(out, "usage: planscope-cli COMMAND FILE [options]\n\nShows where every tensor of an inference"
                          " graph lives, steps included, and says what is wrong.\nFILE is a minfer-trace or a"
                          " minfer-graph.\n\nCommands:\n");
        for (unsigned i = 0; i < CLI_COMMAND_N; i++)
            psc_text_addf(out, "  %-7s %s\n", commands[i].name, commands[i].text);
        psc_text_add(out, "\nplanscope-cli COMMAND --help lists the options; planscope-cli --version the version\n"
                          "and what each backend can do here.\n"
                          "Exit status: 0 clean, 1 findings, 2 bad input or usage, 3 over a budget.\n");
        return;
    }
    psc_text_addf(out, "usage: planscope-cli %s %s [options]\n\n%s\n\nOptions:\n", commands[command].name,
                  commands[command].arguments, commands[command].text);
    for (size_t i = 0; i < OPTION_N; i++) {
        if (options[i].in & IN(command))
            add_option(out, &options[i], command);
    }
    if (IN(command) & PLANNING)
        add_faults(out);
    psc_text_add(out, "\nExit status: 0 clean, 1 findings, 2 bad input or usage, 3 over a budget.\n");
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
    for (size_t i = 0; i < OPTION_N; i++) {
        unsigned d = distance(word, options[i].name);
        if (!d)
            elsewhere = options[i].name;
        else if (d < best && (options[i].in & IN(command)) && options[i].name[1] == '-') {
            best = d;
            near = options[i].name;
        }
    }
    if (elsewhere)
        return psc_fail(reterr, PSC_ERR_USAGE, "%s is no option of %s; planscope-cli %s --help lists them", elsewhere,
                        commands[command].name, commands[command].name);
    if (near)
        return psc_fail(reterr, PSC_ERR_USAGE, "unknown option %.60s; did you mean %s?", word, near);
    return psc_fail(reterr, PSC_ERR_USAGE, "unknown option %.60s; planscope-cli %s --help lists them", word,
                    commands[command].name);
}

static enum psc_status bad_value(const struct option *o, const char *value, struct psc_error *reterr)
{
    if (o->right)
        return psc_fail(reterr, PSC_ERR_USAGE, "%s: '%.60s' is not %s", o->name, value, o->right);
    char known[160] = "";
    for (unsigned f = 0; f < PSC_FAULT_N; f++) {
        strncat(known, f ? ", " : "", sizeof known - strlen(known) - 1);
        strncat(known, psc_fault_info((enum psc_fault)f)->name, sizeof known - strlen(known) - 1);
    }
    return psc_fail(reterr, PSC_ERR_USAGE, "%s: unknown fault '%.60s'; known are %s", o->name, value, known);
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
    for (size_t i = 0; i < OPTION_N; i++) {
        const struct option *o = &options[i];
        if (strcmp(name, o->name) || !(o->in & IN(ret->command)))
            continue;
        if (!o->value && equals)
            return psc_fail(reterr, PSC_ERR_USAGE, "%s takes no value", o->name);
        const char *value = equals ? equals + 1 : "";
        if (o->value && !equals) {
            if (*at + 1 >= argc)
                return psc_fail(reterr, PSC_ERR_USAGE, "%s needs a value: %s", o->name, o->right ? o->right : o->value);
            value = argv[++*at];
        }
        return o->set(ret, value) ? PSC_OK : bad_value(o, value, reterr);
    }
    return unknown_option(name, ret->command, reterr);
}

static enum psc_status parse_command(struct cli_options *ret, const char *word, struct psc_error *reterr)
{
    unsigned best = 3;
    const char *near = NULL;
    for (unsigned i = 0; i < CLI_COMMAND_N; i++) {
        unsigned d = distance(word, commands[i].name);
        if (!d) {
            ret->command = (enum cli_command)i;
            return PSC_OK;
        }
        if (d < best) {
            best = d;
            near = commands[i].name;
        }
    }
    if (near)
        return psc_fail(reterr, PSC_ERR_USAGE, "unknown command '%.60s'; did you mean %s?", word, near);
    return psc_fail(reterr, PSC_ERR_USAGE, "unknown command '%.60s'; there are info, plan, check, export and render",
                    word);
}

/* What cannot be said one option at a time. */
static enum psc_status check_whole(const struct cli_options *o, struct psc_error *reterr)
{
    const char *name = commands[o->command].name;
    if (!o->file)
        return psc_fail(reterr, PSC_ERR_USAGE, "%s needs a FILE; planscope-cli %s --help says more", name, name);
    if (o->plan_file && o->replan)
        return psc_fail(reterr, PSC_ERR_USAGE, "--plan takes the places from a file: it cannot be combined with planner options");
    if ((o->command == CLI_EXPORT || o->command == CLI_RENDER) && !o->out)
        return psc_fail(reterr, PSC_ERR_USAGE, "%s needs -o OUT", name);
    if (o->command == CLI_EXPORT && !o->has_format)
        return psc_fail(reterr, PSC_ERR_USAGE, "export needs --format: minfer-graph, minfer-trace, plan or csv");
    return PSC_OK;
}

enum psc_status cli_options_parse(struct cli_options *ret, int argc, char **argv, struct psc_error *reterr)
{
    *ret = (struct cli_options){.command = CLI_COMMAND_N, .plan = psc_plan_defaults, .width = 1600, .height = 900};
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
        else if (ret->file)
            status = psc_fail(reterr, PSC_ERR_USAGE, "one FILE at a time: '%.60s' is one too many", word);
        else
            ret->file = word;
    }
    return status || ret->help ? status : check_whole(ret, reterr);
}
