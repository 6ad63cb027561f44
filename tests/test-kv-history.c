/* Who wrote which KV row: against a naive model that keeps a number a row, and on graphs of published runs. */
#include "core/base/hash.h"
#include "core/debug/explain-rows.h"
#include "core/debug/kv-step.h"
#include "tests/qwen.h"
#include "tests/util.h"

#include <string.h>

#define ROWS 48u
#define LAYERS 4u
#define STEPS 40u

struct naive { /* last[layer][row]: 1 + the step that wrote it last; layer LAYERS is the union */
    uint32_t last[LAYERS + 1][ROWS];
    psc_node node[LAYERS + 1][ROWS];
};

static uint32_t draw(uint64_t *state, uint32_t n)
{
    return (uint32_t)(psc_hash_mix(*state += 0x9e3779b97f4a7c15ull) % n);
}

struct run {
    struct psc_kv_rows rows[STEPS][16];
    uint32_t row_n[STEPS];
    uint32_t step_n;
};

static void random_run(struct run *run, uint64_t *seed)
{
    run->step_n = 1 + draw(seed, STEPS);
    for (uint32_t s = 0; s < run->step_n; s++) {
        run->row_n[s] = draw(seed, 12);
        for (uint32_t i = 0; i < run->row_n[s]; i++) {
            uint32_t lo = draw(seed, ROWS), n = draw(seed, 3) ? 1 + draw(seed, 4) : 1 + draw(seed, ROWS);
            run->rows[s][i] = (struct psc_kv_rows){i, (int32_t)draw(seed, LAYERS), draw(seed, 4) != 0, lo,
                                                   MIN(lo + n, ROWS), 0};
        }
    }
}

static void naive_step(struct naive *n, const struct run *run, uint32_t s)
{
    for (uint32_t i = 0; i < run->row_n[s]; i++) {
        const struct psc_kv_rows *r = &run->rows[s][i];
        for (uint32_t row = r->lo; r->is_write && row < r->hi; row++) {
            n->last[r->layer][row] = n->last[LAYERS][row] = s + 1;
            n->node[r->layer][row] = r->node;
        }
    }
}

static struct psc_kv_history *history_of(struct psc_arena *arena, const struct run *run)
{
    struct psc_kv_builder *b = psc_kv_builder_new();
    struct psc_kv_history *h = NULL;
    for (uint32_t s = 0; s < run->step_n; s++)
        psc_kv_builder_step(b, s > 0, s ? s - 1 : 0, s == 0, true, run->rows[s], run->row_n[s]);
    g_assert_cmpint(psc_kv_builder_finish(b, arena, LAYERS, &h, NULL), ==, PSC_OK);
    psc_kv_builder_free(b);
    return h;
}

static uint32_t rows_of(const uint32_t *last)
{
    uint32_t n = 0;
    for (uint32_t row = 0; row < ROWS; row++)
        n += last[row] > 0;
    return n;
}

static void test_random_states(void)
{
    uint64_t seed = test_seed();
    uint32_t looked = 0;
    for (int round = 0; round < 300; round++) {
        struct psc_arena arena = {0};
        struct run run;
        struct naive naive = {0};
        random_run(&run, &seed);
        struct psc_kv_history *h = history_of(&arena, &run);
        uint32_t writes = 0;
        for (uint32_t s = 0; s <= run.step_n; s++) {
            struct psc_kv_state state;
            g_assert_cmpint(psc_kv_state_build(&arena, h, s, &state, NULL), ==, PSC_OK);
            for (uint32_t layer = 0; layer <= LAYERS; layer++) {
                for (uint32_t row = 0; row < ROWS; row++, looked++) {
                    const struct psc_kv_span *span = psc_kv_state_at(&state, layer, row);
                    g_assert_cmpuint(span ? span->from + 1 : 0, ==, naive.last[layer][row]);
                    if (span && layer < LAYERS)
                        g_assert_cmpuint(span->node, ==, naive.node[layer][row]);
                }
                g_assert_cmpuint(psc_kv_state_written(&state, layer, 0, ROWS), ==, rows_of(naive.last[layer]));
            }
            if (s == run.step_n)
                break;
            uint32_t before = rows_of(naive.last[LAYERS]);
            naive_step(&naive, &run, s);
            g_assert_cmpuint(h->figures[s].rows, ==, rows_of(naive.last[LAYERS]));
            g_assert_cmpuint(h->figures[s].fresh, ==, rows_of(naive.last[LAYERS]) - before);
            for (uint32_t i = 0; i < run.row_n[s]; i++)
                writes += run.rows[s][i].is_write;
        }
        g_assert_cmpuint(h->layer_at[LAYERS], <=, 4 * writes);
        psc_arena_release(&arena);
    }
    g_assert_cmpuint(looked, >, 1000000);
}

/* The example of the header. */
static void test_example(void)
{
    struct psc_arena arena = {0};
    struct run run = {.step_n = 4, .row_n = {1, 1, 1, 1},
                      .rows = {{{7, 0, true, 0, 4, 0}}, {{8, 0, true, 4, 5, 0}}, {{9, 0, true, 1, 2, 0}}, {{8, 0, true, 5, 6, 0}}}};
    struct psc_kv_history *h = history_of(&arena, &run);
    static const struct psc_kv_span want[] = {{0, 1, 0, PSC_KV_FOR_EVER, 7}, {1, 2, 0, 2, 7}, {1, 2, 2, PSC_KV_FOR_EVER, 9},
                                              {2, 4, 0, PSC_KV_FOR_EVER, 7}, {4, 5, 1, PSC_KV_FOR_EVER, 8},
                                              {5, 6, 3, PSC_KV_FOR_EVER, 8}};
    g_assert_cmpuint(h->layer_at[1], ==, G_N_ELEMENTS(want));
    for (size_t i = 0; i < G_N_ELEMENTS(want); i++) {
        g_assert_cmpuint(h->spans[i].lo, ==, want[i].lo);
        g_assert_cmpuint(h->spans[i].hi, ==, want[i].hi);
        g_assert_cmpuint(h->spans[i].from, ==, want[i].from);
        g_assert_cmpuint(h->spans[i].to, ==, want[i].to);
        g_assert_cmpuint(h->spans[i].node, ==, want[i].node);
    }
    g_assert_cmpuint(h->figures[0].rows, ==, 4);
    g_assert_true(h->figures[0].is_prefill);
    g_assert_cmpuint(h->figures[2].rows, ==, 5); /* a row written again is no new one */
    g_assert_cmpuint(h->figures[2].written, ==, 1);
    g_assert_cmpuint(h->figures[2].fresh, ==, 0);
    g_assert_cmpuint(h->figures[3].rows, ==, 6);
    psc_arena_release(&arena);
}

/* ---- one step ------------------------------------------------------------------------------------------------ */

/* Two layers, store at 1 and 4, attention at 2 and 5: a decode step 3 after a prefill of 4 rows. */
static const struct psc_kv_rows decode_rows[] = {
    {1, 0, true, 4, 5, 0}, {2, 0, false, 0, 5, 0}, {4, 1, true, 4, 5, 0}, {5, 1, false, 0, 5, 0}};
static const struct psc_kv_regions two_layers = {.layers = 2, .rows = 16, .width = 8, .row_bytes = 32, .format = "f32"};

static struct psc_kv_step *step_of(struct psc_arena *arena, const struct psc_kv_rows *rows, uint32_t n, bool has_history)
{
    static const struct psc_kv_rows prefill[] = {
        {1, 0, true, 0, 4, 0}, {2, 0, false, 0, 4, 0}, {4, 1, true, 0, 4, 0}, {5, 1, false, 0, 4, 0}};
    struct psc_kv_builder *b = psc_kv_builder_new();
    struct psc_kv_history *h = NULL;
    struct psc_kv_step *step = NULL;
    psc_kv_builder_step(b, 0, 0, true, true, prefill, G_N_ELEMENTS(prefill));
    psc_kv_builder_step(b, 1, 0, false, true, rows, n);
    g_assert_cmpint(psc_kv_builder_finish(b, arena, 2, &h, NULL), ==, PSC_OK);
    psc_kv_builder_free(b);
    struct psc_kv_step_source source = {.regions = &two_layers, .history = has_history ? h : NULL, .ordinal = 1, .rows = rows,
                                        .row_n = n, .source = PSC_KV_FROM_VALUES};
    g_assert_cmpint(psc_kv_step_build(arena, &source, &step, NULL), ==, PSC_OK);
    return step;
}

static void test_cells_of_a_step(void)
{
    struct psc_arena arena = {0};
    struct psc_kv_step *step = step_of(&arena, decode_rows, 4, true);
    static const struct {
        uint32_t layer, row;
        int32_t position;
        enum psc_kv_when when;
    } cells[] = {{0, 0, -1, PSC_KV_PREFILL}, {0, 4, 0, PSC_KV_LATER}, {0, 4, 1, PSC_KV_NOW}, {0, 4, 9, PSC_KV_NOW},
                 {1, 4, 3, PSC_KV_LATER},    {1, 4, 4, PSC_KV_NOW},   {1, 5, 9, PSC_KV_NEVER}, {1, 3, 9, PSC_KV_PREFILL},
                 {2, 0, 9, PSC_KV_NEVER}};
    for (size_t i = 0; i < G_N_ELEMENTS(cells); i++)
        g_assert_cmpint(psc_kv_step_cell(step, cells[i].layer, cells[i].row, cells[i].position).when, ==, cells[i].when);
    struct psc_kv_held cell = psc_kv_step_cell(step, 0, 4, 1);
    g_assert_cmpuint(step->touches[cell.by].node, ==, 1);
    g_assert_cmpuint(step->touches[cell.next_reader].node, ==, 2);
    g_assert_cmpuint(cell.reader, ==, PSC_NONE);
    g_assert_null(cell.before);
    cell = psc_kv_step_cell(step, 1, 0, 5);
    g_assert_cmpuint(step->touches[cell.reader].node, ==, 5);
    g_assert_cmpuint(cell.before->node, ==, 4);
    g_assert_cmpuint(step->alarm_n, ==, 0);
    g_assert_cmpuint(step->writer[1], ==, 4);
    psc_arena_release(&arena);
}

static void test_so_far(void)
{
    struct psc_arena arena = {0};
    struct psc_kv_step *step = step_of(&arena, decode_rows, 4, true);
    struct psc_kv_so_far s;
    uint32_t n;
    psc_kv_step_so_far(step, 0, &s);
    g_assert_cmpuint(s.rows, ==, 4);
    g_assert_cmpuint(s.layers_done, ==, 0);
    g_assert_cmpuint(s.layers_all, ==, 2);
    psc_kv_step_so_far(step, 2, &s);
    g_assert_cmpuint(s.rows, ==, 5);
    g_assert_cmpuint(s.layers_done, ==, 1);
    g_assert_cmpuint(s.write_n, ==, 1);
    g_assert_cmpuint(s.windows, ==, 1);
    g_assert_cmpuint(s.rows_read, ==, 5);
    g_assert_cmpuint(s.lo, ==, 4);
    g_assert_cmpuint(s.hi, ==, 5);
    psc_kv_step_so_far(step, 99, &s);
    g_assert_cmpuint(s.layers_done, ==, 2);
    g_assert_cmpuint(s.rows_read, ==, 10);
    g_assert_cmpuint(psc_kv_step_at(step, 2, &n), ==, 1);
    g_assert_cmpuint(n, ==, 1);
    g_assert_cmpuint(psc_kv_step_at(step, 3, &n), ==, PSC_NONE);
    psc_arena_release(&arena);
}

/* A window that reaches beyond what was written; a store that comes only after its reader. */
static void test_alarms(void)
{
    static const struct psc_kv_rows rows[] = {
        {1, 0, true, 6, 7, 0}, {2, 0, false, 2, 9, 0}, {4, 1, false, 0, 5, 0}, {5, 1, true, 4, 5, 0}};
    struct psc_arena arena = {0};
    struct psc_kv_step *step = step_of(&arena, rows, 4, true);
    static const struct psc_kv_alarm want[] = {{1, 0, 4, 6}, {1, 0, 7, 9}, {2, 1, 4, 5}};
    g_assert_cmpuint(step->alarm_n, ==, G_N_ELEMENTS(want));
    for (size_t i = 0; i < G_N_ELEMENTS(want); i++) {
        g_assert_cmpuint(step->alarms[i].touch, ==, want[i].touch);
        g_assert_cmpuint(step->alarms[i].layer, ==, want[i].layer);
        g_assert_cmpuint(step->alarms[i].lo, ==, want[i].lo);
        g_assert_cmpuint(step->alarms[i].hi, ==, want[i].hi);
    }
    g_assert_cmpuint(step->unwritten, ==, 5);
    g_assert_cmpuint(step->touches[1].unwritten, ==, 4);
    step = step_of(&arena, rows, 4, false); /* without the history nothing can be said */
    g_assert_cmpuint(step->alarm_n, ==, 0);
    psc_arena_release(&arena);
}

/* What the run itself counted is believed, and placed where it can be. */
static void test_recorded_alarms(void)
{
    static const struct psc_kv_rows rows[] = {{1, 0, true, 4, 5, 0}, {2, 0, false, 0, 8, 3}, {5, 1, false, 0, 4, 0}};
    struct psc_arena arena = {0};
    struct psc_kv_step *step = NULL;
    struct psc_kv_step_source source = {.regions = &two_layers, .rows = rows, .row_n = 3, .source = PSC_KV_RECORDED};
    g_assert_cmpint(psc_kv_step_build(&arena, &source, &step, NULL), ==, PSC_OK);
    g_assert_cmpuint(step->alarm_n, ==, 1);
    g_assert_cmpuint(step->alarms[0].lo, ==, 5);
    g_assert_cmpuint(step->alarms[0].hi, ==, 8);
    psc_arena_release(&arena);
}

/* A file may list its accesses in any order. */
static void test_unsorted(void)
{
    struct psc_kv_rows rows[] = {decode_rows[3], decode_rows[0], decode_rows[2], decode_rows[1], {1, 7, true, 0, 1, 0}};
    struct psc_arena arena = {0};
    struct psc_kv_step *step = step_of(&arena, rows, 5, true);
    g_assert_cmpuint(step->touch_n, ==, 4); /* layer 7 is none of the regions */
    for (uint32_t i = 0; i + 1 < step->touch_n; i++)
        g_assert_cmpint(step->touches[i].position, <, step->touches[i + 1].position);
    g_assert_cmpuint(step->alarm_n, ==, 0);
    psc_arena_release(&arena);
}

/* ---- traces that do not speak of rows -------------------------------------------------------------------------- */

static void test_regions_of_graph(void)
{
    struct psc_arena arena = {0};
    struct psc_phase phase = {.graph = qwen_graph(&arena, &qwen_prefill)};
    struct psc_kv_regions regions;
    g_assert_true(psc_kv_regions_of(&phase, &regions));
    g_assert_cmpuint(regions.layers, ==, 24);
    g_assert_cmpuint(regions.rows, ==, qwen_prefill.context);
    g_assert_cmpuint(regions.width, ==, qwen_prefill.kv_heads * qwen_prefill.hd);
    g_assert_cmpuint(regions.row_bytes, ==, 4 * regions.width);
    g_assert_cmpuint(regions.heads, ==, qwen_prefill.kv_heads);
    g_assert_false(regions.is_recorded);
    phase.graph = NULL;
    g_assert_false(psc_kv_regions_of(&phase, &regions));
    psc_arena_release(&arena);
}

static psc_node input_named(const struct psc_graph *g, const char *name)
{
    for (uint32_t k = 0; k < g->input_n; k++)
        if (g_strcmp0(g->nodes[g->inputs[k]].name, name) == 0)
            return g->inputs[k];
    g_assert_not_reached();
}

static void check_rows(const struct qwen_options *options, const float *positions, uint32_t n, uint32_t value_n,
                       enum psc_kv_source want, uint32_t lo, uint32_t hi)
{
    struct psc_arena arena = {0};
    struct psc_phase phase = {.graph = qwen_graph(&arena, options)};
    struct psc_record record = {.node = input_named(phase.graph, "positions"), .dtype = PSC_I32, .n = n, .stride = 1,
                                .values = positions, .value_n = value_n, .has_stats = true, .min = positions[0],
                                .max = positions[n - 1]};
    struct psc_step step = {.records = &record, .record_n = 1};
    const struct psc_kv_rows *rows;
    uint32_t row_n, stores = 0, reads = 0;
    enum psc_kv_source source;
    g_assert_cmpint(psc_kv_rows_of(&arena, &phase, &step, NULL, &rows, &row_n, &source, NULL), ==, PSC_OK);
    g_assert_cmpint(source, ==, want);
    for (uint32_t i = 0; i < row_n; i++) {
        g_assert_cmpuint(rows[i].lo, ==, rows[i].is_write ? lo : 0);
        g_assert_cmpuint(rows[i].hi, ==, hi);
        stores += rows[i].is_write;
        reads += !rows[i].is_write;
    }
    g_assert_cmpuint(stores, ==, want == PSC_KV_FROM_VALUES ? 24 : 0);
    g_assert_cmpuint(reads, ==, want == PSC_KV_FROM_VALUES ? 24 : 0);
    psc_arena_release(&arena);
}

static void test_rows_from_values(void)
{
    static const float prefill[] = {0, 1}, decode[] = {17}, odd[] = {0.5f, 1};
    check_rows(&qwen_prefill, prefill, 2, 2, PSC_KV_FROM_VALUES, 0, 2);
    check_rows(&qwen_prefill, prefill, 2, 1, PSC_KV_FROM_VALUES, 0, 2); /* from the least and the largest */
    check_rows(&qwen_decode, decode, 1, 1, PSC_KV_FROM_VALUES, 17, 18);
    check_rows(&qwen_unfused, decode, 1, 1, PSC_KV_FROM_VALUES, 17, 18);
    check_rows(&qwen_prefill, odd, 2, 2, PSC_KV_NOT_KNOWN, 0, 0);
    check_rows(&qwen_prefill, decode, 1, 1, PSC_KV_NOT_KNOWN, 0, 0); /* another length than the input's */
}

static void test_rows_not_recorded(void)
{
    struct psc_arena arena = {0};
    struct psc_phase phase = {.graph = qwen_graph(&arena, &qwen_decode)};
    struct psc_step step = {0};
    const struct psc_kv_rows *rows;
    uint32_t n;
    enum psc_kv_source source;
    g_assert_cmpint(psc_kv_rows_of(&arena, &phase, &step, NULL, &rows, &n, &source, NULL), ==, PSC_OK);
    g_assert_cmpint(source, ==, PSC_KV_NOT_KNOWN);
    g_assert_cmpuint(n, ==, 0);
    step.kv = decode_rows;
    step.kv_n = 4;
    g_assert_cmpint(psc_kv_rows_of(&arena, &phase, &step, NULL, &rows, &n, &source, NULL), ==, PSC_OK);
    g_assert_cmpint(source, ==, PSC_KV_RECORDED);
    g_assert_true(rows == decode_rows && n == 4);
    psc_arena_release(&arena);
}

/* ---- sentences ------------------------------------------------------------------------------------------------------- */

static void expect_words(struct psc_text *text, const char *want)
{
    g_assert_cmpstr(psc_text_str(text), ==, want);
    psc_text_clear(text);
}

static void test_sentences(void)
{
    static const struct psc_kv_rows holes[] = {{1, 0, true, 6, 7, 0}, {2, 0, false, 2, 9, 0}, {5, 1, false, 0, 5, 0}};
    struct psc_arena arena = {0};
    struct psc_text text = {0};
    struct psc_kv_step *step = step_of(&arena, decode_rows, 4, true);
    psc_explain_kv_position(&text, step, -1);
    expect_words(&text, "Before the first op: 4 of 16 rows written (25.0 %); row 4 is not written yet; 2 layers will");
    psc_explain_kv_position(&text, step, 2);
    expect_words(&text, "op #2: reads rows 0\xe2\x80\x93" "4 of K and V (320 B); row 4 is written in layer 0, not yet in 1");
    psc_explain_kv_position(&text, step, 99);
    expect_words(&text, "row 4 is written in all 2 layers");
    ((struct psc_kv_touch *)(uintptr_t)step->touches)[0].done = 50; /* of layer 0, at op 1 */
    psc_explain_kv_position(&text, step, 2);
    expect_words(&text, "op #2: reads rows 0\xe2\x80\x93" "4 of K and V (320 B); row 4 is written in layer 0 (only enqueued), not yet in 1");
    psc_explain_kv_position(&text, step, 49);
    expect_words(&text, "row 4 is written in all 2 layers (only enqueued in 1 of them)");
    psc_explain_kv_position(&text, step, 50);
    expect_words(&text, "row 4 is written in all 2 layers");
    step = step_of(&arena, holes, 3, true);
    psc_explain_kv_alarm(&text, step, &step->alarms[0]);
    expect_words(&text, "op #2 reads rows 4\xe2\x80\x93" "5 of layer 0, K and V: nobody wrote them.");
    psc_explain_kv_alarms(&text, step);
    expect_words(&text, "5 rows in 2 layers are read that nobody wrote; the first: op #2 reads rows 4\xe2\x80\x93"
                        "5 of layer 0, K and V: nobody wrote them.");
    psc_text_release(&text);
    psc_arena_release(&arena);
}

/* Of a graph: nodes have names, and the hidden order edge is told. */
static void test_order_sentence(void)
{
    struct psc_arena arena = {0};
    struct psc_text text = {0};
    struct psc_kv_regions regions;
    struct psc_phase phase = {.graph = qwen_graph(&arena, &qwen_prefill)};
    struct psc_kv_step *step = NULL;
    g_assert_true(psc_kv_regions_of(&phase, &regions));
    struct psc_kv_step_source source = {.regions = &regions, .graph = phase.graph};
    g_assert_cmpint(psc_kv_step_build(&arena, &source, &step, NULL), ==, PSC_OK);
    g_assert_cmpuint(step->writer[0], ==, 9); /* what writes a layer follows from the graph alone */
    psc_explain_kv_order(&text, step, 9, 11);
    expect_words(&text, "No edge of the graph joins #9 kv_store and #11 attn: a hidden order edge keeps the store first.");
    psc_explain_kv_position(&text, step, 3);
    g_assert_true(g_str_has_prefix(psc_text_str(&text), "Which rows this step writes and reads is not recorded"));
    psc_text_release(&text);
    psc_arena_release(&arena);
}

/* ---- memory -------------------------------------------------------------------------------------------------------- */

static enum psc_status everything(void *data G_GNUC_UNUSED)
{
    struct psc_arena arena = {0};
    struct psc_kv_builder *b = psc_kv_builder_new();
    struct psc_kv_history *h = NULL;
    struct psc_kv_step *step = NULL;
    enum psc_status status = b ? PSC_OK : PSC_ERR_NOMEM;
    static const struct psc_kv_rows rows[] = {
        {5, 1, true, 6, 7, 0}, {1, 0, true, 6, 7, 0}, {2, 0, false, 2, 9, 0}, {4, 1, false, 0, 5, 0}};
    if (b) {
        psc_kv_builder_step(b, 0, 0, true, true, decode_rows, 4);
        psc_kv_builder_step(b, 1, 0, false, true, rows, 4);
        status = psc_kv_builder_finish(b, &arena, 2, &h, NULL);
    }
    struct psc_kv_step_source source = {.regions = &two_layers, .history = h, .ordinal = 1, .rows = rows, .row_n = 4,
                                        .source = PSC_KV_FROM_VALUES};
    if (status == PSC_OK)
        status = psc_kv_step_build(&arena, &source, &step, NULL);
    psc_kv_builder_free(b);
    psc_arena_release(&arena);
    return status;
}

static void test_oom(void)
{
    g_assert_cmpuint(test_oom_loop(everything, NULL), >, 8);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/core/debug/kv-history/spans-of-the-example", test_example);
    g_test_add_func("/core/debug/kv-history/random-runs-equal-a-number-a-row", test_random_states);
    g_test_add_func("/core/debug/kv-step/a-row-is-now-or-later-by-the-cursor", test_cells_of_a_step);
    g_test_add_func("/core/debug/kv-step/figures-count-up-to-the-cursor", test_so_far);
    g_test_add_func("/core/debug/kv-step/rows-read-that-nobody-wrote-are-found", test_alarms);
    g_test_add_func("/core/debug/kv-step/what-the-run-counted-is-believed", test_recorded_alarms);
    g_test_add_func("/core/debug/kv-step/accesses-may-be-listed-in-any-order", test_unsorted);
    g_test_add_func("/core/debug/kv-rows/regions-follow-from-the-graph", test_regions_of_graph);
    g_test_add_func("/core/debug/kv-rows/rows-follow-from-recorded-positions", test_rows_from_values);
    g_test_add_func("/core/debug/kv-rows/without-positions-nothing-is-claimed", test_rows_not_recorded);
    g_test_add_func("/core/debug/explain-rows/a-position-and-what-is-read-unwritten", test_sentences);
    g_test_add_func("/core/debug/explain-rows/the-hidden-order-edge-is-told", test_order_sentence);
    g_test_add_func("/core/debug/kv-history/out-of-memory", test_oom);
    return g_test_run();
}
