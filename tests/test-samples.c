/* The bundled samples and lessons: reproducible from their script, true to their notes, and their numbers
 * obey their graphs. */
#include "core/debug/analysis.h"
#include "core/debug/arena-track.h"
#include "tests/util.h"
#include "traces/traces.h"

#include <glib.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

static const char *const files[] = {
    "samples/qwen2.5-0.5b-metal.json",
    "samples/qwen2.5-0.5b-per-node.json",
    "samples/qwen2.5-0.5b-440-cuda-cpu.json",
    "samples/chain.json",
    "samples/parallel.json",
    "samples/two-outputs.json",
    "samples/arenas.json",
    "samples/arenas-shutdown.json",
    "lessons/1-live-range.json",
    "lessons/2-size-classes.json",
    "lessons/3-in-place.json",
    "lessons/4-views.json",
    "lessons/5-two-orders.json",
    "lessons/6-recorded-late.json",
    "lessons/7-lent-outputs.json",
};

static char *sample_path(const char *file)
{
    char *relative = g_build_filename("traces", file, NULL), *path = test_source_path(relative);
    g_free(relative);
    return path;
}

static void the_script_writes_the_same_bytes_again(void)
{
    char *python = g_find_program_in_path("python3");
    if (!python) {
        g_test_skip("python3 is not installed");
        return;
    }
    char *script = sample_path("samples/make.py");
    char *folder = g_dir_make_tmp("psc-samples-XXXXXX", NULL);
    g_assert_nonnull(folder);
    char *argv[] = {python, script, folder, NULL};
    int status = -1;
    g_assert_true(g_spawn_sync(NULL, argv, NULL, G_SPAWN_DEFAULT, NULL, NULL, NULL, NULL, &status, NULL));
    g_assert_cmpint(status, ==, 0);
    for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
        char *made = g_build_filename(folder, files[i], NULL), *kept = sample_path(files[i]);
        char *a = NULL, *b = NULL;
        gsize a_n = 0, b_n = 0;
        g_assert_true(g_file_get_contents(made, &a, &a_n, NULL));
        g_assert_true(g_file_get_contents(kept, &b, &b_n, NULL));
        if (a_n != b_n || memcmp(a, b, a_n) != 0)
            g_test_fail_printf("%s is not what traces/samples/make.py writes", files[i]);
        g_unlink(made);
        g_free(made);
        g_free(kept);
        g_free(a);
        g_free(b);
    }
    const char *const parts[] = {"samples", "lessons", ""};
    for (size_t i = 0; i < G_N_ELEMENTS(parts); i++) {
        char *part = g_build_filename(folder, parts[i], NULL);
        g_assert_cmpint(g_rmdir(part), ==, 0);
        g_free(part);
    }
    g_free(folder);
    g_free(script);
    g_free(python);
}

/* ---- opening ---------------------------------------------------------------------------------- */

static struct psc_doc *open_doc(const char *path)
{
    struct psc_open_options options = {.whole = true};
    struct psc_report report = {0};
    struct psc_error error = {0};
    struct psc_doc *doc = NULL;
    if (psc_trace_open(path, &options, &report, &doc, &error) != PSC_OK)
        g_error("%s: %s", path, error.text);
    g_assert_cmpuint(report.n, ==, 0);
    g_assert_cmpuint(doc->report.n, ==, 0);
    g_assert_false(doc->truncated);
    psc_report_release(&report);
    return doc;
}

static struct psc_doc *open_sample(const char *file)
{
    char *path = sample_path(file);
    struct psc_doc *doc = open_doc(path);
    g_free(path);
    return doc;
}

static struct psc_step load_step(const struct psc_doc *doc, uint32_t phase, uint32_t step,
                                 struct psc_arena *arena)
{
    struct psc_step ret = {0};
    g_assert_cmpint(psc_doc_load_step(doc, phase, step, arena, &ret, NULL), ==, PSC_OK);
    g_assert_null(ret.unreadable);
    return ret;
}

static struct psc_record_check check_records(const struct psc_doc *doc, uint32_t phase,
                                             const struct psc_step *step, struct psc_arena *arena)
{
    struct psc_record_check ret = {0};
    g_assert_cmpint(psc_records_check(arena, &doc->phases[phase], step, &ret, NULL), ==, PSC_OK);
    return ret;
}

static const struct psc_record *record_of(const struct psc_step *step, psc_node node)
{
    for (uint32_t i = 0; i < step->record_n; i++)
        if (step->records[i].node == node)
            return &step->records[i];
    return NULL;
}

static struct psc_analysis *analyse(const struct psc_phase *phase, enum psc_order order, psc_fault_set faults)
{
    struct psc_analysis_options options = {.plan = psc_plan_defaults, .replan = true};
    struct psc_analysis *analysis = NULL;
    options.plan.order = order;
    options.plan.faults = faults;
    g_assert_cmpint(psc_analysis_new(phase, &options, &analysis, NULL), ==, PSC_OK);
    return analysis;
}

static void all_open_without_warnings_and_check_clean(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
        struct psc_doc *doc = open_sample(files[i]);
        bool lesson = g_str_has_prefix(files[i], "lessons/");
        for (uint32_t p = 0; p < doc->phase_n; p++) {
            struct psc_analysis *analysis = analyse(&doc->phases[p], PSC_ORDER_BUILD, 0);
            g_assert_cmpuint(analysis->check.finding_n, ==, 0);
            psc_analysis_free(analysis);
            for (int k = 0; k < 3; k++)
                g_assert_true((doc->phases[p].lesson[k] != NULL) == lesson);
            g_assert_true((doc->phases[p].note != NULL) == (!lesson && i > 0));
        }
        psc_doc_free(doc);
    }
}

/* ---- the run, recorded twice ---------------------------------------------------------------------- */

static void the_metal_form_shows_mostly_other_tensors(void)
{
    static const uint32_t own[] = {18, 10, 10, 10}, all[] = {368, 269, 269, 269};
    static const int64_t tokens[] = {-1, 358, 2776, 264}, top[] = {358, 2776, 264, 48948};
    struct psc_doc *late = open_sample("samples/qwen2.5-0.5b-metal.json");
    struct psc_doc *early = open_sample("samples/qwen2.5-0.5b-per-node.json");
    g_assert_cmpuint(late->phase_n, ==, 2);
    g_assert_cmpuint(late->phases[0].graph->n, ==, 440);
    g_assert_cmpuint(late->phases[1].graph->n, ==, 305);
    for (uint32_t k = 0; k < 4; k++) {
        struct psc_arena arena = {0};
        uint32_t phase = k > 0, step = k > 0 ? k - 1 : 0;
        struct psc_step shown = load_step(late, phase, step, &arena),
                        made = load_step(early, phase, step, &arena);
        struct psc_record_check c = check_records(late, phase, &shown, &arena);
        g_assert_cmpuint(c.n, ==, all[k]);
        g_assert_cmpuint(c.own, ==, own[k]);
        g_assert_cmpuint(c.overwritten, ==, all[k] - own[k]);
        g_assert_true(shown.has_token == (k > 0) && (!k || shown.token == tokens[k]));
        g_assert_cmpuint(shown.top_n, ==, 5);
        g_assert_cmpint(shown.top[0].id, ==, top[k]);
        for (uint32_t i = 0; i < c.n; i++) { /* each shows what its verdict says, to the last digit */
            const struct psc_record_verdict *v = &c.list[i];
            psc_node whose = v->verdict == PSC_RECORD_OWN ? v->node : v->holds;
            const struct psc_record *a = record_of(&shown, v->node), *b = record_of(&made, whose);
            g_assert_nonnull(a);
            g_assert_nonnull(b);
            g_assert_true(v->certain);
            g_assert_cmpuint(a->stats_hash, ==, b->stats_hash);
            g_assert_cmpuint(a->values_hash, ==, b->values_hash);
        }
        c = check_records(early, phase, &made, &arena);
        g_assert_cmpuint(c.own, ==, all[k]);
        psc_arena_release(&arena);
    }
    psc_doc_free(late);
    psc_doc_free(early);
}

/* Samples are rounded to six places, so that much may be off. */
static void assert_near(double found, double wanted, double operands, const struct psc_graph *g,
                        psc_node node)
{
    if (!(fabs(found - wanted) <= 6e-7 * (2.0 + operands)))
        g_error("#%u %s: %.9g, its operands give %.9g", node, g->nodes[node].op_name, found, wanted);
}

static uint32_t assert_relation(const struct psc_graph *g, psc_node node, const struct psc_record *y,
                                const struct psc_record *a, const struct psc_record *b)
{
    for (uint32_t k = 0; k < y->value_n; k++) {
        double u = a->values[k], v = b ? b->values[k] : 0.0, silu = u / (1.0 + exp(-u)), want = silu;
        switch (g->nodes[node].op) {
        case PSC_OP_ADD: want = u + v; break;
        case PSC_OP_MUL: want = u * v; break;
        case PSC_OP_SWIGLU: want = silu * v; break;
        default: break;
        }
        assert_near(y->values[k], want, fabs(u) + fabs(v), g, node);
    }
    return 1;
}

/* Every row of the result is a row of the operand: compare elements that both sampled. */
static uint32_t assert_gathered(const struct psc_record *y, const struct psc_record *x, uint64_t row)
{
    uint32_t met = 0;
    for (uint32_t k = 0; k < y->value_n; k++) {
        uint64_t element = row * y->n + k * y->stride;
        if (element % x->stride == 0 && element / x->stride < x->value_n) {
            g_assert_true(y->values[k] == x->values[element / x->stride]);
            met++;
        }
    }
    return met;
}

/* q5_0: whole numbers times a scale, which is a multiple of 1/1024 here. */
static void assert_embedding(const struct psc_record *y)
{
    for (uint32_t k = 0; k < y->value_n; k++) {
        double whole = y->values[k] * 1024.0;
        g_assert_cmpfloat(fabs(whole - round(whole)), <, 0.001);
        g_assert_cmpfloat(fabs(whole), <=, 48.5);
    }
    g_assert_cmpfloat(y->max, >, y->min);
}

/* In place or not, rope leaves position 0 as it is. */
static void assert_rope_at_0(const struct psc_record *y, const struct psc_record *x)
{
    for (uint32_t k = 0; k < y->value_n && k * y->stride < y->n / 2; k++)
        g_assert_true(y->values[k] == x->values[k]);
}

static void numbers_obey_their_graphs(void)
{
    uint32_t relations = 0, gathered = 0, ropes = 0;
    for (size_t f = 1; f < G_N_ELEMENTS(files); f++) { /* all that were recorded per node */
        if (strstr(files[f], "recorded-late"))
            continue;
        struct psc_doc *doc = open_sample(files[f]);
        for (uint32_t p = 0; p < doc->phase_n; p++)
            for (uint32_t s = 0; s < psc_doc_step_n(doc, p); s++) {
                struct psc_arena arena = {0};
                const struct psc_graph *g = doc->phases[p].graph;
                struct psc_step step = load_step(doc, p, s, &arena);
                for (uint32_t i = 0; i < step.record_n; i++) {
                    const struct psc_record *y = &step.records[i];
                    const struct psc_node_info *node = &g->nodes[y->node];
                    const psc_node *src = psc_node_srcs(g, y->node);
                    const struct psc_record *a = node->src_n > 0 ? record_of(&step, src[0]) : NULL;
                    const struct psc_record *b = node->src_n > 1 ? record_of(&step, src[1]) : NULL;
                    if (node->op == PSC_OP_GET_ROWS && node->src_n == 1)
                        assert_embedding(y);
                    else if (node->op == PSC_OP_GET_ROWS)
                        gathered += assert_gathered(y, a, (uint64_t)b->values[0]);
                    else if (node->op == PSC_OP_ROPE && y->n > node->shape[0])
                        assert_rope_at_0(y, a), ropes++;
                    else if (node->op == PSC_OP_SILU)
                        relations += assert_relation(g, y->node, y, a, NULL);
                    else if (node->op == PSC_OP_ADD || node->op == PSC_OP_MUL || node->op == PSC_OP_SWIGLU)
                        relations += assert_relation(g, y->node, y, a, b);
                }
                psc_arena_release(&arena);
            }
        psc_doc_free(doc);
    }
    g_assert_cmpuint(relations, >, 48 + 24 + 3 * 48);
    g_assert_cmpuint(gathered, >=, 60);
    g_assert_cmpuint(ropes, ==, 48);
}

/* ---- what the notes and lessons claim -------------------------------------------------------------- */

static void two_backends_have_52_splits_and_98_copies(void)
{
    struct psc_doc *doc = open_sample("samples/qwen2.5-0.5b-440-cuda-cpu.json");
    struct psc_analysis *analysis = analyse(&doc->phases[0], PSC_ORDER_BUILD, 0);
    g_assert_cmpuint(analysis->plan->split_n, ==, 52);
    g_assert_cmpuint(analysis->plan->copy_n, ==, 98);
    psc_analysis_free(analysis);
    psc_doc_free(doc);
}

static void small_graphs_need_the_buffers_their_texts_name(void)
{
    static const struct {
        const char *file;
        uint32_t buffers, in_place, dead;
    } wanted[] = {
        {"samples/chain.json", 3, 2, 0},        {"samples/parallel.json", 5, 0, 0},
        {"samples/two-outputs.json", 3, 0, 0},
        {"lessons/1-live-range.json", 5, 0, 1}, {"lessons/2-size-classes.json", 5, 0, 0},
        {"lessons/3-in-place.json", 6, 1, 0},   {"lessons/4-views.json", 7, 0, 0},
        {"lessons/5-two-orders.json", 5, 0, 0}, {"lessons/6-recorded-late.json", 4, 0, 0},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(wanted); i++) {
        struct psc_doc *doc = open_sample(wanted[i].file);
        struct psc_analysis *analysis = analyse(&doc->phases[0], PSC_ORDER_BUILD, 0);
        g_test_message("%s", wanted[i].file);
        g_assert_cmpuint(analysis->plan->figures.buffers, ==, wanted[i].buffers);
        g_assert_cmpuint(analysis->plan->figures.in_place, ==, wanted[i].in_place);
        g_assert_cmpuint(analysis->plan->figures.dead, ==, wanted[i].dead);
        psc_analysis_free(analysis);
        psc_doc_free(doc);
    }
}

static void lesson_4_breaks_with_fault_l5(void)
{
    struct psc_doc *doc = open_sample("lessons/4-views.json");
    struct psc_analysis *analysis = analyse(&doc->phases[0], PSC_ORDER_BUILD, PSC_FAULT_BIT(PSC_FAULT_L5));
    g_assert_cmpuint(analysis->check.finding_n, ==, 1);
    g_assert_cmpuint(analysis->check.findings[0].victim, ==, 4);
    g_assert_cmpuint(analysis->check.findings[0].writer, ==, 7);
    g_assert_cmpuint(analysis->check.findings[0].reader, ==, 9);
    psc_analysis_free(analysis);
    psc_doc_free(doc);
}

static void lesson_5_breaks_in_topological_order(void)
{
    struct psc_doc *doc = open_sample("lessons/5-two-orders.json");
    struct psc_analysis *analysis = analyse(&doc->phases[0], PSC_ORDER_TOPOLOGICAL, 0);
    g_assert_cmpuint(analysis->check.finding_n, ==, 1);
    g_assert_cmpint(analysis->check.findings[0].kind, ==, PSC_K2);
    g_assert_cmpuint(analysis->check.findings[0].victim, ==, 2);
    g_assert_cmpuint(analysis->check.findings[0].writer, ==, 4);
    g_assert_cmpuint(analysis->check.findings[0].reader, ==, 5);
    psc_analysis_free(analysis);
    psc_doc_free(doc);
}

/* The look of an arena when a position is over. */
static struct psc_arena_home_look home_at(struct psc_doc *doc, uint32_t home, int32_t position)
{
    struct psc_arena_track *track = NULL;
    struct psc_arena_look look;
    g_assert_cmpint(psc_arena_track_new(&doc->arena, doc->phases[0].story, &track, NULL), ==, PSC_OK);
    g_assert_cmpint(psc_arena_track_look(track, &doc->arena, psc_arena_track_upto(track, position), &look, NULL), ==, PSC_OK);
    g_assert_cmpuint(look.ever, ==, 0);
    return look.homes[home];
}

static void lesson_7_lends_a_block(void)
{
    struct psc_doc *doc = open_sample("lessons/7-lent-outputs.json");
    const struct psc_story *story = doc->phases[0].story;
    struct psc_arena_home_look io = home_at(doc, 1, 2);
    g_assert_cmpint(io.slots[0].owner, ==, PSC_OWNER_LEASE);
    io = home_at(doc, 1, 4);
    g_assert_cmpstr(story->values[io.slots[0].value].name, ==, "y1");
    g_assert_cmpstr(story->values[io.slots[1].value].name, ==, "y2");
    io = home_at(doc, 1, 9);
    g_assert_cmpstr(story->values[io.slots[0].value].name, ==, "y3");
    g_assert_cmpint(io.slots[1].state, ==, PSC_SLOT_FREE);
    psc_doc_free(doc);
}

static void the_arenas_evict_and_slacken_as_their_lines_say(void)
{
    struct psc_doc *doc = open_sample("samples/arenas.json");
    const struct psc_story *story = doc->phases[0].story;
    uint32_t evicted = 0;
    for (uint32_t i = 0; i < story->event_n; i++)
        evicted += story->events[i].kind == PSC_EV_EVICT;
    g_assert_cmpuint(evicted, ==, 1);
    struct psc_arena_home_look exec = home_at(doc, 0, 4); /* g: 12 KiB in the block of 16 */
    g_assert_cmpuint(exec.figures.live_capacity - exec.figures.live, ==, 4096);
    exec = home_at(doc, 0, 27); /* h in the spike's block */
    g_assert_cmpuint(exec.figures.live_capacity - exec.figures.live, ==, 48 * 1024);
    g_assert_cmpuint(home_at(doc, 1, 16).slots[1].holders, ==, 2);
    g_assert_nonnull(strstr(story->titles[26], "1 block is evicted"));
    g_assert_nonnull(strstr(story->titles[26], "each has its own cap"));
    psc_doc_free(doc);
}

static void lesson_6_shows_three_values_of_others(void)
{
    static const psc_node holds[] = {PSC_NONE, PSC_NONE, 6, 5, 6, PSC_NONE, PSC_NONE};
    struct psc_doc *doc = open_sample("lessons/6-recorded-late.json");
    struct psc_arena arena = {0};
    struct psc_step step = load_step(doc, 0, 0, &arena);
    struct psc_record_check c = check_records(doc, 0, &step, &arena);
    g_assert_cmpuint(c.n, ==, G_N_ELEMENTS(holds));
    for (uint32_t i = 0; i < c.n; i++) {
        g_assert_cmpuint(c.list[i].holds, ==, holds[c.list[i].node]);
        g_assert_cmpint(c.list[i].verdict, !=, PSC_RECORD_UNKNOWN);
    }
    g_assert_cmpuint(c.overwritten, ==, 3);
    psc_arena_release(&arena);
    psc_doc_free(doc);
}

/* ---- the excerpt of a published trace ------------------------------------------------------------------ */

static const struct psc_record_verdict *verdict_of(const struct psc_record_check *c, psc_node node)
{
    for (uint32_t i = 0; i < c->n; i++)
        if (c->list[i].node == node)
            return &c->list[i];
    g_assert_not_reached();
}

static void the_published_excerpt_is_overwritten_in_three_groups(void)
{
    static const psc_node groups[3][4] = {
        {119, 121, 129, 425}, {120, 127, PSC_NONE, 426}, {122, 128, PSC_NONE, 416}};
    static const psc_node family[3][2] = {{123, 411}, {124, 412}, {126, 414}};
    char *path = test_shared_path("data/minfer-trace-excerpt.json");
    struct psc_arena arena = {0};
    if (!path) {
        g_test_skip("the shared data are not here");
        return;
    }
    struct psc_doc *doc = open_doc(path);
    struct psc_step step = load_step(doc, 0, 0, &arena);
    struct psc_record_check c = check_records(doc, 0, &step, &arena);
    g_assert_cmpuint(c.n, ==, 10);
    g_assert_cmpuint(c.overwritten, ==, 10);
    g_assert_cmpuint(c.group_n, ==, 3);
    g_assert_cmpstr(c.policy, ==, "fifo");
    for (int k = 0; k < 3; k++) {
        uint32_t group = verdict_of(&c, groups[k][0])->group;
        g_assert_cmpuint(group, !=, PSC_NONE);
        for (int m = 0; m < 3 && groups[k][m] != PSC_NONE; m++) {
            g_assert_cmpuint(verdict_of(&c, groups[k][m])->group, ==, group);
            g_assert_cmpuint(verdict_of(&c, groups[k][m])->holds, ==, groups[k][3]);
        }
        const struct psc_record_verdict *v = verdict_of(&c, family[k][0]);
        g_assert_cmpuint(v->group, ==, PSC_NONE);
        g_assert_cmpuint(v->holds, ==, family[k][1]);
        g_assert_cmpuint(v->evidence & PSC_BY_ARITHMETIC, !=, 0);
        g_assert_cmpstr(psc_verdict_confidence(v), ==, "confirmed"); /* the values allow fifo only */
    }
    psc_arena_release(&arena);
    psc_doc_free(doc);
    g_free(path);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/samples/the-script-writes-the-same-bytes-again",
                    the_script_writes_the_same_bytes_again);
    g_test_add_func("/samples/all-open-without-warnings-and-check-clean",
                    all_open_without_warnings_and_check_clean);
    g_test_add_func("/samples/the-metal-form-shows-mostly-other-tensors",
                    the_metal_form_shows_mostly_other_tensors);
    g_test_add_func("/samples/numbers-obey-their-graphs", numbers_obey_their_graphs);
    g_test_add_func("/samples/two-backends-have-52-splits-and-98-copies",
                    two_backends_have_52_splits_and_98_copies);
    g_test_add_func("/samples/small-graphs-need-the-buffers-their-texts-name",
                    small_graphs_need_the_buffers_their_texts_name);
    g_test_add_func("/samples/lesson-4-breaks-with-fault-l5", lesson_4_breaks_with_fault_l5);
    g_test_add_func("/samples/lesson-5-breaks-in-topological-order", lesson_5_breaks_in_topological_order);
    g_test_add_func("/samples/lesson-6-shows-three-values-of-others", lesson_6_shows_three_values_of_others);
    g_test_add_func("/samples/lesson-7-lends-a-block", lesson_7_lends_a_block);
    g_test_add_func("/samples/the-arenas-evict-and-slacken-as-their-lines-say", the_arenas_evict_and_slacken_as_their_lines_say);
    g_test_add_func("/samples/the-published-excerpt-is-overwritten-in-three-groups",
                    the_published_excerpt_is_overwritten_in_three_groups);
    return g_test_run();
}
