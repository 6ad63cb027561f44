#include "ui/draw/kv-page.h"

#include <math.h>

static void veil(cairo_t *cr, const struct psc_palette *palette, enum psc_colour colour, double part, const struct psc_area *a)
{
    uint32_t c = palette->rgb[colour];
    cairo_set_source_rgba(cr, ((c >> 16) & 255) / 255.0, ((c >> 8) & 255) / 255.0, (c & 255) / 255.0, part);
    psc_paint_area(cr, a->x0, a->y0, a->x1, a->y1);
}

static struct psc_area half_of(const struct psc_kv_over *over, int half)
{
    struct psc_area a = over->area;
    float middle = floorf((a.y0 + a.y1) / 2);
    if (over->halves == 2 && half == 0)
        a.y1 = middle;
    else if (over->halves == 2)
        a.y0 = middle + 1;
    return a;
}

static void paint_now(const struct psc_kv_over *over, const struct psc_palette *palette, cairo_t *cr)
{
    for (int half = 0; half < over->halves; half++) {
        struct psc_area a = half_of(over, half);
        psc_paint_colour(cr, palette, PSC_COL_KV_FILL);
        psc_paint_area(cr, a.x0, a.y0, a.x1, a.y1);
        psc_paint_colour(cr, palette, PSC_COL_KV_EDGE);
        if (a.x1 - a.x0 >= 3 && a.y1 - a.y0 >= 3)
            psc_paint_frame(cr, a.x0, a.y0, a.x1, a.y1, a.x1 - a.x0 >= 8 ? 1.0 : 1.0);
        else
            psc_paint_area(cr, a.x0, a.y0, a.x1, a.y1);
    }
    if (!over->mark)
        return;
    const struct psc_area *a = &over->area;
    double size = fmin(fmin(a->x1 - a->x0 - 3.0, 11), a->y1 - a->y0 - 2.0);
    psc_paint_mark(cr, palette, PSC_MARK_WRITE, (a->x0 + a->x1) / 2, (a->y0 + a->y1) / 2 - size / 2, size, 0);
}

/* Rows to come, or on their way: pale and dashed. */
static void paint_later(const struct psc_kv_over *over, const struct psc_palette *palette, cairo_t *cr)
{
    bool queued = over->kind == PSC_KV_OVER_QUEUED;
    static const double dash[] = {2, 2};
    for (int half = 0; half < over->halves; half++) {
        struct psc_area a = half_of(over, half);
        psc_paint_colour(cr, palette, queued ? PSC_COL_CANVAS : PSC_COL_NOW_COLUMN);
        psc_paint_area(cr, a.x0, a.y0, a.x1, a.y1);
        if (queued)
            veil(cr, palette, PSC_COL_KV_FILL, 0.4, &a);
        if (a.x1 - a.x0 < 3 || a.y1 - a.y0 < 3)
            continue;
        psc_paint_colour(cr, palette, PSC_COL_KV_EDGE);
        cairo_set_line_width(cr, 1);
        cairo_set_dash(cr, dash, 2, 0);
        cairo_rectangle(cr, floor(a.x0) + 0.5, floor(a.y0) + 0.5, floor(a.x1 - a.x0) - 1, floor(a.y1 - a.y0) - 1);
        cairo_stroke(cr);
        cairo_set_dash(cr, NULL, 0, 0);
    }
}

static void paint_alarm(const struct psc_kv_over *over, const struct psc_palette *palette, cairo_t *cr)
{
    const struct psc_area *a = &over->area;
    psc_paint_colour(cr, palette, PSC_COL_CLOBBER_GROUND);
    psc_paint_area(cr, a->x0, a->y0, a->x1, a->y1);
    psc_paint_hatch(cr, palette, a);
    psc_paint_colour(cr, palette, PSC_COL_CLOBBER);
    double width = fmin(2, fmin(a->x1 - a->x0, a->y1 - a->y0) / 2);
    psc_paint_frame(cr, a->x0, a->y0, a->x1, a->y1, fmax(width, 1));
}

static void paint_words(const struct psc_kv_over *over, const struct psc_palette *palette, cairo_t *cr, struct psc_type *type)
{
    const struct psc_area *a = &over->area;
    enum psc_font font = over->halves ? PSC_FONT_AXIS : PSC_FONT_AXIS_BOLD;
    veil(cr, palette, PSC_COL_CANVAS, 0.92, a);
    psc_paint_colour(cr, palette, (enum psc_colour)over->colour);
    if (over->mark)
        psc_type_show(type, cr, font, PSC_CENTRE, over->text, (a->x0 + a->x1) / 2, (a->y0 + a->y1) / 2);
    else
        psc_type_show(type, cr, font, PSC_LEFT, over->text, a->x0 + 7, (a->y0 + a->y1) / 2);
}

static void paint_chip(const struct psc_kv_over *over, const struct psc_palette *palette, cairo_t *cr, struct psc_type *type)
{
    const struct psc_area *a = &over->area;
    bool alarm = over->colour == PSC_COL_CLOBBER_TEXT;
    psc_paint_colour(cr, palette, alarm ? PSC_COL_CLOBBER_GROUND : PSC_COL_CANVAS);
    psc_paint_area(cr, a->x0, a->y0, a->x1, a->y1);
    psc_paint_colour(cr, palette, (enum psc_colour)over->colour);
    psc_paint_frame(cr, a->x0, a->y0, a->x1, a->y1, alarm || over->colour == PSC_COL_READ ? 2 : 1);
    psc_paint_colour(cr, palette, over->colour == PSC_COL_READ ? PSC_COL_INK : (enum psc_colour)over->colour);
    psc_type_show(type, cr, PSC_FONT_AXIS_BOLD, PSC_LEFT, over->text, a->x0 + 8, (a->y0 + a->y1) / 2);
}

static void paint_window(const struct psc_kv_over *over, const struct psc_palette *palette, cairo_t *cr, struct psc_type *type)
{
    const struct psc_area *a = &over->area, *c = &over->clip;
    psc_paint_colour(cr, palette, PSC_COL_MARK_EDGE);
    psc_paint_frame(cr, a->x0, a->y0, a->x1, a->y1, 3);
    psc_paint_colour(cr, palette, PSC_COL_READ);
    psc_paint_frame(cr, a->x0, a->y0, a->x1, a->y1, 2);
    if (!type || !over->text[0] || a->y1 - a->y0 < 12)
        return;
    double w = psc_type_width(type, PSC_FONT_SMALL, over->text);
    if (w + 40 > c->x1 - c->x0)
        return;
    veil(cr, palette, PSC_COL_CANVAS, 0.9, &(struct psc_area){c->x0 + 6, a->y0 + 4, (float)(c->x0 + w + 16), a->y1 - 4});
    psc_paint_colour(cr, palette, PSC_COL_INK);
    psc_type_show(type, cr, PSC_FONT_SMALL, PSC_LEFT, over->text, c->x0 + 11, (a->y0 + a->y1) / 2);
}

static void paint_sequence(const struct psc_kv_over *over, const struct psc_palette *palette, cairo_t *cr, struct psc_type *type)
{
    const struct psc_area *a = &over->area;
    veil(cr, palette, PSC_COL_KV_FILL, palette->dark ? 0.8 : 0.7, a);
    psc_paint_colour(cr, palette, PSC_COL_KV_EDGE);
    psc_paint_frame(cr, a->x0, a->y0, a->x1, a->y1, 1);
    if (!type || !over->text[0])
        return;
    psc_paint_colour(cr, palette, PSC_COL_KV_TEXT);
    psc_type_show(type, cr, PSC_FONT_AXIS, PSC_LEFT, over->text, fmax(a->x0, over->clip.x0) + 8, (a->y0 + a->y1) / 2);
}

static void paint_reserved(const struct psc_kv_over *over, const struct psc_palette *palette, cairo_t *cr, struct psc_type *type)
{
    static const double dash[] = {3, 3};
    const struct psc_area *a = &over->area;
    psc_paint_colour(cr, palette, PSC_COL_KV_EDGE);
    cairo_set_line_width(cr, 1);
    cairo_set_dash(cr, dash, 2, 0);
    cairo_rectangle(cr, (double)a->x0 + 0.5, (double)a->y0 + 0.5, (double)(a->x1 - a->x0) - 1, (double)(a->y1 - a->y0) - 1);
    cairo_stroke(cr);
    cairo_set_dash(cr, NULL, 0, 0);
    if (!type || !over->text[0])
        return;
    psc_paint_colour(cr, palette, PSC_COL_DIM);
    psc_type_show(type, cr, PSC_FONT_AXIS, PSC_LEFT, over->text, fmax(a->x0, over->clip.x0) + 8, (a->y0 + a->y1) / 2);
}

static void paint_head(const struct psc_kv_over *over, const struct psc_palette *palette, cairo_t *cr, struct psc_type *type)
{
    const struct psc_area *a = &over->area;
    psc_paint_colour(cr, palette, PSC_COL_NOW);
    psc_paint_area(cr, a->x0, a->y0, a->x1, a->y1);
    psc_paint_colour(cr, palette, PSC_COL_NOW_TEXT);
    if (type && over->text[0])
        psc_type_show(type, cr, PSC_FONT_AXIS_BOLD, PSC_CENTRE, over->text, (a->x0 + a->x1) / 2, (a->y0 + a->y1) / 2);
}

static void paint_frame_of(const struct psc_kv_over *over, const struct psc_palette *palette, cairo_t *cr)
{
    const struct psc_area *a = &over->area;
    if (over->kind == PSC_KV_OVER_HOVER) {
        psc_paint_colour(cr, palette, PSC_COL_INK);
        psc_paint_frame(cr, a->x0, a->y0, a->x1, a->y1, 1);
        return;
    }
    psc_paint_colour(cr, palette, PSC_COL_CANVAS);
    psc_paint_frame(cr, a->x0, a->y0, a->x1, a->y1, 1);
    psc_paint_colour(cr, palette, PSC_COL_SELECT);
    psc_paint_frame(cr, a->x0 + 1, a->y0 + 1, a->x1 - 1, a->y1 - 1, 2.5);
}

void psc_kv_over_paint(const struct psc_kv_over *over, const struct psc_palette *palette, cairo_t *cr, struct psc_type *type)
{
    const struct psc_area *a = &over->area, *c = &over->clip;
    cairo_save(cr);
    cairo_rectangle(cr, c->x0, c->y0, c->x1 - c->x0, c->y1 - c->y0);
    cairo_clip(cr);
    switch (over->kind) {
    case PSC_KV_OVER_LAYER: veil(cr, palette, PSC_COL_SELECT, 0.16, a); break;
    case PSC_KV_OVER_NOW: paint_now(over, palette, cr); break;
    case PSC_KV_OVER_QUEUED:
    case PSC_KV_OVER_LATER: paint_later(over, palette, cr); break;
    case PSC_KV_OVER_ALARM: paint_alarm(over, palette, cr); break;
    case PSC_KV_OVER_WINDOW: paint_window(over, palette, cr, type); break;
    case PSC_KV_OVER_HOVER:
    case PSC_KV_OVER_SELECTION: paint_frame_of(over, palette, cr); break;
    case PSC_KV_OVER_HEAD: paint_head(over, palette, cr, type); break;
    case PSC_KV_OVER_TICK: psc_paint_alarm(cr, palette, (a->x0 + a->x1) / 2, (a->y0 + a->y1) / 2, 11); break;
    case PSC_KV_OVER_HANDLE: psc_paint_window(cr, palette, a); break;
    case PSC_KV_OVER_TEXT:
        if (type)
            paint_words(over, palette, cr, type);
        break;
    case PSC_KV_OVER_CHIP:
        if (type)
            paint_chip(over, palette, cr, type);
        break;
    case PSC_KV_OVER_SEQUENCE: paint_sequence(over, palette, cr, type); break;
    case PSC_KV_OVER_RESERVED: paint_reserved(over, palette, cr, type); break;
    case PSC_KV_OVER_SHARED:
        psc_paint_colour(cr, palette, PSC_COL_INK);
        psc_paint_area(cr, a->x0, a->y1 - 3, a->x1, a->y1 - 1);
        break;
    case PSC_KV_OVER_KIND_N: break;
    }
    cairo_restore(cr);
}

void psc_kv_overlay_paint(const struct psc_kv_overlay *overlay, const struct psc_palette *palette, cairo_t *cr,
                          struct psc_type *type)
{
    for (size_t i = 0; i < overlay->n; i++)
        psc_kv_over_paint(&overlay->items[i], palette, cr, type);
}
