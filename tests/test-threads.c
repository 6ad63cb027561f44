#include "backends/cpu/threads.h"

#include "tests/util.h"

#include <string.h>
#include <time.h>

struct job {
    unsigned count[4096], span_of[4096], workers; /* span_of: its first item */
    uint64_t grain, n;
    gint bad;
};

static void count(void *ctx, uint64_t lo, uint64_t hi, unsigned worker)
{
    struct job *job = ctx;
    if (lo >= hi || hi > job->n || lo % job->grain || worker >= job->workers)
        g_atomic_int_inc(&job->bad);
    for (uint64_t i = lo; i < hi; i++) {
        job->count[i]++;
        job->span_of[i] = (unsigned)lo;
    }
}

static struct psc_cpu_pool *pool_of(unsigned threads)
{
    struct psc_cpu_pool *pool = NULL;
    struct psc_error error = {0};
    if (psc_cpu_pool_new(threads, &pool, &error))
        g_error("%s", error.text);
    return pool;
}

/* Every item once, spans at multiples of the grain, the same spans each time. */
static void test_partition(void)
{
    static struct job job, again;
    static const uint64_t sizes[] = {0, 1, 2, 3, 7, 64, 100, 1000, 4096}, grains[] = {1, 2, 7, 64, 5000};
    unsigned loops = 0;
    for (unsigned threads = 1; threads < 9; threads++) {
        struct psc_cpu_pool *pool = pool_of(threads);
        g_assert_cmpuint(psc_cpu_pool_size(pool), ==, threads);
        for (unsigned s = 0; s < G_N_ELEMENTS(sizes); s++)
            for (unsigned g = 0; g < G_N_ELEMENTS(grains); g++, loops++) {
                memset(&job, 0, sizeof job);
                job.n = sizes[s], job.grain = grains[g], job.workers = threads;
                again = job;
                psc_cpu_pool_for(pool, job.n, job.grain, count, &job);
                psc_cpu_pool_for(pool, job.n, job.grain, count, &again);
                g_assert_cmpint(job.bad, ==, 0);
                for (uint64_t i = 0; i < job.n; i++)
                    g_assert_cmpuint(job.count[i], ==, 1);
                g_assert_cmpmem(job.span_of, sizeof job.span_of, again.span_of, sizeof again.span_of);
            }
        psc_cpu_pool_free(pool);
    }
    g_assert_cmpuint(loops, ==, 8 * G_N_ELEMENTS(sizes) * G_N_ELEMENTS(grains));
}

/* Spans differ by at most one grain. */
static void test_spans(void)
{
    static struct job job;
    struct psc_cpu_pool *pool = pool_of(5);
    unsigned size[4096] = {0}, spans = 0;
    job.n = 4096, job.grain = 10, job.workers = 5;
    psc_cpu_pool_for(pool, job.n, job.grain, count, &job);
    for (uint64_t i = 0; i < job.n; i++)
        size[job.span_of[i]]++;
    for (uint64_t i = 0; i < job.n; i++)
        if (size[i]) {
            spans++;
            g_assert_true(size[i] >= 196 && size[i] <= 210); /* 410 grains in 20 spans; the last grain is short */
        }
    g_assert_cmpuint(spans, ==, 20);
    psc_cpu_pool_free(pool);
}

/* Long work is shared, and a worker that is held up holds nobody up: the others take its spans. */
struct held {
    gint first, spans[4];
};

static void hold_first(void *ctx, uint64_t lo, uint64_t hi, unsigned worker)
{
    struct held *h = ctx;
    (void)lo, (void)hi;
    g_usleep(g_atomic_int_add(&h->first, 1) == 0 ? 100000 : 2000);
    g_atomic_int_inc(&h->spans[worker]);
}

static void test_sharing(void)
{
    struct psc_cpu_pool *pool = pool_of(4);
    struct held h = {0};
    psc_cpu_pool_for(pool, 1600, 1, hold_first, &h);
    gint most = 0, sum = 0, workers = 0;
    for (int w = 0; w < 4; w++) {
        most = MAX(most, h.spans[w]);
        sum += h.spans[w];
        workers += h.spans[w] > 0;
    }
    g_assert_cmpint(sum, ==, 16);
    g_assert_cmpint(workers, >, 1);
    g_assert_cmpint(most, >, 4);
    psc_cpu_pool_free(pool);
}

/* Eight threads, one pool: each fills [0, 64) of its own, many times. */
struct submitter {
    struct psc_cpu_pool *pool;
    int number, bad;
};
struct filling {
    int *cells, with;
};

static void fill_span(void *ctx, uint64_t lo, uint64_t hi, unsigned worker)
{
    struct filling *f = ctx;
    (void)worker;
    for (uint64_t i = lo; i < hi; i++)
        f->cells[i] = f->with + (int)i;
}

static gpointer submit_many(gpointer data)
{
    struct submitter *s = data;
    for (int round = 0; round < 300; round++) {
        int cells[64] = {0};
        struct filling f = {.cells = cells, .with = s->number * 100000 + round * 100};
        psc_cpu_pool_for(s->pool, 64, 1, fill_span, &f);
        for (int i = 0; i < 64; i++)
            s->bad += cells[i] != f.with + i;
    }
    return NULL;
}

static void test_submitters(void)
{
    for (unsigned threads = 1; threads < 8; threads += 2) {
        struct psc_cpu_pool *pool = pool_of(threads);
        struct submitter submitters[8];
        GThread *started[8];
        for (int i = 0; i < 8; i++) {
            submitters[i] = (struct submitter){.pool = pool, .number = i};
            started[i] = g_thread_new("submitter", submit_many, &submitters[i]);
        }
        for (int i = 0; i < 8; i++) {
            g_thread_join(started[i]);
            g_assert_cmpint(submitters[i].bad, ==, 0);
        }
        psc_cpu_pool_free(pool);
    }
}

/* Sleeping workers wake, busy ones go on: loops with pauses of every length between them. */
static void test_pauses(void)
{
    static struct job job;
    struct psc_cpu_pool *pool = pool_of(4);
    for (unsigned i = 0; i < 60; i++) {
        memset(&job, 0, sizeof job);
        job.n = 64, job.grain = 1, job.workers = 4;
        psc_cpu_pool_for(pool, 64, 1, count, &job);
        for (int k = 0; k < 64; k++)
            g_assert_cmpuint(job.count[k], ==, 1);
        g_usleep(i % 20 * 10);
    }
    psc_cpu_pool_free(pool);
}

/* An idle pool costs nothing: the processor time of 50 ms of idling is that of the spinning before the sleep. */
static void test_idle(void)
{
    static struct job job;
    struct psc_cpu_pool *pool = pool_of(4);
    struct timespec before, after;
    job.n = 64, job.grain = 1, job.workers = 4;
    psc_cpu_pool_for(pool, 64, 1, count, &job);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
    g_usleep(50000);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
    double ms = (double)(after.tv_sec - before.tv_sec) * 1e3 + (double)(after.tv_nsec - before.tv_nsec) / 1e6;
    g_test_message("%.2f ms of processor time in 50 ms", ms);
    g_assert_cmpfloat(ms, <, 10);
    psc_cpu_pool_free(pool);
}

static void test_start_and_stop(void)
{
    psc_cpu_pool_free(NULL);
    struct psc_cpu_pool *pool = pool_of(0);
    g_assert_cmpuint(psc_cpu_pool_size(pool), >, 0);
    psc_cpu_pool_free(pool);
    pool = pool_of(100000);
    g_assert_cmpuint(psc_cpu_pool_size(pool), ==, PSC_CPU_THREADS_MAX);
    psc_cpu_pool_free(pool);
    for (int i = 0; i < 100; i++)
        psc_cpu_pool_free(pool_of(3));
}

static enum psc_status open_and_close(void *data)
{
    struct psc_cpu_pool *pool = NULL;
    (void)data;
    enum psc_status status = psc_cpu_pool_new(2, &pool, NULL);
    psc_cpu_pool_free(pool);
    return status;
}

static void test_out_of_memory(void)
{
    g_assert_cmpuint(test_oom_loop(open_and_close, NULL), >, 1);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/threads/every-item-once-in-the-same-spans", test_partition);
    g_test_add_func("/threads/spans-are-even", test_spans);
    g_test_add_func("/threads/who-is-held-up-holds-nobody-up", test_sharing);
    g_test_add_func("/threads/eight-submitters-take-turns", test_submitters);
    g_test_add_func("/threads/workers-sleep-and-wake", test_pauses);
    g_test_add_func("/threads/an-idle-pool-costs-nothing", test_idle);
    g_test_add_func("/threads/start-and-stop", test_start_and_stop);
    g_test_add_func("/threads/every-allocation-may-fail", test_out_of_memory);
    return g_test_run();
}
