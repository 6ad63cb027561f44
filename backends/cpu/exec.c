#include "backends/cpu/exec.h"

#include "core/base/mem.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define LINE 64u

static const struct psc_cpu_op *const the_ops[PSC_OP_N] = {
    [PSC_OP_GET_ROWS] = &psc_cpu_get_rows,
    [PSC_OP_RMS_NORM] = &psc_cpu_rms_norm,
    [PSC_OP_QK_NORM] = &psc_cpu_qk_norm,
    [PSC_OP_MATMUL] = &psc_cpu_product,
    [PSC_OP_ROPE] = &psc_cpu_rope,
    [PSC_OP_KV_STORE] = &psc_cpu_store,
    [PSC_OP_KV_LOAD] = &psc_cpu_load,
    [PSC_OP_ATTN] = &psc_cpu_attn,
    [PSC_OP_ADD] = &psc_cpu_add,
    [PSC_OP_MUL] = &psc_cpu_mul,
    [PSC_OP_SCALE] = &psc_cpu_scale,
    [PSC_OP_SILU] = &psc_cpu_silu,
    [PSC_OP_SOFTMAX] = &psc_cpu_softmax,
    [PSC_OP_SWIGLU] = &psc_cpu_swiglu,
    [PSC_OP_VIEW] = &psc_cpu_view,
    [PSC_OP_RESHAPE] = &psc_cpu_reshape,
    [PSC_OP_PERMUTE] = &psc_cpu_permute,
    [PSC_OP_BATCH_MATMUL] = &psc_cpu_batch_product,
    [PSC_OP_FUSED_QKV] = &psc_cpu_fused_qkv,
    [PSC_OP_FUSED_QKV_NORM] = &psc_cpu_fused_qkv,
    [PSC_OP_QKV_BIAS_ROPE_STORE] = &psc_cpu_bias_rope_store,
    [PSC_OP_FUSED_FFN] = &psc_cpu_fused_ffn,
    [PSC_OP_FUSED_BIAS_ROPE] = &psc_cpu_bias_rope,
    [PSC_OP_CONCAT] = &psc_cpu_concat,
};

/* ---- sentences ------------------------------------------------------------------------------- */

enum psc_status psc_cpu_refuse(const struct psc_call *call, struct psc_error *reterr, enum psc_status status,
                               const char *fmt, ...)
{
    char text[360];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    const struct psc_node_info *node =
        call->graph && call->node < call->graph->n ? &call->graph->nodes[call->node] : NULL;
    uint64_t id = node ? node->id : call->node;
    const char *op = node && call->op == PSC_OP_OTHER ? node->op_name : psc_op_info(call->op)->name;
    if (node && node->name)
        return psc_fail(reterr, status, "node %" PRIu64 " (%.60s, %.40s): %s", id, node->name, op, text);
    return psc_fail(reterr, status, "node %" PRIu64 " (%.40s): %s", id, op, text);
}

bool psc_cpu_within(const struct psc_cpu_run *run, int64_t at, int64_t n, uint64_t bound, uint64_t place)
{
    if (at >= 0 && n >= 0 && (uint64_t)at <= bound && (uint64_t)n <= bound - (uint64_t)at)
        return true;
    if (!run->strayed->any)
        *run->strayed = (struct psc_cpu_strayed){true, at, n, place, bound};
    return false;
}

static enum psc_status strayed(const struct psc_call *call, const struct psc_cpu_strayed *s, struct psc_error *reterr)
{
    char rows[64];
    snprintf(rows, sizeof rows, s->n == 1 ? "row %" PRId64 : "rows %" PRId64 " to %" PRId64, s->at, s->at + s->n - 1);
    return psc_cpu_refuse(call, reterr, PSC_ERR_RUN,
                          "its row numbers were overwritten while it ran: token %" PRIu64 " was given %s of %" PRIu64
                          ", which it left out", s->place, rows, s->bound);
}

enum psc_status psc_cpu_need_operands(const struct psc_call *call, uint32_t n, struct psc_error *reterr)
{
    if (call->in_n < n)
        return psc_cpu_refuse(call, reterr, PSC_ERR_GRAPH, "it has %u operands and needs %u", call->in_n, n);
    for (uint32_t k = 0; k < n; k++)
        if (!call->in[k].at && call->in[k].bytes)
            return psc_cpu_refuse(call, reterr, PSC_ERR_GRAPH, "operand %u has no bytes", k);
    return PSC_OK;
}

enum psc_status psc_cpu_need_numbers(const struct psc_call *call, uint32_t k, struct psc_error *reterr)
{
    if (call->in[k].dtype == PSC_F32)
        return PSC_OK;
    return psc_cpu_refuse(call, reterr, PSC_ERR_GRAPH, "operand %u is %s, and it computes with f32 numbers", k,
                          psc_dtype_name(call->in[k].dtype));
}

enum psc_status psc_cpu_need_words(const struct psc_call *call, uint32_t k, uint64_t n, struct psc_error *reterr)
{
    enum psc_dtype dtype = call->in[k].dtype;
    if (dtype != PSC_I32 && dtype != PSC_F32)
        return psc_cpu_refuse(call, reterr, PSC_ERR_GRAPH, "operand %u is %s, and it should hold i32 words", k,
                              psc_dtype_name(dtype));
    if (psc_cpu_elements(&call->in[k]) == n)
        return PSC_OK;
    return psc_cpu_refuse(call, reterr, PSC_ERR_GRAPH, "operand %u has %" PRIu64 " words and should have %" PRIu64, k,
                          psc_cpu_elements(&call->in[k]), n);
}

enum psc_status psc_cpu_need_same_size(const struct psc_call *call, uint32_t k, struct psc_error *reterr)
{
    if (call->in[k].bytes == call->out.bytes)
        return PSC_OK;
    return psc_cpu_refuse(call, reterr, PSC_ERR_GRAPH, "operand %u has %" PRIu64 " elements, the result has %" PRIu64,
                          k, psc_cpu_elements(&call->in[k]), psc_cpu_elements(&call->out));
}

/* ---- weights --------------------------------------------------------------------------------- */

static enum psc_status need_bytes(const struct psc_call *call, const struct psc_weight *w, psc_address at,
                                  const char *what, struct psc_error *reterr)
{
    const struct psc_wtype_info *info = psc_wtype_info(w->type);
    const char *name = w->name ? w->name : "?";
    if (!info->block)
        return psc_cpu_refuse(call, reterr, PSC_ERR_GRAPH, "the type of %s '%.80s' cannot be computed with", what,
                              name);
    if (!at)
        return psc_cpu_refuse(call, reterr, PSC_ERR_UNAVAILABLE, "%s '%.80s' has no bytes: the model has shapes only",
                              what, name);
    if (w->in % info->block)
        return psc_cpu_refuse(call, reterr, PSC_ERR_GRAPH, "a row of %s '%.80s' has %" PRIu64 " values, and %s needs a "
                              "multiple of %u", what, name, w->in, info->name, info->block);
    return PSC_OK;
}

enum psc_status psc_cpu_need_weight(const struct psc_call *call, const struct psc_bound_weight *w, const char *what,
                                    const char *name, struct psc_error *reterr)
{
    if (!w->weight && name)
        return psc_cpu_refuse(call, reterr, PSC_ERR_UNAVAILABLE, "%s '%.80s' is not there: the run has no such weight",
                              what, name);
    if (!w->weight)
        return psc_cpu_refuse(call, reterr, PSC_ERR_GRAPH, "it names no %s (meta.%s)", what, what);
    if (!w->weight->part_n)
        return need_bytes(call, w->weight, w->at[0], what, reterr);
    for (uint32_t i = 0; i < w->weight->part_n; i++) {
        enum psc_status status = need_bytes(call, w->weight->parts[i], w->at[i], what, reterr);
        if (status)
            return status;
        if (w->weight->parts[i]->in != w->weight->in)
            return psc_cpu_refuse(call, reterr, PSC_ERR_GRAPH, "the parts of %s '%.80s' have rows of different widths",
                                  what, w->weight->name ? w->weight->name : "?");
    }
    return PSC_OK;
}

enum psc_status psc_cpu_need_vector(const struct psc_call *call, const struct psc_bound_weight *w, const char *what,
                                    const char *name, uint64_t n, struct psc_cpu_plan *plan, struct psc_error *reterr)
{
    if (!w->weight && !name)
        return PSC_OK;
    enum psc_status status = psc_cpu_need_weight(call, w, what, name, reterr);
    if (status)
        return status;
    const struct psc_weight *weight = w->weight;
    uint64_t values;
    if (weight->part_n || !psc_mul_u64(weight->in, weight->out, &values) || values != n)
        return psc_cpu_refuse(call, reterr, PSC_ERR_GRAPH,
                              "%s '%.80s' has %" PRIu64 " x %" PRIu64 " values and should have "
                              "%" PRIu64,
                              what, weight->name ? weight->name : "?", weight->in, weight->out, n);
    if (weight->type != PSC_W_F32 && !psc_cpu_piece(n, sizeof(float), &plan->needs.temp))
        return psc_cpu_refuse(call, reterr, PSC_ERR_TOO_BIG, "%s is too big", what);
    return PSC_OK;
}

const float *psc_cpu_vector(const struct psc_cpu_run *run, const struct psc_bound_weight *w)
{
    if (!w->weight)
        return NULL;
    const void *at = (const void *)(uintptr_t)w->at[0];
    if (w->weight->type == PSC_W_F32)
        return at;
    uint64_t n = w->weight->in * w->weight->out;
    float *decoded = psc_cpu_scratch_take(&run->exec->scratch, n * sizeof *decoded);
    psc_blocks_decode(w->weight->type, at, decoded, n);
    return decoded;
}

/* ---- one call -------------------------------------------------------------------------------- */

static bool overlap(const struct psc_window *a, const struct psc_window *b)
{
    return a->bytes && b->bytes && a->at < b->at + b->bytes && b->at < a->at + a->bytes;
}

/* Must operand k be copied before the kernel writes? Not when the op may overwrite it where it lies. */
static bool snapshots(const struct psc_call *call, uint32_t k)
{
    const struct psc_op_info *info = psc_op_info(call->op);
    const struct psc_window *in = &call->in[k];
    if (!call->snapshot || info->is_view || info->is_kv || !overlap(in, &call->out))
        return false;
    bool exactly = in->at == call->out.at && in->bytes == call->out.bytes;
    return !(exactly && k < 32 && info->may_overwrite >> k & 1);
}

static bool any_overlap(const struct psc_call *call)
{
    for (uint32_t k = 0; k < call->in_n; k++)
        if (overlap(&call->in[k], &call->out))
            return true;
    return false;
}

static enum psc_status need_snapshots(const struct psc_call *call, struct psc_cpu_plan *plan, struct psc_error *reterr)
{
    bool any = false, fits = true;
    for (uint32_t k = 0; k < call->in_n; k++)
        if (snapshots(call, k)) {
            any = true;
            fits = fits && psc_cpu_piece(call->in[k].bytes, 1, &plan->needs.temp);
        }
    if (any)
        fits = fits && psc_cpu_piece(call->in_n, sizeof *call->in, &plan->needs.temp);
    return fits ? PSC_OK : psc_cpu_refuse(call, reterr, PSC_ERR_TOO_BIG, "its operands are too big to copy");
}

/* Nothing to compute: inputs are filled by the host, a load moves nothing, an empty result has no bytes. */
static bool is_idle(const struct psc_call *call)
{
    return call->op == PSC_OP_INPUT || call->op == PSC_OP_KV_LOAD ||
           (!call->out.bytes && !psc_op_info(call->op)->is_kv);
}

uint64_t psc_cpu_exec_workspace(const struct psc_cpu_exec *exec, const struct psc_call *call)
{
    const struct psc_cpu_op *op = (unsigned)call->op < PSC_OP_N && !is_idle(call) ? the_ops[call->op] : NULL;
    struct psc_cpu_plan plan = {.exec = exec};
    if (!op || !call->out.at || (op->check && op->check(call, &plan, NULL)) || need_snapshots(call, &plan, NULL))
        return 0;
    return plan.needs.temp && plan.needs.temp <= UINT64_MAX - LINE ? plan.needs.temp + LINE - 1 : 0;
}

/* Of a workspace that was given: from the first line in it. */
static uint64_t workspace_skip(const struct psc_call *call)
{
    return (LINE - call->workspace % LINE) % LINE;
}

static uint64_t workspace_room(const struct psc_call *call)
{
    return call->workspace_bytes > workspace_skip(call) ? call->workspace_bytes - workspace_skip(call) : 0;
}

/* Operands, shapes, payload, weights; what scratch it needs. */
static enum psc_status check_call(const struct psc_call *call, struct psc_cpu_plan *plan, struct psc_error *reterr)
{
    const struct psc_cpu_op *op = (unsigned)call->op < PSC_OP_N ? the_ops[call->op] : NULL;
    if (!op)
        return psc_cpu_refuse(call, reterr, PSC_ERR_UNAVAILABLE, "no backend knows how to compute this operation");
    if (!call->out.at)
        return psc_cpu_refuse(call, reterr, PSC_ERR_GRAPH, "its result has no bytes");
    return op->check ? op->check(call, plan, reterr) : PSC_OK;
}

enum psc_status psc_cpu_exec_check(const struct psc_cpu_exec *exec, const struct psc_call *call, bool *ret_idle,
                                   struct psc_error *reterr)
{
    struct psc_cpu_plan plan = {.exec = exec};
    *ret_idle = is_idle(call);
    return *ret_idle ? PSC_OK : check_call(call, &plan, reterr);
}

enum psc_status psc_cpu_exec_check_data(struct psc_cpu_exec *exec, const struct psc_call *call, struct psc_error *reterr)
{
    const struct psc_cpu_op *op = the_ops[call->op];
    struct psc_cpu_run run = {.exec = exec, .threads = exec->one, .vec = exec->vec, .call = call, .in = call->in};
    return op->data ? op->data(&run, reterr) : PSC_OK;
}

enum psc_status psc_cpu_exec_prepare(struct psc_cpu_exec *exec, const struct psc_call *call, struct psc_error *reterr)
{
    if (is_idle(call))
        return PSC_OK;
    struct psc_cpu_plan plan = {.exec = exec};
    enum psc_status status = check_call(call, &plan, reterr);
    if (status == PSC_OK)
        status = need_snapshots(call, &plan, reterr);
    if (status == PSC_OK && call->workspace && plan.needs.temp > workspace_room(call))
        return psc_cpu_refuse(call, reterr, PSC_ERR_USAGE, "its workspace has %" PRIu64 " bytes, it needs %" PRIu64,
                              call->workspace_bytes, plan.needs.temp);
    if (call->workspace)
        plan.needs.temp = 0;
    if (status == PSC_OK && plan.angle_tokens)
        status = psc_cpu_angles_reserve(&exec->angles, plan.angle_tokens, plan.angle_hd, reterr);
    if (status == PSC_OK)
        status = psc_cpu_scratch_reserve(&exec->scratch, &plan.needs, reterr);
    return status;
}

/* The operands of a call whose output lies over some of them: copies of those. */
static const struct psc_window *take_snapshots(struct psc_cpu_exec *exec, const struct psc_call *call)
{
    struct psc_window *in = NULL;
    for (uint32_t k = 0; k < call->in_n; k++) {
        if (!snapshots(call, k))
            continue;
        if (!in) {
            in = psc_cpu_scratch_take(&exec->scratch, call->in_n * sizeof *in);
            memcpy(in, call->in, call->in_n * sizeof *in);
        }
        void *copy = psc_cpu_scratch_take(&exec->scratch, in[k].bytes);
        memcpy(copy, (const void *)(uintptr_t)in[k].at, in[k].bytes);
        psc_cpu_scratch_wrote(&exec->scratch, copy, in[k].bytes);
        in[k].at = (psc_address)(uintptr_t)copy;
    }
    return in ? in : call->in;
}

/* The memo of quantised activations dies with the bytes it was made of. */
static void tell_scratch(struct psc_cpu_exec *exec, const struct psc_call *call)
{
    if (call->faults & PSC_CALL_L33)
        return;
    psc_cpu_scratch_wrote(&exec->scratch, (const void *)(uintptr_t)call->out.at, call->out.bytes);
    if (call->kv.k && psc_op_info(call->op)->stores_kv) {
        psc_cpu_scratch_wrote(&exec->scratch, (const void *)(uintptr_t)call->kv.k, call->kv.rows * call->kv.row_bytes);
        psc_cpu_scratch_wrote(&exec->scratch, (const void *)(uintptr_t)call->kv.v, call->kv.rows * call->kv.row_bytes);
    }
}

enum psc_status psc_cpu_exec_run(struct psc_cpu_exec *exec, const struct psc_call *call, struct psc_error *reterr)
{
    if (is_idle(call))
        return PSC_OK;
    const struct psc_cpu_op *op = the_ops[call->op];
    /* Overlap without snapshot is a race between workers; with one worker a wrong result is always the same one. */
    struct psc_cpu_strayed lost = {0};
    struct psc_cpu_run run = {.exec = exec, .threads = !call->snapshot && any_overlap(call) ? exec->one : exec->threads,
                              .vec = exec->vec, .call = call, .in = call->in, .strayed = &lost};
    enum psc_status status = op->data ? op->data(&run, reterr) : PSC_OK;
    if (status)
        return status;
    unsigned char *own = exec->scratch.temp;
    uint64_t own_cap = exec->scratch.temp_cap;
    if (call->workspace) {
        exec->scratch.temp = (unsigned char *)(uintptr_t)(call->workspace + workspace_skip(call));
        exec->scratch.temp_cap = workspace_room(call);
    }
    uint32_t last = 0;
    bool leaves = call->faults & PSC_CALL_A19 && call->out.bytes > sizeof last;
    unsigned char *left = leaves ? (unsigned char *)(uintptr_t)call->out.at : NULL;
    if (left)
        memcpy(&last, left + call->out.bytes - sizeof last, sizeof last);
    psc_cpu_scratch_begin(&exec->scratch);
    run.in = take_snapshots(exec, call);
    op->run(&run);
    if (left)
        memcpy(left + call->out.bytes - sizeof last, &last, sizeof last);
    exec->scratch.temp = own;
    exec->scratch.temp_cap = own_cap;
    tell_scratch(exec, call);
    return lost.any ? strayed(call, &lost, reterr) : PSC_OK;
}

void psc_cpu_exec_probe(const struct psc_probe *probe)
{
    const void *at = (const void *)(uintptr_t)probe->at;
    uint64_t elements = probe->dtype == PSC_F16 || probe->dtype == PSC_BF16 ? probe->bytes / 2
                        : probe->dtype == PSC_Q8_0                           ? probe->bytes / 34 * 32
                                                                             : probe->bytes / 4;
    switch (probe->kind) {
    case PSC_PROBE_HASH: {
        uint64_t hash = psc_probe_hash(at, probe->bytes);
        memcpy(probe->ret, &hash, sizeof hash);
        break;
    }
    case PSC_PROBE_STATS:
        psc_probe_stats_of(at, elements, probe->dtype, probe->ret);
        break;
    case PSC_PROBE_COPY:
        if (probe->bytes)
            memcpy(probe->ret, at, probe->bytes);
        break;
    }
}

enum psc_status psc_cpu_exec_open(const struct psc_backend_config *config, struct psc_cpu_exec *ret,
                                  struct psc_error *reterr)
{
    struct psc_cpu_exec exec = {.portable = config->portable, .vec = psc_cpu_vec_best(config->portable)};
    enum psc_status status = psc_cpu_pool_new(config->threads, &exec.threads, reterr);
    if (status == PSC_OK)
        status = psc_cpu_pool_new(1, &exec.one, reterr);
    if (status) {
        psc_cpu_exec_close(&exec);
        return status;
    }
    *ret = exec;
    return PSC_OK;
}

void psc_cpu_exec_close(struct psc_cpu_exec *exec)
{
    psc_cpu_pool_free(exec->threads);
    psc_cpu_pool_free(exec->one);
    psc_cpu_scratch_release(&exec->scratch);
    psc_cpu_angles_release(&exec->angles);
    *exec = (struct psc_cpu_exec){0};
}
