#include "core/plan/arena-depot-private.h"

const char *psc_depot_kind_name(enum psc_depot_kind kind)
{
    static const char *const names[PSC_DEPOT_N] = {"exec", "io", "simple"};
    return (unsigned)kind < PSC_DEPOT_N ? names[kind] : "unknown";
}

const char *psc_slot_state_name(enum psc_slot_state state)
{
    static const char *const names[] = {"unused", "live", "leased", "free"};
    return names[state];
}

const struct psc_depot_options *psc_depot_options(const struct psc_depot *s)
{
    return &s->options;
}

struct psc_depot_figures psc_depot_figures(const struct psc_depot *store)
{
    struct psc_depot *s = (struct psc_depot *)store; /* its lock is no part of its value */
    struct psc_depot_figures figures;
    lock(s);
    figures = s->figures;
    unlock(s);
    return figures;
}

const struct psc_depot_slot *psc_depot_slots(const struct psc_depot *s)
{
    return s->slots;
}

uint32_t psc_depot_slot_at(const struct psc_depot *s, const void *address)
{
    uint32_t slot = psc_slot_tree_at_least(&s->addresses, (uintptr_t)address, 0);
    return slot != PSC_TREE_NONE && s->slots[slot].memory == address ? slot : PSC_NONE;
}

bool psc_depot_has_free(const struct psc_depot *s, uint64_t bytes)
{
    return psc_slot_tree_at_least(&s->buckets, bytes, 0) != PSC_TREE_NONE;
}

uint32_t psc_depot_slot_with(const struct psc_depot *s, const void *address)
{
    uint32_t slot = psc_slot_tree_at_most(&s->addresses, (uintptr_t)address, 0);
    bool inside = slot != PSC_TREE_NONE && (uintptr_t)address - (uintptr_t)s->slots[slot].memory < s->slots[slot].backed;
    return inside ? slot : PSC_NONE;
}

bool psc_depot_gone(const struct psc_depot *s)
{
    return s->gone;
}

uint32_t psc_depot_refs(const struct psc_depot *s)
{
    return s->refs;
}

uint32_t psc_depot_bucketed(const struct psc_depot *s)
{
    return s->buckets.n;
}

bool psc_depot_has_bucket(const struct psc_depot *s, uint32_t slot)
{
    const struct psc_depot_slot *p = &s->slots[slot];
    for (uint32_t i = psc_slot_tree_at_least(&s->buckets, p->capacity, lately(p)); i != PSC_TREE_NONE;
         i = psc_slot_tree_next(&s->buckets, i))
        if (i == slot || s->buckets.nodes[i].a != p->capacity || s->buckets.nodes[i].b != lately(p))
            return i == slot;
    return false;
}

uint32_t psc_depot_oldest(const struct psc_depot *s)
{
    return s->oldest;
}
