/* ui/banner.h: what a person has to know before anything else, in at most four lines under the header.
 *
 *     error     a file could not be opened, a plan not be made; the document that was open stays
 *     warning   what the reader noticed, e.g. that the file ends early
 *     clobber   the selected or first finding, with Show, Explain and Next
 *     records   "350 of 368 recorded values are not the nodes' own."
 *
 * Each line stays until its cause is gone; an error until it is closed. The buttons activate the window's
 * actions, so that keys, buttons and tests share one path.
 */
#ifndef PSC_UI_BANNER_H
#define PSC_UI_BANNER_H

#include "ui/workspace.h"

#include <gtk/gtk.h>

#define PSC_TYPE_BANNER (psc_banner_get_type())
G_DECLARE_FINAL_TYPE(PscBanner, psc_banner, PSC, BANNER, GtkBox)

GtkWidget *psc_banner_new(PscWorkspace *ws);
void psc_banner_show_error(PscBanner *self, const char *title, const char *text);
void psc_banner_clear_error(PscBanner *self);
/* Warnings of the reader, e.g. that a file ends early; NULL hides them. */
void psc_banner_show_warning(PscBanner *self, const char *text);

/* In a low window the records wait until the clobber is gone: one line over the map instead of two. */
void psc_banner_set_low(PscBanner *self, gboolean low);

#endif
