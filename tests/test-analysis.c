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

/* A recorded run beside its plan: either story is shown, the comparison is the same. */
static void test_as_planned(void)
{
    struct psc_arena arena = {0};
    struct psc_phase phase = {.kind = "prefill", .graph = qwen_graph(&arena, &qwen_prefill)};
    struct psc_analysis_options options = {.plan = psc_plan_defaults};
    struct psc_analysis *made = analyse(&phase, &options);
    struct psc_story record = *made->story;
    record.predicted = false;
    phase.plan = made->plan;
    g_assert_false(psc_analysis_has_both(&phase));
    options.as_planned = true; /* nothing to choose from yet: the plan is all there is */
    struct psc_analysis *a = analyse(&phase, &options);
    g_assert_cmpstr(a->origin, ==, "Plan of the file");
    g_assert_null(a->comparison);
    psc_analysis_free(a);
    phase.story = &record;
    g_assert_true(psc_analysis_has_both(&phase));
    for (int planned = 0; planned < 2; planned++) {
        options.as_planned = planned;
        a = analyse(&phase, &options);
        g_assert_cmpstr(a->origin, ==, planned ? "Plan of the file, as it was to run" : "Events of the file");
        g_assert_true(a->story == (planned ? a->predicted : a->recorded));
        g_assert_true(a->recorded == &record);
        g_assert_true(a->predicted->predicted);
        g_assert_cmpuint(a->comparison->diff_n, ==, 0);
        g_assert_cmpuint(a->comparison->pair_n, >, 1000);
        psc_analysis_free(a);
    }
    options.replan = true; /* a plan made here wins over both */
    a = analyse(&phase, &options);
    g_assert_true(g_str_has_prefix(a->origin, "Planned here"));
    g_assert_null(a->comparison);
    psc_analysis_free(a);
    psc_analysis_free(made);
    psc_arena_release(&arena);
}

/* A plan that was read from a file has no order of its own: a record of it says in which order its lives were counted, and the plan
 * is blamed for the same as what ran of it. */
static void test_as_planned_in_another_order(void)
{
    struct psc_arena arena = {0};
    struct psc_phase phase = {.kind = "prefill", .graph = qwen_graph(&arena, &qwen_prefill)};
    struct psc_analysis_options options = {.plan = psc_plan_defaults};
    options.plan.order = PSC_ORDER_TOPOLOGICAL;
    options.plan.slots = PSC_SLOTS_FIFO;
    struct psc_analysis *made = analyse(&phase, &options);
    struct psc_story record = *made->story;
    struct psc_plan plan = *made->plan;
    record.predicted = false;
    g_assert_nonnull(record.believed_order);
    plan.order = NULL;
    phase.plan = &plan;
    phase.story = &record;
    for (int planned = 0; planned < 2; planned++) {
        options.as_planned = planned;
        struct psc_analysis *a = analyse(&phase, &options);
        g_assert_true((a->story == &record) == !planned);
        g_assert_cmpuint(a->check.finding_n, ==, 1);
        g_assert_cmpint(a->check.findings[0].kind, ==, PSC_K2);
        psc_analysis_free(a);
    }
    psc_analysis_free(made);
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
    g_assert_nonnull(strstr(psc_text_str(&text), " Bytes [0, 1576960) of b"));
    psc_text_clear(&text);
    psc_explain_position(&text, a, 425);
    g_test_message("%s", psc_text_str(&text));
    g_assert_nonnull(strstr(psc_text_str(&text), "), still needed by #429 get_rows; frees #421 rope q"));
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

/* What the history counts from events alone is what the planner counted while it walked. */
static void test_figures(void)
{
    static const struct {
        const struct qwen_options *graph;
        uint64_t tokens, peak_live;
    } rows[] = {{&qwen_unfused, 1, 628736}, {&qwen_prefill, 440, 27300864}, {&qwen_decode, 1, 0}};

    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct psc_arena arena = {0};
        struct qwen_options wide = *rows[i].graph;
        wide.tokens = rows[i].tokens;
        struct psc_phase phase = {.kind = wide.kind, .graph = qwen_graph(&arena, &wide)};
        struct psc_analysis *a = analyse(&phase, NULL);
        g_assert_cmpuint(a->history->used_peak_bytes, ==, a->plan->figures.peak_live_bytes);
        g_assert_cmpuint(a->history->peak_bytes, ==, a->plan->figures.lower_bound_bytes);
        if (rows[i].peak_live)
            g_assert_cmpuint(a->history->used_peak_bytes, ==, rows[i].peak_live);
        psc_analysis_free(a);
        psc_arena_release(&arena);
    }
}

/* Of an arena the bytes of its tenants are in use, not the arena: what is said of an op and what the curve shows. */
static void test_figures_of_an_arena(void)
{
    struct psc_arena arena = {0};
    struct qwen_options wide = qwen_prefill;
    wide.tokens = 440;
    struct psc_phase phase = {.kind = wide.kind, .graph = qwen_graph(&arena, &wide)};
    struct psc_analysis_options options = {.plan = psc_plan_defaults, .replan = true, .planner = psc_planner_find("best-fit")};
    struct psc_analysis *a = analyse(&phase, &options);
    g_assert_cmpuint(a->history->used_peak_bytes, ==, a->plan->figures.peak_live_bytes);
    for (int32_t p = -1; p <= (int32_t)a->story->position_n; p++)
        g_assert_cmpuint(a->history->used_bytes[p + 1], ==, a->history->live_bytes[p + 1]);
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

/* x; t = x * x; s = silu t, in place; dead = scale x; m = s * x; v = view m; r = scale v; o = norm r */
static struct psc_graph *small(struct psc_arena *arena)
{
    struct psc_builder *b = psc_builder_new();
    struct psc_graph *g = NULL;
    struct psc_error err = {0};

    psc_builder_set_backend(b, "metal");
    psc_node x = psc_builder_input(b, "x", PSC_F32, 4, 1), t = psc_builder_binary(b, "t", PSC_OP_MUL, x, x);
    psc_node s = psc_builder_unary(b, "s", PSC_OP_SILU, t);
    psc_builder_unary(b, "dead", PSC_OP_SCALE, x);
    psc_node m = psc_builder_binary(b, "m", PSC_OP_MUL, s, x), v = psc_builder_view(b, "v", m, 2, 2, 1);
    psc_builder_set_layer(b, 3);
    psc_node r = psc_builder_unary(b, "r", PSC_OP_SCALE, v);
    psc_builder_output(b, psc_builder_unary(b, "o", PSC_OP_RMS_NORM, r));
    if (psc_builder_finish(b, arena, &g, &err))
        g_error("%s", err.text);
    psc_builder_free(b);
    return g;
}

static void test_places(void)
{
    static const char *const expected[] = {
        "An input: placed before the walk, filled by the host, kept for the whole run.",
        "New buffer b1: no idle buffer of the 1.00 KiB class.",
        "In place over #1 t, whose only reader it is: same bytes, next version.",
        "No buffer: nothing reads it and it is not an output.",
        "New buffer b2: no idle buffer of the 1.00 KiB class.",
        "A view of #4 m from byte 8: moves nothing, owns nothing.",
        "Reused. b1 held #2 s, last needed by #4 m. Lowest free slot of the 1.00 KiB class.",
        "Reused. b2 held #4 m, last needed by #6 r. Lowest free slot of the 1.00 KiB class.",
    };
    struct psc_arena arena = {0};
    struct psc_phase phase = {.kind = "decode", .graph = small(&arena)};
    struct psc_analysis *a = analyse(&phase, NULL);
    struct psc_text text = {0};

    for (psc_node i = 0; i < G_N_ELEMENTS(expected); i++) {
        psc_explain_place(&text, a, i);
        assert_text(&text, expected[i]);
    }
    psc_explain_peak(&text, a);
    assert_text(&text, "Peak 48 B at #2: #0 x 16 B (33 %), #1 t 16 B (33 %), #2 s 16 B (33 %).");
    psc_text_release(&text);
    psc_analysis_free(a);
    psc_arena_release(&arena);
}

static void test_refusals(void)
{
    static const struct {
        psc_node node;
        struct psc_refused r;
        const char *expected;
    } rows[] = {
        {7, {PSC_NOT_IN_PLACE_OP, 0, 0, 0}, "Not in place over #6 r: this engine never runs rms_norm in place."},
        {2, {PSC_NOT_OTHER_BACKEND, 0, 0, 0}, "Not in place over #1 t: it lies on Metal, the op runs on Metal."},
        {4, {PSC_NOT_SOLE_READER, 1, 4, 3}, "Not in place over #0 x: it has 4 readers; #3 dead reads it too."},
        {6, {PSC_NOT_ROOT_READ_LATER, 0, 4, 7},
         "Not in place over #5 v: its bytes belong to #4 m, which #7 o reads too."},
        {7, {PSC_NOT_OUTPUT, 0, 6, 0}, "Not in place over #6 r: #6 r is an output that the host reads at the end."},
        {1, {PSC_NOT_INPUT, 0, 0, 0}, "Not in place over #0 x: #0 x is an input, and inputs are never written."},
        {4, {PSC_NOT_A_VIEW, 0, 2, 0}, "Not in place over #2 s: this engine lets mul overwrite only a view."},
        {6, {PSC_NOT_SAME_BYTES, 0, 16, 8}, "Not in place over #5 v: it has 16 B, the result 8 B."},
        {4, {PSC_NOT_IDLE, 0, 1024, 1}, "No reuse: no idle buffer of the 1.00 KiB class; 1 is in use."},
    };
    struct psc_arena arena = {0};
    struct psc_phase phase = {.kind = "decode", .graph = small(&arena)};
    struct psc_analysis *a = analyse(&phase, NULL);
    struct psc_text text = {0};

    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        psc_explain_refused(&text, a, rows[i].node, &rows[i].r);
        assert_text(&text, rows[i].expected);
    }
    psc_text_release(&text);
    psc_analysis_free(a);
    psc_arena_release(&arena);
}

static void test_positions(void)
{
    static const struct {
        int32_t position;
        const char *expected;
    } rows[] = {
        {-1, "Before the first op: the host fills the inputs; live 1.00 KiB (+1.00 KiB), 33 % of peak"},
        {0, "#0 input \342\206\222 x: an input, filled before the first op; live 1.00 KiB, 33 % of peak"},
        {1, "#1 mul \342\206\222 t: writes b1 [0x00400, +16 B]; live 2.00 KiB (+1.00 KiB), 67 % of peak"},
        {2, "#2 silu \342\206\222 s: writes b1 [0x00400, +16 B]; live 2.00 KiB, 67 % of peak"},
        {3, "#3 scale \342\206\222 dead: no buffer, skipped; live 2.00 KiB, 67 % of peak"},
        {4, "#4 mul \342\206\222 m: writes b2 [0x00800, +16 B]; frees #2 s (b1); live 3.00 KiB (+1.00 KiB), "
            "100 % of peak"},
        {5, "#5 view \342\206\222 v: a view, moves nothing; live 2.00 KiB (-1.00 KiB), 67 % of peak"},
        {6, "#6 scale \342\206\222 r, layer 3: writes b1 [0x00400, +8 B]; frees #4 m (b2); live 3.00 KiB "
            "(+1.00 KiB), 100 % of peak"},
        {8, "After the last op: the host reads the outputs; live 2.00 KiB (-1.00 KiB), 67 % of peak"},
    };
    struct psc_arena arena = {0};
    struct psc_phase phase = {.kind = "decode", .graph = small(&arena)};
    struct psc_analysis *a = analyse(&phase, NULL);
    struct psc_text text = {0};

    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        psc_explain_position(&text, a, rows[i].position);
        assert_text(&text, rows[i].expected);
    }
    psc_explain_position(&text, a, 9);
    assert_text(&text, "");
    psc_text_release(&text);
    psc_analysis_free(a);
    psc_arena_release(&arena);
}

/* Of several findings whose damage one op does, the line names the first and counts the rest. */
static void test_damage_is_counted(void)
{
    struct psc_arena arena = {0};
    struct psc_phase phase = {.kind = "prefill", .graph = qwen_graph(&arena, &qwen_prefill)};
    struct psc_text text = {0};
    unsigned looked = 0;

    for (int f = 0; f < PSC_FAULT_N; f++) {
        struct psc_analysis_options options = {.plan = psc_plan_defaults, .replan = true};
        options.plan.faults = PSC_FAULT_BIT(f);
        struct psc_analysis *a = analyse(&phase, &options);
        for (uint32_t i = 0, n; i < a->check.finding_n; i += n) {
            const struct psc_finding *of = &a->check.findings[i];
            for (n = 1; i + n < a->check.finding_n && of[n].position == of->position;)
                n++;
            psc_explain_position(&text, a, of->position);
            char *more = g_strdup_printf(", and %u more; ", n - 1);
            g_assert_cmpint(n > 1, ==, strstr(psc_text_str(&text), more) != NULL);
            looked += n > 1;
            g_free(more);
            psc_text_clear(&text);
        }
        psc_analysis_free(a);
    }
    g_assert_cmpuint(looked, >, 0);
    psc_text_release(&text);
    psc_arena_release(&arena);
}

static void test_records(void)
{
    struct psc_arena arena = {0};
    struct psc_phase phase = {.kind = "decode", .graph = small(&arena), .capture = PSC_CAPTURE_SPLIT};
    struct psc_analysis *a = analyse(&phase, NULL);
    struct psc_text text = {0};
    struct psc_record_verdict v = {.node = 1, .verdict = PSC_RECORD_OVERWRITTEN, .holds = 6, .evidence = PSC_BY_REPLAY};

    psc_explain_record(&text, a, &v);
    assert_text(&text, "Not its own value. Holds #6 r, layer 3: Metal copies records at the end of the split, after 2 more "
                       "writes to b1.");
    v.holds = PSC_NONE;
    v.evidence = PSC_BY_GROUP | PSC_BY_ARITHMETIC;
    v.certain = true;
    g_assert_cmpstr(psc_verdict_confidence(&v), ==, "confirmed");
    psc_explain_record(&text, a, &v);
    assert_text(&text, "Not its own value. Holds another op's, not known which: Metal copies records at the end of the "
                       "split, after 2 more writes to b1. Confirmed by values. Its samples fit those of the ops beside "
                       "it: they belong together.");
    v.verdict = PSC_RECORD_OWN;
    v.evidence = PSC_BY_INPUT;
    v.node = 0;
    psc_explain_record(&text, a, &v);
    assert_text(&text, "#0 x: its own value, filled by the host and kept for the whole run.");
    psc_text_release(&text);
    psc_analysis_free(a);
    psc_arena_release(&arena);
}

static void test_walk(void)
{
    struct psc_arena arena = {0};
    struct psc_phase phase = {.kind = "decode", .graph = small(&arena)};
    struct psc_analysis_options options = {.plan = psc_plan_defaults};
    options.plan.log = true;
    struct psc_analysis *a = analyse(&phase, &options);
    struct psc_text text = {0};

    g_assert_cmpuint(a->plan->walk_n, >, 8);
    for (uint32_t i = 0; i < a->plan->walk_n; i++) {
        psc_explain_walk(&text, phase.graph, a->plan, &a->plan->walk[i]);
        psc_text_add(&text, "\n");
    }
    g_test_message("%s", psc_text_str(&text));
    g_assert_nonnull(strstr(psc_text_str(&text), "    1  new     b1 for #1 t (1.00 KiB)\n"));
    g_assert_nonnull(strstr(psc_text_str(&text), "    2  alias   #2 s in place over #1 t in b1\n"));
    g_assert_nonnull(strstr(psc_text_str(&text), "    6  reuse   b1 for #6 r (idle since 5)\n"));
    g_assert_nonnull(strstr(psc_text_str(&text), "    3  dead    #3 dead has no reader: no buffer\n"));
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
    g_test_add_func("/core/analysis/recorded-or-as-planned", test_as_planned);
    g_test_add_func("/core/analysis/a-plan-and-its-record-are-blamed-for-the-same", test_as_planned_in_another_order);
    g_test_add_func("/core/analysis/the-order-mismatch-of-the-published-graph", test_order_mismatch);
    g_test_add_func("/core/analysis/history-and-planner-count-the-same-bytes", test_figures);
    g_test_add_func("/core/analysis/of-an-arena-the-bytes-of-its-tenants-are-in-use", test_figures_of_an_arena);
    g_test_add_func("/core/analysis/a-story-without-graph", test_arena_story);
    g_test_add_func("/core/analysis/a-phase-without-graph-is-no-error", test_no_graph);
    g_test_add_func("/core/explain/why-a-node-lies-where-it-lies", test_places);
    g_test_add_func("/core/explain/what-was-refused", test_refusals);
    g_test_add_func("/core/explain/what-a-position-does", test_positions);
    g_test_add_func("/core/explain/the-damage-of-an-op-is-counted", test_damage_is_counted);
    g_test_add_func("/core/explain/whose-value-a-record-is", test_records);
    g_test_add_func("/core/explain/the-walk", test_walk);
    g_test_add_func("/core/analysis/oom", test_oom);
    return g_test_run();
}
