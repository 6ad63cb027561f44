/* ui/draw/arena-page.h: two arenas at a position, as a page.
 *
 *     Position 4: alloc C ...              why, in words
 *     ALL RUNS      live, slack and kept-free bytes of each arena over all positions; runs marked; the cursor
 *     INVARIANTS    [v 1 one arena a block] ... a lamp each: sign, number, words
 *     SLOTS         exec                    io
 *                   [0 live C  48/64 ###.]  [0 lent y ...]      fill: bytes asked for; dots: slack
 *     FREE BLOCKS   64 B: [2]  128 B: [4][3]                    by capacity, the one freed last first
 *     EVICTION      out first -> [4][2][3]   kept 256 B |cap
 *     OWNERSHIP     tensor y -> handle -> slot 0 of io -> arena io, kept alive by the session and 2 leases
 *
 * A page is a function of (view, look). Every part has a tip with its whole text; a place on the axis leads there.
 */
#ifndef PSC_UI_DRAW_ARENA_PAGE_H
#define PSC_UI_DRAW_ARENA_PAGE_H

#include "core/debug/arena-view.h"
#include "ui/draw/panel.h"

struct psc_arena_page_look {
    double width, height; /* height: what can be seen of the page at once, 0: all of it */
    bool dark, no_text;
};
/* The height of the page is panel->base.view.height_px. type may be NULL. */
enum psc_status psc_arena_page_build(struct psc_panel *panel, const struct psc_arena_view *view,
                                     const struct psc_arena_page_look *look, struct psc_type *type,
                                     struct psc_error *reterr) PSC_MUST_CHECK;

#endif
