/* ui/workspace.h: one document, one chosen plan, one cursor, one selection, one visible range.
 *
 * Every view binds to a workspace and owns none of these. A view connects to "changed" once and looks at
 * the mask of what changed:
 *
 *     g_signal_connect_object(ws, "changed", G_CALLBACK(changed_cb), self, G_CONNECT_SWAPPED);
 *     static void changed_cb(PscStatusLine *self, guint what) { if (what & PSC_CHANGED_CURSOR) ... }
 *
 * Planning, checking and reading a step run in a worker; what is shown changes at once when the result is
 * there, never half (`busy` meanwhile). A request that a newer one overtook is dropped. Positions: -1 is
 * the host's fill, n is one past the last op; position p covers [p, p + 1) of the range axis.
 */
#ifndef PSC_UI_WORKSPACE_H
#define PSC_UI_WORKSPACE_H

#include "ui/draw/view.h"
#include "core/debug/finding-bytes.h"
#include "ui/study.h"

#include <gio/gio.h>

#define PSC_TYPE_WORKSPACE (psc_workspace_get_type())
G_DECLARE_FINAL_TYPE(PscWorkspace, psc_workspace, PSC, WORKSPACE, GObject)

typedef enum {
    PSC_CHANGED_DOCUMENT = 1 << 0,  /* another document, or none */
    PSC_CHANGED_STUDY = 1 << 1,     /* phase or plan */
    PSC_CHANGED_STEP = 1 << 2,      /* records and verdicts */
    PSC_CHANGED_CURSOR = 1 << 3,
    PSC_CHANGED_SELECTION = 1 << 4,
    PSC_CHANGED_RANGE = 1 << 5,
    PSC_CHANGED_STEPS = 1 << 6,     /* the number of phases, steps or known tokens */
    PSC_CHANGED_BUSY = 1 << 7,
    PSC_CHANGED_VIEW = 1 << 8,      /* way of drawing: rows or map, colour by, height */
    PSC_CHANGED_KV = 1 << 9,        /* ui/workspace-kv.h: what all steps wrote, the cell, the rows shown */
    PSC_CHANGED_PHASES = 1 << 10,   /* ui/workspace-phases.h: more is known of the phases that are not shown */
    PSC_CHANGED_ALL = 0x7ff,
} PscChanged;

/* At most one of these is selected; a finding also dims everything that has no part in it. */
typedef struct {
    psc_node node;    /* PSC_NONE when none; its buffer is `buffer` */
    uint32_t buffer;  /* PSC_NONE when none */
    int finding;      /* index into the findings, -1 when none */
} PscSelection;

PscWorkspace *psc_workspace_new(void);

/* Shows a document. It and the look at one of its phases are taken; the first view is the first finding with
 * 20 ops of context, else the whole run. */
void psc_workspace_adopt(PscWorkspace *self, PscDocument *document, PscLook *look, const char *title);
/* The same for a second workspace of a document that another one shows: nothing is read ahead or scanned here, the other
 * one does that; only while that one does not scan. */
void psc_workspace_adopt_beside(PscWorkspace *self, PscDocument *document, PscLook *look, const char *title);
void psc_workspace_close(PscWorkspace *self);

PscDocument *psc_workspace_document(PscWorkspace *self); /* NULL when empty */
const char *psc_workspace_title(PscWorkspace *self);
PscStudy *psc_workspace_study(PscWorkspace *self);       /* NULL when empty */
PscRecords *psc_workspace_records(PscWorkspace *self);   /* NULL when the phase has no steps */
PscPicture *psc_workspace_picture(PscWorkspace *self);   /* NULL when there is nothing to draw */
gboolean psc_workspace_busy(PscWorkspace *self);
const char *psc_workspace_failure(PscWorkspace *self);   /* why the last request failed, or NULL */

guint psc_workspace_phase_n(PscWorkspace *self);
const struct psc_phase *psc_workspace_phase(PscWorkspace *self, guint phase);
guint psc_workspace_step_n(PscWorkspace *self, guint phase);
guint psc_workspace_phase_index(PscWorkspace *self);
guint psc_workspace_step_index(PscWorkspace *self);
/* The phase and step that are shown, or, while busy, those that were asked for and will be. */
void psc_workspace_wanted(PscWorkspace *self, guint *ret_phase, guint *ret_step);
gboolean psc_workspace_scanning(PscWorkspace *self, double *ret_fraction);
void psc_workspace_set_phase(PscWorkspace *self, guint phase);
void psc_workspace_set_step(PscWorkspace *self, guint step);
void psc_workspace_set_phase_step(PscWorkspace *self, guint phase, guint step);
const char *psc_workspace_prompt(PscWorkspace *self); /* NULL when the file has none, or it was not read yet */
/* The words of a step's input token (a step without one: the prompt), NULL while not known (only the first
 * ones are read ahead). */
const char *psc_workspace_token(PscWorkspace *self, guint phase, guint step);

/* The options of the plan of this phase, and a new choice: planned again at once. */
const struct psc_analysis_options *psc_workspace_options(PscWorkspace *self);
void psc_workspace_set_options(PscWorkspace *self, const struct psc_analysis_options *options);

/* What was recorded in full, laid beside the document (core/debug/finding-bytes.h) until it goes; NULL: no more. of fills in what
 * belongs to a phase and step; free gives data up. */
typedef struct {
    gpointer data;
    GDestroyNotify free;
    struct psc_contents (*of)(gpointer data, guint phase, guint step);
} PscContents;
void psc_workspace_set_contents(PscWorkspace *self, const PscContents *contents);
gboolean psc_workspace_contents(PscWorkspace *self, struct psc_contents *ret); /* of the phase and step that are shown; FALSE: none */

int32_t psc_workspace_cursor(PscWorkspace *self);
void psc_workspace_set_cursor(PscWorkspace *self, int32_t position); /* clamped; the selection stays */
/* Moves the cursor and selects the op it stands on, unless a finding is selected. */
void psc_workspace_step_to(PscWorkspace *self, int32_t position);

/* Pool buffers without a living tenant at the cursor, ascending; of arenas the blocks that are kept free, the next to be evicted
 * first. Valid until the cursor moves. */
const uint32_t *psc_workspace_free_buffers(PscWorkspace *self, uint32_t *ret_n);

PscSelection psc_workspace_selection(PscWorkspace *self);
void psc_workspace_select_node(PscWorkspace *self, psc_node node);
void psc_workspace_select_buffer(PscWorkspace *self, uint32_t buffer);
void psc_workspace_select_finding(PscWorkspace *self, int finding); /* and shows it */
void psc_workspace_select_nothing(PscWorkspace *self);

void psc_workspace_range(PscWorkspace *self, double *ret_x0, double *ret_x1);
void psc_workspace_set_range(PscWorkspace *self, double x0, double x1); /* clamped to the run */
void psc_workspace_show_all(PscWorkspace *self);
void psc_workspace_show(PscWorkspace *self, int32_t first, int32_t last, double context);

enum psc_view_mode psc_workspace_y_mode(PscWorkspace *self);
void psc_workspace_set_y_mode(PscWorkspace *self, enum psc_view_mode mode);
enum psc_view_colour psc_workspace_colour_by(PscWorkspace *self);
void psc_workspace_set_colour_by(PscWorkspace *self, enum psc_view_colour by);
enum psc_view_height psc_workspace_height(PscWorkspace *self); /* of rows in map mode */
void psc_workspace_set_height(PscWorkspace *self, enum psc_view_height height);

#endif
