/* core/debug/arena-view.h: two arenas at one position of a story, ready for drawings: what they look like, what changed
 * here and why, and all runs on one axis.
 *
 *     "alloc C"       asked 48 B of exec: found again, slot 0 of 64 B
 *     search          free before: slot 0 (64), slot 1 (128); slot 0 is taken, ghost at its place in the buckets
 *     words           "The smallest free block that is large enough is taken: slot 0 of 64 B. 16 B of it stay unused (slack)."
 *
 * A view is a function of (track, position) alone (core/debug/arena-track.h): a step back costs what a step on costs, twice a
 * look and the events of the position. Sentences are made by core/debug/explain-arena.c.
 *
 * Ownership: an axis lives in its arena, made once of a track; a view lives in its own, and borrows both.
 */
#ifndef PSC_CORE_DEBUG_ARENA_VIEW_H
#define PSC_CORE_DEBUG_ARENA_VIEW_H

#include "core/debug/arena-track.h"

#define PSC_ARENA_PAGE 4096u
/* A block that is asked of the heap: its pages are touched for the first time. After the warm-up there are none. */
struct psc_arena_touch { int32_t position; uint32_t home; uint64_t bytes; };
/* Bytes that are copied from one value to another: to another backend, or into a block of their own. */
struct psc_arena_moved { uint32_t event; uint64_t bytes, before; /* by earlier events of its run */ };
struct psc_arena_axis {
    const struct psc_arena_track *track;
    const int32_t *run_at;    /* [run_n]: first position of each run */
    const uint64_t *top;      /* [arena_n]: live, slack and kept-free bytes together, at most at any time */
    const struct psc_arena_touch *touches; /* by event */
    const uint32_t *run_pages; /* [run_n]: pages touched first in it */
    const struct psc_arena_moved *moved; /* by event */
    uint32_t run_n, position_n, touch_n, moved_n;
};
enum psc_status psc_arena_axis_new(struct psc_arena *arena, const struct psc_arena_track *track, struct psc_arena_axis **ret,
                                   struct psc_error *reterr) PSC_MUST_CHECK;

enum psc_arena_found { PSC_FOUND_NOTHING, PSC_FOUND_AGAIN, PSC_FOUND_NEW, PSC_FOUND_GROWN };
struct psc_arena_free_view { /* a free block, or one that was free until this position */
    uint32_t slot;
    uint64_t capacity;
    bool taken, evicted;      /* here: both false when it is still free */
    bool fresh;               /* free since this position */
};
struct psc_arena_home_view {
    const struct psc_arena_home_look *look;
    const bool *touched;      /* [look->slot_n]: by this position */
    const struct psc_arena_free_view *buckets; /* smallest first, of one size the one freed last first */
    const struct psc_arena_free_view *queue;   /* the first one is evicted next; what left here stands before them */
    uint32_t bucket_n, queue_n;
    enum psc_arena_found found;
    uint64_t asked;           /* the last alloc of this position */
    uint32_t found_slot;      /* PSC_NONE */
};
/* Where something comes from that is given out at this position. */
enum psc_arena_role { PSC_ROUTE_OUTPUT, PSC_ROUTE_INNER, PSC_ROUTE_WORKSPACE, PSC_ROUTE_STAGED, PSC_ROUTE_TRANSFERRED, PSC_ROUTE_BORROWED };
struct psc_arena_route {
    enum psc_arena_role role;
    uint32_t value, slot;
    uint32_t home, belongs;   /* arenas; PSC_NONE: none. Not the same: it is misrouted */
    uint64_t bytes, copied;   /* copied: into it, here */
};
struct psc_arena_view {
    int32_t position;         /* -1 .. n */
    uint32_t position_n;
    const struct psc_arena_axis *axis;
    struct psc_arena_look look;
    const struct psc_arena_home_view *homes; /* [look.home_n] */
    uint32_t from, to;        /* events of this position */
    const struct psc_arena_route *routes;
    uint32_t route_n, wrong_n;
    uint64_t copied;          /* in this run, this position included */
    const char *title;        /* what the story says of the position, its beginning: "alloc C: 48 B from exec"; "" */
    const char *words;        /* why, and what the story notes beside it */
};
enum psc_status psc_arena_view_at(struct psc_arena *arena, const struct psc_arena_axis *axis, int32_t position,
                                  struct psc_arena_view **ret, struct psc_error *reterr) PSC_MUST_CHECK;

/* A slot's name for people: the value that it holds or held last, "" when none did. */
const char *psc_arena_view_name(const struct psc_arena_view *view, const struct psc_arena_slot_look *slot);
/* "lent to 2, one lease each", "owned by a tensor", ... */
const char *psc_arena_slot_words(const struct psc_arena_slot_look *slot, char *buf, size_t size);
const char *psc_arena_role_words(enum psc_arena_role role); /* "declared output" */
const char *psc_invariant_short(unsigned invariant); /* "one owner a block": at most 24 characters */
/* Why an invariant is broken or that it holds, in words, into out. */
struct psc_text;
void psc_explain_arena_lamp(struct psc_text *out, const struct psc_arena_view *view, unsigned invariant);
/* Why things happen at this position. */
void psc_explain_arena_words(struct psc_text *out, const struct psc_arena_view *view);
/* All of a view in words. */
void psc_explain_arena_view(struct psc_text *out, const struct psc_arena_view *view);

#endif
