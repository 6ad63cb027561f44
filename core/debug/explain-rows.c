#include "core/debug/explain-rows.h"

#include "core/debug/explain-words.h"

#define RUNS_SHOWN 3

static void say_number(struct psc_text *out, uint64_t n)
{
    char buf[32];
    psc_text_add(out, psc_thousands(n, buf, sizeof buf));
}

void psc_say_rows(struct psc_text *out, uint32_t lo, uint32_t hi)
{
    psc_text_add(out, hi - lo == 1 ? "row " : "rows ");
    say_number(out, lo);
    if (hi - lo != 1) {
        psc_text_add(out, "\xe2\x80\x93");
        say_number(out, hi ? hi - 1 : 0);
    }
}

/* Layers that have written so far, or not yet, as runs: "0-9, 12"; returns how many there are. */
static uint32_t say_layers(struct psc_text *out, const struct psc_kv_step *step, uint32_t done, bool written)
{
    uint32_t n = 0, runs = 0, from = PSC_NONE;
    for (uint32_t l = 0; l <= step->regions.layers; l++) {
        bool any = false, now = false;
        for (uint32_t i = l < step->regions.layers ? step->layer_at[l] : 1, end = l < step->regions.layers ? step->layer_at[l + 1] : 0;
             i < end; i++) {
            any |= step->touches[step->by_layer[i]].is_write;
            now |= step->touches[step->by_layer[i]].is_write && step->by_layer[i] < done;
        }
        bool counts = any && now == written;
        n += counts;
        if (counts && from == PSC_NONE)
            from = l;
        if (counts || from == PSC_NONE)
            continue;
        if (runs++ < RUNS_SHOWN) {
            psc_text_addf(out, l - from > 1 ? "%s%u\xe2\x80\x93%u" : "%s%u", runs > 1 ? ", " : "", from, l - 1);
        }
        from = PSC_NONE;
    }
    if (runs > RUNS_SHOWN)
        psc_text_add(out, " \xe2\x80\xa6");
    return n;
}

static void say_queued(struct psc_text *out, const struct psc_kv_so_far *s)
{
    if (s->layers_queued && s->layers_queued == s->layers_done)
        psc_text_add(out, " (only enqueued)");
    else if (s->layers_queued)
        psc_text_addf(out, " (only enqueued in %u of them)", s->layers_queued);
}

static void say_progress(struct psc_text *out, const struct psc_kv_step *step, int32_t position)
{
    struct psc_kv_so_far s;
    uint32_t done = psc_kv_step_done(step, position);
    psc_kv_step_so_far(step, position, &s);
    if (!s.layers_all)
        return;
    psc_say_rows(out, s.lo, s.hi);
    psc_text_add(out, s.hi - s.lo == 1 ? " is" : " are");
    if (!s.layers_done) {
        psc_text_addf(out, " not written yet; %u layer%s will", s.layers_all, s.layers_all == 1 ? "" : "s");
        return;
    }
    if (s.layers_done == s.layers_all) {
        psc_text_addf(out, " written in all %u layers", s.layers_all);
        say_queued(out, &s);
        return;
    }
    psc_text_add(out, s.layers_done == 1 ? " written in layer " : " written in layers ");
    say_layers(out, step, done, true);
    say_queued(out, &s);
    psc_text_add(out, ", not yet in ");
    say_layers(out, step, done, false);
}

static void say_touches(struct psc_text *out, const struct psc_kv_step *step, uint32_t first, uint32_t n, bool writes)
{
    uint64_t rows = 0, unwritten = 0;
    uint32_t runs = 0;
    for (uint32_t i = first; i < first + n; i++) {
        const struct psc_kv_touch *t = &step->touches[i];
        if (t->is_write != writes)
            continue;
        psc_text_add(out, runs ? ", " : writes ? " writes " : " reads ");
        if (runs++ < RUNS_SHOWN)
            psc_say_rows(out, t->lo, t->hi);
        else if (runs == RUNS_SHOWN + 1)
            psc_text_add(out, "\xe2\x80\xa6");
        rows += t->hi - t->lo;
        unwritten += t->unwritten;
    }
    if (!runs)
        return;
    psc_text_add(out, " of K and V");
    if (step->regions.row_bytes) {
        psc_text_add(out, " (");
        psc_say_bytes(out, 2 * rows * step->regions.row_bytes);
        psc_text_add(out, ")");
    }
    if (unwritten) {
        psc_text_add(out, ", \xe2\x9a\xa0 ");
        say_number(out, unwritten);
        psc_text_add(out, unwritten == 1 ? " row of which nobody wrote" : " rows of which nobody wrote");
    }
    psc_text_add(out, ";");
}

/* Without a graph an op has only its number. */
static void say_op(struct psc_text *out, const struct psc_kv_step *step, psc_node node, bool with_layer)
{
    if (!step->graph)
        psc_text_addf(out, "op #%u", node);
    else if (with_layer)
        psc_say_node_layer(out, step->graph, node);
    else
        psc_say_node(out, step->graph, node);
}

static psc_node node_at(const struct psc_kv_step *step, int32_t position)
{
    uint32_t n, first = psc_kv_step_at(step, position, &n);
    return first == PSC_NONE ? PSC_NONE : step->touches[first].node;
}

void psc_explain_kv_position(struct psc_text *out, const struct psc_kv_step *step, int32_t position)
{
    uint32_t n, first = psc_kv_step_at(step, position, &n);
    psc_node node = node_at(step, position);
    if (step->source == PSC_KV_NOT_KNOWN) {
        psc_explain_kv_source(out, step);
        return;
    }
    if (position < 0) {
        psc_text_add(out, "Before the first op: ");
        psc_explain_kv_occupancy(out, step, position);
        psc_text_add(out, "; ");
    } else if (node != PSC_NONE) {
        say_op(out, step, node, true);
        psc_text_add(out, ":");
        say_touches(out, step, first, n, true);
        say_touches(out, step, first, n, false);
        psc_text_add(out, " ");
    }
    say_progress(out, step, position);
}

void psc_explain_kv_occupancy(struct psc_text *out, const struct psc_kv_step *step, int32_t position)
{
    struct psc_kv_so_far s;
    uint32_t rows = step->regions.rows;
    psc_kv_step_so_far(step, position, &s);
    say_number(out, s.rows);
    psc_text_add(out, " of ");
    say_number(out, rows);
    psc_text_addf(out, " rows written (%.1f %%)", rows ? 100.0 * s.rows / rows : 0);
}

void psc_explain_kv_alarm(struct psc_text *out, const struct psc_kv_step *step, const struct psc_kv_alarm *alarm)
{
    say_op(out, step, step->touches[alarm->touch].node, false);
    psc_text_add(out, " reads ");
    psc_say_rows(out, alarm->lo, alarm->hi);
    psc_text_addf(out, " of layer %u, K and V: nobody wrote %s.", alarm->layer, alarm->hi - alarm->lo == 1 ? "it" : "them");
}

void psc_explain_kv_alarms(struct psc_text *out, const struct psc_kv_step *step)
{
    uint32_t layers = 0, last = PSC_NONE;
    if (!step->alarm_n)
        return;
    for (uint32_t i = 0; i < step->alarm_n; i++) {
        layers += step->alarms[i].layer != last;
        last = step->alarms[i].layer;
    }
    if (step->alarm_n == 1) {
        psc_explain_kv_alarm(out, step, &step->alarms[0]);
        return;
    }
    say_number(out, step->unwritten);
    psc_text_addf(out, " rows in %u layer%s are read that nobody wrote; the first: ", layers, layers == 1 ? "" : "s");
    psc_explain_kv_alarm(out, step, &step->alarms[0]);
}

static bool has_order_edge(const struct psc_graph *g, psc_node reader, psc_node writer)
{
    const struct psc_node_info *node = &g->nodes[reader];
    for (uint32_t i = 0; i < node->order_n; i++)
        if (g->order_srcs[node->order_at + i] == writer)
            return true;
    return false;
}

static bool has_edge(const struct psc_graph *g, psc_node reader, psc_node writer)
{
    for (uint32_t i = 0; i < g->nodes[reader].src_n; i++)
        if (psc_node_srcs(g, reader)[i] == writer)
            return true;
    return false;
}

void psc_explain_kv_order(struct psc_text *out, const struct psc_kv_step *step, psc_node writer, psc_node reader)
{
    const struct psc_graph *g = step->graph;
    if (!g || writer >= g->n || reader >= g->n)
        return;
    if (has_edge(g, reader, writer)) {
        psc_say_node(out, g, reader);
        psc_text_add(out, " names ");
        psc_say_node(out, g, writer);
        psc_text_add(out, " as an operand: it runs after it.");
        return;
    }
    psc_text_add(out, "No edge of the graph joins ");
    psc_say_node(out, g, writer);
    psc_text_add(out, " and ");
    psc_say_node(out, g, reader);
    psc_text_add(out, has_order_edge(g, reader, writer) ? ": a hidden order edge keeps the store first."
                                                        : ": only their places in the order keep the store first.");
}

void psc_explain_kv_source(struct psc_text *out, const struct psc_kv_step *step)
{
    switch (step->source) {
    case PSC_KV_RECORDED:
        psc_text_add(out, "The rows are as the run recorded them.");
        break;
    case PSC_KV_FROM_VALUES:
        psc_text_add(out, "The file names no rows: they follow from the recorded values of the inputs that choose them.");
        break;
    case PSC_KV_NOT_KNOWN:
        psc_text_add(out, "Which rows this step writes and reads is not recorded: neither the rows nor the values of the "
                          "inputs that choose them are in the file.");
        break;
    }
}
