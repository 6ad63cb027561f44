#include "core/plan/sketch.h"

#include "core/base/hash.h"
#include "core/base/mem.h"

/* Copies in the order in which their first readers stand. */
struct staging {
    struct psc_sketch *sketch;
    struct psc_map by_node; /* (node, backend) -> copy */
    struct psc_copy *copies;
    size_t n, cap;
};

/* The operand lies in another backend's buffer than the one its reader runs on. KV rows are reached through
 * their region, not copied. */
static bool crosses(const struct psc_sketch *sketch, psc_node operand, psc_node reader)
{
    uint32_t buffer = sketch->places[operand].buffer;
    return buffer != PSC_NONE && buffer >= sketch->region_n &&
           sketch->buffers[buffer].backend != sketch->digest.nodes[reader].backend;
}

static bool stage(struct staging *staging, psc_node operand, psc_node reader, const struct psc_split *split)
{
    const struct psc_sketch *sketch = staging->sketch;
    uint8_t to = sketch->digest.nodes[reader].backend;
    uint32_t old;
    if (!psc_map_put(&staging->by_node, (uint64_t)operand << 8 | to, (uint32_t)staging->n, &old))
        return false;
    if (old != PSC_NONE)
        return true;
    if (!psc_grow(&staging->copies, staging->n + 1, &staging->cap, sizeof *staging->copies))
        return false;
    staging->copies[staging->n++] = (struct psc_copy){
        .node = operand,
        .from = sketch->buffers[sketch->places[operand].buffer].backend,
        .to = to,
        .bytes = sketch->places[operand].length,
        .buffer = PSC_NONE,
        .enqueue = (int32_t)split->first,
        .wait = (int32_t)reader,
    };
    return true;
}

static bool runs(const struct psc_sketch *sketch, psc_node i)
{
    const struct psc_place *place = &sketch->places[i];
    return place->buffer != PSC_NONE && place->reason != PSC_WHY_VIEW;
}

static bool stage_split(struct staging *staging, const struct psc_split *split)
{
    const struct psc_sketch *sketch = staging->sketch;
    for (psc_node i = split->first; i <= split->last; i++) {
        const psc_node *src = psc_node_srcs(sketch->graph, i);
        if (!runs(sketch, i))
            continue;
        for (uint32_t k = 0; k < sketch->graph->nodes[i].src_n; k++)
            if (crosses(sketch, src[k], i) && !stage(staging, src[k], i, split))
                return false;
    }
    return true;
}

enum psc_status psc_sketch_copies(struct psc_sketch *sketch, struct psc_error *reterr)
{
    struct staging staging = {.sketch = sketch};
    bool fine = true;
    for (uint32_t s = 0; fine && sketch->digest.split_n > 1 && s < sketch->digest.split_n; s++)
        fine = stage_split(&staging, &sketch->digest.splits[s]);
    if (fine && staging.n) {
        sketch->copies = psc_arena_alloc(&sketch->scratch, staging.n, sizeof *sketch->copies);
        fine = sketch->copies != NULL;
    }
    for (size_t k = 0; fine && k < staging.n; k++)
        sketch->copies[k] = staging.copies[k];
    sketch->copy_n = fine ? (uint32_t)staging.n : 0;
    psc_map_release(&staging.by_node);
    psc_free(staging.copies);
    return fine ? PSC_OK : psc_fail_nomem(reterr);
}
