/* get_rows, concat, and the views: ops that move bytes and compute nothing. */
#include "backends/cpu/exec.h"

#include <inttypes.h>
#include <string.h>

/* ---- get_rows: rows of a weight (one operand) or of operand 0 (two) -------------------------- */

static bool embeds(const struct psc_call *call)
{
    return call->in_n < 2;
}

static enum psc_status check_embedding(const struct psc_call *call, struct psc_error *reterr)
{
    enum psc_status status = psc_cpu_need_weight(call, &call->weight, "weight", call->params->weight, reterr);
    const struct psc_weight *w = call->weight.weight;
    if (status)
        return status;
    if (w->part_n)
        return psc_cpu_refuse(call, reterr, PSC_ERR_GRAPH, "rows of a concatenated weight cannot be chosen");
    if (call->out.shape[0] != w->in)
        return psc_cpu_refuse(call, reterr, PSC_ERR_GRAPH,
                              "its rows have %" PRIu64 " values, those of '%.80s' have %" PRIu64, call->out.shape[0],
                              w->name ? w->name : "?", w->in);
    return PSC_OK;
}

static enum psc_status check_get_rows(const struct psc_call *call, struct psc_cpu_plan *plan, struct psc_error *reterr)
{
    (void)plan;
    enum psc_status status = psc_cpu_need_operands(call, 1, reterr);
    if (status)
        return status;
    if (embeds(call))
        status = check_embedding(call, reterr);
    else
        status = psc_cpu_need_operands(call, 2, reterr);
    if (status == PSC_OK && !embeds(call) && call->in[0].shape[0] != call->out.shape[0])
        return psc_cpu_refuse(call, reterr, PSC_ERR_GRAPH,
                              "its rows have %" PRIu64 " values, those of operand 0 have %" PRIu64, call->out.shape[0],
                              call->in[0].shape[0]);
    return status ? status : psc_cpu_need_words(call, embeds(call) ? 0 : 1, psc_cpu_rows(&call->out), reterr);
}

/* Rows that ids choose from. */
static uint64_t rows_of(const struct psc_call *call)
{
    return embeds(call) ? call->weight.weight->out : psc_cpu_rows(&call->in[0]);
}

static enum psc_status check_ids(const struct psc_cpu_run *run, struct psc_error *reterr)
{
    const struct psc_call *call = run->call;
    const int32_t *ids = psc_cpu_words(&call->in[embeds(call) ? 0 : 1]);
    uint64_t rows = rows_of(call);
    for (uint64_t t = 0; t < psc_cpu_rows(&call->out); t++)
        if (ids[t] < 0 || (uint64_t)ids[t] >= rows)
            return psc_cpu_refuse(call, reterr, PSC_ERR_USAGE,
                                  "id %d at place %" PRIu64 ", and there are %" PRIu64 " rows", (int)ids[t], t, rows);
    return PSC_OK;
}

/* The result may lie over the ids: each is bounded where it is used. */
static void row_span(void *ctx, uint64_t lo, uint64_t hi, unsigned worker)
{
    (void)worker;
    const struct psc_cpu_run *run = ctx;
    const struct psc_call *call = run->call;
    const int32_t *ids = psc_cpu_words(&run->in[embeds(call) ? 0 : 1]);
    uint64_t rows = rows_of(call);
    uint64_t n = call->out.shape[0];
    float *out = psc_cpu_floats(&call->out);
    if (!embeds(call)) {
        const float *x = psc_cpu_floats(&run->in[0]);
        for (uint64_t t = lo; t < hi; t++) {
            int32_t id = ids[t];
            if (psc_cpu_within(run, id, 1, rows, t))
                memmove(out + t * n, x + (uint64_t)id * n, n * sizeof *out);
        }
        return;
    }
    const struct psc_weight *w = call->weight.weight;
    uint64_t row_bytes = 0;
    bool whole = psc_wtype_bytes(w->type, w->in, &row_bytes);
    for (uint64_t t = lo; whole && t < hi; t++) {
        int32_t id = ids[t];
        if (psc_cpu_within(run, id, 1, rows, t))
            psc_blocks_decode(w->type, (const char *)(uintptr_t)call->weight.at[0] + (uint64_t)id * row_bytes,
                              out + t * n, n);
    }
}

static void run_get_rows(const struct psc_cpu_run *run)
{
    const struct psc_window *out = &run->call->out;
    psc_cpu_pool_for(run->threads, psc_cpu_rows(out), psc_cpu_grain(out->shape[0]), row_span, (void *)(uintptr_t)run);
}

const struct psc_cpu_op psc_cpu_get_rows = {check_get_rows, check_ids, run_get_rows};

/* ---- concat ---------------------------------------------------------------------------------- */

static int axis_of(const struct psc_call *call)
{
    int32_t dim = call->params->dim;
    return dim < 0 ? dim + 4 : dim;
}

static enum psc_status check_concat(const struct psc_call *call, struct psc_cpu_plan *plan, struct psc_error *reterr)
{
    (void)plan;
    enum psc_status status = psc_cpu_need_operands(call, call->in_n, reterr);
    int axis = axis_of(call);
    uint64_t along = 0;
    if (status == PSC_OK && (axis < 0 || axis > 3))
        return psc_cpu_refuse(call, reterr, PSC_ERR_GRAPH, "detail.axis is %d; 0 to 3 are possible",
                              (int)call->params->dim);
    if (status == PSC_OK && call->out.dtype != PSC_F32 && call->out.dtype != PSC_I32)
        return psc_cpu_refuse(call, reterr, PSC_ERR_GRAPH, "its result is %s; values of 4 bytes can be joined",
                              psc_dtype_name(call->out.dtype));
    for (uint32_t k = 0; k < call->in_n && status == PSC_OK; k++) {
        for (int d = 0; d < 4; d++)
            if (d != axis && call->in[k].shape[d] != call->out.shape[d])
                return psc_cpu_refuse(call, reterr, PSC_ERR_GRAPH,
                                      "operand %u has %" PRIu64 " along dimension %d, the result "
                                      "%" PRIu64,
                                      k, call->in[k].shape[d], d, call->out.shape[d]);
        if (call->in[k].dtype != call->out.dtype)
            return psc_cpu_refuse(call, reterr, PSC_ERR_GRAPH, "operand %u is %s, the result %s", k,
                                  psc_dtype_name(call->in[k].dtype), psc_dtype_name(call->out.dtype));
        along += call->in[k].shape[axis];
    }
    if (status == PSC_OK && along != call->out.shape[axis])
        return psc_cpu_refuse(call, reterr, PSC_ERR_GRAPH,
                              "its operands have %" PRIu64 " along dimension %d, the result "
                              "%" PRIu64,
                              along, axis, call->out.shape[axis]);
    return status;
}

static void run_concat(const struct psc_cpu_run *run)
{
    const struct psc_window *out = &run->call->out;
    int axis = axis_of(run->call);
    uint64_t inner = 4, outer = 1, at = 0;
    for (int d = 0; d < axis; d++)
        inner *= out->shape[d];
    for (int d = axis + 1; d < 4; d++)
        outer *= out->shape[d];
    uint64_t whole = inner * out->shape[axis];
    for (uint32_t k = 0; k < run->call->in_n; k++) {
        uint64_t part = inner * run->in[k].shape[axis];
        for (uint64_t o = 0; o < outer && part; o++)
            memmove((char *)(uintptr_t)out->at + o * whole + at, (const char *)(uintptr_t)run->in[k].at + o * part,
                    part);
        at += part;
    }
}

const struct psc_cpu_op psc_cpu_concat = {check_concat, NULL, run_concat};

/* ---- views: nothing to do where the bytes are the parent's, a copy where they lie elsewhere ---- */

static enum psc_status check_window(const struct psc_call *call, uint64_t offset, struct psc_error *reterr)
{
    enum psc_status status = psc_cpu_need_operands(call, 1, reterr);
    if (status)
        return status;
    uint64_t bytes = call->in[0].bytes;
    if (offset > bytes / 4 || call->out.bytes > bytes - offset * 4)
        return psc_cpu_refuse(call, reterr, PSC_ERR_GRAPH, "elements %" PRIu64 " to %" PRIu64 " of a parent of %" PRIu64
                              " do not fit", offset, offset + psc_cpu_elements(&call->out), bytes / 4);
    return PSC_OK;
}

static enum psc_status check_view(const struct psc_call *call, struct psc_cpu_plan *plan, struct psc_error *reterr)
{
    (void)plan;
    return check_window(call, call->params->view_offset, reterr);
}

static enum psc_status check_reshape(const struct psc_call *call, struct psc_cpu_plan *plan, struct psc_error *reterr)
{
    (void)plan;
    enum psc_status status = check_window(call, 0, reterr);
    return status ? status : psc_cpu_need_same_size(call, 0, reterr);
}

static void copy_window(const struct psc_cpu_run *run, uint64_t offset)
{
    psc_address from = run->in[0].at + offset * 4;
    if (from != run->call->out.at)
        memmove((void *)(uintptr_t)run->call->out.at, (const void *)(uintptr_t)from, run->call->out.bytes);
}

static void run_view(const struct psc_cpu_run *run)
{
    copy_window(run, run->call->params->view_offset);
}

static void run_reshape(const struct psc_cpu_run *run)
{
    copy_window(run, 0);
}

const struct psc_cpu_op psc_cpu_view = {check_view, NULL, run_view};
const struct psc_cpu_op psc_cpu_reshape = {check_reshape, NULL, run_reshape};

/* Dimension d of the result is dimension perm[d] of the parent. Elements keep their order in memory when the dimensions
 * longer than 1 do. */
static bool keeps_order(const struct psc_call *call)
{
    int last = -1;
    for (int d = 0; d < 4; d++)
        if (call->out.shape[d] > 1) {
            if (call->params->perm[d] < last)
                return false;
            last = call->params->perm[d];
        }
    return true;
}

static enum psc_status check_permute(const struct psc_call *call, struct psc_cpu_plan *plan, struct psc_error *reterr)
{
    (void)plan;
    const int32_t *perm = call->params->perm;
    enum psc_status status = check_window(call, 0, reterr);
    if (status == PSC_OK)
        status = psc_cpu_need_same_size(call, 0, reterr);
    if (status)
        return status;
    unsigned seen = 0;
    for (int d = 0; d < 4; d++)
        seen |= perm[d] >= 0 && perm[d] < 4 ? 1u << perm[d] : 0;
    bool fits = seen == 15;
    for (int d = 0; d < 4 && fits; d++)
        fits = call->out.shape[d] == call->in[0].shape[perm[d]];
    if (!fits)
        return psc_cpu_refuse(call, reterr, PSC_ERR_GRAPH,
                              "detail.dims %d %d %d %d do not turn %" PRIu64 " x %" PRIu64 " x %" PRIu64 " x %" PRIu64
                              " into %" PRIu64 " x %" PRIu64 " x %" PRIu64 " x %" PRIu64,
                              (int)perm[0], (int)perm[1], (int)perm[2], (int)perm[3], call->in[0].shape[0],
                              call->in[0].shape[1], call->in[0].shape[2], call->in[0].shape[3], call->out.shape[0],
                              call->out.shape[1], call->out.shape[2], call->out.shape[3]);
    bool apart = call->in[0].at + call->in[0].bytes <= call->out.at || call->out.at + call->out.bytes <= call->in[0].at;
    if (!apart && !keeps_order(call))
        return psc_cpu_refuse(call, reterr, PSC_ERR_UNAVAILABLE,
                              "it changes the order of elements and lies on its parent's "
                              "bytes: a permute that moves needs bytes of its own");
    return PSC_OK;
}

static void run_permute(const struct psc_cpu_run *run)
{
    const struct psc_call *call = run->call;
    if (keeps_order(call)) {
        copy_window(run, 0);
        return;
    }
    const uint64_t *from = run->in[0].shape, *to = call->out.shape;
    const uint64_t stride[4] = {1, from[0], from[0] * from[1], from[0] * from[1] * from[2]};
    const int32_t *perm = call->params->perm;
    const int32_t *x = psc_cpu_words(&run->in[0]);
    int32_t *out = (int32_t *)(uintptr_t)call->out.at;
    for (uint64_t d = 0; d < to[3]; d++)
        for (uint64_t c = 0; c < to[2]; c++)
            for (uint64_t b = 0; b < to[1]; b++) {
                uint64_t at = b * stride[perm[1]] + c * stride[perm[2]] + d * stride[perm[3]];
                for (uint64_t a = 0; a < to[0]; a++)
                    *out++ = x[at + a * stride[perm[0]]];
            }
}

const struct psc_cpu_op psc_cpu_permute = {check_permute, NULL, run_permute};
