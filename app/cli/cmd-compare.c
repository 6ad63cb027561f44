/* compare: one phase under every planner, each checked, one line each. Of an expression the generations of candela's planner. */
#include "app/cli/commands.h"
#include "app/cli/figures.h"
#include "app/cli/input.h"
#include "app/cli/lazy.h"
#include "app/cli/option-table.h"
#include "app/cli/progress.h"
#include "app/cli/words.h"
#include "core/base/mem.h"
#include "core/candela/plan.h"
#include "core/debug/explain.h"
#include "core/debug/shootout.h"
#include "core/plan/choice.h"
#include "traces/traces.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONTENDERS_MAX 48u
#define FINDINGS_SHOWN 3u

/* A contender's document: its own where an expression is planned by another generation, else that of the file. */
struct entry {
    struct psc_planner_choice choice;
    struct cli_options options;
    struct cli_input in; /* of a generation */
    char name[80];
};
struct comparing {
    struct cli_options *options;
    struct cli_input in;
    struct entry *entries;            /* owned, [CONTENDERS_MAX] */
    struct psc_contender *contenders; /* owned, [CONTENDERS_MAX] */
    uint32_t n;
};

/* ---- who takes part ------------------------------------------------------------------------------------------- */

static enum psc_status add(struct comparing *c, const char *name, size_t n, const struct psc_planner_choice *choice, struct psc_error *reterr)
{
    struct entry *e = &c->entries[c->n];
    if (c->n == CONTENDERS_MAX || n >= sizeof e->name)
        return psc_fail(reterr, PSC_ERR_TOO_BIG, "--planners: at most %u of at most %zu letters each", CONTENDERS_MAX, sizeof e->name - 1);
    for (uint32_t i = 0; i < c->n; i++)
        if (strlen(c->entries[i].name) == n && !memcmp(c->entries[i].name, name, n))
            return psc_fail(reterr, PSC_ERR_USAGE, "--planners: %s is named twice", c->entries[i].name);
    memcpy(e->name, name, n);
    e->name[n] = '\0';
    e->choice = *choice;
    e->options = *c->options;
    c->n++;
    return PSC_OK;
}

/* An expression has a plan of each generation; the planners of the table are told why they have none. */
static enum psc_status add_generations(struct comparing *c, const struct psc_planner_choice *choice, struct psc_error *reterr)
{
    enum psc_status status = PSC_OK;
    for (int g = 0; !status && g < PSC_GEN_N; g++) {
        const char *word = psc_generation_name((enum psc_generation)g);
        char name[32];
        snprintf(name, sizeof name, "candela+%s", word);
        status = add(c, name, strlen(name), choice, reterr);
        if (!status && !cli_add_lazy_word(&c->entries[c->n - 1].options, word))
            status = psc_fail(reterr, PSC_ERR_USAGE, "too many faults at once");
        if (!status)
            c->entries[c->n - 1].choice.filed = true;
    }
    return status;
}

static enum psc_status add_word(struct comparing *c, const char *word, size_t n, bool lazy, struct psc_error *reterr)
{
    struct psc_planner_choice choice = {.plan = c->options->plan};
    char buf[80];
    if (n >= sizeof buf)
        return psc_fail(reterr, PSC_ERR_USAGE, "--planners: '%.60s' is too long", word);
    memcpy(buf, word, n);
    buf[n] = '\0';
    enum psc_status status = psc_planner_choice_parse(&choice, buf, reterr);
    if (status)
        return status;
    if (!choice.planner && !choice.filed)
        choice.planner = &psc_planners[0];
    if (lazy && choice.planner && !strcmp(choice.planner->name, "candela"))
        return add_generations(c, &choice, reterr);
    return add(c, buf, n, &choice, reterr);
}

static enum psc_status add_all(struct comparing *c, const struct psc_phase *phase, bool lazy, struct psc_error *reterr)
{
    enum psc_status status = PSC_OK;
    bool packed = phase->boxes && strcmp(phase->boxes->packed.spaces[0].by, "the file") != 0; /* when it was opened */
    if ((c->options->plan_file || phase->plan || (phase->story && !packed)) && !lazy)
        status = add_word(c, PSC_CONTENDER_FILE, strlen(PSC_CONTENDER_FILE), false, reterr);
    for (const struct psc_planner *p = psc_planners; p->name && !status; p++)
        status = add_word(c, p->name, strlen(p->name), lazy, reterr);
    return status;
}

static enum psc_status add_list(struct comparing *c, const struct psc_phase *phase, bool lazy, struct psc_error *reterr)
{
    const char *list = c->options->planners;
    enum psc_status status = PSC_OK;
    if (!list || !strcmp(list, "all"))
        return add_all(c, phase, lazy, reterr);
    for (const char *p = list; !status; p++) {
        size_t n = strcspn(p, ",");
        status = add_word(c, p, n, lazy, reterr);
        p += n;
        if (!*p)
            break;
    }
    return status;
}

static enum cli_exit run_entry(struct comparing *c, uint32_t i, bool lazy)
{
    struct entry *e = &c->entries[i];
    struct cli_input *in = &c->in;
    struct psc_error error = {0};
    cli_progress("planning with %s", e->name);
    if (lazy && e->choice.filed) {
        enum psc_status status = cli_lazy_doc(&e->options, &e->in.doc, &error);
        if (status == PSC_ERR_NOMEM)
            return cli_complain_nomem();
        if (status) {
            psc_contender_refuse(&c->contenders[i], e->name, error.text);
            return CLI_CLEAN;
        }
        in = &e->in;
    }
    struct psc_analysis_options want = {.planner = e->choice.filed ? NULL : e->choice.planner, .plan = e->choice.plan,
                                        .foreign = e->choice.filed && c->options->plan_file ? &c->in.foreign : NULL};
    if (psc_contender_run(&in->doc->phases[c->options->phase], e->name, &want, &c->contenders[i], &error))
        return cli_complain(c->options->file, &error);
    return CLI_CLEAN;
}

/* ---- for machines --------------------------------------------------------------------------------------------- */

/* Of a plan all its figures; of packed boxes and events what is known. */
static void figures_json(struct psc_json *j, const struct psc_contender *c)
{
    const struct psc_cost *cost = &c->cost;
    psc_json_object(j);
    if (c->analysis->plan) {
        psc_figures_put_json(j, &c->analysis->plan->figures);
    } else {
        psc_json_put_u64(j, "in_place", cost->in_place);
        psc_json_put_u64(j, "buffers", cost->buffers);
        psc_json_put_u64(j, "pool_bytes", cost->reserved);
        psc_json_put_u64(j, "peak_live_bytes", cost->peak_live);
        psc_json_put_u64(j, "lower_bound_bytes", cost->lower_bound);
    }
    psc_json_put_u64(j, "reserved_bytes", cost->reserved);
    psc_json_put_u64(j, "padding_at_peak_bytes", cost->padding);
    psc_json_put_u64(j, "holes_bytes", cost->holes);
    psc_json_put_f64(j, "ratio", cost->ratio);
    psc_json_put_string(j, "proof", psc_proof_name(cost->proof));
    psc_json_end_object(j);
}

static void contender_json(struct psc_json *j, const struct psc_contender *c, uint32_t phase)
{
    psc_json_object(j);
    psc_json_put_string(j, "planner", c->name);
    psc_json_key(j, "figures");
    if (c->analysis)
        figures_json(j, c);
    else
        psc_json_null(j);
    psc_json_key(j, "ms");
    if (c->milliseconds >= 0)
        psc_json_f64(j, c->milliseconds);
    else
        psc_json_null(j);
    psc_json_put_u64(j, "runs", c->runs);
    psc_json_key(j, "findings");
    psc_json_array(j);
    for (uint32_t i = 0; c->analysis && i < c->analysis->check.finding_n; i++)
        cli_finding_json(j, c->analysis, &c->analysis->check.findings[i], phase, NULL);
    psc_json_end_array(j);
    psc_json_put_string(j, "reason", c->analysis ? NULL : c->why);
    psc_json_end_object(j);
}

static void add_json(struct psc_text *out, const struct comparing *c)
{
    struct psc_json j;
    psc_json_init(&j, false);
    psc_json_object(&j);
    psc_json_put_u64(&j, "phase", c->options->phase);
    psc_json_key(&j, "planners");
    psc_json_array(&j);
    for (uint32_t i = 0; i < c->n; i++)
        contender_json(&j, &c->contenders[i], c->options->phase);
    psc_json_end_array(&j);
    psc_json_end_object(&j);
    *out = j.out;
    psc_text_add(out, "\n");
}

/* ---- for people ----------------------------------------------------------------------------------------------- */

static const char *time_text(double ms, char *buf, size_t size)
{
    if (ms < 0)
        return "";
    if (ms < 1)
        snprintf(buf, size, "%.0f us", ms * 1000);
    else if (ms < 1000)
        snprintf(buf, size, "%.*f ms", ms < 10 ? 2 : 1, ms);
    else
        snprintf(buf, size, "%.2f s", ms / 1000);
    return buf;
}

static void add_row(struct cli_table *table, const struct psc_contender *c)
{
    const struct psc_cost *cost = &c->cost;
    char buf[48];
    cli_table_cell(table, c->name);
    if (!c->analysis) {
        for (unsigned k = 0; k < 9; k++)
            cli_table_cell(table, "");
        cli_table_cell(table, "cannot, see below");
        return;
    }
    cli_table_number(table, cost->buffers);
    cli_table_number(table, cost->reserved);
    snprintf(buf, sizeof buf, "%.3f", cost->ratio);
    cli_table_cell(table, buf);
    cli_table_number(table, cost->lower_bound);
    cli_table_number(table, cost->peak_live);
    cli_table_number(table, cost->padding);
    cli_table_number(table, cost->holes);
    cli_table_number(table, cost->in_place);
    cli_table_cell(table, time_text(c->milliseconds, buf, sizeof buf));
    uint32_t found = c->analysis->check.finding_n;
    snprintf(buf, sizeof buf, "%" PRIu32 " finding%s", found, found == 1 ? "" : "s");
    cli_table_cell(table, found ? buf : "clean");
}

static void add_findings(struct psc_text *out, const struct psc_contender *c)
{
    struct psc_text text = {0};
    for (uint32_t i = 0; i < c->analysis->check.finding_n && i < FINDINGS_SHOWN; i++) {
        psc_text_clear(&text);
        psc_explain_finding(&text, c->analysis, &c->analysis->check.findings[i]);
        psc_text_addf(out, "%s: ", c->name);
        cli_add_safe(out, psc_text_str(&text));
        psc_text_add(out, "\n");
    }
    if (c->analysis->check.finding_n > FINDINGS_SHOWN)
        psc_text_addf(out, "%s: and %" PRIu32 " more; --json lists all\n", c->name, c->analysis->check.finding_n - FINDINGS_SHOWN);
    psc_text_release(&text);
}

/* Those with one reason share a line, at the first of them. */
static void add_reason(struct psc_text *out, const struct comparing *c, uint32_t i)
{
    const struct psc_contender *own = &c->contenders[i];
    if (own->analysis)
        return;
    for (uint32_t k = 0; k < i; k++)
        if (!c->contenders[k].analysis && !strcmp(c->contenders[k].why, own->why))
            return;
    psc_text_add(out, own->name);
    for (uint32_t k = i + 1; k < c->n; k++)
        if (!c->contenders[k].analysis && !strcmp(c->contenders[k].why, own->why))
            psc_text_addf(out, ", %s", c->contenders[k].name);
    psc_text_add(out, " cannot: ");
    cli_add_safe(out, own->why);
    psc_text_add(out, ".\n");
}

static void add_people(struct psc_text *out, const struct comparing *c)
{
    const struct psc_phase *phase = &c->in.doc->phases[c->options->phase];
    struct cli_table table;
    cli_add_safe(out, c->options->file);
    psc_text_addf(out, ", phase %" PRIu32, c->options->phase);
    if (phase->graph) {
        psc_text_add(out, ": ");
        cli_add_number(out, phase->graph->n);
        psc_text_add(out, phase->graph->n == 1 ? " node" : " nodes");
    } else if (phase->boxes) {
        psc_text_add(out, ": ");
        cli_add_number(out, phase->boxes->problem.box_n);
        psc_text_add(out, phase->boxes->problem.box_n == 1 ? " box" : " boxes");
    }
    psc_text_add(out, "\n\n");
    cli_table_init(&table, "planner|buffers|bytes reserved|x bound|lower bound|peak live|padding|holes|in place|time|check", "lrrrrrrrrrl");
    for (uint32_t i = 0; i < c->n; i++)
        add_row(&table, &c->contenders[i]);
    cli_table_end(&table, out);
    psc_text_add(out, "\nReserved = lower bound (exact bytes alive at the peak, with these merges in place) + padding + holes; time is that of\n"
                      "planning, the median of several runs.\n");
    for (uint32_t i = 0; i < c->n; i++)
        if (c->contenders[i].analysis)
            add_findings(out, &c->contenders[i]);
    for (uint32_t i = 0; i < c->n; i++)
        add_reason(out, c, i);
}

/* ---- the command ---------------------------------------------------------------------------------------------- */

static enum cli_exit run_all(struct comparing *c)
{
    bool lazy = cli_lazy_is(c->options);
    struct psc_error error = {0};
    enum cli_exit status = cli_input_open(&c->in, c->options, false);
    if (status)
        return status;
    cli_warn(c->in.doc);
    const struct psc_phase *phase = cli_input_phase(&c->in, c->options);
    if (!phase)
        return CLI_BAD;
    if (add_list(c, phase, lazy, &error))
        return cli_complain(NULL, &error);
    for (uint32_t i = 0; i < c->n && !status; i++)
        status = run_entry(c, i, lazy);
    return status;
}

static void tell_nobody(const struct comparing *c)
{
    struct psc_text line = {0};
    cli_add_safe(&line, c->options->file);
    psc_text_addf(&line, ": nobody asked can plan phase %" PRIu32 ": %s: ", c->options->phase, c->contenders[0].name);
    cli_add_safe(&line, c->contenders[0].why);
    cli_progress_end();
    fprintf(stderr, "planscope-cli: %s\n", psc_text_str(&line));
    psc_text_release(&line);
}

/* A plan that is wrong counts; one that only needs more memory than it must (K10) is what one compares for. When nobody could plan there
 * is nothing to compare. */
static enum cli_exit verdict(const struct comparing *c)
{
    bool found = false, able = false;
    for (uint32_t i = 0; i < c->n; i++) {
        able |= c->contenders[i].analysis != NULL;
        for (uint32_t k = 0; c->contenders[i].analysis && k < c->contenders[i].analysis->check.finding_n; k++)
            found |= c->contenders[i].analysis->check.findings[k].kind != PSC_K10;
    }
    if (!able)
        tell_nobody(c);
    return !able ? CLI_BAD : found ? CLI_FINDINGS : CLI_CLEAN;
}

enum cli_exit cli_compare(struct cli_options *options)
{
    struct comparing c = {.options = options};
    struct psc_text out = {0};
    enum cli_exit status;
    c.entries = psc_alloc0(CONTENDERS_MAX, sizeof *c.entries);
    c.contenders = psc_alloc0(CONTENDERS_MAX, sizeof *c.contenders);
    status = c.entries && c.contenders ? run_all(&c) : cli_complain_nomem();
    if (!status) {
        if (options->json)
            add_json(&out, &c);
        else {
            qsort(c.contenders, c.n, sizeof *c.contenders, psc_contender_order);
            add_people(&out, &c);
        }
        status = cli_print(&out, verdict(&c));
    }
    for (uint32_t i = 0; i < c.n; i++) {
        psc_contender_release(&c.contenders[i]);
        cli_input_close(&c.entries[i].in);
    }
    psc_free(c.contenders);
    psc_free(c.entries);
    cli_input_close(&c.in);
    return status;
}
