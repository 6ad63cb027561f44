/* Recorded, planned or both: a document of a run made by hand, with two phases that bring their plan and their events. */
#include "core/plan/plan.h"
#include "tests/qwen.h"
#include "tests/util.h"
#include "tests/workspaces.h"
#include "ui/draw/ghosts.h"
#include "ui/workspace-kv.h"
#include "ui/workspace-story.h"

#include <string.h>

struct fixture {
    PscWorkspace *ws;
    guint changes;
};

static void changed_cb(PscWorkspace *ws G_GNUC_UNUSED, guint what, struct fixture *f)
{
    f->changes |= what;
}

/* What was recorded: the story of the plan, with these two buffers in each other's place, from this event on. */
static struct psc_story *record_of(struct psc_arena *arena, const struct psc_story *planned, uint32_t a, uint32_t b, uint32_t from)
{
    struct psc_story *record = psc_arena_alloc(arena, 1, sizeof *record);
    struct psc_event *events = psc_arena_alloc(arena, planned->event_n, sizeof *events);
    *record = *planned;
    memcpy(events, planned->events, planned->event_n * sizeof *events);
    for (uint32_t i = from; i < planned->event_n; i++)
        events[i].buffer = events[i].buffer == a ? b : events[i].buffer == b ? a : events[i].buffer;
    record->events = events;
    record->predicted = false;
    return record;
}

static struct psc_phase phase_of(struct psc_arena *arena, const char *kind, const struct qwen_options *options, bool other)
{
    struct psc_phase phase = {.kind = kind, .graph = qwen_graph(arena, options)};
    struct psc_story *planned = NULL;
    g_assert_cmpint(psc_planner_find("pool")->plan(arena, phase.graph, &psc_plan_defaults, &phase.plan, NULL), ==, PSC_OK);
    g_assert_cmpint(psc_plan_lower(arena, phase.graph, phase.plan, &planned, NULL), ==, PSC_OK);
    phase.story = record_of(arena, planned, 4, other ? 5 : 4, planned->event_n / 2);
    return phase;
}

enum { FAITHFUL, OTHERWISE, NO_EVENTS, NO_PLAN };

static void open_made(struct fixture *f, int how)
{
    struct psc_doc *doc = psc_doc_new();
    struct psc_error error = {0};
    struct psc_analysis_options options = {.plan = psc_plan_defaults};
    PscLook look = {0};
    doc->phases = psc_arena_alloc(&doc->arena, 2, sizeof *doc->phases);
    doc->phase_n = 2;
    doc->phases[0] = phase_of(&doc->arena, "prefill", &qwen_prefill, how == OTHERWISE);
    doc->phases[1] = phase_of(&doc->arena, "decode", &qwen_decode, how == OTHERWISE);
    for (int i = 0; i < 2; i++) {
        if (how == NO_EVENTS)
            doc->phases[i].story = NULL;
        if (how == NO_PLAN)
            doc->phases[i].plan = NULL;
    }
    PscDocument *document = psc_document_new(doc);
    g_assert_true(psc_look_make(&look, document, NULL, 0, &doc->phases[0], &options, false, 0, &error));
    psc_workspace_adopt(f->ws, document, &look, "made");
}

static void set_up(struct fixture *f, gconstpointer how)
{
    f->ws = psc_workspace_new();
    g_signal_connect(f->ws, "changed", G_CALLBACK(changed_cb), f);
    open_made(f, GPOINTER_TO_INT(how));
}

static void settle(struct fixture *f)
{
    workspace_settle(f->ws, NULL);
}

static void tear_down(struct fixture *f, gconstpointer how G_GNUC_UNUSED)
{
    workspace_close(f->ws);
}

static const struct psc_analysis *analysis(struct fixture *f)
{
    return psc_workspace_study(f->ws)->analysis;
}

static void test_faithful(struct fixture *f, gconstpointer how G_GNUC_UNUSED)
{
    g_assert_null(psc_workspace_no_story_choice(f->ws));
    g_assert_cmpint(psc_workspace_story(f->ws), ==, PSC_STORY_RECORDED);
    g_assert_cmpuint(psc_workspace_comparison(f->ws)->diff_n, ==, 0);
    g_assert_cmpuint(psc_workspace_comparison(f->ws)->pair_n, >, 1000);
    PscPicture *picture = psc_workspace_picture(f->ws);
    f->changes = 0;
    psc_workspace_set_story(f->ws, PSC_STORY_BOTH); /* at once, and the same study */
    g_assert_false(psc_workspace_busy(f->ws));
    g_assert_cmpuint(f->changes, ==, PSC_CHANGED_VIEW);
    g_assert_cmpint(psc_workspace_story(f->ws), ==, PSC_STORY_BOTH);
    g_assert_true(psc_workspace_picture(f->ws) == picture);
    g_assert_null(picture->scene->ghosts); /* all as planned: nothing to lay over it */
    f->changes = 0;
    psc_workspace_set_story(f->ws, PSC_STORY_BOTH);
    g_assert_cmpuint(f->changes, ==, 0);
}

/* Planned is another study: what it shows changes when that is there, and the cursor stays at its op. */
static void test_planned(struct fixture *f, gconstpointer how G_GNUC_UNUSED)
{
    uint32_t diffs = psc_workspace_comparison(f->ws)->diff_n;
    g_assert_cmpuint(diffs, >, 20);
    g_assert_nonnull(psc_workspace_picture(f->ws)->scene->ghosts);
    psc_workspace_step_to(f->ws, 124);
    psc_workspace_set_range(f->ws, 100, 150);
    psc_workspace_select_node(f->ws, 124);
    psc_workspace_set_story(f->ws, PSC_STORY_PLANNED);
    g_assert_true(psc_workspace_busy(f->ws));
    g_assert_cmpint(psc_workspace_story(f->ws), ==, PSC_STORY_RECORDED); /* still what is seen */
    settle(f);
    double x0, x1;
    psc_workspace_range(f->ws, &x0, &x1);
    g_assert_cmpint(psc_workspace_story(f->ws), ==, PSC_STORY_PLANNED);
    g_assert_true(analysis(f)->story == analysis(f)->predicted);
    g_assert_true(analysis(f)->recorded == psc_workspace_study(f->ws)->phase.story);
    g_assert_cmpuint(psc_workspace_comparison(f->ws)->diff_n, ==, diffs);
    g_assert_null(psc_workspace_picture(f->ws)->scene->ghosts);
    g_assert_cmpint(psc_workspace_cursor(f->ws), ==, 124);
    g_assert_cmpuint(psc_workspace_selection(f->ws).node, ==, 124);
    g_assert_cmpfloat(x0, ==, 100);
    g_assert_cmpfloat(x1, ==, 150);
    for (uint32_t i = 0; i < diffs; i++) { /* same order of ops: the same places in both */
        const struct psc_story_diff *d = &psc_workspace_comparison(f->ws)->diffs[i];
        g_assert_cmpint(psc_workspace_difference_at(f->ws, d), ==, d->position);
    }
    psc_workspace_set_story(f->ws, PSC_STORY_BOTH);
    settle(f);
    g_assert_cmpint(psc_workspace_story(f->ws), ==, PSC_STORY_BOTH);
    g_assert_true(analysis(f)->story == analysis(f)->recorded);
    g_assert_cmpint(psc_workspace_cursor(f->ws), ==, 124);
    g_assert_nonnull(psc_workspace_picture(f->ws)->scene->ghosts);
}

/* The newest wish counts, also while a worker is at an older one. */
static void test_hurry(struct fixture *f, gconstpointer how G_GNUC_UNUSED)
{
    psc_workspace_set_story(f->ws, PSC_STORY_PLANNED);
    psc_workspace_set_story(f->ws, PSC_STORY_BOTH);
    settle(f);
    g_assert_cmpint(psc_workspace_story(f->ws), ==, PSC_STORY_BOTH);
    g_assert_true(analysis(f)->story == analysis(f)->recorded);
    psc_workspace_set_story(f->ws, PSC_STORY_PLANNED);
    psc_workspace_set_story(f->ws, PSC_STORY_RECORDED);
    psc_workspace_set_story(f->ws, PSC_STORY_PLANNED);
    settle(f);
    g_assert_cmpint(psc_workspace_story(f->ws), ==, PSC_STORY_PLANNED);
    g_assert_true(analysis(f)->story == analysis(f)->predicted);
}

/* The choice goes with the document from phase to phase; to the next document only as far as it shows the record. */
static void test_remembered(struct fixture *f, gconstpointer how G_GNUC_UNUSED)
{
    psc_workspace_set_story(f->ws, PSC_STORY_PLANNED);
    settle(f);
    psc_workspace_set_phase(f->ws, 1);
    settle(f);
    g_assert_cmpuint(psc_workspace_phase_index(f->ws), ==, 1);
    g_assert_cmpint(psc_workspace_story(f->ws), ==, PSC_STORY_PLANNED);
    g_assert_true(analysis(f)->story == analysis(f)->predicted);
    psc_workspace_set_story(f->ws, PSC_STORY_RECORDED);
    settle(f);
    psc_workspace_set_phase(f->ws, 0);
    settle(f);
    g_assert_cmpint(psc_workspace_story(f->ws), ==, PSC_STORY_RECORDED);
    g_assert_true(analysis(f)->story == analysis(f)->recorded);
    psc_workspace_set_story(f->ws, PSC_STORY_PLANNED);
    settle(f);
    open_made(f, OTHERWISE);
    g_assert_cmpint(psc_workspace_story(f->ws), ==, PSC_STORY_RECORDED);
    psc_workspace_set_story(f->ws, PSC_STORY_BOTH);
    open_made(f, OTHERWISE);
    g_assert_cmpint(psc_workspace_story(f->ws), ==, PSC_STORY_BOTH);
}

/* A plan made here has no record of its own: no choice, and a sentence that says what to do. */
static void test_replanned(struct fixture *f, gconstpointer how G_GNUC_UNUSED)
{
    psc_workspace_set_story(f->ws, PSC_STORY_BOTH);
    struct psc_analysis_options options = *psc_workspace_options(f->ws);
    options.replan = true;
    psc_workspace_set_options(f->ws, &options);
    settle(f);
    g_assert_nonnull(strstr(psc_workspace_no_story_choice(f->ws), "Use what the file brings"));
    g_assert_true(psc_workspace_has_stories(f->ws));
    g_assert_null(psc_workspace_comparison(f->ws));
    g_assert_cmpint(psc_workspace_story(f->ws), ==, PSC_STORY_RECORDED);
    psc_workspace_set_story(f->ws, PSC_STORY_PLANNED); /* ignored */
    g_assert_false(psc_workspace_busy(f->ws));
    options.replan = false;
    psc_workspace_set_options(f->ws, &options);
    settle(f);
    g_assert_null(psc_workspace_no_story_choice(f->ws));
    g_assert_cmpint(psc_workspace_story(f->ws), ==, PSC_STORY_BOTH);
}

static void test_no_choice(struct fixture *f, gconstpointer how)
{
    const char *reason = psc_workspace_no_story_choice(f->ws);
    g_assert_nonnull(reason);
    g_assert_nonnull(strstr(reason, GPOINTER_TO_INT(how) == NO_PLAN ? "no plan" : "Ctrl+R"));
    g_assert_false(psc_workspace_has_stories(f->ws));
    g_assert_null(psc_workspace_comparison(f->ws));
    psc_workspace_set_story(f->ws, PSC_STORY_BOTH);
    g_assert_cmpint(psc_workspace_story(f->ws), ==, PSC_STORY_RECORDED);
    psc_workspace_close(f->ws);
    g_assert_nonnull(psc_workspace_no_story_choice(f->ws));
    g_assert_cmpint(psc_workspace_story(f->ws), ==, PSC_STORY_RECORDED);
}

/* Three steps, of which the second went otherwise. */
static uint32_t count_steps(void *ctx G_GNUC_UNUSED, uint32_t phase)
{
    return phase ? 0 : 3;
}

static enum psc_status load_step(void *ctx, uint32_t phase G_GNUC_UNUSED, uint32_t step, struct psc_arena *arena, struct psc_step *ret,
                                 struct psc_error *reterr G_GNUC_UNUSED)
{
    const struct psc_phase *first = &((struct psc_doc *)ctx)->phases[0];
    *ret = (struct psc_step){.text = ""};
    if (step == 1)
        ret->story = record_of(arena, first->story, 4, 5, 0);
    return PSC_OK;
}

static void test_step(struct fixture *f, gconstpointer how G_GNUC_UNUSED)
{
    struct psc_doc *doc = psc_doc_new();
    struct psc_analysis_options options = {.plan = psc_plan_defaults};
    PscLook look = {0};
    doc->phases = psc_arena_alloc(&doc->arena, 1, sizeof *doc->phases);
    doc->phase_n = 1;
    doc->phases[0] = phase_of(&doc->arena, "prefill", &qwen_prefill, false);
    doc->steps = (struct psc_step_source){.count = count_steps, .load = load_step, .ctx = doc};
    PscDocument *document = psc_document_new(doc);
    g_assert_true(psc_look_make(&look, document, NULL, 0, &doc->phases[0], &options, true, 0, NULL));
    psc_workspace_adopt(f->ws, document, &look, "steps");
    PscStudy *of_phase = psc_workspace_study(f->ws);
    g_assert_null(of_phase->of_phase);
    g_assert_cmpuint(psc_workspace_comparison(f->ws)->diff_n, ==, 0);
    psc_workspace_set_story(f->ws, PSC_STORY_BOTH);
    psc_workspace_step_to(f->ws, 124);
    psc_workspace_set_step(f->ws, 1);
    settle(f);
    g_assert_true(psc_workspace_study(f->ws)->of_phase == of_phase);
    g_assert_true(analysis(f)->story == psc_workspace_records(f->ws)->step.story);
    g_assert_cmpuint(psc_workspace_comparison(f->ws)->diff_n, >, 20);
    g_assert_nonnull(psc_workspace_picture(f->ws)->scene->ghosts);
    g_assert_cmpint(psc_workspace_cursor(f->ws), ==, 124);
    psc_workspace_set_story(f->ws, PSC_STORY_PLANNED); /* of the step that is shown, too */
    settle(f);
    g_assert_true(analysis(f)->story == analysis(f)->predicted);
    g_assert_cmpuint(psc_workspace_comparison(f->ws)->diff_n, >, 20);
    psc_workspace_set_story(f->ws, PSC_STORY_RECORDED);
    settle(f);
    PscStudy *own = psc_workspace_study(f->ws);
    g_assert_nonnull(own->of_phase);
    of_phase = own->of_phase;
    psc_workspace_set_step(f->ws, 2); /* goes on with the study of the phase: nothing is planned or checked again */
    settle(f);
    g_assert_true(psc_workspace_study(f->ws) == of_phase);
    g_assert_cmpuint(psc_workspace_comparison(f->ws)->diff_n, ==, 0);
    g_assert_cmpint(psc_workspace_cursor(f->ws), ==, 124);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define ADD(path, how, test) g_test_add("/ui/workspace-story/" path, struct fixture, GINT_TO_POINTER(how), set_up, test, tear_down)
    ADD("a-run-as-planned-has-no-difference", FAITHFUL, test_faithful);
    ADD("planned-is-another-study-at-the-same-op", OTHERWISE, test_planned);
    ADD("the-newest-wish-counts", OTHERWISE, test_hurry);
    ADD("the-choice-is-remembered", OTHERWISE, test_remembered);
    ADD("a-plan-made-here-leaves-no-choice", OTHERWISE, test_replanned);
    ADD("a-step-that-went-otherwise-shows-its-own-events", FAITHFUL, test_step);
    ADD("without-events-there-is-no-choice", NO_EVENTS, test_no_choice);
    ADD("without-a-plan-there-is-no-choice", NO_PLAN, test_no_choice);
    return g_test_run();
}
