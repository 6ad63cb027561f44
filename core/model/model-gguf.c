#include "core/model/gguf.h"
#include "core/model/model.h"

#include <stdio.h>
#include <string.h>

struct reading {
    const struct psc_gguf *gguf;
    struct psc_hyper *h;
    char key[96];
    enum psc_status status;
    struct psc_error *reterr;
};

static const char *key(struct reading *r, const char *what)
{
    snprintf(r->key, sizeof r->key, "%s.%s", psc_arch_name(r->h->arch), what);
    return r->key;
}

/* fallback 0: the key must be there. */
static uint32_t number(struct reading *r, const char *what, uint32_t fallback)
{
    uint32_t n = 0;
    if (!r->status)
        r->status = psc_gguf_get_u32(r->gguf, key(r, what), fallback ? &fallback : NULL, &n, r->reterr);
    return n;
}

static float real(struct reading *r, const char *what, double fallback)
{
    double x = fallback;
    if (!r->status)
        r->status = psc_gguf_get_f64(r->gguf, key(r, what), &fallback, &x, r->reterr);
    return (float)x;
}

static enum psc_status read_arch(struct reading *r)
{
    const char *name = NULL;
    enum psc_status status = psc_gguf_get_text(r->gguf, "general.architecture", NULL, &name, r->reterr);
    if (status)
        return status;
    for (int a = 0; a < PSC_ARCH_N; a++)
        if (!strcmp(name, psc_arch_name((enum psc_arch)a))) {
            r->h->arch = (enum psc_arch)a;
            return PSC_OK;
        }
    return psc_fail(r->reterr, PSC_ERR_UNAVAILABLE, "the model's architecture is '%.60s'; graphs are built for qwen2 and qwen3",
                    name);
}

/* Linear scaling divides positions; what stretches frequencies unevenly is another model. */
static void read_scaling(struct reading *r)
{
    static const char *const none = "none";
    const char *type = none;
    r->h->freq_scale = real(r, "rope.frequency_scale", 1.0);
    if (!r->status)
        r->status = psc_gguf_get_text(r->gguf, key(r, "rope.scaling.type"), &none, &type, r->reterr);
    if (r->status || !strcmp(type, "none"))
        return;
    if (strcmp(type, "linear")) {
        r->status = psc_fail(r->reterr, PSC_ERR_UNAVAILABLE, "the model asks for rotation scaling '%.40s'; none and linear "
                             "are computed here", type);
        return;
    }
    float factor = real(r, "rope.scaling.factor", 1.0);
    if (!r->status && !(factor > 0))
        r->status = psc_fail(r->reterr, PSC_ERR_PARSE, "%s is %g; it would be above 0", r->key, (double)factor);
    r->h->freq_scale /= factor > 0 ? factor : 1;
}

/* Width of a matrix as the file has it, and its rows; 0 when it is not there. */
static uint32_t rows_of(const struct psc_gguf *gguf, const char *name)
{
    const struct psc_gguf_tensor *t = psc_gguf_find_tensor(gguf, name);
    return t && t->n_dims == 2 && t->dims[1] <= UINT32_MAX ? (uint32_t)t->dims[1] : 0;
}

static enum psc_status read_hyper(struct reading *r)
{
    struct psc_hyper *h = r->h;
    r->status = read_arch(r);
    h->n_layer = number(r, "block_count", 0);
    h->n_embd = number(r, "embedding_length", 0);
    h->n_head = number(r, "attention.head_count", 0);
    h->n_head_kv = number(r, "attention.head_count_kv", h->n_head);
    h->n_ff = number(r, "feed_forward_length", 0);
    h->n_ctx_max = number(r, "context_length", 32768);
    h->eps = real(r, "attention.layer_norm_rms_epsilon", 1e-6);
    h->freq_base = real(r, "rope.freq_base", 10000.0);
    read_scaling(r);
    if (r->status)
        return r->status;
    if (!h->n_head)
        return psc_fail(r->reterr, PSC_ERR_PARSE, "%s is 0", key(r, "attention.head_count"));
    h->hd = number(r, "attention.key_length", h->n_embd / h->n_head ? h->n_embd / h->n_head : 1);
    uint32_t value_length = number(r, "attention.value_length", h->hd ? h->hd : 1);
    if (!r->status && value_length != h->hd)
        return psc_fail(r->reterr, PSC_ERR_UNAVAILABLE, "heads have keys of %u and values of %u elements; only equal ones are "
                        "computed here", h->hd, value_length);
    h->n_vocab = rows_of(r->gguf, "token_embd.weight");
    h->n_kv = rows_of(r->gguf, "blk.0.attn_k.weight");
    if (!r->status && !h->n_vocab)
        return psc_fail(r->reterr, PSC_ERR_PARSE, "the model has no matrix 'token_embd.weight'");
    if (!r->status && !h->n_kv)
        return psc_fail(r->reterr, PSC_ERR_PARSE, "the model has no matrix 'blk.0.attn_k.weight'");
    h->tied = !psc_gguf_find_tensor(r->gguf, "output.weight");
    return r->status;
}

/* As a weight when it can be one, else as something that nobody computes with. */
static struct psc_weight weight_of(const struct psc_gguf_tensor *t)
{
    struct psc_weight w = {0};
    if (psc_gguf_weight(t, &w, NULL))
        w = (struct psc_weight){
            .name = t->name, .type = PSC_W_OTHER, .in = t->dims[0], .out = t->dims[0] ? t->elements / t->dims[0] : 0,
            .data = t->data, .bytes = t->bytes,
        };
    return w;
}

/* Tensors that the graph reads must be weights: their own sentence says why one is not. */
static enum psc_status check_needed(const struct psc_gguf *gguf, const struct psc_hyper *hyper, struct psc_error *reterr)
{
    enum psc_status status = psc_hyper_check(hyper, reterr);
    uint32_t n = status ? 0 : psc_hyper_tensor_n(hyper);
    for (uint32_t i = 0; i < n && !status; i++) {
        struct psc_tensor_spec spec;
        struct psc_weight w;
        psc_hyper_tensor(hyper, i, &spec);
        const struct psc_gguf_tensor *t = psc_gguf_find_tensor(gguf, spec.name);
        if (t)
            status = psc_gguf_weight(t, &w, reterr);
    }
    return status;
}

enum psc_status psc_model_from_gguf(struct psc_arena *arena, const struct psc_gguf *gguf, const char *name,
                                    struct psc_model **ret, struct psc_error *reterr)
{
    struct psc_hyper hyper = {0};
    struct reading reading = {.gguf = gguf, .h = &hyper, .reterr = reterr};
    struct psc_arena_mark mark = psc_arena_mark(arena);
    struct psc_weight *weights;
    struct psc_model *model;
    enum psc_status status = read_hyper(&reading);
    if (!status)
        status = check_needed(gguf, &hyper, reterr);
    if (status)
        return status;
    weights = psc_arena_alloc(arena, gguf->tensor_n, sizeof *weights);
    if (!weights)
        return psc_fail_nomem(reterr);
    for (uint32_t i = 0; i < gguf->tensor_n; i++)
        weights[i] = weight_of(&gguf->tensors[i]);
    status = psc_model_new(arena, name, &hyper, weights, gguf->tensor_n, &model, reterr);
    if (status) {
        psc_arena_rewind(arena, mark);
        return status;
    }
    model->gguf = gguf;
    *ret = model;
    return PSC_OK;
}
