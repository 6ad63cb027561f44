/* core/run/bind.h: a plan with addresses: what the scheduler walks, made once a mapping.
 *
 *     plan      o at b2 [0,16)                     program    job 4: add in 0x..c0 0x..80 out 0x..40, fresh
 *     copy      t to metal, stage.2.metal                     transfer 0: 0x..80 -> 0x..f0, waited for by job 4
 *
 * Jobs are the nodes that run or show a view, in build order, and those after which the walk gave buffers back. A job's
 * call holds addresses only. What a listener is told is found from these addresses (core/run/launch.h); from the
 * graph comes what an op reads of each operand, from the plan only where the walk gave a buffer out or back.
 *
 * Ownership: the arena passed in. Cost: O(nodes + edges).
 */
#ifndef PSC_CORE_RUN_BIND_H
#define PSC_CORE_RUN_BIND_H

#include "core/model/weight.h"
#include "core/plan/plan.h"
#include "core/run/pool.h"
#include "core/run/rows.h"

/* Where the window of a node lies. */
struct psc_home {
    psc_address at;        /* 0: nowhere */
    uint64_t bytes;
    uint8_t pool;          /* index into the session's pools */
};

/* What a job reads of an operand, for listeners. */
struct psc_operand {
    uint64_t lo, hi;       /* bytes of the window that call.in has, or that a copy moves */
    uint32_t value;        /* node, staging copy, or a window of its own; rows: layer of the plan */
    uint8_t kind;          /* enum psc_operand_kind */
};
enum psc_operand_kind { PSC_OPERAND_NOTHING, PSC_OPERAND_BYTES, PSC_OPERAND_ROWS };

enum psc_job_kind {
    PSC_JOB_CALL,
    PSC_JOB_MOVE,          /* a view that is placed elsewhere: its window is copied */
    PSC_JOB_VIEW,          /* moves nothing */
    PSC_JOB_NOTHING        /* only gives buffers back */
};
struct psc_job {
    struct psc_call call;  /* in, out, kv: also of moves and views */
    psc_node node;
    uint8_t kind;          /* enum psc_job_kind */
    uint8_t pool;          /* of the backend that runs it */
    uint8_t out_pool;      /* whose memory the output is in */
    uint16_t lane;         /* of its events */
    bool fresh;            /* the walk gave a buffer out for it */
    bool joins;            /* a concat whose operands may lie in place already */
    bool writes;           /* its own window (KV stores write rows only) */
    const struct psc_operand *operands; /* [call.in_n + 1]: the last one: rows that no operand stands for */
    uint32_t layer;        /* of the plan: whose rows it writes, PSC_NONE */
    uint32_t shown;        /* views: the value shown */
    uint32_t wait_at, wait_n;       /* program->waits */
    uint32_t release_at, release_n; /* program->releases */
    psc_address recycle;   /* bytes that get the pool's pattern before it runs; 0: none */
    uint64_t recycle_bytes;
    psc_address move_from; /* moves */
};
struct psc_transfer {      /* a staged copy, as plan->copies */
    psc_node node;
    uint8_t from_pool, to_pool;
    psc_address from, to;
    uint64_t bytes;
    int32_t enqueue, wait; /* positions */
};
struct psc_flight { uint64_t ticket; bool pending, issued; }; /* of a transfer, in one execution */
struct psc_stretch {       /* a split */
    const struct psc_split *split;
    uint32_t job_at, job_n;
    uint32_t transfer_at, transfer_n;
    uint8_t pool;
};
struct psc_given_back {
    psc_address at;
    uint64_t bytes;
    psc_node tenant;
    int32_t position;
    uint8_t pool;
};
struct psc_filled_input {
    psc_node node;
    bool filled;           /* since the graph was mapped */
    bool told;             /* no: filled since the last execution */
    uint32_t *words;       /* what it holds, when rows follow from it; else NULL */
    psc_address recycle;   /* as of a job: gets the pattern before it is filled for the first time */
    uint64_t recycle_bytes;
};
/* The regions of a layer of the plan, as kernels see them. */
struct psc_bound_layer {
    struct psc_kv_pair kv; /* rows 0: none */
    uint64_t bytes;        /* of K as the graph asks for it */
    uint8_t pool;
};
struct psc_program {
    const struct psc_graph *graph;
    const struct psc_plan *plan;
    struct psc_home *homes;             /* [graph->n] */
    struct psc_job *jobs;
    struct psc_stretch *stretches;
    struct psc_transfer *transfers;
    uint32_t *waits;                    /* transfers */
    struct psc_given_back *releases;
    struct psc_filled_input *inputs;    /* in the order in which they are filled */
    struct psc_bound_layer *layers;     /* [plan->layer_n] */
    uint32_t *layer_of;                 /* [graph->n]: layer of the plan, PSC_NONE */
    uint32_t *input_of;                 /* [graph->n]: index into inputs, PSC_NONE */
    struct psc_rows rows;
    uint32_t job_n, stretch_n, transfer_n, input_n, dead_n;
    uint32_t staging_at;                /* value of the first copy; windows of moves come after the copies */
    uint32_t workspace_at;              /* and after these node 0's workspace, for calls that are given one */
    bool lacks;                         /* some buffer of its pools had no memory when it was bound */
    uint64_t bounce_bytes;              /* the largest transfer: what a round trip over the host needs */
    uint64_t layout;                    /* hash of all addresses and of the KV layout: what a recording depends on */
    /* Room of one execution. */
    struct psc_flight *flights;         /* [transfer_n] */
    uint32_t *enqueued;                 /* [transfer_n] */
    uint32_t *rows_version;             /* [plan->layer_n] */
};

/* Weights of one node, looked up before planning. */
struct psc_node_weights { struct psc_bound_weight weight, bias[3], q_norm, k_norm, norm_bias; };

struct psc_binding {       /* what psc_program_build needs */
    const struct psc_graph *graph;
    const struct psc_plan *plan;
    const struct psc_pool *pools;
    const uint8_t *pool_of;             /* [graph->backend_n + 1]: pool of a backend; the last one: of nodes without */
    const uint32_t *ids;                /* [plan->buffer_n]: id in its pool */
    const struct psc_bound_layer *layers; /* [plan->layer_n] */
    const struct psc_node_weights *const *weights; /* [graph->n], NULL where the node has none; or NULL */
    enum psc_recycled recycled;
    bool snapshot;
    bool unbounded_rows;                /* fault l15 */
    bool one_staging;                   /* fault l9 */
    unsigned faults;                    /* of calls */
};
enum psc_status psc_program_build(struct psc_arena *arena, const struct psc_binding *binding, struct psc_program **ret,
                                  struct psc_error *reterr) PSC_MUST_CHECK;

/* Layer of the plan whose regions a KV node or attention uses, PSC_NONE. */
uint32_t psc_plan_layer(const struct psc_graph *graph, const struct psc_plan *plan, psc_node node);

#endif
