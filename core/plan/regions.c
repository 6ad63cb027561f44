#include "core/plan/regions.h"

#include "core/base/mem.h"

enum { WORD = 4 };

enum psc_status psc_region_bytes(const struct psc_node_info *node, uint64_t *ret, struct psc_error *reterr)
{
    const struct psc_params *params = node->params;
    uint64_t rows, words = params->kv_elems;
    if (psc_op_info(node->op)->is_kv && !params->row_elems) {
        *ret = node->bytes;
        return PSC_OK;
    }
    if (params->row_elems) {
        rows = psc_op_info(node->op)->is_kv ? node->shape[1] : params->nkt ? params->kv_elems / params->nkt : 0;
        if (!psc_mul_u64(params->row_elems, rows, &words))
            words = PSC_BYTES_MAX;
    }
    if (words >= PSC_BYTES_MAX / WORD)
        return psc_fail(reterr, PSC_ERR_TOO_BIG, "node %llu asks for a KV region of more than 2^60 bytes",
                        (unsigned long long)node->id);
    *ret = words * WORD;
    return PSC_OK;
}

static enum psc_status ask(struct psc_regions *regions, const struct psc_graph *graph, psc_node i, uint8_t backend,
                           struct psc_error *reterr)
{
    const struct psc_node_info *node = &graph->nodes[i];
    struct psc_region *region = &regions->layers[node->layer >= 0 ? (uint32_t)node->layer : regions->no_layer];
    uint64_t bytes = 0;
    enum psc_status status = psc_region_bytes(node, &bytes, reterr);
    if (status || !bytes)
        return status;
    if (!region->bytes) {
        *region = (struct psc_region){.bytes = bytes, .backend = backend, .node = i};
        return PSC_OK;
    }
    if (region->bytes != bytes)
        return psc_fail(reterr, PSC_ERR_PLAN, "layer %d: node %llu made a KV region of %llu bytes, node %llu asks for "
                        "%llu bytes", node->layer, (unsigned long long)graph->nodes[region->node].id,
                        (unsigned long long)region->bytes, (unsigned long long)node->id, (unsigned long long)bytes);
    if (region->backend != backend)
        return psc_fail(reterr, PSC_ERR_PLAN, "layer %d: node %llu keeps its KV region on %s, node %llu asks for it on %s",
                        node->layer, (unsigned long long)graph->nodes[region->node].id,
                        graph->backends[region->backend], (unsigned long long)node->id, graph->backends[backend]);
    return PSC_OK;
}

enum psc_status psc_regions_build(struct psc_arena *arena, const struct psc_graph *graph,
                                  const struct psc_digest *digest, struct psc_regions *ret, struct psc_error *reterr)
{
    struct psc_regions regions = {.layer_n = graph->layer_n, .no_layer = PSC_NONE};
    for (uint32_t k = 0; k < digest->kv_n && regions.no_layer == PSC_NONE; k++)
        if (graph->nodes[digest->kv[k]].layer < 0)
            regions.no_layer = regions.layer_n++;
    regions.layers = psc_arena_alloc0(arena, regions.layer_n, sizeof *regions.layers);
    if (!regions.layers)
        return psc_fail_nomem(reterr);
    for (uint32_t k = 0; k < digest->kv_n; k++) {
        psc_node i = digest->kv[k];
        enum psc_status status = ask(&regions, graph, i, digest->nodes[i].backend, reterr);
        if (status)
            return status;
    }
    *ret = regions;
    return PSC_OK;
}

uint32_t psc_regions_layer(const struct psc_regions *regions, const struct psc_node_info *node)
{
    uint32_t layer = node->layer >= 0 ? (uint32_t)node->layer : regions->no_layer;
    return layer < regions->layer_n && regions->layers[layer].bytes ? layer : PSC_NONE;
}
