#include "core/model/preset.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

const struct psc_preset psc_presets[] = {
    {"qwen2.5-0.5b", "24 layers, width 896, 14 heads over 2, as published in q4_k_m",
     "qwen2.5-0.5b-instruct-q4_k_m.gguf", "q4_k_m",
     {PSC_ARCH_QWEN2, 24, 896, 14, 2, 64, 4864, 151936, 128, 32768, 1e-6f, 1e6f, 1, false}, false},
    {"qwen2.5-7b", "28 layers, width 3584, 28 heads over 4, as published in q4_k_m",
     "qwen2.5-7b-instruct-q4_k_m-00001-of-00002.gguf", "q4_k_m",
     {PSC_ARCH_QWEN2, 28, 3584, 28, 4, 128, 18944, 152064, 512, 32768, 1e-6f, 1e6f, 1, false}, false},
    {"qwen3-0.6b", "28 layers, width 1024, 16 heads of 128 over 8, tied, as published in q8_0",
     "Qwen3-0.6B-Q8_0.gguf", "q8_0",
     {PSC_ARCH_QWEN3, 28, 1024, 16, 8, 128, 3072, 151936, 1024, 40960, 1e-6f, 1e6f, 1, true}, false},
    {"qwen3-4b", "36 layers, width 2560, 32 heads of 128 over 8, tied, as published in q4_k_m",
     "Qwen3-4B-Q4_K_M.gguf", "q4_k_m",
     {PSC_ARCH_QWEN3, 36, 2560, 32, 8, 128, 9728, 151936, 1024, 40960, 1e-6f, 1e6f, 1, true}, false},
    {"tiny-qwen2", "3 layers, width 64, 4 heads over 2, 512 tokens; seeded weights", "tiny-qwen2.gguf", "f32",
     {PSC_ARCH_QWEN2, 3, 64, 4, 2, 16, 128, 512, 32, 2048, 1e-6f, 1e4f, 1, false}, true},
    {"tiny-qwen3", "3 layers, width 64, 4 heads of 32 over 2, 512 tokens, tied; seeded weights", "tiny-qwen3.gguf",
     "f32", {PSC_ARCH_QWEN3, 3, 64, 4, 2, 32, 96, 512, 64, 2048, 1e-6f, 1e4f, 1, true}, true},
    {"tiny-qwen2-k", "3 layers, width 256, 8 heads over 2, 512 tokens: K-quants fit; seeded",
     "tiny-qwen2-k.gguf", "q4_k_m", {PSC_ARCH_QWEN2, 3, 256, 8, 2, 32, 512, 512, 64, 2048, 1e-6f, 1e4f, 1, false}, true},
    {"tiny-qwen3-k", "3 layers, width 256, 4 heads of 64 over 2, 512 tokens, tied: K-quants fit; seeded",
     "tiny-qwen3-k.gguf", "q4_k_m", {PSC_ARCH_QWEN3, 3, 256, 4, 2, 64, 512, 512, 128, 2048, 1e-6f, 1e4f, 1, true}, true},
    {0},
};

const struct psc_preset *psc_preset_find(const char *name)
{
    for (const struct psc_preset *p = psc_presets; p->name; p++)
        if (!strcmp(p->name, name))
            return p;
    return NULL;
}

/* ---- mixes ------------------------------------------------------------------------------------------------ */

static bool is_q4_k_m(const char *mix)
{
    static const char name[] = "q4_k_m";
    size_t i = 0;
    while (name[i] && tolower((unsigned char)mix[i]) == name[i])
        i++;
    return !name[i] && !mix[i];
}

bool psc_mix_known(const char *mix)
{
    return is_q4_k_m(mix) || psc_wtype_from_name(mix) != PSC_W_OTHER;
}

static uint64_t digits(uint64_t n) /* 10 to their number */
{
    uint64_t size = 10;
    while (size <= n)
        size *= 10;
    return size;
}

/* Does a stand before b when both are written as text? */
static bool before_as_text(uint32_t a, uint32_t b)
{
    uint64_t x = a * digits(b), y = b * digits(a); /* as long as each other, their first digits first */
    return x != y ? x < y : a < b;
}

bool psc_mix_more_bits(uint32_t layer, uint32_t n_layer)
{
    uint32_t at = 0, eighth = n_layer / 8;
    for (uint32_t other = 0; other < n_layer; other++)
        at += before_as_text(other, layer);
    return at < eighth || at >= 7 * n_layer / 8 || (at - eighth) % 3 == 2;
}

/* A type whose blocks fit `in`. */
static enum psc_wtype fitting(enum psc_wtype type, uint64_t in)
{
    if (in % psc_wtype_info(type)->block == 0)
        return type;
    if (type == PSC_W_Q4_K)
        type = PSC_W_Q5_0;
    else if (type == PSC_W_Q5_K)
        type = PSC_W_Q5_1;
    else if (type == PSC_W_Q6_K)
        type = PSC_W_Q8_0;
    return in % psc_wtype_info(type)->block == 0 ? type : PSC_W_F16;
}

enum psc_wtype psc_mix_type(const char *mix, const struct psc_hyper *hyper, const struct psc_tensor_spec *t)
{
    enum psc_wtype type = psc_wtype_from_name(mix);
    if (t->role == PSC_TENSOR_NORM || t->role == PSC_TENSOR_BIAS)
        return PSC_W_F32;
    if (is_q4_k_m(mix)) {
        bool logits = t->role == PSC_TENSOR_OUTPUT || (t->role == PSC_TENSOR_EMBED && hyper->tied);
        bool wider = t->role == PSC_TENSOR_V || t->role == PSC_TENSOR_DOWN;
        type = logits || (wider && psc_mix_more_bits((uint32_t)t->layer, hyper->n_layer)) ? PSC_W_Q6_K : PSC_W_Q4_K;
    }
    return fitting(type, t->in);
}

/* ---- a model without bytes -------------------------------------------------------------------------------- */

/* "qwen3-4b-q8_0.gguf" when the types are not the preset's own. */
static void name_of(const struct psc_preset *preset, const char *mix, char *buf, size_t size)
{
    if (!strcmp(mix, preset->mix))
        snprintf(buf, size, "%s", preset->file);
    else
        snprintf(buf, size, "%s-%s.gguf", preset->name, mix);
}

enum psc_status psc_model_preset(struct psc_arena *arena, const struct psc_preset *preset, const char *mix,
                                 struct psc_model **ret, struct psc_error *reterr)
{
    const struct psc_hyper *hyper = &preset->hyper;
    uint32_t n = psc_hyper_tensor_n(hyper);
    struct psc_arena_mark mark = psc_arena_mark(arena);
    struct psc_weight *weights = psc_arena_alloc0(arena, n, sizeof *weights);
    enum psc_status status = weights ? PSC_OK : psc_fail_nomem(reterr);
    char name[96];
    mix = mix ? mix : preset->mix;
    if (!psc_mix_known(mix))
        status = psc_fail(reterr, PSC_ERR_USAGE, "there are no weights of type '%.40s'; there are: f32, f16, bf16, q8_0, q4_0, "
                          "q4_1, q5_0, q5_1, q4_K, q5_K, q6_K and q4_k_m", mix);
    for (uint32_t i = 0; i < n && !status; i++) {
        struct psc_tensor_spec t;
        psc_hyper_tensor(hyper, i, &t);
        weights[i].name = psc_arena_strdup(arena, t.name);
        weights[i].type = psc_mix_type(mix, hyper, &t);
        weights[i].in = t.in;
        weights[i].out = t.out;
        if (!weights[i].name)
            status = psc_fail_nomem(reterr);
        else if (!psc_wtype_bytes(weights[i].type, t.in * t.out, &weights[i].bytes))
            status = psc_fail(reterr, PSC_ERR_TOO_BIG, "tensor '%s' is too large", t.name);
    }
    name_of(preset, mix, name, sizeof name);
    if (!status)
        status = psc_model_new(arena, name, hyper, weights, n, ret, reterr);
    if (status)
        psc_arena_rewind(arena, mark);
    return status;
}
