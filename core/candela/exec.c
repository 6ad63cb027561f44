#include "core/candela/exec.h"

#include "core/base/mem.h"
#include "core/candela/kernels.h"
#include "core/candela/skeleton.h"

#include <string.h>

struct due { /* an id that goes after a turn of the given order */
    uint32_t id, next;
};
struct executing {
    const struct psc_candela_plan *plan;
    const struct psc_candela_run *how;
    struct psc_handle *live; /* [id_n] */
    struct psc_handle *inputs; /* of the present step; borrowed from live */
    struct psc_store *arena;
    uint32_t *due_at;  /* [n]: of each turn, an index into dues, PSC_NONE; with an order only */
    struct due *dues;
    struct psc_candela_failure *failure;
    struct psc_error *reterr;
    uint32_t turn, at; /* at: position of the step whose turn it is */
};

static enum psc_status mishap(struct executing *x, enum psc_mishap what, uint32_t id, const char *sentence)
{
    const struct psc_candela_step *step = x->at < x->plan->n ? &x->plan->steps[x->at] : NULL;
    const char *other = id < x->plan->id_n ? x->plan->names[id] : "another tensor";
    *x->failure = (struct psc_candela_failure){what, x->at, id};
    return psc_fail(x->reterr, PSC_ERR_RUN, "step %u, %s: %s: %s (node %u)", x->at, step ? step->name : "the end", sentence,
                    other, id);
}

static void drop(struct executing *x, uint32_t id)
{
    psc_store_unref(x->live[id].store);
    x->live[id].store = NULL;
}

/* The store is given to the entry. */
static void put(struct executing *x, uint32_t id, struct psc_store *store, const struct psc_strides *layout)
{
    drop(x, id);
    x->live[id] = (struct psc_handle){store, *layout};
}

static enum psc_status fresh(struct executing *x, const struct psc_candela_step *step, struct psc_store *store)
{
    if (!store)
        return psc_fail_nomem(x->reterr);
    bool fine = psc_kernel_fresh(step, x->inputs, store->at, store->len, x->plan->options.faults);
    put(x, step->id, store, &step->layout);
    return fine ? PSC_OK : mishap(x, PSC_MISHAP_BOUNDS, step->id, "its kernel leaves the bytes it was given");
}

/* The bytes of another id; nobody else may hold them. */
static enum psc_status use_slot(struct executing *x, const struct psc_candela_step *step)
{
    struct psc_store *store = x->live[step->take].store;
    if (!store)
        return mishap(x, PSC_MISHAP_MISSING, step->take, "it takes a buffer that is gone");
    x->live[step->take].store = NULL;
    if (store->refs != 1) {
        psc_store_unref(store);
        return mishap(x, PSC_MISHAP_SHARED, step->take, "it takes a buffer that somebody still holds");
    }
    return fresh(x, step, store);
}

static enum psc_status in_place(struct executing *x, const struct psc_candela_step *step)
{
    struct psc_handle target = x->live[step->inputs[step->operand]];
    x->live[step->inputs[step->operand]].store = NULL;
    if (step->parent != PSC_NONE)
        drop(x, step->parent);
    enum psc_status status = PSC_OK;
    if (target.store->refs != 1)
        status = mishap(x, PSC_MISHAP_SHARED, step->inputs[step->operand], "it writes over bytes that somebody still holds");
    for (uint32_t k = 0; !status && k < step->input_n; k++)
        if (k != step->operand && !x->live[step->inputs[k]].store)
            status = mishap(x, PSC_MISHAP_SHARED, step->inputs[k], "both operands are the bytes it writes over");
    if (!status && !psc_kernel_in_place(step, x->inputs, step->operand, x->plan->options.faults))
        status = mishap(x, PSC_MISHAP_BOUNDS, step->id, "its kernel leaves the bytes it was given");
    struct psc_strides layout = step->layout;
    layout.offset = target.layout.offset;
    put(x, step->id, target.store, &layout);
    return status;
}

static enum psc_status reference(struct executing *x, const struct psc_candela_step *step)
{
    const struct psc_handle *from = &x->inputs[step->operand];
    struct psc_strides layout = step->layout;
    layout.offset = from->layout.offset + step->shift;
    put(x, step->id, psc_handle_share(from).store, &layout);
    return PSC_OK;
}

/* What a plan inside gives is its own, as the plan outside counts on: a result that only shows an input, or what a cache keeps, is copied,
 * laid out as it is. */
static bool make_own(struct psc_handle *result)
{
    struct psc_store *from = result->store, *own;
    if (from->refs == 1)
        return true;
    if (!(own = psc_store_new(from->len, NULL)))
        return false;
    if (from->len)
        memcpy(own->at, from->at, (size_t)from->len * sizeof *own->at);
    psc_store_unref(from);
    result->store = own;
    return true;
}

static enum psc_status baked(struct executing *x, const struct psc_candela_step *step)
{
    struct psc_handle result;
    if (x->how->depth >= PSC_BAKED_MAX)
        return psc_fail(x->reterr, PSC_ERR_TOO_BIG, "plans stand inside plans more than %u deep", PSC_BAKED_MAX);
    enum psc_status status =
        psc_skeleton_run(step->baked, x->inputs, step->input_n, x->how->depth + 1, &result, x->reterr);
    if (status == PSC_ERR_RUN)
        *x->failure = (struct psc_candela_failure){PSC_MISHAP_INSIDE, x->at, step->id};
    if (!status && !make_own(&result)) {
        psc_store_unref(result.store);
        status = psc_fail_nomem(x->reterr);
    }
    if (!status)
        put(x, step->id, result.store, &result.layout);
    return status;
}

static enum psc_status carry_out(struct executing *x, const struct psc_candela_step *step)
{
    switch (step->how) {
    case PSC_HOW_LEAF: {
        struct psc_store *store = psc_store_borrow(step->data, step->len);
        if (!store)
            return psc_fail_nomem(x->reterr);
        put(x, step->id, store, &step->layout);
        return PSC_OK;
    }
    case PSC_HOW_CACHE_HIT:
        put(x, step->id, psc_handle_share(step->cell).store, &step->cell->layout);
        return PSC_OK;
    case PSC_HOW_ALLOCATE: return fresh(x, step, psc_store_new(step->len, x->how->heap));
    case PSC_HOW_REGION: return fresh(x, step, psc_store_part(x->arena, step->offset, step->len));
    case PSC_HOW_USE_SLOT: return use_slot(x, step);
    case PSC_HOW_IN_PLACE: return in_place(x, step);
    case PSC_HOW_BAKED: return baked(x, step);
    default: return reference(x, step);
    }
}

static enum psc_status gather(struct executing *x, const struct psc_candela_step *step)
{
    for (uint32_t k = 0; k < step->input_n; k++) {
        x->inputs[k] = x->live[step->inputs[k]];
        if (!x->inputs[k].store)
            return mishap(x, PSC_MISHAP_MISSING, step->inputs[k], "it reads a tensor that has no buffer");
    }
    return PSC_OK;
}

static enum psc_status run_step(struct executing *x)
{
    const struct psc_candela_step *step = &x->plan->steps[x->at];
    const struct psc_candela_watch *watch = x->how->watch;
    enum psc_status status = gather(x, step);
    if (status)
        return status;
    if (watch && watch->before)
        watch->before(watch->ctx, step, x->inputs);
    status = carry_out(x, step);
    if (status)
        return status;
    if (step->cell && !step->cell->store && !x->how->dry) {
        *step->cell = psc_handle_share(&x->live[step->id]);
    }
    if (watch && watch->after)
        watch->after(watch->ctx, step, x->inputs, &x->live[step->id]);
    if (x->dues)
        for (uint32_t d = x->due_at[x->turn]; d != PSC_NONE; d = x->dues[d].next)
            drop(x, x->dues[d].id);
    for (uint32_t k = 0; !x->dues && k < step->dealloc_n; k++)
        drop(x, step->dealloc[k]);
    return PSC_OK;
}

static uint32_t later(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* When what the dealloc lists name goes in the given order. */
static bool make_dues(struct executing *x)
{
    const struct psc_candela_plan *plan = x->plan;
    uint32_t *turn_of = psc_alloc((plan->n + (size_t)1) * sizeof *turn_of), n = 0;
    uint32_t *read = psc_alloc0(plan->id_n + (size_t)1, sizeof *read); /* of each id: the last turn in which it was read */
    for (uint32_t p = 0; p < plan->n; p++)
        n += plan->steps[p].dealloc_n;
    x->due_at = psc_alloc((plan->n + (size_t)1) * sizeof *x->due_at);
    x->dues = psc_alloc((n + (size_t)1) * sizeof *x->dues);
    bool fine = turn_of && read && x->due_at && x->dues;
    for (uint32_t t = 0; fine && t < plan->n; t++) {
        turn_of[x->how->order[t]] = t;
        x->due_at[t] = PSC_NONE;
    }
    for (uint32_t p = 0, d = 0; fine && p < plan->n; p++) {
        const struct psc_candela_step *step = &plan->steps[p];
        for (uint32_t k = 0; k < step->input_n; k++)
            read[step->inputs[k]] = later(read[step->inputs[k]], turn_of[p]);
        for (uint32_t k = 0; k < step->dealloc_n; k++, d++) {
            uint32_t turn = later(read[step->dealloc[k]], turn_of[p]);
            x->dues[d] = (struct due){step->dealloc[k], x->due_at[turn]};
            x->due_at[turn] = d;
        }
    }
    psc_free(turn_of);
    psc_free(read);
    return fine;
}

static enum psc_status prepare(struct executing *x)
{
    const struct psc_candela_plan *plan = x->plan;
    uint32_t most = 0;
    for (uint32_t p = 0; p < plan->n; p++)
        most = plan->steps[p].input_n > most ? plan->steps[p].input_n : most;
    x->live = psc_alloc0(plan->id_n, sizeof *x->live);
    x->inputs = psc_alloc((most + (size_t)1) * sizeof *x->inputs);
    if (plan->arena_len)
        x->arena = psc_store_new(plan->arena_len, x->how->heap);
    if (!x->live || !x->inputs || (plan->arena_len && !x->arena) || (x->how->order && !make_dues(x)))
        return psc_fail_nomem(x->reterr);
    if (x->how->external_n != plan->external_n)
        return psc_fail(x->reterr, PSC_ERR_USAGE, "the plan asks for %u inputs, %u were given", plan->external_n,
                        x->how->external_n);
    for (uint32_t k = 0; k < plan->external_n; k++)
        put(x, plan->externals[k], psc_handle_share(&x->how->externals[k]).store, &x->how->externals[k].layout);
    return PSC_OK;
}

enum psc_status psc_candela_execute(const struct psc_candela_plan *plan, const struct psc_candela_run *how,
                                    struct psc_handle *ret, struct psc_candela_failure *failure, struct psc_error *reterr)
{
    struct psc_candela_failure none;
    struct executing x = {.plan = plan, .how = how, .failure = failure ? failure : &none, .reterr = reterr};
    *x.failure = (struct psc_candela_failure){.id = PSC_NONE};
    enum psc_status status = prepare(&x);
    for (; !status && x.turn < plan->n; x.turn++) {
        x.at = how->order ? how->order[x.turn] : x.turn;
        status = run_step(&x);
    }
    if (!status)
        x.at = plan->n;
    if (!status && !x.live[plan->root].store)
        status = mishap(&x, PSC_MISHAP_ROOT, plan->root, "the result has no buffer");
    if (!status) {
        *ret = x.live[plan->root];
        x.live[plan->root].store = NULL;
    }
    for (uint32_t id = 0; x.live && id < plan->id_n; id++)
        psc_store_unref(x.live[id].store);
    psc_store_unref(x.arena);
    psc_free(x.live);
    psc_free(x.inputs);
    psc_free(x.due_at);
    psc_free(x.dues);
    return status;
}
