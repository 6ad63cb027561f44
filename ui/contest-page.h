/* ui/contest-page.h: all planners side by side: a map of each, a table of figures, and in words what the picked one changes.
 *
 *     +--------------------------------------------+----------------+
 *     | [map][map][map][map]                       | pool -> optimal|   maps share one range, one scale of bytes, one selection,
 *     | [map][map][map][map]                       | 11 MB less: ...|   and the cursor
 *     |--------------------------------------------|                |
 *     | planner  buffers  bytes  ====  x bound ... | [Use optimal]  |
 *     +--------------------------------------------+----------------+
 *
 * Arrows go from map to map and from row to row, Enter plans the document with what is picked. The page asks for the contest while it
 * is mapped only. Its buttons act through win.show-timeline, win.diff-planner and the actions of the map.
 */
#ifndef PSC_UI_CONTEST_PAGE_H
#define PSC_UI_CONTEST_PAGE_H

#include "ui/workspace.h"

#include <gtk/gtk.h>

#define PSC_TYPE_CONTEST_PAGE (psc_contest_page_get_type())
G_DECLARE_FINAL_TYPE(PscContestPage, psc_contest_page, PSC, CONTEST_PAGE, GtkBox)

GtkWidget *psc_contest_page_new(PscWorkspace *ws);
void psc_contest_page_set_narrow(PscContestPage *self, gboolean narrow);
/* One line about the contest, for the status bar. */
void psc_contest_page_status(PscContestPage *self, struct psc_text *out);

#endif
