/* core/plan/arena-check.h: the invariants of two arenas, looked at from outside.
 *
 *     1  a block belongs to one arena            5  a lent block is given to nobody else, and keeps its bytes
 *     2  a block in use has one owner            6  borrowed memory is in no free list
 *     3  only what nobody holds is free          7  handing over moves no byte
 *     4  clear leaves lent blocks alone          8  an arena outlives what it has lent
 *                                                9  each value lies in the arena of its role
 *
 * 0 stands for the sums: slots by state, bytes by state, peak, cap. 8 is the order of shutdown: of an arena that is gone (and watched)
 * only this is looked at. The check knows no fault: it compares what the arenas
 * say of their slots with what the owners (claims) say they hold.
 *
 * Cost: O(slots + claims) and a search for each.
 */
#ifndef PSC_CORE_PLAN_ARENA_CHECK_H
#define PSC_CORE_PLAN_ARENA_CHECK_H

#include "core/plan/arena-depot.h"

#define PSC_INVARIANT_N 10 /* 0: the sums; 8: shutdown; 9: routing */
const char *psc_invariant_text(unsigned invariant); /* "a block in use has one owner" */

/* One owner: a plain handle, or one holder of a lease. */
struct psc_arena_claim {
    const struct psc_depot *store;
    struct psc_ticket ticket;
    bool leased;
    const unsigned char *origin; /* where the block lay when it was given out */
    const char *role;            /* "a workspace"; NULL: it may lie anywhere */
    const struct psc_depot *home; /* the arena of that role */
    uint64_t canary;             /* psc_arena_canary of what its owner last wrote; looked at when it is lent */
};
struct psc_arena_range { const unsigned char *memory; uint64_t bytes; };
struct psc_arena_state {
    const struct psc_depot *stores[2]; /* NULL: not there */
    const struct psc_arena_claim *claims;
    const struct psc_arena_range *borrowed; /* memory of callers */
    size_t claim_n, borrowed_n;
    bool cleared;                           /* the last thing that happened was a clear */
};
struct psc_arena_verdict {
    unsigned broken; /* bit i: invariant i */
    char text[240];  /* of the lowest; "" when all hold */
};

/* Of the first and last bytes of a block. */
uint64_t psc_arena_canary(const unsigned char *memory, uint64_t backed);
enum psc_status psc_arena_check(const struct psc_arena_state *state, struct psc_arena_verdict *ret,
                                struct psc_error *reterr) PSC_MUST_CHECK;

#endif
