#include "tests/pictures.h"

#include "tests/util.h"

#include <stdlib.h>
#include <string.h>

#define CHANNEL_MAX 8 /* largest difference of a channel that passes as the same picture */

uint32_t picture_pixel(cairo_surface_t *s, int x, int y)
{
    const uint8_t *data = cairo_image_surface_get_data(s);
    uint32_t ret;
    memcpy(&ret, data + (size_t)y * (size_t)cairo_image_surface_get_stride(s) + (size_t)x * 4, 4);
    return ret & 0xffffff;
}

int picture_difference(uint32_t a, uint32_t b)
{
    int most = 0;
    for (int shift = 0; shift < 24; shift += 8)
        most = MAX(most, abs((int)((a >> shift) & 255) - (int)((b >> shift) & 255)));
    return most;
}

void picture_check(const char *name, cairo_surface_t *got)
{
    char *relative = g_strdup_printf("tests/golden/%s.png", name), *path = test_source_path(relative);
    int width = cairo_image_surface_get_width(got), height = cairo_image_surface_get_height(got);
    if (!g_strcmp0(g_getenv("PSC_GOLDEN"), "write"))
        g_assert_cmpint(cairo_surface_write_to_png(got, path), ==, CAIRO_STATUS_SUCCESS);
    cairo_surface_t *want = cairo_image_surface_create_from_png(path);
    g_assert_cmpint(cairo_surface_status(want), ==, CAIRO_STATUS_SUCCESS);
    g_assert_cmpint(cairo_image_surface_get_width(want), ==, width);
    g_assert_cmpint(cairo_image_surface_get_height(want), ==, height);
    int most = 0, at_x = 0, at_y = 0;
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            int d = picture_difference(picture_pixel(got, x, y), picture_pixel(want, x, y));
            if (d > most)
                most = d, at_x = x, at_y = y;
        }
    if (most > CHANNEL_MAX) {
        char *seen = g_strdup_printf("%s/golden-%s.png", g_get_tmp_dir(), name);
        cairo_surface_write_to_png(got, seen);
        g_error("%s differs by %d at %d, %d; the picture of this run is %s", relative, most, at_x, at_y, seen);
    }
    cairo_surface_destroy(got);
    cairo_surface_destroy(want);
    g_free(relative);
    g_free(path);
}
