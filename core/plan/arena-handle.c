#include "core/plan/arena-handle.h"

/* ---- leases -------------------------------------------------------------------------------------------- */

static bool fault(const struct psc_depot *store, enum psc_arena_fault f)
{
    return psc_depot_options(store)->faults & PSC_ARENA_BIT(f);
}

/* Fault a14: whoever holds a block does not keep the arena. */
static void hold(struct psc_depot *store)
{
    (fault(store, PSC_ARENA_A14) ? psc_depot_watch : psc_depot_ref)(store);
}

static void let_go(struct psc_depot *store)
{
    (fault(store, PSC_ARENA_A14) ? psc_depot_unwatch : psc_depot_unref)(store);
}

enum psc_status psc_lease_export(struct psc_depot *store, struct psc_ticket ticket, struct psc_lease *ret,
                                 struct psc_error *reterr)
{
    enum psc_status status = psc_depot_export(store, &ticket, reterr);
    if (status)
        return status;
    hold(store);
    *ret = (struct psc_lease){store, ticket};
    return PSC_OK;
}

enum psc_status psc_lease_share(const struct psc_lease *lease, struct psc_lease *ret, struct psc_error *reterr)
{
    enum psc_status status;
    if (!lease->store)
        return psc_fail(reterr, PSC_ERR_USAGE, "an empty lease has nothing to share");
    status = psc_depot_share(lease->store, lease->ticket, reterr);
    if (status)
        return status;
    hold(lease->store);
    *ret = *lease;
    return PSC_OK;
}

/* The block first, the reference last: letting go may destroy the arena (fault a15: the other way round). */
void psc_lease_reset(struct psc_lease *lease)
{
    struct psc_depot *store = lease->store;
    bool early = store && fault(store, PSC_ARENA_A15);
    if (!store)
        return;
    if (early) {
        psc_depot_watch(store);
        let_go(store);
    }
    (void)!psc_depot_return(store, lease->ticket, NULL);
    *lease = (struct psc_lease){0};
    (early ? psc_depot_unwatch : let_go)(store);
}

void psc_lease_move(struct psc_lease *to, struct psc_lease *from)
{
    if (to == from)
        return;
    psc_lease_reset(to);
    *to = *from;
    *from = (struct psc_lease){0};
}

/* ---- handles ------------------------------------------------------------------------------------------- */

enum psc_status psc_block_handle_build(struct psc_depot *store, struct psc_ticket ticket, struct psc_block_handle *ret,
                                 struct psc_error *reterr)
{
    if (!store || !ticket.memory)
        return psc_fail(reterr, PSC_ERR_USAGE, "a handle owns a block of an arena: there is none");
    *ret = (struct psc_block_handle){.state = PSC_HANDLE_PLAIN, .store = store, .ticket = ticket};
    return PSC_OK;
}

enum psc_status psc_block_handle_alloc(struct psc_depot *store, uint64_t bytes, enum psc_owner owner, struct psc_block_handle *ret,
                                 struct psc_error *reterr)
{
    struct psc_ticket ticket;
    enum psc_status status = psc_depot_alloc(store, bytes, owner, &ticket, reterr);
    if (status)
        return status;
    return psc_block_handle_build(store, ticket, ret, reterr);
}

enum psc_status psc_block_handle_build_leased(struct psc_lease *lease, struct psc_block_handle *ret, struct psc_error *reterr)
{
    if (!lease->store)
        return psc_fail(reterr, PSC_ERR_USAGE, "a handle cannot be built on an empty lease");
    *ret = (struct psc_block_handle){.state = PSC_HANDLE_LEASED, .store = lease->store, .ticket = lease->ticket,
                               .lease = *lease};
    *lease = (struct psc_lease){0};
    return PSC_OK;
}

void psc_block_handle_move(struct psc_block_handle *to, struct psc_block_handle *from)
{
    if (to == from)
        return;
    psc_block_handle_reset(to, NULL);
    *to = *from;
    *from = (struct psc_block_handle){0};
}

enum psc_status psc_block_handle_reset(struct psc_block_handle *handle, struct psc_error *reterr)
{
    enum psc_status status = PSC_OK;
    if (handle->state == PSC_HANDLE_PLAIN)
        status = psc_depot_free(handle->store, handle->ticket, reterr);
    else if (handle->state == PSC_HANDLE_LEASED)
        psc_lease_reset(&handle->lease);
    *handle = (struct psc_block_handle){0};
    return status;
}

struct psc_ticket psc_block_handle_release(struct psc_block_handle *handle)
{
    struct psc_ticket ticket = {0};
    if (handle->state == PSC_HANDLE_PLAIN)
        ticket = handle->ticket;
    else if (handle->state == PSC_HANDLE_LEASED)
        psc_lease_reset(&handle->lease);
    *handle = (struct psc_block_handle){0};
    return ticket;
}

enum psc_status psc_block_handle_export(struct psc_depot *store, struct psc_block_handle *handle, struct psc_block_handle *ret,
                                  struct psc_error *reterr)
{
    struct psc_lease lease = {0};
    enum psc_status status;
    if (handle->state != PSC_HANDLE_PLAIN)
        return psc_fail(reterr, PSC_ERR_USAGE, handle->state ? "the handle is backed by a lease already"
                                                             : "an empty handle has nothing to export");
    if (handle->store != store)
        return psc_fail(reterr, PSC_ERR_USAGE, "the handle's block belongs to another arena");
    status = psc_lease_export(store, handle->ticket, &lease, reterr);
    if (status)
        return status;
    *handle = (struct psc_block_handle){0};
    return psc_block_handle_build_leased(&lease, ret, reterr);
}

enum psc_status psc_block_handle_retain(struct psc_block_handle *handle, struct psc_lease *ret, struct psc_error *reterr)
{
    if (handle->state == PSC_HANDLE_PLAIN) {
        struct psc_block_handle leased;
        enum psc_status status = psc_block_handle_export(handle->store, handle, &leased, reterr);
        if (status)
            return status;
        *handle = leased;
    }
    return psc_lease_share(&handle->lease, ret, reterr);
}
