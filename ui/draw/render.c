#include "ui/draw/render.h"

#include "core/base/mem.h"
#include "core/base/text.h"
#include "ui/draw/overlay.h"
#include "ui/draw/png-write.h"

#include <cairo-pdf.h>
#include <cairo-svg.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define HEADER 34.0
#define STATUS 26.0

bool psc_render_format_of(const char *path, enum psc_render_format *ret)
{
    static const char *const ends[PSC_RENDER_N] = {".png", ".svg", ".pdf"};
    size_t n = strlen(path);
    for (int i = 0; i < PSC_RENDER_N; i++)
        if (n > 4 && !strcasecmp(path + n - 4, ends[i])) {
            *ret = (enum psc_render_format)i;
            return true;
        }
    return false;
}

/* Text that ends at `right`: whole words are left out from its end until it fits. */
static void show_fitting(struct psc_type *type, cairo_t *cr, enum psc_font font, const char *text, double x, double right, double y)
{
    char part[512];
    snprintf(part, sizeof part, "%s", text);
    bool shortened = strlen(text) >= sizeof part;
    for (;;) {
        double width = psc_type_width(type, font, part);
        if (width <= right - x)
            break;
        char *blank = strrchr(part, ' ');
        if (shortened && blank)
            *blank = 0, blank = strrchr(part, ' ');
        if (!blank)
            return;
        *blank = 0;
        if (strlen(part) + 5 < sizeof part)
            strcat(part, " \xe2\x80\xa6");
        shortened = true;
    }
    psc_type_show(type, cr, font, PSC_LEFT, part, x, y);
}

static double paint_verdict(const struct psc_view *view, const struct psc_render_words *words, const struct psc_palette *palette,
                            cairo_t *cr, struct psc_type *type)
{
    if (!words->verdict)
        return view->width - 8;
    double width = psc_type_width(type, PSC_FONT_BASE_BOLD, words->verdict), sign = words->verdict_alarm || words->verdict_warns ? 18 : 0;
    double x1 = view->width - 8, x0 = x1 - width - sign - 20;
    enum psc_colour ground = words->verdict_alarm ? PSC_COL_CLOBBER_TEXT : words->verdict_warns ? PSC_COL_WARN_GROUND : PSC_COL_GUTTER;
    enum psc_colour ink = words->verdict_alarm ? PSC_COL_NOW_TEXT : words->verdict_warns ? PSC_COL_WARN_TEXT : PSC_COL_RIGHT;
    psc_paint_colour(cr, palette, ground);
    psc_paint_area(cr, x0, 6, x1, HEADER - 6);
    if (words->verdict_warns) {
        psc_paint_colour(cr, palette, PSC_COL_WARN_EDGE);
        psc_paint_frame(cr, x0, 6, x1, HEADER - 6, 1);
        psc_paint_mark(cr, palette, PSC_MARK_OVERWRITTEN, x0 + 14, HEADER / 2, 11, 0);
    }
    psc_paint_colour(cr, palette, ink);
    if (words->verdict_alarm) {
        cairo_move_to(cr, x0 + 14, HEADER / 2 - 6);
        cairo_line_to(cr, x0 + 20, HEADER / 2 + 5);
        cairo_line_to(cr, x0 + 8, HEADER / 2 + 5);
        cairo_close_path(cr);
        cairo_fill(cr);
    }
    psc_type_show(type, cr, PSC_FONT_BASE_BOLD, PSC_LEFT, words->verdict, x0 + 10 + sign, HEADER / 2);
    return x0 - 12;
}

static void paint_words(const struct psc_view *view, const struct psc_render_words *words, const struct psc_palette *palette,
                        cairo_t *cr, struct psc_type *type)
{
    psc_paint_colour(cr, palette, PSC_COL_HEADER);
    psc_paint_area(cr, 0, 0, view->width, HEADER);
    psc_paint_area(cr, 0, view->height_px - STATUS, view->width, view->height_px);
    double right = paint_verdict(view, words, palette, cr, type), x = 10;
    psc_paint_colour(cr, palette, PSC_COL_INK);
    if (words->title) {
        show_fitting(type, cr, PSC_FONT_BASE_BOLD, words->title, x, right, HEADER / 2);
        x += psc_type_width(type, PSC_FONT_BASE_BOLD, words->title) + 16;
    }
    if (words->status)
        show_fitting(type, cr, PSC_FONT_BASE, words->status, 10, view->width - 10, view->height_px - STATUS / 2);
    psc_paint_colour(cr, palette, PSC_COL_DIM);
    if (words->subtitle)
        show_fitting(type, cr, PSC_FONT_AXIS, words->subtitle, x, right, HEADER / 2 + 0.5);
}

enum psc_status psc_render_to(const struct psc_scene *scene, const struct psc_view *view, const struct psc_render_words *words,
                              cairo_t *cr, struct psc_error *reterr)
{
    const struct psc_palette *palette = psc_palette_get(view->dark);
    struct psc_layout layout = {0};
    struct psc_overlay overlay = {0};
    struct psc_view inner = *view;
    bool framed = words && !view->no_text && view->height_px > 2 * (HEADER + STATUS);
    inner.step_aside = true;
    if (framed)
        inner.height_px -= HEADER + STATUS;
    struct psc_type *type = view->no_text ? NULL : psc_type_new();
    if (!view->no_text && !type)
        return psc_fail_nomem(reterr);
    enum psc_status status = psc_layout_build(&layout, scene, &inner, type, reterr);
    double room = layout.frame.lanes.y1 - layout.frame.lanes.y0;
    while (status == PSC_OK && room > 0 && layout.frame.content > room && inner.y_zoom > 0.6) {
        inner.y_zoom *= fmin(0.97, room / layout.frame.content); /* nobody can scroll a picture: lower rows */
        status = psc_layout_build(&layout, scene, &inner, type, reterr);
    }
    const struct psc_check *check = scene->source.check;
    if (status == PSC_OK && check && inner.finding < check->finding_n) { /* the finding is what the picture is about */
        inner.y = psc_layout_scroll_to(&layout, scene->row_of_buffer[check->findings[inner.finding].buffer]);
        status = psc_layout_build(&layout, scene, &inner, type, reterr);
    }
    if (status == PSC_OK)
        status = psc_overlay_build(&overlay, &layout, &inner, reterr);
    if (status == PSC_OK) {
        cairo_save(cr);
        if (framed)
            cairo_translate(cr, 0, HEADER);
        cairo_rectangle(cr, 0, 0, inner.width, inner.height_px);
        cairo_clip(cr);
        psc_paint(&layout, palette, cr, type);
        psc_overlay_paint(&overlay, palette, cr, type);
        cairo_restore(cr);
        if (framed)
            paint_words(view, words, palette, cr, type);
    }
    psc_overlay_release(&overlay);
    psc_layout_release(&layout);
    psc_type_free(type);
    return status;
}

static cairo_status_t keep(void *closure, const unsigned char *data, unsigned n)
{
    struct psc_text *text = closure;
    psc_text_add_n(text, (const char *)data, n);
    return text->failed ? CAIRO_STATUS_NO_MEMORY : CAIRO_STATUS_SUCCESS;
}

static enum psc_status write_file(const char *path, const struct psc_text *bytes, struct psc_error *reterr)
{
    struct psc_text beside = {0};
    psc_text_addf(&beside, "%s.part", path);
    if (beside.failed) {
        psc_text_release(&beside);
        return psc_fail_nomem(reterr);
    }
    FILE *file = fopen(beside.s, "wb");
    bool good = file && fwrite(bytes->s, 1, bytes->n, file) == bytes->n;
    if (file && fclose(file))
        good = false;
    good = good && !rename(beside.s, path);
    enum psc_status status = PSC_OK;
    if (!good) {
        status = psc_fail(reterr, PSC_ERR_IO, "%s: the picture could not be written: %s", path, strerror(errno));
        if (file)
            remove(beside.s);
    }
    psc_text_release(&beside);
    return status;
}

enum psc_status psc_render_kv_to(const struct psc_kv_step *step, const struct psc_kv_view *view, const struct psc_render_words *words,
                                 cairo_t *cr, struct psc_error *reterr)
{
    const struct psc_palette *palette = psc_palette_get(view->dark);
    struct psc_kv_page page = {0};
    struct psc_kv_overlay overlay = {0};
    struct psc_kv_view inner = *view;
    bool framed = words && !view->no_text && view->height_px > 2 * (HEADER + STATUS);
    struct psc_view whole = {.width = view->width, .height_px = view->height_px};
    if (framed)
        inner.height_px -= HEADER + STATUS;
    struct psc_type *type = view->no_text ? NULL : psc_type_new();
    if (!view->no_text && !type)
        return psc_fail_nomem(reterr);
    enum psc_status status = psc_kv_page_build(&page, step, &inner, type, reterr);
    if (status == PSC_OK)
        status = psc_kv_overlay_build(&overlay, &page, &inner, type, reterr);
    if (status == PSC_OK) {
        cairo_save(cr);
        if (framed)
            cairo_translate(cr, 0, HEADER);
        cairo_rectangle(cr, 0, 0, inner.width, inner.height_px);
        cairo_clip(cr);
        psc_kv_page_paint(&page, palette, cr, type);
        psc_kv_overlay_paint(&overlay, palette, cr, type);
        cairo_restore(cr);
        if (framed)
            paint_words(&whole, words, palette, cr, type);
    }
    psc_kv_overlay_release(&overlay);
    psc_kv_page_release(&page);
    psc_type_free(type);
    return status;
}

static void panel_to(const struct psc_panel *panel, struct psc_type *type, const struct psc_render_words *words, cairo_t *cr)
{
    const struct psc_view *view = &panel->base.view;
    struct psc_view whole = {.width = view->width, .height_px = view->height_px + HEADER + STATUS, .dark = view->dark};
    cairo_save(cr);
    cairo_translate(cr, 0, HEADER);
    psc_panel_paint(panel, psc_palette_get(view->dark), cr, type);
    cairo_restore(cr);
    paint_words(&whole, words, psc_palette_get(view->dark), cr, type);
}

/* What one picture is of. */
struct subject {
    const struct psc_panel *panel; /* or, when it is NULL: */
    const struct psc_scene *scene; /* or, when it is NULL: */
    const struct psc_kv_step *kv;
    struct psc_type *type;         /* of the panel */
    const struct psc_view *view;
    const struct psc_kv_view *kv_view;
    const struct psc_render_words *words;
};

static enum psc_status draw_subject(const struct subject *s, cairo_t *cr, struct psc_error *reterr)
{
    if (s->panel) {
        panel_to(s->panel, s->type, s->words, cr);
        return PSC_OK;
    }
    return s->scene ? psc_render_to(s->scene, s->view, s->words, cr, reterr)
                    : psc_render_kv_to(s->kv, s->kv_view, s->words, cr, reterr);
}

static enum psc_status render(const struct subject *subject, enum psc_render_format format, const char *path, struct psc_error *reterr)
{
    struct psc_text bytes = {0};
    cairo_surface_t *surface;
    const struct psc_view *view = subject->panel ? &subject->panel->base.view : subject->view;
    bool kv = !subject->panel && !subject->scene;
    double scale = kv ? subject->kv_view->scale : view->scale;
    double w = kv ? subject->kv_view->width : view->width;
    double h = kv ? subject->kv_view->height_px : view->height_px + (subject->panel ? HEADER + STATUS : 0);
    scale = scale > 0 ? scale : 1;
    if (format == PSC_RENDER_SVG)
        surface = cairo_svg_surface_create_for_stream(keep, &bytes, w, h);
    else if (format == PSC_RENDER_PDF)
        surface = cairo_pdf_surface_create_for_stream(keep, &bytes, w, h);
    else
        surface = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, (int)ceil(w * scale), (int)ceil(h * scale));
    if (format == PSC_RENDER_PNG)
        cairo_surface_set_device_scale(surface, scale, scale);
    cairo_t *cr = cairo_create(surface);
    enum psc_status status = cairo_status(cr) ? psc_fail(reterr, PSC_ERR_TOO_BIG, "a picture of %.0f x %.0f: %s", w, h,
                                                         cairo_status_to_string(cairo_status(cr)))
                                              : draw_subject(subject, cr, reterr);
    if (status == PSC_OK) {
        cairo_show_page(cr);
        if (format == PSC_RENDER_PNG)
            status = psc_png_write(surface, &bytes, reterr);
    }
    cairo_destroy(cr);
    cairo_surface_finish(surface);
    if (status == PSC_OK && cairo_surface_status(surface) != CAIRO_STATUS_SUCCESS &&
        cairo_surface_status(surface) != CAIRO_STATUS_SURFACE_FINISHED)
        status = psc_fail(reterr, PSC_ERR_IO, "%s: %s", path, cairo_status_to_string(cairo_surface_status(surface)));
    cairo_surface_destroy(surface);
    if (status == PSC_OK)
        status = bytes.failed ? psc_fail_nomem(reterr) : write_file(path, &bytes, reterr);
    psc_text_release(&bytes);
    return status;
}

enum psc_status psc_render(const struct psc_scene *scene, const struct psc_view *view, const struct psc_render_words *words,
                           enum psc_render_format format, const char *path, struct psc_error *reterr)
{
    return render(&(struct subject){.scene = scene, .view = view, .words = words}, format, path, reterr);
}

enum psc_status psc_render_kv(const struct psc_kv_step *step, const struct psc_kv_view *view, const struct psc_render_words *words,
                              enum psc_render_format format, const char *path, struct psc_error *reterr)
{
    return render(&(struct subject){.kv = step, .kv_view = view, .words = words}, format, path, reterr);
}

enum psc_status psc_render_panel(const struct psc_panel *panel, struct psc_type *type, const struct psc_render_words *words,
                                 enum psc_render_format format, const char *path, struct psc_error *reterr)
{
    return render(&(struct subject){.panel = panel, .type = type, .words = words}, format, path, reterr);
}
