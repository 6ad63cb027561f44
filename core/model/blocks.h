/* core/model/blocks.h: how weights and activations are stored: plain numbers, and blocks of small integers.
 *
 * A quantised row is a run of blocks, each with its own scale. As in GGUF files, little-endian, read in place:
 *
 *     type   values  bytes  value of q                 low and high nibble of byte j are values
 *     q4_0   32      18     d (q - 8)                  j, j + 16
 *     q4_1   32      20     d q + m                    j, j + 16
 *     q5_0   32      22     d (q - 16)                 the same; fifth bits: bit j and bit j + 16 of qh
 *     q5_1   32      24     d q + m                    the same
 *     q8_0   32      34     d q
 *     q4_K   256     144    d sc q - dmin mn           chunk c of 32 bytes: low is group 2c, high group 2c + 1
 *     q5_K   256     176    d sc q - dmin mn           the same; fifth bit of value l of group g: bit g of qh[l]
 *     q6_K   256     210    d sc (q - 32)              see psc_blocks_decode
 *
 * sc and mn of the eight groups of 32 in a q4_K or q5_K block are 6 bits each (psc_k_scales); q6_K has a signed
 * byte for each of sixteen groups of 16.
 *
 * A product of a quantised weight row with an activation row quantises the activation first: 32-value weights pair
 * with psc_q8_0, 256-value weights with psc_q8_k, so that the sums inside a block are exact integers.
 *
 * Everything here is the portable reference: a faster version elsewhere must give the same bits. Arithmetic is
 * f32 in the order of the formulas above, one rounding an operation, no fused multiply-add.
 * Thread use: no globals; every function may run anywhere.
 */
#ifndef PSC_CORE_MODEL_BLOCKS_H
#define PSC_CORE_MODEL_BLOCKS_H

#include "core/base/half.h"
#include "core/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* How a weight is stored. PSC_W_OTHER: something that is not computed with (other formats, integers). */
enum psc_wtype {
    PSC_W_F32,
    PSC_W_F16,
    PSC_W_BF16,
    PSC_W_Q8_0,
    PSC_W_Q4_0,
    PSC_W_Q4_1,
    PSC_W_Q5_0,
    PSC_W_Q5_1,
    PSC_W_Q4_K,
    PSC_W_Q5_K,
    PSC_W_Q6_K,
    PSC_W_OTHER,
    PSC_W_N
};
/* How the activation is stored that is multiplied with it. */
enum psc_act { PSC_ACT_F32, PSC_ACT_Q8_0, PSC_ACT_Q8_K };

struct psc_wtype_info {
    const char *name; /* as minfer's files spell it: "q5_0", "q6_K", "f32"; OTHER is "raw" */
    uint32_t gguf_id; /* UINT32_MAX for OTHER */
    uint32_t block;   /* values of a block; 1 for plain numbers, 0 for OTHER */
    uint32_t bytes;   /* bytes of a block, 0 for OTHER */
    bool quantised;
    enum psc_act act;
};
const struct psc_wtype_info *psc_wtype_info(enum psc_wtype type); /* never NULL */
enum psc_wtype psc_wtype_from_name(const char *name); /* letter case does not matter; OTHER when unknown or NULL */
enum psc_wtype psc_wtype_from_gguf(uint32_t id);      /* OTHER when unknown */
/* Bytes of that many values. False, *ret untouched: OTHER, not a whole number of blocks, more than 64 bits. */
bool psc_wtype_bytes(enum psc_wtype type, uint64_t elements, uint64_t *ret) PSC_MUST_CHECK;

/* The blocks. Structs have no padding and need 2-byte alignment; d, m, dmin are f16 bits. */
struct psc_q4_0 {
    uint16_t d;
    uint8_t q[16];
};
struct psc_q4_1 {
    uint16_t d, m;
    uint8_t q[16];
};
struct psc_q5_0 {
    uint16_t d;
    uint8_t qh[4]; /* 32 bits, little-endian */
    uint8_t q[16];
};
struct psc_q5_1 {
    uint16_t d, m;
    uint8_t qh[4];
    uint8_t q[16];
};
struct psc_q8_0 { /* weight and activation */
    uint16_t d;
    int8_t q[32];
};
struct psc_q4_k {
    uint16_t d, dmin;
    uint8_t scales[12]; /* psc_k_scales */
    uint8_t q[128];
};
struct psc_q5_k {
    uint16_t d, dmin;
    uint8_t scales[12];
    uint8_t qh[32];
    uint8_t q[128];
};
struct psc_q6_k {
    uint8_t ql[128], qh[64];
    int8_t scales[16];
    uint16_t d;
};
struct psc_q8_k { /* activation only */
    uint16_t d;
    int8_t q[256];
    uint8_t zero[16]; /* reserved, 0 */
    int16_t sums[16]; /* of q, in groups of 16 */
};

/* Scale and minimum of the eight groups of a q4_K or q5_K block. */
static inline void psc_k_scales(const uint8_t b[12], uint8_t sc[8], uint8_t mn[8])
{
    for (int j = 0; j < 4; j++) {
        sc[j] = b[j] & 63;
        mn[j] = b[j + 4] & 63;
        sc[j + 4] = (uint8_t)((b[j + 8] & 15) | (b[j] >> 6 << 4));
        mn[j + 4] = (uint8_t)((b[j + 8] >> 4) | (b[j + 4] >> 6 << 4));
    }
}

/* Half precision (core/base/half.h) and bfloat16. To f32 is exact; from f32 rounds to nearest, ties to even. NaN stays
 * NaN: sign and leading bits kept, made quiet, as x86's F16C instructions do it. */
static inline float psc_f32_of_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
static inline uint32_t psc_f32_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}
static inline float psc_f16_to_f32(uint16_t h)
{
    return psc_half_to_float(h);
}
static inline uint16_t psc_f32_to_f16(float x)
{
    return psc_half_from_float(x);
}
static inline float psc_bf16_to_f32(uint16_t h)
{
    return psc_f32_of_bits((uint32_t)h << 16);
}
static inline uint16_t psc_f32_to_bf16(float x)
{
    uint32_t bits = psc_f32_bits(x);
    if ((bits & 0x7fffffff) > 0x7f800000)
        return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* n values, a whole number of blocks; type is not OTHER. src needs the alignment of its struct (f32: 4 bytes). */
void psc_blocks_decode(enum psc_wtype type, const void *src, float *dst, uint64_t n);
/* The way back, by our own simple quantisers (seeded models, benches), the same bytes on every machine: a value comes
 * back within one step of its block, or of its group for the 256-value types (a step is the distance of two
 * neighbouring levels; about half of one for q8_0; one rounding for f16 and bf16). Scales are f16 too: a block whose
 * scale is below 2^-14, or whose values pass about 500,000 (q4_1 and q5_1: 65,504), comes back less exact, clamped at
 * the top. Values that are not finite: f32, f16 and bf16 keep them, q8_0 does as psc_quantise_q8_0, the others clamp
 * infinities and take NaN as 0. */
void psc_blocks_encode(enum psc_wtype type, const float *src, void *dst, uint64_t n);

/* Activations. A block, with amax its largest magnitude:
 *
 *     d = f16(amax / 127)       q = round_half_even(x * (127 / amax))      each operation rounded to f32
 *
 * 127 / amax comes from amax itself, not from the rounded d. q is clamped to -128..127, psc_q8_k.sums are sums of
 * what is stored. All zero, or amax so small (about 3.7e-37) that 127 / amax is no finite f32: d = 0 and q = 0.
 * A value that is not finite makes its block d = NaN (0x7e00), q = 0: every product with it is NaN, so that
 * a bad activation is seen and not hidden. n is a multiple of 32 or of 256; dst has 34 or 306 bytes a block. */
void psc_quantise_q8_0(const float *src, void *dst, uint64_t n);
void psc_quantise_q8_k(const float *src, void *dst, uint64_t n);

#endif
