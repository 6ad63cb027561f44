/* Events as they happened, turned into stories; rows of KV. */
#include "core/run/recorder-private.h"

#include "core/base/mem.h"

#include <string.h>

/* ---- buffers ------------------------------------------------------------------------------------------ */

/* The place where a buffer's index stands; NULL when memory is exhausted. */
static uint32_t *index_of(struct psc_rec_phase *p, uint32_t backend, uint32_t id)
{
    struct psc_rec_ids *ids = &p->ids[backend];
    if (id >= ids->n) {
        if (!psc_grow(&ids->index, (size_t)id + 1, &ids->cap, sizeof *ids->index))
            return NULL;
        memset(ids->index + ids->n, 0xff, (id + 1 - ids->n) * sizeof *ids->index);
        ids->n = (size_t)id + 1;
    }
    return &ids->index[id];
}

/* Index of a buffer in the phase's table, where it also stands at *at; PSC_NONE when memory is exhausted. */
static uint32_t add_buffer(struct psc_recorder *r, uint32_t *at, const struct psc_buffer *buffer)
{
    struct psc_rec_phase *p = &r->phase;
    struct psc_buffer copy = *buffer;
    if (!at)
        return PSC_NONE;
    if (*at != PSC_NONE)
        return *at;
    copy.name = psc_arena_strdup(&r->doc->arena, buffer->name);
    if ((buffer->name && !copy.name) || !psc_grow(&p->buffers, p->buffer_n + 1, &p->buffer_cap, sizeof *p->buffers))
        return PSC_NONE;
    p->buffers[p->buffer_n] = copy;
    return *at = (uint32_t)p->buffer_n++;
}

/* The session's backend that a backend of the graph is. */
static uint32_t session_backend(const struct psc_recorder *r, uint8_t backend)
{
    for (uint32_t b = 0; b < psc_session_backend_n(r->session); b++)
        if (r->phase.backend_of[b] == backend)
            return b;
    return PSC_NONE;
}

static bool find_backends(struct psc_recorder *r)
{
    uint32_t n = psc_session_backend_n(r->session);
    const struct psc_graph *graph = r->phase.graph;
    r->phase.backend_of = psc_arena_alloc(&r->phase.look.arena, n, sizeof *r->phase.backend_of);
    if (!r->phase.backend_of)
        return false;
    for (uint32_t b = 0; b < n; b++) {
        const struct psc_backend_api *api;
        (void)psc_session_backend(r->session, b, &api);
        r->phase.backend_of[b] = PSC_BACKEND_NONE;
        for (uint32_t k = 0; k < graph->backend_n; k++)
            if (!strcmp(graph->backends[k], api->file_name) || !strcmp(graph->backends[k], api->name))
                r->phase.backend_of[b] = (uint8_t)k;
    }
    return true;
}

enum psc_status psc_rec_buffers(struct psc_recorder *r, struct psc_error *reterr)
{
    const struct psc_plan *plan = r->phase.plan;
    if (!find_backends(r))
        return psc_fail_nomem(reterr);
    for (uint32_t i = 0; i < plan->buffer_n; i++) {
        uint32_t backend = session_backend(r, plan->buffers[i].backend);
        bool there = plan->buffers[i].role == PSC_ROLE_PERSISTENT || !psc_rec_on_arenas(r);
        if (backend != PSC_NONE && there &&
            add_buffer(r, index_of(&r->phase, backend, (uint32_t)plan->buffers[i].id), &plan->buffers[i]) == PSC_NONE)
            return psc_fail_nomem(reterr);
    }
    return PSC_OK;
}

/* Index of a place among the story's backends: those of arenas stand behind the graph's. */
static uint8_t place_backend(const struct psc_recorder *r, uint32_t place)
{
    uint32_t n = psc_session_backend_n(r->session);
    return place < n ? r->phase.backend_of[place] : (uint8_t)(r->phase.graph->backend_n + place - n);
}

/* A buffer that the plan does not know lies behind the others of its backend. */
static uint64_t end_of_pool(const struct psc_rec_phase *p, uint8_t backend)
{
    uint64_t end = 0;
    for (size_t i = 0; i < p->buffer_n; i++) {
        const struct psc_buffer *b = &p->buffers[i];
        if (b->backend == backend && b->bytes != UINT64_MAX && b->base + b->bytes > end)
            end = b->base + b->bytes;
    }
    return end;
}

/* A slot that has got a larger block. */
static void grow(struct psc_recorder *r, uint32_t index, const struct psc_located *at)
{
    struct psc_pool_buffer now;
    if (index == PSC_NONE || at->buffer == PSC_NONE || at->backend < psc_session_backend_n(r->session))
        return;
    psc_session_buffer(r->session, at->backend, at->buffer, &now);
    if (r->phase.buffers[index].bytes < now.bytes)
        r->phase.buffers[index].bytes = now.bytes;
}

static uint32_t locate(struct psc_recorder *r, const struct psc_located *at)
{
    struct psc_rec_phase *p = &r->phase;
    struct psc_pool_buffer pool;
    bool known = at->buffer != PSC_NONE && at->backend < psc_session_place_n(r->session);
    struct psc_buffer made = {.name = "nowhere", .id = PSC_NONE, .role = PSC_ROLE_EXTERNAL, .bytes = UINT64_MAX,
                              .backend = PSC_BACKEND_NONE};
    if (known && at->buffer < p->ids[at->backend].n && p->ids[at->backend].index[at->buffer] != PSC_NONE)
        return p->ids[at->backend].index[at->buffer];
    if (known) {
        uint8_t backend = place_backend(r, at->backend);
        psc_session_buffer(r->session, at->backend, at->buffer, &pool);
        made = (struct psc_buffer){.id = at->buffer, .name = pool.name, .role = pool.role, .bytes = pool.bytes, .backend = backend,
                                   .base = end_of_pool(p, backend)};
    }
    uint32_t index = add_buffer(r, known ? index_of(p, at->backend, at->buffer) : &p->nowhere, &made);
    r->failed = r->failed || index == PSC_NONE;
    return index;
}

/* ---- while it happens --------------------------------------------------------------------------------- */

void psc_rec_event(struct psc_recorder *r, const struct psc_event *event, const struct psc_located *at)
{
    if (!psc_grow(&r->events, r->event_n + 1, &r->event_cap, sizeof *r->events)) {
        r->failed = true;
        return;
    }
    struct psc_event *e = &r->events[r->event_n++];
    *e = *event;
    bool has_bytes = event->kind != PSC_EV_WAIT && event->kind != PSC_EV_COMPLETE && event->kind != PSC_EV_SUBMIT;
    e->buffer = PSC_NONE;
    if (at && has_bytes) {
        e->buffer = locate(r, at);
        if (event->kind == PSC_EV_ALLOC || event->kind == PSC_EV_FILL || event->kind == PSC_EV_ENQUEUE) /* it has just been given out */
            grow(r, e->buffer, at);
        e->generation = at->generation;
        e->lo = at->lo;
        e->hi = at->hi;
    }
}

static bool written_rows(struct psc_recorder *r, uint32_t layer, uint32_t rows)
{
    size_t cap = r->layer_cap;
    if (layer >= r->layer_n) {
        size_t cap_n = r->layer_cap;
        if (!psc_grow(&r->written, (size_t)layer + 1, &cap, sizeof *r->written) ||
            !psc_grow(&r->written_n, (size_t)layer + 1, &cap_n, sizeof *r->written_n))
            return false;
        r->layer_cap = cap < cap_n ? cap : cap_n;
        for (; r->layer_n <= layer; r->layer_n++) {
            r->written[r->layer_n] = NULL;
            r->written_n[r->layer_n] = 0;
        }
    }
    if (rows <= r->written_n[layer])
        return true;
    uint32_t more = rows < 64 ? 64 : rows > UINT32_MAX / 2 ? rows : rows * 2;
    uint8_t *grown = psc_realloc(r->written[layer], more);
    if (!grown)
        return false;
    memset(grown + r->written_n[layer], 0, more - r->written_n[layer]);
    r->written[layer] = grown;
    r->written_n[layer] = more;
    return true;
}

void psc_rec_rows(struct psc_recorder *r, const struct psc_kv_access *access)
{
    uint32_t layer = access->layer < 0 ? 0 : (uint32_t)access->layer;
    if (access->hi < access->lo || !written_rows(r, layer, access->hi) ||
        !psc_grow(&r->rows, r->row_n + 1, &r->row_cap, sizeof *r->rows)) {
        r->failed = true;
        return;
    }
    struct psc_kv_rows *rows = &r->rows[r->row_n++];
    *rows = (struct psc_kv_rows){access->node, access->layer, access->is_write, access->lo, access->hi, 0};
    uint8_t *written = r->written[layer];
    if (access->is_write)
        memset(written + access->lo, 1, access->hi - access->lo);
    else
        for (uint32_t row = access->lo; row < access->hi; row++)
            rows->unwritten += !written[row] && !(row < r->loaded_n && r->loaded[row]);
    r->unwritten_n += rows->unwritten;
}

/* ---- stories ------------------------------------------------------------------------------------------- */

/* The same but for how often buffers had been given out before. */
static bool same_events(const struct psc_event *a, size_t a_n, const struct psc_event *b, size_t b_n)
{
    if (a_n != b_n)
        return false;
    for (size_t i = 0; i < a_n; i++) {
        const struct psc_event *x = &a[i], *y = &b[i];
        if (x->lo != y->lo || x->hi != y->hi || x->value != y->value || x->buffer != y->buffer || x->node != y->node ||
            x->position != y->position || x->operand != y->operand || x->kind != y->kind || x->run != y->run)
            return false;
    }
    return true;
}

/* Counting of one story under construction. */
struct telling {
    struct psc_story_builder *builder;
    uint32_t *writes;  /* of each value */
    uint32_t *enqueue; /* event that enqueued the value last, PSC_NONE */
    uint32_t value_n, event_n;
    uint32_t planned_n;  /* values of the plan; a node's workspace is numbered from here in what was recorded */
    uint32_t *workspace; /* [graph->n]: the value of it here, PSC_NONE */
};

static bool is_write(enum psc_event_kind kind)
{
    return kind == PSC_EV_FILL || kind == PSC_EV_WRITE || kind == PSC_EV_ROWS_WRITE;
}

/* Versions, lanes and events waited for follow from the order of the events. */
static void tell(struct telling *t, const struct psc_graph *graph, const struct psc_event *event)
{
    struct psc_event e = *event;
    enum psc_event_kind kind = (enum psc_event_kind)e.kind;
    if (e.value != PSC_NONE && e.value >= t->planned_n)
        e.value = t->workspace[e.value - t->planned_n];
    e.cause = PSC_NONE;
    e.lane = 0;
    if (e.node < graph->n && kind != PSC_EV_ENQUEUE && kind != PSC_EV_FILL)
        e.lane = graph->nodes[e.node].backend == PSC_BACKEND_NONE ? 1 : (uint16_t)(graph->nodes[e.node].backend + 1);
    if (e.value < t->value_n) {
        uint32_t *writes = &t->writes[e.value];
        e.version = is_write(kind) ? (*writes)++ : *writes ? *writes - 1 : 0;
        if (kind == PSC_EV_ENQUEUE)
            t->enqueue[e.value] = t->event_n;
        if (kind == PSC_EV_WAIT || kind == PSC_EV_COMPLETE)
            e.peer = t->enqueue[e.value];
    }
    if ((kind == PSC_EV_WAIT || kind == PSC_EV_COMPLETE) && e.peer == PSC_NONE)
        return; /* nothing was under way: a drain */
    t->event_n++;
    psc_story_add_event(t->builder, &e);
}

/* Slots that have grown lie further behind one another than they did. */
static void add_buffers(struct psc_story_builder *builder, const struct psc_rec_phase *p)
{
    uint64_t end[2] = {0, 0};
    for (size_t i = 0; i < p->buffer_n; i++) {
        struct psc_buffer b = p->buffers[i];
        uint64_t *at = b.role == PSC_ROLE_ARENA ? &end[b.backend != p->graph->backend_n] : NULL;
        if (at)
            b.base = *at;
        if (at && !psc_add_u64(*at, b.bytes, at))
            *at = UINT64_MAX;
        psc_story_add_buffer(builder, &b);
    }
}

static void add_rooms(struct psc_story_builder *builder, const struct psc_story *planned, const struct psc_recorder *r)
{
    uint32_t places = psc_session_place_n(r->session);
    for (uint32_t i = 0; i < planned->backend_n; i++)
        psc_story_add_backend(builder, planned->backends[i]);
    for (uint32_t i = psc_session_backend_n(r->session); i < places; i++)
        psc_story_add_backend(builder, psc_session_place_name(r->session, i));
    for (uint32_t i = 0; i < planned->lane_n; i++)
        psc_story_add_lane(builder, planned->lanes[i].name, planned->lanes[i].backend);
    add_buffers(builder, &r->phase);
    for (uint32_t i = 0; i < planned->value_n; i++)
        psc_story_add_value(builder, &planned->values[i]);
    psc_story_set_order(builder, planned->position_n, NULL, planned->believed_order, PSC_EXEC_SERIAL, NULL, false);
}

/* Stretches of what was written by kernels in a queue. Of a backend that takes effect at once nothing was told; what nobody
 * saw completed (a run that failed) counts as queued to the end. */
static void add_queued(struct telling *t, const struct psc_recorder *r)
{
    const struct psc_graph *graph = r->phase.graph;
    size_t seen[PSC_REC_PLACES_MAX] = {0};
    bool queues[PSC_REC_PLACES_MAX] = {false};
    struct psc_queued open = {.done = 0};
    for (size_t i = 0; i < r->completed_n; i++)
        queues[r->completed[i].backend] = true;
    for (size_t i = 0; i < r->event_n; i++) {
        const struct psc_event *e = &r->events[i];
        bool writes = e->kind == PSC_EV_WRITE || e->kind == PSC_EV_ROWS_WRITE;
        uint32_t b = writes && e->node < graph->n ? session_backend(r, graph->nodes[e->node].backend) : PSC_NONE;
        if (b == PSC_NONE || !queues[b])
            continue;
        while (seen[b] < r->completed_n && (r->completed[seen[b]].backend != b || r->completed[seen[b]].before <= e->node))
            seen[b]++;
        struct psc_queued q = {e->node, e->node, seen[b] < r->completed_n ? r->completed[seen[b]].at : graph->n,
                               (uint16_t)(graph->nodes[e->node].backend + 1)};
        if (q.done <= q.last)
            continue;
        if (open.done && open.lane == q.lane && open.done == q.done) {
            open.last = q.last;
            continue;
        }
        if (open.done)
            psc_story_add_queued(t->builder, &open);
        open = q;
    }
    if (open.done)
        psc_story_add_queued(t->builder, &open);
}

/* The executions that follow do not fill again: every input must still be there when they begin. */
static void read_again(struct telling *t, const struct psc_recorder *r)
{
    for (size_t i = 0; i < r->event_n && r->events[i].kind == PSC_EV_FILL; i++) {
        struct psc_event e = r->events[i];
        e.kind = PSC_EV_READ;
        e.run = 1;
        e.position = (int32_t)r->phase.graph->n;
        tell(t, r->phase.graph, &e);
    }
}

/* Workspaces that the kernels of this step were given, as values behind those of the plan. */
static void add_workspaces(struct telling *t, const struct psc_recorder *r)
{
    const struct psc_graph *graph = r->phase.graph;
    for (size_t i = 0; i < r->event_n; i++) {
        const struct psc_event *e = &r->events[i];
        if (e->kind != PSC_EV_ALLOC || e->value == PSC_NONE || e->value < t->planned_n)
            continue;
        psc_node node = e->value - t->planned_n;
        t->workspace[node] = psc_story_add_value(t->builder, &(struct psc_value){
            .kind = PSC_VALUE_WORKSPACE, .backend = graph->nodes[node].backend, .layer = graph->nodes[node].layer, .node = node,
            .of = PSC_NONE, .bytes = e->hi - e->lo});
        t->value_n++;
    }
}

static enum psc_status make_story(struct psc_recorder *r, struct psc_arena *arena, struct psc_story **ret,
                                  struct psc_error *reterr)
{
    struct psc_arena scratch = {0};
    struct psc_story *planned = NULL;
    const struct psc_graph *graph = r->phase.graph;
    enum psc_status status = psc_plan_lower(&scratch, graph, r->phase.plan, &planned, reterr);
    struct telling t = {.builder = psc_story_builder_new(), .value_n = status == PSC_OK ? planned->value_n : 0};
    if (status == PSC_OK) {
        size_t most = (size_t)t.value_n + graph->n;
        t.planned_n = t.value_n;
        t.writes = psc_arena_alloc0(&scratch, most, sizeof *t.writes);
        t.enqueue = psc_arena_alloc(&scratch, most, sizeof *t.enqueue);
        t.workspace = psc_arena_alloc(&scratch, graph->n, sizeof *t.workspace);
        if (!t.builder || !t.writes || !t.enqueue || !t.workspace)
            status = psc_fail_nomem(reterr);
        else
            memset(t.enqueue, 0xff, most * sizeof *t.enqueue);
    }
    if (status == PSC_OK) {
        add_rooms(t.builder, planned, r);
        add_workspaces(&t, r);
        for (size_t i = 0; i < r->event_n; i++)
            tell(&t, graph, &r->events[i]);
        add_queued(&t, r);
        if (r->options.reruns)
            read_again(&t, r);
        status = psc_story_builder_finish(t.builder, arena, ret, reterr);
    }
    psc_story_builder_free(t.builder);
    psc_arena_release(&scratch);
    return status;
}

/* A story that breaks a rule is told of and left out: what reads it relies on the rules. */
static enum psc_status checked_story(struct psc_recorder *r, struct psc_arena *arena, const struct psc_story **ret,
                                     struct psc_error *reterr)
{
    struct psc_error err;
    struct psc_story *story = NULL;
    enum psc_status status = make_story(r, arena, &story, reterr);
    if (status != PSC_OK)
        return status;
    status = psc_story_check(story, &err);
    if (status == PSC_ERR_NOMEM)
        return psc_fail_nomem(reterr);
    if (status != PSC_OK)
        psc_report_add(&r->doc->report, PSC_WARNING, 0, 0, UINT64_MAX, "the recorded events of step %u are left out: %s",
                       r->step, err.text);
    else
        *ret = story;
    return PSC_OK;
}

static bool keep_events(struct psc_recorder *r, struct psc_event **to, size_t *to_n)
{
    struct psc_event *copy = psc_alloc(r->event_n * sizeof *copy);
    if (!copy)
        return false;
    if (r->event_n)
        memcpy(copy, r->events, r->event_n * sizeof *copy);
    psc_free(*to);
    *to = copy;
    *to_n = r->event_n;
    return true;
}

static size_t fill_n(const struct psc_event *events, size_t n)
{
    size_t k = 0;
    while (k < n && events[k].kind == PSC_EV_FILL)
        k++;
    return k;
}

/* Inputs that were not filled again hold what the first step was given: their fills stand where that step has them. */
static bool carry_fills(struct psc_recorder *r)
{
    const struct psc_rec_phase *p = &r->phase;
    size_t first_n = fill_n(p->first, p->first_n), own_n = fill_n(r->events, r->event_n), rest = r->event_n - own_n;
    if (own_n >= first_n)
        return true;
    struct psc_event *merged = psc_alloc((first_n + rest) * sizeof *merged);
    if (!merged)
        return false;
    memcpy(merged, p->first, first_n * sizeof *merged);
    for (size_t i = 0; i < first_n; i++)
        for (size_t k = 0; k < own_n; k++)
            if (r->events[k].value == merged[i].value)
                merged[i] = r->events[k];
    memcpy(merged + first_n, r->events + own_n, rest * sizeof *merged);
    psc_free(r->events);
    r->events = merged;
    r->event_n = r->event_cap = first_n + rest;
    return true;
}

enum psc_status psc_rec_story(struct psc_recorder *r, struct psc_error *reterr)
{
    struct psc_rec_phase *p = &r->phase;
    uint64_t completed = psc_hash_bytes(r->completed, r->completed_n * sizeof *r->completed, r->completed_n);
    const struct psc_story *story = NULL;
    if (!r->options.events)
        return PSC_OK;
    if (!p->steps) {
        enum psc_status status = checked_story(r, &r->doc->arena, &story, reterr);
        if (status == PSC_OK && !keep_events(r, &p->first, &p->first_n))
            status = psc_fail_nomem(reterr);
        r->doc->phases[p->index].story = (struct psc_story *)(uintptr_t)story;
        p->first_completed = completed;
        return status;
    }
    if (!carry_fills(r))
        return psc_fail_nomem(reterr);
    if (completed == p->first_completed && same_events(r->events, r->event_n, p->first, p->first_n))
        return PSC_OK;
    if (!p->last_story || completed != p->last_completed || !same_events(r->events, r->event_n, p->last, p->last_n)) {
        p->last_story = NULL;
        p->last_completed = completed;
        enum psc_status status = checked_story(r, &r->doc->arena, &p->last_story, reterr);
        if (status == PSC_OK && !keep_events(r, &p->last, &p->last_n))
            status = psc_fail_nomem(reterr);
        if (status == PSC_OK && !psc_grow(&r->owns, r->own_n + 1, &r->own_cap, sizeof *r->owns))
            status = psc_fail_nomem(reterr);
        if (status != PSC_OK)
            return status;
        if (p->last_story)
            r->owns[r->own_n++] = (struct psc_rec_own){p->last_story, p->index};
    }
    r->pending.story = p->last_story;
    return PSC_OK;
}
