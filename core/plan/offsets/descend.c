#include "core/plan/offsets/descend.h"

#include <string.h>

enum { PARTS_SEARCHED = 4096 };

static const struct psc_search_setting settings[] = { /* those that find most come first */
    {PSC_SEARCH_SIZE, PSC_SEARCH_LOW_FEW, 0, 0},  {PSC_SEARCH_LIFE, PSC_SEARCH_LOW_FULL, 0, 0},
    {PSC_SEARCH_SIZE, PSC_SEARCH_LOW_FULL, 0, 0}, {PSC_SEARCH_CROWD, PSC_SEARCH_LOW_FEW, 0, 0},
    {PSC_SEARCH_SIZE, PSC_SEARCH_FULL, 0, 0},     {PSC_SEARCH_LIFE, PSC_SEARCH_LOW_FEW, 0, 0},
    {PSC_SEARCH_LIFE, PSC_SEARCH_FULL, 0, 0},     {PSC_SEARCH_AREA, PSC_SEARCH_LOW_FEW, 0, 0},
    {PSC_SEARCH_SIZE, PSC_SEARCH_FEW, 0, 0},      {PSC_SEARCH_CROWD, PSC_SEARCH_LOW_FULL, 0, 0},
    {PSC_SEARCH_AREA, PSC_SEARCH_LOW_FULL, 0, 0}, {PSC_SEARCH_CROWD, PSC_SEARCH_FULL, 0, 0},
    {PSC_SEARCH_LIFE, PSC_SEARCH_FEW, 0, 0},      {PSC_SEARCH_AREA, PSC_SEARCH_FULL, 0, 0},
    {PSC_SEARCH_CROWD, PSC_SEARCH_FEW, 0, 0},     {PSC_SEARCH_AREA, PSC_SEARCH_FEW, 0, 0},
};
enum { SETTING_N = sizeof settings / sizeof *settings };

struct part {
    uint32_t first, n;    /* of order */
    uint64_t height;
    uint64_t lowest;      /* nothing is lower */
    uint64_t open;        /* tried in this round without an answer; at least lowest - unit */
    uint32_t round;
    bool tried;           /* in this round */
    bool given_up;        /* too big, or too many parts */
    struct psc_search *search;
};
struct descent {
    const struct psc_offsets_problem *p;
    struct psc_sections sections;
    uint32_t *order;      /* boxes with bytes by begin, so by part */
    uint32_t order_n;
    struct part *parts;
    uint64_t unit;        /* every height is a multiple of it */
    uint64_t *offset, *work, until;
    uint32_t begun;
    bool lower, spent;
};

static uint64_t greatest_divisor(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static uint64_t room_of(const struct descent *d, uint32_t i)
{
    return psc_box_room(d->p->align, d->p->boxes[i].bytes);
}

static void measure_unit(struct descent *d)
{
    uint64_t unit = 0;
    for (uint32_t k = 0; k < d->order_n && unit != 1; k++) {
        uint32_t i = d->order[k];
        unit = greatest_divisor(room_of(d, i), unit);
        if (d->p->aligns && d->p->aligns[i] > 1)
            unit = greatest_divisor(d->p->aligns[i], unit);
        if (d->p->fixed && d->p->fixed[i] != PSC_OFFSET_FREE)
            unit = greatest_divisor(d->p->fixed[i], unit);
    }
    d->unit = unit ? unit : 1;
}

/* Heights and bounds of the parts. */
static bool measure_parts(struct descent *d, struct psc_arena *scratch)
{
    const struct psc_sections *s = &d->sections;
    uint64_t *step = psc_arena_alloc0(scratch, (size_t)s->section_n + 1, sizeof *step); /* what begins less what ends */
    uint64_t live = 0;
    uint32_t at = 0;
    if (!step)
        return false;
    for (uint32_t k = 0; k < d->order_n; k++) {
        step[s->from[d->order[k]]] += room_of(d, d->order[k]);
        step[s->to[d->order[k]]] -= room_of(d, d->order[k]);
    }
    for (uint32_t p = 0; p < s->part_n; p++) {
        struct part *part = &d->parts[p];
        for (uint32_t k = s->part_at[p]; k < s->part_at[p + 1]; k++) {
            live += step[k];
            part->lowest = live > part->lowest ? live : part->lowest;
        }
        for (part->first = at; at < d->order_n && s->from[d->order[at]] < s->part_at[p + 1]; at++) {
            uint32_t i = d->order[at];
            uint64_t top = d->offset[i] + room_of(d, i);
            part->height = top > part->height ? top : part->height;
            if (d->p->fixed && d->p->fixed[i] != PSC_OFFSET_FREE && top > part->lowest)
                part->lowest = top;
        }
        part->n = at - part->first;
    }
    return true;
}

static bool prepare(struct descent *d, struct psc_arena *scratch)
{
    const struct psc_offsets_problem *p = d->p;
    if (!psc_sections_build(&d->sections, p, scratch))
        return false;
    d->order = psc_arena_alloc(scratch, p->box_n, sizeof *d->order);
    d->parts = psc_arena_alloc0(scratch, d->sections.part_n, sizeof *d->parts);
    if (!d->order || !d->parts)
        return false;
    for (uint32_t k = 0; k < p->box_n; k++)
        if (p->boxes[p->by_begin[k]].bytes)
            d->order[d->order_n++] = p->by_begin[k];
    measure_unit(d);
    return measure_parts(d, scratch);
}

/* Rounds 0 to 2 share the settings among them, each tries those that the ones before did not; from round 3 on all are
 * tried, with noise, and with more nodes from round to round. */
static void choose_settings(uint32_t round, uint32_t *lo, uint32_t *hi)
{
    static const uint8_t ends[] = {0, 2, 6, SETTING_N};
    *lo = round < 3 ? ends[round] : 0;
    *hi = round < 3 ? ends[round + 1] : SETTING_N;
}

static enum psc_search_answer try_capacity(struct descent *d, struct part *part, uint64_t capacity)
{
    enum psc_search_answer answer = PSC_SEARCH_SPENT;
    uint32_t k, end, more = part->round < 3 ? 0 : part->round - 3;
    struct psc_search_limits limits = {.work = d->work, .until = d->until,
                                       .nodes = ((uint64_t)part->n * 3 / 2 + 64) << (more < 32 ? more : 32)};
    choose_settings(part->round, &k, &end);
    for (; answer == PSC_SEARCH_SPENT && k < end && !d->spent; k++) {
        struct psc_search_setting setting = settings[k];
        if (part->round >= 3) {
            setting.seed = part->round * (uint64_t)SETTING_N + k;
            setting.noise = (uint8_t)(4u << setting.seed % 5);
        }
        answer = psc_search_run(part->search, capacity, &setting, &limits);
        d->spent = !*d->work || (d->until && psc_search_clock() >= d->until);
    }
    return answer;
}

static uint64_t next_capacity(const struct descent *d, const struct part *part, uint64_t aim)
{
    uint64_t top = part->height - d->unit;
    if (!part->tried)
        return part->lowest > aim ? part->lowest : aim;
    return part->open + (top - part->open + d->unit) / 2 / d->unit * d->unit;
}

/* A round ends when nothing is left between what was tried and the height but this. */
static uint64_t finest(const struct part *part)
{
    unsigned shift = 5 + 2 * part->round;
    return shift < 64 ? part->lowest >> shift : 0;
}

/* One try for a part that is above the aim and not proved. */
static enum psc_status step(struct descent *d, uint32_t p, uint64_t aim)
{
    struct part *part = &d->parts[p];
    enum psc_status status;
    uint64_t capacity;
    if (*d->work < part->n) { /* each box that is placed makes a section be looked at */
        d->spent = true;
        return PSC_OK;
    }
    if (!part->search) {
        status = d->begun >= PARTS_SEARCHED ? PSC_ERR_TOO_BIG
                                            : psc_search_begin(d->p, &d->sections, p, d->order + part->first, part->n, &part->search);
        part->given_up = status == PSC_ERR_TOO_BIG;
        d->begun++;
        if (status)
            return part->given_up ? PSC_OK : status;
    }
    capacity = next_capacity(d, part, aim);
    switch (try_capacity(d, part, capacity)) {
    case PSC_SEARCH_FOUND:
        part->height = psc_search_get(part->search, d->offset);
        d->lower = true;
        break;
    case PSC_SEARCH_NONE:
        part->lowest = capacity / d->unit * d->unit + d->unit;
        part->open = part->open > part->lowest ? part->open : part->lowest;
        part->tried = true;
        break;
    case PSC_SEARCH_SPENT:
        part->open = capacity / d->unit * d->unit;
        part->tried = true;
        break;
    default:
        return PSC_ERR_NOMEM;
    }
    if (part->tried && part->open + d->unit + finest(part) >= part->height) {
        part->round++;
        part->tried = part->round >= 3 && part->round % 4;
        part->open = part->lowest;
        if (part->tried)
            part->open += (part->height - part->lowest) / 4 / d->unit * d->unit;
    }
    return PSC_OK;
}

static uint32_t highest(const struct descent *d)
{
    uint32_t best = 0;
    for (uint32_t p = 1; p < d->sections.part_n; p++)
        if (d->parts[p].height > d->parts[best].height)
            best = p;
    return best;
}

enum psc_status psc_descend(const struct psc_offsets_problem *p, uint64_t goal, uint64_t *work, uint64_t until,
                            struct psc_arena *scratch, uint64_t *offset, bool *ret_lower, bool *ret_proved)
{
    struct descent d = {.p = p, .offset = offset, .work = work, .until = until};
    struct psc_arena_mark mark = psc_arena_mark(scratch);
    enum psc_status status = prepare(&d, scratch) ? PSC_OK : PSC_ERR_NOMEM;
    uint64_t aim = goal;
    for (uint32_t k = 0; !status && k < d.sections.part_n; k++)
        aim = d.parts[k].lowest > aim ? d.parts[k].lowest : aim;
    while (!status && d.sections.part_n && !d.spent && *work) {
        struct part *part = &d.parts[highest(&d)];
        if (part->height <= aim || part->given_up)
            break;
        status = step(&d, (uint32_t)(part - d.parts), aim);
        aim = part->lowest > aim ? part->lowest : aim;
        *work -= d.sections.part_n / 64 < *work ? d.sections.part_n / 64 : *work; /* for finding the highest */
    }
    *ret_lower = d.lower;
    *ret_proved = !status && d.sections.part_n && d.parts[highest(&d)].lowest >= d.parts[highest(&d)].height;
    for (uint32_t k = 0; d.parts && k < d.sections.part_n; k++)
        psc_search_end(d.parts[k].search);
    psc_arena_rewind(scratch, mark);
    return status;
}
