/* What is wrong in the phases that are not shown: looked at behind the one that is, counted, and gone to. */
#include "core/plan/plan.h"
#include "tests/qwen.h"
#include "tests/util.h"
#include "tests/workspaces.h"
#include "traces/traces.h"
#include "ui/navigate.h"
#include "ui/workspace-phases.h"

#include <string.h>

#define PHASES 40
#define WRONG_A 7  /* its plan reads wrong bytes */
#define WRONG_B 31

struct fixture {
    PscWorkspace *ws;
    struct psc_doc *doc; /* of the workspace */
    guint told;          /* times that more verdicts came */
    struct psc_plan *late_plan; /* of WRONG_A: it stands behind all phases of the file */
};

static void changed_cb(PscWorkspace *ws G_GNUC_UNUSED, guint what, struct fixture *f)
{
    f->told += (what & PSC_CHANGED_PHASES) != 0;
}

static struct psc_plan_options faulty(void)
{
    struct psc_plan_options options = psc_plan_defaults;
    options.slots = PSC_SLOTS_FIFO;
    options.faults = PSC_FAULT_BIT(PSC_FAULT_L1);
    return options;
}

static struct psc_phase phase_of(struct psc_doc *doc, struct psc_graph *graph, gboolean wrong)
{
    struct psc_phase phase = {.kind = "decode", .graph = graph};
    struct psc_plan_options options = wrong ? faulty() : psc_plan_defaults;
    g_assert_cmpint(psc_planner_find("pool")->plan(&doc->arena, graph, &options, &phase.plan, NULL), ==, PSC_OK);
    return phase;
}

static void make(struct fixture *f)
{
    struct psc_doc *doc = psc_doc_new();
    struct psc_graph *graph = qwen_graph(&doc->arena, &qwen_prefill);
    doc->phases = psc_arena_alloc(&doc->arena, PHASES, sizeof *doc->phases);
    doc->phase_n = PHASES;
    for (guint i = 0; i < PHASES; i++)
        doc->phases[i] = phase_of(doc, graph, i == WRONG_A || i == WRONG_B);
    f->doc = doc;
}

static void adopt(struct fixture *f, gboolean has_step)
{
    struct psc_error error = {0};
    struct psc_analysis_options options = {.plan = psc_plan_defaults};
    PscLook look = {0};
    PscDocument *document = psc_document_new(f->doc);
    g_assert_true(psc_look_make(&look, document, NULL, 0, &f->doc->phases[0], &options, has_step, 0, &error));
    psc_workspace_adopt(f->ws, document, &look, "made");
}

static void open_made(struct fixture *f)
{
    make(f);
    adopt(f, FALSE);
}

/* Ten more phases a slice; the plan that reads wrong bytes comes with the last. */
static enum psc_status scan(void *ctx, uint64_t max_bytes G_GNUC_UNUSED, bool *ret_done, struct psc_error *reterr G_GNUC_UNUSED)
{
    struct fixture *f = ctx;
    f->doc->phase_n = MIN(f->doc->phase_n + 10, PHASES);
    *ret_done = f->doc->phase_n == PHASES;
    if (*ret_done)
        f->doc->phases[WRONG_A].plan = f->late_plan;
    return PSC_OK;
}

static uint32_t no_steps(void *ctx G_GNUC_UNUSED, uint32_t phase G_GNUC_UNUSED)
{
    return 0;
}

static void open_in_slices(struct fixture *f)
{
    make(f);
    f->late_plan = f->doc->phases[WRONG_A].plan;
    f->doc->phases[WRONG_A].plan = NULL;
    f->doc->phase_n = 1;
    f->doc->steps = (struct psc_step_source){.count = no_steps, .scan = scan, .ctx = f};
    adopt(f, FALSE);
}

static void set_up(struct fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    f->ws = psc_workspace_new();
    g_signal_connect(f->ws, "changed", G_CALLBACK(changed_cb), f);
    open_made(f);
}

static void tear_down(struct fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    workspace_close(f->ws);
}

static gboolean looking(PscWorkspace *ws)
{
    return psc_workspace_looking(ws, NULL);
}

static void settle(struct fixture *f)
{
    workspace_settle(f->ws, looking);
}

/* The same question, asked of the door of the command line. */
static guint findings_of(struct fixture *f, guint phase)
{
    struct psc_analysis *a = NULL;
    g_assert_cmpint(psc_analysis_new(&f->doc->phases[phase], NULL, &a, NULL), ==, PSC_OK);
    guint n = a->check.finding_n;
    psc_analysis_free(a);
    return n;
}

static void test_counts(struct fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    guint known;
    g_assert_true(psc_workspace_looking(f->ws, &known));
    g_assert_cmpuint(known, ==, 1); /* the one that is shown */
    g_assert_null(psc_workspace_elsewhere(f->ws));
    settle(f);
    g_assert_cmpuint(f->told, >=, 1);
    guint sum = 0;
    for (guint i = 0; i < PHASES; i++) {
        PscPhaseVerdict v = psc_workspace_verdict(f->ws, i);
        g_assert_true(v.known && !v.failed);
        g_assert_cmpuint(v.finding_n, ==, findings_of(f, i));
        g_assert_cmpint(psc_workspace_wrong(f->ws, i), ==, i == WRONG_A || i == WRONG_B);
        sum += v.finding_n;
    }
    char *elsewhere = psc_workspace_elsewhere(f->ws), *wanted = g_strdup_printf("\u26a0 %u in 2 phases", sum);
    g_assert_cmpstr(elsewhere, ==, wanted);
    char *told = psc_workspace_phases_told(f->ws);
    g_assert_nonnull(strstr(told, "Phase 8: "));
    g_assert_nonnull(strstr(told, "Phase 32: "));
    g_assert_cmpuint(psc_workspace_verdict(f->ws, PHASES).finding_n, ==, 0);
    g_free(told);
    g_free(wanted);
    g_free(elsewhere);
}

/* Forth: the first finding of the next phase that has any, and from its last one to the next; back: to the last one. */
static void test_problems_lead_from_phase_to_phase(struct fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    settle(f);
    g_assert_true(psc_navigate_problem(f->ws, 1));
    settle(f);
    g_assert_cmpuint(psc_workspace_phase_index(f->ws), ==, WRONG_A);
    g_assert_cmpint(psc_workspace_selection(f->ws).finding, ==, 0);
    guint n = findings_of(f, WRONG_A);
    for (guint i = 1; i < n; i++)
        g_assert_true(psc_navigate_problem(f->ws, 1));
    g_assert_cmpuint(psc_workspace_phase_index(f->ws), ==, WRONG_A);
    g_assert_true(psc_navigate_problem(f->ws, 1));
    settle(f);
    g_assert_cmpuint(psc_workspace_phase_index(f->ws), ==, WRONG_B);
    g_assert_cmpint(psc_workspace_selection(f->ws).finding, ==, 0);
    g_assert_true(psc_navigate_problem(f->ws, -1));
    settle(f);
    g_assert_cmpuint(psc_workspace_phase_index(f->ws), ==, WRONG_A);
    g_assert_cmpint(psc_workspace_selection(f->ws).finding, ==, (int)n - 1);
    char *elsewhere = psc_workspace_elsewhere(f->ws);
    g_assert_true(g_str_has_suffix(elsewhere, " in phase 32"));
    g_free(elsewhere);
}

/* A verdict is one of the options that the phase has now. */
static void test_other_options_are_another_verdict(struct fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    struct psc_analysis_options options = *psc_workspace_options(f->ws);
    settle(f);
    options.replan = true;
    options.plan = faulty();
    psc_workspace_set_options(f->ws, &options);
    g_assert_false(psc_workspace_verdict(f->ws, 0).known);
    settle(f);
    g_assert_cmpuint(psc_workspace_verdict(f->ws, 0).finding_n, ==, psc_workspace_study(f->ws)->analysis->check.finding_n);
    g_assert_true(psc_workspace_wrong(f->ws, 0));
    psc_workspace_set_options(f->ws, &options); /* overtaken: another phase is shown before this one is there */
    psc_workspace_set_phase(f->ws, 3);
    settle(f);
    g_assert_cmpuint(psc_workspace_phase_index(f->ws), ==, 3);
    g_assert_true(psc_workspace_wrong(f->ws, 0));
    g_assert_cmpuint(psc_workspace_wrong_phase(f->ws, -1), ==, 0);
    g_assert_cmpuint(psc_workspace_wrong_phase(f->ws, 1), ==, WRONG_A);
}

/* Nothing of the old document comes into the new one, and one that is closed is looked at no more. */
static void test_another_document(struct fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    open_made(f);
    guint known;
    g_assert_true(psc_workspace_looking(f->ws, &known));
    g_assert_cmpuint(known, ==, 1);
    settle(f);
    g_assert_false(psc_workspace_looking(f->ws, &known));
    g_assert_cmpuint(known, ==, PHASES);
    open_made(f);
    psc_workspace_close(f->ws);
    g_assert_false(psc_workspace_looking(f->ws, &known));
    g_assert_cmpuint(known, ==, 0);
    g_assert_null(psc_workspace_elsewhere(f->ws));
    g_assert_cmpuint(psc_workspace_wrong_phase(f->ws, 1), ==, PSC_NONE);
    g_assert_false(psc_workspace_go_to_wrong(f->ws, 1));
}

/* Phases of a file that is being read are looked at when they come, and again when what belongs to them comes late. */
static void test_phases_that_come_later(struct fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    settle(f);
    open_in_slices(f);
    g_assert_cmpuint(psc_workspace_phase_n(f->ws), ==, 1);
    g_assert_true(looking(f->ws));
    settle(f);
    g_assert_cmpuint(psc_workspace_phase_n(f->ws), ==, PHASES);
    g_assert_cmpuint(psc_workspace_verdict(f->ws, WRONG_A).finding_n, ==, findings_of(f, WRONG_A));
    g_assert_true(psc_workspace_wrong(f->ws, WRONG_A));
    g_assert_true(psc_workspace_wrong(f->ws, WRONG_B));
}

static void open_sample(struct fixture *f, const char *name)
{
    char *path = g_build_filename(g_getenv("PSC_SOURCE_ROOT"), "traces", "samples", name, NULL);
    struct psc_error error = {0};
    g_assert_cmpint(psc_trace_open(path, NULL, NULL, &f->doc, &error), ==, PSC_OK);
    adopt(f, TRUE);
    settle(f);
    g_free(path);
}

/* The same question, asked of the core. */
static struct psc_record_check records_of(struct fixture *f, guint phase)
{
    struct psc_arena arena = {0};
    struct psc_step step;
    struct psc_record_check check;
    g_assert_cmpint(psc_doc_load_step(f->doc, phase, 0, &arena, &step, NULL), ==, PSC_OK);
    g_assert_cmpint(psc_records_check(&arena, &f->doc->phases[phase], &step, &check, NULL), ==, PSC_OK);
    psc_arena_release(&arena);
    return check; /* its counts */
}

/* A phase whose recorded values are overwritten is no clobber, and a file with such a phase is not clean. */
static void test_records_of_another_phase(struct fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    settle(f);
    open_sample(f, "qwen2.5-0.5b-metal.json");
    for (guint phase = 0; phase < 2; phase++) {
        struct psc_record_check check = records_of(f, phase);
        PscPhaseVerdict v = psc_workspace_verdict(f->ws, phase);
        g_assert_cmpuint(v.overwritten_n, ==, check.overwritten);
        g_assert_cmpuint(v.record_n, ==, check.n);
        g_assert_cmpuint(v.overwritten_n, >, v.record_n / 2);
        g_assert_false(psc_workspace_wrong(f->ws, phase));
    }
    g_assert_false(psc_workspace_all_clean(f->ws));
    g_assert_null(psc_workspace_elsewhere(f->ws));
    PscPhaseVerdict decode = psc_workspace_verdict(f->ws, 1);
    char *brief = psc_workspace_phase_mark(f->ws, 1, TRUE), *mark = psc_workspace_phase_mark(f->ws, 1, FALSE);
    char *wanted = g_strdup_printf("\u2298 %u of %u records", decode.overwritten_n, decode.record_n);
    char *line = g_strdup_printf("\nDecode: %u of %u records overwritten", decode.overwritten_n, decode.record_n);
    char *told = psc_workspace_phases_told(f->ws);
    g_assert_cmpstr(brief, ==, "\u2298");
    g_assert_cmpstr(mark, ==, wanted);
    g_assert_nonnull(strstr(told, line));
    open_sample(f, "qwen2.5-0.5b-per-node.json");
    g_assert_true(psc_workspace_all_clean(f->ws));
    g_assert_cmpuint(psc_workspace_verdict(f->ws, 1).record_n, >, 0);
    g_free(told);
    g_free(line);
    g_free(wanted);
    g_free(mark);
    g_free(brief);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define ADD(name, function) g_test_add("/ui/workspace/phases/" name, struct fixture, NULL, set_up, function, tear_down)
    ADD("counts-are-those-of-the-command-line", test_counts);
    ADD("problems-lead-from-phase-to-phase", test_problems_lead_from_phase_to_phase);
    ADD("other-options-are-another-verdict", test_other_options_are_another_verdict);
    ADD("another-document-is-looked-at-anew", test_another_document);
    ADD("phases-that-come-later-are-looked-at-when-they-come", test_phases_that_come_later);
    ADD("overwritten-records-of-another-phase-are-told", test_records_of_another_phase);
    return g_test_run();
}
