#include "ui/draw/arena-page.h"

#include "core/base/text.h"
#include "ui/draw/arena-parts.h"
#include "ui/draw/layout-parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define EDGE PSC_PAGE_EDGE
#define LINE 16.0f
#define COLUMN 14.0f /* between the arenas */

/* ---- what happens ---------------------------------------------------------------------------------------------------- */

static float put_words(struct psc_arena_page *g, float y)
{
    const struct psc_arena_view *v = g->v;
    char title[256], where[64];
    if (v->position < 0)
        snprintf(title, sizeof title, "Before the first step");
    else if (v->position >= (int32_t)v->position_n)
        snprintf(title, sizeof title, "The end");
    else
        snprintf(title, sizeof title, "Position %d: %.200s", v->position, *v->title ? v->title : "a step");
    if (v->look.run < v->axis->run_n)
        snprintf(where, sizeof where, "run %u of %u", v->look.run + 1u, v->axis->run_n);
    else
        snprintf(where, sizeof where, "after run %u", v->axis->run_n);
    float w = (float)psc_text_width(&g->p->base, PSC_FONT_BASE, where);
    psc_panel_line(g->p, PSC_FONT_BASE, PSC_RIGHT, PSC_COL_DIM, where, g->w - EDGE - w - 1, g->w - EDGE, y + 12);
    psc_panel_line(g->p, PSC_FONT_BASE_BOLD, PSC_LEFT, PSC_COL_INK, title, EDGE, g->w - EDGE - w - 12, y + 12);
    uint32_t lines = g->low ? 2 : 3;
    psc_panel_words(g->p, PSC_FONT_BASE, PSC_COL_INK, v->words, EDGE, g->w - EDGE, y + 22, LINE, lines);
    return y + 22 + (float)lines * LINE + 4;
}

/* ---- all runs on one axis --------------------------------------------------------------------------------------------- */

static const struct psc_arena_figures *figures_at(const struct psc_arena_view *v, uint32_t home, int32_t position)
{
    const struct psc_arena_track *t = v->axis->track;
    uint32_t point = psc_arena_track_point(t, home, psc_arena_track_upto(t, position));
    return point == PSC_NONE ? NULL : &t->points[point].figures;
}

static float axis_x(const struct psc_arena_page *g, double position)
{
    float x0 = EDGE + 118, x1 = g->w - EDGE;
    return x0 + (float)((position + 1) / (g->v->position_n + 2.0)) * (x1 - x0);
}

/* Columns of equal figures are one fill; where there are more positions than pixels, one position for each pixel. */
static void put_area(struct psc_arena_page *g, uint32_t home, float y0, float y1)
{
    double top = fmax((double)g->v->axis->top[home], 1), step = fmax(1, (g->v->position_n + 2.0) / (g->w - 130.0));
    float h = y1 - y0 - 2;
    for (double at = -1; at < g->v->position_n + 1.0; at += step) {
        const struct psc_arena_figures *f = figures_at(g->v, home, (int32_t)at);
        float x0 = floorf(axis_x(g, at)), x1 = floorf(axis_x(g, fmin(at + step, g->v->position_n + 1.0)));
        if (!f || x1 <= x0)
            continue;
        float live = y1 - (float)((double)f->live / top) * h, slack = y1 - (float)((double)f->live_capacity / top) * h;
        float kept = slack - (float)((double)f->retained / top) * h, peak = y1 - (float)((double)f->peak / top) * h;
        psc_put_fill(&g->p->base, x0, floorf(live), x1, y1, PSC_COL_ACT_FILL);
        psc_put_pattern(&g->p->base, x0, floorf(slack), x1, floorf(live), PSC_COL_PADDING, PSC_DOTS, PSC_COL_ACT_EDGE);
        psc_put_pattern(&g->p->base, x0, floorf(kept), x1, floorf(slack), PSC_COL_IO_FILL, PSC_STRIPES, PSC_COL_ACT_EDGE);
        psc_put_line(&g->p->base, x0, floorf(peak) + 0.5f, x1, floorf(peak) + 0.5f, 1, PSC_COL_USE_LINE, PSC_UNBROKEN);
    }
}

static void put_figures(struct psc_arena_page *g, uint32_t home, float y)
{
    const struct psc_arena_home_look *l = &g->v->look.homes[home];
    char number[24], text[96];
    float w = psc_panel_line(g->p, PSC_FONT_AXIS_BOLD, PSC_LEFT, PSC_COL_INK, l->name, EDGE, EDGE + 40, y + 7);
    snprintf(text, sizeof text, "%s live", psc_bytes_text(l->figures.live, number, sizeof number));
    psc_panel_line(g->p, PSC_FONT_SMALL, PSC_LEFT, PSC_COL_INK, text, EDGE + w + 6, EDGE + 114, y + 7);
    snprintf(text, sizeof text, "%s kept free", psc_bytes_text(l->figures.retained, number, sizeof number));
    psc_panel_line(g->p, PSC_FONT_SMALL, PSC_LEFT, PSC_COL_DIM, text, EDGE, EDGE + 114, y + 20);
    snprintf(text, sizeof text, "peak %s", psc_bytes_text(l->figures.peak, number, sizeof number));
    if (!g->low)
        psc_panel_line(g->p, PSC_FONT_SMALL, PSC_LEFT, PSC_COL_DIM, text, EDGE, EDGE + 112, y + 33);
}

static void put_runs(struct psc_arena_page *g, float y0, float y1)
{
    const struct psc_arena_axis *axis = g->v->axis;
    float last = -1;
    for (uint32_t r = 0; r < axis->run_n; r++) {
        float x = floorf(axis_x(g, axis->run_at[r])) + 0.5f;
        char text[48];
        snprintf(text, sizeof text, "run %u", r + 1);
        if (x < last + 3) /* runs shorter than a few pixels */
            continue;
        psc_put_line(&g->p->base, x, y0, x, y1, 1, PSC_COL_DIM, PSC_UNBROKEN);
        last = x;
        float room = (r + 1 < axis->run_n ? axis_x(g, axis->run_at[r + 1]) : g->w - EDGE) - x;
        if (room > 130 && axis->run_pages[r])
            snprintf(text, sizeof text, "run %u: %u new page%s", r + 1, axis->run_pages[r], axis->run_pages[r] == 1 ? "" : "s");
        else if (room > 130)
            snprintf(text, sizeof text, "run %u: no new page", r + 1);
        if (room > 36)
            psc_panel_line(g->p, PSC_FONT_SMALL, PSC_LEFT, PSC_COL_DIM, text, x + 3, x + room - 2, y0 + 5);
    }
}

/* Under each arena a tick where a block comes from the heap; one a pixel. */
static void put_touches(struct psc_arena_page *g, uint32_t home, float y)
{
    const struct psc_arena_axis *axis = g->v->axis;
    float last = -2;
    for (uint32_t i = 0; i < axis->touch_n; i++) {
        float x = floorf(axis_x(g, axis->touches[i].position)) + 1;
        if (axis->touches[i].home != home || x < last + 2)
            continue;
        psc_put_line(&g->p->base, x, y, x, y + 4, 2, PSC_COL_NOW, PSC_UNBROKEN);
        last = x;
    }
}

static void put_now(struct psc_arena_page *g, float y0, float y1)
{
    float a = floorf(axis_x(g, g->v->position)), b = fmaxf(floorf(axis_x(g, g->v->position + 1.0)), a + 2);
    psc_panel_frame(g->p, (struct psc_area){a, y0 + 10, b, y1}, b - a > 5 ? 2 : 1, PSC_COL_NOW, PSC_UNBROKEN);
}

float psc_arena_put_axis(struct psc_arena_page *g, float y)
{
    float high = g->low ? 28 : 40, top;
    y = psc_panel_head(g->p, EDGE, g->w - EDGE, y, "ALL RUNS", "solid: live; dots: slack; stripes: kept free; line: peak of live so far; ticks: blocks from the heap, whose pages are new");
    top = y - 4;
    float bottom = top + 10 + (high + 6) * (float)g->v->look.home_n;
    for (uint32_t k = 0; k < g->v->look.home_n; k++) {
        float y0 = top + 10 + (high + 6) * (float)k;
        put_area(g, k, y0, y0 + high);
        psc_put_line(&g->p->base, EDGE + 118, y0 + high + 0.5f, g->w - EDGE, y0 + high + 0.5f, 1, PSC_COL_RULE, PSC_UNBROKEN);
        put_touches(g, k, y0 + high + 1);
        put_figures(g, k, y0);
    }
    put_runs(g, top, bottom);
    put_now(g, top, bottom);
    uint32_t tips = g->v->position_n + 1 < 400 ? g->v->position_n + 1 : 400;
    for (uint32_t i = 0; i < tips; i++) {
        double at = floor((double)i * (g->v->position_n + 1.0) / tips), next = floor((i + 1.0) * (g->v->position_n + 1.0) / tips);
        const char *const *titles = g->v->axis->track->story->titles;
        psc_panel_tip(g->p, (struct psc_area){axis_x(g, at), top, axis_x(g, next), bottom}, (int32_t)at, "Position %d%s%.300s", (int)at,
                      titles && at < g->v->position_n ? ": " : "", titles && at < g->v->position_n ? titles[(int32_t)at] : "");
    }
    return bottom + 8;
}

/* ---- lamps --------------------------------------------------------------------------------------------------------------- */

static void put_lamp(struct psc_arena_page *g, unsigned i, struct psc_area a)
{
    bool broken = g->v->look.broken >> i & 1, was = !broken && g->v->look.ever >> i & 1;
    const char *sign = broken ? "\xe2\x9c\x97" : was ? "!" : "\xe2\x9c\x93";
    enum psc_colour ink = broken || was ? PSC_COL_WARN_TEXT : PSC_COL_RIGHT;
    struct psc_text words = {0};
    char text[64];
    float middle = (a.y0 + a.y1) / 2;
    psc_panel_box(g->p, a, broken ? PSC_COL_WARN_GROUND : PSC_COL_NONE, broken || was ? PSC_COL_WARN_EDGE : PSC_COL_RULE);
    psc_panel_line(g->p, PSC_FONT_BASE_BOLD, PSC_LEFT, ink, sign, a.x0 + 6, a.x0 + 20, middle);
    snprintf(text, sizeof text, "%u %s%s", i, broken ? "BROKEN: " : was ? "was broken: " : "", psc_invariant_short(i));
    psc_panel_line(g->p, broken ? PSC_FONT_AXIS_BOLD : PSC_FONT_AXIS, PSC_LEFT, broken || was ? PSC_COL_WARN_TEXT : PSC_COL_INK, text,
                   a.x0 + 20, a.x1 - 4, middle);
    psc_explain_arena_lamp(&words, g->v, i);
    psc_panel_tip(g->p, a, PSC_NO_POSITION, "%s", psc_text_str(&words));
    g->p->base.failed = g->p->base.failed || words.failed;
    psc_text_release(&words);
}

float psc_arena_put_lamps(struct psc_arena_page *g, float y)
{
    y = psc_panel_head(g->p, EDGE, g->w - EDGE, y, "INVARIANTS", "looked at after every event: a tick holds, a cross is broken");
    uint32_t per = g->w >= 1400 ? 9 : g->w >= 840 ? 5 : g->w >= 560 ? 3 : 2;
    float room = g->w - 2 * EDGE, each = floorf((room - 6 * (float)(per - 1)) / (float)per);
    for (unsigned i = 1; i < PSC_INVARIANT_N; i++) {
        float x = EDGE + (float)((i - 1) % per) * (each + 6), top = y + (float)((i - 1) / per) * 23;
        put_lamp(g, i, (struct psc_area){x, top, x + each, top + 20});
    }
    return y + (float)((PSC_INVARIANT_N - 1 + per - 1) / per) * 23 + 6;
}

/* ---- the page -------------------------------------------------------------------------------------------------------------- */

static float put_columns(struct psc_arena_page *g, float y,
                         float (*put)(struct psc_arena_page *g, uint32_t home, float x0, float x1, float y))
{
    uint32_t n = g->v->look.home_n;
    float each = (g->w - 2 * EDGE - COLUMN * (float)(n - 1)) / (float)n, below = y;
    for (uint32_t k = 0; k < n; k++) {
        float x0 = EDGE + (float)k * (each + COLUMN);
        below = fmaxf(below, put(g, k, x0, x0 + each, y));
    }
    return below;
}

enum psc_status psc_arena_page_build(struct psc_panel *panel, const struct psc_arena_view *view,
                                     const struct psc_arena_page_look *look, struct psc_type *type, struct psc_error *reterr)
{
    struct psc_arena_page g = {panel, view, (float)fmax(look->width, 300), look->height > 0 && look->height < 520};
    psc_panel_begin(panel, look->width, look->dark, look->no_text, type);
    float y = put_words(&g, 4);
    y = psc_arena_put_routes(&g, y);
    y = put_columns(&g, y, psc_arena_put_slots);
    y = put_columns(&g, y, psc_arena_put_free);
    y = psc_arena_put_axis(&g, y);
    y = psc_arena_put_lamps(&g, y);
    y = psc_arena_put_owners(&g, y);
    return psc_panel_end(panel, ceil((double)y) + 4, reterr);
}
