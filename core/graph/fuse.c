#include "core/graph/fuse.h"

#include "core/graph/edges.h"

#include <string.h>

/* Which operand of the mul is the silu, PSC_NONE when the pattern or the guard fails. */
static uint32_t silu_of(const struct psc_graph *graph, psc_node i, const bool *fuses)
{
    const struct psc_node_info *node = &graph->nodes[i];
    const psc_node *src = psc_node_srcs(graph, i);
    if (node->op != PSC_OP_MUL || node->src_n != 2 || node->backend == PSC_BACKEND_NONE || !fuses[node->backend])
        return PSC_NONE;
    for (uint32_t k = 0; k < 2; k++)
        if (graph->nodes[src[k]].op == PSC_OP_SILU && graph->nodes[src[k]].src_n)
            return k;
    return PSC_NONE;
}

/* fuses[b]: the target behind backend b of the graph takes swiglu. */
static void find_fusing(const struct psc_graph *graph, const struct psc_target *targets, uint32_t n, bool *fuses)
{
    static const struct psc_params none;
    for (uint32_t b = 0; b < graph->backend_n; b++) {
        uint32_t at = psc_target_find(targets, n, graph->backends[b]);
        fuses[b] = at != PSC_NONE && (!targets[at].takes || targets[at].takes(PSC_OP_SWIGLU, PSC_F32, &none));
    }
}

static uint32_t rewrite(const struct psc_graph *graph, const bool *fuses, struct psc_node_info *nodes, psc_node *srcs)
{
    uint32_t n = 0;
    for (psc_node i = 0; i < graph->n; i++) {
        uint32_t k = silu_of(graph, i, fuses); /* of the old graph: the matcher sees no half-changed one */
        if (k == PSC_NONE)
            continue;
        const psc_node *src = psc_node_srcs(graph, i);
        psc_node silu = src[k], gate = psc_node_srcs(graph, silu)[0];
        nodes[i].op = PSC_OP_SWIGLU;
        nodes[i].op_name = psc_op_info(PSC_OP_SWIGLU)->name;
        srcs[nodes[i].src_at] = gate;
        srcs[nodes[i].src_at + 1] = src[1 - k];
        nodes[silu].reader_n--;
        nodes[gate].reader_n++;
        n++;
    }
    return n;
}

/* The readers of the new graph; false when out of memory. */
static bool read_again(struct psc_arena *arena, struct psc_graph *graph)
{
    struct psc_arena scratch = {0};
    struct psc_edges readers = {0};
    uint32_t *at = psc_arena_alloc(&scratch, (size_t)graph->n + 1, sizeof *at);
    bool fine = false;
    if (at) {
        for (psc_node i = 0; i < graph->n; i++)
            at[i] = graph->nodes[i].src_at;
        at[graph->n] = graph->src_total;
        fine = psc_edges_reverse(arena, &(struct psc_edges){graph->n, at, graph->srcs}, &readers);
    }
    psc_arena_release(&scratch);
    graph->reader_at = readers.at;
    graph->readers = readers.to;
    return fine;
}

enum psc_status psc_graph_fuse(struct psc_arena *arena, const struct psc_graph *graph,
                               const struct psc_target *targets, uint32_t target_n, struct psc_graph **ret,
                               uint32_t *ret_n, struct psc_error *reterr)
{
    struct psc_arena_mark mark = psc_arena_mark(arena);
    struct psc_graph *made = psc_arena_alloc(arena, 1, sizeof *made);
    struct psc_node_info *nodes = psc_arena_alloc(arena, graph->n, sizeof *nodes);
    psc_node *srcs = psc_arena_alloc(arena, graph->src_total, sizeof *srcs);
    bool fuses[PSC_BACKEND_NONE] = {false};
    uint32_t n = 0;
    if (made && nodes && srcs) {
        *made = *graph;
        if (graph->n)
            memcpy(nodes, graph->nodes, graph->n * sizeof *nodes);
        if (graph->src_total)
            memcpy(srcs, graph->srcs, graph->src_total * sizeof *srcs);
        find_fusing(graph, targets, target_n, fuses);
        n = rewrite(graph, fuses, nodes, srcs);
        made->nodes = nodes;
        made->srcs = srcs;
    }
    if (!made || !nodes || !srcs || (n && (!read_again(arena, made) || !psc_graph_digest(arena, made)))) {
        psc_arena_rewind(arena, mark);
        return psc_fail_nomem(reterr);
    }
    *ret = made;
    if (ret_n)
        *ret_n = n;
    return PSC_OK;
}
