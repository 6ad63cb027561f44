/* tests/lazy-run.h: lazy expressions, typed, planned and run, for the tests of core/candela. */
#ifndef PSC_TESTS_LAZY_RUN_H
#define PSC_TESTS_LAZY_RUN_H

#include "core/candela/exec.h"
#include "core/candela/planner.h"

#define BIT(f) PSC_CANDELA_BIT(PSC_CANDELA_##f)

struct outcome {
    enum psc_status status;
    struct psc_error error;
    float values[64];
    uint64_t n, allocations;
    struct psc_candela_failure failure;
};
enum psc_status run_on(struct psc_lazy *l, uint32_t root, const struct psc_candela_options *options, struct outcome *out);
void run_text(const char *text, const struct psc_candela_options *options, bool unfused, struct outcome *out);
char *spell(const struct outcome *out); /* "3 7 5 9"; free with g_free */
/* The plan of a text; l is initialised. */
struct psc_candela_plan *plan_text(struct psc_lazy *l, struct psc_arena *arena, const char *text,
                                   const struct psc_candela_options *options);
/* Edges and up to 24 steps of every kind, at most 9 elements each; *state is walked. Returns the root. */
uint32_t lazy_random(struct psc_lazy *l, uint64_t *state);

#endif
