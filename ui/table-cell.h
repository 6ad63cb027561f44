/* ui/table-cell.h: one cell: an optional bar of a given part of 34 px, then text that is cut with dots. */
#ifndef PSC_UI_TABLE_CELL_H
#define PSC_UI_TABLE_CELL_H

#include <gtk/gtk.h>

#define PSC_TYPE_TABLE_CELL (psc_table_cell_get_type())
G_DECLARE_FINAL_TYPE(PscTableCell, psc_table_cell, PSC, TABLE_CELL, GtkWidget)

/* Text is cut at its end, with `middle` in the middle; what was cut is the tooltip. */
GtkWidget *psc_table_cell_new(gboolean has_bar, gboolean right, gboolean middle);
/* part < 0: no bar; colour is an enum psc_colour; style may be NULL. */
void psc_table_cell_set(PscTableCell *self, const char *text, double part, guint colour, const char *style);

/* The bar takes the whole cell; a dashed line stands at `mark` of it (0: none). */
void psc_table_cell_set_wide(PscTableCell *self, double mark);

#endif
