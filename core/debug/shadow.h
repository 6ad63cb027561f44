/* core/debug/shadow.h: which write does each byte of each buffer come from, while a story is replayed.
 *
 * Of each buffer the ranges with one last writer, by address. A write cuts what it meets and stands in its place:
 *
 *     write #3 of [0,32), then #7 of [16,48)      [0,16) #3   [16,48) #7      #3 is not intact any more
 *
 * Most buffers hold one range, which is kept beside the buffer. Where there are more they stand in a B+tree, 32 to a
 * node; a node that becomes empty leaves the tree. A write puts in at most two ranges, so a whole replay costs
 * O(n log n). Writes are named by their events.
 * Ownership: everything lives in the arena passed in; the story is borrowed.
 */
#ifndef PSC_CORE_DEBUG_SHADOW_H
#define PSC_CORE_DEBUG_SHADOW_H

#include "core/event/event.h"

struct psc_shadow_node;
struct psc_shadow_buffer {
    uint64_t lo, hi;              /* the only range, while there is no tree; lo == hi: none */
    uint32_t event;
    uint32_t depth;               /* of the tree: 0 when its root is a leaf */
    struct psc_shadow_node *root; /* NULL: no tree */
};
struct psc_shadow {
    const struct psc_story *story;
    struct psc_arena *arena;
    struct psc_shadow_buffer *buffers; /* [buffer_n] */
    uint8_t *overwritten;              /* [event_n]: a later write took some of its bytes */
    struct psc_shadow_node *spare;     /* nodes that left a tree */
};

/* A maximal run of bytes with one last writer. */
struct psc_shadow_run {
    uint64_t lo, hi; /* bytes, clipped to the range asked for */
    uint32_t event;  /* the write, PSC_NONE when nobody wrote */
};

/* True for the kinds of event that change bytes: fill, write, rows-write, enqueue, copy; and those after
 * which the old bytes are gone. */
static inline bool psc_shadow_writes(enum psc_event_kind kind)
{
    const uint32_t kinds = 1u << PSC_EV_FILL | 1u << PSC_EV_WRITE | 1u << PSC_EV_ROWS_WRITE | 1u << PSC_EV_ENQUEUE |
                           1u << PSC_EV_COPY | 1u << PSC_EV_GROW | 1u << PSC_EV_EVICT | 1u << PSC_EV_TRIM;
    return kinds >> kind & 1;
}
/* Grow, evict, trim: the buffer's bytes went back, nothing came in their place. */
static inline bool psc_shadow_vanishes(enum psc_event_kind kind)
{
    return kind == PSC_EV_GROW || kind == PSC_EV_EVICT || kind == PSC_EV_TRIM;
}

enum psc_status psc_shadow_init(struct psc_shadow *shadow, struct psc_arena *arena, const struct psc_story *story,
                                struct psc_error *reterr) PSC_MUST_CHECK;
/* Replays a write that names a buffer: its bytes come from it now. false: out of memory. */
bool psc_shadow_apply(struct psc_shadow *shadow, uint32_t event) PSC_MUST_CHECK;
/* Do all bytes of a write that was replayed still come from it? */
static inline bool psc_shadow_intact(const struct psc_shadow *shadow, uint32_t event)
{
    return !shadow->overwritten[event];
}
/* First run inside [lo, hi) of a buffer, lo < hi. */
struct psc_shadow_run psc_shadow_first(const struct psc_shadow *shadow, uint32_t buffer, uint64_t lo, uint64_t hi);
/* The run after `run`; false at the end of [.., hi). */
bool psc_shadow_next(const struct psc_shadow *shadow, uint32_t buffer, uint64_t hi, struct psc_shadow_run *run);

#endif
