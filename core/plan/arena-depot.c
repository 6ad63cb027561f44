#include "core/plan/arena-depot-private.h"

#include "core/base/mem.h"

#include <stdio.h>
#include <string.h>

#define ALIGNMENT 64u
#define ALIGNMENT_MAX 65536u

static bool fault(const struct psc_depot *s, enum psc_arena_fault f)
{
    return s->options.faults & PSC_ARENA_BIT(f);
}

/* ---- telling ------------------------------------------------------------------------------------------- */

static void tell(struct psc_depot *s, enum psc_event_kind kind, uint32_t slot, enum psc_block_how how)
{
    const struct psc_depot_slot *p = slot == PSC_NONE ? NULL : &s->slots[slot];
    struct psc_depot_event e = {.kind = kind, .how = how, .slot = slot, .buffer = UINT64_MAX};
    if (!s->options.sink)
        return;
    if (kind == PSC_EV_CLOSE)
        e.holders = s->refs;
    if (p) {
        e.owner = p->owner;
        e.holders = p->holders;
        e.generation = p->generation;
        e.buffer = p->buffer;
        e.bytes = p->bytes;
        e.capacity = p->capacity;
    }
    s->options.sink(s->options.ctx, s, &e);
}

static enum psc_status refuse(struct psc_depot *s, enum psc_status status, uint64_t bytes, const char *why,
                              struct psc_error *reterr)
{
    struct psc_depot_event e = {.kind = PSC_EV_REFUSE, .slot = PSC_NONE, .buffer = UINT64_MAX, .bytes = bytes, .why = why};
    s->figures.refused++;
    if (s->options.sink)
        s->options.sink(s->options.ctx, s, &e);
    return psc_fail(reterr, status, "%s", why);
}

/* ---- blocks -------------------------------------------------------------------------------------------- */

static struct psc_block *block_new(const struct psc_depot *s, uint64_t backed)
{
    size_t align = s->options.alignment ? s->options.alignment : guards(s, PSC_GUARD_ALIGN) ? ALIGNMENT : 16;
    struct psc_block *block;
    if (backed > SIZE_MAX / 2)
        return NULL;
    block = psc_alloc(sizeof *block + align + (size_t)backed);
    if (!block)
        return NULL;
    block->refs = 1;
    block->foreign = false;
    block->memory = (unsigned char *)(((uintptr_t)(block + 1) + align - 1) / align * align);
    if (fault(s, PSC_ARENA_A19)) /* what a kernel leaves is the same every time */
        memset(block->memory, 0, (size_t)backed);
    return block;
}

static void block_unref(struct psc_depot *s, struct psc_block *block)
{
    if (!block || --block->refs)
        return;
    if (!s->options.keeps_dropped) {
        psc_free(block);
        return;
    }
    block->next = s->dropped;
    s->dropped = block;
}

static uint64_t backed_of(const struct psc_depot *s, uint64_t bytes)
{
    return s->options.backed_max && bytes > s->options.backed_max ? s->options.backed_max : bytes;
}

static uint64_t number(struct psc_depot *s)
{
    s->figures.blocks++;
    return s->options.numbers ? (*s->options.numbers)++ : s->numbers++;
}

static void set_block(struct psc_depot *s, uint32_t slot, struct psc_block *block, uint64_t capacity)
{
    struct psc_depot_slot *p = &s->slots[slot];
    p->block = block;
    p->memory = block->memory;
    p->capacity = capacity;
    p->backed = backed_of(s, capacity);
    psc_slot_tree_put(&s->addresses, slot, (uintptr_t)p->memory, 0);
}

static void drop_block(struct psc_depot *s, uint32_t slot)
{
    struct psc_depot_slot *p = &s->slots[slot];
    psc_slot_tree_take(&s->addresses, slot, (uintptr_t)p->memory, 0);
    block_unref(s, p->block);
    p->block = NULL;
    p->memory = NULL;
    p->backed = 0;
}

/* ---- slots --------------------------------------------------------------------------------------------- */

static bool make_slots(struct psc_depot *s, uint32_t n)
{
    uint32_t first = s->figures.slot_n;
    if (n > PSC_ARENA_SLOTS_MAX || !psc_grow(&s->slots, n, &s->slot_cap, sizeof *s->slots) ||
        !psc_slot_tree_reserve(&s->buckets, n) || !psc_slot_tree_reserve(&s->addresses, n))
        return false;
    for (uint32_t i = n; i-- > first;) { /* the lowest is taken first */
        s->slots[i] = (struct psc_depot_slot){.next = s->unused};
        s->unused = i;
    }
    s->figures.slot_n = n;
    s->figures.unused_n += n - first;
    return true;
}

/* An unused slot stands ready at s->unused? */
static bool has_slot(struct psc_depot *s, bool *nomem)
{
    if (s->unused != PSC_NONE)
        return true;
    if (s->options.slot_max || s->options.none)
        return false;
    if (make_slots(s, s->figures.slot_n + 1))
        return true;
    *nomem = true;
    return false;
}

static uint32_t take_unused(struct psc_depot *s)
{
    uint32_t slot = s->unused;
    s->unused = s->slots[slot].next;
    s->figures.unused_n--;
    return slot;
}

static void put_unused(struct psc_depot *s, uint32_t slot)
{
    struct psc_depot_slot *p = &s->slots[slot];
    *p = (struct psc_depot_slot){.generation = p->generation, .next = s->unused};
    s->unused = slot;
    s->figures.unused_n++;
}

/* Into the free list, as the one freed last. */
static void enlist(struct psc_depot *s, uint32_t slot)
{
    struct psc_depot_slot *p = &s->slots[slot];
    p->state = PSC_SLOT_FREE;
    p->owner = PSC_OWNER_NONE;
    p->holders = 0;
    p->bytes = 0;
    p->freed = s->returns++;
    p->prev = s->newest;
    p->next = PSC_NONE;
    *(s->newest == PSC_NONE ? &s->oldest : &s->slots[s->newest].next) = slot;
    s->newest = slot;
    psc_slot_tree_put(&s->buckets, slot, p->capacity, lately(p));
    s->figures.retained += p->capacity;
    s->figures.backed_retained += p->backed;
    s->figures.free_n++;
}

static void delist(struct psc_depot *s, uint32_t slot)
{
    struct psc_depot_slot *p = &s->slots[slot];
    psc_slot_tree_take(&s->buckets, slot, p->capacity, lately(p));
    *(p->prev == PSC_NONE ? &s->oldest : &s->slots[p->prev].next) = p->next;
    *(p->next == PSC_NONE ? &s->newest : &s->slots[p->next].prev) = p->prev;
    s->figures.retained -= p->capacity;
    s->figures.backed_retained -= p->backed;
    s->figures.free_n--;
}

static void discard(struct psc_depot *s, uint32_t slot, enum psc_event_kind kind)
{
    delist(s, slot);
    tell(s, kind, slot, PSC_BLOCK_NEW);
    drop_block(s, slot);
    put_unused(s, slot);
    *(kind == PSC_EV_TRIM ? &s->figures.trimmed : &s->figures.evicted) += 1;
}

/* Fault a17: the first block in use, and nobody who owns it is told. */
static void evict_used(struct psc_depot *s)
{
    uint32_t slot = 0;
    while (slot < s->figures.slot_n && s->slots[slot].state != PSC_SLOT_LIVE)
        slot++;
    if (slot == s->figures.slot_n)
        return;
    struct psc_depot_slot *p = &s->slots[slot];
    s->figures.live -= p->bytes;
    s->figures.live_capacity -= p->capacity;
    s->figures.live_n--;
    s->figures.evicted++;
    tell(s, PSC_EV_EVICT, slot, PSC_BLOCK_NEW);
    memset(p->memory, PSC_ARENA_POISON, (size_t)p->backed);
    drop_block(s, slot);
    put_unused(s, slot);
}

static void keep_to_cap(struct psc_depot *s)
{
    if (fault(s, PSC_ARENA_A17) && s->figures.retained > s->options.cap)
        evict_used(s);
    while (s->figures.retained > s->options.cap && s->oldest != PSC_NONE)
        discard(s, fault(s, PSC_ARENA_A10) ? s->newest : s->oldest, PSC_EV_EVICT);
}

/* ---- life ---------------------------------------------------------------------------------------------- */

enum psc_status psc_depot_new(const struct psc_depot_options *options, struct psc_depot **ret, struct psc_error *reterr)
{
    struct psc_depot *s;
    if (options->slot_max > PSC_ARENA_SLOTS_MAX)
        return psc_fail(reterr, PSC_ERR_TOO_BIG, "an arena of %u slots was asked for, it has at most %u", options->slot_max,
                        PSC_ARENA_SLOTS_MAX);
    if (options->alignment && (options->alignment < 16 || options->alignment > ALIGNMENT_MAX ||
                               (options->alignment & (options->alignment - 1))))
        return psc_fail(reterr, PSC_ERR_USAGE, "blocks aligned to %u bytes were asked for: a power of two from 16 to %u is known",
                        options->alignment, ALIGNMENT_MAX);
    s = psc_alloc0(1, sizeof *s);
    if (!s)
        return psc_fail_nomem(reterr);
    s->options = *options;
    s->unused = s->oldest = s->newest = PSC_NONE;
    s->refs = 1;
    psc_slot_tree_init(&s->buckets);
    psc_slot_tree_init(&s->addresses);
    pthread_mutex_init(&s->mutex, NULL);
    if (options->slot_max && !make_slots(s, options->slot_max)) {
        psc_depot_unref(s);
        return psc_fail_nomem(reterr);
    }
    *ret = s;
    return PSC_OK;
}

void psc_depot_ref(struct psc_depot *s)
{
    lock(s);
    s->refs++;
    unlock(s);
}

static void destroy(struct psc_depot *s)
{
    for (uint32_t i = 0; i < s->figures.slot_n; i++)
        block_unref(s, s->slots[i].block);
    while (s->dropped) {
        struct psc_block *next = s->dropped->next;
        psc_free(s->dropped);
        s->dropped = next;
    }
    psc_slot_tree_release(&s->buckets);
    psc_slot_tree_release(&s->addresses);
    psc_free(s->slots);
    pthread_mutex_destroy(&s->mutex);
    psc_free(s);
}

/* It is gone; what is left for those who watch has other bytes. */
static void go(struct psc_depot *s)
{
    while (s->oldest != PSC_NONE)
        discard(s, s->oldest, PSC_EV_TRIM);
    s->gone = true;
    tell(s, PSC_EV_CLOSE, PSC_NONE, PSC_BLOCK_NEW);
    for (uint32_t i = 0; s->watchers && i < s->figures.slot_n; i++)
        if (s->slots[i].block && !s->slots[i].block->foreign)
            memset(s->slots[i].memory, PSC_ARENA_POISON, (size_t)s->slots[i].backed);
}

void psc_depot_unref(struct psc_depot *s)
{
    bool over;
    if (!s)
        return;
    lock(s);
    if (!--s->refs)
        go(s);
    over = s->gone && !s->watchers;
    unlock(s);
    if (over)
        destroy(s);
}

void psc_depot_watch(struct psc_depot *s)
{
    lock(s);
    s->watchers++;
    unlock(s);
}

void psc_depot_unwatch(struct psc_depot *s)
{
    bool over;
    lock(s);
    over = !--s->watchers && s->gone;
    unlock(s);
    if (over)
        destroy(s);
}

enum psc_status psc_depot_close(struct psc_depot **store, struct psc_error *reterr)
{
    struct psc_depot *s = *store;
    if (!s)
        return PSC_OK;
    lock(s);
    uint32_t out = s->figures.live_n;
    unlock(s);
    if (out)
        return psc_fail(reterr, PSC_ERR_USAGE, "the %s arena cannot be closed: %u of its blocks belong to handles that would "
                        "outlive it; drop or export them first", psc_depot_kind_name(s->options.kind), out);
    *store = NULL;
    lock(s);
    if (s->refs > 1) { /* leases keep it */
        s->refs--;
        tell(s, PSC_EV_CLOSE, PSC_NONE, PSC_BLOCK_NEW);
        s->refs++;
    }
    unlock(s);
    psc_depot_unref(s);
    return PSC_OK;
}

void psc_depot_set_other(struct psc_depot *s, struct psc_depot *other)
{
    s->other = other;
}

/* ---- allocation ---------------------------------------------------------------------------------------- */

/* The smallest that is enough; under fault a8 the one that has been free longest. */
static uint32_t find_free(const struct psc_depot *s, uint64_t bytes)
{
    if (!fault(s, PSC_ARENA_A8))
        return psc_slot_tree_at_least(&s->buckets, bytes, 0);
    for (uint32_t i = s->oldest; i != PSC_NONE; i = s->slots[i].next)
        if (s->slots[i].capacity >= bytes)
            return i;
    return PSC_NONE;
}

static uint32_t find_largest(const struct psc_depot *s)
{
    uint32_t last = psc_slot_tree_last(&s->buckets);
    return last == PSC_TREE_NONE ? PSC_NONE : psc_slot_tree_at_least(&s->buckets, s->slots[last].capacity, 0);
}

/* Fault a5: a lent block counts as if it were free. */
static uint32_t find_lent(const struct psc_depot *s, uint64_t bytes)
{
    for (uint32_t i = 0; fault(s, PSC_ARENA_A5) && i < s->figures.slot_n; i++)
        if (s->slots[i].state == PSC_SLOT_LEASED && s->slots[i].capacity >= bytes)
            return i;
    return PSC_NONE;
}

/* Somebody wrote after giving back? */
static void look_at_poison(struct psc_depot *s, const struct psc_depot_slot *p)
{
    bool looks = guards(s, PSC_GUARD_POISON) && p->backed;
    if (looks && (p->memory[0] != PSC_ARENA_POISON || memcmp(p->memory, p->memory + 1, (size_t)p->backed - 1)))
        s->figures.stale_writes++;
}

static void begin(struct psc_depot *s, uint32_t slot, uint64_t bytes, enum psc_owner owner, enum psc_block_how how,
                  struct psc_ticket *ret)
{
    struct psc_depot_slot *p = &s->slots[slot];
    p->state = PSC_SLOT_LIVE;
    p->owner = owner;
    p->generation++;
    p->bytes = bytes;
    if (fault(s, PSC_ARENA_A9) && bytes < p->capacity)
        p->capacity = bytes;
    s->figures.live += bytes;
    s->figures.live_capacity += p->capacity;
    s->figures.live_n++;
    if (s->figures.live > s->figures.peak)
        s->figures.peak = s->figures.live;
    tell(s, PSC_EV_ALLOC, slot, how);
    *ret = (struct psc_ticket){slot, p->generation, p->memory, bytes, p->capacity};
}

static enum psc_status alloc_new(struct psc_depot *s, uint64_t bytes, enum psc_owner owner, struct psc_ticket *ret,
                                 struct psc_error *reterr)
{
    uint32_t lent = find_lent(s, bytes), slot;
    struct psc_block *block = lent == PSC_NONE ? block_new(s, backed_of(s, bytes)) : s->slots[lent].block;
    if (!block)
        return psc_fail_nomem(reterr);
    slot = take_unused(s);
    if (lent == PSC_NONE) {
        s->slots[slot].buffer = number(s);
        s->figures.system_allocs++;
    } else {
        block->refs++;
        s->slots[slot].buffer = s->slots[lent].buffer;
        s->figures.reused++;
    }
    set_block(s, slot, block, lent == PSC_NONE ? bytes : s->slots[lent].capacity);
    begin(s, slot, bytes, owner, lent == PSC_NONE ? PSC_BLOCK_NEW : PSC_BLOCK_AGAIN, ret);
    return PSC_OK;
}

/* What it held is given up, so nothing is copied; it has exactly the bytes asked for. */
static enum psc_status grow_largest(struct psc_depot *s, uint32_t slot, uint64_t bytes, enum psc_owner owner,
                                    struct psc_ticket *ret, struct psc_error *reterr)
{
    struct psc_block *block = block_new(s, backed_of(s, bytes));
    if (!block)
        return psc_fail_nomem(reterr);
    delist(s, slot);
    drop_block(s, slot);
    set_block(s, slot, block, bytes);
    s->figures.system_allocs++;
    s->figures.grown++;
    s->slots[slot].bytes = bytes;
    tell(s, PSC_EV_GROW, slot, PSC_BLOCK_GROWN);
    begin(s, slot, bytes, owner, PSC_BLOCK_GROWN, ret);
    return PSC_OK;
}

static enum psc_status alloc_locked(struct psc_depot *s, uint64_t bytes, enum psc_owner owner, struct psc_ticket *ret,
                                    struct psc_error *reterr)
{
    uint64_t sum;
    bool nomem = false;
    char why[160];
    uint32_t slot = find_lent(s, bytes) == PSC_NONE ? find_free(s, bytes) : PSC_NONE;
    if (s->gone)
        return refuse(s, PSC_ERR_USAGE, bytes, "the arena is gone: it gives nothing out", reterr);
    if (!psc_add_u64(s->figures.live, bytes, &sum) || !psc_add_u64(s->figures.live_capacity, bytes, &sum))
        return refuse(s, PSC_ERR_TOO_BIG, bytes, "the arena's live bytes do not fit into 64 bits", reterr);
    if (slot != PSC_NONE) {
        look_at_poison(s, &s->slots[slot]);
        delist(s, slot);
        s->figures.reused++;
        begin(s, slot, bytes, owner, PSC_BLOCK_AGAIN, ret);
        return PSC_OK;
    }
    if (has_slot(s, &nomem))
        return alloc_new(s, bytes, owner, ret, reterr);
    if (nomem)
        return psc_fail_nomem(reterr);
    slot = find_largest(s);
    if (slot != PSC_NONE)
        return grow_largest(s, slot, bytes, owner, ret, reterr);
    snprintf(why, sizeof why, "all %u slots of the %s arena are in use: none can be grown to %llu bytes", s->figures.slot_n,
             psc_depot_kind_name(s->options.kind), (unsigned long long)bytes);
    return refuse(s, PSC_ERR_NOMEM, bytes, why, reterr);
}

enum psc_status psc_depot_alloc(struct psc_depot *s, uint64_t bytes, enum psc_owner owner, struct psc_ticket *ret,
                                struct psc_error *reterr)
{
    lock(s);
    enum psc_status status = alloc_locked(s, bytes, owner, ret, reterr);
    unlock(s);
    return status;
}

/* ---- return -------------------------------------------------------------------------------------------- */

/* The slot that a ticket means, in one of the wanted states; refused otherwise. */
static uint32_t resolve(struct psc_depot *s, struct psc_ticket ticket, bool leased, const char *what, struct psc_error *reterr)
{
    uint32_t slot = ticket.memory ? psc_depot_slot_at(s, ticket.memory) : PSC_NONE;
    const struct psc_depot_slot *p;
    const char *is = NULL;
    char why[200];
    if (fault(s, PSC_ARENA_A5) && ticket.slot < s->figures.slot_n && s->slots[ticket.slot].memory == ticket.memory)
        slot = ticket.slot; /* two slots have one address */
    p = slot == PSC_NONE ? NULL : &s->slots[slot];
    if (s->gone && guards(s, PSC_GUARD_GENERATION))
        is = "the arena is gone";
    else if (!p)
        is = "no block has this address";
    else if (p->state == PSC_SLOT_FREE)
        is = "it was given back already";
    else if (guards(s, PSC_GUARD_GENERATION) && (p->generation != ticket.generation || slot != ticket.slot))
        is = "the ticket is stale: it was given back, and the block has a new owner";
    else if (!leased && p->state == PSC_SLOT_LEASED && !fault(s, PSC_ARENA_A16))
        is = "it is lent: only its lease gives it back";
    else if (leased && p->state == PSC_SLOT_LIVE)
        is = "it is not lent";
    if (!is)
        return slot;
    snprintf(why, sizeof why, "the %s arena does not %s the block: %s", psc_depot_kind_name(s->options.kind), what, is);
    (void)!refuse(s, PSC_ERR_USAGE, 0, why, reterr);
    return PSC_NONE;
}

/* Fault a1: the same block in the other arena's list. */
static void leak_to_other(struct psc_depot *s, const struct psc_depot_slot *p)
{
    struct psc_depot *o = s->other;
    bool nomem = false;
    uint32_t slot;
    if (!o || !fault(s, PSC_ARENA_A1) || !has_slot(o, &nomem))
        return;
    slot = take_unused(o);
    p->block->refs++;
    o->slots[slot].buffer = p->buffer;
    set_block(o, slot, p->block, p->capacity);
    enlist(o, slot);
}

static void give_back(struct psc_depot *s, uint32_t slot, enum psc_event_kind kind)
{
    struct psc_depot_slot *p = &s->slots[slot];
    if (!fault(s, PSC_ARENA_A11))
        s->figures.live -= p->bytes;
    s->figures.live_capacity -= p->capacity;
    *(p->state == PSC_SLOT_LEASED ? &s->figures.leased_n : &s->figures.live_n) -= 1;
    tell(s, kind, slot, PSC_BLOCK_NEW);
    if (s->options.kind == PSC_DEPOT_SIMPLE) {
        drop_block(s, slot);
        put_unused(s, slot);
        return;
    }
    if (guards(s, PSC_GUARD_POISON) && p->backed)
        memset(p->memory, PSC_ARENA_POISON, p->backed);
    enlist(s, slot);
    leak_to_other(s, p);
    keep_to_cap(s);
}

enum psc_status psc_depot_free(struct psc_depot *s, struct psc_ticket ticket, struct psc_error *reterr)
{
    lock(s);
    uint32_t slot = resolve(s, ticket, false, "free", reterr);
    if (slot != PSC_NONE)
        give_back(s, slot, PSC_EV_RELEASE);
    unlock(s);
    return slot == PSC_NONE ? PSC_ERR_USAGE : PSC_OK;
}

/* Fault a7: the bytes move to a block of their own. */
static bool copy_block(struct psc_depot *s, uint32_t slot)
{
    struct psc_depot_slot *p = &s->slots[slot];
    struct psc_block *block = block_new(s, p->backed);
    uint64_t capacity = p->capacity;
    if (!block)
        return false;
    memcpy(block->memory, p->memory, p->backed);
    s->figures.copied += p->bytes;
    s->figures.system_allocs++;
    drop_block(s, slot);
    set_block(s, slot, block, capacity);
    return true;
}

static enum psc_status export_locked(struct psc_depot *s, struct psc_ticket *ticket, struct psc_error *reterr)
{
    uint32_t slot;
    if (s->options.kind != PSC_DEPOT_IO)
        return refuse(s, PSC_ERR_USAGE, 0, "only blocks of the I/O arena are exported", reterr);
    slot = psc_depot_slot_at(s, ticket->memory);
    if (fault(s, PSC_ARENA_A2) && slot != PSC_NONE && s->slots[slot].state == PSC_SLOT_LEASED)
        return PSC_OK;
    slot = resolve(s, *ticket, false, "export", reterr);
    if (slot == PSC_NONE)
        return PSC_ERR_USAGE;
    if (fault(s, PSC_ARENA_A7) && !copy_block(s, slot))
        return psc_fail_nomem(reterr);
    s->slots[slot].state = PSC_SLOT_LEASED;
    s->slots[slot].owner = PSC_OWNER_LEASE;
    s->slots[slot].holders = 1;
    s->figures.live_n--;
    s->figures.leased_n++;
    ticket->memory = s->slots[slot].memory;
    tell(s, PSC_EV_EXPORT, slot, PSC_BLOCK_NEW);
    return PSC_OK;
}

enum psc_status psc_depot_export(struct psc_depot *s, struct psc_ticket *ticket, struct psc_error *reterr)
{
    lock(s);
    enum psc_status status = export_locked(s, ticket, reterr);
    unlock(s);
    return status;
}

enum psc_status psc_depot_share(struct psc_depot *s, struct psc_ticket ticket, struct psc_error *reterr)
{
    lock(s);
    uint32_t slot = resolve(s, ticket, true, "share", reterr);
    if (slot != PSC_NONE) {
        s->slots[slot].holders += !fault(s, PSC_ARENA_A2);
        tell(s, PSC_EV_TRANSFER, slot, PSC_BLOCK_NEW);
    }
    unlock(s);
    return slot == PSC_NONE ? PSC_ERR_USAGE : PSC_OK;
}

enum psc_status psc_depot_return(struct psc_depot *s, struct psc_ticket ticket, struct psc_error *reterr)
{
    lock(s);
    s->figures.late += s->gone;
    uint32_t slot = resolve(s, ticket, true, "take back", reterr);
    if (slot != PSC_NONE && (!--s->slots[slot].holders || fault(s, PSC_ARENA_A3)))
        give_back(s, slot, PSC_EV_DROP);
    else if (slot != PSC_NONE)
        tell(s, PSC_EV_TRANSFER, slot, PSC_BLOCK_NEW);
    unlock(s);
    return slot == PSC_NONE ? PSC_ERR_USAGE : PSC_OK;
}

/* ---- the rest ------------------------------------------------------------------------------------------ */

void psc_depot_clear(struct psc_depot *s)
{
    lock(s);
    tell(s, PSC_EV_CLEAR, PSC_NONE, PSC_BLOCK_NEW);
    for (uint32_t i = 0; fault(s, PSC_ARENA_A4) && i < s->figures.slot_n; i++)
        if (s->slots[i].state == PSC_SLOT_LEASED)
            memset(s->slots[i].memory, PSC_ARENA_POISON, s->slots[i].backed);
    unlock(s);
}

uint64_t psc_depot_trim(struct psc_depot *s)
{
    lock(s);
    uint64_t bytes = s->gone ? 0 : s->figures.retained;
    while (!s->gone && s->oldest != PSC_NONE)
        discard(s, s->oldest, PSC_EV_TRIM);
    unlock(s);
    return bytes;
}

void psc_depot_set_cap(struct psc_depot *s, uint64_t cap)
{
    lock(s);
    s->options.cap = cap;
    keep_to_cap(s);
    unlock(s);
}

void psc_depot_reset_peak(struct psc_depot *s)
{
    lock(s);
    s->figures.peak = fault(s, PSC_ARENA_A18) ? 0 : s->figures.live;
    unlock(s);
}

void psc_depot_set_sink(struct psc_depot *s, psc_depot_sink sink, void *ctx)
{
    lock(s);
    s->options.sink = sink;
    s->options.ctx = ctx;
    if (!sink)
        s->options.numbers = NULL;
    unlock(s);
}

void psc_depot_end_borrow(struct psc_depot *s, void *memory, uint64_t bytes)
{
    bool nomem = false;
    lock(s);
    if (fault(s, PSC_ARENA_A6) && !s->gone && has_slot(s, &nomem)) {
        struct psc_block *block = psc_alloc(sizeof *block);
        if (block) {
            uint32_t slot = take_unused(s);
            *block = (struct psc_block){.refs = 1, .memory = memory, .foreign = true};
            s->slots[slot].buffer = number(s);
            set_block(s, slot, block, bytes);
            enlist(s, slot);
        }
    }
    unlock(s);
}
