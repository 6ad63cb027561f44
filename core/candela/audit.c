/* What a plan says of itself, looked at without carrying it out: aliases in two hops, crooked offsets, what is wasted. */
#include "core/candela/kept.h"

#include <string.h>

struct slot_life {
    int32_t last;     /* the last step that reads its bytes since they were written */
    bool pinned;      /* a cache, the root or something that nobody reads holds it */
};
struct audit {
    const struct psc_candela_plan *plan;
    struct psc_arena scratch;
    uint32_t *step_of;        /* [id_n] PSC_NONE */
    uint32_t *reader_n;       /* [id_n] */
    struct slot_life *lives;  /* [plan->n]: of the bytes that step p holds, when it is the one that wrote them */
    uint32_t *origin;         /* [plan->n]: the step that wrote the bytes that step p shows; PSC_NONE: no slot's */
    struct psc_candela_wrong *list;
    uint32_t max, *n;
};

static void add(struct audit *a, struct psc_candela_wrong wrong)
{
    if (*a->n < a->max)
        a->list[(*a->n)++] = wrong;
}

static struct psc_candela_wrong blank(enum psc_wrong what, uint32_t step)
{
    return (struct psc_candela_wrong){.what = what, .step = step, .other = PSC_NONE, .id = PSC_NONE, .with = PSC_NONE};
}

static bool makes_bytes(enum psc_how how)
{
    return how == PSC_HOW_ALLOCATE || how == PSC_HOW_REGION || how == PSC_HOW_USE_SLOT || how == PSC_HOW_IN_PLACE;
}

static uint32_t origin_of(const struct audit *a, uint32_t id)
{
    uint32_t p = a->step_of[id];
    return p == PSC_NONE ? PSC_NONE : a->origin[p];
}

/* Who wrote the bytes that each step shows, who reads them last, and whether anything keeps them. */
static void follow(struct audit *a)
{
    const struct psc_candela_plan *plan = a->plan;
    for (uint32_t p = 0; p < plan->n; p++)
        for (uint32_t k = 0; k < plan->steps[p].input_n; k++)
            a->reader_n[plan->steps[p].inputs[k]]++;
    for (uint32_t p = 0; p < plan->n; p++) {
        const struct psc_candela_step *s = &plan->steps[p];
        a->lives[p].last = -1;
        for (uint32_t k = 0; k < s->input_n; k++) {
            uint32_t from = origin_of(a, s->inputs[k]);
            if (from != PSC_NONE)
                a->lives[from].last = (int32_t)p;
        }
        a->origin[p] = psc_how_is_reference(s->how)    ? origin_of(a, s->inputs[s->operand])
                       : makes_bytes(s->how) ? p
                                               : PSC_NONE;
        if (a->origin[p] != PSC_NONE && (s->cell || s->id == plan->root || !a->reader_n[s->id]))
            a->lives[a->origin[p]].pinned = true;
        a->step_of[s->id] = p;
    }
}

static bool packed(const struct audit *a, uint32_t id)
{
    return psc_layout_contiguous(&a->plan->steps[a->step_of[id]].layout);
}

/* Could step p have written over operand k? Its bytes are a slot's, as long as the result, packed, and this is the last
 * that reads them; no other operand lies in them. */
static bool would_do(const struct audit *a, uint32_t p, uint32_t k)
{
    const struct psc_candela_step *s = &a->plan->steps[p];
    uint32_t from = origin_of(a, s->inputs[k]);
    if (from == PSC_NONE || a->lives[from].pinned || a->lives[from].last != (int32_t)p || !packed(a, s->inputs[k]) ||
        a->plan->steps[from].len != s->len)
        return false;
    for (uint32_t j = 0; j < s->input_n; j++)
        if (j != k && origin_of(a, s->inputs[j]) == from)
            return false;
    return true;
}

/* In the order of execution: step_of holds what was made before p. */
static void look_for_in_place(struct audit *a)
{
    const struct psc_candela_plan *plan = a->plan;
    for (uint32_t p = 0; p < plan->n; p++) {
        const struct psc_candela_step *s = &plan->steps[p];
        bool fresh = s->how == PSC_HOW_ALLOCATE || s->how == PSC_HOW_REGION || s->how == PSC_HOW_USE_SLOT;
        if (!fresh || !s->len || !(psc_lazy_op_is_scalar(s->op) || psc_lazy_op_is_binary(s->op)))
            continue;
        for (uint32_t k = 0; k < s->input_n; k++)
            if (a->step_of[s->inputs[k]] != PSC_NONE && a->step_of[s->inputs[k]] < p && would_do(a, p, k)) {
                struct psc_candela_wrong wrong = blank(PSC_WRONG_NOT_OVER, p);
                wrong.id = s->inputs[k];
                wrong.operand = k;
                add(a, wrong);
                break;
            }
    }
}

static void look_for_late(struct audit *a)
{
    const struct psc_candela_plan *plan = a->plan;
    for (uint32_t p = 0; p < plan->n; p++)
        for (uint32_t k = 0; k < plan->steps[p].dealloc_n; k++) {
            uint32_t id = plan->steps[p].dealloc[k], from = origin_of(a, id);
            if (from == PSC_NONE || plan->steps[from].id != id || a->lives[from].pinned || a->lives[from].last < 0 ||
                a->lives[from].last >= (int32_t)p)
                continue;
            struct psc_candela_wrong wrong = blank(PSC_WRONG_LATE, p);
            wrong.id = id;
            wrong.other = (uint32_t)a->lives[from].last;
            add(a, wrong);
        }
}

static void look_at_offsets(struct audit *a)
{
    const struct psc_candela_plan *plan = a->plan;
    for (uint32_t s = 0; s < plan->slot_n; s++) {
        const struct psc_candela_slot *slot = &plan->slots[s];
        if (!slot->packed || !slot->len || slot->offset % plan->align == 0)
            continue;
        struct psc_candela_wrong wrong = blank(PSC_WRONG_CROOKED, (uint32_t)slot->start);
        wrong.a = (int64_t)slot->offset;
        wrong.b = (int64_t)plan->align;
        add(a, wrong);
    }
}

static enum psc_status look_at_aliases(struct audit *a, struct psc_error *reterr)
{
    struct psc_candela_entry *entries;
    uint32_t n;
    enum psc_status status = psc_candela_map_at(&a->scratch, a->plan, a->plan->n, &entries, &n, reterr);
    uint32_t *owner = status ? NULL : psc_arena_alloc(&a->scratch, a->plan->id_n, sizeof *owner);
    if (status)
        return status;
    uint32_t *last = status ? NULL : psc_arena_alloc(&a->scratch, a->plan->id_n, sizeof *last); /* where an id was last spoken of */
    if (!owner || !last)
        return psc_fail_nomem(reterr);
    memset(owner, 0xff, a->plan->id_n * sizeof *owner);
    memset(last, 0xff, a->plan->id_n * sizeof *last);
    for (uint32_t k = 0; k < a->plan->alias_n; k++)
        last[a->plan->aliases[k].node] = last[a->plan->aliases[k].target] = a->plan->aliases[k].position;
    for (uint32_t i = 0; i < n; i++)
        owner[entries[i].node] = entries[i].owner;
    for (uint32_t i = 0; i < n; i++)
        if (owner[entries[i].owner] != PSC_NONE) {
            struct psc_candela_wrong wrong = blank(PSC_WRONG_TWO_HOPS, PSC_NONE);
            wrong.id = entries[i].node;
            wrong.with = entries[i].owner;
            wrong.step = last[wrong.with];
            if (wrong.step >= a->plan->n)
                wrong.step = a->plan->n - 1;
            add(a, wrong);
        }
    return PSC_OK;
}

enum psc_status psc_candela_audit(const struct psc_candela_plan *plan, struct psc_candela_wrong *list, uint32_t max, uint32_t *n,
                                  struct psc_error *reterr)
{
    struct audit a = {.plan = plan, .list = list, .max = max, .n = n};
    enum psc_status status = PSC_OK;
    a.step_of = psc_arena_alloc(&a.scratch, plan->id_n, sizeof *a.step_of);
    a.reader_n = psc_arena_alloc0(&a.scratch, plan->id_n, sizeof *a.reader_n);
    a.lives = psc_arena_alloc0(&a.scratch, plan->n, sizeof *a.lives);
    a.origin = psc_arena_alloc(&a.scratch, plan->n, sizeof *a.origin);
    if (!a.step_of || !a.reader_n || !a.lives || !a.origin) {
        psc_arena_release(&a.scratch);
        return psc_fail_nomem(reterr);
    }
    memset(a.step_of, 0xff, plan->id_n * sizeof *a.step_of);
    follow(&a);
    if (plan->alias_n && plan->n)
        status = look_at_aliases(&a, reterr);
    look_at_offsets(&a);
    bool wrong = false;
    for (uint32_t k = 0; k < *n; k++)
        wrong = wrong || !psc_wrong_is_waste(list[k].what);
    if (!wrong) {
        look_for_in_place(&a);
        look_for_late(&a);
    }
    psc_arena_release(&a.scratch);
    return status;
}
