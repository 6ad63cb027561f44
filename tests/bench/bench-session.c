/* What a session costs beside its kernels: the 437-node decode graph with kernels that do nothing.
 * `meson test --benchmark session -v`. */
#include "core/run/session.h"
#include "tests/qwen.h"
#include "tests/runs.h"

#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RUNS = 9 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void told(const char *what, double *seconds, uint32_t n)
{
    qsort(seconds, RUNS, sizeof *seconds, by_value);
    printf("  %-52s %9.1f us %7.1f ns a node\n", what, seconds[RUNS / 2] * 1e6, seconds[RUNS / 2] * 1e9 / n);
}

static enum psc_status idle_launch(struct psc_backend *b, const struct psc_call *call, struct psc_error *reterr)
{
    (void)b;
    (void)call;
    (void)reterr;
    return PSC_OK;
}

static const struct psc_weight *any_weight(void *ctx, const char *name)
{
    static const float one[1];
    static const struct psc_weight weight = {.name = "any", .type = PSC_W_F32, .in = 1, .out = 1, .data = one, .bytes = 4};
    (void)ctx;
    (void)name;
    return &weight;
}

static void count_event(void *ctx, const struct psc_event *event, const struct psc_located *at)
{
    (void)event;
    (void)at;
    ++*(uint64_t *)ctx;
}

static void fill_inputs(struct psc_session *s)
{
    const struct psc_graph *g = psc_session_graph(s);
    uint32_t words[64] = {0};
    for (uint32_t k = 0; k < g->input_n; k++)
        if (psc_session_fill_node(s, g->inputs[k], words, g->nodes[g->inputs[k]].elements, NULL))
            abort();
}

static void time_execute(struct psc_session *s, const char *what, const struct psc_sink *sink)
{
    enum { TIMES = 200 };
    double seconds[RUNS];
    for (int run = 0; run < RUNS; run++) {
        double start = now();
        for (int k = 0; k < TIMES; k++)
            run_execute(s, sink);
        seconds[run] = (now() - start) / TIMES;
    }
    told(what, seconds, psc_session_graph(s)->n);
}

static void time_fill(struct psc_session *s)
{
    enum { TIMES = 1000 };
    double seconds[RUNS];
    for (int run = 0; run < RUNS; run++) {
        double start = now();
        for (int k = 0; k < TIMES; k++)
            fill_inputs(s);
        seconds[run] = (now() - start) / TIMES;
    }
    told("fill token_ids and positions", seconds, psc_session_graph(s)->n);
}

static void time_mapping(struct psc_session *s, const struct psc_graph *a, const struct psc_graph *b)
{
    enum { TIMES = 50 };
    double seconds[RUNS];
    for (int run = 0; run < RUNS; run++) {
        double start = now();
        for (int k = 0; k < TIMES; k++) {
            run_use(s, a, 1);
            run_use(s, b, 2);
        }
        seconds[run] = (now() - start) / TIMES;
    }
    told("map two graphs again, in turn (both)", seconds, a->n + b->n);
}

int main(void)
{
    struct psc_arena arena = {0};
    struct qwen_options small = qwen_unfused;
    struct psc_backend_api idle = double_cpu;
    const struct psc_backend_api *const apis[] = {&idle};
    struct psc_session_options options = run_options();
    uint64_t events = 0;
    struct psc_sink sink = {.ctx = &events, .event = count_event};
    idle.launch = idle_launch;
    options.weight = any_weight;
    small.context = 64;
    double_reset();
    struct psc_graph *decode = qwen_graph(&arena, &small), *other = qwen_graph(&arena, &small);
    struct psc_session *s = run_session_on(&options, apis, 1);
    printf("%u nodes, median of %d\n", decode->n, RUNS);
    run_use(s, decode, 1);
    fill_inputs(s);
    time_execute(s, "execute", NULL);
    time_execute(s, "execute, events told", &sink);
    time_fill(s);
    time_mapping(s, decode, other);
    psc_session_free(s);
    psc_arena_release(&arena);
    return 0;
}
