#include "core/plan/liveness.h"
#include "tests/random-graph.h"
#include "tests/text-graph.h"
#include "tests/util.h"

/* The drawing of core/plan/liveness.h. */
static const char drawing[] = "x: input 4\n"
                              "t: add 4 x x\n"
                              "v: view 2 t +2\n"
                              "o: silu 2 v\n"
                              "out o";

static char *text_of(const struct psc_graph *graph, const struct psc_lives *lives)
{
    GString *out = g_string_new(NULL);
    for (psc_node i = 0; i < graph->n; i++)
        g_string_append_printf(out, "%s%s %d..%d", i ? ", " : "", graph->nodes[i].name, lives->first[i],
                               lives->last[i]);
    return g_string_free(out, FALSE);
}

static void assert_lives(const char *text, const psc_node *order, unsigned pins, bool fold, const char *expected)
{
    struct psc_arena arena = {0};
    struct psc_graph *graph = text_graph(&arena, text);
    struct psc_lives lives;
    g_assert_cmpint(psc_lives_build(&arena, graph, order, pins, &lives, NULL), ==, PSC_OK);
    if (fold)
        psc_lives_fold_views(&lives, graph, order);
    g_assert_true(psc_lives_check(&lives, graph, pins));
    char *got = text_of(graph, &lives);
    g_assert_cmpstr(got, ==, expected);
    g_free(got);
    psc_arena_release(&arena);
}

static void test_drawing(void)
{
    assert_lives(drawing, NULL, PSC_PIN_BOTH, false, "x 0..4, t 1..2, v 2..3, o 3..4");
    assert_lives(drawing, NULL, PSC_PIN_BOTH, true, "x 0..4, t 1..3, v 2..3, o 3..4");
}

static void test_pins(void)
{
    assert_lives(drawing, NULL, PSC_PIN_OUTPUTS, true, "x 0..1, t 1..3, v 2..3, o 3..4");
    assert_lives(drawing, NULL, PSC_PIN_INPUTS, true, "x 0..4, t 1..3, v 2..3, o 3..3");
    assert_lives("x: input 4\nd: silu 4 x\no: scale 4 x\nout o", NULL, PSC_PIN_BOTH, true,
                 "x 0..3, d 1..1, o 2..3");
}

static void test_output_view(void)
{
    assert_lives("x: input 4\nt: scale 4 x\nv: view 2 t\nw: view 1 v +1\ns: silu 4 x\nout w", NULL, PSC_PIN_BOTH, true,
                 "x 0..5, t 1..5, v 2..5, w 3..5, s 4..4");
}

/* The seven nodes of the engine's own order bug: in topological order h is last read at place 4, in build order
 * at 5. */
static void test_order(void)
{
    static const char seven[] = "x: input 4\nw: input 4\nh: add 4 x w\nn: mul 4 h w\na: add 4 n w\n"
                                "late: mul 4 h w\no: add 4 a late\nout o";
    struct psc_arena arena = {0};
    struct psc_graph *graph = text_graph(&arena, seven);
    psc_node order[7];
    g_assert_cmpint(psc_graph_topological(graph, false, order, NULL), ==, PSC_OK);
    assert_lives(seven, order, PSC_PIN_BOTH, true, "x 0..7, w 1..7, h 2..4, n 3..5, a 5..6, late 4..6, o 6..7");
    assert_lives(seven, NULL, PSC_PIN_BOTH, true, "x 0..7, w 1..7, h 2..5, n 3..4, a 4..6, late 5..6, o 6..7");
    psc_arena_release(&arena);
}

static void assert_refused(const psc_node *order, const char *sentence)
{
    struct psc_arena arena = {0};
    struct psc_graph *graph = text_graph(&arena, drawing);
    struct psc_lives lives;
    struct psc_error error = {0};
    g_assert_cmpint(psc_lives_build(&arena, graph, order, PSC_PIN_BOTH, &lives, &error), ==, PSC_ERR_ORDER);
    g_assert_cmpstr(error.text, ==, sentence);
    psc_arena_release(&arena);
}

static void test_bad_orders(void)
{
    assert_refused((psc_node[]){0, 2, 1, 3}, "the order runs node 2 at place 1, before its operand 1 at place 2");
    assert_refused((psc_node[]){0, 1, 1, 3}, "place 2 of the order names node 1, which is named before");
    assert_refused((psc_node[]){0, 1, 2, 9}, "place 3 of the order names node 9, which is not in the graph");
}

/* Quadratic, straight from the definition. */
static int32_t last_by_definition(const struct psc_graph *graph, psc_node node)
{
    int32_t last = (int32_t)node;
    bool pinned = graph->nodes[node].is_input || graph->nodes[node].is_output;
    for (psc_node i = node + 1; i < graph->n; i++) {
        for (uint32_t k = 0; k < graph->nodes[i].src_n; k++)
            if (psc_node_srcs(graph, i)[k] == node)
                last = MAX(last, (int32_t)i);
        if (graph->nodes[i].parent == node)
            last = MAX(last, last_by_definition(graph, i));
    }
    return pinned ? (int32_t)graph->n : last;
}

static void test_random(void)
{
    for (guint64 seed = test_seed(), end = seed + 100; seed < end; seed++) {
        struct psc_arena arena = {0};
        struct psc_graph *graph = random_graph(&arena, seed, &random_graph_all);
        struct psc_lives lives;
        g_assert_cmpint(psc_lives_build(&arena, graph, NULL, PSC_PIN_BOTH, &lives, NULL), ==, PSC_OK);
        psc_lives_fold_views(&lives, graph, NULL);
        g_assert_true(psc_lives_check(&lives, graph, PSC_PIN_BOTH));
        for (psc_node i = 0; i < graph->n; i++) {
            g_assert_cmpint(lives.first[i], ==, (int32_t)i);
            g_assert_cmpint(lives.last[i], ==, last_by_definition(graph, i));
        }
        psc_arena_release(&arena);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/liveness/the-drawing-of-the-header", test_drawing);
    g_test_add_func("/liveness/inputs-and-outputs-are-pinned-when-asked", test_pins);
    g_test_add_func("/liveness/an-output-view-pins-its-root", test_output_view);
    g_test_add_func("/liveness/another-order-gives-other-lives", test_order);
    g_test_add_func("/liveness/an-order-that-reads-too-early-is-refused", test_bad_orders);
    g_test_add_func("/liveness/random-graphs-agree-with-the-definition", test_random);
    return g_test_run();
}
