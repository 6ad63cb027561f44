/* core/plan/offsets/search-private.h: what search.c walks and search-make.c builds. */
#ifndef PSC_CORE_PLAN_OFFSETS_SEARCH_PRIVATE_H
#define PSC_CORE_PLAN_OFFSETS_SEARCH_PRIVATE_H

#include "core/plan/offsets/search.h"

#define PSC_SEARCH_PLACED UINT64_MAX

struct psc_search_item { /* a box of the part; items are in order of their begins */
    uint64_t bytes, align;
    uint32_t from, to;     /* sections of the part, half-open */
    uint32_t box;          /* of the problem */
    uint32_t twin;         /* the last one before it that is like it, PSC_NONE */
    bool fixed;
};
struct psc_search_spot { uint64_t key, bytes; }; /* the lowest byte at which an item may begin, or PLACED; the item's */
struct psc_search_section {
    uint64_t low;          /* where the next of its boxes may begin at the lowest; PLACED: none is left */
    uint64_t end;          /* the least height at which its boxes can end */
    uint32_t n;            /* boxes that may begin at low */
};
struct psc_search_frame {  /* a choice */
    uint32_t first, n;     /* candidates, by rank */
    uint32_t next;         /* the one to try; n: none of them */
    uint32_t section;
    uint64_t level;
    size_t moved, changed; /* how far the trails went */
};
struct psc_search_moved { uint64_t key; uint32_t item; };
struct psc_search_changed { struct psc_search_section was; uint32_t section; };

struct psc_search {
    struct psc_arena arena;
    uint32_t n, section_n, left;   /* items; to be placed */
    uint32_t words;                /* of a set of sections */
    uint32_t shift, group_words;   /* of a coarse set: a bit for 2^shift neighbouring sections */
    struct psc_search_item *items; /* [n] */
    struct psc_search_spot *spots; /* [n] */
    uint64_t *at;                  /* [n] where it was placed */
    uint64_t *rank;                /* [n] the lowest is tried first */
    uint64_t *area, *crowd;        /* [n] bytes x steps, at most UINT64_MAX; the most bytes alive in one of its sections */
    uint32_t *beside_at, *beside;  /* [n + 1] items that share a section with it */
    uint32_t *list_at, *list;      /* [section_n + 1] items of a section, by key as they were when it was looked at */
    struct psc_search_section *sections;
    uint64_t *lowest;              /* tree of the least low over runs of sections, leaves from `leaves`; NULL: few sections */
    uint32_t leaves;
    uint64_t *dirty, *touched, *why; /* sets: sections to look at; coarse ones: changed by this choice, reasons */
    uint32_t dirty_lo, dirty_hi;   /* words of dirty that may be set */
    uint32_t *kept, kept_n;        /* items that were kept out of a hole once */
    bool *is_kept;
    bool has_fixed;
    uint64_t capacity, looks;
    uint8_t valley;
    bool nomem;
    struct psc_search_frame *frames;
    uint64_t *sets;                /* of each frame: why it died so far, and what its present choice touched */
    struct psc_search_moved *moved;
    struct psc_search_changed *changed;
    uint32_t *candidates;
    size_t frame_n, frame_cap, sets_cap, moved_n, moved_cap, changed_n, changed_cap, candidate_n, candidate_cap;
};

#endif
