#include "core/plan/figures.h"

#include <string.h>

struct measure {
    struct psc_arena *arena;
    struct psc_arena scratch;
    const struct psc_graph *graph;
    const struct psc_digest_node *nodes;
    struct psc_plan *plan;
    struct psc_lives lives; /* of storages, inputs and outputs pinned whatever the planner believed */
    int64_t *change;        /* [n + 2]: bytes that begin minus bytes that end at a position */
    uint64_t *used;         /* [buffer_n]: bytes that tenants reach */
    psc_node *owner;        /* [n]: the node whose bytes i uses, through views and in-place steps, or PSC_NONE */
    int32_t *last;          /* [n]: of owners: the last position of all who use their bytes */
};

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
        m->change[t] = 0;
        if (sum > best) {
            best = sum;
            *ret_at = (int32_t)t;
        }
    }
    m->change[m->graph->n + 1] = 0;
    return (uint64_t)best;
}

/* ---- the graph's own peak ------------------------------------------------------------------------------ */

static bool has_storage(const struct measure *m, psc_node i)
{
    return m->nodes[i].root == i && !(m->nodes[i].flags & PSC_DIGEST_KV);
}

static bool lives_at(const struct measure *m, psc_node i, int32_t at)
{
    return m->lives.first[i] <= at && at <= m->lives.last[i] && has_storage(m, i);
}

static bool list_contributors(struct measure *m)
{
    int32_t at = m->plan->peak_at;
    struct psc_contributor *peak;
    uint32_t n = 0;
    for (psc_node i = 0; i < m->graph->n; i++)
        n += lives_at(m, i, at);
    peak = psc_arena_alloc(m->arena, n, sizeof *peak);
    if (!peak)
        return false;
    m->plan->peak = peak;
    m->plan->peak_n = n;
    for (psc_node i = 0; n; i++)
        if (lives_at(m, i, at)) {
            *peak++ = (struct psc_contributor){i, m->nodes[i].bytes};
            n--;
        }
    return true;
}

static bool measure_tensors(struct measure *m)
{
    struct psc_figures *figures = &m->plan->figures;
    for (psc_node i = 0; i < m->graph->n; i++) {
        if (m->nodes[i].flags & PSC_DIGEST_KV)
            continue;
        figures->naive_bytes += m->nodes[i].bytes;
        if (m->nodes[i].root == i)
            count_life(m, m->lives.first[i], m->lives.last[i], m->nodes[i].bytes);
    }
    figures->peak_tensor_bytes = highest(m, &m->plan->peak_at);
    return !figures->peak_tensor_bytes || list_contributors(m);
}

/* ---- the plan ---------------------------------------------------------------------------------------------- */

static bool is_pooled(const struct psc_buffer *buffer)
{
    return buffer->role != PSC_ROLE_PERSISTENT && buffer->role != PSC_ROLE_STAGING;
}

/* Operands stand before their readers, so one pass in build order settles the owners. */
static psc_node owner_of(const struct measure *m, psc_node i, const struct psc_place *place)
{
    if (place->reason == PSC_WHY_REGION)
        return PSC_NONE;
    if (place->reason == PSC_WHY_IN_PLACE)
        return m->owner[place->b];
    if (place->reason == PSC_WHY_VIEW)
        return m->owner[place->a];
    return i;
}

static void measure_places(struct measure *m)
{
    struct psc_figures *figures = &m->plan->figures;
    for (psc_node i = 0; i < m->graph->n; i++) {
        const struct psc_place *place = &m->plan->places[i];
        m->last[i] = m->lives.last[i];
        m->owner[i] = PSC_NONE;
        figures->dead += place->reason == PSC_WHY_DEAD;
        if (place->buffer == PSC_NONE)
            continue;
        psc_node owner = m->owner[i] = owner_of(m, i, place);
        if (owner != PSC_NONE && m->last[owner] < m->last[i])
            m->last[owner] = m->last[i];
        figures->placed++;
        bool in_shared = place->reason == PSC_WHY_FOREIGN || place->reason == PSC_WHY_PACKED;
        figures->reused += place->reason == PSC_WHY_REUSED || (in_shared && place->offset < m->used[place->buffer]);
        if (place->reason == PSC_WHY_IN_PLACE) {
            figures->in_place++;
            figures->alias_saved_bytes += place->length;
        }
        if (m->used[place->buffer] < place->offset + place->length)
            m->used[place->buffer] = place->offset + place->length;
    }
}

static void measure_buffers(struct measure *m)
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
        if (buffer->bytes > m->used[b])
            figures->padding_bytes += buffer->bytes - m->used[b];
    }
}

static void measure_bound(struct measure *m)
{
    int32_t at;
    for (psc_node i = 0; i < m->graph->n; i++)
        if (m->owner[i] == i)
            count_life(m, m->nodes[i].flags & PSC_DIGEST_FILLED ? 0 : m->lives.first[i], m->last[i],
                       m->nodes[i].bytes);
    m->plan->figures.lower_bound_bytes = highest(m, &at);
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

static enum psc_status prepare(struct measure *m, const struct psc_measured *known, struct psc_error *reterr)
{
    size_t n = m->graph->n;
    enum psc_status status = PSC_OK;
    m->nodes = known->digest->nodes;
    if (known->lives) {
        m->lives = *known->lives;
    } else {
        status = psc_lives_build(&m->scratch, m->graph, m->plan->order, PSC_PIN_BOTH, &m->lives, reterr);
        if (!status && known->digest->has_views)
            psc_lives_fold_views(&m->lives, m->graph, m->plan->order);
    }
    m->change = psc_arena_alloc0(&m->scratch, n + 2, sizeof *m->change);
    m->used = psc_arena_alloc0(&m->scratch, m->plan->buffer_n, sizeof *m->used);
    m->owner = psc_arena_alloc(&m->scratch, n, sizeof *m->owner);
    m->last = psc_arena_alloc(&m->scratch, n, sizeof *m->last);
    if (!status && (!m->change || !m->used || !m->owner || !m->last))
        status = psc_fail_nomem(reterr);
    return status;
}

enum psc_status psc_figures_measure(struct psc_arena *arena, const struct psc_graph *graph, struct psc_plan *plan,
                                    const struct psc_measured *known, struct psc_error *reterr)
{
    struct measure m = {.arena = arena, .graph = graph, .plan = plan};
    enum psc_status status = prepare(&m, known, reterr);
    if (!status) {
        plan->figures = (struct psc_figures){.nodes = graph->n, .peak_live_bytes = known->peak_live_bytes};
        measure_places(&m);
        measure_buffers(&m);
        measure_bound(&m);
        if (!measure_tensors(&m) || (known->peak_live_bytes == UINT64_MAX && !measure_live(&m)))
            status = psc_fail_nomem(reterr);
    }
    psc_arena_release(&m.scratch);
    return status;
}
