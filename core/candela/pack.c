#include "core/candela/pack.h"

#include "core/base/mem.h"

#include <stdlib.h>
#include <string.h>

struct entry {
    struct psc_candela_slot *slot;
    uint32_t index;
};

uint64_t psc_pack_align(uint64_t size)
{
    uint64_t a = 128, b = size;
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return size ? 128 / a : 1;
}

static int longest_first(const void *x, const void *y)
{
    const struct entry *a = x, *b = y;
    if (a->slot->len != b->slot->len)
        return a->slot->len > b->slot->len ? -1 : 1;
    if (a->slot->start != b->slot->start)
        return a->slot->start < b->slot->start ? -1 : 1;
    return a->index < b->index ? -1 : 1;
}

static uint64_t up(uint64_t offset, uint64_t align)
{
    return (offset + align - 1) / align * align;
}

static bool together(const struct psc_candela_slot *a, const struct psc_candela_slot *b, bool touch)
{
    return touch ? a->start < b->end && b->start < a->end : a->start <= b->end && b->start <= a->end;
}

uint64_t psc_pack_fit(const struct psc_candela_slot *s, struct psc_candela_slot *const *placed, uint32_t n, uint64_t align,
                      bool touch)
{
    uint64_t lo = 0, best = UINT64_MAX, tightest = UINT64_MAX;
    for (uint32_t k = 0; k < n; k++) {
        const struct psc_candela_slot *p = placed[k];
        if (!together(p, s, touch))
            continue;
        uint64_t at = up(lo, align);
        if (p->offset > at && p->offset - at >= s->len && p->offset - at - s->len < tightest) {
            best = at;
            tightest = p->offset - at - s->len;
        }
        if (p->offset + p->len > lo)
            lo = p->offset + p->len;
    }
    return best != UINT64_MAX ? best : up(lo, align);
}

enum psc_status psc_pack(struct psc_candela_slot *slots, uint32_t n, uint64_t align, bool touch, uint64_t *ret_len,
                         struct psc_error *reterr)
{
    struct entry *order = psc_alloc(((size_t)n + 1) * sizeof *order);
    struct psc_candela_slot **placed = psc_alloc(((size_t)n + 1) * sizeof *placed);
    uint32_t order_n = 0, placed_n = 0;
    uint64_t len = 0;
    for (uint32_t i = 0; order && placed && i < n; i++)
        if (slots[i].end != PSC_CANDELA_EVER)
            order[order_n++] = (struct entry){&slots[i], i};
    if (order_n)
        qsort(order, order_n, sizeof *order, longest_first);
    for (uint32_t i = 0; i < order_n; i++) {
        struct psc_candela_slot *s = order[i].slot;
        uint32_t at = 0, high = placed_n;
        s->offset = psc_pack_fit(s, placed, placed_n, align, touch);
        s->packed = true;
        if (s->offset + s->len > len)
            len = s->offset + s->len;
        while (at < high) {
            uint32_t mid = at + (high - at) / 2;
            if (placed[mid]->offset <= s->offset)
                at = mid + 1;
            else
                high = mid;
        }
        memmove(placed + at + 1, placed + at, (placed_n - at) * sizeof *placed);
        placed[at] = s;
        placed_n++;
    }
    bool failed = !order || !placed;
    psc_free(order);
    psc_free(placed);
    if (failed)
        return psc_fail_nomem(reterr);
    *ret_len = len;
    return PSC_OK;
}
