#include "core/plan/digest.h"

#include <string.h>

static bool list_filled(const struct psc_graph *graph, struct psc_arena *scratch, struct psc_digest *ret)
{
    psc_node *filled;
    ret->filled = graph->inputs;
    ret->filled_n = graph->input_n;
    if (!graph->unlisted_n)
        return true;
    filled = psc_arena_alloc(scratch, (size_t)graph->input_n + graph->unlisted_n, sizeof *filled);
    if (!filled)
        return false;
    if (graph->input_n)
        memcpy(filled, graph->inputs, graph->input_n * sizeof *filled);
    for (psc_node i = 0; i < graph->n; i++)
        if (graph->nodes[i].op == PSC_OP_INPUT && !graph->nodes[i].is_input)
            filled[ret->filled_n++] = i;
    ret->filled = filled;
    return true;
}

/* A graph on one backend is one split, which nothing crosses. */
static bool find_splits(const struct psc_graph *graph, struct psc_arena *arena, struct psc_digest *ret)
{
    struct psc_split *split;
    if (!graph->n || !graph->has_one_backend || (graph->has_unassigned && graph->backend_n))
        return !psc_graph_splits(arena, graph, &ret->splits, &ret->split_n);
    split = psc_arena_alloc0(arena, 1, sizeof *split);
    if (!split)
        return false;
    split->backend = graph->nodes[0].backend;
    split->last = graph->n - 1;
    ret->splits = split;
    ret->split_n = 1;
    return true;
}

static bool assign(const struct psc_graph *graph, struct psc_arena *scratch, struct psc_digest *ret)
{
    struct psc_digest_node *nodes;
    ret->nodes = graph->digests;
    if (!graph->has_unassigned || !graph->backend_n)
        return true;
    nodes = psc_arena_alloc(scratch, graph->n, sizeof *nodes);
    if (!nodes)
        return false;
    memcpy(nodes, graph->digests, graph->n * sizeof *nodes);
    for (uint32_t k = 0; k < ret->split_n; k++)
        for (psc_node i = ret->splits[k].first; i <= ret->splits[k].last; i++)
            nodes[i].backend = ret->splits[k].backend;
    ret->nodes = nodes;
    return true;
}

enum psc_status psc_digest_build(struct psc_arena *arena, struct psc_arena *scratch, const struct psc_graph *graph,
                                 struct psc_digest *ret)
{
    struct psc_digest digest = {.n = graph->n, .has_views = graph->has_views, .kv = graph->kv, .kv_n = graph->kv_n};
    if (!list_filled(graph, scratch, &digest) || !find_splits(graph, arena, &digest) || !assign(graph, scratch, &digest))
        return PSC_ERR_NOMEM;
    *ret = digest;
    return PSC_OK;
}
