#include "ui/draw/overlay.h"

#include "core/base/mem.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define ALIVE_MAX      256u
#define CONNECTORS_MAX 8u
#define CHAIN_MAX      256

static struct psc_over *put(struct psc_overlay *o, enum psc_over_kind kind, double x0, double y0, double x1, double y1)
{
    if (!psc_grow(&o->items, o->n + 1, &o->cap, sizeof *o->items)) {
        o->failed = true;
        return NULL;
    }
    struct psc_over *over = &o->items[o->n++];
    *over = (struct psc_over){.kind = kind, .bar = PSC_NONE, .area = {(float)x0, (float)y0, (float)x1, (float)y1}};
    over->clip = over->area;
    return over;
}

static struct psc_area data_area(const struct psc_layout *l)
{
    return (struct psc_area){l->frame.data_x, l->frame.lanes.y0, l->frame.data_x + l->frame.data_w, l->frame.lanes.y1};
}

/* Cuts the bounds at the data area; false when nothing is left. */
static bool cut(struct psc_over *over, const struct psc_area *data)
{
    over->clip = *data;
    return over->area.x1 > data->x0 && over->area.x0 < data->x1 && over->area.y1 > data->y0 && over->area.y0 < data->y1;
}

static void put_frame(struct psc_overlay *o, const struct psc_layout *l, enum psc_over_kind kind, uint32_t bar, struct psc_area a)
{
    struct psc_area data = data_area(l);
    float out = kind == PSC_OVER_SELECTION ? 4 : kind == PSC_OVER_HOVER ? 2 : 1;
    struct psc_over *over = put(o, kind, a.x0 - out, a.y0 - out, a.x1 + out, a.y1 + out);
    if (!over)
        return;
    over->bar = bar;
    if (!cut(over, &data))
        o->n--;
}

/* All versions of an in-place chain are one object: they are selected together. */
static bool chain_area(const struct psc_layout *l, uint32_t bar, struct psc_area *ret)
{
    const struct psc_tenancy *t = l->scene->source.history->tenancies;
    struct psc_area a;
    if (!psc_layout_bar_area(l, bar, ret))
        return false;
    uint32_t at = bar;
    for (int i = 0; i < CHAIN_MAX && t[at].prev_version != PSC_NONE; i++)
        at = t[at].prev_version;
    for (int i = 0; i < 2 * CHAIN_MAX && at != PSC_NONE; i++, at = t[at].next_version)
        if (t[at].buffer == t[bar].buffer && psc_layout_bar_area(l, at, &a)) {
            ret->x0 = fminf(ret->x0, a.x0), ret->x1 = fmaxf(ret->x1, a.x1);
            ret->y0 = fminf(ret->y0, a.y0), ret->y1 = fmaxf(ret->y1, a.y1);
        }
    return true;
}

static void alive(struct psc_overlay *o, const struct psc_layout *l, int32_t position)
{
    const struct psc_scene *s = l->scene;
    for (size_t i = 0; i < l->track_n; i++) {
        const struct psc_track *p = &l->tracks[i];
        if (p->kind != PSC_TRACK_ROW || p->compact || p->y1 <= p->y0 || p->y1 <= l->frame.lanes.y0 || p->y0 >= l->frame.lanes.y1 ||
            s->lanes[s->rows[p->row].lane].kind == PSC_LANE_KV)
            continue;
        const struct psc_scene_row *row = &s->rows[p->row];
        uint32_t n = 0;
        for (uint32_t bar = psc_scene_next_alive(s, row, row->bar_at, position);
             bar < row->bar_end && s->first[bar] <= position && n < ALIVE_MAX;
             bar = psc_scene_next_alive(s, row, bar + 1, position), n++) {
            struct psc_area a;
            if (s->flags[bar] & PSC_BAR_PINNED || !psc_layout_bar_area(l, bar, &a) || a.x1 - a.x0 < 5 || a.y1 - a.y0 < 6)
                continue; /* nothing but frame would be left */
            put_frame(o, l, PSC_OVER_ALIVE, bar, a);
        }
    }
}

static void connectors(struct psc_overlay *o, const struct psc_layout *l, int32_t position)
{
    const struct psc_graph *g = l->scene->source.graph;
    psc_node node = psc_scene_node_at(l->scene, position);
    struct psc_area to, from, data = data_area(l);
    if (node == PSC_NONE || l->axis.op < 9 || !psc_layout_bar_area(l, psc_scene_bar_of_node(l->scene, node), &to))
        return;
    const psc_node *srcs = psc_node_srcs(g, node);
    uint32_t drawn = 0, wanted = 0;
    double middle = psc_axis_middle(&l->axis, position);
    for (uint32_t i = 0; i < g->nodes[node].src_n; i++) {
        uint32_t bar = psc_scene_bar_of_node(l->scene, srcs[i]);
        bool again = false;
        for (uint32_t k = 0; k < i; k++)
            again = again || srcs[k] == srcs[i];
        if (again || !psc_layout_bar_area(l, bar, &from) || (from.y0 < to.y1 && to.y0 < from.y1))
            continue;
        if (wanted++ >= CONNECTORS_MAX)
            continue;
        bool below = from.y0 >= to.y1;
        float x = (float)(floor(middle + (drawn % 2 ? -1 : 1) * 3.0 * ((drawn + 1) / 2)) + 0.5);
        float y0 = below ? from.y0 + 4 : from.y1 - 4, y1 = below ? to.y1 : to.y0;
        struct psc_over *over = put(o, PSC_OVER_CONNECTOR, x - 4, fminf(y0, y1) - 4, x + 4, fmaxf(y0, y1) + 4);
        if (!over)
            return;
        over->x = x, over->y0 = y0, over->y1 = y1;
        if (!cut(over, &data))
            o->n--;
        else
            drawn++;
    }
    if (wanted <= CONNECTORS_MAX)
        return;
    struct psc_over *over = put(o, PSC_OVER_MORE, middle + 4, to.y0 - 16, middle + 40, to.y0);
    if (over) {
        snprintf(over->text, sizeof over->text, "+%u", wanted - CONNECTORS_MAX);
        if (!cut(over, &data))
            o->n--;
    }
}

static void now(struct psc_overlay *o, const struct psc_layout *l, int32_t position, bool dimmed)
{
    const struct psc_frame *f = &l->frame;
    const struct psc_scene *s = l->scene;
    double right = f->data_x + f->data_w, x = psc_axis_right(&l->axis, position), left = psc_axis_left(&l->axis, position);
    struct psc_over *over;
    if (f->overview.y1 > f->overview.y0) {
        double ox = floor(psc_axis_right(&l->overview_axis, position));
        if (ox + 1 < right && position >= 0)
            put(o, PSC_OVER_FUTURE, ox + 1, f->overview.y0 + 3, right, f->overview.y1 - 1);
        put(o, PSC_OVER_WINDOW, psc_axis_at(&l->overview_axis, l->axis.lo), f->overview.y0,
            psc_axis_at(&l->overview_axis, l->axis.hi), f->overview.y1);
        if (o->n)
            o->items[o->n - 1].clip = f->overview;
        put(o, PSC_OVER_LINE, ox - 1, f->overview.y0 + 1, ox + 1, f->overview.y1 - 1);
        if (l->peak_label != PSC_NONE) {
            const struct psc_label *label = &l->labels[l->peak_label];
            double x0 = label->align == PSC_LEFT ? label->x : label->x - label->width;
            over = put(o, PSC_OVER_PEAK, x0 - 4, label->y - 7, x0 + label->width + 4, label->y + 8);
            if (over)
                snprintf(over->text, sizeof over->text, "%s", l->text + label->text);
        }
    }
    float ruler_top = f->numbers_y >= 0 ? f->numbers_y : f->ruler.y0;
    if (f->ruler.y1 > f->ruler.y0 && x < right && !dimmed && position >= 0) {
        double from = fmax(x + 1, f->data_x);
        put(o, PSC_OVER_FUTURE, from, f->ruler.y0 + 1, right, f->merged_y >= 0 ? f->merged_y - 1 : f->ruler.y1 - 1);
    }
    if (x < f->data_x - 1 || left > right)
        return;
    double bottom = f->usage.y1 > f->usage.y0 ? f->usage.y1 : f->lanes.y1;
    if (x - left >= 3) {
        over = put(o, PSC_OVER_COLUMN, fmax(left, f->data_x), ruler_top + 14, fmin(x, right), bottom);
        (void)over;
    }
    double line = fmin(fmax(floor(x + 0.5), f->data_x + 1), right - 1);
    put(o, PSC_OVER_LINE, line - 1, ruler_top + 14, line + 1, bottom);
    if (f->ruler.y1 > f->ruler.y0) {
        char number[16];
        snprintf(number, sizeof number, "%d", position);
        double half = fmax(strlen(number) * 3.4 + 3, fmin(l->axis.op, 60) / 2), middle = (left + x) / 2;
        middle = fmin(fmax(middle, f->data_x + half), right - half);
        over = put(o, PSC_OVER_HEAD, middle - half, ruler_top - 1, middle + half, ruler_top + 14);
        if (over) {
            if (position < 0)
                snprintf(over->text, sizeof over->text, "fill");
            else if (position >= s->n)
                snprintf(over->text, sizeof over->text, "end");
            else
                snprintf(over->text, sizeof over->text, "%d", position);
        }
    }
    if (f->usage.y1 - f->usage.y0 >= 40) {
        double base = f->usage.y1 - 5, top = f->usage.y0 + (f->small ? 20 : 24);
        uint64_t live = psc_series_get(&s->in_use, position);
        double y = base - (base - top) * (double)live / fmax(l->use_top, 1);
        char bytes[24];
        psc_bytes_text(live, bytes, sizeof bytes);
        bool after = line + 110 < right;
        over = put(o, PSC_OVER_LIVE, after ? line - 5 : line - 112, y - 9, after ? line + 112 : line + 5, y + 9);
        if (over) {
            over->x = (float)line, over->y0 = (float)y, over->y1 = after;
            snprintf(over->text, sizeof over->text, "%s live", bytes);
        }
    }
}

enum psc_status psc_overlay_build(struct psc_overlay *o, const struct psc_layout *l, const struct psc_view *view,
                                  struct psc_error *reterr)
{
    struct psc_area a;
    o->n = 0;
    o->failed = false;
    bool has_position = view->position != PSC_NO_POSITION && view->position >= -1 && view->position <= l->scene->n;
    bool dimmed = l->scene->source.check && view->finding < l->scene->source.check->finding_n;
    if (has_position && !dimmed) {
        alive(o, l, view->position);
        connectors(o, l, view->position);
    }
    if (psc_layout_bar_area(l, view->hovered, &a))
        put_frame(o, l, PSC_OVER_HOVER, view->hovered, a);
    if (view->selected < l->scene->bar_n && chain_area(l, view->selected, &a))
        put_frame(o, l, PSC_OVER_SELECTION, view->selected, a);
    if (has_position)
        now(o, l, view->position, dimmed);
    return o->failed ? psc_fail_nomem(reterr) : PSC_OK;
}

void psc_overlay_release(struct psc_overlay *o)
{
    psc_free(o->items);
    *o = (struct psc_overlay){0};
}

/* ---- painting --------------------------------------------------------------------------------- */

static void veil(cairo_t *cr, const struct psc_palette *palette, enum psc_colour colour, double part, const struct psc_area *a)
{
    uint32_t c = palette->rgb[colour];
    cairo_set_source_rgba(cr, ((c >> 16) & 255) / 255.0, ((c >> 8) & 255) / 255.0, (c & 255) / 255.0, part);
    psc_paint_area(cr, a->x0, a->y0, a->x1, a->y1);
}

static void paint_selection(const struct psc_over *over, const struct psc_palette *palette, cairo_t *cr)
{
    const struct psc_area *a = &over->area;
    psc_paint_colour(cr, palette, PSC_COL_CANVAS);
    psc_paint_frame(cr, a->x0, a->y0, a->x1, a->y1, 1);
    psc_paint_colour(cr, palette, PSC_COL_SELECT);
    psc_paint_frame(cr, a->x0 + 1, a->y0 + 1, a->x1 - 1, a->y1 - 1, 3);
}

static void paint_connector(const struct psc_over *over, const struct psc_palette *palette, cairo_t *cr)
{
    for (int i = 0; i < 2; i++) {
        psc_paint_colour(cr, palette, i ? PSC_COL_NOW : PSC_COL_CANVAS);
        cairo_set_line_width(cr, i ? 1.5 : 3.5);
        cairo_move_to(cr, over->x, over->y0);
        cairo_line_to(cr, over->x, over->y1);
        cairo_stroke(cr);
    }
    cairo_new_sub_path(cr);
    cairo_arc(cr, over->x, over->y0, 2.6, 0, 6.2832);
    cairo_fill(cr);
}

static void paint_live(const struct psc_over *over, const struct psc_palette *palette, cairo_t *cr, struct psc_type *type)
{
    psc_paint_colour(cr, palette, PSC_COL_NOW);
    cairo_new_sub_path(cr);
    cairo_arc(cr, over->x, over->y0, 4, 0, 6.2832);
    cairo_fill(cr);
    if (!type)
        return;
    double width = psc_type_width(type, PSC_FONT_AXIS_BOLD, over->text), x = over->y1 > 0 ? over->x + 10 : over->x - 10 - width;
    veil(cr, palette, PSC_COL_CANVAS, 0.85, &(struct psc_area){(float)x - 3, over->y0 - 8, (float)(x + width) + 3, over->y0 + 8});
    psc_paint_colour(cr, palette, PSC_COL_INK);
    psc_type_show(type, cr, PSC_FONT_AXIS_BOLD, PSC_LEFT, over->text, x, over->y0);
}

void psc_over_paint(const struct psc_over *over, const struct psc_palette *palette, cairo_t *cr, struct psc_type *type)
{
    const struct psc_area *a = &over->area, *c = &over->clip;
    cairo_save(cr);
    cairo_rectangle(cr, c->x0, c->y0, c->x1 - c->x0, c->y1 - c->y0);
    cairo_clip(cr);
    switch (over->kind) {
    case PSC_OVER_FUTURE:
        veil(cr, palette, PSC_COL_CANVAS, 0.45, a);
        break;
    case PSC_OVER_PEAK:
        if (type) {
            veil(cr, palette, PSC_COL_CANVAS, 1, a);
            psc_paint_colour(cr, palette, PSC_COL_INK);
            psc_type_show(type, cr, PSC_FONT_AXIS_BOLD, PSC_LEFT, over->text, a->x0 + 4, a->y0 + 7);
        }
        break;
    case PSC_OVER_WINDOW:
        psc_paint_window(cr, palette, a);
        break;
    case PSC_OVER_COLUMN:
        veil(cr, palette, PSC_COL_SELECT, 0.10, a);
        break;
    case PSC_OVER_ALIVE:
        psc_paint_colour(cr, palette, PSC_COL_INK);
        psc_paint_frame(cr, a->x0 + 1, a->y0 + 1, a->x1 - 1, a->y1 - 1, 2);
        break;
    case PSC_OVER_CONNECTOR:
        paint_connector(over, palette, cr);
        break;
    case PSC_OVER_HOVER:
        psc_paint_colour(cr, palette, PSC_COL_INK);
        psc_paint_frame(cr, a->x0 + 1, a->y0 + 1, a->x1 - 1, a->y1 - 1, 1);
        break;
    case PSC_OVER_SELECTION:
        paint_selection(over, palette, cr);
        break;
    case PSC_OVER_LINE:
        psc_paint_colour(cr, palette, PSC_COL_NOW);
        psc_paint_area(cr, a->x0, a->y0, a->x1, a->y1);
        break;
    case PSC_OVER_HEAD:
        psc_paint_colour(cr, palette, PSC_COL_NOW);
        psc_paint_area(cr, a->x0, a->y0, a->x1, a->y1);
        if (type) {
            psc_paint_colour(cr, palette, PSC_COL_NOW_TEXT);
            psc_type_show(type, cr, PSC_FONT_AXIS_BOLD, PSC_CENTRE, over->text, (a->x0 + a->x1) / 2, (a->y0 + a->y1) / 2);
        }
        break;
    case PSC_OVER_LIVE:
        paint_live(over, palette, cr, type);
        break;
    case PSC_OVER_MORE:
        if (type) {
            psc_paint_colour(cr, palette, PSC_COL_INK);
            psc_type_show(type, cr, PSC_FONT_AXIS_BOLD, PSC_LEFT, over->text, a->x0, (a->y0 + a->y1) / 2);
        }
        break;
    case PSC_OVER_KIND_N:
        break;
    }
    cairo_restore(cr);
}

void psc_overlay_paint(const struct psc_overlay *o, const struct psc_palette *palette, cairo_t *cr, struct psc_type *type)
{
    for (size_t i = 0; i < o->n; i++)
        psc_over_paint(&o->items[i], palette, cr, type);
}
