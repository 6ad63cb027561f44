#include "app/cli/commands.h"
#include "app/cli/input.h"
#include "app/cli/words.h"
#include "traces/json-write.h"

#include <inttypes.h>
#include <stdio.h>

/* Nodes of each backend of a phase, in first-seen order; the last entry counts the unassigned. */
static void count_backends(const struct psc_graph *g, uint64_t counts[PSC_BACKEND_NONE + 1])
{
    for (unsigned i = 0; i <= PSC_BACKEND_NONE; i++)
        counts[i] = 0;
    for (uint32_t i = 0; g && i < g->n; i++)
        counts[g->nodes[i].backend]++;
}

static const char *backend_name(const struct psc_graph *g, unsigned backend)
{
    return backend < g->backend_n ? g->backends[backend] : "unassigned";
}

static void add_json(struct psc_json *j, const struct psc_doc *doc)
{
    psc_json_object(j);
    psc_json_put_string(j, "format", doc->format);
    psc_json_put_i64(j, "version", doc->version);
    psc_json_put_string(j, "model", doc->model);
    psc_json_key(j, "phases");
    psc_json_array(j);
    for (uint32_t p = 0; p < doc->phase_n; p++) {
        const struct psc_graph *g = doc->phases[p].graph;
        uint64_t counts[PSC_BACKEND_NONE + 1];
        count_backends(g, counts);
        psc_json_object(j);
        psc_json_put_string(j, "kind", doc->phases[p].kind);
        psc_json_put_u64(j, "nodes", g ? g->n : 0);
        psc_json_put_u64(j, "edges", g ? g->src_total : 0);
        psc_json_put_u64(j, "inputs", g ? g->input_n : 0);
        psc_json_put_u64(j, "outputs", g ? g->output_n : 0);
        psc_json_put_u64(j, "steps", psc_doc_step_n(doc, p));
        psc_json_key(j, "backends");
        psc_json_object(j);
        for (unsigned b = 0; b <= PSC_BACKEND_NONE; b++) {
            if (counts[b])
                psc_json_put_u64(j, backend_name(g, b), counts[b]);
        }
        psc_json_end_object(j);
        psc_json_end_object(j);
    }
    psc_json_end_array(j);
    psc_json_key(j, "warnings");
    psc_json_array(j);
    for (size_t i = 0; i < doc->report.n; i++) {
        struct psc_text text = {0};
        cli_add_message(&text, &doc->report.items[i]);
        psc_json_string(j, psc_text_str(&text));
        psc_text_release(&text);
    }
    psc_json_end_array(j);
    psc_json_end_object(j);
}

static void add_line(struct psc_text *out, const char *label, const char *text)
{
    if (!text || !*text)
        return;
    psc_text_addf(out, "%-9s ", label);
    cli_add_safe(out, text);
    psc_text_add(out, "\n");
}

static void add_phases(struct psc_text *out, const struct psc_doc *doc)
{
    struct cli_table table;
    cli_table_init(&table, "phase|kind|nodes|edges|inputs|outputs|layers|steps|backends", "rlrrrrrrl");
    for (uint32_t p = 0; p < doc->phase_n; p++) {
        const struct psc_graph *g = doc->phases[p].graph;
        uint64_t counts[PSC_BACKEND_NONE + 1];
        struct psc_text backends = {0};
        count_backends(g, counts);
        for (unsigned b = 0; b <= PSC_BACKEND_NONE; b++) {
            if (counts[b])
                psc_text_addf(&backends, "%s%s %" PRIu64, backends.n ? ", " : "", backend_name(g, b), counts[b]);
        }
        cli_table_number(&table, p);
        cli_table_cell(&table, doc->phases[p].kind);
        cli_table_number(&table, g ? g->n : 0);
        cli_table_number(&table, g ? g->src_total : 0);
        cli_table_number(&table, g ? g->input_n : 0);
        cli_table_number(&table, g ? g->output_n : 0);
        cli_table_number(&table, g ? g->layer_n : 0);
        cli_table_number(&table, psc_doc_step_n(doc, p));
        cli_table_cell(&table, g ? psc_text_str(&backends) : "no graph");
        psc_text_release(&backends);
    }
    cli_table_end(&table, out);
}

static void add_lessons(struct psc_text *out, const struct psc_doc *doc)
{
    static const char *const labels[] = {"Question:", "Look at:", "Answer:"};
    for (uint32_t p = 0; p < doc->phase_n; p++) {
        const struct psc_phase *phase = &doc->phases[p];
        if (phase->note) {
            psc_text_addf(out, "\nPhase %" PRIu32 ": ", p);
            cli_add_safe(out, phase->note);
            psc_text_add(out, "\n");
        }
        for (unsigned i = 0; i < 3; i++) {
            if (phase->lesson[i] && !i)
                psc_text_add(out, "\n");
            add_line(out, labels[i], phase->lesson[i]);
        }
    }
}

static void add_people(struct psc_text *out, const struct psc_doc *doc)
{
    char version[48] = "";
    if (doc->version)
        snprintf(version, sizeof version, " version %" PRId64, doc->version);
    cli_add_safe(out, doc->path ? doc->path : "expression");
    psc_text_add(out, "\n");
    psc_text_add(out, "Format    ");
    cli_add_safe(out, doc->format);
    psc_text_addf(out, "%s\n", version);
    add_line(out, "Model", doc->model);
    add_line(out, "Prompt", doc->prompt);
    psc_text_add(out, "\n");
    if (doc->phase_n)
        add_phases(out, doc);
    else
        psc_text_add(out, "No phases: nothing was recorded.\n");
    add_lessons(out, doc);
    bool headed = false;
    for (size_t i = 0; i < doc->report.n; i++) {
        if (doc->report.items[i].level == PSC_NOTE)
            continue;
        psc_text_add(out, headed ? "  " : "\nWarnings\n  ");
        cli_add_message(out, &doc->report.items[i]);
        psc_text_add(out, "\n");
        headed = true;
    }
}

enum cli_exit cli_info(struct cli_options *options)
{
    struct cli_input in = {0};
    enum cli_exit status = cli_input_open(&in, options, true);
    if (!status && options->json) {
        struct psc_json j;
        psc_json_init(&j, false);
        add_json(&j, in.doc);
        psc_text_add(&j.out, "\n");
        status = cli_print(&j.out, CLI_CLEAN);
    } else if (!status) {
        struct psc_text out = {0};
        add_people(&out, in.doc);
        status = cli_print(&out, CLI_CLEAN);
    }
    cli_input_close(&in);
    return status;
}
