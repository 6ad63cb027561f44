#include "ui/timeline-private.h"

#include <math.h>

void psc_base_free(PscBase *base)
{
    if (!base)
        return;
    psc_layout_release(&base->layout);
    if (base->surface)
        cairo_surface_destroy(base->surface);
    psc_picture_unref(base->picture);
    g_free(base);
}

PscBase *psc_base_new(PscPicture *picture, const struct psc_view *view, struct psc_type *type)
{
    gint64 start = g_get_monotonic_time();
    PscBase *base = g_new0(PscBase, 1);
    base->picture = psc_picture_ref(picture);
    base->view = *view;
    int width = (int)ceil(view->width * view->scale), height = (int)ceil(view->height_px * view->scale);
    base->surface = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, width, height);
    cairo_surface_set_device_scale(base->surface, view->scale, view->scale);
    base->failed = psc_layout_build(&base->layout, picture->scene, view, type, NULL) != PSC_OK ||
                   cairo_surface_status(base->surface) != CAIRO_STATUS_SUCCESS;
    if (!base->failed) {
        cairo_t *cr = cairo_create(base->surface);
        psc_paint(&base->layout, psc_palette_get(view->dark), cr, type);
        cairo_destroy(cr);
    }
    cairo_surface_flush(base->surface);
    base->took_us = g_get_monotonic_time() - start;
    return base;
}

gboolean psc_base_same_view(const struct psc_view *a, const struct psc_view *b)
{
    return a->mode == b->mode && a->height == b->height && a->colour == b->colour && a->lo == b->lo &&
           a->hi == b->hi && a->y == b->y && a->y_zoom == b->y_zoom && a->px_a_byte == b->px_a_byte && a->width == b->width &&
           a->height_px == b->height_px && a->scale == b->scale && a->dark == b->dark && a->fold == b->fold &&
           a->fold_lo == b->fold_lo && a->fold_hi == b->fold_hi && a->finding == b->finding && a->ghosts == b->ghosts;
}
