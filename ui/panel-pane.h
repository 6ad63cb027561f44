/* ui/panel-pane.h: the inside of a planner or of arenas as a widget: what it has in hand at the cursor.
 *
 * Shows ui/draw/candela-page.h for expressions, ui/draw/arena-page.h for stories of arenas; of a graph that
 * was planned here each node's decision and the buffers. The page follows the cursor both ways; arrows of the alias map swing
 * from their old owner to the new one when the cursor moves by one position (not where animations are switched off).
 * A click on a node of the order, on a slot or on the axis of all runs goes to its position; every part has a tooltip with its whole text.
 *
 * With the focus: Up and Down scroll, Page Up and Page Down by a page, 1 to 5 (and a click) plan as that row of the generations does; all else is the window's (Left and Right step). Its
 * accessible description says all that is drawn, in words.
 */
#ifndef PSC_UI_PANEL_PANE_H
#define PSC_UI_PANEL_PANE_H

#include "ui/workspace.h"

#include <gtk/gtk.h>

struct psc_panel; /* ui/draw/panel.h */
struct psc_type;

#define PSC_TYPE_PANEL_PANE (psc_panel_pane_get_type())
G_DECLARE_FINAL_TYPE(PscPanelPane, psc_panel_pane, PSC, PANEL_PANE, GtkWidget)

GtkWidget *psc_panel_pane_new(PscWorkspace *ws);
/* Has the phase that is shown anything to look into? */
gboolean psc_panel_pane_has(PscWorkspace *ws);
/* What is shown now, built anew `width` px wide for a picture; release it. FALSE: there is nothing, or memory is exhausted. */
gboolean psc_panel_pane_build(PscPanelPane *self, struct psc_panel *panel, double width, struct psc_type *type);
/* What is shown now, in words: for the clipboard and the status line. */
void psc_panel_pane_explain(PscPanelPane *self, struct psc_text *out);

#endif
