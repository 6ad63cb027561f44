/* tests/naive-run.h: what a plan does to every byte, told from graph and places alone.
 *
 * A third opinion: core/debug/check and naive-check believe the story that psc_plan_lower makes of a plan, this walk makes
 * none. It carries the graph out in build order on buffers whose bytes say which byte of which tensor they hold. For serial
 * plans of one backend without KV nodes, small ones.
 */
#ifndef PSC_TESTS_NAIVE_RUN_H
#define PSC_TESTS_NAIVE_RUN_H

#include "core/plan/plan.h"

/* The lines of naive_check (values are nodes); free with g_free. */
char *naive_run(const struct psc_graph *graph, const struct psc_plan *plan);

#endif
