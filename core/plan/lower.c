/* Lowering: what would happen to the bytes if the plan were executed in build order. */
#include "core/plan/plan.h"

#include "core/graph/rules.h"

#include <string.h>

struct lowering {
    struct psc_arena scratch;
    const struct psc_graph *graph;
    const struct psc_plan *plan;
    struct psc_story_builder *story;
    uint32_t region_at;      /* value of the first layer's K; V follows, two values a layer */
    uint32_t staging_at;     /* value of the first copy */
    uint32_t *enqueue_event; /* [copy_n] */
    bool *waited;            /* [copy_n] */
    uint32_t *rows_version;  /* [layer_n]: writes of rows so far */
    uint32_t *copy_of;       /* [edges]: the copy that a source entry reads, PSC_NONE; NULL without copies */
    uint32_t *release_at;    /* [n]: first release of each executed position, PSC_NONE */
    uint32_t *release_next;  /* [release_n] */
    uint32_t copy_k;         /* copies are in the order of their enqueueing */
    uint32_t nowhere;        /* an empty buffer for outputs without place, PSC_NONE until needed */
};

/* ---- values ---------------------------------------------------------------------------------------- */

static bool is_filled(const struct psc_node_info *node)
{
    return node->is_input || node->op == PSC_OP_INPUT;
}

static uint32_t layer_of(const struct lowering *l, const struct psc_node_info *node)
{
    uint32_t layer = node->layer >= 0 ? (uint32_t)node->layer : l->plan->layer_n - 1;
    bool none = node->layer < 0 && l->plan->layer_n == l->graph->layer_n;
    return none || layer >= l->plan->layer_n || l->plan->region_k[layer] == PSC_NONE ? PSC_NONE : layer;
}

static bool is_view_value(const struct lowering *l, psc_node i)
{
    const struct psc_place *place = &l->plan->places[i];
    return place->reason == PSC_WHY_VIEW || place->reason == PSC_WHY_REGION;
}

/* The value whose bytes a view or a KV node shows. */
static uint32_t shown_by(const struct lowering *l, psc_node i)
{
    const struct psc_place *place = &l->plan->places[i];
    psc_node root = place->reason == PSC_WHY_VIEW ? (psc_node)place->a : i;
    if (l->plan->places[root].reason != PSC_WHY_REGION)
        return root;
    return l->region_at + 2 * layer_of(l, &l->graph->nodes[root]);
}

static void add_node_values(struct lowering *l, const uint8_t *is_output)
{
    for (psc_node i = 0; i < l->graph->n; i++) {
        const struct psc_node_info *node = &l->graph->nodes[i];
        const struct psc_place *place = &l->plan->places[i];
        struct psc_value value = {
            .kind = is_filled(node) ? PSC_VALUE_FILL : PSC_VALUE_NODE,
            .backend = place->buffer == PSC_NONE ? node->backend : l->plan->buffers[place->buffer].backend,
            .is_view = is_view_value(l, i),
            .is_output = is_output[i],
            .layer = node->layer,
            .node = i,
            .of = PSC_NONE,
            .bytes = place->buffer == PSC_NONE ? node->bytes : place->length,
        };
        if (value.is_view)
            value.of = shown_by(l, i);
        if (place->reason == PSC_WHY_VIEW)
            value.offset = place->b;
        psc_story_add_value(l->story, &value);
    }
}

static void add_region_values(struct lowering *l)
{
    for (uint32_t layer = 0; layer < l->plan->layer_n; layer++)
        for (uint16_t half = 0; half < 2; half++) {
            uint32_t buffer = half ? l->plan->region_v[layer] : l->plan->region_k[layer];
            bool there = buffer != PSC_NONE;
            struct psc_value value = {
                .kind = PSC_VALUE_REGION,
                .backend = there ? l->plan->buffers[buffer].backend : PSC_BACKEND_NONE,
                .slot = half,
                .layer = layer < l->graph->layer_n ? (int32_t)layer : -1,
                .node = PSC_NONE,
                .of = PSC_NONE,
                .bytes = there ? l->plan->buffers[buffer].bytes : 0,
                .name = there ? l->plan->buffers[buffer].name : NULL,
            };
            psc_story_add_value(l->story, &value);
        }
}

static void add_staging_values(struct lowering *l)
{
    for (uint32_t k = 0; k < l->plan->copy_n; k++) {
        const struct psc_copy *copy = &l->plan->copies[k];
        struct psc_value value = {
            .kind = PSC_VALUE_STAGING,
            .backend = copy->to,
            .layer = l->graph->nodes[copy->node].layer,
            .node = copy->node,
            .of = copy->node,
            .bytes = copy->bytes,
        };
        psc_story_add_value(l->story, &value);
    }
}

static bool add_values(struct lowering *l)
{
    const struct psc_graph *graph = l->graph;
    uint8_t *is_output = psc_arena_alloc0(&l->scratch, graph->n, 1);
    if (!is_output)
        return false;
    for (uint32_t k = 0; k < graph->output_n; k++) {
        psc_node i = graph->outputs[k];
        is_output[i] = 1;
        if (is_view_value(l, i) && (i = shown_by(l, i)) < graph->n)
            is_output[i] = 1;
    }
    l->region_at = graph->n;
    l->staging_at = graph->n + 2 * l->plan->layer_n;
    add_node_values(l, is_output);
    add_region_values(l);
    add_staging_values(l);
    return true;
}

/* ---- set-up ------------------------------------------------------------------------------------------ */

static void add_rooms(struct lowering *l)
{
    const struct psc_graph *graph = l->graph;
    psc_story_add_lane(l->story, "host", PSC_BACKEND_NONE);
    for (uint32_t b = 0; b < graph->backend_n; b++) {
        psc_story_add_backend(l->story, graph->backends[b]);
        psc_story_add_lane(l->story, graph->backends[b], (uint8_t)b);
    }
    if (!graph->backend_n)
        psc_story_add_lane(l->story, "unassigned", PSC_BACKEND_NONE);
    for (uint32_t b = 0; b < l->plan->buffer_n; b++)
        psc_story_add_buffer(l->story, &l->plan->buffers[b]);
}

/* Releases by executed position: the planner's positions are places in its own order. */
static bool sort_releases(struct lowering *l)
{
    const struct psc_plan *plan = l->plan;
    l->release_at = psc_arena_alloc(&l->scratch, l->graph->n, sizeof *l->release_at);
    l->release_next = psc_arena_alloc(&l->scratch, plan->release_n, sizeof *l->release_next);
    if (!l->release_at || !l->release_next)
        return false;
    memset(l->release_at, 0xff, l->graph->n * sizeof *l->release_at);
    for (uint32_t k = plan->release_n; k-- > 0;) {
        uint32_t at = (uint32_t)plan->releases[k].position;
        if (plan->order)
            at = plan->order[at];
        l->release_next[k] = l->release_at[at];
        l->release_at[at] = k;
    }
    return true;
}

/* Which source entries read a staged copy: those of readers on the copy's backend. */
static bool find_copies(struct lowering *l, const uint8_t *backend)
{
    const struct psc_graph *graph = l->graph;
    uint32_t *first = psc_arena_alloc(&l->scratch, graph->n, sizeof *first); /* copies of a node, linked */
    uint32_t *next = psc_arena_alloc(&l->scratch, l->plan->copy_n, sizeof *next);
    l->waited = psc_arena_alloc0(&l->scratch, l->plan->copy_n, sizeof *l->waited);
    l->enqueue_event = psc_arena_alloc(&l->scratch, l->plan->copy_n, sizeof *l->enqueue_event);
    l->copy_of = psc_arena_alloc(&l->scratch, graph->src_total, sizeof *l->copy_of);
    if (!first || !next || !l->waited || !l->enqueue_event || !l->copy_of)
        return false;
    memset(first, 0xff, graph->n * sizeof *first);
    memset(l->copy_of, 0xff, graph->src_total * sizeof *l->copy_of);
    for (uint32_t k = 0; k < l->plan->copy_n; k++) {
        next[k] = first[l->plan->copies[k].node];
        first[l->plan->copies[k].node] = k;
    }
    for (psc_node i = 0; i < graph->n; i++)
        for (uint32_t s = graph->nodes[i].src_at; s < graph->nodes[i].src_at + graph->nodes[i].src_n; s++)
            for (uint32_t k = first[graph->srcs[s]]; k != PSC_NONE; k = next[k])
                if (l->plan->copies[k].to == backend[i])
                    l->copy_of[s] = k;
    return true;
}

/* The backend of each node's split. */
static uint8_t *run_on(struct lowering *l)
{
    uint8_t *backend = psc_arena_alloc(&l->scratch, l->graph->n, sizeof *backend);
    for (uint32_t k = 0; backend && k < l->plan->split_n; k++)
        memset(backend + l->plan->splits[k].first, l->plan->splits[k].backend,
               l->plan->splits[k].last - l->plan->splits[k].first + 1);
    return backend;
}

/* ---- events ------------------------------------------------------------------------------------------ */

static struct psc_event at_place(enum psc_event_kind kind, int32_t position, psc_node i,
                                 const struct psc_place *place)
{
    struct psc_event event = psc_event_blank(kind, position);
    event.value = i;
    event.buffer = place->buffer;
    event.lo = place->offset;
    event.hi = place->offset + place->length;
    return event;
}

static void add(struct lowering *l, struct psc_event event, psc_node node, uint16_t lane)
{
    event.node = node;
    event.lane = lane;
    psc_story_add_event(l->story, &event);
}

static void fill(struct lowering *l, psc_node i)
{
    const struct psc_place *place = &l->plan->places[i];
    if (place->buffer != PSC_NONE)
        add(l, at_place(PSC_EV_FILL, -1, i, place), PSC_NONE, 0);
}

static void fill_inputs(struct lowering *l)
{
    for (uint32_t k = 0; k < l->graph->input_n; k++)
        fill(l, l->graph->inputs[k]);
    for (psc_node i = 0; i < l->graph->n; i++)
        if (l->graph->nodes[i].op == PSC_OP_INPUT && !l->graph->nodes[i].is_input)
            fill(l, i);
}

/* Copies that the split beginning at this position asks for. */
static void enqueue_copies(struct lowering *l, int32_t position)
{
    for (; l->copy_k < l->plan->copy_n && l->plan->copies[l->copy_k].enqueue == position; l->copy_k++) {
        const struct psc_copy *copy = &l->plan->copies[l->copy_k];
        struct psc_event event = psc_event_blank(PSC_EV_ENQUEUE, position);
        event.value = l->staging_at + l->copy_k;
        event.node = (psc_node)copy->wait; /* for whom */
        event.peer = copy->node;
        event.buffer = copy->buffer;
        event.lo = copy->offset;
        event.hi = copy->offset + copy->bytes;
        l->enqueue_event[l->copy_k] = psc_story_add_event(l->story, &event);
    }
}

static void wait_for_copies(struct lowering *l, psc_node i, uint16_t lane)
{
    const struct psc_node_info *node = &l->graph->nodes[i];
    for (uint32_t s = node->src_at; l->copy_of && s < node->src_at + node->src_n; s++) {
        uint32_t k = l->copy_of[s];
        if (k == PSC_NONE || l->waited[k])
            continue;
        struct psc_event event = psc_event_blank(PSC_EV_WAIT, (int32_t)i);
        event.value = l->staging_at + k;
        event.peer = l->enqueue_event[k];
        add(l, event, i, lane);
        l->waited[k] = true;
    }
}

/* Both regions of a layer, whole: which rows is data. */
static void touch_rows(struct lowering *l, enum psc_event_kind kind, psc_node i, uint32_t layer, uint32_t operand,
                       uint16_t lane)
{
    for (uint32_t half = 0; half < 2; half++) {
        struct psc_event event = psc_event_blank(kind, (int32_t)i);
        event.value = l->region_at + 2 * layer + half;
        event.buffer = half ? l->plan->region_v[layer] : l->plan->region_k[layer];
        event.hi = l->plan->buffers[event.buffer].bytes;
        event.operand = (uint16_t)operand;
        event.version = l->rows_version[layer];
        add(l, event, i, lane);
    }
    if (kind == PSC_EV_ROWS_WRITE)
        l->rows_version[layer]++;
}

static void read_staged(struct lowering *l, psc_node i, uint32_t operand, uint32_t k, uint16_t lane)
{
    const struct psc_copy *copy = &l->plan->copies[k];
    struct psc_event event = psc_event_blank(PSC_EV_READ, (int32_t)i);
    event.value = l->staging_at + k;
    event.buffer = copy->buffer;
    event.lo = copy->offset;
    event.hi = copy->offset + copy->bytes;
    event.operand = (uint16_t)operand;
    add(l, event, i, lane);
}

/* A view that runs is a copy: it reads its own window of the parent. Reads name a value from its first byte on, so
 * a window that begins later is a value of its own. */
static void read_window(struct lowering *l, psc_node i, uint16_t lane)
{
    const struct psc_node_info *node = &l->graph->nodes[i];
    const struct psc_place *parent = &l->plan->places[node->parent];
    uint64_t at = node->root_offset - l->graph->nodes[node->parent].root_offset;
    struct psc_event event = at_place(PSC_EV_READ, (int32_t)i, node->parent, parent);
    event.lo += at;
    event.hi = event.lo + node->bytes;
    if (at) {
        bool deeper = is_view_value(l, node->parent);
        struct psc_value window = {
            .backend = l->plan->buffers[parent->buffer].backend,
            .is_view = true,
            .layer = node->layer,
            .node = PSC_NONE,
            .of = deeper ? shown_by(l, node->parent) : node->parent,
            .offset = (deeper ? parent->b : 0) + at,
            .bytes = node->bytes,
        };
        event.value = psc_story_add_value(l->story, &window);
    }
    add(l, event, i, lane);
}

static void read_operands(struct lowering *l, psc_node i, uint16_t lane)
{
    const struct psc_node_info *node = &l->graph->nodes[i];
    const psc_node *src = psc_node_srcs(l->graph, i);
    uint32_t layer = psc_op_info(node->op)->loads_kv ? layer_of(l, node) : PSC_NONE;
    for (uint32_t k = 0; k < node->src_n; k++) {
        const struct psc_node_info *from = &l->graph->nodes[src[k]];
        if (l->plan->places[src[k]].buffer == PSC_NONE)
            continue;
        if (l->copy_of && l->copy_of[node->src_at + k] != PSC_NONE) {
            read_staged(l, i, k, l->copy_of[node->src_at + k], lane);
        } else if (psc_op_info(from->op)->is_kv) {
            touch_rows(l, PSC_EV_ROWS_READ, i, layer_of(l, from), k, lane);
            if (layer == layer_of(l, from))
                layer = PSC_NONE;
        } else if (node->parent != PSC_NONE) {
            read_window(l, i, lane);
        } else {
            struct psc_event event = at_place(PSC_EV_READ, (int32_t)i, src[k], &l->plan->places[src[k]]);
            struct psc_reading reading = psc_op_reading(l->graph, i, k);
            if (reading.access == PSC_ACCESS_NONE)
                continue;
            event.hi = event.lo + reading.hi;
            event.lo += reading.lo;
            event.operand = (uint16_t)k;
            add(l, event, i, lane);
        }
    }
    if (layer != PSC_NONE)
        touch_rows(l, PSC_EV_ROWS_READ, i, layer, node->src_n, lane);
}

static void take_over(struct lowering *l, psc_node i, psc_node operand, const struct psc_place *bytes, uint16_t lane)
{
    struct psc_event event = at_place(PSC_EV_ALIAS, (int32_t)i, i, bytes);
    event.peer = operand;
    add(l, event, i, lane);
}

/* A concat along the outermost axis joins runs of bytes: an operand that lies where it belongs is not moved. */
static void join(struct lowering *l, psc_node i, uint16_t lane)
{
    const struct psc_node_info *node = &l->graph->nodes[i];
    const struct psc_place *place = &l->plan->places[i];
    uint64_t at = place->offset;
    int32_t axis = node->params->dim < 0 ? node->params->dim + 4 : node->params->dim;
    for (int32_t d = 3; d > axis && d >= 0; d--)
        if (node->shape[d] != 1)
            return;
    for (uint32_t k = 0; k < node->src_n; k++) {
        psc_node operand = psc_node_srcs(l->graph, i)[k];
        const struct psc_place *from = &l->plan->places[operand];
        if (from->buffer == place->buffer && from->offset == at)
            take_over(l, i, operand, from, lane);
        at += l->graph->nodes[operand].bytes;
    }
}

static bool is_fresh(enum psc_reason reason)
{
    return reason == PSC_WHY_NEW || reason == PSC_WHY_REUSED || reason == PSC_WHY_POOLED ||
           reason == PSC_WHY_NAIVE || reason == PSC_WHY_FOREIGN || reason == PSC_WHY_PACKED;
}

static void run_node(struct lowering *l, psc_node i, uint16_t lane)
{
    const struct psc_node_info *node = &l->graph->nodes[i];
    const struct psc_op_info *op = psc_op_info(node->op);
    const struct psc_place *place = &l->plan->places[i];
    uint32_t layer = op->stores_kv ? layer_of(l, node) : PSC_NONE;
    wait_for_copies(l, i, lane);
    if (is_fresh(place->reason))
        add(l, at_place(PSC_EV_ALLOC, (int32_t)i, i, place), i, lane);
    read_operands(l, i, lane);
    if (place->reason == PSC_WHY_IN_PLACE)
        take_over(l, i, (psc_node)place->b, place, lane);
    else if (node->op == PSC_OP_CONCAT)
        join(l, i, lane);
    if (place->reason != PSC_WHY_REGION)
        add(l, at_place(PSC_EV_WRITE, (int32_t)i, i, place), i, lane);
    if (layer != PSC_NONE)
        touch_rows(l, PSC_EV_ROWS_WRITE, i, layer, 0, lane);
}

static void show_view(struct lowering *l, psc_node i, uint16_t lane)
{
    const struct psc_place *place = &l->plan->places[i];
    struct psc_event event = at_place(PSC_EV_VIEW, (int32_t)i, i, place);
    event.peer = shown_by(l, i);
    add(l, event, i, lane);
}

static void release_buffers(struct lowering *l, int32_t position)
{
    for (uint32_t k = l->release_at[position]; k != PSC_NONE; k = l->release_next[k]) {
        const struct psc_release *release = &l->plan->releases[k];
        struct psc_event event = psc_event_blank(PSC_EV_RELEASE, position);
        event.value = release->tenant;
        event.buffer = release->buffer;
        event.lo = release->lo;
        event.hi = release->hi;
        psc_story_add_event(l->story, &event);
    }
}

static void execute(struct lowering *l, const uint8_t *backend)
{
    for (psc_node i = 0; i < l->graph->n; i++) {
        uint16_t lane = backend[i] == PSC_BACKEND_NONE ? 1 : (uint16_t)(backend[i] + 1);
        enqueue_copies(l, (int32_t)i);
        if (psc_plan_runs(l->graph, l->plan, i))
            run_node(l, i, lane);
        else if (l->plan->places[i].reason == PSC_WHY_VIEW)
            show_view(l, i, lane);
        release_buffers(l, (int32_t)i);
    }
}

/* An output that the plan places nowhere (fault h7) is looked for in a buffer without bytes. */
static uint32_t nowhere(struct lowering *l)
{
    struct psc_buffer none = {.id = UINT64_MAX, .name = "nowhere", .backend = PSC_BACKEND_NONE, .role = PSC_ROLE_EXTERNAL};
    if (l->nowhere == PSC_NONE)
        l->nowhere = psc_story_add_buffer(l->story, &none);
    return l->nowhere;
}

static void export_outputs(struct lowering *l)
{
    int32_t end = (int32_t)l->graph->n;
    for (uint32_t k = 0; k < l->graph->output_n; k++) {
        psc_node i = l->graph->outputs[k];
        struct psc_event event = at_place(PSC_EV_EXPORT, end, i, &l->plan->places[i]);
        if (l->plan->places[i].reason == PSC_WHY_EMPTY || !l->graph->nodes[i].bytes)
            continue;
        if (event.buffer == PSC_NONE) {
            event.buffer = nowhere(l);
            event.hi = l->graph->nodes[i].bytes;
        }
        psc_story_add_event(l->story, &event);
    }
}

/* A second run begins without refilling: every input must still be there. */
static void read_inputs_again(struct lowering *l)
{
    for (psc_node i = 0; i < l->graph->n; i++) {
        struct psc_event event = at_place(PSC_EV_READ, (int32_t)l->graph->n, i, &l->plan->places[i]);
        event.run = 1;
        if (is_filled(&l->graph->nodes[i]) && event.buffer != PSC_NONE)
            psc_story_add_event(l->story, &event);
    }
}

static enum psc_status set_order(struct lowering *l, struct psc_error *reterr)
{
    const struct psc_plan *plan = l->plan;
    uint32_t n = l->graph->n, moved = 0;
    uint32_t *level = NULL;
    enum psc_status status = PSC_OK;
    while (plan->order && moved < n && plan->order[moved] == moved)
        moved++;
    if (plan->executor == PSC_EXEC_LEVEL) {
        level = psc_arena_alloc(&l->scratch, n, sizeof *level);
        status = level ? psc_graph_levels(l->graph, level, reterr) : psc_fail_nomem(reterr);
    }
    if (!status)
        psc_story_set_order(l->story, n, NULL, plan->order && moved < n ? plan->order : NULL, plan->executor, level,
                            true);
    return status;
}

static enum psc_status lower(struct lowering *l, struct psc_error *reterr)
{
    uint8_t *backend = run_on(l);
    enum psc_status status;
    l->story = psc_story_builder_new();
    l->rows_version = psc_arena_alloc0(&l->scratch, l->plan->layer_n, sizeof *l->rows_version);
    if (!l->story || !backend || !l->rows_version || !add_values(l) || !sort_releases(l) ||
        (l->plan->copy_n && !find_copies(l, backend)))
        return psc_fail_nomem(reterr);
    status = set_order(l, reterr);
    if (status)
        return status;
    add_rooms(l);
    fill_inputs(l);
    execute(l, backend);
    export_outputs(l);
    if (l->plan->rerun)
        read_inputs_again(l);
    return PSC_OK;
}

enum psc_status psc_plan_lower(struct psc_arena *arena, const struct psc_graph *graph, const struct psc_plan *plan,
                               struct psc_story **ret, struct psc_error *reterr)
{
    struct lowering l = {.graph = graph, .plan = plan, .nowhere = PSC_NONE};
    enum psc_status status = lower(&l, reterr);
    if (!status)
        status = psc_story_builder_finish(l.story, arena, ret, reterr);
    psc_story_builder_free(l.story);
    psc_arena_release(&l.scratch);
    return status;
}
