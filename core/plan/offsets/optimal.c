/* The strategy `optimal`: a ladder of heuristics, each rung only when the one before has not reached the bound, then the
 * search (descend.h) with the budget. The lower of the last rung (inside.h) and of the search is kept. */
#include "core/plan/offsets/descend.h"
#include "core/plan/offsets/inside.h"
#include "core/plan/offsets/place.h"

#include <string.h>

#define INSIDE_LOOKS UINT64_C(2000000) /* and 96 a box */
enum { INSIDE_TRIES = 24 };

struct ladder {
    const struct psc_offsets_problem *p;
    struct psc_arena *scratch;
    uint64_t *offset, *next; /* the best so far, the one under trial */
    uint32_t *turn, *next_turn;
    uint64_t height, goal;
    struct psc_offsets_space *space;
};

struct inside { /* what fitting ends found, UINT64_MAX: nothing */
    uint64_t height, *offset;
    uint32_t *turn;
};

static uint64_t height_of(const struct psc_offsets_problem *p, const uint64_t *offset)
{
    uint64_t height = 0;
    for (uint32_t i = 0; i < p->box_n; i++)
        if (offset[i] + psc_box_room(p->align, p->boxes[i].bytes) > height)
            height = offset[i] + psc_box_room(p->align, p->boxes[i].bytes);
    return height;
}

static void keep_if_lower(struct ladder *l, const char *by)
{
    uint64_t height = height_of(l->p, l->next);
    if (height >= l->height)
        return;
    l->height = height;
    l->space->by = by;
    if (l->p->box_n) {
        memcpy(l->offset, l->next, l->p->box_n * sizeof *l->offset);
        memcpy(l->turn, l->next_turn, l->p->box_n * sizeof *l->turn);
    }
}

static bool is_done(const struct ladder *l)
{
    return l->height <= l->space->bound || l->height <= l->goal;
}

/* Turns by offset: in this order every box is put on what is there. */
static bool number_turns(const struct ladder *l)
{
    uint32_t n = l->p->box_n;
    struct psc_arena_mark mark = psc_arena_mark(l->scratch);
    uint32_t *order = psc_arena_alloc(l->scratch, n, sizeof *order), *other = psc_arena_alloc(l->scratch, n, sizeof *other);
    uint64_t *keys = l->next, *other_keys = psc_arena_alloc(l->scratch, n, sizeof *other_keys);
    if (!order || !other || !other_keys)
        return false;
    for (uint32_t k = 0; k < n; k++) {
        order[k] = l->p->by_begin[k];
        keys[k] = l->offset[order[k]];
    }
    psc_sort_keys(keys, order, other_keys, other, n, false);
    for (uint32_t k = 0; k < n; k++)
        l->turn[order[k]] = k;
    psc_arena_rewind(l->scratch, mark);
    return true;
}

static enum psc_status search(const struct ladder *l, const struct psc_offsets_budget *budget)
{
    uint64_t work = budget->work, until = 0;
    bool lower, proved;
    enum psc_status status;
    if (budget->milliseconds)
        until = psc_search_clock() + budget->milliseconds * UINT64_C(1000000);
    status = psc_descend(l->p, l->goal, &work, until, l->scratch, l->offset, &lower, &proved);
    if (status)
        return status;
    l->space->work = budget->work - work;
    l->space->proof = proved ? PSC_PROOF_SEARCH : PSC_PROOF_NONE;
    if (!lower)
        return PSC_OK;
    l->space->by = "search";
    return number_turns(l) ? PSC_OK : PSC_ERR_NOMEM;
}

static bool try_packer(struct ladder *l, const char *name, const struct psc_offsets_budget *budget)
{
    if (psc_packer_find(name)->pack(l->p, l->goal, budget, l->scratch, l->next, l->next_turn, l->space))
        return false;
    keep_if_lower(l, name);
    return true;
}

static bool try_order(struct ladder *l, const struct psc_beside *beside, const uint32_t *order, enum psc_place_fit fit,
                      const char *by)
{
    bool lower;
    if (psc_place_beside(beside, order, fit, l->height, l->scratch, l->next, l->next_turn, &lower))
        return false;
    if (lower)
        keep_if_lower(l, by);
    return true;
}

/* The rungs that place one by one. Who is beside whom they find once, and each gives up at the height of those before it.
 * The last is no strategy of its own: the largest first, each into the lowest gap; boxes that are piled up have no gaps. */
static bool try_orders(struct ladder *l, const struct psc_offsets_budget *budget)
{
    struct psc_beside beside;
    const uint32_t *by_size, *by_breadth;
    if (!psc_beside_build(&beside, l->p, l->scratch) || !(by_size = psc_order_by_size(l->p, l->scratch)) ||
        !try_order(l, &beside, by_size, PSC_PLACE_BEST, "greedy-size"))
        return false;
    if (!is_done(l) && (!(by_breadth = psc_order_by_breadth(&beside, by_size, l->scratch)) ||
                        !try_order(l, &beside, by_breadth, PSC_PLACE_BEST, "greedy-breadth")))
        return false;
    if (!is_done(l) && !(beside.way == PSC_BESIDE_SHELVED
                             ? try_order(l, &beside, l->p->by_begin, PSC_PLACE_FIRST, "linear-scan")
                             : try_packer(l, "linear-scan", budget)))
        return false;
    return is_done(l) || beside.way == PSC_BESIDE_PILED ||
           try_order(l, &beside, by_size, PSC_PLACE_FIRST, "greedy-size, first fit");
}

/* The lowest arena, of some between the bound and what is there, that fitting ends finds room in. The search begins where it
 * would have begun without: from a lower height it spends its work elsewhere and ends higher. false: out of memory. */
static bool place_inside(const struct ladder *l, struct inside *ret)
{
    struct psc_arena_mark mark;
    uint64_t lo = l->space->bound > l->goal ? l->space->bound : l->goal, looks = INSIDE_LOOKS + 96 * (uint64_t)l->p->box_n;
    uint64_t step = l->height - lo > INSIDE_TRIES ? (l->height - lo) / INSIDE_TRIES : 1;
    struct psc_filling *arena;
    ret->offset = psc_arena_alloc(l->scratch, l->p->box_n, sizeof *ret->offset);
    ret->turn = psc_arena_alloc(l->scratch, l->p->box_n, sizeof *ret->turn);
    mark = psc_arena_mark(l->scratch);
    arena = psc_filling_new(l->p, l->scratch);
    if (!ret->offset || !ret->turn || !arena)
        return false;
    ret->height = UINT64_MAX;
    for (uint64_t capacity = lo; looks && capacity < l->height && ret->height == UINT64_MAX; capacity += step)
        if (psc_filling_run(arena, capacity, &looks, ret->offset, ret->turn))
            ret->height = height_of(l->p, ret->offset);
    psc_arena_rewind(l->scratch, mark);
    return true;
}

static void keep_inside(struct ladder *l, const struct inside *inside)
{
    if (inside->height >= l->height)
        return;
    l->height = inside->height;
    l->space->by = "fitting ends";
    memcpy(l->offset, inside->offset, l->p->box_n * sizeof *l->offset);
    memcpy(l->turn, inside->turn, l->p->box_n * sizeof *l->turn);
}

enum psc_status psc_pack_optimal(const struct psc_offsets_problem *problem, uint64_t goal,
                                 const struct psc_offsets_budget *budget, struct psc_arena *scratch, uint64_t *offset,
                                 uint32_t *turn, struct psc_offsets_space *space)
{
    struct ladder l = {.p = problem, .scratch = scratch, .offset = offset, .turn = turn, .goal = goal, .space = space,
                       .height = UINT64_MAX};
    struct inside inside = {.height = UINT64_MAX};
    l.next = psc_arena_alloc(scratch, problem->box_n, sizeof *l.next);
    l.next_turn = psc_arena_alloc(scratch, problem->box_n, sizeof *l.next_turn);
    if (!l.next || !l.next_turn)
        return PSC_ERR_NOMEM;
    if (!try_packer(&l, "best-fit", budget) || (!is_done(&l) && !try_orders(&l, budget)))
        return PSC_ERR_NOMEM;
    if (is_done(&l))
        return PSC_OK;
    if (psc_offsets_is_plain(problem) && !place_inside(&l, &inside))
        return PSC_ERR_NOMEM;
    if (inside.height > space->bound && inside.height > goal) {
        if (search(&l, budget))
            return PSC_ERR_NOMEM;
        l.height = height_of(problem, offset);
    }
    keep_inside(&l, &inside);
    return PSC_OK;
}
