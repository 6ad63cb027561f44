#include "traces/events-read.h"

#include "core/base/hash.h"
#include "core/base/mem.h"
#include "core/base/utf8.h"
#include "traces/chunk-file.h"
#include "traces/events-format.h"
#include "traces/graph-read.h"
#include "traces/run-json.h"
#include "traces/scan.h"
#include "traces/story-json.h"
#include "traces/trace.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

struct extent {
    uint64_t at, n;             /* of the step's payload */
    uint64_t story_at, story_n; /* of the payload of its own story; 0, 0: the phase's */
};
struct events_phase {
    const struct psc_graph *graph;
    struct extent *steps;       /* owned */
    size_t n, cap;
};
struct events_in {
    struct psc_source source;
    struct psc_doc *doc;        /* borrowed: the document owns this */
    struct events_phase *phases; /* owned */
    size_t n, cap;
};

bool psc_events_is_file(const struct psc_source *source)
{
    return psc_chunks_is_file(source->s, source->mapped ? source->file_n : source->n);
}

/* ---- pieces of payloads ------------------------------------------------------------------------------------- */

struct reader {
    const char *s;
    uint64_t n;
};

/* The next n elements of a payload; NULL when it ends before. They may not be aligned: copy. */
static const char *take(struct reader *r, uint64_t n, uint64_t size)
{
    uint64_t bytes;
    if (!psc_mul_u64(n, size, &bytes) || bytes > r->n)
        return NULL;
    const char *at = r->s;
    r->s += bytes;
    r->n -= bytes;
    return at;
}

static bool take_into(struct reader *r, void *to, uint64_t n, uint64_t size)
{
    const char *at = take(r, n, size);
    if (at && n)
        memcpy(to, at, n * size);
    return at != NULL;
}

enum psc_status psc_events_check_json(struct psc_slice text, const char *what, struct psc_error *reterr)
{
    struct psc_scan scan;
    psc_scan_init(&scan, text.s, text.n);
    enum psc_token token = psc_scan_next(&scan);
    if (token != PSC_TOK_OBJECT)
        return psc_fail(reterr, PSC_ERR_PARSE, "%s is no JSON object", what);
    token = psc_scan_close(&scan, 1, SIZE_MAX);
    if (token != PSC_TOK_OBJECT_END)
        return psc_fail(reterr, PSC_ERR_PARSE, "%s is not JSON at its byte %zu: %s", what, scan.from,
                        scan.fault ? scan.fault : "it ends too early");
    return PSC_OK;
}

/* ---- stories -------------------------------------------------------------------------------------------------- */

static const char *event_in(const struct psc_graph *graph, const struct psc_ev_event *from, struct psc_event *to)
{
    *to = (struct psc_event){
        .lo = from->lo, .hi = from->hi, .value = from->value, .version = from->version, .buffer = from->buffer,
        .generation = from->generation, .node = from->node, .peer = from->peer, .cause = from->cause,
        .position = from->position, .run = from->run, .phase = from->phase, .lane = from->lane,
        .operand = from->operand, .kind = from->kind, .owner = from->owner, .holders = from->holders, .slot = from->slot - 1,
    };
    return from->node != PSC_NONE && (!graph || from->node >= graph->n) ? "names a node that the graph does not have" : NULL;
}

/* A payload after its head. */
static enum psc_status read_story(struct psc_arena *arena, const struct psc_graph *graph, struct reader r,
                                  const struct psc_ev_story *head, struct psc_story **ret, struct psc_error *reterr)
{
    struct psc_arena scratch = {0};
    enum psc_status status = PSC_OK;
    const char *bytes = take(&r, head->event_n, sizeof(struct psc_ev_event));
    const char *json = bytes ? take(&r, head->json_n, 1) : NULL;
    if (!json || head->event_n >= PSC_NONE)
        return psc_fail(reterr, PSC_ERR_PARSE, "a story says that it is longer than its part of the file");
    struct psc_event *events = psc_arena_alloc(&scratch, head->event_n + 1, sizeof *events); /* never NULL for none */
    if (!events)
        return psc_fail_nomem(reterr);
    for (uint64_t i = 0; status == PSC_OK && i < head->event_n; i++) {
        struct psc_ev_event e;
        memcpy(&e, bytes + i * sizeof e, sizeof e);
        const char *fault = event_in(graph, &e, &events[i]);
        if (fault)
            status = psc_fail(reterr, PSC_ERR_PARSE, "event %" PRIu64 " of a story %s", i, fault);
    }
    const struct psc_slice text = {json, (size_t)head->json_n};
    if (status == PSC_OK)
        status = psc_events_check_json(text, "the frame of a story", reterr);
    if (status == PSC_OK)
        status = psc_story_read_frame(arena, text, graph, events, (size_t)head->event_n, ret, reterr);
    psc_arena_release(&scratch);
    return status;
}

/* ---- steps ------------------------------------------------------------------------------------------------------ */

static double canonical(double v)
{
    return isnan(v) ? (double)NAN : v;
}

static const char *record_in(const struct psc_graph *graph, const struct psc_ev_record *from, const float *samples,
                             uint64_t sample_n, struct psc_record *to)
{
    double four[4] = {canonical(from->min), canonical(from->max), canonical(from->mean), canonical(from->absmean)};
    if (from->node != PSC_NONE && (!graph || from->node >= graph->n))
        return "a record names a node that the graph does not have";
    if (from->sample_at > sample_n || from->sample_n > sample_n - from->sample_at)
        return "a record has samples beyond those of the step";
    *to = (struct psc_record){
        .id = from->id, .node = from->node, .dtype = from->dtype < PSC_DTYPE_N ? (enum psc_dtype)from->dtype : PSC_DTYPE_OTHER,
        .n = from->n, .stride = from->stride, .min = four[0], .max = four[1], .mean = four[2], .absmean = four[3],
        .has_stats = from->flags & PSC_EV_RECORD_STATS, .values = samples + from->sample_at, .value_n = from->sample_n,
        .stats_hash = psc_hash_bytes(four, sizeof four, 0), .has_hash = from->flags & PSC_EV_RECORD_HASH, .hash = from->hash,
    };
    for (uint32_t i = 0; i < to->value_n; i++)
        to->nonfinite += !isfinite(to->values[i]);
    to->values_hash = psc_hash_bytes(to->values, to->value_n * sizeof *to->values, 0);
    return NULL;
}

/* Everything of a step but its text and its story. NULL when all is well. */
/* Behind the samples, in files that have them. */
static const char *read_sequences(struct reader *r, const struct psc_ev_step *head, struct psc_arena *a, struct psc_step *to,
                                  bool *ret_nomem)
{
    uint64_t n = 0;
    if (!(head->flags & PSC_EV_STEP_SEQUENCES))
        return NULL;
    const char *at = take_into(r, &n, 1, sizeof n) && n <= UINT32_MAX ? take(r, n, sizeof(struct psc_ev_sequence)) : NULL;
    if (!at)
        return "it says that it is longer than its part of the file";
    struct psc_kv_sequence *list = psc_arena_alloc(a, n, sizeof *list);
    if (!list) {
        *ret_nomem = true;
        return "";
    }
    for (uint64_t i = 0; i < n; i++) {
        struct psc_ev_sequence e;
        memcpy(&e, at + i * sizeof e, sizeof e);
        if (e.rows > e.cap || e.cap > UINT32_MAX - e.start || e.shared_rows > UINT32_MAX - e.shared_cell)
            return "its sequences of KV make no sense";
        list[i] = (struct psc_kv_sequence){e.seq, e.start, e.cap, e.rows, e.shared_cell, e.shared_rows};
    }
    to->sequences = list;
    to->sequence_n = (uint32_t)n;
    return NULL;
}

static const char *read_lists(struct reader *r, const struct psc_ev_step *head, const struct psc_graph *graph,
                              struct psc_arena *a, struct psc_step *to, bool *ret_nomem)
{
    const char *top = take(r, head->top_n, sizeof(struct psc_ev_top));
    const char *records = top ? take(r, head->record_n, sizeof(struct psc_ev_record)) : NULL;
    const char *rows = records ? take(r, head->row_n, sizeof(struct psc_ev_rows)) : NULL;
    const char *breaks = rows ? take(r, head->break_n, sizeof(struct psc_ev_break)) : NULL;
    const char *samples = breaks ? take(r, head->sample_n, sizeof(float)) : NULL;
    if (!samples)
        return "it says that it is longer than its part of the file";
    struct psc_logit *t = psc_arena_alloc(a, head->top_n, sizeof *t);
    struct psc_record *c = psc_arena_alloc(a, head->record_n, sizeof *c);
    struct psc_kv_rows *k = psc_arena_alloc(a, head->row_n, sizeof *k);
    struct psc_hash_break *b = psc_arena_alloc(a, head->break_n, sizeof *b);
    float *values = psc_arena_alloc(a, head->sample_n, sizeof *values);
    *ret_nomem = !t || !c || !k || !b || !values;
    if (*ret_nomem)
        return "";
    if (head->sample_n)
        memcpy(values, samples, head->sample_n * sizeof *values);
    for (uint32_t i = 0; i < head->top_n; i++) {
        struct psc_ev_top e;
        memcpy(&e, top + i * sizeof e, sizeof e);
        t[i] = (struct psc_logit){e.id, e.p};
    }
    for (uint32_t i = 0; i < head->record_n; i++) {
        struct psc_ev_record e;
        memcpy(&e, records + i * sizeof e, sizeof e);
        const char *fault = record_in(graph, &e, values, head->sample_n, &c[i]);
        if (fault || (i && c[i].node < c[i - 1].node))
            return fault ? fault : "its records do not stand in execution order";
    }
    for (uint32_t i = 0; i < head->row_n; i++) {
        struct psc_ev_rows e;
        memcpy(&e, rows + i * sizeof e, sizeof e);
        if (!graph || e.node >= graph->n || e.lo > e.hi || e.unwritten > e.hi - e.lo)
            return "its rows of KV make no sense";
        k[i] = (struct psc_kv_rows){e.node, e.layer, e.is_write != 0, e.lo, e.hi, e.unwritten};
    }
    for (uint32_t i = 0; i < head->break_n; i++) {
        struct psc_ev_break e;
        memcpy(&e, breaks + i * sizeof e, sizeof e);
        if (!graph || e.value >= graph->n || (e.reader != PSC_NONE && e.reader >= graph->n))
            return "a hash that differs names a node that the graph does not have";
        b[i] = (struct psc_hash_break){e.reader, e.value, e.operand, e.expected, e.found};
    }
    *to = (struct psc_step){
        .has_token = head->flags & PSC_EV_STEP_TOKEN, .token = head->token, .top = t, .top_n = head->top_n, .records = c,
        .record_n = head->record_n, .kv = k, .kv_n = head->row_n, .breaks = b, .break_n = head->break_n,
        .hashed = head->flags & PSC_EV_STEP_HASHED,
    };
    return NULL;
}

static enum psc_status read_step(struct psc_arena *arena, const struct psc_graph *graph, struct reader r,
                                 struct psc_step *ret, struct psc_error *reterr)
{
    struct psc_ev_step head;
    struct psc_text text = {0};
    struct psc_step step = {0};
    bool nomem = false;
    if (!take_into(&r, &head, 1, sizeof head))
        return psc_fail(reterr, PSC_ERR_PARSE, "the step is cut off");
    const char *words = take(&r, ((uint64_t)head.text_n + 7) & ~UINT64_C(7), 1);
    const char *fault = words ? read_lists(&r, &head, graph, arena, &step, &nomem)
                              : "it says that it is longer than its part of the file";
    if (!fault)
        fault = read_sequences(&r, &head, arena, &step, &nomem);
    if (nomem)
        return psc_fail_nomem(reterr);
    if (fault)
        return psc_fail(reterr, PSC_ERR_PARSE, "the step cannot be read: %s", fault);
    psc_utf8_lossy(words, head.text_n, &text);
    step.text = text.failed ? NULL : psc_arena_strndup(arena, psc_text_str(&text), text.n);
    psc_text_release(&text);
    if (!step.text)
        return psc_fail_nomem(reterr);
    *ret = step;
    return PSC_OK;
}

/* ---- the step source ----------------------------------------------------------------------------------------------- */

static uint32_t source_count(void *ctx, uint32_t phase)
{
    const struct events_in *in = ctx;
    return phase < in->n ? (uint32_t)in->phases[phase].n : 0;
}

static enum psc_status source_load(void *ctx, uint32_t phase, uint32_t step, struct psc_arena *arena,
                                   struct psc_step *ret, struct psc_error *reterr)
{
    const struct events_in *in = ctx;
    const struct extent *extent = &in->phases[phase].steps[step];
    const struct psc_graph *graph = in->phases[phase].graph;
    struct psc_piece piece, story = {0};
    struct psc_ev_story head;
    struct psc_story *own = NULL;
    enum psc_status status = psc_source_piece(&in->source, extent->at, extent->n, &piece, reterr);
    if (status != PSC_OK)
        return status;
    status = read_step(arena, graph, (struct reader){piece.text.s, piece.text.n}, ret, reterr);
    psc_piece_release(&piece);
    if (status != PSC_OK || !extent->story_n)
        return status;
    status = psc_source_piece(&in->source, extent->story_at, extent->story_n, &story, reterr);
    if (status != PSC_OK)
        return status;
    struct reader r = {story.text.s, story.text.n};
    status = take_into(&r, &head, 1, sizeof head)
                 ? read_story(arena, graph, r, &head, &own, reterr)
                 : psc_fail(reterr, PSC_ERR_PARSE, "the story of the step is cut off");
    psc_piece_release(&story);
    ret->story = own;
    return status;
}

static void source_close(void *ctx)
{
    struct events_in *in = ctx;
    for (size_t p = 0; p < in->n; p++)
        psc_free(in->phases[p].steps);
    psc_free(in->phases);
    psc_source_release(&in->source);
    psc_free(in);
}

/* ---- the chunks ------------------------------------------------------------------------------------------------------ */

static enum psc_status take_head(struct events_in *in, const struct psc_chunk *c, struct psc_error *reterr)
{
    struct psc_slice text = {c->bytes, (size_t)c->n}, format;
    struct psc_doc *doc = in->doc;
    uint64_t version = 0;
    bool nomem = false;
    enum psc_status status = psc_events_check_json(text, "the head of the file", reterr);
    if (status != PSC_OK)
        return status;
    format = psc_slice_find(text, "format");
    if (format.n == 20 && !memcmp(format.s, "\"planscope-contents\"", 20))
        return psc_fail(reterr, PSC_ERR_PARSE, "the file holds the contents of values only; open the trace or the events "
                                               "file of the same run, then this one over it");
    if (format.n != 18 || memcmp(format.s, "\"planscope-events\"", 18))
        return psc_fail(reterr, PSC_ERR_PARSE, "the head of the file does not name the format planscope-events");
    if (!psc_slice_u64(psc_slice_find(text, "version"), &version) || version != 1)
        return psc_fail(reterr, PSC_ERR_PARSE, "version %" PRIu64 ", this program reads 1", version);
    doc->model = psc_slice_string(&doc->arena, psc_slice_find(text, "model"), &nomem);
    doc->prompt = psc_slice_string(&doc->arena, psc_slice_find(text, "prompt"), &nomem);
    doc->version = 1;
    return nomem ? psc_fail_nomem(reterr) : PSC_OK;
}

static enum psc_status add_phase(struct events_in *in, const struct psc_phase *phase, struct psc_error *reterr)
{
    struct psc_doc *doc = in->doc;
    struct psc_phase *phases = psc_arena_alloc(&doc->arena, (size_t)doc->phase_n + 1, sizeof *phases);
    if (!phases || !psc_grow(&in->phases, in->n + 1, &in->cap, sizeof *in->phases))
        return psc_fail_nomem(reterr);
    if (doc->phase_n)
        memcpy(phases, doc->phases, doc->phase_n * sizeof *phases);
    phases[doc->phase_n++] = *phase;
    doc->phases = phases;
    in->phases[in->n++] = (struct events_phase){.graph = phase->graph};
    return PSC_OK;
}

static enum psc_status take_phase(struct events_in *in, const struct psc_chunk *c, struct psc_error *reterr)
{
    struct psc_phase phase = {.kind = ""};
    struct psc_doc *doc = in->doc;
    bool nomem = false;
    if (c->n < 8)
        return psc_fail(reterr, PSC_ERR_PARSE, "a phase is cut off");
    struct psc_slice text = {c->bytes + 8, (size_t)c->n - 8};
    enum psc_status status = psc_events_check_json(text, "a phase", reterr);
    if (status != PSC_OK)
        return status;
    const char *kind = psc_slice_string(&doc->arena, psc_slice_find(text, "kind"), &nomem);
    struct psc_slice graph = psc_slice_find(text, "graph"), ours = psc_slice_find(text, "planscope");
    if (nomem)
        return psc_fail_nomem(reterr);
    phase.kind = kind ? kind : "";
    if (psc_slice_is_object(graph))
        status = psc_graph_read(&doc->arena, in->source.s, graph, "", &doc->report, &phase.graph, reterr);
    if (status == PSC_OK && psc_slice_is_object(ours))
        status = psc_ours_read(&doc->arena, ours, &phase, &doc->report, reterr);
    return status == PSC_OK ? add_phase(in, &phase, reterr) : status;
}

/* The phase that a chunk speaks of must be the latest. */
static bool is_current(const struct events_in *in, uint32_t phase)
{
    return in->n && phase == in->n - 1;
}

static enum psc_status take_story(struct events_in *in, const struct psc_chunk *c, struct extent *own,
                                  struct psc_error *reterr)
{
    struct psc_ev_story head;
    struct reader r = {c->bytes, c->n};
    if (!take_into(&r, &head, 1, sizeof head) || !is_current(in, head.phase))
        return psc_fail(reterr, PSC_ERR_PARSE, "a story belongs to no phase");
    if (head.step != UINT32_MAX) {
        own->story_at = c->at;
        own->story_n = c->n;
        return PSC_OK;
    }
    return read_story(&in->doc->arena, in->phases[in->n - 1].graph, r, &head, &in->doc->phases[in->n - 1].story, reterr);
}

static enum psc_status take_step(struct events_in *in, const struct psc_chunk *c, const struct extent *own,
                                 struct psc_error *reterr)
{
    struct psc_ev_step head;
    struct reader r = {c->bytes, c->n};
    if (!take_into(&r, &head, 1, sizeof head) || !is_current(in, head.phase))
        return psc_fail(reterr, PSC_ERR_PARSE, "a step belongs to no phase");
    struct events_phase *p = &in->phases[in->n - 1];
    if (p->n >= UINT32_MAX || !psc_grow(&p->steps, p->n + 1, &p->cap, sizeof *p->steps))
        return psc_fail_nomem(reterr);
    struct extent extent = {c->at, c->n, 0, 0};
    if (head.flags & (PSC_EV_STEP_OWN | PSC_EV_STEP_SAME)) {
        extent.story_at = own->story_at;
        extent.story_n = own->story_n;
    }
    p->steps[p->n++] = extent;
    return PSC_OK;
}

static enum psc_status take_chunks(struct events_in *in, struct psc_error *reterr)
{
    uint64_t at = PSC_CHUNK_HEAD, n = in->source.mapped ? in->source.file_n : in->source.n;
    struct psc_chunk c = {0};
    struct extent own = {0};
    bool first = true, done = false;
    enum psc_status status = psc_chunks_check_head(in->source.s, (size_t)n, reterr);
    while (status == PSC_OK && !done && psc_chunks_next(in->source.s, n, &at, &c)) {
        if (first && strcmp(c.tag, "HEAD") != 0)
            return psc_fail(reterr, PSC_ERR_PARSE, "its first part is %.4s, not HEAD", c.tag);
        first = false;
        done = !strcmp(c.tag, "DONE");
        if (!strcmp(c.tag, "HEAD"))
            status = take_head(in, &c, reterr);
        else if (!strcmp(c.tag, "PHAS"))
            status = take_phase(in, &c, reterr);
        else if (!strcmp(c.tag, "STRY"))
            status = take_story(in, &c, &own, reterr);
        else if (!strcmp(c.tag, "STEP"))
            status = take_step(in, &c, &own, reterr);
        else if (!strcmp(c.tag, "FACT"))
            status = psc_events_check_json((struct psc_slice){c.bytes, (size_t)c.n}, "the list of facts", reterr);
        if (status == PSC_OK && !strcmp(c.tag, "FACT"))
            status = psc_facts_read(&in->doc->arena, (struct psc_slice){c.bytes, (size_t)c.n}, &in->doc->facts,
                                    &in->doc->fact_n, reterr);
    }
    if (status != PSC_OK || done)
        return status;
    if (first)
        return psc_fail(reterr, PSC_ERR_PARSE, "the file ends at byte %" PRIu64 ", before its first part is complete", n);
    in->doc->truncated = true;
    psc_report_add(&in->doc->report, PSC_WARNING, 0, 0, n,
                   "the file ends at byte %" PRIu64 " without its last part: the run did not end, what is complete is shown", n);
    return PSC_OK;
}

enum psc_status psc_events_read(struct psc_source source, struct psc_report *report, struct psc_doc **ret,
                                struct psc_error *reterr)
{
    struct events_in *in = psc_alloc0(1, sizeof *in);
    struct psc_doc *doc = psc_doc_new();
    if (!in || !doc) {
        psc_source_release(&source);
        psc_free(in);
        psc_doc_free(doc);
        return psc_fail_nomem(reterr);
    }
    in->source = source;
    in->doc = doc;
    doc->format = "planscope-events";
    doc->steps = (struct psc_step_source){.count = source_count, .load = source_load, .close = source_close, .ctx = in};
    enum psc_status status = take_chunks(in, reterr);
    for (size_t i = 0; report && i < doc->report.n; i++)
        psc_report_add(report, doc->report.items[i].level, doc->report.items[i].line, doc->report.items[i].column,
                       doc->report.items[i].byte, "%s", doc->report.items[i].text);
    if (status == PSC_OK && (doc->report.failed || (report && report->failed)))
        status = psc_fail_nomem(reterr);
    if (status != PSC_OK) {
        psc_doc_free(doc);
        return status;
    }
    *ret = doc;
    return PSC_OK;
}
