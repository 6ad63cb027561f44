#include "core/plan/offsets/inside.h"

#define NEVER UINT32_MAX /* the end of the arena's bottom and of its top */

struct gap { /* not empty */
    uint64_t lo, bytes;
    uint32_t below, above;         /* the boxes that it lies between */
    uint32_t below_end, above_end;
};
struct lying { /* a box while it lives */
    uint32_t below, above;         /* boxes */
    uint32_t gap;                  /* the one on it, PSC_NONE */
};
struct psc_filling {
    const struct psc_offsets_problem *p;
    struct gap *gaps;              /* in no order */
    struct lying *lying;           /* [box_n + 2] */
    uint32_t gap_n, bottom, top;   /* bottom and top stand behind the boxes */
};
struct psc_filling *psc_filling_new(const struct psc_offsets_problem *p, struct psc_arena *arena)
{
    struct psc_filling *s = psc_arena_alloc0(arena, 1, sizeof *s);
    if (!s)
        return NULL;
    s->p = p;
    s->bottom = p->box_n;
    s->top = p->box_n + 1;
    s->gaps = psc_arena_alloc(arena, (size_t)p->box_n + 1, sizeof *s->gaps);
    s->lying = psc_arena_alloc(arena, (size_t)p->box_n + 2, sizeof *s->lying);
    return s->gaps && s->lying ? s : NULL;
}

static uint32_t end_of(const struct psc_filling *s, uint32_t box)
{
    return box < s->p->box_n ? s->p->boxes[box].end : NEVER;
}

static uint64_t room_of(const struct psc_filling *s, uint32_t box)
{
    return psc_box_room(s->p->align, s->p->boxes[box].bytes);
}

static uint32_t distance(uint32_t a, uint32_t b)
{
    return a > b ? a - b : b - a;
}

/* ---- gaps ---------------------------------------------------------------------------------------------------------- */

static void set_gap(struct psc_filling *s, uint32_t g, uint64_t lo, uint64_t bytes, uint32_t below, uint32_t above)
{
    s->gaps[g] = (struct gap){lo, bytes, below, above, end_of(s, below), end_of(s, above)};
    s->lying[below].gap = g;
}

/* The last one takes its number. */
static void drop_gap(struct psc_filling *s, uint32_t g)
{
    struct gap *last = &s->gaps[--s->gap_n];
    s->lying[s->gaps[g].below].gap = PSC_NONE;
    if (g == s->gap_n)
        return;
    s->gaps[g] = *last;
    s->lying[last->below].gap = g;
}

/* Which gap a box of so many bytes, that ends at `end`, goes to; PSC_NONE: it fits nowhere. Nothing here branches, since no
 * branch could be guessed: `all` has every bit where the gap is better than the best so far. */
static uint32_t find_gap(const struct psc_filling *s, uint64_t bytes, uint32_t end)
{
    uint32_t best = PSC_NONE, least = UINT32_MAX; /* two ends are never so far apart */
    uint64_t best_bytes = 0, best_lo = 0;
    for (uint32_t g = 0; g < s->gap_n; g++) {
        const struct gap *gap = &s->gaps[g];
        uint32_t low = distance(gap->below_end, end), high = distance(gap->above_end, end);
        uint32_t apart = (high < low ? high : low) | -(uint32_t)(gap->bytes < bytes);
        uint64_t all = -(uint64_t)((apart < least) |
                                   ((apart == least) & ((gap->bytes < best_bytes) |
                                                        ((gap->bytes == best_bytes) & (gap->lo < best_lo)))));
        best ^= (best ^ g) & (uint32_t)all;
        least ^= (least ^ apart) & (uint32_t)all;
        best_bytes ^= (best_bytes ^ gap->bytes) & all;
        best_lo ^= (best_lo ^ gap->lo) & all;
    }
    return best;
}

/* ---- boxes ---------------------------------------------------------------------------------------------------------- */

/* Returns where the box lies: at the high end of the gap only when that is the better one. */
static uint64_t lay(struct psc_filling *s, uint32_t box, uint64_t bytes, uint32_t g)
{
    struct gap *gap = &s->gaps[g];
    uint32_t end = s->p->boxes[box].end;
    bool high = distance(gap->above_end, end) < distance(gap->below_end, end);
    uint64_t lo = gap->lo, rest = gap->bytes - bytes;
    s->lying[box] = (struct lying){gap->below, gap->above, PSC_NONE};
    s->lying[gap->below].above = s->lying[gap->above].below = box;
    gap->bytes = rest;
    if (!rest) {
        drop_gap(s, g);
    } else if (high) {
        gap->above = box;
        gap->above_end = end;
    } else {
        s->lying[gap->below].gap = PSC_NONE;
        s->lying[box].gap = g;
        gap->lo += bytes;
        gap->below = box;
        gap->below_end = end;
    }
    return high ? lo + rest : lo;
}

/* The bytes of a box that has ended and the gaps on both sides of it become one gap. */
static void lift(struct psc_filling *s, uint32_t box, uint64_t at)
{
    struct lying lying = s->lying[box];
    uint32_t g = s->lying[lying.below].gap;
    uint64_t lo = at, bytes = room_of(s, box);
    if (lying.gap != PSC_NONE) {
        bytes += s->gaps[lying.gap].bytes;
        drop_gap(s, lying.gap);
        g = s->lying[lying.below].gap;
    }
    if (g != PSC_NONE) {
        lo = s->gaps[g].lo;
        bytes += s->gaps[g].bytes;
    } else {
        g = s->gap_n++;
    }
    set_gap(s, g, lo, bytes, lying.below, lying.above);
    s->lying[lying.below].above = lying.above;
    s->lying[lying.above].below = lying.below;
}

static void clear(struct psc_filling *s, uint64_t capacity)
{
    s->gap_n = 0;
    s->lying[s->bottom] = (struct lying){PSC_NONE, s->top, PSC_NONE};
    s->lying[s->top] = (struct lying){s->bottom, PSC_NONE, PSC_NONE};
    if (capacity)
        set_gap(s, s->gap_n++, 0, capacity, s->bottom, s->top);
}

bool psc_filling_run(struct psc_filling *s, uint64_t capacity, uint64_t *looks, uint64_t *offset, uint32_t *turn)
{
    const struct psc_offsets_problem *p = s->p;
    uint32_t e = 0;
    clear(s, capacity / p->align * p->align);
    for (uint32_t k = 0; k < p->box_n; k++) {
        uint32_t i = p->by_begin[k];
        uint64_t bytes = psc_box_room(p->align, p->boxes[i].bytes);
        uint32_t g;
        turn[i] = k;
        offset[i] = 0;
        for (; p->boxes[p->by_end[e]].end <= p->boxes[i].begin; e++)
            if (p->boxes[p->by_end[e]].bytes)
                lift(s, p->by_end[e], offset[p->by_end[e]]);
        if (!bytes)
            continue;
        if (*looks < s->gap_n + PSC_FILLING_LOOKS)
            return false;
        *looks -= s->gap_n + PSC_FILLING_LOOKS;
        g = find_gap(s, bytes, p->boxes[i].end);
        if (g == PSC_NONE)
            return false;
        offset[i] = lay(s, i, bytes, g);
    }
    return true;
}
