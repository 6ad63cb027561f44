/* backends/cuda/kernels-base.h: arithmetic that the phases share. Included by kernels.cu and kernels-host.c alone. */
#ifndef PSC_BACKENDS_CUDA_KERNELS_BASE_H
#define PSC_BACKENDS_CUDA_KERNELS_BASE_H

#include "backends/cuda/kernels.h"
#include "core/base/half.h"
#include "core/model/blocks.h"

#include <math.h>

#ifdef __CUDACC__
#define PSC_DEV static __device__ __forceinline__
#else
#define PSC_DEV static inline
#endif
/* Phase `n` of a kernel; a phase may leave arguments unused. */
#define PSC_PHASE(name, n)                                                                        \
    PSC_DEV void name##_##n(const struct psc_k_##name *a, const struct psc_at *at, struct psc_s_##name *s)
#define PSC_UNUSED(x) (void)(x)
#define PSC_SHARED_NOTHING(name) \
    struct psc_s_##name {        \
        int32_t nothing;         \
    }

PSC_DEV float k_float(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
PSC_DEV uint32_t k_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}
PSC_DEV uint16_t k_half(const unsigned char *at)
{
    return (uint16_t)(at[0] | at[1] << 8);
}
PSC_DEV uint64_t k_index(const struct psc_at *at)
{
    return (uint64_t)at->bx * at->threads + at->thread;
}
/* Fewer than 2^32 elements divide faster. */
PSC_DEV uint64_t k_div(uint64_t a, uint64_t b)
{
    return (a | b) >> 32 ? a / b : (uint32_t)a / (uint32_t)b;
}

/* A word is out of its bounds: nothing queued after this runs. */
PSC_DEV void k_strike(const struct psc_at *at)
{
    *at->stop = at->mark;
}
/* Row that a word names, below `end`; end when it names none. */
PSC_DEV uint64_t k_row(const struct psc_at *at, int32_t word, uint64_t end)
{
    if (word >= 0 && (uint64_t)word < end)
        return (uint64_t)word;
    k_strike(at);
    return end;
}

/* exp, step for step as backends/cpu/vec.c writes it on eight lanes. */
PSC_DEV float k_exp(float x)
{
    const float magic = 12582912.0f;
    x = x > 89.0f ? 89.0f : x;
    x = x < -104.0f ? -104.0f : x;
    float t = x * 1.44269504f + magic;
    int32_t n = (int32_t)(k_bits(t) - k_bits(magic));
    float whole = t - magic;
    float r = (x - whole * 0.693359375f) - whole * -2.12194440e-4f;
    float p = r * 0x1.6a4746p-10f + 0x1.1239a2p-7f;
    p = p * r + 0x1.5558b6p-5f;
    p = p * r + 0x1.555492p-3f;
    p = p * r + 0x1.fffffcp-2f;
    float y = (r * r * p + r) + 1.0f;
    int32_t half = n >> 1;
    float a = k_float((uint32_t)(half + 127) << 23), b = k_float((uint32_t)(n - half + 127) << 23);
    return y * a * b;
}
PSC_DEV float k_silu(float x)
{
    return x / (k_exp(-x) + 1.0f);
}
/* The total of eight lanes. */
PSC_DEV float k_total(const float *l)
{
    return ((l[0] + l[4]) + (l[2] + l[6])) + ((l[1] + l[5]) + (l[3] + l[7]));
}

/* Value i of a row of a weight, as psc_blocks_decode gives it. */
PSC_DEV float k_nibble_value(int32_t type, const unsigned char *b, uint32_t i)
{
    uint32_t j = i & 15u, at = type == PSC_W_Q4_0 ? 2u : type == PSC_W_Q4_1 ? 4u : type == PSC_W_Q5_0 ? 6u : 8u;
    int32_t q = i < 16 ? b[at + j] & 15 : b[at + j] >> 4;
    float d = psc_half_to_float(k_half(b));
    if (type == PSC_W_Q5_0 || type == PSC_W_Q5_1)
        q |= (b[at - 4 + (i >> 3)] >> (i & 7u) & 1) << 4;
    if (type == PSC_W_Q4_0 || type == PSC_W_Q5_0)
        return (float)(q - (type == PSC_W_Q4_0 ? 8 : 16)) * d;
    return (float)q * d + psc_half_to_float(k_half(b + 2));
}
/* Scale and minimum of group g of a q4_K or q5_K block. */
PSC_DEV void k_scales(const unsigned char *b, uint32_t g, int32_t *sc, int32_t *mn)
{
    uint32_t j = g & 3u;
    if (g < 4) {
        *sc = b[j] & 63;
        *mn = b[j + 4] & 63;
    } else {
        *sc = (b[j + 8] & 15) | b[j] >> 6 << 4;
        *mn = b[j + 8] >> 4 | b[j + 4] >> 6 << 4;
    }
}
/* Value l of group g, without its scale: q4_K and q5_K, 0 .. 31; q6_K, -32 .. 31. */
PSC_DEV int32_t k_group_value(int32_t type, const unsigned char *b, uint32_t g, uint32_t l)
{
    if (type == PSC_W_Q6_K) {
        const unsigned char *ql = b + 64 * (g >> 2) + 32 * (g & 1u) + l, *qh = b + 128 + 32 * (g >> 2) + l;
        int32_t low = g & 2u ? *ql >> 4 : *ql & 15;
        return (low | (*qh >> (2 * (g & 3u)) & 3) << 4) - 32;
    }
    const unsigned char *q = b + (type == PSC_W_Q4_K ? 16 : 48) + (g >> 1) * 32 + l;
    int32_t v = g & 1u ? *q >> 4 : *q & 15;
    return type == PSC_W_Q5_K ? v | (b[16 + l] >> g & 1) << 4 : v;
}
PSC_DEV float k_group_decoded(int32_t type, const unsigned char *b, uint32_t i)
{
    uint32_t g = i >> 5, l = i & 31u;
    int32_t sc, mn, v = k_group_value(type, b, g, l);
    if (type == PSC_W_Q6_K) {
        int32_t scale = (int8_t)b[192 + 8 * (g >> 2) + (l >> 4) + 2 * (g & 3u)];
        return psc_half_to_float(k_half(b + 208)) * (float)scale * (float)v;
    }
    k_scales(b + 4, g, &sc, &mn);
    return psc_half_to_float(k_half(b)) * (float)sc * (float)v - psc_half_to_float(k_half(b + 2)) * (float)mn;
}
PSC_DEV float k_weight_value(int32_t type, const unsigned char *row, uint64_t i)
{
    switch (type) {
    case PSC_W_F32:
        return ((const float *)(const void *)row)[i];
    case PSC_W_F16:
        return psc_half_to_float(((const uint16_t *)(const void *)row)[i]);
    case PSC_W_BF16:
        return k_float((uint32_t)((const uint16_t *)(const void *)row)[i] << 16);
    case PSC_W_Q8_0: {
        const unsigned char *b = row + (i >> 5) * 34;
        return (float)(int8_t)b[2 + (i & 31u)] * psc_half_to_float(k_half(b));
    }
    case PSC_W_Q4_0:
        return k_nibble_value(type, row + (i >> 5) * 18, (uint32_t)i & 31u);
    case PSC_W_Q4_1:
        return k_nibble_value(type, row + (i >> 5) * 20, (uint32_t)i & 31u);
    case PSC_W_Q5_0:
        return k_nibble_value(type, row + (i >> 5) * 22, (uint32_t)i & 31u);
    case PSC_W_Q5_1:
        return k_nibble_value(type, row + (i >> 5) * 24, (uint32_t)i & 31u);
    case PSC_W_Q4_K:
        return k_group_decoded(type, row + (i >> 8) * 144, (uint32_t)i & 255u);
    case PSC_W_Q5_K:
        return k_group_decoded(type, row + (i >> 8) * 176, (uint32_t)i & 255u);
    default:
        return k_group_decoded(type, row + (i >> 8) * 210, (uint32_t)i & 255u);
    }
}

/* Value i of a stored KV row. */
PSC_DEV float k_row_value(int32_t format, const unsigned char *row, uint64_t i)
{
    if (format == PSC_K_F32)
        return ((const float *)(const void *)row)[i];
    if (format == PSC_K_F16)
        return psc_half_to_float(((const uint16_t *)(const void *)row)[i]);
    const unsigned char *b = row + (i >> 5) * 34;
    return (float)(int8_t)b[2 + (i & 31u)] * psc_half_to_float(k_half(b));
}

/* Cosine and sine of pair i at a position. */
PSC_DEV void k_turn(int32_t position, uint64_t i, uint64_t hd, float base, float scale, float *c, float *s)
{
    double freq = (double)scale / pow((double)base, 2.0 * (double)i / (double)hd);
    double angle = position * freq;
    *c = (float)cos(angle);
    *s = (float)sin(angle);
}

#endif
