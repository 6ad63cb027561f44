/* core/plan/offsets/offsets.h: where boxes of bytes and time lie in one arena, so that the arena is small.
 *
 *     box  begin end  bytes          step  0   1   2   3   4
 *      a     0    2     16            32 |bbbbbbb|
 *      b     0    2     16               |bbbbbbb|
 *      c     2    5     32            16 |aaaaaaa|ccccccccccc|
 *      d     3    5     16 ... at 32   0 |aaaaaaa|ccccccccccc|
 *
 *     bound 48 at step 3 (c and d live), height 48: the packing is proved to be the lowest there is
 *
 * A *box* is alive in the steps [begin, end) and needs `bytes` bytes for all of them. Two boxes of one space that share a
 * step must not share a byte. What a step is, the caller says: positions of a graph, or the ranks of the times of a file.
 * Boxes lie in *spaces* (the arenas of backends), each packed apart and with a capacity of its own.
 *
 * The *lower bound* of a space is the largest sum of bytes alive in one step (sizes rounded up to the alignment); it and
 * its step are the certificate: who doubts it adds up the boxes alive there. A height equal to it is proved to be optimal
 * (PSC_PROOF_BOUND); the search proves a height also by finding that nothing lower exists (PSC_PROOF_SEARCH).
 *
 * Strategies are rows of psc_packers. All are deterministic: the same problem and the same budget of work give the same
 * offsets; only a budget of time may change them.
 *
 * Invariants of a packing (psc_offsets_check is naive on purpose and shares nothing with any strategy; psc_offsets_verify is
 * for many boxes)
 *   - boxes of one space that share a step share no byte
 *   - an offset is a multiple of the box's alignment; a fixed box lies where it was fixed
 *   - height is the largest offset + rounded bytes of the space, never less than the bound
 * Ownership: the problem is borrowed; the packing lies in the arena passed in. Bytes are at most PSC_BYTES_MAX in all.
 */
#ifndef PSC_CORE_PLAN_OFFSETS_OFFSETS_H
#define PSC_CORE_PLAN_OFFSETS_OFFSETS_H

#include "core/base/arena.h"
#include "core/base/status.h"
#include "core/graph/graph.h"

#include <stdbool.h>

#define PSC_OFFSET_FREE UINT64_MAX   /* of `fixed`: the box may lie anywhere */
#define PSC_CAPACITY_NONE UINT64_MAX /* of `capacity`: the space may be as large as it needs */
#define PSC_BOXES_MAX 67108864u      /* limit on the boxes of one problem */

struct psc_box {
    uint64_t bytes;
    uint32_t begin, end; /* steps, half-open; begin < end */
};

struct psc_offsets_problem {
    const struct psc_box *boxes;
    uint32_t box_n;
    uint32_t step_n;           /* every end is at most this */
    uint64_t align;            /* of every offset, bytes, a power of two; 0 is 1 */
    const uint64_t *aligns;    /* [box_n]: a box's own, a power of two, where it asks for more; NULL: none does */
    const uint64_t *fixed;     /* [box_n]: where the box must lie, or PSC_OFFSET_FREE; NULL: all are free */
    const uint8_t *space;      /* [box_n]: which space; NULL: all in space 0 */
    uint32_t space_n;          /* 0 is 1 */
    const uint64_t *capacity;  /* [space_n], or PSC_CAPACITY_NONE; NULL: none has one */
    /* Orders that the caller knows already, to save sorting: boxes by begin and by end, ties by index. NULL: not known. */
    const uint32_t *by_begin, *by_end;
};

/* How hard to try. What is 0 is a default; work is counted in looks at a section of time (search.h), about 0.1 us each
 * and the same on every machine. */
struct psc_offsets_budget {
    uint64_t work;             /* of each space; 0: PSC_OFFSETS_WORK and 96 a box, at most PSC_OFFSETS_WORK_MOST; with a
                                  limit of time 0: no limit but the time */
    uint32_t milliseconds;     /* of processor time of this thread, of each space; 0: no limit but the work */
};
#define PSC_OFFSETS_WORK UINT64_C(2000000)
#define PSC_OFFSETS_WORK_MOST UINT64_C(16000000)

enum psc_proof {
    PSC_PROOF_NONE,   /* best known; a lower height may exist between bound and height */
    PSC_PROOF_BOUND,  /* the height is the lower bound */
    PSC_PROOF_SEARCH, /* the search showed that nothing lower exists */
    PSC_PROOF_N
};
const char *psc_proof_name(enum psc_proof proof); /* "best known", "lower bound", "search" */

struct psc_offsets_space {
    uint64_t height, bound; /* bytes */
    uint32_t bound_at;      /* the first step whose live bytes are the bound */
    uint32_t box_n;
    enum psc_proof proof;
    bool fits;              /* height <= capacity */
    const char *by;         /* the strategy that found it: of `optimal` the rung of its ladder, or "search" */
    uint64_t work;          /* spent */
};
struct psc_offsets {
    uint64_t *offset;               /* [box_n] bytes from the start of the box's space */
    uint32_t *turn;                 /* [box_n]: the box was placed as the turn-th of its space */
    struct psc_offsets_space *spaces; /* [space_n] */
    uint32_t space_n;
};

/* Packs the boxes of one space; everything in the problem is checked, `space` and `capacity` are not looked at but for
 * goal: a height at which trying harder ends. ret->offset and ->turn are [box_n], ready. PSC_ERR_NOMEM only. */
struct psc_packer {
    const char *name; /* "best-fit" */
    const char *text; /* one line */
    enum psc_status (*pack)(const struct psc_offsets_problem *problem, uint64_t goal,
                            const struct psc_offsets_budget *budget, struct psc_arena *scratch, uint64_t *offset,
                            uint32_t *turn, struct psc_offsets_space *space);
    bool sweeps; /* it passes all begins and ends anyway: of boxes that may lie anywhere it sets bound and height itself */
};
extern const struct psc_packer psc_packers[];                  /* ends with a NULL name */
const struct psc_packer *psc_packer_find(const char *name);    /* NULL when unknown */

/* Checks the problem, packs every space, fills heights, bounds and proofs. A space that does not fit its capacity is no
 * error here: spaces[].fits says so. budget may be NULL. PSC_ERR_USAGE for a problem that makes no sense (with the box),
 * PSC_ERR_TOO_BIG, PSC_ERR_PLAN for fixed boxes that overlap, PSC_ERR_NOMEM. */
enum psc_status psc_offsets_pack(struct psc_arena *arena, const struct psc_offsets_problem *problem,
                                 const struct psc_packer *packer, const struct psc_offsets_budget *budget,
                                 struct psc_offsets *ret, struct psc_error *reterr) PSC_MUST_CHECK;

/* The lower bound of a problem of one space and its first step; a problem without boxes has 0 at 0. O(boxes + steps). */
enum psc_status psc_offsets_bound(const struct psc_offsets_problem *problem, uint64_t *ret, uint32_t *ret_at,
                                  struct psc_error *reterr) PSC_MUST_CHECK;

/* Every invariant above, recomputed pair by pair: PSC_ERR_PLAN names the two boxes. O(n^2), for tests and small n. */
enum psc_status psc_offsets_check(const struct psc_offsets_problem *problem, const struct psc_offsets *packing,
                                  struct psc_error *reterr) PSC_MUST_CHECK;

/* The same by a sweep over the steps with the live boxes in a tree by address: O(n log n). */
enum psc_status psc_offsets_verify(const struct psc_offsets_problem *problem, const struct psc_offsets *packing,
                                   struct psc_error *reterr) PSC_MUST_CHECK;

/* The bytes a box takes: rounded up to the alignment of the problem, a power of two. */
static inline uint64_t psc_box_room(uint64_t align, uint64_t bytes)
{
    return (bytes + align - 1) & ~(align - 1);
}

#endif
