/* core/debug/candela-tale.h: what a tale of candela's planner keeps (core/debug/candela-view.h); private to core/debug.
 *
 * A tale is of an expression (all of it), or of a graph that candela planned (graph-tale.c): then it has a sort and a map,
 * `plan` and `kept` are NULL, and steps run in the order in which the graph was built, not in that of the sort.
 *
 * Stacks share their lower parts: an entry knows the one below it, so all stacks of a sort together are as long as the
 * sort. The alias map is kept as the changes of its keys and of its classes (core/candela/alias.h), the owners of slots as
 * the steps that took them. Whatever is asked for is a search among these by position.
 */
#ifndef PSC_CORE_DEBUG_CANDELA_TALE_H
#define PSC_CORE_DEBUG_CANDELA_TALE_H

#include "core/candela/kept.h"
#include "core/graph/graph.h"
#include "core/debug/candela-view.h"

struct psc_tale_node {
    const char *name;
    const char *text;          /* as written down: "sum * 2" */
    uint32_t yield;            /* place in the order of the sort, PSC_NONE */
    int32_t position;          /* of its step, -1 */
};
struct psc_tale_entry { uint32_t id, below; bool entered; }; /* below: PSC_NONE at the bottom */
struct psc_tale_move { uint32_t id, top, depth; uint8_t move; }; /* top: entry on top when it is shown */
struct psc_tale_key { uint32_t event, of, version; uint8_t tag; }; /* a key joins a class */
struct psc_tale_owner { uint32_t event, owner, version; uint8_t tag; }; /* a class changes its owner */
struct psc_tale_holder { int32_t position, end; uint32_t id; }; /* who owns a slot from a position on */

struct psc_tale_live { int32_t born, gone; uint32_t store, operand; uint8_t fate; }; /* gone: INT32_MAX: never */
#define PSC_TALE_BLOCK 1024u

struct psc_candela_tale {
    const struct psc_candela_kept *kept; /* borrowed */
    const struct psc_candela_plan *plan; /* kept->plan */
    const struct psc_alias_event *aliases; /* the map's history */
    uint32_t alias_n, step_n;
    bool apart;                          /* of a graph: positions are not in the order of the sort */
    struct psc_tale_node *nodes;
    uint32_t node_n;
    uint32_t *order, order_n;            /* ids as the sort yields them, the root last */
    uint32_t *step_yield;                /* [step_n]: place of each step's node in the order */
    struct psc_tale_entry *entries;
    struct psc_tale_move *moves;
    uint32_t *left;                      /* [order_n]: the move by which it was yielded */
    uint32_t entry_n, move_n, stack_most;
    uint32_t *key_order, *key_since, key_n; /* keys of the map by their first entry, and its event */
    uint32_t *key_at;                    /* [node_n + 1] into keys */
    struct psc_tale_key *keys;
    uint32_t *class_at;                  /* [class_n + 1] into owners */
    struct psc_tale_owner *owners;
    uint32_t class_n, try_most;
    uint32_t *line_at;                   /* [plan->n + 1]: strategies tried before this step's */
    uint32_t *holder_at;                 /* [plan->slot_n + 1] into holders */
    struct psc_tale_holder *holders;
    /* The executor: of each id, and per block of steps the last position up to which a result of it lives. */
    struct psc_tale_live *live;          /* [node_n]; born INT32_MAX: it has no handle */
    int32_t *block_last;
    uint32_t live_most;                  /* at any position */
    uint32_t refused;                    /* index of the wrong that ends the executor, PSC_NONE */
    uint32_t *rival_step[PSC_RIVAL_N];   /* [node_n] its step in that plan, PSC_NONE; NULL: no such plan */
    uint32_t rival_differ[PSC_RIVAL_N];
    const uint32_t *by_level;            /* [plan->n] positions by level, of one the last listed first */
    uint32_t *level_at;                  /* [level_n + 1] into these */
    uint32_t level_n, level_most;        /* most: the longest level */
    int32_t *differs;                    /* positions that not all generations decide alike, ascending */
    uint32_t differ_n;
};

/* Parts of making one. Moves are replayed onto nodes (with names) and [node_n] room; root, the last of the order, is not listed
 * when it is none of them. The map needs aliases; moves: takeovers move entries. False: out of memory. */
bool psc_tale_make_sort(struct psc_arena *arena, struct psc_candela_tale *t, uint32_t root, const struct psc_lazy_move *moves,
                        uint32_t move_n);
bool psc_tale_make_map(struct psc_arena *arena, struct psc_candela_tale *t, bool moves);

/* Entries of the order, and events of the map, before a position (from) and with it (to). */
struct psc_tale_cursor { uint32_t from, to, events_from, events; };
struct psc_tale_cursor psc_tale_at(const struct psc_candela_tale *t, int32_t position);
/* Order, stack, moves and arrows of the view's position. */
bool psc_tale_look(struct psc_arena *arena, const struct psc_candela_tale *t, struct psc_candela_view *v);
/* The owner that the first `events` events leave a node with, PSC_NONE; what it promises, and the event that made it so. */
uint32_t psc_tale_owner_of(const struct psc_candela_tale *t, uint32_t node, uint32_t events, enum psc_tag *ret_tag,
                           uint32_t *ret_event);

struct psc_analysis;
/* Every way that was tried for a node by the analysis's plan; the last one was taken. NULL: out of memory. */
struct psc_candela_try *psc_plan_tries(struct psc_arena *arena, const struct psc_analysis *a, psc_node node, uint32_t *ret_n);

/* candela-live.c, candela-levels.c, candela-rivals.c: made with a tale, and put into a view of it. */
bool psc_tale_make_levels(struct psc_arena *arena, struct psc_candela_tale *t);
bool psc_tale_put_levels(struct psc_arena *arena, const struct psc_candela_tale *t, struct psc_candela_view *v);
bool psc_tale_make_live(struct psc_arena *arena, struct psc_candela_tale *t);
bool psc_tale_put_live(struct psc_arena *arena, const struct psc_candela_tale *t, struct psc_candela_view *v);
bool psc_tale_make_rivals(struct psc_arena *arena, struct psc_candela_tale *t);
bool psc_tale_put_rivals(struct psc_arena *arena, const struct psc_candela_tale *t, struct psc_candela_view *v);
/* Positions, as places with names: those about the view's. */
bool psc_tale_put_differs(struct psc_arena *arena, const struct psc_candela_tale *t, const int32_t *differs, uint32_t n,
                          struct psc_candela_view *v);

static inline bool psc_tale_is_cache(const struct psc_candela_tale *t, uint32_t id)
{
    return t->kept->lazy.nodes[id].kind == PSC_LAZY_CACHE;
}
/* Refusals of one strategy over one operand stand together: how many from `at` on; and how many strategies were tried. */
uint32_t psc_tale_group(const struct psc_candela_step *step, uint32_t at);
uint32_t psc_tale_try_n(const struct psc_candela_step *step);

/* explain-candela.c: sentences. Texts lie in the arena; NULL when out of memory. */
const char *psc_explain_candela_title(struct psc_arena *arena, const struct psc_candela_tale *t, uint32_t step);
const char *psc_explain_candela_words(struct psc_arena *arena, const struct psc_candela_tale *t, int32_t position);
const char *psc_explain_candela_strategy(struct psc_arena *arena, const struct psc_candela_tale *t, uint32_t step,
                                         const struct psc_denial *denied); /* NULL: the one that was taken */
const char *psc_explain_candela_why(struct psc_arena *arena, const struct psc_candela_tale *t, uint32_t step,
                                    const struct psc_denial *denied, uint32_t denied_n);
const char *psc_explain_candela_promise(enum psc_tag tag, bool bytes); /* bytes: of a graph */

#endif
