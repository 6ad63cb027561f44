/* ui/access.h: names for assistive tools, also where GTK hides the control inside another. */
#ifndef PSC_UI_ACCESS_H
#define PSC_UI_ACCESS_H

#include <gtk/gtk.h>

/* Names the widget, and the button inside a drop-down or menu button, which is what takes the focus. */
void psc_ui_name(GtkWidget *widget, const char *name);
/* A button with a picture: its name is what assistive tools say and what the tooltip shows. */
GtkWidget *psc_icon_button(const char *icon, const char *name, const char *action);

#endif
