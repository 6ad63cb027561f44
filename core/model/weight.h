/* core/model/weight.h: one weight of a model: its type, its shape, and where its bytes lie.
 *
 * Rows are outputs: a matrix multiplies a vector of `in` values into one of `out`, row o is `in` values in a run of
 * whole blocks, rows follow each other without a gap. A tensor of one dimension (a norm, a bias) has out == 1.
 *
 * A concatenated weight (blk.3.attn_qkv, blk.3.ffn_gu) has no bytes of its own, but up to three parts of the same
 * type and width; its rows are theirs, in that order. Parts have no parts.
 */
#ifndef PSC_CORE_MODEL_WEIGHT_H
#define PSC_CORE_MODEL_WEIGHT_H

#include "core/model/blocks.h"

#define PSC_WEIGHT_PARTS_MAX 3u

struct psc_weight {
    const char *name; /* as in the file: "blk.3.ffn_up.weight" */
    enum psc_wtype type;
    uint64_t in, out; /* values of a row, rows */
    const void *data; /* borrowed; NULL when only the shape is known, or when there are parts */
    uint64_t bytes;   /* of data; the sum over the parts when there are some */
    const struct psc_weight *parts[PSC_WEIGHT_PARTS_MAX]; /* borrowed */
    uint32_t part_n;
};

/* Where row o lies; NULL when only the shape is known. o < out. */
static inline const void *psc_weight_row(const struct psc_weight *w, uint64_t o)
{
    for (uint32_t i = 0; i < w->part_n; i++) {
        if (o < w->parts[i]->out) {
            w = w->parts[i];
            break;
        }
        o -= w->parts[i]->out;
    }
    return w->data ? (const unsigned char *)w->data + o * (w->bytes / w->out) : NULL;
}

#endif
