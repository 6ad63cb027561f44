#include "ui/empty-page.h"

#include "ui/access.h"

struct _PscEmptyPage {
    GtkWidget parent_instance;
    GtkWidget *scroller, *recent, *examples, *lessons;
};

G_DEFINE_FINAL_TYPE(PscEmptyPage, psc_empty_page, GTK_TYPE_WIDGET)

PscEntry *psc_entry_new(const char *title, const char *about, const char *target)
{
    PscEntry *entry = g_new0(PscEntry, 1);
    entry->title = g_strdup(title);
    entry->about = g_strdup(about);
    entry->target = g_strdup(target);
    return entry;
}

void psc_entry_free(PscEntry *entry)
{
    g_free(entry->title);
    g_free(entry->about);
    g_free(entry->target);
    g_free(entry);
}

static GtkWidget *label_new(const char *text, const char *style)
{
    GtkWidget *label = gtk_label_new(text);
    gtk_label_set_xalign(GTK_LABEL(label), 0);
    gtk_label_set_wrap(GTK_LABEL(label), TRUE);
    if (style)
        gtk_widget_add_css_class(label, style);
    return label;
}

static void fill(GtkWidget *list, GPtrArray *entries, const char *none)
{
    for (GtkWidget *child = gtk_widget_get_first_child(list); child; child = gtk_widget_get_first_child(list))
        gtk_box_remove(GTK_BOX(list), child);
    for (guint i = 0; i < entries->len; i++) {
        const PscEntry *entry = g_ptr_array_index(entries, i);
        GtkWidget *button = gtk_button_new();
        GtkWidget *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 1);
        gtk_box_append(GTK_BOX(box), label_new(entry->title, NULL));
        if (entry->about && *entry->about)
            gtk_box_append(GTK_BOX(box), label_new(entry->about, "dim"));
        gtk_button_set_child(GTK_BUTTON(button), box);
        gtk_widget_add_css_class(button, "flat");
        gtk_widget_add_css_class(button, "entry-row");
        psc_ui_name(button, entry->title);
        gtk_accessible_update_property(GTK_ACCESSIBLE(button), GTK_ACCESSIBLE_PROPERTY_DESCRIPTION,
                                       entry->about ? entry->about : "", -1);
        gtk_actionable_set_action_target(GTK_ACTIONABLE(button), "s", entry->target);
        gtk_actionable_set_action_name(GTK_ACTIONABLE(button), "win.open-path");
        gtk_box_append(GTK_BOX(list), button);
    }
    if (!entries->len) {
        GtkWidget *label = label_new(none, "dim");
        gtk_widget_set_margin_start(label, 12);
        gtk_widget_set_margin_top(label, 8);
        gtk_widget_set_margin_bottom(label, 12);
        gtk_box_append(GTK_BOX(list), label);
    }
}

void psc_empty_page_set_recent(PscEmptyPage *self, GPtrArray *entries)
{
    fill(self->recent, entries, "No file was opened yet.");
}

void psc_empty_page_set_examples(PscEmptyPage *self, GPtrArray *entries)
{
    fill(self->examples, entries, "The samples are not installed.");
}

void psc_empty_page_set_lessons(PscEmptyPage *self, GPtrArray *entries)
{
    fill(self->lessons, entries, "The lessons are not installed.");
}

static GtkWidget *list_card(const char *title, const char *about, GtkWidget **ret_list)
{
    GtkWidget *card = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0);
    gtk_widget_add_css_class(card, "psc-card");
    GtkWidget *head = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0);
    gtk_widget_add_css_class(head, "psc-card-head");
    gtk_box_append(GTK_BOX(head), label_new(title, "strong"));
    gtk_box_append(GTK_BOX(head), label_new(about, "dim"));
    gtk_box_append(GTK_BOX(card), head);
    *ret_list = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0);
    psc_ui_name(*ret_list, title);
    gtk_box_append(GTK_BOX(card), *ret_list);
    return card;
}

static GtkWidget *open_card(void)
{
    GtkWidget *card = gtk_box_new(GTK_ORIENTATION_VERTICAL, 8);
    gtk_widget_add_css_class(card, "psc-card");
    gtk_widget_add_css_class(card, "drop");
    GtkWidget *inner = gtk_box_new(GTK_ORIENTATION_VERTICAL, 8);
    gtk_widget_set_valign(inner, GTK_ALIGN_CENTER);
    gtk_widget_set_halign(inner, GTK_ALIGN_CENTER);
    gtk_widget_set_vexpand(inner, TRUE);
    GtkWidget *image = gtk_image_new_from_icon_name("document-open-symbolic");
    gtk_image_set_pixel_size(GTK_IMAGE(image), 40);
    GtkWidget *title = gtk_label_new("Drop a trace or a graph here");
    gtk_widget_add_css_class(title, "drop-title");
    GtkWidget *button = gtk_button_new_with_label("Open a file\xe2\x80\xa6   Ctrl+O");
    gtk_widget_add_css_class(button, "suggested-action");
    gtk_widget_set_halign(button, GTK_ALIGN_CENTER);
    gtk_actionable_set_action_name(GTK_ACTIONABLE(button), "win.open");
    GtkWidget *formats = gtk_label_new("minfer-trace and minfer-graph JSON, streamed events, scenarios, "
                                       "MiniMalloc CSV, expressions (*.lazy)");
    gtk_label_set_wrap(GTK_LABEL(formats), TRUE);
    gtk_label_set_justify(GTK_LABEL(formats), GTK_JUSTIFY_CENTER);
    gtk_label_set_max_width_chars(GTK_LABEL(formats), 44);
    gtk_widget_add_css_class(formats, "dim");
    gtk_box_append(GTK_BOX(inner), image);
    gtk_box_append(GTK_BOX(inner), title);
    gtk_box_append(GTK_BOX(inner), button);
    gtk_box_append(GTK_BOX(inner), formats);
    GtkWidget *run = gtk_button_new_with_label("Run a model or a graph\xe2\x80\xa6   Ctrl+R");
    gtk_widget_set_halign(run, GTK_ALIGN_CENTER);
    gtk_actionable_set_action_name(GTK_ACTIONABLE(run), "win.run");
    gtk_box_append(GTK_BOX(inner), run);
    gtk_box_append(GTK_BOX(card), inner);
    return card;
}

static void copy_cb(GtkWidget *button, gpointer text)
{
    gdk_clipboard_set_text(gtk_widget_get_clipboard(button), text);
}

static GtkWidget *command(const char *about, const char *text)
{
    GtkWidget *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 3);
    GtkWidget *line = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 6);
    GtkWidget *label = label_new(text, "monospace");
    gtk_label_set_selectable(GTK_LABEL(label), TRUE);
    gtk_widget_set_hexpand(label, TRUE);
    GtkWidget *copy = gtk_button_new_from_icon_name("edit-copy-symbolic");
    gtk_widget_add_css_class(copy, "flat");
    gtk_widget_set_tooltip_text(copy, "Copy");
    char *name = g_strdup_printf("Copy: %s", text);
    psc_ui_name(copy, name);
    g_free(name);
    g_signal_connect(copy, "clicked", G_CALLBACK(copy_cb), (gpointer)text);
    gtk_widget_add_css_class(line, "command");
    gtk_box_append(GTK_BOX(line), label);
    gtk_box_append(GTK_BOX(line), copy);
    gtk_box_append(GTK_BOX(box), label_new(about, "dim"));
    gtk_box_append(GTK_BOX(box), line);
    return box;
}

static GtkWidget *commands(void)
{
    GtkWidget *box = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 14);
    gtk_box_set_homogeneous(GTK_BOX(box), TRUE);
    gtk_box_append(GTK_BOX(box), command("Record a run with minfer", "MINFER_TRACE=trace.json minfer model.gguf \"Hello!\""));
    gtk_box_append(GTK_BOX(box), command("Only its graph: Planscope plans it",
                                         "minfer --dump-graph-json graph.json model.gguf \"Hello!\""));
    gtk_box_append(GTK_BOX(box), command("The same check without a window", "planscope-cli check trace.json"));
    return box;
}

static void psc_empty_page_dispose(GObject *object)
{
    g_clear_pointer(&PSC_EMPTY_PAGE(object)->scroller, gtk_widget_unparent);
    G_OBJECT_CLASS(psc_empty_page_parent_class)->dispose(object);
}

static void psc_empty_page_class_init(PscEmptyPageClass *class)
{
    G_OBJECT_CLASS(class)->dispose = psc_empty_page_dispose;
    gtk_widget_class_set_layout_manager_type(GTK_WIDGET_CLASS(class), GTK_TYPE_BIN_LAYOUT);
}

static void psc_empty_page_init(PscEmptyPage *self)
{
    GtkWidget *page = gtk_box_new(GTK_ORIENTATION_VERTICAL, 14);
    gtk_widget_add_css_class(page, "empty-page");
    GtkWidget *title = gtk_label_new("Planscope");
    gtk_widget_add_css_class(title, "page-title");
    GtkWidget *about = gtk_label_new("See where every tensor of a compute graph lives, step through the run, and catch "
                                     "the write that lands on a value still needed.");
    gtk_label_set_wrap(GTK_LABEL(about), TRUE);
    gtk_widget_add_css_class(about, "dim");
    GtkWidget *grid = gtk_grid_new();
    gtk_grid_set_column_spacing(GTK_GRID(grid), 14);
    gtk_grid_set_row_spacing(GTK_GRID(grid), 14);
    gtk_grid_set_column_homogeneous(GTK_GRID(grid), TRUE);
    gtk_grid_attach(GTK_GRID(grid), open_card(), 0, 0, 1, 1);
    gtk_grid_attach(GTK_GRID(grid), list_card("Recent", "files opened before", &self->recent), 1, 0, 1, 1);
    gtk_grid_attach(GTK_GRID(grid), list_card("Examples", "ready to step through", &self->examples), 0, 1, 1, 1);
    gtk_grid_attach(GTK_GRID(grid), list_card("Lessons", "a question, where to look, and the answer", &self->lessons), 1,
                    1, 1, 1);
    gtk_box_append(GTK_BOX(page), title);
    gtk_box_append(GTK_BOX(page), about);
    gtk_box_append(GTK_BOX(page), grid);
    gtk_box_append(GTK_BOX(page), commands());
    gtk_widget_set_halign(page, GTK_ALIGN_CENTER);
    gtk_widget_set_valign(page, GTK_ALIGN_CENTER);
    self->scroller = gtk_scrolled_window_new();
    gtk_scrolled_window_set_policy(GTK_SCROLLED_WINDOW(self->scroller), GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC);
    gtk_scrolled_window_set_child(GTK_SCROLLED_WINDOW(self->scroller), page);
    gtk_widget_set_parent(self->scroller, GTK_WIDGET(self));
}

GtkWidget *psc_empty_page_new(void)
{
    return g_object_new(PSC_TYPE_EMPTY_PAGE, NULL);
}
