/* The KV page without a display: places and their inverse, level of detail, the cursor, alarms; pictures. */
#include "core/base/hash.h"
#include "tests/kv-run.h"
#include "tests/pictures.h"
#include "tests/util.h"
#include "ui/draw/kv-page.h"

#include <math.h>
#include <string.h>

struct shown {
    struct kv_run *run;
    struct psc_kv_step *step;
    struct psc_kv_view view;
    struct psc_kv_page page;
    struct psc_kv_overlay overlay;
};

static void show(struct shown *s)
{
    g_assert_cmpint(psc_kv_page_build(&s->page, s->step, &s->view, NULL, NULL), ==, PSC_OK);
    g_assert_cmpint(psc_kv_overlay_build(&s->overlay, &s->page, &s->view, NULL, NULL), ==, PSC_OK);
}

static void set_up(struct shown *s, uint32_t ordinal, uint32_t gap, double width, double height)
{
    memset(s, 0, sizeof *s);
    s->run = kv_run_new(440, 64);
    s->step = kv_run_step(s->run, ordinal, gap);
    psc_kv_view_init(&s->view, s->step, width, height);
    s->view.no_text = true;
    show(s);
}

static void tear_down(struct shown *s)
{
    psc_kv_overlay_release(&s->overlay);
    psc_kv_page_release(&s->page);
    kv_run_free(s->run);
}

/* ---- places ------------------------------------------------------------------------------------------------- */

static void test_hits(void)
{
    struct shown s;
    uint64_t seed = test_seed();
    uint32_t hits = 0;
    set_up(&s, 37, 0, 1030, 710);
    for (int round = 0; round < 3000; round++) {
        uint32_t layer = (uint32_t)(psc_random_next(&seed) % 24);
        uint32_t row = (uint32_t)(s.view.lo + (double)(psc_random_next(&seed) % (uint64_t)(s.view.hi - s.view.lo)));
        int half = 1 + (int)(psc_random_next(&seed) % 2);
        float y0, y1;
        psc_kv_layer_y(&s.page, layer, half, &y0, &y1);
        struct psc_kv_hit hit = psc_kv_page_hit(&s.page, psc_kv_row_x(&s.page, row + 0.5), (y0 + y1) / 2);
        g_assert_cmpint(hit.what, ==, PSC_KV_HIT_CELL);
        g_assert_cmpuint(hit.row, ==, row);
        g_assert_cmpuint(hit.layer, ==, layer);
        g_assert_cmpint(hit.is_v, ==, half == 2);
        hits++;
    }
    g_assert_cmpuint(hits, ==, 3000);
    g_assert_cmpint(psc_kv_page_hit(&s.page, 30, 300).what, ==, PSC_KV_HIT_GUTTER);
    g_assert_cmpint(psc_kv_page_hit(&s.page, 500, 70).what, ==, PSC_KV_HIT_RULER);
    g_assert_cmpint(psc_kv_page_hit(&s.page, 500, 700).what, ==, PSC_KV_HIT_SEQUENCE);
    double a = psc_kv_overview_x(&s.page, s.view.lo), b = psc_kv_overview_x(&s.page, s.view.hi);
    g_assert_cmpint(psc_kv_page_hit(&s.page, a, 20).what, ==, PSC_KV_HIT_HANDLE_LEFT);
    g_assert_cmpint(psc_kv_page_hit(&s.page, b, 20).what, ==, PSC_KV_HIT_HANDLE_RIGHT);
    g_assert_cmpint(psc_kv_page_hit(&s.page, b + 200, 20).what, ==, PSC_KV_HIT_OVERVIEW);
    tear_down(&s);
}

static void test_zoom(void)
{
    struct shown s;
    set_up(&s, 37, 0, 1030, 710);
    double x = 600, before = psc_kv_page_hit(&s.page, x, 300).at;
    for (int i = 0; i < 6; i++) {
        psc_kv_view_zoom(&s.view, s.step, x, i < 3 ? 1.5 : 1 / 1.5);
        show(&s);
        g_assert_cmpfloat_with_epsilon(psc_kv_page_hit(&s.page, x, 300).at, before, 1e-6);
    }
    psc_kv_view_zoom(&s.view, s.step, x, 1e-9);
    g_assert_cmpfloat(s.view.lo, ==, 0);
    g_assert_cmpfloat(s.view.hi, ==, 4096);
    psc_kv_view_zoom(&s.view, s.step, x, 1e9);
    g_assert_cmpfloat_with_epsilon(s.view.hi - s.view.lo, 4, 1e-9);
    tear_down(&s);
}

static void test_scroll(void)
{
    struct shown s;
    float y0, y1;
    set_up(&s, 37, 0, 700, 300);
    s.view.y_zoom = 4;
    show(&s);
    g_assert_cmpfloat(psc_kv_max_scroll(&s.page), >, 300);
    s.view.y = psc_kv_scroll_to(&s.page, 23);
    show(&s);
    psc_kv_layer_y(&s.page, 23, 0, &y0, &y1);
    g_assert_cmpfloat(y1, <=, s.page.frame.layers.y1);
    g_assert_cmpfloat(psc_kv_scroll_to(&s.page, 23), ==, s.view.y);
    g_assert_cmpfloat(psc_kv_scroll_to(&s.page, 0), ==, 0);
    tear_down(&s);
}

/* ---- the cursor --------------------------------------------------------------------------------------------------- */

static uint32_t count(const struct psc_kv_overlay *o, enum psc_kv_over_kind kind)
{
    uint32_t n = 0;
    for (size_t i = 0; i < o->n; i++)
        n += o->items[i].kind == kind;
    return n;
}

static void test_cursor(void)
{
    struct shown s;
    set_up(&s, 37, 0, 1030, 710);
    g_assert_cmpuint(count(&s.overlay, PSC_KV_OVER_NOW), ==, 0);
    g_assert_cmpuint(count(&s.overlay, PSC_KV_OVER_LATER), ==, 24);
    g_assert_cmpuint(count(&s.overlay, PSC_KV_OVER_WINDOW), ==, 0);
    s.view.position = 131; /* the attention of layer 9 */
    show(&s);
    g_assert_cmpuint(count(&s.overlay, PSC_KV_OVER_NOW), ==, 10);
    g_assert_cmpuint(count(&s.overlay, PSC_KV_OVER_LATER), ==, 14);
    g_assert_cmpuint(count(&s.overlay, PSC_KV_OVER_WINDOW), ==, 1);
    g_assert_cmpuint(count(&s.overlay, PSC_KV_OVER_LAYER), ==, 1);
    g_assert_cmpuint(count(&s.overlay, PSC_KV_OVER_ALARM), ==, 0);
    for (size_t i = 0; i < s.overlay.n; i++)
        if (s.overlay.items[i].kind == PSC_KV_OVER_WINDOW) {
            struct psc_kv_hit hit = psc_kv_page_hit(&s.page, 600, (s.overlay.items[i].area.y0 + s.overlay.items[i].area.y1) / 2);
            g_assert_cmpuint(hit.layer, ==, 9);
        }
    s.view.position = 305;
    show(&s);
    g_assert_cmpuint(count(&s.overlay, PSC_KV_OVER_NOW), ==, 24);
    tear_down(&s);
}

/* What layers 0 to 4 write is only enqueued until position 100 begins; it is drawn otherwise than what is there. */
static void test_queued(void)
{
    static const struct psc_queued queued[] = {{.first = 0, .last = 70, .done = 100, .lane = 1}};
    static const struct psc_story story = {.queued = queued, .queued_n = 1, .position_n = 437};
    struct shown s;
    uint32_t layers = 0, last = 0;
    set_up(&s, 37, 0, 1030, 710);
    s.step = kv_run_step_of(s.run, 37, 0, &story);
    for (uint32_t i = 0; i < s.step->touch_n; i++) {
        const struct psc_kv_touch *t = &s.step->touches[i];
        layers += t->is_write && t->position <= 70;
        last = t->is_write && t->position < 100 && (uint32_t)t->position > last ? (uint32_t)t->position : last;
        g_assert_cmpint(t->done, ==, t->is_write && t->position <= 70 ? 100 : t->position);
    }
    g_assert_cmpuint(layers, >, 3);
    g_assert_cmpuint(last, >, 70);
    struct psc_kv_so_far far;
    for (int32_t at = 99; at <= 100; at++) {
        s.view.position = at;
        show(&s);
        psc_kv_step_so_far(s.step, at, &far);
        g_assert_cmpuint(count(&s.overlay, PSC_KV_OVER_QUEUED), ==, at < 100 ? layers : 0);
        g_assert_cmpuint(count(&s.overlay, PSC_KV_OVER_NOW) + count(&s.overlay, PSC_KV_OVER_QUEUED), ==, far.layers_done);
        g_assert_cmpuint(far.layers_queued, ==, at < 100 ? layers : 0);
        g_assert_cmpuint(far.layers_done, >, layers);
    }
    s.view.position = 131;
    s.view.y_zoom = 0.3; /* layers share records: those that are alike only */
    show(&s);
    g_assert_cmpuint(count(&s.overlay, PSC_KV_OVER_QUEUED), ==, 0);
    s.view.position = 99;
    show(&s);
    g_assert_cmpuint(count(&s.overlay, PSC_KV_OVER_QUEUED), ==, 1);
    g_assert_cmpuint(count(&s.overlay, PSC_KV_OVER_NOW), ==, 1);
    g_assert_cmpuint(count(&s.overlay, PSC_KV_OVER_LATER), ==, 1);
    tear_down(&s);
}

static const struct psc_kv_over *over_with(const struct psc_kv_overlay *o, const char *text)
{
    for (size_t i = 0; i < o->n; i++)
        if (strstr(o->items[i].text, text))
            return &o->items[i];
    return NULL;
}

/* Each sequence has its stretch of the strip, whatever is written; a shared prefix is a line under the rows it reads. */
static void test_sequences(void)
{
    static const struct psc_kv_sequence list[] = {
        {.seq = 0, .start = 0, .cap = 1500, .rows = 900},
        {.seq = 7, .start = 1500, .cap = 1000, .rows = 1000, .shared_cell = 0, .shared_rows = 600},
        {.seq = 12345678901, .start = 2600, .cap = 1000, .rows = 0},
    };
    struct shown s;
    set_up(&s, 37, 0, 1900, 710);
    g_assert_cmpuint(count(&s.overlay, PSC_KV_OVER_SEQUENCE), ==, 1); /* a file that names none: one */
    g_assert_cmpuint(count(&s.overlay, PSC_KV_OVER_RESERVED), ==, 0);
    size_t fills = s.page.base.fill_n;
    s.step->sequences = list, s.step->sequence_n = G_N_ELEMENTS(list);
    s.view.lo = 0, s.view.hi = 4096, s.view.no_text = false;
    show(&s);
    g_assert_cmpuint(count(&s.overlay, PSC_KV_OVER_SEQUENCE), ==, 2); /* the third has no row yet */
    g_assert_cmpuint(count(&s.overlay, PSC_KV_OVER_RESERVED), ==, 2); /* the second is full */
    g_assert_cmpuint(count(&s.overlay, PSC_KV_OVER_SHARED), ==, 1);
    const struct psc_kv_over *first = over_with(&s.overlay, "sequence 0: "), *second = over_with(&s.overlay, "sequence 7: ");
    const struct psc_kv_over *third = over_with(&s.overlay, "sequence 12345678901: no row yet");
    g_assert_true(first && second && third);
    g_assert_nonnull(over_with(&s.overlay, "596 cells of no sequence"));
    g_assert_cmpfloat_with_epsilon(first->area.x1, psc_kv_row_x(&s.page, 900), 1);
    g_assert_cmpfloat_with_epsilon(second->area.x0, psc_kv_row_x(&s.page, 1500), 1);
    g_assert_cmpfloat_with_epsilon(second->area.x1, psc_kv_row_x(&s.page, 2500), 1);
    g_assert_cmpfloat_with_epsilon(third->area.x0, psc_kv_row_x(&s.page, 2600), 1);
    bool counted = false;
    for (size_t i = 0; i < s.page.base.label_n; i++)
        counted |= !strcmp(s.page.base.text + s.page.base.labels[i].text, "3 sequences");
    g_assert_true(counted);
    s.view.lo = 0, s.view.hi = 100; /* near the first: the overview still has all three */
    s.view.no_text = true;
    show(&s);
    g_assert_cmpuint(count(&s.overlay, PSC_KV_OVER_SEQUENCE), ==, 1);
    s.step->sequence_n = 0;
    size_t with = s.page.base.fill_n;
    show(&s);
    g_assert_cmpuint(with, ==, s.page.base.fill_n + 3);
    g_assert_cmpuint(fills, >, 0);
    tear_down(&s);
}

/* Every overlay record says the bounds of all that it paints: outside of them no pixel changes. */
static void test_bounds(void)
{
    struct shown s;
    static const struct psc_kv_sequence list[] = {{.seq = 3, .start = 0, .cap = 478, .rows = 474},
                                                  {.seq = 4, .start = 478, .cap = 40, .rows = 2, .shared_cell = 470, .shared_rows = 4}};
    set_up(&s, 37, 3, 720, 420);
    s.step->sequences = list, s.step->sequence_n = 2;
    struct psc_type *type = psc_type_new();
    s.view.no_text = false;
    s.view.position = 131;
    s.view.layer = 9, s.view.row = 470;
    s.view.hover_layer = 4, s.view.hover_row = 460;
    g_assert_cmpint(psc_kv_page_build(&s.page, s.step, &s.view, type, NULL), ==, PSC_OK);
    g_assert_cmpint(psc_kv_overlay_build(&s.overlay, &s.page, &s.view, type, NULL), ==, PSC_OK);
    g_assert_cmpuint(s.overlay.n, >, 40);
    for (size_t i = 0; i < s.overlay.n; i++) {
        const struct psc_area *c = &s.overlay.items[i].clip;
        cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, 720, 420);
        cairo_t *cr = cairo_create(surface);
        psc_kv_over_paint(&s.overlay.items[i], psc_palette_get(false), cr, type);
        cairo_destroy(cr);
        cairo_surface_flush(surface);
        uint32_t inside = 0;
        for (int y = 0; y < 420; y++)
            for (int x = 0; x < 720; x++) {
                bool in = x >= floor(c->x0) && x < ceil(c->x1) && y >= floor(c->y0) && y < ceil(c->y1);
                if (in)
                    inside += picture_pixel(surface, x, y) != 0;
                else
                    g_assert_cmphex(picture_pixel(surface, x, y), ==, 0);
            }
        g_assert_cmpuint(inside, >, 0);
        cairo_surface_destroy(surface);
    }
    psc_type_free(type);
    tear_down(&s);
}

/* ---- level of detail -------------------------------------------------------------------------------------------------- */

/* Rows far narrower than a pixel: every column is as full as it should be, counted row by row. */
static void test_columns(void)
{
    struct psc_arena arena = {0};
    struct psc_kv_regions regions = {.layers = 2, .rows = 40960, .row_bytes = 512, .format = "f32"};
    struct psc_kv_builder *b = psc_kv_builder_new();
    struct psc_kv_history *h = NULL;
    struct psc_kv_step *step = NULL;
    uint64_t seed = test_seed();
    static uint8_t written[40960];
    memset(written, 0, sizeof written);
    for (uint32_t s = 0; s < 3000; s++) {
        uint32_t lo = (uint32_t)(psc_random_next(&seed) % 40000), n = 1 + (uint32_t)(psc_random_next(&seed) % (s % 50 ? 8 : 900));
        struct psc_kv_rows rows = {0, 1, true, lo, lo + n, 0};
        psc_kv_builder_step(b, 0, s, false, true, &rows, 1);
        memset(written + lo, 1, n);
    }
    g_assert_cmpint(psc_kv_builder_finish(b, &arena, 2, &h, NULL), ==, PSC_OK);
    psc_kv_builder_free(b);
    struct psc_kv_step_source source = {.regions = &regions, .history = h, .ordinal = 3000};
    g_assert_cmpint(psc_kv_step_build(&arena, &source, &step, NULL), ==, PSC_OK);
    struct shown s = {.step = step};
    psc_kv_view_init(&s.view, step, 132 + 512, 400);
    s.view.no_text = true;
    s.view.lo = 0, s.view.hi = 40960; /* 80 rows a pixel, or so */
    show(&s);
    g_assert_cmpfloat(s.page.frame.data_w, >=, 512);
    uint32_t columns = (uint32_t)s.page.frame.data_w, checked = 0;
    float y0, y1;
    psc_kv_layer_y(&s.page, 1, 0, &y0, &y1);
    double each = 40960.0 / columns;
    for (uint32_t x = 0; x < columns; x++) {
        double want = 0, got = 0;
        for (uint32_t row = (uint32_t)(x * each); row < 40960 && row < (x + 1) * each; row++)
            want += written[row] ? fmin(row + 1.0, (x + 1) * each) - fmax(row, x * each) : 0;
        want /= each;
        for (size_t i = 0; i < s.page.base.fill_lanes_end; i++) {
            const struct psc_fill *f = &s.page.base.fills[i];
            double at = s.page.frame.data_x + x + 0.5;
            if (f->colour == PSC_COL_KV_FILL && f->area.x0 <= at && f->area.x1 > at && f->area.y0 < y1 && f->area.y1 > y0)
                got = f->part / 255.0 / 0.66;
        }
        if (want < 1e-9)
            g_assert_cmpfloat(got, ==, 0);
        else
            g_assert_cmpfloat(got, >, 0.1); /* what is written is never invisible */
        g_assert_cmpfloat(fabs(got - want), <, 0.14); /* eighths */
        checked++;
    }
    g_assert_cmpuint(checked, ==, columns);
    g_assert_cmpuint(s.page.base.fill_n, <, 6 * columns);
    psc_kv_overlay_release(&s.overlay);
    psc_kv_page_release(&s.page);
    psc_arena_release(&arena);
}

/* One unwritten row among 40,960 x 400: layers and rows are far below a pixel. */
static void test_alarms_are_never_thinned(void)
{
    struct psc_arena arena = {0};
    struct psc_kv_regions regions = {.layers = 400, .rows = 40960, .row_bytes = 512, .format = "f32"};
    struct psc_kv_rows rows = {7, 213, false, 30000, 30001, 1};
    struct psc_kv_step_source source = {.regions = &regions, .rows = &rows, .row_n = 1, .source = PSC_KV_RECORDED};
    struct shown s = {0};
    g_assert_cmpint(psc_kv_step_build(&arena, &source, &s.step, NULL), ==, PSC_OK);
    psc_kv_view_init(&s.view, s.step, 500, 300);
    s.view.no_text = true;
    s.view.lo = 0, s.view.hi = 40960;
    show(&s);
    g_assert_cmpfloat(s.page.frame.pitch, <, 1);
    g_assert_cmpuint(count(&s.overlay, PSC_KV_OVER_TICK), ==, 1);
    g_assert_cmpuint(count(&s.overlay, PSC_KV_OVER_ALARM), ==, 1);
    for (size_t i = 0; i < s.overlay.n; i++)
        if (s.overlay.items[i].kind == PSC_KV_OVER_ALARM) {
            const struct psc_area *a = &s.overlay.items[i].area;
            g_assert_cmpfloat(a->x1 - a->x0, >=, 3);
            g_assert_cmpfloat(a->y1 - a->y0, >=, 3);
            struct psc_kv_hit hit = psc_kv_page_hit(&s.page, a->x0 + 1, a->y0 + 0.1);
            g_assert_cmpuint(hit.alarm, ==, 0);
        }
    s.view.lo = 0, s.view.hi = 100; /* out of sight: the tick stays */
    show(&s);
    g_assert_cmpuint(count(&s.overlay, PSC_KV_OVER_ALARM), ==, 0);
    g_assert_cmpuint(count(&s.overlay, PSC_KV_OVER_TICK), ==, 1);
    psc_kv_overlay_release(&s.overlay);
    psc_kv_page_release(&s.page);
    psc_arena_release(&arena);
}

/* Sizes from nothing to a wall: no record lies outside of its part, nothing divides by zero. */
static void test_sizes(void)
{
    struct shown s;
    set_up(&s, 37, 1, 1030, 710);
    static const double widths[] = {1, 120, 133, 400, 859, 1030, 3000}, heights[] = {1, 60, 100, 219, 400, 2000};
    uint32_t built = 0;
    for (size_t w = 0; w < G_N_ELEMENTS(widths); w++)
        for (size_t h = 0; h < G_N_ELEMENTS(heights); h++)
            for (int halves = 0; halves < PSC_KV_HALVES_N; halves++) {
                s.view.width = widths[w], s.view.height_px = heights[h], s.view.halves = (enum psc_kv_halves)halves;
                show(&s);
                for (size_t i = 0; i < s.overlay.n; i++) {
                    const struct psc_area *c = &s.overlay.items[i].clip;
                    g_assert_true(c->x1 > c->x0 && c->y1 > c->y0 && isfinite(c->x0 + c->y0 + c->x1 + c->y1));
                }
                built++;
            }
    g_assert_cmpuint(built, ==, 7 * 6 * 3);
    tear_down(&s);
}

/* ---- pictures ---------------------------------------------------------------------------------------------------------- */

struct golden {
    const char *name;
    uint32_t ordinal, gap;
    double width, height, lo, hi;
    int32_t position;
    bool dark;
    enum psc_kv_halves halves;
};
static const struct golden goldens[] = {
    {"kv-decode", 37, 0, 900, 560, 436, 486, 131, false, PSC_KV_BOTH},
    {"kv-decode-dark", 37, 0, 900, 560, 436, 486, 131, true, PSC_KV_BOTH},
    {"kv-prefill", 0, 0, 700, 400, 0, 475, 131, false, PSC_KV_BOTH},
    {"kv-alarms", 37, 3, 720, 420, 470, 486, 131, false, PSC_KV_BOTH},
    {"kv-whole", 37, 3, 600, 260, 0, 4096, 305, true, PSC_KV_ONLY_K},
};

static void test_golden(gconstpointer data)
{
    const struct golden *g = data;
    struct shown s;
    set_up(&s, g->ordinal, g->gap, g->width, g->height);
    s.view.lo = g->lo, s.view.hi = g->hi, s.view.position = g->position, s.view.dark = g->dark, s.view.halves = g->halves;
    s.view.layer = 9, s.view.row = 476;
    show(&s);
    cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, (int)g->width, (int)g->height);
    cairo_t *cr = cairo_create(surface);
    psc_kv_page_paint(&s.page, psc_palette_get(g->dark), cr, NULL);
    psc_kv_overlay_paint(&s.overlay, psc_palette_get(g->dark), cr, NULL);
    g_assert_cmpint(cairo_status(cr), ==, CAIRO_STATUS_SUCCESS);
    cairo_destroy(cr);
    cairo_surface_flush(surface);
    picture_check(g->name, surface);
    tear_down(&s);
}

static enum psc_status build_and_release(void *data)
{
    struct shown *s = data;
    struct psc_kv_page page = {0};
    struct psc_kv_overlay overlay = {0};
    enum psc_status status = psc_kv_page_build(&page, s->step, &s->view, NULL, NULL);
    if (status == PSC_OK)
        status = psc_kv_overlay_build(&overlay, &page, &s->view, NULL, NULL);
    psc_kv_overlay_release(&overlay);
    psc_kv_page_release(&page);
    return status;
}

static void test_oom(void)
{
    struct shown s;
    set_up(&s, 37, 1, 600, 400);
    s.view.lo = 0, s.view.hi = 4096, s.view.no_text = false;
    g_assert_cmpuint(test_oom_loop(build_and_release, &s), >, 5);
    tear_down(&s);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ui/draw/kv/a-hit-is-the-inverse-of-a-place", test_hits);
    g_test_add_func("/ui/draw/kv/zoom-keeps-the-row-under-the-pointer", test_zoom);
    g_test_add_func("/ui/draw/kv/scrolling-brings-a-layer-into-sight", test_scroll);
    g_test_add_func("/ui/draw/kv/the-cursor-parts-written-from-to-be-written", test_cursor);
    g_test_add_func("/ui/draw/kv/every-sequence-has-its-stretch", test_sequences);
    g_test_add_func("/ui/draw/kv/overlay-records-stay-inside-their-bounds", test_bounds);
    g_test_add_func("/ui/draw/kv/columns-are-as-full-as-their-rows", test_columns);
    g_test_add_func("/ui/draw/kv/alarms-are-never-thinned", test_alarms_are_never_thinned);
    g_test_add_func("/ui/draw/kv/any-size-can-be-laid-out", test_sizes);
    g_test_add_func("/ui/draw/kv/out-of-memory", test_oom);
    g_test_add_func("/ui/draw/kv/what-is-only-enqueued-is-no-row-yet", test_queued);
    for (size_t i = 0; i < G_N_ELEMENTS(goldens); i++) {
        char *path = g_strdup_printf("/ui/draw/kv/picture/%s", goldens[i].name);
        g_test_add_data_func(path, &goldens[i], test_golden);
        g_free(path);
    }
    return g_test_run();
}
