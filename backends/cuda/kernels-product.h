/* backends/cuda/kernels-product.h: phases of products with weights, and of the quantised activations that they read. */
#ifndef PSC_BACKENDS_CUDA_KERNELS_PRODUCT_H
#define PSC_BACKENDS_CUDA_KERNELS_PRODUCT_H

#include "backends/cuda/kernels-base.h"

/* ---- activations: a thread is a piece of 32 values, `group` pieces share a scale --------------- */

struct psc_s_quantise {
    uint32_t top[PSC_CUDA_THREADS]; /* bits of the largest magnitude of a piece */
};
PSC_PHASE(quantise, 0)
{
    uint64_t piece = k_index(at);
    uint32_t top = 0;
    if (piece < a->in / 32) {
        const float *x = a->x + at->by * a->step + piece * 32;
        for (int i = 0; i < 32; i++) {
            uint32_t bits = k_bits(x[i]) & 0x7fffffffu;
            top = bits > top ? bits : top;
        }
    }
    s->top[at->thread] = top;
}
PSC_PHASE(quantise, 1)
{
    uint64_t piece = k_index(at), pieces = a->in / 32;
    uint32_t top = 0, first = at->thread - at->thread % a->group;
    if (piece >= pieces)
        return;
    for (uint32_t k = first; k < first + a->group; k++)
        top = s->top[k] > top ? s->top[k] : top;
    const float *x = a->x + at->by * a->step + piece * 32;
    int8_t *q = a->q + at->by * a->in + piece * 32;
    float amax = k_float(top), up = top ? 127.0f / amax : 0.0f;
    int finite = top < 0x7f800000u, counts = finite && top && k_bits(up) < 0x7f800000u;
    int32_t sum = 0;
    for (int i = 0; i < 32; i++) {
        int32_t v = counts ? (int32_t)rintf(x[i] * up) : 0;
        v = v < -128 ? -128 : v > 127 ? 127 : v;
        q[i] = (int8_t)v;
        sum += v;
    }
    a->sums[at->by * pieces + piece] = sum;
    if (at->thread == first)
        a->d[(at->by * pieces + piece) / a->group] =
            psc_half_to_float(counts ? psc_half_from_float(amax / 127.0f) : finite ? 0 : 0x7e00);
}

PSC_SHARED_NOTHING(unquantise);
PSC_PHASE(unquantise, 0)
{
    PSC_UNUSED(s);
    uint64_t i = k_index(at);
    if (i < a->n)
        a->out[i] = a->d[i / a->values] * (float)a->q[i];
}

/* ---- quantised weights ------------------------------------------------------------------------- */

struct psc_s_product {
    float terms[PSC_CUDA_ROWS][PSC_CUDA_TILE];
    int32_t sums[PSC_CUDA_ROWS][PSC_CUDA_TILE], mins[PSC_CUDA_ROWS][PSC_CUDA_TILE]; /* K types */
    float lanes[PSC_CUDA_ROWS][4];
};
PSC_DEV uint32_t k_block_bytes(int32_t type)
{
    switch (type) {
    case PSC_W_Q8_0:
        return 34;
    case PSC_W_Q4_0:
        return 18;
    case PSC_W_Q4_1:
        return 20;
    case PSC_W_Q5_0:
        return 22;
    case PSC_W_Q5_1:
        return 24;
    case PSC_W_Q4_K:
        return 144;
    case PSC_W_Q5_K:
        return 176;
    default:
        return 210;
    }
}
PSC_DEV int k_is_k(int32_t type)
{
    return type == PSC_W_Q4_K || type == PSC_W_Q5_K || type == PSC_W_Q6_K;
}
/* Four bytes at an even address; of activations, at one that four divides. */
PSC_DEV uint32_t k_word(const unsigned char *at)
{
    const uint16_t *halves = (const uint16_t *)(const void *)at;
    return (uint32_t)halves[0] | (uint32_t)halves[1] << 16;
}
/* sum + the products of four signed bytes each. Whole numbers: in which order does not matter. */
PSC_DEV int32_t k_dot4(uint32_t a, uint32_t b, int32_t sum)
{
#ifdef __CUDA_ARCH__
    return __dp4a((int32_t)a, (int32_t)b, sum);
#else
    for (uint32_t k = 0; k < 32; k += 8)
        sum += (int32_t)(int8_t)(a >> k) * (int8_t)(b >> k);
    return sum;
#endif
}
/* Bits 0 to 3, one to a byte, as its bit 4. */
PSC_DEV uint32_t k_fifth(uint32_t bits)
{
    return ((bits & 15u) * 0x00204081u & 0x01010101u) << 4;
}

/* The term of a block of 32 values: backends/cpu/matmul-kernels.h. */
PSC_DEV float k_small_term(int32_t type, const unsigned char *b, const int8_t *x, float dx, int32_t x_sum)
{
    uint32_t at = type == PSC_W_Q4_0 ? 2u : type == PSC_W_Q4_1 ? 4u : type == PSC_W_Q5_0 ? 6u : 8u;
    const uint32_t *words = (const uint32_t *)(const void *)x;
    float d = psc_half_to_float(k_half(b));
    int32_t sum = 0;
    if (type == PSC_W_Q8_0) {
        for (uint32_t j = 0; j < 8; j++)
            sum = k_dot4(k_word(b + 2 + 4 * j), words[j], sum);
        return (float)sum * (d * dx);
    }
    int fifth = type == PSC_W_Q5_0 || type == PSC_W_Q5_1, offset = type == PSC_W_Q4_0 ? 8 : type == PSC_W_Q5_0 ? 16 : 0;
    uint32_t high = fifth ? k_word(b + at - 4) : 0;
    for (uint32_t j = 0; j < 4; j++) {
        uint32_t both = k_word(b + at + 4 * j);
        sum = k_dot4((both & 0x0f0f0f0fu) | k_fifth(high >> (4 * j)), words[j], sum);
        sum = k_dot4((both >> 4 & 0x0f0f0f0fu) | k_fifth(high >> (4 * j + 16)), words[j + 4], sum);
    }
    float term = (float)(sum - offset * x_sum) * (d * dx);
    return offset ? term : term + (float)x_sum * (psc_half_to_float(k_half(b + 2)) * dx);
}
/* A group of 32 values of a block of 256, with its scale, and what its minimum takes off. */
PSC_DEV void k_group_sums(int32_t type, const unsigned char *b, uint32_t g, const int8_t *x, int32_t x_sum, int32_t *ret,
                          int32_t *ret_min)
{
    const uint32_t *words = (const uint32_t *)(const void *)x;
    int32_t sc = 1, mn = 0, sum = 0;
    if (type == PSC_W_Q6_K) { /* values 0 to 63 less 32, a scale for each half */
        const unsigned char *ql = b + 64 * (g >> 2) + 32 * (g & 1u), *qh = b + 128 + 32 * (g >> 2);
        uint32_t low = g & 2u ? 4u : 0u, high = 2 * (g & 3u);
        for (uint32_t half = 0; half < 2; half++) {
            int32_t part = 0, ones = 0;
            for (uint32_t j = 4 * half; j < 4 * half + 4; j++) {
                uint32_t v = (k_word(ql + 4 * j) >> low & 0x0f0f0f0fu) | (k_word(qh + 4 * j) >> high & 0x03030303u) << 4;
                part = k_dot4(v, words[j], part);
                ones = k_dot4(0x01010101u, words[j], ones);
            }
            sum += (part - 32 * ones) * (int8_t)b[192 + 8 * (g >> 2) + half + 2 * (g & 3u)];
        }
    } else {
        const unsigned char *q = b + (type == PSC_W_Q4_K ? 16 : 48) + (g >> 1) * 32;
        k_scales(b + 4, g, &sc, &mn);
        for (uint32_t j = 0; j < 8; j++) {
            uint32_t v = k_word(q + 4 * j) >> (g & 1u ? 4 : 0) & 0x0f0f0f0fu;
            if (type == PSC_W_Q5_K)
                v |= (k_word(b + 16 + 4 * j) >> g & 0x01010101u) << 4;
            sum = k_dot4(v, words[j], sum);
        }
    }
    *ret = sum * sc;
    *ret_min = mn * x_sum;
}
/* Row `o` of all parts laid side by side; 0 when there is none. */
PSC_DEV const unsigned char *k_part_row(const unsigned char *const w[3], const uint64_t end[3], uint64_t row_bytes, uint64_t o)
{
    if (o < end[0])
        return w[0] + o * row_bytes;
    if (o < end[1])
        return w[1] + (o - end[0]) * row_bytes;
    return o < end[2] ? w[2] + (o - end[1]) * row_bytes : 0;
}
PSC_DEV float k_biased(float x, const float *const bias[3], const uint64_t end[3], uint64_t o)
{
    int part = o < end[0] ? 0 : o < end[1] ? 1 : 2;
    uint64_t first = part == 0 ? 0 : end[part - 1];
    return bias[part] ? x + bias[part][o - first] : x;
}

PSC_PHASE(product, 0)
{
    uint32_t row = at->thread / PSC_CUDA_ROW_THREADS, mine = at->thread % PSC_CUDA_ROW_THREADS;
    uint64_t o = (uint64_t)at->bx * PSC_CUDA_ROWS + row, pieces = a->in / 32, from = (uint64_t)at->pass * PSC_CUDA_TILE;
    const unsigned char *w = k_part_row(a->w, a->end, a->row_bytes, o);
    int k_type = k_is_k(a->type);
    if (!w)
        return;
    for (uint64_t p = mine; p < PSC_CUDA_TILE && from + p < pieces; p += PSC_CUDA_ROW_THREADS) {
        uint64_t piece = from + p;
        const int8_t *x = a->q + at->by * a->in + piece * 32;
        int32_t x_sum = a->sums[at->by * pieces + piece];
        if (k_type)
            k_group_sums(a->type, w + (piece >> 3) * k_block_bytes(a->type), (uint32_t)piece & 7u, x, x_sum,
                         &s->sums[row][p], &s->mins[row][p]);
        else
            s->terms[row][p] =
                k_small_term(a->type, w + piece * k_block_bytes(a->type), x, a->d[at->by * pieces + piece], x_sum);
    }
}
PSC_PHASE(product, 1)
{
    uint32_t row = at->thread / PSC_CUDA_ROW_THREADS, mine = at->thread % PSC_CUDA_ROW_THREADS;
    uint64_t o = (uint64_t)at->bx * PSC_CUDA_ROWS + row, blocks = a->in / 256, from = (uint64_t)at->pass * PSC_CUDA_TILE / 8;
    const unsigned char *w = k_part_row(a->w, a->end, a->row_bytes, o);
    if (!w || !k_is_k(a->type))
        return;
    for (uint64_t k = mine; k < PSC_CUDA_TILE / 8 && from + k < blocks; k += PSC_CUDA_ROW_THREADS) {
        const unsigned char *b = w + (from + k) * k_block_bytes(a->type);
        float dx = a->d[at->by * blocks + from + k];
        int32_t sum = 0, mins = 0;
        for (int g = 0; g < 8; g++) {
            sum += s->sums[row][8 * k + (uint64_t)g];
            mins += s->mins[row][8 * k + (uint64_t)g];
        }
        float term = (float)sum * (psc_half_to_float(k_half(a->type == PSC_W_Q6_K ? b + 208 : b)) * dx);
        s->terms[row][k] = a->type == PSC_W_Q6_K ? term : term - (float)mins * (psc_half_to_float(k_half(b + 2)) * dx);
    }
}
/* Terms go to lane block % 4, lowest block first. Tiles are whole fours of blocks. */
PSC_PHASE(product, 2)
{
    uint32_t row = at->thread / PSC_CUDA_ROW_THREADS, mine = at->thread % PSC_CUDA_ROW_THREADS;
    uint64_t o = (uint64_t)at->bx * PSC_CUDA_ROWS + row, step = k_is_k(a->type) ? 8 : 1, tile = PSC_CUDA_TILE / step;
    uint64_t blocks = a->in / 32 / step, from = at->pass * tile, n = blocks - from < tile ? blocks - from : tile;
    if (mine || !k_part_row(a->w, a->end, a->row_bytes, o))
        return;
    float l[4] = {0, 0, 0, 0};
    for (int k = 0; k < 4 && at->pass; k++)
        l[k] = s->lanes[row][k];
    for (uint64_t b = 0; b < n; b += 4)
        for (uint64_t k = 0; k < 4; k++)
            if (b + k < n)
                l[k] += s->terms[row][b + k];
    if (at->pass + 1 < at->passes) {
        for (int k = 0; k < 4; k++)
            s->lanes[row][k] = l[k];
    } else {
        a->out[at->by * a->out_step + o] = k_biased((l[0] + l[2]) + (l[1] + l[3]), a->bias, a->end, o);
    }
}

/* ---- plain numbers: eight threads a row -------------------------------------------------------- */

struct psc_s_float_product {
    float lanes[PSC_CUDA_FLOAT_ROWS][PSC_CUDA_LANES];
};
PSC_PHASE(float_product, 0)
{
    uint32_t row = at->thread / PSC_CUDA_LANES, lane = at->thread % PSC_CUDA_LANES;
    uint64_t o = (uint64_t)at->bx * PSC_CUDA_FLOAT_ROWS + row;
    const unsigned char *w = k_part_row(a->w, a->end, a->row_bytes, o);
    const float *x = a->x + at->by * a->x_step;
    float sum = 0;
    for (uint64_t i = lane; w && i < a->in; i += PSC_CUDA_LANES)
        sum += k_weight_value(a->type, w, i) * x[i];
    s->lanes[row][lane] = sum;
}
PSC_PHASE(float_product, 1)
{
    uint32_t row = at->thread / PSC_CUDA_LANES;
    uint64_t o = (uint64_t)at->bx * PSC_CUDA_FLOAT_ROWS + row, t = at->by, first;
    if (at->thread % PSC_CUDA_LANES || o >= a->end[2])
        return;
    float sum = k_biased(k_total(s->lanes[row]), a->bias, a->end, o);
    if (!a->turned) {
        a->out[t * a->out_step + o] = sum;
        return;
    }
    first = o < a->end[0] ? 0 : o < a->end[1] ? a->end[0] : a->end[1]; /* fault l20, part by part */
    a->out[first + (o - first) * a->tokens + t] = sum;
}

#endif
