#include "core/graph/graph.h"
#include "tests/qwen.h"
#include "tests/random-graph.h"
#include "tests/util.h"

/* ---- the published graphs ----------------------------------------------------------------------------- */

struct census {
    enum psc_op op;
    unsigned n;
};

static void check_census(const struct psc_graph *g, const struct census *want, size_t n)
{
    unsigned seen[PSC_OP_N] = {0}, total = 0;
    for (psc_node i = 0; i < g->n; i++)
        seen[g->nodes[i].op]++;
    for (size_t k = 0; k < n; k++) {
        g_assert_cmpuint(seen[want[k].op], ==, want[k].n);
        total += want[k].n;
    }
    g_assert_cmpuint(total, ==, g->n);
}

static const char *label(const struct psc_graph *g, psc_node i)
{
    static char buf[64];
    return psc_node_label(g, i, buf, sizeof buf);
}

static void test_prefill(void)
{
    static const struct census want[] = {
        {PSC_OP_INPUT, 3}, {PSC_OP_GET_ROWS, 3}, {PSC_OP_RMS_NORM, 49}, {PSC_OP_MATMUL, 169}, {PSC_OP_ROPE, 48},
        {PSC_OP_KV_STORE, 24}, {PSC_OP_KV_LOAD, 24}, {PSC_OP_ATTN, 24}, {PSC_OP_ADD, 48}, {PSC_OP_SILU, 24},
        {PSC_OP_SWIGLU, 24},
    };
    static const char *const labels[18] = {
        "attn_norm", "attn_q", "attn_k", "attn_v", "rope q", "rope k", "kv_store", "kv_load", "attn", "attn_output",
        "add", "ffn_norm", "ffn_gate", "ffn_up", "silu", "swiglu", "ffn_down", "add",
    };
    struct psc_arena arena = {0};
    struct psc_graph *g = qwen_graph(&arena, &qwen_prefill);
    check_census(g, want, G_N_ELEMENTS(want));
    g_assert_cmpuint(g->n, ==, 440);
    g_assert_cmpuint(g->src_total, ==, 631);
    g_assert_cmpuint(g->layer_n, ==, 24);
    g_assert_cmpuint(g->inputs[2], ==, 427);
    g_assert_cmpuint(g->outputs[0], ==, 439);
    for (psc_node i = 0; i < g->n; i++) {
        int32_t layer = i < 3 || i >= 438 || i == 427 ? -1 : i >= 417 ? 23 : ((int32_t)i - 3) / 18;
        g_assert_cmpint(g->nodes[i].layer, ==, layer);
        if (i >= 3 && i < 417)
            g_assert_cmpstr(label(g, i), ==, labels[(i - 3) % 18]);
    }
    g_assert_cmpstr(label(g, 0), ==, "token_ids");
    g_assert_cmpstr(label(g, 2), ==, "embed");
    g_assert_cmpstr(label(g, 427), ==, "tail_ids");
    g_assert_cmpstr(label(g, 428), ==, "get_rows");
    g_assert_cmpstr(label(g, 438), ==, "output_norm");
    g_assert_cmpstr(label(g, 439), ==, "logits");
    psc_arena_release(&arena);
}

static void test_decode(void)
{
    static const struct census want[] = {
        {PSC_OP_INPUT, 2}, {PSC_OP_GET_ROWS, 1}, {PSC_OP_RMS_NORM, 49}, {PSC_OP_MATMUL, 85}, {PSC_OP_ROPE, 24},
        {PSC_OP_KV_STORE, 12}, {PSC_OP_KV_LOAD, 24}, {PSC_OP_ATTN, 24}, {PSC_OP_ADD, 48}, {PSC_OP_FUSED_FFN, 24},
        {PSC_OP_FUSED_QKV, 12},
    };
    static const psc_node starts[] = {3,   18,  33,  43,  58,  68,  78,  93,  108, 123, 138, 153, 163,
                                      173, 188, 198, 208, 223, 233, 243, 258, 268, 283, 293, 303};
    struct psc_arena arena = {0};
    struct psc_graph *g = qwen_graph(&arena, &qwen_decode);
    check_census(g, want, G_N_ELEMENTS(want));
    g_assert_cmpuint(g->n, ==, 305);
    g_assert_cmpuint(g->src_total, ==, 435);
    for (int32_t l = 0; l < 24; l++)
        for (psc_node i = starts[l]; i < starts[l + 1]; i++)
            g_assert_cmpint(g->nodes[i].layer, ==, l);
    g_assert_cmpint(g->nodes[303].layer, ==, -1);
    g_assert_cmpstr(label(g, 34), ==, "attn_qkv");
    g_assert_cmpstr(label(g, 40), ==, "ffn_gu");
    psc_arena_release(&arena);
}

static void test_unfused(void)
{
    struct psc_arena arena = {0};
    struct psc_graph *g = qwen_graph(&arena, &qwen_unfused);
    g_assert_cmpuint(g->n, ==, 437);
    for (psc_node i = 0; i < g->n; i++)
        g_assert_cmpint(g->nodes[i].layer, ==, i < 3 || i >= 435 ? -1 : ((int32_t)i - 3) / 18);
    psc_arena_release(&arena);
}

/* Without the hidden edges every attention may precede its store; with them none does. */
static void test_effects(void)
{
    const struct qwen_options *const all[] = {&qwen_prefill, &qwen_decode, &qwen_unfused};
    for (guint k = 0; k < G_N_ELEMENTS(all); k++) {
        struct psc_arena arena = {0};
        struct psc_graph *g = qwen_graph(&arena, all[k]);
        for (int effects = 0; effects < 2; effects++) {
            psc_node order[440];
            uint32_t place[440];
            unsigned early = 0;
            g_assert_cmpint(psc_graph_topological(g, effects, order, NULL), ==, PSC_OK);
            for (uint32_t p = 0; p < g->n; p++)
                place[order[p]] = p;
            g_assert_cmpuint(g->order_total, ==, 48);
            for (psc_node i = 0; i < g->n; i++)
                if (g->nodes[i].op == PSC_OP_ATTN) {
                    g_assert_cmpuint(g->nodes[i].order_n, ==, 1);
                    early += place[i] < place[g->order_srcs[g->nodes[i].order_at]];
                }
            /* A fused op both makes q and stores, so only unfused layers can go wrong. */
            g_assert_cmpuint(early, ==, effects ? 0 : k == 1 ? 12 : 24);
        }
        psc_arena_release(&arena);
    }
}

/* ---- random graphs ---------------------------------------------------------------------------------- */

/* Everything the header promises of a finished graph. */
static void check_graph(const struct psc_graph *g)
{
    uint32_t edges = 0, readers = 0, inputs = 0, outputs = 0;
    for (psc_node i = 0; i < g->n; i++) {
        const struct psc_node_info *node = &g->nodes[i];
        g_assert_cmpuint(node->src_at, ==, edges);
        edges += node->src_n;
        inputs += node->is_input;
        outputs += node->is_output;
        for (uint32_t k = 0; k < node->src_n; k++)
            g_assert_cmpuint(psc_node_srcs(g, i)[k], <, i);
        for (uint32_t k = 0; k < node->order_n; k++) {
            psc_node s = g->order_srcs[node->order_at + k];
            g_assert_cmpuint(s, <, i);
            g_assert_true(psc_op_info(g->nodes[s].op)->stores_kv);
            g_assert_cmpint(g->nodes[s].layer, ==, node->layer);
        }
        if (psc_op_info(node->op)->is_view) {
            const struct psc_node_info *root = &g->nodes[node->root];
            g_assert_cmpuint(node->parent, ==, psc_node_srcs(g, i)[0]);
            g_assert_false(psc_op_info(root->op)->is_view);
            g_assert_cmpuint(node->root, ==, g->nodes[node->parent].root);
            g_assert_cmpuint(node->root_offset, <=, root->bytes);
            g_assert_cmpuint(node->bytes, <=, root->bytes - node->root_offset);
        } else {
            g_assert_cmpuint(node->root, ==, i);
            g_assert_cmpuint(node->parent, ==, PSC_NONE);
        }
        g_assert_cmpuint(node->reader_n, ==, g->reader_at[i + 1] - g->reader_at[i]);
        readers += node->reader_n;
        for (uint32_t e = g->reader_at[i]; e < g->reader_at[i + 1]; e++) {
            gboolean names = FALSE;
            for (uint32_t k = 0; k < g->nodes[g->readers[e]].src_n; k++)
                names = names || psc_node_srcs(g, g->readers[e])[k] == i;
            g_assert_true(names);
            g_assert_true(e == g->reader_at[i] || g->readers[e - 1] <= g->readers[e]);
        }
        g_assert_cmpuint(psc_graph_find(g, node->id), ==, i);
    }
    g_assert_cmpuint(edges, ==, g->src_total);
    g_assert_cmpuint(readers, ==, g->src_total);
    g_assert_cmpuint(inputs, ==, g->input_n);
    g_assert_cmpuint(outputs, ==, g->output_n);
}

/* What 300 random graphs contain together: a generator that forgets a shape proves nothing. */
static void test_random(void)
{
    guint64 seed = test_seed();
    guint view_of_view = 0, repeats = 0, output_views = 0, dead = 0, empty = 0, late = 0, effects = 0, concat = 0;
    guint middle = 0, backends = 0, splits = 0, in_out = 0;
    g_test_message("seed %" G_GUINT64_FORMAT, seed);
    for (guint64 k = 0; k < 300; k++) {
        struct psc_arena arena = {0};
        struct psc_graph *g = random_graph(&arena, seed + k, &random_graph_all);
        const struct psc_split *split = NULL;
        uint32_t split_n = 0;
        check_graph(g);
        g_assert_cmpint(psc_graph_splits(&arena, g, &split, &split_n), ==, PSC_OK);
        splits += split_n;
        backends = MAX(backends, g->backend_n);
        for (psc_node i = 0; i < g->n; i++) {
            const struct psc_node_info *node = &g->nodes[i];
            view_of_view += node->parent != PSC_NONE && node->parent != node->root;
            repeats += node->src_n == 2 && psc_node_srcs(g, i)[0] == psc_node_srcs(g, i)[1];
            output_views += node->is_output && node->parent != PSC_NONE;
            dead += !node->reader_n && !node->is_output;
            empty += !node->bytes;
            late += node->is_input && i > 8;
            effects += node->order_n;
            concat += node->op == PSC_OP_CONCAT;
            middle += node->is_output && node->reader_n;
            in_out += node->is_input && node->is_output;
        }
        psc_arena_release(&arena);
    }
    g_assert_cmpuint(backends, ==, 3);
    g_assert_cmpuint(splits, >, 300);
    const guint all[] = {view_of_view, repeats, output_views, dead, empty, late, effects, concat, middle, in_out};
    for (guint k = 0; k < G_N_ELEMENTS(all); k++) {
        g_test_message("kind %u: %u", k, all[k]);
        g_assert_cmpuint(all[k], >, 20);
    }
}

static void test_random_repeats(void)
{
    struct psc_arena arena = {0};
    struct psc_graph *a = random_graph(&arena, 7, &random_graph_all), *b = random_graph(&arena, 7, &random_graph_all);
    struct psc_graph *c = random_graph(&arena, 8, &random_graph_all);
    g_assert_true(psc_graph_same_structure(a, b));
    g_assert_false(psc_graph_same_structure(a, c));
    psc_arena_release(&arena);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/core/graph/published/prefill-has-440-nodes-with-their-layers-and-labels", test_prefill);
    g_test_add_func("/core/graph/published/fused-decode-has-305-nodes-with-their-layers", test_decode);
    g_test_add_func("/core/graph/published/unfused-decode-has-437-nodes", test_unfused);
    g_test_add_func("/core/graph/published/hidden-edges-keep-attention-behind-its-store", test_effects);
    g_test_add_func("/core/graph/random/graphs-keep-every-promise-of-the-header", test_random);
    g_test_add_func("/core/graph/random/the-same-seed-gives-the-same-graph", test_random_repeats);
    return g_test_run();
}
