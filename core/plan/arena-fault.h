/* core/plan/arena-fault.h: historic and likely defects of run-time arenas, as switches.
 *
 * a1 to a7 break invariants 1 to 7, one each (core/plan/arena-check.h), and that one alone at first; a14 and a15 break the
 * order of shutdown. The others break a rule about sizes, order or routing. Each is one branch in the very rule it breaks, off by
 * default. None leads to memory that is not there: what a defect would have destroyed stays, overwritten, until the end.
 */
#ifndef PSC_CORE_PLAN_ARENA_FAULT_H
#define PSC_CORE_PLAN_ARENA_FAULT_H

#include <stdint.h>

enum psc_arena_fault {
    PSC_ARENA_A1,  /* a block that is given back enters the other arena's free list, too */
    PSC_ARENA_A2,  /* a block that is lent is lent a second time, as if it were not */
    PSC_ARENA_A3,  /* the first of several holders gives the block back */
    PSC_ARENA_A4,  /* clear takes the bytes of outputs that were exported */
    PSC_ARENA_A5,  /* the search for a block ignores that it is lent */
    PSC_ARENA_A6,  /* memory that was only borrowed enters a free list */
    PSC_ARENA_A7,  /* export copies instead of handing over */
    PSC_ARENA_A8,  /* the first block that fits is taken, not the smallest */
    PSC_ARENA_A9,  /* a block that is used for less shrinks */
    PSC_ARENA_A10, /* over the cap the block freed last goes first */
    PSC_ARENA_A11, /* retained bytes are counted as live */
    PSC_ARENA_A12, /* roles of output slots are not cleared after the kernel */
    PSC_ARENA_A13, /* workspaces come from the arena of the node's outputs */
    PSC_ARENA_A14, /* a lease holds no reference to its arena */
    PSC_ARENA_A15, /* a lease lets go of its arena first, and gives the block back then */
    PSC_ARENA_A16, /* a block that is lent is freed by its session as if it were not */
    PSC_ARENA_A17, /* over the cap a block in use goes first */
    PSC_ARENA_A18, /* the peak is reset to nothing, not to what is live */
    PSC_ARENA_A19, /* a kernel leaves the last word of its output as it was */
    PSC_ARENA_A20, /* an output that nobody asked for comes from the arena of the node's outputs */
    PSC_ARENA_FAULT_N
};
typedef uint32_t psc_arena_faults;
#define PSC_ARENA_BIT(f) (UINT32_C(1) << (f))

struct psc_arena_fault_info {
    const char *name; /* "a4" */
    const char *text; /* one line for people */
};
const struct psc_arena_fault_info *psc_arena_fault_info(enum psc_arena_fault fault);
/* PSC_ARENA_FAULT_N when unknown. */
enum psc_arena_fault psc_arena_fault_from_name(const char *name);

#endif
