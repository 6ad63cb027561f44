#include "ui/inspector.h"

#include "ui/access.h"
#include "ui/inspector-cards.h"
#include "ui/tables.h"
#include "ui/tenants-table.h"

#define BEFORE_REDRAW (G_PRIORITY_HIGH_IDLE + 15) /* GTK draws at + 20 */
#define LEAST_HEIGHT 60 /* px of the card, when the tenants stand below it */
#define TENANTS_HEAD 32
#define TENANTS_ROW 20
#define TENANTS_SHOWN 6u
#define TENANTS_MS 220 /* the table of tenants is filled when the selection rests so long */
#define REST_US 150000 /* at most this often while an arrow key is held: a rebuild costs more than the step */

struct _PscInspector {
    GtkBox parent_instance;
    PscWorkspace *ws;
    GtkWidget *scroller, *box, *tenants, *tenants_title, *tenants_box;
    GtkWidget *choice, *choices[2]; /* KV view: the cell, or the op that is selected */
    gboolean op_card, syncing;
    guint idle;         /* a rebuild that is waiting */
    gint64 last_rebuild; /* monotonic, us */
    guint tenants_timer;
    uint32_t tenants_of;
};

G_DEFINE_FINAL_TYPE(PscInspector, psc_inspector, GTK_TYPE_BOX)

static gboolean show_tenants_cb(gpointer data)
{
    PscInspector *self = data;
    self->tenants_timer = 0;
    PscStudy *study = psc_workspace_study(self->ws);
    uint32_t buffer = psc_workspace_selection(self->ws).buffer;
    gboolean shown = study && study->analysis->story && buffer < study->analysis->story->buffer_n;
    gtk_widget_set_visible(self->tenants_box, shown);
    if (!shown)
        return G_SOURCE_REMOVE;
    struct psc_text title = {0};
    psc_text_add(&title, "TENANTS OF ");
    psc_add_buffer(&title, study, buffer);
    psc_text_addf(&title, ", %u IN ORDER", study->tenants[buffer]);
    gtk_label_set_text(GTK_LABEL(self->tenants_title), psc_text_str(&title));
    psc_text_release(&title);
    if (self->tenants_of != buffer)
        psc_table_reload(PSC_TABLE(self->tenants));
    int wanted = TENANTS_HEAD + TENANTS_ROW * (int)MIN(psc_table_n(PSC_TABLE(self->tenants)), TENANTS_SHOWN);
    gtk_widget_set_size_request(self->tenants, -1, wanted); /* few tenants leave the card its room */
    self->tenants_of = buffer;
    psc_table_show_selected(PSC_TABLE(self->tenants));
    return G_SOURCE_REMOVE;
}

/* Another buffer means some hundred cells: not while steps follow one another. */
static void show_tenants(PscInspector *self)
{
    g_clear_handle_id(&self->tenants_timer, g_source_remove);
    gboolean cell = psc_workspace_y_mode(self->ws) == PSC_VIEW_KV && !self->op_card;
    if (cell || psc_workspace_selection(self->ws).buffer == PSC_NONE)
        gtk_widget_set_visible(self->tenants_box, FALSE);
    else
        self->tenants_timer = g_timeout_add(TENANTS_MS, show_tenants_cb, self);
}

/* The cursor stands on a titled position: no node could be selected there. */
static gboolean is_step(PscWorkspace *ws)
{
    const PscStudy *study = psc_workspace_study(ws);
    int32_t cursor = psc_workspace_cursor(ws);
    return !study->graph && study->analysis->story && study->analysis->story->titles && cursor >= 0 &&
           cursor < psc_study_end(study);
}

static void rebuild(PscInspector *self)
{
    PscCard card;
    psc_card_begin(&card, self->ws, self->box);
    if (psc_workspace_study(self->ws)) {
        PscSelection selection = psc_workspace_selection(self->ws);
        if (psc_workspace_y_mode(self->ws) == PSC_VIEW_KV && !self->op_card)
            psc_card_of_kv(&card);
        else if (selection.finding >= 0)
            psc_card_of_finding(&card, selection.finding);
        else if (selection.node != PSC_NONE)
            psc_card_of_node(&card, selection.node);
        else if (selection.buffer != PSC_NONE)
            psc_card_of_buffer(&card, selection.buffer);
        else if (is_step(self->ws))
            psc_card_of_position(&card, psc_workspace_cursor(self->ws));
        else
            psc_card_of_run(&card);
    }
    psc_card_end(&card);
    show_tenants(self);
}

/* In the KV view the cell is what the inspector speaks of; an op that is chosen by its name, and not by stepping to it,
 * takes its place until the cursor or the cell moves on. */
static void choose_card(PscInspector *self, guint what)
{
    PscStudy *study = psc_workspace_study(self->ws);
    PscSelection selection = psc_workspace_selection(self->ws);
    gboolean kv = psc_workspace_y_mode(self->ws) == PSC_VIEW_KV;
    psc_node at = study ? psc_study_node_at(study, psc_workspace_cursor(self->ws)) : PSC_NONE;
    if (what & PSC_CHANGED_SELECTION && selection.node != PSC_NONE && selection.node != at)
        self->op_card = TRUE;
    else if (what & (PSC_CHANGED_CURSOR | PSC_CHANGED_KV | PSC_CHANGED_VIEW | PSC_CHANGED_DOCUMENT) ||
             (what & PSC_CHANGED_SELECTION && selection.node == PSC_NONE))
        self->op_card = selection.finding >= 0;
    self->syncing = TRUE;
    gtk_widget_set_visible(self->choice, kv && study);
    gtk_toggle_button_set_active(GTK_TOGGLE_BUTTON(self->choices[self->op_card]), TRUE);
    self->syncing = FALSE;
}

static void choice_cb(GtkToggleButton *button, PscInspector *self)
{
    if (self->syncing || !gtk_toggle_button_get_active(button))
        return;
    self->op_card = GTK_WIDGET(button) == self->choices[1];
    rebuild(self);
}

static GtkWidget *choice_new(PscInspector *self)
{
    static const char *const words[] = {"Cell", "Op"};
    static const char *const names[] = {"Show the KV cell", "Show the op or buffer that is selected"};
    self->choice = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 0);
    gtk_widget_add_css_class(self->choice, "linked");
    gtk_widget_add_css_class(self->choice, "inspector-choice");
    for (int i = 0; i < 2; i++) {
        self->choices[i] = gtk_toggle_button_new_with_label(words[i]);
        psc_ui_name(self->choices[i], names[i]);
        gtk_widget_set_tooltip_text(self->choices[i], names[i]);
        gtk_box_append(GTK_BOX(self->choice), self->choices[i]);
    }
    gtk_toggle_button_set_group(GTK_TOGGLE_BUTTON(self->choices[1]), GTK_TOGGLE_BUTTON(self->choices[0]));
    for (int i = 0; i < 2; i++)
        g_signal_connect(self->choices[i], "toggled", G_CALLBACK(choice_cb), self);
    gtk_widget_set_visible(self->choice, FALSE);
    return self->choice;
}

static gboolean idle_cb(gpointer data)
{
    PscInspector *self = data;
    self->idle = 0;
    self->last_rebuild = g_get_monotonic_time();
    rebuild(self);
    return G_SOURCE_REMOVE;
}

static void changed_cb(PscInspector *self, guint what)
{
    if (what & (PSC_CHANGED_DOCUMENT | PSC_CHANGED_STUDY | PSC_CHANGED_STEP))
        self->tenants_of = PSC_NONE;
    choose_card(self, what);
    guint mine = PSC_CHANGED_DOCUMENT | PSC_CHANGED_STUDY | PSC_CHANGED_STEP | PSC_CHANGED_SELECTION |
                 PSC_CHANGED_CURSOR | PSC_CHANGED_VIEW |
                 (psc_workspace_y_mode(self->ws) == PSC_VIEW_KV ? PSC_CHANGED_KV : 0);
    if (!(what & mine) || self->idle)
        return;
    gint64 rested = g_get_monotonic_time() - self->last_rebuild;
    if (rested >= REST_US)
        self->idle = g_idle_add_full(BEFORE_REDRAW, idle_cb, self, NULL);
    else
        self->idle = g_timeout_add((guint)((REST_US - rested) / 1000) + 1, idle_cb, self);
}

static void psc_inspector_dispose(GObject *object)
{
    PscInspector *self = PSC_INSPECTOR(object);
    g_clear_handle_id(&self->idle, g_source_remove);
    g_clear_handle_id(&self->tenants_timer, g_source_remove);
    g_clear_object(&self->ws);
    G_OBJECT_CLASS(psc_inspector_parent_class)->dispose(object);
}

static void psc_inspector_class_init(PscInspectorClass *class)
{
    G_OBJECT_CLASS(class)->dispose = psc_inspector_dispose;
}

static void psc_inspector_init(PscInspector *self)
{
    gtk_orientable_set_orientation(GTK_ORIENTABLE(self), GTK_ORIENTATION_VERTICAL);
    gtk_widget_add_css_class(GTK_WIDGET(self), "pane");
    gtk_widget_add_css_class(GTK_WIDGET(self), "inspector");
    self->tenants_of = PSC_NONE;
}

/* The scroller takes the whole of the room behind it. */
static gboolean place_scroller_cb(GtkOverlay *overlay, GtkWidget *child G_GNUC_UNUSED, GdkRectangle *at)
{
    GtkWidget *room = gtk_overlay_get_child(overlay);
    *at = (GdkRectangle){0, 0, gtk_widget_get_width(room), gtk_widget_get_height(room)};
    return TRUE;
}

/* A card has other words with each step. The window would ask each of its labels, wrapped, how wide and how high it would
   like to be, though the pane has the width that it was given and scrolls: the room that it asks is empty instead. */
static GtkWidget *without_wishes(GtkWidget *scroller)
{
    GtkWidget *overlay = gtk_overlay_new(), *room = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0);
    gtk_widget_set_size_request(room, -1, LEAST_HEIGHT);
    gtk_overlay_set_child(GTK_OVERLAY(overlay), room);
    g_signal_connect(overlay, "get-child-position", G_CALLBACK(place_scroller_cb), NULL);
    gtk_overlay_add_overlay(GTK_OVERLAY(overlay), scroller);
    gtk_widget_set_vexpand(overlay, TRUE);
    return overlay;
}

GtkWidget *psc_inspector_new(PscWorkspace *ws)
{
    PscInspector *self = g_object_new(PSC_TYPE_INSPECTOR, NULL);
    self->ws = g_object_ref(ws);
    self->box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 2);
    gtk_widget_add_css_class(self->box, "inspector-box");
    gtk_box_append(GTK_BOX(self), choice_new(self));
    self->scroller = gtk_scrolled_window_new();
    gtk_scrolled_window_set_policy(GTK_SCROLLED_WINDOW(self->scroller), GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC);
    gtk_scrolled_window_set_child(GTK_SCROLLED_WINDOW(self->scroller), self->box);
    gtk_widget_set_vexpand(self->scroller, TRUE);
    psc_ui_name(self->scroller, "Inspector");
    self->tenants_box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 3);
    self->tenants_title = gtk_label_new(NULL);
    gtk_label_set_xalign(GTK_LABEL(self->tenants_title), 0);
    gtk_widget_add_css_class(self->tenants_title, "section");
    gtk_widget_set_margin_start(self->tenants_title, 12);
    gtk_widget_set_margin_top(self->tenants_title, 6);
    self->tenants = psc_table_new(ws, &psc_tenants_table);
    gtk_box_append(GTK_BOX(self->tenants_box), self->tenants_title);
    gtk_box_append(GTK_BOX(self->tenants_box), self->tenants);
    gtk_widget_set_visible(self->tenants_box, FALSE);
    gtk_box_append(GTK_BOX(self), without_wishes(self->scroller));
    gtk_box_append(GTK_BOX(self), self->tenants_box);
    g_signal_connect_object(ws, "changed", G_CALLBACK(changed_cb), self, G_CONNECT_SWAPPED);
    return GTK_WIDGET(self);
}
