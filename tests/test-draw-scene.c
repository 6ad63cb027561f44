#include "tests/draw-scene.h"
#include "tests/lazy-run.h"
#include "tests/many-ranges.h"
#include "tests/util.h"
#include "ui/draw/axis.h"
#include "ui/draw/layout.h"

#include "core/base/hash.h"
#include "core/candela/story.h"

#include <math.h>
#include <stdlib.h>

static struct psc_scene *scene_of_ranges(struct psc_arena *arena, const struct many_ranges *m)
{
    struct psc_scene_source source = {.story = &m->story, .history = &m->history, .check = &m->check};
    struct psc_scene *scene = NULL;
    g_assert_cmpint(psc_scene_build(arena, &source, &scene, NULL), ==, PSC_OK);
    return scene;
}

/* ---- the axis ----------------------------------------------------------------------------------- */

static void test_axis_inverse(void)
{
    static const int32_t gaps[] = {3, 10, 11, 40};
    static const double ranges[][2] = {{-1, 51}, {0, 20}, {2.5, 12.25}, {9, 12}, {39, 51}, {-0.5, 1}, {30, 39}};
    unsigned looked = 0;
    for (size_t r = 0; r < G_N_ELEMENTS(ranges); r++) {
        struct psc_axis axis;
        psc_axis_init(&axis, ranges[r][0], ranges[r][1], 50, 112, 900, gaps, G_N_ELEMENTS(gaps));
        g_assert_cmpfloat_with_epsilon(psc_axis_at(&axis, axis.lo), 112, 1e-6);
        for (double px = 112.5; px < 1012; px += 3.25) {
            bool in_gap;
            double at = psc_axis_position(&axis, px, &in_gap), back = psc_axis_at(&axis, at);
            if (in_gap)
                g_assert_true(px < back && px >= back - axis.gap - 1e-6);
            else
                g_assert_cmpfloat_with_epsilon(back, px, 1e-6);
            looked++;
        }
        double end = psc_axis_right(&axis, (int32_t)ceil(axis.hi) - 1);
        g_assert_cmpfloat(end, >=, 1012 - 1e-6);
    }
    g_assert_cmpuint(looked, >, 1500);
}

static void test_axis_gap_width(void)
{
    static const int32_t gaps[] = {100, 200, 300};
    for (double span = 900; span > 4; span /= 2) {
        struct psc_axis axis;
        psc_axis_init(&axis, 200 - span / 2, 200 + span / 2, 1000, 0, 1200, gaps, 3);
        g_assert_cmpfloat(axis.gap, ==, PSC_AXIS_GAP);
        g_assert_cmpfloat_with_epsilon(psc_axis_left(&axis, 200) - psc_axis_right(&axis, 199), PSC_AXIS_GAP, 1e-6);
        g_assert_cmpfloat_with_epsilon(psc_axis_left(&axis, 151), psc_axis_right(&axis, 150), 1e-6);
    }
}

static void test_axis_end_columns(void)
{
    struct psc_axis axis;
    psc_axis_init(&axis, -1, 10001, 10000, 0, 1000, NULL, 0);
    g_assert_cmpfloat_with_epsilon(psc_axis_right(&axis, -1) - psc_axis_left(&axis, -1), PSC_AXIS_FILL, 1e-6);
    g_assert_cmpfloat_with_epsilon(psc_axis_right(&axis, 10000) - psc_axis_left(&axis, 10000), PSC_AXIS_OUT, 1e-6);
    g_assert_cmpfloat_with_epsilon(psc_axis_right(&axis, 10000), 1000, 1e-6);
    g_assert_cmpint(psc_axis_column(&axis, 3), ==, -1);
    g_assert_cmpint(psc_axis_column(&axis, 999), ==, 10000);
}

static void test_zoom_keeps(void)
{
    struct draw_scene *d = draw_scene_of(&qwen_prefill, PSC_SLOTS_LOWEST, PSC_ORDER_BUILD);
    struct psc_view v;
    psc_view_init(&v, d->scene, 1100, 700);
    struct psc_axis before, after;
    double x, width;
    for (double px = 300; px < 1000; px += 170) {
        psc_view_init(&v, d->scene, 1100, 700);
        psc_view_data_area(&v, d->scene, &x, &width);
        psc_axis_init(&before, v.lo, v.hi, d->scene->n, x, width, NULL, 0);
        double at = psc_axis_position(&before, px, NULL);
        psc_view_zoom(&v, d->scene, px, 8);
        psc_axis_init(&after, v.lo, v.hi, d->scene->n, x, width, NULL, 0);
        g_assert_cmpfloat_with_epsilon(psc_axis_position(&after, px, NULL), at, 0.2);
        g_assert_cmpfloat_with_epsilon(v.hi - v.lo, 442 / 8.0, 0.01);
    }
    draw_scene_free(d);
}

/* ---- the scene's index -------------------------------------------------------------------------- */

static void test_series(void)
{
    struct draw_scene *d = draw_scene_of(&qwen_prefill, PSC_SLOTS_LOWEST, PSC_ORDER_BUILD);
    const struct psc_series *s = &d->scene->in_use;
    uint64_t seed = test_seed();
    for (int round = 0; round < 500; round++) {
        int32_t a = (int32_t)(psc_random_next(&seed) % 442) - 1, b = a + (int32_t)(psc_random_next(&seed) % 120);
        uint64_t most = 0;
        for (int32_t p = a; p < b && p <= 440; p++)
            most = MAX(most, psc_series_get(s, p));
        g_assert_cmpuint(psc_series_max(s, a, b), ==, most);
    }
    g_assert_cmpuint(psc_series_max(s, -1, 441), ==, 629760);
    g_assert_cmpint(d->scene->peak_at, ==, 439);
    draw_scene_free(d);
}

static void test_next_alive(void)
{
    struct draw_scene *d = draw_scene_of(&qwen_decode, PSC_SLOTS_FIFO, PSC_ORDER_BUILD);
    const struct psc_scene *s = d->scene;
    unsigned looked = 0;
    for (uint32_t r = 0; r < s->row_n; r++) {
        const struct psc_scene_row *row = &s->rows[r];
        uint32_t hint = row->bar_at;
        double covered = 0;
        for (int32_t p = -1; p <= s->n; p++) {
            uint32_t want = row->bar_at, starts = row->bar_at;
            bool any = false;
            while (want < row->bar_end && s->end[want] <= p)
                want++;
            while (starts < row->bar_end && s->first[starts] < p)
                starts++;
            g_assert_cmpuint(psc_scene_next_alive(s, row, row->bar_at, p), ==, want);
            g_assert_cmpuint(psc_scene_next_start(s, row, row->bar_at, p), ==, starts);
            g_assert_cmpfloat_with_epsilon(psc_scene_busy(s, row, p, &hint), covered, 1e-6);
            for (uint32_t i = row->bar_at; i < row->bar_end; i++)
                any = any || (s->first[i] <= p && p < s->end[i]);
            covered += any;
            g_assert_true(psc_scene_row_busy(s, row, p, p + 1) == any);
            looked++;
        }
    }
    g_assert_cmpuint(looked, >, 3000);
    draw_scene_free(d);
}

static int by_first(const void *a, const void *b)
{
    const struct psc_tenancy *x = a, *y = b;
    return x->first != y->first ? (x->first < y->first ? -1 : 1) : x->lo < y->lo ? -1 : x->lo > y->lo;
}

/* An arena: bars of any length side by side in one buffer. */
static void test_overlapping(void)
{
    struct psc_arena arena = {0};
    struct many_ranges *m = many_ranges(&arena, 300, 1, 0);
    struct psc_tenancy *t = psc_arena_alloc0(&arena, 300, sizeof *t);
    uint64_t seed = test_seed();
    for (uint32_t i = 0; i < 300; i++) {
        t[i] = m->history.tenancies[i];
        t[i].first = (int32_t)(psc_random_next(&seed) % 1100);
        t[i].last = t[i].first + (int32_t)(psc_random_next(&seed) % (i % 50 ? 9 : 600));
        t[i].end = t[i].last + 1;
        t[i].lo = psc_random_next(&seed) % 3900, t[i].hi = t[i].lo + 100;
    }
    qsort(t, 300, sizeof *t, by_first);
    m->history.tenancies = t;
    struct psc_scene *s = scene_of_ranges(&arena, m);
    const struct psc_scene_row *row = &s->rows[0];
    uint32_t hint = row->bar_at;
    double covered = 0;
    g_assert_true(row->packed);
    g_assert_cmpuint(row->depth, >, 3);
    for (int32_t p = -1; p <= s->n; p++) {
        g_assert_cmpfloat_with_epsilon(psc_scene_busy(s, row, p, &hint), covered, 1e-6);
        bool any = false;
        for (uint32_t i = 0; i < 300; i++) {
            bool alive = s->first[i] <= p && p < s->end[i];
            any = any || alive;
            if (alive)
                g_assert_cmpuint(psc_scene_bar_at(s, 0, p, t[i].lo + 50), !=, PSC_NONE);
        }
        g_assert_true(psc_scene_row_busy(s, row, p, p + 1) == any);
        covered += any;
    }
    psc_arena_release(&arena);
}

static void test_labels_longest_first(void)
{
    struct draw_scene *d = draw_scene_of(&qwen_prefill, PSC_SLOTS_LOWEST, PSC_ORDER_BUILD);
    char text[PSC_LABELS][PSC_LABEL_SIZE];
    uint32_t bar = psc_scene_bar_of_node(d->scene, 124);
    g_assert_cmpuint(bar, !=, PSC_NONE);
    g_assert_cmpuint(psc_scene_labels(d->scene, bar, text), ==, 5);
    g_assert_cmpstr(text[0], ==, "#124 ffn_up \xc2\xb7 38 KiB");
    g_assert_cmpstr(text[1], ==, "#124 ffn_up");
    g_assert_cmpstr(text[2], ==, "ffn_up");
    g_assert_cmpstr(text[3], ==, "up");
    g_assert_cmpstr(text[4], ==, "124");
    draw_scene_free(d);
}

static bool says(const struct psc_layout *l, const char *words)
{
    for (size_t i = 0; i < l->label_n; i++)
        if (!strcmp(l->text + l->labels[i].text, words))
            return true;
    return false;
}

/* A map in which there is nothing to draw says why, at any size. */
static void test_empty(void)
{
    static const double sizes[][2] = {{640, 400}, {1600, 900}};
    struct psc_draft draft = {.kind = "prefill"};
    struct psc_report report = {0};
    struct psc_arena arena = {0};
    struct psc_graph *graph = NULL;
    struct psc_plan *plan;
    struct psc_story *story;
    struct psc_error error = {0};
    struct psc_type *type = psc_type_new();
    g_assert_cmpint(psc_graph_from_draft(&arena, &draft, &report, &graph, &error), ==, PSC_OK);
    g_assert_cmpint(psc_planner_find("pool")->plan(&arena, graph, &psc_plan_defaults, &plan, &error), ==, PSC_OK);
    g_assert_cmpint(psc_plan_lower(&arena, graph, plan, &story, &error), ==, PSC_OK);
    struct draw_scene *d = draw_scene_story(graph, story);
    for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
        struct psc_layout l = {0};
        struct psc_view v;
        psc_view_init(&v, d->scene, sizes[i][0], sizes[i][1]);
        g_assert_cmpint(psc_layout_build(&l, d->scene, &v, type, &error), ==, PSC_OK);
        g_assert_true(says(&l, "This graph has no ops: nothing needs memory."));
        g_assert_true(says(&l, "0 ops"));
        psc_layout_release(&l);
    }
    draw_scene_free(d);
    psc_type_free(type);
    psc_arena_release(&arena);
}

/* What the caller lends is drawn, and neither curve nor status count it. */
static void test_leaves_are_the_callers(void)
{
    struct psc_candela_options options = {.align = 1};
    struct psc_lazy l = {0};
    struct psc_arena arena = {0};
    struct psc_story *story = NULL;
    struct psc_candela_plan *plan = plan_text(&l, &arena, "(a + b) * 2", &options);
    g_assert_cmpint(psc_candela_lower(&arena, plan, false, &story, NULL), ==, PSC_OK);
    struct draw_scene *d = draw_scene_story(NULL, story);
    g_assert_cmpuint(d->history->tenancy_n, ==, 4);
    g_assert_cmpuint(d->history->used_peak_bytes, ==, 16);
    g_assert_cmpuint(d->scene->peak_bytes, ==, 16);
    draw_scene_free(d);
    psc_arena_release(&arena);
    psc_lazy_release(&l);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ui/draw/axis/position-is-the-inverse-of-pixel", test_axis_inverse);
    g_test_add_func("/ui/draw/axis/a-gap-is-44-px-at-any-zoom", test_axis_gap_width);
    g_test_add_func("/ui/draw/axis/fill-and-end-keep-their-columns", test_axis_end_columns);
    g_test_add_func("/ui/draw/view/zoom-keeps-what-is-under-the-pointer", test_zoom_keeps);
    g_test_add_func("/ui/draw/scene/largest-of-any-stretch", test_series);
    g_test_add_func("/ui/draw/scene/index-agrees-with-a-scan", test_next_alive);
    g_test_add_func("/ui/draw/scene/bars-side-by-side", test_overlapping);
    g_test_add_func("/ui/draw/scene/an-empty-map-says-why", test_empty);
    g_test_add_func("/ui/draw/scene/labels-from-long-to-short", test_labels_longest_first);
    g_test_add_func("/ui/draw/scene/leaves-are-the-callers", test_leaves_are_the_callers);
    return g_test_run();
}
