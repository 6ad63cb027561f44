/* rms_norm and qk_norm: each row divided by its root mean square. */
#include "backends/cpu/exec.h"

#include <inttypes.h>
#include <math.h>

struct rows {
    const struct psc_cpu_run *run;
    const float *x, *weight, *bias;
    float *out;
    uint64_t x_stride, out_stride, n;
};

static void norm_span(void *ctx, uint64_t lo, uint64_t hi, unsigned worker)
{
    (void)worker;
    const struct rows *r = ctx;
    const struct psc_cpu_vec *vec = r->run->vec;
    double eps = (double)r->run->call->params->eps;
    for (uint64_t i = lo; i < hi; i++) {
        const float *x = r->x + i * r->x_stride;
        double mean = vec->sum_squares(x, r->n) / (double)r->n;
        vec->norm(x, (float)(1.0 / sqrt(mean + eps)), r->weight, r->bias, r->out + i * r->out_stride, r->n);
    }
}

void psc_cpu_norm_rows(const struct psc_cpu_run *run, const float *x, uint64_t x_stride, const float *weight,
                       const float *bias, float *out, uint64_t out_stride, uint64_t n, uint64_t rows)
{
    struct rows r = {.run = run, .x = x, .weight = weight, .bias = bias, .out = out, .x_stride = x_stride,
                     .out_stride = out_stride, .n = n};
    psc_cpu_pool_for(run->threads, rows, psc_cpu_grain(n), norm_span, &r);
}

/* Values of a row: all features, or one head's. */
static uint64_t width(const struct psc_call *call)
{
    return call->op == PSC_OP_QK_NORM ? call->params->hd : call->out.shape[0];
}

static enum psc_status check(const struct psc_call *call, struct psc_cpu_plan *plan, struct psc_error *reterr)
{
    enum psc_status status = psc_cpu_need_operands(call, 1, reterr);
    if (status == PSC_OK)
        status = psc_cpu_need_numbers(call, 0, reterr);
    if (status == PSC_OK)
        status = psc_cpu_need_same_size(call, 0, reterr);
    if (status)
        return status;
    uint64_t n = width(call), features = call->out.shape[0];
    if (!n)
        return psc_cpu_refuse(call, reterr, PSC_ERR_GRAPH, "it has no head width (detail.hd)");
    if (features % n)
        return psc_cpu_refuse(call, reterr, PSC_ERR_GRAPH,
                              "heads of %" PRIu64 " values do not divide a row of %" PRIu64, n, features);
    status = psc_cpu_need_vector(call, &call->weight, "weight", call->params->weight, n, plan, reterr);
    if (status == PSC_OK)
        status = psc_cpu_need_vector(call, &call->norm_bias, "bias", call->params->bias[0], n, plan, reterr);
    return status;
}

static void run_norm(const struct psc_cpu_run *run)
{
    uint64_t n = width(run->call);
    const float *weight = psc_cpu_vector(run, &run->call->weight), *bias = psc_cpu_vector(run, &run->call->norm_bias);
    psc_cpu_norm_rows(run, psc_cpu_floats(&run->in[0]), n, weight, bias, psc_cpu_floats(&run->call->out), n, n,
                      psc_cpu_elements(&run->call->out) / n);
}

const struct psc_cpu_op psc_cpu_rms_norm = {check, NULL, run_norm};
const struct psc_cpu_op psc_cpu_qk_norm = {check, NULL, run_norm};
