/* ui/draw/kv-small.h: small drawings of the KV view for the inspector: the curve of rows by step, legend swatches.
 *
 * Each paints into 0, 0 .. width, height of a context and leaves the context as it was. type may be NULL.
 */
#ifndef PSC_UI_DRAW_KV_SMALL_H
#define PSC_UI_DRAW_KV_SMALL_H

#include "ui/draw/paint.h"

/* Rows written after each of n steps (rows[k]), up to `step` filled, beyond it dashed. 90 px and above. */
void psc_part_kv_curve(cairo_t *cr, const struct psc_palette *palette, struct psc_type *type, const uint32_t *rows, uint32_t n,
                       uint32_t step, double width, double height);

enum psc_kv_swatch {
    PSC_KV_SWATCH_PREFILL, PSC_KV_SWATCH_EARLIER, PSC_KV_SWATCH_NOW, PSC_KV_SWATCH_QUEUED, PSC_KV_SWATCH_LATER,
    PSC_KV_SWATCH_NEVER, PSC_KV_SWATCH_WINDOW, PSC_KV_SWATCH_ALARM, PSC_KV_SWATCH_N
};
void psc_part_kv_swatch(cairo_t *cr, const struct psc_palette *palette, enum psc_kv_swatch swatch, double width, double height);

#endif
