/* ui/stepper.h: the stepping buttons and the go-to entry of the header. */
#ifndef PSC_UI_STEPPER_H
#define PSC_UI_STEPPER_H

#include "ui/workspace.h"

#include <gtk/gtk.h>

#define PSC_TYPE_STEPPER (psc_stepper_get_type())
G_DECLARE_FINAL_TYPE(PscStepper, psc_stepper, PSC, STEPPER, GtkBox)

/* Signal "missed" (const char *words): what was typed leads nowhere. */
GtkWidget *psc_stepper_new(PscWorkspace *ws);
void psc_stepper_focus_entry(PscStepper *self);
void psc_stepper_set_playing(PscStepper *self, gboolean playing);
void psc_stepper_set_narrow(PscStepper *self, gboolean narrow);

#endif
