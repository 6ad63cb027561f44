#include "core/plan/arena-check.h"

#include "core/base/hash.h"
#include "core/base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *psc_invariant_text(unsigned invariant)
{
    static const char *const texts[PSC_INVARIANT_N] = {
        "the sums are right",
        "a block belongs to one arena",
        "a block in use has one owner",
        "only what nobody holds is free",
        "clear leaves lent blocks alone",
        "a lent block is given to nobody else",
        "borrowed memory is in no free list",
        "handing over moves no byte",
        "an arena outlives what it has lent",
        "each value lies in the arena of its role",
    };
    return invariant < PSC_INVARIANT_N ? texts[invariant] : "";
}

uint64_t psc_arena_canary(const unsigned char *memory, uint64_t backed)
{
    uint64_t ends = backed < 64 ? backed : 64;
    return psc_hash_bytes(memory + backed - ends, ends, psc_hash_bytes(memory, ends, backed));
}

static void broken(struct psc_arena_verdict *v, unsigned invariant, const char *fmt, ...) PSC_PRINTF(3, 4);
static void broken(struct psc_arena_verdict *v, unsigned invariant, const char *fmt, ...)
{
    bool first = !(v->broken & ((2u << invariant) - 1)); /* the lowest is told */
    va_list args;
    v->broken |= 1u << invariant;
    if (!first)
        return;
    va_start(args, fmt);
    vsnprintf(v->text, sizeof v->text, fmt, args);
    va_end(args);
}

static const char *name_of(const struct psc_depot *s)
{
    return psc_depot_kind_name(psc_depot_options(s)->kind);
}

/* ---- sums and lists ------------------------------------------------------------------------------------ */

static void check_sums(const struct psc_depot *s, struct psc_arena_verdict *v)
{
    struct psc_depot_figures f = psc_depot_figures(s);
    const struct psc_depot_slot *slots = psc_depot_slots(s);
    uint64_t live = 0, capacity = 0, retained = 0;
    uint32_t count[4] = {0};
    for (uint32_t i = 0; i < f.slot_n; i++) {
        bool used = slots[i].state == PSC_SLOT_LIVE || slots[i].state == PSC_SLOT_LEASED;
        count[slots[i].state]++;
        live += used ? slots[i].bytes : 0;
        capacity += used ? slots[i].capacity : 0;
        retained += slots[i].state == PSC_SLOT_FREE ? slots[i].capacity : 0;
        if (used && slots[i].bytes > slots[i].capacity)
            broken(v, 0, "%s slot %u gave out more bytes than its block has", name_of(s), i);
    }
    if (count[PSC_SLOT_LIVE] != f.live_n || count[PSC_SLOT_LEASED] != f.leased_n || count[PSC_SLOT_FREE] != f.free_n ||
        count[PSC_SLOT_UNUSED] != f.unused_n)
        broken(v, 0, "%s counts its slots by state wrongly", name_of(s));
    if (live != f.live || capacity != f.live_capacity || retained != f.retained)
        broken(v, 0, "%s counts %llu bytes live and %llu retained; its slots have %llu and %llu", name_of(s),
               (unsigned long long)f.live, (unsigned long long)f.retained, (unsigned long long)live,
               (unsigned long long)retained);
    if (f.peak < f.live)
        broken(v, 0, "%s has a peak below what is live", name_of(s));
    if (f.retained > psc_depot_options(s)->cap)
        broken(v, 0, "%s retains %llu bytes over its cap", name_of(s), (unsigned long long)f.retained);
}

/* Every free slot is once in the tree and once in the list of evictions; nobody else is. */
static void check_lists(const struct psc_depot *s, struct psc_arena_verdict *v)
{
    struct psc_depot_figures f = psc_depot_figures(s);
    const struct psc_depot_slot *slots = psc_depot_slots(s);
    uint32_t listed = 0;
    uint64_t last = 0;
    for (uint32_t i = psc_depot_oldest(s); i != PSC_NONE && listed <= f.slot_n; i = slots[i].next, listed++) {
        if (slots[i].state != PSC_SLOT_FREE || (listed && slots[i].freed <= last))
            broken(v, 3, "%s slot %u is %s and stands in the list of evictions", name_of(s), i,
                   psc_slot_state_name(slots[i].state));
        last = slots[i].freed;
    }
    for (uint32_t i = 0; i < f.slot_n; i++)
        if (slots[i].state == PSC_SLOT_FREE && !psc_depot_has_bucket(s, i))
            broken(v, 3, "%s slot %u is free and in no bucket", name_of(s), i);
    if (listed != f.free_n || psc_depot_bucketed(s) != f.free_n)
        broken(v, 3, "%s has %u free slots, %u in buckets and %u in the list of evictions", name_of(s), f.free_n,
               psc_depot_bucketed(s), listed);
}

static void check_borrowed(const struct psc_depot *s, const struct psc_arena_state *state, struct psc_arena_verdict *v)
{
    const struct psc_depot_slot *slots = psc_depot_slots(s);
    for (uint32_t i = 0, n = psc_depot_figures(s).slot_n; i < n; i++)
        for (size_t b = 0; slots[i].memory && b < state->borrowed_n; b++) {
            uintptr_t at = (uintptr_t)slots[i].memory, from = (uintptr_t)state->borrowed[b].memory;
            if (at < from + state->borrowed[b].bytes && from < at + slots[i].backed)
                broken(v, 6, "%s slot %u, %s, is memory that a caller owns", name_of(s), i,
                       psc_slot_state_name(slots[i].state));
        }
}

static void check_homes(const struct psc_depot *a, const struct psc_depot *b, struct psc_arena_verdict *v)
{
    const struct psc_depot_slot *slots = psc_depot_slots(a);
    for (uint32_t i = 0, n = psc_depot_figures(a).slot_n; i < n; i++)
        if (slots[i].memory && psc_depot_slot_at(b, slots[i].memory) != PSC_NONE)
            broken(v, 1, "the block of %s slot %u is also that of %s slot %u", name_of(a), i, name_of(b),
                   psc_depot_slot_at(b, slots[i].memory));
}

/* ---- claims -------------------------------------------------------------------------------------------- */

static void check_bytes(const struct psc_arena_claim *c, const struct psc_depot_slot *p, bool cleared,
                        struct psc_arena_verdict *v)
{
    if (psc_arena_canary(p->memory, p->backed < p->bytes ? p->backed : p->bytes) == c->canary)
        return;
    if (cleared)
        broken(v, 4, "clear changed the bytes of %s slot %u, which is lent", name_of(c->store), c->ticket.slot);
    else
        broken(v, 5, "%s slot %u is lent, and its bytes were changed", name_of(c->store), c->ticket.slot);
}

static void check_claim(const struct psc_arena_claim *c, bool cleared, uint32_t *owners, struct psc_arena_verdict *v)
{
    uint32_t i = c->ticket.slot;
    const struct psc_depot_slot *p = i < psc_depot_figures(c->store).slot_n ? &psc_depot_slots(c->store)[i] : NULL;
    if (!p) {
        broken(v, 1, "%s has no slot %u, which somebody holds", name_of(c->store), i);
    } else if (p->state == PSC_SLOT_FREE || p->state == PSC_SLOT_UNUSED) {
        broken(v, 3, "%s slot %u is %s while somebody holds it", name_of(c->store), i, psc_slot_state_name(p->state));
    } else if (p->generation != c->ticket.generation || c->leased != (p->state == PSC_SLOT_LEASED)) {
        broken(v, 2, "%s slot %u has a new owner while an old one holds it", name_of(c->store), i);
    } else {
        owners[i]++;
        if (c->role && c->store != c->home)
            broken(v, 9, "%s slot %u has %s, which belongs into %s", name_of(c->store), i, c->role, name_of(c->home));
        if (p->memory != c->origin)
            broken(v, 7, "the block of %s slot %u lies elsewhere than when it was given out", name_of(c->store), i);
        if (c->leased)
            check_bytes(c, p, cleared, v);
    }
}

/* Nobody else lives where a lent block lies. */
static void check_lent(const struct psc_depot *s, uint32_t i, struct psc_arena_verdict *v)
{
    const struct psc_depot_slot *slots = psc_depot_slots(s);
    uint32_t n = psc_depot_figures(s).slot_n;
    if (psc_depot_slot_at(s, slots[i].memory) != i)
        broken(v, 5, "%s slot %u is lent, and slot %u has the same block", name_of(s), i, psc_depot_slot_at(s, slots[i].memory));
    for (uint32_t k = psc_depot_slot_at(s, slots[i].memory) == i ? 0 : n; k < n; k++)
        if (k != i && slots[k].memory == slots[i].memory)
            broken(v, 5, "%s slot %u is lent, and slot %u has the same block", name_of(s), i, k);
}

static enum psc_status check_owners(const struct psc_depot *s, const struct psc_arena_state *state,
                                    struct psc_arena_verdict *v, struct psc_error *reterr)
{
    struct psc_depot_figures f = psc_depot_figures(s);
    const struct psc_depot_slot *slots = psc_depot_slots(s);
    uint32_t *owners = psc_alloc0((size_t)f.slot_n + 1, sizeof *owners);
    if (!owners)
        return psc_fail_nomem(reterr);
    for (size_t i = 0; i < state->claim_n; i++)
        if (state->claims[i].store == s)
            check_claim(&state->claims[i], state->cleared, owners, v);
    for (uint32_t i = 0; i < f.slot_n; i++) {
        bool leased = slots[i].state == PSC_SLOT_LEASED;
        uint32_t want = leased ? slots[i].holders : slots[i].state == PSC_SLOT_LIVE;
        if (owners[i] != want)
            broken(v, 2, "%s slot %u is %s and counts %u %s; %u hold it", name_of(s), i, psc_slot_state_name(slots[i].state),
                   want, want == 1 ? "owner" : "owners", owners[i]);
        if (leased)
            check_lent(s, i, v);
    }
    psc_free(owners);
    if (f.copied)
        broken(v, 7, "%s copied %llu bytes where it should have handed them over", name_of(s), (unsigned long long)f.copied);
    return PSC_OK;
}

static void check_gone(const struct psc_depot *s, const struct psc_arena_state *state, struct psc_arena_verdict *v)
{
    uint64_t late = psc_depot_figures(s).late;
    for (size_t i = 0; i < state->claim_n; i++)
        if (state->claims[i].store == s)
            broken(v, 8, "the %s arena is gone, and slot %u of it is %s", name_of(s), state->claims[i].ticket.slot,
                   state->claims[i].leased ? "lent" : "held");
    if (late)
        broken(v, 8, "%llu %s given back to the %s arena when it was gone", (unsigned long long)late,
               late == 1 ? "block was" : "blocks were", name_of(s));
}

enum psc_status psc_arena_check(const struct psc_arena_state *state, struct psc_arena_verdict *ret, struct psc_error *reterr)
{
    struct psc_arena_verdict v = {0};
    enum psc_status status = PSC_OK;
    for (unsigned i = 0; i < 2 && !status; i++) {
        const struct psc_depot *s = state->stores[i];
        if (!s)
            continue;
        if (psc_depot_gone(s)) {
            check_gone(s, state, &v);
            continue;
        }
        check_sums(s, &v);
        check_lists(s, &v);
        check_borrowed(s, state, &v);
        status = check_owners(s, state, &v, reterr);
    }
    if (state->stores[0] && state->stores[1] && !psc_depot_gone(state->stores[0]) && !psc_depot_gone(state->stores[1]))
        check_homes(state->stores[0], state->stores[1], &v);
    if (!status)
        *ret = v;
    return status;
}
