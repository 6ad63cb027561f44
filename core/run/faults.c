#include "core/run/faults.h"

#include "core/run/session.h"

#include <string.h>

#define NO_PLAN PSC_FAULT_N
#define NO_RUN PSC_RUN_N

static const struct {
    enum psc_fault plan;
    enum psc_run_fault run;
    unsigned call;
    const char *name, *text; /* NULL: the planner's */
} table[] = {
    {PSC_FAULT_L1, NO_RUN, 0, NULL, NULL},
    {PSC_FAULT_L2, NO_RUN, 0, NULL, NULL},
    {PSC_FAULT_L3, NO_RUN, 0, NULL, NULL},
    {PSC_FAULT_L4, NO_RUN, 0, NULL, NULL},
    {PSC_FAULT_L5, NO_RUN, 0, NULL, NULL},
    {NO_PLAN, NO_RUN, PSC_CALL_L6, "l6", "rope reads its operand on the host while it is only queued"},
    {PSC_FAULT_L7, PSC_RUN_L7, 0, NULL, NULL},
    {NO_PLAN, PSC_RUN_L8, 0, "l8", "a staged copy moves the node itself to the backend of its reader"},
    {NO_PLAN, PSC_RUN_L9, 0, "l9", "one staged copy a node, whoever reads it"},
    {NO_PLAN, PSC_RUN_L10, 0, "l10", "a staged copy is read without waiting for it"},
    {NO_PLAN, PSC_RUN_L11, 0, "l11", "staging is made anew whenever the graph changes"},
    {NO_PLAN, PSC_RUN_L13, 0, "l13", "a layer asked for again with another size keeps its old regions"},
    {NO_PLAN, PSC_RUN_L15, 0, "l15", "a position beyond n_ctx is not refused"},
    {NO_PLAN, PSC_RUN_L17, 0, "l17", "an input that nobody filled is no error (tail_ids is not filled)"},
    {NO_PLAN, NO_RUN, PSC_CALL_L20, "l20", "an f32 matmul of several tokens writes its output transposed"},
    {NO_PLAN, NO_RUN, PSC_CALL_L21, "l21", "softmax does not divide by the sum"},
    {NO_PLAN, NO_RUN, PSC_CALL_L22, "l22", "attention sums over the longest window of the batch"},
    {NO_PLAN, NO_RUN, PSC_CALL_L24, "l24", "cuda: a norm's threads do not wait for what they share"},
    {NO_PLAN, NO_RUN, PSC_CALL_L25, "l25", "cuda: threads of a norm leave before a barrier at which the others wait for ever"},
    {NO_PLAN, NO_RUN, PSC_CALL_L31, "l31", "cuda: the host decides how far attention looks, in a capture window too"},
    {NO_PLAN, PSC_RUN_L32, 0, "l32", "a recording is replayed although the buffers it was made with have changed"},
    {NO_PLAN, NO_RUN, PSC_CALL_L33, "l33", "quantised activations are remembered by address and outlive their bytes"},
    {NO_PLAN, PSC_RUN_L34, 0, "l34", "somebody else waits on the stream while a capture window is open"},
    {NO_PLAN, NO_RUN, PSC_CALL_L35, "l35", "cuda: a norm writes quantised activations only, and an f32 op reads its output"},
    {PSC_FAULT_H1, NO_RUN, 0, NULL, NULL},
    {PSC_FAULT_H2, NO_RUN, 0, NULL, NULL},
    {PSC_FAULT_H3, NO_RUN, 0, NULL, NULL},
    {PSC_FAULT_H5, PSC_RUN_H5, 0, NULL, NULL},
    {NO_PLAN, PSC_RUN_H6, 0, "h6", "a graph that cannot be mapped again is lost from the cache"},
    {PSC_FAULT_H7, NO_RUN, 0, NULL, NULL},
    {PSC_FAULT_H8, NO_RUN, 0, NULL, NULL},
};

uint32_t psc_named_fault_n(void)
{
    return sizeof table / sizeof *table;
}

struct psc_named_fault psc_named_fault(uint32_t i)
{
    struct psc_named_fault f = {table[i].name, table[i].text, 0, 0, table[i].call};
    if (table[i].plan != NO_PLAN) {
        f.plan = PSC_FAULT_BIT(table[i].plan);
        f.name = psc_fault_info(table[i].plan)->name;
        f.text = psc_fault_info(table[i].plan)->text;
    }
    if (table[i].run != NO_RUN)
        f.run = UINT64_C(1) << table[i].run;
    return f;
}

bool psc_named_fault_find(const char *name, struct psc_named_fault *ret)
{
    for (uint32_t i = 0; i < psc_named_fault_n(); i++) {
        struct psc_named_fault f = psc_named_fault(i);
        if (!strcmp(f.name, name)) {
            *ret = f;
            return true;
        }
    }
    return false;
}
