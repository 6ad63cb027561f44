/* The planners of arenas: every backend gets one arena, as large as its strategy needs it.
 *
 *     boxes of the graph (core/plan/offsets/boxing.h), who writes over whom decided
 *     offsets by the strategy (core/plan/offsets/offsets.h)
 *     inputs have buffers of their own, of exactly their bytes; KV regions and staging as in all plans
 *     each node's place: its box's offset in the arena
 *
 * Of a pool that holds buffers already an arena takes the smallest idle one that is large enough, an input one of its size.
 * Lives are counted in build order, which is what executes; the plan's options say so, whatever was asked.
 */
#include "core/plan/planners/planners.h"

#include "core/base/mem.h"
#include "core/plan/capacity.h"
#include "core/plan/offsets/boxing.h"
#include "core/plan/planners/budget.h"
#include "core/plan/sketch.h"

#include <string.h>

enum { WORD = 4 };

struct arenas {
    struct psc_sketch sketch;
    const struct psc_graph *graph;
    const struct psc_packer *packer;
    struct psc_boxing boxing;
    struct psc_offsets packed;
    uint32_t *buffer_of; /* [space]: the arena, PSC_NONE when the space has no boxes */
    psc_node *tail;      /* [box]: the last node placed in it */
    bool *taken;         /* items of options.pool */
    uint32_t refusal_k;
    struct psc_plan_budget budget;
    struct psc_certificate *certificates;
    uint32_t certificate_n;
};

static uint32_t space_of(const struct arenas *a, uint8_t backend)
{
    return backend == PSC_BACKEND_NONE ? a->graph->backend_n : backend;
}

static const char *backend_name(const struct arenas *a, uint32_t space)
{
    return space == a->graph->backend_n ? NULL : a->graph->backends[space];
}

/* ---- offsets ------------------------------------------------------------------------------------------------- */

static enum psc_status refuse_capacity(const struct arenas *a, uint32_t space, struct psc_error *reterr)
{
    const struct psc_offsets_space *s = &a->packed.spaces[space];
    const char *backend = backend_name(a, space), *name = backend ? backend : "nodes without a backend";
    uint64_t capacity = psc_capacity_of(&a->sketch.options, backend);
    if (s->bound > capacity)
        return psc_fail(reterr, PSC_ERR_TOO_BIG, "the arena of %s needs at least %llu bytes, which are alive at position %u: "
                        "more than the capacity of %llu bytes, whatever the planner", name, (unsigned long long)s->bound,
                        s->bound_at, (unsigned long long)capacity);
    return psc_fail(reterr, PSC_ERR_TOO_BIG, "the arena of %s needs %llu bytes with %s, more than the capacity of %llu bytes; "
                    "%s less than %llu bytes", name, (unsigned long long)s->height, s->by, (unsigned long long)capacity,
                    s->proof == PSC_PROOF_SEARCH ? "it is proved that no plan needs" : "no plan needs",
                    (unsigned long long)(s->proof == PSC_PROOF_SEARCH ? s->height : s->bound));
}

static enum psc_status pack(struct arenas *a, struct psc_error *reterr)
{
    const struct psc_plan_options *options = &a->sketch.options;
    struct psc_arena *scratch = &a->sketch.scratch;
    uint32_t space_n = a->graph->backend_n + 1, n = a->boxing.box_n;
    uint64_t *capacity = psc_arena_alloc(scratch, space_n, sizeof *capacity);
    uint8_t *space = psc_arena_alloc(scratch, n, sizeof *space);
    enum psc_status status;
    if (!capacity || !space)
        return psc_fail_nomem(reterr);
    for (uint32_t s = 0; s < space_n; s++)
        capacity[s] = psc_capacity_of(options, backend_name(a, s));
    for (uint32_t k = 0; k < n; k++)
        space[k] = (uint8_t)space_of(a, a->boxing.backend[k]);
    status = psc_offsets_pack(scratch, &(struct psc_offsets_problem){
        .boxes = a->boxing.boxes, .box_n = n, .step_n = a->graph->n + 1, .align = options->align, .space = space,
        .space_n = space_n, .capacity = capacity}, a->packer, &options->budget, &a->packed, reterr);
    for (uint32_t s = 0; !status && s < space_n; s++)
        if (!a->packed.spaces[s].fits)
            status = refuse_capacity(a, s, reterr);
    return status;
}

/* ---- buffers --------------------------------------------------------------------------------------------------- */

/* The smallest idle item of the pool that has as many bytes (or exactly them), PSC_NONE. */
static uint32_t find_idle(const struct arenas *a, uint8_t backend, uint64_t bytes, bool exactly)
{
    const struct psc_pool_state *pool = a->sketch.options.pool;
    uint32_t best = PSC_NONE;
    for (uint32_t i = 0; pool && i < pool->n; i++) {
        const struct psc_pool_item *item = &pool->items[i];
        uint8_t on = psc_pool_backend_of(a->graph, item->backend);
        if (item->role != PSC_ROLE_POOL || on != backend || (on == PSC_BACKEND_NONE && *item->backend) || a->taken[i])
            continue;
        if (exactly ? item->bytes != bytes : item->bytes < bytes)
            continue;
        if (best == PSC_NONE || item->bytes < pool->items[best].bytes)
            best = i;
    }
    return best;
}

static uint32_t take(struct arenas *a, psc_node node, uint8_t backend, uint64_t bytes, enum psc_role role)
{
    uint32_t item = find_idle(a, backend, bytes, role == PSC_ROLE_INPUT);
    if (item != PSC_NONE) {
        uint32_t buffer = psc_sketch_add_pooled(&a->sketch, item, role);
        a->taken[item] = true;
        if (buffer != PSC_NONE)
            a->sketch.buffers[buffer].role = role;
        return buffer;
    }
    if (!psc_budget_allows(&a->budget, node, backend, bytes))
        return PSC_NONE;
    psc_budget_charge(&a->budget, backend, bytes);
    return psc_sketch_add_buffer(&a->sketch, bytes, backend, role);
}

static char *arena_name(struct arenas *a, uint8_t backend)
{
    struct psc_text text = {0};
    psc_text_add(&text, "arena");
    if (backend != PSC_BACKEND_NONE)
        psc_text_addf(&text, ".%s", a->graph->backends[backend]);
    return psc_text_keep(&text, a->sketch.arena);
}

static bool make_arenas(struct arenas *a)
{
    uint32_t space_n = a->packed.space_n;
    a->buffer_of = psc_arena_alloc(&a->sketch.scratch, space_n, sizeof *a->buffer_of);
    a->certificates = psc_arena_alloc(a->sketch.arena, space_n, sizeof *a->certificates);
    if (!a->buffer_of || !a->certificates)
        return false;
    memset(a->buffer_of, 0xff, space_n * sizeof *a->buffer_of);
    for (uint32_t k = 0; k < a->boxing.box_n; k++) {
        uint8_t backend = a->boxing.backend[k];
        uint32_t s = space_of(a, backend), buffer;
        if (a->buffer_of[s] != PSC_NONE)
            continue;
        buffer = a->buffer_of[s] = take(a, a->boxing.boxes[k].begin, backend, a->packed.spaces[s].height, PSC_ROLE_ARENA);
        if (buffer == PSC_NONE || !(a->sketch.buffers[buffer].name = arena_name(a, backend)))
            return false;
        a->certificates[a->certificate_n++] = (struct psc_certificate){buffer, backend, a->packed.spaces[s]};
    }
    return true;
}

static bool make_inputs(struct arenas *a)
{
    struct psc_sketch *sketch = &a->sketch;
    for (uint32_t k = 0; k < sketch->digest.filled_n; k++) {
        psc_node i = sketch->digest.filled[k];
        struct psc_place *place = psc_sketch_open(sketch, i);
        uint64_t bytes = sketch->digest.nodes[i].bytes;
        place->reason = bytes ? PSC_WHY_INPUT : PSC_WHY_EMPTY;
        if (!bytes)
            continue;
        place->buffer = take(a, i, sketch->digest.nodes[i].backend, bytes, PSC_ROLE_INPUT);
        place->length = place->a = bytes;
        if (place->buffer == PSC_NONE ||
            !psc_sketch_log(sketch, (struct psc_walk){-1, PSC_WALK_INPUT, i, place->buffer, 0, 0}))
            return false;
    }
    return true;
}

/* ---- places ------------------------------------------------------------------------------------------------------ */

static bool take_refusals(struct arenas *a, psc_node i)
{
    const struct psc_boxing *boxing = &a->boxing;
    for (; a->refusal_k < boxing->refusal_n && boxing->refusals[a->refusal_k].node == i; a->refusal_k++) {
        psc_sketch_refuse(&a->sketch, i, boxing->refusals[a->refusal_k].refused);
        if (!psc_sketch_log(&a->sketch, (struct psc_walk){(int32_t)i, PSC_WALK_REFUSED, i, PSC_NONE,
                                                          a->sketch.refused_n - 1, 0}))
            return false;
    }
    return true;
}

static bool place_boxed(struct arenas *a, psc_node i, struct psc_place *place)
{
    const struct psc_boxing *boxing = &a->boxing;
    uint32_t box = boxing->box_of[i], s = space_of(a, boxing->backend[box]);
    uint8_t over = boxing->over[i];
    place->buffer = a->buffer_of[s];
    place->offset = a->packed.offset[box] + (boxing->within ? boxing->within[i] : 0);
    place->length = a->graph->nodes[i].bytes;
    a->tail[box] = i;
    if (over == UINT8_MAX) {
        place->reason = PSC_WHY_PACKED;
        place->a = a->packed.turn[box] + UINT64_C(1);
        place->b = a->packed.spaces[s].height;
        return psc_sketch_log(&a->sketch, (struct psc_walk){(int32_t)i, PSC_WALK_PACK, i, place->buffer, place->offset,
                                                            place->length});
    }
    place->reason = PSC_WHY_IN_PLACE;
    place->a = over;
    place->b = psc_node_srcs(a->graph, i)[over];
    return psc_sketch_log(&a->sketch, (struct psc_walk){(int32_t)i, PSC_WALK_ALIAS, i, place->buffer, place->b, 0});
}

static bool place_node(struct arenas *a, psc_node i)
{
    struct psc_sketch *sketch = &a->sketch;
    const struct psc_digest_node *node = &sketch->digest.nodes[i];
    struct psc_place *place;
    struct psc_walk line = {.position = (int32_t)i, .node = i};
    if (node->flags & PSC_DIGEST_FILLED)
        return true;
    place = psc_sketch_open(sketch, i);
    if (!take_refusals(a, i))
        return false;
    if (node->parent == PSC_NONE && !(node->flags & PSC_DIGEST_KV) && a->boxing.box_of[i] != PSC_NONE)
        return place_boxed(a, i, place);
    if (node->parent != PSC_NONE) {
        psc_sketch_place_view(sketch, i);
        line.kind = PSC_WALK_VIEW;
    } else if (node->flags & PSC_DIGEST_KV) {
        psc_sketch_place_region(sketch, i);
        line.kind = PSC_WALK_REGION;
    } else {
        bool dead = !node->reader_n && !(node->flags & PSC_DIGEST_OUTPUT);
        place->reason = dead ? PSC_WHY_DEAD : PSC_WHY_EMPTY;
        line.kind = PSC_WALK_DEAD;
        line.buffer = PSC_NONE;
        return !dead || psc_sketch_log(sketch, line);
    }
    line.buffer = place->buffer;
    line.a = place->a;
    line.b = place->b;
    return place->buffer == PSC_NONE || psc_sketch_log(sketch, line);
}

static void release_boxes(struct arenas *a)
{
    const struct psc_boxing *boxing = &a->boxing;
    for (uint32_t e = 0; e < boxing->box_n; e++) {
        uint32_t box = boxing->by_end[e];
        uint64_t at = a->packed.offset[box];
        if (boxing->boxes[box].end <= a->graph->n)
            psc_sketch_add_release(&a->sketch, (struct psc_release){
                a->buffer_of[space_of(a, boxing->backend[box])], a->tail[box], (int32_t)boxing->boxes[box].end - 1, at,
                at + boxing->boxes[box].bytes});
    }
}

/* Exact bytes of inputs and boxes alive at once. */
static uint64_t most_alive(const struct arenas *a)
{
    const struct psc_boxing *boxing = &a->boxing;
    uint64_t live = 0, most;
    uint32_t e = 0;
    for (uint32_t k = 0; k < a->sketch.digest.filled_n; k++)
        live += a->sketch.digest.nodes[a->sketch.digest.filled[k]].bytes;
    most = live;
    for (uint32_t k = 0; k < boxing->box_n; k++) {
        for (; boxing->boxes[boxing->by_end[e]].end <= boxing->boxes[k].begin; e++)
            live -= boxing->boxes[boxing->by_end[e]].bytes;
        live += boxing->boxes[k].bytes;
        most = live > most ? live : most;
    }
    return most;
}

/* ---- the plan ------------------------------------------------------------------------------------------------------ */

static enum psc_status set_up(struct arenas *a, struct psc_error *reterr)
{
    struct psc_sketch *sketch = &a->sketch;
    const struct psc_plan_options *options = &sketch->options;
    unsigned flags = PSC_BOXING_EXPLAIN | (options->apart ? PSC_BOXING_APART : 0);
    enum psc_status status = psc_boxing_build(&sketch->scratch, a->graph, &sketch->digest, flags, &a->boxing, reterr);
    if (!status)
        status = pack(a, reterr);
    if (status)
        return status;
    psc_budget_begin(&a->budget, a->graph, options->pool);
    a->tail = psc_arena_alloc(&sketch->scratch, a->boxing.box_n, sizeof *a->tail);
    a->taken = psc_arena_alloc0(&sketch->scratch, options->pool ? options->pool->n : 0, sizeof *a->taken);
    if (!a->tail || !a->taken)
        return psc_fail_nomem(reterr);
    return make_inputs(a) && make_arenas(a) ? PSC_OK : psc_budget_fail(&a->budget, reterr);
}

static enum psc_status finish(struct arenas *a, struct psc_plan **ret, struct psc_error *reterr)
{
    struct psc_plan *plan;
    enum psc_status status = psc_sketch_copies(&a->sketch, reterr);
    release_boxes(a);
    a->sketch.peak_live_bytes = most_alive(a);
    if (!status)
        status = psc_sketch_finish(&a->sketch, a->packer->name, &plan, reterr);
    if (status)
        return status;
    /* finish lists the buffers in another order; an arena is known by its backend */
    for (uint32_t k = 0; k < a->certificate_n; k++)
        for (uint32_t b = 0; b < plan->buffer_n; b++)
            if (plan->buffers[b].role == PSC_ROLE_ARENA && plan->buffers[b].backend == a->certificates[k].backend)
                a->certificates[k].buffer = b;
    plan->certificates = a->certificates;
    plan->certificate_n = a->certificate_n;
    *ret = plan;
    return PSC_OK;
}

static enum psc_status plan_arenas(const char *name, struct psc_arena *arena, const struct psc_graph *graph,
                                   const struct psc_plan_options *options, struct psc_plan **ret,
                                   struct psc_error *reterr)
{
    struct arenas a = {.graph = graph, .packer = psc_packer_find(name)};
    struct psc_plan_options own = *options;
    enum psc_status status;
    own.mode = PSC_MODE_HARDENED;
    own.size = PSC_SIZE_EXACT;
    own.slots = PSC_SLOTS_LOWEST;
    own.seed = 0;
    own.order = PSC_ORDER_BUILD;
    own.faults = 0;
    own.align = options->align ? options->align : WORD;
    status = psc_sketch_begin(&a.sketch, arena, graph, &own, reterr);
    if (!status)
        status = set_up(&a, reterr);
    for (psc_node i = 0; !status && i < graph->n; i++)
        if (!place_node(&a, i))
            status = psc_fail_nomem(reterr);
    if (!status)
        status = finish(&a, ret, reterr);
    psc_sketch_release(&a.sketch);
    return status;
}

enum psc_status psc_plan_best_fit(struct psc_arena *arena, const struct psc_graph *graph,
                                  const struct psc_plan_options *options, struct psc_plan **ret,
                                  struct psc_error *reterr)
{
    return plan_arenas("best-fit", arena, graph, options, ret, reterr);
}

enum psc_status psc_plan_linear_scan(struct psc_arena *arena, const struct psc_graph *graph,
                                     const struct psc_plan_options *options, struct psc_plan **ret,
                                     struct psc_error *reterr)
{
    return plan_arenas("linear-scan", arena, graph, options, ret, reterr);
}

enum psc_status psc_plan_greedy_size(struct psc_arena *arena, const struct psc_graph *graph,
                                     const struct psc_plan_options *options, struct psc_plan **ret,
                                     struct psc_error *reterr)
{
    return plan_arenas("greedy-size", arena, graph, options, ret, reterr);
}

enum psc_status psc_plan_greedy_breadth(struct psc_arena *arena, const struct psc_graph *graph,
                                        const struct psc_plan_options *options, struct psc_plan **ret,
                                        struct psc_error *reterr)
{
    return plan_arenas("greedy-breadth", arena, graph, options, ret, reterr);
}

enum psc_status psc_plan_optimal(struct psc_arena *arena, const struct psc_graph *graph,
                                 const struct psc_plan_options *options, struct psc_plan **ret,
                                 struct psc_error *reterr)
{
    return plan_arenas("optimal", arena, graph, options, ret, reterr);
}
