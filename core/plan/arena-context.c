#include "core/plan/arena-context.h"

#include "core/base/mem.h"

#include <string.h>

static bool fault(const struct psc_context *c, enum psc_arena_fault f)
{
    return c->faults & PSC_ARENA_BIT(f);
}

static uint64_t allocs(const struct psc_context *c)
{
    return psc_depot_figures(c->exec).system_allocs + (c->io ? psc_depot_figures(c->io).system_allocs : 0);
}

/* ---- life ---------------------------------------------------------------------------------------------- */

enum psc_status psc_context_init(struct psc_context *c, struct psc_depot *exec, struct psc_depot *io, uint32_t n,
                                 const uint32_t *declared, uint32_t declared_n, struct psc_error *reterr)
{
    struct psc_context made = {.exec = exec, .io = io, .n = n, .faults = psc_depot_options(exec)->faults};
    for (uint32_t i = 0; i < declared_n; i++)
        if (declared[i] >= n)
            return psc_fail(reterr, PSC_ERR_USAGE, "output %u is value %u, and there are %u values", i, declared[i], n);
    made.tensors = psc_alloc0((size_t)n + 1, sizeof *made.tensors);
    made.declared = psc_alloc0((size_t)n + 1, sizeof *made.declared);
    if (!made.tensors || !made.declared) {
        psc_free(made.tensors);
        psc_free(made.declared);
        return psc_fail_nomem(reterr);
    }
    for (uint32_t i = 0; i < declared_n; i++)
        made.declared[declared[i]] = true;
    psc_depot_ref(exec);
    if (io)
        psc_depot_ref(io);
    made.allocs_before = allocs(&made);
    *c = made;
    return PSC_OK;
}

static void end_temporaries(struct psc_context *c)
{
    for (size_t i = 0; i < c->temporary_n; i++)
        psc_block_handle_reset(&c->temporary[i], NULL);
    c->temporary_n = 0;
}

static void empty(struct psc_context *c)
{
    end_temporaries(c);
    c->role_n = 0;
    for (size_t i = 0; i < c->n; i++) {
        struct psc_tensor *t = &c->tensors[i];
        if (t->borrowed)
            psc_depot_end_borrow(c->io ? c->io : c->exec, t->memory, t->bytes);
        psc_block_handle_reset(&t->handle, NULL);
        *t = (struct psc_tensor){0};
    }
}

void psc_context_release(struct psc_context *c)
{
    if (c->exec) {
        empty(c);
        psc_depot_unref(c->exec);
        psc_depot_unref(c->io);
    }
    psc_free(c->tensors);
    psc_free(c->declared);
    psc_free(c->outputs);
    psc_free(c->roles);
    psc_free(c->temporary);
    *c = (struct psc_context){0};
}

void psc_context_clear(struct psc_context *c)
{
    psc_depot_clear(c->exec);
    if (c->io)
        psc_depot_clear(c->io);
    empty(c);
    psc_depot_reset_peak(c->exec);
    if (c->io)
        psc_depot_reset_peak(c->io);
    c->copied = 0;
    c->allocs_before = allocs(c);
}

struct psc_context_counters psc_context_counters(const struct psc_context *c)
{
    return (struct psc_context_counters){
        .system_allocs = allocs(c) - c->allocs_before,
        .copied = c->copied,
        .peak_exec = psc_depot_figures(c->exec).peak,
        .peak_io = c->io ? psc_depot_figures(c->io).peak : 0,
    };
}

/* ---- values -------------------------------------------------------------------------------------------- */

static enum psc_status vacant(const struct psc_context *c, uint32_t value, struct psc_error *reterr)
{
    if (value >= c->n)
        return psc_fail(reterr, PSC_ERR_USAGE, "there is no value %u, only %zu", value, c->n);
    if (c->tensors[value].memory)
        return psc_fail(reterr, PSC_ERR_USAGE, "value %u has memory already", value);
    return PSC_OK;
}

static enum psc_status place(struct psc_context *c, uint32_t value, struct psc_depot *store, uint64_t bytes,
                             enum psc_owner owner, struct psc_error *reterr)
{
    struct psc_tensor *t = &c->tensors[value];
    enum psc_status status = psc_block_handle_alloc(store, bytes, owner, &t->handle, reterr);
    if (status)
        return status;
    t->memory = t->handle.ticket.memory;
    t->bytes = bytes;
    return PSC_OK;
}

enum psc_status psc_context_borrow(struct psc_context *c, uint32_t value, void *memory, uint64_t bytes,
                                   struct psc_error *reterr)
{
    enum psc_status status = vacant(c, value, reterr);
    if (!status)
        c->tensors[value] = (struct psc_tensor){.memory = memory, .bytes = bytes, .borrowed = true};
    return status;
}

enum psc_status psc_context_stage(struct psc_context *c, uint32_t value, const void *memory, uint64_t bytes,
                                  struct psc_error *reterr)
{
    enum psc_status status = vacant(c, value, reterr);
    if (!status)
        status = place(c, value, c->io ? c->io : c->exec, bytes, PSC_OWNER_BINDING, reterr);
    if (status)
        return status;
    if (bytes)
        memcpy(c->tensors[value].memory, memory, bytes);
    c->copied += bytes;
    return PSC_OK;
}

enum psc_status psc_context_put(struct psc_context *c, uint32_t value, const void *memory, uint64_t bytes, struct psc_error *reterr)
{
    struct psc_tensor made = {0}, old;
    enum psc_status status;
    if (value >= c->n)
        return psc_fail(reterr, PSC_ERR_USAGE, "there is no value %u, only %zu", value, c->n);
    status = psc_block_handle_alloc(c->io && c->declared[value] ? c->io : c->exec, bytes, PSC_OWNER_TENSOR, &made.handle, reterr);
    if (status)
        return status;
    made.memory = made.handle.ticket.memory;
    made.bytes = bytes;
    if (bytes) /* which may lie in what goes back next */
        memcpy(made.memory, memory, bytes);
    c->copied += bytes;
    old = c->tensors[value];
    c->tensors[value] = made;
    if (old.borrowed)
        psc_depot_end_borrow(c->io ? c->io : c->exec, old.memory, old.bytes);
    psc_block_handle_reset(&old.handle, NULL);
    return PSC_OK;
}

enum psc_status psc_context_drop(struct psc_context *c, uint32_t value, struct psc_error *reterr)
{
    enum psc_status status = PSC_OK;
    if (value >= c->n || !c->tensors[value].memory)
        return psc_fail(reterr, PSC_ERR_USAGE, "value %u has no memory to give back", value);
    if (c->tensors[value].borrowed)
        psc_depot_end_borrow(c->io ? c->io : c->exec, c->tensors[value].memory, c->tensors[value].bytes);
    status = psc_block_handle_reset(&c->tensors[value].handle, reterr);
    c->tensors[value] = (struct psc_tensor){0};
    return status;
}

enum psc_status psc_context_export(struct psc_context *c, uint32_t value, struct psc_block_handle *ret, struct psc_error *reterr)
{
    enum psc_status status;
    if (value >= c->n || !c->declared[value] || !c->tensors[value].handle.state)
        return psc_fail(reterr, PSC_ERR_USAGE, "value %u is no output that the session owns", value);
    if (!c->io)
        return psc_fail(reterr, PSC_ERR_USAGE, "without an I/O arena nothing is exported");
    status = psc_block_handle_export(c->io, &c->tensors[value].handle, ret, reterr);
    if (!status)
        c->tensors[value] = (struct psc_tensor){0};
    return status;
}

enum psc_status psc_context_hand_over(struct psc_context *child, uint32_t from, struct psc_context *parent, uint32_t to,
                                      struct psc_error *reterr)
{
    enum psc_status status = vacant(parent, to, reterr);
    if (status)
        return status;
    if (from >= child->n || !child->tensors[from].memory)
        return psc_fail(reterr, PSC_ERR_USAGE, "value %u of the child graph has no memory", from);
    parent->tensors[to] = child->tensors[from];
    child->tensors[from] = (struct psc_tensor){0};
    return PSC_OK;
}

/* ---- nodes --------------------------------------------------------------------------------------------- */

enum psc_status psc_context_begin_node(struct psc_context *c, const uint32_t *outputs, uint32_t n, struct psc_error *reterr)
{
    for (uint32_t i = 0; i < n; i++)
        if (outputs[i] != PSC_NONE && outputs[i] >= c->n)
            return psc_fail(reterr, PSC_ERR_USAGE, "output slot %u is value %u, and there are %zu values", i, outputs[i], c->n);
    if (!psc_grow(&c->outputs, n, &c->output_cap, sizeof *c->outputs) || !psc_grow(&c->roles, n, &c->role_cap, sizeof *c->roles))
        return psc_fail_nomem(reterr);
    for (uint32_t i = 0; i < n; i++) {
        c->outputs[i] = outputs[i];
        if (!fault(c, PSC_ARENA_A12) || i >= c->role_n) /* a12: what is left of the last node stays */
            c->roles[i] = c->io && outputs[i] != PSC_NONE && c->declared[outputs[i]];
    }
    c->output_n = n;
    c->role_n = n;
    return PSC_OK;
}

/* Any declared output makes the I/O arena the active one: where a13 and a20 look. */
static struct psc_depot *active(const struct psc_context *c)
{
    for (size_t i = 0; i < c->output_n; i++)
        if (c->roles[i])
            return c->io;
    return c->exec;
}

static enum psc_status allocate_temporary(struct psc_context *c, struct psc_depot *from, uint64_t bytes, unsigned char **ret,
                                          struct psc_error *reterr)
{
    enum psc_status status;
    if (!psc_grow(&c->temporary, c->temporary_n + 1, &c->temporary_cap, sizeof *c->temporary))
        return psc_fail_nomem(reterr);
    c->temporary[c->temporary_n] = (struct psc_block_handle){0};
    status = psc_block_handle_alloc(from, bytes, PSC_OWNER_TENSOR, &c->temporary[c->temporary_n], reterr);
    if (!status)
        *ret = c->temporary[c->temporary_n++].ticket.memory;
    return status;
}

enum psc_status psc_context_output(struct psc_context *c, uint32_t slot, uint64_t bytes, unsigned char **ret,
                                   struct psc_error *reterr)
{
    enum psc_status status;
    if (slot >= c->output_n && fault(c, PSC_ARENA_A20)) /* no role stands there: the node's active arena */
        return allocate_temporary(c, active(c), bytes, ret, reterr);
    if (slot >= c->output_n || c->outputs[slot] == PSC_NONE)
        return psc_fail(reterr, PSC_ERR_USAGE, "the node has no output %u that anybody asked for: this is a temporary", slot);
    status = vacant(c, c->outputs[slot], reterr);
    if (!status)
        status = place(c, c->outputs[slot], c->roles[slot] ? c->io : c->exec, bytes, PSC_OWNER_TENSOR, reterr);
    if (!status)
        *ret = c->tensors[c->outputs[slot]].memory;
    return status;
}

enum psc_status psc_context_temporary(struct psc_context *c, uint64_t bytes, unsigned char **ret, struct psc_error *reterr)
{
    return allocate_temporary(c, fault(c, PSC_ARENA_A13) ? active(c) : c->exec, bytes, ret, reterr);
}

enum psc_status psc_context_end_node(struct psc_context *c, struct psc_error *reterr)
{
    enum psc_status status = PSC_OK;
    for (size_t i = 0; i < c->output_n && !status; i++) {
        uint32_t value = c->outputs[i];
        const struct psc_block_handle *h = value == PSC_NONE ? NULL : &c->tensors[value].handle;
        const struct psc_depot *want = value != PSC_NONE && c->io && c->declared[value] ? c->io : c->exec;
        if (h && h->state && h->store != want)
            status = psc_fail(reterr, PSC_ERR_RUN, "output %zu of the node lies in the %s arena, it belongs into the %s arena", i,
                              psc_depot_kind_name(psc_depot_options(h->store)->kind),
                              psc_depot_kind_name(psc_depot_options(want)->kind));
    }
    end_temporaries(c);
    c->output_n = 0;
    if (!fault(c, PSC_ARENA_A12))
        c->role_n = 0;
    return status;
}
