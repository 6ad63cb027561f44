#include "app/cli/commands.h"
#include "app/cli/figures.h"
#include "app/cli/input.h"
#include "app/cli/lazy.h"
#include "app/cli/progress.h"
#include "app/cli/words.h"
#include "core/base/mem.h"
#include "core/debug/explain.h"
#include "traces/minimalloc.h"
#include "traces/traces.h"

#include <inttypes.h>
#include <stdio.h>

/* Regions and staging come by the dozen: those of one backend are one line, at the first of them. */
struct line {
    uint32_t first, last, n;
    uint64_t bytes, tenants;
};

static struct line line_of(const struct psc_plan *plan, const uint32_t *tenants, uint32_t b)
{
    const struct psc_buffer *first = &plan->buffers[b];
    bool many = first->role == PSC_ROLE_PERSISTENT || first->role == PSC_ROLE_STAGING;
    struct line line = {.first = b, .last = b};
    for (uint32_t i = b; i < (many ? plan->buffer_n : b + 1); i++) {
        if (plan->buffers[i].role != first->role || plan->buffers[i].backend != first->backend)
            continue;
        line.last = i;
        line.n++;
        line.bytes += plan->buffers[i].bytes;
        line.tenants += tenants[i];
    }
    return line;
}

static void add_buffer_lines(struct psc_text *out, const struct psc_analysis *a, const uint32_t *tenants)
{
    const struct psc_plan *plan = a->plan;
    const struct psc_graph *g = a->phase->graph;
    bool told[PSC_ROLE_N][PSC_BACKEND_NONE + 1] = {{false}};
    struct cli_table table;
    cli_table_init(&table, "buffer|backend|role|bytes|tenants", "lllrr");
    for (uint32_t b = 0; b < plan->buffer_n; b++) {
        const struct psc_buffer *buffer = &plan->buffers[b];
        if (told[buffer->role][buffer->backend])
            continue;
        struct line line = line_of(plan, tenants, b);
        char name[128];
        told[buffer->role][buffer->backend] = line.n > 1;
        snprintf(name, sizeof name, "%s .. %s (%" PRIu32 ")", buffer->name, plan->buffers[line.last].name, line.n);
        cli_table_cell(&table, line.n > 1 ? name : buffer->name);
        cli_table_cell(&table, buffer->backend < g->backend_n ? g->backends[buffer->backend] : "");
        cli_table_cell(&table, psc_role_name(buffer->role));
        cli_table_number(&table, line.bytes);
        cli_table_number(&table, line.tenants);
    }
    cli_table_end(&table, out);
}

static void add_buffers(struct psc_text *out, const struct psc_analysis *a)
{
    const struct psc_plan *plan = a->plan;
    uint32_t *tenants = psc_alloc0(plan->buffer_n + (size_t)1, sizeof *tenants);
    if (!tenants) {
        out->failed = true;
        return;
    }
    for (uint32_t i = 0; i < plan->node_n; i++) {
        if (plan->places[i].buffer != PSC_NONE)
            tenants[plan->places[i].buffer]++;
    }
    for (uint32_t i = 0; i < plan->copy_n; i++)
        tenants[plan->copies[i].buffer]++;
    add_buffer_lines(out, a, tenants);
    psc_free(tenants);
}

static void add_nodes(struct psc_text *out, const struct psc_analysis *a)
{
    const struct psc_graph *g = a->phase->graph;
    struct psc_text why = {0};
    struct cli_table table;
    char buf[96];
    cli_table_init(&table, "id|name|op|buffer|offset|bytes|first|last|reason", "rlllrrrrl");
    for (psc_node i = 0; i < g->n; i++) {
        const struct psc_place *place = &a->plan->places[i];
        bool placed = place->buffer != PSC_NONE;
        snprintf(buf, sizeof buf, "%" PRIu64, g->nodes[i].id);
        cli_table_cell(&table, buf);
        cli_table_cell(&table, psc_node_label(g, i, buf, sizeof buf));
        cli_table_cell(&table, g->nodes[i].op_name);
        cli_table_cell(&table, placed ? a->plan->buffers[place->buffer].name : "");
        if (placed)
            cli_table_number(&table, place->offset);
        else
            cli_table_cell(&table, "");
        cli_table_number(&table, g->nodes[i].bytes);
        snprintf(buf, sizeof buf, "%" PRId32, place->first);
        cli_table_cell(&table, placed ? buf : "");
        snprintf(buf, sizeof buf, "%" PRId32, place->last);
        cli_table_cell(&table, placed ? buf : "");
        psc_text_clear(&why);
        psc_explain_place(&why, a, i);
        cli_table_cell(&table, psc_text_str(&why));
    }
    psc_text_release(&why);
    cli_table_end(&table, out);
}

static void add_log(struct psc_text *out, const struct psc_analysis *a)
{
    struct psc_text line = {0};
    for (uint32_t i = 0; i < a->plan->walk_n; i++) {
        psc_text_clear(&line);
        psc_explain_walk(&line, a->phase->graph, a->plan, &a->plan->walk[i]);
        psc_text_add(out, "  ");
        cli_add_safe(out, psc_text_str(&line));
        psc_text_add(out, "\n");
    }
    psc_text_release(&line);
}

static void add_certificates(struct psc_text *out, const struct psc_analysis *a)
{
    if (a->plan->certificate_n)
        psc_text_add(out, "\n");
    for (uint32_t k = 0; k < a->plan->certificate_n; k++) {
        const struct psc_certificate *c = &a->plan->certificates[k];
        char when[40];
        snprintf(when, sizeof when, "position %" PRIu32, c->space.bound_at);
        cli_add_certificate(out, a->plan->buffers[c->buffer].name, when, &c->space);
    }
}

static void add_people(struct psc_text *out, const struct cli_options *options, const struct psc_analysis *a)
{
    struct psc_text peak = {0};
    cli_add_heading(out, options->file, options->phase, a);
    psc_text_add(out, "\n");
    cli_add_figures(out, a);
    add_certificates(out, a);
    psc_explain_peak(&peak, a);
    psc_text_add(out, "\n");
    cli_add_safe(out, psc_text_str(&peak));
    psc_text_add(out, "\n\n");
    psc_text_release(&peak);
    add_buffers(out, a);
    if (options->nodes) {
        psc_text_add(out, "\n");
        add_nodes(out, a);
    }
    if (options->log) {
        psc_text_add(out, "\nThe walk\n");
        add_log(out, a);
    }
}

/* ---- boxes without a graph --------------------------------------------------------------------------------------- */

static void add_boxes(struct psc_text *out, const struct psc_box_set *set, const struct psc_offsets *packed)
{
    struct cli_table table;
    char buf[32];
    cli_table_init(&table, "id|lower|upper|size|offset|turn", "lrrrrr");
    for (uint32_t i = 0; i < set->problem.box_n; i++) {
        cli_table_cell(&table, set->names[i]);
        snprintf(buf, sizeof buf, "%" PRId64, set->times[set->problem.boxes[i].begin]);
        cli_table_cell(&table, buf);
        snprintf(buf, sizeof buf, "%" PRId64, set->times[set->problem.boxes[i].end]);
        cli_table_cell(&table, buf);
        cli_table_number(&table, set->problem.boxes[i].bytes);
        cli_table_number(&table, packed->offset[i]);
        cli_table_number(&table, packed->turn[i] + UINT64_C(1));
    }
    cli_table_end(&table, out);
}

static void add_boxes_people(struct psc_text *out, const struct cli_options *options, const struct psc_analysis *a)
{
    const struct psc_box_set *set = a->phase->boxes;
    char when[40];
    cli_add_heading(out, options->file, options->phase, a);
    psc_text_add(out, "\n");
    cli_add_number(out, set->problem.box_n);
    psc_text_add(out, set->problem.box_n == 1 ? " box. " : " boxes. ");
    snprintf(when, sizeof when, "time %" PRId64, set->problem.box_n ? set->times[a->packed->spaces[0].bound_at] : 0);
    cli_add_certificate(out, "The arena", when, &a->packed->spaces[0]);
    if (options->nodes) {
        psc_text_add(out, "\n");
        add_boxes(out, set, a->packed);
    }
}

static enum cli_exit answer_boxes(const struct cli_options *options, const struct psc_analysis *a)
{
    struct psc_error error = {0};
    struct psc_text out = {0};
    struct psc_plan_options plan = options->plan;
    plan.size = PSC_SIZE_EXACT; /* what planners of arenas say of themselves */
    plan.mode = PSC_MODE_HARDENED;
    if (!options->json) {
        add_boxes_people(&out, options, a);
    } else if (psc_box_set_write(a->phase->boxes, a->packed, a->packer, &plan, false, &out, &error)) {
        psc_text_release(&out);
        return cli_complain(options->file, &error);
    } else {
        psc_text_add(&out, "\n");
    }
    return cli_print(&out, cli_budget(options, a, options->phase));
}

static enum cli_exit answer(const struct cli_options *options, const struct psc_analysis *a)
{
    struct psc_error error = {0};
    if (a->packed)
        return answer_boxes(options, a);
    if (!a->plan) {
        (void)psc_fail(&error, PSC_ERR_USAGE, a->phase->graph ? "phase %" PRIu32 " brings its events, not a plan; --planner pool makes one"
                       : "phase %" PRIu32 " brings its events and no graph: there is nothing to plan", options->phase);
        return cli_complain(options->file, &error);
    }
    struct psc_text out = {0};
    cli_progress("writing the plan");
    if (!options->json)
        add_people(&out, options, a);
    else if (psc_plan_write(a->phase->graph, a->plan, false, &out, &error)) {
        psc_text_release(&out);
        return cli_complain(options->file, &error);
    } else
        psc_text_add(&out, "\n");
    return cli_print(&out, cli_budget(options, a, options->phase));
}

enum cli_exit cli_plan(struct cli_options *options)
{
    if (cli_lazy_is(options))
        return cli_lazy_plan(options);
    struct cli_input in = {0};
    struct psc_analysis *a = NULL;
    enum cli_exit status = cli_input_open(&in, options, false);
    if (!status)
        cli_warn(in.doc);
    if (!status && !cli_input_phase(&in, options))
        status = CLI_BAD;
    if (!status)
        status = cli_analyse(&in, options, options->phase, &a);
    if (!status)
        status = answer(options, a);
    psc_analysis_free(a);
    cli_input_close(&in);
    return status;
}
