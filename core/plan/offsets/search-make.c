/* Building what a search walks on: items, lists of sections, and who is beside whom. */
#include "core/plan/offsets/search-private.h"

#include "core/base/mem.h"

enum { GROUP_WORDS = 8, FEW_SECTIONS = 256 };

void psc_search_end(struct psc_search *s)
{
    if (!s)
        return;
    psc_free(s->frames);
    psc_free(s->sets);
    psc_free(s->moved);
    psc_free(s->changed);
    psc_free(s->candidates);
    psc_arena_release(&s->arena);
    psc_free(s);
}

static uint64_t area_of(uint64_t bytes, uint64_t steps)
{
    uint64_t area;
    return psc_mul_u64(bytes, steps, &area) ? area : UINT64_MAX;
}

static bool make_items(struct psc_search *s, const struct psc_offsets_problem *p, const struct psc_sections *sections,
                       uint32_t first, const uint32_t *boxes)
{
    size_t n = s->n;
    s->items = psc_arena_alloc0(&s->arena, n, sizeof *s->items);
    s->spots = psc_arena_alloc0(&s->arena, n, sizeof *s->spots);
    s->at = psc_arena_alloc0(&s->arena, n, sizeof *s->at);
    s->rank = psc_arena_alloc0(&s->arena, n, sizeof *s->rank);
    s->area = psc_arena_alloc0(&s->arena, n, sizeof *s->area);
    s->crowd = psc_arena_alloc0(&s->arena, n, sizeof *s->crowd);
    s->kept = psc_arena_alloc0(&s->arena, n, sizeof *s->kept);
    s->is_kept = psc_arena_alloc0(&s->arena, n, sizeof *s->is_kept);
    if (!s->items || !s->spots || !s->at || !s->rank || !s->area || !s->crowd || !s->kept || !s->is_kept)
        return false;
    for (uint32_t k = 0; k < s->n; k++) {
        const struct psc_box *box = &p->boxes[boxes[k]];
        struct psc_search_item *item = &s->items[k];
        *item = (struct psc_search_item){.bytes = psc_box_room(p->align, box->bytes), .box = boxes[k], .twin = PSC_NONE,
                                         .align = p->align, .from = sections->from[boxes[k]] - first,
                                         .to = sections->to[boxes[k]] - first};
        if (p->aligns && p->aligns[boxes[k]] > item->align)
            item->align = p->aligns[boxes[k]];
        if (p->fixed && p->fixed[boxes[k]] != PSC_OFFSET_FREE) {
            item->fixed = s->has_fixed = true;
            s->at[k] = p->fixed[boxes[k]];
        }
        s->spots[k].bytes = item->bytes;
        s->area[k] = area_of(item->bytes, box->end - box->begin);
    }
    return true;
}

/* Counts pairs of items and sections, then of items; false: too many. */
static bool count_pairs(const struct psc_search *s, uint64_t *listed, uint64_t *beside)
{
    uint32_t next = 0;
    *listed = *beside = 0;
    for (uint32_t k = 0; k < s->n; k++)
        *listed += s->items[k].to - s->items[k].from;
    if (*listed > PSC_SEARCH_PAIRS_MAX)
        return false;
    /* those that begin in a section meet all that live in it: at most as many pairs as there are in the lists times
     * the most alive; counted one by one, and given up in time */
    for (uint32_t k = 0; k < s->n && *beside <= PSC_SEARCH_PAIRS_MAX; k++)
        for (next = k + 1; next < s->n && s->items[next].from < s->items[k].to; next++)
            *beside += 2;
    return *beside <= PSC_SEARCH_PAIRS_MAX;
}

static bool make_lists(struct psc_search *s, size_t listed)
{
    uint64_t *total = psc_arena_alloc0(&s->arena, s->section_n, sizeof *total);
    s->sections = psc_arena_alloc0(&s->arena, s->section_n, sizeof *s->sections);
    s->list_at = psc_arena_alloc0(&s->arena, (size_t)s->section_n + 2, sizeof *s->list_at);
    s->list = psc_arena_alloc(&s->arena, listed, sizeof *s->list);
    if (!total || !s->sections || !s->list_at || !s->list)
        return false;
    for (uint32_t i = 0; i < s->n; i++)
        for (uint32_t k = s->items[i].from; k < s->items[i].to; k++) {
            s->list_at[k + 2]++;
            total[k] += s->items[i].bytes;
        }
    for (uint32_t k = 0; k < s->section_n; k++)
        s->list_at[k + 2] += s->list_at[k + 1];
    for (uint32_t i = 0; i < s->n; i++)
        for (uint32_t k = s->items[i].from; k < s->items[i].to; k++) {
            s->list[s->list_at[k + 1]++] = i;
            s->crowd[i] = total[k] > s->crowd[i] ? total[k] : s->crowd[i];
        }
    return true;
}

static bool is_alike(const struct psc_search_item *a, const struct psc_search_item *b)
{
    return a->from == b->from && a->to == b->to && a->bytes == b->bytes && a->align == b->align && !a->fixed && !b->fixed;
}

static bool make_beside(struct psc_search *s, size_t beside)
{
    s->beside_at = psc_arena_alloc0(&s->arena, (size_t)s->n + 2, sizeof *s->beside_at);
    s->beside = psc_arena_alloc(&s->arena, beside, sizeof *s->beside);
    if (!s->beside_at || !s->beside)
        return false;
    for (uint32_t i = 0; i < s->n; i++)
        for (uint32_t k = i + 1; k < s->n && s->items[k].from < s->items[i].to; k++) {
            s->beside_at[i + 2]++;
            s->beside_at[k + 2]++;
        }
    for (uint32_t i = 0; i < s->n; i++)
        s->beside_at[i + 2] += s->beside_at[i + 1];
    for (uint32_t i = 0; i < s->n; i++)
        for (uint32_t k = i + 1; k < s->n && s->items[k].from < s->items[i].to; k++) {
            s->beside[s->beside_at[i + 1]++] = k;
            s->beside[s->beside_at[k + 1]++] = i;
            if (is_alike(&s->items[i], &s->items[k]))
                s->items[k].twin = i;
        }
    return true;
}

static bool make_sets(struct psc_search *s)
{
    s->words = (s->section_n + 63) / 64;
    while ((s->section_n - 1) >> s->shift >= GROUP_WORDS * 64)
        s->shift++;
    s->group_words = ((s->section_n - 1) >> s->shift) / 64 + 1;
    s->dirty = psc_arena_alloc0(&s->arena, s->words, sizeof *s->dirty);
    s->touched = psc_arena_alloc0(&s->arena, s->group_words, sizeof *s->touched);
    s->why = psc_arena_alloc0(&s->arena, s->group_words, sizeof *s->why);
    if (s->section_n > FEW_SECTIONS) {
        for (s->leaves = 1; s->leaves < s->section_n;)
            s->leaves *= 2;
        s->lowest = psc_arena_alloc(&s->arena, 2 * (size_t)s->leaves, sizeof *s->lowest);
        if (!s->lowest)
            return false;
    }
    return s->dirty && s->touched && s->why;
}

enum psc_status psc_search_begin(const struct psc_offsets_problem *p, const struct psc_sections *sections, uint32_t part,
                                 const uint32_t *boxes, uint32_t box_n, struct psc_search **ret)
{
    struct psc_search *s = psc_alloc0(1, sizeof *s);
    uint32_t first = sections->part_at[part];
    uint64_t listed, beside;
    enum psc_status status = PSC_ERR_NOMEM;
    if (!s)
        return status;
    s->n = box_n;
    s->section_n = sections->part_at[part + 1] - first;
    if (make_items(s, p, sections, first, boxes)) {
        if (!count_pairs(s, &listed, &beside))
            status = PSC_ERR_TOO_BIG;
        else if (make_lists(s, (size_t)listed) && make_beside(s, (size_t)beside) && make_sets(s))
            status = PSC_OK;
    }
    if (status)
        psc_search_end(s);
    else
        *ret = s;
    return status;
}
