#include "app/cli/lazy.h"

#include "app/cli/input.h"
#include "app/cli/words.h"
#include "core/base/mem.h"
#include "core/candela/exec.h"
#include "core/candela/levels.h"
#include "core/candela/planner.h"
#include "core/candela/script.h"
#include "core/candela/skeleton.h"
#include "core/candela/story.h"
#include "traces/json-write.h"
#include "traces/lazy-file.h"
#include "traces/source.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define VALUES_SHOWN 64u

struct planned {
    struct psc_source source;
    struct psc_lazy_script script;
    struct psc_arena arena;
    struct psc_candela_plan *plan;
    const uint32_t *order; /* in which its steps run, level by level; NULL: as they are listed */
};

static const char *words_of(const struct cli_options *o)
{
    return *o->lazy_words ? o->lazy_words : NULL;
}

bool cli_lazy_is(const struct cli_options *o)
{
    struct psc_source source;
    if (o->expr)
        return true;
    if (o->preset || !o->file || psc_source_map(&source, o->file, NULL))
        return false;
    bool is = psc_lazy_file_is(o->file, source.s, source.n);
    psc_source_release(&source);
    return is;
}

static enum psc_status open_text(const struct cli_options *o, struct psc_source *ret, struct psc_error *reterr)
{
    if (!o->expr)
        return psc_source_map(ret, o->file, reterr);
    *ret = (struct psc_source){.s = o->expr, .n = strlen(o->expr), .fd = -1};
    return PSC_OK;
}

enum psc_status cli_lazy_doc(const struct cli_options *o, struct psc_doc **ret, struct psc_error *reterr)
{
    struct psc_source source;
    enum psc_status status = open_text(o, &source, reterr);
    if (status)
        return status;
    struct psc_doc *doc = psc_doc_new();
    status = doc ? psc_lazy_file_load(doc, words_of(o), source.s, source.n, reterr) : psc_fail_nomem(reterr);
    psc_source_release(&source);
    if (status)
        psc_doc_free(doc);
    else
        *ret = doc;
    return status;
}

static enum psc_status plan_it(const struct cli_options *o, struct planned *p, struct psc_error *reterr)
{
    memset(p, 0, sizeof *p);
    enum psc_status status = open_text(o, &p->source, reterr);
    if (status)
        return status;
    status = psc_lazy_script_read(&p->script, words_of(o), p->source.s, p->source.n, reterr);
    if (!status)
        status = psc_candela_plan(&p->arena, &p->script.lazy, p->script.root, &p->script.options, &p->plan, reterr);
    if (!status && p->script.levels)
        status = psc_candela_by_level(&p->arena, p->plan, &p->order, reterr);
    return status;
}

static void release(struct planned *p)
{
    psc_arena_release(&p->arena);
    psc_lazy_script_release(&p->script);
    psc_source_release(&p->source);
}

/* ---- plan --------------------------------------------------------------------------------------------------- */

static const char *name_of(const struct planned *p, uint32_t id)
{
    return id < p->script.lazy.n ? p->script.lazy.nodes[id].name : "";
}

static void add_ids(struct psc_text *out, const struct planned *p, const uint32_t *ids, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++)
        psc_text_addf(out, "%s%s", k ? " " : "", name_of(p, ids[k]));
}

static void add_numbers(struct psc_text *out, const uint32_t *numbers, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++)
        psc_text_addf(out, "%s%" PRIu32, k ? " " : "", numbers[k]);
}

/* Each better strategy and what stood against it. */
static void add_denied(struct psc_text *out, const struct psc_candela_step *step)
{
    for (uint32_t k = 0; k < step->denied_n; k++) {
        const struct psc_denial *d = &step->denied[k];
        psc_text_addf(out, "%s%s", k ? "; " : "", psc_how_name(d->how));
        if (d->how == PSC_HOW_IN_PLACE && d->why != PSC_DENIED_OP)
            psc_text_addf(out, " of operand %" PRIu32, d->operand);
        switch (d->why) {
        case PSC_DENIED_OP: psc_text_add(out, ": it reads its operands to the end"); break;
        case PSC_DENIED_NO_SLOT: psc_text_add(out, ": it lies in no slot"); break;
        case PSC_DENIED_READ_LATER: psc_text_addf(out, ": needed up to step %" PRId64 ", this is %" PRId64, d->a, d->b); break;
        case PSC_DENIED_NEVER_ENDS: psc_text_add(out, ": its slot has no end"); break;
        case PSC_DENIED_LENGTH: psc_text_addf(out, ": the slot has %" PRId64 " elements, %" PRId64 " are asked for", d->a, d->b); break;
        case PSC_DENIED_STRIDED: psc_text_add(out, ": it is not packed"); break;
        case PSC_DENIED_SAME_NODE: psc_text_add(out, ": both operands are one node"); break;
        case PSC_DENIED_SAME_SLOT: psc_text_addf(out, ": the other operand lies in the same slot, s%" PRId64, d->a); break;
        case PSC_DENIED_NOT_PACKED: psc_text_add(out, ": the input is not packed"); break;
        default: psc_text_addf(out, ": no idle slot of %" PRId64 " elements", d->a); break;
        }
    }
}

static void add_cell(struct cli_table *table, struct psc_text *text)
{
    cli_table_cell(table, psc_text_str(text));
    psc_text_clear(text);
}

static void add_step(struct cli_table *table, struct psc_text *text, const struct planned *p, uint32_t at)
{
    const struct psc_candela_step *step = &p->plan->steps[at];
    cli_table_number(table, at);
    cli_table_cell(table, step->name);
    psc_text_add(text, psc_how_name(step->how));
    if (step->how == PSC_HOW_IN_PLACE)
        psc_text_addf(text, " of operand %" PRIu32, step->operand);
    if (step->take != PSC_NONE)
        psc_text_addf(text, ", takes %s", name_of(p, step->take));
    if (step->parent != PSC_NONE)
        psc_text_addf(text, ", with parent %s", name_of(p, step->parent));
    add_cell(table, text);
    add_ids(text, p, step->inputs, step->input_n);
    add_cell(table, text);
    if (step->slot != PSC_NONE)
        psc_text_addf(text, "s%" PRIu32, step->slot);
    add_cell(table, text);
    cli_table_number(table, 4 * step->len);
    if (step->end >= 0)
        psc_text_addf(text, "%" PRId32, step->end);
    else
        psc_text_add(text, "never");
    add_cell(table, text);
    add_ids(text, p, step->dealloc, step->dealloc_n);
    add_cell(table, text);
    add_numbers(text, step->needs, step->needs_n);
    add_cell(table, text);
    add_numbers(text, step->after, step->after_n);
    add_cell(table, text);
    cli_table_number(table, step->level);
    add_denied(text, step);
    add_cell(table, text);
}

static void add_aliases(struct psc_text *out, const struct planned *p)
{
    for (uint32_t k = 0; k < p->plan->alias_n; k++) {
        const struct psc_alias_event *e = &p->plan->aliases[k];
        psc_text_addf(out, "  before step %" PRIu32 ": ", e->position);
        cli_add_safe(out, name_of(p, e->node));
        psc_text_add(out, e->takeover ? " takes over what was " : " stands for ");
        cli_add_safe(out, name_of(p, e->target));
        psc_text_addf(out, "%s, %s\n", e->takeover ? "'s" : "", psc_tag_name(e->tag));
    }
}

/* Which steps run beside each other. */
static void add_levels(struct psc_text *out, const struct planned *p, const uint32_t *order)
{
    uint32_t from = 0, to;
    psc_text_add(out, "\nRun level by level, the steps of a level beside each other:\n");
    for (; from < p->plan->n; from = to) {
        uint32_t level = p->plan->steps[order[from]].level;
        psc_text_addf(out, "  level %" PRIu32 ":", level);
        for (to = from; to < p->plan->n && p->plan->steps[order[to]].level == level;)
            to++;
        for (uint32_t k = to; k-- > from;) { /* of a level the last listed stands first */
            psc_text_add(out, k + 1 < to ? ", " : " ");
            cli_add_safe(out, p->plan->steps[order[k]].name);
        }
        psc_text_add(out, "\n");
    }
}

static void add_people(struct psc_text *out, const struct planned *p, const struct psc_candela_memory *m)
{
    struct psc_text text = {0};
    struct cli_table table;
    psc_text_addf(out, "candela, generation %s: %" PRIu32 " step%s, leaves counted; %" PRIu64 " allocation%s, %" PRIu64
                  " bytes, %" PRIu64 " at the peak\n\n", psc_generation_name(p->plan->options.generation), p->plan->n,
                  p->plan->n == 1 ? "" : "s", m->allocations, m->allocations == 1 ? "" : "s", 4 * m->total, 4 * m->peak);
    if (p->plan->external_n) {
        psc_text_add(out, "A skeleton over ");
        for (uint32_t k = 0; k < p->plan->external_n; k++) {
            char shape[96];
            psc_text_add(out, k ? ", " : "");
            cli_add_safe(out, name_of(p, p->plan->externals[k]));
            psc_text_addf(out, " [%s]", psc_layout_text(&p->plan->external_layouts[k], shape, sizeof shape));
        }
        psc_text_add(out, ": slots have no step; their inputs are bound in this order.\n\n");
    }
    cli_table_init(&table, "step|name|decision|reads|slot|bytes|last|gives back|needs|after|level|why nothing better", "rlllrrrlllrl");
    for (uint32_t at = 0; at < p->plan->n; at++)
        add_step(&table, &text, p, at);
    cli_table_end(&table, out);
    if (p->plan->arena_len)
        psc_text_addf(out, "\nAn arena of %" PRIu64 " bytes, offsets are multiples of %" PRIu64 ":\n", 4 * p->plan->arena_len,
                      4 * p->plan->align);
    for (uint32_t s = 0; s < p->plan->slot_n; s++)
        if (p->plan->slots[s].packed)
            psc_text_addf(out, "  s%" PRIu32 " at %" PRIu64 ", %" PRIu64 " bytes, steps %" PRId32 " to %" PRId32 "\n", s,
                          4 * p->plan->slots[s].offset, 4 * p->plan->slots[s].len, p->plan->slots[s].start, p->plan->slots[s].end);
    if (p->plan->alias_n)
        psc_text_add(out, "\nWho stands for whom:\n");
    add_aliases(out, p);
    if (p->order)
        add_levels(out, p, p->order);
    psc_text_add(out, "\nThe result is ");
    cli_add_safe(out, name_of(p, p->plan->root));
    psc_text_add(out, ".\n");
    psc_text_release(&text);
}

static void ids_json(struct psc_json *j, const char *key, const uint32_t *ids, uint32_t n)
{
    psc_json_key(j, key);
    psc_json_array(j);
    for (uint32_t k = 0; k < n; k++)
        psc_json_u64(j, ids[k]);
    psc_json_end_array(j);
}

static void plan_json(struct psc_json *j, const struct planned *p, const struct psc_candela_memory *m)
{
    psc_json_object(j);
    psc_json_put_string(j, "generation", psc_generation_name(p->plan->options.generation));
    psc_json_put_string(j, "executor", p->order ? "level" : "serial");
    psc_json_put_u64(j, "root", p->plan->root);
    psc_json_put_u64(j, "allocations", m->allocations);
    psc_json_put_u64(j, "bytes", 4 * m->total);
    psc_json_put_u64(j, "peak", 4 * m->peak);
    psc_json_put_u64(j, "arena", 4 * p->plan->arena_len);
    psc_json_key(j, "steps");
    psc_json_array(j);
    for (uint32_t at = 0; at < p->plan->n; at++) {
        const struct psc_candela_step *step = &p->plan->steps[at];
        psc_json_object(j);
        psc_json_put_u64(j, "position", at);
        psc_json_put_u64(j, "id", step->id);
        psc_json_put_string(j, "name", step->name);
        psc_json_put_string(j, "decision", psc_how_name(step->how));
        ids_json(j, "inputs", step->inputs, step->input_n);
        if (step->slot != PSC_NONE)
            psc_json_put_u64(j, "slot", step->slot);
        if (step->how == PSC_HOW_IN_PLACE)
            psc_json_put_u64(j, "operand", step->operand);
        if (step->how == PSC_HOW_REGION)
            psc_json_put_u64(j, "offset", 4 * step->offset);
        psc_json_put_u64(j, "bytes", 4 * step->len);
        psc_json_put_i64(j, "last", step->end);
        ids_json(j, "dealloc", step->dealloc, step->dealloc_n);
        ids_json(j, "needs", step->needs, step->needs_n);
        ids_json(j, "after", step->after, step->after_n);
        psc_json_put_u64(j, "level", step->level);
        psc_json_end_object(j);
    }
    psc_json_end_array(j);
    psc_json_end_object(j);
}

enum cli_exit cli_lazy_plan(const struct cli_options *o)
{
    struct planned p;
    struct psc_candela_memory memory;
    struct psc_error error = {0};
    struct psc_text out = {0};
    static const char *const takes[] = {"--expr", "--generation", "--fault", "--level", "--json", "--nodes", "--log", "--max-peak",
                                        "--max-buffers", NULL}; /* all steps are listed, with their reasons */
    const char *odd = cli_given(o, takes, true);
    if (odd) {
        (void)psc_fail(&error, PSC_ERR_USAGE, "an expression is planned as candela plans: plan takes --generation, --fault, --level, "
                       "--max-peak, --max-buffers and --json, not %s", odd);
        return cli_complain(NULL, &error);
    }
    enum psc_status status = plan_it(o, &p, &error);
    uint32_t slots = 0;
    if (!status)
        status = psc_candela_report(p.plan, &memory, &error);
    if (!status && o->json) {
        struct psc_json j;
        psc_json_init(&j, false);
        plan_json(&j, &p, &memory);
        out = j.out;
        psc_text_add(&out, "\n");
    } else if (!status) {
        add_people(&out, &p, &memory);
    }
    if (!status)
        slots = p.plan->slot_n;
    release(&p);
    return status ? cli_complain(o->file, &error) : cli_print(&out, cli_budget_of(o, 4 * memory.peak, slots, 0));
}

enum psc_status cli_lazy_plan_text(const struct cli_options *o, struct psc_text *out, struct psc_error *reterr)
{
    struct planned p;
    struct psc_candela_memory memory;
    enum psc_status status = plan_it(o, &p, reterr);
    if (!status)
        status = psc_candela_report(p.plan, &memory, reterr);
    if (!status) {
        struct psc_json j;
        psc_json_init(&j, o->pretty);
        plan_json(&j, &p, &memory);
        *out = j.out;
    }
    release(&p);
    return status;
}

/* ---- run ---------------------------------------------------------------------------------------------------- */

static enum psc_status add_result(struct psc_text *out, const struct cli_options *o, const struct planned *p,
                                  const struct psc_handle *h, struct psc_error *reterr)
{
    uint64_t n = psc_layout_len(&h->layout), shown = !o->json && n > VALUES_SHOWN ? VALUES_SHOWN : n;
    float *values = psc_alloc(((size_t)shown + 1) * sizeof *values);
    char shape[96];
    if (!values)
        return psc_fail_nomem(reterr);
    for (uint64_t i = 0; i < shown; i++)
        values[i] = h->store->at[psc_layout_at(&h->layout, i)];
    if (o->json) {
        struct psc_json j;
        psc_json_init(&j, false);
        psc_json_object(&j);
        psc_json_put_string(&j, "name", name_of(p, p->plan->root));
        psc_json_key(&j, "shape");
        psc_json_array(&j);
        for (uint32_t d = 0; d < h->layout.rank; d++)
            psc_json_u64(&j, h->layout.shape[d]);
        psc_json_end_array(&j);
        psc_json_key(&j, "values");
        psc_json_array(&j);
        for (uint64_t i = 0; i < n; i++)
            psc_json_f64(&j, (double)values[i]);
        psc_json_end_array(&j);
        psc_json_end_object(&j);
        *out = j.out;
    } else {
        cli_add_safe(out, name_of(p, p->plan->root));
        psc_text_addf(out, " [%s]", psc_layout_text(&h->layout, shape, sizeof shape));
        for (uint64_t i = 0; i < shown; i++)
            psc_text_addf(out, " %g", (double)values[i]);
        if (shown < n)
            psc_text_addf(out, " and %" PRIu64 " more", n - shown);
    }
    psc_text_add(out, "\n");
    psc_free(values);
    return PSC_OK;
}

enum cli_exit cli_lazy_run(const struct cli_options *o)
{
    struct planned p;
    struct psc_handle result, *inputs = NULL;
    struct psc_error error = {0};
    struct psc_text out = {0};
    static const char *const takes[] = {"--expr", "--generation", "--fault", "--level", "--json", NULL};
    const char *odd = cli_given(o, takes, true);
    if (odd) {
        (void)psc_fail(&error, PSC_ERR_USAGE, "an expression has its values in it: run takes --generation, --fault, --level and --json, not %s", odd);
        return cli_complain(NULL, &error);
    }
    enum psc_status status = plan_it(o, &p, &error);
    if (!status)
        status = psc_candela_stand_ins(&p.script.lazy, p.plan, &inputs, &error);
    if (!status)
        status = psc_candela_execute(p.plan, &(struct psc_candela_run){.externals = inputs, .external_n = p.plan->external_n, .order = p.order},
                                     &result, NULL, &error);
    bool ran = !status;
    if (ran) {
        status = add_result(&out, o, &p, &result, &error);
        psc_store_unref(result.store);
    }
    if (inputs)
        psc_candela_stand_ins_free(inputs, p.plan->external_n);
    release(&p);
    return status ? cli_complain(o->file, &error) : cli_print(&out, CLI_CLEAN);
}
