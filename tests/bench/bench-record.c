/* What recording costs: decode speed with statistics and samples, with hashes, with both, beside the same run without.
 *
 *     bench-record [PRESET [TYPE [TOKENS [ROUNDS [THREADS]]]]]       default qwen2.5-0.5b q8_0 24 7 1
 *
 * The ways take turns, so that a busy machine is busy for all of them; medians of ratios within one round. With one thread
 * the processor's time is taken, which others disturb less than the clock's. */
#include "backends/registry.h"
#include "core/base/mem.h"
#include "core/model/preset.h"
#include "core/model/seed.h"
#include "core/run/run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ROUNDS_MAX 101
static const struct {
    const char *name;
    struct psc_recorder_options record;
} ways[] = {
    {"nothing", {0}},
    {"events", {.events = true}},
    {"events, statistics, samples", {.events = true, .values = true}},
    {"events, hashes", {.events = true, .hashes = true}},
    {"all", {.events = true, .values = true, .hashes = true}},
};
#define WAY_N (sizeof ways / sizeof *ways)

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double now(unsigned threads)
{
    struct timespec t;
    clock_gettime(threads == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double seconds(const struct psc_model *model, const struct psc_recorder_options *record, uint32_t tokens, unsigned threads)
{
    static const int32_t prompt[] = {1};
    uint32_t n;
    const struct psc_backend_api *const *apis = psc_backend_apis(&n);
    struct psc_run_result result;
    struct psc_error err;
    struct psc_run_request q = {.model = model, .prompt = prompt, 
                                .prompt_n = 1, .n_predict = tokens, .n_ctx = 256,
                                .ignore_stop = true, .record = *record};
    q.session.plan = psc_plan_defaults;
    q.session.snapshot = true;
    q.session.config.threads = threads;
    double begin = now(threads);
    if (psc_run(apis, n, &q, &result, &err)) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    double end = now(threads);
    psc_run_result_release(&result);
    return end - begin;
}

int main(int argc, char **argv)
{
    static double ratio[WAY_N][ROUNDS_MAX];
    struct psc_arena arena = {0};
    struct psc_model *shapes, *model;
    struct psc_error err;
    const struct psc_preset *preset = psc_preset_find(argc > 1 ? argv[1] : "qwen2.5-0.5b");
    const char *type = argc > 2 ? argv[2] : "q8_0";
    uint32_t tokens = argc > 3 ? (uint32_t)atoi(argv[3]) : 24, rounds = argc > 4 ? (uint32_t)atoi(argv[4]) : 7;
    unsigned threads = argc > 5 ? (unsigned)atoi(argv[5]) : 1;
    if (!preset || rounds < 1 || rounds > ROUNDS_MAX || psc_model_preset(&arena, preset, type, &shapes, &err) ||
        psc_model_seeded(&arena, shapes, 1, &model, &err))
        return 1;
    printf("%s %s, %" PRIu32 " tokens, %u thread(s), %" PRIu32 " rounds\n", preset->name, type, tokens, threads, rounds);
    seconds(model, &ways[0].record, 4, threads); /* warms up */
    for (uint32_t round = 0; round < rounds; round++) {
        double base = seconds(model, &ways[0].record, tokens, threads);
        for (size_t way = 0; way < WAY_N; way++)
            ratio[way][round] = seconds(model, &ways[way].record, tokens, threads) / base;
    }
    for (size_t way = 0; way < WAY_N; way++) {
        qsort(ratio[way], rounds, sizeof ratio[way][0], ascending);
        printf("%-28s %+6.1f %% (%+.1f to %+.1f)\n", ways[way].name, 100 * (ratio[way][rounds / 2] - 1),
               100 * (ratio[way][rounds / 4] - 1), 100 * (ratio[way][rounds - 1 - rounds / 4] - 1));
    }
    psc_arena_release(&arena);
    return 0;
}
