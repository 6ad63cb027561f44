/* candela's rules for graphs of minfer's ops: every plan is clean, and no plan is worse than the naive one. */
#include "core/debug/check.h"
#include "core/plan/planners/planners.h"
#include "tests/qwen.h"
#include "tests/random-graph.h"
#include "tests/util.h"

#include <string.h>

static struct psc_plan *planned_as(struct psc_arena *arena, const struct psc_graph *g, enum psc_generation generation,
                                   uint64_t faults, bool log)
{
    struct psc_plan_options options = psc_plan_defaults;
    options.generation = generation;
    options.candela_faults = faults;
    struct psc_plan *plan;
    struct psc_error error = {0};
    options.log = log;
    if (psc_plan_candela(arena, g, &options, &plan, &error))
        g_error("%s", error.text);
    return plan;
}

static struct psc_plan *planned(struct psc_arena *arena, const struct psc_graph *g, bool log)
{
    return planned_as(arena, g, PSC_GEN_HARDENED, 0, log);
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

/* x -> p0 -> p1 ... -> p5: a chain of ops that work on no operand's bytes. */
static struct psc_graph *chain_of(struct psc_arena *arena, psc_node *p)
{
    struct psc_builder *b = psc_builder_new();
    struct psc_graph *g;
    psc_node at = psc_builder_input(b, "x", PSC_F32, 8, 1);
    for (int i = 0; i < 6; i++)
        p[i] = at = psc_builder_node(b, NULL, PSC_OP_OTHER, &at, 1, PSC_F32, (uint64_t[]){8, 1, 1, 1}, NULL);
    psc_builder_output(b, at);
    g_assert_cmpint(psc_builder_finish(b, arena, &g, NULL), ==, PSC_OK);
    psc_builder_free(b);
    return g;
}

/* Slots of an arena: two that are apart share the base, two that touch do not; what has no end stays outside. */
static void test_arena(void)
{
    struct psc_arena arena = {0};
    psc_node p[6];
    struct psc_graph *g = chain_of(&arena, p);
    struct psc_plan *plan = planned_as(&arena, g, PSC_GEN_ARENA, 0, true);
    g_assert_cmpuint(plan->buffer_n, ==, 3); /* the input, the result, the arena */
    uint32_t a = plan->places[p[0]].buffer;
    g_assert_cmpint(plan->buffers[a].role, ==, PSC_ROLE_ARENA);
    g_assert_cmpuint(plan->buffers[a].bytes, ==, 128 + 32);
    for (int i = 0; i < 5; i++) {
        g_assert_cmpuint(plan->places[p[i]].buffer, ==, a);
        g_assert_cmpuint(plan->places[p[i]].offset, ==, i % 2 ? 128 : 0);
        g_assert_cmpint(plan->places[p[i]].reason, ==, PSC_WHY_PACKED);
    }
    g_assert_cmpuint(plan->places[p[5]].buffer, !=, a);
    g_assert_cmpuint(findings(&arena, g, plan), ==, 0);
    plan = planned_as(&arena, g, PSC_GEN_ARENA, PSC_CANDELA_BIT(PSC_CANDELA_B21), false);
    g_assert_cmpuint(plan->places[p[1]].offset, ==, 32);
    plan = planned_as(&arena, g, PSC_GEN_ARENA, PSC_CANDELA_BIT(PSC_CANDELA_B20), false);
    g_assert_cmpuint(plan->places[p[1]].offset, ==, 0);
    g_assert_cmpuint(findings(&arena, g, plan), >, 0);
    psc_arena_release(&arena);
}

/* t + view(t) of half its bytes: told by node, it would run over t. */
static void test_by_node(void)
{
    struct psc_arena arena = {0};
    struct psc_builder *b = psc_builder_new();
    struct psc_graph *g;
    psc_node x = psc_builder_input(b, "x", PSC_F32, 4, 1), t = psc_builder_unary(b, "t", PSC_OP_SILU, x);
    psc_node v = psc_builder_view(b, "v", t, 0, 4, 1);
    psc_node r = psc_builder_binary(b, "r", PSC_OP_ADD, t, v);
    psc_builder_output(b, r);
    g_assert_cmpint(psc_builder_finish(b, &arena, &g, NULL), ==, PSC_OK);
    g_assert_cmpint(planned(&arena, g, false)->places[r].reason, !=, PSC_WHY_IN_PLACE);
    g_assert_cmpint(planned_as(&arena, g, PSC_GEN_02, 0, false)->places[r].reason, ==, PSC_WHY_IN_PLACE);
    g_assert_cmpint(planned_as(&arena, g, PSC_GEN_HARDENED, PSC_CANDELA_BIT(PSC_CANDELA_B7), false)->places[r].reason, ==,
                    PSC_WHY_IN_PLACE);
    psc_builder_free(b);
    psc_arena_release(&arena);
}

/* Generations without a known hole are clean on every graph, and each fault shows: as findings, or in what is needed. */
static void test_generations(void)
{
    static const struct {
        enum psc_candela_fault fault;
        enum psc_generation generation;
        bool wrong; /* it is found; else it needs more */
    } rows[] = {
        {PSC_CANDELA_B6, PSC_GEN_HARDENED, false},  {PSC_CANDELA_B11, PSC_GEN_HARDENED, true},
        {PSC_CANDELA_B12, PSC_GEN_HARDENED, true},  {PSC_CANDELA_B15, PSC_GEN_HARDENED, true},
        {PSC_CANDELA_B16, PSC_GEN_HARDENED, true},  {PSC_CANDELA_B18, PSC_GEN_HARDENED, true},
        {PSC_CANDELA_B19, PSC_GEN_HARDENED, false}, {PSC_CANDELA_B20, PSC_GEN_ARENA, true},
        {PSC_CANDELA_B15, PSC_GEN_ARENA, true},     {PSC_CANDELA_B11, PSC_GEN_ARENA, true},
    };
    unsigned found[G_N_ELEMENTS(rows)] = {0}, more[G_N_ELEMENTS(rows)] = {0}, packed = 0;
    g_test_message("seed %" G_GUINT64_FORMAT, test_seed());
    for (uint64_t i = 0; i < 300; i++) {
        static const enum psc_generation clean[] = {PSC_GEN_HARDENED, PSC_GEN_01, PSC_GEN_ARENA};
        struct psc_arena arena = {0};
        struct psc_graph *g = random_graph(&arena, test_seed() * 1000003 + i, i % 3 ? &random_graph_all : &random_graph_plain);
        uint64_t bytes = 0;
        for (size_t k = 0; k < G_N_ELEMENTS(clean); k++) {
            struct psc_plan *plan = planned_as(&arena, g, clean[k], 0, i % 2);
            if (findings(&arena, g, plan))
                g_error("graph %" G_GUINT64_FORMAT ", generation %s: findings", i, psc_generation_name(clean[k]));
            g_assert_cmpuint(plan->figures.pool_bytes, >=, plan->figures.lower_bound_bytes);
            if (clean[k] == PSC_GEN_01)
                g_assert_cmpuint(plan->figures.in_place, ==, 0);
            for (psc_node n = 0; clean[k] == PSC_GEN_ARENA && n < g->n; n++)
                packed += plan->places[n].reason == PSC_WHY_PACKED;
            bytes = k ? bytes : plan->figures.pool_bytes;
        }
        for (size_t k = 0; k < G_N_ELEMENTS(rows); k++) {
            struct psc_plan *plan = planned_as(&arena, g, rows[k].generation, PSC_CANDELA_BIT(rows[k].fault), false);
            found[k] += findings(&arena, g, plan) > 0;
            more[k] += plan->figures.pool_bytes > bytes;
        }
        psc_arena_release(&arena);
    }
    g_assert_cmpuint(packed, >, 500);
    for (size_t k = 0; k < G_N_ELEMENTS(rows); k++) {
        if (rows[k].wrong ? !found[k] : !more[k] || found[k])
            g_error("%s, %s: found %u times, more bytes %u times", psc_candela_fault_name(rows[k].fault),
                    psc_generation_name(rows[k].generation), found[k], more[k]);
    }
}

static enum psc_generation oom_generation;

static enum psc_status plan_it(void *data)
{
    struct psc_arena arena = {0};
    struct psc_plan_options options = psc_plan_defaults;
    struct psc_plan *plan;
    options.log = true;
    options.generation = oom_generation;
    enum psc_status status = psc_plan_candela(&arena, data, &options, &plan, NULL);
    psc_arena_release(&arena);
    return status;
}

static void test_oom(void)
{
    struct psc_arena arena = {0};
    struct psc_graph *g = random_graph(&arena, 5, &random_graph_all);
    for (int k = 0; k < 2; k++) {
        oom_generation = k ? PSC_GEN_ARENA : PSC_GEN_HARDENED;
        g_assert_cmpuint(test_oom_loop(plan_it, g), >, 10);
    }
    psc_arena_release(&arena);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/candela-plan/the-operand-that-dies-is-overwritten", test_chain);
    g_test_add_func("/candela-plan/a-slot-that-is-read-is-not-past", test_use_slot);
    g_test_add_func("/candela-plan/random-graphs-are-clean", test_random);
    g_test_add_func("/candela-plan/language-models-are-clean", test_qwen);
    g_test_add_func("/candela-plan/slots-become-bytes-of-an-arena", test_arena);
    g_test_add_func("/candela-plan/0.2-tells-operands-by-their-nodes", test_by_node);
    g_test_add_func("/candela-plan/generations-and-faults-on-random-graphs", test_generations);
    g_test_add_func("/candela-plan/oom", test_oom);
    return g_test_run();
}
