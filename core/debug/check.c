#include "core/debug/check.h"

#include "core/base/mem.h"
#include "core/debug/replay.h"

#include <stdlib.h>
#include <string.h>

const char *psc_kind_name(enum psc_kind kind)
{
    static const char *const names[] = {"K?", "K1", "K2", "K3", "K4", "K5", "K6", "K7", "K8", "K9", "K10"};
    return names[kind >= PSC_K1 && kind <= PSC_K10 ? kind : 0];
}

const char *psc_kind_text(enum psc_kind kind)
{
    static const char *const texts[] = {
        "clobber",         "early free",      "order mismatch", "lost before the walk", "hidden alias",
        "unsafe in place", "lanes unordered", "size mistake",   "persistent misuse",    "wrong result",
        "memory wasted",
    };
    return texts[kind >= PSC_K1 && kind <= PSC_K10 ? kind : 0];
}

const char *psc_confidence_name(enum psc_confidence c)
{
    static const char *const names[] = {"proved", "confirmed", "possible"};
    return names[c <= PSC_POSSIBLE ? c : PSC_POSSIBLE];
}

const char *psc_reader_name(enum psc_reader reader)
{
    static const char *const names[] = {"node", "export", "rerun", "host"};
    return names[reader <= PSC_READER_HOST ? reader : PSC_READER_HOST];
}

/* ---- which kind ---------------------------------------------------------------------------------- */

/* Neither range holds the other: only a mistake about sizes or offsets makes that. */
static bool crosses(const struct psc_event *a, const struct psc_event *b)
{
    return a->buffer == b->buffer && a->lo < b->hi && b->lo < a->hi &&
           ((a->lo < b->lo && a->hi < b->hi) || (b->lo < a->lo && b->hi < a->hi));
}

static bool is_special(enum psc_value_kind kind)
{
    return kind == PSC_VALUE_REGION || kind == PSC_VALUE_CALLER || kind == PSC_VALUE_CELL ||
           kind == PSC_VALUE_STAGING;
}

/* Where a node stands in the executed order. */
static int32_t place_of(const struct psc_replay *r, psc_node node)
{
    if (node == PSC_NONE || node >= r->place_n)
        return INT32_MAX;
    return r->place ? (int32_t)r->place[node] : (int32_t)node;
}

static bool lost_before_walk(const struct psc_replay *r, const struct psc_finding *f)
{
    const struct psc_event *events = r->story->events;

    if (f->write_event == PSC_NONE || r->story->values[f->victim_value].kind != PSC_VALUE_FILL)
        return false;
    return events[f->write_event].kind == PSC_EV_FILL ||
           events[f->write_event].position < place_of(r, f->victim);
}

static bool wrong_size(const struct psc_replay *r, const struct psc_suspect *s)
{
    const struct psc_story *story = r->story;
    const struct psc_finding *f = &s->finding;

    if (s->partial)
        return true;
    if (f->write_event == PSC_NONE)
        return s->victim_event != PSC_NONE && !s->async && s->victim_event != f->read_event;
    const struct psc_event *w = &story->events[f->write_event];
    if (psc_shadow_vanishes(w->kind))
        return false;
    return w->hi > story->buffers[w->buffer].bytes ||
           (s->victim_event != PSC_NONE && crosses(w, &story->events[s->victim_event]));
}

/* True when the planner's own order has the read before the write. */
static bool other_order(const struct psc_replay *r, const struct psc_suspect *s)
{
    const struct psc_finding *f = &s->finding;

    if (f->write_event == PSC_NONE && s->victim_event == PSC_NONE)
        return s->written_later;
    if (!r->believed || f->reader_kind != PSC_READER_NODE || f->reader >= r->place_n || f->writer >= r->place_n)
        return false;
    return r->believed[f->reader] < r->believed[f->writer];
}

static enum psc_kind kind_of(const struct psc_replay *r, const struct psc_suspect *s)
{
    const struct psc_value *values = r->story->values;
    const struct psc_finding *f = &s->finding;
    enum psc_value_kind victim = values[f->victim_value].kind;

    if (s->async && r->story->executor == PSC_EXEC_QUEUES)
        return PSC_K6;
    if (wrong_size(r, s))
        return PSC_K7;
    if (lost_before_walk(r, f))
        return PSC_K3;
    if (victim == PSC_VALUE_CELL && s->victim_event == PSC_NONE)
        return PSC_K8;
    if (f->writer_value != PSC_NONE) {
        enum psc_value_kind writer = values[f->writer_value].kind;
        if (victim != writer && (is_special(victim) || is_special(writer)))
            return PSC_K8;
    }
    if (s->async)
        return PSC_K6;
    bool given_back = f->write_event != PSC_NONE && psc_shadow_vanishes(r->story->events[f->write_event].kind);
    if (f->overlap_only || (s->over_operand && !given_back))
        return PSC_K5;
    if (s->through_view)
        return PSC_K4;
    return other_order(r, s) ? PSC_K2 : PSC_K1;
}

static int by_write_event(const void *a, const void *b)
{
    const struct psc_suspect *x = a, *y = b;

    if (x->finding.write_event != y->finding.write_event)
        return x->finding.write_event < y->finding.write_event ? -1 : 1;
    return x->serial < y->serial ? -1 : 1;
}

static bool same_turn(const struct psc_event *a, const struct psc_event *b)
{
    return a->run == b->run && a->phase == b->phase && a->position == b->position;
}

/* Did the op that wrote over the victim read it at the same position? Findings come sorted by the event
 * that wrote, so the reads of one position are looked at once. */
static enum psc_status find_operands(struct psc_replay *r, struct psc_error *reterr)
{
    const struct psc_story *story = r->story;
    const struct psc_event *events = story->events;
    uint32_t *read_at = psc_arena_alloc(&r->scratch, story->value_n, sizeof *read_at);
    uint32_t turn = 0, turn_end = 0;

    if (!read_at)
        return psc_fail_nomem(reterr);
    memset(read_at, 0xff, (size_t)story->value_n * sizeof *read_at);
    for (size_t i = 0; i < r->suspect_n; i++) {
        struct psc_suspect *s = &r->suspects[i];
        uint32_t w = s->finding.write_event;
        if (w == PSC_NONE || events[w].node == PSC_NONE)
            continue;
        if (w >= turn_end) {
            for (turn = w; turn > 0 && same_turn(&events[turn - 1], &events[w]); turn--)
                ;
            for (turn_end = turn; turn_end < story->event_n && same_turn(&events[turn_end], &events[w]); turn_end++) {
                const struct psc_event *e = &events[turn_end];
                if (e->value == PSC_NONE)
                    continue;
                if (e->kind == PSC_EV_READ || e->kind == PSC_EV_ROWS_READ)
                    read_at[psc_replay_root(story, e->value)] = turn;
                else if ((e->kind == PSC_EV_ALIAS || e->kind == PSC_EV_TAKEOVER) && e->peer != PSC_NONE)
                    read_at[psc_replay_root(story, e->peer)] = turn;
            }
        }
        s->over_operand = read_at[s->finding.victim_value] == turn;
    }
    return PSC_OK;
}

/* ---- the answer ------------------------------------------------------------------------------------ */

static int by_place(const void *a, const void *b)
{
    const struct psc_suspect *x = a, *y = b;
    const struct psc_finding *f = &x->finding, *g = &y->finding;

    if (f->run != g->run)
        return f->run < g->run ? -1 : 1;
    if (f->phase != g->phase)
        return f->phase < g->phase ? -1 : 1;
    if (f->position != g->position)
        return f->position < g->position ? -1 : 1;
    if (f->read_position != g->read_position)
        return f->read_position < g->read_position ? -1 : 1;
    if (f->reader != g->reader)
        return f->reader < g->reader ? -1 : 1;
    return x->serial < y->serial ? -1 : x->serial > y->serial;
}

static enum psc_status answer(struct psc_replay *r, struct psc_arena *arena, struct psc_check *ret,
                              struct psc_error *reterr)
{
    enum psc_status status = PSC_OK;
    struct psc_finding *findings = psc_arena_alloc(arena, r->suspect_n, sizeof *findings);

    if (!findings)
        return psc_fail_nomem(reterr);
    if (r->suspect_n) {
        qsort(r->suspects, r->suspect_n, sizeof *r->suspects, by_write_event);
        status = find_operands(r, reterr);
        if (status)
            return status;
        for (size_t i = 0; i < r->suspect_n; i++)
            r->suspects[i].finding.kind = kind_of(r, &r->suspects[i]);
        qsort(r->suspects, r->suspect_n, sizeof *r->suspects, by_place);
    }
    for (size_t i = 0; i < r->suspect_n; i++)
        findings[i] = r->suspects[i].finding;
    *ret = (struct psc_check){findings, (uint32_t)r->suspect_n, r->read_n, r->wrong_n, r->dropped_n};
    return PSC_OK;
}

enum psc_status psc_check_story(struct psc_arena *arena, const struct psc_graph *graph, const struct psc_story *story,
                                struct psc_check *ret, struct psc_error *reterr)
{
    struct psc_replay replay;
    enum psc_status status = psc_replay_run(&replay, graph, story, reterr);

    if (!status && story->executor == PSC_EXEC_LEVEL && story->level)
        status = psc_replay_races(&replay, reterr);
    if (!status && story->executor == PSC_EXEC_QUEUES)
        status = psc_replay_queues(&replay, reterr);
    if (!status)
        status = answer(&replay, arena, ret, reterr);
    psc_replay_release(&replay);
    return status;
}
