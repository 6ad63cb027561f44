/* core/debug/analysis.h: one phase, looked at from all sides: plan, story, findings, history.
 *
 * The command line and the window ask the same question through this one door, so they cannot disagree:
 * take the file's own events or plan unless a planner is asked for, lower, check, index. A phase that is a list of boxes
 * has no graph: planners of arenas pack the boxes.
 * Ownership: everything lives in analysis->arena; the phase is borrowed and must outlive it.
 */
#ifndef PSC_CORE_DEBUG_ANALYSIS_H
#define PSC_CORE_DEBUG_ANALYSIS_H

#include "core/debug/check.h"
#include "core/debug/compare-stories.h"
#include "core/debug/history.h"
#include "core/debug/records.h"
#include "core/plan/offsets/box-set.h"
#include "core/plan/plan.h"

struct psc_analysis_options {
    const struct psc_planner *planner; /* NULL: the pool planner */
    struct psc_plan_options plan;
    bool replan;                       /* true: plan here even when the file brings a plan or events */
    const struct psc_foreign *foreign; /* a plan file to check instead; wins over all else */
    bool as_planned;                   /* of a phase with a plan and recorded events: the story that the plan predicts,
                                          not the recorded one; nothing elsewhere */
};
struct psc_analysis {
    struct psc_arena arena;
    const struct psc_phase *phase;
    struct psc_plan *plan;       /* NULL when the story came from the file's events */
    const struct psc_offsets *packed; /* of a phase that is a list of boxes: where they lie; else NULL */
    const char *packer;          /* who packed them */
    double planned_ms;           /* what planning or packing took by the clock; < 0: nothing was planned here */
    struct psc_story *story;     /* NULL when the phase has no graph and no events */
    struct psc_history *history; /* NULL with story */
    struct psc_check check;
    /* When the phase brings a plan and events that were recorded: what the plan predicts, and how that differs. One of the
     * two stories is `story`: the recorded one, unless as_planned was asked for. */
    struct psc_story *predicted;
    struct psc_story *recorded;              /* NULL with predicted */
    struct psc_story_comparison *comparison; /* NULL with predicted */
    const char *origin;          /* "Planned here: pool, upstream, class, lowest slot" / "Plan of the file" ... */
};
/* Whether the phase brings both: a plan, and events that were recorded while it was executed. */
bool psc_analysis_has_both(const struct psc_phase *phase);
/* A phase without a graph gives an analysis with story == NULL and no findings: that is not an error. */
enum psc_status psc_analysis_new(const struct psc_phase *phase, const struct psc_analysis_options *options,
                                 struct psc_analysis **ret, struct psc_error *reterr) PSC_MUST_CHECK;
/* Plans once more as psc_analysis_new does with replan, and says how long that took, milliseconds. PSC_ERR_USAGE for a phase that
 * has neither graph nor boxes. */
enum psc_status psc_analysis_plan_only(struct psc_arena *arena, const struct psc_phase *phase,
                                       const struct psc_analysis_options *options, double *ret_ms,
                                       struct psc_error *reterr) PSC_MUST_CHECK;
void psc_analysis_free(struct psc_analysis *analysis); /* NULL is fine */

#endif
