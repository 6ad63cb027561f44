/* The session: pools, cache, inputs, KV, on small graphs with real numbers. */
#include "tests/runs.h"
#include "tests/text-graph.h"
#include "tests/util.h"

#include <string.h>

#define WORDS(...) (const char *const[]){__VA_ARGS__, NULL}

struct bench { struct psc_arena arena; struct psc_graph *g; struct psc_session *s; };

static struct bench bench(const char *text, const struct psc_session_options *options)
{
    struct bench b = {0};
    double_reset();
    b.g = text_graph(&b.arena, text);
    b.s = run_session(options);
    run_use(b.s, b.g, 1);
    return b;
}

static void bench_end(struct bench *b)
{
    psc_session_free(b->s);
    psc_arena_release(&b->arena);
}

static const char chain[] =
    "x: input 4\n"
    "w: input 4\n"
    "t: add 4 x w\n"
    "s: silu 4 t\n"
    "u: mul 4 x w\n"
    "o: add 4 s u\n"
    "out o\n";

static void fill_chain(struct psc_session *s)
{
    run_fill_f32(s, "x", (float[]){1, 2, 3, 4}, 4);
    run_fill_f32(s, "w", (float[]){2, 2, 2, 2}, 4);
}

/* ---- fill, run, read ----------------------------------------------------------------------------------------------- */

static void test_a_graph_runs(void)
{
    struct bench b = bench(chain, NULL);
    fill_chain(b.s);
    run_execute(b.s, NULL);
    run_expect(b.s, "o", (float[]){4.858f, 7.928f, 10.967f, 13.985f}, 4, 0.001);
    bench_end(&b);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/run/session/a-graph-is-filled-run-and-read", test_a_graph_runs);
    return g_test_run();
}
