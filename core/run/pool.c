#include "core/run/pool.h"

#include "core/base/mem.h"

#include <stdio.h>
#include <string.h>

#define PHANTOM (UINT64_C(1) << 60)

static const char *const the_recycled[PSC_RECYCLED_N] = {"kept", "zeroed", "poisoned"};

const char *psc_recycled_name(enum psc_recycled recycled)
{
    return (unsigned)recycled < PSC_RECYCLED_N ? the_recycled[recycled] : "unknown";
}

bool psc_recycled_parse(const char *text, enum psc_recycled *ret)
{
    for (unsigned k = 0; k < PSC_RECYCLED_N; k++)
        if (!strcmp(the_recycled[k], text)) {
            *ret = (enum psc_recycled)k;
            return true;
        }
    return false;
}

/* ---- opening -------------------------------------------------------------------------------------------- */

/* A failed question is no budget of nothing; a measured zero is. The host's own memory has no budget but an explicit
 * one: its system gives it out. */
static uint64_t find_budget(struct psc_pool *pool, uint64_t budget)
{
    uint64_t unused = 0, total = 0;
    if (budget != UINT64_MAX || pool->api->is_host)
        return budget;
    switch (pool->api->memory ? pool->api->memory(pool->backend, &unused, &total) : PSC_QUERY_NO_DEVICE) {
    case PSC_QUERY_REPORTED:
        return unused / 4 * 3;
    case PSC_QUERY_FAILED:
        pool->figures.query_failed = true;
        return UINT64_MAX;
    default:
        return UINT64_MAX;
    }
}

enum psc_status psc_pool_open(struct psc_pool *pool, const struct psc_backend_api *api,
                              const struct psc_backend_config *config, enum psc_recycled recycled, uint64_t budget,
                              struct psc_error *reterr)
{
    const char *why = api->unavailable ? api->unavailable() : NULL;
    enum psc_status status;
    *pool = (struct psc_pool){.api = api, .recycled = recycled};
    if (why)
        return psc_fail(reterr, PSC_ERR_UNAVAILABLE, "%s: %s", api->name, why);
    status = api->open(config, &pool->backend, reterr);
    if (!status)
        pool->figures.budget = find_budget(pool, budget);
    else
        pool->backend = NULL;
    return status;
}

void psc_pool_close(struct psc_pool *pool)
{
    if (pool->backend) {
        psc_pool_truncate(pool, 0);
        if (pool->pattern)
            pool->api->free(pool->backend, pool->pattern);
        pool->api->close(pool->backend);
    }
    psc_free(pool->slots);
    psc_free(pool->by_address);
    psc_free(pool->sizes);
    psc_map_release(&pool->by_size);
    psc_map_release(&pool->weights);
    *pool = (struct psc_pool){0};
}

/* ---- making ----------------------------------------------------------------------------------------------- */

enum psc_status psc_pool_afford(const struct psc_pool *pool, uint64_t more, uint64_t bytes, const char *who,
                                struct psc_error *reterr)
{
    const struct psc_pool_figures *f = &pool->figures;
    uint64_t held = f->pool_bytes + f->staging_bytes + more;
    if (f->budget == UINT64_MAX || (f->weight_bytes <= f->budget && held <= f->budget - f->weight_bytes &&
                                    bytes <= f->budget - f->weight_bytes - held))
        return PSC_OK;
    return psc_fail(reterr, PSC_ERR_TOO_BIG,
                    "%s needs %llu bytes on %s, where the pool has %llu bytes and weights take %llu; the budget is %llu bytes",
                    who, (unsigned long long)bytes, pool->api->name, (unsigned long long)held,
                    (unsigned long long)f->weight_bytes, (unsigned long long)f->budget);
}

static struct psc_size_list *size_list(const struct psc_pool *pool, uint64_t bytes)
{
    uint32_t at;
    return psc_map_get(&pool->by_size, bytes, &at) ? &pool->sizes[at] : NULL;
}

static bool add_size(struct psc_pool *pool, uint64_t bytes)
{
    uint32_t at = (uint32_t)pool->size_n;
    if (size_list(pool, bytes))
        return true;
    if (!psc_grow(&pool->sizes, pool->size_n + 1, &pool->size_cap, sizeof *pool->sizes) ||
        !psc_map_put(&pool->by_size, bytes, at, &(uint32_t){0}))
        return false;
    pool->sizes[pool->size_n++] = (struct psc_size_list){bytes, PSC_NONE, PSC_NONE, PSC_NONE, 0};
    return true;
}

/* Place in by_address before which `at` belongs. */
static uint32_t address_place(const struct psc_pool *pool, psc_address at)
{
    uint32_t lo = 0, hi = pool->n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (pool->slots[pool->by_address[mid]].b.at <= at)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static void count(struct psc_pool *pool, const struct psc_pool_buffer *b, bool more)
{
    struct psc_pool_figures *f = &pool->figures;
    if (pool->phantom && b->role != PSC_ROLE_PERSISTENT)
        return;
    uint32_t *n = b->role == PSC_ROLE_PERSISTENT ? &f->regions : b->role == PSC_ROLE_STAGING ? &f->staging : &f->buffers;
    uint64_t *bytes = b->role == PSC_ROLE_PERSISTENT ? &f->region_bytes
                      : b->role == PSC_ROLE_STAGING  ? &f->staging_bytes
                                                     : &f->pool_bytes;
    *n += more ? 1 : UINT32_MAX;
    *bytes += more ? b->bytes : -b->bytes;
}

static void add_to_list(struct psc_pool *pool, uint32_t id)
{
    struct psc_slot *slot = &pool->slots[id];
    struct psc_size_list *list = size_list(pool, slot->b.bytes);
    slot->previous = list->last;
    if (list->last == PSC_NONE)
        list->first = id;
    else
        pool->slots[list->last].next = id;
    list->last = id;
    if (list->cursor == PSC_NONE)
        list->cursor = id;
}

static void add_slot(struct psc_pool *pool, psc_address at, uint64_t bytes, enum psc_role role, const char *name, bool owned)
{
    uint32_t id = pool->n, place = address_place(pool, at);
    struct psc_slot *slot = &pool->slots[id];
    *slot = (struct psc_slot){.b = {.id = id, .at = at, .bytes = bytes, .role = role}, .previous = PSC_NONE,
                              .next = PSC_NONE, .idle = role == PSC_ROLE_POOL, .owned = owned};
    slot->b.generation = role != PSC_ROLE_POOL; /* regions and staging copies are given out once, for good */
    if (name)
        snprintf(slot->b.name, sizeof slot->b.name, "%s", name);
    else
        snprintf(slot->b.name, sizeof slot->b.name, "b%u", id);
    memmove(&pool->by_address[place + 1], &pool->by_address[place], (pool->n - place) * sizeof *pool->by_address);
    pool->by_address[place] = id;
    pool->n++;
    pool->figures.generation++;
    count(pool, &slot->b, true);
    if (role == PSC_ROLE_POOL)
        add_to_list(pool, id);
}

static bool make_room(struct psc_pool *pool, uint64_t bytes, enum psc_role role)
{
    return pool->n < PSC_NONE - 1 && psc_grow(&pool->slots, (size_t)pool->n + 1, &pool->slot_cap, sizeof *pool->slots) &&
           psc_grow(&pool->by_address, (size_t)pool->n + 1, &pool->address_cap, sizeof *pool->by_address) &&
           (role != PSC_ROLE_POOL || add_size(pool, bytes));
}

static uint32_t pattern_word(const struct psc_pool *pool)
{
    return pool->recycled == PSC_RECYCLED_POISONED ? PSC_POISON : 0;
}

static uint64_t whole_words(uint64_t bytes)
{
    return (bytes + 3) / 4 * 4;
}

/* Beyond what any process may address, and after the phantoms before. */
static psc_address phantom_address(const struct psc_pool *pool)
{
    uint32_t last = pool->n ? pool->by_address[pool->n - 1] : PSC_NONE;
    const struct psc_pool_buffer *b = last == PSC_NONE ? NULL : &pool->slots[last].b;
    return b && b->at >= PHANTOM ? b->at + (b->bytes + 63) / 64 * 64 : PHANTOM;
}

/* Memory with the pattern in it. */
static enum psc_status allocate(struct psc_pool *pool, uint64_t room, psc_address *ret, struct psc_error *reterr)
{
    enum psc_status status = pool->api->alloc(pool->backend, room, ret, reterr);
    if (status)
        return status;
    pool->figures.allocs++;
    status = pool->api->fill(pool->backend, *ret, pattern_word(pool), room, reterr);
    if (status)
        pool->api->free(pool->backend, *ret);
    return status;
}

enum psc_status psc_pool_make(struct psc_pool *pool, uint64_t bytes, uint64_t room, enum psc_role role, const char *name,
                              uint32_t *ret_id, struct psc_error *reterr)
{
    psc_address at = 0;
    enum psc_status status;
    room = whole_words(room > bytes ? room : bytes);
    if (!make_room(pool, bytes, role))
        return psc_fail_nomem(reterr);
    if (pool->phantom && role != PSC_ROLE_PERSISTENT) {
        *ret_id = pool->n;
        add_slot(pool, phantom_address(pool), bytes, role, name, false);
        return PSC_OK;
    }
    status = allocate(pool, room, &at, reterr);
    bool missing = status == PSC_ERR_NOMEM && pool->api->fails_late && !pool->phantom && room == whole_words(bytes);
    if (status && !missing)
        return status;
    *ret_id = pool->n;
    add_slot(pool, missing ? phantom_address(pool) : at, bytes, role, name, !missing);
    pool->slots[*ret_id].missing = missing;
    pool->figures.missing += missing;
    return PSC_OK;
}

enum psc_status psc_pool_revive(struct psc_pool *pool, uint32_t id, struct psc_error *reterr)
{
    struct psc_slot *slot = &pool->slots[id];
    psc_address at = 0;
    if (!slot->missing)
        return PSC_OK;
    enum psc_status status = allocate(pool, whole_words(slot->b.bytes), &at, reterr);
    if (status)
        return status == PSC_ERR_NOMEM ? PSC_OK : status;
    uint32_t place = address_place(pool, slot->b.at) - 1;
    memmove(&pool->by_address[place], &pool->by_address[place + 1], (pool->n - place - 1) * sizeof *pool->by_address);
    pool->n--; /* while its place among the others is looked for */
    place = address_place(pool, at);
    memmove(&pool->by_address[place + 1], &pool->by_address[place], (pool->n - place) * sizeof *pool->by_address);
    pool->n++;
    pool->by_address[place] = id;
    slot->b.at = at;
    slot->owned = true;
    slot->missing = false;
    pool->figures.missing--;
    pool->figures.generation++;
    return PSC_OK;
}

enum psc_status psc_pool_present(const struct psc_pool *pool, psc_address at, struct psc_error *reterr)
{
    uint64_t offset, left = 0, all = 0;
    uint32_t id;
    if (at < PHANTOM || pool->phantom)
        return PSC_OK;
    const char *name = pool->api->name;
    if (!psc_pool_locate(pool, at, &id, &offset)) /* bound before its buffer got memory, by a mapping that failed */
        return psc_fail(reterr, PSC_ERR_NOMEM, "a buffer of %s had no memory when the graph was mapped: it has to be mapped again", name);
    const struct psc_pool_buffer *b = &pool->slots[id].b;
    if (!pool->api->memory || pool->api->memory(pool->backend, &left, &all) != PSC_QUERY_REPORTED)
        return psc_fail(reterr, PSC_ERR_NOMEM, "buffer %s of %s has no memory: %llu bytes were not to be had when it was made", b->name,
                        name, (unsigned long long)b->bytes);
    return psc_fail(reterr, PSC_ERR_NOMEM, "buffer %s of %s has no memory: %llu bytes were not to be had when it was made; of the "
                    "device's %llu bytes %llu are free", b->name, name, (unsigned long long)b->bytes, (unsigned long long)all,
                    (unsigned long long)left);
}

enum psc_status psc_pool_make_inside(struct psc_pool *pool, uint32_t owner, uint64_t offset, uint64_t bytes,
                                     enum psc_role role, const char *name, uint32_t *ret_id, struct psc_error *reterr)
{
    if (!make_room(pool, bytes, role))
        return psc_fail_nomem(reterr);
    *ret_id = pool->n;
    add_slot(pool, pool->slots[owner].b.at + offset, bytes, role, name, false);
    return PSC_OK;
}

void psc_pool_truncate(struct psc_pool *pool, uint32_t n)
{
    while (pool->n > n) {
        const struct psc_slot *slot = &pool->slots[pool->n - 1];
        uint32_t place = address_place(pool, slot->b.at) - 1;
        if (slot->b.role == PSC_ROLE_POOL) {
            struct psc_size_list *list = size_list(pool, slot->b.bytes);
            list->last = slot->previous;
            if (list->last == PSC_NONE)
                list->first = PSC_NONE;
            else
                pool->slots[list->last].next = PSC_NONE;
            list->cursor = list->first;
            list->stamp = 0;
        }
        if (slot->owned)
            pool->api->free(pool->backend, slot->b.at);
        pool->figures.missing -= slot->missing;
        count(pool, &slot->b, false);
        memmove(&pool->by_address[place], &pool->by_address[place + 1], (pool->n - place - 1) * sizeof *pool->by_address);
        pool->n--;
    }
}

/* ---- taking ------------------------------------------------------------------------------------------------- */

void psc_pool_begin(struct psc_pool *pool)
{
    pool->stamp++;
}

bool psc_pool_take_id(struct psc_pool *pool, uint32_t id)
{
    if (id >= pool->n || pool->slots[id].b.role != PSC_ROLE_POOL || pool->slots[id].taken == pool->stamp)
        return false;
    pool->slots[id].taken = pool->stamp;
    return true;
}

uint32_t psc_pool_take(struct psc_pool *pool, uint64_t bytes)
{
    struct psc_size_list *list = size_list(pool, bytes);
    if (!list)
        return PSC_NONE;
    if (list->stamp != pool->stamp) {
        list->stamp = pool->stamp;
        list->cursor = list->first;
    }
    while (list->cursor != PSC_NONE && !psc_pool_take_id(pool, list->cursor))
        list->cursor = pool->slots[list->cursor].next;
    return list->cursor;
}

enum psc_status psc_pool_pattern(struct psc_pool *pool, struct psc_error *reterr)
{
    uint64_t most = 0;
    psc_address at = 0;
    enum psc_status status;
    if (pool->recycled == PSC_RECYCLED_KEPT)
        return PSC_OK;
    for (uint32_t id = 0; id < pool->n; id++)
        if (pool->slots[id].b.role == PSC_ROLE_POOL && pool->slots[id].b.bytes > most)
            most = pool->slots[id].b.bytes;
    if (most <= pool->pattern_bytes)
        return PSC_OK;
    most = whole_words(most);
    status = pool->api->alloc(pool->backend, most, &at, reterr);
    if (status == PSC_ERR_NOMEM && pool->api->fails_late)
        return PSC_OK; /* who needs it says so; the next mapping asks again */
    if (status)
        return status;
    status = pool->api->fill(pool->backend, at, pattern_word(pool), most, reterr);
    if (status) {
        pool->api->free(pool->backend, at);
        return status;
    }
    if (pool->pattern)
        pool->api->free(pool->backend, pool->pattern);
    pool->pattern = at;
    pool->pattern_bytes = most;
    return PSC_OK;
}

enum psc_status psc_pool_recycle_now(struct psc_pool *pool, psc_address at, uint64_t bytes, struct psc_error *reterr)
{
    return pool->api->fill(pool->backend, at, pattern_word(pool), bytes, reterr);
}

bool psc_pool_locate(const struct psc_pool *pool, psc_address at, uint32_t *ret_id, uint64_t *ret_offset)
{
    uint32_t place = address_place(pool, at), id;
    if (!place)
        return false;
    id = pool->by_address[place - 1];
    if (at - pool->slots[id].b.at >= pool->slots[id].b.bytes)
        return false;
    *ret_id = id;
    *ret_offset = at - pool->slots[id].b.at;
    return true;
}

enum psc_status psc_pool_weight(struct psc_pool *pool, const struct psc_weight *weight, psc_address *ret,
                                struct psc_error *reterr)
{
    uint32_t old = PSC_NONE;
    enum psc_status status = pool->api->load_weight(pool->backend, weight, ret, reterr);
    if (status)
        return status;
    if (!psc_map_put(&pool->weights, (uint64_t)(uintptr_t)weight, 0, &old))
        return psc_fail_nomem(reterr);
    if (old == PSC_NONE)
        pool->figures.weight_bytes += weight->bytes;
    return PSC_OK;
}
