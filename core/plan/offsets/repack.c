#include "core/plan/offsets/repack.h"

#include "core/base/mem.h"

#include <stdlib.h>
#include <string.h>

enum { EVICTED_MAX = 3, PLACES_MAX = 24 };

static uint64_t room(const struct psc_repack *l, uint32_t i)
{
    return psc_box_room(l->align, l->boxes[i].bytes);
}

/* ---- what is alive ---------------------------------------------------------------------------------------------- */

static void add_live(struct psc_repack *l, const struct psc_box *box, bool more)
{
    uint64_t bytes = psc_box_room(l->align, box->bytes);
    for (uint32_t s = box->begin; s < box->end; s++)
        l->live[s] = more ? l->live[s] + bytes : l->live[s] - bytes;
}

static void measure_bound(struct psc_repack *l)
{
    l->bound = 0;
    for (uint32_t s = 0; s < l->step_n; s++)
        l->bound = l->live[s] > l->bound ? l->live[s] : l->bound;
}

/* Of all boxes but one, PSC_NONE: of all. */
static uint64_t height_without(const struct psc_repack *l, uint32_t i)
{
    uint64_t height = 0;
    for (uint32_t k = 0; k < l->box_n; k++)
        if (k != i && l->offset[k] + room(l, k) > height)
            height = l->offset[k] + room(l, k);
    return height;
}

enum psc_status psc_repack_build(struct psc_arena *arena, const struct psc_offsets_problem *p,
                                 const struct psc_offsets *packing, struct psc_repack *ret, struct psc_error *reterr)
{
    struct psc_repack l = {.box_n = p->box_n, .step_n = p->step_n, .align = p->align ? p->align : 1};
    size_t n = p->box_n;
    if (p->aligns || p->fixed || packing->space_n != 1)
        return psc_fail(reterr, PSC_ERR_USAGE, "a layout that follows edits has one space, no fixed boxes and one alignment");
    l.boxes = psc_arena_alloc(arena, n, sizeof *l.boxes);
    l.offset = psc_arena_alloc(arena, n, sizeof *l.offset);
    l.spans = psc_arena_alloc(arena, n, sizeof *l.spans);
    l.beside = psc_arena_alloc(arena, n, sizeof *l.beside);
    l.live = psc_arena_alloc0(arena, (size_t)p->step_n + 1, sizeof *l.live);
    if (!l.boxes || !l.offset || !l.spans || !l.beside || !l.live)
        return psc_fail_nomem(reterr);
    for (uint32_t i = 0; i < l.box_n; i++) { /* what begins less what ends, summed up below */
        l.boxes[i] = p->boxes[i];
        l.offset[i] = packing->offset[i];
        l.live[l.boxes[i].begin] += room(&l, i);
        l.live[l.boxes[i].end] -= room(&l, i);
        l.sum += room(&l, i);
    }
    for (uint32_t s = 1; s < l.step_n; s++)
        l.live[s] += l.live[s - 1];
    measure_bound(&l);
    l.height = height_without(&l, PSC_NONE);
    *ret = l;
    return PSC_OK;
}

bool psc_repack_covers(const struct psc_repack *l, const struct psc_box *boxes, uint32_t box_n)
{
    bool good = box_n == l->box_n;
    for (uint32_t i = 0; good && i < box_n; i++)
        good = boxes[i].begin == l->boxes[i].begin && boxes[i].end == l->boxes[i].end && boxes[i].bytes <= l->boxes[i].bytes;
    return good;
}

/* ---- gaps ---------------------------------------------------------------------------------------------------------- */

/* A span stands in a struct psc_box: bytes is where it begins, begin the box. */
static int by_offset(const void *a, const void *b)
{
    const struct psc_box *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

/* The boxes beside one, by offset, into spans; those without bytes and `i` itself are not among them. */
static uint32_t gather(struct psc_repack *l, uint32_t i)
{
    uint32_t begin = l->boxes[i].begin, end = l->boxes[i].end, n = 0;
    for (uint32_t k = 0; k < l->box_n; k++)
        if (l->boxes[k].begin < end && begin < l->boxes[k].end && k != i && l->boxes[k].bytes)
            l->beside[n++] = k;
    for (uint32_t k = 0; k < n; k++)
        l->spans[k] = (struct psc_box){.bytes = l->offset[l->beside[k]], .begin = l->beside[k]};
    qsort(l->spans, n, sizeof *l->spans, by_offset);
    return n;
}

static bool is_free(const struct psc_repack *l, uint32_t n, uint64_t lo, uint64_t bytes)
{
    for (uint32_t k = 0; k < n; k++)
        if (l->spans[k].bytes < lo + bytes && lo < l->spans[k].bytes + room(l, l->spans[k].begin))
            return false;
    return true;
}

/* The smallest gap below `top` that is large enough, UINT64_MAX; *ret_above: the end of the highest. */
static uint64_t find_gap(const struct psc_repack *l, uint32_t n, uint64_t bytes, uint64_t top, uint64_t *ret_above)
{
    uint64_t at = 0, best = UINT64_MAX, best_gap = UINT64_MAX;
    for (uint32_t k = 0; k <= n; k++) {
        uint64_t end = k < n && l->spans[k].bytes < top ? l->spans[k].bytes : top;
        if (end > at && end - at >= bytes && end - at < best_gap) {
            best = at;
            best_gap = end - at;
        }
        if (k < n && l->spans[k].bytes + room(l, l->spans[k].begin) > at)
            at = l->spans[k].bytes + room(l, l->spans[k].begin);
    }
    *ret_above = at;
    return best;
}

/* Moves a box to where it is free below top; false: nowhere. */
static bool settle(struct psc_repack *l, uint32_t i, uint64_t top, uint64_t *ret_above)
{
    uint32_t n = gather(l, i);
    uint64_t at = find_gap(l, n, room(l, i), top, ret_above);
    if (at != UINT64_MAX)
        l->offset[i] = at;
    return at != UINT64_MAX;
}

/* ---- making room ---------------------------------------------------------------------------------------------------- */

struct place { uint64_t at; uint32_t evicted[EVICTED_MAX], n; };

/* Where the box could lie when at most EVICTED_MAX others go, by how many. */
static uint32_t list_places(struct psc_repack *l, uint32_t i, uint64_t top, struct place *places)
{
    uint32_t beside = gather(l, i), n = 0;
    uint64_t bytes = room(l, i);
    for (uint32_t most = 1; most <= EVICTED_MAX && n < PLACES_MAX; most++)
        for (uint32_t k = 0; k <= beside && n < PLACES_MAX; k++) {
            struct place place = {.at = k ? l->spans[k - 1].bytes + room(l, l->spans[k - 1].begin) : 0};
            bool fits = place.at <= top && bytes <= top - place.at;
            for (uint32_t o = 0; fits && o < beside; o++) {
                uint64_t lo = l->spans[o].bytes, hi = lo + room(l, l->spans[o].begin);
                if (lo >= place.at + bytes || place.at >= hi)
                    continue;
                fits = place.n < most;
                if (fits)
                    place.evicted[place.n++] = l->spans[o].begin;
            }
            if (fits && place.n == most)
                places[n++] = place;
        }
    return n;
}

/* Puts the box there and finds other places for those that lay there; undone when one has none. */
static bool take_place(struct psc_repack *l, uint32_t i, const struct place *place, uint64_t top)
{
    uint64_t was[EVICTED_MAX], before = l->offset[i], above;
    uint32_t k = 0;
    l->offset[i] = place->at;
    for (uint32_t e = 0; e < place->n; e++) { /* out of the way of each other */
        was[e] = l->offset[place->evicted[e]];
        l->offset[place->evicted[e]] = PSC_BYTES_MAX * (2 + e);
    }
    while (k < place->n && settle(l, place->evicted[k], top, &above))
        k++;
    if (k == place->n)
        return true;
    for (uint32_t e = 0; e < place->n; e++)
        l->offset[place->evicted[e]] = was[e];
    l->offset[i] = before;
    return false;
}

static uint32_t replace(struct psc_repack *l, uint32_t i, uint64_t top)
{
    struct place places[PLACES_MAX];
    uint32_t n;
    uint64_t above;
    if (settle(l, i, top, &above))
        return 1;
    n = list_places(l, i, top, places);
    for (uint32_t k = 0; k < n; k++)
        if (take_place(l, i, &places[k], top))
            return 1 + places[k].n;
    l->offset[i] = above;
    return 1;
}

enum psc_status psc_repack_edit(struct psc_repack *l, uint32_t i, const struct psc_box *box, uint32_t *ret_moved,
                                struct psc_error *reterr)
{
    uint64_t before, top, bytes = psc_box_room(l->align, box->bytes);
    if (i >= l->box_n || box->begin >= box->end || box->end > l->step_n)
        return psc_fail(reterr, PSC_ERR_USAGE, "box %u of %u in the steps [%u, %u) of %u", i, l->box_n, box->begin, box->end,
                        l->step_n);
    if (box->bytes > PSC_BYTES_MAX || l->sum - room(l, i) > PSC_BYTES_MAX - bytes)
        return psc_fail(reterr, PSC_ERR_TOO_BIG, "the boxes would ask for more than 2^60 bytes");
    before = l->offset[i];
    l->sum += bytes - room(l, i);
    add_live(l, &l->boxes[i], false);
    l->boxes[i] = *box;
    add_live(l, box, true);
    measure_bound(l);
    l->height = height_without(l, i);
    top = l->bound > l->height ? l->bound : l->height;
    *ret_moved = 0;
    if (box->bytes && (before + bytes > top || !is_free(l, gather(l, i), before, bytes))) {
        *ret_moved = replace(l, i, top);
        *ret_moved -= *ret_moved == 1 && l->offset[i] == before;
    }
    l->height = *ret_moved > 1 ? height_without(l, PSC_NONE) : l->offset[i] + bytes > l->height ? l->offset[i] + bytes : l->height;
    return PSC_OK;
}
