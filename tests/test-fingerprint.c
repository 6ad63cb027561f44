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

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/core/graph/fingerprint/tells-graphs-apart-that-look-alike", test_others);
    g_test_add_func("/core/graph/fingerprint/does-not-look-at-names", test_names);
    g_test_add_func("/core/graph/fingerprint/random-graphs-have-their-own", test_random);
    return g_test_run();
}
