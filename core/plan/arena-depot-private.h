/* core/plan/arena-depot-private.h: the inside of an arena, for its two sources.
 *
 *     arena-depot.c        what changes it: allocation, returns, exports, eviction
 *     arena-depot-look.c   names, figures, slots, searches for checks
 */
#ifndef PSC_CORE_PLAN_ARENA_DEPOT_PRIVATE_H
#define PSC_CORE_PLAN_ARENA_DEPOT_PRIVATE_H

#include "core/plan/arena-depot.h"
#include "core/plan/arena-tree.h"

#include <pthread.h>

/* Bytes from the heap, or of somebody else (fault a6). Shared by slots only when a fault is on. */
struct psc_block {
    uint32_t refs;
    unsigned char *memory;
    bool foreign;                 /* of somebody else */
    struct psc_block *next;       /* of those that were dropped and are kept */
};

struct psc_depot {
    struct psc_depot_options options;
    struct psc_depot_figures figures;
    struct psc_depot_slot *slots; /* owned */
    size_t slot_cap;
    uint32_t unused;              /* head of the list, through next */
    uint32_t oldest, newest;      /* FREE slots in the order of being freed */
    struct psc_slot_tree buckets;      /* FREE slots by (capacity, lately freed) */
    struct psc_slot_tree addresses;    /* slots with a block by (memory, 0) */
    uint64_t returns, numbers;
    struct psc_depot *other;      /* borrowed */
    struct psc_block *dropped;    /* owned; see psc_depot_options.keeps_dropped */
    uint32_t refs, watchers;
    bool gone;
    pthread_mutex_t mutex;
};

static inline bool guards(const struct psc_depot *s, unsigned guard)
{
    return s->options.guards & guard;
}

static inline void lock(struct psc_depot *s)
{
    if (guards(s, PSC_GUARD_LOCK))
        pthread_mutex_lock(&s->mutex);
}

static inline void unlock(struct psc_depot *s)
{
    if (guards(s, PSC_GUARD_LOCK))
        pthread_mutex_unlock(&s->mutex);
}

/* Second part of the key of a free slot: of one size the one freed last comes first. */
static inline uint64_t lately(const struct psc_depot_slot *p)
{
    return UINT64_MAX - p->freed;
}

#endif
