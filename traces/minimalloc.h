/* traces/minimalloc.h: MiniMalloc's CSV in and out: boxes of bytes and time, one a line.
 *
 *     id,lower,upper,size[,alignment,offset,hint,gaps]      columns in any order, names in any case
 *     b1,0,3,4
 *     b2,3,9,4                                               a life is half-open: b1 and b2 may share bytes
 *
 * `offset` fixes a box where it is filled in; an empty field or -1 leaves it free. When every box has one the file
 * is a packing, and the checker says whether it is right. `alignment` is a power of two, empty or
 * 0 is 1. `hint` is passed over. `gaps` (times at which a box is not needed) are passed over with a warning: the box is
 * then taken to be alive all along, which is safe. Ids are texts, each used once; they may be quoted (RFC 4180).
 *
 * Ownership: the set lies in the arena. Cost: O(n log n).
 */
#ifndef PSC_TRACES_MINIMALLOC_H
#define PSC_TRACES_MINIMALLOC_H

#include "core/doc/doc.h"
#include "core/plan/offsets/box-set.h"
#include "core/plan/plan.h"

/* Does the first line name the columns? */
bool psc_minimalloc_is(const char *bytes, size_t n);
/* Names, times and the problem; `packed` is not filled in. PSC_ERR_PARSE with line and column, PSC_ERR_TOO_BIG. */
enum psc_status psc_minimalloc_read(struct psc_arena *arena, const char *bytes, size_t n, struct psc_report *report,
                                    struct psc_box_set *ret, struct psc_error *reterr) PSC_MUST_CHECK;
/* The document: one phase, which has the boxes, a packing of them and its story. */
enum psc_status psc_minimalloc_load(struct psc_doc *doc, const char *bytes, size_t n, struct psc_error *reterr) PSC_MUST_CHECK;

/* id,lower,upper,size, `alignment` when a box asks for one; `offset` of the packing, or where boxes are fixed when packed
 * is NULL. */
enum psc_status psc_minimalloc_write(const struct psc_box_set *set, const struct psc_offsets *packed, struct psc_text *out,
                                     struct psc_error *reterr) PSC_MUST_CHECK;
/* A packing as a plan (traces/README.md): a node a box, its name the box's id. */
enum psc_status psc_box_set_write(const struct psc_box_set *set, const struct psc_offsets *packed, const char *planner,
                                  const struct psc_plan_options *options, bool pretty, struct psc_text *out,
                                  struct psc_error *reterr) PSC_MUST_CHECK;

#endif
