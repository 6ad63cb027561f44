#include "app/export.h"

#include "core/debug/explain.h"
#include "traces/traces.h"
#include "ui/draw/panel.h"
#include "ui/draw/render.h"
#include "ui/navigate.h"

#define PICTURE_WIDTH 1600
#define PICTURE_HEIGHT 900
#define PANEL_WIDTH 1200

/* The inside as it is at the cursor, all of it. */
static enum psc_status write_panel(PscWindow *self, const struct psc_render_words *words, enum psc_render_format format, const char *path,
                                   struct psc_error *reterr)
{
    struct psc_panel panel = {0};
    struct psc_type *type = psc_type_new();
    enum psc_status status = type && psc_panel_pane_build(PSC_PANEL_PANE(self->panel), &panel, PANEL_WIDTH, type)
                                 ? psc_render_panel(&panel, type, words, format, path, reterr)
                                 : psc_fail_nomem(reterr);
    psc_panel_release(&panel);
    psc_type_free(type);
    return status;
}

static enum psc_status write_picture(PscWindow *self, const char *path, struct psc_error *reterr)
{
    PscStudy *study = psc_workspace_study(self->ws);
    PscPicture *picture = psc_workspace_picture(self->ws);
    enum psc_render_format format;
    struct psc_view view;
    uint32_t clobbers, overwritten;
    if (!picture)
        return psc_fail(reterr, PSC_ERR_USAGE, "this phase has neither a graph nor events: there is nothing to draw");
    if (!psc_render_format_of(path, &format))
        return psc_fail(reterr, PSC_ERR_USAGE, "a picture's name ends in .png, .svg or .pdf");
    gboolean in_panel = psc_workspace_y_mode(self->ws) == PSC_VIEW_PANEL && psc_panel_pane_has(self->ws);
    psc_timeline_get_view(PSC_TIMELINE(self->timeline), &view);
    view.width = PICTURE_WIDTH;
    view.height_px = PICTURE_HEIGHT;
    view.y = 0;
    view.scale = 1;
    view.hovered = PSC_NONE;
    view.step_aside = true;
    psc_navigate_problem_n(self->ws, &clobbers, &overwritten);
    char *verdict = clobbers      ? g_strdup_printf("%u clobber%s", clobbers, clobbers == 1 ? "" : "s")
                    : overwritten ? g_strdup_printf("%u of %u records overwritten", overwritten,
                                                    psc_workspace_records(self->ws)->check.n)
                                  : g_strdup("no problems");
    struct psc_text status = {0};
    psc_explain_position(&status, study->analysis, psc_workspace_cursor(self->ws));
    struct psc_render_words words = {.title = psc_workspace_title(self->ws), .subtitle = study->analysis->origin,
                                     .verdict = verdict, .verdict_alarm = clobbers > 0,
                                     .verdict_warns = !clobbers && overwritten > 0, .status = psc_text_str(&status)};
    enum psc_status result = in_panel ? write_panel(self, &words, format, path, reterr) : psc_render(picture->scene, &view, &words, format, path, reterr);
    psc_text_release(&status);
    g_free(verdict);
    return result;
}

static enum psc_status write_plan(PscWindow *self, const char *path, struct psc_error *reterr)
{
    PscStudy *study = psc_workspace_study(self->ws);
    const struct psc_plan *plan = study->analysis->plan;
    struct psc_text text = {0};
    if (!plan || !study->graph)
        return psc_fail(reterr, PSC_ERR_USAGE, "this phase has no plan: its events came with the file");
    enum psc_status status = g_str_has_suffix(path, ".csv") ? psc_plan_write_csv(study->graph, plan, &text, reterr)
                                                            : psc_plan_write(study->graph, plan, true, &text, reterr);
    if (status == PSC_OK)
        status = psc_file_write(path, psc_text_str(&text), text.n, reterr);
    psc_text_release(&text);
    return status;
}

typedef enum psc_status (*Writer)(PscWindow *self, const char *path, struct psc_error *reterr);

struct ask {
    PscWindow *window;
    Writer write;
};

static void chosen_cb(GtkNativeDialog *dialog, int response, struct ask *ask)
{
    GFile *file = response == GTK_RESPONSE_ACCEPT ? gtk_file_chooser_get_file(GTK_FILE_CHOOSER(dialog)) : NULL;
    char *path = file ? g_file_get_path(file) : NULL;
    struct psc_error error = {0};
    if (path && psc_workspace_study(ask->window->ws) && ask->write(ask->window, path, &error) != PSC_OK) {
        char *what = g_strdup_printf("%s could not be saved.", path);
        psc_banner_show_error(PSC_BANNER(ask->window->banner), what, error.text);
        g_free(what);
    }
    g_free(path);
    g_clear_object(&file);
    g_object_unref(ask->window);
    g_free(ask);
    g_object_unref(dialog);
}

static void ask_for_name(PscWindow *self, const char *title, const char *ending, Writer write)
{
    GtkFileChooserNative *dialog =
        gtk_file_chooser_native_new(title, GTK_WINDOW(self), GTK_FILE_CHOOSER_ACTION_SAVE, "_Save", "_Cancel");
    const char *name = psc_workspace_title(self->ws);
    char *stem = g_str_has_suffix(name, ".json") ? g_strndup(name, strlen(name) - strlen(".json")) : g_strdup(name);
    char *proposed = g_strconcat(stem, ending, NULL);
    gtk_file_chooser_set_current_name(GTK_FILE_CHOOSER(dialog), proposed);
    gtk_native_dialog_set_modal(GTK_NATIVE_DIALOG(dialog), TRUE);
    struct ask *ask = g_new0(struct ask, 1);
    *ask = (struct ask){g_object_ref(self), write};
    g_signal_connect(dialog, "response", G_CALLBACK(chosen_cb), ask);
    gtk_native_dialog_show(GTK_NATIVE_DIALOG(dialog));
    g_free(proposed);
    g_free(stem);
}

void psc_window_export_picture(PscWindow *self)
{
    ask_for_name(self, "Save a picture (.png, .svg or .pdf)", ".png", write_picture);
}

void psc_window_export_plan(PscWindow *self)
{
    ask_for_name(self, "Save the plan (.json) or a table of it (.csv)", "-plan.json", write_plan);
}
