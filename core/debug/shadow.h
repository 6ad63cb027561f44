/* core/debug/shadow.h: which write does each byte of each buffer come from, while a story is replayed.
 *
 * Of each buffer the pieces with one last writer, by address. A write cuts what it meets and stands in its place:
 *
 *     write #3 of [0,32), then #7 of [16,48)      [0,16) #3   [16,48) #7      #3 is not intact any more
 *
 * Most buffers hold one value at a time: then the last write of a buffer is all that a reader wants to know, and writes are
 * only noted until somebody asks for more (psc_shadow_settle). A buffer that holds several has a list of pieces. A write
 * nearly always begins where a piece begins, because what lies before it is in use: a table of hints leads there. Otherwise
 * the piece is searched for from above, in a skip list (anchors over one piece in sixteen, over one in sixteen of these, and
 * so on). A write puts in at most two pieces, so a whole replay costs O(n log n) (expected). Writes are named by their events.
 * Ownership: everything lives in the arena passed in; the story is borrowed.
 */
#ifndef PSC_CORE_DEBUG_SHADOW_H
#define PSC_CORE_DEBUG_SHADOW_H

#include "core/event/event.h"

struct psc_shadow_piece;
struct psc_shadow_anchor;
struct psc_shadow_buffer {
    uint64_t lo, hi;                 /* the only range, while there are no pieces; lo == hi: none */
    uint32_t event;
    uint32_t waits;                  /* first write that was only noted, PSC_NONE: none */
    uint32_t levels;                 /* of anchors */
    struct psc_shadow_piece *pieces; /* from byte 0; NULL: none */
    struct psc_shadow_anchor *top;   /* before the first anchor of the highest level */
};
struct psc_shadow {
    const struct psc_story *story;
    struct psc_arena *arena;
    struct psc_shadow_buffer *buffers; /* [buffer_n] */
    uint32_t *last;                    /* [buffer_n]: last write that was replayed, PSC_NONE: none */
    uint32_t *next;                    /* [event_n]: of a write that waits: the one behind it */
    uint8_t *overwritten;              /* [event_n + 1]: a later write took some of the bytes of event i - 1; 0: of nobody */
    struct psc_shadow_piece *end;      /* behind the last piece of every buffer */
    struct psc_shadow_piece **hints;   /* [2 to the power of 64 - hint_shift]: a piece that begins at the byte, or another */
    size_t piece_n, piece_max;         /* pieces; how many the hints are enough for */
    uint32_t hint_shift;
    uint64_t coin;                     /* decides which pieces have anchors */
    struct psc_shadow_piece *spare;
    struct psc_shadow_anchor *spare_anchor;
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

/* Private to the two functions below. */
bool psc_shadow_cut(struct psc_shadow *shadow, uint32_t buffer, uint64_t lo, uint64_t hi, uint32_t event) PSC_MUST_CHECK;
bool psc_shadow_catch_up(struct psc_shadow *shadow, uint32_t buffer) PSC_MUST_CHECK;

/* Replays a write that names a buffer: its bytes come from it now. e: the event with this index. false: out of memory. */
PSC_MUST_CHECK static inline bool psc_shadow_apply(struct psc_shadow *shadow, const struct psc_event *e, uint32_t event)
{
    struct psc_shadow_buffer *b = &shadow->buffers[e->buffer];
    uint32_t *last = &shadow->last[e->buffer], before = *last;

    if (e->lo >= e->hi)
        return true;
    *last = event;
    if (b->pieces)
        return psc_shadow_cut(shadow, e->buffer, e->lo, e->hi, event);
    if (b->waits == PSC_NONE)
        b->waits = event;
    else
        shadow->next[before] = event;
    return true;
}
static inline bool psc_shadow_is_settled(const struct psc_shadow *shadow, uint32_t buffer)
{
    return shadow->buffers[buffer].waits == PSC_NONE;
}
/* Before anything else is asked of a buffer than which write was its last one. false: out of memory. */
PSC_MUST_CHECK static inline bool psc_shadow_settle(struct psc_shadow *shadow, uint32_t buffer)
{
    return psc_shadow_is_settled(shadow, buffer) || psc_shadow_catch_up(shadow, buffer);
}
/* Is this the last write of the buffer that has bytes? Then all of them still come from it. */
static inline bool psc_shadow_is_last(const struct psc_shadow *shadow, uint32_t buffer, uint32_t event)
{
    return shadow->last[buffer] == event;
}
/* Do all bytes of a write that was replayed still come from it? */
static inline bool psc_shadow_intact(const struct psc_shadow *shadow, uint32_t event)
{
    return !shadow->overwritten[event + 1u];
}
/* First run inside [lo, hi) of a buffer, lo < hi. */
struct psc_shadow_run psc_shadow_first(const struct psc_shadow *shadow, uint32_t buffer, uint64_t lo, uint64_t hi);
/* The run after `run`; false at the end of [.., hi). */
bool psc_shadow_next(const struct psc_shadow *shadow, uint32_t buffer, uint64_t hi, struct psc_shadow_run *run);

#endif
