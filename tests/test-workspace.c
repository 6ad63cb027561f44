/* The workspace and what moves it, without a display: a document in, positions, selections and verdicts out. */
#include "traces/traces.h"
#include "tests/util.h"
#include "tests/workspaces.h"
#include "ui/navigate.h"
#include "ui/filter.h"
#include "ui/workspace-kv.h"

#include <glib/gstdio.h>
#include <string.h>

struct fixture {
    PscWorkspace *ws;
    guint changes; /* all bits that were ever reported */
};

static void changed_cb(PscWorkspace *ws G_GNUC_UNUSED, guint what, struct fixture *f)
{
    f->changes |= what;
}

static void open_path(struct fixture *f, const char *path)
{
    struct psc_report report = {0};
    struct psc_error error = {0};
    struct psc_doc *doc = NULL;
    g_assert_cmpint(psc_trace_open(path, NULL, &report, &doc, &error), ==, PSC_OK);
    psc_report_release(&report);
    PscDocument *document = psc_document_new(doc);
    struct psc_analysis_options options = {.plan = psc_plan_defaults};
    PscLook look = {0};
    g_assert_true(psc_look_make(&look, document, NULL, 0, &doc->phases[0], &options, psc_doc_step_n(doc, 0) > 0, 0, &error));
    psc_workspace_adopt(f->ws, document, &look, "test");
}

static void open_file(struct fixture *f, const char *relative)
{
    char *path = test_source_path(relative);
    open_path(f, path);
    g_free(path);
}

static void set_up(struct fixture *f, gconstpointer file)
{
    f->ws = psc_workspace_new();
    g_signal_connect(f->ws, "changed", G_CALLBACK(changed_cb), f);
    if (file)
        open_file(f, file);
}

static void tear_down(struct fixture *f, gconstpointer file G_GNUC_UNUSED)
{
    workspace_close(f->ws);
}

static void settle(struct fixture *f)
{
    workspace_settle(f->ws, NULL);
}

static void drain(struct fixture *f)
{
    settle(f);
    for (guint phase = 0; phase < psc_workspace_phase_n(f->ws); phase++)
        for (guint step = 0; step < psc_workspace_step_n(f->ws, phase); step++)
            while (!psc_workspace_token(f->ws, phase, step))
                g_main_context_iteration(NULL, TRUE);
}

#define METAL "traces/samples/qwen2.5-0.5b-metal.json"
#define TAKEOVER "traces/samples/takeover.lazy"
#define ARENAS "traces/samples/arenas.json"
#define CHAIN "traces/samples/chain.json"

static void test_empty(struct fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    g_assert_null(psc_workspace_study(f->ws));
    g_assert_false(psc_navigate_by(f->ws, 1));
    g_assert_false(psc_navigate_problem(f->ws, 1));
    g_assert_false(psc_navigate_go_to(f->ws, "3"));
    psc_workspace_step_to(f->ws, 3);
    psc_workspace_show_all(f->ws);
    g_assert_cmpint(psc_workspace_cursor(f->ws), ==, -1);
}

static void test_first_view(struct fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    double x0, x1;
    psc_workspace_range(f->ws, &x0, &x1);
    g_assert_cmpfloat(x0, ==, -1);
    g_assert_cmpfloat(x1, ==, 441);
    g_assert_cmpint(psc_workspace_colour_by(f->ws), ==, PSC_BY_RECORD);
    g_assert_cmpuint(psc_workspace_records(f->ws)->check.overwritten, ==, 350);
    g_assert_cmpuint(psc_workspace_records(f->ws)->check.own, ==, 18);
    g_assert_cmpuint(psc_workspace_records(f->ws)->holders[0].count, ==, 115);
    drain(f);
}

static void test_cursor(struct fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    settle(f);
    g_assert_true(psc_navigate_by(f->ws, 1));
    g_assert_cmpint(psc_workspace_cursor(f->ws), ==, 0);
    g_assert_cmpuint(psc_workspace_selection(f->ws).node, ==, 0);
    g_assert_true(psc_navigate_by(f->ws, 1000000));
    g_assert_cmpint(psc_workspace_cursor(f->ws), ==, 440);
    g_assert_cmpuint(psc_workspace_selection(f->ws).node, ==, PSC_NONE);
    g_assert_false(psc_navigate_by(f->ws, 1));
    g_assert_true(psc_navigate_end(f->ws, -1));
    g_assert_cmpint(psc_workspace_cursor(f->ws), ==, -1);
    g_assert_true(psc_navigate_layer(f->ws, 1));
    g_assert_true(psc_navigate_layer(f->ws, 1));
    g_assert_cmpint(psc_workspace_cursor(f->ws), ==, 3);
    g_assert_true(psc_navigate_peak(f->ws));
    g_assert_cmpint(psc_workspace_cursor(f->ws), ==, 439);
    drain(f);
}

/* The range follows the cursor and keeps its width. */
static void test_follow(struct fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    double x0, x1;
    psc_workspace_set_range(f->ws, 10, 50);
    psc_workspace_step_to(f->ws, 300);
    psc_workspace_range(f->ws, &x0, &x1);
    g_assert_cmpfloat_with_epsilon(x1 - x0, 40, 1e-9);
    g_assert_true(x0 < 300 && x1 > 301);
    psc_workspace_step_to(f->ws, 301);
    double y0, y1;
    psc_workspace_range(f->ws, &y0, &y1);
    psc_workspace_step_to(f->ws, 300); /* inside the middle: the view rests */
    psc_workspace_range(f->ws, &x0, &x1);
    g_assert_cmpfloat_with_epsilon(x0, y0, 1e-9);
    drain(f);
}

static void test_go_to(struct fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    g_assert_true(psc_navigate_go_to(f->ws, " #124 "));
    g_assert_cmpint(psc_workspace_cursor(f->ws), ==, 124);
    g_assert_true(psc_navigate_go_to(f->ws, "50%"));
    g_assert_cmpint(psc_workspace_cursor(f->ws), ==, 219);
    g_assert_true(psc_navigate_go_to(f->ws, "b9"));
    g_assert_cmpuint(psc_workspace_selection(f->ws).node, ==, PSC_NONE);
    g_assert_cmpuint(psc_workspace_selection(f->ws).buffer, ==, 9);
    g_assert_true(psc_navigate_go_to(f->ws, "0x13400"));
    g_assert_cmpuint(psc_workspace_selection(f->ws).buffer, ==, 9);
    g_assert_true(psc_navigate_go_to(f->ws, "output_norm"));
    g_assert_cmpint(psc_workspace_cursor(f->ws), ==, 438);
    g_assert_false(psc_navigate_go_to(f->ws, "9999"));
    g_assert_false(psc_navigate_go_to(f->ws, "no-such-op"));
    g_assert_false(psc_navigate_go_to(f->ws, ""));
    g_assert_cmpint(psc_workspace_cursor(f->ws), ==, 438);
    drain(f);
}

static void test_accesses(struct fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    psc_workspace_step_to(f->ws, 124); /* ffn_up: written at 124, read at 126 */
    g_assert_true(psc_navigate_next_reader(f->ws));
    g_assert_cmpint(psc_workspace_cursor(f->ws), ==, 126);
    g_assert_cmpuint(psc_workspace_selection(f->ws).node, ==, 124);
    g_assert_true(psc_navigate_last_writer(f->ws));
    g_assert_cmpint(psc_workspace_cursor(f->ws), ==, 124);
    g_assert_true(psc_navigate_access(f->ws, 1, true));
    g_assert_cmpint(psc_workspace_cursor(f->ws), ==, 142); /* the next owner */
    g_assert_true(psc_navigate_access(f->ws, -1, false));
    g_assert_cmpint(psc_workspace_cursor(f->ws), ==, 126);
    drain(f);
}

/* X walks through all 350 overwritten records and comes round. */
static void test_problems(struct fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    uint32_t clobbers, records;
    g_assert_cmpuint(psc_navigate_problem_n(f->ws, &clobbers, &records), ==, 350);
    g_assert_cmpuint(clobbers, ==, 0);
    g_assert_true(psc_navigate_problem(f->ws, 1));
    psc_node first = psc_workspace_selection(f->ws).node;
    for (int i = 0; i < 350; i++) {
        g_assert_cmpint(psc_records_verdict(psc_workspace_records(f->ws), psc_workspace_selection(f->ws).node)->verdict, ==,
                        PSC_RECORD_OVERWRITTEN);
        g_assert_true(psc_navigate_problem(f->ws, 1));
    }
    g_assert_cmpuint(psc_workspace_selection(f->ws).node, ==, first);
    g_assert_true(psc_navigate_problem(f->ws, -1));
    g_assert_cmpuint(psc_workspace_selection(f->ws).node, !=, first);
    drain(f);
}

/* Another phase comes whole, and the first one as it was left. */
static void test_phases(struct fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    drain(f);
    g_assert_cmpstr(psc_workspace_prompt(f->ws), ==, "Hello!");
    g_assert_cmpuint(psc_workspace_phase_n(f->ws), ==, 2);
    g_assert_cmpuint(psc_workspace_step_n(f->ws, 1), ==, 3);
    psc_workspace_step_to(f->ws, 77);
    psc_workspace_set_phase(f->ws, 1);
    g_assert_cmpuint(psc_workspace_phase_index(f->ws), ==, 0);
    settle(f);
    g_assert_cmpuint(psc_workspace_phase_index(f->ws), ==, 1);
    g_assert_cmpint(psc_study_end(psc_workspace_study(f->ws)), ==, 305);
    g_assert_cmpuint(psc_workspace_records(f->ws)->check.own, ==, 10);
    psc_workspace_set_step(f->ws, 2);
    settle(f);
    g_assert_cmpuint(psc_workspace_step_index(f->ws), ==, 2);
    psc_workspace_set_phase(f->ws, 0);
    psc_workspace_set_phase(f->ws, 1); /* overtakes */
    psc_workspace_set_phase(f->ws, 0);
    settle(f);
    g_assert_cmpuint(psc_workspace_phase_index(f->ws), ==, 0);
    g_assert_cmpint(psc_workspace_cursor(f->ws), ==, 77);
}

/* A plan option is planned again at once; a finding is shown and cleared with its cause. */
static void test_replan(struct fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    settle(f);
    struct psc_analysis_options options = *psc_workspace_options(f->ws);
    g_assert_cmpuint(psc_workspace_study(f->ws)->analysis->check.finding_n, ==, 0);
    options.replan = true;
    options.plan.order = PSC_ORDER_TOPOLOGICAL;
    psc_workspace_set_options(f->ws, &options);
    g_assert_true(psc_workspace_busy(f->ws));
    settle(f);
    g_assert_cmpuint(psc_workspace_study(f->ws)->analysis->check.finding_n, >, 0);
    g_assert_cmpint(psc_workspace_selection(f->ws).finding, ==, 0);
    g_assert_cmpint(psc_workspace_cursor(f->ws), ==, psc_workspace_study(f->ws)->analysis->check.findings[0].position);
    int32_t at = psc_workspace_cursor(f->ws);
    g_assert_true(psc_navigate_by(f->ws, 1)); /* a step keeps the finding */
    g_assert_cmpint(psc_workspace_selection(f->ws).finding, ==, 0);
    g_assert_cmpint(psc_workspace_cursor(f->ws), ==, at + 1);
    psc_workspace_select_nothing(f->ws);
    options.plan.order = PSC_ORDER_BUILD;
    psc_workspace_set_options(f->ws, &options);
    settle(f);
    g_assert_cmpuint(psc_workspace_study(f->ws)->analysis->check.finding_n, ==, 0);
    g_assert_cmpint(psc_workspace_selection(f->ws).finding, ==, -1);
    drain(f);
}

/* Keys come in any order: this plan stands behind the steps, and so behind what is shown at once. */
static void test_late_plan(struct fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    GString *text = g_string_new("{'format':'minfer-trace','version':1,'phases':[{'kind':'k','graph':{'format':'minfer-graph',"
                                 "'version':1,'kind':'k','model':'m','inputs':[0],'outputs':[3],'nodes':[");
    static const char *const nodes[][3] = {{"x", "input", ""}, {"a", "silu", "0"}, {"b", "silu", "0"}, {"o", "add", "1,2"}};
    for (guint i = 0; i < 4; i++)
        g_string_append_printf(text, "%s{'id':%u,'name':'%s','op':'%s','src':[%s],'shape':[4,1,1,1],'dtype':'f32','backend':'cpu',"
                                     "'meta':{},'detail':{}}", i ? "," : "", i, nodes[i][0], nodes[i][1], nodes[i][2]);
    g_string_append(text, "]},'steps':[{'nodes':[],'logits_top':[],'text':'','token':null}],'planscope':{'plan':{'format':"
                          "'planscope-plan','version':1,'placements':[{'node':0,'buffer':'X','offset':0},{'node':1,'buffer':'A','offset':0},"
                          "{'node':2,'buffer':'A','offset':0},{'node':3,'buffer':'O','offset':0}]}}}]}");
    g_strdelimit(text->str, "'", '"');
    char *path = NULL;
    int file = g_file_open_tmp("late-XXXXXX.json", &path, NULL);
    g_assert_cmpint(file, >=, 0);
    g_assert_true(g_close(file, NULL) && g_file_set_contents(path, text->str, (gssize)text->len, NULL));
    open_path(f, path);
    g_assert_cmpint(g_remove(path), ==, 0);
    g_assert_cmpuint(psc_workspace_study(f->ws)->analysis->check.finding_n, ==, 0);
    settle(f);
    g_assert_true(psc_study_brings_plan(psc_workspace_study(f->ws)));
    g_assert_cmpuint(psc_workspace_study(f->ws)->analysis->check.finding_n, ==, 1);
    g_assert_cmpint(psc_workspace_selection(f->ws).finding, ==, 0);
    drain(f);
    g_free(path);
    g_string_free(text, TRUE);
}

/* Closing while workers are at it: nothing comes back from the dead. */
static void test_close_while_busy(struct fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    psc_workspace_set_phase(f->ws, 1);
    psc_workspace_close(f->ws);
    g_assert_null(psc_workspace_document(f->ws));
    g_assert_false(psc_workspace_busy(f->ws));
    open_file(f, CHAIN);
    drain(f);
    g_assert_cmpint(psc_study_end(psc_workspace_study(f->ws)), ==, 7);
}

/* An expression is shown from the inside; going back gives what was there on the way. */
static void test_expression(struct fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    struct psc_arena arena = {0};
    char *words[9] = {NULL};
    PscStudy *study = psc_workspace_study(f->ws);
    g_assert_cmpint(psc_workspace_y_mode(f->ws), ==, PSC_VIEW_PANEL);
    g_assert_nonnull(study->inside->tale);
    for (int i = 0; i < 18; i++) {
        struct psc_candela_view *v;
        struct psc_text text = {0};
        int at = i < 9 ? i : 17 - i;
        psc_workspace_step_to(f->ws, at);
        g_assert_cmpint(psc_candela_view_at(&arena, study->inside->tale, psc_workspace_cursor(f->ws), &v, NULL), ==, PSC_OK);
        psc_explain_candela_view(&text, v);
        if (i >= 9)
            g_assert_cmpstr(psc_text_str(&text), ==, words[at]);
        else
            words[at] = g_strdup(psc_text_str(&text));
        psc_text_release(&text);
    }
    g_assert_nonnull(strstr(words[3], "From here on k stands for t (packed)"));
    for (int i = 0; i < 9; i++)
        g_free(words[i]);
    /* the same as a list */
    struct psc_text line = {0};
    uint32_t at_k = psc_candela_line_of(study->inside->tale, 3);
    psc_explain_candela_line(&line, study->inside->tale, at_k);
    g_assert_cmpstr(psc_text_str(&line), ==, "    3  k  refused  show the bytes of t: t is not packed yet, and packed bytes are asked for: "
                    "they must be copied.");
    psc_text_release(&line);
    for (uint32_t i = 0, n = psc_candela_line_n(study->inside->tale); i < n; i++) {
        int32_t p = psc_candela_line_position(study->inside->tale, i);
        g_assert_cmpuint(psc_candela_line_of(study->inside->tale, p), <=, i);
        g_assert_cmpuint(psc_candela_line_of(study->inside->tale, p + 1), >, i);
    }
    psc_arena_release(&arena);
}

static void read_kv(struct fixture *f)
{
    psc_workspace_need_kv(f->ws);
    drain(f);
    gint64 end = g_get_monotonic_time() + 600 * G_USEC_PER_SEC;
    while (psc_workspace_kv_reading(f->ws, NULL) || !psc_workspace_kv_history(f->ws) ||
           psc_workspace_kv_history(f->ws)->step_n < psc_workspace_step_total(f->ws)) {
        g_assert_cmpint(g_get_monotonic_time(), <, end);
        g_main_context_iteration(NULL, TRUE);
    }
}

/* A prompt of two tokens and three decoded ones: steps walk over the phases, the rows and the cell go with them. */
static void test_kv(struct fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    PscKvCell cell;
    double lo, hi;
    guint phase, step;
    read_kv(f);
    g_assert_cmpuint(psc_workspace_step_total(f->ws), ==, 4);
    const struct psc_kv_step *kv = psc_workspace_kv(f->ws);
    g_assert_nonnull(kv);
    g_assert_cmpuint(kv->regions.layers, ==, 24);
    g_assert_true(kv->is_prefill);
    for (guint ordinal = 0; ordinal < 4; ordinal++) { /* rows 0 and 1, then one a step */
        const struct psc_kv_figure *figure = &psc_workspace_kv_history(f->ws)->figures[ordinal];
        g_assert_cmpuint(figure->rows, ==, 2 + ordinal);
        g_assert_cmpuint(figure->fresh, ==, ordinal ? 1 : 2);
    }
    g_assert_false(psc_workspace_step_by(f->ws, -1));
    for (guint ordinal = 1; ordinal < 4; ordinal++) {
        g_assert_true(psc_workspace_step_by(f->ws, 1));
        settle(f);
        g_assert_cmpuint(psc_workspace_ordinal(f->ws), ==, ordinal);
        g_assert_true(psc_workspace_step_of(f->ws, ordinal, &phase, &step));
        g_assert_cmpuint(psc_workspace_phase_index(f->ws), ==, phase);
        g_assert_cmpuint(psc_workspace_step_index(f->ws), ==, step);
        struct psc_kv_so_far s;
        psc_kv_step_so_far(psc_workspace_kv(f->ws), INT32_MAX, &s);
        g_assert_cmpuint(s.lo, ==, ordinal + 1);
        g_assert_cmpuint(s.hi, ==, ordinal + 2);
        g_assert_cmpuint(s.layers_done, ==, 24);
    }
    g_assert_false(psc_workspace_step_by(f->ws, 1));
    g_assert_true(psc_workspace_kv_move(f->ws, 0, 0)); /* the cell that the step writes */
    cell = psc_workspace_kv_cell(f->ws);
    g_assert_cmpuint(cell.layer, ==, 0);
    g_assert_cmpuint(cell.row, ==, 4);
    g_assert_true(psc_workspace_step_by(f->ws, -1)); /* it goes with the steps */
    settle(f);
    g_assert_cmpuint(psc_workspace_kv_cell(f->ws).row, ==, 3);
    g_assert_true(psc_workspace_kv_move(f->ws, 0, 3)); /* K, V, K of the next layer, V */
    cell = psc_workspace_kv_cell(f->ws);
    g_assert_cmpuint(cell.layer, ==, 1);
    g_assert_true(cell.is_v);
    g_assert_false(psc_workspace_kv_move(f->ws, 0, -4));
    g_assert_true(psc_workspace_kv_edge(f->ws, -1));
    g_assert_cmpuint(psc_workspace_kv_cell(f->ws).row, ==, 0);
    g_assert_true(psc_workspace_kv_edge(f->ws, 1));
    g_assert_cmpuint(psc_workspace_kv_cell(f->ws).row, ==, 3);
    g_assert_true(psc_workspace_kv_layer(f->ws, 1)); /* and the cursor to who writes it */
    g_assert_cmpuint(psc_workspace_kv_cell(f->ws).layer, ==, 2);
    g_assert_cmpint(psc_workspace_cursor(f->ws), ==,
                    psc_workspace_study(f->ws)->position_of[psc_workspace_kv(f->ws)->writer[2]]);
    psc_workspace_set_kv_range(f->ws, -50, 1e9);
    psc_workspace_kv_range(f->ws, &lo, &hi);
    g_assert_cmpfloat(lo, ==, 0);
    g_assert_cmpfloat(hi, ==, psc_workspace_kv(f->ws)->regions.rows);
    g_assert_false(psc_workspace_kv_alarm(f->ws, 1)); /* every row that is read was written */
    psc_workspace_select_kv(f->ws, PSC_NONE, 0, FALSE);
    g_assert_cmpuint(psc_workspace_kv_cell(f->ws).layer, ==, PSC_NONE);
    psc_workspace_close(f->ws);
    g_assert_null(psc_workspace_kv(f->ws));
    g_assert_cmpuint(psc_workspace_step_total(f->ws), ==, 0);
}

/* A graph without a cache has no regions, and nothing to walk to. */
static void test_no_kv(struct fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    settle(f);
    psc_workspace_need_kv(f->ws);
    g_assert_null(psc_workspace_kv(f->ws));
    g_assert_false(psc_workspace_kv_move(f->ws, 1, 0));
    g_assert_false(psc_workspace_kv_layer(f->ws, 1));
    g_assert_false(psc_workspace_kv_edge(f->ws, 1));
    g_assert_false(psc_workspace_kv_alarm(f->ws, 1));
    psc_workspace_select_kv(f->ws, 0, 0, FALSE);
    g_assert_cmpuint(psc_workspace_kv_cell(f->ws).layer, ==, PSC_NONE);
    drain(f);
}

/* Arenas are shown from the inside; their free list is the order of eviction, without what was evicted. */
static void test_arenas(struct fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    PscStudy *study = psc_workspace_study(f->ws);
    uint32_t n, most = 0;
    g_assert_cmpint(psc_workspace_y_mode(f->ws), ==, PSC_VIEW_PANEL);
    g_assert_nonnull(study->inside->axis);
    for (int32_t p = -1; p <= (int32_t)study->inside->axis->position_n; p++) {
        struct psc_arena arena = {0};
        struct psc_arena_view *v;
        psc_workspace_step_to(f->ws, p);
        const uint32_t *list = psc_workspace_free_buffers(f->ws, &n);
        g_assert_cmpint(psc_arena_view_at(&arena, study->inside->axis, p, &v, NULL), ==, PSC_OK);
        uint32_t at = 0;
        for (uint32_t k = 0; k < v->look.home_n; k++)
            for (uint32_t i = 0; i < v->homes[k].queue_n; i++)
                if (!v->homes[k].queue[i].evicted)
                    g_assert_cmpuint(list[at++], ==, v->look.homes[k].slots[v->homes[k].queue[i].slot].buffer);
        g_assert_cmpuint(at, ==, n);
        most = MAX(most, n);
        psc_arena_release(&arena);
    }
    g_assert_cmpuint(most, >, 1);
}

static void filter_finds(const PscStudy *study, const char *words, uint32_t wanted)
{
    PscFilter *filter = psc_filter_new(words);
    uint32_t n = 0;
    for (psc_node node = 0; node < study->node_n; node++)
        n += psc_filter_node(filter, study, node);
    if (n != wanted)
        g_test_message("filter %s", words);
    g_assert_cmpuint(n, ==, wanted);
    psc_filter_free(filter);
}

static void test_filter(struct fixture *f, gconstpointer data G_GNUC_UNUSED)
{
    const PscStudy *study = psc_workspace_study(f->ws);
    filter_finds(study, "", 440);
    filter_finds(study, "  +  - layer:", 440); /* half typed words ask nothing */
    filter_finds(study, "ffn +layer:6 -rope", 4);
    filter_finds(study, "FFN layer:6", 4);
    filter_finds(study, "layer:6 \xe2\x88\x92""ffn", 14);
    filter_finds(study, "is:input", 3);
    filter_finds(study, "is:dead", 24);
    filter_finds(study, "op:rope layer:3", 2);
    filter_finds(study, "layer:6 layer:7", 0);
    filter_finds(study, "nosuchkey:1", 0);
    drain(f);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define ADD(path, file, test) g_test_add("/ui/workspace/" path, struct fixture, file, set_up, test, tear_down)
    ADD("expression", TAKEOVER, test_expression);
    ADD("arenas", ARENAS, test_arenas);
    ADD("an-empty-one-goes-nowhere", NULL, test_empty);
    ADD("the-first-view-is-the-whole-run-coloured-by-record", METAL, test_first_view);
    ADD("the-cursor-moves-by-op-layer-end-and-peak", METAL, test_cursor);
    ADD("the-range-follows-the-cursor-without-zooming", METAL, test_follow);
    ADD("go-to-understands-numbers-parts-addresses-buffers-and-names", METAL, test_go_to);
    ADD("accesses-of-the-selection-are-walked-both-ways", METAL, test_accesses);
    ADD("problems-come-round", METAL, test_problems);
    ADD("phases-come-whole-and-as-they-were-left", METAL, test_phases);
    ADD("an-option-plans-again-and-shows-the-finding", "traces/lessons/5-two-orders.json", test_replan);
    ADD("a-plan-behind-the-steps-is-taken-when-it-is-read", NULL, test_late_plan);
    ADD("closing-while-busy-is-safe", METAL, test_close_while_busy);
    ADD("kv-rows-and-the-cell-go-with-the-steps", METAL, test_kv);
    ADD("a-graph-without-a-cache-has-no-kv-view", CHAIN, test_no_kv);
    ADD("the-filter-means-what-it-says", METAL, test_filter);
    return g_test_run();
}
