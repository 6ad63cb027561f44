#include "core/debug/holders.h"

#include "core/base/mem.h"

#include <stdlib.h>
#include <string.h>

enum psc_status psc_holders_splits(struct psc_arena *arena, const struct psc_graph *graph,
                                   const psc_node *order, const uint32_t **ret, struct psc_error *reterr)
{
    uint32_t *split_of = psc_arena_alloc(arena, graph->n, sizeof *split_of);
    uint32_t split = 0;
    uint8_t backend = PSC_BACKEND_NONE;
    if (!split_of)
        return psc_fail_nomem(reterr);
    for (uint32_t p = 0; p < graph->n; p++) {
        psc_node node = order ? order[p] : p;
        uint8_t here = graph->nodes[node].backend;
        if (here != PSC_BACKEND_NONE && here != backend) {
            split += backend != PSC_BACKEND_NONE;
            backend = here;
        }
        split_of[node] = split;
    }
    *ret = split_of;
    return PSC_OK;
}

/* A node's output in a buffer, or any other write of the story. */
struct window {
    uint64_t lo, hi;
    psc_node node;   /* whose output it is, PSC_NONE for other writes */
    psc_node writer; /* PSC_NONE for a view: nothing is written */
    int32_t position;
    uint32_t split;
};

static bool is_window(const struct psc_story *story, const struct psc_event *e, uint32_t node_n)
{
    return e->run == 0 && (e->kind == PSC_EV_WRITE || e->kind == PSC_EV_VIEW) &&
           e->buffer < story->buffer_n && e->value < story->value_n && e->node < node_n && e->lo < e->hi;
}

/* The story's windows, those of one buffer in a row, in order of events. at[buffer_n + 1] gets the borders. */
static struct window *gather(struct psc_arena *scratch, const struct psc_story *story,
                             const uint32_t *split_of, uint32_t node_n, uint32_t *at)
{
    for (uint32_t i = 0; i < story->event_n; i++)
        if (is_window(story, &story->events[i], node_n))
            at[story->events[i].buffer + 1]++;
    for (uint32_t b = 0; b < story->buffer_n; b++)
        at[b + 1] += at[b];
    struct window *windows = psc_arena_alloc(scratch, at[story->buffer_n], sizeof *windows);
    uint32_t *next = psc_arena_alloc(scratch, story->buffer_n, sizeof *next);
    if (!windows || !next)
        return NULL;
    memcpy(next, at, story->buffer_n * sizeof *next);
    for (uint32_t i = 0; i < story->event_n; i++) {
        const struct psc_event *e = &story->events[i];
        if (!is_window(story, e, node_n))
            continue;
        const struct psc_value *v = &story->values[e->value];
        windows[next[e->buffer]++] = (struct window){
            .lo = e->lo,
            .hi = e->hi,
            .position = e->position,
            .split = split_of[e->node],
            .node = v->kind == PSC_VALUE_NODE && v->slot == 0 ? e->node : PSC_NONE,
            .writer = e->kind == PSC_EV_WRITE ? e->node : PSC_NONE,
        };
    }
    return windows;
}

static void settle(struct psc_holder *holder, const struct window *w, const struct window *last)
{
    if (!last) {
        *holder = (struct psc_holder){w->node, true, true, 0};
        return;
    }
    bool whole = last->lo <= w->lo && last->hi >= w->hi;
    *holder =
        (struct psc_holder){last->writer, last->position <= w->position, whole, whole ? w->lo - last->lo : 0};
}

/* Which write touches an interval last: a segment tree over the borders of all windows of one buffer. Writes
 * come in order, so the newest of two is the one with the larger number (1-based; 0 = none). */
struct touches {
    uint64_t *borders;
    uint32_t border_n, leaf_n; /* leaves: a power of two, leaf k = [borders[k], borders[k+1]) */
    uint32_t *full, *any;      /* [2 * leaf_n]: newest write that covers / touches the segment */
};

static int compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static bool touches_init(struct psc_arena *scratch, const struct window *w, uint32_t n, struct touches *t)
{
    t->borders = psc_arena_alloc(scratch, n, 2 * sizeof *t->borders);
    if (!t->borders)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        t->borders[2 * i] = w[i].lo;
        t->borders[2 * i + 1] = w[i].hi;
    }
    qsort(t->borders, (size_t)n * 2, sizeof *t->borders, compare_u64);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < 2 * n; i++)
        if (!kept || t->borders[kept - 1] != t->borders[i])
            t->borders[kept++] = t->borders[i];
    t->border_n = kept;
    for (t->leaf_n = 1; t->leaf_n < kept;)
        t->leaf_n *= 2;
    t->full = psc_arena_alloc0(scratch, t->leaf_n, 2 * sizeof *t->full);
    t->any = psc_arena_alloc0(scratch, t->leaf_n, 2 * sizeof *t->any);
    return t->full && t->any;
}

static uint32_t leaf_at(const struct touches *t, uint64_t border)
{
    uint32_t lo = 0, hi = t->border_n;
    while (hi - lo > 1) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (t->borders[mid] <= border)
            lo = mid;
        else
            hi = mid;
    }
    return t->leaf_n + lo;
}

static void touches_write(struct touches *t, const struct window *w, uint32_t number)
{
    uint32_t first = leaf_at(t, w->lo), end = leaf_at(t, w->hi);
    for (uint32_t i = first; i; i /= 2)
        t->any[i] = number;
    for (uint32_t i = end - 1; i; i /= 2)
        t->any[i] = number;
    for (uint32_t l = first, r = end; l < r; l /= 2, r /= 2) {
        if (l & 1) {
            t->full[l] = t->any[l] = number;
            l++;
        }
        if (r & 1) {
            r--;
            t->full[r] = t->any[r] = number;
        }
    }
}

static uint32_t touches_last(const struct touches *t, const struct window *w)
{
    uint32_t first = leaf_at(t, w->lo), end = leaf_at(t, w->hi), last = 0;
    for (uint32_t i = first; i; i /= 2)
        last = t->full[i] > last ? t->full[i] : last;
    for (uint32_t i = end - 1; i; i /= 2)
        last = t->full[i] > last ? t->full[i] : last;
    for (uint32_t l = first, r = end; l < r; l /= 2, r /= 2) {
        if (l & 1) {
            last = t->any[l] > last ? t->any[l] : last;
            l++;
        }
        if (r & 1) {
            r--;
            last = t->any[r] > last ? t->any[r] : last;
        }
    }
    return last;
}

/* Windows of one buffer and one split. */
static bool settle_run(struct psc_arena *scratch, const struct window *w, uint32_t n,
                       struct psc_holder *holders)
{
    const struct window *newest = NULL;
    uint64_t inner_lo = 0, inner_hi = UINT64_MAX;
    for (uint32_t i = 0; i < n; i++) {
        newest = w[i].writer != PSC_NONE ? &w[i] : newest;
        inner_lo = w[i].lo > inner_lo ? w[i].lo : inner_lo;
        inner_hi = w[i].hi < inner_hi ? w[i].hi : inner_hi;
    }
    if (!newest || inner_lo < inner_hi) { /* all share a byte: the newest write touches every window */
        for (uint32_t i = 0; i < n; i++)
            if (w[i].node != PSC_NONE)
                settle(&holders[w[i].node], &w[i], newest);
        return true;
    }
    struct psc_arena_mark mark = psc_arena_mark(scratch);
    struct touches touches = {0};
    bool done = touches_init(scratch, w, n, &touches);
    for (uint32_t i = 0; done && i < n; i++)
        if (w[i].writer != PSC_NONE)
            touches_write(&touches, &w[i], i + 1);
    for (uint32_t i = 0; done && i < n; i++) {
        if (w[i].node == PSC_NONE)
            continue;
        uint32_t last = touches_last(&touches, &w[i]);
        settle(&holders[w[i].node], &w[i], last ? &w[last - 1] : NULL);
    }
    psc_arena_rewind(scratch, mark);
    return done;
}

enum psc_status psc_holders_find(struct psc_arena *arena, const struct psc_graph *graph,
                                 const struct psc_story *story, const uint32_t *split_of,
                                 const struct psc_holder **ret, struct psc_error *reterr)
{
    struct psc_arena scratch = {0};
    struct psc_holder *holders = psc_arena_alloc(arena, graph->n, sizeof *holders);
    uint32_t *at = psc_arena_alloc0(&scratch, (size_t)story->buffer_n + 1, sizeof *at);
    struct window *windows = holders && at ? gather(&scratch, story, split_of, graph->n, at) : NULL;
    bool done = windows != NULL;
    for (uint32_t i = 0; done && i < graph->n; i++)
        holders[i] = (struct psc_holder){PSC_NONE, false, false, 0};
    for (uint32_t b = 0; done && b < story->buffer_n; b++)
        for (uint32_t i = at[b], end; done && i < at[b + 1]; i = end) {
            for (end = i + 1; end < at[b + 1] && windows[end].split == windows[i].split;)
                end++;
            done = settle_run(&scratch, windows + i, end - i, holders);
        }
    psc_arena_release(&scratch);
    if (!done)
        return psc_fail_nomem(reterr);
    *ret = holders;
    return PSC_OK;
}
