/* core/debug/diff-plans.h: two plans, or two runs, beside each other: which tensors lie elsewhere, and who explains the peak.
 *
 *     A  gate up silu swiglu down             swiglu gets bytes of its own      peak 32 at swiglu
 *     B  gate up silu swiglu down             swiglu lies over gate             peak 24 at silu
 *
 *     swiglu  moved, alias changed            at swiglu (A's peak) B has    gate    -8  its bytes are taken over by swiglu
 *                                             and B's own peak is           +0          as high elsewhere
 *
 * Tensors are paired by who they are, never by where they are drawn: name, op, type, layer and shape; several that are alike by
 * their neighbours that are paired already, else one after the other. Names and shapes may differ between the sides: what is left is
 * paired without its shape (then it grew or shrank), the rest is new or gone. Ids are not looked at: two files may number one
 * network differently. Stories without a graph (lists of boxes, expressions, arenas) are paired by the names of their values. Keys are
 * hashes of 64 bits.
 *
 * The peak is that of the exact bytes alive (core/debug/history.h). Of the two, the side with the higher peak says where to look: at
 * that position, and at the same position of the other side, the bytes of every tensor are compared. These parts and `elsewhere`, the
 * distance from there to the other side's own peak, sum up to the change exactly:
 *
 *     sum of parts + elsewhere == b.peak - a.peak
 *
 * Cost: O(n log n) in values, tenancies and positions. Ownership: the result lies in the arena; the sides are borrowed.
 */
#ifndef PSC_CORE_DEBUG_DIFF_PLANS_H
#define PSC_CORE_DEBUG_DIFF_PLANS_H

#include "core/base/text.h"
#include "core/debug/history.h"

struct psc_diff_side {
    const struct psc_graph *graph;     /* NULL: the story has none */
    const struct psc_story *story;
    const struct psc_history *history; /* of that story */
};

/* The node whose value it is, be it computed or filled; PSC_NONE: a copy, a region, or the side has no graph. */
psc_node psc_diff_node(const struct psc_diff_side *side, uint32_t value);

/* What differs of one tensor; several may. */
enum psc_change {
    PSC_CHANGE_GONE,   /* only A has it */
    PSC_CHANGE_NEW,    /* only B has it */
    PSC_CHANGE_MOVED,  /* another buffer (backend and name) or other bytes of it, or bytes in one of the two only */
    PSC_CHANGE_GREW,   /* more bytes in B */
    PSC_CHANGE_SHRANK, /* fewer */
    PSC_CHANGE_ALIAS,  /* in place over another tensor than in A, or in one of the two only; a view likewise */
    PSC_CHANGE_LIFE,   /* its last access is another's; said only where both last ones exist on both sides */
    PSC_CHANGE_N
};
const char *psc_change_name(enum psc_change change); /* "gone", "alias changed" ... */

struct psc_plan_change {
    uint32_t a, b;         /* values; PSC_NONE where there is none */
    uint32_t a_bar, b_bar; /* their first tenancies; PSC_NONE: no bytes */
    unsigned what;         /* bits 1 << enum psc_change */
    int64_t peak_bytes;    /* its part of the change of the peak, below; 0: it has none */
};

/* Why a tensor counts otherwise at the compared position. */
enum psc_part_why {
    PSC_PART_GONE,      /* there is no such tensor in B */
    PSC_PART_NEW,       /* nor in A */
    PSC_PART_SIZE,      /* alive in both, of another size */
    PSC_PART_TAKEN,     /* its bytes are taken over in place by `by` in B */
    PSC_PART_APART,     /* they were in A, by `by`, and are not in B */
    PSC_PART_SHORTER,   /* alive in A only */
    PSC_PART_LONGER,    /* alive in B only */
    PSC_PART_N
};
const char *psc_part_name(enum psc_part_why why); /* "taken over", "longer" ... */
struct psc_peak_part {
    uint32_t a, b;         /* values; PSC_NONE where there is none */
    int64_t bytes;         /* B's less A's, never 0 */
    enum psc_part_why why;
    uint32_t by;           /* of TAKEN a value of B, of APART one of A; else PSC_NONE */
};

struct psc_diff_total { uint64_t peak, reserved; int32_t peak_at, at; }; /* bytes; `at`: the compared position of the side */

struct psc_plan_diff {
    struct psc_diff_side a, b;
    const uint32_t *b_of, *a_of;          /* [a.story->value_n] the value of B, PSC_NONE; and back */
    const int32_t *b_at;                  /* [a.story->position_n + 2] B's position of A's p at [p + 1]: exact, or that of the
                                             last position before it that has one */
    const int32_t *a_at;                  /* and back */
    const struct psc_plan_change *changes; /* in A's order of values, then what is new in B's */
    uint32_t change_n;
    const uint32_t *change_of_a, *change_of_b; /* [value_n] index of the change of a value, PSC_NONE: none */
    uint32_t count[PSC_CHANGE_N];
    uint32_t pair_n;                      /* tensors on both sides */
    struct psc_diff_total a_total, b_total;
    const struct psc_peak_part *parts;    /* largest first; ties by value of A, then of B */
    uint32_t part_n;
    int64_t elsewhere;                    /* bytes; see above */
};
enum psc_status psc_diff_plans(struct psc_arena *arena, const struct psc_diff_side *a, const struct psc_diff_side *b,
                               struct psc_plan_diff **ret, struct psc_error *reterr) PSC_MUST_CHECK;

/* "488 values on both sides: 302 moved, 73 in place otherwise." */
void psc_explain_plan_diff(struct psc_text *out, const struct psc_plan_diff *diff);
/* "#126 swiglu: from b9 [0x0, +38.0 KiB) to arena.metal [0x900, +38.0 KiB); in place over #124 ffn_gate, was apart." */
void psc_explain_change(struct psc_text *out, const struct psc_plan_diff *diff, const struct psc_plan_change *change);
/* "The peak falls by 8 B: from 32 B at #3 swiglu to 24 B at #2 silu. Compared at #3 swiglu." */
void psc_explain_peak_change(struct psc_text *out, const struct psc_plan_diff *diff);
/* "-8 B #0 gate: its bytes are taken over in place by #3 swiglu" */
void psc_explain_part(struct psc_text *out, const struct psc_plan_diff *diff, const struct psc_peak_part *part);
/* What `elsewhere` means; nothing when it is 0. */
void psc_explain_elsewhere(struct psc_text *out, const struct psc_plan_diff *diff);

#endif
