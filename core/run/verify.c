#include "core/run/verify.h"

#include "core/base/mem.h"

#include <string.h>

struct kept_step {
    struct psc_hashed *nodes;      /* owned, [graph->n + 1] */
    const struct psc_graph *graph; /* of the run that is verified */
    uint32_t n, phase, step;
};
struct psc_verify {
    struct kept_step *steps;       /* owned, of the run */
    size_t step_n, step_cap;
    size_t clean_n;                /* steps of the clean run so far */
    bool compares;                 /* the clean run is on */
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
    psc_free(v->steps);
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
    v->steps[v->step_n++] = (struct kept_step){copy, graph, graph->n, phase, step};
    return true;
}

/* ---- the comparison -------------------------------------------------------------------------- */

static void note(struct psc_verify *v, const struct kept_step *s, psc_node node, enum psc_verify_cause cause)
{
    struct psc_verified *to = v->to;
    if (cause == PSC_VERIFY_COMPUTED)
        to->computed_n++;
    else
        to->memory_n++;
    if (to->first_n == PSC_VERIFY_LISTED)
        return;
    to->first[to->first_n++] = (struct psc_verify_difference){
        cause, s->graph, v->result->doc->phases[s->phase].kind, s->phase, s->step, node, s->nodes[node].value,
        s->nodes[node].operand,
    };
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
    return (v->compares ? compare : keep)(v, phase, graph, nodes);
}

void psc_verify_watch(struct psc_verify *v, struct psc_run_request *request)
{
    request->record.events = true; /* a document, whose graphs are kept */
    request->record.hashes = true;
    request->record.hashed = hashed_cb;
    request->record.hashed_ctx = v;
}

/* ---- the clean run ----------------------------------------------------------------------------- */

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

static struct psc_run_request clean_request(struct psc_verify *v)
{
    struct psc_run_request q = *v->request;
    uint32_t forwards = v->result->token_n + (v->result->stopped ? 1 : 0); /* after a stop token nothing is run */
    q.ctx = v;
    q.token = NULL;
    q.logits = NULL;
    q.progress = progress_cb;
    q.cancelled = cancelled_cb;
    q.forced = v->result->tokens;
    q.forced_n = v->result->token_n;
    q.n_predict = forwards;
    if (q.model && psc_model_n_ctx(&q.model->hyper, q.n_ctx, q.prompt_n) < q.prompt_n + forwards) /* fault l15 goes beyond it */
        q.n_ctx = q.prompt_n + forwards;
    q.session.planner = psc_planner_find("naive");
    q.session.plan = psc_plan_defaults;
    q.session.plan.mode = PSC_MODE_HARDENED;
    q.session.recycled = PSC_RECYCLED_ZEROED;
    q.session.snapshot = true;
    q.session.call_faults = 0;
    q.session.run_faults = 0;
    q.session.has_budget = false;
    q.session.replay = false; /* a stale recording is one of the things that may be wrong */
    q.record = (struct psc_recorder_options){.hashes = true, .reruns = q.record.reruns, .hashed = hashed_cb, .hashed_ctx = v,
                                             .forget = true};
    return q;
}

enum psc_status psc_verify_run(struct psc_verify *v, const struct psc_backend_api *const *apis, uint32_t api_n,
                               const struct psc_run_request *request, const struct psc_run_result *result,
                               struct psc_verified *ret, struct psc_error *reterr)
{
    struct psc_run_result clean = {0};
    struct psc_verified verified = {0};
    struct psc_error why;
    v->request = request;
    v->result = result;
    v->to = &verified;
    v->clean_n = 0;
    v->compares = true;
    enum psc_status status = PSC_OK;
    if (v->step_n && result->doc) {
        struct psc_run_request q = clean_request(v);
        status = psc_run(apis, api_n, &q, &clean, &why);
        verified.cancelled = clean.cancelled;
    }
    if (!status && (clean.confirmed_n || clean.finding_n))
        status = psc_fail(&why, PSC_ERR_PLAN, "%u findings, and %u reads of other bytes than were written", clean.finding_n,
                          clean.confirmed_n);
    psc_run_result_release(&clean);
    v->compares = false;
    if (status)
        return psc_fail(reterr, status, "the clean run went wrong: %s", why.text);
    *ret = verified;
    return PSC_OK;
}
