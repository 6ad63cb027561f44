#include "core/debug/arena-track.h"

#include "core/base/mem.h"

#include <stdlib.h>
#include <string.h>

struct psc_arena_record {
    struct psc_arena_slot_look is;
    uint32_t home, slot;
    uint64_t freed; /* when it became free, counted in events; 0: it is not */
};

/* While a track is made. */
struct making {
    struct psc_arena *arena, scratch;
    const struct psc_story *story;
    struct psc_arena_track *t;
    struct psc_arena_record *log;      /* in the order of events */
    struct psc_arena_record **now;     /* [arena_n][slot_n]: latest of each slot, NULL */
    uint64_t *capacity;                /* [buffer_n] */
    uint32_t *home_of;                 /* [backend_n]: arena, PSC_NONE */
    struct psc_arena_figures *figures; /* [arena_n] */
    struct psc_arena_point *points;
    uint32_t *latest;
    uint32_t n;
};

/* ---- what counts ---------------------------------------------------------------------------------------------- */

static bool changes_slot(uint8_t kind)
{
    switch ((enum psc_event_kind)kind) {
    case PSC_EV_ALLOC: case PSC_EV_GROW: case PSC_EV_RELEASE: case PSC_EV_EXPORT: case PSC_EV_TRANSFER: case PSC_EV_DROP:
    case PSC_EV_EVICT: case PSC_EV_TRIM:
        return true;
    default:
        return false;
    }
}

/* The arena whose slot an event changes, or PSC_NONE. */
static uint32_t home_of(const struct making *m, const struct psc_event *e)
{
    uint8_t backend = e->slot != PSC_NONE && changes_slot(e->kind) ? m->story->buffers[e->buffer].backend : PSC_BACKEND_NONE;
    return backend == PSC_BACKEND_NONE || e->slot >= PSC_ARENA_SLOTS_MAX ? PSC_NONE : m->home_of[backend];
}

static bool in_use(const struct psc_arena_slot_look *s)
{
    return s->state == PSC_SLOT_LIVE || s->state == PSC_SLOT_LEASED;
}

/* Adds what a slot stands for to the figures, or takes it away. */
static void count(struct psc_arena_figures *f, const struct psc_arena_slot_look *s, bool add)
{
    uint64_t sign = add ? 1 : UINT64_MAX; /* modulo 2^64 */
    if (in_use(s)) {
        f->live += sign * s->bytes;
        f->live_capacity += sign * s->capacity;
        *(s->state == PSC_SLOT_LIVE ? &f->live_n : &f->leased_n) += (uint32_t)sign;
    } else if (s->state == PSC_SLOT_FREE) {
        f->retained += sign * s->capacity;
        f->free_n += (uint32_t)sign;
    }
}

static void change(struct making *m, struct psc_arena_record *r, const struct psc_event *e)
{
    struct psc_arena_slot_look *s = &r->is;
    if (e->value != PSC_NONE)
        s->value = e->value;
    s->buffer = e->buffer;
    s->generation = e->generation;
    s->holders = e->holders;
    s->owner = (enum psc_owner)e->owner;
    switch ((enum psc_event_kind)e->kind) {
    case PSC_EV_ALLOC:
        s->state = PSC_SLOT_LIVE;
        s->bytes = e->hi - e->lo;
        if (s->bytes > m->capacity[e->buffer])
            m->capacity[e->buffer] = s->bytes;
        break;
    case PSC_EV_GROW:
        m->capacity[e->buffer] = e->hi - e->lo;
        break;
    case PSC_EV_EXPORT: case PSC_EV_TRANSFER:
        s->state = PSC_SLOT_LEASED;
        break;
    case PSC_EV_RELEASE: case PSC_EV_DROP:
        s->state = PSC_SLOT_FREE;
        s->owner = PSC_OWNER_NONE;
        s->bytes = 0;
        break;
    default: /* evicted, trimmed */
        *s = (struct psc_arena_slot_look){.buffer = PSC_NONE, .value = PSC_NONE, .generation = e->generation};
        break;
    }
    if (s->state != PSC_SLOT_UNUSED)
        s->capacity = m->capacity[e->buffer];
    if (s->state != PSC_SLOT_FREE)
        r->freed = 0;
}

/* ---- making ---------------------------------------------------------------------------------------------------- */

static enum psc_status count_slots(struct making *m, struct psc_error *reterr)
{
    const struct psc_story *s = m->story;
    uint32_t *slot_n = psc_arena_alloc0(m->arena, s->arena_n, sizeof *slot_n);
    m->home_of = psc_arena_alloc(&m->scratch, (size_t)s->backend_n + 1, sizeof *m->home_of);
    if (!slot_n || !m->home_of)
        return psc_fail_nomem(reterr);
    memset(m->home_of, 0xff, ((size_t)s->backend_n + 1) * sizeof *m->home_of);
    for (uint32_t k = 0; k < s->arena_n; k++)
        m->home_of[s->arenas[k].backend] = k;
    for (uint32_t i = 0; i < s->event_n; i++) {
        uint32_t home = home_of(m, &s->events[i]);
        m->n += home != PSC_NONE;
        if (home != PSC_NONE && s->events[i].slot >= slot_n[home])
            slot_n[home] = s->events[i].slot + 1;
    }
    m->t->slot_n = slot_n;
    return PSC_OK;
}

static enum psc_status make_room(struct making *m, struct psc_error *reterr)
{
    const struct psc_story *s = m->story;
    bool fine = true;
    m->log = psc_arena_alloc0(&m->scratch, m->n, sizeof *m->log);
    m->points = psc_arena_alloc0(m->arena, m->n, sizeof *m->points);
    m->latest = psc_arena_alloc(m->arena, (size_t)m->n * s->arena_n, sizeof *m->latest);
    m->capacity = psc_arena_alloc0(&m->scratch, (size_t)s->buffer_n + 1, sizeof *m->capacity);
    m->figures = psc_arena_alloc0(&m->scratch, s->arena_n, sizeof *m->figures);
    m->now = psc_arena_alloc0(&m->scratch, s->arena_n, sizeof *m->now);
    if (!m->log || !m->points || !m->latest || !m->capacity || !m->figures || !m->now)
        return psc_fail_nomem(reterr);
    for (uint32_t k = 0; k < s->arena_n; k++) {
        m->now[k] = psc_arena_alloc0(&m->scratch, m->t->slot_n[k], sizeof **m->now);
        fine = fine && m->now[k];
        for (uint32_t i = 0; m->now[k] && i < m->t->slot_n[k]; i++)
            m->now[k][i].is = (struct psc_arena_slot_look){.buffer = PSC_NONE, .value = PSC_NONE, .event = PSC_NONE};
    }
    return fine ? PSC_OK : psc_fail_nomem(reterr);
}

static void walk(struct making *m)
{
    const struct psc_story *s = m->story;
    for (uint32_t i = 0, at = 0; i < s->event_n; i++) {
        const struct psc_event *e = &s->events[i];
        uint32_t home = home_of(m, e);
        if (home == PSC_NONE)
            continue;
        struct psc_arena_record *now = &m->now[home][e->slot];
        struct psc_arena_figures *f = &m->figures[home];
        bool was_free = now->is.state == PSC_SLOT_FREE;
        uint64_t peak = f->peak;
        count(f, &now->is, false);
        change(m, now, e);
        count(f, &now->is, true);
        if (now->is.state == PSC_SLOT_FREE && !was_free)
            now->freed = i + 1u;
        now->home = home;
        now->slot = e->slot;
        now->is.event = i;
        f->peak = f->live > peak ? f->live : peak;
        m->log[at] = *now;
        for (uint32_t k = 0; k < s->arena_n; k++)
            m->latest[(size_t)at * s->arena_n + k] =
                k == home ? at : at ? m->latest[(size_t)(at - 1) * s->arena_n + k] : PSC_NONE;
        m->points[at++] = (struct psc_arena_point){i, home, e->position, e->run, *f};
    }
    m->t->points = m->points;
    m->t->latest = m->latest;
    m->t->point_n = m->n;
}

/* By arena and slot, two counting passes in one: a slot's records keep the order of events. */
static enum psc_status sort_records(struct making *m, struct psc_error *reterr)
{
    const struct psc_story *s = m->story;
    struct psc_arena_record *records = psc_arena_alloc(m->arena, m->n, sizeof *records);
    uint32_t **first = psc_arena_alloc0(m->arena, s->arena_n, sizeof *first);
    uint32_t sum = 0;
    if (!records || !first)
        return psc_fail_nomem(reterr);
    for (uint32_t k = 0; k < s->arena_n; k++) {
        first[k] = psc_arena_alloc0(m->arena, (size_t)m->t->slot_n[k] + 1, sizeof **first);
        if (!first[k])
            return psc_fail_nomem(reterr);
    }
    for (uint32_t i = 0; i < m->n; i++)
        first[m->log[i].home][m->log[i].slot]++;
    for (uint32_t k = 0; k < s->arena_n; k++)
        for (uint32_t i = 0; i <= m->t->slot_n[k]; i++) { /* each becomes its beginning; the last one the end */
            uint32_t n = first[k][i];
            first[k][i] = sum;
            sum += n;
        }
    for (uint32_t i = 0; i < m->n; i++)
        records[first[m->log[i].home][m->log[i].slot]++] = m->log[i];
    for (uint32_t k = 0; k < s->arena_n; k++) { /* every beginning moved to its end */
        uint32_t begin = k ? first[k - 1][m->t->slot_n[k - 1]] : 0;
        for (uint32_t i = 0; i <= m->t->slot_n[k]; i++) {
            uint32_t end = first[k][i];
            first[k][i] = begin;
            begin = end;
        }
    }
    m->t->records = records;
    m->t->first = (const uint32_t *const *)first;
    return PSC_OK;
}

static enum psc_status find_borrowed(struct making *m, struct psc_error *reterr)
{
    const struct psc_story *s = m->story;
    struct psc_arena_borrowed *list;
    uint32_t *at = psc_arena_alloc(&m->scratch, (size_t)s->value_n + 1, sizeof *at), n = 0;
    for (uint32_t v = 0; v < s->value_n; v++)
        n += s->values[v].kind == PSC_VALUE_CALLER;
    list = psc_arena_alloc(m->arena, n, sizeof *list);
    if (!at || !list)
        return psc_fail_nomem(reterr);
    memset(at, 0xff, ((size_t)s->value_n + 1) * sizeof *at);
    for (uint32_t i = 0; i < s->event_n; i++) {
        const struct psc_event *e = &s->events[i];
        if (e->value == PSC_NONE || s->values[e->value].kind != PSC_VALUE_CALLER || e->buffer == PSC_NONE)
            continue;
        if (at[e->value] == PSC_NONE) {
            list[at[e->value] = m->t->borrowed_n++] = (struct psc_arena_borrowed){e->value, e->buffer, i, UINT32_MAX};
        } else if (e->kind == PSC_EV_RELEASE) {
            list[at[e->value]].to = i;
        }
    }
    m->t->borrowed = list;
    return PSC_OK;
}

static enum psc_status find_ends(struct making *m, struct psc_error *reterr)
{
    const struct psc_story *s = m->story;
    uint32_t *closed = psc_arena_alloc(m->arena, s->arena_n, sizeof *closed), *gone = psc_arena_alloc(m->arena, s->arena_n, sizeof *gone);
    if (!closed || !gone)
        return psc_fail_nomem(reterr);
    memset(closed, 0xff, s->arena_n * sizeof *closed);
    memset(gone, 0xff, s->arena_n * sizeof *gone);
    for (uint32_t i = 0; i < s->event_n; i++) {
        const struct psc_event *e = &s->events[i];
        if (e->kind != PSC_EV_CLOSE || e->peer >= s->arena_n)
            continue;
        if (closed[e->peer] == UINT32_MAX)
            closed[e->peer] = i;
        if (!e->holders && gone[e->peer] == UINT32_MAX)
            gone[e->peer] = i;
    }
    m->t->closed = closed;
    m->t->gone = gone;
    return PSC_OK;
}

static enum psc_status sum_alarms(struct making *m, struct psc_error *reterr)
{
    const struct psc_story *s = m->story;
    uint32_t *ever = psc_arena_alloc(m->arena, s->alarm_n, sizeof *ever);
    if (!ever)
        return psc_fail_nomem(reterr);
    memset(m->t->since, 0xff, sizeof m->t->since);
    for (uint32_t i = 0; i < s->alarm_n; i++) {
        ever[i] = s->alarms[i].broken | (i ? ever[i - 1] : 0);
        for (unsigned k = 0; k < PSC_INVARIANT_N; k++)
            if (s->alarms[i].broken >> k & 1 && m->t->since[k] == PSC_NONE)
                m->t->since[k] = i;
    }
    m->t->ever = ever;
    return PSC_OK;
}

enum psc_status psc_arena_track_new(struct psc_arena *arena, const struct psc_story *story, struct psc_arena_track **ret,
                                    struct psc_error *reterr)
{
    struct making m = {.arena = arena, .story = story};
    struct psc_arena_mark mark = psc_arena_mark(arena);
    enum psc_status status;
    *ret = NULL;
    if (!story->arena_n)
        return PSC_OK;
    m.t = psc_arena_alloc0(arena, 1, sizeof *m.t);
    status = m.t ? count_slots(&m, reterr) : psc_fail_nomem(reterr);
    if (!status)
        status = make_room(&m, reterr);
    if (!status) {
        m.t->story = story;
        walk(&m);
        status = sort_records(&m, reterr);
    }
    if (!status)
        status = find_borrowed(&m, reterr);
    if (!status)
        status = find_ends(&m, reterr);
    if (!status)
        status = sum_alarms(&m, reterr);
    psc_arena_release(&m.scratch);
    if (status)
        psc_arena_rewind(arena, mark);
    else
        *ret = m.t;
    return status;
}

/* ---- looking --------------------------------------------------------------------------------------------------- */

uint32_t psc_arena_track_upto(const struct psc_arena_track *t, int32_t position)
{
    uint32_t lo = 0, hi = t->story->event_n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (t->story->events[mid].position <= position)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

uint32_t psc_arena_track_point(const struct psc_arena_track *t, uint32_t home, uint32_t events)
{
    uint32_t lo = 0, hi = t->point_n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (t->points[mid].event < events)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo ? t->latest[(size_t)(lo - 1) * t->story->arena_n + home] : PSC_NONE;
}

/* The latest record of a slot before an event, or NULL. */
static const struct psc_arena_record *record_of(const struct psc_arena_track *t, uint32_t home, uint32_t slot, uint32_t events)
{
    uint32_t begin = t->first[home][slot], lo = begin, hi = t->first[home][slot + 1];
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (t->records[mid].is.event < events)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo == begin ? NULL : &t->records[lo - 1];
}

static int longest_free(const void *a, const void *b)
{
    const struct psc_arena_record *const *x = a, *const *y = b;
    return ((*x)->freed > (*y)->freed) - ((*x)->freed < (*y)->freed);
}

static int smallest_latest(const void *a, const void *b)
{
    const struct psc_arena_record *const *x = a, *const *y = b;
    if ((*x)->is.capacity != (*y)->is.capacity)
        return (*x)->is.capacity < (*y)->is.capacity ? -1 : 1;
    return ((*x)->freed < (*y)->freed) - ((*x)->freed > (*y)->freed);
}

static uint32_t *in_order(struct psc_arena *arena, const struct psc_arena_record **list, uint32_t n,
                          int (*compare)(const void *, const void *))
{
    uint32_t *out = psc_arena_alloc(arena, n, sizeof *out);
    if (n)
        qsort(list, n, sizeof *list, compare);
    for (uint32_t i = 0; out && i < n; i++)
        out[i] = list[i]->slot;
    return out;
}

static enum psc_status look_home(const struct psc_arena_track *t, struct psc_arena *arena, uint32_t home, uint32_t events,
                                 struct psc_arena_home_look *ret, struct psc_error *reterr)
{
    const struct psc_story_arena *of = &t->story->arenas[home];
    uint32_t n = t->slot_n[home], point = psc_arena_track_point(t, home, events), free_n = 0;
    struct psc_arena_slot_look *slots = psc_arena_alloc(arena, n, sizeof *slots);
    const struct psc_arena_record **list = psc_arena_alloc(arena, n, sizeof *list);
    if (!slots || !list)
        return psc_fail_nomem(reterr);
    *ret = (struct psc_arena_home_look){.arena = of, .name = t->story->backends[of->backend], .slots = slots, .slot_n = n, .closed = t->closed[home] < events,
                                        .gone = t->gone[home] < events};
    ret->refs = !ret->closed;
    for (uint32_t i = 0; i < n; i++) {
        const struct psc_arena_record *r = record_of(t, home, i, events);
        slots[i] = r ? r->is : (struct psc_arena_slot_look){.buffer = PSC_NONE, .value = PSC_NONE, .event = PSC_NONE};
        ret->refs += slots[i].state == PSC_SLOT_LEASED ? slots[i].holders : 0;
        if (slots[i].state == PSC_SLOT_FREE)
            list[free_n++] = r;
    }
    if (point != PSC_NONE)
        ret->figures = t->points[point].figures;
    ret->by_capacity = in_order(arena, list, free_n, smallest_latest);
    ret->evictions = in_order(arena, list, free_n, longest_free);
    return ret->by_capacity && ret->evictions ? PSC_OK : psc_fail_nomem(reterr);
}

/* The latest alarm when so many events have happened, or PSC_NONE. */
static uint32_t alarm_at(const struct psc_story *s, uint32_t events)
{
    uint32_t lo = 0, hi = s->alarm_n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (s->alarms[mid].after <= events)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo ? lo - 1 : PSC_NONE;
}

enum psc_status psc_arena_track_look(const struct psc_arena_track *t, struct psc_arena *arena, uint32_t events,
                                     struct psc_arena_look *ret, struct psc_error *reterr)
{
    const struct psc_story *s = t->story;
    uint32_t alarm = alarm_at(s, events);
    struct psc_arena_home_look *homes = psc_arena_alloc0(arena, s->arena_n, sizeof *homes);
    struct psc_arena_borrowed *borrowed = psc_arena_alloc(arena, t->borrowed_n, sizeof *borrowed);
    struct psc_arena_look look = {.homes = homes, .home_n = s->arena_n, .borrowed = borrowed, .text = ""};
    enum psc_status status = homes && borrowed ? PSC_OK : psc_fail_nomem(reterr);
    for (uint32_t k = 0; !status && k < s->arena_n; k++)
        status = look_home(t, arena, k, events, &homes[k], reterr);
    if (status)
        return status;
    for (uint32_t i = 0; i < t->borrowed_n; i++)
        if (t->borrowed[i].from < events && events <= t->borrowed[i].to)
            borrowed[look.borrowed_n++] = t->borrowed[i];
    if (alarm != PSC_NONE) {
        look.broken = s->alarms[alarm].broken;
        look.ever = t->ever[alarm];
        look.text = s->alarms[alarm].text;
    }
    look.run = events && events <= s->event_n ? s->events[events - 1].run : 0;
    *ret = look;
    return PSC_OK;
}

unsigned psc_arena_ever_broken(const struct psc_story *story)
{
    unsigned broken = 0;
    for (uint32_t i = 0; i < story->alarm_n; i++)
        broken |= story->alarms[i].broken;
    return broken;
}

const char *psc_arena_track_why(const struct psc_arena_track *t, unsigned invariant, uint32_t *ret_after)
{
    uint32_t alarm = invariant < PSC_INVARIANT_N ? t->since[invariant] : PSC_NONE;
    if (alarm == PSC_NONE)
        return "";
    *ret_after = t->story->alarms[alarm].after;
    return t->story->alarms[alarm].text;
}
