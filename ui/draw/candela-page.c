#include "ui/draw/candela-parts.h"

#include "core/base/text.h"
#include "ui/draw/layout-parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define ROW    22.0f  /* of the stack, the map and the slots; less where the widget is low */
#define ROW_LOW 18.0f
#define LOW    520.0
#define STACK_ROWS 7u
#define MAP_ROWS   7u
#define SLOT_ROWS  8u
#define BUFFER_ROWS 24u /* where there is no sort to be drawn */
#define WIDE   900.0f /* from here on the slots stand beside the decision */

static uint32_t at_most(uint32_t n, uint32_t most)
{
    return n < most ? n : most;
}

/* ---- what happens ------------------------------------------------------------------------------------------------ */

static float put_words(struct psc_candela_page *g, float y)
{
    const struct psc_candela_view *v = g->v;
    char title[96];
    if (v->position < 0)
        snprintf(title, sizeof title, "Before the first step");
    else if (v->position >= (int32_t)v->step_n)
        snprintf(title, sizeof title, "The plan is made");
    else
        snprintf(title, sizeof title, "Position %d of %u: %.40s", v->position, v->step_n - 1, v->name);
    psc_panel_line(g->p, PSC_FONT_TITLE, PSC_LEFT, PSC_COL_INK, title, PSC_CANDELA_EDGE, g->w - PSC_CANDELA_EDGE, y + 12);
    psc_panel_words(g->p, PSC_FONT_BASE, PSC_COL_INK, v->words, PSC_CANDELA_EDGE, g->w - PSC_CANDELA_EDGE, y + 26, PSC_CANDELA_LINE, 2);
    return y + 26 + 2 * PSC_CANDELA_LINE + 4;
}

/* ---- the order ----------------------------------------------------------------------------------------------------- */

static float chip_width(struct psc_candela_page *g, const struct psc_candela_place *place)
{
    double w = psc_text_width(&g->p->base, PSC_FONT_BASE_BOLD, place->name) + 16;
    return (float)fmin(fmax(w, 26), 140);
}

/* The first chip of the row of chips in which the present one stands: whole rows are turned like pages. */
static uint32_t first_chip(struct psc_candela_page *g, float room)
{
    uint32_t first = 0, now = g->v->order_at ? g->v->order_at - 1 : 0;
    float x = 0;
    for (uint32_t i = 0; i < g->v->order_n; i++) {
        float w = chip_width(g, &g->v->order[i]) + 6;
        if (x + w > room && i > first) {
            if (i > now)
                break;
            first = i;
            x = 0;
        }
        x += w;
    }
    return first;
}

static void put_chip(struct psc_candela_page *g, uint32_t i, struct psc_area a)
{
    const struct psc_candela_place *place = &g->v->order[i];
    bool now = i + 1 == g->v->order_at && g->v->position < (int32_t)g->v->step_n, later = i >= g->v->order_at;
    char number[24];
    enum psc_colour ink = now ? PSC_COL_NOW_TEXT : later ? PSC_COL_DIM : PSC_COL_ACT_TEXT;
    psc_panel_box(g->p, a, now ? PSC_COL_NOW : later ? PSC_COL_NONE : PSC_COL_ACT_FILL, PSC_COL_NONE);
    psc_panel_frame(g->p, a, 1, later ? PSC_COL_DIM : PSC_COL_ACT_EDGE, place->position < 0 ? PSC_DASH_IDLE : PSC_UNBROKEN);
    psc_panel_tip(g->p, a, place->position < 0 ? PSC_NO_POSITION : place->position,
                  place->position < 0 ? "%s: listed, but it gets no step: another stands for it, or a run brings it"
                                      : "%s: click to go to its position", place->name);
    psc_panel_line(g->p, now ? PSC_FONT_BASE_BOLD : PSC_FONT_BASE, PSC_CENTRE, ink, place->name, a.x0 + 3, a.x1 - 3, (a.y0 + a.y1) / 2);
    snprintf(number, sizeof number, place->position < 0 ? "\xe2\x80\x93" : "%d", place->position);
    psc_panel_line(g->p, PSC_FONT_SMALL, PSC_CENTRE, PSC_COL_DIM, number, a.x0 - 8, a.x1 + 8, a.y1 + 7);
}

static float put_order(struct psc_candela_page *g, float y)
{
    y = psc_panel_head(g->p, PSC_CANDELA_EDGE, g->w - PSC_CANDELA_EDGE, y, g->v->apart ? "SORT ORDER" : "ORDER",
                       g->v->apart ? "as candela lists what the outputs need; below it the position at which it runs: graphs run as they were built"
                                   : "each node is listed after what it needs; below it the number of its step (\xe2\x80\x93: it gets none)");
    float x = PSC_CANDELA_EDGE, right = g->w - PSC_CANDELA_EDGE - 60;
    uint32_t first = first_chip(g, right - PSC_CANDELA_EDGE - 30), i = first;
    if (first + g->v->order_before) {
        char text[32];
        snprintf(text, sizeof text, "\xe2\x80\xa6%u", first + g->v->order_before);
        x += psc_panel_line(g->p, PSC_FONT_AXIS, PSC_LEFT, PSC_COL_DIM, text, x, x + 40, y + 10) + 6;
    }
    for (; i < g->v->order_n; i++) {
        float w = chip_width(g, &g->v->order[i]);
        if (x + w > right && i > first)
            break;
        put_chip(g, i, (struct psc_area){floorf(x), y, floorf(x + w), y + 20});
        x += w + 6;
    }
    if (i < g->v->order_n || g->v->order_after) {
        char text[32];
        snprintf(text, sizeof text, "+%u more", g->v->order_n - i + g->v->order_after);
        psc_panel_line(g->p, PSC_FONT_AXIS, PSC_LEFT, PSC_COL_DIM, text, x, g->w - PSC_CANDELA_EDGE, y + 10);
    }
    return y + 38;
}

/* ---- the stack ------------------------------------------------------------------------------------------------------- */

static void put_frame(struct psc_candela_page *g, const struct psc_candela_frame *f, struct psc_area a)
{
    enum psc_colour fill = f->leaving ? PSC_COL_NOW : f->entered ? PSC_COL_ACT_FILL : PSC_COL_NONE;
    enum psc_colour ink = f->leaving ? PSC_COL_NOW_TEXT : f->entered ? PSC_COL_ACT_TEXT : PSC_COL_INK;
    const char *state = f->leaving ? "is listed now" : f->entered ? "waits for what it needs" : "to be visited";
    psc_panel_box(g->p, a, fill, PSC_COL_NONE);
    psc_panel_frame(g->p, a, 1, PSC_COL_ACT_EDGE, f->entered ? PSC_UNBROKEN : PSC_DASH_IDLE);
    float middle = (a.y0 + a.y1) / 2, split = a.x0 + (a.x1 - a.x0) * 0.42f;
    psc_panel_tip(g->p, a, PSC_NO_POSITION, "%s: %s", f->name, state);
    psc_panel_line(g->p, PSC_FONT_BASE_BOLD, PSC_LEFT, ink, f->name, a.x0 + 8, split, middle);
    psc_panel_line(g->p, PSC_FONT_AXIS, PSC_RIGHT, ink, state, split + 4, a.x1 - 8, middle);
}

static void put_moves(struct psc_candela_page *g, float x0, float x1, float y)
{
    static const char *const words[] = {"enter ", "list ", "seen before: "};
    struct psc_text text = {0};
    psc_text_add(&text, g->v->move_n ? "Since the last position: " : "");
    if (g->v->move_all > g->v->move_n)
        psc_text_addf(&text, "\xe2\x80\xa6 (%u earlier moves), ", g->v->move_all - g->v->move_n);
    for (uint32_t i = 0; i < g->v->move_n; i++)
        psc_text_addf(&text, "%s%s%s", i ? ", " : "", words[g->v->moves[i].move], g->v->moves[i].name);
    psc_panel_words(g->p, PSC_FONT_AXIS, PSC_COL_DIM, psc_text_str(&text), x0, x1, y, 14, 2);
    g->p->base.failed = g->p->base.failed || text.failed;
    psc_text_release(&text);
}

/* It grows upwards. */
static void put_stack(struct psc_candela_page *g, float x0, float x1, float y, uint32_t rows)
{
    y = psc_panel_head(g->p, x0, x1, y, "SORT STACK", "top first");
    uint32_t n = at_most(g->v->stack_n, rows), hidden = g->v->stack_all - n;
    if (hidden) {
        n = rows - 1;
        hidden = g->v->stack_all - n;
    }
    float top = y + (float)(rows - n - (hidden ? 1 : 0)) * g->row;
    for (uint32_t i = 0; i < n; i++)
        put_frame(g, &g->v->stack[i], (struct psc_area){x0, top + (float)i * g->row, x1, top + (float)(i + 1) * g->row - 2});
    if (hidden) {
        char text[48];
        snprintf(text, sizeof text, "\xe2\x80\xa6 and %u below", hidden);
        psc_panel_line(g->p, PSC_FONT_AXIS, PSC_LEFT, PSC_COL_DIM, text, x0 + 8, x1, top + (float)n * g->row + 10);
    }
    if (!g->v->stack_all)
        psc_panel_line(g->p, PSC_FONT_AXIS, PSC_LEFT, PSC_COL_DIM, "empty: everything is listed", x0, x1, y + (float)rows * g->row - 10);
    put_moves(g, x0, x1, y + (float)rows * g->row + 4);
}

/* ---- the alias map ------------------------------------------------------------------------------------------------------ */

#define HEADS_MAX (2 * MAP_ROWS)
struct heads { /* boxes on the right, by name */
    const char *names[HEADS_MAX];
    bool ghost[HEADS_MAX]; /* only an arrow of before points there */
    uint32_t n;
};

static uint32_t head_of(struct heads *h, const char *name, bool ghost)
{
    for (uint32_t i = 0; i < h->n; i++)
        if (!strcmp(h->names[i], name)) {
            h->ghost[i] = h->ghost[i] && ghost;
            return i;
        }
    if (h->n == HEADS_MAX)
        return HEADS_MAX - 1;
    h->names[h->n] = name;
    h->ghost[h->n] = ghost;
    return h->n++;
}

static enum psc_colour tag_colour(const struct psc_candela_arrow *a)
{
    static const uint8_t colours[] = {PSC_COL_ACT_EDGE, PSC_COL_RIGHT, PSC_COL_STAGE_EDGE};
    return a->two_hops ? PSC_COL_WARN_TEXT : (enum psc_colour)colours[a->tag < 3 ? a->tag : 0];
}

static void put_name(struct psc_candela_page *g, const char *name, struct psc_area a, bool ghost, bool strong)
{
    psc_panel_box(g->p, a, ghost ? PSC_COL_NONE : PSC_COL_ACT_FILL, PSC_COL_NONE);
    psc_panel_frame(g->p, a, strong ? 2 : 1, PSC_COL_ACT_EDGE, ghost ? PSC_DASH_IDLE : PSC_UNBROKEN);
    psc_panel_line(g->p, strong ? PSC_FONT_BASE_BOLD : PSC_FONT_BASE, PSC_CENTRE, ghost ? PSC_COL_DIM : PSC_COL_ACT_TEXT, name,
                   a.x0 + 4, a.x1 - 4, (a.y0 + a.y1) / 2);
}

static void put_arrow(struct psc_candela_page *g, const struct psc_candela_arrow *a, float x0, float x1, float y, float to, float from)
{
    enum psc_colour colour = tag_colour(a);
    float end = a->before ? from + (to - from) * (float)g->swing : to;
    if (a->before)
        psc_panel_arrow(g->p, x0, y, x1, from, 1, PSC_COL_DIM, PSC_DASH_GHOST);
    psc_panel_arrow(g->p, x0, y, x1, end, a->fresh ? 2.5f : 1.5f, colour, PSC_UNBROKEN);
}

static void put_map(struct psc_candela_page *g, float x0, float x1, float y, uint32_t rows)
{
    const struct psc_candela_view *v = g->v;
    y = psc_panel_head(g->p, x0, x1, y, "ALIAS MAP", v->apart ? "whose bytes are whose: those of the left one are the right one's"
                                                              : "who stands for whom: whoever asks for the left one gets the right one");
    uint32_t n = at_most(v->arrow_n, rows), skipped = v->arrow_n - n;
    const struct psc_candela_arrow *arrows = v->arrows + skipped; /* the newest */
    struct heads heads = {0};
    float box = fminf(130, (x1 - x0) * 0.24f), promise = fminf(150, (x1 - x0) * 0.3f), right = x1 - box;
    if (!n) {
        psc_panel_words(g->p, PSC_FONT_BASE, PSC_COL_DIM, v->apart
                        ? v->arrow_most ? "Empty: up to here every node's bytes are its own. Views and ops in place make entries."
                                        : "Empty, and it stays so: this plan has no view and nothing in place, so every node's bytes are "
                                          "its own."
                        : v->arrow_most
                        ? "Empty: up to here every node stands for itself. Nodes like noop, as_contiguous and cache make entries."
                        : "Empty, and it stays so: this expression has no noop, as_contiguous or cache, so every node stands for "
                          "itself.", x0, x1, y + 2, PSC_CANDELA_LINE, 3);
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        head_of(&heads, arrows[i].owner, false);
    for (uint32_t i = 0; i < n; i++)
        if (arrows[i].before)
            head_of(&heads, arrows[i].before, true);
    float pitch = heads.n > 1 ? fminf(g->row, (float)rows * g->row / (float)heads.n) : g->row;
    for (uint32_t i = 0; i < heads.n; i++) {
        struct psc_area a = {right, y + (float)i * pitch, x1, y + (float)i * pitch + g->row - 4};
        put_name(g, heads.names[i], a, heads.ghost[i], false);
        if (heads.ghost[i])
            psc_panel_tip(g->p, a, PSC_NO_POSITION, "%s stood for others until this position; now it does not", heads.names[i]);
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct psc_candela_arrow *e = &arrows[i];
        struct psc_area a = {x0, y + (float)i * g->row, x0 + box, y + (float)i * g->row + g->row - 4};
        float middle = (a.y0 + a.y1) / 2;
        uint32_t to = head_of(&heads, e->owner, false), from = e->before ? head_of(&heads, e->before, true) : to;
        char words[96];
        snprintf(words, sizeof words, "%s%.60s", e->two_hops ? "\xe2\x9a\xa0 two hops, " : e->fresh ? "now: " : "", e->promise);
        put_name(g, e->node, a, false, e->fresh);
        float w = psc_panel_line(g->p, e->fresh ? PSC_FONT_AXIS_BOLD : PSC_FONT_AXIS, PSC_LEFT, e->two_hops ? PSC_COL_WARN_TEXT : PSC_COL_INK,
                                 words, a.x1 + 8, a.x1 + 8 + promise, middle);
        put_arrow(g, e, a.x1 + 14 + w, right - 2, middle, y + (float)to * pitch + (g->row - 4) / 2,
                  y + (float)from * pitch + (g->row - 4) / 2);
        psc_panel_tip(g->p, (struct psc_area){x0, a.y0, right, a.y1 + 2}, PSC_NO_POSITION,
                      e->before       ? "%s stands for %s (%s). Until this position it was %s: %s took over"
                      : e->was_itself ? "%s stands for %s (%s). Until this position it stood for itself"
                                      : "%s stands for %s (%s)",
                      e->owner, e->node, e->promise, e->before ? e->before : "", e->owner);
    }
    if (skipped || v->arrow_all > v->arrow_n) {
        char text[64];
        snprintf(text, sizeof text, "\xe2\x80\xa6 and %u older entries", skipped + v->arrow_all - v->arrow_n);
        psc_panel_line(g->p, PSC_FONT_AXIS, PSC_LEFT, PSC_COL_DIM, text, x0, x1, y + (float)n * g->row + 8);
    }
}

/* ---- the decision --------------------------------------------------------------------------------------------------------- */

static float put_decision(struct psc_candela_page *g, float x0, float x1, float y)
{
    const struct psc_candela_view *v = g->v;
    y = psc_panel_head(g->p, x0, x1, y, "DECISION", "where the result goes: strategies in the order in which they are tried");
    if (!v->try_n) {
        psc_panel_line(g->p, PSC_FONT_BASE, PSC_LEFT, PSC_COL_DIM, v->position < 0 ? "Nothing is decided yet." : "Every step is decided.",
                       x0, x1, y + 8);
        return y + 20;
    }
    float strategy = fminf(170, (x1 - x0) * 0.28f), why = x0 + 48 + strategy;
    for (uint32_t i = 0; i < v->try_n; i++) {
        const struct psc_candela_try *t = &v->tries[i];
        enum psc_font font = t->taken ? PSC_FONT_BASE_BOLD : PSC_FONT_BASE;
        float below = psc_panel_words(g->p, font, PSC_COL_INK, t->why, why, x1 - 6, y + 3, PSC_CANDELA_LINE, 3);
        if (t->taken) {
            psc_panel_frame(g->p, (struct psc_area){x0, y, x1, below + 3}, 2, PSC_COL_RIGHT, PSC_UNBROKEN);
        } else {
            psc_put_line(&g->p->base, x0, below + 2.5f, x1, below + 2.5f, 1, PSC_COL_GRID, PSC_UNBROKEN);
        }
        psc_panel_line(g->p, PSC_FONT_BASE_BOLD, PSC_LEFT, t->taken ? PSC_COL_RIGHT : PSC_COL_DIM, t->taken ? "\xe2\x9c\x93 yes" : "\xe2\x9c\x97 no",
                       x0 + 8, x0 + 46, y + 11);
        psc_panel_line(g->p, font, PSC_LEFT, PSC_COL_INK, t->strategy, x0 + 48, why - 8, y + 11);
        y = below + 4;
    }
    return y + 4;
}

/* ---- slots ------------------------------------------------------------------------------------------------------------------ */

static void slot_words(const struct psc_candela_slot_view *s, char *text, size_t size)
{
    if (s->use == PSC_SLOT_GONE)
        snprintf(text, size, "given back");
    else if (s->use == PSC_SLOT_IDLE)
        snprintf(text, size, "idle, kept for later");
    else if (s->end < 0)
        snprintf(text, size, "never given back");
    else
        snprintf(text, size, "until position %d", s->end);
}

static void put_slot(struct psc_candela_page *g, const struct psc_candela_slot_view *s, struct psc_area a)
{
    char name[40], words[64], len[32];
    bool held = s->use == PSC_SLOT_HELD;
    float middle = (a.y0 + a.y1) / 2, box = a.x0 + 100, split = box + (a.x1 - box) * 0.48f;
    if (s->name)
        snprintf(name, sizeof name, "%.30s", s->name);
    else
        snprintf(name, sizeof name, "%u", s->slot);
    if (g->v->in_bytes)
        psc_bytes_text(s->len, len, sizeof len);
    else
        snprintf(len, sizeof len, "%llu el.", (unsigned long long)s->len);
    slot_words(s, words, sizeof words);
    struct psc_area bar = {box, a.y0, split, a.y1};
    psc_panel_line(g->p, PSC_FONT_BASE_BOLD, PSC_LEFT, PSC_COL_INK, name, a.x0 + 2, a.x0 + 28, middle);
    psc_panel_line(g->p, PSC_FONT_AXIS, PSC_RIGHT, PSC_COL_DIM, len, a.x0 + 28, box - 8, middle);
    psc_panel_box(g->p, bar, held ? PSC_COL_ACT_FILL : PSC_COL_NONE, PSC_COL_NONE);
    psc_panel_frame(g->p, bar, s->touched ? 2 : 1, s->touched ? PSC_COL_SELECT : PSC_COL_ACT_EDGE, held ? PSC_UNBROKEN : PSC_DASH_IDLE);
    psc_panel_line(g->p, s->touched ? PSC_FONT_BASE_BOLD : PSC_FONT_BASE, PSC_CENTRE, held ? PSC_COL_ACT_TEXT : PSC_COL_DIM,
                   s->owner ? s->owner : "", bar.x0 + 4, bar.x1 - 4, middle);
    psc_panel_line(g->p, PSC_FONT_AXIS, PSC_LEFT, PSC_COL_INK, words, split + 8, a.x1, middle);
    psc_panel_tip(g->p, a, s->start, "%s %s, %s: %s since position %d, %s", s->name ? "Buffer" : "Slot", name, len, s->owner ? s->owner : "nobody", s->start,
                  words);
}

static float put_slots(struct psc_candela_page *g, float x0, float x1, float y)
{
    const struct psc_candela_view *v = g->v;
    y = psc_panel_head(g->p, x0, x1, y, v->in_bytes ? "BUFFERS" : "SLOTS", "memory that the plan has asked for so far");
    uint32_t rows = v->has_sort ? SLOT_ROWS : BUFFER_ROWS, n = at_most(v->slot_n, rows), first = v->slot_n - n;
    for (uint32_t i = 0; i < v->slot_n; i++)
        if (v->slots[i].touched && i < first)
            first = i;
    if (!n)
        psc_panel_line(g->p, PSC_FONT_BASE, PSC_LEFT, PSC_COL_DIM, "None yet.", x0, x1, y + 8);
    for (uint32_t i = 0; i < n; i++)
        put_slot(g, &v->slots[first + i], (struct psc_area){x0, y + (float)i * g->row, x1, y + (float)i * g->row + g->row - 3});
    if (v->slot_all > n) {
        char text[48];
        snprintf(text, sizeof text, "%u of %u slots", n, v->slot_all);
        psc_panel_line(g->p, PSC_FONT_AXIS, PSC_LEFT, PSC_COL_DIM, text, x0, x1, y + (float)n * g->row + 8);
    }
    return y + (float)at_most(v->slot_most, rows) * g->row + (v->slot_most > rows ? g->row : 0) + 8;
}

/* ---- the page ------------------------------------------------------------------------------------------------------------------ */

enum psc_status psc_candela_page_build(struct psc_panel *panel, const struct psc_candela_view *view,
                                       const struct psc_candela_look *look, struct psc_type *type, struct psc_error *reterr)
{
    bool low = look->height > 0 && look->height < LOW;
    struct psc_candela_page g = {panel, view, look->swing, (float)fmax(look->width, 240), low ? ROW_LOW : ROW};
    psc_panel_begin(panel, look->width, look->dark, look->no_text, type);
    float y = put_words(&g, 6);
    if (view->has_sort) {
        uint32_t stack_rows = at_most(view->stack_most, low ? STACK_ROWS - 1 : STACK_ROWS);
        uint32_t map_rows = at_most(view->arrow_most + (view->arrow_most > 1), low ? MAP_ROWS - 1 : MAP_ROWS);
        uint32_t rows = stack_rows > map_rows ? stack_rows : map_rows;
        float split = PSC_CANDELA_EDGE + fmaxf(190, fminf(320, g.w * 0.34f));
        y = put_order(&g, y);
        rows = rows < 3 ? 3 : rows;
        put_stack(&g, PSC_CANDELA_EDGE, split, y, rows);
        put_map(&g, split + 18, g.w - PSC_CANDELA_EDGE, y, rows);
        y += 26 + (float)rows * g.row + 36;
    }
    if (g.w >= WIDE) {
        float split = g.w * 0.62f;
        float a = put_decision(&g, PSC_CANDELA_EDGE, split, y), b = put_slots(&g, split + 18, g.w - PSC_CANDELA_EDGE, y);
        y = fmaxf(a, b);
    } else {
        y = put_decision(&g, PSC_CANDELA_EDGE, g.w - PSC_CANDELA_EDGE, y);
        y = put_slots(&g, PSC_CANDELA_EDGE, g.w - PSC_CANDELA_EDGE, y);
    }
    if (view->has_sort && !view->apart)
        y = psc_candela_put_live(&g, psc_candela_put_levels(&g, y));
    if (view->rival_n || (view->rivals_wait && look->waiting))
        y = psc_candela_put_rivals(&g, look->waiting, y);
    return psc_panel_end(panel, ceil((double)y) + 4, reterr);
}
