#include "core/debug/overlap.h"

#include <string.h>

#define LEAF_BITS 5u /* 32 events below a group of level 0 */
#define LEAF (1u << LEAF_BITS)
#define FAN_BITS 4u /* a group of level k + 1 has 16 of level k */
#define FAN (1u << FAN_BITS)

struct span {
    uint64_t lo, hi;
};

/* The same in units, rounded outwards. */
struct units {
    uint32_t lo, hi;
};

static struct units units_of(const struct psc_overlap *o, struct span s)
{
    uint64_t round = (1ull << o->shift) - 1, hi = (s.hi >> o->shift) + ((s.hi & round) != 0);

    return (struct units){(uint32_t)(s.lo >> o->shift), hi > UINT32_MAX ? UINT32_MAX : (uint32_t)hi};
}

static struct span span_of(const struct psc_overlap *o, uint32_t i)
{
    const struct psc_event *e = &o->story->events[o->events[i]];
    uint64_t base = o->base[e->buffer];

    return (struct span){base + e->lo, base + e->hi};
}

enum psc_status psc_overlap_sort(struct psc_arena *arena, const struct psc_story *story,
                                 bool (*keep)(enum psc_event_kind kind), const uint32_t **ret_at,
                                 const uint32_t **ret_list, struct psc_error *reterr)
{
    uint32_t *at = psc_arena_alloc0(arena, (size_t)story->buffer_n + 2, sizeof *at), n = 0;

    if (!at)
        return psc_fail_nomem(reterr);
    for (uint32_t i = 0; i < story->event_n; i++) {
        const struct psc_event *e = &story->events[i];
        if (e->buffer != PSC_NONE && keep(e->kind)) {
            at[e->buffer + 2]++;
            n++;
        }
    }
    uint32_t *list = psc_arena_alloc(arena, n, sizeof *list);
    if (!list)
        return psc_fail_nomem(reterr);
    for (uint32_t b = 0; b < story->buffer_n; b++)
        at[b + 2] += at[b + 1];
    for (uint32_t i = 0; i < story->event_n; i++) {
        const struct psc_event *e = &story->events[i];
        if (e->buffer != PSC_NONE && keep(e->kind))
            list[at[e->buffer + 1]++] = i;
    }
    *ret_at = at;
    *ret_list = list;
    return PSC_OK;
}

uint32_t psc_overlap_bound(const struct psc_story *story, const uint32_t *list, uint32_t from, uint32_t to,
                           int64_t position)
{
    while (from < to) {
        uint32_t mid = from + (to - from) / 2;
        if (story->events[list[mid]].position < position)
            from = mid + 1;
        else
            to = mid;
    }
    return from;
}

/* ---- building the staircases ------------------------------------------------------------------------ */

/* Where new steps of one level are written. */
struct stairs {
    uint32_t *lo, *hi;
    uint32_t from, n; /* of the group being built; of all */
};

/* Ranges must come with ascending lo. */
static void add_step(struct stairs *s, struct units range)
{
    if (s->n > s->from && range.hi <= s->hi[s->n - 1])
        return;
    if (s->n > s->from && range.lo == s->lo[s->n - 1]) {
        s->hi[s->n - 1] = range.hi;
        return;
    }
    s->lo[s->n] = range.lo;
    s->hi[s->n++] = range.hi;
}

static void leaf_stairs(const struct psc_overlap *o, uint32_t group, uint32_t total, struct stairs *s)
{
    struct units ranges[LEAF];
    uint32_t n = 0, end = (group + 1) * LEAF < total ? (group + 1) * LEAF : total;

    for (uint32_t i = group * LEAF; i < end; i++) {
        struct span bytes = span_of(o, i);
        if (bytes.lo == bytes.hi)
            continue; /* never overlaps */
        struct units range = units_of(o, bytes);
        uint32_t k = n++;
        for (; k && ranges[k - 1].lo > range.lo; k--)
            ranges[k] = ranges[k - 1];
        ranges[k] = range;
    }
    for (uint32_t k = 0; k < n; k++)
        add_step(s, ranges[k]);
}

static void merge_stairs(const struct psc_overlap_level *below, uint32_t group, struct stairs *s)
{
    uint32_t at[FAN], end[FAN], n = 0;

    for (uint32_t c = group * FAN; c < (group + 1) * FAN && c < below->n; c++, n++) {
        at[n] = below->at[c];
        end[n] = below->at[c + 1];
    }
    for (;;) {
        uint32_t best = FAN;
        for (uint32_t c = 0; c < n; c++) {
            if (at[c] < end[c] && (best == FAN || below->lo[at[c]] < below->lo[at[best]]))
                best = c;
        }
        if (best == FAN)
            return;
        add_step(s, (struct units){below->lo[at[best]], below->hi[at[best]]});
        at[best]++;
    }
}

/* Builds one level in scratch room and keeps only what it needed. */
static bool build_level(struct psc_overlap *o, struct psc_arena *arena, uint32_t total, struct stairs *room)
{
    struct psc_overlap_level *level = &o->level[o->levels], *below = o->levels ? level - 1 : NULL;

    level->n = below ? (below->n + FAN - 1) / FAN : (total + LEAF - 1) / LEAF;
    level->at = psc_arena_alloc(arena, (size_t)level->n + 1, sizeof *level->at);
    if (!level->at)
        return false;
    room->n = 0;
    for (uint32_t g = 0; g < level->n; g++) {
        level->at[g] = room->from = room->n;
        if (below)
            merge_stairs(below, g, room);
        else
            leaf_stairs(o, g, total, room);
    }
    level->at[level->n] = room->n;
    level->lo = psc_arena_alloc(arena, room->n, sizeof *level->lo);
    level->hi = psc_arena_alloc(arena, room->n, sizeof *level->hi);
    if (!level->lo || !level->hi)
        return false;
    if (room->n) {
        memcpy(level->lo, room->lo, room->n * sizeof *level->lo);
        memcpy(level->hi, room->hi, room->n * sizeof *level->hi);
    }
    o->levels++;
    return true;
}

enum psc_status psc_overlap_build(struct psc_arena *arena, const struct psc_story *story, const uint64_t *base,
                                  bool (*keep)(enum psc_event_kind kind), struct psc_overlap *ret,
                                  struct psc_error *reterr)
{
    struct psc_overlap o = {.story = story, .base = base};
    enum psc_status status = psc_overlap_sort(arena, story, keep, &o.event_at, &o.events, reterr);

    if (status)
        return status;
    while (base[story->buffer_n] >> o.shift >= UINT32_MAX)
        o.shift++;
    struct psc_arena scratch = {0};
    uint32_t total = o.event_at[story->buffer_n];
    struct stairs room = {psc_arena_alloc(&scratch, total, 4), psc_arena_alloc(&scratch, total, 4), 0, 0};
    bool built = room.lo && room.hi;

    while (built && total && (o.levels == 0 || o.level[o.levels - 1].n > 1))
        built = build_level(&o, arena, total, &room);
    psc_arena_release(&scratch);
    if (!built)
        return psc_fail_nomem(reterr);
    *ret = o;
    return PSC_OK;
}

/* ---- lookups ---------------------------------------------------------------------------------------- */

static struct span window_of(const struct psc_overlap *o, uint32_t buffer, uint64_t lo, uint64_t hi)
{
    uint64_t base = o->base[buffer], most = UINT64_MAX - base;

    return (struct span){base + (lo < most ? lo : most), base + (hi < most ? hi : most)};
}

static bool meets(const struct psc_overlap *o, uint32_t i, struct span window)
{
    struct span range = span_of(o, i);

    return range.lo < window.hi && window.lo < range.hi && range.lo < range.hi;
}

static bool group_meets(const struct psc_overlap_level *level, uint32_t group, struct units window)
{
    uint32_t first = level->at[group], from = first, to = level->at[group + 1];

    while (from < to) {
        uint32_t mid = from + (to - from) / 2;
        if (level->lo[mid] < window.hi)
            from = mid + 1;
        else
            to = mid;
    }
    return from > first && level->hi[from - 1] > window.lo;
}

static uint32_t shift_of(uint32_t level)
{
    return LEAF_BITS + FAN_BITS * level; /* log2 of the events below a group */
}

/* Largest level whose group ends at entry i and begins no earlier than `from`, or -1. */
static int level_before(const struct psc_overlap *o, uint32_t i, uint32_t from)
{
    int level = -1;

    while (level + 1 < (int)o->levels) {
        uint32_t shift = shift_of((uint32_t)level + 1);
        if ((i & ((1ull << shift) - 1)) || (uint64_t)i < (uint64_t)from + (1ull << shift))
            break;
        level++;
    }
    return level;
}

static int level_after(const struct psc_overlap *o, uint32_t i, uint32_t to)
{
    int level = -1;

    while (level + 1 < (int)o->levels) {
        uint32_t shift = shift_of((uint32_t)level + 1);
        if ((i & ((1ull << shift) - 1)) || (uint64_t)i + (1ull << shift) > to)
            break;
        level++;
    }
    return level;
}

/* Both searches step over the largest group next to entry i that does not meet the window; a group that meets
 * it is entered, down to its events. */
uint32_t psc_overlap_before(const struct psc_overlap *o, uint32_t buffer, uint64_t lo, uint64_t hi, int32_t position)
{
    struct span window = window_of(o, buffer, lo, hi);
    struct units units = units_of(o, window);
    uint32_t from = o->event_at[buffer];
    uint32_t i = psc_overlap_bound(o->story, o->events, from, o->event_at[buffer + 1], position);

    while (lo < hi && i > from) {
        int level = level_before(o, i, from);
        while (level >= 0 && group_meets(&o->level[level], (i >> shift_of((uint32_t)level)) - 1, units))
            level--;
        if (level >= 0) {
            i -= 1u << shift_of((uint32_t)level);
            continue;
        }
        uint32_t stop = i - from > LEAF ? (i - 1) & ~(LEAF - 1) : from;
        while (i > stop) {
            if (meets(o, --i, window))
                return o->events[i];
        }
    }
    return PSC_NONE;
}

uint32_t psc_overlap_after(const struct psc_overlap *o, uint32_t buffer, uint64_t lo, uint64_t hi, int32_t position)
{
    struct span window = window_of(o, buffer, lo, hi);
    struct units units = units_of(o, window);
    uint32_t to = o->event_at[buffer + 1];
    uint32_t i = psc_overlap_bound(o->story, o->events, o->event_at[buffer], to, (int64_t)position + 1);

    while (lo < hi && i < to) {
        int level = level_after(o, i, to);
        while (level >= 0 && group_meets(&o->level[level], i >> shift_of((uint32_t)level), units))
            level--;
        if (level >= 0) {
            i += 1u << shift_of((uint32_t)level);
            continue;
        }
        uint32_t stop = to - i > LEAF ? (i | (LEAF - 1)) + 1 : to;
        for (; i < stop; i++) {
            if (meets(o, i, window))
                return o->events[i];
        }
    }
    return PSC_NONE;
}
