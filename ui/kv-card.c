/* The inspector in the KV view: the cell, what this step did so far, rows by step, occupancy, legend. */
#include "ui/inspector-cards.h"

#include "core/debug/explain-rows.h"
#include "ui/access.h"
#include "ui/draw/kv-small.h"
#include "ui/kv-words.h"
#include "ui/palette.h"
#include "ui/part-view.h"
#include "ui/workspace-kv.h"

#define CURVE_HEIGHT 118
#define SEQUENCES_SHOWN 8u

static psc_node touch_node(const struct psc_kv_step *step, uint32_t touch)
{
    return touch == PSC_NONE ? PSC_NONE : step->touches[touch].node;
}

static gboolean has_node(PscCard *card, psc_node node)
{
    PscStudy *study = psc_workspace_study(card->ws);
    return study->graph && node < study->node_n;
}

/* ---- the cell -------------------------------------------------------------------------------------------------- */

/* What K comes from, and V: the operands of the store. Fused ops make them themselves. */
static void from_lines(PscCard *card, const struct psc_kv_step *step, psc_node writer, gboolean is_v)
{
    const struct psc_node_info *node = &step->graph->nodes[writer];
    const psc_node *src = psc_node_srcs(step->graph, writer);
    if (node->op == PSC_OP_KV_STORE && node->src_n >= 2) {
        psc_card_node(card, "From", src[is_v ? 1 : 0], is_v ? NULL : "rotated");
        psc_card_node(card, is_v ? "K from" : "V from", src[is_v ? 0 : 1], NULL);
    } else if (node->src_n) {
        psc_card_node(card, "From", src[0], "K and V are made by the store itself");
    }
}

static void writer_lines(PscCard *card, const struct psc_kv_step *step, const PscKvCell *at, const struct psc_kv_held *cell)
{
    struct psc_text words = {0};
    if (cell->when == PSC_KV_NOW || cell->when == PSC_KV_LATER) {
        psc_node node = touch_node(step, cell->by);
        bool queued = cell->when == PSC_KV_NOW && psc_kv_is_pending(&step->touches[cell->by], psc_workspace_cursor(card->ws));
        const char *when = queued ? "only enqueued" : cell->when == PSC_KV_NOW ? "this step" : "later in this step";
        if (has_node(card, node)) {
            psc_card_node(card, "Written by", node, when);
            from_lines(card, step, node, at->is_v);
        } else {
            psc_card_line(card, "Written", when);
        }
        if (cell->before) {
            psc_kv_step_words(&words, step->history, cell->before->from);
            psc_card_linef(card, cell->when == PSC_KV_NOW ? "Over" : "Until then", "the row of %s", psc_text_str(&words));
        }
    } else if (cell->before) {
        psc_kv_step_words(&words, step->history, cell->before->from);
        psc_card_line(card, "Written in", psc_text_str(&words));
        /* The op of an earlier step is one of this graph's only in the same phase. */
        uint32_t phase = step->history->figures[cell->before->from].phase;
        if (phase == psc_workspace_phase_index(card->ws) && has_node(card, cell->before->node))
            psc_card_node(card, "Written by", cell->before->node, "then");
    } else {
        psc_card_line(card, "Written", step->history ? "not in any step so far" : "what earlier steps wrote is not known yet");
    }
    psc_text_release(&words);
}

static void reader_lines(PscCard *card, const struct psc_kv_step *step, const struct psc_kv_held *cell)
{
    psc_node reader = touch_node(step, cell->reader != PSC_NONE ? cell->reader : cell->next_reader);
    psc_node writer = touch_node(step, cell->by);
    if (reader == PSC_NONE) {
        psc_card_line(card, "Read by", "no op of this step");
        return;
    }
    if (has_node(card, reader))
        psc_card_node(card, "Read by", reader, cell->reader != PSC_NONE ? "this step" : "later in this step");
    struct psc_text words = {0};
    if (writer != PSC_NONE)
        psc_explain_kv_order(&words, step, writer, reader);
    if (words.n)
        psc_card_line(card, "Order", psc_text_str(&words));
    psc_text_release(&words);
}

static void alarm_note(PscCard *card, const struct psc_kv_step *step, const PscKvCell *at)
{
    struct psc_text words = {0};
    for (uint32_t i = 0; i < step->alarm_n && !words.n; i++)
        if (step->alarms[i].layer == at->layer && at->row >= step->alarms[i].lo && at->row < step->alarms[i].hi) {
            psc_text_add(&words, "\xe2\x9a\xa0 ");
            psc_explain_kv_alarm(&words, step, &step->alarms[i]);
        }
    if (words.n)
        psc_card_note(card, psc_text_str(&words), "note clobber");
    psc_text_release(&words);
}

static void cell_card(PscCard *card, const struct psc_kv_step *step, const PscKvCell *at)
{
    const struct psc_kv_regions *r = &step->regions;
    struct psc_kv_held cell = psc_kv_step_cell(step, at->layer, at->row, psc_workspace_cursor(card->ws));
    char row[32], rows[32], bytes[32], from[32];
    uint64_t lo, n;
    char *title = g_strdup_printf("Layer %u, row %s, %s", at->layer, psc_thousands(at->row, row, sizeof row), at->is_v ? "V" : "K");
    char *about = g_strdup_printf("kv.%u.%s, row %s of %s", at->layer, at->is_v ? "v" : "k", row, psc_thousands(r->rows, rows, sizeof rows));
    psc_card_title(card, title, about);
    g_free(title);
    g_free(about);
    psc_card_section(card, "ROW");
    alarm_note(card, step, at);
    if (psc_kv_row_bytes(step, at->row, &lo, &n))
        psc_card_linef(card, "Bytes", "%s + %s  (%" G_GUINT64_FORMAT " \xc3\x97 %s)", psc_thousands(lo, from, sizeof from),
                       psc_thousands(n, bytes, sizeof bytes), r->width, r->format);
    if (r->heads)
        psc_card_linef(card, "Heads", "%u \xc3\x97 %" G_GUINT64_FORMAT, r->heads, r->width / r->heads);
    if (r->row_bytes)
        psc_card_linef(card, "Region", "%s bytes, persistent: kept across steps and graphs",
                       psc_thousands(r->row_bytes * r->rows, bytes, sizeof bytes));
    writer_lines(card, step, at, &cell);
    reader_lines(card, step, &cell);
}

/* ---- this step, occupancy ---------------------------------------------------------------------------------------- */

static void so_far_lines(PscCard *card, const struct psc_kv_step *step)
{
    struct psc_kv_so_far s;
    char bytes[32], number[32];
    struct psc_text rows = {0};
    int32_t cursor = psc_workspace_cursor(card->ws);
    psc_kv_step_so_far(step, cursor, &s);
    psc_node node = psc_study_node_at(psc_workspace_study(card->ws), cursor);
    char *heading = has_node(card, node) ? g_strdup_printf("THIS STEP, UP TO #%" G_GUINT64_FORMAT, step->graph->nodes[node].id)
                    : cursor < 0         ? g_strdup("THIS STEP, BEFORE THE FIRST OP")
                                         : g_strdup("THIS STEP, AT ITS END");
    psc_card_section(card, heading);
    g_free(heading);
    psc_say_rows(&rows, s.lo, s.hi);
    if (s.hi > s.lo)
        psc_card_linef(card, "Written", "%u of %u layers: K and V %s%s%s", s.layers_done, s.layers_all, psc_text_str(&rows),
                       step->regions.row_bytes ? ", " : "",
                       step->regions.row_bytes ? psc_bytes_text(2 * s.write_n * step->regions.row_bytes, bytes, sizeof bytes) : "");
    if (s.windows)
        psc_card_linef(card, "Read", "%u window%s, %s rows of K and V%s%s", s.windows, s.windows == 1 ? "" : "s",
                       psc_thousands(s.rows_read, number, sizeof number), step->regions.row_bytes ? ", " : "",
                       step->regions.row_bytes ? psc_bytes_text(2 * s.rows_read * step->regions.row_bytes, bytes, sizeof bytes) : "");
    else
        psc_card_line(card, "Read", "nothing yet");
    if (s.unwritten)
        psc_card_linef(card, "Unwritten", "\xe2\x9a\xa0 %s of the rows read were never written",
                       psc_thousands(s.unwritten, number, sizeof number));
    else
        psc_card_line(card, "Unwritten", step->history || step->source == PSC_KV_RECORDED
                                             ? "no read touched a row that was never written"
                                             : "not known yet");
    psc_text_release(&rows);
}

static void sequence_lines(PscCard *card, const struct psc_kv_step *step)
{
    char a[32], b[32];
    if (!step->sequence_n)
        psc_card_line(card, "Sequences", "the file names none; all rows are shown as those of one");
    else
        psc_card_linef(card, "Sequences", "%u, after this step", step->sequence_n);
    for (uint32_t i = 0; i < MIN(step->sequence_n, SEQUENCES_SHOWN); i++) {
        const struct psc_kv_sequence *s = &step->sequences[i];
        char *key = g_strdup_printf("%" G_GUINT64_FORMAT, s->seq), *shared = NULL;
        if (s->shared_rows)
            shared = g_strdup_printf("; reads %u rows from row %u on as its prefix", s->shared_rows, s->shared_cell);
        psc_card_linef(card, key, "%s of %s cells in use, from row %u on%s", psc_thousands(s->rows, a, sizeof a),
                       psc_thousands(s->cap, b, sizeof b), s->start, shared ? shared : "");
        g_free(shared);
        g_free(key);
    }
    if (step->sequence_n > SEQUENCES_SHOWN)
        psc_card_linef(card, "", "and %u more", step->sequence_n - SEQUENCES_SHOWN);
}

static void occupancy_lines(PscCard *card, const struct psc_kv_step *step)
{
    struct psc_kv_so_far s;
    char a[32], b[32];
    const struct psc_kv_regions *r = &step->regions;
    const struct psc_kv_history *h = step->history;
    psc_kv_step_so_far(step, psc_workspace_cursor(card->ws), &s);
    psc_card_section(card, "OCCUPANCY");
    struct psc_text words = {0};
    psc_explain_kv_occupancy(&words, step, psc_workspace_cursor(card->ws));
    psc_card_line(card, "Rows", psc_text_str(&words));
    psc_text_release(&words);
    if (r->row_bytes)
        psc_card_linef(card, "Bytes", "%s of %s", psc_thousands(2 * s.rows * r->row_bytes * r->layers, a, sizeof a),
                       psc_thousands(2 * r->row_bytes * r->rows * r->layers, b, sizeof b));
    uint32_t now = step->ordinal;
    if (h && now < h->step_n && !step->is_prefill && h->figures[now].fresh && h->figures[now].rows < r->rows)
        psc_card_linef(card, "Full", "after %s more steps like this one, if nothing is freed",
                       psc_thousands((r->rows - h->figures[now].rows + h->figures[now].fresh - 1) / h->figures[now].fresh, a, sizeof a));
    sequence_lines(card, step);
    words = (struct psc_text){0};
    psc_explain_kv_source(&words, step);
    psc_card_text(card, psc_text_str(&words), "dim");
    psc_text_release(&words);
}

/* ---- curve and legend --------------------------------------------------------------------------------------------- */

struct curve {
    uint32_t *rows, n, step;
};

static void free_curve(gpointer data)
{
    struct curve *curve = data;
    g_free(curve->rows);
    g_free(curve);
}

static void draw_curve(GtkDrawingArea *area G_GNUC_UNUSED, cairo_t *cr, int width, int height, gpointer data)
{
    const struct curve *curve = data;
    psc_part_kv_curve(cr, psc_palette_get(psc_ui_is_dark()), psc_ui_type(), curve->rows, curve->n, curve->step, width, height);
}

static void rows_by_step(PscCard *card, const struct psc_kv_step *step)
{
    const struct psc_kv_history *h = psc_workspace_kv_history(card->ws);
    double part;
    psc_card_section(card, "ROWS BY STEP");
    if (psc_workspace_kv_reading(card->ws, &part))
        psc_card_linef(card, "Reading", "the steps of the file, %.0f %%", part * 100);
    if (!h || !h->step_n) {
        if (!psc_workspace_kv_reading(card->ws, NULL))
            psc_card_text(card, "The file has no steps.", "dim");
        return;
    }
    struct curve *curve = g_new0(struct curve, 1);
    curve->n = h->step_n;
    curve->step = step->ordinal;
    curve->rows = g_new0(uint32_t, curve->n);
    for (uint32_t i = 0; i < curve->n; i++)
        curve->rows[i] = h->figures[i].rows;
    GtkWidget *area = gtk_drawing_area_new();
    gtk_widget_set_size_request(area, -1, CURVE_HEIGHT);
    gtk_drawing_area_set_draw_func(GTK_DRAWING_AREA(area), draw_curve, curve, free_curve);
    psc_ui_watch_dark(area);
    char *name = g_strdup_printf("Rows written by step: %u after the first of %u, %u after the last", curve->rows[0], curve->n,
                                 curve->rows[curve->n - 1]);
    psc_ui_name(area, name);
    g_free(name);
    psc_card_widget(card, area);
}

static void draw_swatch(GtkDrawingArea *area G_GNUC_UNUSED, cairo_t *cr, int width, int height, gpointer data)
{
    psc_part_kv_swatch(cr, psc_palette_get(psc_ui_is_dark()), (enum psc_kv_swatch)GPOINTER_TO_INT(data), width, height);
}

static void legend(PscCard *card)
{
    static const char *const words[PSC_KV_SWATCH_N] = {"written in a prefill", "written in an earlier decode step",
                                                       "written in this step", "only enqueued in this step", "will be written in this step", "never written",
                                                       "window read by the current op", "read, but nobody wrote it"};
    psc_card_section(card, "LEGEND");
    for (int i = 0; i < PSC_KV_SWATCH_N; i++) {
        if (psc_card_keeps(card, words[i]))
            continue;
        GtkWidget *line = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 8), *area = gtk_drawing_area_new();
        gtk_widget_set_size_request(area, 24, 12);
        gtk_widget_set_valign(area, GTK_ALIGN_CENTER);
        gtk_drawing_area_set_draw_func(GTK_DRAWING_AREA(area), draw_swatch, GINT_TO_POINTER(i), NULL);
        gtk_accessible_update_property(GTK_ACCESSIBLE(area), GTK_ACCESSIBLE_PROPERTY_LABEL, words[i], -1);
        psc_ui_watch_dark(area);
        gtk_box_append(GTK_BOX(line), area);
        gtk_box_append(GTK_BOX(line), gtk_label_new(words[i]));
        psc_card_widget(card, line);
    }
}

void psc_card_of_kv(PscCard *card)
{
    const struct psc_kv_step *step = psc_workspace_kv(card->ws);
    PscKvCell at;
    if (!step) {
        psc_card_title(card, "No KV regions", NULL);
        psc_card_section(card, NULL);
        psc_card_text(card, "No op of this phase stores keys and values, or loads them.", "dim");
        return;
    }
    if (psc_workspace_kv_focus(card->ws, &at))
        cell_card(card, step, &at);
    else
        psc_card_title(card, "KV regions", step->source == PSC_KV_NOT_KNOWN ? "what they hold is not recorded" : "no row is written in this step");
    if (step->source != PSC_KV_NOT_KNOWN)
        so_far_lines(card, step);
    rows_by_step(card, step);
    occupancy_lines(card, step);
    legend(card);
}
