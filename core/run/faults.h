/* core/run/faults.h: every historic defect by its name, whoever breaks the rule: planner, session, scheduler, kernels.
 *
 *     l3    planner     inputs are placed inside the walk
 *     l6    kernel      rope reads its operand on the host while the call is encoded
 *     l7    both        the planner's plan and the session's staging
 *
 * `run` knows all of them, `plan` and `check` those of the planner. In a run of a model l17 is also obeyed by psc_run: the
 * input tail_ids is not filled.
 */
#ifndef PSC_CORE_RUN_FAULTS_H
#define PSC_CORE_RUN_FAULTS_H

#include "core/plan/fault.h"

#include <stdbool.h>
#include <stdint.h>

struct psc_named_fault {
    const char *name, *text; /* "l4"; one line for people */
    psc_fault_set plan;      /* PSC_FAULT_BIT of the planner's */
    uint64_t run;            /* bits 1 << enum psc_run_fault */
    unsigned call;           /* enum psc_call_fault */
};
uint32_t psc_named_fault_n(void);
struct psc_named_fault psc_named_fault(uint32_t i); /* i < n; l1, l2 ... h8 */
/* false when nothing is called so. */
bool psc_named_fault_find(const char *name, struct psc_named_fault *ret);

#endif
