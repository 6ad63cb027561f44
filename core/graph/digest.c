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

/* Field by field: a structure that is returned is built of small parts and then read as a whole, which the processor waits for. */
static inline void digest_node(struct psc_digest_node *to, const struct psc_node_info *node, uint8_t flags)
{
    flags |= node->is_input ? PSC_DIGEST_FILLED : 0;
    flags |= node->is_output ? PSC_DIGEST_OUTPUT : 0;
    to->bytes = node->bytes;
    to->src_at = node->src_at;
    to->src_n = node->src_n;
    to->parent = node->parent;
    to->root = node->root;
    to->reader_n = node->reader_n;
    to->op = (uint8_t)node->op;
    to->backend = node->backend;
    to->flags = flags;
    to->pad = 0;
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
    uint8_t flags[PSC_OP_N], backend = g->n ? g->nodes[0].backend : PSC_BACKEND_NONE;
    uint32_t n = g->n, kv_n = 0, unlisted_n = 0; /* not in the graph while nodes are written, which could be the same bytes */
    bool views = false, unassigned = false, one_backend = true;
    if (!to)
        return false;
    look_up_ops(flags);
    for (psc_node i = 0; i < n; i++) {
        const struct psc_node_info *node = &g->nodes[i];
        digest_node(&to[i], node, flags[node->op]);
        kv_n += (flags[node->op] & (PSC_DIGEST_KV | PSC_DIGEST_STORES)) != 0;
        unlisted_n += (node->op == PSC_OP_INPUT) & !node->is_input;
        views |= node->parent != PSC_NONE;
        unassigned |= node->backend == PSC_BACKEND_NONE;
        one_backend &= node->backend == backend;
    }
    g->digests = to;
    g->kv_n = kv_n;
    g->unlisted_n = unlisted_n;
    g->has_views = views;
    g->has_unassigned = unassigned;
    g->has_one_backend = one_backend;
    return list_kv(arena, g);
}
