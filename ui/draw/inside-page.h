/* ui/draw/inside-page.h: the inside of a planner or of arenas at one position as a page: ui/draw/candela-page.h or arena-page.h,
 * whichever the view is of. For the window and for render. */
#ifndef PSC_UI_DRAW_INSIDE_PAGE_H
#define PSC_UI_DRAW_INSIDE_PAGE_H

#include "core/debug/inside.h"
#include "ui/draw/candela-page.h"

enum psc_status psc_inside_page_build(struct psc_panel *panel, const struct psc_inside_view *view, const struct psc_candela_look *look,
                                      struct psc_type *type, struct psc_error *reterr) PSC_MUST_CHECK;

#endif
