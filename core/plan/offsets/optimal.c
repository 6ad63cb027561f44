/* The strategy `optimal`: a ladder of heuristics, each rung only when the one before has not reached the bound. */
#include "core/plan/offsets/place.h"

#include <string.h>

struct ladder {
    const struct psc_offsets_problem *p;
    struct psc_arena *scratch;
    uint64_t *offset, *next; /* the best so far, the one under trial */
    uint32_t *turn, *next_turn;
    uint64_t height, goal;
    struct psc_offsets_space *space;
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

enum psc_status psc_pack_optimal(const struct psc_offsets_problem *problem, uint64_t goal,
                                 const struct psc_offsets_budget *budget, struct psc_arena *scratch, uint64_t *offset,
                                 uint32_t *turn, struct psc_offsets_space *space)
{
    static const char *const rungs[] = {"best-fit", "greedy-size", "greedy-breadth"};
    struct ladder l = {.p = problem, .scratch = scratch, .offset = offset, .turn = turn, .goal = goal, .space = space,
                       .height = UINT64_MAX};
    l.next = psc_arena_alloc(scratch, problem->box_n, sizeof *l.next);
    l.next_turn = psc_arena_alloc(scratch, problem->box_n, sizeof *l.next_turn);
    if (!l.next || !l.next_turn)
        return PSC_ERR_NOMEM;
    for (size_t k = 0; k < sizeof rungs / sizeof *rungs && !is_done(&l); k++) {
        if (psc_packer_find(rungs[k])->pack(problem, goal, budget, scratch, l.next, l.next_turn, space))
            return PSC_ERR_NOMEM;
        keep_if_lower(&l, rungs[k]);
    }
    return PSC_OK;
}
