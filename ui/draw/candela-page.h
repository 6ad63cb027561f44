/* ui/draw/candela-page.h: how candela's planner came to a position, as a page.
 *
 *     2  sum = a + b: computed into a new slot.
 *     ORDER      [a 0] [b 1] [sum 2] (x2 3)               yielded, now, to come
 *     SORT STACK             ALIAS MAP
 *     | sum     leaves now|  (n) same values ----> (t)     an arrow that swings: dashed where it pointed before
 *     | x2      waits     |
 *     DECISION                                             SLOTS
 *     no   in place over a   a lies in no slot ...         0  4 elements  sum  until 3
 *     yes  allocate          new slot 0 ...
 *
 *     LEVEL      [ Steps run one by one ]  level 1 of 0 to 2: it reads a, b
 *     [sum 2] [u 4]                                        steps that may run beside each other
 *
 *     EXECUTOR                                             GENERATIONS
 *     sum   slot 0   4   11 22 33 44   1 holder  new       0.1   allocate: sum is read here ...   3 allocations, right
 *
 * A page is a function of (view, width, swing); swing goes from 0, the arrows as they were, to 1. The places of the parts
 * do not depend on the position as long as nothing grows beyond what is usual, so that stepping moves little.
 * Every part has a tip with its whole text; a tip with a position leads there, one with a choice is view->rivals[choice], or
 * PSC_CANDELA_LEVELS: whether steps of one level run beside each other.
 */
#ifndef PSC_UI_DRAW_CANDELA_PAGE_H
#define PSC_UI_DRAW_CANDELA_PAGE_H

#include "core/debug/candela-view.h"
#include "ui/draw/panel.h"

#define PSC_CANDELA_LEVELS 100 /* a choice beyond all rivals */

struct psc_candela_look {
    double width, height, swing; /* height: what can be seen of the page at once, 0: all of it */
    bool dark, no_text;
    const char *waiting; /* of generations that are not compared yet: how far that is; NULL: it is not said */
};
/* The height of the page is panel->base.view.height_px. type may be NULL. */
enum psc_status psc_candela_page_build(struct psc_panel *panel, const struct psc_candela_view *view,
                                       const struct psc_candela_look *look, struct psc_type *type,
                                       struct psc_error *reterr) PSC_MUST_CHECK;

#endif
