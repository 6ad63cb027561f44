#include "core/base/hash.h"

#include "core/base/mem.h"

#include <string.h>

struct psc_map_slot {
    uint64_t key;
    uint32_t value;
    uint32_t full;
};

uint64_t psc_hash_bytes(const void *bytes, size_t n, uint64_t seed)
{
    const unsigned char *p = bytes;
    uint64_t h = 0xcbf29ce484222325ull ^ seed;
    for (size_t i = 0; i < n; i++)
        h = (h ^ p[i]) * 0x100000001b3ull;
    return h;
}

uint64_t psc_hash_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

void psc_map_release(struct psc_map *map)
{
    psc_free(map->slots);
    memset(map, 0, sizeof *map);
}

/* The slot that holds key, or the free one where it would go. */
static struct psc_map_slot *find(struct psc_map_slot *slots, size_t cap, uint64_t key)
{
    size_t i = (size_t)psc_hash_mix(key) & (cap - 1);
    while (slots[i].full && slots[i].key != key)
        i = (i + 1) & (cap - 1);
    return &slots[i];
}

static bool widen(struct psc_map *map)
{
    size_t cap = map->cap ? map->cap * 2 : 16;
    struct psc_map_slot *slots = psc_alloc0(cap, sizeof *slots);
    if (!slots)
        return false;
    for (size_t i = 0; i < map->cap; i++)
        if (map->slots[i].full)
            *find(slots, cap, map->slots[i].key) = map->slots[i];
    psc_free(map->slots);
    map->slots = slots;
    map->cap = cap;
    return true;
}

bool psc_map_put(struct psc_map *map, uint64_t key, uint32_t value, uint32_t *ret_old)
{
    if ((map->n + 1) * 2 > map->cap && !widen(map))
        return false;
    struct psc_map_slot *slot = find(map->slots, map->cap, key);
    if (ret_old)
        *ret_old = slot->full ? slot->value : UINT32_MAX;
    if (!slot->full) {
        *slot = (struct psc_map_slot){key, value, 1};
        map->n++;
    }
    return true;
}

void psc_map_set(struct psc_map *map, uint64_t key, uint32_t value)
{
    if (map->cap)
        find(map->slots, map->cap, key)->value = value;
}

bool psc_map_get(const struct psc_map *map, uint64_t key, uint32_t *ret_value)
{
    if (!map->cap)
        return false;
    const struct psc_map_slot *slot = find(map->slots, map->cap, key);
    if (!slot->full)
        return false;
    *ret_value = slot->value;
    return true;
}
