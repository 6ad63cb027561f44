#include "core/debug/check.h"
#include "tests/naive-check.h"
#include "tests/stories.h"
#include "tests/util.h"

#include <string.h>

struct fixture {
    struct psc_arena arena;
    struct psc_check check;
};

static const char *name_of(const struct psc_story *s, uint32_t value)
{
    return value == PSC_NONE ? "nobody" : s->values[value].name;
}

/* "K1 sum x2 export" for each finding, one a line. The reader of arena stories is the host. */
static char *told(const struct psc_graph *g, const struct psc_story *s, const struct psc_check *c)
{
    GString *out = g_string_new(NULL);

    for (uint32_t i = 0; i < c->finding_n; i++) {
        const struct psc_finding *f = &c->findings[i];
        const char *reader = psc_reader_name(f->reader_kind);
        if (f->reader_kind == PSC_READER_NODE)
            reader = f->reader == PSC_NONE ? "none" : g->nodes[f->reader].name;
        g_string_append_printf(out, "%s%s %s %s %s [%" G_GUINT64_FORMAT ",%" G_GUINT64_FORMAT ")%s", i ? "\n" : "",
                               psc_kind_name(f->kind), name_of(s, f->victim_value), name_of(s, f->writer_value), reader,
                               f->lo, f->hi, f->confidence == PSC_POSSIBLE ? " possible" : "");
    }
    return g_string_free(out, FALSE);
}

static char *verdict(const struct psc_graph *g, const struct psc_story *story)
{
    struct psc_arena arena = {0};
    struct psc_check check;
    struct psc_error err = {0};

    g_assert_cmpint(psc_story_check(story, &err), ==, PSC_OK);
    g_assert_cmpint(psc_check_story(&arena, g, story, &check, &err), ==, PSC_OK);
    char *text = told(g, story, &check);
    psc_arena_release(&arena);
    return text;
}

static void assert_verdict(const struct psc_graph *g, const struct psc_story *story, const char *expected)
{
    char *text = verdict(g, story);

    g_assert_cmpstr(text, ==, expected);
    g_free(text);
}

typedef struct test_story (*story_fn)(struct psc_arena *arena, bool wrong);

static void assert_story(story_fn tell, bool wrong, const char *expected)
{
    struct psc_arena arena = {0};
    struct test_story s = tell(&arena, wrong);

    assert_verdict(s.graph, s.story, expected);
    psc_arena_release(&arena);
}

static void test_stories_clean(void)
{
    assert_story(test_story_candela, false, "");
    assert_story(test_story_arena, false, "");
    assert_story(test_story_leases, false, "");
}

static void test_candela_wrong(void)
{
    assert_story(test_story_candela, true, "K1 sum b x2 [0,16)");
}

static void test_arena_wrong(void)
{
    assert_story(test_story_arena, true, "K1 D F host [0,10)");
}

static void test_leases_wrong(void)
{
    assert_story(test_story_leases, true, "K1 y1 y2 host [0,64)");
}

/* ---- small stories told in one line an event ----------------------------------------------------- */

struct scene {
    struct psc_arena arena;
    struct psc_builder *nodes;
    struct psc_story_builder *b;
    struct psc_graph *graph;
    psc_node order[16];
    uint32_t level[16];
    uint32_t values[16]; /* value of each node */
    uint32_t buffers[8];
    uint32_t value_n;
    psc_node node_n;
};

static void scene_begin(struct scene *s)
{
    memset(s, 0, sizeof *s);
    s->nodes = psc_builder_new();
    psc_builder_set_backend(s->nodes, "cpu");
    s->b = psc_story_builder_new();
    psc_story_add_backend(s->b, "cpu");
    psc_story_add_lane(s->b, "host", PSC_BACKEND_NONE);
    for (uint64_t i = 0; i < G_N_ELEMENTS(s->buffers); i++) {
        struct psc_buffer buffer = {.id = i, .name = NULL, .role = PSC_ROLE_POOL, .bytes = 64, .base = 64 * i};
        s->buffers[i] = psc_story_add_buffer(s->b, &buffer);
    }
}

static void scene_graph(struct scene *s)
{
    struct psc_error err = {0};

    g_assert_cmpint(psc_builder_finish(s->nodes, &s->arena, &s->graph, &err), ==, PSC_OK);
    psc_builder_free(s->nodes);
    for (psc_node i = 0; i < s->graph->n; i++) {
        const struct psc_node_info *n = &s->graph->nodes[i];
        struct psc_value v = {.kind = n->op == PSC_OP_INPUT ? PSC_VALUE_FILL : PSC_VALUE_NODE, .layer = -1, .node = i};
        v.of = n->root == i ? PSC_NONE : n->root;
        v.is_view = n->root != i;
        v.offset = n->root_offset;
        v.bytes = n->bytes;
        v.name = n->name;
        v.is_output = n->is_output;
        s->values[i] = psc_story_add_value(s->b, &v);
        s->order[i] = i;
    }
}

static uint32_t add(struct scene *s, enum psc_event_kind kind, int32_t position, uint32_t value, uint32_t buffer,
                    uint64_t lo, uint64_t hi, psc_node node, uint16_t operand)
{
    struct psc_event e = psc_event_blank(kind, position);
    e.value = value;
    e.buffer = buffer;
    e.lo = lo;
    e.hi = hi;
    e.node = node;
    e.operand = operand;
    return psc_story_add_event(s->b, &e);
}

/* The reads and the write of one node, at its place in `at` (buffer, offset of each node). */
struct lies { uint32_t buffer; uint64_t offset; };
static void run_node(struct scene *s, psc_node node, const struct lies *at)
{
    const struct psc_graph *g = s->graph;
    const struct psc_node_info *n = &g->nodes[node];

    for (uint32_t k = 0; k < n->src_n; k++) {
        psc_node src = psc_node_srcs(g, node)[k], root = g->nodes[src].root;
        uint64_t lo = at[root].offset + g->nodes[src].root_offset;
        add(s, PSC_EV_READ, (int32_t)node, s->values[src], at[root].buffer, lo, lo + g->nodes[src].bytes, node,
            (uint16_t)k);
    }
    if (n->root == node && n->op != PSC_OP_INPUT)
        add(s, PSC_EV_WRITE, (int32_t)node, s->values[node], at[node].buffer, at[node].offset,
            at[node].offset + n->bytes, node, 0);
}

static char *scene_run(struct scene *s, const struct lies *at, enum psc_executor executor, bool rerun)
{
    const struct psc_graph *g = s->graph;
    struct psc_story *story;
    struct psc_error err = {0};
    int32_t n = (int32_t)g->n;

    for (uint32_t i = 0; i < g->input_n; i++) {
        psc_node in = g->inputs[i];
        add(s, PSC_EV_FILL, -1, s->values[in], at[in].buffer, at[in].offset, at[in].offset + g->nodes[in].bytes,
            PSC_NONE, 0);
    }
    for (psc_node i = 0; i < g->n; i++) {
        if (g->nodes[i].root == i)
            run_node(s, i, at);
    }
    for (uint32_t i = 0; i < g->output_n; i++) {
        psc_node out = g->outputs[i], root = g->nodes[out].root;
        uint64_t lo = at[root].offset + g->nodes[out].root_offset;
        add(s, PSC_EV_EXPORT, n, s->values[out], at[root].buffer, lo, lo + g->nodes[out].bytes, PSC_NONE, 0);
    }
    for (uint32_t i = 0; rerun && i < g->input_n; i++) {
        psc_node in = g->inputs[i];
        add(s, PSC_EV_READ, n, s->values[in], at[in].buffer, at[in].offset, at[in].offset + g->nodes[in].bytes,
            PSC_NONE, 0);
    }
    g_assert_cmpint(psc_graph_levels(g, s->level, &err), ==, PSC_OK);
    psc_story_set_order(s->b, g->n, NULL, NULL, executor, executor == PSC_EXEC_LEVEL ? s->level : NULL, true);
    g_assert_cmpint(psc_story_builder_finish(s->b, &s->arena, &story, &err), ==, PSC_OK);
    char *text = verdict(g, story);
    psc_story_builder_free(s->b);
    psc_arena_release(&s->arena);
    return text;
}

static void assert_scene(struct scene *s, const struct lies *at, enum psc_executor executor, bool rerun,
                         const char *expected)
{
    char *text = scene_run(s, at, executor, rerun);

    g_assert_cmpstr(text, ==, expected);
    g_free(text);
}

/* x; t = scale x; s = silu t; u = scale x; o = s + u */
static void diamond(struct scene *s)
{
    scene_begin(s);
    psc_node x = psc_builder_input(s->nodes, "x", PSC_F32, 4, 1);
    psc_node t = psc_builder_unary(s->nodes, "t", PSC_OP_SCALE, x);
    psc_node v = psc_builder_unary(s->nodes, "s", PSC_OP_SILU, t);
    psc_node u = psc_builder_unary(s->nodes, "u", PSC_OP_SCALE, x);
    psc_builder_output(s->nodes, psc_builder_binary(s->nodes, "o", PSC_OP_ADD, v, u));
    scene_graph(s);
}

static void test_early_free(void)
{
    struct scene s;
    const struct lies bad[] = {{0, 0}, {1, 0}, {1, 0}, {1, 0}, {2, 0}}, good[] = {{0, 0}, {1, 0}, {1, 0}, {2, 0}, {2, 0}};

    diamond(&s);
    assert_scene(&s, bad, PSC_EXEC_SERIAL, false, "K1 s u o [0,16)");
    diamond(&s);
    assert_scene(&s, good, PSC_EXEC_SERIAL, false, "");
}

static void test_in_place_over_input(void)
{
    struct scene s;
    const struct lies at[] = {{0, 0}, {0, 0}, {1, 0}, {2, 0}, {3, 0}}, last[] = {{0, 0}, {1, 0}, {1, 0}, {0, 0}, {3, 0}};

    diamond(&s);
    assert_scene(&s, at, PSC_EXEC_SERIAL, false, "K5 x t u [0,16)");
    diamond(&s);
    assert_scene(&s, last, PSC_EXEC_SERIAL, false, "");
    diamond(&s);
    assert_scene(&s, last, PSC_EXEC_SERIAL, true, "K5 x u rerun [0,16)");
}

static void test_partly_over_operand(void)
{
    struct scene s;
    const struct lies at[] = {{0, 0}, {1, 0}, {1, 8}, {2, 0}, {3, 0}};

    diamond(&s);
    assert_scene(&s, at, PSC_EXEC_SERIAL, false, "K7 t s s [8,16)");
}

/* y has no bytes and lies inside o */
static void test_nothing_over_operand(void)
{
    struct scene s;
    const struct lies at[] = {{0, 0}, {1, 8}, {1, 0}};
    struct psc_params along = {.dim = 1};

    scene_begin(&s);
    psc_node x = psc_builder_input(s.nodes, "x", PSC_F32, 4, 2);
    psc_node y = psc_builder_input(s.nodes, "y", PSC_F32, 4, 0);
    psc_builder_output(s.nodes, psc_builder_op(s.nodes, "o", PSC_OP_CONCAT, (psc_node[]){x, y}, 2, &along));
    scene_graph(&s);
    assert_scene(&s, at, PSC_EXEC_SERIAL, false, "");
}

static void test_past_the_end(void)
{
    struct scene s;
    const struct lies at[] = {{0, 0}, {1, 56}, {2, 0}, {3, 0}, {4, 0}};

    diamond(&s);
    assert_scene(&s, at, PSC_EXEC_SERIAL, false, "K7 t t none [64,72)");
}

static void test_levels(void)
{
    struct scene s;
    /* t and u stand in one level; s and u follow each other in the list but not in levels */
    const struct lies both[] = {{0, 0}, {1, 0}, {2, 0}, {1, 0}, {4, 0}}, apart[] = {{0, 0}, {1, 0}, {2, 0}, {3, 0}, {3, 0}};

    diamond(&s);
    assert_scene(&s, both, PSC_EXEC_SERIAL, false, "");
    diamond(&s);
    assert_scene(&s, both, PSC_EXEC_LEVEL, false, "K6 t u s [0,16) possible");
    diamond(&s);
    assert_scene(&s, apart, PSC_EXEC_LEVEL, false, "");
}

static void test_level_reads(void)
{
    struct scene s;
    const struct lies at[] = {{0, 0}, {1, 0}, {2, 0}, {0, 0}, {4, 0}};

    diamond(&s); /* u over x in place while t of the same level reads x */
    assert_scene(&s, at, PSC_EXEC_SERIAL, false, "");
    diamond(&s);
    assert_scene(&s, at, PSC_EXEC_LEVEL, false, "K6 x u t [0,16) possible");
}

/* x [8]; t = scale x; v = view t[4..8]; p = scale x[..4]; o = v + p */
static void test_views(void)
{
    struct scene s;
    const struct lies head[] = {{0, 0}, {1, 0}, {0, 0}, {0, 0}, {1, 0}, {2, 0}},
                      tail[] = {{0, 0}, {1, 0}, {0, 0}, {0, 0}, {1, 16}, {2, 0}};

    for (int i = 0; i < 2; i++) {
        scene_begin(&s);
        psc_node x = psc_builder_input(s.nodes, "x", PSC_F32, 8, 1);
        psc_node t = psc_builder_unary(s.nodes, "t", PSC_OP_SCALE, x);
        psc_node v = psc_builder_view(s.nodes, "v", t, 4, 4, 1);
        psc_node w = psc_builder_view(s.nodes, "w", x, 0, 4, 1);
        psc_node p = psc_builder_unary(s.nodes, "p", PSC_OP_SCALE, w);
        psc_builder_output(s.nodes, psc_builder_binary(s.nodes, "o", PSC_OP_ADD, v, p));
        scene_graph(&s);
        assert_scene(&s, i ? tail : head, PSC_EXEC_SERIAL, false, i ? "K4 t p o [16,32)" : "");
    }
}

static void concat(struct scene *s, uint64_t rows)
{
    struct psc_params params = {.dim = 0};
    uint64_t shape[4] = {4, rows, 1, 1};

    scene_begin(s);
    psc_node x = psc_builder_input(s->nodes, "x", PSC_F32, 2, rows);
    psc_node a = psc_builder_unary(s->nodes, "a", PSC_OP_SCALE, x), b = psc_builder_unary(s->nodes, "b", PSC_OP_SILU, x);
    psc_node src[2] = {a, b};
    psc_builder_output(s->nodes, psc_builder_node(s->nodes, "c", PSC_OP_CONCAT, src, 2, PSC_F32, shape, &params));
    scene_graph(s);
}

static void test_concat(void)
{
    struct scene s;
    const struct lies half[] = {{0, 0}, {1, 0}, {2, 0}, {1, 0}};
    const struct lies one[] = {{0, 0}, {1, 0}, {1, 8}, {1, 0}}, two[] = {{0, 0}, {1, 0}, {1, 16}, {1, 0}};

    concat(&s, 1);
    assert_scene(&s, one, PSC_EXEC_SERIAL, false, "");
    concat(&s, 1);
    assert_scene(&s, half, PSC_EXEC_SERIAL, false, "K7 a c c [0,8)");
    concat(&s, 2);
    assert_scene(&s, two, PSC_EXEC_SERIAL, false, "K7 a c c [0,16)\nK7 b c c [16,32)");
}

/* ---- queued copies ----------------------------------------------------------------------------------- */

enum disturb { NOTHING, SOURCE, STAGING, NO_WAIT };

/* x; t = scale x, copied to b3 for o; u = scale x somewhere; o = t(copy) + u */
static char *copied(enum disturb how)
{
    struct scene s;
    struct psc_story *story;
    struct psc_error err = {0};
    uint32_t u_at = how == SOURCE ? 1 : how == STAGING ? 3 : 2;

    scene_begin(&s);
    psc_node x = psc_builder_input(s.nodes, "x", PSC_F32, 4, 1);
    psc_node t = psc_builder_unary(s.nodes, "t", PSC_OP_SCALE, x);
    psc_node u = psc_builder_unary(s.nodes, "u", PSC_OP_SCALE, x);
    psc_node o = psc_builder_binary(s.nodes, "o", PSC_OP_ADD, t, u);
    scene_graph(&s);
    struct psc_value v = {.kind = PSC_VALUE_STAGING, .layer = -1, .node = t, .of = s.values[t], .bytes = 16, .name = "copy"};
    uint32_t staged = psc_story_add_value(s.b, &v);
    add(&s, PSC_EV_FILL, -1, s.values[x], 0, 0, 16, PSC_NONE, 0);
    add(&s, PSC_EV_READ, 1, s.values[x], 0, 0, 16, t, 0);
    add(&s, PSC_EV_WRITE, 1, s.values[t], 1, 0, 16, t, 0);
    struct psc_event q = psc_event_blank(PSC_EV_ENQUEUE, 2);
    q.value = staged;
    q.peer = s.values[t];
    q.buffer = 3;
    q.hi = 16;
    uint32_t queued = psc_story_add_event(s.b, &q);
    add(&s, PSC_EV_READ, 2, s.values[x], 0, 0, 16, u, 0);
    add(&s, PSC_EV_WRITE, 2, s.values[u], u_at, 0, 16, u, 0);
    if (how != NO_WAIT) {
        struct psc_event w = psc_event_blank(PSC_EV_WAIT, 3);
        w.peer = queued;
        w.node = o;
        psc_story_add_event(s.b, &w);
    }
    add(&s, PSC_EV_READ, 3, staged, 3, 0, 16, o, 0);
    add(&s, PSC_EV_READ, 3, s.values[u], u_at, 0, 16, o, 1);
    add(&s, PSC_EV_WRITE, 3, s.values[o], 4, 0, 16, o, 0);
    psc_story_set_order(s.b, 4, NULL, NULL, PSC_EXEC_SERIAL, NULL, true);
    g_assert_cmpint(psc_story_builder_finish(s.b, &s.arena, &story, &err), ==, PSC_OK);
    char *text = verdict(s.graph, story);
    psc_story_builder_free(s.b);
    psc_arena_release(&s.arena);
    return text;
}

static void test_copies(void)
{
    static const char *const expected[] = {"", "K6 t u o [0,16) possible", "K8 copy u o [0,16) possible",
                                           "K6 copy nobody o [0,16) possible"};

    for (int how = NOTHING; how <= NO_WAIT; how++) {
        char *text = copied((enum disturb)how);
        g_assert_cmpstr(text, ==, expected[how]);
        g_free(text);
    }
}

/* x; t = scale x; u = scale x, whose last `over` bytes of t's are taken; t copied to b3; p, q and o read the copy. */
static char *copied_late(uint64_t over)
{
    struct scene s;
    struct psc_story *story;
    struct psc_error err = {0};
    psc_node readers[3];

    scene_begin(&s);
    psc_node x = psc_builder_input(s.nodes, "x", PSC_F32, 4, 1);
    psc_node t = psc_builder_unary(s.nodes, "t", PSC_OP_SCALE, x);
    psc_node u = psc_builder_unary(s.nodes, "u", PSC_OP_SCALE, x);
    readers[0] = psc_builder_unary(s.nodes, "p", PSC_OP_SCALE, t);
    readers[1] = psc_builder_unary(s.nodes, "q", PSC_OP_SCALE, t);
    readers[2] = psc_builder_binary(s.nodes, "o", PSC_OP_ADD, t, u);
    scene_graph(&s);
    struct psc_value v = {.kind = PSC_VALUE_STAGING, .layer = -1, .node = t, .of = s.values[t], .bytes = 16, .name = "copy"};
    uint32_t staged = psc_story_add_value(s.b, &v);
    add(&s, PSC_EV_FILL, -1, s.values[x], 0, 0, 16, PSC_NONE, 0);
    add(&s, PSC_EV_READ, 1, s.values[x], 0, 0, 16, t, 0);
    add(&s, PSC_EV_WRITE, 1, s.values[t], 1, 0, 16, t, 0);
    add(&s, PSC_EV_READ, 2, s.values[x], 0, 0, 16, u, 0);
    add(&s, PSC_EV_WRITE, 2, s.values[u], 1, 16 - over, 32 - over, u, 0);
    struct psc_event q = psc_event_blank(PSC_EV_ENQUEUE, 3);
    q.value = staged;
    q.peer = s.values[t];
    q.buffer = 3;
    q.hi = 16;
    struct psc_event w = psc_event_blank(PSC_EV_WAIT, 3);
    w.peer = psc_story_add_event(s.b, &q);
    w.node = readers[0];
    psc_story_add_event(s.b, &w);
    for (int k = 0; k < 3; k++) {
        add(&s, PSC_EV_READ, 3 + k, staged, 3, 0, 16, readers[k], 0);
        if (k == 2)
            add(&s, PSC_EV_READ, 5, s.values[u], 1, 16 - over, 32 - over, readers[k], 1);
        add(&s, PSC_EV_WRITE, 3 + k, s.values[readers[k]], 4 + (uint32_t)k, 0, 16, readers[k], 0);
    }
    psc_story_set_order(s.b, 6, NULL, NULL, PSC_EXEC_SERIAL, NULL, true);
    g_assert_cmpint(psc_story_builder_finish(s.b, &s.arena, &story, &err), ==, PSC_OK);
    char *text = verdict(s.graph, story), *naive = naive_check(s.graph, story);
    unsigned lines = 0;
    for (const char *at = naive; (at = strchr(at, '\n')); at++)
        lines++;
    g_assert_cmpuint(lines, ==, over ? 3 : 0);
    g_free(naive);
    psc_story_builder_free(s.b);
    psc_arena_release(&s.arena);
    return text;
}

/* Wrong bytes that were copied are wrong for all who read the copy, and named by the copy's place. */
static void test_copies_of_wrong_bytes(void)
{
    static const struct { uint64_t over; const char *expected; } cases[] = {
        {0, ""},
        {4, "K7 t u p [12,16)\nK7 t u q [12,16)\nK7 t u o [12,16)"},
        {16, "K1 t u p [0,16)\nK1 t u q [0,16)\nK1 t u o [0,16)"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        char *text = copied_late(cases[i].over);
        g_assert_cmpstr(text, ==, cases[i].expected);
        g_free(text);
    }
}

/* Each write is compared with the reads of its position, so a story may not have too many of both. */
static void test_many_writes(void)
{
    struct scene s;
    struct psc_story *story;
    struct psc_error err = {0};

    for (uint32_t n = PSC_WRITES_MAX; n <= PSC_WRITES_MAX + 1; n++) {
        scene_begin(&s);
        psc_builder_input(s.nodes, "x", PSC_F32, 4, 1);
        scene_graph(&s);
        for (uint32_t i = 0; i < n; i++) {
            struct psc_event e = psc_event_blank(PSC_EV_WRITE, 0);
            e.value = s.values[0];
            e.version = i;
            e.buffer = 0;
            psc_story_add_event(s.b, &e);
        }
        psc_story_set_order(s.b, 1, NULL, NULL, PSC_EXEC_SERIAL, NULL, true);
        g_assert_cmpint(psc_story_builder_finish(s.b, &s.arena, &story, &err), ==, PSC_OK);
        g_assert_cmpint(psc_story_check(story, &err), ==, n > PSC_WRITES_MAX ? PSC_ERR_ORDER : PSC_OK);
        psc_story_builder_free(s.b);
        psc_arena_release(&s.arena);
    }
    g_assert_nonnull(strstr(err.text, "at most 1,024 times"));
}

static enum psc_status check_once(void *data)
{
    const struct test_story *s = data;
    struct psc_arena arena = {0};
    struct psc_check check;
    enum psc_status status = psc_check_story(&arena, s->graph, s->story, &check, NULL);

    psc_arena_release(&arena);
    return status;
}

static void test_oom(void)
{
    struct psc_arena arena = {0};
    struct test_story s = test_story_arena(&arena, true);

    g_assert_cmpuint(test_oom_loop(check_once, &s), >, 0);
    psc_arena_release(&arena);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/core/check/the-three-stories-are-clean", test_stories_clean);
    g_test_add_func("/core/check/candela/the-product-reads-b-instead-of-the-sum", test_candela_wrong);
    g_test_add_func("/core/check/arena/f-in-slot-2-destroys-d", test_arena_wrong);
    g_test_add_func("/core/check/leases/a-second-run-over-a-lent-output", test_leases_wrong);
    g_test_add_func("/core/check/early-free-is-k1", test_early_free);
    g_test_add_func("/core/check/in-place-over-an-input-another-reads-is-k5", test_in_place_over_input);
    g_test_add_func("/core/check/an-op-partly-over-its-operand-is-k7", test_partly_over_operand);
    g_test_add_func("/core/check/no-bytes-lie-over-no-operand", test_nothing_over_operand);
    g_test_add_func("/core/check/a-write-past-the-end-is-k7", test_past_the_end);
    g_test_add_func("/core/check/levels/two-writers-of-one-level-race", test_levels);
    g_test_add_func("/core/check/levels/a-reader-and-a-writer-race", test_level_reads);
    g_test_add_func("/core/check/views/only-the-window-counts", test_views);
    g_test_add_func("/core/check/concat/in-place-only-when-contiguous", test_concat);
    g_test_add_func("/core/check/copies/pending-until-waited-for", test_copies);
    g_test_add_func("/core/check/copies/pending-until-waited-for-of-wrong-bytes", test_copies_of_wrong_bytes);
    g_test_add_func("/core/check/a-position-writes-at-most-1024-times", test_many_writes);
    g_test_add_func("/core/check/oom", test_oom);
    return g_test_run();
}
