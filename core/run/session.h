/* core/run/session.h: everything that outlives one forward pass.
 *
 *     session
 *       backends    opened once; one pool each, one id space each
 *       regions     K and V of every layer, made on first mention, kept until the end
 *       staging     copies across backends, keyed by (graph, node, destination), never recycled
 *       cache       at most 8 mapped graphs, most recent first, keyed by their parameters
 *
 *     psc_session_new(apis, n, &options, &s)
 *     psc_session_use(s, &key, build_cb, ctx)      hit: re-map; miss: build, assign, fuse, plan, map
 *     psc_session_fill(s, "token_ids", ids, n)     by name, length equal to the node's
 *     psc_session_execute(s, sink)
 *     psc_session_read(s, node, ...)               after execute every buffer is final
 *
 * Ids, addresses and sizes of buffers never change until the session is freed; a generation counts how often a buffer
 * was given out. The scheduler (core/run/schedule.c) borrows all of this and owns nothing.
 */
#ifndef PSC_CORE_RUN_SESSION_H
#define PSC_CORE_RUN_SESSION_H

#include "core/plan/plan.h"
#include "core/run/backend.h"
#include "core/run/graph-key.h"
#include "core/run/pool.h"
#include "core/run/sink.h"

struct psc_arena_settings;

/* Makes the graph of a key, assigned to backends and fused, in the arena. */
typedef enum psc_status (*psc_graph_build_fn)(void *ctx, struct psc_arena *arena, const struct psc_graph_key *key,
                                              struct psc_graph **ret, struct psc_error *reterr);
/* Weight of a name, or NULL. */
typedef const struct psc_weight *(*psc_weight_fn)(void *ctx, const char *name);

/* {0} is fine: pool planner, upstream, cpu with all cores, recycled bytes kept. */
struct psc_session_options {
    const struct psc_planner *planner;   /* NULL: pool */
    struct psc_plan_options plan;
    struct psc_backend_config config;
    enum psc_recycled recycled;
    bool snapshot;                       /* see psc_call.snapshot */
    bool sync_copies;                    /* blocking staged copies */
    bool replay;                         /* capture and replay where the backend can; not with time_ops */
    bool time_ops;                       /* wait before and after each kernel, and add up what each op takes */
    unsigned call_faults;                /* enum psc_call_fault */
    uint64_t run_faults;                 /* enum psc_run_fault bits: defects of session and scheduler */
    bool has_budget;
    uint64_t budget;                     /* bytes a backend may use for pool, staging and weights, when has_budget; else
                                            three quarters of what a device with memory of its own reports as free, else
                                            no limit */
    uint32_t n_ctx;                      /* rows of every KV region; 0: as the graph's nodes say */
    const struct psc_arena_settings *arenas; /* values live on arenas (core/run/session-arena.h), not in pools; NULL */
    psc_weight_fn weight;
    void *weight_ctx;
};

/* Defects of session, staging and scheduler, from the bug lab. */
enum psc_run_fault {
    PSC_RUN_L7,  /* staging is taken from the free list */
    PSC_RUN_L8,  /* staging moves the node's own mapping to the consumer's backend */
    PSC_RUN_L9,  /* one staging entry a node, whoever asks */
    PSC_RUN_L10, /* a staged copy is read without its wait */
    PSC_RUN_L11, /* staging is dropped and made again at every rebuild */
    PSC_RUN_L13, /* a layer asked for again with another size silently keeps its old regions */
    PSC_RUN_L15, /* a position beyond n_ctx is not refused */
    PSC_RUN_L17, /* an input that nobody filled is no error */
    PSC_RUN_L32, /* a recording is played although buffers or addresses have changed since */
    PSC_RUN_L34, /* while a window is open, somebody else copies on the same stream and waits */
    PSC_RUN_H5,  /* the budget counts a new class although an idle slot would serve */
    PSC_RUN_H6,  /* a failed re-map drops the cached graph */
    PSC_RUN_N
};

struct psc_session; /* opaque */

/* apis: borrowed, in registry order; backends are opened when a graph first uses them. */
enum psc_status psc_session_new(const struct psc_backend_api *const *apis, uint32_t api_n,
                                const struct psc_session_options *options, struct psc_session **ret,
                                struct psc_error *reterr) PSC_MUST_CHECK;
void psc_session_free(struct psc_session *s); /* NULL is fine */

/* Makes the graph of the key current and mapped. A graph that is current already stays as it is, inputs included, unless some
 * buffer has no memory (psc_backend_api.fails_late: then whatever uses such a buffer fails, and says so); any other
 * must be filled anew. On failure the cache, the mapping and the current graph are as before; only in `upstream` mode (and
 * with fault h6) a cached graph that could not be mapped again is dropped. build may be NULL when the key is known
 * to be cached. */
enum psc_status psc_session_use(struct psc_session *s, const struct psc_graph_key *key, psc_graph_build_fn build, void *ctx,
                                struct psc_error *reterr) PSC_MUST_CHECK;

/* Gives the current graph other buffers than it has, made anew; it must be filled anew. The old ones stay in the pools, idle: a
 * recording that outlives its buffers (fault l32) goes on using them. Mapped once more later, a graph gets those with the lowest
 * ids again. K and V regions and staging stay where they are. On failure all is as before. */
enum psc_status psc_session_move(struct psc_session *s, struct psc_error *reterr) PSC_MUST_CHECK;

/* Fills an input of the current graph by name. n counts elements and must be the node's; words are bit patterns. */
enum psc_status psc_session_fill(struct psc_session *s, const char *name, const void *words, uint64_t n,
                                 struct psc_error *reterr) PSC_MUST_CHECK;
/* The same for names that several inputs have, or none. */
enum psc_status psc_session_fill_node(struct psc_session *s, psc_node node, const void *words, uint64_t n,
                                      struct psc_error *reterr) PSC_MUST_CHECK;
/* Runs the current graph. Every input that anybody reads must have been filled since it was mapped. An input may be left as
 * it is from one execution to the next. sink may be NULL. A failure names node, op and backend, waits for all that is on
 * its way, and leaves the session usable. */
enum psc_status psc_session_execute(struct psc_session *s, const struct psc_sink *sink, struct psc_error *reterr) PSC_MUST_CHECK;
/* Copies the node's window (its own bytes, not its buffer's). n counts 4-byte words and must be the node's. */
enum psc_status psc_session_read(struct psc_session *s, psc_node node, void *words, uint64_t n,
                                 struct psc_error *reterr) PSC_MUST_CHECK;
/* Rows [lo, hi) of K (slot 0) or V (1) of a layer, as they are stored. */
enum psc_status psc_session_read_rows(struct psc_session *s, int32_t layer, unsigned slot, uint32_t lo, uint32_t hi,
                                      void *to, struct psc_error *reterr) PSC_MUST_CHECK;
enum psc_status psc_session_write_rows(struct psc_session *s, int32_t layer, unsigned slot, uint32_t lo, uint32_t hi,
                                       const void *from, struct psc_error *reterr) PSC_MUST_CHECK;

/* ---- what is there now */
const struct psc_graph *psc_session_graph(const struct psc_session *s);  /* current, NULL before the first use */
const struct psc_plan *psc_session_plan(const struct psc_session *s);    /* of the current graph; buffer ids are the pools' */
uint32_t psc_session_backend_n(const struct psc_session *s);             /* as apis */
/* The opened instance of a backend, for probes on its queue; NULL when it is not open. *ret_api is always set. */
struct psc_backend *psc_session_backend(const struct psc_session *s, uint32_t backend, const struct psc_backend_api **ret_api);
void psc_session_figures(const struct psc_session *s, uint32_t backend, struct psc_pool_figures *ret);
struct psc_session_counters {
    uint64_t builds, reuses, uid;          /* of the graph cache; uid of the current graph */
    uint64_t copies, waits, deferred_waits, blocking_copies, most_in_flight;
    uint64_t copied_bytes;                 /* by those copies */
    uint64_t launches, skipped_dead, captures, replays, moves;
};
void psc_session_counters(const struct psc_session *s, struct psc_session_counters *ret);
/* What all kernels of one op took so far, with options.time_ops: from when nothing was on its way on their backend to when they
 * were done. Copies, fills and moves of rows are no kernels. */
struct psc_op_time { uint64_t launches, ns; };
struct psc_op_time psc_session_op_time(const struct psc_session *s, enum psc_op op);

/* Places where values lie: the backends, and of a session on arenas behind them its execution arena, its I/O arena and
 * the memory that inputs borrow. */
uint32_t psc_session_place_n(const struct psc_session *s);
const char *psc_session_place_name(const struct psc_session *s, uint32_t place); /* "cpu", "exec", "io", "caller" */
uint32_t psc_session_buffer_n(const struct psc_session *s, uint32_t backend);
/* Also of an arena (id: a slot, as it is now) and of what inputs borrow (id: of the input). */
void psc_session_buffer(const struct psc_session *s, uint32_t place, uint32_t id, struct psc_pool_buffer *ret);
struct psc_kv_info { uint32_t layers, rows; uint64_t width, row_bytes; enum psc_kv_format format; };
void psc_session_kv(const struct psc_session *s, struct psc_kv_info *ret); /* of the first layer that has regions */

/* For tests only: exchanges two pool buffers of the same size behind the plan's back, in all that the current graph's
 * nodes from `from` on are given (0: in fills and reads of the host too), until it is mapped again. */
void psc_session_swap_addresses(struct psc_session *s, uint32_t backend, uint32_t a, uint32_t b, psc_node from);

#endif
