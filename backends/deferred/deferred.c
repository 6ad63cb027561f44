#include "backends/deferred/deferred.h"

#include "backends/cpu/exec.h"
#include "backends/cpu/memory.h"
#include "core/base/mem.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

enum kind { LAUNCH, PROBE, MOVE, COPY };
struct command {
    enum kind kind;
    const struct psc_call *call; /* LAUNCH */
    void *early;                 /* LAUNCH, owned: operand 0 as it was when the call was stored (fault l6), else NULL */
    struct psc_probe probe;      /* PROBE */
    psc_address to, from;        /* MOVE; COPY: from */
    uint64_t bytes;
    uint64_t ticket;             /* COPY */
};
/* A staged copy between enqueue and await. */
struct copy {
    uint64_t ticket;
    void *slab; /* owned; the bytes once the command has run */
    bool left;  /* it has run */
    uint64_t bytes;
    const struct psc_backend_api *dst_api;
    struct psc_backend *dst;
    psc_address to;
};
struct psc_backend {
    struct psc_cpu_exec exec;
    struct psc_host_memory memory;
    struct command *commands; /* owned; [0, submitted) may run, the rest are stored */
    size_t n, cap, submitted;
    struct copy *copies;      /* owned, by ascending ticket */
    size_t copy_n, copy_cap;
    uint64_t tickets, timeout_ms;
    bool hang;
};

static const char *unavailable(void)
{
    return NULL;
}

/* As Metal: inputs of any type, f32 else; no scale, softmax, batch_matmul and qkv_bias_rope_store; views that start where
 * their parent does (launch sees whether they also end there). */
static bool takes(enum psc_op op, enum psc_dtype dtype, const struct psc_params *params)
{
    switch (op) {
    case PSC_OP_INPUT:
        return true;
    case PSC_OP_OTHER:
    case PSC_OP_SCALE:
    case PSC_OP_SOFTMAX:
    case PSC_OP_BATCH_MATMUL:
    case PSC_OP_QKV_BIAS_ROPE_STORE:
        return false;
    case PSC_OP_VIEW:
        return dtype == PSC_F32 && (!params || params->view_offset == 0);
    default:
        return (unsigned)op < PSC_OP_N && dtype == PSC_F32;
    }
}

static void drop_commands(struct psc_backend *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        psc_free(b->commands[i].early);
    if (n < b->n)
        memmove(b->commands, b->commands + n, (b->n - n) * sizeof *b->commands);
    b->n -= n;
    b->submitted -= n < b->submitted ? n : b->submitted;
}

static void close_deferred(struct psc_backend *b)
{
    if (!b)
        return;
    drop_commands(b, b->n);
    psc_free(b->commands);
    for (size_t i = 0; i < b->copy_n; i++)
        psc_free(b->copies[i].slab);
    psc_free(b->copies);
    psc_cpu_exec_close(&b->exec);
    psc_host_memory_release(&b->memory);
    psc_free(b);
}

static enum psc_status open_deferred(const struct psc_backend_config *config, struct psc_backend **ret,
                                     struct psc_error *reterr)
{
    struct psc_backend *b = psc_alloc0(1, sizeof *b);
    if (!b)
        return psc_fail_nomem(reterr);
    b->timeout_ms = config->timeout_ms ? config->timeout_ms : PSC_DEFERRED_TIMEOUT_MS;
    enum psc_status status = psc_cpu_exec_open(config, &b->exec, reterr);
    if (status) {
        close_deferred(b);
        return status;
    }
    *ret = b;
    return PSC_OK;
}

/* ---- memory: at once, past the queue --------------------------------------------------------- */

static enum psc_query query(struct psc_backend *b, uint64_t *ret_free, uint64_t *ret_total)
{
    (void)b;
    return psc_host_memory_query(ret_free, ret_total);
}

static enum psc_status alloc(struct psc_backend *b, uint64_t bytes, psc_address *ret, struct psc_error *reterr)
{
    psc_cpu_scratch_forget(&b->exec.scratch);
    return psc_host_memory_alloc(&b->memory, bytes, ret, reterr);
}

static void release(struct psc_backend *b, psc_address at)
{
    psc_cpu_scratch_forget(&b->exec.scratch);
    psc_host_memory_free(&b->memory, at);
}

static enum psc_status write_bytes(struct psc_backend *b, psc_address at, const void *from, uint64_t bytes,
                                   struct psc_error *reterr)
{
    (void)reterr;
    if (bytes)
        memcpy(psc_host_pointer(at), from, bytes);
    psc_cpu_scratch_wrote(&b->exec.scratch, psc_host_pointer(at), bytes);
    return PSC_OK;
}

static enum psc_status read_bytes(struct psc_backend *b, psc_address at, void *to, uint64_t bytes,
                                  struct psc_error *reterr)
{
    (void)b;
    (void)reterr;
    if (bytes)
        memcpy(to, psc_host_pointer(at), bytes);
    return PSC_OK;
}

static enum psc_status fill(struct psc_backend *b, psc_address at, uint32_t pattern, uint64_t bytes,
                            struct psc_error *reterr)
{
    (void)reterr;
    psc_host_fill(at, pattern, bytes);
    psc_cpu_scratch_wrote(&b->exec.scratch, psc_host_pointer(at), bytes);
    return PSC_OK;
}

static enum psc_status load_weight(struct psc_backend *b, const struct psc_weight *weight, psc_address *ret,
                                   struct psc_error *reterr)
{
    (void)b;
    (void)reterr;
    *ret = (psc_address)(uintptr_t)weight->data;
    return PSC_OK;
}

/* ---- storing commands ------------------------------------------------------------------------ */

static enum psc_status push(struct psc_backend *b, const struct command *command, struct psc_error *reterr)
{
    if (!psc_grow(&b->commands, b->n + 1, &b->cap, sizeof *b->commands))
        return psc_fail_nomem(reterr);
    b->commands[b->n++] = *command;
    return PSC_OK;
}

static enum psc_status launch(struct psc_backend *b, const struct psc_call *call, struct psc_error *reterr)
{
    struct command command = {.kind = LAUNCH, .call = call};
    struct psc_call in_place = *call;
    in_place.snapshot = false;
    enum psc_status status = psc_cpu_exec_prepare(&b->exec, &in_place, reterr);
    if (status)
        return status;
    if (psc_call_takes_early(call, 0) && call->in[0].bytes) {
        command.early = psc_alloc((size_t)call->in[0].bytes);
        if (!command.early)
            return psc_fail_nomem(reterr);
        memcpy(command.early, psc_host_pointer(call->in[0].at), call->in[0].bytes);
    }
    status = push(b, &command, reterr);
    if (status)
        psc_free(command.early);
    return status;
}

static enum psc_status probe(struct psc_backend *b, const struct psc_probe *what, struct psc_error *reterr)
{
    return push(b, &(struct command){.kind = PROBE, .probe = *what}, reterr);
}

static enum psc_status move(struct psc_backend *b, psc_address to, psc_address from, uint64_t bytes,
                            struct psc_error *reterr)
{
    return push(b, &(struct command){.kind = MOVE, .to = to, .from = from, .bytes = bytes}, reterr);
}

/* ---- running them ---------------------------------------------------------------------------- */

static struct copy *find_copy(struct psc_backend *b, uint64_t ticket)
{
    for (size_t i = 0; i < b->copy_n; i++)
        if (b->copies[i].ticket == ticket)
            return &b->copies[i];
    return NULL;
}

static enum psc_status run_launch(struct psc_backend *b, const struct command *c, struct psc_error *reterr)
{
    struct psc_call call = *c->call;
    struct psc_window in[2];
    call.snapshot = false;
    if (c->early) {
        memcpy(in, call.in, sizeof in); /* rope has two operands: it was prepared */
        in[0].at = (psc_address)(uintptr_t)c->early;
        call.in = in;
        call.in_n = 2;
    }
    return psc_cpu_exec_run(&b->exec, &call, reterr);
}

static enum psc_status run_command(struct psc_backend *b, const struct command *c, struct psc_error *reterr)
{
    struct copy *copy;
    switch (c->kind) {
    case LAUNCH:
        return run_launch(b, c, reterr);
    case PROBE:
        psc_cpu_exec_probe(&c->probe);
        return PSC_OK;
    case MOVE:
        if (c->bytes)
            memmove(psc_host_pointer(c->to), psc_host_pointer(c->from), c->bytes);
        psc_cpu_scratch_wrote(&b->exec.scratch, psc_host_pointer(c->to), c->bytes);
        return PSC_OK;
    case COPY:
        copy = find_copy(b, c->ticket);
        if (c->bytes)
            memcpy(copy->slab, psc_host_pointer(c->from), c->bytes);
        copy->left = true;
        return PSC_OK;
    }
    return PSC_OK;
}

static enum psc_status run_submitted(struct psc_backend *b, struct psc_error *reterr)
{
    enum psc_status status = PSC_OK;
    if (b->hang)
        return PSC_OK;
    for (size_t i = 0; i < b->submitted && status == PSC_OK; i++)
        status = run_command(b, &b->commands[i], reterr);
    drop_commands(b, b->submitted);
    return status;
}

static enum psc_status submit(struct psc_backend *b, struct psc_error *reterr)
{
    b->submitted = b->n;
    return run_submitted(b, reterr);
}

/* Submitted commands run in submit, so that only a queue that hangs is ever waited for. */
static enum psc_status wait_for_all(struct psc_backend *b, const char *what, struct psc_error *reterr)
{
    const struct timespec nap = {.tv_nsec = 1000000};
    for (uint64_t ms = 0; b->hang && b->submitted; ms++) {
        if (ms >= b->timeout_ms)
            return psc_fail(reterr, PSC_ERR_UNAVAILABLE,
                            "%s did not end within %" PRIu64 " ms: %zu commands wait in the queue", what, b->timeout_ms,
                            b->submitted);
        nanosleep(&nap, NULL);
    }
    return PSC_OK;
}

/* Nobody waits for their answers any more. */
static void forget_probes(struct psc_backend *b)
{
    for (size_t i = 0; i < b->n; i++)
        if (b->commands[i].kind == PROBE)
            b->commands[i] = (struct command){.kind = MOVE};
}

static enum psc_status synchronise(struct psc_backend *b, struct psc_error *reterr)
{
    enum psc_status status = submit(b, reterr);
    if (status == PSC_OK)
        status = wait_for_all(b, "the device", reterr);
    if (status)
        forget_probes(b);
    psc_cpu_scratch_forget(&b->exec.scratch);
    return status;
}

static bool idle(const struct psc_backend *b)
{
    return !b->n;
}

/* ---- staged copies --------------------------------------------------------------------------- */

static enum psc_status enqueue_copy(struct psc_backend *b, psc_address from, uint64_t bytes,
                                    const struct psc_backend_api *dst_api, struct psc_backend *dst, psc_address to,
                                    uint64_t *ret_ticket, bool *ret_issued, struct psc_error *reterr)
{
    struct copy copy = {.ticket = b->tickets + 1, .bytes = bytes, .dst_api = dst_api, .dst = dst, .to = to};
    if (!psc_grow(&b->copies, b->copy_n + 1, &b->copy_cap, sizeof *b->copies))
        return psc_fail_nomem(reterr);
    copy.slab = psc_alloc((size_t)bytes);
    if (!copy.slab)
        return psc_fail_nomem(reterr);
    enum psc_status status =
        psc_grow(&b->commands, b->n + 1, &b->cap, sizeof *b->commands) ? PSC_OK : psc_fail_nomem(reterr);
    if (status == PSC_OK)
        status = dst_api->fill(dst, to, PSC_DEFERRED_POISON, bytes, reterr);
    if (status == PSC_OK)
        status = push(b, &(struct command){.kind = COPY, .from = from, .bytes = bytes, .ticket = copy.ticket}, reterr);
    if (status) {
        psc_free(copy.slab);
        return status;
    }
    b->copies[b->copy_n++] = copy;
    *ret_ticket = ++b->tickets;
    *ret_issued = true;
    return PSC_OK;
}

static void drop_copy(struct psc_backend *b, struct copy *copy)
{
    psc_free(copy->slab);
    size_t at = (size_t)(copy - b->copies);
    memmove(copy, copy + 1, (b->copy_n - at - 1) * sizeof *copy);
    b->copy_n--;
}

static enum psc_status await_copy(struct psc_backend *b, uint64_t ticket, struct psc_error *reterr)
{
    struct copy *copy = find_copy(b, ticket);
    if (!copy)
        return psc_fail(reterr, PSC_ERR_USAGE, "copy %" PRIu64 " is awaited, and it is not on its way", ticket);
    enum psc_status status = copy->left ? PSC_OK : submit(b, reterr);
    if (status == PSC_OK && !copy->left)
        status = wait_for_all(b, "a staged copy", reterr);
    if (status == PSC_OK && !copy->left) {
        status = psc_fail(reterr, PSC_ERR_UNAVAILABLE, "copy %" PRIu64 " was dropped when a command before it failed",
                          ticket);
        drop_copy(b, copy); /* it will never come */
        return status;
    }
    if (status == PSC_OK)
        status = copy->dst_api->write(copy->dst, copy->to, copy->slab, copy->bytes, reterr);
    if (status == PSC_OK)
        drop_copy(b, copy);
    return status;
}

static uint32_t copies_in_flight(struct psc_backend *b)
{
    return (uint32_t)b->copy_n;
}

void psc_deferred_hang(struct psc_backend *b, bool hang)
{
    b->hang = hang;
}

uint64_t psc_deferred_pending(const struct psc_backend *b)
{
    return b->n;
}

const struct psc_backend_api psc_backend_deferred = {
    .name = "deferred",
    .file_name = "metal",
    .text = "stands for a device with command buffers: bytes change only at submit",
    .id = 1,
    .priority = 300,
    .is_host = false,
    .takes_blocks = true,
    .fuses_decode = true,
    .unavailable = unavailable,
    .takes = takes,
    .open = open_deferred,
    .close = close_deferred,
    .memory = query,
    .alloc = alloc,
    .free = release,
    .write = write_bytes,
    .read = read_bytes,
    .fill = fill,
    .load_weight = load_weight,
    .launch = launch,
    .probe = probe,
    .move = move,
    .submit = submit,
    .synchronise = synchronise,
    .idle = idle,
    .enqueue_copy = enqueue_copy,
    .await_copy = await_copy,
    .copies_in_flight = copies_in_flight,
};
