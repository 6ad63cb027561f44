/* core/run/mapping.h: which buffers of the pools a graph gets.
 *
 *     plan says      b0 1 KiB   b1 8 KiB   b2 1 KiB   kv.0.k   stage.4.metal
 *     pools have     b0 1 KiB idle, b1 kv.0.k, b2 kv.0.v, b3 1 KiB idle
 *     mapping        b0         new b4     b3         b1       new b5, or the one that this graph had before
 *
 * Between graphs every recyclable buffer is idle. A planner that was told of the pools says itself which it takes; for
 * the others it is the idle buffer of exactly that size with the lowest id. Regions are the layer's; staging copies are
 * the graph's own. All that is missing is made at the end, after the budget has been asked; a failure unmakes it, so a
 * mapping happens as a whole or not at all.
 */
#ifndef PSC_CORE_RUN_MAPPING_H
#define PSC_CORE_RUN_MAPPING_H

#include "core/run/session-state.h"

struct psc_mapping {
    uint32_t *ids;                  /* [plan->buffer_n], in the pool of each buffer's backend */
    struct psc_bound_layer *layers; /* [plan->layer_n] */
    uint32_t *pool_n;               /* [api_n]: buffers before it */
    size_t region_n, staging_n;
    size_t *adopted;                /* [adopted_n]: staging items that another graph had left */
    uint32_t adopted_n;
};

enum psc_status psc_mapping_make(struct psc_session *s, const struct psc_mapped *mapped, const struct psc_plan *plan,
                                 struct psc_arena *arena, struct psc_mapping *ret, struct psc_error *reterr) PSC_MUST_CHECK;
/* After a failure later on: everything is as before psc_mapping_make. */
void psc_mapping_undo(struct psc_session *s, const struct psc_mapping *mapping);
/* The walk really happens: generations, idle and live bytes. */
void psc_mapping_commit(struct psc_session *s, const struct psc_mapped *mapped, const struct psc_plan *plan,
                        const struct psc_mapping *mapping);
/* plan->buffers with the pools' ids, names and addresses. */
enum psc_status psc_mapping_name(struct psc_session *s, const struct psc_mapped *mapped, struct psc_arena *arena,
                                 struct psc_plan *plan, const struct psc_mapping *mapping, struct psc_error *reterr) PSC_MUST_CHECK;

#endif
