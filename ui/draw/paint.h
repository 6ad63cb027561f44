/* ui/draw/paint.h: draw records -> cairo.
 *
 * psc_paint draws the whole base picture of a layout: overview, ruler, lanes, usage. The context is in
 * device-independent px with the picture's corner at 0, 0 (scale it, or give the surface a device scale).
 * The window paints into one image surface and keeps it; overlays (ui/draw/overlay.h) go on top.
 *
 *     psc_layout_build(&layout, scene, &view, type, &error);
 *     psc_paint(&layout, psc_palette_get(view.dark), cr, type);
 *
 * More than PSC_PAINT_RASTER bars, and all coverage strips, are written straight into an ARGB32 surface
 * and painted once; vector targets (SVG, PDF) get the bars as rectangles and the strips as a picture.
 */
#ifndef PSC_UI_DRAW_PAINT_H
#define PSC_UI_DRAW_PAINT_H

#include "ui/draw/layout.h"

#include <cairo.h>

#define PSC_PAINT_RASTER 800u

/* type may be NULL when the layout was built without text. */
void psc_paint(const struct psc_layout *layout, const struct psc_palette *palette, cairo_t *cr, struct psc_type *type);

/* Single signs, for the inspector, tables and legends; x, y as in struct psc_mark. */
void psc_paint_mark(cairo_t *cr, const struct psc_palette *palette, enum psc_mark_kind kind, double x, double y,
                    double size, double width);
/* Fill, pattern and edge of one bar (struct psc_bar's style and edge). */
void psc_paint_bar(cairo_t *cr, const struct psc_palette *palette, const struct psc_bar *bar);
void psc_paint_colour(cairo_t *cr, const struct psc_palette *palette, enum psc_colour colour);
/* Fills an area, snapped to whole pixels. */
void psc_paint_area(cairo_t *cr, double x0, double y0, double x1, double y1);
void psc_paint_pattern(cairo_t *cr, const struct psc_palette *palette, const struct psc_area *area,
                       enum psc_pattern pattern, enum psc_colour colour);
/* A border of `width` px inside an area. */
void psc_paint_frame(cairo_t *cr, double x0, double y0, double x1, double y1, double width);
/* 45 degree hatch of the clobber colour: nothing else may use it. */
void psc_paint_hatch(cairo_t *cr, const struct psc_palette *palette, const struct psc_area *area);
/* The finding of the layout, over the dimmed rest; psc_paint calls it. */
void psc_paint_clobber(const struct psc_layout *layout, const struct psc_palette *palette, cairo_t *cr, struct psc_type *type);
/* Frame and handles of the visible range in the overview. */
void psc_paint_window(cairo_t *cr, const struct psc_palette *palette, const struct psc_area *area);
/* A warning triangle of the clobber colour. */
void psc_paint_alarm(cairo_t *cr, const struct psc_palette *palette, double x, double y, double size);

#endif
