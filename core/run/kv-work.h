/* core/run/kv-work.h: does to the rows of a session what a change of the cell table asks for.
 *
 *     psc_kv_runs_remove(&runs, seq, 2, 3, format, &work, &error)       the table has changed
 *     psc_session_do_kv_work(session, &work, &rope, &error)             now the bytes have, too
 *     psc_kv_runs_rotated(&runs)
 *
 * In K and V of every layer, in the order of core/plan/kv-cells.h: the moves one after another inside the backend, then
 * the rotation of K rows on the host, then zeroes. What cannot be done (a rotation of f16 rows, cells beyond n_ctx) is
 * refused before the first byte changes. Cost: the bytes moved, and what is turned twice over the bus.
 */
#ifndef PSC_CORE_RUN_KV_WORK_H
#define PSC_CORE_RUN_KV_WORK_H

#include "core/plan/kv-cells.h"
#include "core/run/session.h"

/* rope may be NULL when nothing turns. */
enum psc_status psc_session_do_kv_work(struct psc_session *s, const struct psc_kv_work *work, const struct psc_kv_rope *rope,
                                       struct psc_error *reterr) PSC_MUST_CHECK;

#endif
