/* matmul and batch_matmul: the shapes around backends/cpu/matmul.h and the loops of attention. */
#include "backends/cpu/exec.h"
#include "backends/cpu/matmul.h"

#include <inttypes.h>
#include <string.h>

uint64_t psc_cpu_product_width(const struct psc_weight *weight)
{
    uint64_t width = weight->part_n ? 0 : weight->out;
    for (uint32_t i = 0; i < weight->part_n; i++)
        width += weight->parts[i]->out;
    return width;
}

static uint32_t part_n(const struct psc_bound_weight *w)
{
    return w->weight->part_n ? w->weight->part_n : 1;
}

static struct psc_bound_weight part(const struct psc_bound_weight *w, uint32_t i)
{
    return w->weight->part_n ? (struct psc_bound_weight){.weight = w->weight->parts[i], .at = {w->at[i]}} : *w;
}

static uint64_t max64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Scratch of the costliest part: parts run one after another and give theirs back. */
static enum psc_status product_needs(const struct psc_call *call, const struct psc_bound_weight *w, uint64_t tokens,
                                     struct psc_cpu_plan *plan, struct psc_error *reterr)
{
    struct psc_cpu_needs most = {0};
    bool fits = true;
    for (uint32_t i = 0; i < part_n(w) && fits; i++) {
        struct psc_cpu_needs needs = {0};
        fits = psc_cpu_matmul_needs(part(w, i).weight, tokens, psc_cpu_pool_size(plan->exec->threads), &needs);
        most.temp = max64(most.temp, needs.temp);
        most.kept = max64(most.kept, needs.kept);
    }
    fits = fits && psc_cpu_piece(most.temp, 1, &plan->needs.temp);
    plan->needs.kept = max64(plan->needs.kept, most.kept);
    return fits ? PSC_OK : psc_cpu_refuse(call, reterr, PSC_ERR_TOO_BIG, "the product is too big");
}

enum psc_status psc_cpu_need_product(const struct psc_call *call, uint64_t in, uint64_t tokens,
                                     struct psc_cpu_plan *plan, struct psc_error *reterr)
{
    enum psc_status status = psc_cpu_need_weight(call, &call->weight, "weight", call->params->weight, reterr);
    if (status)
        return status;
    const struct psc_weight *w = call->weight.weight;
    const char *name = w->name ? w->name : "?";
    if (w->in > in)
        return psc_cpu_refuse(call, reterr, PSC_ERR_GRAPH,
                              "a row of its operand has %" PRIu64 " values, and '%.80s' takes %" PRIu64, in, name,
                              w->in);
    return product_needs(call, &call->weight, tokens, plan, reterr);
}

void psc_cpu_multiply(const struct psc_cpu_run *run, const struct psc_window *x, const float *const *bias, float *out,
                      uint64_t out_stride, uint64_t tokens)
{
    struct psc_cpu_exec *exec = run->exec;
    uint64_t mark = exec->scratch.used;
    for (uint32_t i = 0; i < part_n(&run->call->weight); i++) {
        struct psc_bound_weight w = part(&run->call->weight, i);
        psc_cpu_matmul(run->threads, &w, psc_cpu_floats(x), x->shape[0], tokens, bias ? bias[i] : NULL, out, out_stride,
                       &exec->scratch, exec->portable, run->call->faults);
        exec->scratch.used = mark;
        out += w.weight->out;
    }
}

/* ---- matmul with a weight, or with operand 1 as the matrix: [in, out], rows of `in` ---------- */

/* Operand 1 looks like a weight. */
static struct psc_weight matrix(const struct psc_call *call)
{
    return (struct psc_weight){.name = "operand 1", .type = PSC_W_F32, .in = call->in[1].shape[0],
                               .out = psc_cpu_rows(&call->in[1]), .bytes = call->in[1].bytes};
}

static bool by_operand(const struct psc_call *call)
{
    return call->in_n > 1 && !call->weight.weight && !call->params->weight;
}

static enum psc_status check_product(const struct psc_call *call, struct psc_cpu_plan *plan, struct psc_error *reterr)
{
    enum psc_status status = psc_cpu_need_operands(call, by_operand(call) ? 2 : 1, reterr);
    uint64_t tokens = psc_cpu_rows(&call->in[0]), width;
    if (status == PSC_OK)
        status = psc_cpu_need_numbers(call, 0, reterr);
    if (status)
        return status;
    if (call->params->transpose_b && !by_operand(call))
        return psc_cpu_refuse(call, reterr, PSC_ERR_UNAVAILABLE,
                              "detail.transpose_b: weights are never stored transposed");
    if (by_operand(call)) {
        struct psc_weight w = matrix(call);
        struct psc_bound_weight bound = {.weight = &w};
        if (w.in != call->in[0].shape[0])
            return psc_cpu_refuse(call, reterr, PSC_ERR_GRAPH,
                                  "rows of %" PRIu64 " and %" PRIu64 " values have no product", call->in[0].shape[0],
                                  w.in);
        status = psc_cpu_need_numbers(call, 1, reterr);
        if (status == PSC_OK)
            status = product_needs(call, &bound, tokens, plan, reterr);
        width = w.out;
    } else {
        status = psc_cpu_need_product(call, call->in[0].shape[0], tokens, plan, reterr);
        width = status ? 0 : psc_cpu_product_width(call->weight.weight);
    }
    if (status == PSC_OK)
        status = psc_cpu_need_vector(call, &call->bias[0], "bias", call->params->bias[0], width, plan, reterr);
    if (status == PSC_OK && (call->out.shape[0] != width || psc_cpu_rows(&call->out) != tokens))
        return psc_cpu_refuse(call, reterr, PSC_ERR_GRAPH,
                              "the product of %" PRIu64 " tokens has %" PRIu64 " rows of %" PRIu64
                              " values, the result %" PRIu64 " of %" PRIu64,
                              tokens, tokens, width, psc_cpu_rows(&call->out), call->out.shape[0]);
    return status;
}

static void run_product(const struct psc_cpu_run *run)
{
    const struct psc_call *call = run->call;
    uint64_t width = call->out.shape[0], tokens = psc_cpu_rows(&call->out);
    const float *bias = psc_cpu_vector(run, &call->bias[0]);
    float *out = psc_cpu_floats(&call->out);
    if (by_operand(call)) {
        struct psc_weight w = matrix(call);
        struct psc_bound_weight bound = {.weight = &w, .at = {run->in[1].at}};
        psc_cpu_matmul(run->threads, &bound, psc_cpu_floats(&run->in[0]), run->in[0].shape[0], tokens, bias, out, width,
                       &run->exec->scratch, run->exec->portable, call->faults);
        return;
    }
    const float *parts[3] = {bias, NULL, NULL};
    for (uint32_t i = 1; bias && i < part_n(&call->weight); i++)
        parts[i] = parts[i - 1] + call->weight.weight->parts[i - 1]->out;
    psc_cpu_multiply(run, &run->in[0], parts, out, width, tokens);
}

const struct psc_cpu_op psc_cpu_product = {check_product, NULL, run_product};

/* ---- batch_matmul: a [k, m, ...] times b -----------------------------------------------------
 *
 *     transpose_b     b [k, n, ...]    out[i][j] = sum over k of a[i][k] b[j][k]
 *     else            b [n, k, ...]    out[i][j] = sum over k of a[i][k] b[k][j]
 *
 * out [n, m, ...]. Dimensions 2 and 3 of b are those of a, or divide them: then matrices of b are shared by neighbours.
 */
static enum psc_status check_batch(const struct psc_call *call, struct psc_cpu_plan *plan, struct psc_error *reterr)
{
    (void)plan;
    enum psc_status status = psc_cpu_need_operands(call, 2, reterr);
    for (uint32_t k = 0; k < 2 && status == PSC_OK; k++)
        status = psc_cpu_need_numbers(call, k, reterr);
    if (status)
        return status;
    const uint64_t *a = call->in[0].shape, *b = call->in[1].shape, *o = call->out.shape;
    bool transposed = call->params->transpose_b;
    bool fits = a[0] == b[transposed ? 0 : 1] && o[0] == b[transposed ? 1 : 0] && o[1] == a[1];
    for (int d = 2; d < 4; d++)
        fits = fits && o[d] == a[d] && b[d] && a[d] % b[d] == 0;
    if (!fits)
        return psc_cpu_refuse(
            call, reterr, PSC_ERR_GRAPH,
            "%" PRIu64 " x %" PRIu64 " x %" PRIu64 " x %" PRIu64 " times %" PRIu64 " x %" PRIu64 " x %" PRIu64
            " x %" PRIu64 "%s does not make %" PRIu64 " x %" PRIu64 " x %" PRIu64 " x %" PRIu64,
            a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3], transposed ? " transposed" : "", o[0], o[1], o[2], o[3]);
    return PSC_OK;
}

static void batch_span(void *ctx, uint64_t lo, uint64_t hi, unsigned worker)
{
    (void)worker;
    const struct psc_cpu_run *run = ctx;
    const uint64_t *a = run->in[0].shape, *b = run->in[1].shape, *o = run->call->out.shape;
    for (uint64_t r = lo; r < hi; r++) {
        uint64_t d2 = r / o[1] % o[2], d3 = r / o[1] / o[2];
        uint64_t matrix_at = (d2 / (a[2] / b[2]) + d3 / (a[3] / b[3]) * b[2]) * b[0] * b[1];
        const float *row = psc_cpu_floats(&run->in[0]) + r * a[0], *m = psc_cpu_floats(&run->in[1]) + matrix_at;
        float *out = psc_cpu_floats(&run->call->out) + r * o[0];
        if (run->call->params->transpose_b) {
            run->vec->scores(row, 0, 1, m, b[0], o[0], a[0], 1, out, 0);
        } else {
            memset(out, 0, o[0] * sizeof *out);
            run->vec->weigh(row, m, b[0], a[0], o[0], out);
        }
    }
}

static void run_batch(const struct psc_cpu_run *run)
{
    const struct psc_window *out = &run->call->out;
    psc_cpu_pool_for(run->threads, psc_cpu_rows(out), psc_cpu_grain(out->shape[0] * run->in[0].shape[0]), batch_span,
                     (void *)(uintptr_t)run);
}

const struct psc_cpu_op psc_cpu_batch_product = {check_batch, NULL, run_batch};
