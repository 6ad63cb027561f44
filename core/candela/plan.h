/* core/candela/plan.h: what candela's planner decides: everything that its executor is given.
 *
 *     (a + b) * 2, positions counted with the leaves
 *
 *     0  a    leaf
 *     1  b    leaf
 *     2  sum  allocate 4             reads a b        slot 0 lives 2 .. 3
 *     3  x2   in place over sum      reads sum        slot 0 has no end: it is the root's
 *
 * A step is complete in itself: its inputs are resolved where it stands, its op, its layout and the bytes it writes
 * are named, and what is given back after it. No alias map, no graph. `end` is the last position that reads something;
 * PSC_CANDELA_EVER (none) means never given back, and absorbs: the later of none and any end is none.
 *
 * True dependencies are the steps that made the inputs; anti-dependencies those that must have read (or written) the bytes
 * before this step writes them. Steps may run beside each other when no chain of these leads from one to the other;
 * `level` is the longest such chain.
 */
#ifndef PSC_CORE_CANDELA_PLAN_H
#define PSC_CORE_CANDELA_PLAN_H

#include "core/candela/fault.h"
#include "core/candela/lazy.h"

#define PSC_CANDELA_EVER (-1)

enum psc_tag { PSC_TAG_ANYTHING, PSC_TAG_PACKED, PSC_TAG_PACKED_CACHE, PSC_TAG_N };
const char *psc_tag_name(enum psc_tag tag);

struct psc_candela_options {
    enum psc_generation generation;
    uint64_t faults; /* PSC_CANDELA_BIT */
    uint64_t align;  /* of packed offsets, elements; 0: 128 bytes */
};

enum psc_how {
    PSC_HOW_LEAF, PSC_HOW_CACHE_HIT, PSC_HOW_IN_PLACE, PSC_HOW_REFERENCE_SLOT, PSC_HOW_REFERENCE_ETERNAL, PSC_HOW_USE_SLOT,
    PSC_HOW_ALLOCATE, PSC_HOW_REGION, PSC_HOW_BAKED, PSC_HOW_N
};
const char *psc_how_name(enum psc_how how); /* "in place" */
/* The step shows bytes of an operand and makes none. */
static inline bool psc_how_is_reference(enum psc_how how)
{
    return how == PSC_HOW_REFERENCE_SLOT || how == PSC_HOW_REFERENCE_ETERNAL;
}

/* Why a better strategy was refused: one for each predicate that does not hold, of each operand, as they are asked. */
enum psc_denied {
    PSC_DENIED_OP,          /* in place: the op reads its operands to the end */
    PSC_DENIED_NO_SLOT,     /* in place: the operand lies in no slot (an edge, a cache, a skeleton's slot) */
    PSC_DENIED_READ_LATER,  /* in place: a = the slot's end, b = this position */
    PSC_DENIED_NEVER_ENDS,  /* in place: the slot has no end */
    PSC_DENIED_LENGTH,      /* in place: a = elements of the slot, b = elements asked for */
    PSC_DENIED_STRIDED,     /* in place: the operand is not packed */
    PSC_DENIED_SAME_NODE,   /* in place: both operands are one node (0.2) */
    PSC_DENIED_SAME_SLOT,   /* in place: the other operand lies in the same slot. a = slot */
    PSC_DENIED_NOT_PACKED,  /* reference: as_contiguous of what is not packed */
    PSC_DENIED_NONE_IDLE,   /* use slot: a = elements asked for */
    PSC_DENIED_N
};
struct psc_denial {
    enum psc_how how;
    enum psc_denied why;
    uint32_t operand;
    int64_t a, b;
};

struct psc_candela_step {
    uint32_t id;            /* of the node whose result this is */
    const char *name;
    enum psc_lazy_op op;
    enum psc_how how;
    struct psc_strides layout; /* of the result; where it begins follows from the handle that it shares */
    const uint32_t *inputs; /* ids, resolved */
    uint32_t input_n;
    int32_t end;            /* of this result */
    uint32_t slot;          /* index into plan->slots, PSC_NONE */
    uint32_t operand;       /* in place, reference: which input */
    uint32_t parent;        /* in place over a view: the id that owns the slot; PSC_NONE */
    uint32_t take;          /* use slot: the id whose buffer is taken; PSC_NONE */
    uint64_t len, offset;   /* elements; the offset of a region in the arena */
    uint64_t shift;         /* references: elements between where the input begins and where this does */
    const uint32_t *dealloc; /* ids that go after this step */
    uint32_t dealloc_n;
    const uint32_t *needs, *after; /* steps: true and anti-dependencies, ascending, no repeats */
    uint32_t needs_n, after_n, level;
    const struct psc_denial *denied;
    uint32_t denied_n;
    /* What the kernel is given. */
    const struct psc_lazy_scalar *scalars;
    uint32_t scalar_n;
    float *data;            /* leaf */
    struct psc_handle *cell; /* caches: where the result is kept */
    const struct psc_skeleton *baked;
};
struct psc_candela_slot {
    uint32_t id;            /* the last owner */
    uint64_t len, offset;   /* elements; the offset when it was packed */
    int32_t start, end;
    bool packed, scratch;   /* scratch: the bytes of a baked plan's own slots */
};
struct psc_alias_event {    /* a line of the map's history */
    uint32_t position, node, target; /* position: steps that stood in the list */
    enum psc_tag tag;
    bool takeover;          /* node becomes the owner of what was target's */
};
struct psc_candela_plan {
    struct psc_candela_options options;
    const struct psc_candela_step *steps;
    uint32_t n;
    const struct psc_candela_slot *slots;
    uint32_t slot_n;
    uint32_t root;          /* id under which the result stands at the end */
    uint64_t arena_len, align; /* elements */
    const struct psc_alias_event *aliases;
    uint32_t alias_n;
    uint32_t hop_n;         /* alias entries that led to another entry: 0 unless a rule is broken */
    const uint32_t *externals; /* ids of a skeleton's slots, as they were reached */
    const struct psc_strides *external_layouts; /* of each */
    uint32_t external_n, id_n; /* ids are below id_n */
    const char *const *names;  /* [id_n], for words only: also of what has no step */
};

/* What running the plan asks of the heap, the arena as one. */
struct psc_candela_memory {
    uint64_t allocations, total, peak, output; /* elements */
};
/* Walks the plan as the executor would. */
enum psc_status psc_candela_report(const struct psc_candela_plan *plan, struct psc_candela_memory *ret,
                                   struct psc_error *reterr) PSC_MUST_CHECK;

#endif
