#include "core/candela/layout.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    bool only_layout;
} ops[PSC_LAZY_OP_N] = {
    [PSC_LAZY_NOOP] = {"noop", true},
    [PSC_LAZY_SCALAR] = {"scalar", false},
    [PSC_LAZY_FUSED] = {"fused_scalar", false},
    [PSC_LAZY_VIEW] = {"view", true},
    [PSC_LAZY_SLICE] = {"slice", true},
    [PSC_LAZY_TRANSPOSE] = {"transpose", true},
    [PSC_LAZY_TRANSPOSE_AXES] = {"transpose_axes", true},
    [PSC_LAZY_BROADCAST] = {"broadcast", true},
    [PSC_LAZY_AS_CONTIGUOUS] = {"as_contiguous", false},
    [PSC_LAZY_MATMUL] = {"matmul", false},
    [PSC_LAZY_ADD] = {"add", false},
    [PSC_LAZY_SUB] = {"sub", false},
    [PSC_LAZY_MUL] = {"mul", false},
    [PSC_LAZY_DIV] = {"div", false},
    [PSC_LAZY_SUM] = {"sum", false},
};

const char *psc_lazy_op_name(enum psc_lazy_op op)
{
    return (unsigned)op < PSC_LAZY_OP_N ? ops[op].name : "unknown";
}

bool psc_lazy_op_only_layout(enum psc_lazy_op op)
{
    return (unsigned)op < PSC_LAZY_OP_N && ops[op].only_layout;
}

enum psc_status psc_layout_packed(uint32_t rank, const uint64_t *shape, struct psc_strides *ret, struct psc_error *reterr)
{
    struct psc_strides layout = {.rank = rank};
    uint64_t len = 1;
    if (!rank)
        return psc_fail(reterr, PSC_ERR_GRAPH, "a tensor has at least one dimension: [1] for a single number");
    if (rank > PSC_LAZY_DIMS)
        return psc_fail(reterr, PSC_ERR_TOO_BIG, "a tensor has %u dimensions, at most %u fit", rank, PSC_LAZY_DIMS);
    for (uint32_t d = rank; d-- > 0;) {
        layout.shape[d] = shape[d];
        layout.strides[d] = len;
        if (shape[d] && len > PSC_LAZY_LEN_MAX / shape[d])
            return psc_fail(reterr, PSC_ERR_TOO_BIG, "a tensor has more than %llu elements",
                            (unsigned long long)PSC_LAZY_LEN_MAX);
        len *= shape[d];
    }
    *ret = layout;
    return PSC_OK;
}

uint64_t psc_layout_len(const struct psc_strides *layout)
{
    uint64_t len = 1;
    for (uint32_t d = 0; d < layout->rank; d++)
        len *= layout->shape[d];
    return len;
}

bool psc_layout_contiguous(const struct psc_strides *layout)
{
    uint64_t len = 1;
    for (uint32_t d = layout->rank; d-- > 0;) {
        if (layout->strides[d] != len)
            return false;
        len *= layout->shape[d];
    }
    return true;
}

bool psc_layout_same_shape(const struct psc_strides *a, const struct psc_strides *b)
{
    return a->rank == b->rank && !memcmp(a->shape, b->shape, a->rank * sizeof *a->shape);
}

bool psc_layout_equal(const struct psc_strides *a, const struct psc_strides *b)
{
    return psc_layout_same_shape(a, b) && a->offset == b->offset &&
           !memcmp(a->strides, b->strides, a->rank * sizeof *a->strides);
}

uint64_t psc_layout_at(const struct psc_strides *layout, uint64_t i)
{
    uint64_t at = layout->offset;
    for (uint32_t d = layout->rank; d-- > 0;) {
        at += i % layout->shape[d] * layout->strides[d];
        i /= layout->shape[d];
    }
    return at;
}

void psc_layout_span(const struct psc_strides *layout, uint64_t *ret_lo, uint64_t *ret_hi)
{
    uint64_t hi = layout->offset;
    *ret_lo = *ret_hi = layout->offset;
    if (!psc_layout_len(layout))
        return;
    for (uint32_t d = 0; d < layout->rank; d++)
        hi += (layout->shape[d] - 1) * layout->strides[d];
    *ret_hi = hi + 1;
}

static void swap(struct psc_strides *layout, uint32_t a, uint32_t b)
{
    uint64_t shape = layout->shape[a], stride = layout->strides[a];
    layout->shape[a] = layout->shape[b];
    layout->strides[a] = layout->strides[b];
    layout->shape[b] = shape;
    layout->strides[b] = stride;
}

static enum psc_status view(const struct psc_lazy_arg *arg, const struct psc_strides *in, struct psc_strides *ret,
                            struct psc_error *reterr)
{
    char from[96], to[96];
    struct psc_strides out;
    enum psc_status status = psc_layout_packed(arg->rank, arg->shape, &out, reterr);
    if (status)
        return status;
    if (psc_layout_len(&out) != psc_layout_len(in))
        return psc_fail(reterr, PSC_ERR_GRAPH, "a view of %s as %s has another number of elements",
                        psc_layout_text(in, from, sizeof from), psc_layout_text(&out, to, sizeof to));
    if (!psc_layout_contiguous(in))
        return psc_fail(reterr, PSC_ERR_GRAPH, "a view as %s needs a packed tensor: as_contiguous first",
                        psc_layout_text(&out, to, sizeof to));
    out.offset = in->offset;
    *ret = out;
    return PSC_OK;
}

/* Shapes are aligned at their last dimension; what is 1, or not there, is repeated. */
static enum psc_status broadcast(const struct psc_lazy_arg *arg, const struct psc_strides *in, struct psc_strides *ret,
                                 struct psc_error *reterr)
{
    char from[96], to[96];
    struct psc_strides out;
    enum psc_status status = psc_layout_packed(arg->rank, arg->shape, &out, reterr);
    if (status)
        return status;
    bool fits = in->rank <= out.rank;
    for (uint32_t d = 0; fits && d < out.rank; d++) {
        uint32_t missing = out.rank - in->rank;
        uint64_t had = d < missing ? 1 : in->shape[d - missing];
        fits = had == out.shape[d] || had == 1;
        out.strides[d] = d < missing || (had == 1 && out.shape[d] != 1) ? 0 : in->strides[d - missing];
    }
    if (!fits)
        return psc_fail(reterr, PSC_ERR_GRAPH, "%s cannot be broadcast to %s", psc_layout_text(in, from, sizeof from),
                        psc_layout_text(&out, to, sizeof to));
    out.offset = in->offset;
    *ret = out;
    return PSC_OK;
}

enum psc_status psc_layout_apply(enum psc_lazy_op op, const struct psc_lazy_arg *arg, const struct psc_strides *in,
                                 struct psc_strides *ret, struct psc_error *reterr)
{
    char text[96];
    struct psc_strides out = *in;
    switch (op) {
    case PSC_LAZY_VIEW:
        return view(arg, in, ret, reterr);
    case PSC_LAZY_BROADCAST:
        return broadcast(arg, in, ret, reterr);
    case PSC_LAZY_TRANSPOSE:
        for (uint32_t d = 0; d < out.rank / 2; d++)
            swap(&out, d, out.rank - 1 - d);
        break;
    case PSC_LAZY_TRANSPOSE_AXES:
        if (arg->axis >= in->rank || arg->other >= in->rank)
            return psc_fail(reterr, PSC_ERR_GRAPH, "transpose: %s has no axes %u and %u",
                            psc_layout_text(in, text, sizeof text), arg->axis, arg->other);
        swap(&out, arg->axis, arg->other);
        break;
    case PSC_LAZY_SLICE:
        if (arg->axis >= in->rank || arg->lo > arg->hi || arg->hi > in->shape[arg->axis])
            return psc_fail(reterr, PSC_ERR_GRAPH, "slice: %s has no elements %llu to %llu along axis %u",
                            psc_layout_text(in, text, sizeof text), (unsigned long long)arg->lo,
                            (unsigned long long)arg->hi, arg->axis);
        out.offset += arg->lo * out.strides[arg->axis];
        out.shape[arg->axis] = arg->hi - arg->lo;
        break;
    default:
        break;
    }
    *ret = out;
    return PSC_OK;
}

const char *psc_layout_text(const struct psc_strides *layout, char *buf, size_t size)
{
    size_t n = 0;
    snprintf(buf, size, "scalar");
    for (uint32_t d = 0; d < layout->rank && n < size; d++)
        n += (size_t)snprintf(buf + n, size - n, "%s%llu", d ? "x" : "", (unsigned long long)layout->shape[d]);
    return buf;
}
