#include "ui/draw/paint.h"

#include <math.h>
#include <string.h>

/* ---- raster: bars and coverage straight into pixels ----------------------------------------- */

struct raster {
    cairo_surface_t *surface;
    uint32_t *px;
    int w, h, stride; /* device px */
    double x, y, scale; /* corner, in px of the picture */
};

static bool raster_begin(struct raster *r, double x0, double y0, double x1, double y1, double scale)
{
    *r = (struct raster){.x = x0, .y = y0, .scale = scale > 0 ? scale : 1};
    r->w = (int)ceil((x1 - x0) * r->scale), r->h = (int)ceil((y1 - y0) * r->scale);
    if (r->w < 1 || r->h < 1)
        return false;
    r->surface = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, r->w, r->h);
    uint8_t *data = cairo_image_surface_get_data(r->surface);
    if (!data) {
        cairo_surface_destroy(r->surface);
        return false;
    }
    cairo_surface_flush(r->surface);
    r->stride = cairo_image_surface_get_stride(r->surface) / 4;
    r->px = (uint32_t *)(void *)data;
    return true;
}

/* Paints what was written and frees it. */
static void raster_end(struct raster *r, cairo_t *cr)
{
    cairo_surface_mark_dirty(r->surface);
    cairo_surface_set_device_scale(r->surface, r->scale, r->scale);
    cairo_set_source_surface(cr, r->surface, r->x, r->y);
    cairo_pattern_set_filter(cairo_get_source(cr), CAIRO_FILTER_NEAREST);
    cairo_paint(cr);
    cairo_surface_destroy(r->surface);
}

static void raster_rect(struct raster *r, double x0, double y0, double x1, double y1, uint32_t argb)
{
    int a = (int)floor((x0 - r->x) * r->scale + 0.5), b = (int)floor((x1 - r->x) * r->scale + 0.5);
    int c = (int)floor((y0 - r->y) * r->scale + 0.5), d = (int)floor((y1 - r->y) * r->scale + 0.5);
    a = a < 0 ? 0 : a, c = c < 0 ? 0 : c, b = b > r->w ? r->w : b, d = d > r->h ? r->h : d;
    for (int y = c; y < d; y++)
        for (int x = a; x < b; x++)
            r->px[(size_t)y * (size_t)r->stride + (size_t)x] = argb;
}

/* Each pixel column is as full as the part of it that is occupied; one line is made and copied down. */
static void raster_cover(struct raster *r, const struct psc_layout *l, const struct psc_cover *c,
                         const struct psc_palette *palette)
{
    uint32_t shade[256], fill = palette->rgb[PSC_COL_ACT_FILL], edge = palette->rgb[PSC_COL_ACT_EDGE];
    for (int i = 1; i < 256; i++) /* some occupied part is never invisible */
        shade[i] = 0xff000000u | psc_rgb_mix(palette->rgb[PSC_COL_CANVAS], fill, 0.25 + 0.75 * i / 255);
    shade[0] = 0;
    uint32_t border = 0xff000000u | psc_rgb_mix(fill, edge, 0.5);
    int top = (int)floor((c->y0 - r->y) * r->scale + 0.5), low = (int)floor((c->y1 - r->y) * r->scale + 0.5);
    int one = (int)fmax(1, floor(r->scale + 0.5));
    top = top < 0 ? 0 : top, low = low > r->h ? r->h : low;
    for (int y = top; y < low; y++) {
        uint32_t *px = r->px + (size_t)y * (size_t)r->stride;
        bool at_border = c->lines == 1 && (y < top + one || y >= low - one);
        const uint8_t *line = l->cover_bytes + c->at;
        if (c->lines > 1) {
            uint32_t k = (uint32_t)((y - top) / r->scale);
            line += (size_t)(k < c->lines ? k : c->lines - 1) * c->n;
        } else if (y > top + one && y < low - one) { /* as the line above */
            memcpy(px, px - r->stride, (size_t)r->w * sizeof *px);
            continue;
        }
        for (int x = 0; x < r->w; x++) {
            uint32_t i = (uint32_t)(x / r->scale);
            uint8_t part = i < c->n ? line[i] : 0;
            px[x] = part && at_border ? border : shade[part];
        }
    }
}

/* Bars that are only a rectangle with a border; false leaves the bar to psc_paint_bar. */
static bool raster_bar(struct raster *r, const struct psc_bar *b, const struct psc_palette *palette)
{
    if (b->style != PSC_STYLE_ACTIVATION || b->edge & (PSC_EDGE_ALARM | PSC_EDGE_SEAM_LEFT | PSC_EDGE_STITCH) ||
        b->sign || b->foot < b->y1)
        return false;
    uint32_t fill = 0xff000000u | palette->rgb[PSC_COL_ACT_FILL], edge = 0xff000000u | palette->rgb[PSC_COL_ACT_EDGE];
    raster_rect(r, b->x0, b->y0, b->x1, b->y1, edge);
    raster_rect(r, b->x0 + (b->edge & PSC_EDGE_CUT_LEFT ? 0 : 1), b->y0 + 1,
                b->x1 - (b->edge & (PSC_EDGE_CUT_RIGHT | PSC_EDGE_SEAM_RIGHT) ? 0 : 1), b->y1 - 1, fill);
    if (b->count > 1 && b->y1 - b->y0 >= 9) /* the zig-zag foot, a tooth every 4 px */
        for (double x = b->x0; x < b->x1; x += 4)
            raster_rect(r, x, b->y1 - 2, fmin(x + 2, b->x1), b->y1, 0xff000000u | palette->rgb[PSC_COL_CANVAS]);
    return true;
}

static bool is_vector(cairo_t *cr)
{
    cairo_surface_type_t type = cairo_surface_get_type(cairo_get_target(cr));
    return type == CAIRO_SURFACE_TYPE_SVG || type == CAIRO_SURFACE_TYPE_PDF;
}

static void paint_bars(const struct psc_layout *l, const struct psc_palette *palette, cairo_t *cr)
{
    const struct psc_area a = {l->frame.data_x, l->frame.lanes.y0, l->frame.data_x + l->frame.data_w, l->frame.lanes.y1};
    bool many = l->bar_n > PSC_PAINT_RASTER && !is_vector(cr);
    if (!l->cover_n && !many) {
        for (size_t i = 0; i < l->bar_n; i++)
            psc_paint_bar(cr, palette, &l->bars[i]);
        return;
    }
    struct raster r = {0};
    if (!raster_begin(&r, a.x0, a.y0, a.x1, a.y1, l->view.scale))
        return;
    for (size_t i = 0; i < l->cover_n; i++)
        raster_cover(&r, l, &l->covers[i], palette);
    for (size_t i = 0; many && i < l->bar_n; i++)
        raster_bar(&r, &l->bars[i], palette);
    raster_end(&r, cr);
    for (size_t i = 0; i < l->bar_n; i++) {
        struct raster nothing = {.w = 0};
        if (!many || !raster_bar(&nothing, &l->bars[i], palette))
            psc_paint_bar(cr, palette, &l->bars[i]);
    }
}

/* ---- the simple records ---------------------------------------------------------------------- */

static void paint_fill(const struct psc_fill *f, const struct psc_palette *palette, cairo_t *cr)
{
    uint32_t c = palette->rgb[f->colour];
    if (f->colour != PSC_COL_NONE) {
        cairo_set_source_rgba(cr, ((c >> 16) & 255) / 255.0, ((c >> 8) & 255) / 255.0, (c & 255) / 255.0, f->part / 255.0);
        psc_paint_area(cr, f->area.x0, f->area.y0, f->area.x1, f->area.y1);
    }
    if (f->pattern != PSC_SOLID)
        psc_paint_pattern(cr, palette, &f->area, (enum psc_pattern)f->pattern, (enum psc_colour)f->pattern_colour);
}

static void set_dash(cairo_t *cr, uint8_t dash)
{
    static const double pattern[][2] = {[PSC_DASH_IDLE] = {2, 3}, [PSC_DASH_BOUND] = {3, 3}, [PSC_DASH_GHOST] = {4, 3}};
    if (dash == PSC_UNBROKEN)
        cairo_set_dash(cr, NULL, 0, 0);
    else
        cairo_set_dash(cr, pattern[dash], 2, 0);
}

static void paint_line(const struct psc_line *line, const struct psc_palette *palette, cairo_t *cr)
{
    bool across = line->y0 == line->y1;
    if (line->dash == PSC_DASH_IDLE && line->width == 1 && (across || line->x0 == line->x1)) { /* a tile costs less than a stroke */
        struct psc_area a = {line->x0, line->y0, line->x1, line->y1};
        if (across)
            a.y0 = floorf(line->y0), a.y1 = a.y0 + 1;
        else
            a.x0 = floorf(line->x0), a.x1 = a.x0 + 1;
        psc_paint_pattern(cr, palette, &a, across ? PSC_DASHES_ACROSS : PSC_DASHES_DOWN, (enum psc_colour)line->colour);
        return;
    }
    set_dash(cr, line->dash);
    psc_paint_colour(cr, palette, (enum psc_colour)line->colour);
    cairo_set_line_width(cr, line->width);
    cairo_move_to(cr, line->x0, line->y0);
    cairo_line_to(cr, line->x1, line->y1);
    cairo_stroke(cr);
    set_dash(cr, PSC_UNBROKEN);
}

/* A column a pixel: the fill, and on it the top; a dashed one leaves out three columns of six. Neighbouring
 * tops are joined, so that a rise reads as a line. Written as pixels: paths of thousands of boxes are slow. */
static void paint_dense(const struct psc_layout *l, const struct psc_curve *c, const struct psc_palette *palette, cairo_t *cr)
{
    const float *p = l->points + c->at;
    double top = c->base;
    for (uint32_t i = 0; i < c->n; i++)
        top = fmin(top, p[2 * i + 1]);
    struct raster r = {0};
    if (!raster_begin(&r, p[0], floor(top) - 1, p[0] + c->n, c->base + 2, l->view.scale))
        return;
    for (uint32_t i = 0; i < c->n; i++) {
        double x = p[2 * i], y = floor(p[2 * i + 1]), before = i ? floor(p[2 * i - 1]) : y;
        if (c->fill)
            raster_rect(&r, x, y, x + 1, c->base, 0xff000000u | palette->rgb[c->fill]);
        if (c->dash && (int)x % 6 >= 3)
            continue;
        double high = c->dash ? y : fmin(y, before), low = c->dash ? y : fmax(y, before);
        raster_rect(&r, x, high, x + 1, low + 1, 0xff000000u | palette->rgb[c->colour]);
    }
    raster_end(&r, cr);
}

static void paint_curve(const struct psc_layout *l, const struct psc_curve *c, const struct psc_palette *palette, cairo_t *cr)
{
    const float *p = l->points + c->at;
    if (c->n < 2)
        return;
    if (c->dense) {
        paint_dense(l, c, palette, cr);
        return;
    }
    if (c->fill) {
        cairo_move_to(cr, p[0], c->base);
        for (uint32_t i = 0; i < c->n; i++)
            cairo_line_to(cr, p[2 * i], p[2 * i + 1]);
        cairo_line_to(cr, p[2 * (c->n - 1)], c->base);
        cairo_close_path(cr);
        psc_paint_colour(cr, palette, (enum psc_colour)c->fill);
        cairo_fill(cr);
    }
    set_dash(cr, c->dash);
    for (uint32_t i = 0; i < c->n; i++)
        cairo_line_to(cr, p[2 * i], p[2 * i + 1]);
    psc_paint_colour(cr, palette, (enum psc_colour)c->colour);
    cairo_set_line_width(cr, c->width);
    cairo_stroke(cr);
    set_dash(cr, PSC_UNBROKEN);
}

static void paint_label(const struct psc_layout *l, const struct psc_label *label, const struct psc_palette *palette,
                        cairo_t *cr, struct psc_type *type)
{
    const char *text = l->text + label->text;
    if (label->ground) {
        double left = label->align == PSC_LEFT ? label->x : label->align == PSC_RIGHT ? label->x - label->width : label->x - label->width / 2;
        psc_paint_colour(cr, palette, (enum psc_colour)label->ground);
        psc_paint_area(cr, left - 4, label->y - 7, left + label->width + 4, label->y + 8);
        if (label->frame) {
            psc_paint_colour(cr, palette, (enum psc_colour)label->frame);
            psc_paint_frame(cr, left - 6, label->y - 9, left + label->width + 6, label->y + 10, 1);
        }
    }
    psc_paint_colour(cr, palette, (enum psc_colour)label->colour);
    if (label->turned) {
        cairo_save(cr);
        cairo_translate(cr, label->x, label->y);
        cairo_rotate(cr, -1.5707963267948966);
        psc_type_show(type, cr, (enum psc_font)label->font, (enum psc_align)label->align, text, 0, 0);
        cairo_restore(cr);
        return;
    }
    psc_type_show(type, cr, (enum psc_font)label->font, (enum psc_align)label->align, text, label->x, label->y);
}

static void paint_labels(const struct psc_layout *l, const struct psc_palette *palette, cairo_t *cr, struct psc_type *type, uint8_t clip)
{
    for (size_t i = 0; type && i < l->label_n; i++)
        if (l->labels[i].clip == clip)
            paint_label(l, &l->labels[i], palette, cr, type);
}

/* ---- copies ---------------------------------------------------------------------------------- */

static void paint_holds(const struct psc_layout *l, const struct psc_palette *palette, cairo_t *cr)
{
    for (size_t i = 0; i < l->hold_n; i++) {
        const struct psc_fill *h = &l->holds[i];
        paint_fill(h, palette, cr);
        if (h->colour != PSC_COL_CANVAS)
            continue; /* the ghost of what is queued gets a dashed frame */
        set_dash(cr, PSC_DASH_GHOST);
        psc_paint_colour(cr, palette, (enum psc_colour)h->pattern_colour);
        cairo_set_line_width(cr, 1);
        cairo_rectangle(cr, floor(h->area.x0) + 0.5, floor(h->area.y0) + 0.5, floor(h->area.x1 - h->area.x0) - 1,
                        floor(h->area.y1 - h->area.y0) - 1);
        cairo_stroke(cr);
        set_dash(cr, PSC_UNBROKEN);
    }
    for (size_t i = 0; i < l->copy_line_n; i++) {
        const struct psc_copy_line *c = &l->copy_lines[i];
        psc_paint_colour(cr, palette, PSC_COL_COPY_LINE);
        cairo_set_line_width(cr, c->width);
        cairo_set_line_join(cr, CAIRO_LINE_JOIN_ROUND);
        cairo_move_to(cr, c->x, c->y0);
        cairo_line_to(cr, c->x, c->y1);
        cairo_line_to(cr, c->x1, c->y1);
        cairo_stroke(cr);
        cairo_set_line_join(cr, CAIRO_LINE_JOIN_MITER);
        cairo_new_sub_path(cr);
        cairo_arc(cr, c->x, c->y0, 3, 0, 6.2832);
        cairo_fill(cr);
    }
}

/* Two strokes, so that the outline is seen on a bar of any colour and on the canvas. */
static void paint_ghosts(const struct psc_layout *l, const struct psc_palette *palette, cairo_t *cr)
{
    for (size_t i = 0; i < l->ghost_n; i++) {
        const struct psc_area *a = &l->ghosts[i].area;
        double x = floor(a->x0) + 1, y = floor(a->y0) + 1, w = floor(a->x1 - a->x0) - 2, h = floor(a->y1 - a->y0) - 2;
        if (w < 1 || h < 1) { /* too small for an outline */
            psc_paint_colour(cr, palette, PSC_COL_INK);
            psc_paint_area(cr, a->x0, a->y0, a->x1, a->y1);
            continue;
        }
        cairo_set_line_width(cr, 2);
        cairo_rectangle(cr, x, y, w, h);
        psc_paint_colour(cr, palette, PSC_COL_CANVAS);
        cairo_stroke_preserve(cr);
        set_dash(cr, PSC_DASH_GHOST);
        psc_paint_colour(cr, palette, PSC_COL_INK);
        cairo_stroke(cr);
        set_dash(cr, PSC_UNBROKEN);
    }
}

/* ---- the picture ------------------------------------------------------------------------------ */

static void clip_to(cairo_t *cr, double x0, double y0, double x1, double y1)
{
    cairo_rectangle(cr, x0, y0, fmax(0, x1 - x0), fmax(0, y1 - y0));
    cairo_clip(cr);
}

static void paint_marks(const struct psc_layout *l, size_t from, size_t to, const struct psc_palette *palette, cairo_t *cr)
{
    for (size_t i = from; i < to; i++) {
        const struct psc_mark *m = &l->marks[i];
        psc_paint_mark(cr, palette, (enum psc_mark_kind)m->kind, m->x, m->y, m->size, m->width);
    }
}

static void paint_lanes(const struct psc_layout *l, const struct psc_palette *palette, cairo_t *cr, struct psc_type *type)
{
    const struct psc_area *a = &l->frame.lanes;
    if (a->y1 <= a->y0)
        return;
    cairo_save(cr);
    clip_to(cr, a->x0, a->y0, a->x1, a->y1);
    cairo_set_antialias(cr, CAIRO_ANTIALIAS_NONE);
    for (size_t i = 0; i < l->fill_lanes_end; i++)
        paint_fill(&l->fills[i], palette, cr);
    cairo_set_antialias(cr, CAIRO_ANTIALIAS_DEFAULT);
    cairo_save(cr);
    clip_to(cr, l->frame.data_x, a->y0, a->x1, a->y1);
    for (size_t i = 0; i < l->line_lanes_end; i++)
        paint_line(&l->lines[i], palette, cr);
    paint_bars(l, palette, cr);
    paint_holds(l, palette, cr);
    paint_ghosts(l, palette, cr);
    paint_marks(l, 0, l->mark_lanes_end, palette, cr);
    cairo_restore(cr);
    paint_labels(l, palette, cr, type, 1);
    for (size_t i = 0; i < l->alarm_n; i++) {
        const struct psc_area *m = &l->alarms[i].area;
        psc_paint_colour(cr, palette, PSC_COL_CLOBBER);
        psc_paint_area(cr, m->x0, m->y0, m->x1, m->y1);
    }
    cairo_restore(cr);
}

static void paint_overview(const struct psc_layout *l, const struct psc_palette *palette, cairo_t *cr)
{
    const struct psc_area *a = &l->frame.overview;
    if (a->y1 <= a->y0)
        return;
    for (size_t i = 0; i < l->tick_n; i++) {
        const struct psc_area *t = &l->ticks[i].area;
        psc_paint_alarm(cr, palette, (t->x0 + t->x1) / 2, (t->y0 + t->y1) / 2, t->x1 - t->x0);
    }
    psc_paint_window(cr, palette, &(struct psc_area){(float)psc_axis_at(&l->overview_axis, l->axis.lo), a->y0,
                                                     (float)psc_axis_at(&l->overview_axis, l->axis.hi), a->y1});
}

void psc_paint_window(cairo_t *cr, const struct psc_palette *palette, const struct psc_area *a)
{
    double x0 = floor(a->x0), x1 = fmax(ceil(a->x1), x0 + 4);
    psc_paint_colour(cr, palette, PSC_COL_SELECT);
    psc_paint_frame(cr, x0, a->y0 + 1, x1, a->y1 - 1, 2);
    double middle = floor((a->y0 + a->y1) / 2);
    for (int i = 0; i < 2; i++) {
        double x = (i ? x1 - 1 : x0 + 1) - 2.5;
        psc_paint_colour(cr, palette, PSC_COL_SELECT);
        psc_paint_area(cr, x, middle - 7, x + 5, middle + 7);
        psc_paint_colour(cr, palette, PSC_COL_CANVAS);
        psc_paint_area(cr, x + 1.5, middle - 5, x + 3.5, middle + 5);
    }
}

void psc_paint(const struct psc_layout *l, const struct psc_palette *palette, cairo_t *cr, struct psc_type *type)
{
    cairo_save(cr);
    cairo_new_path(cr);
    psc_paint_colour(cr, palette, PSC_COL_CANVAS);
    psc_paint_area(cr, 0, 0, l->view.width, l->view.height_px);
    paint_lanes(l, palette, cr, type);
    cairo_set_antialias(cr, CAIRO_ANTIALIAS_NONE);
    for (size_t i = l->fill_lanes_end; i < l->fill_n; i++)
        paint_fill(&l->fills[i], palette, cr);
    cairo_set_antialias(cr, CAIRO_ANTIALIAS_DEFAULT);
    for (size_t i = 0; i < l->curve_n; i++)
        paint_curve(l, &l->curves[i], palette, cr);
    for (size_t i = l->line_lanes_end; i < l->line_n; i++)
        paint_line(&l->lines[i], palette, cr);
    paint_marks(l, l->mark_lanes_end, l->mark_n, palette, cr);
    paint_labels(l, palette, cr, type, 0);
    paint_overview(l, palette, cr);
    if (l->clobber.shown)
        psc_paint_clobber(l, palette, cr, type);
    cairo_restore(cr);
}
