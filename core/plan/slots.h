/* core/plan/slots.h: the idle buffers of a pool, one list for each backend and size.
 *
 *     1 KiB    b6 b7          lowest gives b6, fifo the one that came first, lifo the one that came last
 *     8 KiB    b3
 *
 * A buffer enters its list when it is released and leaves it when it is taken. Buffers that one sweep
 * releases enter in the order in which they were last taken (the caller sorts them). With `random` the
 * choice follows from the seed alone.
 *
 * Ownership: heap, psc_slots_release. Cost: take and give O(log idle) for lowest, O(1) for the others;
 * the list of a size is found by hash. Memory: at most twice the buffers, 4 bytes each.
 */
#ifndef PSC_CORE_PLAN_SLOTS_H
#define PSC_CORE_PLAN_SLOTS_H

#include "core/base/hash.h"
#include "core/plan/plan.h"

struct psc_slot_list {
    uint32_t *items; /* lowest: a binary heap; fifo: a ring from head; else a stack */
    size_t cap;
    uint32_t head, n;
    uint32_t made; /* buffers of this size in all, idle or in use */
};
struct psc_slots_table {
    struct { /* the lists asked for last, by a few bits of their size */
        uint64_t bytes;
        uint32_t backend, list;
    } recent[64];
    enum psc_slots policy;
    uint64_t random;
    struct psc_map *by_size; /* [backend_n]: bytes -> list */
    uint32_t backend_n;
    struct psc_slot_list *lists;
    size_t list_n, list_cap;
    uint32_t *idle; /* [backend_n]: idle buffers of all sizes */
};

/* false when out of memory; psc_slots_release is fine then too. */
bool psc_slots_init(struct psc_slots_table *table, enum psc_slots policy, uint64_t seed, uint32_t backend_n);
void psc_slots_release(struct psc_slots_table *table);
/* The list of a size on a backend, made when new; PSC_NONE when out of memory. */
uint32_t psc_slots_list(struct psc_slots_table *table, uint32_t backend, uint64_t bytes);
/* Takes an idle buffer of the list, or PSC_NONE when none is idle. */
uint32_t psc_slots_take(struct psc_slots_table *table, uint32_t backend, uint32_t list);
bool psc_slots_give(struct psc_slots_table *table, uint32_t backend, uint32_t list, uint32_t buffer);

#endif
