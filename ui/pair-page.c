#include "ui/pair-page.h"

#include "core/debug/explain.h"
#include "ui/access.h"
#include "ui/pair-table.h"
#include "ui/pair.h"
#include "ui/phase-choice.h"
#include "ui/timeline.h"

#include <string.h>

#define PARTS_SHOWN 8u

struct _PscPairPage {
    GtkBox parent_instance;
    PscWorkspace *ws;
    PscPair *pair; /* of ws */
    GtkWidget *heads[2], *maps[2], *words, *words_scroller, *reason, *table, *side, *about;
    enum psc_view_mode mode_before;
    enum psc_view_height height_before;
    enum psc_view_colour colour_before;
    const struct psc_plan_diff *told; /* compared only */
    gboolean shown, fresh;
};

G_DEFINE_FINAL_TYPE(PscPairPage, psc_pair_page, GTK_TYPE_BOX)

/* ---- words ------------------------------------------------------------------------------------------------------ */

static void say_heads(PscPairPage *self)
{
    PscStudy *a = psc_workspace_study(self->ws), *b = psc_workspace_study(psc_pair_other(self->pair));
    const char *name = psc_pair_name(self->pair);
    char *text[2];
    text[0] = a ? g_strdup_printf("A   %s \xc2\xb7 %s", psc_workspace_title(self->ws), a->plan_words) : g_strdup("A");
    gboolean same_file = a && b && a->document == b->document;
    text[1] = b      ? g_strdup_printf("B   %s \xc2\xb7 %s", same_file ? "the same" : name ? name : "", b->plan_words)
              : name ? g_strdup_printf("B   %s is being planned\xe2\x80\xa6", name)
                     : g_strdup("B");
    for (int i = 0; i < 2; i++) {
        gtk_label_set_text(GTK_LABEL(self->heads[i]), text[i]);
        g_free(text[i]);
    }
}

static void add_line(struct psc_text *out, struct psc_text *line)
{
    psc_text_addf(out, "\n%s", psc_text_str(line));
    psc_text_clear(line);
}

static void say_peak(PscPairPage *self)
{
    const struct psc_plan_diff *d = psc_pair_diff(self->pair);
    struct psc_text text = {0}, line = {0};
    int64_t rest = 0;
    if (!d) {
        const char *failure = psc_pair_failure(self->pair);
        gtk_label_set_text(GTK_LABEL(self->words), failure ? failure : "Working out what differs\xe2\x80\xa6");
        return;
    }
    psc_explain_plan_diff(&text, d);
    psc_text_add(&text, "\n\n");
    psc_explain_peak_change(&text, d);
    for (uint32_t k = 0; k < d->part_n; k++) {
        if (k >= PARTS_SHOWN) {
            rest += d->parts[k].bytes;
            continue;
        }
        psc_explain_part(&line, d, &d->parts[k]);
        add_line(&text, &line);
    }
    if (d->part_n > PARTS_SHOWN) {
        char buf[32];
        psc_text_addf(&line, "%s%s bytes  %u more, together", rest < 0 ? "-" : "+",
                      psc_thousands((uint64_t)(rest < 0 ? -rest : rest), buf, sizeof buf), d->part_n - PARTS_SHOWN);
        add_line(&text, &line);
    }
    psc_explain_elsewhere(&line, d);
    if (line.n)
        add_line(&text, &line);
    gtk_label_set_text(GTK_LABEL(self->words), psc_text_str(&text));
    psc_text_release(&text);
    psc_text_release(&line);
}

static void say_reason(PscPairPage *self)
{
    const struct psc_plan_diff *d = psc_pair_diff(self->pair);
    const struct psc_plan_change *c = psc_pair_at(self->pair, psc_pair_picked(self->pair));
    struct psc_text text = {0};
    if (d && c)
        psc_explain_change(&text, d, c);
    else if (d)
        psc_text_add(&text, d->change_n ? "A row says what happened to its tensor." : "Nothing differs.");
    gtk_label_set_text(GTK_LABEL(self->reason), psc_text_str(&text));
    psc_text_release(&text);
}

void psc_pair_page_status(PscPairPage *self, struct psc_text *out)
{
    const struct psc_plan_diff *d = psc_pair_diff(self->pair);
    psc_text_add(out, "Diff: ");
    if (d)
        psc_explain_plan_diff(out, d);
    else
        psc_text_add(out, psc_pair_failure(self->pair) ? psc_pair_failure(self->pair) : "being worked out");
}

/* ---- marks ------------------------------------------------------------------------------------------------------ */

static uint8_t mark_of(const struct psc_plan_change *c)
{
    if (c->what & (1u << PSC_CHANGE_GONE | 1u << PSC_CHANGE_NEW))
        return PSC_TIMELINE_ALONE;
    return c->peak_bytes ? PSC_TIMELINE_EXPLAINS : PSC_TIMELINE_DIFFERS;
}

/* All bars of a value carry its sign. */
static void mark_side(PscTimeline *timeline, const struct psc_plan_diff *d, const struct psc_diff_side *side, const uint32_t *change_of)
{
    uint8_t *marks = g_new0(uint8_t, side->history->tenancy_n + 1);
    for (uint32_t t = 0; t < side->history->tenancy_n; t++) {
        uint32_t change = change_of[side->history->tenancies[t].value];
        if (change != PSC_NONE)
            marks[t] = mark_of(&d->changes[change]);
    }
    /* what is taken over explains the peak, though it lies where it lay */
    for (uint32_t k = 0; k < d->part_n; k++) {
        uint32_t value = side == &d->a ? d->parts[k].a : d->parts[k].b;
        uint32_t bar = value != PSC_NONE ? psc_history_of_value(side->history, value) : PSC_NONE;
        if (bar != PSC_NONE && marks[bar] != PSC_TIMELINE_ALONE)
            marks[bar] = PSC_TIMELINE_EXPLAINS;
    }
    psc_timeline_set_marks(timeline, marks, side->history->tenancy_n);
    g_free(marks);
}

static void mark_bars(PscPairPage *self)
{
    const struct psc_plan_diff *d = psc_pair_diff(self->pair);
    if (!d) {
        psc_timeline_set_marks(PSC_TIMELINE(self->maps[0]), NULL, 0);
        psc_timeline_set_marks(PSC_TIMELINE(self->maps[1]), NULL, 0);
        return;
    }
    mark_side(PSC_TIMELINE(self->maps[0]), d, &d->a, d->change_of_a);
    mark_side(PSC_TIMELINE(self->maps[1]), d, &d->b, d->change_of_b);
    for (int i = 0; i < 2; i++)
        psc_timeline_set_full(PSC_TIMELINE(self->maps[i]), MAX(MAX(d->a_total.reserved, d->b_total.reserved), 1));
}

/* ---- changes ------------------------------------------------------------------------------------------------------ */

static void pair_cb(PscPairPage *self)
{
    if (!self->shown)
        return;
    say_heads(self);
    say_peak(self);
    say_reason(self);
    if (!self->told || self->told != psc_pair_diff(self->pair)) { /* another row that is picked changes neither */
        self->told = psc_pair_diff(self->pair);
        mark_bars(self);
        psc_table_reload(PSC_TABLE(self->table));
    }
    if (self->fresh && psc_pair_n(self->pair)) {
        self->fresh = FALSE;
        psc_table_focus(PSC_TABLE(self->table));
    }
    psc_table_show_selected(PSC_TABLE(self->table));
}

/* Both sides as maps of linear height: only so is a byte as high here as there. */
static void psc_pair_page_map(GtkWidget *widget)
{
    PscPairPage *self = PSC_PAIR_PAGE(widget);
    GTK_WIDGET_CLASS(psc_pair_page_parent_class)->map(widget);
    self->shown = self->fresh = TRUE;
    self->told = NULL;
    self->mode_before = psc_workspace_y_mode(self->ws);
    self->height_before = psc_workspace_height(self->ws);
    self->colour_before = psc_workspace_colour_by(self->ws);
    psc_workspace_set_colour_by(self->ws, PSC_BY_ROLE);
    psc_workspace_set_y_mode(self->ws, PSC_VIEW_MAP);
    psc_workspace_set_height(self->ws, PSC_HEIGHT_LINEAR);
    pair_cb(self);
}

static void psc_pair_page_unmap(GtkWidget *widget)
{
    PscPairPage *self = PSC_PAIR_PAGE(widget);
    self->shown = FALSE;
    if (psc_workspace_y_mode(self->ws) == PSC_VIEW_MAP && psc_workspace_height(self->ws) == PSC_HEIGHT_LINEAR) {
        psc_workspace_set_y_mode(self->ws, self->mode_before);
        psc_workspace_set_height(self->ws, self->height_before);
        psc_workspace_set_colour_by(self->ws, self->colour_before);
    }
    GTK_WIDGET_CLASS(psc_pair_page_parent_class)->unmap(widget);
}

void psc_pair_page_set_narrow(PscPairPage *self, gboolean narrow)
{
    gtk_widget_set_size_request(self->side, narrow ? 312 : 400, -1);
    gtk_widget_set_visible(self->about, !narrow);
    for (int i = 0; i < 2; i++) /* both alike: the same room for the same bytes */
        psc_timeline_hide_strips(PSC_TIMELINE(self->maps[i]), TRUE);
    gtk_scrolled_window_set_min_content_height(GTK_SCROLLED_WINDOW(self->words_scroller), narrow ? 110 : 200);
}

GtkWidget *psc_pair_page_timeline(PscPairPage *self)
{
    return self->maps[0];
}

/* ---- building ------------------------------------------------------------------------------------------------------ */

static GtkWidget *label_new(const char *style)
{
    GtkWidget *label = gtk_label_new(NULL);
    gtk_label_set_xalign(GTK_LABEL(label), 0);
    gtk_label_set_yalign(GTK_LABEL(label), 0);
    gtk_label_set_wrap(GTK_LABEL(label), TRUE);
    gtk_label_set_wrap_mode(GTK_LABEL(label), PANGO_WRAP_WORD_CHAR);
    gtk_label_set_selectable(GTK_LABEL(label), FALSE);
    if (style)
        gtk_widget_add_css_class(label, style);
    return label;
}

static GtkWidget *bar_new(PscPairPage *self)
{
    GtkWidget *bar = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 10), *back = gtk_button_new_with_label("\xe2\x80\xb9 Timeline");
    GtkWidget *title = gtk_label_new("Side by side"), *space = gtk_label_new(NULL), *planners = gtk_button_new_with_label("Planners");
    GtkWidget *file = gtk_button_new_with_label("Another file\xe2\x80\xa6");
    gtk_widget_add_css_class(bar, "context-bar");
    gtk_widget_add_css_class(title, "strong");
    gtk_widget_set_tooltip_text(back, "Back to the timeline (Escape)");
    gtk_actionable_set_action_name(GTK_ACTIONABLE(back), "win.show-timeline");
    gtk_actionable_set_action_name(GTK_ACTIONABLE(planners), "win.compare");
    gtk_widget_set_tooltip_text(planners, "All planners on this document (Ctrl+Shift+P)");
    gtk_actionable_set_action_name(GTK_ACTIONABLE(file), "win.diff-file");
    gtk_widget_set_tooltip_text(file, "Compare with another file");
    self->about = gtk_label_new("same range, cursor, scroll and bytes a pixel;  corner: differs, filled: explains the peak, frame: only here");
    gtk_widget_add_css_class(self->about, "dim");
    gtk_widget_add_css_class(self->about, "caption");
    gtk_label_set_ellipsize(GTK_LABEL(self->about), PANGO_ELLIPSIZE_END);
    gtk_widget_set_hexpand(space, TRUE);
    gtk_box_append(GTK_BOX(bar), back);
    gtk_box_append(GTK_BOX(bar), title);
    gtk_box_append(GTK_BOX(bar), self->about);
    gtk_box_append(GTK_BOX(bar), space);
    gtk_box_append(GTK_BOX(bar), psc_phase_choice_new(self->ws, TRUE));
    gtk_box_append(GTK_BOX(bar), planners);
    gtk_box_append(GTK_BOX(bar), file);
    return bar;
}

static GtkWidget *map_new(PscPairPage *self, int i, PscWorkspace *ws)
{
    static const char *const names[] = {"Memory timeline of A", "Memory timeline of B"};
    GtkWidget *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0);
    self->heads[i] = label_new("pair-head");
    gtk_label_set_wrap(GTK_LABEL(self->heads[i]), FALSE);
    gtk_label_set_ellipsize(GTK_LABEL(self->heads[i]), PANGO_ELLIPSIZE_END);
    self->maps[i] = psc_timeline_new(ws);
    psc_ui_name(self->maps[i], names[i]);
    gtk_widget_set_vexpand(self->maps[i], TRUE);
    gtk_box_append(GTK_BOX(box), self->heads[i]);
    gtk_box_append(GTK_BOX(box), self->maps[i]);
    return box;
}

static GtkWidget *side_new(PscPairPage *self)
{
    GtkWidget *words = self->words_scroller = gtk_scrolled_window_new();
    self->side = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0);
    self->words = label_new("pair-words");
    self->reason = label_new("pair-reason");
    self->table = psc_table_new(self->ws, &psc_pair_table);
    gtk_widget_set_vexpand(self->table, TRUE);
    gtk_widget_add_css_class(self->side, "pane");
    gtk_widget_add_css_class(self->side, "inspector");
    gtk_scrolled_window_set_policy(GTK_SCROLLED_WINDOW(words), GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC);
    gtk_scrolled_window_set_child(GTK_SCROLLED_WINDOW(words), self->words);
    psc_ui_name(words, "What explains the peak");
    gtk_box_append(GTK_BOX(self->side), words);
    gtk_box_append(GTK_BOX(self->side), self->table);
    gtk_box_append(GTK_BOX(self->side), self->reason);
    gtk_widget_set_size_request(self->side, 400, -1);
    return self->side;
}

static void psc_pair_page_dispose(GObject *object)
{
    g_clear_object(&PSC_PAIR_PAGE(object)->ws);
    G_OBJECT_CLASS(psc_pair_page_parent_class)->dispose(object);
}

static void psc_pair_page_class_init(PscPairPageClass *class)
{
    G_OBJECT_CLASS(class)->dispose = psc_pair_page_dispose;
    GTK_WIDGET_CLASS(class)->map = psc_pair_page_map;
    GTK_WIDGET_CLASS(class)->unmap = psc_pair_page_unmap;
}

static void psc_pair_page_init(PscPairPage *self)
{
    gtk_orientable_set_orientation(GTK_ORIENTABLE(self), GTK_ORIENTATION_VERTICAL);
}

GtkWidget *psc_pair_page_new(PscWorkspace *ws)
{
    PscPairPage *self = g_object_new(PSC_TYPE_PAIR_PAGE, NULL);
    GtkWidget *across = gtk_paned_new(GTK_ORIENTATION_HORIZONTAL), *maps = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0);
    self->ws = g_object_ref(ws);
    self->pair = psc_pair_of(ws);
    gtk_box_append(GTK_BOX(maps), map_new(self, 0, ws));
    gtk_box_append(GTK_BOX(maps), map_new(self, 1, psc_pair_other(self->pair)));
    gtk_box_set_homogeneous(GTK_BOX(maps), TRUE);
    gtk_widget_set_hexpand(maps, TRUE);
    gtk_widget_set_vexpand(across, TRUE);
    gtk_widget_add_css_class(maps, "centre");
    psc_timeline_lock(PSC_TIMELINE(self->maps[0]), PSC_TIMELINE(self->maps[1]));
    gtk_paned_set_start_child(GTK_PANED(across), maps);
    gtk_paned_set_end_child(GTK_PANED(across), side_new(self));
    gtk_paned_set_resize_end_child(GTK_PANED(across), FALSE);
    gtk_paned_set_shrink_start_child(GTK_PANED(across), FALSE);
    gtk_paned_set_shrink_end_child(GTK_PANED(across), FALSE);
    gtk_box_append(GTK_BOX(self), bar_new(self));
    gtk_box_append(GTK_BOX(self), across);
    psc_pair_page_set_narrow(self, FALSE);
    g_signal_connect_object(self->pair, "changed", G_CALLBACK(pair_cb), self, G_CONNECT_SWAPPED);
    return GTK_WIDGET(self);
}
