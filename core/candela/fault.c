#include "core/candela/fault.h"

#include <string.h>

static const struct {
    const char *name, *text;
} infos[PSC_CANDELA_FAULT_N] = {
    [PSC_CANDELA_B1] = {"b1", "the in-place kernel ignores which operand it overwrites"},
    [PSC_CANDELA_B2] = {"b2", "a scalar is added where it should be subtracted"},
    [PSC_CANDELA_B3] = {"b3", "inputs are resolved with the finished alias map, not where they stand"},
    [PSC_CANDELA_B4] = {"b4", "ops that only change the layout do not resolve their input"},
    [PSC_CANDELA_B5] = {"b5", "a cache does not pin the slot that it keeps"},
    [PSC_CANDELA_B6] = {"b6", "in place only over what died before this step: it never happens"},
    [PSC_CANDELA_B7] = {"b7", "the other operand is compared by node, not by slot"},
    [PSC_CANDELA_B8] = {"b8", "a scalar op runs in place over what is not packed"},
    [PSC_CANDELA_B9] = {"b9", "kernels ignore where a packed operand begins"},
    [PSC_CANDELA_B10] = {"b10", "matmul takes a right operand of one column for a transposed one"},
    [PSC_CANDELA_B11] = {"b11", "in place over an operand that is read again later"},
    [PSC_CANDELA_B12] = {"b12", "a slot is taken by the step that still reads it"},
    [PSC_CANDELA_B13] = {"b13", "a claim is registered before the claimer's own inputs are resolved"},
    [PSC_CANDELA_B14] = {"b14", "a takeover leaves the entries of the old owner as they are"},
    [PSC_CANDELA_B15] = {"b15", "a reference does not lengthen the life of its slot"},
    [PSC_CANDELA_B16] = {"b16", "a life without end is taken for the shortest one"},
    [PSC_CANDELA_B17] = {"b17", "in place over a view forgets to take the base away"},
    [PSC_CANDELA_B18] = {"b18", "buffers are given back one step early"},
    [PSC_CANDELA_B19] = {"b19", "buffers are given back one step late"},
    [PSC_CANDELA_B20] = {"b20", "lives that touch in one step are packed over each other"},
    [PSC_CANDELA_B21] = {"b21", "packed offsets are not aligned"},
    [PSC_CANDELA_B22] = {"b22", "a skeleton takes inputs of any layout"},
    [PSC_CANDELA_CL1] = {"cl1", "as_contiguous of a cache that was bypassed names the bypassed one"},
    [PSC_CANDELA_CL2] = {"cl2", "a layout op over claimed bytes keeps the strides of the unpacked ones"},
    [PSC_CANDELA_CL3] = {"cl3", "the memory report counts what dies on reference and in-place steps as alive"},
    [PSC_CANDELA_CL4] = {"cl4", "a reference is listed to die with its slot instead of with its own last reader"},
};

const char *psc_candela_fault_name(enum psc_candela_fault fault)
{
    return infos[fault].name;
}

const char *psc_candela_fault_text(enum psc_candela_fault fault)
{
    return infos[fault].text;
}

enum psc_candela_fault psc_candela_fault_from_name(const char *name)
{
    for (int i = 0; i < PSC_CANDELA_FAULT_N; i++)
        if (!strcmp(infos[i].name, name))
            return (enum psc_candela_fault)i;
    return PSC_CANDELA_FAULT_N;
}
