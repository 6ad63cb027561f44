/* core/run/session-kv.h: the K and V regions of a session's layers; for core/run only.
 *
 * A layer gets two regions when a graph first mentions it, and keeps them until the session ends. A graph that asks for
 * another number or size of rows, another backend or another format is an error that names both. Regions lie in no list and are
 * never recycled.
 */
#ifndef PSC_CORE_RUN_SESSION_KV_H
#define PSC_CORE_RUN_SESSION_KV_H

#include "core/run/session-state.h"

/* Finds or makes the regions of every layer of the plan: fills ids of their buffers and layers[plan->layer_n]. A failure
 * may leave new ones behind for psc_session_truncate_kv and psc_pool_truncate. */
enum psc_status psc_session_bind_kv(struct psc_session *s, const struct psc_mapped *mapped, const struct psc_plan *plan,
                                    uint32_t *ids, struct psc_bound_layer *layers, struct psc_error *reterr) PSC_MUST_CHECK;
void psc_session_truncate_kv(struct psc_session *s, size_t n); /* forgets the newest until n are left */

#endif
