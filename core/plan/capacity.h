/* core/plan/capacity.h: how large the arena of each backend may be.
 *
 *     64MiB                    the arena of every backend
 *     64MiB,metal=1GiB         metal has its own, every other 64 MiB
 *     metal=1GiB               metal has its own, every other is as large as it needs
 *
 * Backends are named as the graph spells them (psc_plan_options.capacities).
 */
#ifndef PSC_CORE_PLAN_CAPACITY_H
#define PSC_CORE_PLAN_CAPACITY_H

#include "core/base/text.h"
#include "core/plan/plan.h"

/* Bytes, or PSC_CAPACITY_NONE. name NULL: of the nodes without a backend. */
uint64_t psc_capacity_of(const struct psc_plan_options *options, const char *name);
/* The first capacity whose backend none of the graphs names; NULL: there is none. Entries of graphs may be NULL. */
const struct psc_capacity *psc_capacity_unknown(const struct psc_plan_options *options, const struct psc_graph *const *graphs, uint32_t n);
/* PSC_ERR_USAGE: "there is no arena of 'x': the graph runs on cpu, metal". */
enum psc_status psc_capacity_refuse(const struct psc_capacity *unknown, const struct psc_graph *const *graphs, uint32_t n,
                                    struct psc_error *reterr) PSC_MUST_CHECK;
/* The options get capacities of their own in the arena. */
bool psc_capacities_keep(struct psc_arena *arena, struct psc_plan_options *options);

#endif
