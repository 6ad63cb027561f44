/* The plan laid over the record: which bars get an outline, where the signs stand, and that both survive any zoom. */
#include "tests/draw-scene.h"
#include "tests/pictures.h"
#include "tests/util.h"
#include "ui/draw/ghosts.h"
#include "ui/draw/render.h"

#include <math.h>
#include <string.h>

static uint32_t buffer_named(const struct psc_story *story, const char *name)
{
    for (uint32_t b = 0; b < story->buffer_n; b++)
        if (!strcmp(story->buffers[b].name, name))
            return b;
    g_error("no buffer %s", name);
}

static struct draw_scene *swapped(const char *a, const char *b)
{
    struct draw_scene *d = draw_scene_of(&qwen_prefill, PSC_SLOTS_LOWEST, PSC_ORDER_BUILD);
    draw_scene_swap(d, buffer_named(d->story, a), buffer_named(d->story, b));
    return d;
}

/* ---- the scene ----------------------------------------------------------------------------------- */

static void test_as_planned(void)
{
    struct draw_scene *d = draw_scene_of(&qwen_prefill, PSC_SLOTS_LOWEST, PSC_ORDER_BUILD);
    uint32_t b3 = buffer_named(d->story, "b3");
    g_assert_null(d->scene->ghosts); /* nothing to compare with */
    draw_scene_swap(d, b3, b3);
    g_assert_cmpuint(d->comparison->diff_n, ==, 0);
    g_assert_cmpuint(d->comparison->pair_n, >, 1000);
    g_assert_null(d->scene->ghosts);
    draw_scene_free(d);
}

/* Two buffers in each other's place: every planned bar of the two is a ghost in the row it was planned for, all other
 * rows have none, and each access of the record has its sign in the row it used. */
static void test_swapped(void)
{
    struct draw_scene *d = swapped("b4", "b6");
    const struct psc_ghosts *g = d->scene->ghosts;
    g_assert_nonnull(g);
    g_assert_cmpuint(g->lost, ==, 0);
    struct psc_history *planned = NULL;
    g_assert_cmpint(psc_history_build(&d->arena, d->planned, &planned, NULL), ==, PSC_OK);
    unsigned ghosts = 0, marks = 0;
    for (uint32_t b = 0; b < d->story->buffer_n; b++) {
        uint32_t row = d->scene->row_of_buffer[b];
        bool moved = !strcmp(d->story->buffers[b].name, "b4") || !strcmp(d->story->buffers[b].name, "b6");
        uint32_t n = moved ? planned->buffer_at[b + 1] - planned->buffer_at[b] : 0;
        if (d->story->buffers[b].role == PSC_ROLE_PERSISTENT)
            continue;
        g_assert_cmpuint(g->at[row + 1] - g->at[row], ==, n);
        for (uint32_t i = 0; i < n; i++) {
            const struct psc_ghost *ghost = &g->list[g->at[row] + i];
            const struct psc_tenancy *t = &planned->tenancies[planned->buffer_at[b] + i];
            g_assert_cmpint(ghost->first, ==, t->first);
            g_assert_cmpint(ghost->end, ==, t->last + 1);
            g_assert_cmpuint(ghost->value, ==, t->value);
        }
        ghosts += n;
        marks += g->mark_at[row + 1] - g->mark_at[row];
    }
    g_assert_cmpuint(ghosts, ==, g->n);
    g_assert_cmpuint(ghosts, >, 40);
    g_assert_cmpuint(marks, ==, d->comparison->diff_n);
    for (uint32_t i = 0; i < g->mark_n; i++) {
        const struct psc_event *e = &d->story->events[d->comparison->diffs[g->marks[i].diff].recorded];
        g_assert_cmpuint(g->marks[i].row, ==, d->scene->row_of_buffer[e->buffer]);
        g_assert_cmpint(g->marks[i].position, ==, e->position);
    }
    for (uint32_t i = 1; i < g->position_n; i++)
        g_assert_cmpint(g->positions[i - 1], <, g->positions[i]);
    draw_scene_free(d);
}

/* A record that ends in the middle of an op's accesses, runs two ops the other way round, or knows a buffer by another
 * name: what was planned is shown where it belongs, or counted as lost. */
static void test_other_records(void)
{
    struct draw_scene *d = draw_scene_of(&qwen_decode, PSC_SLOTS_LOWEST, PSC_ORDER_BUILD);
    struct psc_error error = {0};
    struct psc_story record = *d->story;
    uint32_t b3 = buffer_named(d->story, "b3"), cut = d->story->event_n / 2;
    struct psc_buffer *buffers = psc_arena_alloc(&d->arena, record.buffer_n, sizeof *buffers);
    memcpy(buffers, record.buffers, record.buffer_n * sizeof *buffers);
    buffers[b3].name = "another";
    record.buffers = buffers;
    record.event_n = cut;
    record.predicted = false;
    struct psc_story_comparison *c = NULL;
    struct psc_history *history = NULL;
    g_assert_cmpint(psc_compare_stories(&d->arena, d->story, &record, &c, &error), ==, PSC_OK);
    g_assert_cmpint(psc_history_build(&d->arena, &record, &history, &error), ==, PSC_OK);
    struct psc_scene_source source = {.story = &record, .history = history, .graph = d->graph, .planned = d->story,
                                      .comparison = c};
    struct psc_scene *scene = NULL;
    g_assert_cmpint(psc_scene_build(&d->arena, &source, &scene, &error), ==, PSC_OK);
    g_assert_nonnull(scene->ghosts);
    g_assert_cmpuint(scene->ghosts->lost, ==, d->history->buffer_at[b3 + 1] - d->history->buffer_at[b3]);
    unsigned missing = 0, nowhere = 0;
    for (uint32_t i = 0; i < scene->ghosts->mark_n; i++) {
        const struct psc_otherwise *o = &scene->ghosts->marks[i];
        missing += c->diffs[o->diff].kind == PSC_DIFF_MISSING;
        nowhere += o->row == PSC_NONE;
        g_assert_cmpint(o->position, >=, -1);
        g_assert_cmpint(o->position, <=, scene->n);
    }
    g_assert_cmpuint(missing, ==, c->count[PSC_DIFF_MISSING]);
    g_assert_cmpuint(missing, >, 100);
    g_assert_cmpuint(nowhere, >, 0); /* missing accesses of the buffer that the record does not name */
    for (uint32_t i = 0; i < scene->ghosts->n; i++) {
        g_assert_cmpint(scene->ghosts->list[i].first, <, scene->ghosts->list[i].end);
        g_assert_cmpint(scene->ghosts->list[i].end, <=, scene->n + 1);
    }
    draw_scene_free(d);
}

/* The order of execution is another one: the axis is that of the record, and a ghost goes with its op. */
static void test_order(void)
{
    struct draw_scene *d = draw_scene_of(&qwen_decode, PSC_SLOTS_LOWEST, PSC_ORDER_BUILD);
    struct psc_story record = *d->story;
    uint32_t n = record.position_n;
    psc_node *order = psc_arena_alloc(&d->arena, n, sizeof *order);
    struct psc_event *events = psc_arena_alloc(&d->arena, record.event_n, sizeof *events);
    for (uint32_t p = 0; p < n; p++) /* the first op runs last */
        order[p] = record.order ? record.order[(p + 1) % n] : (p + 1) % n;
    memcpy(events, record.events, record.event_n * sizeof *events);
    record.order = order;
    record.events = events;
    record.predicted = false;
    for (uint32_t i = 0; i < record.event_n; i++) /* positions follow the ops */
        if (events[i].position >= 0 && events[i].position < (int32_t)n)
            events[i].position = (events[i].position + (int32_t)n - 1) % (int32_t)n;
    uint32_t b4 = buffer_named(d->story, "b4"), b5 = buffer_named(d->story, "b5");
    for (uint32_t i = 0; i < record.event_n; i++)
        events[i].buffer = events[i].buffer == b4 ? b5 : events[i].buffer == b5 ? b4 : events[i].buffer;
    struct psc_story_comparison *c = NULL;
    struct psc_history *history = NULL;
    g_assert_cmpint(psc_compare_stories(&d->arena, d->story, &record, &c, NULL), ==, PSC_OK);
    g_assert_cmpint(psc_history_build(&d->arena, &record, &history, NULL), ==, PSC_OK);
    struct psc_scene_source source = {.story = &record, .history = history, .graph = d->graph, .planned = d->story,
                                      .comparison = c};
    struct psc_scene *scene = NULL;
    g_assert_cmpint(psc_scene_build(&d->arena, &source, &scene, NULL), ==, PSC_OK);
    g_assert_nonnull(scene->ghosts);
    g_assert_cmpuint(scene->ghosts->n, >, 20);
    unsigned looked = 0;
    for (uint32_t i = 0; i < scene->ghosts->n; i++) {
        const struct psc_ghost *ghost = &scene->ghosts->list[i];
        psc_node node = d->story->values[ghost->value].node;
        uint32_t bar = psc_history_of_value(d->history, ghost->value);
        if (d->history->tenancies[bar].first < 0)
            continue;
        g_assert_cmpuint(order[ghost->first], ==, node); /* it begins where its op ran */
        looked++;
    }
    g_assert_cmpuint(looked, >, 20);
    draw_scene_free(d);
}

/* ---- the picture ---------------------------------------------------------------------------------- */

static void lay_out(struct psc_layout *l, const struct psc_scene *scene, const struct psc_view *v)
{
    g_assert_cmpint(psc_layout_build(l, scene, v, NULL, NULL), ==, PSC_OK);
}

/* Zoomed in, each ghost in sight is one outline; at any zoom their counts make up all of them, and the overview has a
 * tick wherever the run did otherwise. */
static void test_levels(void)
{
    struct draw_scene *d = swapped("b4", "b6");
    const struct psc_ghosts *g = d->scene->ghosts;
    struct psc_layout l = {0};
    for (double span = 442; span > 12; span /= 2) {
        struct psc_view v;
        psc_view_init(&v, d->scene, 900, 560);
        v.no_text = v.ghosts = true;
        double lo = 442 / 2.0 - span / 2 - 1;
        psc_view_set_range(&v, d->scene, lo, lo + span);
        lay_out(&l, d->scene, &v);
        uint32_t seen = 0, drawn = 0, signs = 0, marks = 0;
        for (uint32_t i = 0; i < g->n; i++)
            seen += g->list[i].first < l.axis.hi && g->list[i].end > l.axis.lo;
        for (size_t i = 0; i < l.ghost_n; i++) {
            drawn += l.ghosts[i].count;
            g_assert_cmpfloat(l.ghosts[i].area.x1, >, l.ghosts[i].area.x0);
        }
        g_assert_cmpuint(drawn, ==, seen);
        for (uint32_t i = 0; i < g->mark_n; i++)
            marks += g->marks[i].position < l.axis.hi && g->marks[i].position + 1 > l.axis.lo;
        for (size_t i = 0; i < l.mark_n; i++)
            signs += l.marks[i].kind == PSC_MARK_OTHERWISE ? l.marks[i].count : 0;
        g_assert_cmpuint(signs, ==, marks);
        size_t with = l.fill_n;
        v.ghosts = false;
        lay_out(&l, d->scene, &v);
        g_assert_cmpuint(l.ghost_n, ==, 0);
        g_assert_cmpuint(with - l.fill_n, >, 40); /* ticks */
    }
    psc_layout_release(&l);
    draw_scene_free(d);
}

static void test_hit(void)
{
    struct draw_scene *d = swapped("b4", "b6");
    struct psc_layout l = {0};
    struct psc_view v;
    psc_view_init(&v, d->scene, 1200, 700);
    v.no_text = v.ghosts = true;
    psc_view_set_range(&v, d->scene, 107, 134);
    lay_out(&l, d->scene, &v);
    g_assert_cmpuint(l.ghost_n, >, 2);
    for (size_t i = 0; i < l.ghost_n; i++) {
        const struct psc_area *a = &l.ghosts[i].area;
        double x = fmin(fmax((a->x0 + a->x1) / 2, l.frame.data_x + 1), l.frame.data_x + l.frame.data_w - 1);
        g_assert_cmpuint(psc_layout_hit(&l, x, (a->y0 + a->y1) / 2).ghost, ==, l.ghosts[i].ghost);
    }
    unsigned signs = 0;
    for (size_t i = 0; i < l.mark_lanes_end; i++) {
        if (l.marks[i].kind != PSC_MARK_OTHERWISE)
            continue;
        struct psc_hit hit = psc_layout_hit(&l, l.marks[i].x, l.marks[i].y);
        g_assert_cmpuint(hit.diff, ==, l.marks[i].event);
        g_assert_cmpint(hit.position, ==, l.marks[i].position);
        signs++;
    }
    g_assert_cmpuint(signs, >, 4);
    psc_layout_release(&l);
    draw_scene_free(d);
}

static cairo_surface_t *picture(const struct psc_scene *scene, const struct psc_view *view)
{
    cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, (int)view->width, (int)view->height_px);
    cairo_t *cr = cairo_create(surface);
    g_assert_cmpint(psc_render_to(scene, view, NULL, cr, NULL), ==, PSC_OK);
    cairo_destroy(cr);
    cairo_surface_flush(surface);
    return surface;
}

static void test_golden(void)
{
    struct draw_scene *d = swapped("b4", "b6");
    struct psc_view v;
    psc_view_init(&v, d->scene, 900, 560);
    psc_view_set_range(&v, d->scene, 107, 134);
    v.no_text = v.ghosts = true, v.mode = PSC_VIEW_MAP, v.fold = true, v.position = 124;
    picture_check("planned-over-recorded", picture(d->scene, &v));
    psc_view_init(&v, d->scene, 720, 460);
    v.no_text = v.ghosts = v.dark = true, v.mode = PSC_VIEW_ROWS;
    picture_check("planned-over-recorded-dark", picture(d->scene, &v));
    draw_scene_free(d);
}

static enum psc_status build_all(void *data)
{
    struct draw_scene *d = data;
    struct psc_arena arena = {0};
    struct psc_scene_source source = {.story = d->story, .history = d->history, .graph = d->graph, .planned = d->planned,
                                      .comparison = d->comparison};
    struct psc_scene *scene = NULL;
    struct psc_layout l = {0};
    enum psc_status status = psc_scene_build(&arena, &source, &scene, NULL);
    if (status == PSC_OK) {
        struct psc_view v;
        psc_view_init(&v, scene, 900, 500);
        v.no_text = v.ghosts = true;
        status = psc_layout_build(&l, scene, &v, NULL, NULL);
    }
    psc_layout_release(&l);
    psc_arena_release(&arena);
    return status;
}

static void test_oom(void)
{
    struct draw_scene *d = swapped("b4", "b6");
    g_assert_cmpuint(test_oom_loop(build_all, d), >, 10);
    draw_scene_free(d);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ui/draw/ghosts/a-run-as-planned-has-none", test_as_planned);
    g_test_add_func("/ui/draw/ghosts/swapped-buffers-show-every-bar-that-moved", test_swapped);
    g_test_add_func("/ui/draw/ghosts/what-is-missing-and-what-has-no-row", test_other_records);
    g_test_add_func("/ui/draw/ghosts/another-order", test_order);
    g_test_add_func("/ui/draw/ghosts/none-is-thinned-at-any-zoom", test_levels);
    g_test_add_func("/ui/draw/ghosts/hit-finds-outlines-and-signs", test_hit);
    g_test_add_func("/ui/draw/ghosts/golden", test_golden);
    g_test_add_func("/ui/draw/ghosts/oom", test_oom);
    return g_test_run();
}
