#include "core/candela/claims.h"

#include "core/candela/sort.h"

#include <string.h>

enum class { ORDINARY, ALIAS, TAKEOVER };
struct verdict {
    enum class class;
    uint32_t target;
    enum psc_tag tag;
};

static bool faulty(const struct psc_candela_options *o, enum psc_candela_fault fault)
{
    return o->faults & PSC_CANDELA_BIT(fault);
}

struct psc_candela_rules psc_candela_rules(const struct psc_candela_options *o)
{
    bool old = o->generation == PSC_GEN_01, mended = o->generation == PSC_GEN_HARDENED;
    bool by_node = o->generation == PSC_GEN_02 || faulty(o, PSC_CANDELA_B7);
    return (struct psc_candela_rules){
        .dead_before = old || faulty(o, PSC_CANDELA_B6),
        .scalar_packed = (mended || o->generation == PSC_GEN_ARENA) && !faulty(o, PSC_CANDELA_B8),
        .binary_packed = !old,
        .use_slot = o->generation != PSC_GEN_ARENA,
        .packs = o->generation == PSC_GEN_ARENA,
        .guard = old ? PSC_GUARD_NONE : by_node ? PSC_GUARD_NODE : PSC_GUARD_SLOT,
        .resolve_cache = mended && !faulty(o, PSC_CANDELA_CL1),
        .follow_layout = mended && !faulty(o, PSC_CANDELA_CL2),
        .own_reference = mended && !faulty(o, PSC_CANDELA_CL4),
        .keep_promise = mended && !faulty(o, PSC_CANDELA_CL1),
        .known_stays = mended && !faulty(o, PSC_CANDELA_B14),
        .global = faulty(o, PSC_CANDELA_B3),
        .unresolved_layout = faulty(o, PSC_CANDELA_B4),
        .claim_first = faulty(o, PSC_CANDELA_B13),
        .takeover_moves = !faulty(o, PSC_CANDELA_B14),
    };
}

/* ---- who stands for whom ---------------------------------------------------------------------------- */

static const struct psc_strides *layout_of(const struct psc_candela_claims *c, uint32_t id)
{
    return c->position[id] == PSC_NONE ? &c->l->nodes[id].layout : &c->items[c->position[id]].layout;
}

/* Is `owner` as packed as its entry says? A cache is claimed as packed whatever it holds; hardened looks. */
static struct verdict packed_already(const struct psc_candela_claims *c, uint32_t owner)
{
    if (c->rules.keep_promise && !psc_layout_contiguous(layout_of(c, owner)))
        return (struct verdict){.class = ORDINARY};
    return (struct verdict){ALIAS, owner, PSC_TAG_PACKED};
}

static struct verdict classify_packing(const struct psc_candela_claims *c, uint32_t x)
{
    const struct psc_lazy_node *from = &c->l->nodes[x];
    enum psc_tag tag;
    uint32_t owner = psc_alias_get(&c->map, x, &tag);
    if (from->kind == PSC_LAZY_CACHE)
        return packed_already(c, c->rules.resolve_cache && owner != PSC_NONE ? owner : x);
    if (owner != PSC_NONE && tag != PSC_TAG_ANYTHING)
        return packed_already(c, owner);
    if (owner != PSC_NONE)
        return (struct verdict){TAKEOVER, owner, PSC_TAG_PACKED};
    if (from->kind == PSC_LAZY_NODE && from->op == PSC_LAZY_AS_CONTIGUOUS)
        return packed_already(c, x);
    return (struct verdict){TAKEOVER, x, PSC_TAG_PACKED};
}

static struct verdict classify(const struct psc_candela_claims *c, uint32_t id)
{
    const struct psc_lazy_node *node = &c->l->nodes[id];
    uint32_t x = node->input_n ? node->inputs[0] : PSC_NONE, owner;
    enum psc_tag tag;
    if (node->kind == PSC_LAZY_CACHE) {
        owner = psc_alias_get(&c->map, x, &tag);
        if (owner != PSC_NONE && tag == PSC_TAG_PACKED_CACHE)
            return (struct verdict){ALIAS, owner, PSC_TAG_PACKED_CACHE};
        return (struct verdict){TAKEOVER, owner == PSC_NONE ? x : owner, PSC_TAG_PACKED_CACHE};
    }
    if (node->kind == PSC_LAZY_NODE && node->op == PSC_LAZY_AS_CONTIGUOUS)
        return classify_packing(c, x);
    if (node->kind == PSC_LAZY_NODE && node->op == PSC_LAZY_NOOP)
        return (struct verdict){ALIAS, psc_alias_resolve(&c->map, x), PSC_TAG_ANYTHING};
    return (struct verdict){.class = ORDINARY};
}

static void note(struct psc_candela_claims *c, uint32_t id, struct verdict v)
{
    c->events[c->event_n++] = (struct psc_alias_event){c->n, id, v.target, v.tag, v.class == TAKEOVER};
    if (v.class == ALIAS)
        psc_alias_insert(&c->map, id, v.target, v.tag);
    else
        psc_alias_take_over(&c->map, v.target, id, v.tag, c->rules.takeover_moves);
}

/* ---- the list ---------------------------------------------------------------------------------------- */

static void read_at(struct psc_candela_claims *c, const uint32_t *inputs, uint32_t n, int32_t position)
{
    for (uint32_t k = 0; k < n; k++)
        if (c->position[inputs[k]] != PSC_NONE)
            c->items[c->position[inputs[k]]].end = position;
}

/* Whoever claimed the input may have packed it: what only changes the layout follows the bytes as they lie. */
static enum psc_status settle_layout(struct psc_candela_claims *c, struct psc_candela_item *item, struct psc_error *reterr)
{
    const struct psc_lazy_node *node = &c->l->nodes[item->id];
    enum psc_status status = PSC_OK;
    if (node->kind == PSC_LAZY_CACHE && node->cell->store) {
        item->layout = node->cell->layout;
    } else if (item->input_n && node->kind != PSC_LAZY_BAKED && psc_lazy_op_only_layout(node->op)) {
        const struct psc_strides *in = &c->l->nodes[node->inputs[0]].layout;
        if (c->rules.follow_layout)
            status = psc_layout_apply(node->op, &node->arg, in = layout_of(c, item->inputs[0]), &item->layout, reterr);
        item->shift = item->layout.offset - in->offset;
    }
    return status;
}

static enum psc_status append(struct psc_arena *arena, struct psc_candela_claims *c, uint32_t id, struct psc_error *reterr)
{
    const struct psc_lazy_node *node = &c->l->nodes[id];
    struct psc_candela_item *item = &c->items[c->n];
    *item = (struct psc_candela_item){.id = id, .end = PSC_CANDELA_EVER, .layout = node->layout, .input_n = node->input_n};
    item->inputs = psc_arena_alloc(arena, node->input_n, sizeof *item->inputs);
    if (!item->inputs)
        return psc_fail_nomem(reterr);
    bool resolves = !(c->rules.unresolved_layout && node->kind == PSC_LAZY_NODE && psc_lazy_op_only_layout(node->op));
    for (uint32_t k = 0; k < node->input_n; k++)
        item->inputs[k] = resolves ? psc_alias_resolve(&c->map, node->inputs[k]) : node->inputs[k];
    enum psc_status status = settle_layout(c, item, reterr);
    if (status)
        return status;
    c->position[id] = c->n;
    read_at(c, item->inputs, item->input_n, (int32_t)c->n);
    c->n++;
    return PSC_OK;
}

static enum psc_status place(struct psc_arena *arena, struct psc_candela_claims *c, uint32_t id, struct psc_error *reterr)
{
    enum psc_lazy_kind kind = c->l->nodes[id].kind;
    if (kind == PSC_LAZY_SLOT) {
        c->externals[c->external_n++] = id;
        return PSC_OK;
    }
    struct verdict v = {.class = ORDINARY};
    enum psc_tag tag;
    /* What a filled cache keeps is claimed before it is reached, if it is reached at all. */
    if (c->rules.known_stays && psc_alias_get(&c->map, id, &tag) != PSC_NONE)
        return PSC_OK;
    if (kind != PSC_LAZY_EDGE)
        v = classify(c, id);
    if (v.class == ALIAS || (v.class == TAKEOVER && c->rules.claim_first))
        note(c, id, v);
    if (v.class == ALIAS)
        return PSC_OK;
    enum psc_status status = append(arena, c, id, reterr);
    if (!status && v.class == TAKEOVER && !c->rules.claim_first)
        note(c, id, v);
    return status;
}

static enum psc_status place_root(struct psc_arena *arena, struct psc_candela_claims *c, uint32_t root,
                                  struct psc_error *reterr)
{
    const struct psc_lazy_node *node = &c->l->nodes[root];
    struct verdict v = {.class = ORDINARY};
    bool filled = node->kind == PSC_LAZY_CACHE && node->cell->store;
    if (node->kind != PSC_LAZY_EDGE && node->kind != PSC_LAZY_SLOT && !filled)
        v = classify(c, root);
    c->root = root;
    if (v.class == ALIAS) {
        note(c, root, v);
        c->root = v.target;
        if (c->position[v.target] != PSC_NONE)
            c->items[c->position[v.target]].end = PSC_CANDELA_EVER;
        return PSC_OK;
    }
    if (node->kind == PSC_LAZY_SLOT) {
        c->externals[c->external_n++] = root;
        return PSC_OK;
    }
    return append(arena, c, root, reterr);
}

/* Fault b3: what was resolved where it stood is resolved again with the finished map. */
static void resolve_again(struct psc_candela_claims *c)
{
    for (uint32_t p = 0; p < c->n; p++)
        for (uint32_t k = 0; k < c->items[p].input_n; k++) {
            uint32_t input = c->l->nodes[c->items[p].id].inputs[k], owner = psc_alias_resolve(&c->map, input);
            c->items[p].inputs[k] = owner == c->items[p].id ? input : owner;
        }
}

enum psc_status psc_candela_claim(struct psc_arena *arena, const struct psc_lazy *l, uint32_t root,
                                  const struct psc_candela_options *options, struct psc_candela_claims *ret,
                                  struct psc_error *reterr)
{
    struct psc_candela_claims c = {.l = l, .rules = psc_candela_rules(options)};
    uint32_t *order, n;
    enum psc_status status = psc_lazy_sort(arena, l, root, &order, &n, reterr);
    if (status)
        return status;
    c.items = psc_arena_alloc(arena, n + (size_t)1, sizeof *c.items);
    c.events = psc_arena_alloc(arena, n + (size_t)1, sizeof *c.events);
    c.externals = psc_arena_alloc(arena, n + (size_t)1, sizeof *c.externals);
    c.position = psc_arena_alloc(arena, l->n, sizeof *c.position);
    if (!c.items || !c.events || !c.externals || !c.position || !psc_alias_init(&c.map, arena, (uint32_t)l->n))
        return psc_fail_nomem(reterr);
    memset(c.position, 0xff, l->n * sizeof *c.position);
    for (uint32_t i = 0; i < n && !status; i++)
        status = place(arena, &c, order[i], reterr);
    if (!status)
        status = place_root(arena, &c, root, reterr);
    if (status)
        return status;
    if (c.rules.global)
        resolve_again(&c);
    *ret = c;
    return PSC_OK;
}
