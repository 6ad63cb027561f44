#include "ui/tables.h"

#include "core/debug/explain.h"

/* ---- free list at the cursor: pool buffers without a living tenant ---------------------------- */

static const struct psc_history *history(PscWorkspace *ws)
{
    PscStudy *study = psc_workspace_study(ws);
    return study ? study->analysis->history : NULL;
}

static bool is_free(const struct psc_history *h, uint32_t buffer, int32_t position)
{
    if (h->story->buffers[buffer].role != PSC_ROLE_POOL)
        return false;
    uint32_t from = h->buffer_at[buffer], to = h->buffer_at[buffer + 1];
    while (from < to) { /* the last tenancy that began at or before the position */
        uint32_t middle = from + (to - from) / 2;
        if (h->tenancies[middle].first <= position)
            from = middle + 1;
        else
            to = middle;
    }
    return from == h->buffer_at[buffer] || h->tenancies[from - 1].end <= position;
}

static uint32_t free_at(PscWorkspace *ws, uint32_t row)
{
    const struct psc_history *h = history(ws);
    int32_t position = psc_workspace_cursor(ws);
    for (uint32_t b = 0; b < h->story->buffer_n; b++)
        if (is_free(h, b, position) && row-- == 0)
            return b;
    return PSC_NONE;
}

static uint32_t free_n(PscWorkspace *ws)
{
    const struct psc_history *h = history(ws);
    uint32_t n = 0;
    for (uint32_t b = 0; h && b < h->story->buffer_n; b++)
        n += is_free(h, b, psc_workspace_cursor(ws));
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

static void free_last_text(PscWorkspace *ws, uint32_t row, struct psc_text *out)
{
    const struct psc_history *h = history(ws);
    uint32_t buffer = free_at(ws, row);
    int32_t position = psc_workspace_cursor(ws);
    if (buffer == PSC_NONE)
        return;
    for (uint32_t t = h->buffer_at[buffer + 1]; t-- > h->buffer_at[buffer];)
        if (h->tenancies[t].end <= position) {
            char label[96];
            psc_text_addf(out, "%s, until %d",
                          psc_value_label(h->story, psc_workspace_study(ws)->graph, h->tenancies[t].value, label,
                                          sizeof label),
                          h->tenancies[t].end - 1);
            return;
        }
    psc_text_add(out, "not taken yet");
}

static void free_next_text(PscWorkspace *ws, uint32_t row, struct psc_text *out)
{
    const struct psc_history *h = history(ws);
    uint32_t buffer = free_at(ws, row);
    if (buffer == PSC_NONE)
        return;
    for (uint32_t t = h->buffer_at[buffer]; t < h->buffer_at[buffer + 1]; t++)
        if (h->tenancies[t].first > psc_workspace_cursor(ws)) {
            char label[96];
            psc_text_addf(out, "%s, from %d",
                          psc_value_label(h->story, psc_workspace_study(ws)->graph, h->tenancies[t].value, label,
                                          sizeof label),
                          h->tenancies[t].first);
            return;
        }
    psc_text_add(out, "nobody");
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

static uint32_t log_n(PscWorkspace *ws)
{
    PscStudy *study = psc_workspace_study(ws);
    return study && study->analysis->plan ? study->analysis->plan->walk_n : 0;
}

static void log_text(PscWorkspace *ws, uint32_t row, struct psc_text *out)
{
    PscStudy *study = psc_workspace_study(ws);
    psc_explain_walk(out, study->graph, study->analysis->plan, &study->analysis->plan->walk[row]);
}

static void log_select(PscWorkspace *ws, uint32_t row)
{
    PscStudy *study = psc_workspace_study(ws);
    const struct psc_walk *walk = &study->analysis->plan->walk[row];
    if (walk->node < study->node_n) {
        psc_workspace_select_node(ws, walk->node);
        psc_workspace_set_cursor(ws, study->position_of[walk->node]);
    } else if (walk->buffer != PSC_NONE) {
        psc_workspace_select_buffer(ws, walk->buffer);
    }
}

static const PscColumn log_columns[] = {
    {.title = "the planner's walk", .expand = TRUE, .names_row = TRUE, .text = log_text},
};
const PscTableKind psc_log_table = {
    .label = "Log of the planner's walk", .columns = log_columns, .column_n = G_N_ELEMENTS(log_columns),
    .count = log_n, .select = log_select,
};
