/* core/debug/explain-verify.h: sentences about a run beside a clean one (core/run/verify.h).
 *
 *     prefill, step 0: #21 k_rope, layer 0: every byte it read is what was written and what a clean run reads, its result is not:
 *     the kernel (or the host) computed it wrong, not memory.
 *     prefill, step 0: #6 attn reads other bytes of #1 positions than were written: memory, not the kernel.
 *     decode, step 2: the host reads other bytes of #46 logits than the same step gives when it is launched node by node: ...
 */
#ifndef PSC_CORE_DEBUG_EXPLAIN_VERIFY_H
#define PSC_CORE_DEBUG_EXPLAIN_VERIFY_H

#include "core/run/verify.h"

const char *psc_verify_cause_name(enum psc_verify_cause cause); /* "computed", "memory", "unfilled", "unwritten", "overlap", "replay" */
/* One line, without a line's end; appends, and fails only for memory. */
void psc_explain_verify_difference(struct psc_text *out, const struct psc_verify_difference *d);
/* The whole in one sentence: "9 of 215 values in 4 steps differ from those of a clean run: 1 was computed wrong, ..." */
void psc_explain_verified(struct psc_text *out, const struct psc_verified *v);

#endif
