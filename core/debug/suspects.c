#include "core/debug/replay.h"

#include "core/base/mem.h"

/* Who wrote: the node that ran, else the node that the value belongs to (fills, copies). */
static psc_node writer_of(const struct psc_story *story, const struct psc_event *e)
{
    bool host = e->kind == PSC_EV_FILL || e->kind == PSC_EV_ENQUEUE || e->kind == PSC_EV_COPY;

    if (e->node != PSC_NONE && !host)
        return e->node;
    return e->value == PSC_NONE ? e->node : psc_replay_node_of(story, e->value);
}

static enum psc_reader reader_kind(const struct psc_story *story, const struct psc_event *e)
{
    if (e->kind == PSC_EV_EXPORT)
        return PSC_READER_EXPORT;
    if (e->kind == PSC_EV_HOST_READ)
        return PSC_READER_HOST;
    if (e->node != PSC_NONE || e->kind == PSC_EV_ENQUEUE || e->kind == PSC_EV_COPY || e->kind == PSC_EV_WAIT)
        return PSC_READER_NODE;
    return e->position >= (int32_t)story->position_n ? PSC_READER_RERUN : PSC_READER_HOST;
}

/* A copy is read for the node that first needs it: the one at the event's position when it names none. */
static psc_node reader_of(const struct psc_story *story, const struct psc_event *e)
{
    if (e->node != PSC_NONE || (e->kind != PSC_EV_ENQUEUE && e->kind != PSC_EV_COPY && e->kind != PSC_EV_WAIT))
        return e->node;
    return psc_story_node_at(story, e->position);
}

/* Commands of queues are no nodes: each pair of accesses is a case of its own. */
static bool same_case(const struct psc_story *story, const struct psc_finding *a, const struct psc_finding *b)
{
    if (story->executor == PSC_EXEC_QUEUES && (a->write_event != b->write_event || a->read_event != b->read_event))
        return false;
    return a->victim_value == b->victim_value && a->writer_value == b->writer_value && a->writer == b->writer &&
           a->reader == b->reader && a->reader_kind == b->reader_kind;
}

static void describe(const struct psc_replay *r, uint32_t victim, uint32_t write, uint32_t read, struct psc_suspect *s)
{
    const struct psc_story *story = r->story;
    struct psc_finding *f = &s->finding;
    const struct psc_event *w = write == PSC_NONE ? NULL : &story->events[write];
    const struct psc_event *e = read == PSC_NONE ? NULL : &story->events[read];
    const struct psc_event *at = w ? w : e;
    uint32_t last = r->last_write[victim];

    f->victim_value = victim;
    f->victim = psc_replay_node_of(story, victim);
    f->writer_value = w && !psc_shadow_vanishes(w->kind) ? w->value : PSC_NONE;
    f->writer = w ? writer_of(story, w) : PSC_NONE;
    f->reader_kind = e ? reader_kind(story, e) : PSC_READER_NODE;
    f->reader = e ? reader_of(story, e) : PSC_NONE;
    f->buffer = e && e->buffer != PSC_NONE && e->kind != PSC_EV_ENQUEUE ? e->buffer : at->buffer;
    f->run = at->run;
    f->phase = at->phase;
    f->position = at->position;
    f->read_position = e ? e->position : at->position;
    f->write_event = write;
    f->read_event = read;
    s->victim_event = last;
    f->victim_position = s->victim_event == PSC_NONE ? f->read_position : story->events[s->victim_event].position;
    f->confidence = s->async ? PSC_POSSIBLE : PSC_PROVED;
    s->through_view = e && e->value != PSC_NONE && story->values[e->value].is_view;
}

enum psc_status psc_replay_report(struct psc_replay *r, uint32_t victim, uint32_t write, uint32_t read, uint64_t lo,
                                  uint64_t hi, struct psc_suspect s, struct psc_error *reterr)
{
    uint32_t at, last = PSC_NONE;

    describe(r, victim, write, read, &s);
    struct psc_finding *f = &s.finding;
    uint64_t key = psc_hash_mix((uint64_t)f->victim_value << 32 | f->writer_value);
    key = psc_hash_mix(key ^ ((uint64_t)f->reader << 32 | f->writer)) ^ (uint64_t)f->reader_kind;

    for (at = psc_map_get(&r->seen, key, &at) ? at : PSC_NONE; at != PSC_NONE; at = r->suspects[at].next) {
        struct psc_finding *old = &r->suspects[at].finding;
        last = at;
        if (!same_case(r->story, old, f))
            continue;
        if (old->buffer == f->buffer) {
            old->lo = lo < old->lo ? lo : old->lo;
            old->hi = hi > old->hi ? hi : old->hi;
        }
        return PSC_OK;
    }
    if (r->suspect_n >= PSC_FINDINGS_MAX) {
        r->dropped_n++;
        return PSC_OK;
    }
    f->lo = lo;
    f->hi = hi;
    s.serial = (uint32_t)r->suspect_n;
    s.next = PSC_NONE;
    if (!psc_grow(&r->suspects, r->suspect_n + 1, &r->suspect_cap, sizeof *r->suspects))
        return psc_fail_nomem(reterr);
    if (last == PSC_NONE && !psc_map_put(&r->seen, key, s.serial, &at))
        return psc_fail_nomem(reterr);
    if (last != PSC_NONE)
        r->suspects[last].next = s.serial;
    r->suspects[r->suspect_n++] = s;
    return PSC_OK;
}
