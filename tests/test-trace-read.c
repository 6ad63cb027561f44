/* Opening traces and graphs: what they hold, what is tolerated, what is refused and with which words. */
#include "tests/util.h"
#include "tests/trace-texts.h"
#include "traces/traces.h"

#include <math.h>
#include <string.h>

static const struct psc_open_options whole = {.whole = true};

static enum psc_status try_open(const char *text, size_t n, struct psc_report *report, struct psc_doc **ret,
                                struct psc_error *err)
{
    *ret = NULL;
    memset(err, 0, sizeof *err);
    return psc_trace_open_memory("t.json", text, n, &whole, report, ret, err);
}

static struct psc_doc *open_ok(const char *text)
{
    struct psc_doc *doc;
    struct psc_error err;
    enum psc_status status = try_open(text, strlen(text), NULL, &doc, &err);
    g_assert_cmpstr(status == PSC_OK ? "" : err.text, ==, "");
    return doc;
}

static bool says(const struct psc_report *report, const char *words)
{
    for (size_t i = 0; i < report->n; i++)
        if (strstr(report->items[i].text, words))
            return true;
    return false;
}

/* ---- what is there -------------------------------------------------------------------------------- */

static void a_trace_gives_its_phases_and_steps(void)
{
    struct psc_doc *doc = open_ok(TRACE(PHASE(STEP(REC("2") "," REC("0") "," REC("1") "," REC(
        "77"))) ","
                "{\"steps\":[{\"token\":9007199254740993,\"text\":\"\\n\\u00e9\",\"logits_top\":[[3,0.5],[-1,"
                "0.25]],"
                "\"nodes\":[]}],\"graph\":null,\"kind\":\"decode\"}"));
    g_assert_cmpstr(doc->format, ==, "minfer-trace");
    g_assert_cmpstr(doc->model, ==, "m.gguf");
    g_assert_cmpstr(doc->prompt, ==, "hi");
    g_assert_cmpint((gint)doc->version, ==, 1);
    g_assert_cmpuint(doc->phase_n, ==, 2);
    g_assert_cmpuint(psc_doc_step_n(doc, 0), ==, 1);
    g_assert_cmpuint(psc_doc_step_n(doc, 1), ==, 1);
    g_assert_cmpuint(psc_doc_step_n(doc, 2), ==, 0);
    g_assert_null(doc->phases[1].graph);
    struct psc_arena arena = {0};
    struct psc_step step;
    g_assert_cmpint(psc_doc_load_step(doc, 0, 0, &arena, &step, NULL), ==, PSC_OK);
    g_assert_false(step.has_token);
    g_assert_cmpuint(step.record_n, ==, 4);
    for (uint32_t i = 0; i < 3; i++) { /* execution order, whatever the file's */
        g_assert_cmpuint(step.records[i].node, ==, i);
        g_assert_cmpuint(step.records[i].id, ==, i);
    }
    g_assert_cmpuint(step.records[3].node, ==, PSC_NONE);
    g_assert_true(step.records[0].stats_hash == step.records[1].stats_hash);
    g_assert_true(step.records[0].values_hash == step.records[1].values_hash);
    g_assert_true(step.records[0].mean == 0.25 && step.records[0].value_n == 4 &&
                  step.records[0].values[2] == 1.0f);
    g_assert_cmpint(psc_doc_load_step(doc, 1, 0, &arena, &step, NULL), ==, PSC_OK);
    g_assert_true(step.has_token && step.token == 9007199254740993);
    g_assert_cmpstr(step.text, ==, "\n\xc3\xa9");
    g_assert_cmpuint(step.top_n, ==, 2);
    g_assert_true(step.top[1].id == -1 && step.top[1].p == 0.25);
    g_assert_cmpint(psc_doc_load_step(doc, 1, 1, &arena, &step, NULL), ==, PSC_ERR_USAGE);
    psc_arena_release(&arena);
    psc_doc_free(doc);
}

static void a_graph_alone_is_a_document_of_one_phase(void)
{
    struct psc_doc *doc = open_ok(GRAPH);
    g_assert_cmpstr(doc->format, ==, "minfer-graph");
    g_assert_cmpstr(doc->model, ==, "m");
    g_assert_cmpuint(doc->phase_n, ==, 1);
    g_assert_cmpstr(doc->phases[0].kind, ==, "prefill");
    g_assert_cmpuint(doc->phases[0].graph->n, ==, 3);
    g_assert_cmpuint(psc_doc_step_n(doc, 0), ==, 0);
    psc_doc_free(doc);
}

static void live_documents_open_too(void)
{
    struct psc_doc *doc = open_ok("{\"format\":\"minfer-live\",\"model\":\"m\",\"phases\":[{\"graph\":" GRAPH
                                  ",\"kind\":\"prefill\",\"steps\":[]},{\"graph\":" GRAPH
                                  ",\"kind\":\"decode\",\"steps\":[]}],\"version\":1}");
    g_assert_cmpstr(doc->format, ==, "minfer-live");
    g_assert_cmpuint(doc->phase_n, ==, 2);
    g_assert_true(says(&doc->report, "called \"decode\", its graph \"prefill\""));
    psc_doc_free(doc);
}

static void settings_of_a_node_are_understood_and_kept(void)
{
    struct psc_doc *doc = open_ok("{\"format\":\"minfer-graph\",\"nodes\":[" NODE(
        "0", "input",
        "") ","
            "{\"id\":1,\"op\":\"rope\",\"src\":[0,0],\"shape\":[4],\"detail\":{\"style\":\"Interleaved\"},"
            "\"meta\":{\"freq_base\":1000000.0,\"freq_scale\":0.5,\"hd\":64,\"n_head\":14}},"
            "{\"id\":2,\"op\":\"fused_qkv\",\"src\":[1,0],\"shape\":[4],\"detail\":{\"layer\":3},\"meta\":{"
            "\"weight\":\"blk.3.attn_qkv\","
            "\"bias_q\":\"q\",\"bias_k\":\"k\",\"bias_v\":null,\"kv_elems\":9007199254740993,\"nqt\":896,"
            "\"nkt\":128,\"nh\":14,\"nk\":2,"
            "\"wtype\":\"q5_0\",\"in_dim\":896}},"
            "{\"id\":3,\"op\":\"attn\",\"src\":[2,1,0],\"shape\":[4],\"detail\":{\"mode\":\"Flash\","
            "\"explicit_span\":true},"
            "\"meta\":{\"layer\":5,\"scale\":0.125,\"hd_kv\":64,\"n_head_kv\":2}},"
            "{\"id\":4,\"op\":\"view\",\"src\":[3],\"shape\":[2],\"detail\":{\"offset\":2,\"shape\":[2]}},"
            "{\"id\":5,\"op\":\"rms_norm\",\"src\":[4],\"shape\":[2],\"detail\":{\"eps\":9.999999974752427e-"
            "7},\"meta\":{\"bias\":null,"
            "\"weight\":\"w\"}},"
            "{\"id\":6,\"op\":\"scale\",\"src\":[5],\"shape\":[2],\"detail\":{\"scale\":NaN}}],\"outputs\":["
            "6]}");
    const struct psc_node_info *n = doc->phases[0].graph->nodes;
    g_assert_cmpint(n[1].params->rope_style, ==, PSC_ROPE_INTERLEAVED);
    g_assert_true(n[1].params->freq_base == 1e6f && n[1].params->freq_scale == 0.5f);
    g_assert_cmpuint(n[1].params->hd, ==, 64);
    g_assert_cmpint(n[2].layer, ==, 3);
    g_assert_cmpuint(n[2].params->kv_elems, ==, 9007199254740993u);
    g_assert_cmpstr(n[2].params->bias[1], ==, "k");
    g_assert_null(n[2].params->bias[2]);
    g_assert_cmpstr(n[2].params->wtype, ==, "q5_0");
    g_assert_cmpint(n[3].layer, ==, 5);
    g_assert_cmpint(n[3].params->attn_mode, ==, PSC_ATTN_FLASH);
    g_assert_true(n[3].params->explicit_span && n[3].params->has_scale && n[3].params->scale == 0.125f);
    g_assert_cmpuint(n[4].params->view_offset, ==, 2);
    g_assert_true(n[5].params->eps == 1e-6f);
    g_assert_cmpstr(n[5].meta_json, ==, "{\"bias\":null,\"weight\":\"w\"}");
    g_assert_false(n[6].params->has_scale);
    g_assert_cmpstr(n[6].detail_json, ==, "{\"scale\":null}");
    psc_doc_free(doc);
}

/* ---- what is tolerated ---------------------------------------------------------------------------- */

static const struct {
    const char *name, *text, *warning; /* NULL: none */
    unsigned phases, steps;
} tolerated[] = {
    {"no-version", "{\"format\":\"minfer-trace\",\"phases\":[" PHASE("") "]}", "no \"version\"", 1, 0},
    {"version-null", "{\"format\":\"minfer-trace\",\"version\":null,\"phases\":[" PHASE("") "]}",
     "no \"version\"", 1, 0},
    {"version-last",
     "{\"phases\":[" PHASE(STEP("")) "],\"prompt\":\"p\",\"format\":\"minfer-trace\",\"version\":1.0}", NULL,
     1, 1},
    {"no-format-but-phases", "{\"phases\":[" PHASE("") "]}", "no \"format\": read as \"minfer-trace\"", 1, 0},
    {"no-format-but-nodes", "{\"nodes\":[" NODE("0", "input", "") "],\"outputs\":[0]}",
     "no \"format\": read as \"minfer-graph\"", 1, 0},
    {"no-inputs",
     "{\"format\":\"minfer-graph\",\"version\":1,\"outputs\":[1],\"nodes\":[" NODE("0", "input", "") "," NODE(
         "1", "silu", "0") "]}",
     NULL, 1, 0},
    {"steps-null", TRACE("{\"kind\":null,\"graph\":null,\"steps\":null}"), NULL, 1, 0},
    {"steps-missing", TRACE("{\"graph\":" GRAPH "}"), NULL, 1, 0},
    {"steps-no-list", TRACE("{\"graph\":null,\"steps\":5}"), "phases[0].steps is a number", 1, 0},
    {"phase-that-is-none", TRACE("null," PHASE("") ",7"), "phases holds null, where a phase must be an object", 1,
     0},
    {"trailing-bytes", TRACE(PHASE("")) " \n{}", "2 bytes after the end of the document", 1, 0},
    {"byte-order-mark", "\xef\xbb\xbf" TRACE(PHASE("")), NULL, 1, 0},
    {"control-characters",
     "{\"format\":\"minfer-trace\",\n\"version\":1,\"model\":\"a\x1b\",\"phases\":[" PHASE("") "]}",
     "a raw control character in a string, shown as an escape: at line 2, column 23 (byte 48)", 1, 0},
    {"invalid-utf8",
     "{\"format\":\"minfer-trace\",\"version\":1,\"model\":\"a\xff\",\"phases\":[" PHASE("") "]}",
     "not UTF-8, shown as U+FFFD: at line 1, column 48 (byte 47)", 1, 0},
    {"nan", TRACE(PHASE(STEP("{\"id\":1,\"values\":[NaN,-Infinity]}"))), "NaN or Infinity", 1, 1},
    {"step-that-is-none", TRACE(PHASE("3," STEP(""))),
     "steps[0] cannot be read: a step must be an object, not a number", 1, 2},
    {"step-that-is-no-json", TRACE(PHASE(STEP("") ",{\"nodes\":[1 2]}," STEP(""))),
     "steps[1] cannot be read: not well-formed JSON", 1, 3},
    {"cut-in-a-step",
     "{\"format\":\"minfer-trace\",\"version\":1,\"phases\":[{\"kind\":\"prefill\",\"graph\":" GRAPH
     ",\"steps\":[" STEP("") "," STEP("") ",{\"nod",
     "truncated at byte ", 1, 2},
    {"cut-in-the-second-graph",
     "{\"format\":\"minfer-trace\",\"version\":1,\"phases\":[" PHASE(STEP("")) ",{\"graph\":{\"nodes\":[",
     "truncated at byte ", 2, 1},
    {"planscope-no-object", TRACE("{\"graph\":" GRAPH ",\"planscope\":[1],\"steps\":[]}"),
     "\"planscope\" of a phase holds an array", 1, 0},
    {"planscope-plan-unusable",
     TRACE("{\"graph\":" GRAPH
           ",\"planscope\":{\"plan\":{\"placements\":[{\"node\":5,\"buffer\":1}]}},\"steps\":[]}"),
     "planscope.plan is not used", 1, 0},
    {"planscope-capture-unknown", TRACE("{\"graph\":" GRAPH ",\"planscope\":{\"capture\":\"late\"},\"steps\":[]}"),
     "planscope.capture is not used: node or split", 1, 0},
    {"planscope-slots-unknown", TRACE("{\"graph\":" GRAPH ",\"planscope\":{\"slots\":7},\"steps\":[]}"),
     "planscope.slots is not used: lowest, fifo, lifo, or random with slots_seed", 1, 0},
    {"planscope-slots-without-seed", TRACE("{\"graph\":" GRAPH ",\"planscope\":{\"slots\":\"random\"},\"steps\":[]}"),
     "planscope.slots is not used: lowest, fifo, lifo, or random with slots_seed", 1, 0},
    {"planscope-settings-null",
     TRACE("{\"graph\":" GRAPH ",\"planscope\":{\"capture\":null,\"slots\":null},\"steps\":[]}"), NULL, 1, 0},
    {"planscope-events-unusable",
     TRACE("{\"planscope\":{\"events\":{\"lanes\":[]}},\"graph\":" GRAPH ",\"steps\":[]}"),
     "planscope.events is not used: buffers must be a list of rows, not nothing", 1, 0},
};

static void oddities_are_tolerated(gconstpointer data)
{
    size_t i = GPOINTER_TO_SIZE(data);
    struct psc_doc *doc = open_ok(tolerated[i].text);
    unsigned steps = 0;
    for (uint32_t p = 0; p < doc->phase_n; p++)
        steps += psc_doc_step_n(doc, p);
    g_assert_cmpuint(doc->phase_n, ==, tolerated[i].phases);
    g_assert_cmpuint(steps, ==, tolerated[i].steps);
    if (tolerated[i].warning)
        g_assert_true(says(&doc->report, tolerated[i].warning));
    else
        g_assert_cmpstr(doc->report.n ? doc->report.items[0].text : "", ==, "");
    g_assert_true(doc->truncated == (strstr(tolerated[i].name, "cut-") != NULL));
    psc_doc_free(doc);
}

static void a_step_with_gaps_loads(void)
{
    struct psc_doc *doc = open_ok(
        TRACE(PHASE("{},{\"nodes\":null},{\"nodes\":[{\"id\":1},{\"id\":0,\"stride\":0,\"n\":0,\"values\":[],"
                    "\"stats\":null},7,{\"n\":3},"
                    "{\"id\":2,\"stats\":{\"min\":null,\"max\":NaN,\"absmean\":Infinity},\"values\":[1,null,"
                    "\"x\",-Infinity],\"dtype\":\"odd\"}]},"
                    "{\"nodes\":5},{\"logits_top\":[1,[2],[\"a\",1],[4,null]],\"text\":7,\"token\":\"x\"}")));
    struct psc_arena arena = {0};
    struct psc_step step;
    struct psc_error err;
    g_assert_cmpint(psc_doc_load_step(doc, 0, 0, &arena, &step, NULL), ==, PSC_OK);
    g_assert_cmpuint(step.record_n, ==, 0);
    g_assert_cmpstr(step.text, ==, "");
    g_assert_cmpint(psc_doc_load_step(doc, 0, 1, &arena, &step, NULL), ==, PSC_OK);
    g_assert_cmpint(psc_doc_load_step(doc, 0, 2, &arena, &step, NULL), ==, PSC_OK);
    g_assert_cmpuint(step.record_n, ==, 3);
    g_assert_cmpuint(step.records[0].stride, ==, 0);
    g_assert_true(!step.records[0].has_stats && isnan(step.records[0].min));
    g_assert_cmpint(step.records[1].dtype, ==, PSC_F32); /* not said: the graph's */
    const struct psc_record *r = &step.records[2];
    g_assert_true(r->has_stats && isnan(r->min) && isnan(r->max) && isnan(r->mean) && isinf(r->absmean));
    g_assert_cmpuint(r->nonfinite, ==, 3);
    g_assert_true(r->values[0] == 1.0f && isnan(r->values[2]) && isinf(r->values[3]));
    g_assert_cmpint(r->dtype, ==, PSC_DTYPE_OTHER);
    g_assert_cmpint(psc_doc_load_step(doc, 0, 3, &arena, &step, &err), ==, PSC_ERR_PARSE);
    g_assert_cmpstr(err.text, ==, "nodes must be an array of records, not a number");
    g_assert_cmpint(psc_doc_load_step(doc, 0, 4, &arena, &step, NULL), ==, PSC_OK);
    g_assert_true(!step.has_token && step.top_n == 1 && step.top[0].id == 4 && isnan(step.top[0].p));
    psc_arena_release(&arena);
    psc_doc_free(doc);
}

static void a_step_that_is_no_json_says_where(void)
{
    static const char text[] = TRACE(PHASE(STEP("") ",{\"nodes\":[1 2]}"));
    struct psc_doc *doc = open_ok(text);
    struct psc_arena arena = {0};
    struct psc_step step;
    struct psc_error err;
    g_assert_cmpint(psc_doc_load_step(doc, 0, 1, &arena, &step, &err), ==, PSC_ERR_PARSE);
    g_assert_cmpuint(err.byte, ==, (guint64)(strstr(text, "1 2]") + 2 - text));
    g_assert_nonnull(strstr(err.text, "step 1 is not well-formed JSON"));
    psc_arena_release(&arena);
    psc_doc_free(doc);
}

/* ---- what is refused ------------------------------------------------------------------------------ */

static const struct {
    const char *name, *text, *words;
    enum psc_status status;
} refused[] = {
    {"empty", "", "t.json: file is empty", PSC_ERR_PARSE},
    {"blank", " \n ", "empty", PSC_ERR_PARSE},
    {"binary", "\x7f" "ELF\x03", "begins with \"\\x7fELF\\x03\"", PSC_ERR_PARSE},
    {"a-model", "GGUF\x03", "a model in GGUF, not a trace", PSC_ERR_PARSE},
    {"a-list", "[1,2]", "begins with \"[1,2]\"", PSC_ERR_PARSE},
    {"another-format", "{\"format\":\"pprof\",\"version\":1}", "format is \"pprof\"; this program reads",
     PSC_ERR_PARSE},
    {"a-plan", "{\"format\":\"planscope-plan\",\"placements\":[]}", "a plan alone has no graph",
     PSC_ERR_PARSE},
    {"format-no-text", "{\"format\":[1],\"phases\":[]}", "format must be a string, not an array",
     PSC_ERR_PARSE},
    {"nothing-known", "{\"a\":1}", "no \"format\", no \"phases\" and no \"nodes\"", PSC_ERR_PARSE},
    {"version-2", "{\"format\":\"minfer-trace\",\"phases\":[" PHASE("") "],\"version\":2}",
     "version 2, this program reads 1", PSC_ERR_PARSE},
    {"version-text", "{\"format\":\"minfer-trace\",\"version\":\"1\",\"phases\":[]}",
     "version is a string, this program reads 1", PSC_ERR_PARSE},
    {"version-half", "{\"format\":\"minfer-trace\",\"version\":1.5,\"phases\":[]}",
     "version is 1.5, this program reads 1", PSC_ERR_PARSE},
    {"graph-version-3", TRACE("{\"graph\":{\"version\":3,\"nodes\":[]}}"),
     "phases[0].graph.version 3, this program reads 1", PSC_ERR_GRAPH},
    {"no-phases", "{\"format\":\"minfer-trace\",\"version\":1}", "no phases", PSC_ERR_PARSE},
    {"comma", "{\"format\":\"minfer-trace\",\n \"version\":1,}",
     "line 2, column 14 (byte 39): a comma before '}'", PSC_ERR_PARSE},
    {"cut-early", "{\"format\":\"minfer-trace\",\"phases\":[{\"graph\":{\"nodes\":[", "truncated at byte 54",
     PSC_ERR_PARSE},
    {"cut-graph", "{\"format\":\"minfer-graph\",\"nodes\":[", "truncated at byte 34", PSC_ERR_PARSE},
    {"graph-no-object", TRACE("{\"graph\":5}"), "phases[0].graph must be an object or null, not a number",
     PSC_ERR_GRAPH},
    {"nodes-no-list", "{\"format\":\"minfer-graph\",\"nodes\":{}}", "nodes must be an array, not an object",
     PSC_ERR_GRAPH},
    {"nodes-missing", "{\"format\":\"minfer-graph\"}", "nodes must be an array, not nothing", PSC_ERR_GRAPH},
    {"node-no-object", "{\"format\":\"minfer-graph\",\"nodes\":[4]}", "nodes[0] must be an object, not 4",
     PSC_ERR_GRAPH},
    {"id-negative", "{\"format\":\"minfer-graph\",\"nodes\":[{\"id\":-1,\"shape\":[1]}]}",
     "nodes[0].id must be a whole number", PSC_ERR_GRAPH},
    {"id-missing", "{\"format\":\"minfer-graph\",\"nodes\":[{\"shape\":[1]}]}",
     "nodes[0].id must be a whole number", PSC_ERR_GRAPH},
    {"id-too-big", "{\"format\":\"minfer-graph\",\"nodes\":[{\"id\":18446744073709551616,\"shape\":[1]}]}",
     "not 18446744073709551616", PSC_ERR_GRAPH},
    {"shape-missing", "{\"format\":\"minfer-graph\",\"nodes\":[{\"id\":1}]}", "nodes[0].shape must be a list",
     PSC_ERR_GRAPH},
    {"shape-of-five", "{\"format\":\"minfer-graph\",\"nodes\":[{\"id\":1,\"shape\":[1,1,1,1,2]}]}",
     "nodes[0].shape", PSC_ERR_GRAPH},
    {"src-text", "{\"format\":\"minfer-graph\",\"nodes\":[{\"id\":1,\"shape\":[1],\"src\":[\"a\"]}]}",
     "nodes[0].src", PSC_ERR_GRAPH},
    {"dangling", "{\"format\":\"minfer-graph\",\"outputs\":[8],\"nodes\":[" NODE("1", "silu", "9") "]}",
     "src 9 does not exist; output 8 does not exist", PSC_ERR_GRAPH},
    {"bad-second-graph", TRACE(PHASE(STEP("")) ",{\"graph\":{\"nodes\":[" NODE("1", "silu", "1") "]}}"),
     "cycle", PSC_ERR_GRAPH},
};

static void bad_input_is_refused_in_one_sentence(gconstpointer data)
{
    size_t i = GPOINTER_TO_SIZE(data);
    struct psc_doc *doc;
    struct psc_error err;
    struct psc_report report = {0};
    g_assert_cmpint(try_open(refused[i].text, strlen(refused[i].text), &report, &doc, &err), ==,
                    refused[i].status);
    g_assert_null(doc);
    if (!strstr(err.text, refused[i].words))
        g_error("%s: %s", refused[i].name, err.text);
    g_assert_true(g_str_has_prefix(err.text, "t.json: "));
    g_assert_true(g_utf8_validate(err.text, -1, NULL));
    psc_report_release(&report);
}

static void every_fault_of_the_nodes_is_reported_in_one_pass(void)
{
    static const char text[] = "{\"format\":\"minfer-graph\",\"version\":1,\"nodes\":[{\"id\":1},{\"shape\":["
                               "2]},{\"id\":3,\"shape\":[1],\"src\":{}}]}";
    struct psc_doc *doc;
    struct psc_error err;
    struct psc_report report = {0};
    g_assert_cmpint(try_open(text, strlen(text), &report, &doc, &err), ==, PSC_ERR_GRAPH);
    g_assert_cmpuint(report.fault_n, ==, 3);
    g_assert_true(says(&report, "nodes[0].shape"));
    g_assert_true(says(&report, "nodes[1].id"));
    g_assert_true(says(&report, "nodes[2].src"));
    g_assert_cmpuint(report.items[0].line, ==, 1);
    psc_report_release(&report);
}

static void deep_nesting_is_refused_at_once(void)
{
    GString *text = g_string_new("{\"format\":\"minfer-graph\",\"nodes\":[{\"id\":0,\"detail\":");
    for (int i = 0; i < 300000; i++)
        g_string_append_c(text, '[');
    struct psc_doc *doc;
    struct psc_error err;
    gint64 begin = g_get_monotonic_time();
    g_assert_cmpint(try_open(text->str, text->len, NULL, &doc, &err), ==, PSC_ERR_PARSE);
    g_assert_cmpint(g_get_monotonic_time() - begin, <, G_USEC_PER_SEC);
    g_assert_nonnull(strstr(err.text, "nesting too deep"));
    g_string_free(text, TRUE);
}

/* ---- cases from public bug reports ------------------------------------------------------------------- */

static const struct {
    const char *file;
    enum psc_status status;
    const char *words[4]; /* of the error, or of a warning */
    unsigned phases, steps;
} cases[] = {
    {"65-truncated.json", PSC_OK, {"truncated at byte 5700"}, 1, 2},
    {"67-nan-token.json", PSC_OK, {"NaN"}, 1, 1},
    {"69-null-stats.json", PSC_OK, {NULL}, 1, 1},
    {"70-ids-above-2-53.json", PSC_OK, {NULL}, 1, 0},
    {"72-duplicate-names-legal.json", PSC_OK, {NULL}, 1, 0},
    {"73-duplicate-ids.json", PSC_ERR_GRAPH, {"duplicate", "1"}, 0, 0},
    {"75-invalid-utf8.json", PSC_OK, {"UTF-8", "byte 584"}, 1, 1},
    {"76-control-characters.json", PSC_OK, {"line", "column"}, 1, 1},
    {"79-null-and-missing-fields.json", PSC_OK, {NULL}, 1, 0},
    {"80-empty-everything.json", PSC_OK, {NULL}, 4, 2},
    {"81-nesting-100000.json", PSC_ERR_PARSE, {"nesting too deep"}, 0, 0},
    {"83-records-out-of-order.json", PSC_OK, {NULL}, 1, 1},
    {"85-cycles.json", PSC_ERR_GRAPH, {"4 -> 4", "1 -> 2 -> 3 -> 1"}, 0, 0},
    {"87-dangling-references.json", PSC_ERR_GRAPH, {"9", "21", "7"}, 0, 0},
    {"88-version-5.json", PSC_ERR_PARSE, {"version 5, this program reads 1"}, 0, 0},
    {"89-big-trace.json", PSC_OK, {NULL}, 1, 60},
    {"92-zero-byte-file.json", PSC_ERR_PARSE, {"empty"}, 0, 0},
};

static void a_public_case_gets_its_answer(gconstpointer data)
{
    size_t i = GPOINTER_TO_SIZE(data);
    char *relative = g_build_filename("cases", cases[i].file, NULL), *path = test_shared_path(relative);
    g_free(relative);
    if (!path) {
        g_test_skip("the shared cases are not here");
        return;
    }
    struct psc_doc *doc = NULL;
    struct psc_error err = {0};
    g_assert_cmpint(psc_trace_open(path, &whole, NULL, &doc, &err), ==, cases[i].status);
    unsigned steps = 0;
    for (int w = 0; w < 4 && cases[i].words[w]; w++)
        g_assert_true(doc ? says(&doc->report, cases[i].words[w])
                          : strstr(err.text, cases[i].words[w]) != NULL);
    for (uint32_t p = 0; doc && p < doc->phase_n; p++) {
        struct psc_arena arena = {0};
        for (uint32_t s = 0; s < psc_doc_step_n(doc, p); s++, steps++) {
            struct psc_step step;
            g_assert_cmpint(psc_doc_load_step(doc, p, s, &arena, &step, NULL), ==, PSC_OK);
            for (uint32_t r = 1; r < step.record_n; r++)
                g_assert_cmpuint(step.records[r - 1].node, <, step.records[r].node);
        }
        psc_arena_release(&arena);
    }
    g_assert_cmpuint(doc ? doc->phase_n : 0, ==, cases[i].phases);
    g_assert_cmpuint(steps, ==, cases[i].steps);
    psc_doc_free(doc);
    g_free(path);
}

static void the_excerpt_of_a_real_trace_opens(void)
{
    char *path = test_shared_path("data/minfer-trace-excerpt.json");
    if (!path) {
        g_test_skip("the excerpt is not here");
        return;
    }
    struct psc_doc *doc = NULL;
    g_assert_cmpint(psc_trace_open(path, &whole, NULL, &doc, NULL), ==, PSC_OK);
    g_assert_cmpuint(doc->phases[0].graph->n, ==, 440);
    struct psc_arena arena = {0};
    struct psc_step step;
    g_assert_cmpint(psc_doc_load_step(doc, 0, 0, &arena, &step, NULL), ==, PSC_OK);
    g_assert_cmpuint(step.record_n, >, 5);
    psc_arena_release(&arena);
    psc_doc_free(doc);
    g_free(path);
}

/* ---- out of memory --------------------------------------------------------------------------------------
 */

static enum psc_status open_and_load(void *data)
{
    const char *text = data;
    struct psc_doc *doc = NULL;
    struct psc_report report = {0};
    struct psc_arena arena = {0};
    struct psc_step step;
    enum psc_status status = psc_trace_open_memory("t", text, strlen(text), NULL, &report, &doc, NULL);
    if (status == PSC_OK)
        status = psc_doc_scan_all(doc, NULL);
    for (uint32_t p = 0; status == PSC_OK && p < doc->phase_n; p++)
        for (uint32_t s = 0; status == PSC_OK && s < psc_doc_step_n(doc, p); s++)
            status = psc_doc_load_step(doc, p, s, &arena, &step, NULL);
    psc_arena_release(&arena);
    psc_report_release(&report);
    psc_doc_free(doc);
    return status;
}

static void opening_survives_every_failed_allocation(void)
{
    static char trace[] =
        "{\"format\":\"minfer-trace\",\"version\":1,\"mine\":{\"a\":1},\"model\":\"m\xff\",\"prompt\":\"p\","
        "\"phases\":[{\"kind\":\"decode\","
        "\"other\":[1],\"graph\":{\"kind\":\"prefill\",\"inputs\":[0],\"outputs\":[2],\"x\":1,\"nodes\":"
        "[" NODE("0", "input",
                 "") ","
                     "{\"id\":1,\"op\":\"rope\",\"src\":[0,0],\"shape\":[4],\"u\":7,\"detail\":{\"style\":"
                     "\"Interleaved\"},\"meta\":{\"weight\":\"w\",\"hd\":4}}," NODE(
                         "2", "add", "1,0") "]},\"planscope\":{\"capture\":\"node\",\"note\":\"n\","
                                            "\"lesson\":[\"a\",\"b\",\"c\"],\"backend\":\"cpu\","
                                            "\"plan\":{\"placements\":[{\"node\":0,\"buffer\":1},{\"node\":1,"
                                            "\"buffer\":2},{\"node\":2,\"buffer\":2}],\"buffers\":[{\"id\":1,"
                                            "\"bytes\":16}]},\"events\":{\"backends\":[\"cpu\"],\"lanes\":[["
                                            "\"cpu\",0]],\"buffers\":[[1,\"b1\",0,\"input\",16,0]],"
                                            "\"values\":[[\"fill\",\"x\",0,0,-1,0,null,0,16,false,false]],"
                                            "\"events\":[[\"fill\",-1,null,0,0,0,0,0,16,null,null,0,0,0,0]],"
                                            "\"positions\":3}},\"steps\":[" STEP(
                                                REC("2") "," REC("0")) "," STEP("") "]}]}";
    struct psc_doc *doc = open_ok(trace);
    g_assert_nonnull(doc->phases[0].plan);
    g_assert_nonnull(doc->phases[0].story);
    psc_doc_free(doc);
    g_assert_cmpuint(test_oom_loop(open_and_load, trace), >, 30);
    static char graph[] = GRAPH;
    g_assert_cmpuint(test_oom_loop(open_and_load, graph), >, 5);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/traces/read/a-trace-gives-its-phases-and-steps", a_trace_gives_its_phases_and_steps);
    g_test_add_func("/traces/read/a-graph-alone-is-a-document-of-one-phase",
                    a_graph_alone_is_a_document_of_one_phase);
    g_test_add_func("/traces/read/live-documents-open-too", live_documents_open_too);
    g_test_add_func("/traces/read/settings-of-a-node-are-understood-and-kept",
                    settings_of_a_node_are_understood_and_kept);
    for (size_t i = 0; i < G_N_ELEMENTS(tolerated); i++) {
        char *path = g_strdup_printf("/traces/read/tolerated/%s", tolerated[i].name);
        g_test_add_data_func(path, GSIZE_TO_POINTER(i), oddities_are_tolerated);
        g_free(path);
    }
    g_test_add_func("/traces/read/a-step-with-gaps-loads", a_step_with_gaps_loads);
    g_test_add_func("/traces/read/a-step-that-is-no-json-says-where", a_step_that_is_no_json_says_where);
    for (size_t i = 0; i < G_N_ELEMENTS(refused); i++) {
        char *path = g_strdup_printf("/traces/read/refused/%s", refused[i].name);
        g_test_add_data_func(path, GSIZE_TO_POINTER(i), bad_input_is_refused_in_one_sentence);
        g_free(path);
    }
    g_test_add_func("/traces/read/every-fault-of-the-nodes-is-reported-in-one-pass",
                    every_fault_of_the_nodes_is_reported_in_one_pass);
    g_test_add_func("/traces/read/deep-nesting-is-refused-at-once", deep_nesting_is_refused_at_once);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        char *path = g_strdup_printf("/traces/read/public-case/%s", cases[i].file);
        g_test_add_data_func(path, GSIZE_TO_POINTER(i), a_public_case_gets_its_answer);
        g_free(path);
    }
    g_test_add_func("/traces/read/the-excerpt-of-a-real-trace-opens", the_excerpt_of_a_real_trace_opens);
    g_test_add_func("/traces/read/oom/opening-survives-every-failed-allocation",
                    opening_survives_every_failed_allocation);
    return g_test_run();
}
