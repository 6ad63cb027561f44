#include "core/candela/kept.h"

#include "core/candela/alias.h"
#include "core/candela/planner.h"

#include <string.h>

static void *copy(struct psc_arena *arena, const void *from, size_t n, size_t size)
{
    void *to = psc_arena_alloc(arena, n, size);
    if (to && n)
        memcpy(to, from, n * size);
    return to;
}

static bool copy_node(struct psc_arena *arena, struct psc_lazy_node *to, const struct psc_lazy_node *from)
{
    *to = *from;
    to->name = psc_arena_strdup(arena, from->name);
    to->inputs = copy(arena, from->inputs, from->input_n, sizeof *from->inputs);
    to->scalars = copy(arena, from->scalars, from->scalar_n, sizeof *from->scalars);
    to->data = NULL;
    to->cell = NULL;
    to->baked = NULL;
    return to->name && to->inputs && to->scalars;
}

/* The steps' names, scalars and lists are the arena's own; the rest of the plan is flat. */
static struct psc_candela_plan *copy_plan(struct psc_arena *arena, const struct psc_candela_plan *from,
                                          const struct psc_lazy *l)
{
    struct psc_candela_plan *to = copy(arena, from, 1, sizeof *from);
    struct psc_candela_step *steps = copy(arena, from->steps, from->n, sizeof *steps);
    if (!to || !steps)
        return NULL;
    for (uint32_t p = 0; p < from->n; p++) {
        struct psc_candela_step *s = &steps[p];
        s->name = l->nodes[s->id].name;
        s->scalars = l->nodes[s->id].scalars;
        s->inputs = copy(arena, s->inputs, s->input_n, sizeof *s->inputs);
        s->dealloc = copy(arena, s->dealloc, s->dealloc_n, sizeof *s->dealloc);
        s->needs = copy(arena, s->needs, s->needs_n, sizeof *s->needs);
        s->after = copy(arena, s->after, s->after_n, sizeof *s->after);
        s->denied = copy(arena, s->denied, s->denied_n, sizeof *s->denied);
        s->data = NULL;
        s->cell = NULL;
        s->baked = NULL;
        if (!s->inputs || !s->dealloc || !s->needs || !s->after || !s->denied)
            return NULL;
    }
    to->steps = steps;
    to->slots = copy(arena, from->slots, from->slot_n, sizeof *from->slots);
    to->aliases = copy(arena, from->aliases, from->alias_n, sizeof *from->aliases);
    to->externals = copy(arena, from->externals, from->external_n, sizeof *from->externals);
    to->external_layouts = copy(arena, from->external_layouts, from->external_n, sizeof *from->external_layouts);
    const char **names = psc_arena_alloc(arena, from->id_n, sizeof *names);
    for (uint32_t id = 0; names && id < from->id_n; id++)
        names[id] = l->nodes[id].name;
    to->names = names;
    return to->slots && to->aliases && to->externals && to->external_layouts && names ? to : NULL;
}

enum psc_status psc_candela_keep(struct psc_arena *arena, const struct psc_lazy *l, uint32_t root,
                                 const struct psc_candela_plan *plan, bool levels, struct psc_candela_kept **ret,
                                 struct psc_error *reterr)
{
    struct psc_candela_kept *kept = psc_arena_alloc0(arena, 1, sizeof *kept);
    struct psc_lazy_node *nodes = psc_arena_alloc(arena, l->n, sizeof *nodes);
    bool fine = kept && nodes;
    for (size_t i = 0; fine && i < l->n; i++)
        fine = copy_node(arena, &nodes[i], &l->nodes[i]);
    if (!fine)
        return psc_fail_nomem(reterr);
    kept->lazy.nodes = nodes;
    kept->lazy.n = l->n;
    kept->lazy.fuse = l->fuse;
    kept->root = root;
    kept->levels = levels;
    kept->plan = copy_plan(arena, plan, &kept->lazy);
    if (!kept->plan)
        return psc_fail_nomem(reterr);
    enum psc_status status = psc_candela_report(plan, &kept->memory, reterr);
    if (!status)
        status = psc_lazy_sort_moves(arena, l, root, &kept->moves, &kept->move_n, reterr);
    if (!status)
        *ret = kept;
    return status;
}

/* The options of a rival of `now`. */
static struct psc_candela_options rival_options(struct psc_candela_options now, unsigned rival)
{
    if (rival == PSC_RIVAL_MAP)
        now.faults ^= PSC_CANDELA_BIT(PSC_CANDELA_B3);
    else
        now.generation = (enum psc_generation)rival;
    return now;
}

static enum psc_status keep_rival(struct psc_arena *arena, const struct psc_lazy *l, const struct psc_candela_kept *kept, unsigned which,
                                  struct psc_candela_rival *ret, struct psc_error *reterr)
{
    struct psc_arena scratch = {0};
    struct psc_error error = {0};
    struct psc_candela_plan *plan;
    struct psc_candela_options options = rival_options(kept->plan->options, which);
    enum psc_status status = psc_candela_plan(&scratch, l, kept->root, &options, &plan, &error);
    if (status && status != PSC_ERR_NOMEM) {
        psc_arena_release(&scratch);
        ret->why = psc_arena_strdup(arena, error.text);
        return ret->why ? PSC_OK : psc_fail_nomem(reterr);
    }
    if (status || !(ret->plan = copy_plan(arena, plan, &kept->lazy)))
        status = psc_fail_nomem(reterr);
    if (!status)
        status = psc_candela_report(plan, &ret->memory, reterr);
    if (!status && kept->verdict.executed && kept->verdict.elements <= PSC_RIVALS_ELEMENTS)
        status = psc_candela_verify(arena, l, kept->root, plan, kept->levels, &ret->verdict, reterr);
    psc_arena_release(&scratch);
    return status;
}

enum psc_status psc_candela_keep_rivals(struct psc_arena *arena, const struct psc_lazy *l, struct psc_candela_kept *kept,
                                        struct psc_error *reterr)
{
    struct psc_candela_rival *rivals = NULL;
    enum psc_status status = PSC_OK;
    if (!(rivals = psc_arena_alloc0(arena, PSC_RIVAL_N, sizeof *rivals)))
        return psc_fail_nomem(reterr);
    for (unsigned r = 0; !status && r < PSC_RIVAL_N; r++)
        status = keep_rival(arena, l, kept, r, &rivals[r], reterr);
    if (!status)
        kept->rivals = rivals;
    return status;
}

enum psc_status psc_candela_map_at(struct psc_arena *arena, const struct psc_candela_plan *plan, uint32_t position,
                                   struct psc_candela_entry **ret, uint32_t *ret_n, struct psc_error *reterr)
{
    bool moves = !(plan->options.faults & PSC_CANDELA_BIT(PSC_CANDELA_B14));
    struct psc_arena scratch = {0};
    struct psc_alias map;
    uint32_t n = 0;
    if (!psc_alias_init(&map, &scratch, plan->id_n)) {
        psc_arena_release(&scratch);
        return psc_fail_nomem(reterr);
    }
    for (uint32_t k = 0; k < plan->alias_n && plan->aliases[k].position <= position; k++) {
        const struct psc_alias_event *e = &plan->aliases[k];
        if (e->takeover)
            psc_alias_take_over(&map, e->target, e->node, e->tag, moves);
        else
            psc_alias_insert(&map, e->node, e->target, e->tag);
    }
    enum psc_tag tag = PSC_TAG_ANYTHING;
    for (uint32_t id = 0; id < plan->id_n; id++)
        n += psc_alias_get(&map, id, &tag) != PSC_NONE;
    struct psc_candela_entry *entries = psc_arena_alloc(arena, n, sizeof *entries);
    for (uint32_t id = 0, at = 0; entries && id < plan->id_n; id++) {
        uint32_t owner = psc_alias_get(&map, id, &tag);
        if (owner != PSC_NONE)
            entries[at++] = (struct psc_candela_entry){id, owner, tag};
    }
    psc_arena_release(&scratch);
    if (!entries)
        return psc_fail_nomem(reterr);
    *ret = entries;
    *ret_n = n;
    return PSC_OK;
}
