/* core/plan/kv-runs-private.h: what the sources of core/plan/kv-runs.h share. */
#ifndef PSC_CORE_PLAN_KV_RUNS_PRIVATE_H
#define PSC_CORE_PLAN_KV_RUNS_PRIVATE_H

#include "core/plan/kv-runs.h"

static inline uint64_t psc_kv_bit(uint32_t place)
{
    return UINT64_C(1) << place;
}

/* The sequence's place, or PSC_KV_SEQS_MAX. */
uint32_t psc_kv_runs_place(const struct psc_kv_runs *runs, uint64_t seq);
/* The same, or PSC_ERR_USAGE with a sentence. */
enum psc_status psc_kv_runs_need(const struct psc_kv_runs *runs, uint64_t seq, uint32_t *ret, struct psc_error *reterr);

/* Makes room for n more moves, so that adding them cannot fail. */
enum psc_status psc_kv_work_reserve(struct psc_kv_work *work, size_t n, struct psc_error *reterr);
/* psc_kv_work_add after psc_kv_work_reserve. */
void psc_kv_work_push(struct psc_kv_work *work, uint32_t from, uint32_t to, uint32_t rows);

#endif
