#include "traces/scenario-parts.h"

#include "traces/graph-read.h"
#include "traces/probe.h"
#include "traces/scan.h"
#include "traces/source.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- the table of formats ------------------------------------------------------------------------------ */

static void read_kv(struct psc_part *p, struct psc_slice text, struct psc_scenario *s)
{
    psc_kv_script_read(p, text, &s->kv);
}

static void read_sched(struct psc_part *p, struct psc_slice text, struct psc_scenario *s)
{
    psc_sched_script_read(p, text, &s->sched);
}

static void read_capture(struct psc_part *p, struct psc_slice text, struct psc_scenario *s)
{
    psc_capture_script_read(p, text, &s->capture);
}

static void read_arena(struct psc_part *p, struct psc_slice text, struct psc_scenario *s)
{
    psc_arena_script_read(p, text, &s->arena);
}

static struct psc_story **one_story(struct psc_arena *arena, struct psc_scenario_answer *ret)
{
    ret->stories = psc_arena_alloc0(arena, 1, sizeof *ret->stories);
    ret->story_n = 1;
    return ret->stories;
}

static enum psc_status play_kv(struct psc_arena *arena, const struct psc_scenario *s, struct psc_report *report,
                               struct psc_scenario_answer *ret, struct psc_error *reterr)
{
    if (!one_story(arena, ret))
        return psc_fail_nomem(reterr);
    return psc_kv_play(arena, &s->kv, report, &ret->kv, ret->stories, reterr);
}

static enum psc_status play_sched(struct psc_arena *arena, const struct psc_scenario *s, struct psc_report *report,
                                  struct psc_scenario_answer *ret, struct psc_error *reterr)
{
    if (!one_story(arena, ret))
        return psc_fail_nomem(reterr);
    return psc_sched_play(arena, &s->sched, report, &ret->races, ret->stories, reterr);
}

static enum psc_status play_capture(struct psc_arena *arena, const struct psc_scenario *s, struct psc_report *report,
                                    struct psc_scenario_answer *ret, struct psc_error *reterr)
{
    ret->story_n = s->capture.replay_n + 1;
    return psc_capture_play(arena, &s->capture, report, &ret->capture, &ret->stories, reterr);
}

static enum psc_status play_arena(struct psc_arena *arena, const struct psc_scenario *s, struct psc_report *report,
                                  struct psc_scenario_answer *ret, struct psc_error *reterr)
{
    if (!one_story(arena, ret))
        return psc_fail_nomem(reterr);
    return psc_arena_play(arena, &s->arena, report, &ret->arena, ret->stories, reterr);
}

static const struct {
    const char *format;
    void (*read)(struct psc_part *p, struct psc_slice text, struct psc_scenario *s);
    enum psc_status (*play)(struct psc_arena *arena, const struct psc_scenario *s, struct psc_report *report,
                            struct psc_scenario_answer *ret, struct psc_error *reterr);
    const char *kind; /* of the phase */
} formats[PSC_SCENARIO_N] = {
    [PSC_SCENARIO_KV] = {"memplan-kv", read_kv, play_kv, "cache"},
    [PSC_SCENARIO_SCHED] = {"memplan-sched", read_sched, play_sched, "queues"},
    [PSC_SCENARIO_CAPTURE] = {"memplan-replay", read_capture, play_capture, "capture"},
    [PSC_SCENARIO_ARENA] = {"memplan-arena", read_arena, play_arena, "arena"},
};

const char *psc_scenario_format(enum psc_scenario_kind kind)
{
    return formats[kind].format;
}

bool psc_scenario_is(struct psc_slice format, enum psc_scenario_kind *ret)
{
    for (unsigned i = 0; i < PSC_SCENARIO_N; i++)
        if (format.n == strlen(formats[i].format) + 2 && !memcmp(format.s + 1, formats[i].format, format.n - 2)) {
            *ret = (enum psc_scenario_kind)i;
            return true;
        }
    return false;
}

/* ---- reading ------------------------------------------------------------------------------------------- */

/* The text is one well-formed object? */
static enum psc_status check_text(const char *bytes, size_t n, struct psc_slice *ret, struct psc_error *reterr)
{
    struct psc_scan scan;
    uint64_t line, column;
    psc_scan_init(&scan, bytes, n);
    enum psc_token token = psc_scan_next(&scan);
    size_t from = scan.from;
    if (token == PSC_TOK_OBJECT)
        token = psc_scan_close(&scan, 1, SIZE_MAX);
    else if (token < PSC_TOK_END)
        return psc_probe_refuse(bytes, n, reterr);
    psc_text_place(bytes, scan.from, &line, &column);
    if (token == PSC_TOK_CUT)
        return psc_fail_at(reterr, PSC_ERR_PARSE, 0, 0, n, "truncated at byte %zu", n);
    if (token == PSC_TOK_DEEP)
        return psc_fail_at(reterr, PSC_ERR_PARSE, line, column, scan.from, "nesting too deep: more than %u levels",
                           PSC_JSON_NESTING_MAX);
    if (token != PSC_TOK_OBJECT_END)
        return psc_fail_at(reterr, PSC_ERR_PARSE, line, column, scan.from, "not well-formed JSON: %s",
                           scan.fault ? scan.fault : "its brackets do not match");
    *ret = (struct psc_slice){bytes + from, scan.at - from};
    return PSC_OK;
}

/* What a person should know: a line, or the three lines of a lesson. */
static void read_words(struct psc_part *p, struct psc_slice text, struct psc_scenario *s)
{
    struct psc_slice v;
    uint32_t n = 0;
    bool nomem = false;
    s->note = psc_part_string_or(p, text, "", "note", NULL);
    struct psc_cursor c = psc_part_list(p, text, "", "lesson", true, 3, &n);
    for (uint32_t i = 0; i < n && !psc_part_failed(p) && psc_cursor_element(&c, &v); i++) {
        if (!psc_slice_is_string(v))
            psc_part_wrong(p, v, "a text", "lesson[%u]", i);
        else
            s->lesson[i] = psc_slice_string(p->arena, v, &nomem);
        if (nomem)
            psc_part_nomem(p);
    }
}

static enum psc_status read_text(struct psc_arena *arena, const char *bytes, size_t n, struct psc_report *report,
                                 struct psc_scenario *ret, struct psc_error *reterr)
{
    struct psc_slice text, version, graph;
    struct psc_error error = {.byte = UINT64_MAX};
    struct psc_part part = {arena, &error, PSC_OK};
    struct psc_scenario s = {0};
    uint64_t number = 1;
    enum psc_status status = psc_probe_coding(bytes, n, reterr);
    if (!status)
        status = check_text(bytes, n, &text, reterr);
    if (status)
        return status;
    if (!psc_scenario_is(psc_slice_find(text, "format"), &s.kind))
        return psc_fail(reterr, PSC_ERR_PARSE, "this is no scenario: its format must be memplan-kv, memplan-sched, "
                        "memplan-replay or memplan-arena");
    version = psc_slice_find(text, "version");
    if (!psc_slice_is_null(version) && (!psc_slice_u64(version, &number) || number != 1))
        return psc_fail(reterr, PSC_ERR_PARSE, "version %" PRIu64 ", this program reads 1", number);
    formats[s.kind].read(&part, text, &s);
    if (part.status) {
        if (reterr)
            *reterr = error;
        return part.status;
    }
    read_words(&part, text, &s);
    if (part.status) {
        if (reterr)
            *reterr = error;
        return part.status;
    }
    graph = psc_slice_find(text, "graph");
    if (psc_slice_is_object(graph))
        status = psc_graph_read(arena, bytes, graph, "graph", report, &s.graph, reterr);
    if (!status)
        *ret = s;
    return status;
}

static enum psc_status name_the_file(const char *name, enum psc_status status, struct psc_error *reterr)
{
    if (status == PSC_OK || status == PSC_ERR_NOMEM || !reterr)
        return status;
    struct psc_error err = *reterr;
    return psc_fail_at(reterr, status, err.line, err.column, err.byte, "%s: %s", name, err.text);
}

enum psc_status psc_scenario_read_memory(struct psc_arena *arena, const char *name, const char *bytes, size_t n,
                                         struct psc_report *report, struct psc_scenario *ret, struct psc_error *reterr)
{
    enum psc_status status = n ? read_text(arena, bytes, n, report, ret, reterr)
                               : psc_fail(reterr, PSC_ERR_PARSE, "file is empty (0 bytes)");
    return name_the_file(name, status, reterr);
}

enum psc_status psc_scenario_read(struct psc_arena *arena, const char *path, struct psc_report *report,
                                  struct psc_scenario *ret, struct psc_error *reterr)
{
    struct psc_source source;
    const char *slash = strrchr(path, '/'), *name = slash && slash[1] ? slash + 1 : path;
    enum psc_status status = psc_source_map(&source, path, reterr);
    if (status != PSC_OK)
        return name_the_file(name, status, reterr);
    status = psc_scenario_read_memory(arena, name, source.s, source.n, report, ret, reterr);
    psc_source_release(&source);
    return status;
}

enum psc_status psc_scenario_play(struct psc_arena *arena, const struct psc_scenario *scenario, struct psc_report *report,
                                  struct psc_scenario_answer *ret, struct psc_error *reterr)
{
    struct psc_scenario_answer answer = {0};
    enum psc_status status = formats[scenario->kind].play(arena, scenario, report, &answer, reterr);
    if (!status)
        *ret = answer;
    return status;
}

/* ---- the document --------------------------------------------------------------------------------------- */

static const char *note_of(struct psc_arena *arena, const struct psc_scenario *s, const struct psc_scenario_answer *a,
                           uint32_t story, bool *nomem)
{
    const struct psc_capture_answer *replay = s->kind == PSC_SCENARIO_CAPTURE && story ? &a->capture[story - 1] : NULL;
    char text[160];
    if (replay && replay->reuse)
        snprintf(text, sizeof text, "The recording can be used again.");
    else if (replay)
        snprintf(text, sizeof text, "A new capture is needed: node %llu, %s.", (unsigned long long)replay->node, replay->field);
    else if (s->kind == PSC_SCENARIO_ARENA)
        snprintf(text, sizeof text, "%llu blocks for %u operations, %u refused, %llu evicted.",
                 (unsigned long long)(a->arena.exec.blocks + a->arena.io.blocks), s->arena.op_n, a->arena.error_n,
                 (unsigned long long)(a->arena.exec.evicted + a->arena.io.evicted));
    else if (s->kind == PSC_SCENARIO_SCHED)
        snprintf(text, sizeof text, "%u %s.", a->races.n, a->races.n == 1 ? "race" : "races");
    else
        return NULL;
    const char *copy = psc_arena_strdup(arena, text);
    *nomem = *nomem || !copy;
    return copy;
}

enum psc_status psc_scenario_load(struct psc_doc *doc, const char *bytes, size_t n, struct psc_error *reterr)
{
    struct psc_scenario s;
    struct psc_scenario_answer a = {0};
    struct psc_report report = {0};
    bool nomem = false;
    enum psc_status status = read_text(&doc->arena, bytes, n, &doc->report, &s, reterr);
    if (!status)
        status = psc_scenario_play(&doc->arena, &s, &report, &a, reterr);
    for (size_t i = 0; !status && i < report.n; i++) /* what is wrong in the scenario is not wrong with the file */
        if (report.items[i].level != PSC_NOTE)
            psc_report_add(&doc->report, PSC_WARNING, 0, 0, UINT64_MAX, "%s", report.items[i].text);
    psc_report_release(&report);
    if (status)
        return status;
    doc->phase_n = a.story_n + (s.graph != NULL);
    doc->phases = psc_arena_alloc0(&doc->arena, doc->phase_n, sizeof *doc->phases);
    if (!doc->phases) {
        doc->phase_n = 0;
        return psc_fail_nomem(reterr);
    }
    for (uint32_t p = 0; p < a.story_n; p++) {
        char kind[32];
        if (p)
            snprintf(kind, sizeof kind, "replay %u", p - 1);
        else
            snprintf(kind, sizeof kind, "%s", formats[s.kind].kind);
        doc->phases[p].kind = psc_arena_strdup(&doc->arena, kind);
        doc->phases[p].story = a.stories[p];
        doc->phases[p].note = s.note && !p ? s.note : s.lesson[0] ? NULL : note_of(&doc->arena, &s, &a, p, &nomem);
        memcpy(doc->phases[p].lesson, s.lesson, sizeof s.lesson);
        nomem = nomem || !doc->phases[p].kind;
    }
    if (s.graph) {
        doc->phases[a.story_n].kind = "graph";
        doc->phases[a.story_n].graph = s.graph;
    }
    doc->format = formats[s.kind].format;
    doc->version = 1;
    return nomem || doc->report.failed ? psc_fail_nomem(reterr) : PSC_OK;
}
