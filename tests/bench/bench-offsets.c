/* Times and measures what packs arenas: `meson test --benchmark offsets -v`, or `build/tests/bench-offsets [long]`.
 *
 *     T  plan time of graphs: lives, in place, offsets and the bound (goals T1 to T6)
 *     R  planning again: the same graph, fewer tokens, one box edited (R1 to R3)
 *     V  checking (V1): every byte that a plan's story touches, from the graph's reads; and the boxes of a packing, which
 *        believes their lives
 *     Q  heights of the published problems against their bounds (Q1 to Q7)
 *
 * Processor time of this thread, medians of five runs. In brackets what ggml's gallocr takes, ns a node, warm: of the plain
 * shapes ggml_gallocr_reserve of the ggml in llama-cpp-python 0.3.16 over these same graphs (silu as an op that may work in
 * place, others as one that may not), on a quiet machine of two cores that gave best-fit 27 ns for the Qwen2 prefill; of the
 * others what planners.md says, measured on another machine. Problems are read from $PSC_SHARED/data; without it Q is left out.
 * `long` adds a million nodes and searches of ten seconds.
 */
#include "core/base/hash.h"
#include "core/debug/check.h"
#include "core/graph/fingerprint.h"
#include "core/plan/digest.h"
#include "core/plan/offsets/box-set.h"
#include "core/plan/offsets/boxing.h"
#include "core/plan/offsets/repack.h"
#include "core/plan/offsets/offsets.h"
#include "core/plan/plan.h"
#include "tests/qwen.h"
#include "tests/synthetic-graph.h"
#include "traces/trace.h"

#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RUNS = 5 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static double median(double *values, unsigned n)
{
    qsort(values, n, sizeof *values, by_value);
    return values[n / 2];
}

/* ---- T: time ------------------------------------------------------------------------------------------------------ */

enum way {
    WARM,
    COLD,    /* in memory that nobody has touched */
    PACKING, /* warm; and the graph's nodes are packed anew each time, which is done once when a graph is made */
};

/* From the graph to offsets, nothing else: what gallocr's reserve does. */
static struct psc_offsets_space plan(struct psc_arena *arena, const struct psc_graph *graph, const char *packer)
{
    struct psc_digest digest;
    struct psc_boxing boxing;
    struct psc_offsets packed;
    struct psc_error error = {0};
    struct psc_offsets_budget budget = {.milliseconds = 1 + graph->n / 100}; /* 10 ms for a thousand nodes */
    if (psc_digest_build(arena, arena, graph, &digest) || psc_boxing_build(arena, graph, &digest, 0, &boxing, &error))
        g_error("%s", error.text);
    struct psc_offsets_problem p = {.boxes = boxing.boxes, .box_n = boxing.box_n, .step_n = graph->n + 1, .align = 4,
                                    .by_end = boxing.by_end};
    if (psc_offsets_pack(arena, &p, psc_packer_find(packer), &budget, &packed, &error))
        g_error("%s", error.text);
    return packed.spaces[0];
}

static double time_plan(const struct psc_graph *made, const char *packer, enum way way, struct psc_offsets_space *ret)
{
    struct psc_graph graph = *made;
    double times[RUNS];
    unsigned repeats;
    struct psc_arena arena = {0};
    double first = now();
    *ret = plan(&arena, &graph, packer); /* warms up */
    first = now() - first;
    repeats = first < 0.001 ? (unsigned)(0.02 / (first + 1e-6)) : 1;
    for (unsigned run = 0; run < RUNS; run++) {
        double start = now();
        for (unsigned k = 0; k < repeats; k++) {
            struct psc_arena fresh = {0};
            struct psc_arena_mark mark = psc_arena_mark(&arena);
            if (way == PACKING && !psc_graph_digest(&arena, &graph))
                abort();
            *ret = plan(way == COLD ? &fresh : &arena, &graph, packer);
            psc_arena_rewind(&arena, mark);
            psc_arena_release(&fresh);
        }
        times[run] = (now() - start) / repeats;
    }
    psc_arena_release(&arena);
    return median(times, RUNS);
}

static double time_planner(const struct psc_graph *graph, const char *planner)
{
    double times[RUNS];
    unsigned repeats = graph->n < 5000 ? 50000 / graph->n : 1;
    for (unsigned run = 0; run < RUNS; run++) {
        double start = now();
        for (unsigned k = 0; k < repeats; k++) {
            struct psc_arena arena = {0};
            struct psc_plan *made;
            if (psc_planner_find(planner)->plan(&arena, graph, &psc_plan_defaults, &made, NULL))
                abort();
            psc_arena_release(&arena);
        }
        times[run] = (now() - start) / repeats;
    }
    return median(times, RUNS);
}

static void told_time(const char *what, const struct psc_graph *graph, const char *gallocr)
{
    struct psc_offsets_space fast, best;
    double warm = time_plan(graph, "best-fit", WARM, &fast), cold = time_plan(graph, "best-fit", COLD, &fast);
    double packing = time_plan(graph, "best-fit", PACKING, &fast);
    double full = graph->n < 20000 ? time_plan(graph, "optimal", WARM, &best) : 0;
    printf("  %-26s %8u nodes  best-fit %6.1f warm %6.1f cold %6.1f packing the nodes, too, as a planner %6.1f ns a node; height %.4f",
           what, graph->n, warm * 1e9 / graph->n, cold * 1e9 / graph->n, packing * 1e9 / graph->n,
           time_planner(graph, "best-fit") * 1e9 / graph->n, (double)fast.height / (double)fast.bound);
    if (graph->n < 20000)
        printf(", optimal %7.1f ns a node: %.4f %s by %s", full * 1e9 / graph->n, (double)best.height / (double)best.bound,
               psc_proof_name(best.proof), best.by);
    printf("  [%s]\n", gallocr);
    fflush(stdout);
}

static void time_all(bool is_long)
{
    static const struct { const char *name; enum synthetic shape; uint32_t chains; const char *gallocr[4]; } shapes[] = {
        {"chain", SYNTHETIC_CHAINS, 1, {"79", "101", "196", "-"}},
        {"8 chains", SYNTHETIC_CHAINS, 8, {"99", "127", "222", "-"}},
        {"64 chains", SYNTHETIC_CHAINS, 64, {"136", "190", "271", "-"}},
        {"256 chains", SYNTHETIC_CHAINS, 256, {"171", "297", "419", "-"}},
        {"random, all read", SYNTHETIC_DAG, 0, {"205", "359", "aborts", "aborts"}},
        {"random, some unread", SYNTHETIC_UNREAD, 0, {"211", "aborts", "aborts", "aborts"}},
    };
    struct psc_arena arena = {0};
    printf("T  lives, in place, offsets, bound; [gallocr, warm]\n");
    told_time("Qwen2 prefill", qwen_graph(&arena, &qwen_prefill), "60");
    told_time("Qwen2 decode, fused", qwen_graph(&arena, &qwen_decode), "61");
    told_time("Qwen2 decode", qwen_graph(&arena, &qwen_unfused), "61");
    psc_arena_release(&arena);
    for (uint32_t size = 0, n = 1000; size < (is_long ? 4 : 3); size++, n *= 10)
        for (size_t k = 0; k < G_N_ELEMENTS(shapes); k++) {
            told_time(shapes[k].name, synthetic_graph(&arena, shapes[k].shape, shapes[k].chains, n, 11), shapes[k].gallocr[size]);
            psc_arena_release(&arena);
        }
}

/* ---- Q: height ----------------------------------------------------------------------------------------------------- */

static struct psc_doc *open_boxes(const char *folder, const char *name)
{
    const char *shared = g_getenv("PSC_SHARED");
    char *path = shared ? g_strdup_printf("%s/data/%s/%s.csv", shared, folder, name) : NULL;
    struct psc_doc *doc = NULL;
    struct psc_error error = {0};
    if (path && g_file_test(path, G_FILE_TEST_EXISTS) && psc_trace_open(path, NULL, NULL, &doc, &error))
        g_error("%s", error.text);
    g_free(path);
    return doc;
}

static struct psc_offsets_space height(const struct psc_offsets_problem *problem, const char *packer, uint64_t capacity,
                                       struct psc_offsets_budget budget, double *ret_seconds)
{
    struct psc_offsets_problem p = *problem;
    struct psc_arena arena = {0};
    struct psc_offsets packed;
    struct psc_offsets_space space;
    struct psc_error error = {0};
    double start = now();
    p.capacity = &capacity;
    if (psc_offsets_pack(&arena, &p, psc_packer_find(packer), &budget, &packed, &error))
        g_error("%s", error.text);
    *ret_seconds = now() - start;
    if (p.box_n < 2000 && psc_offsets_check(&p, &packed, &error))
        g_error("%s", error.text);
    space = packed.spaces[0];
    psc_arena_release(&arena);
    return space;
}

static double ratio(const struct psc_offsets_space *s)
{
    return s->bound ? (double)s->height / (double)s->bound : 1;
}

static const struct { const char *name; uint32_t nodes; } graphs[] = { /* nodes: of the graph behind the boxes */
    {"prefill440_cache_last.inplace", 894}, {"prefill440_cache_last.maxinplace", 894}, {"prefill440_cache_last.raw", 894},
    {"prefill440_flash_last.inplace", 798}, {"decode_cache.inplace", 892}, {"chain_1000.inplace", 1000},
    {"chain_10000.inplace", 10000}, {"par8_1000.inplace", 1007}, {"par64_1000.inplace", 1063},
    {"par256_1000.inplace", 1255}, {"dagc64_1000.inplace", 1022}, {"dagc64_10000.inplace", 10026},
};

static void heights_of_graphs(void)
{
    printf("Q1 to Q4  published graphs: height to bound of each strategy, `optimal` before it searches, then as it is called by default\n");
    for (size_t k = 0; k < G_N_ELEMENTS(graphs); k++) {
        struct psc_doc *doc = open_boxes("planning", graphs[k].name);
        double seconds, times[RUNS];
        struct psc_offsets_space s = {0};
        if (!doc)
            continue;
        const struct psc_offsets_problem *p = &doc->phases[0].boxes->problem;
        printf("  %-33s", graphs[k].name);
        for (const struct psc_packer *packer = psc_packers; packer->name; packer++) {
            if (!strcmp(packer->name, "optimal"))
                continue;
            s = height(p, packer->name, PSC_CAPACITY_NONE, (struct psc_offsets_budget){0}, &seconds);
            printf(" %.4f", ratio(&s));
        }
        for (int run = 0; run < RUNS; run++)
            s = height(p, "optimal", PSC_CAPACITY_NONE, (struct psc_offsets_budget){.work = 1}, &times[run]);
        printf("  %.4f in %.2f ms", ratio(&s), median(times, RUNS) * 1e3);
        s = height(p, "optimal", PSC_CAPACITY_NONE, (struct psc_offsets_budget){.milliseconds = 10}, &seconds);
        printf("  10 ms %.4f", ratio(&s));
        for (int run = 0; run < RUNS; run++)
            s = height(p, "optimal", PSC_CAPACITY_NONE, (struct psc_offsets_budget){0}, &times[run]);
        seconds = median(times, RUNS);
        printf("  %9.3f ms %8.1f ns a node  %10" G_GUINT64_FORMAT " bytes %.4f %s by %s\n", seconds * 1e3,
               seconds * 1e9 / graphs[k].nodes, s.height, ratio(&s), psc_proof_name(s.proof), s.by);
        fflush(stdout);
        psc_doc_free(doc);
    }
}

static void heights_of_minimalloc(bool is_long)
{
    double total = 0, means[4] = {0};
    unsigned n = 0;
    printf("Q5 to Q7  MiniMalloc: the ladder of optimal before it searches, 100 ms, 1 s%s; then inside 1,048,576 bytes\n",
           is_long ? ", 10 s" : "");
    for (char name = 'A'; name <= 'K'; name++) {
        char file[32];
        snprintf(file, sizeof file, "%c.1048576", name);
        struct psc_doc *doc = open_boxes("minimalloc", file);
        double seconds, times[RUNS];
        struct psc_offsets_space s = {0};
        if (!doc)
            continue;
        const struct psc_offsets_problem *p = &doc->phases[0].boxes->problem;
        for (int run = 0; run < RUNS; run++)
            s = height(p, "optimal", PSC_CAPACITY_NONE, (struct psc_offsets_budget){.work = 1}, &times[run]);
        means[0] += ratio(&s);
        printf("  %c  %.4f by %s in %.0f us;", name, ratio(&s), s.by, median(times, RUNS) * 1e6);
        for (uint32_t ms = 100, k = 1; ms <= (is_long ? 10000 : 1000); ms *= 10, k++) {
            s = height(p, "optimal", PSC_CAPACITY_NONE, (struct psc_offsets_budget){.work = UINT64_MAX, .milliseconds = ms}, &seconds);
            means[k] += ratio(&s);
            printf("  %.4f (%" G_GUINT64_FORMAT ", %s, %.3f s)", ratio(&s), s.height, psc_proof_name(s.proof), seconds);
        }
        for (int run = 0; run < RUNS; run++)
            s = height(p, "optimal", 1048576, (struct psc_offsets_budget){.work = UINT64_C(100000000)}, &times[run]);
        seconds = median(times, RUNS);
        total += seconds;
        printf("  inside: %s in %.4f s\n", s.fits ? "yes" : "NO", seconds);
        fflush(stdout);
        n++;
        if (name == 'C') {
            s = height(p, "optimal", 1039360, (struct psc_offsets_budget){0}, &seconds);
            printf("     at 1,039,360: %s in %.4f s\n", s.fits ? "yes" : "NO", seconds);
        }
        psc_doc_free(doc);
    }
    if (n)
        printf("  means %.4f, %.4f, %.4f; inside the capacity, all together %.3f s [MiniMalloc elsewhere 25.0]\n", means[0] / n,
               means[1] / n, means[2] / n, total);
}

/* ---- R: again ------------------------------------------------------------------------------------------------------- */

static void time_fingerprint(const char *what, const struct psc_graph *graph)
{
    double times[RUNS];
    unsigned repeats = 4000000 / graph->n;
    uint64_t sum = 0;
    for (unsigned run = 0; run < RUNS; run++) {
        double start = now();
        for (unsigned k = 0; k < repeats; k++)
            sum += psc_graph_fingerprint(graph).shape[0];
        times[run] = (now() - start) / repeats;
    }
    printf("  R1 fingerprint of %-22s %8u nodes %6.2f ns a node (%016" G_GINT64_MODIFIER "x)\n", what, graph->n,
           median(times, RUNS) * 1e9 / graph->n, sum);
}

/* Planned for 440 tokens; then 439: the boxes are made and looked at, no offset is computed. */
static void time_fewer_tokens(void)
{
    struct psc_arena arena = {0}, scratch = {0};
    struct qwen_options shape = qwen_prefill;
    struct psc_repack layout;
    struct psc_digest digest;
    struct psc_boxing boxing;
    struct psc_offsets packed;
    double times[RUNS];
    bool covers = true;
    shape.tokens = 440;
    struct psc_graph *most = qwen_graph(&arena, &shape);
    shape.tokens = 439;
    struct psc_graph *fewer = qwen_graph(&arena, &shape);
    if (psc_digest_build(&arena, &arena, most, &digest) || psc_boxing_build(&arena, most, &digest, 0, &boxing, NULL))
        abort();
    struct psc_offsets_problem p = {.boxes = boxing.boxes, .box_n = boxing.box_n, .step_n = most->n + 1, .align = 4};
    if (psc_offsets_pack(&arena, &p, psc_packer_find("optimal"), NULL, &packed, NULL) ||
        psc_repack_build(&arena, &p, &packed, &layout, NULL))
        abort();
    for (unsigned run = 0; run < RUNS; run++) {
        double start = now();
        for (unsigned k = 0; k < 1000; k++) {
            struct psc_arena_mark mark = psc_arena_mark(&scratch);
            if (psc_digest_build(&scratch, &scratch, fewer, &digest) || psc_boxing_build(&scratch, fewer, &digest, 0, &boxing, NULL))
                abort();
            covers = covers && psc_repack_covers(&layout, boxing.boxes, boxing.box_n);
            psc_arena_rewind(&scratch, mark);
        }
        times[run] = (now() - start) / 1000;
    }
    printf("  R2 440 tokens planned, 439 asked: %s, %.1f us, no offset computed [71 us]\n", covers ? "covered" : "NOT covered",
           median(times, RUNS) * 1e6);
    psc_arena_release(&arena);
    psc_arena_release(&scratch);
}

static void time_edits(const char *name)
{
    enum { EDITS = 200 };
    struct psc_doc *doc = open_boxes("planning", name);
    struct psc_arena arena = {0};
    struct psc_repack layout;
    struct psc_offsets packed;
    double worst = 0, sum = 0, times[EDITS];
    uint64_t state = 3;
    unsigned good = 0;
    if (!doc)
        return;
    const struct psc_offsets_problem *p = &doc->phases[0].boxes->problem;
    if (psc_offsets_pack(&arena, p, psc_packer_find("optimal"), NULL, &packed, NULL))
        abort();
    for (unsigned k = 0; k < EDITS; k++) { /* each from the same packing: sizes between half and one and a half */
        struct psc_arena_mark mark = psc_arena_mark(&arena);
        uint32_t i = (uint32_t)(psc_random_next(&state) % p->box_n), moved;
        struct psc_box box = p->boxes[i];
        double start;
        box.bytes = box.bytes / 100 * (50 + psc_random_next(&state) % 101);
        if (psc_repack_build(&arena, p, &packed, &layout, NULL))
            abort();
        start = now();
        if (psc_repack_edit(&layout, i, &box, &moved, NULL))
            abort();
        times[k] = now() - start;
        sum += times[k];
        worst = MAX(worst, (double)layout.height / (double)layout.bound);
        good += (double)layout.height <= 1.02 * (double)layout.bound;
        psc_arena_rewind(&arena, mark);
    }
    printf("  R3 one box edited of %-24s median %.1f us, mean %.1f us; height to bound at most %.4f, %u of %d at most 1.02\n", name,
           median(times, EDITS) * 1e6, sum / EDITS * 1e6, worst, good, EDITS);
    psc_arena_release(&arena);
    psc_doc_free(doc);
}

static void time_verify(uint32_t n)
{
    struct psc_arena arena = {0};
    struct psc_graph *graph = synthetic_graph(&arena, SYNTHETIC_CHAINS, 64, n, 11);
    struct psc_digest digest;
    struct psc_boxing boxing;
    struct psc_offsets packed;
    double times[RUNS];
    if (psc_digest_build(&arena, &arena, graph, &digest) || psc_boxing_build(&arena, graph, &digest, 0, &boxing, NULL))
        abort();
    struct psc_offsets_problem p = {.boxes = boxing.boxes, .box_n = boxing.box_n, .step_n = graph->n + 1, .align = 4};
    if (psc_offsets_pack(&arena, &p, psc_packer_find("best-fit"), NULL, &packed, NULL))
        abort();
    for (unsigned run = 0; run < RUNS; run++) {
        double start = now();
        if (psc_offsets_verify(&p, &packed, NULL))
            abort();
        times[run] = now() - start;
    }
    printf("  V1 boxes of a packing: 64 chains         %8u nodes %6.1f ns a node, %.1f a box\n", graph->n,
           median(times, RUNS) * 1e9 / graph->n, median(times, RUNS) * 1e9 / p.box_n);
    psc_arena_release(&arena);
}

/* ---- V: the checker --------------------------------------------------------------------------------------------------- */

/* What no check of a story can do without. */
static double time_reading(const struct psc_story *story)
{
    double times[RUNS];
    uint64_t sum = 0;
    for (unsigned run = 0; run < RUNS; run++) {
        double start = now();
        for (uint32_t i = 0; i < story->event_n; i++)
            sum += story->events[i].lo ^ story->events[i].kind;
        times[run] = now() - start;
    }
    if (sum == UINT64_MAX)
        abort();
    return median(times, RUNS);
}

static void time_check(const char *what, struct psc_graph *graph, const char *planner)
{
    struct psc_arena arena = {0};
    struct psc_plan *made;
    struct psc_story *story;
    struct psc_check check;
    double times[RUNS];
    if (psc_planner_find(planner)->plan(&arena, graph, &psc_plan_defaults, &made, NULL) ||
        psc_plan_lower(&arena, graph, made, &story, NULL))
        abort();
    unsigned repeats = graph->n < 5000 ? 50000 / graph->n : 1;
    for (unsigned run = 0; run < RUNS; run++) {
        double start = now();
        for (unsigned k = 0; k < repeats; k++) {
            struct psc_arena_mark mark = psc_arena_mark(&arena);
            if (psc_check_story(&arena, graph, story, &check, NULL) || check.finding_n)
                abort();
            psc_arena_rewind(&arena, mark);
        }
        times[run] = (now() - start) / repeats;
    }
    printf("  V1 every byte of a story: %-16s %8u nodes %6.1f ns a node, %.1f an event; %u events, to read each once takes %.1f ns a node\n",
           what, graph->n, median(times, RUNS) * 1e9 / graph->n, median(times, RUNS) * 1e9 / story->event_n, story->event_n,
           time_reading(story) * 1e9 / graph->n);
    psc_arena_release(&arena);
}

static void plan_again(void)
{
    struct psc_arena arena = {0};
    struct psc_graph *prefill = qwen_graph(&arena, &qwen_prefill),
                     *chains = synthetic_graph(&arena, SYNTHETIC_CHAINS, 64, 100000, 11);
    printf("R, V  planning again, checking\n");
    time_fingerprint("Qwen2 prefill", prefill);
    time_fingerprint("64 chains", chains);
    time_fewer_tokens();
    time_edits("chain_10000.inplace");
    time_edits("dagc64_10000.inplace");
    time_check("prefill, arena", prefill, "best-fit");
    time_check("prefill, pool", prefill, "pool");
    time_check("64 chains, arena", chains, "best-fit");
    time_check("64 chains, pool", chains, "pool");
    time_verify(100000);
    psc_arena_release(&arena);
}

int main(int argc, char **argv)
{
    bool is_long = argc > 1 && !strcmp(argv[1], "long");
    time_all(is_long);
    plan_again();
    heights_of_graphs();
    heights_of_minimalloc(is_long);
    return 0;
}
