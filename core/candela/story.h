/* core/candela/story.h: a lazy plan as a story, so that checker, history, timeline and tables know it.
 *
 * Value and position p are step p. Edges, filled caches and inputs of skeletons are filled at -1, each in a buffer of its
 * own, which counts as the caller's; a slot is a buffer s0, s1 ..., or bytes of the buffer `arena`. References are views of
 * what they show; a step in place reads, takes the operand's bytes by an alias event, writes. A read names the bytes that the
 * kernel looks at, faults included. What a cache keeps is read by the host at the end, and the result is exported.
 */
#ifndef PSC_CORE_CANDELA_STORY_H
#define PSC_CORE_CANDELA_STORY_H

#include "core/candela/plan.h"
#include "core/event/event.h"

/* levels: steps of one level run beside each other, as their dependencies allow. */
enum psc_status psc_candela_lower(struct psc_arena *arena, const struct psc_candela_plan *plan, bool levels,
                                  struct psc_story **ret, struct psc_error *reterr) PSC_MUST_CHECK;
/* "x2 = sum * 2: in place over sum" into out. */
void psc_candela_title(struct psc_text *out, const struct psc_candela_plan *plan, uint32_t step);

#endif
