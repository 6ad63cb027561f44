#include "core/base/hash.h"
#include "core/graph/graph.h"
#include "tests/qwen.h"
#include "tests/random-graph.h"
#include "tests/util.h"

#include <string.h>

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

/* ---- random drafts, most of them wrong ------------------------------------------------------------------ */

#define DRAFT_MAX 9u

struct scrawl {
    struct psc_draft_node nodes[DRAFT_MAX];
    uint64_t src[DRAFT_MAX][3], inputs[4], outputs[4];
    struct psc_draft draft;
};

static void scribble(struct scrawl *s, uint64_t *state)
{
    static const char *const ops[] = {"add", "silu", "view", "input", "cpy", "kvcache_store", "concat", "attn", "swiglu"};
    static const uint64_t dims[] = {1, 4, 0, 5, 2, UINT64_C(1) << 33};
    uint32_t n = 1 + (uint32_t)(psc_random_next(state) % DRAFT_MAX);
    bool wild = psc_random_next(state) % 2 == 0;
    memset(s, 0, sizeof *s);
    for (uint32_t i = 0; i < n; i++) {
        struct psc_draft_node *d = &s->nodes[i];
        *d = (struct psc_draft_node){.id = i, .op_name = ops[psc_random_next(state) % (wild ? 9 : 2)], .dtype_name = "f32",
                                     .src = s->src[i], .src_n = (uint32_t)(psc_random_next(state) % 3), .layer = -1,
                                     .byte = i, .shape = {4, 1, 1, 1}};
        if (!wild)
            d->op_name = "cpy"; /* any number of operands will do: only the edges can be wrong */
        else if (psc_random_next(state) % 40 == 0)
            d->id = psc_random_next(state) % 12;
        for (int k = 0; wild && k < 4; k++)
            d->shape[k] = dims[psc_random_next(state) % 16 < 15 ? 0 : psc_random_next(state) % 6];
        d->params.view_offset = psc_random_next(state) % 16 == 0;
        if (!i || (wild && d->op_name[0] == 'i'))
            d->src_n = 0;
        for (uint32_t k = 0; k < d->src_n; k++)
            s->src[i][k] = psc_random_next(state) % (wild && psc_random_next(state) % 16 ? i : n);
    }
    s->inputs[0] = psc_random_next(state) % n;
    s->outputs[0] = psc_random_next(state) % n;
    s->draft = (struct psc_draft){.nodes = s->nodes, .n = n, .inputs = s->inputs, .input_n = wild, .outputs = s->outputs,
                                  .output_n = 1};
}

/* reach[a][b]: b can be reached from a along operands. Only for dense ids. */
static void walk_all(const struct scrawl *s, bool reach[DRAFT_MAX][DRAFT_MAX])
{
    uint32_t n = s->draft.n;
    memset(reach, 0, DRAFT_MAX * sizeof *reach);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < s->nodes[i].src_n; k++)
            reach[i][s->src[i][k]] = true;
    for (uint32_t m = 0; m < n; m++)
        for (uint32_t a = 0; a < n; a++)
            for (uint32_t c = 0; c < n; c++)
                reach[a][c] = reach[a][c] || (reach[a][m] && reach[m][c]);
}

static void check_scrawl(const struct scrawl *s, const struct psc_graph *g, const struct psc_report *report,
                         unsigned *acyclic, unsigned *cyclic)
{
    bool reach[DRAFT_MAX][DRAFT_MAX], any = false;
    walk_all(s, reach);
    for (uint32_t i = 0; i < s->draft.n; i++) {
        char name[8];
        bool told = false;
        g_snprintf(name, sizeof name, " %u", i);
        for (size_t k = 0; k < report->n; k++)
            told = told || (g_str_has_prefix(report->items[k].text, "cycle:") && strstr(report->items[k].text, name));
        if (told != reach[i][i])
            g_error("node %u: told %d, in a cycle %d", i, told, reach[i][i]);
        any = any || reach[i][i];
    }
    g_assert_cmpint(any, ==, !g);
    *(any ? cyclic : acyclic) += 1;
}

static void test_scrawls(void)
{
    guint64 state = test_seed();
    unsigned good = 0, bad = 0, acyclic = 0, cyclic = 0;
    g_test_message("seed %" G_GUINT64_FORMAT, state);
    for (unsigned k = 0; k < 20000; k++) {
        struct scrawl s;
        struct psc_arena arena = {0};
        struct psc_report report = {0};
        struct psc_graph *g = NULL;
        scribble(&s, &state);
        enum psc_status status = psc_graph_from_draft(&arena, &s.draft, &report, &g, NULL);
        g_assert_true(status == PSC_OK || (status == PSC_ERR_GRAPH && report.fault_n && !g));
        if (g)
            check_graph(g);
        if (!s.draft.input_n)
            check_scrawl(&s, g, &report, &acyclic, &cyclic);
        *(g ? &good : &bad) += 1;
        psc_report_release(&report);
        psc_arena_release(&arena);
    }
    g_test_message("%u good, %u refused; %u acyclic, %u cyclic", good, bad, acyclic, cyclic);
    g_assert_cmpuint(MIN(MIN(good, bad), MIN(acyclic, cyclic)), >, 200);
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
    g_test_add_func("/core/graph/random/20000-scrawled-drafts-are-refused-or-keep-every-promise", test_scrawls);
    return g_test_run();
}
