/* core/debug/verdict.h: what was found wrong with a lazy plan when it was carried out, as findings beside the checker's.
 *
 *     t - view(t), guard by node     K9  step 4, r cannot be carried out: it would write over the bytes of t: v still holds them
 *     (a + b) * 2, generation 0.1    K10 step 3 takes 16 bytes of its own, though it is the last to read a + b and could write over it
 *
 * The checker knows bytes and who owns them; a wrong kernel, an executor that refuses and needless memory it cannot see.
 * core/candela/verify.h finds those; here each becomes a finding of its step, so that lists, counts and drawings show it.
 */
#ifndef PSC_CORE_DEBUG_VERDICT_H
#define PSC_CORE_DEBUG_VERDICT_H

#include "core/debug/analysis.h"

/* Merges them into check's, in order of position. Nothing to do for phases without an expression. */
enum psc_status psc_verdict_findings(struct psc_arena *arena, const struct psc_phase *phase, const struct psc_story *story,
                                     struct psc_check *check, struct psc_error *reterr) PSC_MUST_CHECK;
/* For findings of kind K9 and K10: what is wrong, and why. */
void psc_explain_wrong(struct psc_text *out, const struct psc_analysis *a, const struct psc_finding *f);
/* The same of a plan with a verdict of its own. */
struct psc_candela_kept;
struct psc_candela_wrong;
void psc_explain_candela_wrong(struct psc_text *out, const struct psc_candela_kept *kept, const struct psc_candela_wrong *wrong);
void psc_explain_wrong_more(struct psc_text *out, const struct psc_analysis *a, const struct psc_finding *f);

#endif
