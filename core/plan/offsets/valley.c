#include "core/plan/offsets/valley.h"

#include "core/base/mem.h"

#include <string.h>

#define LAID UINT64_MAX
enum { TOGETHER = 512 };

struct item { /* a box by its place among the begins */
    uint64_t bytes;        /* 0: it needs no place */
    uint32_t from, to;     /* sections */
};
struct group { uint32_t first, n; }; /* of `may` */
struct laid { uint64_t top; uint32_t place; };

struct psc_valleys {
    const struct psc_beside *beside;
    struct psc_sections sections;
    uint32_t n;
    struct item *items;    /* [n] */
    uint64_t *weights[PSC_VALLEY_WEIGHT_N], *weight; /* [n]; of the present filling */
    uint64_t *total;       /* [section_n] bytes of its boxes */
    uint64_t *left;        /* [section_n] bytes to come */
    uint32_t *count;       /* [section_n + 1] boxes that may begin at the level, while a choice is made */
    uint64_t *key;         /* [n] where an item may begin at the lowest; LAID */
    uint64_t level;
    struct laid *laid;     /* [n + 1] those whose tops lie above the level: a heap from 1 on, the lowest first */
    uint32_t laid_n;
    uint64_t *found;       /* set of items; between choices it is empty */
    uint32_t found_lo, found_hi; /* words */
    uint32_t *may, *other; /* [n], [n + 1]: items that may begin at the level, group by group, each in order */
    struct group *groups;  /* [n + 1] */
};

static void weigh(struct psc_valleys *v, uint32_t i)
{
    const struct item *item = &v->items[i];
    uint64_t area, most = 0;
    for (uint32_t s = item->from; s < item->to; s++)
        most = v->total[s] > most ? v->total[s] : most;
    v->weights[PSC_VALLEY_SIZE][i] = item->bytes;
    v->weights[PSC_VALLEY_LIFE][i] = item->to - item->from;
    v->weights[PSC_VALLEY_AREA][i] = psc_mul_u64(item->bytes, item->to - item->from, &area) ? area : UINT64_MAX;
    v->weights[PSC_VALLEY_CROWD][i] = most;
}

struct psc_valleys *psc_valleys_new(const struct psc_beside *beside, struct psc_arena *arena)
{
    const struct psc_offsets_problem *p = beside->p;
    struct psc_valleys *v = psc_arena_alloc0(arena, 1, sizeof *v);
    size_t n = p->box_n, section_n;
    if (!v || !psc_sections_build(&v->sections, p, arena))
        return NULL;
    section_n = v->sections.section_n;
    v->beside = beside;
    v->n = p->box_n;
    v->items = psc_arena_alloc(arena, n, sizeof *v->items);
    for (unsigned w = 0; w < PSC_VALLEY_WEIGHT_N; w++)
        if (!(v->weights[w] = psc_arena_alloc(arena, n, sizeof *v->weights[w])))
            return NULL;
    v->key = psc_arena_alloc(arena, n, sizeof *v->key);
    v->laid = psc_arena_alloc(arena, n + 1, sizeof *v->laid);
    v->found = psc_arena_alloc0(arena, n / 64 + 1, sizeof *v->found);
    v->may = psc_arena_alloc(arena, n, sizeof *v->may);
    v->other = psc_arena_alloc(arena, n + 1, sizeof *v->other);
    v->groups = psc_arena_alloc(arena, n + 1, sizeof *v->groups);
    v->total = psc_arena_alloc0(arena, section_n, sizeof *v->total);
    v->left = psc_arena_alloc(arena, section_n, sizeof *v->left);
    v->count = psc_arena_alloc(arena, section_n + 1, sizeof *v->count);
    if (!v->items || !v->key || !v->laid || !v->found || !v->may || !v->other || !v->groups || !v->total || !v->left ||
        !v->count)
        return NULL;
    for (uint32_t k = 0; k < v->n; k++) {
        uint32_t i = p->by_begin[k];
        v->items[k] = (struct item){psc_box_room(p->align, p->boxes[i].bytes), v->sections.from[i], v->sections.to[i]};
        for (uint32_t s = v->items[k].from; s < v->items[k].to; s++)
            v->total[s] += v->items[k].bytes;
    }
    for (uint32_t k = 0; k < v->n; k++)
        weigh(v, k);
    return v;
}

/* ---- levels -------------------------------------------------------------------------------------------------------- */

static void push_laid(struct psc_valleys *v, struct laid laid)
{
    uint32_t k = ++v->laid_n;
    for (; k > 1 && v->laid[k / 2].top > laid.top; k /= 2)
        v->laid[k] = v->laid[k / 2];
    v->laid[k] = laid;
}

static uint32_t pop_laid(struct psc_valleys *v)
{
    uint32_t place = v->laid[1].place, k = 1;
    struct laid last = v->laid[v->laid_n--];
    for (uint32_t child; (child = 2 * k) <= v->laid_n; k = child) {
        child += child < v->laid_n && v->laid[child + 1].top < v->laid[child].top;
        if (v->laid[child].top >= last.top)
            break;
        v->laid[k] = v->laid[child];
    }
    v->laid[k] = last;
    return place;
}

/* Marks those that may begin on the box. */
static void find_those_on(struct psc_valleys *v, uint32_t place)
{
    const struct psc_beside *b = v->beside;
    uint32_t *found = v->other, n = 0;
    for (uint32_t k = b->earlier_at[place]; k < b->earlier_at[place + 1]; k++) {
        found[n] = b->earlier[k];
        n += v->key[b->earlier[k]] == v->level;
    }
    for (uint32_t k = place + 1; k < b->until[place]; k++) {
        found[n] = k;
        n += v->key[k] == v->level;
    }
    for (uint32_t k = 0; k < n; k++) {
        uint32_t word = found[k] / 64;
        v->found[word] |= UINT64_C(1) << found[k] % 64;
        v->found_lo = word < v->found_lo ? word : v->found_lo;
        v->found_hi = word + 1 > v->found_hi ? word + 1 : v->found_hi;
    }
}

/* Goes to the next level at which an item may begin; returns how many may. 0: none is left. */
static uint32_t go_up(struct psc_valleys *v)
{
    uint32_t n = 0;
    v->found_lo = UINT32_MAX;
    v->found_hi = 0;
    while (!v->found_hi && v->laid_n) {
        v->level = v->laid[1].top;
        while (v->laid_n && v->laid[1].top == v->level)
            find_those_on(v, pop_laid(v));
    }
    for (uint32_t word = v->found_lo; word < v->found_hi; word++)
        for (; v->found[word]; v->found[word] &= v->found[word] - 1)
            v->may[n++] = word * 64 + (uint32_t)__builtin_ctzll(v->found[word]);
    return n;
}

/* ---- choosing ------------------------------------------------------------------------------------------------------ */

static void spend(uint64_t *looks, uint64_t n)
{
    *looks -= n < *looks ? n : *looks;
}

/* None of the choices below branches on what it finds, since no branch could be guessed: `all` has every bit where something
 * is better than the best so far. */
static inline void take_if(uint64_t *best, uint64_t other, uint64_t all)
{
    *best ^= (*best ^ other) & all;
}

/* Of the sections [lo, hi), in which something may begin. */
static uint32_t choose_among(const struct psc_valleys *v, uint32_t lo, uint32_t hi, bool full)
{
    uint64_t best = lo, best_count = UINT32_MAX, best_left = 0;
    uint32_t count = 0;
    for (uint32_t s = lo; s < hi; s++) {
        uint64_t left = v->left[s], all;
        count += v->count[s];
        all = full ? (left > best_left) | ((left == best_left) & (count < best_count))
                   : (count < best_count) | ((count == best_count) & (left > best_left));
        all = -(all & (count != 0));
        take_if(&best, s, all);
        take_if(&best_count, count, all);
        take_if(&best_left, left, all);
    }
    return (uint32_t)best;
}

/* In which section of those that the items of the group live in. */
static uint32_t choose_section(struct psc_valleys *v, const struct group *g, bool full, uint64_t *looks)
{
    uint32_t lo = UINT32_MAX, hi = 0;
    for (uint32_t k = g->first; k < g->first + g->n; k++) {
        const struct item *item = &v->items[v->may[k]];
        lo = item->from < lo ? item->from : lo;
        hi = item->to > hi ? item->to : hi;
    }
    memset(v->count + lo, 0, (hi - lo + 1) * sizeof *v->count);
    for (uint32_t k = g->first; k < g->first + g->n; k++) {
        const struct item *item = &v->items[v->may[k]];
        v->count[item->from]++;
        v->count[item->to]--;
    }
    spend(looks, (uint64_t)g->n + hi - lo);
    return choose_among(v, lo, hi, full);
}

/* Items are in the order of begins, so is every group: of equal weight the first. */
static uint32_t choose_item(const struct psc_valleys *v, const struct group *g, uint32_t section)
{
    uint64_t best = PSC_NONE, most = 0;
    for (uint32_t k = g->first; k < g->first + g->n; k++) {
        uint32_t i = v->may[k];
        uint64_t weight = v->weight[i];
        uint64_t all = (weight > most) | ((weight == most) & (i < best));
        all = -(all & (v->items[i].from <= section) & (v->items[i].to > section));
        take_if(&best, i, all);
        take_if(&most, weight, all);
    }
    return (uint32_t)best;
}

/* ---- laying -------------------------------------------------------------------------------------------------------- */

static inline void raise(uint64_t *key, uint64_t to)
{
    *key = to > *key ? to : *key;
}

static void lay(struct psc_valleys *v, uint32_t place, uint64_t *looks)
{
    const struct psc_beside *b = v->beside;
    const struct item *item = &v->items[place];
    uint64_t top = v->level + item->bytes;
    spend(looks, (uint64_t)b->earlier_at[place + 1] - b->earlier_at[place] + b->until[place] - place);
    v->key[place] = LAID;
    push_laid(v, (struct laid){top, place});
    for (uint32_t s = item->from; s < item->to; s++)
        v->left[s] -= item->bytes;
    for (uint32_t k = b->earlier_at[place]; k < b->earlier_at[place + 1]; k++)
        raise(&v->key[b->earlier[k]], top);
    for (uint32_t k = place + 1; k < b->until[place]; k++)
        raise(&v->key[k], top);
}

/* Of the others in the group those before and those after the item are groups now; those beside it begin higher. */
static void part(struct psc_valleys *v, struct group g, const struct item *item, uint32_t *group_n)
{
    uint32_t before = g.first, after = 0;
    for (uint32_t k = g.first; k < g.first + g.n; k++) {
        uint32_t i = v->may[k];
        v->may[before] = v->other[after] = i;
        before += v->items[i].to <= item->from;
        after += v->items[i].from >= item->to;
    }
    memcpy(v->may + before, v->other, after * sizeof *v->may);
    if (before > g.first)
        v->groups[(*group_n)++] = (struct group){g.first, before - g.first};
    if (after)
        v->groups[(*group_n)++] = (struct group){before, after};
}

struct filling {
    struct psc_valley_setting setting;
    uint64_t below, looks, *offset;
    uint32_t *turn, turn_n;
};

static bool fill_group(struct psc_valleys *v, struct filling *f, struct group all)
{
    uint32_t group_n = all.n > 0;
    v->groups[0] = all;
    while (group_n) {
        struct group g = v->groups[--group_n];
        uint32_t i = v->may[g.first];
        if (g.n > 1)
            i = choose_item(v, &g, choose_section(v, &g, f->setting.full, &f->looks));
        if (!f->looks || v->level + v->items[i].bytes >= f->below)
            return false;
        lay(v, i, &f->looks);
        f->offset[v->beside->p->by_begin[i]] = v->level;
        f->turn[v->beside->p->by_begin[i]] = f->turn_n++;
        part(v, g, &v->items[i], &group_n);
    }
    return true;
}

/* Of the items from *next on those that are together: each lives beside one before it. At most TOGETHER. */
static struct group next_group(struct psc_valleys *v, uint32_t *next, uint32_t n)
{
    struct group g = {*next, 0};
    uint32_t reach = 0;
    for (; *next < n && g.n < TOGETHER; ++*next) {
        uint32_t i = v->may[*next];
        if (v->key[i] != v->level) /* something was laid beside it */
            continue;
        if (g.n && v->items[i].from >= reach)
            break;
        reach = v->items[i].to > reach ? v->items[i].to : reach;
        v->may[g.first + g.n++] = i;
    }
    return g;
}

/* Lays what may begin at the level, the first n of `may`. */
static bool fill_level(struct psc_valleys *v, struct filling *f, uint32_t n)
{
    for (uint32_t next = 0; next < n;)
        if (!fill_group(v, f, next_group(v, &next, n)))
            return false;
    return true;
}

bool psc_valleys_fill(struct psc_valleys *v, const struct psc_valley_setting *setting, uint64_t below, uint64_t *looks,
                      uint64_t *offset, uint32_t *turn)
{
    struct filling f = {.setting = *setting, .below = below, .looks = *looks, .offset = offset, .turn = turn};
    uint32_t n = 0;
    bool good;
    v->level = v->laid_n = 0;
    v->weight = v->weights[setting->weight];
    for (uint32_t s = 0; s < v->sections.section_n; s++)
        v->left[s] = v->total[s];
    for (uint32_t k = 0; k < v->n; k++) {
        uint32_t i = v->beside->p->by_begin[k];
        v->key[k] = v->items[k].bytes ? 0 : LAID;
        if (v->items[k].bytes) {
            v->may[n++] = k;
        } else {
            offset[i] = 0;
            turn[i] = f.turn_n++;
        }
    }
    do
        good = fill_level(v, &f, n);
    while (good && (n = go_up(v)));
    *looks = f.looks;
    return good;
}
