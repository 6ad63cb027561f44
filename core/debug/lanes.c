#include "core/debug/lanes.h"

#include "core/base/hash.h"
#include "core/base/mem.h"

#include <stdlib.h>
#include <string.h>

/* One access of a chain to a buffer. */
struct access {
    uint64_t lo, hi;
    uint32_t event, position, index; /* index: of its position in the chain, from 1 */
};
/* Accesses of one chain to one buffer, reads and writes apart, in the order of the chain. */
struct track {
    struct access *list[2]; /* owned; [0] reads, [1] writes */
    size_t n[2], cap[2];
    uint32_t chain, next;   /* next track of the buffer, PSC_NONE */
};
struct clock {
    uint32_t *at; /* owned: how many positions of each chain are over; chains beyond n: none */
    uint32_t n;
    uint32_t left; /* successors that have not looked yet */
};
#define EFFORT_MAX (UINT64_C(1) << 32)

struct work {
    const struct psc_story *s;
    uint64_t effort; /* entries of clocks and accesses looked at */
    struct psc_arena scratch;
    uint32_t n;
    uint32_t *out_at, *out, *in_at, *in; /* edges by their ends */
    uint32_t *event_at;                  /* events of position p: [event_at[p], event_at[p + 1]), by events */
    uint32_t *events;
    struct clock *clocks;
    uint32_t *chain, *index;             /* of each position that was taken */
    uint32_t *tail;                      /* of each chain: its last position; [n] at most */
    uint32_t chain_n;
    uint32_t *first_track;               /* of each buffer */
    struct psc_map track_of;             /* (buffer, chain) -> track */
    struct track *tracks;                /* owned */
    size_t track_n, track_cap;
    struct psc_race *races;              /* owned */
    size_t race_n, race_cap;
    bool cut;
};

bool psc_lanes_reads(const struct psc_event *e)
{
    return e->kind == PSC_EV_READ || e->kind == PSC_EV_ROWS_READ || e->kind == PSC_EV_HOST_READ;
}

bool psc_lanes_writes(const struct psc_event *e)
{
    return e->kind == PSC_EV_WRITE || e->kind == PSC_EV_ROWS_WRITE || e->kind == PSC_EV_RELEASE;
}

static bool touches(const struct work *w, const struct psc_event *e)
{
    return (psc_lanes_reads(e) || psc_lanes_writes(e)) && e->buffer != PSC_NONE && e->lo < e->hi && e->position >= 0 &&
           (uint32_t)e->position < w->n;
}

/* ---- the graph of positions -------------------------------------------------------------------------- */

static uint32_t *counted(struct work *w, uint32_t n)
{
    return psc_arena_alloc0(&w->scratch, (size_t)n + 2, sizeof(uint32_t));
}

static enum psc_status index_edges(struct work *w, struct psc_error *reterr)
{
    const struct psc_story *s = w->s;
    w->out_at = counted(w, w->n);
    w->in_at = counted(w, w->n);
    w->event_at = counted(w, w->n);
    w->out = counted(w, s->edge_n);
    w->in = counted(w, s->edge_n);
    w->events = counted(w, s->event_n);
    w->chain = counted(w, w->n);
    w->index = counted(w, w->n);
    w->tail = counted(w, w->n);
    w->first_track = counted(w, s->buffer_n);
    w->clocks = psc_arena_alloc0(&w->scratch, (size_t)w->n + 1, sizeof *w->clocks);
    if (!w->out_at || !w->in_at || !w->event_at || !w->out || !w->in || !w->events || !w->chain || !w->index || !w->tail ||
        !w->first_track || !w->clocks)
        return psc_fail_nomem(reterr);
    memset(w->first_track, 0xff, s->buffer_n * sizeof *w->first_track);
    for (uint32_t i = 0; i < s->edge_n; i++) {
        w->out_at[s->edges[i].from + 2]++;
        w->in_at[s->edges[i].to + 2]++;
    }
    for (uint32_t i = 0; i < s->event_n; i++)
        if (touches(w, &s->events[i]))
            w->event_at[s->events[i].position + 2]++;
    for (uint32_t p = 0; p < w->n; p++) {
        w->out_at[p + 2] += w->out_at[p + 1];
        w->in_at[p + 2] += w->in_at[p + 1];
        w->event_at[p + 2] += w->event_at[p + 1];
        w->clocks[p].left = w->out_at[p + 2] - w->out_at[p + 1];
    }
    for (uint32_t i = 0; i < s->edge_n; i++) {
        w->out[w->out_at[s->edges[i].from + 1]++] = s->edges[i].to;
        w->in[w->in_at[s->edges[i].to + 1]++] = s->edges[i].from;
    }
    for (uint32_t i = 0; i < s->event_n; i++)
        if (touches(w, &s->events[i]))
            w->events[w->event_at[s->events[i].position + 1]++] = i;
    return PSC_OK;
}

/* ---- chains and clocks -------------------------------------------------------------------------------- */

static uint32_t over(const struct clock *clock, uint32_t chain)
{
    return chain < clock->n ? clock->at[chain] : 0;
}

/* The clock of a position before it runs: what its predecessors have waited for, and they themselves. */
static enum psc_status set_clock(struct work *w, uint32_t p, struct psc_error *reterr)
{
    struct clock *clock = &w->clocks[p];
    clock->n = w->chain_n;
    clock->at = psc_alloc0((size_t)clock->n + 1, sizeof *clock->at);
    if (!clock->at)
        return psc_fail_nomem(reterr);
    for (uint32_t i = w->in_at[p]; i < w->in_at[p + 1]; i++) {
        struct clock *before = &w->clocks[w->in[i]];
        for (uint32_t c = 0; c < before->n; c++)
            clock->at[c] = before->at[c] > clock->at[c] ? before->at[c] : clock->at[c];
        if (--before->left == 0) {
            psc_free(before->at);
            before->at = NULL;
            before->n = 0;
        }
    }
    return PSC_OK;
}

/* Puts the position behind a chain whose last position is over by then, its own lane's if it can, or begins one. */
static enum psc_status join_chain(struct work *w, uint32_t p, struct psc_error *reterr)
{
    struct clock *clock = &w->clocks[p];
    uint32_t found = PSC_NONE;
    for (uint32_t i = w->in_at[p]; i < w->in_at[p + 1] && found == PSC_NONE; i++)
        if (w->tail[w->chain[w->in[i]]] == w->in[i])
            found = w->chain[w->in[i]];
    for (uint32_t c = 0; c < w->chain_n && found == PSC_NONE; c++)
        if (over(clock, c) == w->index[w->tail[c]])
            found = c;
    if (found == PSC_NONE) {
        uint32_t *more = psc_realloc(clock->at, ((size_t)w->chain_n + 1) * sizeof *more);
        if (!more)
            return psc_fail_nomem(reterr);
        more[w->chain_n] = 0;
        clock->at = more;
        clock->n = w->chain_n + 1;
        found = w->chain_n++;
    }
    w->chain[p] = found;
    w->index[p] = ++clock->at[found];
    w->tail[found] = p;
    return PSC_OK;
}

/* ---- accesses ------------------------------------------------------------------------------------------ */

static enum psc_status add_race(struct work *w, const struct access *x, const struct access *y, uint32_t buffer,
                                struct psc_error *reterr)
{
    const struct access *a = x->position < y->position ? x : y, *b = a == x ? y : x;
    if (w->race_n >= 2 * (size_t)PSC_RACES_MAX) { /* duplicates of a pair go later */
        w->cut = true;
        return PSC_OK;
    }
    if (!psc_grow(&w->races, w->race_n + 1, &w->race_cap, sizeof *w->races))
        return psc_fail_nomem(reterr);
    w->races[w->race_n++] = (struct psc_race){
        .a = a->position, .b = b->position, .buffer = buffer, .event_a = a->event, .event_b = b->event,
        .lo = a->lo > b->lo ? a->lo : b->lo, .hi = a->hi < b->hi ? a->hi : b->hi,
    };
    return PSC_OK;
}

/* Those of a track's accesses that are not over when the new one happens, and touch its bytes. */
static enum psc_status meet(struct work *w, const struct track *track, unsigned kind, uint32_t done,
                            const struct access *now, uint32_t buffer, struct psc_error *reterr)
{
    size_t lo = 0, hi = track->n[kind];
    enum psc_status status = PSC_OK;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (track->list[kind][mid].index <= done)
            lo = mid + 1;
        else
            hi = mid;
    }
    w->effort += track->n[kind] - lo;
    for (size_t i = lo; i < track->n[kind] && !status && !w->cut; i++) {
        const struct access *old = &track->list[kind][i];
        if (old->lo < now->hi && now->lo < old->hi)
            status = add_race(w, old, now, buffer, reterr);
    }
    return status;
}

static enum psc_status track_for(struct work *w, uint32_t buffer, uint32_t chain, struct track **ret,
                                 struct psc_error *reterr)
{
    uint64_t key = (uint64_t)buffer << 32 | chain;
    uint32_t at, old;
    if (!psc_map_get(&w->track_of, key, &at)) {
        if (!psc_grow(&w->tracks, w->track_n + 1, &w->track_cap, sizeof *w->tracks) ||
            !psc_map_put(&w->track_of, key, (uint32_t)w->track_n, &old))
            return psc_fail_nomem(reterr);
        at = (uint32_t)w->track_n++;
        w->tracks[at] = (struct track){.chain = chain, .next = w->first_track[buffer]};
        w->first_track[buffer] = at;
    }
    *ret = &w->tracks[at];
    return PSC_OK;
}

static enum psc_status take_access(struct work *w, uint32_t p, uint32_t event, struct psc_error *reterr)
{
    const struct psc_event *e = &w->s->events[event];
    struct access now = {e->lo, e->hi, event, p, w->index[p]};
    unsigned writes = psc_lanes_writes(e);
    struct track *mine = NULL;
    enum psc_status status = PSC_OK;
    for (uint32_t t = w->first_track[e->buffer]; t != PSC_NONE && !status; t = w->tracks[t].next) {
        uint32_t chain = w->tracks[t].chain, done = over(&w->clocks[p], chain);
        if (chain == w->chain[p])
            continue;
        status = meet(w, &w->tracks[t], 1, done, &now, e->buffer, reterr);
        if (!status && writes)
            status = meet(w, &w->tracks[t], 0, done, &now, e->buffer, reterr);
    }
    if (!status)
        status = track_for(w, e->buffer, w->chain[p], &mine, reterr);
    if (status)
        return status;
    if (!psc_grow(&mine->list[writes], mine->n[writes] + 1, &mine->cap[writes], sizeof **mine->list))
        return psc_fail_nomem(reterr);
    mine->list[writes][mine->n[writes]++] = now;
    return PSC_OK;
}

static enum psc_status take(struct work *w, uint32_t p, struct psc_error *reterr)
{
    w->effort += (uint64_t)w->chain_n * (1 + w->in_at[p + 1] - w->in_at[p]);
    if (w->effort > EFFORT_MAX)
        return psc_fail(reterr, PSC_ERR_TOO_BIG, "too many of the %u positions run beside each other: %u chains so far", w->n,
                        w->chain_n);
    enum psc_status status = set_clock(w, p, reterr);
    if (!status)
        status = join_chain(w, p, reterr);
    for (uint32_t i = w->event_at[p]; i < w->event_at[p + 1] && !status; i++)
        status = take_access(w, p, w->events[i], reterr);
    if (!w->clocks[p].left) {
        psc_free(w->clocks[p].at);
        w->clocks[p].at = NULL;
    }
    return status;
}

/* Kahn's order, lowest positions first among those that became free together. */
static enum psc_status walk(struct work *w, struct psc_error *reterr)
{
    uint32_t *queue = counted(w, w->n), *wait = counted(w, w->n), head = 0, tail = 0;
    enum psc_status status = PSC_OK;
    if (!queue || !wait)
        return psc_fail_nomem(reterr);
    for (uint32_t p = 0; p < w->n; p++) {
        wait[p] = w->in_at[p + 1] - w->in_at[p];
        if (!wait[p])
            queue[tail++] = p;
    }
    while (head < tail && !status) {
        uint32_t p = queue[head++];
        status = take(w, p, reterr);
        for (uint32_t i = w->out_at[p]; i < w->out_at[p + 1]; i++)
            if (--wait[w->out[i]] == 0)
                queue[tail++] = w->out[i];
    }
    for (uint32_t p = 0; p < w->n && !status && tail < w->n; p++)
        if (wait[p]) {
            const char *title = w->s->titles ? w->s->titles[p] : NULL;
            return psc_fail(reterr, PSC_ERR_ORDER, "position %u%s%s%s waits for itself: %u of %u positions can begin", p,
                            title ? " (" : "", title ? title : "", title ? ")" : "", tail, w->n);
        }
    return status;
}

/* ---- the answer ---------------------------------------------------------------------------------------- */

static int by_pair(const void *x, const void *y)
{
    const struct psc_race *a = x, *b = y;
    if (a->a != b->a)
        return a->a < b->a ? -1 : 1;
    if (a->b != b->b)
        return a->b < b->b ? -1 : 1;
    if (a->event_a != b->event_a)
        return a->event_a < b->event_a ? -1 : 1;
    return a->event_b < b->event_b ? -1 : a->event_b > b->event_b;
}

/* One for each pair and buffer: the first; a pair shares few buffers. */
static enum psc_status answer(struct work *w, struct psc_arena *arena, struct psc_races *ret, struct psc_error *reterr)
{
    uint32_t n = 0, pair = 0;
    struct psc_race *list = psc_arena_alloc(arena, w->race_n, sizeof *list);
    if (!list)
        return psc_fail_nomem(reterr);
    if (w->race_n)
        qsort(w->races, w->race_n, sizeof *w->races, by_pair);
    for (size_t i = 0; i < w->race_n; i++) {
        const struct psc_race *r = &w->races[i];
        bool seen = false;
        if (n && (list[n - 1].a != r->a || list[n - 1].b != r->b))
            pair = n;
        for (uint32_t k = pair; k < n; k++)
            seen |= list[k].buffer == r->buffer;
        if (seen)
            continue;
        if (n == PSC_RACES_MAX) {
            w->cut = true;
            break;
        }
        list[n++] = *r;
    }
    *ret = (struct psc_races){list, n, w->cut};
    return PSC_OK;
}

enum psc_status psc_lanes_races(struct psc_arena *arena, const struct psc_story *story, struct psc_races *ret,
                                struct psc_error *reterr)
{
    struct work w = {.s = story, .n = story->position_n};
    enum psc_status status = index_edges(&w, reterr);
    if (!status)
        status = walk(&w, reterr);
    if (!status)
        status = answer(&w, arena, ret, reterr);
    for (uint32_t p = 0; w.clocks && p < w.n; p++)
        psc_free(w.clocks[p].at);
    for (size_t t = 0; t < w.track_n; t++) {
        psc_free(w.tracks[t].list[0]);
        psc_free(w.tracks[t].list[1]);
    }
    psc_free(w.tracks);
    psc_free(w.races);
    psc_map_release(&w.track_of);
    psc_arena_release(&w.scratch);
    return status;
}
