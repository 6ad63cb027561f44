#include "core/run/schedule.h"

#include "core/run/launch.h"
#include "core/run/replay.h"

#include <stdio.h>
#include <string.h>

struct run {
    struct psc_session *s;
    struct psc_mapped *mapped;
    struct psc_program *program;
    const struct psc_sink *sink;
    struct psc_launch launch;
    struct psc_copying copying;
    const struct psc_pool *window; /* a capture is open there */
};

/* ---- sentences ------------------------------------------------------------------------------------------------ */

static const char *node_words(const struct run *r, psc_node i, char *text, size_t size)
{
    const struct psc_node_info *node = &r->program->graph->nodes[i];
    snprintf(text, size, "node %llu (%s)", (unsigned long long)node->id, node->op_name);
    return text;
}

/* Puts what was being done before the sentence that says what went wrong. */
static enum psc_status while_doing(struct psc_error *reterr, enum psc_status status, const char *what)
{
    struct psc_error inner;
    if (!reterr || !status)
        return status;
    inner = *reterr;
    return psc_fail(reterr, status, "%s: %s", what, inner.text);
}

static enum psc_status job_failed(const struct run *r, const struct psc_job *job, enum psc_status status,
                                  struct psc_error *reterr)
{
    char node[96], text[160];
    node_words(r, job->node, node, sizeof node);
    if (reterr && !strncmp(reterr->text, node, strcspn(node, "(")))
        snprintf(text, sizeof text, "on %s", r->s->pools[job->pool].api->name);
    else
        snprintf(text, sizeof text, "%s on %s", node, r->s->pools[job->pool].api->name);
    return while_doing(reterr, status, text);
}

static enum psc_status copy_failed(const struct run *r, uint32_t transfer, enum psc_status status, struct psc_error *reterr)
{
    const struct psc_transfer *t = &r->program->transfers[transfer];
    char node[96], reader[96], text[320];
    snprintf(text, sizeof text, "copy of %s from %s to %s for %s", node_words(r, t->node, node, sizeof node),
             r->s->pools[t->from_pool].api->name, r->s->pools[t->to_pool].api->name,
             node_words(r, (psc_node)t->wait, reader, sizeof reader));
    return while_doing(reterr, status, text);
}

/* ---- before ----------------------------------------------------------------------------------------------------- */

enum psc_status psc_schedule_check_inputs(struct psc_session *s, struct psc_error *reterr)
{
    struct psc_program *p = s->current->program;
    const struct psc_graph *graph = p->graph;
    bool lax = psc_session_fault(s, PSC_RUN_L17) && !s->arena;
    for (uint32_t k = 0; k < p->input_n; k++) {
        struct psc_filled_input *input = &p->inputs[k];
        const struct psc_node_info *node = &graph->nodes[input->node];
        const struct psc_home *home = &p->homes[input->node];
        struct psc_pool *pool = &s->pools[home->pool];
        if (input->filled || !home->at || (!node->reader_n && !node->is_output))
            continue;
        if (!lax)
            return psc_fail(reterr, PSC_ERR_USAGE, "input '%s' (node %llu, %llu elements) has not been filled since the graph "
                            "was mapped", node->name ? node->name : "", (unsigned long long)node->id,
                            (unsigned long long)node->elements);
        if (input->recycle) {
            enum psc_status status = psc_pool_present(pool, home->at, reterr);
            if (!status)
                status = psc_pool_recycle_now(pool, input->recycle, input->recycle_bytes, reterr);
            if (status)
                return status;
            input->recycle = 0;
        }
    }
    return PSC_OK;
}

/* ---- splits ----------------------------------------------------------------------------------------------------- */

/* Fault l8: the copied node is from now on known to lie where its copy does. */
static void move_home(struct run *r, const struct psc_transfer *t)
{
    for (uint32_t k = 0; k < r->program->job_n; k++)
        if (r->program->jobs[k].node == t->node)
            r->program->jobs[k].out_pool = t->to_pool;
}

/* Both ends of a copy have memory. */
static enum psc_status ends_are_there(const struct run *r, uint32_t transfer, struct psc_error *reterr)
{
    const struct psc_transfer *t = &r->program->transfers[transfer];
    enum psc_status status = psc_pool_present(&r->s->pools[t->from_pool], t->from, reterr);
    return status ? status : psc_pool_present(&r->s->pools[t->to_pool], t->to, reterr);
}

static enum psc_status enqueue_copies(struct run *r, const struct psc_stretch *stretch, struct psc_error *reterr)
{
    enum psc_status status = PSC_OK;
    for (uint32_t k = stretch->transfer_at; !status && k < stretch->transfer_at + stretch->transfer_n; k++) {
        status = ends_are_there(r, k, reterr);
        if (!status)
            status = psc_copy_enqueue(&r->copying, k, reterr);
        if (status)
            return copy_failed(r, k, status, reterr);
        psc_launch_enqueued(&r->launch, k);
        if (psc_session_fault(r->s, PSC_RUN_L8))
            move_home(r, &r->program->transfers[k]);
    }
    return PSC_OK;
}

/* at: the position that waits, PSC_NONE: the split, before its first node. */
static enum psc_status await(struct run *r, uint32_t transfer, uint32_t at, struct psc_error *reterr)
{
    enum psc_status status = psc_copy_await(&r->copying, transfer, at != PSC_NONE, reterr);
    if (status)
        return copy_failed(r, transfer, status, reterr);
    psc_launch_awaited(&r->launch, transfer, at != PSC_NONE ? at : (uint32_t)r->program->transfers[transfer].enqueue);
    return PSC_OK;
}

static enum psc_status misplaced(const struct run *r, const struct psc_job *job, struct psc_error *reterr)
{
    char node[96];
    return psc_fail(reterr, PSC_ERR_PLAN, "%s: its buffer is on %s, but its split runs on %s",
                    node_words(r, job->node, node, sizeof node), r->s->pools[job->out_pool].api->name,
                    r->s->pools[job->pool].api->name);
}

/* All that a kernel is given has memory. */
static enum psc_status is_there(const struct run *r, const struct psc_job *job, struct psc_error *reterr)
{
    const struct psc_pool *pool = &r->s->pools[job->pool], *out = &r->s->pools[job->out_pool];
    const struct psc_call *call = &job->call;
    enum psc_status status = PSC_OK;
    if (!r->program->lacks || (job->kind != PSC_JOB_CALL && job->kind != PSC_JOB_MOVE))
        return PSC_OK;
    for (uint32_t k = 0; !status && k < call->in_n; k++)
        status = psc_pool_present(pool, call->in[k].at, reterr);
    if (!status)
        status = psc_pool_present(out, call->out.at, reterr);
    if (!status)
        status = psc_pool_present(pool, call->kv.k, reterr);
    if (!status)
        status = psc_pool_present(pool, call->kv.v, reterr);
    if (!status)
        status = psc_pool_present(pool, job->recycle, reterr);
    return status ? status : psc_pool_present(pool, job->move_from, reterr);
}

static enum psc_status run_job(struct run *r, const struct psc_job *job, unsigned how, bool waits, struct psc_error *reterr)
{
    enum psc_status status = PSC_OK;
    for (uint32_t k = 0; waits && !status && k < job->wait_n; k++)
        status = await(r, r->program->waits[job->wait_at + k], job->node, reterr);
    if (status)
        return status;
    psc_launch_look(&r->launch, job->node);
    if (job->out_pool != job->pool && (job->kind == PSC_JOB_CALL || job->kind == PSC_JOB_MOVE))
        return misplaced(r, job, reterr);
    status = is_there(r, job, reterr);
    if (!status)
        status = psc_launch_job(&r->launch, job, how, reterr);
    return status ? job_failed(r, job, status, reterr) : PSC_OK;
}

static enum psc_status run_jobs(struct run *r, const struct psc_stretch *stretch, unsigned how, bool waits,
                                struct psc_error *reterr)
{
    enum psc_status status = PSC_OK;
    for (uint32_t k = 0; !status && k < stretch->job_n; k++)
        status = run_job(r, &r->program->jobs[stretch->job_at + k], how, waits, reterr);
    return status;
}

/* No host decision stands inside a window: whatever the split waits for, it waits for before. */
static enum psc_status await_all(struct run *r, const struct psc_stretch *stretch, struct psc_error *reterr)
{
    enum psc_status status = PSC_OK;
    for (uint32_t k = stretch->transfer_at; !status && k < stretch->transfer_at + stretch->transfer_n; k++)
        status = await(r, k, PSC_NONE, reterr);
    return status;
}

/* Launches into a window. When the backend can make nothing of it, the split is launched node by node after all. */
static enum psc_status record(struct run *r, uint32_t at, struct psc_error *reterr)
{
    const struct psc_stretch *stretch = &r->program->stretches[at];
    struct psc_pool *pool = &r->s->pools[stretch->pool];
    enum psc_status status;
    if (pool->api->capture_begin(pool->backend, NULL)) {
        r->s->capture_off = true;
        return run_jobs(r, stretch, PSC_LAUNCH_RUN | PSC_LAUNCH_TELL, false, reterr);
    }
    r->window = pool;
    if (psc_session_fault(r->s, PSC_RUN_L34) && pool->n) { /* as another thread that registers a weight would */
        uint32_t word;
        (void)!pool->api->read(pool->backend, pool->slots[0].b.at, &word, sizeof word, NULL);
    }
    status = run_jobs(r, stretch, PSC_LAUNCH_RUN | PSC_LAUNCH_TELL, false, reterr);
    if (status)
        return status;
    r->window = NULL;
    if (!psc_replay_close(r->s, r->mapped, at, NULL))
        return PSC_OK;
    psc_replay_drop(r->s, r->mapped);
    r->s->capture_off = true;
    return run_jobs(r, stretch, PSC_LAUNCH_RUN, false, reterr);
}

static enum psc_status play(struct run *r, uint32_t at, struct psc_error *reterr)
{
    const struct psc_stretch *stretch = &r->program->stretches[at];
    struct psc_pool *pool = &r->s->pools[stretch->pool];
    unsigned how = PSC_LAUNCH_TELL;
    if (pool->api->replay(pool->backend, r->mapped->recorded[at].recording, NULL)) {
        psc_replay_drop(r->s, r->mapped);
        r->s->capture_off = true;
        how |= PSC_LAUNCH_RUN;
    } else {
        r->s->counters.replays++;
    }
    return how == PSC_LAUNCH_TELL && !r->launch.tells ? PSC_OK : run_jobs(r, stretch, how, false, reterr);
}

static enum psc_status run_nodes(struct run *r, uint32_t at, struct psc_error *reterr)
{
    const struct psc_stretch *stretch = &r->program->stretches[at];
    enum psc_replay how = psc_replay_choose(r->s, r->mapped, at, r->sink);
    enum psc_status status;
    if (how == PSC_REPLAY_DIRECT) {
        status = run_jobs(r, stretch, PSC_LAUNCH_RUN | PSC_LAUNCH_TELL, !psc_session_fault(r->s, PSC_RUN_L10), reterr);
        if (!status)
            psc_replay_warmed(r->mapped, at);
        return status;
    }
    status = await_all(r, stretch, reterr);
    if (status)
        return status;
    return how == PSC_REPLAY_RECORD ? record(r, at, reterr) : play(r, at, reterr);
}

static enum psc_status retire(struct run *r, const struct psc_stretch *before, struct psc_error *reterr)
{
    struct psc_pool *pool = &r->s->pools[before->pool];
    enum psc_status status = pool->api->submit(pool->backend, reterr);
    char text[64];
    snprintf(text, sizeof text, "submit on %s", pool->api->name);
    return while_doing(reterr, status, text);
}

static enum psc_status run_stretch(struct run *r, uint32_t at, struct psc_error *reterr)
{
    const struct psc_stretch *stretch = &r->program->stretches[at];
    enum psc_status status = PSC_OK;
    if (at && r->program->stretches[at - 1].pool != stretch->pool)
        status = retire(r, &r->program->stretches[at - 1], reterr);
    if (!status)
        psc_launch_look(&r->launch, stretch->split->first);
    if (!status)
        status = enqueue_copies(r, stretch, reterr);
    if (!status)
        status = run_nodes(r, at, reterr);
    if (!status && r->sink && r->sink->split_end)
        status = r->sink->split_end(r->sink->ctx, stretch->split, reterr);
    return status;
}

/* ---- after ------------------------------------------------------------------------------------------------------- */

enum psc_status psc_schedule_wait(struct psc_session *s, const struct psc_pool *pool, struct psc_error *reterr)
{
    enum psc_status status = pool->backend ? pool->api->synchronise(pool->backend, reterr) : PSC_OK;
    char text[64];
    snprintf(text, sizeof text, "waiting for %s", pool->api->name);
    s->unsettled = s->unsettled || status;
    return while_doing(reterr, status, text);
}

enum psc_status psc_schedule_synchronise(struct psc_session *s, struct psc_error *reterr)
{
    enum psc_status first = PSC_OK;
    s->unsettled = false;
    for (uint32_t k = 0; k < s->api_n; k++) {
        enum psc_status status = psc_schedule_wait(s, &s->pools[k], first ? NULL : reterr);
        first = first ? first : status;
    }
    return first;
}

enum psc_status psc_schedule_settle(struct psc_session *s, struct psc_error *reterr)
{
    return s->unsettled ? psc_schedule_synchronise(s, reterr) : PSC_OK;
}

/* Nothing may be on its way when the session is used again; what a failed run recorded or warmed counts for nothing. */
static void abandon(struct run *r)
{
    if (r->window) {
        r->window->api->capture_abort(r->window->backend);
        r->s->capture_off = true;
    }
    (void)!psc_copy_drain(&r->copying, NULL);
    if (!r->s->unsettled) /* a wait that has just come to its bound is not begun again */
        (void)!psc_schedule_synchronise(r->s, NULL);
    psc_replay_drop(r->s, r->mapped); /* none is on its way now */
}

static enum psc_status run_all(struct run *r, struct psc_error *reterr)
{
    enum psc_status status = PSC_OK;
    psc_launch_begin(&r->launch);
    for (uint32_t k = 0; !status && k < r->program->stretch_n; k++)
        status = run_stretch(r, k, reterr);
    if (!status)
        status = psc_copy_drain(&r->copying, reterr);
    if (!status)
        status = psc_schedule_synchronise(r->s, reterr);
    if (status) {
        abandon(r);
    } else {
        psc_launch_look(&r->launch, r->program->graph->n);
        psc_launch_end(&r->launch);
    }
    r->s->counters.skipped_dead += r->program->dead_n;
    return status;
}

enum psc_status psc_schedule_run(struct psc_session *s, const struct psc_sink *sink, struct psc_error *reterr)
{
    struct psc_program *p = s->current->program;
    struct run r = {.s = s, .mapped = s->current, .program = p, .sink = sink};
    enum psc_status status = psc_schedule_check_inputs(s, reterr), ended = PSC_OK;
    if (status)
        return status;
    r.launch = (struct psc_launch){.s = s, .program = p, .transfers = p->transfers, .sink = sink,
                                   .tells = sink && (sink->event || sink->rows)};
    r.copying = (struct psc_copying){.pools = s->pools, .transfers = p->transfers, .flights = p->flights,
                                     .transfer_n = p->transfer_n, .bounce = s->bounce,
                                     .blocking = s->options.sync_copies, .counters = &s->copies};
    if (sink && sink->begin)
        status = sink->begin(sink->ctx, s, s->step, reterr);
    if (status)
        return status;
    s->step++;
    status = run_all(&r, reterr);
    if (sink && sink->end)
        ended = sink->end(sink->ctx, status, status ? NULL : reterr);
    return status ? status : ended;
}
