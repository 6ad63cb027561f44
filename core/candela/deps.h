/* core/candela/deps.h: which steps wait for which, and the levels that follow; for core/candela only. */
#ifndef PSC_CORE_CANDELA_DEPS_H
#define PSC_CORE_CANDELA_DEPS_H

#include "core/candela/plan.h"

/* Fills needs, after and level of every step of the plan, whose slots are final. O(edges log edges), and for an arena
 * every two slots that share bytes. */
enum psc_status psc_candela_deps(struct psc_arena *arena, struct psc_candela_step *steps,
                                 const struct psc_candela_plan *plan, struct psc_error *reterr) PSC_MUST_CHECK;

#endif
