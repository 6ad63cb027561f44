/* add, mul, scale, silu, swiglu and softmax. */
#include "backends/cpu/exec.h"

#include <math.h>

#define CHUNK 4096u /* elements that are not worth a second worker, for the costliest of these */

static enum psc_status check_one(const struct psc_call *call, struct psc_cpu_plan *plan, struct psc_error *reterr)
{
    (void)plan;
    enum psc_status status = psc_cpu_need_operands(call, 1, reterr);
    if (status == PSC_OK)
        status = psc_cpu_need_numbers(call, 0, reterr);
    return status == PSC_OK ? psc_cpu_need_same_size(call, 0, reterr) : status;
}

static enum psc_status check_two(const struct psc_call *call, struct psc_cpu_plan *plan, struct psc_error *reterr)
{
    (void)plan;
    enum psc_status status = psc_cpu_need_operands(call, 2, reterr);
    for (uint32_t k = 0; k < 2 && status == PSC_OK; k++) {
        status = psc_cpu_need_numbers(call, k, reterr);
        if (status == PSC_OK)
            status = psc_cpu_need_same_size(call, k, reterr);
    }
    return status;
}

static enum psc_status check_scale(const struct psc_call *call, struct psc_cpu_plan *plan, struct psc_error *reterr)
{
    if (!call->params->has_scale)
        return psc_cpu_refuse(call, reterr, PSC_ERR_GRAPH, "it has no factor (detail.scale)");
    return check_one(call, plan, reterr);
}

static void span(void *ctx, uint64_t lo, uint64_t hi, unsigned worker)
{
    (void)worker;
    const struct psc_cpu_run *run = ctx;
    const struct psc_cpu_vec *vec = run->vec;
    const float *a = psc_cpu_floats(&run->in[0]) + lo,
                *b = run->call->in_n > 1 ? psc_cpu_floats(&run->in[1]) + lo : NULL;
    float *out = psc_cpu_floats(&run->call->out) + lo;
    switch (run->call->op) {
    case PSC_OP_ADD:
        vec->add(a, b, out, hi - lo);
        break;
    case PSC_OP_MUL:
        vec->mul(a, b, out, hi - lo);
        break;
    case PSC_OP_SCALE:
        vec->scale(a, run->call->params->scale, out, hi - lo);
        break;
    case PSC_OP_SILU:
        vec->silu(a, out, hi - lo);
        break;
    default:
        vec->swiglu(a, b, out, hi - lo);
        break;
    }
}

static void run_elements(const struct psc_cpu_run *run)
{
    enum psc_op op = run->call->op;
    uint64_t grain = op == PSC_OP_SILU || op == PSC_OP_SWIGLU ? CHUNK : 8 * CHUNK;
    psc_cpu_pool_for(run->threads, psc_cpu_elements(&run->call->out), grain, span, (void *)(uintptr_t)run);
}

const struct psc_cpu_op psc_cpu_add = {check_two, NULL, run_elements};
const struct psc_cpu_op psc_cpu_mul = {check_two, NULL, run_elements};
const struct psc_cpu_op psc_cpu_scale = {check_scale, NULL, run_elements};
const struct psc_cpu_op psc_cpu_silu = {check_one, NULL, run_elements};
const struct psc_cpu_op psc_cpu_swiglu = {check_two, NULL, run_elements};

/* Softmax along dim 0: every row; along dim 1: every column of every [d0, d1] slice. */

static enum psc_status check_softmax(const struct psc_call *call, struct psc_cpu_plan *plan, struct psc_error *reterr)
{
    if (call->params->dim != 0 && call->params->dim != 1)
        return psc_cpu_refuse(call, reterr, PSC_ERR_GRAPH,
                              "detail.dim is %d; 0 (along a row) and 1 (along the tokens) are "
                              "possible",
                              (int)call->params->dim);
    return check_one(call, plan, reterr);
}

static void softmax_rows(void *ctx, uint64_t lo, uint64_t hi, unsigned worker)
{
    (void)worker;
    const struct psc_cpu_run *run = ctx;
    uint64_t n = run->call->out.shape[0];
    for (uint64_t r = lo; r < hi; r++) {
        const float *x = psc_cpu_floats(&run->in[0]) + r * n;
        float *out = psc_cpu_floats(&run->call->out) + r * n;
        float sum = run->vec->exp_minus(x, run->vec->largest(x, n), out, n);
        if (!(run->call->faults & PSC_CALL_L21))
            run->vec->divide(out, sum, out, n);
    }
}

/* Items are columns of all slices, eight at a time. */
static void softmax_columns(void *ctx, uint64_t lo, uint64_t hi, unsigned worker)
{
    (void)worker;
    const struct psc_cpu_run *run = ctx;
    uint64_t d0 = run->call->out.shape[0], d1 = run->call->out.shape[1], lots = d0 / 8 + (d0 % 8 != 0);
    for (uint64_t i = lo; i < hi; i++) {
        uint64_t column = i % lots * 8, at = i / lots * d0 * d1 + column;
        run->vec->softmax_columns(psc_cpu_floats(&run->in[0]) + at, psc_cpu_floats(&run->call->out) + at, d1, d0,
                                  d0 - column < 8 ? d0 - column : 8, !(run->call->faults & PSC_CALL_L21));
    }
}

static void run_softmax(const struct psc_cpu_run *run)
{
    const struct psc_window *out = &run->call->out;
    void *ctx = (void *)(uintptr_t)run;
    if (run->call->params->dim == 0) {
        psc_cpu_pool_for(run->threads, psc_cpu_rows(out), psc_cpu_grain(out->shape[0]), softmax_rows, ctx);
        return;
    }
    uint64_t slices = psc_cpu_elements(out) / (out->shape[0] * out->shape[1]);
    psc_cpu_pool_for(run->threads, slices * (out->shape[0] / 8 + (out->shape[0] % 8 != 0)),
                     psc_cpu_grain(out->shape[1] * 8), softmax_columns, ctx);
}

const struct psc_cpu_op psc_cpu_softmax = {check_softmax, NULL, run_softmax};
