#include "app/window-private.h"

#include "core/debug/explain.h"
#include "core/debug/explain-rows.h"
#include "ui/access.h"
#include "ui/inspector.h"
#include "ui/keys.h"
#include "ui/navigate.h"
#include "ui/palette.h"

#define NARROW 1200 /* px under which the lists hide and the bars shorten */
#define LOW 740     /* px of height under which the drawer and the banner leave the map its share */
#define LEAST 980   /* px that are enough for every page once they did: 1000 with a border of the window */
#define ROOM_SOME 1300 /* px from which the context bar has room for the plan in words */
#define ROOM_ALL 1520  /* and for all five logits */

G_DEFINE_FINAL_TYPE(PscWindow, psc_window, GTK_TYPE_APPLICATION_WINDOW)

/* ---- what the header and the status line say --------------------------------------------------- */

static void show_title(PscWindow *self)
{
    PscStudy *study = psc_workspace_study(self->ws);
    const char *title = psc_workspace_title(self->ws);
    gtk_label_set_text(GTK_LABEL(self->title), study ? title : "Planscope");
    GString *about = g_string_new(NULL);
    if (study) {
        const struct psc_doc *doc = study->document->doc;
        g_string_append(about, doc->format ? doc->format : "trace");
        if (doc->version)
            g_string_append_printf(about, " v%d", (int)doc->version);
        for (uint32_t b = 0; study->graph && b < study->graph->backend_n; b++)
            g_string_append_printf(about, " \xc2\xb7 %s", study->graph->backends[b]);
        const char *prompt = psc_workspace_prompt(self->ws);
        if (prompt && *prompt)
            g_string_append_printf(about, " \xc2\xb7 prompt \xe2\x80\x9c%s\xe2\x80\x9d", prompt);
    }
    gtk_label_set_text(GTK_LABEL(self->subtitle), about->str);
    gtk_widget_set_visible(self->subtitle, about->len > 0);
    char *whole = study ? g_strdup_printf("%s \xe2\x80\x94 Planscope", title) : g_strdup("Planscope");
    gtk_window_set_title(GTK_WINDOW(self), whole);
    g_free(whole);
    g_string_free(about, TRUE);
}

void psc_window_set_status(PscWindow *self, const char *text)
{
    gtk_inscription_set_text(GTK_INSCRIPTION(self->status), text);
    psc_ui_name(self->status, text);
}

void psc_window_show_status(PscWindow *self)
{
    PscStudy *study = psc_workspace_study(self->ws);
    struct psc_text page = {0};
    const char *hints = "";
    if (study && psc_window_page_status(self, &page, &hints)) {
        psc_window_set_status(self, psc_text_str(&page));
        gtk_label_set_markup(GTK_LABEL(self->hints), hints);
        psc_text_release(&page);
        return;
    }
    if (!study) {
        psc_window_set_status(self, "No document.  Everything here can be reached by keyboard: Tab and arrows, Enter opens");
        gtk_label_set_markup(GTK_LABEL(self->hints), "<b>F1</b> keyboard shortcuts");
        return;
    }
    struct psc_text text = {0};
    gboolean kv = psc_workspace_y_mode(self->ws) == PSC_VIEW_KV && psc_workspace_kv(self->ws);
    if (kv)
        psc_explain_kv_position(&text, psc_workspace_kv(self->ws), psc_workspace_cursor(self->ws));
    else if (study->analysis->story)
        psc_explain_position(&text, study->analysis, psc_workspace_cursor(self->ws));
    else
        psc_text_add(&text, "This phase has no graph.");
    psc_window_set_status(self, psc_text_str(&text));
    gtk_label_set_markup(GTK_LABEL(self->hints),
                         self->narrow ? "<b>F9</b> lists"
                         : kv         ? "<b>PgDn</b> next layer   <b>.</b> next step   <b>Space</b> play"
                                      : "<b>\xe2\x86\x92</b> next op   <b>X</b> next problem   <b>P</b> peak");
    psc_text_release(&text);
}

GtkWidget *psc_window_centre(PscWindow *self)
{
    switch (psc_workspace_y_mode(self->ws)) {
    case PSC_VIEW_KV: return self->kv;
    case PSC_VIEW_PANEL: return self->panel;
    default: return self->timeline;
    }
}

/* Ways of drawing in the order of their buttons. */
static const struct {
    enum psc_view_mode mode;
    const char *title, *hint, *words;
} modes[] = {
    {PSC_VIEW_MAP, "Map", "y = address (Y)", "x = execution order,  y = address in the pool"},
    {PSC_VIEW_ROWS, "Rows", "a row a buffer (Y)", "x = execution order,  one row a buffer"},
    {PSC_VIEW_USAGE, "Usage", "the curve of live bytes (U)", "x = execution order,  y = live bytes"},
    {PSC_VIEW_KV, "KV", "rows of the KV regions (K)", "x = row of the regions,  y = layer; upper half K, lower half V"},
    {PSC_VIEW_PANEL, "Inside", "how the planner decided, what the arenas hold (I)", "as it is at the cursor:  \xe2\x86\x90 \xe2\x86\x92 step"},
};

/* The focus goes with the picture when it was on the one that goes. */
static void show_page(PscWindow *self)
{
    GtkWidget *centre = psc_window_centre(self), *other = gtk_stack_get_visible_child(GTK_STACK(self->views));
    if (other == centre)
        return;
    gboolean focused = gtk_widget_has_focus(other);
    gtk_stack_set_visible_child(GTK_STACK(self->views), centre);
    if (focused)
        gtk_widget_grab_focus(centre);
}

static void show_view(PscWindow *self)
{
    enum psc_view_mode mode = psc_workspace_y_mode(self->ws);
    PscStudy *study = psc_workspace_study(self->ws);
    gboolean predicted = study && study->analysis->story && study->analysis->story->predicted, kv = mode == PSC_VIEW_KV;
    gboolean panel = mode == PSC_VIEW_PANEL;
    self->syncing = TRUE;
    show_page(self);
    for (guint i = 0; i < G_N_ELEMENTS(modes); i++) {
        if (modes[i].mode != mode)
            continue;
        gtk_toggle_button_set_active(GTK_TOGGLE_BUTTON(self->mode_buttons[i]), TRUE);
        char *words = g_strconcat(modes[i].words, predicted && !kv && !panel ? ";  bars are predicted" : "", NULL);
        gtk_label_set_text(GTK_LABEL(self->axis_words), words);
        g_free(words);
    }
    gtk_drop_down_set_selected(GTK_DROP_DOWN(self->colour), psc_workspace_colour_by(self->ws));
    gtk_drop_down_set_selected(GTK_DROP_DOWN(self->height), psc_workspace_height(self->ws));
    gtk_drop_down_set_selected(GTK_DROP_DOWN(self->halves), psc_workspace_kv_halves(self->ws));
    gtk_widget_set_visible(self->height, mode == PSC_VIEW_MAP && !self->narrow);
    gtk_widget_set_visible(self->colour, !kv && !panel);
    for (guint i = 0; i < G_N_ELEMENTS(self->zoom_buttons); i++)
        gtk_widget_set_visible(self->zoom_buttons[i], !panel);
    gtk_widget_set_visible(self->mode_buttons[G_N_ELEMENTS(modes) - 1], panel || psc_panel_pane_has(self->ws));
    gtk_widget_set_visible(self->halves, kv);
    self->syncing = FALSE;
}

static void changed_cb(PscWindow *self, guint what)
{
    gboolean has = psc_workspace_study(self->ws) != NULL;
    if (what & PSC_CHANGED_DOCUMENT) {
        gtk_widget_set_visible(self->outer, has); /* a page that is not seen must not be read out either */
        gtk_widget_set_visible(self->empty, !has);
        gtk_stack_set_visible_child_name(GTK_STACK(self->stack), has ? "document" : "empty");
        if (!has)
            psc_window_fill_recent(self);
    }
    if (what & PSC_CHANGED_DOCUMENT)
        psc_window_pages_follow(self);
    if (what & PSC_CHANGED_STEPS)
        psc_window_pages_rest(self);
    if (what & (PSC_CHANGED_DOCUMENT | PSC_CHANGED_STUDY | PSC_CHANGED_STEPS))
        show_title(self);
    if (what & (PSC_CHANGED_DOCUMENT | PSC_CHANGED_STUDY | PSC_CHANGED_STEP | PSC_CHANGED_PHASES | PSC_CHANGED_VIEW) ||
        (what & PSC_CHANGED_KV && psc_workspace_kv_reading(self->ws, NULL) != self->kv_reading)) {
        self->kv_reading = psc_workspace_kv_reading(self->ws, NULL);
        psc_window_show_badge(self);
        psc_window_update_actions(self);
    }
    /* the other story of a run is another study, too, and no reason to open another tab */
    gboolean other_story = !(what & PSC_CHANGED_DOCUMENT) && psc_workspace_comparison(self->ws);
    if (what & (PSC_CHANGED_DOCUMENT | PSC_CHANGED_STUDY) && has && !other_story &&
        psc_workspace_study(self->ws)->analysis->check.finding_n > 0)
        psc_drawer_offer_problems(PSC_DRAWER(self->drawer));
    if (what & (PSC_CHANGED_DOCUMENT | PSC_CHANGED_STUDY | PSC_CHANGED_VIEW | PSC_CHANGED_KV))
        show_view(self);
    if (what & (PSC_CHANGED_DOCUMENT | PSC_CHANGED_STUDY | PSC_CHANGED_CURSOR | PSC_CHANGED_SELECTION | PSC_CHANGED_VIEW) ||
        (what & (PSC_CHANGED_STEP | PSC_CHANGED_KV) && psc_workspace_y_mode(self->ws) == PSC_VIEW_KV))
        psc_window_show_status(self);
}

/* ---- width and height --------------------------------------------------------------------------------- */

static gboolean fit_cb(gpointer data)
{
    PscWindow *self = data;
    gboolean narrow = self->narrow;
    self->fitting = FALSE;
    if (narrow && gtk_widget_get_visible(self->lists)) {
        gtk_widget_set_visible(self->lists, FALSE);
        self->lists_hidden_by_width = TRUE;
    } else if (!narrow && self->lists_hidden_by_width) {
        gtk_widget_set_visible(self->lists, TRUE);
        self->lists_hidden_by_width = FALSE;
    }
    psc_stepper_set_narrow(PSC_STEPPER(self->stepper), narrow);
    psc_context_bar_set_room(PSC_CONTEXT_BAR(self->context), self->room);
    psc_window_pages_narrow(self);
    psc_drawer_set_low(PSC_DRAWER(self->drawer), self->low);
    psc_banner_set_low(PSC_BANNER(self->banner), self->low);
    gtk_widget_set_visible(self->axis_words, !narrow);
    gtk_label_set_max_width_chars(GTK_LABEL(self->title), narrow ? 16 : 40);
    gtk_widget_set_size_request(self->inspector, narrow ? 252 : 320, -1);
    psc_window_show_badge(self);
    psc_window_show_status(self);
    show_view(self);
    return G_SOURCE_REMOVE;
}

/* While all is shown it wants more than it needs once it is narrow, which it becomes only when it was made so: it says
   at once what it can do with. The frame in which the lists still stand is cut off at the right. */
static void psc_window_measure(GtkWidget *widget, GtkOrientation orientation, int for_size, int *minimum, int *natural,
                               int *minimum_baseline, int *natural_baseline)
{
    GTK_WIDGET_CLASS(psc_window_parent_class)
        ->measure(widget, orientation, for_size, minimum, natural, minimum_baseline, natural_baseline);
    PscWindow *self = PSC_WINDOW(widget);
    if (orientation == GTK_ORIENTATION_HORIZONTAL && (!self->narrow || self->fitting))
        *minimum = MIN(*minimum, LEAST);
}

static void psc_window_size_allocate(GtkWidget *widget, int width, int height, int baseline)
{
    PscWindow *self = PSC_WINDOW(widget);
    gboolean narrow = width < NARROW, low = height < LOW;
    PscRoom room = width < ROOM_SOME ? PSC_ROOM_SMALL : width < ROOM_ALL ? PSC_ROOM_SOME : PSC_ROOM_ALL;
    if (narrow != self->narrow || low != self->low || room != self->room) {
        self->narrow = narrow;
        self->low = low;
        self->fitting = TRUE;
        self->room = room;
        g_idle_add_full(G_PRIORITY_HIGH_IDLE, fit_cb, g_object_ref(self), g_object_unref);
    }
    GTK_WIDGET_CLASS(psc_window_parent_class)->size_allocate(widget, width, height, baseline);
}

/* ---- building ------------------------------------------------------------------------------- */

static GtkWidget *open_menu(PscWindow *self, GMenu **ret_examples, GMenu **ret_lessons)
{
    GMenu *menu = g_menu_new(), *file = g_menu_new();
    self->recent_menu = g_menu_new();
    *ret_examples = g_menu_new();
    *ret_lessons = g_menu_new();
    g_menu_append(file, "Open a file\xe2\x80\xa6", "win.open");
    g_menu_append(file, "Type an expression\xe2\x80\xa6", "win.type-expression");
    g_menu_append_section(menu, NULL, G_MENU_MODEL(file));
    g_menu_append_section(menu, "Recent", G_MENU_MODEL(self->recent_menu));
    g_menu_append_section(menu, "Examples", G_MENU_MODEL(*ret_examples));
    g_menu_append_submenu(menu, "Lessons", G_MENU_MODEL(*ret_lessons));
    GtkWidget *button = gtk_menu_button_new();
    gtk_menu_button_set_label(GTK_MENU_BUTTON(button), "Open");
    gtk_menu_button_set_menu_model(GTK_MENU_BUTTON(button), G_MENU_MODEL(menu));
    gtk_widget_set_tooltip_text(button, "Open a file (Ctrl+O)");
    g_object_unref(file);
    g_object_unref(menu);
    return button;
}

static GtkWidget *main_menu(void)
{
    GMenu *menu = g_menu_new(), *save = g_menu_new(), *view = g_menu_new(), *help = g_menu_new();
    g_menu_append(save, "Run\xe2\x80\xa6", "win.run");
    g_menu_append(save, "Save as a trace\xe2\x80\xa6", "win.save-trace");
    g_menu_append(save, "Save a picture\xe2\x80\xa6", "win.export-picture");
    g_menu_append(save, "Save the plan\xe2\x80\xa6", "win.export-plan");
    g_menu_append(view, "Light or dark", "win.dark");
    g_menu_append(view, "Lists", "win.lists");
    g_menu_append(view, "Inspector", "win.inspector");
    g_menu_append(view, "Drawer", "win.drawer");
    g_menu_append(view, "Recorded, planned or both", "win.story");
    g_menu_append(view, "Plan options", "win.plan-options");
    g_menu_append(view, "Compare planners", "win.compare");
    g_menu_append(view, "Compare with another file\xe2\x80\xa6", "win.diff-file");
    g_menu_append(help, "Close the document", "win.close-document");
    g_menu_append(help, "Keyboard shortcuts", "win.shortcuts");
    g_menu_append(help, "About Planscope", "win.about");
    g_menu_append(help, "Quit", "app.quit");
    g_menu_append_section(menu, NULL, G_MENU_MODEL(save));
    g_menu_append_section(menu, NULL, G_MENU_MODEL(view));
    g_menu_append_section(menu, NULL, G_MENU_MODEL(help));
    GtkWidget *button = gtk_menu_button_new();
    gtk_menu_button_set_icon_name(GTK_MENU_BUTTON(button), "open-menu-symbolic");
    gtk_menu_button_set_menu_model(GTK_MENU_BUTTON(button), G_MENU_MODEL(menu));
    gtk_menu_button_set_primary(GTK_MENU_BUTTON(button), TRUE);
    gtk_widget_set_tooltip_text(button, "Main menu");
    psc_ui_name(button, "Main menu");
    g_object_unref(save);
    g_object_unref(view);
    g_object_unref(help);
    g_object_unref(menu);
    return button;
}

static GtkWidget *header_new(PscWindow *self, GMenu **ret_examples, GMenu **ret_lessons)
{
    GtkWidget *header = gtk_header_bar_new();
    gtk_header_bar_pack_start(GTK_HEADER_BAR(header), open_menu(self, ret_examples, ret_lessons));
    GtkWidget *run = gtk_button_new_with_label("Run\xe2\x80\xa6");
    gtk_widget_set_tooltip_text(run, "Run a model or a graph (Ctrl+R)");
    gtk_actionable_set_action_name(GTK_ACTIONABLE(run), "win.run");
    gtk_header_bar_pack_start(GTK_HEADER_BAR(header), run);
    self->title_box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0);
    gtk_widget_set_valign(self->title_box, GTK_ALIGN_CENTER);
    self->title = gtk_label_new("Planscope");
    self->subtitle = gtk_label_new(NULL);
    gtk_widget_add_css_class(self->title, "strong");
    gtk_widget_add_css_class(self->subtitle, "dim");
    gtk_widget_add_css_class(self->subtitle, "caption");
    GtkWidget *labels[] = {self->title, self->subtitle};
    for (int i = 0; i < 2; i++) {
        gtk_label_set_xalign(GTK_LABEL(labels[i]), 0);
        gtk_label_set_ellipsize(GTK_LABEL(labels[i]), i ? PANGO_ELLIPSIZE_END : PANGO_ELLIPSIZE_MIDDLE);
        gtk_label_set_width_chars(GTK_LABEL(labels[i]), 10);
        gtk_label_set_max_width_chars(GTK_LABEL(labels[i]), 40);
        gtk_box_append(GTK_BOX(self->title_box), labels[i]);
    }
    gtk_header_bar_pack_start(GTK_HEADER_BAR(header), self->title_box);
    self->stepper = psc_stepper_new(self->ws);
    g_signal_connect_object(self->stepper, "missed", G_CALLBACK(psc_window_set_status), self, G_CONNECT_SWAPPED);
    gtk_header_bar_set_title_widget(GTK_HEADER_BAR(header), self->stepper);
    self->badge = gtk_button_new();
    self->badge_text = gtk_label_new(NULL);
    gtk_label_set_ellipsize(GTK_LABEL(self->badge_text), PANGO_ELLIPSIZE_END);
    gtk_button_set_child(GTK_BUTTON(self->badge), self->badge_text);
    gtk_widget_add_css_class(self->badge, "badge-button");
    gtk_actionable_set_action_name(GTK_ACTIONABLE(self->badge), "win.drawer-tab");
    gtk_actionable_set_action_target(GTK_ACTIONABLE(self->badge), "s", "problems");
    gtk_header_bar_pack_end(GTK_HEADER_BAR(header), main_menu());
    gtk_header_bar_pack_end(GTK_HEADER_BAR(header), psc_icon_button("sidebar-show-symbolic", "Show or hide the lists (F9)", "win.lists"));
    gtk_header_bar_pack_end(GTK_HEADER_BAR(header), psc_icon_button("edit-find-symbolic", "Find in ops and buffers (Ctrl+F)", "win.find"));
    gtk_header_bar_pack_end(GTK_HEADER_BAR(header), self->badge);
    return header;
}

static void mode_cb(GtkToggleButton *button, PscWindow *self)
{
    for (guint i = 0; !self->syncing && i < G_N_ELEMENTS(modes); i++)
        if (GTK_WIDGET(button) == self->mode_buttons[i] && gtk_toggle_button_get_active(button))
            psc_workspace_set_y_mode(self->ws, modes[i].mode);
}

static void halves_cb(PscWindow *self)
{
    if (!self->syncing)
        psc_workspace_set_kv_halves(self->ws, gtk_drop_down_get_selected(GTK_DROP_DOWN(self->halves)));
}

static void colour_cb(PscWindow *self)
{
    if (!self->syncing)
        psc_workspace_set_colour_by(self->ws, gtk_drop_down_get_selected(GTK_DROP_DOWN(self->colour)));
}

static void height_cb(PscWindow *self)
{
    if (!self->syncing)
        psc_workspace_set_height(self->ws, gtk_drop_down_get_selected(GTK_DROP_DOWN(self->height)));
}

static GtkWidget *choice_new(const char *const *words, const char *name, GCallback chosen, PscWindow *self)
{
    GtkWidget *choice = gtk_drop_down_new_from_strings(words);
    psc_ui_name(choice, name);
    gtk_widget_set_tooltip_text(choice, name);
    g_signal_connect_swapped(choice, "notify::selected", chosen, self);
    return choice;
}

static GtkWidget *tool_row_new(PscWindow *self)
{
    static const char *const colours[] = {"by role", "by record", NULL};
    static const char *const halves[] = {"K and V", "K alone", "V alone", NULL};
    static const char *const heights[] = {"auto", "linear", "root", "equal", NULL};
    GtkWidget *row = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 8);
    gtk_widget_add_css_class(row, "tool-row");
    GtkWidget *ways = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 0);
    gtk_widget_add_css_class(ways, "linked");
    for (guint i = 0; i < G_N_ELEMENTS(modes); i++) {
        self->mode_buttons[i] = gtk_toggle_button_new_with_label(modes[i].title);
        if (i)
            gtk_toggle_button_set_group(GTK_TOGGLE_BUTTON(self->mode_buttons[i]), GTK_TOGGLE_BUTTON(self->mode_buttons[0]));
        gtk_box_append(GTK_BOX(ways), self->mode_buttons[i]);
        gtk_widget_set_tooltip_text(self->mode_buttons[i], modes[i].hint);
        g_signal_connect(self->mode_buttons[i], "toggled", G_CALLBACK(mode_cb), self);
    }
    self->axis_words = gtk_label_new(NULL);
    gtk_widget_add_css_class(self->axis_words, "dim");
    gtk_widget_add_css_class(self->axis_words, "caption");
    gtk_widget_set_hexpand(self->axis_words, FALSE);
    gtk_label_set_ellipsize(GTK_LABEL(self->axis_words), PANGO_ELLIPSIZE_END);
    gtk_box_append(GTK_BOX(row), ways);
    gtk_box_append(GTK_BOX(row), self->axis_words);
    GtkWidget *space = gtk_label_new(NULL);
    gtk_widget_set_hexpand(space, TRUE);
    gtk_box_append(GTK_BOX(row), space);
    self->colour = choice_new(colours, "Colour of the bars (C)", G_CALLBACK(colour_cb), self);
    self->height = choice_new(heights, "Height of the buffers in the map", G_CALLBACK(height_cb), self);
    self->halves = choice_new(halves, "Regions shown (V)", G_CALLBACK(halves_cb), self);
    gtk_box_append(GTK_BOX(row), self->halves);
    gtk_box_append(GTK_BOX(row), self->height);
    gtk_box_append(GTK_BOX(row), self->colour);
    self->zoom_buttons[0] = psc_icon_button("zoom-out-symbolic", "Zoom out (S)", "win.zoom-out");
    self->zoom_buttons[1] = psc_icon_button("zoom-fit-best-symbolic", "Whole run (0)", "win.show-all");
    self->zoom_buttons[2] = psc_icon_button("zoom-in-symbolic", "Zoom in (W)", "win.zoom-in");
    for (guint i = 0; i < G_N_ELEMENTS(self->zoom_buttons); i++)
        gtk_box_append(GTK_BOX(row), self->zoom_buttons[i]);
    return row;
}

static GtkWidget *document_page_new(PscWindow *self)
{
    self->lists = psc_list_pane_new(self->ws);
    gtk_widget_set_size_request(self->lists, 256, -1);
    self->timeline = psc_timeline_new(self->ws);
    self->drawer = psc_drawer_new(self->ws);
    self->inspector = psc_inspector_new(self->ws);
    gtk_widget_set_size_request(self->inspector, 320, -1);
    GtkWidget *centre = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0);
    gtk_widget_add_css_class(centre, "centre");
    gtk_box_append(GTK_BOX(centre), tool_row_new(self));
    gtk_box_append(GTK_BOX(centre), psc_story_switch_new(self->ws));
    self->kv = psc_kv_pane_new(self->ws);
    self->views = gtk_stack_new();
    gtk_stack_add_child(GTK_STACK(self->views), self->timeline);
    gtk_stack_add_child(GTK_STACK(self->views), self->kv);
    self->panel = psc_panel_pane_new(self->ws);
    gtk_stack_add_child(GTK_STACK(self->views), self->panel);
    gtk_widget_set_vexpand(self->views, TRUE);
    gtk_widget_set_hexpand(self->views, TRUE);
    gtk_box_append(GTK_BOX(centre), self->views);
    gtk_box_append(GTK_BOX(centre), self->drawer);
    self->inner = gtk_paned_new(GTK_ORIENTATION_HORIZONTAL);
    gtk_paned_set_start_child(GTK_PANED(self->inner), centre);
    gtk_paned_set_end_child(GTK_PANED(self->inner), self->inspector);
    gtk_paned_set_resize_end_child(GTK_PANED(self->inner), FALSE);
    gtk_paned_set_shrink_start_child(GTK_PANED(self->inner), FALSE);
    gtk_paned_set_shrink_end_child(GTK_PANED(self->inner), FALSE);
    self->outer = gtk_paned_new(GTK_ORIENTATION_HORIZONTAL);
    gtk_paned_set_start_child(GTK_PANED(self->outer), self->lists);
    gtk_paned_set_end_child(GTK_PANED(self->outer), self->inner);
    gtk_paned_set_resize_start_child(GTK_PANED(self->outer), FALSE);
    gtk_paned_set_shrink_start_child(GTK_PANED(self->outer), FALSE);
    gtk_paned_set_shrink_end_child(GTK_PANED(self->outer), FALSE);
    gtk_paned_set_position(GTK_PANED(self->outer), 330);
    gtk_widget_set_vexpand(self->outer, TRUE);
    return self->outer;
}

static GtkWidget *progress_new(PscWindow *self)
{
    self->progress = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 10);
    gtk_widget_add_css_class(self->progress, "banner");
    gtk_widget_add_css_class(self->progress, "plan");
    self->progress_text = gtk_label_new(NULL);
    self->progress_bar = gtk_progress_bar_new();
    gtk_widget_set_hexpand(self->progress_bar, TRUE);
    gtk_widget_set_valign(self->progress_bar, GTK_ALIGN_CENTER);
    psc_ui_name(self->progress_bar, "Progress of opening");
    GtkWidget *cancel = gtk_button_new_with_label("Cancel");
    gtk_actionable_set_action_name(GTK_ACTIONABLE(cancel), "win.cancel-open");
    gtk_box_append(GTK_BOX(self->progress), self->progress_text);
    gtk_box_append(GTK_BOX(self->progress), self->progress_bar);
    gtk_box_append(GTK_BOX(self->progress), cancel);
    gtk_widget_set_visible(self->progress, FALSE);
    return self->progress;
}

static GtkWidget *status_new(PscWindow *self)
{
    GtkWidget *bar = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 10);
    gtk_widget_add_css_class(bar, "status");
    self->status = gtk_inscription_new(NULL); /* asks for no other size when its text changes, as with each step */
    gtk_inscription_set_text_overflow(GTK_INSCRIPTION(self->status), GTK_INSCRIPTION_OVERFLOW_ELLIPSIZE_END);
    gtk_inscription_set_min_chars(GTK_INSCRIPTION(self->status), 20);
    gtk_widget_set_hexpand(self->status, TRUE);
    self->hints = gtk_label_new(NULL);
    gtk_widget_add_css_class(self->hints, "dim");
    gtk_box_append(GTK_BOX(bar), self->status);
    gtk_box_append(GTK_BOX(bar), self->hints);
    return bar;
}

static void psc_window_dispose(GObject *object)
{
    PscWindow *self = PSC_WINDOW(object);
    g_clear_handle_id(&self->play, g_source_remove);
    if (self->opening)
        psc_open_abandon(g_steal_pointer(&self->opening));
    if (self->opening_other)
        psc_open_abandon(g_steal_pointer(&self->opening_other));
    g_clear_pointer(&self->other_path, g_free);
    psc_window_stop_run(self);
    g_clear_object(&self->recent_menu);
    g_clear_object(&self->ws);
    G_OBJECT_CLASS(psc_window_parent_class)->dispose(object);
}

static void psc_window_class_init(PscWindowClass *class)
{
    G_OBJECT_CLASS(class)->dispose = psc_window_dispose;
    GTK_WIDGET_CLASS(class)->measure = psc_window_measure;
    GTK_WIDGET_CLASS(class)->size_allocate = psc_window_size_allocate;
    psc_window_install_actions(GTK_WIDGET_CLASS(class));
}

static void psc_window_init(PscWindow *self)
{
    GMenu *examples, *lessons;
    self->ws = psc_workspace_new();
    self->room = PSC_ROOM_ALL;
    gtk_window_set_default_size(GTK_WINDOW(self), 1400, 900);
    gtk_widget_set_size_request(GTK_WIDGET(self), 860, 480);
    gtk_window_set_titlebar(GTK_WINDOW(self), header_new(self, &examples, &lessons));
    GtkWidget *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0);
    self->context = psc_context_bar_new(self->ws);
    self->banner = psc_banner_new(self->ws);
    self->stack = gtk_stack_new();
    self->empty = psc_empty_page_new();
    gtk_stack_add_named(GTK_STACK(self->stack), self->empty, "empty");
    gtk_stack_add_named(GTK_STACK(self->stack), document_page_new(self), "document");
    gtk_widget_set_vexpand(self->stack, TRUE);
    psc_window_add_pages(self);
    self->context_box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0); /* hidden with the timeline, whatever is in them */
    self->banner_box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0);
    gtk_box_append(GTK_BOX(self->context_box), self->context);
    gtk_box_append(GTK_BOX(self->banner_box), self->banner);
    gtk_box_append(GTK_BOX(box), self->context_box);
    gtk_box_append(GTK_BOX(box), progress_new(self));
    gtk_box_append(GTK_BOX(box), self->banner_box);
    gtk_box_append(GTK_BOX(box), self->stack);
    gtk_box_append(GTK_BOX(box), status_new(self));
    gtk_window_set_child(GTK_WINDOW(self), box);
    psc_keys_attach(box);
    psc_keys_attach(gtk_window_get_titlebar(GTK_WINDOW(self)));
    psc_window_fill_examples(self, examples, lessons);
    g_object_unref(examples);
    g_object_unref(lessons);
    psc_window_accept_drops(self);
    g_signal_connect_object(self->ws, "changed", G_CALLBACK(changed_cb), self, G_CONNECT_SWAPPED);
    changed_cb(self, PSC_CHANGED_ALL);
}

PscWindow *psc_window_new(PscApplication *application)
{
    return g_object_new(PSC_TYPE_WINDOW, "application", application, NULL);
}
