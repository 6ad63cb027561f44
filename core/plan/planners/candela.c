/* The candela planner: candela's five strategies for graphs of minfer's ops.
 *
 *     view                        a reference: the parent's window; the slot lives as long as its last reader
 *     in place                    over the first operand that the op may overwrite, whose slot ends at this very position, is of
 *                                 the same exact length and holds no other operand
 *     use slot                    the lowest slot of this exact length whose end is past; a slot that is read here is not past
 *     allocate                    else
 *
 * core/candela plans its own lazy expressions; this is the same rule in the common type: inputs are edges and outputs roots
 * (their slots have no end), KV nodes lie in regions. Sizes are exact, lives are counted in build order.
 *
 *     hardened    the guards above
 *     0.1         in place only over what died before this step: it never happens
 *     0.2         another operand in the same bytes is told by its node, not by its slot
 *     arena       no slot is used again: slots with an end are packed into an arena a backend (candela-arena.h)
 *
 * Faults are branches in these rules. Cost: O((nodes + edges) log idle), packing as in core/candela/pack.h.
 */
#include "core/plan/planners/planners.h"

#include "core/base/mem.h"
#include "core/plan/planners/budget.h"
#include "core/plan/planners/candela-arena.h"
#include "core/plan/sketch.h"
#include "core/plan/slots.h"

#include <string.h>

struct slot { /* what is known of one buffer */
    uint32_t list;     /* in the table of idle ones */
    int32_t end;       /* last position that reads it; n: none, it is never given back */
    psc_node owner;    /* PSC_NONE: idle since before this graph */
    uint32_t next_due; /* the next slot that ends at the same position */
    int32_t start;     /* where it was made */
};
struct work {
    struct psc_sketch sketch;
    const struct psc_graph *graph;
    const struct psc_digest_node *nodes;
    struct psc_slots_table idle;
    struct slot *slots; /* heap; [sketch.buffer_n], regions unused */
    size_t slot_cap;
    uint32_t *due;      /* [n]: slots whose end was this position when they were noted */
    struct psc_plan_budget budget;
    int32_t n;
    bool dead_before, by_node, packs; /* by generation and faults */
};

static bool faulty(const struct work *w, enum psc_candela_fault fault)
{
    return w->sketch.options.candela_faults & PSC_CANDELA_BIT(fault);
}

/* The last position that reads the node's bytes, n: for ever. b15: views are not followed; b16: what has no end has the
 * shortest. */
static int32_t end_of(const struct work *w, psc_node node)
{
    const struct psc_graph *g = w->graph;
    int32_t last = w->sketch.lives.last[node], direct = (int32_t)node;
    if (!faulty(w, last >= w->n ? PSC_CANDELA_B16 : PSC_CANDELA_B15))
        return last;
    for (uint32_t k = g->reader_at[node]; k < g->reader_at[node + 1]; k++)
        direct = (int32_t)g->readers[k] > direct ? (int32_t)g->readers[k] : direct;
    return direct;
}

static uint32_t bank(uint8_t backend)
{
    return backend == PSC_BACKEND_NONE ? 0 : backend;
}

/* ---- slots ---------------------------------------------------------------------------------------------- */

static void note_end(struct work *w, uint32_t buffer)
{
    struct slot *slot = &w->slots[buffer];
    if (slot->end >= w->n)
        return;
    slot->next_due = w->due[slot->end];
    w->due[slot->end] = buffer;
}

/* After the step at this position: slots whose end is `due` may be used from the next one on. Without a fault both are one. */
static bool give_back(struct work *w, int32_t due, int32_t at)
{
    uint32_t next, n = 0, first = w->due[due];
    w->due[due] = PSC_NONE;
    for (uint32_t b = first; b != PSC_NONE; b = next) {
        struct slot *slot = &w->slots[b];
        const struct psc_buffer *buffer = &w->sketch.buffers[b];
        next = slot->next_due;
        if (slot->end != due) { /* an in-place step moved its end */
            note_end(w, b);
            continue;
        }
        n++;
        psc_sketch_add_release(&w->sketch, (struct psc_release){b, slot->owner, at, 0, buffer->bytes});
        if (!psc_slots_give(&w->idle, bank(buffer->backend), slot->list, b) ||
            !psc_sketch_log(&w->sketch, (struct psc_walk){at, PSC_WALK_RELEASE, slot->owner, b, (uint64_t)at, 0}))
            return false;
    }
    return !n || psc_sketch_log(&w->sketch, (struct psc_walk){at, PSC_WALK_SWEEP, PSC_NONE, PSC_NONE, n, 0});
}

static bool hold(struct work *w, psc_node node)
{
    struct psc_place *place = &w->sketch.places[node];
    struct slot *slot = &w->slots[place->buffer];
    place->length = w->nodes[node].bytes;
    slot->owner = node;
    slot->end = end_of(w, node);
    note_end(w, place->buffer);
    return true;
}

static bool allocate(struct work *w, psc_node node, int32_t at, uint32_t list, enum psc_role role)
{
    struct psc_sketch *sketch = &w->sketch;
    struct psc_place *place = &sketch->places[node];
    uint64_t bytes = w->nodes[node].bytes;
    uint8_t backend = w->nodes[node].backend;
    if (w->budget.any && !psc_budget_allows(&w->budget, node, backend, bytes))
        return false;
    place->reason = PSC_WHY_NEW;
    place->a = bytes;
    place->b = w->idle.idle[bank(backend)];
    place->buffer = psc_sketch_add_buffer(sketch, bytes, backend, role);
    if (place->buffer == PSC_NONE || !psc_grow(&w->slots, sketch->buffer_n, &w->slot_cap, sizeof *w->slots))
        return false;
    w->slots[place->buffer] = (struct slot){.list = list, .start = at};
    if (!w->packs)
        psc_sketch_refuse(sketch, node, (struct psc_refused){PSC_NOT_IDLE, 0, bytes, w->idle.lists[list].made++});
    psc_budget_charge(&w->budget, backend, bytes);
    return hold(w, node) && psc_sketch_log(sketch, (struct psc_walk){at, PSC_WALK_NEW, node, place->buffer, bytes, 0});
}

static bool use_slot_or_allocate(struct work *w, psc_node node, int32_t at, enum psc_role role)
{
    struct psc_sketch *sketch = &w->sketch;
    struct psc_place *place = &sketch->places[node];
    uint32_t room = bank(w->nodes[node].backend), list = psc_slots_list(&w->idle, room, w->nodes[node].bytes);
    if (list == PSC_NONE)
        return false;
    uint32_t idle = w->idle.lists[list].n;
    place->buffer = w->packs ? PSC_NONE : psc_slots_take(&w->idle, room, list);
    if (place->buffer == PSC_NONE)
        return allocate(w, node, at, list, role);
    const struct slot *slot = &w->slots[place->buffer];
    bool pooled = slot->owner == PSC_NONE;
    sketch->buffers[place->buffer].role = role;
    place->reason = pooled ? PSC_WHY_POOLED : PSC_WHY_REUSED;
    place->a = pooled ? w->nodes[node].bytes : slot->owner;
    place->b = pooled ? idle : (uint64_t)slot->end + 1;
    place->c = pooled ? 0 : idle;
    struct psc_walk line = {at, PSC_WALK_REUSE, node, place->buffer, slot->owner, pooled ? 0 : place->b};
    return hold(w, node) && psc_sketch_log(sketch, line);
}

/* ---- in place --------------------------------------------------------------------------------------------- */

static psc_node later_reader(const struct work *w, psc_node root, int32_t at)
{
    const struct psc_graph *g = w->graph;
    for (uint32_t k = g->reader_at[root]; k < g->reader_at[root + 1]; k++)
        if ((int32_t)g->readers[k] > at)
            return g->readers[k];
    return root;
}

/* Why the node may not overwrite operand k, PSC_NOT_N when it may. */
static enum psc_refusal forbids(const struct work *w, psc_node node, uint32_t k, int32_t at, uint64_t *a, uint64_t *b)
{
    const struct psc_digest_node *info = &w->nodes[node];
    const psc_node *src = psc_node_srcs(w->graph, node);
    const struct psc_digest_node *from = &w->nodes[src[k]];
    const struct psc_place *place = &w->sketch.places[src[k]];
    psc_node root = from->root;
    *a = root;
    *b = 0;
    if (place->buffer == PSC_NONE || !(psc_op_info((enum psc_op)info->op)->may_overwrite >> k & 1))
        return PSC_NOT_IN_PLACE_OP;
    if (place->buffer < w->sketch.region_n)
        return *a = (uint64_t)w->graph->nodes[root].layer, PSC_NOT_REGION;
    const struct psc_buffer *buffer = &w->sketch.buffers[place->buffer];
    if (buffer->backend != info->backend)
        return *a = buffer->backend, *b = info->backend, PSC_NOT_OTHER_BACKEND;
    if (w->nodes[root].flags & PSC_DIGEST_FILLED)
        return PSC_NOT_INPUT;
    if (from->bytes != info->bytes || buffer->bytes != info->bytes || place->offset)
        return *a = from->bytes == info->bytes ? buffer->bytes : from->bytes, *b = info->bytes, PSC_NOT_SAME_BYTES;
    if (w->slots[place->buffer].end >= w->n)
        return PSC_NOT_OUTPUT;
    int32_t end = w->slots[place->buffer].end;
    bool dies = w->dead_before ? end < at : end == at;
    if (!dies && !(end > at && faulty(w, PSC_CANDELA_B11)))
        return *b = end > at ? later_reader(w, root, at) : node, PSC_NOT_ROOT_READ_LATER;
    for (uint32_t j = 0; j < info->src_n; j++)
        if (j != k && (w->by_node ? src[j] == src[k] : w->sketch.places[src[j]].buffer == place->buffer))
            return *b = node, PSC_NOT_ROOT_READ_LATER;
    return PSC_NOT_N;
}

static bool overwrite(struct work *w, psc_node node, uint32_t k, int32_t at)
{
    psc_node operand = psc_node_srcs(w->graph, node)[k];
    struct psc_place *place = &w->sketch.places[node];
    struct slot *slot;
    place->buffer = w->sketch.places[operand].buffer;
    place->length = w->nodes[node].bytes;
    place->reason = PSC_WHY_IN_PLACE;
    place->a = k;
    place->b = operand;
    slot = &w->slots[place->buffer];
    slot->owner = node;
    slot->end = end_of(w, node); /* it is noted at `at`, and will be noted again there */
    return psc_sketch_log(&w->sketch, (struct psc_walk){at, PSC_WALK_ALIAS, node, place->buffer, operand, 0});
}

/* *ret_done: an operand could be overwritten. The first refusal is kept. */
static bool try_in_place(struct work *w, psc_node node, int32_t at, bool *ret_done)
{
    const struct psc_digest_node *info = &w->nodes[node];
    struct psc_refused first = {.why = PSC_NOT_N};
    uint64_t a, b;
    *ret_done = false;
    for (uint32_t k = 0; k < info->src_n && k < 32; k++) {
        enum psc_refusal why = forbids(w, node, k, at, &a, &b);
        if (why == PSC_NOT_N) {
            *ret_done = true;
            return overwrite(w, node, k, at);
        }
        if (first.why == PSC_NOT_N || (first.why == PSC_NOT_IN_PLACE_OP && why != PSC_NOT_IN_PLACE_OP))
            first = (struct psc_refused){why, (uint8_t)k, a, b};
    }
    if (first.why == PSC_NOT_N)
        return true;
    psc_sketch_refuse(&w->sketch, node, first);
    return psc_sketch_log(&w->sketch, (struct psc_walk){at, PSC_WALK_REFUSED, node, PSC_NONE, w->sketch.refused_n - 1, 0});
}

/* ---- the walk ----------------------------------------------------------------------------------------------- */

static bool place_input(struct work *w, psc_node node)
{
    struct psc_place *place = psc_sketch_open(&w->sketch, node);
    if (!w->nodes[node].bytes) {
        place->reason = PSC_WHY_EMPTY;
        return true;
    }
    if (!use_slot_or_allocate(w, node, -1, PSC_ROLE_INPUT))
        return false;
    place->reason = PSC_WHY_INPUT;
    place->a = w->nodes[node].bytes;
    place->b = place->c = 0;
    return psc_sketch_log(&w->sketch, (struct psc_walk){-1, PSC_WALK_INPUT, node, place->buffer, 0, 0});
}

static bool place_node(struct work *w, psc_node node, int32_t at)
{
    const struct psc_digest_node *info = &w->nodes[node];
    struct psc_sketch *sketch = &w->sketch;
    bool done;
    if (info->flags & PSC_DIGEST_FILLED)
        return true;
    struct psc_place *place = psc_sketch_open(sketch, node);
    if (info->parent != PSC_NONE) {
        psc_sketch_place_view(sketch, node);
        return place->buffer == PSC_NONE ||
               psc_sketch_log(sketch, (struct psc_walk){at, PSC_WALK_VIEW, node, place->buffer, place->a, place->b});
    }
    if (info->flags & PSC_DIGEST_KV) {
        psc_sketch_place_region(sketch, node);
        return psc_sketch_log(sketch, (struct psc_walk){at, PSC_WALK_REGION, node, place->buffer, place->a, 0});
    }
    if (sketch->lives.last[node] <= at) {
        place->reason = PSC_WHY_DEAD;
        return psc_sketch_log(sketch, (struct psc_walk){at, PSC_WALK_DEAD, node, PSC_NONE, 0, 0});
    }
    if (!info->bytes) {
        place->reason = PSC_WHY_EMPTY;
        return true;
    }
    return try_in_place(w, node, at, &done) && (done || use_slot_or_allocate(w, node, at, PSC_ROLE_POOL));
}

static bool walk(struct work *w)
{
    for (uint32_t k = 0; k < w->sketch.digest.filled_n; k++)
        if (!place_input(w, w->sketch.digest.filled[k]))
            return false;
    bool early = faulty(w, PSC_CANDELA_B12), next = faulty(w, PSC_CANDELA_B18), late = faulty(w, PSC_CANDELA_B19);
    for (int32_t at = 0; at < w->n; at++) {
        if ((early && !give_back(w, at, at)) || !place_node(w, (psc_node)at, at))
            return false;
        if ((!early && !late && !give_back(w, at, at)) || (early && !give_back(w, at, at)) ||
            (late && at && !give_back(w, at - 1, at)) || (next && at + 1 < w->n && !give_back(w, at + 1, at)))
            return false;
    }
    return true;
}

/* Idle buffers that the pool has already are slots whose end is past, in the order of their ids. */
static bool list_pool(struct work *w)
{
    const struct psc_pool_state *state = w->sketch.options.pool;
    for (uint32_t i = 0; state && i < state->n; i++) {
        const struct psc_pool_item *item = &state->items[i];
        uint8_t backend = psc_pool_backend_of(w->graph, item->backend);
        if (item->role != PSC_ROLE_POOL || (backend == PSC_BACKEND_NONE && *item->backend))
            continue;
        uint32_t buffer = psc_sketch_add_pooled(&w->sketch, i, PSC_ROLE_POOL);
        uint32_t list = psc_slots_list(&w->idle, bank(backend), item->bytes);
        if (buffer == PSC_NONE || list == PSC_NONE ||
            !psc_grow(&w->slots, w->sketch.buffer_n, &w->slot_cap, sizeof *w->slots))
            return false;
        w->slots[buffer] = (struct slot){.list = list, .end = -1, .owner = PSC_NONE};
        w->idle.lists[list].made++;
        if (!psc_slots_give(&w->idle, bank(backend), list, buffer))
            return false;
    }
    return true;
}

static bool set_up(struct work *w)
{
    uint32_t n = w->graph->n;
    w->nodes = w->sketch.digest.nodes;
    w->n = (int32_t)n;
    w->due = psc_arena_alloc(&w->sketch.scratch, n, sizeof *w->due);
    if (!w->due || !psc_slots_init(&w->idle, PSC_SLOTS_LOWEST, 0, w->graph->backend_n + 1) ||
        !psc_grow(&w->slots, w->sketch.region_n, &w->slot_cap, sizeof *w->slots) || !list_pool(w))
        return false;
    psc_budget_begin(&w->budget, w->graph, w->sketch.options.pool);
    memset(w->due, 0xff, n * sizeof *w->due);
    return true;
}

static enum psc_status pack(struct work *w, struct psc_error *reterr)
{
    size_t n = w->sketch.buffer_n;
    int32_t *start = psc_arena_alloc(&w->sketch.scratch, n, sizeof *start);
    int32_t *end = psc_arena_alloc(&w->sketch.scratch, n, sizeof *end);
    if (!start || !end)
        return psc_fail_nomem(reterr);
    for (size_t b = w->sketch.region_n; b < n; b++) {
        bool kept = w->slots[b].end >= w->n || w->sketch.buffers[b].role != PSC_ROLE_POOL;
        start[b] = w->slots[b].start;
        end[b] = kept ? -1 : w->slots[b].end;
    }
    return psc_candela_pack_arenas(&w->sketch, start, end, w->sketch.options.candela_faults, reterr);
}

enum psc_status psc_plan_candela(struct psc_arena *arena, const struct psc_graph *graph,
                                 const struct psc_plan_options *options, struct psc_plan **ret, struct psc_error *reterr)
{
    struct work w = {.graph = graph};
    struct psc_plan_options own = *options;
    own.mode = PSC_MODE_HARDENED;
    own.size = PSC_SIZE_EXACT;
    own.slots = PSC_SLOTS_LOWEST;
    own.order = PSC_ORDER_BUILD;
    own.faults = 0; /* they are the pool planner's */
    own.candela_faults &= PSC_CANDELA_GRAPH_FAULTS;
    w.dead_before = own.generation == PSC_GEN_01 || own.candela_faults & PSC_CANDELA_BIT(PSC_CANDELA_B6);
    w.by_node = own.generation == PSC_GEN_02 || own.candela_faults & PSC_CANDELA_BIT(PSC_CANDELA_B7);
    w.packs = own.generation == PSC_GEN_ARENA;
    enum psc_status status = psc_sketch_begin(&w.sketch, arena, graph, &own, reterr);
    if (!status && !set_up(&w))
        status = psc_fail_nomem(reterr);
    if (!status && !walk(&w))
        status = psc_budget_fail(&w.budget, reterr);
    if (!status && w.packs)
        status = pack(&w, reterr);
    if (!status)
        status = psc_sketch_copies(&w.sketch, reterr);
    if (!status)
        status = psc_sketch_finish(&w.sketch, "candela", ret, reterr);
    psc_slots_release(&w.idle);
    psc_free(w.slots);
    psc_sketch_release(&w.sketch);
    return status;
}
