#include "core/doc/doc.h"
#include "tests/util.h"

/* ---- a source of three phases' steps, in memory --------------------------------------------------------------- */

struct source {
    uint32_t steps[2]; /* known so far */
    uint32_t coming;   /* steps that scanning will find in phase 1 */
    unsigned scans, closed;
    enum psc_status fails; /* what the scan answers at its end */
    struct psc_doc *doc;
};

static uint32_t count_cb(void *ctx, uint32_t phase)
{
    return ((struct source *)ctx)->steps[phase];
}

static enum psc_status load_cb(void *ctx, uint32_t phase, uint32_t step, struct psc_arena *arena,
                               struct psc_step *ret, struct psc_error *reterr)
{
    (void)ctx;
    (void)arena;
    if (phase == 0 && step == 1)
        return psc_fail(reterr, PSC_ERR_PARSE, "this step is cut off");
    *ret = (struct psc_step){.has_token = true, .token = 100 * phase + step, .text = ""};
    return PSC_OK;
}

static enum psc_status scan_cb(void *ctx, uint64_t max_bytes, bool *ret_done, struct psc_error *reterr)
{
    struct source *s = ctx;
    g_assert_cmpuint(max_bytes, >, 0);
    s->scans++;
    if (s->coming) {
        s->coming--;
        s->steps[1]++;
        *ret_done = false;
        return PSC_OK;
    }
    *ret_done = true;
    return s->fails ? psc_fail(reterr, s->fails, "the file ends early") : PSC_OK;
}

static void close_cb(void *ctx)
{
    ((struct source *)ctx)->closed++;
}

static struct psc_doc *open_source(struct source *s)
{
    struct psc_doc *doc = psc_doc_new();
    g_assert_nonnull(doc);
    doc->phases = psc_arena_alloc0(&doc->arena, 2, sizeof *doc->phases);
    doc->phase_n = 2;
    doc->steps = (struct psc_step_source){.count = count_cb, .load = load_cb, .scan = scan_cb, .close = close_cb,
                                          .ctx = s};
    s->doc = doc;
    return doc;
}

static void test_empty(void)
{
    struct psc_doc *doc = psc_doc_new();
    struct psc_arena arena = {0};
    struct psc_step step;
    struct psc_error error;
    g_assert_cmpuint(psc_doc_step_n(doc, 0), ==, 0);
    g_assert_cmpint(psc_doc_load_step(doc, 0, 0, &arena, &step, &error), ==, PSC_ERR_USAGE);
    g_assert_cmpint(psc_doc_scan_all(doc, &error), ==, PSC_OK);
    psc_doc_free(doc);
    psc_doc_free(NULL);
}

static void test_steps(void)
{
    struct source s = {.steps = {2, 1}};
    struct psc_doc *doc = open_source(&s);
    struct psc_arena arena = {0};
    struct psc_step step = {0};
    struct psc_error error;
    g_assert_cmpuint(psc_doc_step_n(doc, 0), ==, 2);
    g_assert_cmpuint(psc_doc_step_n(doc, 2), ==, 0); /* no such phase */
    g_assert_cmpint(psc_doc_load_step(doc, 1, 0, &arena, &step, &error), ==, PSC_OK);
    g_assert_cmpint(step.token, ==, 100);
    g_assert_cmpint(psc_doc_load_step(doc, 0, 1, &arena, &step, &error), ==, PSC_ERR_PARSE);
    g_assert_cmpstr(error.text, ==, "this step is cut off");
    g_assert_cmpint(step.token, ==, 100); /* untouched */
    g_assert_cmpint(psc_doc_load_step(doc, 1, 1, &arena, &step, &error), ==, PSC_ERR_USAGE);
    g_assert_cmpstr(error.text, ==, "phase 1 has 1 step; there is no step 1");
    g_assert_cmpuint(s.closed, ==, 0);
    psc_doc_free(doc);
    g_assert_cmpuint(s.closed, ==, 1);
}

static void test_scan(void)
{
    struct source s = {.steps = {1, 0}, .coming = 5};
    struct psc_doc *doc = open_source(&s);
    struct psc_error error;
    g_assert_cmpint(psc_doc_scan_all(doc, &error), ==, PSC_OK);
    g_assert_cmpuint(psc_doc_step_n(doc, 1), ==, 5);
    g_assert_cmpuint(s.scans, ==, 6);
    psc_doc_free(doc);
}

static void test_truncated(void)
{
    struct source s = {.steps = {1, 0}, .coming = 2, .fails = PSC_ERR_PARSE};
    struct psc_doc *doc = open_source(&s);
    struct psc_error error;
    doc->truncated = true;
    g_assert_cmpint(psc_doc_scan_all(doc, &error), ==, PSC_OK); /* what was found stays */
    g_assert_cmpuint(psc_doc_step_n(doc, 1), ==, 2);
    doc->truncated = false;
    g_assert_cmpint(psc_doc_scan_all(doc, &error), ==, PSC_ERR_PARSE);
    s.fails = PSC_ERR_CANCELLED;
    doc->truncated = true;
    g_assert_cmpint(psc_doc_scan_all(doc, &error), ==, PSC_ERR_CANCELLED);
    psc_doc_free(doc);
}

static enum psc_status new_once(void *data)
{
    (void)data;
    struct psc_doc *doc = psc_doc_new();
    if (!doc)
        return PSC_ERR_NOMEM;
    char *kept = psc_arena_strdup(&doc->arena, "model");
    psc_report_add(&doc->report, PSC_WARNING, 0, 0, UINT64_MAX, "a warning");
    bool failed = !kept || doc->report.failed;
    psc_doc_free(doc);
    return failed ? PSC_ERR_NOMEM : PSC_OK;
}

static void test_oom(void)
{
    g_assert_cmpuint(test_oom_loop(new_once, NULL), >, 2);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/core/doc/a-new-document-has-no-phases-and-no-steps", test_empty);
    g_test_add_func("/core/doc/loads-steps-through-its-source", test_steps);
    g_test_add_func("/core/doc/scans-to-the-end-in-pieces", test_scan);
    g_test_add_func("/core/doc/a-truncated-file-keeps-what-was-found", test_truncated);
    g_test_add_func("/core/doc/frees-everything-when-memory-runs-out", test_oom);
    return g_test_run();
}
