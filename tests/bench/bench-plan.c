/* Times the planner, its parts and lowering on Qwen2-shaped graphs: `meson test --benchmark plan -v`. */
#include "core/plan/figures.h"
#include "core/plan/liveness.h"
#include "core/plan/plan.h"
#include "tests/qwen.h"

#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { RUNS = 5 };

/* Processor time, so that other programs on the machine do not count. */
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void told(const char *what, double seconds, uint32_t n)
{
    printf("  %-44s %9.2f ms %7.1f ns a node\n", what, seconds * 1e3, seconds * 1e9 / n);
}

/* The best of RUNS, each in a fresh arena; small graphs are planned many times in a run. */
static void time_plan(const struct psc_graph *graph, const char *what, const char *planner,
                      struct psc_plan_options options)
{
    unsigned times = graph->n < 10000 ? 1000 : 1;
    double best = 1e9;
    for (int run = 0; run < RUNS; run++) {
        double start = now();
        for (unsigned k = 0; k < times; k++) {
            struct psc_arena arena = {0};
            struct psc_plan *plan;
            if (psc_planner_find(planner)->plan(&arena, graph, &options, &plan, NULL))
                abort();
            psc_arena_release(&arena);
        }
        best = MIN(best, (now() - start) / times);
    }
    told(what, best, graph->n);
}

static void time_lives(const struct psc_graph *graph)
{
    double best = 1e9;
    for (int run = 0; run < RUNS; run++) {
        struct psc_arena arena = {0};
        struct psc_lives lives;
        double start = now();
        if (psc_lives_build(&arena, graph, NULL, PSC_PIN_BOTH, &lives, NULL))
            abort();
        best = MIN(best, now() - start);
        psc_arena_release(&arena);
    }
    told("  of it: liveness", best, graph->n);
}

static void time_rest(const struct psc_graph *graph)
{
    struct psc_arena arena = {0};
    struct psc_plan *plan;
    struct psc_story *story;
    if (psc_planner_find("pool")->plan(&arena, graph, &psc_plan_defaults, &plan, NULL))
        abort();
    struct psc_digest digest;
    double start = now();
    if (psc_digest_build(&arena, &arena, graph, &digest))
        abort();
    told("  of it: digest", now() - start, graph->n);
    start = now();
    if (psc_figures_measure(&arena, graph, plan, &(struct psc_measured){&digest, NULL, 0}, NULL))
        abort();
    told("  of it: figures", now() - start, graph->n);
    start = now();
    if (psc_plan_lower(&arena, graph, plan, &story, NULL))
        abort();
    told("lower to events", now() - start, graph->n);
    psc_arena_release(&arena);
}

static void bench(int32_t layers)
{
    struct psc_arena arena = {0};
    struct qwen_options shape = qwen_prefill;
    shape.layers = layers;
    shape.context = 16;
    struct psc_graph *graph = qwen_graph(&arena, &shape);
    struct psc_plan_options options = psc_plan_defaults;
    printf("%u nodes\n", graph->n);
    time_plan(graph, "pool, upstream, class, lowest", "pool", options);
    time_lives(graph);
    time_rest(graph);
    options.slots = PSC_SLOTS_FIFO;
    time_plan(graph, "pool, fifo", "pool", options);
    options = psc_plan_defaults;
    options.mode = PSC_MODE_HARDENED;
    options.size = PSC_SIZE_EXACT;
    time_plan(graph, "pool, hardened, exact", "pool", options);
    options = psc_plan_defaults;
    options.order = PSC_ORDER_TOPOLOGICAL;
    time_plan(graph, "pool, topological", "pool", options);
    time_plan(graph, "naive", "naive", psc_plan_defaults);
    psc_arena_release(&arena);
}

int main(void)
{
    bench(24);
    bench(5555);
    bench(55555);
    return 0;
}
