/* core/candela/skeleton.h: a plan that is made once and run many times, over inputs that come each time.
 *
 * The expression has slots (psc_lazy_slot) where inputs go. Inputs are bound by position, in the order in which planning
 * reached the slots (psc_skeleton_slots). A skeleton may stand in another expression as one node (psc_lazy_baked).
 */
#ifndef PSC_CORE_CANDELA_SKELETON_H
#define PSC_CORE_CANDELA_SKELETON_H

#include "core/candela/exec.h"

#define PSC_BAKED_STEPS_MAX 1048576u /* of a plan that is baked into a text: what doubles at each level must end somewhere. Each run of a
                                         plan counts a step for 32 tensors that its text has till then, too: it has a table of them */

struct psc_skeleton;
/* l is borrowed and must outlive the skeleton, unchanged. */
enum psc_status psc_skeleton_new(const struct psc_lazy *l, uint32_t root, const struct psc_candela_options *options,
                                 struct psc_skeleton **ret, struct psc_error *reterr) PSC_MUST_CHECK;
void psc_skeleton_free(struct psc_skeleton *s); /* NULL is fine */
const struct psc_candela_plan *psc_skeleton_plan(const struct psc_skeleton *s);
/* The expression that it was made of. */
const struct psc_lazy *psc_skeleton_source(const struct psc_skeleton *s, uint32_t *ret_root);
/* Layout of the result. */
const struct psc_strides *psc_skeleton_result(const struct psc_skeleton *s);
/* PSC_ERR_USAGE: another number of inputs than slots, or an input whose layout is not its slot's, be it that it begins later
 * in its buffer. */
enum psc_status psc_skeleton_run(const struct psc_skeleton *s, const struct psc_handle *inputs, uint32_t n, uint32_t depth,
                                 struct psc_handle *ret, struct psc_error *reterr) PSC_MUST_CHECK;
/* The expression `body`, planned by itself, as one node of l over n tensors: bound to its slots in the order in which these were written
 * down, laid out as they are (else PSC_ERR_GRAPH, as for another number of them; PSC_ERR_TOO_BIG: too deep, too many steps). l takes the skeleton over and must stay where it is. */
enum psc_status psc_lazy_bake(struct psc_lazy *l, const char *name, uint32_t body, const struct psc_candela_options *options,
                              const uint32_t *given, uint32_t n, uint32_t *ret, struct psc_error *reterr) PSC_MUST_CHECK;
/* A handle for each slot that the plan asks for, in its order, over what stands in for it (psc_lazy_stand_in). Heap; they
 * borrow the numbers of l. PSC_ERR_USAGE names a slot without. */
enum psc_status psc_candela_stand_ins(const struct psc_lazy *l, const struct psc_candela_plan *plan, struct psc_handle **ret,
                                      struct psc_error *reterr) PSC_MUST_CHECK;
void psc_candela_stand_ins_free(struct psc_handle *handles, uint32_t n); /* NULL is fine */

#endif
