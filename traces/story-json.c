#include "traces/story-json.h"

#include "core/base/mem.h"

#include <string.h>

static const char *const value_kinds[PSC_VALUE_KIND_N] = {"node",   "workspace", "fill", "staging",
                                                          "region", "caller",    "cell"};

/* ---- writing --------------------------------------------------------------------------------------- */

static void put_index(struct psc_json *j, uint32_t index)
{
    if (index == PSC_NONE)
        psc_json_null(j);
    else
        psc_json_u64(j, index);
}

static void put_node(struct psc_json *j, const struct psc_graph *g, psc_node node)
{
    if (node == PSC_NONE)
        psc_json_null(j);
    else
        psc_json_u64(j, g && node < g->n ? g->nodes[node].id : node);
}

static void put_backend(struct psc_json *j, uint8_t backend)
{
    put_index(j, backend == PSC_BACKEND_NONE ? PSC_NONE : backend);
}

static void put_bytes(struct psc_json *j, uint64_t bytes)
{
    if (bytes == UINT64_MAX)
        psc_json_null(j);
    else
        psc_json_u64(j, bytes);
}

static void put_nodes(struct psc_json *j, const char *key, const struct psc_graph *g, const psc_node *list,
                      uint32_t n)
{
    if (!list)
        return;
    psc_json_key(j, key);
    psc_json_array(j);
    for (uint32_t i = 0; i < n; i++)
        put_node(j, g, list[i]);
    psc_json_end_array(j);
}

static void write_value(struct psc_json *j, const struct psc_graph *g, const struct psc_value *v)
{
    psc_json_array(j);
    psc_json_string(j, value_kinds[v->kind]);
    psc_json_string(j, v->name);
    put_node(j, g, v->node);
    psc_json_u64(j, v->slot);
    psc_json_i64(j, v->layer);
    put_backend(j, v->backend);
    put_index(j, v->of);
    psc_json_u64(j, v->offset);
    psc_json_u64(j, v->bytes);
    psc_json_bool(j, v->is_view);
    psc_json_bool(j, v->is_output);
    psc_json_end_array(j);
}

static void write_buffer(struct psc_json *j, const struct psc_buffer *b)
{
    psc_json_array(j);
    psc_json_u64(j, b->id);
    psc_json_string(j, b->name);
    put_backend(j, b->backend);
    psc_json_string(j, psc_role_name(b->role));
    put_bytes(j, b->bytes);
    psc_json_u64(j, b->base);
    psc_json_end_array(j);
}

static void write_event(struct psc_json *j, const struct psc_graph *g, const struct psc_event *e)
{
    psc_json_array(j);
    psc_json_string(j, psc_event_name((enum psc_event_kind)e->kind));
    psc_json_i64(j, e->position);
    put_node(j, g, e->node);
    put_index(j, e->value);
    psc_json_u64(j, e->version);
    put_index(j, e->buffer);
    psc_json_u64(j, e->generation);
    psc_json_u64(j, e->lo);
    psc_json_u64(j, e->hi);
    put_index(j, e->peer);
    put_index(j, e->cause);
    psc_json_u64(j, e->lane);
    psc_json_u64(j, e->operand);
    psc_json_u64(j, e->run);
    psc_json_u64(j, e->phase);
    if (e->slot != PSC_NONE || e->kind == PSC_EV_CLOSE) { /* of an arena */
        put_index(j, e->slot);
        psc_json_string(j, psc_owner_name((enum psc_owner)e->owner));
        psc_json_u64(j, e->holders);
    }
    psc_json_end_array(j);
}

static void write_events(struct psc_json *j, const struct psc_graph *g, const struct psc_story *s, psc_flush_fn flush,
                         void *ctx)
{
    psc_json_key(j, "events");
    psc_json_array(j);
    for (uint32_t i = 0; i < s->event_n && !j->out.failed; i++) {
        write_event(j, g, &s->events[i]);
        if (flush)
            flush(ctx, j);
    }
    psc_json_end_array(j);
}

static void put_edges(struct psc_json *j, const struct psc_story *s)
{
    if (s->executor != PSC_EXEC_QUEUES)
        return;
    psc_json_key(j, "edges");
    psc_json_array(j);
    for (uint32_t i = 0; i < s->edge_n; i++) {
        psc_json_array(j);
        psc_json_u64(j, s->edges[i].from);
        psc_json_u64(j, s->edges[i].to);
        psc_json_end_array(j);
    }
    psc_json_end_array(j);
}

static void put_titles(struct psc_json *j, const struct psc_story *s)
{
    if (!s->titles)
        return;
    psc_json_key(j, "titles");
    psc_json_array(j);
    for (uint32_t p = 0; p < s->position_n; p++)
        psc_json_string(j, s->titles[p]);
    psc_json_end_array(j);
}

/* Arenas at run time, and which of their invariants were seen broken. */
static void put_arenas(struct psc_json *j, const struct psc_story *s)
{
    if (!s->arena_n)
        return;
    psc_json_key(j, "alarms");
    psc_json_array(j);
    for (uint32_t i = 0; i < s->alarm_n; i++) {
        psc_json_array(j);
        psc_json_u64(j, s->alarms[i].after);
        psc_json_u64(j, s->alarms[i].broken);
        psc_json_string(j, s->alarms[i].text);
        psc_json_end_array(j);
    }
    psc_json_end_array(j);
    psc_json_key(j, "arenas");
    psc_json_array(j);
    for (uint32_t i = 0; i < s->arena_n; i++) {
        psc_json_array(j);
        put_backend(j, s->arenas[i].backend);
        psc_json_u64(j, s->arenas[i].slot_max);
        put_bytes(j, s->arenas[i].cap);
        psc_json_string(j, s->arenas[i].mode);
        psc_json_end_array(j);
    }
    psc_json_end_array(j);
}

static void write_story(struct psc_json *j, const struct psc_graph *g, const struct psc_story *s, bool with_events,
                        psc_flush_fn flush, void *ctx)
{
    psc_json_object(j);
    put_arenas(j, s);
    psc_json_key(j, "backends");
    psc_json_array(j);
    for (uint32_t i = 0; i < s->backend_n; i++)
        psc_json_string(j, s->backends[i]);
    psc_json_end_array(j);
    put_nodes(j, "believed_order", g, s->believed_order, s->position_n);
    psc_json_key(j, "buffers");
    psc_json_array(j);
    for (uint32_t i = 0; i < s->buffer_n; i++)
        write_buffer(j, &s->buffers[i]);
    psc_json_end_array(j);
    put_edges(j, s);
    if (with_events)
        write_events(j, g, s, flush, ctx);
    psc_json_put_string(j, "executor", psc_executor_name(s->executor));
    psc_json_key(j, "lanes");
    psc_json_array(j);
    for (uint32_t i = 0; i < s->lane_n; i++) {
        psc_json_array(j);
        psc_json_string(j, s->lanes[i].name);
        put_backend(j, s->lanes[i].backend);
        psc_json_end_array(j);
    }
    psc_json_end_array(j);
    if (s->level) {
        psc_json_key(j, "level");
        psc_json_array(j);
        for (uint32_t i = 0; i < s->position_n; i++)
            psc_json_u64(j, s->level[i]);
        psc_json_end_array(j);
    }
    put_nodes(j, "order", g, s->order, s->position_n);
    psc_json_put_u64(j, "positions", s->position_n);
    psc_json_put_bool(j, "predicted", s->predicted);
    psc_story_write_queued(j, s);
    put_titles(j, s);
    psc_json_key(j, "values");
    psc_json_array(j);
    for (uint32_t i = 0; i < s->value_n && !j->out.failed; i++) {
        write_value(j, g, &s->values[i]);
        if (flush)
            flush(ctx, j);
    }
    psc_json_end_array(j);
    psc_json_end_object(j);
}

void psc_story_write_json(struct psc_json *j, const struct psc_graph *g, const struct psc_story *s,
                          psc_flush_fn flush, void *ctx)
{
    write_story(j, g, s, true, flush, ctx);
}

void psc_story_write_frame(struct psc_json *j, const struct psc_graph *g, const struct psc_story *s)
{
    write_story(j, g, s, false, NULL, NULL);
}

/* ---- reading ---------------------------------------------------------------------------------------- */

/* A row being read: remembers what went wrong, so that columns may be taken one after the other. */
struct row {
    struct psc_cursor c;
    const struct psc_graph *graph;
    const char *list;
    size_t at;
    const char *fault; /* the first column that is wrong */
    bool nomem;
};

static struct row open_row(const char *list, size_t at, struct psc_slice v, const struct psc_graph *graph)
{
    struct row r = {
        psc_cursor_open(v), graph, list, at, psc_slice_is_array(v) ? NULL : "the row itself", false};
    return r;
}

static struct psc_slice column(struct row *r, const char *name)
{
    struct psc_slice v = {0};
    if (!psc_cursor_element(&r->c, &v) && !r->fault)
        r->fault = name;
    return v;
}

static uint64_t whole(struct row *r, const char *name, uint64_t max)
{
    uint64_t v = 0;
    if ((!psc_slice_u64(column(r, name), &v) || v > max) && !r->fault)
        r->fault = name;
    return v;
}

static uint64_t whole_or(struct row *r, const char *name, uint64_t max, uint64_t none)
{
    uint64_t v = 0;
    struct psc_slice text = column(r, name);
    if (text.n && psc_slice_is_null(text))
        return none;
    if ((!psc_slice_u64(text, &v) || v > max) && !r->fault)
        r->fault = name;
    return v;
}

static uint32_t index_or_none(struct row *r, const char *name)
{
    return (uint32_t)whole_or(r, name, UINT32_MAX - 1, PSC_NONE);
}

static int32_t signed_number(struct row *r, const char *name)
{
    int64_t v = 0;
    if ((!psc_slice_i64(column(r, name), &v) || v < INT32_MIN || v > INT32_MAX) && !r->fault)
        r->fault = name;
    return (int32_t)v;
}

static psc_node find_node(const struct psc_graph *g, uint64_t id)
{
    return g ? psc_graph_find(g, id) : id < PSC_NODES_MAX ? (psc_node)id : PSC_NONE;
}

static psc_node node_or_none(struct row *r, const char *name)
{
    uint64_t id = 0;
    struct psc_slice text = column(r, name);
    if (text.n && psc_slice_is_null(text))
        return PSC_NONE;
    psc_node node = psc_slice_u64(text, &id) ? find_node(r->graph, id) : PSC_NONE;
    if (node == PSC_NONE && !r->fault)
        r->fault = name;
    return node;
}

static bool boolean(struct row *r, const char *name)
{
    return psc_slice_is_true(column(r, name));
}

/* Index of the text in a list of names; the fault is set when it is none of them. */
static int choice(struct row *r, const char *name, const char *(*name_of)(int i), int n)
{
    struct psc_slice v = column(r, name);
    for (int i = 0; i < n; i++) {
        const char *text = name_of(i);
        if (v.n == strlen(text) + 2 && memcmp(v.s + 1, text, v.n - 2) == 0)
            return i;
    }
    if (!r->fault)
        r->fault = name;
    return 0;
}

static const char *value_kind_of(int i)
{
    return value_kinds[i];
}

static const char *role_of(int i)
{
    return psc_role_name((enum psc_role)i);
}

static const char *event_of(int i)
{
    return psc_event_name((enum psc_event_kind)i);
}

static const char *owner_of(int i)
{
    return psc_owner_name((enum psc_owner)i);
}

static enum psc_status close_row(const struct row *r, struct psc_error *reterr)
{
    if (r->nomem)
        return psc_fail_nomem(reterr);
    if (r->fault)
        return psc_fail(reterr, PSC_ERR_PARSE, "%s[%zu]: %s is missing or not what it should be", r->list,
                        r->at, r->fault);
    return PSC_OK;
}

struct story_reader {
    struct psc_arena *texts;
    const struct psc_graph *graph;
    struct psc_story_builder *builder;
    uint32_t backend_n;
};

static enum psc_status read_value(const struct story_reader *s, struct row r, struct psc_error *reterr)
{
    struct psc_value v = {0};
    v.kind = (enum psc_value_kind)choice(&r, "kind", value_kind_of, PSC_VALUE_KIND_N);
    v.name = psc_slice_string(s->texts, column(&r, "name"), &r.nomem);
    v.node = node_or_none(&r, "node");
    v.slot = (uint16_t)whole(&r, "slot", UINT16_MAX);
    v.layer = signed_number(&r, "layer");
    v.backend = (uint8_t)whole_or(&r, "backend", UINT8_MAX - 1, PSC_BACKEND_NONE);
    v.of = index_or_none(&r, "of");
    v.offset = whole(&r, "offset", UINT64_MAX);
    v.bytes = whole(&r, "bytes", UINT64_MAX);
    v.is_view = boolean(&r, "view");
    v.is_output = boolean(&r, "output");
    enum psc_status status = close_row(&r, reterr);
    if (status == PSC_OK)
        psc_story_add_value(s->builder, &v);
    return status;
}

static enum psc_status read_buffer(const struct story_reader *s, struct row r, struct psc_error *reterr)
{
    struct psc_buffer b = {0};
    b.id = whole(&r, "id", UINT64_MAX);
    b.name = psc_slice_string(s->texts, column(&r, "name"), &r.nomem);
    b.backend = (uint8_t)whole_or(&r, "backend", UINT8_MAX - 1, PSC_BACKEND_NONE);
    b.role = (enum psc_role)choice(&r, "role", role_of, PSC_ROLE_N);
    b.bytes = whole_or(&r, "bytes", UINT64_MAX, UINT64_MAX);
    b.base = whole(&r, "base", UINT64_MAX);
    if (!b.name)
        b.name = "";
    enum psc_status status = close_row(&r, reterr);
    if (status == PSC_OK)
        psc_story_add_buffer(s->builder, &b);
    return status;
}

static enum psc_status read_event(const struct story_reader *s, struct row r, struct psc_error *reterr)
{
    struct psc_event e = {0};
    e.kind = (uint8_t)choice(&r, "kind", event_of, PSC_EV_N);
    e.position = signed_number(&r, "position");
    e.node = node_or_none(&r, "node");
    e.value = index_or_none(&r, "value");
    e.version = (uint32_t)whole(&r, "version", UINT32_MAX);
    e.buffer = index_or_none(&r, "buffer");
    e.generation = (uint32_t)whole(&r, "generation", UINT32_MAX);
    e.lo = whole(&r, "lo", UINT64_MAX);
    e.hi = whole(&r, "hi", UINT64_MAX);
    e.peer = index_or_none(&r, "peer");
    e.cause = index_or_none(&r, "cause");
    e.lane = (uint16_t)whole(&r, "lane", UINT16_MAX);
    e.operand = (uint16_t)whole(&r, "operand", UINT16_MAX);
    e.run = (uint16_t)whole(&r, "run", UINT16_MAX);
    e.phase = (uint16_t)whole(&r, "phase", UINT16_MAX);
    e.slot = PSC_NONE;
    if (!r.fault && psc_cursor_count(r.c) > 0) { /* of an arena */
        e.slot = index_or_none(&r, "slot");
        e.owner = (uint8_t)choice(&r, "owner", owner_of, PSC_OWNER_N);
        e.holders = (uint16_t)whole(&r, "holders", UINT16_MAX);
    }
    enum psc_status status = close_row(&r, reterr);
    if (status == PSC_OK)
        psc_story_add_event(s->builder, &e);
    return status;
}

static enum psc_status read_arena(const struct story_reader *s, struct row r, struct psc_error *reterr)
{
    struct psc_story_arena a = {0};
    a.backend = (uint8_t)whole(&r, "backend", UINT8_MAX - 1);
    if (a.backend >= s->backend_n && !r.fault)
        r.fault = "backend";
    a.slot_max = (uint32_t)whole(&r, "slots", UINT32_MAX);
    a.cap = whole_or(&r, "cap", UINT64_MAX, UINT64_MAX);
    a.mode = psc_slice_string(s->texts, column(&r, "mode"), &r.nomem);
    enum psc_status status = close_row(&r, reterr);
    if (status == PSC_OK)
        psc_story_add_arena(s->builder, &a);
    return status;
}

static enum psc_status read_alarm(const struct story_reader *s, struct row r, struct psc_error *reterr)
{
    struct psc_story_alarm a = {0};
    a.after = (uint32_t)whole(&r, "after", UINT32_MAX);
    a.broken = (uint32_t)whole(&r, "broken", UINT32_MAX);
    a.text = psc_slice_string(s->texts, column(&r, "text"), &r.nomem);
    enum psc_status status = close_row(&r, reterr);
    if (status == PSC_OK)
        psc_story_add_alarm(s->builder, &a);
    return status;
}

static enum psc_status read_lane(const struct story_reader *s, struct row r, struct psc_error *reterr)
{
    const char *name = psc_slice_string(s->texts, column(&r, "name"), &r.nomem);
    uint8_t backend = (uint8_t)whole_or(&r, "backend", UINT8_MAX - 1, PSC_BACKEND_NONE);
    if (backend != PSC_BACKEND_NONE && backend >= s->backend_n && !r.fault)
        r.fault = "backend";
    enum psc_status status = close_row(&r, reterr);
    if (status == PSC_OK)
        psc_story_add_lane(s->builder, name ? name : "", backend);
    return status;
}

typedef enum psc_status (*read_row_fn)(const struct story_reader *s, struct row r, struct psc_error *reterr);

static enum psc_status read_rows(const struct story_reader *s, struct psc_slice text, const char *list,
                                 read_row_fn read, struct psc_error *reterr)
{
    struct psc_slice rows = psc_slice_find(text, list), v;
    struct psc_cursor c = psc_cursor_open(rows);
    enum psc_status status = PSC_OK;
    if (!psc_slice_is_array(rows))
        return psc_fail(reterr, PSC_ERR_PARSE, "%s must be a list of rows, not %s", list,
                        psc_slice_kind(rows));
    for (size_t i = 0; status == PSC_OK && psc_cursor_element(&c, &v); i++)
        status = read(s, open_row(list, i, v, s->graph), reterr);
    return status;
}

/* A list of n nodes, each once; NULL when the key is absent. */
static enum psc_status read_order(const struct story_reader *s, struct psc_slice text, const char *key,
                                  uint32_t n, const psc_node **ret, struct psc_error *reterr)
{
    struct psc_slice list = psc_slice_find(text, key), v;
    struct psc_cursor c = psc_cursor_open(list);
    *ret = NULL;
    if (psc_slice_is_null(list))
        return PSC_OK;
    if (!psc_slice_is_array(list) || psc_cursor_count(c) != n)
        return psc_fail(reterr, PSC_ERR_PARSE, "%s must list %u nodes", key, n);
    psc_node *order = psc_arena_alloc(s->texts, n, sizeof *order);
    bool *seen = psc_arena_alloc0(s->texts, n, sizeof *seen);
    if (!order || !seen)
        return psc_fail_nomem(reterr);
    for (uint32_t i = 0; i < n && psc_cursor_element(&c, &v); i++) {
        uint64_t id = 0;
        order[i] = psc_slice_u64(v, &id) ? find_node(s->graph, id) : PSC_NONE;
        if (order[i] >= n || seen[order[i]])
            return psc_fail(reterr, PSC_ERR_PARSE, "%s[%u] is no node of the graph, or named twice", key, i);
        seen[order[i]] = true;
    }
    *ret = order;
    return PSC_OK;
}

static enum psc_status read_levels(const struct story_reader *s, struct psc_slice text, uint32_t n,
                                   const uint32_t **ret, struct psc_error *reterr)
{
    struct psc_slice list = psc_slice_find(text, "level"), v;
    struct psc_cursor c = psc_cursor_open(list);
    *ret = NULL;
    if (psc_slice_is_null(list))
        return PSC_OK;
    if (!psc_slice_is_array(list) || psc_cursor_count(c) != n)
        return psc_fail(reterr, PSC_ERR_PARSE, "level must list %u numbers", n);
    uint32_t *level = psc_arena_alloc(s->texts, n, sizeof *level);
    if (!level)
        return psc_fail_nomem(reterr);
    for (uint32_t i = 0; i < n && psc_cursor_element(&c, &v); i++) {
        uint64_t at = 0;
        if (!psc_slice_u64(v, &at) || at > n)
            return psc_fail(reterr, PSC_ERR_PARSE, "level[%u] must be a number from 0 to %u", i, n);
        level[i] = (uint32_t)at;
    }
    *ret = level;
    return PSC_OK;
}

static enum psc_status read_edges(const struct story_reader *s, struct psc_slice text, uint32_t n, struct psc_error *reterr)
{
    struct psc_slice list = psc_slice_find(text, "edges"), pair, v;
    struct psc_cursor c = psc_cursor_open(list);
    size_t count = psc_cursor_count(c);
    if (!psc_slice_is_array(list) || count >= UINT32_MAX)
        return psc_fail(reterr, PSC_ERR_PARSE, "edges must be a list of pairs of positions, not %s", psc_slice_kind(list));
    struct psc_edge *edges = psc_arena_alloc(s->texts, count, sizeof *edges);
    if (!edges)
        return psc_fail_nomem(reterr);
    for (size_t i = 0; i < count && psc_cursor_element(&c, &pair); i++) {
        struct psc_cursor ends = psc_cursor_open(pair);
        uint64_t from = n, to = n;
        if (psc_cursor_element(&ends, &v))
            (void)psc_slice_u64(v, &from);
        if (psc_cursor_element(&ends, &v))
            (void)psc_slice_u64(v, &to);
        if (from >= n || to >= n)
            return psc_fail(reterr, PSC_ERR_PARSE, "edges[%zu] must be two positions below %u", i, n);
        edges[i] = (struct psc_edge){(uint32_t)from, (uint32_t)to};
    }
    psc_story_set_edges(s->builder, edges, (uint32_t)count);
    return PSC_OK;
}

static enum psc_status read_titles(const struct story_reader *s, struct psc_slice text, uint32_t n, struct psc_error *reterr)
{
    struct psc_slice list = psc_slice_find(text, "titles"), v;
    struct psc_cursor c = psc_cursor_open(list);
    bool nomem = false;
    if (psc_slice_is_null(list))
        return PSC_OK;
    if (!psc_slice_is_array(list) || psc_cursor_count(c) != n)
        return psc_fail(reterr, PSC_ERR_PARSE, "titles must list %u texts", n);
    const char **titles = psc_arena_alloc0(s->texts, n, sizeof *titles);
    for (uint32_t i = 0; titles && i < n && psc_cursor_element(&c, &v); i++)
        titles[i] = psc_slice_string(s->texts, v, &nomem);
    if (!titles || nomem)
        return psc_fail_nomem(reterr);
    psc_story_set_titles(s->builder, titles);
    return PSC_OK;
}

static enum psc_status read_frame(const struct story_reader *s, struct psc_slice text,
                                  struct psc_error *reterr)
{
    uint64_t n = 0;
    const psc_node *order, *believed;
    const uint32_t *level;
    struct psc_slice positions = psc_slice_find(text, "positions"),
                     executor = psc_slice_find(text, "executor");
    if (!psc_slice_u64(positions, &n) || n > PSC_NODES_MAX || (s->graph && n != s->graph->n))
        return psc_fail(reterr, PSC_ERR_PARSE, "positions must be the number of nodes of the graph");
    enum psc_status status = read_order(s, text, "order", (uint32_t)n, &order, reterr);
    if (status == PSC_OK)
        status = read_order(s, text, "believed_order", (uint32_t)n, &believed, reterr);
    if (status == PSC_OK)
        status = read_levels(s, text, (uint32_t)n, &level, reterr);
    if (status != PSC_OK)
        return status;
    bool by_level = level && executor.n == 7 && memcmp(executor.s, "\"level\"", 7) == 0;
    bool queues = executor.n == 8 && memcmp(executor.s, "\"queues\"", 8) == 0;
    psc_story_set_order(s->builder, (uint32_t)n, order, believed,
                        queues ? PSC_EXEC_QUEUES : by_level ? PSC_EXEC_LEVEL : PSC_EXEC_SERIAL,
                        by_level ? level : NULL, psc_slice_is_true(psc_slice_find(text, "predicted")));
    status = queues ? read_edges(s, text, (uint32_t)n, reterr) : PSC_OK;
    if (status == PSC_OK)
        status = psc_story_read_queued(s->builder, text, reterr);
    return status == PSC_OK ? read_titles(s, text, (uint32_t)n, reterr) : status;
}

static enum psc_status read_backends(struct story_reader *s, struct psc_slice text, struct psc_error *reterr)
{
    struct psc_slice list = psc_slice_find(text, "backends"), v;
    struct psc_cursor c = psc_cursor_open(list);
    bool nomem = false;
    for (unsigned i = 0; psc_slice_is_array(list) && psc_cursor_element(&c, &v); i++) {
        const char *name = psc_slice_string(s->texts, v, &nomem);
        if (nomem)
            return psc_fail_nomem(reterr);
        uint8_t index =
            name ? psc_story_add_backend(s->builder, name) : 0; /* NONE: the builder remembers why */
        if (!name || (index != i && index != PSC_BACKEND_NONE))
            return psc_fail(reterr, PSC_ERR_PARSE, "backends[%u] must be a name, and one of its own", i);
        s->backend_n = i + 1;
    }
    return PSC_OK;
}

/* events NULL: those of the text. */
static enum psc_status read_story(struct psc_arena *arena, struct psc_slice text, const struct psc_graph *graph,
                                  const struct psc_event *events, size_t event_n, struct psc_story **ret,
                                  struct psc_error *reterr)
{
    struct psc_arena texts = {0};
    struct story_reader s = {&texts, graph, psc_story_builder_new(), 0};
    struct psc_story *story = NULL;
    enum psc_status status = s.builder ? PSC_OK : psc_fail_nomem(reterr);
    if (status == PSC_OK && !psc_slice_is_object(text))
        status = psc_fail(reterr, PSC_ERR_PARSE, "events must be an object, not %s", psc_slice_kind(text));
    if (status == PSC_OK)
        status = read_backends(&s, text, reterr);
    if (status == PSC_OK)
        status = read_rows(&s, text, "lanes", read_lane, reterr);
    if (status == PSC_OK)
        status = read_rows(&s, text, "buffers", read_buffer, reterr);
    if (status == PSC_OK)
        status = read_rows(&s, text, "values", read_value, reterr);
    if (status == PSC_OK && psc_slice_is_array(psc_slice_find(text, "arenas")))
        status = read_rows(&s, text, "arenas", read_arena, reterr);
    if (status == PSC_OK && psc_slice_is_array(psc_slice_find(text, "alarms")))
        status = read_rows(&s, text, "alarms", read_alarm, reterr);
    for (size_t i = 0; status == PSC_OK && events && i < event_n; i++)
        psc_story_add_event(s.builder, &events[i]);
    if (status == PSC_OK && !events)
        status = read_rows(&s, text, "events", read_event, reterr);
    if (status == PSC_OK)
        status = read_frame(&s, text, reterr);
    if (status == PSC_OK)
        status = psc_story_builder_finish(s.builder, arena, &story, reterr);
    if (status == PSC_OK)
        status = psc_story_check(story, reterr);
    if (status == PSC_OK)
        *ret = story;
    psc_story_builder_free(s.builder);
    psc_arena_release(&texts);
    return status;
}

enum psc_status psc_story_read(struct psc_arena *arena, struct psc_slice text, const struct psc_graph *graph,
                               struct psc_story **ret, struct psc_error *reterr)
{
    return read_story(arena, text, graph, NULL, 0, ret, reterr);
}

enum psc_status psc_story_read_frame(struct psc_arena *arena, struct psc_slice text, const struct psc_graph *graph,
                                     const struct psc_event *events, size_t event_n, struct psc_story **ret,
                                     struct psc_error *reterr)
{
    return read_story(arena, text, graph, events, event_n, ret, reterr);
}
