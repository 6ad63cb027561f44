#include "core/run/session-kv.h"

#include "core/base/mem.h"

#include <stdio.h>
#include <string.h>

uint32_t psc_session_region(const struct psc_session *s, int32_t layer)
{
    uint32_t at;
    return psc_map_get(&s->region_of, (uint64_t)(layer + 1), &at) ? at : PSC_NONE;
}

void psc_session_truncate_kv(struct psc_session *s, size_t n)
{
    while (s->region_n > n)
        psc_map_set(&s->region_of, (uint64_t)(s->regions[--s->region_n].layer + 1), PSC_NONE);
}

/* ---- what a graph asks for ------------------------------------------------------------------------------------ */

/* 0: the format cannot hold such rows. */
static uint64_t row_bytes_of(enum psc_kv_format format, uint64_t width)
{
    uint32_t words;
    if (!width || width > PSC_KV_WIDTH_MAX || psc_kv_row_words(format, (uint32_t)width, &words, NULL))
        return 0;
    return 4 * (uint64_t)words;
}

/* The region that the node asks for; rows 0 when it does not say. */
static struct psc_kv_region asked(const struct psc_node_info *node, enum psc_kv_format format)
{
    const struct psc_params *p = node->params;
    const struct psc_op_info *op = psc_op_info(node->op);
    struct psc_kv_region region = {.layer = node->layer, .format = format};
    if (op->is_kv) {
        region.rows = node->shape[1];
        region.width = p->row_elems && p->n_embd ? p->n_embd : node->shape[0];
        region.row_bytes = 4 * (p->row_elems ? p->row_elems : node->shape[0]);
    } else if (op->stores_kv && p->nkt) {
        region.rows = p->kv_elems / p->nkt;
        region.width = p->nkt;
        region.row_bytes = 4 * (p->row_elems ? p->row_elems : p->nkt);
    }
    if (!region.row_bytes)
        region.rows = 0;
    region.bytes = region.rows * region.row_bytes;
    return region;
}

static enum psc_status check_asked(const struct psc_session *s, const struct psc_node_info *node,
                                   const struct psc_kv_region *region, struct psc_error *reterr)
{
    if (s->options.n_ctx && region->rows != s->options.n_ctx)
        return psc_fail(reterr, PSC_ERR_PLAN, "node %llu (%s) asks for %llu KV rows of layer %d; this session has n_ctx %u",
                        (unsigned long long)node->id, node->op_name, (unsigned long long)region->rows, node->layer,
                        s->options.n_ctx);
    if (region->row_bytes != row_bytes_of(region->format, region->width))
        return psc_fail(reterr, PSC_ERR_PLAN, "node %llu (%s) asks for KV rows of %llu bytes; %llu values as %s take %llu",
                        (unsigned long long)node->id, node->op_name, (unsigned long long)region->row_bytes,
                        (unsigned long long)region->width, psc_kv_format_name(region->format),
                        (unsigned long long)row_bytes_of(region->format, region->width));
    return PSC_OK;
}

static bool same(const struct psc_kv_region *a, const struct psc_kv_region *b)
{
    return a->rows == b->rows && a->row_bytes == b->row_bytes && a->width == b->width && a->format == b->format &&
           a->pool == b->pool;
}

static enum psc_status differs(const struct psc_session *s, const struct psc_node_info *node, const struct psc_kv_region *old,
                               const struct psc_kv_region *region, struct psc_error *reterr)
{
    return psc_fail(reterr, PSC_ERR_PLAN,
                    "layer %d has a KV region of %llu rows of %llu values (%s, %llu bytes a row) on %s; node %llu (%s) asks for "
                    "%llu rows of %llu values (%s, %llu bytes a row) on %s",
                    node->layer, (unsigned long long)old->rows, (unsigned long long)old->width, psc_kv_format_name(old->format),
                    (unsigned long long)old->row_bytes, s->pools[old->pool].api->name, (unsigned long long)node->id,
                    node->op_name, (unsigned long long)region->rows, (unsigned long long)region->width,
                    psc_kv_format_name(region->format), (unsigned long long)region->row_bytes, s->pools[region->pool].api->name);
}

/* ---- making ----------------------------------------------------------------------------------------------------- */

/* Fault l15 needs somewhere to run over into: V lies right behind K, and as much room behind V. */
static enum psc_status make_pair(struct psc_session *s, struct psc_kv_region *region, struct psc_error *reterr)
{
    struct psc_pool *pool = &s->pools[region->pool];
    bool runs_over = psc_session_fault(s, PSC_RUN_L15);
    char k[32] = "kv.k", v[32] = "kv.v";
    enum psc_status status;
    if (region->layer >= 0) {
        snprintf(k, sizeof k, "kv.%d.k", region->layer);
        snprintf(v, sizeof v, "kv.%d.v", region->layer);
    }
    status = psc_pool_make(pool, region->bytes, runs_over ? 3 * region->bytes : 0, PSC_ROLE_PERSISTENT, k, &region->k, reterr);
    if (!status && runs_over)
        status = psc_pool_make_inside(pool, region->k, region->bytes, region->bytes, PSC_ROLE_PERSISTENT, v, &region->v, reterr);
    else if (!status)
        status = psc_pool_make(pool, region->bytes, 0, PSC_ROLE_PERSISTENT, v, &region->v, reterr);
    return status;
}

static enum psc_status make_region(struct psc_session *s, struct psc_kv_region *region, struct psc_error *reterr)
{
    uint32_t old;
    enum psc_status status;
    if (!psc_grow(&s->regions, s->region_n + 1, &s->region_cap, sizeof *s->regions) ||
        !psc_map_put(&s->region_of, (uint64_t)(region->layer + 1), PSC_NONE, &old))
        return psc_fail_nomem(reterr);
    status = make_pair(s, region, reterr);
    if (status)
        return status;
    psc_map_set(&s->region_of, (uint64_t)(region->layer + 1), (uint32_t)s->region_n);
    s->regions[s->region_n++] = *region;
    return PSC_OK;
}

/* The layer of the plan that the node first asks for. */
static enum psc_status bind_layer(struct psc_session *s, const struct psc_mapped *mapped, const struct psc_plan *plan,
                                  psc_node i, uint32_t layer, uint32_t *ids, struct psc_bound_layer *ret,
                                  struct psc_error *reterr)
{
    const struct psc_node_info *node = &mapped->graph->nodes[i];
    uint8_t backend = plan->buffers[plan->region_k[layer]].backend;
    struct psc_kv_region region = asked(node, mapped->key.kv_format);
    enum psc_status status = check_asked(s, node, &region, reterr);
    uint32_t at = psc_session_region(s, node->layer);
    const struct psc_kv_region *there;
    if (status)
        return status;
    region.pool = mapped->pool_of[backend < mapped->graph->backend_n ? backend : mapped->graph->backend_n];
    if (at == PSC_NONE) {
        status = make_region(s, &region, reterr);
        if (status)
            return status;
        at = (uint32_t)s->region_n - 1;
    }
    there = &s->regions[at];
    status = psc_pool_revive(&s->pools[there->pool], there->k, reterr);
    if (!status)
        status = psc_pool_revive(&s->pools[there->pool], there->v, reterr);
    if (status)
        return status;
    if (!same(there, &region) && !(psc_session_fault(s, PSC_RUN_L13) && there->pool == region.pool))
        return differs(s, node, there, &region, reterr);
    ids[plan->region_k[layer]] = there->k;
    ids[plan->region_v[layer]] = there->v;
    *ret = (struct psc_bound_layer){
        .kv = {.k = s->pools[there->pool].slots[there->k].b.at, .v = s->pools[there->pool].slots[there->v].b.at,
               .rows = there->rows, .width = there->width, .row_bytes = there->row_bytes, .format = there->format},
        .bytes = region.bytes, .pool = there->pool,
    };
    if (psc_session_fault(s, PSC_RUN_L15))
        ret->kv.rows *= 2;
    return PSC_OK;
}

enum psc_status psc_session_bind_kv(struct psc_session *s, const struct psc_mapped *mapped, const struct psc_plan *plan,
                                    uint32_t *ids, struct psc_bound_layer *layers, struct psc_error *reterr)
{
    const struct psc_graph *graph = mapped->graph;
    enum psc_status status = PSC_OK;
    for (psc_node i = 0; !status && i < graph->n; i++) {
        const struct psc_op_info *op = psc_op_info(graph->nodes[i].op);
        uint32_t layer = op->is_kv || op->stores_kv ? psc_plan_layer(graph, plan, i) : PSC_NONE;
        if (layer == PSC_NONE || layers[layer].bytes || !asked(&graph->nodes[i], mapped->key.kv_format).rows)
            continue;
        status = bind_layer(s, mapped, plan, i, layer, ids, &layers[layer], reterr);
    }
    for (uint32_t layer = 0; !status && layer < plan->layer_n; layer++)
        if (plan->region_k[layer] != PSC_NONE && !layers[layer].bytes)
            status = psc_fail(reterr, PSC_ERR_PLAN, "layer %u has KV regions, but no node says how many rows they have", layer);
    return status;
}

/* ---- looking ------------------------------------------------------------------------------------------------------ */

void psc_session_kv(const struct psc_session *s, struct psc_kv_info *ret)
{
    *ret = (struct psc_kv_info){0};
    if (!s->region_n)
        return;
    const struct psc_kv_region *first = &s->regions[0];
    *ret = (struct psc_kv_info){(uint32_t)s->region_n, (uint32_t)first->rows, first->width, first->row_bytes, first->format};
}

/* The bytes of rows [lo, hi). */
static enum psc_status find_rows(const struct psc_session *s, int32_t layer, unsigned slot, uint32_t lo, uint32_t hi,
                                 struct psc_pool **ret_pool, psc_address *ret_at, uint64_t *ret_bytes,
                                 struct psc_error *reterr)
{
    uint32_t at = psc_session_region(s, layer);
    const struct psc_kv_region *region = at == PSC_NONE ? NULL : &s->regions[at];
    if (!region || slot > 1)
        return psc_fail(reterr, PSC_ERR_USAGE, "there is no %s region of layer %d", slot ? "V" : "K", layer);
    if (lo > hi || hi > region->rows)
        return psc_fail(reterr, PSC_ERR_USAGE, "layer %d has rows 0 to %llu, not %u to %u", layer,
                        (unsigned long long)region->rows, lo, hi);
    *ret_pool = &s->pools[region->pool];
    *ret_at = (*ret_pool)->slots[slot ? region->v : region->k].b.at + lo * region->row_bytes;
    *ret_bytes = (hi - lo) * region->row_bytes;
    return psc_pool_present(*ret_pool, *ret_at, reterr);
}

enum psc_status psc_session_read_rows(struct psc_session *s, int32_t layer, unsigned slot, uint32_t lo, uint32_t hi, void *to,
                                      struct psc_error *reterr)
{
    struct psc_pool *pool = NULL;
    psc_address at = 0;
    uint64_t bytes = 0;
    enum psc_status status = find_rows(s, layer, slot, lo, hi, &pool, &at, &bytes, reterr);
    return status || !bytes ? status : pool->api->read(pool->backend, at, to, bytes, reterr);
}

enum psc_status psc_session_write_rows(struct psc_session *s, int32_t layer, unsigned slot, uint32_t lo, uint32_t hi,
                                       const void *from, struct psc_error *reterr)
{
    struct psc_pool *pool = NULL;
    psc_address at = 0;
    uint64_t bytes = 0;
    enum psc_status status = find_rows(s, layer, slot, lo, hi, &pool, &at, &bytes, reterr);
    return status || !bytes ? status : pool->api->write(pool->backend, at, from, bytes, reterr);
}
