/* The check of a packing: naive on purpose. */
#include "core/plan/offsets/offsets.h"

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
        y >= x + a->bytes)
        return PSC_OK;
    return psc_fail(reterr, PSC_ERR_PLAN, "boxes %u and %u share bytes from %llu on and live at the same time from step %u "
                    "on", i, k, (unsigned long long)(x > y ? x : y), a->begin > b->begin ? a->begin : b->begin);
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
    for (uint32_t s = 0; !status && s < packing->space_n; s++) {
        const struct psc_offsets_space *space = &packing->spaces[s];
        if (space->height < space->bound)
            status = psc_fail(reterr, PSC_ERR_PLAN, "space %u has a height of %llu below its lower bound of %llu", s,
                              (unsigned long long)space->height, (unsigned long long)space->bound);
    }
    return status;
}
