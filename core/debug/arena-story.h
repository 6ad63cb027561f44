/* core/debug/arena-story.h: what happens on arenas at run time, told as a story (core/event).
 *
 * A position is a step of whoever uses the arenas: an operation of a script, a node of a run. The arenas' own events come
 * in through psc_arena_story_sink; writes, reads and exports are added by the one who makes them, and both belong to the
 * value named last, or, when none is named, to the one that the block was given out for. The cause of an allocation is the
 * event that set its block free, of an eviction the return that was too much, of the rest what `why` says.
 *
 *     position 4 "alloc y2"     grow, alloc   from the sink
 *                               write         psc_arena_story_add
 *
 * Blocks are buffers of role arena, on a backend named after their arena, the caller's memory are buffers of role external.
 * A buffer is as large as its block ever was. Running out of memory is remembered and said at the end.
 */
#ifndef PSC_CORE_DEBUG_ARENA_STORY_H
#define PSC_CORE_DEBUG_ARENA_STORY_H

#include "core/plan/arena-depot.h"

struct psc_arena_story_buffer {
    uint64_t bytes;
    uint32_t home;         /* a store kind, or PSC_ARENA_CALLER */
    uint32_t value, freed; /* the latest value in it; the event that set it free last, or PSC_NONE */
    bool seen;
};
#define PSC_ARENA_CALLER PSC_DEPOT_N

struct psc_arena_story {
    struct psc_story_builder *builder;       /* owned */
    struct psc_arena_story_buffer *buffers;  /* owned; by number of block */
    const char **titles;                     /* owned; texts in the scratch arena */
    size_t buffer_n, buffer_cap, title_n, title_cap;
    struct psc_arena scratch;
    uint64_t numbers;                        /* where arenas draw the numbers of their blocks (psc_depot_options) */
    uint32_t value, version;                 /* whom the arenas' events are about, or PSC_NONE; what an export lends */
    uint32_t event_n, event_max;
    uint32_t last;                           /* the latest release or drop: the cause of what is evicted */
    uint32_t why;                            /* the cause of returns and trims: an event, or PSC_NONE */
    psc_node node;                           /* who acts */
    uint16_t run, phase;
    unsigned broken;                         /* invariants, as told last */
    bool failed;
};

enum psc_status psc_arena_story_init(struct psc_arena_story *t, struct psc_error *reterr) PSC_MUST_CHECK;
void psc_arena_story_release(struct psc_arena_story *t);
void psc_arena_story_begin(struct psc_arena_story *t);                    /* the next position */
void psc_arena_story_title(struct psc_arena_story *t, const char *title); /* what it does; borrowed never */
/* What the arena is asked to keep to. */
void psc_arena_story_arena(struct psc_arena_story *t, const struct psc_depot_options *options);
/* The verdict on the invariants now (bit mask, and a sentence); told when it is another than before. */
void psc_arena_story_lamps(struct psc_arena_story *t, unsigned broken, const char *text);
/* Number of a buffer for memory of the caller. */
uint64_t psc_arena_story_caller(struct psc_arena_story *t, uint64_t bytes);
/* of: the root of a view from `offset`, or PSC_NONE. */
uint32_t psc_arena_story_value(struct psc_arena_story *t, enum psc_value_kind kind, const char *name, uint32_t home,
                               uint64_t bytes, uint32_t of, uint64_t offset);
/* An event of this position; returns its index. buffer: a number, or UINT64_MAX. */
uint32_t psc_arena_story_add(struct psc_arena_story *t, enum psc_event_kind kind, uint32_t value, uint32_t version,
                             uint64_t buffer, uint32_t generation, uint64_t lo, uint64_t hi, uint32_t cause);
void psc_arena_story_sink(void *story, struct psc_depot *store, const struct psc_depot_event *event);
enum psc_status psc_arena_story_finish(struct psc_arena_story *t, struct psc_arena *arena, struct psc_story **ret,
                                       struct psc_error *reterr) PSC_MUST_CHECK;

#endif
