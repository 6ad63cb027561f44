/* ui/draw/candela-parts.h: what the files of candela's page share; nobody else includes it. */
#ifndef PSC_UI_DRAW_CANDELA_PARTS_H
#define PSC_UI_DRAW_CANDELA_PARTS_H

#include "ui/draw/candela-page.h"

#define PSC_CANDELA_EDGE 10.0f
#define PSC_CANDELA_LINE 16.0f

struct psc_candela_page {
    struct psc_panel *p;
    const struct psc_candela_view *v;
    double swing;
    float w, row;
};
/* Each returns the y below. */
float psc_candela_put_levels(struct psc_candela_page *g, float y);
float psc_candela_put_live(struct psc_candela_page *g, float y);
float psc_candela_put_rivals(struct psc_candela_page *g, const char *waiting, float y);

#endif
