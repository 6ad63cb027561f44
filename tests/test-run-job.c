/* Runs as the window has them: orders in, documents or sentences out; no display. */
#include "app/run-job.h"
#include "tests/util.h"
#include "traces/traces.h"

#include <string.h>

struct outcome {
    gboolean done;
    char *error, *title, *summary, *text;
    PscRunField field;
    guint fill, news, tokens, steps[2], phases, findings;
    guint look_phase;
    gboolean has_look, has_kv;
};

static void tell_cb(const PscRunNews *news, gpointer data)
{
    struct outcome *o = data;
    g_assert_true(g_utf8_validate(news->text, -1, NULL));
    g_free(o->text);
    o->text = g_strdup(news->text);
    o->tokens = news->tokens;
    o->news++;
}

static void done_cb(PscRunResult *result, gpointer data)
{
    struct outcome *o = data;
    PscOpened *opened = result->opened;
    o->done = TRUE;
    o->error = g_strdup(opened->error);
    o->title = g_strdup(opened->title);
    o->summary = g_strdup(result->summary);
    o->field = result->field;
    o->fill = result->fill;
    o->has_look = opened->look.study != NULL;
    o->look_phase = o->has_look ? opened->look.study->phase_index : 0;
    if (!opened->document)
        return;
    const struct psc_doc *doc = opened->document->doc;
    o->phases = doc->phase_n;
    for (guint i = 0; i < MIN(doc->phase_n, 2u); i++)
        o->steps[i] = psc_doc_step_n(doc, i);
    o->has_kv = doc->phases[0].kv != NULL;
    o->findings = opened->look.study ? opened->look.study->analysis->check.finding_n : 0;
}

static void finish(struct outcome *o)
{
    gint64 end = g_get_monotonic_time() + 300 * G_USEC_PER_SEC;
    while (!o->done) {
        g_assert_cmpint(g_get_monotonic_time(), <, end);
        g_main_context_iteration(NULL, TRUE);
    }
}

static void clear(struct outcome *o)
{
    g_free(o->error);
    g_free(o->title);
    g_free(o->summary);
    g_free(o->text);
    *o = (struct outcome){0};
}

static PscRunOrder *tiny(guint tokens)
{
    PscRunOrder *order = psc_run_order_new();
    order->what = PSC_RUN_PRESET;
    order->preset = g_strdup("tiny-qwen2");
    order->prompt = g_strdup("Hello");
    order->tokens = tokens;
    order->backend = g_strdup("cpu");
    order->hashes = TRUE;
    return order;
}

static PscRunOrder *of_graph(const char *relative)
{
    PscRunOrder *order = psc_run_order_new();
    char *path = test_source_path(relative);
    struct psc_report report = {0};
    struct psc_doc *doc = NULL;
    g_assert_cmpint(psc_trace_open(path, NULL, &report, &doc, NULL), ==, PSC_OK);
    psc_report_release(&report);
    g_free(path);
    order->what = PSC_RUN_GRAPH;
    order->document = psc_document_new(doc);
    order->backend = g_strdup("cpu");
    const struct psc_graph *graph = psc_run_order_graph(order);
    order->fills = g_new0(char *, graph->input_n + 1);
    for (uint32_t i = 0; i < graph->input_n; i++)
        order->fills[i] = g_strdup(psc_run_fill_default(graph, graph->inputs[i]));
    return order;
}

static void run(struct outcome *o, PscRunOrder *order)
{
    clear(o);
    psc_run_job_start(order, tell_cb, done_cb, o);
    finish(o);
}

static void test_preset(void)
{
    struct outcome o = {0};
    run(&o, tiny(6));
    g_assert_null(o.error);
    g_assert_true(o.has_look);
    g_assert_cmpuint(o.phases, ==, 2);
    g_assert_cmpuint(o.steps[0], ==, 1);
    g_assert_cmpuint(o.steps[1], ==, 5); /* the first of six tokens comes out of the prefill */
    g_assert_true(o.has_kv);
    g_assert_nonnull(strstr(o.summary, "6 generated"));
    g_assert_nonnull(strstr(o.title, "tiny-qwen2"));
    clear(&o);
}

static void test_ids_and_message(void)
{
    struct outcome o = {0};
    PscRunOrder *order = tiny(2);
    g_free(order->prompt);
    order->prompt = g_strdup("5,77,130");
    order->prompt_is = PSC_RUN_PROMPT_IDS;
    run(&o, order);
    g_assert_null(o.error);
    g_assert_nonnull(strstr(o.summary, "3 tokens of prompt"));
    order = tiny(2);
    g_free(order->prompt);
    order->prompt = g_strdup("5,x");
    order->prompt_is = PSC_RUN_PROMPT_IDS;
    run(&o, order);
    g_assert_cmpint(o.field, ==, PSC_RUN_FIELD_PROMPT);
    g_assert_nonnull(o.error);
    clear(&o);
}

static void test_mixed(void)
{
    struct outcome o = {0};
    PscRunOrder *order = tiny(3);
    g_free(order->backend);
    order->backend = g_strdup("mixed:0-0=deferred,1-99=cpu");
    run(&o, order);
    g_assert_null(o.error);
    g_assert_cmpuint(o.steps[1], ==, 2);
    order = tiny(3);
    g_free(order->backend);
    order->backend = g_strdup("mixed:0-0=toaster");
    run(&o, order);
    g_assert_cmpint(o.field, ==, PSC_RUN_FIELD_BACKEND);
    g_assert_nonnull(strstr(o.error, "toaster"));
    clear(&o);
}

static void test_graph(void)
{
    struct outcome o = {0};
    run(&o, of_graph("traces/samples/chain.json"));
    g_assert_null(o.error);
    g_assert_cmpuint(o.phases, ==, 1);
    g_assert_cmpuint(o.steps[0], ==, 1);
    PscRunOrder *order = of_graph("traces/samples/chain.json");
    order->times = 3;
    run(&o, order);
    g_assert_cmpuint(o.steps[0], ==, 3);
    clear(&o);
}

/* On arenas: phases with values, and one of all runs one after the other, which is shown; a defect is named in the summary. */
static void test_arenas(void)
{
    struct outcome o = {0};
    PscRunOrder *order = tiny(5);
    order->on_arenas = TRUE;
    order->hold = 2;
    order->hashes = TRUE;
    psc_run_job_start(order, tell_cb, done_cb, &o);
    finish(&o);
    g_assert_null(o.error);
    g_assert_cmpuint(o.phases, ==, 3);
    g_assert_cmpuint(o.steps[0], ==, 1);
    g_assert_cmpuint(o.steps[1], ==, 4);
    g_assert_cmpuint(o.findings, ==, 0);
    g_assert_true(o.has_look);
    g_assert_cmpuint(o.look_phase, ==, 2);
    g_assert_nonnull(strstr(o.summary, "0 reads with other bytes than were written"));
    g_assert_nonnull(strstr(o.summary, "5 generated"));
    g_assert_nonnull(strstr(o.summary, "5 runs on arenas, 0 blocks asked of the heap by the last"));
    clear(&o);
    order = of_graph("traces/samples/chain.json");
    order->on_arenas = order->borrow = TRUE;
    order->times = 4;
    order->hold = 1;
    order->arenas.faults = PSC_ARENA_BIT(PSC_ARENA_A7);
    psc_run_job_start(order, tell_cb, done_cb, &o);
    finish(&o);
    g_assert_null(o.error);
    g_assert_nonnull(strstr(o.summary, "the arenas: the block of io slot 0 lies elsewhere"));
    clear(&o);
    order = tiny(2);
    order->on_arenas = TRUE;
    g_free(order->backend);
    order->backend = g_strdup("mixed:0-1=deferred,2-9=cpu");
    psc_run_job_start(order, tell_cb, done_cb, &o);
    finish(&o);
    g_assert_null(o.error);
    g_assert_nonnull(strstr(o.summary, "2 runs on arenas"));
    clear(&o);
}

static void test_wrong_fill(void)
{
    struct outcome o = {0};
    PscRunOrder *order = of_graph("traces/samples/parallel.json");
    guint last = psc_run_order_graph(order)->input_n - 1;
    g_free(order->fills[last]);
    order->fills[last] = g_strdup("1,2");
    run(&o, order);
    g_assert_cmpint(o.field, ==, PSC_RUN_FIELD_FILL);
    g_assert_cmpuint(o.fill, ==, last);
    g_assert_nonnull(strstr(o.error, "2 are given"));
    g_assert_false(o.has_look);
    clear(&o);
}

static void test_wrong_file(void)
{
    struct outcome o = {0};
    PscRunOrder *order = tiny(2);
    order->what = PSC_RUN_FILE;
    order->path = g_strdup("/no/such/model.gguf");
    run(&o, order);
    g_assert_cmpint(o.field, ==, PSC_RUN_FIELD_WHAT);
    g_assert_nonnull(strstr(o.error, "there is no such file"));
    order = tiny(2);
    order->what = PSC_RUN_FILE;
    order->path = test_source_path("README.md");
    run(&o, order);
    g_assert_cmpint(o.field, ==, PSC_RUN_FIELD_WHAT);
    g_assert_nonnull(strstr(o.error, "no model file"));
    clear(&o);
}

/* A clobber that was asked for is found in what was recorded, and does not stop the run. */
static void test_fault(void)
{
    struct outcome o = {0};
    PscRunOrder *order = tiny(2);
    for (uint32_t i = 0; i < psc_named_fault_n(); i++)
        order->faults[i] = g_str_equal(psc_named_fault(i).name, "l5");
    run(&o, order);
    g_assert_null(o.error);
    g_assert_true(o.has_look);
    run(&o, tiny(2));
    g_assert_cmpuint(o.findings, ==, 0);
    clear(&o);
}

static void cancel_at_text(const PscRunNews *news, gpointer data)
{
    struct outcome *o = data;
    tell_cb(news, o);
}

struct cancelling {
    PscRunJob *job;
    struct outcome *o;
};

static gboolean cancel_cb(gpointer data)
{
    struct cancelling *c = data;
    if (c->o->tokens < 2)
        return G_SOURCE_CONTINUE;
    psc_run_job_cancel(c->job);
    return G_SOURCE_REMOVE;
}

/* 2,000 tokens take seconds: cancelled after the first ones, what was recorded is there. */
static void test_cancel(void)
{
    struct outcome o = {0};
    struct cancelling c = {NULL, &o};
    c.job = psc_run_job_start(tiny(2000), cancel_at_text, done_cb, &o);
    guint timer = g_timeout_add(5, cancel_cb, &c);
    finish(&o);
    g_assert_null(g_main_context_find_source_by_id(NULL, timer));
    g_assert_null(o.error);
    g_assert_true(o.has_look);
    g_assert_cmpuint(o.news, >, 0);
    g_assert_cmpuint(o.tokens, >=, 2);
    g_assert_cmpuint(o.steps[1], >, 0);
    g_assert_cmpuint(o.steps[1], <, 1999);
    g_assert_nonnull(strstr(o.summary, "Cancelled"));
    clear(&o);
}

static void never_cb(PscRunResult *result G_GNUC_UNUSED, gpointer data G_GNUC_UNUSED)
{
    g_assert_not_reached();
}

/* Nobody hears of an abandoned run; its worker ends. */
static void test_abandon(void)
{
    struct outcome o = {0};
    psc_run_job_abandon(psc_run_job_start(tiny(2000), tell_cb, never_cb, &o));
    run(&o, tiny(1));
    g_assert_null(o.error);
    clear(&o);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/app/run-job/on-arenas-all-runs-are-one-phase", test_arenas);
    g_test_add_func("/app/run-job/a-preset-becomes-a-document-of-two-phases", test_preset);
    g_test_add_func("/app/run-job/a-prompt-may-be-numbers", test_ids_and_message);
    g_test_add_func("/app/run-job/layers-on-two-backends", test_mixed);
    g_test_add_func("/app/run-job/a-graph-runs-as-often-as-asked", test_graph);
    g_test_add_func("/app/run-job/a-wrong-input-is-named", test_wrong_fill);
    g_test_add_func("/app/run-job/a-wrong-file-is-told", test_wrong_file);
    g_test_add_func("/app/run-job/a-fault-does-not-stop-the-run", test_fault);
    g_test_add_func("/app/run-job/cancelling-keeps-what-was-recorded", test_cancel);
    g_test_add_func("/app/run-job/an-abandoned-run-is-silent", test_abandon);
    return g_test_run();
}
