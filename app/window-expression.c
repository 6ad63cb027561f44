/* An expression is typed, read as it stands, and opened: the text goes into a file of its own, which the window then opens as
 * any other. */
#include "app/window-private.h"

#include "core/candela/kept.h"
#include "core/candela/script.h"
#include "ui/access.h"
#include "ui/candela-choice.h"

#include <glib/gstdio.h>
#include <string.h>

typedef struct {
    PscWindow *window; /* the parent; the dialog goes when it goes */
    GtkWidget *dialog, *text, *sentence, *choice, *how;
} Typing;

static const char start[] = "# lazy hardened\n(a + b) * 2\n";
static const char hint[] =
    "The last line is the result; names stand for earlier lines, unknown ones for four numbers. There are + - * / ( ), [1, 2], "
    "arange, ones, zeros, slot, view, slice, transpose, broadcast, as_contiguous, cache, matmul, sum, noop and baked (baked(f, a, b): f, written of "
    "slots, as a plan of its own). The first line may name "
    "a generation (hardened, 0.1, 0.2, arena), faults (b1 to b22, cl1 to cl4) and level. Ctrl+Enter plans it.";

static char *text_path(void)
{
    return g_build_filename(g_get_user_cache_dir(), "planscope", "expression.lazy", NULL);
}

/* The text with another first line: how it is to be planned. */
static char *with_words(const char *text, const char *words)
{
    const char *rest = text;
    if (psc_lazy_script_is(text, strlen(text)))
        rest = strchr(text, '\n') ? strchr(text, '\n') + 1 : "";
    return g_strdup_printf("# lazy %s\n%s", words, rest);
}

/* As its first line says, or would. */
static struct psc_candela_options read_how(const char *text, gboolean *ret_levels)
{
    struct psc_lazy_script script;
    struct psc_error ignored = {0};
    (void)!psc_lazy_script_read(&script, NULL, text, strlen(text), &ignored); /* mistakes below the first line come up when it is planned */
    struct psc_candela_options options = script.options;
    *ret_levels = script.levels;
    psc_lazy_script_release(&script);
    return options;
}

/* What is open, when that is an expression, else what was typed last. */
static char *text_to_begin_with(PscWindow *self)
{
    PscStudy *study = psc_workspace_study(self->ws);
    char *path = study && study->phase.expression && study->document->doc->path ? g_strdup(study->document->doc->path) : text_path();
    char *text = NULL;
    gboolean shown = study && study->phase.expression, levels;
    if (!g_file_get_contents(path, &text, NULL, NULL) || !g_utf8_validate(text, -1, NULL)) {
        g_free(text);
        text = g_strdup(start);
        shown = FALSE;
    }
    g_free(path);
    if (!shown)
        return text;
    /* planned otherwise since, where one looks on: the text says so */
    const struct psc_candela_kept *kept = study->phase.expression;
    struct psc_candela_options says = read_how(text, &levels);
    if (says.generation == kept->plan->options.generation && says.faults == kept->plan->options.faults && levels == kept->levels)
        return text;
    GtkWidget *choice = g_object_ref_sink(psc_candela_choice_new());
    psc_candela_choice_set(PSC_CANDELA_CHOICE(choice), &kept->plan->options, kept->levels, FALSE);
    char *words = psc_candela_choice_words(PSC_CANDELA_CHOICE(choice)), *with = with_words(text, words);
    g_object_unref(choice);
    g_free(words);
    g_free(text);
    return with;
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

/* What the first line says stands on the button. */
static void say_how(Typing *typing)
{
    gboolean levels;
    char *text = typed(typing);
    struct psc_candela_options options = read_how(text, &levels);
    psc_candela_choice_set(PSC_CANDELA_CHOICE(typing->choice), &options, levels, FALSE);
    char *words = psc_candela_choice_words(PSC_CANDELA_CHOICE(typing->choice)), *label = g_strdup_printf("Planned as: %s", words);
    gtk_menu_button_set_label(GTK_MENU_BUTTON(typing->how), label);
    g_free(label);
    g_free(words);
    g_free(text);
}

static void chosen_cb(PscCandelaChoice *choice, Typing *typing)
{
    char *text = typed(typing), *words = psc_candela_choice_words(choice), *with = with_words(text, words);
    gtk_text_buffer_set_text(gtk_text_view_get_buffer(GTK_TEXT_VIEW(typing->text)), with, -1);
    g_free(with);
    g_free(words);
    g_free(text);
}

static GtkWidget *how_new(Typing *typing)
{
    GtkWidget *popover = gtk_popover_new();
    typing->choice = psc_candela_choice_new();
    typing->how = gtk_menu_button_new();
    gtk_popover_set_child(GTK_POPOVER(popover), typing->choice);
    gtk_menu_button_set_popover(GTK_MENU_BUTTON(typing->how), popover);
    gtk_widget_set_halign(typing->how, GTK_ALIGN_START);
    gtk_widget_set_hexpand(typing->how, TRUE);
    gtk_widget_set_tooltip_text(typing->how, "Generation and faults: the first line says them");
    g_signal_connect(typing->choice, "chosen", G_CALLBACK(chosen_cb), typing);
    g_signal_connect_swapped(gtk_text_view_get_buffer(GTK_TEXT_VIEW(typing->text)), "changed", G_CALLBACK(say_how), typing);
    say_how(typing);
    return typing->how;
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
    GtkWidget *row = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 10);
    gtk_box_append(GTK_BOX(row), how_new(typing));
    gtk_widget_add_css_class(button, "suggested-action");
    gtk_widget_set_tooltip_text(button, "Control and Return");
    g_signal_connect(button, "clicked", G_CALLBACK(show_cb), typing);
    gtk_box_append(GTK_BOX(row), button);
    gtk_box_append(GTK_BOX(box), row);
    gtk_event_controller_set_propagation_phase(keys, GTK_PHASE_CAPTURE);
    g_signal_connect(keys, "key-pressed", G_CALLBACK(key_cb), typing);
    gtk_widget_add_controller(typing->dialog, keys);
    gtk_window_set_child(GTK_WINDOW(typing->dialog), box);
    gtk_window_present(GTK_WINDOW(typing->dialog));
    gtk_widget_grab_focus(typing->text);
    g_free(begin);
}
