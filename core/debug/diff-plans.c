#include "core/debug/diff-plans.h"

#include "core/base/hash.h"
#include "core/base/mem.h"
#include "core/debug/diff-align.h"

#include <stdlib.h>
#include <string.h>

#define NOWHERE INT32_MIN

const char *psc_change_name(enum psc_change change)
{
    static const char *const names[PSC_CHANGE_N] = {"gone", "new", "moved", "grew", "shrank", "alias changed", "other life"};
    return change < PSC_CHANGE_N ? names[change] : "?";
}

const char *psc_part_name(enum psc_part_why why)
{
    static const char *const names[PSC_PART_N] = {"gone", "new", "size", "taken over", "apart", "shorter", "longer"};
    return why < PSC_PART_N ? names[why] : "?";
}

struct making {
    struct psc_arena *arena, scratch;
    struct psc_plan_diff *diff;
    uint32_t *a_bar, *b_bar;     /* [value_n] first tenancy of each value */
    bool *a_exact, *b_exact;     /* [position_n + 2] the position has a partner of its own */
    uint32_t *of_a, *of_b;       /* diff->change_of_a, change_of_b */
    struct psc_plan_change *list; /* diff->changes */
};

/* ---- who a tensor is --------------------------------------------------------------------------------------------- */

static uint64_t add_text(uint64_t key, const char *s)
{
    return psc_hash_mix(key ^ (s ? psc_hash_bytes(s, strlen(s), 7) : 3));
}

static uint64_t add_number(uint64_t key, uint64_t n)
{
    return psc_hash_mix(key ^ psc_hash_mix(n + 1));
}

static struct psc_align_key node_key(const struct psc_graph *g, psc_node node)
{
    const struct psc_node_info *info = &g->nodes[node];
    struct psc_align_key key = {.weak = 1};
    key.weak = add_text(key.weak, info->op_name);
    key.weak = add_text(key.weak, info->name);
    key.weak = add_text(key.weak, info->params->weight);
    key.weak = add_number(key.weak, (uint64_t)(int64_t)info->layer);
    key.strong = add_text(key.weak, info->dtype_name);
    for (int d = 0; d < 4; d++)
        key.strong = add_number(key.strong, info->shape[d]);
    return key;
}

psc_node psc_diff_node(const struct psc_diff_side *side, uint32_t value)
{
    const struct psc_value *v = &side->story->values[value];
    bool own = v->kind == PSC_VALUE_NODE || v->kind == PSC_VALUE_FILL;
    return side->graph && own && v->node < side->graph->n ? v->node : PSC_NONE;
}

/* A value that is no node's own: by its name, its place in the cache, or what it is a copy of. */
static struct psc_align_key other_key(const struct psc_diff_side *side, const struct psc_value *v, const struct psc_align_key *keys)
{
    const struct psc_story *story = side->story;
    struct psc_align_key key = {.weak = add_number(2, (uint64_t)v->kind)};
    key.weak = add_number(key.weak, (uint64_t)(int64_t)v->layer);
    key.weak = add_number(key.weak, v->slot);
    if (v->kind == PSC_VALUE_STAGING && v->of < story->value_n) {
        key.weak = add_text(key.weak, v->backend < story->backend_n ? story->backends[v->backend] : NULL);
        key.strong = add_number(key.weak, keys[v->of].strong);
        key.weak = add_number(key.weak, keys[v->of].weak);
        return key;
    }
    key.weak = v->name ? add_text(key.weak, v->name) : add_number(key.weak, v->node);
    key.strong = add_number(key.weak, v->bytes);
    return key;
}

static struct psc_align_key *make_keys(struct making *m, const struct psc_diff_side *side)
{
    const struct psc_story *story = side->story;
    struct psc_align_key *keys = psc_arena_alloc0(&m->scratch, (size_t)story->value_n + 1, sizeof *keys);
    for (uint32_t v = 0; keys && v < story->value_n; v++)
        if (psc_diff_node(side, v) != PSC_NONE)
            keys[v] = node_key(side->graph, story->values[v].node);
    for (uint32_t v = 0; keys && v < story->value_n; v++)
        if (psc_diff_node(side, v) == PSC_NONE)
            keys[v] = other_key(side, &story->values[v], keys);
    return keys;
}

static bool pair_values(struct making *m)
{
    struct psc_plan_diff *d = m->diff;
    uint32_t a_n = d->a.story->value_n, b_n = d->b.story->value_n;
    struct psc_align_key *a = make_keys(m, &d->a), *b = make_keys(m, &d->b);
    uint32_t *b_of = psc_arena_alloc(m->arena, (size_t)a_n + 1, sizeof *b_of);
    uint32_t *a_of = psc_arena_alloc(m->arena, (size_t)b_n + 1, sizeof *a_of);
    if (!a || !b || !b_of || !a_of || !psc_align(a, a_n, b, b_n, b_of, a_of))
        return false;
    d->b_of = b_of;
    d->a_of = a_of;
    for (uint32_t v = 0; v < a_n; v++)
        d->pair_n += b_of[v] != PSC_NONE;
    return true;
}

static uint32_t *first_bars(struct making *m, const struct psc_diff_side *side)
{
    uint32_t *bars = psc_arena_alloc(&m->scratch, (size_t)side->story->value_n + 1, sizeof *bars);
    for (uint32_t v = 0; bars && v < side->story->value_n; v++)
        bars[v] = psc_history_of_value(side->history, v);
    return bars;
}

/* ---- positions ---------------------------------------------------------------------------------------------------- */

/* First position of every node; NOWHERE where it has none. */
static int32_t *positions_of(struct making *m, const struct psc_diff_side *side)
{
    const struct psc_story *story = side->story;
    int32_t *at = psc_arena_alloc(&m->scratch, (size_t)side->graph->n + 1, sizeof *at);
    for (uint32_t i = 0; at && i < side->graph->n; i++)
        at[i] = NOWHERE;
    for (uint32_t p = 0; at && p < story->position_n; p++) {
        psc_node node = psc_story_node_at(story, (int32_t)p);
        if (node < side->graph->n && at[node] == NOWHERE)
            at[node] = (int32_t)p;
    }
    return at;
}

static bool map_by_nodes(struct making *m, const struct psc_diff_side *from, const struct psc_diff_side *to, const uint32_t *of,
                         int32_t *map)
{
    int32_t *at = positions_of(m, to);
    for (uint32_t p = 0; at && p < from->story->position_n; p++) {
        psc_node node = psc_story_node_at(from->story, (int32_t)p);
        uint32_t v = node < from->graph->n ? psc_history_value_of_node(from->history, node) : PSC_NONE;
        uint32_t w = v != PSC_NONE ? of[v] : PSC_NONE;
        psc_node other = w != PSC_NONE ? to->story->values[w].node : PSC_NONE;
        map[p + 1] = other < to->graph->n ? at[other] : NOWHERE;
    }
    return at;
}

/* Where values are first written. */
static void map_by_bars(const struct psc_diff_side *from, const struct psc_diff_side *to, const uint32_t *bars, const uint32_t *other,
                        const uint32_t *of, int32_t *map)
{
    for (uint32_t v = 0; v < from->story->value_n; v++) {
        uint32_t w = of[v];
        if (bars[v] == PSC_NONE || w == PSC_NONE || other[w] == PSC_NONE)
            continue;
        int32_t p = from->history->tenancies[bars[v]].first;
        if (p >= 0 && (uint32_t)p < from->story->position_n && map[p + 1] == NOWHERE)
            map[p + 1] = to->history->tenancies[other[w]].first;
    }
}

static struct psc_align_key *title_keys(struct making *m, const struct psc_story *story)
{
    struct psc_align_key *keys = psc_arena_alloc(&m->scratch, (size_t)story->position_n + 1, sizeof *keys);
    for (uint32_t p = 0; keys && p < story->position_n; p++) {
        const char *title = story->titles[p] ? story->titles[p] : "";
        size_t n = strcspn(title, ":"); /* "sum = a + b: in place": what was decided may differ */
        keys[p].strong = add_text(5, title);
        keys[p].weak = psc_hash_mix(5 ^ psc_hash_bytes(title, n, 7));
    }
    return keys;
}

static bool map_by_titles(struct making *m, int32_t *b_at, int32_t *a_at)
{
    const struct psc_story *a = m->diff->a.story, *b = m->diff->b.story;
    struct psc_align_key *left = title_keys(m, a), *right = title_keys(m, b);
    uint32_t *b_of = psc_arena_alloc(&m->scratch, (size_t)a->position_n + 1, sizeof *b_of);
    uint32_t *a_of = psc_arena_alloc(&m->scratch, (size_t)b->position_n + 1, sizeof *a_of);
    if (!left || !right || !b_of || !a_of || !psc_align(left, a->position_n, right, b->position_n, b_of, a_of))
        return false;
    for (uint32_t p = 0; p < a->position_n; p++)
        b_at[p + 1] = b_of[p] == PSC_NONE ? NOWHERE : (int32_t)b_of[p];
    for (uint32_t p = 0; p < b->position_n; p++)
        a_at[p + 1] = a_of[p] == PSC_NONE ? NOWHERE : (int32_t)a_of[p];
    return true;
}

/* Positions without a partner of their own take that of the last one before them. */
static bool *fill_gaps(struct making *m, int32_t *map, uint32_t n, uint32_t other_n)
{
    bool *exact = psc_arena_alloc(&m->scratch, (size_t)n + 2, sizeof *exact);
    map[0] = -1;
    map[n + 1] = (int32_t)other_n;
    for (uint32_t p = 0; exact && p < n + 2; p++) {
        exact[p] = map[p] != NOWHERE;
        if (!exact[p])
            map[p] = map[p - 1];
    }
    return exact;
}

static int32_t *blank_map(struct making *m, uint32_t n)
{
    int32_t *map = psc_arena_alloc(m->arena, (size_t)n + 2, sizeof *map);
    for (uint32_t p = 0; map && p < n + 2; p++)
        map[p] = NOWHERE;
    return map;
}

static bool map_positions(struct making *m)
{
    struct psc_plan_diff *d = m->diff;
    uint32_t a_n = d->a.story->position_n, b_n = d->b.story->position_n;
    int32_t *b_at = blank_map(m, a_n), *a_at = blank_map(m, b_n);
    bool good = b_at && a_at;
    if (good && d->a.graph && d->b.graph) {
        good = map_by_nodes(m, &d->a, &d->b, d->b_of, b_at) && map_by_nodes(m, &d->b, &d->a, d->a_of, a_at);
    } else if (good && d->a.story->titles && d->b.story->titles) {
        good = map_by_titles(m, b_at, a_at);
    } else if (good) {
        map_by_bars(&d->a, &d->b, m->a_bar, m->b_bar, d->b_of, b_at);
        map_by_bars(&d->b, &d->a, m->b_bar, m->a_bar, d->a_of, a_at);
    }
    if (!good)
        return false;
    m->a_exact = fill_gaps(m, b_at, a_n, b_n);
    m->b_exact = fill_gaps(m, a_at, b_n, a_n);
    d->b_at = b_at;
    d->a_at = a_at;
    return m->a_exact && m->b_exact;
}

/* ---- changes ------------------------------------------------------------------------------------------------------ */

static const char *backend_of(const struct psc_story *story, uint8_t backend)
{
    return backend < story->backend_n ? story->backends[backend] : "";
}

static bool same_place(const struct psc_diff_side *a, const struct psc_tenancy *x, const struct psc_diff_side *b,
                       const struct psc_tenancy *y)
{
    const struct psc_buffer *p = &a->story->buffers[x->buffer], *q = &b->story->buffers[y->buffer];
    bool named = p->name && q->name ? !strcmp(p->name, q->name) : !p->name && !q->name && p->id == q->id;
    if (p->role == PSC_ROLE_STAGING && q->role == PSC_ROLE_STAGING)
        named = true; /* a copy is alone in a buffer that is called after the id of its source */
    return named && x->lo == y->lo && !strcmp(backend_of(a->story, p->backend), backend_of(b->story, q->backend));
}

/* Whose bytes a value continues or shows, and from where; PSC_NONE: its own. */
static uint32_t family_of(const struct psc_diff_side *side, uint32_t value, uint32_t bar, uint64_t *ret_offset)
{
    const struct psc_value *v = &side->story->values[value];
    *ret_offset = v->is_view ? v->offset : 0;
    if (v->is_view)
        return v->of;
    uint32_t prev = bar != PSC_NONE ? side->history->tenancies[bar].prev_version : PSC_NONE;
    return prev != PSC_NONE ? side->history->tenancies[prev].value : PSC_NONE;
}

static bool alias_differs(const struct making *m, const struct psc_plan_change *c)
{
    const struct psc_plan_diff *d = m->diff;
    uint64_t a_offset, b_offset;
    uint32_t a = family_of(&d->a, c->a, c->a_bar, &a_offset), b = family_of(&d->b, c->b, c->b_bar, &b_offset);
    if (a == PSC_NONE || b == PSC_NONE)
        return a != b;
    return d->a.story->values[c->a].is_view != d->b.story->values[c->b].is_view || a_offset != b_offset || d->b_of[a] != b;
}

static bool life_differs(const struct making *m, const struct psc_plan_change *c)
{
    const struct psc_plan_diff *d = m->diff;
    int32_t a = d->a.history->tenancies[c->a_bar].last, b = d->b.history->tenancies[c->b_bar].last;
    if (a + 1 >= (int32_t)d->a.story->position_n + 2 || b + 1 >= (int32_t)d->b.story->position_n + 2)
        return false;
    return m->a_exact[a + 1] && m->b_exact[b + 1] && d->b_at[a + 1] != b;
}

#define BIT(change) (1u << PSC_CHANGE_##change)

static unsigned compare_pair(const struct making *m, const struct psc_plan_change *c)
{
    const struct psc_plan_diff *d = m->diff;
    unsigned what = alias_differs(m, c) ? BIT(ALIAS) : 0;
    uint64_t a = d->a.story->values[c->a].bytes, b = d->b.story->values[c->b].bytes;
    if (a != b)
        what |= a < b ? BIT(GREW) : BIT(SHRANK);
    if (c->a_bar == PSC_NONE || c->b_bar == PSC_NONE)
        return what | (c->a_bar != c->b_bar ? BIT(MOVED) : 0);
    if (!same_place(&d->a, &d->a.history->tenancies[c->a_bar], &d->b, &d->b.history->tenancies[c->b_bar]))
        what |= BIT(MOVED);
    return what | (life_differs(m, c) ? BIT(LIFE) : 0);
}

static void put(struct making *m, struct psc_plan_change change)
{
    struct psc_plan_diff *d = m->diff;
    if (!change.what)
        return;
    for (unsigned k = 0; k < PSC_CHANGE_N; k++)
        d->count[k] += change.what >> k & 1;
    if (change.a != PSC_NONE)
        m->of_a[change.a] = d->change_n;
    if (change.b != PSC_NONE)
        m->of_b[change.b] = d->change_n;
    m->list[d->change_n++] = change;
}

static bool find_changes(struct making *m)
{
    struct psc_plan_diff *d = m->diff;
    uint32_t a_n = d->a.story->value_n, b_n = d->b.story->value_n;
    m->list = psc_arena_alloc(m->arena, (size_t)a_n + b_n + 1, sizeof *m->list);
    uint32_t *of_a = psc_arena_alloc(m->arena, (size_t)a_n + 1, sizeof *of_a);
    uint32_t *of_b = psc_arena_alloc(m->arena, (size_t)b_n + 1, sizeof *of_b);
    if (!m->list || !of_a || !of_b)
        return false;
    memset(of_a, 0xff, ((size_t)a_n + 1) * sizeof *of_a);
    memset(of_b, 0xff, ((size_t)b_n + 1) * sizeof *of_b);
    d->changes = m->list;
    d->change_of_a = m->of_a = of_a;
    d->change_of_b = m->of_b = of_b;
    for (uint32_t v = 0; v < a_n; v++) {
        struct psc_plan_change c = {v, d->b_of[v], m->a_bar[v], PSC_NONE, BIT(GONE), 0};
        if (c.b != PSC_NONE) {
            c.b_bar = m->b_bar[c.b];
            c.what = compare_pair(m, &c);
        }
        put(m, c);
    }
    for (uint32_t v = 0; v < b_n; v++)
        if (d->a_of[v] == PSC_NONE)
            put(m, (struct psc_plan_change){PSC_NONE, v, PSC_NONE, m->b_bar[v], BIT(NEW), 0});
    return true;
}

/* ---- the peak ----------------------------------------------------------------------------------------------------- */

static struct psc_diff_total total_of(const struct psc_diff_side *side)
{
    uint32_t buffers;
    return (struct psc_diff_total){.peak = side->history->peak_bytes, .peak_at = side->history->peak_at,
                                   .reserved = psc_history_reserved(side->history, &buffers)};
}

/* Bytes of every value that are alive at a position, as history counts them; their sum comes back. */
static uint64_t *alive_at(struct making *m, const struct psc_diff_side *side, int32_t position, uint64_t *ret_sum)
{
    uint64_t *bytes = psc_arena_alloc0(&m->scratch, (size_t)side->story->value_n + 1, sizeof *bytes);
    *ret_sum = 0;
    for (uint32_t t = 0; bytes && t < side->history->tenancy_n; t++) {
        const struct psc_tenancy *bar = &side->history->tenancies[t];
        if (position < bar->first || position >= bar->end || !psc_history_counts(side->story->buffers[bar->buffer].role))
            continue;
        bytes[bar->value] += bar->hi - bar->lo;
        *ret_sum += bar->hi - bar->lo;
    }
    return bytes;
}

/* Who writes over this value's bytes at `position` or before; PSC_NONE. */
static uint32_t successor(const struct psc_diff_side *side, uint32_t bar, int32_t position)
{
    uint32_t next = bar != PSC_NONE ? side->history->tenancies[bar].next_version : PSC_NONE;
    return next != PSC_NONE && side->history->tenancies[next].first <= position ? side->history->tenancies[next].value : PSC_NONE;
}

static void name_reason(const struct making *m, struct psc_peak_part *part, uint64_t a, uint64_t b)
{
    const struct psc_plan_diff *d = m->diff;
    part->by = PSC_NONE;
    if (part->b == PSC_NONE || part->a == PSC_NONE) {
        part->why = part->b == PSC_NONE ? PSC_PART_GONE : PSC_PART_NEW;
    } else if (a && b) {
        part->why = PSC_PART_SIZE;
    } else if (a) {
        part->by = successor(&d->b, m->b_bar[part->b], d->b_total.at);
        part->why = part->by != PSC_NONE ? PSC_PART_TAKEN : PSC_PART_SHORTER;
    } else {
        part->by = successor(&d->a, m->a_bar[part->a], d->a_total.at);
        part->why = part->by != PSC_NONE ? PSC_PART_APART : PSC_PART_LONGER;
    }
}

static int by_size(const void *x, const void *y)
{
    const struct psc_peak_part *a = x, *b = y;
    uint64_t p = (uint64_t)(a->bytes < 0 ? -a->bytes : a->bytes), q = (uint64_t)(b->bytes < 0 ? -b->bytes : b->bytes);
    if (p != q)
        return p > q ? -1 : 1;
    return a->a != b->a ? (a->a < b->a ? -1 : 1) : a->b < b->b ? -1 : a->b > b->b;
}

static bool explain_peak(struct making *m)
{
    struct psc_plan_diff *d = m->diff;
    bool falls = d->b_total.peak < d->a_total.peak;
    uint64_t a_sum, b_sum;
    d->a_total.at = falls ? d->a_total.peak_at : d->a_at[d->b_total.peak_at + 1];
    d->b_total.at = falls ? d->b_at[d->a_total.peak_at + 1] : d->b_total.peak_at;
    uint64_t *a = alive_at(m, &d->a, d->a_total.at, &a_sum), *b = alive_at(m, &d->b, d->b_total.at, &b_sum);
    struct psc_peak_part *parts = psc_arena_alloc(m->arena, (size_t)d->a.story->value_n + d->b.story->value_n + 1, sizeof *parts);
    if (!a || !b || !parts)
        return false;
    for (uint32_t v = 0; v < d->a.story->value_n; v++) {
        uint64_t other = d->b_of[v] != PSC_NONE ? b[d->b_of[v]] : 0;
        struct psc_peak_part part = {.a = v, .b = d->b_of[v], .bytes = (int64_t)other - (int64_t)a[v]};
        name_reason(m, &part, a[v], other);
        if (part.bytes)
            parts[d->part_n++] = part;
    }
    for (uint32_t v = 0; v < d->b.story->value_n; v++)
        if (d->a_of[v] == PSC_NONE && b[v])
            parts[d->part_n++] = (struct psc_peak_part){PSC_NONE, v, (int64_t)b[v], PSC_PART_NEW, PSC_NONE};
    if (d->part_n)
        qsort(parts, d->part_n, sizeof *parts, by_size);
    for (uint32_t k = 0; k < d->part_n; k++) {
        uint32_t change = parts[k].a != PSC_NONE ? m->of_a[parts[k].a] : m->of_b[parts[k].b];
        if (change != PSC_NONE)
            m->list[change].peak_bytes = parts[k].bytes;
    }
    d->parts = parts;
    d->elsewhere = falls ? (int64_t)d->b_total.peak - (int64_t)b_sum : (int64_t)a_sum - (int64_t)d->a_total.peak;
    return true;
}

/* ---- the whole ---------------------------------------------------------------------------------------------------- */

enum psc_status psc_diff_plans(struct psc_arena *arena, const struct psc_diff_side *a, const struct psc_diff_side *b,
                               struct psc_plan_diff **ret, struct psc_error *reterr)
{
    struct making m = {.arena = arena, .diff = psc_arena_alloc0(arena, 1, sizeof *m.diff)};
    bool good = m.diff != NULL;
    if (good) {
        m.diff->a = *a;
        m.diff->b = *b;
        m.diff->a_total = total_of(a);
        m.diff->b_total = total_of(b);
        m.a_bar = first_bars(&m, a);
        m.b_bar = first_bars(&m, b);
        good = m.a_bar && m.b_bar && pair_values(&m) && map_positions(&m) && find_changes(&m) && explain_peak(&m);
    }
    psc_arena_release(&m.scratch);
    if (!good)
        return psc_fail_nomem(reterr);
    *ret = m.diff;
    return PSC_OK;
}
