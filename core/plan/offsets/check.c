/* The checks of a packing: pair by pair, naive on purpose; and by a sweep, for many boxes. */
#include "core/plan/offsets/spans.h"
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
    if (at + p->boxes[i].bytes > packing->spaces[s].height)
        return psc_fail(reterr, PSC_ERR_PLAN, "box %u ends at byte %llu, above the height of %llu", i,
                        (unsigned long long)(at + p->boxes[i].bytes), (unsigned long long)packing->spaces[s].height);
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

static enum psc_status sweep(const struct psc_offsets_problem *p, const struct psc_offsets *packing, uint32_t space,
                             struct psc_arena *scratch, struct psc_error *reterr)
{
    struct psc_spans spans;
    uint32_t e = 0;
    if (!psc_spans_init(&spans, p->box_n, scratch))
        return psc_fail_nomem(reterr);
    for (uint32_t k = 0; k < p->box_n; k++) {
        uint32_t i = p->by_begin[k], other;
        for (; p->boxes[p->by_end[e]].end <= p->boxes[i].begin; e++)
            psc_spans_remove(&spans, p->by_end[e]);
        if (!p->boxes[i].bytes || (p->space && p->space[i] != space))
            continue;
        other = psc_spans_insert(&spans, i, packing->offset[i], packing->offset[i] + p->boxes[i].bytes);
        if (other != PSC_NONE)
            return check_pair(p, packing, other < i ? other : i, other < i ? i : other, reterr);
    }
    return PSC_OK;
}

enum psc_status psc_offsets_verify(const struct psc_offsets_problem *problem, const struct psc_offsets *packing,
                                   struct psc_error *reterr)
{
    struct psc_offsets_problem p = *problem;
    struct psc_arena scratch = {0};
    enum psc_status status = psc_offsets_sort(&p, &scratch) ? PSC_OK : psc_fail_nomem(reterr);
    for (uint32_t i = 0; !status && i < p.box_n; i++)
        status = check_box(&p, packing, i, reterr);
    for (uint32_t s = 0; !status && s < packing->space_n; s++) {
        struct psc_arena_mark mark = psc_arena_mark(&scratch);
        status = sweep(&p, packing, s, &scratch, reterr);
        psc_arena_rewind(&scratch, mark);
        if (!status)
            status = check_bound(packing, s, reterr);
    }
    psc_arena_release(&scratch);
    return status;
}
