/* tests/draw-panel.h: sources and judgements for the tests of the panels' pages. */
#ifndef PSC_TESTS_DRAW_PANEL_H
#define PSC_TESTS_DRAW_PANEL_H

#include "ui/draw/arena-page.h"
#include "ui/draw/candela-page.h"

/* Every label lies inside the width; what was cut has a tip. */
void panel_fits(const struct psc_panel *panel, double width);
void panel_is_painted(const struct psc_panel *panel, struct psc_type *type, bool dark);

#endif
