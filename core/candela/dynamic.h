/* core/candela/dynamic.h: a skeleton for inputs of any layout: planned once for each tuple of layouts that comes.
 *
 *     run (4) (4)   no plan for these yet: the expression is written down for them, planned, kept      1 plan
 *     run (4) (4)   found                                                                              1
 *     run (8) (8)   another                                                                            2
 *
 * Plans are kept by the layouts of all inputs in order: shape, strides, where they begin. With a capacity the one that
 * was used longest ago goes when another comes (LRU); 0: none ever goes.
 * `write` writes the expression down into l, one psc_lazy_slot for each layout, and sets *ret_root; inputs are bound in the
 * order of slots (ids ascending), however the sort reaches them. A slot that the root does not need is no error.
 * Cost: a run that finds its plan costs a hash of the layouts beside the run itself.
 */
#ifndef PSC_CORE_CANDELA_DYNAMIC_H
#define PSC_CORE_CANDELA_DYNAMIC_H

#include "core/candela/skeleton.h"

#define PSC_DYNAMIC_INPUTS_MAX 64u

typedef enum psc_status (*psc_dynamic_write)(void *ctx, struct psc_lazy *l, const struct psc_strides *layouts, uint32_t n,
                                             uint32_t *ret_root, struct psc_error *reterr);
struct psc_dynamic_figures {
    uint64_t runs, planned, evicted;
    uint32_t kept;
};
struct psc_dynamic;
/* NULL when out of memory. ctx must outlive it. */
struct psc_dynamic *psc_dynamic_new(psc_dynamic_write write, void *ctx, const struct psc_candela_options *options,
                                    uint32_t capacity);
void psc_dynamic_free(struct psc_dynamic *d); /* NULL is fine */
/* The result's store is counted for the caller. A layout for which `write` fails is not kept. */
enum psc_status psc_dynamic_run(struct psc_dynamic *d, const struct psc_handle *inputs, uint32_t n, struct psc_handle *ret,
                                struct psc_error *reterr) PSC_MUST_CHECK;
struct psc_dynamic_figures psc_dynamic_figures(const struct psc_dynamic *d);

#endif
