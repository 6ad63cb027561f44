/* ui/run-window.h: the window that asks what to run, and shows how it goes.
 *
 *     what      the open graph | a model file | a preset
 *     prompt    or, of a graph, a field for each input
 *     where     backends (greyed with their reason), planner, faults, recycled bytes
 *     record    statistics, hashes, when
 *     [Cancel]                                            [Run]
 *
 * While it runs the text appears as it comes, with a bar and Cancel, which keeps what was recorded. A fault in a field is
 * told beside the field. The window keeps what was typed for the next run. Enter in a text field, or Ctrl+Enter anywhere, runs; Escape closes it.
 */
#ifndef PSC_UI_RUN_WINDOW_H
#define PSC_UI_RUN_WINDOW_H

#include "ui/run-order.h"
#include "ui/workspace.h"

#define PSC_TYPE_RUN_WINDOW (psc_run_window_get_type())
G_DECLARE_FINAL_TYPE(PscRunWindow, psc_run_window, PSC, RUN_WINDOW, GtkWindow)

/* door: copied; its ctx must outlive the window. */
PscRunWindow *psc_run_window_new(GtkWindow *parent, PscWorkspace *ws, const PscRunDoor *door);
/* Shows the form (or the run that goes on), with the graph that is open now. */
void psc_run_window_ask(PscRunWindow *self);

#endif
