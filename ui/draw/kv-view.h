/* ui/draw/kv-view.h: what part of the KV regions is looked at, and how. Plain data, copied freely. */
#ifndef PSC_UI_DRAW_KV_VIEW_H
#define PSC_UI_DRAW_KV_VIEW_H

#include "core/debug/kv-step.h"

enum psc_kv_halves { PSC_KV_BOTH, PSC_KV_ONLY_K, PSC_KV_ONLY_V, PSC_KV_HALVES_N };

struct psc_kv_view {
    double lo, hi;           /* rows shown, 0 .. rows of the regions */
    double y, y_zoom;        /* px scrolled down inside the layers; factor on their height, 1 = fits */
    double width, height_px; /* of the whole picture, device-independent px */
    double scale;            /* device px a unit */
    bool dark, no_text;
    enum psc_kv_halves halves;
    int32_t position;        /* the cursor, -1 .. n */
    uint32_t layer, row;     /* the selected cell; layer PSC_NONE: none */
    bool is_v;
    uint32_t hover_layer, hover_row; /* PSC_NONE: none */
};
/* The rows near what the step writes, else the rows written so far, else all. */
void psc_kv_view_init(struct psc_kv_view *view, const struct psc_kv_step *step, double width, double height);
/* What psc_kv_view_init shows. */
void psc_kv_first_range(const struct psc_kv_step *step, double *ret_lo, double *ret_hi);
/* Rows lo .. hi moved inside the regions, at least four rows wide. */
void psc_kv_clamp_range(uint32_t rows, double *lo, double *hi);
/* Zooms by `factor` (> 1 shows less) so that the row under pixel `px` stays there. */
void psc_kv_view_zoom(struct psc_kv_view *view, const struct psc_kv_step *step, double px, double factor);
/* Left edge of the data area (the gutter stands left of it). */
double psc_kv_data_x(double width);

#endif
