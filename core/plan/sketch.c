#include "core/plan/sketch.h"

#include "core/base/mem.h"
#include "core/plan/capacity.h"
#include "core/plan/figures.h"
#include "core/plan/pool-state.h"

#include <string.h>

/* ---- before the planner ---------------------------------------------------------------------------- */

/* Items of the pool that are regions: [2 * layer + slot], PSC_NONE where there is none. NULL when out of memory. */
static uint32_t *list_pool_regions(struct psc_sketch *sketch)
{
    const struct psc_regions *regions = &sketch->regions;
    const struct psc_pool_state *pool = sketch->options.pool;
    size_t n = 2 * (size_t)regions->layer_n;
    uint32_t *items = psc_arena_alloc(&sketch->scratch, n, sizeof *items);
    if (!items)
        return NULL;
    memset(items, 0xff, n * sizeof *items);
    for (uint32_t i = 0; pool && i < pool->n; i++) {
        const struct psc_pool_item *item = &pool->items[i];
        uint32_t layer = item->layer >= 0 ? (uint32_t)item->layer : regions->no_layer;
        if (item->role == PSC_ROLE_PERSISTENT && layer < regions->layer_n && item->slot < 2)
            items[2 * layer + item->slot] = i;
    }
    return items;
}

/* The region of the layer that the pool has already, else a new buffer. */
static enum psc_status add_region(struct psc_sketch *sketch, uint32_t layer, uint32_t item, uint32_t *ret,
                                  struct psc_error *reterr)
{
    const struct psc_region *region = &sketch->regions.layers[layer];
    if (item == PSC_NONE) {
        *ret = psc_sketch_add_buffer(sketch, region->bytes, region->backend, PSC_ROLE_PERSISTENT);
    } else {
        const struct psc_pool_item *old = &sketch->options.pool->items[item];
        const char *backend = psc_pool_backend_name(sketch->graph, region->backend);
        if (old->bytes != region->bytes || strcmp(old->backend, backend))
            return psc_fail(reterr, PSC_ERR_PLAN, "layer %d has a KV region of %llu bytes on %s; node %llu asks for %llu "
                            "bytes on %s: the size and the backend of a region never change", old->layer,
                            (unsigned long long)old->bytes, old->backend,
                            (unsigned long long)sketch->graph->nodes[region->node].id,
                            (unsigned long long)region->bytes, backend);
        *ret = psc_sketch_add_pooled(sketch, item, PSC_ROLE_PERSISTENT);
    }
    return *ret == PSC_NONE ? psc_fail_nomem(reterr) : PSC_OK;
}

/* Two buffers for each layer with regions, first of all. */
static enum psc_status add_regions(struct psc_sketch *sketch, struct psc_error *reterr)
{
    struct psc_regions *regions = &sketch->regions;
    enum psc_status status =
        psc_regions_build(&sketch->scratch, sketch->graph, &sketch->digest, regions, reterr);
    const uint32_t *items;
    if (status)
        return status;
    sketch->region_k = psc_arena_alloc(sketch->arena, regions->layer_n, sizeof *sketch->region_k);
    sketch->region_v = psc_arena_alloc(sketch->arena, regions->layer_n, sizeof *sketch->region_v);
    items = list_pool_regions(sketch);
    if (!sketch->region_k || !sketch->region_v || !items)
        return psc_fail_nomem(reterr);
    for (uint32_t layer = 0; layer < regions->layer_n; layer++) {
        sketch->region_k[layer] = sketch->region_v[layer] = PSC_NONE;
        if (!regions->layers[layer].bytes)
            continue;
        status = add_region(sketch, layer, items[2 * layer], &sketch->region_k[layer], reterr);
        if (!status)
            status = add_region(sketch, layer, items[2 * layer + 1], &sketch->region_v[layer], reterr);
        if (status)
            return status;
    }
    sketch->region_n = (uint32_t)sketch->buffer_n;
    return PSC_OK;
}

static enum psc_status find_order(struct psc_sketch *sketch, struct psc_error *reterr)
{
    psc_node *order;
    if (sketch->options.order == PSC_ORDER_BUILD && !(sketch->options.faults & PSC_FAULT_BIT(PSC_FAULT_L1)))
        return PSC_OK;
    order = psc_arena_alloc(sketch->arena, sketch->graph->n, sizeof *order);
    if (!order)
        return psc_fail_nomem(reterr);
    sketch->order = order;
    return psc_graph_topological(sketch->graph, false, order, reterr);
}

/* Lives of the nodes' own readers, then those of the storages. */
static enum psc_status find_lives(struct psc_sketch *sketch, struct psc_error *reterr)
{
    psc_fault_set faults = sketch->options.faults;
    size_t n = sketch->graph->n;
    struct psc_lives *lives = &sketch->lives;
    bool pin_inputs = !(faults & PSC_FAULT_BIT(PSC_FAULT_L2)), pin_outputs = !(faults & PSC_FAULT_BIT(PSC_FAULT_H7));
    int32_t *last_use;
    enum psc_status status = psc_lives_build(&sketch->scratch, sketch->graph, sketch->order,
                                             pin_outputs ? PSC_PIN_OUTPUTS : 0, lives, reterr);
    if (status)
        return status;
    if (pin_inputs)
        psc_lives_pin(lives, sketch->digest.filled, sketch->digest.filled_n);
    sketch->pinned = pin_inputs && pin_outputs;
    sketch->last_use = lives->last;
    if (!sketch->digest.has_views || !sketch->views_extend)
        return PSC_OK;
    last_use = psc_arena_alloc(&sketch->scratch, n, sizeof *last_use);
    if (!last_use)
        return psc_fail_nomem(reterr);
    memcpy(last_use, lives->last, n * sizeof *last_use);
    sketch->last_use = last_use;
    psc_lives_fold_views(lives, sketch->graph, sketch->order);
    return PSC_OK;
}

static enum psc_status make_room(struct psc_sketch *sketch, struct psc_error *reterr)
{
    size_t n = sketch->graph->n;
    sketch->places = psc_arena_alloc(sketch->arena, n, sizeof *sketch->places);
    sketch->refused = psc_arena_alloc(sketch->arena, 2 * n, sizeof *sketch->refused);
    sketch->releases = psc_arena_alloc(sketch->arena, n, sizeof *sketch->releases);
    return sketch->places && sketch->refused && sketch->releases ? PSC_OK : psc_fail_nomem(reterr);
}

enum psc_status psc_sketch_begin(struct psc_sketch *sketch, struct psc_arena *arena, const struct psc_graph *graph,
                                 const struct psc_plan_options *options, struct psc_error *reterr)
{
    psc_fault_set faults = options->faults;
    enum psc_status status;
    *sketch = (struct psc_sketch){.arena = arena, .graph = graph, .options = *options};
    sketch->peak_live_bytes = UINT64_MAX;
    sketch->views_extend = !(faults & PSC_FAULT_BIT(PSC_FAULT_L5));
    sketch->inputs_before_walk = !(faults & (PSC_FAULT_BIT(PSC_FAULT_L2) | PSC_FAULT_BIT(PSC_FAULT_L3)));
    if (psc_digest_build(arena, &sketch->scratch, graph, &sketch->digest))
        return psc_fail_nomem(reterr);
    status = find_order(sketch, reterr);
    if (!status)
        status = find_lives(sketch, reterr);
    if (!status)
        status = add_regions(sketch, reterr);
    if (!status)
        status = make_room(sketch, reterr);
    return status;
}

void psc_sketch_release(struct psc_sketch *sketch)
{
    psc_free(sketch->buffers);
    psc_free(sketch->walk);
    psc_free(sketch->pool_at);
    psc_arena_release(&sketch->scratch);
}

/* ---- for the planner -------------------------------------------------------------------------------- */

uint32_t psc_sketch_add_buffer(struct psc_sketch *sketch, uint64_t bytes, uint8_t backend, enum psc_role role)
{
    if (!psc_grow(&sketch->buffers, sketch->buffer_n + 1, &sketch->buffer_cap, sizeof *sketch->buffers))
        return PSC_NONE;
    if (sketch->options.pool) {
        if (!psc_grow(&sketch->pool_at, sketch->buffer_n + 1, &sketch->pool_at_cap, sizeof *sketch->pool_at))
            return PSC_NONE;
        sketch->pool_at[sketch->buffer_n] = PSC_NONE;
    }
    sketch->buffers[sketch->buffer_n] = (struct psc_buffer){.bytes = bytes, .backend = backend, .role = role};
    return (uint32_t)sketch->buffer_n++;
}

uint32_t psc_sketch_add_pooled(struct psc_sketch *sketch, uint32_t item, enum psc_role role)
{
    const struct psc_pool_item *old = &sketch->options.pool->items[item];
    uint8_t backend = psc_pool_backend_of(sketch->graph, old->backend);
    uint32_t buffer = psc_sketch_add_buffer(sketch, old->bytes, backend, role);
    if (buffer != PSC_NONE)
        sketch->pool_at[buffer] = item;
    return buffer;
}

bool psc_sketch_log_line(struct psc_sketch *sketch, struct psc_walk line)
{
    if (!psc_grow(&sketch->walk, sketch->walk_n + 1, &sketch->walk_cap, sizeof *sketch->walk))
        return false;
    sketch->walk[sketch->walk_n++] = line;
    return true;
}

bool psc_sketch_place_region(struct psc_sketch *sketch, psc_node node)
{
    const struct psc_node_info *info = &sketch->graph->nodes[node];
    struct psc_place *place = &sketch->places[node];
    uint32_t layer = psc_regions_layer(&sketch->regions, info);
    if (layer == PSC_NONE) {
        place->reason = PSC_WHY_EMPTY;
        return false;
    }
    place->buffer = sketch->region_k[layer];
    place->length = sketch->regions.layers[layer].bytes;
    place->reason = PSC_WHY_REGION;
    place->a = info->layer >= 0 ? (uint64_t)info->layer : UINT64_MAX;
    return true;
}

void psc_sketch_place_view(struct psc_sketch *sketch, psc_node node)
{
    const struct psc_node_info *info = &sketch->graph->nodes[node];
    const struct psc_place *parent = &sketch->places[info->parent];
    struct psc_place *place = &sketch->places[node];
    if (!info->bytes || parent->buffer == PSC_NONE) {
        place->reason = PSC_WHY_EMPTY;
        return;
    }
    place->buffer = parent->buffer;
    place->offset = parent->offset + (info->root_offset - sketch->graph->nodes[info->parent].root_offset);
    place->length = info->bytes;
    place->reason = PSC_WHY_VIEW;
    place->a = parent->reason == PSC_WHY_VIEW ? parent->a : info->parent;
    place->b = (parent->reason == PSC_WHY_VIEW ? parent->b : 0) + (place->offset - parent->offset);
}

/* ---- after the planner -------------------------------------------------------------------------------- */

/* The pool's item that holds a copy of the node on that backend already, PSC_NONE. */
static uint32_t find_staged(const struct psc_sketch *sketch, const struct psc_copy *copy)
{
    const struct psc_pool_state *pool = sketch->options.pool;
    const char *to = psc_pool_backend_name(sketch->graph, copy->to);
    for (uint32_t i = 0; pool && i < pool->n; i++)
        if (pool->items[i].role == PSC_ROLE_STAGING && pool->items[i].node == copy->node &&
            pool->items[i].bytes == copy->bytes && !strcmp(pool->items[i].backend, to))
            return i;
    return PSC_NONE;
}

static enum psc_status stage_copies(struct psc_sketch *sketch, struct psc_error *reterr)
{
    for (uint32_t k = 0; k < sketch->copy_n; k++) {
        struct psc_copy *copy = &sketch->copies[k];
        uint32_t item;
        if (copy->buffer != PSC_NONE)
            continue;
        item = find_staged(sketch, copy);
        copy->buffer = item == PSC_NONE ? psc_sketch_add_buffer(sketch, copy->bytes, copy->to, PSC_ROLE_STAGING)
                                        : psc_sketch_add_pooled(sketch, item, PSC_ROLE_STAGING);
        if (copy->buffer == PSC_NONE)
            return psc_fail_nomem(reterr);
    }
    return PSC_OK;
}

/* Idle buffers of the pool that nobody took are not of this plan. */
static void mark_used(const struct psc_sketch *sketch, bool *used)
{
    for (size_t b = 0; b < sketch->buffer_n; b++)
        used[b] = !sketch->pool_at || sketch->pool_at[b] == PSC_NONE || sketch->buffers[b].role == PSC_ROLE_PERSISTENT;
    for (psc_node i = 0; sketch->pool_at && i < sketch->graph->n; i++)
        if (sketch->places[i].buffer != PSC_NONE)
            used[sketch->places[i].buffer] = true;
    for (uint32_t k = 0; sketch->pool_at && k < sketch->copy_n; k++)
        used[sketch->copies[k].buffer] = true;
}

/* Where each buffer of the sketch stands in the plan: pool buffers first, then regions, then staging. Returns how many
 * stand there. */
static uint32_t list_order(const struct psc_sketch *sketch, const bool *used, uint32_t *listed, uint32_t *ret_pool_n)
{
    uint32_t n = 0;
    for (uint32_t b = sketch->region_n; b < sketch->buffer_n; b++)
        if (sketch->buffers[b].role != PSC_ROLE_STAGING)
            listed[b] = used[b] ? n++ : PSC_NONE;
    *ret_pool_n = n;
    for (uint32_t b = 0; b < sketch->region_n; b++)
        listed[b] = n++;
    for (uint32_t b = sketch->region_n; b < sketch->buffer_n; b++)
        if (sketch->buffers[b].role == PSC_ROLE_STAGING)
            listed[b] = n++;
    return n;
}

/* Brings the places to the final numbers; a pool buffer that never holds anything but one graph output is shown
 * as such. */
static bool settle_places(struct psc_sketch *sketch, struct psc_buffer *buffers, uint32_t buffer_n,
                          const uint32_t *listed)
{
    enum { NOBODY = PSC_NODES_MAX, SEVERAL };
    const struct psc_graph *graph = sketch->graph;
    psc_node *only = psc_arena_alloc(&sketch->scratch, buffer_n, sizeof *only);
    if (!only)
        return false;
    for (uint32_t b = 0; b < buffer_n; b++)
        only[b] = NOBODY;
    for (psc_node i = 0; i < graph->n; i++) {
        struct psc_place *place = &sketch->places[i];
        if (place->buffer == PSC_NONE)
            continue;
        place->buffer = listed[place->buffer];
        if (place->reason != PSC_WHY_VIEW)
            only[place->buffer] = only[place->buffer] == NOBODY ? i : SEVERAL;
    }
    for (uint32_t k = 0; k < graph->output_n; k++) {
        psc_node root = graph->nodes[graph->outputs[k]].root;
        uint32_t buffer = sketch->places[root].buffer;
        if (buffer != PSC_NONE && only[buffer] == root && buffers[buffer].role == PSC_ROLE_POOL)
            buffers[buffer].role = PSC_ROLE_OUTPUT;
    }
    return true;
}

/* "b12" from 12, "kv.3.k" from "kv.", 3 and ".k". */
static char *numbered(struct psc_arena *arena, const char *before, uint64_t number, const char *after)
{
    char text[64], digits[24], *p = text;
    size_t n = 0;
    do
        digits[n++] = (char)('0' + number % 10);
    while (number /= 10);
    while (*before)
        *p++ = *before++;
    while (n)
        *p++ = digits[--n];
    while (*after)
        *p++ = *after++;
    return psc_arena_strndup(arena, text, (size_t)(p - text));
}

static bool name_regions(struct psc_sketch *sketch, struct psc_buffer *buffers)
{
    struct psc_arena *arena = sketch->arena;
    for (uint32_t layer = 0; layer < sketch->regions.layer_n; layer++) {
        uint32_t k = sketch->region_k[layer], v = sketch->region_v[layer];
        if (k == PSC_NONE)
            continue;
        if (layer == sketch->regions.no_layer) {
            buffers[k].name = "kv.k";
            buffers[v].name = "kv.v";
            continue;
        }
        buffers[k].name = numbered(arena, "kv.", layer, ".k");
        buffers[v].name = numbered(arena, "kv.", layer, ".v");
        if (!buffers[k].name || !buffers[v].name)
            return false;
    }
    return true;
}

static bool name_staging(struct psc_sketch *sketch, struct psc_buffer *buffers)
{
    struct psc_text text = {0};
    bool fine = true;
    for (uint32_t k = 0; fine && k < sketch->copy_n; k++) {
        const struct psc_copy *copy = &sketch->copies[k];
        if (buffers[copy->buffer].role != PSC_ROLE_STAGING)
            continue;
        psc_text_clear(&text);
        psc_text_addf(&text, "stage.%llu.%s", (unsigned long long)sketch->graph->nodes[copy->node].id,
                      sketch->graph->backends[copy->to]);
        buffers[copy->buffer].name = text.failed ? NULL : psc_arena_strdup(sketch->arena, psc_text_str(&text));
        fine = buffers[copy->buffer].name != NULL;
    }
    psc_text_release(&text);
    return fine;
}

static void renumber(struct psc_sketch *sketch, const uint32_t *listed)
{
    for (size_t i = 0; i < sketch->walk_n; i++)
        if (sketch->walk[i].buffer != PSC_NONE)
            sketch->walk[i].buffer = listed[sketch->walk[i].buffer];
    for (uint32_t i = 0; i < sketch->release_n; i++)
        sketch->releases[i].buffer = listed[sketch->releases[i].buffer];
    for (uint32_t i = 0; i < sketch->copy_n; i++)
        sketch->copies[i].buffer = listed[sketch->copies[i].buffer];
    for (uint32_t i = 0; i < sketch->regions.layer_n; i++) {
        if (sketch->region_k[i] != PSC_NONE)
            sketch->region_k[i] = listed[sketch->region_k[i]];
        if (sketch->region_v[i] != PSC_NONE)
            sketch->region_v[i] = listed[sketch->region_v[i]];
    }
}

/* Ids count up inside each backend, after those that the pool has given; addresses stack the buffers in that order. */
static void number(const struct psc_sketch *sketch, struct psc_buffer *buffers, uint32_t n, const uint32_t *pool_at)
{
    uint64_t id[UINT8_MAX + 1] = {0}, base[UINT8_MAX + 1] = {0};
    const struct psc_pool_state *pool = sketch->options.pool;
    for (uint32_t i = 0; pool && i < pool->n; i++) {
        const struct psc_pool_item *item = &pool->items[i];
        uint8_t backend = psc_pool_backend_of(sketch->graph, item->backend);
        if (item->id >= id[backend])
            id[backend] = item->id + 1;
        if (item->base + item->bytes > base[backend])
            base[backend] = item->base + item->bytes;
    }
    for (uint32_t b = 0; b < n; b++) {
        if (pool_at && pool_at[b] != PSC_NONE) {
            buffers[b].id = pool->items[pool_at[b]].id;
            buffers[b].base = pool->items[pool_at[b]].base;
            continue;
        }
        buffers[b].id = id[buffers[b].backend]++;
        buffers[b].base = base[buffers[b].backend];
        base[buffers[b].backend] += buffers[b].bytes;
    }
}

/* plan->buffers, buffer_n and pool_at. */
static bool list_buffers(struct psc_sketch *sketch, struct psc_plan *plan)
{
    uint32_t n = (uint32_t)sketch->buffer_n, listed_n, pool_n;
    bool *used = psc_arena_alloc(&sketch->scratch, n, sizeof *used);
    uint32_t *listed = psc_arena_alloc(&sketch->scratch, n, sizeof *listed), *pool_at = NULL;
    struct psc_buffer *buffers;
    if (!used || !listed)
        return false;
    mark_used(sketch, used);
    listed_n = list_order(sketch, used, listed, &pool_n);
    buffers = psc_arena_alloc(sketch->arena, listed_n, sizeof *buffers);
    if (sketch->options.pool)
        pool_at = psc_arena_alloc(sketch->arena, listed_n, sizeof *pool_at);
    if (!buffers || (sketch->options.pool && !pool_at))
        return false;
    for (uint32_t b = 0; b < n; b++)
        if (listed[b] != PSC_NONE) {
            buffers[listed[b]] = sketch->buffers[b];
            if (pool_at)
                pool_at[listed[b]] = sketch->pool_at[b];
        }
    renumber(sketch, listed);
    if (!settle_places(sketch, buffers, listed_n, listed))
        return false;
    number(sketch, buffers, listed_n, pool_at);
    for (uint32_t b = 0; b < pool_n; b++)
        if (!buffers[b].name && !(buffers[b].name = numbered(sketch->arena, "b", buffers[b].id, "")))
            return false;
    plan->buffers = buffers;
    plan->buffer_n = listed_n;
    plan->pool_at = pool_at;
    return name_regions(sketch, buffers) && name_staging(sketch, buffers);
}

static void *keep(struct psc_arena *arena, const void *items, size_t n, size_t size)
{
    void *copy = psc_arena_alloc(arena, n, size);
    if (copy && n)
        memcpy(copy, items, n * size);
    return copy;
}

enum psc_status psc_sketch_finish(struct psc_sketch *sketch, const char *planner, struct psc_plan **ret,
                                  struct psc_error *reterr)
{
    struct psc_arena *arena = sketch->arena;
    struct psc_plan *plan = psc_arena_alloc0(arena, 1, sizeof *plan);
    enum psc_status status;
    struct psc_measured measured = {
        .digest = &sketch->digest,
        .lives = sketch->pinned && sketch->views_extend ? &sketch->lives : NULL,
        .peak_live_bytes = sketch->peak_live_bytes,
    };
    if (!plan)
        return psc_fail_nomem(reterr);
    status = stage_copies(sketch, reterr);
    if (status)
        return status;
    if (!list_buffers(sketch, plan))
        return psc_fail_nomem(reterr);
    *plan = (struct psc_plan){
        .planner = planner,
        .options = sketch->options,
        .order = sketch->order,
        .places = sketch->places,
        .node_n = sketch->graph->n,
        .buffers = plan->buffers,
        .buffer_n = plan->buffer_n,
        .pool_at = plan->pool_at,
        .copies = keep(arena, sketch->copies, sketch->copy_n, sizeof *sketch->copies),
        .copy_n = sketch->copy_n,
        .splits = sketch->digest.splits,
        .split_n = sketch->digest.split_n,
        .refused = sketch->refused,
        .refused_n = sketch->refused_n,
        .walk = keep(arena, sketch->walk, sketch->walk_n, sizeof *sketch->walk),
        .walk_n = (uint32_t)sketch->walk_n,
        .releases = sketch->releases,
        .release_n = sketch->release_n,
        .region_k = sketch->region_k,
        .region_v = sketch->region_v,
        .layer_n = sketch->regions.layer_n,
    };
    plan->options.pool = NULL;
    plan->options.foreign = NULL;
    if (!psc_capacities_keep(arena, &plan->options))
        return psc_fail_nomem(reterr);
    if (!plan->copies || !plan->walk)
        return psc_fail_nomem(reterr);
    status = psc_figures_measure(arena, sketch->graph, plan, &measured, reterr);
    if (!status)
        *ret = plan;
    return status;
}
