#include "traces/lazy-file.h"
#include "traces/minimalloc.h"
#include "traces/probe.h"
#include "traces/scenario-read.h"
#include "traces/trace.h"

#include "core/base/mem.h"
#include "traces/events-read.h"
#include "traces/step-read.h"

#include <inttypes.h>
#include <string.h>

#define PIECE ((size_t)4 << 20) /* bytes scanned between two calls of the progress function */

/* ---- the step source ------------------------------------------------------------------------------ */

static uint32_t source_count(void *ctx, uint32_t phase)
{
    struct psc_trace *t = ctx;
    pthread_mutex_lock(&t->lock);
    uint32_t n = phase < t->doc->phase_n ? (uint32_t)t->phases[phase].step_n : 0;
    pthread_mutex_unlock(&t->lock);
    return n;
}

/* Says again what the scan said of a step whose text is not JSON. at: where the text lies in the file. */
static enum psc_status refuse_step(struct psc_slice text, uint64_t at, uint32_t step,
                                   struct psc_error *reterr)
{
    struct psc_scan scan;
    psc_scan_init(&scan, text.s, text.n);
    enum psc_token token = psc_scan_next(&scan);
    if (token < PSC_TOK_END)
        psc_scan_close(&scan, 1, SIZE_MAX);
    uint64_t byte = at + scan.from;
    return psc_fail_at(reterr, PSC_ERR_PARSE, 0, 0, byte,
                       "step %" PRIu32 " is not well-formed JSON at byte %" PRIu64 ": %s", step, byte,
                       scan.fault ? scan.fault : "its brackets do not match");
}

static enum psc_status source_load(void *ctx, uint32_t phase, uint32_t step, struct psc_arena *arena,
                                   struct psc_step *ret, struct psc_error *reterr)
{
    struct psc_trace *t = ctx;
    struct psc_step_extent extent = {0};
    struct psc_piece piece;
    const struct psc_graph *graph = NULL;
    pthread_mutex_lock(&t->lock);
    bool there = phase < t->doc->phase_n && step < t->phases[phase].step_n;
    if (there) {
        extent = t->phases[phase].steps[step];
        graph = t->phases[phase].graph;
    }
    pthread_mutex_unlock(&t->lock);
    if (!there)
        return psc_fail(reterr, PSC_ERR_USAGE, "there is no step %" PRIu32 " in phase %" PRIu32, step, phase);
    enum psc_status status = psc_source_piece(&t->source, extent.at, extent.n, &piece, reterr);
    if (status != PSC_OK)
        return status;
    if (extent.bad && psc_slice_is_object(piece.text))
        status = refuse_step(piece.text, extent.at, step, reterr);
    else
        status = psc_step_read(arena, &t->source, piece.text, graph, ret, reterr);
    psc_piece_release(&piece);
    return status;
}

/* Puts the file's name before the sentence. */
static void prefix(const char *name, enum psc_status status, struct psc_error *reterr)
{
    if (!reterr || status == PSC_ERR_NOMEM || status == PSC_ERR_CANCELLED)
        return;
    struct psc_error err = *reterr;
    psc_fail_at(reterr, status, err.line, err.column, err.byte, "%s: %s", name, err.text);
}

static enum psc_status source_scan(void *ctx, uint64_t max_bytes, bool *ret_done, struct psc_error *reterr)
{
    struct psc_trace *t = ctx;
    enum psc_status status = t->failure.status;
    enum psc_found found = PSC_FOUND_NOTHING;
    size_t at = t->index.scan.at;
    size_t limit = max_bytes < t->source.n - at ? at + (size_t)max_bytes : SIZE_MAX;
    if (status == PSC_OK && !t->done)
        status = psc_source_check(&t->source, &t->failure);
    if (status != PSC_OK && reterr)
        *reterr = t->failure;
    while (status == PSC_OK && !t->done && found != PSC_FOUND_PAUSE) {
        status = psc_trace_take_next(t, limit, &found, &t->failure);
        if (t->doc->report.failed)
            status = psc_fail_nomem(&t->failure);
        if (status != PSC_OK) {
            prefix(t->name, status, &t->failure);
            if (reterr)
                *reterr = t->failure;
        }
    }
    t->failure.status = status;
    psc_source_drop(&t->source, t->index.scan.at);
    *ret_done = t->done || status != PSC_OK;
    return status;
}

static uint64_t source_progress(void *ctx, uint64_t *ret_total)
{
    struct psc_trace *t = ctx;
    if (ret_total)
        *ret_total = t->source.n;
    return atomic_load(&t->reached);
}

static void source_close(void *ctx)
{
    struct psc_trace *t = ctx;
    for (size_t p = 0; p < t->doc->phase_n && t->phases; p++) {
        psc_free(t->phases[p].steps);
        psc_text_release(&t->phases[p].extra);
    }
    psc_free(t->phases);
    psc_text_release(&t->extra);
    psc_kv_seen_release(&t->kv);
    psc_source_release(&t->source);
    pthread_mutex_destroy(&t->lock);
    psc_free(t->name);
    psc_free(t);
}

/* ---- opening --------------------------------------------------------------------------------------- */

/* The first graph and the first step are there, or will never be. */
static bool can_be_shown(const struct psc_trace *t, enum psc_found found)
{
    if (!t->doc->phase_n)
        return false;
    return t->doc->phases[0].graph
               ? t->phases[0].step_n > 0 || t->doc->phase_n > 1 || found == PSC_FOUND_PHASE_END
               : found == PSC_FOUND_PHASE_END;
}

static enum psc_status scan_first(struct psc_trace *t, const struct psc_open_options *options,
                                  struct psc_error *reterr)
{
    enum psc_status status = PSC_OK;
    enum psc_found found = PSC_FOUND_NOTHING;
    while (status == PSC_OK && !t->done) {
        size_t at = t->index.scan.at;
        if (found == PSC_FOUND_PAUSE || found == PSC_FOUND_NOTHING) {
            psc_source_drop(&t->source, at);
            if (options && options->progress && !options->progress(options->ctx, at, t->source.n))
                return psc_fail(reterr, PSC_ERR_CANCELLED, "opening was cancelled");
        }
        size_t limit = (at / PIECE + 1) * PIECE;
        status = psc_trace_take_next(t, limit < t->source.n ? limit : SIZE_MAX, &found, reterr);
        if (t->doc->report.failed)
            status = psc_fail_nomem(reterr);
        if (status == PSC_OK && !(options && options->whole) && can_be_shown(t, found))
            break;
    }
    return status;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

static void pass_on(const struct psc_report *from, struct psc_report *to)
{
    for (size_t i = 0; to && i < from->n; i++)
        psc_report_add(to, from->items[i].level, from->items[i].line, from->items[i].column,
                       from->items[i].byte, "%s", from->items[i].text);
    if (to) {
        to->dropped += from->dropped;
        to->failed = to->failed || from->failed;
    }
}

typedef enum psc_status (*load_fn)(struct psc_doc *doc, const char *bytes, size_t n, struct psc_error *reterr);

/* A scenario or a list of boxes is looked at as a whole: nothing stays open. Takes the source over. load NULL: an expression, planned as
 * the words say. */
static enum psc_status open_whole(load_fn load, const char *words, struct psc_source source, const char *path, const char *name,
                                  struct psc_report *report, struct psc_doc **ret, struct psc_error *reterr)
{
    struct psc_doc *doc = psc_doc_new();
    enum psc_status status = !doc   ? psc_fail_nomem(reterr)
                             : load ? load(doc, source.s, source.n, reterr)
                                    : psc_lazy_file_load(doc, words, source.s, source.n, reterr);
    psc_source_release(&source);
    if (!status) {
        doc->path = psc_arena_strdup(&doc->arena, path);
        status = path && !doc->path ? psc_fail_nomem(reterr) : PSC_OK;
    }
    if (doc)
        pass_on(&doc->report, report);
    if (!status && report && report->failed)
        status = psc_fail_nomem(reterr);
    if (status) {
        prefix(name, status, reterr);
        psc_doc_free(doc);
        return status;
    }
    *ret = doc;
    return PSC_OK;
}

/* Takes the source over. */
static enum psc_status open_events(struct psc_source source, const char *path, const char *name,
                                   struct psc_report *report, struct psc_doc **ret, struct psc_error *reterr)
{
    struct psc_doc *doc;
    enum psc_status status = psc_events_read(source, report, &doc, reterr);
    if (status == PSC_OK && path && !(doc->path = psc_arena_strdup(&doc->arena, path))) {
        psc_doc_free(doc);
        status = psc_fail_nomem(reterr);
    }
    if (status == PSC_OK)
        *ret = doc;
    else
        prefix(name, status, reterr);
    return status;
}

/* Called .csv, and a line of columns: what is none of MiniMalloc's is told so, not that it is no trace. */
static bool is_csv(const char *name, const char *bytes, size_t n)
{
    size_t m = strlen(name);
    const char *end = memchr(bytes, '\n', n);
    size_t line = end ? (size_t)(end - bytes) : n;
    return m > 4 && !strcmp(name + m - 4, ".csv") && line && *bytes != '{' && memchr(bytes, ',', line);
}

/* Takes the source over. */
static enum psc_status open_source(struct psc_source source, const char *path, const char *name,
                                   const struct psc_open_options *options, struct psc_report *report,
                                   struct psc_doc **ret, struct psc_error *reterr)
{
    static const char *const names[] = {NULL, "minfer-trace", "minfer-live", "minfer-graph"};
    struct psc_probe probe;
    enum psc_scenario_kind scenario;
    if (psc_events_is_file(&source))
        return open_events(source, path, name, report, ret, reterr);
    psc_probe(source.s, source.n, &probe);
    if (psc_scenario_is(probe.format, &scenario))
        return open_whole(psc_scenario_load, NULL, source, path, name, report, ret, reterr);
    if (psc_lazy_file_is(name, source.s, source.n))
        return open_whole(NULL, options ? options->lazy_words : NULL, source, path, name, report, ret, reterr);
    if (psc_minimalloc_is(source.s, source.n))
        return open_whole(psc_minimalloc_load, NULL, source, path, name, report, ret, reterr);
    if (is_csv(name, source.s, source.n)) {
        psc_source_release(&source);
        (void)psc_fail_at(reterr, PSC_ERR_PARSE, 1, 1, 0, "no list of boxes: its first line must name the columns id, lower, upper "
                          "and size");
        prefix(name, PSC_ERR_PARSE, reterr);
        return PSC_ERR_PARSE;
    }
    struct psc_trace *t = psc_alloc0(1, sizeof *t);
    struct psc_doc *doc = psc_doc_new();
    char *copy = psc_strdup(name);
    if (!t || !doc || !copy || pthread_mutex_init(&t->lock, NULL) != 0) {
        psc_source_release(&source);
        psc_free(t);
        psc_free(copy);
        psc_doc_free(doc);
        return psc_fail_nomem(reterr);
    }
    t->source = source;
    t->doc = doc;
    t->name = copy;
    psc_index_init(&t->index, source.s, source.n);
    doc->steps =
        (struct psc_step_source){source_count, source_load, source_scan, source_progress, source_close, t};
    enum psc_status status = psc_probe_coding(source.s, source.n, reterr);
    if (status == PSC_OK && source.file_n > source.n)
        psc_report_add(&doc->report, PSC_WARNING, 0, 0, source.n,
                       "the last %zu bytes of the file (from byte %zu) are zero: they are not looked at",
                       source.file_n - source.n, source.n);
    if (status == PSC_OK)
        status = psc_trace_check_ends(t, reterr);
    if (status == PSC_OK)
        status = scan_first(t, options, reterr);
    if (status == PSC_OK) {
        doc->format = names[t->format ? t->format : PSC_FORMAT_TRACE];
        doc->path = psc_arena_strdup(&doc->arena, path);
        if (path && !doc->path)
            status = psc_fail_nomem(reterr);
    }
    pass_on(&doc->report, report);
    if (status == PSC_OK && report && report->failed)
        status = psc_fail_nomem(reterr);
    if (status != PSC_OK) {
        prefix(t->name, status, reterr);
        psc_doc_free(doc);
        return status;
    }
    *ret = doc;
    return PSC_OK;
}

enum psc_status psc_trace_open(const char *path, const struct psc_open_options *options,
                               struct psc_report *report, struct psc_doc **ret, struct psc_error *reterr)
{
    struct psc_source source;
    enum psc_status status = psc_source_map(&source, path, reterr);
    if (status != PSC_OK) {
        prefix(base_name(path), status, reterr);
        return status;
    }
    return open_source(source, path, base_name(path), options, report, ret, reterr);
}

enum psc_status psc_trace_open_memory(const char *name, const char *bytes, size_t n,
                                      const struct psc_open_options *options, struct psc_report *report,
                                      struct psc_doc **ret, struct psc_error *reterr)
{
    if (n == 0)
        return psc_fail(reterr, PSC_ERR_PARSE, "%s: file is empty (0 bytes)", name);
    return open_source((struct psc_source){.s = bytes, .n = n}, NULL, name, options, report, ret, reterr);
}
