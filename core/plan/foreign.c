/* A plan from elsewhere: names resolved against the graph, lives as the graph's readers need them. */
#include "core/base/hash.h"
#include "core/plan/sketch.h"

#include <stdlib.h>
#include <string.h>

/* A chained hash of names: psc_map holds the head of each chain. */
struct names {
    struct psc_map heads;
    uint32_t *next; /* [n] */
};

struct resolving {
    struct psc_sketch sketch;
    const struct psc_graph *graph;
    const struct psc_foreign *foreign;
    uint32_t *given;          /* [n]: index into foreign->places, PSC_NONE */
    struct names stated;      /* foreign->buffers by id */
    struct names buffers;     /* sketch buffers by (id, backend); chain next [place_n], from region_n on */
    bool *sized;              /* [place_n]: the file states the bytes of this sketch buffer */
};

static enum psc_status names_put(struct names *names, uint64_t key, uint32_t index, struct psc_error *reterr)
{
    uint32_t head;
    if (!psc_map_put(&names->heads, key, index, &head))
        return psc_fail_nomem(reterr);
    names->next[index] = head;
    psc_map_set(&names->heads, key, index);
    return PSC_OK;
}

static uint32_t names_first(const struct names *names, uint64_t key)
{
    uint32_t head;
    return psc_map_get(&names->heads, key, &head) ? head : PSC_NONE;
}

static uint64_t key_of(const char *id, uint64_t seed)
{
    return psc_hash_bytes(id, strlen(id), seed);
}

static enum psc_status set_up(struct resolving *r, struct psc_error *reterr)
{
    struct psc_arena *scratch = &r->sketch.scratch;
    enum psc_status status = PSC_OK;
    r->given = psc_arena_alloc(scratch, r->graph->n, sizeof *r->given);
    r->stated.next = psc_arena_alloc(scratch, r->foreign->buffer_n, sizeof *r->stated.next);
    r->buffers.next = psc_arena_alloc(scratch, r->foreign->place_n, sizeof *r->buffers.next);
    r->sized = psc_arena_alloc0(scratch, r->foreign->place_n, sizeof *r->sized);
    if (!r->given || !r->stated.next || !r->buffers.next || !r->sized)
        return psc_fail_nomem(reterr);
    memset(r->given, 0xff, r->graph->n * sizeof *r->given);
    for (uint32_t k = 0; !status && k < r->foreign->buffer_n; k++)
        status = names_put(&r->stated, key_of(r->foreign->buffers[k].id, 0), k, reterr);
    return status;
}

static enum psc_status match_nodes(struct resolving *r, struct psc_error *reterr)
{
    for (uint32_t k = 0; k < r->foreign->place_n; k++) {
        const struct psc_foreign_place *place = &r->foreign->places[k];
        unsigned long long id = place->node_id;
        psc_node i = psc_graph_find(r->graph, place->node_id);
        if (i == PSC_NONE)
            return psc_fail(reterr, PSC_ERR_PLAN, "the plan places node %llu, which the graph does not have", id);
        if (r->given[i] != PSC_NONE)
            return psc_fail(reterr, PSC_ERR_PLAN, "the plan places node %llu twice", id);
        if (place->offset > PSC_BYTES_MAX)
            return psc_fail(reterr, PSC_ERR_TOO_BIG, "the plan places node %llu at byte %llu, beyond 2^60", id,
                            (unsigned long long)place->offset);
        r->given[i] = k;
    }
    return PSC_OK;
}

/* ---- buffers ----------------------------------------------------------------------------------------- */

/* What the file states of a buffer: an index into foreign->buffers, or PSC_NONE. */
static uint32_t find_stated(const struct resolving *r, const char *id, uint8_t backend)
{
    const struct psc_foreign_buffer *buffers = r->foreign->buffers;
    for (uint32_t k = names_first(&r->stated, key_of(id, 0)); k != PSC_NONE; k = r->stated.next[k]) {
        bool here = !buffers[k].backend ||
                    (backend < r->graph->backend_n && !strcmp(buffers[k].backend, r->graph->backends[backend]));
        if (here && !strcmp(buffers[k].id, id))
            return k;
    }
    return PSC_NONE;
}

/* The bytes that the file states for a buffer, false when it states none. */
static bool stated_bytes(const struct resolving *r, const char *id, uint8_t backend, uint64_t *ret)
{
    uint32_t k = find_stated(r, id, backend);
    if (k == PSC_NONE || r->foreign->buffers[k].bytes == UINT64_MAX)
        return false;
    *ret = r->foreign->buffers[k].bytes;
    return true;
}

/* The sketch's buffer of that id on that backend, made at its first tenant. */
static enum psc_status find_buffer(struct resolving *r, const char *id, uint8_t backend, enum psc_role role,
                                   uint32_t *ret, struct psc_error *reterr)
{
    struct psc_sketch *sketch = &r->sketch;
    uint64_t key = key_of(id, (uint64_t)backend + 1), bytes = 0;
    uint32_t at;
    for (at = names_first(&r->buffers, key); at != PSC_NONE; at = r->buffers.next[at]) {
        const struct psc_buffer *buffer = &sketch->buffers[sketch->region_n + at];
        if (buffer->backend != backend || strcmp(buffer->name, id))
            continue;
        *ret = sketch->region_n + at;
        return PSC_OK;
    }
    at = (uint32_t)sketch->buffer_n - sketch->region_n;
    r->sized[at] = stated_bytes(r, id, backend, &bytes);
    if (psc_sketch_add_buffer(sketch, bytes, backend, role) == PSC_NONE)
        return psc_fail_nomem(reterr);
    *ret = sketch->region_n + at;
    sketch->buffers[*ret].name = psc_arena_strdup(sketch->arena, id);
    if (!sketch->buffers[*ret].name)
        return psc_fail_nomem(reterr);
    return names_put(&r->buffers, key, at, reterr);
}

struct listed {
    uint32_t rank, at; /* place in the file's list, place in the sketch */
};

static int compare_listed(const void *a, const void *b)
{
    const struct listed *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

/* A plan that was written here reads back with its own numbers: buffers stand in the order in which the file lists
 * them (in that of their first tenants when it lists only some), under the names that it gives them; one without a name
 * that is known by a number is called b and that number. */
static enum psc_status order_buffers(struct resolving *r, struct psc_error *reterr)
{
    struct psc_sketch *sketch = &r->sketch;
    struct psc_buffer *made = sketch->buffers + sketch->region_n;
    uint32_t n = (uint32_t)sketch->buffer_n - sketch->region_n;
    struct listed *order = psc_arena_alloc(&sketch->scratch, n, sizeof *order);
    uint32_t *now_at = psc_arena_alloc(&sketch->scratch, n, sizeof *now_at);
    struct psc_buffer *sorted = psc_arena_alloc(&sketch->scratch, n, sizeof *sorted);
    if (!order || !now_at || !sorted)
        return psc_fail_nomem(reterr);
    bool whole = true;
    for (uint32_t i = 0; i < n; i++) {
        order[i] = (struct listed){find_stated(r, made[i].name, made[i].backend), i};
        whole = whole && order[i].rank != PSC_NONE;
    }
    if (whole)
        qsort(order, n, sizeof *order, compare_listed);
    for (uint32_t i = 0; i < n; i++) {
        struct psc_buffer *buffer = &sorted[i];
        now_at[order[i].at] = i;
        *buffer = made[order[i].at];
        const char *stated = order[i].rank == PSC_NONE ? NULL : r->foreign->buffers[order[i].rank].name;
        if (stated && *stated) {
            buffer->name = psc_arena_strdup(sketch->arena, stated);
            if (!buffer->name)
                return psc_fail_nomem(reterr);
            continue;
        }
        if (buffer->name[strspn(buffer->name, "0123456789")])
            continue;
        size_t size = strlen(buffer->name) + 2;
        char *name = psc_arena_alloc(sketch->arena, size, 1);
        if (!name)
            return psc_fail_nomem(reterr);
        name[0] = 'b';
        memcpy(name + 1, buffer->name, size - 1);
        buffer->name = name;
    }
    if (n)
        memcpy(made, sorted, n * sizeof *made);
    for (psc_node i = 0; i < r->graph->n; i++) {
        uint32_t *at = &sketch->places[i].buffer;
        if (*at != PSC_NONE && *at >= sketch->region_n)
            *at = sketch->region_n + now_at[*at - sketch->region_n];
    }
    return PSC_OK;
}

/* ---- places -------------------------------------------------------------------------------------------- */

static enum psc_status place_as_given(struct resolving *r, psc_node i, struct psc_error *reterr)
{
    struct psc_sketch *sketch = &r->sketch;
    const struct psc_node_info *node = &r->graph->nodes[i];
    const struct psc_foreign_place *given = &r->foreign->places[r->given[i]];
    struct psc_place *place = &sketch->places[i];
    struct psc_buffer *buffer;
    enum psc_role role = psc_node_is_filled(node) ? PSC_ROLE_INPUT : PSC_ROLE_POOL;
    uint32_t at = PSC_NONE;
    enum psc_status status = find_buffer(r, given->buffer, sketch->digest.nodes[i].backend, role, &at, reterr);
    if (status)
        return status;
    buffer = &sketch->buffers[at];
    if (role == PSC_ROLE_POOL && buffer->role == PSC_ROLE_INPUT)
        buffer->role = PSC_ROLE_POOL;
    if (!r->sized[at - sketch->region_n] && buffer->bytes < given->offset + node->bytes)
        buffer->bytes = given->offset + node->bytes;
    place->buffer = at;
    place->offset = given->offset;
    place->length = node->bytes;
    place->reason = PSC_WHY_FOREIGN;
    place->a = place->b = 0;
    return PSC_OK;
}

/* The operand whose bytes the node lies on exactly, if there is one. */
static void find_operand(struct resolving *r, psc_node i)
{
    struct psc_place *place = &r->sketch.places[i];
    const psc_node *src = psc_node_srcs(r->graph, i);
    for (uint32_t k = 0; k < r->graph->nodes[i].src_n && r->graph->nodes[i].op != PSC_OP_CONCAT; k++) {
        const struct psc_place *from = &r->sketch.places[src[k]];
        if (from->buffer != place->buffer || from->offset != place->offset || from->length != place->length)
            continue;
        place->reason = PSC_WHY_IN_PLACE;
        place->a = k;
        place->b = src[k];
        return;
    }
}

static bool same_bytes(const struct psc_place *a, const struct psc_place *b)
{
    return a->buffer == b->buffer && a->offset == b->offset;
}

/* In its parent's window it is a view of what the parent shows; in its root's, of the root, even when a view
 * between the two was copied. Anywhere else it is a copy. */
static enum psc_status place_view(struct resolving *r, psc_node i, struct psc_error *reterr)
{
    struct psc_sketch *sketch = &r->sketch;
    const struct psc_node_info *node = &r->graph->nodes[i];
    struct psc_place *place = &sketch->places[i];
    const struct psc_place *root = &sketch->places[node->root];
    enum psc_status status;
    psc_sketch_place_view(sketch, i);
    if (place->reason == PSC_WHY_EMPTY && node->bytes)
        place->reason = PSC_WHY_NONE; /* what it shows has no place */
    if (r->given[i] == PSC_NONE || psc_op_info(r->graph->nodes[node->root].op)->is_kv)
        return PSC_OK;
    struct psc_place shown = *place;
    status = place_as_given(r, i, reterr);
    if (status)
        return status;
    if (shown.buffer != PSC_NONE && same_bytes(place, &shown)) {
        *place = shown;
    } else if (root->buffer == place->buffer && root->offset + node->root_offset == place->offset) {
        place->reason = PSC_WHY_VIEW;
        place->a = node->root;
        place->b = node->root_offset;
    }
    return PSC_OK;
}

static enum psc_status place_node(struct resolving *r, psc_node i, struct psc_error *reterr)
{
    const struct psc_node_info *node = &r->graph->nodes[i];
    enum psc_status status;
    psc_sketch_open(&r->sketch, i);
    if (psc_op_info(node->op)->is_kv) {
        psc_sketch_place_region(&r->sketch, i);
        return PSC_OK;
    }
    bool given = r->given[i] != PSC_NONE;
    bool unread = !node->reader_n && !node->is_output && !psc_node_is_filled(node);
    if (unread && node->parent == PSC_NONE && (!given || !node->bytes)) {
        r->sketch.places[i].reason = PSC_WHY_DEAD;
        return PSC_OK;
    }
    if (!node->bytes) {
        r->sketch.places[i].reason = PSC_WHY_EMPTY;
        return PSC_OK;
    }
    if (node->parent != PSC_NONE)
        return place_view(r, i, reterr);
    if (!given)
        return PSC_OK; /* reason NONE: whoever reads it is told */
    status = place_as_given(r, i, reterr);
    if (!status)
        find_operand(r, i);
    return status;
}

/* ---- what must have a place ------------------------------------------------------------------------------ */

/* "node 3 (h)": the id, and the name when there is one. */
static enum psc_status missing(const struct resolving *r, psc_node i, psc_node reader, struct psc_error *reterr)
{
    const struct psc_node_info *node = &r->graph->nodes[r->graph->nodes[i].root];
    const char *name = node->name ? node->name : node->op_name;
    char by[64] = "the host reads it as an output";
    if (reader != PSC_NONE) {
        struct psc_error text;
        psc_fail(&text, PSC_ERR_PLAN, "node %llu reads it", (unsigned long long)r->graph->nodes[reader].id);
        memcpy(by, text.text, strlen(text.text) + 1);
    }
    return psc_fail(reterr, PSC_ERR_PLAN, "node %llu (%.80s) has no placement in the plan, but %s",
                    (unsigned long long)node->id, name ? name : "", by);
}

static bool lacks_place(const struct resolving *r, psc_node i)
{
    return r->sketch.places[i].buffer == PSC_NONE && r->sketch.places[i].reason != PSC_WHY_EMPTY;
}

static enum psc_status check_places(const struct resolving *r, struct psc_error *reterr)
{
    const struct psc_graph *graph = r->graph;
    for (psc_node i = 0; i < graph->n; i++) {
        const struct psc_place *place = &r->sketch.places[i];
        if (place->buffer == PSC_NONE || place->reason == PSC_WHY_VIEW)
            continue;
        for (uint32_t k = 0; k < graph->nodes[i].src_n; k++)
            if (lacks_place(r, psc_node_srcs(graph, i)[k]))
                return missing(r, psc_node_srcs(graph, i)[k], i, reterr);
    }
    for (uint32_t k = 0; k < graph->output_n; k++)
        if (lacks_place(r, graph->outputs[k]))
            return missing(r, graph->outputs[k], PSC_NONE, reterr);
    return PSC_OK;
}

/* A tenant that is not pinned leaves after its last reader: releases in order of position, then of node. */
static enum psc_status release_tenants(struct resolving *r, struct psc_error *reterr)
{
    struct psc_sketch *sketch = &r->sketch;
    uint32_t n = r->graph->n;
    psc_node *first = psc_arena_alloc(&sketch->scratch, n, sizeof *first);
    psc_node *next = psc_arena_alloc(&sketch->scratch, n, sizeof *next);
    if (!first || !next)
        return psc_fail_nomem(reterr);
    memset(first, 0xff, n * sizeof *first);
    for (psc_node i = n; i-- > 0;) {
        const struct psc_place *place = &sketch->places[i];
        bool tenant = place->buffer != PSC_NONE && place->buffer >= sketch->region_n && place->length &&
                      place->reason != PSC_WHY_VIEW;
        if (!tenant || place->last < 0 || place->last >= (int32_t)n)
            continue;
        next[i] = first[place->last];
        first[place->last] = i;
    }
    for (uint32_t at = 0; at < n; at++)
        for (psc_node i = first[at]; i != PSC_NONE; i = next[i]) {
            const struct psc_place *place = &sketch->places[i];
            psc_sketch_add_release(sketch, (struct psc_release){place->buffer, i, (int32_t)at, place->offset,
                                                                place->offset + place->length});
        }
    return PSC_OK;
}

static enum psc_status resolve(struct resolving *r, struct psc_error *reterr)
{
    enum psc_status status = set_up(r, reterr);
    if (!status)
        status = match_nodes(r, reterr);
    for (psc_node i = 0; !status && i < r->graph->n; i++)
        status = place_node(r, i, reterr);
    if (!status)
        status = check_places(r, reterr);
    if (!status)
        status = order_buffers(r, reterr);
    if (!status)
        status = release_tenants(r, reterr);
    if (!status)
        status = psc_sketch_copies(&r->sketch, reterr);
    return status;
}

enum psc_status psc_plan_from_foreign(struct psc_arena *arena, const struct psc_graph *graph,
                                      const struct psc_foreign *foreign, struct psc_plan **ret,
                                      struct psc_error *reterr)
{
    struct resolving r = {.graph = graph, .foreign = foreign};
    struct psc_plan_options options = psc_plan_defaults;
    struct psc_plan *plan;
    options.order = foreign->order;
    enum psc_status status = psc_sketch_begin(&r.sketch, arena, graph, &options, reterr);
    if (!status)
        status = resolve(&r, reterr);
    if (!status)
        status = psc_sketch_finish(&r.sketch, "foreign", &plan, reterr);
    if (!status) {
        plan->executor = foreign->executor;
        plan->rerun = foreign->rerun;
        *ret = plan;
    }
    psc_map_release(&r.stated.heads);
    psc_map_release(&r.buffers.heads);
    psc_sketch_release(&r.sketch);
    return status;
}

static enum psc_status plan_foreign(struct psc_arena *arena, const struct psc_graph *graph,
                                    const struct psc_plan_options *options, struct psc_plan **ret, struct psc_error *reterr)
{
    if (!options->foreign)
        return psc_fail(reterr, PSC_ERR_PLAN, "there is no plan from elsewhere");
    return psc_plan_from_foreign(arena, graph, options->foreign, ret, reterr);
}

const struct psc_planner psc_foreign_planner = {"foreign", "a plan from elsewhere", plan_foreign};
