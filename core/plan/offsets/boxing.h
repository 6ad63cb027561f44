/* core/plan/offsets/boxing.h: from a graph to boxes: who needs bytes, how long, and who writes over whom.
 *
 *     0 x  input          inputs, KV nodes and views own no box
 *     1 t  scale x        box 0  [1, 4)   16 B
 *     2 r  reshape t      in box 0, a name of t
 *     3 s  silu r         in box 0: it is the last to read r, and r is all of t
 *     4 o  matmul s       box 1  [4, 6)    8 B, an output: to the end
 *                         box 0 ends after 4: [1, 5)
 *
 * Steps are positions in build order, the order that is executed; n + 1 of them, the last is the host's reading of the
 * outputs. A node that nobody reads and that is no output has no box, nor has one without bytes.
 *
 * In place, operand by operand: the op may overwrite it (may_overwrite of core/graph/op.h), lies on the same backend, has as
 * many bytes, and nobody reads or shows any of its storage afterwards, nor does another operand of the op name the same
 * bytes. Inputs, outputs and regions are never written over. An operand that is all of its storage (through views and
 * reshapes too) hands over its box. One that is a window keeps the rest of the storage alive: then only when the steps to
 * come have room for that rest below what is alive now.
 *
 * Ownership: all in the arena passed in. Cost: O(nodes + edges).
 */
#ifndef PSC_CORE_PLAN_OFFSETS_BOXING_H
#define PSC_CORE_PLAN_OFFSETS_BOXING_H

#include "core/plan/digest.h"
#include "core/plan/plan.h"

struct psc_box_refusal { psc_node node; struct psc_refused refused; };
struct psc_boxing {
    struct psc_box *boxes; /* the step that begins a box is the node that owns it */
    uint32_t box_n;
    uint8_t *backend;    /* [box_n] of the graph, PSC_BACKEND_NONE for nodes without one in a graph without backends */
    uint32_t *by_end;    /* [box_n]: boxes by end */
    uint32_t *box_of;    /* [n]: PSC_NONE for inputs, KV nodes, views, and nodes without box */
    uint64_t *within;    /* [n]: bytes from the start of the box; NULL: all 0 */
    uint8_t *over;       /* [n]: the operand that the node writes over, UINT8_MAX */
    uint32_t in_place_n;
    struct psc_box_refusal *refusals; /* in node order, at most two a node; when they were asked for */
    uint32_t refusal_n;
};
enum { PSC_BOXING_APART = 1, PSC_BOXING_EXPLAIN = 2 }; /* nothing in place; note refusals */

enum psc_status psc_boxing_build(struct psc_arena *arena, const struct psc_graph *graph, const struct psc_digest *digest,
                                 unsigned flags, struct psc_boxing *ret, struct psc_error *reterr) PSC_MUST_CHECK;

#endif
