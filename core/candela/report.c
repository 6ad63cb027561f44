/* Names of what stands in a plan, and what running it asks of the heap. */
#include "core/candela/plan.h"

#include "core/base/mem.h"

#include <string.h>

static const char *const tags[PSC_TAG_N] = {"anything", "packed", "packed cache"};
static const char *const generations[PSC_GEN_N] = {"hardened", "0.1", "0.2", "arena"};
static const char *const hows[PSC_HOW_N] = {
    "leaf", "cache hit", "in place", "reference", "eternal reference", "use slot", "allocate", "region", "baked",
};

const char *psc_tag_name(enum psc_tag tag)
{
    return tags[(unsigned)tag < PSC_TAG_N ? tag : 0];
}

const char *psc_generation_name(enum psc_generation generation)
{
    return generations[(unsigned)generation < PSC_GEN_N ? generation : 0];
}

bool psc_generation_parse(const char *text, enum psc_generation *ret)
{
    for (unsigned g = 0; g < PSC_GEN_N; g++)
        if (!strcmp(text, generations[g])) {
            *ret = (enum psc_generation)g;
            return true;
        }
    return false;
}

const char *psc_how_name(enum psc_how how)
{
    return (unsigned)how < PSC_HOW_N ? hows[how] : "unknown";
}

static bool makes(enum psc_how how)
{
    return how == PSC_HOW_ALLOCATE || how == PSC_HOW_BAKED;
}

/* A slot's heap block goes when the last id that holds it goes: here, when its owner is listed. */
enum psc_status psc_candela_report(const struct psc_candela_plan *plan, struct psc_candela_memory *ret,
                                   struct psc_error *reterr)
{
    bool late = plan->options.faults & PSC_CANDELA_BIT(PSC_CANDELA_CL3);
    struct psc_candela_memory m = {.allocations = plan->arena_len > 0, .total = plan->arena_len, .peak = plan->arena_len};
    uint64_t live = plan->arena_len;
    uint64_t *held = psc_alloc0(plan->id_n, sizeof *held); /* of the slot that an id owns */
    if (!held)
        return psc_fail_nomem(reterr);
    for (uint32_t p = 0; p < plan->n; p++) {
        const struct psc_candela_step *step = &plan->steps[p];
        if (makes(step->how)) {
            m.allocations++;
            m.total += step->len;
            live += step->len;
            held[step->id] = step->how == PSC_HOW_BAKED ? 0 : step->len;
        }
        if (step->how == PSC_HOW_USE_SLOT || step->how == PSC_HOW_IN_PLACE) {
            uint32_t from = step->how == PSC_HOW_USE_SLOT ? step->take
                            : step->parent != PSC_NONE   ? step->parent
                                                         : step->inputs[step->operand];
            held[step->id] = held[from];
            held[from] = 0;
        }
        m.peak = live > m.peak ? live : m.peak;
        for (uint32_t k = 0; k < step->dealloc_n; k++) {
            uint64_t goes = held[step->dealloc[k]];
            held[step->dealloc[k]] = 0;
            if (!late || makes(step->how)) /* cl3: on other steps nothing is noticed */
                live -= goes;
        }
        if (step->id == plan->root)
            m.output = step->len;
    }
    psc_free(held);
    *ret = m;
    return PSC_OK;
}
