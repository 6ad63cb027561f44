/* core/plan/arena-depot.h: an arena at run time: slots whose blocks are kept when they are free, and used again.
 *
 *     UNUSED --alloc--> LIVE --free--> FREE (retained) --alloc--> LIVE
 *                       LIVE --export--> LEASED --last return--> FREE        I/O only
 *     FREE --trim, cap--> UNUSED
 *
 * alloc(n) takes the smallest retained block of at least n bytes, of several of one size the one freed last; else an unused
 * slot with a new block of exactly n; else, when slots have run out, the largest retained block, grown to n; else it is
 * refused. Blocks are kept by their exact capacity, in a tree: O(log free blocks).
 *
 *     three slots, no cap       choice                      live  retained
 *     A=64, B=128               slots 0 and 1, new           192        0
 *     free A; C=48              slot 0 of 64                 176        0    16 bytes of slack: in neither number
 *     free B, free C                                           0      192
 *     D=200                     slot 2, new                  200      192
 *     E=300                     slot 1 grows to 300          500       64
 *     F=10; G=1                 slot 0; refused              510        0
 *
 * Over the retention cap the block that has been free longest goes first. Live counts the bytes asked for, retained the
 * capacities of free blocks.
 *
 * Two of them serve a session (core/plan/arena-context.h): intermediates and workspaces live in the execution arena,
 * declared outputs and staged inputs in the I/O arena. Each has its own cap: a burst in one evicts nothing in the other.
 * `simple` is the older allocator to compare with: the same slots, no block is kept.
 *
 * Modes: `upstream` has none of the guards below. Then a stale ticket whose address was given out again frees the new
 * owner's block. `hardened` has all: a ticket is good for one life of its slot (generation), blocks are aligned to 64
 * bytes, a block given back is overwritten with PSC_ARENA_POISON (and looked at before it is used again), and a lock
 * allows calls from several threads.
 *
 * What is illegal is refused with PSC_ERR_USAGE and a sentence, and changes nothing: free or export of an unknown address,
 * of a block that is free, or lent. So is an allocation that fails (PSC_ERR_NOMEM).
 *
 * Ownership: counted. psc_depot_new gives the session's reference; each lease holds one (core/plan/arena-handle.h); plain
 * handles hold none and must be gone before the session lets go (psc_depot_close refuses). Who watches an arena may look at it when
 * it is gone: its blocks are overwritten then, and nothing is given out or taken back. Bytes are never zeroed.
 * Returning a block allocates nothing, so it cannot fail.
 */
#ifndef PSC_CORE_PLAN_ARENA_DEPOT_H
#define PSC_CORE_PLAN_ARENA_DEPOT_H

#include "core/event/event.h"
#include "core/plan/arena-fault.h"

#define PSC_ARENA_POISON 0xdb
#define PSC_ARENA_SLOTS_MAX (1u << 22)
#define PSC_ARENA_NO_CAP UINT64_MAX

enum psc_depot_kind { PSC_DEPOT_EXEC, PSC_DEPOT_IO, PSC_DEPOT_SIMPLE, PSC_DEPOT_N };
const char *psc_depot_kind_name(enum psc_depot_kind kind); /* "exec", "io", "simple" */

/* Guards, bit mask. */
enum { PSC_GUARD_GENERATION = 1, PSC_GUARD_ALIGN = 2, PSC_GUARD_POISON = 4, PSC_GUARD_LOCK = 8 };
#define PSC_ARENA_UPSTREAM 0u
#define PSC_ARENA_HARDENED 15u

enum psc_slot_state { PSC_SLOT_UNUSED, PSC_SLOT_LIVE, PSC_SLOT_LEASED, PSC_SLOT_FREE };
const char *psc_slot_state_name(enum psc_slot_state state);

/* A block as its owner knows it. {0}: none. */
struct psc_ticket {
    uint32_t slot, generation;
    unsigned char *memory;    /* NULL: none */
    uint64_t bytes, capacity; /* asked for; of the block */
};

/* What happened, for those who tell stories: kinds alloc, grow (before its alloc), release, export, transfer (one more
 * holder, or one less), drop (the last one), evict (after the release or drop that is its cause), trim, clear, refuse, close (holders:
 * references that are left). */
enum psc_block_how { PSC_BLOCK_NEW, PSC_BLOCK_AGAIN, PSC_BLOCK_GROWN };
struct psc_depot_event {
    enum psc_event_kind kind;
    enum psc_block_how how;  /* alloc */
    enum psc_owner owner;    /* of the block; of one that goes back: who owned it */
    uint32_t holders;        /* of a block that is lent, after the event */
    uint32_t slot, generation;
    uint64_t buffer;         /* number of the block, counted over its life in a slot; UINT64_MAX: refused */
    uint64_t bytes, capacity;
    const char *why;         /* refuse: the sentence; else NULL */
};
struct psc_depot;
typedef void (*psc_depot_sink)(void *ctx, struct psc_depot *store, const struct psc_depot_event *event);

struct psc_depot_options {
    enum psc_depot_kind kind;
    uint32_t slot_max;        /* blocks in use at once, 0: as many as are asked for */
    bool none;                /* slot_max 0 means what it says: nothing is ever given out */
    uint64_t cap;             /* bytes retained at most; PSC_ARENA_NO_CAP */
    unsigned guards;          /* PSC_ARENA_HARDENED ... */
    uint32_t alignment;       /* of blocks, a power of two, at least 16; 0: 64 when PSC_GUARD_ALIGN, else 16 */
    psc_arena_faults faults;
    bool keeps_dropped;       /* memory of blocks that go is given to the heap at the very end only: for scripts and defects, whose
                                 stale addresses may still be looked at */
    uint64_t backed_max;      /* of each block only so many bytes exist, for scripts about sizes; 0: all */
    uint64_t *numbers;        /* where numbers of blocks are drawn from, shared by arenas; NULL: its own */
    psc_depot_sink sink;      /* called under the lock: it must not call back */
    void *ctx;
};

struct psc_depot_figures {
    uint64_t live, peak;                /* bytes asked for */
    uint64_t live_capacity, retained;   /* sizes of blocks: in use, free */
    uint64_t backed_retained;           /* of these, bytes that exist */
    uint32_t live_n, leased_n, free_n, unused_n, slot_n;
    uint64_t blocks;                    /* ever made */
    uint64_t reused, grown, evicted, trimmed, refused;
    uint64_t system_allocs;             /* blocks asked of the heap, growth included */
    uint64_t copied;                    /* bytes moved by exports: 0 unless a fault is on */
    uint64_t stale_writes;              /* poisoned blocks that somebody wrote */
    uint64_t late;                      /* blocks that came back when the arena was gone */
};

/* For reading; everything is written by this module. */
struct psc_block;
struct psc_depot_slot {
    enum psc_slot_state state;
    enum psc_owner owner;
    uint32_t generation;      /* of its use: one more at each alloc */
    uint32_t holders;         /* LEASED */
    uint64_t bytes, capacity; /* asked for; of the block */
    uint64_t buffer;          /* number of the block */
    uint64_t freed;           /* FREE: when, counted in returns */
    struct psc_block *block;  /* counted; NULL when UNUSED */
    unsigned char *memory;
    uint64_t backed;          /* bytes that exist */
    uint32_t prev, next;      /* FREE: in the order of being freed. UNUSED: next */
};

enum psc_status psc_depot_new(const struct psc_depot_options *options, struct psc_depot **ret,
                              struct psc_error *reterr) PSC_MUST_CHECK;
void psc_depot_ref(struct psc_depot *store);
void psc_depot_unref(struct psc_depot *store); /* NULL is fine. The last one frees everything. */
/* What is left of it stays until nobody watches any more. */
void psc_depot_watch(struct psc_depot *store);
void psc_depot_unwatch(struct psc_depot *store);
bool psc_depot_gone(const struct psc_depot *store); /* nobody holds a reference any more */
/* The session lets go: refused while plain handles are out, *store is kept then. Else *store is NULL. An event either way the
 * arena ends: close, with the references that are left. */
enum psc_status psc_depot_close(struct psc_depot **store, struct psc_error *reterr) PSC_MUST_CHECK;
/* The other arena of the session: what faults a1 and a6 reach. */
void psc_depot_set_other(struct psc_depot *store, struct psc_depot *other);

enum psc_status psc_depot_alloc(struct psc_depot *store, uint64_t bytes, enum psc_owner owner, struct psc_ticket *ret,
                                struct psc_error *reterr) PSC_MUST_CHECK;
enum psc_status psc_depot_free(struct psc_depot *store, struct psc_ticket ticket, struct psc_error *reterr) PSC_MUST_CHECK;
/* LIVE -> LEASED. *ticket changes only under fault a7. */
enum psc_status psc_depot_export(struct psc_depot *store, struct psc_ticket *ticket, struct psc_error *reterr) PSC_MUST_CHECK;
/* One more holder of a block that is lent; one less: the last gives it back. */
enum psc_status psc_depot_share(struct psc_depot *store, struct psc_ticket ticket, struct psc_error *reterr) PSC_MUST_CHECK;
enum psc_status psc_depot_return(struct psc_depot *store, struct psc_ticket ticket, struct psc_error *reterr) PSC_MUST_CHECK;
/* A run is over: an event; leased blocks stay (unless fault a4). */
void psc_depot_clear(struct psc_depot *store);
/* All free blocks go; returns their bytes, 0 the second time. */
uint64_t psc_depot_trim(struct psc_depot *store);
void psc_depot_set_cap(struct psc_depot *store, uint64_t cap); /* evicts at once */
void psc_depot_reset_peak(struct psc_depot *store);            /* to what is live now */
/* NULL: nothing is told any more, and numbers of blocks are the arena's own. */
void psc_depot_set_sink(struct psc_depot *store, psc_depot_sink sink, void *ctx);
/* Fault a6: memory that was only borrowed becomes a free block. Without the fault nothing happens. */
void psc_depot_end_borrow(struct psc_depot *store, void *memory, uint64_t bytes);

const struct psc_depot_options *psc_depot_options(const struct psc_depot *store);
struct psc_depot_figures psc_depot_figures(const struct psc_depot *store);
const struct psc_depot_slot *psc_depot_slots(const struct psc_depot *store); /* [slot_n], until the next call */
uint32_t psc_depot_slot_at(const struct psc_depot *store, const void *address); /* PSC_NONE when it is no block's */
bool psc_depot_has_free(const struct psc_depot *store, uint64_t bytes); /* a free block of at least so many bytes */
uint32_t psc_depot_slot_with(const struct psc_depot *store, const void *address); /* whose block the address lies in, or PSC_NONE */
uint32_t psc_depot_refs(const struct psc_depot *store);
/* How many free blocks the tree holds; whether it has this one; and the order of eviction, first first. For checks. */
uint32_t psc_depot_bucketed(const struct psc_depot *store);
bool psc_depot_has_bucket(const struct psc_depot *store, uint32_t slot);
uint32_t psc_depot_oldest(const struct psc_depot *store);

#endif
