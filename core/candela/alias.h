/* core/candela/alias.h: who stands for whom while candela plans: node -> owner, in a single hop.
 *
 *     t = transpose(e); n = noop(t); k = as_contiguous(n)
 *     at n:  {n -> t anything}
 *     at k:  k takes t over: {n -> k packed, t -> k packed}
 *
 * An entry names an owner and what it promises. An owner is never itself a key: one lookup resolves. A takeover moves
 * every entry of the old owner to the new one, and the old owner too; entries of one owner form a class, so it costs
 * O(1), not a pass over the map. Only the planner's walk knows this map: steps carry resolved inputs.
 */
#ifndef PSC_CORE_CANDELA_ALIAS_H
#define PSC_CORE_CANDELA_ALIAS_H

#include "core/base/arena.h"
#include "core/candela/plan.h"

struct psc_alias_class {
    uint32_t owner, version;
    uint8_t tag; /* of entries older than the version */
};
struct psc_alias {
    uint32_t *key_class, *key_version, *owner_class; /* [n] PSC_NONE: none */
    uint8_t *key_tag;
    struct psc_alias_class *classes; /* [2 n] */
    uint32_t n, class_n, hop_n;      /* hop_n: entries that led to a key when they were made */
};

bool psc_alias_init(struct psc_alias *map, struct psc_arena *arena, uint32_t n);
/* The owner and its promise, or PSC_NONE when the node stands for itself. */
uint32_t psc_alias_get(const struct psc_alias *map, uint32_t node, enum psc_tag *ret_tag);
static inline uint32_t psc_alias_resolve(const struct psc_alias *map, uint32_t node)
{
    enum psc_tag tag;
    uint32_t owner = psc_alias_get(map, node, &tag);
    return owner == UINT32_MAX ? node : owner;
}
void psc_alias_insert(struct psc_alias *map, uint32_t node, uint32_t owner, enum psc_tag tag);
/* moves: false only with fault b14. */
void psc_alias_take_over(struct psc_alias *map, uint32_t old, uint32_t owner, enum psc_tag tag, bool moves);
/* The first key whose owner is a key too, PSC_NONE: the invariant holds. O(n). */
uint32_t psc_alias_check(const struct psc_alias *map);

#endif
