/* tests/random-graph.h: random graphs with everything that memory planning finds hard, from a seed.
 *
 *     struct psc_graph *g = random_graph(&arena, seed, &random_graph_all);
 *
 * The same seed and options give the same graph on every machine. Graphs are well formed: element-wise ops
 * get operands of their shape, views lie inside their parent and on its backend, the KV nodes of a layer
 * share a backend. Node names are the short op name and the index: "silu7".
 */
#ifndef PSC_TESTS_RANDOM_GRAPH_H
#define PSC_TESTS_RANDOM_GRAPH_H

#include "core/graph/graph.h"

struct random_graph_options {
    uint32_t nodes;      /* at least this many, a few more at most (a layer is made whole) */
    uint32_t backends;   /* 1 .. 3: "cpu", "metal", "cuda" */
    bool views;          /* view, reshape, permute; views of views */
    bool repeats;        /* add(x, x), mul(x, x) */
    bool output_views;   /* a view among the outputs */
    bool dead;           /* leave nodes unread; else every unread node becomes an output */
    bool empty;          /* tensors of zero elements */
    bool late_inputs;    /* inputs made in the middle of the walk */
    bool in_place;       /* chains of silu, rope and swiglu; swiglu over two windows of one tensor */
    bool concat;
    bool kv;             /* layers of store, load and attention; fused_qkv */
    bool middle_outputs; /* outputs that are read further */
    bool input_outputs;  /* an input that is an output */
    bool unassigned;     /* nodes without a backend */
    bool narrow;         /* rows of at most 340 values: for who looks at every byte */
};
extern const struct random_graph_options random_graph_all;   /* 40 nodes, 3 backends, all but unassigned */
extern const struct random_graph_options random_graph_plain; /* 40 nodes, 1 backend, element-wise and matmul */

/* In the arena; never NULL (aborts when out of memory: keep it out of out-of-memory loops). */
struct psc_graph *random_graph(struct psc_arena *arena, uint64_t seed, const struct random_graph_options *options);

#endif
