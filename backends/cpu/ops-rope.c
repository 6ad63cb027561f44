/* rope, and the rotation that the fused ops share.
 *
 *     angle of pair i at position p    p * freq_scale / freq_base^(2i / hd)       in double, then cosine and sine as f32
 *
 * freq_scale 0 stands for a file that does not say it: 1.
 */
#include "backends/cpu/exec.h"

#include "core/base/mem.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

void psc_cpu_angles_release(struct psc_cpu_angles *angles)
{
    psc_free(angles->turn);
    psc_free(angles->positions);
    psc_free(angles->freq);
    *angles = (struct psc_cpu_angles){0};
}

/* Room for n elements, with what was there lost. False when memory is exhausted; then all is as it was. */
static bool renew(void *array, uint64_t *cap, uint64_t n, uint64_t size)
{
    uint64_t bytes;
    if (n <= *cap)
        return true;
    if (!psc_mul_u64(n, size, &bytes) || bytes > SIZE_MAX)
        return false;
    void *block = psc_alloc((size_t)bytes);
    if (!block)
        return false;
    void *old;
    memcpy(&old, array, sizeof old);
    psc_free(old);
    memcpy(array, &block, sizeof block);
    *cap = n;
    return true;
}

enum psc_status psc_cpu_angles_reserve(struct psc_cpu_angles *angles, uint64_t tokens, uint64_t hd,
                                       struct psc_error *reterr)
{
    uint64_t values;
    bool grows = tokens > angles->token_cap || hd / 2 > angles->freq_cap;
    if (!psc_mul_u64(tokens, hd, &values))
        return psc_fail(reterr, PSC_ERR_TOO_BIG, "%" PRIu64 " tokens with heads of %" PRIu64 " are too many angles",
                        tokens, hd);
    if (grows || values > angles->turn_cap)
        angles->tokens = 0;
    if (!renew(&angles->turn, &angles->turn_cap, values, sizeof *angles->turn) ||
        !renew(&angles->positions, &angles->token_cap, tokens, sizeof *angles->positions) ||
        !renew(&angles->freq, &angles->freq_cap, hd / 2, sizeof *angles->freq))
        return psc_fail_nomem(reterr);
    return PSC_OK;
}

static void angle_span(void *ctx, uint64_t lo, uint64_t hi, unsigned worker)
{
    (void)worker;
    const struct psc_cpu_angles *a = ctx;
    uint64_t half = a->hd / 2;
    for (uint64_t t = lo; t < hi; t++)
        for (uint64_t i = 0; i < half; i++) {
            double angle = a->positions[t] * a->freq[i];
            a->turn[t * a->hd + i] = (float)cos(angle);
            a->turn[t * a->hd + half + i] = (float)sin(angle);
        }
}

void psc_cpu_angles_of(const struct psc_cpu_run *run, const int32_t *positions, uint64_t tokens)
{
    struct psc_cpu_angles *a = &run->exec->angles;
    const struct psc_params *p = run->call->params;
    float scale = p->freq_scale != 0 ? p->freq_scale : 1;
    bool same = a->tokens == tokens && a->hd == p->hd && a->base == p->freq_base && a->scale == scale;
    if (same && memcmp(a->positions, positions, tokens * sizeof *positions) == 0)
        return;
    a->tokens = tokens, a->hd = p->hd, a->base = p->freq_base, a->scale = scale;
    memcpy(a->positions, positions, tokens * sizeof *positions);
    for (uint64_t i = 0; i < p->hd / 2; i++)
        a->freq[i] = (double)scale / pow((double)p->freq_base, 2.0 * (double)i / (double)p->hd);
    psc_cpu_pool_for(run->threads, tokens, psc_cpu_grain(p->hd * 40), angle_span, a);
}

enum psc_status psc_cpu_need_rope(const struct psc_call *call, uint64_t tokens, struct psc_cpu_plan *plan,
                                  struct psc_error *reterr)
{
    const struct psc_params *p = call->params;
    if (!p->hd)
        return psc_cpu_refuse(call, reterr, PSC_ERR_GRAPH, "it has no head width (meta.hd)");
    if (p->hd % 2)
        return psc_cpu_refuse(call, reterr, PSC_ERR_GRAPH, "meta.hd is %" PRIu64 ": pairs need an even head width",
                              p->hd);
    if (!(p->freq_base > 0))
        return psc_cpu_refuse(call, reterr, PSC_ERR_GRAPH, "it has no frequency base (meta.freq_base)");
    plan->angle_tokens = tokens;
    plan->angle_hd = p->hd;
    return PSC_OK;
}

struct rows {
    const struct psc_cpu_run *run;
    const float *x, *bias;
    float *out;
    uint64_t x_stride, out_stride, width;
};

static void rope_span(void *ctx, uint64_t lo, uint64_t hi, unsigned worker)
{
    (void)worker;
    const struct rows *r = ctx;
    const struct psc_cpu_angles *a = &r->run->exec->angles;
    bool interleaved = r->run->call->params->rope_style == PSC_ROPE_INTERLEAVED;
    for (uint64_t t = lo; t < hi; t++) {
        const float *x = r->x + t * r->x_stride;
        float *out = r->out + t * r->out_stride;
        if (r->bias) {
            r->run->vec->add(x, r->bias, out, r->width);
            x = out;
        }
        for (uint64_t at = 0; at < r->width; at += a->hd)
            r->run->vec->rotate(x + at, a->turn + t * a->hd, out + at, a->hd, interleaved);
    }
}

void psc_cpu_rope_rows(const struct psc_cpu_run *run, const float *x, uint64_t x_stride, const float *bias, float *out,
                       uint64_t out_stride, uint64_t width, uint64_t tokens)
{
    struct rows r = {.run = run, .x = x, .bias = bias, .out = out, .x_stride = x_stride, .out_stride = out_stride,
                     .width = width};
    psc_cpu_pool_for(run->threads, tokens, psc_cpu_grain(2 * width), rope_span, &r);
}

static enum psc_status check(const struct psc_call *call, struct psc_cpu_plan *plan, struct psc_error *reterr)
{
    enum psc_status status = psc_cpu_need_operands(call, 2, reterr);
    uint64_t tokens = psc_cpu_rows(&call->out);
    if (status == PSC_OK)
        status = psc_cpu_need_numbers(call, 0, reterr);
    if (status == PSC_OK)
        status = psc_cpu_need_same_size(call, 0, reterr);
    if (status == PSC_OK)
        status = psc_cpu_need_words(call, 1, tokens, reterr);
    if (status == PSC_OK)
        status = psc_cpu_need_rope(call, tokens, plan, reterr);
    if (status == PSC_OK && call->out.shape[0] % call->params->hd)
        return psc_cpu_refuse(call, reterr, PSC_ERR_GRAPH,
                              "heads of %" PRIu64 " values do not divide a row of %" PRIu64, call->params->hd,
                              call->out.shape[0]);
    return status;
}

static enum psc_status check_bias(const struct psc_call *call, struct psc_cpu_plan *plan, struct psc_error *reterr)
{
    enum psc_status status = check(call, plan, reterr);
    if (status == PSC_OK)
        status =
            psc_cpu_need_vector(call, &call->bias[0], "bias", call->params->bias[0], call->out.shape[0], plan, reterr);
    return status;
}

static void run_rope(const struct psc_cpu_run *run)
{
    const struct psc_window *out = &run->call->out;
    uint64_t width = out->shape[0], tokens = psc_cpu_rows(out);
    const float *bias = run->call->op == PSC_OP_FUSED_BIAS_ROPE ? psc_cpu_vector(run, &run->call->bias[0]) : NULL;
    psc_cpu_angles_of(run, psc_cpu_words(&run->in[1]), tokens);
    psc_cpu_rope_rows(run, psc_cpu_floats(&run->in[0]), width, bias, psc_cpu_floats(out), width, width, tokens);
}

const struct psc_cpu_op psc_cpu_rope = {check, NULL, run_rope};
const struct psc_cpu_op psc_cpu_bias_rope = {check_bias, NULL, run_rope};
