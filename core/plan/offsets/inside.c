#include "core/plan/offsets/inside.h"

#include <string.h>

#define NEVER UINT32_MAX /* the end of the arena's bottom and of its top */

struct filling {
    const struct psc_offsets_problem *p;
    uint64_t capacity, *offset;
    uint32_t *live, live_n; /* boxes by address; those that have ended are taken out by the next look */
};
struct found {
    uint64_t at, gap;
    uint32_t apart, place; /* steps between the two ends; before which of `live`, or PSC_NONE: nowhere yet */
};

static void weigh(struct found *best, uint64_t at, uint64_t gap, uint32_t beside, uint32_t end, uint32_t place)
{
    uint32_t apart = beside > end ? beside - end : end - beside;
    if (best->place == PSC_NONE || apart < best->apart || (apart == best->apart && gap < best->gap))
        *best = (struct found){.at = at, .gap = gap, .apart = apart, .place = place};
}

/* One pass over the boxes that are alive, each of which is kept or taken out. */
static struct found find_place(struct filling *f, const struct psc_box *box, uint64_t bytes)
{
    struct found best = {.place = PSC_NONE};
    uint64_t lo = 0;
    uint32_t below = NEVER, kept = 0;
    for (uint32_t k = 0; k <= f->live_n; k++) {
        const struct psc_box *next = k < f->live_n ? &f->p->boxes[f->live[k]] : NULL;
        uint64_t hi = next ? f->offset[f->live[k]] : f->capacity;
        if (next && next->end <= box->begin)
            continue;
        if (hi - lo >= bytes) {
            weigh(&best, lo, hi - lo, below, box->end, kept);
            weigh(&best, hi - bytes, hi - lo, next ? next->end : NEVER, box->end, kept);
        }
        if (!next)
            break;
        lo = hi + psc_box_room(f->p->align, next->bytes);
        below = next->end;
        f->live[kept++] = f->live[k];
    }
    f->live_n = kept;
    return best;
}

bool psc_place_inside(const struct psc_offsets_problem *p, uint64_t capacity, uint64_t *looks, uint32_t *live,
                      uint64_t *offset, uint32_t *turn)
{
    struct filling f = {.p = p, .capacity = capacity / p->align * p->align, .live = live, .offset = offset};
    for (uint32_t k = 0; k < p->box_n; k++) {
        uint32_t i = p->by_begin[k];
        uint64_t bytes = psc_box_room(p->align, p->boxes[i].bytes);
        struct found found = {0};
        turn[i] = k;
        offset[i] = 0;
        if (!bytes)
            continue;
        if (*looks <= f.live_n)
            return false;
        *looks -= f.live_n + 1;
        found = find_place(&f, &p->boxes[i], bytes);
        if (found.place == PSC_NONE)
            return false;
        offset[i] = found.at;
        memmove(live + found.place + 1, live + found.place, (f.live_n - found.place) * sizeof *live);
        live[found.place] = i;
        f.live_n++;
    }
    return true;
}
