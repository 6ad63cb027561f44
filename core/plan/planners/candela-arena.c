#include "core/plan/planners/candela-arena.h"

#include "core/base/mem.h"
#include "core/candela/fault.h"
#include "core/candela/pack.h"

#include <stdlib.h>

struct packing {
    struct psc_sketch *sketch;
    struct psc_candela_slot *slots; /* scratch; [buffer_n], by buffer */
    uint32_t *to;                   /* [buffer_n]: the buffer that stands for it afterwards */
    uint64_t *shift;                /* [buffer_n]: where it begins in that one */
    uint32_t *turn;                 /* [buffer_n]: as which one it was placed in its arena */
    bool *packed;
};

/* The order in which they are placed: longest first. Buffers stand in the order of their starts. */
static int longest_first(const void *x, const void *y)
{
    const struct psc_candela_slot *a = x, *b = y;
    if (a->len != b->len)
        return a->len > b->len ? -1 : 1;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

static char *arena_name(struct psc_sketch *s, uint8_t backend)
{
    struct psc_text text = {0};
    psc_text_add(&text, "arena");
    if (backend != PSC_BACKEND_NONE)
        psc_text_addf(&text, ".%s", s->graph->backends[backend]);
    return psc_text_keep(&text, s->arena);
}

/* The slots of one backend, packed; the arena becomes a buffer behind all others. */
static enum psc_status pack_backend(struct packing *p, uint32_t n, uint8_t backend, const int32_t *start, const int32_t *end,
                                    uint64_t faults, struct psc_error *reterr)
{
    struct psc_sketch *s = p->sketch;
    uint64_t bytes = 0, align = faults & PSC_CANDELA_BIT(PSC_CANDELA_B21) ? 1 : 128;
    uint32_t m = 0;
    for (uint32_t b = s->region_n; b < n; b++)
        if (s->buffers[b].backend == backend && end[b] >= 0)
            p->slots[m++] = (struct psc_candela_slot){.id = b, .len = s->buffers[b].bytes, .start = start[b], .end = end[b]};
    if (!m)
        return PSC_OK;
    enum psc_status status = psc_pack(p->slots, m, align, faults & PSC_CANDELA_BIT(PSC_CANDELA_B20), &bytes, reterr);
    if (status)
        return status;
    uint32_t arena = psc_sketch_add_buffer(s, bytes, backend, PSC_ROLE_ARENA);
    if (arena == PSC_NONE || !(s->buffers[arena].name = arena_name(s, backend)))
        return psc_fail_nomem(reterr);
    qsort(p->slots, m, sizeof *p->slots, longest_first);
    for (uint32_t k = 0; k < m; k++) {
        p->turn[p->slots[k].id] = k;
        p->to[p->slots[k].id] = arena;
        p->shift[p->slots[k].id] = p->slots[k].offset;
        p->packed[p->slots[k].id] = true;
    }
    return PSC_OK;
}

/* Buffers that were packed go; the rest moves up. now: [buffer_n] where each stands then. */
static void close_up(struct packing *p, uint32_t n, uint32_t *now)
{
    struct psc_sketch *s = p->sketch;
    uint32_t kept = 0;
    for (uint32_t b = 0; b < s->buffer_n; b++) {
        if (b < n && p->packed[b])
            continue;
        now[b] = kept;
        s->buffers[kept] = s->buffers[b];
        if (s->pool_at)
            s->pool_at[kept] = s->pool_at[b];
        kept++;
    }
    s->buffer_n = kept;
    for (uint32_t b = 0; b < n; b++)
        p->to[b] = now[p->packed[b] ? p->to[b] : b];
}

static void move_all(const struct packing *p)
{
    struct psc_sketch *s = p->sketch;
    for (psc_node i = 0; i < s->graph->n; i++) {
        struct psc_place *place = &s->places[i];
        if (place->buffer == PSC_NONE)
            continue;
        uint32_t b = place->buffer;
        place->buffer = p->to[b];
        place->offset += p->shift[b];
        if (p->packed[b] && place->reason == PSC_WHY_NEW) {
            place->reason = PSC_WHY_PACKED;
            place->a = p->turn[b];
            place->b = s->buffers[place->buffer].bytes;
        }
    }
    for (uint32_t k = 0; k < s->release_n; k++) {
        struct psc_release *r = &s->releases[k];
        r->lo += p->shift[r->buffer];
        r->hi += p->shift[r->buffer];
        r->buffer = p->to[r->buffer];
    }
    for (size_t k = 0; k < s->walk_n; k++)
        if (s->walk[k].buffer != PSC_NONE)
            s->walk[k].buffer = p->to[s->walk[k].buffer];
}

enum psc_status psc_candela_pack_arenas(struct psc_sketch *s, const int32_t *start, const int32_t *end, uint64_t faults,
                                        struct psc_error *reterr)
{
    struct psc_arena_mark mark = psc_arena_mark(&s->scratch);
    uint32_t n = (uint32_t)s->buffer_n, backend_n = s->graph->backend_n;
    struct packing p = {.sketch = s};
    p.slots = psc_arena_alloc(&s->scratch, n, sizeof *p.slots);
    p.to = psc_arena_alloc(&s->scratch, n, sizeof *p.to);
    p.shift = psc_arena_alloc0(&s->scratch, n, sizeof *p.shift);
    p.turn = psc_arena_alloc0(&s->scratch, n, sizeof *p.turn);
    p.packed = psc_arena_alloc0(&s->scratch, n, sizeof *p.packed);
    uint32_t *now = psc_arena_alloc(&s->scratch, n + (size_t)backend_n + 1, sizeof *now);
    if (!p.slots || !p.to || !p.shift || !p.turn || !p.packed || !now)
        return psc_fail_nomem(reterr);
    enum psc_status status = PSC_OK;
    for (uint32_t k = 0; !status && k <= backend_n; k++)
        status = pack_backend(&p, n, k == backend_n ? PSC_BACKEND_NONE : (uint8_t)k, start, end, faults, reterr);
    if (!status) {
        close_up(&p, n, now);
        move_all(&p);
    }
    psc_arena_rewind(&s->scratch, mark);
    return status;
}
