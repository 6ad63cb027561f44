#include "core/debug/arena-view.h"

#include "core/base/text.h"

#include <string.h>

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
    *axis = (struct psc_arena_axis){track, run_at, top, n, s->position_n};
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
    for (uint32_t k = 0; e->slot != PSC_NONE && e->buffer != PSC_NONE && k < s->arena_n; k++)
        if (s->arenas[k].backend == s->buffers[e->buffer].backend)
            return k;
    return PSC_NONE;
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
