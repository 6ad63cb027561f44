/* Whole runs on arenas (core/run/run.h): what the result says, each defect, and each allocation failing. */
#include "core/run/run.h"
#include "tests/runs.h"
#include "tests/text-graph.h"
#include "tests/util.h"

#include <string.h>

static const char *const chain = "x: input 64\na: scale 64 x scale=2\nb: silu 64 a\nc: add 64 b x\nd: scale 64 c scale=3\nout d\n";
static float caller[64];

/* Whole runs (core/run/run.h) with each defect and nothing kept: they end, in whatever way, and touch nothing that is gone. */
static struct psc_run_request a_run(const struct psc_graph *g, const struct psc_run_fill *fill, struct psc_arena_settings *settings)
{
    struct psc_session_options options = run_options();
    options.arenas = settings;
    return (struct psc_run_request){.graph = g, .fills = fill, .fill_n = 1, .times = 4, .refill = true, .hold = 2, .borrow_inputs = true,
                                    .session = options, .record = {.events = true}};
}

static void test_faulty_runs(void)
{
    struct psc_arena arena = {0};
    struct psc_graph *g = text_graph(&arena, "x: input 64\na: scale 64 x scale=2\nb: silu 64 a\nc: add 64 b x\nd: view 32 c +32\nout c d\n");
    uint32_t broken = 0, ended = 0;
    double_reset();
    for (unsigned fault = 0; fault < PSC_ARENA_FAULT_N + 1; fault++) {
        struct psc_arena_settings settings = {.faults = fault ? PSC_ARENA_BIT(fault - 1) : 0, .has_cap = {fault % 2, fault % 3 == 1},
                                              .guards = fault % 2 ? PSC_ARENA_UPSTREAM : PSC_ARENA_HARDENED};
        struct psc_run_fill fill = {"x", caller, 64};
        struct psc_run_request request = a_run(g, &fill, &settings);
        struct psc_run_result result;
        struct psc_error error = {0};
        enum psc_status status = psc_run(double_apis, 3, &request, &result, &error);
        g_test_message("a%u: %s%s", fault, error.text, result.arena_broken.text);
        ended += status == PSC_OK;
        broken += result.arena_broken.ever != 0;
        if (!fault) {
            g_assert_cmpint(status, ==, PSC_OK);
            g_assert_cmpuint(result.arena_broken.ever, ==, 0);
            g_assert_cmpuint(result.finding_n, ==, 0);
            g_assert_cmpuint(result.confirmed_n, ==, 0);
            g_assert_cmpuint(result.arena_run_n, ==, 4);
        }
        psc_run_result_release(&result);
    }
    g_assert_cmpuint(broken, >=, 7);
    g_assert_cmpuint(ended, >=, 7);
    psc_arena_release(&arena);
}

/* With values asked for, the run has a phase of them before that of the arenas; capture at the end of splits is refused. */
static void test_values(void)
{
    struct psc_arena arena = {0};
    struct psc_graph *g = text_graph(&arena, chain);
    struct psc_arena_settings settings = {.guards = PSC_ARENA_HARDENED};
    struct psc_run_fill fill = {"x", caller, 64};
    struct psc_run_request request = a_run(g, &fill, &settings);
    struct psc_run_result result;
    struct psc_error error = {0};
    struct psc_step step;
    double_reset();
    request.record = (struct psc_recorder_options){.events = true, .values = true, .hashes = true};
    g_assert_cmpint(psc_run(double_apis, 3, &request, &result, &error), ==, PSC_OK);
    g_assert_cmpuint(result.doc->phase_n, ==, 2);
    g_assert_cmpuint(psc_doc_step_n(result.doc, 0), ==, 4);
    g_assert_cmpuint(psc_doc_step_n(result.doc, 1), ==, 0);
    g_assert_null(result.doc->phases[0].plan);
    g_assert_cmpuint(result.doc->phases[0].story->arena_n, ==, 0);
    g_assert_cmpstr(result.doc->phases[1].kind, ==, "arena");
    g_assert_cmpuint(result.doc->phases[1].story->arena_n, ==, 2);
    g_assert_cmpint(psc_doc_load_step(result.doc, 0, 3, &arena, &step, &error), ==, PSC_OK);
    g_assert_cmpuint(step.record_n, ==, 5);
    g_assert_cmpuint(result.finding_n + result.confirmed_n, ==, 0);
    psc_run_result_release(&result);
    request.record.capture = PSC_CAPTURE_SPLIT;
    g_assert_cmpint(psc_run(double_apis, 3, &request, &result, &error), ==, PSC_ERR_USAGE);
    g_assert_nonnull(strstr(error.text, "captured after its node"));
    psc_run_result_release(&result);
    psc_arena_release(&arena);
}

static enum psc_status whole_run(void *data)
{
    struct psc_arena_settings settings = {.guards = PSC_ARENA_HARDENED};
    struct psc_run_fill fill = {"x", caller, 64};
    struct psc_run_request request = a_run(data, &fill, &settings);
    struct psc_run_result result;
    struct psc_error error = {0};
    request.times = 3;
    request.hold = 1;
    request.record.values = request.record.hashes = true;
    enum psc_status status = psc_run(double_apis, 3, &request, &result, &error);
    psc_run_result_release(&result);
    return status;
}

static void test_run_oom(void)
{
    struct psc_arena arena = {0};
    struct psc_graph *g = text_graph(&arena, chain);
    double_reset();
    g_assert_cmpuint(test_oom_loop(whole_run, g), >, 60);
    psc_arena_release(&arena);
}

/* What the result and its document say: a row a run, one phase, facts. */
static void test_result(void)
{
    struct psc_arena arena = {0};
    struct psc_graph *g = text_graph(&arena, chain);
    struct psc_arena_settings settings = {.guards = PSC_ARENA_HARDENED, .has_cap = {true, false}, .cap = {4096, 0}};
    struct psc_run_fill fill = {"x", caller, 64};
    struct psc_run_request request = a_run(g, &fill, &settings);
    struct psc_run_result result;
    struct psc_error error = {0};
    double_reset();
    g_assert_cmpint(psc_run(double_apis, 3, &request, &result, &error), ==, PSC_OK);
    g_assert_true(result.on_arenas);
    g_assert_cmpuint(result.arena_run_n, ==, 4);
    for (uint32_t i = 0; i < 4; i++) {
        g_assert_cmpuint(result.arena_runs[i].run, ==, i);
        g_assert_cmpuint(result.arena_runs[i].system_allocs, ==, i == 0 ? 3 : i <= 2); /* a, b, c in two blocks; d */
        g_assert_cmpuint(result.arena_runs[i].copied, ==, 0);
        g_assert_cmpuint(result.arena_runs[i].held, ==, i < 2 ? i + 1 : 2);
    }
    g_assert_cmpuint(result.doc->phase_n, ==, 1);
    g_assert_cmpstr(result.doc->phases[0].kind, ==, "arena");
    g_assert_nonnull(strstr(result.doc->phases[0].note, "4 runs on arenas: 3 blocks asked of the heap in the first, 2 in all later ones"));
    g_assert_cmpuint(result.doc->phases[0].story->arena_n, ==, 2);
    g_assert_cmpuint(result.doc->phases[0].story->alarm_n, ==, 0);
    for (uint32_t i = 1; i < result.doc->fact_n; i++)
        g_assert_cmpstr(result.doc->facts[i - 1].key, <, result.doc->facts[i].key);
    float last[64]; /* the last run's output is there, though it is held */
    g_assert_cmpint(psc_session_read(result.session, text_graph_node(g, "d"), last, 64, &error), ==, PSC_OK);
    psc_run_result_release(&result);
    request.session.arenas = NULL;
    g_assert_cmpint(psc_run(double_apis, 3, &request, &result, &error), ==, PSC_ERR_USAGE);
    g_assert_nonnull(strstr(error.text, "on arenas only"));
    psc_run_result_release(&result);
    psc_arena_release(&arena);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/run/arena/a-row-a-run-and-one-phase", test_result);
    g_test_add_func("/run/arena/values-are-phases-before-that-of-the-arenas", test_values);
    g_test_add_func("/run/arena/faulty-runs-come-to-an-end", test_faulty_runs);
    g_test_add_func("/run/arena/oom", test_run_oom);
    return g_test_run();
}
