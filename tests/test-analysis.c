#include "core/debug/explain.h"
#include "tests/qwen.h"
#include "tests/stories.h"
#include "tests/util.h"

static struct psc_analysis *analyse(const struct psc_phase *phase, const struct psc_analysis_options *options)
{
    struct psc_analysis *a = NULL;
    struct psc_error err = {0};

    if (psc_analysis_new(phase, options, &a, &err))
        g_error("%s", err.text);
    return a;
}

static void assert_text(struct psc_text *text, const char *expected)
{
    g_assert_false(text->failed);
    g_assert_cmpstr(psc_text_str(text), ==, expected);
    psc_text_clear(text);
}

static void test_origin(void)
{
    struct psc_arena arena = {0};
    struct psc_phase phase = {.kind = "prefill", .graph = qwen_graph(&arena, &qwen_prefill)};
    struct psc_analysis *a = analyse(&phase, NULL);

    g_assert_cmpstr(a->origin, ==, "Planned here: pool, upstream, class, lowest slot");
    g_assert_cmpuint(a->check.finding_n, ==, 0);
    g_assert_nonnull(a->history);
    psc_analysis_free(a);
    struct psc_analysis_options options = {.plan = psc_plan_defaults};
    options.planner = psc_planner_find("naive");
    options.plan.order = PSC_ORDER_TOPOLOGICAL;
    options.plan.faults = PSC_FAULT_BIT(PSC_FAULT_L1) | PSC_FAULT_BIT(PSC_FAULT_H2);
    a = analyse(&phase, &options);
    g_assert_cmpstr(a->origin, ==,
                    "Planned here: naive, upstream, class, lowest slot, lives in topological order, faults l1 h2");
    psc_analysis_free(a);
    psc_arena_release(&arena);
}

static void test_order_mismatch(void)
{
    struct psc_arena arena = {0};
    struct qwen_options wide = qwen_prefill;
    struct psc_analysis_options options = {.plan = psc_plan_defaults};
    struct psc_text text = {0};

    wide.tokens = 440;
    struct psc_phase phase = {.kind = "prefill", .graph = qwen_graph(&arena, &wide)};
    options.plan.order = PSC_ORDER_TOPOLOGICAL;
    options.plan.slots = PSC_SLOTS_FIFO;
    struct psc_analysis *a = analyse(&phase, &options);
    g_assert_cmpuint(a->check.finding_n, ==, 1);
    const struct psc_finding *f = &a->check.findings[0];
    g_assert_cmpint(f->kind, ==, PSC_K2);
    psc_explain_finding(&text, a, f);
    g_test_message("%s", psc_text_str(&text));
    g_assert_nonnull(strstr(psc_text_str(&text), "#425 attn writes 1.50 MiB over #416 add ("));
    g_assert_nonnull(strstr(psc_text_str(&text), "), still needed by #429 get_rows."));
    psc_text_clear(&text);
    psc_explain_finding_more(&text, a, f);
    g_test_message("%s", psc_text_str(&text));
    psc_text_clear(&text);
    psc_explain_position(&text, a, 425);
    g_test_message("%s", psc_text_str(&text));
    psc_text_clear(&text);
    psc_explain_place(&text, a, 425);
    g_test_message("%s", psc_text_str(&text));
    psc_text_clear(&text);
    psc_explain_peak(&text, a);
    g_test_message("%s", psc_text_str(&text));
    psc_text_release(&text);
    psc_analysis_free(a);
    psc_arena_release(&arena);
}

static void test_arena_story(void)
{
    struct psc_arena arena = {0};
    struct test_story s = test_story_arena(&arena, true);
    struct psc_phase phase = {.kind = "", .story = s.story};
    struct psc_analysis *a = analyse(&phase, NULL);
    struct psc_text text = {0};

    g_assert_cmpstr(a->origin, ==, "Events of the file");
    psc_explain_finding(&text, a, &a->check.findings[0]);
    assert_text(&text, "F writes 10 B over D (slot 2), which the host still reads.");
    psc_explain_position(&text, a, 7);
    assert_text(&text, "Step 7: writes slot 1 [0x00040, +300 B]; live 500 B (+300 B), 100 % of peak");
    psc_text_release(&text);
    psc_analysis_free(a);
    psc_arena_release(&arena);
}

static void test_no_graph(void)
{
    struct psc_phase phase = {.kind = "decode"};
    struct psc_analysis *a = analyse(&phase, NULL);

    g_assert_null(a->story);
    g_assert_cmpuint(a->check.finding_n, ==, 0);
    psc_analysis_free(a);
    psc_analysis_free(NULL);
}

static enum psc_status analyse_once(void *data)
{
    struct psc_analysis *a = NULL;
    enum psc_status status = psc_analysis_new(data, NULL, &a, NULL);

    psc_analysis_free(a);
    return status;
}

static void test_oom(void)
{
    struct psc_arena arena = {0};
    struct test_story s = test_story_candela(&arena, false);
    struct psc_phase phase = {.kind = "", .graph = s.graph};

    g_assert_cmpuint(test_oom_loop(analyse_once, &phase), >, 0);
    psc_arena_release(&arena);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/core/analysis/says-where-the-plan-comes-from", test_origin);
    g_test_add_func("/core/analysis/the-order-mismatch-of-the-published-graph", test_order_mismatch);
    g_test_add_func("/core/analysis/a-story-without-graph", test_arena_story);
    g_test_add_func("/core/analysis/a-phase-without-graph-is-no-error", test_no_graph);
    g_test_add_func("/core/analysis/oom", test_oom);
    return g_test_run();
}
