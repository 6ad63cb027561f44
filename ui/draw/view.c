#include "ui/draw/view.h"

#include "ui/draw/axis.h"
#include "ui/draw/scene.h"

#include <math.h>

void psc_view_init(struct psc_view *view, const struct psc_scene *scene, double width, double height)
{
    *view = (struct psc_view){.lo = -1, .hi = scene->n + 1.0, .y_zoom = 1, .width = width, .height_px = height, .scale = 1,
                              .position = PSC_NO_POSITION, .selected = PSC_NONE, .hovered = PSC_NONE, .finding = PSC_NONE};
}

void psc_view_set_range(struct psc_view *view, const struct psc_scene *scene, double lo, double hi)
{
    double most = scene->n + 2.0, width = fmin(fmax(hi - lo, 2), most);
    lo = fmin(fmax(lo, -1), scene->n + 1.0 - width);
    view->lo = lo;
    view->hi = lo + width;
}

static void axis_of(const struct psc_view *view, const struct psc_scene *scene, struct psc_axis *ret)
{
    double x, width;
    psc_view_data_area(view, scene, &x, &width);
    psc_axis_init(ret, view->lo, view->hi, scene->n, x, width, scene->gaps, scene->gap_n);
}

void psc_view_zoom(struct psc_view *view, const struct psc_scene *scene, double px, double factor)
{
    struct psc_axis axis;
    axis_of(view, scene, &axis);
    double at = psc_axis_position(&axis, px, NULL), width = (view->hi - view->lo) / factor;
    double part = fmin(fmax((px - axis.x) / axis.width, 0), 1);
    psc_view_set_range(view, scene, at - part * width, at + (1 - part) * width);
    for (int i = 0; i < 4; i++) { /* gaps and wide end columns: a few corrections */
        axis_of(view, scene, &axis);
        double off = (psc_axis_at(&axis, at) - px) / axis.op;
        if (fabs(off) * axis.op < 0.5)
            break;
        psc_view_set_range(view, scene, view->lo + off, view->hi + off);
    }
}

void psc_view_show_finding(struct psc_view *view, const struct psc_scene *scene, uint32_t finding)
{
    const struct psc_finding *f = &scene->source.check->findings[finding];
    double lo = f->position < f->victim_position ? f->position : f->victim_position;
    double hi = f->read_position > f->position ? f->read_position : f->position;
    if (hi - lo > 60) /* a long life: the damage and the read matter */
        lo = f->position - 10;
    if (hi - lo > 80)
        hi = f->position + 40;
    view->finding = finding;
    psc_view_set_range(view, scene, lo - 10, hi + 11);
}
