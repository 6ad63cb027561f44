/* core/debug/holders.h: whose bytes does a window hold when its split has ended?
 *
 *     position    0    1    2    3   | 4    5      split 0 = 0..3, split 1 = 4, 5
 *     buffer b2   a              d   | f
 *     buffer b3        b    c        |      g      c in place over b
 *
 *     a: last writer d, not its own      b: last writer c, not its own
 *     c, d, f, g: their own              d is not harmed by f: f writes after d's split ended
 *
 * A window is one node's output: buffer and bytes [lo,hi), from its write event, or from its view event when
 * it owns no bytes. Its last writer is the last write of the same split that touches any byte of it.
 * Ownership: results live in the arena passed in. Cost: O(events + writes log writes).
 */
#ifndef PSC_CORE_DEBUG_HOLDERS_H
#define PSC_CORE_DEBUG_HOLDERS_H

#include "core/base/arena.h"
#include "core/event/event.h"

struct psc_holder {
    psc_node node;   /* the window's last writer; the node itself when nobody wrote there in its split;
                        PSC_NONE when the node has no window */
    bool own;        /* nobody wrote there after the node itself */
    bool whole;      /* the last write covers the whole window */
    uint64_t offset; /* bytes from the start of that write to the window's start, when whole */
};

/* Split of each node [graph->n] along the order (NULL = build order): maximal runs of one backend; a node
 * without one goes with its neighbour. */
enum psc_status psc_holders_splits(struct psc_arena *arena, const struct psc_graph *graph,
                                   const psc_node *order, const uint32_t **ret,
                                   struct psc_error *reterr) PSC_MUST_CHECK;
/* Holder of each node's window [graph->n] at the end of its split. Only run 0 of the story is looked at. */
enum psc_status psc_holders_find(struct psc_arena *arena, const struct psc_graph *graph,
                                 const struct psc_story *story, const uint32_t *split_of,
                                 const struct psc_holder **ret, struct psc_error *reterr) PSC_MUST_CHECK;

#endif
