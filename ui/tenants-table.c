#include "ui/tenants-table.h"

#include "ui/tables.h"

#include <math.h>

static const struct psc_history *history(PscWorkspace *ws)
{
    PscStudy *study = psc_workspace_study(ws);
    return study ? study->analysis->history : NULL;
}

static uint32_t count(PscWorkspace *ws)
{
    const struct psc_history *h = history(ws);
    uint32_t buffer = psc_workspace_selection(ws).buffer;
    return h && buffer < h->story->buffer_n ? h->buffer_at[buffer + 1] - h->buffer_at[buffer] : 0;
}

static const struct psc_tenancy *at(PscWorkspace *ws, uint32_t row)
{
    const struct psc_history *h = history(ws);
    return &h->tenancies[h->buffer_at[psc_workspace_selection(ws).buffer] + row];
}

static psc_node node_of(PscWorkspace *ws, uint32_t row)
{
    return history(ws)->story->values[at(ws, row)->value].node;
}

static void span_text(PscWorkspace *ws, uint32_t row, struct psc_text *out)
{
    psc_add_span(out, history(ws), at(ws, row));
}

static void value_text(PscWorkspace *ws, uint32_t row, struct psc_text *out)
{
    char label[96];
    psc_text_add(out, psc_value_label(history(ws)->story, psc_workspace_study(ws)->graph, at(ws, row)->value, label,
                                      sizeof label));
    if (at(ws, row)->prev_version != PSC_NONE)
        psc_text_add(out, " (in place)");
}

static void mark_text(PscWorkspace *ws, uint32_t row, struct psc_text *out)
{
    const struct psc_record_verdict *v = psc_records_verdict(psc_workspace_records(ws), node_of(ws, row));
    if (v)
        psc_text_add(out, v->verdict == PSC_RECORD_OWN           ? "\xe2\x97\x8f"
                          : v->verdict == PSC_RECORD_OVERWRITTEN ? "\xe2\x8a\x98"
                                                                 : "?");
}

static const char *mark_style(PscWorkspace *ws, uint32_t row)
{
    const struct psc_record_verdict *v = psc_records_verdict(psc_workspace_records(ws), node_of(ws, row));
    return v && v->verdict == PSC_RECORD_OVERWRITTEN ? "warn" : NULL;
}

static void statistics_text(PscWorkspace *ws, uint32_t row, struct psc_text *out)
{
    const struct psc_record *r = psc_records_of(psc_workspace_records(ws), node_of(ws, row));
    if (!r)
        return;
    if (!r->has_stats || isnan(r->min))
        psc_text_add(out, "no statistics");
    else
        psc_text_addf(out, "%.3g \xe2\x80\xa6 %.3g  \xc3\xb8 %.2g", r->min, r->max, r->mean);
}

static void select_row(PscWorkspace *ws, uint32_t row)
{
    psc_node node = node_of(ws, row);
    if (node != PSC_NONE)
        psc_workspace_select_node(ws, node);
}

static void activate(PscWorkspace *ws, uint32_t row)
{
    int32_t first = at(ws, row)->first;
    select_row(ws, row);
    psc_workspace_set_cursor(ws, first);
}

static uint32_t selected(PscWorkspace *ws)
{
    const struct psc_tenancy *t = psc_study_tenancy(psc_workspace_study(ws), psc_workspace_selection(ws).node);
    if (!t || t->buffer != psc_workspace_selection(ws).buffer)
        return PSC_NONE;
    return (uint32_t)(t - history(ws)->tenancies) - history(ws)->buffer_at[t->buffer];
}

static const PscColumn columns[] = {
    {.title = "ops", .width = 66, .spans = TRUE, .text = span_text},
    {.title = "tenant", .expand = TRUE, .names_row = TRUE, .middle = TRUE, .text = value_text},
    {.title = "\xe2\x8a\x98", .width = 26, .text = mark_text, .style = mark_style},
    {.title = "recorded", .width = 146, .spare = TRUE, .text = statistics_text},
};
const PscTableKind psc_tenants_table = {
    .label = "Tenants of the buffer in order", .columns = columns, .column_n = G_N_ELEMENTS(columns), .count = count,
    .select = select_row, .activate = activate, .selected = selected,
};
