/* The window that lists the keys: all of psc_keys in two columns, and a field that keeps the lines which match. */
#include "ui/keys.h"

#include "ui/access.h"

#include <string.h>

#define WIDTH 960 /* px; inside the least size of the main window */
#define HEIGHT 600
#define COLUMNS 2

struct line {
    GtkWidget *row, *group; /* the group goes when all its rows do */
    char *words;            /* all of the line, folded */
};

static void clear_line(gpointer data)
{
    g_free(((struct line *)data)->words);
}

/* "Ctrl+Page Up"; arrows as arrows. */
static char *accel_text(const char *accel)
{
    static const struct {
        guint key;
        const char *text;
    } signs[] = {{GDK_KEY_Left, "\xe2\x86\x90"}, {GDK_KEY_Right, "\xe2\x86\x92"}, {GDK_KEY_Up, "\xe2\x86\x91"},
                 {GDK_KEY_Down, "\xe2\x86\x93"}, {GDK_KEY_Escape, "Esc"}, {GDK_KEY_Return, "Enter"},
                 {GDK_KEY_Page_Up, "Page Up"}, {GDK_KEY_Page_Down, "Page Down"}};
    guint key;
    GdkModifierType held;
    if (!gtk_accelerator_parse(accel, &key, &held))
        g_error("no key: %s", accel);
    for (guint i = 0; i < G_N_ELEMENTS(signs); i++) {
        if (signs[i].key != key)
            continue;
        char *before = gtk_accelerator_get_label(GDK_KEY_a, held);
        char *text = g_strdup_printf("%.*s%s", (int)strlen(before) - 1, before, signs[i].text);
        g_free(before);
        return text;
    }
    return gtk_accelerator_get_label(key, held);
}

static GtkWidget *row_new(const PscKey *key, char **ret_words)
{
    GtkWidget *row = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 4), *words = gtk_label_new(key->words);
    gtk_label_set_xalign(GTK_LABEL(words), 0);
    gtk_label_set_wrap(GTK_LABEL(words), TRUE);
    gtk_widget_set_hexpand(words, TRUE);
    gtk_box_append(GTK_BOX(row), words);
    GString *all = g_string_new(key->group);
    g_string_append_printf(all, " %s", key->words);
    for (int i = 0; i < 4 && key->accels[i]; i++) {
        char *text = accel_text(key->accels[i]);
        GtkWidget *cap = gtk_label_new(text);
        gtk_widget_add_css_class(cap, "keycap");
        gtk_widget_set_valign(cap, GTK_ALIGN_CENTER);
        gtk_box_append(GTK_BOX(row), cap);
        g_string_append_printf(all, " %s", text);
        g_free(text);
    }
    *ret_words = g_utf8_casefold(all->str, -1);
    g_string_free(all, TRUE);
    return row;
}

static GtkWidget *group_new(const char *title)
{
    GtkWidget *group = gtk_box_new(GTK_ORIENTATION_VERTICAL, 3), *head = gtk_label_new(title);
    gtk_widget_add_css_class(group, "keys-group");
    gtk_widget_add_css_class(head, "strong");
    gtk_label_set_xalign(GTK_LABEL(head), 0);
    gtk_box_append(GTK_BOX(group), head);
    return group;
}

/* Groups stay whole: the second column begins with the one that crosses the middle of all lines. */
static GtkWidget *columns_new(GArray *lines)
{
    GtkWidget *all = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 28), *columns[COLUMNS], *group = NULL;
    gtk_box_set_homogeneous(GTK_BOX(all), TRUE);
    for (int i = 0; i < COLUMNS; i++) {
        columns[i] = gtk_box_new(GTK_ORIENTATION_VERTICAL, 10);
        gtk_box_append(GTK_BOX(all), columns[i]);
    }
    int n = 0, at = 0;
    for (const PscKey *key = psc_keys; key->group; key++)
        n++;
    for (const PscKey *key = psc_keys; key->group; key++, at++) {
        if (!group || !g_str_equal(key->group, key[-1].group)) {
            group = group_new(key->group);
            gtk_box_append(GTK_BOX(columns[MIN(at * COLUMNS / n, COLUMNS - 1)]), group);
        }
        struct line line = {.group = group};
        line.row = row_new(key, &line.words);
        gtk_box_append(GTK_BOX(group), line.row);
        g_array_append_val(lines, line);
    }
    return all;
}

static void search_cb(GtkSearchEntry *search, GArray *lines)
{
    char *wanted = g_utf8_casefold(gtk_editable_get_text(GTK_EDITABLE(search)), -1);
    for (guint i = 0; i < lines->len; i++)
        gtk_widget_set_visible(g_array_index(lines, struct line, i).group, FALSE);
    for (guint i = 0; i < lines->len; i++) {
        struct line *line = &g_array_index(lines, struct line, i);
        gboolean shown = strstr(line->words, wanted) != NULL;
        gtk_widget_set_visible(line->row, shown);
        if (shown)
            gtk_widget_set_visible(line->group, TRUE);
    }
    g_free(wanted);
}

/* The first Escape empties the field, the next one closes the window. */
static void stop_cb(GtkSearchEntry *search, GtkWindow *window)
{
    if (*gtk_editable_get_text(GTK_EDITABLE(search)))
        gtk_editable_set_text(GTK_EDITABLE(search), "");
    else
        gtk_window_close(window);
}

static gboolean close_cb(GtkWidget *window, GVariant *args G_GNUC_UNUSED, gpointer data G_GNUC_UNUSED)
{
    gtk_window_close(GTK_WINDOW(window));
    return TRUE;
}

static void add_close_keys(GtkWidget *window)
{
    GtkEventController *keys = gtk_shortcut_controller_new();
    static const char *const closing[] = {"Escape", "F1", "<Control>question", "<Control>w"};
    for (guint i = 0; i < G_N_ELEMENTS(closing); i++)
        gtk_shortcut_controller_add_shortcut(
            GTK_SHORTCUT_CONTROLLER(keys),
            gtk_shortcut_new(gtk_shortcut_trigger_parse_string(closing[i]), gtk_callback_action_new(close_cb, NULL, NULL)));
    gtk_widget_add_controller(window, keys);
}

GtkWidget *psc_keys_window_new(GtkWindow *parent)
{
    GArray *lines = g_array_new(FALSE, TRUE, sizeof(struct line));
    g_array_set_clear_func(lines, clear_line);
    GtkWidget *window = gtk_window_new(), *header = gtk_header_bar_new(), *search = gtk_search_entry_new();
    g_object_set_data_full(G_OBJECT(window), "lines", lines, (GDestroyNotify)g_array_unref);
    gtk_window_set_title(GTK_WINDOW(window), "Keyboard shortcuts");
    gtk_window_set_transient_for(GTK_WINDOW(window), parent);
    gtk_window_set_modal(GTK_WINDOW(window), TRUE);
    gtk_window_set_destroy_with_parent(GTK_WINDOW(window), TRUE);
    gtk_window_set_default_size(GTK_WINDOW(window), WIDTH, HEIGHT);
    gtk_window_set_titlebar(GTK_WINDOW(window), header);
    GtkWidget *scroller = gtk_scrolled_window_new(), *columns = columns_new(lines);
    gtk_widget_add_css_class(columns, "keys-window");
    gtk_scrolled_window_set_policy(GTK_SCROLLED_WINDOW(scroller), GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC);
    gtk_scrolled_window_set_child(GTK_SCROLLED_WINDOW(scroller), columns);
    gtk_window_set_child(GTK_WINDOW(window), scroller);
    g_object_set(search, "placeholder-text", "Key or what it does", NULL);
    gtk_editable_set_width_chars(GTK_EDITABLE(search), 22);
    gtk_widget_set_tooltip_text(search, "Keeps the keys that match");
    psc_ui_name(search, "Filter of the keys");
    gtk_header_bar_pack_start(GTK_HEADER_BAR(header), search);
    g_signal_connect(search, "search-changed", G_CALLBACK(search_cb), lines);
    g_signal_connect(search, "stop-search", G_CALLBACK(stop_cb), window);
    add_close_keys(window);
    gtk_widget_grab_focus(search);
    return window;
}
