/* Plans from elsewhere through a session: views that are copied, a concat that is elided, graphs without backends. */
#include "tests/runs.h"
#include "tests/text-graph.h"
#include "tests/util.h"

#include <string.h>

#define F(...) (const float[]){__VA_ARGS__}
#define WORDS(...) (const char *const[]){__VA_ARGS__, NULL}

static const struct psc_foreign *the_foreign; /* what the planner below takes over */

static enum psc_status plan_foreign(struct psc_arena *arena, const struct psc_graph *graph, const struct psc_plan_options *options,
                                    struct psc_plan **ret, struct psc_error *reterr)
{
    (void)options;
    return psc_plan_from_foreign(arena, graph, the_foreign, ret, reterr);
}
static const struct psc_planner foreign_planner = {"elsewhere", "a plan from elsewhere", plan_foreign};

struct bench { struct psc_arena arena; struct psc_graph *g; struct psc_session *s; struct run_heard heard; };

static void bench_begin(struct bench *b, const char *text, const struct psc_foreign *foreign)
{
    struct psc_session_options options = run_options();
    *b = (struct bench){0};
    double_reset();
    the_foreign = foreign;
    options.planner = foreign ? &foreign_planner : NULL;
    options.recycled = PSC_RECYCLED_POISONED;
    b->g = text_graph(&b->arena, text);
    b->s = run_session(&options);
    run_listen(&b->heard, false);
    run_use(b->s, b->g, 1);
}

static void bench_end(struct bench *b, bool as_planned)
{
    char *difference = as_planned ? run_compare(&b->heard) : NULL;
    g_assert_cmpstr(difference, ==, NULL);
    run_heard_release(&b->heard);
    psc_session_free(b->s);
    g_assert_cmpuint(double_control.allocs, ==, double_control.frees);
    psc_arena_release(&b->arena);
}

/* The view is placed elsewhere than in its parent's window: its bytes are moved there when it runs. */
static void test_a_view_that_is_copied(void)
{
    static const struct psc_foreign_place places[] = {{0, "a", 0}, {1, "b", 0}, {2, "c", 32}, {3, "b", 0}};
    static const struct psc_foreign foreign = {.places = places, .place_n = 4};
    struct bench b;
    bench_begin(&b, "x: input 8\nt: scale 8 x scale=2\nv: view 4 t +4\no: scale 4 v scale=3\nout o\n", &foreign);
    g_assert_cmpuint(psc_session_plan(b.s)->places[2].buffer, !=, psc_session_plan(b.s)->places[1].buffer);
    run_fill_f32(b.s, "x", F(1, 2, 3, 4, 5, 6, 7, 8), 8);
    run_execute(b.s, &b.heard.sink);
    run_expect(b.s, "v", F(10, 12, 14, 16), 4, 0);
    run_expect(b.s, "o", F(30, 36, 42, 48), 4, 0);
    struct psc_session_counters c;
    psc_session_counters(b.s, &c);
    g_assert_cmpuint(c.launches, ==, 2); /* a move is no kernel */
    bench_end(&b, true);
}

/* Both operands lie where the concat puts them: it has nothing to move, and its fresh buffer is not poisoned over them. */
static void test_a_concat_that_is_elided(void)
{
    static const struct psc_foreign_place places[] = {{0, "x", 0}, {1, "joined", 0}, {2, "joined", 16}, {3, "joined", 0}, {4, "o", 0}};
    static const struct psc_foreign foreign = {.places = places, .place_n = 5};
    struct bench b;
    uint32_t aliases = 0;
    bench_begin(&b, "x: input 4\na: scale 4 x scale=2\nb: scale 4 x scale=3\nc: concat 4x2 a b axis=1\no: scale 4x2 c scale=1\nout o\n", &foreign);
    run_fill_f32(b.s, "x", F(1, 2, 3, 4), 4);
    run_execute(b.s, &b.heard.sink);
    run_expect(b.s, "o", F(2, 4, 6, 8, 3, 6, 9, 12), 8, 0);
    for (uint32_t e = 0; e < b.heard.event_n; e++)
        aliases += b.heard.events[e].kind == PSC_EV_ALIAS;
    g_assert_cmpuint(aliases, ==, 2);
    bench_end(&b, true);
}

/* A plan from elsewhere may be wrong: the run gives the wrong numbers that the checker foretold. */
static void test_a_wrong_plan_is_run_as_it_is(void)
{
    static const struct psc_foreign_place places[] = {{0, "x", 0}, {1, "t", 0}, {2, "t", 0}, {3, "o", 0}};
    static const struct psc_foreign foreign = {.places = places, .place_n = 4};
    struct bench b;
    bench_begin(&b, "x: input 4\nt: scale 4 x scale=2\nu: scale 4 x scale=5\no: add 4 t u\nout o\n", &foreign);
    run_fill_f32(b.s, "x", F(1, 2, 3, 4), 4);
    run_execute(b.s, &b.heard.sink);
    run_expect(b.s, "o", F(10, 20, 30, 40), 4, 0); /* t is 5x by then */
    bench_end(&b, true);
}

static void test_no_backend_is_the_cpu(void)
{
    struct psc_builder *builder = psc_builder_new();
    struct psc_arena arena = {0};
    struct psc_graph *g = NULL;
    struct psc_error error = {0};
    struct run_heard heard;
    psc_node x = psc_builder_input(builder, "x", PSC_F32, 4, 1);
    psc_builder_output(builder, psc_builder_binary(builder, "o", PSC_OP_ADD, x, x));
    g_assert_cmpint(psc_builder_finish(builder, &arena, &g, &error), ==, PSC_OK);
    psc_builder_free(builder);
    double_reset();
    struct psc_session *s = run_session(NULL);
    run_use(s, g, 1);
    run_listen(&heard, false);
    run_fill_f32(s, "x", F(1, 2, 3, 4), 4);
    run_execute(s, &heard.sink);
    run_expect(s, "o", F(2, 4, 6, 8), 4, 0);
    const struct psc_backend_api *api;
    g_assert_nonnull(psc_session_backend(s, 0, &api));
    g_assert_null(psc_session_backend(s, 1, &api)); /* nobody needed it */
    g_assert_cmpuint(heard.event_n, >, 3);
    run_heard_release(&heard);
    psc_session_free(s);
    psc_arena_release(&arena);
}

/* One backend under both of its names: two pools to the planner, one to the session. */
static void test_two_names_of_one_backend(void)
{
    struct bench b;
    bench_begin(&b, "x: input 4 @metal\ny: scale 4 x scale=2 @deferred\nz: add 4 y x @metal\nw: scale 4 z scale=3 @deferred\nout w\n", NULL);
    for (int times = 0; times < 2; times++) {
        run_fill_f32(b.s, "x", F(1, 2, 3, 4), 4);
        run_execute(b.s, &b.heard.sink);
        run_expect(b.s, "w", F(9, 18, 27, 36), 4, 0);
    }
    const struct psc_plan *plan = psc_session_plan(b.s);
    for (uint32_t i = 0; i < plan->buffer_n; i++)
        for (uint32_t k = i + 1; k < plan->buffer_n; k++)
            g_assert_cmpuint(plan->buffers[i].id, !=, plan->buffers[k].id);
    bench_end(&b, false);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/run/plans/a-view-placed-elsewhere-is-moved", test_a_view_that_is_copied);
    g_test_add_func("/run/plans/an-elided-concat-is-not-poisoned", test_a_concat_that_is_elided);
    g_test_add_func("/run/plans/a-wrong-plan-is-run-as-it-is", test_a_wrong_plan_is_run_as_it_is);
    g_test_add_func("/run/plans/a-graph-without-backends-runs-on-the-cpu", test_no_backend_is_the_cpu);
    g_test_add_func("/run/plans/one-backend-under-two-names-has-one-pool", test_two_names_of_one_backend);
    return g_test_run();
}
