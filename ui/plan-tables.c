#include "ui/tables.h"

#include "core/debug/explain.h"

/* ---- free list at the cursor: pool buffers without a living tenant ---------------------------- */

static const struct psc_history *history(PscWorkspace *ws)
{
    PscStudy *study = psc_workspace_study(ws);
    return study ? study->analysis->history : NULL;
}

static uint32_t free_at(PscWorkspace *ws, uint32_t row)
{
    uint32_t n;
    const uint32_t *list = psc_workspace_free_buffers(ws, &n);
    return row < n ? list[row] : PSC_NONE;
}

static uint32_t free_n(PscWorkspace *ws)
{
    uint32_t n;
    psc_workspace_free_buffers(ws, &n);
    return n;
}

static void free_name_text(PscWorkspace *ws, uint32_t row, struct psc_text *out)
{
    psc_add_buffer(out, psc_workspace_study(ws), free_at(ws, row));
}

static void free_bytes_text(PscWorkspace *ws, uint32_t row, struct psc_text *out)
{
    char text[24];
    uint32_t buffer = free_at(ws, row);
    if (buffer != PSC_NONE)
        psc_text_add(out, psc_bytes_text(history(ws)->story->buffers[buffer].bytes, text, sizeof text));
}

static int free_bytes_compare(PscWorkspace *ws, uint32_t a, uint32_t b)
{
    uint32_t x = free_at(ws, a), y = free_at(ws, b);
    if (x == PSC_NONE || y == PSC_NONE)
        return 0;
    uint64_t p = history(ws)->story->buffers[x].bytes, q = history(ws)->story->buffers[y].bytes;
    return p < q ? -1 : p > q;
}

/* Adds a tenant of the buffer next to the cursor: the last one before it, or the first after it. */
static void add_tenant(PscWorkspace *ws, uint32_t row, bool after, struct psc_text *out)
{
    const struct psc_history *h = history(ws);
    uint32_t buffer = free_at(ws, row);
    char label[96];
    if (buffer == PSC_NONE)
        return;
    uint32_t next = psc_study_tenants_before(psc_workspace_study(ws), buffer, psc_workspace_cursor(ws));
    uint32_t t = after ? next : next - 1;
    if (after ? t >= h->buffer_at[buffer + 1] : next == h->buffer_at[buffer]) {
        psc_text_add(out, after ? "nobody" : "not taken yet");
        return;
    }
    psc_text_addf(out, "%s, %s %d",
                  psc_value_label(h->story, psc_workspace_study(ws)->graph, h->tenancies[t].value, label, sizeof label),
                  after ? "from" : "until", after ? h->tenancies[t].first : h->tenancies[t].end - 1);
}

static void free_last_text(PscWorkspace *ws, uint32_t row, struct psc_text *out)
{
    add_tenant(ws, row, false, out);
}

static void free_next_text(PscWorkspace *ws, uint32_t row, struct psc_text *out)
{
    add_tenant(ws, row, true, out);
}

static void free_select(PscWorkspace *ws, uint32_t row)
{
    psc_workspace_select_buffer(ws, free_at(ws, row));
}

static const PscColumn free_columns[] = {
    {.title = "free buffer", .width = 110, .names_row = TRUE, .text = free_name_text},
    {.title = "bytes", .width = 90, .text = free_bytes_text, .compare = free_bytes_compare},
    {.title = "last tenant", .width = 240, .text = free_last_text},
    {.title = "next tenant", .expand = TRUE, .text = free_next_text},
};
const PscTableKind psc_free_table = {
    .label = "Free list at the cursor", .columns = free_columns, .column_n = G_N_ELEMENTS(free_columns),
    .count = free_n, .select = free_select,
};

/* ---- the planner's walk --------------------------------------------------------------------- */

static const struct psc_candela_tale *expression(const PscStudy *study)
{
    return study && study->inside ? study->inside->tale : NULL;
}

static uint32_t log_n(PscWorkspace *ws)
{
    PscStudy *study = psc_workspace_study(ws);
    if (expression(study))
        return psc_candela_line_n(expression(study));
    return study && study->analysis->plan ? study->analysis->plan->walk_n : 0;
}

static void log_text(PscWorkspace *ws, uint32_t row, struct psc_text *out)
{
    PscStudy *study = psc_workspace_study(ws);
    if (expression(study))
        psc_explain_candela_line(out, expression(study), row);
    else
        psc_explain_walk(out, study->graph, study->analysis->plan, &study->analysis->plan->walk[row]);
}

static void log_select(PscWorkspace *ws, uint32_t row)
{
    PscStudy *study = psc_workspace_study(ws);
    if (expression(study)) {
        psc_workspace_step_to(ws, psc_candela_line_position(expression(study), row));
        return;
    }
    const struct psc_walk *walk = &study->analysis->plan->walk[row];
    if (walk->node < study->node_n) {
        psc_workspace_select_node(ws, walk->node);
        psc_workspace_set_cursor(ws, study->position_of[walk->node]);
    } else if (walk->buffer != PSC_NONE) {
        psc_workspace_select_buffer(ws, walk->buffer);
    }
}

/* The first line of the position under the cursor, or of the next one that has any. */
static uint32_t log_selected(PscWorkspace *ws)
{
    PscStudy *study = psc_workspace_study(ws);
    const struct psc_walk *walk = study && study->analysis->plan ? study->analysis->plan->walk : NULL;
    uint32_t from = 0, to = log_n(ws);
    if (expression(study)) {
        from = psc_candela_line_of(expression(study), psc_workspace_cursor(ws));
        return psc_workspace_cursor(ws) >= 0 && from < to ? from : PSC_NONE;
    }
    while (from < to) {
        uint32_t middle = from + (to - from) / 2;
        if (walk[middle].position < psc_workspace_cursor(ws))
            from = middle + 1;
        else
            to = middle;
    }
    return from < log_n(ws) ? from : PSC_NONE;
}

static const PscColumn log_columns[] = {
    {.title = "the planner's walk", .expand = TRUE, .names_row = TRUE, .text = log_text},
};
const PscTableKind psc_log_table = {
    .label = "Log of the planner's walk", .columns = log_columns, .column_n = G_N_ELEMENTS(log_columns),
    .count = log_n, .select = log_select, .selected = log_selected,
};
