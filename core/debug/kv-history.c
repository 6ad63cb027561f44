#include "core/debug/kv-history.h"

#include "core/base/mem.h"

#include <stdlib.h>
#include <string.h>

struct write {
    uint32_t layer, lo, hi, step;
    psc_node node;
};
struct psc_kv_builder {
    struct write *writes; /* owned, in order of time */
    size_t write_n, write_cap;
    struct psc_kv_figure *figures; /* owned; rows and fresh are counted at the end */
    size_t figure_n, figure_cap;
    uint32_t layers;
    bool failed;
};

struct psc_kv_builder *psc_kv_builder_new(void)
{
    return psc_alloc0(1, sizeof(struct psc_kv_builder));
}

void psc_kv_builder_free(struct psc_kv_builder *b)
{
    if (!b)
        return;
    psc_free(b->writes);
    psc_free(b->figures);
    psc_free(b);
}

/* ---- adding --------------------------------------------------------------------------------------------- */

static void widen(uint32_t *lo, uint32_t *hi, uint32_t from, uint32_t to)
{
    bool empty = *hi <= *lo;
    if (to <= from)
        return;
    *lo = empty || from < *lo ? from : *lo;
    *hi = empty || to > *hi ? to : *hi;
}

static int by_rows(const void *a, const void *b)
{
    const struct write *x = a, *y = b;
    if (x->lo != y->lo)
        return x->lo < y->lo ? -1 : 1;
    return x->hi < y->hi ? -1 : x->hi > y->hi;
}

/* Rows that are in any of the writes; their order is lost. */
static uint32_t union_of(struct write *writes, size_t n)
{
    uint32_t rows = 0, end = 0;
    qsort(writes, n, sizeof *writes, by_rows);
    for (size_t i = 0; i < n; i++) {
        uint32_t lo = writes[i].lo > end ? writes[i].lo : end;
        rows += writes[i].hi > lo ? writes[i].hi - lo : 0;
        end = writes[i].hi > end ? writes[i].hi : end;
    }
    return rows;
}

static void count_written(struct psc_kv_builder *b, struct psc_kv_figure *figure, const struct write *writes, size_t n)
{
    struct write *copy = n ? psc_alloc(n * sizeof *copy) : NULL;
    if (!copy) {
        b->failed |= n > 0;
        return;
    }
    memcpy(copy, writes, n * sizeof *copy);
    figure->written = union_of(copy, n);
    psc_free(copy);
}

void psc_kv_builder_step(struct psc_kv_builder *b, uint32_t phase, uint32_t step, bool is_prefill, bool is_known,
                         const struct psc_kv_rows *rows, uint32_t n)
{
    struct psc_kv_figure figure = {.phase = phase, .step = step, .is_prefill = is_prefill, .is_known = is_known};
    size_t first = b->write_n;
    for (uint32_t i = 0; i < n; i++) {
        const struct psc_kv_rows *r = &rows[i];
        if (r->layer < 0 || (uint32_t)r->layer >= PSC_LAYERS_MAX || r->hi <= r->lo)
            continue;
        if ((uint32_t)r->layer >= b->layers)
            b->layers = (uint32_t)r->layer + 1;
        if (!r->is_write) {
            figure.unwritten += r->unwritten;
            widen(&figure.window_lo, &figure.window_hi, r->lo, r->hi);
            continue;
        }
        if (!psc_grow(&b->writes, b->write_n + 1, &b->write_cap, sizeof *b->writes)) {
            b->failed = true;
            return;
        }
        b->writes[b->write_n++] = (struct write){(uint32_t)r->layer, r->lo, r->hi, (uint32_t)b->figure_n, r->node};
        widen(&figure.write_lo, &figure.write_hi, r->lo, r->hi);
    }
    count_written(b, &figure, b->writes + first, b->write_n - first);
    if (psc_grow(&b->figures, b->figure_n + 1, &b->figure_cap, sizeof *b->figures))
        b->figures[b->figure_n++] = figure;
    else
        b->failed = true;
}

/* ---- a set of numbers below n with neighbours in O(log n): 64 children a word ------------------------------ */

#define DEPTH 6 /* 64^6 numbers */
struct set {
    uint64_t *words[DEPTH]; /* the leaves first; in one block */
    uint32_t n, depth;
};

static bool set_init(struct set *s, uint32_t n)
{
    size_t total = 0, at[DEPTH];
    uint64_t words = n ? n : 1;
    *s = (struct set){.n = n};
    do {
        words = (words + 63) / 64;
        at[s->depth++] = total;
        total += (size_t)words;
    } while (words > 1);
    uint64_t *block = psc_alloc0(total, sizeof *block);
    for (uint32_t d = 0; block && d < s->depth; d++)
        s->words[d] = block + at[d];
    return block != NULL;
}

static void set_put(struct set *s, uint32_t i)
{
    for (uint32_t d = 0; d < s->depth; d++, i /= 64)
        s->words[d][i / 64] |= UINT64_C(1) << (i % 64);
}

static void set_drop(struct set *s, uint32_t i)
{
    for (uint32_t d = 0; d < s->depth; d++, i /= 64)
        if (s->words[d][i / 64] &= ~(UINT64_C(1) << (i % 64)))
            return;
}

static uint32_t lowest(uint64_t word)
{
    uint32_t bit = 0;
    for (uint32_t width = 32; width; width /= 2)
        if (!(word & ((UINT64_C(1) << width) - 1)))
            word >>= width, bit += width;
    return bit;
}

static uint32_t highest(uint64_t word)
{
    uint32_t bit = 0;
    for (uint32_t width = 32; width; width /= 2)
        if (word >> width)
            word >>= width, bit += width;
    return bit;
}

/* The largest below i, or PSC_NONE. */
static uint32_t set_before(const struct set *s, uint32_t i)
{
    for (uint32_t d = 0; d < s->depth; d++, i /= 64) {
        uint64_t rest = s->words[d][i / 64] & ((UINT64_C(1) << (i % 64)) - 1);
        if (!rest)
            continue;
        i = i / 64 * 64 + highest(rest);
        while (d-- > 0)
            i = i * 64 + highest(s->words[d][i]);
        return i;
    }
    return PSC_NONE;
}

/* The smallest above i, or PSC_NONE. */
static uint32_t set_after(const struct set *s, uint32_t i)
{
    for (uint32_t d = 0; d < s->depth; d++, i /= 64) {
        uint64_t rest = i % 64 == 63 ? 0 : s->words[d][i / 64] >> (i % 64 + 1) << (i % 64 + 1);
        if (!rest)
            continue;
        i = i / 64 * 64 + lowest(rest);
        while (d-- > 0)
            i = i * 64 + lowest(s->words[d][i]);
        return i;
    }
    return PSC_NONE;
}

/* ---- the sweep over the rows of one layer --------------------------------------------------------------------- */

struct edge { uint32_t row, write; bool is_end; }; /* of a write, counted in order of time */
struct sweep {
    const struct write *writes; /* of the layer */
    struct set alive;           /* the writes that cover the row */
    uint32_t *since;            /* [writes] first row of the span that is open now */
    struct psc_kv_span *spans;  /* owned */
    size_t span_n, span_cap;
    uint32_t *fresh;            /* [steps] or NULL: rows that were written here for the first time */
    uint32_t first, first_row;  /* the earliest writer alive, since which row */
    bool failed;
};

static int by_row(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;
    if (x->row != y->row)
        return x->row < y->row ? -1 : 1;
    if (x->is_end != y->is_end)
        return x->is_end ? -1 : 1;
    return x->write < y->write ? -1 : x->write > y->write;
}

/* Closes what write i held up to `row`: until the next one alive took its place. */
static void close_span(struct sweep *s, uint32_t i, uint32_t next, uint32_t row)
{
    const struct write *w = &s->writes[i];
    uint32_t to = next == PSC_NONE ? PSC_KV_FOR_EVER : s->writes[next].step, since = s->since[i];
    s->since[i] = row;
    if (row <= since || to == w->step) /* the same step wrote the rows again */
        return;
    struct psc_kv_span *last = s->span_n ? &s->spans[s->span_n - 1] : NULL;
    if (last && last->hi == since && last->from == w->step && last->to == to && last->node == w->node) {
        last->hi = row;
        return;
    }
    if (!psc_grow(&s->spans, s->span_n + 1, &s->span_cap, sizeof *s->spans)) {
        s->failed = true;
        return;
    }
    s->spans[s->span_n++] = (struct psc_kv_span){since, row, w->step, to, w->node};
}

static void count_fresh(struct sweep *s, uint32_t first, uint32_t row)
{
    if (s->fresh && s->first != PSC_NONE)
        s->fresh[s->writes[s->first].step] += row - s->first_row;
    s->first = first;
    s->first_row = row;
}

static void cross(struct sweep *s, const struct edge *edge)
{
    uint32_t i = edge->write, before = set_before(&s->alive, i), after = set_after(&s->alive, i);
    if (before != PSC_NONE)
        close_span(s, before, edge->is_end ? i : after, edge->row);
    if (edge->is_end) {
        close_span(s, i, after, edge->row);
        set_drop(&s->alive, i);
    } else {
        s->since[i] = edge->row;
        set_put(&s->alive, i);
    }
    if (before == PSC_NONE) /* it was, or is now, the earliest */
        count_fresh(s, edge->is_end ? after : i, edge->row);
}

static int by_place(const void *a, const void *b)
{
    const struct psc_kv_span *x = a, *y = b;
    if (x->lo != y->lo)
        return x->lo < y->lo ? -1 : 1;
    return x->from < y->from ? -1 : x->from > y->from;
}

/* Spans of the n writes, appended to s->spans and sorted. */
static void sweep_layer(struct sweep *s, const struct write *writes, uint32_t n)
{
    size_t before = s->span_n;
    struct edge *edges = psc_alloc0(2 * (size_t)n + 1, sizeof *edges);
    s->since = psc_alloc0((size_t)n + 1, sizeof *s->since);
    s->writes = writes;
    s->first = PSC_NONE;
    s->failed |= !edges || !s->since || !set_init(&s->alive, n);
    for (uint32_t i = 0; !s->failed && i < n; i++) {
        edges[2 * i] = (struct edge){writes[i].lo, i, false};
        edges[2 * i + 1] = (struct edge){writes[i].hi, i, true};
    }
    if (!s->failed && n)
        qsort(edges, 2 * (size_t)n, sizeof *edges, by_row);
    for (size_t e = 0; !s->failed && e < 2 * (size_t)n; e++)
        cross(s, &edges[e]);
    if (!s->failed && s->span_n > before)
        qsort(s->spans + before, s->span_n - before, sizeof *s->spans, by_place);
    psc_free(edges);
    psc_free(s->since);
    psc_free(s->alive.words[0]);
    s->alive = (struct set){0};
}

/* ---- finishing ------------------------------------------------------------------------------------------------- */

/* The writes by layer, in each by time: a counting sort. Those of a layer: ret[at[layer] .. at[layer + 1]). */
static void sort_by_layer(const struct psc_kv_builder *b, struct write *ret, uint32_t *at, uint32_t layers)
{
    for (size_t i = 0; i < b->write_n; i++)
        at[b->writes[i].layer + 1]++;
    for (uint32_t l = 0; l < layers; l++)
        at[l + 1] += at[l];
    for (size_t i = 0; i < b->write_n; i++)
        ret[at[b->writes[i].layer]++] = b->writes[i];
    for (uint32_t l = layers; l > 0; l--) /* each stands at the end of its layer now */
        at[l] = at[l - 1];
    at[0] = 0;
}

/* All writes in order of time, those left out that repeat the rows of the one before in the same step. */
static uint32_t merge_layers(const struct psc_kv_builder *b, struct write *ret)
{
    uint32_t n = 0;
    for (size_t i = 0; i < b->write_n; i++) {
        const struct write *w = &b->writes[i], *last = n ? &ret[n - 1] : NULL;
        if (!last || last->lo != w->lo || last->hi != w->hi || last->step != w->step)
            ret[n++] = *w;
    }
    return n;
}

static enum psc_status put_together(const struct psc_kv_builder *b, struct psc_arena *arena, struct sweep *s,
                                    const uint32_t *layer_at, uint32_t layers, struct psc_kv_history **ret,
                                    struct psc_error *reterr)
{
    struct psc_kv_history *h = psc_arena_alloc0(arena, 1, sizeof *h);
    struct psc_kv_span *spans = psc_arena_alloc(arena, s->span_n, sizeof *spans);
    uint32_t *at = psc_arena_alloc(arena, (size_t)layers + 2, sizeof *at);
    struct psc_kv_figure *figures = psc_arena_alloc(arena, b->figure_n, sizeof *figures);
    uint32_t rows = 0;
    if (!h || !spans || !at || !figures)
        return psc_fail_nomem(reterr);
    if (s->span_n)
        memcpy(spans, s->spans, s->span_n * sizeof *spans);
    memcpy(at, layer_at, ((size_t)layers + 2) * sizeof *at);
    for (size_t i = 0; i < b->figure_n; i++) {
        figures[i] = b->figures[i];
        figures[i].fresh = s->fresh[i];
        figures[i].rows = rows += s->fresh[i];
    }
    *h = (struct psc_kv_history){layers, (uint32_t)b->figure_n, spans, at, figures};
    *ret = h;
    return PSC_OK;
}

enum psc_status psc_kv_builder_finish(const struct psc_kv_builder *b, struct psc_arena *arena, uint32_t layers,
                                      struct psc_kv_history **ret, struct psc_error *reterr)
{
    enum psc_status status = PSC_OK;
    layers = layers > b->layers ? layers : b->layers;
    if (b->write_n > UINT32_MAX / 2 || layers > PSC_LAYERS_MAX)
        return psc_fail(reterr, PSC_ERR_TOO_BIG, "more than %u writes of KV rows", UINT32_MAX / 2);
    struct write *sorted = psc_alloc0(b->write_n + 1, sizeof *sorted);
    uint32_t *at = psc_alloc0((size_t)layers + 1, sizeof *at), *span_at = psc_alloc0((size_t)layers + 2, sizeof *span_at);
    struct sweep s = {0};
    if (b->failed || !sorted || !at || !span_at) {
        status = psc_fail_nomem(reterr);
    } else {
        sort_by_layer(b, sorted, at, layers);
        for (uint32_t l = 0; l < layers; l++) {
            sweep_layer(&s, sorted + at[l], at[l + 1] - at[l]);
            span_at[l + 1] = (uint32_t)s.span_n;
        }
        s.fresh = psc_alloc0(b->figure_n + 1, sizeof *s.fresh);
        s.failed |= !s.fresh;
        if (!s.failed)
            sweep_layer(&s, sorted, merge_layers(b, sorted));
        span_at[layers + 1] = (uint32_t)s.span_n;
        status = s.failed ? psc_fail_nomem(reterr) : put_together(b, arena, &s, span_at, layers, ret, reterr);
    }
    psc_free(s.fresh);
    psc_free(s.spans);
    psc_free(sorted);
    psc_free(at);
    psc_free(span_at);
    return status;
}

/* ---- states ------------------------------------------------------------------------------------------------------ */

static bool holds_at(const struct psc_kv_span *span, uint32_t step)
{
    return span->from < step && step <= span->to;
}

enum psc_status psc_kv_state_build(struct psc_arena *arena, const struct psc_kv_history *h, uint32_t step,
                                   struct psc_kv_state *ret, struct psc_error *reterr)
{
    size_t n = 0;
    for (uint32_t i = 0; i < h->layer_at[h->layers + 1]; i++)
        n += holds_at(&h->spans[i], step);
    struct psc_kv_span *spans = psc_arena_alloc(arena, n, sizeof *spans);
    uint32_t *at = psc_arena_alloc(arena, (size_t)h->layers + 2, sizeof *at);
    if (!spans || !at)
        return psc_fail_nomem(reterr);
    n = 0;
    for (uint32_t layer = 0; layer <= h->layers; layer++) {
        at[layer] = (uint32_t)n;
        for (uint32_t i = h->layer_at[layer]; i < h->layer_at[layer + 1]; i++) {
            const struct psc_kv_span *span = &h->spans[i];
            struct psc_kv_span *last = n > at[layer] ? &spans[n - 1] : NULL;
            if (!holds_at(span, step))
                continue;
            if (last && last->hi == span->lo && last->from == span->from && last->node == span->node && last->to == span->to)
                last->hi = span->hi;
            else
                spans[n++] = *span;
        }
    }
    at[h->layers + 1] = (uint32_t)n;
    *ret = (struct psc_kv_state){h->layers, spans, at};
    return PSC_OK;
}

uint32_t psc_kv_state_find(const struct psc_kv_state *state, uint32_t layer, uint32_t row)
{
    uint32_t from = state->layer_at[layer], to = state->layer_at[layer + 1];
    while (from < to) {
        uint32_t middle = from + (to - from) / 2;
        if (state->spans[middle].hi <= row)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

const struct psc_kv_span *psc_kv_state_at(const struct psc_kv_state *state, uint32_t layer, uint32_t row)
{
    uint32_t i = psc_kv_state_find(state, layer, row);
    return i < state->layer_at[layer + 1] && state->spans[i].lo <= row ? &state->spans[i] : NULL;
}

uint32_t psc_kv_state_written(const struct psc_kv_state *state, uint32_t layer, uint32_t lo, uint32_t hi)
{
    uint32_t rows = 0;
    for (uint32_t i = psc_kv_state_find(state, layer, lo); i < state->layer_at[layer + 1] && state->spans[i].lo < hi; i++) {
        const struct psc_kv_span *s = &state->spans[i];
        uint32_t from = s->lo > lo ? s->lo : lo, to = s->hi < hi ? s->hi : hi;
        rows += to > from ? to - from : 0;
    }
    return rows;
}
