/* core/plan/arena-handle.h: who owns a block of an arena: handles and leases.
 *
 *     EMPTY --build--> PLAIN --export--> LEASED        move empties the source; no byte moves
 *     PLAIN --reset--> EMPTY    the block goes back to its arena
 *     PLAIN --release--> EMPTY  the caller has the address, the arena counts the block as live
 *     LEASED --reset--> EMPTY   the lease gives the block back, then lets go of the arena
 *
 * A handle is plain, and then its arena must outlive it; or it is backed by a lease, which holds a reference: the arena
 * lives as long as anybody outside the session holds an output. A lease can be shared by several readers; the last one
 * gives the block back. Handles and leases are never copied, only moved: {0} is empty, and every function that takes one
 * over leaves it empty.
 *
 * Bytes and capacity (of the ticket) are those at the time the block was given out.
 */
#ifndef PSC_CORE_PLAN_ARENA_HANDLE_H
#define PSC_CORE_PLAN_ARENA_HANDLE_H

#include "core/plan/arena-depot.h"

struct psc_lease {
    struct psc_depot *store; /* counted; NULL when empty */
    struct psc_ticket ticket;
};

enum psc_handle_state { PSC_HANDLE_EMPTY, PSC_HANDLE_PLAIN, PSC_HANDLE_LEASED };
struct psc_block_handle {
    enum psc_handle_state state;
    struct psc_depot *store; /* borrowed */
    struct psc_ticket ticket;
    struct psc_lease lease;  /* LEASED */
};

/* Exports a live block of the I/O arena. */
enum psc_status psc_lease_export(struct psc_depot *store, struct psc_ticket ticket, struct psc_lease *ret,
                                 struct psc_error *reterr) PSC_MUST_CHECK;
enum psc_status psc_lease_share(const struct psc_lease *lease, struct psc_lease *ret, struct psc_error *reterr) PSC_MUST_CHECK;
void psc_lease_move(struct psc_lease *to, struct psc_lease *from); /* what `to` held is given back first; onto itself: nothing */
void psc_lease_reset(struct psc_lease *lease);                     /* a second time: nothing */

/* Allocates and owns. */
enum psc_status psc_block_handle_alloc(struct psc_depot *store, uint64_t bytes, enum psc_owner owner, struct psc_block_handle *ret,
                                 struct psc_error *reterr) PSC_MUST_CHECK;
/* Owns a live block; no block, no arena and an empty lease are refused. */
enum psc_status psc_block_handle_build(struct psc_depot *store, struct psc_ticket ticket, struct psc_block_handle *ret,
                                 struct psc_error *reterr) PSC_MUST_CHECK;
enum psc_status psc_block_handle_build_leased(struct psc_lease *lease, struct psc_block_handle *ret, struct psc_error *reterr) PSC_MUST_CHECK;
/* What `to` held goes back first; onto itself: nothing. */
void psc_block_handle_move(struct psc_block_handle *to, struct psc_block_handle *from);
/* Empty afterwards in any case. Fails when the block is not the handle's any more (somebody else gave it back). */
enum psc_status psc_block_handle_reset(struct psc_block_handle *handle, struct psc_error *reterr);
/* PLAIN: the block, now the caller's. LEASED: the block goes back, none comes. */
struct psc_ticket psc_block_handle_release(struct psc_block_handle *handle);
/* A plain handle of this arena becomes one that is backed by a lease. Refused for others, and the handle is kept. */
enum psc_status psc_block_handle_export(struct psc_depot *store, struct psc_block_handle *handle, struct psc_block_handle *ret,
                                  struct psc_error *reterr) PSC_MUST_CHECK;
/* One more reader of what the handle holds: a plain handle of the I/O arena becomes leased by it. */
enum psc_status psc_block_handle_retain(struct psc_block_handle *handle, struct psc_lease *ret, struct psc_error *reterr) PSC_MUST_CHECK;

#endif
