#include "core/graph/rules.h"
#include "tests/qwen.h"
#include "tests/util.h"

#include <string.h>

/* ---- builder ---------------------------------------------------------------------------------------- */

static void test_chain(void)
{
    struct psc_builder *b = psc_builder_new();
    struct psc_arena arena = {0};
    struct psc_graph *g = NULL;
    struct psc_error error;
    psc_node x = psc_builder_input(b, "x", PSC_F32, 4, 1), w = psc_builder_input(b, "w", PSC_F32, 4, 1);
    psc_node t = psc_builder_binary(b, "t", PSC_OP_ADD, x, w), v = psc_builder_view(b, "v", t, 2, 2, 1);
    psc_node o = psc_builder_unary(b, "o", PSC_OP_SILU, v);
    psc_builder_output(b, o);
    psc_builder_output(b, o);
    g_assert_cmpint(psc_builder_finish(b, &arena, &g, &error), ==, PSC_OK);
    psc_builder_free(b);
    g_assert_cmpuint(g->n, ==, 5);
    g_assert_cmpuint(g->output_n, ==, 1);
    g_assert_cmpuint(g->nodes[v].root, ==, t);
    g_assert_cmpuint(g->nodes[v].root_offset, ==, 8);
    g_assert_cmpuint(g->nodes[t].reader_n, ==, 1);
    g_assert_cmpuint(g->readers[g->reader_at[t]], ==, v);
    psc_node order[5];
    g_assert_cmpint(psc_graph_topological(g, true, order, NULL), ==, PSC_OK);
    for (psc_node i = 0; i < 5; i++)
        g_assert_cmpuint(order[i], ==, i);
    psc_arena_release(&arena);
}

static struct psc_graph *finish(struct psc_builder *b, struct psc_arena *arena)
{
    struct psc_graph *g = NULL;
    struct psc_error error = {0};
    if (psc_builder_finish(b, arena, &g, &error) != PSC_OK)
        g_error("%s", error.text);
    psc_builder_free(b);
    return g;
}

/* A call that makes no sense is remembered: the rest may go on unchecked, the end tells the first fault. */
static void check_refused(struct psc_builder *b, const char *text)
{
    struct psc_arena arena = {0};
    struct psc_graph *g = NULL;
    struct psc_error error = {0};
    psc_builder_output(b, psc_builder_unary(b, "late", PSC_OP_SILU, 0));
    g_assert_cmpint(psc_builder_finish(b, &arena, &g, &error), ==, PSC_ERR_GRAPH);
    g_assert_null(g);
    if (!strstr(error.text, text))
        g_error("\"%s\" does not say \"%s\"", error.text, text);
    psc_builder_free(b);
    psc_arena_release(&arena);
}

static void test_refusals(void)
{
    struct psc_builder *b = psc_builder_new();
    psc_builder_unary(b, "a", PSC_OP_SILU, psc_builder_input(b, "x", PSC_F32, 4, 1) + 1);
    psc_builder_view(b, "v", 99, 0, 4, 1);
    check_refused(b, "node 1 (a): an operand does not exist");

    b = psc_builder_new();
    psc_node x = psc_builder_input(b, "x", PSC_F32, 4, 1), parts[2];
    psc_builder_split(b, "p", x, (uint64_t[]){3, 2}, 2, parts);
    g_assert_cmpuint(parts[0], ==, PSC_NONE);
    check_refused(b, "do not add up");

    b = psc_builder_new();
    x = psc_builder_input(b, "x", PSC_F32, 4, 1);
    psc_builder_split(b, "p", x, (uint64_t[]){UINT64_MAX, 5}, 2, parts);
    check_refused(b, "do not add up");

    b = psc_builder_new();
    x = psc_builder_input(b, "x", PSC_F32, 6, 1);
    psc_builder_view(b, "v", x, 4, 4, 1);
    check_refused(b, "the view takes 16 bytes from byte 16 of node 0 (x), which has only 24");

    b = psc_builder_new();
    x = psc_builder_input(b, "x", PSC_F32, 6, 1);
    psc_builder_op(b, "m", PSC_OP_MATMUL, &x, 1, NULL);
    check_refused(b, "its shape does not follow");

    b = psc_builder_new();
    psc_builder_input(b, "x", PSC_F32, 6, 1);
    psc_builder_output(b, 1);
    check_refused(b, "the output does not exist");
}

static void test_split(void)
{
    struct psc_builder *b = psc_builder_new();
    struct psc_arena arena = {0};
    psc_node parts[3], x = psc_builder_input(b, "x", PSC_F32, 8, 3);
    psc_builder_split(b, "qkv", x, (uint64_t[]){4, 0, 4}, 3, parts);
    struct psc_graph *g = finish(b, &arena);
    const uint64_t offsets[] = {0, 16, 16};
    for (int k = 0; k < 3; k++) {
        const struct psc_node_info *part = &g->nodes[parts[k]];
        g_assert_cmpuint(part->root, ==, x);
        g_assert_cmpuint(part->parent, ==, x);
        g_assert_cmpuint(part->root_offset, ==, offsets[k]);
        g_assert_cmpuint(part->shape[0], ==, k == 1 ? 0 : 4);
        g_assert_cmpuint(part->shape[1], ==, 3);
    }
    g_assert_cmpstr(g->nodes[parts[2]].name, ==, "qkv_part2");
    psc_arena_release(&arena);
}

static void test_view_chain(void)
{
    enum { DEEP = 5000 };
    struct psc_builder *b = psc_builder_new();
    struct psc_arena arena = {0};
    psc_node at = psc_builder_input(b, "x", PSC_F32, DEEP + 1, 1);
    for (int k = 0; k < DEEP; k++)
        at = psc_builder_view(b, NULL, at, 1, (uint64_t)(DEEP - k), 1);
    struct psc_graph *g = finish(b, &arena);
    g_assert_cmpuint(g->nodes[at].root, ==, 0);
    g_assert_cmpuint(g->nodes[at].root_offset, ==, 4 * DEEP);
    g_assert_cmpuint(g->nodes[at].parent, ==, at - 1);
    psc_arena_release(&arena);
}

static void test_layer_tags(void)
{
    struct psc_builder *b = psc_builder_new();
    struct psc_arena arena = {0};
    uint64_t region[4] = {4, 8, 1, 1};
    struct psc_params other = {.weight = "head.weight", .out_dim = 4};
    psc_node x = psc_builder_input(b, "x", PSC_F32, 4, 1), a = psc_builder_unary(b, "a", PSC_OP_SILU, x);
    psc_builder_set_layer(b, 2);
    psc_node c = psc_builder_unary(b, "c", PSC_OP_SILU, a);
    psc_node store = psc_builder_node(b, "kv_store.2", PSC_OP_KV_STORE, (psc_node[]){c, c}, 2, PSC_F32, region, NULL);
    psc_node late = psc_builder_input(b, "late", PSC_I32, 1, 1);
    psc_builder_set_layer(b, -1);
    psc_node d = psc_builder_unary(b, "d", PSC_OP_SILU, c);
    psc_node e = psc_builder_op(b, "e", PSC_OP_MATMUL, &d, 1, &other);
    psc_node f = psc_builder_unary(b, "f", PSC_OP_SILU, e);
    struct psc_graph *g = finish(b, &arena);
    g_assert_cmpint(g->nodes[a].layer, ==, -1);
    g_assert_cmpint(g->nodes[c].layer, ==, 2);
    g_assert_cmpint(g->nodes[store].layer, ==, 2);
    g_assert_cmpint(g->nodes[late].layer, ==, -1);
    g_assert_cmpint(g->nodes[d].layer, ==, 2); /* from its operand */
    g_assert_cmpint(g->nodes[e].layer, ==, -1); /* a weight outside the blocks */
    g_assert_cmpint(g->nodes[f].layer, ==, -1);
    g_assert_cmpuint(g->layer_n, ==, 3);
    psc_arena_release(&arena);
}

static void test_labels(void)
{
    static const struct {
        const char *name, *weight, *label;
        enum psc_op op;
    } rows[] = {
        {"matmul_blk.6.ffn_up.weight", "blk.6.ffn_up.weight", "ffn_up", PSC_OP_MATMUL},
        {"rms_norm", "blk.0.attn_norm.weight", "attn_norm", PSC_OP_RMS_NORM},
        {"qk_norm", "blk.0.attn_q_norm.weight", "attn_q_norm", PSC_OP_QK_NORM},
        {"rms_norm", NULL, "rms_norm", PSC_OP_RMS_NORM},
        {"mul", NULL, "swiglu", PSC_OP_SWIGLU},
        {"mul", NULL, "mul", PSC_OP_MUL},
        {"ffn_swiglu", NULL, "ffn_swiglu", PSC_OP_SWIGLU},
        {NULL, NULL, "scale #7", PSC_OP_SCALE},
        {"", NULL, "scale #8", PSC_OP_SCALE},
        {NULL, "w", "get_rows #9", PSC_OP_GET_ROWS},
        {"sum", NULL, "sum", PSC_OP_ADD},
        {"model.blk.3.attn_v.weight", "model.blk.3.attn_v.weight", "attn_v", PSC_OP_MATMUL},
        {"matmul_w", "w", "w", PSC_OP_MATMUL},
    };
    struct psc_builder *b = psc_builder_new();
    struct psc_arena arena = {0};
    char buf[64], small[6];
    psc_node x = psc_builder_input(b, "x", PSC_F32, 4, 1);
    for (guint k = 0; k < G_N_ELEMENTS(rows); k++) {
        struct psc_params p = {.weight = rows[k].weight, .out_dim = 4};
        psc_node src[2] = {x, x};
        psc_builder_node(b, rows[k].name, rows[k].op, src, rows[k].op == PSC_OP_SWIGLU || rows[k].op == PSC_OP_MUL ||
                         rows[k].op == PSC_OP_ADD ? 2 : 1, PSC_F32, (uint64_t[4]){4, 1, 1, 1}, &p);
    }
    psc_node wide = psc_builder_unary(b, "\u00e4\u00f6\u00fc", PSC_OP_SILU, x);
    struct psc_graph *g = finish(b, &arena);
    for (guint k = 0; k < G_N_ELEMENTS(rows); k++)
        if (k < 7 || k > 9)
            g_assert_cmpstr(psc_node_label(g, x + 1 + k, buf, sizeof buf), ==, rows[k].label);
        else {
            char *want = g_strdup_printf("%s #%u", psc_op_info(rows[k].op)->name, x + 1 + k);
            g_assert_cmpstr(psc_node_label(g, x + 1 + k, buf, sizeof buf), ==, want);
            g_free(want);
        }
    g_assert_cmpstr(psc_node_label(g, wide, small, sizeof small), ==, "\u00e4\u00f6"); /* never half a character */
    g_assert_cmpstr(psc_node_label(g, wide, small, 1), ==, "");
    g_assert_cmpstr(psc_node_backend_name(g, x), ==, "unassigned");
    psc_arena_release(&arena);
}

/* ---- ops ---------------------------------------------------------------------------------------------- */

static void test_op_names(void)
{
    for (unsigned op = PSC_OP_OTHER; op < PSC_OP_N; op++) {
        const struct psc_op_info *info = psc_op_info((enum psc_op)op);
        g_assert_cmpint((int)psc_op_from_name(info->name), ==, (int)op);
        g_assert_cmpuint(strlen(info->short_name), <=, 5);
        g_assert_cmpuint(strlen(info->word), >, 20);
        g_assert_true(info->src_max < 0 || info->src_max >= info->src_min);
        /* An op may run in place only where it reads an operand. */
        for (int k = 0; k < 32; k++)
            if ((info->may_overwrite | info->upstream_alias) >> k & 1)
                g_assert_cmpint(k, <, info->src_max);
        g_assert_cmpuint(info->upstream_alias & ~info->may_overwrite, ==, 0);
    }
    g_assert_cmpint((int)psc_op_from_name("cpy"), ==, PSC_OP_OTHER);
    g_assert_cmpint((int)psc_op_from_name(NULL), ==, PSC_OP_OTHER);
}

static void test_dtypes(void)
{
    static const struct {
        enum psc_dtype dtype;
        uint64_t elements, bytes;
    } rows[] = {
        {PSC_F32, 3, 12}, {PSC_I32, 3, 12}, {PSC_F16, 3, 6}, {PSC_BF16, 3, 6}, {PSC_DTYPE_OTHER, 3, 12},
        {PSC_Q8_0, 0, 0}, {PSC_Q8_0, 1, 34}, {PSC_Q8_0, 32, 34}, {PSC_Q8_0, 33, 68},
    };
    uint64_t bytes = 7;
    for (guint k = 0; k < G_N_ELEMENTS(rows); k++) {
        g_assert_true(psc_dtype_bytes(rows[k].dtype, rows[k].elements, &bytes));
        g_assert_cmpuint(bytes, ==, rows[k].bytes);
    }
    bytes = 7;
    g_assert_false(psc_dtype_bytes(PSC_F32, UINT64_MAX / 4 + 1, &bytes));
    g_assert_false(psc_dtype_bytes(PSC_Q8_0, UINT64_MAX, &bytes));
    g_assert_cmpuint(bytes, ==, 7);
    for (unsigned d = 0; d < PSC_DTYPE_OTHER; d++)
        g_assert_cmpint((int)psc_dtype_from_name(psc_dtype_name((enum psc_dtype)d)), ==, (int)d);
    g_assert_cmpint((int)psc_dtype_from_name("q4_K"), ==, PSC_DTYPE_OTHER);
}

static void test_shape_rules(void)
{
    const uint64_t x[2][4] = {{8, 3, 1, 1}, {5, 3, 1, 1}}, ids[2][4] = {{8, 3, 1, 1}, {2, 1, 1, 1}};
    const struct psc_params p = {.out_dim = 7, .in_dim = 8, .n_head = 2, .hd = 5, .nqt = 6, .nkt = 2, .nf = 9};
    const struct psc_params along = {.dim = 1}, huge = {.nf = UINT64_MAX};
    uint64_t shape[4] = {0};
    static const struct {
        enum psc_op op;
        uint64_t d0;
    } rows[] = {
        {PSC_OP_ADD, 8}, {PSC_OP_SILU, 8}, {PSC_OP_ROPE, 8}, {PSC_OP_RMS_NORM, 8}, {PSC_OP_QK_NORM, 8},
        {PSC_OP_SOFTMAX, 8}, {PSC_OP_SCALE, 8}, {PSC_OP_SWIGLU, 8}, {PSC_OP_QKV_BIAS_ROPE_STORE, 8},
        {PSC_OP_MATMUL, 7}, {PSC_OP_ATTN, 10}, {PSC_OP_FUSED_QKV, 10}, {PSC_OP_FUSED_QKV_NORM, 10},
        {PSC_OP_FUSED_FFN, 18}, {PSC_OP_CONCAT, 13},
    };
    for (guint k = 0; k < G_N_ELEMENTS(rows); k++) {
        g_assert_true(psc_op_shape(rows[k].op, &p, x, 2, shape));
        g_assert_cmpuint(shape[0], ==, rows[k].d0);
        g_assert_cmpuint(shape[1], ==, 3);
    }
    g_assert_true(psc_op_shape(PSC_OP_GET_ROWS, NULL, ids, 2, shape));
    g_assert_cmpuint(shape[0], ==, 8);
    g_assert_cmpuint(shape[1], ==, 2);
    g_assert_false(psc_op_shape(PSC_OP_CONCAT, &along, x, 2, shape)); /* 8 and 5 differ beside the axis */
    g_assert_true(psc_op_shape(PSC_OP_CONCAT, &along, x, 1, shape));
    g_assert_false(psc_op_shape(PSC_OP_MATMUL, NULL, x, 1, shape));
    g_assert_false(psc_op_shape(PSC_OP_FUSED_FFN, &huge, x, 1, shape));
    g_assert_false(psc_op_shape(PSC_OP_ADD, NULL, x, 0, shape));
    g_assert_false(psc_op_shape(PSC_OP_VIEW, NULL, x, 1, shape));
}

static void test_readings(void)
{
    struct psc_arena arena = {0};
    struct psc_graph *g = qwen_graph(&arena, &qwen_decode);
    psc_node qkv = 34, load = 35, attn = 36, ffn = 40, down = 41;
    struct psc_reading r = psc_op_reading(g, attn, 0);
    g_assert_cmpint((int)g->nodes[qkv].op, ==, PSC_OP_FUSED_QKV);
    g_assert_cmpint((int)r.access, ==, PSC_ACCESS_FULL);
    g_assert_cmpuint(r.hi, ==, 896 * 4); /* q only, of q, k and v */
    g_assert_cmpuint(g->nodes[qkv].bytes, ==, 1152 * 4);
    r = psc_op_reading(g, attn, 1);
    g_assert_cmpuint(psc_node_srcs(g, attn)[1], ==, load);
    g_assert_cmpint((int)r.access, ==, PSC_ACCESS_ROWS);
    r = psc_op_reading(g, down, 0);
    g_assert_cmpuint(g->nodes[ffn].bytes, ==, 2 * 4864 * 4);
    g_assert_cmpuint(r.hi, ==, 4864 * 4); /* the first half */
    g = qwen_graph(&arena, &qwen_prefill);
    g_assert_cmpint((int)psc_op_reading(g, 429, 0).access, ==, PSC_ACCESS_ROWS);
    g_assert_cmpint((int)psc_op_reading(g, 429, 1).access, ==, PSC_ACCESS_FULL);
    for (psc_node i = 0; i < g->n; i++)
        for (uint32_t k = 0; k < g->nodes[i].src_n; k++) {
            r = psc_op_reading(g, i, k);
            g_assert_cmpuint(r.hi, ==, g->nodes[psc_node_srcs(g, i)[k]].bytes);
        }
    psc_arena_release(&arena);
}

static void test_params_equal(void)
{
    struct psc_params a = {.eps = 1e-6f, .weight = "w", .bias = {"b"}, .perm = {1, 0}}, b = a;
    char other[] = "w";
    b.weight = other;
    g_assert_true(psc_params_equal(&a, &b));
    b.weight = NULL;
    g_assert_false(psc_params_equal(&a, &b));
    b = a;
    b.bias[2] = "b";
    g_assert_false(psc_params_equal(&a, &b));
    b = a;
    b.eps = 1e-5f;
    g_assert_false(psc_params_equal(&a, &b));
}

/* ---- order, levels, splits ---------------------------------------------------------------------------- */

/* The graph of lesson L1: by Kahn's order h looks dead before `late` reads it. */
static void test_kahn(void)
{
    struct psc_builder *b = psc_builder_new();
    struct psc_arena arena = {0};
    psc_node x = psc_builder_input(b, "x", PSC_F32, 4, 1), w = psc_builder_input(b, "w", PSC_F32, 4, 1);
    psc_node h = psc_builder_binary(b, "h", PSC_OP_ADD, x, w), n = psc_builder_binary(b, "n", PSC_OP_MUL, h, w);
    psc_node a = psc_builder_binary(b, "a", PSC_OP_ADD, n, w), late = psc_builder_binary(b, "late", PSC_OP_MUL, h, w);
    psc_node o = psc_builder_binary(b, "o", PSC_OP_ADD, a, late);
    psc_node twice = psc_builder_binary(b, "twice", PSC_OP_ADD, o, o), order[8];
    struct psc_graph *g = finish(b, &arena);
    uint32_t level[8];
    const psc_node kahn[] = {x, w, h, n, late, a, o, twice};
    const uint32_t levels[] = {0, 0, 1, 2, 3, 2, 4, 5};
    g_assert_cmpint(psc_graph_topological(g, false, order, NULL), ==, PSC_OK);
    g_assert_cmpint(psc_graph_levels(g, level, NULL), ==, PSC_OK);
    for (guint i = 0; i < 8; i++) {
        g_assert_cmpuint(order[i], ==, kahn[i]);
        g_assert_cmpuint(level[i], ==, levels[i]);
    }
    g_assert_cmpuint(g->nodes[o].reader_n, ==, 2); /* a repeated source is two readers */
    psc_arena_release(&arena);
}

static void test_splits(void)
{
    struct psc_builder *b = psc_builder_new();
    struct psc_arena arena = {0};
    psc_builder_set_backend(b, "cpu");
    psc_node x = psc_builder_input(b, "x", PSC_F32, 4, 1);
    psc_builder_set_backend(b, "metal");
    psc_node s = psc_builder_unary(b, "s", PSC_OP_SILU, x);
    psc_builder_set_backend(b, NULL);
    psc_node u = psc_builder_unary(b, "u", PSC_OP_SILU, s);
    psc_builder_set_backend(b, "cpu");
    psc_node o = psc_builder_binary(b, "o", PSC_OP_ADD, u, x);
    psc_builder_binary(b, "p", PSC_OP_ADD, o, u);
    struct psc_graph *g = finish(b, &arena);
    const struct psc_split *split = NULL;
    uint32_t n = 0;
    g_assert_cmpint(psc_graph_splits(&arena, g, &split, &n), ==, PSC_OK);
    g_assert_cmpuint(n, ==, 3);
    g_assert_cmpuint(split[1].first, ==, s);
    g_assert_cmpuint(split[1].last, ==, u); /* an unassigned node inherits */
    g_assert_cmpuint(split[0].output_n, ==, 1);
    g_assert_cmpuint(split[0].outputs[0], ==, x);
    g_assert_cmpuint(split[1].output_n, ==, 1);
    g_assert_cmpuint(split[1].outputs[0], ==, u);
    g_assert_cmpuint(split[2].input_n, ==, 2);
    g_assert_cmpuint(split[2].inputs[0], ==, u); /* first seen order */
    g_assert_cmpuint(split[2].inputs[1], ==, x);
    psc_arena_release(&arena);
}

static void test_no_nodes(void)
{
    struct psc_arena arena = {0};
    struct psc_graph *g = finish(psc_builder_new(), &arena);
    const struct psc_split *split = NULL;
    uint32_t n = 7;
    g_assert_cmpuint(g->n, ==, 0);
    g_assert_cmpint(psc_graph_splits(&arena, g, &split, &n), ==, PSC_OK);
    g_assert_cmpuint(n, ==, 0);
    g_assert_cmpint(psc_graph_topological(g, true, NULL, NULL), ==, PSC_OK);
    g_assert_cmpuint(psc_graph_find(g, 0), ==, PSC_NONE);
    psc_arena_release(&arena);
}

/* ---- out of memory -------------------------------------------------------------------------------------- */

static enum psc_status build_once(void *data)
{
    struct psc_arena arena = {0};
    struct psc_graph *g = NULL;
    const struct psc_split *split;
    uint32_t n;
    psc_node order[8];
    struct psc_builder *b = psc_builder_new();
    (void)data;
    if (!b)
        return PSC_ERR_NOMEM;
    psc_builder_set_backend(b, "cpu");
    psc_node x = psc_builder_input(b, "x", PSC_F32, 400, 1);
    struct psc_params p = {.weight = "blk.0.w.weight", .out_dim = 800};
    psc_node m = psc_builder_op(b, "m", PSC_OP_MATMUL, &x, 1, &p), part[2];
    psc_builder_split(b, "half", m, (uint64_t[]){400, 400}, 2, part);
    psc_builder_output(b, psc_builder_binary(b, "o", PSC_OP_SWIGLU, part[0], part[1]));
    enum psc_status status = psc_builder_finish(b, &arena, &g, NULL);
    psc_builder_free(b);
    if (status == PSC_OK)
        status = psc_graph_topological(g, true, order, NULL);
    if (status == PSC_OK)
        status = psc_graph_splits(&arena, g, &split, &n);
    psc_arena_release(&arena);
    return status;
}

static void test_builder_oom(void)
{
    g_assert_cmpuint(test_oom_loop(build_once, NULL), >, 8);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/core/graph/builder/makes-the-graph-of-the-header", test_chain);
    g_test_add_func("/core/graph/builder/remembers-the-first-call-that-makes-no-sense", test_refusals);
    g_test_add_func("/core/graph/builder/splits-along-the-first-dimension", test_split);
    g_test_add_func("/core/graph/builder/resolves-a-chain-of-5000-views-to-its-root", test_view_chain);
    g_test_add_func("/core/graph/builder/tags-the-nodes-made-after-set-layer", test_layer_tags);
    g_test_add_func("/core/graph/builder/survives-every-failed-allocation", test_builder_oom);
    g_test_add_func("/core/graph/labels/say-what-a-node-is-for", test_labels);
    g_test_add_func("/core/graph/ops/have-names-that-find-them", test_op_names);
    g_test_add_func("/core/graph/ops/count-bytes-by-dtype", test_dtypes);
    g_test_add_func("/core/graph/ops/make-the-shape-of-their-rule", test_shape_rules);
    g_test_add_func("/core/graph/ops/read-windows-and-rows", test_readings);
    g_test_add_func("/core/graph/ops/compare-their-payload-deeply", test_params_equal);
    g_test_add_func("/core/graph/order/kahn-walks-first-in-first-out-and-ascending", test_kahn);
    g_test_add_func("/core/graph/order/splits-at-backend-changes-with-inputs-and-outputs", test_splits);
    g_test_add_func("/core/graph/order/a-graph-without-nodes-is-a-graph", test_no_nodes);
    return g_test_run();
}
