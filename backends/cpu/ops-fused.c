/* The ops that decode graphs fuse. Each does what its parts do, with the same functions in the same order, so that fused
 * and unfused graphs agree bit for bit.
 *
 *     fused_qkv             x, positions [, cells]      q|k|v = W x + bias, rope q and k, store k and v
 *     fused_qkv_norm        x, positions [, cells]      the same with a norm of each head of q and k before the rope
 *     qkv_bias_rope_store   q, k, v, positions [, cells]  add biases, rope q and k, store k and v; the result is q
 *     fused_ffn             x                           gate|up = W x, then silu(gate) up over the gate: rows [0, nf)
 *
 * Without cells, rows are positions.
 */
#include "backends/cpu/exec.h"

#include "core/base/mem.h"

#include <inttypes.h>

static const struct psc_window *cells_of(const struct psc_cpu_run *run, uint32_t positions_at)
{
    return &run->in[run->call->in_n > positions_at + 1 ? positions_at + 1 : positions_at];
}

/* Words of positions, and of cells when there are some. */
static enum psc_status need_places(const struct psc_call *call, uint32_t at, uint64_t tokens, struct psc_error *reterr)
{
    enum psc_status status = psc_cpu_need_operands(call, call->in_n > at + 1 ? at + 2 : at + 1, reterr);
    if (status == PSC_OK)
        status = psc_cpu_need_words(call, at, tokens, reterr);
    if (status == PSC_OK && call->in_n > at + 1)
        status = psc_cpu_need_words(call, at + 1, tokens, reterr);
    return status;
}

/* q and k have whole heads; nqt and nkt are given. */
static enum psc_status need_heads(const struct psc_call *call, uint64_t tokens, struct psc_cpu_plan *plan,
                                  struct psc_error *reterr)
{
    const struct psc_params *p = call->params;
    if (!p->nqt || !p->nkt)
        return psc_cpu_refuse(call, reterr, PSC_ERR_GRAPH, "it does not say how wide q and k are (meta.nqt, meta.nkt)");
    enum psc_status status = psc_cpu_need_rope(call, tokens, plan, reterr);
    if (status == PSC_OK && (p->nqt % p->hd || p->nkt % p->hd))
        return psc_cpu_refuse(call, reterr, PSC_ERR_GRAPH,
                              "heads of %" PRIu64 " values do not divide q of %" PRIu64 " and k of %" PRIu64, p->hd,
                              p->nqt, p->nkt);
    return status ? status : psc_cpu_need_kv(call, p->nkt, reterr);
}

static enum psc_status need_biases(const struct psc_call *call, struct psc_cpu_plan *plan, struct psc_error *reterr)
{
    static const char *const words[3] = {"bias_q", "bias_k", "bias_v"};
    const struct psc_params *p = call->params;
    const uint64_t widths[3] = {p->nqt, p->nkt, p->nkt};
    for (int i = 0; i < 3; i++) {
        enum psc_status status =
            psc_cpu_need_vector(call, &call->bias[i], words[i], p->bias[i], widths[i], plan, reterr);
        if (status)
            return status;
    }
    return PSC_OK;
}

/* ---- fused_qkv, fused_qkv_norm --------------------------------------------------------------- */

static enum psc_status need_qkv_weight(const struct psc_call *call, struct psc_error *reterr)
{
    const struct psc_params *p = call->params;
    const struct psc_weight *w = call->weight.weight;
    const uint64_t widths[3] = {p->nqt, p->nkt, p->nkt};
    bool fits = w->part_n ? w->part_n == 3 : w->out == p->nqt + 2 * p->nkt;
    for (uint32_t i = 0; i < w->part_n && fits; i++)
        fits = w->parts[i]->out == widths[i];
    fits = fits && call->out.shape[0] == p->nqt + 2 * p->nkt;
    return fits ? PSC_OK
                : psc_cpu_refuse(call, reterr, PSC_ERR_GRAPH,
                                 "weight '%.80s' and a result of %" PRIu64 " values a token do not "
                                 "fit q of %" PRIu64 " and k and v of %" PRIu64,
                                 w->name ? w->name : "?", call->out.shape[0], p->nqt, p->nkt);
}

static enum psc_status check_qkv(const struct psc_call *call, struct psc_cpu_plan *plan, struct psc_error *reterr)
{
    uint64_t tokens = psc_cpu_rows(&call->out);
    enum psc_status status = need_places(call, 1, tokens, reterr);
    if (status == PSC_OK)
        status = psc_cpu_need_numbers(call, 0, reterr);
    if (status == PSC_OK)
        status = need_heads(call, tokens, plan, reterr);
    if (status == PSC_OK)
        status = psc_cpu_need_product(call, call->in[0].shape[0], tokens, plan, reterr);
    if (status == PSC_OK)
        status = need_qkv_weight(call, reterr);
    if (status == PSC_OK && psc_cpu_rows(&call->in[0]) != tokens)
        return psc_cpu_refuse(call, reterr, PSC_ERR_GRAPH, "operand 0 has %" PRIu64 " tokens, the result %" PRIu64,
                              psc_cpu_rows(&call->in[0]), tokens);
    if (status == PSC_OK)
        status = need_biases(call, plan, reterr);
    if (status == PSC_OK)
        status =
            psc_cpu_need_vector(call, &call->q_norm, "q_norm", call->params->q_norm, call->params->hd, plan, reterr);
    if (status == PSC_OK)
        status =
            psc_cpu_need_vector(call, &call->k_norm, "k_norm", call->params->k_norm, call->params->hd, plan, reterr);
    return status;
}

static enum psc_status check_qkv_cells(const struct psc_cpu_run *run, struct psc_error *reterr)
{
    return psc_cpu_check_cells(run->call, psc_cpu_words(cells_of(run, 1)), psc_cpu_rows(&run->call->out), reterr);
}

/* Every head of every token by itself: rows of the result hold more than these heads. */
static void norm_heads(const struct psc_cpu_run *run, float *x, uint64_t stride, const float *weight, uint64_t heads,
                       uint64_t tokens)
{
    uint64_t hd = run->call->params->hd;
    for (uint64_t h = 0; h < heads; h++)
        psc_cpu_norm_rows(run, x + h * hd, stride, weight, NULL, x + h * hd, stride, hd, tokens);
}

static void run_qkv(const struct psc_cpu_run *run)
{
    const struct psc_call *call = run->call;
    const struct psc_params *p = call->params;
    uint64_t width = call->out.shape[0], tokens = psc_cpu_rows(&call->out);
    float *q = psc_cpu_floats(&call->out), *k = q + p->nqt, *v = k + p->nkt;
    const float *bias[3];
    for (int i = 0; i < 3; i++)
        bias[i] = psc_cpu_vector(run, &call->bias[i]);
    psc_cpu_multiply(run, &run->in[0], call->weight.weight->part_n ? bias : NULL, q, width, tokens);
    const uint64_t widths[3] = {p->nqt, p->nkt, p->nkt};
    float *const parts[3] = {q, k, v};
    for (int i = 0; i < 3 && !call->weight.weight->part_n; i++)
        for (uint64_t t = 0; t < tokens && bias[i]; t++)
            run->vec->add(parts[i] + t * width, bias[i], parts[i] + t * width, widths[i]);
    if (call->op == PSC_OP_FUSED_QKV_NORM) {
        norm_heads(run, q, width, psc_cpu_vector(run, &call->q_norm), p->nqt / p->hd, tokens);
        norm_heads(run, k, width, psc_cpu_vector(run, &call->k_norm), p->nkt / p->hd, tokens);
    }
    psc_cpu_angles_of(run, psc_cpu_words(&run->in[1]), tokens);
    psc_cpu_rope_rows(run, q, width, NULL, q, width, p->nqt, tokens);
    psc_cpu_rope_rows(run, k, width, NULL, k, width, p->nkt, tokens);
    const int32_t *cells = psc_cpu_words(cells_of(run, 1));
    psc_cpu_store_rows(run, call->kv.k, k, width, cells, tokens);
    psc_cpu_store_rows(run, call->kv.v, v, width, cells, tokens);
}

const struct psc_cpu_op psc_cpu_fused_qkv = {check_qkv, check_qkv_cells, run_qkv};

/* ---- qkv_bias_rope_store --------------------------------------------------------------------- */

static enum psc_status check_bias_rope_store(const struct psc_call *call, struct psc_cpu_plan *plan,
                                             struct psc_error *reterr)
{
    uint64_t tokens = psc_cpu_rows(&call->out);
    const struct psc_params *p = call->params;
    enum psc_status status = need_places(call, 3, tokens, reterr);
    for (uint32_t k = 0; k < 3 && status == PSC_OK; k++)
        status = psc_cpu_need_numbers(call, k, reterr);
    if (status == PSC_OK)
        status = psc_cpu_need_same_size(call, 0, reterr);
    if (status == PSC_OK)
        status = need_heads(call, tokens, plan, reterr);
    if (status == PSC_OK)
        status = need_biases(call, plan, reterr);
    if (status)
        return status;
    uint64_t kv_elements;
    if (!psc_mul_u64(p->nkt, tokens, &kv_elements) || call->out.shape[0] != p->nqt ||
        psc_cpu_elements(&call->in[1]) != kv_elements || psc_cpu_elements(&call->in[2]) != kv_elements)
        return psc_cpu_refuse(call, reterr, PSC_ERR_GRAPH,
                              "q, k and v of %" PRIu64 ", %" PRIu64 " and %" PRIu64 " elements do "
                              "not fit %" PRIu64 " tokens of %" PRIu64 " and %" PRIu64 " values",
                              psc_cpu_elements(&call->in[0]), psc_cpu_elements(&call->in[1]),
                              psc_cpu_elements(&call->in[2]), tokens, p->nqt, p->nkt);
    if (!psc_cpu_piece(kv_elements, sizeof(float), &plan->needs.temp))
        return psc_cpu_refuse(call, reterr, PSC_ERR_TOO_BIG, "k is too big");
    return PSC_OK;
}

static enum psc_status check_stored_cells(const struct psc_cpu_run *run, struct psc_error *reterr)
{
    return psc_cpu_check_cells(run->call, psc_cpu_words(cells_of(run, 3)), psc_cpu_rows(&run->call->out), reterr);
}

static void run_bias_rope_store(const struct psc_cpu_run *run)
{
    const struct psc_call *call = run->call;
    const struct psc_params *p = call->params;
    uint64_t tokens = psc_cpu_rows(&call->out), nkt = p->nkt;
    const float *bias[3], *v = psc_cpu_floats(&run->in[2]);
    for (int i = 0; i < 3; i++)
        bias[i] = psc_cpu_vector(run, &call->bias[i]);
    float *row = psc_cpu_scratch_take(&run->exec->scratch, tokens * nkt * sizeof *row);
    psc_cpu_scratch_wrote(&run->exec->scratch, row, tokens * nkt * sizeof *row);
    const int32_t *cells = psc_cpu_words(cells_of(run, 3));
    psc_cpu_angles_of(run, psc_cpu_words(&run->in[3]), tokens);
    psc_cpu_rope_rows(run, psc_cpu_floats(&run->in[1]), nkt, bias[1], row, nkt, nkt, tokens);
    psc_cpu_store_rows(run, call->kv.k, row, nkt, cells, tokens);
    for (uint64_t t = 0; t < tokens && bias[2]; t++)
        run->vec->add(v + t * nkt, bias[2], row + t * nkt, nkt);
    psc_cpu_store_rows(run, call->kv.v, bias[2] ? row : v, nkt, cells, tokens);
    psc_cpu_rope_rows(run, psc_cpu_floats(&run->in[0]), p->nqt, bias[0], psc_cpu_floats(&call->out), p->nqt, p->nqt,
                      tokens);
}

const struct psc_cpu_op psc_cpu_bias_rope_store = {check_bias_rope_store, check_stored_cells, run_bias_rope_store};

/* ---- fused_ffn ------------------------------------------------------------------------------- */

static enum psc_status check_ffn(const struct psc_call *call, struct psc_cpu_plan *plan, struct psc_error *reterr)
{
    enum psc_status status = psc_cpu_need_operands(call, 1, reterr);
    uint64_t tokens = psc_cpu_rows(&call->out), nf = call->params->nf;
    if (status == PSC_OK)
        status = psc_cpu_need_numbers(call, 0, reterr);
    if (status == PSC_OK)
        status = psc_cpu_need_product(call, call->in[0].shape[0], tokens, plan, reterr);
    if (status)
        return status;
    const struct psc_weight *w = call->weight.weight;
    bool halves = w->part_n ? w->part_n == 2 && w->parts[0]->out == nf && w->parts[1]->out == nf : w->out == 2 * nf;
    if (!nf)
        return psc_cpu_refuse(call, reterr, PSC_ERR_GRAPH, "it does not say how wide gate and up are (meta.nf)");
    if (!halves || call->out.shape[0] != 2 * nf || psc_cpu_rows(&call->in[0]) != tokens)
        return psc_cpu_refuse(call, reterr, PSC_ERR_GRAPH,
                              "weight '%.80s' and a result of %" PRIu64 " values a token do not fit "
                              "gate and up of %" PRIu64,
                              w->name ? w->name : "?", call->out.shape[0], nf);
    return PSC_OK;
}

struct ffn {
    const struct psc_cpu_run *run;
    uint64_t nf, slice, slices; /* a row is cut into slices of elements */
};

static void ffn_span(void *ctx, uint64_t lo, uint64_t hi, unsigned worker)
{
    (void)worker;
    const struct ffn *f = ctx;
    for (uint64_t i = lo; i < hi; i++) {
        uint64_t at = i % f->slices * f->slice, n = f->nf - at < f->slice ? f->nf - at : f->slice;
        float *gate = psc_cpu_floats(&f->run->call->out) + i / f->slices * 2 * f->nf + at;
        f->run->vec->swiglu(gate, gate + f->nf, gate, n);
    }
}

static void run_ffn(const struct psc_cpu_run *run)
{
    const struct psc_window *out = &run->call->out;
    struct ffn f = {.run = run, .nf = run->call->params->nf, .slice = 4096};
    f.slices = f.nf / f.slice + (f.nf % f.slice != 0);
    psc_cpu_multiply(run, &run->in[0], NULL, psc_cpu_floats(out), 2 * f.nf, psc_cpu_rows(out));
    psc_cpu_pool_for(run->threads, psc_cpu_rows(out) * f.slices, 1, ffn_span, &f);
}

const struct psc_cpu_op psc_cpu_fused_ffn = {check_ffn, NULL, run_ffn};
