/* ui/plan-menu.h: the button that names the plan and opens its options. A change plans again at once. */
#ifndef PSC_UI_PLAN_MENU_H
#define PSC_UI_PLAN_MENU_H

#include "ui/workspace.h"

#include <gtk/gtk.h>

/* Beside a fault that cannot be chosen in the window. */
#define PSC_NEEDS_BUDGET "needs a budget: planscope-cli --budget"

#define PSC_TYPE_PLAN_MENU (psc_plan_menu_get_type())
G_DECLARE_FINAL_TYPE(PscPlanMenu, psc_plan_menu, PSC, PLAN_MENU, GtkWidget)

GtkWidget *psc_plan_menu_new(PscWorkspace *ws);
void psc_plan_menu_open(PscPlanMenu *self);
void psc_plan_menu_set_narrow(PscPlanMenu *self, gboolean narrow);

#endif
