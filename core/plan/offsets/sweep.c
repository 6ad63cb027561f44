/* The two strategies that place in execution order and never look ahead. Blocks tile the arena from byte 0; neighbours
 * know each other, so a block that is given back joins free ones beside it.
 *
 *     block     0        1       2        3
 *     address   0 used   64 free 96 used  160 free     a box of 32 goes into block 1, a larger one is appended:
 *                                                      block 3 is the last, so it grows to what is asked
 *
 * The highest block, when it is free, is not among the holes: it is taken, and grows, when no hole is large enough.
 *
 * best-fit, as ggml's gallocr has it: free blocks stand in lists by size class (eight to an octave) with a bit for each
 * list that is not empty. The smallest that is large enough (of equals the one at the highest address) is searched in its
 * class and then in the next class that has any; at most LOOKS blocks of a list are looked at, so placing is O(1) however
 * many holes there are.
 * linear-scan: free blocks stand in a tree by address; O(log holes).
 */
#include "core/plan/offsets/place.h"
#include "core/plan/offsets/spans.h"
#include "core/plan/offsets/strategies.h"

#include <string.h>

enum { LOOKS = 32, SUB = 3, CLASSES = (64 - SUB) << SUB, WORDS = (CLASSES + 63) / 64 };

struct block {
    uint64_t at, bytes;
    uint32_t below, above;   /* neighbours by address, PSC_NONE */
    uint32_t before, behind; /* in its list, while free */
    bool free;
};
struct sweep {
    const struct psc_offsets_problem *p;
    struct block *blocks;
    uint32_t *block_of;      /* [box_n] */
    uint32_t made, top;      /* blocks made; the one with the highest address */
    uint32_t spare;          /* blocks given up, linked by `behind` */
    uint64_t some[WORDS];    /* lists that are not empty */
    uint32_t list[CLASSES];  /* valid where the bit is set */
    struct psc_spans spans;
    bool by_address;
};

static unsigned class_of(uint64_t bytes)
{
    unsigned log;
    if (bytes < 1u << SUB)
        return (unsigned)bytes;
    log = 63u - (unsigned)__builtin_clzll(bytes);
    return ((log - SUB + 1) << SUB) + (unsigned)(bytes >> (log - SUB) & ((1u << SUB) - 1));
}

/* ---- free blocks ------------------------------------------------------------------------------------------- */

static void list_block(struct sweep *s, uint32_t b)
{
    struct block *block = &s->blocks[b];
    block->free = true;
    if (b == s->top)
        return;
    if (s->by_address) {
        (void)psc_spans_insert(&s->spans, b, block->at, block->at + block->bytes);
        return;
    }
    unsigned c = class_of(block->bytes);
    bool any = s->some[c / 64] >> c % 64 & 1;
    block->before = PSC_NONE;
    block->behind = any ? s->list[c] : PSC_NONE;
    if (any)
        s->blocks[s->list[c]].before = b;
    s->list[c] = b;
    s->some[c / 64] |= UINT64_C(1) << c % 64;
}

static void unlist_block(struct sweep *s, uint32_t b)
{
    struct block *block = &s->blocks[b];
    block->free = false;
    if (b == s->top)
        return;
    if (s->by_address) {
        psc_spans_remove(&s->spans, b);
        return;
    }
    if (block->behind != PSC_NONE)
        s->blocks[block->behind].before = block->before;
    if (block->before != PSC_NONE) {
        s->blocks[block->before].behind = block->behind;
        return;
    }
    unsigned c = class_of(block->bytes);
    s->list[c] = block->behind;
    if (block->behind == PSC_NONE)
        s->some[c / 64] &= ~(UINT64_C(1) << c % 64);
}

/* The smallest of the first LOOKS of a list that is large enough; the highest address among equals. */
static uint32_t look(const struct sweep *s, unsigned c, uint64_t bytes)
{
    uint32_t best = PSC_NONE, b = s->list[c];
    for (int k = 0; b != PSC_NONE && k < LOOKS; k++, b = s->blocks[b].behind) {
        const struct block *block = &s->blocks[b];
        if (block->bytes >= bytes && (best == PSC_NONE || block->bytes < s->blocks[best].bytes ||
                                      (block->bytes == s->blocks[best].bytes && block->at > s->blocks[best].at)))
            best = b;
    }
    return best;
}

static uint32_t find_block(const struct sweep *s, uint64_t bytes)
{
    uint32_t best = PSC_NONE;
    unsigned c, word;
    uint64_t bits;
    if (s->by_address)
        return psc_spans_first(&s->spans, bytes);
    c = class_of(bytes);
    if (s->some[c / 64] >> c % 64 & 1)
        best = look(s, c, bytes);
    if (best != PSC_NONE)
        return best;
    word = ++c / 64;
    bits = word < WORDS ? s->some[word] & ~UINT64_C(0) << c % 64 : 0;
    while (!bits && ++word < WORDS)
        bits = s->some[word];
    return bits ? look(s, word * 64 + (unsigned)__builtin_ctzll(bits), bytes) : PSC_NONE;
}

/* ---- taking and giving back ------------------------------------------------------------------------------------ */

static uint32_t new_block(struct sweep *s)
{
    uint32_t b = s->spare;
    if (b == PSC_NONE)
        return s->made++;
    s->spare = s->blocks[b].behind;
    return b;
}

static void drop_block(struct sweep *s, uint32_t b)
{
    s->blocks[b].behind = s->spare;
    s->spare = b;
}

/* What is not needed of a block becomes a free block above it. */
static void split_block(struct sweep *s, uint32_t b, uint64_t bytes)
{
    uint32_t rest = new_block(s), above = s->blocks[b].above;
    s->blocks[rest] = (struct block){.at = s->blocks[b].at + bytes, .bytes = s->blocks[b].bytes - bytes, .below = b,
                                     .above = above};
    s->blocks[b].bytes = bytes;
    s->blocks[b].above = rest;
    if (above != PSC_NONE)
        s->blocks[above].below = rest;
    else
        s->top = rest;
    list_block(s, rest);
}

/* No hole is large enough: the highest block grows when it is free, else a new one is put on top. */
static uint32_t append(struct sweep *s, uint64_t bytes)
{
    uint32_t b = s->top;
    if (b != PSC_NONE && s->blocks[b].free) {
        unlist_block(s, b);
        s->blocks[b].bytes = bytes;
        return b;
    }
    b = new_block(s);
    s->blocks[b] = (struct block){.at = s->top == PSC_NONE ? 0 : s->blocks[s->top].at + s->blocks[s->top].bytes,
                                  .bytes = bytes, .below = s->top, .above = PSC_NONE};
    if (s->top != PSC_NONE)
        s->blocks[s->top].above = b;
    s->top = b;
    return b;
}

static uint64_t take(struct sweep *s, uint32_t box, uint64_t bytes)
{
    uint32_t b = find_block(s, bytes);
    if (b == PSC_NONE) {
        b = append(s, bytes);
    } else {
        unlist_block(s, b);
        if (s->blocks[b].bytes > bytes)
            split_block(s, b, bytes);
    }
    s->block_of[box] = b;
    return s->blocks[b].at;
}

/* b swallows the free block above it. */
static void join_above(struct sweep *s, uint32_t b)
{
    uint32_t gone = s->blocks[b].above, above = s->blocks[gone].above;
    unlist_block(s, gone);
    s->blocks[b].bytes += s->blocks[gone].bytes;
    s->blocks[b].above = above;
    if (above != PSC_NONE)
        s->blocks[above].below = b;
    else
        s->top = b;
    drop_block(s, gone);
}

static void give_back(struct sweep *s, uint32_t b)
{
    uint32_t below = s->blocks[b].below;
    if (s->blocks[b].above != PSC_NONE && s->blocks[s->blocks[b].above].free)
        join_above(s, b);
    if (below != PSC_NONE && s->blocks[below].free) {
        unlist_block(s, below);
        s->blocks[below].bytes += s->blocks[b].bytes;
        s->blocks[below].above = s->blocks[b].above;
        if (s->blocks[b].above != PSC_NONE)
            s->blocks[s->blocks[b].above].below = below;
        else
            s->top = below;
        drop_block(s, b);
        b = below;
    }
    list_block(s, b);
}

/* ---- the walk ---------------------------------------------------------------------------------------------------- */

static enum psc_status walk(const struct psc_offsets_problem *p, bool by_address, struct psc_arena *scratch,
                            uint64_t *offset, uint32_t *turn)
{
    struct sweep s = {.p = p, .top = PSC_NONE, .spare = PSC_NONE, .by_address = by_address};
    uint32_t e = 0;
    size_t room = 2 * (size_t)p->box_n + 1; /* used and free ones take turns */
    struct psc_arena_mark mark = psc_arena_mark(scratch);
    s.blocks = psc_arena_alloc(scratch, room, sizeof *s.blocks);
    s.block_of = psc_arena_alloc(scratch, p->box_n, sizeof *s.block_of);
    if (!s.blocks || !s.block_of || (by_address && !psc_spans_init(&s.spans, (uint32_t)room, scratch)))
        return PSC_ERR_NOMEM;
    for (uint32_t k = 0; k < p->box_n; k++) {
        uint32_t i = p->by_begin[k];
        uint64_t bytes = psc_box_room(p->align, p->boxes[i].bytes);
        for (; p->boxes[p->by_end[e]].end <= p->boxes[i].begin; e++)
            if (p->boxes[p->by_end[e]].bytes)
                give_back(&s, s.block_of[p->by_end[e]]);
        offset[i] = bytes ? take(&s, i, bytes) : 0;
        turn[i] = k;
    }
    psc_arena_rewind(scratch, mark);
    return PSC_OK;
}

enum psc_status psc_pack_best_fit(const struct psc_offsets_problem *problem, uint64_t goal,
                                  const struct psc_offsets_budget *budget, struct psc_arena *scratch, uint64_t *offset,
                                  uint32_t *turn, struct psc_offsets_space *space)
{
    (void)goal, (void)budget, (void)space;
    if (!psc_offsets_is_plain(problem))
        return psc_place_in_order(problem, problem->by_begin, PSC_PLACE_BEST, scratch, offset, turn);
    return walk(problem, false, scratch, offset, turn);
}

enum psc_status psc_pack_linear_scan(const struct psc_offsets_problem *problem, uint64_t goal,
                                     const struct psc_offsets_budget *budget, struct psc_arena *scratch, uint64_t *offset,
                                     uint32_t *turn, struct psc_offsets_space *space)
{
    (void)goal, (void)budget, (void)space;
    if (!psc_offsets_is_plain(problem))
        return psc_place_in_order(problem, problem->by_begin, PSC_PLACE_FIRST, scratch, offset, turn);
    return walk(problem, true, scratch, offset, turn);
}
