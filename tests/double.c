#include "tests/double.h"

#include "core/base/hash.h"
#include "core/base/mem.h"
#include "core/graph/rules.h"

#include <math.h>
#include <string.h>

struct double_control double_control = {.fail_alloc = -1};

void double_reset(void)
{
    double_control = (struct double_control){
        .fail_alloc = -1, .fail_encode = -1, .fail_launch = -1, .fail_enqueue = -1, .fail_await = -1, .fail_submit = -1,
        .fail_capture_end = -1, .fail_replay = -1, .query = PSC_QUERY_NO_DEVICE,
    };
}

static bool fails(long *countdown)
{
    return *countdown >= 0 && (*countdown)-- == 0;
}

/* ---- kernels --------------------------------------------------------------------------------------------------------- */

static void *host(psc_address at)
{
    return (void *)(uintptr_t)at;
}

static uint64_t words_of(const struct psc_window *w)
{
    return w->at ? w->bytes / 4 : 0;
}

static uint64_t fold(const struct psc_window *w, uint64_t lo, uint64_t hi)
{
    const uint32_t *words = host(w->at);
    uint64_t h = 1;
    for (uint64_t i = lo / 4; w->at && i < hi / 4; i++)
        h = psc_hash_mix(h + words[i]);
    return h;
}

static uint64_t fold_operand(const struct psc_call *c, uint32_t k)
{
    struct psc_reading reading = psc_op_reading(c->graph, c->node, k);
    return fold(&c->in[k], reading.lo, reading.hi > c->in[k].bytes ? c->in[k].bytes : reading.hi);
}

static uint64_t fold_all(const struct psc_call *c)
{
    uint64_t h = c->node; /* two nodes never make the same */
    for (uint32_t k = 0; k < c->in_n; k++)
        h = psc_hash_mix(h ^ fold_operand(c, k));
    return h;
}

/* The operand that names rows: the last i32 one of a store, the first of attention. */
static const struct psc_window *index_of(const struct psc_call *c)
{
    const struct psc_window *found = NULL;
    for (uint32_t k = 1; k < c->in_n; k++)
        if (c->in[k].dtype == PSC_I32 && c->in[k].at && (c->op != PSC_OP_ATTN || !found))
            found = &c->in[k];
    return found;
}

static enum psc_status store_rows(const struct psc_call *c, struct psc_error *reterr)
{
    const struct psc_window *cells = index_of(c);
    uint64_t width = c->kv.row_bytes / 4, n = cells ? words_of(cells) : 1;
    uint64_t h = psc_op_info(c->op)->is_kv ? 0 : fold_all(c);
    for (uint64_t t = 0; t < n; t++) {
        uint32_t row = cells ? ((uint32_t *)host(cells->at))[t] : (uint32_t)t;
        if (row >= c->kv.rows)
            return psc_fail(reterr, PSC_ERR_USAGE, "node %llu (%s): position %u is beyond n_ctx %llu",
                            (unsigned long long)c->graph->nodes[c->node].id, c->graph->nodes[c->node].op_name, row,
                            (unsigned long long)c->kv.rows);
        uint32_t *k = (uint32_t *)host(c->kv.k + row * c->kv.row_bytes), *v = (uint32_t *)host(c->kv.v + row * c->kv.row_bytes);
        for (uint64_t j = 0; j < width; j++) {
            uint64_t at = t * width + j;
            k[j] = h ? (uint32_t)psc_hash_mix(h + at) : ((uint32_t *)host(c->in[0].at))[at % words_of(&c->in[0])];
            v[j] = h ? (uint32_t)psc_hash_mix(h - at) : ((uint32_t *)host(c->in[1].at))[at % words_of(&c->in[1])];
        }
    }
    return PSC_OK;
}

static uint64_t rows_seen(const struct psc_call *c, uint64_t t)
{
    const struct psc_window *positions = index_of(c);
    if (!positions)
        return c->kv.rows;
    uint64_t seen = (uint64_t)((uint32_t *)host(positions->at))[t % words_of(positions)] + 1;
    return seen < c->kv.rows ? seen : c->kv.rows; /* an index may be garbage where a defect is tried */
}

static void attend(const struct psc_call *c)
{
    uint64_t width = c->out.shape[0], tokens = c->out.shape[1], q = words_of(&c->in[0]);
    uint64_t h = double_control.mix ? fold_operand(c, 0) + c->node : 0;
    float *out = host(c->out.at);
    for (uint64_t t = 0; t < tokens; t++)
        for (uint64_t j = 0; j < width; j++) {
            float sum = ((float *)host(c->in[0].at))[(t * width + j) % q];
            uint64_t mixed = psc_hash_mix(h + t * width + j);
            for (uint64_t r = 0; r < rows_seen(c, t); r++) {
                uint64_t at = r * c->kv.row_bytes + 4 * (j % (c->kv.row_bytes / 4));
                uint32_t kv[2] = {*(uint32_t *)host(c->kv.k + at), *(uint32_t *)host(c->kv.v + at)};
                float f[2];
                memcpy(f, kv, sizeof f);
                sum += f[0] + f[1];
                mixed = psc_hash_mix(psc_hash_mix(mixed + kv[0]) + kv[1]);
            }
            if (double_control.mix)
                ((uint32_t *)out)[t * width + j] = (uint32_t)mixed;
            else
                out[t * width + j] = sum;
        }
}

static void mix_elements(const struct psc_call *c, uint64_t n)
{
    uint64_t whole = c->node;
    uint32_t *out = host(c->out.at);
    for (uint32_t k = 0; k < c->in_n; k++)
        if (c->in[k].bytes != c->out.bytes)
            whole = psc_hash_mix(whole + fold(&c->in[k], 0, c->in[k].bytes));
    for (uint64_t j = 0; j < n; j++) {
        uint64_t h = whole;
        for (uint32_t k = 0; k < c->in_n; k++)
            if (c->in[k].bytes == c->out.bytes)
                h = psc_hash_mix(h + ((uint32_t *)host(c->in[k].at))[j]);
        out[j] = (uint32_t)h;
    }
}

static void mix_op(const struct psc_call *c, uint64_t n)
{
    uint64_t h;
    if (psc_op_info(c->op)->may_overwrite) {
        mix_elements(c, n);
        return;
    }
    h = fold_all(c);
    for (uint64_t j = 0; j < n; j++)
        ((uint32_t *)host(c->out.at))[j] = (uint32_t)psc_hash_mix(h + j);
}

static float silu(float x)
{
    return x / (1.0f + expf(-x));
}

static enum psc_status gather(const struct psc_call *c, struct psc_error *reterr)
{
    uint64_t width = c->in[0].shape[0], rows = words_of(&c->in[0]) / (width ? width : 1);
    for (uint64_t t = 0; t < words_of(&c->in[1]); t++) {
        uint32_t row = ((uint32_t *)host(c->in[1].at))[t];
        if (row >= rows)
            return psc_fail(reterr, PSC_ERR_USAGE, "node %llu (get_rows): row %u of %llu",
                            (unsigned long long)c->graph->nodes[c->node].id, row, (unsigned long long)rows);
        memcpy((float *)host(c->out.at) + t * width, (float *)host(c->in[0].at) + row * width, width * 4);
    }
    return PSC_OK;
}

static enum psc_status compute(const struct psc_call *c, uint64_t n, struct psc_error *reterr)
{
    float *out = host(c->out.at);
    const float *a = c->in_n ? host(c->in[0].at) : NULL, *b = c->in_n > 1 ? host(c->in[1].at) : NULL;
    switch (c->op) {
    case PSC_OP_ADD:
        for (uint64_t j = 0; j < n; j++)
            out[j] = a[j] + b[j];
        return PSC_OK;
    case PSC_OP_MUL:
        for (uint64_t j = 0; j < n; j++)
            out[j] = a[j] * b[j];
        return PSC_OK;
    case PSC_OP_SCALE:
        for (uint64_t j = 0; j < n; j++)
            out[j] = a[j] * c->params->scale;
        return PSC_OK;
    case PSC_OP_SILU:
        for (uint64_t j = 0; j < n; j++)
            out[j] = silu(a[j]);
        return PSC_OK;
    case PSC_OP_SWIGLU:
        for (uint64_t j = 0; j < n; j++)
            out[j] = silu(a[j]) * b[j];
        return PSC_OK;
    case PSC_OP_GET_ROWS:
        return gather(c, reterr);
    case PSC_OP_CONCAT:
        for (uint32_t k = 0; k < c->in_n; k++) {
            memmove(out, host(c->in[k].at), c->in[k].bytes);
            out += c->in[k].bytes / 4;
        }
        return PSC_OK;
    default:
        return psc_fail(reterr, PSC_ERR_UNAVAILABLE, "node %llu: the double cannot compute %s",
                        (unsigned long long)c->graph->nodes[c->node].id, psc_op_info(c->op)->name);
    }
}

static enum psc_status run_call(const struct psc_call *c, struct psc_error *reterr)
{
    const struct psc_op_info *op = psc_op_info(c->op);
    double_control.launches++;
    if (fails(&double_control.fail_launch))
        return psc_fail(reterr, PSC_ERR_IO, "node %llu (%s): the kernel was told to fail",
                        (unsigned long long)c->graph->nodes[c->node].id, op->name);
    if (op->stores_kv) {
        enum psc_status status = store_rows(c, reterr);
        if (status || op->is_kv)
            return status;
    }
    if (c->op == PSC_OP_ATTN && c->kv.k)
        attend(c);
    else if (double_control.mix)
        mix_op(c, words_of(&c->out));
    else
        return compute(c, words_of(&c->out), reterr);
    return PSC_OK;
}

/* ---- the queue ----------------------------------------------------------------------------------------------------------- */

enum command_kind { COMMAND_CALL, COMMAND_MOVE, COMMAND_PROBE, COMMAND_SNAPSHOT };
struct command {
    enum command_kind kind;
    struct psc_call call;
    struct psc_window in[8];
    struct psc_probe probe;
    psc_address to, from;
    uint64_t bytes, ticket;
};
struct flight { uint64_t ticket, bytes; psc_address to; void *bounce; bool taken; };
struct recording { struct command *commands; size_t n; };
struct psc_backend {
    bool defers;
    struct command *queue;
    size_t queue_n, queue_cap;
    struct flight *flights;
    size_t flight_n, flight_cap;
    uint64_t ticket;
    struct recording *recordings;
    size_t recording_n, recording_cap;
    bool capturing;
    size_t captured_from;
};

static struct flight *find_flight(struct psc_backend *b, uint64_t ticket)
{
    for (size_t k = 0; k < b->flight_n; k++)
        if (b->flights[k].ticket == ticket)
            return &b->flights[k];
    return NULL;
}

static enum psc_status carry_out(struct psc_backend *b, const struct command *command, struct psc_error *reterr)
{
    struct psc_call call = command->call;
    struct flight *flight;
    switch (command->kind) {
    case COMMAND_CALL:
        call.in = command->in;
        return run_call(&call, reterr);
    case COMMAND_MOVE:
        memmove(host(command->to), host(command->from), command->bytes);
        return PSC_OK;
    case COMMAND_PROBE:
        if (command->probe.kind == PSC_PROBE_HASH)
            *(uint64_t *)command->probe.ret = psc_probe_hash(host(command->probe.at), command->probe.bytes);
        else if (command->probe.kind == PSC_PROBE_STATS)
            psc_probe_stats_of(host(command->probe.at), command->probe.bytes / 4, command->probe.dtype, command->probe.ret);
        else
            memcpy(command->probe.ret, host(command->probe.at), command->probe.bytes);
        return PSC_OK;
    case COMMAND_SNAPSHOT:
        flight = find_flight(b, command->ticket);
        if (!flight) /* given up meanwhile */
            return PSC_OK;
        memcpy(flight->bounce, host(command->from), command->bytes);
        flight->taken = true;
        return PSC_OK;
    }
    return PSC_OK;
}

static enum psc_status carry_out_all(struct psc_backend *b, struct psc_error *reterr)
{
    enum psc_status status = PSC_OK;
    for (size_t k = 0; k < b->queue_n && !status; k++)
        status = carry_out(b, &b->queue[k], reterr);
    b->queue_n = 0;
    return status;
}

static enum psc_status push(struct psc_backend *b, const struct command *command, struct psc_error *reterr)
{
    if (!b->defers && !b->capturing)
        return carry_out(b, command, reterr);
    if (!psc_grow(&b->queue, b->queue_n + 1, &b->queue_cap, sizeof *b->queue))
        return psc_fail_nomem(reterr);
    b->queue[b->queue_n++] = *command;
    return PSC_OK;
}

static enum psc_status d_launch(struct psc_backend *b, const struct psc_call *call, struct psc_error *reterr)
{
    struct command command = {.kind = COMMAND_CALL, .call = *call};
    if (fails(&double_control.fail_encode))
        return psc_fail(reterr, PSC_ERR_IO, "the kernel was refused");
    if (call->in_n > 8)
        return psc_fail(reterr, PSC_ERR_UNAVAILABLE, "the double takes 8 operands");
    for (uint32_t k = 0; k < call->in_n; k++)
        command.in[k] = call->in[k];
    return push(b, &command, reterr);
}

static enum psc_status d_probe(struct psc_backend *b, const struct psc_probe *probe, struct psc_error *reterr)
{
    return push(b, &(struct command){.kind = COMMAND_PROBE, .probe = *probe}, reterr);
}

static enum psc_status d_move(struct psc_backend *b, psc_address to, psc_address from, uint64_t bytes, struct psc_error *reterr)
{
    return push(b, &(struct command){.kind = COMMAND_MOVE, .to = to, .from = from, .bytes = bytes}, reterr);
}

static enum psc_status d_submit(struct psc_backend *b, struct psc_error *reterr)
{
    double_control.submits++;
    if (fails(&double_control.fail_submit))
        return psc_fail(reterr, PSC_ERR_IO, "the queue was told to fail");
    return carry_out_all(b, reterr);
}

static enum psc_status d_synchronise(struct psc_backend *b, struct psc_error *reterr)
{
    return carry_out_all(b, reterr);
}

/* ---- memory -------------------------------------------------------------------------------------------------------------- */

static enum psc_status d_alloc(struct psc_backend *b, uint64_t bytes, psc_address *ret, struct psc_error *reterr)
{
    (void)b;
    char *raw;
    if (fails(&double_control.fail_alloc))
        return psc_fail(reterr, PSC_ERR_UNAVAILABLE, "the device was told to have no room for %llu bytes", (unsigned long long)bytes);
    raw = psc_alloc(bytes + 128);
    if (!raw)
        return psc_fail_nomem(reterr);
    uintptr_t at = ((uintptr_t)raw + 127) & ~(uintptr_t)63;
    memcpy((char *)at - sizeof raw, &raw, sizeof raw);
    memset((void *)at, 0xee, bytes);
    double_control.allocs++;
    *ret = at;
    return PSC_OK;
}

static void d_free(struct psc_backend *b, psc_address at)
{
    (void)b;
    void *raw;
    memcpy(&raw, (char *)host(at) - sizeof raw, sizeof raw);
    psc_free(raw);
    double_control.frees++;
}

static enum psc_status d_write(struct psc_backend *b, psc_address at, const void *from, uint64_t bytes, struct psc_error *reterr)
{
    (void)b;
    (void)reterr;
    memcpy(host(at), from, bytes);
    return PSC_OK;
}

static enum psc_status d_read(struct psc_backend *b, psc_address at, void *to, uint64_t bytes, struct psc_error *reterr)
{
    (void)b;
    (void)reterr;
    memcpy(to, host(at), bytes);
    return PSC_OK;
}

static enum psc_status d_fill(struct psc_backend *b, psc_address at, uint32_t pattern, uint64_t bytes, struct psc_error *reterr)
{
    (void)b;
    (void)reterr;
    for (uint64_t i = 0; i < bytes / 4; i++)
        ((uint32_t *)host(at))[i] = pattern;
    return PSC_OK;
}

static enum psc_status d_load_weight(struct psc_backend *b, const struct psc_weight *weight, psc_address *ret, struct psc_error *reterr)
{
    (void)b;
    (void)reterr;
    *ret = (psc_address)(uintptr_t)weight->data;
    return PSC_OK;
}

static enum psc_query cpu_memory(struct psc_backend *b, uint64_t *ret_free, uint64_t *ret_total)
{
    (void)b;
    *ret_free = *ret_total = 0;
    return PSC_QUERY_NO_DEVICE;
}

static enum psc_query d_memory(struct psc_backend *b, uint64_t *ret_free, uint64_t *ret_total)
{
    (void)b;
    *ret_free = *ret_total = double_control.query == PSC_QUERY_REPORTED ? double_control.free_bytes : 0;
    return double_control.query;
}

/* ---- copies ---------------------------------------------------------------------------------------------------------------- */

static enum psc_status d_enqueue_copy(struct psc_backend *b, psc_address from, uint64_t bytes,
                                      const struct psc_backend_api *dst_api, struct psc_backend *dst, psc_address to,
                                      uint64_t *ret_ticket, bool *ret_issued, struct psc_error *reterr)
{
    (void)dst_api;
    (void)dst;
    if (fails(&double_control.fail_enqueue))
        return psc_fail(reterr, PSC_ERR_IO, "the copy was told to fail");
    *ret_issued = !double_control.declines_copies;
    if (!*ret_issued)
        return PSC_OK;
    void *bounce = psc_alloc(bytes);
    if (!bounce || !psc_grow(&b->flights, b->flight_n + 1, &b->flight_cap, sizeof *b->flights)) {
        psc_free(bounce);
        return psc_fail_nomem(reterr);
    }
    *ret_ticket = ++b->ticket;
    b->flights[b->flight_n++] = (struct flight){*ret_ticket, bytes, to, bounce, false};
    memset(host(to), 0xa5, bytes);
    return push(b, &(struct command){.kind = COMMAND_SNAPSHOT, .from = from, .bytes = bytes, .ticket = *ret_ticket}, reterr);
}

static void end_flight(struct psc_backend *b, struct flight *flight)
{
    psc_free(flight->bounce);
    *flight = b->flights[--b->flight_n];
}

static enum psc_status d_await_copy(struct psc_backend *b, uint64_t ticket, struct psc_error *reterr)
{
    struct flight *flight = find_flight(b, ticket);
    enum psc_status status = PSC_OK;
    if (!flight)
        return psc_fail(reterr, PSC_ERR_USAGE, "no copy has ticket %llu", (unsigned long long)ticket);
    if (fails(&double_control.fail_await)) {
        end_flight(b, flight);
        return psc_fail(reterr, PSC_ERR_IO, "the copy was told never to arrive");
    }
    if (!flight->taken)
        status = carry_out_all(b, reterr);
    if (!status && flight->taken)
        memcpy(host(flight->to), flight->bounce, flight->bytes);
    end_flight(b, flight);
    return status;
}

static uint32_t d_copies_in_flight(struct psc_backend *b)
{
    return (uint32_t)b->flight_n;
}

/* ---- capture --------------------------------------------------------------------------------------------------------------- */

static enum psc_status d_capture_begin(struct psc_backend *b, struct psc_error *reterr)
{
    enum psc_status status = carry_out_all(b, reterr);
    b->capturing = !status;
    return status;
}

static enum psc_status d_capture_end(struct psc_backend *b, uint64_t *ret, struct psc_error *reterr)
{
    b->capturing = false;
    if (fails(&double_control.fail_capture_end)) {
        b->queue_n = 0;
        return psc_fail(reterr, PSC_ERR_IO, "the recording was told to fail");
    }
    struct command *commands = psc_alloc(b->queue_n * sizeof *commands + 1);
    if (!commands || !psc_grow(&b->recordings, b->recording_n + 1, &b->recording_cap, sizeof *b->recordings)) {
        psc_free(commands);
        return psc_fail_nomem(reterr);
    }
    memcpy(commands, b->queue, b->queue_n * sizeof *commands);
    b->recordings[b->recording_n] = (struct recording){commands, b->queue_n};
    b->queue_n = 0;
    *ret = b->recording_n++;
    double_control.captures++;
    return PSC_OK;
}

static void d_capture_abort(struct psc_backend *b)
{
    b->capturing = false;
    b->queue_n = 0;
    double_control.aborted++;
}

static enum psc_status d_replay(struct psc_backend *b, uint64_t recording, struct psc_error *reterr)
{
    enum psc_status status = PSC_OK;
    if (fails(&double_control.fail_replay))
        return psc_fail(reterr, PSC_ERR_IO, "the replay was told to fail");
    double_control.replays++;
    for (size_t k = 0; k < b->recordings[recording].n && !status; k++)
        status = push(b, &b->recordings[recording].commands[k], reterr);
    return status;
}

static void d_drop_recording(struct psc_backend *b, uint64_t recording)
{
    psc_free(b->recordings[recording].commands);
    b->recordings[recording] = (struct recording){0};
    double_control.dropped++;
}

/* ---- the tables -------------------------------------------------------------------------------------------------------------- */

static bool d_takes(enum psc_op op, enum psc_dtype dtype, const struct psc_params *params)
{
    (void)op;
    (void)params;
    return dtype == PSC_F32;
}

static enum psc_status open_one(bool defers, struct psc_backend **ret, struct psc_error *reterr)
{
    *ret = psc_alloc0(1, sizeof **ret);
    if (!*ret)
        return psc_fail_nomem(reterr);
    (*ret)->defers = defers;
    return PSC_OK;
}

static enum psc_status cpu_open(const struct psc_backend_config *config, struct psc_backend **ret, struct psc_error *reterr)
{
    (void)config;
    return open_one(false, ret, reterr);
}

static enum psc_status d_open(const struct psc_backend_config *config, struct psc_backend **ret, struct psc_error *reterr)
{
    (void)config;
    return open_one(true, ret, reterr);
}

static void d_close(struct psc_backend *b)
{
    if (!b)
        return;
    for (size_t k = 0; k < b->flight_n; k++)
        psc_free(b->flights[k].bounce);
    for (size_t k = 0; k < b->recording_n; k++)
        psc_free(b->recordings[k].commands);
    psc_free(b->recordings);
    psc_free(b->flights);
    psc_free(b->queue);
    psc_free(b);
}

static bool d_idle(const struct psc_backend *b)
{
    return !b->queue_n;
}

static const char *cuda_unavailable(void)
{
    return double_control.unavailable;
}

#define COMMON                                                                                                       \
    .text = "a backend for tests", .takes = d_takes, .close = d_close, .alloc = d_alloc, .free = d_free,              \
    .write = d_write, .read = d_read, .fill = d_fill, .load_weight = d_load_weight, .launch = d_launch,               \
    .probe = d_probe, .move = d_move, .submit = d_submit, .synchronise = d_synchronise,                               \
    .enqueue_copy = d_enqueue_copy, .await_copy = d_await_copy, .copies_in_flight = d_copies_in_flight

const struct psc_backend_api double_cpu = {
    .name = "cpu", .file_name = "cpu", .id = 0, .priority = 100, .is_host = true, .takes_blocks = true, .open = cpu_open, .memory = cpu_memory, COMMON,
};
const struct psc_backend_api double_metal = {
    .name = "deferred", .file_name = "metal", .id = 1, .priority = 300, .is_host = true, .takes_blocks = true, .idle = d_idle, .open = d_open, .memory = d_memory, COMMON,
};
const struct psc_backend_api double_cuda = {
    .name = "cuda", .file_name = "cuda", .id = 2, .priority = 200, .open = d_open, .memory = d_memory,
    .unavailable = cuda_unavailable, .capture_begin = d_capture_begin, .capture_end = d_capture_end,
    .capture_abort = d_capture_abort, .replay = d_replay, .drop_recording = d_drop_recording, COMMON,
};
const struct psc_backend_api *const double_apis[3] = {&double_cpu, &double_metal, &double_cuda};
