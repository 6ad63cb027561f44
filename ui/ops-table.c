#include "ui/tables.h"

#include "ui/draw/palette.h"

#include <math.h>
#include <string.h>

void psc_add_span(struct psc_text *out, const struct psc_history *h, const struct psc_tenancy *t)
{
    if (t->first < 0)
        psc_text_add(out, "fill");
    else
        psc_text_addf(out, "%d", t->first);
    if (t->end > (int32_t)h->story->position_n)
        psc_text_add(out, "\xe2\x80\x93" "end");
    else
        psc_text_addf(out, "\xe2\x80\x93%d", t->last);
}

void psc_add_node(struct psc_text *out, const PscStudy *study, psc_node node)
{
    char label[96];
    if (node >= study->node_n)
        psc_text_add(out, "the host");
    else
        psc_text_addf(out, "#%" G_GUINT64_FORMAT " %s", study->graph->nodes[node].id,
                      psc_node_label(study->graph, node, label, sizeof label));
}

void psc_add_position(struct psc_text *out, const PscStudy *study, int32_t position)
{
    if (position < 0)
        psc_text_add(out, "fill");
    else if (position >= psc_study_end(study))
        psc_text_add(out, "end");
    else
        psc_text_addf(out, "%d", position);
}

void psc_add_actor(struct psc_text *out, const PscStudy *study, psc_node node, int32_t position)
{
    const struct psc_story *story = study->analysis->story;
    if ((node == PSC_NONE || !study->graph) && story && story->titles && position >= 0 && (uint32_t)position < story->position_n)
        psc_text_add(out, story->titles[position]);
    else
        psc_add_node(out, study, node);
}

void psc_add_buffer(struct psc_text *out, const PscStudy *study, uint32_t buffer)
{
    const struct psc_story *story = study->analysis->story;
    char label[160];
    if (story && buffer < story->buffer_n)
        psc_text_add(out, psc_buffer_label(story->backends, story->backend_n, &story->buffers[buffer], label, sizeof label));
}

static uint32_t count(PscWorkspace *ws)
{
    PscStudy *study = psc_workspace_study(ws);
    return study ? study->node_n : 0;
}

static const struct psc_node_info *info(PscWorkspace *ws, uint32_t node)
{
    return &psc_workspace_study(ws)->graph->nodes[node];
}

static bool is_dead(PscWorkspace *ws, uint32_t node)
{
    const struct psc_plan *plan = psc_workspace_study(ws)->analysis->plan;
    return plan && node < plan->node_n && plan->places[node].reason == PSC_WHY_DEAD;
}

static void number_text(PscWorkspace *ws G_GNUC_UNUSED, uint32_t node, struct psc_text *out)
{
    psc_text_addf(out, "%u", node);
}

static int number_compare(PscWorkspace *ws, uint32_t a, uint32_t b)
{
    const int32_t *at = psc_workspace_study(ws)->position_of;
    return at[a] < at[b] ? -1 : at[a] > at[b];
}

static void layer_text(PscWorkspace *ws, uint32_t node, struct psc_text *out)
{
    if (info(ws, node)->layer >= 0)
        psc_text_addf(out, "%d", info(ws, node)->layer);
}

static int layer_compare(PscWorkspace *ws, uint32_t a, uint32_t b)
{
    return info(ws, a)->layer - info(ws, b)->layer;
}

static void name_text(PscWorkspace *ws, uint32_t node, struct psc_text *out)
{
    char label[96];
    psc_text_add(out, psc_node_label(psc_workspace_study(ws)->graph, node, label, sizeof label));
}

static int name_compare(PscWorkspace *ws, uint32_t a, uint32_t b)
{
    char x[96], y[96];
    const struct psc_graph *graph = psc_workspace_study(ws)->graph;
    return strcmp(psc_node_label(graph, a, x, sizeof x), psc_node_label(graph, b, y, sizeof y));
}

static const char *name_style(PscWorkspace *ws, uint32_t node)
{
    return is_dead(ws, node) ? "dim" : NULL;
}

static void bytes_text(PscWorkspace *ws, uint32_t node, struct psc_text *out)
{
    char text[24];
    if (is_dead(ws, node))
        psc_text_add(out, "dead");
    else if (psc_op_info(info(ws, node)->op)->is_kv)
        psc_text_add(out, "region");
    else
        psc_text_add(out, psc_bytes_text(info(ws, node)->bytes, text, sizeof text));
}

static int bytes_compare(PscWorkspace *ws, uint32_t a, uint32_t b)
{
    uint64_t x = info(ws, a)->bytes, y = info(ws, b)->bytes;
    return x < y ? -1 : x > y;
}

/* Square root of the share of the largest: small tensors stay visible. */
static double bytes_bar(PscWorkspace *ws, uint32_t node, guint *ret_colour)
{
    PscStudy *study = psc_workspace_study(ws);
    gboolean kv = psc_op_info(info(ws, node)->op)->is_kv;
    *ret_colour = kv ? PSC_COL_KV_EDGE : PSC_COL_ACT_FILL;
    if (is_dead(ws, node) || psc_op_info(info(ws, node)->op)->is_view)
        return -1;
    if (kv)
        return 0.85;
    return study->largest_bytes ? sqrt((double)info(ws, node)->bytes / (double)study->largest_bytes) : -1;
}

static void buffer_text(PscWorkspace *ws, uint32_t node, struct psc_text *out)
{
    PscStudy *study = psc_workspace_study(ws);
    const struct psc_story *story = study->analysis->story;
    uint32_t buffer = psc_study_buffer(study, node);
    if (story && buffer < story->buffer_n) /* by its short name: the column is narrow, and the op says on which backend */
        psc_text_add(out, story->buffers[buffer].name);
}

static int buffer_compare(PscWorkspace *ws, uint32_t a, uint32_t b)
{
    uint32_t x = psc_study_buffer(psc_workspace_study(ws), a), y = psc_study_buffer(psc_workspace_study(ws), b);
    return x < y ? -1 : x > y;
}

/* Shape first, colour second: triangle for a clobber, ring with a slash for another's value, dot for its own. */
static void flags_text(PscWorkspace *ws, uint32_t node, struct psc_text *out)
{
    const struct psc_record_verdict *v = psc_records_verdict(psc_workspace_records(ws), node);
    if (psc_workspace_study(ws)->node_marks[node])
        psc_text_add(out, "\xe2\x9a\xa0");
    if (v)
        psc_text_add(out, v->verdict == PSC_RECORD_OWN           ? "\xe2\x97\x8f"
                          : v->verdict == PSC_RECORD_OVERWRITTEN ? "\xe2\x8a\x98"
                                                                 : "?");
}

static int flag_rank(PscWorkspace *ws, uint32_t node)
{
    const struct psc_record_verdict *v = psc_records_verdict(psc_workspace_records(ws), node);
    if (psc_workspace_study(ws)->node_marks[node])
        return 0;
    return !v ? 4 : v->verdict == PSC_RECORD_OVERWRITTEN ? 1 : v->verdict == PSC_RECORD_UNKNOWN ? 2 : 3;
}

static int flags_compare(PscWorkspace *ws, uint32_t a, uint32_t b)
{
    return flag_rank(ws, a) - flag_rank(ws, b);
}

static const char *flags_style(PscWorkspace *ws, uint32_t node)
{
    const struct psc_record_verdict *v = psc_records_verdict(psc_workspace_records(ws), node);
    if (psc_workspace_study(ws)->node_marks[node])
        return "clobber";
    return v && v->verdict == PSC_RECORD_OVERWRITTEN ? "warn" : NULL;
}

static gboolean match(PscWorkspace *ws, const PscFilter *filter, uint32_t node)
{
    return psc_filter_node(filter, psc_workspace_study(ws), node);
}

static void activate(PscWorkspace *ws, uint32_t node)
{
    psc_workspace_select_node(ws, node);
    psc_workspace_set_cursor(ws, psc_workspace_study(ws)->position_of[node]);
}

static uint32_t selected(PscWorkspace *ws)
{
    return psc_workspace_selection(ws).node;
}

static const PscColumn columns[] = {
    {.title = "#", .width = 38, .right = TRUE, .counts = TRUE, .text = number_text, .compare = number_compare},
    {.title = "L", .width = 30, .right = TRUE, .spare = TRUE, .text = layer_text, .compare = layer_compare},
    {.title = "op", .expand = TRUE, .names_row = TRUE, .middle = TRUE, .text = name_text, .compare = name_compare, .style = name_style},
    {.title = "bytes", .width = 98, .text = bytes_text, .compare = bytes_compare, .bar = bytes_bar},
    {.title = "in", .width = 48, .spare = TRUE, .text = buffer_text, .compare = buffer_compare},
    {.title = "\xe2\x9a\xa0", .width = 34, .text = flags_text, .compare = flags_compare, .style = flags_style},
};
const PscTableKind psc_ops_table = {
    .label = "Ops", .columns = columns, .column_n = G_N_ELEMENTS(columns), .count = count, .match = match,
    .select = psc_workspace_select_node, .activate = activate, .selected = selected,
};
