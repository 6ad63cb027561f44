#include "core/plan/offsets/place.h"

#include <string.h>

/* ---- who is beside whom --------------------------------------------------------------------------------------- */

/* until, and how many pairs there are. */
static void count_pairs(struct psc_beside *b)
{
    const struct psc_offsets_problem *p = b->p;
    uint32_t next = 0;
    /* boxes by end: those that begin before this end */
    for (uint32_t e = 0; e < p->box_n; e++) {
        uint32_t i = p->by_end[e];
        while (next < p->box_n && p->boxes[p->by_begin[next]].begin < p->boxes[i].end)
            next++;
        b->until[b->place_of[i]] = next;
        b->pair_n += next - b->place_of[i] - 1;
    }
}

/* Fills `earlier`: the live boxes stand in an array, from which the ended ones are taken out. */
static bool list_earlier(struct psc_beside *b, struct psc_arena *arena)
{
    const struct psc_offsets_problem *p = b->p;
    struct psc_arena_mark mark;
    uint32_t *live, *at, live_n = 0, e = 0;
    b->earlier = psc_arena_alloc(arena, (size_t)b->pair_n, sizeof *b->earlier);
    b->earlier_at = psc_arena_alloc(arena, (size_t)p->box_n + 1, sizeof *b->earlier_at);
    mark = psc_arena_mark(arena);
    live = psc_arena_alloc(arena, p->box_n, sizeof *live); /* places */
    at = psc_arena_alloc(arena, p->box_n, sizeof *at);     /* of a place in live */
    if (!b->earlier || !b->earlier_at || !live || !at)
        return false;
    b->earlier_at[0] = 0;
    for (uint32_t k = 0; k < p->box_n; k++) {
        uint32_t begin = p->boxes[p->by_begin[k]].begin;
        for (; p->boxes[p->by_end[e]].end <= begin; e++) {
            uint32_t gone = at[b->place_of[p->by_end[e]]];
            live[gone] = live[--live_n];
            at[live[gone]] = gone;
        }
        memcpy(b->earlier + b->earlier_at[k], live, live_n * sizeof *live);
        b->earlier_at[k + 1] = b->earlier_at[k] + live_n;
        at[k] = live_n;
        live[live_n++] = k;
    }
    psc_arena_rewind(arena, mark);
    return true;
}

bool psc_beside_build(struct psc_beside *b, const struct psc_offsets_problem *p, struct psc_arena *arena)
{
    *b = (struct psc_beside){.p = p};
    b->place_of = psc_arena_alloc(arena, p->box_n, sizeof *b->place_of);
    b->until = psc_arena_alloc(arena, p->box_n, sizeof *b->until);
    if (!b->place_of || !b->until)
        return false;
    for (uint32_t k = 0; k < p->box_n; k++)
        b->place_of[p->by_begin[k]] = k;
    count_pairs(b);
    b->listed = b->pair_n <= PSC_PAIRS_MAX;
    return !b->listed || list_earlier(b, arena);
}

/* ---- gaps ------------------------------------------------------------------------------------------------------ */

struct placing {
    const struct psc_beside *beside;
    struct psc_span *spans; /* of placed boxes beside the present one */
    uint32_t *around;       /* how many may be beside one box at most */
    uint64_t *offset;
    uint64_t *top;          /* [box_n], by place: end of a placed box, 0 while it is not placed */
    uint64_t *at;           /* [box_n], by place: begin of a placed box */
};

/* Adds a span to a sorted few, or to a heap of many that is sorted later. */
static void add_span(struct psc_span *spans, uint32_t n, struct psc_span span)
{
    enum { FEW = 48 };
    uint32_t k = n;
    for (; k && n < FEW && spans[k - 1].lo > span.lo; k--)
        spans[k] = spans[k - 1];
    spans[k] = span;
}

static void sort_spans(struct psc_span *spans, uint32_t n)
{
    static const uint32_t gaps[] = {1636804, 727468, 323318, 143696, 63864, 28384, 12615, 5606, 2491, 1107, 492, 218, 97, 43, 19, 8, 3, 1};
    for (size_t g = 0; g < sizeof gaps / sizeof *gaps; g++)
        for (uint32_t i = gaps[g]; i < n; i++) {
            struct psc_span span = spans[i];
            uint32_t k = i;
            for (; k >= gaps[g] && spans[k - gaps[g]].lo > span.lo; k -= gaps[g])
                spans[k] = spans[k - gaps[g]];
            spans[k] = span;
        }
}

static uint32_t gather(const struct placing *s, uint32_t place)
{
    const struct psc_beside *b = s->beside;
    uint32_t n = 0;
    for (uint32_t k = b->earlier_at[place]; k < b->earlier_at[place + 1]; k++) {
        uint32_t other = b->earlier[k];
        if (s->top[other])
            add_span(s->spans, n++, (struct psc_span){s->at[other], s->top[other]});
    }
    for (uint32_t other = place + 1; other < b->until[place]; other++)
        if (s->top[other])
            add_span(s->spans, n++, (struct psc_span){s->at[other], s->top[other]});
    if (n > 48)
        sort_spans(s->spans, n);
    return n;
}

static uint64_t choose(const struct placing *s, uint32_t n, uint64_t bytes, uint64_t align, enum psc_place_fit fit)
{
    uint64_t at = 0, best = 0, best_gap = UINT64_MAX;
    for (uint32_t k = 0; k < n; k++) {
        const struct psc_span *span = &s->spans[k];
        if (span->lo >= at && span->lo - at >= bytes && span->lo - at < best_gap) {
            best = at;
            best_gap = span->lo - at;
            if (fit == PSC_PLACE_FIRST || best_gap == bytes)
                return best;
        }
        if (span->hi > at)
            at = align > 1 ? psc_box_room(align, span->hi) : span->hi;
    }
    return best_gap == UINT64_MAX ? at : best;
}

static void put(struct placing *s, uint32_t place, uint64_t at)
{
    const struct psc_offsets_problem *p = s->beside->p;
    uint32_t i = p->by_begin[place];
    s->offset[i] = at;
    s->at[place] = at;
    s->top[place] = p->boxes[i].bytes ? at + psc_box_room(p->align, p->boxes[i].bytes) : 0;
}

/* ---- no lists: on top of what is there -------------------------------------------------------------------------- */

/* The height of the placed boxes over the steps: a tree of maxima where a mark counts for the whole subtree. */
struct skyline {
    uint64_t *most, *mark;
    uint32_t n;
};

static uint64_t above(const struct skyline *s, uint32_t i)
{
    uint64_t most = 0;
    for (i /= 2; i; i /= 2)
        if (s->mark[i] > most)
            most = s->mark[i];
    return most;
}

static uint64_t skyline_top(const struct skyline *s, uint32_t lo, uint32_t hi)
{
    uint32_t l = lo + s->n, r = hi + s->n;
    uint64_t most = above(s, l), other = above(s, r - 1);
    if (other > most)
        most = other;
    for (; l < r; l /= 2, r /= 2) {
        if (l & 1 && s->most[l++] > most)
            most = s->most[l - 1];
        if (r & 1 && s->most[--r] > most)
            most = s->most[r];
    }
    return most;
}

static void raise_up(struct skyline *s, uint32_t i)
{
    for (i /= 2; i; i /= 2) {
        uint64_t most = s->most[2 * i] > s->most[2 * i + 1] ? s->most[2 * i] : s->most[2 * i + 1];
        s->most[i] = most > s->mark[i] ? most : s->mark[i];
    }
}

static void skyline_raise(struct skyline *s, uint32_t lo, uint32_t hi, uint64_t to)
{
    for (uint32_t l = lo + s->n, r = hi + s->n; l < r; l /= 2, r /= 2) {
        uint32_t side[2], n = 0;
        if (l & 1)
            side[n++] = l++;
        if (r & 1)
            side[n++] = --r;
        for (uint32_t k = 0; k < n; k++) {
            s->mark[side[k]] = s->mark[side[k]] > to ? s->mark[side[k]] : to;
            s->most[side[k]] = s->most[side[k]] > to ? s->most[side[k]] : to;
        }
    }
    raise_up(s, lo + s->n);
    raise_up(s, hi - 1 + s->n);
}

static uint64_t own_align(const struct psc_offsets_problem *p, uint32_t i)
{
    return p->aligns && p->aligns[i] > p->align ? p->aligns[i] : p->align;
}

static enum psc_status pile_up(const struct psc_offsets_problem *p, const uint32_t *order, struct psc_arena *scratch,
                               uint64_t *offset, uint32_t *turn)
{
    struct skyline s = {.n = p->step_n};
    struct psc_arena_mark mark = psc_arena_mark(scratch);
    uint32_t placed = 0;
    s.most = psc_arena_alloc0(scratch, 2 * (size_t)s.n + 2, sizeof *s.most);
    s.mark = psc_arena_alloc0(scratch, 2 * (size_t)s.n + 2, sizeof *s.mark);
    if (!s.most || !s.mark)
        return PSC_ERR_NOMEM;
    for (int pass = 0; pass < 2; pass++) /* fixed ones first */
        for (uint32_t k = 0; k < p->box_n; k++) {
            uint32_t i = order[k];
            const struct psc_box *box = &p->boxes[i];
            bool fixed = p->fixed && p->fixed[i] != PSC_OFFSET_FREE;
            if (fixed != (pass == 0))
                continue;
            offset[i] = fixed ? p->fixed[i] : 0;
            turn[i] = placed++;
            if (!box->bytes)
                continue;
            if (!fixed)
                offset[i] = psc_box_room(own_align(p, i), skyline_top(&s, box->begin, box->end));
            skyline_raise(&s, box->begin, box->end, offset[i] + psc_box_room(p->align, box->bytes));
        }
    psc_arena_rewind(scratch, mark);
    return PSC_OK;
}

/* ---- the walk ----------------------------------------------------------------------------------------------------- */

static bool make_room(struct placing *s, struct psc_arena *scratch)
{
    const struct psc_beside *b = s->beside;
    uint32_t most = 0;
    for (uint32_t k = 0; k < b->p->box_n; k++) {
        uint32_t n = b->earlier_at[k + 1] - b->earlier_at[k] + b->until[k] - k - 1;
        most = n > most ? n : most;
    }
    s->spans = psc_arena_alloc(scratch, most, sizeof *s->spans);
    s->at = psc_arena_alloc(scratch, b->p->box_n, sizeof *s->at);
    s->top = psc_arena_alloc0(scratch, b->p->box_n, sizeof *s->top);
    return s->spans && s->at && s->top;
}

enum psc_status psc_place_beside(const struct psc_beside *b, const uint32_t *order, enum psc_place_fit fit,
                                 struct psc_arena *scratch, uint64_t *offset, uint32_t *turn)
{
    const struct psc_offsets_problem *p = b->p;
    struct placing s = {.beside = b, .offset = offset};
    struct psc_arena_mark mark = psc_arena_mark(scratch);
    uint32_t placed = 0;
    if (!b->listed)
        return pile_up(p, order, scratch, offset, turn);
    if (!make_room(&s, scratch))
        return PSC_ERR_NOMEM;
    for (uint32_t i = 0; p->fixed && i < p->box_n; i++)
        if (p->fixed[i] != PSC_OFFSET_FREE) {
            put(&s, b->place_of[i], p->fixed[i]);
            turn[i] = placed++;
        }
    for (uint32_t k = 0; k < p->box_n; k++) {
        uint32_t i = order[k], place = b->place_of[i];
        uint64_t bytes = psc_box_room(p->align, p->boxes[i].bytes);
        if (p->fixed && p->fixed[i] != PSC_OFFSET_FREE)
            continue;
        put(&s, place, bytes ? choose(&s, gather(&s, place), bytes, own_align(p, i), fit) : 0);
        turn[i] = placed++;
    }
    psc_arena_rewind(scratch, mark);
    return PSC_OK;
}

enum psc_status psc_place_in_order(const struct psc_offsets_problem *p, const uint32_t *order, enum psc_place_fit fit,
                                   struct psc_arena *scratch, uint64_t *offset, uint32_t *turn)
{
    struct psc_beside beside;
    struct psc_arena_mark mark = psc_arena_mark(scratch);
    enum psc_status status = psc_beside_build(&beside, p, scratch) ? PSC_OK : PSC_ERR_NOMEM;
    if (!status)
        status = psc_place_beside(&beside, order, fit, scratch, offset, turn);
    psc_arena_rewind(scratch, mark);
    return status;
}
