/* ui/part-view.h: small drawings of ui/draw/parts.h as widgets of the inspector.
 *
 * They keep a reference to the picture and draw what it was made with; the inspector makes new ones when the
 * selection or the cursor moves. Their accessible name says in words what they show.
 */
#ifndef PSC_UI_PART_VIEW_H
#define PSC_UI_PART_VIEW_H

#include "ui/study.h"

#include <gtk/gtk.h>

#define PSC_TYPE_PART_VIEW (psc_part_view_get_type())
G_DECLARE_FINAL_TYPE(PscPartView, psc_part_view, PSC, PART_VIEW, GtkWidget)

/* A tenancy between its neighbours in the buffer, with the cursor. */
GtkWidget *psc_part_view_life(PscPicture *picture, uint32_t tenancy, int32_t cursor);
/* Whose a byte of a buffer is before the op under the cursor, and after it. */
GtkWidget *psc_part_view_owners(PscPicture *picture, uint32_t buffer, uint64_t byte, int32_t cursor);
/* The font engine of the widgets that draw themselves; main thread only. */
struct psc_type *psc_ui_type(void);

#endif
