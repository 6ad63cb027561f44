#include "core/debug/analysis.h"

#include "core/base/mem.h"

/* "Planned here: pool, upstream, class, lowest slot, lives in topological order, faults l1 h2" */
static char *describe(struct psc_arena *arena, const struct psc_plan *plan)
{
    const struct psc_plan_options *o = &plan->options;
    struct psc_text text = {0};
    const char *lead = ", faults";

    if (plan->certificates) { /* a planner of arenas: the pool's options are not its own */
        psc_text_addf(&text, "Planned here: %s, offsets in one arena a backend, multiples of %llu%s", plan->planner,
                      (unsigned long long)o->align, o->apart ? ", nothing in place" : "");
        char *ret = text.failed ? NULL : psc_arena_strdup(arena, psc_text_str(&text));
        psc_text_release(&text);
        return ret;
    }
    psc_text_addf(&text, "Planned here: %s, %s, %s", plan->planner, psc_mode_name(o->mode), psc_size_name(o->size));
    psc_text_addf(&text, ", %s slot", psc_slots_name(o->slots));
    if (o->slots == PSC_SLOTS_RANDOM)
        psc_text_addf(&text, " (seed %llu)", (unsigned long long)o->seed);
    if (o->order == PSC_ORDER_TOPOLOGICAL)
        psc_text_add(&text, ", lives in topological order");
    for (int f = 0; f < PSC_FAULT_N; f++) {
        if (!(o->faults & PSC_FAULT_BIT(f)))
            continue;
        psc_text_addf(&text, "%s %s", lead, psc_fault_info((enum psc_fault)f)->name);
        lead = "";
    }
    char *ret = text.failed ? NULL : psc_arena_strdup(arena, psc_text_str(&text));
    psc_text_release(&text);
    return ret;
}

static enum psc_status plan_here(struct psc_analysis *a, const struct psc_analysis_options *options,
                                 struct psc_error *reterr)
{
    const struct psc_planner *planner = options->planner ? options->planner : &psc_planners[0];
    enum psc_status status = planner->plan(&a->arena, a->phase->graph, &options->plan, &a->plan, reterr);

    if (status)
        return status;
    a->origin = describe(&a->arena, a->plan);
    return a->origin ? PSC_OK : psc_fail_nomem(reterr);
}

/* Where the plan comes from, in the order of who wins. */
static enum psc_status find_plan(struct psc_analysis *a, const struct psc_analysis_options *options,
                                 struct psc_error *reterr)
{
    const struct psc_phase *phase = a->phase;

    if (options->foreign) {
        if (!phase->graph)
            return psc_fail(reterr, PSC_ERR_PLAN, "this phase has no graph that a plan could be checked against");
        a->origin = "Plan from a file";
        return psc_plan_from_foreign(&a->arena, phase->graph, options->foreign, &a->plan, reterr);
    }
    if (!options->replan && phase->story) {
        a->origin = "Events of the file";
        a->story = phase->story;
        a->plan = phase->plan;
        return psc_story_check(phase->story, reterr);
    }
    if (!phase->graph)
        return PSC_OK;
    if (!options->replan && phase->plan) {
        a->origin = "Plan of the file";
        a->plan = phase->plan;
        return PSC_OK;
    }
    return plan_here(a, options, reterr);
}

static enum psc_status fill(struct psc_analysis *a, const struct psc_analysis_options *options, struct psc_error *reterr)
{
    enum psc_status status = find_plan(a, options, reterr);

    if (!status && a->plan && !a->story)
        status = psc_plan_lower(&a->arena, a->phase->graph, a->plan, &a->story, reterr);
    if (!status && a->story)
        status = psc_check_story(&a->arena, a->phase->graph, a->story, &a->check, reterr);
    if (!status && a->story)
        status = psc_history_build(&a->arena, a->story, &a->history, reterr);
    return status;
}

enum psc_status psc_analysis_new(const struct psc_phase *phase, const struct psc_analysis_options *options,
                                 struct psc_analysis **ret, struct psc_error *reterr)
{
    struct psc_analysis_options plain = {.plan = psc_plan_defaults};
    struct psc_analysis *a = psc_alloc0(1, sizeof *a);

    if (!a)
        return psc_fail_nomem(reterr);
    a->phase = phase;
    a->origin = "No graph and no events";
    enum psc_status status = fill(a, options ? options : &plain, reterr);
    if (status) {
        psc_analysis_free(a);
        return status;
    }
    *ret = a;
    return PSC_OK;
}

void psc_analysis_free(struct psc_analysis *a)
{
    if (!a)
        return;
    psc_arena_release(&a->arena);
    psc_free(a);
}
