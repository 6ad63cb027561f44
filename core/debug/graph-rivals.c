/* One graph planned by every generation of candela's planner: who places a node otherwise, and why. */
#include "core/debug/graph-rivals.h"

#include "core/base/text.h"
#include "core/debug/candela-tale.h"
#include "core/debug/explain-words.h"

#include <string.h>

static bool same_place(const struct psc_place *a, const struct psc_place *b)
{
    bool by_node = a->reason == PSC_WHY_IN_PLACE || a->reason == PSC_WHY_REUSED;
    return a->reason == b->reason && (!by_node || a->a == b->a);
}

/* ---- made once ---------------------------------------------------------------------------------------------------- */

static bool put_findings(struct psc_arena *arena, const struct psc_analysis *a, struct psc_graph_rival *ret)
{
    struct psc_text text = {0};
    ret->finding_n = a->check.finding_n;
    if (!ret->finding_n)
        return true;
    psc_explain_finding(&text, a, &a->check.findings[0]);
    return (ret->finding = psc_text_keep(&text, arena)) != NULL;
}

/* The plan is kept, its story and the checker's work go. */
static enum psc_status make_rival(struct psc_arena *arena, const struct psc_analysis *a, enum psc_generation generation,
                                  struct psc_graph_rival *ret, struct psc_error *reterr)
{
    struct psc_plan_options options = a->plan->options;
    struct psc_analysis other = {.phase = a->phase};
    struct psc_error error = {0};
    if (generation == options.generation) {
        ret->plan = a->plan;
        return put_findings(arena, a, ret) ? PSC_OK : psc_fail_nomem(reterr);
    }
    options.generation = generation;
    options.log = false;
    enum psc_status status = psc_planner_find("candela")->plan(arena, a->phase->graph, &options, &other.plan, &error);
    if (status && status != PSC_ERR_NOMEM)
        return (ret->why = psc_arena_strdup(arena, error.text)) ? PSC_OK : psc_fail_nomem(reterr);
    if (!status)
        status = psc_plan_lower(&other.arena, a->phase->graph, other.plan, &other.story, reterr);
    if (!status)
        status = psc_check_story(&other.arena, a->phase->graph, other.story, &other.check, reterr);
    if (!status && !put_findings(arena, &other, ret))
        status = PSC_ERR_NOMEM;
    ret->plan = other.plan;
    psc_arena_release(&other.arena);
    return status == PSC_ERR_NOMEM ? psc_fail_nomem(reterr) : status;
}

enum psc_status psc_graph_rivals_new(struct psc_arena *arena, const struct psc_analysis *a, psc_rivals_go_on go_on, void *ctx,
                                     struct psc_graph_rivals **ret, struct psc_error *reterr)
{
    const psc_node *order = a->story->order;
    uint32_t n = a->phase->graph->n;
    struct psc_graph_rivals *r = psc_arena_alloc0(arena, 1, sizeof *r);
    enum psc_status status = PSC_OK;
    if (!r || !(r->differs = psc_arena_alloc(arena, n, sizeof *r->differs)))
        return psc_fail_nomem(reterr);
    for (unsigned g = 0; !status && g < PSC_GEN_N; g++)
        status = go_on && !go_on(ctx, g, PSC_GEN_N) ? psc_fail(reterr, PSC_ERR_CANCELLED, "generations are not compared any more")
                                                    : make_rival(arena, a, (enum psc_generation)g, &r->by[g], reterr);
    for (uint32_t p = 0; !status && p < n; p++) {
        psc_node node = order ? order[p] : p;
        bool any = false;
        for (unsigned g = 0; g < PSC_GEN_N; g++) {
            bool here = r->by[g].plan && !same_place(&a->plan->places[node], &r->by[g].plan->places[node]);
            r->differ_of[g] += here;
            any = any || here;
        }
        if (any)
            r->differs[r->differ_n++] = (int32_t)p;
    }
    if (!status)
        *ret = r;
    return status;
}

/* ---- put into a view ------------------------------------------------------------------------------------------------ */

static const char *script_words(struct psc_arena *arena, const struct psc_plan_options *o, enum psc_generation generation)
{
    struct psc_text text = {0};
    psc_text_add(&text, psc_generation_name(generation));
    for (int f = 0; f < PSC_CANDELA_FAULT_N; f++)
        if (o->candela_faults & PSC_CANDELA_BIT(f))
            psc_text_addf(&text, " %s", psc_candela_fault_name((enum psc_candela_fault)f));
    return psc_text_keep(&text, arena);
}

static const char *figures(struct psc_arena *arena, const struct psc_plan *plan)
{
    struct psc_text text = {0};
    psc_text_addf(&text, "%llu buffer%s, ", (unsigned long long)plan->figures.buffers, plan->figures.buffers == 1 ? "" : "s");
    psc_say_bytes(&text, plan->figures.pool_bytes);
    psc_text_add(&text, ", ");
    psc_say_bytes(&text, plan->figures.peak_live_bytes);
    psc_text_add(&text, " at the peak");
    return psc_text_keep(&text, arena);
}

/* What stood there against the way that is shown here; where nothing did, why it was placed so. */
static bool put_decision(struct psc_arena *arena, const struct psc_analysis *a, const struct psc_graph_rival *rival, psc_node node,
                         const char *shown, struct psc_candela_rival_view *v)
{
    struct psc_analysis other = *a;
    uint32_t n = 0;
    other.plan = (struct psc_plan *)(uintptr_t)rival->plan; /* read only */
    struct psc_candela_try *tries = psc_plan_tries(arena, &other, node, &n);
    if (!tries)
        return false;
    v->same = same_place(&a->plan->places[node], &rival->plan->places[node]);
    v->strategy = tries[n - 1].strategy;
    v->why = tries[n - 1].why;
    for (uint32_t k = 0; k + 1 < n && !v->same; k++)
        if (!strcmp(tries[k].strategy, shown)) {
            v->why = tries[k].why;
            break;
        }
    return true;
}

bool psc_graph_put_rivals(struct psc_arena *arena, const struct psc_analysis *a, const struct psc_candela_tale *t,
                          const struct psc_graph_rivals *by, struct psc_candela_view *v)
{
    static const enum psc_generation order[PSC_GEN_N] = {PSC_GEN_01, PSC_GEN_02, PSC_GEN_ARENA, PSC_GEN_HARDENED}; /* as they came */
    bool inside = v->position >= 0 && v->position < (int32_t)t->step_n, fine = true;
    psc_node node = psc_story_node_at(a->story, v->position);
    uint32_t n = 0;
    struct psc_candela_rival_view *rivals = psc_arena_alloc0(arena, PSC_GEN_N, sizeof *rivals);
    struct psc_candela_try *shown = inside ? psc_plan_tries(arena, a, node, &n) : NULL;
    if (!rivals || (inside && !shown))
        return false;
    for (unsigned i = 0; fine && i < PSC_GEN_N; i++) {
        const struct psc_graph_rival *rival = &by->by[order[i]];
        struct psc_candela_rival_view *r = &rivals[i];
        r->name = psc_generation_name(order[i]);
        r->words = script_words(arena, &a->plan->options, order[i]);
        r->current = order[i] == a->plan->options.generation;
        r->differ_n = by->differ_of[order[i]];
        r->wrong = rival->finding_n > 0;
        r->result = rival->why ? rival->why : rival->finding_n ? rival->finding : "clean";
        r->what = rival->plan ? figures(arena, rival->plan) : "";
        fine = r->words && r->what && (!inside || !rival->plan || put_decision(arena, a, rival, node, shown[n - 1].strategy, r));
    }
    v->rivals = rivals;
    v->rival_n = PSC_GEN_N;
    return fine && psc_tale_put_differs(arena, t, by->differs, by->differ_n, v);
}
