#include "ui/drawer.h"

#include "ui/access.h"
#include "ui/tables.h"
#include "ui/workspace-story.h"

#define HEIGHT 190     /* px of an open drawer under its tabs */
#define HEIGHT_LOW 118 /* in a low window */
#define HEADING 28     /* of a table, px, with the rule under it */
#define ROW 21
#define LEAST_ROWS 2   /* so that there is room for a horizontal scroll bar */

struct tab {
    const char *name, *title;
    const PscTableKind *kind;
    const char *empty; /* what an empty table says, and the next thing to do */
    guint reload;      /* changes after which the rows are others */
    gboolean (*useful)(PscWorkspace *ws); /* the tab is there only then; NULL: always */
};

static gboolean is_compared(PscWorkspace *ws)
{
    return psc_workspace_comparison(ws) != NULL;
}

static const struct tab tabs[] = {
    {"problems", "Problems", &psc_problems_table,
     "No clobber: every read of this plan finds the value it wants. Try a fault in the plan menu.",
     PSC_CHANGED_DOCUMENT | PSC_CHANGED_STUDY, NULL},
    {"differences", "Differences", &psc_differences_table, "The run did as planned.",
     PSC_CHANGED_DOCUMENT | PSC_CHANGED_STUDY, is_compared},
    {"records", "Recorded values", &psc_records_table,
     "No recorded values: this file has no steps. Record a run with MINFER_TRACE=trace.json.",
     PSC_CHANGED_DOCUMENT | PSC_CHANGED_STUDY | PSC_CHANGED_STEP, NULL},
    {"accesses", "Accesses", &psc_accesses_table, "No buffer is selected: click a bar or choose an op or a buffer.",
     PSC_CHANGED_DOCUMENT | PSC_CHANGED_STUDY | PSC_CHANGED_SELECTION, NULL},
    {"kv", "KV rows", &psc_kv_table,
     "No KV row is written or read in this step, or the file does not say which.",
     PSC_CHANGED_DOCUMENT | PSC_CHANGED_STUDY | PSC_CHANGED_STEP | PSC_CHANGED_KV, NULL},
    {"free", "Free list", &psc_free_table, "No pool buffer is free at this position.",
     PSC_CHANGED_DOCUMENT | PSC_CHANGED_STUDY | PSC_CHANGED_CURSOR, NULL},
    {"log", "Log", &psc_log_table, "No walk is logged: the plan or the events came with the file.",
     PSC_CHANGED_DOCUMENT | PSC_CHANGED_STUDY, NULL},
};

struct _PscDrawer {
    GtkBox parent_instance;
    PscWorkspace *ws;
    GtkWidget *revealer, *stack, *arrow;
    GtkWidget *buttons[G_N_ELEMENTS(tabs)], *tables[G_N_ELEMENTS(tabs)], *pages[G_N_ELEMENTS(tabs)];
    gboolean stale[G_N_ELEMENTS(tabs)]; /* rows to be read again when the tab is next seen */
    gboolean syncing, low;
    int height; /* px wanted of an open one; a low window gives less */
};

G_DEFINE_FINAL_TYPE(PscDrawer, psc_drawer, GTK_TYPE_BOX)

static guint visible_tab(PscDrawer *self)
{
    const char *name = gtk_stack_get_visible_child_name(GTK_STACK(self->stack));
    for (guint i = 0; i < G_N_ELEMENTS(tabs); i++)
        if (g_strcmp0(name, tabs[i].name) == 0)
            return i;
    return 0;
}

/* Only the table that is seen is kept up to date: a step touches nothing else. */
static void freshen(PscDrawer *self)
{
    guint i = visible_tab(self);
    if (!psc_drawer_is_open(self) || !self->stale[i])
        return;
    self->stale[i] = FALSE;
    psc_table_reload(PSC_TABLE(self->tables[i]));
    gtk_stack_set_visible_child_name(GTK_STACK(self->pages[i]),
                                     psc_table_n(PSC_TABLE(self->tables[i])) ? "table" : "empty");
}

static void update_titles(PscDrawer *self)
{
    for (guint i = 0; i < G_N_ELEMENTS(tabs); i++) {
        GtkWidget *button = self->buttons[i];
        gtk_widget_set_visible(button, !tabs[i].useful || tabs[i].useful(self->ws));
        char *title = i < 3 ? g_strdup_printf("%s  %u", tabs[i].title, tabs[i].kind->count(self->ws))
                            : g_strdup(tabs[i].title);
        gtk_label_set_text(GTK_LABEL(gtk_button_get_child(GTK_BUTTON(button))), title);
        psc_ui_name(button, title);
        if (i == 0 && tabs[0].kind->count(self->ws))
            gtk_widget_add_css_class(button, "clobber");
        else
            gtk_widget_remove_css_class(button, "clobber");
        g_free(title);
    }
}

static void update_buttons(PscDrawer *self)
{
    gboolean open = psc_drawer_is_open(self);
    guint seen = visible_tab(self);
    self->syncing = TRUE;
    for (guint i = 0; i < G_N_ELEMENTS(tabs); i++)
        gtk_toggle_button_set_active(GTK_TOGGLE_BUTTON(self->buttons[i]), open && i == seen);
    self->syncing = FALSE;
    gtk_button_set_icon_name(GTK_BUTTON(self->arrow), open ? "pan-down-symbolic" : "pan-up-symbolic");
}

static void set_height(PscDrawer *self, int height)
{
    self->height = height;
    gtk_widget_set_size_request(self->stack, -1, MIN(height, self->low ? HEIGHT_LOW : HEIGHT));
}

/* The focus must not be lost with what goes. */
static void rescue_focus(PscDrawer *self)
{
    GtkWidget *focus = gtk_root_get_focus(gtk_widget_get_root(GTK_WIDGET(self)));
    if (focus && gtk_widget_is_ancestor(focus, self->stack))
        gtk_widget_grab_focus(self->buttons[visible_tab(self)]);
}

static void set_open(PscDrawer *self, gboolean open)
{
    if (!open)
        rescue_focus(self);
    gtk_revealer_set_reveal_child(GTK_REVEALER(self->revealer), open);
    gtk_widget_set_visible(self->revealer, open);
    update_buttons(self);
    freshen(self);
}

gboolean psc_drawer_is_open(PscDrawer *self)
{
    return gtk_revealer_get_reveal_child(GTK_REVEALER(self->revealer));
}

void psc_drawer_toggle(PscDrawer *self)
{
    set_height(self, HEIGHT);
    set_open(self, !psc_drawer_is_open(self));
}

static void show_tab(PscDrawer *self, guint i)
{
    set_height(self, HEIGHT);
    gtk_stack_set_visible_child_name(GTK_STACK(self->stack), tabs[i].name);
    set_open(self, TRUE);
}

gboolean psc_drawer_show_tab(PscDrawer *self, const char *name)
{
    guint i = 0;
    while (i < G_N_ELEMENTS(tabs) && !g_str_equal(tabs[i].name, name))
        i++;
    if (i == G_N_ELEMENTS(tabs) || (tabs[i].useful && !tabs[i].useful(self->ws)))
        return FALSE;
    show_tab(self, i);
    if (psc_table_n(PSC_TABLE(self->tables[i])))
        psc_table_focus(PSC_TABLE(self->tables[i]));
    else
        gtk_widget_grab_focus(self->buttons[i]);
    return TRUE;
}

void psc_drawer_offer_problems(PscDrawer *self)
{
    gboolean was_open = psc_drawer_is_open(self);
    guint rows = tabs[0].kind->count(self->ws);
    gtk_stack_set_visible_child_name(GTK_STACK(self->stack), tabs[0].name);
    if (!was_open)
        set_height(self, HEADING + ROW * (int)CLAMP(rows, LEAST_ROWS, HEIGHT / ROW));
    set_open(self, TRUE);
}

void psc_drawer_set_low(PscDrawer *self, gboolean low)
{
    self->low = low;
    set_height(self, self->height);
}

static void button_cb(GtkToggleButton *button, PscDrawer *self)
{
    if (self->syncing)
        return;
    for (guint i = 0; i < G_N_ELEMENTS(tabs); i++)
        if (self->buttons[i] == GTK_WIDGET(button)) {
            if (psc_drawer_is_open(self) && visible_tab(self) == i)
                set_open(self, FALSE);
            else
                show_tab(self, i);
            return;
        }
}

static void changed_cb(PscDrawer *self, guint what)
{
    for (guint i = 0; i < G_N_ELEMENTS(tabs); i++)
        if (what & tabs[i].reload)
            self->stale[i] = TRUE;
    if (what & (PSC_CHANGED_DOCUMENT | PSC_CHANGED_STUDY | PSC_CHANGED_STEP))
        update_titles(self);
    if (!gtk_widget_get_visible(self->buttons[visible_tab(self)])) { /* another document: back to the first */
        gtk_stack_set_visible_child_name(GTK_STACK(self->stack), tabs[0].name);
        update_buttons(self);
    }
    freshen(self);
    if (what & (PSC_CHANGED_SELECTION | PSC_CHANGED_CURSOR) && psc_drawer_is_open(self))
        psc_table_show_selected(PSC_TABLE(self->tables[visible_tab(self)]));
}

static void psc_drawer_dispose(GObject *object)
{
    g_clear_object(&PSC_DRAWER(object)->ws);
    G_OBJECT_CLASS(psc_drawer_parent_class)->dispose(object);
}

static void psc_drawer_class_init(PscDrawerClass *class)
{
    G_OBJECT_CLASS(class)->dispose = psc_drawer_dispose;
}

static void psc_drawer_init(PscDrawer *self)
{
    gtk_orientable_set_orientation(GTK_ORIENTABLE(self), GTK_ORIENTATION_VERTICAL);
    gtk_widget_add_css_class(GTK_WIDGET(self), "drawer");
}

static void add_tab(PscDrawer *self, guint i, GtkWidget *bar)
{
    self->tables[i] = psc_table_new(self->ws, tabs[i].kind);
    GtkWidget *empty = gtk_label_new(tabs[i].empty);
    gtk_widget_add_css_class(empty, "dim");
    gtk_label_set_wrap(GTK_LABEL(empty), TRUE);
    self->pages[i] = gtk_stack_new();
    gtk_stack_add_named(GTK_STACK(self->pages[i]), self->tables[i], "table");
    gtk_stack_add_named(GTK_STACK(self->pages[i]), empty, "empty");
    gtk_stack_add_named(GTK_STACK(self->stack), self->pages[i], tabs[i].name);
    GtkWidget *title = gtk_label_new(tabs[i].title); /* may be cut: the window must not be as wide as all of them */
    gtk_label_set_ellipsize(GTK_LABEL(title), PANGO_ELLIPSIZE_END);
    self->buttons[i] = gtk_toggle_button_new();
    gtk_button_set_child(GTK_BUTTON(self->buttons[i]), title);
    gtk_widget_set_tooltip_text(self->buttons[i], tabs[i].title);
    gtk_widget_add_css_class(self->buttons[i], "flat");
    gtk_box_append(GTK_BOX(bar), self->buttons[i]);
    g_signal_connect(self->buttons[i], "toggled", G_CALLBACK(button_cb), self);
    self->stale[i] = TRUE;
}

GtkWidget *psc_drawer_new(PscWorkspace *ws)
{
    PscDrawer *self = g_object_new(PSC_TYPE_DRAWER, NULL);
    self->ws = g_object_ref(ws);
    GtkWidget *bar = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 0);
    gtk_widget_add_css_class(bar, "drawer-tabs");
    self->stack = gtk_stack_new();
    set_height(self, HEIGHT);
    for (guint i = 0; i < G_N_ELEMENTS(tabs); i++)
        add_tab(self, i, bar);
    GtkWidget *space = gtk_label_new(NULL);
    gtk_widget_set_hexpand(space, TRUE);
    gtk_box_append(GTK_BOX(bar), space);
    self->arrow = gtk_button_new_from_icon_name("pan-up-symbolic");
    gtk_widget_add_css_class(self->arrow, "flat");
    gtk_widget_set_tooltip_text(self->arrow, "Open or close the drawer");
    psc_ui_name(self->arrow, "Open or close the drawer");
    g_signal_connect_swapped(self->arrow, "clicked", G_CALLBACK(psc_drawer_toggle), self);
    gtk_box_append(GTK_BOX(bar), self->arrow);
    self->revealer = gtk_revealer_new();
    gtk_revealer_set_transition_type(GTK_REVEALER(self->revealer), GTK_REVEALER_TRANSITION_TYPE_NONE);
    gtk_revealer_set_child(GTK_REVEALER(self->revealer), self->stack);
    gtk_widget_set_visible(self->revealer, FALSE);
    gtk_box_append(GTK_BOX(self), bar);
    gtk_box_append(GTK_BOX(self), self->revealer);
    g_signal_connect_object(ws, "changed", G_CALLBACK(changed_cb), self, G_CONNECT_SWAPPED);
    return GTK_WIDGET(self);
}
