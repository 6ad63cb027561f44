/* core/base/hash.h: a map from 64-bit keys to 32-bit values (open addressing), and string hashes.
 * Lookup and insertion are O(1) on average. Iteration order is never used for a decision. */
#ifndef PSC_CORE_BASE_HASH_H
#define PSC_CORE_BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct psc_map_slot;
struct psc_map {
    struct psc_map_slot *slots; /* owned */
    size_t cap, n;
};

void psc_map_release(struct psc_map *map); /* {0} is an empty map */
/* Stores value under key and returns true; an existing key keeps its old value, which comes back in
 * *ret_old (UINT32_MAX when the key was new). False when memory is exhausted. */
bool psc_map_put(struct psc_map *map, uint64_t key, uint32_t value, uint32_t *ret_old);
void psc_map_set(struct psc_map *map, uint64_t key, uint32_t value); /* the key must be there */
bool psc_map_get(const struct psc_map *map, uint64_t key, uint32_t *ret_value);

uint64_t psc_hash_bytes(const void *bytes, size_t n, uint64_t seed); /* FNV-1a, 64 bits */
uint64_t psc_hash_mix(uint64_t x);                                   /* splitmix64's finaliser */

/* A small deterministic generator (splitmix64) for the `random` slot policy and for tests. */
static inline uint64_t psc_random_next(uint64_t *state)
{
    return psc_hash_mix(*state += 0x9e3779b97f4a7c15ull);
}

#endif
