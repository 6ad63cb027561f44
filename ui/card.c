#include "ui/card.h"

#include "ui/access.h"
#include "ui/tables.h"

#include <string.h>

#define KEY_WIDTH 78
#define NARROWEST 9 /* letters */
#define LINK_LEAST 12

void psc_card_begin(PscCard *card, PscWorkspace *ws, GtkWidget *box)
{
    *card = (PscCard){.ws = ws, .box = box};
    for (GtkWidget *child = gtk_widget_get_first_child(box); child; child = gtk_widget_get_first_child(box))
        gtk_box_remove(GTK_BOX(box), child);
}

static GtkWidget *label_new(const char *text, const char *style)
{
    GtkWidget *label = gtk_label_new(text);
    gtk_label_set_xalign(GTK_LABEL(label), 0);
    gtk_label_set_wrap(GTK_LABEL(label), TRUE);
    gtk_label_set_wrap_mode(GTK_LABEL(label), PANGO_WRAP_WORD_CHAR);
    gtk_label_set_natural_wrap_mode(GTK_LABEL(label), GTK_NATURAL_WRAP_NONE); /* else each is shaped many times */
    if (text && strlen(text) > 2 * NARROWEST) /* else its least width is found by shaping a line for each letter */
        gtk_label_set_width_chars(GTK_LABEL(label), NARROWEST);
    char **styles = g_strsplit(style ? style : "", " ", -1);
    for (char **s = styles; *s; s++)
        if (**s)
            gtk_widget_add_css_class(label, *s);
    g_strfreev(styles);
    return label;
}

void psc_card_title(PscCard *card, const char *title, const char *subtitle)
{
    GtkWidget *label = label_new(title, "card-title");
    gtk_label_set_selectable(GTK_LABEL(label), FALSE);
    gtk_box_append(GTK_BOX(card->box), label);
    if (subtitle && *subtitle)
        gtk_box_append(GTK_BOX(card->box), label_new(subtitle, "dim caption"));
}

void psc_card_badge(PscCard *card, const char *text, const char *style)
{
    GtkWidget *last = gtk_widget_get_last_child(card->box);
    if (!last || !gtk_widget_has_css_class(last, "badges")) {
        last = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 5);
        gtk_widget_add_css_class(last, "badges");
        gtk_box_append(GTK_BOX(card->box), last);
    }
    GtkWidget *badge = gtk_label_new(text);
    gtk_widget_add_css_class(badge, "badge");
    if (style)
        gtk_widget_add_css_class(badge, style);
    gtk_box_append(GTK_BOX(last), badge);
}

void psc_card_section(PscCard *card, const char *heading)
{
    GtkWidget *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 3);
    gtk_widget_add_css_class(box, "card-section");
    if (heading)
        gtk_box_append(GTK_BOX(box), label_new(heading, "section"));
    card->grid = gtk_grid_new();
    gtk_grid_set_column_spacing(GTK_GRID(card->grid), 8);
    gtk_grid_set_row_spacing(GTK_GRID(card->grid), 3);
    gtk_box_append(GTK_BOX(box), card->grid);
    gtk_box_append(GTK_BOX(card->box), box);
    card->row = 0;
}

static void attach(PscCard *card, const char *key, GtkWidget *value)
{
    GtkWidget *label = label_new(key, "dim");
    gtk_widget_set_size_request(label, KEY_WIDTH, -1);
    gtk_widget_set_valign(label, GTK_ALIGN_START);
    gtk_widget_set_hexpand(value, TRUE);
    gtk_grid_attach(GTK_GRID(card->grid), label, 0, card->row, 1, 1);
    gtk_grid_attach(GTK_GRID(card->grid), value, 1, card->row++, 1, 1);
}

void psc_card_line(PscCard *card, const char *key, const char *value)
{
    attach(card, key, label_new(value, NULL));
}

void psc_card_linef(PscCard *card, const char *key, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = g_strdup_vprintf(format, args);
    va_end(args);
    psc_card_line(card, key, text);
    g_free(text);
}

static void node_cb(GtkButton *button, PscWorkspace *ws)
{
    psc_workspace_select_node(ws, GPOINTER_TO_UINT(g_object_get_data(G_OBJECT(button), "index")));
}

static void buffer_cb(GtkButton *button, PscWorkspace *ws)
{
    psc_workspace_select_buffer(ws, GPOINTER_TO_UINT(g_object_get_data(G_OBJECT(button), "index")));
}

static void attach_link(PscCard *card, const char *key, const char *text, uint32_t index, GCallback clicked,
                        const char *after)
{
    GtkWidget *line = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 6);
    GtkWidget *button = gtk_button_new();
    GtkWidget *label = label_new(text, NULL);
    gtk_label_set_ellipsize(GTK_LABEL(label), PANGO_ELLIPSIZE_MIDDLE);
    gtk_label_set_wrap(GTK_LABEL(label), FALSE);
    gtk_label_set_width_chars(GTK_LABEL(label), (int)MIN(g_utf8_strlen(text, -1), LINK_LEAST)); /* the words after it wrap */
    gtk_widget_set_tooltip_text(button, text);
    gtk_button_set_child(GTK_BUTTON(button), label);
    gtk_widget_add_css_class(button, "psc-link");
    gtk_widget_set_valign(button, GTK_ALIGN_START);
    char *name = g_strdup_printf("%s %s", key, text);
    psc_ui_name(button, name);
    g_free(name);
    g_object_set_data(G_OBJECT(button), "index", GUINT_TO_POINTER(index));
    g_signal_connect_object(button, "clicked", clicked, card->ws, 0);
    gtk_box_append(GTK_BOX(line), button);
    if (after && *after) {
        GtkWidget *words = label_new(after, "dim");
        gtk_widget_set_hexpand(words, TRUE);
        gtk_box_append(GTK_BOX(line), words);
    }
    attach(card, key, line);
}

void psc_card_node(PscCard *card, const char *key, psc_node node, const char *after)
{
    struct psc_text text = {0};
    psc_add_node(&text, psc_workspace_study(card->ws), node);
    if (node == PSC_NONE)
        psc_card_line(card, key, psc_text_str(&text));
    else
        attach_link(card, key, psc_text_str(&text), node, G_CALLBACK(node_cb), after);
    psc_text_release(&text);
}

void psc_card_buffer(PscCard *card, const char *key, uint32_t buffer, const char *after)
{
    struct psc_text text = {0};
    psc_add_buffer(&text, psc_workspace_study(card->ws), buffer);
    attach_link(card, key, psc_text_str(&text), buffer, G_CALLBACK(buffer_cb), after);
    psc_text_release(&text);
}

void psc_card_text(PscCard *card, const char *text, const char *style)
{
    gtk_grid_attach(GTK_GRID(card->grid), label_new(text, style), 0, card->row++, 2, 1);
}

void psc_card_note(PscCard *card, const char *text, const char *style)
{
    GtkWidget *label = label_new(text, style);
    gtk_widget_set_hexpand(label, TRUE);
    gtk_grid_attach(GTK_GRID(card->grid), label, 0, card->row++, 2, 1);
}

void psc_card_widget(PscCard *card, GtkWidget *widget)
{
    gtk_widget_set_hexpand(widget, TRUE);
    gtk_grid_attach(GTK_GRID(card->grid), widget, 0, card->row++, 2, 1);
}
