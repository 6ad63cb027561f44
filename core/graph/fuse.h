/* core/graph/fuse.h: the fusion pass: silu and mul become swiglu. Runs once, after assignment.
 *
 *     12 gate                          12 gate
 *     13 up                            13 up
 *     14 silu  reads 12          ->    14 silu   reads 12      an orphan: no reader, so no buffer and no work;
 *     15 mul   reads 14 13             15 swiglu reads 12 13   it still counts as a reader of the gate
 *
 * Pattern: a mul of exactly two operands, of which operand 0 is a silu, else operand 1 is. The gate is that
 * silu's operand, `up` the other one; when both are silus the first is taken and the second becomes `up`.
 * Guard: the mul is assigned to a target that takes swiglu. Who else reads the silu, shapes, and the backends
 * of the operands are not asked: the silu is left as it is, so a graph output or another reader keeps it alive.
 * The mul keeps its id, name, backend and shape. A second pass finds nothing.
 *
 * Ownership: as psc_graph_assign: the new graph borrows from the old one. Cost: O(nodes + edges).
 */
#ifndef PSC_CORE_GRAPH_FUSE_H
#define PSC_CORE_GRAPH_FUSE_H

#include "core/graph/assign.h"

/* *ret_n: rewrites made; ret_n may be NULL. Without any, *ret is a graph equal to the old one. */
enum psc_status psc_graph_fuse(struct psc_arena *arena, const struct psc_graph *graph,
                               const struct psc_target *targets, uint32_t target_n, struct psc_graph **ret,
                               uint32_t *ret_n, struct psc_error *reterr) PSC_MUST_CHECK;

#endif
