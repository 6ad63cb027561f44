#include "ui/kv-pane-private.h"

#include "core/base/text.h"
#include "core/debug/explain-rows.h"
#include "ui/kv-words.h"

#include <math.h>

#define CARD_MS 150
#define DRAG_MIN 4 /* px before a press becomes a drag */
#define WHEEL_PX 48
#define PAGE_ROWS 16

/* ---- the card -------------------------------------------------------------------------------------------------- */

void psc_kv_pane_hide_card(PscKvPane *self)
{
    g_clear_handle_id(&self->card_timer, g_source_remove);
    if (self->card)
        gtk_widget_set_visible(self->card, FALSE);
}

static char *card_text(PscKvPane *self, const struct psc_kv_hit *hit)
{
    const struct psc_kv_step *step = psc_workspace_kv(self->ws);
    struct psc_text text = {0};
    if (hit->alarm != PSC_NONE) {
        psc_text_add(&text, "\xe2\x9a\xa0 ");
        psc_explain_kv_alarm(&text, step, &step->alarms[hit->alarm]);
    } else if (hit->what == PSC_KV_HIT_CELL) {
        psc_kv_cell_words(&text, step, hit->layer, hit->row, psc_workspace_cursor(self->ws));
    }
    char *ret = text.n ? g_strdup(psc_text_str(&text)) : NULL;
    psc_text_release(&text);
    return ret;
}

static gboolean show_card_cb(gpointer data)
{
    PscKvPane *self = data;
    self->card_timer = 0;
    if (!psc_kv_pane_ready(self) || self->drag != PSC_KV_DRAG_NONE)
        return G_SOURCE_REMOVE;
    struct psc_kv_hit hit = psc_kv_page_hit(&self->page, self->px, self->py);
    char *text = card_text(self, &hit);
    if (text) {
        self->hovered = hit.area;
        gtk_label_set_text(GTK_LABEL(self->card), text);
        gtk_widget_set_visible(self->card, TRUE);
        gtk_widget_queue_allocate(GTK_WIDGET(self));
    }
    g_free(text);
    return G_SOURCE_REMOVE;
}

static void set_hovered(PscKvPane *self, uint32_t layer, uint32_t row)
{
    if (layer == self->hover_layer && row == self->hover_row)
        return;
    self->hover_layer = layer;
    self->hover_row = row;
    gtk_widget_queue_draw(GTK_WIDGET(self));
}

static void motion_cb(GtkEventControllerMotion *motion G_GNUC_UNUSED, double x, double y, PscKvPane *self)
{
    self->px = x;
    self->py = y;
    if (!psc_kv_pane_ready(self) || self->drag != PSC_KV_DRAG_NONE)
        return;
    struct psc_kv_hit hit = psc_kv_page_hit(&self->page, x, y);
    gboolean handle = hit.what == PSC_KV_HIT_HANDLE_LEFT || hit.what == PSC_KV_HIT_HANDLE_RIGHT;
    gtk_widget_set_cursor_from_name(GTK_WIDGET(self), handle                              ? "col-resize"
                                                      : hit.what == PSC_KV_HIT_WINDOW     ? "grab"
                                                                                          : "default");
    gboolean on_cell = hit.what == PSC_KV_HIT_CELL;
    if (!on_cell || hit.layer != self->hover_layer || hit.row != self->hover_row)
        psc_kv_pane_hide_card(self);
    set_hovered(self, on_cell ? hit.layer : PSC_NONE, on_cell ? hit.row : PSC_NONE);
    if (on_cell && !gtk_widget_get_visible(self->card) && !self->card_timer)
        self->card_timer = g_timeout_add(CARD_MS, show_card_cb, self);
}

static void leave_cb(GtkEventControllerMotion *motion G_GNUC_UNUSED, PscKvPane *self)
{
    psc_kv_pane_hide_card(self);
    set_hovered(self, PSC_NONE, PSC_NONE);
}

/* ---- wheel ------------------------------------------------------------------------------------------------------- */

static void pan_by(PscKvPane *self, double part)
{
    double lo, hi;
    psc_workspace_kv_range(self->ws, &lo, &hi);
    psc_workspace_set_kv_range(self->ws, lo + part * (hi - lo), hi + part * (hi - lo));
}

static gboolean scroll_cb(GtkEventControllerScroll *scroll, double dx, double dy, PscKvPane *self)
{
    GdkModifierType state = gtk_event_controller_get_current_event_state(GTK_EVENT_CONTROLLER(scroll));
    double unit = gtk_event_controller_scroll_get_unit(scroll) == GDK_SCROLL_UNIT_WHEEL ? 1 : 1.0 / WHEEL_PX;
    if (!psc_kv_pane_ready(self))
        return FALSE;
    psc_kv_pane_hide_card(self);
    gboolean control = (state & GDK_CONTROL_MASK) != 0, shift = (state & GDK_SHIFT_MASK) != 0;
    double main = dy != 0 ? dy : dx;
    if (control && shift) {
        psc_kv_pane_zoom_layers_at(self, self->py, pow(1.2, -main * unit));
    } else if (control) {
        psc_kv_pane_zoom_rows_at(self, self->px, pow(1.25, -main * unit));
    } else if (shift) {
        pan_by(self, main * unit * 0.1);
    } else {
        if (dx != 0)
            pan_by(self, dx * unit * 0.1);
        if (psc_kv_max_scroll(&self->page) > 0)
            psc_kv_pane_set_scroll(self, self->y + dy * unit * WHEEL_PX);
        else
            pan_by(self, dy * unit * 0.1); /* all layers are in sight: the wheel has nothing else to move */
    }
    return TRUE;
}

/* ---- dragging and clicking ------------------------------------------------------------------------------------------ */

static void drag_begin_cb(GtkGestureDrag *gesture, double x, double y, PscKvPane *self)
{
    if (!psc_kv_pane_ready(self)) {
        gtk_gesture_set_state(GTK_GESTURE(gesture), GTK_EVENT_SEQUENCE_DENIED);
        return;
    }
    gtk_widget_grab_focus(GTK_WIDGET(self));
    psc_kv_pane_hide_card(self);
    struct psc_kv_hit hit = psc_kv_page_hit(&self->page, x, y);
    psc_workspace_kv_range(self->ws, &self->drag_lo, &self->drag_hi);
    self->drag_y = self->y;
    switch (hit.what) {
    case PSC_KV_HIT_HANDLE_LEFT: self->drag = PSC_KV_DRAG_LEFT; break;
    case PSC_KV_HIT_HANDLE_RIGHT: self->drag = PSC_KV_DRAG_RIGHT; break;
    case PSC_KV_HIT_WINDOW: self->drag = PSC_KV_DRAG_OVERVIEW; break;
    case PSC_KV_HIT_OVERVIEW: { /* beside the window: bring its middle here */
        double half = (self->drag_hi - self->drag_lo) / 2;
        self->drag = PSC_KV_DRAG_OVERVIEW;
        psc_workspace_set_kv_range(self->ws, hit.at - half, hit.at + half);
        psc_workspace_kv_range(self->ws, &self->drag_lo, &self->drag_hi);
        break;
    }
    default: self->drag = PSC_KV_DRAG_PAN; break;
    }
}

static void drag_update_cb(GtkGestureDrag *gesture, double dx, double dy, PscKvPane *self)
{
    const struct psc_kv_step *step = psc_workspace_kv(self->ws);
    if (!step || fabs(dx) + fabs(dy) < DRAG_MIN)
        return;
    gtk_gesture_set_state(GTK_GESTURE(gesture), GTK_EVENT_SEQUENCE_CLAIMED);
    double by = dx / self->page.frame.cell;
    double over = dx / ((psc_kv_overview_x(&self->page, step->regions.rows) - psc_kv_overview_x(&self->page, 0)) / step->regions.rows);
    switch (self->drag) {
    case PSC_KV_DRAG_PAN:
        psc_workspace_set_kv_range(self->ws, self->drag_lo - by, self->drag_hi - by);
        psc_kv_pane_set_scroll(self, self->drag_y - dy);
        break;
    case PSC_KV_DRAG_OVERVIEW: psc_workspace_set_kv_range(self->ws, self->drag_lo + over, self->drag_hi + over); break;
    case PSC_KV_DRAG_LEFT: psc_workspace_set_kv_range(self->ws, MIN(self->drag_lo + over, self->drag_hi - 4), self->drag_hi); break;
    case PSC_KV_DRAG_RIGHT: psc_workspace_set_kv_range(self->ws, self->drag_lo, MAX(self->drag_hi + over, self->drag_lo + 4)); break;
    default: break;
    }
}

static void drag_end_cb(GtkGestureDrag *gesture G_GNUC_UNUSED, double dx G_GNUC_UNUSED, double dy G_GNUC_UNUSED, PscKvPane *self)
{
    self->drag = PSC_KV_DRAG_NONE;
}

static void click_cb(GtkGestureClick *gesture G_GNUC_UNUSED, int presses, double x, double y, PscKvPane *self)
{
    const struct psc_kv_step *step = psc_workspace_kv(self->ws);
    if (!psc_kv_pane_ready(self))
        return;
    struct psc_kv_hit hit = psc_kv_page_hit(&self->page, x, y);
    if (hit.alarm != PSC_NONE)
        psc_workspace_set_cursor(self->ws, step->touches[step->alarms[hit.alarm].touch].position);
    if (hit.what == PSC_KV_HIT_CELL) {
        psc_workspace_select_kv(self->ws, hit.layer, hit.row, hit.is_v);
    } else if (hit.what == PSC_KV_HIT_GUTTER && step->writer[hit.layer] != PSC_NONE && psc_workspace_study(self->ws)->graph) {
        psc_workspace_set_cursor(self->ws, psc_workspace_study(self->ws)->position_of[step->writer[hit.layer]]);
    } else if (hit.what == PSC_KV_HIT_RULER && presses == 2) {
        psc_kv_pane_show_all(self);
    }
}

/* ---- keys -------------------------------------------------------------------------------------------------------------- */

/* Enter: to the op that writes the cell in this step, else to the one that reads it. */
static gboolean go_to_op(PscKvPane *self)
{
    const struct psc_kv_step *step = psc_workspace_kv(self->ws);
    PscKvCell at;
    if (!step || !psc_workspace_kv_focus(self->ws, &at))
        return FALSE;
    struct psc_kv_held cell = psc_kv_step_cell(step, at.layer, at.row, psc_workspace_cursor(self->ws));
    uint32_t touch = cell.by != PSC_NONE ? cell.by : cell.reader != PSC_NONE ? cell.reader : cell.next_reader;
    if (touch != PSC_NONE)
        psc_workspace_set_cursor(self->ws, step->touches[touch].position);
    return touch != PSC_NONE;
}

static gboolean key_cb(GtkEventControllerKey *keys G_GNUC_UNUSED, guint key, guint code G_GNUC_UNUSED, GdkModifierType state,
                       PscKvPane *self)
{
    if (state & (GDK_CONTROL_MASK | GDK_ALT_MASK) || !psc_workspace_kv(self->ws))
        return FALSE;
    int by = state & GDK_SHIFT_MASK ? PAGE_ROWS : 1;
    switch (key) {
    case GDK_KEY_Left: case GDK_KEY_KP_Left: psc_workspace_kv_move(self->ws, -by, 0); return TRUE;
    case GDK_KEY_Right: case GDK_KEY_KP_Right: psc_workspace_kv_move(self->ws, by, 0); return TRUE;
    case GDK_KEY_Up: case GDK_KEY_KP_Up: psc_workspace_kv_move(self->ws, 0, -1); return TRUE;
    case GDK_KEY_Down: case GDK_KEY_KP_Down: psc_workspace_kv_move(self->ws, 0, 1); return TRUE;
    case GDK_KEY_Page_Up: case GDK_KEY_KP_Page_Up: psc_workspace_kv_layer(self->ws, -1); return TRUE;
    case GDK_KEY_Page_Down: case GDK_KEY_KP_Page_Down: psc_workspace_kv_layer(self->ws, 1); return TRUE;
    case GDK_KEY_Home: case GDK_KEY_KP_Home: psc_workspace_kv_edge(self->ws, -1); return TRUE;
    case GDK_KEY_End: case GDK_KEY_KP_End: psc_workspace_kv_edge(self->ws, 1); return TRUE;
    case GDK_KEY_Return: case GDK_KEY_KP_Enter: return go_to_op(self);
    default: return FALSE;
    }
}

void psc_kv_pane_add_controllers(PscKvPane *self)
{
    GtkWidget *widget = GTK_WIDGET(self);
    GtkEventController *motion = gtk_event_controller_motion_new();
    g_signal_connect(motion, "motion", G_CALLBACK(motion_cb), self);
    g_signal_connect(motion, "leave", G_CALLBACK(leave_cb), self);
    gtk_widget_add_controller(widget, motion);
    GtkEventController *scroll = gtk_event_controller_scroll_new(GTK_EVENT_CONTROLLER_SCROLL_BOTH_AXES);
    g_signal_connect(scroll, "scroll", G_CALLBACK(scroll_cb), self);
    gtk_widget_add_controller(widget, scroll);
    GtkEventController *keys = gtk_event_controller_key_new();
    g_signal_connect(keys, "key-pressed", G_CALLBACK(key_cb), self);
    gtk_widget_add_controller(widget, keys);
    GtkGesture *drag = gtk_gesture_drag_new();
    gtk_gesture_single_set_button(GTK_GESTURE_SINGLE(drag), 0);
    g_signal_connect(drag, "drag-begin", G_CALLBACK(drag_begin_cb), self);
    g_signal_connect(drag, "drag-update", G_CALLBACK(drag_update_cb), self);
    g_signal_connect(drag, "drag-end", G_CALLBACK(drag_end_cb), self);
    gtk_widget_add_controller(widget, GTK_EVENT_CONTROLLER(drag));
    GtkGesture *click = gtk_gesture_click_new();
    g_signal_connect(click, "released", G_CALLBACK(click_cb), self);
    gtk_widget_add_controller(widget, GTK_EVENT_CONTROLLER(click));
}
