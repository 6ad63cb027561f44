/* core/candela/verify.h: is a plan right? Looked at from outside; shares no rule with the planner.
 *
 *     computed    the plan is carried out beside the same expression computed one by one into fresh memory
 *                 (psc_lazy_direct). The first step that reads right inputs and gives another result is named, and what
 *                 it did instead, when that can be told from the numbers
 *     refused     where the executor ends, and what became of the bytes it asked for
 *     by level    a plan of which nothing was wrong so far, when its levels are to run beside each other: once more level by level,
 *                 of each level the last listed first (levels.h)
 *     structure   aliases that lead to aliases; packed offsets that are no multiples
 *     spent       steps that allocate though an operand's bytes die there and would do; bytes given back later than
 *                 their last reader; a report that is not what the heap saw
 *
 *     a - (b + 0), fault b1      step 3 gives -7 where 7 is right (element 0): its operands changed places
 *
 * Cost: the expression twice, by level three times, O(nodes + edges) beside that. What would take more than PSC_VERIFY_MAX element steps is
 * not carried out (executed is false then), nor what has slots for which nothing stands in, or plans inside.
 */
#ifndef PSC_CORE_CANDELA_VERIFY_H
#define PSC_CORE_CANDELA_VERIFY_H

#include "core/base/arena.h"
#include "core/candela/exec.h"

#define PSC_VERIFY_MAX (UINT64_C(1) << 26)
#define PSC_WRONGS_MAX 1000u

enum psc_wrong {
    PSC_WRONG_VALUE,    /* `element` of the result is `found`, right is `expected`; why says what was done instead */
    PSC_WRONG_DAMAGED,  /* `step` reads id, whose bytes changed at step `other` since they were made */
    PSC_WRONG_REFUSED,  /* the executor ends before `step` (plan->n: at the end): mishap, id, why */
    PSC_WRONG_TWO_HOPS, /* id stands for `with`, which itself stands for another */
    PSC_WRONG_NOT_OVER, /* `step` allocates though it could overwrite operand `operand`, id */
    PSC_WRONG_LATE,     /* id is given back after `step`; its bytes are last read by step `other` */
    PSC_WRONG_CROOKED,  /* the slot that begins at `step` lies at element a, no multiple of b */
    PSC_WRONG_REPORT,   /* the report says that a elements are alive at the peak, the heap saw b */
    PSC_WRONG_N
};
enum psc_wrong_why {
    PSC_WHY_UNTOLD,
    /* values */
    PSC_WHY_EXCHANGED,  /* the operands of - or / changed places */
    PSC_WHY_OTHER_OP,   /* a is the sign that was used, b the sign that should have been */
    PSC_WHY_OVER_STRIDED, /* in place over `operand`, element after element, though it is not packed */
    PSC_WHY_FROM_START, /* `operand` was read from the start of its bytes: it begins at element a of them */
    PSC_WHY_OLD_STRIDES, /* a layout op has the strides of its input as it was before id packed it */
    /* refusals */
    PSC_WHY_MADE_LATER, /* by step `other` */
    PSC_WHY_MADE_NEVER,
    PSC_WHY_STANDS_FOR, /* id has no step: it stands for `with` */
    PSC_WHY_GIVEN_BACK, /* after step `other`, or taken by it */
    PSC_WHY_TAKEN,
    PSC_WHY_OPERANDS_SHARE, /* the other operand, `with`, lies in the same bytes */
    PSC_WHY_VIEW_HOLDS, /* `with` shows the same bytes and is given back only after step `other` (PSC_NONE: never); its last
                           reader is step a (-1: it has none) */
    PSC_WHY_CACHE_HOLDS, /* the cache `with` keeps them */
    PSC_WHY_TURNED      /* matmul took its right operand of one column for a row */
};
struct psc_candela_wrong {
    enum psc_wrong what;
    enum psc_wrong_why why;
    enum psc_mishap mishap;
    bool by_level;               /* it goes wrong level by level, not as listed */
    uint32_t step, other;        /* positions; PSC_NONE */
    uint32_t id, with, operand;  /* ids; PSC_NONE */
    uint64_t element;
    float expected, found;
    int64_t a, b;
};
#define PSC_SAMPLE_N 8u
#define PSC_SAMPLES_MAX 4096u
struct psc_candela_sample {      /* the first elements of a step's result, in row-major order */
    float got[PSC_SAMPLE_N], right[PSC_SAMPLE_N];
    uint32_t n;                  /* of these; 0 also when the step was not carried out */
    bool ran;
};
struct psc_candela_verdict {
    const struct psc_candela_wrong *wrongs; /* what was computed first, then structure; else what was wasted */
    uint32_t n;
    const struct psc_candela_sample *samples; /* [plan->n]; NULL when not executed or more than PSC_SAMPLES_MAX steps */
    bool executed;
    bool by_level;               /* level by level, too, and nothing went wrong there */
    uint64_t elements;           /* element steps that carrying it out takes */
};
/* The expression as it was planned: a cache that was filled since makes another plan. Nothing of l changes. levels: steps of one
 * level may run beside each other. */
enum psc_status psc_candela_verify(struct psc_arena *arena, const struct psc_lazy *l, uint32_t root,
                                   const struct psc_candela_plan *plan, bool levels, struct psc_candela_verdict *ret,
                                   struct psc_error *reterr) PSC_MUST_CHECK;
/* What wrong bytes or a refusal are, against what only costs memory. */
static inline bool psc_wrong_is_waste(enum psc_wrong what)
{
    return what == PSC_WRONG_NOT_OVER || what == PSC_WRONG_LATE || what == PSC_WRONG_REPORT;
}

/* The parts without execution (audit.c); for verify.c and tests. Appends at most max to list, from *n on. What is only
 * wasted is looked for when nothing is wrong. */
enum psc_status psc_candela_audit(const struct psc_candela_plan *plan, struct psc_candela_wrong *list, uint32_t max,
                                  uint32_t *n, struct psc_error *reterr) PSC_MUST_CHECK;

#endif
