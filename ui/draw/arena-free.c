#include "ui/draw/arena-parts.h"

#include "core/base/text.h"
#include "ui/draw/layout-parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define CHIP_H 18.0f
#define LEVEL  29.0f /* from one level of the tree to the next */
#define TREE_MAX 15u /* sizes that are drawn as a tree; more are a line */

static float put_chip(struct psc_arena_page *g, const struct psc_arena_home_view *h, const struct psc_arena_free_view *f, float x, float x1, float y,
                      bool queue)
{
    char text[48], size[24];
    bool gone = f->taken || f->evicted;
    snprintf(text, sizeof text, "%u%s", f->slot, f->taken ? " taken" : f->evicted ? " out" : "");
    float w = (float)psc_text_width(&g->p->base, PSC_FONT_BAR_BOLD, text) + 14;
    if (x + w > x1)
        return -1;
    struct psc_area a = {floorf(x), y, floorf(x + w), y + CHIP_H};
    psc_panel_box(g->p, a, gone ? PSC_COL_NONE : PSC_COL_IO_FILL, PSC_COL_NONE);
    psc_panel_frame(g->p, a, f->fresh ? 2 : 1, f->fresh || f->taken ? PSC_COL_SELECT : PSC_COL_IO_EDGE, gone ? PSC_DASH_IDLE : PSC_UNBROKEN);
    psc_panel_line(g->p, f->fresh || gone ? PSC_FONT_BAR_BOLD : PSC_FONT_BAR, PSC_CENTRE, f->evicted ? PSC_COL_WARN_TEXT : PSC_COL_INK, text,
                   a.x0, a.x1, y + CHIP_H / 2);
    psc_panel_tip(g->p, a, PSC_NO_POSITION, "Slot %u of %s, %s: %s", f->slot, h->look->name, psc_bytes_text(f->capacity, size, sizeof size),
                  f->taken     ? "was free, taken at this position"
                  : f->evicted ? "evicted at this position: its block goes back to the system"
                  : queue      ? "free; whoever has been free for longest is evicted first"
                               : "free; of blocks of one size the one freed last is taken first");
    return x + w + 4;
}

/* ---- the tree ------------------------------------------------------------------------------------------------------------ */

/* One size with its blocks, the one freed last first. The tree that is searched is one over the sizes; drawn is the one that
 * halves what is left at every step: left are smaller sizes, right larger ones. */
struct bucket {
    uint64_t capacity;
    uint32_t first, n;         /* of the view's buckets */
    bool unseen;               /* the search has seen none of it */
    uint32_t depth, step;      /* step: when the search looked at it, from 1; 0: not */
    uint32_t up;               /* index of the bucket above, PSC_NONE */
    float x0, x1;
};
struct tree {
    struct bucket list[TREE_MAX];
    uint32_t n, levels, steps; /* steps: of the search */
};

/* The search is the last one of the position: what became free here, or was taken before, was not there. */
static bool is_seen(const struct psc_arena_home_view *h, const struct psc_arena_free_view *f)
{
    return !f->fresh && !(f->taken && f->slot != h->found_slot);
}

/* False when there are more sizes than a tree is drawn of. */
static bool list_buckets(const struct psc_arena_home_view *h, struct tree *t)
{
    t->n = t->levels = t->steps = 0;
    for (uint32_t i = 0; i < h->bucket_n; i++) {
        const struct psc_arena_free_view *f = &h->buckets[i];
        if (!t->n || t->list[t->n - 1].capacity != f->capacity) {
            if (t->n == TREE_MAX)
                return false;
            t->list[t->n++] = (struct bucket){.capacity = f->capacity, .first = i, .unseen = true, .up = PSC_NONE};
        }
        t->list[t->n - 1].n++;
        t->list[t->n - 1].unseen = t->list[t->n - 1].unseen && !is_seen(h, f);
    }
    return true;
}

/* Depths of those that a search can see; the others stand on the first level, beside the tree. */
static void hang(struct tree *t)
{
    uint32_t seen[TREE_MAX], n = 0;
    struct { uint32_t lo, hi, up, depth; } todo[TREE_MAX + 1] = {{0}};
    uint32_t todo_n = 1;
    for (uint32_t i = 0; i < t->n; i++)
        if (!t->list[i].unseen)
            seen[n++] = i;
    t->levels = t->n > 0;
    todo[0].hi = n;
    todo[0].up = PSC_NONE;
    while (todo_n) {
        uint32_t lo = todo[--todo_n].lo, hi = todo[todo_n].hi, up = todo[todo_n].up, depth = todo[todo_n].depth;
        if (lo >= hi)
            continue;
        uint32_t middle = lo + (hi - lo) / 2;
        struct bucket *b = &t->list[seen[middle]];
        b->depth = depth;
        b->up = up;
        if (depth + 1 > t->levels)
            t->levels = depth + 1;
        todo[todo_n].lo = lo, todo[todo_n].hi = middle, todo[todo_n].up = seen[middle], todo[todo_n++].depth = depth + 1;
        todo[todo_n].lo = middle + 1, todo[todo_n].hi = hi, todo[todo_n].up = seen[middle], todo[todo_n++].depth = depth + 1;
    }
}

/* The smallest that is large enough, step by step. */
static void search(struct tree *t, uint64_t asked)
{
    uint32_t lo = 0, hi = 0, seen[TREE_MAX];
    for (uint32_t i = 0; i < t->n; i++)
        if (!t->list[i].unseen)
            seen[hi++] = i;
    while (lo < hi) {
        uint32_t middle = lo + (hi - lo) / 2;
        struct bucket *b = &t->list[seen[middle]];
        b->step = ++t->steps;
        if (b->capacity >= asked)
            hi = middle;
        else
            lo = middle + 1;
    }
}

/* "2. 1.50 KiB": looked at second. */
static const char *say_bucket(const struct bucket *b, char *text, size_t size)
{
    char bytes[24];
    if (b->step)
        snprintf(text, size, "%u. %s", b->step, psc_bytes_text(b->capacity, bytes, sizeof bytes));
    else
        snprintf(text, size, "%s", psc_bytes_text(b->capacity, bytes, sizeof bytes));
    return text;
}

static float bucket_width(struct psc_arena_page *g, const struct psc_arena_home_view *h, const struct bucket *b)
{
    char text[48];
    float w = (float)psc_text_width(&g->p->base, PSC_FONT_AXIS_BOLD, say_bucket(b, text, sizeof text)) + 5;
    for (uint32_t i = b->first; i < b->first + b->n; i++) {
        const struct psc_arena_free_view *f = &h->buckets[i];
        snprintf(text, sizeof text, "%u%s", f->slot, f->taken ? " taken" : f->evicted ? " out" : "");
        w += (float)psc_text_width(&g->p->base, PSC_FONT_BAR_BOLD, text) + 18;
    }
    return w;
}

/* False when they do not fit side by side. */
static bool set_out(struct psc_arena_page *g, const struct psc_arena_home_view *h, struct tree *t, float x0, float x1)
{
    float x = x0;
    for (uint32_t i = 0; i < t->n; i++) {
        t->list[i].x0 = x;
        t->list[i].x1 = x + bucket_width(g, h, &t->list[i]);
        x = t->list[i].x1 + 8;
    }
    return x - 8 <= x1;
}

static void put_edge(struct psc_arena_page *g, const struct tree *t, const struct bucket *b, float y)
{
    if (b->up == PSC_NONE)
        return;
    const struct bucket *up = &t->list[b->up];
    float from = (up->x0 + up->x1) / 2, to = (b->x0 + b->x1) / 2, top = y + (float)up->depth * LEVEL + CHIP_H, below = y + (float)b->depth * LEVEL;
    bool walked = b->step && up->step;
    psc_put_line(&g->p->base, from, top, from, (top + below) / 2, walked ? 2 : 1, walked ? PSC_COL_SELECT : PSC_COL_DIM, PSC_UNBROKEN);
    psc_put_line(&g->p->base, from, (top + below) / 2, to, (top + below) / 2, walked ? 2 : 1, walked ? PSC_COL_SELECT : PSC_COL_DIM, PSC_UNBROKEN);
    psc_put_line(&g->p->base, to, (top + below) / 2, to, below, walked ? 2 : 1, walked ? PSC_COL_SELECT : PSC_COL_DIM, PSC_UNBROKEN);
}

static void put_bucket(struct psc_arena_page *g, const struct psc_arena_home_view *h, const struct bucket *b, float y)
{
    float top = y + (float)b->depth * LEVEL, x;
    char size[24], asked[24], text[48];
    bool small = b->step && b->capacity < h->asked;
    x = b->x0 + psc_panel_line(g->p, PSC_FONT_AXIS_BOLD, PSC_LEFT, small ? PSC_COL_DIM : PSC_COL_INK, say_bucket(b, text, sizeof text), b->x0,
                               b->x1 + 20, top + CHIP_H / 2) + 5;
    for (uint32_t i = b->first; i < b->first + b->n && x >= 0; i++)
        x = put_chip(g, h, &h->buckets[i], x, b->x1 + 40, top, false);
    if (!b->step)
        return;
    struct psc_area a = {b->x0 - 3, top - 2, b->x1 - 1, top + CHIP_H + 2};
    psc_panel_frame(g->p, a, 1, PSC_COL_SELECT, PSC_UNBROKEN);
    psc_panel_tip(g->p, (struct psc_area){a.x0, a.y0, b->x0 + 30, a.y1}, PSC_NO_POSITION, "Step %u of the search for %s: %s is %s", b->step,
                  psc_bytes_text(h->asked, asked, sizeof asked), psc_bytes_text(b->capacity, size, sizeof size),
                  small ? "too small: on to the larger ones" : "large enough: is a smaller one, too?");
}

/* "slot 3 of 64 B is the smallest that is enough": not so where a rule is broken. */
static void say_taken(const struct psc_arena_home_view *h, char *text, size_t size)
{
    const struct psc_arena_free_view *best = NULL, *own = NULL;
    char capacity[24] = "?";
    for (uint32_t i = 0; i < h->bucket_n; i++) {
        const struct psc_arena_free_view *f = &h->buckets[i];
        own = f->slot == h->found_slot ? f : own;
        best = !best && is_seen(h, f) && f->capacity >= h->asked ? f : best;
    }
    if (own)
        psc_bytes_text(own->capacity, capacity, sizeof capacity);
    snprintf(text, size, "slot %u of %s is %s", h->found_slot, capacity,
             own && best && own->capacity != best->capacity ? "taken, not the smallest that is enough" : "the smallest that is enough");
}

static bool sees_any(const struct psc_arena_home_view *h)
{
    for (uint32_t i = 0; i < h->bucket_n; i++)
        if (is_seen(h, &h->buckets[i]))
            return true;
    return false;
}

/* What the search came to, in one line; how long it was where it is drawn. */
static void say_search(struct psc_arena_page *g, const struct psc_arena_home_view *h, const struct tree *drawn, float x0, float x1, float y)
{
    char text[200], steps[48] = "", taken[96], a[24];
    const char *asked = psc_bytes_text(h->asked, a, sizeof a);
    if (drawn)
        snprintf(steps, sizeof steps, "%u size%s looked at, ", drawn->steps, drawn->steps == 1 ? "" : "s");
    switch (h->found) {
    case PSC_FOUND_AGAIN:
        say_taken(h, taken, sizeof taken);
        snprintf(text, sizeof text, "%s asked: %s%s", asked, steps, taken);
        break;
    case PSC_FOUND_NEW:
        snprintf(text, sizeof text, "%s asked: %s%s; slot %u was unused and gets a new block", asked, steps,
                 sees_any(h) ? "none is enough" : "no block is free", h->found_slot);
        break;
    case PSC_FOUND_GROWN:
        snprintf(text, sizeof text, "%s asked: none is enough, no slot is unused; the largest, slot %u, is grown", asked, h->found_slot);
        break;
    default:
        snprintf(text, sizeof text, "nothing is asked for here");
        break;
    }
    psc_panel_line(g->p, PSC_FONT_AXIS, PSC_LEFT, h->found == PSC_FOUND_NOTHING ? PSC_COL_DIM : h->found == PSC_FOUND_GROWN ? PSC_COL_WARN_TEXT : PSC_COL_INK,
                   text, x0, x1, y + 7);
}

/* Sizes in a line: more than a tree is drawn of, or more than fit beside each other. */
static void put_line(struct psc_arena_page *g, const struct psc_arena_home_view *h, float x0, float x1, float y)
{
    float x = x0;
    uint32_t shown = 0;
    for (uint32_t i = 0; i < h->bucket_n; i++) {
        const struct psc_arena_free_view *f = &h->buckets[i];
        if (!i || h->buckets[i - 1].capacity != f->capacity) { /* a bucket begins with its size */
            char size[24];
            float w = (float)psc_text_width(&g->p->base, PSC_FONT_AXIS_BOLD, psc_bytes_text(f->capacity, size, sizeof size));
            if (x + w + 40 > x1 - 50)
                break;
            x += i ? 8 : 0;
            x += psc_panel_line(g->p, PSC_FONT_AXIS_BOLD, PSC_LEFT, PSC_COL_INK, size, x, x1, y + CHIP_H / 2) + 5;
        }
        float next = put_chip(g, h, f, x, x1 - 50, y, false);
        if (next < 0)
            break;
        x = next;
        shown++;
    }
    if (!h->bucket_n)
        psc_panel_line(g->p, PSC_FONT_AXIS, PSC_LEFT, PSC_COL_DIM, "none: nothing was given back yet, or all of it is in use", x0, x1, y + CHIP_H / 2);
    if (shown < h->bucket_n) {
        char text[32];
        snprintf(text, sizeof text, "+%u", h->bucket_n - shown);
        psc_panel_line(g->p, PSC_FONT_AXIS, PSC_LEFT, PSC_COL_DIM, text, x, x1, y + CHIP_H / 2);
    }
}

/* Room for a tree, the same at every position: as high as one of all slots, to a limit. */
static uint32_t levels_of(const struct psc_arena_page *g)
{
    const struct psc_arena_track *t = g->v->axis->track;
    uint32_t levels = 1;
    for (uint32_t k = 0; k < g->v->look.home_n; k++)
        while (t->slot_n[k] >> levels && levels < (g->low ? 2u : 3u))
            levels++;
    return levels;
}

static float put_buckets(struct psc_arena_page *g, const struct psc_arena_home_view *h, float x0, float x1, float y)
{
    struct tree t = {.n = 0};
    bool small = list_buckets(h, &t);
    uint32_t levels = levels_of(g);
    if (small)
        hang(&t);
    if (small && h->found != PSC_FOUND_NOTHING)
        search(&t, h->asked);
    say_search(g, h, small ? &t : NULL, x0, x1, y);
    y += 19;
    if (!small || t.n < 2 || t.levels > levels || !set_out(g, h, &t, x0 + 4, x1)) {
        put_line(g, h, x0, x1, y);
        return y + (float)levels * LEVEL;
    }
    for (uint32_t i = 0; i < t.n; i++)
        put_edge(g, &t, &t.list[i], y);
    for (uint32_t i = 0; i < t.n; i++)
        put_bucket(g, h, &t.list[i], y);
    return y + (float)levels * LEVEL;
}

/* ---- evictions ----------------------------------------------------------------------------------------------------------- */

static float put_queue(struct psc_arena_page *g, const struct psc_arena_home_view *h, float x0, float x1, float y)
{
    float x = x0 + psc_panel_line(g->p, PSC_FONT_AXIS, PSC_LEFT, PSC_COL_DIM, h->queue_n ? "out first" : "nothing to evict", x0, x1,
                                  y + CHIP_H / 2) + 6;
    if (!h->queue_n)
        return y + CHIP_H + 5;
    uint32_t shown = 0;
    psc_panel_arrow(g->p, x, y + CHIP_H / 2, x + 16, y + CHIP_H / 2, 1, PSC_COL_DIM, PSC_UNBROKEN);
    x += 22;
    for (; shown < h->queue_n; shown++) {
        float next = put_chip(g, h, &h->queue[shown], x, x1 - 40, y, true);
        if (next < 0)
            break;
        x = next;
    }
    if (shown < h->queue_n) {
        char text[32];
        snprintf(text, sizeof text, "+%u", h->queue_n - shown);
        psc_panel_line(g->p, PSC_FONT_AXIS, PSC_LEFT, PSC_COL_DIM, text, x, x1, y + CHIP_H / 2);
    }
    return y + CHIP_H + 5;
}

/* What is kept against what may be kept. */
static float put_cap(struct psc_arena_page *g, const struct psc_arena_home_view *h, float x0, float x1, float y)
{
    uint64_t cap = h->look->arena->cap, kept = h->look->figures.retained;
    char text[96], a[24], b[24];
    if (cap == PSC_ARENA_NO_CAP) {
        snprintf(text, sizeof text, "%s kept free, no cap: nothing is evicted", psc_bytes_text(kept, a, sizeof a));
        psc_panel_line(g->p, PSC_FONT_AXIS, PSC_LEFT, PSC_COL_DIM, text, x0, x1, y + 7);
        return y + 18;
    }
    double most = fmax((double)(cap > kept ? cap : kept) * 1.25, 1);
    float bar = x0 + (x1 - x0) * 0.5f, line = floorf(x0 + (bar - x0) * (float)((double)cap / most)) + 0.5f;
    psc_panel_frame(g->p, (struct psc_area){x0, y + 2, bar, y + 13}, 1, PSC_COL_RULE, PSC_UNBROKEN);
    psc_put_pattern(&g->p->base, x0 + 1, y + 3, x0 + 1 + (bar - x0 - 2) * (float)((double)kept / most), y + 12, PSC_COL_IO_FILL, PSC_STRIPES,
                    PSC_COL_IO_EDGE);
    psc_put_line(&g->p->base, line, y, line, y + 15, 2, PSC_COL_WARN_TEXT, PSC_UNBROKEN);
    snprintf(text, sizeof text, "%s kept free, cap %s", psc_bytes_text(kept, a, sizeof a), psc_bytes_text(cap, b, sizeof b));
    psc_panel_line(g->p, PSC_FONT_AXIS, PSC_LEFT, PSC_COL_INK, text, bar + 8, x1, y + 7);
    psc_panel_tip(g->p, (struct psc_area){x0, y, x1, y + 15}, PSC_NO_POSITION,
                  "%s. Over the cap line the block that has been free for longest goes back to the system", text);
    return y + 18;
}

float psc_arena_put_free(struct psc_arena_page *g, uint32_t home, float x0, float x1, float y)
{
    const struct psc_arena_home_view *h = &g->v->homes[home];
    y = psc_panel_head(g->p, x0, x1, y, "FREE BLOCKS", "by capacity; the smallest that is large enough is taken");
    y = put_buckets(g, h, x0, x1, y);
    y = put_queue(g, h, x0, x1, y);
    return put_cap(g, h, x0, x1, y) + 4;
}
