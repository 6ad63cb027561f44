/* Candela's page, below the decision: what may run beside the step, what the executor holds, and what other generations decide. */
#include "ui/draw/candela-parts.h"

#include "core/base/text.h"
#include "ui/draw/layout-parts.h"

#include <math.h>
#include <stdio.h>

#define LIVE_ROWS 10u
#define EDGE PSC_CANDELA_EDGE
#define LINE PSC_CANDELA_LINE

/* Steps, each a chip that leads there; those about here, of `all`. */
static float put_places(struct psc_candela_page *g, const struct psc_candela_place *places, uint32_t n, uint32_t all, const char *what, float x,
                        float y)
{
    const struct psc_candela_view *v = g->v;
    float right = g->w - EDGE - 60;
    uint32_t first = 0, i;
    while (first + 4 < n && places[first + 4].position <= v->position)
        first++;
    for (i = first; i < n; i++) {
        bool now = places[i].position == v->position;
        float w = (float)fmin(fmax(psc_text_width(&g->p->base, PSC_FONT_BASE_BOLD, places[i].name) + 16, 26), 140);
        struct psc_area a = {floorf(x), y, floorf(x + w), y + 20};
        if (x + w > right && i > first)
            break;
        psc_panel_box(g->p, a, now ? PSC_COL_NOW : PSC_COL_NONE, PSC_COL_NONE);
        psc_panel_frame(g->p, a, 1, PSC_COL_ACT_EDGE, PSC_UNBROKEN);
        psc_panel_tip(g->p, a, places[i].position, "%s, position %d, %s: a click leads there", places[i].name, places[i].position, what);
        psc_panel_line(g->p, now ? PSC_FONT_BASE_BOLD : PSC_FONT_BASE, PSC_CENTRE, now ? PSC_COL_NOW_TEXT : PSC_COL_INK, places[i].name, a.x0 + 3,
                       a.x1 - 3, y + 10);
        x += w + 6;
    }
    if (all > i - first) {
        char text[40];
        snprintf(text, sizeof text, "%u in all", all);
        psc_panel_line(g->p, PSC_FONT_AXIS, PSC_LEFT, PSC_COL_DIM, text, x, g->w - EDGE, y + 10);
    }
    return y + 26;
}

/* ---- levels --------------------------------------------------------------------------------------------------------- */

float psc_candela_put_levels(struct psc_candela_page *g, float y)
{
    const struct psc_candela_view *v = g->v;
    const char *how = v->by_level ? "Steps run level by level" : "Steps run one by one";
    y = psc_panel_head(g->p, EDGE, g->w - EDGE, y, "LEVEL", "steps of one level wait for none of each other: they may run beside each other");
    float w = (float)psc_text_width(&g->p->base, PSC_FONT_BASE, how) + 24;
    struct psc_area a = {EDGE, y, EDGE + fminf(w, 220), y + 20};
    psc_panel_frame(g->p, a, v->by_level ? 2 : 1, v->by_level ? PSC_COL_RIGHT : PSC_COL_ACT_EDGE, PSC_UNBROKEN);
    psc_panel_line(g->p, PSC_FONT_BASE, PSC_CENTRE, PSC_COL_INK, how, a.x0 + 3, a.x1 - 3, y + 10);
    psc_panel_tip(g->p, a, PSC_NO_POSITION, v->by_level ? "%s, and are checked so: a click lets them run one by one"
                                                        : "%s, as they are listed: a click lets those of one level run beside each other", how);
    psc_panel_chooses(g->p, PSC_CANDELA_LEVELS);
    psc_panel_words(g->p, PSC_FONT_BASE, PSC_COL_INK, v->waits, a.x1 + 10, g->w - EDGE, y + 2, LINE, 2);
    return put_places(g, v->beside, v->beside_n, v->beside_all, "may run beside this one", EDGE, y + 2 + 2 * LINE + 2) + 6;
}

/* ---- the executor --------------------------------------------------------------------------------------------------- */

static void fate_words(const struct psc_candela_live_view *l, char *text, size_t size)
{
    switch (l->fate) {
    case PSC_LIVE_NEW: snprintf(text, size, "made here"); break;
    case PSC_LIVE_OVERWRITTEN: snprintf(text, size, "overwritten here: operand %u", l->operand); break;
    case PSC_LIVE_TAKEN: snprintf(text, size, "goes: its bytes are taken"); break;
    case PSC_LIVE_GIVEN_BACK: snprintf(text, size, "given back after it"); break;
    default: snprintf(text, size, " "); break;
    }
}

static void put_handle(struct psc_candela_page *g, const struct psc_candela_live_view *l, struct psc_area a)
{
    float w = a.x1 - a.x0, middle = (a.y0 + a.y1) / 2, box = fminf(130, w * 0.18f), x = a.x0 + box + 8;
    bool goes = l->fate >= PSC_LIVE_OVERWRITTEN, fresh = l->fate == PSC_LIVE_NEW;
    struct psc_area name = {a.x0, a.y0, a.x0 + box, a.y1};
    char holders[32], fate[64];
    snprintf(holders, sizeof holders, l->holders == 1 ? "1 holder" : "%u holders", l->holders);
    fate_words(l, fate, sizeof fate);
    psc_panel_box(g->p, name, goes ? PSC_COL_NONE : PSC_COL_ACT_FILL, PSC_COL_NONE);
    psc_panel_frame(g->p, name, fresh ? 2 : 1, fresh ? PSC_COL_SELECT : PSC_COL_ACT_EDGE, goes ? PSC_DASH_IDLE : PSC_UNBROKEN);
    psc_panel_line(g->p, fresh ? PSC_FONT_BASE_BOLD : PSC_FONT_BASE, PSC_CENTRE, goes ? PSC_COL_DIM : PSC_COL_ACT_TEXT, l->name, name.x0 + 4,
                   name.x1 - 4, middle);
    psc_panel_line(g->p, PSC_FONT_AXIS, PSC_LEFT, PSC_COL_INK, l->bytes, x, x + w * 0.15f - 8, middle);
    psc_panel_line(g->p, PSC_FONT_AXIS, PSC_LEFT, PSC_COL_DIM, l->shape, x + w * 0.15f, x + w * 0.23f - 8, middle);
    if (l->values)
        psc_panel_line(g->p, l->wrong ? PSC_FONT_AXIS_BOLD : PSC_FONT_AXIS, PSC_LEFT, l->wrong ? PSC_COL_WARN_TEXT : PSC_COL_INK, l->values,
                       x + w * 0.23f, x + w * 0.46f - 8, middle);
    psc_panel_line(g->p, l->holders > 1 ? PSC_FONT_AXIS_BOLD : PSC_FONT_AXIS, PSC_LEFT, l->holders ? PSC_COL_INK : PSC_COL_DIM,
                   l->holders ? holders : "none", x + w * 0.46f, x + w * 0.56f - 8, middle);
    psc_panel_line(g->p, goes ? PSC_FONT_AXIS_BOLD : PSC_FONT_AXIS, PSC_LEFT, PSC_COL_INK, fate, x + w * 0.56f, a.x1, middle);
    psc_panel_tip(g->p, a, l->since < 0 ? PSC_NO_POSITION : l->since, "%s [%s]: %s, %s%s%s%s%s; since position %d", l->name, l->shape, l->bytes,
                  l->holders ? holders : "no holder any more", l->values ? "; " : "", l->values ? l->values : "",
                  l->wrong ? " (wrong)" : "", fate[0] == ' ' ? "" : "; and it changes here", l->since);
}

float psc_candela_put_live(struct psc_candela_page *g, float y)
{
    const struct psc_candela_view *v = g->v;
    uint32_t rows = v->live_most < LIVE_ROWS ? v->live_most : LIVE_ROWS, n = v->live_n < rows ? v->live_n : rows, first = v->live_n - n;
    y = psc_panel_head(g->p, EDGE, g->w - EDGE, y, "EXECUTOR",
                       v->no_values ? v->no_values : "handles when the step has run: whose bytes, shape, first values, holders, and what becomes of them");
    rows = rows ? rows : 1;
    if (v->stopped)
        psc_panel_words(g->p, PSC_FONT_BASE_BOLD, PSC_COL_WARN_TEXT, v->stopped, EDGE, g->w - EDGE, y, LINE, 2);
    else if (!n)
        psc_panel_line(g->p, PSC_FONT_BASE, PSC_LEFT, PSC_COL_DIM, "It holds nothing yet.", EDGE, g->w - EDGE, y + 8);
    for (uint32_t i = 0; i < n; i++)
        put_handle(g, &v->live[first + i], (struct psc_area){EDGE, y + (float)i * g->row, g->w - EDGE, y + (float)i * g->row + g->row - 4});
    if (v->live_all > n) {
        char text[48];
        snprintf(text, sizeof text, "\xe2\x80\xa6 and %u older handles", v->live_all - n);
        psc_panel_line(g->p, PSC_FONT_AXIS, PSC_LEFT, PSC_COL_DIM, text, EDGE, g->w - EDGE, y + (float)n * g->row + 6);
    }
    return y + fmaxf((float)rows * g->row, 2 * LINE) + (v->live_most > LIVE_ROWS ? g->row : 0) + 8;
}

/* ---- generations ------------------------------------------------------------------------------------------------------ */

static float put_rival(struct psc_candela_page *g, uint32_t index, float y)
{
    const struct psc_candela_rival_view *r = &g->v->rivals[index];
    struct psc_text text = {0};
    float x0 = EDGE, x1 = g->w - EDGE, name = 112, top = y, words = x0 + name + 8;
    psc_text_addf(&text, "%u  %s", index + 1, r->name);
    psc_panel_line(g->p, r->current ? PSC_FONT_BASE_BOLD : PSC_FONT_BASE, PSC_LEFT, PSC_COL_INK, psc_text_str(&text), x0 + 8, x0 + name, y + 11);
    psc_text_clear(&text);
    if (r->current)
        psc_panel_line(g->p, PSC_FONT_AXIS, PSC_LEFT, PSC_COL_DIM, "shown here", x0 + 8, x0 + name, y + 11 + LINE);
    if (r->strategy) {
        psc_text_addf(&text, "%s %s%s%s", r->same ? "=" : "\xe2\x89\xa0", r->strategy, r->same ? "" : ": ", r->same ? "" : r->why);
        y = psc_panel_words(g->p, r->same ? PSC_FONT_BASE : PSC_FONT_BASE_BOLD, r->same ? PSC_COL_DIM : PSC_COL_INK, psc_text_str(&text), words, x1 - 6,
                            y + 3, LINE, 2);
    } else {
        y += 3;
    }
    psc_text_clear(&text);
    psc_text_addf(&text, "%s %s", r->wrong ? "\xe2\x9a\xa0" : r->wastes ? "\xe2\x96\xb3" : "\xe2\x9c\x93", r->result);
    psc_text_add(&text, text.n && psc_text_str(&text)[text.n - 1] == '.' ? "" : ".");
    if (r->differ_n && !r->current)
        psc_text_addf(&text, " %u step%s decided otherwise.", r->differ_n, r->differ_n == 1 ? "" : "s");
    psc_text_addf(&text, "%s%s", *r->what ? " " : "", r->what);
    y = psc_panel_words(g->p, PSC_FONT_AXIS, r->wrong ? PSC_COL_WARN_TEXT : PSC_COL_DIM, psc_text_str(&text), words, x1 - 6, y, 14, 2);
    y = fmaxf(y, top + 2 * LINE) + 4;
    struct psc_area area = {x0, top, x1, y};
    if (r->current)
        psc_panel_frame(g->p, area, 2, PSC_COL_RIGHT, PSC_UNBROKEN);
    else
        psc_put_line(&g->p->base, x0, y - 0.5f, x1, y - 0.5f, 1, PSC_COL_GRID, PSC_UNBROKEN);
    psc_panel_tip(g->p, area, PSC_NO_POSITION, "%s%s: %s. %s%s%s%s", r->name, r->current ? ", shown here" : " (click to plan so)", r->what,
                  r->result, r->strategy ? " Here: " : "", r->strategy ? r->strategy : "", r->strategy && !r->same ? ", otherwise than shown" : "");
    if (!r->current)
        psc_panel_chooses(g->p, (int32_t)index);
    g->p->base.failed = g->p->base.failed || text.failed;
    psc_text_release(&text);
    return y + 2;
}

/* The steps that are not decided alike, each a chip that leads there; those about here. */
static float put_differs(struct psc_candela_page *g, float y)
{
    const struct psc_candela_view *v = g->v;
    float x = EDGE + 120;
    psc_panel_line(g->p, PSC_FONT_AXIS, PSC_LEFT, PSC_COL_DIM, v->differ_all ? "not decided alike:" : "All steps are decided alike.", EDGE,
                   v->differ_all ? x - 6 : g->w - EDGE, y + 10);
    return put_places(g, v->differs, v->differ_n, v->differ_all, "is not decided alike", x, y);
}

float psc_candela_put_rivals(struct psc_candela_page *g, const char *waiting, float y)
{
    y = psc_panel_head(g->p, EDGE, g->w - EDGE, y, "GENERATIONS", g->v->apart ? "this node under each of them, and why otherwise"
                                                                         : "this step under each of them, and with the map the other way round");
    if (!g->v->rival_n)
        return psc_panel_words(g->p, PSC_FONT_BASE, PSC_COL_DIM, waiting, EDGE, g->w - EDGE, y + 2, LINE, 2) + 4;
    y = put_differs(g, y);
    for (uint32_t i = 0; i < g->v->rival_n; i++)
        y = put_rival(g, i, y);
    return y + 4;
}
