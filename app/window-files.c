#include "app/window-private.h"

#include "app/samples.h"
#include "traces/traces.h"

#define RECENT_SHOWN 6

/* ---- opening -------------------------------------------------------------------------------- */

static void hide_progress(PscWindow *self)
{
    gtk_widget_set_visible(self->progress, FALSE);
    self->opening = NULL;
    psc_window_update_actions(self);
}

static void progress_cb(double part, const char *stage, gpointer data)
{
    PscWindow *self = data;
    char *name = g_path_get_basename(psc_open_path(self->opening));
    char *text = g_strdup_printf("%s %s", stage, name);
    gtk_widget_set_visible(self->progress, TRUE);
    gtk_label_set_text(GTK_LABEL(self->progress_text), text);
    if (part >= 0)
        gtk_progress_bar_set_fraction(GTK_PROGRESS_BAR(self->progress_bar), part);
    else
        gtk_progress_bar_pulse(GTK_PROGRESS_BAR(self->progress_bar));
    g_free(text);
    g_free(name);
}

static void remember(const char *path)
{
    GFile *file = g_file_new_for_path(path);
    char *uri = g_file_get_uri(file);
    GtkRecentData data = {.mime_type = (char *)"application/json", .app_name = (char *)"Planscope",
                          .app_exec = (char *)"planscope %f"};
    gtk_recent_manager_add_full(gtk_recent_manager_get_default(), uri, &data);
    g_free(uri);
    g_object_unref(file);
}

static void done_cb(PscOpened *opened, gpointer data)
{
    PscWindow *self = data;
    hide_progress(self);
    if (opened->error) {
        char *title = g_strdup_printf("%s could not be opened.", opened->title);
        psc_banner_show_error(PSC_BANNER(self->banner), title, opened->error);
        g_free(title);
        return;
    }
    psc_banner_clear_error(PSC_BANNER(self->banner));
    psc_banner_show_warning(PSC_BANNER(self->banner), opened->warning);
    psc_window_stop_play(self);
    int32_t cursor = psc_workspace_cursor(self->ws);
    enum psc_view_mode mode = psc_workspace_y_mode(self->ws);
    psc_workspace_adopt(self->ws, g_steal_pointer(&opened->document), &opened->look, opened->title);
    if (opened->again) { /* one looks on from where one was */
        psc_workspace_set_y_mode(self->ws, mode);
        psc_workspace_step_to(self->ws, MIN(cursor, psc_study_end(psc_workspace_study(self->ws))));
    }
    gtk_widget_grab_focus(psc_window_centre(self));
    remember(opened->path);
}

static void open_path(PscWindow *self, const char *path, const char *lazy_words)
{
    if (self->opening)
        psc_open_abandon(self->opening);
    self->opening = psc_open_start(path, lazy_words, progress_cb, done_cb, self);
    psc_window_update_actions(self);
}

static struct psc_contents contents_of(gpointer data, guint phase, guint step)
{
    return psc_contents_of(data, phase, step);
}

static void free_contents(gpointer data)
{
    psc_contents_close(data);
}

gboolean psc_window_lay_contents(PscWindow *self, const char *path)
{
    PscDocument *document = psc_workspace_document(self->ws);
    struct psc_contents_in *in = NULL;
    struct psc_error error = {0};
    char *name = g_path_get_basename(path);
    if (!document || psc_contents_read(path, &in, NULL)) {
        g_free(name);
        return FALSE;
    }
    if (psc_contents_fit(in, document->doc->model, &error)) {
        char *title = g_strdup_printf("%s is not of this document.", name);
        psc_contents_close(in);
        psc_banner_show_error(PSC_BANNER(self->banner), title, error.text);
        g_free(title);
    } else {
        char *said = g_strdup_printf("%s lies beside the document: problems show which words they change.", name);
        psc_banner_clear_error(PSC_BANNER(self->banner));
        psc_workspace_set_contents(self->ws, &(PscContents){in, free_contents, contents_of});
        psc_window_set_status(self, said);
        g_free(said);
    }
    g_free(name);
    return TRUE;
}

void psc_window_open_path(PscWindow *self, const char *path)
{
    if (!psc_window_lay_contents(self, path))
        open_path(self, path, NULL);
}

void psc_window_plan_expression(PscWindow *self, const char *words)
{
    PscStudy *study = psc_workspace_study(self->ws);
    const char *path = study && study->phase.expression ? study->document->doc->path : NULL;
    char *all = g_strconcat("only ", words, NULL);
    if (path)
        open_path(self, path, all);
    g_free(all);
}

void psc_window_cancel_open(PscWindow *self)
{
    if (!self->opening)
        return;
    psc_open_abandon(self->opening); /* the worker stops when it next looks; nobody waits for it */
    hide_progress(self);
}

void psc_window_open(PscWindow *self, GFile *file)
{
    char *path = g_file_get_path(file);
    if (path) {
        psc_window_open_path(self, path);
    } else {
        char *uri = g_file_get_uri(file);
        psc_banner_show_error(PSC_BANNER(self->banner), "Only local files can be opened.", uri);
        g_free(uri);
    }
    g_free(path);
}

/* ---- the dialog ----------------------------------------------------------------------------- */

static void chosen_cb(GtkNativeDialog *dialog, int response, PscWindow *self)
{
    if (response == GTK_RESPONSE_ACCEPT) {
        GFile *file = gtk_file_chooser_get_file(GTK_FILE_CHOOSER(dialog));
        if (file)
            psc_window_open(self, file);
        g_clear_object(&file);
    }
    g_object_unref(dialog);
}

void psc_window_choose_file(PscWindow *self)
{
    GtkFileChooserNative *dialog = gtk_file_chooser_native_new("Open a trace or a graph", GTK_WINDOW(self),
                                                               GTK_FILE_CHOOSER_ACTION_OPEN, "_Open", "_Cancel");
    GtkFileFilter *json = gtk_file_filter_new(), *all = gtk_file_filter_new();
    gtk_file_filter_set_name(json, "Traces, graphs and expressions (*.json, *.lazy)");
    gtk_file_filter_add_pattern(json, "*.json");
    gtk_file_filter_add_pattern(json, "*.lazy");
    gtk_file_filter_set_name(all, "All files");
    gtk_file_filter_add_pattern(all, "*");
    gtk_file_chooser_add_filter(GTK_FILE_CHOOSER(dialog), json);
    gtk_file_chooser_add_filter(GTK_FILE_CHOOSER(dialog), all);
    g_object_unref(json);
    g_object_unref(all);
    gtk_native_dialog_set_modal(GTK_NATIVE_DIALOG(dialog), TRUE);
    g_signal_connect_object(dialog, "response", G_CALLBACK(chosen_cb), self, 0);
    gtk_native_dialog_show(GTK_NATIVE_DIALOG(dialog));
}

/* ---- dropping -------------------------------------------------------------------------------- */

static gboolean drop_cb(GtkDropTarget *target G_GNUC_UNUSED, const GValue *value, double x G_GNUC_UNUSED,
                        double y G_GNUC_UNUSED, PscWindow *self)
{
    gtk_widget_remove_css_class(GTK_WIDGET(self), "dropping");
    if (!G_VALUE_HOLDS(value, GDK_TYPE_FILE_LIST))
        return FALSE;
    GSList *files = gdk_file_list_get_files(g_value_get_boxed(value));
    for (GSList *file = files; file; file = file->next) {
        PscWindow *window = self;
        if (file != files) { /* further files: a window each */
            window = psc_window_new(PSC_APPLICATION(gtk_window_get_application(GTK_WINDOW(self))));
            gtk_window_present(GTK_WINDOW(window));
        }
        psc_window_open(window, file->data);
    }
    g_slist_free(files);
    return TRUE;
}

static GdkDragAction enter_cb(GtkDropTarget *target G_GNUC_UNUSED, double x G_GNUC_UNUSED, double y G_GNUC_UNUSED,
                              PscWindow *self)
{
    gtk_widget_add_css_class(GTK_WIDGET(self), "dropping");
    return GDK_ACTION_COPY;
}

static void leave_cb(GtkDropTarget *target G_GNUC_UNUSED, PscWindow *self)
{
    gtk_widget_remove_css_class(GTK_WIDGET(self), "dropping");
}

void psc_window_accept_drops(PscWindow *self)
{
    GtkDropTarget *target = gtk_drop_target_new(GDK_TYPE_FILE_LIST, GDK_ACTION_COPY);
    g_signal_connect(target, "drop", G_CALLBACK(drop_cb), self);
    g_signal_connect(target, "enter", G_CALLBACK(enter_cb), self);
    g_signal_connect(target, "leave", G_CALLBACK(leave_cb), self);
    gtk_widget_add_controller(GTK_WIDGET(self), GTK_EVENT_CONTROLLER(target));
}

/* ---- recent files and samples ----------------------------------------------------------------- */

static int newest_first(gconstpointer a, gconstpointer b)
{
    GtkRecentInfo *x = *(GtkRecentInfo *const *)a, *y = *(GtkRecentInfo *const *)b;
    return g_date_time_compare(gtk_recent_info_get_modified(y), gtk_recent_info_get_modified(x));
}

static GPtrArray *recent_entries(void)
{
    GPtrArray *entries = g_ptr_array_new_with_free_func((GDestroyNotify)psc_entry_free);
    GPtrArray *infos = g_ptr_array_new_with_free_func((GDestroyNotify)gtk_recent_info_unref);
    GList *items = gtk_recent_manager_get_items(gtk_recent_manager_get_default());
    for (GList *item = items; item; item = item->next)
        g_ptr_array_add(infos, item->data);
    g_list_free(items);
    g_ptr_array_sort(infos, newest_first);
    for (guint i = 0; i < infos->len && entries->len < RECENT_SHOWN; i++) {
        GtkRecentInfo *info = g_ptr_array_index(infos, i);
        if (!gtk_recent_info_has_application(info, "Planscope") || !gtk_recent_info_is_local(info) ||
            !gtk_recent_info_exists(info))
            continue;
        char *path = g_filename_from_uri(gtk_recent_info_get_uri(info), NULL, NULL);
        char *folder = path ? g_path_get_dirname(path) : NULL;
        if (path)
            g_ptr_array_add(entries, psc_entry_new(gtk_recent_info_get_display_name(info), folder, path));
        g_free(folder);
        g_free(path);
    }
    g_ptr_array_unref(infos);
    return entries;
}

static void fill_menu(GMenu *menu, GPtrArray *entries)
{
    g_menu_remove_all(menu);
    for (guint i = 0; i < entries->len; i++) {
        const PscEntry *entry = g_ptr_array_index(entries, i);
        GMenuItem *item = g_menu_item_new(entry->title, NULL);
        g_menu_item_set_action_and_target(item, "win.open-path", "s", entry->target);
        g_menu_append_item(menu, item);
        g_object_unref(item);
    }
}

void psc_window_fill_recent(PscWindow *self)
{
    GPtrArray *entries = recent_entries();
    psc_empty_page_set_recent(PSC_EMPTY_PAGE(self->empty), entries);
    fill_menu(self->recent_menu, entries);
    g_ptr_array_unref(entries);
}

void psc_window_fill_examples(PscWindow *self, GMenu *examples, GMenu *lessons)
{
    GPtrArray *entries = psc_samples_examples();
    psc_empty_page_set_examples(PSC_EMPTY_PAGE(self->empty), entries);
    fill_menu(examples, entries);
    g_ptr_array_unref(entries);
    entries = psc_samples_lessons();
    psc_empty_page_set_lessons(PSC_EMPTY_PAGE(self->empty), entries);
    fill_menu(lessons, entries);
    g_ptr_array_unref(entries);
}
