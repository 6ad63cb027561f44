/* core/plan/offsets/search.h: does a part fit into so many bytes? Depth-first, exact, for some hundreds of boxes.
 *
 *     bytes                              the lowest byte that is open in the five sections: 8 8 4 4 8. The run 4 4 is a
 *       8 |a a|. .|b b|                  valley. At its bottom begins, in a section of it, exactly one of the boxes that
 *       4 |a a|c c|b b|                  fit between the walls, or none of them: then those bytes stay empty up to the
 *       0 |a a|c c|b b|                  next height at which one of them could rest on another
 *
 * In a packing in which no box can be moved down each rests on another or on the ground. Only those are looked at, by
 * filling valleys, and no packing is met twice.
 *
 *   - every box knows the lowest byte at which it may begin. The boxes of a section that are still to be placed, taken in
 *     this order, give the least height at which the last of them ends: above the capacity the branch is dead
 *   - where a box was kept out of a hole into which it still fits, and nothing else can go there, the branch is dead:
 *     the packing with the box in the hole is looked at elsewhere
 *   - a branch that died tells in which sections the reasons lie. A choice above it that changed nothing there is not
 *     varied (this also keeps parts of the time apart that no remaining box connects)
 *   - of boxes that are alike the first is placed first
 *
 * Restarts: what is tried first is a setting, with noise from a seed. The same problem, setting and work give the same
 * answer on every machine.
 *
 * Work is counted in looks at a section, about 0.1 us each; the box placed and those beside it make their sections be
 * looked at. Memory of a search is its own until psc_search_end. No recursion.
 */
#ifndef PSC_CORE_PLAN_OFFSETS_SEARCH_H
#define PSC_CORE_PLAN_OFFSETS_SEARCH_H

#include "core/plan/offsets/sections.h"

enum psc_search_answer {
    PSC_SEARCH_FOUND, /* psc_search_get has it */
    PSC_SEARCH_NONE,  /* it was shown that the part does not fit */
    PSC_SEARCH_SPENT, /* neither within the nodes, the work or the time */
    PSC_SEARCH_NOMEM,
};
/* Which box of a choice is tried first: of most bytes, longest life, most crowded section, largest area. */
enum psc_search_order { PSC_SEARCH_SIZE, PSC_SEARCH_LIFE, PSC_SEARCH_CROWD, PSC_SEARCH_AREA, PSC_SEARCH_ORDER_N };
/* Which section a choice is made at: of the lowest valley, that with the fewest boxes to choose from, or the fullest;
 * of all valleys the fullest, or that with the fewest to choose from. */
enum psc_search_valley { PSC_SEARCH_LOW_FEW, PSC_SEARCH_LOW_FULL, PSC_SEARCH_FULL, PSC_SEARCH_FEW, PSC_SEARCH_VALLEY_N };

struct psc_search_setting {
    uint8_t order, valley;
    uint8_t noise; /* keys of the order grow by up to noise/64 of themselves */
    uint64_t seed;
};
struct psc_search_limits {
    uint64_t nodes; /* of one run */
    uint64_t *work; /* looks; what a run spends is taken off */
    uint64_t until; /* processor time of this thread in ns, 0: none */
};

#define PSC_SEARCH_PAIRS_MAX UINT64_C(16777216) /* of boxes beside each other, and of boxes and sections, in a part */

struct psc_search;
/* Of one part of a problem of one space, which stays the caller's and must not change. PSC_ERR_TOO_BIG: beyond
 * PSC_SEARCH_PAIRS_MAX; PSC_ERR_NOMEM. boxes: those of the part, in order of their begins. */
enum psc_status psc_search_begin(const struct psc_offsets_problem *p, const struct psc_sections *sections, uint32_t part,
                                 const uint32_t *boxes, uint32_t box_n, struct psc_search **ret);
void psc_search_end(struct psc_search *search); /* NULL is fine */

enum psc_search_answer psc_search_run(struct psc_search *search, uint64_t capacity, const struct psc_search_setting *setting,
                                      const struct psc_search_limits *limits);
/* After FOUND: sets offset[i] of the part's boxes, returns the height. */
uint64_t psc_search_get(const struct psc_search *search, uint64_t *offset);

uint64_t psc_search_clock(void); /* processor time of this thread, ns */

#endif
