/* core/plan/regions.h: the persistent K and V regions that a graph asks for.
 *
 * A layer's store, load or fused QKV node asks for two regions of the same exact size; the first to do so
 * decides, and a later one that asks for another size or backend is an error (an engine would read past the
 * smaller one). Regions outlive the phase, lie in no pool list and are not counted as pool bytes.
 *
 * Sizes: rows of meta.row_elems words when the file gives them (packed caches), else the bytes of the store or
 * load node itself; a fused node asks for meta.kv_elems words.
 */
#ifndef PSC_CORE_PLAN_REGIONS_H
#define PSC_CORE_PLAN_REGIONS_H

#include "core/plan/digest.h"

struct psc_region {
    uint64_t bytes;   /* of K alone; V is as large. 0: the layer has no regions */
    uint8_t backend;
    psc_node node;    /* the first that asked */
};
struct psc_regions {
    struct psc_region *layers; /* [layer_n]; the last one is for KV nodes that name no layer, if there are any */
    uint32_t layer_n;
    uint32_t no_layer;         /* index for nodes without layer, PSC_NONE when there is none */
};

/* Bytes of one region that a node which asks for regions (KV and fused QKV nodes) asks for; 0 when its file does not
 * say. */
enum psc_status psc_region_bytes(const struct psc_node_info *node, uint64_t *ret, struct psc_error *reterr) PSC_MUST_CHECK;
/* PSC_ERR_PLAN when two nodes of a layer disagree. */
enum psc_status psc_regions_build(struct psc_arena *arena, const struct psc_graph *graph,
                                  const struct psc_digest *digest, struct psc_regions *ret,
                                  struct psc_error *reterr) PSC_MUST_CHECK;
/* Index of the node's layer, or PSC_NONE when its layer has no regions. */
uint32_t psc_regions_layer(const struct psc_regions *regions, const struct psc_node_info *node);

#endif
