/* core/debug/replay.h: the checker's walk over a story, event by event (private to core/debug).
 *
 * psc_replay_run keeps what every byte holds (core/debug/shadow.h) and collects suspects: one for each
 * (victim, writer, reader), with the facts from which check.c tells the kind. psc_replay_races adds the
 * pairs of one dependency level that touch the same bytes, psc_replay_queues those of lanes without order.
 * Ownership: the replay owns its scratch arena and the list; psc_replay_release frees both.
 */
#ifndef PSC_CORE_DEBUG_REPLAY_H
#define PSC_CORE_DEBUG_REPLAY_H

#include "core/base/hash.h"
#include "core/debug/check.h"
#include "core/debug/shadow.h"

struct psc_suspect {
    struct psc_finding finding;
    uint32_t victim_event; /* last write of the victim before the read, or PSC_NONE */
    uint32_t serial;       /* in the order of discovery */
    uint32_t next;         /* next suspect with the same hash, or PSC_NONE */
    bool async;            /* no order between two of the three */
    bool partial;          /* op and operand overlap in part */
    bool over_operand;     /* the writer had the victim as operand */
    bool through_view;     /* the doomed read goes through a view */
    bool written_later;    /* read before it was written at all */
};

/* Bytes that were wrong already when a copy was queued: whoever reads the copy reads them. */
struct psc_carried {
    struct psc_suspect facts;
    uint32_t victim, write; /* root value; event, PSC_NONE */
    uint64_t lo, hi;        /* of the copy */
    uint32_t next;          /* of the same copy, or PSC_NONE */
};

struct psc_replay {
    const struct psc_graph *graph; /* may be NULL */
    const struct psc_story *story;
    struct psc_shadow shadow;
    struct psc_arena scratch;
    uint32_t *last_write;  /* of each value: event, or PSC_NONE */
    uint32_t *first_read;  /* of each value: event, level executor only */
    uint8_t *pending;      /* of each event: a queued copy that nobody waited for; NULL before the first copy */
    uint32_t *carries;     /* of each event: a queued copy of wrong bytes: first of `carried`, or PSC_NONE; NULL as well */
    struct psc_carried *carried; /* owned */
    size_t carried_n, carried_cap;
    uint32_t *place;       /* of each node in the executed order; NULL = identity */
    uint32_t *believed;    /* of each node in the planner's order, or NULL */
    uint32_t place_n;
    struct psc_suspect *suspects; /* owned */
    size_t suspect_n, suspect_cap;
    struct psc_map seen;          /* hash of (victim, writer, reader) -> suspect */
    uint64_t read_n, wrong_n, dropped_n;
};

enum psc_status psc_replay_run(struct psc_replay *r, const struct psc_graph *graph, const struct psc_story *story,
                               struct psc_error *reterr) PSC_MUST_CHECK;
enum psc_status psc_replay_races(struct psc_replay *r, struct psc_error *reterr) PSC_MUST_CHECK;
enum psc_status psc_replay_queues(struct psc_replay *r, struct psc_error *reterr) PSC_MUST_CHECK;
void psc_replay_release(struct psc_replay *r);

/* suspects.c. One bad piece: of victim (a root value), seen at event `read` (PSC_NONE: nobody reads), caused by event
 * `write` (PSC_NONE: nobody wrote). `facts` holds the booleans. Merges with an earlier one of the same
 * victim, writer and reader. */
enum psc_status psc_replay_report(struct psc_replay *r, uint32_t victim, uint32_t write, uint32_t read, uint64_t lo,
                                  uint64_t hi, struct psc_suspect facts, struct psc_error *reterr) PSC_MUST_CHECK;

/* The value that owns the bytes: the root of a view, else the value itself. */
static inline uint32_t psc_replay_root(const struct psc_story *story, uint32_t value)
{
    return story->values[value].is_view && story->values[value].of != PSC_NONE ? story->values[value].of : value;
}

/* The node that a value belongs to: its own, else that of what it is a copy of. */
static inline psc_node psc_replay_node_of(const struct psc_story *story, uint32_t value)
{
    const struct psc_value *v = &story->values[value];

    return v->node == PSC_NONE && v->of != PSC_NONE ? story->values[v->of].node : v->node;
}

#endif
