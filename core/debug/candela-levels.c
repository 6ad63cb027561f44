/* Levels of an expression's plan: what may run beside the step that is shown, and what it waits for. */
#include "core/base/text.h"
#include "core/candela/levels.h"
#include "core/debug/candela-tale.h"

bool psc_tale_make_levels(struct psc_arena *arena, struct psc_candela_tale *t)
{
    const struct psc_candela_plan *plan = t->plan;
    t->level_n = psc_candela_level_n(plan);
    t->level_at = psc_arena_alloc0(arena, t->level_n + (size_t)1, sizeof *t->level_at);
    if (!t->level_at || psc_candela_by_level(arena, plan, &t->by_level, NULL))
        return false;
    for (uint32_t p = 0; p < plan->n; p++)
        t->level_at[plan->steps[p].level + 1]++;
    for (uint32_t k = 0; k < t->level_n; k++) {
        t->level_most = t->level_at[k + 1] > t->level_most ? t->level_at[k + 1] : t->level_most;
        t->level_at[k + 1] += t->level_at[k];
    }
    return true;
}

/* "sum (2), v (5) and 3 more" */
static void say_steps(struct psc_text *out, const struct psc_candela_tale *t, const uint32_t *steps, uint32_t n)
{
    const uint32_t most = 6;
    for (uint32_t k = 0; k < n && k < most; k++)
        psc_text_addf(out, "%s%s (%u)", k ? ", " : "", t->nodes[t->plan->steps[steps[k]].id].name, steps[k]);
    if (n > most)
        psc_text_addf(out, " and %u more", n - most);
}

static const char *waits(struct psc_arena *arena, const struct psc_candela_tale *t, const struct psc_candela_step *step)
{
    struct psc_text text = {0};
    psc_text_addf(&text, "Level %u of 0 to %u: ", step->level, t->level_n - 1);
    if (!step->needs_n && !step->after_n)
        psc_text_add(&text, "it waits for nothing.");
    if (step->needs_n) {
        psc_text_add(&text, "it reads ");
        say_steps(&text, t, step->needs, step->needs_n);
        psc_text_add(&text, step->after_n ? "; " : ".");
    }
    if (step->after_n) {
        psc_text_add(&text, "it writes bytes that ");
        say_steps(&text, t, step->after, step->after_n);
        psc_text_add(&text, " must have written or read before.");
    }
    return psc_text_keep(&text, arena);
}

static const char *widths(struct psc_arena *arena, const struct psc_candela_tale *t)
{
    struct psc_text text = {0};
    psc_text_addf(&text, "%u level%s; at most %u step%s may run beside each other.", t->level_n, t->level_n == 1 ? "" : "s", t->level_most,
                  t->level_most == 1 ? "" : "s");
    return psc_text_keep(&text, arena);
}

/* Of one level the last listed stands first: places are counted from its end. */
static int32_t step_at(const struct psc_candela_tale *t, uint32_t level, uint32_t i)
{
    return (int32_t)t->by_level[t->level_at[level + 1] - 1 - i];
}

static uint32_t place_in(const struct psc_candela_tale *t, uint32_t level, int32_t position)
{
    uint32_t lo = 0, hi = t->level_at[level + 1] - t->level_at[level];
    while (lo < hi) {
        uint32_t middle = lo + (hi - lo) / 2;
        if (step_at(t, level, middle) < position)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo;
}

bool psc_tale_put_levels(struct psc_arena *arena, const struct psc_candela_tale *t, struct psc_candela_view *v)
{
    bool inside = v->position >= 0 && v->position < (int32_t)t->plan->n;
    const struct psc_candela_step *step = inside ? &t->plan->steps[v->position] : NULL;
    v->level_n = t->level_n;
    v->by_level = t->kept->levels;
    v->waits = step ? waits(arena, t, step) : widths(arena, t);
    if (!step)
        return v->waits != NULL;
    uint32_t all = t->level_at[step->level + 1] - t->level_at[step->level], n = all < PSC_CANDELA_VIEW_MAX ? all : PSC_CANDELA_VIEW_MAX;
    uint32_t here = place_in(t, step->level, v->position), first = here > n / 2 ? here - n / 2 : 0;
    first = first + n > all ? all - n : first;
    struct psc_candela_place *places = psc_arena_alloc(arena, n, sizeof *places);
    for (uint32_t i = 0; places && i < n; i++) {
        int32_t p = step_at(t, step->level, first + i);
        places[i] = (struct psc_candela_place){t->nodes[t->plan->steps[p].id].name, p};
    }
    v->level = step->level;
    v->beside = places;
    v->beside_n = n;
    v->beside_all = all;
    v->beside_at = here - first;
    v->beside_next = step_at(t, step->level, (here + 1) % all);
    v->beside_before = step_at(t, step->level, (here + all - 1) % all);
    return v->waits && places;
}
