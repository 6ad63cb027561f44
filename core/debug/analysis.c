#include "core/debug/analysis.h"

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/debug/verdict.h"
#include "core/plan/capacity.h"
#include "core/plan/choice.h"

#include <string.h>

static double now_ms(void)
{
    return (double)psc_clock_ns() / 1e6;
}

/* "Planned here: pool, upstream, class, lowest slot, lives in topological order, faults l1 h2" */
static char *describe(struct psc_arena *arena, const struct psc_plan *plan)
{
    const struct psc_plan_options *o = &plan->options;
    struct psc_text text = {0};
    const char *lead = ", faults";

    if (plan->certificates) { /* a planner of arenas: the pool's options are not its own */
        psc_text_addf(&text, "Planned here: %s, offsets in one arena a backend, multiples of %llu%s", plan->planner,
                      (unsigned long long)o->align, o->apart ? ", nothing in place" : "");
        return psc_text_keep(&text, arena);
    }
    if (!strcmp(plan->planner, "candela")) {
        psc_text_addf(&text, "Planned here: candela, generation %s", psc_generation_name(o->generation));
        for (int f = 0; f < PSC_CANDELA_FAULT_N; f++)
            if (o->candela_faults & PSC_CANDELA_BIT(f)) {
                psc_text_addf(&text, "%s %s", lead, psc_candela_fault_name((enum psc_candela_fault)f));
                lead = "";
            }
        return psc_text_keep(&text, arena);
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
    return psc_text_keep(&text, arena);
}

static enum psc_status plan_here(struct psc_analysis *a, const struct psc_analysis_options *options,
                                 struct psc_error *reterr)
{
    const struct psc_planner *planner = options->planner ? options->planner : &psc_planners[0];
    double begin = now_ms();
    enum psc_status status = planner->plan(&a->arena, a->phase->graph, &options->plan, &a->plan, reterr);

    a->planned_ms = now_ms() - begin;
    if (status)
        return status;
    a->origin = describe(&a->arena, a->plan);
    return a->origin ? PSC_OK : psc_fail_nomem(reterr);
}

static enum psc_status refuse_capacity(const struct psc_offsets_space *space, uint64_t capacity, struct psc_error *reterr)
{
    if (space->bound > capacity)
        return psc_fail(reterr, PSC_ERR_TOO_BIG, "the boxes need at least %llu bytes, which are alive at once: more than the "
                        "capacity of %llu bytes, whatever the planner", (unsigned long long)space->bound,
                        (unsigned long long)capacity);
    return psc_fail(reterr, PSC_ERR_TOO_BIG, "the boxes need %llu bytes with %s, more than the capacity of %llu bytes; no "
                    "packing needs less than %llu bytes", (unsigned long long)space->height, space->by,
                    (unsigned long long)capacity, (unsigned long long)space->bound);
}

static enum psc_status refuse_packer(const char *name, struct psc_error *reterr)
{
    struct psc_text known = {0};
    psc_planner_names(&known, true, " and ");
    enum psc_status status = known.failed ? psc_fail_nomem(reterr)
                                          : psc_fail(reterr, PSC_ERR_USAGE, "the planner %s plans graphs, this phase is a list of "
                                                     "boxes: %s pack them", name, psc_text_str(&known));
    psc_text_release(&known);
    return status;
}

/* Boxes are packed, nothing else. */
static enum psc_status pack(struct psc_arena *arena, const struct psc_box_set *set, const struct psc_analysis_options *options,
                            struct psc_offsets *ret, const struct psc_packer **ret_packer, struct psc_error *reterr)
{
    const char *name = options->planner ? options->planner->name : "optimal";
    const struct psc_packer *packer = psc_packer_find(name);
    struct psc_offsets_problem problem = set->problem;
    uint64_t capacity = options->plan.capacity ? options->plan.capacity : PSC_CAPACITY_NONE;
    if (!packer)
        return refuse_packer(name, reterr);
    if (options->plan.capacity_n)
        return psc_capacity_refuse(&options->plan.capacities[0], NULL, 0, reterr);
    problem.align = options->plan.align;
    problem.capacity = &capacity;
    enum psc_status status = psc_offsets_pack(arena, &problem, packer, &options->plan.budget, ret, reterr);
    if (!status && !ret->spaces[0].fits)
        status = refuse_capacity(&ret->spaces[0], capacity, reterr);
    *ret_packer = packer;
    return status;
}

static enum psc_status pack_boxes(struct psc_analysis *a, const struct psc_analysis_options *options,
                                  struct psc_error *reterr)
{
    struct psc_offsets *packed = psc_arena_alloc(&a->arena, 1, sizeof *packed);
    const struct psc_packer *packer = NULL;
    if (!packed)
        return psc_fail_nomem(reterr);
    double begin = now_ms();
    enum psc_status status = pack(&a->arena, a->phase->boxes, options, packed, &packer, reterr);
    a->planned_ms = now_ms() - begin;
    if (status)
        return status;
    a->packed = packed;
    a->packer = packer->name;
    struct psc_text text = {0};
    psc_text_addf(&text, "Packed here: %s", packer->name);
    a->origin = psc_text_keep(&text, &a->arena);
    if (!a->origin)
        return psc_fail_nomem(reterr);
    return psc_box_set_story(&a->arena, a->phase->boxes, packed, &a->story, reterr);
}

enum psc_status psc_analysis_plan_only(struct psc_arena *arena, const struct psc_phase *phase,
                                       const struct psc_analysis_options *options, double *ret_ms, struct psc_error *reterr)
{
    const struct psc_planner *planner = options->planner ? options->planner : &psc_planners[0];
    const struct psc_packer *packer;
    struct psc_offsets packed;
    struct psc_plan *plan;
    double begin = now_ms();
    enum psc_status status = phase->graph   ? planner->plan(arena, phase->graph, &options->plan, &plan, reterr)
                             : phase->boxes ? pack(arena, phase->boxes, options, &packed, &packer, reterr)
                                            : psc_fail(reterr, PSC_ERR_USAGE, "this phase has nothing to plan");
    if (!status)
        *ret_ms = now_ms() - begin;
    return status;
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
    if (phase->boxes) {
        a->packed = &phase->boxes->packed;
        a->packer = phase->boxes->packed.spaces[0].by;
        if (options->replan)
            return pack_boxes(a, options, reterr);
    }
    if (!options->replan && options->as_planned && psc_analysis_has_both(phase)) {
        a->origin = "Plan of the file, as it was to run";
        a->plan = phase->plan;
        return PSC_OK;
    }
    if ((!options->replan || (!phase->graph && !phase->boxes)) && phase->story) {
        bool filed = a->packed && !strcmp(a->packer, "the file");
        a->origin = phase->expression ? phase->note
                    : filed ? "Boxes and offsets of the file"
                    : phase->boxes ? "Boxes of the file, packed when it was opened" : "Events of the file";
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

bool psc_analysis_has_both(const struct psc_phase *phase)
{
    return phase->graph && phase->plan && phase->story && !phase->story->predicted;
}

/* Did it happen as planned? Only where events were recorded and the plan that was executed is there too. */
static enum psc_status compare(struct psc_analysis *a, struct psc_error *reterr)
{
    const struct psc_phase *phase = a->phase;
    enum psc_status status = PSC_OK;
    if (!psc_analysis_has_both(phase) || a->plan != phase->plan)
        return PSC_OK;
    if (a->story == phase->story)
        status = psc_plan_lower(&a->arena, phase->graph, phase->plan, &a->predicted, reterr);
    else
        a->predicted = a->story;
    a->recorded = phase->story;
    if (!status)
        status = psc_compare_stories(&a->arena, a->predicted, a->recorded, &a->comparison, reterr);
    return status;
}

static enum psc_status fill(struct psc_analysis *a, const struct psc_analysis_options *options, struct psc_error *reterr)
{
    enum psc_status status = find_plan(a, options, reterr);

    if (!status && a->plan && !a->story)
        status = psc_plan_lower(&a->arena, a->phase->graph, a->plan, &a->story, reterr);
    const struct psc_story *record = a->phase->story;
    if (!status && a->plan && a->plan == a->phase->plan && record && record != a->story && !a->story->believed_order &&
        record->position_n == a->story->position_n)
        a->story->believed_order = record->believed_order; /* a plan in a file has no order of its own, what ran of it was told */
    if (!status && a->story)
        status = psc_check_story(&a->arena, a->phase->graph, a->story, &a->check, reterr);
    if (!status && a->story)
        status = psc_verdict_findings(&a->arena, a->phase, a->story, &a->check, reterr);
    if (!status && a->story)
        status = psc_history_build(&a->arena, a->story, &a->history, reterr);
    if (!status && a->story)
        status = compare(a, reterr);
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
    a->planned_ms = -1;
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
