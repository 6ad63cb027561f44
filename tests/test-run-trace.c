/* What recorded runs add to a trace, written and read back. */
#include "tests/util.h"
#include "traces/traces.h"

#include <string.h>

static struct psc_doc *open_text(const char *text, size_t n)
{
    struct psc_doc *doc = NULL;
    struct psc_error err = {0};
    const struct psc_open_options whole = {.whole = true};
    enum psc_status status = psc_trace_open_memory("test", text, n, &whole, NULL, &doc, &err);
    g_assert_cmpstr(status == PSC_OK ? "" : err.text, ==, "");
    return doc;
}

static bool collect(void *ctx, const char *bytes, size_t n)
{
    struct psc_text *text = ctx;
    psc_text_add_n(text, bytes, n);
    return !text->failed;
}

/* {step}: our key of the step. */
#define TRACE(step)                                                                                                \
    "{\"format\":\"minfer-trace\",\"model\":\"m\",\"phases\":[{\"graph\":{\"format\":\"minfer-graph\",\"inputs\":[10]," \
    "\"kind\":\"decode\",\"model\":\"m\",\"nodes\":[{\"backend\":\"cpu\",\"detail\":{},\"dtype\":\"f32\",\"id\":10,"   \
    "\"meta\":{},\"name\":\"x\",\"op\":\"input\",\"shape\":[4,1,1,1],\"src\":[]},{\"backend\":\"cpu\",\"detail\":{},"  \
    "\"dtype\":\"f32\",\"id\":11,\"meta\":{},\"name\":\"s\",\"op\":\"silu\",\"shape\":[4,1,1,1],\"src\":[10]}],"       \
    "\"outputs\":[11],\"version\":1},\"kind\":\"decode\",\"planscope\":{\"kv\":{\"format\":\"f32\",\"layers\":2,"       \
    "\"row_bytes\":128,\"rows\":64,\"width\":32}},\"steps\":[{\"logits_top\":[],\"nodes\":[{\"dtype\":\"f32\","         \
    "\"id\":11,\"n\":4,\"stats\":{\"absmean\":1.0,\"max\":2.0,\"mean\":0.0,\"min\":-2.0},\"stride\":1,"                \
    "\"values\":[0.0,1.0,-1.0,2.0]}],\"planscope\":" step ",\"text\":\"t\",\"token\":5}]}],"                           \
    "\"planscope\":{\"run\":{\"backend\":\"mixed:0=deferred\",\"fault\":\"h1,l10\"}},\"prompt\":\"p\",\"version\":1}"

static const char full[] = TRACE("{\"breaks\":[[11,0,10,\"0123456789abcdef\",\"fedcba9876543210\"],"
                                 "[null,0,11,\"0000000000000001\",\"ffffffffffffffff\"]],\"hashed\":true,"
                                 "\"hashes\":[[11,\"00000000deadbeef\"]],"
                                 "\"kv\":[[11,-1,\"write\",3,5],[11,1,\"read\",0,5],[11,0,\"read\",0,5,2]],"
                                 "\"sequences\":[[0,0,20,3],[18446744073709551615,20,8,8,0,2]]}");

static void what_a_run_knows_comes_back(void)
{
    struct psc_doc *doc = open_text(full, sizeof full - 1);
    struct psc_arena arena = {0};
    struct psc_step step;
    g_assert_cmpuint(doc->report.n, ==, 0);
    g_assert_cmpuint(doc->fact_n, ==, 2);
    g_assert_cmpstr(doc->facts[0].key, ==, "backend");
    g_assert_cmpstr(doc->facts[0].value, ==, "mixed:0=deferred");
    g_assert_cmpstr(doc->facts[1].value, ==, "h1,l10");
    const struct psc_kv_layout *kv = doc->phases[0].kv;
    g_assert_nonnull(kv);
    g_assert_cmpuint(kv->layers, ==, 2);
    g_assert_cmpuint(kv->rows, ==, 64);
    g_assert_cmpuint(kv->width, ==, 32);
    g_assert_cmpuint(kv->row_bytes, ==, 128);
    g_assert_cmpstr(kv->format, ==, "f32");
    g_assert_cmpint(psc_doc_load_step(doc, 0, 0, &arena, &step, NULL), ==, PSC_OK);
    g_assert_true(step.hashed);
    g_assert_null(step.story);
    g_assert_cmpuint(step.break_n, ==, 2);
    g_assert_cmpuint(step.breaks[0].reader, ==, 1);
    g_assert_cmpuint(step.breaks[0].value, ==, 0);
    g_assert_cmphex(step.breaks[0].expected, ==, UINT64_C(0x0123456789abcdef));
    g_assert_cmphex(step.breaks[0].found, ==, UINT64_C(0xfedcba9876543210));
    g_assert_cmpuint(step.breaks[1].reader, ==, PSC_NONE);
    g_assert_true(step.records[0].has_hash);
    g_assert_cmphex(step.records[0].hash, ==, UINT64_C(0xdeadbeef));
    g_assert_cmpuint(step.sequence_n, ==, 2);
    g_assert_cmpuint(step.sequences[0].cap, ==, 20);
    g_assert_cmpuint(step.sequences[0].rows, ==, 3);
    g_assert_cmpuint(step.sequences[1].seq, ==, UINT64_MAX);
    g_assert_cmpuint(step.sequences[1].start, ==, 20);
    g_assert_cmpuint(step.sequences[1].shared_rows, ==, 2);
    g_assert_cmpuint(step.kv_n, ==, 3);
    g_assert_cmpuint(step.kv[1].unwritten, ==, 0);
    g_assert_cmpuint(step.kv[2].unwritten, ==, 2);
    g_assert_true(step.kv[0].is_write && !step.kv[1].is_write);
    g_assert_cmpint(step.kv[0].layer, ==, -1);
    g_assert_cmpuint(step.kv[0].lo, ==, 3);
    g_assert_cmpuint(step.kv[1].hi, ==, 5);
    psc_arena_release(&arena);
    psc_doc_free(doc);
}

static void it_is_written_as_it_was(void)
{
    struct psc_doc *doc = open_text(full, sizeof full - 1);
    struct psc_text out = {0};
    g_assert_cmpint(psc_trace_write(doc, NULL, NULL, false, collect, &out, NULL), ==, PSC_OK);
    g_assert_cmpstr(out.s, ==, full);
    psc_text_release(&out);
    psc_doc_free(doc);
}

static void a_step_has_events_of_its_own(void)
{
    static const char text[] = TRACE(
        "{\"events\":{\"backends\":[\"cpu\"],\"buffers\":[[0,\"b0\",0,\"pool\",1024,0],[1,\"b1\",0,\"pool\",1024,1024]],"
        "\"events\":[[\"fill\",-1,null,0,0,1,0,0,16,null,null,0,0,0,0],[\"read\",1,11,0,0,1,0,0,16,null,null,1,0,0,0],"
        "[\"write\",1,11,1,0,0,0,0,16,null,null,1,0,0,0],[\"export\",2,null,1,0,0,0,0,16,null,null,0,0,0,0]],"
        "\"executor\":\"serial\",\"lanes\":[[\"host\",null],[\"cpu\",0]],\"positions\":2,\"predicted\":false,"
        "\"values\":[[\"fill\",null,10,0,-1,0,null,0,16,false,false],[\"node\",null,11,0,-1,0,null,0,16,false,true]]}}");
    struct psc_doc *doc = open_text(text, sizeof text - 1);
    struct psc_arena arena = {0};
    struct psc_step step;
    struct psc_text out = {0};
    g_assert_cmpint(psc_doc_load_step(doc, 0, 0, &arena, &step, NULL), ==, PSC_OK);
    g_assert_nonnull(step.story);
    g_assert_cmpuint(step.story->event_n, ==, 4);
    g_assert_false(step.hashed);
    g_assert_cmpint(psc_trace_write(doc, NULL, NULL, false, collect, &out, NULL), ==, PSC_OK);
    g_assert_cmpstr(out.s, ==, text);
    psc_text_release(&out);
    psc_arena_release(&arena);
    psc_doc_free(doc);
}

struct wrong {
    const char *name, *text, *mention;
};
static const struct wrong wrongs[] = {
    {"an-unknown-reader", TRACE("{\"breaks\":[[12,0,10,\"0123456789abcdef\",\"0123456789abcdef\"]]}"), "breaks[0]: the reader"},
    {"a-short-hash", TRACE("{\"breaks\":[[11,0,10,\"0123\",\"0123456789abcdef\"]]}"), "breaks[0]: a hash"},
    {"an-upper-case-hash", TRACE("{\"hashes\":[[11,\"0123456789ABCDEF\"]]}"), "hashes[0]: the hash"},
    {"rows-backwards", TRACE("{\"kv\":[[11,0,\"read\",0,1],[11,0,\"read\",5,1]]}"), "kv[1]: the rows"},
    {"more-unwritten-rows-than-rows", TRACE("{\"kv\":[[11,0,\"read\",0,1,2]]}"), "kv[0]: the number of unwritten rows"},
    {"an-odd-access", TRACE("{\"kv\":[[11,0,\"reads\",0,1]]}"), "kv[0]: the access"},
    {"a-row-that-is-none", TRACE("{\"kv\":[7]}"), "kv[0]: the row"},
    {"a-run-that-ends-nowhere", TRACE("{\"sequences\":[[0,0,4,1],[1,4294967295,2,0]]}"), "sequences[1]: the run"},
    {"more-rows-than-cells", TRACE("{\"sequences\":[[0,0,4,5]]}"), "sequences[0]: the number of rows in use"},
    {"half-a-shared-prefix", TRACE("{\"sequences\":[[0,0,4,4,9]]}"), "sequences[0]: the shared prefix"},
    {"a-sequence-without-a-number", TRACE("{\"sequences\":[[-1,0,4,4]]}"), "sequences[0]: the sequence"},
    {"events-of-another-graph", TRACE("{\"events\":{\"backends\":[],\"buffers\":[],\"events\":[],\"lanes\":[],\"positions\":3,\"values\":[]}}"), "positions"},
};

static void is_told(gconstpointer data)
{
    const struct wrong *w = data;
    struct psc_doc *doc = open_text(w->text, strlen(w->text));
    struct psc_arena arena = {0};
    struct psc_step step;
    struct psc_error err = {0};
    g_assert_cmpint(psc_doc_load_step(doc, 0, 0, &arena, &step, &err), ==, PSC_ERR_PARSE);
    g_assert_nonnull(strstr(err.text, w->mention));
    psc_arena_release(&arena);
    psc_doc_free(doc);
}

static void a_layout_that_is_none_is_a_warning(void)
{
    gchar **halves = g_strsplit(full, "\"layers\":2", 2);
    gchar *text = g_strconcat(halves[0], "\"layers\":-2", halves[1], NULL);
    struct psc_doc *doc = open_text(text, strlen(text));
    g_assert_null(doc->phases[0].kv);
    g_assert_cmpuint(doc->report.n, ==, 1);
    g_assert_nonnull(strstr(doc->report.items[0].text, "planscope.kv is not used"));
    psc_doc_free(doc);
    g_free(text);
    g_strfreev(halves);
}

static enum psc_status open_and_write(void *data)
{
    struct psc_doc *doc = NULL;
    struct psc_text out = {0};
    const struct psc_open_options whole = {.whole = true};
    enum psc_status status = psc_trace_open_memory("test", full, sizeof full - 1, &whole, NULL, &doc, NULL);
    (void)data;
    if (status == PSC_OK)
        status = psc_trace_write(doc, NULL, NULL, false, collect, &out, NULL);
    psc_doc_free(doc);
    bool failed = out.failed;
    psc_text_release(&out);
    /* `collect` refuses when its own text runs out of memory */
    return status == PSC_ERR_IO && failed ? PSC_ERR_NOMEM : status;
}

static void out_of_memory_is_told(void)
{
    g_assert_cmpuint(test_oom_loop(open_and_write, NULL), >, 20);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/traces/run/what-a-run-knows-comes-back", what_a_run_knows_comes_back);
    g_test_add_func("/traces/run/it-is-written-as-it-was", it_is_written_as_it_was);
    g_test_add_func("/traces/run/a-step-has-events-of-its-own", a_step_has_events_of_its_own);
    for (size_t i = 0; i < G_N_ELEMENTS(wrongs); i++) {
        gchar *path = g_strconcat("/traces/run/is-told/", wrongs[i].name, NULL);
        g_test_add_data_func(path, &wrongs[i], is_told);
        g_free(path);
    }
    g_test_add_func("/traces/run/a-layout-that-is-none-is-a-warning", a_layout_that_is_none_is_a_warning);
    g_test_add_func("/traces/run/out-of-memory-is-told", out_of_memory_is_told);
    return g_test_run();
}
