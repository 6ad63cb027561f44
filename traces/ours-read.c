#include "core/plan/plan.h"
#include "traces/plan-json.h"
#include "traces/run-json.h"
#include "traces/settings.h"
#include "traces/story-json.h"
#include "traces/trace.h"

#include <string.h>

static void read_capture(const struct psc_settings *s, struct psc_phase *phase)
{
    const char *text = psc_settings_string(s, "capture");
    if (text && strcmp(text, "node") == 0)
        phase->capture = PSC_CAPTURE_NODE;
    else if (text && strcmp(text, "split") == 0)
        phase->capture = PSC_CAPTURE_SPLIT;
}

static void read_slots(const struct psc_settings *s, struct psc_phase *phase)
{
    const char *text = psc_settings_string(s, "slots");
    for (int i = 0; text && i < PSC_SLOTS_N; i++)
        if (strcmp(text, psc_slots_name((enum psc_slots)i)) == 0) {
            phase->slots = (enum psc_slots)i;
            phase->has_slots = i != PSC_SLOTS_RANDOM || psc_settings_u64(s, "slots_seed", &phase->slots_seed);
        }
}

static const char *keep(struct psc_arena *arena, const char *text, bool *nomem)
{
    const char *copy = psc_arena_strdup(arena, text);
    if (text && !copy)
        *nomem = true;
    return copy;
}

static bool read_settings(struct psc_arena *arena, struct psc_slice text, struct psc_phase *phase)
{
    struct psc_settings s;
    bool nomem = false;
    const char *lesson[3] = {NULL, NULL, NULL};
    if (!psc_settings_init(&s, text))
        return false;
    read_capture(&s, phase);
    read_slots(&s, phase);
    phase->true_backend = keep(arena, psc_settings_string(&s, "backend"), &nomem);
    phase->note = keep(arena, psc_settings_string(&s, "note"), &nomem);
    psc_settings_strings(&s, "lesson", lesson, 3);
    for (int i = 0; i < 3; i++)
        phase->lesson[i] = keep(arena, lesson[i], &nomem);
    psc_settings_release(&s);
    return !nomem;
}

/* A part that cannot be used is a warning: the trace itself is as good as without it. */
static enum psc_status tolerate(enum psc_status status, const char *part, const struct psc_error *err,
                                struct psc_report *report, struct psc_error *reterr)
{
    if (status == PSC_ERR_NOMEM)
        return psc_fail_nomem(reterr);
    if (status != PSC_OK)
        psc_report_add(report, PSC_WARNING, 0, 0, UINT64_MAX, "planscope.%s is not used: %s", part,
                       err->text);
    return PSC_OK;
}

static enum psc_status read_plan(struct psc_arena *arena, struct psc_slice text, struct psc_phase *phase,
                                 struct psc_report *report, struct psc_error *reterr)
{
    struct psc_arena scratch = {0};
    struct psc_foreign foreign;
    struct psc_error err;
    enum psc_status status = psc_plan_read_slice(&scratch, text, &foreign, &err);
    if (status == PSC_OK)
        status = phase->graph ? psc_plan_from_foreign(arena, phase->graph, &foreign, &phase->plan, &err)
                              : psc_fail(&err, PSC_ERR_PLAN, "the phase has no graph");
    status = tolerate(status, "plan", &err, report, reterr);
    psc_arena_release(&scratch);
    return status;
}

static enum psc_status read_events(struct psc_arena *arena, struct psc_slice text, struct psc_phase *phase,
                                   struct psc_report *report, struct psc_error *reterr)
{
    struct psc_error err;
    enum psc_status status = psc_story_read(arena, text, phase->graph, &phase->story, &err);
    return tolerate(status, "events", &err, report, reterr);
}

static enum psc_status read_kv(struct psc_arena *arena, struct psc_slice text, struct psc_phase *phase,
                               struct psc_report *report, struct psc_error *reterr)
{
    struct psc_error err;
    enum psc_status status = psc_kv_layout_read(arena, text, &phase->kv, &err);
    return tolerate(status, "kv", &err, report, reterr);
}

static bool is_big(struct psc_slice key)
{
    return psc_slice_is_key(key, "plan") || psc_slice_is_key(key, "events") || psc_slice_is_key(key, "kv");
}

/* A setting that says nothing is a warning, too. */
static void tell_unread(struct psc_slice settings, const char *key, bool read, const char *right,
                        struct psc_report *report)
{
    if (!read && !psc_slice_is_null(psc_slice_find(settings, key)))
        psc_report_add(report, PSC_WARNING, 0, 0, UINT64_MAX, "planscope.%s is not used: %s would be", key, right);
}

static enum psc_status read_small(struct psc_arena *arena, struct psc_slice ours, struct psc_phase *phase,
                                  struct psc_report *report, struct psc_error *reterr)
{
    struct psc_slice key, v;
    struct psc_text small = {0};
    struct psc_cursor c = psc_cursor_open(ours);
    psc_text_add(&small, "{");
    while (psc_cursor_member(&c, &key, &v)) {
        if (is_big(key))
            continue;
        if (small.n > 1)
            psc_text_add(&small, ",");
        psc_member_add(&small, key, v);
    }
    psc_text_add(&small, "}");
    struct psc_slice settings = {small.s, small.n};
    bool ok = !small.failed && read_settings(arena, settings, phase);
    if (ok) {
        tell_unread(settings, "capture", phase->capture != PSC_CAPTURE_UNKNOWN, "node or split", report);
        tell_unread(settings, "slots", phase->has_slots, "lowest, fifo, lifo, or random with slots_seed", report);
    }
    psc_text_release(&small);
    return ok ? PSC_OK : psc_fail_nomem(reterr);
}

enum psc_status psc_ours_read(struct psc_arena *arena, struct psc_slice ours, struct psc_phase *phase,
                              struct psc_report *report, struct psc_error *reterr)
{
    if (!psc_slice_is_object(ours)) {
        psc_report_add(report, PSC_WARNING, 0, 0, UINT64_MAX,
                       "the key \"planscope\" of a phase holds %s, not an object: not read",
                       psc_slice_kind(ours));
        return PSC_OK;
    }
    struct psc_slice plan = psc_slice_find(ours, "plan"), events = psc_slice_find(ours, "events"),
                     kv = psc_slice_find(ours, "kv");
    enum psc_status status = read_small(arena, ours, phase, report, reterr);
    if (status == PSC_OK && !psc_slice_is_null(kv))
        status = read_kv(arena, kv, phase, report, reterr);
    if (status == PSC_OK && !psc_slice_is_null(plan))
        status = read_plan(arena, plan, phase, report, reterr);
    if (status == PSC_OK && !psc_slice_is_null(events))
        status = read_events(arena, events, phase, report, reterr);
    return status;
}
