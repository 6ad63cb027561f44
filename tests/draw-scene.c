#include "tests/draw-scene.h"

#include <glib.h>

static void build(struct draw_scene *d)
{
    struct psc_error error = {0};
    struct psc_scene_source source = {.story = d->story, .history = d->history, .graph = d->graph, .check = &d->check,
                                      .records = d->records.n ? &d->records : NULL, .planned = d->planned,
                                      .comparison = d->comparison};
    enum psc_status status = psc_scene_build(&d->arena, &source, &d->scene, &error);
    g_assert_cmpstr(error.text, ==, "");
    g_assert_cmpint(status, ==, PSC_OK);
}

struct draw_scene *draw_scene_story(struct psc_graph *graph, struct psc_story *story)
{
    struct draw_scene *d = g_new0(struct draw_scene, 1);
    struct psc_error error = {0};
    d->graph = graph;
    d->story = story;
    g_assert_cmpint(psc_history_build(&d->arena, story, &d->history, &error), ==, PSC_OK);
    g_assert_cmpint(psc_check_story(&d->arena, graph, story, &d->check, &error), ==, PSC_OK);
    build(d);
    return d;
}

struct draw_scene *draw_scene_of(const struct qwen_options *options, enum psc_slots slots, enum psc_order order)
{
    struct draw_scene *d = g_new0(struct draw_scene, 1);
    struct psc_error error = {0};
    struct psc_plan_options plan_options = psc_plan_defaults;
    struct psc_plan *plan;
    plan_options.slots = slots;
    plan_options.order = order;
    d->graph = qwen_graph(&d->arena, options);
    g_assert_cmpint(psc_planner_find("pool")->plan(&d->arena, d->graph, &plan_options, &plan, &error), ==, PSC_OK);
    g_assert_cmpint(psc_plan_lower(&d->arena, d->graph, plan, &d->story, &error), ==, PSC_OK);
    g_assert_cmpint(psc_history_build(&d->arena, d->story, &d->history, &error), ==, PSC_OK);
    g_assert_cmpint(psc_check_story(&d->arena, d->graph, d->story, &d->check, &error), ==, PSC_OK);
    build(d);
    return d;
}

void draw_scene_add_records(struct draw_scene *d)
{
    struct psc_record_verdict *list = psc_arena_alloc0(&d->arena, d->graph->n, sizeof *list);
    g_assert_nonnull(list);
    for (uint32_t i = 0; i < d->graph->n; i++) {
        list[i].node = i;
        list[i].verdict = i % 5 == 0 ? PSC_RECORD_OWN : i % 5 == 1 ? PSC_RECORD_UNKNOWN : PSC_RECORD_OVERWRITTEN;
        list[i].holds = PSC_NONE;
    }
    d->records = (struct psc_record_check){.list = list, .n = d->graph->n};
    build(d);
}

void draw_scene_swap(struct draw_scene *d, uint32_t a, uint32_t b)
{
    struct psc_error error = {0};
    d->planned = d->story;
    d->story = psc_arena_alloc(&d->arena, 1, sizeof *d->story);
    struct psc_event *events = psc_arena_alloc(&d->arena, d->planned->event_n, sizeof *events);
    g_assert_true(d->story && events);
    *d->story = *d->planned;
    for (uint32_t i = 0; i < d->planned->event_n; i++) {
        events[i] = d->planned->events[i];
        events[i].buffer = events[i].buffer == a ? b : events[i].buffer == b ? a : events[i].buffer;
    }
    d->story->events = events;
    d->story->predicted = false;
    g_assert_cmpint(psc_compare_stories(&d->arena, d->planned, d->story, &d->comparison, &error), ==, PSC_OK);
    g_assert_cmpint(psc_history_build(&d->arena, d->story, &d->history, &error), ==, PSC_OK);
    g_assert_cmpint(psc_check_story(&d->arena, d->graph, d->story, &d->check, &error), ==, PSC_OK);
    build(d);
}

void draw_scene_free(struct draw_scene *d)
{
    psc_arena_release(&d->arena);
    g_free(d);
}
