#include "core/plan/arena-fault.h"

#include <string.h>

static const struct psc_arena_fault_info infos[PSC_ARENA_FAULT_N] = {
    [PSC_ARENA_A1] = {"a1", "a block given back enters the other arena's free list, too"},
    [PSC_ARENA_A2] = {"a2", "a block that is lent is lent a second time"},
    [PSC_ARENA_A3] = {"a3", "the first of several holders gives the block back"},
    [PSC_ARENA_A4] = {"a4", "clear takes the bytes of exported outputs"},
    [PSC_ARENA_A5] = {"a5", "the search for a block ignores that it is lent"},
    [PSC_ARENA_A6] = {"a6", "borrowed memory enters a free list"},
    [PSC_ARENA_A7] = {"a7", "export copies instead of handing over"},
    [PSC_ARENA_A8] = {"a8", "the first block that fits is taken, not the smallest"},
    [PSC_ARENA_A9] = {"a9", "a block used for less shrinks"},
    [PSC_ARENA_A10] = {"a10", "over the cap the block freed last goes first"},
    [PSC_ARENA_A11] = {"a11", "retained bytes are counted as live"},
    [PSC_ARENA_A12] = {"a12", "roles of output slots are not cleared after the kernel"},
    [PSC_ARENA_A13] = {"a13", "workspaces come from the arena of the node's outputs"},
    [PSC_ARENA_A14] = {"a14", "a lease holds no reference to its arena"},
    [PSC_ARENA_A15] = {"a15", "a lease lets go of its arena before it gives the block back"},
    [PSC_ARENA_A16] = {"a16", "a block that is lent is freed by its session"},
    [PSC_ARENA_A17] = {"a17", "over the cap a block in use goes first"},
    [PSC_ARENA_A18] = {"a18", "the peak is reset to nothing instead of to what is live"},
    [PSC_ARENA_A19] = {"a19", "a kernel leaves the last word of its output as it was"},
    [PSC_ARENA_A20] = {"a20", "an output nobody asked for comes from the arena of the node's outputs"},
};

const struct psc_arena_fault_info *psc_arena_fault_info(enum psc_arena_fault fault)
{
    return &infos[fault];
}

enum psc_arena_fault psc_arena_fault_from_name(const char *name)
{
    for (int i = 0; i < PSC_ARENA_FAULT_N; i++)
        if (!strcmp(infos[i].name, name))
            return (enum psc_arena_fault)i;
    return PSC_ARENA_FAULT_N;
}
