/* The planners of arenas over graphs: places, in-place rules, the checker, pools and capacities. */
#include "core/debug/explain.h"
#include "core/plan/capacity.h"
#include "core/plan/copy.h"
#include "core/plan/offsets/boxing.h"
#include "core/plan/pool-state.h"
#include "tests/naive-check.h"
#include "tests/planned.h"
#include "tests/qwen.h"
#include "tests/random-graph.h"
#include "tests/text-graph.h"
#include "tests/util.h"

#include <string.h>

static const char *const planners[] = {"best-fit", "linear-scan", "greedy-size", "greedy-breadth", "optimal"};

/* ---- places ------------------------------------------------------------------------------------------------------- */

struct row {
    const char *path, *graph, *places;
};
/* Planned by best-fit; A is arena.cpu. */
static const struct row rows[] = {
    {"a-chain-of-element-wise-ops-stays-in-place", "x: input 4\na: silu 4 x\nb: scale 4 a\nc: softmax 4 b\nout c",
     "x=b0 a=A b=A c=A"},
    {"either-operand-may-be-overwritten", "x: input 4\na: matmul 4 x\nb: matmul 4 a\no: add 4 a b\np: mul 4 x b\nout o p",
     "x=b0 a=A b=A+16 o=A p=A+16"},
    {"the-second-operand-alone", "x: input 4\na: matmul 4 x\no: add 4 x a\nout o", "x=b0 a=A o=A"},
    {"an-earlier-reader-is-no-obstacle", "x: input 4\na: matmul 4 x\nb: matmul 4 a\no: add 4 a b\nout o",
     "x=b0 a=A b=A+16 o=A"},
    {"a-later-reader-is", "x: input 4\na: matmul 4 x\nb: silu 4 a\no: matmul 4 a\np: add 4 o b\nout p",
     "x=b0 a=A b=A+16 o=A+32 p=A+32"},
    {"inputs-are-never-overwritten", "x: input 4\na: silu 4 x\nout a", "x=b0 a=A"},
    {"outputs-are-never-overwritten", "x: input 4\na: matmul 4 x\nb: silu 4 a\nout a b", "x=b0 a=A b=A+16"},
    {"what-an-output-view-shows-is-never-overwritten",
     "x: input 4\na: matmul 4 x\nv: view 2 a\nb: silu 4 a\nout v b", "x=b0 a=A v=A b=A+16"},
    {"regions-are-never-overwritten", "x: input 4\ns: kvcache_store 4 x x #0\nl: kvcache_load 4 #0\nr: silu 4 l\nout r",
     "x=b0 s=kv.0.k l=kv.0.k r=A"},
    {"swiglu-takes-an-operand", "x: input 4\ng: matmul 8 x\nu: matmul 8 x\ns: swiglu 8 g u\no: matmul 4 s\nout o",
     "x=b0 g=A u=A+32 s=A o=A+32"},
    {"an-op-that-names-one-tensor-twice-is-not-in-place", "x: input 4\ng: matmul 8 x\ns: swiglu 8 g g\nout s",
     "x=b0 g=A s=A+32"},
    {"whole-reshapes-are-looked-through", "x: input 4\ng: matmul 8 x\nr: reshape 4x2 g\ns: silu 4x2 r\nout s",
     "x=b0 g=A r=A s=A"},
    {"a-reshape-of-a-reshape-too", "x: input 4\ng: matmul 8 x\nr: reshape 4x2 g\nq: reshape 8 r\ns: silu 8 q\nout s",
     "x=b0 g=A r=A q=A s=A"},
    {"another-name-that-is-read-later-forbids-it",
     "x: input 4\ng: matmul 8 x\nr: reshape 4x2 g\ns: silu 4x2 r\no: add 8 s g\nout o", "x=b0 g=A r=A s=A+32 o=A+32"},
    {"matmul-reads-to-the-end", "x: input 4\na: matmul 4 x\nb: matmul 4 a\nout b", "x=b0 a=A b=A+16"},
    {"a-window-is-left-where-its-rest-has-no-room", "x: input 4\na: matmul 8 x\nv: view 4 a\no: silu 4 v\np: matmul 64 o\nout p",
     "x=b0 a=A v=A o=A+256 p=A"},
    {"a-window-is-taken-where-its-rest-has-room",
     "x: input 4\na: matmul 64 x\ng: view 32 a\nu: view 32 a +32\ns: swiglu 32 g u\no: matmul 4 s\nout o",
     "x=b0 a=A g=A u=A+128 s=A o=A+256"},
    {"each-backend-has-its-arena", "x: input 4\na: matmul 4 x @metal\nb: matmul 4 a @metal\nc: matmul 4 b\nout c",
     "x=b0 a=B b=B+16 c=A"},
    {"nothing-is-taken-over-from-another-backend", "x: input 4\na: matmul 4 x @metal\nb: silu 4 a\nout b", "x=b0 a=B b=A"},
    {"an-unread-node-gets-no-bytes", "x: input 4\nd: silu 4 x\no: matmul 4 x\nout o", "x=b0 d=- o=A"},
    {"nodes-without-bytes-own-nothing", "x: input 4\ny: input 0\nr: get_rows 4x0 x y\no: matmul 4 x\nout r o",
     "x=b0 y=- r=- o=A"},
};

static char *short_names(char *places)
{
    GString *out = g_string_new(places);
    g_string_replace(out, "arena.cpu", "A", 0);
    g_string_replace(out, "arena.metal", "B", 0);
    g_free(places);
    return g_string_free(out, FALSE);
}

static void test_row(gconstpointer data)
{
    const struct row *row = data;
    struct planned p = planned_new(row->graph, strstr(row->path, "no-room") ? "greedy-size" : "best-fit");
    char *places = short_names(planned_places(&p)), *findings = planned_findings(&p);
    g_assert_cmpstr(places, ==, row->places);
    g_assert_cmpstr(findings, ==, "");
    g_free(findings);
    g_free(places);
    planned_release(&p);
}

/* ---- properties ------------------------------------------------------------------------------------------------------ */

/* What a buffer for each would take, in exact bytes rounded up to the alignment. */
static uint64_t apart_bytes(const struct psc_graph *g, const struct psc_plan *plan)
{
    uint64_t sum = 0, align = plan->options.align;
    for (psc_node i = 0; i < g->n; i++)
        if (g->nodes[i].parent == PSC_NONE && !psc_op_info(g->nodes[i].op)->is_kv)
            sum += (g->nodes[i].bytes + align - 1) / align * align;
    return sum;
}

/* Two nodes of one arena that live at once share no byte, unless one took the other's over. */
static void assert_arena(const struct psc_graph *g, const struct psc_plan *plan)
{
    for (psc_node i = 0; i < g->n; i++) {
        const struct psc_place *a = &plan->places[i];
        if (a->reason != PSC_WHY_PACKED && a->reason != PSC_WHY_IN_PLACE)
            continue;
        g_assert_cmpint(plan->buffers[a->buffer].role, ==, PSC_ROLE_ARENA);
        g_assert_cmpuint(a->offset + a->length, <=, plan->buffers[a->buffer].bytes);
        if (a->reason == PSC_WHY_PACKED)
            g_assert_cmpuint(a->offset % plan->options.align, ==, 0);
        for (psc_node k = 0; k < i; k++) {
            const struct psc_place *b = &plan->places[k];
            if (b->buffer != a->buffer || b->reason == PSC_WHY_VIEW || b->last < a->first || a->last < b->first ||
                a->offset >= b->offset + b->length || b->offset >= a->offset + a->length)
                continue;
            /* what is overwritten ends where the node begins */
            g_assert_cmpint(a->reason, ==, PSC_WHY_IN_PLACE);
            g_assert_cmpint(b->last, ==, a->first);
            psc_node over = (psc_node)a->b;
            g_assert_cmpuint(g->nodes[over].root, ==, k);
        }
    }
}

static void assert_plan(struct psc_arena *arena, const struct psc_graph *g, const char *planner,
                        const struct psc_plan_options *options, bool naive)
{
    struct psc_plan *plan;
    struct psc_story *story;
    struct psc_check check;
    struct psc_error error = {0};
    uint64_t held = 0;
    if (psc_planner_find(planner)->plan(arena, g, options, &plan, &error) || psc_plan_lower(arena, g, plan, &story, &error) ||
        psc_story_check(story, &error) || psc_check_story(arena, g, story, &check, &error))
        g_error("%s: %s", planner, error.text);
    g_assert_cmpuint(check.finding_n, ==, 0);
    assert_arena(g, plan);
    if (naive) {
        char *lines = naive_check(g, story);
        g_assert_cmpstr(lines, ==, "");
        g_free(lines);
    }
    for (uint32_t k = 0; k < plan->certificate_n; k++) {
        g_assert_cmpuint(plan->buffers[plan->certificates[k].buffer].bytes, >=, plan->certificates[k].space.height);
        held += plan->certificates[k].space.height;
    }
    g_assert_cmpuint(plan->figures.pool_bytes, >=, plan->figures.lower_bound_bytes);
    g_assert_cmpuint(plan->figures.peak_live_bytes, ==, plan->figures.lower_bound_bytes);
    g_assert_cmpuint(plan->figures.pool_bytes, >=, held);
    if (!options->pool)
        g_assert_cmpuint(plan->figures.pool_bytes, <=, apart_bytes(g, plan));
    if (options->apart)
        g_assert_cmpuint(plan->figures.in_place, ==, 0);
}

static void test_random(gconstpointer data)
{
    const char *planner = data;
    uint64_t seed = test_seed();
    unsigned n = 0;
    for (unsigned round = 0; round < 150; round++)
        for (unsigned k = 0; k < 6; k++, n++) {
            struct psc_arena arena = {0};
            struct random_graph_options shape = k % 3 == 2 ? random_graph_plain : random_graph_all;
            struct psc_plan_options options = psc_plan_defaults;
            bool naive = round % 5 == 0;
            shape.nodes = naive ? 20 : 60;
            shape.kv = shape.kv && round % 4 == 0;
            shape.unassigned = round % 7 == 0;
            if (k % 2)
                shape.backends = 1;
            options.align = k == 3 ? 64 : k == 4 ? 1 : 0;
            options.apart = k == 5;
            options.budget.work = 3000;
            options.mode = round % 2 ? PSC_MODE_UPSTREAM : PSC_MODE_HARDENED;
            options.order = round % 3 ? PSC_ORDER_BUILD : PSC_ORDER_TOPOLOGICAL;
            g_test_message("seed %" G_GUINT64_FORMAT " + %u", seed, n);
            assert_plan(&arena, random_graph(&arena, seed + n, &shape), planner, &options, naive);
            psc_arena_release(&arena);
        }
    g_assert_cmpuint(n, ==, 900);
}

/* ---- language models --------------------------------------------------------------------------------------------------- */

/* 440 tokens: gate and up, the residual and the normed rows, beside ids, positions and the tail's id. */
static void test_prefill_440(void)
{
    struct psc_arena arena = {0};
    struct qwen_options shape = qwen_prefill;
    struct psc_plan *plan;
    shape.tokens = 440;
    struct psc_graph *graph = qwen_graph(&arena, &shape);
    uint64_t bound = 2 * UINT64_C(440) * 4864 * 4 + 2 * UINT64_C(440) * 896 * 4 + 440 * 4 + 440 * 4 + 4;
    g_assert_cmpint(psc_planner_find("optimal")->plan(&arena, graph, &psc_plan_defaults, &plan, NULL), ==, PSC_OK);
    g_assert_cmpuint(plan->figures.pool_bytes, ==, bound);
    g_assert_cmpuint(plan->certificate_n, ==, 1);
    g_assert_cmpint(plan->certificates[0].space.proof, ==, PSC_PROOF_BOUND);
    assert_plan(&arena, graph, "optimal", &psc_plan_defaults, false);
    psc_arena_release(&arena);
}

static void test_language_models(void)
{
    static const struct qwen_options *const models[] = {&qwen_prefill, &qwen_decode, &qwen_unfused};
    static const uint64_t tokens[] = {1, 2, 17, 440};
    unsigned n = 0;
    for (size_t m = 0; m < G_N_ELEMENTS(models); m++)
        for (size_t t = 0; t < G_N_ELEMENTS(tokens); t++) {
            struct psc_arena arena = {0};
            struct qwen_options shape = *models[m];
            struct psc_plan *plan;
            if (m && t)
                continue;
            shape.tokens = tokens[t];
            struct psc_graph *graph = qwen_graph(&arena, &shape);
            g_assert_cmpint(psc_planner_find("optimal")->plan(&arena, graph, &psc_plan_defaults, &plan, NULL), ==, PSC_OK);
            g_assert_cmpuint(plan->figures.pool_bytes, ==, plan->figures.lower_bound_bytes);
            n++;
            psc_arena_release(&arena);
        }
    g_assert_cmpuint(n, ==, 6);
}

/* ---- capacities, pools, words --------------------------------------------------------------------------------------------- */

static const char wide[] = "x: input 4\na: matmul 64 x\nb: matmul 32 x\nc: matmul 16 a\nd: matmul 96 b\ne: add 96 d d\nf: matmul 4 c\n"
                           "g: matmul 4 e\no: add 4 f g\nout o";

static void test_capacity(void)
{
    struct psc_arena arena = {0};
    struct psc_graph *graph = text_graph(&arena, wide);
    struct psc_plan_options options = psc_plan_defaults;
    struct psc_error error = {0};
    struct psc_plan *plan = NULL;
    options.capacity = 100;
    g_assert_cmpint(psc_planner_find("best-fit")->plan(&arena, graph, &options, &plan, &error), ==, PSC_ERR_TOO_BIG);
    g_assert_nonnull(strstr(error.text, "the arena of cpu needs at least"));
    g_assert_nonnull(strstr(error.text, "capacity of 100 bytes, whatever the planner"));
    g_assert_null(plan);
    options.capacity = 4096;
    g_assert_cmpint(psc_planner_find("best-fit")->plan(&arena, graph, &options, &plan, &error), ==, PSC_OK);
    options.capacity = plan->certificates[0].space.height;
    g_assert_cmpint(psc_planner_find("best-fit")->plan(&arena, graph, &options, &plan, &error), ==, PSC_OK);
    options.align = 3;
    g_assert_cmpint(psc_planner_find("best-fit")->plan(&arena, graph, &options, &plan, &error), ==, PSC_ERR_USAGE);
    psc_arena_release(&arena);
}

/* Each arena may have a capacity of its own; what is not named has the one for all, or none. At its height a plan is made, a byte
 * below it is refused, whatever room the others have. */
static void test_capacities(void)
{
    struct psc_arena arena = {0};
    const struct psc_graph *graph = text_graph(&arena, "x: input 4\na: matmul 64 x @metal\nb: matmul 4 a @metal\nc: matmul 32 b\nd: matmul 4 c\nout d");
    struct psc_plan_options options = psc_plan_defaults;
    struct psc_error error = {0};
    struct psc_plan *plan = NULL, *copy;
    uint64_t height[2] = {0};
    g_assert_cmpint(psc_planner_find("optimal")->plan(&arena, graph, &options, &plan, &error), ==, PSC_OK);
    for (uint32_t k = 0; k < plan->certificate_n; k++)
        height[!strcmp(graph->backends[plan->certificates[k].backend], "metal")] = plan->certificates[k].space.height;
    g_assert_cmpuint(height[0], >, 0);
    g_assert_cmpuint(height[1], >, height[0]);
    for (int tight = 0; tight < 2; tight++)
        for (int less = 0; less < 2; less++)
            for (int all = 0; all < 2; all++) {
                char name[8];
                struct psc_capacity own[] = {{name, height[tight] - (uint64_t)less}};
                g_strlcpy(name, tight ? "metal" : "cpu", sizeof name);
                options.capacities = own;
                options.capacity_n = 1;
                options.capacity = all ? height[!tight] : 0;
                enum psc_status status = psc_planner_find("optimal")->plan(&arena, graph, &options, &plan, &error);
                g_assert_cmpint(status, ==, less ? PSC_ERR_TOO_BIG : PSC_OK);
                if (less) {
                    g_assert_nonnull(strstr(error.text, tight ? "the arena of metal needs" : "the arena of cpu needs"));
                    continue;
                }
                g_assert_cmpint(psc_plan_copy(&arena, graph, plan, &copy, &error), ==, PSC_OK);
                memset(name, 'z', 3); /* a plan has names of its own */
                for (int k = 0; k < 2; k++) {
                    const struct psc_plan_options *kept = k ? &copy->options : &plan->options;
                    g_assert_cmpuint(kept->capacity_n, ==, 1);
                    g_assert_cmpstr(kept->capacities[0].backend, ==, tight ? "metal" : "cpu");
                    g_assert_cmpuint(kept->capacities[0].bytes, ==, height[tight]);
                }
            }
    options.capacity = height[1] - 1; /* for all, and metal is the larger one */
    options.capacities = (const struct psc_capacity[]){{"metal", height[1]}};
    g_assert_cmpint(psc_planner_find("optimal")->plan(&arena, graph, &options, &plan, &error), ==, PSC_OK);
    options.capacities = (const struct psc_capacity[]){{"cpu", height[1]}};
    g_assert_cmpint(psc_planner_find("optimal")->plan(&arena, graph, &options, &plan, &error), ==, PSC_ERR_TOO_BIG);
    g_assert_null(psc_capacity_unknown(&options, &graph, 1));
    options.capacities = (const struct psc_capacity[]){{"gpu", 1}};
    g_assert_cmpstr(psc_capacity_unknown(&options, &graph, 1)->backend, ==, "gpu");
    g_assert_cmpint(psc_capacity_refuse(options.capacities, &graph, 1, &error), ==, PSC_ERR_USAGE);
    g_assert_cmpstr(error.text, ==, "there is no arena of 'gpu': the graph runs on cpu, metal");
    psc_arena_release(&arena);
}

/* What an earlier graph left is taken again: the same graph needs nothing new. */
static void test_pool(void)
{
    uint64_t seed = test_seed();
    for (unsigned n = 0; n < 60; n++) {
        struct psc_arena arena = {0};
        struct random_graph_options shape = random_graph_all;
        struct psc_graph *graph = random_graph(&arena, seed + n, &shape);
        struct psc_plan_options options = psc_plan_defaults;
        struct psc_pool_state state;
        struct psc_plan *plan, *again;
        const struct psc_planner *planner = psc_planner_find(planners[n % G_N_ELEMENTS(planners)]);
        options.budget.work = 1000;
        g_assert_cmpint(planner->plan(&arena, graph, &options, &plan, NULL), ==, PSC_OK);
        g_assert_cmpint(psc_pool_state_after(&arena, NULL, graph, plan, &state, NULL), ==, PSC_OK);
        options.pool = &state;
        g_assert_cmpint(planner->plan(&arena, graph, &options, &again, NULL), ==, PSC_OK);
        g_assert_cmpuint(again->buffer_n, ==, plan->buffer_n);
        for (uint32_t b = 0; b < again->buffer_n; b++) {
            g_assert_cmpuint(again->pool_at[b], !=, PSC_NONE);
            g_assert_cmpuint(again->buffers[b].role, ==, plan->buffers[b].role);
        }
        assert_plan(&arena, graph, planner->name, &options, false);
        psc_arena_release(&arena);
    }
}

static void test_budget(void)
{
    struct psc_arena arena = {0};
    struct psc_graph *graph = text_graph(&arena, wide);
    struct psc_budget budget = {.bytes = 300};
    struct psc_pool_state state = {.budgets = &budget, .budget_n = 1};
    struct psc_plan_options options = psc_plan_defaults;
    struct psc_error error = {0};
    struct psc_plan *plan;
    options.pool = &state;
    g_assert_cmpint(psc_planner_find("greedy-size")->plan(&arena, graph, &options, &plan, &error), ==, PSC_ERR_TOO_BIG);
    g_assert_nonnull(strstr(error.text, "more than the budget of 300 bytes"));
    psc_arena_release(&arena);
}

static void test_words(void)
{
    struct planned p = planned_new("x: input 4\na: matmul 8 x\nb: matmul 8 x\ns: swiglu 8 a b\nc: matmul 4 s\nd: silu 4 c\n"
                                   "e: add 4 c d\nout e", "best-fit log");
    struct psc_phase phase = {.graph = p.graph};
    struct psc_analysis a = {.phase = &phase, .plan = p.plan};
    struct psc_text text = {0};
    psc_explain_place(&text, &a, text_graph_node(p.graph, "b"));
    g_assert_cmpstr(psc_text_str(&text), ==, "Byte 32 of arena.cpu, free as long as it lives: right above #1 a. Placed as "
                                             "number 2 by best-fit.");
    psc_text_clear(&text);
    psc_explain_place(&text, &a, text_graph_node(p.graph, "d"));
    g_assert_nonnull(strstr(psc_text_str(&text), "lay before"));
    psc_text_clear(&text);
    for (uint32_t i = 0; i < p.plan->walk_n; i++) {
        psc_explain_walk(&text, p.graph, p.plan, &p.plan->walk[i]);
        psc_text_add(&text, "\n");
    }
    g_assert_nonnull(strstr(psc_text_str(&text), "pack    #2 b at byte 32 of arena.cpu (32 B)"));
    g_assert_nonnull(strstr(psc_text_str(&text), "alias   #3 s in place over #1 a in arena.cpu"));
    g_assert_nonnull(strstr(psc_text_str(&text), "#5 d: Not in place over #4 c"));
    psc_text_release(&text);
    planned_release(&p);
}

/* ---- releases -------------------------------------------------------------------------------------------------------------- */

static void test_releases(void)
{
    struct planned p = planned_new("x: input 4\na: matmul 8 x\nb: silu 8 a\nc: matmul 4 b\nd: matmul 4 c\nout d", "best-fit");
    g_assert_cmpuint(p.plan->release_n, ==, 2);
    g_assert_cmpuint(p.plan->releases[0].tenant, ==, text_graph_node(p.graph, "b"));
    g_assert_cmpint(p.plan->releases[0].position, ==, 3);
    g_assert_cmpuint(p.plan->releases[0].hi - p.plan->releases[0].lo, ==, 32);
    g_assert_cmpuint(p.plan->releases[1].tenant, ==, text_graph_node(p.graph, "c"));
    planned_release(&p);
}

/* ---- out of memory ------------------------------------------------------------------------------------------------------------ */

struct oom {
    const struct psc_graph *graph;
    const struct psc_planner *planner;
};

static enum psc_status plan_once(void *data)
{
    const struct oom *oom = data;
    struct psc_arena arena = {0};
    struct psc_plan *plan;
    struct psc_plan_options options = psc_plan_defaults;
    options.log = true;
    options.budget.work = 500;
    enum psc_status status = oom->planner->plan(&arena, oom->graph, &options, &plan, NULL);
    psc_arena_release(&arena);
    return status;
}

static void test_oom(void)
{
    struct psc_arena arena = {0};
    struct psc_graph *graph = random_graph(&arena, 11, &random_graph_all);
    for (size_t k = 0; k < G_N_ELEMENTS(planners); k++) {
        struct oom oom = {graph, psc_planner_find(planners[k])};
        g_assert_cmpuint(test_oom_loop(plan_once, &oom), >, 10);
    }
    psc_arena_release(&arena);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (size_t k = 0; k < G_N_ELEMENTS(rows); k++) {
        char *path = g_strdup_printf("/core/plan/arenas/%s", rows[k].path);
        g_test_add_data_func(path, &rows[k], test_row);
        g_free(path);
    }
    for (size_t k = 0; k < G_N_ELEMENTS(planners); k++) {
        char *path = g_strdup_printf("/core/plan/arenas/%s/random-graphs-are-clean", planners[k]);
        g_test_add_data_func(path, planners[k], test_random);
        g_free(path);
    }
    g_test_add_func("/core/plan/arenas/a-440-token-prefill-is-at-its-lower-bound", test_prefill_440);
    g_test_add_func("/core/plan/arenas/language-models-are-at-their-lower-bound", test_language_models);
    g_test_add_func("/core/plan/arenas/each-arena-has-a-capacity-of-its-own", test_capacities);
    g_test_add_func("/core/plan/arenas/a-capacity-is-refused-with-a-sentence", test_capacity);
    g_test_add_func("/core/plan/arenas/the-same-graph-takes-what-the-pool-has", test_pool);
    g_test_add_func("/core/plan/arenas/a-budget-is-refused-with-its-numbers", test_budget);
    g_test_add_func("/core/plan/arenas/places-are-put-into-words", test_words);
    g_test_add_func("/core/plan/arenas/boxes-are-released-after-their-last-reader", test_releases);
    g_test_add_func("/core/plan/arenas/oom", test_oom);
    return g_test_run();
}
