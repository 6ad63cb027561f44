#include "core/debug/history.h"

#include "core/debug/history-index.h"
#include "core/debug/shadow.h"

#include <stdlib.h>
#include <string.h>

/* A history being built: tenancies in the order in which they begin. */
struct build {
    const struct psc_story *story;
    struct psc_arena *arena, scratch;
    struct psc_shadow shadow;
    struct psc_tenancy *list;
    uint32_t n;
    uint32_t *current;    /* of each value: its newest tenancy */
    uint32_t *of_write;   /* of each event that writes: its tenancy */
    uint32_t *takes_over; /* of each value: tenancy that an alias of this position continues */
};

static bool is_apart(enum psc_role role)
{
    return role == PSC_ROLE_PERSISTENT || role == PSC_ROLE_EXTERNAL || role == PSC_ROLE_STAGING;
}

static uint32_t root_of(const struct psc_story *story, uint32_t value)
{
    const struct psc_value *v = &story->values[value];

    return v->is_view && v->of != PSC_NONE ? v->of : value;
}

static bool is_region(const struct psc_story *story, uint32_t value)
{
    return value != PSC_NONE && story->values[value].kind == PSC_VALUE_REGION;
}

static enum psc_status check_positions(const struct psc_story *story, struct psc_error *reterr)
{
    int32_t at = -1;

    for (uint32_t i = 0; i < story->event_n; i++) {
        int32_t p = story->events[i].position;
        if (p < at || p > (int64_t)story->position_n)
            return psc_fail(reterr, PSC_ERR_ORDER,
                            "event %u stands at position %d after position %d; a history needs positions that never "
                            "decrease, up to %u",
                            i, p, at, story->position_n);
        at = p;
    }
    return PSC_OK;
}

/* ---- one event after the other ------------------------------------------------------------------------ */

static uint32_t begin(struct build *b, uint32_t event, int32_t first)
{
    const struct psc_event *e = &b->story->events[event];

    b->list[b->n] = (struct psc_tenancy){
        .value = e->value,
        .buffer = e->buffer,
        .lo = e->lo,
        .hi = e->hi,
        .first = first,
        .last = first,
        .end = INT32_MAX,
        .write_event = event,
        .prev_version = PSC_NONE,
        .next_version = PSC_NONE,
        .prev_tenant = PSC_NONE,
        .next_tenant = PSC_NONE,
    };
    b->current[e->value] = b->n;
    return b->n++;
}

/* Regions are there before anything is written. */
static void begin_regions(struct build *b)
{
    for (uint32_t i = 0; i < b->story->event_n; i++) {
        const struct psc_event *e = &b->story->events[i];
        if (e->buffer == PSC_NONE || !is_region(b->story, e->value) || !psc_history_is_access(e->kind))
            continue;
        if (b->current[e->value] == PSC_NONE)
            b->list[begin(b, i, -1)].write_event = PSC_NONE;
        struct psc_tenancy *t = &b->list[b->current[e->value]];
        if (t->write_event == PSC_NONE && psc_history_is_writer(e->kind))
            t->write_event = i;
    }
}

/* Links tenancy i with those whose bytes it takes, and finds the one it continues. */
static void move_in(struct build *b, uint32_t i, uint32_t continues)
{
    struct psc_tenancy *t = &b->list[i];

    if (t->lo < t->hi) {
        struct psc_shadow_run run = psc_shadow_first(&b->shadow, t->buffer, t->lo, t->hi);
        do {
            uint32_t old = run.event == PSC_NONE ? PSC_NONE : b->of_write[run.event];
            if (old == PSC_NONE || old == i)
                continue;
            if (b->list[old].next_tenant == PSC_NONE)
                b->list[old].next_tenant = i;
            if (t->prev_tenant == PSC_NONE || old > t->prev_tenant)
                t->prev_tenant = old;
        } while (psc_shadow_next(&b->shadow, t->buffer, t->hi, &run));
    }
    uint32_t old = continues != PSC_NONE ? continues : t->prev_tenant;
    if (old == PSC_NONE || b->list[old].next_version != PSC_NONE || b->list[old].buffer != t->buffer)
        return;
    const struct psc_tenancy *o = &b->list[old];
    bool same = o->lo == t->lo && o->hi == t->hi && o->last == t->first && o->first < t->first;
    if (continues == PSC_NONE && !(same && o->end > t->first))
        return;
    t->prev_version = old;
    b->list[old].next_version = i;
    b->list[old].end = t->first;
}

static bool write_event(struct build *b, uint32_t event)
{
    const struct psc_event *e = &b->story->events[event];
    uint32_t i = e->value == PSC_NONE ? PSC_NONE : b->current[e->value];

    b->of_write[event] = PSC_NONE;
    if (e->value != PSC_NONE && !psc_shadow_vanishes(e->kind)) {
        struct psc_tenancy *t = i == PSC_NONE ? NULL : &b->list[i];
        bool goes_on = t && (is_region(b->story, e->value) ||
                             (e->kind == PSC_EV_COPY && t->buffer == e->buffer && t->lo == e->lo && t->end == INT32_MAX));
        if (goes_on) {
            t->last = e->position;
        } else {
            i = begin(b, event, e->position);
            move_in(b, i, b->takes_over[e->value]);
            b->takes_over[e->value] = PSC_NONE;
        }
        b->of_write[event] = i;
    }
    return psc_shadow_apply(&b->shadow, e, event) && psc_shadow_settle(&b->shadow, e->buffer);
}

/* The tenancy that a read of this value and place looks at. */
static uint32_t read_tenancy(const struct build *b, const struct psc_event *e)
{
    uint32_t i = b->current[root_of(b->story, e->value)];

    if (i != PSC_NONE && b->list[i].buffer == e->buffer)
        return i;
    if (e->lo >= e->hi)
        return i;
    struct psc_shadow_run run = psc_shadow_first(&b->shadow, e->buffer, e->lo, e->hi);
    uint32_t found = run.event == PSC_NONE ? PSC_NONE : b->of_write[run.event];
    return found != PSC_NONE && b->story->values[b->list[found].value].of == e->value ? found : i;
}

static void close_one(struct psc_tenancy *t, int32_t position)
{
    if (t->end == INT32_MAX)
        t->end = position + 1;
}

static void release(struct build *b, const struct psc_event *e)
{
    if (e->value != PSC_NONE) {
        uint32_t i = b->current[root_of(b->story, e->value)];
        if (i != PSC_NONE && !is_region(b->story, e->value))
            close_one(&b->list[i], e->position);
        return;
    }
    if (e->buffer == PSC_NONE || e->lo >= e->hi)
        return;
    struct psc_shadow_run run = psc_shadow_first(&b->shadow, e->buffer, e->lo, e->hi);
    do {
        uint32_t i = run.event == PSC_NONE ? PSC_NONE : b->of_write[run.event];
        if (i != PSC_NONE && !is_region(b->story, b->list[i].value))
            close_one(&b->list[i], e->position);
    } while (psc_shadow_next(&b->shadow, e->buffer, e->hi, &run));
}

static bool walk(struct build *b)
{
    const struct psc_story *story = b->story;

    for (uint32_t i = 0; i < story->event_n; i++) {
        const struct psc_event *e = &story->events[i];
        enum psc_event_kind kind = e->kind;
        if (psc_shadow_writes(kind) && e->buffer != PSC_NONE) {
            if (!write_event(b, i))
                return false;
        } else if (e->value == PSC_NONE && kind != PSC_EV_RELEASE) {
            continue;
        } else if ((psc_history_is_reader(kind) || kind == PSC_EV_CAPTURE) && e->buffer != PSC_NONE) {
            uint32_t t = read_tenancy(b, e);
            if (t != PSC_NONE && kind != PSC_EV_CAPTURE)
                b->list[t].last = e->position;
        } else if ((kind == PSC_EV_ALIAS || kind == PSC_EV_TAKEOVER) && e->peer != PSC_NONE) {
            b->takes_over[e->value] = b->current[root_of(story, e->peer)];
        } else if (kind == PSC_EV_RELEASE || kind == PSC_EV_DROP) {
            release(b, e);
        }
    }
    return true;
}

/* ---- the tables -------------------------------------------------------------------------------------------- */

/* Tenancies that nobody released last until the next one moves in, or to the end. */
static void close_all(struct build *b)
{
    for (uint32_t i = 0; i < b->n; i++) {
        struct psc_tenancy *t = &b->list[i];
        if (t->end != INT32_MAX)
            continue;
        t->end = (int32_t)b->story->position_n + 1;
        if (t->next_tenant != PSC_NONE && !is_region(b->story, t->value)) {
            int32_t next = b->list[t->next_tenant].first;
            t->end = t->last >= next ? t->last + 1 : next;
        }
    }
}

static int by_place(const void *a, const void *b)
{
    const struct psc_tenancy *x = a, *y = b;

    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    if (x->lo != y->lo)
        return x->lo < y->lo ? -1 : 1;
    return x->write_event < y->write_event ? -1 : x->write_event > y->write_event;
}

static uint32_t moved(const uint32_t *to, uint32_t i)
{
    return i == PSC_NONE ? PSC_NONE : to[i];
}

/* Sorts by (buffer, first, lo): by counting into buffers, then inside those that are not sorted already. */
static enum psc_status sort_tenancies(struct build *b, struct psc_history *h, struct psc_error *reterr)
{
    uint32_t buffer_n = b->story->buffer_n;
    uint32_t *at = psc_arena_alloc0(b->arena, (size_t)buffer_n + 2, sizeof *at);
    uint32_t *to = psc_arena_alloc(&b->scratch, b->n, sizeof *to);
    uint32_t *from = psc_arena_alloc(&b->scratch, b->n, sizeof *from);
    struct psc_tenancy *sorted = psc_arena_alloc(b->arena, b->n, sizeof *sorted);

    if (!at || !to || !from || !sorted)
        return psc_fail_nomem(reterr);
    for (uint32_t i = 0; i < b->n; i++)
        at[b->list[i].buffer + 2]++;
    for (uint32_t k = 0; k < buffer_n; k++)
        at[k + 2] += at[k + 1];
    for (uint32_t i = 0; i < b->n; i++) {
        uint32_t place = at[b->list[i].buffer + 1]++;
        sorted[place] = b->list[i];
        sorted[place].value = i; /* its old number, until all have their place */
    }
    for (uint32_t k = 0; k < buffer_n; k++) {
        bool ordered = true;
        for (uint32_t i = at[k] + 1; i < at[k + 1] && ordered; i++)
            ordered = by_place(&sorted[i - 1], &sorted[i]) <= 0;
        if (!ordered)
            qsort(sorted + at[k], at[k + 1] - at[k], sizeof *sorted, by_place);
    }
    for (uint32_t i = 0; i < b->n; i++) {
        from[i] = sorted[i].value;
        to[from[i]] = i;
    }
    for (uint32_t i = 0; i < b->n; i++) {
        struct psc_tenancy *t = &sorted[i];
        t->value = b->list[from[i]].value;
        t->prev_version = moved(to, t->prev_version);
        t->next_version = moved(to, t->next_version);
        t->prev_tenant = moved(to, t->prev_tenant);
        t->next_tenant = moved(to, t->next_tenant);
    }
    h->tenancies = sorted;
    h->tenancy_n = b->n;
    h->buffer_at = at;

    uint32_t *value_at = psc_arena_alloc0(b->arena, (size_t)b->story->value_n + 2, sizeof *value_at);
    uint32_t *list = psc_arena_alloc(b->arena, b->n, sizeof *list);
    if (!value_at || !list)
        return psc_fail_nomem(reterr);
    for (uint32_t i = 0; i < b->n; i++)
        value_at[b->list[i].value + 2]++;
    for (uint32_t v = 0; v < b->story->value_n; v++)
        value_at[v + 2] += value_at[v + 1];
    for (uint32_t i = 0; i < b->n; i++)
        list[value_at[b->list[i].value + 1]++] = to[i];
    h->value_at = value_at;
    h->value_tenancies = list;
    return PSC_OK;
}

static enum psc_status count_positions(struct build *b, struct psc_history *h, struct psc_error *reterr)
{
    uint32_t n = b->story->position_n + 3;
    uint32_t *at = psc_arena_alloc0(b->arena, n, sizeof *at);

    if (!at)
        return psc_fail_nomem(reterr);
    for (uint32_t i = 0; i < b->story->event_n; i++)
        at[b->story->events[i].position + 2]++;
    for (uint32_t p = 1; p < n; p++)
        at[p] += at[p - 1];
    h->position_at = at;
    return PSC_OK;
}

/* From differences to sums, and the first largest of them. */
static void sum_up(uint64_t *bytes, uint32_t n, uint64_t *ret_peak, int32_t *ret_at)
{
    *ret_peak = 0;
    *ret_at = -1;
    for (uint32_t i = 0; i < n; i++) {
        if (i)
            bytes[i] += bytes[i - 1];
        if (bytes[i] > *ret_peak) {
            *ret_peak = bytes[i];
            *ret_at = (int32_t)i - 1;
        }
    }
}

static enum psc_status count_bytes(struct build *b, struct psc_history *h, struct psc_error *reterr)
{
    uint32_t n = b->story->position_n + 2;
    uint64_t *live = psc_arena_alloc0(b->arena, (size_t)n + 1, sizeof *live);
    uint64_t *used = psc_arena_alloc0(b->arena, (size_t)n + 1, sizeof *used);

    if (!live || !used)
        return psc_fail_nomem(reterr);
    for (uint32_t k = 0; k < b->story->buffer_n; k++) {
        const struct psc_buffer *buffer = &b->story->buffers[k];
        if (is_apart(buffer->role))
            continue;
        for (uint32_t i = h->buffer_at[k]; i < h->buffer_at[k + 1]; i++) {
            const struct psc_tenancy *t = &h->tenancies[i];
            if (t->end <= t->first)
                continue;
            live[t->first + 1] += t->hi - t->lo;
            live[t->end + 1] -= t->hi - t->lo;
        }
        if (!psc_history_add_used(h, k, used))
            return psc_fail_nomem(reterr);
    }
    sum_up(live, n, &h->peak_bytes, &h->peak_at);
    sum_up(used, n, &h->used_peak_bytes, &h->used_peak_at);
    h->live_bytes = live;
    h->used_bytes = used;
    return PSC_OK;
}

bool psc_history_counts(enum psc_role role)
{
    return !is_apart(role);
}

uint64_t psc_history_reserved(const struct psc_history *h, uint32_t *ret_buffers)
{
    uint64_t bytes = 0;
    *ret_buffers = 0;
    for (uint32_t b = 0; b < h->story->buffer_n; b++) {
        const struct psc_buffer *buffer = &h->story->buffers[b];
        uint64_t top = 0;
        if (is_apart(buffer->role))
            continue;
        for (uint32_t t = h->buffer_at[b]; buffer->bytes == UINT64_MAX && t < h->buffer_at[b + 1]; t++)
            top = h->tenancies[t].hi > top ? h->tenancies[t].hi : top;
        bytes += buffer->bytes == UINT64_MAX ? top : buffer->bytes;
        ++*ret_buffers;
    }
    return bytes;
}

/* ---- building --------------------------------------------------------------------------------------------- */

static enum psc_status prepare(struct build *b, struct psc_error *reterr)
{
    enum psc_status status = psc_shadow_init(&b->shadow, &b->scratch, b->story, reterr);

    if (status)
        return status;
    size_t value_n = b->story->value_n, room = value_n;
    for (uint32_t i = 0; i < b->story->event_n; i++)
        room += psc_shadow_writes(b->story->events[i].kind) && b->story->events[i].buffer != PSC_NONE;
    b->list = psc_arena_alloc(&b->scratch, room, sizeof *b->list);
    b->current = psc_arena_alloc(&b->scratch, value_n, sizeof *b->current);
    b->takes_over = psc_arena_alloc(&b->scratch, value_n, sizeof *b->takes_over);
    b->of_write = psc_arena_alloc(&b->scratch, b->story->event_n, sizeof *b->of_write);
    if (!b->list || !b->current || !b->takes_over || !b->of_write)
        return psc_fail_nomem(reterr);
    memset(b->current, 0xff, value_n * sizeof *b->current);
    memset(b->takes_over, 0xff, value_n * sizeof *b->takes_over);
    return PSC_OK;
}

static enum psc_status build_all(struct build *b, struct psc_history *h, struct psc_error *reterr)
{
    enum psc_status status = check_positions(b->story, reterr);

    if (!status)
        status = prepare(b, reterr);
    if (status)
        return status;
    begin_regions(b);
    if (!walk(b))
        return psc_fail_nomem(reterr);
    close_all(b);
    status = sort_tenancies(b, h, reterr);
    if (!status)
        status = psc_overlap_sort(b->arena, b->story, psc_history_is_access, &h->access_at, &h->accesses, reterr);
    if (!status)
        status = count_positions(b, h, reterr);
    if (!status)
        status = count_bytes(b, h, reterr);
    if (!status)
        status = psc_history_index_build(b->arena, &b->scratch, h, reterr);
    return status;
}

enum psc_status psc_history_build(struct psc_arena *arena, const struct psc_story *story, struct psc_history **ret,
                                  struct psc_error *reterr)
{
    struct build b = {.story = story, .arena = arena};
    struct psc_history *h = psc_arena_alloc0(arena, 1, sizeof *h);

    if (!h)
        return psc_fail_nomem(reterr);
    h->story = story;
    enum psc_status status = build_all(&b, h, reterr);
    psc_arena_release(&b.scratch);
    if (!status)
        *ret = h;
    return status;
}
