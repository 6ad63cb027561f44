/* core/run/replay.h: when a split is launched node by node, recorded, or replayed.
 *
 *     run      1       2       3                   4        5
 *              direct  direct  record, then launch replay   replay
 *                                                  ^ other buffers or KV layout since: dropped, direct again
 *
 * A recording belongs to (graph uid, split), the pool's generation and the program's addresses. While somebody probes values
 * all is direct. An error inside a window aborts it, and nothing is captured any more in that session.
 */
#ifndef PSC_CORE_RUN_REPLAY_H
#define PSC_CORE_RUN_REPLAY_H

#include "core/run/session-state.h"

enum psc_replay { PSC_REPLAY_DIRECT, PSC_REPLAY_RECORD, PSC_REPLAY_PLAY };
/* What to do with the split this time. stale recordings are dropped. */
enum psc_replay psc_replay_choose(struct psc_session *s, struct psc_mapped *mapped, uint32_t stretch,
                                  const struct psc_sink *sink);
/* A direct run of the split has ended well. */
void psc_replay_warmed(struct psc_mapped *mapped, uint32_t stretch);
/* Ends the window and launches what was recorded, once. */
enum psc_status psc_replay_close(struct psc_session *s, struct psc_mapped *mapped, uint32_t stretch,
                                 struct psc_error *reterr) PSC_MUST_CHECK;
/* Gives all recordings of a graph back. */
void psc_replay_drop(struct psc_session *s, struct psc_mapped *mapped);

#endif
