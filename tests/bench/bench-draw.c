/* tests/bench/bench-draw.c [RANGES]: how long one rebuild of the timeline's surface takes.
 *
 * 1600 x 900, RANGES bars (default 1,000,000) in 18, 64 and 2,000 rows, at zooms from the whole run to 20
 * positions. Layout and paint, median of 9, milliseconds of processor time (other programs may run beside).
 * Goal: under 16 ms at any zoom.
 */
#include "tests/many-ranges.h"
#include "ui/draw/paint.h"

#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ROUNDS 9

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double median(double *v)
{
    qsort(v, ROUNDS, sizeof *v, by_value);
    return v[ROUNDS / 2];
}

static void measure(const struct psc_scene *scene, enum psc_view_mode mode, double span, struct psc_type *type, cairo_surface_t *surface)
{
    struct psc_view view;
    struct psc_layout layout = {0};
    double build[ROUNDS], paint[ROUNDS];
    psc_view_init(&view, scene, 1600, 900);
    view.mode = mode;
    double middle = scene->n / 2.0;
    if (span > 0)
        psc_view_set_range(&view, scene, middle - span / 2, middle + span / 2);
    for (int i = 0; i < ROUNDS; i++) {
        double start = now();
        if (psc_layout_build(&layout, scene, &view, type, NULL) != PSC_OK)
            abort();
        double built = now();
        cairo_t *cr = cairo_create(surface);
        psc_paint(&layout, psc_palette_get(false), cr, type);
        cairo_destroy(cr);
        cairo_surface_flush(surface);
        build[i] = built - start;
        paint[i] = now() - built;
    }
    double a = median(build), b = median(paint);
    printf("%-5s %9.0f positions  layout %6.2f  paint %6.2f  sum %6.2f ms  (%zu bars, %zu strips, %zu alarms)\n",
           mode == PSC_VIEW_MAP ? "map" : "rows", view.hi - view.lo, a, b, a + b, layout.bar_n, layout.cover_n, layout.alarm_n);
    psc_layout_release(&layout);
}

int main(int argc, char **argv)
{
    uint32_t ranges = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 1000000;
    static const uint32_t rows[] = {18, 64, 2000};
    cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, 1600, 900);
    struct psc_type *type = psc_type_new();
    for (size_t r = 0; r < G_N_ELEMENTS(rows); r++) {
        struct psc_arena arena = {0};
        struct many_ranges *m = many_ranges(&arena, ranges, rows[r], 3);
        struct psc_scene_source source = {.story = &m->story, .history = &m->history, .check = &m->check};
        struct psc_scene *scene;
        double start = now();
        if (psc_scene_build(&arena, &source, &scene, NULL) != PSC_OK)
            return 1;
        printf("%u ranges in %u rows: scene built in %.1f ms\n", ranges, rows[r], now() - start);
        for (double span = 0; span >= 0; span = span == 0 ? scene->n / 4.0 : span > 20 ? span / 6 : -1) {
            measure(scene, PSC_VIEW_ROWS, span, type, surface);
            measure(scene, PSC_VIEW_MAP, span, type, surface);
        }
        psc_arena_release(&arena);
    }
    psc_type_free(type);
    cairo_surface_destroy(surface);
    return 0;
}
