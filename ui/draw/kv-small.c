#include "ui/draw/kv-small.h"

#include "core/base/text.h"
#include "ui/draw/kv-page.h"
#include "ui/draw/kv-parts.h"

#include <math.h>
#include <stdio.h>

#define LEFT   38.0 /* numbers of the y axis */
#define BOTTOM 16.0 /* numbers of the x axis */
#define TOP    16.0 /* "477 rows at step 37" */

static void fill_alpha(cairo_t *cr, const struct psc_palette *palette, enum psc_colour colour, double part)
{
    uint32_t c = palette->rgb[colour];
    cairo_set_source_rgba(cr, ((c >> 16) & 255) / 255.0, ((c >> 8) & 255) / 255.0, (c & 255) / 255.0, part);
}

static void curve_axes(cairo_t *cr, const struct psc_palette *palette, struct psc_type *type, double most, uint32_t n,
                       double x0, double x1, double y0, double y1)
{
    char text[32];
    double tick = psc_kv_tick((y1 - y0) / most, 26), across = psc_kv_tick((x1 - x0) / fmax(n - 1, 1), 44);
    for (double v = 0; v <= most; v += tick) {
        double y = floor(y1 - v / most * (y1 - y0));
        psc_paint_colour(cr, palette, PSC_COL_GRID);
        psc_paint_area(cr, x0, y, x1, y + 1);
        psc_paint_colour(cr, palette, PSC_COL_DIM);
        if (type)
            psc_type_show(type, cr, PSC_FONT_SMALL, PSC_RIGHT, psc_thousands((uint64_t)v, text, sizeof text), x0 - 6, y);
    }
    for (double v = 0; type && v < n; v += across) {
        double x = n > 1 ? x0 + v / (n - 1) * (x1 - x0) : x0;
        snprintf(text, sizeof text, "%.0f", v);
        psc_paint_colour(cr, palette, PSC_COL_DIM);
        psc_type_show(type, cr, PSC_FONT_SMALL, x + 10 > x1 ? PSC_RIGHT : PSC_CENTRE, text, x + 10 > x1 ? x1 : x, y1 + 9);
    }
}

void psc_part_kv_curve(cairo_t *cr, const struct psc_palette *palette, struct psc_type *type, const uint32_t *rows, uint32_t n,
                       uint32_t step, double width, double height)
{
    static const double dash[] = {3, 3};
    double most = 1, x0 = LEFT, x1 = width - 6, y0 = TOP, y1 = height - BOTTOM;
    if (!n || width < 90 || height < 60)
        return;
    step = step < n ? step : n - 1;
    for (uint32_t i = 0; i < n; i++)
        most = fmax(most, rows[i]);
    cairo_save(cr);
    curve_axes(cr, palette, type, most, n, x0, x1, y0, y1);
    double per = n > 1 ? (x1 - x0) / (n - 1) : 0, each = n > 1 ? fmax(1, floor((double)n / (2 * (x1 - x0)))) : 1;
    double at_x = x0 + step * per, at_y = y1 - rows[step] / most * (y1 - y0);
    cairo_move_to(cr, x0, y1);
    for (double i = 0; i < step; i += each) /* no more points than half pixels */
        cairo_line_to(cr, x0 + i * per, y1 - rows[(uint32_t)i] / most * (y1 - y0));
    cairo_line_to(cr, at_x, at_y);
    cairo_line_to(cr, at_x, y1);
    cairo_close_path(cr);
    fill_alpha(cr, palette, PSC_COL_KV_FILL, palette->dark ? 0.8 : 0.66);
    cairo_fill_preserve(cr);
    psc_paint_colour(cr, palette, PSC_COL_KV_EDGE);
    cairo_set_line_width(cr, 1.2);
    cairo_stroke(cr);
    cairo_set_dash(cr, dash, 2, 0);
    cairo_move_to(cr, at_x, at_y);
    for (double i = step + each; i < n; i += each)
        cairo_line_to(cr, x0 + i * per, y1 - rows[(uint32_t)i] / most * (y1 - y0));
    if (step + 1 < n)
        cairo_line_to(cr, x1, y1 - rows[n - 1] / most * (y1 - y0));
    cairo_stroke(cr);
    cairo_set_dash(cr, NULL, 0, 0);
    psc_paint_colour(cr, palette, PSC_COL_INK);
    cairo_arc(cr, at_x, at_y, 3, 0, 6.2832);
    cairo_fill(cr);
    if (type) {
        char text[64], number[32];
        snprintf(text, sizeof text, "%s row%s after step %u", psc_thousands(rows[step], number, sizeof number), rows[step] == 1 ? "" : "s", step);
        double w = psc_type_width(type, PSC_FONT_AXIS_BOLD, text), x = fmin(fmax(at_x - w / 2, x0), x1 - w);
        psc_type_show(type, cr, PSC_FONT_AXIS_BOLD, PSC_LEFT, text, fmax(x, 0), 7);
    }
    cairo_restore(cr);
}

void psc_part_kv_swatch(cairo_t *cr, const struct psc_palette *palette, enum psc_kv_swatch swatch, double width, double height)
{
    struct psc_area all = {0, 0, (float)width, (float)height};
    static const enum psc_kv_over_kind kinds[PSC_KV_SWATCH_N] = {[PSC_KV_SWATCH_NOW] = PSC_KV_OVER_NOW,
                                                                 [PSC_KV_SWATCH_QUEUED] = PSC_KV_OVER_QUEUED,
                                                                 [PSC_KV_SWATCH_LATER] = PSC_KV_OVER_LATER,
                                                                 [PSC_KV_SWATCH_WINDOW] = PSC_KV_OVER_WINDOW,
                                                                 [PSC_KV_SWATCH_ALARM] = PSC_KV_OVER_ALARM};
    cairo_save(cr);
    if (swatch == PSC_KV_SWATCH_PREFILL || swatch == PSC_KV_SWATCH_EARLIER) {
        psc_paint_colour(cr, palette, PSC_COL_CANVAS);
        psc_paint_area(cr, 0, 0, width, height);
        fill_alpha(cr, palette, PSC_COL_KV_FILL, swatch == PSC_KV_SWATCH_PREFILL ? 1 : palette->dark ? 0.62 : 0.66);
        psc_paint_area(cr, 0, 0, width, height);
        if (swatch == PSC_KV_SWATCH_PREFILL)
            psc_paint_pattern(cr, palette, &all, PSC_BRICK, PSC_COL_KV_BRICK);
    } else if (swatch == PSC_KV_SWATCH_NEVER) {
        psc_paint_pattern(cr, palette, &all, PSC_DOTS, PSC_COL_LAYER);
    } else {
        struct psc_kv_over over = {.area = all, .clip = all, .kind = kinds[swatch], .halves = 1,
                                   .mark = swatch == PSC_KV_SWATCH_NOW};
        psc_kv_over_paint(&over, palette, cr, NULL);
    }
    cairo_restore(cr);
}
