/* backends/cpu/matmul-open-avx2.h: a piece of a weight row as the tiles want it (struct psc_tile_work).
 *
 * Only for files that are compiled for AVX2.
 */
#ifndef PSC_BACKENDS_CPU_MATMUL_OPEN_AVX2_H
#define PSC_BACKENDS_CPU_MATMUL_OPEN_AVX2_H

#include "backends/cpu/dot-unpack-avx2.h"
#include "backends/cpu/matmul-tile-avx2.h"

PSC_INLINE void psc_store256(void *at, __m256i v)
{
    _mm256_storeu_si256((__m256i *)at, v);
}
/* f16 in the first two bytes. */
PSC_INLINE float psc_f16_at(const void *at)
{
    uint16_t h;
    memcpy(&h, at, sizeof h);
    return _cvtsh_ss(h);
}

PSC_INLINE void psc_open_32(enum psc_wtype type, const unsigned char *at, struct psc_tile_work *work, unsigned r,
                            unsigned b)
{
    uint8_t *bytes = &work->w.bytes[r][b * 32];
    int16_t *words = &work->w.words[r][b * 32];
    const struct psc_q5_0 *q50 = (const void *)at;
    const struct psc_q5_1 *q51 = (const void *)at;
    work->d[r][b] = psc_f16_at(at);
    if (type == PSC_W_Q8_0) {
        psc_store256(words, _mm256_cvtepi8_epi16(psc_load128(at + 2)));
        psc_store256(words + 16, _mm256_cvtepi8_epi16(psc_load128(at + 18)));
        return;
    }
    psc_store256(bytes, type == PSC_W_Q4_0   ? psc_unpack4(at + 2)
                        : type == PSC_W_Q4_1 ? psc_unpack4(at + 4)
                        : type == PSC_W_Q5_0 ? psc_unpack5(q50->q, q50->qh)
                                             : psc_unpack5(q51->q, q51->qh));
    if (type == PSC_W_Q4_1 || type == PSC_W_Q5_1)
        work->m[r][b] = psc_f16_at(at + 2);
}

PSC_INLINE void psc_open_k45(enum psc_wtype type, const unsigned char *at, struct psc_tile_work *work, unsigned r,
                             unsigned b)
{
    const struct psc_q4_k *q4 = (const void *)at;
    const struct psc_q5_k *q5 = (const void *)at;
    __m128i both = psc_k_scales_avx2(type == PSC_W_Q4_K ? q4->scales : q5->scales);
    __m256i scale = _mm256_cvtepu8_epi32(both);
    for (int g = 0; g < 8; g++)
        psc_store256(&work->w.bytes[r][b * 256 + (unsigned)g * 32],
                     type == PSC_W_Q4_K ? psc_unpack4_k(q4->q, g) : psc_unpack5_k(q5->q, q5->qh, g));
    psc_store256(&work->scale[r][b * 8], _mm256_or_si256(scale, _mm256_slli_epi32(scale, 16)));
    _mm_storeu_si128((__m128i *)(void *)&work->minima[r][b * 4], _mm_cvtepu8_epi16(_mm_srli_si128(both, 8)));
    work->d[r][b] = psc_f16_at(at);
    work->m[r][b] = psc_f16_at(at + 2);
}

PSC_INLINE void psc_open_q6(const struct psc_q6_k *q6, struct psc_tile_work *work, unsigned r, unsigned b)
{
    for (int g = 0; g < 8; g++) {
        int16_t *words = &work->w.words[r][b * 256 + (unsigned)g * 32];
        __m256i q = _mm256_sub_epi8(psc_unpack6_k(q6, g), _mm256_set1_epi8(32));
        const int8_t *sc = q6->scales + 2 * g;
        psc_store256(words, _mm256_mullo_epi16(_mm256_cvtepi8_epi16(_mm256_castsi256_si128(q)), _mm256_set1_epi16(sc[0])));
        psc_store256(words + 16,
                     _mm256_mullo_epi16(_mm256_cvtepi8_epi16(_mm256_extracti128_si256(q, 1)), _mm256_set1_epi16(sc[1])));
    }
    work->d[r][b] = psc_f16_at(&q6->d);
}

/* Values [i, i + n) of the row that starts at `row`, as row r of the work. */
PSC_INLINE void psc_open_row(enum psc_wtype type, const unsigned char *row, uint64_t i, unsigned n,
                             struct psc_tile_work *work, unsigned r)
{
    bool k = type == PSC_W_Q4_K || type == PSC_W_Q5_K || type == PSC_W_Q6_K;
    uint32_t block = k ? 256 : 32, step = psc_wtype_info(type)->bytes;
    const unsigned char *at = row + i / block * step;
    for (unsigned b = 0; b < n / block; b++, at += step)
        if (type == PSC_W_Q6_K)
            psc_open_q6((const void *)at, work, r, b);
        else if (k)
            psc_open_k45(type, at, work, r, b);
        else
            psc_open_32(type, at, work, r, b);
}

#endif
