/* What traces/ writes: read back it is the same, and published graphs come out byte for byte. */
#include "tests/util.h"
#include "traces/json-write.h"
#include "traces/traces.h"

#include <glib/gstdio.h>
#include <math.h>
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

/* ---- graphs -------------------------------------------------------------------------------------- */

/* The published graphs come from a generator in the shared folder; without it, or python, nothing to compare.
 */
static char *published(const char *arguments, gsize *ret_n)
{
    char *script = test_shared_path("tools/gen_minfer_graph.py"), *out = NULL;
    if (!script)
        return NULL;
    char *command = g_strdup_printf("python3 '%s' %s", script, arguments);
    gint status = 1;
    if (!g_spawn_command_line_sync(command, &out, NULL, &status, NULL) || status != 0)
        g_clear_pointer(&out, g_free);
    g_free(command);
    g_free(script);
    *ret_n = out ? strlen(out) : 0;
    return out;
}

static void a_published_graph_comes_out_byte_for_byte(gconstpointer data)
{
    const char *arguments = data;
    gsize n;
    char *text = published(arguments, &n);
    if (!text) {
        g_test_skip("no generator of published graphs");
        return;
    }
    struct psc_doc *doc = open_text(text, n);
    struct psc_text out = {0};
    struct psc_error err;
    g_assert_cmpint(psc_graph_write(&doc->phases[0], strstr(arguments, "--pretty") != NULL, &out, &err), ==,
                    PSC_OK);
    g_assert_cmpuint(out.n, ==, n);
    g_assert_cmpint(memcmp(out.s, text, n), ==, 0);
    psc_text_release(&out);
    psc_doc_free(doc);
    g_free(text);
}

static const char odd_graph[] = "{\"version\":1,\"nodes\":["
                                "{\"zeta\":{\"k\":[1.50,{}]},\"src\":[],\"shape\":[6,2],\"op\":\"input\","
                                "\"id\":18446744073709551615,\"dtype\":\"f32\","
                                "\"alpha\":NaN,\"note\":\"a\\u0041\"},"
                                "{\"id\":9007199254740993,\"op\":\"wobble\",\"name\":\"w\\n\",\"src\":["
                                "18446744073709551615],\"shape\":[6,2,1,1],"
                                "\"detail\":{\"eps\":1.0E-06,\"n\":12345678901234567890},\"meta\":{"
                                "\"weight\":null},\"backend\":\"cpu\",\"dtype\":\"f32\"}],"
                                "\"outputs\":[9007199254740993],\"author\":\"us\",\"kind\":\"prefill\"}";

static void unknown_keys_and_spellings_are_kept(void)
{
    struct psc_doc *doc = open_text(odd_graph, strlen(odd_graph));
    struct psc_text out = {0};
    g_assert_cmpint(psc_graph_write(&doc->phases[0], false, &out, NULL), ==, PSC_OK);
    g_assert_cmpstr(
        out.s, ==,
        "{\"author\":\"us\",\"format\":\"minfer-graph\",\"inputs\":[18446744073709551615],\"kind\":"
        "\"prefill\","
        "\"model\":\"\",\"nodes\":["
        "{\"alpha\":null,\"backend\":null,\"detail\":{},\"dtype\":\"f32\",\"id\":18446744073709551615,"
        "\"meta\":{},"
        "\"name\":\"\",\"note\":\"a\\u0041\",\"op\":\"input\",\"shape\":[6,2,1,1],\"src\":[],"
        "\"zeta\":{\"k\":[1.50,{}]}},"
        "{\"backend\":\"cpu\",\"detail\":{\"eps\":1.0E-06,\"n\":12345678901234567890},\"dtype\":\"f32\","
        "\"id\":9007199254740993,\"meta\":{\"weight\":null},\"name\":\"w\\n\",\"op\":\"wobble\",\"shape\":[6,"
        "2,1,1],"
        "\"src\":[18446744073709551615]}],\"outputs\":[9007199254740993],\"version\":1}");
    /* and once more: a fixed point */
    struct psc_doc *again = open_text(out.s, out.n);
    struct psc_text second = {0};
    g_assert_cmpint(psc_graph_write(&again->phases[0], false, &second, NULL), ==, PSC_OK);
    g_assert_cmpstr(second.s, ==, out.s);
    psc_text_release(&second);
    psc_text_release(&out);
    psc_doc_free(again);
    psc_doc_free(doc);
}

/* ---- traces -------------------------------------------------------------------------------------- */

static bool collect(void *ctx, const char *bytes, size_t n)
{
    struct psc_text *text = ctx;
    psc_text_add_n(text, bytes, n);
    return !text->failed;
}

static char *sample(const char *name, gsize *ret_n)
{
    char *relative = g_build_filename("traces", "samples", name, NULL), *path = test_source_path(relative),
         *text = NULL;
    g_assert_true(g_file_get_contents(path, &text, ret_n, NULL));
    g_free(relative);
    g_free(path);
    return text;
}

static void a_sample_comes_out_as_it_is(gconstpointer data)
{
    gsize n;
    char *text = sample(data, &n);
    struct psc_doc *doc = open_text(text, n);
    struct psc_text out = {0};
    struct psc_error err;
    g_assert_cmpint(psc_trace_write(doc, NULL, NULL, false, collect, &out, &err), ==, PSC_OK);
    while (n && text[n - 1] == '\n') /* the file may end its line */
        n--;
    g_assert_cmpuint(out.n, ==, n);
    /* Metal records its inputs first, a step gives its records in execution order: the same bytes in another
     * order. */
    if (!strstr(data, "metal.json"))
        g_assert_cmpint(memcmp(out.s, text, n), ==, 0);
    struct psc_doc *again = open_text(out.s, out.n);
    struct psc_text second = {0};
    g_assert_cmpint(psc_trace_write(again, NULL, NULL, false, collect, &second, &err), ==, PSC_OK);
    g_assert_cmpstr(second.s, ==, out.s);
    psc_text_release(&second);
    psc_doc_free(again);
    psc_text_release(&out);
    psc_doc_free(doc);
    g_free(text);
}

static const char small_trace[] =
    "{\"format\":\"minfer-trace\",\"version\":1,\"model\":\"m\",\"prompt\":\"p\",\"phases\":[{\"kind\":"
    "\"decode\",\"graph\":{"
    "\"format\":\"minfer-graph\",\"version\":1,\"model\":\"m\",\"kind\":\"decode\",\"inputs\":[3],"
    "\"outputs\":[9],\"nodes\":["
    "{\"id\":3,\"name\":\"x\",\"op\":\"input\",\"detail\":{},\"shape\":[64,1,1,1],\"dtype\":\"f32\","
    "\"backend\":\"cpu\",\"src\":[],"
    "\"meta\":{}},"
    "{\"id\":5,\"name\":\"s\",\"op\":\"silu\",\"detail\":{},\"shape\":[64,1,1,1],\"dtype\":\"f32\","
    "\"backend\":\"cpu\",\"src\":[3],"
    "\"meta\":{}},"
    "{\"id\":7,\"name\":\"m\",\"op\":\"matmul\",\"detail\":{},\"shape\":[64,1,1,1],\"dtype\":\"f32\","
    "\"backend\":\"cpu\","
    "\"src\":[5],\"meta\":{}},"
    "{\"id\":9,\"name\":\"a, "
    "\\\"b\\\"\",\"op\":\"add\",\"detail\":{},\"shape\":[64,1,1,1],\"dtype\":\"f32\",\"backend\":\"cpu\","
    "\"src\":[7,3],\"meta\":{}}]},"
    "\"planscope\":{\"capture\":\"split\",\"slots\":\"random\",\"slots_seed\":18446744073709551615,"
    "\"backend\":\"cuda\","
    "\"note\":\"look\",\"lesson\":[\"why?\",\"there\",\"so\"]},\"mine\":[1,2],"
    "\"steps\":[{\"token\":5,\"text\":\" t\",\"logits_top\":[[7,0.5]],\"nodes\":["
    "{\"id\":5,\"dtype\":\"f32\",\"n\":64,\"stride\":1,\"stats\":{\"min\":null,\"max\":1.5,\"mean\":0.1,"
    "\"absmean\":0.2},"
    "\"values\":[0.1,null,-2.5]},{\"id\":3,\"dtype\":\"f32\",\"n\":0,\"stride\":0}]}]}]}";

static struct psc_plan *plan_of(struct psc_arena *arena, const struct psc_graph *graph)
{
    struct psc_plan *plan = NULL;
    struct psc_error err;
    const struct psc_planner *pool = psc_planner_find("pool");
    g_assert_nonnull(pool);
    g_assert_cmpint(pool->plan(arena, graph, &psc_plan_defaults, &plan, &err), ==, PSC_OK);
    return plan;
}

static void settings_and_unknown_keys_of_a_phase_are_kept(void)
{
    struct psc_doc *doc = open_text(small_trace, strlen(small_trace));
    struct psc_text out = {0};
    g_assert_cmpint(psc_trace_write(doc, NULL, NULL, true, collect, &out, NULL), ==, PSC_OK);
    struct psc_doc *again = open_text(out.s, out.n);
    const struct psc_phase *p = &again->phases[0];
    g_assert_cmpint(p->capture, ==, PSC_CAPTURE_SPLIT);
    g_assert_true(p->has_slots);
    g_assert_cmpint(p->slots, ==, PSC_SLOTS_RANDOM);
    g_assert_cmpuint(p->slots_seed, ==, UINT64_MAX);
    g_assert_cmpstr(p->true_backend, ==, "cuda");
    g_assert_cmpstr(p->note, ==, "look");
    g_assert_cmpstr(p->lesson[0], ==, "why?");
    g_assert_cmpstr(p->lesson[2], ==, "so");
    g_assert_cmpstr(p->extra_json, ==, "\"mine\":[1,2]");
    g_assert_null(p->plan);
    struct psc_arena arena = {0};
    struct psc_step step;
    g_assert_cmpint(psc_doc_load_step(again, 0, 0, &arena, &step, NULL), ==, PSC_OK);
    g_assert_cmpuint(step.record_n, ==, 2);
    g_assert_cmpuint(step.records[0].id, ==, 3);
    g_assert_false(step.records[0].has_stats);
    g_assert_cmpuint(step.records[1].nonfinite, ==, 1);
    g_assert_true(isnan(step.records[1].min) && isnan(step.records[1].values[1]));
    g_assert_true(step.records[1].values[0] == 0.1f);
    g_assert_cmpint((gint)step.token, ==, 5);
    g_assert_cmpint((gint)step.top[0].id, ==, 7);
    psc_arena_release(&arena);
    psc_doc_free(again);
    psc_text_release(&out);
    psc_doc_free(doc);
}

static void assert_same_story(const struct psc_story *a, const struct psc_story *b)
{
    g_assert_cmpuint(a->value_n, ==, b->value_n);
    g_assert_cmpuint(a->buffer_n, ==, b->buffer_n);
    g_assert_cmpuint(a->event_n, ==, b->event_n);
    g_assert_cmpuint(a->lane_n, ==, b->lane_n);
    g_assert_cmpuint(a->position_n, ==, b->position_n);
    g_assert_true(a->predicted == b->predicted && a->executor == b->executor && !a->order == !b->order);
    for (uint32_t i = 0; i < a->event_n; i++) {
        const struct psc_event *x = &a->events[i], *y = &b->events[i];
        g_assert_true(x->lo == y->lo && x->hi == y->hi && x->value == y->value && x->version == y->version &&
                      x->buffer == y->buffer && x->generation == y->generation && x->node == y->node &&
                      x->peer == y->peer && x->cause == y->cause && x->position == y->position &&
                      x->run == y->run && x->phase == y->phase && x->lane == y->lane &&
                      x->operand == y->operand && x->kind == y->kind);
    }
    for (uint32_t i = 0; i < a->value_n; i++) {
        const struct psc_value *x = &a->values[i], *y = &b->values[i];
        g_assert_true(x->kind == y->kind && x->backend == y->backend && x->is_view == y->is_view &&
                      x->is_output == y->is_output && x->slot == y->slot && x->layer == y->layer &&
                      x->node == y->node && x->of == y->of && x->offset == y->offset && x->bytes == y->bytes);
        g_assert_cmpstr(x->name, ==, y->name);
    }
    for (uint32_t i = 0; i < a->buffer_n; i++) {
        const struct psc_buffer *x = &a->buffers[i], *y = &b->buffers[i];
        g_assert_true(x->id == y->id && x->backend == y->backend && x->role == y->role &&
                      x->bytes == y->bytes && x->base == y->base);
        g_assert_cmpstr(x->name, ==, y->name);
    }
}

static void check_plan_and_events(const char *text, size_t n)
{
    struct psc_doc *doc = open_text(text, n);
    struct psc_arena arena = {0};
    struct psc_plan *plans[8] = {NULL};
    struct psc_story *stories[8] = {NULL};
    g_assert_cmpuint(doc->phase_n, <=, 8);
    for (uint32_t p = 0; p < doc->phase_n; p++) {
        plans[p] = plan_of(&arena, doc->phases[p].graph);
        g_assert_cmpint(psc_plan_lower(&arena, doc->phases[p].graph, plans[p], &stories[p], NULL), ==,
                        PSC_OK);
    }
    struct psc_text out = {0};
    g_assert_cmpint(psc_trace_write(doc, plans, stories, false, collect, &out, NULL), ==, PSC_OK);
    struct psc_doc *again = open_text(out.s, out.n);
    for (size_t i = 0; i < again->report.n; i++)
        g_assert_cmpint(again->report.items[i].level, ==, PSC_NOTE);
    for (uint32_t p = 0; p < doc->phase_n; p++) {
        const struct psc_plan *plan = again->phases[p].plan;
        g_assert_nonnull(plan);
        g_assert_nonnull(again->phases[p].story);
        assert_same_story(stories[p], again->phases[p].story);
        for (uint32_t i = 0; i < plan->node_n; i++) {
            const struct psc_place *x = &plans[p]->places[i], *y = &plan->places[i];
            g_assert_true((x->buffer == PSC_NONE) == (y->buffer == PSC_NONE));
            if (x->buffer == PSC_NONE || x->reason == PSC_WHY_REGION)
                continue;
            g_assert_cmpuint(plan->buffers[y->buffer].id, ==, plans[p]->buffers[x->buffer].id);
            g_assert_cmpuint(x->offset, ==, y->offset);
            g_assert_cmpuint(plans[p]->buffers[x->buffer].bytes, ==, plan->buffers[y->buffer].bytes);
        }
    }
    /* what was read is written again as it is */
    struct psc_text second = {0};
    g_assert_cmpint(psc_trace_write(again, plans, NULL, false, collect, &second, NULL), ==, PSC_OK);
    g_assert_cmpuint(second.n, ==, out.n);
    g_assert_cmpint(memcmp(second.s, out.s, out.n), ==, 0);
    psc_text_release(&second);
    psc_text_release(&out);
    psc_doc_free(again);
    psc_arena_release(&arena);
    psc_doc_free(doc);
}

static void plan_and_events_come_back(void)
{
    check_plan_and_events(small_trace, strlen(small_trace));
}

static void plan_and_events_of_a_graph_with_splits_come_back(void)
{
    gsize n;
    char *text = sample("qwen2.5-0.5b-440-cuda-cpu.json", &n);
    check_plan_and_events(text, n);
    g_free(text);
}

static bool refuse(void *ctx, const char *bytes, size_t n)
{
    (void)ctx;
    (void)bytes;
    (void)n;
    return false;
}

static void a_full_disk_is_an_error(void)
{
    struct psc_doc *doc = open_text(small_trace, strlen(small_trace));
    struct psc_error err = {0};
    g_assert_cmpint(psc_trace_write(doc, NULL, NULL, false, refuse, NULL, &err), ==, PSC_ERR_IO);
    g_assert_cmpuint(strlen(err.text), >, 0);
    psc_doc_free(doc);
}

/* ---- plans --------------------------------------------------------------------------------------- */

static void a_plan_is_written_in_the_documented_form(void)
{
    struct psc_doc *doc = open_text(small_trace, strlen(small_trace));
    struct psc_arena arena = {0};
    struct psc_plan *plan = plan_of(&arena, doc->phases[0].graph);
    struct psc_text out = {0};
    g_assert_cmpint(psc_plan_write(doc->phases[0].graph, plan, false, &out, NULL), ==, PSC_OK);
    g_assert_true(g_str_has_prefix(
        out.s, "{\"format\":\"planscope-plan\",\"version\":1,\"executor\":\"serial\",\"planner\":\"pool\","
               "\"mode\":\"upstream\",\"options\":{\"size\":\"class\",\"slots\":\"lowest\","
               "\"order\":\"build\",\"faults\":[]},\"figures\":{\"nodes\":4,"));
    static const char *const keys[] = {"\"peak\":{\"at\":",
                                       "\"contributors\":[{\"node\":3,\"bytes\":256}",
                                       "\"buffers\":[{\"id\":0,",
                                       "\"nodes\":[{\"id\":3,\"name\":\"x\",\"backend\":\"cpu\",",
                                       "\"reason\":{\"code\":\"input\"",
                                       "\"refused\":[",
                                       "\"copies\":[]",
                                       "\"splits\":[{\"backend\":\"cpu\",\"first\":0,\"last\":3}]",
                                       "\"placements\":[{\"node\":3,"};
    for (size_t i = 0; i < G_N_ELEMENTS(keys); i++)
        g_assert_nonnull(strstr(out.s, keys[i]));
    struct psc_foreign foreign;
    struct psc_plan *back = NULL;
    g_assert_cmpint(psc_plan_read_memory(&arena, "plan", out.s, out.n, &foreign, NULL), ==, PSC_OK);
    g_assert_cmpint(psc_plan_from_foreign(&arena, doc->phases[0].graph, &foreign, &back, NULL), ==, PSC_OK);
    for (uint32_t i = 0; i < plan->node_n; i++)
        g_assert_cmpuint(plan->places[i].offset, ==, back->places[i].offset);
    psc_text_release(&out);
    psc_arena_release(&arena);
    psc_doc_free(doc);
}

static void a_plan_as_csv_quotes_what_must_be_quoted(void)
{
    struct psc_doc *doc = open_text(small_trace, strlen(small_trace));
    struct psc_arena arena = {0};
    struct psc_text out = {0};
    g_assert_cmpint(
        psc_plan_write_csv(doc->phases[0].graph, plan_of(&arena, doc->phases[0].graph), &out, NULL), ==,
        PSC_OK);
    g_assert_true(g_str_has_prefix(
        out.s, "position,id,name,op,backend,shape,bytes,buffer,offset,length,first,last,reason\r\n"
               "0,3,x,input,cpu,64x1x1x1,256,"));
    g_assert_nonnull(strstr(out.s, "\r\n3,9,\"a, \"\"b\"\"\",add,cpu,64x1x1x1,256,"));
    char **lines = g_strsplit(out.s, "\r\n", 0);
    g_assert_cmpuint(g_strv_length(lines), ==, 6); /* header, four nodes, nothing after the last line end */
    g_strfreev(lines);
    psc_text_release(&out);
    psc_arena_release(&arena);
    psc_doc_free(doc);
}

static void foreign_plans_are_read_with_what_they_have(void)
{
    static const char text[] =
        "{\"placements\":[{\"node\":9007199254740993,\"buffer\":\"A\",\"offset\":16},{\"buffer\":7,\"node\":"
        "2}],"
        "\"buffers\":[{\"id\":7,\"bytes\":64},{\"id\":\"A\",\"backend\":\"cpu\"}],\"executor\":\"level\","
        "\"rerun\":true,\"who\":\"else\"}";
    struct psc_arena arena = {0};
    struct psc_foreign f;
    g_assert_cmpint(psc_plan_read_memory(&arena, "p", text, strlen(text), &f, NULL), ==, PSC_OK);
    g_assert_cmpuint(f.place_n, ==, 2);
    g_assert_cmpuint(f.places[0].node_id, ==, 9007199254740993u);
    g_assert_cmpstr(f.places[0].buffer, ==, "A");
    g_assert_cmpuint(f.places[0].offset, ==, 16);
    g_assert_cmpstr(f.places[1].buffer, ==, "7");
    g_assert_cmpuint(f.places[1].offset, ==, 0);
    g_assert_cmpuint(f.buffer_n, ==, 2);
    g_assert_cmpuint(f.buffers[0].bytes, ==, 64);
    g_assert_true(f.buffers[1].bytes == UINT64_MAX);
    g_assert_cmpstr(f.buffers[1].backend, ==, "cpu");
    g_assert_cmpint(f.executor, ==, PSC_EXEC_LEVEL);
    g_assert_true(f.rerun);
    psc_arena_release(&arena);
}

static void a_wrong_plan_says_what_is_wrong(void)
{
    static const struct {
        const char *text, *words;
    } rows[] = {
        {"", "empty"},
        {"{\"placements\":[", "truncated at byte 15"},
        {"[1]", "begins with \"[1]\""},
        {"{}", "placements"},
        {"{\"format\":\"minfer-graph\",\"placements\":[]}", "planscope-plan"},
        {"{\"version\":2,\"placements\":[]}", "version 2, this program reads 1"},
        {"{\"executor\":\"fast\",\"placements\":[]}", "\"serial\" or \"level\""},
        {"{\"placements\":[{\"node\":1,\"buffer\":\"a\"},{\"node\":-1,\"buffer\":\"a\"}]}",
         "placements[1].node must be a node id, not -1"},
        {"{\"placements\":[{\"node\":1}]}", "placements[0].buffer must be a buffer's id, not nothing"},
        {"{\"placements\":[{\"node\":1,\"buffer\":\"a\",\"offset\":1.5}]}",
         "placements[0].offset must be a whole number of bytes, not 1.5"},
        {"{\"placements\":[],\"buffers\":[{\"bytes\":3}]}", "buffers[0].id"},
        {"{\"placements\":[{\"node\":1,}]}", "line 1, column 26 (byte 25)"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct psc_arena arena = {0};
        struct psc_foreign f;
        struct psc_error err = {0};
        g_assert_cmpint(psc_plan_read_memory(&arena, "p.json", rows[i].text, strlen(rows[i].text), &f, &err),
                        ==, PSC_ERR_PARSE);
        g_assert_true(g_str_has_prefix(err.text, "p.json: "));
        if (!strstr(err.text, rows[i].words))
            g_error("row %zu: %s", i, err.text);
        psc_arena_release(&arena);
    }
}

/* ---- files --------------------------------------------------------------------------------------- */

static void a_file_is_replaced_whole_or_not_at_all(void)
{
    char *folder = g_dir_make_tmp("psc-XXXXXX", NULL);
    char *path = g_build_filename(folder, "out file.json", NULL), *text;
    g_assert_cmpint(psc_file_write(path, "first", 5, NULL), ==, PSC_OK);
    g_assert_cmpint(psc_file_write(path, "second", 6, NULL), ==, PSC_OK);
    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    g_assert_cmpstr(text, ==, "second");
    g_free(text);
    GDir *dir = g_dir_open(folder, 0, NULL);
    unsigned files = 0;
    while (g_dir_read_name(dir))
        files++;
    g_dir_close(dir);
    g_assert_cmpuint(files, ==, 1); /* no temporary file is left */
    struct psc_error err = {0};
    char *nowhere = g_build_filename(folder, "no", "such", "folder", NULL);
    g_assert_cmpint(psc_file_write(nowhere, "x", 1, &err), ==, PSC_ERR_IO);
    g_assert_cmpstr(err.text, ==, "cannot be written: No such file or directory");
    g_unlink(path);
    g_rmdir(folder);
    g_free(nowhere);
    g_free(path);
    g_free(folder);
}

/* ---- out of memory ------------------------------------------------------------------------------- */

static enum psc_status write_everything(void *data)
{
    struct psc_doc *doc = data;
    struct psc_text out = {0};
    struct psc_arena arena = {0};
    struct psc_plan *plan = NULL;
    struct psc_story *story = NULL;
    const struct psc_graph *graph = doc->phases[0].graph;
    enum psc_status status = psc_planner_find("pool")->plan(&arena, graph, &psc_plan_defaults, &plan, NULL);
    if (status == PSC_OK)
        status = psc_plan_lower(&arena, graph, plan, &story, NULL);
    if (status == PSC_OK)
        status = psc_trace_write(doc, &plan, &story, true, collect, &out, NULL);
    if (status == PSC_OK)
        status = psc_plan_write(graph, plan, true, &out, NULL);
    if (status == PSC_OK)
        status = psc_plan_write_csv(graph, plan, &out, NULL);
    if (status == PSC_OK)
        status = psc_graph_write(&doc->phases[0], false, &out, NULL);
    if (status == PSC_ERR_IO && out.failed)
        status = PSC_ERR_NOMEM; /* `collect` refused for want of memory */
    psc_text_release(&out);
    psc_arena_release(&arena);
    return status;
}

static void writing_survives_every_failed_allocation(void)
{
    struct psc_doc *doc = open_text(small_trace, strlen(small_trace));
    g_assert_cmpuint(test_oom_loop(write_everything, doc), >, 10);
    psc_doc_free(doc);
}

int main(int argc, char **argv)
{
    static const char *const graphs[] = {"prefill",
                                         "decode",
                                         "prefill --pretty",
                                         "decode --pretty",
                                         "prefill cpu",
                                         "decode cpu --unfused --pretty",
                                         "prefill --tokens 440 --layers 3"};
    static const char *const samples[] = {"chain.json", "parallel.json", "qwen2.5-0.5b-440-cuda-cpu.json",
                                          "qwen2.5-0.5b-metal.json", "qwen2.5-0.5b-per-node.json"};
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(graphs); i++) {
        char *path = g_strdup_printf("/traces/write/a-published-graph-comes-out-byte-for-byte/%s", graphs[i]);
        g_test_add_data_func(path, graphs[i], a_published_graph_comes_out_byte_for_byte);
        g_free(path);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(samples); i++) {
        char *path = g_strdup_printf("/traces/write/a-sample-comes-out-as-it-is/%s", samples[i]);
        g_test_add_data_func(path, samples[i], a_sample_comes_out_as_it_is);
        g_free(path);
    }
    g_test_add_func("/traces/write/unknown-keys-and-spellings-are-kept", unknown_keys_and_spellings_are_kept);
    g_test_add_func("/traces/write/settings-and-unknown-keys-of-a-phase-are-kept",
                    settings_and_unknown_keys_of_a_phase_are_kept);
    g_test_add_func("/traces/write/plan-and-events-come-back", plan_and_events_come_back);
    g_test_add_func("/traces/write/plan-and-events-of-a-graph-with-splits-come-back",
                    plan_and_events_of_a_graph_with_splits_come_back);
    g_test_add_func("/traces/write/a-full-disk-is-an-error", a_full_disk_is_an_error);
    g_test_add_func("/traces/plan/is-written-in-the-documented-form",
                    a_plan_is_written_in_the_documented_form);
    g_test_add_func("/traces/plan/as-csv-quotes-what-must-be-quoted",
                    a_plan_as_csv_quotes_what_must_be_quoted);
    g_test_add_func("/traces/plan/foreign-plans-are-read-with-what-they-have",
                    foreign_plans_are_read_with_what_they_have);
    g_test_add_func("/traces/plan/a-wrong-plan-says-what-is-wrong", a_wrong_plan_says_what_is_wrong);
    g_test_add_func("/traces/file/is-replaced-whole-or-not-at-all", a_file_is_replaced_whole_or_not_at_all);
    g_test_add_func("/traces/write/oom/writing-survives-every-failed-allocation",
                    writing_survives_every_failed_allocation);
    return g_test_run();
}
