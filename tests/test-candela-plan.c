/* candela's rules for graphs of minfer's ops: every plan is clean, and no plan is worse than the naive one. */
#include "core/debug/check.h"
#include "core/plan/planners/planners.h"
#include "tests/qwen.h"
#include "tests/random-graph.h"
#include "tests/util.h"

#include <string.h>

static struct psc_plan *planned(struct psc_arena *arena, const struct psc_graph *g, bool log)
{
    struct psc_plan_options options = psc_plan_defaults;
    struct psc_plan *plan;
    struct psc_error error = {0};
    options.log = log;
    if (psc_plan_candela(arena, g, &options, &plan, &error))
        g_error("%s", error.text);
    return plan;
}

static uint32_t findings(struct psc_arena *arena, const struct psc_graph *g, const struct psc_plan *plan)
{
    struct psc_story *story;
    struct psc_check check;
    struct psc_error error = {0};
    if (psc_plan_lower(arena, g, plan, &story, &error) || psc_story_check(story, &error) ||
        psc_check_story(arena, g, story, &check, &error))
        g_error("%s", error.text);
    return check.finding_n;
}

/* (a + b) * 2: one buffer beside the inputs; a - (b + c): the right operand is overwritten. */
static void test_chain(void)
{
    struct psc_arena arena = {0};
    struct psc_builder *b = psc_builder_new();
    struct psc_graph *g;
    psc_node x = psc_builder_input(b, "a", PSC_F32, 4, 1), y = psc_builder_input(b, "b", PSC_F32, 4, 1);
    psc_node s = psc_builder_binary(b, "s", PSC_OP_ADD, x, y);
    psc_node m = psc_builder_binary(b, "m", PSC_OP_MUL, x, s);
    psc_builder_output(b, m);
    g_assert_cmpint(psc_builder_finish(b, &arena, &g, NULL), ==, PSC_OK);
    struct psc_plan *plan = planned(&arena, g, true);
    g_assert_cmpstr(plan->planner, ==, "candela");
    g_assert_cmpint(plan->places[m].reason, ==, PSC_WHY_IN_PLACE);
    g_assert_cmpuint(plan->places[m].a, ==, 1);
    g_assert_cmpuint(plan->places[m].buffer, ==, plan->places[s].buffer);
    g_assert_cmpuint(plan->buffer_n, ==, 3);
    g_assert_cmpuint(findings(&arena, g, plan), ==, 0);
    psc_builder_free(b);
    psc_arena_release(&arena);
}

/* The slot that is read by the step is not yet past; the lowest that is past is taken. */
static void test_use_slot(void)
{
    struct psc_arena arena = {0};
    struct psc_builder *b = psc_builder_new();
    struct psc_graph *g;
    psc_node at = psc_builder_input(b, "x", PSC_F32, 8, 1), p[5];
    for (int i = 0; i < 5; i++)
        p[i] = at = psc_builder_node(b, NULL, PSC_OP_OTHER, &at, 1, PSC_F32, (uint64_t[]){8, 1, 1, 1}, NULL);
    psc_builder_output(b, at);
    g_assert_cmpint(psc_builder_finish(b, &arena, &g, NULL), ==, PSC_OK);
    struct psc_plan *plan = planned(&arena, g, false);
    g_assert_cmpint(plan->places[p[1]].reason, ==, PSC_WHY_NEW);
    g_assert_cmpint(plan->places[p[2]].reason, ==, PSC_WHY_REUSED);
    g_assert_cmpuint(plan->places[p[2]].buffer, ==, plan->places[p[0]].buffer);
    g_assert_cmpuint(plan->places[p[3]].buffer, ==, plan->places[p[1]].buffer);
    g_assert_cmpuint(findings(&arena, g, plan), ==, 0);
    psc_builder_free(b);
    psc_arena_release(&arena);
}

/* Random graphs: clean, at least the lower bound, at most what the naive planner needs in exact sizes. */
static void test_random(void)
{
    unsigned in_place = 0, reused = 0;
    g_test_message("seed %" G_GUINT64_FORMAT, test_seed());
    for (uint64_t i = 0; i < 1500; i++) {
        struct psc_arena arena = {0};
        struct psc_graph *g = random_graph(&arena, test_seed() * 1000003 + i, i % 3 ? &random_graph_all : &random_graph_plain);
        struct psc_plan_options exact = psc_plan_defaults;
        struct psc_plan *plan = planned(&arena, g, i % 2), *naive;
        exact.size = PSC_SIZE_EXACT;
        uint32_t wrong = findings(&arena, g, plan);
        if (wrong)
            g_error("graph %" G_GUINT64_FORMAT ": %u findings", i, wrong);
        g_assert_cmpint(psc_plan_naive(&arena, g, &exact, &naive, NULL), ==, PSC_OK);
        uint64_t unread = 0; /* inputs that nobody reads: the naive planner leaves them out */
        for (psc_node k = 0; k < g->n; k++)
            if ((g->nodes[k].is_input || g->nodes[k].op == PSC_OP_INPUT) && !g->nodes[k].reader_n && !g->nodes[k].is_output)
                unread += g->nodes[k].bytes;
        g_assert_cmpuint(plan->figures.pool_bytes, <=, naive->figures.pool_bytes + unread);
        g_assert_cmpuint(plan->figures.pool_bytes, >=, plan->figures.lower_bound_bytes);
        in_place += (unsigned)plan->figures.in_place;
        reused += (unsigned)plan->figures.reused;
        psc_arena_release(&arena);
    }
    g_assert_cmpuint(in_place, >, 1000);
    g_assert_cmpuint(reused, >, 1000);
}

static void test_qwen(void)
{
    static const struct qwen_options *const graphs[] = {&qwen_prefill, &qwen_decode, &qwen_unfused};
    for (size_t i = 0; i < G_N_ELEMENTS(graphs); i++) {
        struct psc_arena arena = {0};
        struct psc_graph *g = qwen_graph(&arena, graphs[i]);
        struct psc_plan *plan = planned(&arena, g, false);
        g_assert_cmpuint(findings(&arena, g, plan), ==, 0);
        g_assert_cmpuint(plan->figures.in_place, >, 0);
        psc_arena_release(&arena);
    }
}

static enum psc_status plan_it(void *data)
{
    struct psc_arena arena = {0};
    struct psc_plan_options options = psc_plan_defaults;
    struct psc_plan *plan;
    options.log = true;
    enum psc_status status = psc_plan_candela(&arena, data, &options, &plan, NULL);
    psc_arena_release(&arena);
    return status;
}

static void test_oom(void)
{
    struct psc_arena arena = {0};
    struct psc_graph *g = random_graph(&arena, 5, &random_graph_all);
    g_assert_cmpuint(test_oom_loop(plan_it, g), >, 10);
    psc_arena_release(&arena);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/candela-plan/the-operand-that-dies-is-overwritten", test_chain);
    g_test_add_func("/candela-plan/a-slot-that-is-read-is-not-past", test_use_slot);
    g_test_add_func("/candela-plan/random-graphs-are-clean", test_random);
    g_test_add_func("/candela-plan/language-models-are-clean", test_qwen);
    g_test_add_func("/candela-plan/oom", test_oom);
    return g_test_run();
}
