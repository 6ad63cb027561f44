#include "core/graph/copy.h"

#include <string.h>

struct copying {
    struct psc_arena *arena;
    bool failed;
};

static const void *block(struct copying *c, const void *from, size_t n, size_t size)
{
    if (!from)
        return NULL;
    void *to = psc_arena_alloc(c->arena, n, size);
    if (!to)
        c->failed = true;
    else if (n)
        memcpy(to, from, n * size);
    return to;
}

static const char *text(struct copying *c, const char *from)
{
    const char *to = psc_arena_strdup(c->arena, from);
    c->failed = c->failed || (from && !to);
    return to;
}

static const struct psc_params *params(struct copying *c, const struct psc_params *from)
{
    struct psc_params *to = psc_arena_alloc(c->arena, 1, sizeof *to);
    if (!to) {
        c->failed = true;
        return from;
    }
    *to = *from;
    to->weight = text(c, from->weight);
    to->wtype = text(c, from->wtype);
    for (int i = 0; i < 3; i++)
        to->bias[i] = text(c, from->bias[i]);
    to->q_norm = text(c, from->q_norm);
    to->k_norm = text(c, from->k_norm);
    return to;
}

static void copy_nodes(struct copying *c, const struct psc_graph *graph, struct psc_node_info *to)
{
    for (psc_node i = 0; i < graph->n && !c->failed; i++) {
        const struct psc_node_info *from = &graph->nodes[i];
        to[i] = *from;
        to[i].name = text(c, from->name);
        to[i].op_name = text(c, from->op_name);
        to[i].dtype_name = text(c, from->dtype_name);
        to[i].detail_json = text(c, from->detail_json);
        to[i].meta_json = text(c, from->meta_json);
        to[i].extra_json = text(c, from->extra_json);
        /* nodes without payload share one zero */
        to[i].params = i && from->params == graph->nodes[i - 1].params ? to[i - 1].params : params(c, from->params);
    }
}

enum psc_status psc_graph_copy(struct psc_arena *arena, const struct psc_graph *graph, struct psc_graph **ret,
                               struct psc_error *reterr)
{
    struct copying c = {arena, false};
    struct psc_arena_mark mark = psc_arena_mark(arena);
    struct psc_graph *to = psc_arena_alloc(arena, 1, sizeof *to);
    struct psc_node_info *nodes = psc_arena_alloc(arena, graph->n, sizeof *nodes);
    const char **backends = psc_arena_alloc(arena, graph->backend_n, sizeof *backends);
    c.failed = !to || !nodes || !backends;
    if (!c.failed) {
        *to = *graph;
        copy_nodes(&c, graph, nodes);
        for (uint32_t i = 0; i < graph->backend_n; i++)
            backends[i] = text(&c, graph->backends[i]);
        to->nodes = nodes;
        to->digests = block(&c, graph->digests, graph->n, sizeof *graph->digests);
        to->kv = block(&c, graph->kv, graph->kv_n, sizeof *graph->kv);
        to->backends = backends;
        to->srcs = block(&c, graph->srcs, graph->src_total, sizeof *graph->srcs);
        to->order_srcs = block(&c, graph->order_srcs, graph->order_total, sizeof *graph->order_srcs);
        to->inputs = block(&c, graph->inputs, graph->input_n, sizeof *graph->inputs);
        to->outputs = block(&c, graph->outputs, graph->output_n, sizeof *graph->outputs);
        to->reader_at = block(&c, graph->reader_at, (size_t)graph->n + 1, sizeof *graph->reader_at);
        to->readers = block(&c, graph->readers, graph->src_total, sizeof *graph->readers);
        to->by_id = block(&c, graph->by_id, graph->n, sizeof *graph->by_id);
        to->kind = text(&c, graph->kind);
        to->model = text(&c, graph->model);
        to->extra_json = text(&c, graph->extra_json);
    }
    if (c.failed) {
        psc_arena_rewind(arena, mark);
        return psc_fail_nomem(reterr);
    }
    *ret = to;
    return PSC_OK;
}
