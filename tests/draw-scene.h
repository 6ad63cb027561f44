/* tests/draw-scene.h: scenes of real graphs for the tests of the drawing. */
#ifndef PSC_TESTS_DRAW_SCENE_H
#define PSC_TESTS_DRAW_SCENE_H

#include "core/debug/check.h"
#include "core/plan/plan.h"
#include "tests/qwen.h"
#include "ui/draw/scene.h"

struct draw_scene {
    struct psc_arena arena; /* owns all below */
    struct psc_graph *graph;
    struct psc_story *story;
    struct psc_history *history;
    struct psc_check check;
    struct psc_record_check records;
    struct psc_story *planned; /* after draw_scene_swap, else NULL */
    struct psc_story_comparison *comparison;
    struct psc_scene *scene;
};
/* The graph planned by the pool planner, executed and checked; aborts when anything fails. */
struct draw_scene *draw_scene_of(const struct qwen_options *options, enum psc_slots slots, enum psc_order order);
/* The same of a story that is there already; the arena of the result is empty. graph may be NULL. */
struct draw_scene *draw_scene_story(struct psc_graph *graph, struct psc_story *story);
/* Gives every node a verdict: own where node % 5 == 0, unknown where node % 5 == 1, else overwritten. */
void draw_scene_add_records(struct draw_scene *d);
/* Makes a record of the story in which these two buffers took each other's place, with the story itself as its plan. */
void draw_scene_swap(struct draw_scene *d, uint32_t a, uint32_t b);
void draw_scene_free(struct draw_scene *d);

#endif
