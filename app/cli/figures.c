#include "app/cli/figures.h"

#include "app/cli/words.h"
#include "core/debug/explain.h"
#include "core/debug/shootout.h"
#include "traces/traces.h"

#include <inttypes.h>
#include <stdio.h>
#include <stddef.h>

#define FIGURE(field) #field, offsetof(struct psc_figures, field)
static const struct figure {
    const char *key;
    size_t at;
    bool bytes;
    const char *text;
} figures[] = {
    {FIGURE(nodes), false, "nodes of the graph"},
    {FIGURE(placed), false, "have bytes of their own or of their root"},
    {FIGURE(dead), false, "nobody reads them and they are no output: no buffer"},
    {FIGURE(in_place), false, "written over an operand"},
    {FIGURE(reused), false, "placed in a buffer that another node had left"},
    {FIGURE(buffers), false, "inputs counted, KV and staging not"},
    {FIGURE(pool_bytes), true, "all those buffers together"},
    {FIGURE(peak_live_bytes), true, "of the buffers in use at the peak"},
    {FIGURE(peak_tensor_bytes), true, "exact bytes of live tensors, nothing in place: of graph and order alone"},
    {FIGURE(lower_bound_bytes), true, "exact bytes with this plan's in-place merges"},
    {FIGURE(naive_bytes), true, "a buffer for every node"},
    {FIGURE(padding_bytes), true, "lost to size classes"},
    {FIGURE(alias_saved_bytes), true, "not copied, because written in place"},
    {FIGURE(kv_bytes), true, "persistent KV regions, beside the pool"},
    {FIGURE(staging_bytes), true, "staging copies between backends, beside the pool"},
};
#define FIGURE_N (sizeof figures / sizeof *figures)

static uint64_t value_of(const struct psc_figures *f, const struct figure *figure)
{
    return *(const uint64_t *)(const void *)((const char *)f + figure->at);
}

void cli_add_figures(struct psc_text *out, const struct psc_analysis *analysis)
{
    struct cli_table table;
    if (!analysis->plan)
        return;
    cli_table_init(&table, "figure|value||meaning", "lrll");
    for (size_t i = 0; i < FIGURE_N; i++) {
        uint64_t value = value_of(&analysis->plan->figures, &figures[i]);
        char buf[32];
        cli_table_cell(&table, figures[i].key);
        cli_table_number(&table, value);
        cli_table_cell(&table, figures[i].bytes ? psc_bytes_text(value, buf, sizeof buf) : "");
        cli_table_cell(&table, figures[i].text);
    }
    cli_table_end(&table, out);
}

void cli_add_certificate(struct psc_text *out, const char *name, const char *when, const struct psc_offsets_space *space)
{
    double gap = space->bound ? 100.0 * (double)(space->height - space->bound) / (double)space->bound : 0;
    cli_add_safe(out, name);
    psc_text_add(out, ": ");
    cli_add_number(out, space->height);
    psc_text_addf(out, " bytes by %s. ", space->by);
    if (space->proof == PSC_PROOF_BOUND) {
        psc_text_addf(out, "As many are alive at %s: nothing is lower.\n", when);
        return;
    }
    if (space->height < space->bound) {
        cli_add_number(out, space->bound);
        psc_text_addf(out, " are alive at %s: some lie on others.\n", when);
        return;
    }
    psc_text_add(out, "The lower bound is ");
    cli_add_number(out, space->bound);
    psc_text_addf(out, " bytes, alive at %s", when);
    if (space->proof == PSC_PROOF_SEARCH)
        psc_text_addf(out, "; the search, %" PRIu64 " looks long, proved that nothing is lower.\n", space->work);
    else
        psc_text_addf(out, ": the gap is %.2f %%, a lower one may exist (the search had %" PRIu64 " looks).\n", gap, space->work);
}

void cli_figures_json(struct psc_json *j, const struct psc_analysis *analysis)
{
    if (analysis->plan) {
        psc_figures_write_json(j, &analysis->plan->figures);
        return;
    }
    struct psc_cost cost = psc_cost_of(analysis);
    psc_json_object(j);
    if (analysis->story) {
        psc_json_put_u64(j, "buffers", cost.buffers);
        psc_json_put_u64(j, "peak_live_bytes", cost.peak_live);
    }
    psc_json_end_object(j);
}

void cli_id_json(struct psc_json *j, const char *key, const struct psc_graph *g, psc_node node)
{
    psc_json_key(j, key);
    if (g && node != PSC_NONE)
        psc_json_u64(j, g->nodes[node].id);
    else
        psc_json_null(j);
}

/* {"compared":4,"differ":4,"first":[{"offset":0,"expected":"3f3b26a8","found":"40000000"}],"text"}; null where nothing is known. */
static void words_json(struct psc_json *j, const struct psc_analysis *a, const struct psc_finding *f, const struct psc_contents *contents)
{
    struct psc_finding_bytes bytes = psc_finding_bytes(a, f, contents);
    struct psc_text text = {0};
    char hex[16];
    psc_json_key(j, "words");
    if (bytes.known != PSC_BYTES_COMPARED) {
        psc_json_null(j);
        return;
    }
    psc_explain_bytes_line(&text, a, &bytes, 0);
    psc_json_object(j);
    psc_json_put_u64(j, "compared", bytes.looked_n);
    psc_json_put_u64(j, "differ", bytes.differ_n);
    psc_json_key(j, "first");
    psc_json_array(j);
    for (uint32_t k = 0; k < bytes.row_n; k++) {
        psc_json_object(j);
        psc_json_put_u64(j, "offset", bytes.rows[k].offset);
        snprintf(hex, sizeof hex, "%08" PRIx32, bytes.rows[k].expected);
        psc_json_put_string(j, "expected", hex);
        snprintf(hex, sizeof hex, "%08" PRIx32, bytes.rows[k].found);
        psc_json_put_string(j, "found", hex);
        psc_json_end_object(j);
    }
    psc_json_end_array(j);
    psc_json_put_string(j, "text", psc_text_str(&text));
    psc_json_end_object(j);
    j->out.failed = j->out.failed || text.failed;
    psc_text_release(&text);
}

void cli_finding_json(struct psc_json *j, const struct psc_analysis *a, const struct psc_finding *f, uint32_t phase, const struct psc_contents *contents)
{
    const struct psc_graph *g = a->phase->graph;
    struct psc_text text = {0};
    psc_json_object(j);
    psc_json_put_string(j, "kind", psc_kind_name(f->kind));
    psc_json_put_string(j, "confidence", psc_confidence_name(f->confidence));
    cli_id_json(j, "victim", g, f->victim);
    cli_id_json(j, "writer", g, f->writer);
    if (f->reader_kind == PSC_READER_NODE) {
        cli_id_json(j, "reader", g, f->reader);
    } else {
        psc_json_put_string(j, "reader", psc_reader_name(f->reader_kind));
    }
    psc_json_put_string(j, "buffer", f->buffer != PSC_NONE ? a->story->buffers[f->buffer].name : NULL);
    psc_json_key(j, "bytes");
    psc_json_array(j);
    psc_json_u64(j, f->lo);
    psc_json_u64(j, f->hi);
    psc_json_end_array(j);
    psc_json_put_u64(j, "phase", phase);
    psc_json_put_i64(j, "position", f->position);
    psc_json_key(j, "nodes");
    psc_json_array(j);
    psc_node nodes[PSC_FINDING_NODES];
    for (uint32_t k = 0, n = psc_finding_nodes(a, f, nodes, PSC_FINDING_NODES); k < n; k++)
        psc_json_u64(j, g->nodes[nodes[k]].id);
    psc_json_end_array(j);
    psc_json_key(j, "text");
    psc_explain_finding(&text, a, f);
    psc_json_string(j, psc_text_str(&text));
    psc_text_release(&text);
    if (contents)
        words_json(j, a, f, contents);
    psc_json_end_object(j);
}

void cli_add_heading(struct psc_text *out, const char *file, uint32_t phase, const struct psc_analysis *analysis)
{
    const struct psc_phase *p = analysis->phase;
    cli_add_safe(out, file);
    psc_text_addf(out, ", phase %" PRIu32, phase);
    if (p->kind && *p->kind) {
        psc_text_add(out, " (");
        cli_add_safe(out, p->kind);
        psc_text_add(out, ")");
    }
    if (p->graph) {
        psc_text_add(out, ": ");
        cli_add_number(out, p->graph->n);
        psc_text_add(out, p->graph->n == 1 ? " node" : " nodes");
    }
    psc_text_add(out, "\n");
    if (analysis->origin)
        psc_text_addf(out, "%s\n", analysis->origin);
}
