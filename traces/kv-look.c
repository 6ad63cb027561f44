#include "traces/kv-look.h"

#include "core/base/mem.h"
#include "core/plan/regions.h"

#include <inttypes.h>
#include <string.h>

#define LAYERS_MAX (1u << 20)

void psc_kv_seen_release(struct psc_kv_seen *seen)
{
    psc_free(seen->layers);
    *seen = (struct psc_kv_seen){0};
}

static bool asks(const struct psc_node_info *node)
{
    const struct psc_op_info *op = psc_op_info(node->op);
    return (op->is_kv || op->stores_kv) && node->layer >= 0 && (uint32_t)node->layer < LAYERS_MAX;
}

/* Room for the layer, and its entry. */
static struct psc_kv_region *region_of(struct psc_kv_seen *seen, size_t layer)
{
    size_t had = seen->n;
    if (layer < had)
        return &seen->layers[layer];
    if (!psc_grow(&seen->layers, layer + 1, &seen->cap, sizeof *seen->layers))
        return NULL;
    memset(seen->layers + had, 0, (layer + 1 - had) * sizeof *seen->layers);
    seen->n = layer + 1;
    return &seen->layers[layer];
}

/* An attention that runs before the store of its layer. */
static enum psc_status look_at_order(struct psc_kv_seen *seen, struct psc_report *report, uint32_t phase, const char *where,
                                     const struct psc_graph *graph, struct psc_error *reterr)
{
    psc_node early = PSC_NONE, store = PSC_NONE;
    uint32_t n = 0;
    for (psc_node i = 0; i < graph->n; i++) {
        const struct psc_node_info *node = &graph->nodes[i];
        bool stores = psc_op_info(node->op)->stores_kv;
        if ((!stores && node->op != PSC_OP_ATTN) || node->layer < 0 || (uint32_t)node->layer >= LAYERS_MAX)
            continue;
        struct psc_kv_region *region = region_of(seen, (size_t)node->layer);
        if (!region)
            return psc_fail_nomem(reterr);
        if (stores && region->stored != phase + 1) {
            region->stored = phase + 1;
            if (region->attended == phase + 1 && !n++) {
                early = region->attention;
                store = i;
            }
        } else if (!stores && region->stored != phase + 1 && region->attended != phase + 1) {
            region->attended = phase + 1;
            region->attention = i;
        }
    }
    if (n)
        psc_report_add(report, PSC_WARNING, 0, 0, UINT64_MAX, "%s%snode %" PRIu64 " attends to layer %" PRId32
                       " before node %" PRIu64 " stores into it%s: it does not see the rows of its own step", where,
                       *where ? ": " : "", graph->nodes[early].id, graph->nodes[early].layer, graph->nodes[store].id,
                       n > 1 ? " (and so do other layers)" : "");
    return PSC_OK;
}

enum psc_status psc_kv_look_at_graph(struct psc_kv_seen *seen, struct psc_report *report, uint32_t phase, const char *where,
                                     const struct psc_graph *graph, struct psc_error *reterr)
{
    uint32_t other_n = 0;
    int32_t last = -1;
    psc_node other = PSC_NONE;
    for (psc_node i = 0; i < graph->n; i++) {
        const struct psc_node_info *node = &graph->nodes[i];
        uint64_t bytes = 0;
        if (!asks(node) || psc_region_bytes(node, &bytes, NULL) || !bytes)
            continue;
        struct psc_kv_region *region = region_of(seen, (size_t)node->layer);
        if (!region)
            return psc_fail_nomem(reterr);
        if (!region->bytes) {
            region->bytes = bytes;
            region->phase = phase;
        }
        if (region->bytes == bytes || region->phase == phase) /* inside one graph the planner says it */
            continue;
        other = other == PSC_NONE ? i : other;
        other_n += node->layer != last;
        last = node->layer;
    }
    enum psc_status status = look_at_order(seen, report, phase, where, graph, reterr);
    if (status || other == PSC_NONE)
        return status;
    const struct psc_node_info *node = &graph->nodes[other];
    const struct psc_kv_region *region = &seen->layers[node->layer];
    uint64_t bytes = 0;
    status = psc_region_bytes(node, &bytes, reterr);
    psc_report_add(report, PSC_WARNING, 0, 0, UINT64_MAX, "phases[%" PRIu32 "]: node %" PRIu64 " asks for KV regions of %" PRIu64
                   " bytes for layer %" PRId32 ", phase %" PRIu32 " made them of %" PRIu64 " bytes%s: an engine that keeps "
                   "the old ones reads past their end", phase, node->id, bytes, node->layer, region->phase, region->bytes,
                   other_n > 1 ? " (and so do other layers)" : "");
    return status;
}

/* Which operand of a storing node says where its rows go: cells when there are any, else positions. */
static uint32_t rows_operand(const struct psc_node_info *node)
{
    switch (node->op) {
    case PSC_OP_KV_STORE: return 2;
    case PSC_OP_QKV_BIAS_ROPE_STORE: return 4;
    default: return node->src_n > 2 ? 2 : 1;
    }
}

static const struct psc_record *record_of(const struct psc_step *step, psc_node node)
{
    for (uint32_t i = 0; i < step->record_n; i++)
        if (step->records[i].node == node)
            return &step->records[i];
    return NULL;
}

/* Rows of the node's region: n_ctx. */
static uint64_t rows_of(const struct psc_node_info *node)
{
    const struct psc_params *params = node->params;
    return psc_op_info(node->op)->is_kv ? node->shape[1] : params->nkt ? params->kv_elems / params->nkt : 0;
}

bool psc_kv_look_at_step(struct psc_report *report, uint32_t phase, size_t step_no, const struct psc_graph *graph,
                         const struct psc_step *step)
{
    for (psc_node i = 0; i < graph->n; i++) {
        const struct psc_node_info *node = &graph->nodes[i];
        uint64_t rows = psc_op_info(node->op)->stores_kv ? rows_of(node) : 0, bytes = 0;
        uint32_t operand = rows_operand(node);
        if (!rows || operand >= node->src_n)
            continue;
        const struct psc_record *record = record_of(step, psc_node_srcs(graph, i)[operand]);
        double max = record && record->has_stats ? record->max : -1;
        for (uint32_t k = 0; record && k < record->value_n; k++)
            max = record->values[k] > max ? record->values[k] : max;
        if (!(max >= (double)rows) || psc_region_bytes(node, &bytes, NULL))
            continue;
        psc_report_add(report, PSC_WARNING, 0, 0, UINT64_MAX, "phases[%" PRIu32 "].steps[%zu]: node %" PRIu64 " (%s) stores at "
                       "position %.0f, but n_ctx is %" PRIu64 ": the row would begin at byte %.0f of a region of %" PRIu64
                       " bytes", phase, step_no, node->id, node->name ? node->name : node->op_name, max, rows,
                       max * (double)(bytes / rows), bytes);
        return true;
    }
    return false;
}
