#include "core/run/cache.h"

#include "core/base/mem.h"

#include <string.h>

bool psc_graph_key_equal(const struct psc_graph_key *a, const struct psc_graph_key *b)
{
    return a->n_tokens == b->n_tokens && a->n_out == b->n_out && a->n_ctx == b->n_ctx && a->decode == b->decode &&
           a->explicit_span == b->explicit_span && a->kv_map == b->kv_map && a->fuse_qkv == b->fuse_qkv &&
           a->fuse_ffn == b->fuse_ffn && a->kv_format == b->kv_format && a->assignment == b->assignment &&
           a->weights_version == b->weights_version;
}

void psc_mapped_free(struct psc_mapped *mapped)
{
    if (!mapped)
        return;
    psc_arena_release(&mapped->plan_arena);
    psc_arena_release(&mapped->arena);
    psc_free(mapped);
}

uint32_t psc_cache_find(const struct psc_cache *cache, const struct psc_graph_key *key)
{
    for (uint32_t k = 0; k < cache->n; k++)
        if (psc_graph_key_equal(&cache->graphs[k]->key, key))
            return k;
    return PSC_NONE;
}

void psc_cache_to_front(struct psc_cache *cache, uint32_t at)
{
    struct psc_mapped *mapped = cache->graphs[at];
    memmove(&cache->graphs[1], &cache->graphs[0], at * sizeof cache->graphs[0]);
    cache->graphs[0] = mapped;
}

struct psc_mapped *psc_cache_insert(struct psc_cache *cache, struct psc_mapped *mapped)
{
    cache->graphs[cache->n++] = mapped;
    psc_cache_to_front(cache, cache->n - 1);
    return cache->n > PSC_CACHE_GRAPHS ? cache->graphs[--cache->n] : NULL;
}

struct psc_mapped *psc_cache_remove(struct psc_cache *cache, uint32_t at)
{
    struct psc_mapped *mapped = cache->graphs[at];
    cache->n--;
    memmove(&cache->graphs[at], &cache->graphs[at + 1], (cache->n - at) * sizeof cache->graphs[0]);
    return mapped;
}

void psc_cache_release(struct psc_cache *cache)
{
    for (uint32_t k = 0; k < cache->n; k++)
        psc_mapped_free(cache->graphs[k]);
    cache->n = 0;
}
