/* tests/text-graph.h: a graph written as text, one node a line, for tests.
 *
 *     x: input 4              name, op as files spell it, elements ("8x2": two rows of 8)
 *     t: add 4 x x            operands by name
 *     v: view 2 t +2          a view from element 2 on
 *     g: silu 2 v @metal      on another backend (default cpu)
 *     s: kvcache_store 64 x x #0      of layer 0
 *     c: concat 8x2 a b axis=1
 *     i: input 3 i32          an index; everything else is f32
 *     m: matmul 8 x weight=w bias=b, q: scale 4 x scale=2
 *     s: kvcache_store 64x9 x x i row=17 #0    rows of 17 words
 *     r: rope 4 q i hd=2      heads of 2: as many as fit
 *     out g v                 outputs
 *
 * Blank lines are skipped; a line that makes no sense aborts the test.
 */
#ifndef PSC_TESTS_TEXT_GRAPH_H
#define PSC_TESTS_TEXT_GRAPH_H

#include "core/graph/graph.h"

/* In the arena; PSC_ERR_GRAPH and the builder's sentence when the graph breaks a rule. */
enum psc_status text_graph_build(struct psc_arena *arena, const char *text, struct psc_graph **ret,
                                 struct psc_error *reterr);
/* The same for graphs that must be right: aborts otherwise. */
struct psc_graph *text_graph(struct psc_arena *arena, const char *text);
/* The node of that name; aborts when there is none. */
psc_node text_graph_node(const struct psc_graph *graph, const char *name);

#endif
