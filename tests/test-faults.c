/* Each historic defect, switched on in a hardened planner, gives exactly the wrong reads that it gave. */
#include "core/debug/analysis.h"
#include "tests/qwen.h"
#include "tests/random-graph.h"
#include "tests/util.h"

/* The small graphs of the bug lab; node names as there. */
typedef void (*graph_fn)(struct psc_builder *b);

static psc_node input(struct psc_builder *b, const char *name, uint64_t n)
{
    return psc_builder_input(b, name, PSC_F32, n, 1);
}

static psc_node binary(struct psc_builder *b, const char *name, enum psc_op op, psc_node x, psc_node y)
{
    return psc_builder_binary(b, name, op, x, y);
}

static void order_graph(struct psc_builder *b)
{
    psc_node x = input(b, "x", 4), w = input(b, "w", 4), h = binary(b, "h", PSC_OP_ADD, x, w);
    psc_node n = binary(b, "n", PSC_OP_MUL, h, w), a = binary(b, "a", PSC_OP_ADD, n, w);
    psc_node late = binary(b, "late", PSC_OP_MUL, h, w);
    psc_builder_output(b, binary(b, "o", PSC_OP_ADD, a, late));
}

static void two_inputs(struct psc_builder *b)
{
    struct psc_params weight = {.weight = "token_embd.weight"};
    uint64_t shape[4] = {4, 2, 1, 1};
    psc_node ids = psc_builder_input(b, "ids", PSC_I32, 2, 1);
    psc_node embed = psc_builder_node(b, "embed", PSC_OP_GET_ROWS, &ids, 1, PSC_F32, shape, &weight);
    psc_node src[2] = {embed, psc_builder_input(b, "positions", PSC_I32, 2, 1)};
    psc_builder_output(b, psc_builder_node(b, "o", PSC_OP_ROPE, src, 2, PSC_F32, shape, NULL));
}

static void late_input(struct psc_builder *b)
{
    psc_node x = input(b, "x", 4), w = input(b, "w", 4), t = binary(b, "t", PSC_OP_ADD, x, w);
    psc_node c = binary(b, "c", PSC_OP_MUL, t, w);
    psc_builder_output(b, binary(b, "o", PSC_OP_MUL, c, input(b, "y", 4)));
}

static void alias_graph(struct psc_builder *b)
{
    psc_node x = input(b, "x", 4), w = input(b, "w", 4), t = binary(b, "t", PSC_OP_ADD, x, w);
    psc_node s = psc_builder_unary(b, "s", PSC_OP_SILU, t);
    psc_builder_output(b, binary(b, "o", PSC_OP_ADD, s, binary(b, "u", PSC_OP_MUL, x, w)));
}

static void view_graph(struct psc_builder *b)
{
    psc_node x = input(b, "x", 8), w = input(b, "w", 8), a = input(b, "a", 4), t = binary(b, "t", PSC_OP_ADD, x, w);
    psc_node p0 = psc_builder_view(b, "p0", t, 0, 4, 1);
    psc_builder_view(b, "p1", t, 4, 4, 1);
    psc_builder_output(b, binary(b, "o", PSC_OP_MUL, p0, binary(b, "s", PSC_OP_MUL, a, a)));
}

static void staged_graph(struct psc_builder *b)
{
    psc_builder_set_backend(b, "cpu");
    psc_node x = input(b, "x", 4), y = input(b, "y", 4), c = binary(b, "c", PSC_OP_ADD, x, y);
    psc_builder_set_backend(b, "metal");
    psc_node gx = input(b, "gx", 4), g1 = binary(b, "g1", PSC_OP_MUL, c, gx), g2 = binary(b, "g2", PSC_OP_ADD, gx, gx);
    psc_builder_output(b, binary(b, "g4", PSC_OP_ADD, binary(b, "g3", PSC_OP_ADD, g1, g2), c));
}

static void root_graph(struct psc_builder *b)
{
    psc_node x = input(b, "x", 4), w = input(b, "w", 4), t = binary(b, "t", PSC_OP_ADD, x, w);
    psc_node s = psc_builder_unary(b, "s", PSC_OP_SILU, psc_builder_view(b, "v", t, 0, 4, 1));
    psc_builder_output(b, binary(b, "o", PSC_OP_ADD, s, t));
}

static void output_graph(struct psc_builder *b)
{
    psc_node h = binary(b, "h", PSC_OP_ADD, input(b, "x", 4), input(b, "w", 4));
    psc_builder_output(b, h);
    psc_builder_output(b, psc_builder_unary(b, "s", PSC_OP_SILU, h));
}

struct fault_case {
    const char *path;
    enum psc_fault fault;
    graph_fn make;
    const char *wrong; /* kind, victim, writer, reader: one a line */
};
static const struct fault_case cases[] = {
    {"l1-lives-in-another-order", PSC_FAULT_L1, order_graph, "K2 h a late"},
    {"l2-inputs-that-die", PSC_FAULT_L2, two_inputs, "K3 ids positions embed"},
    {"l3-inputs-inside-the-walk", PSC_FAULT_L3, late_input, "K3 y t o"},
    {"l4-an-alias-keeps-the-old-deadline", PSC_FAULT_L4, alias_graph, "K1 s u o"},
    {"l5-views-do-not-extend", PSC_FAULT_L5, view_graph, "K4 t s o"},
    {"l7-staging-from-the-free-list", PSC_FAULT_L7, staged_graph, "K8 c g2 g4"},
    {"h1-in-place-through-a-view", PSC_FAULT_H1, root_graph, "K5 t s o"},
    {"h2-in-place-over-an-output", PSC_FAULT_H2, output_graph, "K5 h s export"},
};

static char *told(const struct psc_analysis *a)
{
    const struct psc_node_info *nodes = a->phase->graph->nodes;
    GString *out = g_string_new(NULL);

    for (uint32_t i = 0; i < a->check.finding_n; i++) {
        const struct psc_finding *f = &a->check.findings[i];
        const char *reader = psc_reader_name(f->reader_kind);
        if (f->reader != PSC_NONE)
            reader = nodes[f->reader].name;
        g_string_append_printf(out, "%s%s %s %s %s", i ? "\n" : "", psc_kind_name(f->kind), nodes[f->victim].name,
                               f->writer == PSC_NONE ? "nobody" : nodes[f->writer].name, reader);
    }
    return g_string_free(out, FALSE);
}

static struct psc_graph *build(struct psc_arena *arena, graph_fn make)
{
    struct psc_builder *b = psc_builder_new();
    struct psc_graph *graph = NULL;
    struct psc_error err = {0};

    psc_builder_set_backend(b, "cpu");
    make(b);
    if (psc_builder_finish(b, arena, &graph, &err))
        g_error("%s", err.text);
    psc_builder_free(b);
    return graph;
}

static struct psc_analysis *analyse(const struct psc_phase *phase, const struct psc_plan_options *plan)
{
    struct psc_analysis_options options = {.plan = *plan, .replan = true};
    struct psc_analysis *a = NULL;
    struct psc_error err = {0};

    if (psc_analysis_new(phase, &options, &a, &err))
        g_error("%s", err.text);
    g_assert_cmpint(psc_story_check(a->story, &err), ==, PSC_OK);
    return a;
}

static void assert_wrong(const struct psc_phase *phase, const struct psc_plan_options *plan, const char *expected)
{
    struct psc_analysis *a = analyse(phase, plan);
    char *text = told(a);

    g_assert_cmpstr(text, ==, expected);
    g_free(text);
    psc_analysis_free(a);
}

static void test_fault(gconstpointer data)
{
    const struct fault_case *c = data;
    struct psc_arena arena = {0};
    struct psc_phase phase = {.kind = "prefill", .graph = build(&arena, c->make)};
    struct psc_plan_options plan = psc_plan_defaults;

    plan.mode = PSC_MODE_HARDENED;
    plan.faults = PSC_FAULT_BIT(c->fault);
    assert_wrong(&phase, &plan, c->wrong);
    plan.faults = 0;
    for (int slots = 0; slots < PSC_SLOTS_N; slots++) {
        for (int size = 0; size < PSC_SIZE_N; size++) {
            plan.slots = (enum psc_slots)slots;
            plan.size = (enum psc_size)size;
            assert_wrong(&phase, &plan, "");
        }
    }
    psc_arena_release(&arena);
}

/* Upstream mode is hardened with the open holes on: h1 and h2 are there without being asked for. */
static void test_upstream_holes(void)
{
    struct psc_arena arena = {0};
    struct psc_phase phase = {.kind = "prefill", .graph = build(&arena, root_graph)};

    assert_wrong(&phase, &psc_plan_defaults, "K5 t s o");
    phase.graph = build(&arena, output_graph);
    assert_wrong(&phase, &psc_plan_defaults, "K5 h s export");
    psc_arena_release(&arena);
}

/* ---- the published prefill ------------------------------------------------------------------------------- */

static void assert_published(const struct psc_phase *phase, enum psc_order order, enum psc_slots slots, psc_node found)
{
    struct psc_plan_options plan = psc_plan_defaults;
    plan.order = order;
    plan.slots = slots;
    struct psc_analysis *a = analyse(phase, &plan);

    g_assert_cmpuint(a->check.finding_n, ==, found == PSC_NONE ? 0 : 1);
    if (found != PSC_NONE) {
        const struct psc_finding *f = &a->check.findings[0];
        g_assert_cmpuint(f->reader, ==, 429);
        g_assert_cmpuint(f->victim, ==, 416);
        g_assert_cmpuint(f->writer, ==, found);
        g_assert_cmpint(f->kind, ==, PSC_K2);
        g_assert_cmpint(f->confidence, ==, PSC_PROVED);
        g_assert_cmpuint(a->check.wrong_n, ==, 1);
    }
    psc_analysis_free(a);
}

static void test_published(void)
{
    struct psc_arena arena = {0};
    struct qwen_options wide = qwen_prefill;

    wide.tokens = 440;
    struct psc_phase phase = {.kind = "prefill", .graph = qwen_graph(&arena, &wide)};
    g_assert_cmpuint(phase.graph->n, ==, 440);
    assert_published(&phase, PSC_ORDER_TOPOLOGICAL, PSC_SLOTS_LOWEST, PSC_NONE);
    assert_published(&phase, PSC_ORDER_TOPOLOGICAL, PSC_SLOTS_FIFO, 425);
    assert_published(&phase, PSC_ORDER_TOPOLOGICAL, PSC_SLOTS_LIFO, 426);
    for (int slots = 0; slots < PSC_SLOTS_N; slots++)
        assert_published(&phase, PSC_ORDER_BUILD, (enum psc_slots)slots, PSC_NONE);
    psc_arena_release(&arena);
}

/* With slots given back last first, the old deadline puts each attention onto the q that it reads. */
static void test_published_deadline(void)
{
    struct psc_arena arena = {0};
    struct psc_phase phase = {.kind = "prefill", .graph = qwen_graph(&arena, &qwen_prefill)};
    struct psc_plan_options plan = psc_plan_defaults;
    unsigned attentions = 0;

    plan.slots = PSC_SLOTS_LIFO;
    plan.faults = PSC_FAULT_BIT(PSC_FAULT_L4);
    struct psc_analysis *a = analyse(&phase, &plan);
    for (uint32_t i = 0; i < a->check.finding_n; i++) {
        const struct psc_finding *f = &a->check.findings[i];
        g_assert_true(f->overlap_only);
        g_assert_cmpint(f->kind, ==, PSC_K5);
        attentions += phase.graph->nodes[f->writer].op == PSC_OP_ATTN;
    }
    g_assert_cmpuint(attentions, ==, 24);
    psc_analysis_free(a);
    psc_arena_release(&arena);
}

/* Every plan of a hardened planner is right, whatever the graph. */
static void test_random(void)
{
    guint64 seed = test_seed();
    unsigned plans = 0;

    for (unsigned i = 0; i < 300; i++, seed++) {
        struct psc_arena arena = {0};
        struct psc_phase phase = {.kind = "random", .graph = random_graph(&arena, seed, &random_graph_all)};
        struct psc_plan_options plan = psc_plan_defaults;
        plan.mode = PSC_MODE_HARDENED;
        plan.size = (enum psc_size)(i % PSC_SIZE_N);
        plan.slots = (enum psc_slots)(i / 2 % PSC_SLOTS_N);
        struct psc_analysis *a = analyse(&phase, &plan);
        char *text = told(a);
        g_test_message("seed %" G_GUINT64_FORMAT, seed);
        g_assert_cmpstr(text, ==, "");
        g_free(text);
        psc_analysis_free(a);
        psc_arena_release(&arena);
        plans++;
    }
    g_assert_cmpuint(plans, ==, 300);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        char *path = g_strconcat("/core/faults/", cases[i].path, NULL);
        g_test_add_data_func(path, &cases[i], test_fault);
        g_free(path);
    }
    g_test_add_func("/core/faults/upstream-has-its-open-holes", test_upstream_holes);
    g_test_add_func("/core/faults/published/one-wrong-read-that-the-slot-policy-hides", test_published);
    g_test_add_func("/core/faults/published/l4-puts-attention-onto-its-own-q", test_published_deadline);
    g_test_add_func("/core/faults/hardened-plans-of-random-graphs-are-clean", test_random);
    return g_test_run();
}
