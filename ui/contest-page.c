#include "ui/contest-page.h"

#include "core/debug/explain.h"
#include "ui/access.h"
#include "ui/card.h"
#include "ui/contest-map.h"
#include "ui/contest-table.h"
#include "ui/phase-choice.h"
#include "ui/contest.h"

struct _PscContestPage {
    GtkBox parent_instance;
    PscWorkspace *ws;
    PscContest *contest; /* of ws */
    GtkWidget *about, *phase, *words, *maps, *table, *side, *card, *use, *diff, *tool_words;
    guint map_n, serial, shown; /* shown: whose map was brought into sight last */
    gboolean wanted, syncing, fresh;
};

G_DEFINE_FINAL_TYPE(PscContestPage, psc_contest_page, GTK_TYPE_BOX)

/* ---- what the picked one changes --------------------------------------------------------------------------------- */

static void add_shares(PscCard *card, const struct psc_cost *cost)
{
    char buf[32];
    psc_card_linef(card, "Alive", "%s bytes at the peak", psc_thousands(cost->lower_bound, buf, sizeof buf));
    psc_card_linef(card, "Holes", "%s bytes lie idle then", psc_thousands(cost->holes, buf, sizeof buf));
    psc_card_linef(card, "Padding", "%s bytes of buffers in use", psc_thousands(cost->padding, buf, sizeof buf));
    psc_card_linef(card, "In place", "%s", psc_thousands(cost->in_place, buf, sizeof buf));
}

static void add_findings(PscCard *card, const PscEntrant *e)
{
    struct psc_text text = {0};
    for (uint32_t i = 0; e->contender.analysis && i < MIN(e->finding_n, 3u); i++) {
        psc_text_clear(&text);
        psc_explain_finding(&text, e->contender.analysis, &e->contender.analysis->check.findings[i]);
        psc_card_note(card, psc_text_str(&text), "note warn");
    }
    psc_text_release(&text);
}

static void add_peak(PscCard *card, const PscEntrant *e)
{
    struct psc_text text = {0};
    if (!e->contender.analysis || !e->contender.analysis->plan)
        return;
    psc_card_section(card, "PEAK OF THE GRAPH, NOTHING IN PLACE");
    psc_explain_peak(&text, e->contender.analysis);
    psc_card_text(card, psc_text_str(&text), NULL);
    psc_text_release(&text);
}

static void tell_of_picked(PscContestPage *self, PscCard *card)
{
    guint own = psc_contest_own(self->contest), picked = psc_contest_picked(self->contest);
    const PscEntrant *from = psc_contest_at(self->contest, own), *to = psc_contest_at(self->contest, picked);
    struct psc_text text = {0};
    gtk_widget_set_sensitive(self->use, to && picked != own && to->done && to->contender.able);
    gtk_widget_set_sensitive(self->diff, to && picked != own && to->done && to->contender.able && from);
    char *label = to ? g_strdup_printf("Use %s for this document", to->name) : g_strdup("Use it for this document");
    gtk_button_set_label(GTK_BUTTON(self->use), label);
    g_free(label);
    if (!to) {
        psc_card_title(card, "No planner is picked", "choose a map or a row: what it changes, and why");
        return;
    }
    char *title = from && from != to ? g_strdup_printf("%s \xe2\x86\x92 %s", from->name, to->name) : g_strdup(to->name);
    psc_card_title(card, title, from == to ? "the plan of this document"
                                : to->done && !to->contender.able ? "why there is no such plan" : "what changes, and why");
    g_free(title);
    if (to->done && !to->contender.able) {
        psc_card_section(card, "CANNOT PLAN THIS DOCUMENT");
        char *why = g_strdup_printf("%c%s.", g_ascii_toupper(to->contender.why[0]), to->contender.why + 1);
        psc_card_note(card, why, "note warn");
        g_free(why);
        return;
    }
    psc_card_section(card, "BYTES RESERVED");
    if (!to->done) {
        psc_card_text(card, "Being planned.", "dim");
        return;
    }
    if (from && from != to && from->done && from->contender.able) {
        psc_explain_cost_change(&text, &from->contender, &to->contender);
        psc_card_text(card, psc_text_str(&text), NULL);
        psc_text_clear(&text);
    }
    psc_explain_cost(&text, &to->contender);
    psc_card_text(card, psc_text_str(&text), NULL);
    psc_text_release(&text);
    psc_card_section(card, "WHERE THE BYTES GO");
    add_shares(card, &to->contender.cost);
    if (to->finding_n) {
        psc_card_section(card, "CHECK");
        add_findings(card, to);
    }
    add_peak(card, to);
}

static void fill_card(PscContestPage *self)
{
    PscCard card;
    psc_card_begin(&card, self->ws, self->card);
    tell_of_picked(self, &card);
    psc_card_end(&card);
}

/* ---- maps ------------------------------------------------------------------------------------------------------- */

static void fill_maps(PscContestPage *self)
{
    guint n = 0; /* who cannot has no map, and stands at the end of the table with the reason */
    for (guint i = 0; i < psc_contest_n(self->contest); i++)
        n += !psc_contest_at(self->contest, i)->done || psc_contest_at(self->contest, i)->contender.able;
    n = MIN(n, psc_contest_n(self->contest));
    for (; self->map_n > n; self->map_n--)
        gtk_flow_box_remove(GTK_FLOW_BOX(self->maps), GTK_WIDGET(gtk_flow_box_get_child_at_index(GTK_FLOW_BOX(self->maps), (int)self->map_n - 1)));
    for (; self->map_n < n; self->map_n++)
        gtk_flow_box_append(GTK_FLOW_BOX(self->maps), psc_contest_map_new(self->ws));
    for (guint i = 0; i < n; i++) {
        GtkFlowBoxChild *child = gtk_flow_box_get_child_at_index(GTK_FLOW_BOX(self->maps), (int)i);
        const PscEntrant *e = psc_contest_at(self->contest, i);
        struct psc_text text = {0};
        psc_contest_map_set(PSC_CONTEST_MAP(gtk_flow_box_child_get_child(child)), i);
        psc_text_addf(&text, "Map of %s: ", e->name);
        if (e->done && e->contender.able)
            psc_text_addf(&text, "%.3f times the lower bound, %u findings", e->contender.cost.ratio, e->finding_n);
        else
            psc_text_add(&text, e->done ? e->contender.why : "being planned");
        psc_ui_name(GTK_WIDGET(child), psc_text_str(&text));
        psc_text_release(&text);
    }
}

/* The list goes along with its selection by itself, the maps do not. */
static void reveal(PscContestPage *self, GtkWidget *map)
{
    GtkWidget *viewport = gtk_widget_get_parent(self->maps);
    GtkAdjustment *down = gtk_scrollable_get_vadjustment(GTK_SCROLLABLE(viewport));
    double x, y;
    if (gtk_widget_translate_coordinates(map, viewport, 0, 0, &x, &y)) {
        y += gtk_adjustment_get_value(down);
        gtk_adjustment_clamp_page(down, y, y + gtk_widget_get_height(map));
    }
}

static void show_picked(PscContestPage *self)
{
    guint picked = psc_contest_picked(self->contest);
    self->syncing = TRUE;
    if (picked >= self->map_n) {
        gtk_flow_box_unselect_all(GTK_FLOW_BOX(self->maps));
    } else {
        GtkFlowBoxChild *map = gtk_flow_box_get_child_at_index(GTK_FLOW_BOX(self->maps), (int)picked);
        gtk_flow_box_select_child(GTK_FLOW_BOX(self->maps), map);
        if (picked != self->shown)
            reveal(self, GTK_WIDGET(map));
    }
    self->shown = picked;
    self->syncing = FALSE;
}

static void map_picked_cb(PscContestPage *self)
{
    GList *chosen = gtk_flow_box_get_selected_children(GTK_FLOW_BOX(self->maps));
    if (chosen && !self->syncing && !self->fresh) /* nor when the focus merely falls on a map as the page comes up */
        psc_contest_pick(self->contest, (guint)gtk_flow_box_child_get_index(chosen->data));
    g_list_free(chosen);
}

static void map_activated_cb(PscContestPage *self, GtkFlowBoxChild *child)
{
    guint i = (guint)gtk_flow_box_child_get_index(child);
    psc_contest_pick(self->contest, i);
}

static void use_cb(PscContestPage *self)
{
    psc_contest_use(self->contest, psc_contest_picked(self->contest));
}

/* Enter on a map that is picked already plans with it, as a second Enter on a row does. */
static gboolean map_key_cb(PscContestPage *self, guint key)
{
    GtkWidget *focus = gtk_root_get_focus(gtk_widget_get_root(GTK_WIDGET(self)));
    if ((key != GDK_KEY_Return && key != GDK_KEY_KP_Enter) || !focus || !GTK_IS_FLOW_BOX_CHILD(focus))
        return FALSE;
    guint i = (guint)gtk_flow_box_child_get_index(GTK_FLOW_BOX_CHILD(focus));
    psc_contest_pick(self->contest, i);
    psc_contest_use(self->contest, i);
    return TRUE;
}

/* The table as text, a tab between two cells: for a spreadsheet or an issue. */
static void copy_cb(PscContestPage *self)
{
    struct psc_text text = {0};
    for (guint c = 0; c < psc_contest_table.column_n; c++)
        psc_text_addf(&text, "%s%s", c ? "\t" : "", psc_contest_table.columns[c].title);
    for (uint32_t row = 0; row < psc_contest_table.count(self->ws); row++)
        for (guint c = 0; c < psc_contest_table.column_n; c++) {
            psc_text_add(&text, c ? "\t" : "\n");
            psc_contest_table.columns[c].text(self->ws, row, &text);
        }
    psc_text_add(&text, "\n");
    gdk_clipboard_set_text(gtk_widget_get_clipboard(GTK_WIDGET(self)), psc_text_str(&text));
    psc_text_release(&text);
}

/* ---- changes ------------------------------------------------------------------------------------------------------ */

void psc_contest_page_status(PscContestPage *self, struct psc_text *out)
{
    guint best = psc_contest_best(self->contest), own = psc_contest_own(self->contest), n = 0;
    const PscEntrant *e = psc_contest_at(self->contest, best), *mine = psc_contest_at(self->contest, own);
    PscSelection selection = psc_workspace_selection(self->ws);
    char bytes[24], label[96];
    guint wrong = 0, unable = 0;
    for (guint i = 0; i < psc_contest_n(self->contest); i++) {
        n += psc_contest_at(self->contest, i)->done;
        wrong += psc_contest_at(self->contest, i)->finding_n > 0;
        unable += psc_contest_at(self->contest, i)->done && !psc_contest_at(self->contest, i)->contender.able;
    }
    psc_text_addf(out, "Compare: %u of %u planners", n, psc_contest_n(self->contest));
    if (unable)
        psc_text_addf(out, ", %u cannot plan this document", unable);
    if (wrong)
        psc_text_addf(out, ", %u read%s wrong bytes", wrong, wrong == 1 ? "s" : "");
    else if (n > unable)
        psc_text_add(out, unable ? ", the rest clean" : ", all clean");
    if (e)
        psc_text_addf(out, ";  the best reserves %s (%s)", psc_bytes_text(e->contender.cost.reserved, bytes, sizeof bytes), e->name);
    if (mine && mine->contender.able)
        psc_text_addf(out, ",  this document's plan %s (%.3f \xc3\x97 bound)",
                      psc_bytes_text(mine->contender.cost.reserved, bytes, sizeof bytes), mine->contender.cost.ratio);
    PscStudy *study = psc_workspace_study(self->ws);
    if (study && study->graph && selection.node != PSC_NONE)
        psc_text_addf(out, ";  selected everywhere: #%llu %s", (unsigned long long)study->graph->nodes[selection.node].id,
                      psc_node_label(study->graph, selection.node, label, sizeof label));
}

static void contest_cb(PscContestPage *self)
{
    if (!self->wanted)
        return;
    if (psc_contest_picked(self->contest) == PSC_NONE && psc_contest_best(self->contest) != PSC_NONE && !psc_contest_running(self->contest))
        psc_contest_pick(self->contest, psc_contest_best(self->contest)); /* comes back here */
    gboolean other = self->serial != psc_contest_serial(self->contest);
    self->serial = psc_contest_serial(self->contest);
    fill_maps(self);
    if (other)
        psc_table_reload(PSC_TABLE(self->table));
    else
        psc_table_refresh(PSC_TABLE(self->table));
    psc_table_show_selected(PSC_TABLE(self->table));
    show_picked(self);
    if (self->fresh && psc_contest_n(self->contest) && !psc_contest_running(self->contest)) {
        self->fresh = FALSE; /* the keys go to the list as soon as there is one */
        psc_table_focus(PSC_TABLE(self->table));
    }
    fill_card(self);
}

static void say_range(PscContestPage *self)
{
    double x0, x1;
    psc_workspace_range(self->ws, &x0, &x1);
    char *text = g_strdup_printf("Maps show ops %d\xe2\x80\x93%d, locked together;  y = bytes from the start;  dashed: lower bound",
                                 MAX((int)x0, 0), CLAMP((int)x1 - 1, 0, MAX(psc_study_end(psc_workspace_study(self->ws)) - 1, 0)));
    gtk_label_set_text(GTK_LABEL(self->tool_words), text);
    g_free(text);
}

static void changed_cb(PscContestPage *self, guint what)
{
    if (!self->wanted || !psc_workspace_study(self->ws))
        return;
    if (what & (PSC_CHANGED_DOCUMENT | PSC_CHANGED_STUDY | PSC_CHANGED_RANGE))
        say_range(self);
}

static void want(PscContestPage *self, gboolean wanted)
{
    if (self->wanted == wanted)
        return;
    self->wanted = self->fresh = wanted;
    psc_contest_want(self->contest, wanted);
    if (!wanted)
        return;
    changed_cb(self, PSC_CHANGED_ALL);
    contest_cb(self);
}

static void psc_contest_page_map(GtkWidget *widget)
{
    GTK_WIDGET_CLASS(psc_contest_page_parent_class)->map(widget);
    want(PSC_CONTEST_PAGE(widget), TRUE);
}

static void psc_contest_page_unmap(GtkWidget *widget)
{
    want(PSC_CONTEST_PAGE(widget), FALSE);
    GTK_WIDGET_CLASS(psc_contest_page_parent_class)->unmap(widget);
}

void psc_contest_page_set_narrow(PscContestPage *self, gboolean narrow)
{
    gtk_flow_box_set_max_children_per_line(GTK_FLOW_BOX(self->maps), narrow ? 3 : 4);
    gtk_widget_set_visible(self->tool_words, !narrow);
    gtk_widget_set_visible(self->about, !narrow);
    gtk_widget_set_size_request(self->side, narrow ? 280 : 320, -1);
    gtk_widget_set_size_request(self->table, -1, narrow ? 130 : 226);
}

/* ---- building ------------------------------------------------------------------------------------------------------ */

static GtkWidget *dim_label(const char *text)
{
    GtkWidget *label = gtk_label_new(text);
    gtk_widget_add_css_class(label, "dim");
    gtk_widget_add_css_class(label, "caption");
    gtk_label_set_ellipsize(GTK_LABEL(label), PANGO_ELLIPSIZE_END);
    return label;
}

static GtkWidget *spacer(void)
{
    GtkWidget *space = gtk_label_new(NULL);
    gtk_widget_set_hexpand(space, TRUE);
    return space;
}

static GtkWidget *bar_new(PscContestPage *self)
{
    GtkWidget *bar = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 10), *back = gtk_button_new_with_label("\xe2\x80\xb9 Timeline");
    GtkWidget *title = gtk_label_new("Compare planners");
    gtk_widget_add_css_class(bar, "context-bar");
    gtk_widget_add_css_class(title, "strong");
    gtk_widget_set_tooltip_text(back, "Back to the timeline (Escape)");
    gtk_actionable_set_action_name(GTK_ACTIONABLE(back), "win.show-timeline");
    self->about = dim_label("one graph, every planner, all run through the same check");
    gtk_box_append(GTK_BOX(bar), back);
    gtk_box_append(GTK_BOX(bar), title);
    gtk_box_append(GTK_BOX(bar), self->about);
    gtk_box_append(GTK_BOX(bar), spacer());
    gtk_box_append(GTK_BOX(bar), dim_label("Graph"));
    gtk_box_append(GTK_BOX(bar), psc_phase_choice_new(self->ws, FALSE));
    return bar;
}

static GtkWidget *tools_new(PscContestPage *self)
{
    GtkWidget *row = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 8);
    gtk_widget_add_css_class(row, "tool-row");
    self->tool_words = dim_label(NULL);
    gtk_box_append(GTK_BOX(row), self->tool_words);
    gtk_box_append(GTK_BOX(row), spacer());
    GtkWidget *copy = gtk_button_new_with_label("Copy the table");
    gtk_widget_set_tooltip_text(copy, "Text with tabs, for a spreadsheet or an issue");
    g_signal_connect_swapped(copy, "clicked", G_CALLBACK(copy_cb), self);
    gtk_box_append(GTK_BOX(row), copy);
    gtk_box_append(GTK_BOX(row), psc_icon_button("zoom-out-symbolic", "Zoom out (S)", "win.zoom-out"));
    gtk_box_append(GTK_BOX(row), psc_icon_button("zoom-fit-best-symbolic", "Whole run (0)", "win.show-all"));
    gtk_box_append(GTK_BOX(row), psc_icon_button("zoom-in-symbolic", "Zoom in (W)", "win.zoom-in"));
    return row;
}

static GtkWidget *maps_new(PscContestPage *self)
{
    GtkWidget *scroller = gtk_scrolled_window_new();
    self->maps = gtk_flow_box_new();
    gtk_widget_add_css_class(self->maps, "contest-maps");
    gtk_flow_box_set_selection_mode(GTK_FLOW_BOX(self->maps), GTK_SELECTION_SINGLE);
    gtk_flow_box_set_homogeneous(GTK_FLOW_BOX(self->maps), TRUE);
    gtk_flow_box_set_min_children_per_line(GTK_FLOW_BOX(self->maps), 2);
    gtk_flow_box_set_max_children_per_line(GTK_FLOW_BOX(self->maps), 4);
    gtk_flow_box_set_activate_on_single_click(GTK_FLOW_BOX(self->maps), FALSE);
    psc_ui_name(self->maps, "Maps of the planners");
    g_signal_connect_swapped(self->maps, "selected-children-changed", G_CALLBACK(map_picked_cb), self);
    g_signal_connect_swapped(self->maps, "child-activated", G_CALLBACK(map_activated_cb), self);
    GtkEventController *keys = gtk_event_controller_key_new();
    gtk_event_controller_set_propagation_phase(keys, GTK_PHASE_CAPTURE);
    g_signal_connect_swapped(keys, "key-pressed", G_CALLBACK(map_key_cb), self);
    gtk_widget_add_controller(self->maps, keys);
    gtk_scrolled_window_set_policy(GTK_SCROLLED_WINDOW(scroller), GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC);
    gtk_scrolled_window_set_child(GTK_SCROLLED_WINDOW(scroller), self->maps);
    gtk_widget_set_vexpand(scroller, TRUE);
    return scroller;
}

static GtkWidget *side_new(PscContestPage *self)
{
    GtkWidget *scroller = gtk_scrolled_window_new(), *buttons = gtk_box_new(GTK_ORIENTATION_VERTICAL, 6);
    self->side = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0);
    gtk_widget_add_css_class(self->side, "pane");
    gtk_widget_add_css_class(self->side, "inspector");
    self->card = gtk_box_new(GTK_ORIENTATION_VERTICAL, 2);
    gtk_widget_add_css_class(self->card, "inspector-box");
    /* not "never": the pane would be as wide as the words about the picked one, and jump from one to the next */
    gtk_scrolled_window_set_policy(GTK_SCROLLED_WINDOW(scroller), GTK_POLICY_EXTERNAL, GTK_POLICY_AUTOMATIC);
    gtk_scrolled_window_set_child(GTK_SCROLLED_WINDOW(scroller), self->card);
    gtk_widget_set_vexpand(scroller, TRUE);
    psc_ui_name(scroller, "What the picked planner changes");
    self->use = gtk_button_new_with_label("Use it for this document");
    gtk_widget_add_css_class(self->use, "suggested-action");
    g_signal_connect_swapped(self->use, "clicked", G_CALLBACK(use_cb), self);
    self->diff = gtk_button_new_with_label("Open side by side");
    gtk_actionable_set_action_name(GTK_ACTIONABLE(self->diff), "win.diff-planner");
    gtk_widget_set_tooltip_text(self->diff, "The document's plan and this one, locked together (Ctrl+D)");
    gtk_widget_add_css_class(buttons, "inspector-box");
    gtk_box_append(GTK_BOX(buttons), self->use);
    gtk_box_append(GTK_BOX(buttons), self->diff);
    gtk_box_append(GTK_BOX(self->side), scroller);
    gtk_box_append(GTK_BOX(self->side), buttons);
    gtk_widget_set_size_request(self->side, 320, -1);
    return self->side;
}

static void psc_contest_page_dispose(GObject *object)
{
    g_clear_object(&PSC_CONTEST_PAGE(object)->ws);
    G_OBJECT_CLASS(psc_contest_page_parent_class)->dispose(object);
}

static void psc_contest_page_class_init(PscContestPageClass *class)
{
    G_OBJECT_CLASS(class)->dispose = psc_contest_page_dispose;
    GTK_WIDGET_CLASS(class)->map = psc_contest_page_map;
    GTK_WIDGET_CLASS(class)->unmap = psc_contest_page_unmap;
}

static void psc_contest_page_init(PscContestPage *self)
{
    gtk_orientable_set_orientation(GTK_ORIENTABLE(self), GTK_ORIENTATION_VERTICAL);
}

GtkWidget *psc_contest_page_new(PscWorkspace *ws)
{
    PscContestPage *self = g_object_new(PSC_TYPE_CONTEST_PAGE, NULL);
    GtkWidget *across = gtk_paned_new(GTK_ORIENTATION_HORIZONTAL), *centre = gtk_paned_new(GTK_ORIENTATION_VERTICAL);
    GtkWidget *above = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0);
    self->ws = g_object_ref(ws);
    self->contest = psc_contest_of(ws);
    self->table = psc_table_new(ws, &psc_contest_table);
    gtk_box_append(GTK_BOX(above), tools_new(self));
    gtk_box_append(GTK_BOX(above), maps_new(self));
    gtk_widget_add_css_class(centre, "centre");
    gtk_paned_set_start_child(GTK_PANED(centre), above);
    gtk_paned_set_end_child(GTK_PANED(centre), self->table);
    gtk_paned_set_resize_end_child(GTK_PANED(centre), FALSE);
    gtk_paned_set_shrink_start_child(GTK_PANED(centre), FALSE);
    gtk_paned_set_shrink_end_child(GTK_PANED(centre), FALSE);
    gtk_widget_set_hexpand(centre, TRUE);
    gtk_widget_set_vexpand(across, TRUE);
    gtk_paned_set_start_child(GTK_PANED(across), centre);
    gtk_paned_set_end_child(GTK_PANED(across), side_new(self));
    gtk_paned_set_resize_end_child(GTK_PANED(across), FALSE);
    gtk_paned_set_shrink_start_child(GTK_PANED(across), FALSE);
    gtk_paned_set_shrink_end_child(GTK_PANED(across), FALSE);
    gtk_box_append(GTK_BOX(self), bar_new(self));
    gtk_box_append(GTK_BOX(self), across);
    psc_contest_page_set_narrow(self, FALSE);
    g_signal_connect_object(ws, "changed", G_CALLBACK(changed_cb), self, G_CONNECT_SWAPPED);
    g_signal_connect_object(self->contest, "changed", G_CALLBACK(contest_cb), self, G_CONNECT_SWAPPED);
    return GTK_WIDGET(self);
}
