#define _GNU_SOURCE /* sched_getaffinity: the cores that this process may use */
#include "backends/cpu/threads.h"

#include "core/base/mem.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

#define SPIN_NS 50000 /* a worker waits that long for the next loop before it sleeps */
#define PAUSES 64     /* between two looks at the clock */
#define SPANS 4u      /* of a loop, a worker */

struct worker {
    struct psc_cpu_pool *pool;
    unsigned index;
    pthread_t thread;
};
/* `word` counts loops and announces them. `ticket` gives out the spans of the current one: number of the loop (32 bits),
 * number of its spans (16), the next to be taken (16). Whoever takes one by compare and exchange knows that the loop has
 * not ended, so the fields below stay as they are until it has done its span. */
struct psc_cpu_pool {
    pthread_mutex_t gate; /* one loop at a time */
    pthread_mutex_t lock; /* with `wake`: for sleepers */
    pthread_cond_t wake;
    _Atomic uint64_t word, ticket;
    _Atomic unsigned done, sleepers; /* spans of the current loop that are done; workers that sleep */
    _Atomic bool quit;
    psc_cpu_task task;
    void *ctx;
    uint64_t n, grain;
    unsigned spans;
    unsigned size, started; /* workers with the caller; threads that run */
    struct worker *workers; /* owned, [size]; 0 is the caller */
};

static void pause_a_moment(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void run_span(struct psc_cpu_pool *pool, unsigned span, unsigned worker)
{
    uint64_t grains = pool->n / pool->grain + (pool->n % pool->grain != 0);
    uint64_t share = grains / pool->spans, rest = grains % pool->spans;
    uint64_t first = share * span + (span < rest ? span : rest), count = share + (span < rest);
    uint64_t lo = first * pool->grain, hi = lo + count * pool->grain;
    pool->task(pool->ctx, lo, hi < pool->n ? hi : pool->n, worker);
    atomic_fetch_add_explicit(&pool->done, 1, memory_order_release);
}

/* Takes spans of that loop until none is left. */
static void take_spans(struct psc_cpu_pool *pool, uint64_t loop, unsigned worker)
{
    uint64_t ticket = atomic_load_explicit(&pool->ticket, memory_order_acquire);
    while (ticket >> 32 == (loop & UINT32_MAX) && (ticket & 0xffff) < (ticket >> 16 & 0xffff)) {
        if (!atomic_compare_exchange_weak_explicit(&pool->ticket, &ticket, ticket + 1, memory_order_acq_rel,
                                                   memory_order_acquire))
            continue;
        run_span(pool, (unsigned)(ticket & 0xffff), worker);
        ticket = atomic_load_explicit(&pool->ticket, memory_order_acquire);
    }
}

/* Until `word` differs from `seen` or the pool ends. */
static uint64_t next_word(struct psc_cpu_pool *pool, uint64_t seen)
{
    for (uint64_t start = now_ns();;) {
        for (int k = 0; k < PAUSES; k++) {
            uint64_t word = atomic_load_explicit(&pool->word, memory_order_acquire);
            if (word != seen)
                return word;
            pause_a_moment();
        }
        if (now_ns() - start > SPIN_NS)
            break;
    }
    pthread_mutex_lock(&pool->lock);
    atomic_fetch_add(&pool->sleepers, 1);
    uint64_t word;
    while ((word = atomic_load(&pool->word)) == seen)
        pthread_cond_wait(&pool->wake, &pool->lock);
    atomic_fetch_sub(&pool->sleepers, 1);
    pthread_mutex_unlock(&pool->lock);
    return word;
}

static void *work(void *data)
{
    struct worker *self = data;
    for (uint64_t word = 0;;) {
        word = next_word(self->pool, word);
        if (atomic_load(&self->pool->quit))
            return NULL;
        take_spans(self->pool, word, self->index);
    }
}

static void announce(struct psc_cpu_pool *pool, uint64_t loop)
{
    atomic_store(&pool->word, loop);
    if (atomic_load(&pool->sleepers)) {
        pthread_mutex_lock(&pool->lock);
        pthread_cond_broadcast(&pool->wake);
        pthread_mutex_unlock(&pool->lock);
    }
}

void psc_cpu_pool_for(struct psc_cpu_pool *pool, uint64_t n, uint64_t grain, psc_cpu_task task, void *ctx)
{
    if (!n)
        return;
    if (n <= grain || pool->size == 1) {
        task(ctx, 0, n, 0);
        return;
    }
    pthread_mutex_lock(&pool->gate);
    uint64_t grains = n / grain + (n % grain != 0), loop = atomic_load_explicit(&pool->word, memory_order_relaxed) + 1;
    pool->task = task, pool->ctx = ctx, pool->n = n, pool->grain = grain;
    pool->spans = grains < SPANS * pool->size ? (unsigned)grains : SPANS * pool->size;
    atomic_store_explicit(&pool->done, 0, memory_order_relaxed);
    atomic_store_explicit(&pool->ticket, loop << 32 | (uint64_t)pool->spans << 16, memory_order_release);
    announce(pool, loop);
    take_spans(pool, loop, 0);
    for (unsigned k = 0; atomic_load_explicit(&pool->done, memory_order_acquire) < pool->spans; k++) {
        if (k < 2000)
            pause_a_moment();
        else
            sched_yield(); /* the last worker may be waiting for this core */
    }
    pthread_mutex_unlock(&pool->gate);
}

static unsigned usable_cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return (unsigned)CPU_COUNT(&set);
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (unsigned)n : 1;
}

enum psc_status psc_cpu_pool_new(unsigned threads, struct psc_cpu_pool **ret, struct psc_error *reterr)
{
    if (!threads)
        threads = usable_cores();
    if (threads > PSC_CPU_THREADS_MAX)
        threads = PSC_CPU_THREADS_MAX;
    struct psc_cpu_pool *pool = psc_alloc0(1, sizeof *pool);
    if (!pool)
        return psc_fail_nomem(reterr);
    pool->workers = psc_alloc0(threads, sizeof *pool->workers);
    if (!pool->workers) {
        psc_free(pool);
        return psc_fail_nomem(reterr);
    }
    pthread_mutex_init(&pool->gate, NULL);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->wake, NULL);
    pool->size = threads;
    for (unsigned i = 1; i < threads; i++) {
        pool->workers[i] = (struct worker){.pool = pool, .index = i};
        if (pthread_create(&pool->workers[i].thread, NULL, work, &pool->workers[i])) {
            psc_cpu_pool_free(pool);
            return psc_fail(reterr, PSC_ERR_UNAVAILABLE,
                            "the system gives no more threads: %u of %u workers could start", i, threads);
        }
        pool->started++;
    }
    *ret = pool;
    return PSC_OK;
}

void psc_cpu_pool_free(struct psc_cpu_pool *pool)
{
    if (!pool)
        return;
    atomic_store(&pool->quit, true);
    announce(pool, atomic_load(&pool->word) + 1);
    for (unsigned i = 1; i <= pool->started; i++)
        pthread_join(pool->workers[i].thread, NULL);
    pthread_cond_destroy(&pool->wake);
    pthread_mutex_destroy(&pool->lock);
    pthread_mutex_destroy(&pool->gate);
    psc_free(pool->workers);
    psc_free(pool);
}

unsigned psc_cpu_pool_size(const struct psc_cpu_pool *pool)
{
    return pool->size;
}
