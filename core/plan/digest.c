#include "core/plan/digest.h"

#include <string.h>

struct packing {
    const struct psc_graph *graph;
    struct psc_digest_node *nodes;
    uint8_t flags[PSC_OP_N]; /* what follows from the op alone */
    uint32_t unlisted_n, kv_n;
    bool has_views, one_backend;
};

static void look_up_ops(struct packing *p)
{
    for (int op = 0; op < PSC_OP_N; op++) {
        const struct psc_op_info *info = psc_op_info((enum psc_op)op);
        p->flags[op] = (uint8_t)((info->is_kv ? PSC_DIGEST_KV : 0) | (info->stores_kv ? PSC_DIGEST_STORES : 0) |
                                 (info->upstream_alias & 1 ? PSC_DIGEST_IN_PLACE : 0));
    }
    p->flags[PSC_OP_INPUT] = PSC_DIGEST_FILLED;
}

static void pack(struct packing *p)
{
    uint8_t backend = p->graph->n ? p->graph->nodes[0].backend : PSC_BACKEND_NONE;
    p->one_backend = true;
    for (psc_node i = 0; i < p->graph->n; i++) {
        const struct psc_node_info *node = &p->graph->nodes[i];
        uint8_t flags = p->flags[node->op];
        p->unlisted_n += node->op == PSC_OP_INPUT && !node->is_input;
        p->kv_n += (flags & (PSC_DIGEST_KV | PSC_DIGEST_STORES)) != 0;
        p->has_views |= node->parent != PSC_NONE;
        p->one_backend &= node->backend == backend;
        flags |= node->is_input ? PSC_DIGEST_FILLED : 0;
        flags |= node->is_output ? PSC_DIGEST_OUTPUT : 0;
        p->nodes[i] = (struct psc_digest_node){
            .bytes = node->bytes,
            .src_at = node->src_at,
            .src_n = node->src_n,
            .parent = node->parent,
            .root = node->root,
            .reader_n = node->reader_n,
            .op = (uint8_t)node->op,
            .backend = node->backend,
            .flags = flags,
        };
    }
}

static bool list_filled(const struct packing *p, struct psc_arena *scratch, struct psc_digest *ret)
{
    const struct psc_graph *graph = p->graph;
    psc_node *filled;
    ret->filled = graph->inputs;
    ret->filled_n = graph->input_n;
    if (!p->unlisted_n)
        return true;
    filled = psc_arena_alloc(scratch, (size_t)graph->input_n + p->unlisted_n, sizeof *filled);
    if (!filled)
        return false;
    if (graph->input_n)
        memcpy(filled, graph->inputs, graph->input_n * sizeof *filled);
    for (psc_node i = 0; i < graph->n; i++)
        if (p->nodes[i].op == PSC_OP_INPUT && !graph->nodes[i].is_input)
            filled[ret->filled_n++] = i;
    ret->filled = filled;
    return true;
}

static bool list_kv(const struct packing *p, struct psc_arena *scratch, struct psc_digest *ret)
{
    psc_node *kv = psc_arena_alloc(scratch, p->kv_n, sizeof *kv);
    if (!kv)
        return false;
    for (psc_node i = 0; ret->kv_n < p->kv_n; i++)
        if (p->nodes[i].flags & (PSC_DIGEST_KV | PSC_DIGEST_STORES))
            kv[ret->kv_n++] = i;
    ret->kv = kv;
    return true;
}

/* A graph on one backend is one split, which nothing crosses. */
static bool find_splits(const struct packing *p, struct psc_arena *arena, struct psc_digest *ret)
{
    const struct psc_graph *graph = p->graph;
    if (graph->n && p->one_backend && (graph->nodes[0].backend != PSC_BACKEND_NONE || !graph->backend_n)) {
        struct psc_split *split = psc_arena_alloc0(arena, 1, sizeof *split);
        if (!split)
            return false;
        split->backend = graph->nodes[0].backend;
        split->last = graph->n - 1;
        ret->splits = split;
        ret->split_n = 1;
        return true;
    }
    if (psc_graph_splits(arena, graph, &ret->splits, &ret->split_n))
        return false;
    for (uint32_t k = 0; k < ret->split_n; k++)
        for (psc_node i = ret->splits[k].first; i <= ret->splits[k].last; i++)
            p->nodes[i].backend = ret->splits[k].backend;
    return true;
}

enum psc_status psc_digest_build(struct psc_arena *arena, struct psc_arena *scratch, const struct psc_graph *graph,
                                 struct psc_digest *ret)
{
    struct packing p = {.graph = graph};
    struct psc_digest digest = {.n = graph->n};
    p.nodes = psc_arena_alloc(scratch, graph->n, sizeof *p.nodes);
    if (!p.nodes)
        return PSC_ERR_NOMEM;
    look_up_ops(&p);
    pack(&p);
    digest.nodes = p.nodes;
    digest.has_views = p.has_views;
    if (!list_filled(&p, scratch, &digest) || !list_kv(&p, scratch, &digest) || !find_splits(&p, arena, &digest))
        return PSC_ERR_NOMEM;
    *ret = digest;
    return PSC_OK;
}
