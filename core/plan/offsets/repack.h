/* core/plan/offsets/repack.h: a packing that follows edits of single boxes, where all the others stay.
 *
 *     24 |  bb  |     24 |  bb ccc     c grows to 24 bytes and begins a step earlier: no gap below the height is large
 *      8 |  bb cc      8 |  bb  |     enough for it, it goes on top of b. a and b stay. Height and bound are kept up to
 *      0 |aaaaaaa      0 |aaaaaaa     date: when the height is too far above the bound, the caller packs anew.
 *
 * For the two changes that come again and again: the same graph with fewer tokens (psc_repack_covers: nothing is
 * computed at all) and one node edited. One space, boxes that are free and have no alignment of their own.
 *
 * Ownership: in the arena passed in. Cost: building and an edit O(boxes + steps), some ns a box.
 */
#ifndef PSC_CORE_PLAN_OFFSETS_REPACK_H
#define PSC_CORE_PLAN_OFFSETS_REPACK_H

#include "core/plan/offsets/offsets.h"

struct psc_repack {
    struct psc_box *boxes;   /* [box_n] as they are now */
    uint64_t *offset;        /* [box_n] */
    uint64_t *live;          /* [step_n] bytes alive, rounded */
    struct psc_box *spans;   /* [box_n] scratch */
    uint32_t *beside;        /* [box_n] scratch */
    uint32_t box_n, step_n;
    uint64_t align, height, bound;
    uint64_t sum;            /* rounded bytes of all boxes */
};

/* Copies the problem, which must be one that psc_offsets_pack takes and plain as said above, and its packing.
 * PSC_ERR_USAGE for problems with spaces, fixed boxes or alignments; PSC_ERR_NOMEM. */
enum psc_status psc_repack_build(struct psc_arena *arena, const struct psc_offsets_problem *problem,
                                 const struct psc_offsets *packing, struct psc_repack *ret,
                                 struct psc_error *reterr) PSC_MUST_CHECK;

/* true: these boxes live when the layout's live and none is larger, so that its offsets are a packing of them, too. */
bool psc_repack_covers(const struct psc_repack *layout, const struct psc_box *boxes, uint32_t box_n);

/* Box i becomes *box: begin < end <= step_n, and all bytes together stay below PSC_BYTES_MAX, which is looked at:
 * PSC_ERR_USAGE, PSC_ERR_TOO_BIG, and nothing has changed. Where it does not fit below the height, up to a few boxes
 * beside it make room; else it goes on top. *ret_moved: how many boxes lie elsewhere now. */
enum psc_status psc_repack_edit(struct psc_repack *layout, uint32_t i, const struct psc_box *box, uint32_t *ret_moved,
                                struct psc_error *reterr) PSC_MUST_CHECK;

#endif
