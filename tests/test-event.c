#include "core/event/event.h"
#include "tests/util.h"

#include <string.h>

/* ---- a good story: (a + b) * 2, the product in place, the sum also copied to a second backend ------------- */

enum { A, B, SUM, PRODUCT, WINDOW, COPY, REGION, VALUE_N };
enum { BUF_A, BUF_B, BUF_S, BUF_STAGE, BUF_KV, BUFFER_N };

struct tale {
    struct psc_value values[VALUE_N];
    struct psc_buffer buffers[BUFFER_N];
    struct psc_event events[24];
    struct psc_queued queued[2];
    uint32_t event_n, position_n;
};

static uint32_t tell(struct tale *t, enum psc_event_kind kind, int32_t position, uint32_t value, uint32_t buffer,
                     uint32_t peer)
{
    struct psc_event *e = &t->events[t->event_n];
    g_assert_cmpuint(t->event_n, <, G_N_ELEMENTS(t->events));
    *e = psc_event_blank(kind, position);
    e->value = value;
    e->buffer = buffer;
    e->peer = peer;
    e->hi = 16;
    return t->event_n++;
}

static void tell_good(struct tale *t)
{
    memset(t, 0, sizeof *t);
    for (uint32_t i = 0; i < VALUE_N; i++)
        t->values[i] = (struct psc_value){.kind = PSC_VALUE_NODE, .layer = -1, .node = i, .of = PSC_NONE, .bytes = 16};
    t->values[A].kind = t->values[B].kind = PSC_VALUE_FILL;
    t->values[WINDOW].is_view = true;
    t->values[WINDOW].of = SUM;
    t->values[WINDOW].bytes = 8;
    t->values[COPY] = (struct psc_value){.kind = PSC_VALUE_STAGING, .backend = 1, .layer = -1, .node = SUM, .of = SUM,
                                         .bytes = 16};
    t->values[REGION] = (struct psc_value){.kind = PSC_VALUE_REGION, .layer = 3, .slot = 1, .node = PSC_NONE,
                                           .of = PSC_NONE, .bytes = 64};
    for (uint32_t i = 0; i < BUFFER_N; i++)
        t->buffers[i] = (struct psc_buffer){.id = i, .name = "b", .role = PSC_ROLE_POOL, .bytes = 16};
    t->position_n = 6;
    t->queued[0] = (struct psc_queued){.first = 2, .last = 2, .done = 3, .lane = 1};
    t->queued[1] = (struct psc_queued){.first = 3, .last = 5, .done = 6, .lane = 1};
    tell(t, PSC_EV_FILL, -1, A, BUF_A, PSC_NONE);         /*  0 */
    tell(t, PSC_EV_FILL, -1, B, BUF_B, PSC_NONE);         /*  1 */
    tell(t, PSC_EV_ALLOC, 2, SUM, BUF_S, PSC_NONE);       /*  2 */
    tell(t, PSC_EV_READ, 2, A, BUF_A, PSC_NONE);          /*  3 */
    tell(t, PSC_EV_READ, 2, B, BUF_B, PSC_NONE);          /*  4 */
    tell(t, PSC_EV_WRITE, 2, SUM, BUF_S, PSC_NONE);       /*  5 */
    tell(t, PSC_EV_CAPTURE, 2, SUM, BUF_S, PSC_NONE);     /*  6 */
    tell(t, PSC_EV_RELEASE, 2, A, BUF_A, PSC_NONE);       /*  7 */
    tell(t, PSC_EV_ALLOC, 3, COPY, BUF_STAGE, PSC_NONE);  /*  8 at the boundary: before the waits of 3 */
    tell(t, PSC_EV_ENQUEUE, 3, COPY, BUF_STAGE, SUM);     /*  9 */
    tell(t, PSC_EV_WAIT, 3, COPY, BUF_STAGE, 9);          /* 10 */
    tell(t, PSC_EV_READ, 3, COPY, BUF_STAGE, PSC_NONE);   /* 11 */
    tell(t, PSC_EV_ROWS_READ, 3, REGION, BUF_KV, PSC_NONE); /* 12 */
    tell(t, PSC_EV_ROWS_WRITE, 3, REGION, BUF_KV, PSC_NONE); /* 13 */
    tell(t, PSC_EV_READ, 4, WINDOW, BUF_S, PSC_NONE);     /* 14 */
    tell(t, PSC_EV_ALIAS, 4, PRODUCT, BUF_S, SUM);        /* 15 */
    tell(t, PSC_EV_WRITE, 4, PRODUCT, BUF_S, PSC_NONE);   /* 16 */
    tell(t, PSC_EV_COMPLETE, 5, COPY, BUF_STAGE, 9);      /* 17 */
    tell(t, PSC_EV_EXPORT, 6, PRODUCT, BUF_S, PSC_NONE);  /* 18 */
}

static enum psc_status check_tale(const struct tale *t, struct psc_error *error)
{
    static const char *const backends[] = {"cpu", "metal"};
    static const struct psc_lane lanes[] = {{"host", PSC_BACKEND_NONE}, {"cpu", 0}};
    struct psc_story story = {
        .values = t->values, .value_n = VALUE_N, .buffers = t->buffers, .buffer_n = BUFFER_N, .events = t->events,
        .event_n = t->event_n, .lanes = lanes, .lane_n = 2, .backends = backends, .backend_n = 2,
        .position_n = t->position_n, .queued = t->queued, .queued_n = 2,
    };
    return psc_story_check(&story, error);
}

static void test_good(void)
{
    struct tale t;
    struct psc_error error = {0};
    tell_good(&t);
    if (check_tale(&t, &error) != PSC_OK)
        g_error("%s", error.text);
    /* Bytes beyond the buffer are a finding of the checker (K7), not a malformed story. */
    t.events[5].hi = 1000;
    g_assert_cmpint(check_tale(&t, &error), ==, PSC_OK);
}

/* ---- each rule broken once ----------------------------------------------------------------------------------- */

static void swap_events(struct tale *t, uint32_t i, uint32_t k)
{
    struct psc_event e = t->events[i];
    t->events[i] = t->events[k];
    t->events[k] = e;
}

static void b_bytes(struct tale *t) { t->events[5].lo = 17; }
static void b_value(struct tale *t) { t->events[3].value = VALUE_N; }
static void b_no_value(struct tale *t) { t->events[3].value = PSC_NONE; }
static void b_buffer(struct tale *t) { t->events[3].buffer = BUFFER_N; }
static void b_no_buffer(struct tale *t) { t->events[5].buffer = PSC_NONE; }
static void b_lane(struct tale *t) { t->events[3].lane = 2; }
static void b_kind(struct tale *t) { t->events[3].kind = PSC_EV_N; }
static void b_cause(struct tale *t) { t->events[3].cause = 3; }
static void b_peer(struct tale *t) { t->events[15].peer = VALUE_N; }
static void b_wait(struct tale *t) { t->events[10].peer = 8; }
static void b_wait_ahead(struct tale *t) { t->events[10].peer = 17; }
static void b_fill(struct tale *t) { t->events[0].position = 0; }
static void b_export(struct tale *t) { t->events[18].position = 5; }
static void b_after(struct tale *t) { t->events[18].position = 7; }
static void b_before(struct tale *t) { t->events[0].position = -2; }
static void b_backwards(struct tale *t) { t->events[14].position = 2; }
static void b_order(struct tale *t) { swap_events(t, 4, 5); }
static void b_alloc_late(struct tale *t) { swap_events(t, 2, 3); }
static void b_release_early(struct tale *t) { swap_events(t, 6, 7); }
static void b_alias_late(struct tale *t) { swap_events(t, 15, 16); }
static void b_wait_late(struct tale *t) { swap_events(t, 10, 11); }
static void b_run(struct tale *t) { t->events[2].run = 1; }
static void b_version(struct tale *t) { t->events[16].version = 1; }
static void b_twice(struct tale *t) { t->events[16].value = SUM; }
static void b_view(struct tale *t) { t->events[16].value = WINDOW; }
static void b_rows(struct tale *t) { t->events[12].value = SUM; }
static void b_view_of(struct tale *t) { t->values[WINDOW].of = PSC_NONE; }
static void b_view_view(struct tale *t) { t->values[WINDOW].of = COPY, t->values[COPY].is_view = true; }
static void b_self(struct tale *t) { t->values[COPY].of = COPY; }
static void b_queued_lane(struct tale *t) { t->queued[0].lane = 2; }
static void b_queued_at_once(struct tale *t) { t->queued[0].done = 2; }
static void b_queued_beyond(struct tale *t) { t->queued[1].done = 7; }
static void b_queued_turned(struct tale *t) { t->queued[1].first = 6, t->queued[1].last = 5; }
static void b_queued_twice(struct tale *t) { t->queued[0].last = 3, t->queued[0].done = 4; }
static void b_value_kind(struct tale *t) { t->values[A].kind = PSC_VALUE_KIND_N; }
static void b_backend(struct tale *t) { t->values[A].backend = 2; }
static void b_role(struct tale *t) { t->buffers[2].role = PSC_ROLE_N; }

static const struct rule {
    const char *name, *says;
    void (*breaks)(struct tale *t);
} the_rules[] = {
    {"bytes-are-half-open", "event 5 (write at position 2): its bytes end before they begin", b_bytes},
    {"a-read-names-a-value", "names no value", b_no_value},
    {"values-exist", "names no value", b_value},
    {"buffers-exist", "names no buffer", b_buffer},
    {"a-write-names-a-buffer", "names no buffer", b_no_buffer},
    {"lanes-exist", "lane", b_lane},
    {"kinds-exist", "kind", b_kind},
    {"a-cause-stands-before", "cause", b_cause},
    {"peers-exist", "peer", b_peer},
    {"a-wait-names-an-enqueue", "not enqueued", b_wait},
    {"a-wait-stands-behind-its-enqueue", "not enqueued", b_wait_ahead},
    {"inputs-are-filled-at-minus-one", "filled at -1", b_fill},
    {"outputs-are-exported-at-n", "exported at n", b_export},
    {"positions-end-at-n", "outside -1 .. n", b_after},
    {"positions-begin-at-minus-one", "outside -1 .. n", b_before},
    {"positions-never-decrease", "never decrease", b_backwards},
    {"reads-stand-before-the-write", "stand in the order", b_order},
    {"allocs-stand-before-reads", "stand in the order", b_alloc_late},
    {"a-capture-stands-before-the-release", "stand in the order", b_release_early},
    {"an-alias-stands-before-the-write", "stand in the order", b_alias_late},
    {"waits-stand-before-reads", "stand in the order", b_wait_late},
    {"runs-and-phases-follow-each-other", "earlier run", b_run},
    {"versions-count-from-zero", "count its writes", b_version},
    {"a-second-write-is-version-one", "count its writes", b_twice},
    {"a-view-is-never-written", "a view is never written", b_view},
    {"rows-belong-to-regions", "rows are those", b_rows},
    {"a-view-names-its-root", "a view names no root", b_view_of},
    {"a-root-is-no-view", "another view instead of its root", b_view_view},
    {"a-value-is-not-its-own-source", "does not exist", b_self},
    {"queued-stretches-have-a-lane", "queued stretch 0: its lane does not exist", b_queued_lane},
    {"what-is-queued-is-completed-later", "queued stretch 0: its positions", b_queued_at_once},
    {"what-is-queued-is-completed-by-the-end", "queued stretch 1: its positions", b_queued_beyond},
    {"queued-stretches-end-after-they-begin", "queued stretch 1: its positions", b_queued_turned},
    {"queued-stretches-do-not-overlap", "queued stretch 1: it lies over", b_queued_twice},
    {"value-kinds-exist", "its kind does not exist", b_value_kind},
    {"backends-of-values-exist", "its backend does not exist", b_backend},
    {"roles-exist", "its role or backend", b_role},
};

static void test_rule(gconstpointer data)
{
    const struct rule *rule = data;
    struct tale t;
    struct psc_error error = {0};
    tell_good(&t);
    rule->breaks(&t);
    g_assert_cmpint(check_tale(&t, &error), ==, PSC_ERR_ORDER);
    if (!strstr(error.text, rule->says))
        g_error("\"%s\" does not say \"%s\"", error.text, rule->says);
}

/* ---- names and labels ------------------------------------------------------------------------------------------ */

static void test_names(void)
{
    for (unsigned k = 0; k < PSC_EV_N; k++) {
        g_assert_cmpstr(psc_event_name((enum psc_event_kind)k), !=, "unknown");
        for (unsigned other = 0; other < k; other++)
            g_assert_cmpstr(psc_event_name((enum psc_event_kind)k), !=, psc_event_name((enum psc_event_kind)other));
    }
    for (unsigned k = 0; k < PSC_ROLE_N; k++)
        g_assert_cmpstr(psc_role_name((enum psc_role)k), !=, "unknown");
    g_assert_cmpstr(psc_event_name(PSC_EV_N), ==, "unknown");
    g_assert_cmpstr(psc_event_name(PSC_EV_ROWS_WRITE), ==, "rows-write");
    g_assert_cmpstr(psc_event_name(PSC_EV_HOST_READ), ==, "host-read");
    g_assert_cmpstr(psc_role_name(PSC_ROLE_ARENA), ==, "arena");
}

static void test_labels(void)
{
    struct psc_builder *b = psc_builder_new();
    struct psc_arena arena = {0};
    struct psc_graph *g = NULL;
    psc_node x = psc_builder_input(b, "x", PSC_F32, 4, 1);
    psc_builder_unary(b, NULL, PSC_OP_SILU, x);
    g_assert_cmpint(psc_builder_finish(b, &arena, &g, NULL), ==, PSC_OK);
    psc_builder_free(b);
    static const char *const backends[] = {"cpu", "metal"};
    const struct psc_value values[] = {
        {.kind = PSC_VALUE_FILL, .node = 0}, {.kind = PSC_VALUE_NODE, .node = 1},
        {.kind = PSC_VALUE_STAGING, .node = 1, .of = 1, .backend = 1},
        {.kind = PSC_VALUE_REGION, .node = PSC_NONE, .layer = 3, .slot = 1},
        {.kind = PSC_VALUE_WORKSPACE, .node = 1}, {.kind = PSC_VALUE_CELL, .node = PSC_NONE},
        {.kind = PSC_VALUE_CALLER, .node = PSC_NONE, .name = "weights"},
    };
    static const char *const labels[] = {"#0 x", "#1 silu #1", "copy of #1 silu #1 on metal", "V rows of layer 3",
                                         "workspace of #1 silu #1", "value 5", "weights", "nothing"};
    struct psc_story story = {.values = values, .value_n = G_N_ELEMENTS(values), .backends = backends, .backend_n = 2};
    char buf[64];
    for (uint32_t v = 0; v < G_N_ELEMENTS(labels); v++)
        g_assert_cmpstr(psc_value_label(&story, g, v, buf, sizeof buf), ==, labels[v]);
    g_assert_cmpstr(psc_value_label(&story, NULL, 1, buf, sizeof buf), ==, "#1");
    g_assert_cmpstr(psc_value_label(&story, NULL, PSC_NONE, buf, sizeof buf), ==, "nothing");
    psc_arena_release(&arena);
}

/* ---- the builder ------------------------------------------------------------------------------------------------ */

static enum psc_status build(struct psc_arena *arena, struct psc_story **ret)
{
    struct psc_story_builder *b = psc_story_builder_new();
    struct tale t;
    char name[] = "name of the caller";
    if (!b)
        return PSC_ERR_NOMEM;
    tell_good(&t);
    psc_story_add_backend(b, "cpu");
    psc_story_add_backend(b, "metal");
    psc_story_add_backend(b, "cpu");
    psc_story_add_lane(b, "host", PSC_BACKEND_NONE);
    t.buffers[0].name = t.values[0].name = name;
    for (uint32_t i = 0; i < BUFFER_N; i++)
        psc_story_add_buffer(b, &t.buffers[i]);
    for (uint32_t i = 0; i < VALUE_N; i++)
        psc_story_add_value(b, &t.values[i]);
    for (uint32_t i = 0; i < t.event_n; i++)
        psc_story_add_event(b, &t.events[i]);
    psc_story_add_queued(b, &(struct psc_queued){2, 2, 3, 0});
    psc_story_add_queued(b, &(struct psc_queued){3, 5, 6, 0});
    psc_story_set_order(b, 6, (psc_node[]){0, 1, 2, 3, 4, 5}, (psc_node[]){1, 0, 2, 3, 4, 5}, PSC_EXEC_LEVEL,
                        (uint32_t[]){0, 0, 1, 2, 3, 4}, true);
    memset(name, '?', sizeof name - 1);
    enum psc_status status = psc_story_builder_finish(b, arena, ret, NULL);
    psc_story_builder_free(b);
    return status;
}

static void test_builder(void)
{
    struct psc_arena arena = {0};
    struct psc_story *s = NULL;
    g_assert_cmpint(build(&arena, &s), ==, PSC_OK);
    g_assert_cmpuint(s->event_n, ==, 19);
    g_assert_cmpuint(s->value_n, ==, VALUE_N);
    g_assert_cmpuint(s->buffer_n, ==, BUFFER_N);
    g_assert_cmpuint(s->backend_n, ==, 2); /* the same name is the same backend */
    g_assert_cmpuint(s->lane_n, ==, 1);
    g_assert_cmpstr(s->values[0].name, ==, "name of the caller"); /* copied */
    g_assert_null(s->values[1].name);
    g_assert_cmpuint(s->believed_order[0], ==, 1);
    g_assert_cmpuint(s->level[5], ==, 4);
    g_assert_cmpuint(s->queued_n, ==, 2);
    for (int32_t at = -1; at <= 6; at++) {
        const struct psc_queued *q = psc_story_queued_at(s, at);
        g_assert_true(q == (at < 2 || at == 6 ? NULL : &s->queued[at > 2]));
    }
    for (int32_t at = -2; at <= 7; at++)
        g_assert_cmpuint(psc_story_node_at(s, at), ==, at < 0 || at > 5 ? PSC_NONE : (psc_node)at);
    struct psc_story turned = *s;
    turned.order = (const psc_node[]){5, 4, 3, 2, 1, 0};
    g_assert_cmpuint(psc_story_node_at(&turned, 1), ==, 4);
    turned.order = NULL; /* as they were built */
    g_assert_cmpuint(psc_story_node_at(&turned, 1), ==, 1);
    g_assert_true(s->predicted);
    g_assert_cmpint((int)s->executor, ==, PSC_EXEC_LEVEL);
    struct psc_error error = {0};
    if (psc_story_check(s, &error) != PSC_OK)
        g_error("%s", error.text);
    psc_arena_release(&arena);
}

static enum psc_status build_once(void *data)
{
    struct psc_arena arena = {0};
    struct psc_story *s = NULL;
    (void)data;
    enum psc_status status = build(&arena, &s);
    if (status == PSC_OK)
        status = psc_story_check(s, NULL);
    psc_arena_release(&arena);
    return status;
}

static void test_oom(void)
{
    g_assert_cmpuint(test_oom_loop(build_once, NULL), >, 8);
}

static void test_too_many(void)
{
    struct psc_story_builder *b = psc_story_builder_new();
    struct psc_arena arena = {0};
    struct psc_story *s = NULL;
    struct psc_error error;
    char name[16];
    for (unsigned k = 0; k < PSC_BACKEND_NONE; k++) {
        g_snprintf(name, sizeof name, "backend %u", k);
        g_assert_cmpuint(psc_story_add_backend(b, name), ==, k);
    }
    g_assert_cmpuint(psc_story_add_backend(b, "one more"), ==, PSC_BACKEND_NONE);
    g_assert_cmpint(psc_story_builder_finish(b, &arena, &s, &error), ==, PSC_ERR_TOO_BIG);
    g_assert_null(s);
    psc_story_builder_free(b);
    psc_arena_release(&arena);
}

/* Names of two pools are the same: whoever names a buffer says whose it is. */
static void test_buffer_labels(void)
{
    static const char *const backends[] = {"cpu", "cuda"};
    static const struct { struct psc_buffer buffer; uint32_t backend_n; const char *label; } cases[] = {
        {{.id = 4, .name = "b4", .backend = 1}, 2, "b4 \xc2\xb7 cuda"},
        {{.id = 4, .name = "b4", .backend = 0}, 2, "b4 \xc2\xb7 cpu"},
        {{.id = 4, .name = "b4", .backend = 0}, 1, "b4"},
        {{.id = 7, .name = NULL, .backend = 0}, 1, "b7"},
        {{.id = 7, .name = NULL, .backend = 1}, 2, "b7 \xc2\xb7 cuda"},
        {{.name = "arena.cpu", .backend = 0, .role = PSC_ROLE_ARENA}, 2, "arena.cpu"},
        {{.name = "stage.24.cuda", .backend = 1, .role = PSC_ROLE_STAGING}, 2, "stage.24.cuda"},
        {{.name = "kv.3.k", .backend = 1, .role = PSC_ROLE_PERSISTENT}, 2, "kv.3.k"},
        {{.name = "nowhere", .backend = PSC_BACKEND_NONE, .role = PSC_ROLE_EXTERNAL}, 2, "nowhere"},
    };
    char buf[64], small[6];
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
        g_assert_cmpstr(psc_buffer_label(backends, cases[i].backend_n, &cases[i].buffer, buf, sizeof buf), ==, cases[i].label);
    g_assert_cmpstr(psc_buffer_label(backends, 1, &cases[7].buffer, small, sizeof small), ==, "kv.3.");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/core/event/check/a-good-story-passes", test_good);
    for (size_t k = 0; k < G_N_ELEMENTS(the_rules); k++) {
        char *path = g_strdup_printf("/core/event/check/%s", the_rules[k].name);
        g_test_add_data_func(path, &the_rules[k], test_rule);
        g_free(path);
    }
    g_test_add_func("/core/event/names-are-all-different", test_names);
    g_test_add_func("/core/event/labels-say-what-a-value-is", test_labels);
    g_test_add_func("/core/event/builder/copies-everything-into-the-arena", test_builder);
    g_test_add_func("/core/event/builder/counts-backends-up-to-its-limit", test_too_many);
    g_test_add_func("/core/event/builder/survives-every-failed-allocation", test_oom);
    g_test_add_func("/core/event/buffer-labels", test_buffer_labels);
    return g_test_run();
}
