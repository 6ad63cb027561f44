/* core/plan/choice.h: a planner with its options as one word.
 *
 *     pool                      the pool planner, the other options as they are
 *     pool+hardened+exact       modes, sizes, slots, orders and faults are parts in any order
 *     optimal+align=64+apart    of planners of arenas
 *     candela+0.2+b11           generation and faults of candela's rules
 *     exact                     the planner stays as it is
 *     file                      what the file brings: its events or its plan
 *
 * Names of planners are those of the table psc_planners, which this header also says in a row, for messages and help.
 */
#ifndef PSC_CORE_PLAN_CHOICE_H
#define PSC_CORE_PLAN_CHOICE_H

#include "core/base/text.h"
#include "core/plan/plan.h"

struct psc_planner_choice {
    const struct psc_planner *planner; /* NULL: the pool planner */
    struct psc_plan_options plan;
    bool filed;                        /* what the file brings is wanted, no plan of ours */
};
/* *choice holds what the word does not say. PSC_ERR_USAGE names the part that is not known; *choice is untouched then. */
enum psc_status psc_planner_choice_parse(struct psc_planner_choice *choice, const char *word, struct psc_error *reterr) PSC_MUST_CHECK;

/* "pool, naive, best-fit and optimal": every planner; of boxes: those that pack boxes without a graph (psc_packers). */
void psc_planner_names(struct psc_text *out, bool of_boxes, const char *last);

#endif
