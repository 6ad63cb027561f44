/* core/candela/claims.h: the planner's first walk, for core/candela only.
 *
 *     class      as_contiguous, a cache: who is packed already, who becomes the owner; noop: stands for its input
 *     inputs     resolved where the node stands, before its own claim is registered; never again
 *     lives      the last step that reads it
 */
#ifndef PSC_CORE_CANDELA_CLAIMS_H
#define PSC_CORE_CANDELA_CLAIMS_H

#include "core/candela/alias.h"

enum psc_guard { PSC_GUARD_NONE, PSC_GUARD_NODE, PSC_GUARD_SLOT };

/* What generation and faults come to. */
struct psc_candela_rules {
    bool dead_before, scalar_packed, binary_packed, use_slot, packs;    /* by generation */
    bool resolve_cache, follow_layout, own_reference, keep_promise, known_stays; /* mended in hardened */
    bool global, unresolved_layout, claim_first, takeover_moves;        /* faults b3 b4 b13 b14 */
    enum psc_guard guard;
};
struct psc_candela_rules psc_candela_rules(const struct psc_candela_options *options);

struct psc_candela_item { /* a place in the list */
    uint32_t id;
    uint32_t *inputs, input_n;
    int32_t end;
    struct psc_strides layout;
    uint64_t shift; /* layout ops: elements between where the input begins and where this does */
};
struct psc_candela_claims {
    const struct psc_lazy *l;
    struct psc_candela_rules rules;
    struct psc_alias map;
    struct psc_candela_item *items; /* the root, when it has a step, is the last */
    uint32_t *position;             /* [l->n]: of the node's item, PSC_NONE */
    struct psc_alias_event *events;
    uint32_t n, event_n, root;      /* root: the id under which the result stands */
    uint32_t *externals, external_n;
};
enum psc_status psc_candela_claim(struct psc_arena *arena, const struct psc_lazy *l, uint32_t root,
                                  const struct psc_candela_options *options, struct psc_candela_claims *ret,
                                  struct psc_error *reterr) PSC_MUST_CHECK;

#endif
