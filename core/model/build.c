#include "core/model/build.h"

#include "core/base/mem.h"
#include "core/graph/fuse.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct build {
    struct psc_builder *b;
    const struct psc_model *model;
    const struct psc_hyper *h;
    const struct psc_model_graph_options *o;
    uint64_t rows;    /* of the activations now */
    uint64_t n_out;
    uint32_t layer;
    psc_node positions;
    psc_node cells, window, seq_ids, tail; /* PSC_NONE until first used */
};

/* "blk.3.ffn_up.weight" */
static const char *in_block(const struct build *b, const char *what, char buf[64])
{
    snprintf(buf, 64, "blk.%" PRIu32 ".%s", b->layer, what);
    return buf;
}

static const char *type_of(const struct build *b, const char *weight)
{
    const struct psc_weight *w = psc_model_weight(b->model, weight);
    return w ? psc_wtype_info(w->type)->name : NULL;
}

/* The name when the model has such a weight, else NULL. */
static const char *if_there(const struct build *b, const char *name)
{
    return psc_model_weight(b->model, name) ? name : NULL;
}

static psc_node node(struct build *b, const char *name, enum psc_op op, const psc_node *src, uint32_t n, uint64_t d0,
                     uint64_t d1, const struct psc_params *params)
{
    return psc_builder_node(b->b, name, op, src, n, PSC_F32, (uint64_t[4]){d0, d1, 1, 1}, params);
}

/* ---- inputs that are made when they are first asked for ---------------------------------------------------------- */

static psc_node cells(struct build *b)
{
    if (b->o->kv_inputs == PSC_KV_POSITIONS)
        return b->positions;
    if (b->cells == PSC_NONE)
        b->cells = psc_builder_input(b->b, "cells", PSC_I32, b->o->n_tokens, 1);
    return b->cells;
}

/* What attention reads beside q, kv and positions; PSC_NONE when that is nothing. */
static psc_node window(struct build *b)
{
    if (b->o->kv_inputs == PSC_KV_POSITIONS)
        return PSC_NONE;
    if (b->window == PSC_NONE) {
        bool map = b->o->kv_inputs == PSC_KV_MAP;
        b->window = psc_builder_input(b->b, map ? "kv_map" : "attn_span", PSC_I32,
                                      b->o->n_tokens * (map ? 2 * PSC_KV_MAP_RUNS : 2), 1);
        b->seq_ids = psc_builder_input(b->b, "seq_ids", PSC_I32, b->o->n_tokens, 1);
    }
    return b->window;
}

static psc_node tail_ids(struct build *b)
{
    if (b->tail == PSC_NONE)
        b->tail = psc_builder_input(b->b, "tail_ids", PSC_I32, b->n_out, 1);
    return b->tail;
}

/* ---- single nodes ------------------------------------------------------------------------------------------------ */

static psc_node norm(struct build *b, psc_node x, const char *weight)
{
    struct psc_params p = {.weight = weight, .eps = b->h->eps};
    return node(b, "rms_norm", PSC_OP_RMS_NORM, &x, 1, b->h->n_embd, b->rows, &p);
}

static psc_node matmul(struct build *b, psc_node x, const char *weight, uint64_t in, uint64_t out, const char *bias)
{
    struct psc_params p = {.weight = weight, .wtype = type_of(b, weight), .in_dim = in, .out_dim = out, .bias = {bias}};
    char name[80];
    snprintf(name, sizeof name, "matmul_%s", weight);
    return node(b, name, PSC_OP_MATMUL, &x, 1, out, b->rows, &p);
}

/* A matrix of the block without bias. */
static psc_node project(struct build *b, psc_node x, const char *what, uint64_t in, uint64_t out)
{
    char weight[64];
    return matmul(b, x, in_block(b, what, weight), in, out, NULL);
}

static psc_node head_norm(struct build *b, psc_node x, const char *what, uint64_t heads)
{
    char weight[64];
    struct psc_params p = {.weight = in_block(b, what, weight), .eps = b->h->eps, .hd = b->h->hd, .nh = heads};
    return node(b, "qk_norm", PSC_OP_QK_NORM, &x, 1, heads * b->h->hd, b->rows, &p);
}

static psc_node rope(struct build *b, psc_node x, uint64_t heads)
{
    struct psc_params p = {.freq_base = b->h->freq_base, .freq_scale = b->h->freq_scale, .hd = b->h->hd, .n_head = heads};
    return node(b, "rope", PSC_OP_ROPE, (psc_node[]){x, b->positions}, 2, heads * b->h->hd, b->rows, &p);
}

/* ---- q, with K and V of these tokens stored ------------------------------------------------------------------------ */

/* What the fused forms have in common. Texts stand in the caller's buffers. */
static struct psc_params qkv_params(const struct build *b, char bias[3][64])
{
    static const char *const names[] = {"attn_q.bias", "attn_k.bias", "attn_v.bias"};
    struct psc_params p = {
        .nqt = (uint64_t)b->h->n_head * b->h->hd, .nkt = b->h->n_kv, .hd = b->h->hd, .nh = b->h->n_head,
        .nk = b->h->n_head_kv, .freq_base = b->h->freq_base, .freq_scale = b->h->freq_scale,
        .kv_elems = b->h->n_kv * b->o->n_ctx, .row_elems = b->o->row_elems,
    };
    for (int k = 0; k < 3; k++)
        p.bias[k] = if_there(b, in_block(b, names[k], bias[k]));
    return p;
}

static psc_node fused_qkv(struct build *b, psc_node x, const char *weight, struct psc_params p)
{
    bool heads = b->h->arch == PSC_ARCH_QWEN3;
    psc_node src[3] = {x, b->positions, cells(b)};
    char q_norm[64], k_norm[64];
    p.weight = weight;
    p.wtype = type_of(b, weight);
    p.in_dim = b->h->n_embd;
    if (heads) {
        p.q_norm = in_block(b, "attn_q_norm.weight", q_norm);
        p.k_norm = in_block(b, "attn_k_norm.weight", k_norm);
        p.eps = b->h->eps;
    }
    return node(b, heads ? "fused_qkv_norm" : "fused_qkv", heads ? PSC_OP_FUSED_QKV_NORM : PSC_OP_FUSED_QKV, src,
                src[2] == b->positions ? 2 : 3, p.nqt + 2 * p.nkt, b->rows, &p);
}

static psc_node bias_rope_store(struct build *b, psc_node x, const struct psc_params *p)
{
    psc_node src[5];
    src[0] = project(b, x, "attn_q.weight", b->h->n_embd, p->nqt);
    src[1] = project(b, x, "attn_k.weight", b->h->n_embd, p->nkt);
    src[2] = project(b, x, "attn_v.weight", b->h->n_embd, p->nkt);
    src[3] = b->positions;
    src[4] = cells(b);
    return node(b, "qkv_bias_rope_store", PSC_OP_QKV_BIAS_ROPE_STORE, src, src[4] == b->positions ? 4 : 5, p->nqt,
                b->rows, p);
}

static psc_node separate_qkv(struct build *b, psc_node x, const struct psc_params *p)
{
    struct psc_params store = {.n_embd = p->nkt, .row_elems = b->o->row_elems};
    char w[64], name[32];
    psc_node q = matmul(b, x, in_block(b, "attn_q.weight", w), b->h->n_embd, p->nqt, p->bias[0]);
    psc_node k = matmul(b, x, in_block(b, "attn_k.weight", w), b->h->n_embd, p->nkt, p->bias[1]);
    psc_node v = matmul(b, x, in_block(b, "attn_v.weight", w), b->h->n_embd, p->nkt, p->bias[2]);
    if (b->h->arch == PSC_ARCH_QWEN3) {
        q = head_norm(b, q, "attn_q_norm.weight", b->h->n_head);
        k = head_norm(b, k, "attn_k_norm.weight", b->h->n_head_kv);
    }
    q = rope(b, q, b->h->n_head);
    k = rope(b, k, b->h->n_head_kv);
    snprintf(name, sizeof name, "kv_store.%" PRIu32, b->layer);
    psc_node at = cells(b);
    node(b, name, PSC_OP_KV_STORE, (psc_node[]){k, v, at}, 3, p->nkt, b->o->n_ctx, &store);
    return q;
}

/* May this block use the op? */
static bool may_fuse(const struct build *b, uint8_t bit)
{
    return b->o->n_tokens == 1 && (!b->o->layer_fuse || b->o->layer_fuse[b->layer] & bit);
}

static psc_node queries(struct build *b, psc_node x)
{
    char bias[3][64], weight[64];
    struct psc_params p = qkv_params(b, bias);
    bool qwen2 = b->h->arch == PSC_ARCH_QWEN2, biased = p.bias[0] && p.bias[1] && p.bias[2];
    if (!b->o->fuse_qkv || (qwen2 && !biased))
        return separate_qkv(b, x, &p);
    if (may_fuse(b, qwen2 ? PSC_FUSE_QKV : PSC_FUSE_QKV_NORM) && if_there(b, in_block(b, "attn_qkv", weight)))
        return fused_qkv(b, x, weight, p);
    if (qwen2 && b->o->bias_rope_store && may_fuse(b, PSC_FUSE_BIAS_ROPE))
        return bias_rope_store(b, x, &p);
    return separate_qkv(b, x, &p);
}

/* ---- a block ------------------------------------------------------------------------------------------------------- */

static psc_node attention(struct build *b, psc_node q)
{
    const struct psc_hyper *h = b->h;
    uint64_t width = (uint64_t)h->n_head * h->hd;
    struct psc_params load = {.n_embd = h->n_kv, .n_head_kv = h->n_head_kv, .row_elems = b->o->row_elems};
    struct psc_params p = {
        .hd = h->hd, .hd_kv = h->hd, .n_head = h->n_head, .n_head_kv = h->n_head_kv, .nkt = h->n_kv,
        .scale = (float)(1 / sqrt((double)h->hd)), .has_scale = true, .explicit_span = b->o->kv_inputs == PSC_KV_SPAN,
    };
    char name[32];
    snprintf(name, sizeof name, "kv_load.%" PRIu32, b->layer);
    psc_node kv = node(b, name, PSC_OP_KV_LOAD, NULL, 0, h->n_kv, b->o->n_ctx, &load);
    psc_node src[4] = {q, kv, b->positions, window(b)};
    psc_node a = node(b, "attn", PSC_OP_ATTN, src, src[3] == PSC_NONE ? 3 : 4, width, b->rows, &p);
    return project(b, a, "attn_output.weight", width, h->n_embd);
}

static psc_node feed_forward(struct build *b, psc_node x)
{
    const struct psc_hyper *h = b->h;
    char weight[64];
    psc_node y;
    if (b->o->fuse_ffn && may_fuse(b, PSC_FUSE_FFN) && h->n_ff <= PSC_FUSED_FFN_MAX &&
        if_there(b, in_block(b, "ffn_gu", weight))) {
        struct psc_params p = {.weight = weight, .wtype = type_of(b, weight), .in_dim = h->n_embd, .nf = h->n_ff};
        y = node(b, "fused_ffn", PSC_OP_FUSED_FFN, &x, 1, 2 * (uint64_t)h->n_ff, b->rows, &p);
    } else {
        psc_node gate = project(b, x, "ffn_gate.weight", h->n_embd, h->n_ff);
        psc_node up = project(b, x, "ffn_up.weight", h->n_embd, h->n_ff);
        psc_node silu = psc_builder_unary(b->b, "silu", PSC_OP_SILU, gate);
        y = psc_builder_binary(b->b, "mul", PSC_OP_MUL, silu, up);
    }
    return project(b, y, "ffn_down.weight", h->n_ff, h->n_embd);
}

/* The rows that tail_ids names, of what attention made and of the residual. */
static psc_node join_tail(struct build *b, psc_node attended, psc_node residual)
{
    psc_node ids = tail_ids(b);
    b->rows = b->n_out;
    psc_node rows = node(b, "get_rows", PSC_OP_GET_ROWS, (psc_node[]){attended, ids}, 2, b->h->n_embd, b->rows, NULL);
    psc_node rest = node(b, "get_rows", PSC_OP_GET_ROWS, (psc_node[]){residual, ids}, 2, b->h->n_embd, b->rows, NULL);
    return psc_builder_binary(b->b, "add", PSC_OP_ADD, rest, rows);
}

static psc_node block(struct build *b, psc_node residual)
{
    char w[64];
    psc_node x = norm(b, residual, in_block(b, "attn_norm.weight", w));
    psc_node q = queries(b, x), a = attention(b, q), h;
    if (b->layer + 1 == b->h->n_layer && b->n_out < b->o->n_tokens)
        h = join_tail(b, a, residual);
    else
        h = psc_builder_binary(b->b, "add", PSC_OP_ADD, residual, a);
    x = norm(b, h, in_block(b, "ffn_norm.weight", w));
    psc_node f = feed_forward(b, x);
    return psc_builder_binary(b->b, "add", PSC_OP_ADD, h, f);
}

/* ---- the whole ------------------------------------------------------------------------------------------------------ */

static void build_all(struct build *b)
{
    const char *logits = b->h->tied ? "token_embd.weight" : "output.weight";
    struct psc_params embed = {.weight = "token_embd.weight", .wtype = type_of(b, "token_embd.weight"),
                               .vocab_size = b->h->n_vocab};
    psc_node ids = psc_builder_input(b->b, "token_ids", PSC_I32, b->o->n_tokens, 1);
    b->positions = psc_builder_input(b->b, "positions", PSC_I32, b->o->n_tokens, 1);
    if (b->o->head_inputs && b->n_out < b->o->n_tokens)
        tail_ids(b);
    psc_node h = node(b, "embed", PSC_OP_GET_ROWS, &ids, 1, b->h->n_embd, b->rows, &embed);
    for (b->layer = 0; b->layer < b->h->n_layer; b->layer++) {
        psc_builder_set_layer(b->b, (int32_t)b->layer);
        h = block(b, h);
    }
    psc_builder_set_layer(b->b, -1);
    h = norm(b, h, "output_norm.weight");
    psc_builder_output(b->b, matmul(b, h, logits, b->h->n_embd, b->h->n_vocab, NULL));
}

static enum psc_status check_options(const struct psc_model_graph_options *o, struct psc_error *reterr)
{
    if (!o->n_tokens || o->n_tokens > UINT32_MAX)
        return psc_fail(reterr, PSC_ERR_USAGE, "a graph of %" PRIu64 " tokens cannot be built: 1 to %" PRIu32 " are possible",
                        o->n_tokens, UINT32_MAX);
    if (o->n_out > o->n_tokens)
        return psc_fail(reterr, PSC_ERR_USAGE, "%" PRIu64 " rows of logits of %" PRIu64 " tokens cannot be", o->n_out,
                        o->n_tokens);
    if (!o->n_ctx || o->n_ctx > UINT32_MAX)
        return psc_fail(reterr, PSC_ERR_USAGE, "KV regions of %" PRIu64 " rows cannot be: 1 to %" PRIu32 " are possible",
                        o->n_ctx, UINT32_MAX);
    return PSC_OK;
}

enum psc_status psc_model_graph(struct psc_arena *arena, const struct psc_model *model,
                                const struct psc_model_graph_options *options, struct psc_graph **ret,
                                struct psc_error *reterr)
{
    struct build b = {
        .model = model, .h = &model->hyper, .o = options, .rows = options->n_tokens,
        .n_out = options->n_out ? options->n_out : 1,
        .cells = PSC_NONE, .window = PSC_NONE, .seq_ids = PSC_NONE, .tail = PSC_NONE,
    };
    enum psc_status status = check_options(options, reterr);
    if (status)
        return status;
    b.b = psc_builder_new();
    if (!b.b)
        return psc_fail_nomem(reterr);
    psc_builder_set_texts(b.b, options->n_tokens == 1 ? "decode" : "prefill", model->name);
    build_all(&b);
    status = psc_builder_finish(b.b, arena, ret, reterr);
    psc_builder_free(b.b);
    return status;
}

/* What the target that multiplies this block's matrices takes, if it fuses at all. */
static uint8_t layer_fuse(const struct psc_target *targets, uint32_t n, const struct psc_offload *offload,
                          uint32_t layer_n, uint32_t layer)
{
    static const struct {
        enum psc_op op;
        uint8_t bit;
    } ops[] = {{PSC_OP_FUSED_QKV, PSC_FUSE_QKV}, {PSC_OP_FUSED_QKV_NORM, PSC_FUSE_QKV_NORM},
               {PSC_OP_QKV_BIAS_ROPE_STORE, PSC_FUSE_BIAS_ROPE}, {PSC_OP_FUSED_FFN, PSC_FUSE_FFN}};
    uint32_t at = psc_offload_target(targets, n, offload, layer_n, (int32_t)layer, PSC_OP_MATMUL, PSC_F32, NULL);
    uint8_t bits = 0;
    if (at == PSC_NONE || !targets[at].fuses_decode)
        return 0;
    for (size_t k = 0; k < sizeof ops / sizeof *ops; k++)
        if (!targets[at].takes || targets[at].takes(ops[k].op, PSC_F32, &(struct psc_params){0}))
            bits |= ops[k].bit;
    return bits;
}

enum psc_status psc_model_graph_on(struct psc_arena *arena, const struct psc_model *model,
                                   const struct psc_model_graph_options *options, const struct psc_target *targets,
                                   uint32_t target_n, const struct psc_offload *offload, struct psc_graph **ret,
                                   struct psc_error *reterr)
{
    struct psc_arena_mark mark = psc_arena_mark(arena);
    struct psc_graph *built, *assigned;
    struct psc_model_graph_options own = *options;
    uint8_t *fuse = psc_arena_alloc(arena, model->hyper.n_layer, 1);
    enum psc_status status;
    if (!fuse)
        return psc_fail_nomem(reterr);
    for (uint32_t layer = 0; layer < model->hyper.n_layer; layer++)
        fuse[layer] = layer_fuse(targets, target_n, offload, model->hyper.n_layer, layer);
    if (!own.layer_fuse)
        own.layer_fuse = fuse;
    status = psc_model_graph(arena, model, &own, &built, reterr);
    if (!status)
        status = psc_graph_assign(arena, built, targets, target_n, offload, &assigned, reterr);
    if (!status)
        status = psc_graph_fuse(arena, assigned, targets, target_n, ret, NULL, reterr);
    if (status)
        psc_arena_rewind(arena, mark);
    return status;
}
