#include "core/candela/verify.h"

#include "core/base/mem.h"
#include "core/candela/levels.h"
#include "core/candela/skeleton.h"

#include <string.h>

struct verifying {
    const struct psc_lazy *l;
    const struct psc_candela_plan *plan;
    float *const *values;             /* [id]: as computed one by one */
    struct psc_candela_wrong *wrong;  /* the first that was found */
    struct psc_handle *inputs;        /* heap: what stands in for the plan's slots */
    bool found;
    struct psc_candela_sample *samples; /* [plan->n], or NULL */
    const uint32_t *order;            /* in which it is carried out, or NULL */
    /* the second walk: whose bytes change, and when */
    uint32_t watched, changed;
    bool reached;                     /* the step that reads them changed */
    struct psc_handle handle;
};

static bool same(float a, float b)
{
    return a == b || (a != a && b != b);
}

/* The first element, in row-major order, that is not as it should be; the length when all are. */
static uint64_t first_other(const struct psc_handle *h, const float *right)
{
    uint64_t n = psc_layout_len(&h->layout), i = 0;
    while (i < n && same(h->store->at[psc_layout_at(&h->layout, i)], right[i]))
        i++;
    return i;
}

static bool is_right(const struct psc_handle *h, const float *right)
{
    return first_other(h, right) == psc_layout_len(&h->layout);
}

/* ---- what was done instead --------------------------------------------------------------------------------- */

static float apply(char op, float x, float y)
{
    return op == '+' ? x + y : op == '-' ? x - y : op == '*' ? x * y : x / y;
}

static float chain(const struct psc_candela_step *step, float x, uint32_t turned, char instead)
{
    for (uint32_t k = 0; k < step->scalar_n; k++)
        x = apply(k == turned ? instead : step->scalars[k].op, x, step->scalars[k].value);
    return x;
}

/* Gives the value of element i under an assumption about what the step does; ctx says which. */
struct guess {
    const struct verifying *v;
    const struct psc_candela_step *step;
    const struct psc_handle *inputs;
    char sign;
    uint32_t turned, from_start; /* from_start: operand that is read from the start of its bytes */
    bool exchanged;
};

static float operand(const struct guess *g, uint32_t k, uint64_t i)
{
    return k == g->from_start ? g->inputs[k].store->at[i] : g->v->values[g->step->inputs[k]][i];
}

static float element(const struct guess *g, uint64_t i)
{
    if (psc_lazy_op_is_scalar(g->step->op))
        return chain(g->step, operand(g, 0, i), g->turned, g->sign);
    if (!psc_lazy_op_is_binary(g->step->op))
        return operand(g, 0, i);
    float x = operand(g, 0, i), y = operand(g, 1, i);
    return g->exchanged ? apply(g->sign, y, x) : apply(g->sign, x, y);
}

static bool explains(const struct guess *g, const struct psc_handle *result)
{
    uint64_t n = psc_layout_len(&result->layout), i = 0;
    while (i < n && same(element(g, i), result->store->at[psc_layout_at(&result->layout, i)]))
        i++;
    return i == n;
}

static const char signs[] = "+-*/";

static bool guess_sign(struct guess *g, const struct psc_handle *result, struct psc_candela_wrong *wrong)
{
    bool binary = psc_lazy_op_is_binary(g->step->op);
    char right = binary ? signs[g->step->op - PSC_LAZY_ADD] : '\0';
    for (uint32_t k = 0; k < (binary ? 1 : g->step->scalar_n) && k < 16; k++)
        for (const char *s = signs; *s; s++) {
            g->turned = binary ? PSC_NONE : k;
            g->sign = *s;
            if (!explains(g, result))
                continue;
            wrong->why = PSC_WHY_OTHER_OP;
            wrong->a = *s;
            wrong->b = binary ? right : g->step->scalars[k].op;
            return true;
        }
    g->turned = PSC_NONE;
    g->sign = right;
    return false;
}

/* A layout op that was planned over packed bytes: does its layout follow from that of its input as it lies? */
static bool has_old_strides(const struct verifying *v, const struct psc_candela_step *step, const struct psc_handle *in)
{
    const struct psc_lazy_node *node = &v->l->nodes[step->id];
    struct psc_strides layout;
    if (!psc_lazy_op_only_layout(step->op) || node->kind != PSC_LAZY_NODE ||
        psc_layout_apply(step->op, &node->arg, &in->layout, &layout, NULL))
        return false;
    layout.offset = step->layout.offset;
    return !psc_layout_equal(&layout, &step->layout);
}

static bool guess_start(struct guess *g, const struct psc_handle *result, struct psc_candela_wrong *wrong)
{
    for (uint32_t k = 0; k < g->step->input_n; k++) {
        const struct psc_handle *in = &g->inputs[k];
        bool overwritten = g->step->how == PSC_HOW_IN_PLACE && g->step->operand == k;
        if (overwritten || !psc_layout_contiguous(&in->layout) || !in->layout.offset)
            continue;
        g->from_start = k;
        if (explains(g, result)) {
            wrong->why = PSC_WHY_FROM_START;
            wrong->operand = k;
            wrong->id = g->step->inputs[k];
            wrong->a = (int64_t)in->layout.offset;
            return true;
        }
    }
    g->from_start = PSC_NONE;
    return false;
}

static void say_why(const struct verifying *v, const struct psc_candela_step *step, const struct psc_handle *inputs,
                    const struct psc_handle *result, struct psc_candela_wrong *wrong)
{
    struct guess g = {v, step, inputs, 0, PSC_NONE, PSC_NONE, false};
    bool elements = psc_lazy_op_is_binary(step->op) || psc_lazy_op_is_scalar(step->op);
    g.sign = psc_lazy_op_is_binary(step->op) ? signs[step->op - PSC_LAZY_ADD] : '\0';
    if (step->input_n && has_old_strides(v, step, &inputs[0])) {
        wrong->why = PSC_WHY_OLD_STRIDES;
        wrong->id = step->inputs[0];
        return;
    }
    if (step->how == PSC_HOW_IN_PLACE && !psc_layout_contiguous(&inputs[step->operand].layout)) {
        wrong->why = PSC_WHY_OVER_STRIDED;
        wrong->operand = step->operand;
        wrong->id = step->inputs[step->operand];
        return;
    }
    if (!elements && step->op != PSC_LAZY_AS_CONTIGUOUS)
        return;
    if (guess_start(&g, result, wrong) || !elements)
        return;
    if (psc_lazy_op_is_binary(step->op)) {
        g.exchanged = true;
        if (explains(&g, result)) {
            wrong->why = PSC_WHY_EXCHANGED;
            return;
        }
        g.exchanged = false;
    }
    guess_sign(&g, result, wrong);
}

/* ---- looking on ------------------------------------------------------------------------------------------------ */

static uint32_t place(const struct verifying *v, const struct psc_candela_step *step)
{
    return (uint32_t)(step - v->plan->steps);
}

static struct psc_candela_wrong blank(enum psc_wrong what, uint32_t step)
{
    return (struct psc_candela_wrong){.what = what, .step = step, .other = PSC_NONE, .id = PSC_NONE, .with = PSC_NONE};
}

static void before(void *ctx, const struct psc_candela_step *step, const struct psc_handle *inputs)
{
    struct verifying *v = ctx;
    for (uint32_t k = 0; !v->found && k < step->input_n; k++) {
        const float *right = v->values[step->inputs[k]];
        uint64_t i = first_other(&inputs[k], right);
        if (i == psc_layout_len(&inputs[k].layout))
            continue;
        v->found = true;
        *v->wrong = blank(PSC_WRONG_DAMAGED, place(v, step));
        v->wrong->id = step->inputs[k];
        v->wrong->operand = k;
        v->wrong->element = i;
        v->wrong->expected = right[i];
        v->wrong->found = inputs[k].store->at[psc_layout_at(&inputs[k].layout, i)];
    }
}

static void sample(struct psc_candela_sample *to, const struct psc_handle *result, const float *right)
{
    uint64_t n = psc_layout_len(&result->layout);
    to->ran = true;
    to->n = n < PSC_SAMPLE_N ? (uint32_t)n : PSC_SAMPLE_N;
    for (uint32_t i = 0; i < to->n; i++) {
        to->got[i] = result->store->at[psc_layout_at(&result->layout, i)];
        to->right[i] = right[i];
    }
}

static void after(void *ctx, const struct psc_candela_step *step, const struct psc_handle *inputs,
                  const struct psc_handle *result)
{
    struct verifying *v = ctx;
    const float *right = v->values[step->id];
    uint64_t i = v->found ? 0 : first_other(result, right);
    if (!v->found && i < psc_layout_len(&result->layout)) {
        v->found = true;
        *v->wrong = blank(PSC_WRONG_VALUE, place(v, step));
        v->wrong->element = i;
        v->wrong->expected = right[i];
        v->wrong->found = result->store->at[psc_layout_at(&result->layout, i)];
        say_why(v, step, inputs, result, v->wrong);
    }
    if (v->samples)
        sample(&v->samples[place(v, step)], result, right);
}

/* The second walk: the bytes of one id, after each step. Until they are read they stay where they are. */
static void after_again(void *ctx, const struct psc_candela_step *step, const struct psc_handle *inputs,
                        const struct psc_handle *result)
{
    struct verifying *v = ctx;
    (void)inputs;
    if (step->id == v->watched)
        v->handle = *result;
    v->reached = v->reached || place(v, step) == v->wrong->step;
    if (v->handle.store && v->changed == PSC_NONE && !v->reached && !is_right(&v->handle, v->values[v->watched]))
        v->changed = place(v, step);
}

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

/* The first step that makes an id: refusals are told once. */
static uint32_t position_of(const struct psc_candela_plan *plan, uint32_t id)
{
    for (uint32_t p = 0; p < plan->n; p++)
        if (plan->steps[p].id == id)
            return p;
    return PSC_NONE;
}

static bool lists(const struct psc_candela_step *step, uint32_t id)
{
    for (uint32_t k = 0; k < step->dealloc_n; k++)
        if (step->dealloc[k] == id)
            return true;
    return false;
}

static bool takes(const struct psc_candela_step *step, uint32_t id)
{
    return (step->how == PSC_HOW_USE_SLOT && step->take == id) ||
           (step->how == PSC_HOW_IN_PLACE && (step->inputs[step->operand] == id || step->parent == id));
}

static void why_missing(const struct psc_candela_plan *plan, struct psc_candela_wrong *w)
{
    uint32_t made = position_of(plan, w->id);
    if (made == PSC_NONE) {
        w->why = PSC_WHY_MADE_NEVER;
        for (uint32_t k = 0; k < plan->alias_n; k++)
            if (!plan->aliases[k].takeover && plan->aliases[k].node == w->id) {
                w->why = PSC_WHY_STANDS_FOR;
                w->with = plan->aliases[k].target;
            }
        return;
    }
    if (made >= w->step) {
        w->why = PSC_WHY_MADE_LATER;
        w->other = made;
        return;
    }
    for (uint32_t p = made; p < w->step; p++) {
        bool goes = lists(&plan->steps[p], w->id), taken = p > made && takes(&plan->steps[p], w->id);
        if (goes || taken) {
            w->why = goes ? PSC_WHY_GIVEN_BACK : PSC_WHY_TAKEN;
            w->other = p;
        }
    }
}

/* Which step made what, and which one wrote the bytes that each shows, of the steps before the refused one. */
struct origins {
    uint32_t *step_of, *from; /* [id_n], [n]; PSC_NONE */
};

static uint32_t origin(const struct origins *o, uint32_t id)
{
    uint32_t p = o->step_of[id];
    return p == PSC_NONE ? PSC_NONE : o->from[p];
}

/* Who holds the bytes that a step would write: looked for among all that was made before and is not given back. */
static enum psc_status why_shared(const struct psc_candela_plan *plan, struct psc_candela_wrong *w, struct psc_error *reterr)
{
    const struct psc_candela_step *step = &plan->steps[w->step];
    struct origins o = {.step_of = psc_alloc((plan->id_n + (size_t)1) * sizeof *o.step_of),
                        .from = psc_alloc((plan->n + (size_t)1) * sizeof *o.from)};
    bool *gone = psc_alloc0(plan->id_n + (size_t)1, sizeof *gone);
    if (!o.step_of || !o.from || !gone) {
        psc_free(o.step_of);
        psc_free(o.from);
        psc_free(gone);
        return psc_fail_nomem(reterr);
    }
    memset(o.step_of, 0xff, plan->id_n * sizeof *o.step_of);
    for (uint32_t p = 0; p < w->step; p++) {
        const struct psc_candela_step *s = &plan->steps[p];
        o.from[p] = psc_how_is_reference(s->how) ? origin(&o, s->inputs[s->operand]) : p;
        o.step_of[s->id] = p;
        if (s->how == PSC_HOW_USE_SLOT)
            gone[s->take] = true;
        if (s->how == PSC_HOW_IN_PLACE) {
            gone[s->inputs[s->operand]] = true;
            if (s->parent != PSC_NONE)
                gone[s->parent] = true;
        }
        for (uint32_t k = 0; k < s->dealloc_n; k++)
            gone[s->dealloc[k]] = true;
    }
    uint32_t target = step->how == PSC_HOW_USE_SLOT ? step->take : step->inputs[step->operand];
    uint32_t bytes = origin(&o, target);
    for (uint32_t k = 0; k < step->input_n && w->why == PSC_WHY_UNTOLD; k++)
        if (step->how == PSC_HOW_IN_PLACE && k != step->operand && origin(&o, step->inputs[k]) == bytes) {
            w->why = PSC_WHY_OPERANDS_SHARE;
            w->with = step->inputs[k];
        }
    for (uint32_t p = 0; p < w->step && w->why == PSC_WHY_UNTOLD; p++) {
        const struct psc_candela_step *s = &plan->steps[p];
        if (o.from[p] != bytes || (s->id == target && !s->cell))
            continue;
        if (s->cell && s->how != PSC_HOW_CACHE_HIT) {
            w->why = PSC_WHY_CACHE_HOLDS;
            w->with = s->id;
        } else if (!gone[s->id] && s->id != step->parent) {
            w->why = PSC_WHY_VIEW_HOLDS;
            w->with = s->id;
            w->a = -1;
            for (uint32_t q = p; q < plan->n; q++) {
                for (uint32_t k = 0; k < plan->steps[q].input_n; k++)
                    w->a = plan->steps[q].inputs[k] == s->id ? (int64_t)q : w->a;
                w->other = lists(&plan->steps[q], s->id) ? q : w->other;
            }
        }
    }
    psc_free(o.step_of);
    psc_free(o.from);
    psc_free(gone);
    return PSC_OK;
}

static enum psc_status refused(struct verifying *v, const struct psc_candela_failure *failure, struct psc_error *reterr)
{
    const struct psc_candela_plan *plan = v->plan;
    struct psc_candela_wrong *w = v->wrong;
    *w = blank(PSC_WRONG_REFUSED, failure->step);
    w->mishap = failure->mishap;
    w->id = failure->id;
    if (v->order) /* what follows looks at the steps that are listed before */
        return PSC_OK;
    if (failure->mishap == PSC_MISHAP_MISSING || failure->mishap == PSC_MISHAP_ROOT)
        why_missing(plan, w);
    if (failure->mishap == PSC_MISHAP_SHARED)
        return why_shared(plan, w, reterr);
    if (failure->mishap == PSC_MISHAP_BOUNDS && plan->steps[w->step].op == PSC_LAZY_MATMUL &&
        plan->steps[w->step].layout.shape[1] == 1)
        w->why = PSC_WHY_TURNED;
    return PSC_OK;
}

/* ---- all of it ------------------------------------------------------------------------------------------------------ */

/* Element steps of carrying it out; more than the limit for what cannot be computed one by one. The slots of what is baked are bound. */
static uint64_t cost_of(const struct psc_lazy *l, const struct psc_candela_plan *plan, uint32_t depth)
{
    uint64_t sum = 0;
    for (uint32_t k = 0; !depth && k < plan->external_n; k++)
        if (!l->nodes[plan->externals[k]].data)
            return PSC_VERIFY_MAX + 1;
    for (uint32_t p = 0; p < plan->n && sum <= PSC_VERIFY_MAX; p++) {
        const struct psc_candela_step *s = &plan->steps[p];
        uint64_t n = s->len, inner = 1;
        uint32_t root;
        if (s->how == PSC_HOW_CACHE_HIT || (s->how == PSC_HOW_BAKED && depth >= PSC_BAKED_MAX))
            return PSC_VERIFY_MAX + 1;
        if (s->how == PSC_HOW_BAKED)
            n = cost_of(psc_skeleton_source(s->baked, &root), psc_skeleton_plan(s->baked), depth + 1);
        if (s->op == PSC_LAZY_MATMUL && s->input_n)
            inner = l->nodes[s->inputs[0]].layout.rank == 2 ? l->nodes[s->inputs[0]].layout.shape[1] : 1;
        if (s->op == PSC_LAZY_SUM && s->input_n)
            n = psc_layout_len(&l->nodes[s->inputs[0]].layout);
        if (!psc_mul_u64(n, inner, &n) || !psc_add_u64(sum, n + 1, &sum))
            return PSC_VERIFY_MAX + 1;
    }
    return sum;
}

static enum psc_status find_change(struct verifying *v, struct psc_error *reterr)
{
    struct psc_candela_watch watch = {.ctx = v, .after = after_again};
    struct psc_candela_failure failure;
    struct psc_handle result;
    v->watched = v->wrong->id;
    v->changed = PSC_NONE;
    v->reached = false;
    v->handle.store = NULL;
    struct psc_candela_run how = {.externals = v->inputs, .external_n = v->plan->external_n, .order = v->order, .watch = &watch,
                                  .dry = true};
    enum psc_status status = psc_candela_execute(v->plan, &how, &result, &failure, reterr);
    if (status && failure.mishap == PSC_MISHAP_NONE)
        return status;
    if (!status)
        psc_store_unref(result.store);
    v->wrong->other = v->changed;
    return PSC_OK;
}

/* Once, as listed or in v->order: the first thing that goes wrong stands in v->wrong then. ret_ran: it ended as it should. */
static enum psc_status carry_out(struct verifying *v, struct psc_store_tally *heap, bool *ret_ran, struct psc_error *reterr)
{
    struct psc_candela_watch watch = {.ctx = v, .before = before, .after = after};
    struct psc_candela_failure failure;
    struct psc_handle result;
    struct psc_candela_run how = {.externals = v->inputs, .external_n = v->plan->external_n, .order = v->order, .watch = &watch,
                                  .dry = true, .heap = heap};
    enum psc_status status = psc_candela_execute(v->plan, &how, &result, &failure, reterr);
    *ret_ran = !status;
    if (!status)
        psc_store_unref(result.store);
    else if (failure.mishap == PSC_MISHAP_NONE)
        return status;
    if (v->found && v->wrong->what == PSC_WRONG_DAMAGED)
        return find_change(v, reterr);
    if (status && !v->found) {
        v->found = true;
        return refused(v, &failure, reterr);
    }
    return PSC_OK;
}

/* What is said of the peak against what the heap saw; what runs inside asks the heap for itself. */
static enum psc_status compare_report(struct verifying *v, const struct psc_store_tally *heap, uint32_t *n, struct psc_error *reterr)
{
    struct psc_candela_memory memory;
    bool bakes = false;
    for (uint32_t p = 0; p < v->plan->n; p++)
        bakes = bakes || v->plan->steps[p].how == PSC_HOW_BAKED;
    enum psc_status status = psc_candela_report(v->plan, &memory, reterr);
    if (status || bakes || memory.peak == heap->peak)
        return status;
    v->wrong[*n] = blank(PSC_WRONG_REPORT, v->plan->n ? v->plan->n - 1 : PSC_NONE);
    v->wrong[*n].a = (int64_t)memory.peak;
    v->wrong[(*n)++].b = (int64_t)heap->peak;
    return PSC_OK;
}

static enum psc_status carry_out_all(struct verifying *v, uint32_t root, bool levels, struct psc_candela_verdict *verdict,
                                     struct psc_error *reterr)
{
    struct psc_arena arena = {0};
    struct psc_store_tally heap = {0};
    float **values;
    bool ran = false;
    enum psc_status status = psc_lazy_direct(&arena, v->l, root, &values, reterr);
    if (!status)
        status = psc_candela_stand_ins(v->l, v->plan, &v->inputs, reterr);
    if (!status) {
        v->values = values;
        status = carry_out(v, &heap, &ran, reterr);
    }
    bool again = !status && levels && !v->found;
    if (again)
        status = psc_candela_by_level(&arena, v->plan, &v->order, reterr);
    if (!status && again) {
        bool ran_again;
        v->samples = NULL;
        status = carry_out(v, NULL, &ran_again, reterr);
        v->wrong->by_level = v->found;
        verdict->by_level = !v->found;
    }
    verdict->n += !status && v->found;
    if (!status && ran)
        status = compare_report(v, &heap, &verdict->n, reterr);
    psc_candela_stand_ins_free(v->inputs, v->plan->external_n);
    psc_arena_release(&arena);
    return status;
}

enum psc_status psc_candela_verify(struct psc_arena *arena, const struct psc_lazy *l, uint32_t root,
                                   const struct psc_candela_plan *plan, bool levels, struct psc_candela_verdict *ret,
                                   struct psc_error *reterr)
{
    struct psc_candela_wrong *list = psc_alloc0(PSC_WRONGS_MAX, sizeof *list);
    struct verifying v = {.l = l, .plan = plan, .wrong = list};
    struct psc_candela_verdict verdict = {.elements = cost_of(l, plan, 0)};
    enum psc_status status = list ? PSC_OK : psc_fail_nomem(reterr);
    verdict.executed = verdict.elements <= PSC_VERIFY_MAX;
    if (!status && verdict.executed && plan->n <= PSC_SAMPLES_MAX) {
        verdict.samples = v.samples = psc_arena_alloc0(arena, plan->n, sizeof *v.samples);
        if (!v.samples)
            status = psc_fail_nomem(reterr);
    }
    if (!status && verdict.executed)
        status = carry_out_all(&v, root, levels, &verdict, reterr);
    if (!status)
        status = psc_candela_audit(plan, list, PSC_WRONGS_MAX, &verdict.n, reterr);
    struct psc_candela_wrong *kept = status ? NULL : psc_arena_alloc(arena, verdict.n, sizeof *kept);
    if (!status && !kept)
        status = psc_fail_nomem(reterr);
    if (kept && verdict.n)
        memcpy(kept, list, verdict.n * sizeof *kept);
    psc_free(list);
    if (status)
        return status;
    verdict.wrongs = kept;
    *ret = verdict;
    return PSC_OK;
}
