/* app/application.h: one process, one window a start; files come from the command line or the desktop. */
#ifndef PSC_APP_APPLICATION_H
#define PSC_APP_APPLICATION_H

#include <gtk/gtk.h>

#define PSC_TYPE_APPLICATION (psc_application_get_type())
G_DECLARE_FINAL_TYPE(PscApplication, psc_application, PSC, APPLICATION, GtkApplication)

PscApplication *psc_application_new(void);

#endif
