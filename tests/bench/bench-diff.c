/* Times the diff of two plans on Qwen2-shaped graphs, up to a million nodes: `meson test --benchmark diff -v`. */
#include "core/debug/analysis.h"
#include "core/debug/diff-plans.h"
#include "tests/qwen.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { RUNS = 3 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static struct psc_analysis *analyse(const struct psc_phase *phase, const char *planner)
{
    struct psc_analysis_options options = {.planner = psc_planner_find(planner), .plan = psc_plan_defaults, .replan = true};
    struct psc_analysis *a;
    if (psc_analysis_new(phase, &options, &a, NULL))
        abort();
    return a;
}

/* 1 when the parts do not sum up. */
static int measure(const struct psc_analysis *from, const struct psc_analysis *to, const char *what)
{
    struct psc_diff_side a = {from->phase->graph, from->story, from->history}, b = {to->phase->graph, to->story, to->history};
    double best = 1e9;
    int wrong = 0;
    for (int run = 0; run < RUNS; run++) {
        struct psc_arena arena = {0};
        struct psc_plan_diff *d;
        double start = now();
        if (psc_diff_plans(&arena, &a, &b, &d, NULL))
            abort();
        double spent = now() - start;
        int64_t sum = d->elsewhere;
        for (uint32_t k = 0; k < d->part_n; k++)
            sum += d->parts[k].bytes;
        wrong |= sum != (int64_t)d->b_total.peak - (int64_t)d->a_total.peak;
        best = spent < best ? spent : best;
        psc_arena_release(&arena);
    }
    printf("  %9u nodes, %-28s %9.2f ms %7.1f ns a node\n", a.graph->n, what, best * 1e3, best * 1e9 / a.graph->n);
    return wrong;
}

int main(void)
{
    static const int32_t layers[] = {24, 2400, 55500};
    int wrong = 0;
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        struct psc_arena arena = {0};
        struct qwen_options options = qwen_prefill, wide = qwen_prefill;
        options.layers = wide.layers = layers[i];
        wide.tokens = 7;
        struct psc_phase phase = {.kind = "", .graph = qwen_graph(&arena, &options)};
        struct psc_phase other = {.kind = "", .graph = qwen_graph(&arena, &wide)};
        struct psc_analysis *pool = analyse(&phase, "pool"), *optimal = analyse(&phase, "greedy-size"), *more = analyse(&other, "pool");
        wrong |= measure(pool, pool, "the same plan");
        wrong |= measure(pool, optimal, "pool and greedy-size");
        wrong |= measure(pool, more, "2 and 7 tokens");
        psc_analysis_free(pool);
        psc_analysis_free(optimal);
        psc_analysis_free(more);
        psc_arena_release(&arena);
    }
    return wrong;
}
