/* ui/draw/parts.h: small drawings of the inspector and the tables, with the timeline's colours and signs.
 *
 * Each paints into the rectangle 0, 0 .. width, height of a context (device-independent px) and leaves the
 * context as it was. `type` may be NULL: then nothing is written. The verdict of a record in a table cell is
 * psc_paint_mark with PSC_MARK_OWN, PSC_MARK_OVERWRITTEN or PSC_MARK_UNKNOWN: a filled dot, a ring with a
 * slash, a ring.
 */
#ifndef PSC_UI_DRAW_PARTS_H
#define PSC_UI_DRAW_PARTS_H

#include "ui/draw/paint.h"
#include "ui/draw/scene.h"

/* The tenant `bar` between the one before and the one after it in its buffer; idle time dashed, the cursor as a
 * line (PSC_NO_POSITION: none). Best at 34 px height and above. */
void psc_part_life(cairo_t *cr, const struct psc_palette *palette, struct psc_type *type, const struct psc_scene *scene,
                   uint32_t bar, int32_t position, double width, double height);

/* Whose bytes a buffer holds before a position and after it: two bars, one below the other. 44 px and above. */
void psc_part_owners(cairo_t *cr, const struct psc_palette *palette, struct psc_type *type, const struct psc_scene *scene,
                     uint32_t buffer, uint64_t byte, int32_t position, double width, double height);

/* Samples as cells in `rows` rows (one a token), blue - white - orange with power 0.8 up to the limit; not a number is
 * a crossed cell, infinity a filled one with its sign. The limits stand below with the scale (14 px). */
void psc_part_heatmap(cairo_t *cr, const struct psc_palette *palette, struct psc_type *type, const float *values,
                      uint32_t n, uint32_t rows, double width, double height);
/* The limit that the heatmap of these values uses: 1, 2, 4, 5 or 8 times a power of ten, no smaller than any
 * finite one; 1 when there is none. */
double psc_heat_limit(const float *values, uint32_t n);
/* Colour of one value for a limit, 0xRRGGBB. */
uint32_t psc_heat_colour(const struct psc_palette *palette, double value, double limit);

#endif
