/* How recordings end: with a document, in a stream, in the middle of a step, without memory. */
#include "tests/recording.h"

#include <string.h>

/* ---- ends in the middle ------------------------------------------------------------------------------------------------ */

static void a_run_that_fails_leaves_the_steps_before(void)
{
    struct recording b = recording_begin(recording_chain, ALL);
    struct psc_error err = {0};
    recording_fill_chain(&b);
    recording_step(&b, 1, "a");
    recording_fill_chain(&b);
    double_control.fail_launch = 1;
    g_assert_cmpint(psc_session_execute(b.s, psc_recorder_sink(b.r), &err), !=, PSC_OK);
    double_control.fail_launch = -1;
    g_assert_cmpint(psc_recorder_step(b.r, true, 2, "b", NULL, 0, &err), ==, PSC_OK); /* about nothing */
    recording_fill_chain(&b);
    recording_step(&b, 3, "c");
    recording_finish(&b);
    g_assert_cmpuint(psc_doc_step_n(b.doc, 0), ==, 2);
    g_assert_cmpint((gint)recording_load(&b, 0, 1).token, ==, 3);
    g_assert_cmpuint(recording_load(&b, 0, 1).break_n, ==, 0);
    recording_end(&b);
}

static void a_run_that_fails_at_once_tells_how_far_it_came(void)
{
    struct recording b = recording_begin(recording_chain, ALL);
    struct psc_error err = {0};
    recording_fill_chain(&b);
    double_control.fail_launch = 2; /* u */
    g_assert_cmpint(psc_session_execute(b.s, psc_recorder_sink(b.r), &err), !=, PSC_OK);
    recording_finish(&b);
    g_assert_cmpuint(b.doc->phase_n, ==, 1);
    g_assert_cmpuint(psc_doc_step_n(b.doc, 0), ==, 0);
    const struct psc_story *story = b.doc->phases[0].story;
    g_assert_nonnull(story);
    int32_t last = -1;
    for (uint32_t i = 0; i < story->event_n; i++)
        last = story->events[i].position > last ? story->events[i].position : last;
    g_assert_cmpint(last, ==, (gint)text_graph_node(b.g, "u"));
    recording_end(&b);
}

static void the_recorder_is_empty_after_its_document(void)
{
    struct recording b = recording_begin(recording_chain, ALL);
    struct psc_doc *again = NULL;
    recording_fill_chain(&b);
    recording_step(&b, -1, "");
    recording_finish(&b);
    recording_fill_chain(&b);
    recording_step(&b, -1, "");
    g_assert_cmpint(psc_recorder_doc(b.r, NULL, NULL, &again, NULL), ==, PSC_OK);
    g_assert_cmpuint(again->phase_n, ==, 1);
    g_assert_cmpuint(psc_doc_step_n(again, 0), ==, 1);
    g_assert_null(again->model);
    psc_doc_free(again);
    recording_end(&b);
}

struct stream {
    GString *seen;
    guint until; /* calls that succeed */
};
static bool stream_phase(void *ctx, uint32_t phase, const struct psc_phase *what)
{
    struct stream *s = ctx;
    g_string_append_printf(s->seen, "P%u:%s ", phase, what->kind);
    return s->seen->len / 4 < s->until;
}
static bool stream_step(void *ctx, uint32_t phase, uint32_t step_, const struct psc_step *what)
{
    struct stream *s = ctx;
    g_string_append_printf(s->seen, "S%u.%u:%u ", phase, step_, what->record_n);
    return s->seen->len / 4 < s->until;
}

static void a_document_is_streamed_while_it_grows(void)
{
    struct stream stream = {g_string_new(NULL), 1000};
    struct psc_recorder_options record = ALL;
    struct psc_error err = {0};
    record.phase = stream_phase;
    record.step = stream_step;
    record.stream_ctx = &stream;
    record.forget = true;
    struct recording b = recording_begin(recording_chain, record);
    recording_fill_chain(&b);
    recording_step(&b, -1, "");
    recording_fill_chain(&b);
    recording_step(&b, -1, "");
    g_assert_cmpint(psc_recorder_phase(b.r, "decode", &err), ==, PSC_OK);
    recording_fill_chain(&b);
    recording_step(&b, -1, "");
    g_assert_cmpstr(stream.seen->str, ==, "P0:prefill S0.0:6 S0.1:6 P1:decode S1.0:6 ");
    recording_finish(&b);
    g_assert_cmpuint(b.doc->phase_n, ==, 2);
    g_assert_cmpuint(psc_doc_step_n(b.doc, 0), ==, 0);
    g_assert_nonnull(b.doc->phases[0].story);
    recording_end(&b);
    /* who streams may end the run */
    g_string_truncate(stream.seen, 0);
    stream.until = 1;
    b = recording_begin(recording_chain, record);
    recording_fill_chain(&b);
    run_execute(b.s, psc_recorder_sink(b.r));
    g_assert_cmpint(psc_recorder_step(b.r, false, 0, "", NULL, 0, &err), ==, PSC_ERR_IO);
    recording_end(&b);
    g_string_free(stream.seen, TRUE);
}

static bool content_cb(void *ctx, uint32_t phase, uint32_t step_, const struct psc_node_info *node, const void *bytes, uint64_t n)
{
    float first;
    memcpy(&first, bytes, sizeof first);
    g_string_append_printf(ctx, "%u.%u %s %u %g\n", phase, step_, node->name, (guint)n, (double)first);
    return true;
}

static void contents_come_in_order_of_execution(void)
{
    GString *seen = g_string_new(NULL);
    struct psc_recorder_options record = {.contents = true, .content = content_cb, .content_ctx = seen};
    struct recording b = recording_begin("x: input 4\nt: add 4 x x\no: mul 4 t t @metal\nout o\n", record);
    run_fill_f32(b.s, "x", F(1, 2, 3, 4), 4);
    recording_step(&b, -1, "");
    run_fill_f32(b.s, "x", F(5, 2, 3, 4), 4);
    recording_step(&b, -1, "");
    g_assert_cmpstr(seen->str, ==, "0.0 x 16 1\n0.0 t 16 2\n0.0 o 16 4\n0.1 x 16 5\n0.1 t 16 10\n0.1 o 16 100\n");
    g_string_free(seen, TRUE);
    recording_end(&b);
}

/* ---- memory ------------------------------------------------------------------------------------------------------------------ */

static enum psc_status record_all(void *data)
{
    struct psc_session *s = NULL;
    struct psc_recorder *r = NULL;
    struct psc_doc *doc = NULL;
    struct psc_arena arena = {0};
    const struct psc_graph *g = data;
    struct psc_session_options options = run_options();
    struct psc_recorder_options record = ALL;
    struct psc_graph_key key = run_key(1);
    const int32_t position = 0;
    const float x[2] = {1, 2};
    double_reset();
    enum psc_status status = psc_session_new(double_apis, 3, &options, &s, NULL);
    if (status == PSC_OK)
        status = psc_recorder_new(&record, &r, NULL);
    if (status == PSC_OK)
        status = psc_session_use(s, &key, run_build_cb, (void *)(uintptr_t)g, NULL);
    for (int i = 0; status == PSC_OK && i < 2; i++) {
        status = psc_recorder_phase(r, i ? "decode" : "prefill", NULL);
        if (status == PSC_OK)
            status = psc_session_fill(s, "x", x, 2, NULL);
        if (status == PSC_OK)
            status = psc_session_fill(s, "positions", &position, 1, NULL);
        if (status == PSC_OK)
            status = psc_recorder_filled(r, 0, x, sizeof x, NULL);
        if (status == PSC_OK)
            status = psc_session_execute(s, psc_recorder_sink(r), NULL);
        if (status == PSC_OK)
            status = psc_recorder_step(r, true, 1, "t", NULL, 0, NULL);
    }
    if (status == PSC_OK)
        status = psc_recorder_doc(r, "m", "p", &doc, NULL);
    struct psc_step step_;
    if (status == PSC_OK)
        status = psc_doc_load_step(doc, 1, 0, &arena, &step_, NULL);
    psc_doc_free(doc);
    psc_recorder_free(r);
    psc_session_free(s);
    psc_arena_release(&arena);
    return status;
}

static void out_of_memory_leaks_nothing(void)
{
    struct psc_arena arena = {0};
    g_assert_cmpuint(test_oom_loop(record_all, text_graph(&arena, recording_attention)), >, 60);
    psc_arena_release(&arena);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/run/recorder/a-run-that-fails-leaves-the-steps-before", a_run_that_fails_leaves_the_steps_before);
    g_test_add_func("/run/recorder/a-run-that-fails-at-once-tells-how-far-it-came", a_run_that_fails_at_once_tells_how_far_it_came);
    g_test_add_func("/run/recorder/it-is-empty-after-its-document", the_recorder_is_empty_after_its_document);
    g_test_add_func("/run/recorder/a-document-is-streamed-while-it-grows", a_document_is_streamed_while_it_grows);
    g_test_add_func("/run/recorder/contents-come-in-order-of-execution", contents_come_in_order_of_execution);
    g_test_add_func("/run/recorder/out-of-memory-leaks-nothing", out_of_memory_leaks_nothing);
    return g_test_run();
}
