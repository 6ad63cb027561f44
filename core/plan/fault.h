/* core/plan/fault.h: historic defects of the engines we study, as switches.
 *
 * Each fault is one branch in the very rule it breaks, off by default. A fault set is a bit mask. The
 * checker includes nothing from here: it must find the damage without knowing the cause.
 */
#ifndef PSC_CORE_PLAN_FAULT_H
#define PSC_CORE_PLAN_FAULT_H

#include <stdbool.h>
#include <stdint.h>

enum psc_fault {
    PSC_FAULT_L1, /* lives counted in topological order while execution follows build order */
    PSC_FAULT_L2, /* inputs are not pinned: placed at their own position, they die with their last reader */
    PSC_FAULT_L3, /* inputs are placed inside the walk and may take released buffers */
    PSC_FAULT_L4, /* an alias or a view extends the live range but not the buffer's deadline */
    PSC_FAULT_L5, /* a view never extends its parent */
    PSC_FAULT_L7, /* staging copies are taken from the free list */
    PSC_FAULT_H1, /* in place through a view while the root has another reader */
    PSC_FAULT_H2, /* outputs do not count as readers: an op may run in place over an output */
    PSC_FAULT_H3, /* an op may run in place over a graph input */
    PSC_FAULT_H5, /* the budget counts a whole new buffer although an idle one would serve */
    PSC_FAULT_H7, /* outputs are not pinned and get no buffer when unread */
    PSC_FAULT_H8, /* the live peak is sampled after a position's releases */
    PSC_FAULT_N
};
typedef uint64_t psc_fault_set;
#define PSC_FAULT_BIT(f) (UINT64_C(1) << (f))

struct psc_fault_info {
    const char *name; /* "l4" */
    const char *text; /* one line for people */
    bool needs_budget; /* it breaks a rule about budgets: without one it does nothing */
};
const struct psc_fault_info *psc_fault_info(enum psc_fault fault);
/* PSC_FAULT_N when unknown. */
enum psc_fault psc_fault_from_name(const char *name);

#endif
