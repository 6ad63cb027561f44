#include "core/graph/graph.h"

#include <stdio.h>
#include <string.h>

#define WALK_BACK 4 /* operands followed to find whose rope this is */

static const char *after_block(const char *weight)
{
    const char *at = strstr(weight, "blk.");
    if (!at)
        return weight;
    at += 4;
    while (*at >= '0' && *at <= '9')
        at++;
    return *at == '.' && at[1] ? at + 1 : weight;
}

/* Copies as much of s[0..n) as fits, never half a character. */
static const char *put(char *buf, size_t size, const char *s, size_t n)
{
    if (!size)
        return buf;
    if (n >= size) {
        n = size - 1;
        while (n && ((unsigned char)s[n] & 0xc0) == 0x80)
            n--;
    }
    memcpy(buf, s, n);
    buf[n] = '\0';
    return buf;
}

static const char *put_weight(char *buf, size_t size, const char *weight)
{
    static const char suffix[] = ".weight";
    const char *s = after_block(weight);
    size_t n = strlen(s), cut = sizeof suffix - 1;
    if (n > cut && !strcmp(s + n - cut, suffix))
        n -= cut;
    return put(buf, size, s, n);
}

static const char *rope_label(const struct psc_graph *g, psc_node i)
{
    psc_node at = i;
    for (int step = 0; step < WALK_BACK && g->nodes[at].src_n; step++) {
        at = psc_node_srcs(g, at)[0];
        const char *weight = g->nodes[at].params->weight;
        if (!weight)
            continue;
        const char *s = after_block(weight);
        if (!strncmp(s, "attn_q.", 7) || !strncmp(s, "attn_q_norm", 11) || !strcmp(s, "attn_q"))
            return "rope q";
        if (!strncmp(s, "attn_k.", 7) || !strncmp(s, "attn_k_norm", 11) || !strcmp(s, "attn_k"))
            return "rope k";
        break;
    }
    return "rope";
}

/* True when the name was made by the engine from op and weight and says less than they do. */
static bool is_plain(const struct psc_node_info *node)
{
    const char *weight = node->params->weight;
    return !strcmp(node->name, node->op_name) || !strncmp(node->name, "matmul_", 7) ||
           (weight && !strcmp(node->name, weight)) || (node->op == PSC_OP_SWIGLU && !strcmp(node->name, "mul"));
}

const char *psc_node_label(const struct psc_graph *g, psc_node i, char *buf, size_t size)
{
    const struct psc_node_info *node = &g->nodes[i];
    const char *weight = node->params->weight;
    if (node->name && node->name[0] && !is_plain(node)) {
        if (node->op == PSC_OP_KV_STORE && !strncmp(node->name, "kv_store.", 9))
            return put(buf, size, "kv_store", 8);
        if (node->op == PSC_OP_KV_LOAD && !strncmp(node->name, "kv_load.", 8))
            return put(buf, size, "kv_load", 7);
        return put(buf, size, node->name, strlen(node->name));
    }
    if (node->op == PSC_OP_MATMUL && node->is_output)
        return put(buf, size, "logits", 6);
    if (node->op == PSC_OP_GET_ROWS && weight && node->name && node->name[0])
        return put(buf, size, "embed", 5);
    if (weight && node->op != PSC_OP_GET_ROWS)
        return put_weight(buf, size, weight);
    if (!node->name || !node->name[0]) {
        if (size)
            snprintf(buf, size, "%s #%llu", node->op_name, (unsigned long long)node->id);
        return buf;
    }
    const char *label = node->op == PSC_OP_ROPE ? rope_label(g, i)
                        : node->op == PSC_OP_SWIGLU ? node->op_name : node->name;
    return put(buf, size, label, strlen(label));
}

const char *psc_node_backend_name(const struct psc_graph *g, psc_node i)
{
    uint8_t b = g->nodes[i].backend;
    return b < g->backend_n ? g->backends[b] : "unassigned";
}
