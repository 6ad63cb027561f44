/* ui/draw/plan-map.h: one plan as a small map, to stand beside others: x = execution order, y = bytes from the start.
 *
 *     0 |[====][==]   [====]         all buffers that count stand on one another, in the order of their ids;
 *    10 |      [====]                every map of a row has the same range of positions and the same bytes at its foot,
 *    20 |-------------- bound        so a height is a number of bytes in all of them
 *       |============== reserved
 *        layer 5   layer 6
 *
 * Paints into 0, 0 .. width, height of a context and leaves the context as it was; type may be NULL. Bars narrower than two px are
 * gathered in a mask, so that a plan of any length costs O(tenancies) and no more strokes than pixels.
 */
#ifndef PSC_UI_DRAW_PLAN_MAP_H
#define PSC_UI_DRAW_PLAN_MAP_H

#include "core/debug/history.h"
#include "ui/draw/paint.h"

struct psc_plan_map {
    const struct psc_history *history;
    const struct psc_graph *graph;   /* for layers and numbers; may be NULL */
    double lo, hi;                   /* positions shown */
    uint64_t top;                    /* bytes at the foot of every map */
    uint64_t bound, reserved;        /* of this plan */
    uint32_t selected;               /* value, PSC_NONE */
    int32_t position;                /* the cursor, or PSC_NO_POSITION */
};
void psc_plan_map_paint(cairo_t *cr, const struct psc_palette *palette, struct psc_type *type, const struct psc_plan_map *map,
                        double width, double height);
/* The same in two: what a step leaves as it is, and over it what is selected and the cursor; O(buffers) and no more. */
void psc_plan_map_paint_still(cairo_t *cr, const struct psc_palette *palette, struct psc_type *type,
                              const struct psc_plan_map *map, double width, double height);
void psc_plan_map_paint_moving(cairo_t *cr, const struct psc_palette *palette, const struct psc_plan_map *map, double width,
                               double height);

/* A bar of a table: `part` of the width filled, a dashed line at `bound_part`; a part over 1 is broken off with two strokes. */
void psc_plan_bar_paint(cairo_t *cr, const struct psc_palette *palette, double part, double bound_part, double width, double height);

#endif
