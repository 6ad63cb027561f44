#include "ui/draw/kv-view.h"

#include <math.h>

#define BEFORE 40.0 /* rows shown before those that a decode step writes, and after them */
#define AFTER  10.0

double psc_kv_data_x(double width)
{
    return width < 860 ? 104 : 132;
}

void psc_kv_clamp_range(uint32_t rows, double *lo, double *hi)
{
    double most = rows ? rows : 1, width = fmin(fmax(*hi - *lo, 4), most);
    *lo = fmin(fmax(*lo, 0), most - width);
    *hi = *lo + width;
}

void psc_kv_first_range(const struct psc_kv_step *step, double *ret_lo, double *ret_hi)
{
    struct psc_kv_so_far s;
    double lo = 0, hi = step->regions.rows;
    psc_kv_step_so_far(step, INT32_MAX, &s);
    if (s.hi > s.lo) {
        double n = s.hi - s.lo;
        lo = s.lo - fmax(BEFORE, n * 0.1);
        hi = s.hi + fmax(AFTER, n * 0.08);
        if (lo < BEFORE / 2) /* the beginning is near: show it */
            lo = 0;
    } else if (step->before.layers && step->before.layer_at[step->before.layers + 1] > step->before.layer_at[step->before.layers]) {
        hi = step->before.spans[step->before.layer_at[step->before.layers + 1] - 1].hi * 1.1 + AFTER;
    }
    psc_kv_clamp_range(step->regions.rows, &lo, &hi);
    *ret_lo = lo;
    *ret_hi = hi;
}

void psc_kv_view_init(struct psc_kv_view *view, const struct psc_kv_step *step, double width, double height)
{
    *view = (struct psc_kv_view){.y_zoom = 1, .width = width, .height_px = height, .scale = 1, .position = -1,
                                 .layer = PSC_NONE, .row = PSC_NONE, .hover_layer = PSC_NONE, .hover_row = PSC_NONE};
    psc_kv_first_range(step, &view->lo, &view->hi);
}

void psc_kv_view_zoom(struct psc_kv_view *view, const struct psc_kv_step *step, double px, double factor)
{
    double x = psc_kv_data_x(view->width), part = fmin(fmax((px - x) / fmax(view->width - x, 1), 0), 1);
    double at = view->lo + part * (view->hi - view->lo), width = (view->hi - view->lo) / factor;
    view->lo = at - part * width;
    view->hi = view->lo + width;
    psc_kv_clamp_range(step->regions.rows, &view->lo, &view->hi);
}
