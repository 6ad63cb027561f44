#include "core/candela/planner.h"

#include "core/base/hash.h"
#include "core/base/mem.h"
#include "core/candela/claims.h"
#include "core/candela/deps.h"
#include "core/candela/pack.h"
#include "core/candela/skeleton.h"

#include <string.h>

struct idle { /* idle slots of one length: a heap, lowest index on top */
    uint32_t *items; /* heap */
    size_t n, cap;
};
struct slot_state {
    bool idle;
    uint32_t next_due; /* the next slot that ends at the same position */
};
struct listing { /* ids to give back after a step, linked */
    uint32_t id, next;
};
struct work {
    struct psc_arena *arena, scratch;
    const struct psc_lazy *l;
    const struct psc_candela_options *options;
    struct psc_candela_claims claims;
    struct psc_candela_rules rules;
    struct psc_candela_step *steps;
    struct psc_candela_slot *slots;
    struct slot_state *states;
    uint32_t slot_n, n;
    uint32_t *slot_of;               /* [l->n]: PSC_NONE */
    uint32_t *due;                   /* [n + 1]: slots whose end was this position when they were noted */
    struct psc_map lengths;          /* elements -> index into idle */
    struct idle *idle;               /* heap */
    size_t idle_n, idle_cap;
    struct listing *references;      /* what layout steps leave behind, in order; next: the position */
    uint32_t reference_n;
    struct psc_denial denied[16];    /* of the present step: at most four of two operands, and one each of other strategies */
    uint32_t denied_n;
    bool failed;
};

static bool faulty(const struct work *w, enum psc_candela_fault fault)
{
    return w->options->faults & PSC_CANDELA_BIT(fault);
}

static void deny(struct work *w, enum psc_how how, enum psc_denied why, uint32_t operand, int64_t a, int64_t b)
{
    if (w->denied_n < sizeof w->denied / sizeof *w->denied)
        w->denied[w->denied_n++] = (struct psc_denial){how, why, operand, a, b};
}

/* ---- idle slots ------------------------------------------------------------------------------------- */

static struct idle *idle_of(struct work *w, uint64_t len)
{
    uint32_t at;
    if (psc_map_get(&w->lengths, len, &at))
        return &w->idle[at];
    if (!psc_grow(&w->idle, w->idle_n + 1, &w->idle_cap, sizeof *w->idle) ||
        !psc_map_put(&w->lengths, len, (uint32_t)w->idle_n, &at)) {
        w->failed = true;
        return NULL;
    }
    w->idle[w->idle_n] = (struct idle){0};
    return &w->idle[w->idle_n++];
}

static void give(struct work *w, uint32_t slot)
{
    struct idle *heap = idle_of(w, w->slots[slot].len);
    if (!heap || !psc_grow(&heap->items, heap->n + 1, &heap->cap, sizeof *heap->items)) {
        w->failed = true;
        return;
    }
    size_t at = heap->n++;
    for (; at && heap->items[(at - 1) / 2] > slot; at = (at - 1) / 2)
        heap->items[at] = heap->items[(at - 1) / 2];
    heap->items[at] = slot;
    w->states[slot].idle = true;
}

static uint32_t take(struct work *w, uint64_t len)
{
    struct idle *heap = idle_of(w, len);
    if (!heap || !heap->n)
        return PSC_NONE;
    uint32_t slot = heap->items[0], last = heap->items[--heap->n];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < heap->n; at = child) {
        child += child + 1 < heap->n && heap->items[child + 1] < heap->items[child];
        if (heap->items[child] >= last)
            break;
        heap->items[at] = heap->items[child];
    }
    if (heap->n)
        heap->items[at] = last;
    w->states[slot].idle = false;
    return slot;
}

static void note_end(struct work *w, uint32_t slot)
{
    int32_t end = w->slots[slot].end;
    if (end == PSC_CANDELA_EVER)
        return;
    w->states[slot].next_due = w->due[end];
    w->due[end] = slot;
}

/* A slot whose end moved since it was noted is noted again where it ends now: each stands in one list. */
static void release_due(struct work *w, uint32_t position)
{
    uint32_t next;
    for (uint32_t slot = w->due[position]; slot != PSC_NONE; slot = next) {
        next = w->states[slot].next_due;
        if (w->slots[slot].end == (int32_t)position)
            give(w, slot);
        else
            note_end(w, slot);
    }
    w->due[position] = PSC_NONE;
}

/* ---- strategies -------------------------------------------------------------------------------------- */

static int32_t later(const struct work *w, int32_t a, int32_t b)
{
    bool absorbs = !faulty(w, PSC_CANDELA_B16);
    if (absorbs && (a == PSC_CANDELA_EVER || b == PSC_CANDELA_EVER))
        return PSC_CANDELA_EVER;
    return a > b ? a : b;
}

static uint32_t slot_of(const struct work *w, uint32_t id)
{
    return w->slot_of[id];
}

static bool dies_here(struct work *w, uint32_t operand, const struct psc_candela_slot *slot, int32_t at)
{
    if (slot->end == PSC_CANDELA_EVER)
        return deny(w, PSC_HOW_IN_PLACE, PSC_DENIED_NEVER_ENDS, operand, 0, 0), false;
    bool dies = w->rules.dead_before ? slot->end < at : slot->end == at;
    if (!dies && !(faulty(w, PSC_CANDELA_B11) && slot->end > at))
        return deny(w, PSC_HOW_IN_PLACE, PSC_DENIED_READ_LATER, operand, slot->end, at), false;
    return true;
}

/* Does another operand share the bytes of operand k? */
static bool shared(struct work *w, const struct psc_candela_step *step, uint32_t k)
{
    uint32_t slot = slot_of(w, step->inputs[k]);
    for (uint32_t j = 0; j < step->input_n; j++) {
        if (j == k)
            continue;
        if (w->rules.guard == PSC_GUARD_NODE && step->inputs[j] == step->inputs[k])
            return deny(w, PSC_HOW_IN_PLACE, PSC_DENIED_SAME_NODE, k, 0, 0), true;
        if (w->rules.guard == PSC_GUARD_SLOT && slot_of(w, step->inputs[j]) == slot)
            return deny(w, PSC_HOW_IN_PLACE, PSC_DENIED_SAME_SLOT, k, slot, 0), true;
    }
    return false;
}

static bool packed(const struct work *w, uint32_t id)
{
    uint32_t p = w->claims.position[id];
    return psc_layout_contiguous(p == PSC_NONE ? &w->l->nodes[id].layout : &w->claims.items[p].layout);
}

/* Every predicate is asked, so that each that stands against it is told. */
static bool may_overwrite(struct work *w, const struct psc_candela_step *step, uint32_t k, int32_t at)
{
    bool must_pack = step->op == PSC_LAZY_SCALAR ? w->rules.scalar_packed : w->rules.binary_packed;
    uint32_t slot = slot_of(w, step->inputs[k]);
    if (slot == PSC_NONE)
        return deny(w, PSC_HOW_IN_PLACE, PSC_DENIED_NO_SLOT, k, 0, 0), false;
    const struct psc_candela_slot *s = &w->slots[slot];
    bool strided = must_pack && !packed(w, step->inputs[k]), fits = s->len == step->len;
    if (strided)
        deny(w, PSC_HOW_IN_PLACE, PSC_DENIED_STRIDED, k, 0, 0);
    if (!fits)
        deny(w, PSC_HOW_IN_PLACE, PSC_DENIED_LENGTH, k, (int64_t)s->len, (int64_t)step->len);
    bool other = shared(w, step, k), dies = dies_here(w, k, s, at);
    return !strided && fits && !other && dies;
}

static bool in_place(struct work *w, struct psc_candela_step *step, int32_t at)
{
    if (!psc_lazy_op_is_binary(step->op) && !psc_lazy_op_is_scalar(step->op))
        return deny(w, PSC_HOW_IN_PLACE, PSC_DENIED_OP, 0, 0, 0), false;
    for (uint32_t k = 0; k < step->input_n; k++) {
        if (!may_overwrite(w, step, k, at))
            continue;
        uint32_t slot = slot_of(w, step->inputs[k]);
        step->how = PSC_HOW_IN_PLACE;
        step->operand = k;
        step->slot = slot;
        step->parent = w->slots[slot].id == step->inputs[k] || faulty(w, PSC_CANDELA_B17) ? PSC_NONE : w->slots[slot].id;
        w->slots[slot].id = step->id;
        w->slots[slot].end = step->end;
        return true;
    }
    return false;
}

static bool use_slot(struct work *w, struct psc_candela_step *step)
{
    uint32_t slot = w->rules.use_slot ? take(w, step->len) : PSC_NONE;
    if (slot == PSC_NONE) {
        if (w->rules.use_slot)
            deny(w, PSC_HOW_USE_SLOT, PSC_DENIED_NONE_IDLE, 0, (int64_t)step->len, 0);
        return false;
    }
    step->how = PSC_HOW_USE_SLOT;
    step->slot = slot;
    step->take = w->slots[slot].id;
    w->slots[slot].id = step->id;
    w->slots[slot].end = step->end;
    note_end(w, slot);
    return true;
}

static uint32_t add_slot(struct work *w, uint32_t id, uint64_t len, int32_t start, int32_t end, bool scratch)
{
    w->slots[w->slot_n] = (struct psc_candela_slot){id, len, 0, start, end, false, scratch};
    w->states[w->slot_n] = (struct slot_state){0};
    note_end(w, w->slot_n);
    return w->slot_n++;
}

static void allocate(struct work *w, struct psc_candela_step *step, int32_t at)
{
    step->how = PSC_HOW_ALLOCATE;
    step->slot = add_slot(w, step->id, step->len, at, step->end, false);
}

/* Shows the bytes of input 0. */
static void refer(struct work *w, struct psc_candela_step *step)
{
    uint32_t slot = slot_of(w, step->inputs[0]);
    step->operand = 0;
    step->how = PSC_HOW_REFERENCE_ETERNAL;
    if (slot == PSC_NONE)
        return;
    struct psc_candela_slot *s = &w->slots[slot];
    step->how = PSC_HOW_REFERENCE_SLOT;
    step->slot = slot;
    if (step->cell) {
        if (!faulty(w, PSC_CANDELA_B5))
            s->end = PSC_CANDELA_EVER;
        return;
    }
    if (!faulty(w, PSC_CANDELA_B15))
        s->end = later(w, s->end, step->end);
    int32_t until = w->rules.own_reference ? step->end : s->end;
    if (until != PSC_CANDELA_EVER)
        w->references[w->reference_n++] = (struct listing){step->id, (uint32_t)until};
}

static void choose(struct work *w, struct psc_candela_step *step, int32_t at)
{
    const struct psc_lazy_node *node = &w->l->nodes[step->id];
    if (node->kind == PSC_LAZY_EDGE) {
        step->how = PSC_HOW_LEAF;
        step->data = node->data;
    } else if (node->kind == PSC_LAZY_CACHE && node->cell->store) {
        step->how = PSC_HOW_CACHE_HIT;
    } else if (node->kind == PSC_LAZY_BAKED) {
        step->how = PSC_HOW_BAKED;
        uint64_t scratch = psc_skeleton_plan(node->baked)->arena_len;
        if (w->rules.packs && scratch)
            step->slot = add_slot(w, step->id, scratch, at, at, true);
    } else if (psc_lazy_op_only_layout(step->op)) {
        refer(w, step);
    } else if (step->op == PSC_LAZY_AS_CONTIGUOUS) {
        if (packed(w, step->inputs[0]))
            refer(w, step);
        else
            deny(w, PSC_HOW_REFERENCE_SLOT, PSC_DENIED_NOT_PACKED, 0, 0, 0);
        if (step->how == PSC_HOW_N && !use_slot(w, step))
            allocate(w, step, at);
    } else if (!in_place(w, step, at) && !use_slot(w, step)) {
        allocate(w, step, at);
    }
    bool keeps = step->slot != PSC_NONE && step->how != PSC_HOW_BAKED;
    if (keeps && (!step->cell || faulty(w, PSC_CANDELA_B5)))
        w->slot_of[step->id] = step->slot;
}

static bool make_step(struct work *w, uint32_t p)
{
    const struct psc_candela_item *item = &w->claims.items[p];
    const struct psc_lazy_node *node = &w->l->nodes[item->id];
    struct psc_candela_step *step = &w->steps[p];
    *step = (struct psc_candela_step){
        .id = item->id, .name = node->name, .op = node->op, .how = PSC_HOW_N, .layout = item->layout, .end = item->end,
        .inputs = item->inputs, .input_n = item->input_n, .slot = PSC_NONE, .parent = PSC_NONE, .take = PSC_NONE,
        .len = psc_layout_len(&item->layout), .shift = item->shift, .scalars = node->scalars, .scalar_n = node->scalar_n, .cell = node->cell,
        .baked = node->baked,
    };
    w->denied_n = 0;
    if (faulty(w, PSC_CANDELA_B12))
        release_due(w, p);
    choose(w, step, (int32_t)p);
    release_due(w, p);
    if (step->how == PSC_HOW_CACHE_HIT)
        step->input_n = 0;
    struct psc_denial *denied = psc_arena_alloc(w->arena, w->denied_n, sizeof *denied);
    if (!denied)
        return false;
    if (w->denied_n)
        memcpy(denied, w->denied, w->denied_n * sizeof *denied);
    step->denied = denied;
    step->denied_n = w->denied_n;
    return !w->failed;
}

/* ---- what is given back ------------------------------------------------------------------------------ */

static uint32_t when(const struct work *w, int32_t end)
{
    if (faulty(w, PSC_CANDELA_B18) && end > 0)
        return (uint32_t)end - 1;
    if (faulty(w, PSC_CANDELA_B19) && (uint32_t)end + 1 < w->n)
        return (uint32_t)end + 1;
    return (uint32_t)end;
}

/* References first, in order, then the owners of slots. */
static bool list_dealloc(struct work *w)
{
    uint32_t *at = psc_arena_alloc0(&w->scratch, w->n + (size_t)1, sizeof *at), *ids;
    if (!at)
        return false;
    for (uint32_t k = 0; k < w->reference_n; k++)
        at[when(w, (int32_t)w->references[k].next)]++;
    for (uint32_t s = 0; s < w->slot_n; s++)
        if (w->slots[s].end != PSC_CANDELA_EVER && !w->slots[s].scratch)
            at[when(w, w->slots[s].end)]++;
    uint32_t total = 0;
    for (uint32_t p = 0; p < w->n; p++) {
        uint32_t n = at[p];
        at[p] = total;
        total += n;
    }
    ids = psc_arena_alloc(w->arena, total, sizeof *ids);
    if (!ids)
        return false;
    for (uint32_t p = 0; p < w->n; p++)
        w->steps[p].dealloc = ids + at[p];
    for (uint32_t k = 0; k < w->reference_n; k++) {
        struct psc_candela_step *step = &w->steps[when(w, (int32_t)w->references[k].next)];
        ids[at[step - w->steps] + step->dealloc_n++] = w->references[k].id;
    }
    for (uint32_t s = 0; s < w->slot_n; s++)
        if (w->slots[s].end != PSC_CANDELA_EVER && !w->slots[s].scratch) {
            struct psc_candela_step *step = &w->steps[when(w, w->slots[s].end)];
            ids[at[step - w->steps] + step->dealloc_n++] = w->slots[s].id;
        }
    return true;
}

static enum psc_status pack(struct work *w, struct psc_candela_plan *plan, struct psc_error *reterr)
{
    plan->align = w->options->align ? w->options->align : psc_pack_align(sizeof(float));
    if (!w->rules.packs)
        return PSC_OK;
    enum psc_status status = psc_pack(w->slots, w->slot_n, faulty(w, PSC_CANDELA_B21) ? 1 : plan->align,
                                      faulty(w, PSC_CANDELA_B20), &plan->arena_len, reterr);
    for (uint32_t s = 0; !status && s < w->slot_n; s++) {
        struct psc_candela_step *step = &w->steps[w->slots[s].start];
        if (!w->slots[s].packed)
            continue;
        step->offset = w->slots[s].offset;
        if (step->how == PSC_HOW_ALLOCATE)
            step->how = PSC_HOW_REGION;
    }
    return status;
}

/* ---- all of it ----------------------------------------------------------------------------------------- */

static enum psc_status make_room(struct work *w, struct psc_error *reterr)
{
    w->n = w->claims.n;
    w->steps = psc_arena_alloc(w->arena, w->n, sizeof *w->steps);
    w->slots = psc_arena_alloc(w->arena, w->n, sizeof *w->slots);
    w->states = psc_arena_alloc(&w->scratch, w->n, sizeof *w->states);
    w->references = psc_arena_alloc(&w->scratch, w->n, sizeof *w->references);
    w->due = psc_arena_alloc(&w->scratch, w->n + (size_t)1, sizeof *w->due);
    w->slot_of = psc_arena_alloc(&w->scratch, w->l->n, sizeof *w->slot_of);
    if (!w->steps || !w->slots || !w->states || !w->references || !w->due || !w->slot_of)
        return psc_fail_nomem(reterr);
    memset(w->due, 0xff, (w->n + (size_t)1) * sizeof *w->due);
    memset(w->slot_of, 0xff, w->l->n * sizeof *w->slot_of);
    return PSC_OK;
}

static bool name_all(const struct work *w, struct psc_candela_plan *plan)
{
    const char **names = psc_arena_alloc(w->arena, w->l->n, sizeof *names);
    struct psc_strides *layouts = psc_arena_alloc(w->arena, plan->external_n, sizeof *layouts);
    for (size_t i = 0; names && i < w->l->n; i++)
        names[i] = w->l->nodes[i].name;
    for (uint32_t k = 0; layouts && k < plan->external_n; k++)
        layouts[k] = w->l->nodes[plan->externals[k]].layout;
    plan->names = names;
    plan->external_layouts = layouts;
    return names && layouts;
}

static enum psc_status assign(struct work *w, struct psc_candela_plan **ret, struct psc_error *reterr)
{
    struct psc_candela_plan *plan = psc_arena_alloc0(w->arena, 1, sizeof *plan);
    if (!plan)
        return psc_fail_nomem(reterr);
    for (uint32_t p = 0; p < w->n; p++)
        if (!make_step(w, p))
            return psc_fail_nomem(reterr);
    if (!list_dealloc(w))
        return psc_fail_nomem(reterr);
    enum psc_status status = pack(w, plan, reterr);
    if (status)
        return status;
    plan->options = *w->options;
    plan->steps = w->steps;
    plan->n = w->n;
    plan->slots = w->slots;
    plan->slot_n = w->slot_n;
    plan->root = w->claims.root;
    plan->aliases = w->claims.events;
    plan->alias_n = w->claims.event_n;
    plan->hop_n = w->claims.map.hop_n;
    plan->externals = w->claims.externals;
    plan->external_n = w->claims.external_n;
    plan->id_n = (uint32_t)w->l->n;
    if (!name_all(w, plan))
        return psc_fail_nomem(reterr);
    status = psc_candela_deps(w->arena, w->steps, plan, reterr);
    if (!status)
        *ret = plan;
    return status;
}

enum psc_status psc_candela_plan(struct psc_arena *arena, const struct psc_lazy *l, uint32_t root,
                                 const struct psc_candela_options *options, struct psc_candela_plan **ret,
                                 struct psc_error *reterr)
{
    struct work w = {.arena = arena, .l = l, .options = options};
    enum psc_status status = psc_lazy_status(l, reterr);
    if (status)
        return status;
    if (root >= l->n)
        return psc_fail(reterr, PSC_ERR_GRAPH, "the root names node %u: there are %zu", root, l->n);
    w.rules = psc_candela_rules(options);
    status = psc_candela_claim(arena, l, root, options, &w.claims, reterr);
    if (!status)
        status = make_room(&w, reterr);
    if (!status)
        status = assign(&w, ret, reterr);
    for (size_t i = 0; i < w.idle_n; i++)
        psc_free(w.idle[i].items);
    psc_free(w.idle);
    psc_map_release(&w.lengths);
    psc_arena_release(&w.scratch);
    return status;
}
