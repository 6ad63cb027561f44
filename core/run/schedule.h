/* core/run/schedule.h: one execution of the current graph.
 *
 *     for each split:
 *         the split before it is handed over (submit), if it ran on another backend
 *         all copies that this split needs are enqueued
 *         for each node: wait for the copies that it is the first to read, then launch
 *     wait for what nobody read; wait for every backend
 *
 * It owns nothing and decides nothing that a plan could have decided: dead nodes and inputs have no job, a node whose
 * buffer is not on its split's backend is an error. Copies and waits are equal in number when it returns, also after a
 * failure. Cost beyond the kernels: well under 100 us for 437 nodes.
 */
#ifndef PSC_CORE_RUN_SCHEDULE_H
#define PSC_CORE_RUN_SCHEDULE_H

#include "core/run/session-state.h"

/* Waits for one backend; a failure is remembered for settle. */
enum psc_status psc_schedule_wait(struct psc_session *s, const struct psc_pool *pool, struct psc_error *reterr) PSC_MUST_CHECK;
/* Waits for every backend that is open, whatever fails; the first failure is reported, and remembered for settle. */
enum psc_status psc_schedule_synchronise(struct psc_session *s, struct psc_error *reterr) PSC_MUST_CHECK;
/* Waits for every backend when a run before could not: what it was given may be needed until then. */
enum psc_status psc_schedule_settle(struct psc_session *s, struct psc_error *reterr) PSC_MUST_CHECK;
/* Every input of the current graph that anybody reads has been filled since it was mapped. */
enum psc_status psc_schedule_check_inputs(struct psc_session *s, struct psc_error *reterr) PSC_MUST_CHECK;
enum psc_status psc_schedule_run(struct psc_session *s, const struct psc_sink *sink, struct psc_error *reterr) PSC_MUST_CHECK;

#endif
