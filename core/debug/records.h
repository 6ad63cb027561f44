/* core/debug/records.h: is a recorded value the node's own?
 *
 * minfer on Metal copies every node's buffer at the end of its split: by then most buffers hold another
 * node's tensor. For each record of a step this module says *own* (the bytes are what this node produced),
 * *overwritten* (another node's; `holds` names it where known) or *unknown* (neither shown).
 *
 * Evidence, in order: the file's own capture mode, else the backend (node on cpu and cuda, end of split on
 * metal); replay of the events to the end of the split; groups of records with equal (n, statistics);
 * arithmetic between records (add, mul, swiglu, silu, in-place pairs). Where the slot policy is not
 * recorded, a verdict needs the agreement of every policy (lowest, fifo, lifo), or the values.
 */
#ifndef PSC_CORE_DEBUG_RECORDS_H
#define PSC_CORE_DEBUG_RECORDS_H

#include "core/doc/doc.h"

enum psc_verdict { PSC_RECORD_OWN, PSC_RECORD_OVERWRITTEN, PSC_RECORD_UNKNOWN };
const char *psc_verdict_name(enum psc_verdict v); /* "own", "overwritten", "unknown" */

enum psc_evidence {
    PSC_BY_CAPTURE = 1,  /* captured right after the node */
    PSC_BY_INPUT = 2,    /* host-filled, pinned */
    PSC_BY_REPLAY = 4,   /* replay of the recorded slot policy */
    PSC_BY_POLICIES = 8, /* every slot policy agrees */
    PSC_BY_GROUP = 16,   /* equal statistics with another record */
    PSC_BY_ARITHMETIC = 32, /* operands and result of one op fit together */
    PSC_BY_MISFIT = 64,  /* arithmetic that must hold does not */
};
struct psc_record_verdict {
    psc_node node;
    enum psc_verdict verdict;
    psc_node holds;      /* overwritten: whose tensor it is, PSC_NONE when not known */
    uint32_t evidence;   /* bits of enum psc_evidence */
    uint32_t group;      /* records with equal values share it; PSC_NONE when alone */
    bool certain;        /* proved (replay of a recorded policy, capture) or confirmed by values */
};
struct psc_record_check {
    struct psc_record_verdict *list; /* in the order of step->records; records without a node are skipped */
    uint32_t n, own, overwritten, unknown, group_n;
    const char *policy;  /* which slot policy fits the groups: "lowest" ..., NULL when none or not needed */
};
enum psc_status psc_records_check(struct psc_arena *arena, const struct psc_phase *phase, const struct psc_step *step,
                                  struct psc_record_check *ret, struct psc_error *reterr) PSC_MUST_CHECK;

#endif
