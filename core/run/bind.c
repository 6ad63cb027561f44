#include "core/run/bind.h"

#include "core/graph/rules.h"

#include <string.h>

struct binder {
    struct psc_arena *arena, scratch;
    const struct psc_binding *b;
    const struct psc_graph *graph;
    const struct psc_plan *plan;
    struct psc_program *p;
    uint8_t *run_on;        /* [n]: backend of each node's split */
    uint32_t *copy_of;      /* [src_total]: transfer that a source entry reads, PSC_NONE */
    uint32_t *staged;       /* [n]: first copy of a node, PSC_NONE (fault l9) */
    uint32_t *release_at;   /* [n + 1] */
    uint8_t *has_offsets;   /* [buffer_n]: tenants lie elsewhere than at its start */
    bool *awaited;          /* [transfer_n] */
    uint32_t wait_n, window_value, in_at, operand_at;
    struct psc_window *in;  /* room of all jobs */
    struct psc_operand *operands;
};

static const struct psc_place *place_of(const struct binder *b, psc_node i)
{
    return &b->plan->places[i];
}

static uint8_t pool_of(const struct binder *b, uint8_t backend)
{
    return b->b->pool_of[backend < b->graph->backend_n ? backend : b->graph->backend_n];
}

uint32_t psc_plan_layer(const struct psc_graph *graph, const struct psc_plan *plan, psc_node node)
{
    int32_t of = graph->nodes[node].layer;
    uint32_t layer = of >= 0 ? (uint32_t)of : plan->layer_n - 1;
    if ((of < 0 && plan->layer_n == graph->layer_n) || layer >= plan->layer_n || plan->region_k[layer] == PSC_NONE)
        return PSC_NONE;
    return layer;
}

/* ---- tables ------------------------------------------------------------------------------------------------ */

static void *array(struct psc_arena *arena, size_t n, size_t size, bool *fine)
{
    void *out = psc_arena_alloc0(arena, n, size);
    *fine = *fine && out;
    return out;
}

static psc_address buffer_at(const struct binder *b, uint32_t buffer)
{
    return b->b->pools[pool_of(b, b->plan->buffers[buffer].backend)].slots[b->b->ids[buffer]].b.at;
}

static void find_homes(struct binder *b)
{
    for (psc_node i = 0; i < b->graph->n; i++) {
        const struct psc_place *place = place_of(b, i);
        if (place->buffer == PSC_NONE)
            continue;
        b->p->homes[i] = (struct psc_home){buffer_at(b, place->buffer) + place->offset, place->length,
                                           pool_of(b, b->plan->buffers[place->buffer].backend)};
        if (place->offset && place->reason != PSC_WHY_VIEW)
            b->has_offsets[place->buffer] = 1;
    }
}

static bool is_filled(const struct psc_node_info *node)
{
    return node->is_input || node->op == PSC_OP_INPUT;
}

/* What is given out with a node: the whole buffer where tenants follow one another, else the node's own window. */
static uint64_t given_bytes(const struct binder *b, psc_node i)
{
    const struct psc_place *place = place_of(b, i);
    if (b->has_offsets[place->buffer])
        return place->length;
    return b->b->pools[b->p->homes[i].pool].slots[b->b->ids[place->buffer]].b.bytes;
}

static void list_inputs(struct binder *b)
{
    struct psc_program *p = b->p;
    const struct psc_graph *graph = b->graph;
    memset(p->input_of, 0xff, graph->n * sizeof *p->input_of);
    for (uint32_t k = 0; k < graph->input_n; k++)
        p->inputs[p->input_n++].node = graph->inputs[k];
    for (psc_node i = 0; i < graph->n; i++)
        if (is_filled(&graph->nodes[i]) && !graph->nodes[i].is_input)
            p->inputs[p->input_n++].node = i;
    for (uint32_t k = 0; k < p->input_n; k++) {
        struct psc_filled_input *input = &p->inputs[k];
        p->input_of[input->node] = k;
        if (b->b->recycled == PSC_RECYCLED_KEPT || place_of(b, input->node)->buffer == PSC_NONE)
            continue;
        input->recycle = p->homes[input->node].at;
        input->recycle_bytes = given_bytes(b, input->node);
    }
}

/* Nodes read regions through their own layer, or through the one that their KV operand names. */
static void find_layers(struct binder *b)
{
    const struct psc_graph *graph = b->graph;
    for (psc_node i = 0; i < graph->n; i++) {
        const struct psc_node_info *node = &graph->nodes[i];
        const struct psc_op_info *op = psc_op_info(node->op);
        uint32_t *layer = &b->p->layer_of[i];
        *layer = op->is_kv || op->stores_kv || op->loads_kv ? psc_plan_layer(graph, b->plan, i) : PSC_NONE;
        for (uint32_t k = 0; op->loads_kv && k < node->src_n; k++) {
            psc_node src = psc_node_srcs(graph, i)[k];
            if (psc_op_info(graph->nodes[src].op)->is_kv)
                *layer = psc_plan_layer(graph, b->plan, src);
        }
    }
}

static void list_transfers(struct binder *b)
{
    const struct psc_plan *plan = b->plan;
    struct psc_program *p = b->p;
    for (uint32_t k = 0; k < plan->copy_n; k++) {
        const struct psc_copy *copy = &plan->copies[k];
        const struct psc_home *home = &p->homes[copy->node];
        p->transfers[k] = (struct psc_transfer){
            .node = copy->node, .from_pool = home->pool, .to_pool = pool_of(b, copy->to), .from = home->at,
            .to = buffer_at(b, copy->buffer) + copy->offset, .bytes = copy->bytes, .enqueue = copy->enqueue,
            .wait = copy->wait,
        };
        if (copy->bytes > p->bounce_bytes)
            p->bounce_bytes = copy->bytes;
    }
    p->transfer_n = plan->copy_n;
}

/* Which source entries read a copy: those of readers on the copy's backend. */
static bool find_copies(struct binder *b)
{
    const struct psc_graph *graph = b->graph;
    const struct psc_plan *plan = b->plan;
    uint32_t *next = psc_arena_alloc(&b->scratch, plan->copy_n, sizeof *next);
    if (!next)
        return false;
    memset(b->copy_of, 0xff, graph->src_total * sizeof *b->copy_of);
    memset(b->staged, 0xff, graph->n * sizeof *b->staged);
    for (uint32_t k = plan->copy_n; k-- > 0;) {
        next[k] = b->staged[plan->copies[k].node];
        b->staged[plan->copies[k].node] = k;
    }
    for (psc_node i = 0; plan->copy_n && i < graph->n; i++)
        for (uint32_t s = graph->nodes[i].src_at; s < graph->nodes[i].src_at + graph->nodes[i].src_n; s++)
            for (uint32_t k = b->staged[graph->srcs[s]]; k != PSC_NONE; k = next[k])
                if (plan->copies[k].to == b->run_on[i])
                    b->copy_of[s] = k;
    return true;
}

/* Releases by executed position; the planner's positions are places in its own order. */
static void sort_releases(struct binder *b)
{
    const struct psc_plan *plan = b->plan;
    uint32_t n = b->graph->n;
    uint32_t *at = b->release_at;
    for (uint32_t pass = 0; pass < 2; pass++) {
        for (uint32_t k = 0; k < plan->release_n; k++) {
            const struct psc_release *release = &plan->releases[k];
            uint32_t position = (uint32_t)release->position < n ? (uint32_t)release->position : n - 1;
            if (plan->order)
                position = plan->order[position];
            if (!pass)
                at[position + 1]++;
            else
                b->p->releases[at[position]++] = (struct psc_given_back){
                    buffer_at(b, release->buffer) + release->lo, release->hi - release->lo, release->tenant,
                    (int32_t)position, pool_of(b, plan->buffers[release->buffer].backend)};
        }
        for (uint32_t i = 0; !pass && i < n; i++)
            at[i + 1] += at[i];
    }
    for (uint32_t i = n; i > 0; i--) /* the second pass moved every beginning to its end */
        at[i] = at[i - 1];
    at[0] = 0;
}

/* ---- jobs --------------------------------------------------------------------------------------------------- */

static struct psc_window window_of(const struct binder *b, psc_node i)
{
    const struct psc_node_info *node = &b->graph->nodes[i];
    struct psc_window window = {.at = b->p->homes[i].at, .bytes = node->bytes, .dtype = node->dtype};
    memcpy(window.shape, node->shape, sizeof window.shape);
    if (!node->bytes)
        window.at = 0;
    return window;
}

/* Fault l9: the copy of a node is known by the node alone, and its buffer's number is looked up in the reader's pool. */
static psc_address misread(const struct binder *b, psc_node src, uint8_t pool, psc_address right)
{
    uint32_t copy = b->staged[src];
    const struct psc_pool *own = &b->b->pools[pool];
    uint32_t id = copy == PSC_NONE ? PSC_NONE : b->b->ids[b->plan->copies[copy].buffer];
    if (copy == PSC_NONE || id >= own->n || own->slots[id].b.bytes < b->plan->copies[copy].bytes)
        return right;
    return own->slots[id].b.at;
}

/* The operand's window, and what a listener is told of its reading. */
static void bind_operand(struct binder *b, struct psc_job *job, uint32_t k, struct psc_window *in, struct psc_operand *operand,
                         uint32_t *own_layer)
{
    const struct psc_graph *graph = b->graph;
    const struct psc_node_info *node = &graph->nodes[job->node];
    psc_node src = psc_node_srcs(graph, job->node)[k];
    const struct psc_node_info *from = &graph->nodes[src];
    uint32_t copy = b->copy_of[node->src_at + k];
    *in = window_of(b, src);
    *operand = (struct psc_operand){.kind = PSC_OPERAND_NOTHING, .value = src};
    if (!b->p->homes[src].at)
        return;
    if (copy != PSC_NONE) {
        *operand = (struct psc_operand){0, b->p->transfers[copy].bytes, b->p->staging_at + copy, PSC_OPERAND_BYTES};
        in->at = b->p->transfers[copy].to;
    } else if (psc_op_info(from->op)->is_kv) {
        *operand = (struct psc_operand){.kind = PSC_OPERAND_ROWS, .value = psc_plan_layer(graph, b->plan, src)};
        if (*own_layer == operand->value)
            *own_layer = PSC_NONE;
        if (psc_op_info(node->op)->loads_kv)
            in->at = 0;
    } else if (node->parent != PSC_NONE) {
        uint64_t at = node->root_offset - from->root_offset;
        *operand = (struct psc_operand){at, at + node->bytes, at && job->kind == PSC_JOB_MOVE ? b->window_value++ : src,
                                        PSC_OPERAND_BYTES};
    } else {
        struct psc_reading reading = psc_op_reading(graph, job->node, k);
        if (reading.access != PSC_ACCESS_NONE)
            *operand = (struct psc_operand){reading.lo, reading.hi, src, PSC_OPERAND_BYTES};
    }
    if (b->b->one_staging && b->staged[src] != PSC_NONE)
        in->at = misread(b, src, job->pool, in->at);
}

static void bind_operands(struct binder *b, struct psc_job *job)
{
    const struct psc_node_info *node = &b->graph->nodes[job->node];
    struct psc_window *in = b->in + b->in_at;
    struct psc_operand *operands = b->operands + b->operand_at;
    uint32_t layer = psc_op_info(node->op)->loads_kv ? psc_plan_layer(b->graph, b->plan, job->node) : PSC_NONE;
    for (uint32_t k = 0; k < node->src_n; k++)
        bind_operand(b, job, k, &in[k], &operands[k], &layer);
    operands[node->src_n] = (struct psc_operand){.kind = layer == PSC_NONE ? PSC_OPERAND_NOTHING : PSC_OPERAND_ROWS,
                                                 .value = layer};
    job->call.in = in;
    job->call.in_n = node->src_n;
    job->operands = operands;
    b->in_at += node->src_n;
    b->operand_at += node->src_n + 1;
}

static void bind_waits(struct binder *b, struct psc_job *job)
{
    const struct psc_node_info *node = &b->graph->nodes[job->node];
    job->wait_at = b->wait_n;
    for (uint32_t s = node->src_at; s < node->src_at + node->src_n; s++) {
        uint32_t copy = b->copy_of[s];
        if (copy == PSC_NONE || b->awaited[copy])
            continue;
        b->awaited[copy] = true;
        b->p->waits[b->wait_n++] = copy;
    }
    job->wait_n = b->wait_n - job->wait_at;
}

/* A concat along the outermost axis joins runs of bytes. */
static bool joins_runs(const struct psc_node_info *node)
{
    int32_t axis = node->params->dim < 0 ? node->params->dim + 4 : node->params->dim;
    if (node->op != PSC_OP_CONCAT)
        return false;
    for (int32_t d = 3; d > axis && d >= 0; d--)
        if (node->shape[d] != 1)
            return false;
    return true;
}

static bool overlaps(psc_address a, uint64_t a_bytes, psc_address c, uint64_t c_bytes)
{
    return a && c && a < c + c_bytes && c < a + a_bytes;
}

/* Recycled bytes get their pattern, but not where an operand lies in them already (a concat made in place). */
static void bind_recycle(struct binder *b, struct psc_job *job)
{
    if (!job->fresh || b->b->recycled == PSC_RECYCLED_KEPT)
        return;
    job->recycle = job->call.out.at;
    job->recycle_bytes = given_bytes(b, job->node);
    for (uint32_t k = 0; k < job->call.in_n; k++)
        if (overlaps(job->recycle, job->recycle_bytes, job->call.in[k].at, job->call.in[k].bytes))
            job->recycle = 0;
}

static void bind_weights(const struct binder *b, struct psc_job *job)
{
    const struct psc_node_weights *w = b->b->weights ? b->b->weights[job->node] : NULL;
    if (!w)
        return;
    job->call.weight = w->weight;
    memcpy(job->call.bias, w->bias, sizeof job->call.bias);
    job->call.q_norm = w->q_norm;
    job->call.k_norm = w->k_norm;
    job->call.norm_bias = w->norm_bias;
}

static bool is_fresh(enum psc_reason reason)
{
    return reason != PSC_WHY_INPUT && reason != PSC_WHY_VIEW && reason != PSC_WHY_REGION && reason != PSC_WHY_IN_PLACE;
}

static void bind_run(struct binder *b, struct psc_job *job)
{
    psc_node i = job->node;
    const struct psc_node_info *node = &b->graph->nodes[i];
    const struct psc_op_info *op = psc_op_info(node->op);
    uint32_t layer = b->p->layer_of[i];
    job->kind = node->parent == PSC_NONE ? PSC_JOB_CALL : PSC_JOB_MOVE;
    job->fresh = is_fresh((enum psc_reason)place_of(b, i)->reason);
    job->joins = joins_runs(node);
    job->writes = place_of(b, i)->reason != PSC_WHY_REGION;
    job->layer = op->stores_kv ? psc_plan_layer(b->graph, b->plan, i) : PSC_NONE;
    job->out_pool = b->p->homes[i].pool;
    bind_waits(b, job);
    bind_operands(b, job);
    if (job->kind == PSC_JOB_MOVE)
        job->move_from = job->call.in[0].at + (node->root_offset - b->graph->nodes[node->parent].root_offset);
    job->call.out = window_of(b, i);
    if (op->is_kv)
        job->call.out.bytes = b->p->homes[i].bytes;
    if (layer != PSC_NONE)
        job->call.kv = b->p->layers[layer].kv;
    bind_weights(b, job);
    bind_recycle(b, job);
}

static void bind_view(struct binder *b, struct psc_job *job)
{
    const struct psc_place *place = place_of(b, job->node);
    psc_node root = (psc_node)place->a;
    job->kind = PSC_JOB_VIEW;
    job->out_pool = b->p->homes[job->node].pool;
    job->call.out = window_of(b, job->node);
    job->shown = root;
    if (place_of(b, root)->reason == PSC_WHY_REGION)
        job->shown = b->graph->n + 2 * psc_plan_layer(b->graph, b->plan, root);
}

static bool has_job(const struct binder *b, psc_node i)
{
    return psc_plan_runs(b->graph, b->plan, i) || place_of(b, i)->reason == PSC_WHY_VIEW ||
           b->release_at[i + 1] > b->release_at[i];
}

static void bind_job(struct binder *b, psc_node i)
{
    struct psc_job *job = &b->p->jobs[b->p->job_n++];
    const struct psc_node_info *node = &b->graph->nodes[i];
    *job = (struct psc_job){.node = i, .kind = PSC_JOB_NOTHING, .pool = pool_of(b, b->run_on[i]), .layer = PSC_NONE};
    job->lane = b->run_on[i] == PSC_BACKEND_NONE ? 1 : (uint16_t)(b->run_on[i] + 1);
    job->release_at = b->release_at[i];
    job->release_n = b->release_at[i + 1] - b->release_at[i];
    job->call = (struct psc_call){.graph = b->graph, .node = i, .op = node->op, .params = node->params,
                                  .snapshot = b->b->snapshot, .faults = b->b->faults};
    if (psc_plan_runs(b->graph, b->plan, i))
        bind_run(b, job);
    else if (place_of(b, i)->reason == PSC_WHY_VIEW)
        bind_view(b, job);
}

/* A kernel gets addresses of its own backend only. */
static enum psc_status check_kv(const struct binder *b, const struct psc_job *job, struct psc_error *reterr)
{
    const struct psc_node_info *node = &b->graph->nodes[job->node];
    uint32_t layer = b->p->layer_of[job->node];
    if (job->kind != PSC_JOB_CALL || layer == PSC_NONE || b->p->layers[layer].pool == job->pool)
        return PSC_OK;
    return psc_fail(reterr, PSC_ERR_PLAN, "node %llu (%s) runs on %s, but the KV rows of layer %d lie on %s",
                    (unsigned long long)node->id, node->op_name, b->b->pools[job->pool].api->name, node->layer,
                    b->b->pools[b->p->layers[layer].pool].api->name);
}

static enum psc_status bind_stretch(struct binder *b, const struct psc_split *split, uint32_t *copy_k,
                                    struct psc_error *reterr)
{
    struct psc_program *p = b->p;
    struct psc_stretch *stretch = &p->stretches[p->stretch_n++];
    enum psc_status status = PSC_OK;
    *stretch = (struct psc_stretch){.split = split, .job_at = p->job_n, .transfer_at = *copy_k,
                                    .pool = pool_of(b, split->backend)};
    while (*copy_k < p->transfer_n && p->transfers[*copy_k].enqueue <= (int32_t)split->last)
        ++*copy_k;
    stretch->transfer_n = *copy_k - stretch->transfer_at;
    for (psc_node i = split->first; !status && i <= split->last; i++) {
        if (place_of(b, i)->reason == PSC_WHY_DEAD)
            p->dead_n++;
        if (!has_job(b, i))
            continue;
        bind_job(b, i);
        status = check_kv(b, &p->jobs[p->job_n - 1], reterr);
    }
    stretch->job_n = p->job_n - stretch->job_at;
    return status;
}

/* ---- set-up --------------------------------------------------------------------------------------------------- */

static bool make_room(struct binder *b)
{
    const struct psc_graph *graph = b->graph;
    const struct psc_plan *plan = b->plan;
    struct psc_program *p;
    bool fine = true;
    size_t n = graph->n, edges = graph->src_total, filled = graph->input_n;
    for (psc_node i = 0; i < graph->n; i++)
        filled += is_filled(&graph->nodes[i]) && !graph->nodes[i].is_input;
    p = b->p = array(b->arena, 1, sizeof *p, &fine);
    b->run_on = array(&b->scratch, n, 1, &fine);
    b->copy_of = array(&b->scratch, edges, sizeof *b->copy_of, &fine);
    b->staged = array(&b->scratch, n, sizeof *b->staged, &fine);
    b->release_at = array(&b->scratch, n + 1, sizeof *b->release_at, &fine);
    b->has_offsets = array(&b->scratch, plan->buffer_n, 1, &fine);
    b->awaited = array(&b->scratch, plan->copy_n, sizeof *b->awaited, &fine);
    b->in = array(b->arena, edges, sizeof *b->in, &fine);
    b->operands = array(b->arena, edges + n, sizeof *b->operands, &fine);
    if (!p)
        return false;
    p->homes = array(b->arena, n, sizeof *p->homes, &fine);
    p->stretches = array(b->arena, plan->split_n, sizeof *p->stretches, &fine);
    p->transfers = array(b->arena, plan->copy_n, sizeof *p->transfers, &fine);
    p->waits = array(b->arena, plan->copy_n, sizeof *p->waits, &fine);
    p->releases = array(b->arena, plan->release_n, sizeof *p->releases, &fine);
    p->inputs = array(b->arena, filled, sizeof *p->inputs, &fine);
    p->layers = array(b->arena, plan->layer_n, sizeof *p->layers, &fine);
    p->flights = array(b->arena, plan->copy_n, sizeof *p->flights, &fine);
    p->enqueued = array(b->arena, plan->copy_n, sizeof *p->enqueued, &fine);
    p->rows_version = array(b->arena, plan->layer_n, sizeof *p->rows_version, &fine);
    p->layer_of = array(b->arena, n, sizeof *p->layer_of, &fine);
    p->input_of = array(b->arena, n, sizeof *p->input_of, &fine);
    return fine;
}

static bool make_jobs(struct binder *b)
{
    size_t n = 0;
    for (psc_node i = 0; i < b->graph->n; i++)
        n += has_job(b, i);
    b->p->jobs = psc_arena_alloc(b->arena, n, sizeof *b->p->jobs);
    return b->p->jobs != NULL;
}

static enum psc_status bind_rows(struct binder *b, struct psc_error *reterr)
{
    struct psc_program *p = b->p;
    uint64_t *rows = psc_arena_alloc(&b->scratch, b->plan->layer_n, sizeof *rows);
    enum psc_status status;
    if (!rows)
        return psc_fail_nomem(reterr);
    for (uint32_t layer = 0; layer < b->plan->layer_n; layer++)
        rows[layer] = p->layers[layer].kv.rows;
    status = psc_rows_build(b->arena, b->graph, p->layer_of, rows, p->input_of, p->input_n, b->b->unbounded_rows, &p->rows,
                            reterr);
    for (uint32_t k = 0; !status && k < p->input_n; k++) {
        if (p->rows.first[k] == PSC_NONE)
            continue;
        p->inputs[k].words = psc_arena_alloc0(b->arena, b->graph->nodes[p->inputs[k].node].elements, sizeof(uint32_t));
        if (!p->inputs[k].words)
            status = psc_fail_nomem(reterr);
    }
    return status;
}

static uint64_t hash_layout(const struct psc_program *p)
{
    uint64_t h = 0;
    for (psc_node i = 0; i < p->graph->n; i++)
        h = psc_hash_mix(h + p->homes[i].at);
    for (uint32_t k = 0; k < p->transfer_n; k++)
        h = psc_hash_mix(h + p->transfers[k].to);
    for (uint32_t layer = 0; layer < p->plan->layer_n; layer++) {
        const struct psc_kv_pair *kv = &p->layers[layer].kv;
        h = psc_hash_mix(psc_hash_mix(h + kv->k) + kv->v);
        h = psc_hash_mix(psc_hash_mix(h + kv->rows) + kv->row_bytes * PSC_KV_FORMAT_N + (uint64_t)kv->format);
    }
    return h;
}

static enum psc_status bind_all(struct binder *b, struct psc_error *reterr)
{
    const struct psc_plan *plan = b->plan;
    enum psc_status status;
    uint32_t copy_k = 0;
    if (!make_room(b))
        return psc_fail_nomem(reterr);
    b->p->graph = b->graph;
    b->p->plan = plan;
    b->p->staging_at = b->graph->n + 2 * plan->layer_n;
    b->window_value = b->p->staging_at + plan->copy_n;
    memset(b->run_on, PSC_BACKEND_NONE, b->graph->n);
    for (uint32_t k = 0; k < plan->split_n; k++)
        memset(b->run_on + plan->splits[k].first, plan->splits[k].backend, plan->splits[k].last - plan->splits[k].first + 1);
    if (plan->layer_n)
        memcpy(b->p->layers, b->b->layers, plan->layer_n * sizeof *b->p->layers);
    find_homes(b);
    list_inputs(b);
    find_layers(b);
    list_transfers(b);
    sort_releases(b);
    if (!find_copies(b) || !make_jobs(b))
        return psc_fail_nomem(reterr);
    status = bind_rows(b, reterr);
    for (uint32_t k = 0; !status && k < plan->split_n; k++)
        status = bind_stretch(b, &plan->splits[k], &copy_k, reterr);
    b->p->workspace_at = b->window_value;
    b->p->layout = hash_layout(b->p);
    for (uint32_t k = 0; k <= b->graph->backend_n; k++)
        b->p->lacks = b->p->lacks || b->b->pools[b->b->pool_of[k]].figures.missing;
    return status;
}

enum psc_status psc_program_build(struct psc_arena *arena, const struct psc_binding *binding, struct psc_program **ret,
                                  struct psc_error *reterr)
{
    struct binder b = {.arena = arena, .b = binding, .graph = binding->graph, .plan = binding->plan};
    enum psc_status status = bind_all(&b, reterr);
    psc_arena_release(&b.scratch);
    if (!status)
        *ret = b.p;
    return status;
}
