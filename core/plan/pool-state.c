#include "core/plan/pool-state.h"

#include <string.h>

const char *psc_pool_backend_name(const struct psc_graph *graph, uint8_t backend)
{
    return backend < graph->backend_n ? graph->backends[backend] : "";
}

uint8_t psc_pool_backend_of(const struct psc_graph *graph, const char *name)
{
    for (uint32_t b = 0; b < graph->backend_n; b++)
        if (!strcmp(graph->backends[b], name))
            return (uint8_t)b;
    return PSC_BACKEND_NONE;
}

/* What the plan's new buffer is to the graphs that come after it. */
static struct psc_pool_item item_of(const struct psc_graph *graph, const struct psc_plan *plan, uint32_t b)
{
    const struct psc_buffer *buffer = &plan->buffers[b];
    struct psc_pool_item item = {
        .backend = psc_pool_backend_name(graph, buffer->backend),
        .id = buffer->id, .bytes = buffer->bytes, .base = buffer->base,
        .role = buffer->role, .layer = -1, .node = PSC_NONE,
    };
    if (buffer->role != PSC_ROLE_PERSISTENT && buffer->role != PSC_ROLE_STAGING)
        item.role = PSC_ROLE_POOL;
    return item;
}

static void say_regions(struct psc_pool_item *items, const uint32_t *made, const struct psc_graph *graph,
                        const struct psc_plan *plan)
{
    for (uint32_t layer = 0; layer < plan->layer_n; layer++)
        for (uint8_t slot = 0; slot < 2; slot++) {
            uint32_t b = slot ? plan->region_v[layer] : plan->region_k[layer];
            if (b == PSC_NONE || made[b] == PSC_NONE)
                continue;
            items[made[b]].layer = layer < graph->layer_n ? (int32_t)layer : -1;
            items[made[b]].slot = slot;
        }
}

enum psc_status psc_pool_state_after(struct psc_arena *arena, const struct psc_pool_state *state,
                                     const struct psc_graph *graph, const struct psc_plan *plan,
                                     struct psc_pool_state *ret, struct psc_error *reterr)
{
    uint32_t n = state ? state->n : 0;
    struct psc_arena_mark mark = psc_arena_mark(arena);
    struct psc_pool_item *items = psc_arena_alloc(arena, (size_t)n + plan->buffer_n, sizeof *items);
    uint32_t *made = psc_arena_alloc(arena, plan->buffer_n, sizeof *made); /* item of each new buffer */
    if (!items || !made) {
        psc_arena_rewind(arena, mark);
        return psc_fail_nomem(reterr);
    }
    if (n)
        memcpy(items, state->items, n * sizeof *items);
    for (uint32_t b = 0; b < plan->buffer_n; b++) {
        made[b] = PSC_NONE;
        if (plan->pool_at && plan->pool_at[b] != PSC_NONE)
            continue;
        made[b] = n;
        items[n++] = item_of(graph, plan, b);
    }
    say_regions(items, made, graph, plan);
    for (uint32_t k = 0; k < plan->copy_n; k++)
        if (made[plan->copies[k].buffer] != PSC_NONE && items[made[plan->copies[k].buffer]].role == PSC_ROLE_STAGING)
            items[made[plan->copies[k].buffer]].node = plan->copies[k].node;
    struct psc_pool_state after = state ? *state : (struct psc_pool_state){0}; /* ret may be state */
    after.items = items;
    after.n = n;
    *ret = after;
    return PSC_OK;
}
