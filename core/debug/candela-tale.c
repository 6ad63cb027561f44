#include "core/debug/candela-tale.h"

#include "core/base/mem.h"
#include "core/base/text.h"

#include <string.h>

/* ---- the expression ------------------------------------------------------------------------------------------- */

static const char *operand(const struct psc_lazy *l, const struct psc_lazy_node *node, uint32_t k)
{
    return l->nodes[node->inputs[k]].name;
}

static void write_call(struct psc_text *out, const struct psc_lazy *l, const struct psc_lazy_node *node)
{
    const char *lead = "(";
    psc_text_add(out, node->kind == PSC_LAZY_BAKED ? "baked" : node->kind == PSC_LAZY_CACHE ? "cache" : psc_lazy_op_name(node->op));
    for (uint32_t k = 0; k < node->input_n; k++, lead = ", ")
        psc_text_addf(out, "%s%s", lead, operand(l, node, k));
    psc_text_add(out, node->input_n ? ")" : "()");
}

/* "sum * 2", "a + b", "transpose(e)" */
static void write_down(struct psc_text *out, const struct psc_lazy *l, const struct psc_lazy_node *node)
{
    static const char signs[] = {[PSC_LAZY_ADD] = '+', [PSC_LAZY_SUB] = '-', [PSC_LAZY_MUL] = '*', [PSC_LAZY_DIV] = '/'};
    if (node->kind == PSC_LAZY_EDGE || node->kind == PSC_LAZY_SLOT) {
        psc_text_add(out, node->kind == PSC_LAZY_EDGE ? "a tensor of the caller" : "a hole of the skeleton");
    } else if (node->kind == PSC_LAZY_NODE && psc_lazy_op_is_binary(node->op) && node->input_n == 2) {
        psc_text_addf(out, "%s %c %s", operand(l, node, 0), signs[node->op], operand(l, node, 1));
    } else if (node->kind == PSC_LAZY_NODE && psc_lazy_op_is_scalar(node->op) && node->input_n) {
        psc_text_add(out, operand(l, node, 0));
        for (uint32_t k = 0; k < node->scalar_n && k < 4; k++)
            psc_text_addf(out, " %c %.6g", node->scalars[k].op, (double)node->scalars[k].value);
        if (node->scalar_n > 4)
            psc_text_add(out, " ...");
    } else {
        write_call(out, l, node);
    }
}

static bool write_nodes(struct psc_arena *arena, struct psc_candela_tale *t, const struct psc_lazy *l)
{
    struct psc_text text = {0};
    bool fine = (t->nodes = psc_arena_alloc0(arena, l->n, sizeof *t->nodes)) != NULL;
    t->node_n = (uint32_t)l->n;
    for (uint32_t i = 0; fine && i < t->node_n; i++) {
        psc_text_clear(&text);
        write_down(&text, l, &l->nodes[i]);
        t->nodes[i] = (struct psc_tale_node){.name = l->nodes[i].name, .text = psc_arena_strdup(arena, psc_text_str(&text)),
                                             .yield = PSC_NONE, .position = -1};
        fine = t->nodes[i].text && !text.failed;
    }
    psc_text_release(&text);
    return fine;
}

/* ---- the sort, move by move -------------------------------------------------------------------------------------- */

struct sorting {
    struct psc_candela_tale *t;
    uint32_t top, depth;
};

static void push(struct sorting *s, uint32_t id, bool entered)
{
    s->t->entries[s->t->entry_n] = (struct psc_tale_entry){id, s->top, entered};
    s->top = s->t->entry_n++;
    s->depth++;
    if (s->depth > s->t->stack_most)
        s->t->stack_most = s->depth;
}

static void pop(struct sorting *s)
{
    s->top = s->t->entries[s->top].below;
    s->depth--;
}

/* A stack is shown while the one that is yielded still lies on it. */
static void note(struct sorting *s, uint32_t id, enum psc_sort_move move)
{
    s->t->moves[s->t->move_n++] = (struct psc_tale_move){id, s->top, s->depth, (uint8_t)move};
}

static void leave(struct sorting *s, uint32_t id)
{
    struct psc_candela_tale *t = s->t;
    t->nodes[id].yield = t->order_n;
    t->left[t->order_n] = t->move_n;
    t->order[t->order_n++] = id;
    note(s, id, PSC_SORT_LEAVE);
    pop(s);
}

static void replay(struct sorting *s, uint32_t root, const struct psc_lazy_move *moves, uint32_t move_n)
{
    push(s, root, true);
    note(s, root, PSC_SORT_ENTER);
    for (uint32_t i = 0; i < move_n; i++) {
        uint32_t id = moves[i].id;
        switch (moves[i].kind) {
        case PSC_LAZY_PUSH: push(s, id, false); break;
        case PSC_LAZY_ENTER: pop(s); push(s, id, true); note(s, id, PSC_SORT_ENTER); break;
        case PSC_LAZY_AGAIN: pop(s); note(s, id, PSC_SORT_SEEN); break;
        case PSC_LAZY_LEAVE: leave(s, id); break;
        }
        if (s->t->move_n == 1) { /* all that the root needs waits; nothing was visited */
            s->t->moves[0].top = s->top;
            s->t->moves[0].depth = s->depth;
        }
    }
    leave(s, root);
}

bool psc_tale_make_sort(struct psc_arena *arena, struct psc_candela_tale *t, uint32_t root, const struct psc_lazy_move *moves,
                        uint32_t move_n)
{
    struct sorting s = {.t = t, .top = PSC_NONE};
    size_t room = move_n + (size_t)2;
    t->entries = psc_arena_alloc(arena, room, sizeof *t->entries);
    t->moves = psc_arena_alloc(arena, room, sizeof *t->moves);
    t->order = psc_arena_alloc(arena, t->node_n, sizeof *t->order);
    t->left = psc_arena_alloc(arena, t->node_n, sizeof *t->left);
    bool fine = t->entries && t->moves && t->order && t->left;
    if (fine)
        replay(&s, root, moves, move_n);
    return fine;
}

uint32_t psc_tale_group(const struct psc_candela_step *step, uint32_t at)
{
    uint32_t n = 1;
    while (at + n < step->denied_n && step->denied[at + n].how == step->denied[at].how &&
           step->denied[at + n].operand == step->denied[at].operand)
        n++;
    return n;
}

uint32_t psc_tale_try_n(const struct psc_candela_step *step)
{
    uint32_t n = 1;
    for (uint32_t i = 0; i < step->denied_n; i += psc_tale_group(step, i))
        n++;
    return n;
}

static bool place_steps(struct psc_arena *arena, struct psc_candela_tale *t)
{
    t->step_yield = psc_arena_alloc(arena, t->plan->n, sizeof *t->step_yield);
    t->line_at = psc_arena_alloc0(arena, t->plan->n + (size_t)1, sizeof *t->line_at);
    if (!t->step_yield || !t->line_at)
        return false;
    for (uint32_t p = 0; p < t->plan->n; p++) {
        const struct psc_candela_step *step = &t->plan->steps[p];
        uint32_t tries = psc_tale_try_n(step);
        t->nodes[step->id].position = (int32_t)p;
        t->step_yield[p] = t->nodes[step->id].yield;
        t->try_most = tries > t->try_most ? tries : t->try_most;
        t->line_at[p + 1] = t->line_at[p] + tries;
    }
    return true;
}

/* ---- the alias map ---------------------------------------------------------------------------------------------- */

struct change { uint32_t of; union { struct psc_tale_key key; struct psc_tale_owner owner; } as; };
struct mapping {
    struct psc_candela_tale *t;
    uint32_t *owner_class;       /* [node_n] */
    uint32_t *class_owner, *class_version; /* [class_n] */
    bool *known;
    struct change *keys, *owners;
    uint32_t keys_n, owners_n;
};

static uint32_t class_of(struct mapping *m, uint32_t owner, uint32_t event)
{
    if (m->owner_class[owner] == PSC_NONE) {
        uint32_t c = m->t->class_n++;
        m->owner_class[owner] = c;
        m->class_owner[c] = owner;
        m->class_version[c] = 0;
        m->owners[m->owners_n++] = (struct change){.of = c, .as.owner = {event, owner, 0, 0}};
    }
    return m->owner_class[owner];
}

static void join(struct mapping *m, uint32_t node, uint32_t owner, enum psc_tag tag, uint32_t event)
{
    uint32_t c = class_of(m, owner, event);
    m->keys[m->keys_n++] = (struct change){.of = node, .as.key = {event, c, m->class_version[c], (uint8_t)tag}};
    if (m->known[node])
        return;
    m->known[node] = true;
    m->t->key_order[m->t->key_n] = node;
    m->t->key_since[m->t->key_n++] = event;
}

/* As core/candela/alias.c; without b14 a takeover moves every entry of the old owner. */
static void follow_map(struct mapping *m, bool moves)
{
    for (uint32_t e = 0; e < m->t->alias_n; e++) {
        const struct psc_alias_event *a = &m->t->aliases[e];
        if (!a->takeover) {
            join(m, a->node, a->target, a->tag, e);
            continue;
        }
        if (moves) {
            uint32_t c = class_of(m, a->target, e);
            m->class_owner[c] = a->node;
            m->class_version[c]++;
            m->owner_class[a->target] = PSC_NONE;
            m->owner_class[a->node] = c;
            m->owners[m->owners_n++] = (struct change){.of = c, .as.owner = {e, a->node, m->class_version[c], (uint8_t)a->tag}};
        }
        join(m, a->target, a->node, a->tag, e);
    }
}

/* at[k] .. at[k + 1]: the changes of k, in order. */
static bool sort_changes(struct psc_arena *arena, const struct change *changes, uint32_t n, uint32_t of_n, uint32_t **ret_at,
                         uint32_t *places)
{
    uint32_t *at = *ret_at = psc_arena_alloc0(arena, of_n + (size_t)1, sizeof *at);
    if (!at)
        return false;
    for (uint32_t i = 0; i < n; i++)
        at[changes[i].of]++;
    for (uint32_t k = 0, sum = 0; k <= of_n; k++) {
        uint32_t count = at[k];
        at[k] = sum;
        sum += count;
    }
    for (uint32_t i = 0; i < n; i++)
        places[i] = at[changes[i].of]++;
    for (uint32_t k = of_n; k > 0; k--)
        at[k] = at[k - 1];
    at[0] = 0;
    return true;
}

static bool settle_map(struct psc_arena *arena, struct mapping *m, uint32_t *places)
{
    struct psc_candela_tale *t = m->t;
    t->keys = psc_arena_alloc(arena, m->keys_n, sizeof *t->keys);
    t->owners = psc_arena_alloc(arena, m->owners_n, sizeof *t->owners);
    if (!t->keys || !t->owners || !sort_changes(arena, m->keys, m->keys_n, t->node_n, &t->key_at, places))
        return false;
    for (uint32_t i = 0; i < m->keys_n; i++)
        t->keys[places[i]] = m->keys[i].as.key;
    if (!sort_changes(arena, m->owners, m->owners_n, t->class_n, &t->class_at, places))
        return false;
    for (uint32_t i = 0; i < m->owners_n; i++)
        t->owners[places[i]] = m->owners[i].as.owner;
    return true;
}

bool psc_tale_make_map(struct psc_arena *arena, struct psc_candela_tale *t, bool moves)
{
    struct psc_arena scratch = {0};
    uint32_t n = t->alias_n;
    struct mapping m = {.t = t};
    m.owner_class = psc_arena_alloc(&scratch, t->node_n, sizeof *m.owner_class);
    m.known = psc_arena_alloc0(&scratch, t->node_n, sizeof *m.known);
    m.class_owner = psc_arena_alloc(&scratch, 2 * (size_t)n, sizeof *m.class_owner);
    m.class_version = psc_arena_alloc(&scratch, 2 * (size_t)n, sizeof *m.class_version);
    m.keys = psc_arena_alloc(&scratch, n, sizeof *m.keys);
    m.owners = psc_arena_alloc(&scratch, 3 * (size_t)n, sizeof *m.owners);
    uint32_t *places = psc_arena_alloc(&scratch, 3 * (size_t)n, sizeof *places);
    t->key_order = psc_arena_alloc(arena, n, sizeof *t->key_order);
    t->key_since = psc_arena_alloc(arena, n, sizeof *t->key_since);
    bool fine = m.owner_class && m.known && m.class_owner && m.class_version && m.keys && m.owners && places &&
                t->key_order && t->key_since;
    if (fine) {
        memset(m.owner_class, 0xff, t->node_n * sizeof *m.owner_class);
        follow_map(&m, moves);
        fine = settle_map(arena, &m, places);
    }
    psc_arena_release(&scratch);
    return fine;
}

/* ---- who owns a slot, when ------------------------------------------------------------------------------------------ */

static bool owns(const struct psc_candela_step *step)
{
    return step->slot != PSC_NONE && (step->how == PSC_HOW_ALLOCATE || step->how == PSC_HOW_REGION ||
                                      step->how == PSC_HOW_USE_SLOT || step->how == PSC_HOW_IN_PLACE || step->how == PSC_HOW_BAKED);
}

static int32_t later(int32_t a, int32_t b)
{
    return a == PSC_CANDELA_EVER || b == PSC_CANDELA_EVER ? PSC_CANDELA_EVER : a > b ? a : b;
}

static bool make_holders(struct psc_arena *arena, struct psc_candela_tale *t)
{
    const struct psc_candela_plan *plan = t->plan;
    uint32_t *at = t->holder_at = psc_arena_alloc0(arena, plan->slot_n + (size_t)1, sizeof *at), sum = 0;
    t->holders = psc_arena_alloc(arena, plan->n, sizeof *t->holders);
    uint32_t *fill = psc_alloc0(plan->slot_n + (size_t)1, sizeof *fill);
    bool fine = at && t->holders && fill;
    for (uint32_t p = 0; fine && p < plan->n; p++)
        if (owns(&plan->steps[p]))
            at[plan->steps[p].slot]++;
    for (uint32_t s = 0; fine && s <= plan->slot_n; s++) {
        uint32_t count = at[s];
        at[s] = fill[s] = sum;
        sum += count;
    }
    for (uint32_t p = 0; fine && p < plan->n; p++) {
        const struct psc_candela_step *step = &plan->steps[p];
        if (owns(step))
            t->holders[fill[step->slot]++] = (struct psc_tale_holder){
                (int32_t)p, step->how == PSC_HOW_BAKED ? (int32_t)p : step->end, step->id};
        else if (step->how == PSC_HOW_REFERENCE_SLOT && fill[step->slot] > at[step->slot])
            t->holders[fill[step->slot] - 1].end = later(t->holders[fill[step->slot] - 1].end,
                                                         psc_tale_is_cache(t, step->id) ? PSC_CANDELA_EVER : step->end);
    }
    psc_free(fill);
    return fine;
}

/* ---- all of it ------------------------------------------------------------------------------------------------------ */

enum psc_status psc_candela_tale_new(struct psc_arena *arena, const struct psc_candela_kept *kept,
                                     struct psc_candela_tale **ret, struct psc_error *reterr)
{
    struct psc_candela_tale *t = psc_arena_alloc0(arena, 1, sizeof *t);
    if (!t)
        return psc_fail_nomem(reterr);
    t->kept = kept;
    t->plan = kept->plan;
    t->step_n = t->plan->n;
    t->aliases = t->plan->aliases;
    t->alias_n = t->plan->alias_n;
    if (!write_nodes(arena, t, &kept->lazy) || !psc_tale_make_sort(arena, t, kept->root, kept->moves, kept->move_n) ||
        !place_steps(arena, t) || !psc_tale_make_map(arena, t, !(t->plan->options.faults & PSC_CANDELA_BIT(PSC_CANDELA_B14))) ||
        !make_holders(arena, t) || !psc_tale_make_live(arena, t) || !psc_tale_make_levels(arena, t) || !psc_tale_make_rivals(arena, t))
        return psc_fail_nomem(reterr);
    *ret = t;
    return PSC_OK;
}

/* ---- what is asked of it ---------------------------------------------------------------------------------------------- */

static uint32_t yielded(const struct psc_candela_tale *t, int32_t position)
{
    if (position < 0)
        return 0;
    return (uint32_t)position < t->step_n ? t->step_yield[position] + 1 : t->order_n;
}

/* Events of what comes before this place: of the order, or, where steps run in another one, of the steps. */
static uint32_t events(const struct psc_candela_tale *t, uint32_t place)
{
    uint32_t lo = 0, hi = t->alias_n;
    while (lo < hi) {
        uint32_t middle = lo + (hi - lo) / 2;
        const struct psc_alias_event *a = &t->aliases[middle];
        if ((t->apart ? a->position : t->nodes[a->node].yield) < place)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo;
}

struct psc_tale_cursor psc_tale_at(const struct psc_candela_tale *t, int32_t position)
{
    struct psc_tale_cursor c = {.to = yielded(t, position)};
    uint32_t before = position < 0 ? 0 : (uint32_t)position < t->step_n ? (uint32_t)position : t->step_n;
    if (!t->apart)
        c.from = yielded(t, position - 1);
    else /* the one that is listed here, and what led to it */
        c.from = position >= 0 && (uint32_t)position < t->step_n ? c.to - 1 : c.to;
    c.events_from = position < 0 ? 0 : events(t, t->apart ? before : c.from);
    c.events = events(t, !t->apart ? c.to : position < 0 ? 0 : before + 1);
    return c;
}

uint32_t psc_tale_owner_of(const struct psc_candela_tale *t, uint32_t node, uint32_t events, enum psc_tag *ret_tag,
                           uint32_t *ret_event)
{
    uint32_t lo = t->key_at[node], hi = t->key_at[node + 1], first = lo;
    while (lo < hi) {
        uint32_t middle = lo + (hi - lo) / 2;
        if (t->keys[middle].event < events)
            lo = middle + 1;
        else
            hi = middle;
    }
    if (lo == first)
        return PSC_NONE;
    const struct psc_tale_key *key = &t->keys[lo - 1];
    lo = t->class_at[key->of];
    hi = t->class_at[key->of + 1];
    while (lo < hi) {
        uint32_t middle = lo + (hi - lo) / 2;
        if (t->owners[middle].event < events)
            lo = middle + 1;
        else
            hi = middle;
    }
    const struct psc_tale_owner *owner = &t->owners[lo - 1];
    *ret_tag = (enum psc_tag)(owner->version > key->version ? owner->tag : key->tag);
    *ret_event = owner->event > key->event ? owner->event : key->event;
    return owner->owner;
}
