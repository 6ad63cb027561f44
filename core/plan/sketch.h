/* core/plan/sketch.h: a plan under construction: what all planners share before and after their own rule.
 *
 *     psc_sketch_begin     digest, splits, order, lives, KV regions
 *       (the planner)      opens and fills the place of every node, adds buffers, refusals, log lines, releases
 *     psc_sketch_finish    staging buffers, buffer names and addresses, figures -> struct psc_plan
 *
 * Buffers: index k of the sketch is region buffer k for k < region_n (K and V of each layer that has them),
 * and pool buffer k - region_n above; the finished plan lists pool buffers first, then regions, then staging.
 *
 * Ownership: everything the plan keeps lies in `arena`; the growing lists are on the heap and scratch in an
 * arena of its own, both given back by psc_sketch_release, which is fine on a half-built sketch.
 */
#ifndef PSC_CORE_PLAN_SKETCH_H
#define PSC_CORE_PLAN_SKETCH_H

#include "core/plan/liveness.h"
#include "core/plan/plan.h"
#include "core/plan/regions.h"

#include <string.h>

struct psc_sketch {
    struct psc_arena *arena, scratch;
    const struct psc_graph *graph;
    struct psc_plan_options options;
    struct psc_digest digest;   /* what is asked of each node, and where it runs */
    const psc_node *order;      /* NULL = build order */
    struct psc_lives lives;     /* views folded into what they show (not with fault l5) */
    const int32_t *last_use;    /* [n]: last position that names the node itself, pins included */
    struct psc_regions regions;
    uint32_t region_n;          /* region buffers: 2 for each layer that has them */
    uint32_t *region_k, *region_v;

    struct psc_place *places;   /* [n]; psc_sketch_open makes one ready */
    struct psc_buffer *buffers; /* heap; finish sets id, base and the names that are NULL */
    size_t buffer_n, buffer_cap;
    struct psc_refused *refused; /* arena; room for 2 a node */
    uint32_t refused_n;
    struct psc_walk *walk;
    size_t walk_n, walk_cap;
    struct psc_release *releases; /* arena; room for 1 a node */
    uint32_t release_n;
    struct psc_copy *copies;    /* scratch; made by psc_sketch_copies */
    uint32_t copy_n;
    uint32_t *pool_at;          /* [buffer_n] items of options.pool, PSC_NONE: new; NULL without a pool. heap */
    size_t pool_at_cap;
    bool views_extend;          /* a view's readers count as its parent's (false: fault l5) */
    bool inputs_before_walk;    /* inputs live from -1 (false: faults l2, l3) */
    bool pinned;                /* inputs and outputs live to n (false: faults l2, h7) */
    uint64_t peak_live_bytes;   /* UINT64_MAX: finish measures it from the places */
};

enum psc_status psc_sketch_begin(struct psc_sketch *sketch, struct psc_arena *arena, const struct psc_graph *graph,
                                 const struct psc_plan_options *options, struct psc_error *reterr) PSC_MUST_CHECK;
void psc_sketch_release(struct psc_sketch *sketch);
/* Index of the new buffer, PSC_NONE when out of memory. */
uint32_t psc_sketch_add_buffer(struct psc_sketch *sketch, uint64_t bytes, uint8_t backend, enum psc_role role);
/* The item of options.pool as a buffer; the plan lists it when a place or a copy names it. */
uint32_t psc_sketch_add_pooled(struct psc_sketch *sketch, uint32_t item, enum psc_role role);
bool psc_sketch_log_line(struct psc_sketch *sketch, struct psc_walk line);
static inline bool psc_sketch_log(struct psc_sketch *sketch, struct psc_walk line)
{
    return !sketch->options.log || psc_sketch_log_line(sketch, line);
}

/* The node's place: nowhere yet, with its life. Planners call it once for each node, before anything else. */
static inline struct psc_place *psc_sketch_open(struct psc_sketch *sketch, psc_node node)
{
    bool early = sketch->inputs_before_walk && sketch->digest.nodes[node].flags & PSC_DIGEST_FILLED;
    struct psc_place *place = &sketch->places[node];
    memset(place, 0, sizeof *place);
    place->buffer = PSC_NONE;
    place->first = early ? -1 : sketch->lives.first[node];
    place->last = sketch->lives.last[node];
    place->refused_at = sketch->refused_n;
    return place;
}

/* Refusals of one node are added in a row, at most 2 of them. */
static inline void psc_sketch_refuse(struct psc_sketch *sketch, psc_node node, struct psc_refused refused)
{
    sketch->places[node].refused_n++;
    sketch->refused[sketch->refused_n++] = refused;
}

static inline void psc_sketch_add_release(struct psc_sketch *sketch, struct psc_release release)
{
    sketch->releases[sketch->release_n++] = release;
}
/* A KV node's place: the K region of its layer. False when its layer has none (zero bytes). */
bool psc_sketch_place_region(struct psc_sketch *sketch, psc_node node);
/* A view's place: its parent's window; EMPTY when the view or the parent has no bytes. */
void psc_sketch_place_view(struct psc_sketch *sketch, psc_node node);
/* Finds the staged copies that the places ask for: sketch->copies, without buffers. */
enum psc_status psc_sketch_copies(struct psc_sketch *sketch, struct psc_error *reterr) PSC_MUST_CHECK;
/* Gives each copy that has none a fresh exact staging buffer and makes the plan. */
enum psc_status psc_sketch_finish(struct psc_sketch *sketch, const char *planner, struct psc_plan **ret,
                                  struct psc_error *reterr) PSC_MUST_CHECK;

#endif
