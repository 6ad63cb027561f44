#include "core/candela/deps.h"

#include "core/base/mem.h"

#include <stdlib.h>
#include <string.h>

struct pair {
    uint32_t to, from;
    bool anti;
};
struct reader { /* steps that read a slot since it was last written, linked */
    uint32_t step, next;
};
struct deps {
    struct psc_candela_step *steps;
    const struct psc_candela_plan *plan;
    uint32_t *step_of;        /* [id_n] */
    uint32_t *writer, *head;  /* [slot_n]: last writer; readers since */
    struct pair *pairs;       /* heap */
    struct reader *readers;   /* heap */
    size_t pair_n, pair_cap, reader_n, reader_cap;
    bool failed;
};

static void add_pair(struct deps *d, uint32_t from, uint32_t to, bool anti)
{
    if (from == PSC_NONE || from >= to)
        return;
    if (!psc_grow(&d->pairs, d->pair_n + 1, &d->pair_cap, sizeof *d->pairs)) {
        d->failed = true;
        return;
    }
    d->pairs[d->pair_n++] = (struct pair){to, from, anti};
}

/* `to` writes bytes that slot s held. */
static void wait_for_slot(struct deps *d, uint32_t s, uint32_t to)
{
    add_pair(d, d->writer[s], to, true);
    for (uint32_t r = d->head[s]; r != PSC_NONE; r = d->readers[r].next)
        add_pair(d, d->readers[r].step, to, true);
}

static void read_slot(struct deps *d, uint32_t s, uint32_t step)
{
    if (!psc_grow(&d->readers, d->reader_n + 1, &d->reader_cap, sizeof *d->readers)) {
        d->failed = true;
        return;
    }
    d->readers[d->reader_n] = (struct reader){step, d->head[s]};
    d->head[s] = (uint32_t)d->reader_n++;
}

static bool writes(enum psc_how how)
{
    return how == PSC_HOW_IN_PLACE || how == PSC_HOW_USE_SLOT || how == PSC_HOW_ALLOCATE || how == PSC_HOW_REGION ||
           how == PSC_HOW_BAKED;
}

static void look_at(struct deps *d, uint32_t p)
{
    const struct psc_candela_step *step = &d->steps[p];
    bool writes_slot = step->slot != PSC_NONE && writes(step->how);
    for (uint32_t k = 0; k < step->input_n; k++)
        add_pair(d, d->step_of[step->inputs[k]], p, false);
    if (writes_slot) {
        wait_for_slot(d, step->slot, p);
        d->writer[step->slot] = p;
        d->head[step->slot] = PSC_NONE;
    }
    for (uint32_t k = 0; k < step->input_n; k++) {
        uint32_t from = d->step_of[step->inputs[k]], slot = from == PSC_NONE ? PSC_NONE : d->steps[from].slot;
        bool holds = slot != PSC_NONE && d->steps[from].how != PSC_HOW_BAKED;
        if (holds && !(writes_slot && slot == step->slot))
            read_slot(d, slot, p);
    }
    d->step_of[step->id] = p;
}

/* ---- an arena: who lay in these bytes last ---------------------------------------------------------------- */

/* The arena is cut where a slot begins or ends; a tree over the pieces knows which slot was painted over them last. A node
 * that is of one colour hides what is below it; painting takes it apart along two paths, so that all visits together are
 * O(slots log slots). */
enum { MIXED = -2, BARE = -1 };
struct cover {
    uint64_t *cuts;
    uint32_t cut_n, size; /* size: leaves, a power of two */
    int64_t *colour;      /* [2 size] */
};

static int by_offset(const void *x, const void *y)
{
    uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return a < b ? -1 : a > b;
}

static uint32_t cut_of(const struct cover *c, uint64_t at)
{
    uint32_t lo = 0, hi = c->cut_n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (c->cuts[mid] < at)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static bool make_cover(struct cover *c, const struct psc_candela_plan *plan)
{
    uint32_t n = 0;
    c->cuts = psc_alloc((2 * (size_t)plan->slot_n + 1) * sizeof *c->cuts);
    if (!c->cuts)
        return false;
    for (uint32_t s = 0; s < plan->slot_n; s++)
        if (plan->slots[s].packed) {
            c->cuts[n++] = plan->slots[s].offset;
            c->cuts[n++] = plan->slots[s].offset + plan->slots[s].len;
        }
    if (n)
        qsort(c->cuts, n, sizeof *c->cuts, by_offset);
    for (uint32_t k = 0; k < n; k++)
        if (!k || c->cuts[k] != c->cuts[c->cut_n - 1])
            c->cuts[c->cut_n++] = c->cuts[k];
    for (c->size = 1; c->size < c->cut_n; c->size *= 2) {}
    c->colour = psc_alloc(2 * (size_t)c->size * sizeof *c->colour);
    for (uint32_t k = 0; c->colour && k < 2 * c->size; k++)
        c->colour[k] = BARE;
    return c->colour != NULL;
}

/* Slot s comes to lie on the pieces [lo, hi): it waits for each slot that lay there last. */
static void lay_over(struct deps *d, struct cover *c, uint32_t *seen, uint32_t s, uint32_t lo, uint32_t hi)
{
    struct { uint32_t node, from, n; } stack[64], v;
    uint32_t depth = 0, start = (uint32_t)d->plan->slots[s].start;
    stack[depth++].node = 1;
    stack[0].from = 0;
    stack[0].n = c->size;
    while (depth) {
        v = stack[--depth];
        bool inside = lo <= v.from && v.from + v.n <= hi;
        int64_t colour = c->colour[v.node];
        if (v.from >= hi || v.from + v.n <= lo)
            continue;
        if (colour >= 0 && seen[colour] != s && d->plan->slots[colour].end < d->plan->slots[s].start) {
            seen[colour] = s;
            wait_for_slot(d, (uint32_t)colour, start);
        }
        if (inside && colour != MIXED) {
            c->colour[v.node] = s;
            continue;
        }
        if (colour != MIXED)
            c->colour[2 * v.node] = c->colour[2 * v.node + 1] = colour;
        c->colour[v.node] = inside ? (int64_t)s : MIXED; /* what is below is visited now, and hidden afterwards */
        stack[depth].node = 2 * v.node + 1;
        stack[depth].from = v.from + v.n / 2;
        stack[depth++].n = v.n / 2;
        stack[depth].node = 2 * v.node;
        stack[depth].from = v.from;
        stack[depth++].n = v.n / 2;
    }
}

/* Slots stand in the order of their starts. Whoever lay in the bytes before the last one is waited for by that one. */
static void look_at_arena(struct deps *d)
{
    const struct psc_candela_plan *plan = d->plan;
    struct cover c = {0};
    uint32_t *seen = psc_alloc((plan->slot_n + (size_t)1) * sizeof *seen);
    if (!seen || !make_cover(&c, plan))
        d->failed = true;
    else
        memset(seen, 0xff, (plan->slot_n + (size_t)1) * sizeof *seen);
    for (uint32_t s = 0; !d->failed && s < plan->slot_n; s++)
        if (plan->slots[s].packed && plan->slots[s].len)
            lay_over(d, &c, seen, s, cut_of(&c, plan->slots[s].offset), cut_of(&c, plan->slots[s].offset + plan->slots[s].len));
    psc_free(seen);
    psc_free(c.cuts);
    psc_free(c.colour);
}

static int by_target(const void *x, const void *y)
{
    const struct pair *a = x, *b = y;
    if (a->to != b->to)
        return a->to < b->to ? -1 : 1;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    return (int)a->anti - (int)b->anti;
}

/* Pairs are sorted, a true dependency before the same as anti-dependency: the second is left out. */
static bool settle(struct deps *d, struct psc_arena *arena)
{
    uint32_t *ids = psc_arena_alloc(arena, d->pair_n, sizeof *ids);
    size_t at = 0, used = 0;
    if (!ids)
        return false;
    if (d->pair_n)
        qsort(d->pairs, d->pair_n, sizeof *d->pairs, by_target);
    for (uint32_t p = 0; p < d->plan->n; p++) {
        struct psc_candela_step *step = &d->steps[p];
        size_t from = at;
        while (at < d->pair_n && d->pairs[at].to == p)
            at++;
        for (int anti = 0; anti < 2; anti++) {
            uint32_t n = 0;
            for (size_t k = from; k < at; k++) {
                bool again = k > from && d->pairs[k].from == d->pairs[k - 1].from;
                if (again || d->pairs[k].anti != (anti == 1))
                    continue;
                uint32_t level = d->steps[d->pairs[k].from].level + 1;
                step->level = level > step->level ? level : step->level;
                ids[used + n++] = d->pairs[k].from;
            }
            *(anti ? &step->after : &step->needs) = ids + used;
            *(anti ? &step->after_n : &step->needs_n) = n;
            used += n;
        }
        if (!step->level && step->how != PSC_HOW_LEAF)
            step->level = 1;
    }
    return true;
}

enum psc_status psc_candela_deps(struct psc_arena *arena, struct psc_candela_step *steps,
                                 const struct psc_candela_plan *plan, struct psc_error *reterr)
{
    struct deps d = {.steps = steps, .plan = plan};
    d.step_of = psc_alloc((plan->id_n + (size_t)1) * sizeof *d.step_of);
    d.writer = psc_alloc((plan->slot_n + (size_t)1) * sizeof *d.writer);
    d.head = psc_alloc((plan->slot_n + (size_t)1) * sizeof *d.head);
    d.failed = !d.step_of || !d.writer || !d.head;
    if (!d.failed) {
        memset(d.step_of, 0xff, plan->id_n * sizeof *d.step_of);
        memset(d.writer, 0xff, plan->slot_n * sizeof *d.writer);
        memset(d.head, 0xff, plan->slot_n * sizeof *d.head);
    }
    for (uint32_t p = 0; p < plan->n && !d.failed; p++)
        look_at(&d, p);
    if (!d.failed && plan->arena_len)
        look_at_arena(&d);
    d.failed = d.failed || !settle(&d, arena);
    psc_free(d.step_of);
    psc_free(d.writer);
    psc_free(d.head);
    psc_free(d.pairs);
    psc_free(d.readers);
    return d.failed ? psc_fail_nomem(reterr) : PSC_OK;
}
