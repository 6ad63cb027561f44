/* tests/test-boxing.c: boxes of a graph, and the packed nodes that they are made from. */
#include "core/graph/assign.h"
#include "core/graph/copy.h"
#include "core/graph/fuse.h"
#include "core/plan/digest.h"
#include "core/plan/offsets/boxing.h"
#include "tests/random-graph.h"
#include "tests/synthetic-graph.h"

#include <glib.h>
#include <string.h>

enum { SEEDS = 600 };

/* Of a seed: with views and without, on one backend and on more. */
static struct psc_graph *graph_of(struct psc_arena *arena, uint64_t seed)
{
    struct random_graph_options options = random_graph_all;
    options.views = options.output_views = seed % 3 == 0;
    options.backends = 1 + (uint32_t)(seed / 3 % 3);
    options.unassigned = seed % 2;
    options.dead = seed / 2 % 2;
    return random_graph(arena, seed, &options);
}

/* ---- boxes ------------------------------------------------------------------------------------------------------------ */

static struct psc_boxing boxes_of(struct psc_arena *arena, const struct psc_graph *g, unsigned flags)
{
    struct psc_digest digest;
    struct psc_boxing boxing;
    g_assert_cmpint(psc_digest_build(arena, arena, g, &digest), ==, PSC_OK);
    g_assert_cmpint(psc_boxing_build(arena, g, &digest, flags, &boxing, NULL), ==, PSC_OK);
    return boxing;
}

/* Who asks for reasons has every rule looked at one by one. */
static unsigned same_with_reasons(struct psc_arena *arena, const struct psc_graph *g)
{
    struct psc_boxing a = boxes_of(arena, g, 0), b = boxes_of(arena, g, PSC_BOXING_EXPLAIN);
    g_assert_cmpuint(a.box_n, ==, b.box_n);
    g_assert_cmpuint(a.in_place_n, ==, b.in_place_n);
    g_assert_cmpmem(a.boxes, a.box_n * sizeof *a.boxes, b.boxes, b.box_n * sizeof *b.boxes);
    g_assert_cmpmem(a.by_end, a.box_n * sizeof *a.by_end, b.by_end, b.box_n * sizeof *b.by_end);
    g_assert_cmpmem(a.backend, a.box_n, b.backend, b.box_n);
    g_assert_cmpmem(a.box_of, g->n * sizeof *a.box_of, b.box_of, g->n * sizeof *b.box_of);
    g_assert_cmpmem(a.over, g->n, b.over, g->n);
    return a.in_place_n;
}

static void with_and_without_reasons_the_boxes_are_the_same(void)
{
    unsigned in_place = 0, views = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct psc_arena arena = {0};
        struct psc_graph *g = graph_of(&arena, seed);
        in_place += same_with_reasons(&arena, g);
        views += g->has_views;
        psc_arena_release(&arena);
    }
    g_assert_cmpuint(in_place, >, SEEDS);
    g_assert_cmpuint(views, >, SEEDS / 4);
    g_assert_cmpuint(views, <, SEEDS / 2);
}

static void large_graphs_have_the_same_boxes_too(void)
{
    static const enum synthetic shapes[] = {SYNTHETIC_CHAINS, SYNTHETIC_DAG, SYNTHETIC_UNREAD};
    for (size_t k = 0; k < G_N_ELEMENTS(shapes); k++) {
        struct psc_arena arena = {0};
        g_assert_cmpuint(same_with_reasons(&arena, synthetic_graph(&arena, shapes[k], 64, 5000, k)), >, 0);
        psc_arena_release(&arena);
    }
}

/* ---- packed nodes ------------------------------------------------------------------------------------------------------- */

static uint8_t flags_of(const struct psc_node_info *node)
{
    const struct psc_op_info *info = psc_op_info(node->op);
    return (uint8_t)((psc_node_is_filled(node) ? PSC_DIGEST_FILLED : 0) | (node->is_output ? PSC_DIGEST_OUTPUT : 0) |
                     (info->is_kv ? PSC_DIGEST_KV : 0) | (info->stores_kv ? PSC_DIGEST_STORES : 0) |
                     (info->upstream_alias & 1 ? PSC_DIGEST_IN_PLACE : 0));
}

static void is_true(const struct psc_graph *g)
{
    uint32_t kv_n = 0, views = 0, unassigned = 0, unlisted = 0;
    for (psc_node i = 0; i < g->n; i++) {
        const struct psc_node_info *node = &g->nodes[i];
        const struct psc_digest_node *digest = &g->digests[i];
        g_assert_cmpuint(digest->bytes, ==, node->bytes);
        g_assert_cmpuint(digest->src_at, ==, node->src_at);
        g_assert_cmpuint(digest->src_n, ==, node->src_n);
        g_assert_cmpuint(digest->parent, ==, node->parent);
        g_assert_cmpuint(digest->root, ==, node->root);
        g_assert_cmpuint(digest->reader_n, ==, node->reader_n);
        g_assert_cmpuint(digest->op, ==, node->op);
        g_assert_cmpuint(digest->backend, ==, node->backend);
        g_assert_cmpuint(digest->flags, ==, flags_of(node));
        if (digest->flags & (PSC_DIGEST_KV | PSC_DIGEST_STORES))
            g_assert_cmpuint(g->kv[kv_n++], ==, i);
        views += node->parent != PSC_NONE;
        unassigned += node->backend == PSC_BACKEND_NONE;
        unlisted += node->op == PSC_OP_INPUT && !node->is_input;
    }
    g_assert_cmpuint(g->kv_n, ==, kv_n);
    g_assert_cmpuint(g->unlisted_n, ==, unlisted);
    g_assert_cmpint(g->has_views, ==, views > 0);
    g_assert_cmpint(g->has_unassigned, ==, unassigned > 0);
}

/* However a graph came about. */
static void packed_nodes_say_what_the_nodes_say(void)
{
    static const struct psc_target targets[] = {{.name = "cpu"}, {.name = "cuda", .priority = 2}};
    uint32_t fused, all = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct psc_arena arena = {0};
        struct psc_graph *g = graph_of(&arena, seed), *made;
        is_true(g);
        g_assert_cmpint(psc_graph_assign(&arena, g, targets, 2, NULL, &made, NULL), ==, PSC_OK);
        is_true(made);
        g_assert_cmpint(psc_graph_fuse(&arena, made, targets, 2, &made, &fused, NULL), ==, PSC_OK);
        is_true(made);
        g_assert_cmpint(psc_graph_copy(&arena, made, &made, NULL), ==, PSC_OK);
        is_true(made);
        all += fused;
        psc_arena_release(&arena);
    }
    g_assert_cmpuint(all, >, 0);
}

/* A node without a backend gets the one of its split; the graph keeps none. */
static void a_plan_sees_the_backend_of_the_split(void)
{
    unsigned n = 0;
    for (uint64_t seed = 1; seed < SEEDS; seed += 2) {
        struct psc_arena arena = {0};
        struct psc_graph *g = graph_of(&arena, seed);
        struct psc_digest digest;
        g_assert_cmpint(psc_digest_build(&arena, &arena, g, &digest), ==, PSC_OK);
        for (uint32_t k = 0; k < digest.split_n; k++)
            for (psc_node i = digest.splits[k].first; i <= digest.splits[k].last; i++) {
                g_assert_cmpuint(digest.nodes[i].backend, ==, digest.splits[k].backend);
                n += g->nodes[i].backend == PSC_BACKEND_NONE && digest.nodes[i].backend != PSC_BACKEND_NONE;
            }
        is_true(g);
        psc_arena_release(&arena);
    }
    g_assert_cmpuint(n, >, SEEDS);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/core/plan/boxing/with-and-without-reasons-the-boxes-are-the-same",
                    with_and_without_reasons_the_boxes_are_the_same);
    g_test_add_func("/core/plan/boxing/large-graphs-have-the-same-boxes-too", large_graphs_have_the_same_boxes_too);
    g_test_add_func("/core/graph/digest/packed-nodes-say-what-the-nodes-say", packed_nodes_say_what_the_nodes_say);
    g_test_add_func("/core/plan/digest/a-plan-sees-the-backend-of-the-split", a_plan_sees_the_backend_of_the_split);
    return g_test_run();
}
