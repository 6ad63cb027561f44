/* Small maps of plans: bars where the bytes are, heights that compare, whatever the size; and maps of equal bytes a pixel. */
#include "core/debug/analysis.h"
#include "tests/pictures.h"
#include "tests/random-graph.h"
#include "tests/text-graph.h"
#include "tests/util.h"
#include "ui/draw/layout.h"
#include "ui/draw/plan-map.h"

#include <math.h>

#define LEFT 50
#define FOOT 15

static struct psc_analysis *analyse(const struct psc_phase *phase, const char *planner)
{
    struct psc_analysis_options options = {.planner = psc_planner_find(planner), .plan = psc_plan_defaults, .replan = true};
    struct psc_analysis *a = NULL;
    struct psc_error error = {0};
    g_assert_cmpint(psc_analysis_new(phase, &options, &a, &error), ==, PSC_OK);
    return a;
}

static struct psc_plan_map map_of(const struct psc_analysis *a, uint64_t top)
{
    return (struct psc_plan_map){.history = a->history, .graph = a->phase->graph, .lo = -1, .hi = a->story->position_n + 1.0,
                                 .top = top, .bound = a->plan->figures.lower_bound_bytes, .reserved = a->plan->figures.pool_bytes,
                                 .selected = PSC_NONE, .position = PSC_NO_POSITION};
}

static cairo_surface_t *paint(const struct psc_plan_map *map, int width, int height, bool dark)
{
    cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, MAX(width, 1), MAX(height, 1));
    cairo_t *cr = cairo_create(surface);
    psc_plan_map_paint(cr, psc_palette_get(dark), NULL, map, width, height);
    g_assert_cmpint(cairo_status(cr), ==, CAIRO_STATUS_SUCCESS);
    cairo_destroy(cr);
    cairo_surface_flush(surface);
    return surface;
}

static uint32_t colour(enum psc_colour colour)
{
    return psc_palette_get(false)->rgb[colour];
}

/* Three tensors one after another in an arena of two: the map has bars at their bytes and times, and nothing elsewhere. */
static void test_bars(void)
{
    struct psc_arena arena = {0};
    struct psc_phase phase = {.kind = "", .graph = text_graph(&arena, "x: input 1024\na: matmul 1024 x\nb: matmul 1024 a\nc: matmul 1024 b\nout c\n")};
    struct psc_analysis *a = analyse(&phase, "greedy-size");
    struct psc_plan_map map = map_of(a, 4 * 4096);
    int width = LEFT + 600, height = FOOT + 404; /* 100 px a position and a buffer of 4,096 bytes */
    cairo_surface_t *surface = paint(&map, width, height, false);
    g_assert_cmpuint(map.reserved, ==, 3 * 4096);
    g_assert_cmpuint(picture_pixel(surface, LEFT + 350, 10), !=, 0);
    uint32_t bars = 0, idle = 0;
    for (int column = 0; column < 6; column++)
        for (int row = 0; row < 4; row++) {
            uint32_t pixel = picture_pixel(surface, LEFT + 50 + 100 * column, 50 + 100 * row);
            bars += row < 3 && (pixel == colour(PSC_COL_ACT_FILL) || pixel == colour(PSC_COL_IO_FILL));
            idle += row < 3 && pixel == colour(PSC_COL_IDLE);
            if (row == 3)
                g_assert_cmpuint(pixel, ==, colour(PSC_COL_CANVAS)); /* below what is reserved there is nothing */
        }
    uint32_t expected = 0;
    for (uint32_t t = 0; t < a->history->tenancy_n; t++)
        expected += (uint32_t)(MIN(a->history->tenancies[t].end, 5) - a->history->tenancies[t].first);
    g_assert_cmpuint(bars, ==, expected);
    g_assert_cmpuint(bars + idle, ==, 18);
    cairo_surface_destroy(surface);
    map.selected = psc_history_value_of_node(a->history, 1);
    surface = paint(&map, width, height, false);
    uint32_t blue = 0;
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            blue += picture_pixel(surface, x, y) == colour(PSC_COL_SELECT);
    g_assert_cmpuint(blue, >, 200);
    cairo_surface_destroy(surface);
    psc_analysis_free(a);
    psc_arena_release(&arena);
}

/* Any graph, any planner, any size, any range, light and dark: nothing is written outside, nothing fails. */
static void test_random(void)
{
    static const int sizes[][2] = {{0, 0}, {1, 1}, {60, 30}, {71, 36}, {150, 110}, {900, 300}};
    guint64 seed = test_seed();
    uint32_t drawn = 0;
    for (unsigned i = 0; i < 20; i++) {
        struct psc_arena arena = {0};
        struct psc_phase phase = {.kind = "", .graph = random_graph(&arena, seed + i, &random_graph_all)};
        for (const struct psc_planner *p = psc_planners; p->name; p++) {
            struct psc_analysis *a = analyse(&phase, p->name);
            for (size_t s = 0; s < G_N_ELEMENTS(sizes); s++) {
                struct psc_plan_map map = map_of(a, s % 2 ? a->plan->figures.pool_bytes : a->plan->figures.pool_bytes / 3);
                map.selected = (uint32_t)s;
                map.position = (int32_t)s;
                if (s > 3)
                    map.lo = 5, map.hi = 9;
                cairo_surface_t *surface = paint(&map, sizes[s][0], sizes[s][1], i % 2);
                drawn += sizes[s][0] > 100 && picture_pixel(surface, sizes[s][0] - 2, 2) != 0;
                cairo_surface_destroy(surface);
            }
            psc_analysis_free(a);
        }
        psc_arena_release(&arena);
    }
    g_assert_cmpuint(drawn, >, 100);
}

static void test_bar(void)
{
    cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, 200, 20);
    cairo_t *cr = cairo_create(surface);
    psc_plan_bar_paint(cr, psc_palette_get(false), 0.5, 0.25, 200, 20);
    cairo_surface_flush(surface);
    g_assert_cmpuint(picture_pixel(surface, 80, 10), ==, colour(PSC_COL_ACT_FILL));
    g_assert_cmpuint(picture_pixel(surface, 150, 10), ==, 0);
    psc_plan_bar_paint(cr, psc_palette_get(false), 1.25, 0, 200, 20); /* broken off: not longer than the column */
    cairo_surface_flush(surface);
    g_assert_cmpuint(picture_pixel(surface, 150, 10), ==, colour(PSC_COL_ACT_FILL));
    cairo_destroy(cr);
    cairo_surface_destroy(surface);
}

/* px_a_byte: rows are as high as their bytes, in every plan alike. */
static void test_exact_heights(void)
{
    guint64 seed = test_seed();
    uint32_t rows = 0;
    for (unsigned i = 0; i < 20; i++) {
        struct psc_arena arena = {0};
        struct psc_phase phase = {.kind = "", .graph = random_graph(&arena, seed + i, &random_graph_all)};
        for (const struct psc_planner *p = psc_planners; p->name; p++) {
            struct psc_analysis *a = analyse(&phase, p->name);
            struct psc_scene *scene = NULL;
            struct psc_scene_source source = {.graph = phase.graph, .story = a->story, .history = a->history, .check = &a->check};
            struct psc_layout layout = {0};
            struct psc_view view;
            g_assert_cmpint(psc_scene_build(&arena, &source, &scene, NULL), ==, PSC_OK);
            psc_view_init(&view, scene, 900, 500);
            view.mode = PSC_VIEW_MAP;
            view.px_a_byte = 0.5;
            view.y_zoom = 2;
            g_assert_cmpint(psc_layout_build(&layout, scene, &view, NULL, NULL), ==, PSC_OK);
            for (size_t t = 0; t < layout.track_n; t++) {
                const struct psc_track *track = &layout.tracks[t];
                if (track->kind != PSC_TRACK_ROW || scene->lanes[scene->rows[track->row].lane].kind != PSC_LANE_POOL)
                    continue;
                g_assert_cmpfloat(track->low - track->top, ==, (float)fmax(2, floor((double)scene->rows[track->row].bytes + 0.5)));
                rows++;
            }
            psc_layout_release(&layout);
            psc_analysis_free(a);
        }
        psc_arena_release(&arena);
    }
    g_assert_cmpuint(rows, >, 100);
}

static cairo_surface_t *paint_still(const struct psc_plan_map *map, bool moving)
{
    cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, 400, 200);
    cairo_t *cr = cairo_create(surface);
    psc_plan_map_paint_still(cr, psc_palette_get(false), NULL, map, 400, 200);
    if (moving)
        psc_plan_map_paint_moving(cr, psc_palette_get(false), map, 400, 200);
    cairo_destroy(cr);
    cairo_surface_flush(surface);
    return surface;
}

static guint pixels_apart(cairo_surface_t *a, cairo_surface_t *b)
{
    guint apart = 0;
    for (int y = 0; y < 200; y++)
        for (int x = 0; x < 400; x++)
            apart += picture_pixel(a, x, y) != picture_pixel(b, x, y);
    return apart;
}

/* A step leaves the one part as it is, and changes all that it changes in the other. */
static void test_still(void)
{
    struct psc_arena arena = {0};
    struct psc_phase phase = {.kind = "", .graph = text_graph(&arena, "x: input 1024\na: matmul 1024 x\nb: matmul 1024 a\nout b\n")};
    struct psc_analysis *a = analyse(&phase, "greedy-size");
    struct psc_plan_map before = map_of(a, 4 * 4096), after = before;
    after.position = 1;
    after.selected = psc_history_value_of_node(a->history, 1);
    cairo_surface_t *pictures[] = {paint_still(&before, false), paint_still(&after, false), paint_still(&before, true),
                                   paint_still(&after, true), paint(&after, 400, 200, false)};
    g_assert_cmpuint(pixels_apart(pictures[0], pictures[1]), ==, 0);
    g_assert_cmpuint(pixels_apart(pictures[0], pictures[2]), ==, 0); /* nothing selected, no cursor */
    g_assert_cmpuint(pixels_apart(pictures[0], pictures[3]), >, 200 - FOOT);
    g_assert_cmpuint(pixels_apart(pictures[3], pictures[4]), ==, 0);
    for (size_t i = 0; i < G_N_ELEMENTS(pictures); i++)
        cairo_surface_destroy(pictures[i]);
    psc_analysis_free(a);
    psc_arena_release(&arena);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/plan-map/bars", test_bars);
    g_test_add_func("/plan-map/random", test_random);
    g_test_add_func("/plan-map/bar", test_bar);
    g_test_add_func("/plan-map/exact-heights", test_exact_heights);
    g_test_add_func("/plan-map/what-a-step-moves-stands-over-what-it-leaves", test_still);
    return g_test_run();
}
