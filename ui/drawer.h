/* ui/drawer.h: the drawer under the timeline: problems, differences, recorded values, accesses, free list, log. */
#ifndef PSC_UI_DRAWER_H
#define PSC_UI_DRAWER_H

#include "ui/workspace.h"

#include <gtk/gtk.h>

#define PSC_TYPE_DRAWER (psc_drawer_get_type())
G_DECLARE_FINAL_TYPE(PscDrawer, psc_drawer, PSC, DRAWER, GtkBox)

GtkWidget *psc_drawer_new(PscWorkspace *ws);
/* "problems", "differences", "records", "accesses", "kv", "free" or "log"; opens the drawer, whose rows take the keys. FALSE:
   this document has no such tab. */
gboolean psc_drawer_show_tab(PscDrawer *self, const char *name);
void psc_drawer_toggle(PscDrawer *self);
gboolean psc_drawer_is_open(PscDrawer *self);
/* Opens the list of problems as low as its rows allow: for a drawer that nobody asked for, over a map that is to be seen. */
void psc_drawer_offer_problems(PscDrawer *self);
/* Whether the window is low: then the drawer opens with fewer rows. */
void psc_drawer_set_low(PscDrawer *self, gboolean low);

#endif
