#include "core/plan/figures.h"

#include "core/plan/liveness.h"

#include <string.h>

struct measure {
    struct psc_arena *arena;
    struct psc_arena scratch;
    const struct psc_graph *graph;
    struct psc_plan *plan;
    struct psc_lives lives; /* of storages, inputs and outputs pinned whatever the planner believed */
    int64_t *change;        /* [n + 2]: bytes that begin minus bytes that end at a position */
};

static bool is_kv(const struct psc_graph *graph, psc_node node)
{
    return psc_op_info(graph->nodes[node].op)->is_kv;
}

static void count_life(struct measure *m, int32_t first, int32_t last, uint64_t bytes)
{
    m->change[first] += (int64_t)bytes;
    m->change[last + 1] -= (int64_t)bytes;
}

/* The largest sum over positions 0 .. n, and the first that reaches it; clears the changes. */
static uint64_t highest(struct measure *m, int32_t *ret_at)
{
    int64_t sum = 0, best = 0;
    *ret_at = 0;
    for (uint32_t t = 0; t <= m->graph->n; t++) {
        sum += m->change[t];
        if (sum > best) {
            best = sum;
            *ret_at = (int32_t)t;
        }
    }
    memset(m->change, 0, ((size_t)m->graph->n + 2) * sizeof *m->change);
    return (uint64_t)best;
}

static bool has_storage(const struct psc_graph *graph, psc_node i)
{
    return graph->nodes[i].root == i && !is_kv(graph, i);
}

/* ---- the graph's own peak ------------------------------------------------------------------------------ */

static bool list_contributors(struct measure *m)
{
    const struct psc_graph *graph = m->graph;
    int32_t at = m->plan->peak_at;
    struct psc_contributor *peak;
    uint32_t n = 0;
    for (psc_node i = 0; i < graph->n; i++)
        n += m->lives.first[i] <= at && at <= m->lives.last[i] && has_storage(graph, i);
    peak = psc_arena_alloc(m->arena, n, sizeof *peak);
    if (!peak)
        return false;
    n = 0;
    for (psc_node i = 0; i < graph->n; i++)
        if (m->lives.first[i] <= at && at <= m->lives.last[i] && has_storage(graph, i))
            peak[n++] = (struct psc_contributor){i, graph->nodes[i].bytes};
    m->plan->peak = peak;
    m->plan->peak_n = n;
    return true;
}

static bool measure_tensors(struct measure *m)
{
    const struct psc_graph *graph = m->graph;
    for (psc_node i = 0; i < graph->n; i++) {
        const struct psc_node_info *node = &graph->nodes[i];
        if (!is_kv(graph, i))
            m->plan->figures.naive_bytes += node->bytes;
        if (has_storage(graph, i))
            count_life(m, m->lives.first[i], m->lives.last[i], node->bytes);
    }
    m->plan->figures.peak_tensor_bytes = highest(m, &m->plan->peak_at);
    return !m->plan->figures.peak_tensor_bytes || list_contributors(m);
}

/* ---- with this plan's in-place merges --------------------------------------------------------------------- */

/* owner[i]: the node whose bytes i uses, through views and in-place steps; PSC_NONE without a place. Operands
 * stand before their readers, so one pass in build order settles it. */
static psc_node owner_of(const struct measure *m, const psc_node *owner, psc_node i)
{
    const struct psc_place *place = &m->plan->places[i];
    if (place->buffer == PSC_NONE || is_kv(m->graph, i))
        return PSC_NONE;
    if (place->reason == PSC_WHY_IN_PLACE)
        return owner[place->b];
    if (place->reason == PSC_WHY_VIEW)
        return owner[place->a];
    return i;
}

static bool measure_bound(struct measure *m)
{
    const struct psc_graph *graph = m->graph;
    psc_node *owner = psc_arena_alloc(&m->scratch, graph->n, sizeof *owner);
    int32_t *last = psc_arena_alloc(&m->scratch, graph->n, sizeof *last);
    int32_t at;
    if (!owner || !last)
        return false;
    for (psc_node i = 0; i < graph->n; i++) {
        owner[i] = owner_of(m, owner, i);
        last[i] = m->lives.last[i];
        if (owner[i] != PSC_NONE && owner[i] != i && last[owner[i]] < last[i])
            last[owner[i]] = last[i];
    }
    for (psc_node i = 0; i < graph->n; i++)
        if (owner[i] == i)
            count_life(m, psc_node_is_filled(&graph->nodes[i]) ? 0 : m->lives.first[i], last[i],
                       graph->nodes[i].bytes);
    m->plan->figures.lower_bound_bytes = highest(m, &at);
    return true;
}

/* ---- the plan's buffers ------------------------------------------------------------------------------------ */

static bool is_pooled(const struct psc_buffer *buffer)
{
    return buffer->role != PSC_ROLE_PERSISTENT && buffer->role != PSC_ROLE_STAGING;
}

static void measure_buffers(struct measure *m, const uint64_t *used)
{
    struct psc_figures *figures = &m->plan->figures;
    for (uint32_t b = 0; b < m->plan->buffer_n; b++) {
        const struct psc_buffer *buffer = &m->plan->buffers[b];
        if (buffer->role == PSC_ROLE_PERSISTENT)
            figures->kv_bytes += buffer->bytes;
        else if (buffer->role == PSC_ROLE_STAGING)
            figures->staging_bytes += buffer->bytes;
        if (!is_pooled(buffer))
            continue;
        figures->buffers++;
        figures->pool_bytes += buffer->bytes;
        if (buffer->bytes > used[b])
            figures->padding_bytes += buffer->bytes - used[b];
    }
}

static void measure_places(struct measure *m, uint64_t *used)
{
    struct psc_figures *figures = &m->plan->figures;
    figures->nodes = m->graph->n;
    for (psc_node i = 0; i < m->graph->n; i++) {
        const struct psc_place *place = &m->plan->places[i];
        figures->dead += place->reason == PSC_WHY_DEAD;
        if (place->buffer == PSC_NONE)
            continue;
        figures->placed++;
        figures->reused += place->reason == PSC_WHY_REUSED;
        if (place->reason == PSC_WHY_IN_PLACE) {
            figures->in_place++;
            figures->alias_saved_bytes += place->length;
        }
        if (used[place->buffer] < place->offset + place->length)
            used[place->buffer] = place->offset + place->length;
    }
}

/* Tenants of one buffer may overlap in time (views, aliases, a faulty plan): a buffer counts once at a position.
 * Lives are visited in order of their beginning, so each buffer's covered time only grows. */
static bool measure_live(struct measure *m)
{
    const struct psc_plan *plan = m->plan;
    int32_t *covered = psc_arena_alloc(&m->scratch, plan->buffer_n, sizeof *covered);
    int32_t at;
    if (!covered)
        return false;
    memset(covered, 0xff, plan->buffer_n * sizeof *covered);
    for (int pass = 0; pass < 2; pass++) /* filled before the walk, then by position */
        for (uint32_t k = 0; k < m->graph->n; k++) {
            psc_node i = plan->order ? plan->order[k] : k;
            const struct psc_place *place = &plan->places[i];
            int32_t first = place->first < 0 ? 0 : place->first;
            if (place->buffer == PSC_NONE || !is_pooled(&plan->buffers[place->buffer]) ||
                (place->first < 0) != (pass == 0) || place->last <= covered[place->buffer])
                continue;
            if (first <= covered[place->buffer])
                first = covered[place->buffer] + 1;
            count_life(m, first, place->last, plan->buffers[place->buffer].bytes);
            covered[place->buffer] = place->last;
        }
    m->plan->figures.peak_live_bytes = highest(m, &at);
    return true;
}

enum psc_status psc_figures_measure(struct psc_arena *arena, const struct psc_graph *graph, struct psc_plan *plan,
                                    uint64_t peak_live, struct psc_error *reterr)
{
    struct measure m = {.arena = arena, .graph = graph, .plan = plan};
    uint64_t *used = psc_arena_alloc0(&m.scratch, plan->buffer_n, sizeof *used);
    enum psc_status status =
        psc_lives_build(&m.scratch, graph, plan->order, PSC_PIN_BOTH, &m.lives, reterr);
    m.change = psc_arena_alloc0(&m.scratch, (size_t)graph->n + 2, sizeof *m.change);
    if (!status && (!used || !m.change))
        status = psc_fail_nomem(reterr);
    if (status)
        goto out;
    psc_lives_fold_views(&m.lives, graph, plan->order);
    plan->figures = (struct psc_figures){.peak_live_bytes = peak_live};
    measure_places(&m, used);
    measure_buffers(&m, used);
    if (!measure_tensors(&m) || !measure_bound(&m) || (peak_live == UINT64_MAX && !measure_live(&m)))
        status = psc_fail_nomem(reterr);
out:
    psc_arena_release(&m.scratch);
    return status;
}
