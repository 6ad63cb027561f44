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

/* ---- who is alive together -------------------------------------------------------------------------------- */

/* Slots in the order of their starts, and over them a tree whose leaves are the ends of slots that are placed. Those that meet a slot in time start before it ends (a prefix) and end after it starts: subtrees where
 * none does are not entered. */
struct beside {
    struct psc_candela_slot **by_start; /* [n] */
    int64_t *latest;                    /* [2 size] -1: none */
    uint32_t n, size;
    uint64_t met;                       /* pairs gathered so far */
};
enum { PAIRS_MAX = 1 << 25 };           /* beyond these, slots go on top of what is there: nothing is quadratic */

static int by_start(const void *x, const void *y)
{
    const struct entry *a = x, *b = y;
    if (a->slot->start != b->slot->start)
        return a->slot->start < b->slot->start ? -1 : 1;
    return a->index < b->index ? -1 : 1;
}

static int by_offset(const void *x, const void *y)
{
    const struct psc_candela_slot *a = *(struct psc_candela_slot *const *)x, *b = *(struct psc_candela_slot *const *)y;
    if (a->offset != b->offset)
        return a->offset < b->offset ? -1 : 1;
    return a < b ? -1 : a > b;
}

static uint32_t begun(const struct beside *b, int64_t end)
{
    uint32_t lo = 0, hi = b->n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (b->by_start[mid]->start <= end)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* Placed slots that meet s in time, in no order; they are sorted by offset by who asks. */
static uint32_t gather(struct beside *b, const struct psc_candela_slot *s, struct psc_candela_slot **ret)
{
    struct { uint32_t node, from, n; } stack[64];
    uint32_t depth = 1, found = 0, prefix = begun(b, s->end);
    stack[0].node = 1;
    stack[0].from = 0;
    stack[0].n = b->size;
    while (depth) {
        uint32_t node = stack[--depth].node, from = stack[depth].from, n = stack[depth].n;
        if (from >= prefix || b->latest[node] < s->start)
            continue;
        if (n == 1) {
            ret[found++] = b->by_start[from];
            continue;
        }
        stack[depth].node = 2 * node + 1;
        stack[depth].from = from + n / 2;
        stack[depth++].n = n / 2;
        stack[depth].node = 2 * node;
        stack[depth].from = from;
        stack[depth++].n = n / 2;
    }
    b->met += found;
    return found;
}

static void place(struct beside *b, uint32_t at)
{
    for (uint32_t node = at + b->size; node; node /= 2)
        b->latest[node] = b->latest[node] > b->by_start[at]->end ? b->latest[node] : b->by_start[at]->end;
}

static bool make_beside(struct beside *b, struct entry *order, uint32_t n, uint32_t *at_of)
{
    b->n = n;
    for (b->size = 1; b->size < n; b->size *= 2) {}
    b->by_start = psc_alloc(((size_t)n + 1) * sizeof(*b->by_start));
    b->latest = psc_alloc(2 * (size_t)b->size * sizeof *b->latest);
    if (!b->by_start || !b->latest)
        return false;
    memset(b->latest, 0xff, 2 * (size_t)b->size * sizeof *b->latest);
    if (n)
        qsort(order, n, sizeof *order, by_start);
    for (uint32_t i = 0; i < n; i++) {
        b->by_start[i] = order[i].slot;
        at_of[order[i].index] = i;
    }
    return true;
}

enum psc_status psc_pack(struct psc_candela_slot *slots, uint32_t n, uint64_t align, bool touch, uint64_t *ret_len,
                         struct psc_error *reterr)
{
    struct entry *order = psc_alloc(((size_t)n + 1) * sizeof *order);
    struct psc_candela_slot **near = psc_alloc(((size_t)n + 1) * sizeof(*near));
    uint32_t *at_of = psc_alloc(((size_t)n + 1) * sizeof *at_of), order_n = 0;
    struct beside beside = {0};
    uint64_t len = 0;
    for (uint32_t i = 0; order && i < n; i++)
        if (slots[i].end != PSC_CANDELA_EVER)
            order[order_n++] = (struct entry){&slots[i], i};
    bool failed = !order || !near || !at_of || !make_beside(&beside, order, order_n, at_of);
    if (!failed && order_n)
        qsort(order, order_n, sizeof *order, longest_first);
    for (uint32_t i = 0; !failed && i < order_n; i++) {
        struct psc_candela_slot *s = order[i].slot;
        if (beside.met > PAIRS_MAX) {
            s->offset = up(len, align);
        } else {
            uint32_t near_n = gather(&beside, s, near);
            if (near_n)
                qsort(near, near_n, sizeof(*near), by_offset);
            s->offset = psc_pack_fit(s, near, near_n, align, touch);
            place(&beside, at_of[order[i].index]);
        }
        s->packed = true;
        if (s->offset + s->len > len)
            len = s->offset + s->len;
    }
    psc_free(order);
    psc_free(near);
    psc_free(at_of);
    psc_free(beside.by_start);
    psc_free(beside.latest);
    if (failed)
        return psc_fail_nomem(reterr);
    *ret_len = len;
    return PSC_OK;
}
