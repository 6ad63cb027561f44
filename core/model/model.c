#include "core/model/model.h"

#include "core/base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    LAYERS_MAX = 4096,
    WIDTH_MAX = 1 << 24, /* elements of a row, and rows of a weight */
    CONTEXT_MAX = 1 << 30,
};

static const char *const arch_names[PSC_ARCH_N] = {"qwen2", "qwen3"};

const char *psc_arch_name(enum psc_arch arch)
{
    return arch_names[arch];
}

/* ---- what a graph reads ----------------------------------------------------------------------------------- */

struct block_tensor {
    const char *name;
    enum psc_tensor_role role;
};
static const struct block_tensor qwen2_block[] = {
    {"attn_norm.weight", PSC_TENSOR_NORM}, {"attn_q.weight", PSC_TENSOR_Q},       {"attn_q.bias", PSC_TENSOR_BIAS},
    {"attn_k.weight", PSC_TENSOR_K},       {"attn_k.bias", PSC_TENSOR_BIAS},      {"attn_v.weight", PSC_TENSOR_V},
    {"attn_v.bias", PSC_TENSOR_BIAS},      {"attn_output.weight", PSC_TENSOR_O},  {"ffn_norm.weight", PSC_TENSOR_NORM},
    {"ffn_gate.weight", PSC_TENSOR_GATE},  {"ffn_up.weight", PSC_TENSOR_UP},      {"ffn_down.weight", PSC_TENSOR_DOWN},
};
static const struct block_tensor qwen3_block[] = {
    {"attn_norm.weight", PSC_TENSOR_NORM},  {"attn_q.weight", PSC_TENSOR_Q},        {"attn_k.weight", PSC_TENSOR_K},
    {"attn_v.weight", PSC_TENSOR_V},        {"attn_q_norm.weight", PSC_TENSOR_NORM}, {"attn_k_norm.weight", PSC_TENSOR_NORM},
    {"attn_output.weight", PSC_TENSOR_O},   {"ffn_norm.weight", PSC_TENSOR_NORM},   {"ffn_gate.weight", PSC_TENSOR_GATE},
    {"ffn_up.weight", PSC_TENSOR_UP},       {"ffn_down.weight", PSC_TENSOR_DOWN},
};

static const struct block_tensor *block_of(enum psc_arch arch, uint32_t *ret_n)
{
    *ret_n = arch == PSC_ARCH_QWEN2 ? sizeof qwen2_block / sizeof *qwen2_block : sizeof qwen3_block / sizeof *qwen3_block;
    return arch == PSC_ARCH_QWEN2 ? qwen2_block : qwen3_block;
}

uint32_t psc_hyper_tensor_n(const struct psc_hyper *hyper)
{
    uint32_t n;
    block_of(hyper->arch, &n);
    return 2 + hyper->n_layer * n + !hyper->tied;
}

static void shape_of(const struct psc_hyper *h, struct psc_tensor_spec *t)
{
    uint64_t q = (uint64_t)h->n_head * h->hd;
    t->in = h->n_embd;
    t->out = 1;
    switch (t->role) {
    case PSC_TENSOR_EMBED:
    case PSC_TENSOR_OUTPUT: t->out = h->n_vocab; break;
    case PSC_TENSOR_NORM: t->in = strstr(t->name, "_q_norm") || strstr(t->name, "_k_norm") ? h->hd : h->n_embd; break;
    case PSC_TENSOR_BIAS: t->in = strstr(t->name, "attn_q") ? q : h->n_kv; break;
    case PSC_TENSOR_Q: t->out = q; break;
    case PSC_TENSOR_K:
    case PSC_TENSOR_V: t->out = h->n_kv; break;
    case PSC_TENSOR_O: t->in = q, t->out = h->n_embd; break;
    case PSC_TENSOR_GATE:
    case PSC_TENSOR_UP: t->out = h->n_ff; break;
    case PSC_TENSOR_DOWN: t->in = h->n_ff, t->out = h->n_embd; break;
    case PSC_TENSOR_ROLE_N: break;
    }
}

void psc_hyper_tensor(const struct psc_hyper *hyper, uint32_t i, struct psc_tensor_spec *ret)
{
    uint32_t block_n;
    const struct block_tensor *block = block_of(hyper->arch, &block_n);
    *ret = (struct psc_tensor_spec){.layer = -1};
    if (!i) {
        strcpy(ret->name, "token_embd.weight");
        ret->role = PSC_TENSOR_EMBED;
    } else if (i - 1 < hyper->n_layer * block_n) {
        const struct block_tensor *t = &block[(i - 1) % block_n];
        ret->layer = (int32_t)((i - 1) / block_n);
        snprintf(ret->name, sizeof ret->name, "blk.%" PRId32 ".%s", ret->layer, t->name);
        ret->role = t->role;
    } else {
        bool norm = i - 1 == hyper->n_layer * block_n;
        strcpy(ret->name, norm ? "output_norm.weight" : "output.weight");
        ret->role = norm ? PSC_TENSOR_NORM : PSC_TENSOR_OUTPUT;
    }
    shape_of(hyper, ret);
}

/* ---- numbers that make sense ---------------------------------------------------------------------------------- */

static enum psc_status check_number(const char *what, uint32_t n, uint32_t most, struct psc_error *reterr)
{
    if (n && n <= most)
        return PSC_OK;
    return psc_fail(reterr, PSC_ERR_PARSE, "the model's %s is %" PRIu32 "; it would be 1 to %" PRIu32, what, n, most);
}

enum psc_status psc_hyper_check(const struct psc_hyper *h, struct psc_error *reterr)
{
    const struct {
        const char *what;
        uint32_t n, most;
    } numbers[] = {
        {"number of layers", h->n_layer, LAYERS_MAX}, {"embedding length", h->n_embd, WIDTH_MAX},
        {"number of heads", h->n_head, WIDTH_MAX},    {"number of KV heads", h->n_head_kv, WIDTH_MAX},
        {"head width", h->hd, WIDTH_MAX},             {"feed-forward length", h->n_ff, WIDTH_MAX},
        {"vocabulary", h->n_vocab, WIDTH_MAX},        {"width of K rows", h->n_kv, WIDTH_MAX},
        {"context length", h->n_ctx_max, CONTEXT_MAX},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        enum psc_status status = check_number(numbers[i].what, numbers[i].n, numbers[i].most, reterr);
        if (status)
            return status;
    }
    if (h->hd % 2)
        return psc_fail(reterr, PSC_ERR_PARSE, "the model's head width is %" PRIu32 ": rotation needs an even one", h->hd);
    if (h->n_head % h->n_head_kv)
        return psc_fail(reterr, PSC_ERR_PARSE, "the model has %" PRIu32 " heads over %" PRIu32 " KV heads: each KV head "
                        "must serve as many", h->n_head, h->n_head_kv);
    if ((uint64_t)h->n_head * h->hd > WIDTH_MAX)
        return psc_fail(reterr, PSC_ERR_PARSE, "the model has %" PRIu32 " heads of %" PRIu32 " elements: more than %d in all",
                        h->n_head, h->hd, WIDTH_MAX);
    if ((uint64_t)h->n_head_kv * h->hd != h->n_kv)
        return psc_fail(reterr, PSC_ERR_PARSE, "the K rows are %" PRIu32 " wide; %" PRIu32 " KV heads of %" PRIu32
                        " make %" PRIu64, h->n_kv, h->n_head_kv, h->hd, (uint64_t)h->n_head_kv * h->hd);
    if (!(h->eps >= 0 && h->eps < 1) || !(h->freq_base > 0 && h->freq_base < 1e30f) ||
        !(h->freq_scale > 0 && h->freq_scale < 1e30f))
        return psc_fail(reterr, PSC_ERR_PARSE, "the model's epsilon (%g), rotation base (%g) and rotation scale (%g) make "
                        "no sense", (double)h->eps, (double)h->freq_base, (double)h->freq_scale);
    return PSC_OK;
}

uint32_t psc_model_n_ctx(const struct psc_hyper *hyper, uint64_t asked, uint64_t prompt)
{
    uint64_t n = asked ? asked : PSC_N_CTX_DEFAULT;
    if (n < prompt)
        n = prompt;
    return n < hyper->n_ctx_max ? (uint32_t)n : hyper->n_ctx_max;
}

bool psc_hyper_kv_bytes(const struct psc_hyper *hyper, uint64_t n_ctx, uint64_t row_elems, uint64_t *ret)
{
    uint64_t words;
    return psc_mul_u64(row_elems ? row_elems : hyper->n_kv, n_ctx, &words) && psc_mul_u64(words, 4 * 2, &words) &&
           psc_mul_u64(words, hyper->n_layer, ret);
}

/* ---- by name --------------------------------------------------------------------------------------------------- */

const struct psc_weight *psc_model_weight(const struct psc_model *model, const char *name)
{
    uint32_t lo = 0, hi = model->weight_n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        int order = strcmp(model->weights[model->by_name[mid]].name, name);
        if (!order)
            return &model->weights[model->by_name[mid]];
        if (order < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return NULL;
}

const struct psc_weight *psc_model_weight_of(void *ctx, const char *name)
{
    return psc_model_weight(ctx, name);
}

/* Merges runs of `width`, from one list into the other. */
static void merge_runs(const struct psc_weight *weights, const uint32_t *from, uint32_t *to, uint32_t n, uint32_t width)
{
    for (uint32_t lo = 0; lo < n; lo += 2 * width) {
        uint32_t mid = n - lo > width ? lo + width : n, hi = n - mid > width ? mid + width : n;
        for (uint32_t a = lo, b = mid, k = lo; k < hi; k++)
            to[k] = b >= hi || (a < mid && strcmp(weights[from[a]].name, weights[from[b]].name) <= 0) ? from[a++]
                                                                                                     : from[b++];
    }
}

/* by_name of the first n weights. */
static enum psc_status sort_names(struct psc_arena *arena, struct psc_model *model, uint32_t n, struct psc_error *reterr)
{
    uint32_t *list = psc_arena_alloc(arena, n, sizeof *list), *other = psc_alloc((size_t)n * sizeof *other), *by_name = list;
    if (!list || !other) {
        psc_free(other);
        return psc_fail_nomem(reterr);
    }
    uint32_t *from = list, *to = other, *swap;
    for (uint32_t i = 0; i < n; i++)
        list[i] = i;
    for (uint32_t width = 1; width < n; width *= 2) {
        merge_runs(model->weights, from, to, n, width);
        swap = from;
        from = to;
        to = swap;
    }
    if (from != by_name)
        memcpy(by_name, from, n * sizeof *by_name);
    psc_free(other);
    model->by_name = by_name;
    model->weight_n = n;
    return PSC_OK;
}

/* ---- checks ------------------------------------------------------------------------------------------------------- */

static enum psc_status check_weight(const struct psc_hyper *hyper, const struct psc_tensor_spec *t,
                                    const struct psc_weight *w, struct psc_error *reterr)
{
    const char *arch = psc_arch_name(hyper->arch);
    if (!w)
        return psc_fail(reterr, PSC_ERR_PARSE, "the model has no tensor '%s' [%" PRIu64 ", %" PRIu64 "], which every %s graph "
                        "reads", t->name, t->in, t->out, arch);
    if (w->in != t->in || w->out != t->out)
        return psc_fail(reterr, PSC_ERR_PARSE, "tensor '%s' is [%" PRIu64 ", %" PRIu64 "]; by the other numbers of the model "
                        "it would be [%" PRIu64 ", %" PRIu64 "]", t->name, w->in, w->out, t->in, t->out);
    if (w->type >= PSC_W_OTHER)
        return psc_fail(reterr, PSC_ERR_UNAVAILABLE, "tensor '%s' is of a type that is not computed with here", t->name);
    if ((t->role == PSC_TENSOR_NORM || t->role == PSC_TENSOR_BIAS) && w->type != PSC_W_F32)
        return psc_fail(reterr, PSC_ERR_UNAVAILABLE, "tensor '%s' is %s; norms and biases are expected in f32", t->name,
                        psc_wtype_info(w->type)->name);
    return PSC_OK;
}

static enum psc_status check_weights(const struct psc_model *model, struct psc_error *reterr)
{
    uint32_t n = psc_hyper_tensor_n(&model->hyper);
    for (uint32_t i = 0; i < n; i++) {
        struct psc_tensor_spec t;
        psc_hyper_tensor(&model->hyper, i, &t);
        const struct psc_weight *w = psc_model_weight(model, t.name);
        if (!w && t.role == PSC_TENSOR_BIAS)
            continue;
        enum psc_status status = check_weight(&model->hyper, &t, w, reterr);
        if (status)
            return status;
    }
    return PSC_OK;
}

/* ---- concatenated weights --------------------------------------------------------------------------------------- */

/* Makes `to` of the block's parts when they fit together; false when they do not. */
static bool join(const struct psc_model *model, int32_t layer, const char *const *names, uint32_t n,
                 struct psc_weight *to)
{
    *to = (struct psc_weight){0};
    for (uint32_t k = 0; k < n; k++) {
        char name[48];
        snprintf(name, sizeof name, "blk.%" PRId32 ".%s.weight", layer, names[k]);
        const struct psc_weight *part = psc_model_weight(model, name), *first = to->parts[0];
        if (k && (part->type != first->type || part->in != first->in))
            return false;
        to->parts[k] = part;
        to->part_n = k + 1;
        to->type = part->type;
        to->in = part->in;
        to->out += part->out;
        to->bytes += part->bytes;
    }
    return to->in % psc_wtype_info(to->type)->block == 0;
}

static enum psc_status add_joined(struct psc_arena *arena, struct psc_model *model, struct psc_weight *weights,
                                  struct psc_error *reterr)
{
    static const char *const qkv[] = {"attn_q", "attn_k", "attn_v"}, *const gu[] = {"ffn_gate", "ffn_up"};
    uint32_t n = model->file_n;
    for (int32_t layer = 0; layer < (int32_t)model->hyper.n_layer; layer++)
        for (int which = 0; which < 2; which++) {
            char name[48];
            if (!join(model, layer, which ? gu : qkv, which ? 2 : 3, &weights[n]))
                continue;
            snprintf(name, sizeof name, "blk.%" PRId32 ".%s", layer, which ? "ffn_gu" : "attn_qkv");
            if (psc_model_weight(model, name))
                continue; /* the file has one of that name: it is the one meant */
            weights[n].name = psc_arena_strdup(arena, name);
            if (!weights[n++].name)
                return psc_fail_nomem(reterr);
        }
    return sort_names(arena, model, n, reterr);
}

enum psc_status psc_model_new(struct psc_arena *arena, const char *name, const struct psc_hyper *hyper,
                              const struct psc_weight *weights, uint32_t n, struct psc_model **ret,
                              struct psc_error *reterr)
{
    enum psc_status status = psc_hyper_check(hyper, reterr);
    struct psc_arena_mark mark = psc_arena_mark(arena);
    struct psc_model *model;
    struct psc_weight *own;
    if (status)
        return status;
    model = psc_arena_alloc0(arena, 1, sizeof *model);
    own = psc_arena_alloc(arena, (size_t)n + 2 * (size_t)hyper->n_layer, sizeof *own);
    if (model)
        model->name = psc_arena_strdup(arena, name ? name : "");
    if (!model || !own || !model->name)
        status = psc_fail_nomem(reterr);
    if (!status) {
        if (n)
            memcpy(own, weights, n * sizeof *own);
        model->hyper = *hyper;
        model->weights = own;
        model->file_n = n;
        for (uint32_t i = 0; i < n; i++)
            model->weight_bytes += own[i].bytes;
        status = sort_names(arena, model, n, reterr);
    }
    if (!status)
        status = check_weights(model, reterr);
    if (!status)
        status = add_joined(arena, model, own, reterr);
    if (status)
        psc_arena_rewind(arena, mark);
    else
        *ret = model;
    return status;
}
