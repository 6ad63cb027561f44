#include "core/run/launch.h"

#include "core/base/clock.h"
#include "core/run/arena-memory.h"
#include "core/run/schedule.h"

/* ---- where it lies --------------------------------------------------------------------------------------------- */

static void find(const struct psc_launch *l, uint32_t value, psc_address at, uint64_t bytes, uint8_t pool, struct psc_located *ret)
{
    const struct psc_session *s = l->s;
    uint64_t offset = 0;
    uint32_t id = PSC_NONE;
    if (s->arena && psc_arena_memory_locate(s->arena, value, at, bytes, ret)) {
        ret->on = pool;
        return;
    }
    for (uint32_t k = 0; k < s->api_n && id == PSC_NONE; k++, pool = (uint8_t)(pool + 1u < s->api_n ? pool + 1u : 0u))
        if (s->pools[pool].n && psc_pool_locate(&s->pools[pool], at, &id, &offset))
            *ret = (struct psc_located){pool, id, s->pools[pool].slots[id].told, offset, offset + bytes, at, pool};
    if (id == PSC_NONE)
        *ret = (struct psc_located){PSC_BACKEND_NONE, PSC_NONE, 0, 0, bytes, at, pool};
}

static void tell(struct psc_launch *l, struct psc_event *event, const struct psc_located *at)
{
    l->event_n++;
    event->buffer = at->buffer;
    event->generation = at->generation;
    event->lo = at->lo;
    event->hi = at->hi;
    if (l->sink->event)
        l->sink->event(l->sink->ctx, event, at);
}

static void tell_at(struct psc_launch *l, struct psc_event event, psc_address at, uint64_t bytes, uint8_t pool)
{
    struct psc_located located;
    find(l, event.value, at, bytes, pool, &located);
    tell(l, &event, &located);
}

/* The walk gives a buffer of a pool out once more; arenas count that themselves. */
static void give_out(const struct psc_launch *l, struct psc_located *at)
{
    if (at->buffer != PSC_NONE && at->backend < l->s->api_n)
        at->generation = ++l->s->pools[at->backend].slots[at->buffer].told;
}

static struct psc_home home_of(const struct psc_launch *l, psc_node i)
{
    struct psc_home home = l->program->homes[i];
    if (home.at && l->s->arena)
        home.at = psc_arena_memory_address(l->s->arena, i, home.at);
    return home;
}

static struct psc_event event_of(const struct psc_job *job, enum psc_event_kind kind, uint32_t value)
{
    struct psc_event event = psc_event_blank(kind, (int32_t)job->node);
    event.node = job->node;
    event.lane = job->lane;
    event.value = value;
    return event;
}

/* ---- around the walk -------------------------------------------------------------------------------------------- */

void psc_launch_begin(struct psc_launch *l)
{
    struct psc_program *p = l->program;
    for (uint32_t layer = 0; layer < p->plan->layer_n; layer++)
        p->rows_version[layer] = 0;
    for (uint32_t k = 0; l->tells && k < l->s->api_n; k++)
        for (uint32_t id = 0; id < l->s->pools[k].n; id++) {
            struct psc_slot *slot = &l->s->pools[k].slots[id];
            slot->told = slot->b.role == PSC_ROLE_POOL ? slot->mapped : slot->b.generation;
        }
    for (uint32_t k = 0; l->tells && k < p->input_n; k++) {
        struct psc_home home = home_of(l, p->inputs[k].node);
        struct psc_located at;
        find(l, p->inputs[k].node, home.at, home.bytes, home.pool, &at);
        if (home.at)
            give_out(l, &at);
    }
    for (uint32_t k = 0; k < p->input_n; k++) {
        struct psc_home home = home_of(l, p->inputs[k].node);
        struct psc_event event = psc_event_blank(PSC_EV_FILL, -1);
        event.value = p->inputs[k].node;
        if (l->tells && home.at && p->inputs[k].filled && !p->inputs[k].told)
            tell_at(l, event, home.at, home.bytes, home.pool);
        p->inputs[k].told = true;
    }
}

void psc_launch_enqueued(struct psc_launch *l, uint32_t transfer)
{
    const struct psc_transfer *t = &l->transfers[transfer];
    struct psc_event event = psc_event_blank(PSC_EV_ENQUEUE, t->enqueue);
    if (!l->tells)
        return;
    event.value = l->program->staging_at + transfer;
    event.node = (psc_node)t->wait;
    event.peer = t->node;
    l->program->enqueued[transfer] = l->event_n;
    tell_at(l, event, t->to, t->bytes, t->to_pool);
}

static void tell_completed(struct psc_launch *l, uint32_t pool, uint32_t before, uint32_t at)
{
    const struct psc_pool *p = &l->s->pools[pool];
    if (p->api->idle(p->backend)) {
        l->pending &= ~((uint64_t)1 << pool);
        before = at;
    }
    if (before)
        l->sink->completed(l->sink->ctx, pool, before, at);
}

void psc_launch_look(struct psc_launch *l, uint32_t at)
{
    for (uint32_t k = 0; k < 64 && l->pending >> k; k++)
        if (l->pending >> k & 1)
            tell_completed(l, k, 0, at);
}

void psc_launch_awaited(struct psc_launch *l, uint32_t transfer, uint32_t at)
{
    const struct psc_transfer *t = &l->transfers[transfer];
    if (t->from_pool < 64 && l->pending >> t->from_pool & 1)
        tell_completed(l, t->from_pool, (uint32_t)t->enqueue, at);
}

void psc_launch_end(struct psc_launch *l)
{
    const struct psc_graph *graph = l->program->graph;
    for (uint32_t k = 0; l->tells && k < graph->output_n; k++) {
        psc_node i = graph->outputs[k];
        struct psc_home home = home_of(l, i);
        struct psc_event event = psc_event_blank(PSC_EV_EXPORT, (int32_t)graph->n);
        event.value = i;
        if (!graph->nodes[i].bytes || l->program->plan->places[i].reason == PSC_WHY_EMPTY)
            continue;
        if (home.at)
            tell_at(l, event, home.at, home.bytes, home.pool);
        else
            tell(l, &event, &(struct psc_located){PSC_BACKEND_NONE, PSC_NONE, 0, 0, graph->nodes[i].bytes, 0, home.pool});
    }
}

void psc_launch_released(struct psc_launch *l, int32_t position, uint32_t value, psc_address at, uint64_t bytes, uint8_t pool)
{
    struct psc_event event = psc_event_blank(PSC_EV_RELEASE, position);
    event.value = value;
    if (l->tells)
        tell_at(l, event, at, bytes, pool);
}

/* ---- one node ----------------------------------------------------------------------------------------------------- */

static void tell_waits(struct psc_launch *l, const struct psc_job *job)
{
    if (psc_session_fault(l->s, PSC_RUN_L10)) /* nobody waits */
        return;
    for (uint32_t k = 0; k < job->wait_n; k++) {
        uint32_t transfer = l->program->waits[job->wait_at + k];
        struct psc_event event = event_of(job, PSC_EV_WAIT, l->program->staging_at + transfer);
        event.peer = l->program->enqueued[transfer];
        tell(l, &event, &(struct psc_located){PSC_BACKEND_NONE, PSC_NONE, 0, 0, 0, 0, job->pool});
    }
}

/* Runs of rows that a node writes or reads; the whole region when nobody knows. *ret_end: past the last row. */
static void tell_rows(struct psc_launch *l, const struct psc_job *job, uint32_t layer, bool writes, uint64_t *ret_end)
{
    struct psc_program *p = l->program;
    uint32_t index = writes ? p->rows.written[job->node] : p->rows.read[job->node], n = 1;
    struct psc_row_run all = {0, (uint32_t)p->layers[layer].kv.rows};
    const struct psc_row_run *runs = &all;
    if (index != PSC_NONE)
        runs = psc_rows_of(&p->rows, index, p->inputs[p->rows.index[index].input].words, &n);
    *ret_end = 0;
    for (uint32_t k = 0; k < n; k++) {
        struct psc_kv_access access = {job->node, p->graph->nodes[job->node].layer, writes, runs[k].lo, runs[k].hi};
        if (layer < p->graph->layer_n)
            access.layer = (int32_t)layer;
        *ret_end = runs[k].hi > *ret_end ? runs[k].hi : *ret_end;
        if (l->sink->rows)
            l->sink->rows(l->sink->ctx, &access);
    }
    if (index == PSC_NONE)
        *ret_end = 0;
}

/* Both regions of a layer, whole, and further where rows run over. */
static void touch_rows(struct psc_launch *l, const struct psc_job *job, uint32_t layer, bool writes, uint32_t operand)
{
    const struct psc_bound_layer *bound = &l->program->layers[layer];
    uint64_t end, bytes = bound->bytes;
    tell_rows(l, job, layer, writes, &end);
    if (end * bound->kv.row_bytes > bytes)
        bytes = end * bound->kv.row_bytes;
    for (uint32_t half = 0; half < 2; half++) {
        struct psc_event event = event_of(job, writes ? PSC_EV_ROWS_WRITE : PSC_EV_ROWS_READ,
                                          l->program->graph->n + 2 * layer + half);
        event.operand = (uint16_t)operand;
        event.version = l->program->rows_version[layer];
        tell_at(l, event, half ? bound->kv.v : bound->kv.k, bytes, bound->pool);
    }
    if (writes)
        l->program->rows_version[layer]++;
}

static void tell_reads(struct psc_launch *l, const struct psc_job *job)
{
    for (uint32_t k = 0; k <= job->call.in_n; k++) {
        const struct psc_operand *operand = &job->operands[k];
        struct psc_event event = event_of(job, PSC_EV_READ, operand->value);
        event.operand = (uint16_t)(job->kind == PSC_JOB_MOVE ? 0 : k);
        if (operand->kind == PSC_OPERAND_ROWS)
            touch_rows(l, job, operand->value, false, k);
        else if (operand->kind == PSC_OPERAND_BYTES)
            tell_at(l, event, job->call.in[k].at + operand->lo, operand->hi - operand->lo, job->pool);
    }
}

static void take_over(struct psc_launch *l, const struct psc_job *job, uint32_t operand, psc_address at, uint64_t bytes)
{
    struct psc_event event = event_of(job, PSC_EV_ALIAS, job->node);
    event.peer = psc_node_srcs(l->program->graph, job->node)[operand];
    tell_at(l, event, at, bytes, job->out_pool);
}

/* Operands that lie where the output does: over all of it, or where a concat would put them. */
static void tell_aliases(struct psc_launch *l, const struct psc_job *job)
{
    const struct psc_call *call = &job->call;
    psc_address at = call->out.at;
    for (uint32_t k = 0; k < call->in_n; k++) {
        if (!job->fresh && job->writes && call->in[k].at == at && call->in[k].bytes == call->out.bytes) {
            take_over(l, job, k, at, call->out.bytes);
            return;
        }
        if (!job->joins)
            continue;
        if (call->in[k].at == at && job->fresh)
            take_over(l, job, k, at, call->in[k].bytes);
        at += call->in[k].bytes;
    }
}

static void tell_workspace(struct psc_launch *l, const struct psc_job *job, enum psc_event_kind kind)
{
    tell_at(l, event_of(job, kind, l->program->workspace_at + job->node), job->call.workspace, job->call.workspace_bytes, job->pool);
}

static void tell_before(struct psc_launch *l, const struct psc_job *job)
{
    tell_waits(l, job);
    if (job->fresh) {
        struct psc_located at;
        struct psc_event event = event_of(job, PSC_EV_ALLOC, job->node);
        find(l, job->node, job->call.out.at, job->call.out.bytes, job->out_pool, &at);
        give_out(l, &at);
        tell(l, &event, &at);
    }
    if (job->call.workspace)
        tell_workspace(l, job, PSC_EV_ALLOC);
    tell_reads(l, job);
    tell_aliases(l, job);
    if (job->writes)
        tell_at(l, event_of(job, PSC_EV_WRITE, job->node), job->call.out.at, job->call.out.bytes, job->out_pool);
    if (job->layer != PSC_NONE)
        touch_rows(l, job, job->layer, true, 0);
    if (job->call.workspace) {
        tell_workspace(l, job, PSC_EV_WRITE);
        tell_workspace(l, job, PSC_EV_RELEASE);
    }
}

static void tell_job(struct psc_launch *l, const struct psc_job *job)
{
    if (job->kind == PSC_JOB_CALL || job->kind == PSC_JOB_MOVE)
        tell_before(l, job);
    if (job->kind == PSC_JOB_VIEW) {
        struct psc_event event = event_of(job, PSC_EV_VIEW, job->node);
        event.peer = job->shown;
        tell_at(l, event, job->call.out.at, job->call.out.bytes, job->out_pool);
    }
    for (uint32_t k = 0; k < job->release_n; k++) {
        const struct psc_given_back *back = &l->program->releases[job->release_at + k];
        psc_launch_released(l, back->position, back->tenant, back->at, back->bytes, back->pool);
    }
}

/* ---- launching ----------------------------------------------------------------------------------------------------- */

static enum psc_status give_pattern(struct psc_pool *pool, const struct psc_job *job, struct psc_error *reterr)
{
    if (!job->recycle)
        return PSC_OK;
    if (job->recycle_bytes > pool->pattern_bytes)
        return psc_fail(reterr, PSC_ERR_NOMEM, "%llu bytes that are given out again get a pattern, and %s had no memory for one as long",
                        (unsigned long long)job->recycle_bytes, pool->api->name);
    return pool->api->move(pool->backend, job->recycle, pool->pattern, job->recycle_bytes, reterr);
}

/* Nothing else is on its way on that backend while the clock runs. */
static enum psc_status launch_timed(struct psc_launch *l, struct psc_pool *pool, const struct psc_call *call, struct psc_error *reterr)
{
    struct psc_op_time *time = &l->s->op_times[call->op];
    enum psc_status status = psc_schedule_wait(l->s, pool, reterr);
    uint64_t begin = psc_clock_ns();
    if (!status)
        status = pool->api->launch(pool->backend, call, reterr);
    if (!status)
        status = psc_schedule_wait(l->s, pool, reterr);
    if (status)
        return status;
    time->launches++;
    time->ns += psc_clock_ns() - begin;
    return PSC_OK;
}

static enum psc_status run_kernel(struct psc_launch *l, const struct psc_job *job, struct psc_error *reterr)
{
    struct psc_pool *pool = &l->s->pools[job->pool];
    const struct psc_call *call = &job->call;
    enum psc_status status = give_pattern(pool, job, reterr);
    if (status)
        return status;
    if (job->kind == PSC_JOB_CALL) {
        l->s->counters.launches++;
        return l->s->options.time_ops ? launch_timed(l, pool, call, reterr) : pool->api->launch(pool->backend, call, reterr);
    }
    return pool->api->move(pool->backend, call->out.at, job->move_from, call->out.bytes, reterr);
}

enum psc_status psc_launch_job(struct psc_launch *l, const struct psc_job *job, unsigned how, struct psc_error *reterr)
{
    const struct psc_sink *sink = l->sink;
    struct psc_pool *pool = &l->s->pools[job->pool];
    bool runs = how & PSC_LAUNCH_RUN && (job->kind == PSC_JOB_CALL || job->kind == PSC_JOB_MOVE);
    enum psc_status status = PSC_OK;
    if (l->tells && how & PSC_LAUNCH_TELL)
        tell_job(l, job);
    if (sink && sink->completed && pool->api->idle && job->pool < 64 && (job->kind == PSC_JOB_CALL || job->kind == PSC_JOB_MOVE))
        l->pending |= (uint64_t)1 << job->pool;
    if (!runs)
        return PSC_OK;
    if (!sink)
        return run_kernel(l, job, reterr);
    if (sink->before)
        status = sink->before(sink->ctx, pool->api, pool->backend, &job->call, reterr);
    if (!status)
        status = run_kernel(l, job, reterr);
    if (!status && sink->after)
        status = sink->after(sink->ctx, pool->api, pool->backend, &job->call, reterr);
    return status;
}
