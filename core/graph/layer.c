#include "core/graph/layer.h"

#include <string.h>

static int32_t number_after(const char *text, const char *word)
{
    size_t word_n = strlen(word);
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word)) {
        if (at != text && at[-1] != '.' && at[-1] != '_' && at[-1] != '/')
            continue;
        const char *p = at + word_n;
        uint32_t v = 0;
        while (*p >= '0' && *p <= '9' && v < PSC_LAYERS_MAX)
            v = v * 10 + (uint32_t)(*p++ - '0');
        if (p != at + word_n && (*p == '.' || *p == '\0') && v < PSC_LAYERS_MAX)
            return (int32_t)v;
    }
    return -1;
}

int32_t psc_layer_in_text(const char *text)
{
    if (!text)
        return -1;
    int32_t layer = number_after(text, "blk.");
    return layer >= 0 ? layer : number_after(text, "layers.");
}

/* The block the node states itself, by file, weight or name; -1 when it does not. */
static int32_t stated(const struct psc_node_info *node)
{
    const struct psc_params *p = node->params;
    const char *const texts[] = {p->weight, p->q_norm, p->bias[0], node->name};
    if (node->layer >= 0)
        return node->layer;
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        int32_t layer = psc_layer_in_text(texts[k]);
        if (layer >= 0)
            return layer;
    }
    if (node->name && psc_op_info(node->op)->is_kv)
        return number_after(node->name, node->op == PSC_OP_KV_STORE ? "kv_store." : "kv_load.");
    return -1;
}

psc_node psc_layers_assign(struct psc_node_info *nodes, uint32_t n, const psc_node *srcs)
{
    psc_node homeless = PSC_NONE;
    int32_t current = -1; /* block of the last node that states one */
    for (psc_node i = 0; i < n; i++) {
        struct psc_node_info *node = &nodes[i];
        const struct psc_op_info *info = psc_op_info(node->op);
        node->layer = stated(node);
        if (node->layer >= 0) {
            current = node->layer;
            continue;
        }
        if (node->params->weight) {
            current = -1;
        } else {
            for (uint32_t k = 0; k < node->src_n; k++) {
                int32_t from = nodes[srcs[node->src_at + k]].layer;
                node->layer = from > node->layer ? from : node->layer;
            }
            /* The last block gathers the residual of the block before it. */
            if (node->op == PSC_OP_GET_ROWS && node->layer >= 0 && current > node->layer)
                node->layer = current;
        }
        if (node->layer < 0 && (info->is_kv || info->stores_kv)) {
            node->layer = 0;
            if (homeless == PSC_NONE)
                homeless = i;
        }
    }
    return homeless;
}
