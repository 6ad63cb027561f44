#include "core/plan/offsets/place.h"

#include "core/plan/offsets/shelf.h"

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

/* The live boxes stand in an array, from which the ended ones are taken out. */
bool psc_beside_list(struct psc_beside *b, struct psc_arena *arena)
{
    const struct psc_offsets_problem *p = b->p;
    struct psc_arena_mark mark;
    uint32_t *live, *at, live_n = 0, e = 0;
    if (b->earlier)
        return true;
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

/* With lists a box pays for each neighbour, and more for each the more there are to sort; on the shelf it pays for every box,
 * but little. They cost the same at about 16 + 6 n boxes to each of n neighbours. */
static enum psc_beside_way choose_way(uint32_t box_n, uint64_t pair_n)
{
    uint64_t around = box_n ? pair_n / box_n : 0;
    if (pair_n > PSC_PAIRS_MAX)
        return PSC_BESIDE_PILED;
    return box_n <= PSC_SHELF_MAX && box_n <= around * (16 + 6 * around) ? PSC_BESIDE_SHELVED : PSC_BESIDE_LISTED;
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
    b->way = choose_way(p->box_n, b->pair_n);
    return b->way != PSC_BESIDE_LISTED || psc_beside_list(b, arena);
}

/* ---- gaps ------------------------------------------------------------------------------------------------------ */

/* The gap looked for while the spans beside a box come by address. Gaps are at most 2^60 bytes, so one comparison tells
 * whether one is large enough and smaller than the best: what is too small, or no gap, wraps around. */
struct seek {
    uint64_t bytes, align;
    enum psc_place_fit fit;
    uint64_t at;              /* the bytes below it are taken, or not large enough */
    uint64_t best, more;      /* where the best gap begins, and what it has beyond bytes */
};

#define NO_GAP (UINT64_MAX / 4)

/* true: no other gap can be better. */
static inline bool pass_span(struct seek *seek, const struct psc_span *span)
{
    uint64_t more = span->lo - seek->at - seek->bytes, top = psc_box_room(seek->align, span->hi);
    if (more < seek->more) {
        seek->best = seek->at;
        seek->more = more;
        if (seek->fit == PSC_PLACE_FIRST || !more)
            return true;
    }
    seek->at = top > seek->at ? top : seek->at;
    return false;
}

static inline uint64_t end_seek(const struct seek *seek)
{
    return seek->more == NO_GAP ? seek->at : seek->best;
}

enum { FEW = 8, SOME = 40 };

struct placing {
    const struct psc_beside *beside;
    enum psc_place_fit fit;
    uint64_t *offset;
    struct psc_shelf shelf;
    /* by lists */
    struct psc_span *found;  /* of placed boxes beside the present one, and one to spare */
    struct psc_span *placed; /* [box_n], by place; hi is 0 while it is not placed */
};

static void sort_few(const struct psc_span *from, struct psc_span *to, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        struct psc_span span = from[i];
        uint32_t k = i;
        for (; k && to[k - 1].lo > span.lo; k--)
            to[k] = to[k - 1];
        to[k] = span;
    }
}

/* Counts how many lie below each: more comparisons than need be, but none that is guessed wrong. */
static void sort_some(const struct psc_span *from, struct psc_span *to, uint32_t n)
{
    uint32_t below[SOME];
    for (uint32_t i = 0; i < n; i++) {
        uint32_t rank = 0;
        for (uint32_t k = 0; k < i; k++) {
            bool above = from[k].lo > from[i].lo;
            below[k] += above;
            rank += !above;
        }
        below[i] = rank;
    }
    for (uint32_t i = 0; i < n; i++)
        to[below[i]] = from[i];
}

static void sort_many(struct psc_span *spans, uint32_t n)
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
    struct psc_span *found = s->found;
    uint32_t n = 0;
    for (uint32_t k = b->earlier_at[place]; k < b->earlier_at[place + 1]; k++) {
        struct psc_span span = s->placed[b->earlier[k]];
        found[n] = span;
        n += span.hi != 0;
    }
    for (uint32_t other = place + 1; other < b->until[place]; other++) {
        struct psc_span span = s->placed[other];
        found[n] = span;
        n += span.hi != 0;
    }
    return n;
}

static uint64_t choose_listed(const struct placing *s, uint32_t place, uint64_t bytes, uint64_t align)
{
    struct seek seek = {.bytes = bytes, .align = align, .fit = s->fit, .more = NO_GAP};
    uint32_t n = gather(s, place);
    struct psc_span sorted[SOME];
    const struct psc_span *spans = n > SOME ? s->found : sorted;
    if (n > SOME)
        sort_many(s->found, n);
    else if (n > FEW)
        sort_some(s->found, sorted, n);
    else
        sort_few(s->found, sorted, n);
    for (uint32_t k = 0; k < n && !pass_span(&seek, &spans[k]); k++)
        ;
    return end_seek(&seek);
}

static uint64_t choose_shelved(const struct placing *s, uint32_t place, uint64_t bytes, uint64_t align)
{
    struct seek seek = {.bytes = bytes, .align = align, .fit = s->fit, .more = NO_GAP};
    for (uint32_t first = 0; first < s->shelf.n; first += 64)
        for (uint64_t met = psc_shelf_met(&s->shelf, first, place, s->beside->until[place]); met; met &= met - 1)
            if (pass_span(&seek, &s->shelf.spans[first + (uint32_t)__builtin_ctzll(met)]))
                return end_seek(&seek);
    return end_seek(&seek);
}

static void put(struct placing *s, uint32_t place, uint64_t at)
{
    const struct psc_offsets_problem *p = s->beside->p;
    uint32_t i = p->by_begin[place];
    struct psc_span span = {at, at + psc_box_room(p->align, p->boxes[i].bytes)};
    s->offset[i] = at;
    if (!p->boxes[i].bytes)
        return;
    if (s->beside->way == PSC_BESIDE_SHELVED)
        psc_shelf_put(&s->shelf, place, s->beside->until[place], span);
    else
        s->placed[place] = span;
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

static enum psc_status pile_up(const struct psc_offsets_problem *p, const uint32_t *order, uint64_t below,
                               struct psc_arena *scratch, uint64_t *offset, uint32_t *turn, bool *ret_below)
{
    struct skyline s = {.n = p->step_n};
    struct psc_arena_mark mark = psc_arena_mark(scratch);
    uint32_t placed = 0;
    s.most = psc_arena_alloc0(scratch, 2 * (size_t)s.n + 2, sizeof *s.most);
    s.mark = psc_arena_alloc0(scratch, 2 * (size_t)s.n + 2, sizeof *s.mark);
    if (!s.most || !s.mark)
        return PSC_ERR_NOMEM;
    for (int pass = 0; pass < 2; pass++) /* fixed ones first */
        for (uint32_t k = 0; k < p->box_n && *ret_below; k++) {
            uint32_t i = order[k];
            const struct psc_box *box = &p->boxes[i];
            uint64_t top;
            bool fixed = p->fixed && p->fixed[i] != PSC_OFFSET_FREE;
            if (fixed != (pass == 0))
                continue;
            offset[i] = fixed ? p->fixed[i] : 0;
            turn[i] = placed++;
            if (!box->bytes)
                continue;
            if (!fixed)
                offset[i] = psc_box_room(own_align(p, i), skyline_top(&s, box->begin, box->end));
            top = offset[i] + psc_box_room(p->align, box->bytes);
            skyline_raise(&s, box->begin, box->end, top);
            *ret_below = fixed || top < below;
        }
    psc_arena_rewind(scratch, mark);
    return PSC_OK;
}

/* ---- the walk ----------------------------------------------------------------------------------------------------- */

static bool make_room(struct placing *s, struct psc_arena *scratch)
{
    const struct psc_beside *b = s->beside;
    uint32_t most = 0;
    if (b->way == PSC_BESIDE_SHELVED)
        return psc_shelf_init(&s->shelf, b->p->box_n, scratch);
    for (uint32_t k = 0; k < b->p->box_n; k++) {
        uint32_t n = b->earlier_at[k + 1] - b->earlier_at[k] + b->until[k] - k - 1;
        most = n > most ? n : most;
    }
    s->found = psc_arena_alloc(scratch, (size_t)most + 1, sizeof *s->found);
    s->placed = psc_arena_alloc0(scratch, b->p->box_n, sizeof *s->placed);
    return s->found && s->placed;
}

static uint64_t choose(const struct placing *s, uint32_t i, uint64_t bytes)
{
    uint32_t place = s->beside->place_of[i];
    uint64_t align = own_align(s->beside->p, i);
    return s->beside->way == PSC_BESIDE_SHELVED ? choose_shelved(s, place, bytes, align)
                                                : choose_listed(s, place, bytes, align);
}

enum psc_status psc_place_beside(const struct psc_beside *b, const uint32_t *order, enum psc_place_fit fit, uint64_t below,
                                 struct psc_arena *scratch, uint64_t *offset, uint32_t *turn, bool *ret_below)
{
    const struct psc_offsets_problem *p = b->p;
    struct placing s = {.beside = b, .fit = fit, .offset = offset};
    struct psc_arena_mark mark = psc_arena_mark(scratch);
    uint32_t placed = 0;
    *ret_below = true;
    if (b->way == PSC_BESIDE_PILED)
        return pile_up(p, order, below, scratch, offset, turn, ret_below);
    if (!make_room(&s, scratch))
        return PSC_ERR_NOMEM;
    for (uint32_t i = 0; p->fixed && i < p->box_n; i++)
        if (p->fixed[i] != PSC_OFFSET_FREE) {
            put(&s, b->place_of[i], p->fixed[i]);
            turn[i] = placed++;
        }
    for (uint32_t k = 0; k < p->box_n && *ret_below; k++) {
        uint32_t i = order[k];
        uint64_t bytes = psc_box_room(p->align, p->boxes[i].bytes), at;
        if (p->fixed && p->fixed[i] != PSC_OFFSET_FREE)
            continue;
        at = bytes ? choose(&s, i, bytes) : 0;
        *ret_below = at + bytes < below;
        put(&s, b->place_of[i], at);
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
    bool below;
    if (!status)
        status = psc_place_beside(&beside, order, fit, UINT64_MAX, scratch, offset, turn, &below);
    psc_arena_rewind(scratch, mark);
    return status;
}
