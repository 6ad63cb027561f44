#include "core/graph/fingerprint.h"

#include "tests/random-graph.h"
#include "tests/text-graph.h"
#include "tests/util.h"

#include <string.h>

static struct psc_fingerprint of(const char *text)
{
    struct psc_arena arena = {0};
    struct psc_fingerprint print = psc_graph_fingerprint(text_graph(&arena, text));
    psc_arena_release(&arena);
    return print;
}

#define GRAPH "x: input 8\ny: input 8\nt: add 8 x y\nv: view 4 t +2\ns: silu 4 v\no: mul 4 s v\n"

/* Another graph of the same length each time; the first two are what a plan kept for a graph that only looks alike got
 * wrong: another operand, another output. */
static const struct { const char *what, *text; bool shape; } others[] = {
    {"another operand", "x: input 8\ny: input 8\nt: add 8 x x\nv: view 4 t +2\ns: silu 4 v\no: mul 4 s v\nout o", true},
    {"another output", GRAPH "out o t", true},
    {"operands swapped", "x: input 8\ny: input 8\nt: add 8 y x\nv: view 4 t +2\ns: silu 4 v\no: mul 4 s v\nout o", true},
    {"another op", "x: input 8\ny: input 8\nt: mul 8 x y\nv: view 4 t +2\ns: silu 4 v\no: mul 4 s v\nout o", true},
    {"another backend", "x: input 8\ny: input 8\nt: add 8 x y @metal\nv: view 4 t +2\ns: silu 4 v\no: mul 4 s v\nout o", true},
    {"another owner of the view", "x: input 8\ny: input 8\nt: add 8 x y\nv: view 4 y +2\ns: silu 4 v\no: mul 4 s v\nout o", true},
    {"another dtype", "x: input 8\ny: input 8 i32\nt: add 8 x y\nv: view 4 t +2\ns: silu 4 v\no: mul 4 s v\nout o", true},
    {"one node more", GRAPH "p: silu 4 o\nout o", true},
    {"another window", "x: input 8\ny: input 8\nt: add 8 x y\nv: view 4 t +3\ns: silu 4 v\no: mul 4 s v\nout o", false},
    {"other sizes", "x: input 16\ny: input 16\nt: add 16 x y\nv: view 4 t +2\ns: silu 4 v\no: mul 4 s v\nout o", false},
};

static void test_others(void)
{
    struct psc_fingerprint plain = of(GRAPH "out o"), again = of(GRAPH "out o");
    g_assert_true(psc_fingerprint_equal(&plain, &again));
    for (size_t k = 0; k < G_N_ELEMENTS(others); k++) {
        struct psc_fingerprint other = of(others[k].text);
        g_test_message("%s", others[k].what);
        g_assert_false(psc_fingerprint_equal(&plain, &other));
        g_assert_cmpint(psc_fingerprint_same_shape(&plain, &other), ==, !others[k].shape);
    }
}

/* Names and ids are no part of it. */
static void test_names(void)
{
    struct psc_fingerprint a = of("x: input 8\nt: silu 8 x\nout t"), b = of("in: input 8\nother: silu 8 in\nout other");
    g_assert_true(psc_fingerprint_equal(&a, &b));
}

static void test_random(void)
{
    uint64_t seed = test_seed();
    GHashTable *seen = g_hash_table_new(g_int64_hash, g_int64_equal);
    struct psc_fingerprint prints[400];
    g_test_message("seed %" G_GUINT64_FORMAT, seed);
    for (unsigned k = 0; k < G_N_ELEMENTS(prints); k++) {
        struct psc_arena arena = {0};
        struct psc_graph *g = random_graph(&arena, seed + k, &random_graph_all);
        struct psc_fingerprint again = psc_graph_fingerprint(g);
        prints[k] = psc_graph_fingerprint(g);
        g_assert_true(psc_fingerprint_equal(&prints[k], &again));
        g_assert_true(g_hash_table_add(seen, &prints[k].shape[0]));
        psc_arena_release(&arena);
    }
    g_assert_cmpuint(g_hash_table_size(seen), ==, G_N_ELEMENTS(prints));
    g_hash_table_destroy(seen);
}

/* ---- one change ---------------------------------------------------------------------------------------------------- */

struct prints { GHashTable *seen[2]; unsigned n; };

/* No graph had either half before. */
static void add_print(struct prints *p, const struct psc_graph *g, const char *what, psc_node i, psc_node k)
{
    struct psc_fingerprint print = psc_graph_fingerprint(g);
    for (int half = 0; half < 2; half++)
        if (!g_hash_table_add(p->seen[half], g_memdup2(&print.shape[half], sizeof print.shape[half])))
            g_error("%s of #%u and #%u: half %d was there before", what, i, k, half);
    p->n++;
}

static void change_one(struct prints *p, struct psc_graph *g, struct psc_node_info *nodes, psc_node i)
{
    struct psc_node_info was = nodes[i];
    nodes[i].op = (enum psc_op)((was.op + 1) % PSC_OP_N);
    add_print(p, g, "op", i, i);
    nodes[i] = was;
    nodes[i].dtype = (enum psc_dtype)((was.dtype + 1) % PSC_DTYPE_N);
    add_print(p, g, "dtype", i, i);
    nodes[i] = was;
    nodes[i].layer++;
    add_print(p, g, "layer", i, i);
    nodes[i] = was;
    nodes[i].is_input = !was.is_input;
    add_print(p, g, "input", i, i);
    nodes[i] = was;
    nodes[i].is_output = !was.is_output;
    add_print(p, g, "output", i, i);
    nodes[i] = was;
    if (i) {
        nodes[i].root = was.root == i - 1 ? i : i - 1;
        add_print(p, g, "root", i, i);
        nodes[i] = was;
    }
}

/* What two nodes are, the other way round; their operands stay. Nodes that are alike are no change. */
static void swap_two(struct prints *p, struct psc_graph *g, struct psc_node_info *nodes, psc_node i, psc_node k)
{
    struct psc_node_info a = nodes[i], b = nodes[k];
    if (a.op == b.op)
        return;
    nodes[i].op = b.op;
    nodes[k].op = a.op;
    add_print(p, g, "ops", i, k);
    nodes[i] = a;
    nodes[k] = b;
}

static void test_changes(void)
{
    uint64_t seed = test_seed();
    unsigned n = 0;
    g_test_message("seed %" G_GUINT64_FORMAT, seed);
    for (unsigned round = 0; round < 30; round++) {
        struct psc_arena arena = {0};
        struct psc_graph *g = random_graph(&arena, seed + round, &random_graph_all);
        struct psc_node_info *nodes = g_memdup2(g->nodes, g->n * sizeof *nodes);
        psc_node *srcs = g_memdup2(g->srcs, g->src_total * sizeof *srcs);
        struct prints p = {{g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL),
                            g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL)}, 0};
        g->nodes = nodes;
        g->srcs = srcs;
        add_print(&p, g, "nothing", 0, 0);
        for (psc_node i = 0; i < g->n; i++) {
            change_one(&p, g, nodes, i);
            for (psc_node k = 0; k < i; k++)
                swap_two(&p, g, nodes, i, k);
        }
        for (uint32_t e = 0; e < g->src_total; e++) {
            srcs[e]++;
            add_print(&p, g, "operand", e, e);
            srcs[e]--;
        }
        for (int half = 0; half < 2; half++)
            g_hash_table_destroy(p.seen[half]);
        n += p.n;
        g_free(nodes);
        g_free(srcs);
        psc_arena_release(&arena);
    }
    g_assert_cmpuint(n, >, 20000);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/core/graph/fingerprint/tells-graphs-apart-that-look-alike", test_others);
    g_test_add_func("/core/graph/fingerprint/does-not-look-at-names", test_names);
    g_test_add_func("/core/graph/fingerprint/random-graphs-have-their-own", test_random);
    g_test_add_func("/core/graph/fingerprint/each-change-gives-another", test_changes);
    return g_test_run();
}
