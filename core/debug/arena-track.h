/* core/debug/arena-track.h: what arenas looked like when so and so many events of a story had happened.
 *
 *     exec  cap 256 B             by capacity      evicted first         invariants
 *      0  live    sum   48 / 64   64: slot 2       slot 4 (freed at 7)   1 2 3 . 5 6 7
 *      1  leased  y    128 / 128  128: 4, 3        slot 2 (freed at 9)       4 broken since event 12: clear ...
 *      2  free            / 64                     slot 3
 *
 *     psc_arena_track_new(&arena, story, &track, &error)         once; NULL when the story has no arenas
 *     n = psc_arena_track_upto(track, position)                  events up to a position, its own included
 *     psc_arena_track_look(track, &scratch, n, &look, &error)    everything to draw then
 *     track->points                                              live, slack and retained after each event: a time axis
 *
 * All of it follows from the story's events alone (core/debug/arena-story.h writes them), so that scenarios, runs and
 * files look alike. "48 / 64": bytes asked for, bytes of the block; the difference is slack, and is counted in neither
 * live nor retained.
 *
 * Ownership: the track lives in its arena and borrows the story, a look lives in another. Cost: new O(events), look
 * O(slots log events + free slots log free slots), so a cursor may be moved event by event. A finished track may be read
 * from any thread.
 */
#ifndef PSC_CORE_DEBUG_ARENA_TRACK_H
#define PSC_CORE_DEBUG_ARENA_TRACK_H

#include "core/plan/arena-check.h"

struct psc_arena_figures {
    uint64_t live, live_capacity, retained; /* slack: live_capacity - live */
    uint64_t peak;                          /* of live, so far */
    uint32_t live_n, leased_n, free_n;
};
/* After an event of an arena: that arena's figures. */
struct psc_arena_point {
    uint32_t event, home;
    int32_t position;
    uint16_t run;
    struct psc_arena_figures figures;
};
struct psc_arena_record;   /* private: one change of one slot */
struct psc_arena_borrowed { uint32_t value, buffer, from, to; }; /* memory of a caller; events [from, to) */

struct psc_arena_track {
    const struct psc_story *story;
    const struct psc_arena_point *points;   /* by event */
    const uint32_t *latest;                 /* [point_n][arena_n]: latest point of each arena, PSC_NONE */
    uint32_t point_n;
    const struct psc_arena_record *records; /* by (arena, slot, event) */
    const uint32_t *const *first;           /* [arena_n][slot_n + 1]: records of a slot */
    const uint32_t *slot_n;                 /* [arena_n]: slots that were ever used */
    const uint32_t *ever;                   /* [alarm_n]: broken up to this alarm */
    const uint32_t *closed, *gone;          /* [arena_n]: event with which the session lets go; it ends; UINT32_MAX: never */
    const struct psc_arena_borrowed *borrowed;
    uint32_t borrowed_n;
    uint32_t since[PSC_INVARIANT_N];        /* alarm at which it was first broken, PSC_NONE */
};

struct psc_arena_slot_look {
    enum psc_slot_state state;
    enum psc_owner owner;
    uint32_t holders;                       /* LEASED: leases, each of which keeps the arena alive */
    uint64_t bytes, capacity;               /* asked for; of the block, 0 when UNUSED */
    uint32_t buffer, value;                 /* of the story; PSC_NONE: UNUSED; FREE: value that was there last */
    uint32_t generation;
    uint32_t event;                         /* that made it so, PSC_NONE: never used */
};
struct psc_arena_home_look {
    const struct psc_story_arena *arena;    /* slot_max, cap, mode */
    const char *name;                       /* "exec", "io" */
    const struct psc_arena_slot_look *slots; /* [slot_n] */
    uint32_t slot_n;
    const uint32_t *by_capacity;            /* [free_n] slots that are free, in the order of the search: smallest block
                                               first, of several of one size the one freed last */
    const uint32_t *evictions;              /* [free_n]: which goes first when there is more than the cap */
    struct psc_arena_figures figures;
    uint32_t refs;                          /* the session's, and one for each lease */
    bool closed, gone;                      /* the session has let go; nobody holds it any more */
};
struct psc_arena_look {
    const struct psc_arena_home_look *homes; /* [home_n], in the order of story->arenas */
    uint32_t home_n;
    const struct psc_arena_borrowed *borrowed; /* of callers, now: in no arena; [borrowed_n] */
    uint32_t borrowed_n;
    uint16_t run;                           /* of the latest event */
    unsigned broken, ever;                  /* invariants that do not hold now; that did not hold at some time so far */
    const char *text;                       /* of the lowest that is broken now, else "" */
};

/* *ret NULL: the story has no arenas. */
enum psc_status psc_arena_track_new(struct psc_arena *arena, const struct psc_story *story, struct psc_arena_track **ret,
                                    struct psc_error *reterr) PSC_MUST_CHECK;
uint32_t psc_arena_track_upto(const struct psc_arena_track *track, int32_t position);
enum psc_status psc_arena_track_look(const struct psc_arena_track *track, struct psc_arena *arena, uint32_t events,
                                     struct psc_arena_look *ret, struct psc_error *reterr) PSC_MUST_CHECK;
/* Invariants that did not hold at some time of a story, of one without arenas 0. */
unsigned psc_arena_ever_broken(const struct psc_story *story);
/* Why an invariant was first seen broken, "" when it never was. *ret_after: events that had happened then. */
const char *psc_arena_track_why(const struct psc_arena_track *track, unsigned invariant, uint32_t *ret_after);
/* The latest point of an arena when `events` have happened, PSC_NONE: none. */
uint32_t psc_arena_track_point(const struct psc_arena_track *track, uint32_t home, uint32_t events);

#endif
