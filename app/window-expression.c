/* An expression is typed, read as it stands, and opened: the text goes into a file of its own, which the window then opens as
 * any other. */
#include "app/window-private.h"

#include "core/candela/script.h"
#include "ui/access.h"

#include <glib/gstdio.h>
#include <string.h>

typedef struct {
    PscWindow *window; /* the parent; the dialog goes when it goes */
    GtkWidget *dialog, *text, *sentence;
} Typing;

static const char start[] = "# lazy hardened\n(a + b) * 2\n";
static const char hint[] =
    "The last line is the result; names stand for earlier lines, unknown ones for four numbers. There are + - * / ( ), [1, 2], "
    "arange, ones, zeros, slot, view, slice, transpose, broadcast, as_contiguous, cache, matmul, sum and noop. The first line may name "
    "a generation (hardened, 0.1, 0.2, arena), faults (b1 to b22, cl1 to cl4) and level.";

static char *text_path(void)
{
    return g_build_filename(g_get_user_cache_dir(), "planscope", "expression.lazy", NULL);
}

/* What is open, when that is an expression, else what was typed last. */
static char *text_to_begin_with(PscWindow *self)
{
    PscStudy *study = psc_workspace_study(self->ws);
    char *path = study && study->phase.expression && study->document->doc->path ? g_strdup(study->document->doc->path) : text_path();
    char *text = NULL;
    if (!g_file_get_contents(path, &text, NULL, NULL) || !g_utf8_validate(text, -1, NULL)) {
        g_free(text);
        text = g_strdup(start);
    }
    g_free(path);
    return text;
}

static char *typed(Typing *typing)
{
    GtkTextIter from, to;
    GtkTextBuffer *buffer = gtk_text_view_get_buffer(GTK_TEXT_VIEW(typing->text));
    gtk_text_buffer_get_bounds(buffer, &from, &to);
    return gtk_text_buffer_get_text(buffer, &from, &to, FALSE);
}

/* NULL when the text can be read; else the sentence, with the place. */
static char *mistake(const char *text)
{
    struct psc_lazy_script script;
    struct psc_error error = {.byte = UINT64_MAX};
    char *sentence = NULL;
    if (psc_lazy_script_read(&script, NULL, text, strlen(text), &error))
        sentence = error.line && error.column ? g_strdup_printf("Line %u, column %u: %s", (guint)error.line, (guint)error.column, error.text)
                   : error.line               ? g_strdup_printf("Line %u: %s", (guint)error.line, error.text)
                                              : g_strdup(error.text);
    psc_lazy_script_release(&script);
    return sentence;
}

static void show(Typing *typing)
{
    char *text = typed(typing), *path = text_path(), *folder = g_path_get_dirname(path), *sentence = mistake(text);
    GError *error = NULL;
    if (!sentence && (g_mkdir_with_parents(folder, 0700) || !g_file_set_contents(path, text, -1, &error)))
        sentence = g_strdup(error ? error->message : "the text could not be kept");
    gtk_label_set_text(GTK_LABEL(typing->sentence), sentence ? sentence : "");
    gtk_widget_set_visible(typing->sentence, sentence != NULL);
    if (!sentence) {
        psc_window_open_path(typing->window, path);
        gtk_window_close(GTK_WINDOW(typing->dialog));
    }
    g_clear_error(&error);
    g_free(sentence);
    g_free(folder);
    g_free(path);
    g_free(text);
}

static void show_cb(GtkButton *button G_GNUC_UNUSED, Typing *typing)
{
    show(typing);
}

static gboolean key_cb(GtkEventControllerKey *controller G_GNUC_UNUSED, guint key, guint code G_GNUC_UNUSED, GdkModifierType state,
                       Typing *typing)
{
    if (key == GDK_KEY_Escape)
        gtk_window_close(GTK_WINDOW(typing->dialog));
    else if ((key == GDK_KEY_Return || key == GDK_KEY_KP_Enter) && state & GDK_CONTROL_MASK)
        show(typing);
    else
        return FALSE;
    return TRUE;
}

static GtkWidget *text_new(Typing *typing, const char *begin)
{
    GtkWidget *scrolled = gtk_scrolled_window_new();
    typing->text = gtk_text_view_new();
    gtk_text_view_set_monospace(GTK_TEXT_VIEW(typing->text), TRUE);
    gtk_text_view_set_accepts_tab(GTK_TEXT_VIEW(typing->text), FALSE);
    gtk_text_view_set_left_margin(GTK_TEXT_VIEW(typing->text), 8);
    gtk_text_view_set_top_margin(GTK_TEXT_VIEW(typing->text), 8);
    gtk_text_buffer_set_text(gtk_text_view_get_buffer(GTK_TEXT_VIEW(typing->text)), begin, -1);
    psc_ui_name(typing->text, "Expression");
    gtk_scrolled_window_set_child(GTK_SCROLLED_WINDOW(scrolled), typing->text);
    gtk_scrolled_window_set_has_frame(GTK_SCROLLED_WINDOW(scrolled), TRUE);
    gtk_widget_set_vexpand(scrolled, TRUE);
    return scrolled;
}

static GtkWidget *words_new(const char *words, const char *class)
{
    GtkWidget *label = gtk_label_new(words);
    gtk_label_set_wrap(GTK_LABEL(label), TRUE);
    gtk_label_set_xalign(GTK_LABEL(label), 0);
    gtk_widget_add_css_class(label, class);
    return label;
}

void psc_window_type_expression(PscWindow *self)
{
    Typing *typing = g_new0(Typing, 1);
    GtkWidget *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 10), *button = gtk_button_new_with_label("Plan it");
    GtkEventController *keys = gtk_event_controller_key_new();
    char *begin = text_to_begin_with(self);
    typing->window = self;
    typing->dialog = gtk_window_new();
    g_object_set_data_full(G_OBJECT(typing->dialog), "typing", typing, g_free);
    gtk_window_set_title(GTK_WINDOW(typing->dialog), "Type an expression");
    gtk_window_set_transient_for(GTK_WINDOW(typing->dialog), GTK_WINDOW(self));
    gtk_window_set_modal(GTK_WINDOW(typing->dialog), TRUE);
    gtk_window_set_destroy_with_parent(GTK_WINDOW(typing->dialog), TRUE);
    gtk_window_set_default_size(GTK_WINDOW(typing->dialog), 560, 380);
    gtk_widget_set_margin_top(box, 12);
    gtk_widget_set_margin_bottom(box, 12);
    gtk_widget_set_margin_start(box, 12);
    gtk_widget_set_margin_end(box, 12);
    gtk_box_append(GTK_BOX(box), text_new(typing, begin));
    typing->sentence = words_new("", "clobber");
    gtk_widget_set_visible(typing->sentence, FALSE);
    gtk_box_append(GTK_BOX(box), typing->sentence);
    gtk_box_append(GTK_BOX(box), words_new(hint, "dim"));
    gtk_widget_set_halign(button, GTK_ALIGN_END);
    gtk_widget_add_css_class(button, "suggested-action");
    gtk_widget_set_tooltip_text(button, "Control and Return");
    g_signal_connect(button, "clicked", G_CALLBACK(show_cb), typing);
    gtk_box_append(GTK_BOX(box), button);
    gtk_event_controller_set_propagation_phase(keys, GTK_PHASE_CAPTURE);
    g_signal_connect(keys, "key-pressed", G_CALLBACK(key_cb), typing);
    gtk_widget_add_controller(typing->dialog, keys);
    gtk_window_set_child(GTK_WINDOW(typing->dialog), box);
    gtk_window_present(GTK_WINDOW(typing->dialog));
    gtk_widget_grab_focus(typing->text);
    g_free(begin);
}
