/* The checks of a packing: pair by pair, naive on purpose; and by a sweep, for many boxes. */
#include "core/plan/offsets/strategies.h"

static enum psc_status check_box(const struct psc_offsets_problem *p, const struct psc_offsets *packing, uint32_t i,
                                 struct psc_error *reterr)
{
    uint64_t align = p->align ? p->align : 1, at = packing->offset[i];
    uint32_t s = p->space ? p->space[i] : 0;
    if (at % align || (p->aligns && p->aligns[i] && at % p->aligns[i]))
        return psc_fail(reterr, PSC_ERR_PLAN, "box %u lies at byte %llu, which is no multiple of its alignment", i,
                        (unsigned long long)at);
    if (p->fixed && p->fixed[i] != PSC_OFFSET_FREE && p->fixed[i] != at)
        return psc_fail(reterr, PSC_ERR_PLAN, "box %u lies at byte %llu, it is fixed at %llu", i, (unsigned long long)at,
                        (unsigned long long)p->fixed[i]);
    uint64_t bytes = p->boxes[i].bytes, height = packing->spaces[s].height;
    if (at > height || bytes > height - at)
        return psc_fail(reterr, PSC_ERR_PLAN, "box %u of %llu bytes lies at byte %llu, it ends above the height of %llu", i,
                        (unsigned long long)bytes, (unsigned long long)at, (unsigned long long)height);
    return PSC_OK;
}

static enum psc_status check_pair(const struct psc_offsets_problem *p, const struct psc_offsets *packing, uint32_t i,
                                  uint32_t k, struct psc_error *reterr)
{
    const struct psc_box *a = &p->boxes[i], *b = &p->boxes[k];
    uint64_t x = packing->offset[i], y = packing->offset[k];
    if ((p->space && p->space[i] != p->space[k]) || a->begin >= b->end || b->begin >= a->end || x >= y + b->bytes ||
        y >= x + a->bytes || !a->bytes || !b->bytes)
        return PSC_OK;
    uint64_t x_end = x + a->bytes, y_end = y + b->bytes;
    return psc_fail(reterr, PSC_ERR_PLAN, "boxes %u and %u share the bytes [%llu, %llu) and live at the same time in the "
                    "steps [%u, %u)", i, k, (unsigned long long)(x > y ? x : y),
                    (unsigned long long)(x_end < y_end ? x_end : y_end), a->begin > b->begin ? a->begin : b->begin,
                    a->end < b->end ? a->end : b->end);
}

static enum psc_status check_bound(const struct psc_offsets *packing, uint32_t s, struct psc_error *reterr)
{
    const struct psc_offsets_space *space = &packing->spaces[s];
    if (space->height >= space->bound)
        return PSC_OK;
    return psc_fail(reterr, PSC_ERR_PLAN, "space %u has a height of %llu below its lower bound of %llu", s,
                    (unsigned long long)space->height, (unsigned long long)space->bound);
}

enum psc_status psc_offsets_check(const struct psc_offsets_problem *p, const struct psc_offsets *packing,
                                  struct psc_error *reterr)
{
    enum psc_status status = PSC_OK;
    for (uint32_t i = 0; !status && i < p->box_n; i++)
        status = check_box(p, packing, i, reterr);
    for (uint32_t i = 0; !status && i < p->box_n; i++)
        for (uint32_t k = i + 1; !status && k < p->box_n; k++)
            status = check_pair(p, packing, i, k, reterr);
    for (uint32_t s = 0; !status && s < packing->space_n; s++)
        status = check_bound(packing, s, reterr);
    return status;
}

/* ---- the same for many boxes -------------------------------------------------------------------------------------- */

/* Boxes are numbered by where they begin, space by space. Those alive at a step are a set of such numbers; who takes
 * bytes of a box that comes is then next to it in the set. The set is a tree of words of 64 bits. */

enum { LEVELS = 6, DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS };

struct live {
    uint64_t *bits[LEVELS]; /* bits[0]: the numbers; a bit above says that a word below is not 0 */
    uint32_t levels;
    uint32_t *number;       /* [box_n] */
    uint32_t *box;          /* [box_n] by number */
};

static void put(struct live *l, uint32_t i)
{
    for (uint32_t k = 0; k < l->levels; k++, i >>= 6)
        l->bits[k][i >> 6] |= UINT64_C(1) << (i & 63);
}

static void take(struct live *l, uint32_t i)
{
    for (uint32_t k = 0; k < l->levels; k++, i >>= 6)
        if (l->bits[k][i >> 6] &= ~(UINT64_C(1) << (i & 63)))
            return;
}

/* The member next below or above i, PSC_NONE. */
static uint32_t next_to(const struct live *l, uint32_t i, bool above)
{
    for (uint32_t k = 0; k < l->levels; k++, i >>= 6) {
        uint64_t bit = UINT64_C(1) << (i & 63);
        uint64_t word = l->bits[k][i >> 6] & (above ? ~(bit | (bit - 1)) : bit - 1);
        if (!word)
            continue;
        i &= ~63u;
        for (;;) {
            i |= above ? (uint32_t)__builtin_ctzll(word) : 63u - (uint32_t)__builtin_clzll(word);
            if (!k)
                return i;
            word = l->bits[--k][i];
            i <<= 6;
        }
    }
    return PSC_NONE;
}

static bool make_live(struct live *l, uint32_t n, struct psc_arena *scratch)
{
    uint32_t words = n;
    do {
        words = words / 64 + 1;
        l->bits[l->levels] = psc_arena_alloc0(scratch, words, sizeof **l->bits);
        if (!l->bits[l->levels++])
            return false;
    } while (words > 1);
    l->number = psc_arena_alloc(scratch, n, sizeof *l->number);
    l->box = psc_arena_alloc(scratch, n, sizeof *l->box);
    return l->number && l->box;
}

/* One pass of a stable sort of `from` by a digit of the offset, or by space. false: all agree in it, nothing was moved. */
static bool sort_pass(const struct psc_offsets_problem *p, const uint64_t *offset, unsigned digit, const uint32_t *from, uint32_t *to)
{
    uint32_t count[DIGITS] = {0}, at = 0;
    for (uint32_t i = 0; i < p->box_n; i++)
        count[offset ? offset[i] >> digit * DIGIT_BITS & (DIGITS - 1) : p->space[i]]++;
    for (uint32_t d = 0; d < DIGITS; d++) {
        uint32_t n = count[d];
        if (n == p->box_n)
            return false;
        count[d] = at;
        at += n;
    }
    for (uint32_t i = 0; i < p->box_n; i++)
        to[count[offset ? offset[from[i]] >> digit * DIGIT_BITS & (DIGITS - 1) : p->space[from[i]]]++] = from[i];
    return true;
}

static void number_boxes(const struct psc_offsets_problem *p, const uint64_t *offset, struct live *l)
{
    uint32_t *from = l->box, *to = l->number;
    uint64_t most = 0;
    for (uint32_t i = 0; i < p->box_n; i++) {
        from[i] = i;
        most |= offset[i];
    }
    for (unsigned digit = 0; digit * DIGIT_BITS < 64; digit++)
        if (most >> digit * DIGIT_BITS && sort_pass(p, offset, digit, from, to)) {
            uint32_t *sorted = to;
            to = from;
            from = sorted;
        }
    if (p->space && sort_pass(p, NULL, 0, from, to)) {
        uint32_t *sorted = to;
        to = from;
        from = sorted;
    }
    l->box = from;
    l->number = to;
    for (uint32_t k = 0; k < p->box_n; k++)
        l->number[l->box[k]] = k;
}

static enum psc_status look_beside(const struct psc_offsets_problem *p, const struct psc_offsets *packing, const struct live *l,
                                   uint32_t i, bool above, struct psc_error *reterr)
{
    uint32_t k = next_to(l, l->number[i], above), other;
    if (k == PSC_NONE)
        return PSC_OK;
    other = l->box[k];
    return check_pair(p, packing, other < i ? other : i, other < i ? i : other, reterr);
}

static enum psc_status sweep(const struct psc_offsets_problem *p, const struct psc_offsets *packing,
                             struct psc_arena *scratch, struct psc_error *reterr)
{
    struct live live = {0};
    enum psc_status status = PSC_OK;
    uint32_t e = 0;
    if (!make_live(&live, p->box_n, scratch))
        return psc_fail_nomem(reterr);
    number_boxes(p, packing->offset, &live);
    for (uint32_t k = 0; !status && k < p->box_n; k++) {
        uint32_t i = p->by_begin[k];
        for (; p->boxes[p->by_end[e]].end <= p->boxes[i].begin; e++)
            if (p->boxes[p->by_end[e]].bytes)
                take(&live, live.number[p->by_end[e]]);
        if (!p->boxes[i].bytes)
            continue;
        status = look_beside(p, packing, &live, i, false, reterr);
        if (!status)
            status = look_beside(p, packing, &live, i, true, reterr);
        put(&live, live.number[i]);
    }
    return status;
}

enum psc_status psc_offsets_verify(const struct psc_offsets_problem *problem, const struct psc_offsets *packing,
                                   struct psc_error *reterr)
{
    struct psc_offsets_problem p = *problem;
    struct psc_arena scratch = {0};
    enum psc_status status = psc_offsets_sort(&p, &scratch) ? PSC_OK : psc_fail_nomem(reterr);
    for (uint32_t i = 0; !status && i < p.box_n; i++)
        status = check_box(&p, packing, i, reterr);
    if (!status)
        status = sweep(&p, packing, &scratch, reterr);
    for (uint32_t s = 0; !status && s < packing->space_n; s++)
        status = check_bound(packing, s, reterr);
    psc_arena_release(&scratch);
    return status;
}
