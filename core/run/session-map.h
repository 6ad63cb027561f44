/* core/run/session-map.h: a graph is built, planned, and mapped onto the pools; for core/run only. */
#ifndef PSC_CORE_RUN_SESSION_MAP_H
#define PSC_CORE_RUN_SESSION_MAP_H

#include "core/run/session-state.h"

/* Builds the graph of the key: its backends are opened, its weights looked up and loaded. Not mapped yet. */
enum psc_status psc_session_build(struct psc_session *s, const struct psc_graph_key *key, psc_graph_build_fn build, void *ctx,
                                  struct psc_mapped **ret, struct psc_error *reterr) PSC_MUST_CHECK;
/* Plans the graph against the pools as they are and binds it. On failure pools, regions, staging and the graph's last
 * mapping are as before. */
enum psc_status psc_session_map(struct psc_session *s, struct psc_mapped *mapped, struct psc_error *reterr) PSC_MUST_CHECK;

#endif
