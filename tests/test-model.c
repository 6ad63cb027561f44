/* Presets, mixes of types, joined weights, seeded weights: models without a file. */
#include "core/model/model.h"

#include "core/model/preset.h"
#include "core/model/seed.h"
#include "tests/util.h"

#include <math.h>
#include <string.h>

static struct psc_model *preset(struct psc_arena *arena, const char *name, const char *mix)
{
    struct psc_model *model = NULL;
    struct psc_error error = {0};
    if (psc_model_preset(arena, psc_preset_find(name), mix, &model, &error))
        g_error("%s: %s", name, error.text);
    return model;
}

static uint64_t parameters(const struct psc_model *model)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < model->file_n; i++)
        n += model->weights[i].in * model->weights[i].out;
    return n;
}

/* ---- presets ---------------------------------------------------------------------------------------------- */

/* The published numbers of parameters; a tied model's embedding counts once, the 0.5B file has it twice. */
static void test_parameters(void)
{
    static const struct {
        const char *name;
        uint64_t parameters;
        uint32_t tensors;
    } rows[] = {
        {"qwen2.5-0.5b", 494032768 + UINT64_C(136134656), 291}, {"qwen2.5-7b", UINT64_C(7615616512), 339},
        {"qwen3-0.6b", 596049920, 310},                         {"qwen3-4b", UINT64_C(4022468096), 398},
    };
    for (unsigned k = 0; k < G_N_ELEMENTS(rows); k++) {
        struct psc_arena arena = {0};
        struct psc_model *model = preset(&arena, rows[k].name, NULL);
        g_assert_cmpuint(parameters(model), ==, rows[k].parameters);
        g_assert_cmpuint(model->file_n, ==, rows[k].tensors);
        psc_arena_release(&arena);
    }
}

/* Every preset, in every mix, is a model whose weights all have a known size. */
static void test_all_mixes(void)
{
    static const char *const mixes[] = {"f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "q5_0",
                                        "q5_1", "q4_K", "q5_K", "q6_K", "q4_k_m", "Q4_K_M"};
    unsigned made = 0;
    for (const struct psc_preset *p = psc_presets; p->name; p++)
        for (unsigned m = 0; m < G_N_ELEMENTS(mixes); m++) {
            struct psc_arena arena = {0};
            struct psc_model *model = preset(&arena, p->name, mixes[m]);
            uint64_t bytes = 0;
            for (uint32_t i = 0; i < model->file_n; i++) {
                const struct psc_weight *w = &model->weights[i];
                uint64_t size = 0;
                g_assert_true(psc_wtype_bytes(w->type, w->in * w->out, &size));
                g_assert_cmpuint(w->bytes, ==, size);
                g_assert_null(w->data);
                bytes += size;
            }
            g_assert_cmpuint(model->weight_bytes, ==, bytes);
            g_assert_nonnull(strstr(model->name, ".gguf"));
            psc_arena_release(&arena);
            made++;
        }
    g_assert_cmpuint(made, ==, 8 * G_N_ELEMENTS(mixes));
    g_assert_false(psc_mix_known("q3_K"));
    g_assert_false(psc_mix_known("q4_k_mm"));
    g_assert_null(psc_preset_find("qwen4"));
}

static const char *type_of(const struct psc_model *model, const char *name)
{
    const struct psc_weight *w = psc_model_weight(model, name);
    g_assert_nonnull(w);
    return psc_wtype_info(w->type)->name;
}

/* The file of the 0.5B: 896 is no multiple of 256, so K-quants fall back. */
static void test_published_types(void)
{
    static const int more[] = {0, 1, 3, 6, 7, 8, 9, 10, 13, 16, 19, 21};
    struct psc_arena arena = {0};
    struct psc_model *model = preset(&arena, "qwen2.5-0.5b", NULL);
    unsigned at = 0;
    for (int layer = 0; layer < 24; layer++) {
        bool better = at < G_N_ELEMENTS(more) && more[at] == layer;
        char name[64];
        at += better;
        g_assert_cmpint(psc_mix_more_bits((uint32_t)layer, 24), ==, better);
        g_snprintf(name, sizeof name, "blk.%d.attn_v.weight", layer);
        g_assert_cmpstr(type_of(model, name), ==, better ? "q8_0" : "q5_0");
        g_snprintf(name, sizeof name, "blk.%d.ffn_down.weight", layer);
        g_assert_cmpstr(type_of(model, name), ==, better ? "q6_K" : "q4_K");
        g_snprintf(name, sizeof name, "blk.%d.attn_q.weight", layer);
        g_assert_cmpstr(type_of(model, name), ==, "q5_0");
        /* q, k and v are one weight where they have one type; gate and up always are */
        g_snprintf(name, sizeof name, "blk.%d.attn_qkv", layer);
        g_assert_cmpint(psc_model_weight(model, name) != NULL, ==, !better);
        g_snprintf(name, sizeof name, "blk.%d.ffn_gu", layer);
        g_assert_nonnull(psc_model_weight(model, name));
    }
    g_assert_cmpuint(at, ==, G_N_ELEMENTS(more));
    g_assert_cmpstr(type_of(model, "token_embd.weight"), ==, "q5_0");
    g_assert_cmpstr(type_of(model, "output.weight"), ==, "q8_0");
    g_assert_cmpstr(type_of(model, "output_norm.weight"), ==, "f32");
    g_assert_cmpstr(model->name, ==, "qwen2.5-0.5b-instruct-q4_k_m.gguf");
    psc_arena_release(&arena);
}

static void test_other_types(void)
{
    struct psc_arena arena = {0};
    struct psc_model *seven = preset(&arena, "qwen2.5-7b", NULL), *tied = preset(&arena, "qwen3-4b", NULL);
    g_assert_cmpstr(type_of(seven, "token_embd.weight"), ==, "q4_K");
    g_assert_cmpstr(type_of(seven, "output.weight"), ==, "q6_K");
    g_assert_cmpstr(type_of(seven, "blk.0.attn_v.weight"), ==, "q6_K");
    g_assert_cmpstr(type_of(tied, "token_embd.weight"), ==, "q6_K"); /* it makes the logits */
    g_assert_null(psc_model_weight(tied, "output.weight"));
    g_assert_cmpstr(type_of(preset(&arena, "qwen3-0.6b", NULL), "blk.27.ffn_down.weight"), ==, "q8_0");
    g_assert_cmpstr(preset(&arena, "tiny-qwen2", "q8_0")->name, ==, "tiny-qwen2-q8_0.gguf");
    psc_arena_release(&arena);
}

/* A type whose blocks do not fit the width. */
static void test_fallback(void)
{
    struct psc_hyper h = psc_preset_find("tiny-qwen2")->hyper;
    struct psc_tensor_spec t = {.role = PSC_TENSOR_Q, .in = 64, .out = 8};
    g_assert_cmpint(psc_mix_type("q4_K", &h, &t), ==, PSC_W_Q5_0);
    g_assert_cmpint(psc_mix_type("q5_K", &h, &t), ==, PSC_W_Q5_1);
    g_assert_cmpint(psc_mix_type("q6_K", &h, &t), ==, PSC_W_Q8_0);
    g_assert_cmpint(psc_mix_type("q4_0", &h, &t), ==, PSC_W_Q4_0);
    t.in = 48;
    g_assert_cmpint(psc_mix_type("q4_K", &h, &t), ==, PSC_W_F16);
    g_assert_cmpint(psc_mix_type("q8_0", &h, &t), ==, PSC_W_F16);
    g_assert_cmpint(psc_mix_type("bf16", &h, &t), ==, PSC_W_BF16);
    t.in = 512;
    g_assert_cmpint(psc_mix_type("q4_K", &h, &t), ==, PSC_W_Q4_K);
    t.role = PSC_TENSOR_BIAS;
    g_assert_cmpint(psc_mix_type("q4_K", &h, &t), ==, PSC_W_F32);
}

static gint by_text(gconstpointer a, gconstpointer b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The rank of a layer among names, against sorting the names themselves. */
static void test_name_order(void)
{
    static const uint32_t sizes[] = {1, 8, 24, 28, 36, 100, 101, 250};
    unsigned checked = 0;
    for (unsigned k = 0; k < G_N_ELEMENTS(sizes); k++) {
        uint32_t n = sizes[k];
        GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
        for (uint32_t i = 0; i < n; i++)
            g_ptr_array_add(names, g_strdup_printf("blk.%u.x", i));
        g_ptr_array_sort(names, by_text);
        for (uint32_t at = 0; at < n; at++) {
            uint32_t layer = (uint32_t)g_ascii_strtoull((char *)names->pdata[at] + 4, NULL, 10);
            bool more = at < n / 8 || at >= 7 * n / 8 || (at - n / 8) % 3 == 2;
            g_assert_cmpint(psc_mix_more_bits(layer, n), ==, more);
            checked++;
        }
        g_ptr_array_free(names, TRUE);
    }
    g_assert_cmpuint(checked, ==, 1 + 8 + 24 + 28 + 36 + 100 + 101 + 250);
}

static void test_contexts(void)
{
    const struct psc_hyper *h = &psc_preset_find("qwen3-4b")->hyper;
    uint64_t bytes = 0;
    g_assert_cmpuint(psc_model_n_ctx(h, 0, 0), ==, 4096);
    g_assert_cmpuint(psc_model_n_ctx(h, 0, 5000), ==, 5000);
    g_assert_cmpuint(psc_model_n_ctx(h, 100, 30), ==, 100);
    g_assert_cmpuint(psc_model_n_ctx(h, 10, 30), ==, 30);
    g_assert_cmpuint(psc_model_n_ctx(h, UINT64_MAX, 30), ==, 40960);
    g_assert_cmpuint(psc_model_n_ctx(h, 0, UINT64_MAX), ==, 40960);
    g_assert_cmpuint(psc_model_n_ctx(&psc_preset_find("tiny-qwen2")->hyper, 0, 1), ==, 2048);
    g_assert_true(psc_hyper_kv_bytes(h, 40960, 0, &bytes));
    g_assert_cmpuint(bytes, ==, UINT64_C(12079595520));
    g_assert_true(psc_hyper_kv_bytes(h, 4096, 0, &bytes));
    g_assert_cmpuint(bytes, ==, UINT64_C(1207959552));
    g_assert_true(psc_hyper_kv_bytes(h, 4096, 272, &bytes)); /* packed: 272 words for 1024 values */
    g_assert_cmpuint(bytes, ==, UINT64_C(1207959552) / 1024 * 272);
    bytes = 77;
    g_assert_false(psc_hyper_kv_bytes(h, UINT64_MAX / 2, 0, &bytes));
    g_assert_cmpuint(bytes, ==, 77);
}

/* ---- weights by name, and joined ones ------------------------------------------------------------------------ */

static void test_lookup(void)
{
    unsigned found = 0;
    for (const struct psc_preset *p = psc_presets; p->name; p++) {
        struct psc_arena arena = {0};
        struct psc_model *model = preset(&arena, p->name, NULL);
        for (uint32_t i = 0; i < model->weight_n; i++, found++)
            g_assert_true(psc_model_weight(model, model->weights[i].name) == &model->weights[i]);
        for (uint32_t i = 0; i < psc_hyper_tensor_n(&p->hyper); i++) {
            struct psc_tensor_spec t;
            psc_hyper_tensor(&p->hyper, i, &t);
            const struct psc_weight *w = psc_model_weight_of(model, t.name);
            g_assert_nonnull(w);
            g_assert_cmpuint(w->in, ==, t.in);
            g_assert_cmpuint(w->out, ==, t.out);
        }
        g_assert_null(psc_model_weight(model, ""));
        g_assert_null(psc_model_weight(model, "blk.0.attn_q"));
        g_assert_null(psc_model_weight(model, "zzz"));
        psc_arena_release(&arena);
    }
    g_assert_cmpuint(found, >, 1000);
}

static void test_joined(void)
{
    struct psc_arena arena = {0};
    struct psc_model *shapes = preset(&arena, "tiny-qwen3", "q8_0"), *model = NULL;
    g_assert_cmpint(psc_model_seeded(&arena, shapes, 1, &model, NULL), ==, PSC_OK);
    const struct psc_weight *qkv = psc_model_weight(model, "blk.1.attn_qkv"), *gu = psc_model_weight(model, "blk.2.ffn_gu");
    g_assert_cmpuint(qkv->part_n, ==, 3);
    g_assert_true(qkv->parts[0] == psc_model_weight(model, "blk.1.attn_q.weight"));
    g_assert_true(qkv->parts[1] == psc_model_weight(model, "blk.1.attn_k.weight"));
    g_assert_true(qkv->parts[2] == psc_model_weight(model, "blk.1.attn_v.weight"));
    g_assert_cmpuint(qkv->in, ==, 64);
    g_assert_cmpuint(qkv->out, ==, 4 * 32 + 2 * 2 * 32);
    g_assert_null(qkv->data);
    g_assert_cmpuint(qkv->bytes, ==, 256 * 64 / 32 * 34);
    g_assert_true(psc_weight_row(qkv, 130) == psc_weight_row(qkv->parts[1], 2));
    g_assert_true(psc_weight_row(qkv, 255) == psc_weight_row(qkv->parts[2], 63));
    g_assert_cmpuint(gu->part_n, ==, 2);
    g_assert_cmpuint(gu->out, ==, 2 * 96);
    g_assert_cmpuint(model->weight_n, ==, model->file_n + 2 * 3);
    psc_arena_release(&arena);
}

/* ---- refusals --------------------------------------------------------------------------------------------------- */

static void assert_hyper(struct psc_hyper h, const char *sentence)
{
    struct psc_error error = {0};
    g_assert_cmpint(psc_hyper_check(&h, &error), ==, PSC_ERR_PARSE);
    g_assert_cmpstr(error.text, ==, sentence);
}

static void test_bad_hyper(void)
{
    const struct psc_hyper good = psc_preset_find("tiny-qwen2")->hyper;
    struct psc_hyper h = good;
    g_assert_cmpint(psc_hyper_check(&h, NULL), ==, PSC_OK);
    h.n_layer = 0;
    assert_hyper(h, "the model's number of layers is 0; it would be 1 to 4096");
    h = good, h.n_embd = 1u << 25;
    assert_hyper(h, "the model's embedding length is 33554432; it would be 1 to 16777216");
    h = good, h.hd = 15;
    assert_hyper(h, "the model's head width is 15: rotation needs an even one");
    h = good, h.n_head = 5;
    assert_hyper(h, "the model has 5 heads over 2 KV heads: each KV head must serve as many");
    h = good, h.n_kv = 64;
    assert_hyper(h, "the K rows are 64 wide; 2 KV heads of 16 make 32");
    h = good, h.n_head = 1u << 20, h.n_head_kv = 1u << 20, h.n_kv = 1u << 24;
    h.hd = 32;
    assert_hyper(h, "the model has 1048576 heads of 32 elements: more than 16777216 in all");
    h = good, h.eps = NAN;
    g_assert_cmpint(psc_hyper_check(&h, NULL), ==, PSC_ERR_PARSE);
    h = good, h.freq_base = INFINITY;
    g_assert_cmpint(psc_hyper_check(&h, NULL), ==, PSC_ERR_PARSE);
}

static enum psc_status remake(const struct psc_model *model, const char *name, void (*bend)(struct psc_weight *),
                              struct psc_error *reterr)
{
    struct psc_arena arena = {0};
    struct psc_weight *weights = g_memdup2(model->weights, model->file_n * sizeof *weights);
    struct psc_model *made = NULL;
    uint32_t n = 0;
    for (uint32_t i = 0; i < model->file_n; i++) {
        weights[n] = model->weights[i];
        if (!strcmp(weights[n].name, name)) {
            if (!bend)
                continue;
            bend(&weights[n]);
        }
        n++;
    }
    enum psc_status status = psc_model_new(&arena, "m", &model->hyper, weights, n, &made, reterr);
    if (!status && !strcmp(name, "blk.1.attn_k.weight"))
        g_assert_null(psc_model_weight(made, "blk.1.attn_qkv"));
    psc_arena_release(&arena);
    g_free(weights);
    return status;
}

static void bend_shape(struct psc_weight *w) { w->out++; }
static void bend_type(struct psc_weight *w) { w->type = PSC_W_Q8_0; }
static void bend_other(struct psc_weight *w) { w->type = PSC_W_OTHER; }

static void test_bad_weights(void)
{
    struct psc_arena arena = {0};
    struct psc_model *model = preset(&arena, "tiny-qwen2", NULL);
    struct psc_error error = {0};
    g_assert_cmpint(remake(model, "blk.2.ffn_gate.weight", NULL, &error), ==, PSC_ERR_PARSE);
    g_assert_cmpstr(error.text, ==, "the model has no tensor 'blk.2.ffn_gate.weight' [64, 128], which every qwen2 graph reads");
    g_assert_cmpint(remake(model, "blk.2.ffn_gate.weight", bend_shape, &error), ==, PSC_ERR_PARSE);
    g_assert_cmpstr(error.text, ==, "tensor 'blk.2.ffn_gate.weight' is [64, 129]; by the other numbers of the model it "
                                    "would be [64, 128]");
    g_assert_cmpint(remake(model, "output_norm.weight", bend_type, &error), ==, PSC_ERR_UNAVAILABLE);
    g_assert_cmpstr(error.text, ==, "tensor 'output_norm.weight' is q8_0; norms and biases are expected in f32");
    g_assert_cmpint(remake(model, "output.weight", bend_other, &error), ==, PSC_ERR_UNAVAILABLE);
    g_assert_cmpstr(error.text, ==, "tensor 'output.weight' is of a type that is not computed with here");
    g_assert_cmpint(remake(model, "blk.0.attn_k.bias", NULL, &error), ==, PSC_OK); /* a bias may be missing */
    g_assert_cmpint(remake(model, "blk.1.attn_k.weight", bend_type, &error), ==, PSC_OK); /* not joined then */
    psc_arena_release(&arena);
}

/* ---- seeded weights ---------------------------------------------------------------------------------------------- */

/* Pieces of any size give the bytes of the whole. */
static void test_pieces(void)
{
    static const enum psc_wtype types[] = {PSC_W_F32, PSC_W_F16, PSC_W_Q8_0, PSC_W_Q4_K, PSC_W_Q6_K};
    const struct psc_hyper *h = &psc_preset_find("tiny-qwen2-k")->hyper;
    struct psc_tensor_spec t;
    psc_hyper_tensor(h, psc_hyper_tensor_n(h) - 1, &t); /* the logits: rows count there */
    g_assert_cmpstr(t.name, ==, "output.weight");
    uint64_t n = t.in * 40;
    for (unsigned k = 0; k < G_N_ELEMENTS(types); k++) {
        const struct psc_wtype_info *info = psc_wtype_info(types[k]);
        uint64_t bytes = n / info->block * info->bytes, at = 0, piece = 256;
        unsigned char *whole = g_malloc(bytes), *pieces = g_malloc(bytes);
        psc_seed_blocks(h, &t, types[k], 9, 0, n, whole);
        for (; at < n; at += piece, piece = piece == 256 ? 1792 : 256) {
            if (piece > n - at)
                piece = n - at;
            psc_seed_blocks(h, &t, types[k], 9, at, piece, pieces + at / info->block * info->bytes);
        }
        g_assert_cmpmem(whole, bytes, pieces, bytes);
        g_free(whole);
        g_free(pieces);
    }
}

/* What comes back from the blocks is what went in, within a step of the type. */
static void test_types_agree(void)
{
    const struct psc_hyper *h = &psc_preset_find("tiny-qwen3-k")->hyper;
    struct psc_tensor_spec t;
    float exact[1024], back[1024];
    unsigned char blocks[4096];
    psc_hyper_tensor(h, 2, &t);
    g_assert_cmpstr(t.name, ==, "blk.0.attn_q.weight");
    psc_seed_values(h, &t, 3, 0, 1024, exact);
    for (int type = 0; type < PSC_W_OTHER; type++) {
        float worst = 0, reach = sqrtf(3.f / 256);
        psc_seed_blocks(h, &t, (enum psc_wtype)type, 3, 0, 1024, blocks);
        psc_blocks_decode((enum psc_wtype)type, blocks, back, 1024);
        for (int i = 0; i < 1024; i++)
            worst = fmaxf(worst, fabsf(back[i] - exact[i]));
        g_assert_cmpfloat(worst, <=, 2 * reach / 15 * 1.1f); /* 4 bits: 15 steps */
        if (type == PSC_W_F32)
            g_assert_cmpfloat(worst, ==, 0);
    }
}

static void test_scales(void)
{
    const struct psc_hyper *h = &psc_preset_find("tiny-qwen2")->hyper;
    static const struct {
        uint32_t i;
        const char *name;
        double mean, deviation;
    } rows[] = {
        {0, "token_embd.weight", 0, 1},          {1, "blk.0.attn_norm.weight", 1, 0.1},
        {2, "blk.0.attn_q.weight", 0, 1.75 / 8}, {6, "blk.0.attn_v.weight", 0, 1.0 / 8},
        {8, "blk.0.attn_output.weight", 0, 2.0 / 8}, {12, "blk.0.ffn_down.weight", 0, 0.1767767},
    };
    for (unsigned k = 0; k < G_N_ELEMENTS(rows); k++) {
        struct psc_tensor_spec t;
        double sum = 0, squares = 0;
        psc_hyper_tensor(h, rows[k].i, &t);
        g_assert_cmpstr(t.name, ==, rows[k].name);
        uint64_t n = t.in * t.out;
        float *values = g_new(float, n);
        psc_seed_values(h, &t, 0, 0, n, values);
        for (uint64_t i = 0; i < n; i++)
            sum += (double)values[i], squares += (double)values[i] * (double)values[i];
        double mean = sum / (double)n, deviation = sqrt(squares / (double)n - mean * mean);
        g_assert_cmpfloat(fabs(mean - rows[k].mean), <, 6 * rows[k].deviation / sqrt((double)n));
        g_assert_cmpfloat(fabs(deviation / rows[k].deviation - 1), <, 0.2);
        g_free(values);
    }
}

static void test_seeds(void)
{
    struct psc_arena arena = {0};
    struct psc_model *shapes = preset(&arena, "tiny-qwen2", NULL), *a, *b, *c;
    g_assert_cmpint(psc_model_seeded(&arena, shapes, 7, &a, NULL), ==, PSC_OK);
    g_assert_cmpint(psc_model_seeded(&arena, shapes, 7, &b, NULL), ==, PSC_OK);
    g_assert_cmpint(psc_model_seeded(&arena, shapes, 8, &c, NULL), ==, PSC_OK);
    g_assert_cmpuint(a->file_n, ==, shapes->file_n);
    for (uint32_t i = 0; i < a->file_n; i++) {
        g_assert_cmpmem(a->weights[i].data, a->weights[i].bytes, b->weights[i].data, b->weights[i].bytes);
        g_assert_cmpint(memcmp(a->weights[i].data, c->weights[i].data, a->weights[i].bytes), !=, 0);
        if (i)
            g_assert_cmpint(memcmp(a->weights[i].data, a->weights[0].data, 64), !=, 0);
    }
    psc_arena_release(&arena);
}

struct watched { uint64_t calls, last, total, until; };

static bool watch_cb(void *ctx, uint64_t bytes, uint64_t total)
{
    struct watched *w = ctx;
    g_assert_cmpuint(bytes, >=, w->last);
    g_assert_cmpuint(bytes, <, total);
    w->last = bytes;
    w->total = total;
    return ++w->calls <= w->until;
}

/* A tensor of more than a million values is made piece by piece; the bytes are the same as at once. */
static void test_watched(void)
{
    struct psc_arena arena = {0};
    struct psc_error error = {0};
    struct watched w = {.until = UINT64_MAX};
    struct psc_seed_watch watch = {watch_cb, &w};
    struct psc_model *shapes = preset(&arena, "tiny-qwen2", NULL), *at_once, *told, *none = NULL;
    g_assert_cmpint(psc_model_seeded(&arena, shapes, 7, &at_once, NULL), ==, PSC_OK);
    g_assert_cmpint(psc_model_seeded_watched(&arena, shapes, 7, &watch, &told, NULL), ==, PSC_OK);
    g_assert_cmpuint(w.calls, ==, shapes->file_n);
    g_assert_cmpuint(w.total, ==, shapes->weight_bytes);
    for (uint32_t i = 0; i < told->file_n; i++)
        g_assert_cmpmem(told->weights[i].data, told->weights[i].bytes, at_once->weights[i].data, at_once->weights[i].bytes);
    w = (struct watched){.until = 3};
    g_assert_cmpint(psc_model_seeded_watched(&arena, shapes, 7, &watch, &none, &error), ==, PSC_ERR_CANCELLED);
    g_assert_cmpuint(w.calls, ==, 4);
    g_assert_null(none);

    /* 4097 rows of 256: a million values, and a rest. */
    struct psc_preset wide = *psc_preset_find("tiny-qwen2-k");
    wide.hyper.n_vocab = 4097;
    g_assert_cmpint(psc_model_preset(&arena, &wide, "q8_0", &shapes, NULL), ==, PSC_OK);
    w = (struct watched){.until = UINT64_MAX};
    g_assert_cmpint(psc_model_seeded_watched(&arena, shapes, 7, &watch, &told, NULL), ==, PSC_OK);
    g_assert_cmpuint(w.calls, ==, shapes->file_n + 2);
    struct psc_tensor_spec embd;
    psc_hyper_tensor(&shapes->hyper, 0, &embd);
    const struct psc_weight *made = psc_model_weight(told, embd.name);
    unsigned char *whole = g_malloc(made->bytes);
    g_assert_cmpuint(made->in * made->out, ==, 4097 * 256);
    psc_seed_blocks(&shapes->hyper, &embd, made->type, 7, 0, made->in * made->out, whole);
    g_assert_cmpmem(made->data, made->bytes, whole, made->bytes);
    g_free(whole);
    psc_arena_release(&arena);
}

static enum psc_status oom_preset(void *data)
{
    struct psc_arena arena = {0};
    struct psc_model *model = NULL, *seeded = NULL;
    struct psc_error error = {0};
    enum psc_status status = psc_model_preset(&arena, psc_preset_find(data), NULL, &model, &error);
    if (!status)
        status = psc_model_seeded(&arena, model, 0, &seeded, &error);
    psc_arena_release(&arena);
    return status;
}

static void test_oom(void)
{
    g_assert_cmpuint(test_oom_loop(oom_preset, (void *)"tiny-qwen2"), >, 3);
    g_assert_cmpuint(test_oom_loop(oom_preset, (void *)"tiny-qwen3"), >, 3);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/core/model/preset/has-the-published-number-of-parameters", test_parameters);
    g_test_add_func("/core/model/preset/every-one-in-every-mix", test_all_mixes);
    g_test_add_func("/core/model/preset/qwen2.5-0.5b-has-the-types-of-its-file", test_published_types);
    g_test_add_func("/core/model/preset/types-of-the-others", test_other_types);
    g_test_add_func("/core/model/mix/what-does-not-fit-falls-back", test_fallback);
    g_test_add_func("/core/model/mix/layers-count-in-the-order-of-their-names", test_name_order);
    g_test_add_func("/core/model/contexts-and-kv-bytes", test_contexts);
    g_test_add_func("/core/model/weights-are-found-by-name", test_lookup);
    g_test_add_func("/core/model/joined-weights-have-parts-and-no-bytes", test_joined);
    g_test_add_func("/core/model/refuses-numbers-that-make-no-sense", test_bad_hyper);
    g_test_add_func("/core/model/refuses-weights-by-name", test_bad_weights);
    g_test_add_func("/core/model/seed/pieces-make-the-whole", test_pieces);
    g_test_add_func("/core/model/seed/types-agree-within-a-step", test_types_agree);
    g_test_add_func("/core/model/seed/scales-are-as-documented", test_scales);
    g_test_add_func("/core/model/seed/same-seed-same-bytes", test_seeds);
    g_test_add_func("/core/model/seed/the-making-is-told-in-pieces-and-may-be-ended", test_watched);
    g_test_add_func("/core/model/oom", test_oom);
    return g_test_run();
}
