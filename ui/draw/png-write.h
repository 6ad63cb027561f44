/* ui/draw/png-write.h: a surface as the bytes of a PNG.
 *
 * Drawings are areas of one colour: each row is written as its difference from the one above, which is nothing nearly
 * everywhere. cairo's own writer tries all five filters of PNG at every row, which takes twice as long and gives files of the same
 * size. Colours only: what is drawn has a ground, and nothing shines through.
 */
#ifndef PSC_UI_DRAW_PNG_WRITE_H
#define PSC_UI_DRAW_PNG_WRITE_H

#include "core/base/text.h"

#include <cairo.h>

/* surface: an image, ARGB32 or RGB24, all of it painted. Adds to *out; fails with PSC_ERR_NOMEM, or with libpng's reason. */
enum psc_status psc_png_write(cairo_surface_t *surface, struct psc_text *out, struct psc_error *reterr) PSC_MUST_CHECK;

#endif
