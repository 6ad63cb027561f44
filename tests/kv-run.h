/* tests/kv-run.h: a made-up run over the published graphs: a prefill, then decode steps, and the KV rows they touch. */
#ifndef PSC_TESTS_KV_RUN_H
#define PSC_TESTS_KV_RUN_H

#include "core/debug/kv-step.h"

struct kv_run {
    struct psc_arena arena; /* owns all below */
    struct psc_graph *prefill, *decode;
    struct psc_kv_regions regions;
    struct psc_kv_history *history;
    uint32_t rows;          /* of the prefill */
};
/* steps: decode steps, each of which writes the next row and reads all up to it. */
struct kv_run *kv_run_new(uint32_t rows, uint32_t steps);
/* Accesses of a step (0: the prefill) in order of execution; in the arena. A gap: each attention reads so many rows
 * beyond the last one. */
const struct psc_kv_rows *kv_run_rows(struct kv_run *run, uint32_t ordinal, uint32_t gap, uint32_t *ret_n);
struct psc_kv_step *kv_run_step(struct kv_run *run, uint32_t ordinal, uint32_t gap);
/* story: says what of it was only enqueued. */
struct psc_kv_step *kv_run_step_of(struct kv_run *run, uint32_t ordinal, uint32_t gap, const struct psc_story *story);
void kv_run_free(struct kv_run *run);

#endif
