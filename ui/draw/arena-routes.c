/* Where what is given out at this position comes from: role, arena, and what was copied. */
#include "ui/draw/arena-parts.h"

#include "core/base/text.h"

#include <math.h>
#include <stdio.h>

#define EDGE PSC_PAGE_EDGE
#define ROW  24.0f
#define BOX  20.0f

static const char *home_name(const struct psc_arena_page *g, uint32_t home)
{
    return home == PSC_NONE ? "no arena" : g->v->look.homes[home].name;
}

static void put_box(struct psc_arena_page *g, const char *text, float x0, float x1, float y, bool wrong, bool strong)
{
    struct psc_area a = {x0, y, x1, y + BOX};
    psc_panel_box(g->p, a, wrong ? PSC_COL_WARN_GROUND : PSC_COL_NONE, PSC_COL_NONE);
    psc_panel_frame(g->p, a, wrong || strong ? 2 : 1, wrong ? PSC_COL_WARN_EDGE : strong ? PSC_COL_SELECT : PSC_COL_ACT_EDGE, PSC_UNBROKEN);
    psc_panel_line(g->p, strong || wrong ? PSC_FONT_BAR_BOLD : PSC_FONT_BAR, PSC_CENTRE, wrong ? PSC_COL_WARN_TEXT : PSC_COL_INK, text, x0 + 4,
                   x1 - 4, y + BOX / 2);
}

static void put_route(struct psc_arena_page *g, const struct psc_arena_route *r, float x0, float x1, float y)
{
    const struct psc_story *s = g->v->axis->track->story;
    const char *name = s->values[r->value].name ? s->values[r->value].name : "";
    bool wrong = r->home != r->belongs;
    float w = x1 - x0, a = floorf(x0 + w * 0.42f), b = floorf(x0 + w * 0.66f);
    char what[160], role[80], where[96], size[24], copied[24];
    if (r->role == PSC_ROUTE_WORKSPACE)
        snprintf(what, sizeof what, "%.100s, %s", name, psc_bytes_text(r->bytes, size, sizeof size));
    else
        snprintf(what, sizeof what, "%s %.90s, %s", psc_arena_role_words(r->role), name, psc_bytes_text(r->bytes, size, sizeof size));
    snprintf(role, sizeof role, "role: %s", home_name(g, r->belongs));
    if (r->home == PSC_NONE)
        snprintf(where, sizeof where, "the caller's memory");
    else
        snprintf(where, sizeof where, wrong ? "\xe2\x9c\x97 slot %u of %s" : "slot %u of %s", r->slot, home_name(g, r->home));
    put_box(g, what, x0, a - 20, y, false, false);
    put_box(g, role, a, b - 20, y, false, false);
    put_box(g, where, b, x1, y, wrong, !wrong);
    psc_panel_arrow(g->p, a - 19, y + BOX / 2, a - 1, y + BOX / 2, 1, PSC_COL_DIM, PSC_UNBROKEN);
    psc_panel_arrow(g->p, b - 19, y + BOX / 2, b - 1, y + BOX / 2, wrong ? 2 : 1, wrong ? PSC_COL_WARN_EDGE : PSC_COL_DIM, PSC_UNBROKEN);
    psc_panel_tip(g->p, (struct psc_area){x0, y, x1, y + BOX}, PSC_NO_POSITION, "%s: its role says %s, it lies in %s%s%s%s", what,
                  home_name(g, r->belongs), where, wrong ? ". It is misrouted" : "", r->copied ? ". Bytes copied into it: " : "",
                  r->copied ? psc_bytes_text(r->copied, copied, sizeof copied) : "");
}

float psc_arena_put_routes(struct psc_arena_page *g, float y)
{
    const struct psc_arena_view *v = g->v;
    char words[160], size[24];
    uint32_t columns = g->w >= 760 ? 2 : 1, rows = columns == 2 ? 1 : 2, most = columns * rows;
    snprintf(words, sizeof words, "which arena an output slot, a workspace or an input comes from; copied in this run: %s",
             psc_bytes_text(v->copied, size, sizeof size));
    y = psc_panel_head(g->p, EDGE, g->w - EDGE, y, "ROUTING", words);
    float each = floorf((g->w - 2 * EDGE - 14 * (float)(columns - 1)) / (float)columns);
    for (uint32_t i = 0, shown = 0; i < v->route_n && shown < most; i++) {
        bool skips = v->route_n - i > most - shown && v->wrong_n && v->routes[i].home == v->routes[i].belongs; /* room for what is wrong */
        float x = EDGE + (float)(shown % columns) * (each + 14);
        if (skips)
            continue;
        put_route(g, &v->routes[i], x, x + each, y + (float)(shown / columns) * ROW);
        shown++;
    }
    if (!v->route_n)
        psc_panel_line(g->p, PSC_FONT_BASE, PSC_LEFT, PSC_COL_DIM, "Nothing is given out here.", EDGE, g->w - EDGE, y + 10);
    if (v->route_n > most) {
        snprintf(words, sizeof words, "+%u", v->route_n - most);
        psc_panel_line(g->p, PSC_FONT_AXIS, PSC_RIGHT, PSC_COL_DIM, words, g->w - EDGE - 60, g->w - EDGE, y - 10);
    }
    return y + (float)rows * ROW + 4;
}
