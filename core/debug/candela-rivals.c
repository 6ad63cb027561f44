/* One expression planned by every generation, and with the alias map the other way round: who decides what otherwise, and why. */
#include "core/base/text.h"
#include "core/candela/script.h"
#include "core/debug/candela-tale.h"
#include "core/debug/explain-words.h"
#include "core/debug/verdict.h"

#include <string.h>

/* The plan of a rival, told with the names of the one that is shown. */
static struct psc_candela_tale told(const struct psc_candela_tale *t, unsigned rival)
{
    struct psc_candela_tale other = *t;
    other.plan = t->kept->rivals[rival].plan;
    return other;
}

static bool is_current(const struct psc_candela_tale *t, unsigned rival)
{
    return rival != PSC_RIVAL_MAP && t->plan->options.generation == (enum psc_generation)rival;
}

static bool same_decision(const struct psc_candela_step *a, const struct psc_candela_step *b)
{
    return a->how == b->how && a->operand == b->operand && a->take == b->take && a->parent == b->parent && a->input_n == b->input_n &&
           (!a->input_n || !memcmp(a->inputs, b->inputs, a->input_n * sizeof *a->inputs));
}

/* ---- made once ---------------------------------------------------------------------------------------------------- */

static bool place_rival(struct psc_arena *arena, struct psc_candela_tale *t, unsigned rival)
{
    const struct psc_candela_plan *plan = t->kept->rivals[rival].plan;
    uint32_t *at = t->rival_step[rival] = plan ? psc_arena_alloc(arena, t->node_n, sizeof *at) : NULL;
    if (!plan)
        return true;
    if (!at)
        return false;
    memset(at, 0xff, t->node_n * sizeof *at);
    for (uint32_t p = 0; p < plan->n; p++) {
        at[plan->steps[p].id] = p;
        t->rival_differ[rival] += t->nodes[plan->steps[p].id].position < 0; /* a step that the shown plan has not */
    }
    return true;
}

static bool differs(const struct psc_candela_tale *t, unsigned rival, uint32_t p)
{
    const struct psc_candela_step *step = &t->plan->steps[p];
    if (!t->rival_step[rival])
        return false;
    uint32_t at = t->rival_step[rival][step->id];
    return at == PSC_NONE || !same_decision(step, &t->kept->rivals[rival].plan->steps[at]);
}

bool psc_tale_make_rivals(struct psc_arena *arena, struct psc_candela_tale *t)
{
    if (!t->kept->rivals)
        return true;
    t->differs = psc_arena_alloc(arena, t->plan->n, sizeof *t->differs);
    for (unsigned r = 0; r < PSC_RIVAL_N; r++)
        if (!t->differs || !place_rival(arena, t, r))
            return false;
    for (uint32_t p = 0; p < t->plan->n; p++) {
        bool any = false;
        for (unsigned r = 0; r < PSC_RIVAL_N; r++) {
            bool here = differs(t, r, p);
            t->rival_differ[r] += here;
            any = any || here;
        }
        if (any)
            t->differs[t->differ_n++] = (int32_t)p;
    }
    return true;
}

/* ---- put into a view ------------------------------------------------------------------------------------------------ */

/* "0.1 b3 level" */
static const char *script_words(struct psc_arena *arena, const struct psc_candela_tale *t, unsigned rival)
{
    struct psc_candela_options o = t->plan->options;
    struct psc_text text = {0};
    if (rival == PSC_RIVAL_MAP)
        o.faults ^= PSC_CANDELA_BIT(PSC_CANDELA_B3);
    else
        o.generation = (enum psc_generation)rival;
    psc_lazy_script_words(&text, &o, t->kept->levels);
    return psc_text_keep(&text, arena);
}

static const char *figures(struct psc_arena *arena, const struct psc_candela_memory *m)
{
    struct psc_text text = {0};
    psc_text_addf(&text, "%llu allocation%s, ", (unsigned long long)m->allocations, m->allocations == 1 ? "" : "s");
    psc_say_bytes(&text, 4 * m->total);
    psc_text_add(&text, ", ");
    psc_say_bytes(&text, 4 * m->peak);
    psc_text_add(&text, " at the peak");
    return psc_text_keep(&text, arena);
}

static bool put_result(struct psc_arena *arena, const struct psc_candela_tale *t, const struct psc_candela_rival *rival,
                       struct psc_candela_rival_view *v)
{
    struct psc_candela_kept other = *t->kept;
    struct psc_text text = {0};
    other.plan = rival->plan;
    other.verdict = rival->verdict;
    if (!rival->verdict.n) {
        v->result = rival->verdict.executed ? "right" : "not carried out";
        return true;
    }
    v->wastes = psc_wrong_is_waste(rival->verdict.wrongs[0].what);
    v->wrong = !v->wastes;
    psc_text_add(&text, v->wastes ? "right; but " : "");
    psc_explain_candela_wrong(&text, &other, &rival->verdict.wrongs[0]);
    return (v->result = psc_text_keep(&text, arena)) != NULL;
}

/* What stood there against the way that is shown here; where nothing did, why it was decided so. */
static bool put_decision(struct psc_arena *arena, const struct psc_candela_tale *t, unsigned rival, uint32_t p,
                         struct psc_candela_rival_view *v)
{
    const struct psc_candela_step *shown = &t->plan->steps[p];
    struct psc_candela_tale other = told(t, rival);
    uint32_t at = t->rival_step[rival][shown->id], k = 0, n = 0;
    v->same = !differs(t, rival, p);
    if (at == PSC_NONE) {
        v->strategy = "no step";
        v->why = "Another node stands for it: the map says so.";
        return true;
    }
    const struct psc_candela_step *step = &other.plan->steps[at];
    for (uint32_t i = 0; i < step->input_n && i < shown->input_n; i++)
        if (step->inputs[i] != shown->inputs[i]) {
            struct psc_text text = {0};
            psc_text_addf(&text, "It reads %s, where the plan that is shown reads %s.", t->nodes[step->inputs[i]].name,
                          t->nodes[shown->inputs[i]].name);
            v->strategy = psc_explain_candela_strategy(arena, &other, at, NULL);
            return (v->why = psc_text_keep(&text, arena)) && v->strategy;
        }
    for (; k < step->denied_n && !v->same; k += n) {
        n = psc_tale_group(step, k);
        if (step->denied[k].how == shown->how && (shown->how != PSC_HOW_IN_PLACE || step->denied[k].operand == shown->operand))
            break;
    }
    bool denied = !v->same && k < step->denied_n;
    v->strategy = psc_explain_candela_strategy(arena, &other, at, NULL);
    v->why = psc_explain_candela_why(arena, &other, at, denied ? &step->denied[k] : NULL, denied ? n : 0);
    return v->strategy && v->why;
}

static bool put_rival(struct psc_arena *arena, const struct psc_candela_tale *t, unsigned r, int32_t position,
                      struct psc_candela_rival_view *v)
{
    const struct psc_candela_rival *rival = &t->kept->rivals[r];
    bool global = t->plan->options.faults & PSC_CANDELA_BIT(PSC_CANDELA_B3);
    *v = (struct psc_candela_rival_view){.current = is_current(t, r), .differ_n = t->rival_differ[r], .what = "", .result = rival->why};
    v->name = r == PSC_RIVAL_MAP ? global ? "frozen inputs" : "global map" : psc_generation_name((enum psc_generation)r);
    v->words = script_words(arena, t, r);
    if (!rival->plan)
        return v->words != NULL;
    v->what = figures(arena, &rival->memory);
    if (!v->words || !v->what || !put_result(arena, t, rival, v))
        return false;
    return position < 0 || (uint32_t)position >= t->plan->n || put_decision(arena, t, r, (uint32_t)position, v);
}

bool psc_tale_put_rivals(struct psc_arena *arena, const struct psc_candela_tale *t, struct psc_candela_view *v)
{
    static const unsigned order[PSC_RIVAL_N] = {PSC_GEN_01, PSC_GEN_02, PSC_GEN_ARENA, PSC_GEN_HARDENED, PSC_RIVAL_MAP}; /* as they came */
    if (!t->kept->rivals)
        return true;
    struct psc_candela_rival_view *rivals = psc_arena_alloc(arena, PSC_RIVAL_N, sizeof *rivals);
    for (unsigned i = 0; rivals && i < PSC_RIVAL_N; i++)
        if (!put_rival(arena, t, order[i], v->position, &rivals[i]))
            return false;
    v->rivals = rivals;
    v->rival_n = PSC_RIVAL_N;
    return rivals && psc_tale_put_differs(arena, t, t->differs, t->differ_n, v);
}

bool psc_tale_put_differs(struct psc_arena *arena, const struct psc_candela_tale *t, const int32_t *differs, uint32_t all,
                          struct psc_candela_view *v)
{
    uint32_t lo = 0, hi = all, n = all < PSC_CANDELA_VIEW_MAX ? all : PSC_CANDELA_VIEW_MAX;
    while (lo < hi) {
        uint32_t middle = lo + (hi - lo) / 2;
        if (differs[middle] < v->position)
            lo = middle + 1;
        else
            hi = middle;
    }
    uint32_t first = lo > n / 2 ? lo - n / 2 : 0;
    first = first + n > all ? all - n : first;
    struct psc_candela_place *places = psc_arena_alloc(arena, n, sizeof *places);
    for (uint32_t i = 0; places && i < n; i++) {
        int32_t p = differs[first + i];
        places[i] = (struct psc_candela_place){t->nodes[t->order[t->step_yield[p]]].name, p};
    }
    v->differs = places;
    v->differ_n = n;
    v->differ_all = all;
    return places != NULL;
}
