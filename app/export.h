/* app/export.h: what the window saves: a picture of what is shown, the plan, the table of places.
 *
 * The ending of the chosen name says what is written: .png, .svg, .pdf a picture; .json the plan in the format
 * that `planscope-cli check --plan` reads; .csv a line a node.
 */
#ifndef PSC_APP_EXPORT_H
#define PSC_APP_EXPORT_H

#include "app/window-private.h"

/* Asks for a name and writes; what went wrong stands in the banner. */
void psc_window_export_picture(PscWindow *self);
void psc_window_export_plan(PscWindow *self);

#endif
