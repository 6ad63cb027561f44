#include "core/base/text.h"
#include "core/debug/candela-tale.h"
#include "core/debug/explain-words.h"
#include "core/debug/graph-rivals.h"

#include <string.h>

struct making {
    struct psc_arena *arena;
    const struct psc_analysis *a;
    struct psc_candela_view *v;
    psc_node node; /* PSC_NONE before the first and after the last */
};

bool psc_plan_view_has(const struct psc_analysis *a)
{
    return a->plan && a->phase->graph && a->story && a->history && a->plan->node_n == a->phase->graph->n && !a->predicted;
}

/* ---- the decision ----------------------------------------------------------------------------------------------- */

static const char *strategy(struct making *m, bool idle, uint32_t operand)
{
    const struct psc_graph *g = m->a->phase->graph;
    struct psc_text text = {0};
    if (idle) {
        psc_text_add(&text, "an idle buffer");
    } else {
        psc_text_add(&text, "in place");
        if (operand < g->nodes[m->node].src_n) {
            psc_text_add(&text, " over ");
            psc_say_node(&text, g, g->srcs[g->nodes[m->node].src_at + operand]);
        }
    }
    return psc_text_keep(&text, m->arena);
}

static const char *taken(struct making *m, const struct psc_place *place)
{
    struct psc_text text = {0};
    switch ((enum psc_reason)place->reason) {
    case PSC_WHY_IN_PLACE: return strategy(m, false, (uint32_t)place->a);
    case PSC_WHY_REUSED: case PSC_WHY_POOLED: return "an idle buffer";
    case PSC_WHY_NEW: return "a new buffer";
    case PSC_WHY_VIEW:
        psc_text_add(&text, "show the bytes of ");
        psc_say_node(&text, m->a->phase->graph, (psc_node)place->a);
        return psc_text_keep(&text, m->arena);
    case PSC_WHY_PACKED: return "bytes of an arena";
    case PSC_WHY_REGION: return "a region of the cache";
    case PSC_WHY_DEAD: case PSC_WHY_EMPTY: case PSC_WHY_NONE: return "no buffer";
    default: return "a buffer of its own";
    }
}

/* Refusals of one operand stand together. */
static uint32_t group(const struct psc_refused *refused, uint32_t n)
{
    uint32_t k = 1;
    while (k < n && (refused[k].why == PSC_NOT_IDLE) == (refused[0].why == PSC_NOT_IDLE) && refused[k].operand == refused[0].operand)
        k++;
    return k;
}

struct psc_candela_try *psc_plan_tries(struct psc_arena *arena, const struct psc_analysis *a, psc_node node, uint32_t *ret_n)
{
    struct making of = {arena, a, NULL, node}, *m = &of;
    const struct psc_plan *plan = m->a->plan;
    const struct psc_place *place = &plan->places[m->node];
    const struct psc_refused *refused = plan->refused + place->refused_at;
    struct psc_candela_try *tries = psc_arena_alloc0(m->arena, place->refused_n + (size_t)1, sizeof *tries);
    struct psc_text text = {0};
    uint32_t n = 0;
    if (!tries)
        return NULL;
    for (uint32_t i = 0, k; i < place->refused_n; i += k) {
        k = group(refused + i, place->refused_n - i);
        struct psc_text why = {0};
        for (uint32_t j = i; j < i + k; j++) {
            psc_text_add(&why, j > i ? " " : "");
            psc_explain_refused(&why, m->a, m->node, &refused[j]);
        }
        tries[n].strategy = strategy(m, refused[i].why == PSC_NOT_IDLE, refused[i].operand);
        tries[n].why = psc_text_keep(&why, m->arena);
        if (!tries[n].strategy || !tries[n].why)
            return NULL;
        n++;
    }
    psc_explain_place(&text, m->a, m->node);
    tries[n] = (struct psc_candela_try){taken(m, place), psc_text_keep(&text, m->arena), true};
    *ret_n = n + 1;
    return tries[n].strategy && tries[n].why ? tries : NULL;
}

/* ---- buffers ------------------------------------------------------------------------------------------------------ */

/* The tenant at a position, the latest to move in, or PSC_NONE. */
static uint32_t tenant_at(const struct psc_history *h, uint32_t buffer, int32_t position)
{
    uint32_t lo = h->buffer_at[buffer], hi = h->buffer_at[buffer + 1], begin = lo;
    while (lo < hi) {
        uint32_t middle = lo + (hi - lo) / 2;
        if (h->tenancies[middle].first <= position)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo == begin ? PSC_NONE : lo - 1;
}

static bool put_slot(struct making *m, uint32_t buffer, uint32_t tenant, struct psc_candela_slot_view *s)
{
    const struct psc_story *story = m->a->story;
    const struct psc_tenancy *t = &m->a->history->tenancies[tenant];
    struct psc_text name = {0};
    char label[96];
    psc_say_buffer(&name, story, buffer);
    bool over = m->v->position >= t->end;
    *s = (struct psc_candela_slot_view){
        .slot = buffer, .name = psc_text_keep(&name, m->arena), .len = story->buffers[buffer].bytes, .start = t->first,
        .owner = psc_arena_strdup(m->arena, psc_value_label(story, m->a->phase->graph, t->value, label, sizeof label)),
        .end = t->end > (int32_t)story->position_n ? -1 : t->end - 1, .use = over ? PSC_SLOT_IDLE : PSC_SLOT_HELD,
        .touched = m->node != PSC_NONE && m->a->plan->places[m->node].buffer == buffer};
    return s->name && s->owner;
}

/* Buffers that were begun so far; of many those about the one of this step. An arena holds many values at once: not listed. */
static bool put_slots(struct making *m)
{
    const struct psc_story *story = m->a->story;
    const struct psc_history *h = m->a->history;
    uint32_t most = 0, all = 0, mine = 0, n = 0;
    uint32_t *begun = psc_arena_alloc(m->arena, story->buffer_n, sizeof *begun);
    if (!begun)
        return false;
    bool packed = m->a->plan->certificate_n > 0;
    for (uint32_t b = 0; b < story->buffer_n && !packed; b++) {
        if (story->buffers[b].role != PSC_ROLE_POOL || h->buffer_at[b] == h->buffer_at[b + 1])
            continue;
        most++;
        if (tenant_at(h, b, m->v->position) == PSC_NONE)
            continue;
        if (m->node != PSC_NONE && m->a->plan->places[m->node].buffer == b)
            mine = all;
        begun[all++] = b;
    }
    uint32_t shown = all < PSC_CANDELA_VIEW_MAX ? all : PSC_CANDELA_VIEW_MAX, first = mine >= shown ? mine - shown + 1 : 0;
    struct psc_candela_slot_view *slots = psc_arena_alloc(m->arena, shown, sizeof *slots);
    for (; slots && n < shown; n++)
        if (!put_slot(m, begun[first + n], tenant_at(h, begun[first + n], m->v->position), &slots[n]))
            return false;
    m->v->slots = slots;
    m->v->slot_n = shown;
    m->v->slot_all = all;
    m->v->slot_most = most;
    return slots != NULL;
}

/* ---- the view ------------------------------------------------------------------------------------------------------- */

enum psc_status psc_plan_view_at(struct psc_arena *arena, const struct psc_analysis *a, const struct psc_candela_tale *tale,
                                 const struct psc_graph_rivals *rivals, int32_t position, struct psc_candela_view **ret, struct psc_error *reterr)
{
    struct psc_candela_view *v = psc_arena_alloc0(arena, 1, sizeof *v);
    struct making m = {arena, a, v, PSC_NONE};
    struct psc_text words = {0}, title = {0};
    int32_t n = (int32_t)a->story->position_n;
    if (!v)
        return psc_fail_nomem(reterr);
    v->position = position < -1 ? -1 : position > n ? n : position;
    v->step_n = a->story->position_n;
    v->in_bytes = true;
    v->name = v->title = "";
    v->try_most = 3;
    m.node = psc_story_node_at(a->story, v->position);
    psc_explain_position(&words, a, v->position);
    v->words = psc_text_keep(&words, m.arena);
    bool fine = v->words && put_slots(&m) && (!tale || psc_tale_look(arena, tale, v));
    v->rivals_wait = tale && !rivals;
    fine = fine && (!tale || !rivals || psc_graph_put_rivals(arena, a, tale, rivals, v));
    if (fine && m.node < a->plan->node_n) {
        psc_say_node_layer(&title, a->phase->graph, m.node);
        v->name = v->title = psc_text_keep(&title, m.arena);
        fine = v->name && (v->tries = psc_plan_tries(arena, a, m.node, &v->try_n)) != NULL;
    }
    if (!fine)
        return psc_fail_nomem(reterr);
    *ret = v;
    return PSC_OK;
}
