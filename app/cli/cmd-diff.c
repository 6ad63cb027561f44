/* diff: two plans or traces, or one graph under two choices of planner, aligned by who the tensors are. */
#include "app/cli/commands.h"
#include "app/cli/figures.h"
#include "app/cli/input.h"
#include "app/cli/lazy.h"
#include "app/cli/option-table.h"
#include "app/cli/progress.h"
#include "app/cli/words.h"
#include "core/base/mem.h"
#include "core/debug/diff-plans.h"
#include "core/plan/choice.h"
#include "app/model.h"
#include "traces/traces.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PARTS_SHOWN 12u   /* for people; --json lists all */
#define CHANGES_SHOWN 30u

struct side {
    struct cli_options options;
    struct cli_input in;
    struct psc_analysis *analysis;
};

/* ---- opening -------------------------------------------------------------------------------------------------- */

static bool is_plan(const char *path)
{
    return !app_is_model_file(path) && psc_plan_file_is(path);
}

static bool is_lazy_word(const char *word)
{
    enum psc_generation generation;
    return psc_generation_parse(word, &generation) || psc_candela_fault_from_name(word) != PSC_CANDELA_FAULT_N || !strcmp(word, "level");
}

/* A generation of candela's planner, with faults, for an expression; a planner for the rest. */
static enum psc_status choose(struct side *side, const char *word, struct psc_error *reterr)
{
    struct cli_options *o = &side->options;
    struct psc_planner_choice choice = {.planner = o->planner, .plan = o->plan};
    char part[80];
    if (!word)
        return PSC_OK;
    if (cli_lazy_is(o)) {
        for (const char *p = word; *p; p += *p == '+') {
            size_t n = strcspn(p, "+");
            snprintf(part, sizeof part, "%.*s", (int)(n < sizeof part ? n : sizeof part - 1), p);
            if (strcmp(part, "candela") && !is_lazy_word(part))
                return psc_fail(reterr, PSC_ERR_USAGE, "'%.40s' is no generation (hardened, 0.1, 0.2, arena), no fault (b1 to b22, cl1 to "
                                "cl4) and not level: an expression is planned as candela plans", part);
            if (strcmp(part, "candela") && !cli_add_lazy_word(o, part))
                return psc_fail(reterr, PSC_ERR_USAGE, "'%.60s' is too long", word);
            p += n;
        }
        return PSC_OK;
    }
    enum psc_status status = psc_planner_choice_parse(&choice, word, reterr);
    if (status)
        return status;
    o->replan = !choice.filed;
    o->planner = choice.planner;
    o->plan = choice.plan;
    return PSC_OK;
}

/* options->file is a document, options->plan_file the plan of it, if any. */
static enum cli_exit open_side(struct side *side, const char *word)
{
    struct psc_error error = {0};
    const struct psc_phase *phase;
    enum cli_exit status;
    if (side->options.plan_file && (word || side->options.replan)) {
        (void)psc_fail(&error, PSC_ERR_USAGE, "a plan file says where everything lies: no planner options go with it");
        return cli_complain(side->options.plan_file, &error);
    }
    if (choose(side, word, &error))
        return cli_complain(NULL, &error);
    status = cli_input_open(&side->in, &side->options, false);
    if (status)
        return status;
    cli_warn(side->in.doc);
    phase = cli_input_phase(&side->in, &side->options);
    if (!phase)
        return CLI_BAD;
    if (word && !side->options.replan && !phase->story && !phase->plan) {
        (void)psc_fail(&error, PSC_ERR_USAGE, "the file brings neither a plan nor events: name a planner");
        return cli_complain(side->options.file, &error);
    }
    if (side->options.replan && !phase->graph && !phase->boxes) {
        (void)psc_fail(&error, PSC_ERR_USAGE, "the phase brings its events and no graph: there is nothing to plan");
        return cli_complain(side->options.file, &error);
    }
    return cli_analyse(&side->in, &side->options, side->options.phase, &side->analysis);
}

/* Which document and which plan each side is. */
static enum cli_exit settle(const struct cli_options *options, struct side *a, struct side *b)
{
    const char *first = options->file, *second = options->other ? options->other : options->file;
    bool file = !options->preset && !options->expr;
    bool plan_a = file && is_plan(first), plan_b = file && options->other ? is_plan(second) : plan_a;
    struct psc_error error = {0};
    a->options = b->options = *options;
    if (options->graph_file && !(plan_a && plan_b)) {
        (void)psc_fail(&error, PSC_ERR_USAGE, "--graph is for two plan files: a document has its own graph");
        return cli_complain(NULL, &error);
    }
    if (plan_a && plan_b && !options->graph_file) {
        (void)psc_fail(&error, PSC_ERR_USAGE, "a plan alone has no graph: --graph FILE says whose plan it is");
        return cli_complain(first, &error);
    }
    a->options.file = plan_a ? (plan_b ? options->graph_file : second) : first;
    b->options.file = plan_b ? (plan_a ? options->graph_file : first) : second;
    a->options.plan_file = plan_a ? first : NULL;
    b->options.plan_file = plan_b ? second : NULL;
    return CLI_CLEAN;
}

/* ---- for machines --------------------------------------------------------------------------------------------- */

static void value_json(struct psc_json *j, const char *key, const struct psc_diff_side *side, uint32_t value)
{
    cli_id_json(j, key, side->graph, value != PSC_NONE ? psc_diff_node(side, value) : PSC_NONE);
}

static void name_json(struct psc_json *j, const struct psc_plan_diff *d, uint32_t a, uint32_t b)
{
    const struct psc_diff_side *side = a != PSC_NONE ? &d->a : &d->b;
    uint32_t value = a != PSC_NONE ? a : b;
    psc_node node = psc_diff_node(side, value);
    char label[128];
    psc_json_put_string(j, "name", node != PSC_NONE ? psc_node_label(side->graph, node, label, sizeof label)
                                                    : psc_value_label(side->story, side->graph, value, label, sizeof label));
}

static void place_json(struct psc_json *j, const char *key, const struct psc_diff_side *side, uint32_t bar)
{
    psc_json_key(j, key);
    if (bar == PSC_NONE) {
        psc_json_null(j);
        return;
    }
    const struct psc_tenancy *t = &side->history->tenancies[bar];
    psc_json_object(j);
    psc_json_put_string(j, "buffer", side->story->buffers[t->buffer].name);
    psc_json_put_u64(j, "offset", t->lo);
    psc_json_put_u64(j, "length", t->hi - t->lo);
    psc_json_put_i64(j, "first", t->first);
    psc_json_put_i64(j, "last", t->last);
    psc_json_end_object(j);
}

static void change_json(struct psc_json *j, const struct psc_plan_diff *d, const struct psc_plan_change *c, struct psc_text *text)
{
    psc_json_object(j);
    value_json(j, "a", &d->a, c->a);
    value_json(j, "b", &d->b, c->b);
    name_json(j, d, c->a, c->b);
    psc_json_key(j, "changes");
    psc_json_array(j);
    for (int k = 0; k < PSC_CHANGE_N; k++)
        if (c->what & 1u << k)
            psc_json_string(j, psc_change_name((enum psc_change)k));
    psc_json_end_array(j);
    place_json(j, "from", &d->a, c->a_bar);
    place_json(j, "to", &d->b, c->b_bar);
    psc_json_put_i64(j, "peak_bytes", c->peak_bytes);
    psc_text_clear(text);
    psc_explain_change(text, d, c);
    psc_json_put_string(j, "text", psc_text_str(text));
    psc_json_end_object(j);
}

static void part_json(struct psc_json *j, const struct psc_plan_diff *d, const struct psc_peak_part *part, struct psc_text *text)
{
    psc_json_object(j);
    value_json(j, "a", &d->a, part->a);
    value_json(j, "b", &d->b, part->b);
    name_json(j, d, part->a, part->b);
    psc_json_put_i64(j, "bytes", part->bytes);
    psc_json_put_string(j, "why", psc_part_name(part->why));
    psc_text_clear(text);
    psc_explain_part(text, d, part);
    psc_json_put_string(j, "text", psc_text_str(text));
    psc_json_end_object(j);
}

static void total_json(struct psc_json *j, const char *key, const struct psc_diff_total *total)
{
    psc_json_key(j, key);
    psc_json_object(j);
    psc_json_put_u64(j, "peak_bytes", total->peak);
    psc_json_put_i64(j, "peak_at", total->peak_at);
    psc_json_put_i64(j, "compared_at", total->at);
    psc_json_put_u64(j, "reserved_bytes", total->reserved);
    psc_json_end_object(j);
}

static void add_json(struct psc_text *out, const struct psc_plan_diff *d)
{
    struct psc_text text = {0};
    struct psc_json j;
    psc_json_init(&j, false);
    psc_json_object(&j);
    psc_json_put_bool(&j, "same", d->change_n == 0);
    psc_json_put_u64(&j, "pairs", d->pair_n);
    psc_json_key(&j, "counts");
    psc_json_object(&j);
    for (int k = 0; k < PSC_CHANGE_N; k++)
        psc_json_put_u64(&j, psc_change_name((enum psc_change)k), d->count[k]);
    psc_json_end_object(&j);
    total_json(&j, "a", &d->a_total);
    total_json(&j, "b", &d->b_total);
    psc_json_key(&j, "peak");
    psc_json_object(&j);
    psc_json_put_i64(&j, "bytes", (int64_t)d->b_total.peak - (int64_t)d->a_total.peak);
    psc_json_put_i64(&j, "elsewhere", d->elsewhere);
    psc_json_key(&j, "parts");
    psc_json_array(&j);
    for (uint32_t k = 0; k < d->part_n; k++)
        part_json(&j, d, &d->parts[k], &text);
    psc_json_end_array(&j);
    psc_json_end_object(&j);
    psc_json_key(&j, "differences");
    psc_json_array(&j);
    for (uint32_t k = 0; k < d->change_n && !j.out.failed; k++)
        change_json(&j, d, &d->changes[k], &text);
    psc_json_end_array(&j);
    psc_json_end_object(&j);
    j.out.failed |= text.failed;
    psc_text_release(&text);
    *out = j.out;
    psc_text_add(out, "\n");
}

/* ---- for people ----------------------------------------------------------------------------------------------- */

static void add_side(struct psc_text *out, const char *name, const struct side *side)
{
    psc_text_addf(out, "%s  ", name);
    cli_add_safe(out, side->options.plan_file ? side->options.plan_file : side->options.file);
    psc_text_add(out, ": ");
    cli_add_safe(out, side->analysis->origin);
    psc_text_add(out, "\n");
}

static void add_line(struct psc_text *out, struct psc_text *text)
{
    psc_text_add(out, "  ");
    cli_add_safe(out, psc_text_str(text));
    psc_text_add(out, "\n");
    psc_text_clear(text);
}

static void add_peak(struct psc_text *out, const struct psc_plan_diff *d)
{
    struct psc_text text = {0};
    int64_t rest = 0;
    psc_text_add(out, "\n");
    psc_explain_peak_change(&text, d);
    cli_add_safe(out, psc_text_str(&text));
    psc_text_add(out, "\n");
    psc_text_clear(&text);
    for (uint32_t k = 0; k < d->part_n; k++) {
        if (k >= PARTS_SHOWN) {
            rest += d->parts[k].bytes;
            continue;
        }
        psc_explain_part(&text, d, &d->parts[k]);
        add_line(out, &text);
    }
    if (d->part_n > PARTS_SHOWN) {
        char buf[32];
        psc_text_addf(&text, "%s%s bytes  %" PRIu32 " more, together; --json lists all", rest < 0 ? "-" : "+",
                      psc_thousands((uint64_t)(rest < 0 ? -rest : rest), buf, sizeof buf), d->part_n - PARTS_SHOWN);
        add_line(out, &text);
    }
    psc_explain_elsewhere(&text, d);
    if (text.n)
        add_line(out, &text);
    psc_text_release(&text);
}

static void add_people(struct psc_text *out, const struct side *a, const struct side *b, const struct psc_plan_diff *d)
{
    struct psc_text text = {0};
    add_side(out, "A", a);
    add_side(out, "B", b);
    if (d->part_n || d->elsewhere || d->a_total.peak != d->b_total.peak || d->a_total.reserved != d->b_total.reserved)
        add_peak(out, d);
    psc_explain_plan_diff(&text, d);
    psc_text_add(out, "\n");
    cli_add_safe(out, psc_text_str(&text));
    psc_text_add(out, "\n");
    psc_text_clear(&text);
    for (uint32_t k = 0; k < d->change_n && k < CHANGES_SHOWN; k++) {
        psc_explain_change(&text, d, &d->changes[k]);
        add_line(out, &text);
    }
    if (d->change_n > CHANGES_SHOWN)
        psc_text_addf(out, "  and %" PRIu32 " more; --json lists all\n", d->change_n - CHANGES_SHOWN);
    psc_text_release(&text);
}

/* ---- the command ---------------------------------------------------------------------------------------------- */

static enum cli_exit answer(const struct cli_options *options, const struct side *a, const struct side *b)
{
    struct psc_diff_side left = {a->analysis->phase->graph, a->analysis->story, a->analysis->history};
    struct psc_diff_side right = {b->analysis->phase->graph, b->analysis->story, b->analysis->history};
    struct psc_arena arena = {0};
    struct psc_plan_diff *diff;
    struct psc_error error = {0};
    struct psc_text out = {0};
    enum cli_exit status;
    cli_progress("comparing both");
    if (psc_diff_plans(&arena, &left, &right, &diff, &error)) {
        status = cli_complain(NULL, &error);
    } else {
        if (options->json)
            add_json(&out, diff);
        else
            add_people(&out, a, b, diff);
        status = cli_print(&out, diff->change_n ? CLI_FINDINGS : CLI_CLEAN);
    }
    psc_arena_release(&arena);
    return status;
}

enum cli_exit cli_diff(struct cli_options *options)
{
    struct side *sides = psc_alloc0(2, sizeof *sides);
    if (!sides)
        return cli_complain_nomem();
    enum cli_exit status = settle(options, &sides[0], &sides[1]);
    if (!status)
        status = open_side(&sides[0], options->from);
    if (!status)
        status = open_side(&sides[1], options->to);
    if (!status)
        status = answer(options, &sides[0], &sides[1]);
    for (int i = 0; i < 2; i++) {
        psc_analysis_free(sides[i].analysis);
        cli_input_close(&sides[i].in);
    }
    psc_free(sides);
    return status;
}
