/* The recorder over sessions on arenas: what it says of values is what it says of the same run in pools, and what a defect of
 * the arenas does to bytes shows in hashes and in the checker. */
#include "core/debug/check.h"
#include "core/debug/records.h"
#include "core/run/session-arena.h"
#include "tests/random-graph.h"
#include "tests/recording.h"

#define SEEDS 40u
#define RUNS 3u

/* A session on arenas in the place of the one that recording_begin made. */
static struct recording begin(const char *text, const struct psc_arena_settings *settings)
{
    struct recording b = recording_begin(text, ALL);
    struct psc_session_options options = run_options();
    options.arenas = settings;
    psc_session_free(b.s);
    b.s = run_session(&options);
    run_use(b.s, b.g, 1);
    return b;
}

static const struct psc_arena_settings hardened = {.guards = PSC_ARENA_HARDENED, .check = true};

static uint32_t findings(struct recording *b, uint32_t phase, const struct psc_story *story)
{
    struct psc_check check;
    struct psc_error error = {0};
    if (psc_story_check(story, &error) || psc_check_story(&b->arena, b->doc->phases[phase].graph, story, &check, &error))
        g_error("%s", error.text);
    return check.finding_n;
}

/* ---- random graphs ------------------------------------------------------------------------------------------------ */

static void run_recorded(struct recording *b, struct psc_graph *g, uint64_t seed, const struct psc_arena_settings *settings)
{
    struct psc_session_options options = run_options();
    struct psc_recorder_options record = ALL;
    struct psc_error error = {0};
    options.arenas = settings;
    options.planner = psc_planner_find("naive"); /* which inputs have a place when nobody reads them is the planner's affair */
    *b = (struct recording){.g = g, .s = run_session(&options)};
    run_use(b->s, g, 1);
    g_assert_cmpint(psc_recorder_new(&record, &b->r, &error), ==, PSC_OK);
    g_assert_cmpint(psc_recorder_phase(b->r, "prefill", &error), ==, PSC_OK);
    for (uint32_t run = 0; run < RUNS; run++) {
        run_fill_all(b->s, seed + run, 8);
        recording_step(b, (int64_t)run, "t");
    }
    recording_finish(b);
}

static uint32_t compare_step(struct recording *a, struct recording *b, uint32_t n, uint64_t seed)
{
    struct psc_step x = recording_load(a, 0, n), y = recording_load(b, 0, n);
    struct psc_record_check own;
    g_assert_cmpuint(x.record_n, ==, y.record_n);
    for (uint32_t i = 0; i < x.record_n; i++) {
        const struct psc_record *p = &x.records[i], *q = &y.records[i];
        if (p->node != q->node || p->stats_hash != q->stats_hash || p->values_hash != q->values_hash || p->hash != q->hash ||
            p->has_hash != q->has_hash || p->n != q->n)
            g_error("seed %" G_GUINT64_FORMAT ": step %u, node %u is recorded otherwise than in pools", seed, n, p->node);
    }
    g_assert_true(y.hashed);
    g_assert_cmpuint(y.break_n, ==, 0);
    g_assert_cmpuint(y.kv_n, ==, x.kv_n);
    g_assert_cmpint(psc_records_check(&b->arena, &b->doc->phases[0], &y, &own, NULL), ==, PSC_OK);
    g_assert_cmpuint(own.own, ==, own.n);
    if (y.story)
        g_assert_cmpuint(findings(b, 0, y.story), ==, 0);
    return x.record_n;
}

static void test_random(void)
{
    uint64_t first = test_seed();
    uint32_t compared = 0, own_stories = 0;
    struct random_graph_options options = random_graph_all;
    g_test_message("seeds from %" G_GUINT64_FORMAT, first);
    for (uint64_t seed = first; seed < first + SEEDS; seed++) {
        struct psc_arena arena = {0};
        struct psc_arena_settings settings = hardened;
        struct recording a, b;
        if (seed % 2)
            settings = (struct psc_arena_settings){.guards = PSC_ARENA_UPSTREAM, .check = true, .has_cap = {true, true}, .cap = {300, 40}};
        double_reset();
        double_control.mix = true;
        options.backends = 1 + (uint32_t)(seed / 2 % 2); /* cpu, and a queue */
        struct psc_graph *g = random_graph(&arena, seed, &options);
        run_recorded(&a, g, seed, NULL);
        run_recorded(&b, g, seed, &settings);
        g_assert_null(b.doc->phases[0].plan);
        g_assert_false(b.doc->phases[0].has_slots);
        g_assert_cmpuint(b.doc->report.n, ==, 0);
        g_assert_cmpuint(findings(&b, 0, b.doc->phases[0].story), ==, 0);
        g_assert_cmpuint(psc_recorder_mismatch_n(b.r), ==, 0);
        for (uint32_t n = 0; n < RUNS; n++)
            compared += compare_step(&a, &b, n, seed);
        own_stories += psc_recorder_story_n(b.r);
        recording_end(&a);
        recording_end(&b);
        psc_arena_release(&arena);
    }
    g_assert_cmpuint(compared, >, SEEDS * RUNS * 10);
    g_test_message("%u records, %u steps with events of their own", compared, own_stories);
}

/* ---- what is told ---------------------------------------------------------------------------------------------------- */

static const struct psc_buffer *buffer_of(const struct psc_story *story, enum psc_event_kind kind, uint32_t value)
{
    for (uint32_t i = 0; i < story->event_n; i++)
        if (story->events[i].kind == kind && story->events[i].value == value)
            return &story->buffers[story->events[i].buffer];
    return NULL;
}

/* Inputs and outputs lie on the I/O arena or with the caller, the rest on the execution arena. */
static void test_places(void)
{
    static const float own[4] = {1, 2, 3, 4};
    struct recording b = begin(recording_chain, &hardened);
    g_assert_cmpint(psc_session_borrow_node(b.s, text_graph_node(b.g, "x"), own, 4, NULL), ==, PSC_OK);
    run_fill_f32(b.s, "w", F(2, 2, 2, 2), 4);
    recording_step(&b, 5, " I");
    recording_finish(&b);
    const struct psc_story *story = b.doc->phases[0].story;
    struct psc_step s = recording_load(&b, 0, 0);
    g_assert_cmpstr(buffer_of(story, PSC_EV_FILL, text_graph_node(b.g, "x"))->name, ==, "caller 0");
    g_assert_cmpint((gint)buffer_of(story, PSC_EV_FILL, text_graph_node(b.g, "x"))->role, ==, PSC_ROLE_EXTERNAL);
    g_assert_cmpstr(buffer_of(story, PSC_EV_FILL, text_graph_node(b.g, "w"))->name, ==, "io slot 0");
    g_assert_cmpstr(buffer_of(story, PSC_EV_WRITE, text_graph_node(b.g, "t"))->name, ==, "exec slot 0");
    g_assert_cmpstr(buffer_of(story, PSC_EV_WRITE, text_graph_node(b.g, "s"))->name, ==, "exec slot 1");
    g_assert_cmpstr(buffer_of(story, PSC_EV_WRITE, text_graph_node(b.g, "u"))->name, ==, "exec slot 0"); /* t has gone back */
    g_assert_cmpstr(buffer_of(story, PSC_EV_EXPORT, text_graph_node(b.g, "o"))->name, ==, "io slot 1");
    g_assert_cmpstr(story->backends[buffer_of(story, PSC_EV_EXPORT, text_graph_node(b.g, "o"))->backend], ==, "io");
    g_assert_nonnull(buffer_of(story, PSC_EV_RELEASE, text_graph_node(b.g, "t")));
    g_assert_null(buffer_of(story, PSC_EV_RELEASE, text_graph_node(b.g, "o")));
    const struct psc_record *t = recording_record(&b, &s, "t");
    g_assert_true(t->min == 3 && t->max == 6 && t->hash == psc_probe_hash(F(3, 4, 5, 6), 16));
    g_assert_true(recording_record(&b, &s, "x")->hash == psc_probe_hash(own, 16));
    recording_end(&b);
}

/* A slot whose block grows in the middle of a step holds all that is written to it. */
static void test_grown(void)
{
    struct psc_arena_settings two = {.guards = PSC_ARENA_HARDENED, .check = true, .slot_max = {2, 0}};
    struct recording b = begin("x: input 4\nw: input 64\na: silu 4 x\nb: silu 4 a\nc: silu 64 w\nd: silu 64 c\nout b d\n", &two);
    for (uint32_t run = 0; run < 2; run++) {
        run_fill_all(b.s, 7, 8);
        recording_step(&b, 1, "");
    }
    recording_finish(&b);
    const struct psc_story *story = b.doc->phases[0].story;
    g_assert_cmpuint(findings(&b, 0, story), ==, 0);
    g_assert_cmpuint(psc_session_depot(b.s, PSC_DEPOT_EXEC).slot_n, ==, 2);
    recording_end(&b);
    two.slot_max[0] = 1;
    b = begin("x: input 4\nw: input 64\na: silu 4 x\nb: silu 4 a\nc: silu 64 w\nd: silu 64 c\nout b d\n", &two);
    run_fill_all(b.s, 7, 8);
    recording_step(&b, 1, "");
    recording_finish(&b);
    story = b.doc->phases[0].story;
    g_assert_cmpuint(psc_session_depot(b.s, PSC_DEPOT_EXEC).grown, ==, 1);
    g_assert_cmpuint(findings(&b, 0, story), ==, 0);
    g_assert_cmpuint(buffer_of(story, PSC_EV_WRITE, text_graph_node(b.g, "a"))->bytes, ==, 256);
    recording_end(&b);
}

/* ---- defects ----------------------------------------------------------------------------------------------------------- */

/* a's block is in both free lists: y, an output, and c get it, and c writes over y. */
static void test_shared_block(void)
{
    struct psc_arena_settings settings = {.guards = PSC_ARENA_UPSTREAM, .check = true, .faults = PSC_ARENA_BIT(PSC_ARENA_A1)};
    struct recording b = begin("x: input 4\na: silu 4 x\nb: silu 4 a\ny: silu 4 b\nc: add 4 b b\nz: silu 4 c\nout y z\n", &settings);
    run_fill_f32(b.s, "x", F(1, 2, 3, 4), 4);
    recording_step(&b, 5, "");
    recording_finish(&b);
    struct psc_step s = recording_load(&b, 0, 0);
    g_assert_cmpuint(s.break_n, ==, 1);
    g_assert_cmpuint(s.breaks[0].reader, ==, PSC_NONE);
    g_assert_cmpuint(s.breaks[0].value, ==, text_graph_node(b.g, "y"));
    struct psc_check check;
    g_assert_cmpint(psc_check_story(&b.arena, b.doc->phases[0].graph, b.doc->phases[0].story, &check, NULL), ==, PSC_OK);
    g_assert_cmpuint(check.finding_n, ==, 1);
    g_assert_cmpuint(check.findings[0].victim, ==, text_graph_node(b.g, "y"));
    g_assert_cmpuint(check.findings[0].writer, ==, text_graph_node(b.g, "c"));
    recording_end(&b);
}

/* An output that is held has its block written by the next run's: the next run itself is sound. */
static void test_lent_block(void)
{
    struct psc_arena_settings settings = {.guards = PSC_ARENA_UPSTREAM, .check = true, .faults = PSC_ARENA_BIT(PSC_ARENA_A5)};
    struct recording b = begin(recording_chain, &settings);
    struct psc_held *held;
    struct psc_error error = {0};
    recording_fill_chain(&b);
    recording_step(&b, 5, "");
    g_assert_cmpint(psc_session_hold(b.s, text_graph_node(b.g, "o"), &held, &error), ==, PSC_OK);
    run_fill_f32(b.s, "x", F(9, 9, 9, 9), 4);
    recording_step(&b, 6, "");
    g_assert_cmpint(psc_held_drop(held, &error), ==, PSC_ERR_RUN);
    recording_finish(&b);
    g_assert_cmpuint(psc_recorder_mismatch_n(b.r), ==, 0);
    recording_end(&b);
}

/* ---- running out of memory ------------------------------------------------------------------------------------------------ */

static enum psc_status record_twice(void *data)
{
    static float words[4] = {1, 2, 3, 4};
    struct psc_session_options options = run_options();
    struct psc_recorder_options record = ALL;
    struct psc_session *s = NULL;
    struct psc_recorder *r = NULL;
    struct psc_doc *doc = NULL;
    struct psc_graph_key key = run_key(1);
    struct psc_error error = {0};
    options.arenas = &hardened;
    enum psc_status status = psc_session_new(double_apis, 3, &options, &s, &error);
    if (!status)
        status = psc_recorder_new(&record, &r, &error);
    if (!status)
        status = psc_session_use(s, &key, run_build_cb, data, &error);
    for (uint32_t run = 0; run < 2 && !status; run++) {
        status = run ? psc_session_fill(s, "x", words, 4, &error) : psc_session_borrow_node(s, 0, words, 4, &error);
        if (!status)
            status = psc_session_fill(s, "w", words, 4, &error);
        if (!status)
            status = psc_session_execute(s, psc_recorder_sink(r), &error);
        if (!status)
            status = psc_recorder_step(r, true, 1, "t", NULL, 0, &error);
    }
    if (!status)
        status = psc_recorder_doc(r, "m", "p", &doc, &error);
    psc_doc_free(doc);
    psc_recorder_free(r);
    psc_session_free(s);
    return status;
}

static void test_oom(void)
{
    struct psc_arena arena = {0};
    struct psc_graph *g;
    double_reset();
    g = text_graph(&arena, recording_chain);
    g_assert_cmpuint(test_oom_loop(record_twice, g), >, 80);
    psc_arena_release(&arena);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/run/recorder-arena/values-are-those-of-a-run-in-pools", test_random);
    g_test_add_func("/run/recorder-arena/buffers-are-slots-and-the-caller-s-memory", test_places);
    g_test_add_func("/run/recorder-arena/a-slot-that-grows", test_grown);
    g_test_add_func("/run/recorder-arena/a-block-in-two-lists-is-a-finding-and-a-hash", test_shared_block);
    g_test_add_func("/run/recorder-arena/a-lent-block-is-missed-by-who-holds-it", test_lent_block);
    g_test_add_func("/run/recorder-arena/oom", test_oom);
    return g_test_run();
}
