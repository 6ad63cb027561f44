/* ui/pair.h: two workspaces and the difference of what they show: computed in a worker, cursor, range and selection locked.
 *
 *     PscPair *pair = psc_pair_of(ws_a);          one for each workspace, with a workspace of its own for the other side
 *     psc_pair_show_options(pair, &options, ..)   B: the same phase under other options
 *     psc_pair_show_document(pair, opened ...)    B: another document
 *     psc_pair_show_plan(pair, &arena, &plan, ..) B: the same phase under a plan from a file
 *     psc_pair_clear(pair)                        no B
 *
 * When A shows another phase, B follows: the same phase under its options, or the phase of that kind of its own document. A plan file is of
 * one phase: in another the failure says so, until A is back. As long as nothing stands beside A's phase there is no difference either.
 *
 * Positions, values and ranges go through the difference (core/debug/diff-plans.h): the cursor of B stands on the same tensor as that
 * of A, and one that is gone leaves B without a selection. "changed" says that another difference is there, none yet, or that another
 * row of it is picked.
 */
#ifndef PSC_UI_PAIR_H
#define PSC_UI_PAIR_H

#include "core/debug/diff-plans.h"
#include "ui/workspace.h"

#define PSC_TYPE_PAIR (psc_pair_get_type())
G_DECLARE_FINAL_TYPE(PscPair, psc_pair, PSC, PAIR, GObject)

PscPair *psc_pair_of(PscWorkspace *a);        /* borrowed: lives as long as the workspace */
PscWorkspace *psc_pair_other(PscPair *self);  /* B's workspace; without a document while there is none */

/* `name` stands over the map of B. While A's file is still being read nothing happens, and false comes back. */
gboolean psc_pair_show_options(PscPair *self, const struct psc_analysis_options *options, const char *name);
/* Takes document and look, as psc_workspace_adopt does. */
void psc_pair_show_document(PscPair *self, PscDocument *document, PscLook *look, const char *title);
/* B: a plan made elsewhere, of A's graph. Takes the arena that holds it. */
gboolean psc_pair_show_plan(PscPair *self, struct psc_arena *arena, const struct psc_foreign *plan, const char *name);
void psc_pair_clear(PscPair *self);
const char *psc_pair_name(PscPair *self);     /* of B, or NULL */
const char *psc_pair_failure(PscPair *self);  /* why there is no B, or NULL */

/* NULL while there is none. Valid until "changed". */
const struct psc_plan_diff *psc_pair_diff(PscPair *self);
/* Rows of the list: changes, those that explain the peak first, by their bytes; then as they stand. */
guint psc_pair_n(PscPair *self);
const struct psc_plan_change *psc_pair_at(PscPair *self, guint row);
guint psc_pair_picked(PscPair *self);         /* row, or PSC_NONE */
void psc_pair_pick(PscPair *self, guint row); /* selects its tensor on both sides and shows it */

#endif
