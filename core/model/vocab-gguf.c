/* core/model/vocab-gguf.c: the vocabulary of a model file, as core/model/tokenizer.h wants it. */
#include "core/model/gguf.h"
#include "core/model/tokenizer.h"

#include <string.h>

static enum psc_status get_texts(struct psc_arena *arena, const struct psc_gguf *gguf, const char *key,
                                 const struct psc_vocab_text **ret, uint32_t *ret_n, struct psc_error *reterr)
{
    const struct psc_gguf_text *texts;
    uint64_t n;
    enum psc_status status = psc_gguf_get_texts(arena, gguf, key, &texts, &n, reterr);
    if (status != PSC_OK)
        return status;
    if (n > PSC_VOCAB_MAX)
        return psc_fail(reterr, PSC_ERR_TOO_BIG, "%s has %llu items, at most %u fit", key,
                        (unsigned long long)n, PSC_VOCAB_MAX);
    struct psc_vocab_text *copy = psc_arena_alloc(arena, (size_t)n, sizeof *copy);
    if (!copy)
        return psc_fail_nomem(reterr);
    for (uint64_t i = 0; i < n; i++)
        copy[i] = (struct psc_vocab_text){texts[i].s, texts[i].n};
    *ret = copy;
    *ret_n = (uint32_t)n;
    return PSC_OK;
}

static enum psc_status get_arrays(struct psc_arena *arena, const struct psc_gguf *gguf, struct psc_vocab *v,
                                  struct psc_error *reterr)
{
    uint64_t n;
    enum psc_status status = get_texts(arena, gguf, "tokenizer.ggml.tokens", &v->tokens, &v->n, reterr);
    if (status == PSC_OK)
        status = get_texts(arena, gguf, "tokenizer.ggml.merges", &v->merges, &v->merge_n, reterr);
    if (status == PSC_OK)
        status = psc_gguf_get_i32s(arena, gguf, "tokenizer.ggml.token_type", &v->types, &n, reterr);
    if (status == PSC_OK && v->types && n != v->n)
        return psc_fail(reterr, PSC_ERR_PARSE,
                        "tokenizer.ggml.token_type has %llu items, tokenizer.ggml.tokens has %u",
                        (unsigned long long)n, v->n);
    return status;
}

enum psc_status psc_vocab_from_gguf(struct psc_arena *arena, const struct psc_gguf *gguf,
                                    struct psc_vocab *ret, struct psc_error *reterr)
{
    static const uint32_t none = PSC_TOKEN_NONE;
    static const char *const no_text = NULL;
    static const bool no = false;
    struct psc_vocab v = {0};
    const char *model;
    enum psc_status status = psc_gguf_get_text(gguf, "tokenizer.ggml.model", NULL, &model, reterr);
    if (status != PSC_OK)
        return status;
    if (strcmp(model, "gpt2") != 0)
        return psc_fail(reterr, PSC_ERR_UNAVAILABLE,
                        "tokenizer.ggml.model says that the vocabulary is not byte-level BPE ('gpt2'), the "
                        "only kind known here");
    status = get_arrays(arena, gguf, &v, reterr);
    if (status == PSC_OK)
        status = psc_gguf_get_u32(gguf, "tokenizer.ggml.bos_token_id", &none, &v.bos, reterr);
    if (status == PSC_OK)
        status = psc_gguf_get_u32(gguf, "tokenizer.ggml.eos_token_id", &none, &v.eos, reterr);
    if (status == PSC_OK)
        status = psc_gguf_get_bool(gguf, "tokenizer.ggml.add_bos_token", &no, &v.add_bos, reterr);
    if (status == PSC_OK)
        status = psc_gguf_get_text(gguf, "tokenizer.ggml.pre", &no_text, &v.pre, reterr);
    if (status == PSC_OK)
        *ret = v;
    return status;
}
