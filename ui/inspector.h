/* ui/inspector.h: the right pane: everything about what is selected; about the run when nothing is. */
#ifndef PSC_UI_INSPECTOR_H
#define PSC_UI_INSPECTOR_H

#include "ui/workspace.h"

#include <gtk/gtk.h>

#define PSC_TYPE_INSPECTOR (psc_inspector_get_type())
G_DECLARE_FINAL_TYPE(PscInspector, psc_inspector, PSC, INSPECTOR, GtkBox)

GtkWidget *psc_inspector_new(PscWorkspace *ws);

#endif
