/* Our own quantisers. Scales are rounded up to f16, so that the range of a group is always covered, and integers are
 * found from the rounded scale. */
#include "core/model/blocks.h"

#include <assert.h>
#include <math.h>

/* The smallest f16 that is no smaller than x >= 0 (or -0); the largest finite one when there is none. */
static uint16_t f16_up(float x)
{
    uint16_t h = psc_f32_to_f16(fabsf(x));
    if (h < 0x7bff && psc_f16_to_f32(h) < x)
        h++;
    return h > 0x7bff ? 0x7bff : h;
}

/* x without infinities and NaN; 1e9 is more than any block can hold. */
static float tame(float x)
{
    return x != x ? 0.0f : x > 1e9f ? 1e9f : x < -1e9f ? -1e9f : x;
}

static int near(float x, int lo, int hi)
{
    return x <= (float)lo ? lo : x >= (float)hi ? hi : (int)lrintf(x);
}

/* x / step as an integer; step 0 says that all values are equal. */
static int level(float x, float step, int lo, int hi)
{
    return step != 0.0f ? near(x / step, lo, hi) : 0;
}

/* Around zero, lowest level -half: the value of largest magnitude gets it, so the scale takes the opposite sign. */
static uint16_t around_zero(const float *x, int half, int q[32])
{
    float most = 0.0f;
    for (int i = 0; i < 32; i++)
        most = fabsf(tame(x[i])) > fabsf(most) ? tame(x[i]) : most;
    uint16_t h = (uint16_t)(f16_up(fabsf(most) / (float)half) | (most > 0.0f ? 0x8000 : 0));
    float d = psc_f16_to_f32(h);
    for (int i = 0; i < 32; i++)
        q[i] = level(tame(x[i]), d, -half, half - 1) + half;
    return h;
}

/* From the least value up to `top` steps above it. */
static uint16_t from_least(const float *x, int top, uint16_t *ret_m, int q[32])
{
    float lo = tame(x[0]), hi = lo;
    for (int i = 1; i < 32; i++) {
        float v = tame(x[i]);
        lo = v < lo ? v : lo;
        hi = v > hi ? v : hi;
    }
    uint16_t m = psc_f32_to_f16(lo);
    if (lo <= 0.0f)
        m = (uint16_t)(f16_up(-lo) | 0x8000);
    else if (psc_f16_to_f32(m) > lo)
        m--;
    lo = psc_f16_to_f32(m);
    uint16_t h = f16_up((hi - lo) / (float)top);
    float d = psc_f16_to_f32(h);
    for (int i = 0; i < 32; i++)
        q[i] = level(tame(x[i]) - lo, d, 0, top);
    *ret_m = m;
    return h;
}

static void put_nibbles(const int q[32], uint8_t out[16])
{
    for (int j = 0; j < 16; j++)
        out[j] = (uint8_t)((q[j] & 15) | (q[j + 16] & 15) << 4);
}

static void put_fifth_bits(const int q[32], uint8_t qh[4])
{
    uint32_t bits = 0;
    for (int j = 0; j < 32; j++)
        bits |= (uint32_t)(q[j] >> 4 & 1) << j;
    memcpy(qh, &bits, sizeof bits);
}

static void encode_q4_0(const float *x, struct psc_q4_0 *b)
{
    int q[32];
    b->d = around_zero(x, 8, q);
    put_nibbles(q, b->q);
}

static void encode_q4_1(const float *x, struct psc_q4_1 *b)
{
    int q[32];
    b->d = from_least(x, 15, &b->m, q);
    put_nibbles(q, b->q);
}

static void encode_q5_0(const float *x, struct psc_q5_0 *b)
{
    int q[32];
    b->d = around_zero(x, 16, q);
    put_nibbles(q, b->q);
    put_fifth_bits(q, b->qh);
}

static void encode_q5_1(const float *x, struct psc_q5_1 *b)
{
    int q[32];
    b->d = from_least(x, 31, &b->m, q);
    put_nibbles(q, b->q);
    put_fifth_bits(q, b->qh);
}

/* A q4_K or q5_K block under construction: eight groups of 32 levels from 0 to top. */
struct k_groups {
    uint16_t d, dmin;
    uint8_t sc[8], mn[8];
    uint8_t q[256];
};

static void k_groups(const float *x, int top, struct k_groups *k)
{
    float lo[8], hi[8], deepest = 0.0f, widest = 0.0f;
    for (int g = 0; g < 8; g++) {
        lo[g] = 0.0f; /* a minimum is subtracted: it is never above zero */
        hi[g] = tame(x[32 * g]);
        for (int l = 0; l < 32; l++) {
            float v = tame(x[32 * g + l]);
            lo[g] = v < lo[g] ? v : lo[g];
            hi[g] = v > hi[g] ? v : hi[g];
        }
        deepest = -lo[g] > deepest ? -lo[g] : deepest;
    }
    k->dmin = f16_up(deepest / 63.0f);
    float dmin = psc_f16_to_f32(k->dmin), step[8];
    for (int g = 0; g < 8; g++) {
        k->mn[g] = (uint8_t)(dmin > 0.0f ? near(ceilf(-lo[g] / dmin), 0, 63) : 0);
        lo[g] = dmin * (float)k->mn[g];
        step[g] = (hi[g] + lo[g]) / (float)top;
        widest = step[g] > widest ? step[g] : widest;
    }
    k->d = f16_up(widest / 63.0f);
    float d = psc_f16_to_f32(k->d);
    for (int g = 0; g < 8; g++) {
        k->sc[g] = (uint8_t)(d > 0.0f ? near(ceilf(step[g] / d), 0, 63) : 0);
        for (int l = 0; l < 32; l++)
            k->q[32 * g + l] = (uint8_t)level(tame(x[32 * g + l]) + lo[g], d * (float)k->sc[g], 0, top);
    }
}

static void put_k_scales(const struct k_groups *k, uint8_t b[12])
{
    for (int j = 0; j < 4; j++) {
        b[j] = (uint8_t)(k->sc[j] | k->sc[j + 4] >> 4 << 6);
        b[j + 4] = (uint8_t)(k->mn[j] | k->mn[j + 4] >> 4 << 6);
        b[j + 8] = (uint8_t)((k->sc[j + 4] & 15) | (k->mn[j + 4] & 15) << 4);
    }
}

static void put_k_nibbles(const struct k_groups *k, uint8_t q[128])
{
    for (int c = 0; c < 4; c++)
        for (int l = 0; l < 32; l++)
            q[32 * c + l] = (uint8_t)((k->q[64 * c + l] & 15) | (k->q[64 * c + 32 + l] & 15) << 4);
}

static void encode_q4_k(const float *x, struct psc_q4_k *b)
{
    struct k_groups k;
    k_groups(x, 15, &k);
    b->d = k.d;
    b->dmin = k.dmin;
    put_k_scales(&k, b->scales);
    put_k_nibbles(&k, b->q);
}

static void encode_q5_k(const float *x, struct psc_q5_k *b)
{
    struct k_groups k;
    k_groups(x, 31, &k);
    b->d = k.d;
    b->dmin = k.dmin;
    put_k_scales(&k, b->scales);
    put_k_nibbles(&k, b->q);
    for (int l = 0; l < 32; l++) {
        b->qh[l] = 0;
        for (int g = 0; g < 8; g++)
            b->qh[l] |= (uint8_t)((k.q[32 * g + l] >> 4 & 1) << g);
    }
}

static void encode_q6_k(const float *x, struct psc_q6_k *b)
{
    float step[16], widest = 0.0f;
    uint8_t q[256];
    for (int g = 0; g < 16; g++) {
        step[g] = 0.0f;
        for (int l = 0; l < 16; l++)
            step[g] = fmaxf(step[g], fabsf(tame(x[16 * g + l])) / 31.0f);
        widest = fmaxf(widest, step[g]);
    }
    b->d = f16_up(widest / 127.0f);
    float d = psc_f16_to_f32(b->d);
    for (int g = 0; g < 16; g++) {
        b->scales[g] = (int8_t)(d > 0.0f ? near(ceilf(step[g] / d), 0, 127) : 0);
        for (int l = 0; l < 16; l++)
            q[16 * g + l] = (uint8_t)(level(tame(x[16 * g + l]), d * (float)b->scales[g], -32, 31) + 32);
    }
    for (int half = 0; half < 2; half++)
        for (int l = 0; l < 32; l++) {
            const uint8_t *v = q + 128 * half + l;
            b->ql[64 * half + l] = (uint8_t)((v[0] & 15) | (v[64] & 15) << 4);
            b->ql[64 * half + l + 32] = (uint8_t)((v[32] & 15) | (v[96] & 15) << 4);
            b->qh[32 * half + l] = (uint8_t)(v[0] >> 4 | v[32] >> 4 << 2 | v[64] >> 4 << 4 | v[96] >> 4 << 6);
        }
}

#define EACH_BLOCK(tag, fn, values)                                                                          \
    do {                                                                                                     \
        struct tag *blocks = dst;                                                                            \
        for (uint64_t i = 0; i < n / (values); i++)                                                          \
            fn(src + i * (values), &blocks[i]);                                                              \
    } while (0)

void psc_blocks_encode(enum psc_wtype type, const float *src, void *dst, uint64_t n)
{
    assert(type < PSC_W_OTHER && n % psc_wtype_info(type)->block == 0);
    switch (type) {
    case PSC_W_F32: memcpy(dst, src, n * sizeof *src); break;
    case PSC_W_F16:
        for (uint64_t i = 0; i < n; i++)
            ((uint16_t *)dst)[i] = psc_f32_to_f16(src[i]);
        break;
    case PSC_W_BF16:
        for (uint64_t i = 0; i < n; i++)
            ((uint16_t *)dst)[i] = psc_f32_to_bf16(src[i]);
        break;
    case PSC_W_Q8_0: psc_quantise_q8_0(src, dst, n); break;
    case PSC_W_Q4_0: EACH_BLOCK(psc_q4_0, encode_q4_0, 32); break;
    case PSC_W_Q4_1: EACH_BLOCK(psc_q4_1, encode_q4_1, 32); break;
    case PSC_W_Q5_0: EACH_BLOCK(psc_q5_0, encode_q5_0, 32); break;
    case PSC_W_Q5_1: EACH_BLOCK(psc_q5_1, encode_q5_1, 32); break;
    case PSC_W_Q4_K: EACH_BLOCK(psc_q4_k, encode_q4_k, 256); break;
    case PSC_W_Q5_K: EACH_BLOCK(psc_q5_k, encode_q5_k, 256); break;
    case PSC_W_Q6_K: EACH_BLOCK(psc_q6_k, encode_q6_k, 256); break;
    case PSC_W_OTHER:
    case PSC_W_N: break;
    }
}
