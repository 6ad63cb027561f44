#include "core/debug/candela-view.h"

#include "core/base/text.h"
#include "core/debug/candela-tale.h"

#include <string.h>

#define KEYS_LOOKED_AT 4096u /* of a long map, the newest ones */

struct making {
    struct psc_arena *arena;
    const struct psc_candela_tale *t;
    struct psc_candela_view *v;
    struct psc_tale_cursor c;
};

static uint32_t at_most(uint32_t n)
{
    return n < PSC_CANDELA_VIEW_MAX ? n : PSC_CANDELA_VIEW_MAX;
}

/* ---- the sort ---------------------------------------------------------------------------------------------------- */

static bool put_order(struct making *m)
{
    struct psc_candela_place *order = psc_arena_alloc(m->arena, at_most(m->t->order_n), sizeof *order);
    uint32_t n = at_most(m->t->order_n), half = n / 2;
    /* of a long order the part about here */
    uint32_t first = m->c.to > half ? m->c.to - half : 0;
    first = first + n > m->t->order_n ? m->t->order_n - n : first;
    if (!order)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        const struct psc_tale_node *node = &m->t->nodes[m->t->order[first + i]];
        order[i] = (struct psc_candela_place){node->name, node->position};
    }
    m->v->order = order;
    m->v->order_n = n;
    m->v->order_at = m->c.to - first;
    m->v->order_before = first;
    m->v->order_after = m->t->order_n - first - n;
    return true;
}

static bool put_stack(struct making *m)
{
    const struct psc_candela_tale *t = m->t;
    uint32_t last = m->c.to ? t->left[m->c.to - 1] : 0; /* before the first: the root was entered, no more */
    const struct psc_tale_move *move = &t->moves[last];
    bool over = m->v->position >= (int32_t)t->step_n;
    uint32_t all = over ? 0 : move->depth, n = at_most(all), at = move->top;
    struct psc_candela_frame *stack = psc_arena_alloc(m->arena, n, sizeof *stack);
    if (!stack)
        return false;
    for (uint32_t i = 0; i < n; i++, at = t->entries[at].below)
        stack[i] = (struct psc_candela_frame){t->nodes[t->entries[at].id].name, t->entries[at].entered,
                                              i == 0 && move->move == PSC_SORT_LEAVE};
    m->v->stack = stack;
    m->v->stack_n = n;
    m->v->stack_all = all;
    m->v->stack_most = t->stack_most;
    return true;
}

static bool put_moves(struct making *m)
{
    const struct psc_candela_tale *t = m->t;
    uint32_t from = m->c.from ? t->left[m->c.from - 1] + 1 : 0, to = m->c.to ? t->left[m->c.to - 1] + 1 : 1;
    from = m->v->position < 0 ? 0 : m->c.from ? from : 1;
    uint32_t all = to > from ? to - from : 0, n = at_most(all);
    struct psc_candela_moved *moves = psc_arena_alloc(m->arena, n, sizeof *moves);
    if (!moves)
        return false;
    for (uint32_t i = 0; i < n; i++) { /* of many the last ones */
        const struct psc_tale_move *move = &t->moves[to - n + i];
        moves[i] = (struct psc_candela_moved){t->nodes[move->id].name, (enum psc_sort_move)move->move};
    }
    m->v->moves = moves;
    m->v->move_n = n;
    m->v->move_all = all;
    return true;
}

/* ---- the alias map ------------------------------------------------------------------------------------------------- */

static uint32_t keys_known(const struct psc_candela_tale *t, uint32_t events)
{
    uint32_t lo = 0, hi = t->key_n;
    while (lo < hi) {
        uint32_t middle = lo + (hi - lo) / 2;
        if (t->key_since[middle] < events)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo;
}

static struct psc_candela_arrow arrow_of(const struct making *m, uint32_t key)
{
    const struct psc_candela_tale *t = m->t;
    enum psc_tag tag = PSC_TAG_ANYTHING, ignored;
    uint32_t event = 0, at, owner = psc_tale_owner_of(t, key, m->c.events, &tag, &event);
    struct psc_candela_arrow a = {.node = t->nodes[key].name, .owner = t->nodes[owner].name, .tag = (uint8_t)tag,
                                  .promise = psc_explain_candela_promise(tag, t->apart), .fresh = event >= m->c.events_from};
    uint32_t before = a.fresh ? psc_tale_owner_of(t, key, event, &ignored, &at) : PSC_NONE;
    if (before != PSC_NONE && before != owner)
        a.before = t->nodes[before].name;
    a.was_itself = a.fresh && before == PSC_NONE && t->nodes[key].position >= 0 && t->aliases[event].takeover;
    a.two_hops = psc_tale_owner_of(t, owner, m->c.events, &ignored, &at) != PSC_NONE;
    return a;
}

/* In the order in which they came; of a long map the newest, and of those looked at the ones that move here first. */
static bool put_arrows(struct making *m)
{
    const struct psc_candela_tale *t = m->t;
    uint32_t all = keys_known(t, m->c.events), n = at_most(all), first = all > KEYS_LOOKED_AT ? all - KEYS_LOOKED_AT : 0;
    struct psc_candela_arrow *arrows = psc_arena_alloc(m->arena, n, sizeof *arrows);
    uint32_t fresh = 0, plain = 0, k = 0;
    if (!arrows)
        return false;
    for (uint32_t i = first; i < all; i++) {
        struct psc_candela_arrow a = arrow_of(m, t->key_order[i]);
        fresh += a.fresh || a.two_hops;
    }
    plain = fresh < n ? n - fresh : 0;
    uint32_t skip = all - first - fresh - (plain < all - first - fresh ? plain : all - first - fresh);
    for (uint32_t i = first; i < all && k < n; i++) {
        struct psc_candela_arrow a = arrow_of(m, t->key_order[i]);
        if (a.fresh || a.two_hops || !skip)
            arrows[k++] = a;
        else
            skip--;
    }
    m->v->arrows = arrows;
    m->v->arrow_n = k;
    m->v->arrow_all = all;
    m->v->arrow_most = t->key_n;
    return true;
}

bool psc_tale_look(struct psc_arena *arena, const struct psc_candela_tale *t, struct psc_candela_view *v)
{
    struct making m = {arena, t, v, psc_tale_at(t, v->position)};
    v->has_sort = true;
    v->apart = t->apart;
    return put_order(&m) && put_stack(&m) && put_moves(&m) && put_arrows(&m);
}

/* ---- the decision ---------------------------------------------------------------------------------------------------- */

static bool put_tries(struct making *m, uint32_t p)
{
    const struct psc_candela_step *step = &m->t->plan->steps[p];
    uint32_t n = psc_tale_try_n(step);
    struct psc_candela_try *tries = psc_arena_alloc(m->arena, n, sizeof *tries);
    if (!tries)
        return false;
    for (uint32_t i = 0, at = 0; i < n; i++) {
        const struct psc_denial *denied = at < step->denied_n ? &step->denied[at] : NULL;
        uint32_t denied_n = denied ? psc_tale_group(step, at) : 0;
        tries[i] = (struct psc_candela_try){psc_explain_candela_strategy(m->arena, m->t, p, denied),
                                            psc_explain_candela_why(m->arena, m->t, p, denied, denied_n), !denied};
        if (!tries[i].strategy || !tries[i].why)
            return false;
        at += denied_n;
    }
    m->v->tries = tries;
    m->v->try_n = n;
    return true;
}

/* ---- slots ------------------------------------------------------------------------------------------------------------- */

static uint32_t holder_at(const struct psc_candela_tale *t, uint32_t slot, int32_t position)
{
    uint32_t lo = t->holder_at[slot], hi = t->holder_at[slot + 1];
    while (lo < hi) {
        uint32_t middle = lo + (hi - lo) / 2;
        if (t->holders[middle].position <= position)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo; /* one past the holder */
}

static struct psc_candela_slot_view slot_view(const struct making *m, uint32_t slot)
{
    const struct psc_candela_tale *t = m->t;
    int32_t position = m->v->position;
    uint32_t at = holder_at(t, slot, position);
    struct psc_candela_slot_view s = {.slot = slot, .len = t->plan->slots[slot].len, .start = t->plan->slots[slot].start,
                                      .end = PSC_CANDELA_EVER, .use = PSC_SLOT_LATER};
    if (at == t->holder_at[slot])
        return s;
    const struct psc_tale_holder *h = &t->holders[at - 1];
    s.owner = t->nodes[h->id].name;
    s.end = h->end;
    s.start = h->position;
    bool over = h->end != PSC_CANDELA_EVER && position > h->end;
    s.use = !over ? PSC_SLOT_HELD : at < t->holder_at[slot + 1] ? PSC_SLOT_IDLE : PSC_SLOT_GONE;
    s.touched = position >= 0 && position < (int32_t)t->plan->n && t->plan->steps[position].slot == slot;
    return s;
}

/* Slots that were begun so far; of many those about the one of this step. */
static bool put_slots(struct making *m)
{
    const struct psc_candela_plan *plan = m->t->plan;
    uint32_t all = 0, lo = 0, hi = plan->slot_n; /* slots are numbered as they begin */
    while (lo < hi) {
        uint32_t middle = lo + (hi - lo) / 2;
        if (plan->slots[middle].start <= m->v->position)
            lo = middle + 1;
        else
            hi = middle;
    }
    all = lo;
    uint32_t n = at_most(all), first = all - n;
    int32_t p = m->v->position;
    uint32_t mine = p >= 0 && p < (int32_t)plan->n ? plan->steps[p].slot : PSC_NONE;
    if (mine != PSC_NONE && mine < first)
        first = mine;
    struct psc_candela_slot_view *slots = psc_arena_alloc(m->arena, n, sizeof *slots);
    if (!slots)
        return false;
    for (uint32_t i = 0; i < n; i++)
        slots[i] = slot_view(m, first + i);
    m->v->slots = slots;
    m->v->slot_n = n;
    m->v->slot_all = all;
    m->v->slot_most = plan->slot_n;
    return true;
}

/* ---- the view ------------------------------------------------------------------------------------------------------------- */

enum psc_status psc_candela_view_at(struct psc_arena *arena, const struct psc_candela_tale *t, int32_t position,
                                    struct psc_candela_view **ret, struct psc_error *reterr)
{
    struct psc_candela_view *v = psc_arena_alloc0(arena, 1, sizeof *v);
    struct making m = {.arena = arena, .t = t, .v = v};
    int32_t n = (int32_t)t->plan->n;
    if (!v)
        return psc_fail_nomem(reterr);
    v->position = position < -1 ? -1 : position > n ? n : position;
    v->step_n = t->plan->n;
    v->try_most = t->try_most ? t->try_most : 1;
    v->name = v->title = "";
    bool fine = psc_tale_look(arena, t, v) && put_slots(&m);
    bool inside = v->position >= 0 && v->position < n;
    if (fine && inside) {
        v->name = t->nodes[t->plan->steps[v->position].id].name;
        v->title = psc_explain_candela_title(arena, t, (uint32_t)v->position);
        fine = v->title && put_tries(&m, (uint32_t)v->position);
    }
    fine = fine && psc_tale_put_live(arena, t, v) && psc_tale_put_levels(arena, t, v) && psc_tale_put_rivals(arena, t, v);
    if (fine)
        v->words = psc_explain_candela_words(arena, t, v->position);
    if (!fine || !v->words)
        return psc_fail_nomem(reterr);
    *ret = v;
    return PSC_OK;
}
