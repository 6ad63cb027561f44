#include "core/debug/compare-stories.h"

#include "core/base/hash.h"
#include "core/base/mem.h"

#include <stdlib.h>
#include <string.h>

const char *psc_story_diff_name(enum psc_story_diff_kind kind)
{
    static const char *const names[PSC_DIFF_N] = {"another buffer", "other bytes", "missing", "not planned", "another order"};
    return kind < PSC_DIFF_N ? names[kind] : "?";
}

/* What an event is, wherever it stands. */
struct key {
    uint32_t kind, node, operand, value_kind, value_node, slot, layer, backend;
    uint32_t nth; /* of those alike */
    uint32_t event;
};
struct making {
    const struct psc_story *planned, *recorded;
    struct key *a, *b;       /* of planned, recorded; owned */
    size_t a_n, b_n;
    uint32_t *match;         /* [planned->event_n] recorded event, PSC_NONE; owned */
    bool *found;             /* [recorded->event_n]; owned */
    struct psc_story_diff *diffs; /* owned */
    size_t diff_n, diff_cap;
    uint32_t kinds, pair_n;
    uint32_t *buffer_of;     /* in the result's arena */
    bool failed;
};

#define COMPARED (1u << PSC_EV_FILL | 1u << PSC_EV_WRITE | 1u << PSC_EV_READ | 1u << PSC_EV_ROWS_WRITE | 1u << PSC_EV_ROWS_READ | \
                  1u << PSC_EV_ENQUEUE | 1u << PSC_EV_COPY | 1u << PSC_EV_EXPORT)

/* ---- keys ---------------------------------------------------------------------------------------------------- */

/* Backends are told apart by name: the two stories may number them otherwise. */
static uint32_t backend_key(const struct psc_story *story, uint8_t backend)
{
    const char *name = backend < story->backend_n ? story->backends[backend] : NULL;
    return name ? (uint32_t)psc_hash_bytes(name, strlen(name), 1) : 0;
}

static struct key key_of(const struct psc_story *story, uint32_t i)
{
    const struct psc_event *e = &story->events[i];
    struct key key = {.kind = e->kind, .node = e->node, .operand = e->operand, .value_kind = UINT32_MAX, .event = i};
    if (e->value >= story->value_n)
        return key;
    const struct psc_value *v = &story->values[e->value];
    key.value_kind = v->kind;
    key.value_node = v->node;
    key.slot = v->slot;
    key.layer = (uint32_t)v->layer;
    if (v->kind == PSC_VALUE_STAGING)
        key.backend = backend_key(story, v->backend);
    return key;
}

static int compare_keys(const struct key *x, const struct key *y)
{
    const uint32_t a[] = {x->kind, x->node, x->operand, x->value_kind, x->value_node, x->slot, x->layer, x->backend, x->nth};
    const uint32_t b[] = {y->kind, y->node, y->operand, y->value_kind, y->value_node, y->slot, y->layer, y->backend, y->nth};
    for (size_t i = 0; i < sizeof a / sizeof *a; i++)
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    return 0;
}

static int by_key(const void *x, const void *y)
{
    const struct key *a = x, *b = y;
    int order = compare_keys(a, b);
    return order ? order : a->event < b->event ? -1 : a->event > b->event;
}

static uint32_t kinds_of(const struct psc_story *story)
{
    uint32_t kinds = 0;
    for (uint32_t i = 0; i < story->event_n; i++)
        kinds |= 1u << story->events[i].kind;
    return kinds;
}

/* Sorted keys of the events that are compared; those alike are numbered as they stand. Reads of a second run, which the
 * record has to say that inputs are still there, are none of the plan's. */
static struct key *make_keys(struct making *m, const struct psc_story *story, size_t *ret_n)
{
    struct key *keys = psc_alloc0((size_t)story->event_n + 1, sizeof *keys);
    size_t n = 0;
    for (uint32_t i = 0; keys && i < story->event_n; i++)
        if (m->kinds & 1u << story->events[i].kind && story->events[i].run == 0)
            keys[n++] = key_of(story, i);
    if (keys && n)
        qsort(keys, n, sizeof *keys, by_key);
    for (size_t i = 1; keys && i < n; i++) {
        struct key before = keys[i - 1];
        before.nth = 0;
        keys[i].nth = compare_keys(&before, &keys[i]) == 0 ? keys[i - 1].nth + 1 : 0;
    }
    *ret_n = n;
    m->failed |= !keys;
    return keys;
}

/* ---- buffers --------------------------------------------------------------------------------------------------- */

static uint64_t buffer_key(const struct psc_story *story, const struct psc_buffer *b)
{
    char number[24];
    const char *name = b->name;
    if (!name) {
        size_t n = 0;
        for (uint64_t id = b->id; n < 20; id /= 10) {
            number[n++] = (char)('0' + id % 10);
            if (id < 10)
                break;
        }
        number[n] = 0;
        name = number;
    }
    return psc_hash_bytes(name, strlen(name), backend_key(story, b->backend));
}

static bool same_buffer(const struct psc_story *a, const struct psc_buffer *x, const struct psc_story *b, const struct psc_buffer *y)
{
    bool named = x->name && y->name ? !strcmp(x->name, y->name) : !x->name && !y->name && x->id == y->id;
    return named && backend_key(a, x->backend) == backend_key(b, y->backend);
}

static bool match_buffers(struct making *m, struct psc_arena *arena)
{
    struct psc_map map = {0};
    bool good = true;
    m->buffer_of = psc_arena_alloc(arena, (size_t)m->planned->buffer_n + 1, sizeof *m->buffer_of);
    for (uint32_t i = 0; m->buffer_of && good && i < m->recorded->buffer_n; i++) {
        uint32_t old;
        good = psc_map_put(&map, buffer_key(m->recorded, &m->recorded->buffers[i]), i, &old);
    }
    for (uint32_t i = 0; m->buffer_of && good && i < m->planned->buffer_n; i++) {
        uint32_t at;
        bool known = psc_map_get(&map, buffer_key(m->planned, &m->planned->buffers[i]), &at) &&
                     same_buffer(m->planned, &m->planned->buffers[i], m->recorded, &m->recorded->buffers[at]);
        m->buffer_of[i] = known ? at : PSC_NONE;
    }
    psc_map_release(&map);
    return m->buffer_of && good;
}

/* ---- differences -------------------------------------------------------------------------------------------------- */

static void put(struct making *m, enum psc_story_diff_kind kind, uint32_t planned, uint32_t recorded)
{
    const struct psc_event *e = recorded != PSC_NONE ? &m->recorded->events[recorded] : &m->planned->events[planned];
    if (!psc_grow(&m->diffs, m->diff_n + 1, &m->diff_cap, sizeof *m->diffs)) {
        m->failed = true;
        return;
    }
    m->diffs[m->diff_n++] = (struct psc_story_diff){kind, planned, recorded, e->node, e->position};
}

static void compare_pair(struct making *m, uint32_t planned, uint32_t recorded)
{
    const struct psc_event *p = &m->planned->events[planned], *r = &m->recorded->events[recorded];
    uint32_t wanted = p->buffer < m->planned->buffer_n ? m->buffer_of[p->buffer] : PSC_NONE;
    m->match[planned] = recorded;
    m->found[recorded] = true;
    m->pair_n++;
    if (r->kind == PSC_EV_WAIT)
        return; /* it has no bytes */
    if (wanted != r->buffer)
        put(m, PSC_DIFF_BUFFER, planned, recorded);
    else if (p->lo != r->lo || p->hi != r->hi)
        put(m, PSC_DIFF_BYTES, planned, recorded);
}

static void walk_keys(struct making *m)
{
    size_t i = 0, k = 0;
    while (i < m->a_n || k < m->b_n) {
        int order = i >= m->a_n ? 1 : k >= m->b_n ? -1 : compare_keys(&m->a[i], &m->b[k]);
        if (order == 0)
            compare_pair(m, m->a[i++].event, m->b[k++].event);
        else if (order < 0)
            put(m, PSC_DIFF_MISSING, m->a[i++].event, PSC_NONE);
        else
            put(m, PSC_DIFF_EXTRA, PSC_NONE, m->b[k++].event);
    }
}

/* ---- order -------------------------------------------------------------------------------------------------------- */

struct place { uint32_t planned, recorded; }; /* first events of one node */

static int by_plan(const void *x, const void *y)
{
    const struct place *a = x, *b = y;
    return a->planned < b->planned ? -1 : a->planned > b->planned;
}

/* First pair of every node, in the order of the plan. The host's own events have no order among the nodes. */
static struct place *places_of(struct making *m, size_t *ret_n)
{
    struct place *places = psc_alloc0((size_t)m->planned->event_n + 1, sizeof *places);
    struct psc_map first = {0};
    size_t n = 0;
    for (uint32_t i = 0; places && i < m->planned->event_n; i++) {
        const struct psc_event *e = &m->planned->events[i];
        uint32_t old;
        if (m->match[i] == PSC_NONE || e->node == PSC_NONE || e->kind == PSC_EV_FILL || e->kind == PSC_EV_ENQUEUE)
            continue;
        if (!psc_map_put(&first, e->node, (uint32_t)n, &old)) {
            psc_map_release(&first);
            psc_free(places);
            return NULL;
        }
        if (old == UINT32_MAX)
            places[n++] = (struct place){i, m->match[i]};
        else if (m->match[i] < places[old].recorded)
            places[old].recorded = m->match[i];
    }
    psc_map_release(&first);
    if (places && n)
        qsort(places, n, sizeof *places, by_plan);
    *ret_n = n;
    return places;
}

/* The nodes outside a longest ascending run of recorded places. */
static void compare_order(struct making *m)
{
    size_t n = 0, length = 0;
    struct place *places = places_of(m, &n);
    size_t *end = psc_alloc0(n + 1, sizeof *end), *before = psc_alloc0(n + 1, sizeof *before);
    bool *kept = psc_alloc0(n + 1, sizeof *kept);
    m->failed |= !places || !end || !before || !kept;
    for (size_t i = 0; !m->failed && i < n; i++) {
        size_t lo = 0, hi = length; /* end[k]: last of the best run of k + 1 places */
        while (lo < hi) {
            size_t middle = lo + (hi - lo) / 2;
            if (places[end[middle]].recorded < places[i].recorded)
                lo = middle + 1;
            else
                hi = middle;
        }
        before[i] = lo ? end[lo - 1] : SIZE_MAX;
        end[lo] = i;
        length = lo == length ? length + 1 : length;
    }
    for (size_t i = length ? end[length - 1] : SIZE_MAX; !m->failed && i != SIZE_MAX; i = before[i])
        kept[i] = true;
    for (size_t i = 0; !m->failed && i < n; i++)
        if (!kept[i])
            put(m, PSC_DIFF_ORDER, places[i].planned, places[i].recorded);
    psc_free(places);
    psc_free(end);
    psc_free(before);
    psc_free(kept);
}

/* ---- the whole ------------------------------------------------------------------------------------------------------ */

static int by_position(const void *x, const void *y)
{
    const struct psc_story_diff *a = x, *b = y;
    if (a->position != b->position)
        return a->position < b->position ? -1 : 1;
    if (a->recorded != b->recorded)
        return a->recorded < b->recorded ? -1 : 1;
    if (a->planned != b->planned)
        return a->planned < b->planned ? -1 : 1;
    return a->kind < b->kind ? -1 : a->kind > b->kind;
}

/* How far the record comes: a run that a fault stopped misses all that was planned behind its last op. */
static void find_end(const struct making *m, struct psc_story_comparison *c)
{
    int32_t end = -1;
    bool op_behind = false;
    c->last = PSC_NONE;
    for (uint32_t i = 0; i < m->planned->event_n; i++) {
        const struct psc_event *e = &m->planned->events[i];
        if (m->match[i] == PSC_NONE || e->node == PSC_NONE || e->kind == PSC_EV_FILL || e->position < end)
            continue;
        end = e->position, c->last = e->node;
    }
    for (uint32_t i = 0; c->last != PSC_NONE && i < c->diff_n; i++) {
        if (c->diffs[i].kind != PSC_DIFF_MISSING || c->diffs[i].position <= end)
            continue;
        c->behind_n++;
        op_behind |= c->diffs[i].node != PSC_NONE;
    }
    if (!op_behind)
        c->behind_n = 0; /* only the host's own, at the end: no op is missing */
}

static bool make_result(struct making *m, struct psc_arena *arena, struct psc_story_comparison **ret)
{
    struct psc_story_comparison *c = psc_arena_alloc0(arena, 1, sizeof *c);
    struct psc_story_diff *diffs = psc_arena_alloc(arena, m->diff_n, sizeof *diffs);
    uint32_t *diff_at = psc_arena_alloc(arena, (size_t)m->recorded->event_n + 1, sizeof *diff_at);
    if (!c || !diffs || !diff_at)
        return false;
    if (m->diff_n) {
        qsort(m->diffs, m->diff_n, sizeof *m->diffs, by_position);
        memcpy(diffs, m->diffs, m->diff_n * sizeof *diffs);
    }
    memset(diff_at, 0xff, ((size_t)m->recorded->event_n + 1) * sizeof *diff_at);
    *c = (struct psc_story_comparison){.diffs = diffs, .diff_n = (uint32_t)m->diff_n, .pair_n = m->pair_n, .kinds = m->kinds,
                                       .buffer_of = m->buffer_of, .diff_at = diff_at};
    for (uint32_t i = 0; i < c->diff_n; i++) {
        c->count[diffs[i].kind]++;
        if (diffs[i].recorded != PSC_NONE)
            diff_at[diffs[i].recorded] = i;
    }
    find_end(m, c);
    *ret = c;
    return true;
}

enum psc_status psc_compare_stories(struct psc_arena *arena, const struct psc_story *planned, const struct psc_story *recorded,
                                    struct psc_story_comparison **ret, struct psc_error *reterr)
{
    struct making m = {.planned = planned, .recorded = recorded};
    m.kinds = COMPARED & kinds_of(recorded);
    if (m.kinds & 1u << PSC_EV_ENQUEUE)
        m.kinds |= 1u << PSC_EV_WAIT;
    m.match = psc_alloc0((size_t)planned->event_n + 1, sizeof *m.match);
    m.found = psc_alloc0((size_t)recorded->event_n + 1, sizeof *m.found);
    m.a = make_keys(&m, planned, &m.a_n);
    m.b = make_keys(&m, recorded, &m.b_n);
    m.failed = m.failed || !m.match || !m.found || !match_buffers(&m, arena);
    if (!m.failed) {
        memset(m.match, 0xff, ((size_t)planned->event_n + 1) * sizeof *m.match);
        walk_keys(&m);
    }
    if (!m.failed)
        compare_order(&m);
    bool made = !m.failed && make_result(&m, arena, ret);
    psc_free(m.a);
    psc_free(m.b);
    psc_free(m.match);
    psc_free(m.found);
    psc_free(m.diffs);
    return made ? PSC_OK : psc_fail_nomem(reterr);
}
