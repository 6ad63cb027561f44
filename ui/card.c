#include "ui/card.h"

#include "ui/access.h"
#include "ui/tables.h"

#include <string.h>

#define KEY_WIDTH 78
#define NARROWEST 9 /* letters */
#define LINK_LEAST 12
#define BADGES_WIDTH 226 /* of a row of badges: what the inspector has where it is narrowest */
#define BADGE_FRAME 19   /* around the words of one, with the gap to the next */

/* What a widget was made for: only the same may take its place. */
static const char *make_of(GtkWidget *widget)
{
    return g_object_get_data(G_OBJECT(widget), "make");
}

static GtkWidget *made(GtkWidget *widget, const char *make)
{
    g_object_set_data_full(G_OBJECT(widget), "make", g_strdup(make), g_free);
    return widget;
}

static gboolean is_made(GtkWidget *widget, const char *make)
{
    return widget && g_strcmp0(make_of(widget), make) == 0;
}

/* ---- children of a box --------------------------------------------------------------------------- */

static GtkWidget *after(GtkWidget *box, GtkWidget *last)
{
    return last ? gtk_widget_get_next_sibling(last) : gtk_widget_get_first_child(box);
}

static void drop_after(GtkWidget *box, GtkWidget *last)
{
    for (GtkWidget *child = after(box, last); child; child = after(box, last))
        gtk_box_remove(GTK_BOX(box), child);
}

/* The next child of this make, what stands before it removed; NULL: there is none, and the caller puts one after *last. */
static GtkWidget *next_made(GtkWidget *box, GtkWidget **last, const char *make)
{
    GtkWidget *found = after(box, *last);
    while (found && !is_made(found, make))
        found = gtk_widget_get_next_sibling(found);
    if (!found)
        return NULL;
    while (after(box, *last) != found)
        gtk_box_remove(GTK_BOX(box), after(box, *last));
    return *last = found;
}

static void put_after(GtkWidget *box, GtkWidget **last, GtkWidget *child)
{
    gtk_box_insert_child_after(GTK_BOX(box), child, *last);
    *last = child;
}

/* ---- labels -------------------------------------------------------------------------------------- */

/* A line never ends between a number and its "%". */
static char *held_together(const char *text)
{
    char **parts = g_strsplit(text, " %", -1), *whole = g_strjoinv("\xc2\xa0%", parts);
    g_strfreev(parts);
    return whole;
}

static void set_label(GtkWidget *label, const char *text)
{
    char *held = text && strstr(text, " %") ? held_together(text) : NULL;
    gtk_label_set_text(GTK_LABEL(label), held ? held : text); /* nothing happens when it is the same */
    g_free(held);
    /* else its least width is found by shaping a line for each letter */
    gtk_label_set_width_chars(GTK_LABEL(label), text && strlen(text) > 2 * NARROWEST ? NARROWEST : -1);
}

static GtkWidget *label_new(const char *text, const char *style)
{
    GtkWidget *label = gtk_label_new(NULL);
    gtk_label_set_xalign(GTK_LABEL(label), 0);
    gtk_label_set_wrap(GTK_LABEL(label), TRUE);
    gtk_label_set_wrap_mode(GTK_LABEL(label), PANGO_WRAP_WORD_CHAR);
    gtk_label_set_natural_wrap_mode(GTK_LABEL(label), GTK_NATURAL_WRAP_NONE); /* else each is shaped many times */
    set_label(label, text);
    char **styles = g_strsplit(style ? style : "", " ", -1);
    for (char **s = styles; *s; s++)
        if (**s)
            gtk_widget_add_css_class(label, *s);
    g_strfreev(styles);
    return made(label, style ? style : "plain");
}

static void box_label(GtkWidget *box, GtkWidget **last, const char *text, const char *style)
{
    GtkWidget *label = next_made(box, last, style);
    if (label)
        set_label(label, text);
    else
        put_after(box, last, label_new(text, style));
}

void psc_card_begin(PscCard *card, PscWorkspace *ws, GtkWidget *box)
{
    *card = (PscCard){.ws = ws, .box = box};
}

void psc_card_title(PscCard *card, const char *title, const char *subtitle)
{
    box_label(card->box, &card->last, title, "card-title");
    if (subtitle && *subtitle)
        box_label(card->box, &card->last, subtitle, "dim caption");
}

static void end_badges(PscCard *card)
{
    if (is_made(card->last, "badges"))
        drop_after(card->last, card->badge);
}

static int width_of_badge(PscCard *card, const char *text)
{
    int width;
    PangoLayout *layout = gtk_widget_create_pango_layout(card->box, text);
    pango_layout_get_pixel_size(layout, &width, NULL);
    g_object_unref(layout);
    return width + BADGE_FRAME;
}

void psc_card_badge(PscCard *card, const char *text, const char *style)
{
    int width = width_of_badge(card, text);
    if (!is_made(card->last, "badges") || card->badges_width + width > BADGES_WIDTH) {
        end_badges(card);
        card->badge = NULL;
        card->badges_width = 0;
        if (!next_made(card->box, &card->last, "badges")) {
            GtkWidget *row = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 5);
            gtk_widget_add_css_class(row, "badges");
            put_after(card->box, &card->last, made(row, "badges"));
        }
    }
    card->badges_width += width;
    GtkWidget *badge = next_made(card->last, &card->badge, style ? style : "");
    if (badge) {
        gtk_label_set_text(GTK_LABEL(badge), text);
        return;
    }
    badge = gtk_label_new(text);
    gtk_widget_add_css_class(badge, "badge");
    if (style)
        gtk_widget_add_css_class(badge, style);
    put_after(card->last, &card->badge, made(badge, style ? style : ""));
}

/* ---- sections ------------------------------------------------------------------------------------ */

/* Lines of an earlier filling below those of this one. */
static void end_section(PscCard *card)
{
    for (int row = card->row; card->grid; row++) {
        GtkWidget *key = gtk_grid_get_child_at(GTK_GRID(card->grid), 0, row), *value = gtk_grid_get_child_at(GTK_GRID(card->grid), 1, row);
        if (!key && !value)
            break;
        if (key)
            gtk_grid_remove(GTK_GRID(card->grid), key);
        if (value && value != key)
            gtk_grid_remove(GTK_GRID(card->grid), value);
    }
}

void psc_card_end(PscCard *card)
{
    end_badges(card);
    end_section(card);
    drop_after(card->box, card->last);
}

/* Sections are told apart by the first word of their heading, which may name a buffer behind it. */
static char *section_make(const char *heading)
{
    return g_strdup_printf("section %.*s", heading ? (int)strcspn(heading, " ") : 0, heading ? heading : "");
}

void psc_card_section(PscCard *card, const char *heading)
{
    char *make = section_make(heading);
    end_badges(card);
    end_section(card);
    card->row = 0;
    GtkWidget *box = next_made(card->box, &card->last, make);
    if (box) {
        if (heading)
            set_label(gtk_widget_get_first_child(box), heading);
        card->grid = gtk_widget_get_last_child(box);
    } else {
        box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 3);
        gtk_widget_add_css_class(box, "card-section");
        if (heading)
            gtk_box_append(GTK_BOX(box), label_new(heading, "section"));
        card->grid = gtk_grid_new();
        gtk_grid_set_column_spacing(GTK_GRID(card->grid), 8);
        gtk_grid_set_row_spacing(GTK_GRID(card->grid), 3);
        gtk_box_append(GTK_BOX(box), card->grid);
        put_after(card->box, &card->last, made(box, make));
    }
    g_free(make);
}

/* The widget at a place of the section when it is of this make; another one there is removed. */
static GtkWidget *at_place(PscCard *card, int column, const char *make)
{
    GtkWidget *there = gtk_grid_get_child_at(GTK_GRID(card->grid), column, card->row);
    if (is_made(there, make))
        return there;
    if (there)
        gtk_grid_remove(GTK_GRID(card->grid), there);
    return NULL;
}

static void add_key(PscCard *card, const char *key)
{
    GtkWidget *label = at_place(card, 0, "dim");
    if (label) {
        set_label(label, key);
        return;
    }
    label = label_new(key, "dim");
    gtk_widget_set_size_request(label, KEY_WIDTH, -1);
    gtk_widget_set_valign(label, GTK_ALIGN_START);
    gtk_grid_attach(GTK_GRID(card->grid), label, 0, card->row, 1, 1);
}

/* Behind its key, which goes to the next line with it. */
static void add_value(PscCard *card, GtkWidget *value)
{
    gtk_widget_set_hexpand(value, TRUE);
    gtk_grid_attach(GTK_GRID(card->grid), value, 1, card->row, 1, 1);
}

/* Across both columns. */
static void add_wide(PscCard *card, GtkWidget *widget, const char *make)
{
    GtkWidget *beside = gtk_grid_get_child_at(GTK_GRID(card->grid), 1, card->row);
    if (beside)
        gtk_grid_remove(GTK_GRID(card->grid), beside);
    gtk_grid_attach(GTK_GRID(card->grid), made(widget, make), 0, card->row, 2, 1);
}

void psc_card_line(PscCard *card, const char *key, const char *value)
{
    add_key(card, key);
    GtkWidget *label = at_place(card, 1, "plain");
    if (label)
        set_label(label, value);
    else
        add_value(card, label_new(value, NULL));
    card->row++;
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

static void set_link(GtkWidget *line, const char *key, const char *text, uint32_t index, const char *words)
{
    GtkWidget *button = gtk_widget_get_first_child(line), *label = gtk_button_get_child(GTK_BUTTON(button));
    GtkWidget *behind = gtk_widget_get_last_child(line);
    char *name = g_strdup_printf("%s %s", key, text);
    if (g_strcmp0(gtk_label_get_text(GTK_LABEL(label)), text) != 0) {
        gtk_label_set_text(GTK_LABEL(label), text);
        /* A short name is never cut, of a long one so much stays whatever the words after it need, which wrap. */
        gboolean is_short = g_utf8_strlen(text, -1) <= LINK_LEAST;
        gtk_label_set_ellipsize(GTK_LABEL(label), is_short ? PANGO_ELLIPSIZE_NONE : PANGO_ELLIPSIZE_MIDDLE);
        gtk_label_set_width_chars(GTK_LABEL(label), is_short ? -1 : LINK_LEAST * 3 / 4);
        gtk_widget_set_tooltip_text(button, text);
    }
    psc_ui_name(button, name);
    g_object_set_data(G_OBJECT(button), "index", GUINT_TO_POINTER(index));
    set_label(behind, words);
    gtk_widget_set_visible(behind, words && *words);
    g_free(name);
}

static GtkWidget *link_new(PscCard *card, GCallback clicked)
{
    GtkWidget *line = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 6), *button = gtk_button_new(), *label = label_new(NULL, NULL);
    GtkWidget *words = label_new(NULL, "dim");
    gtk_label_set_wrap(GTK_LABEL(label), FALSE);
    gtk_button_set_child(GTK_BUTTON(button), label);
    gtk_widget_add_css_class(button, "psc-link");
    gtk_widget_set_valign(button, GTK_ALIGN_START);
    g_signal_connect_object(button, "clicked", clicked, card->ws, 0);
    gtk_widget_set_hexpand(words, TRUE);
    gtk_box_append(GTK_BOX(line), button);
    gtk_box_append(GTK_BOX(line), words);
    return line;
}

static void add_link(PscCard *card, const char *key, const char *text, uint32_t index, gboolean is_node, const char *words)
{
    const char *make = is_node ? "node link" : "buffer link";
    add_key(card, key);
    GtkWidget *line = at_place(card, 1, make);
    if (!line) {
        line = made(link_new(card, is_node ? G_CALLBACK(node_cb) : G_CALLBACK(buffer_cb)), make);
        add_value(card, line);
    }
    set_link(line, key, text, index, words);
    card->row++;
}

void psc_card_node(PscCard *card, const char *key, psc_node node, const char *after)
{
    struct psc_text text = {0};
    psc_add_node(&text, psc_workspace_study(card->ws), node);
    if (node == PSC_NONE)
        psc_card_line(card, key, psc_text_str(&text));
    else
        add_link(card, key, psc_text_str(&text), node, TRUE, after);
    psc_text_release(&text);
}

void psc_card_buffer(PscCard *card, const char *key, uint32_t buffer, const char *after)
{
    struct psc_text text = {0};
    psc_add_buffer(&text, psc_workspace_study(card->ws), buffer);
    add_link(card, key, psc_text_str(&text), buffer, FALSE, after);
    psc_text_release(&text);
}

/* One make for a style: what a note needs does no harm to a text. */
static void add_words(PscCard *card, const char *text, const char *style)
{
    char *make = g_strdup_printf("wide %s", style ? style : "plain");
    GtkWidget *label = at_place(card, 0, make);
    if (label) {
        set_label(label, text);
    } else {
        label = label_new(text, style);
        gtk_widget_set_hexpand(label, TRUE);
        add_wide(card, label, make);
    }
    card->row++;
    g_free(make);
}

void psc_card_text(PscCard *card, const char *text, const char *style)
{
    add_words(card, text, style);
}

void psc_card_note(PscCard *card, const char *text, const char *style)
{
    add_words(card, text, style);
}

gboolean psc_card_keeps(PscCard *card, const char *what)
{
    GtkWidget *there = at_place(card, 0, what);
    card->keep = there ? NULL : what;
    card->row += there != NULL;
    return there != NULL;
}

void psc_card_widget(PscCard *card, GtkWidget *widget)
{
    const char *make = card->keep ? card->keep : "once";
    GtkWidget *there = gtk_grid_get_child_at(GTK_GRID(card->grid), 0, card->row);
    if (there)
        gtk_grid_remove(GTK_GRID(card->grid), there);
    gtk_widget_set_hexpand(widget, TRUE);
    add_wide(card, widget, make);
    card->keep = NULL;
    card->row++;
}
