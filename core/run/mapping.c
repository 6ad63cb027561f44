#include "core/run/mapping.h"

#include "core/plan/sizes.h"
#include "core/run/session-kv.h"

#include <stdio.h>
#include <string.h>

struct maker {
    struct psc_session *s;
    const struct psc_mapped *mapped;
    const struct psc_plan *plan;
    struct psc_arena *arena;
    struct psc_mapping m;
};

static struct psc_pool *pool_of(const struct psc_session *s, const struct psc_mapped *mapped, const struct psc_plan *plan,
                                uint32_t buffer, uint8_t *ret)
{
    uint8_t backend = plan->buffers[buffer].backend;
    uint8_t pool = mapped->pool_of[backend < mapped->graph->backend_n ? backend : mapped->graph->backend_n];
    if (ret)
        *ret = pool;
    return &s->pools[pool];
}

static bool is_recyclable(const struct psc_buffer *buffer)
{
    return buffer->role != PSC_ROLE_PERSISTENT && buffer->role != PSC_ROLE_STAGING;
}

/* ---- the walk ------------------------------------------------------------------------------------------------ */

static bool is_filled(const struct psc_node_info *node)
{
    return node->is_input || node->op == PSC_OP_INPUT;
}

/* The node was given bytes of its own in the walk, before it (early) or at its position. */
static bool takes(const struct psc_graph *graph, const struct psc_plan *plan, psc_node i, bool early)
{
    const struct psc_place *place = &plan->places[i];
    if (place->buffer == PSC_NONE || place->reason == PSC_WHY_VIEW || place->reason == PSC_WHY_REGION ||
        place->reason == PSC_WHY_IN_PLACE)
        return false;
    return early == (is_filled(&graph->nodes[i]) && place->first == -1);
}

/* Calls take(ctx, buffer) and give(ctx, buffer) as the planner's walk did. */
static void walk(const struct psc_graph *graph, const struct psc_plan *plan, void (*take)(void *ctx, uint32_t buffer),
                 void (*give)(void *ctx, uint32_t buffer), void *ctx)
{
    uint32_t r = 0;
    for (psc_node i = 0; i < graph->n; i++)
        if (takes(graph, plan, i, true))
            take(ctx, plan->places[i].buffer);
    for (int32_t at = 0; at < (int32_t)graph->n; at++) {
        psc_node i = plan->order ? plan->order[at] : (psc_node)at;
        for (; r < plan->release_n && plan->releases[r].position < at; r++)
            give(ctx, plan->releases[r].buffer);
        if (takes(graph, plan, i, false))
            take(ctx, plan->places[i].buffer);
    }
    for (; r < plan->release_n; r++)
        give(ctx, plan->releases[r].buffer);
}

/* ---- choosing ------------------------------------------------------------------------------------------------- */

static void choose_recyclable(struct maker *k)
{
    const struct psc_plan *plan = k->plan;
    for (uint32_t b = 0; b < plan->buffer_n; b++) {
        struct psc_pool *pool = pool_of(k->s, k->mapped, plan, b, NULL);
        k->m.ids[b] = PSC_NONE;
        if (!is_recyclable(&plan->buffers[b]))
            continue;
        if (!plan->pool_at)
            k->m.ids[b] = psc_pool_take(pool, plan->buffers[b].bytes);
        else if (plan->pool_at[b] != PSC_NONE && psc_pool_take_id(pool, (uint32_t)plan->buffers[b].id))
            k->m.ids[b] = (uint32_t)plan->buffers[b].id;
    }
}

struct tenants { uint32_t *n; };
static void count_in(void *ctx, uint32_t buffer)
{
    ((struct tenants *)ctx)->n[buffer]++;
}
static void count_out(void *ctx, uint32_t buffer)
{
    struct tenants *t = ctx;
    t->n[buffer] -= t->n[buffer] > 0;
}

/* Fault l7: a staging copy is put into what is idle when the walk has ended. */
static enum psc_status choose_idle_staging(struct maker *k, struct psc_error *reterr)
{
    const struct psc_plan *plan = k->plan;
    struct tenants t = {psc_arena_alloc0(k->arena, plan->buffer_n, sizeof *t.n)};
    if (!t.n)
        return psc_fail_nomem(reterr);
    walk(k->mapped->graph, plan, count_in, count_out, &t);
    for (uint32_t c = 0; c < plan->copy_n; c++) {
        uint32_t staging = plan->copies[c].buffer;
        uint64_t bytes = psc_size_bytes(plan->options.size, plan->copies[c].bytes);
        for (uint32_t b = 0; b < plan->buffer_n && k->m.ids[staging] == PSC_NONE; b++)
            if (is_recyclable(&plan->buffers[b]) && !t.n[b] && plan->buffers[b].bytes == bytes &&
                plan->buffers[b].backend == plan->copies[c].to && k->m.ids[b] != PSC_NONE) {
                k->m.ids[staging] = k->m.ids[b];
                t.n[b]++;
            }
    }
    return PSC_OK;
}

static void choose_staging(struct maker *k)
{
    const struct psc_plan *plan = k->plan;
    if (psc_session_fault(k->s, PSC_RUN_L11))
        psc_staging_forget(&k->s->staging, k->mapped->uid);
    for (uint32_t c = 0; c < plan->copy_n; c++) {
        uint32_t b = plan->copies[c].buffer;
        uint8_t pool;
        if (plan->buffers[b].role != PSC_ROLE_STAGING)
            continue;
        pool_of(k->s, k->mapped, plan, b, &pool);
        k->m.ids[b] = psc_staging_find(&k->s->staging, k->mapped->uid, plan->copies[c].node, pool);
    }
}

/* What had no memory when it was made may get some now. */
static enum psc_status revive(struct maker *k, struct psc_error *reterr)
{
    enum psc_status status = PSC_OK;
    for (uint32_t b = 0; !status && b < k->plan->buffer_n; b++) {
        struct psc_pool *pool = pool_of(k->s, k->mapped, k->plan, b, NULL);
        if (pool->figures.missing && k->m.ids[b] != PSC_NONE)
            status = psc_pool_revive(pool, k->m.ids[b], reterr);
    }
    return status;
}

/* ---- making --------------------------------------------------------------------------------------------------- */

/* The node that the buffer was first made for, in words. */
static const char *who(const struct maker *k, uint32_t buffer, char *text, size_t size)
{
    const struct psc_graph *graph = k->mapped->graph;
    for (psc_node i = 0; i < graph->n; i++)
        if (k->plan->places[i].buffer == buffer) {
            snprintf(text, size, "node %llu (%s)", (unsigned long long)graph->nodes[i].id, graph->nodes[i].op_name);
            return text;
        }
    return "the plan";
}

static enum psc_status afford(struct maker *k, struct psc_error *reterr)
{
    uint64_t *more = psc_arena_alloc0(k->arena, k->s->api_n, sizeof *more);
    enum psc_status status = more ? PSC_OK : psc_fail_nomem(reterr);
    char text[96];
    for (uint32_t b = 0; !status && b < k->plan->buffer_n; b++) {
        const struct psc_buffer *buffer = &k->plan->buffers[b];
        uint8_t at;
        struct psc_pool *pool = pool_of(k->s, k->mapped, k->plan, b, &at);
        if (!is_recyclable(buffer) || k->m.ids[b] != PSC_NONE || pool->figures.budget == UINT64_MAX)
            continue;
        status = psc_pool_afford(pool, more[at], buffer->bytes, who(k, b, text, sizeof text), reterr);
        more[at] += buffer->bytes;
    }
    return status;
}

static enum psc_status make_recyclable(struct maker *k, struct psc_error *reterr)
{
    enum psc_status status = PSC_OK;
    for (uint32_t b = 0; !status && b < k->plan->buffer_n; b++)
        if (is_recyclable(&k->plan->buffers[b]) && k->m.ids[b] == PSC_NONE)
            status = psc_pool_make(pool_of(k->s, k->mapped, k->plan, b, NULL), k->plan->buffers[b].bytes, 0, PSC_ROLE_POOL,
                                   NULL, &k->m.ids[b], reterr);
    return status;
}

static void stage_name(const struct psc_graph *graph, psc_node node, const char *backend, char *text, size_t size)
{
    snprintf(text, size, "stage.%llu.%s", (unsigned long long)graph->nodes[node].id, backend);
}

static enum psc_status make_staging(struct maker *k, struct psc_error *reterr)
{
    const struct psc_plan *plan = k->plan;
    enum psc_status status = PSC_OK;
    for (uint32_t c = 0; !status && c < plan->copy_n; c++) {
        uint32_t b = plan->copies[c].buffer;
        char name[32];
        uint8_t at;
        struct psc_pool *pool = pool_of(k->s, k->mapped, plan, b, &at);
        if (k->m.ids[b] != PSC_NONE)
            continue;
        k->m.ids[b] = psc_staging_adopt(&k->s->staging, k->s->pools, k->mapped->uid, plan->copies[c].node, at,
                                        plan->copies[c].bytes, &k->m.adopted[k->m.adopted_n]);
        if (k->m.ids[b] != PSC_NONE) {
            k->m.adopted_n++;
            continue;
        }
        stage_name(k->mapped->graph, plan->copies[c].node, pool->api->file_name, name, sizeof name);
        status = psc_pool_make(pool, plan->copies[c].bytes, 0, PSC_ROLE_STAGING, name, &k->m.ids[b], reterr);
        if (!status && !psc_staging_add(&k->s->staging, k->mapped->uid, plan->copies[c].node, at, k->m.ids[b]))
            status = psc_fail_nomem(reterr);
    }
    return status;
}

static enum psc_status mark(struct maker *k, struct psc_error *reterr)
{
    struct psc_mapping *m = &k->m;
    m->ids = psc_arena_alloc(k->arena, k->plan->buffer_n, sizeof *m->ids);
    m->layers = psc_arena_alloc0(k->arena, k->plan->layer_n, sizeof *m->layers);
    m->pool_n = psc_arena_alloc(k->arena, k->s->api_n, sizeof *m->pool_n);
    m->adopted = psc_arena_alloc(k->arena, (size_t)k->plan->copy_n + 1, sizeof *m->adopted);
    if (!m->ids || !m->layers || !m->pool_n || !m->adopted)
        return psc_fail_nomem(reterr);
    for (uint32_t p = 0; p < k->s->api_n; p++) {
        m->pool_n[p] = k->s->pools[p].n;
        psc_pool_begin(&k->s->pools[p]);
    }
    m->region_n = k->s->region_n;
    m->staging_n = k->s->staging.n;
    return PSC_OK;
}

enum psc_status psc_mapping_make(struct psc_session *s, const struct psc_mapped *mapped, const struct psc_plan *plan,
                                 struct psc_arena *arena, struct psc_mapping *ret, struct psc_error *reterr)
{
    struct maker k = {.s = s, .mapped = mapped, .plan = plan, .arena = arena};
    enum psc_status status = mark(&k, reterr);
    if (status)
        return status;
    choose_recyclable(&k);
    choose_staging(&k);
    status = revive(&k, reterr);
    if (!status)
        status = afford(&k, reterr);
    if (!status)
        status = make_recyclable(&k, reterr);
    if (!status)
        status = psc_session_bind_kv(s, mapped, plan, k.m.ids, k.m.layers, reterr);
    if (!status && psc_session_fault(s, PSC_RUN_L7))
        status = choose_idle_staging(&k, reterr);
    if (!status)
        status = make_staging(&k, reterr);
    for (uint32_t p = 0; !status && p < s->api_n; p++)
        status = psc_pool_pattern(&s->pools[p], reterr);
    if (status)
        psc_mapping_undo(s, &k.m);
    else
        *ret = k.m;
    return status;
}

void psc_mapping_undo(struct psc_session *s, const struct psc_mapping *mapping)
{
    psc_session_truncate_kv(s, mapping->region_n);
    for (uint32_t k = 0; k < mapping->adopted_n; k++)
        psc_staging_return(&s->staging, mapping->adopted[k]);
    psc_staging_truncate(&s->staging, mapping->staging_n);
    for (uint32_t p = 0; p < s->api_n; p++)
        psc_pool_truncate(&s->pools[p], mapping->pool_n[p]);
}

/* ---- afterwards ------------------------------------------------------------------------------------------------- */

struct holding {
    struct psc_session *s;
    const struct psc_mapped *mapped;
    const struct psc_plan *plan;
    const struct psc_mapping *mapping;
};

static struct psc_slot *slot_of(const struct holding *h, uint32_t buffer, struct psc_pool **ret_pool)
{
    *ret_pool = pool_of(h->s, h->mapped, h->plan, buffer, NULL);
    return &(*ret_pool)->slots[h->mapping->ids[buffer]];
}

static void hold(void *ctx, uint32_t buffer)
{
    struct psc_pool *pool;
    struct psc_slot *slot = slot_of(ctx, buffer, &pool);
    struct psc_pool_figures *f = &pool->figures;
    slot->b.generation++;
    if (slot->tenants++)
        return;
    slot->idle = false;
    f->idle--;
    f->live_bytes += slot->b.bytes;
    if (f->live_bytes > f->peak_live_bytes)
        f->peak_live_bytes = f->live_bytes;
}

static void let_go(void *ctx, uint32_t buffer)
{
    struct psc_pool *pool;
    struct psc_slot *slot = slot_of(ctx, buffer, &pool);
    if (!slot->tenants || --slot->tenants)
        return;
    slot->idle = true;
    pool->figures.idle++;
    pool->figures.live_bytes -= slot->b.bytes;
}

/* Copies taken over from other graphs are called after this one's nodes. */
static void rename_adopted(struct psc_session *s, const struct psc_mapped *mapped, const struct psc_mapping *mapping)
{
    for (uint32_t k = 0; k < mapping->adopted_n; k++) {
        const struct psc_staged *staged = &s->staging.items[mapping->adopted[k]];
        struct psc_pool *pool = &s->pools[(uint8_t)staged->key];
        struct psc_pool_buffer *b = &pool->slots[staged->id].b;
        b->generation++;
        stage_name(mapped->graph, staged->key >> 8 & 0xffffff, pool->api->file_name, b->name, sizeof b->name);
    }
}

void psc_mapping_commit(struct psc_session *s, const struct psc_mapped *mapped, const struct psc_plan *plan,
                        const struct psc_mapping *mapping)
{
    struct holding h = {s, mapped, plan, mapping};
    rename_adopted(s, mapped, mapping);
    for (uint32_t p = 0; p < s->api_n; p++) {
        struct psc_pool *pool = &s->pools[p];
        pool->figures.idle = pool->figures.buffers;
        pool->figures.live_bytes = 0;
        for (uint32_t id = 0; id < pool->n; id++) {
            struct psc_slot *slot = &pool->slots[id];
            slot->idle = slot->b.role == PSC_ROLE_POOL;
            slot->tenants = 0;
            slot->mapped = slot->b.generation;
        }
    }
    walk(mapped->graph, plan, hold, let_go, &h);
}

enum psc_status psc_mapping_name(struct psc_session *s, const struct psc_mapped *mapped, struct psc_arena *arena,
                                 struct psc_plan *plan, const struct psc_mapping *mapping, struct psc_error *reterr)
{
    struct psc_buffer *buffers = psc_arena_alloc(arena, plan->buffer_n, sizeof *buffers);
    uint64_t **base = psc_arena_alloc0(arena, s->api_n, sizeof *base);
    if (!buffers || !base)
        return psc_fail_nomem(reterr);
    for (uint32_t b = 0; b < plan->buffer_n; b++) {
        uint8_t at;
        const struct psc_pool *pool = pool_of(s, mapped, plan, b, &at);
        if (!base[at]) {
            base[at] = psc_arena_alloc0(arena, (size_t)pool->n + 1, sizeof *base[at]);
            for (uint32_t id = 0; base[at] && id < pool->n; id++)
                base[at][id + 1] = base[at][id] + pool->slots[id].b.bytes;
        }
        buffers[b] = plan->buffers[b];
        buffers[b].id = mapping->ids[b];
        if (is_recyclable(&buffers[b])) /* regions and copies are called so already */
            buffers[b].name = psc_arena_strdup(arena, pool->slots[mapping->ids[b]].b.name);
        if (!base[at] || !buffers[b].name)
            return psc_fail_nomem(reterr);
        buffers[b].base = base[at][mapping->ids[b]];
    }
    plan->buffers = buffers;
    return PSC_OK;
}
