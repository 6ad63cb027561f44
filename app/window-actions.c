#include "app/window-private.h"

#include "app/export.h"
#include "core/debug/explain.h"
#include "ui/keys.h"
#include "ui/navigate.h"
#include "ui/palette.h"
#include "ui/workspace-phases.h"

#define PLAY_MS 180
#define PLAY_SLOW_MS 700

static gboolean in_kv(PscWindow *self)
{
    return psc_workspace_y_mode(self->ws) == PSC_VIEW_KV && self->page == PSC_PAGE_TIMELINE;
}

/* The timeline that keys of the map act on: of two plans that of the first, along with which the other one goes. */
static PscTimeline *timeline_of(PscWindow *self)
{
    return PSC_TIMELINE(self->page == PSC_PAGE_PAIR ? psc_pair_page_timeline(PSC_PAIR_PAGE(self->pair)) : self->timeline);
}

/* ---- stepping ------------------------------------------------------------------------------ */

static void forward(PscWindow *self)
{
    psc_navigate_by(self->ws, 1);
}

static void back(PscWindow *self)
{
    psc_navigate_by(self->ws, -1);
}

static void next_layer(PscWindow *self)
{
    psc_navigate_layer(self->ws, 1);
}

static void previous_layer(PscWindow *self)
{
    psc_navigate_layer(self->ws, -1);
}

static void next_split(PscWindow *self)
{
    psc_navigate_split(self->ws, 1);
}

static void previous_split(PscWindow *self)
{
    psc_navigate_split(self->ws, -1);
}

static void first(PscWindow *self)
{
    psc_navigate_end(self->ws, -1);
}

static void last(PscWindow *self)
{
    psc_navigate_end(self->ws, 1);
}

static void peak(PscWindow *self)
{
    psc_navigate_peak(self->ws);
}

static void next_access(PscWindow *self)
{
    psc_navigate_access(self->ws, 1, false);
}

static void previous_access(PscWindow *self)
{
    psc_navigate_access(self->ws, -1, false);
}

static void next_write(PscWindow *self)
{
    psc_navigate_access(self->ws, 1, true);
}

static void previous_write(PscWindow *self)
{
    psc_navigate_access(self->ws, -1, true);
}

static void last_writer(PscWindow *self)
{
    psc_navigate_last_writer(self->ws);
}

static void next_reader(PscWindow *self)
{
    psc_navigate_next_reader(self->ws);
}

/* In the KV view the reads of rows that nobody wrote come first. */
static void to_problem(PscWindow *self, int direction)
{
    if (!in_kv(self) || !psc_workspace_kv_alarm(self->ws, direction))
        psc_navigate_problem(self->ws, direction);
}

static void next_problem(PscWindow *self)
{
    to_problem(self, 1);
}

static void previous_problem(PscWindow *self)
{
    to_problem(self, -1);
}

static void next_wrong_phase(PscWindow *self)
{
    psc_workspace_go_to_wrong(self->ws, 1);
}

static void show_problem(PscWindow *self)
{
    psc_workspace_select_finding(self->ws, MAX(psc_workspace_selection(self->ws).finding, 0));
}

static void show_unwritten(PscWindow *self)
{
    psc_workspace_set_y_mode(self->ws, PSC_VIEW_KV);
    psc_workspace_kv_alarm(self->ws, 1);
}

static void show_invariant(PscWindow *self)
{
    psc_workspace_set_y_mode(self->ws, PSC_VIEW_PANEL);
    psc_navigate_invariant(self->ws, 1);
}

static void row_up(PscWindow *self)
{
    psc_navigate_row(self->ws, -1);
}

static void row_down(PscWindow *self)
{
    psc_navigate_row(self->ws, 1);
}

/* ---- playing ------------------------------------------------------------------------------- */

static gboolean play_cb(gpointer data)
{
    PscWindow *self = data;
    if (psc_navigate_by(self->ws, 1) && psc_workspace_cursor(self->ws) < psc_study_end(psc_workspace_study(self->ws)))
        return G_SOURCE_CONTINUE;
    self->play = 0;
    psc_stepper_set_playing(PSC_STEPPER(self->stepper), FALSE);
    return G_SOURCE_REMOVE;
}

void psc_window_stop_play(PscWindow *self)
{
    g_clear_handle_id(&self->play, g_source_remove);
    psc_stepper_set_playing(PSC_STEPPER(self->stepper), FALSE);
}

static void toggle_play(PscWindow *self, guint interval)
{
    if (self->play) {
        psc_window_stop_play(self);
        return;
    }
    if (!psc_workspace_study(self->ws))
        return;
    self->play = g_timeout_add(interval, play_cb, self);
    psc_stepper_set_playing(PSC_STEPPER(self->stepper), TRUE);
}

static void play(PscWindow *self)
{
    toggle_play(self, PLAY_MS);
}

static void play_slow(PscWindow *self)
{
    toggle_play(self, PLAY_SLOW_MS);
}

/* ---- map ----------------------------------------------------------------------------------- */

static void zoom(PscWindow *self, double factor)
{
    if (in_kv(self))
        psc_kv_pane_zoom_rows(PSC_KV_PANE(self->kv), factor);
    else
        psc_timeline_zoom(timeline_of(self), factor);
}

static void zoom_in(PscWindow *self)
{
    zoom(self, 1.5);
}

static void zoom_out(PscWindow *self)
{
    zoom(self, 1 / 1.5);
}

static void zoom_heights(PscWindow *self, double factor)
{
    if (in_kv(self))
        psc_kv_pane_zoom_layers(PSC_KV_PANE(self->kv), factor);
    else
        psc_timeline_zoom_rows(timeline_of(self), factor);
}

static void taller(PscWindow *self)
{
    zoom_heights(self, 1.25);
}

static void lower(PscWindow *self)
{
    zoom_heights(self, 1 / 1.25);
}

static void pan(PscWindow *self, double part)
{
    double x0, x1;
    if (in_kv(self)) {
        psc_workspace_kv_range(self->ws, &x0, &x1);
        psc_workspace_set_kv_range(self->ws, x0 + (x1 - x0) * part, x1 + (x1 - x0) * part);
        return;
    }
    psc_workspace_range(self->ws, &x0, &x1);
    double by = (x1 - x0) * part;
    psc_workspace_set_range(self->ws, x0 + by, x1 + by);
}

static void pan_left(PscWindow *self)
{
    pan(self, -0.2);
}

static void pan_right(PscWindow *self)
{
    pan(self, 0.2);
}

static void show_all(PscWindow *self)
{
    if (in_kv(self)) {
        psc_kv_pane_show_all(PSC_KV_PANE(self->kv));
        return;
    }
    psc_timeline_reset_rows(timeline_of(self));
    psc_workspace_show_all(self->ws);
}

static void fit_selection(PscWindow *self)
{
    if (in_kv(self))
        psc_kv_pane_show_step(PSC_KV_PANE(self->kv));
    else
        psc_timeline_fit_selection(timeline_of(self));
}

static void toggle_mode(PscWindow *self)
{
    psc_workspace_set_y_mode(self->ws, psc_workspace_y_mode(self->ws) == PSC_VIEW_ROWS ? PSC_VIEW_MAP : PSC_VIEW_ROWS);
}

/* Recorded, planned, both, recorded ...; without a choice the status line says why. */
static void story(PscWindow *self)
{
    const char *reason = psc_workspace_no_story_choice(self->ws);
    if (reason)
        psc_window_set_status(self, reason);
    else
        psc_workspace_set_story(self->ws, (psc_workspace_story(self->ws) + 1) % PSC_STORY_N);
}

static void kv_halves(PscWindow *self)
{
    if (in_kv(self))
        psc_workspace_set_kv_halves(self->ws, (psc_workspace_kv_halves(self->ws) + 1) % PSC_KV_HALVES_N);
}

static void next_step(PscWindow *self)
{
    psc_workspace_step_by(self->ws, 1);
}

static void previous_step(PscWindow *self)
{
    psc_workspace_step_by(self->ws, -1);
}

static void phase_by(PscWindow *self, int by)
{
    int phase = (int)psc_workspace_phase_index(self->ws) + by;
    if (phase >= 0 && phase < (int)psc_workspace_phase_n(self->ws))
        psc_workspace_set_phase(self->ws, (guint)phase);
}

static void next_phase(PscWindow *self)
{
    phase_by(self, 1);
}

static void previous_phase(PscWindow *self)
{
    phase_by(self, -1);
}

static void toggle_colour(PscWindow *self)
{
    psc_workspace_set_colour_by(self->ws, psc_workspace_colour_by(self->ws) == PSC_BY_ROLE ? PSC_BY_RECORD
                                                                                           : PSC_BY_ROLE);
}

/* ---- window -------------------------------------------------------------------------------- */

static void open(PscWindow *self)
{
    psc_window_choose_file(self);
}

static void close_document(PscWindow *self)
{
    psc_window_stop_play(self);
    if (psc_workspace_document(self->ws))
        psc_workspace_close(self->ws);
    else
        gtk_window_close(GTK_WINDOW(self));
}

static void cancel_open(PscWindow *self)
{
    psc_window_cancel_open(self);
}

static void go_to(PscWindow *self)
{
    psc_stepper_focus_entry(PSC_STEPPER(self->stepper));
}

static void find(PscWindow *self)
{
    gtk_widget_set_visible(self->lists, TRUE);
    psc_list_pane_focus_filter(PSC_LIST_PANE(self->lists));
}

static void focus_map(PscWindow *self)
{
    gtk_widget_grab_focus(psc_window_centre(self));
}

static void plan_options(PscWindow *self)
{
    psc_context_bar_open_plan(PSC_CONTEXT_BAR(self->context));
}

static gboolean has_focus(PscWindow *self, GtkWidget *pane)
{
    GtkWidget *focus = gtk_window_get_focus(GTK_WINDOW(self));
    return focus && (focus == pane || gtk_widget_is_ancestor(focus, pane));
}

/* The focus must not be lost with what goes. */
static void show_or_hide(PscWindow *self, GtkWidget *pane)
{
    if (has_focus(self, pane))
        focus_map(self);
    gtk_widget_set_visible(pane, !gtk_widget_get_visible(pane));
}

static void lists(PscWindow *self)
{
    self->lists_hidden_by_width = FALSE;
    show_or_hide(self, self->lists);
}

static void inspector(PscWindow *self)
{
    show_or_hide(self, self->inspector);
}

static void drawer(PscWindow *self)
{
    psc_drawer_toggle(PSC_DRAWER(self->drawer));
}

enum { PANES = 9 };

static GtkWidget *pane_at(PscWindow *self, int i)
{
    GtkWidget *panes[PANES] = {psc_window_centre(self), self->inspector, self->drawer, self->contest, self->pair,
                               gtk_window_get_titlebar(GTK_WINDOW(self)), self->context, self->banner, self->lists};
    return panes[i];
}

static void move_pane(PscWindow *self, int by)
{
    int at = 0;
    for (int i = 0; i < PANES; i++)
        if (has_focus(self, pane_at(self, i)))
            at = i;
    for (int i = 1; i <= PANES; i++) {
        GtkWidget *pane = pane_at(self, (at + by * i + PANES * PANES) % PANES);
        if (gtk_widget_get_mapped(pane) && (gtk_widget_grab_focus(pane) || gtk_widget_child_focus(pane, GTK_DIR_TAB_FORWARD)))
            return;
    }
}

static void next_pane(PscWindow *self)
{
    move_pane(self, 1);
}

static void previous_pane(PscWindow *self)
{
    move_pane(self, -1);
}

static void clear(PscWindow *self)
{
    if (self->page != PSC_PAGE_TIMELINE) {
        psc_window_show_timeline(self);
        return;
    }
    if (gtk_window_get_focus(GTK_WINDOW(self)) && !has_focus(self, psc_window_centre(self))) {
        focus_map(self);
        return;
    }
    psc_workspace_select_nothing(self->ws);
    if (in_kv(self))
        psc_workspace_select_kv(self->ws, PSC_NONE, PSC_NONE, FALSE);
}

static void full_screen(PscWindow *self)
{
    if (gtk_window_is_fullscreen(GTK_WINDOW(self)))
        gtk_window_unfullscreen(GTK_WINDOW(self));
    else
        gtk_window_fullscreen(GTK_WINDOW(self));
}

static void shortcuts(PscWindow *self)
{
    gtk_window_present(GTK_WINDOW(psc_keys_window_new(GTK_WINDOW(self))));
}

static void dark(PscWindow *self G_GNUC_UNUSED)
{
    psc_ui_set_dark(!psc_ui_is_dark());
}

static void about(PscWindow *self)
{
    gtk_show_about_dialog(GTK_WINDOW(self), "program-name", "Planscope", "version", PSC_VERSION, "comments",
                          "See where every tensor of a compute graph lives, step through the run, and catch the "
                          "write that lands on a value still needed.",
                          "license-type", GTK_LICENSE_MIT_X11, "logo-icon-name", "org.planscope.Planscope", NULL);
}

/* The selection in words: on the clipboard, and in the status line for a look. */
static void explain(PscWindow *self)
{
    PscStudy *study = psc_workspace_study(self->ws);
    PscSelection selection = psc_workspace_selection(self->ws);
    struct psc_text text = {0};
    if (psc_workspace_y_mode(self->ws) == PSC_VIEW_PANEL && psc_panel_pane_has(self->ws)) {
        psc_panel_pane_explain(PSC_PANEL_PANE(self->panel), &text);
    } else if (selection.finding >= 0) {
        const struct psc_finding *f = &study->analysis->check.findings[selection.finding];
        psc_explain_finding(&text, study->analysis, f);
        psc_text_add(&text, " ");
        psc_explain_finding_more(&text, study->analysis, f);
    } else if (selection.node != PSC_NONE) {
        const struct psc_record_verdict *v = psc_records_verdict(psc_workspace_records(self->ws), selection.node);
        psc_explain_place(&text, study->analysis, selection.node);
        if (v) {
            psc_text_add(&text, " ");
            psc_explain_record(&text, study->analysis, v);
        }
    } else {
        psc_explain_position(&text, study->analysis, psc_workspace_cursor(self->ws));
    }
    gdk_clipboard_set_text(gtk_widget_get_clipboard(GTK_WIDGET(self)), psc_text_str(&text));
    psc_window_set_status(self, psc_text_str(&text));
    psc_text_release(&text);
}

/* ---- the table ------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    void (*run)(PscWindow *self);
    gboolean needs_document;
} actions[] = {
    {"win.forward", forward, TRUE},
    {"win.back", back, TRUE},
    {"win.next-layer", next_layer, TRUE},
    {"win.previous-layer", previous_layer, TRUE},
    {"win.next-split", next_split, TRUE},
    {"win.previous-split", previous_split, TRUE},
    {"win.first", first, TRUE},
    {"win.last", last, TRUE},
    {"win.peak", peak, TRUE},
    {"win.play", play, TRUE},
    {"win.play-slow", play_slow, TRUE},
    {"win.go-to", go_to, TRUE},
    {"win.next-access", next_access, TRUE},
    {"win.previous-access", previous_access, TRUE},
    {"win.next-write", next_write, TRUE},
    {"win.previous-write", previous_write, TRUE},
    {"win.last-writer", last_writer, TRUE},
    {"win.next-reader", next_reader, TRUE},
    {"win.next-problem", next_problem, TRUE},
    {"win.previous-problem", previous_problem, TRUE},
    {"win.next-wrong-phase", next_wrong_phase, TRUE},
    {"win.show-problem", show_problem, TRUE},
    {"win.show-unwritten", show_unwritten, TRUE},
    {"win.show-invariant", show_invariant, TRUE},
    {"win.row-up", row_up, TRUE},
    {"win.row-down", row_down, TRUE},
    {"win.explain", explain, TRUE},
    {"win.zoom-in", zoom_in, TRUE},
    {"win.zoom-out", zoom_out, TRUE},
    {"win.taller", taller, TRUE},
    {"win.lower", lower, TRUE},
    {"win.pan-left", pan_left, TRUE},
    {"win.pan-right", pan_right, TRUE},
    {"win.show-all", show_all, TRUE},
    {"win.fit-selection", fit_selection, TRUE},
    {"win.toggle-mode", toggle_mode, TRUE},
    {"win.toggle-colour", toggle_colour, TRUE},
    {"win.story", story, TRUE},
    {"win.kv-halves", kv_halves, TRUE},
    {"win.next-step", next_step, TRUE},
    {"win.previous-step", previous_step, TRUE},
    {"win.next-phase", next_phase, TRUE},
    {"win.previous-phase", previous_phase, TRUE},
    {"win.find", find, TRUE},
    {"win.focus-map", focus_map, TRUE},
    {"win.plan-options", plan_options, TRUE},
    {"win.compare", psc_window_compare, TRUE},
    {"win.show-timeline", psc_window_show_timeline, TRUE},
    {"win.diff-planner", psc_window_diff_planner, TRUE},
    {"win.diff-file", psc_window_diff_file, TRUE},
    {"win.lists", lists, TRUE},
    {"win.inspector", inspector, TRUE},
    {"win.drawer", drawer, TRUE},
    {"win.clear", clear, TRUE},
    {"win.export-picture", psc_window_export_picture, TRUE},
    {"win.export-plan", psc_window_export_plan, TRUE},
    {"win.save-trace", psc_window_save_trace, TRUE},
    {"win.run", psc_window_ask_run, FALSE},
    {"win.open", open, FALSE},
    {"win.type-expression", psc_window_type_expression, FALSE},
    {"win.cancel-open", cancel_open, FALSE},
    {"win.close-document", close_document, FALSE},
    {"win.next-pane", next_pane, TRUE},
    {"win.previous-pane", previous_pane, TRUE},
    {"win.full-screen", full_screen, FALSE},
    {"win.shortcuts", shortcuts, FALSE},
    {"win.dark", dark, FALSE},
    {"win.about", about, FALSE},
};

/* What these show stands on the timeline's page: it comes up first. */
static gboolean is_of_timeline(const char *name)
{
    static const char *const names[] = {"win.find", "win.plan-options", "win.drawer", "win.lists", "win.inspector", "win.focus-map",
                                        "win.show-problem", "win.show-unwritten", "win.next-problem", "win.previous-problem",
                                        "win.next-wrong-phase", "win.toggle-mode", NULL};
    return g_strv_contains(names, name);
}

static void run_cb(GtkWidget *widget, const char *name, GVariant *value G_GNUC_UNUSED)
{
    if (is_of_timeline(name))
        psc_window_show_timeline(PSC_WINDOW(widget));
    for (guint i = 0; i < G_N_ELEMENTS(actions); i++)
        if (g_str_equal(actions[i].name, name))
            actions[i].run(PSC_WINDOW(widget));
}

static void open_path_cb(GtkWidget *widget, const char *name G_GNUC_UNUSED, GVariant *value)
{
    psc_window_open_path(PSC_WINDOW(widget), g_variant_get_string(value, NULL));
}

static void plan_expression_cb(GtkWidget *widget, const char *name G_GNUC_UNUSED, GVariant *value)
{
    psc_window_plan_expression(PSC_WINDOW(widget), g_variant_get_string(value, NULL));
}

static void drawer_tab_cb(GtkWidget *widget, const char *name G_GNUC_UNUSED, GVariant *value)
{
    PscWindow *self = PSC_WINDOW(widget);
    psc_window_show_timeline(self);
    if (!psc_drawer_show_tab(PSC_DRAWER(self->drawer), g_variant_get_string(value, NULL)))
        psc_window_set_status(self, psc_workspace_no_story_choice(self->ws)); /* only of differences there may be none to list */
}

static void mode_cb(GtkWidget *widget, const char *name G_GNUC_UNUSED, GVariant *value)
{
    static const struct {
        const char *name;
        enum psc_view_mode mode;
    } named[] = {{"map", PSC_VIEW_MAP}, {"rows", PSC_VIEW_ROWS}, {"usage", PSC_VIEW_USAGE}, {"kv", PSC_VIEW_KV}, {"panel", PSC_VIEW_PANEL}};
    PscWorkspace *ws = PSC_WINDOW(widget)->ws;
    const char *wanted = g_variant_get_string(value, NULL);
    psc_window_show_timeline(PSC_WINDOW(widget));
    if (g_str_equal(wanted, "inside")) /* the badge leads there and never back */
        psc_workspace_set_y_mode(ws, PSC_VIEW_PANEL);
    for (guint i = 0; i < G_N_ELEMENTS(named); i++)
        if (g_str_equal(named[i].name, wanted)) /* the same key again leads back to the map */
            psc_workspace_set_y_mode(ws, psc_workspace_y_mode(ws) == named[i].mode ? PSC_VIEW_MAP : named[i].mode);
}

void psc_window_install_actions(GtkWidgetClass *class)
{
    gtk_widget_class_install_action(class, "win.mode", "s", mode_cb);
    for (guint i = 0; i < G_N_ELEMENTS(actions); i++)
        gtk_widget_class_install_action(class, actions[i].name, NULL, run_cb);
    gtk_widget_class_install_action(class, "win.open-path", "s", open_path_cb);
    gtk_widget_class_install_action(class, "win.plan-expression", "s", plan_expression_cb);
    gtk_widget_class_install_action(class, "win.drawer-tab", "s", drawer_tab_cb);
}

void psc_window_update_actions(PscWindow *self)
{
    gboolean has = psc_workspace_study(self->ws) != NULL;
    uint32_t clobbers, problems = psc_navigate_problem_n(self->ws, &clobbers, NULL);
    for (guint i = 0; i < G_N_ELEMENTS(actions); i++)
        gtk_widget_action_set_enabled(GTK_WIDGET(self), actions[i].name, has || !actions[i].needs_document);
    gtk_widget_action_set_enabled(GTK_WIDGET(self), "win.drawer-tab", has);
    gtk_widget_action_set_enabled(GTK_WIDGET(self), "win.mode", has);
    const struct psc_kv_step *kv = has && in_kv(self) ? psc_workspace_kv(self->ws) : NULL;
    if (kv)
        problems += kv->alarm_n;
    const struct psc_story *story = has ? psc_workspace_study(self->ws)->analysis->story : NULL;
    if (story)
        problems += story->alarm_n;
    problems += has && psc_workspace_wrong_phase(self->ws, 1) != PSC_NONE;
    gtk_widget_action_set_enabled(GTK_WIDGET(self), "win.next-problem", problems > 0);
    gtk_widget_action_set_enabled(GTK_WIDGET(self), "win.previous-problem", problems > 0);
    gtk_widget_action_set_enabled(GTK_WIDGET(self), "win.show-problem", clobbers > 0);
    gtk_widget_action_set_enabled(GTK_WIDGET(self), "win.cancel-open", self->opening != NULL);
}
