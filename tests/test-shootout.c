/* Planners side by side: what each costs and where the bytes go, who cannot and why, and planners named with their options. */
#include "core/debug/shootout.h"
#include "core/plan/choice.h"
#include "core/plan/offsets/box-set.h"
#include "tests/qwen.h"
#include "tests/random-graph.h"
#include "tests/text-graph.h"
#include "tests/util.h"

#include <stdlib.h>
#include <string.h>

static void contend(const struct psc_phase *phase, const char *planner, struct psc_contender *ret)
{
    struct psc_analysis_options options = {.planner = psc_planner_find(planner), .plan = psc_plan_defaults};
    struct psc_error err = {0};
    g_assert_cmpint(psc_contender_run(phase, planner, &options, ret, &err), ==, PSC_OK);
}

/* The three parts of what is reserved are all of it, whoever plans. */
static void test_parts(void)
{
    guint64 seed = test_seed();
    for (unsigned i = 0; i < 60; i++) {
        struct psc_arena arena = {0};
        struct psc_phase phase = {.kind = "", .graph = random_graph(&arena, seed + i, &random_graph_all)};
        for (const struct psc_planner *p = psc_planners; p->name; p++) {
            struct psc_contender c;
            contend(&phase, p->name, &c);
            g_test_message("seed %" G_GUINT64_FORMAT ", %s", seed + i, p->name);
            g_assert_nonnull(c.analysis);
            g_assert_cmpuint(c.cost.reserved, ==, c.cost.lower_bound + c.cost.padding + c.cost.holes);
            g_assert_cmpuint(c.cost.reserved, >=, c.cost.lower_bound);
            g_assert_cmpfloat(c.milliseconds, >=, 0);
            g_assert_cmpuint(c.runs, >, 0);
            psc_contender_release(&c);
        }
        psc_arena_release(&arena);
    }
}

static void test_published(void)
{
    struct psc_arena arena = {0};
    struct qwen_options wide = qwen_prefill;
    struct psc_text text = {0};
    wide.tokens = 440;
    struct psc_phase phase = {.kind = "prefill", .graph = qwen_graph(&arena, &wide)};
    struct psc_contender pool, optimal;
    contend(&phase, "pool", &pool);
    contend(&phase, "optimal", &optimal);
    g_assert_cmpuint(pool.cost.reserved, ==, 31671296);
    g_assert_cmpuint(pool.cost.lower_bound, ==, 27262404);
    g_assert_cmpuint(pool.cost.padding, ==, 38460);
    g_assert_cmpuint(pool.cost.holes, ==, 4370432);
    g_assert_cmpuint(pool.cost.buffers, ==, 18);
    g_assert_cmpuint(optimal.cost.reserved, ==, 20278724);
    g_assert_cmpint(optimal.cost.proof, ==, PSC_PROOF_BOUND);
    g_assert_cmpint(pool.cost.proof, ==, PSC_PROOF_NONE);
    g_assert_cmpint(psc_contender_order(&optimal, &pool), <, 0);
    psc_explain_cost_change(&text, &pool, &optimal);
    g_assert_cmpstr(psc_text_str(&text), ==, "optimal saves 11,392,572 bytes (36 %): 6,983,680 of the lower bound, 4,370,432 of "
                                             "holes, 38,460 of padding.");
    psc_text_clear(&text);
    psc_explain_cost_change(&text, &optimal, &pool);
    g_assert_nonnull(strstr(psc_text_str(&text), "pool costs 11,392,572 bytes (56 %): 6,983,680 of the lower bound"));
    psc_text_clear(&text);
    psc_explain_cost_change(&text, &pool, &pool);
    g_assert_cmpstr(psc_text_str(&text), ==, "pool and pool reserve the same 31,671,296 bytes.");
    psc_text_clear(&text);
    psc_explain_cost(&text, &optimal);
    g_assert_nonnull(strstr(psc_text_str(&text), "It meets the bound"));
    psc_text_release(&text);
    psc_contender_release(&pool);
    psc_contender_release(&optimal);
    psc_arena_release(&arena);
}

static void test_boxes_and_events(void)
{
    struct psc_arena arena = {0};
    struct psc_phase graph = {.kind = "", .graph = text_graph(&arena, "x: input 4\nt: matmul 8 x\no: matmul 4 t\nout o\n")};
    struct psc_box_set set;
    struct psc_contender plan, c;
    struct psc_error err = {0};
    contend(&graph, "optimal", &plan);
    g_assert_cmpint(psc_box_set_of_graph(&arena, graph.graph, plan.analysis->plan, &set, &err), ==, PSC_OK);
    struct psc_phase boxes = {.kind = "", .boxes = &set};
    contend(&boxes, "pool", &c);
    g_assert_null(c.analysis);
    g_assert_nonnull(strstr(c.why, "the planner pool plans graphs"));
    g_assert_null(strstr(c.why, "candela"));
    g_assert_cmpfloat(c.milliseconds, <, 0);
    psc_contender_release(&c);
    contend(&boxes, "greedy-size", &c);
    g_assert_nonnull(c.analysis);
    g_assert_cmpuint(c.cost.reserved, ==, 48);
    g_assert_cmpstr(c.analysis->origin, ==, "Packed here: greedy-size");
    psc_contender_release(&c);
    struct psc_phase events = {.kind = "", .story = plan.analysis->story};
    contend(&events, "pool", &c);
    g_assert_null(c.analysis);
    g_assert_nonnull(strstr(c.why, "no graph"));
    struct psc_analysis_options filed = {.plan = psc_plan_defaults};
    g_assert_cmpint(psc_contender_run(&events, PSC_CONTENDER_FILE, &filed, &c, &err), ==, PSC_OK);
    g_assert_nonnull(c.analysis);
    g_assert_cmpuint(c.cost.reserved, ==, plan.cost.reserved);
    g_assert_cmpuint(c.cost.lower_bound, ==, plan.cost.lower_bound);
    psc_contender_release(&c);
    g_assert_cmpint(psc_contender_run(&graph, PSC_CONTENDER_FILE, &filed, &c, &err), ==, PSC_OK);
    g_assert_null(c.analysis);
    g_assert_cmpint(psc_contender_order(&c, &plan), >, 0);
    psc_contender_release(&plan);
    psc_arena_release(&arena);
}

static unsigned slow_plans;

static enum psc_status plan_slowly(struct psc_arena *arena, const struct psc_graph *graph, const struct psc_plan_options *options,
                                   struct psc_plan **ret, struct psc_error *reterr)
{
    slow_plans++;
    g_usleep((gulong)(PSC_SHOOTOUT_MS * 1000) + 5000);
    return psc_planners[0].plan(arena, graph, options, ret, reterr);
}

/* The plan that is shown is the first that is timed: one that takes its time is made once. */
static void test_once(void)
{
    static const struct psc_planner slow = {"slow", "the pool, after a while", plan_slowly};
    struct psc_arena arena = {0};
    struct psc_phase phase = {.kind = "", .graph = text_graph(&arena, "x: input 4\nt: matmul 8 x\no: matmul 4 t\nout o\n")};
    struct psc_analysis_options options = {.planner = &slow, .plan = psc_plan_defaults};
    struct psc_contender c, other;
    struct psc_error err = {0};
    g_assert_cmpint(psc_contender_run(&phase, "slow", &options, &c, &err), ==, PSC_OK);
    g_assert_cmpuint(slow_plans, ==, 1);
    g_assert_cmpuint(c.runs, ==, 1);
    g_assert_cmpfloat(c.milliseconds, >=, PSC_SHOOTOUT_MS);
    contend(&phase, "pool", &other);
    g_assert_cmpuint(other.runs, >, 1);
    psc_contender_release(&c); /* the figures stay, and who can plan is told by them */
    g_assert_true(c.able);
    g_assert_cmpint(psc_contender_order(&c, &other), >, 0);
    struct psc_text text = {0};
    psc_explain_cost_change(&text, &c, &other);
    g_assert_cmpstr(psc_text_str(&text), ==, "slow and pool reserve the same 3,072 bytes.");
    psc_text_release(&text);
    psc_contender_release(&other);
    psc_arena_release(&arena);
}

static void test_choice(void)
{
    struct psc_planner_choice c = {.plan = psc_plan_defaults};
    struct psc_error err = {0};
    g_assert_cmpint(psc_planner_choice_parse(&c, "optimal", &err), ==, PSC_OK);
    g_assert_cmpstr(c.planner->name, ==, "optimal");
    g_assert_cmpint(psc_planner_choice_parse(&c, "pool+hardened+exact+random:7+topological+l1", &err), ==, PSC_OK);
    g_assert_cmpstr(c.planner->name, ==, "pool");
    g_assert_cmpint(c.plan.mode, ==, PSC_MODE_HARDENED);
    g_assert_cmpint(c.plan.size, ==, PSC_SIZE_EXACT);
    g_assert_cmpint(c.plan.slots, ==, PSC_SLOTS_RANDOM);
    g_assert_cmpuint(c.plan.seed, ==, 7);
    g_assert_cmpint(c.plan.order, ==, PSC_ORDER_TOPOLOGICAL);
    g_assert_true(c.plan.faults & PSC_FAULT_BIT(PSC_FAULT_L1));
    g_assert_cmpint(psc_planner_choice_parse(&c, "best-fit+align=64+apart", &err), ==, PSC_OK);
    g_assert_cmpuint(c.plan.align, ==, 64);
    g_assert_true(c.plan.apart);
    g_assert_cmpint(psc_planner_choice_parse(&c, "file", &err), ==, PSC_OK);
    g_assert_true(c.filed);
    struct psc_planner_choice before = c;
    static const char *const bad[] = {"", "poool", "pool+", "+pool", "pool++exact", "align=", "align=3", "align=0", "align=-4",
                                      "align=99999999999999999999", "random:", "naive+a-part-that-is-far-too-long-to-be-any-option-at-all"};
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_assert_cmpint(psc_planner_choice_parse(&c, bad[i], &err), ==, PSC_ERR_USAGE);
        g_assert_cmpmem(&c, sizeof c, &before, sizeof before);
    }
    g_assert_nonnull(strstr(err.text, "pool, naive, best-fit"));
}

static enum psc_status contend_once(void *data)
{
    struct psc_analysis_options options = {.planner = psc_planner_find("optimal"), .plan = psc_plan_defaults};
    struct psc_contender c;
    struct psc_error err = {0};
    enum psc_status status = psc_contender_run(data, "optimal", &options, &c, &err);
    psc_contender_release(&c);
    return status;
}

static void test_memory(void)
{
    struct psc_arena arena = {0};
    struct psc_phase phase = {.kind = "", .graph = text_graph(&arena, "x: input 4\nt: matmul 8 x\no: matmul 4 t\nout o\n")};
    g_assert_cmpuint(test_oom_loop(contend_once, &phase), >, 10);
    psc_arena_release(&arena);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/shootout/parts", test_parts);
    g_test_add_func("/shootout/published", test_published);
    g_test_add_func("/shootout/boxes-and-events", test_boxes_and_events);
    g_test_add_func("/shootout/a-plan-that-takes-its-time-is-made-once", test_once);
    g_test_add_func("/shootout/choice", test_choice);
    g_test_add_func("/shootout/memory", test_memory);
    return g_test_run();
}
