#include "core/plan/fault.h"

#include <string.h>

static const struct psc_fault_info infos[PSC_FAULT_N] = {
    [PSC_FAULT_L1] = {"l1", "lives counted in topological order while execution follows build order"},
    [PSC_FAULT_L2] = {"l2", "inputs are placed at their own position and die with their last reader"},
    [PSC_FAULT_L3] = {"l3", "inputs are placed inside the walk and may take released buffers"},
    [PSC_FAULT_L4] = {"l4", "a longer life does not move the buffer's deadline"},
    [PSC_FAULT_L5] = {"l5", "a view never extends its parent"},
    [PSC_FAULT_L7] = {"l7", "staging copies take idle buffers of the pool"},
    [PSC_FAULT_H1] = {"h1", "in place through a view while the storage has another reader"},
    [PSC_FAULT_H2] = {"h2", "outputs do not count as readers: in place over an output"},
    [PSC_FAULT_H3] = {"h3", "in place over a graph input"},
    [PSC_FAULT_H5] = {"h5", "the budget counts a new buffer although an idle one would serve", .needs_budget = true},
    [PSC_FAULT_H7] = {"h7", "outputs are not pinned and get no buffer when unread"},
    [PSC_FAULT_H8] = {"h8", "the live peak is sampled after a position's releases"},
};

const struct psc_fault_info *psc_fault_info(enum psc_fault fault)
{
    return &infos[fault];
}

enum psc_fault psc_fault_from_name(const char *name)
{
    for (int i = 0; i < PSC_FAULT_N; i++)
        if (!strcmp(infos[i].name, name))
            return (enum psc_fault)i;
    return PSC_FAULT_N;
}
