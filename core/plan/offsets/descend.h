/* core/plan/offsets/descend.h: a packing made lower by search, part by part, as long as there is work left.
 *
 *     height ...... 1100  found by a heuristic          try the bound: spent. Half way: 1060, found, 1056 high
 *     lowest ...... 1000  the bound of the part         half way again: 1028, spent; 1042, found ... then a new round
 *
 * The part that is highest is worked on, since it alone makes the packing so high. A try is some settings of the search
 * (search.h), each with so many nodes. The first three rounds share the settings among them and have just more nodes than
 * there are boxes; later rounds try all, with noise and twice the nodes each time, halve more finely, and mostly begin
 * above the bound. A try that shows that a capacity is too small raises the lowest: when it meets the height, the height
 * is proved.
 *
 * Any time: whatever ends it, the packing is never higher than before. Deterministic for a budget of work.
 */
#ifndef PSC_CORE_PLAN_OFFSETS_DESCEND_H
#define PSC_CORE_PLAN_OFFSETS_DESCEND_H

#include "core/plan/offsets/search.h"

/* offset is a packing of a problem of one space, sorted, and *work what may be spent; both are changed. Ends when no part
 * is higher than goal or the bound, when all is proved, or when the budget is spent. *ret_lower: something was made
 * lower; *ret_proved: nothing is lower. PSC_ERR_NOMEM only. */
enum psc_status psc_descend(const struct psc_offsets_problem *p, uint64_t goal, uint64_t *work, uint64_t until,
                            struct psc_arena *scratch, uint64_t *offset, bool *ret_lower, bool *ret_proved);

#endif
