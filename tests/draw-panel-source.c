#include "core/base/arena.h"
#include "core/candela/kept.h"
#include "core/candela/parse.h"
#include "core/candela/planner.h"
#include "core/debug/candela-view.h"

#include <glib.h>
#include <string.h>

struct psc_candela_tale *panel_tale(struct psc_arena *arena, const char *text);

struct psc_candela_tale *panel_tale(struct psc_arena *arena, const char *text)
{
    struct psc_lazy l;
    struct psc_candela_plan *plan;
    struct psc_candela_kept *kept;
    struct psc_candela_tale *tale;
    struct psc_error error = {0};
    uint32_t root;
    psc_lazy_init(&l);
    if (psc_lazy_parse(&l, text, strlen(text), &root, &error) ||
        psc_candela_plan(arena, &l, root, &(struct psc_candela_options){0}, &plan, &error) ||
        psc_candela_keep(arena, &l, root, plan, false, &kept, &error) || psc_candela_tale_new(arena, kept, &tale, &error))
        g_error("%s", error.text);
    psc_lazy_release(&l);
    return tale;
}
