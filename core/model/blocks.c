#include "core/model/blocks.h"

#include <assert.h>
#include <math.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "weights are read in place, and are little-endian");
_Static_assert(sizeof(struct psc_q4_0) == 18 && sizeof(struct psc_q4_1) == 20, "no padding");
_Static_assert(sizeof(struct psc_q5_0) == 22 && sizeof(struct psc_q5_1) == 24, "no padding");
_Static_assert(sizeof(struct psc_q8_0) == 34 && sizeof(struct psc_q8_k) == 306, "no padding");
_Static_assert(sizeof(struct psc_q4_k) == 144 && sizeof(struct psc_q5_k) == 176, "no padding");
_Static_assert(sizeof(struct psc_q6_k) == 210, "no padding");

static const struct psc_wtype_info infos[PSC_W_N] = {
    [PSC_W_F32] = {"f32", 0, 1, 4, false, PSC_ACT_F32},
    [PSC_W_F16] = {"f16", 1, 1, 2, false, PSC_ACT_F32},
    [PSC_W_BF16] = {"bf16", 30, 1, 2, false, PSC_ACT_F32},
    [PSC_W_Q8_0] = {"q8_0", 8, 32, 34, true, PSC_ACT_Q8_0},
    [PSC_W_Q4_0] = {"q4_0", 2, 32, 18, true, PSC_ACT_Q8_0},
    [PSC_W_Q4_1] = {"q4_1", 3, 32, 20, true, PSC_ACT_Q8_0},
    [PSC_W_Q5_0] = {"q5_0", 6, 32, 22, true, PSC_ACT_Q8_0},
    [PSC_W_Q5_1] = {"q5_1", 7, 32, 24, true, PSC_ACT_Q8_0},
    [PSC_W_Q4_K] = {"q4_K", 12, 256, 144, true, PSC_ACT_Q8_K},
    [PSC_W_Q5_K] = {"q5_K", 13, 256, 176, true, PSC_ACT_Q8_K},
    [PSC_W_Q6_K] = {"q6_K", 14, 256, 210, true, PSC_ACT_Q8_K},
    [PSC_W_OTHER] = {"raw", UINT32_MAX, 0, 0, false, PSC_ACT_F32},
};

const struct psc_wtype_info *psc_wtype_info(enum psc_wtype type)
{
    return &infos[(unsigned)type < PSC_W_N ? type : PSC_W_OTHER];
}

static int lower(char c)
{
    return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

enum psc_wtype psc_wtype_from_name(const char *name)
{
    for (int t = 0; name && t < PSC_W_OTHER; t++) {
        size_t i = 0;
        while (name[i] && lower(name[i]) == lower(infos[t].name[i]))
            i++;
        if (!name[i] && !infos[t].name[i])
            return (enum psc_wtype)t;
    }
    return PSC_W_OTHER;
}

enum psc_wtype psc_wtype_from_gguf(uint32_t id)
{
    for (int t = 0; t < PSC_W_OTHER; t++)
        if (infos[t].gguf_id == id)
            return (enum psc_wtype)t;
    return PSC_W_OTHER;
}

bool psc_wtype_bytes(enum psc_wtype type, uint64_t elements, uint64_t *ret)
{
    const struct psc_wtype_info *info = psc_wtype_info(type);
    if (!info->block || elements % info->block || elements / info->block > UINT64_MAX / info->bytes)
        return false;
    *ret = elements / info->block * info->bytes;
    return true;
}

/* Decoding: one function a block. */

static void decode_q4_0(const struct psc_q4_0 *b, float *y)
{
    float d = psc_f16_to_f32(b->d);
    for (int j = 0; j < 16; j++) {
        y[j] = (float)((b->q[j] & 15) - 8) * d;
        y[j + 16] = (float)((b->q[j] >> 4) - 8) * d;
    }
}

static void decode_q4_1(const struct psc_q4_1 *b, float *y)
{
    float d = psc_f16_to_f32(b->d), m = psc_f16_to_f32(b->m);
    for (int j = 0; j < 16; j++) {
        y[j] = (float)(b->q[j] & 15) * d + m;
        y[j + 16] = (float)(b->q[j] >> 4) * d + m;
    }
}

static uint32_t fifth_bits(const uint8_t qh[4])
{
    uint32_t bits;
    memcpy(&bits, qh, sizeof bits);
    return bits;
}

static void decode_q5_0(const struct psc_q5_0 *b, float *y)
{
    float d = psc_f16_to_f32(b->d);
    uint32_t h = fifth_bits(b->qh);
    for (int j = 0; j < 16; j++) {
        y[j] = (float)((int)((b->q[j] & 15) | (h >> j & 1) << 4) - 16) * d;
        y[j + 16] = (float)((int)(b->q[j] >> 4 | (h >> (j + 16) & 1) << 4) - 16) * d;
    }
}

static void decode_q5_1(const struct psc_q5_1 *b, float *y)
{
    float d = psc_f16_to_f32(b->d), m = psc_f16_to_f32(b->m);
    uint32_t h = fifth_bits(b->qh);
    for (int j = 0; j < 16; j++) {
        y[j] = (float)((b->q[j] & 15) | (h >> j & 1) << 4) * d + m;
        y[j + 16] = (float)(b->q[j] >> 4 | (h >> (j + 16) & 1) << 4) * d + m;
    }
}

static void decode_q8_0(const struct psc_q8_0 *b, float *y)
{
    float d = psc_f16_to_f32(b->d);
    for (int j = 0; j < 32; j++)
        y[j] = (float)b->q[j] * d;
}

static void decode_q4_k(const struct psc_q4_k *b, float *y)
{
    uint8_t sc[8], mn[8];
    float d = psc_f16_to_f32(b->d), dmin = psc_f16_to_f32(b->dmin);
    psc_k_scales(b->scales, sc, mn);
    for (int g = 0; g < 8; g++) {
        const uint8_t *q = b->q + g / 2 * 32;
        float scale = d * (float)sc[g], least = dmin * (float)mn[g];
        for (int l = 0; l < 32; l++)
            y[32 * g + l] = scale * (float)(g & 1 ? q[l] >> 4 : q[l] & 15) - least;
    }
}

static void decode_q5_k(const struct psc_q5_k *b, float *y)
{
    uint8_t sc[8], mn[8];
    float d = psc_f16_to_f32(b->d), dmin = psc_f16_to_f32(b->dmin);
    psc_k_scales(b->scales, sc, mn);
    for (int g = 0; g < 8; g++) {
        const uint8_t *q = b->q + g / 2 * 32;
        float scale = d * (float)sc[g], least = dmin * (float)mn[g];
        for (int l = 0; l < 32; l++)
            y[32 * g + l] =
                scale * (float)((g & 1 ? q[l] >> 4 : q[l] & 15) | (b->qh[l] >> g & 1) << 4) - least;
    }
}

/* Halves of 128 values. Position l of 32 has four of them, 32 apart: two low and two high nibbles of ql, each with its
 * bit pair of qh[l]. Sixteen values in a row share a scale. */
static void decode_q6_k(const struct psc_q6_k *b, float *y)
{
    float d = psc_f16_to_f32(b->d), scale[16];
    for (int g = 0; g < 16; g++)
        scale[g] = d * (float)b->scales[g];
    for (int half = 0; half < 2; half++, y += 128) {
        const uint8_t *ql = b->ql + 64 * half, *qh = b->qh + 32 * half;
        for (int l = 0; l < 32; l++) {
            const float *s = scale + 8 * half + l / 16;
            y[l] = s[0] * (float)(((ql[l] & 15) | (qh[l] & 3) << 4) - 32);
            y[l + 32] = s[2] * (float)(((ql[l + 32] & 15) | (qh[l] >> 2 & 3) << 4) - 32);
            y[l + 64] = s[4] * (float)((ql[l] >> 4 | (qh[l] >> 4 & 3) << 4) - 32);
            y[l + 96] = s[6] * (float)((ql[l + 32] >> 4 | qh[l] >> 6 << 4) - 32);
        }
    }
}

#define EACH_BLOCK(tag, fn, values)                                                                          \
    do {                                                                                                     \
        const struct tag *blocks = src;                                                                      \
        for (uint64_t i = 0; i < n / (values); i++)                                                          \
            fn(&blocks[i], dst + i * (values));                                                              \
    } while (0)

void psc_blocks_decode(enum psc_wtype type, const void *src, float *dst, uint64_t n)
{
    assert(type < PSC_W_OTHER && n % psc_wtype_info(type)->block == 0);
    switch (type) {
    case PSC_W_F32: memcpy(dst, src, n * sizeof *dst); break;
    case PSC_W_F16:
        for (uint64_t i = 0; i < n; i++)
            dst[i] = psc_f16_to_f32(((const uint16_t *)src)[i]);
        break;
    case PSC_W_BF16:
        for (uint64_t i = 0; i < n; i++)
            dst[i] = psc_bf16_to_f32(((const uint16_t *)src)[i]);
        break;
    case PSC_W_Q8_0: EACH_BLOCK(psc_q8_0, decode_q8_0, 32); break;
    case PSC_W_Q4_0: EACH_BLOCK(psc_q4_0, decode_q4_0, 32); break;
    case PSC_W_Q4_1: EACH_BLOCK(psc_q4_1, decode_q4_1, 32); break;
    case PSC_W_Q5_0: EACH_BLOCK(psc_q5_0, decode_q5_0, 32); break;
    case PSC_W_Q5_1: EACH_BLOCK(psc_q5_1, decode_q5_1, 32); break;
    case PSC_W_Q4_K: EACH_BLOCK(psc_q4_k, decode_q4_k, 256); break;
    case PSC_W_Q5_K: EACH_BLOCK(psc_q5_k, decode_q5_k, 256); break;
    case PSC_W_Q6_K: EACH_BLOCK(psc_q6_k, decode_q6_k, 256); break;
    case PSC_W_OTHER:
    case PSC_W_N: break;
    }
}

/* Activations. */

/* Bits of the largest magnitude; as integers they are ordered like the values, with infinity and NaN on top. */
static uint32_t largest_bits(const float *x, int n)
{
    uint32_t top = 0;
    for (int i = 0; i < n; i++) {
        uint32_t a = psc_f32_bits(x[i]) & 0x7fffffff;
        top = a > top ? a : top;
    }
    return top;
}

static uint16_t quantise(const float *x, int8_t *q, int n)
{
    uint32_t top = largest_bits(x, n);
    float amax = psc_f32_of_bits(top), up = top ? 127.0f / amax : 0.0f;
    if (top >= 0x7f800000 || !top || isinf(up)) {
        memset(q, 0, (size_t)n);
        return top >= 0x7f800000 ? 0x7e00 : 0;
    }
    for (int i = 0; i < n; i++) { /* |x up| <= 127.00001: the clamp is for the letter of the format */
        long v = lrintf(x[i] * up);
        q[i] = (int8_t)(v < -128 ? -128 : v > 127 ? 127 : v);
    }
    return psc_f32_to_f16(amax / 127.0f);
}

void psc_quantise_q8_0(const float *src, void *dst, uint64_t n)
{
    struct psc_q8_0 *b = dst;
    assert(n % 32 == 0);
    for (uint64_t i = 0; i < n / 32; i++)
        b[i].d = quantise(src + 32 * i, b[i].q, 32);
}

void psc_quantise_q8_k(const float *src, void *dst, uint64_t n)
{
    struct psc_q8_k *b = dst;
    assert(n % 256 == 0);
    for (uint64_t i = 0; i < n / 256; i++, b++) {
        b->d = quantise(src + 256 * i, b->q, 256);
        memset(b->zero, 0, sizeof b->zero);
        for (int g = 0; g < 16; g++) {
            int sum = 0;
            for (int k = 0; k < 16; k++)
                sum += b->q[16 * g + k];
            b->sums[g] = (int16_t)sum;
        }
    }
}
