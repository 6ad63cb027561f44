/* ui/share-bar.h: own, overwritten and unknown records as parts of one bar. */
#ifndef PSC_UI_SHARE_BAR_H
#define PSC_UI_SHARE_BAR_H

#include <gtk/gtk.h>

#define PSC_TYPE_SHARE_BAR (psc_share_bar_get_type())
G_DECLARE_FINAL_TYPE(PscShareBar, psc_share_bar, PSC, SHARE_BAR, GtkWidget)

GtkWidget *psc_share_bar_new(guint own, guint overwritten, guint unknown);

#endif
