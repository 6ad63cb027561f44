#include "core/base/mem.h"
#include "core/graph/edges.h"

#include <string.h>

/* Sources and, when asked, hidden order edges in one adjacency. */
static bool gather(struct psc_arena *arena, const struct psc_graph *g, bool with_effects, struct psc_edges *ret)
{
    uint32_t total = g->src_total + (with_effects ? g->order_total : 0);
    uint32_t *at = psc_arena_alloc(arena, (size_t)g->n + 1, sizeof *at);
    psc_node *to = psc_arena_alloc(arena, total, sizeof *to);
    if (!at || !to)
        return false;
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->n; i++) {
        const struct psc_node_info *node = &g->nodes[i];
        at[i] = n;
        memcpy(to + n, g->srcs + node->src_at, node->src_n * sizeof *to);
        n += node->src_n;
        for (uint32_t k = 0; with_effects && k < node->order_n; k++)
            to[n++] = g->order_srcs[node->order_at + k];
    }
    at[g->n] = n;
    *ret = (struct psc_edges){g->n, at, to};
    return true;
}

enum psc_status psc_graph_topological(const struct psc_graph *g, bool with_effects, psc_node *order_ret,
                                      struct psc_error *reterr)
{
    struct psc_arena scratch = {0};
    struct psc_edges src, readers;
    uint32_t ordered = 0;
    bool done = gather(&scratch, g, with_effects, &src) && psc_edges_reverse(&scratch, &src, &readers) &&
                psc_edges_kahn(&scratch, &src, &readers, order_ret, &ordered);
    psc_arena_release(&scratch);
    if (!done)
        return psc_fail_nomem(reterr);
    if (ordered < g->n)
        return psc_fail(reterr, PSC_ERR_GRAPH, "cycle detected: %u of %u nodes could be ordered", ordered, g->n);
    return PSC_OK;
}

enum psc_status psc_graph_levels(const struct psc_graph *g, uint32_t *level_ret, struct psc_error *reterr)
{
    (void)reterr;
    for (uint32_t i = 0; i < g->n; i++) {
        const struct psc_node_info *node = &g->nodes[i];
        uint32_t below = 0;
        for (uint32_t k = 0; k < node->src_n; k++) {
            uint32_t level = level_ret[g->srcs[node->src_at + k]];
            below = level > below ? level : below;
        }
        for (uint32_t k = 0; k < node->order_n; k++) {
            uint32_t level = level_ret[g->order_srcs[node->order_at + k]];
            below = level > below ? level : below;
        }
        level_ret[i] = node->is_input ? 0 : below + 1;
    }
    return PSC_OK;
}

/* ---- splits ------------------------------------------------------------------------------------------- */

static uint8_t first_backend(const struct psc_graph *g)
{
    for (uint32_t b = 0; b < g->backend_n; b++)
        if (!strcmp(g->backends[b], "cpu"))
            return (uint8_t)b;
    return g->backend_n ? 0 : PSC_BACKEND_NONE;
}

/* Cuts the build order into runs; of[i] gets the run of node i. Returns the number of runs. */
static uint32_t cut(const struct psc_graph *g, struct psc_split *splits, uint32_t *of)
{
    uint8_t current = first_backend(g);
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->n; i++) {
        uint8_t b = g->nodes[i].backend == PSC_BACKEND_NONE ? current : g->nodes[i].backend;
        if (!n || b != current) {
            if (splits)
                splits[n] = (struct psc_split){.backend = b, .first = i};
            n++;
        }
        if (splits) {
            splits[n - 1].last = i;
            of[i] = n - 1;
        }
        current = b;
    }
    return n;
}

struct crossing {
    uint32_t *entered; /* the last split that has node i among its inputs, PSC_NONE at first */
    bool *left;        /* node i is among the outputs of its own split */
};

/* Counts (lists NULL) or writes the nodes that cross. Inputs of one split are adjacent because nodes come in
 * order; outputs of a split may be met at any time, hence the fill counters. */
static void cross(const struct psc_graph *g, struct psc_split *splits, const uint32_t *of, struct crossing *c,
                  psc_node *const *inputs, psc_node *const *outputs)
{
    for (uint32_t i = 0; i < g->n; i++)
        for (uint32_t k = 0; k < g->nodes[i].src_n; k++) {
            psc_node s = psc_node_srcs(g, i)[k];
            if (of[s] == of[i])
                continue;
            if (c->entered[s] != of[i]) {
                c->entered[s] = of[i];
                if (inputs)
                    inputs[of[i]][splits[of[i]].input_n] = s;
                splits[of[i]].input_n++;
            }
            if (!c->left[s]) {
                c->left[s] = true;
                if (outputs)
                    outputs[of[s]][splits[of[s]].output_n] = s;
                splits[of[s]].output_n++;
            }
        }
}

static bool list_crossings(struct psc_arena *arena, struct psc_arena *scratch, const struct psc_graph *g,
                           struct psc_split *splits, uint32_t n, const uint32_t *of)
{
    struct crossing c = {psc_arena_alloc(scratch, g->n, sizeof *c.entered),
                         psc_arena_alloc(scratch, g->n, sizeof *c.left)};
    psc_node **inputs = psc_arena_alloc(scratch, n, sizeof *inputs);
    psc_node **outputs = psc_arena_alloc(scratch, n, sizeof *outputs);
    if (!c.entered || !c.left || !inputs || !outputs)
        return false;
    memset(c.entered, 0xff, g->n * sizeof *c.entered);
    memset(c.left, 0, g->n * sizeof *c.left);
    cross(g, splits, of, &c, NULL, NULL);
    for (uint32_t s = 0; s < n; s++) {
        splits[s].inputs = inputs[s] = psc_arena_alloc(arena, splits[s].input_n, sizeof *inputs[s]);
        splits[s].outputs = outputs[s] = psc_arena_alloc(arena, splits[s].output_n, sizeof *outputs[s]);
        if (!inputs[s] || !outputs[s])
            return false;
        splits[s].input_n = splits[s].output_n = 0;
    }
    memset(c.entered, 0xff, g->n * sizeof *c.entered);
    memset(c.left, 0, g->n * sizeof *c.left);
    cross(g, splits, of, &c, inputs, outputs);
    return true;
}

enum psc_status psc_graph_splits(struct psc_arena *arena, const struct psc_graph *g,
                                 const struct psc_split **ret, uint32_t *ret_n)
{
    struct psc_arena scratch = {0};
    struct psc_arena_mark mark = psc_arena_mark(arena);
    uint32_t n = cut(g, NULL, NULL);
    struct psc_split *splits = psc_arena_alloc0(arena, n, sizeof *splits);
    uint32_t *of = psc_arena_alloc(&scratch, g->n, sizeof *of);
    bool done = splits && of;
    if (done) {
        cut(g, splits, of);
        done = list_crossings(arena, &scratch, g, splits, n, of);
    }
    psc_arena_release(&scratch);
    if (!done) {
        psc_arena_rewind(arena, mark);
        return PSC_ERR_NOMEM;
    }
    *ret = splits;
    *ret_n = n;
    return PSC_OK;
}
