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

/* Packed slots that share bytes: who comes later waits for the last readers of who was there. */
static void look_at_arena(struct deps *d)
{
    const struct psc_candela_slot *slots = d->plan->slots;
    for (uint32_t a = 0; a < d->plan->slot_n; a++)
        for (uint32_t b = 0; slots[a].packed && b < d->plan->slot_n; b++) {
            bool meet = slots[b].packed && slots[a].offset < slots[b].offset + slots[b].len &&
                        slots[b].offset < slots[a].offset + slots[a].len;
            if (meet && slots[a].end < slots[b].start)
                wait_for_slot(d, a, (uint32_t)slots[b].start);
        }
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
