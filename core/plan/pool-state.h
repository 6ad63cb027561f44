/* core/plan/pool-state.h: what a pool holds already when a graph is planned, and what may be added to it.
 *
 *     pool of "cpu"                 plan of the next graph
 *     b0  pool   1 KiB   idle       3 inputs and results take b0, b4, b1: the idle buffer of their size that the slot
 *     b1  pool   1 KiB   idle       policy names; what is missing is new and gets the ids from 6
 *     b2  kv.0.k 64 KiB             the region of layer 0, taken as it is; another size or backend is PSC_ERR_PLAN
 *     b3  kv.0.v 64 KiB
 *     b4  pool   8 KiB   idle
 *     b5  stage  4 KiB              of another graph: never taken
 *
 * Between graphs everything in a pool is idle: mapping a graph again takes the lists of idle buffers in the order of their
 * ids, so the same graph gets the same buffers whatever was mapped in between, and a graph whose sizes stay inside their
 * classes needs nothing new. Ids, addresses and sizes never change. plan->buffers lists the buffers that this plan uses;
 * plan->pool_at says which of them are there already.
 *
 * A budget is refused before anything is taken (PSC_ERR_TOO_BIG, with all four numbers): pool + weights + what the node
 * needs > budget. The pool's bytes are its buffers and staging copies; KV regions are not counted. `hardened` asks only
 * where a new buffer is needed; `upstream` (and fault h5) asks each time, so that a graph which fits exactly is refused
 * when it is mapped again.
 */
#ifndef PSC_CORE_PLAN_POOL_STATE_H
#define PSC_CORE_PLAN_POOL_STATE_H

#include "core/plan/plan.h"

struct psc_pool_item {
    const char *backend;  /* as the graph spells it */
    uint64_t id, bytes, base;
    enum psc_role role;   /* POOL: idle. PERSISTENT: a region. STAGING: a copy */
    int32_t layer;        /* regions; -1: of the nodes without layer */
    uint8_t slot;         /* regions: 0 K, 1 V */
    psc_node node;        /* staging: the node copied, of the graph that is planned; PSC_NONE: of another graph */
};
struct psc_budget {
    const char *backend;  /* NULL: every backend that no other entry names */
    uint64_t bytes;       /* 0 is a budget of nothing */
    uint64_t weights;     /* bytes of weights that the backend holds */
};
struct psc_pool_state {
    const struct psc_pool_item *items; /* ids of one backend ascend */
    uint32_t n;
    const struct psc_budget *budgets;
    uint32_t budget_n;
};

/* A backend's name as items spell it ("" for nodes without), and the graph's index of one (PSC_BACKEND_NONE when the
 * graph does not name it). */
const char *psc_pool_backend_name(const struct psc_graph *graph, uint8_t backend);
uint8_t psc_pool_backend_of(const struct psc_graph *graph, const char *name);

/* The state when the plan is over: the items of `state` (NULL: none) with the plan's new buffers after them, all pool
 * buffers idle. The plan was made from `state`. Texts are the graph's and those of the old state. For another graph,
 * clear `node` of the staging items first. */
enum psc_status psc_pool_state_after(struct psc_arena *arena, const struct psc_pool_state *state,
                                     const struct psc_graph *graph, const struct psc_plan *plan,
                                     struct psc_pool_state *ret, struct psc_error *reterr) PSC_MUST_CHECK;

#endif
