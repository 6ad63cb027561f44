#include "core/graph/fingerprint.h"

#include "core/base/hash.h"

#include <string.h>

#define STEP UINT64_C(0x9e3779b97f4a7c15)
static const uint64_t salt[] = { /* digits of pi */
    0x243f6a8885a308d3, 0x13198a2e03707344, 0xa4093822299f31d0, 0x082efa98ec4e6c89,
    0x452821e638d01377, 0xbe5466cf34e90c6c, 0xc0ac29b7c97c50dd, 0x3f84d5b5b5470917,
};

__extension__ typedef unsigned __int128 wide;

/* The two halves of the product over each other. */
static uint64_t fold(uint64_t a, uint64_t b)
{
    wide product = (wide)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t hash_backends(const struct psc_graph *graph)
{
    uint64_t hash = graph->backend_n;
    for (uint32_t k = 0; k < graph->backend_n; k++)
        hash = psc_hash_bytes(graph->backends[k], strlen(graph->backends[k]), hash);
    return hash;
}

static uint64_t hash_list(const psc_node *list, uint32_t n, uint64_t hash)
{
    for (uint32_t k = 0; k < n; k++)
        hash = fold(hash ^ list[k], salt[6]) + k;
    return fold(hash ^ n, salt[7]);
}

/* Nodes are hashed each for itself, with its place, and added up: no multiplication waits for that of the node before. */
struct psc_fingerprint psc_graph_fingerprint(const struct psc_graph *graph)
{
    uint64_t a = hash_backends(graph), b = fold(a ^ salt[0], graph->n ^ salt[1]), sizes = 0, place = 0;
    for (psc_node i = 0; i < graph->n; i++, place += STEP) {
        const struct psc_node_info *node = &graph->nodes[i];
        uint64_t head = (uint64_t)node->op | (uint64_t)node->dtype << 8 | (uint64_t)node->backend << 16 |
                        (uint64_t)node->is_input << 24 | (uint64_t)node->is_output << 25 | (uint64_t)(uint32_t)node->layer << 32;
        uint64_t view = node->parent == PSC_NONE ? 0 : (uint64_t)node->parent << 32 | node->root;
        uint64_t hash = fold(head ^ salt[0], place ^ salt[1]), mixed;
        const psc_node *src = graph->srcs + node->src_at, *order = graph->order_srcs + node->order_at;
        for (uint32_t k = 0; k < node->src_n; k++)
            hash = fold(hash ^ src[k], salt[2]);
        for (uint32_t k = 0; k < node->order_n; k++)
            hash = fold(hash ^ ~(uint64_t)order[k], salt[3]);
        mixed = view ^ (uint64_t)node->src_n << 48 ^ (uint64_t)node->order_n << 40;
        a += fold(hash ^ salt[4], mixed ^ salt[5]);
        b += fold(hash + salt[6], mixed ^ salt[7]);
        sizes += fold(node->bytes ^ salt[3] ^ place, node->root_offset + salt[2]);
    }
    a = fold(a ^ salt[0], hash_list(graph->inputs, graph->input_n, salt[1]));
    b = fold(b ^ salt[2], hash_list(graph->outputs, graph->output_n, salt[3]));
    return (struct psc_fingerprint){{a + b, fold(a ^ salt[4], b ^ salt[5])}, sizes};
}
