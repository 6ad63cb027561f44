#include "ui/draw/arena-parts.h"

#include "core/base/text.h"
#include "ui/draw/layout-parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define EDGE PSC_PAGE_EDGE
#define CELL_W 104.0f
#define CELL_H 48.0f
#define HEAD_H 16.0f  /* number and state; below it the block with its name, and its size */
#define SIZE_H 16.0f
#define GAP    6.0f
#define CELL_ROWS 3u
#define OWNERS 8u
#define OWNER_ROW 24.0f

static const char *state_word(const struct psc_arena_slot_look *s)
{
    switch (s->state) {
    case PSC_SLOT_LIVE: return "live";
    case PSC_SLOT_LEASED: return "lent";
    case PSC_SLOT_FREE: return "free";
    default: return "unused";
    }
}

static void say_size(const struct psc_arena_slot_look *s, char *text, size_t size)
{
    char a[24], b[24];
    if (s->state == PSC_SLOT_UNUSED)
        snprintf(text, size, "no block");
    else if (s->state == PSC_SLOT_FREE)
        snprintf(text, size, "%s", psc_bytes_text(s->capacity, b, sizeof b));
    else if (s->bytes == s->capacity)
        snprintf(text, size, "%s", psc_bytes_text(s->bytes, a, sizeof a));
    else
        snprintf(text, size, "%s of %s", psc_bytes_text(s->bytes, a, sizeof a), psc_bytes_text(s->capacity, b, sizeof b));
}

/* ---- the grid ---------------------------------------------------------------------------------------------------------- */

static void put_fill(struct psc_arena_page *g, const struct psc_arena_slot_look *s, struct psc_area a)
{
    bool used = s->state == PSC_SLOT_LIVE || s->state == PSC_SLOT_LEASED;
    float part = s->capacity ? (float)((double)s->bytes / (double)s->capacity) : 1, split = floorf(a.x0 + (a.x1 - a.x0) * fminf(part, 1));
    if (used) {
        psc_put_fill(&g->p->base, a.x0, a.y0, split, a.y1, s->state == PSC_SLOT_LEASED ? PSC_COL_STAGE_FILL : PSC_COL_ACT_FILL);
        psc_put_pattern(&g->p->base, split, a.y0, a.x1, a.y1 - SIZE_H, PSC_COL_PADDING, PSC_DOTS, PSC_COL_ACT_EDGE);
        psc_put_fill(&g->p->base, split, a.y1 - SIZE_H, a.x1, a.y1, PSC_COL_PADDING); /* no dots behind the words */
    }
}

static void put_cell(struct psc_arena_page *g, uint32_t home, uint32_t slot, struct psc_area a)
{
    const struct psc_arena_home_view *h = &g->v->homes[home];
    const struct psc_arena_slot_look *s = &h->look->slots[slot];
    bool used = s->state == PSC_SLOT_LIVE || s->state == PSC_SLOT_LEASED, lent = s->state == PSC_SLOT_LEASED;
    const char *name = psc_arena_view_name(g->v, s);
    char text[80], words[96];
    put_fill(g, s, (struct psc_area){a.x0, a.y0 + HEAD_H, a.x1, a.y1});
    psc_panel_frame(g->p, a, h->touched[slot] || lent ? 2 : 1,
                    h->touched[slot] ? PSC_COL_SELECT : lent ? PSC_COL_STAGE_EDGE : used ? PSC_COL_ACT_EDGE : PSC_COL_DIM,
                    used ? PSC_UNBROKEN : PSC_DASH_IDLE);
    snprintf(text, sizeof text, "%u", slot);
    psc_panel_line(g->p, PSC_FONT_AXIS_BOLD, PSC_LEFT, used ? PSC_COL_INK : PSC_COL_DIM, text, a.x0 + 5, a.x0 + 40, a.y0 + 8);
    snprintf(text, sizeof text, lent && s->holders > 1 ? "%s \xc3\x97%u" : "%s", state_word(s), s->holders);
    psc_panel_line(g->p, used ? PSC_FONT_AXIS_BOLD : PSC_FONT_AXIS, PSC_RIGHT, used ? PSC_COL_INK : PSC_COL_DIM, text, a.x0 + 30, a.x1 - 5, a.y0 + 8);
    if (used)
        psc_panel_line(g->p, PSC_FONT_BAR_BOLD, PSC_LEFT, lent ? PSC_COL_INK : PSC_COL_ACT_TEXT, name, a.x0 + 5, a.x1 - 5, a.y0 + HEAD_H + 8);
    say_size(s, text, sizeof text);
    psc_panel_line(g->p, PSC_FONT_SMALL, PSC_LEFT, !used ? PSC_COL_DIM : lent ? PSC_COL_INK : PSC_COL_ACT_TEXT, text, a.x0 + 5, a.x1 - 5, a.y1 - 9);
    psc_panel_tip(g->p, a, PSC_NO_POSITION, "Slot %u of %s%s%s: %s. %s%s", slot, h->look->name, used ? ", " : *name ? ", last " : "",
                  used || *name ? name : "", psc_arena_slot_words(s, words, sizeof words), text,
                  used && s->bytes < s->capacity ? "; the rest is slack: in the block, but not asked for" : "");
}

/* The first slots, or about the one that this position touches. */
static uint32_t first_cell(const struct psc_arena_home_view *h, uint32_t n)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < h->look->slot_n; i++)
        if (h->touched[i])
            at = i;
    if (at < n)
        return 0;
    return at - n + 1;
}

float psc_arena_put_slots(struct psc_arena_page *g, uint32_t home, float x0, float x1, float y)
{
    const struct psc_arena_home_view *h = &g->v->homes[home];
    const struct psc_story_arena *of = h->look->arena;
    char title[80], words[160], cap[24];
    snprintf(title, sizeof title, "SLOTS OF %.40s", h->look->name);
    for (char *c = title; *c; c++)
        *c = *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c;
    if (of->slot_max)
        snprintf(words, sizeof words, "at most %u in use at once", of->slot_max);
    else
        snprintf(words, sizeof words, "as many as are asked for");
    if (of->cap != PSC_ARENA_NO_CAP)
        snprintf(words + strlen(words), sizeof words - strlen(words), "; keeps at most %s free", psc_bytes_text(of->cap, cap, sizeof cap));
    y = psc_panel_head(g->p, x0, x1, y, title, words);
    uint32_t per = (uint32_t)fmaxf(1, floorf((x1 - x0 + GAP) / (CELL_W + GAP))), rows = (h->look->slot_n + per - 1) / per;
    rows = rows < 1 ? 1 : rows > CELL_ROWS ? CELL_ROWS : rows;
    uint32_t n = h->look->slot_n < per * rows ? h->look->slot_n : per * rows, first = first_cell(h, n);
    float each = floorf((x1 - x0 - GAP * (float)(per - 1)) / (float)per);
    if (!n)
        psc_panel_line(g->p, PSC_FONT_BASE, PSC_LEFT, PSC_COL_DIM, "Never used in this story.", x0, x1, y + 10);
    for (uint32_t i = 0; i < n; i++) {
        float x = x0 + (float)(i % per) * (each + GAP), top = y + (float)(i / per) * (CELL_H + GAP);
        put_cell(g, home, first + i, (struct psc_area){x, top, x + each, top + CELL_H});
    }
    y += (float)rows * (CELL_H + GAP);
    if (h->look->slot_n > n) {
        snprintf(words, sizeof words, "slots %u to %u of %u", first, first + n - 1, h->look->slot_n);
        psc_panel_line(g->p, PSC_FONT_AXIS, PSC_LEFT, PSC_COL_DIM, words, x0, x1, y + 6);
        y += 16;
    }
    return y + 2;
}

/* ---- who keeps what alive -------------------------------------------------------------------------------------------------- */

static void put_node(struct psc_arena_page *g, const char *text, struct psc_area a, enum psc_colour fill, enum psc_colour edge, float width)
{
    psc_panel_box(g->p, a, fill, PSC_COL_NONE);
    psc_panel_frame(g->p, a, width, edge, PSC_UNBROKEN);
    psc_panel_line(g->p, PSC_FONT_BAR, PSC_CENTRE, fill == PSC_COL_ACT_FILL ? PSC_COL_ACT_TEXT : PSC_COL_INK, text, a.x0 + 4, a.x1 - 4, (a.y0 + a.y1) / 2);
}

struct owners { /* columns of the graph */
    float x[4], w, arrow;
    float homes_y[4]; /* middle of each arena's box */
    uint32_t row;
};

static void put_owner(struct psc_arena_page *g, struct owners *o, uint32_t home, uint32_t slot, float y)
{
    const struct psc_arena_home_view *h = &g->v->homes[home];
    const struct psc_arena_slot_look *s = &h->look->slots[slot];
    bool lent = s->state == PSC_SLOT_LEASED;
    char who[96], how[48], block[64];
    float middle = y + 10;
    snprintf(who, sizeof who, lent ? "outside: %.60s" : s->owner == PSC_OWNER_BINDING ? "binding %.60s" : "tensor %.60s", psc_arena_view_name(g->v, s));
    if (lent)
        snprintf(how, sizeof how, "%u lease%s", s->holders, s->holders == 1 ? "" : "s");
    else
        snprintf(how, sizeof how, "plain handle");
    snprintf(block, sizeof block, "slot %u of %.40s", slot, h->look->name);
    put_node(g, who, (struct psc_area){o->x[0], y, o->x[0] + o->w, y + 20}, PSC_COL_NONE, PSC_COL_ACT_EDGE, 1);
    put_node(g, how, (struct psc_area){o->x[1], y, o->x[1] + o->w, y + 20}, lent ? PSC_COL_STAGE_FILL : PSC_COL_NONE,
             lent ? PSC_COL_STAGE_EDGE : PSC_COL_ACT_EDGE, lent ? 2 : 1);
    put_node(g, block, (struct psc_area){o->x[2], y, o->x[2] + o->w, y + 20}, PSC_COL_ACT_FILL, h->touched[slot] ? PSC_COL_SELECT : PSC_COL_ACT_EDGE,
             h->touched[slot] ? 2 : 1);
    for (int i = 0; i < 2; i++)
        psc_panel_arrow(g->p, o->x[i] + o->w + 1, middle, o->x[i + 1] - 1, middle, 1, PSC_COL_DIM, PSC_UNBROKEN);
    psc_panel_arrow(g->p, o->x[2] + o->w + 1, middle, o->x[3] - 1, o->homes_y[home], lent ? 2.5f : 1, lent ? PSC_COL_STAGE_EDGE : PSC_COL_DIM,
                    PSC_UNBROKEN);
    psc_panel_tip(g->p, (struct psc_area){o->x[0], y, o->x[3], y + 20}, PSC_NO_POSITION,
                  lent ? "%s holds %s by %s: the lease keeps the arena alive, even when the session is gone"
                       : "%s owns %s by a %s: the arena must outlive it", who, block, how);
    o->row++;
}

/* Blocks in use: those of this position first, then in order. */
static uint32_t put_used(struct psc_arena_page *g, struct owners *o, float y)
{
    uint32_t all = 0;
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t k = 0; k < g->v->look.home_n && k < 4; k++) {
            const struct psc_arena_home_view *h = &g->v->homes[k];
            for (uint32_t i = 0; i < h->look->slot_n; i++) {
                const struct psc_arena_slot_look *s = &h->look->slots[i];
                if ((s->state != PSC_SLOT_LIVE && s->state != PSC_SLOT_LEASED) || h->touched[i] == (pass == 1))
                    continue;
                all++;
                if (o->row < OWNERS)
                    put_owner(g, o, k, i, y + (float)o->row * OWNER_ROW);
            }
        }
    return all;
}

float psc_arena_put_owners(struct psc_arena_page *g, float y)
{
    y = psc_panel_head(g->p, EDGE, g->w - EDGE, y, "OWNERSHIP", "who holds a block, by what, and what keeps the arenas alive");
    struct owners o = {.arrow = 26};
    o.w = floorf((g->w - 2 * EDGE - 3 * o.arrow) / 4);
    for (int i = 0; i < 4; i++)
        o.x[i] = EDGE + (float)i * (o.w + o.arrow);
    for (uint32_t k = 0; k < g->v->look.home_n && k < 4; k++) {
        const struct psc_arena_home_look *l = &g->v->look.homes[k];
        float top = y + (float)k * 48;
        char text[64];
        o.homes_y[k] = top + 18;
        psc_panel_box(g->p, (struct psc_area){o.x[3], top, o.x[3] + o.w, top + 38}, PSC_COL_HEADER, PSC_COL_ACT_EDGE);
        snprintf(text, sizeof text, "arena %.40s", l->name);
        psc_panel_line(g->p, PSC_FONT_BASE_BOLD, PSC_CENTRE, PSC_COL_INK, text, o.x[3] + 4, o.x[3] + o.w - 4, top + 12);
        uint32_t leases = l->refs - !l->closed;
        if (l->gone && leases)
            snprintf(text, sizeof text, "gone, and %u lease%s still out", leases, leases == 1 ? " is" : "s are");
        else if (l->gone)
            snprintf(text, sizeof text, "gone: nobody holds it");
        else if (l->closed)
            snprintf(text, sizeof text, "kept alive by %u lease%s alone", leases, leases == 1 ? "" : "s");
        else if (leases)
            snprintf(text, sizeof text, "held by the session and %u lease%s", leases, leases == 1 ? "" : "s");
        else
            snprintf(text, sizeof text, "held by the session");
        if (l->closed) /* the session does not hold it any more */
            psc_panel_frame(g->p, (struct psc_area){o.x[3], top, o.x[3] + o.w, top + 38}, 2, l->gone ? PSC_COL_DIM : PSC_COL_STAGE_EDGE,
                            l->gone ? PSC_DASH_IDLE : PSC_UNBROKEN);
        psc_panel_line(g->p, PSC_FONT_SMALL, PSC_CENTRE, l->gone && leases ? PSC_COL_WARN_TEXT : PSC_COL_DIM, text, o.x[3] + 4, o.x[3] + o.w - 4, top + 27);
    }
    uint32_t all = put_used(g, &o, y), rows = o.row;
    if (!all)
        psc_panel_line(g->p, PSC_FONT_BASE, PSC_LEFT, PSC_COL_DIM, "No block is in use.", EDGE, o.x[3] - 10, y + 10);
    for (uint32_t i = 0; i < g->v->look.borrowed_n && i < 3; i++, rows++) {
        const struct psc_story *s = g->v->axis->track->story;
        const struct psc_arena_borrowed *b = &g->v->look.borrowed[i];
        char text[96];
        float top = y + (float)rows * OWNER_ROW;
        snprintf(text, sizeof text, "caller: %.60s", s->values[b->value].name ? s->values[b->value].name : "memory");
        put_node(g, text, (struct psc_area){EDGE, top, EDGE + o.w, top + 20}, PSC_COL_NONE, PSC_COL_DIM, 1);
        psc_panel_line(g->p, PSC_FONT_AXIS, PSC_LEFT, PSC_COL_DIM, "borrowed memory: in no arena, and never in a free list", o.x[1], o.x[3] - 10, top + 10);
    }
    if (all > OWNERS) {
        char text[48];
        snprintf(text, sizeof text, "and %u more blocks in use", all - OWNERS);
        psc_panel_line(g->p, PSC_FONT_AXIS, PSC_LEFT, PSC_COL_DIM, text, EDGE, o.x[3], y + (float)rows * OWNER_ROW + 8);
        rows++;
    }
    float homes = 48 * (float)g->v->look.home_n;
    return y + fmaxf((float)rows * OWNER_ROW, homes) + 6;
}
