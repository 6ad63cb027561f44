/* From a call to kernels: products with weights and of activations, attention, the cache, and the fused ops. */
#include "backends/cuda/backend.h"

#include "backends/cuda/cuda.h"

#include <inttypes.h>

#define SCORES_MAX (32u << 20) /* bytes of attention scores at once */

/* ---- products with weights ------------------------------------------------------------------------- */

/* The parts of a weight side by side. */
struct parts {
    uint32_t n;
    const unsigned char *w[3];
    uint64_t end[3], row_bytes;
};

static bool parts_of(const struct psc_bound_weight *w, struct parts *ret)
{
    uint64_t end = 0;
    *ret = (struct parts){.n = w->weight->part_n ? w->weight->part_n : 1};
    for (uint32_t i = 0; i < 3; i++) {
        const struct psc_weight *part = !w->weight->part_n ? w->weight : i < ret->n ? w->weight->parts[i] : NULL;
        if (i < ret->n) {
            ret->w[i] = PSC_CUDA_POINTER(const unsigned char, w->at[i]);
            end += part->out;
        }
        ret->end[i] = end;
    }
    return psc_wtype_bytes(w->weight->type, w->weight->in, &ret->row_bytes);
}

/* Quantised activations in `kept`: q, then d, then sums. */
static enum psc_status quantise(struct psc_backend *b, psc_address x, uint64_t step, uint64_t in, uint64_t tokens, uint32_t group,
                                struct psc_k_product *ret, struct psc_error *reterr)
{
    uint64_t pieces = in / 32, q_bytes = tokens * in, d_bytes = tokens * (pieces / group) * 4;
    uint64_t d_at = (q_bytes + 255) / 256 * 256, sums_at = d_at + (d_bytes + 255) / 256 * 256;
    struct psc_cuda_memo memo = {x, ((tokens - 1) * step + in) * 4, tokens > 1 ? step : in, in, tokens, group};
    const struct psc_cuda_memo *m = &b->memo;
    enum psc_status status = psc_cuda_keep(b, sums_at + tokens * pieces * 4, reterr);
    if (status)
        return status;
    int8_t *q = PSC_CUDA_POINTER(int8_t, b->kept.at);
    float *d = PSC_CUDA_POINTER(float, b->kept.at + d_at);
    int32_t *sums = PSC_CUDA_POINTER(int32_t, b->kept.at + sums_at);
    ret->q = q, ret->d = d, ret->sums = sums;
    if (m->group == group && m->x == x && m->step == memo.step && m->in == in && m->tokens == tokens)
        return PSC_OK;
    for (uint64_t t = 0; status == PSC_OK && t < tokens; t += PSC_CUDA_TOKENS_MAX) {
        uint64_t n = tokens - t < PSC_CUDA_TOKENS_MAX ? tokens - t : PSC_CUDA_TOKENS_MAX;
        struct psc_k_quantise k = {.x = PSC_CUDA_POINTER(const float, x) + t * step, .q = q + t * in, .d = d + t * (pieces / group),
                                   .sums = sums + t * pieces, .step = step, .in = in, .group = group};
        struct psc_cuda_shape shape = {(uint32_t)((pieces + PSC_CUDA_THREADS - 1) / PSC_CUDA_THREADS), (uint32_t)n, PSC_CUDA_THREADS};
        status = PSC_CUDA_RUN(b, quantise, shape, 1, 0, &k, reterr);
    }
    if (status == PSC_OK)
        b->memo = memo;
    return status;
}

enum psc_status psc_cuda_quantise_as(struct psc_backend *b, psc_address x, psc_address as, uint64_t in, uint64_t tokens,
                                     struct psc_error *reterr)
{
    struct psc_k_product unused;
    enum psc_status status = tokens ? quantise(b, x, in, in, tokens, 1, &unused, reterr) : PSC_OK;
    b->memo.x = as;
    return status;
}

/* A library may choose its kernel by the alignment of what it is given. Where values lie must not change their bits: what is
 * not aligned as whole buffers are goes through scratch. */
#define WHOLE 256u
static enum psc_status take_aligned(struct psc_backend *b, psc_address *at, uint64_t bytes, struct psc_error *reterr)
{
    psc_address from = *at;
    if (from % WHOLE == 0)
        return PSC_OK;
    enum psc_status status = psc_cuda_temp(b, bytes, at, reterr);
    return status ? status : b->rt->copy(b->dev, *at, from, bytes, reterr);
}

/* Many tokens at once, by the library: decoded weights times the activations that the quantised product would see. */
static enum psc_status multiply_many(struct psc_backend *b, const struct psc_call *call, const struct psc_bound_weight *w,
                                     const struct parts *p, psc_address x, uint64_t step, const struct psc_k_product *acts,
                                     const psc_address bias[3], psc_address out, uint64_t out_step, uint64_t tokens,
                                     struct psc_error *reterr)
{
    uint64_t in = w->weight->in, out_bytes = tokens * out_step * 4;
    psc_address final = out;
    struct psc_cuda_shape shape;
    enum psc_status status = PSC_OK;
    if (out % WHOLE)
        status = psc_cuda_temp(b, out_bytes, &out, reterr);
    if (status == PSC_OK && !acts)
        status = take_aligned(b, &x, ((tokens - 1) * step + in) * 4, reterr);
    if (status == PSC_OK && acts) {
        status = psc_cuda_temp(b, tokens * in * 4, &x, reterr);
        step = in;
        struct psc_k_unquantise k = {acts->q, acts->d, PSC_CUDA_POINTER(float, x), in, tokens * in,
                                     psc_wtype_info(w->weight->type)->block};
        if (status == PSC_OK)
            status = psc_cuda_blocks(call, tokens * in, &shape, reterr);
        if (status == PSC_OK)
            status = PSC_CUDA_RUN(b, unquantise, shape, 1, 0, &k, reterr);
    }
    for (uint32_t i = 0; status == PSC_OK && i < p->n; i++) {
        uint64_t first = i ? p->end[i - 1] : 0, rows = p->end[i] - first, used = b->temp.used;
        psc_address plain = (psc_address)(uintptr_t)p->w[i], to = out + 4 * first;
        if (w->weight->type != PSC_W_F32) {
            status = psc_cuda_temp(b, rows * in * 4, &plain, reterr);
            struct psc_k_decode k = {p->w[i], NULL, PSC_CUDA_POINTER(float, plain), p->row_bytes, in, rows, 0, (int32_t)w->weight->type};
            if (status == PSC_OK)
                status = psc_cuda_blocks(call, rows * in, &shape, reterr);
            if (status == PSC_OK)
                status = PSC_CUDA_RUN(b, decode, shape, 1, 0, &k, reterr);
        } else {
            status = take_aligned(b, &plain, rows * in * 4, reterr);
        }
        if (status == PSC_OK)
            status = b->rt->multiply(b->dev, plain, x, step, to, out_step, in, rows, tokens, reterr);
        if (status)
            return status;
        b->figures.library++;
        struct psc_k_elements k = {.a = PSC_CUDA_POINTER(const float, to), .b = PSC_CUDA_POINTER(const float, bias[i]),
                                   .out = PSC_CUDA_POINTER(float, to), .n = rows * tokens, .row = rows, .a_step = out_step,
                                   .out_step = out_step, .op = PSC_K_ADD};
        if (bias[i])
            status = psc_cuda_blocks(call, k.n, &shape, reterr);
        if (bias[i] && status == PSC_OK)
            status = PSC_CUDA_RUN(b, elements, shape, 1, 0, &k, reterr);
        b->temp.used = used < b->temp.used ? used : b->temp.used;
    }
    return status || out == final ? status : b->rt->copy(b->dev, final, out, out_bytes, reterr);
}

/* Whether the library is asked. All rows of the output are its own then: out_step is their number. */
static bool is_many(struct psc_backend *b, const struct parts *p, uint64_t in, uint64_t step, uint64_t out_step, uint64_t tokens)
{
    return tokens >= PSC_CUDA_GEMM_TOKENS && out_step == p->end[2] && in <= INT32_MAX && step <= INT32_MAX && out_step <= INT32_MAX &&
           tokens <= INT32_MAX && b->rt->multiplies(b->dev);
}

static enum psc_status product_kernels(struct psc_backend *b, const struct psc_call *call, const struct psc_bound_weight *w,
                                       const struct parts *p, psc_address x, uint64_t step, const struct psc_k_product *acts,
                                       const psc_address bias[3], psc_address out, uint64_t out_step, uint64_t tokens,
                                       struct psc_error *reterr)
{
    const struct psc_weight *weight = w->weight;
    uint64_t in = weight->in, pieces = in / 32, rows = p->end[2], lot = acts ? PSC_CUDA_ROWS : PSC_CUDA_FLOAT_ROWS;
    uint64_t blocks = rows / lot + (rows % lot != 0), group = acts && psc_wtype_info(weight->type)->block == 256 ? 8 : 1;
    bool turned = call->faults & PSC_CALL_L20 && weight->type == PSC_W_F32 && tokens > 1;
    enum psc_status status = PSC_OK;
    if (blocks > INT32_MAX || in / 32 / PSC_CUDA_TILE >= UINT32_MAX)
        return psc_cpu_refuse(call, reterr, PSC_ERR_TOO_BIG, "the product is too big");
    for (uint64_t t = 0; status == PSC_OK && t < tokens; t += PSC_CUDA_TOKENS_MAX) {
        uint64_t n = tokens - t < PSC_CUDA_TOKENS_MAX ? tokens - t : PSC_CUDA_TOKENS_MAX;
        struct psc_cuda_shape shape = {(uint32_t)blocks, (uint32_t)n, PSC_CUDA_THREADS};
        float *to = PSC_CUDA_POINTER(float, out) + (turned ? t : t * out_step);
        if (acts) {
            struct psc_k_product k = {.q = acts->q + t * in, .d = acts->d + t * (pieces / group), .sums = acts->sums + t * pieces,
                                      .out = to, .row_bytes = p->row_bytes, .in = in, .out_step = out_step, .type = (int32_t)weight->type};
            for (int i = 0; i < 3; i++)
                k.w[i] = p->w[i], k.end[i] = p->end[i], k.bias[i] = PSC_CUDA_POINTER(const float, bias[i]);
            status = PSC_CUDA_RUN(b, product, shape, (uint32_t)((pieces + PSC_CUDA_TILE - 1) / PSC_CUDA_TILE), call->faults, &k, reterr);
        } else {
            struct psc_k_float_product k = {.x = PSC_CUDA_POINTER(const float, x) + t * step, .out = to, .row_bytes = p->row_bytes,
                                            .in = in, .x_step = step, .out_step = out_step, .tokens = tokens,
                                            .type = (int32_t)weight->type, .turned = turned};
            for (int i = 0; i < 3; i++)
                k.w[i] = p->w[i], k.end[i] = p->end[i], k.bias[i] = PSC_CUDA_POINTER(const float, bias[i]);
            status = PSC_CUDA_RUN(b, float_product, shape, 1, call->faults, &k, reterr);
        }
    }
    return status;
}

enum psc_status psc_cuda_multiply(struct psc_backend *b, const struct psc_call *call, const struct psc_bound_weight *w,
                                  const struct psc_window *x, const psc_address bias[3], psc_address out, uint64_t out_step,
                                  uint64_t tokens, struct psc_error *reterr)
{
    const struct psc_wtype_info *info = psc_wtype_info(w->weight->type);
    struct parts p;
    struct psc_k_product acts = {0};
    bool turned = call->faults & PSC_CALL_L20;
    enum psc_status status = PSC_OK;
    if (!parts_of(w, &p))
        return psc_cpu_refuse(call, reterr, PSC_ERR_TOO_BIG, "the weight is too big");
    if (!tokens || !p.end[2])
        return PSC_OK;
    if (info->quantised)
        status = quantise(b, x->at, x->shape[0], w->weight->in, tokens, info->block == 256 ? 8 : 1, &acts, reterr);
    if (status)
        return status;
    if (!turned && is_many(b, &p, w->weight->in, x->shape[0], out_step, tokens))
        return multiply_many(b, call, w, &p, x->at, x->shape[0], info->quantised ? &acts : NULL, bias, out, out_step, tokens, reterr);
    return product_kernels(b, call, w, &p, x->at, x->shape[0], info->quantised ? &acts : NULL, bias, out, out_step, tokens, reterr);
}

enum psc_status psc_cuda_op_product(struct psc_backend *b, const struct psc_call *call, struct psc_error *reterr)
{
    uint64_t width = call->out.shape[0], tokens = psc_cpu_rows(&call->out);
    psc_address bias[3] = {0, 0, 0};
    enum psc_status status = psc_cuda_vector(b, &call->bias[0], &bias[0], reterr);
    if (status)
        return status;
    if (call->in_n > 1 && !call->weight.weight && !call->params->weight) {
        struct psc_weight matrix = {.name = "operand 1", .type = PSC_W_F32, .in = call->in[1].shape[0],
                                    .out = psc_cpu_rows(&call->in[1]), .bytes = call->in[1].bytes};
        struct psc_bound_weight bound = {.weight = &matrix, .at = {call->in[1].at}};
        return psc_cuda_multiply(b, call, &bound, &call->in[0], bias, call->out.at, width, tokens, reterr);
    }
    const struct psc_weight *w = call->weight.weight;
    for (uint32_t i = 1; bias[0] && i < w->part_n; i++)
        bias[i] = bias[i - 1] + 4 * w->parts[i - 1]->out;
    return psc_cuda_multiply(b, call, &call->weight, &call->in[0], bias, call->out.at, width, tokens, reterr);
}

enum psc_status psc_cuda_op_batch(struct psc_backend *b, const struct psc_call *call, struct psc_error *reterr)
{
    const uint64_t *a = call->in[0].shape, *m = call->in[1].shape, *o = call->out.shape;
    struct psc_cuda_shape shape;
    struct psc_k_batch k = {.a = PSC_CUDA_POINTER(const float, call->in[0].at), .b = PSC_CUDA_POINTER(const float, call->in[1].at),
                            .out = PSC_CUDA_POINTER(float, call->out.at), .k = a[0], .n = o[0], .m = o[1], .share2 = a[2] / m[2],
                            .share3 = a[3] / m[3], .d2 = o[2], .b2 = m[2], .all = psc_cpu_elements(&call->out),
                            .transposed = call->params->transpose_b};
    enum psc_status status = psc_cuda_blocks(call, k.all, &shape, reterr);
    return status ? status : PSC_CUDA_RUN(b, batch, shape, 1, call->faults, &k, reterr);
}

/* ---- attention and the cache -------------------------------------------------------------------------- */

/* Fault l31: how many rows the only token looks at, read by the host. Outside a window it waits for the word; inside it
 * cannot, takes what lies there now, and what it decides is recorded. */
static enum psc_status decide_on_host(struct psc_backend *b, psc_address words, int32_t *ret, struct psc_error *reterr)
{
    int32_t position = 0;
    enum psc_status status = b->window ? b->rt->peek(b->dev, &position, words, sizeof position, reterr)
                                       : psc_cuda_read(b, words, &position, sizeof position, reterr);
    *ret = position < INT32_MAX ? position + 1 : position;
    return status;
}

enum psc_status psc_cuda_op_attn(struct psc_backend *b, const struct psc_call *call, struct psc_error *reterr)
{
    const struct psc_params *p = call->params;
    const struct psc_kv_pair *kv = &call->kv;
    uint64_t hd_kv = p->hd_kv ? p->hd_kv : p->hd, kv_n = p->n_head_kv ? p->n_head_kv : kv->width / hd_kv;
    uint64_t tokens = psc_cpu_rows(&call->out), token_bytes = 0;
    enum psc_k_window_form form = call->in_n < 4                                       ? PSC_K_POSITIONS
                                  : psc_cpu_elements(&call->in[3]) == 2 * tokens ? PSC_K_SPANS
                                                                                       : PSC_K_MAP;
    psc_address words = call->in[form == PSC_K_POSITIONS ? 2 : 3].at, scores = 0;
    if (p->n_head > UINT32_MAX / 2 || kv->rows > UINT32_MAX)
        return psc_cpu_refuse(call, reterr, PSC_ERR_TOO_BIG, "%" PRIu64 " heads over %" PRIu64 " rows are too many", p->n_head, kv->rows);
    token_bytes = p->n_head * kv->rows * 4;
    uint64_t lot = SCORES_MAX / token_bytes ? SCORES_MAX / token_bytes : 1;
    lot = lot > PSC_CUDA_TOKENS_MAX ? PSC_CUDA_TOKENS_MAX : lot;
    lot = lot > tokens ? tokens : lot;
    int32_t fixed = 0;
    enum psc_status status = psc_cuda_guard(b, call, words, tokens, kv->rows, form, reterr);
    if (status == PSC_OK && call->faults & PSC_CALL_L31 && form == PSC_K_POSITIONS && tokens == 1)
        status = decide_on_host(b, words, &fixed, reterr);
    if (status == PSC_OK)
        status = psc_cuda_temp(b, lot * token_bytes, &scores, reterr);
    for (uint64_t t = 0; status == PSC_OK && t < tokens; t += lot) {
        struct psc_cuda_shape shape = {(uint32_t)p->n_head, (uint32_t)(tokens - t < lot ? tokens - t : lot), PSC_CUDA_THREADS};
        struct psc_k_attn k = {.q = PSC_CUDA_POINTER(const float, call->in[0].at), .k = PSC_CUDA_POINTER(const unsigned char, kv->k),
                               .v = PSC_CUDA_POINTER(const unsigned char, kv->v), .words = PSC_CUDA_POINTER(const int32_t, words),
                               .out = PSC_CUDA_POINTER(float, call->out.at), .scores = PSC_CUDA_POINTER(float, scores),
                               .q_step = call->in[0].shape[0], .row_bytes = kv->row_bytes, .rows = kv->rows, .tokens = tokens,
                               .first = t, .heads = p->n_head, .sharers = p->n_head / kv_n, .hd = p->hd, .hd_kv = hd_kv,
                               .scale = p->scale, .form = form, .format = (int32_t)kv->format,
                               .pads = (call->faults & PSC_CALL_L22) != 0, .fixed = fixed};
        status = PSC_CUDA_RUN(b, attn, shape, 1, call->faults, &k, reterr);
    }
    return status;
}

static enum psc_status store(struct psc_backend *b, const struct psc_call *call, psc_address k_at, uint64_t k_step, psc_address v_at,
                             uint64_t v_step, psc_address cells, uint64_t tokens, struct psc_error *reterr)
{
    const struct psc_kv_pair *kv = &call->kv;
    struct psc_cuda_shape shape;
    struct psc_k_store k = {.k = PSC_CUDA_POINTER(const float, k_at), .v = PSC_CUDA_POINTER(const float, v_at),
                            .to_k = PSC_CUDA_POINTER(unsigned char, kv->k), .to_v = PSC_CUDA_POINTER(unsigned char, kv->v),
                            .cells = PSC_CUDA_POINTER(const int32_t, cells), .k_step = k_step, .v_step = v_step, .width = kv->width,
                            .row_bytes = kv->row_bytes, .tokens = tokens, .rows = kv->rows, .format = (int32_t)kv->format};
    enum psc_status status = psc_cuda_blocks(call, 2 * tokens * ((kv->width + 31) / 32), &shape, reterr);
    return status ? status : PSC_CUDA_RUN(b, store, shape, 1, call->faults, &k, reterr);
}

enum psc_status psc_cuda_op_store(struct psc_backend *b, const struct psc_call *call, struct psc_error *reterr)
{
    uint64_t width = call->in[0].shape[0], tokens = psc_cpu_rows(&call->in[0]);
    enum psc_status status = psc_cuda_guard(b, call, call->in[2].at, tokens, call->kv.rows, PSC_K_POSITIONS, reterr);
    return status ? status : store(b, call, call->in[0].at, width, call->in[1].at, width, call->in[2].at, tokens, reterr);
}

/* ---- fused ops ------------------------------------------------------------------------------------------ */

/* Biases, norms and rotation of q, k and v; then k and v go to the cache. */
static enum psc_status tail(struct psc_backend *b, const struct psc_call *call, struct psc_k_heads *k, const psc_address out[3],
                            psc_address cells, uint64_t tokens, struct psc_error *reterr)
{
    const struct psc_params *p = call->params;
    enum psc_status status = PSC_OK;
    if (p->hd > PSC_CUDA_HEAD_MAX)
        return psc_cpu_refuse(call, reterr, PSC_ERR_UNAVAILABLE, "its heads have %" PRIu64 " values, and this kernel takes %u",
                              p->hd, PSC_CUDA_HEAD_MAX);
    uint64_t heads = (p->nqt + 2 * p->nkt) / p->hd;
    if (heads > INT32_MAX)
        return psc_cpu_refuse(call, reterr, PSC_ERR_TOO_BIG, "%" PRIu64 " heads are too many", heads);
    k->hd = p->hd, k->eps = p->eps, k->base = p->freq_base, k->scale = p->freq_scale != 0 ? p->freq_scale : 1;
    k->interleaved = p->rope_style == PSC_ROPE_INTERLEAVED;
    for (int i = 0; i < 3; i++) {
        psc_address bias = 0;
        k->heads[i] = (uint32_t)((i ? p->nkt : p->nqt) / p->hd);
        k->out[i] = PSC_CUDA_POINTER(float, out[i]);
        if (status == PSC_OK)
            status = psc_cuda_vector(b, &call->bias[i], &bias, reterr);
        k->bias[i] = PSC_CUDA_POINTER(const float, bias);
    }
    const int32_t *positions = k->positions;
    for (uint64_t t = 0; status == PSC_OK && t < tokens; t += PSC_CUDA_TOKENS_MAX) {
        uint64_t n = tokens - t < PSC_CUDA_TOKENS_MAX ? tokens - t : PSC_CUDA_TOKENS_MAX;
        struct psc_cuda_shape shape = {(uint32_t)heads, (uint32_t)n, 64};
        struct psc_k_heads part = *k;
        for (int i = 0; i < 3; i++)
            part.x[i] += t * part.step[i], part.out[i] += t * part.out_step[i];
        part.positions = positions + t;
        status = PSC_CUDA_RUN(b, heads, shape, 1, call->faults, &part, reterr);
    }
    return status ? status : store(b, call, out[1], k->out_step[1], out[2], k->out_step[2], cells, tokens, reterr);
}

enum psc_status psc_cuda_op_fused_qkv(struct psc_backend *b, const struct psc_call *call, struct psc_error *reterr)
{
    const struct psc_params *p = call->params;
    uint64_t width = call->out.shape[0], tokens = psc_cpu_rows(&call->out);
    const psc_address none[3] = {0, 0, 0}, out[3] = {call->out.at, call->out.at + 4 * p->nqt, call->out.at + 4 * (p->nqt + p->nkt)};
    psc_address cells = call->in[call->in_n > 2 ? 2 : 1].at, norms[2] = {0, 0};
    struct psc_k_heads k = {.positions = PSC_CUDA_POINTER(const int32_t, call->in[1].at), .norms = call->op == PSC_OP_FUSED_QKV_NORM};
    enum psc_status status = psc_cuda_guard(b, call, cells, tokens, call->kv.rows, PSC_K_POSITIONS, reterr);
    if (status == PSC_OK)
        status = psc_cuda_multiply(b, call, &call->weight, &call->in[0], none, call->out.at, width, tokens, reterr);
    if (status == PSC_OK)
        status = psc_cuda_vector(b, &call->q_norm, &norms[0], reterr);
    if (status == PSC_OK)
        status = psc_cuda_vector(b, &call->k_norm, &norms[1], reterr);
    if (status)
        return status;
    for (int i = 0; i < 3; i++) {
        k.x[i] = PSC_CUDA_POINTER(const float, out[i]);
        k.step[i] = k.out_step[i] = width;
    }
    k.norm[0] = PSC_CUDA_POINTER(const float, norms[0]);
    k.norm[1] = PSC_CUDA_POINTER(const float, norms[1]);
    return tail(b, call, &k, out, cells, tokens, reterr);
}

enum psc_status psc_cuda_op_tail(struct psc_backend *b, const struct psc_call *call, struct psc_error *reterr)
{
    const struct psc_params *p = call->params;
    uint64_t tokens = psc_cpu_rows(&call->out);
    psc_address cells = call->in[call->in_n > 4 ? 4 : 3].at, out[3] = {call->out.at, 0, 0};
    struct psc_k_heads k = {.positions = PSC_CUDA_POINTER(const int32_t, call->in[3].at)};
    enum psc_status status = psc_cuda_guard(b, call, cells, tokens, call->kv.rows, PSC_K_POSITIONS, reterr);
    for (int i = 1; i < 3 && status == PSC_OK; i++)
        status = psc_cuda_temp(b, tokens * p->nkt * 4, &out[i], reterr);
    if (status)
        return status;
    for (int i = 0; i < 3; i++) {
        k.x[i] = PSC_CUDA_POINTER(const float, call->in[i].at);
        k.step[i] = k.out_step[i] = i ? p->nkt : p->nqt;
    }
    return tail(b, call, &k, out, cells, tokens, reterr);
}

enum psc_status psc_cuda_op_ffn(struct psc_backend *b, const struct psc_call *call, struct psc_error *reterr)
{
    uint64_t nf = call->params->nf, tokens = psc_cpu_rows(&call->out);
    const psc_address none[3] = {0, 0, 0};
    float *gate = PSC_CUDA_POINTER(float, call->out.at);
    struct psc_k_elements k = {.a = gate, .b = gate + nf, .out = gate, .n = tokens * nf, .row = nf, .a_step = 2 * nf,
                               .b_step = 2 * nf, .out_step = 2 * nf, .op = PSC_K_SWIGLU};
    struct psc_cuda_shape shape;
    enum psc_status status = psc_cuda_multiply(b, call, &call->weight, &call->in[0], none, call->out.at, 2 * nf, tokens, reterr);
    if (status == PSC_OK)
        status = psc_cuda_blocks(call, k.n, &shape, reterr);
    return status ? status : PSC_CUDA_RUN(b, elements, shape, 1, call->faults, &k, reterr);
}
