#include "core/run/staging.h"

#include "core/base/mem.h"

/* ---- buffers ------------------------------------------------------------------------------------------------ */

/* A node is less than 2^24 and a pool less than 2^8; uids are counted, 2^32 builds are never reached. */
static uint64_t key_of(uint64_t uid, psc_node node, uint8_t pool)
{
    return uid << 32 | (uint64_t)node << 8 | pool;
}

void psc_staging_release(struct psc_staging *staging)
{
    psc_free(staging->items);
    psc_map_release(&staging->by_key);
    *staging = (struct psc_staging){0};
}

uint32_t psc_staging_find(const struct psc_staging *staging, uint64_t uid, psc_node node, uint8_t pool)
{
    uint32_t at;
    if (!psc_map_get(&staging->by_key, key_of(uid, node, pool), &at) || at == PSC_NONE)
        return PSC_NONE;
    return staging->items[at].id;
}

bool psc_staging_add(struct psc_staging *staging, uint64_t uid, psc_node node, uint8_t pool, uint32_t id)
{
    uint64_t key = key_of(uid, node, pool);
    uint32_t at = (uint32_t)staging->n, old;
    if (!psc_grow(&staging->items, staging->n + 1, &staging->cap, sizeof *staging->items) ||
        !psc_map_put(&staging->by_key, key, at, &old))
        return false;
    psc_map_set(&staging->by_key, key, at);
    staging->items[staging->n++] = (struct psc_staged){key, id};
    return true;
}

void psc_staging_leave(struct psc_staging *staging, uint64_t uid)
{
    for (size_t k = 0; k < staging->n; k++)
        if (staging->items[k].key >> 32 == uid)
            psc_staging_return(staging, k);
}

void psc_staging_return(struct psc_staging *staging, size_t item)
{
    struct psc_staged *staged = &staging->items[item];
    psc_map_set(&staging->by_key, staged->key, PSC_NONE);
    staged->key = (uint8_t)staged->key;
    staging->left++;
}

uint32_t psc_staging_adopt(struct psc_staging *staging, const struct psc_pool *pools, uint64_t uid, psc_node node, uint8_t pool,
                           uint64_t bytes, size_t *ret_item)
{
    uint64_t key = key_of(uid, node, pool);
    uint32_t old;
    for (size_t k = 0; staging->left && k < staging->n; k++) {
        struct psc_staged *staged = &staging->items[k];
        if (staged->key != pool || pools[pool].slots[staged->id].b.bytes != bytes)
            continue;
        if (!psc_map_put(&staging->by_key, key, (uint32_t)k, &old))
            return PSC_NONE; /* no memory: the caller makes a new one, or fails likewise */
        psc_map_set(&staging->by_key, key, (uint32_t)k);
        staged->key = key;
        staging->left--;
        *ret_item = k;
        return staged->id;
    }
    return PSC_NONE;
}

void psc_staging_truncate(struct psc_staging *staging, size_t n)
{
    while (staging->n > n) {
        const struct psc_staged *staged = &staging->items[--staging->n];
        if (staged->key >> 32)
            psc_map_set(&staging->by_key, staged->key, PSC_NONE);
    }
}

void psc_staging_forget(struct psc_staging *staging, uint64_t uid)
{
    for (size_t k = 0; k < staging->n; k++)
        if (staging->items[k].key >> 32 == uid)
            psc_map_set(&staging->by_key, staging->items[k].key, PSC_NONE);
}

/* ---- copies --------------------------------------------------------------------------------------------------- */

static enum psc_status copy_over_host(struct psc_copying *c, const struct psc_transfer *t, struct psc_error *reterr)
{
    struct psc_pool *from = &c->pools[t->from_pool], *to = &c->pools[t->to_pool];
    enum psc_status status = from->api->synchronise(from->backend, reterr);
    if (!status)
        status = from->api->read(from->backend, t->from, c->bounce, t->bytes, reterr);
    if (!status)
        status = to->api->write(to->backend, t->to, c->bounce, t->bytes, reterr);
    c->counters->blocking_copies += !status;
    return status;
}

enum psc_status psc_copy_enqueue(struct psc_copying *c, uint32_t transfer, struct psc_error *reterr)
{
    const struct psc_transfer *t = &c->transfers[transfer];
    struct psc_flight *flight = &c->flights[transfer];
    struct psc_pool *from = &c->pools[t->from_pool], *to = &c->pools[t->to_pool];
    enum psc_status status = PSC_OK;
    if (flight->pending)
        return PSC_OK;
    flight->issued = false;
    if (!c->blocking && from->api->enqueue_copy)
        status = from->api->enqueue_copy(from->backend, t->from, t->bytes, to->api, to->backend, t->to, &flight->ticket,
                                         &flight->issued, reterr);
    if (!status && !flight->issued)
        status = copy_over_host(c, t, reterr);
    if (status)
        return status;
    flight->pending = true;
    c->counters->copies++;
    c->counters->bytes += t->bytes;
    c->in_flight += flight->issued;
    if (c->in_flight > c->counters->most_in_flight)
        c->counters->most_in_flight = c->in_flight;
    return PSC_OK;
}

enum psc_status psc_copy_await(struct psc_copying *c, uint32_t transfer, bool at_use, struct psc_error *reterr)
{
    struct psc_pool *from = &c->pools[c->transfers[transfer].from_pool];
    struct psc_flight *flight = &c->flights[transfer];
    enum psc_status status = PSC_OK;
    if (!flight->pending)
        return PSC_OK;
    if (flight->issued)
        status = from->api->await_copy(from->backend, flight->ticket, reterr);
    if (status)
        return status;
    flight->pending = false;
    c->in_flight -= flight->issued;
    c->counters->waits++;
    c->counters->deferred_waits += at_use;
    return PSC_OK;
}

enum psc_status psc_copy_drain(struct psc_copying *c, struct psc_error *reterr)
{
    enum psc_status first = PSC_OK;
    for (uint32_t k = 0; k < c->transfer_n; k++) {
        enum psc_status status = psc_copy_await(c, k, false, first ? NULL : reterr);
        if (!status)
            continue;
        c->in_flight -= c->flights[k].issued; /* its wait failed for good: nothing is left to wait for */
        c->counters->waits++;
        c->flights[k].pending = false;
        first = first ? first : status;
    }
    return first;
}
