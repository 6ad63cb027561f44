/* core/candela/sort.h: the order in which candela visits an expression.
 *
 *     z = x + y, x = a + b, y = b + c         z the root:  b c y a x (z)      z inside:  a b x c y z
 *
 * Post-order with a stack of its own. The root is not listed; its inputs are visited last-first, those of every other
 * node first-first. A filled cache is a leaf: what is behind it does not appear. A node that is reached while it is being
 * entered closes a cycle: PSC_ERR_GRAPH, "a -> b -> a" in the sentence.
 */
#ifndef PSC_CORE_CANDELA_SORT_H
#define PSC_CORE_CANDELA_SORT_H

#include "core/candela/lazy.h"

/* ret[n] in the arena. O(nodes + edges). */
enum psc_status psc_lazy_sort(struct psc_arena *arena, const struct psc_lazy *l, uint32_t root, uint32_t **ret,
                              uint32_t *ret_n, struct psc_error *reterr) PSC_MUST_CHECK;

/* What else can be sorted so: things with numbers below n that read others, none in a cycle. */
struct psc_sort_source {
    const void *of;
    uint32_t n;
    uint32_t (*input_n)(const void *of, uint32_t id);
    uint32_t (*input)(const void *of, uint32_t id, uint32_t k);
};

/* What the stack went through, for looking on. */
enum psc_lazy_move_kind {
    PSC_LAZY_PUSH,  /* onto the stack, to be visited */
    PSC_LAZY_ENTER, /* popped the first time; it is pushed again, to be left after its inputs */
    PSC_LAZY_AGAIN, /* popped, and was visited before: nothing happens */
    PSC_LAZY_LEAVE, /* popped after its inputs: the next of the order */
};
struct psc_lazy_move {
    uint32_t id;
    enum psc_lazy_move_kind kind;
};
/* At most two pushes, two pops for each edge and node. In the arena. */
enum psc_status psc_lazy_sort_moves(struct psc_arena *arena, const struct psc_lazy *l, uint32_t root,
                                    const struct psc_lazy_move **ret, uint32_t *ret_n, struct psc_error *reterr) PSC_MUST_CHECK;
enum psc_status psc_sort_moves(struct psc_arena *arena, const struct psc_sort_source *source, uint32_t root,
                               const struct psc_lazy_move **ret, uint32_t *ret_n, struct psc_error *reterr) PSC_MUST_CHECK;

#endif
