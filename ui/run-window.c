#include "ui/run-window.h"

#include "ui/access.h"
#include "ui/run-form.h"

#include <string.h>

struct _PscRunWindow {
    GtkWindow parent_instance;
    PscWorkspace *ws;
    PscRunDoor door;
    PscRunForm form;
    GtkWidget *stack, *run, *scroller;
    GtkWidget *stage, *bar, *text, *text_scroller, *figures; /* while it runs */
    gsize shown; /* bytes of the generated text that are in the view */
    gboolean running;
};

G_DEFINE_FINAL_TYPE(PscRunWindow, psc_run_window, GTK_TYPE_WINDOW)

/* ---- while it runs --------------------------------------------------------------------------------------------- */

static void show_page(PscRunWindow *self, gboolean running)
{
    self->running = running;
    gtk_stack_set_visible_child_name(GTK_STACK(self->stack), running ? "progress" : "form");
    gtk_widget_set_sensitive(self->run, !running);
}

/* Only what is new is laid out: the text may have thousands of tokens. */
static void append(PscRunWindow *self, const char *text)
{
    GtkTextBuffer *buffer = gtk_text_view_get_buffer(GTK_TEXT_VIEW(self->text));
    GtkTextIter end;
    gsize n = strlen(text);
    gtk_text_buffer_get_end_iter(buffer, &end);
    if (n > self->shown)
        gtk_text_buffer_insert(buffer, &end, text + self->shown, (int)(n - self->shown));
    self->shown = n;
}

static void start_text(PscRunWindow *self, const char *prompt)
{
    GtkTextBuffer *buffer = gtk_text_view_get_buffer(GTK_TEXT_VIEW(self->text));
    GtkTextIter start;
    gtk_text_buffer_set_text(buffer, "", 0);
    gtk_text_buffer_get_start_iter(buffer, &start);
    gtk_text_buffer_insert_with_tags_by_name(buffer, &start, prompt, -1, "prompt", NULL);
    self->shown = 0;
}

static void news_cb(const PscRunNews *news, gpointer data)
{
    PscRunWindow *self = data;
    GtkAdjustment *y = gtk_scrolled_window_get_vadjustment(GTK_SCROLLED_WINDOW(self->text_scroller));
    gboolean at_end = gtk_adjustment_get_value(y) + gtk_adjustment_get_page_size(y) >= gtk_adjustment_get_upper(y) - 4;
    gtk_label_set_text(GTK_LABEL(self->stage), news->stage);
    if (news->part >= 0)
        gtk_progress_bar_set_fraction(GTK_PROGRESS_BAR(self->bar), CLAMP(news->part, 0, 1));
    else
        gtk_progress_bar_pulse(GTK_PROGRESS_BAR(self->bar));
    append(self, news->text);
    char *figures = !news->wanted           ? g_strdup("")
                    : news->per_second > 0 ? g_strdup_printf("%u of %u tokens, %.0f tokens a second", news->tokens, news->wanted, news->per_second)
                                           : g_strdup_printf("%u of %u tokens", news->tokens, news->wanted);
    gtk_label_set_text(GTK_LABEL(self->figures), figures);
    g_free(figures);
    if (at_end) /* the text is followed unless somebody scrolled back */
        gtk_adjustment_set_value(y, gtk_adjustment_get_upper(y));
}

static void done_cb(const char *error, PscRunField field, guint fill, gpointer data)
{
    PscRunWindow *self = data;
    show_page(self, FALSE);
    if (error)
        psc_run_form_tell(&self->form, field, fill, error);
    else
        gtk_widget_set_visible(GTK_WIDGET(self), FALSE);
}

static void run_cb(PscRunWindow *self)
{
    if (self->running)
        return;
    PscRunOrder *order = psc_run_form_order(&self->form);
    if (!order)
        return;
    gboolean model = order->what != PSC_RUN_GRAPH;
    start_text(self, model ? order->prompt : "");
    gtk_label_set_text(GTK_LABEL(self->figures), "");
    gtk_label_set_text(GTK_LABEL(self->stage), "opening");
    gtk_progress_bar_set_fraction(GTK_PROGRESS_BAR(self->bar), 0);
    show_page(self, TRUE);
    PscRunWatch watch = {news_cb, done_cb, self};
    self->door.start(self->door.ctx, order, &watch);
}

static void cancel_cb(PscRunWindow *self)
{
    if (self->running)
        self->door.cancel(self->door.ctx);
    else
        gtk_widget_set_visible(GTK_WIDGET(self), FALSE);
}

static gboolean psc_run_window_close_request(GtkWindow *window)
{
    cancel_cb(PSC_RUN_WINDOW(window));
    return TRUE; /* hidden, never destroyed by its close button: what was typed stays */
}

static gboolean escape_cb(GtkWidget *widget, GVariant *args G_GNUC_UNUSED, gpointer data G_GNUC_UNUSED)
{
    cancel_cb(PSC_RUN_WINDOW(widget));
    return TRUE;
}

static gboolean return_cb(GtkWidget *widget, GVariant *args G_GNUC_UNUSED, gpointer data G_GNUC_UNUSED)
{
    run_cb(PSC_RUN_WINDOW(widget));
    return TRUE;
}

/* ---- building ------------------------------------------------------------------------------------------------------ */

static GtkWidget *words_new(const char *style)
{
    GtkWidget *label = gtk_label_new(NULL);
    gtk_label_set_xalign(GTK_LABEL(label), 0);
    gtk_label_set_yalign(GTK_LABEL(label), 0);
    gtk_label_set_wrap(GTK_LABEL(label), TRUE);
    gtk_label_set_wrap_mode(GTK_LABEL(label), PANGO_WRAP_WORD_CHAR);
    if (style)
        gtk_widget_add_css_class(label, style);
    return label;
}

static GtkWidget *progress_page_new(PscRunWindow *self)
{
    GtkWidget *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 8);
    gtk_widget_add_css_class(box, "run-form");
    self->stage = words_new("strong");
    self->bar = gtk_progress_bar_new();
    psc_ui_name(self->bar, "Progress of the run");
    self->figures = words_new("dim");
    self->text = gtk_text_view_new();
    gtk_text_view_set_editable(GTK_TEXT_VIEW(self->text), FALSE);
    gtk_text_view_set_cursor_visible(GTK_TEXT_VIEW(self->text), FALSE);
    gtk_text_view_set_wrap_mode(GTK_TEXT_VIEW(self->text), GTK_WRAP_WORD_CHAR);
    gtk_text_buffer_create_tag(gtk_text_view_get_buffer(GTK_TEXT_VIEW(self->text)), "prompt", "weight", PANGO_WEIGHT_BOLD, NULL);
    psc_ui_name(self->text, "Prompt and generated text");
    self->text_scroller = gtk_scrolled_window_new();
    gtk_scrolled_window_set_policy(GTK_SCROLLED_WINDOW(self->text_scroller), GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC);
    gtk_scrolled_window_set_child(GTK_SCROLLED_WINDOW(self->text_scroller), self->text);
    gtk_widget_add_css_class(self->text_scroller, "run-text");
    gtk_widget_set_vexpand(self->text_scroller, TRUE);
    gtk_box_append(GTK_BOX(box), self->stage);
    gtk_box_append(GTK_BOX(box), self->bar);
    gtk_box_append(GTK_BOX(box), self->figures);
    gtk_box_append(GTK_BOX(box), self->text_scroller);
    gtk_box_append(GTK_BOX(box), words_new("dim"));
    gtk_label_set_text(GTK_LABEL(gtk_widget_get_last_child(box)),
                       "Cancel ends the run after the op that is running; what was recorded so far is opened.");
    return box;
}

static GtkWidget *header_new(PscRunWindow *self)
{
    GtkWidget *header = gtk_header_bar_new(), *cancel = gtk_button_new_with_label("Cancel");
    gtk_header_bar_set_show_title_buttons(GTK_HEADER_BAR(header), FALSE);
    g_signal_connect_swapped(cancel, "clicked", G_CALLBACK(cancel_cb), self);
    self->run = gtk_button_new_with_label("Run");
    gtk_widget_set_tooltip_text(self->run, "Ctrl+Enter");
    gtk_widget_add_css_class(self->run, "suggested-action");
    g_signal_connect_swapped(self->run, "clicked", G_CALLBACK(run_cb), self);
    gtk_header_bar_pack_start(GTK_HEADER_BAR(header), cancel);
    gtk_header_bar_pack_end(GTK_HEADER_BAR(header), self->run);
    return header;
}

static void psc_run_window_dispose(GObject *object)
{
    PscRunWindow *self = PSC_RUN_WINDOW(object);
    if (self->form.box)
        psc_run_form_clear(&self->form);
    self->form.box = NULL;
    g_clear_object(&self->ws);
    G_OBJECT_CLASS(psc_run_window_parent_class)->dispose(object);
}

static void psc_run_window_class_init(PscRunWindowClass *class)
{
    G_OBJECT_CLASS(class)->dispose = psc_run_window_dispose;
    GTK_WINDOW_CLASS(class)->close_request = psc_run_window_close_request;
    gtk_widget_class_add_binding(GTK_WIDGET_CLASS(class), GDK_KEY_Escape, 0, escape_cb, NULL);
    gtk_widget_class_add_binding(GTK_WIDGET_CLASS(class), GDK_KEY_Return, GDK_CONTROL_MASK, return_cb, NULL);
}

static void psc_run_window_init(PscRunWindow *self)
{
    gtk_window_set_title(GTK_WINDOW(self), "Run");
    gtk_window_set_default_size(GTK_WINDOW(self), 640, 600);
    gtk_window_set_destroy_with_parent(GTK_WINDOW(self), TRUE);
    gtk_window_set_titlebar(GTK_WINDOW(self), header_new(self));
    gtk_window_set_default_widget(GTK_WINDOW(self), self->run);
}

PscRunWindow *psc_run_window_new(GtkWindow *parent, PscWorkspace *ws, const PscRunDoor *door)
{
    PscRunWindow *self = g_object_new(PSC_TYPE_RUN_WINDOW, "transient-for", parent, NULL);
    self->ws = g_object_ref(ws);
    self->door = *door;
    psc_run_form_init(&self->form, ws, door);
    self->scroller = gtk_scrolled_window_new();
    gtk_scrolled_window_set_policy(GTK_SCROLLED_WINDOW(self->scroller), GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC);
    gtk_scrolled_window_set_child(GTK_SCROLLED_WINDOW(self->scroller), self->form.box);
    self->stack = gtk_stack_new();
    gtk_stack_add_named(GTK_STACK(self->stack), self->scroller, "form");
    gtk_stack_add_named(GTK_STACK(self->stack), progress_page_new(self), "progress");
    gtk_window_set_child(GTK_WINDOW(self), self->stack);
    return self;
}

void psc_run_window_ask(PscRunWindow *self)
{
    if (!self->running) {
        psc_run_form_refresh(&self->form);
        gtk_adjustment_set_value(gtk_scrolled_window_get_vadjustment(GTK_SCROLLED_WINDOW(self->scroller)), 0);
        gtk_widget_grab_focus(self->form.prompt);
    }
    gtk_window_present(GTK_WINDOW(self));
}
