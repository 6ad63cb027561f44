/* core/candela/exec.h: carries a plan out. It is given the plan and nothing else: no expression, no alias map.
 *
 *     live: id -> handle (a counted store and a layout)
 *     step:  leaf, cache hit    the handle that is there already
 *            allocate, region   fresh bytes, which the kernel writes all of
 *            use slot           the bytes of another id, which nobody else may hold any more
 *            in place           the bytes of one input; the kernel is told which one
 *            reference          the bytes of an input, another layout
 *     then every id of the step's dealloc list goes.
 *
 * Steps run as they are listed, or in another order in which each stands behind what it needs and waits for (levels.h). Then an id
 * goes when the step that lists it and all that were listed before and read it have run.
 *
 * A step that asks for a handle that is not there, or would write bytes that somebody else holds, ends the run:
 * PSC_ERR_RUN, and the failure says which.
 */
#ifndef PSC_CORE_CANDELA_EXEC_H
#define PSC_CORE_CANDELA_EXEC_H

#include "core/candela/plan.h"

#define PSC_BAKED_MAX 32u /* plans inside plans */

enum psc_mishap {
    PSC_MISHAP_NONE,
    PSC_MISHAP_MISSING, /* a step reads `id`, which is not live */
    PSC_MISHAP_SHARED,  /* a step would write the bytes of `id`, which others hold */
    PSC_MISHAP_BOUNDS,  /* a kernel would read or write past the end of a store */
    PSC_MISHAP_ROOT,    /* the result is not there at the end */
    PSC_MISHAP_INSIDE,  /* the plan that is baked into the step, id, cannot be carried out */
};
struct psc_candela_failure {
    enum psc_mishap mishap;
    uint32_t step, id;
};
struct psc_candela_watch { /* both may be NULL. inputs: of the step, in order; after: those in place may be gone */
    void *ctx;
    void (*before)(void *ctx, const struct psc_candela_step *step, const struct psc_handle *inputs);
    void (*after)(void *ctx, const struct psc_candela_step *step, const struct psc_handle *inputs,
                  const struct psc_handle *result);
};
struct psc_candela_run {
    const struct psc_handle *externals; /* for plan->externals, in their order */
    uint32_t external_n;
    const uint32_t *order;                 /* [plan->n]: positions as they run; NULL: as they are listed */
    const struct psc_candela_watch *watch; /* may be NULL */
    struct psc_store_tally *heap;          /* elements that the run asks of the heap; may be NULL, zeroed before */
    bool dry;                              /* caches are read, not filled */
    uint32_t depth;
};
/* The result's store is counted for the caller. failure may be NULL. */
enum psc_status psc_candela_execute(const struct psc_candela_plan *plan, const struct psc_candela_run *how,
                                    struct psc_handle *ret, struct psc_candela_failure *failure,
                                    struct psc_error *reterr) PSC_MUST_CHECK;

#endif
