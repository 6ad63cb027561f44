/* Planners side by side and two plans locked together, without a display: what the workers bring, and how the lock carries over. */
#include "tests/util.h"
#include "tests/workspaces.h"
#include "traces/traces.h"
#include "ui/contest.h"
#include "ui/pair.h"

#include <string.h>

struct fixture {
    PscWorkspace *ws;
};

static PscDocument *read_document(const char *relative, PscLook *look)
{
    char *path = test_source_path(relative);
    struct psc_report report = {0};
    struct psc_error error = {0};
    struct psc_doc *doc = NULL;
    struct psc_analysis_options options = {.plan = psc_plan_defaults};
    g_assert_cmpint(psc_trace_open(path, NULL, &report, &doc, &error), ==, PSC_OK);
    psc_report_release(&report);
    PscDocument *document = psc_document_new(doc);
    g_assert_true(psc_look_make(look, document, NULL, 0, &doc->phases[0], &options, false, 0, &error));
    g_free(path);
    return document;
}

static void set_up(struct fixture *f, gconstpointer file)
{
    PscLook look = {0};
    f->ws = psc_workspace_new();
    if (!file)
        return;
    PscDocument *document = read_document(file, &look);
    psc_workspace_adopt(f->ws, document, &look, "test");
}

static void tear_down(struct fixture *f, gconstpointer file G_GNUC_UNUSED)
{
    workspace_close(f->ws);
}

static gboolean contest_runs(PscWorkspace *ws)
{
    return psc_contest_running(psc_contest_of(ws));
}

/* Until the contest is over and the workspaces rest. */
static void settle(struct fixture *f)
{
    workspace_settle(f->ws, contest_runs);
}

static const struct psc_plan_diff *wait_diff(struct fixture *f)
{
    gint64 end = g_get_monotonic_time() + 600 * G_USEC_PER_SEC;
    while (!psc_pair_diff(psc_pair_of(f->ws)) || psc_workspace_scanning(psc_pair_other(psc_pair_of(f->ws)), NULL)) {
        g_assert_cmpint(g_get_monotonic_time(), <, end);
        g_main_context_iteration(NULL, TRUE);
    }
    return psc_pair_diff(psc_pair_of(f->ws));
}

static guint find(PscContest *contest, const char *name)
{
    for (guint i = 0; i < psc_contest_n(contest); i++)
        if (g_str_equal(psc_contest_at(contest, i)->name, name))
            return i;
    g_error("no %s", name);
}

static void test_contest(struct fixture *f, gconstpointer file G_GNUC_UNUSED)
{
    PscContest *contest = psc_contest_of(f->ws);
    guint planners = 0;
    settle(f);
    g_assert_cmpuint(psc_contest_n(contest), ==, 0); /* nobody asked yet */
    psc_contest_want(contest, TRUE);
    g_assert_true(psc_contest_running(contest));
    settle(f);
    for (const struct psc_planner *p = psc_planners; p->name; p++)
        planners++;
    g_assert_cmpuint(psc_contest_n(contest), ==, planners + 1); /* the pool in exact sizes, too */
    for (guint i = 0; i < psc_contest_n(contest); i++) {
        const PscEntrant *e = psc_contest_at(contest, i);
        g_assert_true(e->done && e->contender.able);
        g_assert_cmpuint(e->finding_n, ==, 0);
        if (i)
            g_assert_cmpuint(psc_contest_at(contest, i - 1)->contender.cost.reserved, <=, e->contender.cost.reserved);
    }
    g_assert_cmpuint(psc_contest_own(contest), ==, find(contest, "pool"));
    g_assert_cmpuint(psc_contest_best(contest), ==, 0);
    g_assert_cmpuint(psc_contest_picked(contest), ==, PSC_NONE);
    psc_contest_pick(contest, find(contest, "optimal"));
    g_assert_cmpuint(psc_contest_picked(contest), ==, find(contest, "optimal"));
    guint serial = psc_contest_serial(contest);
    psc_contest_use(contest, psc_contest_picked(contest));
    settle(f);
    g_assert_cmpstr(psc_workspace_study(f->ws)->analysis->plan->planner, ==, "optimal");
    g_assert_cmpuint(psc_contest_own(contest), ==, find(contest, "optimal"));
    g_assert_cmpuint(psc_contest_serial(contest), ==, serial); /* the same contest: only whose the document is */
    psc_contest_want(contest, FALSE);
}

/* Other options, another contest: faults count for each, and one that reads wrong bytes is not the best. */
static void test_options(struct fixture *f, gconstpointer file G_GNUC_UNUSED)
{
    PscContest *contest = psc_contest_of(f->ws);
    struct psc_analysis_options options = *psc_workspace_options(f->ws);
    psc_contest_want(contest, TRUE);
    options.plan.slots = PSC_SLOTS_FIFO;
    options.plan.order = PSC_ORDER_TOPOLOGICAL;
    options.replan = true;
    psc_workspace_set_options(f->ws, &options);
    settle(f);
    const PscEntrant *pool = psc_contest_at(contest, find(contest, "pool"));
    g_assert_cmpuint(pool->finding_n, ==, 1);
    g_assert_cmpuint(psc_contest_at(contest, psc_contest_best(contest))->finding_n, ==, 0);
    psc_workspace_close(f->ws);
    settle(f);
    g_assert_cmpuint(psc_contest_n(contest), ==, 0);
    g_assert_cmpuint(psc_contest_best(contest), ==, PSC_NONE);
    g_assert_cmpuint(psc_contest_own(contest), ==, PSC_NONE);
    psc_contest_use(contest, 0); /* nothing to use */
    psc_contest_want(contest, FALSE);
}

/* Generation, its faults and how long to search make other plans, and so another contest. */
static void test_all_options(struct fixture *f, gconstpointer file G_GNUC_UNUSED)
{
    PscContest *contest = psc_contest_of(f->ws);
    struct psc_analysis_options options = *psc_workspace_options(f->ws);
    options.replan = true;
    options.planner = psc_planner_find("candela");
    settle(f);
    psc_workspace_set_options(f->ws, &options);
    psc_contest_want(contest, TRUE);
    settle(f);
    guint serial = psc_contest_serial(contest), turns = 0;
    for (; turns < 4; turns++) {
        if (turns == 0)
            options.plan.generation = PSC_GEN_01;
        else if (turns == 1)
            options.plan.candela_faults = PSC_CANDELA_BIT(0);
        else if (turns == 2)
            options.plan.budget.work = 1000;
        else
            options.plan.budget.milliseconds = 500;
        psc_workspace_set_options(f->ws, &options);
        settle(f);
        g_assert_cmpuint(psc_contest_serial(contest), >, serial);
        serial = psc_contest_serial(contest);
        for (guint i = 0; i < psc_contest_n(contest); i++)
            g_assert_true(psc_contest_at(contest, i)->done);
    }
    psc_workspace_set_options(f->ws, &options);
    settle(f);
    g_assert_cmpuint(psc_contest_serial(contest), ==, serial); /* the very same once more */
    g_assert_cmpuint(turns, ==, 4);
    psc_contest_want(contest, FALSE);
}

static void pair_with(struct fixture *f, const char *name)
{
    PscContest *contest = psc_contest_of(f->ws);
    psc_contest_want(contest, TRUE);
    settle(f);
    struct psc_analysis_options options = psc_contest_options(contest, find(contest, name));
    g_assert_true(psc_pair_show_options(psc_pair_of(f->ws), &options, name));
    psc_contest_want(contest, FALSE);
}

static void test_lock(struct fixture *f, gconstpointer file G_GNUC_UNUSED)
{
    PscPair *pair = psc_pair_of(f->ws);
    PscWorkspace *other = psc_pair_other(pair);
    double x0, x1;
    pair_with(f, "optimal");
    const struct psc_plan_diff *d = wait_diff(f);
    g_assert_cmpstr(psc_pair_name(pair), ==, "optimal");
    g_assert_cmpuint(d->count[PSC_CHANGE_MOVED], >, 100);
    g_assert_cmpuint(psc_pair_n(pair), ==, d->change_n);
    for (guint i = 1; i < psc_pair_n(pair); i++) {
        int64_t a = psc_pair_at(pair, i - 1)->peak_bytes, b = psc_pair_at(pair, i)->peak_bytes;
        g_assert_cmpint(a < 0 ? -a : a, >=, b < 0 ? -b : b);
    }
    psc_workspace_set_range(f->ws, 100, 140);
    psc_workspace_range(other, &x0, &x1);
    g_assert_cmpfloat(x0, ==, 100);
    g_assert_cmpfloat(x1, ==, 140);
    psc_workspace_set_cursor(f->ws, 124);
    psc_workspace_select_node(f->ws, 124);
    g_assert_cmpint(psc_workspace_cursor(other), ==, 124);
    g_assert_cmpuint(psc_workspace_selection(other).node, ==, 124);
    psc_workspace_set_cursor(other, 130); /* and the other way round */
    psc_workspace_select_node(other, 126);
    psc_workspace_set_range(other, 90, 150);
    g_assert_cmpint(psc_workspace_cursor(f->ws), ==, 130);
    g_assert_cmpuint(psc_workspace_selection(f->ws).node, ==, 126);
    psc_workspace_range(f->ws, &x0, &x1);
    g_assert_cmpfloat(x1 - x0, ==, 60);
    psc_workspace_set_y_mode(f->ws, PSC_VIEW_ROWS);
    g_assert_cmpint(psc_workspace_y_mode(other), ==, PSC_VIEW_ROWS);
    psc_workspace_show_all(f->ws);
    psc_workspace_range(other, &x0, &x1);
    g_assert_cmpfloat(x0, ==, -1);
    g_assert_cmpfloat(x1, ==, 441);
    psc_pair_pick(pair, 0);
    g_assert_cmpuint(psc_pair_picked(pair), ==, 0);
    g_assert_cmpuint(psc_workspace_selection(f->ws).node, ==, psc_workspace_selection(other).node);
    psc_pair_clear(pair);
    g_assert_null(psc_pair_diff(pair));
    g_assert_null(psc_workspace_document(other));
    g_assert_cmpuint(psc_pair_n(pair), ==, 0);
    g_assert_cmpuint(psc_pair_picked(pair), ==, PSC_NONE);
}

/* Another document; when the first one goes, so does the second. */
static void test_document(struct fixture *f, gconstpointer file G_GNUC_UNUSED)
{
    PscPair *pair = psc_pair_of(f->ws);
    PscLook look = {0};
    settle(f);
    PscDocument *document = read_document("traces/samples/qwen2.5-0.5b-per-node.json", &look);
    psc_pair_show_document(pair, document, &look, "per node");
    g_assert_cmpuint(wait_diff(f)->change_n, ==, 0);
    psc_workspace_select_node(f->ws, 3);
    g_assert_cmpuint(psc_workspace_selection(psc_pair_other(pair)).node, ==, 3);
    psc_workspace_close(f->ws);
    g_assert_null(psc_workspace_document(psc_pair_other(pair)));
    g_assert_null(psc_pair_name(pair));
}

/* A new plan on one side is a new difference; a look that comes too late is dropped. */
static void test_again(struct fixture *f, gconstpointer file G_GNUC_UNUSED)
{
    PscPair *pair = psc_pair_of(f->ws);
    pair_with(f, "optimal");
    pair_with(f, "pool");
    g_assert_cmpuint(wait_diff(f)->change_n, ==, 0);
    struct psc_analysis_options options = *psc_workspace_options(f->ws);
    options.planner = psc_planner_find("naive");
    options.replan = true;
    psc_workspace_set_options(f->ws, &options);
    settle(f);
    g_assert_cmpuint(wait_diff(f)->change_n, >, 0);
    struct psc_arena arena = {0};
    struct psc_foreign none = {0};
    g_assert_true(psc_pair_show_plan(pair, &arena, &none, "nothing placed"));
    gint64 end = g_get_monotonic_time() + 600 * G_USEC_PER_SEC;
    while (!psc_pair_failure(pair)) { /* it places nothing that is read: that is told */
        g_assert_cmpint(g_get_monotonic_time(), <, end);
        g_main_context_iteration(NULL, TRUE);
    }
    g_assert_null(psc_pair_diff(pair));
}

static void wait_failure(PscPair *pair)
{
    gint64 end = g_get_monotonic_time() + 600 * G_USEC_PER_SEC;
    while (!psc_pair_failure(pair)) {
        g_assert_cmpint(g_get_monotonic_time(), <, end);
        g_main_context_iteration(NULL, TRUE);
    }
}

/* B follows A into another phase and back, with its options; of another document into that of the same kind. */
static void test_phases(struct fixture *f, gconstpointer file G_GNUC_UNUSED)
{
    PscPair *pair = psc_pair_of(f->ws);
    PscWorkspace *other = psc_pair_other(pair);
    settle(f);
    pair_with(f, "naive");
    g_assert_cmpuint(wait_diff(f)->a.graph->n, ==, 440);
    for (guint phase = 1; phase < 2; phase--) { /* 1, 0 */
        psc_workspace_set_phase(f->ws, phase);
        settle(f);
        const struct psc_plan_diff *d = wait_diff(f);
        g_assert_cmpuint(psc_workspace_phase_index(other), ==, phase);
        g_assert_cmpuint(d->a.graph->n, ==, phase ? 305 : 440);
        g_assert_true(d->a.graph == d->b.graph);
        g_assert_cmpstr(psc_pair_name(pair), ==, "naive");
        g_assert_cmpstr(psc_workspace_study(other)->analysis->plan->planner, ==, "naive");
        g_assert_cmpuint(d->change_n, >, 100);
    }
    PscLook look = {0};
    PscDocument *document = read_document("traces/samples/qwen2.5-0.5b-per-node.json", &look);
    psc_workspace_set_phase(f->ws, 1);
    settle(f);
    psc_pair_show_document(pair, document, &look, "per node"); /* the first look is at its prefill */
    g_assert_cmpuint(wait_diff(f)->b.graph->n, ==, 305);
    g_assert_cmpuint(psc_workspace_phase_index(other), ==, 1);
    psc_workspace_set_phase(f->ws, 0);
    settle(f);
    g_assert_cmpuint(wait_diff(f)->b.graph->n, ==, 440);
    g_assert_cmpstr(psc_pair_name(pair), ==, "per node");
}

/* Where B has no such phase that is told, and told no more when A comes back. */
static void test_no_phase(struct fixture *f, gconstpointer file G_GNUC_UNUSED)
{
    PscPair *pair = psc_pair_of(f->ws);
    PscLook look = {0};
    settle(f);
    PscDocument *document = read_document("traces/samples/qwen2.5-0.5b-440-cuda-cpu.json", &look); /* a prefill, no more */
    psc_pair_show_document(pair, document, &look, "the split one");
    g_assert_cmpuint(wait_diff(f)->b.graph->n, ==, 440);
    psc_workspace_set_phase(f->ws, 1);
    settle(f);
    wait_failure(pair);
    g_assert_cmpstr(psc_pair_failure(pair), ==, "the split one has no such phase: decode");
    g_assert_null(psc_pair_diff(pair));
    struct psc_analysis_options options = *psc_workspace_options(f->ws);
    options.plan.slots = PSC_SLOTS_FIFO; /* another plan of A is no reason to lay a prefill beside its decode */
    psc_workspace_set_options(f->ws, &options);
    settle(f);
    for (int turn = 0; turn < 200; turn++, g_usleep(1000))
        g_main_context_iteration(NULL, FALSE);
    g_assert_null(psc_pair_diff(pair));
    g_assert_nonnull(psc_pair_failure(pair));
    psc_workspace_set_phase(f->ws, 0);
    settle(f);
    g_assert_cmpuint(wait_diff(f)->b.graph->n, ==, 440);
    g_assert_null(psc_pair_failure(pair));
    struct psc_arena arena = {0};
    struct psc_foreign none = {0};
    g_assert_true(psc_pair_show_plan(pair, &arena, &none, "nothing placed"));
    wait_failure(pair);
    psc_workspace_set_phase(f->ws, 1);
    settle(f);
    g_assert_cmpstr(psc_pair_failure(pair), ==, "nothing placed is a plan of phase 1, not of this one");
    psc_workspace_set_phase(f->ws, 0);
    settle(f);
    g_assert_cmpstr(psc_pair_failure(pair), ==, "nothing placed does not lie beside this phase: open it once more");
}

/* A plan file is of one phase: away from it that is told, back in it the difference is there again. */
static void test_plan_of_a_phase(struct fixture *f, gconstpointer file G_GNUC_UNUSED)
{
    PscPair *pair = psc_pair_of(f->ws);
    settle(f);
    PscStudy *study = psc_workspace_study(f->ws);
    struct psc_text text = {0};
    struct psc_arena arena = {0};
    struct psc_foreign plan;
    struct psc_error error = {0};
    if (psc_plan_write(study->graph, study->analysis->plan, false, &text, &error) ||
        psc_plan_read_memory(&arena, "own.json", psc_text_str(&text), text.n, &plan, &error))
        g_error("%s", error.text);
    psc_text_release(&text);
    g_assert_true(psc_pair_show_plan(pair, &arena, &plan, "own.json"));
    g_assert_cmpuint(wait_diff(f)->change_n, ==, 0);
    psc_workspace_set_phase(f->ws, 1);
    settle(f);
    wait_failure(pair);
    g_assert_cmpstr(psc_pair_failure(pair), ==, "own.json is a plan of phase 1, not of this one");
    g_assert_null(psc_pair_diff(pair));
    psc_workspace_set_phase(f->ws, 0);
    settle(f);
    g_assert_cmpuint(wait_diff(f)->a.graph->n, ==, 440);
    g_assert_null(psc_pair_failure(pair));
}

/* The window goes while workers are at it. */
static void test_leave(struct fixture *f, gconstpointer file G_GNUC_UNUSED)
{
    settle(f);
    psc_contest_want(psc_contest_of(f->ws), TRUE);
    struct psc_analysis_options options = *psc_workspace_options(f->ws);
    g_assert_true(psc_pair_show_options(psc_pair_of(f->ws), &options, "the same"));
}

static void test_nothing(struct fixture *f, gconstpointer file G_GNUC_UNUSED)
{
    struct psc_analysis_options options = {.plan = psc_plan_defaults};
    psc_contest_want(psc_contest_of(f->ws), TRUE);
    g_assert_cmpuint(psc_contest_n(psc_contest_of(f->ws)), ==, 0);
    g_assert_null(psc_contest_at(psc_contest_of(f->ws), 0));
    g_assert_false(psc_pair_show_options(psc_pair_of(f->ws), &options, "none"));
    g_assert_null(psc_pair_at(psc_pair_of(f->ws), 0));
    psc_pair_pick(psc_pair_of(f->ws), 0);
    psc_contest_want(psc_contest_of(f->ws), FALSE);
}

#define METAL "traces/samples/qwen2.5-0.5b-metal.json"
#define ADD(name, file, test) g_test_add("/contest/" name, struct fixture, file, set_up, test, tear_down)

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    ADD("contest", METAL, test_contest);
    ADD("options", METAL, test_options);
    ADD("all-options", METAL, test_all_options);
    ADD("lock", METAL, test_lock);
    ADD("document", METAL, test_document);
    ADD("again", METAL, test_again);
    ADD("phases", METAL, test_phases);
    ADD("no-phase", METAL, test_no_phase);
    ADD("plan-of-a-phase", METAL, test_plan_of_a_phase);
    ADD("leave", METAL, test_leave);
    ADD("nothing", NULL, test_nothing);
    return g_test_run();
}
