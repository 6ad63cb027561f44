#include "ui/draw/layout-parts.h"

#include "core/base/mem.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define DENSE_OP 8.0 /* px a position under which a curve has a point a pixel column */

/* The largest value of each pixel column: no peak is thinned away. */
static void pixel_columns(struct psc_layout *l, const struct psc_axis *axis, const struct psc_series *series, double base,
                          double unit)
{
    double right = fmin(psc_axis_right(axis, (int32_t)ceil(axis->hi) - 1), axis->x + axis->width);
    double from = axis->lo;
    for (double x = floor(axis->x); x < right; x++) {
        double to = fmin(psc_axis_position(axis, x + 1, NULL), axis->hi);
        int32_t first = (int32_t)floor(from), end = (int32_t)ceil(to);
        psc_put_point(l, x, base - unit * (double)psc_series_max(series, first, end > first ? end : first + 1));
        from = to;
    }
}

static void steps(struct psc_layout *l, const struct psc_axis *axis, const struct psc_series *series, double base, double unit)
{
    double right = axis->x + axis->width, last = NAN;
    int32_t first = (int32_t)floor(axis->lo), end = (int32_t)fmin(ceil(axis->hi), axis->n + 1);
    for (int32_t p = first; p < end; p++) {
        double x0 = fmax(psc_axis_left(axis, p), axis->x), y = base - unit * (double)psc_series_get(series, p);
        if (isnan(last)) {
            psc_put_point(l, x0, y);
        } else if (fabs(y - last) > 1e-6) {
            psc_put_point(l, x0, last);
            psc_put_point(l, x0, y);
        }
        if (p + 1 == end)
            psc_put_point(l, fmin(psc_axis_right(axis, p), right), y);
        last = y;
    }
}

static struct psc_curve *staircase(struct psc_layout *l, const struct psc_axis *axis, const struct psc_series *series,
                                   double base, double height, double top, float width, enum psc_colour colour,
                                   enum psc_dash dash)
{
    uint32_t at = (uint32_t)l->point_n;
    double unit = top > 0 ? height / top : 0;
    bool dense = axis->op < DENSE_OP;
    if (dense)
        pixel_columns(l, axis, series, base, unit);
    else
        steps(l, axis, series, base, unit);
    struct psc_curve *c = psc_put_curve(l, at, (float)base, width, colour, dash);
    if (c)
        c->dense = dense;
    return c;
}

static void position_text(const struct psc_scene *s, int32_t position, char *buf, size_t size)
{
    psc_node node = psc_scene_node_at(s, position);
    if (node != PSC_NONE)
        snprintf(buf, size, "#%llu", (unsigned long long)s->source.graph->nodes[node].id);
    else if (position < 0)
        snprintf(buf, size, "the fill");
    else if (position >= s->n)
        snprintf(buf, size, "the end");
    else
        snprintf(buf, size, "%d", position);
}

void psc_layout_overview(struct psc_layout *l)
{
    const struct psc_frame *f = &l->frame;
    const struct psc_scene *s = l->scene;
    struct psc_area a = f->overview;
    if (a.y1 <= a.y0)
        return;
    float right = f->data_x + f->data_w;
    psc_put_fill(l, 0, a.y0, right, a.y1, PSC_COL_GUTTER);
    psc_put_fill(l, f->data_x, a.y0, right, a.y1, PSC_COL_WINDOW);
    psc_axis_init(&l->overview_axis, -1, s->n + 1, s->n, f->data_x + 7, f->data_w - 16, NULL, 0);
    const struct psc_axis *axis = &l->overview_axis;
    psc_put_fill(l, (float)psc_axis_at(axis, l->axis.lo), a.y0, (float)psc_axis_at(axis, l->axis.hi), a.y1, PSC_COL_CANVAS);
    char text[96], bytes[24], where[32];
    psc_put_label(l, PSC_FONT_AXIS_BOLD, PSC_RIGHT, PSC_COL_INK, "Whole run", f->data_x - 8, a.y0 + 15);
    if (s->split_n > 1 && !f->small)
        snprintf(text, sizeof text, "%d ops, %u splits", s->n, s->split_n);
    else
        snprintf(text, sizeof text, "%d %s%s", s->n, s->source.graph ? "op" : "position", s->n == 1 ? "" : "s");
    psc_put_label(l, PSC_FONT_AXIS, PSC_RIGHT, PSC_COL_DIM, text, f->data_x - 8, a.y0 + 29);
    float band = s->split_n > 1 ? 8 : 4, last = -10;
    for (uint32_t i = 0; i < s->split_n; i++) {
        float x0 = (float)psc_axis_left(axis, s->splits[i].first), x1 = (float)psc_axis_right(axis, s->splits[i].last);
        if (x1 < last + 1)
            continue; /* many splits: one a pixel is seen */
        x0 = fmaxf(floorf(x0), last), last = fmaxf(floorf(x1), x0 + 1);
        const char *backend = s->splits[i].backend < s->source.graph->backend_n ? s->source.graph->backends[s->splits[i].backend] : NULL;
        psc_put_fill(l, x0, a.y0 + 4, last, a.y0 + 4 + band, psc_lane_colour(backend));
    }
    float base = a.y1 - (s->layer_n ? 14 : 6), top = a.y0 + 4 + band + 4;
    struct psc_curve *c = staircase(l, axis, &s->in_use, base, base - top, (double)s->peak_bytes, 1.2f, PSC_COL_USE_LINE,
                                    PSC_UNBROKEN);
    if (c)
        c->fill = PSC_COL_USE_FILL;
    int32_t shown = -1;
    double from = -1e9;
    for (uint32_t i = 0; i < s->layer_n; i++) {
        if (s->layers[i].layer < 0)
            continue;
        double x = psc_axis_left(axis, s->layers[i].first);
        snprintf(text, sizeof text, "layer %d", s->layers[i].layer);
        double width = psc_text_width(l, PSC_FONT_SMALL, text);
        if ((shown >= 0 && s->layers[i].layer % 4) || x < from + 10 || x + 3 + width > right - 6)
            continue;
        psc_put_fill(l, floorf((float)x), base + 2, floorf((float)x) + 1, base + 6, PSC_COL_LAYER);
        psc_put_label(l, PSC_FONT_SMALL, PSC_LEFT, PSC_COL_DIM, text, x + 3, a.y1 - 7);
        shown = s->layers[i].layer, from = x + width;
    }
    if (s->peak_bytes) {
        double x = psc_axis_middle(axis, s->peak_at);
        struct psc_mark *m = psc_put_mark(l, PSC_MARK_PEAK, x, top - 1, 8);
        if (m)
            m->position = s->peak_at;
        position_text(s, s->peak_at, where, sizeof where);
        snprintf(text, sizeof text, "peak %s \xc2\xb7 %s", psc_bytes_text(s->peak_bytes, bytes, sizeof bytes), where);
        double width = psc_text_width(l, PSC_FONT_AXIS_BOLD, text);
        bool after = x + 8 + width < right - 4;
        struct psc_label *label = psc_put_label(l, PSC_FONT_AXIS_BOLD, after ? PSC_LEFT : PSC_RIGHT, PSC_COL_INK, text,
                                                after ? x + 8 : x - 8, top + 4);
        if (label) {
            label->ground = PSC_COL_CANVAS;
            l->peak_label = (uint32_t)(label - l->labels);
        }
    }
    for (uint32_t i = 0; i < s->alarm_n; i++) {
        if (!psc_grow(&l->ticks, l->tick_n + 1, &l->tick_cap, sizeof *l->ticks)) {
            l->failed = true;
            break;
        }
        float x = (float)psc_axis_middle(axis, s->alarms[i].position);
        l->ticks[l->tick_n++] = (struct psc_alarm_mark){{x - 5, base - 9, x + 5, base}, i};
    }
    psc_put_fill(l, 0, a.y1 - 1, right, a.y1, PSC_COL_RULE);
}

static void usage_captions(struct psc_layout *l, struct psc_area a, double top, double base)
{
    const struct psc_frame *f = &l->frame;
    const struct psc_scene *s = l->scene;
    char text[128], bytes[24], where[32];
    float right = f->data_x + f->data_w;
    psc_put_label(l, PSC_FONT_AXIS_BOLD, PSC_RIGHT, PSC_COL_INK, "live bytes", f->data_x - 8, a.y0 + (f->small ? 9 : 11));
    psc_put_label(l, PSC_FONT_SMALL, PSC_RIGHT, PSC_COL_DIM, psc_bytes_short((uint64_t)l->use_top, bytes, sizeof bytes), f->data_x - 8, top + (f->small ? 4 : 1));
    if (base - top > 40)
        psc_put_label(l, PSC_FONT_SMALL, PSC_RIGHT, PSC_COL_DIM, psc_bytes_short((uint64_t)(l->use_top / 2), bytes, sizeof bytes),
                      f->data_x - 8, (top + base) / 2);
    psc_put_label(l, PSC_FONT_SMALL, PSC_RIGHT, PSC_COL_DIM, "0", f->data_x - 8, base - 2);
    if (f->small)
        return;
    int32_t lo = (int32_t)floor(l->axis.lo), hi = (int32_t)ceil(l->axis.hi), at = lo;
    uint64_t here = psc_series_max(&s->in_use, lo, hi);
    while (at < hi && psc_series_max(&s->in_use, lo, at + 1) < here) { /* gallop to the first that reaches it */
        int32_t step = 1;
        while (at + 2 * step < hi && psc_series_max(&s->in_use, lo, at + 2 * step) < here)
            step *= 2;
        at += step;
    }
    position_text(s, at, where, sizeof where);
    double x = f->data_x + 8, y = a.y0 + 11;
    if (here < s->peak_bytes) {
        snprintf(text, sizeof text, "peak of this view %s at %s", psc_bytes_text(here, bytes, sizeof bytes), where);
        psc_put_label(l, PSC_FONT_AXIS, PSC_LEFT, PSC_COL_INK, text, x, y);
        x += psc_text_width(l, PSC_FONT_AXIS, text) + 24;
    }
    position_text(s, s->peak_at, where, sizeof where);
    bool left = s->peak_at < l->axis.lo, ahead = s->peak_at >= l->axis.hi;
    snprintf(text, sizeof text, "%speak of run %s at %s%s", left ? "\xe2\x97\x80 " : "",
             psc_bytes_text(s->peak_bytes, bytes, sizeof bytes), where, ahead ? " \xe2\x96\xb6" : "");
    double width = psc_text_width(l, PSC_FONT_AXIS_BOLD, text);
    if (x + width < right - 6) {
        bool in_view = !left && !ahead;
        psc_put_label(l, in_view ? PSC_FONT_AXIS_BOLD : PSC_FONT_AXIS, PSC_RIGHT, in_view ? PSC_COL_INK : PSC_COL_DIM, text, right - 8, y);
        right -= (float)width + 16;
    }
    static const char *const one[2] = {"bytes of buffers in use", "exact bytes alive"};
    for (uint32_t i = 0; i < 2; i++) { /* legend, right of the captions where there is room */
        const char *name = one[i];
        char pool[64];
        if (s->pool_n > 1) {
            uint32_t lane = 0, seen = 0;
            for (; lane < s->lane_n; lane++)
                if (s->lanes[lane].kind == PSC_LANE_POOL && seen++ == i)
                    break;
            snprintf(pool, sizeof pool, "%.40s", lane < s->lane_n ? s->lanes[lane].name : "pool");
            name = pool;
        }
        double need = 30 + psc_text_width(l, PSC_FONT_AXIS, name) + 16;
        if (x + need > right - 8)
            break;
        psc_put_line(l, (float)x, (float)floor(y) + 0.5f, (float)x + 24, (float)floor(y) + 0.5f, i ? 1.2f : 1.5f,
                     i ? PSC_COL_INK : PSC_COL_USE_LINE, i ? PSC_DASH_BOUND : PSC_UNBROKEN);
        psc_put_label(l, PSC_FONT_AXIS, PSC_LEFT, PSC_COL_DIM, name, x + 30, y);
        x += need;
    }
}

void psc_layout_usage(struct psc_layout *l)
{
    const struct psc_frame *f = &l->frame;
    const struct psc_scene *s = l->scene;
    struct psc_area a = f->usage;
    if (a.y1 - a.y0 < 20)
        return;
    float right = f->data_x + f->data_w;
    psc_put_fill(l, 0, a.y0, f->data_x, a.y1, PSC_COL_GUTTER);
    psc_put_fill(l, f->data_x, a.y0, right, a.y1, PSC_COL_CANVAS);
    psc_layout_grid(l, a.y0, a.y1);
    psc_put_fill(l, 0, a.y0, right, a.y0 + 1, PSC_COL_RULE);
    psc_put_fill(l, f->data_x - 1, a.y0, f->data_x, a.y1, PSC_COL_RULE);
    float top = a.y0 + (f->small ? 20 : 24), base = a.y1 - 5;
    int32_t lo = (int32_t)floor(l->axis.lo), hi = (int32_t)ceil(l->axis.hi);
    uint64_t most = psc_series_max(&s->in_use, lo, hi), exact = psc_series_max(&s->exact, lo, hi);
    l->use_top = fmax(1, (double)(most > exact ? most : exact));
    for (int i = 0; i < 3; i++) {
        float y = floorf(base - (base - top) * (float)i / 2);
        psc_put_fill(l, f->data_x, y, right, y + 1, PSC_COL_GRID);
    }
    bool pools = s->pool_n > 1;
    const struct psc_series *first = pools ? &s->pool[0] : &s->in_use, *second = pools ? &s->pool[1] : &s->exact;
    struct psc_curve *c = staircase(l, &l->axis, first, base, base - top, l->use_top, 1.5f, PSC_COL_USE_LINE, PSC_UNBROKEN);
    if (c)
        c->fill = PSC_COL_USE_FILL;
    staircase(l, &l->axis, second, base, base - top, l->use_top, 1.2f, PSC_COL_INK, PSC_DASH_BOUND);
    usage_captions(l, a, top, base);
}
