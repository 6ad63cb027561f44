#include "core/plan/copy.h"

#include "core/plan/capacity.h"

#include <string.h>

struct copying {
    struct psc_arena *arena;
    bool failed;
};

static void *block(struct copying *c, const void *from, size_t n, size_t size)
{
    if (!from)
        return NULL;
    void *to = psc_arena_alloc(c->arena, n, size);
    if (!to)
        c->failed = true;
    else if (n)
        memcpy(to, from, n * size);
    return to;
}

static const char *text(struct copying *c, const char *from)
{
    const char *to = psc_arena_strdup(c->arena, from);
    c->failed = c->failed || (from && !to);
    return to;
}

static void copy_buffers(struct copying *c, const struct psc_plan *from, struct psc_plan *to)
{
    struct psc_buffer *buffers = block(c, from->buffers, from->buffer_n, sizeof *buffers);
    for (uint32_t i = 0; buffers && i < from->buffer_n; i++)
        buffers[i].name = text(c, buffers[i].name);
    to->buffers = buffers;
}

static void copy_splits(struct copying *c, const struct psc_plan *from, struct psc_plan *to)
{
    struct psc_split *splits = block(c, from->splits, from->split_n, sizeof *splits);
    for (uint32_t i = 0; splits && i < from->split_n; i++) {
        splits[i].inputs = block(c, splits[i].inputs, splits[i].input_n, sizeof *splits[i].inputs);
        splits[i].outputs = block(c, splits[i].outputs, splits[i].output_n, sizeof *splits[i].outputs);
    }
    to->splits = splits;
}

enum psc_status psc_plan_copy(struct psc_arena *arena, const struct psc_graph *graph, const struct psc_plan *plan,
                              struct psc_plan **ret, struct psc_error *reterr)
{
    struct copying c = {arena, false};
    struct psc_arena_mark mark = psc_arena_mark(arena);
    struct psc_plan *to = psc_arena_alloc(arena, 1, sizeof *to);
    if (!to)
        return psc_fail_nomem(reterr);
    *to = *plan;
    to->options.pool = NULL;
    to->options.foreign = NULL;
    c.failed = !psc_capacities_keep(arena, &to->options);
    to->pool_at = NULL;
    to->planner = text(&c, plan->planner);
    to->order = block(&c, plan->order, graph->n, sizeof *plan->order);
    to->places = block(&c, plan->places, plan->node_n, sizeof *plan->places);
    copy_buffers(&c, plan, to);
    to->copies = block(&c, plan->copies, plan->copy_n, sizeof *plan->copies);
    copy_splits(&c, plan, to);
    to->refused = block(&c, plan->refused, plan->refused_n, sizeof *plan->refused);
    to->walk = block(&c, plan->walk, plan->walk_n, sizeof *plan->walk);
    to->releases = block(&c, plan->releases, plan->release_n, sizeof *plan->releases);
    to->region_k = block(&c, plan->region_k, plan->layer_n, sizeof *plan->region_k);
    to->region_v = block(&c, plan->region_v, plan->layer_n, sizeof *plan->region_v);
    to->certificates = block(&c, plan->certificates, plan->certificate_n, sizeof *plan->certificates);
    to->peak = block(&c, plan->peak, plan->peak_n, sizeof *plan->peak);
    if (c.failed) {
        psc_arena_rewind(arena, mark);
        return psc_fail_nomem(reterr);
    }
    *ret = to;
    return PSC_OK;
}
