/* traces/scenario-read.h: scenario files (memplan-kv, memplan-sched, memplan-replay, memplan-arena), field by field in
 * traces/README.md.
 *
 * psc_trace_open opens them like any other file: the scenario is played, and the document has a phase for each story
 * it makes. This header is for those who want the answer itself.
 */
#ifndef PSC_TRACES_SCENARIO_READ_H
#define PSC_TRACES_SCENARIO_READ_H

#include "core/debug/scenario.h"
#include "core/doc/doc.h"
#include "traces/cursor.h"

enum psc_scenario_kind { PSC_SCENARIO_KV, PSC_SCENARIO_SCHED, PSC_SCENARIO_CAPTURE, PSC_SCENARIO_ARENA, PSC_SCENARIO_N };
const char *psc_scenario_format(enum psc_scenario_kind kind); /* "memplan-kv" ... */
/* Is the value of "format" (a JSON string) that of a scenario? */
bool psc_scenario_is(struct psc_slice format, enum psc_scenario_kind *ret);

struct psc_scenario {
    enum psc_scenario_kind kind;
    /* the script of its kind; the others are empty */
    struct psc_kv_script kv;
    struct psc_sched_script sched;
    struct psc_capture_script capture;
    struct psc_arena_script arena;
    const char *note, *lesson[3]; /* for people, of any kind: what to look at; question, where to look, answer. NULL */
    struct psc_graph *graph; /* of a sched file that brings one, else NULL */
};
struct psc_scenario_answer {
    struct psc_kv_answer kv;
    struct psc_races races;
    struct psc_capture_answer *capture; /* [capture.replay_n] */
    struct psc_arena_answer arena;
    struct psc_story **stories;         /* one; of a capture one more than it has replays */
    uint32_t story_n;
};

/* All in the arena. The report gets what is wrong with a graph that the file brings. */
enum psc_status psc_scenario_read(struct psc_arena *arena, const char *path, struct psc_report *report,
                                  struct psc_scenario *ret, struct psc_error *reterr) PSC_MUST_CHECK;
enum psc_status psc_scenario_read_memory(struct psc_arena *arena, const char *name, const char *bytes, size_t n,
                                         struct psc_report *report, struct psc_scenario *ret,
                                         struct psc_error *reterr) PSC_MUST_CHECK;
/* Plays it; sentences go into the report (core/debug/scenario.h). */
enum psc_status psc_scenario_play(struct psc_arena *arena, const struct psc_scenario *scenario, struct psc_report *report,
                                  struct psc_scenario_answer *ret, struct psc_error *reterr) PSC_MUST_CHECK;
/* Reads, plays, and puts the phases into the document. */
enum psc_status psc_scenario_load(struct psc_doc *doc, const char *bytes, size_t n, struct psc_error *reterr) PSC_MUST_CHECK;

#endif
