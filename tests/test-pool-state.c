/* Graphs planned one after another into the same pool. */
#include "core/plan/pool-state.h"

#include "tests/planned.h"
#include "tests/qwen.h"
#include "tests/random-graph.h"
#include "tests/text-graph.h"
#include "tests/util.h"

#include <string.h>

struct pool {
    struct psc_arena arena; /* states, graphs, plans */
    struct psc_pool_state state;
    const char *words;
    struct psc_plan *plan; /* of the graph that was mapped last */
    struct psc_graph *graph;
};

static enum psc_status try_map(struct pool *pool, struct psc_graph *graph, struct psc_error *reterr)
{
    const struct psc_planner *planner;
    struct psc_plan_options options = planned_options(pool->words, &planner);
    enum psc_status status;
    options.pool = &pool->state;
    pool->graph = graph;
    status = planner->plan(&pool->arena, graph, &options, &pool->plan, reterr);
    if (!status)
        status = psc_pool_state_after(&pool->arena, &pool->state, graph, pool->plan, &pool->state, reterr);
    return status;
}

/* Staging copies are of the graph that made them: another graph must not find them. */
static void forget_staging(struct pool *pool)
{
    struct psc_pool_item *items = psc_arena_alloc(&pool->arena, pool->state.n, sizeof *items);
    for (uint32_t i = 0; i < pool->state.n; i++) {
        items[i] = pool->state.items[i];
        items[i].node = PSC_NONE;
    }
    pool->state.items = items;
}

static char *map(struct pool *pool, const char *text)
{
    struct psc_error error = {0};
    struct planned p = {.graph = text_graph(&pool->arena, text)};
    if (try_map(pool, p.graph, &error))
        g_error("%s", error.text);
    p.plan = pool->plan;
    return planned_places(&p);
}

static void assert_maps(struct pool *pool, const char *text, const char *places)
{
    char *got = map(pool, text);
    g_assert_cmpstr(got, ==, places);
    g_free(got);
}

static uint32_t pooled_n(const struct psc_pool_state *state)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < state->n; i++)
        n += state->items[i].role == PSC_ROLE_POOL;
    return n;
}

static uint32_t new_n(const struct psc_plan *plan)
{
    uint32_t n = 0;
    for (uint32_t b = 0; b < plan->buffer_n; b++)
        n += !plan->pool_at || plan->pool_at[b] == PSC_NONE;
    return n;
}

/* 896 wide, `rows` rows: x, silu(x), x + silu(x). */
static void assert_rows(struct pool *pool, unsigned rows, uint32_t new_buffers, const char *places)
{
    char *text = g_strdup_printf("x: input 896x%u\ns: scale 896x%u x\no: add 896x%u s x\nout o", rows, rows, rows);
    assert_maps(pool, text, places);
    g_assert_cmpuint(new_n(pool->plan), ==, new_buffers);
    g_free(text);
}

static void test_rebuild_in_class(void)
{
    struct pool pool = {0};
    assert_rows(&pool, 16, 3, "x=b0 s=b1 o=b2"); /* 14,336 elements: a class of 16,384 */
    assert_rows(&pool, 17, 0, "x=b0 s=b1 o=b2"); /* 15,232: the same class */
    g_assert_cmpuint(pooled_n(&pool.state), ==, 3);
    assert_rows(&pool, 20, 3, "x=b3 s=b4 o=b5"); /* 17,920: 20,480 */
    g_assert_cmpuint(pooled_n(&pool.state), ==, 6);
    g_assert_cmpuint(pool.state.items[3].bytes, ==, 4 * 20480);
    psc_arena_release(&pool.arena);
}

static void test_rebuild_remaps(void)
{
    struct pool pool = {0};
    assert_rows(&pool, 16, 3, "x=b0 s=b1 o=b2");
    for (unsigned i = 0; i < 64; i++)
        assert_rows(&pool, i % 3 ? 16 : 17, 0, "x=b0 s=b1 o=b2");
    g_assert_cmpuint(pool.state.n, ==, 3);
    psc_arena_release(&pool.arena);
}

static void test_released_is_idle(void)
{
    struct pool pool = {0};
    assert_maps(&pool, "x: input 4\na: scale 4 x\nb: scale 4 a\nc: scale 4 b\nout c", "x=b0 a=b1 b=b2 c=b1");
    /* a smaller graph uses two of the three; the third stays */
    assert_maps(&pool, "x: input 4\na: scale 4 x\nout a", "x=b0 a=b1");
    g_assert_cmpuint(pool.plan->buffer_n, ==, 2);
    g_assert_cmpuint(pooled_n(&pool.state), ==, 3);
    assert_maps(&pool, "x: input 4\na: scale 4 x\nb: scale 4 a\nc: scale 4 b\nout c", "x=b0 a=b1 b=b2 c=b1");
    g_assert_cmpuint(new_n(pool.plan), ==, 0);
    psc_arena_release(&pool.arena);
}

static const char *const policies[] = {"lowest", "fifo", "lifo", "random:7", "hardened", "hardened lifo", "naive"};

/* Two graphs by turns get the same buffers each time, whatever the policy. */
static void test_switching(void)
{
    const char *one = "x: input 4\nw: input 300\na: scale 4 x\nb: scale 4 a\nc: scale 300 w\nd: add 4 a b\nout c d";
    const char *two = "x: input 300\na: scale 300 x\nb: scale 4 a\nc: scale 300 a\nd: add 300 c a\nout d b";
    for (unsigned k = 0; k < G_N_ELEMENTS(policies); k++) {
        struct pool pool = {.words = policies[k]};
        g_free(map(&pool, one));
        g_free(map(&pool, two));
        char *first = map(&pool, one), *second = map(&pool, two);
        uint32_t n = pool.state.n;
        for (unsigned turn = 0; turn < 4; turn++) {
            assert_maps(&pool, one, first);
            assert_maps(&pool, two, second);
        }
        g_assert_cmpuint(pool.state.n, ==, n);
        g_free(first);
        g_free(second);
        psc_arena_release(&pool.arena);
    }
}

static const char kv[] = "x: input 4\nk: scale 4 x\nv: scale 4 x\ns: kvcache_store 64 k v #0\nl: kvcache_load 64 #0\n"
                         "a: attn 4 x l x #0\nout a";

static void test_regions_stay(void)
{
    struct pool pool = {0};
    assert_maps(&pool, kv, "x=b0 k=b1 v=b2 s=kv.0.k l=kv.0.k a=b1");
    const struct psc_plan *first = pool.plan;
    uint64_t id = first->buffers[first->region_k[0]].id, base = first->buffers[first->region_v[0]].base;
    g_assert_cmpuint(id, ==, 3);
    /* ids go on after regions */
    assert_maps(&pool, "x: input 4\nt: scale 3000 x\no: scale 4 t\nout o", "x=b0 t=b5 o=b1");
    assert_maps(&pool, kv, "x=b0 k=b1 v=b2 s=kv.0.k l=kv.0.k a=b1");
    g_assert_cmpuint(pool.plan->buffers[pool.plan->region_k[0]].id, ==, id);
    g_assert_cmpuint(pool.plan->buffers[pool.plan->region_v[0]].base, ==, base);
    g_assert_cmpuint(new_n(pool.plan), ==, 0);
    psc_arena_release(&pool.arena);
}

static void test_regions_never_change(void)
{
    static const char *const others[] = {
        "x: input 4\ns: kvcache_store 128 x x #0\no: scale 4 x\nout o",
        "x: input 4\ns: kvcache_store 64 x x #0 @metal\no: scale 4 x\nout o",
    };
    static const char *const sentences[] = {
        "layer 0 has a KV region of 256 bytes on cpu; node 1 asks for 512 bytes on cpu: the size and the backend of a "
        "region never change",
        "layer 0 has a KV region of 256 bytes on cpu; node 1 asks for 256 bytes on metal: the size and the backend of a "
        "region never change",
    };
    for (unsigned k = 0; k < G_N_ELEMENTS(others); k++) {
        struct pool pool = {0};
        struct psc_error error = {0};
        g_free(map(&pool, kv));
        g_assert_cmpint(try_map(&pool, text_graph(&pool.arena, others[k]), &error), ==, PSC_ERR_PLAN);
        g_assert_cmpstr(error.text, ==, sentences[k]);
        psc_arena_release(&pool.arena);
    }
}

static void test_staging(void)
{
    const char *crossing = "x: input 4\na: scale 4 x @metal\nb: scale 4 a\nc: add 4 b x @metal\nout c";
    struct pool pool = {0};
    g_free(map(&pool, crossing));
    uint32_t n = pool.state.n, copies = pool.plan->copy_n;
    g_assert_cmpuint(copies, ==, 3); /* x and b to metal, a to cpu */
    uint64_t ids[3];
    for (uint32_t k = 0; k < copies; k++)
        ids[k] = pool.plan->buffers[pool.plan->copies[k].buffer].id;
    g_free(map(&pool, crossing));
    g_assert_cmpuint(pool.state.n, ==, n);
    for (uint32_t k = 0; k < copies; k++)
        g_assert_cmpuint(pool.plan->buffers[pool.plan->copies[k].buffer].id, ==, ids[k]);
    forget_staging(&pool); /* as another graph */
    g_free(map(&pool, crossing));
    g_assert_cmpuint(pool.state.n, ==, n + copies);
    psc_arena_release(&pool.arena);
}

/* Ids are the backend's own, and no two buffers of a backend share one or overlap. */
static void test_ids_and_addresses(void)
{
    struct pool pool = {0};
    g_free(map(&pool, "x: input 4\na: scale 4 x @metal\nb: scale 4 a\nout b"));
    g_free(map(&pool, "x: input 500\na: scale 700 x @metal\nb: scale 4 a @cuda\nout b"));
    g_free(map(&pool, kv));
    unsigned pairs = 0;
    for (uint32_t i = 0; i < pool.state.n; i++)
        for (uint32_t k = 0; k < i; k++) {
            const struct psc_pool_item *a = &pool.state.items[i], *b = &pool.state.items[k];
            if (strcmp(a->backend, b->backend))
                continue;
            g_assert_cmpuint(a->id, >, b->id);
            g_assert_cmpuint(a->base, >=, b->base + b->bytes);
            pairs++;
        }
    g_assert_cmpuint(pairs, >, 5);
    psc_arena_release(&pool.arena);
}

/* An empty pool is no pool. */
static void test_empty(void)
{
    struct psc_pool_state none = {0};
    struct psc_arena arena = {0};
    struct psc_plan_options options = psc_plan_defaults;
    struct psc_plan *with, *without;
    for (unsigned seed = 0; seed < 40; seed++) {
        struct psc_graph *g = random_graph(&arena, seed, &random_graph_all);
        options.pool = NULL;
        g_assert_cmpint(psc_planner_find("pool")->plan(&arena, g, &options, &without, NULL), ==, PSC_OK);
        options.pool = &none;
        g_assert_cmpint(psc_planner_find("pool")->plan(&arena, g, &options, &with, NULL), ==, PSC_OK);
        g_assert_null(without->pool_at);
        g_assert_cmpuint(new_n(with), ==, with->buffer_n);
        g_assert_null(with->options.pool);
        g_assert_cmpuint(with->buffer_n, ==, without->buffer_n);
        g_assert_cmpmem(with->places, g->n * sizeof *with->places, without->places, g->n * sizeof *with->places);
        g_assert_cmpmem(&with->figures, sizeof with->figures, &without->figures, sizeof without->figures);
    }
    psc_arena_release(&arena);
}

/* A graph mapped into a pool of its own buffers has the figures and the verdict that it has alone. */
static void test_random(void)
{
    guint64 seed = test_seed();
    unsigned checked = 0;
    g_test_message("PSC_SEED=%" G_GUINT64_FORMAT, seed);
    for (unsigned k = 0; k < 60; k++) {
        struct pool pool = {.words = policies[k % G_N_ELEMENTS(policies)]};
        struct psc_error error = {0};
        struct psc_graph *a = random_graph(&pool.arena, seed + 2 * k, &random_graph_all),
                         *b = random_graph(&pool.arena, seed + 2 * k + 1, &random_graph_all);
        for (unsigned turn = 0; turn < 4; turn++) {
            struct psc_graph *g = turn % 2 ? b : a;
            struct psc_story *story;
            struct psc_check check;
            forget_staging(&pool);
            enum psc_status status = try_map(&pool, g, &error);
            if (status == PSC_ERR_PLAN)
                break; /* the two graphs want other regions */
            g_assert_cmpint(status, ==, PSC_OK);
            struct planned alone = planned_graph(g, pool.words);
            g_assert_cmpuint(pool.plan->figures.peak_live_bytes, ==, alone.plan->figures.peak_live_bytes);
            g_assert_cmpuint(pool.plan->figures.in_place, ==, alone.plan->figures.in_place);
            g_assert_cmpuint(pool.plan->figures.pool_bytes, >=, alone.plan->figures.peak_live_bytes);
            g_assert_cmpint(psc_plan_lower(&pool.arena, g, pool.plan, &story, &error), ==, PSC_OK);
            g_assert_cmpint(psc_story_check(story, &error), ==, PSC_OK);
            g_assert_cmpint(psc_check_story(&pool.arena, g, story, &check, &error), ==, PSC_OK);
            if (strstr(pool.words, "hardened") || !strcmp(pool.words, "naive"))
                g_assert_cmpuint(check.finding_n, ==, 0);
            planned_release(&alone);
            checked++;
        }
        psc_arena_release(&pool.arena);
    }
    g_assert_cmpuint(checked, >, 60);
}

/* The 0.5B by turns: 440 nodes of 2 tokens, 437 of one. */
static void test_qwen(void)
{
    struct pool pool = {0};
    struct psc_error error = {0};
    struct qwen_options options = qwen_prefill;
    options.backend = "cpu";
    struct psc_graph *prefill = qwen_graph(&pool.arena, &options), *decode = qwen_graph(&pool.arena, &qwen_unfused);
    g_assert_cmpint(try_map(&pool, prefill, &error), ==, PSC_OK);
    g_assert_cmpuint(pool.plan->figures.buffers, ==, 18);
    g_assert_cmpuint(pool.plan->figures.kv_bytes, ==, 48ull * 524288 * 4);
    g_assert_cmpint(try_map(&pool, decode, &error), ==, PSC_OK);
    uint32_t n = pool.state.n;
    g_assert_cmpuint(pool.plan->figures.kv_bytes, ==, 48ull * 524288 * 4);
    for (uint32_t layer = 0; layer < 24; layer++)
        g_assert_cmpuint(pool.plan->pool_at[pool.plan->region_k[layer]], !=, PSC_NONE);
    g_assert_cmpint(try_map(&pool, prefill, &error), ==, PSC_OK);
    g_assert_cmpint(try_map(&pool, decode, &error), ==, PSC_OK);
    g_assert_cmpuint(pool.state.n, ==, n);
    psc_arena_release(&pool.arena);
}

/* ---- budgets ------------------------------------------------------------------------------------------------ */

static const char small[] = "x: input 1000\no: scale 1000 x\nout o"; /* two buffers of 4,096 bytes */

static enum psc_status try_budget(const char *words, uint64_t bytes, uint64_t weights, unsigned times,
                                  struct psc_error *reterr)
{
    struct psc_budget budget = {NULL, bytes, weights};
    struct pool pool = {.words = words, .state = {.budgets = &budget, .budget_n = 1}};
    enum psc_status status = PSC_OK;
    for (unsigned i = 0; i < times && !status; i++)
        status = try_map(&pool, text_graph(&pool.arena, small), reterr);
    psc_arena_release(&pool.arena);
    return status;
}

static void test_refused_with_its_numbers(void)
{
    struct psc_error error = {0};
    static const char *const words[] = {"", "hardened", "hardened h5", "naive"};
    for (unsigned k = 0; k < G_N_ELEMENTS(words); k++) {
        g_assert_cmpint(try_budget(words[k], 4095, 0, 1, &error), ==, PSC_ERR_TOO_BIG);
        g_assert_cmpstr(error.text, ==, "node 0 (input) needs a buffer of 4096 bytes on cpu, where the pool has 0 bytes "
                                        "and the weights 0: more than the budget of 4095 bytes");
        g_assert_cmpint(try_budget(words[k], 8191, 0, 1, &error), ==, PSC_ERR_TOO_BIG);
        g_assert_cmpstr(error.text, ==, "node 1 (scale) needs a buffer of 4096 bytes on cpu, where the pool has 4096 "
                                        "bytes and the weights 0: more than the budget of 8191 bytes");
        g_assert_cmpint(try_budget(words[k], 8192, 0, 1, &error), ==, PSC_OK);
        g_assert_cmpint(try_budget(words[k], 1 << 20, 0, 1, &error), ==, PSC_OK);
        g_assert_cmpint(try_budget(words[k], 0, 0, 1, &error), ==, PSC_ERR_TOO_BIG);
    }
}

static void test_counts_weights(void)
{
    struct psc_error error = {0};
    g_assert_cmpint(try_budget("", 1000 + 8192, 1000, 1, &error), ==, PSC_OK);
    g_assert_cmpint(try_budget("", 1000 + 8191, 1000, 1, &error), ==, PSC_ERR_TOO_BIG);
    g_assert_nonnull(strstr(error.text, "the pool has 4096 bytes and the weights 1000: more than the budget of 9191"));
    g_assert_cmpint(try_budget("", 5000, UINT64_MAX, 1, &error), ==, PSC_ERR_TOO_BIG);
}

/* Hole h5: a graph that fits exactly is refused when it is mapped again. */
static void test_exact_fit(void)
{
    struct psc_error error = {0};
    g_assert_cmpint(try_budget("hardened", 8192, 0, 3, &error), ==, PSC_OK);
    g_assert_cmpint(try_budget("naive hardened", 8192, 0, 3, &error), ==, PSC_OK);
    g_assert_cmpint(try_budget("upstream", 8192, 0, 2, &error), ==, PSC_ERR_TOO_BIG);
    g_assert_cmpstr(error.text, ==, "node 0 (input) needs a buffer of 4096 bytes on cpu, where the pool has 8192 bytes and "
                                    "the weights 0: more than the budget of 8192 bytes");
    g_assert_cmpint(try_budget("hardened h5", 8192, 0, 2, &error), ==, PSC_ERR_TOO_BIG);
    g_assert_cmpint(try_budget("upstream", 8192 + 4096, 0, 3, &error), ==, PSC_OK);
}

static void test_budget_by_backend(void)
{
    struct psc_budget budgets[] = {{"metal", 2048, 0}, {NULL, UINT64_MAX, 0}};
    struct pool pool = {.state = {.budgets = budgets, .budget_n = 2}};
    struct psc_error error = {0};
    g_free(map(&pool, small));
    g_free(map(&pool, "x: input 4\na: scale 4 x @metal\no: scale 4 a\nout o"));
    /* its staging copy of 16 bytes is charged from now on, and so is its buffer */
    g_assert_cmpint(try_map(&pool, text_graph(&pool.arena, "a: input 4 @metal\nb: scale 4 a @metal\nout b"), &error), ==,
                    PSC_ERR_TOO_BIG);
    g_assert_cmpstr(error.text, ==, "node 0 (input) needs a buffer of 1024 bytes on metal, where the pool has 1040 bytes "
                                    "and the weights 0: more than the budget of 2048 bytes");
    psc_arena_release(&pool.arena);
}

struct oom {
    const char *words;
    struct psc_graph *graph;
};

static enum psc_status oom_map(void *data)
{
    struct oom *oom = data;
    struct pool pool = {.words = oom->words};
    struct psc_error error = {0};
    enum psc_status status = PSC_OK;
    for (unsigned i = 0; i < 3 && !status; i++)
        status = try_map(&pool, oom->graph, &error);
    psc_arena_release(&pool.arena);
    return status;
}

static void test_oom(void)
{
    struct psc_arena arena = {0};
    struct oom oom = {"hardened log", text_graph(&arena, "x: input 4\na: scale 4 x @metal\ns: kvcache_store 64 x x #0\n"
                                                         "b: add 4 a x\nout b")};
    g_assert_cmpuint(test_oom_loop(oom_map, &oom), >, 5);
    oom.words = "naive";
    g_assert_cmpuint(test_oom_loop(oom_map, &oom), >, 5);
    psc_arena_release(&arena);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/core/plan/pool/a-rebuild-inside-one-class-reuses-the-pool", test_rebuild_in_class);
    g_test_add_func("/core/plan/pool/a-rebuild-remaps-instead-of-reallocating", test_rebuild_remaps);
    g_test_add_func("/core/plan/pool/a-released-buffer-stays-reserved-and-idle", test_released_is_idle);
    g_test_add_func("/core/plan/pool/switching-between-graphs-gives-identical-slots", test_switching);
    g_test_add_func("/core/plan/pool/regions-outlive-graphs", test_regions_stay);
    g_test_add_func("/core/plan/pool/a-region-never-changes-size-or-backend", test_regions_never_change);
    g_test_add_func("/core/plan/pool/staging-is-kept-for-its-graph-and-never-recycled", test_staging);
    g_test_add_func("/core/plan/pool/ids-and-addresses-are-each-backends-own", test_ids_and_addresses);
    g_test_add_func("/core/plan/pool/an-empty-pool-is-no-pool", test_empty);
    g_test_add_func("/core/plan/pool/figures-and-verdict-are-those-of-the-graph-alone", test_random);
    g_test_add_func("/core/plan/pool/prefill-and-decode-share-the-regions", test_qwen);
    g_test_add_func("/core/plan/budget/a-graph-that-cannot-fit-is-refused-with-its-numbers", test_refused_with_its_numbers);
    g_test_add_func("/core/plan/budget/weights-and-activations-count-together", test_counts_weights);
    g_test_add_func("/core/plan/budget/an-exact-fit-is-mapped-again-unless-h5", test_exact_fit);
    g_test_add_func("/core/plan/budget/each-backend-has-its-own-and-staging-counts", test_budget_by_backend);
    g_test_add_func("/core/plan/pool/oom", test_oom);
    return g_test_run();
}
