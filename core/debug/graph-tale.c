#include "core/base/text.h"
#include "core/candela/alias.h"
#include "core/debug/analysis.h"
#include "core/debug/candela-tale.h"
#include "core/debug/explain-words.h"

#include <string.h>

bool psc_plan_tale_has(const struct psc_analysis *a)
{
    return psc_plan_view_has(a) && !strcmp(a->plan->planner, "candela");
}

/* ---- the sort ------------------------------------------------------------------------------------------------------ */

/* What nobody reads and nothing waits for, as built. A single one is the root; several are read by a root that is no node. */
struct ends {
    const struct psc_graph *g;
    psc_node *list;
    uint32_t n;
};

static uint32_t input_n(const void *of, uint32_t id)
{
    const struct ends *e = of;
    return id == e->g->n ? e->n : e->g->nodes[id].src_n + e->g->nodes[id].order_n;
}

static uint32_t input(const void *of, uint32_t id, uint32_t k)
{
    const struct ends *e = of;
    if (id == e->g->n) /* a root's inputs are visited last-first: so these are visited as they were built */
        return e->list[e->n - 1 - k];
    const struct psc_node_info *node = &e->g->nodes[id];
    return k < node->src_n ? e->g->srcs[node->src_at + k] : e->g->order_srcs[node->order_at + k - node->src_n];
}

static bool find_ends(struct ends *e, struct psc_arena *arena)
{
    const struct psc_graph *g = e->g;
    bool *read = psc_arena_alloc0(arena, g->n, sizeof *read);
    e->list = psc_arena_alloc(arena, g->n, sizeof *e->list);
    if (!read || !e->list)
        return false;
    for (uint32_t k = 0; k < g->src_total; k++)
        read[g->srcs[k]] = true;
    for (uint32_t k = 0; k < g->order_total; k++)
        read[g->order_srcs[k]] = true;
    for (psc_node i = 0; i < g->n; i++)
        if (!read[i])
            e->list[e->n++] = i;
    return true;
}

static enum psc_status make_sort(struct psc_arena *arena, struct psc_candela_tale *t, const struct psc_graph *g,
                                 struct psc_error *reterr)
{
    struct psc_arena scratch = {0};
    struct ends ends = {.g = g};
    const struct psc_lazy_move *moves;
    uint32_t move_n;
    enum psc_status status = find_ends(&ends, &scratch) ? PSC_OK : psc_fail_nomem(reterr);
    uint32_t root = ends.n == 1 ? ends.list[0] : g->n;
    struct psc_sort_source source = {&ends, g->n + 1, input_n, input};
    if (!status)
        status = psc_sort_moves(&scratch, &source, root, &moves, &move_n, reterr);
    if (!status && !psc_tale_make_sort(arena, t, root, moves, move_n))
        status = psc_fail_nomem(reterr);
    if (!status && root == g->n)
        t->order_n--; /* it is no node: it waits at the bottom of the stack, and is not listed */
    psc_arena_release(&scratch);
    return status;
}

static bool write_nodes(struct psc_arena *arena, struct psc_candela_tale *t, const struct psc_graph *g)
{
    struct psc_text text = {0};
    bool fine = (t->nodes = psc_arena_alloc0(arena, t->node_n, sizeof *t->nodes)) != NULL;
    for (uint32_t i = 0; fine && i < t->node_n; i++) {
        psc_text_clear(&text);
        if (i < g->n)
            psc_say_node(&text, g, i);
        else
            psc_text_add(&text, "the outputs");
        t->nodes[i] = (struct psc_tale_node){.name = psc_arena_strdup(arena, psc_text_str(&text)), .yield = PSC_NONE, .position = -1};
        fine = t->nodes[i].name && !text.failed;
    }
    psc_text_release(&text);
    return fine;
}

static bool place_steps(struct psc_arena *arena, struct psc_candela_tale *t, const psc_node *order)
{
    t->step_yield = psc_arena_alloc(arena, t->step_n, sizeof *t->step_yield);
    for (uint32_t p = 0; t->step_yield && p < t->step_n; p++) {
        psc_node node = order ? order[p] : p;
        t->nodes[node].position = (int32_t)p;
        t->step_yield[p] = t->nodes[node].yield;
    }
    return t->step_yield != NULL;
}

/* ---- the map ------------------------------------------------------------------------------------------------------- */

/* Whose bytes are whose: a view's are its root's, an operand's are those of who overwrote it. */
static bool follow_places(struct psc_arena *arena, struct psc_candela_tale *t, const struct psc_plan *plan, const psc_node *order)
{
    struct psc_arena scratch = {0};
    struct psc_alias map;
    struct psc_alias_event *events = psc_arena_alloc(arena, t->step_n, sizeof *events);
    bool fine = psc_alias_init(&map, &scratch, t->node_n) && events;
    for (uint32_t p = 0; fine && p < t->step_n; p++) {
        psc_node node = order ? order[p] : p;
        const struct psc_place *place = &plan->places[node];
        bool over = place->reason == PSC_WHY_IN_PLACE;
        if (place->buffer == PSC_NONE || (!over && place->reason != PSC_WHY_VIEW))
            continue;
        uint32_t owner = psc_alias_resolve(&map, (uint32_t)(over ? place->b : place->a));
        events[t->alias_n++] = (struct psc_alias_event){p, node, owner, over ? PSC_TAG_PACKED : PSC_TAG_ANYTHING, over};
        if (over)
            psc_alias_take_over(&map, owner, node, PSC_TAG_PACKED, true);
        else
            psc_alias_insert(&map, node, owner, PSC_TAG_ANYTHING);
    }
    t->aliases = events;
    psc_arena_release(&scratch);
    return fine && psc_tale_make_map(arena, t, true);
}

enum psc_status psc_plan_tale_new(struct psc_arena *arena, const struct psc_analysis *a, struct psc_candela_tale **ret,
                                  struct psc_error *reterr)
{
    const struct psc_graph *g = a->phase->graph;
    const psc_node *order = a->story->order;
    struct psc_candela_tale *t = psc_arena_alloc0(arena, 1, sizeof *t);
    if (!t)
        return psc_fail_nomem(reterr);
    t->apart = true;
    t->node_n = g->n + 1;
    t->step_n = g->n;
    if (!write_nodes(arena, t, g))
        return psc_fail_nomem(reterr);
    enum psc_status status = make_sort(arena, t, g, reterr);
    if (!status && (!place_steps(arena, t, order) || !follow_places(arena, t, a->plan, order)))
        status = psc_fail_nomem(reterr);
    if (!status)
        *ret = t;
    return status;
}
