/* Arena scenarios: what each operation does, what each fault breaks, and the stories they become. */
#include "core/debug/analysis.h"
#include "core/debug/arena-track.h"
#include "tests/util.h"
#include "traces/json-write.h"
#include "traces/scenario-read.h"
#include "traces/story-json.h"

#include <string.h>

struct played {
    struct psc_arena arena;
    struct psc_report report;
    struct psc_scenario_answer answer;
    struct psc_check check;
};

static void play(struct played *p, const char *settings, const char *events)
{
    struct psc_scenario s;
    struct psc_error error = {0};
    struct psc_history *history;
    char *text = g_strdup_printf("{\"format\":\"memplan-arena\",\"version\":1%s,\"events\":[%s]}", settings, events);
    g_strdelimit(text, "'", '"');
    *p = (struct played){0};
    enum psc_status status = psc_scenario_read_memory(&p->arena, "s.json", text, strlen(text), &p->report, &s, &error);
    g_assert_cmpstr(error.text, ==, "");
    g_assert_cmpint(status, ==, PSC_OK);
    status = psc_scenario_play(&p->arena, &s, &p->report, &p->answer, &error);
    g_assert_cmpstr(error.text, ==, "");
    g_assert_cmpint(status, ==, PSC_OK);
    g_assert_cmpint(psc_story_check(p->answer.stories[0], &error), ==, PSC_OK);
    g_assert_cmpstr(error.text, ==, "");
    g_assert_cmpint(psc_check_story(&p->arena, NULL, p->answer.stories[0], &p->check, &error), ==, PSC_OK);
    g_assert_cmpint(psc_history_build(&p->arena, p->answer.stories[0], &history, &error), ==, PSC_OK);
    g_free(text);
}

static void done(struct played *p)
{
    psc_report_release(&p->report);
    psc_arena_release(&p->arena);
}

static void assert_errors(const struct played *p, const char *want)
{
    GString *got = g_string_new(NULL);
    for (uint32_t i = 0; i < p->answer.arena.error_n; i++)
        g_string_append_printf(got, "%s%u", i ? " " : "", p->answer.arena.errors[i]);
    g_assert_cmpstr(got->str, ==, want);
    g_string_free(got, TRUE);
}

#define ALLOC(a, h, n) "{'op':'alloc','arena':'" a "','h':'" h "','bytes':" #n "},"
#define FREE(h) "{'op':'free','h':'" h "'},"
#define WRITE(h, v) "{'op':'write','h':'" h "','value':'" v "'},"
#define EXPORT(h, as) "{'op':'export','h':'" h "','as':'" as "'},"
#define READ(as, v) "{'op':'read','as':'" as "','expect':'" v "'},"
#define DROP(as) "{'op':'drop','as':'" as "'},"
#define CLEAR "{'op':'clear'},"
#define CLOSE(a) "{'op':'close','arena':'" a "'},"
#define END "{'op':'trim'}"

static void test_lent(void)
{
    struct played p;
    play(&p, "", ALLOC("io", "y1", 64) WRITE("y1", "run1") EXPORT("y1", "np1") EXPORT("y1", "np2") FREE("y1") CLEAR
         ALLOC("io", "y2", 64) WRITE("y2", "run2") READ("np1", "run1") DROP("np1") READ("np2", "run1") DROP("np2")
         READ("np1", "run1") ALLOC("io", "y3", 64) END);
    assert_errors(&p, "4 12");
    g_assert_cmpuint(p.answer.arena.io.blocks, ==, 2);
    g_assert_cmpuint(p.answer.arena.io.live, ==, 128);
    g_assert_cmpuint(p.answer.arena.broken, ==, 0);
    g_assert_cmpuint(p.check.finding_n, ==, 0);
    done(&p);
}

/* A handle remembers the version it was taken of; the checker finds the same. */
static void test_versions(void)
{
    struct played p;
    play(&p, "", "{'op':'static','h':'state','bytes':32}," WRITE("state", "a") "{'op':'handle','h':'state','as':'v'},"
         READ("v", "a") WRITE("state", "a") READ("v", "a") END);
    assert_errors(&p, "5");
    g_assert_cmpuint(p.check.finding_n, ==, 1);
    done(&p);
}

static void test_views_and_callers(void)
{
    struct played p;
    play(&p, "", ALLOC("exec", "a", 64) "{'op':'view','h':'v','of':'a'}," FREE("v") FREE("a") FREE("a") FREE("never")
         "{'op':'borrow','h':'x','bytes':16},{'op':'caller_write','h':'x','value':'n'},{'op':'release','h':'x'}," FREE("x") END);
    assert_errors(&p, "4 5 9");
    g_assert_cmpuint(p.answer.arena.exec.blocks, ==, 1);
    g_assert_cmpuint(p.answer.arena.exec.retained, ==, 0);
    g_assert_cmpuint(p.answer.arena.peak_footprint, ==, 64);
    done(&p);
}

/* A burst of outputs evicts nothing of the execution arena, and a cap its own. */
static void test_caps(void)
{
    struct played p;
    play(&p, ",\"arenas\":{\"exec\":{\"cap\":100},\"io\":{\"cap\":0}}", ALLOC("exec", "a", 80) FREE("a") ALLOC("io", "b", 500)
         FREE("b") ALLOC("exec", "c", 80) ALLOC("exec", "d", 60) FREE("c") FREE("d") CLEAR "{'op':'trim','arena':'io'}");
    g_assert_cmpuint(p.answer.arena.io.evicted, ==, 1);
    g_assert_cmpuint(p.answer.arena.exec.evicted, ==, 1);
    g_assert_cmpuint(p.answer.arena.exec.retained, ==, 60);
    g_assert_cmpuint(p.answer.arena.exec.blocks, ==, 2);
    done(&p);
}

static void test_upstream(void)
{
    struct played p;
    const char *events = ALLOC("exec", "a", 64) FREE("a") ALLOC("exec", "b", 64) FREE("a") ALLOC("exec", "c", 64) END;
    play(&p, "", events);
    assert_errors(&p, "3");
    g_assert_cmpuint(p.answer.arena.exec.blocks, ==, 2);
    g_assert_cmpuint(p.answer.arena.broken, ==, 0);
    done(&p);
    play(&p, ",\"mode\":\"upstream\"", events); /* the stale ticket frees b's block, and c gets it */
    g_assert_cmpuint(p.answer.arena.exec.blocks, ==, 1);
    g_assert_cmpuint(p.answer.arena.broken & 1u << 3, !=, 0);
    done(&p);
}

/* Stale tickets over blocks that were evicted, lent and lost: wrong, told, and never a read of memory that is gone. */
static void test_stale_and_evicted(void)
{
    static const char *const settings[] = {"", ",\"mode\":\"upstream\"", ",\"faults\":[\"a2\"]", ",\"faults\":[\"a3\"]",
                                           ",\"faults\":[\"a5\"]", ",\"faults\":[\"a1\",\"a4\",\"a6\",\"a7\"],\"mode\":\"upstream\""};
    for (unsigned i = 0; i < G_N_ELEMENTS(settings); i++) {
        char *all = g_strconcat(settings[i], ",\"arenas\":{\"exec\":{\"cap\":0},\"io\":{\"cap\":0}}", NULL);
        struct played p;
        play(&p, all, ALLOC("exec", "a", 64) FREE("a") ALLOC("exec", "b", 64) FREE("a") ALLOC("io", "y", 64) EXPORT("y", "p")
             EXPORT("y", "q") DROP("p") CLEAR ALLOC("io", "z", 64) READ("q", "given out at 4") DROP("q") FREE("b") FREE("a")
             "{'op':'borrow','h':'x','bytes':8},{'op':'release','h':'x'}," ALLOC("io", "w", 8) WRITE("w", "v") END);
        g_assert_cmpuint(p.answer.arena.error_n, >, 0);
        done(&p);
        g_free(all);
    }
}

/* Each invariant has a fault that breaks it alone, and holds without. */
static void test_faults(void)
{
    static const struct { const char *fault; unsigned invariant; const char *events, *arenas; } rows[] = {
        {"a1", 1, ALLOC("exec", "a", 64) FREE("a") "{'op':'release','h':'none'}", ""},
        {"a2", 2, ALLOC("io", "y", 64) EXPORT("y", "p") EXPORT("y", "q") "{'op':'release','h':'none'}", ""},
        {"a3", 3, ALLOC("io", "y", 64) EXPORT("y", "p") EXPORT("y", "q") DROP("p") "{'op':'release','h':'none'}", ""},
        {"a4", 4, ALLOC("io", "y", 64) WRITE("y", "v") EXPORT("y", "p") CLEAR "{'op':'trim'}", ""},
        {"a5", 5, ALLOC("io", "y", 64) WRITE("y", "v") EXPORT("y", "p") CLEAR ALLOC("io", "z", 64) "{'op':'release','h':'none'}", ""},
        {"a6", 6, "{'op':'borrow','h':'x','bytes':64},{'op':'release','h':'x'},{'op':'release','h':'none'}", ""},
        {"a7", 7, ALLOC("io", "y", 64) WRITE("y", "v") EXPORT("y", "p") CLEAR READ("p", "v") "{'op':'release','h':'none'}", ""},
        {"a14", 8, ALLOC("io", "y", 64) WRITE("y", "v") EXPORT("y", "p") CLEAR "{'op':'close'}", ""},
        {"a15", 8, ALLOC("io", "y", 64) WRITE("y", "v") EXPORT("y", "p") "{'op':'close'}," DROP("p") "{'op':'trim'}", ""},
        {"a16", 3, ALLOC("io", "y", 64) EXPORT("y", "p") "{'op':'free','h':'y'}", ""},
        {"a17", 3, ALLOC("exec", "a", 64) ALLOC("exec", "b", 32) "{'op':'free','h':'b'}", ",'arenas':{'exec':{'cap':10}}"},
    };
    for (unsigned i = 0; i < 2 * G_N_ELEMENTS(rows); i++) {
        char *settings = g_strdup_printf("%s,'mode':'%s'", rows[i / 2].arenas, i % 2 ? "upstream" : "hardened");
        char *faulty = g_strdup_printf("%s,'faults':['%s']", settings, rows[i / 2].fault);
        struct played p;
        play(&p, settings, rows[i / 2].events);
        g_assert_cmpuint(p.answer.arena.broken, ==, 0);
        done(&p);
        play(&p, faulty, rows[i / 2].events);
        g_test_message("%s", faulty);
        g_assert_cmpuint(p.answer.arena.broken & -p.answer.arena.broken, ==, 1u << rows[i / 2].invariant);
        done(&p);
        g_free(settings);
        g_free(faulty);
    }
}

/* The context, the session and the array go in any order that is legal: the bytes are there as long as the array is, and the last
 * one to let go takes the arena along. */
static void test_shutdown(void)
{
    static const struct { const char *order, *errors; } rows[] = {
        {CLEAR CLOSE("exec") CLOSE("io") READ("p", "v") DROP("p"), ""},
        {CLEAR READ("p", "v") DROP("p") CLOSE("io") CLOSE("exec"), ""},
        {CLOSE("io") READ("p", "v") CLEAR DROP("p") CLOSE("exec"), ""},
        {CLOSE("io") DROP("p") CLEAR CLOSE("exec"), ""},
        {DROP("p") CLOSE("io") CLEAR CLOSE("exec"), ""},
        {CLOSE("exec") CLOSE("io") READ("p", "v") DROP("p") CLEAR CLOSE("exec"), "4"}, /* t is the session's still */
        {CLEAR CLOSE("exec") CLOSE("io") CLOSE("io") ALLOC("io", "z", 8) READ("p", "v") DROP("p") DROP("p"), "7 8 11"},
    };
    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        char *all = g_strconcat(ALLOC("exec", "t", 32) ALLOC("io", "y", 64) WRITE("y", "v") EXPORT("y", "p"), rows[i].order, END, NULL);
        struct psc_arena_track *track;
        struct psc_arena_look look;
        struct played p;
        play(&p, "", all);
        g_test_message("%s", rows[i].order);
        assert_errors(&p, rows[i].errors);
        g_assert_cmpuint(p.answer.arena.broken, ==, 0);
        g_assert_cmpuint(p.answer.arena.io.live + p.answer.arena.io.retained, ==, 0);
        const struct psc_story *s = p.answer.stories[0];
        g_assert_cmpint(psc_arena_track_new(&p.arena, s, &track, NULL), ==, PSC_OK);
        g_assert_cmpint(psc_arena_track_look(track, &p.arena, s->event_n, &look, NULL), ==, PSC_OK);
        for (unsigned k = 0; k < 2; k++) {
            g_assert_true(look.homes[k].gone && look.homes[k].closed);
            g_assert_cmpuint(look.homes[k].refs, ==, 0);
            g_assert_cmpuint(look.homes[k].figures.retained, ==, 0);
        }
        done(&p);
        g_free(all);
    }
}

/* While a lease keeps it, the arena is closed and not gone; and a file says the same. */
static void test_kept_alive(void)
{
    struct played p;
    struct psc_json j;
    struct psc_story *back = NULL;
    struct psc_arena_track *track;
    struct psc_arena_look look;
    play(&p, "", ALLOC("io", "y", 64) EXPORT("y", "p") EXPORT("y", "q") CLEAR CLOSE("io") DROP("p") "{'op':'drop','as':'q'}");
    psc_json_init(&j, false);
    psc_story_write_json(&j, NULL, p.answer.stories[0], NULL, NULL);
    g_assert_cmpint(psc_story_read(&p.arena, (struct psc_slice){psc_text_str(&j.out), j.out.n}, NULL, &back, NULL), ==, PSC_OK);
    g_assert_cmpint(psc_arena_track_new(&p.arena, back, &track, NULL), ==, PSC_OK);
    for (int32_t position = 3; position < 7; position++) {
        static const uint32_t refs[] = {3, 2, 1, 0};
        g_assert_cmpint(psc_arena_track_look(track, &p.arena, psc_arena_track_upto(track, position), &look, NULL), ==, PSC_OK);
        g_assert_cmpuint(look.homes[1].refs, ==, refs[position - 3]);
        g_assert_true(look.homes[1].closed == (position > 3) && look.homes[1].gone == (position == 6));
    }
    g_assert_nonnull(strstr(back->titles[4], "lets go of io, 2 leases keep it alive"));
    psc_json_release(&j);
    done(&p);
}

/* What the checker sees, when a lent block is given to the next run. */
static void test_checker(void)
{
    struct played p;
    play(&p, ",\"faults\":[\"a5\"]", ALLOC("io", "y", 64) WRITE("y", "v") EXPORT("y", "p") CLEAR ALLOC("io", "z", 64)
         WRITE("z", "w") READ("p", "v") END);
    assert_errors(&p, "6");
    g_assert_cmpuint(p.check.finding_n, ==, 1);
    g_assert_cmpint(p.check.findings[0].read_position, ==, 6);
    done(&p);
}

/* Owners, slots, caps and lamps survive a file. */
static void test_as_json(void)
{
    struct played p;
    struct psc_json j;
    struct psc_story *back = NULL;
    struct psc_arena_track *track;
    struct psc_arena_look look;
    struct psc_error error = {0};
    play(&p, ",\"faults\":[\"a2\"],\"arenas\":{\"io\":{\"cap\":100,\"slots\":3}}",
         ALLOC("exec", "t", 16) ALLOC("io", "y", 64) EXPORT("y", "p") EXPORT("y", "q") "{'op':'release','h':'none'}");
    psc_json_init(&j, false);
    psc_story_write_json(&j, NULL, p.answer.stories[0], NULL, NULL);
    g_assert_cmpint(psc_story_read(&p.arena, (struct psc_slice){psc_text_str(&j.out), j.out.n}, NULL, &back, &error), ==, PSC_OK);
    const struct psc_story *was = p.answer.stories[0];
    g_assert_cmpuint(back->event_n, ==, was->event_n);
    for (uint32_t i = 0; i < was->event_n; i++) {
        g_assert_cmpuint(back->events[i].slot, ==, was->events[i].slot);
        g_assert_cmpuint(back->events[i].owner, ==, was->events[i].owner);
        g_assert_cmpuint(back->events[i].holders, ==, was->events[i].holders);
    }
    g_assert_cmpint(psc_arena_track_new(&p.arena, back, &track, NULL), ==, PSC_OK);
    g_assert_cmpint(psc_arena_track_look(track, &p.arena, back->event_n, &look, NULL), ==, PSC_OK);
    g_assert_cmpuint(look.home_n, ==, 2);
    g_assert_cmpstr(look.homes[1].name, ==, "io");
    g_assert_cmpuint(look.homes[1].arena->cap, ==, 100);
    g_assert_cmpuint(look.homes[1].arena->slot_max, ==, 3);
    g_assert_cmpuint(look.homes[0].arena->cap, ==, UINT64_MAX);
    g_assert_cmpstr(look.homes[0].arena->mode, ==, "hardened");
    g_assert_cmpint(look.homes[0].slots[0].owner, ==, PSC_OWNER_TENSOR);
    g_assert_cmpint(look.homes[1].slots[0].owner, ==, PSC_OWNER_LEASE);
    g_assert_cmpuint(look.broken, ==, 1u << 2);
    g_assert_nonnull(strstr(look.text, "slot 0"));
    psc_json_release(&j);
    done(&p);
}

static enum psc_status play_once(void *data)
{
    const char *text = data;
    struct psc_arena arena = {0};
    struct psc_report report = {0};
    struct psc_scenario s;
    struct psc_scenario_answer a;
    struct psc_error error = {0};
    enum psc_status status = psc_scenario_read_memory(&arena, "s.json", text, strlen(text), &report, &s, &error);
    if (!status)
        status = psc_scenario_play(&arena, &s, &report, &a, &error);
    psc_report_release(&report);
    psc_arena_release(&arena);
    return status;
}

static void test_oom(void)
{
    char *text = g_strdup("{'format':'memplan-arena','events':[" ALLOC("io", "y", 64) WRITE("y", "v") EXPORT("y", "p")
                          EXPORT("y", "q") DROP("p") CLEAR ALLOC("exec", "z", 9) CLOSE("io") READ("q", "v") END "]}");
    g_strdelimit(text, "'", '"');
    g_assert_cmpuint(test_oom_loop(play_once, text), >, 20);
    g_free(text);
}

static void test_refused_files(void)
{
    static const struct { const char *events, *settings, *words; } rows[] = {
        {"{'op':'grow'}", "", "events[0] is \"grow\""},
        {"{'op':'alloc','h':'a'}", "", "bytes"},
        {"{'op':'alloc','h':'a','bytes':1,'arena':'x'}", "", "exec and io are known"},
        {"5", "", "events[0] must be an object"},
        {END, ",'faults':['z9']", "a1 to a20"},
        {END, ",'mode':'x'", "upstream and hardened"},
        {END, ",'arenas':{'io':{'cap':-4}}", "arenas.io.cap"},
    };
    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        char *text = g_strdup_printf("{'format':'memplan-arena','events':[%s]%s}", rows[i].events, rows[i].settings);
        struct played p = {0};
        struct psc_scenario s;
        struct psc_error error = {0};
        g_strdelimit(text, "'", '"');
        g_assert_cmpint(psc_scenario_read_memory(&p.arena, "s.json", text, strlen(text), &p.report, &s, &error), !=, PSC_OK);
        if (!strstr(error.text, rows[i].words))
            g_error("%s: %s", text, error.text);
        done(&p);
        g_free(text);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/scenario-arena/lent-blocks-outlive-runs-until-the-last-drop", test_lent);
    g_test_add_func("/scenario-arena/a-handle-remembers-its-version", test_versions);
    g_test_add_func("/scenario-arena/views-and-callers-own-nothing", test_views_and_callers);
    g_test_add_func("/scenario-arena/each-arena-has-its-cap", test_caps);
    g_test_add_func("/scenario-arena/upstream-frees-the-new-owner", test_upstream);
    g_test_add_func("/scenario-arena/stale-tickets-over-evicted-blocks", test_stale_and_evicted);
    g_test_add_func("/scenario-arena/each-fault-breaks-one-invariant", test_faults);
    g_test_add_func("/scenario-arena/shutdown-in-every-legal-order", test_shutdown);
    g_test_add_func("/scenario-arena/leases-keep-an-arena-that-is-closed", test_kept_alive);
    g_test_add_func("/scenario-arena/the-checker-names-the-read", test_checker);
    g_test_add_func("/scenario-arena/owners-caps-and-lamps-survive-a-file", test_as_json);
    g_test_add_func("/scenario-arena/oom", test_oom);
    g_test_add_func("/scenario-arena/what-is-wrong-in-a-file", test_refused_files);
    return g_test_run();
}
