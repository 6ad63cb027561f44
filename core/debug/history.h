/* core/debug/history.h: who, when, where: any question about a story in O(log n).
 *
 * Built once from a story: tenancies (one bar of the timeline each), accesses by buffer, live bytes by
 * position. All lookups are binary searches over sorted arrays, also those that ask for a window of bytes
 * (core/debug/overlap.h); at most 256 bytes a tenancy in all. Includes no header above core/event.
 *
 *     (a + b) * 2 of core/event/event.h, n = 4        first last end   prev_version  next_version
 *     E0  a     [0,16)                                 -1    2    5    -             -
 *     E1  b     [0,16)                                 -1    2    5    -             -
 *     s0  sum   [0,16)                                  2    3    3    -             x2
 *     s0  x2    [0,16)                                  3    4    5    sum           -
 *
 * A tenancy is alive at p when first <= p < end. A persistent region is one tenancy from -1 to the end.
 * Positions must not decrease over the whole story: several runs count on (PSC_ERR_ORDER otherwise).
 * Ownership: all in the arena passed in; the story is borrowed. Thread use: a finished history may be read
 * from any thread.
 */
#ifndef PSC_CORE_DEBUG_HISTORY_H
#define PSC_CORE_DEBUG_HISTORY_H

#include "core/event/event.h"

/* One value's stay in a buffer: from its write (or fill) to its release. A bar of the timeline. In-place
 * successors are tenancies of their own whose `prev_version` names the one whose bytes they continue. */
struct psc_tenancy {
    uint32_t value, buffer;
    uint64_t lo, hi;             /* bytes of the buffer */
    int32_t first, last;         /* inclusive positions: first write (fill: -1) .. last access */
    int32_t end;                 /* first position at which the bytes may belong to another: the position of
                                    the in-place successor, one past that of the release, else where the next
                                    tenant moves in (one past the last access if that is later), else n + 1 */
    uint32_t write_event;        /* the write or fill */
    uint32_t prev_version, next_version; /* in-place chain: tenancy indices or PSC_NONE */
    uint32_t prev_tenant, next_tenant;   /* of overlapping bytes of the same buffer, in time; or PSC_NONE */
};

struct psc_history {
    const struct psc_story *story;       /* borrowed: must outlive the history */
    const struct psc_tenancy *tenancies; /* sorted by (buffer, first, lo) */
    uint32_t tenancy_n;
    const uint32_t *buffer_at;           /* tenancies of buffer b: [buffer_at[b], buffer_at[b+1]) */
    const uint32_t *value_at;            /* tenancies of a value: value_tenancies[value_at[v] .. value_at[v+1]) */
    const uint32_t *value_tenancies;
    const uint32_t *access_at;           /* accesses of buffer b, in event order: [access_at[b], access_at[b+1]) */
    const uint32_t *accesses;            /* event indices: fill, write, read, rows, enqueue, copy, capture, export,
                                            host-read */
    const uint32_t *position_at;         /* events of position p (p >= -1): [position_at[p+1], position_at[p+2]) */
    /* Bytes at position p, p = -1 .. n: [p + 1]. Persistent, caller-owned and staging buffers count apart. */
    const uint64_t *live_bytes;          /* of the tenancies alive */
    const uint64_t *used_bytes;          /* what the pool has given out: psc_history_add_used of each buffer */
    uint64_t peak_bytes, used_peak_bytes;
    int32_t peak_at, used_peak_at;       /* first position that reaches it */
    const struct psc_history_index *index; /* what the lookups need (private) */
};
enum psc_status psc_history_build(struct psc_arena *arena, const struct psc_story *story, struct psc_history **ret,
                                  struct psc_error *reterr) PSC_MUST_CHECK;

/* All return an event index or PSC_NONE. `before` / `after` are exclusive positions. Bytes half-open.
 * Writers are fills, writes, rows-writes and copies; readers are reads, rows-reads, exports and host reads. */
uint32_t psc_history_last_writer(const struct psc_history *h, uint32_t buffer, uint64_t lo, uint64_t hi, int32_t before);
uint32_t psc_history_next_writer(const struct psc_history *h, uint32_t buffer, uint64_t lo, uint64_t hi, int32_t after);
uint32_t psc_history_next_reader(const struct psc_history *h, uint32_t buffer, uint64_t lo, uint64_t hi, int32_t after);
uint32_t psc_history_last_reader(const struct psc_history *h, uint32_t buffer, uint64_t lo, uint64_t hi, int32_t before);
/* Previous / next access of any kind of a buffer. */
uint32_t psc_history_next_access(const struct psc_history *h, uint32_t buffer, int32_t after);
uint32_t psc_history_prev_access(const struct psc_history *h, uint32_t buffer, int32_t before);
/* The tenancy whose bytes contain `byte` at `position`, or PSC_NONE. Of several that overlap (a clobber) the one
 * written last. */
uint32_t psc_history_tenant(const struct psc_history *h, uint32_t buffer, uint64_t byte, int32_t position);
/* Tenancies alive at a position, ascending, at most max written; returns how many there are. */
uint32_t psc_history_live_at(const struct psc_history *h, int32_t position, uint32_t *ret, uint32_t max);
/* First tenancy of a value (its own bar), or PSC_NONE. */
uint32_t psc_history_of_value(const struct psc_history *h, uint32_t value);
/* Bytes and number of the buffers that count: persistent, caller-owned and staging ones do not. A buffer whose size nobody knows is as
 * large as its tenancies reach. O(buffers + tenancies). */
uint64_t psc_history_reserved(const struct psc_history *h, uint32_t *ret_buffers);
bool psc_history_counts(enum psc_role role);
/* Adds to delta[p + 1] by how much what is in use of the buffer grows at position p, wrapping round below zero: sums give the bytes in
 * use. A buffer whose tenants all begin at its start is in use as a whole, and as far as a tenant reaches beyond it, while one lives in
 * it; of one that tenants share, the bytes that a tenant covers are. O(tenancies), O(tenancies log tenancies) where some lie over each other. False: no memory. */
bool psc_history_add_used(const struct psc_history *h, uint32_t buffer, uint64_t *delta);
/* The value made by a node (views: their own value), or PSC_NONE. O(log n). */
uint32_t psc_history_value_of_node(const struct psc_history *h, psc_node node);

#endif
