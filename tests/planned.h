/* tests/planned.h: a graph from text, planned, lowered and checked in one call, and its parts as text.
 *
 *     struct planned p = planned_new("x: input 4\n...", "hardened exact l4");
 *     planned_places(&p)     "x=b0 t=b1 v=b1+8 s=kv.0.k d=-"
 *     planned_findings(&p)   "K1 t u o" (victim, writer, reader by name), one a line, "" when clean
 */
#ifndef PSC_TESTS_PLANNED_H
#define PSC_TESTS_PLANNED_H

#include "core/debug/check.h"
#include "core/plan/plan.h"

struct planned {
    struct psc_arena arena;
    struct psc_graph *graph;
    struct psc_plan *plan;
    struct psc_story *story;
    struct psc_check check;
};

/* Words: modes, sizes, slots, orders, faults, names of planners, `log`. NULL: the defaults. */
struct psc_plan_options planned_options(const char *words, const struct psc_planner **ret_planner);
/* Aborts when anything fails or the story breaks a rule. The arena of the graph may be the same or another. */
struct planned planned_new(const char *text, const char *words);
struct planned planned_graph(struct psc_graph *graph, const char *words);
struct planned planned_foreign(const char *text, const struct psc_foreign *foreign);
void planned_release(struct planned *p);

char *planned_place(const struct planned *p, psc_node node); /* g_free */
char *planned_places(const struct planned *p);
char *planned_findings(const struct planned *p);
char *planned_story(const struct planned *p); /* one event a line */
const struct psc_place *planned_find(const struct planned *p, const char *name);

#endif
