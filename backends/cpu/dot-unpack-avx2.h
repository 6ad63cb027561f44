/* backends/cpu/dot-unpack-avx2.h: 32 weights of a block as 32 bytes, in the order of their values, without their offset.
 *
 *     q4_0 q4_1 q4_K   0 .. 15        q5_0 q5_1 q5_K   0 .. 31        q6_K   0 .. 63
 *
 * Only for files that are compiled for AVX2.
 */
#ifndef PSC_BACKENDS_CPU_DOT_UNPACK_AVX2_H
#define PSC_BACKENDS_CPU_DOT_UNPACK_AVX2_H

#include "core/model/blocks.h"

#include <immintrin.h>

/* Kernels are written once for all types and inlined with the type as a constant. Sanitizers make ten times as much of each
 * copy: builds for them (PSC_CPU_LEAN) have the same code, called. */
#ifdef PSC_CPU_LEAN
#define PSC_INLINE static inline __attribute__((unused))
#else
#define PSC_INLINE static inline __attribute__((always_inline))
#endif

PSC_INLINE __m256i psc_load256(const void *at)
{
    return _mm256_loadu_si256((const __m256i *)at);
}
PSC_INLINE __m128i psc_load128(const void *at)
{
    return _mm_loadu_si128((const __m128i *)at);
}
PSC_INLINE uint32_t psc_load_u32(const void *at)
{
    uint32_t ret;
    memcpy(&ret, at, sizeof ret);
    return ret;
}

/* Byte j: low nibble is value j, high nibble value j + 16. */
PSC_INLINE __m256i psc_unpack4(const uint8_t q[16])
{
    __m128i low = psc_load128(q), high = _mm_srli_epi16(low, 4);
    return _mm256_and_si256(_mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1), _mm256_set1_epi8(15));
}
/* Bit i of the four bytes -> 16 in byte i. */
PSC_INLINE __m256i psc_fifth_bits(const uint8_t qh[4])
{
    __m256i spread = _mm256_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3,
                                      3, 3, 3, 3);
    __m256i bit = _mm256_set1_epi64x((long long)0x8040201008040201ull);
    __m256i all = _mm256_shuffle_epi8(_mm256_set1_epi32((int)psc_load_u32(qh)), spread);
    __m256i set = _mm256_cmpeq_epi8(_mm256_and_si256(all, bit), bit);
    return _mm256_and_si256(set, _mm256_set1_epi8(16));
}
PSC_INLINE __m256i psc_unpack5(const uint8_t q[16], const uint8_t qh[4])
{
    return _mm256_or_si256(psc_unpack4(q), psc_fifth_bits(qh));
}

/* K types: nibbles of group g of 32 values. */
PSC_INLINE __m256i psc_unpack4_k(const uint8_t q[128], int g)
{
    __m256i bytes = psc_load256(q + g / 2 * 32);
    return _mm256_and_si256(g & 1 ? _mm256_srli_epi16(bytes, 4) : bytes, _mm256_set1_epi8(15));
}
PSC_INLINE __m256i psc_unpack5_k(const uint8_t q[128], const uint8_t qh[32], int g)
{
    __m256i high = psc_load256(qh), bit = _mm256_set1_epi8(16);
    high = g < 4 ? _mm256_slli_epi16(high, 4 - g) : _mm256_srli_epi16(high, g - 4);
    return _mm256_or_si256(psc_unpack4_k(q, g), _mm256_and_si256(high, bit));
}
/* Values 32 g to 32 g + 31 of a q6_K block: half g / 4, part g % 4. */
PSC_INLINE __m256i psc_unpack6_k(const struct psc_q6_k *b, int g)
{
    int half = g / 4, part = g % 4;
    __m256i low = psc_load256(b->ql + half * 64 + part % 2 * 32), high = psc_load256(b->qh + half * 32);
    __m256i mask = _mm256_set1_epi8(48);
    low = _mm256_and_si256(part >= 2 ? _mm256_srli_epi16(low, 4) : low, _mm256_set1_epi8(15));
    high = part == 0   ? _mm256_slli_epi16(high, 4)
           : part == 1 ? _mm256_slli_epi16(high, 2)
           : part == 2 ? high
                       : _mm256_srli_epi16(high, 2);
    return _mm256_or_si256(low, _mm256_and_si256(high, mask));
}

/* Scales of the eight groups of a q4_K or q5_K block in the low eight bytes, minima in the high ones: psc_k_scales
 * on four bytes at a time. */
PSC_INLINE __m128i psc_k_scales_avx2(const uint8_t b[12])
{
    uint32_t first = psc_load_u32(b), second = psc_load_u32(b + 4), third = psc_load_u32(b + 8);
    uint32_t six = 0x3f3f3f3f, four = 0x0f0f0f0f, two = 0x30303030;
    return _mm_setr_epi32((int)(first & six), (int)((third & four) | (first >> 2 & two)), (int)(second & six),
                          (int)((third >> 4 & four) | (second >> 2 & two)));
}

#endif
