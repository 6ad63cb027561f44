#include "core/run/verify.h"

#include "core/base/mem.h"

#include <string.h>

struct kept_step {
    struct psc_hashed *nodes;      /* owned, [graph->n + 1] */
    uint32_t n, phase, step;
};
struct kept_outputs {
    uint64_t *hashes;              /* owned, [graph->output_n] */
    uint32_t n;
    bool played;                   /* a recording was launched */
};
enum stage { WATCHED, DIRECT, CLEAN };
struct psc_verify {
    struct kept_step *steps;       /* owned; of the run, or of the same launched node by node */
    size_t step_n, step_cap;
    struct kept_outputs *outputs;  /* owned; of a run that plays recordings, one an execution */
    size_t output_n, output_cap;
    size_t clean_n;                /* steps of the clean run so far */
    size_t ran, limit;             /* executions of this run so far; of the one that is verified */
    enum stage stage;              /* which run is on */
    bool plays;
    uint64_t launched;             /* recordings so far */
    const struct psc_run_request *request;
    const struct psc_run_result *result;
    struct psc_verified *to;
};

enum psc_status psc_verify_new(struct psc_verify **ret, struct psc_error *reterr)
{
    struct psc_verify *v = psc_alloc0(1, sizeof *v);
    if (!v)
        return psc_fail_nomem(reterr);
    *ret = v;
    return PSC_OK;
}

void psc_verify_free(struct psc_verify *v)
{
    if (!v)
        return;
    for (size_t i = 0; i < v->step_n; i++)
        psc_free(v->steps[i].nodes);
    for (size_t i = 0; i < v->output_n; i++)
        psc_free(v->outputs[i].hashes);
    psc_free(v->steps);
    psc_free(v->outputs);
    psc_free(v);
}

/* ---- the run --------------------------------------------------------------------------------- */

static bool keep(struct psc_verify *v, uint32_t phase, const struct psc_graph *graph, const struct psc_hashed *nodes)
{
    size_t bytes = ((size_t)graph->n + 1) * sizeof *nodes;
    const struct kept_step *last = v->step_n ? &v->steps[v->step_n - 1] : NULL;
    uint32_t step = last && last->phase == phase ? last->step + 1 : 0;
    struct psc_hashed *copy = psc_alloc(bytes);
    if (!copy || !psc_grow(&v->steps, v->step_n + 1, &v->step_cap, sizeof *v->steps)) {
        psc_free(copy);
        return false;
    }
    memcpy(copy, nodes, bytes);
    v->steps[v->step_n++] = (struct kept_step){copy, graph->n, phase, step};
    return true;
}

/* ---- the comparison -------------------------------------------------------------------------- */

/* Phases of all runs are the same ones; graphs are those of the result, which live on. */
static void list(struct psc_verify *v, const struct kept_step *s, psc_node node, psc_node value, uint32_t operand,
                 enum psc_verify_cause cause)
{
    struct psc_verified *to = v->to;
    const struct psc_doc *doc = v->result->doc;
    if (to->first_n == PSC_VERIFY_LISTED || s->phase >= doc->phase_n || doc->phases[s->phase].graph->n != s->n)
        return;
    to->first[to->first_n++] = (struct psc_verify_difference){cause, doc->phases[s->phase].graph, doc->phases[s->phase].kind,
                                                              s->phase, s->step, node, value, operand};
}

static void note(struct psc_verify *v, const struct kept_step *s, psc_node node, enum psc_verify_cause cause)
{
    struct psc_verified *to = v->to;
    if (cause == PSC_VERIFY_COMPUTED)
        to->computed_n++;
    else
        to->memory_n++;
    list(v, s, node, s->nodes[node].value, s->nodes[node].operand, cause);
}

static void compare_node(struct psc_verify *v, const struct kept_step *s, psc_node i, const struct psc_hashed *clean)
{
    static const enum psc_verify_cause causes[] = {
        [PSC_HASHED_MEMORY] = PSC_VERIFY_MEMORY, [PSC_HASHED_UNFILLED] = PSC_VERIFY_UNFILLED,
        [PSC_HASHED_UNWRITTEN] = PSC_VERIFY_UNWRITTEN, [PSC_HASHED_OVERLAP] = PSC_VERIFY_OVERLAP};
    const struct psc_hashed *own = &s->nodes[i];
    bool compared = own->writes && clean->writes, differs = compared && own->wrote != clean->wrote;
    bool same_reads = own->reads == clean->reads && own->read == clean->read;
    v->to->values += compared;
    v->to->differ += differs;
    bool harmless = own->wrong == PSC_HASHED_SOUND || own->wrong == PSC_HASHED_OVERLAP || own->wrong == clean->wrong;
    if (own->wrong == PSC_HASHED_OVERLAP && differs && !same_reads)
        return; /* inherited; whatever the overlap adds cannot be told apart */
    if (own->wrong != PSC_HASHED_SOUND && (differs || !harmless))
        note(v, s, i, causes[own->wrong]);
    else if (differs && same_reads)
        note(v, s, i, PSC_VERIFY_COMPUTED);
}

/* The clean run's next step: the same one of the run, or the runs have gone apart and nothing more is said. */
static bool compare(struct psc_verify *v, uint32_t phase, const struct psc_graph *graph, const struct psc_hashed *nodes)
{
    if (v->clean_n >= v->step_n || v->steps[v->clean_n].phase != phase || v->steps[v->clean_n].n != graph->n)
        return true;
    const struct kept_step *s = &v->steps[v->clean_n++];
    for (psc_node i = 0; i <= graph->n; i++)
        compare_node(v, s, i, &nodes[i]);
    v->to->steps++;
    return true;
}

static bool hashed_cb(void *ctx, uint32_t phase, const struct psc_graph *graph, const struct psc_hashed *nodes)
{
    struct psc_verify *v = ctx;
    return (v->stage == CLEAN ? compare : keep)(v, phase, graph, nodes);
}

/* ---- outputs of recordings -------------------------------------------------------------------- */

/* 0: it has no place, or no whole words. */
static enum psc_status hash_output(struct psc_session *session, psc_node i, uint64_t *ret, struct psc_error *reterr)
{
    uint64_t bytes = psc_session_graph(session)->nodes[i].bytes;
    *ret = 0;
    if (!bytes || bytes % 4 || bytes > SIZE_MAX || psc_session_plan(session)->places[i].buffer == PSC_NONE)
        return PSC_OK;
    void *words = psc_alloc((size_t)bytes);
    enum psc_status status = words ? psc_session_read(session, i, words, bytes / 4, reterr) : psc_fail_nomem(reterr);
    if (status == PSC_OK)
        *ret = psc_probe_hash(words, bytes);
    psc_free(words);
    return status;
}

static enum psc_status keep_outputs(struct psc_verify *v, struct psc_session *session, struct psc_error *reterr)
{
    const struct psc_graph *graph = psc_session_graph(session);
    struct psc_session_counters counters;
    enum psc_status status = PSC_OK;
    struct kept_outputs kept = {psc_alloc0((size_t)graph->output_n + 1, sizeof *kept.hashes), graph->output_n, false};
    if (!kept.hashes || !psc_grow(&v->outputs, v->output_n + 1, &v->output_cap, sizeof *v->outputs)) {
        psc_free(kept.hashes);
        return psc_fail_nomem(reterr);
    }
    psc_session_counters(session, &counters);
    kept.played = counters.captures + counters.replays > v->launched;
    v->launched = counters.captures + counters.replays;
    for (uint32_t k = 0; status == PSC_OK && k < kept.n; k++)
        status = hash_output(session, graph->outputs[k], &kept.hashes[k], reterr);
    v->outputs[v->output_n++] = kept;
    return status;
}

/* The execution that has just ended, node by node, and the same one of the run. */
static enum psc_status compare_outputs(struct psc_verify *v, struct psc_session *session, struct psc_error *reterr)
{
    const struct psc_graph *graph = psc_session_graph(session);
    const struct kept_outputs *kept = v->ran <= v->output_n ? &v->outputs[v->ran - 1] : NULL;
    psc_node wrong = PSC_NONE;
    enum psc_status status = PSC_OK;
    if (!kept || !v->step_n || kept->n != graph->output_n)
        return PSC_OK;
    for (uint32_t k = 0; status == PSC_OK && k < kept->n && wrong == PSC_NONE; k++) {
        uint64_t hash;
        status = hash_output(session, graph->outputs[k], &hash, reterr);
        if (status == PSC_OK && hash != kept->hashes[k])
            wrong = graph->outputs[k];
    }
    v->to->played += kept->played;
    if (wrong != PSC_NONE && !v->to->replay_n++)
        list(v, &v->steps[v->step_n - 1], graph->n, wrong, 0, PSC_VERIFY_REPLAY);
    return status;
}

static enum psc_status executed_cb(void *ctx, struct psc_session *session, struct psc_error *reterr)
{
    struct psc_verify *v = ctx;
    enum psc_status status = PSC_OK;
    v->ran++;
    if (v->plays && v->stage == WATCHED)
        status = keep_outputs(v, session, reterr);
    if (v->stage == DIRECT)
        status = compare_outputs(v, session, reterr);
    if (status == PSC_OK && v->stage != WATCHED && v->ran >= v->limit)
        status = psc_fail(reterr, PSC_ERR_CANCELLED, "the run that is verified went no further");
    return status;
}

void psc_verify_watch(struct psc_verify *v, struct psc_run_request *request)
{
    struct psc_recorder_options *o = &request->record;
    v->plays = request->session.replay && !o->values && !o->hashes && !o->contents;
    o->events = true; /* a document, whose graphs are kept */
    if (!v->plays) {
        o->hashes = true;
        o->hashed = hashed_cb;
        o->hashed_ctx = v;
    }
    request->executed = executed_cb;
    request->executed_ctx = v;
}

/* ---- the other runs ---------------------------------------------------------------------------- */

static void progress_cb(void *ctx, const char *stage, uint64_t done, uint64_t total)
{
    const struct psc_run_request *q = ((struct psc_verify *)ctx)->request;
    (void)stage;
    if (q->progress)
        q->progress(q->ctx, "verify", done, total);
}

static bool cancelled_cb(void *ctx)
{
    const struct psc_run_request *q = ((struct psc_verify *)ctx)->request;
    return q->cancelled && q->cancelled(q->ctx);
}

/* The same executions over the same tokens, each looked at. */
static struct psc_run_request again(struct psc_verify *v)
{
    struct psc_run_request q = *v->request;
    q.ctx = v;
    q.token = NULL;
    q.logits = NULL;
    q.progress = progress_cb;
    q.cancelled = cancelled_cb;
    q.forced = v->result->tokens;
    q.forced_n = v->result->token_n;
    q.forced_ends = v->result->ends;
    q.forced_end_n = v->result->end_n;
    q.session.replay = false; /* a stale recording is one of the things that may be wrong */
    q.record = (struct psc_recorder_options){.hashes = true, .reruns = q.record.reruns, .hashed = hashed_cb, .hashed_ctx = v,
                                             .forget = true};
    return q;
}

static struct psc_run_request clean_request(struct psc_verify *v)
{
    struct psc_run_request q = again(v);
    if (q.model && q.session.run_faults >> PSC_RUN_L15 & 1) { /* it went beyond n_ctx */
        uint32_t all = v->result->loaded_rows + v->result->prefill_tokens + v->result->token_n;
        q.n_ctx = psc_model_n_ctx(&q.model->hyper, q.n_ctx, q.prompt_n) < all ? all : q.n_ctx;
    }
    q.session.planner = psc_planner_find("naive");
    q.session.arenas = NULL;
    q.hold = 0;
    q.trim = false;
    q.borrow_inputs = false;
    q.session.plan = psc_plan_defaults;
    q.session.plan.mode = PSC_MODE_HARDENED;
    q.session.recycled = PSC_RECYCLED_ZEROED;
    q.session.snapshot = true;
    q.session.call_faults = 0;
    q.session.run_faults = 0;
    q.session.has_budget = false;
    return q;
}

/* A run that stops where it was to stop was not cancelled. */
static enum psc_status run_again(struct psc_verify *v, enum stage stage, const struct psc_backend_api *const *apis, uint32_t api_n,
                                 struct psc_error *reterr)
{
    struct psc_run_request q = stage == CLEAN ? clean_request(v) : again(v);
    struct psc_run_result result = {0};
    v->stage = stage;
    v->ran = v->clean_n = 0;
    enum psc_status status = psc_run(apis, api_n, &q, &result, reterr);
    v->to->cancelled = v->to->cancelled || (result.cancelled && v->ran < v->limit);
    if (status == PSC_OK && stage == CLEAN && (result.confirmed_n || result.finding_n))
        status = psc_fail(reterr, PSC_ERR_PLAN, "%u findings, and %u reads of other bytes than were written", result.finding_n,
                          result.confirmed_n);
    psc_run_result_release(&result);
    return status;
}

enum psc_status psc_verify_run(struct psc_verify *v, const struct psc_backend_api *const *apis, uint32_t api_n,
                               const struct psc_run_request *request, const struct psc_run_result *result,
                               struct psc_verified *ret, struct psc_error *reterr)
{
    struct psc_verified verified = {0};
    struct psc_error why;
    enum psc_status status = PSC_OK;
    v->request = request;
    v->result = result;
    v->to = &verified;
    v->limit = v->ran;
    if (v->plays && v->output_n && result->doc) {
        status = run_again(v, DIRECT, apis, api_n, &why);
        if (status && (status == PSC_ERR_NOMEM || !v->step_n)) /* else its fault is why; what came before is compared */
            return psc_fail(reterr, status, "launched node by node, the run went wrong: %s", why.text);
        status = PSC_OK;
    }
    if (v->step_n && result->doc && !verified.cancelled)
        status = run_again(v, CLEAN, apis, api_n, &why);
    v->stage = WATCHED;
    if (status)
        return psc_fail(reterr, status, "the clean run went wrong: %s", why.text);
    *ret = verified;
    return PSC_OK;
}
