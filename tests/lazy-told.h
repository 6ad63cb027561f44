/* tests/lazy-told.h: a plan of a lazy expression with what candela's planner had in hand at each position. */
#ifndef PSC_TESTS_LAZY_TOLD_H
#define PSC_TESTS_LAZY_TOLD_H

#include "core/candela/kept.h"
#include "core/debug/candela-view.h"
#include "tests/lazy-run.h"

struct told {
    struct psc_lazy l;
    struct psc_arena arena;
    struct psc_candela_plan *plan;
    struct psc_candela_kept *kept;
    struct psc_candela_tale *tale;
    uint32_t root;
};
const struct psc_candela_view *told_at(struct told *t, int32_t position); /* in the arena */
void told_forget(struct told *t);

#endif
