/* ui/contest.h: the planners side by side on what a workspace shows: worked out in a worker, one after the other.
 *
 *     PscContest *contest = psc_contest_of(ws);        one for each workspace, made when first asked for
 *     psc_contest_want(contest, TRUE);                 somebody looks: it runs, and again whenever phase or options change
 *     g_signal_connect_object(contest, "changed", ...) a contender is there, another is picked, or it begins anew
 *
 * Who takes part: what the file brings, every planner of the table with the options of the document, and the pool in
 * exact sizes beside the one in classes. Entries stand in the order of psc_contender_order among those that are there. One entry is the
 * document's own plan; one is picked by the person. Of graphs with more than PSC_CONTEST_NODES nodes only figures are kept.
 */
#ifndef PSC_UI_CONTEST_H
#define PSC_UI_CONTEST_H

#include "core/debug/shootout.h"
#include "core/plan/choice.h"
#include "ui/workspace.h"

#define PSC_CONTEST_NODES 200000u

typedef struct {
    char *name;                       /* "pool+exact" */
    const char *text;                 /* one line about the planner; may be NULL */
    struct psc_planner_choice choice;
    struct psc_contender contender;   /* analysis NULL and able: only the figures were kept */
    gboolean done;
    uint32_t finding_n;
} PscEntrant;

#define PSC_TYPE_CONTEST (psc_contest_get_type())
G_DECLARE_FINAL_TYPE(PscContest, psc_contest, PSC, CONTEST, GObject)

PscContest *psc_contest_of(PscWorkspace *ws); /* borrowed: lives as long as the workspace */
void psc_contest_want(PscContest *self, gboolean wanted); /* counted: each TRUE needs its FALSE */
gboolean psc_contest_running(PscContest *self);
guint psc_contest_serial(PscContest *self);                  /* counts up when entrants or their order change: not when one is picked */

guint psc_contest_n(PscContest *self);                       /* all, those not there yet at the end */
const PscEntrant *psc_contest_at(PscContest *self, guint i); /* valid until "changed" */
guint psc_contest_own(PscContest *self);                     /* the document's plan, or PSC_NONE */
guint psc_contest_picked(PscContest *self);                  /* PSC_NONE when nothing is */
void psc_contest_pick(PscContest *self, guint i);
/* The smallest plan that reads nothing wrong, PSC_NONE while there is none; the largest bytes that are reserved among all. */
guint psc_contest_best(PscContest *self);
/* The document is planned so from now on; nothing happens for who cannot. */
void psc_contest_use(PscContest *self, guint i);
/* The options that an entrant was planned with. */
struct psc_analysis_options psc_contest_options(PscContest *self, guint i);

#endif
