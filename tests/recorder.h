/* tests/recorder.h: runs a plan over real numbers and records it as an engine would: right after each node,
 * or at the end of its split. Naive on purpose: every word of every buffer knows who wrote it.
 *
 *     struct recording rec;
 *     record_run(&arena, graph, plan, seed, PSC_CAPTURE_UNKNOWN, &rec);   metal late, all other backends at
 * once recording_own(&rec, 5)      the truth about rec.step.records[5]
 */
#ifndef PSC_TESTS_RECORDER_H
#define PSC_TESTS_RECORDER_H

#include "core/plan/plan.h"

struct recorded_words {
    uint64_t *made, *shown; /* writer << 32 | element: right after the node, and when its value was read */
    float *made_numbers, *shown_numbers;
    uint32_t n;
};
struct recording {
    struct psc_step step;
    struct psc_record *records;         /* step.records, to be spoiled by tests */
    struct recorded_words *words;       /* by record */
    const struct recorded_words *nodes; /* by node */
};
/* In the arena; aborts when out of memory. The plan is executed in build order. add, mul, swiglu and silu are
 * computed from what their operands' bytes hold, all else is noise. */
void record_run(struct psc_arena *arena, const struct psc_graph *graph, const struct psc_plan *plan,
                uint64_t seed, enum psc_capture capture, struct recording *ret);
/* Statistics, samples and hashes of a record from its n numbers. */
void record_values(struct psc_arena *arena, const float *values, uint32_t n, struct psc_record *record);

bool recording_own(const struct recording *rec, uint32_t record);
/* Another node wrote the very numbers that this one had made: both verdicts are true. */
bool recording_either(const struct recording *rec, uint32_t record);
/* Some of the words shown are this node's, and all of them unless several wrote there; or they are the
 * numbers that it made, too. */
bool recording_holds(const struct recording *rec, uint32_t record, psc_node node);

#endif
