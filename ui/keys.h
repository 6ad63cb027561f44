/* ui/keys.h: which keys there are: one table for the accelerators and for the window that lists them.
 *
 * A key acts through a window action, so keys, buttons, menus, assistive tools and tests share one path.
 * `anywhere` keys are the application's accelerators; the others act only when no text entry and no list
 * uses the key itself.
 */
#ifndef PSC_UI_KEYS_H
#define PSC_UI_KEYS_H

#include <gtk/gtk.h>

typedef struct {
    const char *group;
    const char *words;
    const char *action;    /* detailed: "win.forward", "win.drawer-tab::log" */
    const char *accels[4]; /* as gtk_accelerator_parse reads them; NULL ends */
    gboolean anywhere;     /* else: after the focused widget had its chance. Actions that end in "-keys" are that
                              widget's own and stand here to be listed */
} PscKey;
extern const PscKey psc_keys[]; /* ends with group NULL */

/* Sets the accelerators of the `anywhere` keys. */
void psc_keys_install(GtkApplication *application);
/* Adds the others to a widget: they act after its children had their chance. */
void psc_keys_attach(GtkWidget *widget);
/* The window that lists them, with a filter; shown by the caller. keys-window.c */
GtkWidget *psc_keys_window_new(GtkWindow *parent);

#endif
