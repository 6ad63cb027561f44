#include "core/graph/graph.h"

/* What follows from the op alone. */
static void look_up_ops(uint8_t flags[PSC_OP_N])
{
    for (int op = 0; op < PSC_OP_N; op++) {
        const struct psc_op_info *info = psc_op_info((enum psc_op)op);
        flags[op] = (uint8_t)((info->is_kv ? PSC_DIGEST_KV : 0) | (info->stores_kv ? PSC_DIGEST_STORES : 0) |
                              (info->upstream_alias & 1 ? PSC_DIGEST_IN_PLACE : 0));
    }
    flags[PSC_OP_INPUT] = PSC_DIGEST_FILLED;
}

static struct psc_digest_node digest_of(const struct psc_node_info *node, uint8_t flags)
{
    flags |= node->is_input ? PSC_DIGEST_FILLED : 0;
    flags |= node->is_output ? PSC_DIGEST_OUTPUT : 0;
    return (struct psc_digest_node){
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

static bool list_kv(struct psc_arena *arena, struct psc_graph *g)
{
    psc_node *kv = psc_arena_alloc(arena, g->kv_n, sizeof *kv);
    if (!kv)
        return false;
    for (psc_node i = 0, n = 0; n < g->kv_n; i++)
        if (g->digests[i].flags & (PSC_DIGEST_KV | PSC_DIGEST_STORES))
            kv[n++] = i;
    g->kv = kv;
    return true;
}

bool psc_graph_digest(struct psc_arena *arena, struct psc_graph *g)
{
    struct psc_digest_node *to = psc_arena_alloc(arena, g->n, sizeof *to);
    uint8_t flags[PSC_OP_N];
    if (!to)
        return false;
    look_up_ops(flags);
    g->digests = to;
    g->kv_n = g->unlisted_n = 0;
    g->has_views = g->has_unassigned = false;
    g->has_one_backend = true;
    for (psc_node i = 0; i < g->n; i++) {
        const struct psc_node_info *node = &g->nodes[i];
        to[i] = digest_of(node, flags[node->op]);
        g->kv_n += (to[i].flags & (PSC_DIGEST_KV | PSC_DIGEST_STORES)) != 0;
        g->unlisted_n += node->op == PSC_OP_INPUT && !node->is_input;
        g->has_views |= node->parent != PSC_NONE;
        g->has_unassigned |= node->backend == PSC_BACKEND_NONE;
        g->has_one_backend &= node->backend == g->nodes[0].backend;
    }
    return list_kv(arena, g);
}
