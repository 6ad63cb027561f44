/* ui/kv-story.h: what all steps of a document did to its KV regions: immutable, counted, made slice by slice.
 *
 * A PscKvWalk reads steps one after another in worker threads, some at a time; after each slice it can give a
 * PscKvStory of what it has read so far. Used by ui/workspace-kv.c only.
 */
#ifndef PSC_UI_KV_STORY_H
#define PSC_UI_KV_STORY_H

#include "core/debug/kv-step.h"
#include "ui/study.h"

typedef struct {
    struct psc_arena arena;
    struct psc_kv_history *history; /* never NULL */
} PscKvStory;
PscKvStory *psc_kv_story_ref(PscKvStory *story);
void psc_kv_story_unref(PscKvStory *story); /* NULL is fine */

typedef struct {
    PscDocument *document;
    struct psc_phase *phases; /* copies */
    guint *step_n;
    guint phase_n, total, done; /* steps in all, read */
    guint phase, step;          /* the next one to be read */
    struct psc_kv_builder *builder;
    gint64 told;                /* when the last story was made, monotonic us */
    gint64 cost;                /* what it took */
} PscKvWalk;
/* Of the phases and numbers of steps given; both arrays are copied. */
PscKvWalk *psc_kv_walk_new(PscDocument *document, const struct psc_phase *phases, const guint *step_n, guint phase_n);
void psc_kv_walk_free(PscKvWalk *walk);
/* Reads on for a while. Returns a story when there is something new to tell, else NULL. Any thread, one at a time. */
PscKvStory *psc_kv_walk_on(PscKvWalk *walk);
static inline gboolean psc_kv_walk_is_over(const PscKvWalk *walk)
{
    return walk->done >= walk->total;
}

#endif
