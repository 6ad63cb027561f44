/* core/candela/kept.h: a planned expression, kept so that a person may walk through it: what the document carries.
 *
 *     (a + b) * 2      nodes   a b sum x2                         ids as in the expression
 *                      moves   push sum, enter sum, push b, push a, enter a, leave a, ...
 *                      plan    steps with their refused strategies, slots, the alias map's history
 *                      map at  position 2: who stood for whom when step 2 was decided
 *
 * Everything is a copy in the arena given, without data: nothing here can be executed, and nothing borrows the expression.
 * `lazy` is a psc_lazy for looking only (never released, never appended to). Moves are recorded while sorting: replaying
 * pushes, enters and exits gives the stack at any moment. Cost: O(nodes + edges).
 */
#ifndef PSC_CORE_CANDELA_KEPT_H
#define PSC_CORE_CANDELA_KEPT_H

#include "core/candela/plan.h"
#include "core/candela/sort.h"
#include "core/candela/verify.h"

/* The same expression planned otherwise, beside the plan that is kept: by each generation, with the same faults; and with the alias
 * map as it is not: global where inputs are frozen, frozen where it is global (fault b3). */
enum { PSC_RIVAL_MAP = PSC_GEN_N, PSC_RIVAL_N }; /* below PSC_RIVAL_MAP: enum psc_generation */
#define PSC_RIVALS_ELEMENTS (UINT64_C(1) << 22) /* element steps: what would take more is planned and not carried out */
struct psc_candela_rival {
    const struct psc_candela_plan *plan; /* NULL: it cannot be planned so, as `why` says */
    const char *why;
    struct psc_candela_memory memory;
    struct psc_candela_verdict verdict;  /* without samples */
};

struct psc_candela_kept {
    struct psc_lazy lazy;
    uint32_t root;                       /* as written; the plan's is where the result stands */
    const struct psc_candela_plan *plan;
    struct psc_candela_memory memory;    /* what the plan asks of the heap */
    const struct psc_lazy_move *moves;
    uint32_t move_n;
    struct psc_candela_verdict verdict;  /* filled in by who keeps it; else empty */
    bool levels;                         /* steps run beside each other where their dependencies allow */
    const struct psc_candela_rival *rivals; /* [PSC_RIVAL_N], filled in by who keeps it; or NULL */
};
/* The plan was made of this expression as it is now (caches that are filled since would be sorted otherwise). */
enum psc_status psc_candela_keep(struct psc_arena *arena, const struct psc_lazy *l, uint32_t root,
                                 const struct psc_candela_plan *plan, bool levels, struct psc_candela_kept **ret,
                                 struct psc_error *reterr) PSC_MUST_CHECK;

/* Fills kept->rivals. In the arena of kept. */
enum psc_status psc_candela_keep_rivals(struct psc_arena *arena, const struct psc_lazy *l, struct psc_candela_kept *kept,
                                        struct psc_error *reterr) PSC_MUST_CHECK;

struct psc_candela_entry { /* node stands for itself no more: owner does */
    uint32_t node, owner;
    enum psc_tag tag;
};
/* The alias map as it is when step `position` is decided: what was noted before it, a claim of its own not yet.
 * position plan->n: at the end. In order of nodes, in the arena. O(ids). */
enum psc_status psc_candela_map_at(struct psc_arena *arena, const struct psc_candela_plan *plan, uint32_t position,
                                   struct psc_candela_entry **ret, uint32_t *ret_n, struct psc_error *reterr) PSC_MUST_CHECK;

#endif
