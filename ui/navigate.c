#include "ui/navigate.h"

#include "core/base/text.h"
#include "ui/filter.h"
#include "ui/workspace-phases.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct psc_history *history_of(PscWorkspace *ws)
{
    PscStudy *study = psc_workspace_study(ws);
    return study ? study->analysis->history : NULL;
}

static bool step_to(PscWorkspace *ws, int32_t position)
{
    int32_t before = psc_workspace_cursor(ws);
    psc_workspace_step_to(ws, position);
    return psc_workspace_cursor(ws) != before;
}

bool psc_navigate_by(PscWorkspace *ws, int ops)
{
    return psc_workspace_study(ws) && step_to(ws, psc_workspace_cursor(ws) + ops);
}

static int32_t layer_at(const PscStudy *study, int32_t position)
{
    psc_node node = psc_study_node_at(study, position);
    return node < study->node_n ? study->graph->nodes[node].layer : -1;
}

static uint32_t split_at(const PscStudy *study, int32_t position)
{
    const struct psc_plan *plan = study->analysis->plan;
    psc_node node = psc_study_node_at(study, position);
    uint32_t from = 0, to = plan && node != PSC_NONE ? plan->split_n : 0;
    while (from < to) { /* the first split that does not end before the node */
        uint32_t middle = from + (to - from) / 2;
        if (plan->splits[middle].last < node)
            from = middle + 1;
        else
            to = middle;
    }
    return plan && from < plan->split_n ? from : PSC_NONE;
}

/* True when an op of another group stands before this one: a place to stop at. */
static bool begins(const PscStudy *study, int32_t position, bool by_split)
{
    if (position <= 0)
        return position == 0;
    return by_split ? split_at(study, position) != split_at(study, position - 1)
                    : layer_at(study, position) != layer_at(study, position - 1);
}

static bool to_group(PscWorkspace *ws, int direction, bool by_split)
{
    PscStudy *study = psc_workspace_study(ws);
    if (!study)
        return false;
    int32_t end = psc_study_end(study), p = psc_workspace_cursor(ws) + direction;
    while (p > -1 && p < end && !begins(study, p, by_split))
        p += direction;
    return step_to(ws, p);
}

bool psc_navigate_layer(PscWorkspace *ws, int direction)
{
    return to_group(ws, direction, false);
}

bool psc_navigate_split(PscWorkspace *ws, int direction)
{
    return to_group(ws, direction, true);
}

bool psc_navigate_end(PscWorkspace *ws, int direction)
{
    PscStudy *study = psc_workspace_study(ws);
    return study && step_to(ws, direction < 0 ? -1 : psc_study_end(study) - 1);
}

bool psc_navigate_peak(PscWorkspace *ws)
{
    const struct psc_history *history = history_of(ws);
    return history && step_to(ws, history->used_peak_at); /* the one that curve and status speak of */
}

bool psc_navigate_bytes(PscWorkspace *ws, uint32_t *ret_buffer, uint64_t *ret_lo, uint64_t *ret_hi)
{
    PscStudy *study = psc_workspace_study(ws);
    PscSelection selection = psc_workspace_selection(ws);
    if (!history_of(ws))
        return false;
    const struct psc_tenancy *t = psc_study_tenancy(study, selection.node);
    if (t) {
        *ret_buffer = t->buffer;
        *ret_lo = t->lo;
        *ret_hi = t->hi;
        return true;
    }
    if (selection.buffer == PSC_NONE)
        return false;
    *ret_buffer = selection.buffer;
    *ret_lo = 0;
    *ret_hi = UINT64_MAX;
    return true;
}

static bool to_event(PscWorkspace *ws, uint32_t event)
{
    if (event == PSC_NONE)
        return false;
    int32_t before = psc_workspace_cursor(ws);
    psc_workspace_set_cursor(ws, history_of(ws)->story->events[event].position);
    return psc_workspace_cursor(ws) != before;
}

static uint32_t prev_writer(const struct psc_history *h, uint32_t buffer, uint64_t lo, uint64_t hi, int32_t at)
{
    return psc_history_last_writer(h, buffer, lo, hi, at);
}

bool psc_navigate_access(PscWorkspace *ws, int direction, bool writes_only)
{
    const struct psc_history *h = history_of(ws);
    uint32_t buffer;
    uint64_t lo, hi;
    int32_t at = psc_workspace_cursor(ws);
    if (!psc_navigate_bytes(ws, &buffer, &lo, &hi))
        return false;
    if (writes_only)
        return to_event(ws, direction < 0 ? prev_writer(h, buffer, lo, hi, at)
                                          : psc_history_next_writer(h, buffer, lo, hi, at));
    return to_event(ws, direction < 0 ? psc_history_prev_access(h, buffer, at)
                                      : psc_history_next_access(h, buffer, at));
}

bool psc_navigate_last_writer(PscWorkspace *ws)
{
    uint32_t buffer;
    uint64_t lo, hi;
    return psc_navigate_bytes(ws, &buffer, &lo, &hi) &&
           to_event(ws, prev_writer(history_of(ws), buffer, lo, hi, psc_workspace_cursor(ws)));
}

bool psc_navigate_next_reader(PscWorkspace *ws)
{
    uint32_t buffer;
    uint64_t lo, hi;
    return psc_navigate_bytes(ws, &buffer, &lo, &hi) &&
           to_event(ws, psc_history_next_reader(history_of(ws), buffer, lo, hi, psc_workspace_cursor(ws)));
}

uint32_t psc_navigate_problem_n(PscWorkspace *ws, uint32_t *ret_clobbers, uint32_t *ret_records)
{
    PscStudy *study = psc_workspace_study(ws);
    PscRecords *records = psc_workspace_records(ws);
    uint32_t clobbers = study ? study->analysis->check.finding_n : 0;
    uint32_t overwritten = records ? records->check.overwritten : 0;
    if (ret_clobbers)
        *ret_clobbers = clobbers;
    if (ret_records)
        *ret_records = overwritten;
    return clobbers + overwritten;
}

/* The place of the selection in the ring clobbers, then overwritten records; -1 when it is not in it. */
static int64_t problem_index(PscWorkspace *ws, uint32_t clobbers)
{
    PscSelection selection = psc_workspace_selection(ws);
    PscRecords *records = psc_workspace_records(ws);
    if (selection.finding >= 0)
        return selection.finding;
    int64_t index = clobbers;
    for (uint32_t i = 0; records && selection.node != PSC_NONE && i < records->check.n; i++) {
        if (records->check.list[i].verdict != PSC_RECORD_OVERWRITTEN)
            continue;
        if (records->check.list[i].node == selection.node)
            return index;
        index++;
    }
    return -1;
}

static psc_node overwritten_node(const PscRecords *records, uint32_t index)
{
    for (uint32_t i = 0; i < records->check.n; i++)
        if (records->check.list[i].verdict == PSC_RECORD_OVERWRITTEN && index-- == 0)
            return records->check.list[i].node;
    return PSC_NONE;
}

static bool to_invariant(PscWorkspace *ws, int direction, bool wraps)
{
    PscStudy *study = psc_workspace_study(ws);
    const struct psc_story *story = study ? study->analysis->story : NULL;
    int32_t cursor = psc_workspace_cursor(ws), next = 0, around = 0; /* behind the cursor; the first or last of all */
    bool has_next = false, has_any = false;
    for (uint32_t i = 0; story && i < story->alarm_n; i++) {
        const struct psc_story_alarm *alarm = &story->alarms[direction > 0 ? i : story->alarm_n - 1 - i];
        if (!alarm->broken)
            continue;
        int32_t at = alarm->after ? story->events[alarm->after - 1].position : -1;
        if (!has_any)
            around = at, has_any = true;
        if (direction > 0 ? at > cursor : at < cursor) {
            next = at, has_next = true;
            break;
        }
    }
    if (!has_next && !(has_any && wraps))
        return false;
    psc_workspace_step_to(ws, has_next ? next : around);
    return true;
}

bool psc_navigate_invariant(PscWorkspace *ws, int direction)
{
    return to_invariant(ws, direction, true);
}

bool psc_navigate_problem(PscWorkspace *ws, int direction)
{
    uint32_t clobbers, n = psc_navigate_problem_n(ws, &clobbers, NULL);
    if (n == 0)
        return to_invariant(ws, direction, false) || psc_workspace_go_to_wrong(ws, direction) || to_invariant(ws, direction, true);
    int64_t at = problem_index(ws, clobbers);
    if (at == (direction > 0 ? (int64_t)n - 1 : 0) && psc_workspace_go_to_wrong(ws, direction))
        return true;
    at = at < 0 ? (direction > 0 ? 0 : (int64_t)n - 1) : (at + direction + n) % n;
    if ((uint32_t)at < clobbers) {
        psc_workspace_select_finding(ws, (int)at);
        return true;
    }
    psc_node node = overwritten_node(psc_workspace_records(ws), (uint32_t)at - clobbers);
    psc_workspace_select_node(ws, node);
    psc_workspace_set_cursor(ws, psc_workspace_study(ws)->position_of[node]);
    return true;
}

bool psc_navigate_row(PscWorkspace *ws, int direction)
{
    PscStudy *study = psc_workspace_study(ws);
    const struct psc_story *story = study ? study->analysis->story : NULL;
    if (!story || story->buffer_n == 0)
        return false;
    uint32_t buffer = psc_workspace_selection(ws).buffer;
    if (buffer == PSC_NONE)
        buffer = direction > 0 ? 0 : story->buffer_n - 1;
    else if (direction < 0 ? buffer == 0 : buffer + 1 >= story->buffer_n)
        return false;
    else
        buffer = direction < 0 ? buffer - 1 : buffer + 1;
    psc_workspace_select_buffer(ws, buffer);
    return true;
}

static bool go_to_buffer(PscWorkspace *ws, const char *text)
{
    const struct psc_story *story = psc_workspace_study(ws)->analysis->story;
    bool is_address = strncmp(text, "0x", 2) == 0;
    char *end = NULL;
    uint64_t address = is_address ? g_ascii_strtoull(text + 2, &end, 16) : 0;
    if (is_address && *end)
        return false;
    for (uint32_t b = 0; story && b < story->buffer_n; b++) {
        const struct psc_buffer *buffer = &story->buffers[b];
        bool found = is_address ? buffer->role != PSC_ROLE_PERSISTENT && address >= buffer->base &&
                                      address - buffer->base < buffer->bytes
                                : buffer->name && strcmp(buffer->name, text) == 0;
        if (found) {
            psc_workspace_select_buffer(ws, b);
            return true;
        }
    }
    return false;
}

static bool go_to_name(PscWorkspace *ws, const char *text)
{
    PscStudy *study = psc_workspace_study(ws);
    PscFilter *filter = psc_filter_new(text);
    int32_t n = psc_study_end(study), from = psc_workspace_cursor(ws) + 1;
    psc_node found = PSC_NONE;
    for (int32_t i = 0; i < n && found == PSC_NONE; i++) {
        psc_node node = psc_study_node_at(study, (from + i) % n);
        if (psc_filter_node(filter, study, node))
            found = node;
    }
    psc_filter_free(filter);
    if (found == PSC_NONE)
        return false;
    psc_workspace_select_node(ws, found);
    psc_workspace_set_cursor(ws, study->position_of[found]);
    return true;
}

bool psc_navigate_go_to(PscWorkspace *ws, const char *text)
{
    PscStudy *study = psc_workspace_study(ws);
    char *words = g_strstrip(g_strdup(text));
    const char *number = words[0] == '#' ? words + 1 : words;
    char *end = NULL;
    bool went = false;
    if (study && *words) {
        errno = 0;
        gint64 value = g_ascii_strtoll(number, &end, 10);
        bool is_number = end != number && errno == 0;
        if (is_number && *end == '\0' && value >= -1 && value < psc_study_end(study)) {
            bool is_node = value >= 0 && value < study->node_n;
            psc_workspace_step_to(ws, is_node ? study->position_of[value] : (int32_t)value);
            went = true;
        } else if (is_number && strcmp(end, "%") == 0 && value >= 0 && value <= 100) {
            psc_workspace_step_to(ws, (int32_t)(value * (psc_study_end(study) - 1) / 100));
            went = true;
        } else if (!is_number || *end == 'x') {
            went = go_to_buffer(ws, words) || (study->node_n && go_to_name(ws, words));
        }
    }
    g_free(words);
    return went;
}
