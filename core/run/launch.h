/* core/run/launch.h: the one place where kernels are launched, and where a listener is told what they were given.
 *
 *     job 4: o = s + u        listener: wait*, alloc, read s, read u, write o, rows*, release*
 *                             before(call)   kernel   after(call)
 *
 * Every event is made from the addresses in the call: the pools turn them back into buffer and bytes (psc_pool_locate).
 * What the plan wanted is not asked. On arenas (core/run/session-arena.h) it is they that are asked, and the job is one
 * whose call holds the addresses of this execution. The order of the events of a node is that of core/event/event.h; the events of a
 * run that went as planned equal psc_plan_lower's, but for buffer ids and generations (a test says so).
 *
 * Events are numbered from 0 in each execution, in the order in which the listener gets them: the peer of a wait is the
 * number of its enqueue event. With no listener nothing here costs anything.
 */
#ifndef PSC_CORE_RUN_LAUNCH_H
#define PSC_CORE_RUN_LAUNCH_H

#include "core/run/session-state.h"

struct psc_launch {
    struct psc_session *s;
    struct psc_program *program;
    const struct psc_transfer *transfers; /* with the addresses of this execution */
    const struct psc_sink *sink;  /* NULL: nobody listens */
    bool tells;                   /* events or rows are wanted */
    uint64_t pending;             /* pools that may have kernels in their queue (bit k: pool k; pools from 64 on are not told) */
    uint32_t event_n;
};
enum { PSC_LAUNCH_RUN = 1, PSC_LAUNCH_TELL = 2 };

/* Fill events of the inputs that were filled since the last execution. */
void psc_launch_begin(struct psc_launch *l);
/* A value's bytes have been given back when `position` was over. */
void psc_launch_released(struct psc_launch *l, int32_t position, uint32_t value, psc_address at, uint64_t bytes, uint8_t pool);
/* A staged copy has been enqueued. */
void psc_launch_enqueued(struct psc_launch *l, uint32_t transfer);
/* Launches the job and tells of it, or one of the two: launches that are part of a replay are only told. Waits are the
 * scheduler's. */
enum psc_status psc_launch_job(struct psc_launch *l, const struct psc_job *job, unsigned how,
                               struct psc_error *reterr) PSC_MUST_CHECK;
/* Position `at` is about to begin: tells of the queues that have become empty since kernels went into them. */
void psc_launch_look(struct psc_launch *l, uint32_t at);
/* The copy has been waited for before `at`: what stood before it in its source's queue has taken effect, too. */
void psc_launch_awaited(struct psc_launch *l, uint32_t transfer, uint32_t at);
/* Export events of the graph's outputs. */
void psc_launch_end(struct psc_launch *l);

#endif
