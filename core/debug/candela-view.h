/* core/debug/candela-view.h: what candela's planner has in hand at one position, as plain data for drawings and tables.
 *
 *     (a + b) * 2 at position 2, where `sum` is planned
 *
 *     order      a b [sum] x2                          what the sort yields; x2 comes later
 *     stack      sum: being left                       the path from the root, and what waits beside it
 *     moves      enter a, leave a, enter b ...         since the position before
 *     arrows     (none)                                who stands for whom: the alias map
 *     tries      in place over a   no   a lies in no slot
 *                use slot          no   no idle slot of 4 elements
 *                allocate          yes  slot 0
 *     slots      slot 0, 4 elements, sum, until 3
 *
 * A tale is what makes that quick, made once of a planned expression as the document keeps it (core/candela/kept.h); a
 * view is one position of it, a function of (tale, position) alone: stepping back costs what stepping on costs.
 *
 * Cost of a view: O(depth of the stack + arrows + slots) and a binary search for each; lists that drawing could not
 * show are cut at PSC_CANDELA_VIEW_MAX and say how many there are.
 * Ownership: a tale lives in the arena given and borrows what was kept; a view lives in its arena and borrows the tale.
 * Sentences are made by core/debug/explain-candela.c.
 */
#ifndef PSC_CORE_DEBUG_CANDELA_VIEW_H
#define PSC_CORE_DEBUG_CANDELA_VIEW_H

#include "core/base/arena.h"
#include "core/base/status.h"

#include <stdbool.h>

#define PSC_CANDELA_VIEW_MAX 256u /* entries of a list of a view */

struct psc_candela_kept; /* core/candela/kept.h */
struct psc_candela_tale;

enum psc_sort_move { PSC_SORT_ENTER, PSC_SORT_LEAVE, PSC_SORT_SEEN /* reached again: nothing happens */ };

struct psc_candela_place { /* something that the sort yields */
    const char *name;
    int32_t position;      /* of its step; -1: it has none, another stands for it (or it is a hole that is filled later) */
};
struct psc_candela_frame { /* an entry of the sort's stack */
    const char *name;
    bool entered;          /* on the path from the root: it waits for its inputs. Else it waits to be visited */
    bool leaving;          /* the one that is yielded at this position */
};
struct psc_candela_moved { const char *name; enum psc_sort_move move; };

struct psc_candela_arrow { /* an entry of the alias map */
    const char *node, *owner;
    const char *before;    /* the owner until this position, when the arrow swings here; else NULL */
    const char *promise;   /* "same bytes", "packed", "packed, cached" */
    uint8_t tag;           /* enum psc_tag */
    bool fresh;            /* made or moved at this position */
    bool was_itself;       /* fresh, and the node has a step: it stood for itself before */
    bool two_hops;         /* its owner is itself an entry: the rule of one hop is broken */
};
struct psc_candela_try {   /* one strategy, in the order in which they are tried */
    const char *strategy;  /* "in place over a" */
    const char *why;       /* the refused predicate, or what was taken, in words */
    bool taken;
};
enum psc_candela_slot_use { PSC_SLOT_LATER, PSC_SLOT_HELD, PSC_SLOT_IDLE, PSC_SLOT_GONE };
struct psc_candela_slot_view {
    uint32_t slot;
    const char *name;      /* NULL: its number */
    uint64_t len;          /* elements; bytes where the plan counts these */
    const char *owner;     /* at this position; NULL before the first */
    int32_t start, end;    /* positions; end -1: for ever */
    enum psc_candela_slot_use use;
    bool touched;          /* by this position's step */
};

/* A handle of the executor: its live table as it is when the step has run, before what it gives back is gone. */
enum psc_candela_fate { PSC_LIVE_STAYS, PSC_LIVE_NEW, PSC_LIVE_OVERWRITTEN /* in place */, PSC_LIVE_TAKEN /* with its bytes */, PSC_LIVE_GIVEN_BACK };
struct psc_candela_live_view {
    const char *name;
    const char *bytes;     /* "slot 0", "the caller's" */
    const char *shape;     /* "2x2" */
    const char *values;    /* the first, as the plan was carried out; NULL: not known */
    uint32_t holders;      /* of these bytes: handles, a cache, the caller of a skeleton; 0: it left them to another */
    uint32_t operand;      /* overwritten: which one */
    int32_t since;         /* position; -1: from the start */
    enum psc_candela_fate fate;
    bool wrong;            /* its values are not the right ones */
};

/* The same planned otherwise: how this position's step is decided then, and what comes of it. */
struct psc_candela_rival_view {
    const char *name;      /* "0.1", "global map" */
    const char *words;     /* of a script that plans so: "0.1 b3" */
    const char *what;      /* "4 allocations, 64 B, 48 B at the peak" */
    const char *result;    /* "right", or the first thing that is wrong, in words */
    const char *strategy, *why; /* here; NULL: there is no decision here */
    uint32_t differ_n;     /* steps that are decided otherwise than in the plan that is shown */
    bool current;          /* it is the one that is shown */
    bool same;             /* decided as it is shown */
    bool wrong, wastes;    /* the result */
};

struct psc_candela_view {
    int32_t position;      /* -1 .. step_n */
    uint32_t step_n;
    const char *name;      /* of the step; "" before the first and after the last */
    const char *title;     /* what is decided: "sum = add a b" */
    const char *words;     /* what happens here, one or two sentences */
    const struct psc_candela_place *order;
    uint32_t order_n, order_at;  /* order_at: how many of them were yielded, this one included */
    uint32_t order_before, order_after; /* not listed: further ones before and after these */
    bool has_sort;
    bool apart;            /* of a graph: it runs in the order in which it was built, `order` is what the sort makes of it */
    const struct psc_candela_frame *stack; /* top first */
    const struct psc_candela_moved *moves;
    const struct psc_candela_arrow *arrows;
    const struct psc_candela_try *tries;
    const struct psc_candela_slot_view *slots;
    /* shown, and in all; most: the longest such list at any position, so that a drawing can keep its places */
    uint32_t stack_n, stack_all, stack_most, move_n, move_all;
    uint32_t arrow_n, arrow_all, arrow_most; /* most: at the end, the map only grows */
    uint32_t try_n, try_most, slot_n, slot_all, slot_most;
    bool in_bytes;         /* lengths of slots */
    const struct psc_candela_live_view *live; /* in order of `since`; of graphs none */
    uint32_t live_n, live_all, live_most;
    const char *no_values; /* why none of them has values, in words; else NULL */
    /* What may run beside the step; of graphs nothing: level_n is 0. */
    uint32_t level, level_n;
    const char *waits;     /* its level, and what it waits for, in words */
    const struct psc_candela_place *beside; /* the steps of its level, itself among them: those about here */
    uint32_t beside_n, beside_all, beside_at; /* at: itself */
    int32_t beside_next, beside_before; /* round the level */
    bool by_level;         /* steps of a level do run beside each other */
    const char *stopped;   /* the executor ended before, or at, this position: why; else NULL */
    const struct psc_candela_rival_view *rivals;
    uint32_t rival_n;
    bool rivals_wait;      /* of a large graph: the generations are not compared yet (psc_inside_compare) */
    const struct psc_candela_place *differs; /* steps that not all generations decide alike: those about here */
    uint32_t differ_n, differ_all;
};

enum psc_status psc_candela_tale_new(struct psc_arena *arena, const struct psc_candela_kept *kept,
                                     struct psc_candela_tale **ret, struct psc_error *reterr) PSC_MUST_CHECK;
/* position: clamped to -1 .. n, n = steps of the plan. */
enum psc_status psc_candela_view_at(struct psc_arena *arena, const struct psc_candela_tale *tale, int32_t position,
                                    struct psc_candela_view **ret, struct psc_error *reterr) PSC_MUST_CHECK;

/* The whole plan as a list, a line a strategy that was tried: how many, the first of a step, the step of one, and its words:
 * "3  k  refused  show the bytes of t: t is not packed yet". */
struct psc_text;
uint32_t psc_candela_line_n(const struct psc_candela_tale *tale);
uint32_t psc_candela_line_of(const struct psc_candela_tale *tale, int32_t position);
int32_t psc_candela_line_position(const struct psc_candela_tale *tale, uint32_t line);
void psc_explain_candela_line(struct psc_text *out, const struct psc_candela_tale *tale, uint32_t line);

/* Of a graph that was planned here (core/plan): each node's decision with what was refused, and the buffers so far, in bytes. Only
 * where psc_plan_view_has. When candela planned it (psc_plan_tale_has), a tale adds the sort, as candela visits that graph from its
 * outputs (a store is an input of what loads from it), and the map, in which a view stands for the bytes it shows and an op in place
 * takes its operand's over. A graph runs as it was built, whatever the sort says. The tale borrows the analysis; NULL: without both.
 * rivals: the generations (graph-rivals.h); NULL: they wait.
 * Cost of the tale: O(nodes + edges). */
struct psc_analysis;
struct psc_graph_rivals;
bool psc_plan_view_has(const struct psc_analysis *analysis);
bool psc_plan_tale_has(const struct psc_analysis *analysis);
enum psc_status psc_plan_tale_new(struct psc_arena *arena, const struct psc_analysis *analysis, struct psc_candela_tale **ret,
                                  struct psc_error *reterr) PSC_MUST_CHECK;
enum psc_status psc_plan_view_at(struct psc_arena *arena, const struct psc_analysis *analysis, const struct psc_candela_tale *tale,
                                 const struct psc_graph_rivals *rivals, int32_t position, struct psc_candela_view **ret, struct psc_error *reterr) PSC_MUST_CHECK;

/* All of a view in words: the decision with every refusal, the stack, the map, the slots. */
void psc_explain_candela_view(struct psc_text *out, const struct psc_candela_view *view);

#endif
