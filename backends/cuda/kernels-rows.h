/* backends/cuda/kernels-rows.h: phases of the ops that go element by element or row by row, and of those that move words. */
#ifndef PSC_BACKENDS_CUDA_KERNELS_ROWS_H
#define PSC_BACKENDS_CUDA_KERNELS_ROWS_H

#include "backends/cuda/kernels-base.h"

PSC_SHARED_NOTHING(elements);
PSC_PHASE(elements, 0)
{
    PSC_UNUSED(s);
    uint64_t i = k_index(at);
    if (i >= a->n)
        return;
    uint64_t r = k_div(i, a->row), c = i - r * a->row;
    float x = a->a[r * a->a_step + c], y = a->b ? a->b[r * a->b_step + c] : 0;
    float *out = a->out + r * a->out_step + c;
    switch (a->op) {
    case PSC_K_ADD:
        *out = x + y;
        break;
    case PSC_K_MUL:
        *out = x * y;
        break;
    case PSC_K_SCALE:
        *out = x * a->by;
        break;
    case PSC_K_SILU:
        *out = k_silu(x);
        break;
    default:
        *out = k_silu(x) * y;
        break;
    }
}

/* Sum of squares in double, lanes i % 8, then the lanes as vec.c folds them. */
PSC_DEV double k_squares(const float *x, uint64_t n, uint32_t lane)
{
    double sum = 0;
    for (uint64_t i = lane; i < n; i += PSC_CUDA_LANES)
        sum += (double)x[i] * (double)x[i];
    return sum;
}
PSC_DEV float k_norm_factor(const double *l, uint64_t n, float eps)
{
    double squares = ((l[0] + l[4]) + (l[2] + l[6])) + ((l[1] + l[5]) + (l[3] + l[7]));
    return (float)(1.0 / sqrt(squares / (double)n + (double)eps));
}
PSC_DEV float k_normed(float x, float by, const float *weight, const float *bias, uint64_t i)
{
    x = x * by;
    x = weight ? x * weight[i] : x;
    return bias ? x + bias[i] : x;
}

struct psc_s_norm {
    double lanes[PSC_CUDA_LANES];
};
PSC_PHASE(norm, 0)
{
    const float *x = a->x + at->by * a->step + at->bx * a->n;
    if (at->thread < PSC_CUDA_LANES)
        s->lanes[at->thread] = k_squares(x, a->n, at->thread);
}
PSC_PHASE(norm, 1)
{
    const float *x = a->x + at->by * a->step + at->bx * a->n;
    float *out = a->out + at->by * a->out_step + at->bx * a->n, by = k_norm_factor(s->lanes, a->n, a->eps);
    for (uint64_t i = at->thread; i < a->n; i += at->threads)
        out[i] = k_normed(x[i], by, a->weight, a->bias, i);
}

struct psc_s_softmax {
    float most[PSC_CUDA_THREADS], best[PSC_CUDA_LANES], sums[PSC_CUDA_LANES];
};
/* The largest of each thread's own; a NaN is larger than nothing. */
PSC_DEV float k_largest(const float *x, uint64_t n, uint32_t first, uint32_t step)
{
    float best = -INFINITY;
    for (uint64_t i = first; i < n; i += step)
        best = x[i] > best ? x[i] : best;
    return best;
}
PSC_DEV float k_exp_sum(const float *e, uint64_t n, uint32_t lane)
{
    float sum = 0;
    for (uint64_t i = lane; i < n; i += PSC_CUDA_LANES)
        sum += e[i];
    return sum;
}
PSC_PHASE(softmax, 0)
{
    s->most[at->thread] = k_largest(a->x + at->bx * a->n, a->n, at->thread, at->threads);
}
PSC_PHASE(softmax, 1)
{
    PSC_UNUSED(a);
    if (at->thread < PSC_CUDA_LANES)
        s->best[at->thread] = k_largest(s->most, at->threads, at->thread, PSC_CUDA_LANES);
}
PSC_PHASE(softmax, 2)
{
    const float *x = a->x + at->bx * a->n;
    float *out = a->out + at->bx * a->n, most = k_largest(s->best, PSC_CUDA_LANES, 0, 1);
    for (uint64_t i = at->thread; i < a->n; i += at->threads)
        out[i] = k_exp(x[i] - most);
}
PSC_PHASE(softmax, 3)
{
    if (at->thread < PSC_CUDA_LANES)
        s->sums[at->thread] = k_exp_sum(a->out + at->bx * a->n, a->n, at->thread);
}
PSC_PHASE(softmax, 4)
{
    float *out = a->out + at->bx * a->n, sum = k_total(s->sums);
    for (uint64_t i = at->thread; i < a->n && a->normalise; i += at->threads)
        out[i] = out[i] / sum;
}

PSC_SHARED_NOTHING(columns);
PSC_PHASE(columns, 0)
{
    PSC_UNUSED(s);
    uint64_t i = k_index(at);
    if (i >= a->columns * a->slices)
        return;
    uint64_t first = i / a->columns * a->columns * a->rows + i % a->columns;
    const float *x = a->x + first;
    float *out = a->out + first, most = -INFINITY, sum = 0;
    for (uint64_t r = 0; r < a->rows; r++)
        most = x[r * a->columns] > most ? x[r * a->columns] : most;
    for (uint64_t r = 0; r < a->rows; r++) {
        float e = k_exp(x[r * a->columns] - most);
        sum += e;
        out[r * a->columns] = e;
    }
    for (uint64_t r = 0; r < a->rows && a->normalise; r++)
        out[r * a->columns] = out[r * a->columns] / sum;
}

PSC_SHARED_NOTHING(rope);
PSC_PHASE(rope, 0)
{
    PSC_UNUSED(s);
    uint64_t i = k_index(at), half = a->hd / 2, t = i / half, pair = i % half;
    float c, sine;
    if (t >= a->tokens)
        return;
    k_turn(a->positions[t], pair, a->hd, a->base, a->scale, &c, &sine);
    uint64_t first = a->interleaved ? 2 * pair : pair, second = a->interleaved ? 2 * pair + 1 : pair + half;
    for (uint64_t h = 0; h < a->heads; h++) {
        const float *x = a->x + t * a->step + h * a->hd;
        float *out = a->out + t * a->out_step + h * a->hd;
        float u = x[first], v = x[second];
        if (a->bias) {
            u = u + a->bias[h * a->hd + first];
            v = v + a->bias[h * a->hd + second];
        }
        out[first] = u * c - v * sine;
        out[second] = u * sine + v * c;
    }
}

PSC_SHARED_NOTHING(gather);
PSC_PHASE(gather, 0)
{
    PSC_UNUSED(s);
    uint64_t i = k_index(at), r = k_div(i, a->n);
    uint64_t row = r < a->rows ? k_row(at, a->ids[r], a->ids_end) : a->ids_end;
    if (row < a->ids_end)
        a->out[i] = a->x[row * a->n + (i - r * a->n)];
}

PSC_SHARED_NOTHING(decode);
PSC_PHASE(decode, 0)
{
    PSC_UNUSED(s);
    uint64_t i = k_index(at), r = k_div(i, a->n);
    if (r >= a->rows)
        return;
    uint64_t row = a->ids ? k_row(at, a->ids[r], a->ids_end) : r;
    if (!a->ids || row < a->ids_end)
        a->out[i] = k_weight_value(a->type, a->w + row * a->row_bytes, i - r * a->n);
}

PSC_SHARED_NOTHING(permute);
PSC_PHASE(permute, 0)
{
    PSC_UNUSED(s);
    uint64_t i = k_index(at), from = 0, to = 0;
    for (int d = 0; d < 4; d++) {
        uint64_t next = k_div(i, a->shape[d]), k = i - next * a->shape[d];
        from += k * a->from[d];
        to += k * a->to[d];
        i = next;
    }
    if (i == 0)
        a->out[to] = a->x[from];
}

PSC_SHARED_NOTHING(fill);
PSC_PHASE(fill, 0)
{
    PSC_UNUSED(s);
    uint64_t first = k_index(at) * 4;
    for (uint32_t k = 0; k < 4 && first + k < a->n; k++)
        a->to[first + k] = (unsigned char)(a->pattern >> (8 * k));
}

PSC_SHARED_NOTHING(batch);
PSC_PHASE(batch, 0)
{
    PSC_UNUSED(s);
    uint64_t i = k_index(at);
    if (i >= a->all)
        return;
    uint64_t r = k_div(i, a->n), j = i - r * a->n, matrix = k_div(r, a->m), d2 = matrix % a->d2, d3 = matrix / a->d2;
    const float *x = a->a + r * a->k, *b = a->b + (d2 / a->share2 + d3 / a->share3 * a->b2) * a->k * a->n;
    if (a->transposed) {
        float l[PSC_CUDA_LANES] = {0, 0, 0, 0, 0, 0, 0, 0};
        const float *y = b + j * a->k;
        uint64_t whole = a->k - a->k % PSC_CUDA_LANES;
        for (uint64_t k = 0; k < whole; k += PSC_CUDA_LANES)
            for (uint32_t lane = 0; lane < PSC_CUDA_LANES; lane++)
                l[lane] += x[k + lane] * y[k + lane];
        for (uint32_t lane = 0; lane < PSC_CUDA_LANES; lane++)
            if (whole + lane < a->k)
                l[lane] += x[whole + lane] * y[whole + lane];
        a->out[i] = k_total(l);
    } else {
        float sum = 0;
        for (uint64_t k = 0; k < a->k; k++)
            sum += b[k * a->n + j] * x[k];
        a->out[i] = sum;
    }
}

#endif
