#include "ui/kv-story.h"

#include <string.h>

#define SLICE_US 60000 /* read on so long before the window hears of it */

static void clear_story(gpointer data)
{
    psc_arena_release(&((PscKvStory *)data)->arena);
}

PscKvStory *psc_kv_story_ref(PscKvStory *story)
{
    return g_atomic_rc_box_acquire(story);
}

void psc_kv_story_unref(PscKvStory *story)
{
    if (story)
        g_atomic_rc_box_release_full(story, clear_story);
}

PscKvWalk *psc_kv_walk_new(PscDocument *document, const struct psc_phase *phases, const guint *step_n, guint phase_n)
{
    PscKvWalk *walk = g_new0(PscKvWalk, 1);
    walk->document = psc_document_ref(document);
    walk->phases = g_new0(struct psc_phase, phase_n + 1);
    walk->step_n = g_new0(guint, phase_n + 1);
    walk->phase_n = phase_n;
    for (guint i = 0; i < phase_n; i++) {
        walk->phases[i] = phases[i];
        walk->step_n[i] = step_n[i];
        walk->total += step_n[i];
    }
    walk->builder = psc_kv_builder_new();
    return walk;
}

void psc_kv_walk_free(PscKvWalk *walk)
{
    if (!walk)
        return;
    psc_kv_builder_free(walk->builder);
    psc_document_unref(walk->document);
    g_free(walk->phases);
    g_free(walk->step_n);
    g_free(walk);
}

static void read_step(PscKvWalk *walk)
{
    psc_kv_read_step(walk->builder, walk->document->doc, walk->phase, &walk->phases[walk->phase], walk->step);
    walk->done++;
    walk->step++;
}

static void skip_empty(PscKvWalk *walk)
{
    while (walk->phase < walk->phase_n && walk->step >= walk->step_n[walk->phase]) {
        walk->phase++;
        walk->step = 0;
    }
}

PscKvStory *psc_kv_walk_on(PscKvWalk *walk)
{
    gint64 start = g_get_monotonic_time();
    skip_empty(walk);
    while (walk->builder && !psc_kv_walk_is_over(walk) && g_get_monotonic_time() - start < SLICE_US) {
        read_step(walk);
        skip_empty(walk);
    }
    if (!walk->builder) /* no memory: what is not read stays unknown */
        walk->done = walk->total;
    gint64 now = g_get_monotonic_time();
    if (!psc_kv_walk_is_over(walk) && walk->told && now - walk->told < 8 * walk->cost + 4 * SLICE_US)
        return NULL; /* making one costs the more the more there is: told less and less often */
    PscKvStory *story = g_atomic_rc_box_new0(PscKvStory);
    uint32_t layers = 0;
    for (guint i = 0; i < walk->phase_n; i++) {
        struct psc_kv_regions regions;
        if (psc_kv_regions_of(&walk->phases[i], &regions))
            layers = MAX(layers, regions.layers);
    }
    if (!walk->builder || psc_kv_builder_finish(walk->builder, &story->arena, layers, &story->history, NULL) != PSC_OK) {
        psc_kv_story_unref(story);
        return NULL;
    }
    walk->told = g_get_monotonic_time();
    walk->cost = walk->told - now;
    return story;
}
