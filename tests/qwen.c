#include "tests/qwen.h"

#include <glib.h>
#include <stdio.h>

const struct qwen_options qwen_prefill = {
    .kind = "prefill", .backend = "metal", .tokens = 2, .width = 896, .heads = 14, .kv_heads = 2, .hd = 64,
    .ff = 4864, .vocab = 151936, .context = 4096, .layers = 24,
};
const struct qwen_options qwen_decode = {
    .kind = "decode", .backend = "metal", .tokens = 1, .width = 896, .heads = 14, .kv_heads = 2, .hd = 64,
    .ff = 4864, .vocab = 151936, .context = 4096, .layers = 24, .fused = true,
};
const struct qwen_options qwen_unfused = {
    .kind = "decode", .backend = "cpu", .tokens = 1, .width = 896, .heads = 14, .kv_heads = 2, .hd = 64,
    .ff = 4864, .vocab = 151936, .context = 4096, .layers = 24,
};

struct maker {
    const struct qwen_options *o;
    struct psc_builder *b;
    psc_node positions;
    uint64_t rows; /* of the activations now */
    uint64_t kv;   /* width of K and V rows */
};

/* The rule of the published files: layers are counted in the order of their names. */
/* How many of the numbers 0 .. n - 1 come before `number` when sorted as text. */
static int64_t rank_as_text(int64_t number, int64_t n)
{
    int64_t rank = 0, size = 10; /* size: 10^digits of number */
    while (size <= number)
        size *= 10;
    for (int64_t lo = 0, width = 10; lo < n; lo = width, width *= 10) {
        /* numbers of one length, lo .. width - 1: those up to number's first digits, or below number and zeros */
        int64_t end = width < size ? number / (size / width) + 1 : number * (width / size);
        rank += MAX(MIN(end, n) - lo, 0);
    }
    return rank;
}

bool qwen_mixed_layer(int32_t layer, int32_t layers)
{
    int64_t at = rank_as_text(layer, layers);
    return at < layers / 8 || at >= 7 * layers / 8 || (at - layers / 8) % 3 == 2;
}

static const char *weight(int32_t layer, const char *what, char buf[64])
{
    snprintf(buf, 64, "blk.%d.%s", layer, what);
    return buf;
}

static psc_node node(struct maker *m, const char *name, enum psc_op op, const psc_node *src, uint32_t n, uint64_t d0,
                     uint64_t d1, const struct psc_params *params)
{
    return psc_builder_node(m->b, name, op, src, n, PSC_F32, (uint64_t[4]){d0, d1, 1, 1}, params);
}

static psc_node matmul(struct maker *m, psc_node x, const char *w, const char *type, uint64_t in, uint64_t out,
                       const char *bias)
{
    char name[80];
    struct psc_params p = {.weight = w, .wtype = type, .in_dim = in, .out_dim = out, .bias = {bias}};
    snprintf(name, sizeof name, "matmul_%s", w);
    return node(m, name, PSC_OP_MATMUL, &x, 1, out, m->rows, &p);
}

static psc_node norm(struct maker *m, psc_node x, const char *w)
{
    struct psc_params p = {.weight = w, .eps = 1e-6f};
    return node(m, "rms_norm", PSC_OP_RMS_NORM, &x, 1, m->o->width, m->rows, &p);
}

static psc_node rope(struct maker *m, psc_node x, uint64_t heads)
{
    struct psc_params p = {.freq_base = 1e6f, .freq_scale = 1, .hd = m->o->hd, .n_head = heads};
    return node(m, "rope", PSC_OP_ROPE, (psc_node[]){x, m->positions}, 2, heads * m->o->hd, m->rows, &p);
}

/* q, with this pass's K and V rows stored. */
static psc_node project(struct maker *m, psc_node x, int32_t l)
{
    const struct qwen_options *o = m->o;
    uint64_t q_width = o->heads * o->hd;
    char w[64], bias[64], name[32];
    if (o->fused && !qwen_mixed_layer(l, o->layers)) {
        struct psc_params p = {.weight = weight(l, "attn_qkv", w), .wtype = "q5_0", .in_dim = o->width, .nqt = q_width,
                               .nkt = m->kv, .hd = o->hd, .nh = o->heads, .nk = o->kv_heads, .freq_base = 1e6f,
                               .freq_scale = 1, .kv_elems = m->kv * o->context};
        psc_builder_set_layer(m->b, l); /* detail.layer */
        psc_node qkv = node(m, "fused_qkv", PSC_OP_FUSED_QKV, (psc_node[]){x, m->positions}, 2, q_width + 2 * m->kv,
                            m->rows, &p);
        psc_builder_set_layer(m->b, -1);
        return qkv;
    }
    psc_node q = matmul(m, x, weight(l, "attn_q.weight", w), "q5_0", o->width, q_width, weight(l, "attn_q.bias", bias));
    psc_node k = matmul(m, x, weight(l, "attn_k.weight", w), "q5_0", o->width, m->kv, weight(l, "attn_k.bias", bias));
    psc_node v = matmul(m, x, weight(l, "attn_v.weight", w), qwen_mixed_layer(l, o->layers) ? "q8_0" : "q5_0", o->width,
                        m->kv, weight(l, "attn_v.bias", bias));
    struct psc_params p = {.n_embd = m->kv};
    q = rope(m, q, o->heads);
    k = rope(m, k, o->kv_heads);
    snprintf(name, sizeof name, "kv_store.%d", l);
    psc_builder_set_layer(m->b, l);
    node(m, name, PSC_OP_KV_STORE, (psc_node[]){k, v, m->positions}, 3, m->kv, o->context, &p);
    psc_builder_set_layer(m->b, -1);
    return q;
}

static psc_node attention(struct maker *m, psc_node q, int32_t l)
{
    const struct qwen_options *o = m->o;
    char w[64], name[32];
    struct psc_params load = {.n_embd = m->kv, .n_head_kv = o->kv_heads};
    struct psc_params p = {.hd = o->hd, .hd_kv = o->hd, .n_head = o->heads, .n_head_kv = o->kv_heads, .nkt = m->kv,
                           .scale = 0.125f, .has_scale = true};
    snprintf(name, sizeof name, "kv_load.%d", l);
    psc_builder_set_layer(m->b, l);
    psc_node kv = node(m, name, PSC_OP_KV_LOAD, NULL, 0, m->kv, o->context, &load);
    psc_node a = node(m, "attn", PSC_OP_ATTN, (psc_node[]){q, kv, m->positions}, 3, o->heads * o->hd, m->rows, &p);
    psc_builder_set_layer(m->b, -1);
    return matmul(m, a, weight(l, "attn_output.weight", w), "q5_0", o->heads * o->hd, o->width, NULL);
}

static psc_node feed_forward(struct maker *m, psc_node x, int32_t l)
{
    const struct qwen_options *o = m->o;
    char w[64];
    psc_node y;
    if (o->fused) {
        struct psc_params p = {.weight = weight(l, "ffn_gu", w), .wtype = "q5_0", .in_dim = o->width, .nf = o->ff};
        y = node(m, "fused_ffn", PSC_OP_FUSED_FFN, &x, 1, 2 * o->ff, m->rows, &p);
    } else {
        psc_node gate = matmul(m, x, weight(l, "ffn_gate.weight", w), "q5_0", o->width, o->ff, NULL);
        psc_node up = matmul(m, x, weight(l, "ffn_up.weight", w), "q5_0", o->width, o->ff, NULL);
        psc_builder_unary(m->b, "silu", PSC_OP_SILU, gate);
        y = psc_builder_binary(m->b, "mul", PSC_OP_SWIGLU, gate, up);
    }
    return matmul(m, y, weight(l, "ffn_down.weight", w), qwen_mixed_layer(l, o->layers) ? "q6_K" : "q4_K", o->ff,
                  o->width, NULL);
}

/* The rows that the host asked for, and of the residual the same rows. */
static psc_node join_tail(struct maker *m, psc_node attended, psc_node residual)
{
    psc_node ids = psc_builder_input(m->b, "tail_ids", PSC_I32, 1, 1);
    m->rows = 1;
    psc_node rows = node(m, "get_rows", PSC_OP_GET_ROWS, (psc_node[]){attended, ids}, 2, m->o->width, 1, NULL);
    psc_node res = node(m, "get_rows", PSC_OP_GET_ROWS, (psc_node[]){residual, ids}, 2, m->o->width, 1, NULL);
    return psc_builder_binary(m->b, "add", PSC_OP_ADD, res, rows);
}

static psc_node block(struct maker *m, psc_node residual, int32_t l)
{
    char w[64];
    psc_node x = norm(m, residual, weight(l, "attn_norm.weight", w));
    psc_node a = attention(m, project(m, x, l), l);
    psc_node h = l == m->o->layers - 1 && m->rows > 1 ? join_tail(m, a, residual)
                                                      : psc_builder_binary(m->b, "add", PSC_OP_ADD, residual, a);
    x = norm(m, h, weight(l, "ffn_norm.weight", w));
    return psc_builder_binary(m->b, "add", PSC_OP_ADD, h, feed_forward(m, x, l));
}

struct psc_graph *qwen_graph(struct psc_arena *arena, const struct qwen_options *o)
{
    struct maker m = {.o = o, .b = psc_builder_new(), .rows = o->tokens, .kv = o->kv_heads * o->hd};
    struct psc_params embed = {.weight = "token_embd.weight", .wtype = "q5_0", .vocab_size = o->vocab};
    struct psc_graph *g = NULL;
    struct psc_error error = {0};
    psc_builder_set_texts(m.b, o->kind, "qwen2.5-0.5b-instruct-q4_k_m.gguf");
    psc_builder_set_backend(m.b, o->backend);
    psc_node ids = psc_builder_input(m.b, "token_ids", PSC_I32, o->tokens, 1);
    m.positions = psc_builder_input(m.b, "positions", PSC_I32, o->tokens, 1);
    psc_node h = node(&m, "embed", PSC_OP_GET_ROWS, &ids, 1, o->width, o->tokens, &embed);
    for (int32_t l = 0; l < o->layers; l++)
        h = block(&m, h, l);
    h = norm(&m, h, "output_norm.weight");
    psc_builder_output(m.b, matmul(&m, h, "output.weight", "q8_0", o->width, o->vocab, NULL));
    if (psc_builder_finish(m.b, arena, &g, &error) != PSC_OK)
        g_error("qwen: %s", error.text);
    psc_builder_free(m.b);
    return g;
}
