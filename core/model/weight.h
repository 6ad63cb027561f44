/* core/model/weight.h: one tensor of a model file, as kernels see it.
 *
 * Memory is [out][in], row-major: `out` rows of `in` values in blocks of the type. A 1-d tensor has in = n, out = 1.
 * A concatenated weight (blk.3.attn_qkv, blk.3.ffn_gu) has no bytes of its own but up to three parts, whose rows
 * follow one another; all have the same type and `in`.
 * Ownership: everything is borrowed from the model.
 */
#ifndef PSC_CORE_MODEL_WEIGHT_H
#define PSC_CORE_MODEL_WEIGHT_H

#include "core/model/blocks.h"

struct psc_weight {
    const char *name;
    enum psc_wtype type;
    uint64_t in, out;     /* values a row, rows */
    const void *data;     /* NULL for a model of shapes only, and when there are parts */
    uint64_t bytes;
    const struct psc_weight *parts[3];
    uint32_t part_n;
};

#endif
