#include "ui/draw/png-write.h"

#include "core/base/mem.h"

#include <png.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct writing {
    struct psc_text *out;
    char why[160];
};

static void fail_cb(png_structp png, png_const_charp why)
{
    struct writing *w = png_get_error_ptr(png);
    snprintf(w->why, sizeof w->why, "%s", why);
    png_longjmp(png, 1);
}

static void warn_cb(png_structp png, png_const_charp what)
{
    (void)png;
    (void)what;
}

static void write_cb(png_structp png, png_bytep bytes, size_t n)
{
    struct writing *w = png_get_io_ptr(png);
    psc_text_add_n(w->out, (const char *)bytes, n);
    if (w->out->failed)
        png_error(png, "out of memory");
}

static void flush_cb(png_structp png)
{
    (void)png;
}

static void take_row(uint8_t *to, const unsigned char *from, size_t width)
{
    for (size_t x = 0; x < width; x++) {
        uint32_t pixel;
        memcpy(&pixel, from + 4 * x, sizeof pixel);
        to[3 * x] = (uint8_t)(pixel >> 16);
        to[3 * x + 1] = (uint8_t)(pixel >> 8);
        to[3 * x + 2] = (uint8_t)pixel;
    }
}

/* False when libpng gave up: it comes back by a jump, so that everything to be freed is the caller's. */
static bool write_image(png_structp png, png_infop info, cairo_surface_t *surface, uint8_t *row)
{
    if (setjmp(png_jmpbuf(png)))
        return false;
    uint32_t width = (uint32_t)cairo_image_surface_get_width(surface), height = (uint32_t)cairo_image_surface_get_height(surface);
    size_t stride = (size_t)cairo_image_surface_get_stride(surface);
    const unsigned char *pixels = cairo_image_surface_get_data(surface);
    png_set_IHDR(png, info, width, height, 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    png_set_filter(png, PNG_FILTER_TYPE_BASE, PNG_FILTER_UP);
    png_write_info(png, info);
    for (uint32_t y = 0; y < height; y++) {
        take_row(row, pixels + y * stride, width);
        png_write_row(png, row);
    }
    png_write_end(png, info);
    return true;
}

enum psc_status psc_png_write(cairo_surface_t *surface, struct psc_text *out, struct psc_error *reterr)
{
    struct writing w = {.out = out};
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &w, fail_cb, warn_cb);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    uint8_t *row = psc_alloc(3 * (size_t)cairo_image_surface_get_width(surface));
    enum psc_status status = PSC_OK;
    cairo_surface_flush(surface);
    if (png)
        png_set_write_fn(png, &w, write_cb, flush_cb);
    if (!info || !row)
        status = psc_fail_nomem(reterr);
    else if (!write_image(png, info, surface, row))
        status = out->failed ? psc_fail_nomem(reterr) : psc_fail(reterr, PSC_ERR_IO, "a picture as PNG: %s", w.why);
    png_destroy_write_struct(&png, &info);
    psc_free(row);
    return status;
}
