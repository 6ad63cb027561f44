#include "traces/step-read.h"
#include "traces/trace.h"

#include "core/base/mem.h"
#include "traces/graph-read.h"
#include "traces/probe.h"
#include "traces/run-json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define FIRST_STEP_MAX ((size_t)16 << 20) /* bytes of a step that is looked into while scanning */

#define UNKNOWN_MAX ((size_t)8 << 20) /* bytes of an unknown member that is kept for writing back */

/* ---- format and version ---------------------------------------------------------------------- */

static enum psc_status take_format(struct psc_trace *t, struct psc_slice value, struct psc_error *reterr)
{
    static const struct {
        const char *text;
        enum psc_format format;
    } known[] = {{"\"minfer-trace\"", PSC_FORMAT_TRACE},
                 {"\"minfer-live\"", PSC_FORMAT_LIVE},
                 {"\"minfer-graph\"", PSC_FORMAT_GRAPH}};
    if (psc_slice_is_null(value))
        return PSC_OK;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (value.n == strlen(known[i].text) && memcmp(value.s, known[i].text, value.n) == 0) {
            t->format = known[i].format;
            return PSC_OK;
        }
    bool nomem = false;
    struct psc_slice shown = value;
    if (!psc_slice_is_string(value))
        return psc_fail(
            reterr, PSC_ERR_PARSE,
            "format must be a string, not %s; this program reads \"minfer-trace\" and \"minfer-graph\"",
            psc_slice_kind(value));
    if (value.n > 80)
        shown.n = 80; /* a string without its end: the printer mends what was cut */
    const char *text = psc_slice_json(&t->doc->arena, shown, &nomem);
    if (nomem)
        return psc_fail_nomem(reterr);
    if (strcmp(text, "\"planscope-plan\"") == 0)
        return psc_fail(reterr, PSC_ERR_PARSE,
                        "format is \"planscope-plan\": a plan alone has no graph; open the graph and give "
                        "this file as its plan");
    return psc_fail(reterr, PSC_ERR_PARSE,
                    "format is %s; this program reads \"minfer-trace\", \"minfer-graph\" and \"minfer-live\"",
                    text);
}

static enum psc_status take_version(struct psc_trace *t, struct psc_slice value, struct psc_error *reterr)
{
    uint64_t version;
    if (psc_slice_is_null(value))
        return PSC_OK;
    if (!psc_slice_u64(value, &version)) {
        bool scalar = psc_slice_is_number(value) && value.n < 40;
        const char *shown = scalar ? value.s : psc_slice_kind(value);
        return psc_fail(reterr, PSC_ERR_PARSE, "version is %.*s, this program reads 1",
                        scalar ? (int)value.n : (int)strlen(shown), shown);
    }
    if (version != 1)
        return psc_fail(reterr, PSC_ERR_PARSE, "version %" PRIu64 ", this program reads 1", version);
    t->doc->version = 1;
    return PSC_OK;
}

enum psc_status psc_trace_check_ends(struct psc_trace *t, struct psc_error *reterr)
{
    struct psc_probe probe;
    psc_probe(t->source.s, t->source.n, &probe);
    enum psc_status status = take_format(t, probe.format, reterr);
    if (status == PSC_OK && probe.version.n)
        status = take_version(t, probe.version, reterr);
    if (status == PSC_OK && t->format == PSC_FORMAT_UNKNOWN && probe.has_nodes && !probe.has_phases)
        t->has_nodes = true;
    return status;
}

/* ---- phases ------------------------------------------------------------------------------------ */

static enum psc_status add_phase(struct psc_trace *t, struct psc_error *reterr)
{
    struct psc_doc *doc = t->doc;
    enum psc_status status = PSC_OK;
    pthread_mutex_lock(&t->lock);
    size_t cap = t->phase_cap;
    if (doc->phase_n == cap) {
        /* The old array stays where it is for those who still look at it. */
        struct psc_phase *grown = psc_arena_alloc0(&doc->arena, cap ? cap * 2 : 8, sizeof *grown);
        if (!grown || !psc_grow(&t->phases, cap + 1, &t->phase_cap, sizeof *t->phases)) {
            status = psc_fail_nomem(reterr);
        } else {
            if (doc->phase_n)
                memcpy(grown, doc->phases, doc->phase_n * sizeof *grown);
            doc->phases = grown;
        }
    }
    if (status == PSC_OK) {
        memset(&t->phases[doc->phase_n], 0, sizeof *t->phases);
        doc->phases[doc->phase_n].kind = "";
        doc->phase_n++;
    }
    pthread_mutex_unlock(&t->lock);
    return status;
}

static enum psc_status take_graph(struct psc_trace *t, uint32_t p, struct psc_slice text,
                                  struct psc_error *reterr)
{
    char where[40];
    struct psc_graph *graph;
    where[0] = '\0';
    if (t->format != PSC_FORMAT_GRAPH)
        snprintf(where, sizeof where, "phases[%" PRIu32 "].graph", p);
    if (!psc_slice_is_object(text)) {
        psc_report_add(&t->doc->report, PSC_FAULT, 0, 0, (uint64_t)(text.s - t->source.s),
                       "%s must be an object or null, not %s", where, psc_slice_kind(text));
        return t->doc->report.failed ? psc_fail_nomem(reterr)
                                     : psc_report_fail(&t->doc->report, PSC_ERR_GRAPH, reterr);
    }
    enum psc_status status =
        psc_graph_read(&t->doc->arena, t->source.s, text, where, &t->doc->report, &graph, reterr);
    if (status != PSC_OK)
        return status;
    pthread_mutex_lock(&t->lock);
    t->phases[p].graph = graph;
    t->doc->phases[p].graph = graph;
    pthread_mutex_unlock(&t->lock);
    return psc_kv_look_at_graph(&t->kv, &t->doc->report, p, where, graph, reterr);
}

static enum psc_status take_ours(struct psc_trace *t, uint32_t p, struct psc_error *reterr)
{
    struct psc_slice ours = t->phases[p].ours;
    t->phases[p].ours = (struct psc_slice){0};
    return ours.n ? psc_ours_read(&t->doc->arena, ours, &t->doc->phases[p], &t->doc->report, reterr) : PSC_OK;
}

/* Unknown members are kept for writing back, unless they are too big to be kept twice. */
static bool keep_unknown(struct psc_trace *t, struct psc_text *extra, struct psc_slice key,
                         struct psc_slice value)
{
    if (value.n <= UNKNOWN_MAX && key.n <= 256) {
        psc_extra_add(extra, key, value);
        return !extra->failed;
    }
    bool nomem = false;
    struct psc_slice short_key = {key.s - 1, (key.n > 256 ? 256 : key.n) + 2};
    const char *name = psc_slice_string(&t->doc->arena, short_key, &nomem);
    psc_report_add(&t->doc->report, PSC_WARNING, 0, 0, (uint64_t)(value.s - t->source.s),
                   "the unknown key \"%s\" holds %zu bytes: it is not kept for writing back",
                   name ? name : "", value.n);
    return !nomem;
}

static enum psc_status take_phase_member(struct psc_trace *t, struct psc_slice key, struct psc_slice value,
                                         struct psc_error *reterr)
{
    uint32_t p = t->doc->phase_n - 1;
    struct psc_phase *phase = &t->doc->phases[p];
    bool nomem = false;
    if (psc_slice_is_key(key, "kind")) {
        const char *kind = psc_slice_string(&t->doc->arena, value, &nomem);
        phase->kind = kind ? kind : "";
    } else if (psc_slice_is_key(key, "graph")) {
        if (phase->graph)
            psc_report_add(&t->doc->report, PSC_WARNING, 0, 0, (uint64_t)(value.s - t->source.s),
                           "phases[%" PRIu32 "] has the key \"graph\" twice: the last one counts (duplicate key)", p);
        enum psc_status status = psc_slice_is_null(value) ? PSC_OK : take_graph(t, p, value, reterr);
        return status == PSC_OK ? take_ours(t, p, reterr) : status;
    } else if (psc_slice_is_key(key, "planscope")) {
        t->phases[p].ours = value;
        return phase->graph ? take_ours(t, p, reterr) : PSC_OK;
    } else if (psc_slice_is_key(key, "steps")) {
        if (!psc_slice_is_null(value))
            psc_report_add(&t->doc->report, PSC_WARNING, 0, 0, UINT64_MAX,
                           "phases[%" PRIu32 "].steps is %s, not an array: no steps", p,
                           psc_slice_kind(value));
    } else {
        nomem = !keep_unknown(t, &t->phases[p].extra, key, value);
    }
    return nomem ? psc_fail_nomem(reterr) : PSC_OK;
}

static enum psc_status add_step(struct psc_trace *t, struct psc_slice text, bool bad,
                                struct psc_error *reterr)
{
    uint32_t p = t->doc->phase_n - 1;
    struct psc_trace_phase *phase = &t->phases[p];
    enum psc_status status = PSC_OK;
    pthread_mutex_lock(&t->lock);
    if (phase->step_n >= UINT32_MAX)
        status = psc_fail(reterr, PSC_ERR_TOO_BIG, "phase %" PRIu32 " has more than 4294967295 steps", p);
    else if (!psc_grow(&phase->steps, phase->step_n + 1, &phase->step_cap, sizeof *phase->steps))
        status = psc_fail_nomem(reterr);
    else
        phase->steps[phase->step_n++] = (struct psc_step_extent){(uint64_t)(text.s - t->source.s), text.n,
                                                                 bad || !psc_slice_is_object(text)};
    pthread_mutex_unlock(&t->lock);
    if (status == PSC_OK && bad)
        psc_report_add(&t->doc->report, PSC_WARNING, t->index.error.line, t->index.error.column,
                       t->index.error.byte, "phases[%" PRIu32 "].steps[%zu] cannot be read: %s", p,
                       phase->step_n - 1, t->index.error.text);
    else if (status == PSC_OK && !psc_slice_is_object(text))
        psc_report_add(&t->doc->report, PSC_WARNING, 0, 0, (uint64_t)(text.s - t->source.s),
                       "phases[%" PRIu32 "].steps[%zu] cannot be read: a step must be an object, not %s", p,
                       phase->step_n - 1, psc_slice_kind(text));
    return status;
}

/* Positions grow from step to step: the last one goes furthest. */
static enum psc_status look_at_last_step(struct psc_trace *t, uint32_t p, struct psc_error *reterr)
{
    size_t n = t->phases[p].step_n;
    const struct psc_step_extent *last = t->phases[p].steps + n - 1;
    struct psc_arena arena = {0};
    struct psc_step step = {0};
    struct psc_error error;
    if (n < 2 || last->bad || last->n > FIRST_STEP_MAX)
        return PSC_OK;
    struct psc_slice text = {t->source.s + last->at, (size_t)last->n};
    enum psc_status status = psc_step_read(&arena, &t->source, text, t->doc->phases[p].graph, &step, &error);
    if (status == PSC_OK)
        psc_kv_look_at_step(&t->doc->report, p, n - 1, t->doc->phases[p].graph, &step);
    psc_arena_release(&arena);
    return status == PSC_ERR_NOMEM ? psc_fail_nomem(reterr) : PSC_OK;
}

/* Records of nodes that the graph does not have, or a second one of the same node, are looked for in the first step:
 * what is wrong with the writer is wrong there too. */
static enum psc_status look_at_first_step(struct psc_trace *t, uint32_t p, struct psc_error *reterr)
{
    const struct psc_step_extent *first = t->phases[p].steps;
    struct psc_arena arena = {0};
    struct psc_step step = {0};
    struct psc_error error;
    uint32_t unknown = 0, again = 0, at = 0, twice = 0;
    if (!t->doc->phases[p].graph || !t->phases[p].step_n || first->bad || first->n > FIRST_STEP_MAX)
        return PSC_OK;
    struct psc_slice text = {t->source.s + first->at, (size_t)first->n};
    enum psc_status status = psc_step_read(&arena, &t->source, text, t->doc->phases[p].graph, &step, &error);
    for (uint32_t i = 0; status == PSC_OK && i < step.record_n; i++) {
        if (step.records[i].node == PSC_NONE)
            at = unknown++ ? at : i;
        else if (i && step.records[i].node == step.records[i - 1].node)
            twice = again++ ? twice : i;
    }
    if (unknown)
        psc_report_add(&t->doc->report, PSC_WARNING, 0, 0, first->at,
                       "phases[%" PRIu32 "].steps[0] has a record of node %" PRIu64 ", which the graph does not have "
                       "(%" PRIu32 " like it)", p, step.records[at].id, unknown);
    if (again)
        psc_report_add(&t->doc->report, PSC_WARNING, 0, 0, first->at,
                       "phases[%" PRIu32 "].steps[0] has two records of node %" PRIu64 " (%" PRIu32
                       " duplicate record%s)", p, step.records[twice].id, again, again == 1 ? "" : "s");
    bool said = status == PSC_OK && psc_kv_look_at_step(&t->doc->report, p, 0, t->doc->phases[p].graph, &step);
    psc_arena_release(&arena);
    if (status == PSC_ERR_NOMEM)
        return psc_fail_nomem(reterr);
    return said ? PSC_OK : look_at_last_step(t, p, reterr);
}

static enum psc_status end_phase(struct psc_trace *t, struct psc_error *reterr)
{
    uint32_t p = t->doc->phase_n - 1;
    struct psc_phase *phase = &t->doc->phases[p];
    enum psc_status status = take_ours(t, p, reterr);
    if (status == PSC_OK)
        status = look_at_first_step(t, p, reterr);
    if (status != PSC_OK)
        return status;
    if (t->phases[p].extra.n) {
        phase->extra_json = psc_arena_strdup(&t->doc->arena, t->phases[p].extra.s);
        psc_text_release(&t->phases[p].extra);
        if (!phase->extra_json)
            return psc_fail_nomem(reterr);
    }
    if (phase->graph && phase->graph->kind && !phase->kind[0])
        phase->kind = phase->graph->kind;
    else if (phase->graph && phase->graph->kind && strcmp(phase->kind, phase->graph->kind) != 0)
        psc_report_add(&t->doc->report, PSC_NOTE, 0, 0, UINT64_MAX,
                       "phases[%" PRIu32 "] is called \"%s\", its graph \"%s\": the graph is what ran", p,
                       phase->kind, phase->graph->kind);
    return PSC_OK;
}

/* ---- the document ------------------------------------------------------------------------------- */

static bool is_graph_key(struct psc_slice key)
{
    return psc_slice_is_key(key, "nodes") || psc_slice_is_key(key, "inputs") ||
           psc_slice_is_key(key, "outputs") || psc_slice_is_key(key, "kind");
}

static enum psc_status take_member(struct psc_trace *t, struct psc_slice key, struct psc_slice value,
                                   struct psc_error *reterr)
{
    struct psc_doc *doc = t->doc;
    bool nomem = false;
    if (psc_slice_is_key(key, "format"))
        return take_format(t, value, reterr);
    if (psc_slice_is_key(key, "version"))
        return take_version(t, value, reterr);
    if (psc_slice_is_key(key, "nodes"))
        t->has_nodes = true;
    if (psc_slice_is_key(key, "phases") && !psc_slice_is_null(value))
        return psc_fail_at(reterr, PSC_ERR_PARSE, 0, 0, (uint64_t)(value.s - t->source.s),
                           "phases must be an array, not %s", psc_slice_kind(value));
    if (psc_slice_is_key(key, "model")) {
        doc->model = psc_slice_string(&doc->arena, value, &nomem);
    } else if (psc_slice_is_key(key, "planscope") && psc_slice_is_object(psc_slice_find(value, "run"))) {
        return psc_facts_read(&doc->arena, psc_slice_find(value, "run"), &doc->facts, &doc->fact_n, reterr);
    } else if (psc_slice_is_key(key, "prompt")) {
        doc->prompt = psc_source_string(&t->source, &doc->arena, value, &nomem);
    } else if (t->format != PSC_FORMAT_GRAPH && !(t->format == PSC_FORMAT_UNKNOWN && is_graph_key(key)) &&
               !psc_slice_is_key(key, "phases")) {
        nomem = !keep_unknown(t, &t->extra, key, value);
    }
    return nomem ? psc_fail_nomem(reterr) : PSC_OK;
}

static enum psc_status end_document(struct psc_trace *t, struct psc_error *reterr)
{
    struct psc_doc *doc = t->doc;
    if (t->format == PSC_FORMAT_UNKNOWN) {
        if (!t->has_nodes && !doc->phase_n)
            return psc_fail(reterr, PSC_ERR_PARSE,
                            "not a trace: it has no \"format\", no \"phases\" and no \"nodes\"; this program "
                            "reads \"minfer-trace\" and "
                            "\"minfer-graph\"");
        t->format = doc->phase_n ? PSC_FORMAT_TRACE : PSC_FORMAT_GRAPH;
        psc_report_add(&doc->report, PSC_WARNING, 0, 0, UINT64_MAX, "no \"format\": read as \"%s\"",
                       doc->phase_n ? "minfer-trace" : "minfer-graph");
    }
    if (t->format == PSC_FORMAT_GRAPH) {
        size_t from = 0;
        while (t->source.s[from] != '{')
            from++;
        enum psc_status status = add_phase(t, reterr);
        if (status == PSC_OK)
            status =
                take_graph(t, 0, (struct psc_slice){t->source.s + from, t->index.scan.to - from}, reterr);
        if (status != PSC_OK)
            return status;
        if (doc->phases[0].graph->kind)
            doc->phases[0].kind = doc->phases[0].graph->kind;
    } else if (!doc->phase_n) {
        return psc_fail(reterr, PSC_ERR_PARSE, "no phases: a trace has at least one");
    }
    if (t->extra.n) {
        doc->extra_json = psc_arena_strdup(&doc->arena, t->extra.s);
        if (!doc->extra_json)
            return psc_fail_nomem(reterr);
    }
    if (!doc->version) {
        doc->version = 1;
        psc_report_add(&doc->report, PSC_NOTE, 0, 0, UINT64_MAX, "no \"version\": read as version 1");
    }
    size_t at = t->index.scan.at;
    while (at < t->source.n && strchr(" \t\r\n", t->source.s[at]) && t->source.s[at])
        at++;
    if (at < t->source.n)
        psc_report_add(&doc->report, PSC_WARNING, 0, 0, at,
                       "%zu bytes after the end of the document (byte %zu) are not looked at",
                       t->source.n - at, at);
    return PSC_OK;
}

static enum psc_status end_truncated(struct psc_trace *t, struct psc_error *reterr)
{
    struct psc_doc *doc = t->doc;
    bool usable = false;
    for (uint32_t p = 0; p < doc->phase_n; p++)
        usable = usable || doc->phases[p].graph || t->phases[p].step_n;
    if (!usable)
        return psc_fail_at(reterr, PSC_ERR_PARSE, 0, 0, t->source.n,
                           "truncated at byte %zu: the file ends before its first graph is complete",
                           t->source.n);
    doc->truncated = true;
    uint32_t p = doc->phase_n - 1;
    psc_report_add(&doc->report, PSC_WARNING, 0, 0, t->source.n,
                   "truncated at byte %zu: the file ends inside phase %" PRIu32 ", after %zu complete steps",
                   t->source.n, p, t->phases[p].step_n);
    return end_phase(t, reterr);
}

static void tell(struct psc_trace *t, bool *told, size_t at, const char *what)
{
    uint64_t line, column;
    if (*told || at == SIZE_MAX)
        return;
    *told = true;
    psc_text_place(t->source.s, at, &line, &column);
    psc_report_add(&t->doc->report, PSC_WARNING, line, column, at,
                   "%s at line %" PRIu64 ", column %" PRIu64 " (byte %zu)", what, line, column, at);
}

/* What the scan let pass, each kind once. */
static void tell_oddities(struct psc_trace *t)
{
    const struct psc_scan *scan = &t->index.scan;
    tell(t, &t->told_utf8, scan->utf8_at, "text that is not UTF-8, shown as U+FFFD:");
    tell(t, &t->told_surrogate, scan->surrogate_at, "half a surrogate pair, which is no UTF-8 text, shown as U+FFFD:");
    tell(t, &t->told_control, scan->control_at, "a raw control character in a string, shown as an escape:");
    tell(t, &t->told_word, scan->word_at, "NaN or Infinity, which JSON has no word for, read as such:");
}

/* Handles the next thing that the index finds. *ret_found says what it was. */
enum psc_status psc_trace_take_next(struct psc_trace *t, size_t limit, enum psc_found *ret_found,
                                    struct psc_error *reterr)
{
    struct psc_index *ix = &t->index;
    enum psc_found found = *ret_found = psc_index_next(ix, limit);
    atomic_store(&t->reached, found == PSC_FOUND_END || found == PSC_FOUND_CUT ? t->source.n : ix->scan.at);
    tell_oddities(t);
    switch (found) {
    case PSC_FOUND_MEMBER: return take_member(t, ix->key, ix->value, reterr);
    case PSC_FOUND_PHASE: return add_phase(t, reterr);
    case PSC_FOUND_PHASE_MEMBER: return take_phase_member(t, ix->key, ix->value, reterr);
    case PSC_FOUND_STEP:
    case PSC_FOUND_BAD_STEP: return add_step(t, ix->value, found == PSC_FOUND_BAD_STEP, reterr);
    case PSC_FOUND_ODD_PHASE:
        psc_report_add(&t->doc->report, PSC_WARNING, 0, 0, (uint64_t)(ix->value.s - t->source.s),
                       "phases holds %s, where a phase must be an object: it is left out", psc_slice_kind(ix->value));
        return PSC_OK;
    case PSC_FOUND_PHASE_END: return end_phase(t, reterr);
    case PSC_FOUND_END: t->done = true; return end_document(t, reterr);
    case PSC_FOUND_CUT: t->done = true; return end_truncated(t, reterr);
    case PSC_FOUND_ERROR:
        if (reterr)
            *reterr = ix->error;
        return ix->error.status;
    default: return PSC_OK;
    }
}
