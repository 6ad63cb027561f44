/* The hashes of a step, node by node, for whoever compares runs. */
#include "core/run/recorder-private.h"

static void mix(uint64_t *hash, bool *has, uint64_t with)
{
    *hash = psc_hash_mix(*hash ^ with) + 1;
    *has = true;
}

static void blame(struct psc_hashed *to, enum psc_hashed_wrong wrong, psc_node value, uint32_t operand)
{
    if (to->wrong != PSC_HASHED_SOUND)
        return;
    to->wrong = wrong;
    to->value = value;
    to->operand = operand;
}

/* Operands of a node, or the outputs that the host reads. */
static void add_reads(const struct psc_recorder *r, psc_node i, struct psc_hashed *to)
{
    const struct psc_look *look = &r->phase.look;
    const struct psc_graph *graph = r->phase.graph;
    bool host = i == graph->n;
    uint32_t at = host ? graph->src_total : graph->nodes[i].src_at, n = host ? graph->output_n : graph->nodes[i].src_n;
    for (uint32_t k = 0; k < n; k++) {
        psc_node source = host ? graph->outputs[k] : graph->srcs[at + k];
        uint32_t w = host ? look->window_of[source] : look->reads[at + k].window;
        if (!look->asked[at + k])
            continue;
        psc_node owner = w == PSC_NONE ? source : look->windows[w].owner;
        mix(&to->read, &to->reads, look->found[at + k] ^ psc_hash_mix(k + 1));
        bool known = w != PSC_NONE && look->known[w]; /* what lies nowhere nobody wrote */
        if (known && look->found[at + k] != look->expected[w])
            blame(to, PSC_HASHED_MEMORY, owner, host ? 0 : k);
        else if (!known)
            blame(to, PSC_HASHED_UNFILLED, owner, host ? 0 : k);
    }
}

/* When all that it read was sound, it may still have written over it while it read. */
static void add_overlaps(const struct psc_recorder *r, psc_node i, struct psc_hashed *to)
{
    const struct psc_look *look = &r->phase.look;
    const struct psc_node_info *node = &r->phase.graph->nodes[i];
    for (uint32_t k = 0; k < node->src_n; k++)
        if (look->under[node->src_at + k])
            blame(to, PSC_HASHED_OVERLAP, r->phase.graph->srcs[node->src_at + k], k);
}

static void add_rows(const struct psc_recorder *r, struct psc_hashed *nodes)
{
    for (size_t i = 0; i < r->compared_n; i++) {
        const struct psc_kv_compared *c = &r->compared[i];
        struct psc_hashed *to = &nodes[c->reader];
        mix(&to->read, &to->reads, *c->found);
        if (*c->found != (c->pending ? *c->pending : c->expected))
            blame(to, PSC_HASHED_MEMORY, c->writer < r->phase.graph->n ? c->writer : c->reader, c->operand);
    }
    for (size_t i = 0; i < r->row_n; i++)
        if (r->rows[i].unwritten)
            blame(&nodes[r->rows[i].node], PSC_HASHED_UNWRITTEN, r->rows[i].node, 0);
    for (size_t i = 0; i < r->stored_n; i++)
        mix(&nodes[r->stored[i].node].wrote, &nodes[r->stored[i].node].writes, *r->stored[i].hash);
}

enum psc_status psc_rec_hashed(struct psc_recorder *r, struct psc_error *reterr)
{
    const struct psc_look *look = &r->phase.look;
    const struct psc_graph *graph = r->phase.graph;
    struct psc_hashed *nodes = psc_arena_alloc0(&r->content_arena, (size_t)graph->n + 1, sizeof *nodes);
    if (!nodes)
        return psc_fail_nomem(reterr);
    for (psc_node i = 0; i <= graph->n; i++) {
        uint32_t w = i < graph->n && look->hash_owner[i] == i ? look->window_of[i] : PSC_NONE;
        add_reads(r, i, &nodes[i]);
        if (w != PSC_NONE && look->known[w])
            mix(&nodes[i].wrote, &nodes[i].writes, look->expected[w]);
    }
    nodes[graph->n].wrote = nodes[graph->n].read; /* what the host got is what comes out of the run */
    nodes[graph->n].writes = nodes[graph->n].reads;
    add_rows(r, nodes);
    for (psc_node i = 0; i < graph->n; i++)
        add_overlaps(r, i, &nodes[i]);
    return r->options.hashed(r->options.hashed_ctx, r->phase.index, graph, nodes) ? PSC_OK : psc_fail_nomem(reterr);
}
