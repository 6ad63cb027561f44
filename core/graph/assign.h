/* core/graph/assign.h: which backend each node of a graph runs on.
 *
 *     for each node without a backend:
 *         the offload plan lets it on the device?   the first usable backend, by priority, that takes the op
 *         else                                      "cpu" if it takes the op
 *         still none                                "cpu" all the same (this is what places i32 inputs)
 *
 *     mixed:0-1=deferred,2-99=cpu     layer 0 1 | 2 3 ...      no layer: cpu, unless one range covers every layer
 *                                     deferred  | cpu
 *
 * A node that has a backend keeps it (tests use that), unless the plan overrides. Every answer is the node's
 * own: it depends on no other node. A graph once assigned never changes; the run takes it as it is.
 * Ownership: the new graph lies in the arena and borrows all but its nodes and backend names from the old one,
 * which must live as long. Cost: O(nodes * targets).
 */
#ifndef PSC_CORE_GRAPH_ASSIGN_H
#define PSC_CORE_GRAPH_ASSIGN_H

#include "core/graph/graph.h"

#define PSC_TARGETS_MAX 16u /* backends that an assignment knows */
#define PSC_OFFLOAD_MAX 64u /* ranges of one offload plan */

/* A backend that nodes may go to. Names and sentences are borrowed. */
struct psc_target {
    const char *name;    /* as people type it: "deferred" */
    const char *written; /* as graphs and files spell it: "metal"; NULL: as name */
    int32_t priority;    /* larger goes first; equals in table order */
    const char *unusable; /* NULL when nodes may go there, else one sentence why not: fenced off, no device */
    bool (*takes)(enum psc_op op, enum psc_dtype dtype, const struct psc_params *params); /* NULL: all */
    bool fuses_decode;   /* models built for it use the fused decode ops that it takes (core/model/build.h) */
};
/* Index of the target that is typed or written so, PSC_NONE when there is none; typed names go first. */
uint32_t psc_target_find(const struct psc_target *targets, uint32_t n, const char *name);
static inline const char *psc_target_written(const struct psc_target *target)
{
    return target->written ? target->written : target->name;
}

enum psc_offload_kind {
    PSC_OFFLOAD_NONE,   /* no plan: every node may go to the device */
    PSC_OFFLOAD_ONE,    /* every node to one target */
    PSC_OFFLOAD_LAYERS, /* the first `layers` blocks may go to the device; no layer: when that is all of them */
    PSC_OFFLOAD_RANGES  /* each range of blocks to its target; the rest to cpu */
};
struct psc_offload_range {
    uint32_t first, last; /* blocks, inclusive; last may exceed the graph's */
    uint32_t target;
};
struct psc_offload {
    enum psc_offload_kind kind;
    bool override;   /* also nodes that have a backend already */
    uint32_t target; /* ONE */
    uint32_t layers; /* LAYERS */
    struct psc_offload_range ranges[PSC_OFFLOAD_MAX]; /* RANGES: ascending, none overlaps another */
    uint32_t range_n;
};

/* "auto" (by priority), "layers:12" (the first 12 blocks by priority), the name of a target,
 * "mixed:0-11=deferred,12-99=cpu" or "mixed:3=deferred": a range may be one block. Blocks that no range names are the cpu's. PSC_ERR_USAGE with a sentence: unknown name (the known ones
 * are listed), ranges that overlap, a range backwards, too many. PSC_ERR_UNAVAILABLE: the target's own sentence. */
enum psc_status psc_offload_parse(const char *spec, const struct psc_target *targets, uint32_t target_n,
                                  struct psc_offload *ret, struct psc_error *reterr) PSC_MUST_CHECK;

/* The target of one node that has none yet; layer -1: the node has none. params may be NULL. PSC_NONE: there is no "cpu".
 * offload may be NULL: no plan. */
uint32_t psc_offload_target(const struct psc_target *targets, uint32_t target_n, const struct psc_offload *offload,
                            uint32_t layer_n, int32_t layer, enum psc_op op, enum psc_dtype dtype,
                            const struct psc_params *params);

/* offload may be NULL: no plan. One of the targets must be "cpu" (PSC_ERR_USAGE). A backend of the graph that no
 * target spells stays as it is; whoever runs the graph says that it cannot. */
enum psc_status psc_graph_assign(struct psc_arena *arena, const struct psc_graph *graph,
                                 const struct psc_target *targets, uint32_t target_n,
                                 const struct psc_offload *offload, struct psc_graph **ret,
                                 struct psc_error *reterr) PSC_MUST_CHECK;

#endif
