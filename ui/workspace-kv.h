/* ui/workspace-kv.h: the part of a workspace that is about KV regions: what every step wrote, and the cell looked at.
 *
 *     psc_workspace_need_kv       says that somebody wants to know what all steps wrote; then a worker reads every step
 *                                 once, and what it knows grows (PSC_CHANGED_KV) until it has read them all
 *     psc_workspace_kv            the regions in the step that is shown, before that too
 *     cell, range, halves         what the KV view shows; the inspector and the tables are bound to the same cell
 *
 * Steps are counted over all phases here ("ordinal"), in the order of the document, which is that of the run.
 */
#ifndef PSC_UI_WORKSPACE_KV_H
#define PSC_UI_WORKSPACE_KV_H

#include "ui/draw/kv-view.h"
#include "ui/workspace.h"

void psc_workspace_need_kv(PscWorkspace *self);
/* The step that is shown; NULL when the phase has no KV regions. Valid until the next PSC_CHANGED_STUDY, STEP or KV. */
const struct psc_kv_step *psc_workspace_kv(PscWorkspace *self);
/* What is known of all steps so far, or NULL. Its figures cover the first step_n ordinals. */
const struct psc_kv_history *psc_workspace_kv_history(PscWorkspace *self);
/* Whether the worker is still at it; *ret_fraction (may be NULL): how far it is. */
gboolean psc_workspace_kv_reading(PscWorkspace *self, double *ret_fraction);

guint psc_workspace_step_total(PscWorkspace *self);
guint psc_workspace_ordinal(PscWorkspace *self); /* of the step that is shown */
gboolean psc_workspace_step_of(PscWorkspace *self, guint ordinal, guint *ret_phase, guint *ret_step);
gboolean psc_workspace_show_ordinal(PscWorkspace *self, guint ordinal); /* false: there is no such step, or it is shown */
gboolean psc_workspace_step_by(PscWorkspace *self, int steps);           /* from the step that was asked for last */

typedef struct {
    uint32_t layer, row; /* PSC_NONE when no cell is selected */
    gboolean is_v;
} PscKvCell;
PscKvCell psc_workspace_kv_cell(PscWorkspace *self);
/* The cell to speak of when none is selected: the row of this step in the layer the cursor works in. False when the
 * step writes no row. */
gboolean psc_workspace_kv_focus(PscWorkspace *self, PscKvCell *ret);
/* Selects a cell, and the region's buffer, so that its accesses can be walked; clamped. layer PSC_NONE: no cell. */
void psc_workspace_select_kv(PscWorkspace *self, uint32_t layer, uint32_t row, gboolean is_v);

void psc_workspace_kv_range(PscWorkspace *self, double *ret_lo, double *ret_hi);
void psc_workspace_set_kv_range(PscWorkspace *self, double lo, double hi); /* clamped to the regions */
enum psc_kv_halves psc_workspace_kv_halves(PscWorkspace *self);
void psc_workspace_set_kv_halves(PscWorkspace *self, enum psc_kv_halves halves);

/* From cell to cell. Each returns false when there is nowhere to go. */
gboolean psc_workspace_kv_move(PscWorkspace *self, int rows, int halves); /* half a layer: from K to V, on to the next K */
gboolean psc_workspace_kv_layer(PscWorkspace *self, int direction);       /* and the cursor to the op that writes it */
gboolean psc_workspace_kv_edge(PscWorkspace *self, int direction);        /* first or last row that is written */
gboolean psc_workspace_kv_alarm(PscWorkspace *self, int direction);       /* next read of rows that nobody wrote; wraps */

#endif
