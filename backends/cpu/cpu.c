#include "backends/cpu/cpu.h"

#include "backends/cpu/exec.h"
#include "backends/cpu/memory.h"
#include "core/base/mem.h"

#include <inttypes.h>
#include <string.h>

struct psc_backend {
    struct psc_cpu_exec exec;
    struct psc_host_memory memory;
    uint64_t copies, waits; /* enqueued, awaited */
};

static const char *unavailable(void)
{
    return NULL;
}

static bool takes(enum psc_op op, enum psc_dtype dtype, const struct psc_params *params)
{
    (void)params;
    return op != PSC_OP_OTHER && (unsigned)op < PSC_OP_N && dtype == PSC_F32;
}

static void close_cpu(struct psc_backend *b)
{
    if (!b)
        return;
    psc_cpu_exec_close(&b->exec);
    psc_host_memory_release(&b->memory);
    psc_free(b);
}

static enum psc_status open_cpu(const struct psc_backend_config *config, struct psc_backend **ret,
                                struct psc_error *reterr)
{
    struct psc_backend *b = psc_alloc0(1, sizeof *b);
    if (!b)
        return psc_fail_nomem(reterr);
    enum psc_status status = psc_cpu_exec_open(config, &b->exec, reterr);
    if (status) {
        close_cpu(b);
        return status;
    }
    *ret = b;
    return PSC_OK;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static enum psc_query query(struct psc_backend *b, uint64_t *ret_free, uint64_t *ret_total)
{
    (void)b;
    return psc_host_memory_query(ret_free, ret_total);
}

/* Whatever writes outside a kernel tells the scratch, whose memo is good only while its bytes are. */
static void wrote(struct psc_backend *b, psc_address at, uint64_t bytes)
{
    psc_cpu_scratch_wrote(&b->exec.scratch, psc_host_pointer(at), bytes);
}

static enum psc_status alloc(struct psc_backend *b, uint64_t bytes, psc_address *ret, struct psc_error *reterr)
{
    enum psc_status status = psc_host_memory_alloc(&b->memory, bytes, ret, reterr);
    if (status == PSC_OK)
        wrote(b, *ret, bytes);
    return status;
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
    wrote(b, at, bytes);
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
    wrote(b, at, bytes);
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

/* ---- the queue: nothing waits ---------------------------------------------------------------- */

static uint64_t cpu_workspace(struct psc_backend *b, const struct psc_call *call)
{
    return psc_cpu_exec_workspace(&b->exec, call);
}

static enum psc_status launch(struct psc_backend *b, const struct psc_call *call, struct psc_error *reterr)
{
    enum psc_status status = psc_cpu_exec_prepare(&b->exec, call, reterr);
    return status ? status : psc_cpu_exec_run(&b->exec, call, reterr);
}

static enum psc_status probe(struct psc_backend *b, const struct psc_probe *what, struct psc_error *reterr)
{
    (void)b;
    (void)reterr;
    psc_cpu_exec_probe(what);
    return PSC_OK;
}

static enum psc_status move(struct psc_backend *b, psc_address to, psc_address from, uint64_t bytes,
                            struct psc_error *reterr)
{
    (void)reterr;
    if (bytes)
        memmove(psc_host_pointer(to), psc_host_pointer(from), bytes);
    wrote(b, to, bytes);
    return PSC_OK;
}

static enum psc_status submit(struct psc_backend *b, struct psc_error *reterr)
{
    (void)b;
    (void)reterr;
    return PSC_OK;
}

static enum psc_status synchronise(struct psc_backend *b, struct psc_error *reterr)
{
    (void)reterr;
    psc_cpu_scratch_forget(&b->exec.scratch);
    return PSC_OK;
}

/* ---- staged copies --------------------------------------------------------------------------- */

static enum psc_status enqueue_copy(struct psc_backend *b, psc_address from, uint64_t bytes,
                                    const struct psc_backend_api *dst_api, struct psc_backend *dst, psc_address to,
                                    uint64_t *ret_ticket, bool *ret_issued, struct psc_error *reterr)
{
    enum psc_status status = dst_api->write(dst, to, psc_host_pointer(from), bytes, reterr);
    if (status)
        return status;
    *ret_ticket = ++b->copies;
    *ret_issued = true;
    return PSC_OK;
}

static enum psc_status await_copy(struct psc_backend *b, uint64_t ticket, struct psc_error *reterr)
{
    if (!ticket || ticket > b->copies || b->waits >= b->copies)
        return psc_fail(reterr, PSC_ERR_USAGE,
                        "copy %" PRIu64 " is awaited, and %" PRIu64 " of %" PRIu64 " were awaited already", ticket,
                        b->waits, b->copies);
    b->waits++;
    return PSC_OK;
}

static uint32_t copies_in_flight(struct psc_backend *b)
{
    return (uint32_t)(b->copies - b->waits);
}

const struct psc_backend_api psc_backend_cpu = {
    .name = "cpu",
    .file_name = "cpu",
    .text = "this machine's processor; every op, at once",
    .id = 0,
    .priority = 100,
    .is_host = true,
    .takes_blocks = true,
    .fuses_decode = false,
    .unavailable = unavailable,
    .takes = takes,
    .open = open_cpu,
    .close = close_cpu,
    .memory = query,
    .alloc = alloc,
    .free = release,
    .write = write_bytes,
    .read = read_bytes,
    .fill = fill,
    .load_weight = load_weight,
    .workspace = cpu_workspace,
    .launch = launch,
    .probe = probe,
    .move = move,
    .submit = submit,
    .synchronise = synchronise,
    .enqueue_copy = enqueue_copy,
    .await_copy = await_copy,
    .copies_in_flight = copies_in_flight,
};
