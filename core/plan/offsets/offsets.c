#include "core/plan/offsets/offsets.h"

#include "core/base/mem.h"
#include "core/plan/offsets/spans.h"
#include "core/plan/offsets/strategies.h"

#include <string.h>

const struct psc_packer psc_packers[] = {
    {"best-fit", "in execution order into the smallest hole that is large enough", psc_pack_best_fit, true},
    {"linear-scan", "in execution order at the lowest address that is free", psc_pack_linear_scan, true},
    {"greedy-size", "the largest first, each into the smallest gap among those alive beside it", psc_pack_greedy_size, false},
    {"greedy-breadth", "the step with the most live bytes first, in it the largest first", psc_pack_greedy_breadth, false},
    {"optimal", "heuristics, then search: the lowest height, proved where the budget allows", psc_pack_optimal, false},
    {0},
};

const struct psc_packer *psc_packer_find(const char *name)
{
    for (const struct psc_packer *packer = psc_packers; packer->name; packer++)
        if (!strcmp(packer->name, name))
            return packer;
    return NULL;
}

const char *psc_proof_name(enum psc_proof proof)
{
    static const char *const names[PSC_PROOF_N] = {"best known", "lower bound", "search"};
    return names[(unsigned)proof < PSC_PROOF_N ? proof : PSC_PROOF_NONE];
}

/* ---- the problem ------------------------------------------------------------------------------------------- */

static bool is_power(uint64_t n)
{
    return n && !(n & (n - 1)) && n <= PSC_BYTES_MAX;
}

static enum psc_status check_fixed_place(const struct psc_offsets_problem *p, uint32_t i, uint64_t align,
                                         struct psc_error *reterr)
{
    uint64_t at = p->fixed[i];
    if (at == PSC_OFFSET_FREE)
        return PSC_OK;
    if (at > PSC_BYTES_MAX)
        return psc_fail(reterr, PSC_ERR_TOO_BIG, "box %u is fixed at byte %llu: at most 2^60 bytes are planned", i,
                        (unsigned long long)at);
    if (at % align)
        return psc_fail(reterr, PSC_ERR_USAGE, "box %u is fixed at byte %llu, which is no multiple of its alignment of "
                        "%llu bytes", i, (unsigned long long)at, (unsigned long long)align);
    return PSC_OK;
}

static enum psc_status check_box(const struct psc_offsets_problem *p, uint32_t i, uint64_t *sum, struct psc_error *reterr)
{
    const struct psc_box *box = &p->boxes[i];
    uint64_t align = p->align;
    if (box->begin >= box->end || box->end > p->step_n)
        return psc_fail(reterr, PSC_ERR_USAGE, "box %u lives in the steps [%u, %u): a life begins before it ends, and ends "
                        "by step %u", i, box->begin, box->end, p->step_n);
    if (p->space && p->space[i] >= (p->space_n ? p->space_n : 1))
        return psc_fail(reterr, PSC_ERR_USAGE, "box %u is in space %u of %u", i, p->space[i], p->space_n ? p->space_n : 1);
    if (p->aligns && p->aligns[i] > 1 && !is_power(p->aligns[i]))
        return psc_fail(reterr, PSC_ERR_USAGE, "box %u is aligned to %llu bytes: an alignment is a power of two, at most 2^60",
                        i, (unsigned long long)p->aligns[i]);
    if (p->aligns && p->aligns[i] > align)
        align = p->aligns[i];
    /* A box takes at most its bytes and what two alignments round up. */
    if (box->bytes > PSC_BYTES_MAX || align - 1 > PSC_BYTES_MAX - box->bytes ||
        !psc_add_u64(*sum, box->bytes + (align - 1), sum) || *sum > PSC_BYTES_MAX)
        return psc_fail(reterr, PSC_ERR_TOO_BIG, "the boxes up to box %u, which has %llu bytes aligned to %llu, ask for more "
                        "than 2^60 bytes", i, (unsigned long long)box->bytes, (unsigned long long)align);
    return p->fixed ? check_fixed_place(p, i, align, reterr) : PSC_OK;
}

/* No box of a plain problem breaks a rule, asked of all at once: if not, check_box() says which. */
static bool is_sound(const struct psc_offsets_problem *p)
{
    uint64_t most = 0, sum;
    bool lives = true;
    if (p->space || p->aligns || p->fixed)
        return false;
    for (uint32_t i = 0; i < p->box_n; i++) {
        lives &= (p->boxes[i].begin < p->boxes[i].end) & (p->boxes[i].end <= p->step_n);
        most |= p->boxes[i].bytes;
    }
    return lives && psc_add_u64(most, p->align, &sum) && psc_mul_u64(sum, p->box_n, &sum) && sum <= PSC_BYTES_MAX;
}

/* p->align is set to 1 when it is 0. */
static enum psc_status check_problem(struct psc_offsets_problem *p, struct psc_error *reterr)
{
    enum psc_status status = PSC_OK;
    uint64_t sum = 0;
    p->align = p->align ? p->align : 1;
    if (p->box_n > PSC_BOXES_MAX)
        return psc_fail(reterr, PSC_ERR_TOO_BIG, "there are %u boxes: at most %u are planned", p->box_n, PSC_BOXES_MAX);
    if (!is_power(p->align))
        return psc_fail(reterr, PSC_ERR_USAGE, "an alignment of %llu bytes: it is a power of two, at most 2^60",
                        (unsigned long long)p->align);
    if (is_sound(p))
        return PSC_OK;
    for (uint32_t i = 0; !status && i < p->box_n; i++)
        status = check_box(p, i, &sum, reterr);
    return status;
}

/* The boxes of a graph come by begin. */
static bool come_by_begin(const struct psc_offsets_problem *p, uint32_t *order)
{
    uint32_t before = 0;
    bool is = true;
    for (uint32_t i = 0; i < p->box_n; i++) {
        is &= before <= p->boxes[i].begin;
        before = p->boxes[i].begin;
        order[i] = i;
    }
    return is;
}

/* Boxes by begin or by end, ties by index: counting. */
static uint32_t *sort_steps(const struct psc_offsets_problem *p, bool by_end, struct psc_arena *scratch)
{
    uint32_t *order = psc_arena_alloc(scratch, p->box_n, sizeof *order), *at;
    struct psc_arena_mark mark = psc_arena_mark(scratch);
    if (order && !by_end && come_by_begin(p, order))
        return order;
    at = psc_arena_alloc0(scratch, (size_t)p->step_n + 2, sizeof *at);
    if (!order || !at)
        return NULL;
    for (uint32_t i = 0; i < p->box_n; i++)
        at[(by_end ? p->boxes[i].end : p->boxes[i].begin) + 1]++;
    for (uint32_t s = 0; s <= p->step_n; s++)
        at[s + 1] += at[s];
    for (uint32_t i = 0; i < p->box_n; i++)
        order[at[by_end ? p->boxes[i].end : p->boxes[i].begin]++] = i;
    psc_arena_rewind(scratch, mark);
    return order;
}

bool psc_offsets_sort(struct psc_offsets_problem *p, struct psc_arena *scratch)
{
    if (!p->by_begin)
        p->by_begin = sort_steps(p, false, scratch);
    if (!p->by_end)
        p->by_end = sort_steps(p, true, scratch);
    return p->by_begin && p->by_end;
}

void psc_offsets_find_bound(const struct psc_offsets_problem *p, uint64_t *ret, uint32_t *ret_at)
{
    uint64_t live = 0, bound = 0;
    uint32_t at = 0, e = 0;
    for (uint32_t k = 0; k < p->box_n; k++) {
        const struct psc_box *box = &p->boxes[p->by_begin[k]];
        for (; p->boxes[p->by_end[e]].end <= box->begin; e++)
            live -= psc_box_room(p->align, p->boxes[p->by_end[e]].bytes);
        live += psc_box_room(p->align, box->bytes);
        if (live > bound) {
            bound = live;
            at = box->begin;
        }
    }
    for (uint32_t i = 0; p->fixed && i < p->box_n; i++)
        if (p->fixed[i] != PSC_OFFSET_FREE && p->fixed[i] + psc_box_room(p->align, p->boxes[i].bytes) > bound) {
            bound = p->fixed[i] + psc_box_room(p->align, p->boxes[i].bytes);
            at = p->boxes[i].begin;
        }
    *ret = bound;
    *ret_at = at;
}

enum psc_status psc_offsets_bound(const struct psc_offsets_problem *problem, uint64_t *ret, uint32_t *ret_at,
                                  struct psc_error *reterr)
{
    struct psc_offsets_problem p = *problem;
    struct psc_arena scratch = {0};
    enum psc_status status = check_problem(&p, reterr);
    if (!status && !psc_offsets_sort(&p, &scratch))
        status = psc_fail_nomem(reterr);
    if (!status)
        psc_offsets_find_bound(&p, ret, ret_at);
    psc_arena_release(&scratch);
    return status;
}

/* ---- one space --------------------------------------------------------------------------------------------- */

/* Fixed boxes that share a step must not share a byte: a sweep over the steps with the live ones by address. */
static enum psc_status check_fixed(const struct psc_offsets_problem *p, struct psc_arena *scratch, struct psc_error *reterr)
{
    struct psc_spans spans;
    uint32_t e = 0;
    if (!p->fixed)
        return PSC_OK;
    if (!psc_spans_init(&spans, p->box_n, scratch))
        return psc_fail_nomem(reterr);
    for (uint32_t k = 0; k < p->box_n; k++) {
        uint32_t i = p->by_begin[k], other;
        for (; p->boxes[p->by_end[e]].end <= p->boxes[i].begin; e++)
            if (p->fixed[p->by_end[e]] != PSC_OFFSET_FREE)
                psc_spans_remove(&spans, p->by_end[e]);
        if (p->fixed[i] == PSC_OFFSET_FREE || !p->boxes[i].bytes)
            continue;
        other = psc_spans_insert(&spans, i, p->fixed[i], p->fixed[i] + psc_box_room(p->align, p->boxes[i].bytes));
        if (other != PSC_NONE)
            return psc_fail(reterr, PSC_ERR_PLAN, "boxes %u and %u are fixed on the same bytes at the same time",
                            other < i ? other : i, other < i ? i : other);
    }
    return PSC_OK;
}

static enum psc_status pack_space(const struct psc_offsets_problem *problem, uint64_t capacity,
                                  const struct psc_packer *packer, const struct psc_offsets_budget *budget,
                                  struct psc_arena *scratch, uint64_t *offset, uint32_t *turn,
                                  struct psc_offsets_space *space, struct psc_error *reterr)
{
    struct psc_offsets_problem p = *problem;
    bool sweeps = packer->sweeps && psc_offsets_is_plain(problem);
    enum psc_status status;
    *space = (struct psc_offsets_space){.box_n = p.box_n, .by = packer->name};
    if (!psc_offsets_sort(&p, scratch))
        return psc_fail_nomem(reterr);
    status = check_fixed(&p, scratch, reterr);
    if (status)
        return status;
    if (!sweeps)
        psc_offsets_find_bound(&p, &space->bound, &space->bound_at);
    if (packer->pack(&p, capacity == PSC_CAPACITY_NONE ? 0 : capacity, budget, scratch, offset, turn, space))
        return psc_fail_nomem(reterr);
    if (!sweeps)
        space->height = 0;
    for (uint32_t i = 0; !sweeps && i < p.box_n; i++)
        if (offset[i] + psc_box_room(p.align, p.boxes[i].bytes) > space->height)
            space->height = offset[i] + psc_box_room(p.align, p.boxes[i].bytes);
    if (space->height <= space->bound)
        space->proof = PSC_PROOF_BOUND;
    space->fits = space->height <= capacity;
    return PSC_OK;
}

/* ---- several spaces ------------------------------------------------------------------------------------------ */

struct part { /* the boxes of one space as a problem of their own */
    struct psc_offsets_problem problem;
    uint32_t *index, *turn; /* of each box in the whole */
    uint64_t *offset;
};

static bool cut(const struct psc_offsets_problem *p, uint32_t space, struct psc_arena *scratch, struct part *ret)
{
    struct psc_box *boxes;
    uint64_t *aligns = NULL, *fixed = NULL;
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->box_n; i++)
        n += p->space[i] == space;
    boxes = psc_arena_alloc(scratch, n, sizeof *boxes);
    ret->index = psc_arena_alloc(scratch, n, sizeof *ret->index);
    ret->turn = psc_arena_alloc(scratch, n, sizeof *ret->turn);
    ret->offset = psc_arena_alloc(scratch, n, sizeof *ret->offset);
    if (p->aligns)
        aligns = psc_arena_alloc(scratch, n, sizeof *aligns);
    if (p->fixed)
        fixed = psc_arena_alloc(scratch, n, sizeof *fixed);
    if (!boxes || !ret->index || !ret->turn || !ret->offset || (p->aligns && !aligns) || (p->fixed && !fixed))
        return false;
    for (uint32_t i = 0, k = 0; i < p->box_n; i++) {
        if (p->space[i] != space)
            continue;
        boxes[k] = p->boxes[i];
        if (aligns)
            aligns[k] = p->aligns[i];
        if (fixed)
            fixed[k] = p->fixed[i];
        ret->index[k++] = i;
    }
    ret->problem = (struct psc_offsets_problem){.boxes = boxes, .box_n = n, .step_n = p->step_n, .align = p->align,
                                                .aligns = aligns, .fixed = fixed};
    return true;
}

static enum psc_status pack_part(const struct psc_offsets_problem *p, uint32_t space, uint64_t capacity,
                                 const struct psc_packer *packer, const struct psc_offsets_budget *budget,
                                 struct psc_offsets *ret, struct psc_error *reterr)
{
    struct psc_arena scratch = {0};
    struct part part = {0};
    enum psc_status status = cut(p, space, &scratch, &part) ? PSC_OK : psc_fail_nomem(reterr);
    if (!status)
        status = pack_space(&part.problem, capacity, packer, budget, &scratch, part.offset, part.turn, &ret->spaces[space],
                            reterr);
    for (uint32_t k = 0; !status && k < part.problem.box_n; k++) {
        ret->offset[part.index[k]] = part.offset[k];
        ret->turn[part.index[k]] = part.turn[k];
    }
    psc_arena_release(&scratch);
    return status;
}

static uint64_t default_work(const struct psc_offsets_problem *p, uint32_t milliseconds)
{
    uint64_t work = PSC_OFFSETS_WORK + 96 * (uint64_t)p->box_n;
    return milliseconds ? UINT64_MAX : work < PSC_OFFSETS_WORK_MOST ? work : PSC_OFFSETS_WORK_MOST;
}

/* The one space that all boxes lie in; space_n: there are several. */
static uint32_t only_space(const struct psc_offsets_problem *p, uint32_t space_n)
{
    uint32_t space = p->space && p->box_n ? p->space[0] : 0;
    for (uint32_t i = 1; p->space && i < p->box_n; i++)
        if (p->space[i] != space)
            return space_n;
    return space;
}

static enum psc_status pack_spaces(const struct psc_offsets_problem *p, const struct psc_packer *packer,
                                   const struct psc_offsets_budget *effort, struct psc_arena *scratch,
                                   struct psc_offsets *ret, struct psc_error *reterr)
{
    uint32_t only = only_space(p, ret->space_n);
    enum psc_status status = PSC_OK;
    for (uint32_t s = 0; !status && s < ret->space_n; s++) {
        uint64_t capacity = p->capacity ? p->capacity[s] : PSC_CAPACITY_NONE;
        struct psc_offsets_problem part = s == only ? *p : (struct psc_offsets_problem){.align = p->align};
        status = only == ret->space_n ? pack_part(p, s, capacity, packer, effort, ret, reterr)
                                      : pack_space(&part, capacity, packer, effort, scratch, ret->offset, ret->turn,
                                                   &ret->spaces[s], reterr);
    }
    return status;
}

enum psc_status psc_offsets_pack(struct psc_arena *arena, const struct psc_offsets_problem *problem,
                                 const struct psc_packer *packer, const struct psc_offsets_budget *budget,
                                 struct psc_offsets *ret, struct psc_error *reterr)
{
    struct psc_offsets_problem p = *problem;
    struct psc_offsets_budget effort = budget ? *budget : (struct psc_offsets_budget){0};
    struct psc_arena_mark mark = psc_arena_mark(arena), results;
    struct psc_offsets packed = {.space_n = p.space_n ? p.space_n : 1};
    enum psc_status status = check_problem(&p, reterr);
    if (status)
        return status;
    effort.work = effort.work ? effort.work : default_work(&p, effort.milliseconds);
    packed.offset = psc_arena_alloc(arena, p.box_n, sizeof *packed.offset);
    packed.turn = psc_arena_alloc(arena, p.box_n, sizeof *packed.turn);
    packed.spaces = psc_arena_alloc0(arena, packed.space_n, sizeof *packed.spaces);
    if (!packed.offset || !packed.turn || !packed.spaces)
        status = psc_fail_nomem(reterr);
    results = psc_arena_mark(arena);
    if (!status)
        status = pack_spaces(&p, packer, &effort, arena, &packed, reterr);
    psc_arena_rewind(arena, status ? mark : results);
    if (!status)
        *ret = packed;
    return status;
}
