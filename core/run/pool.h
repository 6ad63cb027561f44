/* core/run/pool.h: the memory of one backend: buffers with ids that never change.
 *
 *     id  role        bytes   address
 *     0   pool         1024   0x7f..000     idle, or held by the current graph
 *     1   persistent  65536   0x7f..400     kv.0.k: outside every list
 *     2   persistent  65536   ...           kv.0.v
 *     3   pool         1024   ...
 *     4   staging      3584   ...           stage.24.cpu: outside every list too
 *
 * Ids count up; id, address and size of a buffer never change until the pool is closed. Only buffers of role POOL are
 * ever recycled. A buffer's generation counts how often it was given out; the pool's generation counts the
 * buffers it ever made, so it tells whoever captured addresses that there are others now.
 *
 * Making buffers is the only thing that can fail; the newest ones can be unmade (a mapping that failed). On a backend that
 * fails late a buffer for which there was no room is made all the same, at an address where nothing is: psc_pool_present
 * says so, with the numbers, to whoever wants to use it, and each mapping that uses it asks for memory again. Which buffers
 * a graph holds is decided by the mapping (core/run/mapping.h) as a whole: everything idle, then taken anew.
 * Cost: take O(1) amortised a mapping, locate O(log buffers).
 */
#ifndef PSC_CORE_RUN_POOL_H
#define PSC_CORE_RUN_POOL_H

#include "core/base/hash.h"
#include "core/event/event.h"
#include "core/run/backend.h"

/* What recycled bytes hold when a node is given them. Fresh buffers and regions are zeroed, or poisoned when asked. */
enum psc_recycled {
    PSC_RECYCLED_KEPT,     /* what the tenant before left */
    PSC_RECYCLED_ZEROED,
    PSC_RECYCLED_POISONED, /* PSC_POISON in every word: a NaN as f32 */
    PSC_RECYCLED_N
};
#define PSC_POISON 0x7fc0deadu
const char *psc_recycled_name(enum psc_recycled recycled); /* "kept", "zeroed", "poisoned" */
bool psc_recycled_parse(const char *text, enum psc_recycled *ret);

struct psc_pool_buffer {
    uint32_t id, generation;
    psc_address at;
    uint64_t bytes;
    enum psc_role role;       /* pool, persistent, staging */
    char name[32];            /* "b9", "kv.3.k", "stage.24.cpu" */
};
struct psc_pool_figures {
    uint32_t buffers, idle, regions, staging;
    uint32_t missing;         /* of all these: without memory */
    uint64_t pool_bytes;      /* of the recyclable buffers; the budget counts staging_bytes beside them */
    uint64_t live_bytes, peak_live_bytes; /* held when the current graph's walk has ended; most ever held in a walk */
    uint64_t region_bytes, staging_bytes, weight_bytes;
    uint64_t budget;          /* UINT64_MAX: none */
    bool query_failed;        /* the device could not say how much memory it has: so there is no budget */
    uint64_t allocs, generation; /* backend allocations ever; buffers ever made */
};

struct psc_slot {
    struct psc_pool_buffer b;
    uint32_t previous, next;  /* of the same size, by id; PSC_NONE */
    uint32_t taken;           /* stamp of the mapping that took it last */
    uint32_t mapped, told;    /* generation before the current graph was mapped; as the events of this execution tell */
    uint32_t tenants;         /* of the walk, when it has come so far */
    bool idle;                /* nobody holds it when the current walk has ended */
    bool owned;               /* b.at is what alloc gave */
    bool missing;             /* alloc gave nothing: b.at is nowhere */
};
struct psc_size_list { uint64_t bytes; uint32_t first, last, cursor; uint32_t stamp; };

struct psc_pool {
    const struct psc_backend_api *api;
    struct psc_backend *backend; /* NULL until a graph uses it */
    struct psc_slot *slots;      /* heap, by id */
    uint32_t n;
    uint32_t *by_address;        /* heap; ids by ascending address */
    struct psc_size_list *sizes; /* heap; of recyclable buffers */
    size_t slot_cap, address_cap, size_n, size_cap;
    struct psc_map by_size;
    uint32_t stamp;              /* of the mapping under way */
    enum psc_recycled recycled;
    bool phantom;                /* pool buffers have addresses and no memory: values lie on arenas (core/run/session-arena.h) */
    psc_address pattern;         /* as many bytes as the largest buffer, zeroed or poisoned: moved over what is given out */
    uint64_t pattern_bytes;
    struct psc_map weights;      /* by pointer: already counted */
    struct psc_pool_figures figures;
};

/* Opens the backend. budget: explicit, or UINT64_MAX: three quarters of what a device with memory of its own reports as
 * free, else none. */
enum psc_status psc_pool_open(struct psc_pool *pool, const struct psc_backend_api *api,
                              const struct psc_backend_config *config, enum psc_recycled recycled, uint64_t budget,
                              struct psc_error *reterr) PSC_MUST_CHECK;
void psc_pool_close(struct psc_pool *pool); /* gives all memory back; {0} is fine */

/* PSC_ERR_TOO_BIG with all four numbers when pool + weights + bytes > budget. who: "node 3 (add)"; NULL: no
 * sentence is made. */
enum psc_status psc_pool_afford(const struct psc_pool *pool, uint64_t more, uint64_t bytes, const char *who,
                                struct psc_error *reterr) PSC_MUST_CHECK;
/* Makes a buffer; bytes > 0. name NULL: "b" and the id. room: bytes really allocated when that is more. */
enum psc_status psc_pool_make(struct psc_pool *pool, uint64_t bytes, uint64_t room, enum psc_role role, const char *name,
                              uint32_t *ret_id, struct psc_error *reterr) PSC_MUST_CHECK;
/* Asks for the memory of a buffer that is missing; that there is none still is no error. */
enum psc_status psc_pool_revive(struct psc_pool *pool, uint32_t id, struct psc_error *reterr) PSC_MUST_CHECK;
/* PSC_ERR_NOMEM, with the buffer, the bytes that it wants and those that the device has, when there is no memory at `at`. */
enum psc_status psc_pool_present(const struct psc_pool *pool, psc_address at, struct psc_error *reterr) PSC_MUST_CHECK;
/* A buffer in the room of another (fault l15: rows run over into what lies behind). */
enum psc_status psc_pool_make_inside(struct psc_pool *pool, uint32_t owner, uint64_t offset, uint64_t bytes,
                                     enum psc_role role, const char *name, uint32_t *ret_id,
                                     struct psc_error *reterr) PSC_MUST_CHECK;
/* Unmakes the newest buffers until n are left. */
void psc_pool_truncate(struct psc_pool *pool, uint32_t n);

/* A mapping begins: everything recyclable is to be had. */
void psc_pool_begin(struct psc_pool *pool);
/* The recyclable buffer of exactly that size with the lowest id that this mapping has not taken, or PSC_NONE. */
uint32_t psc_pool_take(struct psc_pool *pool, uint64_t bytes);
/* The same of a known buffer; false when it is no recyclable one, or taken already. */
bool psc_pool_take_id(struct psc_pool *pool, uint32_t id);
/* Makes sure that there is a pattern for the largest buffer; on a backend that fails late it may stay too short. */
enum psc_status psc_pool_pattern(struct psc_pool *pool, struct psc_error *reterr) PSC_MUST_CHECK;

/* Puts the pattern over bytes from the host, past the queue. */
enum psc_status psc_pool_recycle_now(struct psc_pool *pool, psc_address at, uint64_t bytes, struct psc_error *reterr) PSC_MUST_CHECK;

/* Which buffer an address lies in, and where; false when it is nobody's. */
bool psc_pool_locate(const struct psc_pool *pool, psc_address at, uint32_t *ret_id, uint64_t *ret_offset);

/* Counts the weight's bytes once; *ret is its address. The weight has data and no parts. */
enum psc_status psc_pool_weight(struct psc_pool *pool, const struct psc_weight *weight, psc_address *ret,
                                struct psc_error *reterr) PSC_MUST_CHECK;

#endif
