/* core/debug/records.h: is a recorded value the node's own?
 *
 * minfer on Metal copies every node's buffer at the end of its split: by then most buffers hold another
 * node's tensor. For each record of a step this module says *own* (the bytes are what this node produced),
 * *overwritten* (another node's; `holds` names it where known) or *unknown* (neither shown).
 *
 *     position   2     3     4     5     6      one split, read at its end
 *     b2         h           a           o      record of h: overwritten, holds o; of a: the same; of o: own
 *     b3               n           b            record of n: overwritten, holds b; of b: own
 *
 * Evidence, in order:
 *   - capture: the file's own capture mode, else the backend (per node on cpu and cuda, end of split on
 *     metal; elsewhere nothing is known). Captured per node is own; so are inputs, which the host fills;
 *   - replay to the end of the split: of the file's events or plan (not of events that are predicted, nor of
 *     the plan that they are of), of its slot policy, else of every slot policy (lowest, fifo, lifo) with
 *     size classes and with exact sizes, in upstream mode. A replay that
 *     contradicts the values is dropped: equal records that it says are different tensors, different
 *     records that it says are the same bytes, samples that do not fit the op that connects the tensors
 *     it says they are;
 *   - a verdict needs the agreement of every replay that is left (when none is left, of all of them), or
 *     the values:
 *       equal records: only the one that ran last can be genuine;
 *       a record that differs from every later tensor that could have taken its buffer is its node's own;
 *       where the result of an add, mul, swiglu or silu is own, operands that fit it are own, too.
 *     Equal values prove nothing where they must be equal (views, a rope at position 0, constants).
 *
 * `holds` is given only where one replay, or an equal record that is own, says so; it never contradicts
 * the values.
 *
 * Cost: psc_records_prepare plans and replays the graph at most eight times, once for all steps of a
 * phase (2 ms for 440 nodes); a check is O(records + edges), 0.2 ms for the 368 records of its step.
 */
#ifndef PSC_CORE_DEBUG_RECORDS_H
#define PSC_CORE_DEBUG_RECORDS_H

#include "core/doc/doc.h"

enum psc_verdict { PSC_RECORD_OWN, PSC_RECORD_OVERWRITTEN, PSC_RECORD_UNKNOWN };
const char *psc_verdict_name(enum psc_verdict v); /* "own", "overwritten", "unknown" */

enum psc_evidence {
    PSC_BY_CAPTURE = 1,     /* captured right after the node */
    PSC_BY_INPUT = 2,       /* host-filled, pinned */
    PSC_BY_REPLAY = 4,      /* replay of the recorded events, plan or slot policy */
    PSC_BY_POLICIES = 8,    /* every slot policy that the values allow agrees */
    PSC_BY_GROUP = 16,      /* equal statistics and samples with another record */
    PSC_BY_ARITHMETIC = 32, /* operands and result of one op fit together */
    PSC_BY_MISFIT = 64,     /* arithmetic that must hold does not */
    PSC_BY_ALONE = 128,     /* no later tensor that could have taken the buffer has these values */
};
struct psc_record_verdict {
    psc_node node;
    enum psc_verdict verdict;
    psc_node holds;    /* overwritten: whose tensor it is, PSC_NONE when not known */
    uint32_t evidence; /* bits of enum psc_evidence */
    uint32_t group;    /* records of one split with equal values share it; PSC_NONE when alone */
    bool certain;      /* proved (replay of a recorded policy, capture) or confirmed by values */
};
/* "proved" (capture, or what the file says of its memory), "confirmed" (by values), else "possible". */
const char *psc_verdict_confidence(const struct psc_record_verdict *v);
struct psc_record_check {
    struct psc_record_verdict *list; /* in the order of step->records; records without a node are skipped */
    uint32_t n, own, overwritten, unknown, group_n;
    const char *policy; /* which slot policy the file names, or alone fits the values: "lowest" ...; else NULL */
};

/* What is known of a phase whatever its steps hold. Lives in the arena; the phase is borrowed. */
struct psc_records;
enum psc_status psc_records_prepare(struct psc_arena *arena, const struct psc_phase *phase,
                                    struct psc_records **ret, struct psc_error *reterr) PSC_MUST_CHECK;
/* Verdicts on one step of that phase. `records` is only read: one may serve several threads. */
enum psc_status psc_records_check_with(struct psc_arena *arena, const struct psc_records *records,
                                       const struct psc_step *step, struct psc_record_check *ret,
                                       struct psc_error *reterr) PSC_MUST_CHECK;
/* Both at once, for a single step. */
enum psc_status psc_records_check(struct psc_arena *arena, const struct psc_phase *phase,
                                  const struct psc_step *step, struct psc_record_check *ret,
                                  struct psc_error *reterr) PSC_MUST_CHECK;

#endif
