#include "ui/list-pane.h"

#include "ui/access.h"
#include "ui/tables.h"

enum { OPS, STEPS, BUFFERS, TABLES }; /* steps instead of ops where a story has no graph */
static const PscTableKind *const kinds[TABLES] = {&psc_ops_table, &psc_steps_table, &psc_buffers_table};
static const char *const words[TABLES] = {"Ops", "Steps", "Buffers"};

struct _PscListPane {
    GtkBox parent_instance;
    PscWorkspace *ws;
    GtkWidget *stack, *search, *shown;
    GtkWidget *tables[TABLES];
    GtkStackPage *pages[TABLES];
};

G_DEFINE_FINAL_TYPE(PscListPane, psc_list_pane, GTK_TYPE_BOX)

/* "Ops 440", and how many of them the filter lets through. */
static void update_counts(PscListPane *self)
{
    for (int i = 0; i < TABLES; i++) {
        char *title = g_strdup_printf("%s %u", words[i], kinds[i]->count(self->ws));
        gtk_stack_page_set_title(self->pages[i], title);
        g_free(title);
    }
    GtkWidget *visible = gtk_stack_get_visible_child(GTK_STACK(self->stack));
    int at = visible == self->tables[STEPS] ? STEPS : visible == self->tables[BUFFERS] ? BUFFERS : OPS;
    guint shown = psc_table_n(PSC_TABLE(self->tables[at])), all = kinds[at]->count(self->ws);
    gboolean filtered = *gtk_editable_get_text(GTK_EDITABLE(self->search)) != '\0';
    char *text = g_strdup_printf(shown ? "%u of %u shown" : "Nothing matches. Words must match, -words must not; "
                                                           "layer:6, op:matmul, buffer:b9, is:dead.",
                                 shown, all);
    gtk_label_set_text(GTK_LABEL(self->shown), text);
    gtk_widget_set_visible(self->shown, filtered && all > 0);
    g_free(text);
}

static void filter_cb(PscListPane *self)
{
    const char *text = gtk_editable_get_text(GTK_EDITABLE(self->search));
    for (int i = 0; i < TABLES; i++)
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
    gtk_widget_child_focus(self->stack, GTK_DIR_TAB_FORWARD);
}

static void show_ops_or_steps(PscListPane *self)
{
    gboolean steps = psc_steps_table.count(self->ws) > 0;
    GtkWidget *visible = gtk_stack_get_visible_child(GTK_STACK(self->stack));
    gtk_stack_page_set_visible(self->pages[OPS], !steps);
    gtk_stack_page_set_visible(self->pages[STEPS], steps);
    if (visible == self->tables[steps ? OPS : STEPS])
        gtk_stack_set_visible_child(GTK_STACK(self->stack), self->tables[steps ? STEPS : OPS]);
}

static void changed_cb(PscListPane *self, guint what)
{
    if (what & (PSC_CHANGED_DOCUMENT | PSC_CHANGED_STUDY))
        show_ops_or_steps(self);
    if (what & PSC_CHANGED_CURSOR)
        psc_table_show_selected(PSC_TABLE(self->tables[STEPS]));
    for (int i = 0; i < TABLES; i++) {
        PscTable *table = PSC_TABLE(self->tables[i]);
        if (what & (PSC_CHANGED_DOCUMENT | PSC_CHANGED_STUDY))
            psc_table_reload(table);
        else if (what & PSC_CHANGED_STEP)
            psc_table_refresh(table);
        if (what & PSC_CHANGED_SELECTION)
            psc_table_show_selected(table);
    }
    if (what & (PSC_CHANGED_DOCUMENT | PSC_CHANGED_STUDY))
        update_counts(self);
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
    for (int i = 0; i < TABLES; i++) {
        self->tables[i] = psc_table_new(ws, kinds[i]);
        self->pages[i] = gtk_stack_add_titled(GTK_STACK(self->stack), self->tables[i], words[i], words[i]);
    }
    gtk_stack_page_set_visible(self->pages[STEPS], FALSE);
    gtk_widget_set_vexpand(self->stack, TRUE);
    GtkWidget *switcher = gtk_stack_switcher_new();
    gtk_stack_switcher_set_stack(GTK_STACK_SWITCHER(switcher), GTK_STACK(self->stack));
    gtk_widget_add_css_class(switcher, "tabs");
    gtk_widget_set_halign(switcher, GTK_ALIGN_START);
    self->search = gtk_search_entry_new();
    g_object_set(self->search, "placeholder-text", "Filter: ffn +layer:6 \xe2\x88\x92rope", NULL);
    gtk_widget_set_margin_start(self->search, 6);
    gtk_widget_set_margin_end(self->search, 6);
    gtk_widget_set_margin_bottom(self->search, 6);
    psc_ui_name(self->search, "Filter of ops and buffers");
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
