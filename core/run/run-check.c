#include "core/run/run-private.h"

#include "core/run/faults.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- findings ------------------------------------------------------------------------------------------ */

/* Planned or happened, a finding is the same when the same three are in it. */
static uint64_t finding_key(const struct psc_graph *graph, const struct psc_finding *f)
{
    uint64_t key = psc_hash_mix((uint64_t)(graph ? graph->n : 0) << 32 | f->victim);
    key = psc_hash_mix(key ^ ((uint64_t)f->writer << 32 | f->reader));
    return psc_hash_mix(key ^ ((uint64_t)f->reader_kind << 32 | f->victim_value));
}

static enum psc_status count_findings(struct psc_runner *r, const struct psc_graph *graph, const struct psc_story *story,
                                      bool planned, struct psc_error *reterr)
{
    struct psc_arena scratch = {0};
    struct psc_check check;
    enum psc_status status = psc_check_story(&scratch, graph, story, &check, reterr);
    for (uint32_t i = 0; status == PSC_OK && i < check.finding_n; i++) {
        uint32_t old;
        if (!psc_map_put(&r->seen, finding_key(graph, &check.findings[i]), 0, &old)) {
            status = psc_fail_nomem(reterr);
        } else if (old == PSC_NONE) {
            r->result->finding_n++;
            r->result->planned_finding_n += planned;
        }
    }
    psc_arena_release(&scratch);
    return status;
}

/* Writing past the end of a buffer would not stay inside this run. */
static enum psc_status refuse_overrun(const struct psc_graph *graph, const struct psc_story *story, struct psc_error *reterr)
{
    for (uint32_t i = 0; i < story->event_n; i++) {
        const struct psc_event *e = &story->events[i];
        bool writes = e->kind == PSC_EV_FILL || e->kind == PSC_EV_WRITE || e->kind == PSC_EV_ROWS_WRITE || e->kind == PSC_EV_ENQUEUE;
        if (!writes || e->buffer == PSC_NONE || e->hi <= story->buffers[e->buffer].bytes)
            continue;
        psc_node node = e->node < graph->n ? e->node : e->value < graph->n ? e->value : 0;
        return psc_fail(reterr, PSC_ERR_PLAN,
                        "the plan is not run: node %" PRIu64 " would write byte %" PRIu64 " of buffer %s, which has %" PRIu64,
                        graph->nodes[node].id, e->hi - 1, story->buffers[e->buffer].name, story->buffers[e->buffer].bytes);
    }
    return PSC_OK;
}

enum psc_status psc_run_check_plan(struct psc_runner *r, bool rerun, struct psc_error *reterr)
{
    struct psc_session_counters counters;
    struct psc_arena scratch = {0};
    struct psc_story *story;
    psc_session_counters(r->session, &counters);
    if (counters.uid <= r->checked_uid || r->result->on_arenas)
        return PSC_OK;
    r->checked_uid = counters.uid;
    const struct psc_graph *graph = psc_session_graph(r->session);
    struct psc_plan plan = *psc_session_plan(r->session);
    if (plan.figures.pool_bytes > r->result->planned_bytes)
        r->result->planned_bytes = plan.figures.pool_bytes;
    plan.rerun = plan.rerun || rerun;
    enum psc_status status = psc_plan_lower(&scratch, graph, &plan, &story, reterr);
    if (status == PSC_OK)
        status = count_findings(r, graph, story, true, reterr);
    if (status == PSC_OK)
        status = refuse_overrun(graph, story, reterr);
    psc_arena_release(&scratch);
    return status;
}

enum psc_status psc_run_check_doc(struct psc_runner *r, struct psc_doc *doc, struct psc_error *reterr)
{
    enum psc_status status = PSC_OK;
    for (uint32_t p = 0; status == PSC_OK && p < doc->phase_n; p++)
        if (doc->phases[p].story)
            status = count_findings(r, doc->phases[p].graph, doc->phases[p].story, false, reterr);
    for (uint32_t i = 0; status == PSC_OK && r->recorder && i < psc_recorder_story_n(r->recorder); i++) {
        uint32_t phase;
        const struct psc_story *story = psc_recorder_story(r->recorder, i, &phase);
        status = count_findings(r, doc->phases[phase].graph, story, false, reterr);
    }
    return status;
}

/* ---- figures ------------------------------------------------------------------------------------------- */

void psc_run_figures(struct psc_runner *r)
{
    struct psc_run_result *to = r->result;
    uint32_t n = psc_session_backend_n(r->session);
    for (uint32_t b = 0; b < n && b < sizeof to->pools / sizeof *to->pools; b++) {
        psc_session_figures(r->session, b, &to->pools[b]);
        to->used_bytes += to->pools[b].pool_bytes;
        to->kv_bytes += to->pools[b].region_bytes;
    }
    if (to->on_arenas) {
        struct psc_arena_run_figures last;
        psc_session_arena_run(r->session, &last);
        to->used_bytes = last.footprint;
    }
    psc_session_counters(r->session, &to->counters);
}

/* ---- facts --------------------------------------------------------------------------------------------- */

#define FACTS_MAX 24u
struct facts {
    struct psc_arena *arena;
    struct psc_fact list[FACTS_MAX];
    uint32_t n;
    bool failed;
};

static void add(struct facts *f, const char *key, const char *value)
{
    if (f->n >= FACTS_MAX)
        return;
    f->list[f->n] = (struct psc_fact){key, psc_arena_strdup(f->arena, value)};
    f->failed = f->failed || !f->list[f->n].value;
    f->n++;
}

static void add_number(struct facts *f, const char *key, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    add(f, key, text);
}

static void add_float(struct facts *f, const char *key, double value)
{
    char text[32];
    snprintf(text, sizeof text, "%.9g", value);
    add(f, key, text);
}

static void add_faults(struct facts *f, const struct psc_session_options *o)
{
    struct psc_text names = {0};
    for (uint32_t i = 0; i < psc_named_fault_n(); i++) {
        struct psc_named_fault fault = psc_named_fault(i);
        if (fault.plan & o->plan.faults || fault.run & o->run_faults || fault.call & o->call_faults)
            psc_text_addf(&names, "%s%s", names.n ? "," : "", fault.name);
    }
    f->failed = f->failed || names.failed;
    if (names.n)
        add(f, "faults", psc_text_str(&names));
    psc_text_release(&names);
}

static void add_model_facts(struct facts *f, const struct psc_runner *r)
{
    const struct psc_run_request *q = r->request;
    add(f, "kv_format", psc_kv_format_name(q->kv_format));
    add_number(f, "n_ctx", r->n_ctx);
    add_number(f, "n_predict", q->n_predict);
    if (q->turn_n)
        add_number(f, "further_prompts", q->turn_n);
    if (q->sampling.temperature > 0) {
        add_number(f, "seed", q->sampling.seed);
        add_float(f, "temperature", (double)q->sampling.temperature);
    }
}

static void add_arena_facts(struct facts *f, const struct psc_runner *r)
{
    static const char *const names[2][2] = {{"exec_cap", "exec_slots"}, {"io_cap", "io_slots"}};
    for (unsigned a = 0; a < 2; a++) {
        if (r->arenas.has_cap[a])
            add_number(f, names[a][0], r->arenas.cap[a]);
        if (r->arenas.slot_max[a])
            add_number(f, names[a][1], r->arenas.slot_max[a]);
    }
    struct psc_text faults = {0};
    for (unsigned i = 0; i < PSC_ARENA_FAULT_N; i++)
        if (r->arenas.faults & PSC_ARENA_BIT(i))
            psc_text_addf(&faults, "%s%s", faults.n ? "," : "", psc_arena_fault_info((enum psc_arena_fault)i)->name);
    if (faults.n)
        add(f, "arena_faults", psc_text_str(&faults));
    f->failed = f->failed || faults.failed;
    psc_text_release(&faults);
    add_number(f, "hold", r->request->hold);
    add(f, "inputs", r->request->borrow_inputs ? "borrowed" : "copied");
    add(f, "memory", "arena");
    add(f, "mode", r->arenas.guards == PSC_ARENA_UPSTREAM ? "upstream" : "hardened");
}

/* By key. */
enum psc_status psc_run_facts(const struct psc_runner *r, struct psc_doc *doc, struct psc_error *reterr)
{
    static const char *const recycled[PSC_RECYCLED_N] = {"kept", "zeroed", "poisoned"};
    const struct psc_run_request *q = r->request;
    const struct psc_session_options *o = &q->session;
    struct facts f = {.arena = &doc->arena};
    add(&f, "backend", q->backends ? q->backends : q->graph ? "as the graph says" : "cpu");
    if (q->chunk)
        add_number(&f, "chunk", q->chunk);
    add_faults(&f, o);
    if (q->model)
        add_model_facts(&f, r);
    if (r->result->on_arenas)
        add_arena_facts(&f, r);
    else
        add(&f, "mode", psc_mode_name(o->plan.mode));
    add(&f, "order", psc_order_name(o->plan.order));
    if (!r->result->on_arenas) {
        add(&f, "planner", o->planner ? o->planner->name : "pool");
        add(&f, "recycled", recycled[o->recycled]);
        add(&f, "size", psc_size_name(o->plan.size));
        add(&f, "slots", psc_slots_name(o->plan.slots));
    }
    if (q->move_at)
        add_number(&f, "moved_before", q->move_at);
    if (o->replay)
        add(&f, "replay", "on");
    add(&f, "snapshot", o->snapshot ? "on" : "off");
    if (o->config.threads)
        add_number(&f, "threads", o->config.threads);
    if (q->times > 1)
        add_number(&f, "times", q->times);
    for (uint32_t i = 1; i < f.n; i++) /* few */
        for (uint32_t k = i; k && strcmp(f.list[k - 1].key, f.list[k].key) > 0; k--) {
            struct psc_fact swap = f.list[k];
            f.list[k] = f.list[k - 1];
            f.list[k - 1] = swap;
        }
    struct psc_fact *list = psc_arena_alloc(&doc->arena, f.n, sizeof *list);
    if (f.failed || !list)
        return psc_fail_nomem(reterr);
    memcpy(list, f.list, f.n * sizeof *list);
    doc->facts = list;
    doc->fact_n = f.n;
    return PSC_OK;
}
