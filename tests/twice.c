#include "tests/twice.h"

#include "core/base/mem.h"
#include "core/debug/check.h"
#include "core/run/session-arena.h"
#include "core/run/session-state.h"
#include "tests/heard.h"

#include <glib.h>
#include <string.h>

struct twice_figures twice_figures;
void (*twice_meanwhile)(bool begins);
bool twice_looks = true;
static const char *excepted;

void twice_except(const char *why)
{
    excepted = why;
}

void twice_again(void)
{
    excepted = NULL;
}

/* The linker turns calls of NAME into calls of __wrap_NAME, wherever they stand, and NAME itself is __real_NAME. */
enum psc_status __real_psc_session_use(struct psc_session *s, const struct psc_graph_key *key, psc_graph_build_fn build, void *ctx,
                                       struct psc_error *reterr);
enum psc_status __real_psc_session_fill(struct psc_session *s, const char *name, const void *words, uint64_t n,
                                        struct psc_error *reterr);
enum psc_status __real_psc_session_fill_node(struct psc_session *s, psc_node node, const void *words, uint64_t n,
                                             struct psc_error *reterr);
enum psc_status __real_psc_session_borrow_node(struct psc_session *s, psc_node node, const void *words, uint64_t n,
                                               struct psc_error *reterr);
enum psc_status __real_psc_session_set_child(struct psc_session *s, psc_node node, struct psc_session *child,
                                             struct psc_error *reterr);
enum psc_status __real_psc_session_execute(struct psc_session *s, const struct psc_sink *sink, struct psc_error *reterr);
void __real_psc_session_swap_addresses(struct psc_session *s, uint32_t backend, uint32_t a, uint32_t b, psc_node from);
void __real_psc_session_free(struct psc_session *s);
void __real_psc_mem_set_hook(psc_mem_hook hook, void *ctx);
enum psc_status __wrap_psc_session_use(struct psc_session *s, const struct psc_graph_key *key, psc_graph_build_fn build, void *ctx,
                                       struct psc_error *reterr);
enum psc_status __wrap_psc_session_fill(struct psc_session *s, const char *name, const void *words, uint64_t n,
                                        struct psc_error *reterr);
enum psc_status __wrap_psc_session_fill_node(struct psc_session *s, psc_node node, const void *words, uint64_t n,
                                             struct psc_error *reterr);
enum psc_status __wrap_psc_session_borrow_node(struct psc_session *s, psc_node node, const void *words, uint64_t n,
                                               struct psc_error *reterr);
enum psc_status __wrap_psc_session_set_child(struct psc_session *s, psc_node node, struct psc_session *child,
                                             struct psc_error *reterr);
enum psc_status __wrap_psc_session_execute(struct psc_session *s, const struct psc_sink *sink, struct psc_error *reterr);
void __wrap_psc_session_swap_addresses(struct psc_session *s, uint32_t backend, uint32_t a, uint32_t b, psc_node from);
void __wrap_psc_session_free(struct psc_session *s);
void __wrap_psc_mem_set_hook(psc_mem_hook hook, void *ctx);

/* ---- what a session was told -------------------------------------------------------------------------------------------- */

struct twin {
    struct psc_session *naive; /* NULL: not made yet, for this graph */
    struct psc_graph_key key;
    bool has_graph, has_child, is_swapped;
    GHashTable *fills;         /* node -> struct fill */
};
struct fill {
    const uint32_t *borrowed;  /* read when it runs; NULL: `words` */
    uint32_t *words;
};
static GHashTable *twins;      /* session -> twin */
static GMutex twins_lock;
static psc_mem_hook the_hook;
static void *the_hook_ctx;

static void fill_free(gpointer data)
{
    struct fill *f = data;
    g_free(f->words);
    g_free(f);
}

static struct twin *twin_of(struct psc_session *s)
{
    g_mutex_lock(&twins_lock);
    if (!twins)
        twins = g_hash_table_new(NULL, NULL);
    struct twin *t = g_hash_table_lookup(twins, s);
    if (!t) {
        t = g_new0(struct twin, 1);
        t->fills = g_hash_table_new_full(NULL, NULL, NULL, fill_free);
        g_hash_table_insert(twins, s, t);
    }
    g_mutex_unlock(&twins_lock);
    return t;
}

static void keep_fill(struct psc_session *s, psc_node node, const void *words, uint64_t n, bool borrowed)
{
    struct fill *f = g_new0(struct fill, 1);
    f->borrowed = borrowed ? words : NULL;
    f->words = borrowed ? NULL : g_memdup2(words, n * sizeof *f->words);
    g_hash_table_insert(twin_of(s)->fills, GUINT_TO_POINTER(node), f);
}

/* ---- meanwhile ---------------------------------------------------------------------------------------------------------- */

#pragma weak double_control

/* The second run is not what a test counts, lets fail, or watches the heap of. */
struct twice_quiet twice_quiet_begin(void)
{
    struct twice_quiet q = {.has_doubles = &double_control != NULL};
    __real_psc_mem_set_hook(NULL, NULL);
    if (twice_meanwhile)
        twice_meanwhile(true);
    if (q.has_doubles) {
        q.doubles = double_control;
        double_control.fail_alloc = double_control.fail_encode = double_control.fail_launch = double_control.fail_enqueue =
            double_control.fail_await = double_control.fail_submit = double_control.fail_capture_end = double_control.fail_replay = -1;
        double_control.query = PSC_QUERY_NO_DEVICE;
        double_control.declines_copies = false;
    }
    return q;
}

void twice_quiet_end(const struct twice_quiet *q)
{
    if (q->has_doubles)
        double_control = q->doubles;
    if (twice_meanwhile)
        twice_meanwhile(false);
    __real_psc_mem_set_hook(the_hook, the_hook_ctx);
}

static void drop_naive(struct twin *t)
{
    struct twice_quiet q = twice_quiet_begin();
    __real_psc_session_free(t->naive);
    t->naive = NULL;
    twice_quiet_end(&q);
}

/* ---- rows of K and V ------------------------------------------------------------------------------------------------------ */

/* All regions, K then V of each: [region_n], NULL where they cannot be read. */
static uint8_t **rows_of(struct psc_session *s)
{
    uint8_t **rows = g_new0(uint8_t *, 2 * s->region_n + 1);
    for (size_t k = 0; k < 2 * s->region_n; k++) {
        const struct psc_kv_region *r = &s->regions[k / 2];
        rows[k] = g_malloc(r->rows * r->row_bytes + 1);
        if (psc_session_read_rows(s, r->layer, k % 2, 0, (uint32_t)r->rows, rows[k], NULL))
            g_clear_pointer(&rows[k], g_free);
    }
    return rows;
}

static void rows_free(uint8_t **rows, size_t region_n)
{
    for (size_t k = 0; k < 2 * region_n; k++)
        g_free(rows[k]);
    g_free(rows);
}

/* The region of that layer in the other session, when it has the same rows. */
static const struct psc_kv_region *same_region(const struct psc_session *naive, const struct psc_kv_region *r)
{
    uint32_t at = psc_session_region(naive, r->layer);
    const struct psc_kv_region *n = at == PSC_NONE ? NULL : &naive->regions[at];
    return n && n->rows >= r->rows && n->row_bytes == r->row_bytes && n->format == r->format ? n : NULL;
}

static void put_rows(const struct psc_session *s, struct psc_session *naive, uint8_t **rows, size_t region_n)
{
    for (size_t k = 0; k < 2 * region_n; k++) {
        const struct psc_kv_region *r = &s->regions[k / 2];
        if (rows[k] && same_region(naive, r) &&
            psc_session_write_rows(naive, r->layer, k % 2, 0, (uint32_t)r->rows, rows[k], NULL))
            g_error("the naive run's rows of layer %d cannot be written", r->layer);
    }
}

/* ---- the second run ------------------------------------------------------------------------------------------------------- */

static enum psc_status same_graph_cb(void *ctx, struct psc_arena *arena, const struct psc_graph_key *key, struct psc_graph **ret,
                                     struct psc_error *reterr)
{
    (void)key;
    *ret = psc_arena_alloc(arena, 1, sizeof **ret);
    if (!*ret)
        return psc_fail_nomem(reterr);
    memcpy(*ret, ctx, sizeof **ret);
    return PSC_OK;
}

static enum psc_status make_naive(struct psc_session *s, struct twin *t, struct psc_error *reterr)
{
    struct psc_session_options o = s->options;
    o.planner = psc_planner_find("naive");
    o.plan = psc_plan_defaults;
    o.plan.mode = PSC_MODE_HARDENED;
    o.recycled = PSC_RECYCLED_ZEROED;
    o.snapshot = true;
    o.replay = o.time_ops = o.has_budget = false;
    o.run_faults = 0;
    o.arenas = NULL;
    enum psc_status status = psc_session_new(s->apis, s->api_n, &o, &t->naive, reterr);
    return status ? status : __real_psc_session_use(t->naive, &t->key, same_graph_cb, (void *)psc_session_graph(s), reterr);
}

static enum psc_status fill_all(const struct psc_session *s, struct twin *t, struct psc_error *reterr)
{
    const struct psc_graph *g = psc_session_graph(s);
    GHashTableIter iter;
    gpointer node, data;
    enum psc_status status = PSC_OK;
    g_hash_table_iter_init(&iter, t->fills);
    while (!status && g_hash_table_iter_next(&iter, &node, &data)) {
        const struct fill *f = data;
        status = __real_psc_session_fill_node(t->naive, GPOINTER_TO_UINT(node), f->borrowed ? f->borrowed : f->words,
                                              g->nodes[GPOINTER_TO_UINT(node)].elements, reterr);
    }
    return status;
}

static enum psc_status run_naive(struct psc_session *s, struct twin *t, uint8_t **rows, size_t region_n, struct run_heard *heard,
                                 struct psc_error *reterr)
{
    enum psc_status status = t->naive ? PSC_OK : make_naive(s, t, reterr);
    if (!status)
        put_rows(s, t->naive, rows, region_n);
    if (!status)
        status = fill_all(s, t, reterr);
    return status ? status : __real_psc_session_execute(t->naive, &heard->sink, reterr);
}

/* ---- the comparison ------------------------------------------------------------------------------------------------------- */

/* What a finding, or somebody's wrong value, has reached. */
struct reached {
    bool *nodes;     /* [graph->n] */
    bool rows, outputs;
};

static void spread(const struct run_heard *heard, struct reached *r)
{
    const struct psc_graph *g = psc_session_graph(heard->session);
    for (psc_node i = 0; i < g->n; i++) {
        const struct psc_node_info *node = &g->nodes[i];
        for (uint32_t k = 0; k < node->src_n; k++)
            r->nodes[i] = r->nodes[i] || r->nodes[psc_node_srcs(g, i)[k]];
        if (node->parent != PSC_NONE)
            r->nodes[i] = r->nodes[i] || r->nodes[node->parent];
        for (uint32_t k = 0; k < heard->row_n; k++) { /* whoever looks at rows behind a wrong one may see it */
            const struct psc_kv_access *access = &heard->rows[k];
            r->rows = r->rows || (access->node == i && access->is_write && r->nodes[i]);
            r->nodes[i] = r->nodes[i] || (access->node == i && !access->is_write && r->rows);
        }
    }
    for (uint32_t k = 0; k < g->output_n; k++)
        r->outputs = r->outputs || r->nodes[g->outputs[k]];
}

static struct reached reached_by_findings(const struct run_heard *heard)
{
    const struct psc_graph *g = psc_session_graph(heard->session);
    struct reached r = {.nodes = g_new0(bool, g->n + 1)};
    struct psc_arena arena = {0};
    struct psc_check check;
    struct psc_error error;
    if (psc_check_story(&arena, g, run_story(heard, &arena), &check, &error))
        g_error("%s", error.text);
    for (uint32_t k = 0; k < check.finding_n; k++) {
        const struct psc_finding *f = &check.findings[k];
        psc_node node = f->overlap_only ? f->writer : f->reader;
        if (f->reader_kind != PSC_READER_NODE && !f->overlap_only)
            r.outputs = true;
        else if (node < g->n)
            r.nodes[node] = true;
    }
    psc_arena_release(&arena);
    spread(heard, &r);
    return r;
}

/* A planner of ours without a defect, and nothing that lays hand on what it planned. */
static bool is_sound(const struct psc_session *s, const struct twin *t)
{
    const struct psc_session_options *o = &s->options;
    bool ours = !o->planner || psc_planner_find(o->planner->name) == o->planner;
    return ours && !t->is_swapped && o->plan.mode == PSC_MODE_HARDENED && !o->plan.faults && !o->plan.candela_faults &&
           !o->run_faults && !o->call_faults && (!o->arenas || !o->arenas->faults);
}

/* Defects of which no story tells: kernels', recordings that are stale, the arenas' own. */
static bool is_untold(const struct psc_session *s)
{
    const struct psc_session_options *o = &s->options;
    return o->call_faults || o->run_faults >> PSC_RUN_L32 & 1 || o->arenas;
}

struct comparison {
    struct psc_session *s;
    const struct psc_graph *graph;
    struct reached reached;
    bool sound, untold;
};

static void differs(const struct comparison *c, bool explained, const char *what, uint64_t number)
{
    twice_figures.differ++;
    if (c->sound)
        g_error("%s %" G_GUINT64_FORMAT " of %s differs from the run with a buffer for every value", what, number, c->graph->kind);
    if (!explained && !c->untold)
        g_error("%s %" G_GUINT64_FORMAT " of %s differs from the run with a buffer for every value, and no finding says so", what,
                number, c->graph->kind);
}

static void compare_values(const struct comparison *c, const struct run_heard *a, const struct run_heard *b)
{
    for (psc_node i = 0; a->value && b->value && i < c->graph->n; i++) {
        if (!a->value[i] || !b->value[i])
            continue;
        twice_figures.values++;
        if (memcmp(a->value[i], b->value[i], c->graph->nodes[i].bytes))
            differs(c, c->reached.nodes[i], "node", i);
    }
}

static void compare_outputs(const struct comparison *c, uint32_t **outputs, struct psc_session *naive)
{
    for (uint32_t k = 0; k < c->graph->output_n; k++) {
        psc_node i = c->graph->outputs[k];
        uint64_t n = c->graph->nodes[i].bytes / 4;
        uint32_t *other = g_new0(uint32_t, n + 1);
        if (outputs[k] && !psc_session_read(naive, i, other, n, NULL)) {
            twice_figures.values++;
            if (memcmp(outputs[k], other, n * sizeof *other))
                differs(c, c->reached.outputs, "output", k);
        }
        g_free(other);
    }
}

static void compare_rows(const struct comparison *c, uint8_t **rows, struct psc_session *naive)
{
    for (size_t k = 0; k < 2 * c->s->region_n; k++) {
        const struct psc_kv_region *r = &c->s->regions[k / 2];
        if (!rows[k] || !same_region(naive, r))
            continue;
        uint8_t *other = g_malloc(r->rows * r->row_bytes + 1);
        if (psc_session_read_rows(naive, r->layer, k % 2, 0, (uint32_t)r->rows, other, NULL))
            g_error("the naive run's rows of layer %d cannot be read", r->layer);
        twice_figures.values++;
        if (memcmp(rows[k], other, r->rows * r->row_bytes))
            differs(c, c->reached.rows, "region", k);
        g_free(other);
    }
}

/* As the host finds things when the run is over. */
struct after {
    uint32_t **outputs; /* [graph->output_n], NULL where nothing can be read */
    uint8_t **rows;
};

static struct after after_of(struct psc_session *s)
{
    const struct psc_graph *g = psc_session_graph(s);
    struct after after = {.outputs = g_new0(uint32_t *, g->output_n + 1), .rows = rows_of(s)};
    for (uint32_t k = 0; k < g->output_n; k++) {
        uint64_t n = g->nodes[g->outputs[k]].bytes / 4;
        after.outputs[k] = g_new0(uint32_t, n + 1);
        if (psc_session_read(s, g->outputs[k], after.outputs[k], n, NULL))
            g_clear_pointer(&after.outputs[k], g_free);
    }
    return after;
}

static void after_release(struct psc_session *s, struct after *after)
{
    for (uint32_t k = 0; k < psc_session_graph(s)->output_n; k++)
        g_free(after->outputs[k]);
    g_free(after->outputs);
    rows_free(after->rows, s->region_n);
}

static void compare(struct psc_session *s, struct twin *t, const struct after *after, const struct run_heard *a,
                    const struct run_heard *b)
{
    struct comparison c = {.s = s, .graph = psc_session_graph(s), .sound = is_sound(s, t), .untold = is_untold(s)};
    if (c.sound || c.untold)
        c.reached = (struct reached){.nodes = g_new0(bool, c.graph->n + 1)};
    else
        c.reached = reached_by_findings(a);
    compare_values(&c, a, b);
    compare_outputs(&c, after->outputs, t->naive);
    compare_rows(&c, after->rows, t->naive);
    g_free(c.reached.nodes);
    twice_figures.runs++;
}

/* ---- listening beside whoever listens ---------------------------------------------------------------------------------------- */

struct beside {
    const struct psc_sink *theirs;
    struct run_heard heard;
};

static enum psc_status begin_cb(void *ctx, struct psc_session *session, uint32_t step, struct psc_error *reterr)
{
    struct beside *b = ctx;
    enum psc_status status = b->heard.sink.begin(&b->heard, session, step, NULL);
    return status || !b->theirs || !b->theirs->begin ? status : b->theirs->begin(b->theirs->ctx, session, step, reterr);
}

static void event_cb(void *ctx, const struct psc_event *event, const struct psc_located *at)
{
    struct beside *b = ctx;
    b->heard.sink.event(&b->heard, event, at);
    if (b->theirs && b->theirs->event)
        b->theirs->event(b->theirs->ctx, event, at);
}

static void rows_cb(void *ctx, const struct psc_kv_access *access)
{
    struct beside *b = ctx;
    b->heard.sink.rows(&b->heard, access);
    if (b->theirs && b->theirs->rows)
        b->theirs->rows(b->theirs->ctx, access);
}

static enum psc_status before_cb(void *ctx, const struct psc_backend_api *api, struct psc_backend *backend,
                                 const struct psc_call *call, struct psc_error *reterr)
{
    struct beside *b = ctx;
    return b->theirs->before(b->theirs->ctx, api, backend, call, reterr);
}

static enum psc_status after_cb(void *ctx, const struct psc_backend_api *api, struct psc_backend *backend,
                                const struct psc_call *call, struct psc_error *reterr)
{
    struct beside *b = ctx;
    enum psc_status status = b->heard.sink.after ? b->heard.sink.after(&b->heard, api, backend, call, reterr) : PSC_OK;
    return status || !b->theirs || !b->theirs->after ? status : b->theirs->after(b->theirs->ctx, api, backend, call, reterr);
}

static enum psc_status split_end_cb(void *ctx, const struct psc_split *split, struct psc_error *reterr)
{
    struct beside *b = ctx;
    return b->theirs->split_end(b->theirs->ctx, split, reterr);
}

static enum psc_status end_cb(void *ctx, enum psc_status status, struct psc_error *reterr)
{
    struct beside *b = ctx;
    return b->theirs->end(b->theirs->ctx, status, reterr);
}

static void completed_cb(void *ctx, uint32_t backend, uint32_t before, uint32_t at)
{
    struct beside *b = ctx;
    b->theirs->completed(b->theirs->ctx, backend, before, at);
}

/* looks: at every value, which no recording can be played with. */
static struct psc_sink listen(struct beside *b, const struct psc_sink *theirs, bool looks)
{
    *b = (struct beside){.theirs = theirs};
    run_listen(&b->heard, looks);
    struct psc_sink sink = {.ctx = b, .begin = begin_cb, .event = event_cb, .rows = rows_cb, .after = looks ? after_cb : NULL};
    if (theirs) {
        sink.before = theirs->before ? before_cb : NULL;
        sink.after = looks || theirs->after ? after_cb : NULL;
        sink.split_end = theirs->split_end ? split_end_cb : NULL;
        sink.end = theirs->end ? end_cb : NULL;
        sink.completed = theirs->completed ? completed_cb : NULL;
    }
    return sink;
}

/* ---- in their places ------------------------------------------------------------------------------------------------------ */

static bool is_lent(const struct psc_session *s)
{
    return s->options.arenas && s->options.arenas->parent;
}

enum psc_status __wrap_psc_session_execute(struct psc_session *s, const struct psc_sink *sink, struct psc_error *reterr)
{
    if (!s->current || excepted)
        return __real_psc_session_execute(s, sink, reterr);
    struct twin *t = twin_of(s);
    struct beside b;
    struct run_heard naive;
    struct psc_error error = {0};
    bool looks = twice_looks && !s->options.call_faults &&
                 (!s->options.replay || (sink && (sink->before || sink->after || sink->split_end)));
    size_t region_n = s->region_n;
    uint8_t **rows = rows_of(s);
    struct psc_sink both = listen(&b, sink, looks);
    run_listen(&naive, looks);
    enum psc_status status = __real_psc_session_execute(s, &both, reterr), second = PSC_OK;
    bool twice = !status && !is_lent(s) && !t->has_child;
    if (twice) {
        struct after after = after_of(s);
        struct twice_quiet q = twice_quiet_begin();
        second = run_naive(s, t, rows, region_n, &naive, &error);
        if (second && is_sound(s, t))
            g_error("the run with a buffer for every value: %s", error.text);
        if (!second)
            compare(s, t, &after, &b.heard, &naive);
        twice_quiet_end(&q);
        after_release(s, &after);
    }
    twice_figures.left_out += !status && (!twice || second);
    rows_free(rows, region_n);
    run_heard_release(&naive);
    run_heard_release(&b.heard);
    return status;
}

enum psc_status __wrap_psc_session_use(struct psc_session *s, const struct psc_graph_key *key, psc_graph_build_fn build, void *ctx,
                                       struct psc_error *reterr)
{
    struct twin *t = twin_of(s);
    bool same = t->has_graph && psc_graph_key_equal(&t->key, key);
    if (t->naive && !same)
        drop_naive(t); /* before the graph goes that it borrows */
    enum psc_status status = __real_psc_session_use(s, key, build, ctx, reterr);
    if (!status && !same) {
        g_hash_table_remove_all(t->fills);
        t->key = *key;
        t->has_graph = true;
        t->has_child = t->is_swapped = false;
    }
    return status;
}

enum psc_status __wrap_psc_session_fill(struct psc_session *s, const char *name, const void *words, uint64_t n,
                                        struct psc_error *reterr)
{
    enum psc_status status = __real_psc_session_fill(s, name, words, n, reterr);
    const struct psc_graph *g = psc_session_graph(s);
    for (psc_node i = 0; !status && i < g->n; i++)
        if (g->nodes[i].op == PSC_OP_INPUT && g->nodes[i].name && !strcmp(g->nodes[i].name, name))
            keep_fill(s, i, words, n, false);
    return status;
}

enum psc_status __wrap_psc_session_fill_node(struct psc_session *s, psc_node node, const void *words, uint64_t n,
                                             struct psc_error *reterr)
{
    enum psc_status status = __real_psc_session_fill_node(s, node, words, n, reterr);
    if (!status)
        keep_fill(s, node, words, n, false);
    return status;
}

enum psc_status __wrap_psc_session_borrow_node(struct psc_session *s, psc_node node, const void *words, uint64_t n,
                                               struct psc_error *reterr)
{
    enum psc_status status = __real_psc_session_borrow_node(s, node, words, n, reterr);
    if (!status)
        keep_fill(s, node, words, n, true);
    return status;
}

enum psc_status __wrap_psc_session_set_child(struct psc_session *s, psc_node node, struct psc_session *child,
                                             struct psc_error *reterr)
{
    twin_of(s)->has_child = true;
    return __real_psc_session_set_child(s, node, child, reterr);
}

void __wrap_psc_session_swap_addresses(struct psc_session *s, uint32_t backend, uint32_t a, uint32_t b, psc_node from)
{
    twin_of(s)->is_swapped = true;
    __real_psc_session_swap_addresses(s, backend, a, b, from);
}

void __wrap_psc_session_free(struct psc_session *s)
{
    g_mutex_lock(&twins_lock);
    struct twin *t = s && twins ? g_hash_table_lookup(twins, s) : NULL;
    if (t)
        g_hash_table_remove(twins, s);
    g_mutex_unlock(&twins_lock);
    if (t) {
        drop_naive(t);
        g_hash_table_destroy(t->fills);
        g_free(t);
    }
    __real_psc_session_free(s);
}

void __wrap_psc_mem_set_hook(psc_mem_hook hook, void *ctx)
{
    the_hook = hook;
    the_hook_ctx = ctx;
    __real_psc_mem_set_hook(hook, ctx);
}
