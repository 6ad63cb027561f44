#include "core/event/event.h"

#include "core/base/mem.h"

#include <stdio.h>
#include <string.h>

const char *psc_role_name(enum psc_role role)
{
    static const char *const names[PSC_ROLE_N] = {"pool", "persistent", "input", "output", "staging", "external", "arena"};
    return (unsigned)role < PSC_ROLE_N ? names[role] : "unknown";
}

const char *psc_event_name(enum psc_event_kind kind)
{
    static const char *const names[PSC_EV_N] = {
        "fill", "alloc", "write", "read", "rows-write", "rows-read", "view", "alias", "takeover", "enqueue",
        "complete", "copy", "submit", "wait", "release", "export", "drop", "transfer", "clear", "grow", "evict",
        "trim", "refuse", "capture", "host-read", "close",
    };
    return (unsigned)kind < PSC_EV_N ? names[kind] : "unknown";
}

const char *psc_owner_name(enum psc_owner owner)
{
    static const char *const names[PSC_OWNER_N] = {"nobody", "tensor", "binding", "lease"};
    return (unsigned)owner < PSC_OWNER_N ? names[owner] : "unknown";
}

const char *psc_executor_name(enum psc_executor executor)
{
    static const char *const names[PSC_EXEC_N] = {"serial", "level", "queues"};
    return (unsigned)executor < PSC_EXEC_N ? names[executor] : "unknown";
}

psc_node psc_story_node_at(const struct psc_story *story, int32_t position)
{
    if (position < 0 || (uint32_t)position >= story->position_n)
        return PSC_NONE;
    return story->order ? story->order[position] : (psc_node)position;
}

struct psc_event psc_event_blank(enum psc_event_kind kind, int32_t position)
{
    return (struct psc_event){
        .value = PSC_NONE, .buffer = PSC_NONE, .node = PSC_NONE, .peer = PSC_NONE, .cause = PSC_NONE, .slot = PSC_NONE,
        .position = position, .kind = (uint8_t)kind,
    };
}

const char *psc_buffer_label(const char *const *backends, uint32_t backend_n, const struct psc_buffer *buffer, char *buf, size_t size)
{
    const char *backend = backend_n > 1 && buffer->backend < backend_n && buffer->role != PSC_ROLE_PERSISTENT
                              ? backends[buffer->backend] : NULL;
    char number[24];
    snprintf(number, sizeof number, "b%llu", (unsigned long long)buffer->id);
    const char *name = buffer->name ? buffer->name : number;
    bool told = !backend || strstr(name, backend); /* "stage.24.cpu" says it itself */
    snprintf(buf, size, "%s%s%s", name, told ? "" : " \xc2\xb7 ", told ? "" : backend);
    return buf;
}

const char *psc_value_label(const struct psc_story *story, const struct psc_graph *g, uint32_t value,
                            char *buf, size_t size)
{
    const struct psc_value *v = value < story->value_n ? &story->values[value] : NULL;
    char node[128] = "";
    if (!v) {
        snprintf(buf, size, "nothing");
        return buf;
    }
    if (v->name) {
        snprintf(buf, size, "%s", v->name);
        return buf;
    }
    if (v->node != PSC_NONE && g && v->node < g->n) {
        char label[96];
        psc_node_label(g, v->node, label, sizeof label);
        snprintf(node, sizeof node, "#%llu %s", (unsigned long long)g->nodes[v->node].id, label);
    } else if (v->node != PSC_NONE) {
        snprintf(node, sizeof node, "#%u", v->node);
    }
    switch (v->kind) {
    case PSC_VALUE_REGION:
        snprintf(buf, size, "%s of layer %d", v->slot ? "V rows" : "K rows", v->layer);
        break;
    case PSC_VALUE_STAGING:
        snprintf(buf, size, "copy of %s%s%s", node[0] ? node : "a value",
                 v->backend < story->backend_n ? " on " : "",
                 v->backend < story->backend_n ? story->backends[v->backend] : "");
        break;
    case PSC_VALUE_WORKSPACE:
        snprintf(buf, size, "workspace of %s", node[0] ? node : "a node");
        break;
    default:
        if (node[0])
            snprintf(buf, size, "%s", node);
        else
            snprintf(buf, size, "value %u", value);
    }
    return buf;
}

const struct psc_queued *psc_story_queued_at(const struct psc_story *story, int32_t position)
{
    uint32_t lo = 0, hi = story->queued_n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (position >= 0 && story->queued[mid].last < (uint32_t)position)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (position < 0 || lo == story->queued_n || story->queued[lo].first > (uint32_t)position)
        return NULL;
    return &story->queued[lo];
}

/* ---- builder ------------------------------------------------------------------------------------------ */

struct psc_story_builder {
    struct psc_arena arena; /* names, until the story is finished */
    struct psc_value *values;
    struct psc_buffer *buffers;
    struct psc_event *events;
    struct psc_lane *lanes;
    const char **backends;
    struct psc_story_arena *arenas;
    struct psc_story_alarm *alarms;
    struct psc_queued *queued;
    size_t queued_n, queued_cap;
    size_t arena_n, arena_cap, alarm_n, alarm_cap;
    size_t value_n, value_cap, buffer_n, buffer_cap, event_n, event_cap, lane_n, lane_cap, backend_n, backend_cap;
    psc_node *order, *believed_order; /* in the arena */
    uint32_t *level;
    struct psc_edge *edges;
    const char **titles;
    uint32_t position_n, edge_n;
    enum psc_executor executor;
    bool predicted, failed, too_big;
};

struct psc_story_builder *psc_story_builder_new(void)
{
    return psc_alloc0(1, sizeof(struct psc_story_builder));
}

void psc_story_builder_free(struct psc_story_builder *b)
{
    if (!b)
        return;
    psc_arena_release(&b->arena);
    psc_free(b->values);
    psc_free(b->buffers);
    psc_free(b->events);
    psc_free(b->lanes);
    psc_free(b->backends);
    psc_free(b->arenas);
    psc_free(b->alarms);
    psc_free(b->queued);
    psc_free(b);
}

static const char *keep(struct psc_story_builder *b, const char *text)
{
    if (!text)
        return NULL;
    const char *out = psc_arena_strdup(&b->arena, text);
    b->failed = b->failed || !out;
    return out;
}

uint8_t psc_story_add_backend(struct psc_story_builder *b, const char *name)
{
    for (size_t k = 0; k < b->backend_n; k++)
        if (!strcmp(b->backends[k], name))
            return (uint8_t)k;
    b->too_big = b->too_big || b->backend_n == PSC_BACKEND_NONE;
    if (b->failed || b->too_big)
        return PSC_BACKEND_NONE;
    const char *kept = keep(b, name);
    if (!kept || !psc_grow(&b->backends, b->backend_n + 1, &b->backend_cap, sizeof *b->backends)) {
        b->failed = true;
        return PSC_BACKEND_NONE;
    }
    b->backends[b->backend_n] = kept;
    return (uint8_t)b->backend_n++;
}

uint16_t psc_story_add_lane(struct psc_story_builder *b, const char *name, uint8_t backend)
{
    b->too_big = b->too_big || b->lane_n == UINT16_MAX;
    if (b->failed || b->too_big)
        return 0;
    const char *kept = keep(b, name);
    if ((name && !kept) || !psc_grow(&b->lanes, b->lane_n + 1, &b->lane_cap, sizeof *b->lanes)) {
        b->failed = true;
        return 0;
    }
    b->lanes[b->lane_n] = (struct psc_lane){kept, backend};
    return (uint16_t)b->lane_n++;
}

/* Room for one more of an array of at most PSC_NONE elements; false when there is none. */
static bool room(struct psc_story_builder *b, void *array, size_t n, size_t *cap, size_t size)
{
    b->too_big = b->too_big || n >= PSC_NONE;
    if (!b->failed && !b->too_big && !psc_grow(array, n + 1, cap, size))
        b->failed = true;
    return !b->failed && !b->too_big;
}

uint32_t psc_story_add_buffer(struct psc_story_builder *b, const struct psc_buffer *buffer)
{
    if (!room(b, &b->buffers, b->buffer_n, &b->buffer_cap, sizeof *b->buffers))
        return PSC_NONE;
    struct psc_buffer copy = *buffer;
    copy.name = keep(b, buffer->name);
    b->buffers[b->buffer_n] = copy;
    return (uint32_t)b->buffer_n++;
}

uint32_t psc_story_add_value(struct psc_story_builder *b, const struct psc_value *value)
{
    if (!room(b, &b->values, b->value_n, &b->value_cap, sizeof *b->values))
        return PSC_NONE;
    struct psc_value copy = *value;
    copy.name = keep(b, value->name);
    b->values[b->value_n] = copy;
    return (uint32_t)b->value_n++;
}

uint32_t psc_story_add_event(struct psc_story_builder *b, const struct psc_event *event)
{
    if (!room(b, &b->events, b->event_n, &b->event_cap, sizeof *b->events))
        return PSC_NONE;
    b->events[b->event_n] = *event;
    return (uint32_t)b->event_n++;
}

static uint32_t *keep_array(struct psc_story_builder *b, const uint32_t *from, uint32_t n)
{
    if (!from)
        return NULL;
    uint32_t *out = psc_arena_alloc(&b->arena, n, sizeof *out);
    if (!out)
        b->failed = true;
    else
        memcpy(out, from, n * sizeof *out);
    return out;
}

void psc_story_set_order(struct psc_story_builder *b, uint32_t position_n, const psc_node *order,
                         const psc_node *believed_order, enum psc_executor executor, const uint32_t *level,
                         bool predicted)
{
    b->position_n = position_n;
    b->order = keep_array(b, order, position_n);
    b->believed_order = keep_array(b, believed_order, position_n);
    b->level = keep_array(b, level, position_n);
    b->executor = executor;
    b->predicted = predicted;
}

void psc_story_set_edges(struct psc_story_builder *b, const struct psc_edge *edges, uint32_t edge_n)
{
    b->edges = psc_arena_alloc(&b->arena, edge_n, sizeof *edges);
    b->edge_n = edge_n;
    b->failed = b->failed || !b->edges;
    if (b->edges && edge_n)
        memcpy(b->edges, edges, edge_n * sizeof *edges);
}

void psc_story_set_titles(struct psc_story_builder *b, const char *const *titles)
{
    b->titles = psc_arena_alloc(&b->arena, b->position_n, sizeof *b->titles);
    b->failed = b->failed || !b->titles;
    for (uint32_t p = 0; b->titles && p < b->position_n; p++)
        b->titles[p] = keep(b, titles[p] ? titles[p] : "");
}

void psc_story_add_queued(struct psc_story_builder *b, const struct psc_queued *queued)
{
    if (room(b, &b->queued, b->queued_n, &b->queued_cap, sizeof *b->queued))
        b->queued[b->queued_n++] = *queued;
}

void psc_story_add_arena(struct psc_story_builder *b, const struct psc_story_arena *arena)
{
    if (!room(b, &b->arenas, b->arena_n, &b->arena_cap, sizeof *b->arenas))
        return;
    b->arenas[b->arena_n] = *arena;
    b->arenas[b->arena_n++].mode = keep(b, arena->mode);
}

void psc_story_add_alarm(struct psc_story_builder *b, const struct psc_story_alarm *alarm)
{
    if (!room(b, &b->alarms, b->alarm_n, &b->alarm_cap, sizeof *b->alarms))
        return;
    b->alarms[b->alarm_n] = *alarm;
    b->alarms[b->alarm_n++].text = keep(b, alarm->text);
}

/* A copy of n elements in the arena; NULL and *failed when out of memory. */
static void *settle(struct psc_arena *arena, const void *from, size_t n, size_t size, bool *failed)
{
    void *out = psc_arena_alloc(arena, n, size);
    if (!out)
        *failed = true;
    else if (n)
        memcpy(out, from, n * size);
    return out;
}

static const char *settle_text(struct psc_arena *arena, const char *text, bool *failed)
{
    const char *out = psc_arena_strdup(arena, text);
    *failed = *failed || (text && !out);
    return out;
}

static void settle_arenas(const struct psc_story_builder *b, struct psc_arena *arena, struct psc_story *s, bool *failed)
{
    if (!b->arena_n)
        return;
    struct psc_story_arena *arenas = settle(arena, b->arenas, b->arena_n, sizeof *arenas, failed);
    struct psc_story_alarm *alarms = settle(arena, b->alarms, b->alarm_n, sizeof *alarms, failed);
    for (size_t k = 0; arenas && k < b->arena_n; k++)
        arenas[k].mode = settle_text(arena, arenas[k].mode, failed);
    for (size_t k = 0; alarms && k < b->alarm_n; k++)
        alarms[k].text = settle_text(arena, alarms[k].text, failed);
    s->arenas = arenas;
    s->alarms = alarms;
    s->arena_n = (uint32_t)b->arena_n;
    s->alarm_n = (uint32_t)b->alarm_n;
}

static struct psc_story *settle_story(const struct psc_story_builder *b, struct psc_arena *arena)
{
    bool failed = false;
    struct psc_story *s = psc_arena_alloc0(arena, 1, sizeof *s);
    struct psc_value *values = settle(arena, b->values, b->value_n, sizeof *values, &failed);
    struct psc_buffer *buffers = settle(arena, b->buffers, b->buffer_n, sizeof *buffers, &failed);
    struct psc_lane *lanes = settle(arena, b->lanes, b->lane_n, sizeof *lanes, &failed);
    const char **backends = settle(arena, b->backends, b->backend_n, sizeof *backends, &failed);
    struct psc_event *events = settle(arena, b->events, b->event_n, sizeof *events, &failed);
    if (!s || failed)
        return NULL;
    for (size_t k = 0; k < b->value_n; k++)
        values[k].name = settle_text(arena, values[k].name, &failed);
    for (size_t k = 0; k < b->buffer_n; k++)
        buffers[k].name = settle_text(arena, buffers[k].name, &failed);
    for (size_t k = 0; k < b->lane_n; k++)
        lanes[k].name = settle_text(arena, lanes[k].name, &failed);
    for (size_t k = 0; k < b->backend_n; k++)
        backends[k] = settle_text(arena, backends[k], &failed);
    *s = (struct psc_story){
        .values = values, .buffers = buffers, .events = events, .lanes = lanes, .backends = backends,
        .value_n = (uint32_t)b->value_n, .buffer_n = (uint32_t)b->buffer_n, .event_n = (uint32_t)b->event_n,
        .lane_n = (uint32_t)b->lane_n, .backend_n = (uint32_t)b->backend_n, .position_n = b->position_n,
        .executor = b->executor, .predicted = b->predicted,
    };
    size_t n = b->position_n;
    if (b->order)
        s->order = settle(arena, b->order, n, sizeof *b->order, &failed);
    if (b->believed_order)
        s->believed_order = settle(arena, b->believed_order, n, sizeof *b->believed_order, &failed);
    if (b->level)
        s->level = settle(arena, b->level, n, sizeof *b->level, &failed);
    if (b->edges)
        s->edges = settle(arena, b->edges, b->edge_n, sizeof *b->edges, &failed);
    s->edge_n = b->edge_n;
    if (b->queued_n)
        s->queued = settle(arena, b->queued, b->queued_n, sizeof *b->queued, &failed);
    s->queued_n = (uint32_t)b->queued_n;
    const char **titles = b->titles ? settle(arena, b->titles, n, sizeof *b->titles, &failed) : NULL;
    for (size_t p = 0; titles && p < n; p++)
        titles[p] = settle_text(arena, titles[p], &failed);
    s->titles = titles;
    settle_arenas(b, arena, s, &failed);
    return failed ? NULL : s;
}

enum psc_status psc_story_builder_finish(struct psc_story_builder *b, struct psc_arena *arena,
                                         struct psc_story **ret, struct psc_error *reterr)
{
    if (b->too_big)
        return psc_fail(reterr, PSC_ERR_TOO_BIG, "the story has more backends, lanes, values, buffers or events "
                                                 "than its numbers can count");
    struct psc_arena_mark mark = psc_arena_mark(arena);
    struct psc_story *story = b->failed ? NULL : settle_story(b, arena);
    if (!story) {
        psc_arena_rewind(arena, mark);
        return psc_fail_nomem(reterr);
    }
    *ret = story;
    return PSC_OK;
}
