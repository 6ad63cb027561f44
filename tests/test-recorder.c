/* The recorder over sessions of the doubles: phases, steps, stories, values, hashes, rows, and what happens when a run or
 * the memory ends in the middle. */
#include "tests/recording.h"

#include "core/debug/check.h"
#include "core/debug/records.h"

#include <math.h>
#include <string.h>

/* ---- what a document says ------------------------------------------------------------------------------------- */

static void a_step_has_what_happened(void)
{
    struct recording b = recording_begin(recording_chain, ALL);
    recording_fill_chain(&b);
    recording_step(&b, 5, " I\xc3\xa9");
    recording_finish(&b);
    g_assert_cmpstr(b.doc->format, ==, "minfer-trace");
    g_assert_cmpstr(b.doc->model, ==, "m.gguf");
    g_assert_cmpstr(b.doc->prompt, ==, "p");
    g_assert_cmpuint(b.doc->report.n, ==, 0);
    g_assert_cmpuint(b.doc->phase_n, ==, 1);
    const struct psc_phase *p = &b.doc->phases[0];
    g_assert_cmpstr(p->kind, ==, "prefill");
    g_assert_true(psc_graph_same_structure(p->graph, b.g) && p->graph != b.g);
    g_assert_nonnull(p->plan);
    g_assert_cmpint(p->capture, ==, PSC_CAPTURE_NODE);
    g_assert_false(p->story->predicted);
    g_assert_cmpuint(psc_doc_step_n(b.doc, 0), ==, 1);
    struct psc_step s = recording_load(&b, 0, 0);
    g_assert_true(s.has_token && s.token == 5 && s.hashed);
    g_assert_cmpstr(s.text, ==, " I\xc3\xa9");
    g_assert_cmpuint(s.top_n, ==, 2);
    g_assert_cmpint((gint)s.top[1].id, ==, 3);
    g_assert_cmpuint(s.record_n, ==, 6);
    g_assert_cmpuint(s.break_n, ==, 0);
    g_assert_null(s.story);
    for (uint32_t i = 1; i < s.record_n; i++)
        g_assert_cmpuint(s.records[i].node, >, s.records[i - 1].node);
    const struct psc_record *t = recording_record(&b, &s, "t");
    g_assert_true(t->min == 3 && t->max == 6 && t->mean == 4.5 && t->absmean == 4.5);
    g_assert_true(t->n == 4 && t->stride == 1 && t->value_n == 4 && t->values[3] == 6);
    g_assert_true(t->has_hash);
    g_assert_cmphex(t->hash, ==, psc_probe_hash(F(3, 4, 5, 6), 16));
    recording_end(&b);
}

/* The story of what happened is what the plan lowers to, up to how often buffers had been given out. */
static void the_story_is_the_plan_s_when_all_went_well(void)
{
    struct recording b = recording_begin(recording_chain, ALL);
    struct psc_story *planned = NULL;
    recording_fill_chain(&b);
    recording_step(&b, -1, "");
    recording_finish(&b);
    const struct psc_story *told = b.doc->phases[0].story;
    g_assert_cmpint(psc_plan_lower(&b.arena, b.doc->phases[0].graph, b.doc->phases[0].plan, &planned, NULL), ==, PSC_OK);
    g_assert_cmpuint(told->event_n, ==, planned->event_n);
    g_assert_cmpuint(told->value_n, ==, planned->value_n);
    g_assert_cmpuint(told->buffer_n, ==, planned->buffer_n);
    g_assert_cmpuint(told->lane_n, ==, planned->lane_n);
    for (uint32_t i = 0; i < told->event_n; i++) {
        const struct psc_event *x = &told->events[i], *y = &planned->events[i];
        g_assert_true(x->kind == y->kind && x->position == y->position && x->value == y->value && x->version == y->version &&
                      x->lane == y->lane && x->operand == y->operand && x->lo == y->lo && x->hi == y->hi && x->node == y->node &&
                      x->peer == y->peer);
        if (x->buffer != PSC_NONE)
            g_assert_cmpuint(told->buffers[x->buffer].id, ==, planned->buffers[y->buffer].id);
    }
    recording_end(&b);
}

static void nothing_is_kept_that_was_not_asked_for(void)
{
    struct recording b = recording_begin(recording_chain, (struct psc_recorder_options){.values = true});
    recording_fill_chain(&b);
    recording_step(&b, -1, "");
    recording_finish(&b);
    struct psc_step s = recording_load(&b, 0, 0);
    g_assert_null(b.doc->phases[0].story);
    g_assert_false(s.hashed);
    g_assert_cmpuint(s.record_n, ==, 6);
    g_assert_false(s.records[0].has_hash);
    recording_end(&b);
    b = recording_begin(recording_chain, (struct psc_recorder_options){.events = true});
    recording_fill_chain(&b);
    recording_step(&b, -1, "");
    recording_finish(&b);
    s = recording_load(&b, 0, 0);
    g_assert_nonnull(b.doc->phases[0].story);
    g_assert_cmpuint(s.record_n, ==, 0);
    recording_end(&b);
}

static void samples_are_rounded_and_odd_numbers_kept(void)
{
    struct recording b = recording_begin("x: input 100\ny: add 100 x x\nout y\n", ALL);
    float x[100];
    for (int i = 0; i < 100; i++)
        x[i] = 0.0917339f / 2 + (float)i;
    x[2] = NAN;
    x[4] = INFINITY;
    run_fill_f32(b.s, "x", x, 100);
    recording_step(&b, -1, "");
    recording_finish(&b);
    struct psc_step s = recording_load(&b, 0, 0);
    const struct psc_record *y = recording_record(&b, &s, "y");
    g_assert_true(y->n == 100 && y->stride == 2 && y->value_n == 50);
    g_assert_true(y->values[0] == roundf(2 * x[0] * 1e6f) / 1e6f);
    g_assert_true(isnan(y->values[1]) && isinf(y->values[2]));
    g_assert_cmpuint(y->nonfinite, ==, 2);
    g_assert_true(isnan(y->mean) && y->max == (double)INFINITY && y->min == (double)(2 * x[0]));
    recording_end(&b);
}

static void integers_are_read_by_their_bits(void)
{
    struct recording b = recording_begin("x: input 2x3\nids: input 2 i32\no: get_rows 2x2 x ids\nout o\n", ALL);
    run_fill_f32(b.s, "x", F(0, 1, 2, 3, 4, 5), 6);
    run_fill_i32(b.s, "ids", (const int32_t[]){2, 1}, 2);
    recording_step(&b, -1, "");
    recording_finish(&b);
    struct psc_step s = recording_load(&b, 0, 0);
    const struct psc_record *ids = recording_record(&b, &s, "ids");
    g_assert_cmpint(ids->dtype, ==, PSC_I32);
    g_assert_true(ids->max == 2 && ids->mean == 1.5 && ids->values[0] == 2);
    recording_end(&b);
}

static void views_are_recorded_and_dead_nodes_are_not(void)
{
    struct recording b = recording_begin("x: input 8\nt: add 8 x x\nv: view 4 t +4\nd: silu 4 v\no: add 4 v v\nout o\n", ALL);
    run_fill_f32(b.s, "x", F(0, 1, 2, 3, 4, 5, 6, 7), 8);
    recording_step(&b, -1, "");
    recording_finish(&b);
    struct psc_step s = recording_load(&b, 0, 0);
    const struct psc_record *v = recording_record(&b, &s, "v");
    g_assert_nonnull(v);
    g_assert_true(v->n == 4 && v->min == 8 && v->max == 14);
    g_assert_cmphex(v->hash, ==, psc_probe_hash(F(8, 10, 12, 14), 16));
    g_assert_null(recording_record(&b, &s, "d"));
    g_assert_cmpuint(s.break_n, ==, 0);
    recording_end(&b);
}

/* ---- steps and phases ------------------------------------------------------------------------------------------- */

static void a_phase_goes_on_until_its_kind_or_graph_changes(void)
{
    struct recording b = recording_begin(recording_chain, ALL);
    struct psc_error err = {0};
    struct psc_graph *other = text_graph(&b.arena, "y: input 4\nz: silu 4 y\nout z\n");
    recording_fill_chain(&b);
    recording_step(&b, -1, "");
    recording_fill_chain(&b);
    recording_step(&b, -1, "");
    run_use(b.s, other, 2); /* another graph */
    run_fill_f32(b.s, "y", F(1, 2, 3, 4), 4);
    recording_step(&b, -1, "");
    g_assert_cmpint(psc_recorder_phase(b.r, "decode", &err), ==, PSC_OK); /* another kind */
    run_fill_f32(b.s, "y", F(1, 2, 3, 4), 4);
    recording_step(&b, 3, "a");
    g_assert_cmpint(psc_recorder_phase(b.r, "decode", &err), ==, PSC_OK); /* the same kind again */
    run_fill_f32(b.s, "y", F(1, 2, 3, 4), 4);
    recording_step(&b, 4, "b");
    recording_finish(&b);
    g_assert_cmpuint(b.doc->phase_n, ==, 3);
    g_assert_cmpstr(b.doc->phases[1].kind, ==, "prefill");
    g_assert_cmpstr(b.doc->phases[2].kind, ==, "decode");
    g_assert_cmpuint(psc_doc_step_n(b.doc, 0), ==, 2);
    g_assert_cmpuint(psc_doc_step_n(b.doc, 1), ==, 1);
    g_assert_cmpuint(psc_doc_step_n(b.doc, 2), ==, 2);
    g_assert_cmpuint(b.doc->phases[1].graph->n, ==, 2);
    g_assert_null(recording_load(&b, 0, 1).story);
    g_assert_null(recording_load(&b, 2, 1).story);
    g_assert_cmpstr(recording_load(&b, 2, 1).text, ==, "b");
    recording_end(&b);
}

/* Two buffers change places: that step tells its own story, the next one none again. */
static void a_step_tells_a_story_of_its_own_when_it_went_otherwise(void)
{
    struct recording b = recording_begin(recording_chain, ALL);
    const struct psc_plan *plan = psc_session_plan(b.s);
    uint32_t t = (uint32_t)plan->buffers[plan->places[2].buffer].id, u = (uint32_t)plan->buffers[plan->places[4].buffer].id;
    g_assert_cmpuint(t, !=, u);
    recording_fill_chain(&b);
    recording_step(&b, -1, "");
    psc_session_swap_addresses(b.s, 0, t, u, 2);
    recording_fill_chain(&b);
    recording_step(&b, -1, "");
    psc_session_swap_addresses(b.s, 0, t, u, 2);
    recording_fill_chain(&b);
    recording_step(&b, -1, "");
    recording_finish(&b);
    struct psc_step one = recording_load(&b, 0, 1);
    g_assert_null(recording_load(&b, 0, 0).story);
    g_assert_null(recording_load(&b, 0, 2).story);
    g_assert_nonnull(one.story);
    uint32_t seen = 0;
    for (uint32_t i = 0; i < one.story->event_n; i++) {
        const struct psc_event *e = &one.story->events[i];
        if (e->kind == PSC_EV_WRITE && e->value == text_graph_node(b.g, "t"))
            seen += one.story->buffers[e->buffer].id == u;
    }
    g_assert_cmpuint(seen, ==, 1);
    uint32_t phase = 7;
    g_assert_cmpuint(psc_recorder_story_n(b.r), ==, 1);
    g_assert_true(psc_recorder_story(b.r, 0, &phase) == one.story);
    g_assert_cmpuint(phase, ==, 0);
    g_assert_cmpuint(one.break_n, ==, 0);
    recording_end(&b);
}

static void inputs_that_are_not_filled_again_stand_where_they_were_filled(void)
{
    struct psc_recorder_options record = ALL;
    record.reruns = true;
    struct recording b = recording_begin(recording_chain, record);
    struct psc_check check;
    recording_fill_chain(&b);
    recording_step(&b, -1, "");
    recording_step(&b, -1, "");
    run_fill_f32(b.s, "w", F(3, 3, 3, 3), 4); /* only one of them */
    recording_step(&b, -1, "");
    recording_finish(&b);
    const struct psc_story *story = b.doc->phases[0].story;
    uint32_t again = 0;
    for (uint32_t i = 0; i < story->event_n; i++)
        again += story->events[i].run == 1;
    g_assert_cmpuint(again, ==, 2);
    g_assert_cmpint(psc_check_story(&b.arena, b.doc->phases[0].graph, story, &check, NULL), ==, PSC_OK);
    g_assert_cmpuint(check.finding_n, ==, 0);
    for (uint32_t s = 0; s < 3; s++) {
        struct psc_step one = recording_load(&b, 0, s);
        g_assert_null(one.story);
        g_assert_cmpuint(one.break_n, ==, 0);
        g_assert_true(recording_record(&b, &one, "x")->max == 4 && recording_record(&b, &one, "w")->max == (s == 2 ? 3 : 2));
    }
    recording_end(&b);
}

static void deferred_devices_are_written_under_their_other_name(void)
{
    struct recording b = recording_begin("x: input 4\ns: silu 4 x @metal\no: add 4 s x\nout o\n", ALL);
    run_fill_f32(b.s, "x", F(1, 2, 3, 4), 4);
    recording_step(&b, -1, "");
    recording_finish(&b);
    g_assert_cmpstr(psc_node_backend_name(b.doc->phases[0].graph, 1), ==, "metal");
    g_assert_cmpstr(b.doc->phases[0].true_backend, ==, double_metal.name);
    struct psc_step s = recording_load(&b, 0, 0);
    g_assert_cmpuint(s.record_n, ==, 3);
    g_assert_cmpuint(s.break_n, ==, 0);
    recording_end(&b);
}

/* ---- hashes -------------------------------------------------------------------------------------------------------- */

static void a_read_of_other_bytes_is_a_break(void)
{
    struct recording b = recording_begin(recording_chain, ALL);
    struct psc_check check;
    const struct psc_plan *plan = psc_session_plan(b.s);
    uint32_t t = (uint32_t)plan->buffers[plan->places[2].buffer].id, u = (uint32_t)plan->buffers[plan->places[4].buffer].id;
    recording_fill_chain(&b);
    psc_session_swap_addresses(b.s, 0, t, u, 3); /* t has been written by then */
    recording_step(&b, -1, "");
    recording_finish(&b);
    struct psc_step s = recording_load(&b, 0, 0);
    g_assert_cmpuint(s.break_n, ==, 1);
    g_assert_cmpuint(s.breaks[0].reader, ==, text_graph_node(b.g, "s"));
    g_assert_cmpuint(s.breaks[0].value, ==, text_graph_node(b.g, "t"));
    g_assert_cmphex(s.breaks[0].expected, ==, psc_probe_hash(F(3, 4, 5, 6), 16));
    g_assert_cmphex(s.breaks[0].found, !=, s.breaks[0].expected);
    g_assert_cmpuint(psc_recorder_mismatch_n(b.r), ==, 1);
    g_assert_cmpuint(psc_recorder_mismatches(b.r)[0].reader, ==, text_graph_node(b.g, "s"));
    g_assert_cmpint(psc_check_story(&b.arena, b.g, b.doc->phases[0].story, &check, NULL), ==, PSC_OK);
    g_assert_cmpuint(check.finding_n, ==, 1);
    g_assert_cmpuint(check.findings[0].reader, ==, s.breaks[0].reader);
    g_assert_cmpuint(check.findings[0].victim, ==, s.breaks[0].value);
    recording_end(&b);
}

/* What the host said that it filled counts, not what lies there when the run begins. */
static void an_input_is_compared_with_what_the_host_gave(void)
{
    struct recording b = recording_begin(recording_chain, ALL);
    struct psc_error err = {0};
    recording_fill_chain(&b);
    g_assert_cmpint(psc_recorder_filled(b.r, 0, F(1, 2, 3, 5), 16, &err), ==, PSC_OK);
    g_assert_cmpint(psc_recorder_filled(b.r, 1, F(2, 2, 2, 2), 16, &err), ==, PSC_OK);
    recording_step(&b, -1, "");
    recording_finish(&b);
    struct psc_step s = recording_load(&b, 0, 0);
    g_assert_cmpuint(s.break_n, ==, 2); /* t and u read x */
    g_assert_true(s.breaks[0].value == 0 && s.breaks[1].value == 0);
    g_assert_cmphex(s.breaks[0].expected, ==, psc_probe_hash(F(1, 2, 3, 5), 16));
    recording_end(&b);
}

static void a_part_that_is_read_is_compared_as_a_part(void)
{
    /* matmul-like readers look at the first features only: a view shows it without weights */
    struct recording b = recording_begin("x: input 8\nt: add 8 x x\nv: view 4 t +0\nw: view 4 t +4\no: add 4 v w\nout o\n", ALL);
    run_fill_f32(b.s, "x", F(0, 1, 2, 3, 4, 5, 6, 7), 8);
    recording_step(&b, -1, "");
    recording_finish(&b);
    struct psc_step s = recording_load(&b, 0, 0);
    g_assert_true(s.hashed);
    g_assert_cmpuint(s.break_n, ==, 0);
    g_assert_cmphex(recording_record(&b, &s, "v")->hash, ==, psc_probe_hash(F(0, 2, 4, 6), 16));
    g_assert_cmphex(recording_record(&b, &s, "w")->hash, ==, psc_probe_hash(F(8, 10, 12, 14), 16));
    recording_end(&b);
}

static void attend(struct recording *b, int32_t position)
{
    run_fill_f32(b->s, "x", F(1, (float)position), 2);
    run_fill_i32(b->s, "positions", &position, 1);
    recording_step(b, position, "");
}

static void rows_written_and_read_are_kept(void)
{
    struct recording b = recording_begin(recording_attention, ALL);
    for (int32_t p = 0; p < 3; p++)
        attend(&b, p);
    attend(&b, 5);
    recording_finish(&b);
    const struct psc_kv_layout *kv = b.doc->phases[0].kv;
    g_assert_nonnull(kv);
    g_assert_true(kv->layers == 1 && kv->rows == 16 && kv->width == 2 && kv->row_bytes == 8);
    g_assert_cmpstr(kv->format, ==, "f32");
    for (uint32_t s = 0; s < 4; s++) {
        struct psc_step one = recording_load(&b, 0, s);
        uint32_t row = s == 3 ? 5 : s;
        g_assert_cmpuint(one.kv_n, ==, 2);
        g_assert_true(one.kv[0].is_write && one.kv[0].lo == row && one.kv[0].hi == row + 1);
        g_assert_true(!one.kv[1].is_write && one.kv[1].lo == 0 && one.kv[1].hi == row + 1);
        g_assert_cmpuint(one.kv[1].unwritten, ==, s == 3 ? 2 : 0); /* rows 3 and 4 */
        g_assert_cmpuint(one.break_n, ==, 0);
        g_assert_cmpuint(psc_recorder_unwritten_n(b.r), ==, 2);
        for (uint32_t i = 0; i < one.record_n; i++)
            g_assert_false(psc_op_info(b.g->nodes[one.records[i].node].op)->is_kv);
    }
    recording_end(&b);
}

/* A row of an earlier step changes behind everybody's back: every later read is a break, until it is written anew. */
static void a_row_that_changed_between_steps_is_a_break(void)
{
    static const uint32_t broken[] = {0, 2, 5};
    guint checked = 0;
    for (size_t which = 0; which < G_N_ELEMENTS(broken); which++) {
        struct recording b = recording_begin(recording_attention, ALL);
        struct psc_error err = {0};
        float row[2] = {77, 78};
        for (int32_t p = 0; p < 7; p++)
            attend(&b, p);
        g_assert_cmpint(psc_session_write_rows(b.s, 0, which % 2, broken[which], broken[which] + 1, row, &err), ==, PSC_OK);
        attend(&b, 7);
        attend(&b, 8);
        recording_finish(&b);
        for (uint32_t s = 0; s < 9; s++) {
            struct psc_step one = recording_load(&b, 0, s);
            g_assert_cmpuint(one.break_n, ==, s >= 7 ? one.break_n : 0);
            if (s != 7)
                continue;
            g_assert_cmpuint(one.break_n, ==, 1);
            g_assert_cmpuint(one.breaks[0].reader, ==, text_graph_node(b.g, "o"));
            g_assert_cmpuint(one.breaks[0].value, ==, text_graph_node(b.g, "store"));
            g_assert_cmpuint(one.breaks[0].operand, ==, 1);
            checked++;
        }
        recording_end(&b);
    }
    g_assert_cmpuint(checked, ==, 3);
}

static void rows_that_are_written_again_are_compared_with_the_new_ones(void)
{
    struct recording b = recording_begin(recording_attention, ALL);
    guint64 state = test_seed();
    g_test_message("seed %" G_GUINT64_FORMAT, state);
    for (int32_t p = 0; p < 16; p++)
        attend(&b, p);
    for (int i = 0; i < 60; i++) { /* back and forth */
        state = state * 6364136223846793005u + 1442695040888963407u;
        attend(&b, (int32_t)(state >> 60));
    }
    g_assert_cmpuint(psc_recorder_mismatch_n(b.r), ==, 0);
    recording_end(&b);
}

/* ---- recording decides nothing --------------------------------------------------------------------------------------------- */

static void numbers_are_the_same_with_and_without(void)
{
    static const char text[] = "x: input 300\nt: add 300 x x\ns: silu 300 t @metal\nu: mul 300 s x @metal\nv: view 100 u +100 @metal\n"
                               "o: add 100 v v\nout o\nout u\n";
    float x[300];
    for (int i = 0; i < 300; i++)
        x[i] = (float)sin(i);
    float *right = NULL;
    const struct psc_recorder_options ways[] = {ALL, {.events = true}, {.values = true, .capture = PSC_CAPTURE_SPLIT}, {.hashes = true}};
    for (size_t way = 0; way <= G_N_ELEMENTS(ways); way++) {
        struct recording b = recording_begin(text, way ? ways[way - 1] : ALL);
        run_fill_f32(b.s, "x", x, 300);
        run_execute(b.s, way ? psc_recorder_sink(b.r) : NULL);
        float *o = run_read(b.s, "o");
        if (right)
            g_assert_cmpint(memcmp(o, right, 100 * sizeof *o), ==, 0);
        g_free(right);
        right = o;
        recording_end(&b);
    }
    g_free(right);
}

/* Who wrote last where this node's value lies? */
static psc_node last_writer(const struct psc_story *story, psc_node node)
{
    uint32_t buffer = PSC_NONE;
    psc_node last = PSC_NONE;
    for (uint32_t i = 0; i < story->event_n; i++)
        if (story->events[i].value == node && (story->events[i].kind == PSC_EV_WRITE || story->events[i].kind == PSC_EV_FILL))
            buffer = story->events[i].buffer;
    for (uint32_t i = 0; i < story->event_n; i++)
        if (story->events[i].buffer == buffer && (story->events[i].kind == PSC_EV_WRITE || story->events[i].kind == PSC_EV_FILL))
            last = story->events[i].value;
    return last;
}

/* Values read at the end of a split are those that the buffers hold then: the verdicts say so, and the hashes prove it. */
static void late_values_are_judged_as_their_hashes_prove(void)
{
    static const char text[] =
        "x: input 64\na: add 64 x x @metal\nb: mul 64 a x @metal\nc: add 64 b b @metal\nd: mul 64 c c @metal\n"
        "e: add 64 d d @metal\nf: mul 64 e e @metal\no: add 64 f f @metal\nout o\n";
    struct psc_recorder_options record = ALL;
    record.capture = PSC_CAPTURE_SPLIT;
    struct recording b = recording_begin(text, record);
    struct psc_record_check check;
    float x[64];
    for (int i = 0; i < 64; i++)
        x[i] = 0.5f + (float)i / 64;
    run_fill_f32(b.s, "x", x, 64);
    recording_step(&b, -1, "");
    recording_finish(&b);
    struct psc_step s = recording_load(&b, 0, 0);
    g_assert_cmpint(psc_records_check(&b.arena, &b.doc->phases[0], &s, &check, NULL), ==, PSC_OK);
    g_assert_cmpuint(check.n, ==, s.record_n);
    guint overwritten = 0;
    for (uint32_t i = 0; i < check.n; i++) {
        const struct psc_record *r = &s.records[i];
        bool own = check.list[i].verdict == PSC_RECORD_OWN;
        g_assert_true(own == (last_writer(b.doc->phases[0].story, r->node) == r->node));
        overwritten += !own;
        if (!own) {
            const struct psc_record *holds = check.list[i].holds < b.g->n ? NULL : r;
            for (uint32_t k = 0; k < s.record_n; k++)
                if (s.records[k].node == check.list[i].holds)
                    holds = &s.records[k];
            g_assert_nonnull(holds);
            g_assert_cmpuint(holds->node, ==, last_writer(b.doc->phases[0].story, r->node));
            g_assert_cmphex(holds->stats_hash, ==, r->stats_hash);
            g_assert_cmphex(holds->hash, !=, r->hash);
        }
    }
    g_assert_cmpuint(overwritten, >=, 4);
    recording_end(&b);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/run/recorder/a-step-has-what-happened", a_step_has_what_happened);
    g_test_add_func("/run/recorder/the-story-is-the-plans-when-all-went-well", the_story_is_the_plan_s_when_all_went_well);
    g_test_add_func("/run/recorder/nothing-is-kept-that-was-not-asked-for", nothing_is_kept_that_was_not_asked_for);
    g_test_add_func("/run/recorder/samples-are-rounded-and-odd-numbers-kept", samples_are_rounded_and_odd_numbers_kept);
    g_test_add_func("/run/recorder/integers-are-read-by-their-bits", integers_are_read_by_their_bits);
    g_test_add_func("/run/recorder/views-are-recorded-and-dead-nodes-are-not", views_are_recorded_and_dead_nodes_are_not);
    g_test_add_func("/run/recorder/a-phase-goes-on-until-its-kind-or-graph-changes", a_phase_goes_on_until_its_kind_or_graph_changes);
    g_test_add_func("/run/recorder/a-step-tells-a-story-of-its-own-when-it-went-otherwise",
                    a_step_tells_a_story_of_its_own_when_it_went_otherwise);
    g_test_add_func("/run/recorder/inputs-that-are-not-filled-again-stand-where-they-were-filled",
                    inputs_that_are_not_filled_again_stand_where_they_were_filled);
    g_test_add_func("/run/recorder/deferred-devices-are-written-under-their-other-name",
                    deferred_devices_are_written_under_their_other_name);
    g_test_add_func("/run/recorder/hashes/a-read-of-other-bytes-is-a-break", a_read_of_other_bytes_is_a_break);
    g_test_add_func("/run/recorder/hashes/an-input-is-compared-with-what-the-host-gave", an_input_is_compared_with_what_the_host_gave);
    g_test_add_func("/run/recorder/hashes/a-part-that-is-read-is-compared-as-a-part", a_part_that_is_read_is_compared_as_a_part);
    g_test_add_func("/run/recorder/rows/written-and-read-are-kept", rows_written_and_read_are_kept);
    g_test_add_func("/run/recorder/rows/one-that-changed-between-steps-is-a-break", a_row_that_changed_between_steps_is_a_break);
    g_test_add_func("/run/recorder/rows/written-again-are-compared-with-the-new-ones",
                    rows_that_are_written_again_are_compared_with_the_new_ones);
    g_test_add_func("/run/recorder/numbers-are-the-same-with-and-without", numbers_are_the_same_with_and_without);
    g_test_add_func("/run/recorder/late-values-are-judged-as-their-hashes-prove", late_values_are_judged_as_their_hashes_prove);
    return g_test_run();
}
