/* ui/palette.h: light or dark, and the colours of ui/draw for widgets.
 *
 * The choice is GtkSettings:gtk-application-prefer-dark-theme; everything that draws itself asks here at
 * each snapshot and listens to psc_ui_watch_dark to draw again.
 */
#ifndef PSC_UI_PALETTE_H
#define PSC_UI_PALETTE_H

#include "ui/draw/palette.h"

#include <gtk/gtk.h>

gboolean psc_ui_is_dark(void);
void psc_ui_set_dark(gboolean dark);
GdkRGBA psc_ui_colour(guint colour); /* an enum psc_colour of the current palette */
/* Draws the widget again whenever light and dark change, for as long as it lives. */
void psc_ui_watch_dark(GtkWidget *widget);
/* Loads planscope.css for the default display; once. */
void psc_ui_install_css(void);

#endif
