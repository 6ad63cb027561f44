/* tests/synthetic-graph.h: large graphs of a plain shape, for benches and for tests of size.
 *
 *     SYNTHETIC_CHAINS 2      x0 -> a0 -> a1 -> ...   taking turns with   x1 -> b0 -> b1 -> ...; then all are added up
 *     SYNTHETIC_DAG           each node reads two of the 64 values before it; values that nobody read are added up
 *     SYNTHETIC_UNREAD        the same, but values that nobody read stay unread
 *
 * Sizes are 256 B to 512 KiB: 64 * (1 .. 256) * 2^(0 .. 3) floats, as in the problems of shared/data/planning; three in
 * ten nodes may write over their operand. Deterministic from the seed.
 */
#ifndef PSC_TESTS_SYNTHETIC_GRAPH_H
#define PSC_TESTS_SYNTHETIC_GRAPH_H

#include "core/graph/graph.h"

enum synthetic { SYNTHETIC_CHAINS, SYNTHETIC_DAG, SYNTHETIC_UNREAD };

/* About n nodes; aborts when out of memory. */
struct psc_graph *synthetic_graph(struct psc_arena *arena, enum synthetic shape, uint32_t chains, uint32_t n, uint64_t seed);

#endif
