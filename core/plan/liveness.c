#include "core/plan/liveness.h"

#include <string.h>

/* first[node] = its place in the order. */
static enum psc_status place_nodes(struct psc_lives *lives, const psc_node *order, struct psc_error *reterr)
{
    if (!order) {
        for (uint32_t i = 0; i < lives->n; i++)
            lives->first[i] = (int32_t)i;
        return PSC_OK;
    }
    memset(lives->first, 0xff, lives->n * sizeof *lives->first);
    for (uint32_t i = 0; i < lives->n; i++) {
        if (order[i] >= lives->n || lives->first[order[i]] != -1)
            return psc_fail(reterr, PSC_ERR_ORDER, "place %u of the order names node %u, which is %s", i, order[i],
                            order[i] >= lives->n ? "not in the graph" : "named before");
        lives->first[order[i]] = (int32_t)i;
    }
    return PSC_OK;
}

/* last[node] = the place of its last reader, or its own. */
static enum psc_status reach_readers(struct psc_lives *lives, const struct psc_graph *graph, const psc_node *order,
                                     struct psc_error *reterr)
{
    for (psc_node i = 0; i < graph->n; i++) {
        uint32_t from = graph->reader_at[i], to = graph->reader_at[i + 1];
        int32_t last = lives->first[i];
        if (!order && from < to) /* readers ascend */
            last = (int32_t)graph->readers[to - 1];
        for (uint32_t k = from; order && k < to; k++) {
            psc_node reader = graph->readers[k];
            if (lives->first[reader] <= lives->first[i])
                return psc_fail(reterr, PSC_ERR_ORDER, "the order runs node %u at place %d, before its operand %u "
                                "at place %d", reader, lives->first[reader], i, lives->first[i]);
            if (lives->first[reader] > last)
                last = lives->first[reader];
        }
        lives->last[i] = last;
    }
    return PSC_OK;
}

enum psc_status psc_lives_build(struct psc_arena *arena, const struct psc_graph *graph, const psc_node *order,
                                unsigned pins, struct psc_lives *ret, struct psc_error *reterr)
{
    struct psc_lives lives = {.n = graph->n};
    enum psc_status status;
    lives.first = psc_arena_alloc(arena, lives.n, sizeof *lives.first);
    lives.last = psc_arena_alloc(arena, lives.n, sizeof *lives.last);
    if (!lives.first || !lives.last)
        return psc_fail_nomem(reterr);
    status = place_nodes(&lives, order, reterr);
    if (!status)
        status = reach_readers(&lives, graph, order, reterr);
    if (status)
        return status;
    if (pins & PSC_PIN_OUTPUTS)
        psc_lives_pin(&lives, graph->outputs, graph->output_n);
    for (psc_node i = 0; pins & PSC_PIN_INPUTS && i < graph->n; i++)
        if (psc_node_is_filled(&graph->nodes[i]))
            lives.last[i] = (int32_t)lives.n;
    *ret = lives;
    return PSC_OK;
}

void psc_lives_pin(struct psc_lives *lives, const psc_node *nodes, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++)
        lives->last[nodes[k]] = (int32_t)lives->n;
}

void psc_lives_fold_views(struct psc_lives *lives, const struct psc_graph *graph, const psc_node *order)
{
    for (uint32_t k = lives->n; k-- > 0;) {
        psc_node i = order ? order[k] : k;
        psc_node parent = graph->nodes[i].parent;
        if (parent != PSC_NONE && lives->last[parent] < lives->last[i])
            lives->last[parent] = lives->last[i];
    }
}

bool psc_lives_check(const struct psc_lives *lives, const struct psc_graph *graph, unsigned pins)
{
    int32_t n = (int32_t)graph->n;
    for (psc_node i = 0; i < graph->n; i++) {
        const psc_node *src = psc_node_srcs(graph, i);
        if (lives->first[i] < 0 || lives->first[i] > lives->last[i] || lives->last[i] > n)
            return false;
        for (uint32_t k = 0; k < graph->nodes[i].src_n; k++)
            if (lives->last[src[k]] < lives->first[i] || lives->first[src[k]] >= lives->first[i])
                return false;
        if (psc_node_is_filled(&graph->nodes[i]) && pins & PSC_PIN_INPUTS && lives->last[i] != n)
            return false;
        if (graph->nodes[i].is_output && pins & PSC_PIN_OUTPUTS && lives->last[i] != n)
            return false;
    }
    return true;
}
