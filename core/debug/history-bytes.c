/* How many bytes of a buffer are in use at each position. */
#include "core/debug/history.h"

#include "core/base/mem.h"

#include <stdlib.h>
#include <string.h>

/* A tenancy begins or ends. */
struct edge {
    uint64_t lo, hi;
    int32_t at;
    bool ends;
};

/* Bytes that at least one of the intervals in it covers. Node 1 is all of them, nodes i and 2i, 2i + 1 as in a heap; leaf k is
 * [mark[k], mark[k + 1]). `times` counts the intervals that cover the whole node, and were put there and not further below. */
struct cover {
    uint64_t *mark, *width, *covered;
    uint32_t *times;
    uint32_t mark_n, leaf_n;
};

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static int by_position(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;
    return x->at < y->at ? -1 : x->at > y->at;
}

static void settle(struct cover *c, uint32_t i)
{
    c->covered[i] = c->times[i] ? c->width[i] : i < c->leaf_n ? c->covered[2 * i] + c->covered[2 * i + 1] : 0;
}

static void settle_above(struct cover *c, uint32_t leaf)
{
    for (uint32_t i = leaf / 2; i; i /= 2)
        settle(c, i);
}

static uint32_t leaf_at(const struct cover *c, uint64_t byte)
{
    const uint64_t *found = bsearch(&byte, c->mark, c->mark_n, sizeof *c->mark, by_number);
    return c->leaf_n + (uint32_t)(found - c->mark);
}

static void put(struct cover *c, const struct edge *e)
{
    uint32_t first = leaf_at(c, e->lo), end = leaf_at(c, e->hi);
    for (uint32_t l = first, r = end; l < r; l /= 2, r /= 2) {
        if (l & 1)
            c->times[l] += e->ends ? UINT32_MAX : 1, settle(c, l++);
        if (r & 1)
            c->times[--r] += e->ends ? UINT32_MAX : 1, settle(c, r);
    }
    settle_above(c, first);
    settle_above(c, end - 1);
}

static bool cover_begin(struct cover *c, const struct edge *edges, uint32_t n)
{
    *c = (struct cover){.mark = psc_alloc(((size_t)n + 1) * 2 * sizeof *c->mark), .leaf_n = 1};
    if (!c->mark)
        return false;
    for (uint32_t i = 0; i < n; i++)
        c->mark[2 * i] = edges[i].lo, c->mark[2 * i + 1] = edges[i].hi;
    qsort(c->mark, 2 * (size_t)n, sizeof *c->mark, by_number);
    for (uint32_t i = 0; i < 2 * n; i++)
        if (!c->mark_n || c->mark[c->mark_n - 1] != c->mark[i])
            c->mark[c->mark_n++] = c->mark[i];
    while (c->leaf_n < c->mark_n)
        c->leaf_n *= 2;
    c->width = psc_alloc0(2 * (size_t)c->leaf_n, sizeof *c->width);
    c->covered = psc_alloc0(2 * (size_t)c->leaf_n, sizeof *c->covered);
    c->times = psc_alloc0(2 * (size_t)c->leaf_n, sizeof *c->times);
    if (!c->width || !c->covered || !c->times)
        return false;
    for (uint32_t k = 0; k + 1 < c->mark_n; k++)
        c->width[c->leaf_n + k] = c->mark[k + 1] - c->mark[k];
    for (uint32_t i = c->leaf_n - 1; i; i--)
        c->width[i] = c->width[2 * i] + c->width[2 * i + 1];
    return true;
}

static void cover_end(struct cover *c)
{
    psc_free(c->mark);
    psc_free(c->width);
    psc_free(c->covered);
    psc_free(c->times);
}

/* Tenancies that lie over each other (a clobber, a part written anew) count their common bytes once. */
static bool add_union(const struct psc_tenancy *t, uint32_t n, uint64_t *delta)
{
    struct edge *edges = psc_alloc(((size_t)n + 1) * 2 * sizeof *edges);
    struct cover cover = {0};
    uint32_t edge_n = 0;
    bool ok = edges != NULL;
    for (uint32_t i = 0; ok && i < n; i++) {
        if (t[i].end <= t[i].first || t[i].lo == t[i].hi)
            continue;
        edges[edge_n++] = (struct edge){.lo = t[i].lo, .hi = t[i].hi, .at = t[i].first};
        edges[edge_n++] = (struct edge){.lo = t[i].lo, .hi = t[i].hi, .at = t[i].end, .ends = true};
    }
    ok = ok && cover_begin(&cover, edges, edge_n);
    if (ok && edge_n)
        qsort(edges, edge_n, sizeof *edges, by_position);
    for (uint32_t i = 0; ok && i < edge_n; i++) {
        uint64_t before = cover.covered[1];
        put(&cover, &edges[i]);
        delta[edges[i].at + 1] += cover.covered[1] - before;
    }
    cover_end(&cover);
    psc_free(edges);
    return ok;
}

/* The whole buffer, as long as somebody lives in it. */
static void add_whole(const struct psc_tenancy *t, uint32_t n, uint64_t bytes, uint64_t *delta)
{
    int32_t busy = -1; /* counted before this position */
    for (uint32_t i = 0; i < n; i++) {
        if (t[i].end <= t[i].first || t[i].end <= busy)
            continue;
        delta[(t[i].first > busy ? t[i].first : busy) + 1] += bytes;
        delta[t[i].end + 1] -= bytes;
        busy = t[i].end;
    }
}

bool psc_history_add_used(const struct psc_history *h, uint32_t buffer, uint64_t *delta)
{
    const struct psc_tenancy *t = h->tenancies + h->buffer_at[buffer];
    uint32_t n = h->buffer_at[buffer + 1] - h->buffer_at[buffer];
    uint64_t top = 0, bytes = h->story->buffers[buffer].bytes;
    bool shared = false, overlaps = false;
    for (uint32_t i = 0; i < n; i++) {
        shared = shared || t[i].lo != 0;
        top = t[i].hi > top ? t[i].hi : top;
        overlaps = overlaps || (t[i].next_tenant != PSC_NONE && h->tenancies[t[i].next_tenant].first < t[i].end);
    }
    if (!shared)
        add_whole(t, n, bytes == UINT64_MAX || bytes < top ? top : bytes, delta);
    else if (overlaps)
        return add_union(t, n, delta);
    else
        for (uint32_t i = 0; i < n; i++)
            if (t[i].end > t[i].first)
                delta[t[i].first + 1] += t[i].hi - t[i].lo, delta[t[i].end + 1] -= t[i].hi - t[i].lo;
    return true;
}
