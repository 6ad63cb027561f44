#include "traces/chunk-file.h"
#include "traces/events-format.h"
#include "traces/ours-write.h"
#include "traces/run-json.h"
#include "traces/story-json.h"
#include "traces/traces.h"

#include "core/base/mem.h"

#include <string.h>

struct psc_events_out {
    struct psc_chunks *chunks;
    const struct psc_graph *graph;       /* of the phase that goes on */
    const struct psc_story *last;        /* own story of the step before */
    uint32_t phase;                      /* that goes on */
    struct psc_error error;              /* of the first failure */
};

static bool failed(struct psc_events_out *out, enum psc_status status, struct psc_error *err)
{
    if (status != PSC_OK && out->error.status == PSC_OK)
        out->error = *err;
    return status != PSC_OK;
}

static bool put(struct psc_events_out *out, const char *tag, const struct psc_chunk_part *parts, unsigned n)
{
    struct psc_error err;
    return !failed(out, psc_chunks_put(out->chunks, tag, parts, n, NULL, &err), &err);
}

/* Takes the text. head: n bytes before it. */
static bool put_json(struct psc_events_out *out, const char *tag, const void *head, size_t n, struct psc_json *j)
{
    const struct psc_chunk_part parts[] = {{head, n}, {psc_text_str(&j->out), j->out.n}};
    struct psc_error err;
    bool ok = j->out.failed ? !failed(out, psc_fail_nomem(&err), &err) : put(out, tag, parts, 2);
    psc_json_release(j);
    return ok;
}

static bool write_head(struct psc_events_out *out, const char *format, const char *model, const char *prompt, const char *capture)
{
    static const struct { const char *name, *columns; } layouts[] = {
        {"break", PSC_EV_BREAK_COLUMNS},   {"content", PSC_EV_CONTENT_COLUMNS}, {"event", PSC_EV_EVENT_COLUMNS},
        {"record", PSC_EV_RECORD_COLUMNS}, {"rows", PSC_EV_ROWS_COLUMNS},
        {"sequence", PSC_EV_SEQUENCE_COLUMNS},                                  {"step", PSC_EV_STEP_COLUMNS},
        {"story", PSC_EV_STORY_COLUMNS},   {"top", PSC_EV_TOP_COLUMNS},
    };
    struct psc_json j;
    psc_json_init(&j, false);
    psc_json_object(&j);
    if (capture)
        psc_json_put_text(&j, "capture", capture);
    psc_json_put_text(&j, "format", format);
    psc_json_key(&j, "layout");
    psc_json_object(&j);
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        psc_json_put_text(&j, layouts[i].name, layouts[i].columns);
    psc_json_end_object(&j);
    psc_json_put_string(&j, "model", model);
    psc_json_put_string(&j, "prompt", prompt);
    psc_json_put_u64(&j, "version", 1);
    psc_json_end_object(&j);
    return put_json(out, "HEAD", NULL, 0, &j);
}

static enum psc_status open_out(const char *path, const char *format, const char *model, const char *prompt, const char *capture,
                                struct psc_events_out **ret, struct psc_error *reterr)
{
    struct psc_events_out *out = psc_alloc0(1, sizeof *out);
    if (!out)
        return psc_fail_nomem(reterr);
    enum psc_status status = psc_chunks_open(path, &out->chunks, reterr);
    if (status != PSC_OK) {
        psc_free(out);
        return status;
    }
    (void)write_head(out, format, model, prompt, capture); /* a failure comes back from the next call */
    *ret = out;
    return PSC_OK;
}

enum psc_status psc_events_open(const char *path, const char *model, const char *prompt, struct psc_events_out **ret,
                                struct psc_error *reterr)
{
    return open_out(path, "planscope-events", model, prompt, NULL, ret, reterr);
}

enum psc_status psc_contents_open(const char *path, const char *model, const char *prompt, enum psc_capture capture,
                                  struct psc_events_out **ret, struct psc_error *reterr)
{
    return open_out(path, "planscope-contents", model, prompt, capture == PSC_CAPTURE_SPLIT ? "split" : "node", ret, reterr);
}

/* ---- stories --------------------------------------------------------------------------------------------- */

static struct psc_ev_event event_out(const struct psc_event *e)
{
    return (struct psc_ev_event){
        .lo = e->lo, .hi = e->hi, .value = e->value, .version = e->version, .buffer = e->buffer,
        .generation = e->generation, .node = e->node, .peer = e->peer, .cause = e->cause, .position = e->position,
        .run = e->run, .phase = e->phase, .lane = e->lane, .operand = e->operand, .kind = e->kind,
        .owner = e->owner, .holders = e->holders, .slot = e->slot == PSC_NONE ? 0 : e->slot + 1,
    };
}

static bool write_story(struct psc_events_out *out, uint32_t step, const struct psc_story *story)
{
    struct psc_json j;
    struct psc_error err;
    struct psc_ev_event *events = psc_alloc(story->event_n * sizeof *events);
    psc_json_init(&j, false);
    psc_story_write_frame(&j, out->graph, story);
    bool ok = events && !j.out.failed;
    for (uint32_t i = 0; ok && i < story->event_n; i++)
        events[i] = event_out(&story->events[i]);
    const struct psc_ev_story head = {out->phase, step, story->event_n, j.out.n};
    const struct psc_chunk_part parts[] = {
        {&head, sizeof head}, {events, story->event_n * sizeof *events}, {psc_text_str(&j.out), j.out.n}};
    ok = ok ? put(out, "STRY", parts, 3) : !failed(out, psc_fail_nomem(&err), &err);
    psc_free(events);
    psc_json_release(&j);
    return ok;
}

bool psc_events_phase(void *ctx, uint32_t phase, const struct psc_phase *what)
{
    struct psc_events_out *out = ctx;
    const uint32_t head[2] = {phase, 0};
    struct psc_json j;
    out->graph = what->graph;
    out->phase = phase;
    out->last = NULL;
    psc_json_init(&j, false);
    psc_json_object(&j);
    psc_json_key(&j, "graph");
    if (what->graph)
        psc_graph_write_json(&j, what->graph, what->kind, NULL, NULL, NULL);
    else
        psc_json_null(&j);
    psc_json_put_text(&j, "kind", what->kind);
    psc_json_key(&j, "planscope");
    psc_ours_write(&j, what, what->plan, NULL, NULL, NULL);
    psc_json_end_object(&j);
    return put_json(out, "PHAS", head, sizeof head, &j) && (!what->story || write_story(out, UINT32_MAX, what->story));
}

/* ---- steps ------------------------------------------------------------------------------------------------ */

struct step_parts {
    struct psc_ev_step head;
    struct psc_ev_top *top;
    struct psc_ev_record *records;
    struct psc_ev_rows *rows;
    struct psc_ev_break *breaks;
    struct psc_ev_sequence *sequences;
    float *samples;
};

static bool make_parts(struct psc_arena *a, const struct psc_step *s, struct step_parts *p)
{
    for (uint32_t i = 0; i < s->record_n; i++)
        p->head.sample_n += s->records[i].value_n;
    p->top = psc_arena_alloc0(a, s->top_n, sizeof *p->top);
    p->records = psc_arena_alloc0(a, s->record_n, sizeof *p->records);
    p->rows = psc_arena_alloc0(a, s->kv_n, sizeof *p->rows);
    p->breaks = psc_arena_alloc0(a, s->break_n, sizeof *p->breaks);
    p->samples = psc_arena_alloc0(a, p->head.sample_n, sizeof *p->samples);
    p->sequences = psc_arena_alloc0(a, s->sequence_n, sizeof *p->sequences);
    return p->sequences && p->top && p->records && p->rows && p->breaks && p->samples;
}

static void fill_records(const struct psc_step *s, struct step_parts *p)
{
    uint64_t at = 0;
    for (uint32_t i = 0; i < s->record_n; i++) {
        const struct psc_record *r = &s->records[i];
        p->records[i] = (struct psc_ev_record){
            .id = r->id, .n = r->n, .stride = r->stride, .min = r->min, .max = r->max, .mean = r->mean,
            .absmean = r->absmean, .hash = r->has_hash ? r->hash : 0, .sample_at = at, .sample_n = r->value_n,
            .node = r->node, .dtype = (uint32_t)r->dtype,
            .flags = (r->has_stats ? PSC_EV_RECORD_STATS : 0u) | (r->has_hash ? PSC_EV_RECORD_HASH : 0u),
        };
        if (r->value_n)
            memcpy(p->samples + at, r->values, r->value_n * sizeof *r->values);
        at += r->value_n;
    }
}

static void fill_parts(const struct psc_step *s, struct step_parts *p)
{
    for (uint32_t i = 0; i < s->top_n; i++)
        p->top[i] = (struct psc_ev_top){s->top[i].id, s->top[i].p};
    fill_records(s, p);
    for (uint32_t i = 0; i < s->kv_n; i++) {
        const struct psc_kv_rows *r = &s->kv[i];
        p->rows[i] = (struct psc_ev_rows){r->node, r->layer, r->is_write, r->lo, r->hi, r->unwritten};
    }
    for (uint32_t i = 0; i < s->sequence_n; i++) {
        const struct psc_kv_sequence *q = &s->sequences[i];
        p->sequences[i] = (struct psc_ev_sequence){q->seq, q->start, q->cap, q->rows, q->shared_cell, q->shared_rows, 0};
    }
    for (uint32_t i = 0; i < s->break_n; i++) {
        const struct psc_hash_break *b = &s->breaks[i];
        p->breaks[i] = (struct psc_ev_break){b->expected, b->found, b->reader, b->value, b->operand, 0};
    }
}

bool psc_events_step(void *ctx, uint32_t phase, uint32_t step, const struct psc_step *s)
{
    static const char zeros[8];
    struct psc_events_out *out = ctx;
    struct psc_arena arena = {0};
    struct psc_error err;
    struct step_parts p = {.head = {
        .phase = phase, .step = step, .text_n = (uint32_t)strlen(s->text), .token = s->token, .top_n = s->top_n,
        .record_n = s->record_n, .row_n = s->kv_n, .break_n = s->break_n,
        .flags = (s->has_token ? PSC_EV_STEP_TOKEN : 0u) | (s->hashed ? PSC_EV_STEP_HASHED : 0u) |
                 (s->sequence_n ? PSC_EV_STEP_SEQUENCES : 0u),
    }};
    const uint64_t sequence_n = s->sequence_n;
    bool same = s->story && s->story == out->last;
    if (s->story)
        p.head.flags |= same ? PSC_EV_STEP_SAME : PSC_EV_STEP_OWN;
    if (s->story && !same && !write_story(out, step, s->story))
        return false;
    out->last = s->story;
    bool ok = make_parts(&arena, s, &p);
    if (ok) {
        fill_parts(s, &p);
        const struct psc_chunk_part parts[] = {
            {&p.head, sizeof p.head}, {s->text, p.head.text_n}, {zeros, (8 - p.head.text_n % 8) % 8},
            {p.top, s->top_n * sizeof *p.top}, {p.records, s->record_n * sizeof *p.records},
            {p.rows, s->kv_n * sizeof *p.rows}, {p.breaks, s->break_n * sizeof *p.breaks},
            {p.samples, p.head.sample_n * sizeof *p.samples}, {&sequence_n, sequence_n ? sizeof sequence_n : 0},
            {p.sequences, s->sequence_n * sizeof *p.sequences},
        };
        ok = put(out, "STEP", parts, sizeof parts / sizeof *parts);
    } else {
        ok = !failed(out, psc_fail_nomem(&err), &err);
    }
    psc_arena_release(&arena);
    return ok;
}

bool psc_contents_put(void *ctx, uint32_t phase, uint32_t step, const struct psc_node_info *node, const void *bytes,
                      uint64_t n)
{
    struct psc_events_out *out = ctx;
    const struct psc_ev_content head = {phase, step, node->id, n};
    const struct psc_chunk_part parts[] = {{&head, sizeof head}, {bytes, (size_t)n}};
    return put(out, "CONT", parts, 2);
}

enum psc_status psc_events_close(struct psc_events_out *out, const struct psc_fact *facts, uint32_t n,
                                 struct psc_error *reterr)
{
    struct psc_error err;
    struct psc_json j;
    if (!out)
        return PSC_OK;
    if (n) {
        psc_json_init(&j, false);
        psc_json_object(&j);
        for (uint32_t i = 0; i < n; i++)
            psc_json_put_text(&j, facts[i].key, facts[i].value);
        psc_json_end_object(&j);
        (void)put_json(out, "FACT", NULL, 0, &j);
    }
    (void)failed(out, psc_chunks_close(out->chunks, &err), &err);
    enum psc_status status = out->error.status;
    if (status != PSC_OK && reterr)
        *reterr = out->error;
    psc_free(out);
    return status;
}
