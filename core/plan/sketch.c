#include "core/plan/sketch.h"

#include "core/base/mem.h"
#include "core/plan/figures.h"

#include <string.h>

/* ---- before the planner ---------------------------------------------------------------------------- */

/* Nodes without a backend run where their split runs. */
static enum psc_status assign_backends(struct psc_sketch *sketch, struct psc_error *reterr)
{
    const struct psc_graph *graph = sketch->graph;
    sketch->backend = psc_arena_alloc(&sketch->scratch, graph->n, sizeof *sketch->backend);
    if (!sketch->backend || psc_graph_splits(sketch->arena, graph, &sketch->splits, &sketch->split_n))
        return psc_fail_nomem(reterr);
    for (uint32_t k = 0; k < sketch->split_n; k++)
        memset(sketch->backend + sketch->splits[k].first, sketch->splits[k].backend,
               sketch->splits[k].last - sketch->splits[k].first + 1);
    return PSC_OK;
}

/* Two buffers for each layer with regions, first of all. */
static enum psc_status add_regions(struct psc_sketch *sketch, struct psc_error *reterr)
{
    struct psc_regions *regions = &sketch->regions;
    enum psc_status status =
        psc_regions_build(&sketch->scratch, sketch->graph, sketch->backend, regions, reterr);
    if (status)
        return status;
    sketch->region_k = psc_arena_alloc(sketch->arena, regions->layer_n, sizeof *sketch->region_k);
    sketch->region_v = psc_arena_alloc(sketch->arena, regions->layer_n, sizeof *sketch->region_v);
    if (!sketch->region_k || !sketch->region_v)
        return psc_fail_nomem(reterr);
    for (uint32_t layer = 0; layer < regions->layer_n; layer++) {
        const struct psc_region *region = &regions->layers[layer];
        sketch->region_k[layer] = sketch->region_v[layer] = PSC_NONE;
        if (!region->bytes)
            continue;
        sketch->region_k[layer] = psc_sketch_add_buffer(sketch, region->bytes, region->backend, PSC_ROLE_PERSISTENT);
        sketch->region_v[layer] = psc_sketch_add_buffer(sketch, region->bytes, region->backend, PSC_ROLE_PERSISTENT);
        if (sketch->region_v[layer] == PSC_NONE)
            return psc_fail_nomem(reterr);
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

static enum psc_status blank_places(struct psc_sketch *sketch, struct psc_error *reterr)
{
    sketch->places = psc_arena_alloc0(sketch->arena, sketch->graph->n, sizeof *sketch->places);
    if (!sketch->places)
        return psc_fail_nomem(reterr);
    for (psc_node i = 0; i < sketch->graph->n; i++)
        sketch->places[i].buffer = PSC_NONE;
    return PSC_OK;
}

enum psc_status psc_sketch_begin(struct psc_sketch *sketch, struct psc_arena *arena, const struct psc_graph *graph,
                                 const struct psc_plan_options *options, struct psc_error *reterr)
{
    psc_fault_set faults = options->faults;
    unsigned pins = PSC_PIN_BOTH;
    enum psc_status status;
    *sketch = (struct psc_sketch){.arena = arena, .graph = graph, .options = *options};
    sketch->peak_live_bytes = UINT64_MAX;
    sketch->views_extend = !(faults & PSC_FAULT_BIT(PSC_FAULT_L5));
    sketch->inputs_before_walk = !(faults & (PSC_FAULT_BIT(PSC_FAULT_L2) | PSC_FAULT_BIT(PSC_FAULT_L3)));
    if (faults & PSC_FAULT_BIT(PSC_FAULT_L2))
        pins &= ~(unsigned)PSC_PIN_INPUTS;
    if (faults & PSC_FAULT_BIT(PSC_FAULT_H7))
        pins &= ~(unsigned)PSC_PIN_OUTPUTS;
    status = find_order(sketch, reterr);
    if (!status)
        status = psc_lives_build(&sketch->scratch, graph, sketch->order, pins, &sketch->lives, reterr);
    if (!status)
        status = assign_backends(sketch, reterr);
    if (!status)
        status = add_regions(sketch, reterr);
    if (!status)
        status = blank_places(sketch, reterr);
    return status;
}

void psc_sketch_release(struct psc_sketch *sketch)
{
    psc_free(sketch->buffers);
    psc_free(sketch->refused);
    psc_free(sketch->walk);
    psc_free(sketch->releases);
    psc_arena_release(&sketch->scratch);
}

/* ---- for the planner -------------------------------------------------------------------------------- */

uint32_t psc_sketch_add_buffer(struct psc_sketch *sketch, uint64_t bytes, uint8_t backend, enum psc_role role)
{
    if (!psc_grow(&sketch->buffers, sketch->buffer_n + 1, &sketch->buffer_cap, sizeof *sketch->buffers))
        return PSC_NONE;
    sketch->buffers[sketch->buffer_n] = (struct psc_buffer){.bytes = bytes, .backend = backend, .role = role};
    return (uint32_t)sketch->buffer_n++;
}

bool psc_sketch_refuse(struct psc_sketch *sketch, psc_node node, struct psc_refused refused)
{
    struct psc_place *place = &sketch->places[node];
    if (!psc_grow(&sketch->refused, sketch->refused_n + 1, &sketch->refused_cap, sizeof *sketch->refused))
        return false;
    if (!place->refused_n++)
        place->refused_at = (uint32_t)sketch->refused_n;
    sketch->refused[sketch->refused_n++] = refused;
    return true;
}

bool psc_sketch_log(struct psc_sketch *sketch, struct psc_walk line)
{
    if (!sketch->options.log)
        return true;
    if (!psc_grow(&sketch->walk, sketch->walk_n + 1, &sketch->walk_cap, sizeof *sketch->walk))
        return false;
    sketch->walk[sketch->walk_n++] = line;
    return true;
}

bool psc_sketch_add_release(struct psc_sketch *sketch, struct psc_release release)
{
    if (!psc_grow(&sketch->releases, sketch->release_n + 1, &sketch->release_cap, sizeof *sketch->releases))
        return false;
    sketch->releases[sketch->release_n++] = release;
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

/* Lives of the finished plan: those of the readers, views folded into what they show. */
static void settle_lives(struct psc_sketch *sketch)
{
    const struct psc_graph *graph = sketch->graph;
    if (sketch->views_extend)
        psc_lives_fold_views(&sketch->lives, graph, sketch->order);
    for (psc_node i = 0; i < graph->n; i++) {
        sketch->places[i].first = sketch->lives.first[i];
        sketch->places[i].last = sketch->lives.last[i];
        if (sketch->inputs_before_walk && psc_node_is_filled(&graph->nodes[i]))
            sketch->places[i].first = -1;
    }
}

static enum psc_status stage_copies(struct psc_sketch *sketch, struct psc_error *reterr)
{
    for (uint32_t k = 0; k < sketch->copy_n; k++) {
        struct psc_copy *copy = &sketch->copies[k];
        if (copy->buffer == PSC_NONE)
            copy->buffer = psc_sketch_add_buffer(sketch, copy->bytes, copy->to, PSC_ROLE_STAGING);
        if (copy->buffer == PSC_NONE)
            return psc_fail_nomem(reterr);
    }
    return PSC_OK;
}

/* A pool buffer that never holds anything but one graph output is shown as such. */
static bool mark_outputs(struct psc_sketch *sketch)
{
    const struct psc_graph *graph = sketch->graph;
    psc_node *only = psc_arena_alloc(&sketch->scratch, sketch->buffer_n, sizeof *only);
    enum { NOBODY = PSC_NODES_MAX, SEVERAL };
    if (!only)
        return false;
    for (size_t b = 0; b < sketch->buffer_n; b++)
        only[b] = NOBODY;
    for (psc_node i = 0; i < graph->n; i++) {
        const struct psc_place *place = &sketch->places[i];
        if (place->buffer == PSC_NONE || place->reason == PSC_WHY_VIEW)
            continue;
        only[place->buffer] = only[place->buffer] == NOBODY ? i : SEVERAL;
    }
    for (uint32_t k = 0; k < graph->output_n; k++) {
        psc_node root = graph->nodes[graph->outputs[k]].root;
        uint32_t buffer = sketch->places[root].buffer;
        if (buffer != PSC_NONE && only[buffer] == root && sketch->buffers[buffer].role == PSC_ROLE_POOL)
            sketch->buffers[buffer].role = PSC_ROLE_OUTPUT;
    }
    return true;
}

static const char *buffer_name(struct psc_arena *arena, const struct psc_buffer *buffer)
{
    char name[32], *end = name + sizeof name, *p = end;
    uint64_t id = buffer->id;
    *--p = '\0';
    do
        *--p = (char)('0' + id % 10);
    while (id /= 10);
    *--p = 'b';
    return psc_arena_strndup(arena, p, (size_t)(end - p - 1));
}

static bool name_regions(struct psc_sketch *sketch, struct psc_buffer *buffers)
{
    for (uint32_t layer = 0; layer < sketch->regions.layer_n; layer++) {
        struct psc_text text = {0};
        if (sketch->region_k[layer] == PSC_NONE)
            continue;
        for (int half = 0; half < 2; half++) {
            uint32_t buffer = half ? sketch->region_v[layer] : sketch->region_k[layer];
            psc_text_clear(&text);
            if (layer == sketch->regions.no_layer)
                psc_text_addf(&text, "kv.%c", "kv"[half]);
            else
                psc_text_addf(&text, "kv.%u.%c", layer, "kv"[half]);
            buffers[buffer].name = text.failed ? NULL : psc_arena_strdup(sketch->arena, psc_text_str(&text));
            if (!buffers[buffer].name)
                return psc_text_release(&text), false;
        }
        psc_text_release(&text);
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

/* Pool buffers first, then regions, then staging. */
static uint32_t listed_at(uint32_t buffer, uint32_t region_n, uint32_t pool_n)
{
    if (buffer == PSC_NONE || buffer >= region_n + pool_n)
        return buffer;
    return buffer < region_n ? buffer + pool_n : buffer - region_n;
}

static void renumber(struct psc_sketch *sketch, uint32_t pool_n)
{
    uint32_t r = sketch->region_n;
    if (!r)
        return;
    for (psc_node i = 0; i < sketch->graph->n; i++)
        sketch->places[i].buffer = listed_at(sketch->places[i].buffer, r, pool_n);
    for (size_t i = 0; i < sketch->walk_n; i++)
        sketch->walk[i].buffer = listed_at(sketch->walk[i].buffer, r, pool_n);
    for (size_t i = 0; i < sketch->release_n; i++)
        sketch->releases[i].buffer = listed_at(sketch->releases[i].buffer, r, pool_n);
    for (uint32_t i = 0; i < sketch->copy_n; i++)
        sketch->copies[i].buffer = listed_at(sketch->copies[i].buffer, r, pool_n);
    for (uint32_t i = 0; i < sketch->regions.layer_n; i++) {
        sketch->region_k[i] = listed_at(sketch->region_k[i], r, pool_n);
        sketch->region_v[i] = listed_at(sketch->region_v[i], r, pool_n);
    }
}

/* Ids count up inside each backend; addresses stack the buffers in that order. */
static void number(struct psc_buffer *buffers, uint32_t n)
{
    uint64_t id[UINT8_MAX + 1] = {0}, base[UINT8_MAX + 1] = {0};
    for (uint32_t b = 0; b < n; b++) {
        buffers[b].id = id[buffers[b].backend]++;
        buffers[b].base = base[buffers[b].backend];
        base[buffers[b].backend] += buffers[b].bytes;
    }
}

static struct psc_buffer *list_buffers(struct psc_sketch *sketch)
{
    uint32_t n = (uint32_t)sketch->buffer_n, pool_n = 0;
    struct psc_buffer *buffers = psc_arena_alloc(sketch->arena, n, sizeof *buffers);
    if (!buffers)
        return NULL;
    for (uint32_t b = sketch->region_n; b < n && sketch->buffers[b].role != PSC_ROLE_STAGING; b++)
        pool_n++;
    for (uint32_t b = 0; b < n; b++)
        buffers[listed_at(b, sketch->region_n, pool_n)] = sketch->buffers[b];
    renumber(sketch, pool_n);
    number(buffers, n);
    for (uint32_t b = 0; b < pool_n; b++)
        if (!buffers[b].name && !(buffers[b].name = buffer_name(sketch->arena, &buffers[b])))
            return NULL;
    return name_regions(sketch, buffers) && name_staging(sketch, buffers) ? buffers : NULL;
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
    if (!plan || !mark_outputs(sketch))
        return psc_fail_nomem(reterr);
    settle_lives(sketch);
    status = stage_copies(sketch, reterr);
    if (status)
        return status;
    *plan = (struct psc_plan){
        .planner = planner,
        .options = sketch->options,
        .order = sketch->order,
        .places = sketch->places,
        .node_n = sketch->graph->n,
        .buffers = list_buffers(sketch),
        .buffer_n = (uint32_t)sketch->buffer_n,
        .copies = keep(arena, sketch->copies, sketch->copy_n, sizeof *sketch->copies),
        .copy_n = sketch->copy_n,
        .splits = sketch->splits,
        .split_n = sketch->split_n,
        .refused = keep(arena, sketch->refused, sketch->refused_n, sizeof *sketch->refused),
        .refused_n = (uint32_t)sketch->refused_n,
        .walk = keep(arena, sketch->walk, sketch->walk_n, sizeof *sketch->walk),
        .walk_n = (uint32_t)sketch->walk_n,
        .releases = keep(arena, sketch->releases, sketch->release_n, sizeof *sketch->releases),
        .release_n = (uint32_t)sketch->release_n,
        .region_k = sketch->region_k,
        .region_v = sketch->region_v,
        .layer_n = sketch->regions.layer_n,
    };
    if (!plan->buffers || !plan->copies || !plan->refused || !plan->walk || !plan->releases)
        return psc_fail_nomem(reterr);
    status = psc_figures_measure(arena, sketch->graph, plan, sketch->peak_live_bytes, reterr);
    if (!status)
        *ret = plan;
    return status;
}
