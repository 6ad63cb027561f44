#include "core/graph/fingerprint.h"

#include "core/base/hash.h"

#include <string.h>

#define STEP UINT64_C(0x9e3779b97f4a7c15)
static const uint64_t salt[] = { /* digits of pi */
    0x243f6a8885a308d3, 0x13198a2e03707344, 0xa4093822299f31d0, 0x082efa98ec4e6c89,
    0x452821e638d01377, 0xbe5466cf34e90c6c, 0xc0ac29b7c97c50dd, 0x3f84d5b5b5470917,
};

__extension__ typedef unsigned __int128 wide;

struct sums { uint64_t a, b; };

/* The two halves of the product over each other. */
static uint64_t fold(uint64_t a, uint64_t b)
{
    wide product = (wide)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* All 128 bits of the product, its halves mixed: sums of products alone cancel out when two nodes change places. */
static inline void add_product(struct sums *s, uint64_t a, uint64_t b)
{
    wide product = (wide)a * b;
    uint64_t low = (uint64_t)product, high = (uint64_t)(product >> 64);
    s->a += low ^ high;
    s->b += low + (high << 32 | high >> 32);
}

static uint64_t hash_backends(const struct psc_graph *graph)
{
    uint64_t hash = graph->backend_n;
    for (uint32_t k = 0; k < graph->backend_n; k++)
        hash = psc_hash_bytes(graph->backends[k], strlen(graph->backends[k]), hash);
    return hash;
}

static void add_four(struct sums *s, const psc_node list[4], uint64_t place)
{
    uint64_t x = list[0] | (uint64_t)list[1] << 32, y = list[2] | (uint64_t)list[3] << 32;
    add_product(s, x ^ place, y ^ salt[4]);
}

/* Four entries at a time, each with its place; the last four are filled up with 0. */
static void add_list(struct sums *into, const psc_node *list, uint32_t n, uint64_t which)
{
    uint64_t place = salt[7] ^ which * salt[6];
    struct sums s = *into;
    psc_node rest[4] = {0};
    uint32_t k = 0;
    for (; n - k >= 4; k += 4, place += STEP)
        add_four(&s, list + k, place);
    if (k < n)
        memcpy(rest, list + k, (n - k) * sizeof *rest);
    add_four(&s, rest, place);
    into->a = s.a ^ fold(n ^ salt[2], which + salt[3]);
    into->b = s.b;
}

/* Nodes and operands are hashed each for itself, with its place, and added up: no multiplication waits for that of the node
 * before. Operands of all nodes stand one behind the other, so that their numbers say whose they are. */
struct psc_fingerprint psc_graph_fingerprint(const struct psc_graph *graph)
{
    struct sums s = {.a = hash_backends(graph)};
    uint64_t sizes = 0, place = 0;
    s.b = fold(s.a ^ salt[0], graph->n ^ salt[1]);
    for (psc_node i = 0; i < graph->n; i++, place += STEP) {
        const struct psc_node_info *node = &graph->nodes[i];
        uint64_t head = (uint64_t)node->op | (uint64_t)node->dtype << 8 | (uint64_t)node->backend << 16 |
                        (uint64_t)node->is_input << 24 | (uint64_t)node->is_output << 25 | (uint64_t)(uint32_t)node->layer << 32;
        uint64_t links = ((uint64_t)node->parent << 32 | node->root) + ((uint64_t)node->src_n << 32 | node->order_n) * salt[1];
        add_product(&s, head ^ place ^ salt[0], links ^ salt[5]);
        sizes += fold(node->bytes ^ salt[3] ^ place, node->root_offset + salt[2]);
    }
    add_list(&s, graph->srcs, graph->src_total, 1);
    add_list(&s, graph->order_srcs, graph->order_total, 2);
    add_list(&s, graph->inputs, graph->input_n, 3);
    add_list(&s, graph->outputs, graph->output_n, 4);
    return (struct psc_fingerprint){{s.a + s.b, fold(s.a ^ salt[4], s.b ^ salt[5])}, sizes};
}
