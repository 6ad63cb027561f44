/* ui/context-bar.h: which phase, which step, which token, what the model would say next, which plan. */
#ifndef PSC_UI_CONTEXT_BAR_H
#define PSC_UI_CONTEXT_BAR_H

#include "ui/workspace.h"

#include <gtk/gtk.h>

#define PSC_TYPE_CONTEXT_BAR (psc_context_bar_get_type())
G_DECLARE_FINAL_TYPE(PscContextBar, psc_context_bar, PSC, CONTEXT_BAR, GtkBox)

GtkWidget *psc_context_bar_new(PscWorkspace *ws);
void psc_context_bar_open_plan(PscContextBar *self); /* the popover with the plan's options */
typedef enum { PSC_ROOM_SMALL, PSC_ROOM_SOME, PSC_ROOM_ALL } PscRoom;
void psc_context_bar_set_room(PscContextBar *self, PscRoom room); /* 1, 3 or 5 logits; SMALL: short words */

#endif
