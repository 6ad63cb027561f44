/* ui/draw/arena-parts.h: what the files of the arenas' page share; nobody else includes it. */
#ifndef PSC_UI_DRAW_ARENA_PARTS_H
#define PSC_UI_DRAW_ARENA_PARTS_H

#include "ui/draw/arena-page.h"

#define PSC_PAGE_EDGE 10.0f

struct psc_arena_page {
    struct psc_panel *p;
    const struct psc_arena_view *v;
    float w;
    bool low; /* little of the page can be seen at once: parts are lower */
};
/* Each returns the y below. */
float psc_arena_put_axis(struct psc_arena_page *g, float y);
float psc_arena_put_lamps(struct psc_arena_page *g, float y);
float psc_arena_put_routes(struct psc_arena_page *g, float y);
float psc_arena_put_slots(struct psc_arena_page *g, uint32_t home, float x0, float x1, float y);
float psc_arena_put_free(struct psc_arena_page *g, uint32_t home, float x0, float x1, float y);
float psc_arena_put_owners(struct psc_arena_page *g, float y);

#endif
