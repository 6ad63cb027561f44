/* Runs on arenas on a device with a queue, and on two backends: nothing goes back while the queue may still use it, a value
 * that crosses is a transferred input, in the I/O arena, and what is borrowed twice is told apart. */
#include "core/debug/arena-story.h"
#include "core/debug/check.h"
#include "core/run/faults.h"
#include "core/run/run.h"
#include "core/run/session-arena.h"
#include "tests/runs.h"
#include "tests/text-graph.h"
#include "tests/util.h"

#include <string.h>

/* x and c cross to metal, b to the cpu. */
static const char crossing[] = "x: input 64 @cpu\na: scale 64 x scale=2 @metal\nb: silu 64 a @metal\nc: add 64 b x @cpu\n"
                               "d: scale 64 c scale=3 @metal\nout d\n";
static const char queue[] = "x: input 64 @metal\na: silu 64 x @metal\nb: silu 64 a @metal\nc: silu 64 b @metal\nd: silu 64 c @metal\n"
                            "e: silu 64 d @metal\nf: silu 64 e @metal\nout f\n";

struct on_arenas {
    struct psc_arena_settings settings;
    struct psc_arena_story story;
    struct psc_session *s;
};

static void begin(struct on_arenas *a, const struct psc_graph *g, const struct psc_arena_settings *settings, uint64_t run_faults)
{
    struct psc_session_options options = run_options();
    *a = (struct on_arenas){.settings = *settings};
    g_assert_cmpint(psc_arena_story_init(&a->story, NULL), ==, PSC_OK);
    a->settings.story = &a->story;
    options.arenas = &a->settings;
    options.run_faults = run_faults;
    a->s = run_session(&options);
    run_use(a->s, g, 1);
}

/* The story, well formed; how many findings the checker has. */
static struct psc_story *finish(struct on_arenas *a, struct psc_arena *arena, uint32_t *ret_findings)
{
    struct psc_story *story;
    struct psc_check check;
    struct psc_error error = {0};
    psc_session_arena_quiet(a->s);
    g_assert_cmpint(psc_arena_story_finish(&a->story, arena, &story, &error), ==, PSC_OK);
    if (psc_story_check(story, &error) || psc_check_story(arena, NULL, story, &check, &error))
        g_error("%s", error.text);
    *ret_findings = check.finding_n;
    return story;
}

static void end(struct on_arenas *a)
{
    psc_session_free(a->s);
    psc_arena_story_release(&a->story);
}

static void fill(struct psc_session *s, float first)
{
    float x[64];
    for (unsigned i = 0; i < 64; i++)
        x[i] = first + (float)i / 8;
    run_fill_f32(s, "x", x, 64);
}

static void expect_pool_s_numbers(struct psc_session *s, const struct psc_graph *g, const char *output, float first)
{
    struct psc_session *pool = run_session(NULL);
    run_use(pool, g, 1);
    fill(pool, first);
    run_execute(pool, NULL);
    float *right = run_read(pool, output), *got = run_read(s, output);
    g_assert_cmpmem(got, 256, right, 256);
    g_free(right);
    g_free(got);
    psc_session_free(pool);
}

static const struct psc_arena_settings hardened = {.guards = PSC_ARENA_HARDENED, .check = true};

static uint32_t titles_with(const struct psc_story *story, const char *words)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < story->position_n; i++)
        n += strstr(story->titles[i], words) != NULL;
    return n;
}

/* ---- crossing ------------------------------------------------------------------------------------------------------- */

static void test_crossing(void)
{
    struct psc_arena arena = {0};
    struct psc_graph *g = text_graph(&arena, crossing);
    struct psc_arena_run_figures f;
    struct on_arenas a;
    uint32_t findings, reads = 0;
    double_reset();
    begin(&a, g, &hardened, 0);
    for (unsigned run = 0; run < 3; run++) {
        fill(a.s, (float)run);
        run_execute(a.s, NULL);
        expect_pool_s_numbers(a.s, g, "d", (float)run);
        psc_session_arena_run(a.s, &f);
        g_assert_cmpuint(f.copied, ==, 3 * 256); /* counted in every run: it crosses in every run */
        g_assert_cmpuint(f.staged, ==, 256);
        g_assert_cmpuint(f.system_allocs, ==, run ? 0 : f.system_allocs);
        g_assert_cmpuint(psc_session_depot(a.s, PSC_DEPOT_IO).live, ==, 512); /* x as it was given, and d: the copies went back */
        g_assert_cmpuint(psc_session_depot(a.s, PSC_DEPOT_EXEC).live, ==, 0);
        g_assert_cmpuint(psc_session_depot(a.s, PSC_DEPOT_IO).peak, <=, 4 * 256);
    }
    struct psc_story *story = finish(&a, &arena, &findings);
    g_assert_cmpuint(findings, ==, 0);
    g_assert_cmpuint(titles_with(story, "transferred into the I/O arena"), ==, 9);
    for (uint32_t i = 0; i < story->event_n; i++) {
        const struct psc_event *e = &story->events[i];
        bool staging = e->value != PSC_NONE && story->values[e->value].kind == PSC_VALUE_STAGING;
        if (!staging)
            continue;
        g_assert_cmpstr(story->backends[story->buffers[e->buffer].backend], ==, "io");
        if (e->kind == PSC_EV_ALLOC)
            g_assert_cmpint(e->owner, ==, PSC_OWNER_BINDING);
        reads += e->kind == PSC_EV_READ;
        if (e->kind != PSC_EV_WRITE)
            continue;
        g_assert_cmpuint(e->cause, <, i); /* what was read, which is what is written */
        g_assert_cmpint(story->events[e->cause].kind, ==, PSC_EV_READ);
        g_assert_cmpuint(story->events[e->cause].hi - story->events[e->cause].lo, ==, 256);
    }
    g_assert_cmpuint(reads, ==, 9);
    end(&a);
    psc_arena_release(&arena);
}

/* Two readers on the other side share one copy, which stays until the second has read it; what was copied goes back before. */
static void test_one_copy(void)
{
    struct psc_arena arena = {0};
    struct psc_graph *g = text_graph(&arena, "x: input 64 @cpu\na: silu 64 x @cpu\nb: silu 64 a @metal\nc: silu 64 b @cpu\n"
                                             "d: silu 64 c @metal\ny: add 64 d a @metal\nout y\n");
    struct psc_arena_run_figures f;
    struct on_arenas a;
    uint32_t findings;
    double_reset();
    begin(&a, g, &hardened, 0);
    for (unsigned run = 0; run < 2; run++) {
        fill(a.s, 3);
        run_execute(a.s, NULL);
        expect_pool_s_numbers(a.s, g, "y", 3);
        psc_session_arena_run(a.s, &f);
        g_assert_cmpuint(f.copied, ==, 3 * 256); /* a once, b, c */
    }
    g_assert_cmpuint(psc_session_depot(a.s, PSC_DEPOT_EXEC).blocks, ==, 2);
    (void)finish(&a, &arena, &findings);
    g_assert_cmpuint(findings, ==, 0);
    end(&a);
    psc_arena_release(&arena);
}

/* A copy that nobody waits for (l10) is read while it holds something else, and its block goes back only when it has come. */
/* Views that are of the reader's split: their windows cross before anybody has shown them. */
static void test_windows(void)
{
    static const char *const outputs[] = {"b", "c", "e"};
    struct psc_arena arena = {0};
    struct psc_graph *g = text_graph(&arena, "x: input 64 @cpu\na: scale 64 x scale=2 @cpu\nv: view 16 a +8 @metal\nw: view 4 v +3 @metal\n"
                                             "b: silu 16 v @metal\nc: silu 4 w @metal\ny: view 8 x +5 @metal\ne: silu 8 y @metal\n"
                                             "out b c e\n");
    struct psc_session *pool = run_session(NULL);
    struct on_arenas a;
    uint32_t findings, crossed = 0;
    begin(&a, g, &hardened, 0);
    run_use(pool, g, 1);
    for (unsigned run = 0; run < 3; run++) {
        fill(a.s, (float)run);
        fill(pool, (float)run);
        run_execute(a.s, NULL);
        run_execute(pool, NULL);
        for (unsigned k = 0; k < G_N_ELEMENTS(outputs); k++) {
            size_t bytes = g->nodes[text_graph_node(g, outputs[k])].bytes;
            float *right = run_read(pool, outputs[k]), *got = run_read(a.s, outputs[k]);
            g_assert_cmpmem(got, bytes, right, bytes);
            g_free(right);
            g_free(got);
        }
    }
    struct psc_story *story = finish(&a, &arena, &findings);
    g_assert_cmpuint(findings, ==, 0);
    for (uint32_t i = 0; i < story->event_n; i++) {
        const struct psc_event *read = &story->events[i], *write = read + 1;
        if (read->kind != PSC_EV_READ || i + 1 == story->event_n || write->kind != PSC_EV_WRITE ||
            story->values[write->value].kind != PSC_VALUE_STAGING)
            continue;
        g_assert_cmpuint(read->lo, ==, story->values[read->value].offset);
        g_assert_cmpuint(read->lo, >, 0);
        g_assert_cmpuint(read->hi - read->lo, ==, story->values[write->value].bytes);
        crossed++;
    }
    g_assert_cmpuint(crossed, ==, 3 * 3);
    end(&a);
    psc_session_free(pool);
    psc_arena_release(&arena);
}

static void test_unawaited(void)
{
    struct psc_arena arena = {0};
    struct psc_graph *g = text_graph(&arena, crossing);
    struct psc_arena_settings settings = {.guards = PSC_ARENA_HARDENED, .check = true, .has_cap = {true, true}};
    struct psc_session_counters counters;
    struct psc_session *pool = run_session(NULL);
    struct on_arenas a;
    uint32_t findings;
    double_reset();
    run_use(pool, g, 1);
    fill(pool, 1);
    run_execute(pool, NULL);
    begin(&a, g, &settings, UINT64_C(1) << PSC_RUN_L10);
    fill(a.s, 1);
    run_execute(a.s, NULL);
    float *right = run_read(pool, "d"), *got = run_read(a.s, "d");
    g_assert_true(memcmp(right, got, 256) != 0);
    psc_session_counters(a.s, &counters);
    g_assert_cmpuint(counters.copies, ==, counters.waits);
    g_assert_cmpuint(psc_session_depot(a.s, PSC_DEPOT_IO).stale_writes, ==, 0);
    (void)finish(&a, &arena, &findings);
    g_free(right);
    g_free(got);
    end(&a);
    psc_session_free(pool);
    psc_arena_release(&arena);
}

/* ---- a queue ------------------------------------------------------------------------------------------------------------ */

/* Six values, one after the other: the queue is waited for whenever the heap would have to give a third block. */
static void test_queue(void)
{
    struct psc_arena arena = {0};
    struct psc_graph *g = text_graph(&arena, queue);
    struct psc_arena_settings two = {.guards = PSC_ARENA_UPSTREAM, .check = true, .slot_max = {2, 0}};
    struct on_arenas a;
    uint32_t findings;
    for (unsigned way = 0; way < 2; way++) {
        double_reset();
        begin(&a, g, way ? &two : &hardened, 0);
        for (unsigned run = 0; run < 3; run++) {
            uint64_t before = double_control.submits;
            fill(a.s, (float)run);
            run_execute(a.s, NULL);
            g_assert_cmpuint(double_control.submits - before, <=, 4);
            expect_pool_s_numbers(a.s, g, "f", (float)run);
        }
        g_assert_cmpuint(psc_session_depot(a.s, PSC_DEPOT_EXEC).blocks, ==, 2);
        g_assert_cmpuint(psc_session_depot(a.s, PSC_DEPOT_EXEC).stale_writes, ==, 0);
        struct psc_story *story = finish(&a, &arena, &findings);
        g_assert_cmpuint(findings, ==, 0);
        g_assert_cmpuint(titles_with(story, "wait for deferred"), >=, 3);
        end(&a);
    }
    psc_arena_release(&arena);
}

/* A kernel that fails when it runs, a copy that does, a queue that cannot be waited for: everything goes back, and the session
 * works when the failure is over. */
static void test_failures(void)
{
    struct psc_arena arena = {0};
    struct psc_graph *g = text_graph(&arena, crossing);
    long *const failing[] = {&double_control.fail_launch, &double_control.fail_encode, &double_control.fail_enqueue,
                             &double_control.fail_await, &double_control.fail_submit};
    uint32_t failed = 0;
    for (unsigned way = 0; way < G_N_ELEMENTS(failing); way++)
        for (long after = 0; after < 4; after++) {
            struct psc_error error = {0};
            struct psc_arena_broken broken;
            struct on_arenas a;
            double_reset();
            begin(&a, g, &hardened, 0);
            fill(a.s, 1);
            *failing[way] = after;
            enum psc_status status = psc_session_execute(a.s, NULL, &error);
            failed += status != PSC_OK;
            *failing[way] = -1;
            fill(a.s, 2);
            g_assert_cmpuint(psc_session_depot(a.s, PSC_DEPOT_EXEC).live, ==, 0);
            g_assert_cmpuint(psc_session_depot(a.s, PSC_DEPOT_IO).live, ==, 256);
            run_execute(a.s, NULL);
            expect_pool_s_numbers(a.s, g, "d", 2);
            psc_session_arena_broken(a.s, &broken);
            g_assert_cmpuint(broken.ever, ==, 0);
            end(&a);
        }
    g_assert_cmpuint(failed, >, 12);
    psc_arena_release(&arena);
}

/* ---- what is refused -------------------------------------------------------------------------------------------------------- */

static void test_refused(void)
{
    static const char *const of_pools[] = {"l8", "l9", "l11", "l32", "l34"};
    static const float x[64];
    struct psc_arena arena = {0};
    struct psc_graph *g = text_graph(&arena, crossing);
    struct psc_run_fill given = {"x", x, 64};
    struct psc_run_result result;
    struct psc_error error = {0};
    double_reset();
    for (unsigned k = 0; k < G_N_ELEMENTS(of_pools) + 1; k++) {
        struct psc_run_request q = {.graph = g, .fills = &given, .fill_n = 1, .session = run_options()};
        struct psc_named_fault fault = {0};
        q.session.arenas = &hardened;
        q.session.replay = k == G_N_ELEMENTS(of_pools);
        if (!q.session.replay)
            g_assert_true(psc_named_fault_find(of_pools[k], &fault));
        q.session.run_faults = fault.run;
        run_fails(psc_run(double_apis, 3, &q, &result, &error), &error, PSC_ERR_USAGE,
                  (const char *const[]){"arenas", fault.name ? fault.name : "replay", NULL});
        psc_run_result_release(&result);
    }
    psc_arena_release(&arena);
}

/* ---- running out of memory -------------------------------------------------------------------------------------------------- */

static enum psc_status everything(void *data)
{
    static const float x[64];
    struct psc_arena_settings settings = hardened;
    struct psc_session_options options = run_options();
    struct psc_session *s = NULL;
    struct psc_arena_story story;
    struct psc_graph_key key = run_key(1);
    struct psc_error error = {0};
    enum psc_status status = psc_arena_story_init(&story, &error);
    if (status)
        return status;
    settings.story = &story;
    options.arenas = &settings;
    status = psc_session_new(double_apis, 3, &options, &s, &error);
    if (!status)
        status = psc_session_use(s, &key, run_build_cb, data, &error);
    for (unsigned run = 0; !status && run < 2; run++) {
        status = psc_session_fill(s, "x", x, 64, &error);
        if (!status)
            status = psc_session_execute(s, NULL, &error);
    }
    psc_session_free(s);
    status = status ? status : story.failed ? PSC_ERR_NOMEM : PSC_OK;
    psc_arena_story_release(&story);
    return status;
}

static void test_oom(void)
{
    struct psc_arena arena = {0};
    struct psc_graph *g = text_graph(&arena, crossing);
    double_reset();
    g_assert_cmpuint(test_oom_loop(everything, g), >, 50);
    psc_arena_release(&arena);
}

/* Two inputs that borrow the same bytes, or some of them: each is read where it itself lies. */
static void test_borrowed_bytes_that_are_shared(void)
{
    static const unsigned starts[] = {0, 2, 4, 6};
    float values[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    for (unsigned k = 0; k < 2 * G_N_ELEMENTS(starts); k++) {
        struct psc_arena arena = {0};
        struct psc_graph *g = text_graph(&arena, "x: input 8\ny: input 4\na: view 4 x\nb: view 4 x +4\nt: scale 8 x scale=2\n"
                                                 "u: add 4 a y\nv: add 4 b u\nw: add 4 y b\nout t v w\n");
        struct on_arenas a;
        struct run_heard heard;
        uint32_t findings;
        unsigned reads = 0, start = starts[k / 2];
        double_reset();
        begin(&a, g, &hardened, 0);
        run_listen(&heard, false);
        for (unsigned i = 0; i < 2; i++) /* in either order */
            if ((i + k) % 2)
                g_assert_cmpint(psc_session_borrow_node(a.s, 1, values + start, 4, NULL), ==, PSC_OK);
            else
                g_assert_cmpint(psc_session_borrow_node(a.s, 0, values, 8, NULL), ==, PSC_OK);
        run_execute(a.s, &heard.sink);
        for (uint32_t e = 0; e < heard.event_n; e++) {
            const struct psc_event *event = &heard.events[e];
            if (event->kind != PSC_EV_READ || (g->nodes[event->value].root != 0 && event->value != 1))
                continue;
            uint64_t from = event->value == 1 ? start * sizeof *values : 0;
            g_assert_cmpstr(psc_session_place_name(a.s, heard.places[e].backend), ==, "caller");
            g_assert_cmpuint(heard.places[e].buffer, ==, event->value == 1);
            g_assert_true(heard.places[e].at == (psc_address)(uintptr_t)values + from + heard.places[e].lo);
            g_assert_cmpuint(heard.places[e].hi, <=, g->nodes[event->value == 1].bytes);
            reads++;
        }
        g_assert_cmpuint(reads, ==, 6);
        finish(&a, &arena, &findings);
        g_assert_cmpuint(findings, ==, 0);
        run_heard_release(&heard);
        end(&a);
        psc_arena_release(&arena);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/run/arena-crossing/a-value-that-crosses-lies-in-the-io-arena", test_crossing);
    g_test_add_func("/run/arena-crossing/borrowed-bytes-that-are-shared", test_borrowed_bytes_that_are_shared);
    g_test_add_func("/run/arena-crossing/one-copy-for-all-readers", test_one_copy);
    g_test_add_func("/run/arena-crossing/windows-that-nobody-has-shown-yet", test_windows);
    g_test_add_func("/run/arena-crossing/a-copy-nobody-waits-for", test_unawaited);
    g_test_add_func("/run/arena-crossing/a-queue-is-waited-for-before-the-heap-is-asked", test_queue);
    g_test_add_func("/run/arena-crossing/failures-leave-nothing-behind", test_failures);
    g_test_add_func("/run/arena-crossing/what-is-refused", test_refused);
    g_test_add_func("/run/arena-crossing/oom", test_oom);
    return g_test_run();
}
