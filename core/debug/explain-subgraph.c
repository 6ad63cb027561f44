/* A finding without the graph around it. */
#include "core/debug/explain-words.h"

#include <string.h>

/* `nodes` stays ascending and without doubles; what does not fit is left out. */
static uint32_t put_in(psc_node *nodes, uint32_t n, uint32_t max, psc_node node)
{
    uint32_t at = n;

    while (at && nodes[at - 1] >= node)
        at--;
    if (n == max || (at < n && nodes[at] == node))
        return n;
    memmove(nodes + at + 1, nodes + at, (n - at) * sizeof *nodes);
    nodes[at] = node;
    return n + 1;
}

/* The views from `from` up to the node that owns the bytes; none when it does not show that node. */
static uint32_t put_path(const struct psc_graph *g, psc_node from, psc_node owner, psc_node *nodes, uint32_t n, uint32_t max)
{
    psc_node at = from;

    while (at != owner && at != PSC_NONE)
        at = g->nodes[at].parent;
    for (; at != PSC_NONE && from != owner; from = g->nodes[from].parent)
        n = put_in(nodes, n, max, from);
    return n;
}

uint32_t psc_finding_nodes(const struct psc_analysis *a, const struct psc_finding *f, psc_node *ret, uint32_t max)
{
    const struct psc_graph *g = a->phase->graph;
    const psc_node part[] = {f->victim, f->writer, f->reader};
    uint32_t n = 0;

    for (size_t k = 0; g && k < sizeof part / sizeof *part; k++)
        if (part[k] < g->n)
            n = put_in(ret, n, max, part[k]);
    if (!g || f->victim >= g->n)
        return n;
    for (uint32_t k = 0; f->reader < g->n && k < g->nodes[f->reader].src_n; k++)
        n = put_path(g, psc_node_srcs(g, f->reader)[k], f->victim, ret, n, max);
    for (uint32_t k = 0; f->reader_kind == PSC_READER_EXPORT && k < g->output_n; k++)
        n = put_path(g, g->outputs[k], f->victim, ret, n, max);
    return n;
}

void psc_explain_finding_node(struct psc_text *out, const struct psc_analysis *a, psc_node node)
{
    const struct psc_graph *g = a->phase->graph;
    const struct psc_node_info *info = &g->nodes[node];
    const struct psc_place *place = a->plan && a->story->predicted ? &a->plan->places[node] : NULL;

    psc_say_node(out, g, node);
    psc_text_addf(out, ": %s", info->op_name ? info->op_name : psc_op_info(info->op)->name);
    for (uint32_t k = 0; k < info->src_n; k++) {
        psc_text_add(out, k ? ", " : " of ");
        psc_say_node(out, g, psc_node_srcs(g, node)[k]);
    }
    if (!place || place->buffer == PSC_NONE)
        return;
    psc_text_add(out, "; ");
    psc_say_planned_buffer(out, g, &a->plan->buffers[place->buffer]);
    psc_text_addf(out, " [%llu, %llu)", (unsigned long long)place->offset,
                  (unsigned long long)(place->offset + place->length));
}
