#include "core/debug/arena-view.h"

#include "core/base/text.h"

#include <string.h>

/* ---- all of a story -------------------------------------------------------------------------------------------------- */

static uint32_t home_of_backend(const struct psc_story *s, uint8_t backend)
{
    for (uint32_t k = 0; k < s->arena_n; k++)
        if (s->arenas[k].backend == backend)
            return k;
    return PSC_NONE;
}

/* A block is new when it is given out for the first time, or has grown. */
static bool find_touches(struct psc_arena *arena, const struct psc_story *s, struct psc_arena_axis *axis, uint32_t *run_pages)
{
    struct psc_arena scratch = {0};
    bool *seen = psc_arena_alloc0(&scratch, (size_t)s->buffer_n + 1, sizeof *seen);
    uint32_t most = 0;
    for (uint32_t i = 0; i < s->event_n; i++)
        most += s->events[i].kind == PSC_EV_GROW || s->events[i].kind == PSC_EV_ALLOC;
    struct psc_arena_touch *touches = psc_arena_alloc(arena, most, sizeof *touches);
    for (uint32_t i = 0; seen && touches && i < s->event_n; i++) {
        const struct psc_event *e = &s->events[i];
        bool is = e->kind == PSC_EV_GROW || (e->kind == PSC_EV_ALLOC && e->buffer != PSC_NONE && !seen[e->buffer]);
        uint32_t home = is && e->slot != PSC_NONE && e->buffer != PSC_NONE ? home_of_backend(s, s->buffers[e->buffer].backend) : PSC_NONE;
        if (home == PSC_NONE)
            continue;
        seen[e->buffer] = true;
        touches[axis->touch_n++] = (struct psc_arena_touch){e->position, home, e->hi - e->lo};
        if (e->run < axis->run_n)
            run_pages[e->run] += (uint32_t)((e->hi - e->lo + PSC_ARENA_PAGE - 1) / PSC_ARENA_PAGE);
    }
    axis->touches = touches;
    psc_arena_release(&scratch);
    return touches && seen;
}

/* A write whose cause is a read: who tells of a copy says so. */
static bool is_copy(const struct psc_story *s, const struct psc_event *e)
{
    return e->kind == PSC_EV_WRITE && e->cause != PSC_NONE && s->events[e->cause].kind == PSC_EV_READ;
}

static bool find_moved(struct psc_arena *arena, const struct psc_story *s, struct psc_arena_axis *axis)
{
    uint32_t n = 0;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < s->event_n; i++)
        n += is_copy(s, &s->events[i]);
    struct psc_arena_moved *moved = psc_arena_alloc(arena, n, sizeof *moved);
    for (uint32_t i = 0; moved && i < s->event_n; i++) {
        const struct psc_event *e = &s->events[i];
        if (!is_copy(s, e))
            continue;
        if (axis->moved_n && s->events[moved[axis->moved_n - 1].event].run != e->run)
            sum = 0;
        moved[axis->moved_n++] = (struct psc_arena_moved){i, e->hi - e->lo, sum};
        sum += e->hi - e->lo;
    }
    axis->moved = moved;
    return moved != NULL;
}

enum psc_status psc_arena_axis_new(struct psc_arena *arena, const struct psc_arena_track *track, struct psc_arena_axis **ret,
                                   struct psc_error *reterr)
{
    const struct psc_story *s = track->story;
    struct psc_arena_axis *axis = psc_arena_alloc0(arena, 1, sizeof *axis);
    uint32_t n = 1;
    for (uint32_t i = 0; i < s->event_n; i++) /* what follows the last run is none of its own */
        if (s->events[i].kind == PSC_EV_ALLOC && s->events[i].run >= n)
            n = s->events[i].run + 1u;
    int32_t *run_at = psc_arena_alloc(arena, n, sizeof *run_at);
    uint64_t *top = psc_arena_alloc0(arena, s->arena_n, sizeof *top);
    if (!axis || !run_at || !top)
        return psc_fail_nomem(reterr);
    for (uint32_t i = 0; i < track->point_n; i++) {
        const struct psc_arena_figures *f = &track->points[i].figures;
        if (f->live_capacity + f->retained > top[track->points[i].home])
            top[track->points[i].home] = f->live_capacity + f->retained;
    }
    for (uint32_t r = 0; r < n; r++)
        run_at[r] = -1;
    for (uint32_t i = s->event_n; i-- > 0;)
        if (s->events[i].run < n)
            run_at[s->events[i].run] = s->events[i].position;
    uint32_t *run_pages = psc_arena_alloc0(arena, n, sizeof *run_pages);
    *axis = (struct psc_arena_axis){.track = track, .run_at = run_at, .top = top, .run_pages = run_pages, .run_n = n,
                                    .position_n = s->position_n};
    if (!run_pages || !find_touches(arena, s, axis, run_pages) || !find_moved(arena, s, axis))
        return psc_fail_nomem(reterr);
    *ret = axis;
    return PSC_OK;
}

struct making {
    struct psc_arena *arena;
    struct psc_arena_view *v;
    const struct psc_arena_look *before;
};

static uint32_t home_of(const struct making *m, const struct psc_event *e)
{
    const struct psc_story *s = m->v->axis->track->story;
    return e->slot != PSC_NONE && e->buffer != PSC_NONE ? home_of_backend(s, s->buffers[e->buffer].backend) : PSC_NONE;
}

/* ---- free blocks --------------------------------------------------------------------------------------------------- */

static bool was_free(const struct psc_arena_home_look *before, uint32_t slot)
{
    return slot < before->slot_n && before->slots[slot].state == PSC_SLOT_FREE;
}

static struct psc_arena_free_view free_view(const struct psc_arena_home_look *before, const struct psc_arena_home_look *now,
                                            uint32_t slot)
{
    bool is = now->slots[slot].state == PSC_SLOT_FREE;
    return (struct psc_arena_free_view){
        .slot = slot, .capacity = is ? now->slots[slot].capacity : before->slots[slot].capacity,
        .taken = !is && now->slots[slot].state != PSC_SLOT_UNUSED, .evicted = !is && now->slots[slot].state == PSC_SLOT_UNUSED,
        .fresh = is && !was_free(before, slot)};
}

/* The free ones of now with those that left here, each at its place by capacity. */
static bool put_buckets(struct making *m, struct psc_arena_home_view *h, const struct psc_arena_home_look *before)
{
    const struct psc_arena_home_look *now = h->look;
    uint32_t most = now->figures.free_n + before->figures.free_n, n = 0, b = 0;
    struct psc_arena_free_view *list = psc_arena_alloc(m->arena, most, sizeof *list);
    if (!list)
        return false;
    for (uint32_t i = 0; i <= now->figures.free_n; i++) {
        uint64_t capacity = i < now->figures.free_n ? now->slots[now->by_capacity[i]].capacity : UINT64_MAX;
        for (; b < before->figures.free_n; b++) {
            uint32_t slot = before->by_capacity[b];
            if (now->slots[slot].state == PSC_SLOT_FREE)
                continue;
            if (before->slots[slot].capacity > capacity)
                break;
            list[n++] = free_view(before, now, slot);
        }
        if (i < now->figures.free_n)
            list[n++] = free_view(before, now, now->by_capacity[i]);
    }
    h->buckets = list;
    h->bucket_n = n;
    return true;
}

static bool put_queue(struct making *m, struct psc_arena_home_view *h, const struct psc_arena_home_look *before)
{
    const struct psc_arena_home_look *now = h->look;
    uint32_t n = 0;
    struct psc_arena_free_view *list = psc_arena_alloc(m->arena, now->figures.free_n + before->figures.free_n + now->slot_n, sizeof *list);
    if (!list)
        return false;
    for (uint32_t i = 0; i < before->figures.free_n; i++)
        if (now->slots[before->evictions[i]].state == PSC_SLOT_UNUSED)
            list[n++] = free_view(before, now, before->evictions[i]);
    /* freed and evicted in one position */
    for (uint32_t i = 0; i < now->slot_n; i++)
        if (i < before->slot_n && h->touched[i] && now->slots[i].state == PSC_SLOT_UNUSED && !was_free(before, i) &&
            before->slots[i].state != PSC_SLOT_UNUSED)
            list[n++] = (struct psc_arena_free_view){.slot = i, .capacity = before->slots[i].capacity, .evicted = true};
    for (uint32_t i = 0; i < now->figures.free_n; i++)
        list[n++] = free_view(before, now, now->evictions[i]);
    h->queue = list;
    h->queue_n = n;
    return true;
}

/* ---- what this position asked ---------------------------------------------------------------------------------------- */

static void follow_events(struct making *m, struct psc_arena_home_view *homes)
{
    const struct psc_story *s = m->v->axis->track->story;
    bool grown = false;
    for (uint32_t i = m->v->from; i < m->v->to; i++) {
        const struct psc_event *e = &s->events[i];
        uint32_t k = home_of(m, e);
        if (k == PSC_NONE)
            continue;
        struct psc_arena_home_view *h = &homes[k];
        if (e->kind == PSC_EV_GROW)
            grown = true;
        if (e->kind != PSC_EV_ALLOC)
            continue;
        h->asked = e->hi - e->lo;
        h->found_slot = e->slot;
        h->found = grown ? PSC_FOUND_GROWN : was_free(&m->before->homes[k], e->slot) ? PSC_FOUND_AGAIN : PSC_FOUND_NEW;
        grown = false;
    }
}

static bool put_home(struct making *m, struct psc_arena_home_view *h, uint32_t k)
{
    const struct psc_arena_home_look *now = h->look = &m->v->look.homes[k];
    bool *touched = psc_arena_alloc0(m->arena, now->slot_n, sizeof *touched);
    h->touched = touched;
    h->found_slot = PSC_NONE;
    for (uint32_t i = 0; touched && i < now->slot_n; i++)
        touched[i] = now->slots[i].event != PSC_NONE && now->slots[i].event >= m->v->from;
    return touched && put_buckets(m, h, &m->before->homes[k]) && put_queue(m, h, &m->before->homes[k]);
}

/* ---- where it comes from ---------------------------------------------------------------------------------------------- */

static enum psc_arena_role role_of(const struct psc_story *s, const struct psc_value *v)
{
    switch (v->kind) {
    case PSC_VALUE_WORKSPACE: return PSC_ROUTE_WORKSPACE;
    case PSC_VALUE_FILL: return PSC_ROUTE_STAGED;
    case PSC_VALUE_STAGING: return PSC_ROUTE_TRANSFERRED;
    case PSC_VALUE_CALLER: return PSC_ROUTE_BORROWED;
    default: return v->backend < s->backend_n && !strcmp(s->backends[v->backend], "io") ? PSC_ROUTE_OUTPUT : PSC_ROUTE_INNER;
    }
}

static uint64_t copied_here(const struct making *m, uint32_t value)
{
    const struct psc_story *s = m->v->axis->track->story;
    uint64_t n = 0;
    for (uint32_t i = m->v->from; i < m->v->to; i++)
        n += s->events[i].value == value && is_copy(s, &s->events[i]) ? s->events[i].hi - s->events[i].lo : 0;
    return n;
}

static uint64_t copied_so_far(const struct making *m)
{
    const struct psc_arena_axis *axis = m->v->axis;
    const struct psc_story *s = axis->track->story;
    uint32_t lo = 0, hi = axis->moved_n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (axis->moved[mid].event < m->v->to)
            lo = mid + 1;
        else
            hi = mid;
    }
    const struct psc_arena_moved *last = lo ? &axis->moved[lo - 1] : NULL;
    return last && s->events[last->event].run == m->v->look.run ? last->before + last->bytes : 0;
}

/* What is given out here, and memory of a caller that comes in. */
static bool put_routes(struct making *m)
{
    const struct psc_story *s = m->v->axis->track->story;
    struct psc_arena_view *v = m->v;
    struct psc_arena_route *routes = psc_arena_alloc(m->arena, v->to - v->from, sizeof *routes);
    for (uint32_t i = v->from; routes && i < v->to; i++) {
        const struct psc_event *e = &s->events[i];
        const struct psc_value *value = e->value < s->value_n ? &s->values[e->value] : NULL;
        bool comes = value && value->kind == PSC_VALUE_CALLER && e->kind == PSC_EV_WRITE && !e->version;
        if (!value || (!comes && (e->kind != PSC_EV_ALLOC || e->slot == PSC_NONE)))
            continue;
        struct psc_arena_route r = {.role = role_of(s, value), .value = e->value, .slot = e->slot, .home = home_of(m, e),
                                    .belongs = comes ? PSC_NONE : home_of_backend(s, value->backend), .bytes = e->hi - e->lo};
        if (v->route_n < 8) /* a position asks for few things */
            r.copied = copied_here(m, e->value);
        v->wrong_n += r.home != r.belongs;
        routes[v->route_n++] = r;
    }
    v->routes = routes;
    v->copied = copied_so_far(m);
    return routes != NULL;
}

/* "alloc C: 48 B from exec; a free block of 64 B again. A note." is cut at the first "; " or ". "; the note follows the words. */
static bool put_title(struct making *m, const char *title, const char **ret_note)
{
    const char *end = title, *note = strstr(title, ". ");
    while (*end && strncmp(end, "; ", 2) && strncmp(end, ". ", 2))
        end++;
    m->v->title = psc_arena_strndup(m->arena, title, (size_t)(end - title));
    *ret_note = note ? note + 2 : "";
    return m->v->title != NULL;
}

enum psc_status psc_arena_view_at(struct psc_arena *arena, const struct psc_arena_axis *axis, int32_t position,
                                  struct psc_arena_view **ret, struct psc_error *reterr)
{
    const struct psc_arena_track *t = axis->track;
    struct psc_arena_view *v = psc_arena_alloc0(arena, 1, sizeof *v);
    struct psc_arena_look before;
    struct psc_text words = {0};
    int32_t n = (int32_t)axis->position_n;
    if (!v)
        return psc_fail_nomem(reterr);
    v->axis = axis;
    v->position = position < -1 ? -1 : position > n ? n : position;
    v->position_n = axis->position_n;
    v->from = v->position < 0 ? 0 : psc_arena_track_upto(t, v->position - 1);
    v->to = psc_arena_track_upto(t, v->position);
    enum psc_status status = psc_arena_track_look(t, arena, v->to, &v->look, reterr);
    if (!status)
        status = psc_arena_track_look(t, arena, v->from, &before, reterr);
    if (status)
        return status;
    struct psc_arena_home_view *homes = psc_arena_alloc0(arena, v->look.home_n, sizeof *homes);
    struct making m = {arena, v, &before};
    const char *note;
    bool fine = homes && put_title(&m, t->story->titles && v->position >= 0 && v->position < n ? t->story->titles[v->position] : "", &note);
    for (uint32_t k = 0; fine && k < v->look.home_n; k++)
        fine = put_home(&m, &homes[k], k);
    if (fine) {
        v->homes = homes;
        follow_events(&m, homes);
        fine = put_routes(&m);
    }
    if (fine) {
        psc_explain_arena_words(&words, v);
        psc_text_add(&words, note);
        v->words = words.failed ? NULL : psc_arena_strdup(arena, psc_text_str(&words));
        fine = v->words != NULL;
    }
    psc_text_release(&words);
    if (!fine)
        return psc_fail_nomem(reterr);
    *ret = v;
    return PSC_OK;
}

const char *psc_arena_view_name(const struct psc_arena_view *v, const struct psc_arena_slot_look *slot)
{
    const struct psc_story *s = v->axis->track->story;
    return slot->value != PSC_NONE && slot->value < s->value_n && s->values[slot->value].name ? s->values[slot->value].name : "";
}
