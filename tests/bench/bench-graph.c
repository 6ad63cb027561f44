/* Builds graphs of 1,000, 100,000 and 1,000,000 nodes and times each part: `meson test --benchmark graph -v`. */
#include "core/base/mem.h"
#include "core/graph/graph.h"

#include <glib.h>
#include <stdio.h>
#include <stdlib.h>

/* Blocks of eight nodes: norm, two matmuls, rope, swiglu, matmul, add, view. */
static void add_block(struct psc_builder *b, psc_node *h, psc_node positions, uint32_t l)
{
    char weight[48], name[64];
    snprintf(weight, sizeof weight, "blk.%u.ffn_up.weight", l % 64);
    snprintf(name, sizeof name, "matmul_%s", weight);
    struct psc_params p = {.weight = weight, .wtype = "q5_0", .in_dim = 896, .out_dim = 896};
    psc_node x = psc_builder_unary(b, "rms_norm", PSC_OP_RMS_NORM, *h);
    psc_node g = psc_builder_op(b, name, PSC_OP_MATMUL, &x, 1, &p), u = psc_builder_op(b, name, PSC_OP_MATMUL, &x, 1, &p);
    psc_node r = psc_builder_op(b, "rope", PSC_OP_ROPE, (psc_node[]){g, positions}, 2, NULL);
    psc_node s = psc_builder_binary(b, "mul", PSC_OP_SWIGLU, r, u);
    psc_node d = psc_builder_op(b, name, PSC_OP_MATMUL, &s, 1, &p);
    *h = psc_builder_view(b, "view", psc_builder_binary(b, "add", PSC_OP_ADD, *h, d), 0, 896, 2);
}

static struct psc_builder *build(uint32_t n)
{
    struct psc_builder *b = psc_builder_new();
    psc_builder_set_backend(b, "metal");
    psc_node positions = psc_builder_input(b, "positions", PSC_I32, 2, 1), h = psc_builder_input(b, "h", PSC_F32, 896, 2);
    for (uint32_t l = 0; l < n / 8; l++)
        add_block(b, &h, positions, l);
    psc_builder_output(b, h);
    return b;
}

static void told(const char *what, gint64 *since, uint32_t n)
{
    gint64 now = g_get_monotonic_time();
    printf("  %-28s %9.2f ms %7.1f ns a node\n", what, (double)(now - *since) / 1e3, (double)(now - *since) * 1e3 / n);
    *since = g_get_monotonic_time();
}

/* The same graph as a file would give it: ids that are not dense, listed in falling order. */
static void from_draft(const struct psc_graph *g)
{
    struct psc_draft_node *nodes = g_new0(struct psc_draft_node, g->n);
    uint64_t *src = g_new(uint64_t, g->src_total), output = 7 + 3 * (uint64_t)g->outputs[0];
    struct psc_arena arena = {0};
    struct psc_graph *again = NULL;
    for (uint32_t e = 0; e < g->src_total; e++)
        src[e] = 7 + 3 * (uint64_t)g->srcs[e];
    for (psc_node i = 0; i < g->n; i++) {
        const struct psc_node_info *node = &g->nodes[i];
        struct psc_draft_node *d = &nodes[g->n - 1 - i];
        *d = (struct psc_draft_node){.id = 7 + 3 * (uint64_t)i, .name = node->name, .op_name = node->op_name,
                                     .dtype_name = node->dtype_name, .backend = "metal", .src = src + node->src_at,
                                     .src_n = node->src_n, .params = *node->params, .layer = -1, .byte = UINT64_MAX};
        for (int k = 0; k < 4; k++)
            d->shape[k] = node->shape[k];
    }
    struct psc_draft draft = {.nodes = nodes, .n = g->n, .outputs = &output, .output_n = 1};
    gint64 t = g_get_monotonic_time();
    if (psc_graph_from_draft(&arena, &draft, NULL, &again, NULL) != PSC_OK || !psc_graph_same_structure(g, again))
        exit(1);
    told("draft, sparse, falling ids", &t, g->n);
    psc_arena_release(&arena);
    g_free(nodes);
    g_free(src);
}

static void run(uint32_t n)
{
    struct psc_arena arena = {0};
    struct psc_graph *g = NULL;
    const struct psc_split *splits;
    uint32_t split_n;
    psc_node *order = g_new(psc_node, n + 8);
    gint64 t = g_get_monotonic_time();
    struct psc_builder *b = build(n);
    printf("%u nodes\n", n);
    told("append", &t, n);
    if (psc_builder_finish(b, &arena, &g, NULL) != PSC_OK)
        exit(1);
    told("check, resolve, finish", &t, n);
    psc_builder_free(b);
    t = g_get_monotonic_time();
    if (psc_graph_topological(g, true, order, NULL) != PSC_OK)
        exit(1);
    told("topological order", &t, n);
    if (psc_graph_levels(g, order, NULL) != PSC_OK)
        exit(1);
    told("levels", &t, n);
    if (psc_graph_splits(&arena, g, &splits, &split_n) != PSC_OK)
        exit(1);
    told("splits", &t, n);
    printf("  %-28s %9.1f bytes a node\n", "memory", (double)arena.total / n);
    from_draft(g);
    psc_arena_release(&arena);
    g_free(order);
}

int main(void)
{
    run(1000);
    run(100000);
    run(1000000);
    return 0;
}
