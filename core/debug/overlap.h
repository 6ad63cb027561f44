/* core/debug/overlap.h: the last or first event of a list whose bytes overlap a window (private to core/debug).
 *
 * The list holds events sorted by (buffer, time). Over every 32 of them, over every 16 of those groups, and so
 * on, stands a *staircase*: of the byte ranges below it, those that no other range covers on both ends.
 *
 *     ranges   [0,4) [2,3) [1,9) [8,9)        staircase   lo 0 1    hi 4 9
 *
 * The last step with lo < window.hi has the largest hi of all those ranges, so one binary search tells whether
 * any range below overlaps the window. Lookups are O(log^2 n) whatever the ranges; buffers are laid out one
 * behind the other in one address space, so that one tree serves them all. Steps are kept in 32 bits: where the
 * address space is larger they count units of several bytes, rounded outwards, and the events themselves decide.
 */
#ifndef PSC_CORE_DEBUG_OVERLAP_H
#define PSC_CORE_DEBUG_OVERLAP_H

#include "core/event/event.h"

#define PSC_OVERLAP_LEVELS 8

struct psc_overlap_level {
    uint32_t *at;      /* steps of group i: [at[i], at[i + 1]) */
    uint32_t *lo, *hi; /* units; both ascending inside a group */
    uint32_t n;        /* groups */
};
struct psc_overlap {
    const struct psc_story *story;
    const uint64_t *base;     /* of each buffer in the one address space */
    const uint32_t *events;   /* the list */
    const uint32_t *event_at; /* events of buffer b: [event_at[b], event_at[b + 1]) */
    struct psc_overlap_level level[PSC_OVERLAP_LEVELS];
    uint32_t levels, shift; /* shift: log2 of the bytes of a unit */
};

/* Takes the events for which keep(kind) is true. base has buffer_n + 1 entries, the last is where the address
 * space ends, and stays with the caller. */
enum psc_status psc_overlap_build(struct psc_arena *arena, const struct psc_story *story, const uint64_t *base,
                                  bool (*keep)(enum psc_event_kind kind), struct psc_overlap *ret,
                                  struct psc_error *reterr) PSC_MUST_CHECK;
/* Event indices, PSC_NONE when there is none. Positions are exclusive. */
uint32_t psc_overlap_before(const struct psc_overlap *o, uint32_t buffer, uint64_t lo, uint64_t hi, int32_t position);
uint32_t psc_overlap_after(const struct psc_overlap *o, uint32_t buffer, uint64_t lo, uint64_t hi, int32_t position);
/* The events of every buffer in the order of the story: ret_at[buffer_n + 1], ret_list. Counting sort. */
enum psc_status psc_overlap_sort(struct psc_arena *arena, const struct psc_story *story,
                                 bool (*keep)(enum psc_event_kind kind), const uint32_t **ret_at,
                                 const uint32_t **ret_list, struct psc_error *reterr) PSC_MUST_CHECK;
/* First entry of list[from, to) whose event stands at `position` or later. */
uint32_t psc_overlap_bound(const struct psc_story *story, const uint32_t *list, uint32_t from, uint32_t to,
                           int64_t position);

#endif
