/* A finding drawn in full. */
#include "tests/draw-scene.h"
#include "tests/util.h"
#include "ui/draw/layout.h"

#include <math.h>

static void lay_out(struct psc_layout *l, const struct psc_scene *s, const struct psc_view *v, struct psc_type *type)
{
    struct psc_error error = {0};
    g_assert_cmpint(psc_layout_build(l, s, v, type, &error), ==, PSC_OK);
}

static void test_clobber(void)
{
    struct draw_scene *d = draw_scene_of(&qwen_prefill, PSC_SLOTS_FIFO, PSC_ORDER_TOPOLOGICAL);
    struct psc_layout l = {0};
    struct psc_view v;
    g_assert_cmpuint(d->check.finding_n, ==, 1);
    psc_view_init(&v, d->scene, 1050, 760);
    psc_view_show_finding(&v, d->scene, 0);
    v.mode = PSC_VIEW_MAP, v.fold = true;
    struct psc_type *type = psc_type_new();
    lay_out(&l, d->scene, &v, type);
    const struct psc_clobber *c = &l.clobber;
    g_assert_true(c->shown && c->has_read);
    g_assert_cmpstr(c->title, ==, "#416 add");
    g_assert_cmpstr(c->first, ==, "1  #425 writes over b3");
    g_assert_cmpstr(c->second, ==, "2  #429 wants #416, finds #425");
    g_assert_cmpfloat_with_epsilon(c->victim.x0, psc_axis_left(&l.axis, 416), 1);
    g_assert_cmpfloat_with_epsilon(c->hatch.x0, psc_axis_left(&l.axis, 425), 1);
    g_assert_cmpfloat_with_epsilon(c->hatch.x1, psc_axis_right(&l.axis, 429), 1);
    g_assert_cmpfloat(c->victim.y1 - c->victim.y0, >=, 90);
    g_assert_true(c->writer.x0 >= c->hatch.x0 && c->writer.x1 <= c->hatch.x1);
    g_assert_cmpuint(l.alarm_n, ==, 1);
    struct psc_hit hit = psc_layout_hit(&l, (l.alarms[0].area.x0 + l.alarms[0].area.x1) / 2, l.alarms[0].area.y0 + 5);
    g_assert_cmpuint(hit.alarm, ==, 0);
    psc_type_free(type);
    psc_layout_release(&l);
    draw_scene_free(d);
}

/* Down to the least height that the window leaves it: the curve gives way, and one scroll brings the damage into sight. */
static void test_clobber_in_a_low_picture(void)
{
    struct draw_scene *d = draw_scene_of(&qwen_prefill, PSC_SLOTS_FIFO, PSC_ORDER_TOPOLOGICAL);
    struct psc_layout l = {0};
    struct psc_view v;
    uint32_t row = d->scene->row_of_buffer[d->check.findings[0].buffer];
    int without = 0, with = 0, headed = 0;
    for (double height = 200; height <= 500; height += 20) {
        psc_view_init(&v, d->scene, 740, height);
        psc_view_show_finding(&v, d->scene, 0);
        v.mode = PSC_VIEW_MAP, v.fold = true, v.no_text = true;
        lay_out(&l, d->scene, &v, NULL);
        float lanes = l.frame.lanes.y1 - l.frame.lanes.y0, usage = l.frame.usage.y1 - l.frame.usage.y0;
        g_assert_true(usage == 0 ? lanes < PSC_LEAST_LANES + 56 : lanes >= PSC_LEAST_LANES);
        usage == 0 ? without++ : with++;
        v.y = psc_layout_scroll_to(&l, row);
        lay_out(&l, d->scene, &v, NULL);
        const struct psc_clobber *c = &l.clobber;
        g_assert_true(c->shown);
        g_assert_cmpfloat(c->hatch.y0, >=, l.frame.lanes.y0);
        g_assert_cmpfloat(fminf(c->hatch.y1, l.frame.kept_y) - c->hatch.y0, >=, 30);
        bool room = l.frame.kept_y - l.frame.lanes.y0 >= 46 + 40; /* for what is said above the row, and some of it */
        g_assert_true(c->head_y > l.frame.lanes.y0 || !room);
        headed += room;
    }
    g_assert_cmpint(headed, >, 5);
    g_assert_cmpint(without, >, 0);
    g_assert_cmpint(with, >, 0);
    psc_layout_release(&l);
    draw_scene_free(d);
}

/* x -> a -> c and x -> b: a level runs c and b at once, and b is put where c still reads a. */
static void test_race(void)
{
    struct psc_arena arena = {0};
    struct psc_builder *b = psc_builder_new();
    psc_builder_set_backend(b, "cpu");
    psc_node x = psc_builder_input(b, "x", PSC_F32, 4, 1), a = psc_builder_unary(b, "a", PSC_OP_SILU, x);
    psc_node a2 = psc_builder_unary(b, "a2", PSC_OP_SILU, x);
    psc_node c = psc_builder_unary(b, "c", PSC_OP_SOFTMAX, a), d = psc_builder_unary(b, "d", PSC_OP_SOFTMAX, a2);
    psc_builder_output(b, psc_builder_binary(b, "o", PSC_OP_ADD, c, d));
    struct psc_graph *graph = NULL;
    g_assert_cmpint(psc_builder_finish(b, &arena, &graph, NULL), ==, PSC_OK);
    psc_builder_free(b);
    const struct psc_foreign_place places[] = {{0, "X", 0}, {1, "A", 0}, {2, "B", 0}, {3, "C", 0}, {4, "A", 0}, {5, "O", 0}};
    struct psc_foreign foreign = {.places = places, .place_n = 6, .executor = PSC_EXEC_LEVEL};
    struct psc_plan *plan = NULL;
    struct psc_story *story = NULL;
    g_assert_cmpint(psc_plan_from_foreign(&arena, graph, &foreign, &plan, NULL), ==, PSC_OK);
    g_assert_cmpint(psc_plan_lower(&arena, graph, plan, &story, NULL), ==, PSC_OK);
    struct draw_scene *scene = draw_scene_story(graph, story);
    g_assert_cmpuint(scene->check.finding_n, ==, 1);
    struct psc_layout l = {0};
    struct psc_view v;
    psc_view_init(&v, scene->scene, 800, 500);
    psc_view_show_finding(&v, scene->scene, 0);
    v.no_text = true;
    lay_out(&l, scene->scene, &v, NULL);
    g_assert_true(l.clobber.shown && l.clobber.has_read && l.clobber.race);
    g_assert_cmpfloat(l.clobber.read_x, <, l.clobber.write_x);
    g_assert_cmpstr(l.clobber.second, ==, "2  #3 may read #1 after it");
    psc_layout_release(&l);
    draw_scene_free(scene);
    psc_arena_release(&arena);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ui/draw/clobber/stands-where-it-happens", test_clobber);
    g_test_add_func("/ui/draw/clobber/is-in-sight-in-a-low-picture", test_clobber_in_a_low_picture);
    g_test_add_func("/ui/draw/clobber/a-race-reads-left-of-its-write", test_race);
    return g_test_run();
}
