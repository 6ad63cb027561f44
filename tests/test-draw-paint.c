#include "tests/draw-scene.h"
#include "tests/many-ranges.h"
#include "tests/pictures.h"
#include "tests/stories.h"
#include "tests/util.h"
#include "ui/draw/parts.h"
#include "ui/draw/render.h"

#include <glib/gstdio.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- golden pictures ----------------------------------------------------------------------------- */

static cairo_surface_t *picture(const struct psc_scene *scene, const struct psc_view *view)
{
    struct psc_error error = {0};
    cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, (int)view->width, (int)view->height_px);
    cairo_t *cr = cairo_create(surface);
    g_assert_cmpint(psc_render_to(scene, view, NULL, cr, &error), ==, PSC_OK);
    g_assert_cmpint(cairo_status(cr), ==, CAIRO_STATUS_SUCCESS);
    cairo_destroy(cr);
    cairo_surface_flush(surface);
    return surface;
}

static void check_golden(const char *name, const struct psc_scene *scene, const struct psc_view *view)
{
    picture_check(name, picture(scene, view));
}

struct golden {
    const char *name;
    double lo, hi, width, height;
    enum psc_view_mode mode;
    bool dark, fold, records;
    int32_t position;
    psc_node selected;
};
static const struct golden goldens[] = {
    {"whole-rows", -1, 441, 720, 460, PSC_VIEW_ROWS, false, false, false, PSC_NO_POSITION, PSC_NONE},
    {"whole-records", -1, 441, 720, 460, PSC_VIEW_ROWS, false, false, true, PSC_NO_POSITION, PSC_NONE},
    {"layer-map", 107, 134, 900, 560, PSC_VIEW_MAP, false, true, false, 124, 124},
    {"layer-rows-dark", 109, 148, 900, 560, PSC_VIEW_ROWS, true, true, false, 133, 133},
    {"usage", -1, 441, 600, 240, PSC_VIEW_USAGE, false, false, false, 20, PSC_NONE},
    {"fill-and-end", 428, 441, 560, 460, PSC_VIEW_MAP, true, true, true, 440, PSC_NONE},
};

static void test_golden(gconstpointer data)
{
    const struct golden *g = data;
    struct draw_scene *d = draw_scene_of(&qwen_prefill, PSC_SLOTS_LOWEST, PSC_ORDER_BUILD);
    struct psc_view v;
    if (g->records)
        draw_scene_add_records(d);
    psc_view_init(&v, d->scene, g->width, g->height);
    psc_view_set_range(&v, d->scene, g->lo, g->hi);
    v.mode = g->mode, v.dark = g->dark, v.fold = g->fold, v.no_text = true;
    v.colour = g->records ? PSC_BY_RECORD : PSC_BY_ROLE;
    v.position = g->position;
    if (g->selected != PSC_NONE)
        v.selected = psc_scene_bar_of_node(d->scene, g->selected);
    check_golden(g->name, d->scene, &v);
    draw_scene_free(d);
}

/* What positions 110 .. 124 write is only enqueued until the host waits before 125. */
static void test_golden_queued(void)
{
    static const struct psc_queued queued[] = {{.first = 110, .last = 124, .done = 125, .lane = 1}};
    for (int dark = 0; dark < 2; dark++) {
        struct draw_scene *d = draw_scene_of(&qwen_prefill, PSC_SLOTS_LOWEST, PSC_ORDER_BUILD);
        struct psc_view v;
        struct psc_lane lanes[2] = {d->story->lanes[0], {"queue", d->story->buffers[d->history->tenancies[psc_scene_bar_of_node(d->scene, 115)].buffer].backend}};
        d->story->lanes = lanes;
        d->story->queued = queued;
        d->story->queued_n = 1;
        psc_view_init(&v, d->scene, 720, 460);
        psc_view_set_range(&v, d->scene, 107, 134);
        v.dark = dark, v.no_text = true;
        check_golden(dark ? "queued-dark" : "queued", d->scene, &v);
        draw_scene_free(d);
    }
}

static void test_golden_clobber(void)
{
    struct draw_scene *d = draw_scene_of(&qwen_prefill, PSC_SLOTS_FIFO, PSC_ORDER_TOPOLOGICAL);
    struct psc_view v;
    psc_view_init(&v, d->scene, 900, 560);
    psc_view_show_finding(&v, d->scene, 0);
    v.mode = PSC_VIEW_MAP, v.fold = true, v.no_text = true, v.position = 425;
    check_golden("clobber", d->scene, &v);
    v.dark = true, v.mode = PSC_VIEW_ROWS;
    check_golden("clobber-rows-dark", d->scene, &v);
    draw_scene_free(d);
}

static void test_golden_dense(void)
{
    struct psc_arena arena = {0};
    struct many_ranges *m = many_ranges(&arena, 100000, 12, 3);
    struct psc_scene_source source = {.story = &m->story, .history = &m->history, .check = &m->check};
    struct psc_scene *s;
    struct psc_view v;
    g_assert_cmpint(psc_scene_build(&arena, &source, &s, NULL), ==, PSC_OK);
    psc_view_init(&v, s, 640, 400);
    v.no_text = true;
    check_golden("dense", s, &v);
    psc_arena_release(&arena);
}

static void test_golden_stories(void)
{
    struct test_story (*const tell[])(struct psc_arena *, bool) = {test_story_candela, test_story_arena, test_story_leases};
    static const char *const names[] = {"story-candela", "story-arena", "story-leases"};
    for (size_t i = 0; i < G_N_ELEMENTS(tell); i++)
        for (int wrong = 0; wrong < 2; wrong++) {
            struct psc_arena arena = {0};
            struct test_story t = tell[i](&arena, wrong);
            struct draw_scene *d = draw_scene_story(t.graph, t.story);
            struct psc_view v;
            char name[40];
            g_snprintf(name, sizeof name, "%s%s", names[i], wrong ? "-wrong" : "");
            psc_view_init(&v, d->scene, 480, 300);
            v.no_text = true, v.mode = PSC_VIEW_ROWS;
            check_golden(name, d->scene, &v);
            draw_scene_free(d);
            psc_arena_release(&arena);
        }
}

static void test_golden_parts(void)
{
    struct draw_scene *d = draw_scene_of(&qwen_prefill, PSC_SLOTS_LOWEST, PSC_ORDER_BUILD);
    float values[64];
    for (int i = 0; i < 64; i++)
        values[i] = (float)(i - 30) / 8;
    values[5] = NAN, values[9] = INFINITY, values[11] = -INFINITY;
    g_assert_cmpfloat_with_epsilon(psc_heat_limit(values, 64), 5, 1e-9);
    g_assert_cmpfloat(psc_heat_limit(values + 5, 1), ==, 1);
    uint32_t bar = psc_scene_bar_of_node(d->scene, 124), buffer = d->history->tenancies[bar].buffer;
    for (int dark = 0; dark < 2; dark++) {
        const struct psc_palette *p = psc_palette_get(dark);
        cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, 320, 200);
        cairo_t *cr = cairo_create(surface);
        psc_paint_colour(cr, p, PSC_COL_WINDOW);
        cairo_paint(cr);
        cairo_translate(cr, 10, 10);
        psc_part_life(cr, p, NULL, d->scene, bar, 124, 300, 34);
        cairo_translate(cr, 0, 44);
        psc_part_owners(cr, p, NULL, d->scene, buffer, 0, 124, 300, 44);
        cairo_translate(cr, 0, 52);
        psc_part_heatmap(cr, p, NULL, values, 64, 2, 300, 60);
        cairo_destroy(cr);
        picture_check(dark ? "parts-dark" : "parts", surface);
    }
    draw_scene_free(d);
}

/* ---- files --------------------------------------------------------------------------------------- */

static void test_files(void)
{
    struct draw_scene *d = draw_scene_of(&qwen_prefill, PSC_SLOTS_FIFO, PSC_ORDER_TOPOLOGICAL);
    static const struct { const char *name, *magic; } files[] = {{"a.png", "\x89PNG"}, {"a.svg", "<?xml"}, {"a.PDF", "%PDF"}};
    char *folder = g_dir_make_tmp("psc-draw-XXXXXX", NULL);
    struct psc_render_words words = {"a-very-long-name-of-a-file-that-cannot-fit.json", "prefill, 440 ops", "1 clobber", true, false, "status"};
    for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
        char *path = g_build_filename(folder, files[i].name, NULL), *bytes;
        enum psc_render_format format;
        struct psc_error error = {0};
        struct psc_view v;
        gsize n;
        psc_view_init(&v, d->scene, 700, 500);
        psc_view_show_finding(&v, d->scene, 0);
        g_assert_true(psc_render_format_of(path, &format));
        g_assert_cmpint(format, ==, (int)i);
        g_assert_cmpint(psc_render(d->scene, &v, &words, format, path, &error), ==, PSC_OK);
        g_assert_true(g_file_get_contents(path, &bytes, &n, NULL));
        g_assert_cmpuint(n, >, 4000);
        g_assert_cmpint(memcmp(bytes, files[i].magic, strlen(files[i].magic)), ==, 0);
        g_free(bytes);
        g_unlink(path);
        g_free(path);
    }
    struct psc_view v;
    struct psc_error error = {0};
    enum psc_render_format format;
    psc_view_init(&v, d->scene, 300, 200);
    g_assert_false(psc_render_format_of("picture.gif", &format));
    g_assert_cmpint(psc_render(d->scene, &v, NULL, PSC_RENDER_PNG, "/nowhere/at/all.png", &error), ==, PSC_ERR_IO);
    g_assert_nonnull(strstr(error.text, "/nowhere/at/all.png"));
    g_rmdir(folder);
    g_free(folder);
    draw_scene_free(d);
}

static void test_scale(void)
{
    struct draw_scene *d = draw_scene_of(&qwen_prefill, PSC_SLOTS_LOWEST, PSC_ORDER_BUILD);
    char *folder = g_dir_make_tmp("psc-draw-XXXXXX", NULL), *path = g_build_filename(folder, "two.png", NULL);
    struct psc_view v;
    psc_view_init(&v, d->scene, 400, 300);
    v.scale = 2;
    g_assert_cmpint(psc_render(d->scene, &v, NULL, PSC_RENDER_PNG, path, NULL), ==, PSC_OK);
    cairo_surface_t *s = cairo_image_surface_create_from_png(path);
    g_assert_cmpint(cairo_image_surface_get_width(s), ==, 800);
    g_assert_cmpint(cairo_image_surface_get_height(s), ==, 600);
    cairo_surface_destroy(s);
    g_unlink(path);
    g_rmdir(folder);
    g_free(path);
    g_free(folder);
    draw_scene_free(d);
}

/* A PNG has every pixel that was painted, and nothing that shines through. */
static void test_png_pixels(void)
{
    struct draw_scene *d = draw_scene_of(&qwen_prefill, PSC_SLOTS_LOWEST, PSC_ORDER_BUILD);
    char *folder = g_dir_make_tmp("psc-draw-XXXXXX", NULL), *path = g_build_filename(folder, "pixels.png", NULL);
    struct psc_view v;
    psc_view_init(&v, d->scene, 501, 333);
    g_assert_cmpint(psc_render(d->scene, &v, NULL, PSC_RENDER_PNG, path, NULL), ==, PSC_OK);
    cairo_surface_t *read = cairo_image_surface_create_from_png(path);
    cairo_surface_t *painted = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, 501, 333);
    cairo_t *cr = cairo_create(painted);
    g_assert_cmpint(psc_render_to(d->scene, &v, NULL, cr, NULL), ==, PSC_OK);
    cairo_destroy(cr);
    cairo_surface_flush(painted);
    g_assert_cmpint(cairo_image_surface_get_format(read), ==, CAIRO_FORMAT_RGB24);
    for (int y = 0; y < 333; y++) {
        const guint32 *a = (const void *)(cairo_image_surface_get_data(read) + y * cairo_image_surface_get_stride(read));
        const guint32 *b = (const void *)(cairo_image_surface_get_data(painted) + y * cairo_image_surface_get_stride(painted));
        for (int x = 0; x < 501; x++)
            g_assert_cmphex(a[x] | 0xff000000, ==, b[x]);
    }
    cairo_surface_destroy(read);
    cairo_surface_destroy(painted);
    g_unlink(path);
    g_rmdir(folder);
    g_free(path);
    g_free(folder);
    draw_scene_free(d);
}

/* ---- colours ------------------------------------------------------------------------------------- */

static void test_contrast(void)
{
    static const enum psc_colour pairs[][2] = {
        {PSC_COL_INK, PSC_COL_CANVAS}, {PSC_COL_INK, PSC_COL_GUTTER}, {PSC_COL_INK, PSC_COL_WINDOW}, {PSC_COL_INK, PSC_COL_HEADER},
        {PSC_COL_DIM, PSC_COL_CANVAS}, {PSC_COL_DIM, PSC_COL_GUTTER}, {PSC_COL_DIM, PSC_COL_WINDOW}, {PSC_COL_DIM, PSC_COL_IDLE},
        {PSC_COL_ACT_TEXT, PSC_COL_ACT_FILL}, {PSC_COL_KV_TEXT, PSC_COL_KV_FILL}, {PSC_COL_DIM, PSC_COL_WEIGHT_FILL},
        {PSC_COL_WARN_TEXT, PSC_COL_WARN_GROUND}, {PSC_COL_NOW_TEXT, PSC_COL_NOW}, {PSC_COL_NOW_TEXT, PSC_COL_CLOBBER_TEXT},
        {PSC_COL_MARK_EDGE, PSC_COL_WRITE}, {PSC_COL_MARK_EDGE, PSC_COL_READ}, {PSC_COL_LINK, PSC_COL_CANVAS},
        {PSC_COL_RIGHT, PSC_COL_CANVAS}, {PSC_COL_LANE_TEXT, PSC_COL_LANE_KV}, {PSC_COL_LANE_TEXT, PSC_COL_LANE_CPU},
        {PSC_COL_LANE_TEXT, PSC_COL_LANE_CUDA}, {PSC_COL_CLOBBER_TEXT, PSC_COL_CANVAS},
    };
    for (int dark = 0; dark < 2; dark++) {
        const struct psc_palette *p = psc_palette_get(dark);
        for (size_t i = 0; i < G_N_ELEMENTS(pairs); i++) {
            double contrast = psc_rgb_contrast(p->rgb[pairs[i][0]], p->rgb[pairs[i][1]]);
            if (contrast < 4.5)
                g_error("colour %d on %d (%s): contrast %.2f, 4.5 is asked for", pairs[i][0], pairs[i][1], dark ? "dark" : "light", contrast);
        }
    }
}

/* Linear light matrices of Machado, Oliveira and Fernandes (2009) for full deuteranopia and protanopia. */
static const double grey[9] = {0.2126, 0.7152, 0.0722, 0.2126, 0.7152, 0.0722, 0.2126, 0.7152, 0.0722};
static const double deutan[9] = {0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.011820, 0.042940, 0.968881};
static const double protan[9] = {0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998};

static double to_linear(double c)
{
    return c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4);
}

static double to_srgb(double c)
{
    c = CLAMP(c, 0, 1);
    return c <= 0.0031308 ? 12.92 * c : 1.055 * pow(c, 1 / 2.4) - 0.055;
}

static uint32_t seen(uint32_t rgb, const double m[9])
{
    double in[3] = {to_linear(((rgb >> 16) & 255) / 255.0), to_linear(((rgb >> 8) & 255) / 255.0), to_linear((rgb & 255) / 255.0)};
    uint32_t out = 0;
    for (int i = 0; i < 3; i++)
        out = out << 8 | (uint32_t)(255 * to_srgb(m[3 * i] * in[0] + m[3 * i + 1] * in[1] + m[3 * i + 2] * in[2]) + 0.5);
    return out;
}

#define CELL 40
enum { MARK_CLASSES = 8, BAR_CLASSES = 7, HATCH = MARK_CLASSES + BAR_CLASSES, CLASSES };

static void draw_class(cairo_t *cr, const struct psc_palette *p, int class)
{
    static const enum psc_mark_kind marks[MARK_CLASSES] = {PSC_MARK_WRITE, PSC_MARK_READ, PSC_MARK_READWRITE, PSC_MARK_FILL,
                                                           PSC_MARK_COPY, PSC_MARK_OWN, PSC_MARK_OVERWRITTEN, PSC_MARK_UNKNOWN};
    psc_paint_colour(cr, p, PSC_COL_CANVAS);
    cairo_paint(cr);
    if (class < MARK_CLASSES) {
        psc_paint_mark(cr, p, marks[class], CELL / 2, CELL / 2, 20, 0);
    } else if (class < HATCH) {
        struct psc_bar bar = {.x0 = 2, .x1 = CELL - 2, .y0 = 6, .y1 = CELL - 6, .foot = CELL - 6, .count = 1,
                              .style = (uint8_t)(class - MARK_CLASSES)};
        psc_paint_bar(cr, p, &bar);
    } else {
        psc_paint_colour(cr, p, PSC_COL_CLOBBER_GROUND);
        psc_paint_area(cr, 2, 6, CELL - 2, CELL - 6);
        psc_paint_hatch(cr, p, &(struct psc_area){2, 6, CELL - 2, CELL - 6});
    }
}

/* Every two classes differ in enough pixels, in grey and for deutan and protan eyes. */
static void test_classes_differ(void)
{
    static const double *const eyes[] = {grey, deutan, protan};
    for (int dark = 0; dark < 2; dark++) {
        cairo_surface_t *cells[CLASSES];
        for (int c = 0; c < CLASSES; c++) {
            cells[c] = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, CELL, CELL);
            cairo_t *cr = cairo_create(cells[c]);
            draw_class(cr, psc_palette_get(dark), c);
            cairo_destroy(cr);
            cairo_surface_flush(cells[c]);
        }
        for (size_t e = 0; e < G_N_ELEMENTS(eyes); e++)
            for (int a = 0; a < CLASSES; a++)
                for (int b = 0; b < a; b++) {
                    int differ = 0;
                    for (int y = 0; y < CELL; y++)
                        for (int x = 0; x < CELL; x++)
                            differ += picture_difference(seen(picture_pixel(cells[a], x, y), eyes[e]), seen(picture_pixel(cells[b], x, y), eyes[e])) >= 12;
                    if (differ < 24)
                        g_error("classes %d and %d differ in %d pixels only (eye %zu, %s)", a, b, differ, e, dark ? "dark" : "light");
                }
        for (int c = 0; c < CLASSES; c++)
            cairo_surface_destroy(cells[c]);
    }
}

static unsigned count_of(cairo_surface_t *s, uint32_t rgb)
{
    unsigned n = 0;
    for (int y = 0; y < cairo_image_surface_get_height(s); y++)
        for (int x = 0; x < cairo_image_surface_get_width(s); x++)
            n += picture_difference(picture_pixel(s, x, y), rgb) < 12;
    return n;
}

static void test_vermillion_is_reserved(void)
{
    for (int wrong = 0; wrong < 2; wrong++)
        for (int dark = 0; dark < 2; dark++) {
            struct draw_scene *d = draw_scene_of(&qwen_prefill, PSC_SLOTS_FIFO, wrong ? PSC_ORDER_TOPOLOGICAL : PSC_ORDER_BUILD);
            struct psc_view v;
            psc_view_init(&v, d->scene, 900, 600);
            v.dark = dark, v.no_text = true, v.position = 100;
            cairo_surface_t *whole = picture(d->scene, &v);
            psc_view_set_range(&v, d->scene, 405, 441);
            cairo_surface_t *near = picture(d->scene, &v);
            uint32_t rgb = psc_palette_get(dark)->rgb[PSC_COL_CLOBBER];
            if (wrong) { /* seen in the whole run and near by, before anything is clicked */
                g_assert_cmpuint(count_of(whole, rgb), >, 20);
                g_assert_cmpuint(count_of(near, rgb), >, 100);
            } else {
                g_assert_cmpuint(count_of(whole, rgb), ==, 0);
                g_assert_cmpuint(count_of(near, rgb), ==, 0);
            }
            cairo_surface_destroy(whole);
            cairo_surface_destroy(near);
            draw_scene_free(d);
        }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(goldens); i++) {
        char *path = g_strdup_printf("/ui/draw/paint/golden/%s", goldens[i].name);
        g_test_add_data_func(path, &goldens[i], test_golden);
        g_free(path);
    }
    g_test_add_func("/ui/draw/paint/golden/queued", test_golden_queued);
    g_test_add_func("/ui/draw/paint/golden/clobber", test_golden_clobber);
    g_test_add_func("/ui/draw/paint/golden/dense", test_golden_dense);
    g_test_add_func("/ui/draw/paint/golden/three-stories", test_golden_stories);
    g_test_add_func("/ui/draw/paint/golden/parts-of-the-inspector", test_golden_parts);
    g_test_add_func("/ui/draw/render/png-svg-and-pdf-are-written", test_files);
    g_test_add_func("/ui/draw/render/two-device-pixels-a-unit", test_scale);
    g_test_add_func("/ui/draw/render/a-png-has-every-pixel", test_png_pixels);
    g_test_add_func("/ui/draw/palette/text-is-readable-on-its-ground", test_contrast);
    g_test_add_func("/ui/draw/palette/classes-differ-for-every-eye", test_classes_differ);
    g_test_add_func("/ui/draw/palette/vermillion-is-for-clobbers-only", test_vermillion_is_reserved);
    return g_test_run();
}
