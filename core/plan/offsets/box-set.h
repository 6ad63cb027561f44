/* core/plan/offsets/box-set.h: a list of boxes that came without a graph: names, times, a packing, and its story.
 *
 *     id lower upper size         times 0 3 9          story: 0 "at 0"      alloc a, write a, alloc b, write b
 *      a     0     9    4         a is alive in the           1 "before 3"  read b, release b
 *      b     0     3    4         steps [0, 2), b in [0, 1)   2 "at 3"
 *                                                             3 "before 9"  read a, release a
 *
 * A step is what lies between two neighbouring times at which anything begins or ends. Every step has two positions in
 * the story, its begin and its end: a box is written when it begins and read when it ends, so that the checker, which
 * knows nothing of boxes, sees each overlap as a read that went wrong.
 *
 * Ownership: all in the arena of the document. packed is what the file or the reader made of it.
 */
#ifndef PSC_CORE_PLAN_OFFSETS_BOX_SET_H
#define PSC_CORE_PLAN_OFFSETS_BOX_SET_H

#include "core/event/event.h"
#include "core/plan/offsets/offsets.h"

struct psc_box_set {
    struct psc_offsets_problem problem; /* one space */
    const char *const *names;           /* [box_n] */
    const int64_t *times;               /* [step_n + 1]: step k is [times[k], times[k + 1]) */
    struct psc_offsets packed;
};

/* The boxes of a graph, its in-place merges done (core/plan/offsets/boxing.h); a box is named by the id of the node that
 * begins it, times are positions. plan: of a planner of arenas, whose offsets become `packed`, or NULL: nothing is packed.
 * PSC_ERR_USAGE when the boxes lie on several backends: a set is one memory. */
struct psc_plan;
enum psc_status psc_box_set_of_graph(struct psc_arena *arena, const struct psc_graph *graph, const struct psc_plan *plan,
                                     struct psc_box_set *ret, struct psc_error *reterr) PSC_MUST_CHECK;

/* What happens to the bytes. One buffer, "arena", as large as the packing is high. PSC_ERR_TOO_BIG when there are more
 * positions than a story can have. */
enum psc_status psc_box_set_story(struct psc_arena *arena, const struct psc_box_set *set, const struct psc_offsets *packed,
                                  struct psc_story **ret, struct psc_error *reterr) PSC_MUST_CHECK;

#endif
