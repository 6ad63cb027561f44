/* ui/list-pane.h: the left pane: ops and buffers as tables, one filter box for both. */
#ifndef PSC_UI_LIST_PANE_H
#define PSC_UI_LIST_PANE_H

#include "ui/workspace.h"

#include <gtk/gtk.h>

#define PSC_TYPE_LIST_PANE (psc_list_pane_get_type())
G_DECLARE_FINAL_TYPE(PscListPane, psc_list_pane, PSC, LIST_PANE, GtkBox)

GtkWidget *psc_list_pane_new(PscWorkspace *ws);
void psc_list_pane_focus_filter(PscListPane *self);

#endif
