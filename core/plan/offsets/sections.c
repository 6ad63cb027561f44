#include "core/plan/offsets/sections.h"

/* A section ends at the first end after a begin: nobody else joins those who are alive then. */
static void number_sections(struct psc_sections *s, const struct psc_offsets_problem *p)
{
    bool fresh = false;
    uint32_t e = 0;
    for (uint32_t k = 0; k < p->box_n; k++) {
        uint32_t i = p->by_begin[k];
        for (; p->boxes[p->by_end[e]].end <= p->boxes[i].begin; e++) {
            s->section_n += fresh && p->boxes[p->by_end[e]].bytes;
            fresh = fresh && !p->boxes[p->by_end[e]].bytes;
            s->to[p->by_end[e]] = s->section_n;
        }
        s->from[i] = s->section_n;
        fresh = fresh || p->boxes[i].bytes;
    }
    s->section_n += fresh;
    for (; e < p->box_n; e++)
        s->to[p->by_end[e]] = s->section_n;
    for (uint32_t i = 0; i < p->box_n; i++)
        if (!p->boxes[i].bytes)
            s->to[i] = s->from[i];
}

static void find_parts(struct psc_sections *s, const struct psc_offsets_problem *p)
{
    uint32_t reach = 0;
    for (uint32_t k = 0; k < p->box_n; k++) {
        uint32_t i = p->by_begin[k];
        if (s->from[i] == s->to[i])
            continue;
        if (s->from[i] >= reach)
            s->part_at[s->part_n++] = s->from[i];
        reach = s->to[i] > reach ? s->to[i] : reach;
    }
    s->part_at[s->part_n] = s->section_n;
}

bool psc_sections_build(struct psc_sections *ret, const struct psc_offsets_problem *p, struct psc_arena *arena)
{
    *ret = (struct psc_sections){0};
    ret->from = psc_arena_alloc(arena, p->box_n, sizeof *ret->from);
    ret->to = psc_arena_alloc(arena, p->box_n, sizeof *ret->to);
    if (!ret->from || !ret->to)
        return false;
    number_sections(ret, p);
    ret->part_at = psc_arena_alloc(arena, (size_t)ret->section_n + 1, sizeof *ret->part_at);
    if (!ret->part_at)
        return false;
    find_parts(ret, p);
    return true;
}
