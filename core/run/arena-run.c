#include "core/run/arena-memory.h"

#include "core/base/mem.h"
#include "core/debug/arena-story.h"
#include "core/run/launch.h"
#include "core/run/schedule.h"

#include <stdio.h>
#include <string.h>

struct walk {
    struct psc_arena_memory *m;
    struct psc_session *s;
    const struct psc_program *p;
    struct psc_launch launch;
    struct psc_copying copying;
    struct psc_arena_story *story;  /* NULL: nobody is told */
    psc_node done;                  /* the latest job's */
};

static const char *label(const struct walk *w, psc_node i, char *text, size_t size)
{
    const struct psc_node_info *node = &w->p->graph->nodes[i];
    char words[96];
    snprintf(text, size, "#%llu %s", (unsigned long long)node->id, psc_node_label(w->p->graph, i, words, sizeof words));
    return text;
}

static enum psc_status in_node(const struct walk *w, psc_node i, enum psc_status status, struct psc_error *reterr)
{
    struct psc_error inner;
    char start[48];
    if (!status || !reterr)
        return status;
    snprintf(start, sizeof start, "node %llu ", (unsigned long long)w->p->graph->nodes[i].id);
    if (!strncmp(reterr->text, start, strlen(start)))
        return status;
    inner = *reterr;
    return psc_fail(reterr, status, "%s(%s): %s", start, w->p->graph->nodes[i].op_name, inner.text);
}

/* ---- windows ---------------------------------------------------------------------------------------------------- */

/* Does the node's window lie in regions, or nowhere? Then the address that was bound is the right one. */
static bool is_bound(const struct walk *w, psc_node i)
{
    return psc_op_info(w->p->graph->nodes[w->p->graph->nodes[i].root].op)->is_kv;
}

static enum psc_status find_operands(const struct walk *w, uint32_t at, struct psc_error *reterr)
{
    const struct psc_call *bound = &w->p->jobs[at].call;
    struct psc_window *in = (struct psc_window *)(uintptr_t)w->m->jobs[at].call.in; /* in the memory's windows */
    for (uint32_t k = 0; k < bound->in_n; k++) {
        uint32_t copy = psc_arena_memory_copy(w->p, &w->p->jobs[at], k);
        in[k] = bound->in[k];
        if (copy != PSC_NONE)
            in[k].at = w->m->transfers[copy].to;
        else if (in[k].at)
            in[k].at = psc_arena_memory_address(w->m, psc_node_srcs(w->p->graph, bound->node)[k], in[k].at);
        if (bound->in[k].at && !in[k].at)
            return psc_fail(reterr, PSC_ERR_RUN, "operand %u has no memory any more", k);
    }
    return PSC_OK;
}

/* A value for bytes [lo, hi) of what src shows. */
static uint32_t window_of(const struct walk *w, psc_node src, const struct psc_arena_place *place, uint64_t lo, uint64_t hi)
{
    psc_node root = w->p->graph->nodes[src].root;
    char name[128];
    return psc_arena_story_value(w->story, PSC_VALUE_NODE, label(w, src, name, sizeof name),
                                 w->m->context.declared[root] ? PSC_DEPOT_IO : PSC_DEPOT_EXEC, hi - lo, place->base,
                                 place->offset + lo);
}

static void tell_reads(const struct walk *w, const struct psc_job *job)
{
    for (uint32_t k = 0; w->story && k < job->call.in_n; k++) {
        const struct psc_operand *operand = &job->operands[k];
        psc_node src = psc_node_srcs(w->p->graph, job->node)[k];
        uint32_t copy = psc_arena_memory_copy(w->p, job, k);
        struct psc_arena_place place;
        if (copy != PSC_NONE)
            place = w->m->copies[copy].place;
        else if (operand->kind != PSC_OPERAND_BYTES || is_bound(w, src) || !psc_arena_memory_of(w->m, src, &place))
            continue;
        if (operand->lo) /* a part that begins later is a window of its own */
            place.value = window_of(w, src, &place, operand->lo, operand->hi);
        w->story->why = psc_arena_story_add(w->story, PSC_EV_READ, place.value, 0, place.buffer, place.generation,
                                            place.offset + operand->lo, place.offset + operand->hi, PSC_NONE);
    }
}

/* ---- one node ----------------------------------------------------------------------------------------------------- */

/* The node's output, from the arena that its role says. */
static enum psc_status make_output(const struct walk *w, psc_node i, struct psc_call *call, struct psc_error *reterr)
{
    const struct psc_graph *g = w->p->graph;
    uint32_t value = PSC_NONE;
    unsigned char *memory;
    char name[128];
    enum psc_status status;
    if (w->story)
        w->story->value = value = psc_arena_story_value(
            w->story, PSC_VALUE_NODE, label(w, i, name, sizeof name),
            w->m->context.declared[i] ? PSC_DEPOT_IO : PSC_DEPOT_EXEC, g->nodes[i].bytes, PSC_NONE, 0);
    status = psc_context_output(&w->m->context, 0, g->nodes[i].bytes, &memory, reterr);
    if (status)
        return status;
    psc_arena_memory_enter(w->m, i, value);
    psc_arena_house_look(w->m->house, false);
    call->out.at = (psc_address)(uintptr_t)memory;
    return PSC_OK;
}

/* What the kernel needs beside its operands: a temporary, from the execution arena whatever the node makes. */
static enum psc_status make_workspace(const struct walk *w, struct psc_job *job, uint32_t *ret_value, struct psc_error *reterr)
{
    const struct psc_pool *pool = &w->s->pools[job->pool];
    struct psc_call *call = &job->call;
    unsigned char *memory;
    char name[144], node[128];
    enum psc_status status;
    *ret_value = PSC_NONE;
    call->workspace = 0;
    call->workspace_bytes = pool->api->workspace ? pool->api->workspace(pool->backend, call) : 0;
    if (!call->workspace_bytes)
        return PSC_OK;
    if (w->story) {
        snprintf(name, sizeof name, "workspace of %.110s", label(w, job->node, node, sizeof node));
        w->story->value = *ret_value =
            psc_arena_story_value(w->story, PSC_VALUE_WORKSPACE, name, PSC_DEPOT_EXEC, call->workspace_bytes, PSC_NONE, 0);
    }
    if (w->m->house->settings.faults & PSC_ARENA_BIT(PSC_ARENA_A20)) /* as a kernel that fills an output nobody asked for */
        status = psc_context_output(&w->m->context, 1, call->workspace_bytes, &memory, reterr);
    else
        status = psc_context_temporary(&w->m->context, call->workspace_bytes, &memory, reterr);
    if (status)
        return status;
    psc_arena_house_look(w->m->house, false);
    call->workspace = (psc_address)(uintptr_t)memory;
    return PSC_OK;
}

static void tell_writes(const struct walk *w, const struct psc_job *job, bool makes, uint32_t workspace)
{
    const struct psc_context *c = &w->m->context;
    if (!w->story)
        return;
    if (makes)
        psc_arena_story_add(w->story, PSC_EV_WRITE, w->m->values[job->node].value, 0, w->m->values[job->node].buffer,
                            c->tensors[job->node].handle.ticket.generation, 0, w->p->graph->nodes[job->node].bytes, PSC_NONE);
    if (workspace != PSC_NONE) {
        const struct psc_block_handle *h = &c->temporary[c->temporary_n - 1];
        psc_arena_story_add(w->story, PSC_EV_WRITE, workspace, 0, psc_depot_slots(h->store)[h->ticket.slot].buffer,
                            h->ticket.generation, 0, h->ticket.bytes, PSC_NONE);
        w->story->value = workspace; /* goes back next */
    }
}

static enum psc_status run_kernel(struct walk *w, uint32_t at, struct psc_error *reterr)
{
    struct psc_job *job = &w->m->jobs[at];
    bool makes = job->fresh;
    uint32_t outputs[1] = {makes ? job->node : PSC_NONE}, workspace = PSC_NONE;
    enum psc_status ended, status = find_operands(w, at, reterr);
    if (!status) /* the roles of its output slots, before the kernel knows anything */
        status = psc_context_begin_node(&w->m->context, outputs, 1, reterr);
    if (status)
        return status;
    if (makes)
        status = make_output(w, job->node, &job->call, reterr);
    if (!status)
        status = make_workspace(w, job, &workspace, reterr);
    if (!status) {
        tell_reads(w, job);
        status = psc_launch_job(&w->launch, job, PSC_LAUNCH_RUN | PSC_LAUNCH_TELL, reterr);
        tell_writes(w, job, makes && !status, workspace);
    }
    ended = psc_context_end_node(&w->m->context, status ? NULL : reterr); /* and they are gone at once */
    psc_arena_house_look(w->m->house, false);
    return status ? status : ended;
}

/* ---- giving back ------------------------------------------------------------------------------------------------------ */

/* item: a root, or graph->n + transfer */
static void give_back(struct walk *w, uint32_t item, psc_node position)
{
    bool is_copy = item >= w->p->graph->n;
    uint32_t copy = item - w->p->graph->n;
    const struct psc_block_handle *h = is_copy ? &w->m->copies[copy].handle : &w->m->context.tensors[item].handle;
    psc_launch_released(&w->launch, (int32_t)position, is_copy ? w->p->staging_at + copy : item,
                        (psc_address)(uintptr_t)h->ticket.memory, h->ticket.bytes, 0);
    if (is_copy) {
        psc_arena_memory_unstage(w->m, copy);
    } else {
        psc_arena_memory_leave(w->m, item);
        psc_arena_house_look(w->m->house, false);
    }
}

/* What was given to the backend has taken effect: blocks that it alone may still have used go back. */
static enum psc_status wait_for(struct walk *w, const struct psc_pool *pool, struct psc_error *reterr)
{
    enum psc_status status = psc_schedule_wait(w->s, pool, reterr);
    if (!status && psc_session_fault(w->s, PSC_RUN_L10))
        status = psc_copy_drain(&w->copying, reterr); /* nobody else has waited */
    for (uint32_t k = 0; k < w->m->leaving_n && !status; k++)
        give_back(w, w->m->leaving[k], w->done);
    w->m->leaving_n = 0;
    return status;
}

/* On a queue nothing goes back before it has been waited for: at the end of the split, or when an arena would have to ask
 * the heap although there is something to go back. */
static void drop_dead(struct walk *w, uint32_t job)
{
    const struct psc_pool *pool = &w->s->pools[w->m->jobs[job].pool];
    bool queued = (pool->api->idle && !pool->api->idle(pool->backend)) || psc_session_fault(w->s, PSC_RUN_L10);
    for (uint32_t k = w->m->dies_at[job]; k < w->m->dies_at[job + 1]; k++)
        if (queued)
            w->m->leaving[w->m->leaving_n++] = w->m->dying[k];
        else
            give_back(w, w->m->dying[k], w->m->jobs[job].node);
}

static enum psc_status make_room(struct walk *w, const struct psc_job *job, struct psc_error *reterr)
{
    const struct psc_depot *depot = w->m->house->depot[w->m->context.declared[job->node] ? PSC_DEPOT_IO : PSC_DEPOT_EXEC];
    const struct psc_pool *pool = &w->s->pools[job->pool];
    if (!job->fresh || !w->m->leaving_n || psc_depot_has_free(depot, job->call.out.bytes))
        return PSC_OK;
    psc_arena_house_step(w->m->house, "wait for %s, run %u: what it has read goes back", pool->api->name, w->m->house->run + 1);
    return wait_for(w, pool, reterr);
}

/* ---- a node that is a graph ---------------------------------------------------------------------------------------- */

static enum psc_status lend_operands(struct walk *w, const struct psc_job *job, struct psc_session *child, struct psc_error *reterr)
{
    const struct psc_program *cp = child->current->program;
    const struct psc_window *in = job->call.in;
    enum psc_status status = PSC_OK;
    if (cp->input_n != job->call.in_n)
        return psc_fail(reterr, PSC_ERR_USAGE, "its graph has %u inputs, and the node has %u operands", cp->input_n, job->call.in_n);
    for (uint32_t k = 0; k < job->call.in_n && !status; k++) {
        const struct psc_node_info *input = &cp->graph->nodes[cp->inputs[k].node];
        struct psc_arena_place place;
        if (!in[k].at || input->bytes != in[k].bytes)
            status = psc_fail(reterr, PSC_ERR_USAGE, "input %u of its graph has %llu bytes, the operand has %llu", k,
                              (unsigned long long)input->bytes, (unsigned long long)(in[k].at ? in[k].bytes : 0));
        if (status)
            break;
        (void)psc_arena_memory_of(w->m, psc_node_srcs(w->p->graph, job->node)[k], &place);
        child->arena->lent = &place;
        status = psc_session_borrow_node(child, cp->inputs[k].node, (const void *)(uintptr_t)in[k].at, input->elements, reterr);
        child->arena->lent = NULL;
    }
    return status;
}

static enum psc_status take_result(struct walk *w, psc_node i, struct psc_session *child, struct psc_error *reterr)
{
    struct psc_arena_memory *cm = child->arena;
    const struct psc_graph *cg = cm->program->graph;
    psc_node output = cg->output_n ? cg->outputs[0] : PSC_NONE;
    uint32_t value;
    enum psc_status status;
    if (output == PSC_NONE || cg->nodes[output].root != output || !cm->context.tensors[output].handle.state ||
        cg->nodes[output].bytes != w->p->graph->nodes[i].bytes)
        return psc_fail(reterr, PSC_ERR_USAGE, "its graph has no first output of %llu bytes with a block of its own",
                        (unsigned long long)w->p->graph->nodes[i].bytes);
    value = cm->values[output].value;
    status = psc_context_hand_over(&cm->context, output, &w->m->context, i, reterr);
    if (status)
        return status;
    psc_arena_memory_leave(cm, output);
    psc_arena_memory_enter(w->m, i, value);
    psc_arena_house_look(w->m->house, false);
    return PSC_OK;
}

/* Its nodes are nobody's who listens: told is what the node reads and makes. */
static enum psc_status run_child(struct walk *w, uint32_t at, struct psc_session *child, struct psc_error *reterr)
{
    struct psc_job *job = &w->m->jobs[at];
    enum psc_status status = find_operands(w, at, reterr);
    char name[128];
    if (!status) /* its own queue would not wait for this one */
        status = wait_for(w, &w->s->pools[job->pool], reterr);
    if (!status)
        status = lend_operands(w, job, child, reterr);
    if (!status)
        status = psc_session_execute(child, NULL, reterr);
    if (!status && w->story)
        psc_arena_house_step(w->m->house, "%s: the child graph's result, handed over", label(w, job->node, name, sizeof name));
    if (!status)
        status = take_result(w, job->node, child, reterr);
    if (!status) {
        job->call.out.at = psc_arena_memory_address(w->m, job->node, 0);
        status = psc_launch_job(&w->launch, job, PSC_LAUNCH_TELL, reterr);
    }
    return status;
}

/* ---- crossing to another backend ---------------------------------------------------------------------------------------- */

/* A transferred input: a block of the I/O arena on the reader's side. */
static enum psc_status fetch(struct walk *w, uint32_t k, struct psc_error *reterr)
{
    struct psc_transfer *t = &w->m->transfers[k];
    struct psc_arena_copy *staged = &w->m->copies[k];
    struct psc_depot *io = w->m->house->depot[PSC_DEPOT_IO];
    struct psc_arena_place from = {0};
    const char *to = w->s->pools[t->to_pool].api->name;
    char name[144], node[100];
    *t = w->p->transfers[k];
    t->from = psc_arena_memory_address(w->m, t->node, t->from);
    if (!t->from)
        return psc_fail(reterr, PSC_ERR_RUN, "it has no memory any more");
    if (w->story) {
        (void)psc_arena_memory_of(w->m, t->node, &from);
        if (from.offset) /* a view may be of this split, and is shown only after this */
            from.value = window_of(w, t->node, &from, 0, t->bytes);
        snprintf(name, sizeof name, "%.99s on %.30s", label(w, t->node, node, sizeof node), to);
        psc_arena_house_step(w->m->house, "%s, run %u: transferred into the I/O arena", name, w->m->house->run + 1);
        staged->place = (struct psc_arena_place){0};
        w->story->value = staged->place.value = staged->place.base =
            psc_arena_story_value(w->story, PSC_VALUE_STAGING, name, PSC_DEPOT_IO, t->bytes, PSC_NONE, 0);
    }
    enum psc_status status = psc_block_handle_alloc(io, t->bytes, PSC_OWNER_BINDING, &staged->handle, reterr);
    if (status)
        return status;
    staged->place.buffer = (uint32_t)psc_depot_slots(io)[staged->handle.ticket.slot].buffer;
    staged->place.generation = staged->handle.ticket.generation;
    t->to = (psc_address)(uintptr_t)staged->handle.ticket.memory;
    psc_arena_house_look(w->m->house, false);
    status = psc_copy_enqueue(&w->copying, k, reterr);
    if (status)
        return status;
    psc_launch_enqueued(&w->launch, k);
    w->m->copied += t->bytes;
    if (w->story) {
        uint32_t read = psc_arena_story_add(w->story, PSC_EV_READ, from.value, 0, from.buffer, from.generation, from.offset,
                                            from.offset + t->bytes, PSC_NONE);
        psc_arena_story_add(w->story, PSC_EV_WRITE, staged->place.value, 0, staged->place.buffer, staged->place.generation, 0, t->bytes,
                            read);
    }
    return PSC_OK;
}

static enum psc_status fetch_all(struct walk *w, const struct psc_stretch *stretch, struct psc_error *reterr)
{
    enum psc_status status = PSC_OK;
    for (uint32_t k = stretch->transfer_at; k < stretch->transfer_at + stretch->transfer_n && !status; k++) {
        status = fetch(w, k, reterr);
        if (status)
            return in_node(w, w->p->transfers[k].node, status, reterr);
    }
    return PSC_OK;
}

static enum psc_status await_copies(struct walk *w, const struct psc_job *job, struct psc_error *reterr)
{
    enum psc_status status = PSC_OK;
    for (uint32_t k = job->wait_at; k < job->wait_at + job->wait_n && !status && !psc_session_fault(w->s, PSC_RUN_L10); k++) {
        status = psc_copy_await(&w->copying, w->p->waits[k], true, reterr);
        if (!status)
            psc_launch_awaited(&w->launch, w->p->waits[k], job->node);
    }
    return status;
}

/* ---- the walk --------------------------------------------------------------------------------------------------------- */

static enum psc_status show_view(struct walk *w, struct psc_job *job, struct psc_error *reterr)
{
    char name[128];
    job->call.out.at = psc_arena_memory_address(w->m, job->node, job->call.out.at);
    if (w->story && !is_bound(w, job->node)) {
        psc_arena_house_step(w->m->house, "%s, run %u: a view", label(w, job->node, name, sizeof name), w->m->house->run + 1);
        psc_arena_memory_show(w->m, job->node);
    }
    return psc_launch_job(&w->launch, job, PSC_LAUNCH_TELL, reterr);
}

static enum psc_status run_job(struct walk *w, uint32_t at, struct psc_error *reterr)
{
    struct psc_job *job = &w->m->jobs[at];
    struct psc_session *child = w->m->children[job->node];
    char name[128];
    enum psc_status status = make_room(w, job, reterr);
    if (!status)
        status = await_copies(w, job, reterr);
    if (status)
        return in_node(w, job->node, status, reterr);
    psc_launch_look(&w->launch, job->node);
    if (job->kind == PSC_JOB_MOVE)
        status = psc_fail(reterr, PSC_ERR_PLAN, "a view that is placed elsewhere has no place on an arena");
    if (job->kind == PSC_JOB_CALL && w->story)
        psc_arena_house_step(w->m->house, "%s, run %u%s", label(w, job->node, name, sizeof name), w->m->house->run + 1, child ? ": a graph" : "");
    if (job->kind == PSC_JOB_CALL)
        status = child ? run_child(w, at, child, reterr) : run_kernel(w, at, reterr);
    if (job->kind == PSC_JOB_VIEW)
        status = show_view(w, job, reterr);
    if (status)
        return in_node(w, job->node, status, reterr);
    w->done = job->node;
    drop_dead(w, at);
    return PSC_OK;
}

static enum psc_status run_stretch(struct walk *w, const struct psc_stretch *stretch, struct psc_error *reterr)
{
    enum psc_status status;
    psc_launch_look(&w->launch, stretch->split->first);
    status = fetch_all(w, stretch, reterr);
    for (uint32_t i = 0; i < stretch->job_n && !status; i++)
        status = run_job(w, stretch->job_at + i, reterr);
    if (!status && w->launch.sink && w->launch.sink->split_end)
        status = w->launch.sink->split_end(w->launch.sink->ctx, stretch->split, reterr);
    if (!status && w->m->leaving_n)
        psc_arena_house_step(w->m->house, "wait for %s, run %u: what it has read goes back", w->s->pools[stretch->pool].api->name,
                              w->m->house->run + 1);
    return status ? status : wait_for(w, &w->s->pools[stretch->pool], reterr);
}

static enum psc_status run_stretches(struct walk *w, struct psc_error *reterr)
{
    enum psc_status status = PSC_OK;
    for (uint32_t k = 0; k < w->p->stretch_n && !status; k++)
        status = run_stretch(w, &w->p->stretches[k], reterr);
    if (!status)
        status = psc_copy_drain(&w->copying, reterr);
    if (!status)
        return PSC_OK;
    (void)!psc_copy_drain(&w->copying, NULL);
    if (!w->s->unsettled) /* a wait that has just come to its bound is not begun again: blocks stay until it could be ended */
        (void)!psc_schedule_synchronise(w->s, NULL);
    return status;
}

/* After a failure nothing of the run is there: everything goes back, and the next one begins anew. */
enum psc_status psc_arena_memory_run(struct psc_arena_memory *m, const struct psc_sink *sink, struct psc_error *reterr)
{
    struct walk w = {.m = m, .s = m->s};
    enum psc_status status = psc_arena_memory_ready(m, reterr), ended = PSC_OK;
    if (!status)
        status = psc_schedule_check_inputs(m->s, reterr);
    if (status)
        return status;
    w.p = m->program;
    w.story = m->house->settings.story;
    w.launch = (struct psc_launch){.s = m->s, .program = m->s->current->program, .transfers = m->transfers, .sink = sink,
                                   .tells = sink && (sink->event || sink->rows)};
    w.copying = (struct psc_copying){.pools = m->s->pools, .transfers = m->transfers, .flights = w.launch.program->flights,
                                     .transfer_n = m->transfer_n, .bounce = m->s->bounce,
                                     .blocking = m->s->options.sync_copies, .counters = &m->s->copies};
    if (sink && sink->begin)
        status = sink->begin(sink->ctx, m->s, m->s->step, reterr);
    if (status)
        return status;
    m->s->step++;
    m->ran = true;
    psc_launch_begin(&w.launch);
    status = run_stretches(&w, reterr);
    psc_launch_look(&w.launch, m->program->graph->n);
    if (!status)
        psc_launch_end(&w.launch);
    m->s->counters.skipped_dead += m->program->dead_n;
    if (sink && sink->end)
        ended = sink->end(sink->ctx, status, status ? NULL : reterr);
    return status ? status : ended;
}

/* ---- the session's side --------------------------------------------------------------------------------------------- */

enum psc_status psc_session_set_child(struct psc_session *s, psc_node node, struct psc_session *child, struct psc_error *reterr)
{
    enum psc_status status;
    if (!s->arena || !child->arena || !s->current || !child->current || child == s || child->arena->house != s->arena->house)
        return psc_fail(reterr, PSC_ERR_USAGE, "a child graph is one of another session on the same arenas, and both have a graph");
    status = psc_arena_memory_ready(s->arena, reterr);
    if (status)
        return status;
    if (node >= s->current->graph->n || s->current->graph->nodes[node].parent != PSC_NONE || !s->current->graph->nodes[node].src_n ||
        psc_op_info(s->current->graph->nodes[node].op)->is_kv)
        return psc_fail(reterr, PSC_ERR_USAGE, "node %u computes nothing that a graph could compute instead", node);
    s->arena->children[node] = child;
    return PSC_OK;
}
