#include "core/run/run-private.h"

#include "core/base/clock.h"
#include "core/base/mem.h"

#include <stdio.h>
#include <string.h>

double psc_run_clock(void)
{
    return (double)psc_clock_ns() * 1e-9;
}

/* ---- the sink between session and recorder ------------------------------------------------------------------- */

static enum psc_status go_on(const struct psc_runner *r, struct psc_error *reterr)
{
    const struct psc_run_request *q = r->request;
    if (q->cancelled && q->cancelled(q->ctx))
        return psc_fail(reterr, PSC_ERR_CANCELLED, "the run was cancelled");
    return PSC_OK;
}

static enum psc_status begin_cb(void *ctx, struct psc_session *session, uint32_t step, struct psc_error *reterr)
{
    struct psc_runner *r = ctx;
    const struct psc_sink *to = r->recorder ? psc_recorder_sink(r->recorder) : NULL;
    enum psc_status status = go_on(r, reterr);
    return status == PSC_OK && to ? to->begin(to->ctx, session, step, reterr) : status;
}

static void event_cb(void *ctx, const struct psc_event *event, const struct psc_located *at)
{
    const struct psc_sink *to = psc_recorder_sink(((struct psc_runner *)ctx)->recorder);
    to->event(to->ctx, event, at);
}

static void rows_cb(void *ctx, const struct psc_kv_access *access)
{
    const struct psc_sink *to = psc_recorder_sink(((struct psc_runner *)ctx)->recorder);
    to->rows(to->ctx, access);
}

static enum psc_status before_cb(void *ctx, const struct psc_backend_api *api, struct psc_backend *b,
                                 const struct psc_call *call, struct psc_error *reterr)
{
    struct psc_runner *r = ctx;
    const struct psc_sink *to = r->recorder ? psc_recorder_sink(r->recorder) : NULL;
    enum psc_status status = go_on(r, reterr);
    if (r->request->progress && r->stage)
        r->request->progress(r->request->ctx, r->stage, r->done + call->node, r->total);
    return status == PSC_OK && to ? to->before(to->ctx, api, b, call, reterr) : status;
}

static enum psc_status after_cb(void *ctx, const struct psc_backend_api *api, struct psc_backend *b,
                                const struct psc_call *call, struct psc_error *reterr)
{
    struct psc_runner *r = ctx;
    const struct psc_sink *to = r->recorder ? psc_recorder_sink(r->recorder) : NULL;
    return to ? to->after(to->ctx, api, b, call, reterr) : PSC_OK;
}

static enum psc_status split_end_cb(void *ctx, const struct psc_split *split, struct psc_error *reterr)
{
    struct psc_runner *r = ctx;
    const struct psc_sink *to = r->recorder ? psc_recorder_sink(r->recorder) : NULL;
    enum psc_status status = go_on(r, reterr);
    return status == PSC_OK && to ? to->split_end(to->ctx, split, reterr) : status;
}

static enum psc_status end_cb(void *ctx, enum psc_status ended, struct psc_error *reterr)
{
    struct psc_runner *r = ctx;
    const struct psc_sink *to = r->recorder ? psc_recorder_sink(r->recorder) : NULL;
    return to ? to->end(to->ctx, ended, reterr) : PSC_OK;
}

static void completed_cb(void *ctx, uint32_t backend, uint32_t before, uint32_t at)
{
    struct psc_runner *r = ctx;
    const struct psc_sink *to = psc_recorder_sink(r->recorder);
    to->completed(to->ctx, backend, before, at);
}

static void make_sink(struct psc_runner *r)
{
    const struct psc_recorder_options *o = &r->request->record;
    r->sink = (struct psc_sink){.ctx = r, .begin = begin_cb, .before = before_cb, .after = after_cb,
                                .split_end = split_end_cb, .end = end_cb};
    if (r->recorder && (o->events || o->values || o->hashes || o->contents))
        r->sink.event = event_cb;
    if (r->recorder && (o->events || o->hashes))
        r->sink.rows = rows_cb;
    if (r->recorder && o->events)
        r->sink.completed = completed_cb;
    if (r->request->session.replay && !(r->recorder && (o->values || o->hashes || o->contents)))
        r->sink.before = NULL, r->sink.after = NULL, r->sink.split_end = NULL; /* nobody looks at values: splits may be replayed */
    r->listens = r->recorder || r->request->cancelled || r->request->progress;
}

enum psc_status psc_run_move(struct psc_runner *r, bool *ret_moved, struct psc_error *reterr)
{
    *ret_moved = r->request->move_at && r->result->executions + 1 == r->request->move_at;
    if (!*ret_moved)
        return PSC_OK;
    r->checked_uid = 0; /* its plan is another one now */
    return psc_session_move(r->session, reterr);
}

enum psc_status psc_run_fill(struct psc_runner *r, psc_node node, const void *words, uint64_t n, struct psc_error *reterr)
{
    enum psc_status status = r->result->on_arenas ? psc_run_arena_fill(r, node, words, n, reterr)
                                                  : psc_session_fill_node(r->session, node, words, n, reterr);
    if (status == PSC_OK && r->recorder)
        status = psc_recorder_filled(r->recorder, node, words, n * 4, reterr);
    return status;
}

enum psc_status psc_run_execute(struct psc_runner *r, const char *stage, bool *ret_cancelled, struct psc_error *reterr)
{
    r->stage = stage;
    r->result->executions++;
    enum psc_status status = psc_session_execute(r->session, r->listens ? &r->sink : NULL, reterr);
    if (status == PSC_OK && r->request->executed)
        status = r->request->executed(r->request->executed_ctx, r->session, reterr);
    r->done += psc_session_graph(r->session)->n;
    *ret_cancelled = status == PSC_ERR_CANCELLED;
    return *ret_cancelled ? PSC_OK : status;
}

/* ---- set-up ---------------------------------------------------------------------------------------------------- */

static enum psc_status find_targets(struct psc_runner *r, struct psc_error *reterr)
{
    if (r->api_n > PSC_TARGETS_MAX)
        return psc_fail(reterr, PSC_ERR_USAGE, "there are %u backends, at most %u fit", r->api_n, PSC_TARGETS_MAX);
    for (uint32_t i = 0; i < r->api_n; i++) {
        const struct psc_backend_api *api = r->apis[i];
        r->targets[r->target_n++] = (struct psc_target){
            .name = api->name, .written = api->file_name, .priority = (int32_t)api->priority,
            .unusable = api->unavailable ? api->unavailable() : NULL, .takes = api->takes,
            .fuses_decode = api->fuses_decode,
        };
    }
    const char *spec = r->request->backends ? r->request->backends : "cpu";
    r->assignment = psc_hash_bytes(spec, strlen(spec), 1);
    return psc_offload_parse(spec, r->targets, r->target_n, &r->offload, reterr);
}

/* By default the target of each block decides; who asks for a fusion gets it on every target that takes the op. */
static void choose_fusions(struct psc_runner *r)
{
    const struct psc_run_request *q = r->request;
    bool asked = q->fuse_qkv == PSC_YES || q->fuse_ffn == PSC_YES;
    r->fuse_qkv = q->fuse_qkv == PSC_YES || (q->fuse_qkv == PSC_BY_DEFAULT && !asked);
    r->fuse_ffn = q->fuse_ffn == PSC_YES || (q->fuse_ffn == PSC_BY_DEFAULT && !asked);
    for (uint32_t i = 0; asked && i < r->target_n; i++)
        r->targets[i].fuses_decode = true;
}

static enum psc_status set_up(struct psc_runner *r, struct psc_error *reterr)
{
    const struct psc_run_request *q = r->request;
    struct psc_session_options options = q->session;
    if (!q->model == !q->graph)
        return psc_fail(reterr, PSC_ERR_USAGE, "a run needs a model or a graph, and not both");
    enum psc_status status = find_targets(r, reterr);
    if (status != PSC_OK)
        return status;
    choose_fusions(r);
    if (q->model) {
        r->n_ctx = psc_model_n_ctx(&q->model->hyper, q->n_ctx, q->prompt_n);
        options.weight = psc_model_weight_of;
        options.weight_ctx = (void *)(uintptr_t)q->model;
        options.n_ctx = r->n_ctx;
    } else if (q->n_ctx) {
        options.n_ctx = q->n_ctx;
    }
    status = psc_run_arena_set_up(r, &options, reterr);
    if (status != PSC_OK)
        return status;
    bool looks = q->record.values || q->record.hashes || q->record.contents; /* the events of arenas are told by themselves */
    bool records = looks || (q->record.events && !options.arenas);
    if (records) {
        struct psc_recorder_options record = q->record;
        record.reruns = q->graph && q->times > 1 && !q->refill;
        status = psc_recorder_new(&record, &r->recorder, reterr);
    }
    if (status == PSC_OK)
        status = psc_session_new(r->apis, r->api_n, &options, &r->result->session, reterr);
    r->session = r->result->session;
    make_sink(r);
    return status;
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

/* What was recorded becomes a document, also of a run that failed. */
static enum psc_status wind_up(struct psc_runner *r, enum psc_status ended, struct psc_error *reterr)
{
    struct psc_doc *doc = NULL;
    struct psc_error err;
    const struct psc_run_request *q = r->request;
    const char *model = q->model ? q->model->name : q->graph ? q->graph->model : NULL;
    enum psc_status status = PSC_OK;
    if (r->session)
        psc_run_figures(r);
    if (r->recorder) {
        r->result->confirmed_n += psc_recorder_mismatch_n(r->recorder);
        r->result->unwritten_n = psc_recorder_unwritten_n(r->recorder);
        status = psc_recorder_doc(r->recorder, model, q->prompt_text, &doc, &err);
    }
    if (status == PSC_OK)
        status = psc_run_arena_end(r, model, &doc, &err);
    if (status == PSC_OK && doc)
        status = psc_run_facts(r, doc, &err);
    if (status == PSC_OK && doc)
        status = psc_run_check_doc(r, doc, &err);
    r->result->doc = doc;
    if (ended == PSC_OK && status != PSC_OK) {
        if (reterr)
            *reterr = err;
        return status;
    }
    return ended;
}

enum psc_status psc_run(const struct psc_backend_api *const *apis, uint32_t api_n, const struct psc_run_request *request,
                        struct psc_run_result *ret, struct psc_error *reterr)
{
    struct psc_runner r = {.apis = apis, .api_n = api_n, .request = request, .result = ret};
    memset(ret, 0, sizeof *ret);
    enum psc_status status = set_up(&r, reterr);
    if (status == PSC_OK)
        status = request->model ? psc_run_model(&r, reterr) : psc_run_graph(&r, reterr);
    status = wind_up(&r, status, reterr);
    psc_recorder_free(r.recorder);
    psc_run_arena_release(&r);
    psc_map_release(&r.seen);
    psc_arena_release(&r.arena);
    return status;
}

void psc_run_result_release(struct psc_run_result *result)
{
    psc_free(result->tokens);
    psc_free(result->ends);
    psc_text_release(&result->text);
    psc_doc_free(result->doc);
    psc_free(result->logits);
    psc_run_arena_release_result(result);
    psc_kv_runs_release(&result->kv);
    memset(result, 0, sizeof *result);
}
