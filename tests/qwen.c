#include "tests/qwen.h"

#include <glib.h>

enum { WIDTH = 896, KV = 128, FFN = 4864, VOCAB = 151936 };

struct making {
    struct psc_builder *b;
    struct test_qwen shape;
    psc_node positions, tail;
};

struct test_qwen test_qwen_default(uint64_t tokens)
{
    return (struct test_qwen){.tokens = tokens, .ctx = 4096, .layers = 24, .backend = "cpu", .late_tail = true};
}

static psc_node node(struct making *m, const char *name, enum psc_op op, const psc_node *src, uint32_t src_n,
                     uint64_t d0, uint64_t d1)
{
    const uint64_t shape[4] = {d0, d1, 1, 1};
    struct psc_params params = {.transpose_b = false};
    return psc_builder_node(m->b, name, op, src, src_n, PSC_F32, shape, &params);
}

static psc_node one(struct making *m, const char *name, enum psc_op op, psc_node a, uint64_t d0, uint64_t d1)
{
    return node(m, name, op, &a, 1, d0, d1);
}

static psc_node two(struct making *m, const char *name, enum psc_op op, psc_node a, psc_node c, uint64_t d0,
                    uint64_t d1)
{
    const psc_node src[2] = {a, c};
    return node(m, name, op, src, 2, d0, d1);
}

static psc_node attention(struct making *m, psc_node x)
{
    uint64_t nt = m->shape.tokens;
    psc_node q = one(m, "q", PSC_OP_MATMUL, x, WIDTH, nt);
    psc_node k = one(m, "k", PSC_OP_MATMUL, x, KV, nt);
    psc_node v = one(m, "v", PSC_OP_MATMUL, x, KV, nt);
    q = two(m, "rope", PSC_OP_ROPE, q, m->positions, WIDTH, nt);
    k = two(m, "rope", PSC_OP_ROPE, k, m->positions, KV, nt);
    node(m, "kv_store", PSC_OP_KV_STORE, (psc_node[]){k, v, m->positions}, 3, KV, m->shape.ctx);
    psc_node kv = node(m, "kv_load", PSC_OP_KV_LOAD, NULL, 0, KV, m->shape.ctx);
    psc_node a = node(m, "attn", PSC_OP_ATTN, (psc_node[]){q, kv, m->positions}, 3, WIDTH, nt);
    return one(m, "attn_out", PSC_OP_MATMUL, a, WIDTH, nt);
}

static psc_node layer(struct making *m, psc_node h, bool last)
{
    uint64_t nt = m->shape.tokens;
    psc_node out = attention(m, one(m, "attn_norm", PSC_OP_RMS_NORM, h, WIDTH, nt));
    if (last && nt > 1) {
        if (m->shape.late_tail)
            m->tail = psc_builder_input(m->b, "tail_ids", PSC_I32, 1, 1);
        out = two(m, "get_rows", PSC_OP_GET_ROWS, out, m->tail, WIDTH, 1);
        h = two(m, "get_rows", PSC_OP_GET_ROWS, h, m->tail, WIDTH, 1);
        nt = 1;
    }
    h = two(m, "add", PSC_OP_ADD, h, out, WIDTH, nt);
    psc_node x = one(m, "ffn_norm", PSC_OP_RMS_NORM, h, WIDTH, nt);
    psc_node gate = one(m, "gate", PSC_OP_MATMUL, x, FFN, nt);
    psc_node up = one(m, "up", PSC_OP_MATMUL, x, FFN, nt);
    one(m, "silu", PSC_OP_SILU, gate, FFN, nt);
    psc_node y = two(m, "mul", PSC_OP_SWIGLU, gate, up, FFN, nt);
    psc_node down = one(m, "down", PSC_OP_MATMUL, y, WIDTH, nt);
    return two(m, "add", PSC_OP_ADD, h, down, WIDTH, nt);
}

struct psc_graph *test_qwen_build(struct psc_arena *arena, struct test_qwen shape)
{
    struct making m = {.b = psc_builder_new(), .shape = shape};
    struct psc_graph *graph = NULL;
    struct psc_error error = {0};
    g_assert_nonnull(m.b);
    psc_builder_set_backend(m.b, shape.backend);
    psc_node ids = psc_builder_input(m.b, "token_ids", PSC_I32, shape.tokens, 1);
    m.positions = psc_builder_input(m.b, "positions", PSC_I32, shape.tokens, 1);
    if (shape.tokens > 1 && !shape.late_tail)
        m.tail = psc_builder_input(m.b, "tail_ids", PSC_I32, 1, 1);
    psc_node h = one(&m, "embed", PSC_OP_GET_ROWS, ids, WIDTH, shape.tokens);
    for (uint32_t l = 0; l < shape.layers; l++) {
        psc_builder_set_layer(m.b, (int32_t)l);
        h = layer(&m, h, l + 1 == shape.layers);
    }
    psc_builder_set_layer(m.b, -1);
    h = one(&m, "output_norm", PSC_OP_RMS_NORM, h, WIDTH, 1);
    psc_builder_output(m.b, one(&m, "logits", PSC_OP_MATMUL, h, VOCAB, 1));
    if (psc_builder_finish(m.b, arena, &graph, &error))
        g_error("%s", error.text);
    psc_builder_free(m.b);
    return graph;
}
