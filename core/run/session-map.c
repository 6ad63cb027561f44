#include "core/run/session-map.h"

#include "core/base/mem.h"
#include "core/plan/capacity.h"
#include "core/plan/pool-state.h"
#include "core/run/arena-memory.h"
#include "core/run/mapping.h"

#include <string.h>

/* ---- backends and weights --------------------------------------------------------------------------------------- */

enum psc_status psc_session_pool_named(struct psc_session *s, const char *name, uint8_t *ret, struct psc_error *reterr)
{
    uint32_t at = PSC_NONE;
    for (uint32_t k = 0; k < s->api_n && at == PSC_NONE; k++)
        if (!strcmp(s->apis[k]->file_name, name))
            at = k;
    for (uint32_t k = 0; k < s->api_n && at == PSC_NONE; k++)
        if (!strcmp(s->apis[k]->name, name))
            at = k;
    if (at == PSC_NONE)
        return psc_fail(reterr, PSC_ERR_UNAVAILABLE, "no backend here is called '%s'", name);
    *ret = (uint8_t)at;
    if (s->pools[at].backend)
        return PSC_OK;
    enum psc_status status = psc_pool_open(&s->pools[at], s->apis[at], &s->options.config, s->options.recycled,
                                           s->options.has_budget ? s->options.budget : UINT64_MAX, reterr);
    s->pools[at].phantom = !status && s->arena;
    return status;
}

/* Nodes of a graph that names no backend at all run on the cpu. */
static enum psc_status find_pools(struct psc_session *s, struct psc_mapped *mapped, struct psc_error *reterr)
{
    const struct psc_graph *graph = mapped->graph;
    enum psc_status status = PSC_OK;
    mapped->pool_of = psc_arena_alloc0(&mapped->arena, (size_t)graph->backend_n + 1, 1);
    if (!mapped->pool_of)
        return psc_fail_nomem(reterr);
    for (uint32_t b = 0; !status && b < graph->backend_n; b++)
        status = psc_session_pool_named(s, graph->backends[b], &mapped->pool_of[b], reterr);
    if (!status && !graph->backend_n)
        status = psc_session_pool_named(s, "cpu", &mapped->pool_of[0], reterr);
    return status;
}

static enum psc_status no_weight(const struct psc_session *s, const struct psc_node_info *node, const char *name,
                                 struct psc_error *reterr)
{
    return psc_fail(reterr, PSC_ERR_USAGE, "node %llu (%s) needs the weight '%s', %s", (unsigned long long)node->id,
                    node->op_name, name, s->options.weight ? "which the model does not have" : "and there is no model");
}

static enum psc_status load_weight(struct psc_session *s, struct psc_pool *pool, const struct psc_node_info *node,
                                   const char *name, struct psc_bound_weight *ret, struct psc_error *reterr)
{
    const struct psc_weight *weight;
    enum psc_status status = PSC_OK;
    if (!name)
        return PSC_OK;
    weight = s->options.weight ? s->options.weight(s->options.weight_ctx, name) : NULL;
    if (!weight)
        return no_weight(s, node, name, reterr);
    ret->weight = weight;
    for (uint32_t k = 0; !status && k < (weight->part_n ? weight->part_n : 1); k++) {
        const struct psc_weight *part = weight->part_n ? weight->parts[k] : weight;
        if (!part->data)
            return psc_fail(reterr, PSC_ERR_USAGE, "node %llu (%s) needs the weight '%s', of which the model has the shape only",
                            (unsigned long long)node->id, node->op_name, name);
        struct psc_error why;
        status = psc_pool_weight(pool, part, &ret->at[k], &why);
        if (status)
            return psc_fail(reterr, status, "node %llu (%s) needs the weight '%s' on %s: %s", (unsigned long long)node->id,
                            node->op_name, name, pool->api->name, why.text);
    }
    return status;
}

static bool has_weights(const struct psc_params *p)
{
    return p->weight || p->bias[0] || p->bias[1] || p->bias[2] || p->q_norm || p->k_norm;
}

static enum psc_status load_node(struct psc_session *s, struct psc_mapped *mapped, psc_node i, uint8_t backend,
                                 struct psc_error *reterr)
{
    const struct psc_node_info *node = &mapped->graph->nodes[i];
    const struct psc_params *p = node->params;
    struct psc_pool *pool = &s->pools[mapped->pool_of[backend < mapped->graph->backend_n ? backend : mapped->graph->backend_n]];
    struct psc_node_weights *w = psc_arena_alloc0(&mapped->arena, 1, sizeof *w);
    bool norm = node->op == PSC_OP_RMS_NORM || node->op == PSC_OP_QK_NORM;
    enum psc_status status;
    if (!w)
        return psc_fail_nomem(reterr);
    mapped->weights[i] = w;
    status = load_weight(s, pool, node, p->weight, &w->weight, reterr);
    for (uint32_t k = 0; !status && k < 3; k++)
        status = load_weight(s, pool, node, p->bias[k], norm && !k ? &w->norm_bias : &w->bias[k], reterr);
    if (!status)
        status = load_weight(s, pool, node, p->q_norm, &w->q_norm, reterr);
    if (!status)
        status = load_weight(s, pool, node, p->k_norm, &w->k_norm, reterr);
    return status;
}

/* Nodes that nobody reads are not run and need none. */
static bool may_run(const struct psc_node_info *node)
{
    return node->reader_n || node->is_output || psc_op_info(node->op)->stores_kv;
}

static enum psc_status load_weights(struct psc_session *s, struct psc_mapped *mapped, struct psc_error *reterr)
{
    const struct psc_graph *graph = mapped->graph;
    const struct psc_split *splits = NULL;
    uint32_t split_n = 0;
    enum psc_status status = psc_graph_splits(&mapped->arena, graph, &splits, &split_n);
    mapped->weights = psc_arena_alloc0(&mapped->arena, graph->n, sizeof *mapped->weights);
    if (status || !mapped->weights)
        return psc_fail_nomem(reterr);
    mapped->recorded = psc_arena_alloc0(&mapped->arena, split_n, sizeof *mapped->recorded);
    mapped->recorded_n = split_n;
    if (!mapped->recorded)
        return psc_fail_nomem(reterr);
    for (uint32_t k = 0; k < split_n; k++)
        for (psc_node i = splits[k].first; !status && i <= splits[k].last; i++)
            if (has_weights(graph->nodes[i].params) && may_run(&graph->nodes[i]))
                status = load_node(s, mapped, i, splits[k].backend, reterr);
    return status;
}

static enum psc_status build_graph(struct psc_session *s, struct psc_mapped *mapped, psc_graph_build_fn build, void *ctx,
                                   struct psc_error *reterr)
{
    enum psc_status status = build(ctx, &mapped->arena, &mapped->key, &mapped->graph, reterr);
    if (!status)
        status = find_pools(s, mapped, reterr);
    if (!status)
        status = load_weights(s, mapped, reterr);
    return status;
}

enum psc_status psc_session_build(struct psc_session *s, const struct psc_graph_key *key, psc_graph_build_fn build, void *ctx,
                                  struct psc_mapped **ret, struct psc_error *reterr)
{
    struct psc_mapped *mapped = psc_alloc0(1, sizeof *mapped);
    enum psc_status status;
    if (!mapped)
        return psc_fail_nomem(reterr);
    mapped->key = *key;
    mapped->uid = s->uid + 1;
    status = build_graph(s, mapped, build, ctx, reterr);
    if (status)
        psc_mapped_free(mapped);
    else
        *ret = mapped;
    return status;
}

/* ---- planning ----------------------------------------------------------------------------------------------------- */

static struct psc_pool_item item_of(const struct psc_session *s, const struct psc_mapped *mapped, uint32_t backend, uint32_t id,
                                    uint64_t base)
{
    const struct psc_pool_buffer *b = &s->pools[mapped->pool_of[backend]].slots[id].b;
    struct psc_pool_item item = {.backend = psc_pool_backend_name(mapped->graph, (uint8_t)backend), .id = id, .bytes = b->bytes,
                                 .base = base, .role = b->role, .layer = -1, .node = PSC_NONE};
    if ((b->role == PSC_ROLE_PERSISTENT && psc_session_fault(s, PSC_RUN_L13)) || (b->role == PSC_ROLE_POOL && s->moving))
        item.role = PSC_ROLE_STAGING; /* something of another graph's */
    return item;
}

/* Says which of this graph's nodes each staging buffer is for. first: item of each backend's id 0. */
static void name_staging(const struct psc_session *s, const struct psc_mapped *mapped, struct psc_pool_item *items,
                         const uint32_t *first, uint32_t backend_n)
{
    for (size_t k = 0; k < s->staging.n; k++)
        for (uint32_t b = 0; b < backend_n; b++) {
            const struct psc_staged *staged = &s->staging.items[k];
            if (staged->key >> 32 == mapped->uid && (uint8_t)staged->key == mapped->pool_of[b])
                items[first[b] + staged->id].node = staged->key >> 8 & 0xffffff;
        }
}

/* Says which layer each region is of. */
static void name_regions(const struct psc_session *s, const struct psc_mapped *mapped, struct psc_pool_item *items,
                         const uint32_t *first, uint32_t backend_n)
{
    for (size_t k = 0; k < s->region_n; k++)
        for (uint32_t b = 0; b < backend_n; b++) {
            const struct psc_kv_region *region = &s->regions[k];
            if (mapped->pool_of[b] != region->pool)
                continue;
            items[first[b] + region->k].layer = items[first[b] + region->v].layer = region->layer;
            items[first[b] + region->v].slot = 1;
        }
}

/* The pools as a planner wants them. With fault l13 it is not told of regions and does not see that they differ. */
static enum psc_status describe_pools(const struct psc_session *s, const struct psc_mapped *mapped, struct psc_arena *arena,
                                      struct psc_pool_state *ret, struct psc_error *reterr)
{
    uint32_t backend_n = mapped->graph->backend_n ? mapped->graph->backend_n : 1, n = 0;
    struct psc_pool_item *items;
    struct psc_budget *budgets = psc_arena_alloc0(arena, backend_n, sizeof *budgets);
    uint32_t *first = psc_arena_alloc0(arena, backend_n, sizeof *first);
    for (uint32_t b = 0; b < backend_n; b++)
        n += s->pools[mapped->pool_of[b]].n;
    items = psc_arena_alloc0(arena, n, sizeof *items);
    if (!items || !budgets || !first)
        return psc_fail_nomem(reterr);
    *ret = (struct psc_pool_state){.items = items, .budgets = budgets};
    for (uint32_t b = 0; b < backend_n; b++) {
        const struct psc_pool *pool = &s->pools[mapped->pool_of[b]];
        uint64_t base = 0;
        first[b] = ret->n;
        for (uint32_t id = 0; id < pool->n; id++) {
            items[ret->n++] = item_of(s, mapped, b, id, base);
            base += pool->slots[id].b.bytes;
        }
        if (pool->figures.budget != UINT64_MAX)
            budgets[ret->budget_n++] = (struct psc_budget){psc_pool_backend_name(mapped->graph, (uint8_t)b),
                                                           pool->figures.budget, pool->figures.weight_bytes};
    }
    name_regions(s, mapped, items, first, backend_n);
    name_staging(s, mapped, items, first, backend_n);
    return PSC_OK;
}

static enum psc_status plan_graph(struct psc_session *s, const struct psc_mapped *mapped, struct psc_arena *arena,
                                  struct psc_plan **ret, struct psc_error *reterr)
{
    const struct psc_planner *planner = s->options.planner ? s->options.planner : psc_planner_find("pool");
    struct psc_plan_options options = s->options.plan;
    struct psc_pool_state state;
    enum psc_status status = describe_pools(s, mapped, arena, &state, reterr);
    options.pool = &state;
    if (psc_session_fault(s, PSC_RUN_H5))
        options.faults |= PSC_FAULT_BIT(PSC_FAULT_H5);
    const struct psc_graph *graph = mapped->graph;
    const struct psc_capacity *unknown = psc_capacity_unknown(&options, &graph, 1);
    if (!status && unknown)
        status = psc_capacity_refuse(unknown, &graph, 1, reterr);
    if (!status)
        status = planner->plan(arena, mapped->graph, &options, ret, reterr);
    return status;
}

/* ---- mapping -------------------------------------------------------------------------------------------------------- */

#ifndef NDEBUG
/* Every plan is a story that could be told. */
static enum psc_status check_story(const struct psc_mapped *mapped, const struct psc_plan *plan, struct psc_error *reterr)
{
    struct psc_arena arena = {0};
    struct psc_story *story;
    enum psc_status status = psc_plan_lower(&arena, mapped->graph, plan, &story, reterr);
    if (!status)
        status = psc_story_check(story, reterr);
    psc_arena_release(&arena);
    return status;
}
#else
#define check_story(mapped, plan, reterr) PSC_OK
#endif

static enum psc_status bind(struct psc_session *s, const struct psc_mapped *mapped, struct psc_plan *plan,
                            const struct psc_mapping *mapping, struct psc_arena *arena, struct psc_program **ret,
                            struct psc_error *reterr)
{
    struct psc_binding binding = {
        .graph = mapped->graph, .plan = plan, .pools = s->pools, .pool_of = mapped->pool_of, .ids = mapping->ids,
        .layers = mapping->layers, .weights = mapped->weights, .recycled = s->options.recycled,
        .snapshot = s->options.snapshot, .unbounded_rows = psc_session_fault(s, PSC_RUN_L15),
        .one_staging = psc_session_fault(s, PSC_RUN_L9), .faults = s->options.call_faults,
    };
    enum psc_status status = psc_program_build(arena, &binding, ret, reterr);
    void *bounce;
    if (!status)
        status = psc_mapping_name(s, mapped, arena, plan, mapping, reterr);
    if (!status)
        status = check_story(mapped, plan, reterr);
    if (status || (*ret)->bounce_bytes <= s->bounce_bytes)
        return status;
    bounce = psc_realloc(s->bounce, (*ret)->bounce_bytes);
    if (!bounce)
        return psc_fail_nomem(reterr);
    s->bounce = bounce;
    s->bounce_bytes = (*ret)->bounce_bytes;
    return PSC_OK;
}

enum psc_status psc_session_map(struct psc_session *s, struct psc_mapped *mapped, struct psc_error *reterr)
{
    struct psc_arena arena = {0};
    struct psc_plan *plan = NULL;
    struct psc_program *program = NULL;
    struct psc_mapping mapping;
    enum psc_status status = plan_graph(s, mapped, &arena, &plan, reterr);
    if (!status)
        status = psc_mapping_make(s, mapped, plan, &arena, &mapping, reterr);
    if (!status) {
        status = bind(s, mapped, plan, &mapping, &arena, &program, reterr);
        if (status)
            psc_mapping_undo(s, &mapping);
    }
    if (status) {
        psc_arena_release(&arena);
        return status;
    }
    psc_mapping_commit(s, mapped, plan, &mapping);
    if (s->arena)
        psc_arena_memory_mapped(s->arena, mapped->program);
    psc_arena_release(&mapped->plan_arena);
    mapped->plan_arena = arena;
    mapped->plan = plan;
    mapped->program = program;
    return PSC_OK;
}
