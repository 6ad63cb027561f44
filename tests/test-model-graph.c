/* The graphs of Qwen2 and Qwen3: against the published ones (tests/qwen.h), and every option. */
#include "core/model/build.h"

#include "core/graph/fuse.h"
#include "core/graph/rules.h"
#include "core/model/preset.h"
#include "core/plan/plan.h"
#include "tests/qwen.h"
#include "tests/util.h"

#include <string.h>

static bool takes_cpu(enum psc_op op, enum psc_dtype dtype, const struct psc_params *params)
{
    (void)params;
    return dtype == PSC_F32 && op != PSC_OP_FUSED_QKV && op != PSC_OP_FUSED_QKV_NORM && op != PSC_OP_FUSED_FFN &&
           op != PSC_OP_QKV_BIAS_ROPE_STORE;
}
static bool takes_metal(enum psc_op op, enum psc_dtype dtype, const struct psc_params *params)
{
    (void)params;
    return op == PSC_OP_INPUT || (dtype == PSC_F32 && op != PSC_OP_QKV_BIAS_ROPE_STORE);
}
static bool takes_cuda(enum psc_op op, enum psc_dtype dtype, const struct psc_params *params)
{
    (void)params;
    return dtype == PSC_F32 && op != PSC_OP_FUSED_QKV_NORM;
}
static const struct psc_target targets[] = {
    {"cpu", NULL, 100, NULL, takes_cpu, false},
    {"deferred", "metal", 300, NULL, takes_metal, true},
    {"cuda", NULL, 200, NULL, takes_cuda, true},
};
enum { TARGETS = 3 };

static struct psc_model *preset(struct psc_arena *arena, const char *name, const char *mix)
{
    struct psc_model *model = NULL;
    g_assert_cmpint(psc_model_preset(arena, psc_preset_find(name), mix, &model, NULL), ==, PSC_OK);
    return model;
}

static struct psc_graph *build(struct psc_arena *arena, const struct psc_model *model,
                               const struct psc_model_graph_options *options, const char *backend)
{
    struct psc_offload offload;
    struct psc_graph *g = NULL;
    struct psc_error error = {0};
    if (psc_offload_parse(backend, targets, TARGETS, &offload, &error) ||
        psc_model_graph_on(arena, model, options, targets, TARGETS, &offload, &g, &error))
        g_error("%s", error.text);
    return g;
}

/* Everything a file would say of the two graphs is the same. */
static void assert_same(const struct psc_graph *a, const struct psc_graph *b)
{
    g_assert_cmpuint(a->n, ==, b->n);
    g_assert_true(psc_graph_same_structure(a, b));
    for (psc_node i = 0; i < a->n; i++) {
        const struct psc_node_info *x = &a->nodes[i], *y = &b->nodes[i];
        g_assert_cmpstr(x->name, ==, y->name);
        g_assert_cmpstr(x->op_name, ==, y->op_name);
        g_assert_cmpstr(psc_node_backend_name(a, i), ==, psc_node_backend_name(b, i));
        g_assert_cmpint(x->dtype, ==, y->dtype);
        g_assert_cmpint(x->is_input, ==, y->is_input);
        g_assert_cmpint(x->is_output, ==, y->is_output);
        g_assert_cmpint(x->layer, ==, y->layer);
        struct psc_params p = *x->params;
        if (x->op == PSC_OP_FUSED_QKV) /* tests/qwen.h leaves these out */
            memset(p.bias, 0, sizeof p.bias);
        if (!psc_params_equal(&p, y->params))
            g_error("node %u (%s): parameters differ", i, x->name);
    }
    g_assert_cmpstr(a->kind, ==, b->kind);
    g_assert_cmpstr(a->model, ==, b->model);
}

static void test_published(void)
{
    struct psc_arena arena = {0};
    const struct psc_model *model = preset(&arena, "qwen2.5-0.5b", NULL);
    struct psc_model_graph_options o = {.n_tokens = 2, .n_ctx = 4096, .fuse_qkv = true, .fuse_ffn = true,
                                        .bias_rope_store = true};
    struct qwen_options cpu = qwen_prefill;
    cpu.backend = "cpu";
    cpu.tokens = o.n_tokens = 440;
    assert_same(build(&arena, model, &o, "cpu"), qwen_graph(&arena, &cpu));
    o.n_tokens = 2;
    assert_same(build(&arena, model, &o, "deferred"), qwen_graph(&arena, &qwen_prefill));
    o.n_tokens = 1;
    assert_same(build(&arena, model, &o, "deferred"), qwen_graph(&arena, &qwen_decode));
    assert_same(build(&arena, model, &o, "cpu"), qwen_graph(&arena, &qwen_unfused));
    psc_arena_release(&arena);
}

/* ---- counts ----------------------------------------------------------------------------------------------------- */

struct count {
    const char *path, *preset, *mix, *backend;
    uint64_t tokens;
    bool no_qkv, no_ffn;
    uint32_t nodes;
};
static const struct count counts[] = {
    {"prefill-440", "qwen2.5-0.5b", NULL, "cpu", 30, false, false, 440},
    {"decode-437", "qwen2.5-0.5b", NULL, "cpu", 1, false, false, 437},
    {"decode-305-with-mixed-layers", "qwen2.5-0.5b", NULL, "deferred", 1, false, false, 305},
    {"decode-245-all-fused", "qwen2.5-0.5b", "q8_0", "deferred", 1, false, false, 245},
    {"cuda-stores-mixed-layers-in-13-nodes", "qwen2.5-0.5b", NULL, "cuda", 1, false, false, 5 + 12 * 10 + 12 * 13},
    {"no-fuse-qkv", "qwen2.5-0.5b", NULL, "deferred", 1, true, false, 5 + 24 * 15},
    {"no-fuse-qkv-on-cuda-neither", "qwen2.5-0.5b", NULL, "cuda", 1, true, false, 5 + 24 * 15},
    {"no-fuse-ffn", "qwen2.5-0.5b", NULL, "deferred", 1, false, true, 305 + 24 * 3},
    {"7b-feed-forward-is-too-wide", "qwen2.5-7b", "q8_0", "deferred", 1, false, false, 5 + 28 * 13},
    {"7b-prefill", "qwen2.5-7b", NULL, "cpu", 2, false, false, 512},
    {"qwen3-prefill-568", "qwen3-0.6b", NULL, "deferred", 2, false, false, 568},
    {"qwen3-decode-565", "qwen3-0.6b", NULL, "cpu", 1, false, false, 565},
    {"qwen3-decode-285", "qwen3-0.6b", NULL, "deferred", 1, false, false, 285},
    {"qwen3-decode-481-on-cuda", "qwen3-0.6b", NULL, "cuda", 1, false, false, 481},
};

static void test_count(const void *data)
{
    const struct count *c = data;
    struct psc_arena arena = {0};
    struct psc_model_graph_options o = {.n_tokens = c->tokens, .n_ctx = 4096, .fuse_qkv = !c->no_qkv,
                                        .fuse_ffn = !c->no_ffn, .bias_rope_store = true};
    g_assert_cmpuint(build(&arena, preset(&arena, c->preset, c->mix), &o, c->backend)->n, ==, c->nodes);
    psc_arena_release(&arena);
}

/* ---- a graph as text ----------------------------------------------------------------------------------------------- */

/* "4 rms_norm<3 5 matmul<4 ...", the nodes from `first` on. */
static char *listed(const struct psc_graph *g, psc_node first, psc_node end)
{
    GString *out = g_string_new(NULL);
    for (psc_node i = first; i < end && i < g->n; i++) {
        const struct psc_node_info *node = &g->nodes[i];
        g_string_append_printf(out, "%s%u %s", i > first ? " " : "", i, node->op == PSC_OP_INPUT ? node->name : node->op_name);
        for (uint32_t k = 0; k < node->src_n; k++)
            g_string_append_printf(out, "%c%u", k ? ',' : '<', psc_node_srcs(g, i)[k]);
    }
    return g_string_free(out, FALSE);
}

static void assert_listed(const struct psc_graph *g, psc_node first, psc_node end, const char *expected)
{
    char *got = listed(g, first, end);
    g_assert_cmpstr(got, ==, expected);
    g_free(got);
}

static uint64_t d0(const struct psc_graph *g, const char *name)
{
    for (psc_node i = 0; i < g->n; i++)
        if (!strcmp(g->nodes[i].name, name))
            return g->nodes[i].shape[0];
    return 0;
}

static void test_span(void)
{
    struct psc_arena arena = {0};
    struct psc_model_graph_options o = {.n_tokens = 5, .n_ctx = 64, .kv_inputs = PSC_KV_SPAN, .head_inputs = true};
    struct psc_graph *g = build(&arena, preset(&arena, "tiny-qwen2", NULL), &o, "cpu");
    assert_listed(g, 0, 25,
                  "0 token_ids 1 positions 2 tail_ids 3 get_rows<0 4 rms_norm<3 5 matmul<4 6 matmul<4 7 matmul<4 8 rope<5,1 "
                  "9 rope<6,1 10 cells 11 kvcache_store<9,7,10 12 kvcache_load 13 attn_span 14 seq_ids 15 attn<8,12,1,13 "
                  "16 matmul<15 17 add<3,16 18 rms_norm<17 19 matmul<18 20 matmul<18 21 silu<19 22 swiglu<19,20 23 matmul<22 "
                  "24 add<17,23");
    assert_listed(g, 25, 36, "25 rms_norm<24 26 matmul<25 27 matmul<25 28 matmul<25 29 rope<26,1 30 rope<27,1 "
                             "31 kvcache_store<30,28,10 32 kvcache_load 33 attn<29,32,1,13 34 matmul<33 35 add<24,34");
    g_assert_cmpuint(g->n, ==, 440 - 21 * 18 + 3); /* the tail input only moved */
    g_assert_cmpuint(d0(g, "cells"), ==, 5);
    g_assert_cmpuint(d0(g, "attn_span"), ==, 10);
    g_assert_cmpuint(d0(g, "seq_ids"), ==, 5);
    g_assert_cmpuint(d0(g, "tail_ids"), ==, 1);
    g_assert_true(g->nodes[15].params->explicit_span);
    g_assert_cmpuint(g->nodes[14].reader_n, ==, 0);
    for (psc_node i = 0; i < g->n; i++)
        if (g->nodes[i].op == PSC_OP_INPUT)
            g_assert_cmpint(g->nodes[i].layer, ==, -1);
    psc_arena_release(&arena);
}

static void test_map(void)
{
    struct psc_arena arena = {0};
    struct psc_model_graph_options o = {.n_tokens = 3, .n_ctx = 64, .n_out = 3, .kv_inputs = PSC_KV_MAP, .row_elems = 9};
    struct psc_graph *g = build(&arena, preset(&arena, "tiny-qwen3", NULL), &o, "cpu");
    assert_listed(g, 3, 18,
                  "3 rms_norm<2 4 matmul<3 5 matmul<3 6 matmul<3 7 qk_norm<4 8 qk_norm<5 9 rope<7,1 10 rope<8,1 11 cells "
                  "12 kvcache_store<10,6,11 13 kvcache_load 14 kv_map 15 seq_ids 16 attn<9,13,1,14 17 matmul<16");
    g_assert_cmpuint(d0(g, "kv_map"), ==, 3 * 8);
    g_assert_cmpuint(d0(g, "tail_ids"), ==, 0);
    g_assert_false(g->nodes[16].params->explicit_span);
    g_assert_cmpuint(g->nodes[12].params->row_elems, ==, 9);
    g_assert_cmpuint(g->nodes[13].params->row_elems, ==, 9);
    g_assert_cmpuint(g->nodes[g->n - 1].shape[1], ==, 3);
    psc_arena_release(&arena);
}

static void test_fused_with_cells(void)
{
    struct psc_arena arena = {0};
    struct psc_model_graph_options o = {.n_tokens = 1, .n_ctx = 64, .kv_inputs = PSC_KV_SPAN, .fuse_qkv = true,
                                        .fuse_ffn = true, .bias_rope_store = true, .row_elems = 9};
    const struct psc_model *two = preset(&arena, "tiny-qwen2", NULL), *three = preset(&arena, "tiny-qwen3", NULL);
    struct psc_graph *g = build(&arena, two, &o, "deferred");
    assert_listed(g, 3, 16, "3 rms_norm<2 4 cells 5 fused_qkv<3,1,4 6 kvcache_load 7 attn_span 8 seq_ids 9 attn<5,6,1,7 "
                            "10 matmul<9 11 add<2,10 12 rms_norm<11 13 fused_ffn<12 14 matmul<13 15 add<11,14");
    g_assert_cmpuint(g->nodes[5].shape[0], ==, 64 + 2 * 32);
    g_assert_cmpuint(g->nodes[5].params->kv_elems, ==, 32 * 64);
    g_assert_cmpuint(g->nodes[5].params->row_elems, ==, 9);
    g_assert_cmpstr(g->nodes[5].params->weight, ==, "blk.0.attn_qkv");
    g_assert_cmpstr(g->nodes[5].params->bias[2], ==, "blk.0.attn_v.bias");
    g = build(&arena, three, &o, "deferred");
    assert_listed(g, 3, 7, "3 rms_norm<2 4 cells 5 fused_qkv_norm<3,1,4 6 kvcache_load");
    g_assert_cmpstr(g->nodes[5].params->q_norm, ==, "blk.0.attn_q_norm.weight");
    g_assert_cmpstr(g->nodes[5].params->k_norm, ==, "blk.0.attn_k_norm.weight");
    g_assert_null(g->nodes[5].params->bias[0]);
    g_assert_cmpfloat(g->nodes[5].params->eps, ==, 1e-6f);
    /* the last of three blocks has the better attn_v: not joined */
    const struct psc_model *mixed = preset(&arena, "tiny-qwen2", "q4_k_m");
    g_assert_null(psc_model_weight(mixed, "blk.2.attn_qkv"));
    g_assert_nonnull(psc_model_weight(mixed, "blk.0.attn_qkv"));
    g = build(&arena, mixed, &o, "cuda");
    assert_listed(g, 26, 33, "26 rms_norm<25 27 matmul<26 28 matmul<26 29 matmul<26 30 qkv_bias_rope_store<27,28,29,1,4 "
                             "31 kvcache_load 32 attn<30,31,1,7");
    g_assert_null(g->nodes[27].params->bias[0]);
    g_assert_cmpuint(g->nodes[30].shape[0], ==, 64);
    o.kv_inputs = PSC_KV_POSITIONS;
    g = build(&arena, mixed, &o, "cuda");
    assert_listed(g, 23, 29, "23 rms_norm<22 24 matmul<23 25 matmul<23 26 matmul<23 27 qkv_bias_rope_store<24,25,26,1 "
                             "28 kvcache_load");
    psc_arena_release(&arena);
}

/* Without one of its biases a block is not fused, and its node says null. */
static void test_missing_bias(void)
{
    struct psc_arena arena = {0};
    struct psc_model *model = preset(&arena, "tiny-qwen2", NULL), *bare = NULL;
    struct psc_weight *weights = g_memdup2(model->weights, model->file_n * sizeof *weights);
    for (uint32_t i = 0; i < model->file_n; i++)
        if (!strcmp(weights[i].name, "blk.1.attn_k.bias"))
            weights[i].name = "blk.1.attn_k.nothing";
    g_assert_cmpint(psc_model_new(&arena, "m", &model->hyper, weights, model->file_n, &bare, NULL), ==, PSC_OK);
    g_free(weights);
    struct psc_model_graph_options o = {.n_tokens = 1, .n_ctx = 64, .fuse_qkv = true, .bias_rope_store = true};
    struct psc_graph *g = build(&arena, bare, &o, "cuda");
    uint32_t fused = 0, null_k = 0;
    for (psc_node i = 0; i < g->n; i++) {
        fused += g->nodes[i].op == PSC_OP_FUSED_QKV;
        null_k += !strcmp(g->nodes[i].name, "matmul_blk.1.attn_k.weight") && !g->nodes[i].params->bias[0];
    }
    g_assert_cmpuint(fused, ==, 2);
    g_assert_cmpuint(null_k, ==, 1);
    psc_arena_release(&arena);
}

static void test_layer_fuse(void)
{
    struct psc_arena arena = {0};
    static const uint8_t bits[3] = {PSC_FUSE_ALL, PSC_FUSE_FFN, 0};
    struct psc_model_graph_options o = {.n_tokens = 1, .n_ctx = 64, .fuse_qkv = true, .fuse_ffn = true, .layer_fuse = bits};
    struct psc_graph *g = build(&arena, preset(&arena, "tiny-qwen2", NULL), &o, "deferred");
    g_assert_cmpuint(g->n, ==, 5 + 10 + 15 + 18);
    o.layer_fuse = NULL;
    g = build(&arena, preset(&arena, "tiny-qwen2", NULL), &o, "mixed:1-1=deferred,2-9=cuda");
    g_assert_cmpuint(g->n, ==, 5 + 18 + 10 + 10);
    for (psc_node i = 0; i < g->n; i++) {
        static const char *const where[] = {"cpu", "metal", "cuda"};
        if (g->nodes[i].layer >= 0)
            g_assert_cmpstr(psc_node_backend_name(g, i), ==, where[g->nodes[i].layer]);
        else
            g_assert_cmpstr(psc_node_backend_name(g, i), ==, "cpu");
    }
    o.n_tokens = 2; /* prefill never fuses for decode */
    g_assert_cmpuint(build(&arena, preset(&arena, "tiny-qwen2", NULL), &o, "deferred")->n, ==, 440 - 21 * 18);
    psc_arena_release(&arena);
}

static void test_rows_out(void)
{
    struct psc_arena arena = {0};
    const struct psc_model *model = preset(&arena, "tiny-qwen2", NULL);
    for (uint64_t n_out = 0; n_out <= 6; n_out++) {
        struct psc_model_graph_options o = {.n_tokens = 6, .n_ctx = 64, .n_out = n_out};
        struct psc_graph *g = build(&arena, model, &o, "cpu");
        uint64_t rows = n_out ? n_out : 1;
        g_assert_cmpuint(g->n, ==, 3 + 3 * 18 + 2 + (rows < 6 ? 3 : 0));
        g_assert_cmpuint(g->output_n, ==, 1);
        g_assert_cmpuint(g->outputs[0], ==, g->n - 1);
        g_assert_cmpuint(g->nodes[g->n - 1].shape[0], ==, 512);
        g_assert_cmpuint(g->nodes[g->n - 1].shape[1], ==, rows);
        g_assert_cmpuint(d0(g, "tail_ids"), ==, rows < 6 ? rows : 0);
    }
    psc_arena_release(&arena);
}

/* Whatever the options: shapes follow the rules of the ops, blocks carry their layer, and a hardened plan fits. */
static void test_all_options(void)
{
    static const char *const presets[] = {"tiny-qwen2", "tiny-qwen3", "tiny-qwen2-k"};
    static const char *const backends[] = {"cpu", "deferred", "cuda", "mixed:1-1=deferred"};
    struct psc_plan_options plan_options = psc_plan_defaults;
    unsigned made = 0;
    plan_options.mode = PSC_MODE_HARDENED;
    for (unsigned bits = 0; bits < 3 * 4 * 3 * 3 * 4; bits++) {
        struct psc_arena arena = {0};
        unsigned b = bits;
        const struct psc_model *model = preset(&arena, presets[b % 3], NULL);
        const char *backend = backends[(b /= 3) % 4];
        struct psc_model_graph_options o = {.n_ctx = 64, .bias_rope_store = true};
        o.kv_inputs = (enum psc_kv_inputs)((b /= 4) % 3);
        o.n_tokens = (b /= 3) % 3 == 0 ? 1 : b % 3 == 1 ? 2 : 17;
        o.fuse_qkv = (b /= 3) & 1;
        o.fuse_ffn = o.head_inputs = b & 2;
        struct psc_graph *g = build(&arena, model, &o, backend);
        struct psc_plan *plan;
        struct psc_error error = {0};
        for (psc_node i = 0; i < g->n; i++) {
            const struct psc_node_info *node = &g->nodes[i];
            uint64_t src[8][4], rule[4];
            for (uint32_t k = 0; k < node->src_n; k++)
                memcpy(src[k], g->nodes[psc_node_srcs(g, i)[k]].shape, sizeof src[k]);
            if (psc_op_shape(node->op, node->params, (const uint64_t(*)[4])src, node->src_n, rule))
                g_assert_cmpmem(rule, sizeof rule, node->shape, sizeof node->shape);
            if (strstr(node->name, "blk."))
                g_assert_cmpint(node->layer, ==, atoi(strstr(node->name, "blk.") + 4));
        }
        g_assert_cmpuint(g->layer_n, ==, 3);
        g_assert_cmpstr(g->nodes[PSC_MODEL_POSITIONS].name, ==, "positions");
        g_assert_cmpuint(g->nodes[PSC_MODEL_POSITIONS].id, ==, PSC_MODEL_POSITIONS);
        if (psc_planner_find("pool")->plan(&arena, g, &plan_options, &plan, &error))
            g_error("%s", error.text);
        g_assert_cmpuint(plan->figures.kv_bytes, ==, UINT64_C(3) * 2 * 64 * model->hyper.n_kv * 4);
        psc_arena_release(&arena);
        made++;
    }
    g_assert_cmpuint(made, ==, 432);
}

/* The published sizes of the newest rules: decode in 11 buffers, prefill in 18. */
static void test_figures(void)
{
    static const struct {
        uint64_t tokens, buffers;
        double pool, peak, naive; /* MB */
    } rows[] = {{1, 11, 0.74, 0.63, 3.3}, {30, 18, 2.88, 0, 78.4}, {440, 18, 31.7, 27.3, 1140}, {512, 18, 36.7, 0, 1327}};
    for (unsigned k = 0; k < G_N_ELEMENTS(rows); k++) {
        struct psc_arena arena = {0};
        struct psc_model_graph_options o = {.n_tokens = rows[k].tokens, .n_ctx = 4096};
        struct psc_graph *g = build(&arena, preset(&arena, "qwen2.5-0.5b", NULL), &o, "cpu");
        struct psc_plan *plan;
        g_assert_cmpint(psc_planner_find("pool")->plan(&arena, g, &psc_plan_defaults, &plan, NULL), ==, PSC_OK);
        g_assert_cmpuint(plan->figures.buffers, ==, rows[k].buffers);
        g_assert_cmpfloat((double)plan->figures.pool_bytes / 1e6 - rows[k].pool, <, rows[k].pool * 0.01);
        g_assert_cmpfloat((double)plan->figures.pool_bytes / 1e6 - rows[k].pool, >, -rows[k].pool * 0.01);
        g_assert_cmpfloat((double)plan->figures.naive_bytes / 1e6 / rows[k].naive, >, 0.98);
        g_assert_cmpfloat((double)plan->figures.naive_bytes / 1e6 / rows[k].naive, <, 1.02);
        if (rows[k].peak > 0) {
            g_assert_cmpfloat((double)plan->figures.peak_live_bytes / 1e6 / rows[k].peak, >, 0.98);
            g_assert_cmpfloat((double)plan->figures.peak_live_bytes / 1e6 / rows[k].peak, <, 1.02);
        }
        psc_arena_release(&arena);
    }
}

static void assert_refused(struct psc_model_graph_options o, const char *sentence)
{
    struct psc_arena arena = {0};
    struct psc_error error = {0};
    struct psc_graph *g = NULL;
    g_assert_cmpint(psc_model_graph(&arena, preset(&arena, "tiny-qwen2", NULL), &o, &g, &error), ==, PSC_ERR_USAGE);
    g_assert_cmpstr(error.text, ==, sentence);
    g_assert_null(g);
    psc_arena_release(&arena);
}

static void test_refusals(void)
{
    assert_refused((struct psc_model_graph_options){.n_ctx = 8},
                   "a graph of 0 tokens cannot be built: 1 to 4294967295 are possible");
    assert_refused((struct psc_model_graph_options){.n_tokens = 2, .n_out = 3, .n_ctx = 8},
                   "3 rows of logits of 2 tokens cannot be");
    assert_refused((struct psc_model_graph_options){.n_tokens = 2}, "KV regions of 0 rows cannot be: 1 to 4294967295 are possible");
}

struct oom {
    const struct psc_model *model;
    struct psc_model_graph_options o;
};
static enum psc_status oom_build(void *data)
{
    struct oom *oom = data;
    struct psc_arena arena = {0};
    struct psc_graph *g = NULL;
    struct psc_error error = {0};
    enum psc_status status = psc_model_graph_on(&arena, oom->model, &oom->o, targets, TARGETS, NULL, &g, &error);
    psc_arena_release(&arena);
    return status;
}

static void test_oom(void)
{
    struct psc_arena arena = {0};
    struct oom oom = {preset(&arena, "tiny-qwen3", NULL), {.n_tokens = 4, .n_ctx = 64, .kv_inputs = PSC_KV_SPAN}};
    g_assert_cmpuint(test_oom_loop(oom_build, &oom), >, 10);
    oom.o.n_tokens = 1;
    oom.o.fuse_qkv = oom.o.fuse_ffn = true;
    g_assert_cmpuint(test_oom_loop(oom_build, &oom), >, 10);
    psc_arena_release(&arena);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/core/model/graph/equals-the-published-graphs", test_published);
    for (unsigned i = 0; i < G_N_ELEMENTS(counts); i++) {
        char *path = g_strconcat("/core/model/graph/counts/", counts[i].path, NULL);
        g_test_add_data_func(path, &counts[i], test_count);
        g_free(path);
    }
    g_test_add_func("/core/model/graph/span-inputs-are-made-at-first-use", test_span);
    g_test_add_func("/core/model/graph/a-map-lists-four-runs-a-token", test_map);
    g_test_add_func("/core/model/graph/fused-ops-read-the-cells", test_fused_with_cells);
    g_test_add_func("/core/model/graph/a-block-without-a-bias-is-not-fused", test_missing_bias);
    g_test_add_func("/core/model/graph/each-block-fuses-what-its-target-takes", test_layer_fuse);
    g_test_add_func("/core/model/graph/any-number-of-rows-out", test_rows_out);
    g_test_add_func("/core/model/graph/shapes-layers-and-plans-under-all-options", test_all_options);
    g_test_add_func("/core/model/graph/plans-have-the-published-sizes", test_figures);
    g_test_add_func("/core/model/graph/refuses-what-cannot-be", test_refusals);
    g_test_add_func("/core/model/graph/oom", test_oom);
    return g_test_run();
}
