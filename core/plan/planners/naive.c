/* The naive planner: nothing is shared, so nothing can be overwritten. Its pool is what reuse is measured
 * against. Of a pool that holds idle buffers already each is taken once, lowest id first. */
#include "core/plan/planners/planners.h"

#include "core/base/mem.h"
#include "core/plan/planners/budget.h"
#include "core/plan/sizes.h"
#include "core/plan/sketch.h"
#include "core/plan/slots.h"

struct naive {
    struct psc_sketch sketch;
    struct psc_slots_table idle; /* items of the pool */
    struct psc_plan_budget budget;
};

static uint32_t slot_backend(uint8_t backend)
{
    return backend == PSC_BACKEND_NONE ? 0 : backend;
}

static bool list_idle(struct naive *naive, const struct psc_graph *graph, const struct psc_pool_state *state)
{
    if (!psc_slots_init(&naive->idle, PSC_SLOTS_LOWEST, 0, graph->backend_n + 1))
        return false;
    for (uint32_t i = 0; state && i < state->n; i++) {
        const struct psc_pool_item *item = &state->items[i];
        uint8_t backend = psc_pool_backend_of(graph, item->backend);
        uint32_t list;
        if (item->role != PSC_ROLE_POOL || (backend == PSC_BACKEND_NONE && *item->backend))
            continue;
        list = psc_slots_list(&naive->idle, slot_backend(backend), item->bytes);
        if (list == PSC_NONE || !psc_slots_give(&naive->idle, slot_backend(backend), list, i))
            return false;
    }
    return true;
}

static uint32_t take(struct naive *naive, psc_node i, uint64_t bytes, enum psc_role role)
{
    struct psc_sketch *sketch = &naive->sketch;
    uint8_t backend = sketch->digest.nodes[i].backend;
    uint32_t list, item;
    if (!sketch->options.pool)
        return psc_sketch_add_buffer(sketch, bytes, backend, role);
    list = psc_slots_list(&naive->idle, slot_backend(backend), bytes);
    if (list == PSC_NONE)
        return PSC_NONE;
    item = psc_slots_take(&naive->idle, slot_backend(backend), list);
    if (item != PSC_NONE)
        return psc_sketch_add_pooled(sketch, item, role);
    if (!psc_budget_allows(&naive->budget, i, backend, bytes))
        return PSC_NONE;
    psc_budget_charge(&naive->budget, backend, bytes);
    return psc_sketch_add_buffer(sketch, bytes, backend, role);
}

static bool place(struct naive *naive, psc_node i)
{
    struct psc_sketch *sketch = &naive->sketch;
    const struct psc_node_info *node = &sketch->graph->nodes[i];
    struct psc_place *place = psc_sketch_open(sketch, i);
    uint64_t bytes;
    if (psc_op_info(node->op)->is_kv) {
        psc_sketch_place_region(sketch, i);
        return true;
    }
    if (node->parent != PSC_NONE) {
        psc_sketch_place_view(sketch, i);
        return true;
    }
    if (!node->reader_n && !node->is_output) {
        place->reason = PSC_WHY_DEAD;
        return true;
    }
    if (!node->bytes) {
        place->reason = PSC_WHY_EMPTY;
        return true;
    }
    bytes = psc_size_bytes(sketch->options.size, node->bytes);
    place->buffer = take(naive, i, bytes, psc_node_is_filled(node) ? PSC_ROLE_INPUT : PSC_ROLE_POOL);
    place->length = node->bytes;
    place->reason = PSC_WHY_NAIVE;
    place->a = bytes;
    return place->buffer != PSC_NONE;
}

enum psc_status psc_plan_naive(struct psc_arena *arena, const struct psc_graph *graph,
                               const struct psc_plan_options *options, struct psc_plan **ret,
                               struct psc_error *reterr)
{
    struct naive naive = {0};
    enum psc_status status = psc_sketch_begin(&naive.sketch, arena, graph, options, reterr);
    if (!status && !list_idle(&naive, graph, options->pool))
        status = psc_fail_nomem(reterr);
    psc_budget_begin(&naive.budget, graph, options->pool);
    for (psc_node i = 0; !status && i < graph->n; i++)
        if (!place(&naive, i))
            status = psc_budget_fail(&naive.budget, reterr);
    if (!status)
        status = psc_sketch_copies(&naive.sketch, reterr);
    if (!status)
        status = psc_sketch_finish(&naive.sketch, "naive", ret, reterr);
    psc_slots_release(&naive.idle);
    psc_sketch_release(&naive.sketch);
    return status;
}
