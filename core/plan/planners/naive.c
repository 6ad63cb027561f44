/* The naive planner: nothing is shared, so nothing can be overwritten. Its pool is what reuse is measured
 * against. */
#include "core/plan/planners/planners.h"

#include "core/plan/sizes.h"
#include "core/plan/sketch.h"

static bool place(struct psc_sketch *sketch, psc_node i)
{
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
    place->buffer = psc_sketch_add_buffer(sketch, bytes, sketch->digest.nodes[i].backend,
                                          psc_node_is_filled(node) ? PSC_ROLE_INPUT : PSC_ROLE_POOL);
    place->length = node->bytes;
    place->reason = PSC_WHY_NAIVE;
    place->a = bytes;
    return place->buffer != PSC_NONE;
}

enum psc_status psc_plan_naive(struct psc_arena *arena, const struct psc_graph *graph,
                               const struct psc_plan_options *options, struct psc_plan **ret,
                               struct psc_error *reterr)
{
    struct psc_sketch sketch;
    enum psc_status status = psc_sketch_begin(&sketch, arena, graph, options, reterr);
    for (psc_node i = 0; !status && i < graph->n; i++)
        if (!place(&sketch, i))
            status = psc_fail_nomem(reterr);
    if (!status)
        status = psc_sketch_copies(&sketch, reterr);
    if (!status)
        status = psc_sketch_finish(&sketch, "naive", ret, reterr);
    psc_sketch_release(&sketch);
    return status;
}
