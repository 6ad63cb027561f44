#include "core/plan/planners/planners.h"

#include <string.h>

const struct psc_planner psc_planners[] = {
    {"pool", "pools of size classes, released buffers are taken again, in place where the rules allow it",
     psc_plan_pool},
    {"naive", "a buffer of its own for each node that is read or an output", psc_plan_naive},
    {"best-fit", "one arena, in execution order into the smallest hole that is large enough", psc_plan_best_fit},
    {"linear-scan", "one arena, in execution order at the lowest address that is free", psc_plan_linear_scan},
    {"greedy-size", "one arena, the largest tensor first", psc_plan_greedy_size},
    {"greedy-breadth", "one arena, the position with the most live bytes first", psc_plan_greedy_breadth},
    {"optimal", "one arena, heuristics and then search: the lowest height, with its proof", psc_plan_optimal},
    {"candela", "slots of exact sizes, in place over whichever operand dies here, the lowest slot that is past", psc_plan_candela},
    {0},
};

const struct psc_planner *psc_planner_find(const char *name)
{
    for (const struct psc_planner *planner = psc_planners; planner->name; planner++)
        if (!strcmp(planner->name, name))
            return planner;
    return NULL;
}

bool psc_plan_runs(const struct psc_graph *graph, const struct psc_plan *plan, psc_node node)
{
    const struct psc_node_info *info = &graph->nodes[node];
    const struct psc_place *place = &plan->places[node];
    return place->buffer != PSC_NONE && place->reason != PSC_WHY_VIEW && info->op != PSC_OP_INPUT &&
           !info->is_input && info->op != PSC_OP_KV_LOAD;
}
