/* core/run/staging.h: buffers for copies across backends, and the copies on their way.
 *
 *     (graph 3, node 24, cpu) -> b7 of cpu's pool "stage.24.cpu"     made at the first mapping, kept until the end
 *
 *     enqueue   at the boundary of the split that needs it     pending
 *     await     before its first read                          done, counted
 *     drain     at the end: what nobody read is waited for too
 *
 * A staging buffer is fresh: it never comes from a list of idle buffers, and never goes into one. When its graph has left the
 * cache for good, it may become the copy of another graph, of the same size and on the same backend: nothing is on its way
 * then, and a session that sees ever new graphs does not grow with them. The canonical place of the node copied never moves. A copy that the source backend declines is a round trip over the host, over before the
 * next command; its wait is counted all the same, so copies and waits are always equal when a run has ended.
 */
#ifndef PSC_CORE_RUN_STAGING_H
#define PSC_CORE_RUN_STAGING_H

#include "core/run/bind.h"

struct psc_staged { uint64_t key; uint32_t id; }; /* key: graph uid 32 bits, node 24, pool 8; uid 0: left by its graph */
struct psc_staging {
    struct psc_staged *items; /* heap; in the order in which they were made */
    size_t n, cap;
    size_t left;              /* items of no graph */
    struct psc_map by_key;
};
void psc_staging_release(struct psc_staging *staging);
/* Id in the pool, PSC_NONE when the node has no copy there. */
uint32_t psc_staging_find(const struct psc_staging *staging, uint64_t uid, psc_node node, uint8_t pool);
bool psc_staging_add(struct psc_staging *staging, uint64_t uid, psc_node node, uint8_t pool, uint32_t id); /* false: no memory */
void psc_staging_truncate(struct psc_staging *staging, size_t n); /* forgets the newest until n are left */
/* The graph has left for good: its buffers are to be had. */
void psc_staging_leave(struct psc_staging *staging, uint64_t uid);
/* Gives a buffer that was left to a node of another graph: an id of `pool` whose size is `bytes`, or PSC_NONE. *ret_item: for
 * psc_staging_return, when the mapping fails. */
uint32_t psc_staging_adopt(struct psc_staging *staging, const struct psc_pool *pools, uint64_t uid, psc_node node, uint8_t pool,
                           uint64_t bytes, size_t *ret_item);
void psc_staging_return(struct psc_staging *staging, size_t item);
/* Fault l11: forgets all copies of a graph. */
void psc_staging_forget(struct psc_staging *staging, uint64_t uid);

struct psc_copy_counters { uint64_t copies, waits, deferred_waits, blocking_copies, most_in_flight, bytes; };

/* The copies of one execution. */
struct psc_copying {
    struct psc_pool *pools;
    const struct psc_transfer *transfers;
    struct psc_flight *flights; /* [transfer_n], the program's room */
    uint32_t transfer_n, in_flight;
    void *bounce;             /* room for the largest transfer */
    bool blocking;            /* always over the host */
    struct psc_copy_counters *counters;
};
/* A transfer that is pending already is left alone. */
enum psc_status psc_copy_enqueue(struct psc_copying *c, uint32_t transfer, struct psc_error *reterr) PSC_MUST_CHECK;
/* at_use: a reader waits for it (counted as deferred). A transfer that is not pending is fine. */
enum psc_status psc_copy_await(struct psc_copying *c, uint32_t transfer, bool at_use, struct psc_error *reterr) PSC_MUST_CHECK;
/* Waits for all that are pending, whatever fails; the first failure is reported. */
enum psc_status psc_copy_drain(struct psc_copying *c, struct psc_error *reterr) PSC_MUST_CHECK;

#endif
