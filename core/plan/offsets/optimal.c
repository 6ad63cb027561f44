/* The strategy `optimal`: a ladder of heuristics, each rung only when none before it has reached the bound, then the search
 * (descend.h) with the budget. It begins from what the first rungs found, the others may lie lower: from a lower height it
 * spends its work elsewhere and ends higher. The lowest of all is kept. */
#include "core/plan/offsets/descend.h"
#include "core/plan/offsets/inside.h"
#include "core/plan/offsets/place.h"
#include "core/plan/offsets/valley.h"

#include <string.h>

#define INSIDE_LOOKS UINT64_C(2000000) /* and 96 a box */
#define VALLEY_LOOKS UINT64_C(2000000) /* of one filling, and 512 a box */
#define VALLEY_ENOUGH UINT64_C(40000)  /* after so many no other filling is begun: some hundreds of boxes are searched as soon */
#define VALLEY_MORE UINT64_C(1000000)  /* the same of more boxes than VALLEY_FEW */
enum { INSIDE_TRIES = 24, VALLEY_FEW = 512, VALLEY_MANY = 32768 };

struct ladder {
    const struct psc_offsets_problem *p;
    const struct psc_offsets_budget *budget;
    struct psc_arena *scratch;
    uint64_t *offset, *next; /* the best so far, the one under trial */
    uint32_t *turn, *next_turn;
    uint64_t height, goal;
    struct psc_offsets_space *space;
    struct psc_beside beside; /* from the second rung on */
    const uint32_t *by_size;
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

/* ---- rungs ---------------------------------------------------------------------------------------------------------- */

static bool try_packer(struct ladder *l, const char *name)
{
    if (psc_packer_find(name)->pack(l->p, l->goal, l->budget, l->scratch, l->next, l->next_turn, l->space))
        return false;
    keep_if_lower(l, name);
    return true;
}

/* Gives up at the height of the best so far. */
static bool try_order(struct ladder *l, const uint32_t *order, enum psc_place_fit fit, const char *by)
{
    bool lower;
    if (psc_place_beside(&l->beside, order, fit, l->height, l->scratch, l->next, l->next_turn, &lower))
        return false;
    if (lower)
        keep_if_lower(l, by);
    return true;
}

/* The largest first, each into the smallest gap or into the lowest; boxes that are piled up have no gaps. */
static bool try_sizes(struct ladder *l)
{
    if (!psc_beside_build(&l->beside, l->p, l->scratch) || !(l->by_size = psc_order_by_size(l->p, l->scratch)))
        return false;
    if (!try_order(l, l->by_size, PSC_PLACE_BEST, "greedy-size"))
        return false;
    return is_done(l) || l->beside.way == PSC_BESIDE_PILED ||
           try_order(l, l->by_size, PSC_PLACE_FIRST, "greedy-size, first fit");
}

/* Those that lie lowest most often come first. What is long and has few beside each other the search solves sooner. */
static bool try_valleys(struct ladder *l)
{
    static const struct psc_valley_setting settings[] = {
        {PSC_VALLEY_AREA, true}, {PSC_VALLEY_SIZE, false}, {PSC_VALLEY_CROWD, true}, {PSC_VALLEY_AREA, false},
        {PSC_VALLEY_LIFE, true}, {PSC_VALLEY_SIZE, true},  {PSC_VALLEY_LIFE, false}, {PSC_VALLEY_CROWD, false},
    };
    uint64_t spent = 0, n = l->p->box_n, enough = n > VALLEY_FEW ? VALLEY_MORE : VALLEY_ENOUGH;
    struct psc_valleys *valleys;
    if (!psc_offsets_is_plain(l->p) || l->beside.way == PSC_BESIDE_PILED || (n > VALLEY_MANY && l->beside.pair_n < 16 * n))
        return true;
    if (!psc_beside_list(&l->beside, l->scratch) || !(valleys = psc_valleys_new(&l->beside, l->scratch)))
        return false;
    for (size_t k = 0; k < sizeof settings / sizeof *settings && spent < enough && !is_done(l); k++) {
        uint64_t all = VALLEY_LOOKS + 512 * n, looks = all;
        if (psc_valleys_fill(valleys, &settings[k], l->height, &looks, l->next, l->next_turn))
            keep_if_lower(l, "valleys");
        spent += all - looks;
    }
    return true;
}

static bool try_breadth(struct ladder *l)
{
    const uint32_t *order = psc_order_by_breadth(&l->beside, l->by_size, l->scratch);
    return order && try_order(l, order, PSC_PLACE_BEST, "greedy-breadth");
}

static bool try_scan(struct ladder *l)
{
    return l->beside.way == PSC_BESIDE_SHELVED ? try_order(l, l->p->by_begin, PSC_PLACE_FIRST, "linear-scan")
                                               : try_packer(l, "linear-scan");
}

/* The lowest arena, of some between the bound and where the search begins, that fitting ends finds room in. */
static bool try_inside(struct ladder *l, uint64_t from)
{
    uint64_t lo = l->space->bound > l->goal ? l->space->bound : l->goal, looks = INSIDE_LOOKS + 96 * (uint64_t)l->p->box_n;
    uint64_t step = from - lo > INSIDE_TRIES ? (from - lo) / INSIDE_TRIES : 1;
    struct psc_filling *filling;
    bool found = false;
    if (!psc_offsets_is_plain(l->p))
        return true;
    if (!(filling = psc_filling_new(l->p, l->scratch)))
        return false;
    for (uint64_t capacity = lo; looks && capacity < l->height && !found; capacity += step)
        found = psc_filling_run(filling, capacity, &looks, l->next, l->next_turn);
    if (found)
        keep_if_lower(l, "fitting ends");
    return true;
}

/* ---- the search ------------------------------------------------------------------------------------------------------ */

static enum psc_status search(struct ladder *l, uint64_t *start)
{
    uint64_t work = l->budget->work, until = 0;
    bool lower, proved;
    enum psc_status status;
    if (l->budget->milliseconds)
        until = psc_search_clock() + l->budget->milliseconds * UINT64_C(1000000);
    status = psc_descend(l->p, l->goal, &work, until, l->scratch, start, &lower, &proved);
    if (status)
        return status;
    l->space->work = l->budget->work - work;
    l->space->proof = proved ? PSC_PROOF_SEARCH : PSC_PROOF_NONE;
    if (height_of(l->p, start) >= l->height)
        return PSC_OK;
    l->height = height_of(l->p, start);
    l->space->by = "search";
    memcpy(l->offset, start, l->p->box_n * sizeof *start);
    return number_turns(l) ? PSC_OK : PSC_ERR_NOMEM;
}

enum psc_status psc_pack_optimal(const struct psc_offsets_problem *problem, uint64_t goal,
                                 const struct psc_offsets_budget *budget, struct psc_arena *scratch, uint64_t *offset,
                                 uint32_t *turn, struct psc_offsets_space *space)
{
    struct ladder l = {.p = problem, .budget = budget, .scratch = scratch, .offset = offset, .turn = turn, .goal = goal,
                       .space = space, .height = UINT64_MAX};
    static bool (*const others[])(struct ladder *) = {try_valleys, try_breadth, try_scan};
    uint64_t *start, from;
    l.next = psc_arena_alloc(scratch, problem->box_n, sizeof *l.next);
    l.next_turn = psc_arena_alloc(scratch, problem->box_n, sizeof *l.next_turn);
    if (!l.next || !l.next_turn || !try_packer(&l, "best-fit") || (!is_done(&l) && !try_sizes(&l)))
        return PSC_ERR_NOMEM;
    if (is_done(&l))
        return PSC_OK;
    start = psc_arena_alloc(scratch, problem->box_n, sizeof *start);
    if (!start)
        return PSC_ERR_NOMEM;
    memcpy(start, offset, problem->box_n * sizeof *start);
    from = l.height;
    for (size_t k = 0; k < sizeof others / sizeof *others && !is_done(&l); k++)
        if (!others[k](&l))
            return PSC_ERR_NOMEM;
    if (!is_done(&l) && !try_inside(&l, from))
        return PSC_ERR_NOMEM;
    return is_done(&l) ? PSC_OK : search(&l, start);
}
