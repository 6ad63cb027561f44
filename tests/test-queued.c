/* What a run on a backend with a queue tells of it: enqueued here, completed there. Stories, words, out of memory. */
#include "tests/cuda-lab.h"

#include "backends/cpu/cpu.h"
#include "backends/deferred/deferred.h"
#include "core/debug/explain.h"
#include "core/run/recorder.h"
#include "tests/twice.h"
#include "tests/util.h"

#include <string.h>

#define F(...) (const float[]){__VA_ARGS__}

/* a and b on the device; c on the cpu, which waits for the copy of b; then the device again. */
static const char there_and_back[] = "x: input 4 @dev\na: scale 4 x scale=2 @dev\nb: silu 4 a @dev\nu: input 4\nw: silu 4 u\n"
                                     "c: mul 4 w b\nd: silu 4 c @dev\ne: mul 4 d b @dev\nout e\n";

struct told {
    struct cuda_lab lab;
    struct psc_recorder *r;
    struct psc_doc *doc;
};

static struct told tell(const struct psc_backend_api *api, const char *text, bool values)
{
    struct told t;
    struct psc_error err = {0};
    const struct psc_recorder_options record = {.events = true, .values = values, .hashes = values};
    cuda_lab_begin(&t.lab, api, text, 0, 0);
    t.doc = NULL;
    g_assert_cmpint(psc_recorder_new(&record, &t.r, &err), ==, PSC_OK);
    g_assert_cmpint(psc_recorder_phase(t.r, "decode", &err), ==, PSC_OK);
    for (uint32_t k = 0; k < t.lab.g->n; k++)
        if (t.lab.g->nodes[k].op == PSC_OP_INPUT)
            run_fill_f32(t.lab.s, t.lab.g->nodes[k].name, F(1, 2, 3, 4), 4);
    run_execute(t.lab.s, psc_recorder_sink(t.r));
    g_assert_cmpint(psc_recorder_step(t.r, false, -1, "", NULL, 0, &err), ==, PSC_OK);
    g_assert_cmpint(psc_recorder_doc(t.r, "m", "p", &t.doc, &err), ==, PSC_OK);
    g_assert_nonnull(t.doc->phases[0].story);
    return t;
}

static void forget(struct told *t)
{
    psc_doc_free(t->doc);
    psc_recorder_free(t->r);
    cuda_lab_end(&t->lab);
}

static char *stretches(const struct psc_story *s)
{
    GString *out = g_string_new(NULL);
    for (uint32_t i = 0; i < s->queued_n; i++)
        g_string_append_printf(out, "%s %u-%u until %u; ", s->lanes[s->queued[i].lane].name, s->queued[i].first,
                               s->queued[i].last, s->queued[i].done);
    return g_string_free(out, FALSE);
}

static void expect(const struct psc_backend_api *api, const char *text, bool values, const char *expected)
{
    struct told t = tell(api, text, values);
    char *found = stretches(t.doc->phases[0].story);
    g_assert_cmpstr(found, ==, expected);
    g_free(found);
    forget(&t);
}

/* w runs on the cpu while a and b are still on their way: they are waited for where c reads the copy. */
static void a_copy_waited_for_completes_what_stood_before_it(void)
{
    expect(&psc_backend_cuda_shim, there_and_back, false, "cuda-shim 1-2 until 5; cuda-shim 6-7 until 8; ");
}

/* Probes are fetched once a split: the record waits before the cpu's split begins. */
static void a_record_of_values_waits_at_the_end_of_a_split(void)
{
    expect(&psc_backend_cuda_shim, there_and_back, true, "cuda-shim 1-2 until 3; cuda-shim 6-7 until 8; ");
}

/* Command buffers are handed over when another backend goes on. */
static void command_buffers_are_completed_by_their_submit(void)
{
    expect(&psc_backend_deferred, there_and_back, false, "metal 1-2 until 3; metal 6-7 until 8; ");
    expect(&psc_backend_deferred, "x: input 4 @dev\na: scale 4 x scale=2 @dev\nb: silu 4 a @dev\nout b\n", true, "metal 1-2 until 3; ");
}

/* What is told of the queues in one execution: "1 before 5 at 5; ". */
static void completed_cb(void *ctx, uint32_t backend, uint32_t before, uint32_t at)
{
    g_string_append_printf(ctx, "%u before %u at %u; ", backend, before, at);
}

static void event_cb(void *ctx, const struct psc_event *event, const struct psc_located *at)
{
    (void)at;
    if (event->kind == PSC_EV_EXPORT)
        g_string_append(ctx, "read");
}

/* A split that is recorded or replayed is as long on its way as one that was launched node by node. */
static void replays_are_on_their_way_as_launches_are(void)
{
    static const struct { const char *text, *told; uint32_t captures; } cases[] = {
        {"x: input 4 @dev\na: scale 4 x scale=2 @dev\nb: silu 4 a @dev\nout b\n", "1 before 3 at 3; read", 1},
        {there_and_back, "1 before 5 at 5; 1 before 8 at 8; read", 2},
    };
    for (size_t k = 0; k < G_N_ELEMENTS(cases); k++) {
        struct cuda_lab lab;
        GString *told = g_string_new(NULL);
        const struct psc_sink sink = {.ctx = told, .event = event_cb, .completed = completed_cb};
        cuda_lab_begin(&lab, &psc_backend_cuda_shim, cases[k].text, 0, 0);
        for (int step = 1; step <= 6; step++) {
            g_string_truncate(told, 0);
            for (uint32_t i = 0; i < lab.g->n; i++)
                if (lab.g->nodes[i].op == PSC_OP_INPUT)
                    run_fill_f32(lab.s, lab.g->nodes[i].name, F(1, 2, 3, 4), 4);
            run_execute(lab.s, &sink);
            g_assert_cmpstr(told->str, ==, cases[k].told);
        }
        g_assert_cmpuint(cuda_lab_counters(&lab).captures, ==, cases[k].captures);
        g_assert_cmpuint(cuda_lab_counters(&lab).replays, ==, 3 * cases[k].captures);
        g_string_free(told, TRUE);
        cuda_lab_end(&lab);
    }
}

/* Hands on what a session tells, but says of the second execution that the queue was waited for sooner. */
struct sooner { const struct psc_sink *to; int execution; };
static enum psc_status sooner_begin(void *ctx, struct psc_session *s, uint32_t step, struct psc_error *reterr)
{
    struct sooner *h = ctx;
    h->execution++;
    return h->to->begin(h->to->ctx, s, step, reterr);
}
static void sooner_event(void *ctx, const struct psc_event *e, const struct psc_located *at)
{
    const struct sooner *h = ctx;
    h->to->event(h->to->ctx, e, at);
}
static enum psc_status sooner_end(void *ctx, enum psc_status ended, struct psc_error *reterr)
{
    const struct sooner *h = ctx;
    return h->to->end(h->to->ctx, ended, reterr);
}
static void sooner_completed(void *ctx, uint32_t backend, uint32_t before, uint32_t at)
{
    const struct sooner *h = ctx;
    if (h->execution == 2 && before > 3)
        h->to->completed(h->to->ctx, backend, 3, 3);
    h->to->completed(h->to->ctx, backend, before, at);
}

/* The same events, but another wait: the step has a story of its own that says so; the next one has the first's again. */
static void another_wait_is_another_story(void)
{
    struct cuda_lab lab;
    struct psc_recorder *r;
    struct psc_doc *doc = NULL;
    struct psc_error err = {0};
    const struct psc_recorder_options record = {.events = true};
    cuda_lab_begin(&lab, &psc_backend_cuda_shim, "x: input 4 @dev\na: scale 4 x scale=2 @dev\nb: silu 4 a @dev\nc: add 4 b x @dev\nout c\n", 0, 0);
    g_assert_cmpint(psc_recorder_new(&record, &r, &err), ==, PSC_OK);
    g_assert_cmpint(psc_recorder_phase(r, "decode", &err), ==, PSC_OK);
    struct sooner h = {.to = psc_recorder_sink(r)};
    const struct psc_sink sink = {.ctx = &h, .begin = sooner_begin, .event = sooner_event, .end = sooner_end, .completed = sooner_completed};
    for (int step = 0; step < 3; step++) {
        run_fill_f32(lab.s, "x", F(1, 2, 3, 4), 4);
        run_execute(lab.s, &sink);
        g_assert_cmpint(psc_recorder_step(r, false, -1, "", NULL, 0, &err), ==, PSC_OK);
    }
    g_assert_cmpint(psc_recorder_doc(r, "m", "p", &doc, &err), ==, PSC_OK);
    char *first = stretches(doc->phases[0].story);
    g_assert_cmpstr(first, ==, "cuda-shim 1-3 until 4; ");
    for (uint32_t s = 0; s < 3; s++) {
        struct psc_arena arena = {0};
        struct psc_step step = {0};
        g_assert_cmpint(psc_doc_load_step(doc, 0, s, &arena, &step, &err), ==, PSC_OK);
        g_assert_true((step.story != NULL) == (s == 1));
        if (step.story) {
            char *own = stretches(step.story);
            g_assert_cmpstr(own, ==, "cuda-shim 1-2 until 3; cuda-shim 3-3 until 4; ");
            g_free(own);
        }
        psc_arena_release(&arena);
    }
    g_free(first);
    psc_doc_free(doc);
    psc_recorder_free(r);
    cuda_lab_end(&lab);
}

static void a_host_queues_nothing(void)
{
    expect(&psc_backend_cuda_shim, "x: input 4\na: scale 4 x scale=2\nb: silu 4 a\nout b\n", true, "");
}

static void expect_words(const struct psc_analysis *a, int32_t position, const char *words)
{
    struct psc_text out = {0};
    psc_explain_position(&out, a, position);
    if (!strstr(psc_text_str(&out), words))
        g_error("\"%s\" does not say \"%s\"", psc_text_str(&out), words);
    psc_text_release(&out);
}

static void words_say_when_and_who_waits(void)
{
    struct told t = tell(&psc_backend_cuda_shim, there_and_back, false);
    const struct psc_analysis_options options = {0};
    struct psc_analysis *a = NULL;
    struct psc_error err = {0};
    g_assert_cmpint(psc_analysis_new(&t.doc->phases[0], &options, &a, &err), ==, PSC_OK);
    expect_words(a, 1, "#1 scale \xe2\x86\x92 a: only enqueued on cuda-shim, completed before #5 mul; ");
    expect_words(a, 5, "the host has waited for cuda-shim, whose ops 1\xe2\x80\x93" "2 are completed; ");
    expect_words(a, 7, "only enqueued on cuda-shim, completed at the end; ");
    expect_words(a, 8, "whose ops 6\xe2\x80\x93" "7 are completed; ");
    struct psc_text out = {0};
    psc_explain_position(&out, a, 4);
    g_assert_null(strstr(psc_text_str(&out), "enqueued"));
    psc_text_release(&out);
    g_assert_cmpuint(a->check.finding_n, ==, 0);
    psc_analysis_free(a);
    forget(&t);
}

static enum psc_status record_once(void *data)
{
    struct cuda_lab *lab = data;
    struct psc_session *s = NULL;
    struct psc_recorder *r = NULL;
    struct psc_doc *doc = NULL;
    const struct psc_recorder_options record = {.events = true};
    struct psc_session_options options = run_options();
    struct psc_graph_key key = run_key(1);
    options.config.threads = 1;
    enum psc_status status = psc_session_new(lab->apis, 2, &options, &s, NULL);
    if (status == PSC_OK)
        status = psc_recorder_new(&record, &r, NULL);
    if (status == PSC_OK)
        status = psc_session_use(s, &key, run_build_cb, lab->g, NULL);
    if (status == PSC_OK)
        status = psc_recorder_phase(r, "decode", NULL);
    if (status == PSC_OK)
        status = psc_session_fill(s, "x", F(1, 2, 3, 4), 4, NULL);
    if (status == PSC_OK)
        status = psc_session_fill(s, "u", F(1, 2, 3, 4), 4, NULL);
    if (status == PSC_OK)
        status = psc_session_execute(s, psc_recorder_sink(r), NULL);
    if (status == PSC_OK)
        status = psc_recorder_step(r, false, -1, "", NULL, 0, NULL);
    if (status == PSC_OK)
        status = psc_recorder_doc(r, "m", "p", &doc, NULL);
    g_assert_true(status != PSC_OK || doc->phases[0].story->queued_n == 2);
    psc_doc_free(doc);
    psc_recorder_free(r);
    psc_session_free(s);
    return status;
}

static void out_of_memory_leaks_nothing(void)
{
    struct cuda_lab lab = {.apis = {&psc_backend_cpu, &psc_backend_cuda_shim}};
    lab.g = cuda_lab_graph(&lab, there_and_back);
    g_assert_cmpuint(test_oom_loop(record_once, &lab), >, 60);
    psc_arena_release(&lab.arena);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    twice_looks = false; /* a look at a value waits for its queue: what these tests are about */
    g_test_add_func("/run/queued/a-copy-waited-for-completes-what-stood-before-it", a_copy_waited_for_completes_what_stood_before_it);
    g_test_add_func("/run/queued/a-record-of-values-waits-at-the-end-of-a-split", a_record_of_values_waits_at_the_end_of_a_split);
    g_test_add_func("/run/queued/command-buffers-are-completed-by-their-submit", command_buffers_are_completed_by_their_submit);
    g_test_add_func("/run/queued/replays-are-on-their-way-as-launches-are", replays_are_on_their_way_as_launches_are);
    g_test_add_func("/run/queued/another-wait-is-another-story", another_wait_is_another_story);
    g_test_add_func("/run/queued/a-host-queues-nothing", a_host_queues_nothing);
    g_test_add_func("/run/queued/words-say-when-and-who-waits", words_say_when_and_who_waits);
    g_test_add_func("/run/queued/out-of-memory-leaks-nothing", out_of_memory_leaks_nothing);
    return g_test_run();
}
