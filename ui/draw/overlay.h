/* ui/draw/overlay.h: what changes with every step or hover, as small records above the base picture.
 *
 * psc_overlay_build is cheap (O(log n) and what is alive); each record knows its bounds, so that the
 * window can keep one small render node a record and a step damages only what moved. A still picture
 * paints them all with psc_overlay_paint after psc_paint.
 *
 *     struct psc_overlay over = {0};
 *     psc_overlay_build(&over, &layout, &view);            position, selected, hovered of this view
 *     for (i < over.n) psc_over_paint(&over, i, palette, cr, type);
 */
#ifndef PSC_UI_DRAW_OVERLAY_H
#define PSC_UI_DRAW_OVERLAY_H

#include "ui/draw/layout.h"
#include "ui/draw/paint.h"

enum psc_over_kind {
    PSC_OVER_FUTURE,     /* ruler and overview right of the now-line: mixed with the canvas */
    PSC_OVER_PEAK,       /* "peak 615 KiB" of the overview, above the veil */
    PSC_OVER_WINDOW,     /* frame of the visible range in the overview, above the veil */
    PSC_OVER_COLUMN,     /* tint of the current column */
    PSC_OVER_ALIVE,      /* edge of a bar that is alive after the current position */
    PSC_OVER_CONNECTOR,  /* from a source to the op's output */
    PSC_OVER_HOVER, PSC_OVER_SELECTION,
    PSC_OVER_LINE,       /* the now-line, also the one in the overview */
    PSC_OVER_HEAD,       /* the op number on top of it */
    PSC_OVER_LIVE,       /* dot and "115 KiB live" in the usage curve */
    PSC_OVER_MORE,       /* "+3": connectors that are not drawn */
    PSC_OVER_KIND_N
};
struct psc_over {
    struct psc_area area;  /* bounds of all that it paints, px */
    enum psc_over_kind kind;
    uint32_t bar;          /* ALIVE, HOVER, SELECTION */
    struct psc_area clip;  /* PSC_OVER_ALIVE ...: the part of the picture it may touch */
    float x, y0, y1;       /* CONNECTOR: from y0 (source) to y1; LIVE: the dot at x, y0 */
    char text[64];
};
struct psc_overlay {
    struct psc_over *items; /* owned, in painting order */
    size_t n, cap;
    bool failed;
};
/* The layout must be that of the same range and size; position, selected and hovered come from `view`. */
enum psc_status psc_overlay_build(struct psc_overlay *overlay, const struct psc_layout *layout,
                                  const struct psc_view *view, struct psc_error *reterr) PSC_MUST_CHECK;
void psc_overlay_release(struct psc_overlay *overlay);
void psc_over_paint(const struct psc_over *over, const struct psc_palette *palette, cairo_t *cr, struct psc_type *type);
void psc_overlay_paint(const struct psc_overlay *overlay, const struct psc_palette *palette, cairo_t *cr, struct psc_type *type);

#endif
