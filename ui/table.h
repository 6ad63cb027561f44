/* ui/table.h: a table of many rows from a few functions: lazy, sortable, filtered, keyboard-driven.
 *
 *     static const PscColumn columns[] = {
 *         {.title = "#", .width = 44, .right = TRUE, .text = number_text},
 *         {.title = "op", .expand = TRUE, .text = name_text, .compare = name_compare},
 *     };
 *     static const PscTableKind kind = {.label = "Ops", .columns = columns, .column_n = 2, .count = ops_n, ...};
 *
 * Rows are numbers 0 .. count - 1 of the workspace; an object exists only for rows on the screen, so a
 * million rows cost four bytes each. A click on a header (Alt+1, Alt+2 ...) sorts, a second one turns the order round.
 * Selecting a row calls `select`, Enter or a double click `activate`; `selected` says which row the
 * workspace has selected. Text that its column cuts stands in the tooltip. psc_table_reload after the rows changed, psc_table_refresh after their contents.
 */
#ifndef PSC_UI_TABLE_H
#define PSC_UI_TABLE_H

#include "core/base/text.h"
#include "ui/filter.h"
#include "ui/workspace.h"

#include <gtk/gtk.h>

#define PSC_COLUMN_LEAST 84 /* px */

typedef struct {
    const char *title;
    int width;
    gboolean expand, right;
    gboolean counts;    /* its text is a row number: as wide as the number of rows needs, width at least */
    gboolean spans;     /* its text is from one position to another: as wide as the last one needs, width at least */
    gboolean names_row; /* its text is the accessible name of the row */
    gboolean middle;    /* cut in the middle: a name with numbers at both ends; else at its end */
    gboolean spare;     /* not shown where a column that expands would have less than PSC_COLUMN_LEAST; the last one goes first */
    void (*text)(PscWorkspace *ws, uint32_t row, struct psc_text *out);
    int (*compare)(PscWorkspace *ws, uint32_t a, uint32_t b); /* NULL: by row number */
    double (*bar)(PscWorkspace *ws, uint32_t row, guint *ret_colour); /* part of a full bar, < 0 none; enum psc_colour */
    double (*mark)(PscWorkspace *ws, uint32_t row); /* the bar is as wide as the column, with a dashed line at this part of it */
    const char *(*style)(PscWorkspace *ws, uint32_t row);     /* a style class of planscope.css, or NULL */
} PscColumn;

typedef struct {
    const char *label; /* accessible name */
    const PscColumn *columns;
    guint column_n;
    uint32_t (*count)(PscWorkspace *ws);
    gboolean (*match)(PscWorkspace *ws, const PscFilter *filter, uint32_t row); /* NULL: all */
    void (*select)(PscWorkspace *ws, uint32_t row);   /* NULL: nothing happens */
    void (*activate)(PscWorkspace *ws, uint32_t row); /* NULL: as select */
    uint32_t (*selected)(PscWorkspace *ws);           /* PSC_NONE; NULL: none ever */
} PscTableKind;

#define PSC_TYPE_TABLE (psc_table_get_type())
G_DECLARE_FINAL_TYPE(PscTable, psc_table, PSC, TABLE, GtkWidget)

GtkWidget *psc_table_new(PscWorkspace *ws, const PscTableKind *kind);
void psc_table_reload(PscTable *self);
void psc_table_refresh(PscTable *self);
void psc_table_show_selected(PscTable *self); /* and scrolls to it */
void psc_table_set_filter(PscTable *self, const char *text);
void psc_table_focus(PscTable *self);         /* its rows take the keys, the selected one first */
void psc_table_enter(PscTable *self);         /* so, and the first row becomes the selected one when none is */
guint psc_table_n(PscTable *self); /* rows shown */

#endif
