/* core/candela/layout.h: where the elements of a lazy tensor lie in its storage, and what an op does to that.
 *
 *     e = [0 1 2 3 4 5]  shape 3x2  strides 2 1          transpose(e)  shape 2x3  strides 1 2
 *                                                        slice(e, 1, 3) shape 2x2  strides 2 1  offset 2
 *
 * All numbers are elements of 4 bytes. A layout is contiguous when its strides are those of a packed tensor of its
 * shape, wherever it begins. Ops that only change the layout share their operand's storage.
 */
#ifndef PSC_CORE_CANDELA_LAYOUT_H
#define PSC_CORE_CANDELA_LAYOUT_H

#include "core/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PSC_LAZY_DIMS 4u
#define PSC_LAZY_LEN_MAX (UINT64_C(1) << 40) /* elements of one tensor */

enum psc_lazy_op {
    PSC_LAZY_NOOP, PSC_LAZY_SCALAR, PSC_LAZY_FUSED, PSC_LAZY_VIEW, PSC_LAZY_SLICE, PSC_LAZY_TRANSPOSE,
    PSC_LAZY_TRANSPOSE_AXES, PSC_LAZY_BROADCAST, PSC_LAZY_AS_CONTIGUOUS, PSC_LAZY_MATMUL, PSC_LAZY_ADD, PSC_LAZY_SUB,
    PSC_LAZY_MUL, PSC_LAZY_DIV, PSC_LAZY_SUM, PSC_LAZY_OP_N
};
const char *psc_lazy_op_name(enum psc_lazy_op op); /* "as_contiguous" */
bool psc_lazy_op_only_layout(enum psc_lazy_op op); /* noop, view, slice, both transposes, broadcast */
static inline bool psc_lazy_op_is_scalar(enum psc_lazy_op op)
{
    return op == PSC_LAZY_SCALAR || op == PSC_LAZY_FUSED;
}
static inline bool psc_lazy_op_is_binary(enum psc_lazy_op op)
{
    return op >= PSC_LAZY_ADD && op <= PSC_LAZY_DIV;
}

struct psc_strides {
    uint32_t rank;
    uint64_t shape[PSC_LAZY_DIMS], strides[PSC_LAZY_DIMS], offset; /* elements */
};
struct psc_lazy_arg {
    uint32_t rank;                 /* view, broadcast: the new shape */
    uint64_t shape[PSC_LAZY_DIMS];
    uint32_t axis, other;          /* slice: axis; transpose_axes: both */
    uint64_t lo, hi;               /* slice: elements along the axis, half-open */
};

/* A packed layout. PSC_ERR_GRAPH without a dimension, PSC_ERR_TOO_BIG when it has more than PSC_LAZY_LEN_MAX elements or PSC_LAZY_DIMS dimensions. */
enum psc_status psc_layout_packed(uint32_t rank, const uint64_t *shape, struct psc_strides *ret,
                                  struct psc_error *reterr) PSC_MUST_CHECK;
uint64_t psc_layout_len(const struct psc_strides *layout); /* elements; 1 for rank 0 */
bool psc_layout_contiguous(const struct psc_strides *layout);
bool psc_layout_same_shape(const struct psc_strides *a, const struct psc_strides *b);
bool psc_layout_equal(const struct psc_strides *a, const struct psc_strides *b);
/* Where element i, counted in row-major order of the shape, lies in the storage. */
uint64_t psc_layout_at(const struct psc_strides *layout, uint64_t i);
/* The elements of the storage between the first and the last that are looked at, half-open; empty for no element. */
void psc_layout_span(const struct psc_strides *layout, uint64_t *ret_lo, uint64_t *ret_hi);
/* What an op that only changes the layout makes of `in`. PSC_ERR_GRAPH: it cannot (a view of what is not packed, ...). */
enum psc_status psc_layout_apply(enum psc_lazy_op op, const struct psc_lazy_arg *arg, const struct psc_strides *in,
                                 struct psc_strides *ret, struct psc_error *reterr) PSC_MUST_CHECK;
/* "2x3", "scalar". buf holds at least 96 bytes. */
const char *psc_layout_text(const struct psc_strides *layout, char *buf, size_t size);

#endif
