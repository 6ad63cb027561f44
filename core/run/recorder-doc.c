/* The steps of a recorded document: each in an arena of its own, kept until the document goes. */
#include "core/run/recorder-private.h"

#include "core/base/mem.h"

#include <string.h>

struct kept_step {
    struct psc_arena arena;
    struct psc_step step;
};
struct kept_phase {
    struct kept_step *steps; /* owned */
    size_t n, cap;
};
struct psc_rec_store {
    struct kept_phase *phases; /* owned */
    size_t n, cap;
};

static uint32_t count(void *ctx, uint32_t phase)
{
    const struct psc_rec_store *store = ctx;
    return phase < store->n ? (uint32_t)store->phases[phase].n : 0;
}

static enum psc_status load(void *ctx, uint32_t phase, uint32_t step, struct psc_arena *arena, struct psc_step *ret,
                            struct psc_error *reterr)
{
    const struct psc_rec_store *store = ctx;
    (void)arena;
    (void)reterr;
    *ret = store->phases[phase].steps[step].step; /* lives as long as the document */
    return PSC_OK;
}

static void close_store(void *ctx)
{
    struct psc_rec_store *store = ctx;
    for (size_t p = 0; p < store->n; p++) {
        for (size_t s = 0; s < store->phases[p].n; s++)
            psc_arena_release(&store->phases[p].steps[s].arena);
        psc_free(store->phases[p].steps);
    }
    psc_free(store->phases);
    psc_free(store);
}

enum psc_status psc_rec_store_new(struct psc_doc *doc, struct psc_rec_store **ret, struct psc_error *reterr)
{
    struct psc_rec_store *store = psc_alloc0(1, sizeof *store);
    if (!store)
        return psc_fail_nomem(reterr);
    doc->steps = (struct psc_step_source){.count = count, .load = load, .close = close_store, .ctx = store};
    *ret = store;
    return PSC_OK;
}

enum psc_status psc_rec_store_phase(struct psc_doc *doc, struct psc_rec_store *store, const struct psc_phase *phase,
                                    struct psc_error *reterr)
{
    struct psc_phase *phases = psc_arena_alloc(&doc->arena, (size_t)doc->phase_n + 1, sizeof *phases);
    if (!phases || !psc_grow(&store->phases, store->n + 1, &store->cap, sizeof *store->phases))
        return psc_fail_nomem(reterr);
    if (doc->phase_n)
        memcpy(phases, doc->phases, doc->phase_n * sizeof *phases);
    phases[doc->phase_n] = *phase;
    store->phases[store->n++] = (struct kept_phase){0};
    doc->phases = phases;
    doc->phase_n++;
    return PSC_OK;
}

enum psc_status psc_rec_store_step(struct psc_rec_store *store, const struct psc_step *step, struct psc_arena *arena,
                                   struct psc_error *reterr)
{
    struct kept_phase *phase = &store->phases[store->n - 1];
    if (!psc_grow(&phase->steps, phase->n + 1, &phase->cap, sizeof *phase->steps))
        return psc_fail_nomem(reterr);
    phase->steps[phase->n++] = (struct kept_step){*arena, *step};
    memset(arena, 0, sizeof *arena);
    return PSC_OK;
}
