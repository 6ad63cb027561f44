/* Two nodes of one dependency level run at once: any byte that one writes and the other touches is a race. */
#include "core/debug/lanes.h"
#include "core/debug/replay.h"

#include <stdlib.h>
#include <string.h>

struct touch {
    uint64_t lo, hi;
    uint32_t run, level, buffer, event; /* run: run and phase together */
    bool writes;
};

/* The ranges of one kind (reads or writes) that reach beyond the current byte; some may have ended. */
struct open_set {
    const struct touch **items;
    size_t n;
};

static int by_bytes(const void *a, const void *b)
{
    const struct touch *x = a, *y = b;

    if (x->run != y->run)
        return x->run < y->run ? -1 : 1;
    if (x->level != y->level)
        return x->level < y->level ? -1 : 1;
    if (x->buffer != y->buffer)
        return x->buffer < y->buffer ? -1 : 1;
    if (x->lo != y->lo)
        return x->lo < y->lo ? -1 : 1;
    return x->event < y->event ? -1 : 1;
}

static bool touches(const struct psc_story *story, const struct psc_event *e)
{
    return (e->kind == PSC_EV_READ || e->kind == PSC_EV_WRITE || e->kind == PSC_EV_ROWS_READ ||
            e->kind == PSC_EV_ROWS_WRITE) &&
           e->node != PSC_NONE && e->value != PSC_NONE && e->buffer != PSC_NONE && e->lo < e->hi && e->position >= 0 &&
           e->position < (int32_t)story->position_n;
}

/* Rows of a persistent region are chosen by data: stores and loads of one level are not known to meet. */
static bool both_rows(const struct psc_event *a, const struct psc_event *b)
{
    bool ra = a->kind == PSC_EV_ROWS_READ || a->kind == PSC_EV_ROWS_WRITE;
    bool rb = b->kind == PSC_EV_ROWS_READ || b->kind == PSC_EV_ROWS_WRITE;

    return ra && rb;
}

static enum psc_status report_pair(struct psc_replay *r, const struct touch *x, const struct touch *y,
                                   struct psc_error *reterr)
{
    const struct psc_event *events = r->story->events;
    const struct touch *first = x->event < y->event ? x : y, *second = first == x ? y : x;
    struct psc_suspect facts = {.async = true};
    uint64_t lo = x->lo > y->lo ? x->lo : y->lo, hi = x->hi < y->hi ? x->hi : y->hi;

    if (events[x->event].node == events[y->event].node || both_rows(&events[x->event], &events[y->event]))
        return PSC_OK;
    if (!first->writes || !second->writes) {
        const struct touch *write = first->writes ? first : second, *read = first->writes ? second : first;
        uint32_t victim = psc_replay_root(r->story, events[read->event].value);
        if (victim == events[write->event].value)
            return PSC_OK; /* its own producer: an edge that the levels must have got wrong, found by the walk */
        return psc_replay_report(r, victim, write->event, read->event, lo, hi, facts, reterr);
    }
    uint32_t victim = events[first->event].value, writer = second->event;
    if (r->first_read[victim] == PSC_NONE && r->first_read[events[second->event].value] != PSC_NONE) {
        victim = events[second->event].value;
        writer = first->event;
    }
    if (victim == events[writer].value)
        return PSC_OK;
    return psc_replay_report(r, victim, writer, r->first_read[victim], lo, hi, facts, reterr);
}

/* Pairs `t` with every open range of the set; ranges that ended are taken out on the way. */
static enum psc_status pair_up(struct psc_replay *r, struct open_set *set, const struct touch *t,
                               struct psc_error *reterr)
{
    size_t kept = 0;
    enum psc_status status = PSC_OK;

    for (size_t i = 0; i < set->n; i++) {
        if (set->items[i]->hi <= t->lo)
            continue;
        set->items[kept++] = set->items[i];
        if (!status && r->suspect_n < PSC_FINDINGS_MAX)
            status = report_pair(r, set->items[i], t, reterr);
    }
    set->n = kept;
    return status;
}

enum psc_status psc_replay_races(struct psc_replay *r, struct psc_error *reterr)
{
    const struct psc_story *story = r->story;
    size_t n = 0, at = 0;
    enum psc_status status = PSC_OK;

    for (uint32_t i = 0; i < story->event_n; i++)
        n += touches(story, &story->events[i]);
    struct touch *list = psc_arena_alloc(&r->scratch, n, sizeof *list);
    struct open_set reads = {psc_arena_alloc(&r->scratch, n, sizeof *reads.items), 0};
    struct open_set writes = {psc_arena_alloc(&r->scratch, n, sizeof *writes.items), 0};
    if (!list || !reads.items || !writes.items)
        return psc_fail_nomem(reterr);
    for (uint32_t i = 0; i < story->event_n; i++) {
        const struct psc_event *e = &story->events[i];
        if (touches(story, e))
            list[at++] = (struct touch){e->lo,
                                        e->hi,
                                        (uint32_t)e->run << 16 | e->phase,
                                        story->level[e->position],
                                        e->buffer,
                                        i,
                                        e->kind == PSC_EV_WRITE || e->kind == PSC_EV_ROWS_WRITE};
    }
    if (n)
        qsort(list, n, sizeof *list, by_bytes);
    for (size_t i = 0; i < n && !status && r->suspect_n < PSC_FINDINGS_MAX; i++) {
        const struct touch *t = &list[i];
        if (i && (list[i - 1].run != t->run || list[i - 1].level != t->level || list[i - 1].buffer != t->buffer))
            reads.n = writes.n = 0;
        status = pair_up(r, &writes, t, reterr);
        if (!status && t->writes)
            status = pair_up(r, &reads, t, reterr);
        struct open_set *set = t->writes ? &writes : &reads;
        set->items[set->n++] = t;
    }
    return status;
}

/* Commands of lanes that nothing orders. The victim is what the reader wants, of two writers what the first made. */
enum psc_status psc_replay_queues(struct psc_replay *r, struct psc_error *reterr)
{
    const struct psc_event *events = r->story->events;
    struct psc_races races;
    enum psc_status status = psc_lanes_races(&r->scratch, r->story, &races, reterr);

    for (uint32_t i = 0; !status && i < races.n; i++) {
        const struct psc_race *race = &races.list[i];
        bool second_writes = psc_lanes_writes(&events[race->event_b]);
        uint32_t write = second_writes ? race->event_b : race->event_a;
        uint32_t other = second_writes ? race->event_a : race->event_b;
        struct psc_suspect facts = {.async = true};
        if (events[other].value != PSC_NONE)
            status = psc_replay_report(r, psc_replay_root(r->story, events[other].value), write, other, race->lo, race->hi,
                                       facts, reterr);
    }
    if (!status && races.cut)
        r->dropped_n++;
    return status;
}
