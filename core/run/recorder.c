#include "core/run/recorder-private.h"

#include "core/base/mem.h"
#include "core/graph/copy.h"
#include "core/plan/copy.h"

#include <stdio.h>
#include <string.h>

static void release_phase(struct psc_rec_phase *p)
{
    psc_look_release(&p->look);
    for (uint32_t b = 0; b < PSC_REC_PLACES_MAX; b++)
        psc_free(p->ids[b].index);
    psc_free(p->buffers);
    psc_free(p->first);
    psc_free(p->last);
    memset(p, 0, sizeof *p);
}

static void forget_tolds(struct psc_recorder *r)
{
    for (size_t i = 0; i < r->told_n; i++)
        psc_free(r->tolds[i].bytes);
    r->told_n = 0;
}

/* ---- phases -------------------------------------------------------------------------------------------- */

static const struct psc_kv_layout *kv_layout(struct psc_recorder *r, bool *failed)
{
    struct psc_kv_info info = {0};
    psc_session_kv(r->session, &info);
    if (!info.layers)
        return NULL;
    struct psc_kv_layout *kv = psc_arena_alloc(&r->doc->arena, 1, sizeof *kv);
    if (!kv)
        *failed = true;
    else
        *kv = (struct psc_kv_layout){info.layers, info.rows, info.width, info.row_bytes, psc_kv_format_name(info.format)};
    return kv;
}

/* The name behind another that minfer's files have for it. */
static const char *true_backend(const struct psc_recorder *r, const struct psc_graph *graph)
{
    for (uint32_t b = 0; b < psc_session_backend_n(r->session); b++) {
        const struct psc_backend_api *api;
        (void)psc_session_backend(r->session, b, &api);
        for (uint32_t k = 0; strcmp(api->name, api->file_name) != 0 && k < graph->backend_n; k++)
            if (!strcmp(graph->backends[k], api->file_name))
                return api->name;
    }
    return NULL;
}

bool psc_rec_on_arenas(const struct psc_recorder *r)
{
    return psc_session_place_n(r->session) > psc_session_backend_n(r->session);
}

static enum psc_status describe_phase(struct psc_recorder *r, const struct psc_graph *of, struct psc_phase *ret,
                                      struct psc_error *reterr)
{
    struct psc_arena *a = &r->doc->arena;
    struct psc_phase phase = {.capture = r->options.capture == PSC_CAPTURE_SPLIT ? PSC_CAPTURE_SPLIT : PSC_CAPTURE_NODE};
    const struct psc_plan *plan = psc_session_plan(r->session);
    bool failed = false;
    enum psc_status status = psc_graph_copy(a, of, &phase.graph, reterr);
    if (status == PSC_OK)
        status = psc_plan_copy(a, of, plan, &phase.plan, reterr);
    r->phase.plan = phase.plan;
    if (status != PSC_OK)
        return status;
    phase.kind = psc_arena_strdup(a, r->kind);
    if (psc_rec_on_arenas(r))
        phase.plan = NULL; /* what the session planned is not what it did */
    phase.has_slots = phase.plan && !strcmp(plan->planner, "pool");
    phase.slots = plan->options.slots;
    phase.slots_seed = plan->options.seed;
    phase.kv = kv_layout(r, &failed);
    const char *true_name = true_backend(r, of);
    phase.true_backend = psc_arena_strdup(a, true_name);
    if (failed || !phase.kind || (true_name && !phase.true_backend))
        return psc_fail_nomem(reterr);
    *ret = phase;
    return PSC_OK;
}

static enum psc_status begin_phase(struct psc_recorder *r, const struct psc_graph *of,
                                   const struct psc_session_counters *counters, struct psc_error *reterr)
{
    struct psc_phase phase;
    r->has_phase = false;
    release_phase(&r->phase);
    if (psc_session_place_n(r->session) > PSC_REC_PLACES_MAX)
        return psc_fail(reterr, PSC_ERR_TOO_BIG, "a recorder knows %u places of values, not %u", PSC_REC_PLACES_MAX,
                        psc_session_place_n(r->session));
    r->phase.nowhere = PSC_NONE;
    enum psc_status status = describe_phase(r, of, &phase, reterr);
    if (status == PSC_OK)
        status = psc_look_init(&r->phase.look, phase.graph, r->phase.plan, reterr);
    if (status != PSC_OK)
        return status;
    r->phase.graph = phase.graph;
    r->phase.of = of;
    r->phase.uid = counters->uid;
    r->phase.moves = counters->moves;
    r->phase.index = r->doc->phase_n;
    status = psc_rec_buffers(r, reterr);
    if (status == PSC_OK)
        status = psc_rec_store_phase(r->doc, r->store, &phase, reterr);
    if (status != PSC_OK)
        return status;
    memcpy(r->phase_kind, r->kind, sizeof r->kind);
    r->has_phase = true;
    return PSC_OK;
}

/* ---- steps --------------------------------------------------------------------------------------------- */

static bool stream_phase(struct psc_recorder *r)
{
    struct psc_rec_phase *p = &r->phase;
    bool tells = r->options.phase && !p->told;
    p->told = true;
    return !tells || r->options.phase(r->options.stream_ctx, p->index, &r->doc->phases[p->index]);
}

static enum psc_status stream_step(struct psc_recorder *r, struct psc_error *reterr)
{
    const struct psc_recorder_options *o = &r->options;
    struct psc_rec_phase *p = &r->phase;
    bool ok = stream_phase(r);
    if (ok && o->step) {
        struct psc_arena scratch = {0};
        struct psc_step whole = r->pending;
        enum psc_status status = psc_rec_records(&scratch, &r->raw, &whole, reterr);
        ok = status == PSC_OK && o->step(o->stream_ctx, p->index, p->steps, &whole);
        psc_arena_release(&scratch);
        if (status != PSC_OK)
            return status;
    }
    return ok ? PSC_OK : psc_fail(reterr, PSC_ERR_IO, "step %u could not be written while the run went on", r->step);
}

static enum psc_status commit(struct psc_recorder *r, struct psc_error *reterr)
{
    if (!r->is_pending)
        return PSC_OK;
    r->is_pending = false;
    enum psc_status status = stream_step(r, reterr);
    if (status == PSC_OK && !r->options.forget)
        status = psc_rec_store_step(r->store, &r->pending, &r->raw, &r->step_arena, reterr);
    psc_arena_release(&r->step_arena);
    r->phase.steps++;
    return status;
}

static enum psc_status collect_rows(struct psc_recorder *r, struct psc_error *reterr)
{
    struct psc_kv_rows *rows = psc_arena_alloc(&r->step_arena, r->row_n, sizeof *rows);
    if (!rows)
        return psc_fail_nomem(reterr);
    if (r->row_n)
        memcpy(rows, r->rows, r->row_n * sizeof *rows);
    r->pending.kv = rows;
    r->pending.kv_n = (uint32_t)r->row_n;
    return PSC_OK;
}

/* ---- the sink ------------------------------------------------------------------------------------------ */

static enum psc_status begin_cb(void *ctx, struct psc_session *session, uint32_t step, struct psc_error *reterr)
{
    struct psc_recorder *r = ctx;
    struct psc_session_counters counters = {0};
    enum psc_status status = commit(r, reterr);
    if (status != PSC_OK)
        return status;
    r->session = session;
    r->step = step;
    r->event_n = r->row_n = r->completed_n = 0;
    r->failed = r->looked_at_inputs = false;
    r->pending = (struct psc_step){.text = ""};
    r->raw = (struct psc_rec_raw){0};
    psc_session_counters(session, &counters);
    const struct psc_graph *graph = psc_session_graph(session);
    if (!r->has_phase || r->phase.of != graph || r->phase.uid != counters.uid || r->phase.moves != counters.moves ||
        strcmp(r->phase_kind, r->kind) != 0)
        status = begin_phase(r, graph, &counters, reterr);
    return status == PSC_OK ? psc_look_begin(r, reterr) : status;
}

static void event_cb(void *ctx, const struct psc_event *event, const struct psc_located *at)
{
    struct psc_recorder *r = ctx;
    if (!r->has_phase || r->failed)
        return;
    if (r->options.events)
        psc_rec_event(r, event, at);
    bool fill = event->kind == PSC_EV_FILL, export = event->kind == PSC_EV_EXPORT;
    if ((!fill && !export) || !at || event->value >= r->phase.graph->n)
        return;
    if (at->buffer == PSC_NONE) {
        if (export)
            psc_look_nowhere(r, event->value);
        return;
    }
    struct psc_look_place place = {.at = at->at};
    place.b = psc_session_backend(r->session, at->on, &place.api);
    if (place.b && (fill ? psc_look_filled : psc_look_export)(r, event->value, &place, NULL) != PSC_OK)
        r->failed = true;
}

static void rows_cb(void *ctx, const struct psc_kv_access *access)
{
    struct psc_recorder *r = ctx;
    if (r->has_phase && (r->options.events || r->options.hashes) && !r->failed)
        psc_rec_rows(r, access);
}

static void completed_cb(void *ctx, uint32_t backend, uint32_t before, uint32_t at)
{
    struct psc_recorder *r = ctx;
    if (!r->has_phase || !r->options.events || r->failed)
        return;
    if (psc_grow(&r->completed, r->completed_n + 1, &r->completed_cap, sizeof *r->completed))
        r->completed[r->completed_n++] = (struct psc_rec_completed){backend, before, at};
    else
        r->failed = true;
}

static enum psc_status before_cb(void *ctx, const struct psc_backend_api *api, struct psc_backend *b,
                                 const struct psc_call *call, struct psc_error *reterr)
{
    struct psc_recorder *r = ctx;
    enum psc_status status = r->has_phase ? psc_look_before(r, api, b, call, reterr) : PSC_OK;
    return status == PSC_OK && r->has_phase ? psc_rec_kv(r, api, b, call, false, reterr) : status;
}

static enum psc_status after_cb(void *ctx, const struct psc_backend_api *api, struct psc_backend *b,
                                const struct psc_call *call, struct psc_error *reterr)
{
    struct psc_recorder *r = ctx;
    enum psc_status status = r->has_phase ? psc_look_after(r, api, b, call, reterr) : PSC_OK;
    return status == PSC_OK && r->has_phase ? psc_rec_kv(r, api, b, call, true, reterr) : status;
}

static enum psc_status split_end_cb(void *ctx, const struct psc_split *split, struct psc_error *reterr)
{
    struct psc_recorder *r = ctx;
    (void)split;
    return r->has_phase ? psc_look_split_end(r, reterr) : PSC_OK;
}

/* Probes of outputs stand behind the last wait of the run. */
static enum psc_status wait_for_probes(struct psc_recorder *r, struct psc_error *reterr)
{
    enum psc_status status = PSC_OK;
    for (uint32_t i = 0; status == PSC_OK && i < psc_session_backend_n(r->session); i++) {
        const struct psc_backend_api *api;
        struct psc_backend *b = psc_session_backend(r->session, i, &api);
        if (b)
            status = api->synchronise(b, reterr);
    }
    return status;
}

static enum psc_status end_cb(void *ctx, enum psc_status ended, struct psc_error *reterr)
{
    struct psc_recorder *r = ctx;
    enum psc_status status = PSC_OK;
    forget_tolds(r);
    if (!r->has_phase)
        return PSC_OK;
    if (ended == PSC_OK)
        status = r->failed ? psc_fail_nomem(reterr) : wait_for_probes(r, reterr);
    if (ended == PSC_OK && status == PSC_OK)
        status = collect_rows(r, reterr);
    if (ended == PSC_OK && status == PSC_OK)
        status = psc_look_end(r, reterr);
    if (ended == PSC_OK && status == PSC_OK && r->options.hashes && r->options.hashed)
        status = psc_rec_hashed(r, reterr);
    /* the events of a run that failed are kept when they are all that is known of the phase */
    if (status == PSC_OK && (ended == PSC_OK || !r->phase.steps))
        status = psc_rec_story(r, reterr);
    if (ended != PSC_OK && status == PSC_OK && !r->phase.steps)
        (void)stream_phase(r); /* an error is told when the stream is closed */
    r->is_pending = ended == PSC_OK && status == PSC_OK;
    psc_rec_kv_settle(r, !r->is_pending);
    if (!r->is_pending)
        psc_arena_release(&r->step_arena);
    psc_arena_release(&r->content_arena);
    return status;
}

/* ---- life ---------------------------------------------------------------------------------------------- */

static enum psc_status new_doc(struct psc_recorder *r, struct psc_error *reterr)
{
    r->doc = psc_doc_new();
    if (!r->doc)
        return psc_fail_nomem(reterr);
    r->doc->format = "minfer-trace";
    r->doc->version = 1;
    return psc_rec_store_new(r->doc, &r->store, reterr);
}

enum psc_status psc_recorder_new(const struct psc_recorder_options *options, struct psc_recorder **ret,
                                 struct psc_error *reterr)
{
    struct psc_recorder *r = psc_alloc0(1, sizeof *r);
    if (!r)
        return psc_fail_nomem(reterr);
    r->options = *options;
    r->sink = (struct psc_sink){r, begin_cb, event_cb, rows_cb, before_cb, after_cb, split_end_cb, end_cb, completed_cb};
    enum psc_status status = new_doc(r, reterr);
    if (status == PSC_OK)
        *ret = r;
    else
        psc_recorder_free(r);
    return status;
}

void psc_recorder_free(struct psc_recorder *r)
{
    if (!r)
        return;
    release_phase(&r->phase);
    forget_tolds(r);
    for (size_t i = 0; i < r->layer_n; i++)
        psc_free(r->written[i]);
    psc_free(r->loaded);
    psc_free(r->written);
    psc_free(r->written_n);
    psc_free(r->tolds);
    psc_free(r->events);
    psc_free(r->completed);
    psc_free(r->rows);
    psc_free(r->mismatches);
    psc_free(r->owns);
    psc_rec_kv_release(r);
    psc_arena_release(&r->step_arena);
    psc_arena_release(&r->content_arena);
    psc_doc_free(r->doc);
    psc_free(r);
}

const struct psc_sink *psc_recorder_sink(struct psc_recorder *r)
{
    return &r->sink;
}

enum psc_status psc_recorder_phase(struct psc_recorder *r, const char *kind, struct psc_error *reterr)
{
    (void)reterr;
    snprintf(r->kind, sizeof r->kind, "%s", kind);
    return PSC_OK;
}

enum psc_status psc_recorder_filled(struct psc_recorder *r, psc_node input, const void *bytes, uint64_t n,
                                    struct psc_error *reterr)
{
    if (!r->options.hashes)
        return PSC_OK;
    void *copy = psc_alloc(n);
    if (!copy || !psc_grow(&r->tolds, r->told_n + 1, &r->told_cap, sizeof *r->tolds)) {
        psc_free(copy);
        return psc_fail_nomem(reterr);
    }
    if (n)
        memcpy(copy, bytes, n);
    r->tolds[r->told_n++] = (struct psc_told){input, copy, n};
    return PSC_OK;
}

enum psc_status psc_recorder_step(struct psc_recorder *r, bool has_token, int64_t token, const char *text,
                                  const struct psc_logit *top, uint32_t top_n, struct psc_error *reterr)
{
    if (!r->is_pending)
        return PSC_OK;
    struct psc_logit *logits = psc_arena_alloc(&r->step_arena, top_n, sizeof *logits);
    char *copy = psc_arena_strdup(&r->step_arena, text ? text : "");
    if (!logits || !copy)
        return psc_fail_nomem(reterr);
    if (top_n)
        memcpy(logits, top, top_n * sizeof *logits);
    r->pending.has_token = has_token;
    r->pending.token = token;
    r->pending.text = copy;
    r->pending.top = logits;
    r->pending.top_n = top_n;
    return commit(r, reterr);
}

enum psc_status psc_recorder_sequences(struct psc_recorder *r, const struct psc_kv_sequence *sequences, uint32_t n,
                                       struct psc_error *reterr)
{
    if (!r->is_pending || !n)
        return PSC_OK;
    struct psc_kv_sequence *copy = psc_arena_alloc(&r->step_arena, n, sizeof *copy);
    if (!copy)
        return psc_fail_nomem(reterr);
    memcpy(copy, sequences, n * sizeof *copy);
    r->pending.sequences = copy;
    r->pending.sequence_n = n;
    return PSC_OK;
}

bool psc_recorder_loaded(struct psc_recorder *r, const struct psc_kv_cell *cells, uint32_t n)
{
    uint8_t *loaded = psc_alloc(n);
    if (!loaded)
        return false;
    for (uint32_t i = 0; i < n; i++)
        loaded[i] = cells[i].written;
    psc_free(r->loaded);
    r->loaded = loaded;
    r->loaded_n = n;
    return true;
}

uint32_t psc_recorder_mismatch_n(const struct psc_recorder *r)
{
    return (uint32_t)r->mismatch_n;
}

const struct psc_mismatch *psc_recorder_mismatches(const struct psc_recorder *r)
{
    return r->mismatches;
}

uint64_t psc_recorder_unwritten_n(const struct psc_recorder *r)
{
    return r->unwritten_n;
}

uint32_t psc_recorder_story_n(const struct psc_recorder *r)
{
    return (uint32_t)r->own_n;
}

const struct psc_story *psc_recorder_story(const struct psc_recorder *r, uint32_t i, uint32_t *ret_phase)
{
    *ret_phase = r->owns[i].phase;
    return r->owns[i].story;
}

enum psc_status psc_recorder_doc(struct psc_recorder *r, const char *model, const char *prompt, struct psc_doc **ret,
                                 struct psc_error *reterr)
{
    enum psc_status status = commit(r, reterr);
    if (status != PSC_OK)
        return status;
    struct psc_doc *doc = r->doc;
    doc->model = psc_arena_strdup(&doc->arena, model);
    doc->prompt = psc_arena_strdup(&doc->arena, prompt);
    if ((model && !doc->model) || (prompt && !doc->prompt))
        return psc_fail_nomem(reterr);
    r->doc = NULL;
    release_phase(&r->phase);
    r->has_phase = false;
    status = new_doc(r, reterr);
    if (status == PSC_OK)
        *ret = doc;
    else
        psc_doc_free(doc);
    return status;
}
