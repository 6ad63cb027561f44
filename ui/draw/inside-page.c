#include "ui/draw/inside-page.h"

#include "ui/draw/arena-page.h"

enum psc_status psc_inside_page_build(struct psc_panel *panel, const struct psc_inside_view *view, const struct psc_candela_look *look,
                                      struct psc_type *type, struct psc_error *reterr)
{
    struct psc_arena_page_look arenas = {.width = look->width, .height = look->height, .dark = look->dark, .no_text = look->no_text};
    return view->arenas ? psc_arena_page_build(panel, view->arenas, &arenas, type, reterr)
                        : psc_candela_page_build(panel, view->candela, look, type, reterr);
}
