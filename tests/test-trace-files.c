/* Traces as files of any length: scanned in pieces, in a thread, cancelled, cut off and written over. */
#include "tests/trace-texts.h"
#include "tests/util.h"
#include "traces/traces.h"

#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>

static const struct psc_open_options whole = {.whole = true};

/* A trace of the given number of steps. */
static char *make_trace(unsigned steps, size_t *ret_n)
{
    GString *text = g_string_new("{\"format\":\"minfer-trace\",\"model\":\"m\",\"phases\":[{\"graph\":" GRAPH
                                 ",\"kind\":\"decode\",\"steps\":[");
    for (unsigned s = 0; s < steps; s++)
        g_string_append_printf(text,
                               "%s{\"token\":%u,\"text\":\"t%u\",\"logits_top\":[],\"nodes\":[" REC(
                                   "0") "," REC("1") "," REC("2") "]}",
                               s ? "," : "", s, s);
    g_string_append(text, "]}],\"prompt\":\"x\",\"version\":1}");
    *ret_n = text->len;
    return g_string_free(text, FALSE);
}

static void the_first_step_is_there_before_the_scan_ends(void)
{
    size_t n;
    char *text = make_trace(60000, &n), *folder = g_dir_make_tmp("psc-XXXXXX", NULL);
    char *path = g_build_filename(folder, "long.json", NULL);
    g_assert_cmpint(psc_file_write(path, text, n, NULL), ==, PSC_OK);
    g_free(text);
    struct psc_doc *doc = NULL;
    g_assert_cmpint(psc_trace_open(path, NULL, NULL, &doc, NULL), ==, PSC_OK);
    uint64_t total = 0, done = doc->steps.progress(doc->steps.ctx, &total);
    g_assert_cmpuint(total, ==, n);
    g_assert_cmpuint(done, <, n / 2);
    g_assert_cmpuint(psc_doc_step_n(doc, 0), >=, 1);
    bool complete = false;
    unsigned pieces = 0;
    for (; !complete; pieces++)
        g_assert_cmpint(doc->steps.scan(doc->steps.ctx, 1 << 20, &complete, NULL), ==, PSC_OK);
    g_assert_cmpuint(pieces, >, 10);
    g_assert_cmpuint(psc_doc_step_n(doc, 0), ==, 60000);
    g_assert_cmpuint(doc->steps.progress(doc->steps.ctx, NULL), ==, n);
    g_assert_cmpstr(doc->prompt, ==, "x");
    struct psc_arena arena = {0};
    struct psc_step step;
    g_assert_cmpint(psc_doc_load_step(doc, 0, 59999, &arena, &step, NULL), ==, PSC_OK);
    g_assert_cmpint((gint)step.token, ==, 59999);
    psc_arena_release(&arena);
    psc_doc_free(doc);
    g_unlink(path);
    g_rmdir(folder);
    g_free(path);
    g_free(folder);
}

static gpointer scan_thread(gpointer data)
{
    struct psc_doc *doc = data;
    bool done = false;
    while (!done)
        g_assert_cmpint(doc->steps.scan(doc->steps.ctx, 100000, &done, NULL), ==, PSC_OK);
    return NULL;
}

static void steps_load_while_another_thread_scans(void)
{
    size_t n;
    char *text = make_trace(30000, &n);
    struct psc_doc *doc = NULL;
    g_assert_cmpint(psc_trace_open_memory("t", text, n, NULL, NULL, &doc, NULL), ==, PSC_OK);
    GThread *thread = g_thread_new("scan", scan_thread, doc);
    unsigned loads = 0;
    uint32_t steps;
    do {
        struct psc_arena arena = {0};
        struct psc_step step;
        steps = psc_doc_step_n(doc, 0);
        g_assert_cmpint(psc_doc_load_step(doc, 0, steps - 1, &arena, &step, NULL), ==, PSC_OK);
        g_assert_cmpint((gint)step.token, ==, (gint)steps - 1);
        g_assert_cmpuint(step.record_n, ==, 3);
        psc_arena_release(&arena);
        loads++;
    } while (steps < 30000);
    g_thread_join(thread);
    g_assert_cmpuint(loads, >, 0);
    psc_doc_free(doc);
    g_free(text);
}

static bool cancel_at_once(void *ctx, uint64_t done, uint64_t total)
{
    ++*(unsigned *)ctx;
    return done > total;
}

static void opening_can_be_cancelled(void)
{
    unsigned calls = 0;
    const struct psc_open_options options = {.progress = cancel_at_once, .ctx = &calls, .whole = true};
    struct psc_doc *doc = NULL;
    g_assert_cmpint(psc_trace_open_memory("t", GRAPH, strlen(GRAPH), &options, NULL, &doc, NULL), ==,
                    PSC_ERR_CANCELLED);
    g_assert_cmpuint(calls, ==, 1);
    g_assert_null(doc);
}

static void a_fault_far_behind_stops_the_scan_and_keeps_what_was_found(void)
{
    size_t n;
    char *text = make_trace(2000, &n);
    memcpy(strstr(text, "]}],\"prompt\""), "#", 1);
    struct psc_doc *doc = NULL;
    struct psc_error err = {0};
    g_assert_cmpint(psc_trace_open_memory("t", text, n, NULL, NULL, &doc, NULL), ==, PSC_OK);
    g_assert_cmpint(psc_doc_scan_all(doc, &err), ==, PSC_ERR_PARSE);
    g_assert_cmpuint(err.byte, >=, n - 40);
    g_assert_cmpint(psc_doc_scan_all(doc, &err), ==, PSC_ERR_PARSE); /* and says so again */
    g_assert_cmpuint(psc_doc_step_n(doc, 0), ==, 2000);
    psc_doc_free(doc);
    g_assert_cmpint(psc_trace_open_memory("t", text, n, &whole, NULL, &doc, &err), ==, PSC_ERR_PARSE);
    g_free(text);
}

/* The engine may write its next trace over the one that is open: that must not end the program. */
static void a_file_that_was_written_over_says_so(void)
{
    size_t n;
    char *text = make_trace(30000, &n), *folder = g_dir_make_tmp("psc-XXXXXX", NULL);
    char *path = g_build_filename(folder, "t.json", NULL);
    struct psc_doc *doc = NULL;
    struct psc_error err = {0};
    struct psc_arena arena = {0};
    struct psc_step step;
    g_assert_true(g_file_set_contents(path, text, (gssize)n, NULL));
    g_assert_cmpint(psc_trace_open(path, NULL, NULL, &doc, NULL), ==, PSC_OK);
    g_assert_cmpint(psc_doc_load_step(doc, 0, 0, &arena, &step, NULL), ==, PSC_OK);
    FILE *f = fopen(path, "wb"); /* the same file, now empty */
    g_assert_nonnull(f);
    fclose(f);
    g_assert_cmpint(psc_doc_load_step(doc, 0, 0, &arena, &step, &err), ==, PSC_ERR_IO);
    g_assert_nonnull(strstr(err.text, "changed after it was opened"));
    g_assert_cmpint(psc_doc_scan_all(doc, &err), ==, PSC_ERR_IO);
    psc_arena_release(&arena);
    psc_doc_free(doc);
    /* a file that is replaced by another of its name stays what it was */
    g_assert_true(g_file_set_contents(path, text, (gssize)n, NULL));
    g_assert_cmpint(psc_trace_open(path, NULL, NULL, &doc, NULL), ==, PSC_OK);
    g_assert_cmpint(psc_file_write(path, "{}", 2, NULL), ==, PSC_OK);
    g_assert_cmpint(psc_doc_scan_all(doc, NULL), ==, PSC_OK);
    g_assert_cmpuint(psc_doc_step_n(doc, 0), ==, 30000);
    psc_doc_free(doc);
    g_unlink(path);
    g_rmdir(folder);
    g_free(path);
    g_free(folder);
    g_free(text);
}

static void what_cannot_be_opened_says_why(void)
{
    struct psc_doc *doc = NULL;
    struct psc_error err = {0};
    g_assert_cmpint(psc_trace_open("/no/such/file.json", NULL, NULL, &doc, &err), ==, PSC_ERR_IO);
    g_assert_nonnull(strstr(err.text, "file.json: cannot be opened: No such file"));
    g_assert_cmpint(psc_trace_open("/", NULL, NULL, &doc, &err), ==, PSC_ERR_IO);
    g_assert_nonnull(strstr(err.text, "is a folder"));
    g_assert_cmpint(psc_trace_open("/dev/null", NULL, NULL, &doc, &err), ==, PSC_ERR_IO);
    g_assert_null(doc);
}

static void a_long_string_is_read_whole(void)
{
    /* past the size from which it is decoded in pieces; escapes fall on every kind of boundary */
    GString *text = g_string_new(
        "{\"format\":\"minfer-trace\",\"version\":1,\"phases\":[" PHASE(STEP("")) "],\"prompt\":\"");
    size_t length = 0;
    while (text->len < ((size_t)40 << 20)) {
        g_string_append(text, "0123456789\\n\xc3\xa9\\ud83d\\ude00");
        length += 10 + 1 + 2 + 4;
    }
    g_string_append(text, "\"}");
    char *folder = g_dir_make_tmp("psc-XXXXXX", NULL), *path = g_build_filename(folder, "long.json", NULL);
    g_assert_cmpint(psc_file_write(path, text->str, text->len, NULL), ==, PSC_OK);
    g_string_free(text, TRUE);
    struct psc_doc *doc = NULL;
    g_assert_cmpint(psc_trace_open(path, &whole, NULL, &doc, NULL), ==, PSC_OK);
    g_assert_cmpuint(strlen(doc->prompt), ==, length);
    for (size_t i = 0; i < length; i += 17)
        g_assert_cmpint(memcmp(doc->prompt + i, "0123456789\n\xc3\xa9\xf0\x9f\x98\x80", 17), ==, 0);
    psc_doc_free(doc);
    g_unlink(path);
    g_rmdir(folder);
    g_free(path);
    g_free(folder);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/traces/files/the-first-step-is-there-before-the-scan-ends",
                    the_first_step_is_there_before_the_scan_ends);
    g_test_add_func("/traces/files/steps-load-while-another-thread-scans",
                    steps_load_while_another_thread_scans);
    g_test_add_func("/traces/files/opening-can-be-cancelled", opening_can_be_cancelled);
    g_test_add_func("/traces/files/a-fault-far-behind-stops-the-scan-and-keeps-what-was-found",
                    a_fault_far_behind_stops_the_scan_and_keeps_what_was_found);
    g_test_add_func("/traces/files/a-file-that-was-written-over-says-so",
                    a_file_that_was_written_over_says_so);
    g_test_add_func("/traces/files/what-cannot-be-opened-says-why", what_cannot_be_opened_says_why);
    g_test_add_func("/traces/files/a-long-string-is-read-whole", a_long_string_is_read_whole);
    return g_test_run();
}
