/* Two plans beside each other: who is paired with whom, what is called a change, and that the parts of the peak sum up. */
#include "core/base/hash.h"
#include "core/debug/analysis.h"
#include "core/debug/diff-align.h"
#include "core/debug/diff-plans.h"
#include "core/plan/choice.h"
#include "tests/planned.h"
#include "tests/qwen.h"
#include "tests/random-graph.h"
#include "tests/text-graph.h"
#include "tests/util.h"

#include <string.h>

struct both {
    struct psc_arena arena;
    struct psc_phase phase[2];
    struct psc_analysis *analysis[2];
    struct psc_plan_diff *diff;
};

static struct psc_diff_side side_of(const struct psc_analysis *a)
{
    return (struct psc_diff_side){a->phase->graph, a->story, a->history};
}

static void diff_graphs(struct both *b, struct psc_graph *first, const char *from, struct psc_graph *second, const char *to)
{
    struct psc_graph *graphs[2] = {first, second};
    const char *words[2] = {from, to};
    struct psc_error err = {0};
    for (int i = 0; i < 2; i++) {
        struct psc_planner_choice choice = {.plan = psc_plan_defaults};
        g_assert_cmpint(psc_planner_choice_parse(&choice, words[i], &err), ==, PSC_OK);
        struct psc_analysis_options options = {.planner = choice.planner, .plan = choice.plan, .replan = true};
        b->phase[i] = (struct psc_phase){.kind = "", .graph = graphs[i]};
        g_assert_cmpint(psc_analysis_new(&b->phase[i], &options, &b->analysis[i], &err), ==, PSC_OK);
    }
    struct psc_diff_side a = side_of(b->analysis[0]), c = side_of(b->analysis[1]);
    g_assert_cmpint(psc_diff_plans(&b->arena, &a, &c, &b->diff, &err), ==, PSC_OK);
}

static void diff_texts(struct both *b, const char *first, const char *from, const char *second, const char *to)
{
    struct psc_graph *one = text_graph(&b->arena, first);
    diff_graphs(b, one, from, second ? text_graph(&b->arena, second) : one, to);
}

static void release(struct both *b)
{
    psc_analysis_free(b->analysis[0]);
    psc_analysis_free(b->analysis[1]);
    psc_arena_release(&b->arena);
    memset(b, 0, sizeof *b);
}

static int64_t sum_of(const struct psc_plan_diff *d)
{
    int64_t sum = d->elsewhere;
    for (uint32_t k = 0; k < d->part_n; k++) {
        g_assert_cmpint(d->parts[k].bytes, !=, 0);
        sum += d->parts[k].bytes;
    }
    return sum;
}

static void assert_sum(const struct psc_plan_diff *d)
{
    g_assert_cmpint(sum_of(d), ==, (int64_t)d->b_total.peak - (int64_t)d->a_total.peak);
}

static uint32_t value_named(const struct psc_diff_side *side, const char *name)
{
    return psc_history_value_of_node(side->history, text_graph_node(side->graph, name));
}

static unsigned what_of(const struct both *b, const char *name)
{
    uint32_t change = b->diff->change_of_a[value_named(&b->diff->a, name)];
    return change == PSC_NONE ? 0 : b->diff->changes[change].what;
}

/* ---- pairing ---------------------------------------------------------------------------------------------------- */

/* Keys are letters: strong the letter, weak its lower case. Returns "0-0 1-1 2-x x-2". */
static char *align(const char *a, const char *b)
{
    struct psc_align_key left[16], right[16];
    uint32_t b_of[16], a_of[16], n = (uint32_t)strlen(a), k = (uint32_t)strlen(b);
    GString *text = g_string_new(NULL);
    for (uint32_t i = 0; i < n; i++)
        left[i] = (struct psc_align_key){(uint64_t)a[i], (uint64_t)g_ascii_tolower(a[i])};
    for (uint32_t i = 0; i < k; i++)
        right[i] = (struct psc_align_key){(uint64_t)b[i], (uint64_t)g_ascii_tolower(b[i])};
    g_assert_true(psc_align(left, n, right, k, b_of, a_of));
    for (uint32_t i = 0; i < n; i++) {
        if (b_of[i] == UINT32_MAX) {
            g_string_append_printf(text, "%u-x ", i);
            continue;
        }
        g_assert_cmpuint(a_of[b_of[i]], ==, i);
        g_string_append_printf(text, "%u-%u ", i, b_of[i]);
    }
    for (uint32_t i = 0; i < k; i++)
        if (a_of[i] == UINT32_MAX)
            g_string_append_printf(text, "x-%u ", i);
    return g_string_free(text, FALSE);
}

static void assert_align(const char *a, const char *b, const char *expected)
{
    char *got = align(a, b);
    g_assert_cmpstr(got, ==, expected);
    g_free(got);
}

static void test_align(void)
{
    assert_align("", "", "");
    assert_align("", "ab", "x-0 x-1 ");
    assert_align("ab", "", "0-x 1-x ");
    assert_align("abc", "abc", "0-0 1-1 2-2 ");
    assert_align("xssy", "xsssy", "0-0 1-1 2-2 3-4 x-3 ");
    assert_align("xss", "ssxss", "0-2 1-3 2-4 x-0 x-1 "); /* neighbours of what is alone of its kind */
    assert_align("ssy", "sssy", "0-1 1-2 2-3 x-0 ");
    assert_align("abc", "aBc", "0-0 1-1 2-2 ");            /* grew: paired by the weaker key */
    assert_align("abc", "cba", "0-2 1-1 2-0 ");            /* order does not matter */
    assert_align("aa", "a", "0-0 1-x ");
    assert_align("aAq", "AAAq", "0-1 1-2 2-3 x-0 ");
}

static void test_same(void)
{
    struct both b = {0};
    struct random_graph_options options = random_graph_all;
    guint64 seed = test_seed();
    for (unsigned i = 0; i < 60; i++) {
        struct psc_graph *g = random_graph(&b.arena, seed + i, &options);
        diff_graphs(&b, g, "pool+hardened", g, "pool+hardened");
        g_test_message("seed %" G_GUINT64_FORMAT, seed + i);
        g_assert_cmpuint(b.diff->change_n, ==, 0);
        g_assert_cmpuint(b.diff->part_n, ==, 0);
        g_assert_cmpint(b.diff->elsewhere, ==, 0);
        g_assert_cmpuint(b.diff->pair_n, ==, b.analysis[0]->story->value_n);
        for (uint32_t v = 0; v < b.diff->pair_n; v++)
            g_assert_cmpuint(b.diff->b_of[v], ==, v);
        for (uint32_t p = 0; p < b.analysis[0]->story->position_n + 2; p++)
            g_assert_cmpint(b.diff->b_at[p], ==, (int32_t)p - 1);
        release(&b);
    }
}

/* ---- what is called a change ------------------------------------------------------------------------------------- */

static const char feed_forward[] = "x: input 8\n"
                                   "gate: matmul 64 x\n"
                                   "up: matmul 64 x\n"
                                   "mul: swiglu 64 gate up\n"
                                   "down: matmul 8 mul\n"
                                   "out down\n";

static void test_in_place(void)
{
    struct both b = {0};
    struct psc_text text = {0};
    diff_texts(&b, feed_forward, "optimal+apart", NULL, "optimal");
    const struct psc_plan_diff *d = b.diff;
    assert_sum(d);
    g_assert_cmpuint(d->a_total.peak, ==, 32 + 3 * 256);
    g_assert_cmpuint(d->b_total.peak, ==, 32 + 2 * 256);
    g_assert_cmpuint(what_of(&b, "mul") & 1u << PSC_CHANGE_ALIAS, !=, 0);
    g_assert_cmpuint(what_of(&b, "x"), ==, 0);
    g_assert_cmpuint(d->part_n, ==, 1);
    g_assert_cmpint(d->parts[0].bytes, ==, -256);
    g_assert_cmpint(d->parts[0].why, ==, PSC_PART_TAKEN);
    g_assert_cmpuint(d->parts[0].a, ==, value_named(&d->a, "gate"));
    g_assert_cmpuint(d->parts[0].by, ==, value_named(&d->b, "mul"));
    psc_explain_part(&text, d, &d->parts[0]);
    g_assert_cmpstr(psc_text_str(&text), ==, "-256 bytes  #1 gate: taken over in place by #3 swiglu");
    psc_text_clear(&text);
    psc_explain_peak_change(&text, d);
    g_assert_nonnull(strstr(psc_text_str(&text), "The peak falls by 256 bytes, from 800 bytes held at #3 swiglu to 544 bytes at"));
    psc_text_release(&text);
    release(&b);
    diff_texts(&b, feed_forward, "optimal", NULL, "optimal+apart");
    assert_sum(b.diff);
    g_assert_cmpint(b.diff->parts[0].why, ==, PSC_PART_APART);
    g_assert_cmpint(b.diff->parts[0].bytes, ==, 256);
    g_assert_cmpuint(b.diff->parts[0].by, ==, value_named(&b.diff->a, "mul"));
    release(&b);
}

static void test_new_and_gone(void)
{
    static const char with[] = "x: input 4\nt: silu 4 x\nt: silu 4 t\nu: silu 4 t\no: matmul 4 u\nout o\n";
    static const char without[] = "x: input 4\nt: silu 4 x\nu: silu 4 t\no: matmul 4 u\nout o\n";
    struct both b = {0};
    struct psc_text text = {0};
    diff_texts(&b, without, "pool", with, "pool");
    g_assert_cmpuint(b.diff->count[PSC_CHANGE_NEW], ==, 1);
    g_assert_cmpuint(b.diff->count[PSC_CHANGE_GONE], ==, 0);
    g_assert_cmpuint(b.diff->pair_n, ==, 4);
    const struct psc_plan_change *last = &b.diff->changes[b.diff->change_n - 1];
    psc_explain_change(&text, b.diff, last);
    g_assert_cmpuint(last->a, ==, PSC_NONE);
    g_assert_nonnull(strstr(psc_text_str(&text), ": new, it has b"));
    assert_sum(b.diff);
    release(&b);
    diff_texts(&b, with, "pool", without, "pool");
    g_assert_cmpuint(b.diff->count[PSC_CHANGE_GONE], ==, 1);
    g_assert_cmpuint(b.diff->count[PSC_CHANGE_NEW], ==, 0);
    assert_sum(b.diff);
    psc_text_release(&text);
    release(&b);
}

static void test_grew(void)
{
    static const char small[] = "x: input 4\nt: matmul 4 x\no: matmul 4 t\nout o\n";
    static const char large[] = "x: input 4\nt: matmul 32 x\no: matmul 4 t\nout o\n";
    struct both b = {0};
    struct psc_text text = {0};
    diff_texts(&b, small, "naive+exact", large, "naive+exact");
    g_assert_cmpuint(what_of(&b, "t"), ==, 1u << PSC_CHANGE_GREW);
    g_assert_cmpuint(b.diff->change_n, ==, 1);
    g_assert_cmpint(b.diff->changes[0].peak_bytes, ==, 112);
    psc_explain_change(&text, b.diff, &b.diff->changes[0]);
    g_assert_cmpstr(psc_text_str(&text), ==, "#1 t: grew from 16 B to 128 B.");
    g_assert_cmpint(b.diff->parts[0].why, ==, PSC_PART_SIZE);
    assert_sum(b.diff);
    release(&b);
    diff_texts(&b, large, "naive+exact", small, "naive+exact");
    g_assert_cmpuint(what_of(&b, "t"), ==, 1u << PSC_CHANGE_SHRANK);
    psc_text_release(&text);
    release(&b);
}

static void test_life(void)
{
    static const char early[] = "x: input 4\nt: silu 4 x\na: matmul 4 t\nb: matmul 4 a\no: add 4 b x\nout o\n";
    static const char late[] = "x: input 4\nt: silu 4 x\na: matmul 4 t\nb: matmul 4 a\no: add 4 b t\nout o\n";
    struct both b = {0};
    struct psc_text text = {0};
    diff_texts(&b, early, "optimal+apart", late, "optimal+apart");
    g_assert_cmpuint(what_of(&b, "t") & 1u << PSC_CHANGE_LIFE, !=, 0);
    psc_explain_change(&text, b.diff, &b.diff->changes[b.diff->change_of_a[value_named(&b.diff->a, "t")]]);
    g_assert_nonnull(strstr(psc_text_str(&text), "last needed by #4 o, was #2 a."));
    bool longer = false;
    for (uint32_t k = 0; k < b.diff->part_n; k++)
        longer |= b.diff->parts[k].why == PSC_PART_LONGER;
    g_assert_true(longer);
    assert_sum(b.diff);
    psc_text_release(&text);
    release(&b);
}

/* Inputs are paired by who they are, as all nodes are, and a copy on its way lies nowhere else because its source has another id. */
static void test_inputs(void)
{
    static const char one[] = "x: input 4\ny: input 32\nt: silu 4 x @metal\nu: silu 32 y @metal\nout t u\n";
    static const char two[] = "y: input 32\nx: input 4\nt: silu 4 x @metal\nu: silu 32 y @metal\nout t u\n";
    static const char more[] = "z: input 4\nx: input 4\ny: input 64\nt: silu 4 x @metal\nu: silu 32 y @metal\nout t u\n";
    struct both b = {0};
    struct psc_text text = {0};
    unsigned copies = 0;
    diff_texts(&b, one, "naive", two, "naive");
    const struct psc_plan_diff *d = b.diff;
    g_assert_cmpuint(d->pair_n, ==, 6);
    g_assert_cmpuint(d->change_n, ==, 2); /* buffers of inputs have numbers in their order */
    g_assert_cmpuint(what_of(&b, "x"), ==, 1u << PSC_CHANGE_MOVED);
    g_assert_cmpuint(what_of(&b, "y"), ==, 1u << PSC_CHANGE_MOVED);
    g_assert_cmpuint(d->b_of[value_named(&d->a, "x")], ==, value_named(&d->b, "x"));
    for (uint32_t v = 0; v < d->a.story->value_n; v++) {
        if (d->a.story->values[v].kind != PSC_VALUE_STAGING)
            continue;
        g_assert_cmpuint(d->b_of[d->a.story->values[v].of], ==, d->b.story->values[d->b_of[v]].of);
        copies++;
    }
    g_assert_cmpuint(copies, ==, 2);
    g_assert_cmpuint(d->part_n, ==, 0);
    assert_sum(d);
    release(&b);

    diff_texts(&b, one, "naive", more, "naive");
    d = b.diff;
    g_assert_cmpuint(d->count[PSC_CHANGE_NEW], ==, 1);
    g_assert_cmpuint(d->count[PSC_CHANGE_GONE], ==, 0);
    g_assert_cmpuint(what_of(&b, "x") & 1u << PSC_CHANGE_GREW, ==, 0);
    g_assert_cmpuint(what_of(&b, "y") & 1u << PSC_CHANGE_GREW, !=, 0);
    for (uint32_t k = 0; k < d->change_n; k++)
        if (d->changes[k].what == 1u << PSC_CHANGE_NEW)
            psc_explain_change(&text, d, &d->changes[k]);
    g_assert_cmpstr(psc_text_str(&text), ==, "#0 z: new, it has no bytes.");
    assert_sum(d);
    psc_text_release(&text);
    release(&b);
}

/* ---- properties --------------------------------------------------------------------------------------------------- */

/* All planners against each other: the parts sum up, and each direction says the opposite of the other. */
static void test_random(void)
{
    guint64 seed = test_seed();
    unsigned different = 0;
    for (unsigned i = 0; i < 40; i++) {
        for (const struct psc_planner *p = psc_planners; p->name; p++) {
            struct both b = {0}, back = {0};
            struct psc_graph *g = random_graph(&b.arena, seed + i, &random_graph_all);
            struct psc_graph *same = random_graph(&back.arena, seed + i, &random_graph_all);
            g_test_message("seed %" G_GUINT64_FORMAT ", %s", seed + i, p->name);
            diff_graphs(&b, g, "pool", g, p->name);
            diff_graphs(&back, same, p->name, same, "pool");
            assert_sum(b.diff);
            assert_sum(back.diff);
            g_assert_cmpuint(b.diff->pair_n, ==, back.diff->pair_n);
            for (int k = 0; k < PSC_CHANGE_N; k++)
                if (k != PSC_CHANGE_GREW && k != PSC_CHANGE_SHRANK && k != PSC_CHANGE_NEW && k != PSC_CHANGE_GONE)
                    g_assert_cmpuint(b.diff->count[k], ==, back.diff->count[k]);
            g_assert_cmpuint(b.diff->count[PSC_CHANGE_NEW], ==, back.diff->count[PSC_CHANGE_GONE]);
            different += b.diff->change_n > 0;
            release(&b);
            release(&back);
        }
    }
    g_assert_cmpuint(different, >, 100);
}

/* Two graphs that have nothing to do with each other: still sums, still one partner each. */
static void test_strangers(void)
{
    guint64 seed = test_seed();
    for (unsigned i = 0; i < 60; i++) {
        struct both b = {0};
        struct psc_graph *one = random_graph(&b.arena, seed + i, &random_graph_all);
        diff_graphs(&b, one, "pool", random_graph(&b.arena, seed + 1000 + i, &random_graph_plain), "optimal");
        assert_sum(b.diff);
        uint32_t b_n = b.analysis[1]->story->value_n;
        for (uint32_t v = 0; v < b_n; v++)
            if (b.diff->a_of[v] != PSC_NONE)
                g_assert_cmpuint(b.diff->b_of[b.diff->a_of[v]], ==, v);
        g_assert_cmpuint(b.diff->count[PSC_CHANGE_NEW], ==, b_n - b.diff->pair_n);
        g_assert_cmpuint(b.diff->count[PSC_CHANGE_GONE], ==, b.analysis[0]->story->value_n - b.diff->pair_n);
        release(&b);
    }
}

static void test_empty(void)
{
    struct both b = {0};
    struct psc_builder *builder = psc_builder_new();
    struct psc_graph *g = NULL;
    struct psc_text text = {0};
    g_assert_cmpint(psc_builder_finish(builder, &b.arena, &g, NULL), ==, PSC_OK);
    psc_builder_free(builder);
    diff_graphs(&b, g, "pool", g, "optimal");
    g_assert_cmpuint(b.diff->change_n, ==, 0);
    g_assert_cmpuint(b.diff->part_n, ==, 0);
    psc_explain_plan_diff(&text, b.diff);
    g_assert_cmpstr(psc_text_str(&text), ==, "0 values on both sides, each at the same bytes.");
    psc_text_release(&text);
    release(&b);
    diff_graphs(&b, text_graph(&b.arena, feed_forward), "pool", g = text_graph(&b.arena, "x: input 8\nout x\n"), "pool");
    assert_sum(b.diff);
    g_assert_cmpuint(b.diff->count[PSC_CHANGE_GONE], ==, 4);
    release(&b);
}

/* The prefill of 440 tokens: swiglu over its gate saves 6,983,680 bytes, and the peak moves. */
static void test_published(void)
{
    struct both b = {0};
    struct qwen_options wide = qwen_prefill;
    wide.tokens = 440;
    struct psc_graph *g = qwen_graph(&b.arena, &wide);
    diff_graphs(&b, g, "pool+exact", g, "optimal");
    const struct psc_plan_diff *d = b.diff;
    g_assert_cmpuint(d->a_total.peak, ==, 27262404);
    g_assert_cmpuint(d->b_total.peak, ==, 20278724);
    g_assert_cmpuint(d->part_n, ==, 1);
    g_assert_cmpint(d->parts[0].bytes, ==, -8560640);
    g_assert_cmpint(d->elsewhere, ==, 1576960);
    assert_sum(d);
    release(&b);
}

static enum psc_status diff_once(void *data)
{
    struct both *b = data;
    struct psc_arena arena = {0};
    struct psc_plan_diff *diff = NULL;
    struct psc_error err = {0};
    struct psc_diff_side a = side_of(b->analysis[0]), c = side_of(b->analysis[1]);
    enum psc_status status = psc_diff_plans(&arena, &a, &c, &diff, &err);
    psc_arena_release(&arena);
    return status;
}

static void test_memory(void)
{
    struct both b = {0};
    diff_texts(&b, feed_forward, "pool", NULL, "optimal");
    g_assert_cmpuint(test_oom_loop(diff_once, &b), >, 3);
    release(&b);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/diff-plans/align", test_align);
    g_test_add_func("/diff-plans/same", test_same);
    g_test_add_func("/diff-plans/in-place", test_in_place);
    g_test_add_func("/diff-plans/new-and-gone", test_new_and_gone);
    g_test_add_func("/diff-plans/grew", test_grew);
    g_test_add_func("/diff-plans/life", test_life);
    g_test_add_func("/diff-plans/inputs", test_inputs);
    g_test_add_func("/diff-plans/random", test_random);
    g_test_add_func("/diff-plans/strangers", test_strangers);
    g_test_add_func("/diff-plans/empty", test_empty);
    g_test_add_func("/diff-plans/published", test_published);
    g_test_add_func("/diff-plans/memory", test_memory);
    return g_test_run();
}
