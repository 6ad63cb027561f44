/* The pool planner: minfer's allocator.
 *
 *     place all inputs
 *     for each position:
 *         sweep: buffers whose deadline has passed become idle
 *         view         the parent's window; the parent's buffer must outlive the view's readers
 *         KV node      the layer's region
 *         in place     over operand 0, where the rules allow it; its buffer must outlive this node's readers
 *         unread       no buffer
 *         otherwise    an idle buffer of the same size, else a new one
 *
 * Idle buffers that the pool holds already (options.pool) are in the lists of idle buffers from the start, by id; a
 * budget is asked before a buffer is taken. In `hardened` mode the three holes of the in-place rule are closed (h1 to h3), and an operand in a region is
 * never overwritten. Cost: O((nodes + edges) log idle).
 */
#include "core/plan/planners/planners.h"

#include "core/base/mem.h"
#include "core/plan/planners/budget.h"
#include "core/plan/sizes.h"
#include "core/plan/sketch.h"
#include "core/plan/slots.h"

#include <string.h>

/* Views of one root that the hardened rule looks at one by one; roots with more are never overwritten through. */
enum { MEMBERS_MAX = 64 };

struct tenure { /* what the walk knows of one buffer */
    uint32_t list;     /* in the slots table */
    int32_t deadline;  /* last position that needs the bytes; n = pinned */
    int32_t released;  /* position of the sweep that made it idle, -1 before that */
    uint32_t taken;    /* counts takings: the order inside a sweep */
    psc_node tenant;   /* last node placed in it */
    uint32_t next_due; /* the next buffer that ends at the same position */
};

struct pool {
    struct psc_sketch sketch;
    const struct psc_graph *graph;
    const struct psc_digest_node *nodes;
    struct psc_slots_table slots;
    struct tenure *tenures; /* heap; [sketch.buffer_n], regions unused */
    size_t tenure_cap;
    uint32_t *due;          /* [n]: buffers whose deadline was this position when they were noted */
    int32_t *last;          /* [n]: lives as the walk lengthens them */
    uint32_t *released;     /* heap; of the present sweep */
    size_t released_cap;
    /* hardened only, when the graph has views: */
    psc_node *first_view, *next_view; /* [n]: the views of each root, ascending */
    psc_node *byte_reader;  /* [n]: the first reader that is no view, PSC_NONE when there is none */
    bool *shown;            /* [n]: a view of this root is a graph output */
    uint32_t taken_n;
    struct psc_plan_budget budget;
    uint64_t live, peak;
    int32_t n;
    bool h1, h2, h3, h5, peak_late, deadline_follows;
};

static bool fault(const struct pool *pool, enum psc_fault f)
{
    return pool->sketch.options.faults & PSC_FAULT_BIT(f);
}

/* ---- buffers -------------------------------------------------------------------------------------------- */

static void note_deadline(struct pool *pool, uint32_t buffer)
{
    struct tenure *tenure = &pool->tenures[buffer];
    if (tenure->deadline >= pool->n)
        return;
    tenure->next_due = pool->due[tenure->deadline];
    pool->due[tenure->deadline] = buffer;
}

static uint32_t slot_backend(uint8_t backend)
{
    return backend == PSC_BACKEND_NONE ? 0 : backend;
}

/* The place's buffer has been idle since before this graph. */
static bool take_pooled(struct pool *pool, psc_node node, int32_t at, uint32_t idle, enum psc_role role)
{
    struct psc_sketch *sketch = &pool->sketch;
    struct psc_place *place = &sketch->places[node];
    struct psc_buffer *buffer = &sketch->buffers[place->buffer];
    buffer->role = role;
    place->reason = PSC_WHY_POOLED;
    place->a = buffer->bytes;
    place->b = idle;
    return psc_sketch_log(sketch, (struct psc_walk){at, PSC_WALK_REUSE, node, place->buffer, PSC_NONE, 0});
}

/* A buffer of `bytes` for node: idle or new. Fills the place's buffer and reason. */
static bool take(struct pool *pool, psc_node node, int32_t at, uint64_t bytes, enum psc_role role)
{
    struct psc_sketch *sketch = &pool->sketch;
    struct psc_place *place = &sketch->places[node];
    uint32_t backend = slot_backend(pool->nodes[node].backend);
    uint32_t list = psc_slots_list(&pool->slots, backend, bytes), idle, made;
    struct tenure *tenure;
    if (list == PSC_NONE)
        return false;
    idle = pool->slots.lists[list].n;
    made = pool->slots.lists[list].made;
    if (pool->budget.any && (!idle || !pool->h5) &&
        !psc_budget_allows(&pool->budget, node, pool->nodes[node].backend, bytes))
        return false;
    place->buffer = psc_slots_take(&pool->slots, backend, list);
    if (place->buffer != PSC_NONE) {
        tenure = &pool->tenures[place->buffer];
        if (tenure->tenant == PSC_NONE)
            return take_pooled(pool, node, at, idle, role);
        place->reason = PSC_WHY_REUSED;
        place->a = tenure->tenant;
        place->b = (uint64_t)tenure->released;
        place->c = idle;
        return psc_sketch_log(sketch, (struct psc_walk){at, PSC_WALK_REUSE, node, place->buffer, place->a, place->b});
    }
    place->reason = PSC_WHY_NEW;
    place->a = bytes;
    place->b = pool->slots.idle[backend];
    place->buffer = psc_sketch_add_buffer(sketch, bytes, pool->nodes[node].backend, role);
    if (place->buffer == PSC_NONE || !psc_grow(&pool->tenures, sketch->buffer_n, &pool->tenure_cap, sizeof *tenure))
        return false;
    pool->tenures[place->buffer] = (struct tenure){.list = list, .released = -1};
    pool->slots.lists[list].made++;
    psc_budget_charge(&pool->budget, pool->nodes[node].backend, bytes);
    psc_sketch_refuse(sketch, node, (struct psc_refused){PSC_NOT_IDLE, 0, bytes, made});
    return psc_sketch_log(sketch, (struct psc_walk){at, PSC_WALK_NEW, node, place->buffer, bytes, 0});
}

/* An ordinary buffer for the node, in use until its last reader. */
static bool own(struct pool *pool, psc_node node, int32_t at, enum psc_role role)
{
    struct psc_sketch *sketch = &pool->sketch;
    struct psc_place *place = &sketch->places[node];
    uint64_t exact = pool->nodes[node].bytes;
    uint64_t bytes = psc_size_bytes(sketch->options.size, exact);
    struct tenure *tenure;
    if (!take(pool, node, at, bytes, role))
        return false;
    place->length = exact;
    tenure = &pool->tenures[place->buffer];
    tenure->tenant = node;
    tenure->taken = pool->taken_n++;
    tenure->deadline = pool->last[node];
    note_deadline(pool, place->buffer);
    pool->live += bytes;
    if (pool->live > pool->peak && !pool->peak_late)
        pool->peak = pool->live;
    return true;
}

static bool release(struct pool *pool, uint32_t buffer, int32_t at)
{
    struct psc_sketch *sketch = &pool->sketch;
    struct tenure *tenure = &pool->tenures[buffer];
    pool->live -= sketch->buffers[buffer].bytes;
    tenure->released = at;
    psc_sketch_add_release(sketch, (struct psc_release){buffer, tenure->tenant, at - 1, 0, sketch->buffers[buffer].bytes});
    return psc_slots_give(&pool->slots, slot_backend(sketch->buffers[buffer].backend), tenure->list, buffer) &&
           psc_sketch_log(sketch, (struct psc_walk){at, PSC_WALK_RELEASE, tenure->tenant, buffer,
                                                    (uint64_t)(at - 1), 0});
}

/* Orders buffers by when they were last taken. They come in the order in which their deadlines were noted, latest
 * first, which is the reverse of what is wanted unless a deadline moved. */
static void sort_by_taken(const struct tenure *tenures, uint32_t *items, uint32_t n)
{
    for (uint32_t i = 0; i < n / 2; i++) {
        uint32_t item = items[i];
        items[i] = items[n - 1 - i];
        items[n - 1 - i] = item;
    }
    for (uint32_t gap = n < 64 ? 1 : n / 3; gap; gap = gap > 1 && gap < 3 ? 1 : gap / 3) /* Shell's sort */
        for (uint32_t i = gap; i < n; i++) {
            uint32_t item = items[i], k = i;
            for (; k >= gap && tenures[items[k - gap]].taken > tenures[item].taken; k -= gap)
                items[k] = items[k - gap];
            items[k] = item;
        }
}

/* Makes idle what was last needed before position `at`. Deadlines that moved since they were noted are noted
 * again. */
static bool sweep(struct pool *pool, int32_t at)
{
    uint32_t n = 0, next;
    if (!at || (pool->due[at - 1] == PSC_NONE && !pool->peak_late))
        return true;
    for (uint32_t buffer = pool->due[at - 1]; buffer != PSC_NONE; buffer = next) {
        next = pool->tenures[buffer].next_due;
        if (pool->tenures[buffer].deadline >= at) {
            note_deadline(pool, buffer);
            continue;
        }
        if (n == pool->released_cap &&
            !psc_grow(&pool->released, (size_t)n + 1, &pool->released_cap, sizeof *pool->released))
            return false;
        pool->released[n++] = buffer;
    }
    sort_by_taken(pool->tenures, pool->released, n);
    if (n && !psc_sketch_log(&pool->sketch, (struct psc_walk){at, PSC_WALK_SWEEP, PSC_NONE, PSC_NONE, n, 0}))
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (!release(pool, pool->released[i], at))
            return false;
    if (pool->peak_late && pool->live > pool->peak)
        pool->peak = pool->live;
    return true;
}

/* The bytes of `from` are needed up to `to`: lengthens it and, when it is a view, what it shows, and moves the
 * deadlines of their buffers. */
static void extend(struct pool *pool, psc_node from, int32_t to)
{
    for (psc_node i = from; i != PSC_NONE && pool->last[i] < to; i = pool->nodes[i].parent) {
        uint32_t buffer = pool->sketch.places[i].buffer;
        pool->last[i] = to;
        if (!pool->deadline_follows || buffer == PSC_NONE || buffer < pool->sketch.region_n)
            continue;
        if (pool->tenures[buffer].deadline < to)
            pool->tenures[buffer].deadline = to;
    }
}

/* ---- in place ---------------------------------------------------------------------------------------------- */

static bool refuse(struct pool *pool, psc_node node, int32_t at, enum psc_refusal why, uint64_t a, uint64_t b)
{
    psc_sketch_refuse(&pool->sketch, node, (struct psc_refused){why, 0, a, b});
    return psc_sketch_log(&pool->sketch, (struct psc_walk){at, PSC_WALK_REFUSED, node, PSC_NONE,
                                                           pool->sketch.refused_n - 1, 0});
}

static psc_node other_reader(const struct psc_graph *graph, psc_node of, psc_node than)
{
    for (uint32_t k = graph->reader_at[of]; k < graph->reader_at[of + 1]; k++)
        if (graph->readers[k] != than)
            return graph->readers[k];
    return than;
}

static bool meets(const struct psc_node_info *a, const struct psc_node_info *b)
{
    return a->root_offset < b->root_offset + b->bytes && b->root_offset < a->root_offset + a->bytes;
}

/* A node that reads bytes of the operand's window through another name of the storage, or PSC_NONE. The operand
 * itself has one reader. */
static psc_node reads_window(const struct pool *pool, psc_node operand)
{
    const struct psc_node_info *window = &pool->graph->nodes[operand];
    psc_node root = window->root;
    uint32_t members = 0;
    if (root == operand)
        return PSC_NONE;
    if (pool->byte_reader[root] != PSC_NONE)
        return pool->byte_reader[root];
    for (psc_node v = pool->first_view[root]; v != PSC_NONE; v = pool->next_view[v]) {
        if (++members > MEMBERS_MAX)
            return v;
        if (v != operand && pool->byte_reader[v] != PSC_NONE && meets(&pool->graph->nodes[v], window))
            return pool->byte_reader[v];
    }
    return PSC_NONE;
}

static bool is_shown(const struct pool *pool, psc_node root)
{
    return pool->graph->nodes[root].is_output || (pool->shown && pool->shown[root]);
}

/* Why the node may not overwrite operand 0: the first rule that fails, or PSC_NOT_N. */
static enum psc_refusal forbids(const struct pool *pool, psc_node node, uint64_t *ret_a, uint64_t *ret_b)
{
    const struct psc_graph *graph = pool->graph;
    const struct psc_sketch *sketch = &pool->sketch;
    const struct psc_digest_node *info = &pool->nodes[node];
    psc_node operand = graph->srcs[info->src_at], found;
    const struct psc_digest_node *from = &pool->nodes[operand];
    const struct psc_place *place = &sketch->places[operand];
    uint8_t backend;
    *ret_a = operand;
    *ret_b = 0;
    if (!(info->flags & PSC_DIGEST_IN_PLACE) || place->buffer == PSC_NONE)
        return PSC_NOT_IN_PLACE_OP;
    if (info->op == PSC_OP_SWIGLU && from->parent == PSC_NONE)
        return PSC_NOT_A_VIEW;
    backend = sketch->buffers[place->buffer].backend;
    if (backend != info->backend)
        return *ret_a = backend, *ret_b = info->backend, PSC_NOT_OTHER_BACKEND;
    if (from->reader_n != 1)
        return *ret_a = from->reader_n, *ret_b = other_reader(graph, operand, node), PSC_NOT_SOLE_READER;
    if (from->bytes != info->bytes)
        return *ret_a = from->bytes, *ret_b = info->bytes, PSC_NOT_SAME_BYTES;
    *ret_a = from->root;
    if (pool->h1 && (found = reads_window(pool, operand)) != PSC_NONE)
        return *ret_b = found, PSC_NOT_ROOT_READ_LATER;
    if (pool->h2 && is_shown(pool, from->root))
        return PSC_NOT_OUTPUT;
    if (pool->h3 && pool->nodes[from->root].flags & PSC_DIGEST_FILLED)
        return PSC_NOT_INPUT;
    if (sketch->options.mode == PSC_MODE_HARDENED && place->buffer < sketch->region_n)
        return *ret_a = (uint64_t)graph->nodes[from->root].layer, PSC_NOT_REGION;
    return PSC_NOT_N;
}

static bool overwrite(struct pool *pool, psc_node node, int32_t at)
{
    psc_node operand = psc_node_srcs(pool->graph, node)[0];
    const struct psc_place *from = &pool->sketch.places[operand];
    struct psc_place *place = &pool->sketch.places[node];
    place->buffer = from->buffer;
    place->offset = from->offset;
    place->length = pool->nodes[node].bytes;
    place->reason = PSC_WHY_IN_PLACE;
    place->a = 0;
    place->b = operand;
    if (place->buffer >= pool->sketch.region_n)
        pool->tenures[place->buffer].tenant = node;
    extend(pool, operand, pool->last[node]);
    return psc_sketch_log(&pool->sketch, (struct psc_walk){at, PSC_WALK_ALIAS, node, place->buffer, operand, 0});
}

/* ---- the walk -------------------------------------------------------------------------------------------------- */

static bool place_input(struct pool *pool, psc_node node, int32_t at)
{
    struct psc_place *place = psc_sketch_open(&pool->sketch, node);
    if (!pool->nodes[node].bytes) {
        place->reason = PSC_WHY_EMPTY;
        return true;
    }
    if (!own(pool, node, at, PSC_ROLE_INPUT))
        return false;
    if (pool->sketch.inputs_before_walk) {
        place->reason = PSC_WHY_INPUT;
        place->a = pool->sketch.buffers[place->buffer].bytes;
        place->b = place->c = 0;
    }
    return psc_sketch_log(&pool->sketch, (struct psc_walk){at, PSC_WALK_INPUT, node, place->buffer, 0, 0});
}

static bool place_view(struct pool *pool, psc_node node, int32_t at)
{
    const struct psc_place *place = &pool->sketch.places[node];
    psc_sketch_place_view(&pool->sketch, node);
    extend(pool, pool->sketch.views_extend ? pool->nodes[node].parent : node, pool->last[node]);
    if (place->buffer == PSC_NONE)
        return true;
    return psc_sketch_log(&pool->sketch,
                          (struct psc_walk){at, PSC_WALK_VIEW, node, place->buffer, place->a, place->b});
}

static bool place_region(struct pool *pool, psc_node node, int32_t at)
{
    const struct psc_place *place = &pool->sketch.places[node];
    psc_sketch_place_region(&pool->sketch, node);
    return psc_sketch_log(&pool->sketch,
                          (struct psc_walk){at, PSC_WALK_REGION, node, place->buffer, place->a, 0});
}

static bool place_unread(struct pool *pool, psc_node node, int32_t at)
{
    pool->sketch.places[node].reason = PSC_WHY_DEAD;
    return psc_sketch_log(&pool->sketch, (struct psc_walk){at, PSC_WALK_DEAD, node, PSC_NONE, 0, 0});
}

static bool place_result(struct pool *pool, psc_node node, int32_t at)
{
    uint64_t a, b;
    if (pool->last[node] <= at)
        return place_unread(pool, node, at);
    if (!pool->nodes[node].bytes) {
        pool->sketch.places[node].reason = PSC_WHY_EMPTY;
        return true;
    }
    if (pool->nodes[node].src_n) {
        enum psc_refusal why = forbids(pool, node, &a, &b);
        if (why == PSC_NOT_N)
            return overwrite(pool, node, at);
        if (!refuse(pool, node, at, why, a, b))
            return false;
    }
    return own(pool, node, at, PSC_ROLE_POOL);
}

static bool place_node(struct pool *pool, psc_node node, int32_t at)
{
    const struct psc_digest_node *info = &pool->nodes[node];
    if (info->flags & PSC_DIGEST_FILLED && pool->sketch.inputs_before_walk)
        return true;
    psc_sketch_open(&pool->sketch, node);
    if (info->flags & PSC_DIGEST_FILLED)
        return pool->last[node] > at ? place_input(pool, node, at) : place_unread(pool, node, at);
    if (info->parent != PSC_NONE)
        return place_view(pool, node, at);
    if (info->flags & PSC_DIGEST_KV)
        return place_region(pool, node, at);
    return place_result(pool, node, at);
}

static bool place_inputs(struct pool *pool)
{
    for (uint32_t k = 0; k < pool->sketch.digest.filled_n; k++)
        if (!place_input(pool, pool->sketch.digest.filled[k], -1))
            return false;
    return true;
}

static bool walk(struct pool *pool)
{
    const psc_node *order = pool->sketch.order;
    if (pool->sketch.inputs_before_walk && !place_inputs(pool))
        return false;
    for (int32_t at = 0; at < pool->n; at++)
        if (!sweep(pool, at) || !place_node(pool, order ? order[at] : (psc_node)at, at))
            return false;
    return true;
}

/* Fault l7: a staging copy takes what is idle when the walk has ended. */
static bool pool_copies(struct pool *pool)
{
    struct psc_sketch *sketch = &pool->sketch;
    for (uint32_t k = 0; k < sketch->copy_n; k++) {
        struct psc_copy *copy = &sketch->copies[k];
        uint64_t bytes = psc_size_bytes(sketch->options.size, copy->bytes);
        uint32_t list = psc_slots_list(&pool->slots, slot_backend(copy->to), bytes);
        if (list == PSC_NONE)
            return false;
        copy->buffer = psc_slots_take(&pool->slots, slot_backend(copy->to), list);
    }
    return true;
}

/* ---- set-up ------------------------------------------------------------------------------------------------------ */

/* Lists each root's views, who reads bytes of each node, and the roots that an output view shows. */
static bool list_views(struct pool *pool)
{
    const struct psc_graph *graph = pool->graph;
    struct psc_arena *scratch = &pool->sketch.scratch;
    size_t n = graph->n;
    if (!pool->sketch.digest.has_views)
        return true;
    pool->first_view = psc_arena_alloc(scratch, n, sizeof *pool->first_view);
    pool->next_view = psc_arena_alloc(scratch, n, sizeof *pool->next_view);
    pool->byte_reader = psc_arena_alloc(scratch, n, sizeof *pool->byte_reader);
    pool->shown = psc_arena_alloc0(scratch, n, sizeof *pool->shown);
    if (!pool->first_view || !pool->next_view || !pool->byte_reader || !pool->shown)
        return false;
    memset(pool->first_view, 0xff, n * sizeof *pool->first_view);
    memset(pool->byte_reader, 0xff, n * sizeof *pool->byte_reader);
    for (psc_node i = graph->n; i-- > 0;) {
        const struct psc_node_info *info = &graph->nodes[i];
        if (info->parent == PSC_NONE) {
            for (uint32_t k = 0; k < info->src_n; k++)
                pool->byte_reader[psc_node_srcs(graph, i)[k]] = i;
            continue;
        }
        pool->next_view[i] = pool->first_view[info->root];
        pool->first_view[info->root] = i;
        pool->shown[info->root] |= info->is_output;
    }
    return true;
}

/* The idle buffers that the pool has: in the order of their ids, below all new ones. */
static bool list_pool(struct pool *pool)
{
    struct psc_sketch *sketch = &pool->sketch;
    const struct psc_pool_state *state = sketch->options.pool;
    for (uint32_t i = 0; state && i < state->n; i++) {
        const struct psc_pool_item *item = &state->items[i];
        uint8_t backend = psc_pool_backend_of(pool->graph, item->backend);
        uint32_t buffer, list;
        if (item->role != PSC_ROLE_POOL || (backend == PSC_BACKEND_NONE && *item->backend))
            continue;
        buffer = psc_sketch_add_pooled(sketch, i, PSC_ROLE_POOL);
        list = psc_slots_list(&pool->slots, slot_backend(backend), item->bytes);
        if (buffer == PSC_NONE || list == PSC_NONE ||
            !psc_grow(&pool->tenures, sketch->buffer_n, &pool->tenure_cap, sizeof *pool->tenures))
            return false;
        pool->tenures[buffer] = (struct tenure){.list = list, .released = -1, .tenant = PSC_NONE};
        pool->slots.lists[list].made++;
        if (!psc_slots_give(&pool->slots, slot_backend(backend), list, buffer))
            return false;
    }
    return true;
}

static enum psc_status set_up(struct pool *pool, struct psc_error *reterr)
{
    struct psc_sketch *sketch = &pool->sketch;
    const struct psc_plan_options *options = &sketch->options;
    bool hardened = options->mode == PSC_MODE_HARDENED;
    uint32_t n = pool->graph->n;
    pool->nodes = sketch->digest.nodes;
    pool->n = (int32_t)n;
    pool->h1 = hardened && !fault(pool, PSC_FAULT_H1);
    pool->h2 = hardened && !fault(pool, PSC_FAULT_H2);
    pool->h3 = hardened && !fault(pool, PSC_FAULT_H3);
    pool->h5 = hardened && !fault(pool, PSC_FAULT_H5);
    pool->peak_late = fault(pool, PSC_FAULT_H8);
    pool->deadline_follows = !fault(pool, PSC_FAULT_L4);
    pool->due = psc_arena_alloc(&sketch->scratch, n, sizeof *pool->due);
    pool->last = psc_arena_alloc(&sketch->scratch, n, sizeof *pool->last);
    if (!pool->due || !pool->last || (hardened && !list_views(pool)) ||
        !psc_slots_init(&pool->slots, options->slots, options->seed, pool->graph->backend_n + 1) ||
        !psc_grow(&pool->tenures, sketch->region_n, &pool->tenure_cap, sizeof *pool->tenures) || !list_pool(pool))
        return psc_fail_nomem(reterr);
    psc_budget_begin(&pool->budget, pool->graph, options->pool);
    memset(pool->due, 0xff, n * sizeof *pool->due);
    memcpy(pool->last, sketch->last_use, n * sizeof *pool->last);
    return PSC_OK;
}

enum psc_status psc_plan_pool(struct psc_arena *arena, const struct psc_graph *graph,
                              const struct psc_plan_options *options, struct psc_plan **ret,
                              struct psc_error *reterr)
{
    struct pool pool = {.graph = graph};
    enum psc_status status = psc_sketch_begin(&pool.sketch, arena, graph, options, reterr);
    if (!status)
        status = set_up(&pool, reterr);
    if (!status && !walk(&pool))
        status = psc_budget_fail(&pool.budget, reterr);
    if (!status)
        status = psc_sketch_copies(&pool.sketch, reterr);
    if (!status && fault(&pool, PSC_FAULT_L7) && !pool_copies(&pool))
        status = psc_fail_nomem(reterr);
    if (!status && !sweep(&pool, pool.n)) /* what the last node was the last to need */
        status = psc_fail_nomem(reterr);
    pool.sketch.peak_live_bytes = pool.peak;
    if (!status)
        status = psc_sketch_finish(&pool.sketch, "pool", ret, reterr);
    psc_slots_release(&pool.slots);
    psc_free(pool.tenures);
    psc_free(pool.released);
    psc_sketch_release(&pool.sketch);
    return status;
}
