/* The executor's live table, step by step, as the plan says it: who holds which bytes, and what becomes of them. */
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/debug/candela-tale.h"
#include "core/debug/verdict.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(PSC_SAMPLES_MAX == 4096u, "as a sentence says");
#define VALUES_SHOWN 4u

/* ---- made once ---------------------------------------------------------------------------------------------------- */

static void leave(struct psc_candela_tale *t, uint32_t id, int32_t at, enum psc_candela_fate fate, uint32_t operand)
{
    struct psc_tale_live *l = &t->live[id];
    if (l->born > at || l->gone != INT32_MAX)
        return;
    l->gone = at;
    l->fate = (uint8_t)fate;
    l->operand = operand;
}

static uint32_t store_of(const struct psc_candela_tale *t, const struct psc_candela_step *step)
{
    uint32_t from = step->how == PSC_HOW_USE_SLOT                                       ? step->take
                    : step->how == PSC_HOW_IN_PLACE                                     ? step->inputs[step->operand]
                    : psc_how_is_reference(step->how) && step->input_n                  ? step->inputs[0]
                                                                                        : PSC_NONE;
    return from == PSC_NONE || t->live[from].store == PSC_NONE ? step->id : t->live[from].store;
}

static void follow(struct psc_candela_tale *t)
{
    const struct psc_candela_plan *plan = t->plan;
    for (uint32_t p = 0; p < plan->n; p++) {
        const struct psc_candela_step *step = &plan->steps[p];
        t->live[step->id].store = store_of(t, step);
        t->live[step->id].born = (int32_t)p;
        if (step->how == PSC_HOW_USE_SLOT)
            leave(t, step->take, (int32_t)p, PSC_LIVE_TAKEN, 0);
        if (step->how == PSC_HOW_IN_PLACE) {
            leave(t, step->inputs[step->operand], (int32_t)p, PSC_LIVE_OVERWRITTEN, step->operand);
            if (step->parent != PSC_NONE)
                leave(t, step->parent, (int32_t)p, PSC_LIVE_TAKEN, 0);
        }
        for (uint32_t k = 0; k < step->dealloc_n; k++)
            leave(t, step->dealloc[k], (int32_t)p, PSC_LIVE_GIVEN_BACK, 0);
    }
}

/* The most handles at once, and for each block of steps the last position up to which one of its results lives. */
static bool count(struct psc_arena *arena, struct psc_candela_tale *t)
{
    uint32_t n = t->plan->n, blocks = n / PSC_TALE_BLOCK + 1, now = t->plan->external_n;
    uint32_t *ends = psc_alloc0(n + (size_t)1, sizeof *ends);
    t->block_last = psc_arena_alloc0(arena, blocks, sizeof *t->block_last);
    if (!ends || !t->block_last) {
        psc_free(ends);
        return false;
    }
    for (uint32_t id = 0; id < t->node_n; id++)
        if (t->live[id].born != INT32_MAX && t->live[id].gone != INT32_MAX)
            ends[t->live[id].gone]++;
    for (uint32_t p = 0; p < n; p++) {
        int32_t gone = t->live[t->plan->steps[p].id].gone;
        int32_t *last = &t->block_last[p / PSC_TALE_BLOCK];
        *last = gone > *last ? gone : *last;
        now++;
        t->live_most = now > t->live_most ? now : t->live_most;
        now -= ends[p];
    }
    psc_free(ends);
    return true;
}

bool psc_tale_make_live(struct psc_arena *arena, struct psc_candela_tale *t)
{
    const struct psc_candela_verdict *verdict = &t->kept->verdict;
    t->live = psc_arena_alloc(arena, t->node_n, sizeof *t->live);
    t->refused = PSC_NONE;
    for (uint32_t id = 0; t->live && id < t->node_n; id++)
        t->live[id] = (struct psc_tale_live){.born = INT32_MAX, .gone = INT32_MAX, .store = PSC_NONE};
    for (uint32_t k = 0; t->live && k < t->plan->external_n; k++)
        t->live[t->plan->externals[k]] = (struct psc_tale_live){.born = -1, .gone = INT32_MAX, .store = t->plan->externals[k]};
    for (uint32_t k = 0; k < verdict->n && t->refused == PSC_NONE; k++)
        if (verdict->wrongs[k].what == PSC_WRONG_REFUSED && !verdict->wrongs[k].by_level)
            t->refused = k;
    if (!t->live)
        return false;
    follow(t);
    return count(arena, t);
}

/* ---- put into a view ------------------------------------------------------------------------------------------------ */

struct showing {
    struct psc_arena *arena;
    const struct psc_candela_tale *t;
    int32_t at;
    uint32_t *ids, n, cap; /* heap: live here, in order of birth */
};

static bool add(struct showing *s, uint32_t id)
{
    const struct psc_tale_live *l = &s->t->live[id];
    size_t cap = s->cap;
    if (l->born > s->at || l->gone < s->at)
        return true;
    if (!psc_grow(&s->ids, s->n + (size_t)1, &cap, sizeof *s->ids))
        return false;
    s->cap = (uint32_t)cap;
    s->ids[s->n++] = id;
    return true;
}

static bool gather(struct showing *s)
{
    const struct psc_candela_plan *plan = s->t->plan;
    for (uint32_t k = 0; k < plan->external_n; k++)
        if (!add(s, plan->externals[k]))
            return false;
    for (uint32_t p = 0; p < plan->n && (int32_t)p <= s->at; p++) {
        if (p % PSC_TALE_BLOCK == 0 && s->t->block_last[p / PSC_TALE_BLOCK] < s->at) {
            p += PSC_TALE_BLOCK - 1; /* nothing of this block lives any more */
            continue;
        }
        if (!add(s, plan->steps[p].id))
            return false;
    }
    return true;
}

/* Does the handle hold its bytes when the step has run? Not when the step took them from it. */
static bool holds(const struct showing *s, uint32_t id)
{
    const struct psc_tale_live *l = &s->t->live[id];
    return l->gone != s->at || l->fate == PSC_LIVE_GIVEN_BACK;
}

static int by_number(const void *x, const void *y)
{
    uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    return a < b ? -1 : a > b;
}

/* Stores of all that hold theirs, sorted: a cache's, and a skeleton's caller's, once more. NULL: out of memory. */
static uint32_t *list_stores(const struct showing *s, uint32_t *ret_n)
{
    const struct psc_candela_tale *t = s->t;
    uint32_t *stores = psc_alloc((2 * (size_t)s->n + 1) * sizeof *stores), n = 0;
    for (uint32_t i = 0; stores && i < s->n; i++) {
        uint32_t id = s->ids[i];
        enum psc_lazy_kind kind = t->kept->lazy.nodes[id].kind;
        if (holds(s, id))
            stores[n++] = t->live[id].store;
        if (kind == PSC_LAZY_CACHE || kind == PSC_LAZY_SLOT)
            stores[n++] = t->live[id].store;
    }
    if (stores)
        qsort(stores, n, sizeof *stores, by_number);
    *ret_n = n;
    return stores;
}

static uint32_t count_of(const uint32_t *stores, uint32_t n, uint32_t store)
{
    uint32_t lo = 0, hi = n, first;
    while (lo < hi) {
        uint32_t middle = lo + (hi - lo) / 2;
        if (stores[middle] < store)
            lo = middle + 1;
        else
            hi = middle;
    }
    for (first = lo, hi = n; lo < hi;) {
        uint32_t middle = lo + (hi - lo) / 2;
        if (stores[middle] <= store)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo - first;
}

static const char *bytes_of(const struct showing *s, uint32_t id)
{
    const struct psc_candela_tale *t = s->t;
    uint32_t store = t->live[id].store;
    int32_t p = t->nodes[store].position;
    struct psc_text text = {0};
    if (p < 0)
        return "the caller's";
    const struct psc_candela_step *step = &t->plan->steps[p];
    if (step->how == PSC_HOW_LEAF)
        return "the caller's";
    if (step->how == PSC_HOW_CACHE_HIT)
        return "the cache's";
    if (step->slot == PSC_NONE)
        return "its own";
    psc_text_addf(&text, "slot %u", step->slot);
    if (step->how == PSC_HOW_REGION)
        psc_text_addf(&text, ", arena + %llu", (unsigned long long)step->offset);
    return psc_text_keep(&text, s->arena);
}

/* As the executor left them when it made them. */
static bool put_values(const struct showing *s, uint32_t id, struct psc_candela_live_view *v)
{
    const struct psc_candela_verdict *verdict = &s->t->kept->verdict;
    int32_t p = s->t->nodes[id].position;
    struct psc_text text = {0};
    if (p < 0 || !verdict->samples || !verdict->samples[p].ran || !verdict->samples[p].n)
        return true;
    const struct psc_candela_sample *sample = &verdict->samples[p];
    for (uint32_t i = 0; i < sample->n && i < VALUES_SHOWN; i++)
        psc_text_addf(&text, "%s%.6g", i ? " " : "", (double)sample->got[i]);
    if (psc_layout_len(&s->t->plan->steps[p].layout) > VALUES_SHOWN)
        psc_text_add(&text, " \xe2\x80\xa6");
    for (uint32_t i = 0; i < sample->n; i++)
        v->wrong = v->wrong || memcmp(&sample->got[i], &sample->right[i], sizeof sample->got[i]);
    return (v->values = psc_text_keep(&text, s->arena)) != NULL;
}

static bool put_one(const struct showing *s, uint32_t id, uint32_t holders, struct psc_candela_live_view *v)
{
    const struct psc_candela_tale *t = s->t;
    const struct psc_tale_live *l = &t->live[id];
    int32_t p = t->nodes[id].position;
    const struct psc_strides *layout = p < 0 ? &t->kept->lazy.nodes[id].layout : &t->plan->steps[p].layout;
    char shape[96];
    *v = (struct psc_candela_live_view){.name = t->nodes[id].name, .bytes = bytes_of(s, id), .since = l->born,
                                        .shape = psc_arena_strdup(s->arena, psc_layout_text(layout, shape, sizeof shape)),
                                        .holders = holds(s, id) ? holders : 0, .operand = l->operand,
                                        .fate = l->gone == s->at ? (enum psc_candela_fate)l->fate
                                                : l->born == s->at && s->at >= 0 ? PSC_LIVE_NEW : PSC_LIVE_STAYS};
    return v->bytes && v->shape && put_values(s, id, v);
}

static bool put_stop(struct showing *s, struct psc_candela_view *v)
{
    const struct psc_candela_tale *t = s->t;
    struct psc_text text = {0};
    if (t->refused == PSC_NONE || (int32_t)t->kept->verdict.wrongs[t->refused].step > v->position)
        return true;
    psc_text_add(&text, "The executor ends: ");
    psc_explain_candela_wrong(&text, t->kept, &t->kept->verdict.wrongs[t->refused]);
    return (v->stopped = psc_text_keep(&text, s->arena)) != NULL;
}

/* Of more than a list can show, those that were made last. */
static bool put_all(struct showing *s, struct psc_candela_view *v)
{
    uint32_t store_n, *stores = list_stores(s, &store_n);
    uint32_t shown = s->n < PSC_CANDELA_VIEW_MAX ? s->n : PSC_CANDELA_VIEW_MAX, first = s->n - shown;
    struct psc_candela_live_view *list = psc_arena_alloc(s->arena, shown, sizeof *list);
    bool fine = stores && list;
    for (uint32_t i = 0; fine && i < shown; i++) {
        uint32_t id = s->ids[first + i];
        fine = put_one(s, id, count_of(stores, store_n, s->t->live[id].store), &list[i]);
    }
    psc_free(stores);
    v->live = list;
    v->live_n = shown;
    v->live_all = s->n;
    v->live_most = s->t->live_most;
    return fine;
}

bool psc_tale_put_live(struct psc_arena *arena, const struct psc_candela_tale *t, struct psc_candela_view *v)
{
    struct showing s = {.arena = arena, .t = t, .at = v->position};
    if (!t->kept->verdict.executed)
        v->no_values = "their values are not known: carrying the plan out would take too long";
    else if (!t->kept->verdict.samples)
        v->no_values = "their values are not kept: the plan has more than 4,096 steps";
    bool fine = put_stop(&s, v) && (v->stopped || (gather(&s) && put_all(&s, v)));
    v->live_most = t->live_most;
    psc_free(s.ids);
    return fine;
}
