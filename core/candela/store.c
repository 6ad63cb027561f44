#include "core/candela/store.h"

#include "core/base/mem.h"

enum { ALIGN = 128 };

static _Alignas(ALIGN) float nothing[1]; /* what no element lies at */

static struct psc_store *make(float *at, uint64_t len, struct psc_store *home, void *block)
{
    struct psc_store *store = psc_alloc0(1, sizeof *store);
    if (store)
        *store = (struct psc_store){at, block, len, 1, home, NULL};
    return store;
}

struct psc_store *psc_store_new(uint64_t len, struct psc_store_tally *tally)
{
    uint64_t bytes;
    if (!psc_mul_u64(len, sizeof(float), &bytes) || !psc_add_u64(bytes, ALIGN, &bytes) || bytes > SIZE_MAX)
        return NULL;
    char *block = len ? psc_alloc((size_t)bytes) : NULL;
    if (len && !block)
        return NULL;
    size_t past = (uintptr_t)block % ALIGN;
    struct psc_store *store = make(len ? (float *)(void *)(block + (past ? ALIGN - past : 0)) : nothing, len, NULL, block);
    if (!store) {
        psc_free(block);
        return NULL;
    }
    store->tally = tally;
    if (tally)
        tally->live += len;
    if (tally && tally->live > tally->peak)
        tally->peak = tally->live;
    return store;
}

struct psc_store *psc_store_borrow(float *at, uint64_t len)
{
    return make(at, len, NULL, NULL);
}

struct psc_store *psc_store_part(struct psc_store *home, uint64_t offset, uint64_t len)
{
    struct psc_store *store = make(home->at + offset, len, home, NULL);
    if (store)
        home->refs++;
    return store;
}

void psc_store_unref(struct psc_store *store)
{
    while (store && !--store->refs) {
        struct psc_store *home = store->home;
        if (store->tally)
            store->tally->live -= store->len;
        psc_free(store->block);
        psc_free(store);
        store = home;
    }
}

struct psc_handle psc_handle_share(const struct psc_handle *h)
{
    h->store->refs++;
    return *h;
}

struct psc_handle psc_handle_copy(const struct psc_handle *h)
{
    struct psc_handle copy = {.store = NULL};
    if (psc_layout_packed(h->layout.rank, h->layout.shape, &copy.layout, NULL))
        return copy;
    copy.store = psc_store_new(psc_layout_len(&copy.layout), NULL);
    if (copy.store)
        psc_handle_read(h, copy.store->at);
    return copy;
}

void psc_handle_read(const struct psc_handle *handle, float *to)
{
    uint64_t n = psc_layout_len(&handle->layout);
    for (uint64_t i = 0; i < n; i++)
        to[i] = handle->store->at[psc_layout_at(&handle->layout, i)];
}
