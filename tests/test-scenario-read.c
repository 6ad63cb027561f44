/* Scenario files: what is read, what is refused and with which words, what document they become; and what is said of
 * the KV regions of a trace. */
#include "core/debug/analysis.h"
#include "core/debug/explain.h"
#include "tests/util.h"
#include "traces/scenario-read.h"
#include "traces/traces.h"

#include <string.h>

static const struct psc_open_options whole = {.whole = true};

static struct psc_doc *open_text(const char *text, struct psc_report *report, struct psc_error *error)
{
    struct psc_doc *doc = NULL;
    memset(error, 0, sizeof *error);
    enum psc_status status = psc_trace_open_memory("s.json", text, strlen(text), &whole, report, &doc, error);
    g_assert_true((status == PSC_OK) == (doc != NULL));
    return doc;
}

static char *corpus(const char *name)
{
    char *relative = g_strdup_printf("tests/fuzz/corpus/%s", name), *path = test_source_path(relative), *text;
    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    g_free(relative);
    g_free(path);
    return text;
}

/* ---- documents ----------------------------------------------------------------------------------------- */

static struct psc_analysis *analysis_of(const struct psc_doc *doc, uint32_t phase)
{
    struct psc_analysis *a = NULL;
    struct psc_error error = {0};
    enum psc_status status = psc_analysis_new(&doc->phases[phase], NULL, &a, &error);
    g_assert_cmpstr(error.text, ==, "");
    g_assert_cmpint(status, ==, PSC_OK);
    return a;
}

static void test_kv_document(void)
{
    char *text = corpus("scenario-kv.json");
    struct psc_report report = {0};
    struct psc_error error;
    struct psc_text words = {0};
    struct psc_doc *doc = open_text(text, &report, &error);
    g_assert_cmpstr(error.text, ==, "");
    g_assert_cmpstr(doc->format, ==, "memplan-kv");
    g_assert_cmpuint(doc->phase_n, ==, 1);
    g_assert_cmpstr(doc->phases[0].kind, ==, "cache");
    g_assert_null(doc->phases[0].graph);
    g_assert_cmpuint(report.n, ==, 1); /* the op that failed; what the checker finds is a finding */
    g_assert_cmpuint(report.fault_n, ==, 0);
    struct psc_analysis *a = analysis_of(doc, 0);
    g_assert_cmpuint(a->check.finding_n, ==, 1);
    psc_explain_position(&words, a, 0);
    g_assert_nonnull(strstr(psc_text_str(&words), "op 0: store positions 0..3"));
    psc_text_clear(&words);
    psc_explain_finding(&words, a, &a->check.findings[0]);
    g_assert_cmpstr(psc_text_str(&words), ==, "op 5: attend to rows 0..3 reads 8 B of cell 3, which holds what is "
                                              "left of a row that is gone (z, position 2).");
    psc_text_release(&words);
    psc_analysis_free(a);
    psc_doc_free(doc);
    psc_report_release(&report);
    g_free(text);
}

static bool collect(void *ctx, const char *bytes, size_t n)
{
    psc_text_add_n(ctx, bytes, n);
    return true;
}

/* Written as a trace and read again: the same story, edges and titles too, and the same finding. */
static void test_sched_document(void)
{
    char *text = corpus("scenario-sched.json");
    struct psc_error error;
    struct psc_text out = {0}, words = {0};
    struct psc_doc *doc = open_text(text, NULL, &error), *again;
    g_assert_cmpstr(doc->phases[0].kind, ==, "queues");
    g_assert_cmpstr(doc->phases[0].note, ==, "1 race.");
    g_assert_cmpint(psc_trace_write(doc, NULL, NULL, false, collect, &out, &error), ==, PSC_OK);
    again = open_text(psc_text_str(&out), NULL, &error);
    g_assert_cmpstr(error.text, ==, "");
    for (unsigned i = 0; i < 2; i++) {
        struct psc_analysis *a = analysis_of(i ? again : doc, 0);
        g_assert_cmpint(a->story->executor, ==, PSC_EXEC_QUEUES);
        g_assert_cmpuint(a->story->edge_n, ==, 4);
        g_assert_cmpstr(a->story->titles[0], ==, "up: upload");
        g_assert_cmpuint(a->check.finding_n, ==, 1);
        psc_text_clear(&words);
        psc_explain_finding(&words, a, &a->check.findings[0]);
        g_assert_cmpstr(psc_text_str(&words), ==, "w write (host) writes 8 B of H that up: upload (gpu) reads: nothing orders "
                                                  "the two.");
        psc_analysis_free(a);
    }
    psc_text_release(&out);
    psc_text_release(&words);
    psc_doc_free(again);
    psc_doc_free(doc);
    g_free(text);
}

static void test_capture_document(void)
{
    char *text = corpus("scenario-replay.json");
    struct psc_error error;
    struct psc_doc *doc = open_text(text, NULL, &error);
    g_assert_cmpuint(doc->phase_n, ==, 3);
    g_assert_cmpstr(doc->phases[0].kind, ==, "capture");
    g_assert_null(doc->phases[0].note);
    g_assert_cmpstr(doc->phases[1].kind, ==, "replay 0");
    g_assert_cmpstr(doc->phases[1].note, ==, "The recording can be used again."); /* params are spelled otherwise */
    g_assert_cmpstr(doc->phases[2].note, ==, "A new capture is needed: node 4, op.");
    for (uint32_t p = 0; p < 3; p++) {
        struct psc_analysis *a = analysis_of(doc, p);
        g_assert_cmpuint(a->check.finding_n, ==, 0);
        psc_analysis_free(a);
    }
    psc_doc_free(doc);
    g_free(text);
}

static void test_params(void)
{
    static const struct { const char *a, *b; gboolean same; } rows[] = {
        {"{}", "null", TRUE},
        {"{\"a\":1,\"b\":[1,2]}", "{ \"b\": [1.0, 2e0], \"a\": 1 }", TRUE},
        {"{\"a\":\"\\u0041\"}", "{\"\\u0061\":\"A\"}", TRUE},
        {"{\"a\":0.1}", "{\"a\":0.10}", TRUE},
        {"{\"a\":[1,2]}", "{\"a\":[2,1]}", FALSE},
        {"{\"a\":{\"b\":1}}", "{\"a.b\":1}", FALSE},
        {"{\"a\":[]}", "{\"a\":{}}", FALSE},
        {"{\"a\":1}", "{\"a\":\"1\"}", FALSE},
        {"{\"a\":18446744073709551615}", "{\"a\":18446744073709551614}", FALSE},
        {"{\"a\":null}", "{}", FALSE},
        {"{\"a=1, b\":2}", "{\"a\":1,\"b\":2}", FALSE},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct psc_arena arena = {0};
        struct psc_report report = {0};
        struct psc_scenario s;
        struct psc_error error = {0};
        const char *node = "[{\"node\":1,\"op\":\"x\",\"dst\":{\"buf\":\"b\",\"offset\":0},\"params\":%s}]";
        char *a = g_strdup_printf(node, rows[i].a), *b = g_strdup_printf(node, rows[i].b);
        char *text = g_strdup_printf("{\"format\":\"memplan-replay\",\"capture\":%s,\"replays\":[%s]}", a, b);
        g_assert_cmpint(psc_scenario_read_memory(&arena, "s", text, strlen(text), &report, &s, &error), ==, PSC_OK);
        const char *x = s.capture.capture.nodes[0].params, *y = s.capture.replays[0].nodes[0].params;
        g_test_message("%s | %s", x, y);
        g_assert_cmpint(strcmp(x, y) == 0, ==, rows[i].same);
        g_free(a);
        g_free(b);
        g_free(text);
        psc_report_release(&report);
        psc_arena_release(&arena);
    }
}

/* ---- refusals ------------------------------------------------------------------------------------------ */

#define KV(ops) "{\"format\":\"memplan-kv\",\"n_ctx\":8,\"n_embd\":2,\"dtype\":\"f32\",\"ops\":" ops "}"
#define SCHED(commands) \
    "{\"format\":\"memplan-sched\",\"queues\":[{\"id\":\"host\"}],\"buffers\":[{\"id\":\"H\",\"bytes\":8}],\"commands\":" \
    commands "}"
#define REPLAY(capture, replays) "{\"format\":\"memplan-replay\",\"capture\":" capture ",\"replays\":" replays "}"

static const struct { const char *name, *text, *words; } refusals[] = {
    {"arena", "{\"format\":\"memplan-arena\",\"version\":1,\"events\":[{\"op\":\"grow\"}]}", "s.json: |events[0] is \"grow\"|caller_write and close are known"},
    {"version", "{\"format\":\"memplan-kv\",\"version\":5}", "version 5|reads 1"},
    {"cut", "{\"format\":\"memplan-kv\",\"version\":1,\"ops\":[", "truncated at byte 42"},
    {"not-json", "{\"format\":\"memplan-kv\",,}", "not well-formed JSON"},
    {"no-n-ctx", "{\"format\":\"memplan-kv\",\"n_embd\":2,\"ops\":[]}", "n_ctx must be a whole number"},
    {"n-ctx-0", "{\"format\":\"memplan-kv\",\"n_ctx\":0,\"n_embd\":2,\"ops\":[]}", "n_ctx|from 1"},
    {"n-ctx-large", "{\"format\":\"memplan-kv\",\"n_ctx\":99999999,\"n_embd\":2,\"ops\":[]}", "n_ctx|99999999"},
    {"dtype", "{\"format\":\"memplan-kv\",\"n_ctx\":8,\"n_embd\":2,\"dtype\":\"q3\",\"ops\":[]}", "dtype|q3|q8_0"},
    {"q8-width", "{\"format\":\"memplan-kv\",\"n_ctx\":8,\"n_embd\":33,\"dtype\":\"q8_0\",\"ops\":[]}", "33|blocks of 32"},
    {"ops", KV("{}"), "ops must be a list, not an object"},
    {"op", KV("[{\"op\":\"store\",\"pos\":[]},{\"op\":\"grow\"}]"), "ops[1]|grow|defrag"},
    {"op-number", KV("[7]"), "ops[0] must be an object, not 7"},
    {"pos", KV("[{\"op\":\"store\",\"pos\":[1,\"x\"]}]"), "ops[0].pos[1] must be a position"},
    {"pos-large", KV("[{\"op\":\"store\",\"pos\":[9999999999]}]"), "ops[0].pos[0]|9999999999"},
    {"tokens", KV("[{\"op\":\"store\",\"pos\":[1,2],\"tokens\":\"a\"}]"), "ops[0] stores 2 positions and names 1 tokens"},
    {"p1", KV("[{\"op\":\"rm\",\"p0\":1}]"), "ops[0].p1|missing"},
    {"cells", KV("[{\"op\":\"restore\",\"cells\":[1],\"kv_bytes\":1,\"bytes_present\":1}]"), "ops[0].cells[0]"},
    {"queue", SCHED("[{\"id\":\"c\",\"queue\":\"gpu\"}]"), "commands[0].queue|gpu"},
    {"buffer", SCHED("[{\"id\":\"c\",\"queue\":\"host\",\"reads\":[[\"X\",0,4]]}]"), "commands[0].reads[0]|\"X\""},
    {"access", SCHED("[{\"id\":\"c\",\"queue\":\"host\",\"writes\":[[\"H\",0]]}]"), "commands[0].writes[0]|[buffer, first byte"},
    {"after", SCHED("[{\"id\":\"c\",\"queue\":\"host\",\"after\":[\"d\"]}]"), "commands[0].after|\"d\"|no command"},
    {"same-command", SCHED("[{\"id\":\"c\",\"queue\":\"host\"},{\"id\":\"c\",\"queue\":\"host\"}]"), "commands[1]|\"c\" already"},
    {"itself", SCHED("[{\"id\":\"c\",\"queue\":\"host\",\"after\":[\"c\"]}]"), "c kernel|waits for itself"},
    {"order", "{\"format\":\"memplan-sched\",\"queues\":[{\"id\":\"q\",\"order\":\"lifo\"}],\"buffers\":[],\"commands\":[]}",
     "queues[0].order|lifo"},
    {"capture", REPLAY("7", "[]"), "capture must be a list of nodes, not 7"},
    {"dst", REPLAY("[{\"node\":1,\"op\":\"x\"}]", "[]"), "capture[0].dst must be an object"},
    {"same-node", REPLAY("[{\"node\":1,\"op\":\"x\",\"dst\":{\"buf\":\"b\",\"offset\":0}},{\"node\":1,\"op\":\"x\",\"dst\":"
                         "{\"buf\":\"b\",\"offset\":0}}]", "[]"), "capture[1] and capture[0] are both node 1"},
    {"replays", REPLAY("[]", "[[],7]"), "replays[1]"},
    {"graph", "{\"format\":\"memplan-sched\",\"queues\":[],\"buffers\":[],\"commands\":[],\"graph\":{\"format\":\"minfer-graph\","
              "\"nodes\":[{\"id\":0,\"op\":\"add\",\"src\":[9],\"shape\":[1,1,1,1]}]}}", "src|9"},
};

static void test_refusal(gconstpointer data)
{
    const char *text = refusals[GPOINTER_TO_UINT(data)].text;
    struct psc_error error;
    char **words = g_strsplit(refusals[GPOINTER_TO_UINT(data)].words, "|", 0);
    g_assert_null(open_text(text, NULL, &error));
    g_test_message("%s", error.text);
    for (char **w = words; *w; w++)
        g_assert_nonnull(strstr(error.text, *w));
    g_strfreev(words);
}

/* ---- the cases -------------------------------------------------------------------------------------------- */

/* Every scenario of the shared cases opens and can be stepped through, unless it is one of an arena. */
static void test_cases(void)
{
    char *folder = test_shared_path("cases");
    const char *name;
    unsigned n = 0;
    if (!folder) {
        g_test_skip("the shared folder is not here");
        return;
    }
    GDir *dir = g_dir_open(folder, 0, NULL);
    while ((name = g_dir_read_name(dir))) {
        char *path = g_build_filename(folder, name, NULL), *text = NULL;
        if (g_str_has_suffix(name, ".json") && g_file_get_contents(path, &text, NULL, NULL) &&
            strstr(text, "\"format\": \"memplan-")) {
            struct psc_doc *doc = NULL;
            struct psc_error error = {0};
            g_assert_cmpint(psc_trace_open(path, &whole, NULL, &doc, &error), ==, PSC_OK);
            for (uint32_t p = 0; p < doc->phase_n; p++) {
                struct psc_analysis *a = analysis_of(doc, p);
                struct psc_text words = {0};
                for (int32_t at = -1; at <= (int32_t)a->story->position_n; at++)
                    psc_explain_position(&words, a, at);
                g_assert_cmpuint(words.n, >, 0);
                psc_text_release(&words);
                psc_analysis_free(a);
            }
            psc_doc_free(doc);
            n++;
        }
        g_free(text);
        g_free(path);
    }
    g_dir_close(dir);
    g_free(folder);
    g_assert_cmpuint(n, >=, 9);
}

/* ---- KV regions of a trace -------------------------------------------------------------------------------- */

#define NODE(id, op, shape, src, rest) \
    "{\"id\":" #id ",\"name\":\"n" #id "\",\"op\":\"" op "\",\"shape\":" shape ",\"src\":" src ",\"backend\":\"cpu\"" rest "}"
#define I32 ",\"dtype\":\"i32\""
#define LAYER ",\"detail\":{\"layer\":0}"
#define GRAPH(n_ctx) \
    "{\"format\":\"minfer-graph\",\"version\":1,\"inputs\":[0,1,2],\"outputs\":[4],\"nodes\":[" \
    NODE(0, "input", "[2,1,1,1]", "[]", "") "," NODE(1, "input", "[2,1,1,1]", "[]", "") "," \
    NODE(2, "input", "[1,1,1,1]", "[]", I32) "," NODE(3, "kvcache_store", "[2," n_ctx ",1,1]", "[0,1,2]", LAYER) "," \
    NODE(4, "silu", "[2,1,1,1]", "[0]", "") "]}"
#define STEP(position) "{\"nodes\":[{\"id\":2,\"dtype\":\"i32\",\"n\":1,\"stride\":1,\"values\":[" position "]}]}"
#define PHASES(...) "{\"format\":\"minfer-trace\",\"version\":1,\"phases\":[" __VA_ARGS__ "]}"
#define PHASE(n_ctx, steps) "{\"kind\":\"decode\",\"graph\":" GRAPH(n_ctx) ",\"steps\":[" steps "]}"

/* Attention of a layer, and the store of one, over inputs 0 to 2; `load` is the node before the attention. */
#define OF(layer) ",\"detail\":{\"layer\":" #layer "}"
#define LOAD(id, layer) NODE(id, "kvcache_load", "[2,8,1,1]", "[]", OF(layer))
#define ATTENTION(id, load, layer) NODE(id, "attn", "[2,1,1,1]", "[0," #load ",2]", \
    ",\"meta\":{\"layer\":" #layer ",\"n_head\":1,\"n_head_kv\":1,\"hd\":2,\"hd_kv\":2,\"nkt\":2,\"scale\":1}")
#define STORE(id, layer) NODE(id, "kvcache_store", "[2,8,1,1]", "[0,1,2]", OF(layer))
#define ATTENDING(...) \
    "{\"format\":\"minfer-graph\",\"version\":1,\"inputs\":[0,1,2],\"outputs\":[4],\"nodes\":[" \
    NODE(0, "input", "[2,1,1,1]", "[]", "") "," NODE(1, "input", "[2,1,1,1]", "[]", "") "," \
    NODE(2, "input", "[1,1,1,1]", "[]", I32) "," __VA_ARGS__ "]}"
#define AHEAD ATTENDING(LOAD(3, 0) "," ATTENTION(4, 3, 0) "," STORE(5, 0))
#define BEHIND ATTENDING(STORE(3, 0) "," LOAD(4, 0) "," ATTENTION(5, 4, 0))
#define OF_GRAPH(graph) "{\"kind\":\"decode\",\"graph\":" graph ",\"steps\":[]}"

static const struct { const char *name, *text, *words; } regions[] = {
    {"agree", PHASES(PHASE("8", STEP("7")) "," PHASE("8", STEP("0") "," STEP("7"))), ""},
    {"another-size", PHASES(PHASE("8", "") "," PHASE("16", "")),
     "phases[1]|node 3|128 bytes|layer 0|phase 0|64 bytes"},
    {"first-step", PHASES(PHASE("8", STEP("8"))), "phases[0].steps[0]|node 3 (n3)|position 8|n_ctx is 8|byte 64"},
    {"last-step", PHASES(PHASE("8", STEP("6") "," STEP("7") "," STEP("9.0"))), "phases[0].steps[2]|position 9"},
    {"attention-ahead-of-its-store", AHEAD, "node 4 attends|layer 0|before node 5 stores|rows of its own step"},
    {"attention-ahead-in-the-second-phase", PHASES(OF_GRAPH(BEHIND) "," OF_GRAPH(AHEAD)), "phases[1].graph: node 4 attends"},
    {"attention-ahead-in-two-layers", ATTENDING(LOAD(3, 0) "," ATTENTION(4, 3, 0) "," LOAD(5, 3) "," ATTENTION(6, 5, 3) ","
                                                STORE(7, 3) "," STORE(8, 0)), "node 6 attends to layer 3|node 7|so do other layers"},
    {"attention-behind-its-store", PHASES(OF_GRAPH(BEHIND) "," OF_GRAPH(BEHIND)), ""},
    {"attention-between-stores", ATTENDING(STORE(3, 0) "," LOAD(4, 0) "," ATTENTION(5, 4, 0) "," STORE(6, 0)), ""},
    {"attention-without-a-store", ATTENDING(LOAD(3, 0) "," ATTENTION(4, 3, 0) "," STORE(5, 1)), ""},
};

static void test_regions(gconstpointer data)
{
    const char *text = regions[GPOINTER_TO_UINT(data)].text;
    struct psc_report report = {0};
    struct psc_error error;
    char **words = g_strsplit(regions[GPOINTER_TO_UINT(data)].words, "|", 0);
    struct psc_doc *doc = open_text(text, &report, &error);
    g_assert_cmpstr(error.text, ==, "");
    unsigned warnings = 0;
    for (size_t i = 0; i < report.n; i++)
        if (report.items[i].level == PSC_WARNING) {
            warnings++;
            for (char **w = words; *w; w++)
                g_assert_nonnull(strstr(report.items[i].text, *w));
        }
    g_assert_cmpuint(warnings, ==, *words ? 1 : 0);
    g_strfreev(words);
    psc_doc_free(doc);
    psc_report_release(&report);
}

/* ---- memory ------------------------------------------------------------------------------------------------ */

static enum psc_status open_and_close(void *data)
{
    const char *text = data;
    struct psc_doc *doc = NULL;
    enum psc_status status = psc_trace_open_memory("s.json", text, strlen(text), &whole, NULL, &doc, NULL);
    psc_doc_free(doc);
    return status;
}

static void test_oom(void)
{
    static const char *const names[] = {"scenario-kv.json", "scenario-sched.json", "scenario-replay.json"};
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        char *text = corpus(names[i]);
        g_assert_cmpuint(test_oom_loop(open_and_close, text), >, 10);
        g_free(text);
    }
    g_assert_cmpuint(test_oom_loop(open_and_close, (char *)AHEAD), >, 10);
    g_assert_cmpuint(test_oom_loop(open_and_close, (char *)PHASES(PHASE("8", STEP("8") "," STEP("8")))), >, 10);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/traces/scenario/a-cache-becomes-a-document", test_kv_document);
    g_test_add_func("/traces/scenario/queues-become-a-document-and-a-trace", test_sched_document);
    g_test_add_func("/traces/scenario/a-capture-has-a-phase-a-replay", test_capture_document);
    g_test_add_func("/traces/scenario/equal-params-have-one-spelling", test_params);
    for (guint i = 0; i < G_N_ELEMENTS(refusals); i++) {
        char *path = g_strdup_printf("/traces/scenario/refused/%s", refusals[i].name);
        g_test_add_data_func(path, GUINT_TO_POINTER(i), test_refusal);
        g_free(path);
    }
    g_test_add_func("/traces/scenario/all-shared-cases-open", test_cases);
    for (guint i = 0; i < G_N_ELEMENTS(regions); i++) {
        char *path = g_strdup_printf("/traces/kv-look/%s", regions[i].name);
        g_test_add_data_func(path, GUINT_TO_POINTER(i), test_regions);
        g_free(path);
    }
    g_test_add_func("/traces/scenario/runs-out-of-memory-cleanly", test_oom);
    return g_test_run();
}
