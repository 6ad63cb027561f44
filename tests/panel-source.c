#include "tests/panel-source.h"

#include "core/candela/kept.h"
#include "core/candela/parse.h"
#include "core/candela/planner.h"
#include "traces/scenario-read.h"

#include <glib.h>
#include <string.h>

struct psc_candela_tale *panel_tale(struct psc_arena *arena, const char *text)
{
    struct psc_lazy l;
    struct psc_candela_plan *plan;
    struct psc_candela_kept *kept;
    struct psc_candela_tale *tale;
    struct psc_error error = {0};
    uint32_t root;
    psc_lazy_init(&l);
    if (psc_lazy_parse(&l, text, strlen(text), &root, &error) ||
        psc_candela_plan(arena, &l, root, &(struct psc_candela_options){0}, &plan, &error) ||
        psc_candela_keep(arena, &l, root, plan, false, &kept, &error) ||
        psc_candela_verify(arena, &l, root, plan, false, &kept->verdict, &error) ||
        psc_candela_keep_rivals(arena, &l, kept, &error) || psc_candela_tale_new(arena, kept, &tale, &error))
        g_error("%s", error.text);
    psc_lazy_release(&l);
    return tale;
}

struct psc_arena_axis *panel_axis(struct psc_arena *arena, const char *settings, const char *events)
{
    struct psc_scenario s;
    struct psc_scenario_answer answer;
    struct psc_report report = {0};
    struct psc_error error = {0};
    struct psc_arena_track *track = NULL;
    struct psc_arena_axis *axis = NULL;
    char *text = g_strdup_printf("{\"format\":\"memplan-arena\",\"version\":1%s,\"events\":[%s]}", settings, events);
    g_strdelimit(text, "'", '"');
    if (psc_scenario_read_memory(arena, "s.json", text, strlen(text), &report, &s, &error) ||
        psc_scenario_play(arena, &s, &report, &answer, &error) ||
        psc_arena_track_new(arena, answer.stories[0], &track, &error) || psc_arena_axis_new(arena, track, &axis, &error))
        g_error("%s", error.text);
    psc_report_release(&report);
    g_free(text);
    return axis;
}

#define ALLOC(a, h, n) "{'op':'alloc','arena':'" a "','h':'" h "','bytes':" #n "},"
#define FREE(h) "{'op':'free','h':'" h "'},"
#define EXPORT(h, as) "{'op':'export','h':'" h "','as':'" as "'},"
#define DROP(as) "{'op':'drop','as':'" as "'},"
#define BORROW(h) "{'op':'borrow','h':'" h "','bytes':4096},"
#define RELEASE(h) "{'op':'release','h':'" h "'},"
#define CLEAR "{'op':'clear'},"
#define RUN(n, spike) BORROW("x" n) ALLOC("io", "ids" n, 1024) ALLOC("exec", "q" n, 16384) ALLOC("exec", "scores" n, spike) FREE("q" n) \
    ALLOC("exec", "ctx" n, 12288) ALLOC("io", "logits" n, 32768) EXPORT("logits" n, "array" n) FREE("scores" n) FREE("ctx" n) RELEASE("x" n) CLEAR

const char panel_runs_settings[] = ",'arenas':{'exec':{'cap':57344},'io':{'cap':65536}}";
const char panel_runs[] = RUN("1", 24576) RUN("2", 24576) DROP("array1") RUN("3", 40960) DROP("array3") RUN("4", 24576) "{'op':'trim'}";
