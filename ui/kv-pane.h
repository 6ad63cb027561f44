/* ui/kv-pane.h: the KV regions as a widget: x = row, y = layer; made by ui/draw/kv-page.h.
 *
 * As the timeline it is one surface, made again when step, range, size or colours change, with small nodes above it for
 * what the cursor and the pointer change. Wheel scrolls the layers, Shift+wheel the rows, Ctrl+wheel zooms about the
 * pointer, Ctrl+Shift+wheel makes layers taller; a drag pans, on the overview it moves the range; a click selects a cell,
 * a double click in the ruler shows all rows.
 *
 * With the focus: Left and Right go from row to row (Shift: by sixteen), Up and Down from K to V and to the next layer,
 * Page Up and Page Down to the layer before and after (the cursor goes to the op that writes it), Home and End to the
 * first and the last row that is written, Enter to the op that writes the cell in this step. Its accessible description
 * says what the cursor's op does to the rows; the tables beside it are its accessible form.
 */
#ifndef PSC_UI_KV_PANE_H
#define PSC_UI_KV_PANE_H

#include "ui/workspace-kv.h"

#include <gtk/gtk.h>

#define PSC_TYPE_KV_PANE (psc_kv_pane_get_type())
G_DECLARE_FINAL_TYPE(PscKvPane, psc_kv_pane, PSC, KV_PANE, GtkWidget)

GtkWidget *psc_kv_pane_new(PscWorkspace *ws);
void psc_kv_pane_zoom_rows(PscKvPane *self, double factor);   /* x, about the selected row or the middle */
void psc_kv_pane_zoom_layers(PscKvPane *self, double factor); /* y */
void psc_kv_pane_show_all(PscKvPane *self);                   /* every row, layers that fit */
void psc_kv_pane_show_step(PscKvPane *self);                  /* the rows near what this step writes */
/* What is shown now, for a picture of it; only while the phase has KV regions. */
void psc_kv_pane_get_view(PscKvPane *self, struct psc_kv_view *ret);

#endif
