#include "core/candela/skeleton.h"

#include "core/base/mem.h"
#include "core/candela/planner.h"

#include <stdlib.h>

#define HANDLES_A_STEP 32u /* made ready and looked through at the end in the time of one step */

struct psc_skeleton {
    struct psc_arena arena;
    const struct psc_lazy *l;
    struct psc_candela_plan *plan;
    struct psc_strides result;
    uint32_t root;
    uint32_t depth;  /* 1: nothing is baked into it */
    uint64_t steps;  /* of one run, those inside and its table of handles counted; at most PSC_BAKED_STEPS_MAX + 1 */
};

enum psc_status psc_skeleton_new(const struct psc_lazy *l, uint32_t root, const struct psc_candela_options *options,
                                 struct psc_skeleton **ret, struct psc_error *reterr)
{
    struct psc_skeleton *s = psc_alloc0(1, sizeof *s);
    if (!s)
        return psc_fail_nomem(reterr);
    s->l = l;
    s->root = root;
    enum psc_status status = psc_candela_plan(&s->arena, l, root, options, &s->plan, reterr);
    if (status) {
        psc_skeleton_free(s);
        return status;
    }
    s->depth = 1;
    s->steps = s->plan->id_n / HANDLES_A_STEP;
    for (uint32_t p = 0; p < s->plan->n; p++) {
        const struct psc_skeleton *inner = s->plan->steps[p].baked;
        s->steps += inner ? inner->steps : 1;
        s->steps = s->steps > PSC_BAKED_STEPS_MAX ? PSC_BAKED_STEPS_MAX + 1 : s->steps;
        s->depth = inner && inner->depth >= s->depth ? inner->depth + 1 : s->depth;
    }
    s->result = l->nodes[s->plan->root].layout;
    for (uint32_t p = 0; p < s->plan->n; p++)
        if (s->plan->steps[p].id == s->plan->root)
            s->result = s->plan->steps[p].layout;
    *ret = s;
    return PSC_OK;
}

void psc_skeleton_free(struct psc_skeleton *s)
{
    if (!s)
        return;
    psc_arena_release(&s->arena);
    psc_free(s);
}

const struct psc_candela_plan *psc_skeleton_plan(const struct psc_skeleton *s)
{
    return s->plan;
}

const struct psc_lazy *psc_skeleton_source(const struct psc_skeleton *s, uint32_t *ret_root)
{
    *ret_root = s->root;
    return s->l;
}

const struct psc_strides *psc_skeleton_result(const struct psc_skeleton *s)
{
    return &s->result;
}

/* Where in its buffer it begins is the handle's own affair: as_contiguous leaves a slice that is packed where it is. */
static bool is_for(const struct psc_strides *slot, const struct psc_strides *given)
{
    struct psc_strides from_start = *given;
    from_start.offset = slot->offset;
    return psc_layout_equal(slot, &from_start);
}

enum psc_status psc_skeleton_run(const struct psc_skeleton *s, const struct psc_handle *inputs, uint32_t n, uint32_t depth,
                                 struct psc_handle *ret, struct psc_error *reterr)
{
    const struct psc_candela_plan *plan = s->plan;
    struct psc_candela_run how = {.externals = inputs, .external_n = n, .dry = true, .depth = depth};
    bool looks = !(plan->options.faults & PSC_CANDELA_BIT(PSC_CANDELA_B22));
    char want[96], got[96];
    if (n != plan->external_n)
        return psc_fail(reterr, PSC_ERR_USAGE, "the skeleton has %u slots, %u inputs were given", plan->external_n, n);
    for (uint32_t k = 0; looks && k < n; k++) {
        const struct psc_lazy_node *slot = &s->l->nodes[plan->externals[k]];
        if (!is_for(&slot->layout, &inputs[k].layout))
            return psc_fail(reterr, PSC_ERR_USAGE, "input %u: slot %s is %s, what was given is %s or lies otherwise", k,
                            slot->name, psc_layout_text(&slot->layout, want, sizeof want),
                            psc_layout_text(&inputs[k].layout, got, sizeof got));
    }
    return psc_candela_execute(plan, &how, ret, NULL, reterr);
}

struct external { uint32_t id; struct psc_strides layout; };

static int by_id(const void *x, const void *y)
{
    const struct external *a = x, *b = y;
    return a->id < b->id ? -1 : a->id > b->id;
}

/* A plan binds its slots as it reached them; people, as they were written. */
static bool order_slots(struct psc_skeleton *s)
{
    uint32_t n = s->plan->external_n;
    struct external *list = psc_alloc((n + (size_t)1) * sizeof *list);
    uint32_t *ids = psc_arena_alloc(&s->arena, n, sizeof *ids);
    struct psc_strides *layouts = psc_arena_alloc(&s->arena, n, sizeof *layouts);
    bool fine = list && ids && layouts;
    for (uint32_t k = 0; fine && k < n; k++)
        list[k] = (struct external){s->plan->externals[k], s->plan->external_layouts[k]};
    if (fine)
        qsort(list, n, sizeof *list, by_id);
    for (uint32_t k = 0; fine && k < n; k++) {
        ids[k] = list[k].id;
        layouts[k] = list[k].layout;
    }
    psc_free(list);
    s->plan->externals = ids;
    s->plan->external_layouts = layouts;
    return fine;
}

static enum psc_status fits(const struct psc_lazy *l, const struct psc_candela_plan *plan, const uint32_t *given, uint32_t n,
                            struct psc_error *reterr)
{
    char want[96], got[96];
    if (plan->external_n != n)
        return psc_fail(reterr, PSC_ERR_GRAPH, "baked: the expression has %u slot%s, %u tensor%s given", plan->external_n,
                        plan->external_n == 1 ? "" : "s", n, n == 1 ? " is" : "s are");
    for (uint32_t k = 0; k < n; k++) {
        const struct psc_lazy_node *slot = &l->nodes[plan->externals[k]], *from = &l->nodes[given[k]];
        if (!psc_layout_equal(&slot->layout, &from->layout))
            return psc_fail(reterr, PSC_ERR_GRAPH, "baked: %.60s is for slot %.60s, [%s]: it is [%s]%s", from->name, slot->name,
                            psc_layout_text(&slot->layout, want, sizeof want), psc_layout_text(&from->layout, got, sizeof got),
                            psc_layout_same_shape(&slot->layout, &from->layout) ? " and lies otherwise; as_contiguous packs it" : "");
    }
    return PSC_OK;
}

enum psc_status psc_lazy_bake(struct psc_lazy *l, const char *name, uint32_t body, const struct psc_candela_options *options,
                              const uint32_t *given, uint32_t n, uint32_t *ret, struct psc_error *reterr)
{
    struct psc_skeleton *s;
    enum psc_status status = psc_skeleton_new(l, body, options, &s, reterr);
    if (status)
        return status;
    if (!order_slots(s) || !psc_lazy_own(l, s)) {
        psc_skeleton_free(s);
        return psc_fail_nomem(reterr);
    }
    if (s->depth > PSC_BAKED_MAX)
        return psc_fail(reterr, PSC_ERR_TOO_BIG, "baked: plans stand inside plans more than %u deep", PSC_BAKED_MAX);
    if (s->steps > PSC_BAKED_STEPS_MAX)
        return psc_fail(reterr, PSC_ERR_TOO_BIG, "baked: one run takes more than %u steps, those of plans inside and all that stands before them "
                        "counted", PSC_BAKED_STEPS_MAX);
    status = fits(l, s->plan, given, n, reterr);
    if (status)
        return status;
    *ret = psc_lazy_baked(l, name, s, &s->result, given, n);
    return psc_lazy_status(l, reterr);
}

void psc_candela_stand_ins_free(struct psc_handle *handles, uint32_t n)
{
    for (uint32_t k = 0; handles && k < n; k++)
        psc_store_unref(handles[k].store);
    psc_free(handles);
}

enum psc_status psc_candela_stand_ins(const struct psc_lazy *l, const struct psc_candela_plan *plan, struct psc_handle **ret,
                                      struct psc_error *reterr)
{
    struct psc_handle *handles = psc_alloc0(plan->external_n + (size_t)1, sizeof *handles);
    enum psc_status status = handles ? PSC_OK : psc_fail_nomem(reterr);
    for (uint32_t k = 0; !status && k < plan->external_n; k++) {
        const struct psc_lazy_node *slot = &l->nodes[plan->externals[k]];
        if (!slot->data)
            status = psc_fail(reterr, PSC_ERR_USAGE, "nothing stands in for slot %s", slot->name);
        else if (!(handles[k].store = psc_store_borrow(slot->data, psc_layout_len(&slot->layout))))
            status = psc_fail_nomem(reterr);
        handles[k].layout = slot->layout;
    }
    if (status)
        psc_candela_stand_ins_free(handles, plan->external_n);
    else
        *ret = handles;
    return status;
}
