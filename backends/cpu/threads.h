/* backends/cpu/threads.h: workers that stay, and a loop that they share.
 *
 *     psc_cpu_pool_for(pool, 20, 2, task, ctx)      2 workers
 *
 *     items     0 1 | 2 3 | 4 5 | 6 7 | 8 9 | ...     spans begin at multiples of `grain`
 *     taken by  0     1     0     0     1             whoever is free takes the next one; the caller is worker 0
 *
 * The spans depend on n, grain and the number of workers only: at most four a worker. Who computes one depends on the day,
 * so that a worker which the system has put aside holds nobody up; a task computes each item by itself, so its results
 * are the same all the same, at any number of workers. Sums over items belong inside one item.
 *
 * One loop runs at a time: several threads may call at once, they take turns (the gate). A task must not start
 * another loop on its own pool. Between loops a worker spins for a moment (about 50 us), then sleeps: an idle pool costs
 * nothing.
 */
#ifndef PSC_BACKENDS_CPU_THREADS_H
#define PSC_BACKENDS_CPU_THREADS_H

#include "core/base/status.h"

#include <stdint.h>

#define PSC_CPU_THREADS_MAX 256u

struct psc_cpu_pool; /* opaque */
/* Items [lo, hi) are this worker's; worker < psc_cpu_pool_size, no two at a time have the same number. Is
 * called several times for one worker. lo < hi. */
typedef void (*psc_cpu_task)(void *ctx, uint64_t lo, uint64_t hi, unsigned worker);

/* threads: workers with the caller; 0: as many as the machine has cores that this process may use. */
enum psc_status psc_cpu_pool_new(unsigned threads, struct psc_cpu_pool **ret, struct psc_error *reterr) PSC_MUST_CHECK;
void psc_cpu_pool_free(struct psc_cpu_pool *pool); /* waits for its threads; NULL is fine */
unsigned psc_cpu_pool_size(const struct psc_cpu_pool *pool);

/* Returns when every item is done. grain > 0: the fewest items worth a worker of their own; n <= grain runs in the
 * caller, at once and past the gate. */
void psc_cpu_pool_for(struct psc_cpu_pool *pool, uint64_t n, uint64_t grain, psc_cpu_task task, void *ctx);

#endif
