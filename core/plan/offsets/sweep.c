/* The two strategies that place in execution order and never look ahead. Blocks tile the arena from byte 0; neighbours
 * know each other, so a block that is given back joins free ones beside it.
 *
 *     block     0        1       2        3
 *     address   0 used   64 free 96 used  160 free     a box of 32 goes into block 1, a larger one is appended:
 *                                                      block 3 is the last, so it grows to what is asked
 *
 * The highest block, when it is free, is not among the holes: it is taken, and grows, when no hole is large enough.
 *
 * best-fit, as ggml's gallocr has it: free blocks stand in lists by size class (16 to an octave) with a bit for each
 * list that is not empty. The smallest that is large enough (of equals the one at the highest address) is searched in its
 * class and then in the next class that has any; at most LOOKS blocks of a list are looked at, so placing is O(1) however
 * many holes there are.
 * linear-scan: free blocks stand in a tree by address; O(log holes).
 */
#include "core/plan/offsets/place.h"
#include "core/plan/offsets/spans.h"
#include "core/plan/offsets/strategies.h"

#include <string.h>

/* Each of the two is one function, so that what it asks for most stays in registers. */
#if defined(__GNUC__)
#define INLINE static inline __attribute__((always_inline))
#else
#define INLINE static inline
#endif

enum { LOOKS = 32, SUB = 4, CLASSES = 64 << SUB, WORDS = CLASSES / 64, UNLISTED = CLASSES, USED };
enum { OUTSIDE = CLASSES, FIRST }; /* numbers of blocks follow those of classes; OUTSIDE is below the lowest and above the
                                      highest and never free */

struct block {
    uint64_t at, bytes;
    uint32_t below, above; /* neighbours by address; above the highest and below the lowest is OUTSIDE */
    uint32_t class;        /* USED; of free ones their list, or UNLISTED */
};
/* A ring for each class through its head, link c, and the links of its blocks: with a head nobody asks who is first or last,
 * which nobody could predict. The highest block, when it is free, is a ring of its own. */
struct link {
    uint32_t before, behind;
};
struct sweep {
    struct block *blocks;
    struct link *links;
    uint32_t *block_of;       /* [box_n] */
    uint32_t *spare;          /* blocks given up */
    uint32_t spare_n, made;
    uint64_t height;          /* the highest end of a used block so far */
    uint64_t some[WORDS + 1]; /* lists that are not empty; the last for UNLISTED */
    uint64_t words;           /* words of it that are not 0 */
    unsigned has_heads;       /* bit k: lists 64 k to 64 k + 63 */
    struct psc_spans *spans;  /* linear-scan; NULL: best-fit */
};

INLINE unsigned class_of(uint64_t bytes)
{
    unsigned log;
    if (bytes < 1u << SUB)
        return (unsigned)bytes;
    log = 63u - (unsigned)__builtin_clzll(bytes);
    return ((log - SUB) << SUB) + (unsigned)(bytes >> (log - SUB));
}

/* ---- free blocks ------------------------------------------------------------------------------------------- */

/* Heads are made when their classes are first asked for: a graph has sizes of few octaves. */
INLINE void make_heads(struct sweep *s, unsigned c)
{
    if (s->has_heads >> c / 64 & 1)
        return;
    s->has_heads |= 1u << c / 64;
    for (uint32_t link = c / 64 * 64; link <= (c | 63); link++)
        s->links[link] = (struct link){link, link};
}

INLINE void list_block(struct sweep *s, uint32_t b)
{
    struct block *block = &s->blocks[b];
    if (block->above == OUTSIDE || s->spans) {
        block->class = UNLISTED;
        s->links[b] = (struct link){b, b};
        if (block->above != OUTSIDE)
            (void)psc_spans_insert(s->spans, b, block->at, block->at + block->bytes);
        return;
    }
    unsigned c = class_of(block->bytes);
    make_heads(s, c);
    uint32_t behind = s->links[c].behind;
    block->class = c;
    s->links[b].before = c;
    s->links[b].behind = behind;
    s->links[behind].before = b;
    s->links[c].behind = b;
    s->some[c / 64] |= UINT64_C(1) << c % 64;
    s->words |= UINT64_C(1) << c / 64;
}

/* The bit of a list that is empty now is cleared without a branch. */
INLINE void unlist_block(struct sweep *s, uint32_t b)
{
    uint32_t before = s->links[b].before, behind = s->links[b].behind, c = s->blocks[b].class;
    if (s->spans) {
        psc_spans_remove(s->spans, b);
        return;
    }
    s->links[before].behind = behind;
    s->links[behind].before = before;
    s->some[c / 64] &= ~((uint64_t)(before == behind) << c % 64);
    s->words &= ~((uint64_t)!s->some[c / 64] << c / 64);
}

/* The smallest of the first LOOKS of a list that is large enough; the highest address among equals. */
INLINE uint32_t look(const struct sweep *s, unsigned c, uint64_t bytes)
{
    uint32_t best = OUTSIDE, b = s->links[c].behind;
    uint64_t best_bytes = UINT64_MAX, best_at = 0;
    for (int k = 0; b >= CLASSES && k < LOOKS; k++, b = s->links[b].behind) {
        const struct block *block = &s->blocks[b];
        bool better = (block->bytes >= bytes) & ((block->bytes < best_bytes) |
                                                 ((block->bytes == best_bytes) & (block->at > best_at)));
        best = better ? b : best;
        best_bytes = better ? block->bytes : best_bytes;
        best_at = better ? block->at : best_at;
    }
    return best;
}

/* The first list from c on that is not empty, CLASSES when there is none. */
INLINE unsigned next_list(const struct sweep *s, unsigned c)
{
    unsigned word = c / 64;
    uint64_t bits = s->some[word] & ~UINT64_C(0) << c % 64, words;
    if (bits)
        return word * 64 + (unsigned)__builtin_ctzll(bits);
    words = s->words & ~UINT64_C(1) << word;
    if (!words)
        return CLASSES;
    word = (unsigned)__builtin_ctzll(words);
    return word * 64 + (unsigned)__builtin_ctzll(s->some[word]);
}

INLINE uint32_t find_block(const struct sweep *s, uint64_t bytes)
{
    uint32_t best;
    if (s->spans) {
        best = psc_spans_first(s->spans, bytes);
        return best == PSC_NONE ? OUTSIDE : best;
    }
    unsigned own = class_of(bytes), c = next_list(s, own);
    if (c == CLASSES)
        return OUTSIDE;
    best = look(s, c, bytes);
    if (best != OUTSIDE)
        return best;
    c = next_list(s, own + 1); /* all of its own class are too small */
    return c == CLASSES ? OUTSIDE : look(s, c, bytes);
}

/* ---- taking and giving back ------------------------------------------------------------------------------------ */

INLINE uint32_t new_block(struct sweep *s)
{
    return s->spare_n ? s->spare[--s->spare_n] : s->made++;
}

/* Puts a block between another and the one above that. */
INLINE void put_above(struct sweep *s, uint32_t below, uint32_t b, uint64_t at, uint64_t bytes)
{
    uint32_t above = s->blocks[below].above;
    s->blocks[b].at = at;
    s->blocks[b].bytes = bytes;
    s->blocks[b].below = below;
    s->blocks[b].above = above;
    s->blocks[below].above = b;
    s->blocks[above].below = b;
}

/* No hole is large enough: the highest block grows when it is free, else a new one is put on top. */
INLINE uint32_t append(struct sweep *s, uint64_t bytes)
{
    uint32_t top = s->blocks[OUTSIDE].below, b = top;
    if (s->blocks[top].class != USED) {
        s->blocks[top].bytes = bytes;
    } else {
        b = new_block(s);
        put_above(s, top, b, s->blocks[top].at + s->blocks[top].bytes, bytes);
    }
    if (s->blocks[b].at + bytes > s->height)
        s->height = s->blocks[b].at + bytes;
    return b;
}

INLINE uint64_t take(struct sweep *s, uint32_t box, uint64_t bytes)
{
    uint32_t b = find_block(s, bytes);
    uint64_t rest = 0;
    if (b == OUTSIDE) {
        b = append(s, bytes);
    } else {
        unlist_block(s, b);
        rest = s->blocks[b].bytes - bytes;
    }
    if (rest) { /* becomes a free block above */
        uint32_t upper = new_block(s);
        s->blocks[b].bytes = bytes;
        put_above(s, b, upper, s->blocks[b].at + bytes, rest);
        list_block(s, upper);
    }
    s->blocks[b].class = USED;
    s->block_of[box] = b;
    return s->blocks[b].at;
}

/* b swallows the block above it. */
INLINE void join_above(struct sweep *s, uint32_t b)
{
    uint32_t gone = s->blocks[b].above, above = s->blocks[gone].above;
    s->blocks[b].bytes += s->blocks[gone].bytes;
    s->blocks[b].above = above;
    s->blocks[above].below = b;
    s->spare[s->spare_n++] = gone;
}

INLINE void give_back(struct sweep *s, uint32_t b)
{
    uint32_t above = s->blocks[b].above, below = s->blocks[b].below;
    if (s->blocks[above].class != USED) {
        unlist_block(s, above);
        join_above(s, b);
    }
    if (s->blocks[below].class != USED) {
        unlist_block(s, below);
        join_above(s, below);
        b = below;
    }
    list_block(s, b);
}

/* ---- the walk ---------------------------------------------------------------------------------------------------- */

INLINE bool set_up(struct sweep *s, const struct psc_offsets_problem *p, struct psc_arena *scratch)
{
    size_t room = FIRST + 2 * (size_t)p->box_n + 1; /* used and free ones take turns */
    s->blocks = psc_arena_alloc(scratch, room, sizeof *s->blocks);
    s->links = psc_arena_alloc(scratch, room, sizeof *s->links);
    s->block_of = psc_arena_alloc(scratch, p->box_n, sizeof *s->block_of);
    s->spare = psc_arena_alloc(scratch, room - FIRST, sizeof *s->spare);
    if (!s->blocks || !s->links || !s->block_of || !s->spare ||
        (s->spans && !psc_spans_init(s->spans, (uint32_t)room, scratch)))
        return false;
    s->blocks[OUTSIDE] = (struct block){.below = OUTSIDE, .above = OUTSIDE, .class = USED};
    s->made = FIRST;
    return true;
}

INLINE enum psc_status walk(const struct psc_offsets_problem *p, struct psc_spans *spans, struct psc_arena *scratch,
                            uint64_t *offset, uint32_t *turn, struct psc_offsets_space *space)
{
    struct sweep s = {.spans = spans};
    uint64_t live = 0;
    uint32_t e = 0;
    struct psc_arena_mark mark = psc_arena_mark(scratch);
    if (!set_up(&s, p, scratch))
        return PSC_ERR_NOMEM;
    for (uint32_t k = 0; k < p->box_n; k++) {
        uint32_t i = p->by_begin[k];
        uint64_t bytes = psc_box_room(p->align, p->boxes[i].bytes);
        for (; p->boxes[p->by_end[e]].end <= p->boxes[i].begin; e++) {
            uint32_t ended = p->by_end[e];
            live -= psc_box_room(p->align, p->boxes[ended].bytes);
            if (p->boxes[ended].bytes)
                give_back(&s, s.block_of[ended]);
        }
        live += bytes;
        if (live > space->bound) {
            space->bound = live;
            space->bound_at = p->boxes[i].begin;
        }
        offset[i] = bytes ? take(&s, i, bytes) : 0;
        turn[i] = k;
    }
    space->height = s.height;
    psc_arena_rewind(scratch, mark);
    return PSC_OK;
}

enum psc_status psc_pack_best_fit(const struct psc_offsets_problem *problem, uint64_t goal,
                                  const struct psc_offsets_budget *budget, struct psc_arena *scratch, uint64_t *offset,
                                  uint32_t *turn, struct psc_offsets_space *space)
{
    (void)goal, (void)budget;
    if (!psc_offsets_is_plain(problem))
        return psc_place_in_order(problem, problem->by_begin, PSC_PLACE_BEST, scratch, offset, turn);
    return walk(problem, NULL, scratch, offset, turn, space);
}

enum psc_status psc_pack_linear_scan(const struct psc_offsets_problem *problem, uint64_t goal,
                                     const struct psc_offsets_budget *budget, struct psc_arena *scratch, uint64_t *offset,
                                     uint32_t *turn, struct psc_offsets_space *space)
{
    struct psc_spans spans;
    (void)goal, (void)budget;
    if (!psc_offsets_is_plain(problem))
        return psc_place_in_order(problem, problem->by_begin, PSC_PLACE_FIRST, scratch, offset, turn);
    return walk(problem, &spans, scratch, offset, turn, space);
}
