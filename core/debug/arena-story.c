#include "core/debug/arena-story.h"

#include "core/base/mem.h"

#include <stdio.h>

enum psc_status psc_arena_story_init(struct psc_arena_story *t, struct psc_error *reterr)
{
    *t = (struct psc_arena_story){.builder = psc_story_builder_new(), .value = PSC_NONE, .last = PSC_NONE, .why = PSC_NONE, .node = PSC_NONE,
                                  .event_max = UINT32_MAX};
    if (!t->builder)
        return psc_fail_nomem(reterr);
    for (unsigned i = 0; i < PSC_DEPOT_SIMPLE; i++)
        psc_story_add_backend(t->builder, psc_depot_kind_name((enum psc_depot_kind)i));
    psc_story_add_lane(t->builder, "host", PSC_BACKEND_NONE);
    return PSC_OK;
}

void psc_arena_story_release(struct psc_arena_story *t)
{
    psc_story_builder_free(t->builder);
    psc_free(t->buffers);
    psc_free(t->titles);
    psc_arena_release(&t->scratch);
    *t = (struct psc_arena_story){0};
}

void psc_arena_story_begin(struct psc_arena_story *t)
{
    t->value = t->why = PSC_NONE;
    if (!psc_grow(&t->titles, t->title_n + 1, &t->title_cap, sizeof *t->titles))
        t->failed = true;
    else
        t->titles[t->title_n++] = "";
}

void psc_arena_story_title(struct psc_arena_story *t, const char *title)
{
    const char *copy = psc_arena_strdup(&t->scratch, title);
    if (!copy || !t->title_n)
        t->failed = true;
    else
        t->titles[t->title_n - 1] = copy;
}

static void know(struct psc_arena_story *t, uint64_t number, uint32_t home, uint64_t bytes)
{
    if (!psc_grow(&t->buffers, number + 1, &t->buffer_cap, sizeof *t->buffers)) {
        t->failed = true;
        return;
    }
    while (t->buffer_n <= number)
        t->buffers[t->buffer_n++] = (struct psc_arena_story_buffer){0};
    struct psc_arena_story_buffer *b = &t->buffers[number];
    if (!b->seen)
        *b = (struct psc_arena_story_buffer){.home = home, .value = PSC_NONE, .freed = PSC_NONE, .seen = true};
    if (bytes > b->bytes)
        b->bytes = bytes;
}

static const char *home_name(uint32_t home)
{
    return home == PSC_ARENA_CALLER ? "caller" : psc_depot_kind_name((enum psc_depot_kind)home);
}

void psc_arena_story_arena(struct psc_arena_story *t, const struct psc_depot_options *options)
{
    psc_story_add_arena(t->builder, &(struct psc_story_arena){
        .backend = psc_story_add_backend(t->builder, psc_depot_kind_name(options->kind)), .slot_max = options->slot_max,
        .cap = options->cap, .mode = options->guards == PSC_ARENA_UPSTREAM ? "upstream" : "hardened"});
}

void psc_arena_story_lamps(struct psc_arena_story *t, unsigned broken, const char *text)
{
    if (broken != t->broken && t->event_n <= t->event_max)
        psc_story_add_alarm(t->builder, &(struct psc_story_alarm){t->event_n, broken, text});
    t->broken = broken;
}

uint64_t psc_arena_story_caller(struct psc_arena_story *t, uint64_t bytes)
{
    uint64_t number = t->numbers++;
    know(t, number, PSC_ARENA_CALLER, bytes);
    return number;
}

uint32_t psc_arena_story_value(struct psc_arena_story *t, enum psc_value_kind kind, const char *name, uint32_t home,
                               uint64_t bytes, uint32_t of, uint64_t offset)
{
    struct psc_value v = {.kind = kind, .backend = psc_story_add_backend(t->builder, home_name(home)), .layer = -1,
                          .node = PSC_NONE, .of = of, .is_view = of != PSC_NONE, .offset = offset, .bytes = bytes,
                          .name = name};
    return psc_story_add_value(t->builder, &v);
}

static uint32_t add(struct psc_arena_story *t, struct psc_event e)
{
    e.node = t->node;
    e.run = t->run;
    e.phase = t->phase;
    t->event_n++;
    if (t->event_n > t->event_max)
        return PSC_NONE;
    return psc_story_add_event(t->builder, &e);
}

uint32_t psc_arena_story_add(struct psc_arena_story *t, enum psc_event_kind kind, uint32_t value, uint32_t version,
                             uint64_t buffer, uint32_t generation, uint64_t lo, uint64_t hi, uint32_t cause)
{
    struct psc_event e = psc_event_blank(kind, (int32_t)t->title_n - 1);
    e.value = value;
    e.version = version;
    e.buffer = buffer == UINT64_MAX ? PSC_NONE : (uint32_t)buffer;
    e.generation = generation;
    e.lo = lo;
    e.hi = hi;
    e.cause = cause;
    return add(t, e);
}

void psc_arena_story_sink(void *story, struct psc_depot *store, const struct psc_depot_event *e)
{
    struct psc_arena_story *t = story;
    bool whole = e->kind == PSC_EV_EVICT || e->kind == PSC_EV_TRIM || e->kind == PSC_EV_GROW;
    struct psc_event to = psc_event_blank(e->kind, (int32_t)t->title_n - 1);
    uint32_t at;
    if (e->kind == PSC_EV_CLEAR || e->kind == PSC_EV_REFUSE || t->title_n == 0)
        return; /* whoever asked tells it, once for both arenas */
    if (e->kind == PSC_EV_CLOSE) {
        to.peer = psc_depot_options(store)->kind;
        to.holders = e->holders < UINT16_MAX ? (uint16_t)e->holders : UINT16_MAX;
        (void)add(t, to);
        return;
    }
    know(t, e->buffer, psc_depot_options(store)->kind, e->capacity);
    if (t->failed)
        return;
    struct psc_arena_story_buffer *buffer = &t->buffers[e->buffer];
    to.value = whole ? PSC_NONE : t->value != PSC_NONE ? t->value : buffer->value;
    to.version = e->kind == PSC_EV_EXPORT ? t->version : 0;
    to.buffer = (uint32_t)e->buffer;
    to.generation = e->generation;
    to.hi = whole ? e->capacity : e->bytes;
    if (e->kind == PSC_EV_ALLOC || e->kind == PSC_EV_GROW)
        to.cause = buffer->freed;
    else
        to.cause = e->kind == PSC_EV_EVICT ? t->last : t->why;
    to.slot = e->slot;
    to.owner = (uint8_t)e->owner;
    to.holders = e->holders < UINT16_MAX ? (uint16_t)e->holders : UINT16_MAX;
    at = add(t, to);
    if (e->kind == PSC_EV_ALLOC)
        t->buffers[e->buffer].value = to.value;
    if (e->kind == PSC_EV_RELEASE || e->kind == PSC_EV_DROP)
        t->last = t->buffers[e->buffer].freed = at;
}

static void add_buffers(struct psc_arena_story *t)
{
    uint64_t base[PSC_ARENA_CALLER + 1] = {0}, count[PSC_ARENA_CALLER + 1] = {0};
    char name[48];
    for (size_t i = 0; i < t->buffer_n; i++) {
        const struct psc_arena_story_buffer *b = &t->buffers[i];
        uint32_t home = b->home;
        snprintf(name, sizeof name, "%s %llu", home_name(home), (unsigned long long)count[home]);
        psc_story_add_buffer(t->builder, &(struct psc_buffer){
            .id = count[home]++, .name = name, .backend = psc_story_add_backend(t->builder, home_name(home)),
            .role = home == PSC_ARENA_CALLER ? PSC_ROLE_EXTERNAL : PSC_ROLE_ARENA, .bytes = b->bytes, .base = base[home]});
        if (!psc_add_u64(base[home], b->bytes, &base[home]))
            base[home] = UINT64_MAX;
    }
}

enum psc_status psc_arena_story_finish(struct psc_arena_story *t, struct psc_arena *arena, struct psc_story **ret,
                                       struct psc_error *reterr)
{
    if (t->failed)
        return psc_fail_nomem(reterr);
    if (t->event_n > t->event_max)
        return psc_fail(reterr, PSC_ERR_TOO_BIG, "the steps make more than %u events", t->event_max);
    add_buffers(t);
    psc_story_set_order(t->builder, (uint32_t)t->title_n, NULL, NULL, PSC_EXEC_SERIAL, NULL, false);
    psc_story_set_titles(t->builder, t->titles);
    return psc_story_builder_finish(t->builder, arena, ret, reterr);
}
