/* From a call to kernels: scratch, guards, and the ops that are one kernel each. */
#include "backends/cuda/backend.h"

#include "core/base/mem.h"

#include <inttypes.h>
#include <string.h>

#define GRID_MAX INT32_MAX
#define TEMP_LEAST 65536u

/* ---- scratch -------------------------------------------------------------------------------------- */

static enum psc_status grow(struct psc_backend *b, struct psc_cuda_scratch *s, uint64_t bytes, struct psc_error *reterr)
{
    uint64_t room = s->bytes > UINT64_MAX / 2 ? bytes : 2 * s->bytes;
    psc_address at = 0;
    room = room > bytes ? room : bytes;
    room = room > TEMP_LEAST ? room : TEMP_LEAST;
    enum psc_status status = psc_cuda_outside(b, "scratch grows", reterr);
    if (status == PSC_OK)
        status = psc_cuda_own(b, room, &at, reterr);
    if (status == PSC_OK)
        *s = (struct psc_cuda_scratch){at, room, 0};
    return status;
}

enum psc_status psc_cuda_temp(struct psc_backend *b, uint64_t bytes, psc_address *ret, struct psc_error *reterr)
{
    enum psc_status status = PSC_OK;
    if (bytes > UINT64_MAX / 2)
        return psc_fail_nomem(reterr);
    bytes = (bytes + 255) / 256 * 256;
    if (b->temp.bytes - b->temp.used < bytes)
        status = grow(b, &b->temp, bytes, reterr);
    if (status)
        return status;
    *ret = b->temp.at + b->temp.used;
    b->temp.used += bytes;
    return PSC_OK;
}

enum psc_status psc_cuda_keep(struct psc_backend *b, uint64_t bytes, struct psc_error *reterr)
{
    if (b->kept.bytes >= bytes)
        return PSC_OK;
    b->memo.group = 0;
    return grow(b, &b->kept, bytes, reterr);
}

void psc_cuda_wrote(struct psc_backend *b, psc_address at, uint64_t bytes)
{
    const struct psc_cuda_memo *m = &b->memo;
    if (m->group && at < m->x + m->bytes && m->x < at + bytes)
        b->memo.group = 0;
}

/* ---- kernels -------------------------------------------------------------------------------------- */

enum psc_status psc_cuda_run(struct psc_backend *b, enum psc_cuda_kernel kernel, struct psc_cuda_shape shape, uint32_t passes,
                             unsigned faults, const void *args, uint64_t args_n, struct psc_error *reterr)
{
    struct psc_lead lead = {.stop = kernel == PSC_CUDA_fill ? NULL : PSC_CUDA_POINTER(uint64_t, b->stop), .mark = b->mark,
                            .passes = passes};
    if (kernel == PSC_CUDA_norm)
        lead.skips_barrier = (faults & PSC_CALL_L24 ? PSC_CUDA_RACES : 0u) | (faults & PSC_CALL_L25 ? PSC_CUDA_LEAVES : 0u);
    if (!shape.bx || !shape.by)
        return PSC_OK;
    return b->rt->run(b->dev, kernel, shape, lead, args, args_n, reterr);
}

enum psc_status psc_cuda_blocks(const struct psc_call *call, uint64_t n, struct psc_cuda_shape *ret, struct psc_error *reterr)
{
    uint64_t blocks = n / PSC_CUDA_THREADS + (n % PSC_CUDA_THREADS != 0);
    if (blocks > GRID_MAX)
        return psc_cpu_refuse(call, reterr, PSC_ERR_TOO_BIG, "%" PRIu64 " elements are too many for one launch", n);
    *ret = (struct psc_cuda_shape){(uint32_t)blocks, 1, PSC_CUDA_THREADS};
    return PSC_OK;
}

enum psc_status psc_cuda_fill(struct psc_backend *b, psc_address at, uint32_t pattern, uint64_t bytes, struct psc_error *reterr)
{
    enum psc_status status = psc_cuda_outside(b, "the host fills", reterr);
    const uint64_t most = (uint64_t)1 << 32; /* bytes of one launch */
    psc_cuda_wrote(b, at, bytes);
    for (uint64_t n; status == PSC_OK && bytes; at += n, bytes -= n) {
        n = bytes < most ? bytes : most;
        uint64_t words = n / 4 + (n % 4 != 0);
        struct psc_k_fill k = {PSC_CUDA_POINTER(unsigned char, at), n, pattern};
        struct psc_cuda_shape shape = {(uint32_t)((words + PSC_CUDA_THREADS - 1) / PSC_CUDA_THREADS), 1, PSC_CUDA_THREADS};
        status = PSC_CUDA_RUN(b, fill, shape, 1, 0, &k, reterr);
    }
    return status;
}

/* Ranges that overlap go through scratch. */
static enum psc_status move_bytes(struct psc_backend *b, psc_address to, psc_address from, uint64_t bytes, struct psc_error *reterr)
{
    psc_address between = 0;
    if (!bytes || to == from)
        return PSC_OK;
    if (to >= from + bytes || from >= to + bytes)
        return b->rt->copy(b->dev, to, from, bytes, reterr);
    enum psc_status status = psc_cuda_temp(b, bytes, &between, reterr);
    if (status == PSC_OK)
        status = b->rt->copy(b->dev, between, from, bytes, reterr);
    return status ? status : b->rt->copy(b->dev, to, between, bytes, reterr);
}

enum psc_status psc_cuda_move(struct psc_backend *b, psc_address to, psc_address from, uint64_t bytes, struct psc_error *reterr)
{
    b->temp.used = 0;
    b->queued++;
    psc_cuda_wrote(b, to, bytes);
    return move_bytes(b, to, from, bytes, reterr);
}

/* ---- guards --------------------------------------------------------------------------------------- */

enum psc_status psc_cuda_guard(struct psc_backend *b, const struct psc_call *call, psc_address words, uint64_t tokens,
                               uint64_t rows, enum psc_k_window_form form, struct psc_error *reterr)
{
    struct psc_k_guard k = {.words = PSC_CUDA_POINTER(const int32_t, words), .tokens = tokens, .rows = rows, .form = form};
    struct psc_cuda_shape shape = {1, 1, PSC_CUDA_THREADS};
    struct psc_cuda_guarded kept = {.mark = b->marks + 1, .recording = b->window ? PSC_CUDA_OPEN_WINDOW : 0, .call = *call};
    if (call->in_n > PSC_CUDA_GUARD_OPERANDS)
        return psc_cpu_refuse(call, reterr, PSC_ERR_GRAPH, "it has %u operands, at most %u can be", call->in_n,
                              PSC_CUDA_GUARD_OPERANDS);
    if (!psc_grow(&b->calls, b->call_n + 1, &b->call_cap, sizeof *b->calls))
        return psc_fail_nomem(reterr);
    memcpy(kept.in, call->in, call->in_n * sizeof *call->in);
    b->calls[b->call_n++] = kept;
    b->mark = ++b->marks;
    b->guarded = true;
    return PSC_CUDA_RUN(b, guard, shape, 1, 0, &k, reterr);
}

void psc_cuda_forget_calls(struct psc_backend *b, uint64_t recording)
{
    size_t n = 0;
    for (size_t i = 0; i < b->call_n; i++)
        if (b->calls[i].recording != recording)
            b->calls[n++] = b->calls[i];
    b->call_n = n;
}

/* The operands of a call as they lie on the device, on the host. */
static enum psc_status fetch(struct psc_backend *b, const struct psc_call *call, struct psc_window *in, unsigned char *bytes,
                             struct psc_error *reterr)
{
    enum psc_status status = PSC_OK;
    memcpy(in, call->in, call->in_n * sizeof *in);
    for (uint32_t k = 0; status == PSC_OK && k < call->in_n; bytes += in[k++].bytes)
        if (in[k].at) {
            status = psc_cuda_read(b, in[k].at, bytes, in[k].bytes, reterr);
            in[k].at = (psc_address)(uintptr_t)bytes;
        }
    return status;
}

/* The stop is taken back first: whatever comes next runs again. */
enum psc_status psc_cuda_tell_guard(struct psc_backend *b, uint64_t mark, struct psc_error *reterr)
{
    size_t at = 0;
    while (at < b->call_n && b->calls[at].mark != mark)
        at++;
    if (at == b->call_n)
        return psc_fail(reterr, PSC_ERR_RUN, "a word that indexes is out of its bounds, in a call that nobody knows");
    struct psc_call *call = &b->calls[at].call;
    uint64_t bytes = 0;
    call->in = b->calls[at].in;
    for (uint32_t k = 0; k < call->in_n; k++)
        bytes += call->in[k].bytes;
    struct psc_window *in = psc_alloc0((size_t)call->in_n + 1, sizeof *in);
    unsigned char *room = psc_alloc((size_t)bytes + 1);
    enum psc_status status = in && room ? PSC_OK : psc_fail_nomem(reterr), reset = psc_cuda_fill(b, b->stop, 0, 8, NULL);
    if (status == PSC_OK)
        status = fetch(b, call, in, room, reterr);
    if (status == PSC_OK) {
        struct psc_call copy = *call;
        copy.in = in;
        status = psc_cpu_exec_check_data(&b->checks, &copy, reterr);
        if (status == PSC_OK)
            status = psc_cpu_refuse(call, reterr, PSC_ERR_RUN, "a row number was out of its bounds when the kernel used it, and is "
                                    "not any more: it was overwritten while it ran");
    }
    psc_free(in);
    psc_free(room);
    return status ? status : reset;
}

/* ---- ops that are one kernel ------------------------------------------------------------------------ */

enum psc_status psc_cuda_vector(struct psc_backend *b, const struct psc_bound_weight *w, psc_address *ret, struct psc_error *reterr)
{
    *ret = 0;
    if (!w->weight)
        return PSC_OK;
    *ret = w->at[0];
    if (w->weight->type == PSC_W_F32)
        return PSC_OK;
    uint64_t n = w->weight->in * w->weight->out; /* checked to be the width of a row */
    enum psc_status status = psc_cuda_temp(b, 4 * n, ret, reterr);
    struct psc_k_decode k = {.w = PSC_CUDA_POINTER(const unsigned char, w->at[0]), .out = PSC_CUDA_POINTER(float, *ret), .n = n,
                             .rows = 1, .type = (int32_t)w->weight->type};
    struct psc_cuda_shape shape = {(uint32_t)((n + PSC_CUDA_THREADS - 1) / PSC_CUDA_THREADS), 1, PSC_CUDA_THREADS};
    return status ? status : PSC_CUDA_RUN(b, decode, shape, 1, 0, &k, reterr);
}

/* A block a row. */
static enum psc_status row_blocks(const struct psc_call *call, uint64_t rows, struct psc_cuda_shape *ret, struct psc_error *reterr)
{
    if (rows > GRID_MAX)
        return psc_cpu_refuse(call, reterr, PSC_ERR_TOO_BIG, "%" PRIu64 " rows are too many for one launch", rows);
    *ret = (struct psc_cuda_shape){(uint32_t)rows, 1, PSC_CUDA_THREADS};
    return PSC_OK;
}

static enum psc_status op_elements(struct psc_backend *b, const struct psc_call *call, struct psc_error *reterr)
{
    uint64_t n = psc_cpu_elements(&call->out);
    struct psc_cuda_shape shape;
    struct psc_k_elements k = {.a = PSC_CUDA_POINTER(const float, call->in[0].at), .out = PSC_CUDA_POINTER(float, call->out.at),
                               .n = n, .row = n, .by = call->params->scale};
    k.op = call->op == PSC_OP_ADD     ? PSC_K_ADD
           : call->op == PSC_OP_MUL   ? PSC_K_MUL
           : call->op == PSC_OP_SCALE ? PSC_K_SCALE
           : call->op == PSC_OP_SILU  ? PSC_K_SILU
                                      : PSC_K_SWIGLU;
    if (k.op == PSC_K_ADD || k.op == PSC_K_MUL || k.op == PSC_K_SWIGLU)
        k.b = PSC_CUDA_POINTER(const float, call->in[1].at);
    enum psc_status status = psc_cuda_blocks(call, n, &shape, reterr);
    return status ? status : PSC_CUDA_RUN(b, elements, shape, 1, call->faults, &k, reterr);
}

static enum psc_status op_softmax(struct psc_backend *b, const struct psc_call *call, struct psc_error *reterr)
{
    const uint64_t *d = call->out.shape;
    const float *x = PSC_CUDA_POINTER(const float, call->in[0].at);
    float *out = PSC_CUDA_POINTER(float, call->out.at);
    int32_t normalise = !(call->faults & PSC_CALL_L21);
    struct psc_cuda_shape shape;
    enum psc_status status;
    if (call->params->dim == 0) {
        struct psc_k_softmax k = {x, out, d[0], normalise};
        status = row_blocks(call, psc_cpu_rows(&call->out), &shape, reterr);
        return status ? status : PSC_CUDA_RUN(b, softmax, shape, 1, call->faults, &k, reterr);
    }
    struct psc_k_columns k = {x, out, d[0], d[1], psc_cpu_elements(&call->out) / (d[0] * d[1]), normalise};
    status = psc_cuda_blocks(call, k.columns * k.slices, &shape, reterr);
    return status ? status : PSC_CUDA_RUN(b, columns, shape, 1, call->faults, &k, reterr);
}

/* Fault l35: products of q8_0 and the like find what they need in `kept`; everybody else finds what lay there before. */
static bool leaves_unwritten(const struct psc_call *call)
{
    return call->faults & PSC_CALL_L35 && call->op == PSC_OP_RMS_NORM && call->out.shape[0] % 32 == 0;
}

static enum psc_status op_norm(struct psc_backend *b, const struct psc_call *call, struct psc_error *reterr)
{
    uint64_t n = call->op == PSC_OP_QK_NORM ? call->params->hd : call->out.shape[0], rows = psc_cpu_elements(&call->out) / n;
    psc_address weight = 0, bias = 0;
    struct psc_cuda_shape shape;
    enum psc_status status = psc_cuda_vector(b, &call->weight, &weight, reterr);
    if (status == PSC_OK)
        status = psc_cuda_vector(b, &call->norm_bias, &bias, reterr);
    if (status == PSC_OK)
        status = row_blocks(call, rows, &shape, reterr);
    if (status)
        return status;
    struct psc_k_norm k = {.x = PSC_CUDA_POINTER(const float, call->in[0].at), .weight = PSC_CUDA_POINTER(const float, weight),
                           .bias = PSC_CUDA_POINTER(const float, bias), .out = PSC_CUDA_POINTER(float, call->out.at), .n = n,
                           .eps = call->params->eps};
    if (!leaves_unwritten(call))
        return PSC_CUDA_RUN(b, norm, shape, 1, call->faults, &k, reterr);
    psc_address between = 0;
    status = psc_cuda_temp(b, call->out.bytes, &between, reterr);
    k.out = PSC_CUDA_POINTER(float, between);
    if (status == PSC_OK)
        status = PSC_CUDA_RUN(b, norm, shape, 1, call->faults, &k, reterr);
    return status ? status : psc_cuda_quantise_as(b, between, call->out.at, n, rows, reterr);
}

/* Fault l6: the operand as it is now, not as it will be when the call runs. */
static enum psc_status early(struct psc_backend *b, const struct psc_window *w, psc_address *ret, struct psc_error *reterr)
{
    void *bytes = psc_alloc((size_t)w->bytes);
    if (!bytes)
        return psc_fail_nomem(reterr);
    enum psc_status status = psc_cuda_temp(b, w->bytes, ret, reterr);
    if (status == PSC_OK)
        status = b->rt->peek(b->dev, bytes, w->at, w->bytes, reterr);
    if (status == PSC_OK)
        status = psc_cuda_write(b, *ret, bytes, w->bytes, reterr);
    psc_free(bytes);
    return status;
}

static enum psc_status op_rope(struct psc_backend *b, const struct psc_call *call, struct psc_error *reterr)
{
    const struct psc_params *p = call->params;
    uint64_t width = call->out.shape[0], tokens = psc_cpu_rows(&call->out);
    psc_address x = call->in[0].at, bias = 0;
    struct psc_cuda_shape shape;
    enum psc_status status = PSC_OK;
    if (call->op == PSC_OP_FUSED_BIAS_ROPE)
        status = psc_cuda_vector(b, &call->bias[0], &bias, reterr);
    if (status == PSC_OK && psc_call_takes_early(call, 0))
        status = early(b, &call->in[0], &x, reterr);
    if (status == PSC_OK)
        status = psc_cuda_blocks(call, tokens * (p->hd / 2), &shape, reterr);
    if (status)
        return status;
    struct psc_k_rope k = {.x = PSC_CUDA_POINTER(const float, x), .bias = PSC_CUDA_POINTER(const float, bias),
                           .positions = PSC_CUDA_POINTER(const int32_t, call->in[1].at),
                           .out = PSC_CUDA_POINTER(float, call->out.at), .step = width, .out_step = width,
                           .heads = width / p->hd, .hd = p->hd, .tokens = tokens, .base = p->freq_base,
                           .scale = p->freq_scale != 0 ? p->freq_scale : 1,
                           .interleaved = p->rope_style == PSC_ROPE_INTERLEAVED};
    return PSC_CUDA_RUN(b, rope, shape, 1, call->faults, &k, reterr);
}

static enum psc_status op_get_rows(struct psc_backend *b, const struct psc_call *call, struct psc_error *reterr)
{
    uint64_t n = call->out.shape[0], rows = psc_cpu_rows(&call->out), row_bytes = 0;
    bool embeds = call->in_n < 2;
    uint64_t end = embeds ? call->weight.weight->out : psc_cpu_rows(&call->in[0]);
    const struct psc_window *ids = &call->in[embeds ? 0 : 1];
    struct psc_cuda_shape shape;
    enum psc_status status = psc_cuda_guard(b, call, ids->at, rows, end, PSC_K_POSITIONS, reterr);
    if (status == PSC_OK)
        status = psc_cuda_blocks(call, n * rows, &shape, reterr);
    if (status)
        return status;
    if (!embeds) {
        struct psc_k_gather k = {PSC_CUDA_POINTER(const uint32_t, call->in[0].at), PSC_CUDA_POINTER(const int32_t, ids->at),
                                 PSC_CUDA_POINTER(uint32_t, call->out.at), n, rows, end};
        return PSC_CUDA_RUN(b, gather, shape, 1, call->faults, &k, reterr);
    }
    if (!psc_wtype_bytes(call->weight.weight->type, n, &row_bytes))
        return psc_cpu_refuse(call, reterr, PSC_ERR_TOO_BIG, "a row is too big");
    struct psc_k_decode k = {PSC_CUDA_POINTER(const unsigned char, call->weight.at[0]), PSC_CUDA_POINTER(const int32_t, ids->at),
                             PSC_CUDA_POINTER(float, call->out.at), row_bytes, n, rows, end, (int32_t)call->weight.weight->type};
    return PSC_CUDA_RUN(b, decode, shape, 1, call->faults, &k, reterr);
}

/* ---- ops that move words ----------------------------------------------------------------------------- */

static enum psc_status op_view(struct psc_backend *b, const struct psc_call *call, struct psc_error *reterr)
{
    uint64_t offset = call->op == PSC_OP_VIEW ? call->params->view_offset : 0;
    return move_bytes(b, call->out.at, call->in[0].at + 4 * offset, call->out.bytes, reterr);
}

static void strides(const uint64_t shape[4], uint64_t ret[4])
{
    ret[0] = 1;
    for (int d = 1; d < 4; d++)
        ret[d] = ret[d - 1] * shape[d - 1];
}

static enum psc_status permute(struct psc_backend *b, const struct psc_call *call, const struct psc_k_permute *k,
                               struct psc_error *reterr)
{
    struct psc_cuda_shape shape;
    enum psc_status status =
        psc_cuda_blocks(call, k->shape[0] * k->shape[1] * k->shape[2] * k->shape[3], &shape, reterr);
    return status ? status : PSC_CUDA_RUN(b, permute, shape, 1, call->faults, k, reterr);
}

static enum psc_status op_permute(struct psc_backend *b, const struct psc_call *call, struct psc_error *reterr)
{
    const int32_t *perm = call->params->perm;
    struct psc_k_permute k = {.x = PSC_CUDA_POINTER(const uint32_t, call->in[0].at), .out = PSC_CUDA_POINTER(uint32_t, call->out.at)};
    uint64_t from[4];
    int last = -1;
    bool keeps_order = true;
    for (int d = 0; d < 4; d++)
        if (call->out.shape[d] > 1) {
            keeps_order = keeps_order && perm[d] > last;
            last = perm[d];
        }
    if (keeps_order)
        return move_bytes(b, call->out.at, call->in[0].at, call->out.bytes, reterr);
    strides(call->in[0].shape, from);
    strides(call->out.shape, k.to);
    memcpy(k.shape, call->out.shape, sizeof k.shape);
    for (int d = 0; d < 4; d++)
        k.from[d] = from[perm[d]];
    return permute(b, call, &k, reterr);
}

/* Operands go to their places one after another; one that lies on the output's bytes but not on its own place is moved
 * to scratch before anything is written. */
static enum psc_status op_concat(struct psc_backend *b, const struct psc_call *call, struct psc_error *reterr)
{
    int axis = call->params->dim < 0 ? call->params->dim + 4 : call->params->dim;
    if (!psc_grow(&b->parts, call->in_n, &b->part_cap, sizeof *b->parts))
        return psc_fail_nomem(reterr);
    psc_address *at = b->parts;
    enum psc_status status = PSC_OK;
    for (uint32_t i = 0; status == PSC_OK && i < call->in_n; i++) {
        const struct psc_window *w = &call->in[i];
        at[i] = w->at;
        if (w->at < call->out.at + call->out.bytes && call->out.at < w->at + w->bytes) {
            status = psc_cuda_temp(b, w->bytes, &at[i], reterr);
            if (status == PSC_OK && w->bytes)
                status = b->rt->copy(b->dev, at[i], w->at, w->bytes, reterr);
        }
    }
    uint64_t along = 0;
    for (uint32_t i = 0; status == PSC_OK && i < call->in_n; i++) {
        const struct psc_window *w = &call->in[i];
        struct psc_k_permute k = {.x = PSC_CUDA_POINTER(const uint32_t, at[i])};
        strides(w->shape, k.from);
        strides(call->out.shape, k.to);
        memcpy(k.shape, w->shape, sizeof k.shape);
        k.out = PSC_CUDA_POINTER(uint32_t, call->out.at) + along * k.to[axis];
        along += w->shape[axis];
        if (w->bytes)
            status = permute(b, call, &k, reterr);
    }
    return status;
}

/* ---- the table ------------------------------------------------------------------------------------------ */

static enum psc_status (*const the_ops[PSC_OP_N])(struct psc_backend *b, const struct psc_call *call, struct psc_error *reterr) = {
    [PSC_OP_GET_ROWS] = op_get_rows,
    [PSC_OP_RMS_NORM] = op_norm,
    [PSC_OP_QK_NORM] = op_norm,
    [PSC_OP_MATMUL] = psc_cuda_op_product,
    [PSC_OP_ROPE] = op_rope,
    [PSC_OP_KV_STORE] = psc_cuda_op_store,
    [PSC_OP_ATTN] = psc_cuda_op_attn,
    [PSC_OP_ADD] = op_elements,
    [PSC_OP_MUL] = op_elements,
    [PSC_OP_SCALE] = op_elements,
    [PSC_OP_SILU] = op_elements,
    [PSC_OP_SOFTMAX] = op_softmax,
    [PSC_OP_SWIGLU] = op_elements,
    [PSC_OP_VIEW] = op_view,
    [PSC_OP_RESHAPE] = op_view,
    [PSC_OP_PERMUTE] = op_permute,
    [PSC_OP_BATCH_MATMUL] = psc_cuda_op_batch,
    [PSC_OP_FUSED_QKV] = psc_cuda_op_fused_qkv,
    [PSC_OP_FUSED_QKV_NORM] = psc_cuda_op_fused_qkv,
    [PSC_OP_QKV_BIAS_ROPE_STORE] = psc_cuda_op_tail,
    [PSC_OP_FUSED_FFN] = psc_cuda_op_ffn,
    [PSC_OP_FUSED_BIAS_ROPE] = op_rope,
    [PSC_OP_CONCAT] = op_concat,
};

enum psc_status psc_cuda_launch(struct psc_backend *b, const struct psc_call *call, struct psc_error *reterr)
{
    bool idle = false;
    enum psc_status status = psc_cpu_exec_check(&b->checks, call, &idle, reterr);
    if (status || idle)
        return status;
    b->temp.used = 0;
    b->queued++;
    b->mark = 0;
    if (leaves_unwritten(call))
        psc_cuda_wrote(b, call->out.at, call->out.bytes);
    status = the_ops[call->op](b, call, reterr);
    if (!(call->faults & PSC_CALL_L33) && !leaves_unwritten(call))
        psc_cuda_wrote(b, call->out.at, call->out.bytes);
    return status;
}
