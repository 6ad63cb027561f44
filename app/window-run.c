/* Run: the window that asks, the worker that runs, and what becomes of the result. */
#include "app/window-private.h"

#include "app/run-job.h"
#include "backends/registry.h"
#include "traces/file-out.h"
#include "traces/traces.h"

/* ---- the door ------------------------------------------------------------------------------------------------- */

static guint backend_n(gpointer ctx G_GNUC_UNUSED)
{
    size_t n;
    psc_backend_entries(&n);
    return (guint)n;
}

static const char *backend(gpointer ctx G_GNUC_UNUSED, guint i, const char **ret_unavailable)
{
    size_t n;
    const struct psc_backend_entry *entries = psc_backend_entries(&n);
    static const char *const not_here = "cannot execute here";
    *ret_unavailable = entries[i].unavailable ? entries[i].unavailable : entries[i].api ? NULL : not_here;
    return entries[i].name;
}

struct choosing {
    void (*chosen)(const char *path, gpointer data);
    gpointer data;
};

static void chosen_cb(GtkNativeDialog *dialog, int response, struct choosing *choosing)
{
    GFile *file = response == GTK_RESPONSE_ACCEPT ? gtk_file_chooser_get_file(GTK_FILE_CHOOSER(dialog)) : NULL;
    char *path = file ? g_file_get_path(file) : NULL;
    if (path)
        choosing->chosen(path, choosing->data);
    g_free(path);
    g_clear_object(&file);
    g_free(choosing);
    g_object_unref(dialog);
}

static void choose_file(gpointer ctx G_GNUC_UNUSED, GtkWindow *parent, void (*chosen)(const char *path, gpointer data), gpointer data)
{
    GtkFileChooserNative *dialog =
        gtk_file_chooser_native_new("Choose a model", parent, GTK_FILE_CHOOSER_ACTION_OPEN, "_Choose", "_Cancel");
    GtkFileFilter *models = gtk_file_filter_new(), *all = gtk_file_filter_new();
    gtk_file_filter_set_name(models, "Models (*.gguf)");
    gtk_file_filter_add_pattern(models, "*.gguf");
    gtk_file_filter_set_name(all, "All files");
    gtk_file_filter_add_pattern(all, "*");
    gtk_file_chooser_add_filter(GTK_FILE_CHOOSER(dialog), models);
    gtk_file_chooser_add_filter(GTK_FILE_CHOOSER(dialog), all);
    g_object_unref(models);
    g_object_unref(all);
    gtk_native_dialog_set_modal(GTK_NATIVE_DIALOG(dialog), TRUE);
    struct choosing *choosing = g_new0(struct choosing, 1);
    *choosing = (struct choosing){chosen, data};
    g_signal_connect(dialog, "response", G_CALLBACK(chosen_cb), choosing);
    gtk_native_dialog_show(GTK_NATIVE_DIALOG(dialog));
}

static void tell_cb(const PscRunNews *news, gpointer data)
{
    PscWindow *self = data;
    self->run_watch.news(news, self->run_watch.data);
}

static void done_cb(PscRunResult *result, gpointer data)
{
    PscWindow *self = data;
    PscOpened *opened = result->opened;
    self->run_job = NULL;
    gboolean shown = opened->document && opened->look.study;
    if (shown) {
        psc_banner_clear_error(PSC_BANNER(self->banner));
        psc_banner_show_warning(PSC_BANNER(self->banner), NULL);
        psc_window_stop_play(self);
        psc_workspace_adopt(self->ws, g_steal_pointer(&opened->document), &opened->look, opened->title);
        gtk_widget_grab_focus(psc_window_centre(self));
        if (opened->error)
            psc_banner_show_error(PSC_BANNER(self->banner), "The run ended early; what it recorded until then is open.", opened->error);
        else
            psc_window_set_status(self, result->summary);
    }
    self->run_watch.done(shown ? NULL : opened->error, result->field, result->fill, self->run_watch.data);
    psc_window_update_actions(self);
}

static void start(gpointer ctx, PscRunOrder *order, const PscRunWatch *watch)
{
    PscWindow *self = ctx;
    self->run_watch = *watch;
    self->run_job = psc_run_job_start(order, tell_cb, done_cb, self);
    psc_window_update_actions(self);
}

static void cancel(gpointer ctx)
{
    PscWindow *self = ctx;
    if (!self->run_job)
        return;
    if (!psc_run_job_is_opening(self->run_job)) {
        psc_run_job_cancel(self->run_job);
        return;
    }
    psc_run_job_abandon(g_steal_pointer(&self->run_job));
    self->run_watch.done("Cancelled while the model was being opened.", PSC_RUN_FIELD_NONE, 0, self->run_watch.data);
}

void psc_window_ask_run(PscWindow *self)
{
    if (!self->run_window) {
        PscRunDoor door = {self, backend_n, backend, choose_file, start, cancel};
        self->run_window = psc_run_window_new(GTK_WINDOW(self), self->ws, &door);
    }
    psc_run_window_ask(self->run_window);
}

void psc_window_stop_run(PscWindow *self)
{
    if (self->run_job)
        psc_run_job_abandon(g_steal_pointer(&self->run_job));
    if (self->run_window)
        gtk_window_destroy(GTK_WINDOW(g_steal_pointer(&self->run_window)));
}

/* ---- saving a trace --------------------------------------------------------------------------------------------- */

struct saving {
    PscDocument *document; /* a reference: another one may be opened meanwhile */
    GWeakRef window;
    char *path;
    struct psc_error error;
    enum psc_status status;
};

static void free_saving(gpointer data)
{
    struct saving *saving = data;
    g_weak_ref_clear(&saving->window);
    psc_document_unref(saving->document);
    g_free(saving->path);
    g_free(saving);
}

static bool write_cb(void *ctx, const char *bytes, size_t n)
{
    return psc_file_out_add(ctx, bytes, n, NULL) == PSC_OK;
}

static void save(GTask *task, gpointer source G_GNUC_UNUSED, gpointer data, GCancellable *cancellable G_GNUC_UNUSED)
{
    struct saving *saving = data;
    struct psc_file_out out;
    saving->status = psc_file_out_begin(&out, saving->path, &saving->error);
    if (saving->status == PSC_OK) {
        saving->status = psc_trace_write(saving->document->doc, NULL, NULL, false, write_cb, &out, &saving->error);
        if (saving->status == PSC_OK)
            saving->status = psc_file_out_commit(&out, &saving->error);
        else
            psc_file_out_abort(&out);
    }
    g_task_return_boolean(task, TRUE);
}

static void saved_cb(GObject *source G_GNUC_UNUSED, GAsyncResult *result, gpointer data G_GNUC_UNUSED)
{
    struct saving *saving = g_task_get_task_data(G_TASK(result));
    PscWindow *self = g_weak_ref_get(&saving->window);
    if (!self)
        return;
    if (saving->status == PSC_OK) {
        char *text = g_strdup_printf("Saved as %s", saving->path);
        psc_window_set_status(self, text);
        g_free(text);
    } else {
        char *what = g_strdup_printf("%s could not be saved.", saving->path);
        psc_banner_show_error(PSC_BANNER(self->banner), what, saving->error.text);
        g_free(what);
    }
    g_object_unref(self);
}

static void save_as_cb(GtkNativeDialog *dialog, int response, PscWindow *self)
{
    GFile *file = response == GTK_RESPONSE_ACCEPT ? gtk_file_chooser_get_file(GTK_FILE_CHOOSER(dialog)) : NULL;
    char *path = file ? g_file_get_path(file) : NULL;
    if (path && psc_workspace_document(self->ws)) {
        struct saving *saving = g_new0(struct saving, 1);
        saving->document = psc_document_ref(psc_workspace_document(self->ws));
        saving->path = g_steal_pointer(&path);
        g_weak_ref_init(&saving->window, self);
        GTask *task = g_task_new(NULL, NULL, saved_cb, NULL);
        g_task_set_task_data(task, saving, free_saving);
        g_task_run_in_thread(task, save);
        g_object_unref(task);
    }
    g_free(path);
    g_clear_object(&file);
    g_object_unref(self);
    g_object_unref(dialog);
}

void psc_window_save_trace(PscWindow *self)
{
    GtkFileChooserNative *dialog =
        gtk_file_chooser_native_new("Save as a trace", GTK_WINDOW(self), GTK_FILE_CHOOSER_ACTION_SAVE, "_Save", "_Cancel");
    const char *title = psc_workspace_title(self->ws);
    char *name = g_str_has_suffix(title, ".json") ? g_strdup(title) : g_strconcat(title, ".json", NULL);
    gtk_file_chooser_set_current_name(GTK_FILE_CHOOSER(dialog), g_strdelimit(name, "/ ", '-'));
    gtk_native_dialog_set_modal(GTK_NATIVE_DIALOG(dialog), TRUE);
    g_signal_connect(dialog, "response", G_CALLBACK(save_as_cb), g_object_ref(self));
    gtk_native_dialog_show(GTK_NATIVE_DIALOG(dialog));
    g_free(name);
}
