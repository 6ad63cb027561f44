#include "ui/list-pane.h"

#include "ui/access.h"
#include "ui/tables.h"
#include "ui/workspace-kv.h"

/* Positions instead of ops where a story has no graph; passes (what a trace calls its steps) where there are any. */
enum { OPS, POSITIONS, BUFFERS, PASSES, LISTS };
static const struct {
    const char *title;
    const PscTableKind *kind;
    guint reload; /* changes after which the rows are others */
    guint follow; /* changes after which another row is the selected one */
} lists[LISTS] = {
    [OPS] = {"Ops", &psc_ops_table, PSC_CHANGED_DOCUMENT | PSC_CHANGED_STUDY, PSC_CHANGED_SELECTION},
    [POSITIONS] = {"Steps", &psc_steps_table, PSC_CHANGED_DOCUMENT | PSC_CHANGED_STUDY,
                   PSC_CHANGED_SELECTION | PSC_CHANGED_CURSOR},
    [BUFFERS] = {"Buffers", &psc_buffers_table, PSC_CHANGED_DOCUMENT | PSC_CHANGED_STUDY, PSC_CHANGED_SELECTION},
    [PASSES] = {"Steps", &psc_passes_table, PSC_CHANGED_DOCUMENT | PSC_CHANGED_STEPS,
                PSC_CHANGED_DOCUMENT | PSC_CHANGED_STUDY | PSC_CHANGED_STEP},
};

struct _PscListPane {
    GtkBox parent_instance;
    PscWorkspace *ws;
    GtkWidget *stack, *search, *shown;
    GtkWidget *tables[LISTS];
    GtkStackPage *pages[LISTS];
    gboolean kv;     /* the view was KV when it was last looked at */
    uint32_t passes; /* known of them when their table was last made */
};

G_DEFINE_FINAL_TYPE(PscListPane, psc_list_pane, GTK_TYPE_BOX)

static int visible_list(PscListPane *self)
{
    GtkWidget *visible = gtk_stack_get_visible_child(GTK_STACK(self->stack));
    for (int i = 0; i < LISTS; i++)
        if (visible == self->tables[i])
            return i;
    return OPS;
}

static void show_list(PscListPane *self, int list)
{
    gtk_stack_set_visible_child(GTK_STACK(self->stack), self->tables[list]);
}

/* "Ops 440", and how many of them the filter lets through. */
static void update_counts(PscListPane *self)
{
    for (int i = 0; i < LISTS; i++) {
        char *title = g_strdup_printf("%s %u", lists[i].title, lists[i].kind->count(self->ws));
        gtk_stack_page_set_title(self->pages[i], title);
        g_free(title);
    }
    int at = visible_list(self);
    guint shown = psc_table_n(PSC_TABLE(self->tables[at])), all = lists[at].kind->count(self->ws);
    gboolean filtered = *gtk_editable_get_text(GTK_EDITABLE(self->search)) != '\0';
    char *text = shown          ? g_strdup_printf("%u of %u shown", shown, all)
                 : at == PASSES ? g_strdup("Nothing matches. Words must match the step or its token, -words must not.")
                                : g_strdup("Nothing matches. Words must match, -words must not; layer:6, op:matmul, "
                                           "buffer:b9, is:dead.");
    gtk_label_set_text(GTK_LABEL(self->shown), text);
    gtk_widget_set_visible(self->shown, filtered && all > 0);
    g_free(text);
    if (at == PASSES && all > 0)
        psc_workspace_need_kv(self->ws);
}

static void filter_cb(PscListPane *self)
{
    const char *text = gtk_editable_get_text(GTK_EDITABLE(self->search));
    for (int i = 0; i < LISTS; i++)
        psc_table_set_filter(PSC_TABLE(self->tables[i]), text);
    update_counts(self);
}

static void stop_cb(PscListPane *self)
{
    if (*gtk_editable_get_text(GTK_EDITABLE(self->search)))
        gtk_editable_set_text(GTK_EDITABLE(self->search), "");
    else
        gtk_widget_child_focus(self->stack, GTK_DIR_TAB_FORWARD);
}

static void enter_cb(PscListPane *self)
{
    psc_table_enter(PSC_TABLE(self->tables[visible_list(self)]));
}

static void show_what_there_is(PscListPane *self)
{
    gboolean positions = psc_steps_table.count(self->ws) > 0, passes = psc_passes_table.count(self->ws) > 0;
    int at = visible_list(self);
    gtk_stack_page_set_visible(self->pages[OPS], !positions);
    gtk_stack_page_set_visible(self->pages[POSITIONS], positions);
    gtk_stack_page_set_visible(self->pages[PASSES], passes);
    if (at == (positions ? OPS : POSITIONS) || (at == PASSES && !passes))
        show_list(self, positions ? POSITIONS : OPS);
}

static uint32_t known_passes(PscListPane *self)
{
    const struct psc_kv_history *h = psc_workspace_kv_history(self->ws);
    return h ? h->step_n : 0;
}

/* In the KV view the steps of the run are what a person walks through. */
static void follow_view(PscListPane *self)
{
    gboolean kv = psc_workspace_y_mode(self->ws) == PSC_VIEW_KV;
    if (kv == self->kv)
        return;
    self->kv = kv;
    if (kv && psc_passes_table.count(self->ws))
        show_list(self, PASSES);
    else if (!kv && visible_list(self) == PASSES)
        show_list(self, psc_steps_table.count(self->ws) ? POSITIONS : OPS);
}

static void changed_cb(PscListPane *self, guint what)
{
    if (what & (PSC_CHANGED_DOCUMENT | PSC_CHANGED_STUDY | PSC_CHANGED_STEPS))
        show_what_there_is(self);
    for (int i = 0; i < LISTS; i++) {
        PscTable *table = PSC_TABLE(self->tables[i]);
        gboolean more = i == PASSES && what & PSC_CHANGED_KV && self->passes != known_passes(self);
        if (what & lists[i].reload)
            psc_table_reload(table);
        else if (what & PSC_CHANGED_STEP || more)
            psc_table_refresh(table);
        if (what & lists[i].follow)
            psc_table_show_selected(table);
    }
    self->passes = known_passes(self);
    if (what & (PSC_CHANGED_DOCUMENT | PSC_CHANGED_STUDY | PSC_CHANGED_STEPS))
        update_counts(self);
    if (what & (PSC_CHANGED_VIEW | PSC_CHANGED_DOCUMENT))
        follow_view(self);
}

void psc_list_pane_focus_filter(PscListPane *self)
{
    gtk_widget_grab_focus(self->search);
    gtk_editable_select_region(GTK_EDITABLE(self->search), 0, -1);
}

static void psc_list_pane_dispose(GObject *object)
{
    g_clear_object(&PSC_LIST_PANE(object)->ws);
    G_OBJECT_CLASS(psc_list_pane_parent_class)->dispose(object);
}

static void psc_list_pane_class_init(PscListPaneClass *class)
{
    G_OBJECT_CLASS(class)->dispose = psc_list_pane_dispose;
}

static void psc_list_pane_init(PscListPane *self)
{
    gtk_orientable_set_orientation(GTK_ORIENTABLE(self), GTK_ORIENTATION_VERTICAL);
    gtk_widget_add_css_class(GTK_WIDGET(self), "pane");
}

GtkWidget *psc_list_pane_new(PscWorkspace *ws)
{
    PscListPane *self = g_object_new(PSC_TYPE_LIST_PANE, NULL);
    self->ws = g_object_ref(ws);
    self->stack = gtk_stack_new();
    static const char *const names[LISTS] = {"ops", "positions", "buffers", "passes"};
    for (int i = 0; i < LISTS; i++) {
        self->tables[i] = psc_table_new(ws, lists[i].kind);
        self->pages[i] = gtk_stack_add_titled(GTK_STACK(self->stack), self->tables[i], names[i], lists[i].title);
    }
    gtk_stack_page_set_visible(self->pages[POSITIONS], FALSE);
    gtk_stack_page_set_visible(self->pages[PASSES], FALSE);
    gtk_widget_set_vexpand(self->stack, TRUE);
    GtkWidget *switcher = gtk_stack_switcher_new();
    gtk_stack_switcher_set_stack(GTK_STACK_SWITCHER(switcher), GTK_STACK(self->stack));
    gtk_widget_add_css_class(switcher, "tabs");
    gtk_box_layout_set_homogeneous(GTK_BOX_LAYOUT(gtk_widget_get_layout_manager(switcher)), FALSE); /* narrower */
    gtk_widget_set_halign(switcher, GTK_ALIGN_START);
    self->search = gtk_search_entry_new();
    g_object_set(self->search, "placeholder-text", "Filter: ffn +layer:6 \xe2\x88\x92rope", NULL);
    gtk_widget_set_margin_start(self->search, 6);
    gtk_widget_set_margin_end(self->search, 6);
    gtk_widget_set_margin_bottom(self->search, 6);
    psc_ui_name(self->search, "Filter of the lists");
    self->shown = gtk_label_new(NULL);
    gtk_label_set_wrap(GTK_LABEL(self->shown), TRUE);
    gtk_label_set_xalign(GTK_LABEL(self->shown), 0);
    gtk_widget_add_css_class(self->shown, "caption");
    gtk_widget_set_margin_start(self->shown, 8);
    gtk_widget_set_margin_bottom(self->shown, 4);
    gtk_widget_set_visible(self->shown, FALSE);
    gtk_box_append(GTK_BOX(self), switcher);
    gtk_box_append(GTK_BOX(self), self->search);
    gtk_box_append(GTK_BOX(self), self->shown);
    gtk_box_append(GTK_BOX(self), self->stack);
    g_signal_connect_swapped(self->search, "search-changed", G_CALLBACK(filter_cb), self);
    g_signal_connect_swapped(self->search, "stop-search", G_CALLBACK(stop_cb), self);
    g_signal_connect_swapped(self->search, "activate", G_CALLBACK(enter_cb), self);
    g_signal_connect_swapped(self->stack, "notify::visible-child", G_CALLBACK(update_counts), self);
    g_signal_connect_object(ws, "changed", G_CALLBACK(changed_cb), self, G_CONNECT_SWAPPED);
    return GTK_WIDGET(self);
}
