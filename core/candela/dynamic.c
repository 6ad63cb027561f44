#include "core/candela/dynamic.h"

#include "core/base/hash.h"
#include "core/base/mem.h"

#include <string.h>

struct entry {
    uint64_t hash;
    uint32_t input_n;
    struct psc_strides *layouts;     /* heap */
    uint32_t *input_of;             /* heap: for each external of the plan, which input */
    struct psc_lazy lazy;
    struct psc_skeleton *skeleton;
    uint32_t newer, older, chain;   /* PSC_NONE: none */
};
struct psc_dynamic {
    psc_dynamic_write write;
    void *ctx;
    struct psc_candela_options options;
    struct entry **entries;         /* heap, each on its own: skeletons borrow their lazy */
    size_t entry_n, entry_cap;
    uint32_t capacity, newest, oldest;
    uint32_t *heads;                /* heap, head_n of them */
    uint32_t head_n;                /* a power of two, 0 at first */
    struct psc_dynamic_figures figures;
};

struct psc_dynamic *psc_dynamic_new(psc_dynamic_write write, void *ctx, const struct psc_candela_options *options,
                                    uint32_t capacity)
{
    struct psc_dynamic *d = psc_alloc0(1, sizeof *d);
    if (d)
        *d = (struct psc_dynamic){.write = write, .ctx = ctx, .options = *options, .capacity = capacity, .newest = PSC_NONE,
                                  .oldest = PSC_NONE};
    return d;
}

static void free_entry(struct entry *e)
{
    if (!e)
        return;
    psc_skeleton_free(e->skeleton);
    psc_lazy_release(&e->lazy);
    psc_free(e->layouts);
    psc_free(e->input_of);
    psc_free(e);
}

void psc_dynamic_free(struct psc_dynamic *d)
{
    if (!d)
        return;
    for (size_t i = 0; i < d->entry_n; i++)
        free_entry(d->entries[i]);
    psc_free(d->entries);
    psc_free(d->heads);
    psc_free(d);
}

struct psc_dynamic_figures psc_dynamic_figures(const struct psc_dynamic *d)
{
    return d->figures;
}

/* ---- by layouts --------------------------------------------------------------------------------------------- */

/* Only what counts: dimensions beyond the rank are whatever they are. */
static uint64_t hash_of(const struct psc_handle *inputs, uint32_t n)
{
    uint64_t hash = n;
    for (uint32_t k = 0; k < n; k++) {
        const struct psc_strides *l = &inputs[k].layout;
        hash = psc_hash_bytes(&l->rank, sizeof l->rank, hash);
        hash = psc_hash_bytes(l->shape, l->rank * sizeof *l->shape, hash);
        hash = psc_hash_bytes(l->strides, l->rank * sizeof *l->strides, hash);
        hash = psc_hash_bytes(&l->offset, sizeof l->offset, hash);
    }
    return hash;
}

static bool fits(const struct entry *e, uint64_t hash, const struct psc_handle *inputs, uint32_t n)
{
    bool same = e->hash == hash && e->input_n == n;
    for (uint32_t k = 0; same && k < n; k++)
        same = psc_layout_equal(&e->layouts[k], &inputs[k].layout);
    return same;
}

static uint32_t find(const struct psc_dynamic *d, uint64_t hash, const struct psc_handle *inputs, uint32_t n)
{
    uint32_t at = d->head_n ? d->heads[hash & (d->head_n - 1)] : PSC_NONE;
    while (at != PSC_NONE && !fits(d->entries[at], hash, inputs, n))
        at = d->entries[at]->chain;
    return at;
}

static void chain_in(struct psc_dynamic *d, uint32_t at)
{
    uint32_t *head = &d->heads[d->entries[at]->hash & (d->head_n - 1)];
    d->entries[at]->chain = *head;
    *head = at;
}

static void chain_out(struct psc_dynamic *d, uint32_t at)
{
    uint32_t *link = &d->heads[d->entries[at]->hash & (d->head_n - 1)];
    while (*link != at)
        link = &d->entries[*link]->chain;
    *link = d->entries[at]->chain;
}

static bool make_heads(struct psc_dynamic *d)
{
    if (d->entry_n < d->head_n)
        return true;
    uint32_t n = d->head_n ? 2 * d->head_n : 8, *heads = psc_alloc(n * sizeof *heads);
    if (!heads)
        return false;
    memset(heads, 0xff, n * sizeof *heads);
    psc_free(d->heads);
    d->heads = heads;
    d->head_n = n;
    for (uint32_t i = 0; i < d->entry_n; i++)
        chain_in(d, i);
    return true;
}

/* ---- by use -------------------------------------------------------------------------------------------------- */

static void use_out(struct psc_dynamic *d, uint32_t at)
{
    struct entry *e = d->entries[at];
    *(e->newer == PSC_NONE ? &d->newest : &d->entries[e->newer]->older) = e->older;
    *(e->older == PSC_NONE ? &d->oldest : &d->entries[e->older]->newer) = e->newer;
}

static void use_in(struct psc_dynamic *d, uint32_t at)
{
    d->entries[at]->newer = PSC_NONE;
    d->entries[at]->older = d->newest;
    *(d->newest == PSC_NONE ? &d->oldest : &d->entries[d->newest]->newer) = at;
    d->newest = at;
}

/* ---- a new plan ------------------------------------------------------------------------------------------------ */

/* Slots in order of ids are the inputs in their order; the plan asks for those that the root needs, as it reached them. */
static enum psc_status bind(struct entry *e, struct psc_error *reterr)
{
    const struct psc_candela_plan *plan = psc_skeleton_plan(e->skeleton);
    e->input_of = psc_alloc((plan->external_n + (size_t)1) * sizeof *e->input_of);
    if (!e->input_of)
        return psc_fail_nomem(reterr);
    for (uint32_t k = 0; k < plan->external_n; k++) {
        uint32_t before = 0;
        for (uint32_t id = 0; id < plan->externals[k]; id++)
            before += e->lazy.nodes[id].kind == PSC_LAZY_SLOT;
        if (before >= e->input_n)
            return psc_fail(reterr, PSC_ERR_USAGE, "the expression has slot %s, the %u inputs end before it",
                            e->lazy.nodes[plan->externals[k]].name, e->input_n);
        e->input_of[k] = before;
    }
    return PSC_OK;
}

static enum psc_status make(struct psc_dynamic *d, uint64_t hash, const struct psc_handle *inputs, uint32_t n,
                            struct entry **ret, struct psc_error *reterr)
{
    struct entry *e = psc_alloc0(1, sizeof *e);
    uint32_t root = 0;
    if (!e)
        return psc_fail_nomem(reterr);
    e->hash = hash;
    e->input_n = n;
    e->layouts = psc_alloc((n + (size_t)1) * sizeof *e->layouts);
    psc_lazy_init(&e->lazy);
    enum psc_status status = e->layouts ? PSC_OK : psc_fail_nomem(reterr);
    for (uint32_t k = 0; !status && k < n; k++)
        e->layouts[k] = inputs[k].layout;
    if (!status)
        status = d->write(d->ctx, &e->lazy, e->layouts, n, &root, reterr);
    if (!status)
        status = psc_lazy_status(&e->lazy, reterr);
    if (!status)
        status = psc_skeleton_new(&e->lazy, root, &d->options, &e->skeleton, reterr);
    if (!status)
        status = bind(e, reterr);
    if (status)
        free_entry(e);
    else
        *ret = e;
    return status;
}

/* Into the place of the one that was used longest ago, or a new one. */
static enum psc_status keep(struct psc_dynamic *d, struct entry *e, uint32_t *ret_at, struct psc_error *reterr)
{
    bool full = d->capacity && d->entry_n >= d->capacity;
    uint32_t at = full ? d->oldest : (uint32_t)d->entry_n;
    if (!full && (!make_heads(d) || !psc_grow(&d->entries, d->entry_n + 1, &d->entry_cap, sizeof *d->entries)))
        return psc_fail_nomem(reterr);
    if (full) {
        use_out(d, at);
        chain_out(d, at);
        free_entry(d->entries[at]);
        d->figures.evicted++;
    } else {
        d->entry_n++;
    }
    d->entries[at] = e;
    chain_in(d, at);
    use_in(d, at);
    d->figures.planned++;
    d->figures.kept = (uint32_t)d->entry_n;
    *ret_at = at;
    return PSC_OK;
}

enum psc_status psc_dynamic_run(struct psc_dynamic *d, const struct psc_handle *inputs, uint32_t n, struct psc_handle *ret,
                                struct psc_error *reterr)
{
    struct psc_handle bound[PSC_DYNAMIC_INPUTS_MAX];
    struct entry *e = NULL;
    if (n > PSC_DYNAMIC_INPUTS_MAX)
        return psc_fail(reterr, PSC_ERR_USAGE, "%u inputs were given, at most %u fit", n, PSC_DYNAMIC_INPUTS_MAX);
    uint64_t hash = hash_of(inputs, n);
    uint32_t at = find(d, hash, inputs, n);
    enum psc_status status = PSC_OK;
    if (at != PSC_NONE) {
        use_out(d, at);
        use_in(d, at);
    } else {
        status = make(d, hash, inputs, n, &e, reterr);
        if (!status && (status = keep(d, e, &at, reterr)))
            free_entry(e);
    }
    if (status)
        return status;
    const struct psc_candela_plan *plan = psc_skeleton_plan(d->entries[at]->skeleton);
    for (uint32_t k = 0; k < plan->external_n; k++)
        bound[k] = inputs[d->entries[at]->input_of[k]];
    d->figures.runs++;
    return psc_skeleton_run(d->entries[at]->skeleton, bound, plan->external_n, 0, ret, reterr);
}
