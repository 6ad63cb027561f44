#include "core/debug/history-index.h"

#include "core/base/mem.h"

#include <stdlib.h>
#include <string.h>

bool psc_history_is_writer(enum psc_event_kind kind)
{
    return kind == PSC_EV_FILL || kind == PSC_EV_WRITE || kind == PSC_EV_ROWS_WRITE || kind == PSC_EV_ENQUEUE ||
           kind == PSC_EV_COPY;
}

bool psc_history_is_reader(enum psc_event_kind kind)
{
    return kind == PSC_EV_READ || kind == PSC_EV_ROWS_READ || kind == PSC_EV_EXPORT || kind == PSC_EV_HOST_READ;
}

bool psc_history_is_access(enum psc_event_kind kind)
{
    return psc_history_is_writer(kind) || psc_history_is_reader(kind) || kind == PSC_EV_CAPTURE;
}

/* ---- building ---------------------------------------------------------------------------------------- */

/* Buffers one behind the other, each as long as the farthest byte that any event names. */
static uint64_t *lay_out(struct psc_arena *arena, const struct psc_story *story, struct psc_error *reterr)
{
    uint64_t *base = psc_arena_alloc0(arena, (size_t)story->buffer_n + 1, sizeof *base), at = 0;

    if (!base) {
        psc_fail_nomem(reterr);
        return NULL;
    }
    for (uint32_t i = 0; i < story->event_n; i++) {
        const struct psc_event *e = &story->events[i];
        if (e->buffer != PSC_NONE && e->hi > base[e->buffer])
            base[e->buffer] = e->hi;
    }
    for (uint32_t b = 0; b < story->buffer_n; b++) {
        uint64_t size = base[b];
        base[b] = at;
        if (!psc_add_u64(at, size, &at)) {
            psc_fail(reterr, PSC_ERR_TOO_BIG, "the buffers end beyond 2^64 bytes when laid one behind the other");
            return NULL;
        }
    }
    base[story->buffer_n] = at;
    return base;
}

/* Counting sort of the tenancies by first position: first - (-1) is an index. */
static const uint32_t *sort_by_first(struct psc_arena *arena, struct psc_arena *scratch, const struct psc_history *h)
{
    uint32_t position_n = h->story->position_n + 2;
    uint32_t *count = psc_arena_alloc0(scratch, (size_t)position_n + 1, sizeof *count);
    uint32_t *list = psc_arena_alloc(arena, h->tenancy_n, sizeof *list);

    if (!count || !list)
        return NULL;
    for (uint32_t i = 0; i < h->tenancy_n; i++)
        count[h->tenancies[i].first + 2]++;
    for (uint32_t p = 0; p < position_n; p++)
        count[p + 1] += count[p];
    for (uint32_t i = 0; i < h->tenancy_n; i++)
        list[count[h->tenancies[i].first + 1]++] = i;
    return list;
}

static bool build_heap(struct psc_arena *arena, const struct psc_history *h, struct psc_history_index *x)
{
    for (x->leaves = 1; x->leaves < h->tenancy_n; x->leaves <<= 1)
        ;
    int32_t *heap = psc_arena_alloc(arena, (size_t)x->leaves * 2, sizeof *heap);

    if (!heap)
        return false;
    for (uint32_t i = 0; i < x->leaves; i++)
        heap[x->leaves + i] = i < h->tenancy_n ? h->tenancies[x->by_first[i]].end : INT32_MIN;
    for (uint32_t i = x->leaves; --i;)
        heap[i] = heap[2 * i] > heap[2 * i + 1] ? heap[2 * i] : heap[2 * i + 1];
    x->latest_end = heap;
    return true;
}

static int by_node(const void *a, const void *b)
{
    const struct psc_node_value *x = a, *y = b;

    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    return x->value < y->value ? -1 : 1;
}

static bool list_nodes(struct psc_arena *arena, const struct psc_story *story, struct psc_history_index *x)
{
    struct psc_node_value *list = psc_arena_alloc(arena, story->value_n, sizeof *list);
    bool sorted = true;

    if (!list)
        return false;
    for (uint32_t i = 0; i < story->value_n; i++) {
        const struct psc_value *v = &story->values[i];
        if (v->node == PSC_NONE || v->slot != 0 || (v->kind != PSC_VALUE_NODE && v->kind != PSC_VALUE_FILL))
            continue;
        sorted = sorted && (x->node_n == 0 || list[x->node_n - 1].node < v->node);
        list[x->node_n++] = (struct psc_node_value){v->node, i};
    }
    if (!sorted)
        qsort(list, x->node_n, sizeof *list, by_node);
    x->nodes = list;
    return true;
}

enum psc_status psc_history_index_build(struct psc_arena *arena, struct psc_arena *scratch, struct psc_history *h,
                                        struct psc_error *reterr)
{
    struct psc_history_index *x = psc_arena_alloc0(arena, 1, sizeof *x);

    if (!x)
        return psc_fail_nomem(reterr);
    uint64_t *base = lay_out(arena, h->story, reterr);
    if (!base)
        return reterr ? reterr->status : PSC_ERR_NOMEM;
    enum psc_status status = psc_overlap_build(arena, h->story, base, psc_history_is_writer, &x->writers, reterr);
    if (!status)
        status = psc_overlap_build(arena, h->story, base, psc_history_is_reader, &x->readers, reterr);
    if (status)
        return status;
    x->by_first = sort_by_first(arena, scratch, h);
    if (!x->by_first || !build_heap(arena, h, x) || !list_nodes(arena, h->story, x))
        return psc_fail_nomem(reterr);
    h->index = x;
    return PSC_OK;
}

/* ---- who wrote, who reads ------------------------------------------------------------------------------ */

uint32_t psc_history_last_writer(const struct psc_history *h, uint32_t buffer, uint64_t lo, uint64_t hi, int32_t before)
{
    return psc_overlap_before(&h->index->writers, buffer, lo, hi, before);
}

uint32_t psc_history_next_writer(const struct psc_history *h, uint32_t buffer, uint64_t lo, uint64_t hi, int32_t after)
{
    return psc_overlap_after(&h->index->writers, buffer, lo, hi, after);
}

uint32_t psc_history_next_reader(const struct psc_history *h, uint32_t buffer, uint64_t lo, uint64_t hi, int32_t after)
{
    return psc_overlap_after(&h->index->readers, buffer, lo, hi, after);
}

uint32_t psc_history_last_reader(const struct psc_history *h, uint32_t buffer, uint64_t lo, uint64_t hi, int32_t before)
{
    return psc_overlap_before(&h->index->readers, buffer, lo, hi, before);
}

uint32_t psc_history_next_access(const struct psc_history *h, uint32_t buffer, int32_t after)
{
    uint32_t to = h->access_at[buffer + 1];
    uint32_t i = psc_overlap_bound(h->story, h->accesses, h->access_at[buffer], to, (int64_t)after + 1);

    return i < to ? h->accesses[i] : PSC_NONE;
}

uint32_t psc_history_prev_access(const struct psc_history *h, uint32_t buffer, int32_t before)
{
    uint32_t from = h->access_at[buffer];
    uint32_t i = psc_overlap_bound(h->story, h->accesses, from, h->access_at[buffer + 1], before);

    return i > from ? h->accesses[i - 1] : PSC_NONE;
}

/* ---- tenants --------------------------------------------------------------------------------------------- */

/* The tenancy that a write began or, for rows and the second half of a copy, went on with: the last one of
 * its value that began no later. */
static uint32_t tenancy_of_write(const struct psc_history *h, uint32_t event)
{
    uint32_t value = h->story->events[event].value;
    uint32_t first = h->value_at[value], from = first, to = h->value_at[value + 1];

    if (h->story->values[value].kind == PSC_VALUE_REGION)
        return psc_history_of_value(h, value);
    while (from < to) {
        uint32_t mid = from + (to - from) / 2;
        if (h->tenancies[h->value_tenancies[mid]].write_event <= event)
            from = mid + 1;
        else
            to = mid;
    }
    return from > first ? h->value_tenancies[from - 1] : PSC_NONE;
}

/* The tenancy that holds the byte before anything is written: only a persistent region does. */
static uint32_t region_at(const struct psc_history *h, uint32_t buffer, uint64_t byte)
{
    uint32_t first = h->buffer_at[buffer], from = first, to = h->buffer_at[buffer + 1];

    while (from < to) {
        uint32_t mid = from + (to - from) / 2;
        if (h->tenancies[mid].first == -1 && h->tenancies[mid].lo <= byte)
            from = mid + 1;
        else
            to = mid;
    }
    return from > first ? from - 1 : PSC_NONE;
}

uint32_t psc_history_tenant(const struct psc_history *h, uint32_t buffer, uint64_t byte, int32_t position)
{
    uint32_t event = PSC_NONE;

    if (byte < UINT64_MAX && position < INT32_MAX)
        event = psc_history_last_writer(h, buffer, byte, byte + 1, position + 1);
    uint32_t found = event != PSC_NONE ? tenancy_of_write(h, event) : region_at(h, buffer, byte);
    if (found == PSC_NONE)
        return PSC_NONE;
    const struct psc_tenancy *t = &h->tenancies[found];
    return t->lo <= byte && byte < t->hi && t->first <= position && position < t->end ? found : PSC_NONE;
}

/* Keeps the `max` smallest of all that are put in: a heap with the largest on top. */
struct smallest {
    uint32_t *items;
    uint32_t n, max;
};

static void sift_down(uint32_t *items, uint32_t n, uint32_t i)
{
    for (uint32_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && items[child + 1] > items[child])
            child++;
        if (items[i] >= items[child])
            return;
        uint32_t t = items[i];
        items[i] = items[child];
        items[child] = t;
    }
}

static void put(struct smallest *s, uint32_t item)
{
    if (s->n == s->max) {
        if (s->max && item < s->items[0]) {
            s->items[0] = item;
            sift_down(s->items, s->n, 0);
        }
        return;
    }
    uint32_t i = s->n++;
    for (; i && s->items[(i - 1) / 2] < item; i = (i - 1) / 2)
        s->items[i] = s->items[(i - 1) / 2];
    s->items[i] = item;
}

uint32_t psc_history_live_at(const struct psc_history *h, int32_t position, uint32_t *ret, uint32_t max)
{
    const struct psc_history_index *x = h->index;
    struct smallest live = {ret, 0, max};
    struct { uint32_t node, size; } stack[64]; /* of the heap; size: leaves below */
    uint32_t depth = 0, n = 0;
    uint32_t from = 0, begun = h->tenancy_n; /* those that have begun: by_first[0, begun) */

    while (from < begun) {
        uint32_t mid = from + (begun - from) / 2;
        if (h->tenancies[x->by_first[mid]].first <= position)
            from = mid + 1;
        else
            begun = mid;
    }
    stack[depth].node = 1;
    stack[depth++].size = x->leaves;
    while (depth) {
        uint32_t i = stack[--depth].node, size = stack[depth].size;
        if (x->latest_end[i] <= position || i * size - x->leaves >= begun)
            continue;
        if (size == 1) {
            put(&live, x->by_first[i - x->leaves]);
            n++;
            continue;
        }
        for (uint32_t half = 2; half--; depth++) {
            stack[depth].node = 2 * i + half;
            stack[depth].size = size / 2;
        }
    }
    for (uint32_t end = live.n; end > 1; end--) { /* heap to ascending order */
        uint32_t t = live.items[0];
        live.items[0] = live.items[end - 1];
        live.items[end - 1] = t;
        sift_down(live.items, end - 1, 0);
    }
    return n;
}

uint32_t psc_history_of_value(const struct psc_history *h, uint32_t value)
{
    uint32_t at = h->value_at[value];

    return at < h->value_at[value + 1] ? h->value_tenancies[at] : PSC_NONE;
}

uint32_t psc_history_value_of_node(const struct psc_history *h, psc_node node)
{
    const struct psc_history_index *x = h->index;
    uint32_t from = 0, to = x->node_n;

    while (from < to) {
        uint32_t mid = from + (to - from) / 2;
        if (x->nodes[mid].node < node)
            from = mid + 1;
        else
            to = mid;
    }
    return from < x->node_n && x->nodes[from].node == node ? x->nodes[from].value : PSC_NONE;
}
