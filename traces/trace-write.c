#include "traces/graph-write.h"
#include "traces/ours-write.h"
#include "traces/run-json.h"
#include "traces/traces.h"

#include <math.h>
#include <string.h>

#define PIECE ((size_t)256 << 10) /* bytes handed on at once */

struct flow {
    struct psc_json j;
    psc_write_fn write;
    void *ctx;
    bool refused; /* `write` said no */
};

static void hand_on(struct flow *f)
{
    if (!f->refused && !f->j.out.failed && f->j.out.n)
        f->refused = !f->write(f->ctx, f->j.out.s, f->j.out.n);
    if (!f->j.out.failed)
        psc_text_clear(&f->j.out);
}

static void flush_cb(void *ctx, struct psc_json *j)
{
    if (j->out.n >= PIECE)
        hand_on(ctx);
}

static bool stopped(const struct flow *f)
{
    return f->refused || f->j.out.failed;
}

/* ---- steps ------------------------------------------------------------------------------------------ */

static void write_record(struct psc_json *j, const struct psc_record *rec)
{
    psc_json_object(j);
    psc_json_put_text(j, "dtype", psc_dtype_name(rec->dtype));
    psc_json_put_u64(j, "id", rec->id);
    psc_json_put_u64(j, "n", rec->n);
    psc_json_key(j, "stats");
    if (rec->has_stats) {
        psc_json_object(j);
        psc_json_put_f64(j, "absmean", rec->absmean);
        psc_json_put_f64(j, "max", rec->max);
        psc_json_put_f64(j, "mean", rec->mean);
        psc_json_put_f64(j, "min", rec->min);
        psc_json_end_object(j);
    } else {
        psc_json_null(j);
    }
    psc_json_put_u64(j, "stride", rec->stride);
    psc_json_key(j, "values");
    psc_json_array(j);
    for (uint32_t i = 0; i < rec->value_n; i++)
        psc_json_f64(j, (double)rec->values[i]);
    psc_json_end_array(j);
    psc_json_end_object(j);
}

static void write_step(struct flow *f, const struct psc_graph *graph, const struct psc_step *step)
{
    struct psc_json *j = &f->j;
    psc_json_object(j);
    psc_json_key(j, "logits_top");
    psc_json_array(j);
    for (uint32_t i = 0; i < step->top_n; i++) {
        psc_json_array(j);
        psc_json_i64(j, step->top[i].id);
        psc_json_f64(j, step->top[i].p);
        psc_json_end_array(j);
    }
    psc_json_end_array(j);
    psc_json_key(j, "nodes");
    psc_json_array(j);
    for (uint32_t i = 0; i < step->record_n && !stopped(f); i++) {
        write_record(j, &step->records[i]);
        flush_cb(f, j);
    }
    psc_json_end_array(j);
    psc_step_ours_write(j, graph, step, flush_cb, f);
    psc_json_put_text(j, "text", step->text);
    psc_json_key(j, "token");
    if (step->has_token)
        psc_json_i64(j, step->token);
    else
        psc_json_null(j);
    psc_json_end_object(j);
}

static enum psc_status write_steps(struct flow *f, const struct psc_doc *doc, uint32_t p,
                                   struct psc_error *reterr)
{
    struct psc_arena arena = {0};
    enum psc_status status = PSC_OK;
    uint32_t n = psc_doc_step_n(doc, p);
    psc_json_array(&f->j);
    for (uint32_t s = 0; s < n && status == PSC_OK && !stopped(f); s++) {
        struct psc_step step = {.text = ""};
        status = psc_doc_load_step(doc, p, s, &arena, &step, reterr);
        if (status == PSC_ERR_PARSE)
            status = PSC_OK; /* unreadable: keeps its place in the row */
        if (status == PSC_OK)
            write_step(f, doc->phases[p].graph, &step);
        psc_arena_release(&arena);
    }
    psc_json_end_array(&f->j);
    return status;
}

/* ---- the document ------------------------------------------------------------------------------------ */

static enum psc_status write_phase(struct flow *f, const struct psc_doc *doc, uint32_t p,
                                   const struct psc_plan *plan, const struct psc_story *story,
                                   struct psc_error *reterr)
{
    const struct psc_phase *phase = &doc->phases[p];
    struct psc_json *j = &f->j;
    psc_json_object(j);
    psc_extra_write(j, phase->extra_json, NULL, "graph");
    psc_json_key(j, "graph");
    if (phase->graph)
        psc_graph_write_json(j, phase->graph, phase->kind, doc->model, flush_cb, f);
    else
        psc_json_null(j);
    psc_extra_write(j, phase->extra_json, "graph", "kind");
    psc_json_put_text(j, "kind", phase->kind);
    psc_extra_write(j, phase->extra_json, "kind", "planscope");
    if (psc_ours_has(phase, plan, story)) {
        psc_json_key(j, "planscope");
        psc_ours_write(j, phase, plan, story, flush_cb, f);
    }
    psc_extra_write(j, phase->extra_json, "planscope", "steps");
    psc_json_key(j, "steps");
    enum psc_status status = write_steps(f, doc, p, reterr);
    psc_extra_write(j, phase->extra_json, "steps", NULL);
    psc_json_end_object(j);
    hand_on(f);
    return status;
}

enum psc_status psc_trace_write(const struct psc_doc *doc, struct psc_plan *const *plans,
                                struct psc_story *const *stories, bool pretty, psc_write_fn write, void *ctx,
                                struct psc_error *reterr)
{
    struct flow f = {.write = write, .ctx = ctx};
    struct psc_json *j = &f.j;
    enum psc_status status = PSC_OK;
    psc_json_init(j, pretty);
    psc_json_object(j);
    psc_extra_write(j, doc->extra_json, NULL, "format");
    psc_json_put_text(j, "format", "minfer-trace");
    psc_extra_write(j, doc->extra_json, "format", "model");
    psc_json_put_text(j, "model", doc->model);
    psc_extra_write(j, doc->extra_json, "model", "phases");
    psc_json_key(j, "phases");
    psc_json_array(j);
    for (uint32_t p = 0; p < doc->phase_n && status == PSC_OK && !stopped(&f); p++) {
        const struct psc_plan *plan = plans && plans[p] ? plans[p] : doc->phases[p].plan;
        const struct psc_story *story = stories && stories[p] ? stories[p] : doc->phases[p].story;
        status = write_phase(&f, doc, p, plan, story, reterr);
    }
    psc_json_end_array(j);
    psc_extra_write(j, doc->extra_json, "phases", "planscope");
    if (doc->fact_n)
        psc_facts_write(j, doc->facts, doc->fact_n);
    psc_extra_write(j, doc->extra_json, "planscope", "prompt");
    psc_json_put_text(j, "prompt", doc->prompt);
    psc_extra_write(j, doc->extra_json, "prompt", "version");
    psc_json_put_u64(j, "version", 1);
    psc_extra_write(j, doc->extra_json, "version", NULL);
    psc_json_end_object(j);
    hand_on(&f);
    if (status == PSC_OK && f.j.out.failed)
        status = psc_fail_nomem(reterr);
    if (status == PSC_OK && f.refused)
        status = psc_fail(reterr, PSC_ERR_IO, "the trace could not be written");
    psc_json_release(j);
    return status;
}
