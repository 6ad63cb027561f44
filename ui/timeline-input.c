#include "ui/timeline-private.h"

#include <math.h>

#define CARD_MS 150
#define DRAG_MIN 4 /* px before a press becomes a drag */
#define WHEEL_PX 48

static gboolean ready(PscTimeline *self)
{
    return self->base && !self->base->failed && self->base->picture == psc_workspace_picture(self->ws);
}

static struct psc_hit hit_at(PscTimeline *self, double x, double y)
{
    return psc_layout_hit(&self->base->layout, x, y);
}

/* ---- the card ------------------------------------------------------------------------------- */

void psc_timeline_hide_card(PscTimeline *self)
{
    g_clear_handle_id(&self->card_timer, g_source_remove);
    if (self->card)
        gtk_widget_set_visible(self->card, FALSE);
}

static gboolean show_card_cb(gpointer data)
{
    PscTimeline *self = data;
    self->card_timer = 0;
    if (!ready(self) || self->drag != PSC_DRAG_NONE)
        return G_SOURCE_REMOVE;
    struct psc_hit hit = hit_at(self, self->px, self->py);
    char *text = psc_timeline_card_text(self, &hit);
    if (text) {
        self->hovered_area = hit.area;
        gtk_label_set_markup(GTK_LABEL(self->card), text);
        gtk_widget_set_visible(self->card, TRUE);
        gtk_widget_queue_allocate(GTK_WIDGET(self));
    }
    g_free(text);
    return G_SOURCE_REMOVE;
}

static void set_hovered(PscTimeline *self, uint32_t bar)
{
    if (bar == self->hovered)
        return;
    self->hovered = bar;
    gtk_widget_queue_draw(GTK_WIDGET(self));
}

static void update_cursor_shape(PscTimeline *self, const struct psc_hit *hit)
{
    gboolean handle = hit->what == PSC_HIT_HANDLE_LEFT || hit->what == PSC_HIT_HANDLE_RIGHT;
    gtk_widget_set_cursor_from_name(GTK_WIDGET(self), handle                            ? "col-resize"
                                                      : hit->what == PSC_HIT_WINDOW     ? "grab"
                                                      : hit->what == PSC_HIT_RULER      ? "ew-resize"
                                                                                        : "default");
}

static void motion_cb(GtkEventControllerMotion *motion, double x, double y, PscTimeline *self)
{
    GdkModifierType state = gtk_event_controller_get_current_event_state(GTK_EVENT_CONTROLLER(motion));
    if (x == self->px && y == self->py)
        return; /* what lies below the pointer has moved: who steps and zooms by keyboard wants no card over the map */
    self->px = x;
    self->py = y;
    if (!ready(self) || self->drag != PSC_DRAG_NONE)
        return;
    struct psc_hit hit = hit_at(self, x, y);
    update_cursor_shape(self, &hit);
    if (state & GDK_CONTROL_MASK && gtk_widget_get_visible(self->card))
        return; /* frozen */
    if (hit.bar != self->hovered || hit.bar == PSC_NONE)
        psc_timeline_hide_card(self);
    set_hovered(self, hit.bar);
    if (!gtk_widget_get_visible(self->card) && !self->card_timer)
        self->card_timer = g_timeout_add(CARD_MS, show_card_cb, self);
}

static void leave_cb(GtkEventControllerMotion *motion G_GNUC_UNUSED, PscTimeline *self)
{
    psc_timeline_hide_card(self);
    set_hovered(self, PSC_NONE);
}

/* ---- wheel and pinch -------------------------------------------------------------------------- */

static gboolean scroll_cb(GtkEventControllerScroll *scroll, double dx, double dy, PscTimeline *self)
{
    GdkModifierType state = gtk_event_controller_get_current_event_state(GTK_EVENT_CONTROLLER(scroll));
    double unit = gtk_event_controller_scroll_get_unit(scroll) == GDK_SCROLL_UNIT_WHEEL ? 1 : 1.0 / WHEEL_PX;
    if (!ready(self))
        return FALSE;
    psc_timeline_hide_card(self);
    gboolean control = (state & GDK_CONTROL_MASK) != 0, shift = (state & GDK_SHIFT_MASK) != 0;
    double x0, x1, main = dy != 0 ? dy : dx;
    psc_workspace_range(self->ws, &x0, &x1);
    if (control && shift)
        psc_timeline_zoom_rows_at(self, self->py, pow(1.2, -main * unit));
    else if (control)
        psc_timeline_zoom_at(self, self->px, pow(1.25, -main * unit));
    else if (shift)
        psc_workspace_set_range(self->ws, x0 + main * unit * (x1 - x0) * 0.1, x1 + main * unit * (x1 - x0) * 0.1);
    else {
        if (dx != 0)
            psc_workspace_set_range(self->ws, x0 + dx * unit * (x1 - x0) * 0.1, x1 + dx * unit * (x1 - x0) * 0.1);
        psc_timeline_set_scroll(self, self->y + dy * unit * WHEEL_PX);
    }
    return TRUE;
}

static void pinch_begin_cb(GtkGesture *gesture G_GNUC_UNUSED, GdkEventSequence *sequence G_GNUC_UNUSED, PscTimeline *self)
{
    psc_workspace_range(self->ws, &self->pinch_x0, &self->pinch_x1);
}

static void pinch_cb(GtkGestureZoom *gesture, double scale, PscTimeline *self)
{
    double x, y, x0, x1;
    if (!ready(self) || !gtk_gesture_get_bounding_box_center(GTK_GESTURE(gesture), &x, &y))
        return;
    psc_workspace_range(self->ws, &x0, &x1);
    psc_timeline_zoom_at(self, x, scale * (x1 - x0) / (self->pinch_x1 - self->pinch_x0));
}

/* ---- dragging ------------------------------------------------------------------------------- */

static PscDrag drag_of(PscTimeline *self, const struct psc_hit *hit, guint button)
{
    if (button == GDK_BUTTON_MIDDLE)
        return PSC_DRAG_PAN;
    switch (hit->what) {
    case PSC_HIT_RULER:
    case PSC_HIT_USAGE: return PSC_DRAG_SCRUB;
    case PSC_HIT_HANDLE_LEFT: return PSC_DRAG_LEFT;
    case PSC_HIT_HANDLE_RIGHT: return PSC_DRAG_RIGHT;
    case PSC_HIT_OVERVIEW:
    case PSC_HIT_WINDOW: return PSC_DRAG_OVERVIEW;
    default: return self->base ? PSC_DRAG_PAN : PSC_DRAG_NONE;
    }
}

static void scrub(PscTimeline *self, double x)
{
    psc_workspace_set_cursor(self->ws, psc_axis_column(&self->base->layout.axis, x));
}

static void drag_begin_cb(GtkGestureDrag *gesture, double x, double y, PscTimeline *self)
{
    if (!ready(self)) {
        gtk_gesture_set_state(GTK_GESTURE(gesture), GTK_EVENT_SEQUENCE_DENIED);
        return;
    }
    gtk_widget_grab_focus(GTK_WIDGET(self));
    psc_timeline_hide_card(self);
    struct psc_hit hit = hit_at(self, x, y);
    self->drag = drag_of(self, &hit, gtk_gesture_single_get_current_button(GTK_GESTURE_SINGLE(gesture)));
    psc_workspace_range(self->ws, &self->drag_x0, &self->drag_x1);
    self->drag_y = self->y;
    if (hit.what == PSC_HIT_OVERVIEW) { /* beside the window: bring its middle here */
        double at = psc_axis_position(&self->base->layout.overview_axis, x, NULL), half = (self->drag_x1 - self->drag_x0) / 2;
        psc_workspace_set_range(self->ws, at - half, at + half);
        psc_workspace_range(self->ws, &self->drag_x0, &self->drag_x1);
    }
    if (self->drag == PSC_DRAG_SCRUB && hit.what == PSC_HIT_RULER)
        scrub(self, x);
}

static void drag_update_cb(GtkGestureDrag *gesture, double dx, double dy, PscTimeline *self)
{
    double x, y;
    if (!ready(self) || !gtk_gesture_drag_get_start_point(gesture, &x, &y) || fabs(dx) + fabs(dy) < DRAG_MIN)
        return;
    gtk_gesture_set_state(GTK_GESTURE(gesture), GTK_EVENT_SEQUENCE_CLAIMED);
    const struct psc_layout *layout = &self->base->layout;
    double by = dx / layout->axis.op, over = dx / layout->overview_axis.op;
    switch (self->drag) {
    case PSC_DRAG_PAN:
        psc_workspace_set_range(self->ws, self->drag_x0 - by, self->drag_x1 - by);
        psc_timeline_set_scroll(self, self->drag_y - dy);
        break;
    case PSC_DRAG_SCRUB: scrub(self, x + dx); break;
    case PSC_DRAG_OVERVIEW: psc_workspace_set_range(self->ws, self->drag_x0 + over, self->drag_x1 + over); break;
    case PSC_DRAG_LEFT: psc_workspace_set_range(self->ws, MIN(self->drag_x0 + over, self->drag_x1 - 2), self->drag_x1); break;
    case PSC_DRAG_RIGHT: psc_workspace_set_range(self->ws, self->drag_x0, MAX(self->drag_x1 + over, self->drag_x0 + 2)); break;
    default: break;
    }
}

static void drag_end_cb(GtkGestureDrag *gesture G_GNUC_UNUSED, double dx G_GNUC_UNUSED, double dy G_GNUC_UNUSED,
                        PscTimeline *self)
{
    self->drag = PSC_DRAG_NONE;
}

/* ---- clicking ------------------------------------------------------------------------------- */

static void select_bar(PscTimeline *self, uint32_t bar, uint32_t buffer)
{
    const struct psc_history *h = psc_workspace_study(self->ws)->analysis->history;
    psc_node node = bar < h->tenancy_n ? h->story->values[h->tenancies[bar].value].node : PSC_NONE;
    if (node != PSC_NONE && h->story->values[h->tenancies[bar].value].kind != PSC_VALUE_REGION)
        psc_workspace_select_node(self->ws, node);
    else
        psc_workspace_select_buffer(self->ws, buffer);
}

static void click_cb(GtkGestureClick *gesture G_GNUC_UNUSED, int presses, double x, double y, PscTimeline *self)
{
    if (!ready(self))
        return;
    struct psc_hit hit = hit_at(self, x, y);
    if (hit.alarm != PSC_NONE)
        psc_workspace_select_finding(self->ws, (int)hit.alarm);
    else if (hit.what == PSC_HIT_BAR || hit.what == PSC_HIT_MERGED)
        select_bar(self, hit.bar, hit.buffer);
    else if (hit.what == PSC_HIT_GUTTER && hit.buffer != PSC_NONE)
        psc_workspace_select_buffer(self->ws, hit.buffer);
    else if (hit.what == PSC_HIT_USAGE && hit.position != PSC_NO_POSITION)
        psc_workspace_set_cursor(self->ws, hit.position);
    else if (hit.what == PSC_HIT_ROW)
        psc_workspace_select_nothing(self->ws);
    if (hit.diff != PSC_NONE)
        psc_workspace_set_cursor(self->ws, hit.position);
    else if (hit.event != PSC_NONE)
        psc_workspace_set_cursor(self->ws, psc_workspace_study(self->ws)->analysis->story->events[hit.event].position);
    if (presses == 2 && hit.what == PSC_HIT_RULER)
        psc_workspace_show_all(self->ws);
    else if (presses == 2 && hit.bar != PSC_NONE) {
        psc_timeline_fit_selection(self);
        psc_timeline_fit_selection(self);
    }
}

void psc_timeline_add_controllers(PscTimeline *self)
{
    GtkWidget *widget = GTK_WIDGET(self);
    GtkEventController *motion = gtk_event_controller_motion_new();
    g_signal_connect(motion, "motion", G_CALLBACK(motion_cb), self);
    g_signal_connect(motion, "leave", G_CALLBACK(leave_cb), self);
    gtk_widget_add_controller(widget, motion);
    GtkEventController *scroll = gtk_event_controller_scroll_new(GTK_EVENT_CONTROLLER_SCROLL_BOTH_AXES);
    g_signal_connect(scroll, "scroll", G_CALLBACK(scroll_cb), self);
    gtk_widget_add_controller(widget, scroll);
    GtkGesture *pinch = gtk_gesture_zoom_new();
    g_signal_connect(pinch, "begin", G_CALLBACK(pinch_begin_cb), self);
    g_signal_connect(pinch, "scale-changed", G_CALLBACK(pinch_cb), self);
    gtk_widget_add_controller(widget, GTK_EVENT_CONTROLLER(pinch));
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
