/* ui/pair-page.h: two plans one above the other, locked together, and the list of what differs.
 *
 *     +------------------------------------+------------------+
 *     | A  qwen.json, pool                 | The peak falls by|
 *     | [timeline of A]                    | ... the parts    |
 *     | B  optimal                         |------------------|
 *     | [timeline of B]                    | tensor  what peak|
 *     +------------------------------------+------------------+
 *
 * Same range, same cursor, same bytes a pixel, same scroll. A hollow corner on a bar says that it differs, a filled one that it
 * explains the change of the peak, a frame that the other side has no such tensor.
 */
#ifndef PSC_UI_PAIR_PAGE_H
#define PSC_UI_PAIR_PAGE_H

#include "ui/workspace.h"

#include <gtk/gtk.h>

#define PSC_TYPE_PAIR_PAGE (psc_pair_page_get_type())
G_DECLARE_FINAL_TYPE(PscPairPage, psc_pair_page, PSC, PAIR_PAGE, GtkBox)

GtkWidget *psc_pair_page_new(PscWorkspace *ws);
void psc_pair_page_set_narrow(PscPairPage *self, gboolean narrow);
void psc_pair_page_status(PscPairPage *self, struct psc_text *out);
/* The timeline of A, which the keys of the map act on: B goes along. */
GtkWidget *psc_pair_page_timeline(PscPairPage *self);

#endif
