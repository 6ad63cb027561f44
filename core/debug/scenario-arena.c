#include "core/debug/scenario.h"

#include "core/base/hash.h"
#include "core/base/mem.h"
#include "core/debug/arena-story.h"
#include "core/plan/arena-check.h"
#include "core/plan/arena-handle.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define EVERY_STEP 256u /* with more slots the invariants are looked at from time to time only */

/* One allocation, from alloc to the return of its block. */
struct life {
    struct psc_block_handle handle;  /* empty once it is lent, and when it is over */
    struct psc_ticket ticket;
    const unsigned char *origin;
    enum psc_depot_kind home;
    uint64_t buffer, content;  /* content: what its bytes were last written with */
    uint64_t canary;
    uint32_t value, version;
    uint32_t leases, pins;     /* holders outside; pins hold no lease */
    uint32_t over_at, over_event; /* step and event of the end, PSC_NONE before */
    uint32_t prev, next;       /* lives that go on, in the order of their beginning */
};
struct outside { struct psc_lease lease; uint32_t life, version; bool held, by_version; };
struct borrow { unsigned char *memory; uint64_t bytes, buffer; uint32_t value, version; bool held; };
struct name { uint32_t life, borrow, view; uint64_t offset; bool is_view; }; /* view: value; life: of its root */

struct player {
    const struct psc_arena_script *script;
    struct psc_report *report;
    struct psc_depot *store[2];   /* counted until closed, watched to the end */
    bool closed[2], watched;
    struct psc_arena_story story;
    struct psc_arena scratch;
    struct psc_map texts;         /* value and text -> latest version with it */
    struct name *names;
    struct outside *outside;
    struct life *lives;
    struct borrow *borrows;
    uint32_t life_n, borrow_n, first, last;
    uint32_t *errors;
    uint32_t error_n, at;
    struct psc_arena_claim *claims;
    struct psc_arena_range *ranges;
    unsigned broken;              /* invariants that do not hold any more: told once */
    bool run_over;
    uint64_t peak_footprint, backed_max;
    char title[640];
};

const char *psc_arena_op_name(enum psc_arena_op_kind kind)
{
    static const char *const names[PSC_ARENA_OP_N] = {"alloc", "static", "free", "view", "write", "read", "export", "handle",
                                                      "drop", "clear", "trim", "borrow", "release", "caller_write", "close"};
    return names[kind];
}

/* ---- bytes --------------------------------------------------------------------------------------------- */

static uint64_t content_of(const char *text)
{
    return psc_hash_bytes(text, strlen(text), 17);
}

static uint64_t backed(const struct player *p, uint64_t bytes)
{
    return bytes < p->backed_max ? bytes : p->backed_max;
}

static void fill(unsigned char *memory, uint64_t n, uint64_t content)
{
    for (uint64_t i = 0; i < n; i += 8) {
        uint64_t word = psc_hash_mix(content + i);
        memcpy(memory + i, &word, n - i < 8 ? n - i : 8);
    }
}

static bool holds(const unsigned char *memory, uint64_t n, uint64_t content)
{
    for (uint64_t i = 0; i < n; i += 8) {
        uint64_t word = psc_hash_mix(content + i);
        if (memcmp(memory + i, &word, n - i < 8 ? n - i : 8))
            return false;
    }
    return true;
}

/* ---- sentences ----------------------------------------------------------------------------------------- */

static const char *name_of(const struct player *p, uint32_t name)
{
    return name == PSC_NONE ? "?" : p->script->names[name];
}

static void say(struct player *p, const char *fmt, ...) PSC_PRINTF(2, 3);
static void say(struct player *p, const char *fmt, ...)
{
    size_t n = strlen(p->title);
    va_list args;
    va_start(args, fmt);
    vsnprintf(p->title + n, sizeof p->title - n, fmt, args);
    va_end(args);
}

static void refuse(struct player *p, uint32_t cause, const char *fmt, ...) PSC_PRINTF(3, 4);
static void refuse(struct player *p, uint32_t cause, const char *fmt, ...)
{
    const struct psc_arena_op *op = &p->script->ops[p->at];
    uint32_t name = op->h != PSC_NONE ? op->h : op->as;
    char text[300];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    psc_report_add(p->report, PSC_FAULT, 0, 0, UINT64_MAX, "event %u (%s%s%.40s): %s", p->at, psc_arena_op_name(op->kind),
                   name == PSC_NONE ? "" : " ", name == PSC_NONE ? "" : name_of(p, name), text);
    say(p, " refused: %s", text);
    psc_arena_story_add(&p->story, PSC_EV_REFUSE, p->story.value, 0, UINT64_MAX, 0, 0, 0, cause);
    if (!p->error_n || p->errors[p->error_n - 1] != p->at)
        p->errors[p->error_n++] = p->at;
}

/* ---- lives --------------------------------------------------------------------------------------------- */

static void begin_life(struct player *p, uint32_t i)
{
    struct life *l = &p->lives[i];
    l->prev = p->last;
    l->next = PSC_NONE;
    l->over_at = l->over_event = PSC_NONE;
    *(p->last == PSC_NONE ? &p->first : &p->lives[p->last].next) = i;
    p->last = i;
}

static void end_life(struct player *p, uint32_t i)
{
    struct life *l = &p->lives[i];
    *(l->prev == PSC_NONE ? &p->first : &p->lives[l->prev].next) = l->next;
    *(l->next == PSC_NONE ? &p->last : &p->lives[l->next].prev) = l->prev;
    l->over_at = p->at;
    l->over_event = p->story.last;
}

static bool goes_on(const struct life *l)
{
    return l->over_at == PSC_NONE;
}

/* The life that a name means now, or NULL; a view means its root's. */
static struct life *life_of(struct player *p, uint32_t name)
{
    struct life *l = name == PSC_NONE || p->names[name].life == PSC_NONE ? NULL : &p->lives[p->names[name].life];
    return l && goes_on(l) ? l : NULL;
}

static void write_life(struct player *p, struct life *l, const char *text)
{
    uint64_t key = psc_hash_mix(content_of(text) + l->value);
    uint32_t old;
    l->content = content_of(text);
    fill(l->ticket.memory, backed(p, l->ticket.bytes), l->content);
    l->canary = psc_arena_canary(l->ticket.memory, backed(p, l->ticket.bytes));
    psc_arena_story_add(&p->story, PSC_EV_WRITE, l->value, l->version, l->buffer, l->ticket.generation, 0, l->ticket.bytes,
                        PSC_NONE);
    if (!psc_map_put(&p->texts, key, l->version, &old))
        p->story.failed = true;
    else if (old != UINT32_MAX)
        psc_map_set(&p->texts, key, l->version);
    l->version++;
}

/* Its bytes were its own to the end? */
static void look_before_return(struct player *p, struct life *l)
{
    p->story.value = l->value;
    if (psc_depot_gone(p->store[l->home]))
        refuse(p, PSC_NONE, "the arena of its block is gone");
    else if (!holds(l->ticket.memory, backed(p, l->ticket.bytes), l->content))
        refuse(p, PSC_NONE, "somebody else wrote into its block");
}

static void give_back(struct player *p, uint32_t i)
{
    struct life *l = &p->lives[i];
    struct psc_error error = {0};
    look_before_return(p, l);
    if (psc_block_handle_reset(&l->handle, &error))
        refuse(p, PSC_NONE, "%s", error.text);
    end_life(p, i);
}

/* ---- operations ---------------------------------------------------------------------------------------- */

static void play_alloc(struct player *p, const struct psc_arena_op *op)
{
    struct psc_depot *store = p->store[op->arena];
    struct name *n = &p->names[op->h];
    struct life *l = &p->lives[p->life_n], *old = life_of(p, op->h);
    struct psc_depot_figures before = psc_depot_figures(store), after;
    struct psc_error error = {0};
    char text[32], stamp[64];
    say(p, ": %s from %s", psc_bytes_text(op->bytes, text, sizeof text), psc_depot_kind_name(op->arena));
    if (p->closed[op->arena]) {
        refuse(p, PSC_NONE, "the session has let go of %s", psc_depot_kind_name(op->arena));
        return;
    }
    if (old && !n->is_view && old->handle.state != PSC_HANDLE_EMPTY) {
        refuse(p, PSC_NONE, "%.40s owns a block already", name_of(p, op->h));
        return;
    }
    *l = (struct life){.home = op->arena};
    l->value = psc_arena_story_value(&p->story, PSC_VALUE_NODE, name_of(p, op->h), op->arena, op->bytes, PSC_NONE, 0);
    p->story.value = l->value;
    if (psc_block_handle_alloc(store, op->bytes, PSC_OWNER_TENSOR, &l->handle, &error)) {
        refuse(p, p->story.last, "%s", error.text);
        return;
    }
    after = psc_depot_figures(store);
    l->ticket = l->handle.ticket;
    l->origin = l->ticket.memory;
    l->buffer = psc_depot_slots(store)[l->ticket.slot].buffer;
    begin_life(p, p->life_n);
    *n = (struct name){.life = p->life_n++, .borrow = n->borrow, .view = PSC_NONE};
    say(p, after.grown > before.grown ? "; the largest free block is grown to %s" :
           after.blocks > before.blocks ? "; no free block fits, a new one of %s" : "; a free block of %s again",
        psc_bytes_text(l->ticket.capacity, text, sizeof text));
    snprintf(stamp, sizeof stamp, "given out at %u", p->at);
    write_life(p, l, stamp);
}

/* A name whose life is over, or that never had one. In upstream mode the stale ticket reaches the arena. */
static void free_again(struct player *p, const struct psc_arena_op *op)
{
    uint32_t i = p->names[op->h].life;
    struct life *l = i == PSC_NONE ? NULL : &p->lives[i];
    struct psc_error error = {0};
    if (!l) {
        refuse(p, PSC_NONE, "%.40s owns no block", name_of(p, op->h));
    } else {
        p->story.value = l->value;
        if (psc_depot_free(p->store[l->home], l->ticket, &error))
            refuse(p, l->over_event, "%.40s owns no block: it went back at event %u", name_of(p, op->h), l->over_at);
        else
            refuse(p, l->over_event, "%.40s owns no block, and yet the arena took the block of its new owner back",
                   name_of(p, op->h));
    }
}

static void play_free(struct player *p, const struct psc_arena_op *op)
{
    struct name *n = &p->names[op->h];
    struct life *l = life_of(p, op->h);
    if (n->is_view) {
        n->is_view = false;
        n->life = PSC_NONE;
        say(p, ": a view, so nothing is released");
    } else if (l && l->handle.state == PSC_HANDLE_EMPTY) {
        p->story.value = l->value;
        if (psc_depot_free(p->store[l->home], l->ticket, NULL))
            refuse(p, PSC_NONE, "it is lent: only its lease gives it back");
        else
            refuse(p, PSC_NONE, "it is lent, and yet the arena took its block back");
    } else if (l) {
        char text[32];
        say(p, ": its block of %s is free in %s", psc_bytes_text(l->ticket.capacity, text, sizeof text),
            psc_depot_kind_name(l->home));
        give_back(p, n->life);
    } else {
        free_again(p, op);
    }
}

static void play_view(struct player *p, const struct psc_arena_op *op)
{
    struct name *n = &p->names[op->h];
    const struct name *of = &p->names[op->of];
    struct life *l = life_of(p, op->of), *own = life_of(p, op->h);
    uint64_t offset;
    say(p, " of %.40s", name_of(p, op->of));
    if (own && !n->is_view && own->handle.state != PSC_HANDLE_EMPTY)
        refuse(p, PSC_NONE, "%.40s owns a block already", name_of(p, op->h));
    else if (!l)
        refuse(p, PSC_NONE, "%.40s has no block to look at", name_of(p, op->of));
    else if (!psc_add_u64(op->offset, of->is_view ? of->offset : 0, &offset) || offset > l->ticket.bytes ||
             op->bytes > l->ticket.bytes - offset)
        refuse(p, PSC_NONE, "it would reach beyond the %llu bytes of %.40s", (unsigned long long)l->ticket.bytes,
               name_of(p, op->of));
    else {
        uint64_t bytes = op->bytes ? op->bytes : l->ticket.bytes - offset;
        *n = (struct name){.life = of->life, .borrow = n->borrow, .offset = offset, .is_view = true};
        n->view = psc_arena_story_value(&p->story, PSC_VALUE_NODE, name_of(p, op->h), l->home, bytes, l->value, offset);
        psc_arena_story_add(&p->story, PSC_EV_VIEW, n->view, 0, l->buffer, l->ticket.generation, offset, offset + bytes,
                            PSC_NONE);
    }
}

static void play_export(struct player *p, const struct psc_arena_op *op)
{
    struct outside *o = &p->outside[op->as];
    struct life *l = life_of(p, op->h);
    struct psc_error error = {0};
    enum psc_status status = PSC_OK;
    say(p, " as %.40s", name_of(p, op->as));
    if (o->held || !l) {
        refuse(p, PSC_NONE, o->held ? "%.40s holds a block already" : "%.40s owns no block",
               name_of(p, o->held ? op->as : op->h));
        return;
    }
    p->story.value = l->value;
    p->story.version = l->version - 1;
    *o = (struct outside){.life = p->names[op->h].life, .version = l->version - 1};
    o->by_version = op->kind == PSC_ARENA_OP_HANDLE;
    if (l->leases) {
        for (uint32_t i = 0; i < p->script->name_n && !o->lease.store && !status; i++)
            if (p->outside[i].held && p->outside[i].life == o->life && p->outside[i].lease.store)
                status = psc_lease_share(&p->outside[i].lease, &o->lease, &error);
        say(p, ": one more holder");
    } else if (!o->by_version && l->home == PSC_DEPOT_IO) {
        status = psc_lease_export(p->store[l->home], l->ticket, &o->lease, &error);
        if (!status) {
            l->handle = (struct psc_block_handle){0};
            l->ticket.memory = o->lease.ticket.memory;
        }
    }
    if (status) {
        refuse(p, PSC_NONE, "%s", error.text);
        return;
    }
    o->held = true;
    *(o->lease.store ? &l->leases : &l->pins) += 1;
    if (!o->lease.store) /* the arena does not know of it */
        psc_arena_story_add(&p->story, PSC_EV_EXPORT, l->value, o->version, l->buffer, l->ticket.generation, 0,
                            l->ticket.bytes, PSC_NONE);
}

static void play_drop(struct player *p, const struct psc_arena_op *op)
{
    struct outside *o = &p->outside[op->as];
    struct life *l = &p->lives[o->life];
    bool lease = o->lease.store;
    if (!o->held) {
        refuse(p, PSC_NONE, "%.40s holds nothing", name_of(p, op->as));
        return;
    }
    o->held = false;
    if (!goes_on(l)) {
        refuse(p, l->over_event, "its block went back at event %u", l->over_at);
        return;
    }
    p->story.value = l->value;
    *(lease ? &l->leases : &l->pins) -= 1;
    if (lease && !l->leases)
        look_before_return(p, l);
    psc_lease_reset(&o->lease);
    if (lease && !l->leases)
        end_life(p, o->life);
    else if (!lease && !l->pins && l->handle.state != PSC_HANDLE_EMPTY)
        give_back(p, o->life);
    else
        say(p, ": others hold it still");
}

static void play_clear(struct player *p)
{
    uint32_t n = 0, kept = 0;
    p->story.why = psc_arena_story_add(&p->story, PSC_EV_CLEAR, PSC_NONE, 0, UINT64_MAX, 0, 0, 0, PSC_NONE);
    for (unsigned a = 0; a < 2; a++)
        psc_depot_clear(p->store[a]);
    for (uint32_t i = p->first, next; i != PSC_NONE; i = next) {
        next = p->lives[i].next;
        if (p->lives[i].leases || p->lives[i].pins) {
            kept++;
            continue;
        }
        give_back(p, i);
        n++;
    }
    say(p, ": the run is over, %u %s, %u lent", n, n == 1 ? "block goes back" : "blocks go back", kept);
}

static void play_read(struct player *p, const struct psc_arena_op *op)
{
    const struct outside *o = op->as == PSC_NONE ? NULL : &p->outside[op->as];
    struct life *l = o ? (o->held ? &p->lives[o->life] : NULL) : life_of(p, op->h);
    uint64_t content = content_of(op->value);
    uint32_t version = 0;
    say(p, " expecting %.40s", op->value);
    if (!l || !goes_on(l)) {
        refuse(p, l ? l->over_event : PSC_NONE, l ? "the block it means went back" : "it holds nothing");
        return;
    }
    p->story.value = l->value;
    if (o && o->by_version)
        version = o->version;
    else if (!psc_map_get(&p->texts, psc_hash_mix(content + l->value), &version))
        version = UINT32_MAX;
    if (version != UINT32_MAX)
        psc_arena_story_add(&p->story, PSC_EV_HOST_READ, l->value, version, l->buffer, l->ticket.generation, 0,
                            l->ticket.bytes, PSC_NONE);
    if (o && o->by_version && o->version + 1 != l->version)
        refuse(p, PSC_NONE, "it was taken of version %u, and version %u is there", o->version, l->version - 1);
    else if (!holds(l->ticket.memory, backed(p, l->ticket.bytes), content))
        refuse(p, PSC_NONE, "the bytes hold something else");
}

/* Memory of the caller: no arena's, whatever happens to it. */
static void play_caller(struct player *p, const struct psc_arena_op *op)
{
    struct name *n = &p->names[op->h];
    struct borrow *b = n->borrow == PSC_NONE ? NULL : &p->borrows[n->borrow];
    if (op->kind == PSC_ARENA_OP_BORROW && !(b && b->held)) {
        b = &p->borrows[n->borrow = p->borrow_n++];
        *b = (struct borrow){.bytes = op->bytes ? op->bytes : 1, .held = true};
        b->memory = psc_arena_alloc0(&p->scratch, backed(p, b->bytes), 1);
        p->story.failed = p->story.failed || !b->memory;
        b->buffer = psc_arena_story_caller(&p->story, b->bytes);
        b->value = psc_arena_story_value(&p->story, PSC_VALUE_CALLER, name_of(p, op->h), PSC_ARENA_CALLER, b->bytes, PSC_NONE, 0);
        say(p, ": the caller's memory, in no arena");
    } else if (op->kind == PSC_ARENA_OP_RELEASE || !b || !b->held) {
        if (b && b->held) {
            psc_arena_story_add(&p->story, PSC_EV_RELEASE, b->value, 0, b->buffer, 0, 0, b->bytes, PSC_NONE);
            psc_depot_end_borrow(p->store[PSC_DEPOT_IO], b->memory, backed(p, b->bytes));
            b->held = false;
        }
        say(p, ": nothing comes to an arena");
        return;
    }
    if (b->memory)
        fill(b->memory, backed(p, b->bytes), content_of(op->value ? op->value : ""));
    psc_arena_story_add(&p->story, PSC_EV_WRITE, b->value, b->version++, b->buffer, 0, 0, b->bytes, PSC_NONE);
}

static void play_write(struct player *p, const struct psc_arena_op *op)
{
    struct life *l = life_of(p, op->h);
    say(p, ": %.40s", op->value);
    if (l)
        write_life(p, l, op->value);
    else
        refuse(p, PSC_NONE, "%.40s owns no block", name_of(p, op->h));
}

static void play_trim(struct player *p, const struct psc_arena_op *op)
{
    uint64_t bytes = 0;
    char text[32];
    for (unsigned a = 0; a < 2; a++)
        if (op->arena == PSC_DEPOT_N || op->arena == a)
            bytes += psc_depot_trim(p->store[a]);
    say(p, ": %s of free blocks go", psc_bytes_text(bytes, text, sizeof text));
}

/* Legal in any order with drops: who is lent something keeps the arena. */
static void play_close(struct player *p, const struct psc_arena_op *op)
{
    for (unsigned a = 0; a < 2; a++) {
        struct psc_depot *store = p->store[a];
        struct psc_error error = {0};
        if (op->arena != PSC_DEPOT_N && op->arena != a)
            continue;
        if (p->closed[a]) {
            refuse(p, PSC_NONE, "the session let go of %s before", psc_depot_kind_name((enum psc_depot_kind)a));
        } else if (psc_depot_close(&store, &error)) {
            refuse(p, PSC_NONE, "%s", error.text);
        } else {
            uint32_t left = psc_depot_gone(p->store[a]) ? 0 : psc_depot_refs(p->store[a]);
            p->closed[a] = true;
            say(p, left ? ": the session lets go of %s, %u %s it alive" : ": the session lets go of %s, which is gone",
                psc_depot_kind_name((enum psc_depot_kind)a), left, left == 1 ? "lease keeps" : "leases keep");
        }
    }
}

/* ---- after each step ----------------------------------------------------------------------------------- */

static void tell_broken(struct player *p, const struct psc_arena_verdict *v)
{
    unsigned fresh = v->broken & ~p->broken;
    p->broken |= v->broken;
    for (unsigned i = 0; fresh && i < PSC_INVARIANT_N; i++)
        if (fresh >> i & 1) {
            psc_report_add(p->report, PSC_FAULT, 0, 0, UINT64_MAX, "event %u: invariant %u does not hold any more (%s): %s",
                           p->at, i, psc_invariant_text(i), v->text);
            say(p, " [invariant %u broken: %s]", i, psc_invariant_text(i));
        }
}

static enum psc_status check(struct player *p, struct psc_error *reterr)
{
    struct psc_arena_state state = {.stores = {p->store[0], p->store[1]}, .claims = p->claims, .borrowed = p->ranges};
    struct psc_arena_verdict v;
    uint32_t slots = psc_depot_figures(p->store[0]).slot_n + psc_depot_figures(p->store[1]).slot_n;
    if (slots > EVERY_STEP && p->at % slots)
        return PSC_OK;
    for (uint32_t i = p->first; i != PSC_NONE; i = p->lives[i].next) {
        const struct life *l = &p->lives[i];
        for (uint32_t k = 0; k < (l->leases ? l->leases : 1); k++)
            p->claims[state.claim_n++] = (struct psc_arena_claim){.store = p->store[l->home], .ticket = l->ticket, .leased = l->leases,
                                                                   .origin = l->origin, .canary = l->canary};
    }
    for (uint32_t i = 0; i < p->borrow_n; i++)
        p->ranges[state.borrowed_n++] = (struct psc_arena_range){p->borrows[i].memory, backed(p, p->borrows[i].bytes)};
    state.cleared = p->script->ops[p->at].kind == PSC_ARENA_OP_CLEAR;
    enum psc_status status = psc_arena_check(&state, &v, reterr);
    if (status)
        return status;
    psc_arena_story_lamps(&p->story, v.broken, v.text);
    tell_broken(p, &v);
    for (uint32_t i = p->first; v.broken && i != PSC_NONE; i = p->lives[i].next) /* what was told is told once */
        p->lives[i].canary = psc_arena_canary(p->lives[i].ticket.memory, backed(p, p->lives[i].ticket.bytes));
    return status;
}

static void sum_footprint(struct player *p)
{
    uint64_t sum = 0;
    for (unsigned a = 0; a < 2; a++) {
        struct psc_depot_figures f = psc_depot_figures(p->store[a]);
        if (!psc_add_u64(sum, f.live_capacity, &sum) || !psc_add_u64(sum, f.retained, &sum))
            sum = UINT64_MAX;
    }
    if (sum > p->peak_footprint)
        p->peak_footprint = sum;
}

static enum psc_status step(struct player *p, struct psc_error *reterr)
{
    const struct psc_arena_op *op = &p->script->ops[p->at];
    uint64_t evicted = psc_depot_figures(p->store[0]).evicted + psc_depot_figures(p->store[1]).evicted;
    uint32_t name = op->h != PSC_NONE ? op->h : op->as;
    *p->title = '\0';
    say(p, "%s%s%.40s", psc_arena_op_name(op->kind), name == PSC_NONE ? "" : " ", name == PSC_NONE ? "" : name_of(p, name));
    psc_arena_story_begin(&p->story);
    switch (op->kind) {
    case PSC_ARENA_OP_ALLOC: case PSC_ARENA_OP_STATIC: play_alloc(p, op); break;
    case PSC_ARENA_OP_FREE: play_free(p, op); break;
    case PSC_ARENA_OP_VIEW: play_view(p, op); break;
    case PSC_ARENA_OP_WRITE: play_write(p, op); break;
    case PSC_ARENA_OP_READ: play_read(p, op); break;
    case PSC_ARENA_OP_EXPORT: case PSC_ARENA_OP_HANDLE: play_export(p, op); break;
    case PSC_ARENA_OP_DROP: play_drop(p, op); break;
    case PSC_ARENA_OP_CLEAR: play_clear(p); break;
    case PSC_ARENA_OP_TRIM: play_trim(p, op); break;
    case PSC_ARENA_OP_CLOSE: play_close(p, op); break;
    default: play_caller(p, op); break;
    }
    evicted = psc_depot_figures(p->store[0]).evicted + psc_depot_figures(p->store[1]).evicted - evicted;
    if (evicted)
        say(p, "; over the cap, %llu %s evicted, the longest free first", (unsigned long long)evicted,
            evicted == 1 ? "block is" : "blocks are");
    sum_footprint(p);
    enum psc_status status = check(p, reterr);
    if (op->note)
        say(p, ". %s", op->note);
    psc_arena_story_title(&p->story, p->title);
    if (op->kind == PSC_ARENA_OP_CLEAR && p->story.run < UINT16_MAX)
        p->run_over = true;
    return status;
}

/* ---- the play ------------------------------------------------------------------------------------------ */

static enum psc_status set_up(struct player *p, struct psc_error *reterr)
{
    const struct psc_arena_script *s = p->script;
    uint64_t sum = 0, allocs = 1;
    enum psc_status status = psc_arena_story_init(&p->story, reterr);
    p->names = psc_arena_alloc(&p->scratch, s->name_n, sizeof *p->names);
    p->outside = psc_arena_alloc0(&p->scratch, s->name_n, sizeof *p->outside);
    p->lives = psc_arena_alloc(&p->scratch, s->op_n, sizeof *p->lives);
    p->borrows = psc_arena_alloc(&p->scratch, s->op_n, sizeof *p->borrows);
    p->claims = psc_arena_alloc(&p->scratch, s->op_n, sizeof *p->claims);
    p->ranges = psc_arena_alloc(&p->scratch, s->op_n, sizeof *p->ranges);
    if (status)
        return status;
    if (!p->names || !p->outside || !p->lives || !p->borrows || !p->errors || !p->claims || !p->ranges)
        return psc_fail_nomem(reterr);
    for (uint32_t i = 0; i < s->name_n; i++)
        p->names[i] = (struct name){.life = PSC_NONE, .borrow = PSC_NONE, .view = PSC_NONE};
    for (uint32_t i = 0; i < s->op_n; i++) {
        allocs += s->ops[i].bytes != 0;
        if (!psc_add_u64(sum, s->ops[i].bytes, &sum))
            sum = UINT64_MAX;
    }
    p->backed_max = sum <= PSC_ARENA_SCRIPT_BYTES ? PSC_ARENA_SCRIPT_BYTES : PSC_ARENA_SCRIPT_BYTES / allocs;
    p->backed_max = p->backed_max < 64 ? 64 : p->backed_max;
    p->story.event_max = PSC_SCENARIO_EVENTS_MAX;
    for (unsigned a = 0; a < 2 && !status; a++)
        status = psc_depot_new(&(struct psc_depot_options){
            .kind = (enum psc_depot_kind)a, .slot_max = s->home[a].slot_max, .cap = s->home[a].cap, .guards = s->guards,
            .faults = s->faults, .keeps_dropped = true, .backed_max = p->backed_max, .numbers = &p->story.numbers,
            .sink = psc_arena_story_sink, .ctx = &p->story}, &p->store[a], reterr);
    for (unsigned a = 0; a < 2 && !status; a++)
        psc_depot_watch(p->store[a]);
    p->watched = !status;
    for (unsigned a = 0; a < 2 && !status; a++)
        psc_arena_story_arena(&p->story, psc_depot_options(p->store[a]));
    if (!status) {
        psc_depot_set_other(p->store[0], p->store[1]);
        psc_depot_set_other(p->store[1], p->store[0]);
    }
    return status;
}

/* Whatever is held goes back quietly: the script is over. */
static void let_go(struct player *p)
{
    p->story.title_n = 0;
    for (uint32_t i = 0; p->outside && i < p->script->name_n; i++)
        psc_lease_reset(&p->outside[i].lease);
    for (uint32_t i = 0; i < p->life_n; i++)
        psc_block_handle_reset(&p->lives[i].handle, NULL);
    for (unsigned a = 0; a < 2 && p->store[a]; a++) {
        if (p->watched)
            psc_depot_unwatch(p->store[a]);
        if (!p->closed[a])
            psc_depot_unref(p->store[a]);
    }
    psc_arena_story_release(&p->story);
    psc_map_release(&p->texts);
    psc_arena_release(&p->scratch);
}

enum psc_status psc_arena_play(struct psc_arena *arena, const struct psc_arena_script *script, struct psc_report *report,
                               struct psc_arena_answer *ret, struct psc_story **ret_story, struct psc_error *reterr)
{
    struct player p = {.script = script, .report = report, .first = PSC_NONE, .last = PSC_NONE};
    p.errors = psc_arena_alloc(arena, script->op_n, sizeof *p.errors);
    enum psc_status status = set_up(&p, reterr);
    for (p.at = 0; p.at < script->op_n && !status && !p.story.failed; p.at++) {
        status = step(&p, reterr);
        p.story.run += p.run_over;
        p.run_over = false;
    }
    if (!status)
        *ret = (struct psc_arena_answer){psc_depot_figures(p.store[0]), psc_depot_figures(p.store[1]), p.peak_footprint,
                                         p.errors, p.error_n, p.broken};
    if (!status)
        status = psc_arena_story_finish(&p.story, arena, ret_story, reterr);
    let_go(&p);
    return !status && report->failed ? psc_fail_nomem(reterr) : status;
}
