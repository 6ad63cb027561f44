/* Events files: what was streamed is read back; cut and damaged files are told of. */
#include "tests/util.h"
#include "traces/chunk-file.h"
#include "traces/events-format.h"
#include "traces/traces.h"

#include "core/base/hash.h"

#include <glib/gstdio.h>
#include <string.h>

/* Two steps, the second one with events of its own. */
static const char trace[] =
    "{\"format\":\"minfer-trace\",\"model\":\"m.gguf\",\"phases\":[{\"graph\":{\"format\":\"minfer-graph\",\"inputs\":[10],"
    "\"kind\":\"decode\",\"model\":\"m.gguf\",\"nodes\":[{\"backend\":\"cpu\",\"detail\":{},\"dtype\":\"f32\",\"id\":10,"
    "\"meta\":{},\"name\":\"x\",\"op\":\"input\",\"shape\":[4,1,1,1],\"src\":[]},{\"backend\":\"cpu\",\"detail\":{},"
    "\"dtype\":\"f32\",\"id\":11,\"meta\":{},\"name\":\"s\",\"op\":\"silu\",\"shape\":[4,1,1,1],\"src\":[10]}],"
    "\"outputs\":[11],\"version\":1},\"kind\":\"decode\",\"planscope\":{\"capture\":\"node\",\"events\":{\"backends\":[\"cpu\"],"
    "\"buffers\":[[0,\"b0\",0,\"pool\",1024,0],[1,\"b1\",0,\"pool\",1024,1024]],\"events\":[[\"fill\",-1,null,0,0,1,0,0,16,"
    "null,null,0,0,0,0],[\"read\",1,11,0,0,1,0,0,16,null,null,1,0,0,0],[\"write\",1,11,1,0,0,0,0,16,null,null,1,0,0,0],"
    "[\"export\",2,null,1,0,0,0,0,16,null,null,0,0,0,0]],\"executor\":\"serial\",\"lanes\":[[\"host\",null],[\"cpu\",0]],"
    "\"positions\":2,\"predicted\":false,\"queued\":[[1,1,1,2]],\"values\":[[\"fill\",null,10,0,-1,0,null,0,16,false,false],[\"node\",null,11,0,-1,0,"
    "null,0,16,false,true]]},\"kv\":{\"format\":\"f32\",\"layers\":2,\"row_bytes\":128,\"rows\":64,\"width\":32}},"
    "\"steps\":[{\"logits_top\":[[7,0.5],[9,0.25]],\"nodes\":[{\"dtype\":\"f32\",\"id\":11,\"n\":4,\"stats\":{\"absmean\":1.0,"
    "\"max\":null,\"mean\":0.0,\"min\":-2.0},\"stride\":1,\"values\":[0.0,null,-1.0,2.0]}],\"planscope\":{\"breaks\":[[11,0,10,"
    "\"0123456789abcdef\",\"fedcba9876543210\"]],\"hashed\":true,\"hashes\":[[11,\"00000000deadbeef\"]],"
    "\"kv\":[[11,-1,\"write\",3,5],[11,1,\"read\",0,5,2]]},\"text\":\" \xc3\xa9t\xc3\xa9\",\"token\":5},"
    "{\"logits_top\":[],\"nodes\":[],\"planscope\":{\"events\":{\"backends\":[\"cpu\"],\"buffers\":[[3,\"b3\",0,\"pool\",1024,0]],"
    "\"events\":[[\"fill\",-1,null,0,0,0,7,0,16,null,null,0,0,0,0]],\"executor\":\"serial\",\"lanes\":[[\"host\",null],"
    "[\"cpu\",0]],\"positions\":2,\"predicted\":false,\"values\":[[\"fill\",null,10,0,-1,0,null,0,16,false,false]]}},"
    "\"text\":\"\",\"token\":null}]}],\"planscope\":{\"run\":{\"backend\":\"cpu\"}},\"prompt\":\"p\",\"version\":1}";

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

static gchar *temporary(void)
{
    gchar *path = NULL;
    gint fd = g_file_open_tmp("psc-events-XXXXXX", &path, NULL);
    g_assert_cmpint(fd, >=, 0);
    g_close(fd, NULL);
    return path;
}

/* Streams a document as a run would. */
static void stream(const struct psc_doc *doc, const char *path)
{
    struct psc_events_out *out = NULL;
    struct psc_error err = {0};
    g_assert_cmpint(psc_events_open(path, doc->model, doc->prompt, &out, &err), ==, PSC_OK);
    for (uint32_t p = 0; p < doc->phase_n; p++) {
        g_assert_true(psc_events_phase(out, p, &doc->phases[p]));
        for (uint32_t s = 0; s < psc_doc_step_n(doc, p); s++) {
            struct psc_arena arena = {0};
            struct psc_step step;
            g_assert_cmpint(psc_doc_load_step(doc, p, s, &arena, &step, &err), ==, PSC_OK);
            g_assert_true(psc_events_step(out, p, s, &step));
            psc_arena_release(&arena);
        }
    }
    g_assert_cmpint(psc_events_close(out, doc->facts, doc->fact_n, &err), ==, PSC_OK);
}

static gchar *streamed(gsize *ret_n)
{
    struct psc_doc *doc = open_text(trace, sizeof trace - 1);
    gchar *path = temporary(), *bytes = NULL;
    stream(doc, path);
    g_assert_true(g_file_get_contents(path, &bytes, ret_n, NULL));
    g_unlink(path);
    g_free(path);
    psc_doc_free(doc);
    return bytes;
}

static void a_streamed_run_is_read_back(void)
{
    struct psc_doc *doc = open_text(trace, sizeof trace - 1), *again = NULL;
    gchar *path = temporary();
    struct psc_error err = {0};
    struct psc_text out = {0};
    stream(doc, path);
    g_assert_cmpint(psc_trace_open(path, NULL, NULL, &again, &err), ==, PSC_OK);
    g_assert_cmpstr(again->format, ==, "planscope-events");
    g_assert_cmpuint(again->report.n, ==, 0);
    g_assert_false(again->truncated);
    g_assert_cmpint(psc_trace_write(again, NULL, NULL, false, collect, &out, &err), ==, PSC_OK);
    g_assert_cmpstr(out.s, ==, trace);
    psc_text_release(&out);
    psc_doc_free(again);
    psc_doc_free(doc);
    g_unlink(path);
    g_free(path);
}

/* A run that was killed: every length of the file either opens with what is complete or says where it ends. */
static void every_cut_opens_what_is_complete(void)
{
    gsize n;
    gchar *bytes = streamed(&n);
    guint opened = 0, with_steps = 0, refused = 0;
    for (gsize cut = 0; cut < n; cut++) {
        struct psc_doc *doc = NULL;
        struct psc_error err = {0};
        gchar *copy = g_memdup2(bytes, cut + 1);
        enum psc_status status = psc_trace_open_memory("cut", copy, cut, NULL, NULL, &doc, &err);
        if (status == PSC_OK) {
            struct psc_arena arena = {0};
            struct psc_step step;
            uint32_t steps = psc_doc_step_n(doc, 0);
            g_assert_true(doc->truncated);
            g_assert_nonnull(strstr(doc->report.items[0].text, "did not end"));
            for (uint32_t s = 0; s < steps; s++)
                g_assert_cmpint(psc_doc_load_step(doc, 0, s, &arena, &step, &err), ==, PSC_OK);
            with_steps += steps > 0;
            opened++;
            psc_arena_release(&arena);
            psc_doc_free(doc);
        } else {
            g_assert_cmpint(status, ==, PSC_ERR_PARSE);
            g_assert_cmpuint(strlen(err.text), >, 10);
            refused++;
        }
        g_free(copy);
    }
    g_assert_cmpuint(opened, >, 1000);
    g_assert_cmpuint(with_steps, >, 300);
    g_assert_cmpuint(refused, >, 16);
    g_free(bytes);
}

/* Whatever a byte becomes, nothing is read outside the file (the sanitizers look on) and nothing is half-loaded. */
static void damaged_files_are_read_or_refused(void)
{
    gsize n;
    gchar *bytes = streamed(&n);
    guint64 state = test_seed();
    guint opened = 0, refused = 0;
    g_test_message("seed %" G_GUINT64_FORMAT, state);
    for (guint round = 0; round < 4000; round++) {
        gsize at = psc_random_next(&state) % n;
        gchar old = bytes[at];
        bytes[at] = round % 3 ? (gchar)psc_random_next(&state) : (gchar)(round % 2 ? 0xff : 0);
        struct psc_doc *doc = NULL;
        struct psc_error err = {0};
        if (psc_trace_open_memory("bad", bytes, n, NULL, NULL, &doc, &err) == PSC_OK) {
            for (uint32_t p = 0; p < doc->phase_n; p++)
                for (uint32_t s = 0; s < psc_doc_step_n(doc, p); s++) {
                    struct psc_arena arena = {0};
                    struct psc_step step;
                    if (psc_doc_load_step(doc, p, s, &arena, &step, &err) != PSC_OK)
                        g_assert_cmpuint(strlen(err.text), >, 10);
                    psc_arena_release(&arena);
                }
            psc_doc_free(doc);
            opened++;
        } else {
            g_assert_cmpuint(strlen(err.text), >, 10);
            refused++;
        }
        bytes[at] = old;
    }
    g_assert_cmpuint(opened, >, 100);
    g_assert_cmpuint(refused, >, 100);
    g_free(bytes);
}

struct wrong {
    const char *name;
    gsize at;
    const char *bytes;
    gsize n;
    const char *mention;
};
static const struct wrong wrongs[] = {
    {"another-version", 8, "\x02", 1, "version 2, this program reads 1"},
    {"another-byte-order", 12, "\x01\x02\x03\x04", 4, "byte order"},
    {"a-first-part-that-is-no-head", 16, "STEP", 4, "not HEAD"},
    {"another-format", 43, "X", 1, "planscope-events"},
};

static void is_told(gconstpointer data)
{
    const struct wrong *w = data;
    gsize n;
    gchar *bytes = streamed(&n);
    struct psc_doc *doc = NULL;
    struct psc_error err = {0};
    memcpy(bytes + w->at, w->bytes, w->n);
    g_assert_cmpint(psc_trace_open_memory("bad", bytes, n, NULL, NULL, &doc, &err), ==, PSC_ERR_PARSE);
    g_assert_nonnull(strstr(err.text, w->mention));
    g_free(bytes);
}

/* Events that are wrong are left out, and the reason stands in the report. */
static void wrong_stretches_of_a_queue_are_told(void)
{
    static const char *const cases[][2] = {
        {"7", "queued must be a list of stretches, not"},
        {"[[1,1,1]]", "queued[0] must be a lane and three positions: first, last, done"},
        {"[[1,1,1,2,3]]", "queued[0] must be"},
        {"[[1,1,-1,2]]", "queued[0] must be"},
        {"[[1,1,1,2],5]", "queued[1] must be"},
        {"[[1,1,1,3]]", "queued stretch 0: its positions must be first <= last < done <= n"},
        {"[[9,1,1,2]]", "queued stretch 0: its lane does not exist"},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        GString *text = g_string_new(trace);
        gchar *with = g_strdup_printf("\"queued\":%s", cases[i][0]);
        g_assert_cmpuint(g_string_replace(text, "\"queued\":[[1,1,1,2]]", with, 0), ==, 1);
        struct psc_doc *doc = open_text(text->str, text->len);
        g_assert_null(doc->phases[0].story);
        g_assert_cmpuint(doc->report.n, ==, 1);
        if (!strstr(doc->report.items[0].text, cases[i][1]))
            g_error("\"%s\" does not say \"%s\"", doc->report.items[0].text, cases[i][1]);
        psc_doc_free(doc);
        g_free(with);
        g_string_free(text, TRUE);
    }
}

static void a_place_that_cannot_be_written_is_told(void)
{
    struct psc_events_out *out = NULL;
    struct psc_error err = {0};
    g_assert_cmpint(psc_events_open("/no/such/folder/run.events", NULL, NULL, &out, &err), ==, PSC_ERR_IO);
    g_assert_nonnull(strstr(err.text, "No such file"));
    if (!g_file_test("/dev/full", G_FILE_TEST_EXISTS))
        return;
    struct psc_doc *doc = open_text(trace, sizeof trace - 1);
    g_assert_cmpint(psc_events_open("/dev/full", NULL, NULL, &out, &err), ==, PSC_OK);
    bool ok = true;
    for (guint i = 0; ok && i < 1000; i++) { /* the thread finds out sooner or later */
        ok = psc_events_phase(out, 0, &doc->phases[0]);
        g_usleep(100);
    }
    g_assert_false(ok);
    g_assert_cmpint(psc_events_close(out, NULL, 0, &err), ==, PSC_ERR_IO);
    g_assert_nonnull(strstr(err.text, "No space"));
    psc_doc_free(doc);
}

static void contents_are_one_part_a_value(void)
{
    struct psc_doc *doc = open_text(trace, sizeof trace - 1);
    struct psc_events_out *out = NULL;
    struct psc_chunk c = {0};
    struct psc_error err = {0};
    const float values[4] = {1, 2, 3, 4};
    gchar *path = temporary(), *bytes = NULL;
    gsize n;
    uint64_t at = PSC_CHUNK_HEAD;
    struct psc_ev_content head;
    g_assert_cmpint(psc_contents_open(path, "m", NULL, PSC_CAPTURE_NODE, &out, &err), ==, PSC_OK);
    g_assert_true(psc_contents_put(out, 1, 2, &doc->phases[0].graph->nodes[1], values, sizeof values));
    g_assert_cmpint(psc_events_close(out, NULL, 0, &err), ==, PSC_OK);
    g_assert_true(g_file_get_contents(path, &bytes, &n, NULL));
    g_assert_true(psc_chunks_next(bytes, n, &at, &c));
    g_assert_cmpstr(c.tag, ==, "HEAD");
    g_assert_true(psc_chunks_next(bytes, n, &at, &c));
    g_assert_cmpstr(c.tag, ==, "CONT");
    g_assert_cmpuint(c.n, ==, sizeof head + sizeof values);
    memcpy(&head, c.bytes, sizeof head);
    g_assert_true(head.phase == 1 && head.step == 2 && head.id == 11 && head.bytes == sizeof values);
    g_assert_cmpint(memcmp(c.bytes + sizeof head, values, sizeof values), ==, 0);
    struct psc_doc *none = NULL;
    g_assert_cmpint(psc_trace_open(path, NULL, NULL, &none, &err), ==, PSC_ERR_PARSE);
    g_assert_nonnull(strstr(err.text, "contents of values"));
    g_unlink(path);
    g_free(bytes);
    g_free(path);
    psc_doc_free(doc);
}

/* Read back by phase, step and node, in any order; what a cut leaves complete is there, and a damaged file is refused or read, no more. */
static void contents_are_read_back(void)
{
    struct psc_doc *doc = open_text(trace, sizeof trace - 1);
    struct psc_events_out *out = NULL;
    struct psc_contents_in *in = NULL;
    struct psc_error err = {0};
    const struct psc_node_info *nodes = doc->phases[0].graph->nodes;
    const float values[3][4] = {{1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, 11, 12}};
    float got[2];
    uint64_t size = 0, again = 0;
    gchar *path = temporary(), *bytes = NULL;
    gsize n;
    g_assert_cmpint(psc_contents_open(path, "m", NULL, PSC_CAPTURE_SPLIT, &out, &err), ==, PSC_OK);
    g_assert_true(psc_contents_put(out, 1, 2, &nodes[1], values[0], sizeof values[0]));
    g_assert_true(psc_contents_put(out, 0, 7, &nodes[1], values[1], sizeof values[1]));
    g_assert_true(psc_contents_put(out, 1, 2, &nodes[0], values[2], 12));
    g_assert_cmpint(psc_events_close(out, NULL, 0, &err), ==, PSC_OK);
    g_assert_true(psc_contents_file_is(path));
    g_assert_cmpint(psc_contents_read(path, &in, &err), ==, PSC_OK);
    struct psc_contents c = psc_contents_of(in, 1, 2);
    g_assert_true(c.phase == 1 && c.step == 2 && c.capture == PSC_CAPTURE_SPLIT);
    g_assert_true(c.size(c.ctx, 1, 2, nodes[1].id, &size) && size == 16);
    g_assert_true(c.size(c.ctx, 1, 2, nodes[0].id, &size) && size == 12);
    g_assert_false(c.size(c.ctx, 0, 2, nodes[1].id, &size));
    g_assert_true(c.read(c.ctx, 0, 7, nodes[1].id, 4, 8, got) && got[0] == 6 && got[1] == 7);
    g_assert_false(c.read(c.ctx, 0, 7, nodes[1].id, 12, 8, got));
    g_assert_false(c.read(c.ctx, 0, 7, nodes[1].id, UINT64_MAX, 8, got));
    g_assert_cmpint(psc_contents_fit(in, "m", &err), ==, PSC_OK);
    g_assert_cmpint(psc_contents_fit(in, NULL, &err), ==, PSC_OK);
    g_assert_cmpint(psc_contents_fit(in, "k", &err), ==, PSC_ERR_USAGE);
    psc_contents_close(in);
    g_assert_true(g_file_get_contents(path, &bytes, &n, NULL));
    for (gsize cut = 0; cut < n; cut++) { /* whole files of any length are read */
        test_put_file(path, bytes, cut);
        if (psc_contents_read(path, &in, &err) == PSC_OK) {
            again += psc_contents_of(in, 1, 2).size(in, 1, 2, nodes[1].id, &size);
            psc_contents_close(in);
        } else {
            g_assert_cmpint(err.status, ==, PSC_ERR_PARSE);
        }
    }
    g_assert_cmpuint(again, >, 0);
    for (gsize at = 0; at < n; at++) { /* and with any byte damaged */
        gchar kept = bytes[at];
        bytes[at] = (gchar)(kept ^ 0x55);
        test_put_file(path, bytes, n);
        bytes[at] = kept;
        if (psc_contents_read(path, &in, &err) == PSC_OK) {
            struct psc_contents d = psc_contents_of(in, 1, 2);
            if (d.size(d.ctx, 1, 2, nodes[1].id, &size) && size >= 8)
                g_assert_true(d.read(d.ctx, 1, 2, nodes[1].id, size - 8, 8, got));
            psc_contents_close(in);
        }
    }
    test_put_file(path, trace, sizeof trace - 1);
    g_assert_false(psc_contents_file_is(path));
    g_assert_cmpint(psc_contents_read(path, &in, &err), ==, PSC_ERR_PARSE);
    g_assert_nonnull(strstr(err.text, "no file of contents"));
    g_unlink(path);
    g_free(bytes);
    g_free(path);
    psc_doc_free(doc);
}

static enum psc_status read_them(void *data)
{
    struct psc_contents_in *in = NULL;
    enum psc_status status = psc_contents_read(data, &in, NULL);
    psc_contents_close(in);
    return status;
}

static void contents_and_memory(void)
{
    struct psc_doc *doc = open_text(trace, sizeof trace - 1);
    struct psc_events_out *out = NULL;
    struct psc_error err = {0};
    gchar *path = temporary();
    g_assert_cmpint(psc_contents_open(path, "m", NULL, PSC_CAPTURE_NODE, &out, &err), ==, PSC_OK);
    g_assert_true(psc_contents_put(out, 1, 2, &doc->phases[0].graph->nodes[1], "12345678", 8));
    g_assert_cmpint(psc_events_close(out, NULL, 0, &err), ==, PSC_OK);
    g_assert_cmpuint(test_oom_loop(read_them, path), >, 2);
    g_unlink(path);
    g_free(path);
    psc_doc_free(doc);
}

struct memory { const char *bytes; gsize n; };
static enum psc_status open_it(void *data)
{
    const struct memory *m = data;
    struct psc_doc *doc = NULL;
    struct psc_arena arena = {0};
    struct psc_step step;
    enum psc_status status = psc_trace_open_memory("oom", m->bytes, m->n, NULL, NULL, &doc, NULL);
    for (uint32_t s = 0; status == PSC_OK && s < 2; s++)
        status = psc_doc_load_step(doc, 0, s, &arena, &step, NULL);
    psc_arena_release(&arena);
    psc_doc_free(doc);
    return status;
}

static void out_of_memory_is_told(void)
{
    struct memory m;
    gchar *bytes = streamed(&m.n);
    m.bytes = bytes;
    g_assert_cmpuint(test_oom_loop(open_it, &m), >, 20);
    g_free(bytes);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/traces/events/a-streamed-run-is-read-back", a_streamed_run_is_read_back);
    g_test_add_func("/traces/events/every-cut-opens-what-is-complete", every_cut_opens_what_is_complete);
    g_test_add_func("/traces/events/damaged-files-are-read-or-refused", damaged_files_are_read_or_refused);
    for (size_t i = 0; i < G_N_ELEMENTS(wrongs); i++) {
        gchar *path = g_strconcat("/traces/events/is-told/", wrongs[i].name, NULL);
        g_test_add_data_func(path, &wrongs[i], is_told);
        g_free(path);
    }
    g_test_add_func("/traces/events/wrong-stretches-of-a-queue-are-told", wrong_stretches_of_a_queue_are_told);
    g_test_add_func("/traces/events/a-place-that-cannot-be-written-is-told", a_place_that_cannot_be_written_is_told);
    g_test_add_func("/traces/events/contents-are-one-part-a-value", contents_are_one_part_a_value);
    g_test_add_func("/traces/events/contents-are-read-back", contents_are_read_back);
    g_test_add_func("/traces/events/contents-out-of-memory", contents_and_memory);
    g_test_add_func("/traces/events/out-of-memory-is-told", out_of_memory_is_told);
    return g_test_run();
}
