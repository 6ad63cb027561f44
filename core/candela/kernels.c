#include "core/candela/kernels.h"

static bool faulty(uint64_t faults, enum psc_candela_fault fault)
{
    return faults & PSC_CANDELA_BIT(fault);
}

static float binary(enum psc_lazy_op op, float x, float y)
{
    return op == PSC_LAZY_ADD ? x + y : op == PSC_LAZY_SUB ? x - y : op == PSC_LAZY_MUL ? x * y : x / y;
}

static float scalars(const struct psc_candela_step *step, float x, uint64_t faults)
{
    for (uint32_t k = 0; k < step->scalar_n; k++) {
        float y = step->scalars[k].value;
        switch (step->scalars[k].op) {
        case '+': x += y; break;
        case '-': x = faulty(faults, PSC_CANDELA_B2) ? x + y : x - y; break;
        case '*': x *= y; break;
        default: x /= y; break;
        }
    }
    return x;
}

/* How a kernel looks at an operand: packed ones by counting, others by their strides. */
struct look {
    const float *at;
    struct psc_strides layout;
    bool packed;
};

static bool look_at(struct look *look, const struct psc_handle *h, uint64_t faults)
{
    uint64_t lo, hi;
    *look = (struct look){h->store->at, h->layout, psc_layout_contiguous(&h->layout)};
    if (look->packed && faulty(faults, PSC_CANDELA_B9))
        look->layout.offset = 0;
    psc_layout_span(&look->layout, &lo, &hi);
    look->at += look->packed ? look->layout.offset : 0;
    return hi <= h->store->len;
}

static float get(const struct look *look, uint64_t i)
{
    return look->packed ? look->at[i] : look->at[psc_layout_at(&look->layout, i)];
}

static bool matmul(const struct psc_candela_step *step, const struct look *a, const struct look *b, float *to,
                   uint64_t room, uint64_t faults)
{
    bool turned = faulty(faults, PSC_CANDELA_B10) && b->layout.shape[1] == 1;
    uint64_t m = step->layout.shape[0], n = turned ? b->layout.shape[0] : step->layout.shape[1], inner = a->layout.shape[1];
    if (m * n > room)
        return false;
    for (uint64_t i = 0; i < m; i++)
        for (uint64_t j = 0; j < n; j++) {
            float sum = 0;
            for (uint64_t k = 0; k < inner; k++)
                sum += get(a, i * inner + k) * get(b, k * n + j);
            to[i * n + j] = sum;
        }
    return true;
}

bool psc_kernel_fresh(const struct psc_candela_step *step, const struct psc_handle *inputs, float *to, uint64_t room,
                      uint64_t faults)
{
    struct look in[2] = {0};
    if (room < step->len)
        return false;
    for (uint32_t k = 0; k < step->input_n && k < 2; k++)
        if (!look_at(&in[k], &inputs[k], faults))
            return false;
    if (step->op == PSC_LAZY_MATMUL)
        return matmul(step, &in[0], &in[1], to, room, faults);
    if (step->op == PSC_LAZY_SUM) {
        float sum = 0;
        for (uint64_t i = 0; i < psc_layout_len(&in[0].layout); i++)
            sum += get(&in[0], i);
        to[0] = sum;
        return true;
    }
    for (uint64_t i = 0; i < step->len; i++) {
        float x = get(&in[0], i);
        to[i] = psc_lazy_op_is_binary(step->op)   ? binary(step->op, x, get(&in[1], i))
                : psc_lazy_op_is_scalar(step->op) ? scalars(step, x, faults)
                                                  : x;
    }
    return true;
}

bool psc_kernel_in_place(const struct psc_candela_step *step, const struct psc_handle *inputs, uint32_t operand,
                         uint64_t faults)
{
    struct look other = {0};
    uint64_t lo, hi;
    float *to = inputs[operand].store->at + inputs[operand].layout.offset;
    psc_layout_span(&inputs[operand].layout, &lo, &hi);
    if (hi > inputs[operand].store->len || inputs[operand].layout.offset + step->len > inputs[operand].store->len)
        return false;
    if (step->input_n > 1 && !look_at(&other, &inputs[1 - operand], faults))
        return false;
    for (uint64_t i = 0; i < step->len; i++) {
        if (psc_lazy_op_is_scalar(step->op))
            to[i] = scalars(step, to[i], faults);
        else if (operand == 0 || faulty(faults, PSC_CANDELA_B1))
            to[i] = binary(step->op, to[i], get(&other, i));
        else
            to[i] = binary(step->op, get(&other, i), to[i]);
    }
    return true;
}
