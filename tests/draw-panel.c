#include "tests/draw-panel.h"

#include "tests/pictures.h"

#include <glib.h>
#include <string.h>

void panel_fits(const struct psc_panel *panel, double width)
{
    const struct psc_layout *l = &panel->base;
    g_assert_cmpuint(l->label_n, >, 5);
    for (size_t i = 0; i < l->label_n; i++) {
        const struct psc_label *label = &l->labels[i];
        const char *text = l->text + label->text;
        double left = (double)label->x - (label->align == PSC_LEFT ? 0 : label->align == PSC_CENTRE ? (double)label->width / 2 : (double)label->width);
        if (left < -0.5 || left + (double)label->width > width + 0.5 || (double)label->y > l->view.height_px)
            g_error("'%s' lies at %g .. %g, %g: outside of the page", text, left, left + (double)label->width, (double)label->y);
        if (g_str_has_suffix(text, "\xe2\x80\xa6")) {
            bool told = false;
            for (size_t k = 0; k < panel->tip_n; k++)
                told = told || strlen(psc_panel_tip_text(panel, &panel->tips[k])) > strlen(text) - 3;
            g_assert_true(told);
        }
    }
    for (size_t i = 0; i < panel->arrow_n; i++)
        g_assert_cmpfloat(panel->arrows[i].x1, >, panel->arrows[i].x0);
}

void panel_is_painted(const struct psc_panel *panel, struct psc_type *type, bool dark)
{
    int w = (int)panel->base.view.width, h = (int)panel->base.view.height_px;
    cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, w, h);
    cairo_t *cr = cairo_create(surface);
    const struct psc_palette *palette = psc_palette_get(dark);
    unsigned ground = 0, other = 0;
    psc_panel_paint(panel, palette, cr, type);
    cairo_destroy(cr);
    cairo_surface_flush(surface);
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            bool is_ground = (picture_pixel(surface, x, y) & 0xffffff) == palette->rgb[PSC_COL_CANVAS];
            ground += is_ground;
            other += !is_ground;
        }
    g_assert_cmpuint(ground, >, other);
    g_assert_cmpuint(other, >, (unsigned)(w * h) / 50);
    cairo_surface_destroy(surface);
}
