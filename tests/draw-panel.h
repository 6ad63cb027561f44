/* tests/draw-panel.h: sources and judgements for the tests of the panels' pages. */
#ifndef PSC_TESTS_DRAW_PANEL_H
#define PSC_TESTS_DRAW_PANEL_H

#include "core/debug/candela-view.h"
#include "ui/draw/candela-page.h"

/* ui/draw and core/candela each have a psc_layout: who draws does not see the expression. */
struct panel_source {
    struct psc_arena arena;
    struct psc_candela_tale *tale;
};
void panel_source_expression(struct panel_source *source, const char *text);
void panel_source_release(struct panel_source *source);

/* Every label lies inside the width; what was cut has a tip. */
void panel_fits(const struct psc_panel *panel, double width);
void panel_is_painted(const struct psc_panel *panel, struct psc_type *type, bool dark);

#endif
