/* traces/ours-write.h: our own key of a phase, as traces and events files have it (private to traces/). */
#ifndef PSC_TRACES_OURS_WRITE_H
#define PSC_TRACES_OURS_WRITE_H

#include "core/plan/plan.h"
#include "traces/graph-write.h"

/* Is there anything to say? plan and story may be NULL. */
bool psc_ours_has(const struct psc_phase *phase, const struct psc_plan *plan, const struct psc_story *story);
/* The value of the key: an object. */
void psc_ours_write(struct psc_json *j, const struct psc_phase *phase, const struct psc_plan *plan,
                    const struct psc_story *story, psc_flush_fn flush, void *ctx);

#endif
