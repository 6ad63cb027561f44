/* app/window.h: the window: header, context bar, banner, lists, timeline, inspector, drawer, status line.
 *
 *     header    Open, title, stepping, badge, panes, menu
 *     context   phase, step, tokens, next, plan
 *     banner    (only when there is something to say)
 *     lists   | timeline           | inspector
 *             | drawer             |
 *     status line
 *
 * It owns one workspace and joins it with files: opening (app/open.h), the dialog, recent files, dropping.
 */
#ifndef PSC_APP_WINDOW_H
#define PSC_APP_WINDOW_H

#include "app/application.h"

#define PSC_TYPE_WINDOW (psc_window_get_type())
G_DECLARE_FINAL_TYPE(PscWindow, psc_window, PSC, WINDOW, GtkApplicationWindow)

PscWindow *psc_window_new(PscApplication *application);
void psc_window_open(PscWindow *self, GFile *file);
/* Both in this window, side by side: `planscope A B`. */
void psc_window_open_pair(PscWindow *self, GFile *a, GFile *b);

#endif
