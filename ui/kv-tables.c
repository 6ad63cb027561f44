/* Tables of the KV view: all steps of the run, and what this step does to the rows, op by op. */
#include "ui/tables.h"

#include "core/debug/explain-rows.h"
#include "ui/kv-words.h"
#include "ui/workspace-kv.h"

/* ---- steps ------------------------------------------------------------------------------------------------------ */

static const struct psc_kv_figure *figure(PscWorkspace *ws, uint32_t row)
{
    const struct psc_kv_history *h = psc_workspace_kv_history(ws);
    return h && row < h->step_n && h->figures[row].is_known ? &h->figures[row] : NULL;
}

static uint32_t step_count(PscWorkspace *ws)
{
    return psc_workspace_step_total(ws);
}

static void step_text(PscWorkspace *ws, uint32_t row, struct psc_text *out)
{
    guint phase, step;
    if (!psc_workspace_step_of(ws, row, &phase, &step))
        return;
    const struct psc_phase *p = psc_workspace_phase(ws, phase);
    const char *kind = p->kind && *p->kind ? p->kind : "phase";
    if (psc_workspace_step_n(ws, phase) == 1)
        psc_text_add(out, kind);
    else
        psc_text_addf(out, "%s %u", kind, step + 1);
}

static void token_text(PscWorkspace *ws, uint32_t row, struct psc_text *out)
{
    guint phase, step;
    if (!psc_workspace_step_of(ws, row, &phase, &step))
        return;
    const char *token = psc_workspace_token(ws, phase, step);
    char *first = token ? g_strndup(token, 40) : NULL;
    const char *end;
    if (first && !g_utf8_validate(first, -1, &end))
        *(char *)end = '\0';
    for (char *c = first; c && *c; c++)
        if (*c == '\n' || *c == '\t')
            *c = ' ';
    psc_text_add(out, first ? first : "");
    g_free(first);
}

static void rows_text(PscWorkspace *ws, uint32_t row, struct psc_text *out)
{
    const struct psc_kv_figure *f = figure(ws, row);
    char number[32];
    if (f)
        psc_text_add(out, psc_thousands(f->rows, number, sizeof number));
}

static void new_text(PscWorkspace *ws, uint32_t row, struct psc_text *out)
{
    const struct psc_kv_figure *f = figure(ws, row);
    char number[32];
    if (!f)
        return;
    psc_text_add(out, psc_thousands(f->fresh, number, sizeof number));
    if (f->written > f->fresh) /* rows that were written before, too */
        psc_text_addf(out, "+%u", f->written - f->fresh);
}

static void window_text(PscWorkspace *ws, uint32_t row, struct psc_text *out)
{
    const struct psc_kv_figure *f = figure(ws, row);
    if (f && f->window_hi > f->window_lo)
        psc_text_addf(out, "%s%u\xe2\x80\x93%u", f->unwritten ? "\xe2\x9a\xa0 " : "", f->window_lo, f->window_hi - 1);
}

static const char *window_style(PscWorkspace *ws, uint32_t row)
{
    const struct psc_kv_figure *f = figure(ws, row);
    return f && f->unwritten ? "clobber" : NULL;
}

static const char *step_style(PscWorkspace *ws, uint32_t row)
{
    return row > psc_workspace_ordinal(ws) ? "dim" : NULL;
}

static int by_rows(PscWorkspace *ws, uint32_t a, uint32_t b)
{
    const struct psc_kv_figure *x = figure(ws, a), *y = figure(ws, b);
    uint32_t m = x ? x->rows : 0, n = y ? y->rows : 0;
    return m < n ? -1 : m > n;
}

static int by_new(PscWorkspace *ws, uint32_t a, uint32_t b)
{
    const struct psc_kv_figure *x = figure(ws, a), *y = figure(ws, b);
    uint32_t m = x ? x->fresh : 0, n = y ? y->fresh : 0;
    return m < n ? -1 : m > n;
}

static gboolean step_match(PscWorkspace *ws, const PscFilter *filter, uint32_t row)
{
    struct psc_text text = {0};
    step_text(ws, row, &text);
    psc_text_add(&text, " ");
    token_text(ws, row, &text);
    const struct psc_kv_figure *f = figure(ws, row);
    if (f)
        psc_text_addf(&text, " %u", f->write_lo);
    gboolean ret = psc_filter_text(filter, psc_text_str(&text));
    psc_text_release(&text);
    return ret;
}

static void step_select(PscWorkspace *ws, uint32_t row)
{
    psc_workspace_show_ordinal(ws, row);
}

static uint32_t step_selected(PscWorkspace *ws)
{
    return psc_workspace_step_total(ws) ? psc_workspace_ordinal(ws) : PSC_NONE;
}

static const PscColumn step_columns[] = {
    {.title = "step", .width = 74, .names_row = TRUE, .text = step_text, .style = step_style},
    {.title = "rows", .width = 44, .right = TRUE, .text = rows_text, .compare = by_rows, .style = step_style},
    {.title = "new", .width = 40, .right = TRUE, .spare = TRUE, .text = new_text, .compare = by_new, .style = step_style},
    {.title = "window", .width = 62, .right = TRUE, .spare = TRUE, .text = window_text, .style = window_style},
    {.title = "token", .width = 64, .expand = TRUE, .text = token_text, .style = step_style},
};
const PscTableKind psc_passes_table = {
    .label = "Steps", .columns = step_columns, .column_n = G_N_ELEMENTS(step_columns), .count = step_count,
    .match = step_match, .select = step_select, .selected = step_selected,
};

/* ---- rows that the step touches ------------------------------------------------------------------------------------ */

static uint32_t touch_count(PscWorkspace *ws)
{
    const struct psc_kv_step *step = psc_workspace_kv(ws);
    return step ? step->touch_n : 0;
}

static const struct psc_kv_touch *touch(PscWorkspace *ws, uint32_t row)
{
    return &psc_workspace_kv(ws)->touches[row];
}

static void touch_at(PscWorkspace *ws, uint32_t row, struct psc_text *out)
{
    psc_text_addf(out, "%d", touch(ws, row)->position);
}

static void touch_op(PscWorkspace *ws, uint32_t row, struct psc_text *out)
{
    PscStudy *study = psc_workspace_study(ws);
    psc_node node = touch(ws, row)->node;
    if (study->graph && node < study->node_n)
        psc_add_node(out, study, node);
    else
        psc_text_addf(out, "#%u", node);
}

static void touch_layer(PscWorkspace *ws, uint32_t row, struct psc_text *out)
{
    psc_text_addf(out, "%u", touch(ws, row)->layer);
}

static void touch_does(PscWorkspace *ws, uint32_t row, struct psc_text *out)
{
    psc_text_add(out, touch(ws, row)->is_write ? "\xe2\x96\xbc writes" : "\xe2\x96\xb2 reads");
}

static void touch_rows(PscWorkspace *ws, uint32_t row, struct psc_text *out)
{
    psc_say_rows(out, touch(ws, row)->lo, touch(ws, row)->hi);
}

static void touch_bytes(PscWorkspace *ws, uint32_t row, struct psc_text *out)
{
    char bytes[24];
    uint64_t each = psc_workspace_kv(ws)->regions.row_bytes;
    if (each)
        psc_text_add(out, psc_bytes_text(2 * each * (touch(ws, row)->hi - touch(ws, row)->lo), bytes, sizeof bytes));
}

static void touch_unwritten(PscWorkspace *ws, uint32_t row, struct psc_text *out)
{
    if (touch(ws, row)->unwritten)
        psc_text_addf(out, "\xe2\x9a\xa0 %u never written", touch(ws, row)->unwritten);
}

static const char *touch_style(PscWorkspace *ws, uint32_t row)
{
    return touch(ws, row)->unwritten ? "clobber" : touch(ws, row)->position > psc_workspace_cursor(ws) ? "dim" : NULL;
}

static int touch_by_unwritten(PscWorkspace *ws, uint32_t a, uint32_t b)
{
    uint32_t x = touch(ws, a)->unwritten, y = touch(ws, b)->unwritten;
    return x < y ? -1 : x > y;
}

static int touch_by_layer(PscWorkspace *ws, uint32_t a, uint32_t b)
{
    uint32_t x = touch(ws, a)->layer, y = touch(ws, b)->layer;
    return x < y ? -1 : x > y;
}

static void touch_select(PscWorkspace *ws, uint32_t row)
{
    struct psc_kv_touch t = *touch(ws, row); /* moving the cursor may make the step anew */
    psc_workspace_set_cursor(ws, t.position);
    psc_workspace_select_kv(ws, t.layer, t.is_write ? t.lo : t.hi - 1, FALSE);
}

static uint32_t touch_selected(PscWorkspace *ws)
{
    uint32_t n, first = psc_workspace_kv(ws) ? psc_kv_step_at(psc_workspace_kv(ws), psc_workspace_cursor(ws), &n) : PSC_NONE;
    return first;
}

static const PscColumn touch_columns[] = {
    {.title = "at", .width = 44, .right = TRUE, .counts = TRUE, .text = touch_at, .style = touch_style},
    {.title = "op", .width = 160, .names_row = TRUE, .text = touch_op, .style = touch_style},
    {.title = "layer", .width = 46, .right = TRUE, .text = touch_layer, .compare = touch_by_layer, .style = touch_style},
    {.title = "does", .width = 70, .text = touch_does, .style = touch_style},
    {.title = "rows of K and V", .width = 130, .text = touch_rows, .style = touch_style},
    {.title = "bytes", .width = 80, .right = TRUE, .text = touch_bytes, .style = touch_style},
    {.title = "unwritten", .expand = TRUE, .text = touch_unwritten, .compare = touch_by_unwritten, .style = touch_style},
};
const PscTableKind psc_kv_table = {
    .label = "Rows of the KV regions that this step writes and reads", .columns = touch_columns,
    .column_n = G_N_ELEMENTS(touch_columns), .count = touch_count, .select = touch_select, .selected = touch_selected,
};
