/* core/run/sink.h: who listens to a run while it happens.
 *
 * The launch wrapper (core/run/launch.c) calls the sink for every event with the addresses that the kernel was given,
 * turned back into buffer and bytes by the pool that owns them; never with what the plan says. The recorder is a
 * sink; so are tests. All members may be NULL.
 */
#ifndef PSC_CORE_RUN_SINK_H
#define PSC_CORE_RUN_SINK_H

#include "core/event/event.h"
#include "core/run/backend.h"

/* Rows of one layer's regions that a node wrote or read in this step; several entries when they are no single run. */
struct psc_kv_access {
    psc_node node;
    int32_t layer;
    bool is_write;
    uint32_t lo, hi;         /* rows (cells), half-open */
};

/* Where a window really lies. */
struct psc_located {
    uint8_t backend;         /* one of the session's places: a backend, or behind those an arena or the caller (psc_session_place) */
    uint32_t buffer;         /* id in that backend's pool, slot of the arena, number of the caller's input; PSC_NONE when the
                                address is nobody's */
    uint32_t generation;
    uint64_t lo, hi;         /* bytes of the buffer */
    psc_address at;          /* of the first of them */
    uint8_t on;              /* the backend whose kernels and probes reach it */
};

struct psc_session;
struct psc_sink {
    void *ctx;
    /* The current graph is about to execute; step counts executions of the session from 0. */
    enum psc_status (*begin)(void *ctx, struct psc_session *session, uint32_t step, struct psc_error *reterr);
    /* One event. event->buffer is the id in the pool of backend `at->backend`; value indices: node index for node values,
     * graph->n + 2 * layer + (0 K, 1 V) for regions, then the staging copies in order of plan->copies, then the windows that
     * moves read, as psc_plan_lower numbers them, then (on arenas) the workspace of each node. Events of one execution count from 0: the peer of a wait is the
     * number of its enqueue event. They come in the order of core/event/event.h:
     *   fill      of inputs that were filled since the execution before: one without any is a second run over the same inputs
     *   export    of every output, when all is synchronised; buffer PSC_NONE (and backend PSC_BACKEND_NONE) when it has none */
    void (*event)(void *ctx, const struct psc_event *event, const struct psc_located *at);
    /* Before the rows events of its node. Rows that no input names (an index that is computed) are all rows. */
    void (*rows)(void *ctx, const struct psc_kv_access *access);
    /* Around each kernel, before and after it is launched: the place to queue probes on `api`/`b`. */
    enum psc_status (*before)(void *ctx, const struct psc_backend_api *api, struct psc_backend *b, const struct psc_call *call,
                              struct psc_error *reterr);
    enum psc_status (*after)(void *ctx, const struct psc_backend_api *api, struct psc_backend *b, const struct psc_call *call,
                             struct psc_error *reterr);
    /* The last node of a split has been launched, before it is submitted: captures at the end of a split. */
    enum psc_status (*split_end)(void *ctx, const struct psc_split *split, struct psc_error *reterr);
    /* All is synchronised: results of probes are there. status says how it ended. Always called when begin went well. */
    enum psc_status (*end)(void *ctx, enum psc_status status, struct psc_error *reterr);
    /* What was launched on that backend of the session at positions below `before` has taken effect, and the host knows it
     * when position `at` begins (the graph's n: at the end). Only of backends that queue (psc_backend_api.idle). */
    void (*completed)(void *ctx, uint32_t backend, uint32_t before, uint32_t at);
};

#endif
