#include "core/candela/alias.h"

#include <string.h>

bool psc_alias_init(struct psc_alias *map, struct psc_arena *arena, uint32_t n)
{
    *map = (struct psc_alias){.n = n};
    map->key_class = psc_arena_alloc(arena, n, sizeof *map->key_class);
    map->key_version = psc_arena_alloc0(arena, n, sizeof *map->key_version);
    map->owner_class = psc_arena_alloc(arena, n, sizeof *map->owner_class);
    map->key_tag = psc_arena_alloc0(arena, n, sizeof *map->key_tag);
    map->classes = psc_arena_alloc(arena, 2 * (size_t)n, sizeof *map->classes);
    if (!map->key_class || !map->key_version || !map->owner_class || !map->key_tag || !map->classes)
        return false;
    memset(map->key_class, 0xff, n * sizeof *map->key_class);
    memset(map->owner_class, 0xff, n * sizeof *map->owner_class);
    return true;
}

uint32_t psc_alias_get(const struct psc_alias *map, uint32_t node, enum psc_tag *ret_tag)
{
    if (map->key_class[node] == PSC_NONE)
        return PSC_NONE;
    const struct psc_alias_class *c = &map->classes[map->key_class[node]];
    *ret_tag = (enum psc_tag)(c->version > map->key_version[node] ? c->tag : map->key_tag[node]);
    return c->owner;
}

static uint32_t class_of(struct psc_alias *map, uint32_t owner)
{
    if (map->owner_class[owner] == PSC_NONE) {
        map->classes[map->class_n] = (struct psc_alias_class){.owner = owner};
        map->owner_class[owner] = map->class_n++;
    }
    return map->owner_class[owner];
}

void psc_alias_insert(struct psc_alias *map, uint32_t node, uint32_t owner, enum psc_tag tag)
{
    uint32_t c = class_of(map, owner);
    map->key_class[node] = c;
    map->key_version[node] = map->classes[c].version;
    map->key_tag[node] = (uint8_t)tag;
    if (map->key_class[owner] != PSC_NONE)
        map->hop_n++;
}

void psc_alias_take_over(struct psc_alias *map, uint32_t old, uint32_t owner, enum psc_tag tag, bool moves)
{
    if (moves) {
        uint32_t c = class_of(map, old);
        struct psc_alias_class *class = &map->classes[c];
        class->owner = owner;
        class->tag = (uint8_t)tag;
        class->version++;
        map->owner_class[old] = PSC_NONE;
        map->owner_class[owner] = c;
    } else if (map->owner_class[old] != PSC_NONE) {
        map->hop_n++;
    }
    psc_alias_insert(map, old, owner, tag);
}

uint32_t psc_alias_check(const struct psc_alias *map)
{
    for (uint32_t i = 0; i < map->n; i++) {
        enum psc_tag tag;
        uint32_t owner = psc_alias_get(map, i, &tag);
        if (owner != PSC_NONE && map->key_class[owner] != PSC_NONE)
            return i;
    }
    return PSC_NONE;
}
