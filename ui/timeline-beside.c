/* Two timelines beside each other: scrolled and zoomed together, a byte as high in both, differences signed on the bars. */
#include "ui/timeline-private.h"

#include "ui/palette.h"

#include <math.h>
#include <string.h>

#define AROUND 172.0 /* px of ruler and KV rows, about: what is too much can be scrolled */
#define CORNER 7.0 /* px of the sign in the corner of a bar */

void psc_timeline_dress(PscTimeline *self, struct psc_view *view)
{
    view->hide_overview = view->hide_usage = self->hide_strips;
    if (self->full)
        view->px_a_byte = fmax(view->height_px - AROUND, 60) / (double)self->full;
}

void psc_timeline_hide_strips(PscTimeline *self, gboolean hidden)
{
    self->hide_strips = hidden;
    gtk_widget_queue_draw(GTK_WIDGET(self));
}

void psc_timeline_set_full(PscTimeline *self, uint64_t bytes)
{
    self->full = bytes;
    gtk_widget_queue_draw(GTK_WIDGET(self));
}

void psc_timeline_lock(PscTimeline *a, PscTimeline *b)
{
    g_set_weak_pointer(&a->peer, b);
    g_set_weak_pointer(&b->peer, a);
}

void psc_timeline_lead_peer(PscTimeline *self)
{
    PscTimeline *peer = self->peer;
    if (!peer || self->following)
        return;
    peer->following = TRUE;
    peer->y_zoom = self->y_zoom;
    psc_timeline_set_scroll(peer, self->y);
    gtk_widget_queue_draw(GTK_WIDGET(peer));
    peer->following = FALSE;
}

void psc_timeline_set_marks(PscTimeline *self, const uint8_t *marks, uint32_t n)
{
    g_free(self->marks);
    self->marks = marks ? g_memdup2(marks, n) : NULL;
    self->mark_n = marks ? n : 0;
    self->mark_base = NULL;
    gtk_widget_queue_draw(GTK_WIDGET(self));
}

static void paint_mark(cairo_t *cr, const struct psc_palette *palette, const struct psc_bar *bar, uint8_t mark)
{
    double side = fmin(CORNER, fmin(bar->x1 - bar->x0, bar->y1 - bar->y0));
    if (mark == PSC_TIMELINE_ALONE) {
        psc_paint_colour(cr, palette, PSC_COL_WARN_EDGE);
        psc_paint_frame(cr, bar->x0, bar->y0, bar->x1, bar->y1, 3);
        return;
    }
    if (side < 5)
        return;
    cairo_move_to(cr, bar->x1 - side - 0.5, bar->y0 + 0.5);
    cairo_line_to(cr, bar->x1 - 0.5, bar->y0 + 0.5);
    cairo_line_to(cr, bar->x1 - 0.5, bar->y0 + side + 0.5);
    cairo_close_path(cr);
    psc_paint_colour(cr, palette, mark == PSC_TIMELINE_EXPLAINS ? PSC_COL_WARN_EDGE : PSC_COL_CANVAS);
    cairo_fill_preserve(cr);
    psc_paint_colour(cr, palette, PSC_COL_INK);
    cairo_set_line_width(cr, 1);
    cairo_stroke(cr);
}

static void paint_marks(PscTimeline *self, cairo_t *cr)
{
    const struct psc_layout *layout = &self->base->layout;
    const struct psc_area *lanes = &layout->frame.lanes;
    cairo_rectangle(cr, layout->frame.data_x, lanes->y0, layout->frame.data_w, lanes->y1 - lanes->y0);
    cairo_clip(cr);
    for (size_t i = 0; i < layout->bar_n; i++) {
        const struct psc_bar *bar = &layout->bars[i];
        if (bar->bar < self->mark_n && bar->count == 1 && self->marks[bar->bar])
            paint_mark(cr, psc_palette_get(self->base->view.dark), bar, self->marks[bar->bar]);
    }
}

/* Painted once for each picture: a step or a hover damages nothing of it. */
void psc_timeline_snapshot_marks(PscTimeline *self, GtkSnapshot *snapshot)
{
    if (!self->marks)
        return;
    if (self->mark_base != self->base) {
        const struct psc_view *view = &self->base->view;
        g_clear_pointer(&self->mark_node, gsk_render_node_unref);
        self->mark_node = gsk_cairo_node_new(&GRAPHENE_RECT_INIT(0, 0, (float)view->width, (float)view->height_px));
        cairo_t *cr = gsk_cairo_node_get_draw_context(self->mark_node);
        paint_marks(self, cr);
        cairo_destroy(cr);
        self->mark_base = self->base;
    }
    gtk_snapshot_append_node(snapshot, self->mark_node);
}

void psc_timeline_drop_beside(PscTimeline *self)
{
    g_clear_weak_pointer(&self->peer);
    g_clear_pointer(&self->mark_node, gsk_render_node_unref);
    g_clear_pointer(&self->marks, g_free);
}
