/* core/plan/planners/planners.h: the strategies behind the table in core/plan/planners.c, one file each. */
#ifndef PSC_CORE_PLAN_PLANNERS_PLANNERS_H
#define PSC_CORE_PLAN_PLANNERS_PLANNERS_H

#include "core/plan/plan.h"

enum psc_status psc_plan_pool(struct psc_arena *arena, const struct psc_graph *graph,
                              const struct psc_plan_options *options, struct psc_plan **ret,
                              struct psc_error *reterr);
enum psc_status psc_plan_naive(struct psc_arena *arena, const struct psc_graph *graph,
                               const struct psc_plan_options *options, struct psc_plan **ret,
                               struct psc_error *reterr);
enum psc_status psc_plan_candela(struct psc_arena *arena, const struct psc_graph *graph,
                                 const struct psc_plan_options *options, struct psc_plan **ret,
                                 struct psc_error *reterr);

/* Planners of arenas: one arena for each backend, a strategy of core/plan/offsets for each. */
enum psc_status psc_plan_best_fit(struct psc_arena *arena, const struct psc_graph *graph,
                                  const struct psc_plan_options *options, struct psc_plan **ret,
                                  struct psc_error *reterr);
enum psc_status psc_plan_linear_scan(struct psc_arena *arena, const struct psc_graph *graph,
                                     const struct psc_plan_options *options, struct psc_plan **ret,
                                     struct psc_error *reterr);
enum psc_status psc_plan_greedy_size(struct psc_arena *arena, const struct psc_graph *graph,
                                     const struct psc_plan_options *options, struct psc_plan **ret,
                                     struct psc_error *reterr);
enum psc_status psc_plan_greedy_breadth(struct psc_arena *arena, const struct psc_graph *graph,
                                        const struct psc_plan_options *options, struct psc_plan **ret,
                                        struct psc_error *reterr);
enum psc_status psc_plan_optimal(struct psc_arena *arena, const struct psc_graph *graph,
                                 const struct psc_plan_options *options, struct psc_plan **ret,
                                 struct psc_error *reterr);

#endif
