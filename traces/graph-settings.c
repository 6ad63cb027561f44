#include "traces/graph-settings.h"

#include <stddef.h>
#include <string.h>

enum kind { U64, F32, TEXT, TRUTH, AXIS, LAYER, STYLE, MODE, SHAPE, DIMS };
enum { ALWAYS, IF_SAID }; /* IF_SAID: not when it is zero */
struct setting {
    const char *key;
    enum kind kind;
    size_t at;
    int when;
};
#define PARAM(key, kind, member)                                                                             \
    {                                                                                                        \
        key, kind, offsetof(struct psc_params, member), ALWAYS                                               \
    }
#define SAID(key, kind, member)                                                                              \
    {                                                                                                        \
        key, kind, offsetof(struct psc_params, member), IF_SAID                                              \
    }
#define NODE(key, kind)                                                                                      \
    {                                                                                                        \
        key, kind, 0, ALWAYS                                                                                 \
    }
#define END                                                                                                  \
    {                                                                                                        \
        NULL, U64, 0, 0                                                                                      \
    }

static const struct setting none[] = {END};
static const struct setting layer[] = {NODE("layer", LAYER), END};
static const struct setting embed[] = {SAID("vocab_size", U64, vocab_size), SAID("weight", TEXT, weight),
                                       SAID("wtype", TEXT, wtype), END};
static const struct setting eps[] = {PARAM("eps", F32, eps), END};
static const struct setting head_eps[] = {PARAM("eps", F32, eps), PARAM("hd", U64, hd), PARAM("nh", U64, nh), END};
static const struct setting norm[] = {PARAM("bias", TEXT, bias[0]), PARAM("weight", TEXT, weight), END};
static const struct setting transpose[] = {PARAM("transpose_b", TRUTH, transpose_b), END};
static const struct setting matmul[] = {PARAM("bias", TEXT, bias[0]), PARAM("in_dim", U64, in_dim),
                                        PARAM("out_dim", U64, out_dim), PARAM("weight", TEXT, weight),
                                        PARAM("wtype", TEXT, wtype), END};
static const struct setting style[] = {NODE("style", STYLE), END};
static const struct setting rope[] = {PARAM("freq_base", F32, freq_base), PARAM("freq_scale", F32, freq_scale),
                                      PARAM("hd", U64, hd), PARAM("n_head", U64, n_head), END};
static const struct setting store[] = {PARAM("n_embd", U64, n_embd), PARAM("n_head_kv", U64, n_head_kv),
                                       SAID("row_elems", U64, row_elems), END};
static const struct setting mode[] = {SAID("explicit_span", TRUTH, explicit_span), NODE("mode", MODE), END};
static const struct setting attn[] = {PARAM("hd", U64, hd), PARAM("hd_kv", U64, hd_kv), NODE("layer", LAYER),
                                      PARAM("n_head", U64, n_head), PARAM("n_head_kv", U64, n_head_kv),
                                      PARAM("nkt", U64, nkt), SAID("scale", F32, scale), END};
static const struct setting scale[] = {PARAM("scale", F32, scale), END};
static const struct setting softmax[] = {PARAM("dim", AXIS, dim), END};
static const struct setting concat[] = {PARAM("axis", AXIS, dim), END};
static const struct setting view[] = {PARAM("offset", U64, view_offset), NODE("shape", SHAPE), END};
static const struct setting reshape[] = {NODE("shape", SHAPE), END};
static const struct setting permute[] = {NODE("dims", DIMS), END};
static const struct setting qkv[] = {
    PARAM("bias_k", TEXT, bias[1]), PARAM("bias_q", TEXT, bias[0]), PARAM("bias_v", TEXT, bias[2]),
    PARAM("freq_base", F32, freq_base), PARAM("freq_scale", F32, freq_scale), PARAM("hd", U64, hd),
    PARAM("in_dim", U64, in_dim), PARAM("kv_elems", U64, kv_elems), PARAM("nh", U64, nh), PARAM("nk", U64, nk),
    PARAM("nkt", U64, nkt), PARAM("nqt", U64, nqt), SAID("row_elems", U64, row_elems), PARAM("weight", TEXT, weight),
    PARAM("wtype", TEXT, wtype), END};
static const struct setting qkv_norm[] = {
    PARAM("eps", F32, eps), PARAM("freq_base", F32, freq_base), PARAM("freq_scale", F32, freq_scale),
    PARAM("hd", U64, hd), PARAM("in_dim", U64, in_dim), PARAM("k_norm", TEXT, k_norm), PARAM("kv_elems", U64, kv_elems),
    PARAM("nh", U64, nh), PARAM("nk", U64, nk), PARAM("nkt", U64, nkt), PARAM("nqt", U64, nqt),
    PARAM("q_norm", TEXT, q_norm), SAID("row_elems", U64, row_elems), PARAM("weight", TEXT, weight),
    PARAM("wtype", TEXT, wtype), END};
static const struct setting bias_rope[] = {
    PARAM("bias_k", TEXT, bias[1]), PARAM("bias_q", TEXT, bias[0]), PARAM("bias_v", TEXT, bias[2]),
    PARAM("freq_base", F32, freq_base), PARAM("freq_scale", F32, freq_scale), PARAM("hd", U64, hd),
    PARAM("kv_elems", U64, kv_elems), PARAM("nh", U64, nh), PARAM("nk", U64, nk), PARAM("nkt", U64, nkt),
    PARAM("nqt", U64, nqt), SAID("row_elems", U64, row_elems), END};
static const struct setting ffn[] = {PARAM("in_dim", U64, in_dim), PARAM("nf", U64, nf), PARAM("weight", TEXT, weight),
                                     PARAM("wtype", TEXT, wtype), END};
/* An op that nobody knows: what might matter. */
static const struct setting unknown[] = {SAID("eps", F32, eps), NODE("layer", LAYER), SAID("scale", F32, scale), END};

static const struct {
    const struct setting *detail, *meta; /* NULL: none */
} ops[PSC_OP_N] = {
    [PSC_OP_OTHER] = {unknown, none},
    [PSC_OP_GET_ROWS] = {none, embed},
    [PSC_OP_RMS_NORM] = {eps, norm},
    [PSC_OP_QK_NORM] = {head_eps, norm},
    [PSC_OP_MATMUL] = {transpose, matmul},
    [PSC_OP_ROPE] = {style, rope},
    [PSC_OP_KV_STORE] = {layer, store},
    [PSC_OP_KV_LOAD] = {layer, store},
    [PSC_OP_ATTN] = {mode, attn},
    [PSC_OP_SCALE] = {scale, none},
    [PSC_OP_SOFTMAX] = {softmax, none},
    [PSC_OP_VIEW] = {view, none},
    [PSC_OP_RESHAPE] = {reshape, none},
    [PSC_OP_PERMUTE] = {permute, none},
    [PSC_OP_FUSED_QKV] = {layer, qkv},
    [PSC_OP_FUSED_QKV_NORM] = {none, qkv_norm},
    [PSC_OP_QKV_BIAS_ROPE_STORE] = {layer, bias_rope},
    [PSC_OP_FUSED_FFN] = {none, ffn},
    [PSC_OP_CONCAT] = {concat, none},
};

static void write_list(struct psc_json *j, const char *key, const uint64_t *shape, const int32_t *dims)
{
    psc_json_key(j, key);
    psc_json_array(j);
    for (int d = 0; d < 4; d++)
        shape ? psc_json_u64(j, shape[d]) : psc_json_i64(j, dims[d]);
    psc_json_end_array(j);
}

static const char *mode_name(enum psc_attn_mode of)
{
    return of == PSC_ATTN_FLASH ? "Flash" : of == PSC_ATTN_MHA ? "Mha" : "Gqa";
}

static void write_setting(struct psc_json *j, const struct psc_node_info *node, const struct setting *s)
{
    const struct psc_params *p = node->params;
    union {
        uint64_t u;
        float f;
        const char *text;
        bool truth;
        int32_t axis;
    } v = {0};
    const char *at = (const char *)p + s->at;
    switch (s->kind) {
    case U64:
        memcpy(&v.u, at, sizeof v.u);
        if (v.u || s->when == ALWAYS)
            psc_json_put_u64(j, s->key, v.u);
        break;
    case F32:
        memcpy(&v.f, at, sizeof v.f);
        if (v.f > 0 || v.f < 0 || s->when == ALWAYS)
            psc_json_put_f64(j, s->key, (double)v.f);
        break;
    case TEXT:
        memcpy(&v.text, at, sizeof v.text);
        if (v.text || s->when == ALWAYS)
            psc_json_put_string(j, s->key, v.text);
        break;
    case TRUTH:
        memcpy(&v.truth, at, sizeof v.truth);
        if (v.truth || s->when == ALWAYS)
            psc_json_put_bool(j, s->key, v.truth);
        break;
    case AXIS:
        memcpy(&v.axis, at, sizeof v.axis);
        psc_json_put_i64(j, s->key, v.axis);
        break;
    case LAYER:
        if (node->layer >= 0)
            psc_json_put_i64(j, s->key, node->layer);
        break;
    case STYLE:
        psc_json_put_string(j, s->key, p->rope_style == PSC_ROPE_INTERLEAVED ? "Interleaved" : "NonInterleaved");
        break;
    case MODE: psc_json_put_string(j, s->key, mode_name(p->attn_mode)); break;
    case SHAPE: write_list(j, s->key, node->shape, NULL); break;
    case DIMS: write_list(j, s->key, NULL, p->perm); break;
    }
}

static void write_object(struct psc_json *j, const struct psc_node_info *node, const struct setting *s)
{
    psc_json_object(j);
    for (; s && s->key; s++)
        write_setting(j, node, s);
    psc_json_end_object(j);
}

void psc_settings_write_detail(struct psc_json *j, const struct psc_node_info *node)
{
    write_object(j, node, ops[node->op].detail);
}

void psc_settings_write_meta(struct psc_json *j, const struct psc_node_info *node)
{
    write_object(j, node, ops[node->op].meta);
}
