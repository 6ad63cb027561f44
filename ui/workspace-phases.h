/* ui/workspace-phases.h: what is wrong in the phases that are not shown.
 *
 *     shown: prefill, clean        badge  "clean here · ⚠ 3 in Decode"        X  shows decode, at its first clobber
 *
 * When the phase that is shown is there, the others are looked at behind it: one after the other in the order of the file
 * from the shown one on, through the door that the shown one came through (psc_analysis_new, with the options that this phase
 * would be shown with), by a thread of low priority that rests while something is asked for. Only counts are kept. Phases that
 * the scan finds later are looked at when they come; one that is planned otherwise, or gets its plan late, once more.
 * PSC_CHANGED_PHASES tells of some more verdicts, or phases. A second workspace of a document (adopt_beside) does not look.
 */
#ifndef PSC_UI_WORKSPACE_PHASES_H
#define PSC_UI_WORKSPACE_PHASES_H

#include "ui/workspace.h"

typedef struct {
    gboolean known;   /* FALSE: not looked at yet, and all others are 0 */
    gboolean failed;  /* it cannot be planned or checked as its options say */
    guint finding_n;
    guint64 wrong_n;  /* reads that find other bytes */
    guint broken_n;   /* invariants of arenas that did not hold at some time */
    guint overwritten_n, record_n; /* of a recorded step (the shown one, else the first): values that are not the nodes' own, of all */
} PscPhaseVerdict;

PscPhaseVerdict psc_workspace_verdict(PscWorkspace *self, guint phase);
gboolean psc_workspace_wrong(PscWorkspace *self, guint phase); /* something is known to be wrong in it */
/* Whether phases wait to be looked at, or to be read; *ret_known: those that were. */
gboolean psc_workspace_looking(PscWorkspace *self, guint *ret_known);
/* Every phase of the file was looked at, nothing is wrong in any, and no recorded value that was looked at is overwritten. */
gboolean psc_workspace_all_clean(PscWorkspace *self);
/* The next phase in which something is wrong, around the end of the file, the shown one left out; PSC_NONE: none. */
guint psc_workspace_wrong_phase(PscWorkspace *self, int direction);
/* Shows it, at its first clobber (its last when direction is -1); FALSE: there is none. */
gboolean psc_workspace_go_to_wrong(PscWorkspace *self, int direction);

/* "⚠ 3 clobbers", "⚠ 1 invariant", "⊘ 9 of 10 records", "" where nothing is known to be wrong; `brief`: "⚠ 3", "⚠", "⊘". g_free */
char *psc_workspace_phase_mark(PscWorkspace *self, guint phase, gboolean brief);
/* "⚠ 3 in Decode", "⚠ 7 in 2 phases"; NULL: nothing is known to be wrong in phases that are not shown. g_free */
char *psc_workspace_elsewhere(PscWorkspace *self);
/* A line for each phase in which something is wrong or records are overwritten, and how far the look at the others is; "" for one phase. g_free */
char *psc_workspace_phases_told(PscWorkspace *self);

#endif
