#include "core/event/event.h"

#include "core/base/mem.h"

#include <stdio.h>

/* Ranks of the kinds inside one position. A kind with two places (staging at a split boundary) has both;
 * a kind without one (arena bookkeeping, the host's own reads) may stand anywhere. */
enum { ANYWHERE = -1, BOUNDARY = 0, R_WAIT, R_ALLOC, R_READ, R_TAKE, R_WRITE, R_CAPTURE, R_RELEASE, R_ENQUEUE, R_COPY,
       R_COMPLETE };

static int rank_of(enum psc_event_kind kind)
{
    switch (kind) {
    case PSC_EV_WAIT: return R_WAIT;
    case PSC_EV_ALLOC: return R_ALLOC;
    case PSC_EV_READ:
    case PSC_EV_ROWS_READ: return R_READ;
    case PSC_EV_VIEW:
    case PSC_EV_ALIAS:
    case PSC_EV_TAKEOVER: return R_TAKE;
    case PSC_EV_FILL:
    case PSC_EV_WRITE:
    case PSC_EV_ROWS_WRITE: return R_WRITE;
    case PSC_EV_CAPTURE: return R_CAPTURE;
    case PSC_EV_RELEASE: return R_RELEASE;
    case PSC_EV_ENQUEUE: return R_ENQUEUE;
    case PSC_EV_COPY: return R_COPY;
    case PSC_EV_COMPLETE: return R_COMPLETE;
    default: return ANYWHERE;
    }
}

static bool is_boundary(enum psc_event_kind kind)
{
    return kind == PSC_EV_ALLOC || kind == PSC_EV_ENQUEUE || kind == PSC_EV_COPY || kind == PSC_EV_COMPLETE;
}

static bool is_write(enum psc_event_kind kind)
{
    return kind == PSC_EV_FILL || kind == PSC_EV_WRITE || kind == PSC_EV_ROWS_WRITE;
}

static bool is_read(enum psc_event_kind kind)
{
    return kind == PSC_EV_READ || kind == PSC_EV_ROWS_READ || kind == PSC_EV_EXPORT || kind == PSC_EV_HOST_READ;
}

struct walk {
    const struct psc_story *s;
    uint32_t *writes; /* of each value so far */
    struct psc_error *reterr;
};

static enum psc_status broken(const struct walk *w, uint32_t e, const char *rule)
{
    return psc_fail(w->reterr, PSC_ERR_ORDER, "event %u (%s at position %d): %s", e,
                    psc_event_name((enum psc_event_kind)w->s->events[e].kind), w->s->events[e].position, rule);
}

static bool within(uint32_t index, uint32_t n)
{
    return index == PSC_NONE || index < n;
}

static enum psc_status check_edges(const struct walk *w)
{
    for (uint32_t i = 0; i < w->s->edge_n; i++)
        if (w->s->edges[i].from >= w->s->position_n || w->s->edges[i].to >= w->s->position_n)
            return psc_fail(w->reterr, PSC_ERR_ORDER, "edge %u: it names a position that does not exist", i);
    return PSC_OK;
}

static enum psc_status check_queued(const struct walk *w)
{
    for (uint32_t i = 0; i < w->s->queued_n; i++) {
        const struct psc_queued *q = &w->s->queued[i];
        const char *rule = NULL;
        if (q->lane >= w->s->lane_n)
            rule = "its lane does not exist";
        else if (q->first > q->last || q->last >= q->done || q->done > w->s->position_n)
            rule = "its positions must be first <= last < done <= n";
        else if (i && q->first <= w->s->queued[i - 1].last)
            rule = "it lies over the stretch before it";
        if (rule)
            return psc_fail(w->reterr, PSC_ERR_ORDER, "queued stretch %u: %s", i, rule);
    }
    return PSC_OK;
}

static enum psc_status check_values(const struct walk *w)
{
    const struct psc_story *s = w->s;
    for (uint32_t i = 0; i < s->value_n; i++) {
        const struct psc_value *v = &s->values[i];
        const char *rule = NULL;
        if (!within(v->of, s->value_n) || v->of == i)
            rule = "it names a root or source that does not exist";
        else if ((unsigned)v->kind >= PSC_VALUE_KIND_N)
            rule = "its kind does not exist";
        else if (v->backend != PSC_BACKEND_NONE && v->backend >= s->backend_n)
            rule = "its backend does not exist";
        else if (v->is_view && v->of == PSC_NONE)
            rule = "a view names no root";
        else if (v->is_view && s->values[v->of].is_view)
            rule = "a view names another view instead of its root";
        if (rule)
            return psc_fail(w->reterr, PSC_ERR_ORDER, "value %u: %s", i, rule);
    }
    for (uint32_t i = 0; i < s->arena_n; i++)
        if (s->arenas[i].backend >= s->backend_n)
            return psc_fail(w->reterr, PSC_ERR_ORDER, "arena %u: its backend does not exist", i);
    for (uint32_t i = 0; i < s->alarm_n; i++)
        if (s->alarms[i].after > s->event_n || (i && s->alarms[i].after < s->alarms[i - 1].after))
            return psc_fail(w->reterr, PSC_ERR_ORDER, "alarm %u: it stands after an event that does not exist, or out of order", i);
    for (uint32_t i = 0; i < s->buffer_n; i++)
        if ((unsigned)s->buffers[i].role >= PSC_ROLE_N ||
            (s->buffers[i].backend != PSC_BACKEND_NONE && s->buffers[i].backend >= s->backend_n))
            return psc_fail(w->reterr, PSC_ERR_ORDER, "buffer %u: its role or backend does not exist", i);
    return PSC_OK;
}

/* References of one event: every index names something, spans are half-open. */
static const char *check_references(const struct psc_story *s, uint32_t at)
{
    const struct psc_event *e = &s->events[at];
    enum psc_event_kind kind = (enum psc_event_kind)e->kind;
    bool counts = is_write(kind) || is_read(kind);
    if (e->kind >= PSC_EV_N)
        return "its kind does not exist";
    if (!within(e->value, s->value_n) || (counts && e->value == PSC_NONE))
        return "it names no value that exists";
    if (!within(e->buffer, s->buffer_n) || (counts && e->buffer == PSC_NONE))
        return "it names no buffer that exists";
    if (e->lane >= s->lane_n && (s->lane_n || e->lane))
        return "its lane does not exist";
    if (e->slot != PSC_NONE && (e->owner >= PSC_OWNER_N || e->buffer == PSC_NONE))
        return "it names a slot of an arena, but no block of it or no owner that exists";
    if (e->lo > e->hi)
        return "its bytes end before they begin";
    if (e->cause != PSC_NONE && e->cause >= at)
        return "its cause does not stand before it";
    if (kind == PSC_EV_WAIT || kind == PSC_EV_COMPLETE) {
        if (e->peer >= at || s->events[e->peer].kind != PSC_EV_ENQUEUE)
            return "it waits for something that was not enqueued before it";
    } else if (kind == PSC_EV_CLOSE) {
        if (e->peer >= s->arena_n)
            return "it closes an arena that does not exist";
    } else if (!within(e->peer, s->value_n)) {
        return "its peer does not exist";
    }
    return NULL;
}

/* What an event may say of its value. */
static const char *check_value(struct walk *w, const struct psc_event *e)
{
    enum psc_event_kind kind = (enum psc_event_kind)e->kind;
    if (e->value == PSC_NONE)
        return NULL;
    const struct psc_value *v = &w->s->values[e->value];
    if (is_write(kind) && v->is_view)
        return "a view is never written by itself; its root is";
    if ((kind == PSC_EV_ROWS_WRITE || kind == PSC_EV_ROWS_READ) && v->kind != PSC_VALUE_REGION &&
        v->kind != PSC_VALUE_CELL)
        return "rows are those of a persistent region";
    if (is_write(kind) && e->version != w->writes[e->value]++)
        return "versions of a value count its writes from 0";
    return NULL;
}

static const char *check_place(const struct psc_story *s, const struct psc_event *e)
{
    enum psc_event_kind kind = (enum psc_event_kind)e->kind;
    if (e->position < -1 || e->position > (int64_t)s->position_n)
        return "its position is outside -1 .. n";
    if (kind == PSC_EV_FILL && e->position != -1)
        return "inputs are filled at -1";
    bool lends = kind == PSC_EV_EXPORT && s->values[e->value].node == PSC_NONE;
    if (kind == PSC_EV_EXPORT && e->position != (int64_t)s->position_n && !lends)
        return "outputs are exported at n";
    return NULL;
}

/* How far the events of one position have come. */
struct place {
    uint32_t phase_key; /* run and phase */
    int32_t position;
    int rank;
    uint32_t writes;
};

static const char *check_order(struct place *at, const struct psc_event *e)
{
    enum psc_event_kind kind = (enum psc_event_kind)e->kind;
    uint32_t key = (uint32_t)e->run << 16 | e->phase;
    if (key < at->phase_key)
        return "it belongs to an earlier run or phase";
    if (key != at->phase_key)
        *at = (struct place){key, -1, BOUNDARY, 0};
    if (e->position < at->position)
        return "positions never decrease inside one run and phase";
    if (e->position > at->position) {
        at->position = e->position;
        at->rank = BOUNDARY;
        at->writes = 0;
    }
    if (is_write(kind) && kind != PSC_EV_FILL && ++at->writes > PSC_WRITES_MAX)
        return "a position writes at most 1,024 times";
    int rank = rank_of(kind);
    if (rank == ANYWHERE || (at->rank == BOUNDARY && is_boundary(kind)))
        return NULL;
    if (rank < at->rank)
        return "events of a position stand in the order wait, alloc, read, alias, write, capture, release, "
               "enqueue, copy, complete";
    at->rank = rank;
    return NULL;
}

enum psc_status psc_story_check(const struct psc_story *story, struct psc_error *reterr)
{
    struct walk w = {story, psc_alloc0(story->value_n, sizeof *w.writes), reterr};
    if (!w.writes)
        return psc_fail_nomem(reterr);
    struct place at = {0, -1, BOUNDARY, 0};
    enum psc_status status = check_values(&w);
    if (status == PSC_OK)
        status = check_edges(&w);
    if (status == PSC_OK)
        status = check_queued(&w);
    for (uint32_t i = 0; i < story->event_n && status == PSC_OK; i++) {
        const struct psc_event *e = &story->events[i];
        const char *rule = check_references(story, i);
        if (!rule)
            rule = check_place(story, e);
        if (!rule)
            rule = check_order(&at, e);
        if (!rule)
            rule = check_value(&w, e);
        if (rule)
            status = broken(&w, i, rule);
    }
    psc_free(w.writes);
    return status;
}
