/* core/debug/shadow.h: which write does each byte of each buffer come from, while a story is replayed.
 *
 * A buffer is cut at every byte where some write of the story begins or ends; between two cuts all
 * bytes have one last writer. The cuts of all buffers stand in one sorted array; a set of bits says at
 * which of them a new run of bytes begins, and `tag` names the write that the run came from:
 *
 *     cut    0        16       32       48          writes  #0 [0,32)   #1 [16,48)
 *     begin  1        1        0        1
 *     tag    #0       #1       -        nobody
 *
 * The set is a tree of 64-bit words, so that the neighbours of a cut are found in O(log64 cuts).
 * Every write puts in at most two new beginnings, so a whole replay costs O(n log n).
 * Ownership: everything lives in the arena passed in; the story is borrowed.
 */
#ifndef PSC_CORE_DEBUG_SHADOW_H
#define PSC_CORE_DEBUG_SHADOW_H

#include "core/event/event.h"

#define PSC_SHADOW_LEVELS 6

struct psc_shadow_write {
    uint32_t event;  /* index into story->events */
    uint32_t lo, hi; /* cuts; equal when no byte is written */
};
struct psc_shadow {
    const struct psc_story *story;
    struct psc_shadow_write *writes; /* in the order of the events */
    uint32_t write_n;
    uint64_t *cut;     /* bytes, ascending inside each buffer */
    uint32_t *cut_at;  /* cuts of buffer b: [cut_at[b], cut_at[b + 1]) */
    uint32_t *tag;     /* write of the run that begins at a cut, PSC_NONE when nobody wrote it */
    uint64_t *bits[PSC_SHADOW_LEVELS];
    uint32_t levels;
};

/* A maximal run of bytes with one last writer. */
struct psc_shadow_run {
    uint64_t lo, hi; /* bytes, clipped to the range asked for */
    uint32_t write;  /* index into writes, PSC_NONE when nobody wrote */
    uint32_t next;   /* for psc_shadow_next */
};

/* True for the kinds of event that change bytes: fill, write, rows-write, enqueue, copy; and those after
 * which the old bytes are gone. */
bool psc_shadow_writes(enum psc_event_kind kind);
/* Grow, evict, trim: the buffer's bytes went back, nothing came in their place. */
static inline bool psc_shadow_vanishes(enum psc_event_kind kind)
{
    return kind == PSC_EV_GROW || kind == PSC_EV_EVICT || kind == PSC_EV_TRIM;
}

enum psc_status psc_shadow_init(struct psc_shadow *shadow, struct psc_arena *arena, const struct psc_story *story,
                                struct psc_error *reterr) PSC_MUST_CHECK;
/* Replays write w: its bytes come from it now. */
void psc_shadow_apply(struct psc_shadow *shadow, uint32_t w);
/* Do all bytes of write w still come from it? */
bool psc_shadow_intact(const struct psc_shadow *shadow, uint32_t w);
/* First run inside [lo, hi) of a buffer, lo < hi. `hint`: a write that begins at lo, or PSC_NONE. */
struct psc_shadow_run psc_shadow_first(const struct psc_shadow *shadow, uint32_t buffer, uint64_t lo, uint64_t hi,
                                       uint32_t hint);
/* The run after `run`; false at the end of [.., hi). */
bool psc_shadow_next(const struct psc_shadow *shadow, uint32_t buffer, uint64_t hi, struct psc_shadow_run *run);

#endif
