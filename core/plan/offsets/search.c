#include "core/plan/offsets/search-private.h"

#include "core/base/hash.h"
#include "core/base/mem.h"

#include <string.h>
#include <time.h>

#define PLACED PSC_SEARCH_PLACED
enum {
    KEPT_MAX = 1024, /* holes are looked for in parts of at most so many boxes */
    RUN_MAX = 1024,  /* sections of a valley that are compared in long parts */
};

uint64_t psc_search_clock(void)
{
    struct timespec t;
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t))
        return 0;
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- sets of sections ------------------------------------------------------------------------------------------ */

/* Adds the bits [lo, hi), not empty. */
static void add_bits(uint64_t *set, uint32_t lo, uint32_t hi)
{
    uint32_t a = lo / 64, b = (hi - 1) / 64;
    uint64_t head = ~UINT64_C(0) << lo % 64, tail = ~UINT64_C(0) >> (63 - (hi - 1) % 64);
    if (a == b) {
        set[a] |= head & tail;
        return;
    }
    set[a] |= head;
    for (uint32_t w = a + 1; w < b; w++)
        set[w] = ~UINT64_C(0);
    set[b] |= tail;
}

static void add_groups(const struct psc_search *s, uint64_t *set, uint32_t from, uint32_t to)
{
    add_bits(set, from >> s->shift, ((to - 1) >> s->shift) + 1);
}

static void add_all(const struct psc_search *s, uint64_t *set, const uint64_t *other)
{
    for (uint32_t w = 0; w < s->group_words; w++)
        set[w] |= other[w];
}

static bool meets(const struct psc_search *s, const uint64_t *a, const uint64_t *b)
{
    uint64_t both = 0;
    for (uint32_t w = 0; w < s->group_words; w++)
        both |= a[w] & b[w];
    return both != 0;
}

static void blame(struct psc_search *s, uint32_t from, uint32_t to)
{
    memset(s->why, 0, s->group_words * sizeof *s->why);
    add_groups(s, s->why, from, to);
}

static void soil(struct psc_search *s, uint32_t from, uint32_t to)
{
    add_bits(s->dirty, from, to);
    add_groups(s, s->touched, from, to);
    s->dirty_lo = from / 64 < s->dirty_lo ? from / 64 : s->dirty_lo;
    s->dirty_hi = (to - 1) / 64 + 1 > s->dirty_hi ? (to - 1) / 64 + 1 : s->dirty_hi;
}

static void start_choice(struct psc_search *s)
{
    memset(s->touched, 0, s->group_words * sizeof *s->touched);
    s->dirty_lo = s->words;
    s->dirty_hi = 0;
}

/* ---- what follows from a choice ---------------------------------------------------------------------------------- */

/* The lowest byte at or above `key` at which the item may begin: aligned, and on no fixed box. */
static uint64_t open_from(const struct psc_search *s, uint32_t i, uint64_t key)
{
    const struct psc_search_item *item = &s->items[i];
    bool moved = s->has_fixed;
    key = psc_box_room(item->align, key);
    while (moved) {
        moved = false;
        for (uint32_t k = s->beside_at[i]; k < s->beside_at[i + 1]; k++) {
            const struct psc_search_item *other = &s->items[s->beside[k]];
            uint64_t lo = s->at[s->beside[k]], hi = lo + other->bytes;
            if (other->fixed && key < hi && lo < key + item->bytes) {
                key = psc_box_room(item->align, hi);
                moved = true;
            }
        }
    }
    return key;
}

static bool move(struct psc_search *s, uint32_t i, uint64_t key)
{
    if (!psc_grow(&s->moved, s->moved_n + 1, &s->moved_cap, sizeof *s->moved)) {
        s->nomem = true;
        return false;
    }
    s->moved[s->moved_n++] = (struct psc_search_moved){s->spots[i].key, i};
    s->spots[i].key = key;
    soil(s, s->items[i].from, s->items[i].to);
    return true;
}

static void set_section(struct psc_search *s, uint32_t k, const struct psc_search_section *section)
{
    bool same = s->sections[k].low == section->low;
    s->sections[k] = *section;
    if (!s->lowest || same)
        return;
    uint32_t node = k + s->leaves;
    s->lowest[node] = section->low;
    for (node /= 2; node; node /= 2) {
        uint64_t low = s->lowest[2 * node] < s->lowest[2 * node + 1] ? s->lowest[2 * node] : s->lowest[2 * node + 1];
        if (s->lowest[node] == low)
            break;
        s->lowest[node] = low;
    }
}

/* Looks at a section anew. false: its boxes end above the capacity, or no memory. */
static bool look(struct psc_search *s, uint32_t k)
{
    uint32_t *list = s->list + s->list_at[k], n = s->list_at[k + 1] - s->list_at[k];
    const struct psc_search_spot *spots = s->spots;
    struct psc_search_section now = {.low = PLACED};
    s->looks += 1 + n / 64;
    for (uint32_t i = 1; i < n; i++) { /* nearly sorted */
        uint32_t item = list[i], h = i;
        uint64_t key = spots[item].key;
        for (; h && spots[list[h - 1]].key > key; h--)
            list[h] = list[h - 1];
        list[h] = item;
    }
    for (uint32_t i = 0; i < n && spots[list[i]].key != PLACED; i++) {
        const struct psc_search_spot *spot = &spots[list[i]];
        now.end = (spot->key > now.end ? spot->key : now.end) + spot->bytes;
        if (spot->key > now.low || (s->has_fixed && s->items[list[i]].fixed))
            continue;
        now.low = spot->key;
        now.n++;
    }
    if (now.end > s->capacity)
        return false;
    if (!psc_grow(&s->changed, s->changed_n + 1, &s->changed_cap, sizeof *s->changed)) {
        s->nomem = true;
        return false;
    }
    s->changed[s->changed_n++] = (struct psc_search_changed){s->sections[k], k};
    set_section(s, k, &now);
    return true;
}

/* The item would go into a hole that nothing else can fill. */
static bool is_missed(const struct psc_search *s, uint32_t i)
{
    uint64_t ground = 0;
    for (uint32_t k = s->beside_at[i]; k < s->beside_at[i + 1]; k++) {
        uint32_t other = s->beside[k];
        if (s->spots[other].key == PLACED && s->at[other] + s->spots[other].bytes > ground)
            ground = s->at[other] + s->spots[other].bytes;
    }
    ground = open_from(s, i, ground);
    if (ground >= s->spots[i].key)
        return false;
    for (uint32_t k = s->beside_at[i]; k < s->beside_at[i + 1]; k++)
        if (s->spots[s->beside[k]].key < ground + s->items[i].bytes && !s->items[s->beside[k]].fixed)
            return false;
    return true;
}

static uint32_t find_missed(const struct psc_search *s)
{
    for (uint32_t k = 0; k < s->kept_n; k++)
        if (s->spots[s->kept[k]].key != PLACED && is_missed(s, s->kept[k]))
            return s->kept[k];
    return PSC_NONE;
}

static void forget_dirty(struct psc_search *s)
{
    for (uint32_t w = s->dirty_lo; w < s->dirty_hi; w++)
        s->dirty[w] = 0;
}

/* Looks at everything dirty. false: dead, `why` has the reason; or no memory. */
static bool settle(struct psc_search *s)
{
    uint32_t missed;
    for (uint32_t w = s->dirty_lo; w < s->dirty_hi; w++)
        for (; s->dirty[w]; s->dirty[w] &= s->dirty[w] - 1) {
            uint32_t k = w * 64 + (uint32_t)__builtin_ctzll(s->dirty[w]);
            if (look(s, k))
                continue;
            blame(s, k, k + 1);
            forget_dirty(s);
            return false;
        }
    missed = find_missed(s);
    if (missed != PSC_NONE)
        blame(s, s->items[missed].from, s->items[missed].to);
    return missed == PSC_NONE;
}

static bool put(struct psc_search *s, uint32_t i, uint64_t level)
{
    uint64_t top = level + s->items[i].bytes;
    start_choice(s);
    s->at[i] = level;
    s->left--;
    if (!move(s, i, PLACED))
        return false;
    for (uint32_t k = s->beside_at[i]; k < s->beside_at[i + 1]; k++) {
        uint32_t other = s->beside[k];
        if (s->spots[other].key < top && !s->items[other].fixed && !move(s, other, open_from(s, other, top)))
            return false;
    }
    return settle(s);
}

/* The next height at which one of the frame's boxes could rest, all of which stay above the level. */
static uint64_t next_rest(const struct psc_search *s, const struct psc_search_frame *f)
{
    uint64_t next = UINT64_MAX;
    for (uint32_t c = 0; c < f->n; c++) {
        uint32_t i = s->candidates[f->first + c];
        for (uint32_t k = s->beside_at[i]; k < s->beside_at[i + 1]; k++) {
            uint32_t other = s->beside[k];
            const struct psc_search_item *o = &s->items[other];
            bool among = o->from <= f->section && f->section < o->to && s->spots[other].key == f->level && !o->fixed;
            if (s->spots[other].key == PLACED || among || s->spots[other].key + s->spots[other].bytes <= f->level)
                continue;
            if (s->spots[other].key + s->spots[other].bytes < next)
                next = s->spots[other].key + s->spots[other].bytes;
        }
    }
    return next;
}

/* None of the candidates begins at the level. */
static bool leave(struct psc_search *s, const struct psc_search_frame *f)
{
    uint64_t next = next_rest(s, f);
    const uint32_t *list = s->list + s->list_at[f->section];
    uint32_t n = s->list_at[f->section + 1] - s->list_at[f->section];
    start_choice(s);
    if (next > s->capacity) {
        memset(s->why, 0, s->group_words * sizeof *s->why);
        for (uint32_t c = 0; c < f->n; c++)
            add_groups(s, s->why, s->items[s->candidates[f->first + c]].from, s->items[s->candidates[f->first + c]].to);
        return false;
    }
    for (uint32_t k = 0; k < n; k++) {
        uint32_t i = list[k];
        if (s->spots[i].key != f->level || s->items[i].fixed)
            continue;
        if (!move(s, i, open_from(s, i, next)))
            return false;
        if (!s->is_kept[i] && s->n <= KEPT_MAX) {
            s->is_kept[i] = true;
            s->kept[s->kept_n++] = i;
        }
    }
    return settle(s);
}

static void undo(struct psc_search *s, const struct psc_search_frame *f)
{
    while (s->moved_n > f->moved) {
        const struct psc_search_moved *m = &s->moved[--s->moved_n];
        s->left += s->spots[m->item].key == PLACED;
        s->spots[m->item].key = m->key;
    }
    while (s->changed_n > f->changed) {
        const struct psc_search_changed *c = &s->changed[--s->changed_n];
        set_section(s, c->section, &c->was);
    }
}

/* ---- where to choose ------------------------------------------------------------------------------------------------ */

/* true: to choose at section a is better than at b. */
static bool is_better(const struct psc_search *s, uint32_t a, uint32_t b)
{
    const struct psc_search_section *x = &s->sections[a], *y = &s->sections[b];
    bool full = s->valley == PSC_SEARCH_FULL || s->valley == PSC_SEARCH_LOW_FULL;
    if (x->low != y->low && (s->valley == PSC_SEARCH_LOW_FEW || s->valley == PSC_SEARCH_LOW_FULL))
        return x->low < y->low;
    if (full && x->end != y->end)
        return x->end > y->end;
    return x->n != y->n ? x->n < y->n : x->end > y->end;
}

/* In the lowest valley that comes first. */
static uint32_t choose_lowest(const struct psc_search *s)
{
    uint32_t k = 1, best, end;
    uint64_t low = s->lowest[1];
    while (k < s->leaves)
        k = s->lowest[2 * k] == low ? 2 * k : 2 * k + 1;
    k -= s->leaves;
    end = s->section_n - k > RUN_MAX ? k + RUN_MAX : s->section_n;
    for (best = k++; k < end && s->sections[k].low == low; k++)
        if (is_better(s, k, best))
            best = k;
    return best;
}

static uint32_t choose_section(const struct psc_search *s)
{
    const struct psc_search_section *sections = s->sections;
    uint32_t best = PSC_NONE;
    if (s->lowest)
        return choose_lowest(s);
    for (uint32_t k = 0; k < s->section_n;) {
        uint64_t low = sections[k].low;
        uint32_t end = k + 1, in = k;
        bool walls = low != PLACED && (!k || sections[k - 1].low > low);
        for (; end < s->section_n && sections[end].low == low; end++)
            if (walls && is_better(s, end, in))
                in = end;
        if (walls && (end == s->section_n || sections[end].low > low) && (best == PSC_NONE || is_better(s, in, best)))
            best = in;
        k = end;
    }
    return best;
}

/* A new choice; the boxes that may begin at the level of its section, by rank. */
static bool push(struct psc_search *s)
{
    uint32_t k = choose_section(s);
    size_t w = s->group_words;
    struct psc_search_frame f = {.first = (uint32_t)s->candidate_n, .section = k, .level = s->sections[k].low,
                                 .moved = s->moved_n, .changed = s->changed_n};
    uint64_t *why;
    if (!psc_grow(&s->frames, s->frame_n + 1, &s->frame_cap, sizeof *s->frames) ||
        !psc_grow(&s->sets, (s->frame_n + 1) * 2 * w, &s->sets_cap, sizeof *s->sets) ||
        !psc_grow(&s->candidates, s->candidate_n + s->n, &s->candidate_cap, sizeof *s->candidates))
        return false;
    why = s->sets + s->frame_n * 2 * w;
    memset(why, 0, w * sizeof *why);
    for (uint32_t c = s->list_at[k]; c < s->list_at[k + 1]; c++) {
        uint32_t i = s->list[c], h = f.n, *at = s->candidates + f.first;
        const struct psc_search_item *item = &s->items[i];
        if (s->spots[i].key != f.level || item->fixed)
            continue;
        add_groups(s, why, item->from, item->to);
        if (item->twin != PSC_NONE && s->spots[item->twin].key != PLACED)
            continue;
        for (; h && (s->rank[at[h - 1]] > s->rank[i] || (s->rank[at[h - 1]] == s->rank[i] && at[h - 1] > i)); h--)
            at[h] = at[h - 1];
        at[h] = i;
        f.n++;
    }
    s->candidate_n += f.n;
    s->frames[s->frame_n++] = f;
    return true;
}

/* ---- the walk ----------------------------------------------------------------------------------------------------- */

/* All of the last choice failed, for the reasons in `why`: back to the last one that touched them. false: there is none. */
static bool go_up(struct psc_search *s)
{
    size_t w = s->group_words;
    for (;;) {
        s->candidate_n = s->frames[s->frame_n - 1].first;
        if (!--s->frame_n)
            return false;
        uint64_t *why = s->sets + (s->frame_n - 1) * 2 * w;
        undo(s, &s->frames[s->frame_n - 1]);
        if (!meets(s, s->why, why + w))
            continue;
        add_all(s, why, s->why);
        return true;
    }
}

static enum psc_search_answer walk(struct psc_search *s, const struct psc_search_limits *limits)
{
    size_t w = s->group_words;
    uint64_t nodes = limits->nodes;
    while (s->left) {
        struct psc_search_frame *f = &s->frames[s->frame_n - 1];
        uint64_t *why = s->sets + (s->frame_n - 1) * 2 * w;
        bool good;
        if (f->next > f->n) {
            memcpy(s->why, why, w * sizeof *why);
            if (!go_up(s))
                return PSC_SEARCH_NONE;
            continue;
        }
        if (!nodes-- || s->looks >= *limits->work || (limits->until && !(nodes & 63) && psc_search_clock() >= limits->until))
            return PSC_SEARCH_SPENT;
        good = f->next < f->n ? put(s, s->candidates[f->first + f->next], f->level) : leave(s, f);
        f->next++;
        memcpy(why + w, s->touched, w * sizeof *why);
        if (s->nomem || (good && s->left && !push(s)))
            return PSC_SEARCH_NOMEM;
        if (good)
            continue;
        undo(s, f);
        add_all(s, why, s->why);
    }
    return PSC_SEARCH_FOUND;
}

static uint64_t rank_of(const struct psc_search *s, uint32_t i, const struct psc_search_setting *setting, uint64_t *state)
{
    const struct psc_search_item *item = &s->items[i];
    uint64_t key, most = UINT64_MAX / 8, shake;
    switch (setting->order) {
    case PSC_SEARCH_SIZE: key = item->bytes; break;
    case PSC_SEARCH_LIFE: key = (uint64_t)(item->to - item->from) << 16; break;
    case PSC_SEARCH_CROWD: key = s->crowd[i]; break;
    default: key = s->area[i]; break;
    }
    key = key > most ? most : key;
    shake = (psc_random_next(state) >> 48) * setting->noise; /* of 2^22: 2^16 steps, 64 */
    return UINT64_MAX - (key + (key >> 22) * shake + (key & ((1u << 22) - 1)) * shake / (1u << 22));
}

/* As when nothing is placed. */
static void clear(struct psc_search *s, const struct psc_search_setting *setting)
{
    uint64_t state = setting->seed;
    s->valley = setting->valley;
    s->frame_n = s->moved_n = s->changed_n = s->candidate_n = s->kept_n = 0;
    s->left = 0;
    s->looks = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        s->is_kept[i] = false;
        s->rank[i] = rank_of(s, i, setting, &state);
        s->spots[i].key = s->items[i].fixed ? s->at[i] : open_from(s, i, 0);
        s->left += !s->items[i].fixed;
    }
    for (uint32_t i = 0; s->lowest && i < 2 * s->leaves; i++)
        s->lowest[i] = PLACED;
    for (uint32_t k = 0; k < s->section_n; k++)
        s->sections[k] = (struct psc_search_section){.low = PLACED};
    start_choice(s);
    soil(s, 0, s->section_n);
}

enum psc_search_answer psc_search_run(struct psc_search *s, uint64_t capacity, const struct psc_search_setting *setting,
                                      const struct psc_search_limits *limits)
{
    enum psc_search_answer answer;
    s->capacity = capacity;
    s->nomem = false;
    clear(s, setting);
    if (!settle(s))
        answer = s->nomem ? PSC_SEARCH_NOMEM : PSC_SEARCH_NONE;
    else if (s->left && !push(s))
        answer = PSC_SEARCH_NOMEM;
    else
        answer = walk(s, limits);
    *limits->work -= s->looks < *limits->work ? s->looks : *limits->work;
    return answer;
}

uint64_t psc_search_get(const struct psc_search *s, uint64_t *offset)
{
    uint64_t height = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        offset[s->items[i].box] = s->at[i];
        height = s->at[i] + s->items[i].bytes > height ? s->at[i] + s->items[i].bytes : height;
    }
    return height;
}
