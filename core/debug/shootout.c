#include "core/debug/shootout.h"

#include "core/candela/kept.h"

#include <stdlib.h>
#include <string.h>

/* ---- costs ---------------------------------------------------------------------------------------------------- */

static uint64_t less(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

static void add_parts(struct psc_cost *c)
{
    c->padding = less(c->peak_live, c->lower_bound);
    c->holes = less(c->reserved, c->peak_live);
    c->ratio = c->lower_bound ? (double)c->reserved / (double)c->lower_bound : c->reserved ? 0 : 1;
}

/* Proved when every arena is. */
static enum psc_proof proof_of(const struct psc_plan *plan)
{
    enum psc_proof proof = plan->certificate_n ? PSC_PROOF_BOUND : PSC_PROOF_NONE;
    for (uint32_t k = 0; k < plan->certificate_n; k++) {
        enum psc_proof own = plan->certificates[k].space.proof;
        if (own == PSC_PROOF_NONE || proof == PSC_PROOF_NONE)
            proof = PSC_PROOF_NONE;
        else if (own == PSC_PROOF_SEARCH)
            proof = PSC_PROOF_SEARCH;
    }
    return proof;
}

static struct psc_cost cost_of_plan(const struct psc_plan *plan)
{
    const struct psc_figures *f = &plan->figures;
    struct psc_cost c = {.buffers = f->buffers, .reserved = f->pool_bytes, .peak_live = f->peak_live_bytes,
                         .lower_bound = f->lower_bound_bytes, .in_place = f->in_place, .proof = proof_of(plan)};
    add_parts(&c);
    return c;
}

static struct psc_cost cost_of_story(const struct psc_analysis *a)
{
    const struct psc_history *h = a->history;
    struct psc_cost c = {.peak_live = h->peak_bytes, .lower_bound = h->peak_bytes};
    uint32_t buffers;
    c.reserved = psc_history_reserved(h, &buffers);
    c.buffers = buffers;
    for (uint32_t t = 0; t < h->tenancy_n; t++)
        c.in_place += h->tenancies[t].prev_version != PSC_NONE;
    if (a->phase->expression && a->phase->expression->plan) {
        c.buffers = a->phase->expression->plan->slot_n;
        c.peak_live = 4 * a->phase->expression->memory.peak;
    }
    if (a->packed) {
        c.reserved = a->packed->spaces[0].height;
        c.lower_bound = c.peak_live = a->packed->spaces[0].bound;
        c.proof = a->packed->spaces[0].proof;
    }
    add_parts(&c);
    return c;
}

struct psc_cost psc_cost_of(const struct psc_analysis *a)
{
    if (a->plan)
        return cost_of_plan(a->plan);
    return a->history ? cost_of_story(a) : (struct psc_cost){0};
}

/* ---- time ----------------------------------------------------------------------------------------------------- */

static int by_size(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return a < b ? -1 : a > b;
}

static enum psc_status measure(struct psc_contender *c, const struct psc_phase *phase, const struct psc_analysis_options *options,
                               struct psc_error *reterr)
{
    double times[PSC_SHOOTOUT_RUNS] = {c->analysis->planned_ms}, spent = times[0]; /* the plan that is shown counts, too */
    enum psc_status status = PSC_OK;
    for (c->runs = 1; !status && c->runs < PSC_SHOOTOUT_RUNS && spent < PSC_SHOOTOUT_MS; c->runs++) {
        struct psc_arena arena = {0};
        status = psc_analysis_plan_only(&arena, phase, options, &times[c->runs], reterr);
        spent += times[c->runs];
        psc_arena_release(&arena);
    }
    if (status)
        return status;
    qsort(times, c->runs, sizeof *times, by_size);
    c->milliseconds = times[c->runs / 2];
    return PSC_OK;
}

/* ---- contenders ----------------------------------------------------------------------------------------------- */

void psc_contender_refuse(struct psc_contender *ret, const char *name, const char *why)
{
    size_t n = strlen(why);
    memset(ret, 0, sizeof *ret);
    ret->name = name;
    ret->milliseconds = -1;
    n = n < sizeof ret->why ? n : sizeof ret->why - 1;
    memcpy(ret->why, why, n);
    if (n && ret->why[n - 1] == '.')
        ret->why[n - 1] = '\0'; /* whoever says it ends the sentence */
}

static enum psc_status refuse(struct psc_contender *c, enum psc_status status, const struct psc_error *error, struct psc_error *reterr)
{
    if (status == PSC_ERR_NOMEM)
        return psc_fail_nomem(reterr);
    psc_contender_refuse(c, c->name, error->text);
    return PSC_OK;
}

enum psc_status psc_contender_run(const struct psc_phase *phase, const char *name, const struct psc_analysis_options *options,
                                  struct psc_contender *ret, struct psc_error *reterr)
{
    struct psc_error error = {0};
    struct psc_analysis_options own = *options;
    enum psc_status status;
    memset(ret, 0, sizeof *ret);
    ret->name = name;
    ret->milliseconds = -1;
    own.replan = own.planner != NULL;
    if (own.planner && !phase->graph && !phase->boxes)
        return refuse(ret, psc_fail(&error, PSC_ERR_USAGE, "%s", phase->expression
                                    ? "an expression of lazy tensors is no graph: generations of candela's planner plan it"
                                    : "the phase brings its events and no graph: there is nothing to plan"), &error, reterr);
    if (!own.planner && !own.foreign && !phase->story && !phase->plan)
        return refuse(ret, psc_fail(&error, PSC_ERR_USAGE, "the file brings neither a plan nor events"), &error, reterr);
    status = psc_analysis_new(phase, &own, &ret->analysis, &error);
    if (!status && own.planner)
        status = measure(ret, phase, &own, &error);
    if (status) {
        psc_analysis_free(ret->analysis);
        ret->analysis = NULL;
        return refuse(ret, status, &error, reterr);
    }
    ret->cost = psc_cost_of(ret->analysis);
    ret->able = true;
    return PSC_OK;
}

void psc_contender_release(struct psc_contender *c)
{
    psc_analysis_free(c->analysis);
    c->analysis = NULL;
}

int psc_contender_order(const void *x, const void *y)
{
    const struct psc_contender *a = x, *b = y;
    if (!a->able || !b->able)
        return !a->able && !b->able ? strcmp(a->name, b->name) : a->able ? -1 : 1;
    if (a->cost.reserved != b->cost.reserved)
        return a->cost.reserved < b->cost.reserved ? -1 : 1;
    return strcmp(a->name, b->name); /* not by time: the same input has the same order */
}
